// The state of the page: targets, time range, refresh interval. It is kept in the page's URL, so that people can share it and the
// browser's back button works.

const DEFAULTS = { targets: [], from: "-1h", until: "now", refresh: 30 };

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
  for (const key of ["from", "until"]) found[key] = query.get(key) ?? DEFAULTS[key];
  const refresh = Number(query.get("refresh") ?? DEFAULTS.refresh);
  found.refresh = Number.isFinite(refresh) && refresh >= 0 ? refresh : DEFAULTS.refresh;
  return found;
}

function write({ targets, from, until, refresh }) {
  const query = new URLSearchParams();
  for (const target of targets) query.append("target", target);
  if (from !== DEFAULTS.from) query.set("from", from);
  if (until !== DEFAULTS.until) query.set("until", until);
  if (refresh !== DEFAULTS.refresh) query.set("refresh", refresh);
  return query.toString();
}

export const state = new State();
