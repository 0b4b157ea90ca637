#!/usr/bin/env python3
"""Fills the answers of the goldens in from a real graphite-web 1.1.10.

    "$(scripts/peers graphite-web)/bin/python" crates/graphite-render/tests/golden/capture.py [--check] [FILE.test ...]

Without a file it takes all of this folder, and those of the HTTP API in tests/golden of the checkout.

Each case of a file is asked of graphite-web over its own HTTP stack, with the data of data.test behind a storage
finder, and the answer below the case is rewritten in place; comments and questions stay as they are. With --check
nothing is written and the exit code says whether a file would change. README.md describes the language.
"""

import glob
import json
import os
import sys
import tempfile
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = [HERE, os.path.join(HERE, *[os.pardir] * 4, "tests", "golden")]
WIDTH = 118


# --- the data set ----------------------------------------------------------------------------------------------------

def read_data(path):
    """name -> (first stamp, step, values), and the events as they are posted."""
    series, events, step, first, name = {}, [], None, None, None
    with open(path) as lines:
        for line in lines:
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("event "):
                events.append(line[len("event "):])
            elif line.startswith("load "):
                _, step, _, first = line.split()
                step, first = int(step.rstrip("s")), int(first)
            elif line.startswith("    "):
                for token in line.split():
                    series[name][2].extend(read_values(token))
            else:
                name = line.strip()
                series[name] = (first, step, [])
    return series, events


def read_values(token):
    value, _, times = token.partition("x")
    return [None if value == "_" else float(value)] * int(times or 1)


# --- graphite-web with that data -------------------------------------------------------------------------------------

def start_graphite(folder, data, events):
    """Configures Django, makes the data base, and returns a test client."""
    settings = type(sys)("golden_settings")
    settings.SECRET_KEY = "golden"
    settings.STORAGE_DIR = settings.LOG_DIR = settings.CONF_DIR = folder
    settings.WHISPER_DIR = os.path.join(folder, "whisper")
    settings.STORAGE_FINDERS = []
    settings.DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(folder, "db")}}
    settings.DEFAULT_CACHE_DURATION = 0
    settings.TIME_ZONE = "UTC"
    settings.ALLOWED_HOSTS = ["*"]
    settings.CLUSTER_SERVERS = []
    settings.CARBONLINK_HOSTS = []
    settings.LOG_INFO_PERFORMANCE = False
    sys.modules["golden_settings"] = settings
    os.environ["GRAPHITE_SETTINGS_MODULE"] = "golden_settings"
    os.environ["DJANGO_SETTINGS_MODULE"] = "graphite.settings"
    # The standard finder walks real folders, so that globbing is graphite-web's own; only the values come from memory.
    for name in data:
        if ";" not in name:
            path = os.path.join(settings.WHISPER_DIR, *name.split(".")) + ".wsp"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w").close()

    import django
    django.setup()
    from graphite.storage import STORE
    STORE.finders.append(make_finder(data, settings.WHISPER_DIR))
    from django.core.management import call_command
    call_command("migrate", run_syncdb=True, verbosity=0)
    from django.test import Client
    client = Client(raise_request_exception=False)
    for name in data:
        if ";" in name:
            client.post("/tags/tagSeries", {"path": name})
    for event in events:
        answer = client.post("/events/", event, content_type="application/json")
        assert answer.status_code == 200, event
    return client


