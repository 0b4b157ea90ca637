class FindQuery:
    def __init__(self, pattern, startTime, endTime, local=False, headers=None, leaves_only=None):
        self.pattern = pattern
        self.startTime = startTime
        self.endTime = endTime
        self.headers = headers
        self.leaves_only = leaves_only


class BaseFinder:
    local = True
    disabled = False
    tags = False
