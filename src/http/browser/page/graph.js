// The graph: renders the targets, draws them with uPlot, and refreshes them.

import { byId, el } from "./dom.js";
import { Legend } from "./legend.js";
import { zoomOut, zoomTo } from "./range.js";
import { renderGood } from "./render.js";
import { state } from "./state.js";
import { colour } from "./theme.js";
import { count, sentence, short, time } from "./words.js";

/** Lines that are drawn: nobody can tell more of them apart. */
const MOST_LINES = 100;
const HUES = 10;
/** Milliseconds until the next attempt if the server does not answer, whatever the refresh interval is. */
const RETRY = 5000;
/** How many slots from the pointer a value may be. */
const REACH = 20;

/** The parameters of the render, for the request and for sharing. */
export const renderParameters = (format, width) => ({
  target: state.targets,
  from: state.from,
  until: state.until,
  format,
  maxDataPoints: width,
});

export class Graph {
  /** `broken(reasons)` is called after each render with the reasons for targets that cannot be drawn. */
  constructor(broken) {
    this.broken = broken;
    this.place = byId("plot");
    this.note = byId("note");
    this.legend = new Legend(byId("legend"), this);
    this.series = [];
    this.tip = el("div", { class: "tip", hidden: true });
    this.place.addEventListener("mousedown", () => (this.dragging = true));
    addEventListener("mouseup", () => this.released());
    new ResizeObserver(() => this.resized()).observe(this.place);
    state.watch(["targets", "from", "until"], () => this.draw());
    state.watch(["refresh"], () => this.wind());
    document.addEventListener("visibilitychange", () => document.hidden || this.wind());
  }

  /** The first and the last second of the graph. */
  shown() {
    const now = Date.now() / 1000;
    const { min, max } = this.plot?.scales.x ?? {};
    return [min ?? now - 3600, max ?? now];
  }

  /** Starts the refresh timer. A hidden page asks for nothing. */
  wind() {
    clearInterval(this.timer);
    if (state.refresh > 0)
      this.timer = setInterval(() => document.hidden || this.draw(), state.refresh * 1000);
  }

