"""BigGraphite's own accessor, driven by lines of JSON: ["create", …] and the like. Each is answered by a line."""

import json
import sys

from biggraphite import accessor_factory, metric


def told(found):
    """What BigGraphite knows of a metric."""
    if found is None:
        return None
    return [found.name, str(found.id), found.metadata.as_string_dict()]


def answer(accessor, command, arguments):
    if command == "create":
        for name, config in arguments:
            made = metric.make_metric_with_defaults(name, metric.MetricMetadata.from_string_dict(config))
            accessor.create_metric(made)
        accessor.flush()
        return None
    if command == "get":
        return [told(accessor.get_metric(name)) for name in arguments]
    if command == "has":
        return [accessor.has_metric(name) for name in arguments]
    if command == "glob":
        return [
            [sorted(accessor.glob_metric_names(glob)), sorted(accessor.glob_directory_names(glob))]
            for glob in arguments
        ]
    if command == "write":
        for name, points in arguments:
            accessor.insert_points(accessor.get_metric(name), [(int(t), float(v)) for t, v in points])
        accessor.flush()
        return None
    if command == "read":
        name, start, end, level = arguments
        found = accessor.get_metric(name)
        stage = found.metadata.retention.stages[level]
        return [list(point) for point in accessor.fetch_points(found, start, end, stage)]
    raise ValueError(command)


def main():
    host, port, keyspace = sys.argv[1:]
    accessor = accessor_factory.accessor_from_settings({
        "driver": "cassandra",
        "cassandra_contact_points": [host],
        "cassandra_port": int(port),
        "cassandra_contact_points_metadata": [host],
        "cassandra_port_metadata": int(port),
        "cassandra_keyspace": keyspace,
        "cassandra_timeout": 60.0,
    })
    accessor.connect()
    for line in sys.stdin:
        command, arguments = json.loads(line)
        print(json.dumps(answer(accessor, command, arguments)), flush=True)
    accessor.shutdown()


main()
