"""The real whisper, for the tests: a request as JSON on each line of stdin, an answer on each line of stdout.

Values are the bits of a double as an integer, so that no digit is lost on the way. None is no point.
"""

import json
import struct
import sys

import whisper


def to_bits(value):
    return None if value is None else struct.unpack("<Q", struct.pack("<d", value))[0]


def from_bits(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def create(path, archives, factor, method):
    whisper.create(path, [tuple(archive) for archive in archives], factor, method)


def update(path, points, now):
    whisper.update_many(path, [(time, from_bits(bits)) for time, bits in points], now=now)


def update_one(path, time, bits, now):
    whisper.update(path, from_bits(bits), time, now=now)


def fetch(path, start, end, now, step=None):
    answer = whisper.fetch(path, start, end, now=now, archiveToSelect=step)
    if answer is None:
        return None
    (first, last, step), values = answer
    return {"first": first, "last": last, "step": step, "values": [to_bits(value) for value in values]}


def info(path):
    found = whisper.info(path)
    archives = [[a["offset"], a["secondsPerPoint"], a["points"]] for a in found["archives"]]
    return {"method": found["aggregationMethod"], "factor": found["xFilesFactor"],
            "longest": found["maxRetention"], "archives": archives}


def place(name, hashed):
    """Where carbon keeps a metric."""
    from carbon.util import TaggedSeries
    return TaggedSeries.encode(name, "/", hash_only=hashed) + ".wsp"


for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"answer": globals()[request.pop("do")](**request)}
    except Exception as error:  # The test decides what it means.
        answer = {"error": "%s: %s" % (type(error).__name__, error)}
    print(json.dumps(answer), flush=True)
