"""Writes a keyspace as KairosDB would, byte by byte, from a description on stdin. It shares nothing with the code that reads it.

python kairosdb_writer.py HOST PORT KEYSPACE < description.json

{"tables": ["row_key_index", "row_keys", "spec", "blob_names"],
 "spec": {"row_time_unit": "SECONDS", "row_width": "1814400"},
 "series": [{"metric": "m", "tags": {"host": "a"}, "type": "kairos_long", "index": "old" | "new" | "both",
             "ttl": 1000, "points": [[1500000000000, 33]]}]}

A value is a number, or hexadecimal digits for a type that is not encoded here. A series without a type is of the time before types.
"""
import json
import struct
import sys

from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args

WIDTH = 1814400000


def main():
    host, port, keyspace = sys.argv[1:]
    told = json.load(sys.stdin)
    session = Cluster([host], port=int(port)).connect()
    make_tables(session, keyspace, told)
    unit = told.get("spec", {}).get("row_time_unit", "LEGACY")
    points, old, times, keys, names = [], [], set(), [], set()
    for series in told["series"]:
        metric, tags, kind = series["metric"], series["tags"], series.get("type")
        index = series.get("index", "new")
        names.add(metric)
        rows = set()
        for time, value in series["points"]:
            # In seconds, the width of a row counts seconds and is yet applied to milliseconds.
            width = WIDTH // 1000 if unit == "SECONDS" else WIDTH
            row = time - abs(time) % width
            rows.add(row)
            cell = encode(kind, value)
            points.append((row_key(metric, row, kind, tags), column(unit, time - row, kind, value), cell, series.get("ttl", 0)))
        for row in sorted(rows):
            if index in ("old", "both"):
                old.append((metric.encode(), row_key(metric, row, kind, tags), b""))
            if index in ("new", "both"):
                times.add((metric, "data_points", row))
                keys.append((metric, "data_points", row, kind, tags))
    for raw in told.get("broken_keys", []):
        old.append((raw["metric"].encode(), bytes.fromhex(raw["key"]), b""))
    run(session, "INSERT INTO %s.data_points (key, column1, value) VALUES (?, ?, ?) USING TTL ?" % keyspace, points)
    if "row_key_index" in told["tables"]:
        run(session, "INSERT INTO %s.row_key_index (key, column1, value) VALUES (?, ?, ?)" % keyspace, old)
    if "row_keys" in told["tables"]:
        run(session, "INSERT INTO %s.row_key_time_index (metric, table_name, row_time) VALUES (?, ?, ?)" % keyspace, list(times))
        run(session, "INSERT INTO %s.row_keys (metric, table_name, row_time, data_type, tags, mtime) VALUES (?, ?, ?, ?, ?, now())" % keyspace, keys)
    if "blob_names" in told["tables"]:
        names = [(b"metric_names", name.encode(), b"\0") for name in names]
    else:
        names = [(b"metric_names", name, b"\0") for name in names]
    run(session, "INSERT INTO %s.string_index (key, column1, value) VALUES (?, ?, ?)" % keyspace, names)
    for name, value in told.get("spec", {}).items():
        run(session, "INSERT INTO %s.spec (spec_type, name, value) VALUES (?, ?, ?)" % keyspace, [("cluster_config", name, value)])


def run(session, text, rows):
    if rows:
        execute_concurrent_with_args(session, session.prepare(text), rows, concurrency=64)


def make_tables(session, keyspace, told):
    session.execute("CREATE KEYSPACE %s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}" % keyspace)
    blobs = "CREATE TABLE %s.%s (key blob, column1 %s, value blob, PRIMARY KEY (key, column1))"
    names = "blob" if "blob_names" in told["tables"] else "text"
    statements = [blobs % (keyspace, "data_points", "blob"), blobs % (keyspace, "string_index", names)]
    if "row_key_index" in told["tables"]:
        statements.append(blobs % (keyspace, "row_key_index", "blob"))
    if "row_keys" in told["tables"]:
        statements.append(
            "CREATE TABLE %s.row_key_time_index (metric text, table_name text, row_time timestamp, value text, "
            "PRIMARY KEY ((metric), table_name, row_time))" % keyspace)
        statements.append(
            "CREATE TABLE %s.row_keys (metric text, table_name text, row_time timestamp, data_type text, "
            "tags frozen<map<text, text>>, mtime timeuuid static, value text, "
            "PRIMARY KEY ((metric, table_name, row_time), data_type, tags))" % keyspace)
    if "spec" in told["tables"]:
        statements.append("CREATE TABLE %s.spec (spec_type text, name text, value text, PRIMARY KEY ((spec_type), name))" % keyspace)
    for statement in statements:
        session.execute(statement)


def row_key(metric, row, kind, tags):
    key = metric.encode() + b"\0" + struct.pack(">q", row)
    if kind is not None:
        key += b"\0" + bytes([len(kind)]) + kind.encode()
    text = ""
    for name in sorted(tags):
        text += name.replace(":", "\0").replace("=", ":=").replace("\0", "::") + "="
        text += tags[name].replace("=", "\0").replace(":", "=:").replace("\0", "==") + ":"
    return key + text.encode()


def column(unit, distance, kind, value):
    if unit == "SECONDS":
        return struct.pack(">I", distance // 1000)
    if unit == "MILLISECONDS":
        return struct.pack(">I", distance)
    bit = 1 if kind is None and isinstance(value, float) else 0
    return struct.pack(">I", distance << 1 | bit)


def encode(kind, value):
    if isinstance(value, str):
        return bytes.fromhex(value)
    if kind == "kairos_double":
        return struct.pack(">d", value)
    if kind == "kairos_long":
        rest = value * 2 if value >= 0 else -value * 2 - 1
        groups = []
        while True:
            groups.append(rest & 127)
            rest >>= 7
            if not rest:
                break
        return bytes([group | 128 for group in groups[:-1]] + groups[-1:])
    if isinstance(value, float):
        short = struct.unpack(">f", struct.pack(">f", value))[0] == value
        return b"\1" + struct.pack(">f", value) if short else b"\2" + struct.pack(">d", value)
    return struct.pack(">q", value).lstrip(b"\0")


main()
