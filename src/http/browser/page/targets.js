// The queries: one row for each target, with completion of functions, names and tags, and a field that adds a function.

import { complete } from "./completion.js";
import { button, byId, copyButton, el } from "./dom.js";
import { at, isMetric, makesSeries, nameOf, quoted, wrap } from "./expression.js";
import { children, functions, tagNames, tagValues } from "./server.js";
import { state } from "./state.js";
import { counted, sentence } from "./words.js";

const MOST = 40;

/** Why targets cannot be drawn, by target: `reason`, and perhaps a `better` target. */
let mistakes = new Map();

/** Sets the list up. `picked(name)` is called when the user asks about a metric. */
export function startTargets(picked) {
  const place = byId("targets");
  const rows = el("div", { class: "rows" });
  const add = button("+ Query", { class: "small" }, () => append(rows, picked));
  const past = button("History", { class: "small", popovertarget: "history" });
  const saved = button("Saved graphs", { class: "small", popovertarget: "saved" });
  place.replaceChildren(rows, el("div", { class: "below-rows" }, add, past, saved));
  state.watch(["targets"], () => {
    draw(rows, picked);
    const number = state.targets.length;
    byId("target-count").textContent = number ? `(${number})` : "";
  });
}

/** Shows next to each target why it cannot be drawn. */
export function showMistakes(reasons) {
  mistakes = reasons;
  for (const line of document.querySelectorAll("#targets .target-row")) mark(line);
}

