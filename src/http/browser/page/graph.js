// The graph: asks for the points of the queries, shows them as a plot or a table, and refreshes them.

import { time } from "./clock.js";
import { byId, el } from "./dom.js";
import { Events, eventsIn } from "./events.js";
import { Legend } from "./legend.js";
import { MOST_LINES, linesOf } from "./lines.js";
import { Plot } from "./plot.js";
import { points, samples, steps, WAYS } from "./points.js";
import { zoomOut, zoomTo } from "./range.js";
import { state } from "./state.js";
import { better } from "./suggestion.js";
import { showTable } from "./table.js";
import { Tip } from "./tip.js";
import { inUnit, unitOf } from "./units.js";
import { count, sentence, span } from "./words.js";

/** Milliseconds until the next attempt if the server does not answer, whatever the refresh interval is. */
const RETRY = 5000;

/** The range, for requests. */
export const rangeParameters = () => ({ from: state.from, until: state.until, tz: state.tz || undefined });

/** What is drawn: each target, and with a comparison each target again, earlier. */
function queries() {
  const now = state.targets.map((target) => ({ target, asked: target }));
  if (!/^\d+(min|h|d|w|mon|y)$/.test(state.compare)) return now;
  const earlier = (target) => ({ target, asked: `timeShift(${target},"${state.compare}")`, earlier: true });
  return [...now, ...state.targets.map(earlier)];
}

export class Graph {
  /** `broken(reasons)` is called after each render with the reasons for targets that cannot be drawn. */
  constructor(broken) {
    this.broken = broken;
    this.place = byId("plot");
    this.note = byId("note");
    this.legend = new Legend(byId("legend"), this);
    this.lines = [];
    this.tip = new Tip();
    this.events = new Events(byId("events"));
    this.place.addEventListener("mousedown", (event) => this.pressed(event));
    addEventListener("mouseup", (event) => this.released(event));
    this.place.addEventListener("keydown", (event) => this.key(event));
    this.place.addEventListener("blur", () => this.plot?.uplot.setCursor({ left: -10, top: -10 }));
    new ResizeObserver(() => this.resized()).observe(this.place);
    state.watch(["targets", "from", "until", "points", "compare", "tz", "view", "events"], () => this.draw());
    state.watch(["style", "scale", "unit", "min", "max"], () => this.redraw());
    state.watch(["refresh"], () => this.wind());
    document.addEventListener("visibilitychange", () => document.hidden || this.wind());
  }

