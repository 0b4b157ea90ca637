"""The tag database."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import TestCase

from plumbago_graphite import PlumbagoTagDB
from tests.plumbago import Plumbago


class TagDB(TestCase):
    def setUp(self) -> None:
        self.server = Plumbago(self)
        settings = SimpleNamespace(
            PLUMBAGO_URLS=self.server.url,
            FIND_TIMEOUT=20.0,
            FETCH_TIMEOUT=20.0,
            POOL_MAX_WORKERS=2,
            TAGDB_AUTOCOMPLETE_LIMIT=100,
        )
        self.tagdb = PlumbagoTagDB(settings, cache=None, log=None)

    def asked(self) -> tuple[str, str, list[tuple[str, str]]]:
        return self.server.last[:3]

    def test_series_are_found(self) -> None:
        self.server.body = b'["a;x=y"]'
        self.assertEqual(self.tagdb.find_series(("x=y", "name=a")), ["a;x=y"])
        self.assertEqual(self.asked(), ("POST", "/tags/findSeries", [("expr", "x=y"), ("expr", "name=a")]))

    def test_a_series_is_known_or_not(self) -> None:
        self.server.body = b'["a;k=v;x=y"]'
        known = self.tagdb.get_series("a;x=y;k=v")
        assert known is not None
        self.assertEqual(known.path, "a;k=v;x=y")
        self.assertEqual(self.server.last.get("expr"), ["name=a", "x=y", "k=v"])
        self.server.body = b"[]"
        self.assertIsNone(self.tagdb.get_series("a;x=y;k=v"))
        self.assertIsNone(self.tagdb.get_series("a;not-a-tag"))

    def test_tags_and_values_are_listed(self) -> None:
        self.server.body = b'[{"tag": "x"}]'
        self.assertEqual(self.tagdb.list_tags(), [{"tag": "x"}])
        self.assertEqual(self.asked(), ("GET", "/tags", []))
        self.tagdb.list_tags("^x", 5)
        self.assertEqual(self.server.last.fields, [("filter", "^x"), ("limit", "5")])
        self.server.body = b'{"tag": "a/b", "values": [{"value": "y", "count": 2}]}'
        self.assertEqual(self.tagdb.list_values("a/b", "^y", "5"), [{"value": "y", "count": 2}])
        self.assertEqual(self.asked(), ("GET", "/tags/a%2Fb", [("filter", "^y"), ("limit", "5")]))
        self.server.body = b"null"
        self.assertIsNone(self.tagdb.get_tag("none"))
        self.assertEqual(self.tagdb.list_values("none"), [])

    def test_series_are_entered_and_taken_out(self) -> None:
        self.server.body = b'["a;x=y"]'
        self.assertEqual(self.tagdb.tag_series("a;x=y"), "a;x=y")
        self.assertEqual(self.asked(), ("POST", "/tags/tagMultiSeries", [("path", "a;x=y")]))
        self.server.body = b"true"
        self.assertIs(self.tagdb.del_multi_series(["a;x=y", "b;x=y"]), True)
        self.assertEqual(self.asked(), ("POST", "/tags/delSeries", [("path", "a;x=y"), ("path", "b;x=y")]))
        self.assertIs(self.tagdb.del_series("a;x=y"), True)

    def test_completions_are_plumbagos(self) -> None:
        self.server.body = b'["x"]'
        self.assertEqual(self.tagdb.auto_complete_tags([], "x"), ["x"])
        self.assertEqual(self.server.last.fields, [("tagPrefix", "x"), ("limit", "100")])
        self.assertEqual(self.tagdb.auto_complete_values(["k=v"], "x", "y", 3), ["x"])
        expected = [("expr", "k=v"), ("tag", "x"), ("valuePrefix", "y"), ("limit", "3")]
        self.assertEqual(self.asked(), ("POST", "/tags/autoComplete/values", expected))
