// The card about one metric: retention and its rule, first and last point, bytes.

import { time } from "./clock.js";
import { byId, el } from "./dom.js";
import { metric } from "./server.js";
import { ago, bytes, counted, short, span } from "./words.js";

let running;
let shown;

/** Shows the card of a metric; hides it if no metric has that name. */
export async function showMetric(name) {
  const place = byId("metric");
  running?.abort();
  running = new AbortController();
  shown = name;
  try {
    const found = await metric(name, running.signal);
    place.replaceChildren(...card(found));
    place.hidden = false;
  } catch (error) {
    if (error.name === "AbortError") return;
    place.hidden = error.status === 404;
    place.replaceChildren(el("h2", {}, "About the metric"), el("p", { class: "wrong" }, error.message));
  }
}

/** The metric whose card is shown or loading. */
export const shownMetric = () => shown;

export function hideMetric() {
  shown = undefined;
  running?.abort();
  byId("metric").hidden = true;
}

function card(found) {
  const [path, ...tags] = found.name.split(";");
  const fact = (name, ...value) => [el("dt", {}, name), el("dd", {}, ...value)];
  return [
    el("h2", {}, "About the metric"),
    el("p", { class: "full-name" }, path),
    tags.length > 0 && el("p", { class: "tags" }, ...tags.map((tag) => el("span", { class: "tag" }, tag))),
    stages(found.stages),
    el(
      "dl",
      {},
      ...fact(
        "Retention rule",
        ...rule(found.retention_rule, found.as_ruled, "no rule matches: retention.default"),
      ),
      ...fact("Rolled up by", `${found.aggregation}, xFilesFactor ${found.x_files_factor}`),
      ...fact("Aggregation rule", ...rule(found.aggregation_rule, true, "no rule matches: the default")),
      ...fact("First point", found.first ? time(found.first) : "not known"),
      ...fact("Last point", ...last(found.last)),
      ...fact(
        "On disk",
        found.bytes ? bytes(found.bytes) : "nothing yet; its points are in memory and in the log",
      ),
      ...fact("Id", el("code", {}, found.uuid)),
    ),
  ].filter(Boolean);
}

function stages(list) {
  return el(
    "ol",
    { class: "stages" },
    ...list.map(({ step, points }) =>
      el(
        "li",
        {},
        el("strong", {}, `every ${span(step).replace(/^1 /, "")}`),
        ` for ${span(step * points)}`,
        el("span", { class: "muted" }, counted(points, "point")),
      ),
    ),
  );
}

function rule(found, asRuled, otherwise) {
  const changed = asRuled ? [] : [el("span", { class: "muted" }, " (it was created under other rules)")];
  if (!found) return [otherwise, ...changed];
  return [found.name, " ", el("span", { class: "muted" }, found.origin), ...changed];
}

function last(found) {
  if (!found) return ["none found"];
  return [
    el("strong", {}, short(found.value)),
    ` at ${time(found.time)} `,
    el("span", { class: "muted" }, ago(found.time)),
  ];
}
