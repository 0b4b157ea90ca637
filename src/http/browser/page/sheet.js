// Tables of what the server said, and the forms above them.

import { button, el } from "./dom.js";
import { quoted } from "./expression.js";
import { short } from "./words.js";

/** A column of numbers has `number: true`, and one whose heading is for screen readers alone `bare: true`. `cell(row)` gives its content. */
const column = ({ head, number, bare }) =>
  el("th", { scope: "col", class: number && "number" }, bare ? el("span", { class: "offscreen" }, head) : head);

/** A table with a heading. `key(row)` tells rows apart, so that a button keeps its focus when the table is drawn again. */
export function sheet(title, columns, rows, { key, empty = "Nothing.", note } = {}) {
  const parts = [el("h2", {}, title), note && el("p", { class: "muted" }, note)];
  if (rows.length === 0) return el("section", { class: "card" }, ...parts, el("p", { class: "muted" }, empty));
  const line = (row) =>
    el(
      "tr",
      { data: key ? { key: key(row) } : {} },
      ...columns.map(({ cell, number, wide }) =>
        el("td", { class: [number && "number", wide && "wide"].filter(Boolean).join(" ") || undefined }, ...[cell(row)].flat()),
      ),
    );
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...columns.map(column))), el("tbody", {}, ...rows.map(line)));
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table);
  return el("section", { class: "card sheet" }, ...parts, scroll);
}

/** Draws `content` in `place`, and gives the focus back to the control that had it. */
export function redraw(place, ...content) {
  const focused = place.contains(document.activeElement) ? document.activeElement : undefined;
  const row = focused?.closest("[data-key]")?.dataset.key;
  place.replaceChildren(...content.filter(Boolean));
  if (row === undefined) return;
  const same = [...place.querySelectorAll("[data-key]")].find((one) => one.dataset.key === row);
  same?.querySelector("button, a")?.focus();
}

/** A number in few characters, and as it is when the pointer rests on it. */
export const figure = (value, words = short) => el("span", { title: String(value) }, words(value));

/** A share as a bar with its number beside it. */
export function share(part, whole) {
  const bar = el("span", { class: "share-bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", `${whole > 0 ? (100 * part) / whole : 0}%`);
  return bar;
}

/** A link that draws a metric. */
export const drawn = (name) =>
  el("a", { href: `./#${new URLSearchParams([["target", quoted(name)]])}`, class: "name" }, name);

/** A form in one row. `fields` are `{ name, label, value, hint }`; `done` gets their values. */
export function form(fields, submit, done) {
  const field = ({ name, label, value = "", hint = "", wide }) =>
    el("label", { class: wide && "grow" }, label, el("input", { name, value, placeholder: hint, autocomplete: "off", autocapitalize: "none", spellcheck: "false" }));
  const made = el(
    "form",
    { class: "card ask" },
    ...fields.map(field),
    el("button", { type: "submit", class: "small primary" }, submit),
  );
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    done(Object.fromEntries(new FormData(made)));
  });
  return made;
}

/** A sentence about what went wrong. */
export const mistake = (error) => el("p", { class: "card wrong", role: "alert" }, error.message);

/** Asks twice: the first click shows the second button. */
export function sure(text, question, done) {
  const first = button(text, { class: "small primary" }, () => {
    const yes = button(question, { class: "small primary" }, done);
    const no = button("No", { class: "small" }, () => (both.replaceWith(first), first.focus()));
    const both = el("span", { class: "sure" }, yes, no);
    first.replaceWith(both);
    no.focus();
  });
  return first;
}
