"""Completing tags and their values, which graphite-web asks of finders and of the tag data base alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from plumbago_graphite.client import Client, Limit
from plumbago_graphite.context import Context, forwarded


class Completion:
    """For a class that has a client."""

    _client: Client

    def auto_complete_tags(
        self,
        exprs: Iterable[str],
        tagPrefix: Optional[str] = None,
        limit: Limit = None,
        requestContext: Context = None,
    ) -> list[str]:
        """Tags of the matching series."""
        return self._client.complete_tags(exprs, tagPrefix, limit, forwarded(requestContext))

    def auto_complete_values(
        self,
        exprs: Iterable[str],
        tag: str,
        valuePrefix: Optional[str] = None,
        limit: Limit = None,
        requestContext: Context = None,
    ) -> list[str]:
        """Values of a tag among the matching series."""
        headers = forwarded(requestContext)
        return self._client.complete_values(exprs, tag, valuePrefix, limit, headers)
