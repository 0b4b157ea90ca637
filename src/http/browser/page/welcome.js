// Shown while the server has no metrics: how to send the first point.

import { byId, copyButton, el } from "./dom.js";
import { children } from "./server.js";

/** With more metrics than this, the server has some of others. */
const MOST_OWN = 1000;

export async function showWelcome({ metrics, carbon, own_prefix: own }) {
  const place = byId("welcome");
  const fresh = metrics === 0 || (metrics <= MOST_OWN && Boolean(own) && (await below(own)) === metrics);
  document.body.classList.toggle("fresh", fresh);
  if (place.hidden === !fresh) return;
  place.hidden = !fresh;
  if (fresh) place.replaceChildren(...content(carbon));
}

/** Metrics that servers have of themselves: those below the part of the prefix that is the same for all hosts. */
async function below(prefix) {
  const [start, ...rest] = prefix.split("{host}");
  const path = rest.length === 0 ? start.split(".") : start.split(".").slice(0, -1);
  const name = path.pop();
  const { nodes } = await children(path.join("."), { limit: 1000 }).catch(() => ({ nodes: [] }));
  return nodes.find((node) => node.name === name)?.below ?? 0;
}

function content(carbon) {
  if (!carbon) {
    return [
      el("h1", {}, "No metrics yet"),
      el(
        "p",
        {},
        "This server listens on no carbon port. Set ",
        el("code", {}, "listen.carbon"),
        " and restart it.",
      ),
    ];
  }
  const [host, port] = reachable(carbon);
  return [
    el("h1", {}, "No metrics yet"),
    el("p", {}, "Send the first point. This page shows it as soon as it arrives."),
    snippet("From a shell", `echo "hello.world 42 $(date +%s)" > /dev/tcp/${host}/${port}`),
    snippet("With netcat", `echo "hello.world 42 $(date +%s)" | nc -q 1 ${host} ${port}`),
    snippet(
      "With Python",
      [
        "import socket, time",
        `with socket.create_connection(("${host}", ${port})) as s:`,
        '    s.sendall(b"hello.world 42 %d\\n" % time.time())',
      ].join("\n"),
    ),
    el(
      "p",
      { class: "muted" },
      `carbon-relay, collectd, statsd and telegraf send to ${host}:${port}, too: a line is `,
      el("code", {}, "name value time"),
      ", and a name has dots between its parts.",
    ),
  ];
}

function snippet(title, code) {
  return el(
    "figure",
    { class: "snippet" },
    el(
      "figcaption",
      {},
      title,
      copyButton(title, () => code),
    ),
    el("pre", {}, el("code", {}, code)),
  );
}

/** The address for senders. A server that listens on all addresses has the host name of the page. */
function reachable(carbon) {
  const colon = carbon.lastIndexOf(":");
  const host = carbon.slice(0, colon).replace(/^\[|\]$/g, "");
  return [host === "0.0.0.0" || host === "::" ? location.hostname : host, carbon.slice(colon + 1)];
}
