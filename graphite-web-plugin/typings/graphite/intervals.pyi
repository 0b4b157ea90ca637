from collections.abc import Iterator

class Interval:
    start: float
    end: float
    def __init__(self, start: float, end: float) -> None: ...

class IntervalSet:
    def __init__(self, intervals: list[Interval], disjoint: bool = ...) -> None: ...
    def __iter__(self) -> Iterator[Interval]: ...
