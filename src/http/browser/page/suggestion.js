// "Did you mean": the function or metric that is closest to one that does not exist.

import { isPlain, nameOf, quoted } from "./expression.js";
import { children, functions } from "./server.js";

/** A better target for one that the server refused or that found nothing; undefined if none is close. */
export async function better(target, reason) {
  const unknown = /unknown function: (\w+)/.exec(reason ?? "")?.[1];
  if (unknown) {
    const found = nearest(unknown, Object.keys(await functions()));
    return found && target.replace(new RegExp(`\\b${unknown}(?=\\s*\\()`), () => found);
  }
  if (reason) return undefined;
  for (const path of paths(target)) {
    const found = await closest(path);
    if (found) return target.replace(path, () => found);
  }
  return undefined;
}

/** The paths in a target: what has dots and is no text. */
function paths(target) {
  if (isPlain(target)) return target.includes(";") ? [] : [target];
  const bare = target.replace(/(["'])(?:\\.|(?!\1).)*\1/gs, (text) => " ".repeat(text.length));
  return bare.match(/[\w-]+(?:\.[\w*?{}[\]-]+)+/g) ?? [];
}

/** A path whose first unknown part is replaced by the one most like it. */
async function closest(path) {
  const parts = path.split(".");
  for (const [at, part] of parts.entries()) {
    // Which directories a wildcard means is more than one question.
    if (/[*?[\]{}]/.test(part.replace(/\\./g, ""))) return undefined;
    const { nodes } = await children(nameOf(parts.slice(0, at).join(".")), { limit: 1000 });
    const names = nodes.map(({ name }) => name);
    if (names.includes(nameOf(part))) continue;
    const found = nearest(nameOf(part), names);
    return found && [...parts.slice(0, at), quoted(found), ...parts.slice(at + 1)].join(".");
  }
  return undefined;
}

/** The word that is least different, if it is not too different. */
export function nearest(word, words) {
  const most = Math.max(1, Math.floor(word.length / 3));
  let best;
  for (const other of words) {
    if (Math.abs(other.length - word.length) > most) continue;
    const away = distance(word.toLowerCase(), other.toLowerCase());
    if (away <= most && (best === undefined || away < best.away)) best = { other, away };
  }
  return best?.other;
}

/** Letters to add, take away, change, or swap with the next to make one word of the other. */
function distance(a, b) {
  const rows = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, rows[i - 2][j - 2] + 1);
      rows[i].push(cost);
    }
  }
  return rows[a.length][b.length];
}
