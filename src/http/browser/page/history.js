// The history of queries: what was drawn in this browser, latest first.

import { button, byId, el } from "./dom.js";
import { state } from "./state.js";

const KEY = "plumbago.history";
const MOST = 50;
/** What is drawn for so many milliseconds is worth remembering. */
const WORTH = 2000;

/** Remembers queries, and fills the list each time it opens. */
export function startHistory() {
  let timer;
  state.watch(["targets"], () => {
    clearTimeout(timer);
    timer = setTimeout(remember, WORTH);
  });
  addEventListener("pagehide", remember);
  const place = byId("history");
  // Before it is on the screen: it never opens empty.
  place.addEventListener("beforetoggle", (event) => event.newState === "open" && show(place));
}

function read() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => Array.isArray(one) && one.every((text) => typeof text === "string")) : [];
  } catch {
    return [];
  }
}

function write(all) {
  try {
    localStorage.setItem(KEY, JSON.stringify(all));
  } catch {
    // Without storage there is no history.
  }
}

function remember() {
  if (state.targets.length === 0) return;
  const same = (other) => JSON.stringify(other) === JSON.stringify(state.targets);
  write([state.targets, ...read().filter((other) => !same(other))].slice(0, MOST));
}

function show(place) {
  remember();
  const all = read();
  const again = (targets) => () => {
    place.hidePopover();
    state.set({ targets });
  };
  const lines = all.map((targets) => {
    const past = button("", { class: "past" }, again(targets));
    past.append(...targets.map((target) => el("code", {}, target)));
    return el("li", {}, past);
  });
  const forget = button("Forget all", { class: "small" }, () => (write([]), show(place)));
  place.replaceChildren(
    el("h2", {}, "Queries of this browser"),
    lines.length > 0 ? el("ul", { class: "history" }, ...lines) : el("p", { class: "muted" }, "None yet."),
    ...(lines.length > 0 ? [forget] : []),
  );
}
