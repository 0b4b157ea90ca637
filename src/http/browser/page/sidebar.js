// The width of the tree: its edge can be dragged, or moved by the arrow keys. This browser remembers it.

import { byId } from "./dom.js";

const KEY = "plumbago.sidebar";
const [LEAST, USUAL, MOST] = [180, 320, 900];

export function startSidebar() {
  const edge = byId("edge");
  let width = remembered();
  const apply = (wanted, keep = true) => {
    width = Math.round(Math.min(MOST, innerWidth * 0.7, Math.max(LEAST, wanted)));
    document.documentElement.style.setProperty("--tree", `${width}px`);
    edge.setAttribute("aria-valuenow", width);
    if (keep) remember(width);
  };
  apply(width, false);
  edge.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    edge.setPointerCapture(event.pointerId);
  });
  edge.addEventListener("pointermove", (event) => edge.hasPointerCapture(event.pointerId) && apply(event.clientX));
  edge.addEventListener("dblclick", () => apply(USUAL));
  edge.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -20, ArrowRight: 20 }[event.key];
    if (!by) return;
    event.preventDefault();
    apply(width + by);
  });
}

function remembered() {
  try {
    return Number(localStorage.getItem(KEY)) || USUAL;
  } catch {
    return USUAL;
  }
}

function remember(width) {
  try {
    localStorage.setItem(KEY, width);
  } catch {
    // Without storage, the width lasts as long as the page.
  }
}
