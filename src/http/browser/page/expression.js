// Targets as text: what is being typed at the caret, and what a function makes of a target. No document is needed here.

const NAME = /[\w.*?[\]{}:#@$%+!~^&/<>=-]*$/;

/** Which function's argument, and which text, the caret stands in. */
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
  const word = NAME.exec(before)[0].replace(/^[^\w.*?[{]+/, "");
  const from = caret - word.length;
  return { kind: word.includes(".") ? "path" : "name", from, word };
}

/** Where the quote began that is still open at the end of the text. */
function openQuote(text) {
  let open;
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i];
    if (open !== undefined) {
      if (sign === text[open]) open = undefined;
    } else if (sign === "'" || sign === '"') {
      open = i;
    }
  }
  return open;
}

/** The function whose arguments the end of the text stands in. */
function inside(text) {
  let depth = 0;
  for (let i = text.length - 1; i >= 0; i -= 1) {
    if (text[i] === ")") depth += 1;
    else if (text[i] === "(" && depth > 0) depth -= 1;
    else if (text[i] === "(") return /\w*$/.exec(text.slice(0, i))[0];
  }
  return undefined;
}

/** Does it draw something without a series to work on? */
export const makesSeries = (row) => !/^series/i.test(row.params?.[0]?.type ?? "");

/** The call of a function on a target, with a value for each argument that it must have. */
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

/** Is it a name or glob, without any function? */
export const isPlain = (target) => !/[()|]/.test(target) || target.includes(";");

/** Is it the name of one metric? */
export const isMetric = (target) => isPlain(target) && (target.includes(";") || !/[*?[\]{}]/.test(target));

/** All series that have this name before their tags. */
export const seriesByName = (name) =>
  name.includes("'") ? `seriesByTag("name=${name}")` : `seriesByTag('name=${name}')`;
