use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Text with everything that a name cannot hold, and with what looks like an escape.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,3}",
        2 => Just("name".to_owned()),
        6 => prop::sample::select(vec![
            ";", "~", "=", "!", "^", ".", "..", "%", "%%", "%25", "%3B", "%2E", "%C2", "%C2%85", "%7", "3B", "25", "\u{85}", "\n",
            "\0", "\u{7f}", " ", ":", "é", "ü", "名", "\u{c2}", "{", "\"}", "%6Eame", "%7E", "\u{2028}",
        ]).prop_map(str::to_owned),
        1 => "\\PC{1,3}",
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

fn owned((metric, tags): (Cow<'_, str>, Tags<'_>)) -> (String, BTreeMap<String, String>) {
    let tags = tags.into_iter().map(|(key, value)| (key.into_owned(), value.into_owned()));
    (metric.into_owned(), tags.collect())
}

proptest! {
    #[test]
    fn every_metric_with_tags_comes_back(
        metric in text(),
        tags in prop::collection::btree_map(text(), text(), 0..4),
    ) {
        let borrowed: Vec<(&str, &str)> = tags.iter().map(|(key, value)| (&**key, &**value)).collect();
        let name = series_name(&metric, &borrowed).unwrap();
        // It is a name, in the spelling in which it is stored, and its tags are tags.
        prop_assert_eq!(name::canonical(&name, usize::MAX).unwrap(), &*name);
        prop_assert_eq!(name::is_tagged(&name), !tags.is_empty());
        prop_assert_eq!(name::tags(&name).len(), tags.len() + 1);
        prop_assert_eq!(owned(parts(&name)), (metric, tags));
    }

    /// Of texts that were sent here, and of any others that are stored.
    #[test]
    fn stored_texts_begin_in_one_of_the_ways_for_what_they_stand_for(text in text(), any in "[%a-n0-9;.~]{0,8}", end in 0..9_usize) {
        for stored in [metric(&text), key(&text), value(&text), Cow::Borrowed(&*text), Cow::Borrowed(&*any)] {
            let sent = plain(&stored);
            let end = sent.char_indices().map(|(at, _)| at).nth(end).unwrap_or(sent.len());
            let ways = stored_beginnings(&sent[..end]).filter(|begin| stored.starts_with(begin.as_str())).count();
            prop_assert_eq!(ways, 1, "{:?} {:?}", stored, &sent[..end]);
        }
    }

    /// What is not passed on is spelled as the whole rule spells it.
    #[test]
    fn plain_words_are_spelled_as_all_are(
        metric in "[a-c.]{1,5}|[~\";%=\u{85}ä.]{0,3}[a.]{0,2}",
        tags in prop::collection::vec(("[a-c]|[a-c1]{0,3}|name|[!^=\"; ä]{1,2}", "[a-c=1]{1,3}|[~\"; \u{7f}a]{0,2}"), 1..4),
    ) {
        let words: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let words = words.join(" ");
        // As they are read: the first sign ends the key, and a blank the tag.
        let read: Vec<(&str, &str)> = words.split(' ').filter_map(|word| word.split_once('=')).collect();
        let mut name = "before".to_owned();
        if push_plain_tags(&words, &mut name).is_some() {
            prop_assert_eq!(name.replacen("before", "m", 1), series_name("m", &read).unwrap());
            prop_assert_eq!(words.split(' ').count(), read.len());
            prop_assert!(!words.contains('"'));
        } else {
            prop_assert_eq!(name, "before");
        }
        let line = [&metric, " 1"].concat();
        if let Some((metric, rest)) = split_plain_metric(&line) {
            prop_assert_eq!(rest, "1");
            prop_assert_eq!(series_name(metric, &[("a", "b")]).unwrap(), [metric, ";a=b"].concat());
        }
    }

    #[test]
    fn any_text_is_taken_apart(name in "\\PC{0,30}", odd in text()) {
        let _ = (parts(&name), parts(&odd), plain(&odd));
    }

    #[test]
    fn the_order_of_tags_does_not_matter(tags in prop::collection::btree_map(text(), text(), 1..5)) {
        let sent: Vec<(&str, &str)> = tags.iter().map(|(key, value)| (&**key, &**value)).collect();
        let reversed: Vec<(&str, &str)> = sent.iter().rev().copied().collect();
        prop_assert_eq!(series_name("m", &sent), series_name("m", &reversed));
    }
}

