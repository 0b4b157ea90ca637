// Events: marks on the graph with their texts, and a list of them below it.

import { time } from "./clock.js";
import { el } from "./dom.js";
import { ask } from "./server.js";
import { counted } from "./words.js";

/** Events that are marked. More of them would hide the lines. */
const MOST = 200;
/** Pixels from the pointer within which an event is told. */
const NEAR = 6;
/** Pixels of a letter, about. */
const LETTER = 7;

/** The events with some tags in a range, first to last; `*` means all of them, and nothing means none. */
export async function eventsIn(tags, range, signal) {
  if (!tags) return [];
  const events = await ask("events/get_data", { ...range, tags: tags === "*" ? undefined : tags }, signal);
  return events.sort((a, b) => a.when - b.when);
}

export class Events {
  /** `place` is where the list goes. */
  constructor(place) {
    this.place = place;
    this.layer = el("div", { class: "marks", "aria-hidden": "true" });
    this.all = [];
  }

  show(events) {
    this.all = events.slice(-MOST);
    this.place.hidden = events.length === 0;
    const more = events.length > MOST ? `, of which the last ${MOST} are marked` : "";
    const line = (event) => el("li", {}, el("time", {}, time(event.when)), " ", el("strong", {}, event.what), " ", rest(event));
    this.place.replaceChildren(
      el("summary", {}, counted(events.length, "event") + more),
      el("ul", {}, ...this.all.map(line)),
    );
  }

  /** Puts the marks where their times are. A text that would lie on the one before it is left out. */
  put(plot) {
    const { over, scales } = plot;
    let free = -Infinity;
    const marks = this.all
      .filter(({ when }) => when >= scales.x.min && when <= scales.x.max)
      .map(({ when, what }) => {
        const left = plot.valToPos(when, "x");
        const fits = left > free && left + what.length * LETTER < over.clientWidth;
        if (fits) free = left + (what.length + 1) * LETTER;
        const mark = el("div", { class: "mark" }, fits && el("span", {}, what));
        mark.style.left = `${left}px`;
        return mark;
      });
    this.layer.replaceChildren(...marks);
    if (this.layer.parentNode !== over) over.append(this.layer);
  }

  /** What happened at the pointer. */
  near(plot) {
    const { left } = plot.cursor;
    if (!(left >= 0)) return [];
    return this.all.filter(({ when }) => Math.abs(plot.valToPos(when, "x") - left) <= NEAR).map(({ what }) => what);
  }
}

const rest = ({ tags, data }) =>
  el("span", { class: "muted" }, [tags.join(" "), data].filter(Boolean).join(" · "));
