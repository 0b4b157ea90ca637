use proptest::prelude::*;

use super::*;

fn path(text: &str) -> Expr {
    Expr::Path(text.to_owned())
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Call(Call { name: name.to_owned(), args, kwargs: Vec::new() })
}

fn literals(list: &str) -> Vec<Literal> {
    let Expr::Call(call) = parse(&format!("f({list})")).unwrap() else { panic!("{list}") };
    call.args
        .into_iter()
        .map(|arg| match arg {
            Expr::Literal(literal) => literal,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn paths_hold_wildcards_braces_tags_and_escapes() {
    for text in [
        "a.b.c",
        "a.*.c?",
        "a.[a-z]x.{b,c}d{e,f}",
        "a.{b,{c,d}}",
        "a.{b,}",
        "m.cpu;dc=east;host=a",
        "10.0.0.1",
        "$x.#A",
        "größe.µ",
    ] {
        assert_eq!(parse(text), Ok(path(text)));
    }
    assert_eq!(parse(r"a\.b\(c\)\=d\,\|"), Ok(path("a.b(c)=d,|")));
    assert_eq!(parse("  a.b \n"), Ok(path("a.b")));
    assert_eq!(parse(r"a.\{b\}.c\\d.{e\,f,g}"), Ok(path(r"a.\{b\}.c\\d.{e\,f,g}")));
    assert_eq!(parse(r"a.x\[1\].\*\?"), Ok(path(r"a.x\[1\].\*\?")));
    assert_eq!(first_path(r"scale(a.\{b\}.c\\d,2)").as_deref(), Some(r"a.{b}.c\d"));
}

#[test]
fn numbers_are_numbers_only_when_the_argument_ends_there() {
    use Literal::{Float, Int};
    assert_eq!(
        literals("1, -2 ,3.50,-1e3,1.5E-2, 99999999999999999999"),
        [Int(1), Int(-2), Float(3.5), Float(-1000.0), Float(0.015), Float(1e20)]
    );
    for word in ["1min", "10.0.0.1", "1e+3", "-x", "1e", "+2"] {
        assert_eq!(parse(&format!("f({word})")), Ok(call("f", vec![path(word)])));
    }
    assert_eq!(parse("10"), Ok(path("10")));
}

#[test]
fn words_ignore_case_and_may_begin_a_path() {
    use Literal::{Bool, Float};
    assert_eq!(
        literals("true,FALSE,None,inf"),
        [Bool(true), Bool(false), Literal::None, Float(f64::INFINITY)]
    );
    assert_eq!(parse("f(true.x, information)"), Ok(call("f", vec![path("true.x"), path("information")])));
}

#[test]
fn strings_keep_what_is_between_the_quotes() {
    let text = |s: &str| Literal::Text(s.to_owned());
    assert_eq!(
        literals(r#""a b", 'it"s', "(^.*$)", "\1 A", "a\"b", "", 'a''b', "ü""#),
        [
            text("a b"),
            text("it\"s"),
            text("(^.*$)"),
            text(r"\1 A"),
            text(r#"a\"b"#),
            text(""),
            text("a''b"),
            text("ü")
        ]
    );
}

#[test]
fn calls_nest_and_take_keywords_last() {
    let mut inner = Call { name: "scale".into(), args: vec![path("a.b")], kwargs: Vec::new() };
    inner.kwargs.push(("factor".into(), Expr::Literal(Literal::Int(2))));
    assert_eq!(
        parse("sumSeries ( scale( a.b , factor = 2 ) , c.*)"),
        Ok(call("sumSeries", vec![Expr::Call(inner), path("c.*")]))
    );
    assert_eq!(parse("f()"), Ok(call("f", vec![])));
    assert!(parse("f(k=1, a)").unwrap_err().to_string().contains("positional ones come first"));
}

#[test]
fn a_pipe_is_a_call_around_what_stands_before_it() {
    assert_eq!(parse("a.b | scale(2)|f()"), parse("f(scale(a.b,2))"));
    assert_eq!(parse("g(a|f(1), b)"), parse("g(f(a,1),b)"));
    assert!(parse("a|b").unwrap_err().to_string().contains("a function call after `|`"));
}

#[test]
fn series_by_tag_is_kept_as_text() {
    let text = r#"seriesByTag('name=x', "dc=~e.*")"#;
    let conditions = vec!["name=x".to_owned(), "dc=~e.*".to_owned()];
    let tagged = Expr::Tagged(Tagged { text: text.to_owned(), conditions });
    assert_eq!(parse(text), Ok(tagged.clone()));
    assert_eq!(parse(&format!("f( {text} )")), Ok(call("f", vec![tagged])));
}

#[test]
fn templates_take_strings_and_numbers() {
    let Expr::Template(template) = parse(r#"template(f(a.$1), "x", 5)"#).unwrap() else { panic!() };
    assert_eq!(template.values, [("1".into(), Literal::Text("x".into())), ("2".into(), Literal::Int(5))]);
    let Expr::Template(template) = parse("template(a.$h, h='x')").unwrap() else { panic!() };
    assert_eq!((*template.body, template.values.len()), (path("a.$h"), 1));
    assert!(parse("template(a, b.c)").unwrap_err().to_string().contains("invalid template() syntax"));
}

#[test]
fn errors_say_where_and_what() {
    for (text, at, expected, found) in [
        ("", 1, "a path or a function call", "the end"),
        ("scale(x", 8, "`,` or `)`", "the end"),
        ("f(x) y", 6, "the end of the target", "`y`"),
        ("f(a,,b)", 5, "a path or a function call", "`,b)`"),
        ("a.b)", 4, "the end of the target", "`)`"),
        ("a..b", 3, "a path node after `.`", "`.b`"),
        ("a.{b.c}", 5, "`,` or `}` in the braces of a path", "`.c}`"),
        ("f(ä, \"x)", 6, "a string that ends with the quote it began with", "`\"x)`"),
        ("a b", 3, "the end of the target", "`b`"),
    ] {
        let error = GrammarError::Unexpected { at, expected, found: found.to_owned() };
        assert_eq!(parse(text), Err(error), "{text}");
    }
}

#[test]
fn hostile_depth_and_length_are_refused() {
    let nested = |n: usize| format!("{}a{}", "f(".repeat(n), ")".repeat(n));
    assert!(parse(&nested(MAX_DEPTH - 1)).is_ok());
    assert_eq!(parse(&nested(200_000)), Err(GrammarError::Depth));
    assert_eq!(parse(&format!("a{}", "|f()".repeat(200_000))), Err(GrammarError::Depth));
    assert_eq!(parse(&format!("a{}", "|f(b|g(c|h()))".repeat(99))), Err(GrammarError::Depth));
    assert!(matches!(parse(&"{".repeat(500_000)), Err(GrammarError::Unexpected { .. })));
    assert!(matches!(parse(&"a".repeat(MAX_BYTES + 1)), Err(GrammarError::Length(_))));
    assert_eq!(first_path(&"f(".repeat(200_000)), None);
}

#[test]
fn the_first_path_of_a_name() {
    for (name, expected) in [
        ("a.b.c", Some("a.b.c")),
        ("scale(a.b.c,2)", Some("a.b.c")),
        ("asPercent(a.x,sumSeries(a.*))", Some("a.x")),
        ("timeShift(summarize(a;k=v, \"1h\", \"sum\"), \"-1h\")", Some("a;k=v")),
        ("My name (host)", Some("My")),
        ("scale(a.b.c,2", Some("scale")),
        ("f(1)", None),
        ("f()", None),
        ("(x)", None),
        ("a.b.(x)", Some("a.b")),
        ("f(a|, b)", Some("f")),
    ] {
        assert_eq!(first_path(name).as_deref(), expected, "{name}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in r#"[a-c.*{}(),|"'\\= 1e$t-]{0,40}"#) {
        let _ = parse(&text);
        let _ = first_path(&text);
    }

    #[test]
    fn a_readable_target_has_the_same_first_path_either_way(text in "[a-c]{1,3}(\\.[a-c*]{1,3}){0,3}") {
        prop_assert_eq!(first_path(&format!("f(g({text},1),2)")), Some(text));
    }
}
