"""Plumbago over HTTP: connections that are kept, servers that stand in for each other, errors that say what to do."""

from __future__ import annotations

import functools
import io
import json
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Optional, Union
from urllib.parse import quote, urlencode

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
)

from plumbago_graphite.options import Options

Fields = list[tuple[str, str]]
Headers = Mapping[str, str]
Limit = Union[int, str, None]
"""A number, or the text of one: graphite-web passes parameters on as it received them."""

MAX_FORM_BYTES = 1 << 20
"""Targets of one request: half of what Plumbago reads."""

MAX_ERROR_CHARACTERS = 500
"""Of an error's text; what is longer comes from a proxy and is a whole page."""


class PlumbagoError(Exception):
    """Plumbago gave no useful answer."""


class PlumbagoAway(PlumbagoError):
    """No server could be reached, or none was ready."""


class PlumbagoRefused(PlumbagoError, ValueError):
    """What was asked cannot be answered. graphite-web shows a ValueError as a mistake of the user."""


class Found(NamedTuple):
    """A node of the metric tree."""

    path: str
    is_leaf: bool
    intervals: list[tuple[int, int]]
    """When a leaf has data; empty if that is not known."""


class Series(NamedTuple):
    """Values at even steps."""

    name: str
    path_expression: str
    """The target it was fetched for."""

    time_info: tuple[int, int, int]
    """First stamp, end, step."""

    values: list[Optional[float]]


