"""One metric in Plumbago."""

from __future__ import annotations

import time
from typing import Optional

from graphite.intervals import Interval, IntervalSet
from graphite.readers.utils import BaseReader

from plumbago_graphite.client import Client, Found
from plumbago_graphite.context import Context, forwarded


class PlumbagoReader(BaseReader):
    """Reads a single metric. graphite-web fetches through the finder, which asks for many at once; this is for plug-ins and
    scripts that go from node to node."""

    __slots__ = ("_client", "_found")

    def __init__(self, client: Client, found: Found) -> None:
        self._client = client
        self._found = found

    def __repr__(self) -> str:
        return f"<PlumbagoReader: {self._found.path}>"

    def get_intervals(self) -> IntervalSet:
        """When there is data. A Plumbago on a cluster does not know: then at any time until now."""
        intervals = self._found.intervals or [(0, int(time.time()))]
        return IntervalSet([Interval(start, end) for start, end in intervals])

    def fetch(
        self,
        startTime: float,
        endTime: float,
        now: Optional[float] = None,
        requestContext: Context = None,
    ) -> Optional[tuple[tuple[int, int, int], list[Optional[float]]]]:
        """First stamp, end, step, and the values; None if there is nothing."""
        headers = forwarded(requestContext)
        for series in self._client.fetch([self._found.path], startTime, endTime, now, headers):
            if series.name == self._found.path:
                return series.time_info, series.values
        return None
