"""What graphite-web's settings say of Plumbago."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import environ
from typing import Any


@dataclass(frozen=True)
class Options:
    """Where Plumbago is and how patiently it is asked. Equal options share one client."""

    urls: tuple[str, ...]
    """Servers with the same data; the next one is asked when one is away."""

    headers: tuple[tuple[str, str], ...] = field(repr=False)
    """Sent with every request. They may hold a token, and so are not shown."""

    connect_timeout: float
    find_timeout: float
    fetch_timeout: float

    connections: int
    """Connections kept open to each server."""

    completions: int
    """Tags or values that are suggested, where nobody says how many."""

    @classmethod
    def of(cls, settings: Any) -> Options:
        """Reads them from Django's settings."""
        urls = getattr(settings, "PLUMBAGO_URLS", ["http://127.0.0.1:8080"])
        if isinstance(urls, str):
            urls = [urls]
        for url in urls:
            if not str(url).startswith(("http://", "https://")):
                raise ValueError(f"PLUMBAGO_URLS: {url!r} must begin with http:// or https://")
        if not urls:
            raise ValueError("PLUMBAGO_URLS is empty; it must name a Plumbago, such as http://127.0.0.1:8080")
        headers: dict[str, str] = dict(getattr(settings, "PLUMBAGO_HEADERS", {}))
        token = str(getattr(settings, "PLUMBAGO_TOKEN", None) or environ.get("PLUMBAGO_TOKEN", "")).strip()
        if token:
            headers.setdefault("Authorization", f"Bearer {token}")
        return cls(
            urls=tuple(url.rstrip("/") for url in urls),
            headers=tuple(sorted(headers.items())),
            connect_timeout=float(getattr(settings, "PLUMBAGO_CONNECT_TIMEOUT", 1.0)),
            # After these graphite-web stops waiting, so there is no use in longer ones.
            find_timeout=float(settings.FIND_TIMEOUT),
            fetch_timeout=float(settings.FETCH_TIMEOUT),
            connections=int(settings.POOL_MAX_WORKERS),
            completions=int(settings.TAGDB_AUTOCOMPLETE_LIMIT),
        )
