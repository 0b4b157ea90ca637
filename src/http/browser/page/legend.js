// The legend: one row for each line with its figures, or with its value at the pointer. Its columns sort it, a filter shortens it.

import { button, el } from "./dom.js";
import { cssColour } from "./lines.js";
import { differing } from "./names.js";
import { state } from "./state.js";
import { inUnit } from "./units.js";

const COLUMNS = ["last", "min", "max", "avg", "sum"];
/** From so many lines on there is a filter. */
const MANY = 6;
const natural = new Intl.Collator(undefined, { numeric: true });

export class Legend {
  constructor(place, graph) {
    this.place = place;
    this.graph = graph;
    this.rows = [];
    this.wanted = "";
    this.filter = el("input", {
      type: "search",
      class: "filter",
      placeholder: "Filter lines",
      "aria-label": "Filter lines",
      spellcheck: "false",
      on: { input: () => this.narrow() },
    });
    state.watch(["sort"], () => this.arrange());
  }

  show(lines, unit) {
    this.lines = lines;
    this.unit = unit;
    if (lines.length === 0) {
      this.rows = [];
      return this.place.replaceChildren();
    }
    const names = differing(lines.map(({ name }) => name));
    this.rows = lines.map((line, index) => this.row(line, index, names[index]));
    this.body = el("tbody");
    this.heads = ["name", ...COLUMNS].map((name) => this.head(name));
    const all = button("Show all", { class: "small" }, () => this.hide(() => false));
    const bar = el("div", { class: "legend-bar" }, this.filter, all);
    bar.hidden = lines.length < MANY;
    this.showAll = all;
    // A refresh does not take the focus out of the filter.
    const filtering = document.activeElement === this.filter;
    this.place.replaceChildren(bar, el("table", {}, el("thead", {}, el("tr", {}, ...this.heads)), this.body));
    if (filtering) this.filter.focus();
    this.arrange();
    this.narrow();
    this.mark();
  }

  head(name) {
    const text = name === "name" ? "Series" : name;
    return el("th", { scope: "col", class: name }, button(text, { class: "sorter", title: "Sort" }, () => sortBy(name)));
  }

  row(line, index, name) {
    const piece = el("span", { class: swatch(line.look), "aria-hidden": "true" });
    piece.style.setProperty("--ink", cssColour(line.look));
    const label = el(
      "button",
      {
        type: "button",
        class: "series",
        title: `${line.name}\nClick hides it, Ctrl and click hides all others`,
        on: {
          click: (event) => (event.ctrlKey || event.metaKey ? this.solo(index) : this.toggle(index)),
          mouseenter: () => this.graph.standOut(index),
          mouseleave: () => this.graph.standOut(-1),
        },
      },
      piece,
      el("span", {}, name),
    );
    const only = button("only", { class: "only small", "aria-label": `Only ${line.name}` }, () => this.solo(index));
    const cells = COLUMNS.map((name) => el("td", { class: name }, inUnit(this.unit, line.figures[name])));
    const head = el("td", {}, el("div", { class: "series-cell" }, label, only));
    return { line: el("tr", {}, head, ...cells), label, last: cells[0], of: line };
  }

  /** Puts the rows into the order of the chosen column. */
  arrange() {
    if (this.rows.length === 0) return;
    const down = state.sort.startsWith("-");
    const column = state.sort.replace(/^-/, "");
    const rows = [...this.rows];
    if (column === "name") rows.sort((a, b) => natural.compare(a.of.name, b.of.name));
    else if (COLUMNS.includes(column)) rows.sort((a, b) => figure(a, column) - figure(b, column));
    if (down) rows.reverse();
    this.body.replaceChildren(...rows.map(({ line }) => line));
    for (const head of this.heads)
      head.setAttribute("aria-sort", head.className !== column ? "none" : down ? "descending" : "ascending");
  }

  /** Leaves the rows whose names have all words of the filter. */
  narrow() {
    const words = this.filter.value.toLowerCase().split(/\s+/);
    for (const { line, of } of this.rows)
      line.hidden = !words.every((word) => of.name.toLowerCase().includes(word));
  }

  toggle(index) {
    this.hide((at) => (at === index ? !this.lines[at].hidden : this.lines[at].hidden));
  }

  /** Shows one line alone; the second time all of them again. */
  solo(index) {
    const alone = this.lines.every((line, at) => line.hidden === (at !== index));
    this.hide((at) => !alone && at !== index);
  }

  hide(hidden) {
    this.graph.setHidden(hidden);
    this.mark();
  }

  mark() {
    for (const { label, of } of this.rows) label.setAttribute("aria-pressed", String(!of.hidden));
    this.showAll.disabled = !this.lines.some(({ hidden }) => hidden);
  }

  /** Shows the values at the pointer instead of the last ones. */
  values(values) {
    this.rows.forEach(({ last, of }, index) => {
      last.textContent = inUnit(this.unit, values ? values[index] : of.figures.last);
      last.classList.toggle("here", Boolean(values));
    });
  }

  focus(index) {
    this.rows.forEach(({ line }, at) => line.classList.toggle("focused", at === index));
  }
}

/** The class of a piece of the line, dashed as the line is. */
const swatch = ({ dash }) => `swatch dash-${dash.length} ${dash.length > 0 && dash[0] < 4 ? "short" : ""}`;

/** Lines without the figure come last if the highest come first. */
const figure = ({ of }, column) => of.figures[column] ?? -Number.MAX_VALUE;

/** The highest first, then the lowest first, then as the server has them; names begin with A. */
function sortBy(name) {
  const ways = name === "name" ? ["name", "-name", ""] : [`-${name}`, name, ""];
  state.set({ sort: ways[(ways.indexOf(state.sort) + 1) % ways.length] });
}
