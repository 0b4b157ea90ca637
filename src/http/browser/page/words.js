// Numbers, sizes and times in words.

const whole = new Intl.NumberFormat("en-US");
const UNITS = [
  [1e18, "E"],
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** 1,234,567 */
export const count = (number) => whole.format(number);

/** `1 metric`, `2,000 metrics`. */
export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** With a capital letter and an end. */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1).replace(/[^.!?]$/, "$&.");

/** At most five characters or so: 1.2M, 0.031, 42. With more `digits`, numbers that are close to each other differ. */
export function short(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  const size = Math.abs(value);
  const unit = UNITS.find(([unit]) => size >= unit);
  if (size >= 1e21) return value.toExponential(2);
  if (unit) return `${trimmed(value / unit[0], digits)}${unit[1]}`;
  if (size !== 0 && size < 1e-4) return value.toExponential(2);
  return trimmed(value, digits + 1);
}

const trimmed = (value, digits) => String(Number(value.toPrecision(digits)));

/** 12.3 MiB */
export function bytes(size) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(size < 10 ? 2 : 1)} ${units[unit]}`;
}

const SPANS = [
  [31536000, "year"],
  [86400, "day"],
  [3600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** In the largest unit that divides it: 30 days, 90 seconds. */
export function span(seconds) {
  const [size, name] = SPANS.find(([size]) => seconds % size === 0 && seconds >= size) ?? [1, "second"];
  const number = seconds / size;
  return `${count(number)} ${name}${number === 1 ? "" : "s"}`;
}

/** About how long: 3 days, 2 hours. */
export function about(seconds) {
  const [size, name] = SPANS.find(([size]) => seconds >= size) ?? [1, "second"];
  const number = Math.max(0, Math.floor(seconds / size));
  return `${count(number)} ${name}${number === 1 ? "" : "s"}`;
}

/** How long ago. */
export function ago(seconds) {
  const passed = Math.round(Date.now() / 1000 - seconds);
  return passed < 0 ? `in ${about(-passed)}` : `${about(passed)} ago`;
}
