//! The tags at the end of a row key: `key=value:`, sorted by key.
//!
//! A `:` or `=` within a tag has an escape character before it: `:` in a key, `=` in a value. So a key ends at the first `=` without a
//! `:` before it, and a value ends at the first `:` without a `=` before it.

use std::cmp::Ordering;

/// Ends a key, and escapes in a value.
const EQUALS: char = '=';
/// Ends a value, and escapes in a key.
const COLON: char = ':';

/// Appends tags in KairosDB's order. Java compares texts by UTF-16 code units.
pub(super) fn write(tags: &[(String, String)], out: &mut String) {
    let mut sorted: Vec<&(String, String)> = tags.iter().collect();
    sorted.sort_by(|a, b| by_code_units(&a.0, &b.0));
    for (key, value) in sorted {
        escape(key, COLON, out);
        out.push(EQUALS);
        escape(value, EQUALS, out);
        out.push(COLON);
    }
}

fn escape(text: &str, with: char, out: &mut String) {
    for char in text.chars() {
        if matches!(char, EQUALS | COLON) {
            out.push(with);
        }
        out.push(char);
    }
}

/// The order of Java's `String.compareTo`, which is not that of UTF-8 beyond the basic plane.
fn by_code_units(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// Reads tags. `None` if the text ends within one.
pub(super) fn read(text: &str) -> Option<Vec<(String, String)>> {
    let mut chars = text.chars();
    let mut tags = Vec::new();
    while !chars.as_str().is_empty() {
        let key = part(&mut chars, EQUALS, COLON)?;
        let value = part(&mut chars, COLON, EQUALS)?;
        tags.push((key, value));
    }
    Some(tags)
}

/// Up to an `end` that is not escaped.
fn part(chars: &mut std::str::Chars<'_>, end: char, escape: char) -> Option<String> {
    let mut part = String::new();
    loop {
        match chars.next()? {
            char if char == end => return Some(part),
            char if char == escape => part.push(chars.next()?),
            char => part.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(tags: &[(&str, &str)]) -> String {
        let tags: Vec<(String, String)> =
            tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let mut out = String::new();
        write(&tags, &mut out);
        out
    }

    #[test]
    fn keys_and_values_have_escapes_of_their_own() {
        assert_eq!(written(&[("city", "Antalya")]), "city=Antalya:");
        assert_eq!(written(&[("url", "http://a=b")]), "url=http=://a==b:");
        assert_eq!(written(&[("a=b:c", "d")]), "a:=b::c=d:");
        assert_eq!(read("a:=b::c=http=://x==:").unwrap(), [("a=b:c".to_owned(), "http://x=".to_owned())]);
    }

    #[test]
    fn tags_are_sorted_as_java_sorts_them() {
        assert_eq!(written(&[("b", "1"), ("a", "2")]), "a=2:b=1:");
        // U+1F600 begins with the surrogate D83D, which is before U+FF5E.
        assert_eq!(written(&[("\u{ff5e}", "1"), ("\u{1f600}", "2")]), "\u{1f600}=2:\u{ff5e}=1:");
    }

    #[test]
    fn a_text_that_ends_within_a_tag_is_no_list_of_tags() {
        assert_eq!(read(""), Some(Vec::new()));
        for cut in ["a", "a=", "a=b", "a=b:c", "a:", "a=="] {
            assert_eq!(read(cut), None, "{cut}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(tags in proptest::collection::btree_map("[a:=é\u{1f600}]{0,4}", "[b:=ü ]{0,4}", 0..5)) {
            let tags: Vec<(String, String)> = tags.into_iter().collect();
            let mut text = String::new();
            write(&tags, &mut text);
            let mut found = read(&text).unwrap();
            found.sort();
            prop_assert_eq!(found, tags);
        }
    }
}
