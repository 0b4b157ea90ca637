class Interval:
    def __init__(self, start, end):
        self.start = start
        self.end = end


class IntervalSet:
    def __init__(self, intervals, disjoint=False):
        self.intervals = intervals

    def __iter__(self):
        return iter(self.intervals)