class Client:
    """Asks Plumbago. Safe to be used by many threads."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._pool = urllib3.PoolManager(
            num_pools=len(options.urls), maxsize=options.connections, headers=dict(options.headers)
        )
        # The server that answered last is asked first.
        self._first = 0

    def find(
        self,
        pattern: str,
        start: Optional[float] = None,
        end: Optional[float] = None,
        leaves_only: bool = False,
        headers: Optional[Headers] = None,
    ) -> list[Found]:
        """The nodes that match a pattern. With times, leaves without data in between are left out."""
        fields = [("query", pattern), ("format", "json"), ("local", "1")]
        fields += [("leavesOnly", "1")] if leaves_only else []
        fields += [(name, str(int(at))) for name, at in (("from", start), ("until", end)) if at is not None]
        answer = self._list("GET", "/metrics/find", fields, headers)
        try:
            return [
                Found(
                    node["path"],
                    bool(node["is_leaf"]),
                    [(interval["start"], interval["end"]) for interval in node.get("intervals", ())],
                )
                for node in answer
            ]
        except (KeyError, TypeError, AttributeError) as error:
            _strange("/metrics/find", error)

    def fetch(
        self,
        targets: Iterable[str],
        start: float,
        end: float,
        now: Optional[float] = None,
        headers: Optional[Headers] = None,
    ) -> list[Series]:
        """The series of many names, patterns and calls of seriesByTag, in as few requests as possible."""
        times = [("from", str(int(start))), ("until", str(int(end)))]
        times += [] if now is None else [("now", str(int(now)))]
        series: list[Series] = []
        for batch in batches(targets):
            fields = [("format", "pickle"), ("local", "1"), ("noCache", "1"), *times, *batch]
            body = self._ask("POST", "/render", fields, self._options.fetch_timeout, headers)
            try:
                series.extend(
                    Series(
                        record["name"],
                        record["pathExpression"],
                        (record["start"], record["end"], record["step"]),
                        record["values"],
                    )
                    for record in unpickle(body)
                )
            except (KeyError, TypeError, ValueError, EOFError, IndexError, pickle.UnpicklingError) as error:
                _strange("/render", error)
        return series

    def index(self, headers: Optional[Headers] = None) -> list[str]:
        """The names of all metrics."""
        return self._list("GET", "/metrics/index.json", [("local", "1")], headers)

    def find_series(self, expressions: Iterable[str], headers: Optional[Headers] = None) -> list[str]:
        """The tagged series that match all expressions."""
        fields = [("expr", expression) for expression in expressions]
        return self._list("POST", "/tags/findSeries", fields, headers)

    def tags(self, pattern: Optional[str], limit: Limit, headers: Optional[Headers] = None) -> Any:
        """All tags, as graphite-web's /tags lists them."""
        return self._json("GET", "/tags", _given(filter=pattern, limit=limit), headers)

    def tag(
        self, tag: str, pattern: Optional[str], limit: Limit, headers: Optional[Headers] = None
    ) -> Any:
        """A tag with its values, as graphite-web's /tags/<tag> shows it; None if there is no such tag."""
        path = "/tags/" + quote(tag, safe="")
        return self._json("GET", path, _given(filter=pattern, limit=limit), headers)

    def complete_tags(
        self, expressions: Iterable[str], prefix: Optional[str], limit: Limit, headers: Optional[Headers] = None
    ) -> list[str]:
        """The tags that the matching series have besides those in the expressions."""
        fields = [("expr", expression) for expression in expressions]
        fields += _given(tagPrefix=prefix or None, limit=limit or self._options.completions)
        return self._list("POST", "/tags/autoComplete/tags", fields, headers)

    def complete_values(
        self,
        expressions: Iterable[str],
        tag: str,
        prefix: Optional[str],
        limit: Limit,
        headers: Optional[Headers] = None,
    ) -> list[str]:
        """The values that a tag has among the matching series."""
        fields = [("expr", expression) for expression in expressions]
        fields += _given(tag=tag, valuePrefix=prefix or None, limit=limit or self._options.completions)
        return self._list("POST", "/tags/autoComplete/values", fields, headers)

    def tag_series(self, paths: Iterable[str], headers: Optional[Headers] = None) -> list[str]:
        """Makes tagged series known. Gives their canonical names."""
        fields = [("path", path) for path in paths]
        return self._list("POST", "/tags/tagMultiSeries", fields, headers)

    def delete_series(self, paths: Iterable[str], headers: Optional[Headers] = None) -> bool:
        """Takes series out of the tag index."""
        fields = [("path", path) for path in paths]
        return bool(self._json("POST", "/tags/delSeries", fields, headers))

    def _list(self, method: str, path: str, fields: Fields, headers: Optional[Headers]) -> list[Any]:
        answer = self._json(method, path, fields, headers)
        if not isinstance(answer, list):
            _strange(path, f"a list was expected, not {type(answer).__name__}")
        return answer

    def _json(self, method: str, path: str, fields: Fields, headers: Optional[Headers]) -> Any:
        body = self._ask(method, path, fields, self._options.find_timeout, headers)
        try:
            return json.loads(body)
        except ValueError as error:
            _strange(path, error)

    def _ask(
        self, method: str, path: str, fields: Fields, timeout: float, headers: Optional[Headers]
    ) -> bytes:
        """The body of the first server's answer."""
        urls, first = self._options.urls, self._first
        troubles: list[str] = []
        for place in range(first, first + len(urls)):
            url = urls[place % len(urls)]
            try:
                body = self._ask_one(method, url + path, fields, timeout, headers)
            except PlumbagoAway as away:
                troubles.append(str(away))
                continue
            self._first = place % len(urls)
            return body
        raise PlumbagoAway("; ".join(troubles))

    def _ask_one(
        self, method: str, url: str, fields: Fields, timeout: float, headers: Optional[Headers]
    ) -> bytes:
        try:
            try:
                response = self._send(method, url, fields, timeout, headers)
            except ProtocolError:
                # A kept connection was closed in the moment it was used. All that is asked here can be asked twice.
                response = self._send(method, url, fields, timeout, headers)
        except ReadTimeoutError as error:
            raise PlumbagoError(
                f"Plumbago at {url} did not answer within {timeout} s; ask for less at once, or raise FIND_TIMEOUT and "
                "FETCH_TIMEOUT"
            ) from error
        except NewConnectionError as error:
            # To older releases of urllib3 this is a time-out, too.
            raise PlumbagoAway(f"Plumbago at {url} is away: {error}") from error
        except ConnectTimeoutError as error:
            patience = self._options.connect_timeout
            raise PlumbagoAway(f"Plumbago at {url} took no connection within {patience} s") from error
        except HTTPError as error:
            raise PlumbagoAway(f"Plumbago at {url} is away: {error}") from error
        if response.status == 200:
            return response.data
        text = response.data.decode("utf-8", "replace").strip()
        message = f"Plumbago at {url} answers {response.status}: {text[:MAX_ERROR_CHARACTERS]}"
        if response.status == 503:
            raise PlumbagoAway(message)
        if 400 <= response.status < 500:
            raise PlumbagoRefused(message)
        raise PlumbagoError(message)

    def _send(
        self, method: str, url: str, fields: Fields, timeout: float, headers: Optional[Headers]
    ) -> urllib3.BaseHTTPResponse:
        # Headers of a request replace those of the pool.
        sent = {**self._pool.headers, **(headers or {})}
        form = urlencode(fields)
        if method == "GET":
            url, body = f"{url}?{form}", None
        else:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
            body = form.encode("ascii")
        patience = urllib3.Timeout(connect=self._options.connect_timeout, read=timeout)
        return self._pool.urlopen(
            method, url, body=body, headers=sent, timeout=patience, retries=False, redirect=False
        )


@functools.lru_cache(maxsize=None)
def shared_client(options: Options) -> Client:
    """One client for the finder and the tag database, so that they share their connections."""
    return Client(options)


def batches(targets: Iterable[str]) -> Iterator[Fields]:
    """The targets as fields of forms that Plumbago reads whole."""
    batch: Fields = []
    size = 0
    for target in targets:
        length = len(urlencode([("target", target)])) + 1
        if batch and size + length > MAX_FORM_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(("target", target))
        size += length
    if batch:
        yield batch


class _PlainUnpickler(pickle.Unpickler):
    """Reads numbers, texts, lists and dictionaries. Without classes and functions nothing in a pickle can run."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} has no place in an answer")


def unpickle(body: bytes) -> Sequence[Any]:
    """The list in a pickle that came over the network."""
    answer = _PlainUnpickler(io.BytesIO(body)).load()
    if not isinstance(answer, list):
        raise TypeError(f"a list was expected, not {type(answer).__name__}")
    return answer


def _given(**values: object) -> Fields:
    """Fields for the values that are not None."""
    return [(name, str(value)) for name, value in values.items() if value is not None]


def _strange(path: str, why: object) -> NoReturn:
    raise PlumbagoError(
        f"the answer to {path} is not Plumbago's ({why}); check PLUMBAGO_URLS, and proxies between here and there"
    )
