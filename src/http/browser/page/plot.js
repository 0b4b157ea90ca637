// The plot: lines on a canvas by uPlot, with axes, cursor and selection.

import { amounts, gutter, moments, powers, reach, steps } from "./axis.js";
import { zone } from "./clock.js";
import { columnsOf, extent } from "./columns.js";
import { ink } from "./lines.js";
import { paintBelow, scaleOf } from "./paint.js";
import { state } from "./state.js";
import { colour } from "./theme.js";

/** How many slots from the pointer a value may be. */
const REACH = 20;

export class Plot {
  /**
   * Draws lines into `place`. `told` has what to call: `zoom(first, last)`, `out()`, `pointed(plot)`, `focused(index)`,
   * `drawn()`.
   */
  constructor(place, lines, unit, told) {
    this.place = place;
    this.lines = lines;
    this.told = told;
    const data = this.read(lines);
    this.uplot = new window.uPlot(this.options(unit), data, place);
  }

  /** New points of the same lines. */
  update(lines) {
    this.lines = lines;
    this.uplot.setData(this.read(lines));
  }

  destroy() {
    this.uplot.destroy();
  }

  read(lines) {
    const way = { stacked: state.style === "stacked", log: state.scale === "log" };
    const { times, columns } = columnsOf(lines, way);
    this.columns = columns;
    return [times, ...columns.map(({ values }) => values)];
  }

  /** The value of a line that the pointer is at. */
  value(index) {
    return this.columns[index].own[this.uplot.cursor.idxs?.[index + 1]];
  }

  size() {
    const width = this.place.clientWidth;
    const most = Math.max(420, innerHeight * 0.5);
    return { width, height: Math.round(Math.min(most, Math.max(220, width * 0.42))) };
  }

  options(unit) {
    const [text, hairline] = [colour("--muted"), colour("--hairline")];
    const axis = {
      stroke: text,
      grid: { stroke: hairline, width: 1 },
      ticks: { stroke: hairline, width: 1, size: 5 },
      font: "12px system-ui, sans-serif",
    };
    const distr = state.scale === "log" ? { distr: 3, log: 10 } : {};
    const right = this.lines.some((line) => line.drawing.second);
    const own = (second) => () => {
      const wanted = this.lines.map((line) => Boolean(line.drawing.second) === second);
      const some = (list) => list.filter((_, at) => wanted[at]);
      return reach(...extent(some(this.lines), some(this.columns)), !second);
    };
    const vertical = { ...axis, size: gutter, values: amounts(unit), ...(distr.distr && { filter: powers }), ...(steps(unit) && { incrs: steps(unit) }) };
    return {
      ...this.size(),
      legend: { show: false },
      tzDate: (seconds) => {
        const date = new Date(seconds * 1000);
        return zone() ? window.uPlot.tzDate(date, zone()) : date;
      },
      cursor: {
        focus: { prox: 24 },
        dataIdx: nearby,
        points: { size: 7 },
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => (this.told.out(), null) },
      },
      focus: { alpha: 0.2 },
      scales: {
        x: { time: true },
        y: { range: own(false), ...distr },
        ...(right && { right: { range: own(true), ...distr } }),
      },
      axes: [
        { ...axis, values: moments },
        vertical,
        ...(right ? [{ ...vertical, scale: "right", side: 1, grid: { show: false } }] : []),
      ],
      series: [{}, ...this.lines.map((line) => this.series(line))],
      hooks: {
        drawAxes: [(plot) => paintBelow(plot, this.lines, this.columns, { filled: state.style === "area" })],
        draw: [() => this.told.drawn()],
        setSelect: [(plot) => this.selected(plot)],
        setCursor: [() => this.told.pointed(this)],
        setSeries: [(_, index) => this.told.focused(index === null ? -1 : index - 1)],
      },
    };
  }

  series(line) {
    const { look, drawing } = line;
    const unseen = drawing.infinite || drawing.unseen;
    return {
      label: line.name,
      scale: scaleOf(line),
      stroke: ink(look),
      width: look.width,
      dash: look.dash,
      show: !line.hidden,
      ...(unseen && { paths: () => null }),
      points: unseen ? { show: false } : { size: 5, filter: lonely },
    };
  }

  /** Zooms to the range that the user dragged over. */
  selected(plot) {
    const { left, width } = plot.select;
    if (width < 5) return;
    this.told.zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  /** Moves the cursor by some points, from the end if it is nowhere. */
  step(by) {
    const [times] = this.uplot.data;
    if (times.length === 0) return;
    const { idx, left } = this.uplot.cursor;
    const here = left >= 0 && idx !== null && idx !== undefined ? idx + by : times.length - 1;
    this.moveTo(Math.min(times.length - 1, Math.max(0, here)));
  }

  moveTo(index) {
    const at = this.uplot.valToPos(this.uplot.data[0][index], "x");
    this.uplot.setCursor({ left: at, top: this.uplot.over.clientHeight / 2 });
  }
}

/** The index of the value nearest to the pointer, for series with gaps or with fewer points than others. */
function nearby(plot, index, at) {
  const values = plot.data[index];
  for (let distance = 0; index > 0 && distance <= REACH; distance += 1) {
    if ((values[at - distance] ?? null) !== null) return at - distance;
    if ((values[at + distance] ?? null) !== null) return at + distance;
  }
  return at;
}

/** Points between two gaps, which are not visible as lines. */
function lonely(plot, index, show) {
  if (show) return null;
  const values = plot.data[index];
  const near = (from, step) => {
    let at = from + step;
    while (at >= 0 && at < values.length && values[at] === undefined) at += step;
    return values[at];
  };
  const [first, last] = plot.series[index].idxs ?? [0, values.length - 1];
  const found = [];
  for (let at = first; at <= last; at += 1) {
    if (values[at] === null || values[at] === undefined) continue;
    if ((near(at, -1) ?? null) === null && (near(at, 1) ?? null) === null) found.push(at);
  }
  return found;
}
