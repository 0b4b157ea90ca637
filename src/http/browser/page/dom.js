// Builds elements without HTML: text from outside stays text.

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

/** Runs `work` when it was not called again for `delay` milliseconds. */
export function debounce(delay, work) {
  let timer;
  return (...parameters) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...parameters), delay);
  };
}

/** Shows a short message for a moment. */
export function toast(text) {
  const place = byId("toast");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => place.classList.remove("shown"), 1800);
}

/** Copies a text to the clipboard. Without TLS, browsers lack the clipboard interface, and this falls back to a selection. */
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
    if (!copied) return toast("The browser does not allow copying here");
  }
  toast(`${what} copied`);
}

/** A button that copies the result of `text()`. */
export const copyButton = (what, text) =>
  button("Copy", { class: "small", "aria-label": `Copy ${what}` }, () => copy(text(), what));
