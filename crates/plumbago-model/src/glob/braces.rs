//! Characters of a pattern, and the expansion of its braces.

/// Characters that one expansion may write in all. Keeps a short pattern of many groups from filling the memory.
const MAX_EXPANDED: usize = 1 << 20;

/// The braces stand for more text than is sensible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany;

/// A character that may have been escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sym {
    /// The character.
    pub(super) char: char,
    escaped: bool,
}

impl Sym {
    /// Is it the special character `char`?
    pub(super) fn is(self, char: char) -> bool {
        self.char == char && !self.escaped
    }
}

/// Takes the escapes out. A dot always separates: no component can hold one.
pub(super) fn lex(text: &str) -> Vec<Sym> {
    let mut syms = Vec::with_capacity(text.len());
    let mut escaped = false;
    for char in text.chars() {
        if char == '\\' && !escaped {
            escaped = true;
        } else {
            syms.push(Sym { char, escaped: escaped && char != '.' });
            escaped = false;
        }
    }
    syms
}

/// Expands the groups that hold a dot, so that the results can be split at their dots.
pub(super) fn expand_dotted(syms: &[Sym]) -> Result<Vec<Vec<Sym>>, TooMany> {
    expand(syms, true)
}

/// Expands all groups.
pub(super) fn expand_all(syms: &[Sym]) -> Result<Vec<Vec<Sym>>, TooMany> {
    expand(syms, false)
}

fn expand(syms: &[Sym], dotted: bool) -> Result<Vec<Vec<Sym>>, TooMany> {
    let mut written = 0;
    let mut done = Vec::new();
    let mut todo = vec![syms.to_vec()];
    while let Some(syms) = todo.pop() {
        let Some((open, close)) = first_group(&syms, dotted) else {
            done.push(syms);
            continue;
        };
        let (head, tail) = (&syms[..open], &syms[close + 1..]);
        let first = todo.len();
        for choice in choices(&syms[open + 1..close]) {
            written += head.len() + choice.len() + tail.len() + 1;
            if written > MAX_EXPANDED {
                return Err(TooMany);
            }
            todo.push([head, choice, tail].concat());
        }
        todo[first..].reverse();
    }
    Ok(done)
}

/// Where the first outermost group opens and closes; the first one with a dot inside if it has to be `dotted`. Braces
/// without a partner are no group.
fn first_group(syms: &[Sym], dotted: bool) -> Option<(usize, usize)> {
    let mut open = Vec::new();
    let mut dots = 0_usize;
    let mut found: Option<(usize, usize)> = None;
    for (i, sym) in syms.iter().enumerate() {
        if sym.is('.') {
            dots += 1;
        } else if sym.is('{') {
            open.push((i, dots));
        } else if sym.is('}')
            && let Some((start, dots_before)) = open.pop()
        {
            // One that closes later and starts earlier is further out; one that starts later comes after the first.
            let outer = found.is_none_or(|(first, _)| start < first);
            if outer && (!dotted || dots > dots_before) {
                found = Some((start, i));
            }
            if found.is_some() && open.is_empty() {
                break;
            }
        }
    }
    found
}

/// The parts between the commas of a group, those of inner groups left alone.
fn choices(group: &[Sym]) -> impl Iterator<Item = &[Sym]> {
    let mut depth = 0_usize;
    group.split(move |sym| {
        if sym.is('{') {
            depth += 1;
        } else if sym.is('}') {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && sym.is(',')
    })
}
