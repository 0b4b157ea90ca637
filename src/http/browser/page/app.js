// The metric browser: puts the parts of the page together.

import { byId } from "./dom.js";
import { isMetric, nameOf } from "./expression.js";
import { Graph } from "./graph.js";
import { startHealth } from "./health.js";
import { startHistory } from "./history.js";
import { startKeys } from "./keys.js";
import { hideMetric, showMetric, shownMetric } from "./metric.js";
import { startOptions } from "./options.js";
import { earlier, later, startRange, zoomIn, zoomOut } from "./range.js";
import { startSaved } from "./saved.js";
import { startSearch } from "./search.js";
import { startShare } from "./share.js";
import { startSidebar } from "./sidebar.js";
import { state } from "./state.js";
import { showMistakes, startTargets } from "./targets.js";
import { nextTheme, startTheme } from "./theme.js";
import { Tree } from "./tree.js";
import { showWelcome } from "./welcome.js";

const view = (name) => {
  document.body.dataset.view = name;
  for (const tab of document.querySelectorAll("[data-show]"))
    tab.setAttribute("aria-pressed", String(tab.dataset.show === name));
};

const recolour = () => graph.recolour();
startTheme(recolour);
const graph = new Graph(showMistakes);
const tree = new Tree(showMetric);
startRange({ shown: () => graph.shown(), again: () => graph.draw() });
startOptions();
startTargets(showMetric);
startHistory();
startSaved();
startShare();
startSidebar();
startSearch({
  picked: showMetric,
  reveal: async (node, go) => {
    view(go ? "tree" : "graph");
    await tree.reveal(node, go);
  },
});

// The card describes a metric that is drawn. Without one, there is no card.
state.watch(["targets"], () => {
  const only = state.targets.filter(isMetric).map(nameOf);
  if (only.length === 0) hideMetric();
  else if (!only.includes(shownMetric())) showMetric(only.at(-1));
});

let known;
startHealth(async (health) => {
  await showWelcome(health);
  const seen = `${health.metrics} ${health.tagged}`;
  // Counts in the tree change only when metrics are created or deleted.
  if (seen === known) return;
  known = seen;
  tree.refresh(health);
});

for (const tab of document.querySelectorAll("[data-show]"))
  tab.addEventListener("click", () => view(tab.dataset.show));
if (state.targets.length > 0) view("graph");

const first = (selector) => () => (view("graph"), document.querySelector(selector)?.focus());
startKeys({
  "/": () => byId("search").focus(),
  t: () => (view("tree"), tree.enter()),
  e: first("#targets .target"),
  f: first("#targets .function"),
  o: () => location.assign("operate"),
  s: () => byId("saved").togglePopover(),
  r: () => graph.draw(),
  d: () => nextTheme(recolour),
  "?": () => byId("help").togglePopover(),
  ArrowLeft: () => earlier(graph.shown()),
  ArrowRight: () => later(graph.shown()),
  "+": () => zoomIn(graph.shown()),
  "-": () => zoomOut(graph.shown()),
});
document.documentElement.dataset.ready = "true";
