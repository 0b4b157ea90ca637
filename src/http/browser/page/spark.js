// A small picture of how a number went: a line without axes.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [160, 36];

/** A distance between two values that is so many times the usual one is a gap. */
const GAP = 5;

/** An SVG element of values in order; null is unknown. `label` says it in words. */
export function spark(values, label) {
  const known = values.filter((value) => value !== null && Number.isFinite(value));
  const picture = node("svg", { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  if (known.length < 2) return picture;
  const low = Math.min(0, ...known);
  const high = Math.max(...known, low + Number.MIN_VALUE);
  const x = (at) => ((WIDTH - 2) * at) / Math.max(1, values.length - 1) + 1;
  const y = (value) => HEIGHT - 2 - ((HEIGHT - 4) * (value - low)) / (high - low || 1);
  const places = values.flatMap((value, at) => (value !== null && Number.isFinite(value) ? [at] : []));
  const far = GAP * usual(places);
  const step = (at, nth) => `${nth === 0 || at - places[nth - 1] > far ? "M" : "L"}${x(at).toFixed(1)} ${y(values[at]).toFixed(1)}`;
  const path = places.map(step).join("");
  picture.append(node("path", { d: path }));
  return picture;
}

/** The distance that is in the middle of all. */
function usual(places) {
  const distances = places.slice(1).map((at, nth) => at - places[nth]);
  return distances.sort((a, b) => a - b)[distances.length >> 1];
}

function node(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
