"""Times BigGraphite's own accessor. Each line of JSON on stdin is a request; the answer is [times in ms, hits]."""

import json
import sys
import time

from biggraphite import accessor_factory, glob_utils


def repeat(work):
    """Repeats it for about three seconds, at least three times. Returns the times and the result of the last one."""
    found = work()
    times, began = [], time.perf_counter()
    while len(times) < 3 or (len(times) < 300 and time.perf_counter() - began < 3):
        asked = time.perf_counter()
        found = work()
        times.append((time.perf_counter() - asked) * 1e3)
    return [times, found]


def answer(accessor, command, *arguments):
    if command == "glob":
        return repeat(lambda: sum(len(list(kind)) for kind in glob_utils.graphite_glob(accessor, arguments[0])))
    pattern, start, end = arguments
    metrics = [accessor.get_metric(name) for name in accessor.glob_metric_names(pattern)]
    stage = metrics[0].metadata.retention.stages[0]
    read = lambda metric: sum(1 for _ in accessor.fetch_points(metric, start, end, stage))
    return repeat(lambda: sum(map(read, metrics)))


def main():
    port, keyspace = sys.argv[1:]
    accessor = accessor_factory.accessor_from_settings({
        "driver": "cassandra",
        "cassandra_contact_points": ["127.0.0.1"],
        "cassandra_port": int(port),
        "cassandra_contact_points_metadata": ["127.0.0.1"],
        "cassandra_port_metadata": int(port),
        "cassandra_keyspace": keyspace,
        "cassandra_timeout": 60.0,
    })
    accessor.connect()
    for line in sys.stdin:
        print(json.dumps(answer(accessor, *json.loads(line))), flush=True)
    accessor.shutdown()


main()
