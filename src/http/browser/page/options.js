// How the graph is drawn: a row of choices above the plot. Units are remembered for their queries.

import { byId, debounce, el } from "./dom.js";
import { WAYS } from "./points.js";
import { state } from "./state.js";
import { UNITS } from "./units.js";

const VIEWS = { graph: "graph", table: "table", samples: "raw samples" };
const STYLES = { lines: "lines", area: "areas", stacked: "stacked" };
const SCALES = { linear: "linear", log: "log scale" };
const POINTS = { band: "average with min–max", average: "average", max: "max", min: "min", sum: "sum", last: "last" };
const EARLIER = { "": "compare: no", "1h": "an hour earlier", "1d": "a day earlier", "7d": "a week earlier", "30d": "30 days earlier", "365d": "a year earlier" };

export function startOptions() {
  const choices = [
    choice("view", "View", VIEWS),
    choice("style", "Style", STYLES),
    choice("points", "Points that do not fit are drawn as", only(POINTS, WAYS)),
    choice("unit", "Unit", UNITS),
    choice("scale", "Scale", SCALES),
    choice("compare", "Compare with", EARLIER),
    choice("tz", "Time zone", zones()),
  ];
  byId("options").replaceChildren(...choices, limit("min", "Lowest value"), limit("max", "Highest value"), events());
  rememberUnits();
}

const only = (names, ways) => Object.fromEntries(Object.keys(ways).map((way) => [way, names[way]]));

function zones() {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const all = Intl.supportedValuesOf?.("timeZone") ?? [];
  return Object.fromEntries([["", `my time (${own})`], ["UTC", "UTC"], ...all.filter((name) => name !== "UTC").map((name) => [name, name])]);
}

/** A list that sets a key of the state. A value from an address that is not in the list is added to it. */
function choice(key, label, names) {
  const option = (value, text) => el("option", { value }, text);
  const list = el(
    "select",
    { "aria-label": label, title: label, on: { change: () => state.set({ [key]: list.value }) } },
    ...Object.entries(names).map(([value, text]) => option(value, text)),
  );
  state.watch([key], () => {
    if (![...list.options].some(({ value }) => value === state[key])) list.append(option(state[key], state[key]));
    list.value = state[key];
  });
  return list;
}

function limit(key, label) {
  const take = debounce(400, () => Number.isFinite(Number(field.value)) && state.set({ [key]: field.value.trim() }));
  const field = el("input", {
    class: "limit",
    inputmode: "decimal",
    placeholder: `${key} auto`,
    "aria-label": label,
    title: `${label} of the left axis`,
    on: { input: take },
  });
  state.watch([key], () => document.activeElement !== field && (field.value = state[key]));
  return field;
}

/** A field for tags, whose events are marked. */
function events() {
  const field = el("input", {
    class: "event-tags",
    spellcheck: "false",
    autocapitalize: "none",
    placeholder: "events by tag",
    "aria-label": "Mark the events with these tags",
    title: "Tags of the events to mark; * marks all events",
    on: { change: () => state.set({ events: field.value.trim() }) },
  });
  state.watch(["events"], () => document.activeElement !== field && (field.value = state.events));
  return field;
}

const KEY = "plumbago.units";
const MOST = 200;

/** Keeps the unit that was chosen for some queries, and sets it when they are drawn again. */
function rememberUnits() {
  let targets = "";
  state.watch(["targets", "unit"], () => {
    const now = JSON.stringify(state.targets);
    const kept = read();
    if (now !== targets) {
      targets = now;
      const known = kept.find(([other]) => other === now)?.[1];
      // An address that names a unit wins.
      if (known && state.unit === "auto") queueMicrotask(() => state.set({ unit: known }));
      return;
    }
    const others = kept.filter(([other]) => other !== now);
    write(state.unit === "auto" ? others : [[now, state.unit], ...others].slice(0, MOST));
  });
}

function read() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter(Array.isArray) : [];
  } catch {
    return [];
  }
}

function write(units) {
  try {
    localStorage.setItem(KEY, JSON.stringify(units));
  } catch {
    // Without storage, a unit lasts as long as the address.
  }
}
