from types import SimpleNamespace

settings = SimpleNamespace(
    FIND_TIMEOUT=3.0,
    FETCH_TIMEOUT=6.0,
    POOL_MAX_WORKERS=10,
    TAGDB_AUTOCOMPLETE_LIMIT=100,
)
