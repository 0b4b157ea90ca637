// The table: the points that are drawn, or all samples as they are stored, newest first.

import { calendar } from "./clock.js";
import { button, byId, el } from "./dom.js";
import { inUnit } from "./units.js";
import { count } from "./words.js";

/** Rows that are shown at once. */
const ROWS = 500;
/** Columns of values side by side. */
const COLUMNS = 20;

const TIME = { text: "Time" };

/** Shows series as a table; none hide it. With `single` each value has a row of its own, as exact as it is. */
export function showTable(series, { single = false, unit } = {}) {
  const place = byId("table");
  place.hidden = series.length === 0;
  place.replaceChildren();
  if (place.hidden) return;
  const shown = series.slice(0, COLUMNS);
  if (single) fill(place, [TIME, { text: "Seconds" }, { text: "Series" }, { text: "Value", number: true }], listed(series));
  else fill(place, [TIME, ...shown.map(({ name }) => ({ text: name, number: true }))], beside(shown, unit));
  if (!single && series.length > COLUMNS)
    place.prepend(el("p", { class: "muted" }, `The first ${COLUMNS} of ${count(series.length)} series.`));
}

const align = ({ number }) => (number ? "number" : "");

/** Every sample of its own. */
function listed(series) {
  const rows = [];
  for (const { name, times, values } of series)
    times.forEach((time, at) => values[at] !== null && rows.push([time, name, values[at]]));
  rows.sort((a, b) => b[0] - a[0]);
  return { total: rows.length, row: (at) => sample(rows[at]) };
}

const sample = ([time, name, value]) => [calendar(time), String(time), name, String(value)];

/** The series side by side. */
function beside(series, unit) {
  const known = series.map(({ times, values }) => new Map(times.map((time, at) => [time, values[at]])));
  const times = [...new Set(series.flatMap(({ times }) => times))].sort((a, b) => b - a);
  // The newest slots have no points yet.
  const has = (time) => known.some((values) => (values.get(time) ?? null) !== null);
  while (times.length > 0 && !has(times[0])) times.shift();
  const text = (value) => (value === undefined || value === null ? "" : inUnit(unit, value, 6));
  const row = (at) => [calendar(times[at]), ...known.map((values) => text(values.get(times[at])))];
  return { total: times.length, row };
}

function fill(place, heads, { total, row }) {
  const body = el("tbody");
  const rest = el("p", { class: "muted" });
  const more = button("Show more", { class: "small" }, () => append());
  const append = () => {
    const first = body.children.length;
    const last = Math.min(total, first + ROWS);
    for (let at = first; at < last; at += 1)
      body.append(el("tr", {}, ...row(at).map((text, column) => el("td", { class: align(heads[column]) }, text))));
    rest.textContent = `${count(last)} of ${count(total)} rows `;
    if (last < total) rest.append(more);
  };
  const cells = heads.map((column) => el("th", { scope: "col", title: column.text, class: align(column) }, column.text));
  const head = el("thead", {}, el("tr", {}, ...cells));
  place.append(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values" }, el("table", {}, head, body)), rest);
  append();
}