def make_finder(data, whisper_dir):
    from graphite.finders.standard import StandardFinder
    from graphite.intervals import Interval, IntervalSet
    from graphite.node import LeafNode

    class Reader(object):
        def __init__(self, name):
            self.name = name

        def get_intervals(self):
            first, step, values = data[self.name]
            return IntervalSet([Interval(first, first + step * len(values))])

        def fetch(self, start_time, end_time, now=None, requestContext=None):
            """(from, until], on multiples of the step, as whisper answers."""
            first, step, values = data[self.name]
            start_time, end_time = int(start_time), int(end_time)
            start = start_time - start_time % step + step
            end = end_time - end_time % step + step
            at = [(stamp - first) // step for stamp in range(start, end, step)]
            return (start, end, step), [values[i] if 0 <= i < len(values) else None for i in at]

    class Finder(StandardFinder):
        def __init__(self):
            StandardFinder.__init__(self, [whisper_dir])

        def find_nodes(self, query):
            if ";" in query.pattern:
                if query.pattern in data:
                    yield LeafNode(query.pattern, Reader(query.pattern))
                return
            for node in StandardFinder.find_nodes(self, query):
                yield LeafNode(node.path, Reader(node.path)) if node.is_leaf else node

    return Finder()


# --- asking ----------------------------------------------------------------------------------------------------------

def options(words):
    """k=v words; the values are percent-decoded so that they can hold blanks."""
    return {k: urllib.parse.unquote(v) for k, v in (word.split("=", 1) for word in words)}


def ask_eval(client, defaults, question, more):
    head, _, target = question.partition("target=")
    query = dict(defaults, **options(head.split()))
    query.update(format="json", target=[target] + more)
    answer = client.get("/render", query)
    if answer.status_code != 200:
        return ["status %d" % answer.status_code]
    # graphite-web writes infinity as a number too large to read.
    series = json.loads(answer.content, parse_float=float)
    lines = []
    for one in series:
        lines.append(("= " + show_name(one["target"])).rstrip())
        lines.append("  tags " + json.dumps(one["tags"], sort_keys=True, ensure_ascii=False))
        lines.extend("  " + line for line in show_points(one["datapoints"]))
    return lines or ["nothing"]


def show_name(name):
    """A vertical line without a label has none. Blanks at the end are made visible: `cactiStyle` leaves them."""
    if name is None:
        return "null"
    bare = name.rstrip(" ")
    return bare + "\u2423" * (len(name) - len(bare))


def show_points(points):
    """`START +STEP | values` for even stamps, `START | value` for a single one, else `at STAMP value` each."""
    stamps = [stamp for _, stamp in points]
    if not points:
        return ["empty"]
    steps = {b - a for a, b in zip(stamps, stamps[1:])}
    if len(steps) > 1:
        return ["at %d %s" % (stamp, show(value)) for value, stamp in points]
    head = "%d +%d |" % (stamps[0], steps.pop()) if steps else "%d |" % stamps[0]
    return wrap(head, runs([show(value) for value, _ in points]))


def show(value):
    return "_" if value is None else repr(value)


def runs(tokens):
    """Three and more of the same become `TOKENxN`."""
    out, i = [], 0
    while i < len(tokens):
        n = 1
        while i + n < len(tokens) and tokens[i + n] == tokens[i]:
            n += 1
        out.extend(["%sx%d" % (tokens[i], n)] if n > 2 else [tokens[i]] * n)
        i += n
    return out


def wrap(head, tokens):
    lines, line = [], head
    for token in tokens:
        if len(line) + len(token) + 5 > WIDTH:
            lines.append(line)
            line = "  |"
        line += " " + token
    return lines + [line]


def ask_time(defaults, question):
    import pytz
    from graphite.render.attime import parseATTime
    zone = pytz.timezone(defaults.get("tz", "UTC"))
    try:
        moment = parseATTime(question, zone, parseATTime(defaults["now"], zone))
    except Exception:
        return ["error"]
    return ["= %d %s" % (moment.timestamp(), moment.isoformat())]


def ask_get(client, question):
    # What listings answer to a client that says nothing; only events by their ids look at it.
    answer = client.get(question, HTTP_ACCEPT="application/json")
    if answer.status_code != 200:
        return ["status %d" % answer.status_code]
    body = answer.content.decode("utf-8")
    if answer["Content-Type"] == "application/json":
        body = show_json(body)
    else:
        body = body.replace("\\", "\\\\").replace("\r", "\\r")
    return ["status 200 " + answer["Content-Type"]] + [("| " + line).rstrip() for line in body.split("\n")]


def show_json(body):
    """Lists of things one below the other; how graphite-web lays its JSON out is nobody's business."""
    value = json.loads(body.replace(" Infinity", " 1e9999"))
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join("  " + json.dumps(item) for item in value) + "\n]"
    return json.dumps(value)


# --- files -----------------------------------------------------------------------------------------------------------

def recapture(path, client):
    """The text of the file with fresh answers."""
    out, defaults, lines = [], {}, open(path).read().split("\n")
    i = 0
    while i < len(lines):
        line = lines[i]
        i += 1
        out.append(line)
        verb, _, rest = line.partition(" ")
        if verb == "set":
            defaults = options(rest.split())
        if verb not in ("eval", "time", "get"):
            if line and not line.startswith("#") and verb != "set":
                sys.exit("%s:%d: not understood: %s" % (path, i, line))
            continue
        kept, more = [], []
        while i < len(lines) and lines[i].startswith("  "):
            if lines[i].startswith("  and target="):
                more.append(lines[i][len("  and target="):])
            if lines[i].startswith(("  and ", "  differs ")):
                kept.append(lines[i])
            i += 1
        if verb == "eval":
            answer = ask_eval(client, defaults, rest, more)
        elif verb == "time":
            answer = ask_time(defaults, rest)
        else:
            answer = ask_get(client, rest)
        out.extend(kept + ["  " + line for line in answer])
    return "\n".join(out)


def main(arguments):
    check = "--check" in arguments
    names = [a for a in arguments if a != "--check"]
    files = [os.path.abspath(n) for n in names] or [f for folder in FOLDERS for f in sorted(glob.glob(os.path.join(folder, "*.test")))]
    data, events = read_data(os.path.join(HERE, "data.test"))
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        client = start_graphite(folder, data, events)
        for path in files:
            if os.path.basename(path) == "data.test":
                continue
            new = recapture(path, client)
            if new != open(path).read():
                stale.append(os.path.basename(path))
                if not check:
                    with open(path, "w") as out:
                        out.write(new)
    for name in stale:
        print(("out of date: " if check else "rewritten: ") + name, file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
