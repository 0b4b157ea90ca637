// Completion for a text field, in a list below it: arrows select, Enter or Tab accepts, Escape closes.

import { debounce, el } from "./dom.js";

let lists = 0;

/**
 * Attaches completion to `input`, whose parent must be positioned.
 *
 * `suggest(text, caret, signal)` returns a list of items `{ label, mark, detail, hint }`. `take(item)` is called for the item
 * that the user accepts, and `submit(text)` for Enter without a selected item. With `eager` the first item is selected at once.
 * With `opens` a click opens the list; nothing is selected before the user writes. Items with the same `heading` follow one another.
 */
export function complete(
  input,
  { suggest, take, submit = () => {}, footer = () => "", eager = false, opens = false, delay = 60 },
) {
  const list = el("ul", {
    class: "completions",
    role: "listbox",
    id: `completions-${(lists += 1)}`,
    hidden: true,
  });
  // Without this, the field would lose the focus and close the list before the click counts.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  input.after(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-expanded", "false");
  let items = [];
  let options = [];
  let chosen = -1;
  let running;
  // The text that the items complete. A fast typist is ahead of the list, and must not get a completion of an older text.
  let madeFor = "";
  let takesFirst = false;

  const close = () => {
    running?.abort();
    refresh.cancelled = true;
    takesFirst = false;
    list.hidden = true;
    items = [];
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const choose = (index) => {
    options[chosen]?.setAttribute("aria-selected", "false");
    chosen = index;
    const option = options[index];
    if (!option || index < 0) return input.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option.id);
  };

  const isCurrent = () => madeFor === input.value;

  const accept = (index) => {
    if (!isCurrent()) return void refresh();
    const item = items[index];
    close();
    take(item);
  };

  // Accepts the first item once the list for the current text is there.
  const acceptFirst = () => {
    takesFirst = true;
    refresh();
  };

  const show = (found, note, text) => {
    items = found;
    madeFor = text;
    options = found.map((item, index) => option(item, `${list.id}-${index}`, { click: () => accept(index) }));
    list.replaceChildren(
      ...options.flatMap((option, index) => [...heading(found, index), option]),
      ...(note ? [el("li", { class: "footer", role: "presentation" }, note)] : []),
    );
    list.hidden = options.length === 0 && !note;
    input.setAttribute("aria-expanded", String(!list.hidden));
    chosen = -1;
    if (eager && text !== "" && found.length > 0) choose(0);
    list.scrollTop = 0;
    if (takesFirst && isCurrent() && found.length > 0) accept(0);
  };

  const refresh = async () => {
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    refresh.cancelled = false;
    const text = input.value;
    try {
      const found = await suggest(text, input.selectionStart ?? text.length, signal);
      if (signal.aborted || refresh.cancelled || document.activeElement !== input) return;
      show(found, footer(), text);
    } catch (error) {
      if (error.name !== "AbortError") show([], error.message, text);
    }
  };

  input.addEventListener("input", () => (takesFirst = false));
  input.addEventListener("input", debounce(delay, refresh));
  input.addEventListener("blur", close);
  if (opens) input.addEventListener("click", () => list.hidden && refresh());
  input.addEventListener("keydown", (event) => {
    const shown = !list.hidden && items.length > 0;
    const open = shown && isCurrent();
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step && !event.altKey) {
      if (!open) return void (event.key === "ArrowDown" && refresh());
      event.preventDefault();
      const last = items.length - 1;
      const next = chosen + step;
      choose(
        Math.abs(step) > 1 ? Math.min(last, Math.max(0, next)) : next > last ? 0 : next < 0 ? last : next,
      );
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (open && chosen >= 0) return accept(chosen);
      if (shown && eager && input.value !== "") return acceptFirst();
      close();
      submit(input.value);
    } else if (event.key === "Tab" && shown && !event.shiftKey && (input.value !== "" || chosen >= 0)) {
      event.preventDefault();
      if (!open) return acceptFirst();
      accept(Math.max(0, chosen));
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  });
  return { close, refresh };
}

/** The heading above an item, if it is the first of its group. */
const heading = (items, index) =>
  items[index].heading && items[index].heading !== items[index - 1]?.heading
    ? [el("li", { class: "heading", role: "presentation" }, items[index].heading)]
    : [];

function option(item, id, on) {
  return el(
    "li",
    { id, role: "option", "aria-selected": "false", class: item.kind && `is-${item.kind}`, on },
    el("span", { class: "label" }, ...marked(item.label, item.mark ?? [])),
    item.detail && el("span", { class: "detail" }, item.detail),
    item.hint && el("span", { class: "hint" }, item.hint),
  );
}

/** The text, with the words of the query in bold. */
function marked(text, words) {
  const lower = text.toLowerCase();
  const bold = new Array(text.length).fill(false);
  for (const word of words.map((word) => word.toLowerCase()).filter(Boolean)) {
    for (let i = lower.indexOf(word); i >= 0; i = lower.indexOf(word, i + 1))
      bold.fill(true, i, i + word.length);
  }
  const pieces = [];
  for (let i = 0; i < text.length;) {
    let end = i + 1;
    while (end < text.length && bold[end] === bold[i]) end += 1;
    const piece = text.slice(i, end);
    pieces.push(bold[i] ? el("b", {}, piece) : piece);
    i = end;
  }
  return pieces;
}
