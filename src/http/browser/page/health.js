// The health of ingest and store: a light in the bar, and figures in a panel.

import { byId, el } from "./dom.js";
import { health } from "./server.js";
import { about, bytes, count, counted, short } from "./words.js";

const EVERY = 10000;
/** Seconds over which the rate of points is measured. */
const RATE_OVER = 60;
const EVERY_WHEN_EMPTY = 2000;

/** Polls while the page is visible; `told(health)` gets every answer. */
export function startHealth(told) {
  let seen = [];
  let timer;
  const look = async () => {
    clearTimeout(timer);
    let wait = EVERY;
    if (!document.hidden) {
      try {
        const found = await health();
        const now = performance.now() / 1000;
        seen.push({ now, stored: found.points_stored });
        seen = sinceRestart(seen).filter((one) => one.now >= now - RATE_OVER - EVERY / 2000);
        const [first] = seen;
        // Senders come in turns of a minute at most; what was measured over less says little, and says so.
        const over = Math.round(now - first.now);
        show(found, over > 0 ? { over, speed: (found.points_stored - first.stored) / (now - first.now) } : undefined);
        await told(found);
        if (document.body.classList.contains("fresh")) wait = EVERY_WHEN_EMPTY;
      } catch {
        seen = [];
        gone();
      }
    }
    timer = setTimeout(look, wait);
  };
  document.addEventListener("visibilitychange", () => document.hidden || look());
  look();
}

/** What was counted before the server started again is of no use. */
function sinceRestart(seen) {
  const fell = seen.findLastIndex((one, at) => at > 0 && one.stored < seen[at - 1].stored);
  return fell > 0 ? seen.slice(fell) : seen;
}

function show(found, rate) {
  byId("health").dataset.state = found.trouble || found.warning ? "trouble" : "well";
  const speed = rate === undefined ? "" : ` · ${short(rate.speed)}/s`;
  byId("health").title = rate === undefined ? "" : `Points per second over the last ${rate.over} seconds`;
  byId("health-text").textContent = found.trouble ? "Trouble" : found.warning ? "Not safe" : `${counted(found.metrics, "metric")}${speed}`;
  const fact = (name, value) => [el("dt", {}, name), el("dd", {}, value)];
  const rejected = found.points_rejected.map(([reason, number]) => `${count(number)} ${reason}`).join(", ");
  byId("health-panel").replaceChildren(
    el("h2", {}, found.trouble ? "Something is wrong" : "All is well"),
    found.trouble ? el("p", { class: "wrong" }, found.trouble) : "",
    found.warning ? el("p", { class: "wrong", id: "warning" }, found.warning) : "",
    el("h3", {}, "Ingest"),
    el(
      "dl",
      {},
      ...fact(
        "Points stored",
        `${count(found.points_stored)}${rate === undefined ? "" : `, ${short(rate.speed)} per second over the last ${rate.over} seconds`}`,
      ),
      ...fact("Points rejected", rejected || "none"),
      ...fact("Open connections", count(found.connections)),
      ...fact("Listens on", found.carbon ?? "no carbon port"),
    ),
    el("h3", {}, "Store"),
    el(
      "dl",
      {},
      ...fact("Kind", found.store),
      ...fact(
        "Metrics",
        `${count(found.metrics)}${found.tagged ? `, ${count(found.tagged)} of them tagged` : ""}`,
      ),
      ...fact("On disk", bytes(found.block_bytes)),
      ...fact("In memory and log", counted(found.points_in_memory, "point")),
      ...(found.points_waiting === null
        ? []
        : fact("Not in the cluster yet", counted(found.points_waiting, "point"))),
    ),
    el(
      "p",
      { class: "muted" },
      `Plumbago ${found.version}, running for ${about(found.uptime)}. `,
      el("a", { href: "internal/metrics", target: "_blank", rel: "noopener" }, "All counters"),
    ),
    found.user
      ? el(
          "form",
          { method: "post", action: "logout", id: "logout" },
          `Logged in as ${found.user}. `,
          el("button", { type: "submit" }, "Log out"),
        )
      : "",
  );
}

function gone() {
  byId("health").dataset.state = "gone";
  byId("health-text").textContent = "No answer";
  byId("health-panel").replaceChildren(
    el("h2", {}, "The server does not answer"),
    el("p", {}, "The page tries again every ten seconds."),
  );
}
