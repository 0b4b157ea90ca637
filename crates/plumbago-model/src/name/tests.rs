use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

const LIMIT: usize = 4096;

fn canon(raw: &str) -> String {
    canonical(raw, LIMIT).unwrap().into_owned()
}

fn refused(raw: &str) -> Reject {
    Reject::from(&canonical(raw, LIMIT).unwrap_err())
}

#[test]
fn a_name_in_order_is_borrowed() {
    for name in ["a", "a.b.c", "é.ü", "a b.c", "a.b;k=v", "a.b;dc=x;host=y", "*.[x]{y}", "a;k=~v", "a;k"] {
        assert!(matches!(canonical(name, LIMIT), Ok(Cow::Borrowed(same)) if same == name), "{name}");
    }
}

#[test]
fn empty_components_are_dropped() {
    for raw in ["a..b", ".a.b", "a.b.", "...a...b..."] {
        assert_eq!(canon(raw), "a.b", "{raw}");
    }
    assert_eq!(canon("..a..b.;k=x..y."), "a.b;k=x..y.");
}

#[test]
fn tags_are_sorted_by_their_text_and_the_later_key_wins() {
    assert_eq!(canon("m;host=b;dc=a"), "m;dc=a;host=b");
    assert_eq!(canon("m;k=2;k=1"), "m;k=1");
    assert_eq!(canon("m;k=1;a=0;k=2"), "m;a=0;k=2");
    // By text, not by key: '-' sorts before '='.
    assert_eq!(canon("m;a=1;a-b=2"), "m;a-b=2;a=1");
    assert_eq!(canon("m;name=other;k=v"), "m;k=v");
    assert_eq!(canon("m;name=other"), "m");
    assert_eq!(canon("~m;k=v"), "m;k=v");
}

