// Queries: those that run, with a button to cancel them, the slowest, and the most frequent.

import { button, el, toast } from "./dom.js";
import { ask, order } from "./server.js";
import { figure, mistake, redraw, sheet } from "./sheet.js";
import { ago, bytes, count } from "./words.js";

const EVERY = 2000;

export const page = {
  name: "queries",
  title: "Queries",
  role: "admin",
  whole: true,
  about: "What is asked of this server now, and what took long in the last hour.",
  start(place) {
    const stop = new AbortController();
    let timer;
    const look = async () => {
      clearTimeout(timer);
      try {
        if (!document.hidden) redraw(place, ...sheets(await ask("internal/queries", {}, stop.signal), look));
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

const milliseconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`);

/** Who asked, as far as it is known. */
function asker({ user, client, dashboard, panel }) {
  const grafana = dashboard && `dashboard ${dashboard}${panel ? `, panel ${panel}` : ""}`;
  return [user, client, grafana].filter(Boolean).join(", ") || "this server";
}

const QUESTION = [
  { head: "Query", wide: true, cell: ({ endpoint, query }) => [el("span", { class: "muted" }, endpoint), " ", el("code", { class: "clamp", title: query }, query)] },
  { head: "Asked by", cell: asker },
];
const TOOK = [
  { head: "Took", number: true, cell: ({ ms, ms_by_phase: phases }) => el("span", { title: inPhases(phases) }, milliseconds(ms)) },
  { head: "Series", number: true, cell: ({ series }) => figure(series) },
  { head: "Points", number: true, cell: ({ points }) => figure(points) },
  { head: "Memory", number: true, cell: ({ memory }) => bytes(memory) },
];

const inPhases = (phases) =>
  Object.entries(phases)
    .filter(([, ms]) => ms > 0)
    .map(([phase, ms]) => `${phase} ${milliseconds(ms)}`)
    .join(", ");

function sheets({ memory, active, slowest, most_frequent: frequent }, again) {
  const used = `Queries use ${bytes(memory.used)} of ${bytes(memory.limit)}; one may use ${bytes(memory.each)}.`;
  const running = [...QUESTION, { head: "Phase", cell: ({ phase }) => phase }, ...TOOK, { head: "Cancel", bare: true, cell: (query) => cancel(query, again) }];
  const ended = [...QUESTION, ...TOOK, { head: "Ended", cell: ({ outcome }) => outcome }, { head: "Began", cell: ({ started }) => ago(started) }];
  const often = [
    { head: "Query", wide: true, cell: ({ last }) => QUESTION[0].cell(last) },
    { head: "Times", number: true, cell: ({ count: times }) => count(times) },
    { head: "Mean", number: true, cell: ({ ms, count: times }) => milliseconds(ms / times) },
    { head: "Longest", number: true, cell: ({ longest_ms: longest }) => milliseconds(longest) },
    { head: "Last asked by", cell: ({ last }) => asker(last) },
  ];
  return [
    sheet("Running now", running, active, { key: ({ id }) => id, note: used, empty: "No query runs." }),
    sheet("Slowest of the last hour", ended, slowest, { empty: "None in the last hour." }),
    sheet("Most frequent since the start", often, frequent, { empty: "None yet." }),
  ];
}

function cancel({ id, query }, again) {
  const stop = async () => {
    try {
      await order("internal/queries/cancel", { id });
      toast("Cancelled");
    } catch (error) {
      toast(error.message);
    }
    again();
  };
  return button("Cancel", { class: "small", "aria-label": `Cancel ${query}` }, stop);
}
