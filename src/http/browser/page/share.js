// For use elsewhere: downloads, the URLs of the render, and the targets for Grafana's query editor.

import { byId, copyButton, el } from "./dom.js";
import { rangeParameters } from "./graph.js";
import { address } from "./server.js";
import { state } from "./state.js";

const DOWNLOADS = ["CSV", "JSON", "PNG", "SVG"];
const AREAS = { area: "all", stacked: "stacked" };

/** What the server's pictures call the choices of the page. */
const picture = (width, height) => ({
  width,
  height,
  areaMode: AREAS[state.style],
  logBase: state.scale === "log" ? 10 : undefined,
  yMin: state.min || undefined,
  yMax: state.max || undefined,
});

export function startShare() {
  const place = byId("share");
  state.watch(Object.keys(state), () => {
    place.hidden = state.targets.length === 0;
    if (place.hidden) return;
    const lines = [
      line("Render URL", rendered("json")),
      line("Picture", rendered("png", picture(900, 400))),
      line("CSV", rendered("csv")),
      ...state.targets.map((target, index) =>
        line(state.targets.length > 1 ? `Grafana target ${index + 1}` : "Grafana target", target, false),
      ),
      line("This page", location.href),
    ];
    place.replaceChildren(
      el("h2", {}, "Use it elsewhere"),
      el("p", { class: "downloads" }, "Download ", ...DOWNLOADS.map(download)),
      el("dl", { class: "share" }, ...lines.flat()),
    );
  });
}

/** The server's pictures draw events as a function. */
const marks = () => (state.events ? [`alias(drawAsInfinite(events(${JSON.stringify(state.events)})),"events")`] : []);

function rendered(format, more = {}) {
  const target = more.width ? [...state.targets, ...marks()] : state.targets;
  const parameters = { target, ...rangeParameters(), format, ...more };
  return new URL(address("render", parameters), document.baseURI).href;
}

/** All points, or a picture as large as a slide. */
function download(name) {
  const format = name.toLowerCase();
  const href = rendered(format, ["PNG", "SVG"].includes(name) ? picture(1200, 500) : {});
  return el("a", { class: "small", href, download: `plumbago.${format}` }, name);
}

function line(name, text, link = true) {
  const shown = link
    ? el("a", { href: text, target: "_blank", rel: "noopener" }, text)
    : el("code", {}, text);
  return [
    el("dt", {}, name),
    el(
      "dd",
      { class: "copyable" },
      shown,
      copyButton(name, () => text),
    ),
  ];
}