#[test]
fn usual_names_stay_as_they_are() {
    let tags = [("host", "web 1"), ("dc", "ams:1=2"), ("ü", "100%")];
    assert_eq!(series_name("cpu.load", &tags).unwrap(), "cpu.load;dc=ams:1=2;host=web 1;ü=100%");
    assert_eq!(series_name("cpu.load", &[]).unwrap(), "cpu.load");
}

#[test]
fn what_programs_send_is_plain() {
    assert_eq!(split_plain_metric("cpu.user 170 1"), Some(("cpu.user", "170 1")));
    let mut name = "cpu.user".to_owned();
    push_plain_tags("1st=a dc=ams/1 host=a=b", &mut name).unwrap();
    assert_eq!(name, "cpu.user;1st=a;dc=ams/1;host=a=b");
    for words in ["", "a", "a=b ", "b=c a=b", "a=b a=c", "a=", "=b", "a=~b", "a=b;c", "name=a"] {
        assert_eq!(push_plain_tags(words, &mut name), None, "{words}");
    }
    for line in ["cpu", " 1", ".a 1", "a. 1", "a..b 1", "~a 1", "a;b 1", "\"a\" 1", "a%2Eb 1"] {
        assert_eq!(split_plain_metric(line), None, "{line}");
    }
    assert_eq!(split_plain_metric(&["a.".repeat(MAX_COMPONENTS), "b 1".to_owned()].concat()), None);
}

#[test]
fn only_what_a_name_cannot_hold_is_escaped() {
    for (metric, tag, stored) in [
        (".a..b.", ("k", "v"), "%2Ea.%2Eb%2E;k=v"),
        ("~a~", ("k~", "~v~"), "%7Ea~;k~=%7Ev~"),
        ("a;b", ("k;!^=", ";!^="), "a%3Bb;k%3B%21%5E%3D=%3B!^="),
        ("a\n", ("name", "\u{85}"), "a%0A;%6Eame=%C2%85"),
        ("name", ("names", "name"), "name;names=name"),
        ("100%", ("k", "%3B"), "100%;k=%253B"),
        ("%25", ("k", "%253B"), "%25;k=%25253B"),
        ("%3b", ("k", "%41"), "%3b;k=%41"),
    ] {
        assert_eq!(series_name(metric, &[tag]).unwrap(), stored);
    }
    assert_eq!(series_name("a{k=\"v\"}", &[]).unwrap(), "a{k=\"v\"%7D");
}

#[test]
fn what_is_no_series_is_refused_and_leaves_the_text_alone() {
    let deep = "a.".repeat(MAX_COMPONENTS) + "a";
    for (metric, tag, reason) in [
        ("", ("k", "v"), Reject::EmptyName),
        ("m", ("", "v"), Reject::EmptyTag),
        ("m", ("k", ""), Reject::EmptyTag),
        (&deep, ("k", "v"), Reject::TooManyComponents),
    ] {
        let mut text = "before".to_owned();
        assert_eq!(push_series_name(metric, &mut [tag], &mut text), Err(reason));
        assert_eq!(text, "before");
    }
}

#[test]
fn the_usual_text_begins_as_it_is_stored_or_with_an_escape() {
    let ways = |prefix| stored_beginnings(prefix).collect::<Vec<_>>();
    assert_eq!(ways("cpu"), ["cpu"]);
    assert_eq!(ways("a.b"), ["a%", "a.b"]);
    assert_eq!(ways("a%b.c"), ["a%"]);
    assert_eq!(ways(""), [""]);
}

#[test]
fn of_two_tags_with_one_key_the_later_wins() {
    assert_eq!(series_name("m", &[("k", "1"), ("a", "x"), ("k", "2")]).unwrap(), "m;a=x;k=2");
}
