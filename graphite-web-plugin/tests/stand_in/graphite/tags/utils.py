class TaggedSeries:
    def __init__(self, tags):
        self.tags = tags

    @property
    def path(self):
        tags = sorted(f";{tag}={value}" for tag, value in self.tags.items() if tag != "name")
        return self.tags["name"] + "".join(tags)
