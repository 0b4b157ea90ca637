// Elements without markup: every text that comes from outside goes in as text and never as HTML.

/** An element with attributes, listeners (`on`), data attributes (`data`) and children. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** A button with a text and what it does. */
export const button = (text, attributes, click) =>
  el("button", { type: "button", ...attributes, on: { click } }, text);

export const byId = (id) => document.getElementById(id);

/** Runs `work` once things have been quiet for `delay` milliseconds. */
export function debounce(delay, work) {
  let timer;
  return (...parameters) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...parameters), delay);
  };
}

/** Shows a few words for a moment. */
export function toast(text) {
  const place = byId("toast");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => place.classList.remove("shown"), 1800);
}

/** Puts a text on the clipboard, also where the page is not served over TLS and the new interface is missing. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "offscreen", readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (!copied) return toast("The browser does not let pages copy here");
  }
  toast(`${what} copied`);
}

/** A button that copies what `text()` gives when it is pressed. */
export const copyButton = (what, text) =>
  button("Copy", { class: "small", "aria-label": `Copy ${what}` }, () => copy(text(), what));
