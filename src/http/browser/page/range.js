// The time range: buttons for common ranges, text fields for any time that Graphite understands, and the refresh interval.

import { calendar, fromCalendar } from "./clock.js";
import { button, byId, el } from "./dom.js";
import { state } from "./state.js";

const USUAL = [
  ["15m", "-15min"],
  ["1h", "-1h"],
  ["6h", "-6h"],
  ["24h", "-1d"],
  ["7d", "-7d"],
  ["30d", "-30d"],
  ["1y", "-1y"],
];
const REFRESH = [
  [0, "no refresh"],
  [5, "every 5 s"],
  [10, "every 10 s"],
  [30, "every 30 s"],
  [60, "every minute"],
  [300, "every 5 min"],
];

/** Sets the bar up. `shown()` returns the first and the last second of the graph; `again()` refreshes it. */
export function startRange({ shown, again }) {
  const usual = USUAL.map(([text, from]) =>
    button(text, { class: "choice", data: { from } }, () => state.set({ from, until: "now" })),
  );
  const from = edge("from", "From");
  const until = edge("until", "Until");
  const refresh = el(
    "select",
    { "aria-label": "Refresh", on: { change: () => state.set({ refresh: Number(refresh.value) }) } },
    ...REFRESH.map(([seconds, text]) => el("option", { value: seconds }, text)),
  );
  const sign = (label, text, click) =>
    button(text, { class: "icon", "aria-label": label, title: label }, click);
  byId("range").replaceChildren(
    el("div", { class: "choices" }, ...usual),
    el(
      "div",
      { class: "edges" },
      sign("Earlier", "‹", () => earlier(shown())),
      from,
      el("span", { "aria-hidden": "true" }, "–"),
      until,
      sign("Later", "›", () => later(shown())),
      sign("Zoom out", "−", () => zoomOut(shown())),
    ),
    el("div", { class: "again" }, refresh, sign("Refresh now", "↻", again)),
  );
  state.watch(["from", "until", "refresh", "tz"], () => {
    from.value = words(state.from);
    until.value = words(state.until);
    if (![...refresh.options].some((option) => Number(option.value) === state.refresh)) {
      refresh.append(el("option", { value: state.refresh }, `every ${state.refresh} s`));
    }
    refresh.value = String(state.refresh);
    for (const button of usual) {
      button.setAttribute(
        "aria-pressed",
        String(button.dataset.from === state.from && state.until === "now"),
      );
    }
  });
}

function edge(name, label) {
  const field = el("input", {
    type: "text",
    class: "edge",
    "aria-label": label,
    spellcheck: "false",
    autocomplete: "off",
    title: "A time as in Graphite (-3h, noon yesterday, 20:00_20260131), or 2026-01-31 20:00",
  });
  field.addEventListener("change", () =>
    state.set({ [name]: read(field.value) || (name === "from" ? "-1h" : "now") }),
  );
  field.addEventListener("keydown", (event) => event.key === "Enter" && field.blur());
  return field;
}

/** Turns a date in the chosen time zone into seconds. The server reads everything else. */
function read(text) {
  const trimmed = text.trim();
  return String(fromCalendar(trimmed) ?? trimmed);
}

/** Seconds as a date in the chosen time zone. */
const words = (text) => (/^\d{9,10}$/.test(text) ? calendar(Number(text), true) : text);

/** Shows exactly these seconds. */
export function zoomTo(first, last) {
  const from = Math.floor(first);
  const until = Math.max(Math.ceil(last), from + 1);
  state.set({ from: String(from), until: until >= Date.now() / 1000 ? "now" : String(until) });
}

export const earlier = ([first, last]) => zoomTo(first - (last - first) / 2, last - (last - first) / 2);
export const later = ([first, last]) => {
  const move = Math.min((last - first) / 2, Math.max(0, Date.now() / 1000 - last));
  zoomTo(first + move, last + move);
};
export const zoomOut = ([first, last]) => zoomTo(first - (last - first) / 2, last + (last - first) / 2);
export const zoomIn = ([first, last]) => zoomTo(first + (last - first) / 4, last - (last - first) / 4);