function mark(line) {
  const field = line.querySelector(".target");
  const { reason, better } = mistakes.get(field.value) ?? {};
  const place = line.querySelector(".mistake");
  place.replaceChildren(reason ? sentence(plain(reason, better)) : "");
  if (better) place.append(" Did you mean ", button(better, { class: "better" }, () => replace(field.value, better)), "?");
  place.hidden = !reason;
  if (reason) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

function replace(target, other) {
  state.set({ targets: state.targets.map((one) => (one === target ? other : one)) });
}

/** The reason without what the row says already. */
function plain(reason, better) {
  const text = /^Invalid parameters \((.*)\)(?:; targets: ".*")?$/s.exec(reason)?.[1] ?? reason;
  return better ? text.replace(/; did you mean `\w+`\?$/, "") : text;
}

/** Updates the rows from the targets. A field whose text has not changed is left alone, because the user may be typing in it. */
function draw(rows, picked) {
  const lines = [...rows.children];
  const wanted = state.targets.length ? state.targets : [""];
  for (const line of lines.slice(wanted.length)) line.remove();
  wanted.forEach((target, index) => {
    const line = lines[index] ?? rows.appendChild(row(index, picked));
    const field = line.querySelector(".target");
    if (field.value !== target) field.value = target;
    line.classList.toggle("plain", isMetric(target) && target !== "");
    mark(line);
  });
}

function append(rows, picked) {
  const empty = [...rows.children].find((line) => line.querySelector(".target").value === "");
  const line = empty ?? rows.appendChild(row(rows.children.length, picked));
  line.querySelector(".target").focus();
}

function row(index, picked) {
  const letter = String.fromCharCode(65 + (index % 26));
  const field = el("input", {
    class: "target",
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "none",
    placeholder: "A metric, a glob, or a function of them",
    "aria-label": `Query ${letter}`,
    "aria-describedby": `mistake-${index}`,
  });
  const wrapper = el("input", {
    class: "function",
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "none",
    placeholder: "ƒ add function",
    "aria-label": `Add a function to query ${letter}`,
  });
  const about = button("Info", { class: "small about", "aria-label": `Info about query ${letter}` }, () =>
    picked(nameOf(field.value)),
  );
  const remove = button("✕", { class: "small remove", "aria-label": `Remove query ${letter}` }, () =>
    drop(index),
  );
  const line = el(
    "div",
    { class: "target-row" },
    el("span", { class: "letter", "aria-hidden": "true" }, letter),
    el("div", { class: "completing grow" }, field),
    el("div", { class: "completing" }, wrapper),
    about,
    copyButton(`target ${letter}`, () => field.value),
    remove,
    el("p", { class: "mistake wrong", id: `mistake-${index}`, role: "status", hidden: true }),
  );
  const commit = () => put(index, field.value.trim());
  complete(field, { suggest: suggestIn(field), take: (item) => insert(field, item), submit: commit });
  field.addEventListener("change", commit);
  complete(wrapper, {
    suggest: suggestFunctions,
    take: (item) => apply(index, field, wrapper, item.row),
    eager: true,
    opens: true,
    delay: 20,
  });
  return line;
}

function put(index, target) {
  const targets = [...state.targets];
  if (target === "") targets.splice(index, 1);
  else targets[index] = target;
  state.set({ targets: targets.filter((one) => one !== undefined) });
}

function drop(index) {
  state.set({ targets: state.targets.filter((_, at) => at !== index) });
}

/** Wraps a target in a function. A function that needs no series becomes a query of its own. */
function apply(index, field, wrapper, row) {
  wrapper.value = "";
  const target = field.value.trim();
  if (makesSeries(row)) return state.add(wrap(row, ""));
  if (target === "") return;
  put(index, wrap(row, target));
  field.focus();
  const end = field.value.length - 1;
  field.setSelectionRange(end, end);
}

const describe = (row) => ({
  label: row.function,
  detail: row.group,
  hint: firstSentence(row.description),
  kind: "function",
  row,
});

function firstSentence(text) {
  const line = (text ?? "")
    .trim()
    .split(/\n\s*\n/)[0]
    .replace(/\s+/g, " ");
  return line.length > 160 ? `${line.slice(0, 157)}…` : line;
}

/** The functions with the word in their names; those that begin with it come first. */
async function matching(word) {
  const lower = word.toLowerCase();
  const rows = Object.values(await functions());
  const place = (row) => row.name.toLowerCase().indexOf(lower);
  const found = rows.filter((row) => place(row) >= 0);
  found.sort((a, b) => Math.sign(place(a)) - Math.sign(place(b)) || (a.name < b.name ? -1 : 1));
  return found;
}

/** The functions with a word in their names; without one, all of them under the headings of their groups. */
async function suggestFunctions(text) {
  const word = text.trim();
  if (word) return (await matching(word)).slice(0, MOST).map((row) => ({ ...describe(row), mark: [word] }));
  const rows = await matching("");
  rows.sort((a, b) => (a.group === b.group ? 0 : a.group < b.group ? -1 : 1));
  return rows.map((row) => ({ ...describe(row), detail: "", heading: row.group }));
}

function suggestIn(field) {
  return async (text, caret, signal) => {
    const place = at(text, caret);
    const replace = (label, insert, more) => ({
      label,
      insert,
      from: place.from,
      to: caret,
      mark: [place.word],
      ...more,
    });
    if (place.kind === "tag") return suggestTags(place, replace, signal);
    if (place.kind === "text") return [];
    const found = [];
    if (place.kind === "name" && place.word) {
      const rows = (await matching(place.word)).filter((row) => row.name !== place.word).slice(0, 12);
      found.push(
        ...rows.map((row) => replace(row.function, `${row.name}(`, { ...describe(row), mark: [place.word] })),
      );
    }
    found.push(...(await suggestNames(place.word, replace, signal)));
    return document.activeElement === field ? found : [];
  };
}

async function suggestNames(word, replace, signal) {
  const dot = word.lastIndexOf(".");
  const parent = word.slice(0, Math.max(dot, 0));
  const begin = word.slice(dot + 1).toLowerCase();
  // A wildcard matches many directories, so there is no single one to list.
  if (/[*?[\]{}]/.test(word.replace(/\\./g, "")) || word === "") return [];
  const listing = await children(nameOf(parent), { limit: 1000 }, signal);
  const path = (node) => (parent ? `${parent}.${quoted(node.name)}` : quoted(node.name));
  return listing.nodes
    .filter((node) => quoted(node.name).toLowerCase().startsWith(begin))
    .slice(0, MOST)
    .map((node) =>
      replace(path(node), node.directory && !node.metric ? `${path(node)}.` : path(node), {
        kind: node.metric ? "metric" : "directory",
        detail: node.directory && node.below !== null ? counted(node.below, "metric") : "",
      }),
    );
}

/** Completes inside `seriesByTag('…')`: first tags, then their values. */
async function suggestTags({ word, from }, replace, signal) {
  const equals = /^([^=!]+)(!?=~?)(.*)$/.exec(word);
  if (!equals) {
    return (await tagNames(word, signal)).map((tag) =>
      replace(tag, `${tag}=`, { kind: "tag", detail: "tag" }),
    );
  }
  const [, tag, operator, value] = equals;
  const begin = from + tag.length + operator.length;
  return (await tagValues(tag, value, signal)).map((text) => ({
    ...replace(text, text, { kind: "tag", detail: tag }),
    from: begin,
    mark: [value],
  }));
}

function insert(field, item) {
  field.setRangeText(item.insert, item.from, item.to, "end");
  field.focus();
  // After these, the next completion follows at once.
  if (/[.(=]$/.test(item.insert)) field.dispatchEvent(new Event("input"));
}
