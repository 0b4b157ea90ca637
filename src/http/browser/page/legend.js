// The legend: one line for each series with its figures, or with its value at the pointer.

import { el } from "./dom.js";
import { short } from "./words.js";

const COLUMNS = ["last", "min", "max", "avg"];

export class Legend {
  constructor(place, graph) {
    this.place = place;
    this.graph = graph;
    this.rows = [];
  }

  show(series) {
    this.series = series;
    if (series.length === 0) return this.place.replaceChildren();
    this.rows = series.map((one, index) => this.row(one, index));
    this.place.replaceChildren(
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, "Series"),
            ...COLUMNS.map((name) => el("th", { scope: "col", class: name }, name)),
          ),
        ),
        el("tbody", {}, ...this.rows.map(({ line }) => line)),
      ),
    );
    this.recolour();
  }

  row(one, index) {
    const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
    const label = el(
      "button",
      {
        type: "button",
        class: "series",
        title: one.name,
        "aria-pressed": String(!one.hidden),
        on: {
          click: () => this.toggle(index),
          mouseenter: () => this.graph.standOut(index),
          mouseleave: () => this.graph.standOut(-1),
        },
      },
      swatch,
      el("span", {}, one.name),
    );
    const numbers = statistics(one.values);
    const cells = COLUMNS.map((name) => el("td", { class: name }, short(numbers[name])));
    return { line: el("tr", {}, el("td", {}, label), ...cells), swatch, label, last: cells[0], numbers };
  }

  recolour() {
    this.rows.forEach(({ swatch }, index) =>
      swatch.style.setProperty("background", `var(${this.series[index]?.hue})`),
    );
  }

  toggle(index) {
    const hidden = !this.series[index].hidden;
    this.rows[index].label.setAttribute("aria-pressed", String(!hidden));
    this.graph.setHidden(index, hidden);
  }

  /** Shows the values at the pointer instead of the last ones. */
  values(values) {
    this.rows.forEach(({ last, numbers }, index) => {
      last.textContent = short(values ? values[index] : numbers.last);
      last.classList.toggle("here", Boolean(values));
    });
  }

  focus(index) {
    this.rows.forEach(({ line }, at) => line.classList.toggle("focused", at === index));
  }
}

function statistics(values) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return {};
  let [min, max, sum] = [Infinity, -Infinity, 0];
  for (const value of known) {
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
  }
  return { last: known.at(-1), min, max, avg: sum / known.length };
}
