"""Makes a tree of whisper files as a carbon with many hosts has it, with the real library.

    tree.py DIRECTORY FILES NOW

Points are random and have gaps. One file in a hundred, and at least 60, is made; the others are copies under other names.
"""
import os
import random
import shutil
import sys

import whisper

# Of the applications 0, 1, 2, 3, 4, 5, ... in turn.
RETENTIONS = [[(60, 1440), (300, 2016)], [(10, 2160), (60, 2880)], [(60, 2880), (3600, 720)]]
METHODS = ["average", "sum", "last", "max", "min"]
APPLICATIONS = 12
MEASURES = 10


def path_of(number):
    application, measure = number % APPLICATIONS, number // APPLICATIONS % MEASURES
    host = number // (APPLICATIONS * MEASURES)
    return "apps/app%d/host%d/m%d.wsp" % (application, host, measure)


def fill(path, retention, dice, now):
    step = retention[0][0]
    time = now - min(7 * 86400, retention[-1][0] * retention[-1][1])
    share = dice.choice([1.0, 0.9, 0.6])
    while time < now:
        until = min(time + 6 * 3600, now)
        # A sender that is down now and then, and that loses points.
        if dice.random() < 0.9:
            points = [(t, round(dice.uniform(-50, 100), 2)) for t in range(time, until, step) if dice.random() < share]
            whisper.update_many(path, points, now=until)
        time = until


def main():
    root, files, now = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dice = random.Random(11)
    # A multiple of the applications, so that a copy has the retention of its application.
    made = max(60, files // 100 // APPLICATIONS * APPLICATIONS)
    for number in range(files):
        path = os.path.join(root, path_of(number))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if number >= made:
            shutil.copyfile(os.path.join(root, path_of(number % made)), path)
            continue
        retention = RETENTIONS[number % len(RETENTIONS)]
        whisper.create(path, retention, dice.choice([0.0, 0.25, 0.5]), METHODS[number // APPLICATIONS % len(METHODS)])
        fill(path, retention, dice, now)


main()
