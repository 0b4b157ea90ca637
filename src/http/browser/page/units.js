// What numbers measure: bytes, seconds, percent, or just numbers.

import { state } from "./state.js";
import { short } from "./words.js";

/** The units to choose from, with their names. */
export const UNITS = {
  auto: "unit: auto",
  si: "numbers (k, M, G)",
  bytes: "bytes",
  seconds: "seconds",
  percent: "percent",
};

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const SPANS = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];

const WRITERS = {
  si: short,
  percent: (value, digits) => `${short(value, digits)} %`,
  bytes(value, digits) {
    const power = Math.min(BINARY.length - 1, Math.max(0, Math.floor(Math.log2(Math.abs(value) || 1) / 10)));
    return `${short(value / 1024 ** power, digits)} ${BINARY[power]}`;
  },
  seconds(value, digits) {
    const [size, name] = SPANS.find(([size]) => Math.abs(value) >= size) ?? [1, "s"];
    return `${short(value / size, digits)} ${name}`;
  },
};

/** Words at the end of names that say what is measured. */
const WORDS = [
  [/(^|[._-])(bytes|octets)([._-](total|rate|used|free|per_?sec(ond)?))?$/i, "bytes"],
  [/(^|[._-])(seconds|secs)([._-](total|p\d+|max|min|avg|mean))?$/i, "seconds"],
  [/(^|[._-])(percent|pct)$/i, "percent"],
];

/** The unit of these names: what was chosen, or else what all of them say. */
export function unitOf(names) {
  if (WRITERS[state.unit]) return state.unit;
  const said = new Set(names.map((name) => WORDS.find(([pattern]) => pattern.test(pathIn(name)))?.[1]));
  const [only] = said;
  return said.size === 1 && only ? only : "si";
}

/** The path in a name such as `movingAverage(a.b.c,5)`, without its tags. */
const pathIn = (name) => (/^(?:\w+\()*([^(),;]*)/.exec(name)?.[1] ?? name).trim();

/** A value in a unit, in few characters. */
export function inUnit(unit, value, digits) {
  if (value === null || value === undefined || !Number.isFinite(value)) return short(value);
  return WRITERS[unit](value, digits);
}
