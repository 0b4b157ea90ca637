"""The tags of all series in Plumbago."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Optional

from graphite.tags.base import BaseTagDB
from graphite.tags.utils import TaggedSeries

from plumbago_graphite.client import Limit, shared_client
from plumbago_graphite.completion import Completion
from plumbago_graphite.context import Context, forwarded
from plumbago_graphite.options import Options


class PlumbagoTagDB(Completion, BaseTagDB):
    """Looks tags up in Plumbago, which knows them from the names it received: nothing has to be written here. For ``TAGDB``."""

    def __init__(self, settings: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(settings, *args, **kwargs)
        self._client = shared_client(Options.of(settings))

    def _find_series(self, tags: Iterable[str], requestContext: Context = None) -> list[str]:
        return self._client.find_series(tags, forwarded(requestContext))

    def get_series(self, path: str, requestContext: Context = None) -> Optional[TaggedSeries]:
        """What a path says, if there is such a series."""
        try:
            parsed = self.parse(path)
        except Exception:
            # Nothing more special is raised for a path that is none.
            return None
        expressions = [f"{tag}={value}" for tag, value in parsed.tags.items()]
        known = self.find_series(expressions, requestContext=requestContext)
        return parsed if parsed.path in known else None

    def list_tags(
        self, tagFilter: Optional[str] = None, limit: Limit = None, requestContext: Context = None
    ) -> list[dict[str, Any]]:
        """All tags."""
        tags: list[dict[str, Any]] = self._client.tags(tagFilter, limit, forwarded(requestContext))
        return tags

    def get_tag(
        self,
        tag: str,
        valueFilter: Optional[str] = None,
        limit: Limit = None,
        requestContext: Context = None,
    ) -> Optional[Mapping[str, Any]]:
        """A tag with its values; None if there is no such tag."""
        known: Optional[Mapping[str, Any]] = self._client.tag(tag, valueFilter, limit, forwarded(requestContext))
        return known

    def list_values(
        self,
        tag: str,
        valueFilter: Optional[str] = None,
        limit: Limit = None,
        requestContext: Context = None,
    ) -> list[dict[str, Any]]:
        """The values of a tag, each with the number of series that have it."""
        known = self.get_tag(tag, valueFilter, limit, requestContext)
        return list(known["values"]) if known else []

    def tag_series(self, series: str, requestContext: Context = None) -> str:
        """Makes a series known. Gives its canonical name."""
        return self.tag_multi_series([series], requestContext)[0]

    def tag_multi_series(self, seriesList: Iterable[str], requestContext: Context = None) -> list[str]:
        """Makes series known. Gives their canonical names."""
        return self._client.tag_series(seriesList, forwarded(requestContext))

    def del_series(self, series: str, requestContext: Context = None) -> bool:
        """Takes a series out."""
        return self.del_multi_series([series], requestContext)

    def del_multi_series(self, seriesList: Iterable[str], requestContext: Context = None) -> bool:
        """Takes series out."""
        return self._client.delete_series(seriesList, forwarded(requestContext))
