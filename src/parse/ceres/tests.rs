use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits {
    now: 1_600_000_000,
    max_future_secs: 3600,
    keep_infinite: true,
    max_line_bytes: 1000,
    max_name_bytes: 200,
};

/// An item without the text that it was read from.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    tenant: Option<String>,
    series: Result<String, Reject>,
    minimum: Result<String, Reject>,
    point: Point,
}

/// All items of a body, with what is wrong with the others.
fn all(body: &[u8]) -> (Vec<Result<Kept, String>>, End) {
    let mut items = Vec::new();
    let end = read(body, &LIMITS, &mut |place, item| {
        assert_eq!(place, items.len());
        let kept = |item: Item<'_>| Kept {
            tenant: item.tenant.as_deref().map(str::to_owned),
            series: item.series("", &LIMITS),
            minimum: item.series("_min", &LIMITS),
            point: item.point,
        };
        items.push(item.map(kept).map_err(|error| error.message));
        ControlFlow::Continue(())
    });
    (items, end)
}

fn one(body: &str) -> Result<Kept, String> {
    let (mut items, end) = all(body.as_bytes());
    end.broken.map_or_else(|| items.remove(0), Err)
}

#[test]
fn the_item_of_the_readme_is_a_point() {
    let item = one(
        r#"{"tenant":"t-1","metricName":"cpu_idle","tags":{"os":"linux","host":"h-1","deployment":"prod"},"ts":1598226796,"value":491}"#,
    )
    .unwrap();
    assert_eq!(item.tenant.as_deref(), Some("t-1"));
    assert_eq!(item.series.unwrap(), "cpu_idle;deployment=prod;host=h-1;os=linux");
    assert_eq!(item.minimum.unwrap(), "cpu_idle_min;deployment=prod;host=h-1;os=linux");
    assert_eq!(item.point, Point { timestamp: 1_598_226_796, value: 491.0 });
}

#[test]
fn times_and_values_come_in_several_forms() {
    let with = |ts: &str, value: &str| {
        one(&format!(r#"{{"metricName":"m","tags":{{"a":1}},"ts":{ts},"value":{value}}}"#)).map(|i| i.point)
    };
    let point = |timestamp, value| Ok(Point { timestamp, value });
    assert_eq!(with("12.9", "1"), point(12, 1.0));
    assert_eq!(with("\"2020-08-24T00:13:16.999Z\"", "\"1.5\""), point(1_598_227_996, 1.5));
    assert_eq!(with("\"17\"", "-0.5"), point(17, -0.5));
    for (ts, value, part) in [
        ("-1", "1", "ts must"),
        ("\"yesterday\"", "1", "ts must"),
        ("null", "1", "ts must"),
        ("1600003601", "1", "in the future"),
        ("1", "null", "value must"),
        ("1", "true", "value must"),
        ("1", "[1]", "value must"),
        ("1", "\"NaN\"", "NaN is not taken"),
    ] {
        assert!(with(ts, value).unwrap_err().contains(part), "{ts} {value}");
    }
}

#[test]
fn what_is_no_point_is_refused_item_by_item() {
    let good = r#"{"metricName":"m","tags":{"a":"b"},"ts":1,"value":1}"#;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_value = format!(r#"{{"metricName":"m","tags":{{"a":"b"}},"ts":1,"value":{deep}}}"#);
    for (item, part) in [
        (r#"{"tags":{"a":"b"},"ts":1,"value":1}"#, "metricName"),
        (r#"{"metricName":" ","tags":{"a":"b"},"ts":1,"value":1}"#, "metricName"),
        (r#"{"metricName":{},"tags":{"a":"b"},"ts":1,"value":1}"#, "metricName must be text"),
        (r#"{"metricName":"m","tags":{},"ts":1,"value":1}"#, "tags"),
        (r#"{"metricName":"m","tags":["a"],"ts":1,"value":1}"#, "tags must be an object"),
        (r#"{"metricName":"m","ts":1,"value":1}"#, "tags"),
        (r#"{"metricName":"m","tags":{"a":""},"ts":1,"value":1}"#, "`a`"),
        (r#"{"metricName":"m","tags":{"a":[]},"ts":1,"value":1}"#, "`a`"),
        (r#"{"tenant":"","metricName":"m","tags":{"a":"b"},"ts":1,"value":1}"#, "tenant"),
        ("5", "object"),
        ("null", "object"),
        ("[]", "object"),
        (&deep, "object"),
        (&deep_value, "value must be a number"),
    ] {
        let (items, end) = all(format!("[{good},{item},{good}]").as_bytes());
        assert_eq!((items.len(), end), (3, End { is_array: true, broken: None }), "{part}");
        assert!(items[0].is_ok() && items[2].is_ok(), "{part}");
        let error = items[1].clone().unwrap_err();
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(one("5").is_err() && one("").is_err() && one("{").is_err() && one("[").is_err());
}

#[test]
fn what_came_before_a_break_is_taken() {
    let good = r#"{"metricName":"m","tags":{"a":"b"},"ts":1,"value":1}"#;
    for (body, taken) in [
        (format!("[{good},{good}"), 2),
        (format!("[{good},{{\"metricName\" 5}}]"), 1),
        (format!("{good} x"), 1),
        (format!("x{good}"), 0),
    ] {
        let (items, end) = all(body.as_bytes());
        assert!(items.len() == taken && items.iter().all(Result::is_ok), "{body}: {items:?}");
        assert!(end.broken.is_some(), "{body}");
    }
    let mut seen = 0;
    let end = read(format!("[{good},{good},{good}]").as_bytes(), &LIMITS, &mut |place, _| {
        seen += 1;
        if place == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((seen, end.broken), (2, None), "who takes them may stop");
}

#[test]
fn long_names_are_refused_with_their_suffix() {
    let with = |metric: usize| {
        one(&format!(r#"{{"metricName":"{}","tags":{{"a":"b"}},"ts":1,"value":1}}"#, "m".repeat(metric)))
            .unwrap()
    };
    assert!(with(192).minimum.is_ok());
    let item = with(196);
    assert_eq!((item.series.unwrap().len(), item.minimum), (200, Err(Reject::NameTooLong)));
    assert_eq!(with(10_000_000).series, Err(Reject::NameTooLong));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = all(&bytes);
    }
}
