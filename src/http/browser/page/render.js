// Renders, which know the series of each query apart.

import { get, read } from "./server.js";

/**
 * Stands between the queries of a request. The server answers with one list of series; these lines in it show where the series of a
 * query end.
 */
const FENCE = "plumbago-page:fence";
const FENCE_TARGET = `alias(constantLine(0),"${FENCE}")`;

/** Queries that are rendered one by one if the server refuses them together. */
const MOST_ALONE = 20;

/**
 * Renders queries, each of them in some variants. A variant makes another target of a query, for example its maximum.
 *
 * The result has an entry for each query: `groups`, the series of each variant, or the `reason` why the server left it out.
 */
export async function render(queries, variants, parameters, signal) {
  const targets = queries.flatMap((query) => variants.map((variant) => variant(query)));
  const asked = targets.flatMap((target) => [target, FENCE_TARGET]);
  const answer = await get("render", { ...parameters, target: asked, format: "json" }, signal);
  const broken = brokenTargets(answer.headers.get("x-plumbago-broken-target") ?? "", targets);
  const groups = fenced(await read(answer));
  return queries.map((query, index) => {
    const first = index * variants.length;
    return { groups: variants.map((_, at) => groups[first + at] ?? []), reason: broken.get(targets[first]) };
  });
}

function fenced(series) {
  const groups = [[]];
  for (const one of series) {
    if (one.target === FENCE) groups.push([]);
    else groups.at(-1).push(one);
  }
  return groups;
}

/**
 * The same, but a query that the server refuses, for example because of an unknown function, does not hide the others. The server
 * refuses the whole request then, so each query is asked for by itself.
 */
export async function renderGood(queries, variants, parameters, signal) {
  try {
    return await render(queries, variants, parameters, signal);
  } catch (error) {
    if (error.status !== 400 || queries.length > MOST_ALONE) throw error;
    if (queries.length === 1 && !isAboutTarget(error)) throw error;
    if (queries.length === 1) return [refused(variants, error)];
    const alone = (query) =>
      render([query], variants, parameters, signal).catch((error) => {
        if (error.status !== 400) throw error;
        return [refused(variants, error)];
      });
    const answers = (await Promise.all(queries.map(alone))).flat();
    // If all are refused it may be the range that is wrong, and the first answer says it best.
    if (!isAboutTarget(error) && answers.every(({ reason }) => reason)) throw error;
    return answers;
  }
}

const refused = (variants, error) => ({ groups: variants.map(() => []), reason: error.message });

/** Does the server name targets in its answer, and not, say, the range? */
const isAboutTarget = (error) => error.message.includes("; targets: ");

/**
 * The reasons in the header, by target.
 *
 * A browser joins headers of one name with commas, and targets and reasons have commas of their own. So this looks for the
 * targets that were sent; the server names them in the same order.
 */
function brokenTargets(header, targets) {
  const found = [];
  let from = 0;
  for (const target of targets) {
    const begin = `${found.length > 0 ? ", " : ""}${named(target)}: `;
    const at = header.indexOf(begin, from);
    if (at < 0 || (found.length === 0 && at > 0)) continue;
    from = at + begin.length;
    found.push({ target, at, from });
  }
  return new Map(
    found.map(({ target, from }, index) => [target, header.slice(from, found[index + 1]?.at ?? header.length)]),
  );
}

/** A target as the header has it: shortened, without what no header may hold. */
function named(target) {
  const letters = [...target];
  const text = letters.slice(0, 200).join("") + (letters.length > 200 ? "..." : "");
  return text.replace(/[^ -~]/gu, "?").trimStart();
}
