// Saved graphs: they have names, the server keeps them, and a link opens them.

import { button, byId, copy, el, toast } from "./dom.js";
import { ask, order } from "./server.js";
import { sure } from "./sheet.js";
import { state } from "./state.js";
import { ago } from "./words.js";

const PATH = "internal/browser/graphs";

/** Fills the panel each time it opens, and opens the graph that an address names. */
export function startSaved() {
  const place = byId("saved");
  place.addEventListener("toggle", (event) => event.newState === "open" && show(place));
  addEventListener("hashchange", openNamed);
  openNamed();
}

/** The link of a graph. Who saves it again under this name changes what the link opens. */
const linkOf = (name) => new URL(`./#${new URLSearchParams({ saved: name })}`, document.baseURI).href;

async function openNamed() {
  const name = new URLSearchParams(location.hash.slice(1)).get("saved");
  if (!name) return;
  try {
    const [{ graph }] = await ask(PATH, { name });
    location.replace(`#${graph}`);
  } catch (error) {
    toast(error.message);
  }
}

/** What is drawn, as the address has it. */
const drawn = () => location.hash.slice(1);

async function show(place, wrong = "") {
  const list = el("ul", { class: "saved" });
  const note = el("p", { class: "wrong", role: "alert", hidden: !wrong }, wrong);
  place.replaceChildren(el("h2", {}, "Saved graphs"), saver(place), note, list);
  try {
    const graphs = await ask(PATH);
    list.replaceChildren(...graphs.map((graph) => row(place, graph)));
    if (graphs.length === 0) list.replaceWith(el("p", { class: "muted" }, "None yet."));
  } catch (error) {
    note.hidden = false;
    note.textContent = error.message;
  }
}

/** A field for the name. It is empty if nothing is drawn that could be saved. */
function saver(place) {
  if (state.targets.length === 0) return el("p", { class: "muted" }, "Draw something to save it.");
  const field = el("input", { name: "name", required: true, maxlength: 100, autocomplete: "off", "aria-label": "Name of the graph", placeholder: "Name of this graph" });
  const form = el("form", { class: "save" }, field, el("button", { type: "submit", class: "small primary" }, "Save"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    change(place, PATH, { name: field.value.trim(), graph: drawn() }, "Saved");
  });
  return form;
}

function row(place, { name, graph, by, when }) {
  const open = () => {
    place.hidePopover();
    location.hash = graph;
  };
  const forget = sure("Delete", "Delete it", () => change(place, `${PATH}/delete`, { name }, "Deleted"));
  forget.setAttribute("aria-label", `Delete ${name}`);
  return el(
    "li",
    {},
    button(name, { class: "past", title: graph }, open),
    el("span", { class: "muted" }, by ? `${by}, ${ago(when)}` : ago(when)),
    button("Copy link", { class: "small", "aria-label": `Copy the link of ${name}` }, () => copy(linkOf(name), "Link")),
    forget,
  );
}

async function change(place, path, fields, done) {
  try {
    await order(path, fields);
    toast(done);
    await show(place);
  } catch (error) {
    await show(place, error.message);
  }
}
