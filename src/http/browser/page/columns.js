// The columns that a plot needs: the points of all lines on one row of times, stacked if the reader or the target wants it.

/** `{ times, columns }`; each line has a column with the `values` that are drawn and the `own` ones that it stands for. */
export function columnsOf(lines, { stacked, log }) {
  const tables = lines.map(({ times, values, low, high }) => [times, values, ...(low && high ? [low, high] : [])]);
  const [times, ...joined] = window.uPlot.join(tables);
  let next = 0;
  const columns = lines.map(({ low, high }) => {
    const [values, lows, highs] = joined.slice(next, (next += low && high ? 3 : 1));
    return { own: values, values, low: lows, high: highs };
  });
  stack(lines, columns, stacked);
  if (log) columns.forEach(onlyPositive);
  return { times, columns };
}

/**
 * Puts lines on top of each other. Values of the function stacked() are sums already, and need only to know what is below; where
 * the reader wants all lines stacked, they are added up here. A null adds nothing.
 */
function stack(lines, columns, all) {
  const tops = {};
  lines.forEach((line, at) => {
    const { infinite, second, stacked, between } = line.drawing;
    if (line.hidden || infinite || line.earlier || !(all || stacked)) return;
    const column = columns[at];
    const pile = second ? "right" : between ? line.query : "left";
    const under = tops[pile];
    if (all && !stacked) {
      column.values = sum(column.own, under);
      column.low = column.high = undefined;
    }
    column.below = column.values.map((_, at) => under?.[at] ?? 0);
    tops[pile] = held(column.values);
  });
}

/** Values on top of others. Where a line has nothing it is as high as what is below, and where nothing is below it, it ends. */
function sum(values, under) {
  return values.map((value, at) => {
    if (value === undefined) return undefined;
    const below = under?.[at] ?? null;
    return value === null ? below : value + (below ?? 0);
  });
}

/** The height of the pile at every time: between two points of a line with a longer step it is as high as before. */
function held(values) {
  let last = null;
  return values.map((value) => (last = value === undefined ? last : value));
}

/** Zero and less have no place on a log scale. */
function onlyPositive(column) {
  const positive = (value) => (value > 0 || value === undefined ? value : null);
  for (const name of ["values", "low", "high", "below"])
    column[name] = column[name]?.map(name === "below" ? (value) => Math.max(value, Number.MIN_VALUE) : positive);
}

/** The lowest and the highest value of the lines that are seen. */
export function extent(lines, columns) {
  let [low, high] = [Infinity, -Infinity];
  const take = (values) => {
    for (const value of values ?? []) {
      if (value === null || value === undefined || !Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  };
  lines.forEach((line, at) => {
    if (line.hidden || line.drawing.infinite) return;
    const { values, low, high, below } = columns[at];
    take(values);
    take(low);
    take(high);
    if (below) take([0]);
  });
  return [low, high];
}
