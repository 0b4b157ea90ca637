"""graphite-web reads metrics and tags from Plumbago.

``plumbago_graphite.PlumbagoFinder`` goes into ``STORAGE_FINDERS``, ``plumbago_graphite.PlumbagoTagDB`` into ``TAGDB``.
"""

from plumbago_graphite.client import PlumbagoAway, PlumbagoError, PlumbagoRefused
from plumbago_graphite.finder import PlumbagoFinder
from plumbago_graphite.reader import PlumbagoReader
from plumbago_graphite.tagdb import PlumbagoTagDB

__all__ = [
    "PlumbagoAway",
    "PlumbagoError",
    "PlumbagoFinder",
    "PlumbagoReader",
    "PlumbagoRefused",
    "PlumbagoTagDB",
]
