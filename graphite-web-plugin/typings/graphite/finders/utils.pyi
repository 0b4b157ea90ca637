from collections.abc import Mapping
from typing import Optional

class FindQuery:
    pattern: str
    startTime: Optional[float]
    endTime: Optional[float]
    headers: Optional[Mapping[str, str]]
    leaves_only: Optional[bool]
    def __init__(
        self,
        pattern: str,
        startTime: Optional[float],
        endTime: Optional[float],
        local: bool = ...,
        headers: Optional[Mapping[str, str]] = ...,
        leaves_only: Optional[bool] = ...,
    ) -> None: ...

class BaseFinder:
    local: bool
    disabled: bool
    tags: bool
