// Deleting and renaming: first what would happen, then a button that does it.

import { button, el, toast } from "./dom.js";
import { order } from "./server.js";
import { form, mistake, redraw } from "./sheet.js";
import { count, counted } from "./words.js";

/** Names that are shown of a trial. */
const NAMES = 500;

export const page = {
  name: "changes",
  title: "Delete and rename",
  role: "admin",
  about: "Both show first what they would do. What is deleted is gone: make a backup before.",
  start(place, { parameters }) {
    const deletion = el("section", { class: "card", "aria-label": "Delete" }, el("h2", {}, "Delete metrics"));
    const renaming = el("section", { class: "card", "aria-label": "Rename" }, el("h2", {}, "Rename"));
    const [doomed, renamed] = [el("div", { role: "status" }), el("div", { role: "status" })];
    const query = { name: "query", label: "Metrics", value: parameters.query, hint: "servers.old1.** or disk.*;host=old1", wide: true };
    deletion.append(plain(form([query], "What would go?", ({ query }) => tryDeleting(doomed, query.trim()))), doomed);
    const names = [
      { name: "from", label: "From", value: parameters.from, hint: "servers.old", wide: true },
      { name: "to", label: "To", hint: "servers.new", wide: true },
    ];
    renaming.append(
      el("p", { class: "muted" }, "A metric, or a directory with everything below it."),
      plain(form(names, "What would change?", ({ from, to }) => tryRenaming(renamed, from.trim(), to.trim()))),
      renamed,
    );
    place.append(deletion, renaming);
    if (parameters.query) tryDeleting(doomed, parameters.query);
    return {};
  },
};

const plain = (made) => (made.classList.remove("card"), made);

/** Shows what `order` answers to a trial, and a button that does the same in earnest. `words` describes an answer. */
async function trial(place, path, fields, words) {
  redraw(place, el("p", { class: "muted" }, "Looking…"));
  try {
    const found = await order(path, { ...fields, dry_run: 1 });
    const { sentence, names, act } = words(found);
    const shown = names.slice(0, NAMES).map((name) => el("li", {}, name));
    const rest = names.length > NAMES && el("p", { class: "muted" }, `and ${count(names.length - NAMES)} more`);
    const go = act && button(act, { class: "small danger" }, () => earnest(place, path, fields, words));
    redraw(place, el("p", {}, sentence), names.length > 0 && list(shown), rest, go);
    if (go) go.focus();
  } catch (error) {
    redraw(place, mistake(error));
  }
}

const list = (items) => el("ul", { class: "names scroll", tabindex: "0", "aria-label": "Names" }, ...items);

async function earnest(place, path, fields, words) {
  redraw(place, el("p", { class: "muted" }, "At work…"));
  try {
    const { done } = words(await order(path, fields));
    redraw(place, el("p", {}, done));
    toast(done);
  } catch (error) {
    redraw(place, mistake(error));
  }
}

const tryDeleting = (place, query) =>
  trial(place, "internal/delete", { query }, ({ metrics, only_directories: directories }) => ({
    sentence:
      metrics.length > 0
        ? `${counted(metrics.length, "metric")} would be deleted, with all points:`
        : directories
          ? `${query} matches directories alone. Everything below is ${query}.**`
          : `Nothing matches ${query}.`,
    names: metrics,
    act: metrics.length > 0 && `Delete ${counted(metrics.length, "metric")} for good`,
    done: `${counted(metrics.length, "metric")} deleted.`,
  }));

const tryRenaming = (place, from, to) =>
  trial(place, "internal/rename", { from, to }, ({ metrics, merged }) => ({
    sentence:
      metrics.length > 0
        ? `${counted(metrics.length, "metric")} would get another name${merged > 0 ? `; ${count(merged)} of these names exist, and get what they lack` : ""}:`
        : `There is no metric ${from}, nor any below it.`,
    names: metrics.map(([before, after]) => `${before} → ${after}`),
    act: metrics.length > 0 && `Rename ${counted(metrics.length, "metric")}`,
    done: `${counted(metrics.length, "metric")} renamed.`,
  }));