  async draw() {
    clearTimeout(this.retry);
    this.running?.abort();
    const empty = state.targets.length === 0;
    byId("picture").classList.toggle("empty", empty);
    if (empty) return this.clear("Choose a metric in the tree, search for one, or write a query.");
    this.running = new AbortController();
    const { signal } = this.running;
    this.place.setAttribute("aria-busy", "true");
    try {
      const width = Math.max(200, Math.round(this.place.clientWidth));
      const { series, broken } = await renderGood(renderParameters("json", width), signal);
      if (signal.aborted) return;
      this.show(series);
      this.broken(broken);
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error);
    } finally {
      if (!signal.aborted) this.place.removeAttribute("aria-busy");
    }
  }

  /** Says why there is no new graph. The last one stays unless the query itself is wrong. */
  failed(error) {
    if (error.status >= 400 && error.status < 500) return this.clear(error.message, true);
    this.retry = setTimeout(() => this.draw(), RETRY);
    const last = this.plot ? `This is the last graph, from ${time(this.drawnAt)}. ` : "";
    this.say(`${sentence(error.message)} ${last}The page keeps trying.`, true);
  }

  clear(text, wrong = false) {
    this.broken(new Map());
    this.destroy();
    this.series = [];
    this.legend.show([]);
    this.say(text, wrong);
  }

  say(text, wrong = false) {
    this.note.textContent = text;
    this.note.classList.toggle("wrong", wrong);
  }

  show(found) {
    this.drawnAt = Date.now() / 1000;
    if (found.length === 0)
      return this.clear("No series match. In a glob, * matches one part between dots.");
    const drawn = found.slice(0, MOST_LINES);
    const hidden = new Set(this.series.filter((series) => series.hidden).map((series) => series.name));
    this.series = drawn.map(({ target, datapoints }, index) => ({
      name: target,
      hue: `--line-${index % HUES}`,
      hidden: hidden.has(target),
      times: datapoints.map(([, time]) => time),
      values: datapoints.map(([value]) => value),
    }));
    const empty = this.series.every(({ values }) => values.every((value) => value === null));
    if (found.length > drawn.length)
      this.say(
        `These are the first ${drawn.length} of ${count(found.length)} series. Narrow the query to see the others.`,
      );
    else this.say(empty ? "No points in this time range." : "");
    this.legend.show(this.series);
    this.plotAll();
  }

  /** Draws the series. If the lines are the same, the plot only gets new points; otherwise it is rebuilt. */
  plotAll() {
    if (this.series.length === 0 || this.place.clientWidth === 0) return;
    // New points during a drag would end it.
    this.late = this.dragging;
    if (this.dragging) return;
    const data = window.uPlot.join(this.series.map(({ times, values }) => [times, values]));
    const shape = JSON.stringify(this.series.map(({ name, hidden }) => [name, hidden]));
    if (this.plot && this.shape === shape) {
      this.plot.setData(data);
      return;
    }
    this.destroy();
    this.shape = shape;
    this.plot = new window.uPlot(this.options(), data, this.place);
    this.plot.over.append(this.tip);
  }

  released() {
    this.dragging = false;
    if (this.late) this.plotAll();
  }

  destroy() {
    this.plot?.destroy();
    this.plot = undefined;
    this.shape = undefined;
  }

  /** Redraws in the current colours. */
  recolour() {
    this.shape = undefined;
    this.plotAll();
    this.legend.recolour();
  }

  size() {
    const width = this.place.clientWidth;
    return { width, height: Math.round(Math.min(420, Math.max(220, width * 0.42))) };
  }

  resized() {
    if (this.plot) this.plot.setSize(this.size());
    else this.plotAll();
  }

  options() {
    const [text, line] = [colour("--muted"), colour("--hairline")];
    const axis = {
      stroke: text,
      grid: { stroke: line, width: 1 },
      ticks: { stroke: line, width: 1, size: 5 },
      font: "12px system-ui, sans-serif",
    };
    return {
      ...this.size(),
      legend: { show: false },
      cursor: {
        focus: { prox: 24 },
        dataIdx: nearby,
        points: { size: 7 },
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => (zoomOut(this.shown()), null) },
      },
      focus: { alpha: 0.2 },
      scales: { x: { time: true }, y: { range: comfortable } },
      axes: [
        { ...axis, values: moments },
        { ...axis, size: gutter, values: (_, ticks) => ticks.map(short) },
      ],
      series: [
        {},
        ...this.series.map((series) => ({
          label: series.name,
          stroke: colour(series.hue),
          width: 1.6,
          show: !series.hidden,
          points: { size: 5, filter: lonely },
        })),
      ],
      hooks: {
        setSelect: [(plot) => this.selected(plot)],
        setCursor: [(plot) => this.pointed(plot)],
        setSeries: [(plot, index) => this.legend.focus(index === null ? -1 : index - 1, plot)],
      },
    };
  }

  /** Zooms to the range that the user dragged over. */
  selected(plot) {
    const { left, width } = plot.select;
    if (width < 5) return;
    zoomTo(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  /** Follows the pointer: the legend shows the values of that time, and the tip names the nearest line. */
  pointed(plot) {
    const { idx, left, top } = plot.cursor;
    const inside = idx !== null && idx !== undefined && left >= 0;
    this.legend.values(
      inside ? this.series.map((_, index) => plot.data[index + 1][plot.cursor.idxs[index + 1]]) : undefined,
    );
    const nearest = plot.series.findIndex((series, index) => index > 0 && series._focus);
    const focused = this.series.length === 1 ? 1 : nearest;
    this.tip.hidden = !inside;
    if (!inside) return;
    const series = this.series[focused - 1];
    const value = series && plot.data[focused][plot.cursor.idxs[focused]];
    this.tip.replaceChildren(
      el("time", {}, time(plot.data[0][idx])),
      ...(series && value !== null && value !== undefined
        ? [el("strong", {}, short(value)), el("span", {}, series.name)]
        : []),
    );
    const flip = left > plot.over.clientWidth / 2;
    this.tip.style.left = flip ? "" : `${left + 14}px`;
    this.tip.style.right = flip ? `${plot.over.clientWidth - left + 14}px` : "";
    this.tip.style.top = `${Math.min(Math.max(top - 12, 0), plot.over.clientHeight - 60)}px`;
  }

  /** Called by the legend to show or hide a line. */
  setHidden(index, hidden) {
    this.series[index].hidden = hidden;
    this.plotAll();
  }

  /** Called by the legend to highlight a line. */
  standOut(index) {
    this.plot?.setSeries(index < 0 ? null : index + 1, { focus: true });
  }
}

/** Leaves room above and below the lines, and starts at zero if the values are close to it. */
function comfortable(_plot, low, high) {
  if (low === null || high === null) return [0, 1];
  if (low === high) {
    const room = Math.abs(low) * 0.1 || 1;
    return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
  }
  const room = (high - low) * 0.08;
  const nearZero = low >= 0 && low < (high - low) / 2;
  return [nearZero ? 0 : low - room, high + room];
}

const DAY = { day: "numeric", month: "short" };
const TIMES = [
  [86400 * 28, { month: "short", year: "numeric" }],
  [86400, DAY],
  [60, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }],
  [0, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }],
].map(([from, parts]) => [from, new Intl.DateTimeFormat(undefined, parts)]);
const day = new Intl.DateTimeFormat(undefined, DAY);

/** Labels of the time axis, as precise as their distance needs. The first label of a day also has the date. */
function moments(_plot, ticks, _axis, _space, distance) {
  const format = TIMES.find(([from]) => distance >= from)[1];
  let before;
  return ticks.map((tick) => {
    const date = new Date(tick * 1000);
    const today = distance < 86400 ? day.format(date) : "";
    const line = today === before ? "" : `\n${today}`;
    before = today;
    return format.format(date) + line;
  });
}

/** The width of the axis: enough for the longest label. */
function gutter(plot, values) {
  const longest = Math.max(3, ...(values ?? []).map((value) => String(value).length));
  return 16 + longest * 7;
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
