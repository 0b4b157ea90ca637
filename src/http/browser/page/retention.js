// Retention: which stage a query of some time reads, and what it makes of the points.

import { el } from "./dom.js";
import { ask } from "./server.js";
import { drawn, form, mistake, redraw, sheet } from "./sheet.js";
import { count, counted, span } from "./words.js";

const SERIES = 50;
const EXAMPLES = ["-1h", "-1d", "-7d", "-30d", "-1y"];

export const page = {
  name: "retention",
  title: "Retention",
  about: "What a query reads: the finest stage that reaches back to where it begins, and how its points are drawn together.",
  start(place, { parameters, go }) {
    const stop = new AbortController();
    const { target = "", from = "-1d", until = "now", points = "" } = parameters;
    const result = el("div", { class: "sheets" });
    const again = (more) => go({ target, from, until, points, ...more });
    place.append(
      form(
        [
          { name: "target", label: "Target", value: target, hint: "servers.*.cpu.load", wide: true },
          { name: "from", label: "From", value: from },
          { name: "until", label: "Until", value: until },
          { name: "points", label: "Most points", value: points, hint: "all" },
        ],
        "Look",
        ({ target, ...more }) => go({ target: target.trim(), ...more }),
      ),
      el("p", { class: "muted" }, "How far back: ", ...EXAMPLES.flatMap((text) => [example(text, again), " "])),
      result,
    );
    if (target) {
      const asked = { target, from, until, format: "json", meta: "true", maxDataPoints: points || undefined };
      ask("render", asked, stop.signal).then(
        (found) => redraw(result, ...answer(found)),
        (error) => error.name === "AbortError" || redraw(result, mistake(error)),
      );
    }
    return { stop: () => stop.abort() };
  },
};

function example(from, again) {
  const made = el("button", { type: "button", class: "small" }, from.slice(1));
  made.addEventListener("click", () => again({ from, until: "now" }));
  return made;
}

/** Series that were read alike are shown once. */
function answer({ series }) {
  if (series.length === 0) return [el("p", { class: "card" }, "Nothing matches, or nothing of it is kept for that time.")];
  const alike = new Map();
  for (const one of series) {
    const key = JSON.stringify(one.meta.map(({ count, ...rest }) => rest));
    if (!alike.has(key)) alike.set(key, { meta: one.meta, series: [] });
    alike.get(key).series.push(one);
  }
  return [...alike.values()].map(group);
}

function group({ meta, series }) {
  const columns = [
    { head: "Series", wide: true, cell: ({ target }) => (meta.length === 1 && meta[0].count === 1 ? drawn(target) : target) },
    { head: "Points", number: true, cell: ({ datapoints }) => count(datapoints.length) },
    { head: "With a value", number: true, cell: ({ datapoints }) => count(datapoints.filter(([value]) => value !== null).length) },
  ];
  const rest = series.length > SERIES ? `The first ${SERIES} of ${count(series.length)}.` : undefined;
  return el("div", { class: "card read" }, ...meta.map(archive), sheet(counted(series.length, "series").replace("seriess", "series"), columns, series.slice(0, SERIES), { note: rest }));
}

/** The stages of a policy as bars of the time that they reach back, the one that was read marked. */
function archive(one) {
  const stages = (one["schema-retentions"] ?? "").split(",").filter(Boolean).map((text) => text.split(":").map(parseFloat));
  const longest = Math.max(...stages.map(([, keeps]) => keeps));
  const bar = ([step, keeps], at) => {
    const read = at === one["archive-read"];
    const made = el(
      "li",
      { class: read ? "stage read" : "stage" },
      el("span", {}, `every ${span(step).replace(/^1 /, "")} for ${span(keeps)}`),
      read && el("strong", {}, " is read"),
    );
    // The stages differ by orders of magnitude.
    made.style.setProperty("--share", `${Math.max(6, (100 * Math.log1p(keeps)) / Math.log1p(longest))}%`);
    return made;
  };
  const combined = one["aggnum-rc"];
  const function_ = one["consolidator-rc"].replace("Consolidator", "");
  const words = [
    one["archive-read"] > 0 && `It has the ${one["consolidator-normfetch"].replace("Consolidator", "").toLowerCase()} of finer points.`,
    one["aggnum-norm"] > 1 && `A function made ${counted(one["aggnum-norm"], "slot")} one.`,
    combined > 0 && `The answer draws ${counted(combined, "point")} together: ${function_}.`,
    !(combined > 0) && "The answer has every point.",
  ].filter(Boolean);
  return el(
    "section",
    {},
    el("h2", {}, one["schema-name"] === "default" ? "No rule: retention.default" : `Rule ${one["schema-name"]}`),
    el("ol", { class: "bars" }, ...stages.map(bar)),
    el("p", {}, `${one.count > 1 ? `${counted(one.count, "metric")} read like this. ` : ""}${words.join(" ")}`),
  );
}
