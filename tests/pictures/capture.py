#!/usr/bin/env python3
"""Writes axes.json: what the axes of graphs.txt have in a real graphite-web 1.1.10, and the options that it knows.

    "$(scripts/peers graphite-web)/bin/python" tests/pictures/capture.py [--time FILE]

With --time it draws the graph of the benchmark (20 lines of 1,440 points, 800 by 400 pixels) many times instead, and prints the
median of milliseconds; FILE has the values, one series in a line.
"""

import json
import os
import statistics
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "crates", "graphite-render", "tests", "golden"))
import capture  # noqa: E402


def recorded(glyph):
    """Makes line graphs remember what they write beside their axes and where their lines are."""
    drawn = {}
    draw_text, draw_labels, draw_grid = glyph.Graph.drawText, glyph.LineGraph.drawLabels, glyph.LineGraph.drawGridLines

    def text(self, text, x, y, font={}, color={}, align="left", valign="top", border=False, rotate=0):
        if drawn.get("open"):
            drawn["texts"].append([text.strip(), round(x, 1), round(y, 1), align])
        return draw_text(self, text, x, y, font, color, align, valign, border, rotate)

    def labels(self):
        drawn.update(open=True, texts=[])
        draw_labels(self)
        drawn["open"] = False
        drawn["area"] = {name: round(float(value), 1) for name, value in self.area.items()}

    def grid(self):
        draw_grid(self)
        for name, unit, step in (("minor", "minorGridUnit", "minorGridStep"), ("major", "majorGridUnit", "majorGridStep")):
            moment, delta = glyph.find_x_times(self.start_dt, self.xConf[unit], self.xConf[step])
            drawn[name] = []
            while moment < self.end_dt:
                x = self.area["xmin"] + glyph.toSeconds(moment - self.start_dt) * self.xScaleFactor
                if x < self.area["xmax"]:
                    drawn[name].append(round(x, 1))
                moment += delta

    glyph.Graph.drawText, glyph.LineGraph.drawLabels, glyph.LineGraph.drawGridLines = text, labels, grid
    return drawn


def graphs():
    with open(os.path.join(HERE, "graphs.txt")) as lines:
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def axes():
    data, events = capture.read_data(os.path.join(capture.HERE, "data.test"))
    with tempfile.TemporaryDirectory() as folder:
        client = capture.start_graphite(folder, data, events)
        from graphite.render import glyph

        drawn = recorded(glyph)
        found = []
        for query in graphs():
            drawn.clear()
            answer = client.get("/render", urllib.parse.parse_qs(query + "&format=png"))
            assert answer.status_code == 200 and "texts" in drawn, (query, answer.status_code)
            found.append({"query": query, **{name: drawn[name] for name in ("area", "texts", "minor", "major")}})
        names = set(glyph.LineGraph.customizable) | set(glyph.PieGraph.customizable)
    with open(os.path.join(HERE, "axes.json"), "w") as out:
        out.write('{"options": ' + json.dumps(sorted(names)) + ',\n"graphs": [\n')
        out.write(",\n".join(json.dumps(graph) for graph in found) + "\n]}\n")


def timed(path):
    with open(path) as lines:
        rows = [[float(value) for value in line.split()] for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        capture.start_graphite(folder, {}, [])
        from io import BytesIO

        from graphite.render.datalib import TimeSeries
        from graphite.render.glyph import LineGraph

        took = []
        for _ in range(30):
            series = [TimeSeries("line %d" % i, 0, 60 * len(row), 60, list(row)) for i, row in enumerate(rows)]
            for one in series:
                one.pathExpression = one.name
            began = time.perf_counter()
            LineGraph(data=series, width=800, height=400).output(BytesIO())
            took.append((time.perf_counter() - began) * 1000)
    print("%.2f" % statistics.median(took))


if len(sys.argv) == 3 and sys.argv[1] == "--time":
    timed(sys.argv[2])
else:
    axes()
