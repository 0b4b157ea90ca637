// Cardinality: where all the metrics come from, which are new, and which nobody reads.

import { button, el } from "./dom.js";
import { ask } from "./server.js";
import { drawn, figure, form, mistake, redraw, share, sheet } from "./sheet.js";
import { ago, count, counted, short } from "./words.js";

const LIMIT = 25;

export const page = {
  name: "cardinality",
  title: "Cardinality",
  about: "Where the metrics are, by the start of their names and by tag.",
  start(place, { parameters, rights, go }) {
    const below = parameters.below ?? "";
    const limit = Number(parameters.limit) || LIMIT;
    const stop = new AbortController();
    const asked = { below, limit, depth: 1 };
    const result = el("div", { class: "sheets" }, el("p", { class: "muted" }, "Counting…"));
    const more = (changes) => go({ below, limit: parameters.limit, ...changes });
    place.append(
      form([{ name: "below", label: "Below", value: below, hint: "all metrics", wide: true }], "Count", ({ below }) => more({ below: below.trim() })),
      path(below, more),
      result,
    );
    Promise.all([
      ask("internal/cardinality", asked, stop.signal),
      rights.role === "admin" ? ask("internal/top", asked, stop.signal) : undefined,
    ]).then(
      ([found, top]) => redraw(result, ...sheets(found, top, { rights, limit, more })),
      (error) => error.name === "AbortError" || redraw(result, mistake(error)),
    );
    return { stop: () => stop.abort() };
  },
};

/** The directories above, as links. */
function path(below, more) {
  const parts = below.split(".").filter(Boolean);
  const crumb = (text, at) => button(text, { class: "crumb" }, () => more({ below: parts.slice(0, at).join(".") }));
  return el("nav", { class: "crumbs", "aria-label": "Directories" }, crumb("all metrics", 0), ...parts.map((part, at) => crumb(part, at + 1)));
}

function sheets(found, top, { rights, limit, more }) {
  const whole = found.prefixes.reduce((most, { metrics }) => Math.max(most, metrics), 0);
  const prefixes = sheet(
    "By prefix",
    [
      { head: "Prefix", wide: true, cell: ({ prefix }) => button(prefix, { class: "crumb name" }, () => more({ below: prefix })) },
      { head: "Metrics", number: true, cell: ({ metrics }) => count(metrics) },
      { head: "Share", bare: true, cell: ({ metrics }) => share(metrics, whole) },
      ...(rights.role === "admin" ? [{ head: "Delete", bare: true, cell: ({ prefix }) => removal(prefix) }] : []),
    ],
    found.prefixes,
    { empty: "There are no metrics below it.", note: `${counted(found.metrics, "metric")}, ${count(found.tagged)} with tags.` },
  );
  const tags = sheet(
    "By tag",
    [
      { head: "Tag", wide: true, cell: ({ tag }) => tag },
      { head: "Values", number: true, cell: ({ values }) => count(values) },
      { head: "Metrics", number: true, cell: ({ metrics }) => count(metrics) },
    ],
    found.tags,
    { empty: "No metric has tags." },
  );
  const rest = found.prefixes.length >= limit && button(`Show more than ${limit}`, { class: "small" }, () => more({ limit: limit * 4 }));
  return [prefixes, rest, ...(top ? lists(top) : []), tags];
}

/** What `/internal/top` knows: a part that cannot be known is missing. */
function lists({ received, created, never_read: unread }) {
  const busiest =
    received &&
    sheet(
      "Busiest",
      [
        { head: "Prefix", wide: true, cell: ({ prefix }) => prefix },
        { head: "Points per second", number: true, cell: ({ per_second: speed }) => figure(speed) },
        { head: "Metrics", number: true, cell: ({ metrics }) => count(metrics) },
      ],
      received.prefixes,
      { note: `${short(received.per_second)} points per second in the last ${count(received.until - received.since)} seconds.` },
    );
  const newest =
    created &&
    sheet(
      "Newest",
      [
        { head: "Metric", wide: true, cell: ({ name }) => drawn(name) },
        { head: "Created", cell: ({ created }) => ago(created) },
      ],
      created.newest,
      { empty: "No metric was created lately." },
    );
  const nobody =
    unread &&
    sheet(
      "Never read",
      [
        { head: "Prefix", wide: true, cell: ({ prefix }) => prefix },
        { head: "Never read", number: true, cell: ({ never_read: some }) => count(some) },
        { head: "of", number: true, cell: ({ metrics }) => count(metrics) },
        { head: "Share", bare: true, cell: ({ never_read: some, metrics }) => share(some, metrics) },
      ],
      unread.prefixes,
      { empty: "Every metric was read.", note: `${counted(unread.metrics, "metric")} that no query has read${unread.since ? ` since ${new Date(unread.since * 1000).toISOString().slice(0, 10)}` : ""}.` },
    );
  return [busiest, newest, nobody].filter(Boolean);
}

const removal = (prefix) =>
  el("a", { class: "small", href: `#${new URLSearchParams([["page", "changes"], ["query", `${prefix}.**`]])}`, "aria-label": `Delete all below ${prefix}` }, "Delete…");
