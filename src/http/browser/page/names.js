// Names beside each other: of tags that are the same in all of them, nothing is shown.

/** The names, those with tags without the tags that all have in common. */
export function differing(names) {
  const tagged = names.map(tagsOf);
  const known = tagged.filter(Boolean);
  if (known.length < 2) return names;
  const common = new Set(known[0].tags.filter((tag) => known.every(({ tags }) => tags.includes(tag))));
  return names.map((name, at) => {
    if (!tagged[at]) return name;
    const { path, tags } = tagged[at];
    const rest = tags.filter((tag) => !common.has(tag));
    return rest.length === 0 && common.size === tags.length ? path : [path, ...rest].join(";");
  });
}

/** The tags alone, and of these the ones that differ; all of them if none do. */
export function tagsThatDiffer(names) {
  return differing(names).map((short, at) => {
    const tags = short.split(";").slice(1);
    return tags.length > 0 ? tags.join(" ") : (tagsOf(names[at])?.tags.join(" ") ?? names[at]);
  });
}

function tagsOf(name) {
  if (!/^[^()]+;[^=]+=/.test(name)) return undefined;
  const [path, ...tags] = name.split(";");
  return { path, tags };
}
