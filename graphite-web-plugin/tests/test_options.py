"""Settings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import TestCase
from unittest.mock import patch

from plumbago_graphite.client import shared_client
from plumbago_graphite.options import Options


def settings(**more: Any) -> SimpleNamespace:
    """Those that graphite-web has itself, and more."""
    return SimpleNamespace(
        FIND_TIMEOUT=3.0, FETCH_TIMEOUT=6.0, POOL_MAX_WORKERS=10, TAGDB_AUTOCOMPLETE_LIMIT=100, **more
    )


class Settings(TestCase):
    def test_defaults_are_a_plumbago_on_this_machine(self) -> None:
        options = Options.of(settings())
        self.assertEqual(options.urls, ("http://127.0.0.1:8080",))
        self.assertEqual((options.connect_timeout, options.find_timeout, options.fetch_timeout), (1.0, 3.0, 6.0))

    def test_urls_are_one_or_many(self) -> None:
        self.assertEqual(Options.of(settings(PLUMBAGO_URLS="http://a/")).urls, ("http://a",))
        urls = ["http://a:8080/graphite/", "https://b"]
        self.assertEqual(Options.of(settings(PLUMBAGO_URLS=urls)).urls, ("http://a:8080/graphite", "https://b"))

    def test_mistakes_are_named(self) -> None:
        with self.assertRaisesRegex(ValueError, "'a:8080' must begin with http://"):
            Options.of(settings(PLUMBAGO_URLS=["a:8080"]))
        with self.assertRaisesRegex(ValueError, "PLUMBAGO_URLS is empty"):
            Options.of(settings(PLUMBAGO_URLS=[]))

    def test_equal_settings_share_a_client(self) -> None:
        one, same = Options.of(settings(PLUMBAGO_HEADERS={"a": "b"})), Options.of(settings(PLUMBAGO_HEADERS={"a": "b"}))
        self.assertIs(shared_client(one), shared_client(same))
        self.assertIsNot(shared_client(one), shared_client(Options.of(settings())))

    def test_a_token_is_sent_and_not_shown(self) -> None:
        given = Options.of(settings(PLUMBAGO_TOKEN="plumbago_1\n"))
        self.assertEqual(given.headers, (("Authorization", "Bearer plumbago_1"),))
        self.assertNotIn("plumbago_1", repr(given))
        with patch.dict("os.environ", {"PLUMBAGO_TOKEN": "plumbago_2"}):
            self.assertEqual(Options.of(settings()).headers, (("Authorization", "Bearer plumbago_2"),))
            own = Options.of(settings(PLUMBAGO_HEADERS={"Authorization": "Basic x"}))
        self.assertEqual(own.headers, (("Authorization", "Basic x"),))