#[test]
fn tags_in_braces_mean_the_same() {
    assert_eq!(canon(r#"m{host="b",dc="a"}"#), "m;dc=a;host=b");
    assert_eq!(canon(r#"m{k="a\"b\\c"}"#), r#"m;k=a"b\c"#);
    assert_eq!(canon(r#"m{k="{x}"}"#), "m;k={x}");
    assert_eq!(canon(r#"m{k="a=b,c"}"#), "m;k=a=b,c");
    assert_eq!(canon(r#".m{k="v"}."#), "m;k=v");
    assert_eq!(canon(r#"m{k="v"};name=x"#), "m;k=v");
}

#[test]
fn a_name_with_broken_tags_is_kept_as_it_came() {
    for raw in [
        "m;k",
        "m;k=",
        "m;=v",
        "m;k=v;",
        "m;k!=v",
        "m;k^=v",
        "m;k=~v",
        ";k=v",
        "~;k=v",
        r#"m{k=""}"#,
        r#"m{k="a;b"}"#,
        r#"m{k="v"x="y"}"#,
        r#"m{k="\n"}"#,
        r#"{k="v"}"#,
        r#"m{"}"#,
    ] {
        assert_eq!(canon(raw), raw);
        assert!(!is_tagged(raw), "{raw}");
    }
    assert_eq!(canon("a..b;k"), "a.b;k");
}

#[test]
fn names_that_cannot_be_kept_are_refused() {
    for raw in ["", ".", "...", ".;k=v", "~.;k=v"] {
        assert_eq!(refused(raw), Reject::EmptyName, "{raw}");
    }
    for raw in ["a\0b", "a\tb", "a\nb", "a\u{7f}", "a\u{85}b", "m;k=a\rb"] {
        assert_eq!(refused(raw), Reject::ControlCharacter, "{raw:?}");
    }
    assert_eq!(refused(&"x".repeat(LIMIT + 1)), Reject::NameTooLong);
    assert_eq!(canon(&"x".repeat(LIMIT)).len(), LIMIT);
}

#[test]
fn components_are_counted_without_the_tags() {
    let most = vec!["a"; MAX_COMPONENTS].join(".");
    assert_eq!(canon(&most), most);
    assert_eq!(canon(&format!("{most};k=a.b.c")), format!("{most};k=a.b.c"));
    assert_eq!(refused(&format!("{most}.a")), Reject::TooManyComponents);
    assert_eq!(refused(&format!("{most}.a;k=v")), Reject::TooManyComponents);
    assert_eq!(refused(&format!("{most};k.a")), Reject::TooManyComponents);
}

#[test]
fn an_error_names_the_value_and_the_rule() {
    let long = format!("a\x07{}", "b".repeat(500));
    let text = canonical(&long, LIMIT).unwrap_err().to_string();
    assert!(text.contains(r#""a\u{7}bbb"#) && text.contains("bbb…") && text.contains("U+0007"), "{text}");
    assert!(text.len() < 250, "{text}");
    let text = canonical("abcdef", 5).unwrap_err().to_string();
    assert!(text.contains("\"abcdef\" has 6 bytes") && text.contains("at most 5"), "{text}");
}

#[test]
fn tags_can_be_listed() {
    let found = tags("a.b;dc=x;host=y=z");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [("dc", "x"), ("host", "y=z"), ("name", "a.b")]);
    assert_eq!(tags("~a.b").into_iter().collect::<Vec<_>>(), [("name", "a.b")]);
    assert_eq!(tags("a;k").into_iter().collect::<Vec<_>>(), [("name", "a;k")]);
    assert!(is_tagged("a;k=v") && !is_tagged("a.k=v"));
}

#[test]
fn ids_are_those_of_biggraphite() {
    // Made by Python's uuid.uuid5 over the same namespace.
    for (name, id) in [
        ("a.b.c", "7a870c4c-6df3-56f6-a60b-e9ee2f955ac1"),
        ("carbon.agents.host.cpuUsage", "36be7b4a-a1bb-5bfc-9a9e-0bbf5251084a"),
        ("é.x", "b3f75357-b581-57e3-ae60-5db4ae902ec5"),
        ("disk;host=a", "73fca0fe-0dc5-586d-9688-7d840dcdf26c"),
    ] {
        assert_eq!(biggraphite_id(name).to_string(), id);
    }
}

/// Carbon's rule for the list of tags, said in the plainest way.
fn model(metric: &str, pairs: &[(String, String)]) -> String {
    let last: BTreeMap<&str, &str> = pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let mut texts: Vec<String> = last.iter().map(|(k, v)| format!(";{k}={v}")).collect();
    texts.sort();
    metric.to_owned() + &texts.concat()
}

proptest! {
    #[test]
    fn doing_it_twice_changes_nothing(raw in r#"[a~.;=k{}",\\!é ]{0,24}"#) {
        if let Ok(once) = canonical(&raw, LIMIT) {
            prop_assert_eq!(&canonical(&once, LIMIT).unwrap(), &once);
            prop_assert!(!once.is_empty());
        }
    }

    #[test]
    fn both_spellings_follow_the_plain_rule(
        pairs in prop::collection::vec(("[a-c.-]{1,2}", r#"[a-c"\\=,{}.]{1,3}"#), 1..5),
    ) {
        let expected = model("m.x", &pairs);
        let semicolons: String = pairs.iter().map(|(k, v)| format!(";{k}={v}")).collect();
        prop_assert_eq!(canon(&format!("m.x{semicolons}")), expected.as_str());
        let quote = |v: &str| v.replace('\\', r"\\").replace('"', "\\\"");
        let braces: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}=\"{}\"", quote(v))).collect();
        prop_assert_eq!(canon(&format!("m.x{{{}}}", braces.join(","))), expected.as_str());
        prop_assert!(is_tagged(&expected));
    }

    #[test]
    fn untagged_names_keep_their_components_in_order(parts in prop::collection::vec("[a-c]{0,2}", 1..8)) {
        let kept: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        match canonical(&parts.join("."), LIMIT) {
            Ok(name) => prop_assert_eq!(name, kept.join(".")),
            Err(error) => {
                prop_assert!(kept.is_empty());
                prop_assert_eq!(Reject::from(&error), Reject::EmptyName);
            }
        }
    }
}

#[test]
fn one_tag_of_a_name() {
    for (name, key, value) in [
        ("cpu;dc=east;host=a", "dc", "east"),
        ("cpu;dc=east;host=a", "host", "a"),
        ("cpu;dc=east;host=a", "name", "cpu"),
        ("cpu;dc=east;host=a", "ost", ""),
        ("cpu;dc=east", "d", ""),
        ("cpu;a=b=c", "a", "b=c"),
        ("cpu", "name", ""),
    ] {
        assert_eq!(tag(name, key), value, "{name} {key}");
    }
}
