// Health: what ingest, store, queries and the process do now, and how that went in the last hours by the server's own metrics.

import { el } from "./dom.js";
import { listed, parse, single, total } from "./prometheus.js";
import { ask, get } from "./server.js";
import { mistake, redraw } from "./sheet.js";
import { spark } from "./spark.js";
import { about, bytes, count, short } from "./words.js";

const EVERY = 10000;
const HISTORY = "-3h";
const POINTS = 1080;

const percent = (value) => `${value.toFixed(value < 10 ? 1 : 0)} %`;
const seconds = (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`);
const yes = (value) => (value ? "yes" : "no");

/**
 * What is shown, by section: the family of a counter, or a function of all of them, how to write it, and the own metric that has
 * its history. `bad` says from which value on somebody should look.
 */
const SECTIONS = [
  [
    "Ingest",
    [
      { label: "Points stored", family: "plumbago_points_stored_total", words: short, own: "committedPoints", per: "an interval" },
      { label: "Points refused", text: (all) => listed(all, "plumbago_points_rejected_total", "reason", short), family: "plumbago_points_rejected_total", words: short },
      { label: "Metrics created", family: "plumbago_metrics_created_total", words: short, own: "creates", per: "an interval" },
      { label: "Connections", family: "plumbago_connections", words: count, own: "activeConnections" },
      { label: "Pauses because the store was slow", family: "plumbago_backpressure_pauses_total", words: short },
    ],
  ],
  [
    "Cuts",
    [
      { label: "Points in memory and log", family: "plumbago_spool_points", words: short, own: "cache.size" },
      { label: "Cuts", family: "plumbago_cuts_total", words: short, own: "updateOperations", per: "an interval" },
      { label: "Cuts that failed", family: "plumbago_cut_failures_total", words: short, own: "errors", per: "an interval", bad: 1 },
      { label: "Merges", family: "plumbago_merges_total", words: short },
    ],
  ],
  [
    "Disk",
    [
      { label: "Used", family: "plumbago_disk_used_bytes", words: bytes, own: "disk.used" },
      { label: "Free", family: "plumbago_disk_free_bytes", words: bytes, own: "disk.free" },
      { label: "Last backup", family: "plumbago_backup_last_success_timestamp_seconds", words: (time) => (time ? `${about(Date.now() / 1000 - time)} ago` : "none yet") },
    ],
  ],
  [
    "Cluster",
    [
      { label: "Trouble", family: "plumbago_cluster_trouble", words: yes, bad: 1 },
      { label: "Points not there yet", family: "plumbago_spool_points", words: short, own: "cache.size" },
      { label: "Points delivered", family: "plumbago_points_delivered_total", words: short },
      { label: "Bytes in the spool", family: "plumbago_disk_spool_bytes", words: bytes },
      { label: "All names known", family: "plumbago_names_loaded", words: yes },
    ],
  ],
  [
    "Queries",
    [
      { label: "Running", family: "plumbago_queries_active", words: count, own: "queries.active" },
      { label: "Slow", family: "plumbago_queries_slow_total", words: short, own: "queries.slow", per: "an interval" },
      { label: "Refused", family: "plumbago_queries_refused_total", words: short, own: "queries.refused", per: "an interval" },
      { label: "Memory", family: "plumbago_query_memory_bytes", words: bytes, own: "queries.memory" },
      { label: "19 of 20 renders within", own: "http.render.p95", words: seconds },
    ],
  ],
  [
    "Process and threads",
    [
      { label: "CPU", own: "cpuUsage", words: percent },
      { label: "Memory", family: "process_resident_memory_bytes", words: bytes, own: "memUsage" },
      { label: "Threads", family: "process_threads", words: count },
      { label: "Open files", family: "process_open_fds", words: count },
      { label: "Threads that failed", family: "plumbago_thread_failures_total", text: (all) => listed(all, "plumbago_thread_failures_total", "thread", count), words: count, bad: 1 },
    ],
  ],
];

export const page = {
  name: "health",
  title: "Health",
  whole: true,
  about: "What the server does now, and how that went in the last three hours.",
  start(place, { rights }) {
    const stop = new AbortController();
    let timer;
    const look = async () => {
      clearTimeout(timer);
      try {
        if (!document.hidden) {
          const [counters, health, history] = await Promise.all([
            get("internal/metrics", {}, stop.signal).then((answer) => answer.text()),
            ask("internal/browser/health", {}, stop.signal),
            rights.own ? past(rights.own, stop.signal) : new Map(),
          ]);
          redraw(place, ...shown(parse(counters), health, history));
        }
      } catch (error) {
        if (error.name === "AbortError") return;
        redraw(place, mistake(error));
      }
      if (!stop.signal.aborted) timer = setTimeout(look, EVERY);
    };
    look();
    return { stop: () => (clearTimeout(timer), stop.abort()) };
  },
};

/** The history of the server's own metrics, by what comes after their prefix. */
async function past(own, signal) {
  const names = SECTIONS.flatMap(([, figures]) => figures.map((figure) => figure.own)).filter(Boolean);
  const target = [...new Set(names)].map((name) => `${own}.${name}`);
  const series = await ask("render", { target, from: HISTORY, format: "json", maxDataPoints: POINTS }, signal);
  return new Map(series.map(({ target, datapoints }) => [target.slice(own.length + 1), { target, values: datapoints.map(([value]) => value) }]));
}

function shown(counters, health, history) {
  const isClustered = health.store === "cassandra";
  const sections = SECTIONS.filter(([title]) => title !== "Cluster" || isClustered);
  const state = health.trouble ?? health.warning;
  return [
    el(
      "p",
      { class: state ? "card wrong" : "card" },
      state ?? "Queries and writes work.",
      " ",
      el("span", { class: "muted" }, `Plumbago ${health.version}, running for ${about(health.uptime)}.`),
    ),
    ...sections.map(([title, figures]) =>
      el("section", { class: "card" }, el("h2", {}, title), el("div", { class: "tiles" }, ...figures.map((figure) => tile(figure, counters, history)))),
    ),
    history.size === 0 && el("p", { class: "muted" }, "There is no history: the server stores no metrics of its own yet (telemetry.carbon_interval)."),
  ];
}

function tile({ label, family, text, words, own, per, bad }, counters, history) {
  const known = own && history.get(own);
  const last = known?.values.findLast((value) => value !== null);
  const value = family ? (single(counters, family) !== undefined ? total(counters, family) : undefined) : last;
  const shown = value === undefined ? "–" : words(value);
  const more = text?.(counters);
  const wrong = bad !== undefined && value >= bad;
  return el(
    "div",
    { class: wrong ? "tile bad" : "tile" },
    el("span", { class: "muted" }, label),
    el("strong", { class: wrong ? "wrong" : undefined }, shown),
    more && el("span", { class: "small-print" }, more),
    known &&
      el(
        "a",
        { href: `./#${new URLSearchParams([["target", known.target], ["from", HISTORY]])}`, title: `Draw ${known.target}` },
        spark(known.values, `${label}${per ? `, in ${per}` : ""}, over three hours; last ${last === undefined ? "unknown" : words(last)}`),
      ),
  );
}