  /** The first and the last second of the graph. */
  shown() {
    const now = Date.now() / 1000;
    const { min, max } = this.plot?.uplot.scales.x ?? {};
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
      await this.ask(signal);
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error);
    } finally {
      if (!signal.aborted) this.place.removeAttribute("aria-busy");
    }
  }

  async ask(signal) {
    const asked = queries();
    const texts = asked.map(({ asked }) => asked);
    const way = WAYS[state.points] ? state.points : "band";
    const width = Math.max(200, Math.round(this.place.clientWidth || byId("picture").clientWidth));
    const marked = eventsIn(state.events, rangeParameters(), signal).catch(() => []);
    const found = await points(texts, { way, width, range: rangeParameters() }, signal);
    const events = await marked;
    if (signal.aborted) return;
    this.events.show(events);
    this.show(asked, found, way);
    if (state.view === "samples") showTable(await samples(texts, rangeParameters(), signal), { single: true });
    else if (state.view === "table") showTable(this.lines, { unit: this.unit });
    await this.explain(asked, found.answers, signal);
  }

  /** Says for each query that draws nothing why that is, and what might have been meant. */
  async explain(asked, answers, signal) {
    const reasons = new Map();
    asked.forEach(({ target, earlier }, at) => {
      const { reason, series } = answers[at];
      if (!earlier && (reason || series.length === 0)) reasons.set(target, { reason: reason ?? "nothing matches" });
    });
    this.broken(reasons);
    await Promise.all(
      [...reasons].map(async ([target, told]) => {
        const wrong = told.reason === "nothing matches" ? undefined : told.reason;
        told.better = await better(target, wrong).catch(() => undefined);
      }),
    );
    if (!signal.aborted && reasons.size > 0) this.broken(reasons);
  }

  /** Says why there is no new graph. The last one stays unless the query itself is wrong. */
  failed(error) {
    if (error.status >= 400 && error.status < 500) {
      this.broken(new Map());
      return this.clear(error.message, true);
    }
    this.retry = setTimeout(() => this.draw(), RETRY);
    const last = this.plot ? `This is the last graph, from ${time(this.drawnAt)}. ` : "";
    this.say(`${sentence(error.message)} ${last}The page keeps trying.`, true);
  }

  clear(text, wrong = false) {
    if (state.targets.length === 0) this.broken(new Map());
    this.destroy();
    this.lines = [];
    this.events.show([]);
    this.legend.show([]);
    this.say(text, wrong);
    byId("resolution").textContent = "";
    showTable([]);
  }

  say(text, wrong = false) {
    this.note.textContent = text;
    this.note.classList.toggle("wrong", wrong);
  }

  show(asked, { answers, together }, way) {
    this.drawnAt = Date.now() / 1000;
    const total = answers.reduce((sum, { series }) => sum + series.length, 0);
    if (total === 0) {
      const refused = answers.some(({ reason }) => reason);
      const nothing = "No series match. In a glob, * matches one part between dots.";
      return this.clear(refused ? "There is nothing to draw: the queries above say why." : nothing, refused);
    }
    this.lines = linesOf(asked, answers, this.lines);
    this.unit = unitOf(this.lines.map(({ name }) => name));
    const empty = this.lines.every(({ values }) => values.every((value) => value === null));
    const rest = `These are the first ${MOST_LINES} of ${count(total)} series. Narrow the query to see the others.`;
    this.say(total > this.lines.length ? rest : empty ? "No points in this time range." : "");
    byId("resolution").textContent = empty ? "" : this.resolution(together, way);
    showTable([]);
    this.legend.show(this.lines, this.unit);
    this.plotAll();
  }

  /** What one point of a line stands for. */
  resolution(together, way) {
    const found = steps(this.lines);
    if (found.length === 0) return "";
    const most = found.length > 1 ? ` to ${span(found.at(-1))}` : "";
    const step = `${span(found[0])}${most} a point`;
    if (!together) return `${step}, as stored`;
    const own = state.targets.some((target) => target.includes("consolidateBy("));
    const said = own && (way === "band" || way === "average") ? WAYS[way].replace("average", "as consolidateBy says") : WAYS[way];
    return `${step}, ${said}`;
  }

  /** Draws the lines. If they are the same, the plot only gets new points; otherwise it is made again. */
  plotAll() {
    const wanted = this.lines.length > 0 && state.view === "graph";
    this.place.hidden = !wanted;
    if (!wanted) return this.destroy();
    if (this.place.clientWidth === 0) return;
    // New points during a drag would end it.
    this.late = this.dragging;
    if (this.dragging) return;
    const shape = JSON.stringify([
      this.lines.map(({ name, hidden, look, drawing }) => [name, hidden, look, drawing]),
      [state.style, state.scale, state.tz, this.unit, state.min, state.max],
    ]);
    if (this.plot && this.shape === shape) this.plot.update(this.lines);
    else this.make(shape);
  }

  make(shape) {
    this.destroy();
    this.shape = shape;
    this.plot = new Plot(this.place, this.lines, this.unit, {
      zoom: zoomTo,
      out: () => zoomOut(this.shown()),
      pointed: (plot) => this.pointed(plot),
      focused: (index) => this.legend.focus(index),
      drawn: () => {
        if (!this.plot) return;
        this.place.setAttribute("aria-label", this.label());
        this.events.put(this.plot.uplot);
      },
    });
    this.events.put(this.plot.uplot);
    this.plot.uplot.over.append(this.tip.place);
  }

  label() {
    const [first, last] = this.shown();
    const number = this.lines.length;
    const { min, max } = this.plot.uplot.scales.y;
    const values = [min, max].map((value) => inUnit(this.unit, value)).join(" to ");
    const what = `Graph of ${number} ${number === 1 ? "line" : "lines"}`;
    return `${what} from ${time(first)} to ${time(last)}, values ${values}. Arrow keys read values.`;
  }

  pressed(event) {
    this.dragging = true;
    this.pressedAt = event.target.closest(".tip") ? undefined : [event.clientX, event.clientY];
  }

  released(event) {
    const [x, y] = this.pressedAt ?? [];
    const clicked = this.dragging && Math.hypot(event.clientX - x, event.clientY - y) < 4;
    this.dragging = false;
    this.pressedAt = undefined;
    if (this.late) this.plotAll();
    if (!clicked || !event.target.closest(".u-over")) return;
    if (this.tip.pinned) this.tip.unpin();
    else if (this.plot) this.tip.pin(this.plot, this.unit);
  }

  /** The arrow keys move the cursor, Enter pins the values, Escape lets them go. */
  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (!this.plot || event.ctrlKey || event.metaKey || event.altKey) return;
    if (move) {
      if (Number.isFinite(move)) this.plot.step(move);
      else this.plot.moveTo(move < 0 ? 0 : this.plot.uplot.data[0].length - 1);
      byId("spoken").textContent = this.tip.words(this.plot, this.unit);
    } else if (event.key === "Enter" && event.target === this.place) {
      this.tip.pin(this.plot, this.unit);
    } else if (event.key === "Escape") {
      this.tip.unpin();
      this.plot.uplot.setCursor({ left: -10, top: -10 });
    } else {
      return;
    }
    event.preventDefault();
  }

  destroy() {
    this.tip.unpin();
    this.plot?.destroy();
    this.plot = undefined;
    this.shape = undefined;
  }

  /** Draws the same points in another way. */
  redraw() {
    if (this.lines.length === 0) return;
    this.unit = unitOf(this.lines.map(({ name }) => name));
    this.legend.show(this.lines, this.unit);
    this.plotAll();
    if (state.view === "table") showTable(this.lines, { unit: this.unit });
  }

  /** Redraws in the current colours. */
  recolour() {
    this.shape = undefined;
    this.plotAll();
  }

  resized() {
    if (this.plot) this.plot.uplot.setSize(this.plot.size());
    else this.plotAll();
  }

  /** Follows the pointer: the legend shows the values of that time, and the tip names the nearest line. */
  pointed(plot) {
    const { idx, left } = plot.uplot.cursor;
    const inside = idx !== null && idx !== undefined && left >= 0;
    this.legend.values(inside ? plot.lines.map((_, index) => plot.value(index)) : undefined);
    const nearest = plot.uplot.series.findIndex((series, index) => index > 0 && series._focus) - 1;
    this.tip.follow(plot, plot.lines.length === 1 ? 0 : nearest, this.unit, this.events.near(plot.uplot));
  }

  /** Called by the legend to show or hide lines. */
  setHidden(hidden) {
    this.lines.forEach((line, index) => (line.hidden = hidden(index)));
    this.plotAll();
  }

  /** Called by the legend to highlight a line. */
  standOut(index) {
    this.plot?.uplot.setSeries(index < 0 ? null : index + 1, { focus: true });
  }
}
