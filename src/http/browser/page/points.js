// The points of the queries: as they are stored when they fit on the screen, and otherwise drawn together in a way that the reader
// chose. Peaks are not lost: the range from minimum to maximum comes along, and the figures are of all points.

import { renderGood } from "./render.js";

/** How points are drawn together, and what is said about it. */
export const WAYS = {
  band: "average, shaded from min to max",
  average: "average",
  max: "max",
  min: "min",
  sum: "sum",
  last: "last",
};

const plain = (target) => target;
const by = (way) => (target) => `consolidateBy(${target},"${way}")`;
const FIGURES = ["min", "max", "average", "sum", "last"];

/** What did not fit the last time, which is not asked for as it is again. */
let tooLong;

/**
 * Asks for the points of queries: `{ answers, together }`. An answer has `series` or a `reason`; a series has `name`, `times`,
 * `values`, `figures`, and with the way `band` also `low` and `high`. `together` is false if all points are drawn.
 */
export async function points(queries, { way, width, range }, signal) {
  const key = JSON.stringify([queries, range, width]);
  if (tooLong !== key) {
    // Graphite draws two points or more together, so with half of the points that it may give, none are.
    const whole = await renderGood(queries, [plain], { ...range, maxDataPoints: 2 * width }, signal);
    if (whole.every(({ groups: [all] }) => all.every(({ datapoints }) => datapoints.length <= width - 2)))
      return { answers: whole.map(({ groups: [all], reason }) => ({ reason, series: all.map(complete) })), together: false };
    tooLong = key;
  }
  const lines = way === "band" ? [plain, by("min"), by("max")] : [way === "average" ? plain : by(way)];
  const [drawn, figured] = await Promise.all([
    renderGood(queries, lines, { ...range, maxDataPoints: width }, signal),
    renderGood(queries, FIGURES.map(by), { ...range, maxDataPoints: 1 }, signal),
  ]);
  const answers = drawn.map(({ groups: [line, low, high], reason }, at) => ({
    reason: lines[0] === plain ? reason : uncounted(reason),
    series: line.map((one, index) => ({
      ...column(one),
      name: way === "band" || way === "average" ? one.target : inner(one.target, way),
      low: low?.[index] && column(low[index]).values,
      high: high?.[index] && column(high[index]).values,
      figures: figures(figured[at].groups.map((group) => group[index])),
    })),
  }));
  return { answers, together: true };
}

/** All points of queries, however many there are. */
export async function samples(queries, range, signal) {
  const answers = await renderGood(queries, [plain], { ...range, noNullPoints: 1 }, signal);
  return answers.flatMap(({ groups: [all] }) => all.map(complete));
}

const column = ({ datapoints }) => ({
  times: datapoints.map(([, time]) => time),
  values: datapoints.map(([value]) => value),
});

function complete(one) {
  const found = column(one);
  return { name: one.target, ...found, figures: statistics(found.values) };
}

/** The reason, with characters counted in what the reader wrote. */
const uncounted = (reason) =>
  reason?.replace(/character (\d+)/, (_, at) => `character ${Math.max(1, at - HEAD.length)}`);

const HEAD = "consolidateBy(";

/** The name without the function that this file put around it. */
function inner(name, way) {
  const tail = `,"${way}")`;
  return name.startsWith(HEAD) && name.endsWith(tail) ? name.slice(HEAD.length, -tail.length) : name;
}

function figures(found) {
  const [min, max, avg, sum, last] = found.map((one) => one?.datapoints[0]?.[0]);
  return { min, max, avg, sum, last };
}

function statistics(values) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return {};
  let [min, max, sum] = [Infinity, -Infinity, 0];
  for (const value of known) {
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
  }
  return { last: known.at(-1), min, max, avg: sum / known.length, sum };
}

/** The distances between points, shortest first. */
export function steps(series) {
  const found = new Set(series.filter(({ times }) => times.length > 1).map(({ times }) => times[1] - times[0]));
  return [...found].sort((a, b) => a - b);
}
