// What the plot draws besides lines: the range from minimum to maximum, areas, and lines from bottom to top.

import { ink } from "./lines.js";

/** Paints below the lines. `columns` has what is drawn for each line: `values`, `below`, `low`, `high`. */
export function paintBelow(plot, lines, columns, { filled }) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  lines.forEach((line, at) => {
    if (line.hidden || line.drawing.unseen) return;
    const { values, below, low, high } = columns[at];
    const scale = scaleOf(line);
    if (line.drawing.infinite) return upright(plot, values, line);
    if (below || filled) fill(plot, scale, values, below, ink(line.look, below ? 0.55 : 0.3));
    if (low && high) fill(plot, scale, high, low, ink(line.look, 0.25), true);
  });
  ctx.restore();
}

export const scaleOf = (line) => (line.drawing.second ? "right" : "y");

/** Fills from one column down to another, or to zero. A null ends the area. */
function fill(plot, scale, tops, bottoms, style, outlined = false) {
  const { ctx } = plot;
  const [times] = plot.data;
  const { min, max } = plot.scales[scale];
  if (min === null || min === undefined) return;
  const place = (value) => plot.valToPos(Math.min(max, Math.max(min, value)), scale, true);
  const floor = plot.scales[scale].distr === 3 ? min : Math.max(min, Math.min(max, 0));
  ctx.fillStyle = ctx.strokeStyle = style;
  ctx.lineWidth = devicePixelRatio;
  let part = [];
  const close = () => {
    if (part.length > 1) {
      ctx.beginPath();
      for (const [x, top] of part) ctx.lineTo(x, top);
      for (const [x, , bottom] of part.reverse()) ctx.lineTo(x, bottom);
      ctx.fill();
      // What is narrower than a pixel would be as good as not there.
      if (outlined) ctx.stroke();
    }
    part = [];
  };
  for (let i = 0; i < times.length; i += 1) {
    const [top, bottom] = [tops[i], bottoms ? bottoms[i] : floor];
    if (top === undefined) continue;
    if (top === null || bottom === null || bottom === undefined) close();
    else part.push([plot.valToPos(times[i], "x", true), place(top), place(bottom)]);
  }
  close();
}

/** A line from bottom to top for every value that is not zero. */
function upright(plot, values, line) {
  const { ctx, bbox } = plot;
  ctx.strokeStyle = ink(line.look);
  ctx.lineWidth = line.look.width * devicePixelRatio;
  ctx.beginPath();
  values.forEach((value, at) => {
    if (!value) return;
    const x = Math.round(plot.valToPos(plot.data[0][at], "x", true)) + 0.5;
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
  });
  ctx.stroke();
}
