// The state of the page: targets, time range, and how they are drawn. It is kept in the page's URL, so that people can share it and
// the browser's back button works.

const DEFAULTS = {
  targets: [],
  from: "-1h",
  until: "now",
  refresh: 30,
  // How points are drawn together when there are more than pixels.
  points: "band",
  // Lines, areas, or areas on top of each other.
  style: "lines",
  // What the numbers measure; `auto` looks at the names.
  unit: "auto",
  // `linear` or `log`.
  scale: "linear",
  // The lowest and the highest value of the left axis; empty is as the data are.
  min: "",
  max: "",
  // A time zone's name; empty is the reader's own.
  tz: "",
  // How much earlier the same queries are drawn a second time: `1d`.
  compare: "",
  // The tags of the events that are marked; `*` is all of them.
  events: "",
  // What is seen: `graph`, `table` or `samples`.
  view: "graph",
  // The legend's column that orders it, with a minus if the highest comes first.
  sort: "",
};

class State extends EventTarget {
  constructor() {
    super();
    Object.assign(this, DEFAULTS, read());
    addEventListener("hashchange", () => this.adopt(read()));
    addEventListener("popstate", () => this.adopt(read()));
  }

  /** Changes some keys, and notifies those that watch them. */
  set(changes) {
    const before = write(this);
    Object.assign(this, changes);
    const after = write(this);
    if (after === before) return;
    history.pushState(null, "", after ? `#${after}` : location.pathname + location.search);
    this.dispatchEvent(new CustomEvent("change", { detail: Object.keys(changes) }));
  }

  adopt(found) {
    if (write(found) === write(this)) return;
    Object.assign(this, DEFAULTS, found);
    this.dispatchEvent(new CustomEvent("change", { detail: Object.keys(DEFAULTS) }));
  }

  has(target) {
    return this.targets.includes(target);
  }

  add(target) {
    if (target && !this.has(target)) this.set({ targets: [...this.targets, target] });
  }

  remove(target) {
    this.set({ targets: this.targets.filter((other) => other !== target) });
  }

  toggle(target) {
    if (this.has(target)) this.remove(target);
    else this.add(target);
  }

  /** Calls `listener` now and after every change to one of `keys`. */
  watch(keys, listener) {
    this.addEventListener("change", (event) => {
      if (event.detail.some((key) => keys.includes(key))) listener();
    });
    listener();
  }
}

function read() {
  const query = new URLSearchParams(location.hash.slice(1));
  const found = { ...DEFAULTS, targets: query.getAll("target") };
  for (const key of Object.keys(DEFAULTS)) if (key !== "targets") found[key] = query.get(key) ?? DEFAULTS[key];
  const refresh = Number(found.refresh);
  found.refresh = Number.isFinite(refresh) && refresh >= 0 ? refresh : DEFAULTS.refresh;
  return found;
}

function write(state) {
  const query = new URLSearchParams();
  for (const target of state.targets) query.append("target", target);
  for (const [key, usual] of Object.entries(DEFAULTS))
    if (key !== "targets" && state[key] !== usual) query.set(key, state[key]);
  return query.toString();
}

export const state = new State();
