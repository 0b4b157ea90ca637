"""A Plumbago made up for a test: answers what it is told to, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Optional
from unittest import TestCase
from urllib.parse import parse_qsl, urlsplit

from plumbago_graphite.options import Options


class Asked(NamedTuple):
    """A request that came in."""

    method: str
    path: str
    fields: list[tuple[str, str]]
    headers: dict[str, str]

    def get(self, name: str) -> list[str]:
        """All values of a field."""
        return [value for key, value in self.fields if key == name]


class Plumbago:
    """Serves until the test is over."""

    def __init__(self, test: TestCase, body: bytes = b"[]", status: int = 200) -> None:
        self.body = body
        self.status = status
        self.asked: list[Asked] = []
        self.connections = 0
        self.close_after_answer = False
        self.before_answer: Callable[[], object] = lambda: None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        thread.start()
        test.addCleanup(self._server.server_close)
        test.addCleanup(thread.join)
        test.addCleanup(self._server.shutdown)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def last(self) -> Asked:
        """The last request."""
        return self.asked[-1]

    def _handler(plumbago) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                plumbago.connections += 1
                super().setup()

            def log_message(self, *arguments: Any) -> None:
                pass

            def answer(self) -> None:
                url = urlsplit(self.path)
                form = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode("ascii")
                fields = parse_qsl(url.query, keep_blank_values=True) + parse_qsl(form, keep_blank_values=True)
                headers = {name.lower(): value for name, value in self.headers.items()}
                plumbago.asked.append(Asked(self.command, url.path, fields, headers))
                plumbago.before_answer()
                # Who asked may be gone.
                with suppress(OSError):
                    self.send_response(plumbago.status)
                    self.send_header("Content-Length", str(len(plumbago.body)))
                    self.end_headers()
                    self.wfile.write(plumbago.body)
                self.close_connection = plumbago.close_after_answer

            do_GET = answer
            do_POST = answer

        return Handler


def options(*urls: str, fetch_timeout: float = 20.0, headers: Optional[dict[str, str]] = None) -> Options:
    """Options with these servers."""
    return Options(
        urls=urls,
        headers=tuple((headers or {}).items()),
        connect_timeout=20.0,
        find_timeout=20.0,
        fetch_timeout=fetch_timeout,
        connections=2,
        completions=100,
    )
