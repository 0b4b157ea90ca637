// Targets as text: what is at the caret, and how a function wraps a target. This file does not touch the document.

const NAME = /(?:\\.|[\w.*?[\]{}:#@$%+!~^&/<>=-])*$/;

/** What the caret is in: a name, a path, a quoted text, or a tag expression. */
export function at(text, caret) {
  const before = text.slice(0, caret);
  const quote = openQuote(before);
  if (quote !== undefined) {
    const start = quote + 1;
    return {
      kind: inside(before.slice(0, quote)) === "seriesByTag" ? "tag" : "text",
      from: start,
      word: before.slice(start),
    };
  }
  const word = NAME.exec(before)[0].replace(/^[^\w.*?[{\\]+/, "");
  const from = caret - word.length;
  return { kind: word.includes(".") ? "path" : "name", from, word };
}

/** Where the quote begins that is still open at the end of the text. */
function openQuote(text) {
  let open;
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i];
    if (sign === "\\") {
      i += 1;
    } else if (open !== undefined) {
      if (sign === text[open]) open = undefined;
    } else if (sign === "'" || sign === '"') {
      open = i;
    }
  }
  return open;
}

/** The function in whose arguments the text ends. */
function inside(text) {
  let depth = 0;
  for (let i = text.length - 1; i >= 0; i -= 1) {
    if (text[i] === ")") depth += 1;
    else if (text[i] === "(" && depth > 0) depth -= 1;
    else if (text[i] === "(") return /\w*$/.exec(text.slice(0, i))[0];
  }
  return undefined;
}

/** Does the function need no series as input? */
export const makesSeries = (row) => !/^series/i.test(row.params?.[0]?.type ?? "");

/** A call of a function on a target, with a sample value for each required argument. */
export function wrap(row, target) {
  const rest = row.params.slice(makesSeries(row) ? 0 : 1);
  const needed = rest.filter((param) => param.required).map(sample);
  const all = makesSeries(row) ? needed : [target, ...needed];
  return `${row.name}(${all.join(", ")})`;
}

const SAMPLES = {
  aggFunc: '"average"',
  aggOrSeriesFunc: '"average"',
  boolean: "true",
  date: '"-1d"',
  float: "1",
  integer: "10",
  interval: '"5min"',
  intOrInterval: '"5min"',
  intOrInf: "10",
  node: "1",
  nodeOrTag: "1",
  tag: '"name"',
};

function sample(param) {
  if (/^series/i.test(param.type)) return "*";
  const offered = param.options?.[0] ?? param.suggestions?.[0];
  if (offered !== undefined && !/interval/i.test(param.type))
    return typeof offered === "string" ? `"${offered}"` : String(offered);
  return SAMPLES[param.type] ?? `"${param.name}"`;
}

/** The target that means this metric and no other: what the grammar would take for its own gets a backslash. */
export const quoted = (name) => name.replace(/[(){},'"\\|[\]*?]/g, "\\$&");

/** The metric that a target without wildcards means. */
export const nameOf = (target) => target.replace(/\\([(){},'"\\|[\]*?=.])/g, "$1");

const bare = (target) => target.replace(/\\./g, "");

/** Is it a name or glob, without a function? */
export const isPlain = (target) => !/[()|]/.test(bare(target));

/** Does it name one metric? */
export const isMetric = (target) => isPlain(target) && !/[*?[\]{}]/.test(bare(target));

/** All tagged series of this name. */
export const seriesByName = (name) =>
  name.includes("'") ? `seriesByTag("name=${name}")` : `seriesByTag('name=${name}')`;
