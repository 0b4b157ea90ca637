// The tip: the values at the pointer. It follows the pointer until a click pins it.

import { time } from "./clock.js";
import { button, el } from "./dom.js";
import { cssColour } from "./lines.js";
import { inUnit } from "./units.js";

/** Lines in a pinned tip. */
const MOST = 12;

export class Tip {
  constructor() {
    this.place = el("div", { class: "tip", hidden: true });
    this.pinned = false;
  }

  /** Follows the cursor of a plot. `focused` is the index of the line nearest to it, `events` are texts of what happened there. */
  follow(plot, focused, unit, events) {
    if (this.pinned) return;
    const { idx, left } = plot.uplot.cursor;
    this.place.hidden = !(left >= 0 && idx !== null && idx !== undefined);
    if (this.place.hidden) return;
    const line = plot.lines[focused];
    const value = line && plot.value(focused);
    this.place.replaceChildren(
      el("time", {}, time(plot.uplot.data[0][idx])),
      ...(line && value !== null && value !== undefined
        ? [el("strong", {}, inUnit(unit, value)), el("span", {}, line.name)]
        : []),
      ...events.map((what) => el("em", {}, what)),
    );
    this.put(plot);
  }

  /** Stays where it is, with the values of all lines, highest first. */
  pin(plot, unit) {
    const { idx, left } = plot.uplot.cursor;
    if (!(left >= 0) || idx === null || idx === undefined) return;
    this.pinned = true;
    const rows = plot.lines
      .map((line, at) => ({ line, value: line.hidden ? undefined : plot.value(at) }))
      .filter(({ value }) => value !== null && value !== undefined)
      .sort((a, b) => b.value - a.value);
    const more = rows.length - MOST;
    this.place.classList.add("pinned");
    this.place.hidden = false;
    this.place.replaceChildren(
      el(
        "div",
        { class: "tip-head" },
        el("time", {}, time(plot.uplot.data[0][idx])),
        button("✕", { class: "small", "aria-label": "Close the values" }, () => this.unpin()),
      ),
      ...rows.slice(0, MOST).map(({ line, value }) => row(line, inUnit(unit, value))),
      ...(more > 0 ? [el("span", { class: "muted" }, `and ${more} more, which are lower`)] : []),
    );
    this.put(plot);
  }

  unpin() {
    this.pinned = false;
    this.place.classList.remove("pinned");
    this.place.hidden = true;
  }

  put(plot) {
    const { left, top } = plot.uplot.cursor;
    const { clientWidth, clientHeight } = plot.uplot.over;
    const flip = left > clientWidth / 2;
    this.place.style.left = flip ? "" : `${left + 14}px`;
    this.place.style.right = flip ? `${clientWidth - left + 14}px` : "";
    const height = this.place.offsetHeight || 60;
    this.place.style.top = `${Math.max(0, Math.min(Math.max(top - 12, 0), clientHeight - height))}px`;
  }

  /** The same in one sentence, for those who hear it. */
  words(plot, unit) {
    const { idx } = plot.uplot.cursor;
    if (idx === null || idx === undefined) return "";
    const said = plot.lines
      .map((line, at) => [line, plot.value(at)])
      .filter(([line, value]) => !line.hidden && value !== null && value !== undefined)
      .slice(0, MOST)
      .map(([line, value]) => `${line.name} ${inUnit(unit, value)}`);
    return `${time(plot.uplot.data[0][idx])}: ${said.join(", ") || "no values"}`;
  }
}

function row(line, value) {
  const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.setProperty("--ink", cssColour(line.look));
  return el("div", { class: "tip-row" }, swatch, el("span", {}, line.name), el("strong", {}, value));
}
