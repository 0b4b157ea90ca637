// Rules: what happens to a name, what changed rules would do, and how full the quotas are.

import { el, toast } from "./dom.js";
import { ask, order } from "./server.js";
import { form, mistake, redraw, share, sheet, sure } from "./sheet.js";
import { bytes, count, counted, span } from "./words.js";

export const page = {
  name: "rules",
  title: "Rules",
  whole: true,
  about: "Which rules a name meets: those for incoming names, retention, aggregation and quotas.",
  start(place, { parameters, rights, go }) {
    const stop = new AbortController();
    const name = parameters.name ?? "";
    const tried = el("div", { class: "sheets" });
    const rest = el("div", { class: "sheets" });
    place.append(
      form([{ name: "name", label: "Name", value: name, hint: "servers.web1.cpu.load", wide: true }], "Try it", ({ name }) => go({ name: name.trim() })),
      tried,
      rest,
    );
    const unless = (where) => (error) => error.name === "AbortError" || redraw(where, mistake(error));
    if (name) ask("internal/browser/rules", { name }, stop.signal).then((found) => redraw(tried, outcome(name, found)), unless(tried));
    if (rights.role === "admin") {
      const look = () =>
        Promise.all([ask("internal/retention", {}, stop.signal), ask("internal/quotas", {}, stop.signal)]).then(
          ([plan, quotas]) => redraw(rest, changed(plan, look), used(quotas)),
          unless(rest),
        );
      look();
    }
    return { stop: () => stop.abort() };
  },
};

function outcome(sent, { refused, aggregates, exists, metric, quotas }) {
  const fact = (title, ...content) => [el("dt", {}, title), el("dd", {}, ...content)];
  const rule = (found, otherwise) => (found ? [found.name, " ", el("span", { class: "muted" }, found.origin)] : [otherwise]);
  const line = ({ name, origin, limits, asks_for_sender: asks, directory }) =>
    el("li", {}, `${name}${directory ? ` below ${directory}` : ""}: ${limits}${asks ? ", for some senders" : ""} `, el("span", { class: "muted" }, origin));
  const stage = ({ step, points }) => el("li", {}, `every ${span(step).replace(/^1 /, "")} for ${span(step * points)}`);
  return el(
    "section",
    { class: "card", id: "outcome" },
    el("h2", {}, exists ? "There is such a metric" : "There is no such metric yet"),
    el(
      "dl",
      {},
      ...(refused ? fact("Points", el("strong", { class: "wrong" }, "refused"), `: ${refused}`) : []),
      ...fact("Stored as", el("code", {}, metric.name), metric.name === sent ? "" : " (rewritten)"),
      ...(aggregates.length > 0 ? fact("Gathered into", ...aggregates.map((one) => el("code", { class: "one" }, one))) : []),
      ...fact("Retention", el("ul", { class: "plain" }, ...metric.stages.map(stage))),
      ...fact("Retention rule", ...rule(metric.retention_rule, "no rule matches: retention.default")),
      ...(metric.as_ruled ? [] : fact("", el("span", { class: "wrong" }, "It was created under other rules and keeps them until they change."))),
      ...fact("Aggregation", `${metric.aggregation}, xFilesFactor ${metric.x_files_factor}`),
      ...fact("Aggregation rule", ...rule(metric.aggregation_rule, "no rule matches: the default")),
      ...fact("Quotas", quotas.length === 0 ? "none" : el("ul", { class: "plain" }, ...quotas.map(line))),
    ),
  );
}

/** What the files would do now if they were put in force. */
function changed({ moves, unchanged, metrics_keep_their_policy: kept }, again) {
  const total = moves.reduce((sum, { metrics }) => sum + metrics, 0);
  const columns = [
    { head: "Metrics", number: true, cell: ({ metrics }) => count(metrics) },
    { head: "On disk", number: true, cell: ({ bytes: size }) => bytes(size) },
    { head: "Have", cell: ({ from }) => el("code", {}, from) },
    { head: "Would get", cell: ({ to }) => el("code", {}, to) },
    { head: "Such as", wide: true, cell: ({ examples }) => el("code", {}, examples[0] ?? "") },
  ];
  const card = sheet("Changed rules", columns, moves, {
    empty: `The files have the rules that are in force: all ${counted(unchanged, "metric")} stay as they are.`,
    note: moves.length > 0 && `${counted(total, "metric")} would get another policy, ${count(unchanged)} stay as they are.${kept ? " Of a cluster's metrics, those that have another policy than that of the rules in force keep it." : ""}`,
  });
  const reload = async () => {
    try {
      const { moved, needs_restart: keys, warnings } = await order("internal/reload", {});
      toast(`The rules are in force; ${counted(moved, "metric")} moved`);
      const notes = [...warnings, ...(keys.length > 0 ? [`Only a restart puts these in force: ${keys.join(", ")}.`] : [])];
      await again();
      card.replaceChildren(...card.childNodes, ...notes.map((note) => el("p", {}, note)));
    } catch (error) {
      card.append(mistake(error));
    }
  };
  card.append(el("p", {}, sure("Read the files again…", total > 0 ? `Move ${counted(total, "metric")}` : "Put the files in force", reload)));
  return card;
}

const LIMITS = { metrics: "metrics", new_metrics_per_minute: "new metrics a minute", points_per_minute: "points a minute" };

function used(quotas) {
  const columns = [
    { head: "Quota", wide: true, cell: ({ quota, origin, dry_run: trial }) => [quota, " ", el("span", { class: "muted" }, `${origin}${trial ? ", dry run" : ""}`)] },
    { head: "Limit", cell: ({ limit }) => LIMITS[limit] ?? limit },
    { head: "Used", number: true, cell: ({ used }) => count(Math.round(used)) },
    { head: "of", number: true, cell: ({ most }) => (most === null ? "any" : count(most)) },
    { head: "Share", bare: true, cell: ({ used, most }) => (most === null ? "" : share(used, most)) },
    { head: "Refused", number: true, cell: ({ refused }) => count(refused) },
    { head: "Fullest", cell: ({ fullest }) => fullest ?? "" },
  ];
  return sheet("Quotas", columns, quotas, { empty: "None are configured." });
}
