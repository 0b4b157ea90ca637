// Renders: series for targets, and what is wrong with those that have none.

import { get, read } from "./server.js";

/** A render: `series`, and in `broken` the reason for each target that the server left out. */
export async function render(parameters, signal) {
  const answer = await get("render", parameters, signal);
  const header = answer.headers.get("x-plumbago-broken-target") ?? "";
  return { series: await read(answer), broken: brokenTargets(header, parameters.target) };
}

/** Targets that are rendered one by one if the server refuses them together. */
const MOST_ALONE = 20;

/**
 * The same, but a target that the server refuses, for example because of an unknown function, does not hide the others. The
 * server refuses the whole request then, so each target is asked for by itself.
 */
export async function renderGood(parameters, signal) {
  const targets = parameters.target;
  try {
    return await render(parameters, signal);
  } catch (error) {
    if (error.status !== 400 || targets.length < 2 || targets.length > MOST_ALONE) throw error;
    const alone = (target) =>
      render({ ...parameters, target: [target] }, signal).catch((refused) => {
        if (refused.status !== 400) throw refused;
        return { series: [], broken: new Map([[target, refused.message]]) };
      });
    const answers = await Promise.all(targets.map(alone));
    // If all are refused it may be the range that is wrong, and the first answer says it best.
    if (answers.every(({ broken }) => broken.size > 0)) throw error;
    return {
      series: answers.flatMap(({ series }) => series),
      broken: new Map(answers.flatMap(({ broken }) => [...broken])),
    };
  }
}

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
