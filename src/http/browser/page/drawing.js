// How a target wants to be drawn: what color(), dashed() and the like in it say, as the server's own pictures obey them.

/** Graphite's names; its red, blue and green are its own. */
const NAMED = {
  black: "#000000",
  white: "#ffffff",
  blue: "#6464ff",
  green: "#00c800",
  red: "#c80032",
  yellow: "#ffff00",
  orange: "#ffa500",
  purple: "#c864ff",
  brown: "#966432",
  cyan: "#00ffff",
  aqua: "#009696",
  gray: "#afafaf",
  grey: "#afafaf",
  magenta: "#ff00ff",
  pink: "#ff6464",
  gold: "#c8c800",
  rose: "#c896c8",
  darkblue: "#0000ff",
  darkgreen: "#00ff00",
  darkred: "#ff0000",
  darkgray: "#6f6f6f",
  darkgrey: "#6f6f6f",
  mistyrose: "#ffe4e1",
  transparent: "#00000000",
};

/** Functions that make new series, which forget how the old ones were drawn. */
const FRESH = new RegExp(
  "^(aggregate\\w*|applyByNode|asPercent|pct|avg|sum|reduce|reduceSeries|weightedAverage|groupBy\\w+|\\w+WithWildcards" +
    "|\\w+SeriesLists|(average|count|diff|divide|max|min|percentileOf|pow|rangeOf|stddev|sum)Series)$",
);

/** These take several series, and what is said of one of them does not hold for all. */
const SEVERAL = new Set(["group", "map", "mapSeries", "multiplySeries"]);

/** What each function says. `found` holds what functions further out have said already, and they have the last word. */
const SAYS = {
  color: (found, [name]) => (found.color ??= paint(name)),
  alpha: (found, [share]) => (found.alpha ??= clamp(share, 0, 1)),
  lineWidth: (found, [width]) => (found.width ??= clamp(width, 0.1, 100)),
  dashed: (found, [length]) => (found.dash ??= clamp(length ?? "5", 1, 1000)),
  drawAsInfinite: (found) => (found.infinite = true),
  secondYAxis: (found) => (found.second = true),
  stacked: (found) => (found.stacked = true),
  areaBetween: (found) => (found.between = true),
};

/** How the series of a target are drawn: color, alpha, width, dash, infinite, second, stacked, between. */
export function drawingOf(target) {
  const found = {};
  let call = outermost(target);
  while (call && !FRESH.test(call.name) && !SEVERAL.has(call.name)) {
    const [input, ...rest] = call.args;
    SAYS[call.name]?.(found, rest.map(value));
    // `stacked` makes new series, too.
    if (call.name === "stacked" || input === undefined) break;
    call = outermost(input);
  }
  return found;
}

/** A colour for the canvas, or undefined. */
function paint(name) {
  const digits = name?.replace(/^#/, "");
  return NAMED[name?.toLowerCase()] ?? (/^([\da-f]{3}|[\da-f]{6}|[\da-f]{8})$/i.test(digits) ? `#${digits}` : undefined);
}

function clamp(text, low, high) {
  const number = Number(text);
  return Number.isFinite(number) ? Math.min(high, Math.max(low, number)) : undefined;
}

/** An argument as text: without its name and quotes. */
const value = (text) => /^(?:\w+\s*=\s*)?(["']?)(.*)\1$/s.exec(text)[2];

/** The function that a target applies last, with its arguments as text. `a|f(b)` is read as `f(a,b)`. */
export function outermost(target) {
  const piped = split(target, "|");
  const last = piped.pop().trim();
  const [, name, inside] = /^(\w+)\s*\((.*)\)$/s.exec(last) ?? [];
  if (name === undefined) return undefined;
  const args = split(inside, ",").map((text) => text.trim());
  return { name, args: piped.length > 0 ? [piped.join("|"), ...args] : args };
}

/** Splits where a sign stands outside of quotes and brackets. */
function split(text, sign) {
  const pieces = [];
  let [depth, quote, from] = [0, undefined, 0];
  for (let i = 0; i < text.length; i += 1) {
    const here = text[i];
    if (here === "\\") i += 1;
    else if (quote) quote = here === quote ? undefined : quote;
    else if (here === '"' || here === "'") quote = here;
    else if ("({[".includes(here)) depth += 1;
    else if (")}]".includes(here)) depth -= 1;
    else if (here === sign && depth === 0) {
      pieces.push(text.slice(from, i));
      from = i + 1;
    }
  }
  return [...pieces, text.slice(from)];
}
