"""Clients of KairosDB and OpenTSDB for Python, as they were published, against a server.

    python_clients.py HTTP_HOST:PORT TELNET_HOST:PORT SECONDS

What differs from what their users expect ends the program. What they read is printed as JSON.
"""

import json
import sys
import time

from kairosdb import KairosDB
from kairosdb.errors import ApiCallError
from opentsdb import Counter, Gauge, TSDBClient, TSDBConnectProtocols
import potsdb


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def opentsdb_by_http(host, port, seconds):
    """opentsdb-py packs its points, and wants to be told how many were taken.

    It cannot ask for the version before it is made, though it has an option for that.
    """
    client = TSDBClient(host, port, static_tags={"dc": "ams"}, host_tag=False)
    assert client.is_alive()
    for n in range(120):
        client.send("py.http", n, host="web1", timestamp=seconds + n % 60)
    counter = Counter("py.counter", ["host"], client)
    gauge = Gauge("py.gauge", ["host"], client)
    counter.tags("web1").inc(2)
    gauge.tags("web1").set(7.5)
    client.close()
    client.wait()
    return client.statuses


def opentsdb_by_telnet(host, port, seconds):
    client = TSDBClient(
        host, port, protocol=TSDBConnectProtocols.TELNET, check_tsdb_alive=True, host_tag=False
    )
    client.send("py.telnet", 1.5, host="web1", timestamp=seconds)
    client.close()
    client.wait()


def potsdb_by_telnet(host, port, seconds):
    client = potsdb.Client(host, port=port, host_tag="web1")
    for n in range(10):
        client.send("py.potsdb", n, dc="ams", timestamp=seconds + n)
    client.wait()


def kairosdb(url, metrics, seconds):
    """kairosdb-python only reads."""
    client = KairosDB(url)
    deadline = time.time() + 30
    # The lines of telnet are not answered.
    while client.get_metric_names("py.")["results"] != metrics:
        assert time.time() < deadline, client.get_metric_names()
        time.sleep(0.05)
    query = {
        "start_absolute": seconds * 1000,
        "end_absolute": (seconds + 60) * 1000,
        "metrics": [{"name": "py.http", "tags": {"dc": ["ams"]}}, {"name": "py.potsdb"}],
    }
    try:
        mistake = client.query({"metrics": [{"name": "m"}]})
    except ApiCallError as refused:
        mistake = refused.details
    features = [feature["name"] for feature in client.features("aggregators")]
    return {
        "healthy": client.check_health(),
        "status": client.check_health_status(),
        "features": features,
        "all_features": [feature["name"] for feature in client.features()],
        "query": client.query(query),
        "mistake": mistake,
    }


def main():
    http, telnet, seconds = address(sys.argv[1]), address(sys.argv[2]), int(sys.argv[3])
    statuses = opentsdb_by_http(*http, seconds)
    opentsdb_by_telnet(*telnet, seconds)
    potsdb_by_telnet(*telnet, seconds)
    metrics = ["py.counter", "py.gauge", "py.http", "py.potsdb", "py.telnet"]
    seen = kairosdb("http://%s:%d/" % http, metrics, seconds)
    print(json.dumps({"statuses": statuses, **seen}))


main()
