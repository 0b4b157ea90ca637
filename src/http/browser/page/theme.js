// The theme: light, dark, or as the system. The choice stays in this browser.

import { byId } from "./dom.js";

const CHOICES = { system: ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"] };
const KEY = "plumbago.theme";

/** Sets the theme up; `changed` is called whenever the colours change. */
export function startTheme(changed) {
  apply(read());
  byId("theme").addEventListener("click", () => nextTheme(changed));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

export function nextTheme(changed) {
  const names = Object.keys(CHOICES);
  const next = names[(names.indexOf(read()) + 1) % names.length];
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // Without storage, the choice lasts as long as the page.
  }
  apply(next);
  changed();
}

function read() {
  let stored;
  try {
    stored = localStorage.getItem(KEY);
  } catch {
    stored = document.documentElement.dataset.theme;
  }
  return stored in CHOICES ? stored : "system";
}

function apply(choice) {
  const [sign, words] = CHOICES[choice];
  document.documentElement.dataset.theme = choice;
  const button = byId("theme");
  button.textContent = sign;
  button.setAttribute("aria-label", `Colours: ${words}`);
  button.title = `Colours: ${words}`;
}

/** A colour of the style sheet, in a form that a canvas can use. */
export function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
