// The pages for operators: shows one at a time, the one that the URL names after the `#`.

import { page as cardinality } from "./cardinality.js";
import { page as changes } from "./changes.js";
import { byId, el } from "./dom.js";
import { startHealth } from "./health.js";
import { startKeys } from "./keys.js";
import { page as queries } from "./queries.js";
import { page as retention } from "./retention.js";
import { page as rules } from "./rules.js";
import { page as status } from "./status.js";
import { nextTheme, startTheme } from "./theme.js";

const PAGES = [status, queries, cardinality, rules, retention, changes];

/** What the caller may do; it is known when the first answer about the health has come. */
let rights;
let shown;

const named = (name) => PAGES.find((page) => page.name === name) ?? PAGES[0];
const hash = () => new URLSearchParams(location.hash.slice(1));

/** May the caller use a page? Some need a role, some are about the whole server. */
const open = (page) => (page.role !== "admin" || rights.role === "admin") && (!page.whole || rights.whole);

function show() {
  const given = hash();
  const page = named(given.get("page"));
  shown?.stop?.();
  document.title = `${page.title} · Plumbago`;
  byId("pages").replaceChildren(
    ...PAGES.filter(open).map(({ name, title }) =>
      el("a", { href: `#page=${name}`, "aria-current": name === page.name && "page" }, title),
    ),
  );
  const place = el("div", { class: "sheets" });
  byId("page").replaceChildren(el("h1", {}, page.title), el("p", { class: "muted" }, page.about), place);
  if (!open(page)) {
    shown = undefined;
    place.append(el("p", { class: "wrong" }, `This page needs the role ${page.role}${page.whole ? " for the whole server" : ""}. You have the role ${rights.role}.`));
    return;
  }
  const parameters = Object.fromEntries(given);
  delete parameters.page;
  shown = page.start(place, { parameters, rights, go: (more) => go(page.name, more) });
}

/** Shows a page with other parameters; without a change there, asks the server again. */
function go(name, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "");
  const next = new URLSearchParams([["page", name], ...given]).toString();
  if (next === location.hash.slice(1)) show();
  else location.hash = next;
}

addEventListener("hashchange", () => rights && show());
startTheme(() => shown?.recolour?.());
startHealth((health) => {
  const known = rights;
  rights = { role: health.role, whole: health.whole, own: health.own_name };
  if (known?.role === rights.role && known?.whole === rights.whole) return;
  show();
  document.documentElement.dataset.ready = "true";
});

const nth = (place) => () => {
  const page = PAGES.filter(open)[place];
  if (page) go(page.name, {});
};
startKeys({
  ...Object.fromEntries(PAGES.map((_, place) => [String(place + 1), nth(place)])),
  "/": () => byId("page").querySelector("input, select")?.focus(),
  r: () => show(),
  b: () => location.assign("./"),
  d: () => nextTheme(() => shown?.recolour?.()),
  "?": () => byId("help").togglePopover(),
});
