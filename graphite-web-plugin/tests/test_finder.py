"""The finder and its readers."""

from __future__ import annotations

import json
import pickle
from unittest import TestCase

from graphite.finders.utils import FindQuery
from graphite.node import BranchNode, LeafNode

from plumbago_graphite import PlumbagoFinder, PlumbagoReader
from plumbago_graphite.client import Client
from tests.plumbago import Plumbago, options

NODES = [
    {"path": "a.dir", "is_leaf": False},
    {"path": "a.old", "is_leaf": True, "intervals": [{"start": 1000, "end": 2000}]},
    {"path": "a.unknown", "is_leaf": True, "intervals": []},
]
CONTEXT = {"forwardHeaders": {"X-Panel-Id": "7"}}


def record(name: str, pattern: str) -> dict[str, object]:
    return {"name": name, "pathExpression": pattern, "start": 60, "end": 80, "step": 10, "values": [1.0, None]}


class Finder(TestCase):
    def setUp(self) -> None:
        self.server = Plumbago(self)
        self.finder = PlumbagoFinder(Client(options(self.server.url)))

    def test_nodes_are_branches_and_leaves(self) -> None:
        self.server.body = json.dumps(NODES).encode()
        query = FindQuery("a.*", 10, None, headers={"X-Panel-Id": "7"}, leaves_only=False)
        nodes = self.finder.find_nodes(query)
        self.assertEqual([node.path for node in nodes], ["a.dir", "a.old", "a.unknown"])
        self.assertIsInstance(nodes[0], BranchNode)
        self.assertEqual([node.is_leaf for node in nodes], [False, True, True])
        self.assertEqual(self.server.last.get("from"), ["10"])
        self.assertEqual(self.server.last.headers["x-panel-id"], "7")

    def test_a_leaf_knows_when_it_has_data(self) -> None:
        self.server.body = json.dumps(NODES).encode()
        _, old, unknown = self.finder.find_nodes(FindQuery("a.*", None, None))
        spans = []
        for leaf in (old, unknown):
            assert isinstance(leaf, LeafNode) and isinstance(leaf.reader, PlumbagoReader)
            [interval] = leaf.reader.get_intervals()
            spans.append((interval.start, interval.end))
        self.assertEqual(spans[0], (1000, 2000))
        self.assertEqual(spans[1][0], 0)
        self.assertGreater(spans[1][1], 1_700_000_000)

    def test_a_render_fetches_all_patterns_at_once(self) -> None:
        self.server.body = pickle.dumps([record("a.b", "a.*"), record("c;x=y", "seriesByTag('x=y')")])
        fetched = self.finder.fetch(["a.*", "seriesByTag('x=y')"], 50, 80, now=90, requestContext=CONTEXT)
        self.assertEqual(len(self.server.asked), 1)
        self.assertEqual(self.server.last.headers["x-panel-id"], "7")
        self.assertEqual(
            fetched[0],
            {
                "pathExpression": "a.*",
                "path": "a.b",
                "name": "a.b",
                "time_info": (60, 80, 10),
                "values": [1.0, None],
            },
        )
        self.assertEqual(fetched[1]["pathExpression"], "seriesByTag('x=y')")

    def test_a_reader_fetches_its_own(self) -> None:
        self.server.body = json.dumps(NODES[1:2]).encode()
        [leaf] = self.finder.find_nodes(FindQuery("a.old", None, None))
        assert isinstance(leaf, LeafNode) and isinstance(leaf.reader, PlumbagoReader)
        self.server.body = pickle.dumps([record("a.old", "a.old")])
        self.assertEqual(leaf.reader.fetch(50, 80), ((60, 80, 10), [1.0, None]))
        self.assertEqual(self.server.last.get("target"), ["a.old"])
        self.server.body = pickle.dumps([])
        self.assertIsNone(leaf.reader.fetch(50, 80, 90, CONTEXT))

    def test_the_index_is_plumbagos(self) -> None:
        self.server.body = b'["a", "b"]'
        self.assertEqual(self.finder.get_index({}), ["a", "b"])
        self.assertEqual(self.server.last.path, "/metrics/index.json")

    def test_tags_are_completed_by_plumbago(self) -> None:
        self.server.body = b'["host"]'
        self.assertEqual(self.finder.auto_complete_tags(["a=b", "c=d"], "h", "7"), ["host"])
        self.assertEqual(self.server.last.path, "/tags/autoComplete/tags")
        self.assertEqual(self.server.last.get("expr"), ["a=b", "c=d"])
        self.assertEqual(self.server.last.get("tagPrefix") + self.server.last.get("limit"), ["h", "7"])
        self.assertEqual(self.finder.auto_complete_values([], "host", None, None, CONTEXT), ["host"])
        self.assertEqual(self.server.last.path, "/tags/autoComplete/values")
        self.assertEqual(self.server.last.fields, [("tag", "host"), ("limit", "100")])
