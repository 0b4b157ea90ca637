// Links for use elsewhere: the URLs of the render, and the targets for Grafana's query editor.

import { byId, copyButton, el } from "./dom.js";
import { renderParameters } from "./graph.js";
import { address } from "./server.js";
import { state } from "./state.js";

export function startShare() {
  const place = byId("share");
  state.watch(["targets", "from", "until"], () => {
    place.hidden = state.targets.length === 0;
    if (place.hidden) return;
    const lines = [
      line("Render URL", full("render", renderParameters("json"))),
      line("Picture", full("render", { ...renderParameters("png"), width: 900, height: 400 })),
      line("CSV", full("render", renderParameters("csv"))),
      ...state.targets.map((target, index) =>
        line(state.targets.length > 1 ? `Grafana target ${index + 1}` : "Grafana target", target, false),
      ),
      line("This page", location.href),
    ];
    place.replaceChildren(el("h2", {}, "Use it elsewhere"), el("dl", { class: "share" }, ...lines.flat()));
  });
}

const full = (path, parameters) => new URL(address(path, parameters), document.baseURI).href;

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
