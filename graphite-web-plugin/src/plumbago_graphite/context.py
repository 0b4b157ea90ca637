"""What graphite-web knows of the request it works on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

Context = Optional[Mapping[str, Any]]


def forwarded(context: Context) -> Optional[Mapping[str, str]]:
    """The headers of the user's request that are to be handed on (``REMOTE_STORE_FORWARD_HEADERS``)."""
    return (context or {}).get("forwardHeaders")
