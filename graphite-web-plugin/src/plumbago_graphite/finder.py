"""All metrics in Plumbago."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Optional, Union

from django.conf import settings
from graphite.finders.utils import BaseFinder, FindQuery
from graphite.node import BranchNode, LeafNode

from plumbago_graphite.client import Client, shared_client
from plumbago_graphite.completion import Completion
from plumbago_graphite.context import Context, forwarded
from plumbago_graphite.options import Options
from plumbago_graphite.reader import PlumbagoReader


class PlumbagoFinder(Completion, BaseFinder):
    """Finds and fetches by asking Plumbago. For ``STORAGE_FINDERS``."""

    tags = True
    """Plumbago resolves seriesByTag itself, so that graphite-web need not look every series up first."""

    def __init__(self, client: Optional[Client] = None) -> None:
        self._client = client or shared_client(Options.of(settings))

    def find_nodes(self, query: FindQuery) -> list[Union[BranchNode, LeafNode]]:
        """The nodes that match. A list and no generator: graphite-web calls this on a thread and counts its time."""
        found = self._client.find(
            query.pattern, query.startTime, query.endTime, bool(query.leaves_only), query.headers
        )
        return [
            LeafNode(node.path, PlumbagoReader(self._client, node)) if node.is_leaf else BranchNode(node.path)
            for node in found
        ]

    def fetch(
        self,
        patterns: Iterable[str],
        start_time: float,
        end_time: float,
        now: Optional[float] = None,
        requestContext: Context = None,
    ) -> list[dict[str, Any]]:
        """The series of all patterns of a render, in one request."""
        fetched = self._client.fetch(patterns, start_time, end_time, now, forwarded(requestContext))
        return [
            {
                "pathExpression": series.path_expression,
                "path": series.name,
                "name": series.name,
                "time_info": series.time_info,
                "values": series.values,
            }
            for series in fetched
        ]

    def get_index(self, requestContext: Context) -> list[str]:
        """The names of all metrics."""
        return self._client.index(forwarded(requestContext))
