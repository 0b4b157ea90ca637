// Search as you type: words find names, globs find their matches, and a text with a parenthesis is a target.

import { complete } from "./completion.js";
import { byId } from "./dom.js";
import { quoted } from "./expression.js";
import { search } from "./server.js";
import { state } from "./state.js";
import { count, counted } from "./words.js";

const isGlob = (text) => /[*?[{]/.test(text);
const isCall = (text) => /[(]/.test(text);

/** Sets the field up. `reveal(node)` shows a name in the tree; `picked(name)` is called for a metric that is drawn. */
export function startSearch({ reveal, picked }) {
  const field = byId("search");
  let note = "";

  const suggest = async (text, _caret, signal) => {
    const query = text.trim();
    note = "";
    if (query === "") return [];
    if (isCall(query)) return [{ label: query, detail: "draw this target", kind: "draw", target: query }];
    const found = await search(query, signal);
    note = summary(found);
    const mark = isGlob(query) ? [] : query.split(/\s+/);
    const hits = found.nodes.map((node) => ({
      label: node.name,
      mark,
      node,
      kind: node.metric ? "metric" : "directory",
      detail: node.directory ? (node.below === null ? "…" : counted(node.below, "metric")) : "",
    }));
    if (isGlob(query) && found.total > 0) {
      hits.unshift({ label: query, detail: "draw all that match", kind: "draw", target: query });
    }
    return hits;
  };

  const take = (item) => {
    field.value = "";
    if (item.target) return state.add(item.target);
    if (item.node.metric) {
      state.add(quoted(item.node.name));
      picked(item.node.name);
      reveal(item.node, false);
    } else {
      reveal(item.node, true);
    }
  };

  const submit = (text) => {
    const query = text.trim();
    if (isCall(query) || isGlob(query)) take({ target: query });
  };

  const list = complete(field, { suggest, take, submit, footer: () => note, eager: true, delay: 40 });
  field.addEventListener("focus", () => field.value && list.refresh());
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (field.value === "") field.blur();
    field.value = "";
    list.close();
  });
}

function summary({ nodes, total, complete }) {
  const shown = nodes.length;
  if (!complete) return `The search took too long; here are ${counted(shown, "name")}. Add a word to find others`;
  if (total === 0) return "Nothing found";
  return shown < total
    ? `${count(shown)} of ${count(total)}; add a word to narrow the search`
    : `${count(total)} found`;
}
