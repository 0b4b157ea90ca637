// The tree of metrics. It loads one directory at a time, shows the number of metrics below each, and follows the arrow keys.

import { byId, el, toast } from "./dom.js";
import { quoted, seriesByName } from "./expression.js";
import { tagsThatDiffer } from "./names.js";
import { children } from "./server.js";
import { state } from "./state.js";
import { count } from "./words.js";

/** Children per request. */
const PAGE = 500;

const natural = new Intl.Collator(undefined, { numeric: true });
const order = (a, b) => natural.compare(a.name, b.name) || (a.name < b.name ? -1 : 1);

/** One line of the tree, and everything below it. */
class Node {
  constructor(tree, parent, found) {
    this.tree = tree;
    this.parent = parent;
    this.nodes = [];
    this.total = 0;
    this.open = false;
    this.level = parent ? parent.level + 1 : 0;
    this.tagged = found.tagged ?? parent?.tagged ?? false;
    this.name = found.name;
    this.path = this.pathBelow(parent, found);
    this.build();
    this.update(found);
  }

  /** Tagged names are not paths. Their own root has the names without tags, and below each of these the full names. */
  pathBelow(parent, found) {
    if (found.tagged) return "";
    if (this.tagged || !parent || parent.path === "") return found.name;
    return `${parent.path}.${found.name}`;
  }

  build() {
    this.twisty = el("span", { class: "twisty", "aria-hidden": "true" });
    this.label = el("span", { class: "name" }, this.name);
    this.below = el("span", { class: "count" });
    this.all = el(
      "button",
      { type: "button", class: "all small", tabindex: "-1", title: "Draw all inside" },
      "∗",
    );
    this.row = el(
      "div",
      { class: "row", title: this.path || this.name },
      this.twisty,
      this.label,
      this.all,
      this.below,
    );
    this.group = el("ul", { role: "group", hidden: true });
    this.item = el(
      "li",
      { role: "treeitem", tabindex: "-1", "aria-level": this.level },
      this.row,
      this.group,
    );
    this.row.style.setProperty("--level", this.level - 1);
    this.twisty.addEventListener("click", (event) => this.clicked(event, () => this.toggle()));
    this.all.addEventListener("click", (event) => this.clicked(event, () => this.drawAll()));
    this.row.addEventListener("click", (event) => this.clicked(event, () => this.act()));
    this.item.node = this;
  }

  clicked(event, work) {
    event.stopPropagation();
    this.tree.focus(this, false);
    work();
  }

  /** Shows the current answer of the server. */
  update({ metric, directory, below }) {
    this.metric = metric;
    this.directory = directory;
    this.item.classList.toggle("metric", metric);
    this.item.classList.toggle("directory", directory);
    this.below.textContent = directory && below !== null && below !== undefined ? count(below) : "";
    this.all.hidden = !directory || this.path === "";
    if (directory) this.item.setAttribute("aria-expanded", String(this.open));
    else this.item.removeAttribute("aria-expanded");
    this.mark();
  }

  /** Marks the metric if it is drawn. */
  mark() {
    if (this.metric) this.item.setAttribute("aria-selected", String(state.has(quoted(this.path))));
  }

  /** A click or Enter: draws a metric, opens a directory. */
  act() {
    if (!this.metric) return this.toggle();
    state.toggle(quoted(this.path));
    this.tree.picked(this.path);
  }

  drawAll() {
    if (!this.directory || this.path === "") return;
    state.add(this.tagged ? seriesByName(this.path) : `${quoted(this.path)}.*`);
  }

  async toggle(open = !this.open) {
    if (!this.directory || open === this.open) return;
    this.open = open;
    this.item.setAttribute("aria-expanded", String(open));
    this.group.hidden = !open;
    if (open) await this.load();
  }

  /** Loads the first children, or those after `after`. */
  async load(after = undefined) {
    this.item.setAttribute("aria-busy", "true");
    try {
      const limit = after === undefined ? Math.max(PAGE, Math.min(this.nodes.length, 1000)) : PAGE;
      this.take(await children(this.path, { tagged: this.tagged, after, limit }), after);
    } catch (error) {
      toast(error.message);
    } finally {
      this.item.removeAttribute("aria-busy");
    }
  }

  take(listing, after) {
    this.total = listing.total;
    const known = new Map(this.nodes.map((node) => [node.name, node]));
    const seen = new Set();
    for (const found of listing.nodes) {
      seen.add(found.name);
      const node = known.get(found.name);
      if (node) node.update(found);
      else known.set(found.name, new Node(this.tree, this, found));
    }
    // If the answer has all children, those that are missing from it are gone.
    const all = after === undefined && listing.nodes.length === listing.total;
    this.nodes = [...known.values()].filter((node) => !all || seen.has(node.name)).sort(order);
    this.last = listing.nodes.at(-1)?.name ?? this.last;
    this.arrange();
  }

  arrange() {
    const wanted = this.nodes.map((node) => node.item);
    this.labelTagged();
    const rest = this.total - this.nodes.length;
    if (rest > 0) wanted.push(this.moreItem(rest));
    if (this === this.tree.root && this.tree.tagged) wanted.push(this.tree.tagged.item);
    // Only changed items are moved, so that the reader keeps scroll position and focus.
    let here = this.group.firstElementChild;
    for (const item of wanted) {
      if (item === here) here = here.nextElementSibling;
      else this.group.insertBefore(item, here);
    }
    while (here) {
      const gone = here;
      here = here.nextElementSibling;
      gone.remove();
    }
  }

