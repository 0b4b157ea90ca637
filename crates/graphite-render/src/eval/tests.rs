use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::functions::registry::registry;
use crate::source::{FetchRequest, Fetched};
use crate::testing::*;
use plumbago_model::QueryError;

fn store() -> Memory {
    Memory::new().with("a", 60, &[1.0; 4]).with("b", 60, &[2.0; 4])
}

#[test]
fn targets_keep_their_order_and_share_one_fetch() {
    let store = store();
    let got = store.run_all(&["b", " ", "sumSeries(a,b)", "", "a|alias('x')", "b"]);
    assert_eq!(names(&got), ["b", "sumSeries(a,b)", "x", "b"]);
    assert_eq!((store.batches(), store.windows().len()), (1, 2));
    assert!(store.run_all(&[]).is_empty());
    assert_eq!(store.batches(), 1, "nothing to fetch, nothing asked");
}

#[test]
fn what_the_plan_cannot_know_is_fetched_in_one_batch_later() {
    let store = store().over(600, 900);
    store.run("movingAverage(sumSeries(a,b),2)");
    assert_eq!(store.windows(), [(600, 900), (600, 900), (480, 900), (480, 900)]);
    assert_eq!(store.batches(), 2);
}

#[test]
fn a_mistake_in_the_last_target_costs_no_fetch() {
    let store = store();
    let targets = ["a".to_owned(), "bogus(b)".to_owned()];
    let request = Request::new(0, 240, 240);
    let error = render(&targets, &request, &store, &Cancel::never()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid parameters (Received request for unknown function: bogus); targets: \"a, bogus(b)\""
    );
    assert_eq!(store.batches(), 0);
    assert!(store.error("sumSerie(a)").contains("unknown function: sumSerie; did you mean `sumSeries`?)"));
    assert!(store.error("Scale(a,2)").contains("did you mean `scale`?"));
    assert!(store.error("scale(a").starts_with("Invalid parameters (cannot read the target at character 8"));
    assert!(store.error("alias('a','b')").contains("Invalid \"seriesList\" value"));
    assert!(store.error("template($1,'a')").contains("series are expected, but `'a'` is not"));
}

#[test]
fn targets_that_cannot_be_read_do_not_hide_the_others() {
    let run = |targets: &[&str]| {
        let targets: Vec<String> = targets.iter().map(|target| (*target).to_owned()).collect();
        render_readable(&targets, &Request::new(0, 240, 240), &store(), &Cancel::never())
    };
    let got = run(&["scale(a", "b", "alias(a,'y'))", "a"]).unwrap();
    assert_eq!(names(&got.series), ["b", "a"]);
    let broken: Vec<&str> = got.broken.iter().map(|one| one.target.as_str()).collect();
    assert_eq!(broken, ["scale(a", "alias(a,'y'))"]);
    assert!(got.broken[1].reason.to_string().contains("at character 13: expected the end"));
    assert!(run(&["a", " "]).unwrap().broken.is_empty());
    for refused in [&["scale(a", "alias(a,'y'))"][..], &["a", "bogus(a)"], &["a", "template(a,b)"]] {
        assert!(matches!(
            run(refused),
            Err(RenderError::Invalid { .. } | RenderError::UnknownFunction { .. })
        ));
    }
}

#[test]
fn series_that_are_changed_are_not_those_that_were_fetched() {
    let got = store().run_all(&["scale(a,2)", "a", "offset(scale(a,2),1)"]);
    assert_eq!((got[0].values[0], got[1].values[0], got[2].values[0]), (2.0, 1.0, 3.0));
    assert_eq!((tags(&got[1]).as_str(), tags(&got[2]).as_str()), ("name=a", "name=a scale=2.0 offset=1.0"));
}

