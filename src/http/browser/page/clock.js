// Times in the time zone that the reader chose, or in the reader's own.

import { state } from "./state.js";

/** The chosen zone if the browser knows it, else none, which means the reader's own. */
export function zone() {
  try {
    return state.tz && new Intl.DateTimeFormat("en", { timeZone: state.tz }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** A format of dates in the zone. Formats are expensive to make, so each is made once. */
export function format(options) {
  const key = JSON.stringify([options, state.tz]);
  if (!formats.has(key))
    formats.set(key, new Intl.DateTimeFormat(undefined, { ...options, timeZone: zone() || undefined }));
  return formats.get(key);
}

const formats = new Map();

const MOMENT = { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" };

/** A time with its date. */
export const time = (seconds) => format(MOMENT).format(new Date(seconds * 1000));

const PARTS = {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
};

/** What calendar and clock of the zone say: year, month, day, hour, minute, second, as texts. */
function parts(seconds) {
  const named = format(PARTS)
    .formatToParts(new Date(seconds * 1000))
    .map(({ type, value }) => [type, value]);
  return Object.fromEntries(named);
}

/** 2026-01-31 20:00:00; with `brief`, without seconds that are zero. */
export function calendar(seconds, brief = false) {
  const { year, month, day, hour, minute, second } = parts(seconds);
  return `${year}-${month}-${day} ${hour}:${minute}${brief && second === "00" ? "" : `:${second}`}`;
}

/** The seconds of a date as `calendar` writes it, or undefined. */
export function fromCalendar(text) {
  const found = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text);
  if (!found) return undefined;
  const [year, month, day, hour, minute, second] = found.slice(1).map((part) => Number(part ?? 0));
  const wanted = Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
  // The zone's distance from UTC depends on the time that is looked for: the second step corrects the first.
  let guess = wanted;
  for (let step = 0; step < 2; step += 1) guess += wanted - wall(guess);
  return guess;
}

/** The clock of the zone, read as if it were UTC. */
function wall(seconds) {
  const { year, month, day, hour, minute, second } = parts(seconds);
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
}
