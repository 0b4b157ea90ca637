from graphite.tags.utils import TaggedSeries


class BaseTagDB:
    def __init__(self, settings, *args, **kwargs):
        self.settings = settings

    def find_series(self, tags, requestContext=None):
        return self._find_series(tags, requestContext)

    @staticmethod
    def parse(path):
        name, *tags = path.split(";")
        return TaggedSeries({"name": name, **dict(tag.split("=", 1) for tag in tags)})
