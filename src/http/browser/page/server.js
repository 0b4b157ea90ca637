// Requests to the server. All URLs are relative, so that the page also works below a path of a proxy.

/** The server refused, in its own words. */
export class Refused extends Error {
  constructor(status, text) {
    super(text.trim().split("\n")[0] || `The server answered ${status}.`);
    this.status = status;
  }
}

/** No answer came. The browser's own words for that, such as "Failed to fetch", help nobody. */
export class Unreachable extends Error {
  constructor() {
    super("The server does not answer.");
  }
}

/** GETs JSON. `parameters` is an object whose values may be lists. */
export async function ask(path, parameters = {}, signal = undefined) {
  return read(await get(path, parameters, signal));
}

/** Longer addresses are not for every proxy. */
const LONGEST = 4000;

/** GETs an answer, or POSTs for it if there is much to say; throws if there is none, or if the server refuses. */
export async function get(path, parameters, signal) {
  const url = address(path, parameters);
  const short = url.length <= LONGEST;
  const asked = short
    ? fetch(url, { signal })
    : fetch(path, { method: "POST", body: new URLSearchParams(url.slice(path.length + 1)), signal });
  return answered(asked);
}

async function answered(asked) {
  const answer = await asked.catch(unlessAborted);
  if (answer.ok) return answer;
  if (answer.status === 401) location.assign("login");
  // An HTML page is a proxy's, and says nothing to a person in one line.
  const isPage = answer.headers.get("content-type")?.startsWith("text/html");
  throw new Refused(answer.status, isPage ? "" : await answer.text().catch(unlessAborted));
}

/** POSTs a form, and gives the JSON of the answer. */
export async function order(path, fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return read(await answered(fetch(path, { method: "POST", body: new URLSearchParams(given) })));
}

/** The JSON of an answer. */
export async function read(answer) {
  // The server writes infinity as a number that is too large, and JSON.parse reads that as infinity.
  return answer.json().catch((error) => {
    if (error instanceof SyntaxError)
      throw new Error("The answer is not Plumbago's. A proxy may want you to log in: reload the page.");
    return unlessAborted(error);
  });
}

function unlessAborted(error) {
  throw error.name === "AbortError" ? error : new Unreachable();
}

/** A relative URL with its parameters. */
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

/** The render functions by name. They are loaded once. */
export function functions() {
  known ??= ask("functions").catch((error) => {
    known = undefined;
    throw error;
  });
  return known;
}

/** Tags that begin with `prefix`; none if the server has no tags API. */
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
