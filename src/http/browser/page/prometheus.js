// Counters in Prometheus' text format.

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES = { n: "\n" };

/** All samples of a text, by the name of their family: lists of `{ labels, value }`. */
export function parse(text) {
  const families = new Map();
  for (const line of text.split("\n")) {
    const found = SAMPLE.exec(line);
    if (!found) continue;
    const [, name, labels = "", value] = found;
    const pairs = [...labels.matchAll(LABEL)].map(([, label, raw]) => [label, raw.replace(/\\(.)/g, (_, c) => ESCAPES[c] ?? c)]);
    if (!families.has(name)) families.set(name, []);
    families.get(name).push({ labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return families;
}

/** The one value of a family without labels; undefined if the server does not have it. */
export const single = (families, name) => families.get(name)?.[0]?.value;

/** The sum of a family over all labels; undefined if the server does not have it. */
export const total = (families, name) => families.get(name)?.reduce((sum, { value }) => sum + value, 0);

/** The samples of a family that are not zero, as words: `12 too_old, 3 bad_line`. */
export function listed(families, name, label, words) {
  const some = (families.get(name) ?? []).filter(({ value }) => value > 0);
  return some.map(({ labels, value }) => `${words(value)} ${labels[label]}`).join(", ");
}
