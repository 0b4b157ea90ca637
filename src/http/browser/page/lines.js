// Lines: the series of all queries, and what each of them looks like.

import { drawingOf } from "./drawing.js";
import { colour } from "./theme.js";

/** Lines that are drawn: nobody can tell more of them apart. */
export const MOST_LINES = 100;

/** After the hues, the same hues come with other dashes. */
const HUES = 8;
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/** The lines for the answers of the queries; lines that were hidden in `before` stay hidden. */
export function linesOf(queries, answers, before) {
  const hidden = new Set(before.filter((line) => line.hidden).map(({ name }) => name));
  const lines = [];
  answers.forEach(({ series }, at) => {
    const { target, earlier } = queries[at];
    const drawing = drawingOf(target);
    series.forEach((one, index) => {
      if (lines.length === MOST_LINES) return;
      // What was earlier has the colour of what it is compared with.
      const twin = earlier && lines.find((line) => line.query === target && line.index === index && !line.earlier);
      const own = { ...drawing, ...between(drawing, index) };
      lines.push({ ...one, query: target, index, earlier, twin, drawing: own, hidden: hidden.has(one.name) });
    });
  });
  // A line with a colour of its own does not use one up.
  let number = 0;
  for (const line of lines) {
    if (line.twin) line.look = { ...line.twin.look, dash: [4, 4], alpha: 0.6 };
    else line.look = look(line.drawing, line.drawing.color || line.drawing.unseen ? 0 : number++);
  }
  return lines;
}

/** Of the two series of areaBetween(), the lower one is not seen, and the area above it is. */
const between = (drawing, index) => (drawing.between ? { stacked: true, unseen: index === 0 } : {});

function look({ color, alpha, width, dash }, number) {
  return {
    hue: number % HUES,
    color,
    alpha: alpha ?? 1,
    width: width ?? 1.6,
    dash: dash ? [dash, dash] : DASHES[Math.floor(number / HUES) % DASHES.length],
  };
}

/** The colour of a line for the style sheet. */
export const cssColour = ({ color, hue }) => color ?? `var(--line-${hue})`;

/** The colour of a line for the canvas; `share` makes it paler. */
export function ink({ color, hue, alpha }, share = 1) {
  const found = color ?? colour(`--line-${hue}`);
  if (alpha * share === 1) return found;
  const canvas = (ink.canvas ??= document.createElement("canvas").getContext("2d"));
  canvas.fillStyle = "#000";
  canvas.fillStyle = found;
  // The canvas gives `#rrggbb`, or `rgba(…)` for what is not opaque already.
  const text = canvas.fillStyle;
  if (!text.startsWith("#")) return text;
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  return `rgba(${red}, ${green}, ${blue}, ${alpha * share})`;
}