#[test]
fn the_request_decides_template_values_and_x_files_factor() {
    let mut request = Request::new(0, 240, 240);
    request.template.insert("m".into(), "b".into());
    request.x_files_factor = 0.5;
    let run =
        |target: &str| render(&[target.to_owned()], &request, &store(), &Cancel::never()).unwrap().remove(0);
    assert_eq!(&*run("template(scale({$m},$1),2)").name, "scale(b,2)");
    assert_eq!((run("a").x_files_factor, run("sumSeries(a)").x_files_factor), (0.5, 0.5));
    // A window that is evaluated again knows the values, too.
    assert_eq!(&*run("template(movingAverage({$m},'1min'))").name, "movingAverage(b,\"1min\")");
}

#[test]
fn nobody_works_for_a_client_that_left() {
    let request = Request::new(0, 240, 240);
    let targets = ["scale(a,2)".to_owned()];
    let gone = Cancel::never();
    gone.cancel();
    assert!(matches!(
        render(&targets, &request, &store(), &gone),
        Err(RenderError::Query(QueryError::Abandoned))
    ));
    let late = Cancel::at(Instant::now());
    assert!(matches!(
        render(&targets, &request, &store(), &late),
        Err(RenderError::Query(QueryError::Deadline))
    ));
}

struct Failing(fn() -> QueryError);

impl Source for Failing {
    fn fetch(&self, _: &[FetchRequest], _: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError> {
        Err((self.0)())
    }
}

#[test]
fn failures_of_the_source_keep_their_kind() {
    let fail = |error: fn() -> QueryError| {
        let request = Request::new(0, 240, 240);
        render(&["a".to_owned()], &request, &Failing(error), &Cancel::never()).unwrap_err()
    };
    let disk = fail(|| QueryError::Store("disk".into()));
    assert!(matches!(&disk, RenderError::Query(QueryError::Store(cause)) if cause.to_string() == "disk"));
    assert_eq!(disk.to_string(), "reading the store failed: disk");
    let max = fail(|| QueryError::Limit("max".into()));
    assert!(matches!(max, RenderError::Query(QueryError::Limit(text)) if text == "max"));
    assert!(matches!(fail(|| QueryError::Deadline), RenderError::Query(QueryError::Deadline)));
    assert!(matches!(fail(|| QueryError::Abandoned), RenderError::Query(QueryError::Abandoned)));
    assert!(matches!(fail(|| QueryError::Invalid("glob".into())), RenderError::Invalid { .. }));
}

/// Targets of known functions with arguments that may or may not fit.
fn any_target() -> impl Strategy<Value = String> {
    let functions: Vec<&'static str> = registry().iter().map(|row| row.name).collect();
    let literals = [
        "1",
        "-1",
        "0",
        "2.5",
        "inf",
        "true",
        "none",
        "'1min'",
        "'-90s'",
        "'sum'",
        "'max'",
        "'scale'",
        "''",
        "'(b)'",
        "'>'",
        "xFilesFactor=0.5",
        "n=3",
    ];
    let leaf = prop_oneof![
        Just("a".to_owned()),
        Just("*".to_owned()),
        Just("fine".to_owned()),
        Just("x".to_owned())
    ];
    leaf.prop_recursive(4, 12, 3, move |inner| {
        let argument = prop_oneof![1 => inner.clone(), 2 => proptest::sample::select(literals.to_vec()).prop_map(String::from)];
        (proptest::sample::select(functions.clone()), inner, proptest::collection::vec(argument, 0..3))
            .prop_map(|(function, first, rest)| format!("{function}({})", [vec![first], rest].concat().join(",")))
    })
}

proptest! {
    #[test]
    fn any_call_gives_series_or_an_error(target in any_target()) {
        let store = store().with("fine", 15, &[1.0, N, 3.0, -4.0, 0.0]).limited(10_000);
        let request = Request { max_points: 10_000, ..Request::new(0, 240, 240) };
        if let Ok(series) = render(&[target], &request, &store, &Cancel::never()) {
            for s in series {
                prop_assert!(s.step > 0);
            }
        }
    }
}
