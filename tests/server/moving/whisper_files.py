"""Makes whisper files with the real library, as carbon would over some days, and prints what it reads from them.

    whisper_files.py DIRECTORY FILES NOW

One line of JSON per question: name, from, until, and the points that whisper shows.
"""
import json
import os
import random
import sys

import whisper

RETENTIONS = [
    [(10, 2160), (60, 10080), (3600, 8760)],
    [(60, 43200)],
    [(1, 7200), (10, 20000)],
    [(15, 5760), (300, 17280), (3600, 17520)],
    [(60, 1500), (420, 20000)],
]
METHODS = ["average", "sum", "last", "max", "min", "avg_zero", "absmax", "absmin"]
# Seconds before NOW: from, until. The last slots of coarse archives are still running, so those questions end earlier.
QUESTIONS = [(3500, 60), (5 * 3600, 3600), (20 * 3600, 4 * 3600), (3 * 86400, 7300), (6 * 86400, 86400), (20 * 86400, 7300)]


def name_of(number):
    if number % 9 == 8:
        return "disk.used;host=web%d;rack=a.1" % number
    return "servers.web%d.cpu.load%d" % (number % 7, number)


def path_of(name):
    """As carbon.database.WhisperDatabase lays files out."""
    from carbon.util import TaggedSeries

    return TaggedSeries.encode(name, sep=os.sep) + ".wsp"


def fill(path, retention, dice, now):
    step = retention[0][0]
    reach = min(6 * 86400, retention[-1][0] * retention[-1][1])
    share = dice.choice([1.0, 0.9, 0.4])
    time = now - reach
    while time < now:
        until = min(time + 3 * 3600, now)
        # A sender that is down now and then, and that loses points.
        if dice.random() < 0.85:
            points = [(t, round(dice.uniform(-50, 100), 2)) for t in range(time, until, step) if dice.random() < share]
            if points:
                whisper.update_many(path, points, now=until)
        time = until


def main():
    root, files, now = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dice = random.Random(7)
    for number in range(files):
        name = name_of(number)
        path = os.path.join(root, path_of(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        retention = RETENTIONS[number % len(RETENTIONS)]
        # Files keep the factor as a float of four bytes, and 0.3 of ten points would be a little more than three.
        factor = dice.choice([0.0, 0.25, 0.5])
        whisper.create(path, retention, factor, METHODS[number % len(METHODS)])
        fill(path, retention, dice, now)
        reach = retention[-1][0] * retention[-1][1]
        for before, after in QUESTIONS:
            # What is about to expire is not asked for: the answer comes a moment later.
            if before > reach - 1800:
                continue
            found = whisper.fetch(path, now - before, now - after, now=now)
            if found is None:
                continue
            (start, _, step), values = found
            points = [[v, start + i * step] for i, v in enumerate(values) if v is not None]
            print(json.dumps({"name": name, "from": now - before, "until": now - after, "step": step, "points": points}))


main()
