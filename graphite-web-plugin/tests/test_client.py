"""The client: what goes over the wire, and what becomes of it when something is wrong there."""

from __future__ import annotations

import json
import os
import pickle
import socket
import threading
from unittest import TestCase

from plumbago_graphite.client import (
    MAX_FORM_BYTES,
    Client,
    Found,
    PlumbagoAway,
    PlumbagoError,
    PlumbagoRefused,
    Series,
    batches,
)
from tests.plumbago import Plumbago, options

RECORD = {
    "name": "a.b",
    "pathExpression": "a.*",
    "start": 60,
    "end": 80,
    "step": 10,
    "values": [1.5, None],
    "consolidationFunc": "average",
}


def dead_url() -> str:
    """Where nothing listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}"


class Finding(TestCase):
    def test_nodes_come_with_their_intervals(self) -> None:
        nodes = [
            {"path": "a", "is_leaf": False},
            {"path": "a", "is_leaf": True, "intervals": [{"start": 1000, "end": 2000}]},
        ]
        server = Plumbago(self, json.dumps(nodes).encode())
        found = Client(options(server.url)).find("*", 5.5, 10, leaves_only=True)
        self.assertEqual(found, [Found("a", False, []), Found("a", True, [(1000, 2000)])])
        self.assertEqual((server.last.method, server.last.path), ("GET", "/metrics/find"))
        expected = [("query", "*"), ("format", "json"), ("local", "1"), ("leavesOnly", "1")]
        self.assertEqual(server.last.fields, [*expected, ("from", "5"), ("until", "10")])

    def test_a_window_is_only_sent_if_there_is_one(self) -> None:
        server = Plumbago(self)
        Client(options(server.url)).find("größe & *", None, 10)
        self.assertEqual(server.last.get("query"), ["größe & *"])
        self.assertEqual((server.last.get("from"), server.last.get("until")), ([], ["10"]))
        self.assertEqual(server.last.get("leavesOnly"), [])


class Fetching(TestCase):
    def test_many_targets_are_one_request(self) -> None:
        server = Plumbago(self, pickle.dumps([RECORD, {**RECORD, "name": "a.c"}], protocol=2))
        targets = ["a.*", "seriesByTag('x=y')", "größe"]
        series = Client(options(server.url)).fetch(targets, 50.9, 80, now=100)
        self.assertEqual(series[0], Series("a.b", "a.*", (60, 80, 10), [1.5, None]))
        self.assertEqual([one.name for one in series], ["a.b", "a.c"])
        self.assertEqual(len(server.asked), 1)
        self.assertEqual((server.last.method, server.last.path), ("POST", "/render"))
        self.assertEqual(server.last.get("target"), targets)
        times = [server.last.get(name) for name in ("from", "until", "now", "format")]
        self.assertEqual(times, [["50"], ["80"], ["100"], ["pickle"]])

    def test_nothing_is_asked_for_nothing(self) -> None:
        server = Plumbago(self)
        self.assertEqual(Client(options(server.url)).fetch([], 0, 10), [])
        self.assertEqual(server.asked, [])

    def test_forms_stay_short_enough_and_lose_nothing(self) -> None:
        targets = [f"{'x' * 999}.{number}" for number in range(3000)] + ["y" * (2 * MAX_FORM_BYTES)]
        made = list(batches(targets))
        self.assertEqual([target for batch in made for _, target in batch], targets)
        sizes = [sum(len(target) for _, target in batch) for batch in made]
        self.assertEqual(len([size for size in sizes if size > MAX_FORM_BYTES]), 1)
        self.assertEqual(len(made), 4)

    def test_a_pickle_that_wants_to_run_something_is_refused(self) -> None:
        ran = os.path.join(os.getcwd(), "must-not-be-made")

        class Attack:
            def __reduce__(self) -> tuple[object, ...]:
                return (os.mkdir, (ran,))

        server = Plumbago(self, pickle.dumps([Attack()]))
        with self.assertRaisesRegex(PlumbagoError, "mkdir has no place in an answer"):
            Client(options(server.url)).fetch(["a"], 0, 10)
        self.assertFalse(os.path.exists(ran))


class Connections(TestCase):
    def test_one_is_used_again_and_again(self) -> None:
        server = Plumbago(self)
        client = Client(options(server.url))
        for _ in range(3):
            client.find("*")
        self.assertEqual((len(server.asked), server.connections), (3, 1))

    def test_one_that_was_closed_meanwhile_is_opened_again(self) -> None:
        server = Plumbago(self)
        server.close_after_answer = True
        client = Client(options(server.url))
        for _ in range(3):
            self.assertEqual(client.find("*"), [])
        self.assertEqual((len(server.asked), server.connections), (3, 3))

    def test_headers_go_with_every_request(self) -> None:
        server = Plumbago(self)
        client = Client(options(server.url, headers={"Authorization": "Basic x"}))
        client.find("*", headers={"X-Panel-Id": "7"})
        self.assertEqual(server.last.headers["authorization"], "Basic x")
        self.assertEqual(server.last.headers["x-panel-id"], "7")


class Trouble(TestCase):
    def test_a_server_that_is_away_is_named(self) -> None:
        url = dead_url()
        with self.assertRaisesRegex(PlumbagoAway, f"Plumbago at {url}/metrics/find is away: .*refused"):
            Client(options(url)).find("*")

    def test_the_next_server_takes_over_and_stays(self) -> None:
        busy = Plumbago(self, b"too many queries are running", 503)
        well = Plumbago(self)
        client = Client(options(dead_url(), busy.url, well.url))
        self.assertEqual(client.find("*"), [])
        self.assertEqual(client.find("*"), [])
        self.assertEqual((len(busy.asked), len(well.asked)), (1, 2))

    def test_all_that_were_tried_are_named(self) -> None:
        busy = Plumbago(self, b"too many queries are running", 503)
        pattern = "is away: .*; Plumbago at .* answers 503: too many queries are running"
        with self.assertRaisesRegex(PlumbagoAway, pattern):
            Client(options(dead_url(), busy.url)).find("*")

    def test_no_answer_in_time_is_no_reason_to_ask_the_next(self) -> None:
        over = threading.Event()
        self.addCleanup(over.set)
        slow, other = Plumbago(self), Plumbago(self)
        slow.before_answer = over.wait
        client = Client(options(slow.url, other.url, fetch_timeout=0.05))
        with self.assertRaisesRegex(PlumbagoError, "did not answer within 0.05 s.*raise FIND_TIMEOUT"):
            client.fetch(["a"], 0, 10)
        self.assertEqual((len(slow.asked), len(other.asked)), (1, 0))

    def test_a_mistake_is_the_users(self) -> None:
        server = Plumbago(self, b"Invalid parameters (unclosed `{`)\n", 400)
        other = Plumbago(self)
        with self.assertRaisesRegex(PlumbagoRefused, r"answers 400: Invalid parameters \(unclosed `{`\)$"):
            Client(options(server.url, other.url)).find("{")
        self.assertTrue(issubclass(PlumbagoRefused, ValueError))
        self.assertEqual(other.asked, [])

    def test_a_failure_is_not(self) -> None:
        server = Plumbago(self, b"x" * 100_000, 500)
        with self.assertRaises(PlumbagoError) as caught:
            Client(options(server.url)).find("*")
        self.assertNotIsInstance(caught.exception, ValueError)
        self.assertLess(len(str(caught.exception)), 1000)

    def test_answers_of_somebody_else_are_recognised(self) -> None:
        for body in (b"<html>", b"{}", b"7", b'["a"]', b'[{"path": "a"}]'):
            client = Client(options(Plumbago(self, body).url))
            with self.subTest(body), self.assertRaisesRegex(PlumbagoError, "/metrics/find.*PLUMBAGO_URLS"):
                client.find("*")
        for body in (b"", b"<html>", pickle.dumps({}), pickle.dumps(["a"]), pickle.dumps([{"name": "a"}])):
            client = Client(options(Plumbago(self, body).url))
            with self.subTest(body), self.assertRaisesRegex(PlumbagoError, "/render.*PLUMBAGO_URLS"):
                client.fetch(["a"], 0, 10)
        with self.assertRaisesRegex(PlumbagoError, "a list was expected, not dict"):
            Client(options(Plumbago(self, b"{}").url)).index()
