// The axes: how far they reach, and what is written at their ticks.

import { format } from "./clock.js";
import { state } from "./state.js";
import { inUnit } from "./units.js";

/** From where to where the left axis goes: the reader's limits, or what the lines need. */
export function reach(low, high, mine = true) {
  const found = state.scale === "log" ? decades(low, high) : comfortable(low, high);
  const limit = (text, otherwise) => (mine && text !== "" && Number.isFinite(Number(text)) ? Number(text) : otherwise);
  let [from, until] = [limit(state.min, found[0]), limit(state.max, found[1])];
  if (state.scale === "log" && !(from > 0)) from = found[0];
  if (until <= from) until = state.scale === "log" ? from * 10 : from + 1;
  return [from, until];
}

/** Leaves room above and below the lines, and starts at zero if the values are close to it. */
function comfortable(low, high) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  if (low === high) {
    const room = Math.abs(low) * 0.1 || 1;
    return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
  }
  const room = (high - low) * 0.08;
  const nearZero = low >= 0 && low < (high - low) / 2;
  return [nearZero ? 0 : low - room, high + room];
}

/** A log scale shows whole powers of ten. */
function decades(low, high) {
  if (!Number.isFinite(low) || !Number.isFinite(high) || high <= 0) return [1, 10];
  const from = 10 ** Math.floor(Math.log10(low > 0 ? low : high / 1e4));
  const until = 10 ** Math.ceil(Math.log10(high));
  return [from, until > from ? until : from * 10];
}

const DECIMALS = [-9, -8, -7, -6, -5, -4, -3, -2, -1].flatMap((power) => [1, 2, 5].map((digit) => Number(`${digit}e${power}`)));

/** Distances of ticks that are round where numbers are not counted in tens. */
const STEPS = {
  bytes: [...DECIMALS, ...Array.from({ length: 70 }, (_, power) => 2 ** power)],
  seconds: [
    ...DECIMALS,
    ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200],
    ...[1, 10, 100, 1e3, 1e4, 1e5].flatMap((size) => [1, 2, 5].map((digit) => digit * size * 86400)),
  ],
};

/** The distances that ticks may have; undefined where round numbers do. */
export const steps = (unit) => (state.scale === "log" ? undefined : STEPS[unit]);

/** Labels of values: as short as they may be while they all differ. */
export function amounts(unit) {
  return (_plot, ticks) => {
    const known = ticks.filter((tick) => tick !== null && tick !== undefined);
    for (let digits = 3; ; digits += 1) {
      const labels = known.map((tick) => inUnit(unit, tick, digits));
      if (digits < 9 && new Set(labels).size < labels.length) continue;
      return ticks.map((tick) => (tick === null || tick === undefined ? "" : inUnit(unit, tick, digits)));
    }
  };
}

/** On a log scale only powers of ten have labels, where there are many. */
export const powers = (_plot, ticks) =>
  ticks.map((tick) => (ticks.length < 12 || Number.isInteger(Math.round(Math.log10(tick) * 1e6) / 1e6) ? tick : null));

const DAY = { day: "numeric", month: "short" };
const TIMES = [
  [86400 * 28, { month: "short", year: "numeric" }],
  [86400, DAY],
  [60, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }],
  [0, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }],
];

/** Labels of the time axis, as precise as their distance needs. The first label of a day also has the date. */
export function moments(_plot, ticks, _axis, _space, distance) {
  const [, parts] = TIMES.find(([from]) => distance >= from);
  let before;
  return ticks.map((tick) => {
    const date = new Date(tick * 1000);
    const today = distance < 86400 ? format(DAY).format(date) : "";
    const line = today === before ? "" : `\n${today}`;
    before = today;
    return format(parts).format(date) + line;
  });
}

/** The width of the axis: enough for the longest label. */
export function gutter(_plot, values) {
  const longest = Math.max(3, ...(values ?? []).map((value) => String(value).length));
  return 16 + longest * 7;
}
