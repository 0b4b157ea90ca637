from collections.abc import Mapping

class TaggedSeries:
    tags: Mapping[str, str]
    @property
    def path(self) -> str: ...