  /** Of tagged metrics with one name, the tags that differ tell them apart. */
  labelTagged() {
    if (!this.tagged || this.path === "") return;
    const labels = tagsThatDiffer(this.nodes.map((node) => node.name));
    this.nodes.forEach((node, at) => (node.label.textContent = labels[at]));
  }

  moreItem(rest) {
    const more = el(
      "button",
      { type: "button", class: "more", tabindex: "-1", on: { click: () => this.loadMore() } },
      `Show ${count(Math.min(rest, PAGE))} more of ${count(rest)}`,
    );
    const item = el(
      "li",
      { role: "treeitem", tabindex: "-1", "aria-level": this.level + 1, class: "rest" },
      more,
    );
    item.node = {
      item,
      parent: this,
      nodes: [],
      act: () => this.loadMore(),
      drawAll() {},
      toggle() {},
      open: false,
    };
    more.style.setProperty("--level", this.level);
    return item;
  }

  async loadMore() {
    const before = new Set(this.nodes);
    await this.load(this.last ?? "");
    const first = this.nodes.find((node) => !before.has(node));
    if (first) this.tree.focus(first);
  }

  /** The child of a name. It is added if it is on a page that is not loaded yet. */
  child(name, found) {
    let node = this.nodes.find((node) => node.name === name);
    if (!node) {
      node = new Node(this.tree, this, { name, ...found });
      this.nodes = [...this.nodes, node].sort(order);
      this.arrange();
    }
    return node;
  }
}

/** The whole tree. */
export class Tree {
  /** `picked(name)` is called when the user selects a metric. */
  constructor(picked) {
    this.picked = picked;
    this.place = byId("tree");
    this.root = new Node(this, undefined, { name: "", metric: false, directory: true });
    this.root.group = this.place;
    this.root.open = true;
    this.place.addEventListener("keydown", (event) => this.pressed(event));
    this.place.addEventListener(
      "focusin",
      (event) => event.target.node && this.focus(event.target.node, false),
    );
    state.watch(["targets"], () => this.items().forEach((item) => item.node.mark?.()));
  }

  /** Reloads all open directories, to update the counts. */
  async refresh({ tagged }) {
    await this.root.load();
    this.showTagged(tagged);
    const open = this.items()
      .map((item) => item.node)
      .filter((node) => node.open);
    await Promise.all(open.map((node) => node.load()));
    if (!this.place.querySelector('[tabindex="0"]')) this.items()[0]?.setAttribute("tabindex", "0");
  }

  /** Tagged metrics have their own root, below all others. */
  showTagged(number) {
    if (!number) {
      this.tagged = undefined;
      return this.root.arrange();
    }
    const found = { name: "Tagged metrics", tagged: true, metric: false, directory: true, below: number };
    this.tagged ??= new Node(this, this.root, found);
    this.tagged.item.classList.add("tagged");
    this.tagged.update(found);
    this.root.arrange();
  }

  /** Opens all directories above a name; with `go` the focus moves there, too. */
  async reveal({ name, metric, directory, below }, go) {
    let node = this.root;
    if (name.includes(";")) {
      node = this.tagged;
      await node?.toggle(true);
      node = node?.child(name.split(";")[0], { metric: false, directory: true });
      await node?.toggle(true);
      node = node?.child(name, { metric, directory });
    } else {
      const parts = name.split(".");
      for (const [i, part] of parts.entries()) {
        await node.toggle(true);
        const last = i === parts.length - 1;
        node = node.child(part, last ? { metric, directory, below } : { metric: false, directory: true });
      }
      if (directory) await node.toggle(true);
    }
    if (!node) return;
    this.focus(node, go);
    node.row.scrollIntoView({ block: "nearest" });
  }

  /** All lines, in the order of the page. */
  items() {
    return [...this.place.querySelectorAll("[role=treeitem]")];
  }

  visible() {
    return this.items().filter((item) => !item.parentElement.closest("[role=group][hidden]"));
  }

  focus(node, move = true) {
    this.place.querySelectorAll('[tabindex="0"]').forEach((item) => item.setAttribute("tabindex", "-1"));
    node.item.setAttribute("tabindex", "0");
    if (move) {
      node.item.focus({ preventScroll: true });
      (node.row ?? node.item).scrollIntoView({ block: "nearest" });
    }
  }

  /** Moves the focus into the tree. */
  enter() {
    (this.place.querySelector('[tabindex="0"]') ?? this.items()[0])?.focus();
  }

  pressed(event) {
    const node = document.activeElement?.node;
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const lines = this.visible();
    const here = lines.indexOf(node.item);
    const go = (item) => item && this.focus(item.node);
    const keys = {
      ArrowDown: () => go(lines[here + 1]),
      ArrowUp: () => go(lines[here - 1]),
      Home: () => go(lines[0]),
      End: () => go(lines.at(-1)),
      ArrowRight: () => (node.open ? go(node.nodes[0]?.item) : node.toggle(true)),
      ArrowLeft: () => (node.open ? node.toggle(false) : node.parent !== this.root && go(node.parent.item)),
      Enter: () => node.act(),
      " ": () => node.act(),
      "*": () => node.drawAll(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }
}
