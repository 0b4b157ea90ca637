//! Brackets and braces without a partner. They are ordinary characters, and most often a slip of the keyboard.

use super::Glob;

impl Glob {
    /// The first bracket or brace that has no partner, and its place, counted in characters from 1.
    pub fn unpaired(&self) -> Option<(usize, char)> {
        let chars: Vec<char> = self.as_str().chars().collect();
        let (mut open, mut alone) = (Vec::new(), Vec::new());
        let mut at = 0;
        while let Some(char) = chars.get(at) {
            match char {
                '\\' => at += 1,
                '{' => open.push(at),
                '}' if open.pop().is_some() => {}
                '[' if let Some(end) = class_end(&chars, at) => at = end,
                '[' | ']' | '}' => alone.push(at),
                _ => {}
            }
            at += 1;
        }
        let first = open.into_iter().chain(alone).min()?;
        chars.get(first).map(|char| (first + 1, *char))
    }
}

/// Where the class ends that begins at `open`. A `]` that comes first is a member, and no class holds a dot.
fn class_end(chars: &[char], open: usize) -> Option<usize> {
    let first = open + if chars.get(open + 1) == Some(&'!') { 2 } else { 1 };
    let mut at = first;
    loop {
        match chars.get(at)? {
            '.' => return None,
            ']' if at > first => return Some(at),
            '\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_alone_is_found() {
        let found = |text: &str| Glob::parse(text).unwrap().unpaired();
        for (text, place) in [
            ("hello.[wo", (7, '[')),
            ("a.{b,c", (3, '{')),
            ("a.b}", (4, '}')),
            ("a]", (2, ']')),
            ("ä.[a.b]", (3, '[')),
            ("[]", (1, '[')),
            ("{a[", (1, '{')),
            ("{a,b}.[x", (7, '[')),
        ] {
            assert_eq!(found(text), Some(place), "{text}");
        }
    }

    #[test]
    fn pairs_and_escaped_ones_are_left_alone() {
        for text in ["a.*", "[ab]x", "[!]]", "[]a]", "{a,{b.c,d}}[0-9]", r"a\[b", r"\{a\}", r"[a\]b]"] {
            assert_eq!(Glob::parse(text).unwrap().unpaired(), None, "{text}");
        }
    }
}
