//! Examples, and the matcher against a naive one that follows the definition word by word.

use proptest::prelude::*;

use super::*;

fn glob(text: &str) -> Glob {
    Glob::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn matched<'a>(pattern: &str, paths: &[&'a str]) -> Vec<&'a str> {
    let glob = glob(pattern);
    paths.iter().copied().filter(|path| glob.matches(path)).collect()
}

/// The matcher of a pattern with one component.
fn matcher(text: &str) -> Matcher {
    match glob(text).branches()[0].components() {
        [Component::One(matcher)] => matcher.clone(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_star_stays_inside_its_component() {
    let paths = ["a", "a.b", "a.bc", "a.b.c"];
    assert_eq!(matched("*", &paths), ["a"]);
    assert_eq!(matched("a.*", &paths), ["a.b", "a.bc"]);
    assert_eq!(matched("a.?", &paths), ["a.b"]);
    assert_eq!(matched("a.b*c", &paths), ["a.bc"]);
    assert_eq!(matched("A.b", &paths), [""; 0]);
}

#[test]
fn classes() {
    let paths = ["a0", "a1", "a9", "ab", "a-", "a]", "a^", "a!"];
    assert_eq!(matched("a[01]", &paths), ["a0", "a1"]);
    assert_eq!(matched("a[0-9]", &paths), ["a0", "a1", "a9"]);
    assert_eq!(matched("a[!0-9]", &paths), ["ab", "a-", "a]", "a^", "a!"]);
    assert_eq!(matched("a[]b]", &paths), ["ab", "a]"]);
    assert_eq!(matched("a[!]b]", &paths), ["a0", "a1", "a9", "a-", "a^", "a!"]);
    assert_eq!(matched("a[b-]", &paths), ["ab", "a-"]);
    assert_eq!(matched("a[^b]", &paths), ["ab", "a^"], "only ! negates");
    assert_eq!(matched("a[9-0]", &paths), [""; 0], "a backward range is empty");
    assert_eq!(matched("a[{0,1}]", &paths), ["a0", "a1"], "braces go first");
}

#[test]
fn braces_nest_and_may_be_empty() {
    let paths = ["a", "ab", "ac", "abd", "acd", "b"];
    assert_eq!(matched("{a,b}", &paths), ["a", "b"]);
    assert_eq!(matched("a{,b}", &paths), ["a", "ab"]);
    assert_eq!(matched("a{b,{c,x}}{,d}", &paths), ["ab", "ac", "abd", "acd"]);
    assert_eq!(matched("{a?,b}", &paths), ["ab", "ac", "b"]);
    assert_eq!(matched("{a}", &paths), ["a"]);
    assert_eq!(matched("{*,b}", &paths), paths);
}

#[test]
fn braces_may_hold_dots() {
    let paths = ["a.b.d", "c.d", "a.d", "x.b.d"];
    assert_eq!(matched("{a.b,c}.d", &paths), ["a.b.d", "c.d"]);
    assert_eq!(matched("{a.{b,z},{c,x.b}}.d", &paths), ["a.b.d", "c.d", "x.b.d"]);
    assert_eq!(matched("{a,**.b}.d", &paths), ["a.b.d", "a.d", "x.b.d"]);
    assert_eq!(matched("{a.,}{b,c}.d", &["a.b.d", "c.d", "b.d"]), ["a.b.d", "c.d", "b.d"]);
}

#[test]
fn a_globstar_is_any_number_of_components() {
    let paths = ["x", "a", "a.x", "a.b.x", "a.b.c.x", "b.x.y"];
    assert_eq!(matched("**", &paths), paths);
    assert_eq!(matched("**.x", &paths), ["x", "a.x", "a.b.x", "a.b.c.x"]);
    assert_eq!(matched("a.**.x", &paths), ["a.x", "a.b.x", "a.b.c.x"]);
    assert_eq!(matched("a.**", &paths), ["a.x", "a.b.x", "a.b.c.x"]);
    assert_eq!(matched("a.**.**", &paths), ["a.x", "a.b.x", "a.b.c.x"]);
    assert_eq!(matched("**.b.**", &paths), ["a.b.x", "a.b.c.x", "b.x.y"]);
    assert_eq!(matched("a**", &paths), ["a"], "inside a component it is a star");
    assert_eq!(matched("***", &paths), ["x", "a"]);
}

#[test]
fn a_brace_or_bracket_alone_is_a_character() {
    assert_eq!(glob("a{.b").literal(), Some("a{.b"));
    assert_eq!(glob("a}.b{").literal(), Some("a}.b{"));
    assert_eq!(glob("a[.b]").literal(), Some("a[.b]"));
    assert_eq!(glob("a[]").literal(), Some("a[]"));
    assert_eq!(matched("{x{a,b}", &["{xa", "{xb", "x"]), ["{xa", "{xb"]);
}

#[test]
fn a_backslash_takes_the_meaning_away() {
    assert_eq!(glob(r"a\*.\{b,c\}").literal(), Some("a*.{b,c}"));
    assert_eq!(glob(r"a\\b").literal(), Some(r"a\b"));
    assert_eq!(glob(r"a\.b\").literal(), Some("a.b"));
    assert_eq!(matched(r"{a\,b,c}", &["a,b", "c", "a"]), ["a,b", "c"]);
}

#[test]
fn literals_and_empty_components() {
    assert_eq!(glob("a.{b}").literal(), Some("a.b"));
    assert_eq!(glob("a..b.").literal(), Some("a.b"));
    assert_eq!(glob("{}.a").literal(), None);
    assert_eq!(matched("{}.a", &["a", "b.a"]), [""; 0]);
    assert_eq!(matched("a.{,b}", &["a", "a.b"]), ["a.b"]);
    assert!(!glob("a.{b,c}").is_literal());
    assert!(!glob("{a.b,a.b}").is_literal());
    for text in ["", ".", "..", "{.,..}"] {
        assert_eq!(Glob::parse(text).unwrap_err(), GlobError::Empty(text.to_owned()));
    }
}

#[test]
fn the_plan_fits_the_pattern() {
    assert!(matches!(matcher("cpu"), Matcher::Literal(_)));
    assert!(matches!(matcher("*"), Matcher::Any));
    assert!(matches!(matcher("cpu*"), Matcher::Prefix(_)));
    assert!(matches!(matcher("*cpu"), Matcher::Suffix(_)));
    assert!(matches!(matcher("c*u"), Matcher::Wild(_)));
    assert!(matches!(matcher("{mem,cpu,mem}"), Matcher::Set(set) if *set == ["cpu".into(), "mem".into()]));
    assert!(matches!(matcher("{mem*,cpu}"), Matcher::OneOf(_)));
    assert!(matches!(matcher("{mem*,*}"), Matcher::Any));
}

#[test]
fn many_alternatives_with_stars() {
    let choices: Vec<String> = (0..100).map(|i| format!("h{i}-*,*-é{i},[x]{i}")).collect();
    let glob = glob(&format!("{{{},λ?}}", choices.join(",")));
    for path in ["h7-", "h99-abc", "abc-é42", "x5", "λμ"] {
        assert!(glob.matches(path), "{path}");
    }
    for path in ["h100-", "h7", "abc-é420", "y5", "λ", "λμν"] {
        assert!(!glob.matches(path), "{path}");
    }
}

#[test]
fn what_is_too_much_is_refused() {
    let groups = "{a,b}".repeat(40);
    assert!(matches!(Glob::parse(&groups), Err(GlobError::TooManyAlternatives(_))));
    assert!(matches!(Glob::parse(&"{a.b,c}".repeat(40)), Err(GlobError::TooManyAlternatives(_))));
    assert!(matches!(Glob::parse(&"{,}".repeat(60)), Err(GlobError::TooManyAlternatives(_))));
    assert!(Glob::parse(&["a"; 63].join(".")).is_ok());
    assert!(matches!(Glob::parse(&["a"; 64].join(".")), Err(GlobError::TooDeep(_))));
    assert!(matches!(Glob::parse(&["**", "*"].repeat(50).join(".")), Err(GlobError::TooDeep(_))));
    assert_eq!(Glob::parse(&"a".repeat(300_000)).unwrap_err(), GlobError::TooLong { bytes: 300_000 });
    let text = Glob::parse(&groups).unwrap_err().to_string();
    assert!(text.contains("{a,b}") && text.len() < 300, "{text}");
}

#[test]
fn deep_nesting_is_no_trap() {
    let deep = format!("{}a.b{}", "{".repeat(100_000), "}".repeat(100_000));
    assert!(matches!(Glob::parse(&deep), Err(GlobError::TooManyAlternatives(_))));
    assert!(Glob::parse(&"{".repeat(200_000)).unwrap().is_literal());
    assert!(Glob::parse(&"[".repeat(200_000)).unwrap().is_literal());
}

/// The definition, in the open: expand all braces of the text, split at dots, try everything.
mod naive {
    pub(super) fn matches(pattern: &str, path: &str) -> bool {
        let path: Vec<Vec<char>> = path.split('.').map(|part| part.chars().collect()).collect();
        expand(pattern).iter().any(|flat| {
            let parts: Vec<&str> = flat.split('.').filter(|part| !part.is_empty()).collect();
            !parts.is_empty() && path_matches(&parts, &path)
        })
    }

    /// The last `{` that has a `}` after it belongs to the first such `}`.
    fn expand(pattern: &str) -> Vec<String> {
        let Some((open, close)) = pattern
            .char_indices()
            .rev()
            .filter(|(_, c)| *c == '{')
            .find_map(|(open, _)| pattern[open..].find('}').map(|len| (open, open + len)))
        else {
            return vec![pattern.to_owned()];
        };
        let choices = pattern[open + 1..close].split(',');
        choices.flat_map(|c| expand(&format!("{}{}{}", &pattern[..open], c, &pattern[close + 1..]))).collect()
    }

    fn path_matches(parts: &[&str], path: &[Vec<char>]) -> bool {
        match (parts, path) {
            ([], _) => path.is_empty(),
            (["**"], _) => !path.is_empty(),
            (["**", rest @ ..], _) => (0..=path.len()).any(|skip| path_matches(rest, &path[skip..])),
            ([part, rest @ ..], [text, below @ ..]) => {
                let part: Vec<char> = part.chars().collect();
                text_matches(&part, text) && path_matches(rest, below)
            }
            (_, []) => false,
        }
    }

    pub(super) fn text_matches(part: &[char], text: &[char]) -> bool {
        match part {
            [] => text.is_empty(),
            ['*', rest @ ..] => (0..=text.len()).any(|skip| text_matches(rest, &text[skip..])),
            ['?', rest @ ..] => !text.is_empty() && text_matches(rest, &text[1..]),
            ['[', rest @ ..] if class_len(rest).is_some() => {
                let len = class_len(rest).unwrap_or_default();
                !text.is_empty()
                    && in_class(&rest[..len], text[0])
                    && text_matches(&rest[len + 1..], &text[1..])
            }
            [char, rest @ ..] => text.first() == Some(char) && text_matches(rest, &text[1..]),
        }
    }

    fn class_len(rest: &[char]) -> Option<usize> {
        let first = usize::from(rest.first() == Some(&'!')) + 1;
        (first..rest.len()).find(|&i| rest[i] == ']')
    }

    fn in_class(class: &[char], char: char) -> bool {
        match class {
            ['!', members @ ..] => !in_members(members, char),
            members => in_members(members, char),
        }
    }

    fn in_members(members: &[char], char: char) -> bool {
        match members {
            [] => false,
            [low, '-', high, rest @ ..] => (*low <= char && char <= *high) || in_members(rest, char),
            [one, rest @ ..] => *one == char || in_members(rest, char),
        }
    }
}

#[test]
fn it_is_known_how_matching_texts_begin() {
    let starts = |pattern: &str| format!("{:?}", matcher(pattern).starts());
    assert_eq!(starts("cpu"), r#"[Whole("cpu")]"#);
    assert_eq!(starts("cpu*"), r#"[Prefix("cpu")]"#);
    assert_eq!(starts("cp[ux]*"), r#"[Prefix("cp")]"#);
    assert_eq!(starts("*cpu"), r#"[Prefix("")]"#);
    assert_eq!(starts("?"), r#"[Prefix("")]"#);
    assert_eq!(starts("{cpu,mem}"), r#"[Whole("cpu"), Whole("mem")]"#);
    assert_eq!(starts("{cpu,m?m,d*}"), r#"[Whole("cpu"), Prefix("m"), Prefix("d")]"#);
    assert_eq!(starts("{a*,b*,c*,d*,e*,f*,g*,h*,i*}"), r#"[Prefix("")]"#);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_naive_matcher(
        pattern in "([abé*?,.]|\\*\\*|\\.|\\[!?[a-c]-?[abé]*\\]|[\\[\\]{}!-]|\\{[ab*.]{0,3},[ab?.]{0,2}\\}){1,9}",
        paths in prop::collection::vec("[abé]{1,3}(\\.[abé]{1,2}){0,3}", 12),
    ) {
        // The naive expansion forgets that an empty alternative was there.
        prop_assume!(!["{,", ",,", ",}", "{}"].iter().any(|empty| pattern.contains(empty)));
        let glob = Glob::parse(&pattern);
        prop_assume!(glob.is_ok(), "what is no glob matches nothing");
        let glob = glob.unwrap();
        for path in &paths {
            prop_assert_eq!(glob.matches(path), naive::matches(&pattern, path), "{} on {}", pattern, path);
        }
    }

    #[test]
    fn one_component_agrees_with_the_naive_matcher(
        pattern in "[ab*?]{1,12}",
        texts in prop::collection::vec("[ab]{0,12}", 20),
    ) {
        prop_assume!(pattern != "**");
        let matcher = matcher(&pattern);
        let chars: Vec<char> = pattern.chars().collect();
        for text in &texts {
            let naive = naive::text_matches(&chars, &text.chars().collect::<Vec<_>>());
            prop_assert_eq!(matcher.matches(text), naive, "{} on {}", pattern, text);
            let begins = |start: &Start<'_>| match start {
                Start::Whole(whole) => text == whole,
                Start::Prefix(prefix) => text.starts_with(prefix),
            };
            prop_assert!(!naive || matcher.starts().iter().any(begins), "{} on {}", pattern, text);
        }
    }

    #[test]
    fn a_literal_matches_itself_alone(text in "[a-c{}\\[\\]*?,!.\\\\-]{1,12}", other in "[a-c.]{1,5}") {
        let glob = Glob::parse(&text);
        prop_assume!(glob.is_ok(), "what is no glob matches nothing");
        let glob = glob.unwrap();
        if let Some(literal) = glob.literal() {
            prop_assert!(glob.matches(literal));
            prop_assert!(other == literal || !glob.matches(&other));
        }
    }

    #[test]
    fn any_text_parses_or_is_refused(text in "\\PC{0,60}", path in "\\PC{0,20}") {
        if let Ok(glob) = Glob::parse(&text) {
            glob.matches(&path);
        }
    }
}
