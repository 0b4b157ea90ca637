// What the page asks the server. All addresses are relative, so that it works below a path of a proxy, too.

/** An answer that was none, with the server's own words. */
export class Refused extends Error {
  constructor(status, text) {
    super(text.trim().split("\n")[0] || `the server answered ${status}`);
    this.status = status;
  }
}

/** GETs JSON. `parameters` is an object whose values may be lists. */
export async function ask(path, parameters = {}, signal = undefined) {
  const answer = await fetch(address(path, parameters), { signal });
  if (!answer.ok) throw new Refused(answer.status, await answer.text());
  // Python writes infinity as a number that is too large, which JSON.parse reads as infinity.
  return answer.json();
}

/** A relative address with its parameters. */
export function address(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined && item !== null) query.append(name, item);
    }
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

export const children = (path, { tagged, after, limit } = {}, signal) =>
  ask("internal/browser/tree", { path, tagged: tagged ? 1 : 0, after, limit }, signal);

export const search = (query, signal) => ask("internal/browser/search", { query, limit: 100 }, signal);

export const metric = (name, signal) => ask("internal/browser/metric", { name }, signal);

export const health = (signal) => ask("internal/browser/health", {}, signal);

let known;

/** The render functions, by name; asked for once. */
export function functions() {
  known ??= ask("functions").catch((error) => {
    known = undefined;
    throw error;
  });
  return known;
}

/** Tags, or values of a tag, that begin so. A server without the tags API knows none. */
export async function tagNames(prefix, signal) {
  return ask("tags/autoComplete/tags", { tagPrefix: prefix, limit: 30 }, signal).catch(nothing);
}

export async function tagValues(tag, prefix, signal) {
  return ask("tags/autoComplete/values", { tag, valuePrefix: prefix, limit: 30 }, signal).catch(nothing);
}

function nothing(error) {
  if (error instanceof Refused) return [];
  throw error;
}
