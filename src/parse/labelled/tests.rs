use std::ops::ControlFlow;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::parse::labelled::{datapoints, put, telnet};
use plumbago_model::Point;

const LIMITS: Limits = Limits {
    now: 1_700_000_000,
    max_future_secs: 60,
    keep_infinite: true,
    max_line_bytes: 1024,
    max_name_bytes: 200,
};

type Read = fn(&[u8], &Limits, &mut Faults, &mut Take<'_>) -> End;

/// Names with seconds, values and how long to keep them; and the errors.
type Seen = (Vec<(String, u32, f64, u32)>, Vec<String>, End);

fn seen(read: Read, body: &[u8]) -> Seen {
    let mut points = Vec::new();
    let mut faults = Faults::new(10);
    let end = read(body, &LIMITS, &mut faults, &mut |gathered, _| {
        let batch = gathered.batch();
        let keep = batch.arrival.keep_secs;
        points.extend(
            batch
                .entries
                .iter()
                .map(|(name, Point { timestamp, value })| ((*name).to_owned(), *timestamp, *value, keep)),
        );
        ControlFlow::Continue(())
    });
    (points, faults.into_errors(), end)
}

fn kairosdb(body: &Json) -> Seen {
    seen(datapoints::read, body.to_string().as_bytes())
}

fn point(name: &str, timestamp: u32, value: f64) -> (String, u32, f64, u32) {
    (name.to_owned(), timestamp, value, 0)
}

#[test]
fn an_item_has_one_point_or_a_list_or_both() {
    let tags = json!({"host": "a", "dc": "x"});
    let name = "m;dc=x;host=a";
    let one = json!({"name": "m", "tags": tags, "timestamp": 1_500_000_000_999_i64, "value": 1});
    assert_eq!(kairosdb(&one), (vec![point(name, 1_500_000_000, 1.0)], vec![], End::Complete));
    let list = json!({"name": "m", "tags": tags, "datapoints": [[1000, 2], ["2000", "3.5", "double"], [3000, 1e3, "long"]]});
    let points = vec![point(name, 1, 2.0), point(name, 2, 3.5), point(name, 3, 1000.0)];
    assert_eq!(kairosdb(&list), (points, vec![], End::Complete));
    let both = json!([
        {"tags": tags, "value": "7", "time": 5000, "timestamp": 1, "datapoints": [[6000, -1]], "type": "long", "name": "m", "skip_validate": true},
        {"name": "n", "tags": {"k": 5}, "time": 1000, "value": 0.5, "ttl": 60},
    ]);
    let mut points = vec![point(name, 5, 7.0), point(name, 6, -1.0), point("n;k=5", 1, 0.5)];
    points[2].3 = 60;
    assert_eq!(kairosdb(&both), (points, vec![], End::Complete));
}

#[test]
fn errors_name_the_item_and_good_items_are_taken() {
    let good = json!({"name": "good", "tags": {"a": "b"}, "timestamp": 1000, "value": 1});
    let tags = json!({"a": "b"});
    let cases = [
        (json!({"tags": tags, "timestamp": 1, "value": 1}), "metric[0].name may not be null."),
        (json!({"name": "", "tags": tags, "timestamp": 1, "value": 1}), "metric[0].name may not be empty."),
        (
            json!({"name": "X", "timestamp": 1, "value": 1}),
            "metric[0](name=X).tags count must be greater than or equal to 1.",
        ),
        (
            json!({"name": "X", "tags": {}, "timestamp": 1, "value": 1}),
            "metric[0](name=X).tags count must be greater than or equal to 1.",
        ),
        (
            json!({"name": "X", "tags": {"foo": ""}, "timestamp": 1, "value": 1}),
            "metric[0](name=X).tag[foo].value may not be empty.",
        ),
        (
            json!({"name": "X", "tags": {"": "v"}, "timestamp": 1, "value": 1}),
            "metric[0](name=X).tag[].name may not be empty.",
        ),
        (
            json!({"name": "X", "tags": tags, "timestamp": 1, "value": ""}),
            "metric[0](name=X).value cannot be null or empty.",
        ),
        (
            json!({"name": "X", "tags": tags, "timestamp": 1}),
            "metric[0](name=X).value cannot be null or empty.",
        ),
        (
            json!({"name": "X", "tags": tags, "value": 1}),
            "metric[0](name=X).timestamp cannot be null or empty.",
        ),
        (
            json!({"name": "X", "tags": tags, "timestamp": 1, "value": {"a": 1}}),
            "metric[0](name=X) value is an invalid type",
        ),
        (
            json!({"name": "X", "tags": tags, "timestamp": 1, "value": 1, "type": "odd"}),
            "metric[0](name=X) Unregistered data point type 'odd'",
        ),
        (
            json!({"name": "X", "tags": tags, "timestamp": 1, "value": "up"}),
            "metric[0](name=X).value is no number; only the types long and double are kept",
        ),
        (
            json!({"name": "X", "tags": tags, "datapoints": [[1, 1, "string"]]}),
            "metric[0](name=X).datapoints[0].value is no number; only the types long and double are kept",
        ),
        (
            json!({"name": "X", "tags": tags, "datapoints": 5}),
            "metric[0](name=X).datapoints must be a list of [timestamp, value]",
        ),
        (
            json!({"name": "X", "tags": tags, "timestamp": -1, "value": 1}),
            "metric[0](name=X) has a timestamp before 1970",
        ),
        (
            json!({"name": "X", "tags": tags, "timestamp": 1_800_000_000_000_i64, "value": 1}),
            "metric[0](name=X) has a timestamp further in the future than ingest.max_future allows",
        ),
        (
            json!({"name": "X".repeat(201), "tags": tags, "timestamp": 1, "value": 1}),
            "longer than ingest.max_name_bytes allows",
        ),
        (json!(5), "metric[0] must be an object"),
        (json!([]), "metric[0] must be an object"),
        (json!(null), "metric[0] must be an object"),
    ];
    for (bad, text) in cases {
        let (points, errors, end) = kairosdb(&json!([bad, good]));
        assert_eq!((points, end), (vec![point("good;a=b", 1, 1.0)], End::Complete), "{bad}");
        assert!(errors.len() == 1 && errors[0].contains(text), "{bad}: {errors:?}");
    }
    let some =
        json!({"name": "X", "tags": tags, "datapoints": [[1000, 1], [2000, ""], [3000, 3], [null, 1]]});
    let (points, errors, _) = kairosdb(&some);
    assert_eq!(points, [point("X;a=b", 1, 1.0), point("X;a=b", 3, 3.0)]);
    assert_eq!(
        errors,
        [
            "metric[0](name=X).datapoints[1].value cannot be null or empty.",
            "metric[0](name=X).datapoints[3].timestamp cannot be null or empty."
        ]
    );
}

#[test]
fn what_is_no_json_is_an_error_and_what_came_before_is_taken() {
    let good = r#"{"name":"m","tags":{"a":"b"},"timestamp":1000,"value":1}"#;
    for (body, taken, text) in [
        ("".to_owned(), 0, "Invalid json. No content due to end of input."),
        ("  \n".to_owned(), 0, "Invalid json. No content due to end of input."),
        ("good".to_owned(), 0, "Invalid start of json."),
        (format!("[{good},"), 1, "Invalid json. EOF while parsing"),
        (format!("[{good},{{\"name\":\"x\" 5}}]"), 1, "Invalid json. expected `,` or `}`"),
        (format!("{good} x"), 1, "Invalid json. trailing characters"),
    ] {
        let (points, errors, end) = seen(datapoints::read, body.as_bytes());
        assert_eq!((points.len(), end), (taken, End::Broken), "{errors:?}");
        assert!(errors[0].contains(text), "{text}: {errors:?}");
    }
}

#[test]
fn deep_nesting_is_an_error_of_its_item() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let good = r#"{"name":"m","tags":{"a":"b"},"timestamp":1000,"value":1}"#;
    let odd = format!(r#"{{"name":"x","tags":{{"a":"b"}},"timestamp":1,"value":{deep}}}"#);
    let (points, errors, end) = seen(datapoints::read, format!("[{good},{odd},{deep},{good}]").as_bytes());
    assert_eq!((points.len(), end), (2, End::Complete));
    assert_eq!(errors, ["metric[1](name=x) value is an invalid type", "metric[2] must be an object"]);
    let good = r#"{"metric":"m","tags":{"a":"b"},"timestamp":1000,"value":1}"#;
    let odd = format!(r#"{{"metric":"x","tags":{{"a":{deep}}},"timestamp":1,"value":1,"more":{deep}}}"#);
    let (points, errors, end) = seen(put::read, format!("[{good},{odd},{deep},{good}]").as_bytes());
    assert_eq!((points.len(), end), (2, End::Complete));
    assert_eq!(errors, ["[1]: Missing tags", "[2]: must be an object"]);
}

#[test]
fn a_long_body_is_taken_in_batches_and_can_be_stopped() {
    let points: Vec<_> = (0..25_000).map(|n| json!([n * 1000, n])).collect();
    let body = json!({"name": "m", "tags": {"a": "b"}, "datapoints": points}).to_string();
    let mut sizes = Vec::new();
    let mut faults = Faults::new(10);
    let end = datapoints::read(body.as_bytes(), &LIMITS, &mut faults, &mut |gathered, _| {
        sizes.push(gathered.len());
        assert_eq!(gathered.origin(0), Some((0, "m".to_owned(), Some(sizes.len() as u32 * 10_000 - 10_000))));
        if sizes.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((sizes, end), (vec![10_000, 10_000], End::Stopped));
}

#[test]
fn values_that_a_double_cannot_hold_are_counted() {
    let tags = json!({"a": "b"});
    let body = json!({"name": "m", "tags": tags, "datapoints": [[1000, 1_u64 << 53], [2000, (1_u64 << 53) + 1], [3000, "-9007199254740993"]]});
    let mut rounded = 0;
    datapoints::read(body.to_string().as_bytes(), &LIMITS, &mut Faults::new(1), &mut |gathered, _| {
        rounded += gathered.rounded;
        ControlFlow::Continue(())
    });
    assert_eq!(rounded, 2);
}

/// A member that is there twice has the later value, as in KairosDB and OpenTSDB.
#[test]
fn of_two_members_with_one_name_the_later_counts() {
    let body = br#"[{"metric":"a","metric":"m","tags":{"a":"x"},"tags":{"a":"b"},"timestamp":1,"value":1,"value":2}]"#;
    let (points, errors, _) = seen(put::read, body);
    assert_eq!((points, errors), (vec![point("m;a=b", 1, 2.0)], vec![]));
    let body = br#"[{"name":"a","name":"m","tags":{"a":"b"},"timestamp":1000,"value":1,"value":2}]"#;
    let (points, errors, _) = seen(datapoints::read, body);
    assert_eq!((points, errors), (vec![point("m;a=b", 1, 2.0)], vec![]));
}

#[test]
fn opentsdb_sends_seconds_or_milliseconds() {
    let read = |body: Json| seen(put::read, body.to_string().as_bytes());
    let good = json!({"metric": "sys.cpu", "timestamp": 1_600_000_000, "value": "18.5", "tags": {"host": "web01", "odd": ""}});
    assert_eq!(read(good.clone()).0, [point("sys.cpu;host=web01", 1_600_000_000, 18.5)]);
    let millis =
        json!([{"metric": "m", "timestamp": 1_600_000_000_999_u64, "value": 1, "tags": {"a": "b"}}, good]);
    assert_eq!(read(millis).0[0], point("m;a=b", 1_600_000_000, 1.0));
    for (bad, text) in [
        (json!({"timestamp": 1, "value": 1, "tags": {"a": "b"}}), "[1]: Metric name was empty"),
        (json!({"metric": "m", "value": 1, "tags": {"a": "b"}}), "[1]: Invalid timestamp"),
        (json!({"metric": "m", "timestamp": 1, "tags": {"a": "b"}}), "[1]: Empty value"),
        (json!({"metric": "m", "timestamp": 1, "value": "x", "tags": {"a": "b"}}), "[1]: Unable to parse"),
        (json!({"metric": "m", "timestamp": 1, "value": 1}), "[1]: Missing tags"),
        (json!({"metric": "m".repeat(201), "timestamp": 1, "value": 1, "tags": {"a": "b"}}), "[1]: "),
        (json!(5), "[1]: must be an object"),
        (json!(null), "[1]: must be an object"),
        (json!(["m", 1, 1, {"a": "b"}]), "[1]: must be an object"),
    ] {
        let (points, errors, end) = read(json!([good, bad, good]));
        assert_eq!((points.len(), end), (2, End::Complete), "{bad}");
        assert!(errors.len() == 1 && errors[0].starts_with(text), "{errors:?}");
    }
}

/// A name with seconds, value and how long to keep it.
type Kept = (String, u32, f64, u32);

/// What lines hold, why some are rejected, and how often the version was asked for.
fn lines(text: &[u8]) -> (Vec<Kept>, Vec<Reject>, u64) {
    let (mut told, mut reasons) = (telnet::Told::default(), Vec::new());
    telnet::parse_lines(text, &LIMITS, &mut told, |reason, _| reasons.push(reason));
    let mut points = Vec::new();
    for gathered in &told.gathered {
        let batch = gathered.batch();
        let keep = batch.arrival.keep_secs;
        points.extend(
            batch
                .entries
                .iter()
                .map(|(name, point)| ((*name).to_owned(), point.timestamp, point.value, keep)),
        );
    }
    assert_eq!(told.lines, (points.len() + reasons.len()) as u64);
    (points, reasons, told.versions)
}

#[test]
fn telnet_lines_are_points() {
    let text = b"put m 1600000000 0.5 host=a dc=x\r\nput m 1600000000999 2 host=a\n\nputm m 5000 3 host=a\n\
                 put \"a b\" 7 1e3 host=\"web 1\" k=v=w\nversion\nput bare 7 1\n\
                 put m 7 9007199254740993 host=a kairos_opt.ttl=60\nversion";
    let (points, reasons, versions) = lines(text);
    let mut expected = vec![
        point("m;dc=x;host=a", 1_600_000_000, 0.5),
        point("m;host=a", 1_600_000_000, 2.0),
        point("m;host=a", 5, 3.0),
        point("a b;host=web 1;k=v=w", 7, 1000.0),
        point("bare;add=tag", 7, 1.0),
        point("m;host=a", 7, 9_007_199_254_740_992.0),
    ];
    expected[5].3 = 60;
    assert_eq!((points, reasons, versions), (expected, vec![], 2));
    for (line, reason) in [
        ("get m", Reject::BadLine),
        ("put m 1", Reject::BadLine),
        ("put m 1 1 tag", Reject::BadLine),
        ("put m x 1 a=b", Reject::BadTimestamp),
        ("put m 1 x a=b", Reject::BadValue),
        ("put m 1 1 a=", Reject::EmptyTag),
        ("put m -1 1 a=b", Reject::BadTimestamp),
        ("put m 1 1 a=b kairos_opt.ttl=x", Reject::BadLine),
        ("puts m 1 x a=b", Reject::UnsupportedType),
        ("put \"\" 1 1 a=b", Reject::EmptyName),
    ] {
        assert_eq!(lines(line.as_bytes()).1, [reason], "{line}");
    }
    assert_eq!(lines(b"put m 1 1 a=\"b c").0, [point("m;a=b c", 1, 1.0)], "an open quote reaches to the end");
    assert_eq!(lines(b"put m\xff 1 1 a=b").1, [Reject::NotUtf8]);
}

/// An item whose members may be anything.
fn item() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|n| json!(n)),
        "\\PC{0,6}".prop_map(|text| json!(text)),
        Just(json!([1, [2]])),
        Just(json!({"a": {}})),
        Just(json!({"host": "a"})),
        Just(json!(1_500_000_000_000_u64)),
        Just(json!([[1000, 1], [2000, "x"], 5, [null], []])),
    ];
    let member = prop::sample::select(vec![
        "name",
        "metric",
        "tags",
        "timestamp",
        "time",
        "value",
        "type",
        "ttl",
        "datapoints",
        "x",
    ]);
    prop::collection::btree_map(member, scalar, 0..9).prop_map(|members| json!(members))
}

proptest! {
    #[test]
    fn any_line_is_a_point_or_refused(text in "(putm?|version|[a-z]{0,3}) [\"a-c ]{0,6} [0-9-]{0,12} [0-9.]{0,4} [\"a-c= \n]{0,20}") {
        for (name, ..) in lines(text.as_bytes()).0 {
            prop_assert_eq!(plumbago_model::name::canonical(&name, 200).unwrap(), &*name);
        }
    }

    /// A second blank makes a line unusual, and changes nothing about it.
    #[test]
    fn usual_lines_mean_what_all_lines_mean(
        sent in prop::collection::vec(
            (
                "[am.%~]{1,3}|\\PC{1,4}",
                "[0-9]{1,4}|1[0-9]{9}|1[0-9]{12}|[-+]?[0-9x]{1,3}",
                "-?[0-9]{1,17}(\\.[0-9]{1,3})?|-?0|1e[0-9]{1,3}|inf|nan|[1_x]{1,3}",
                prop::sample::select(vec![
                    "a=b", "a=b c=d", "c=d a=b", "a=b a=c", "name=x", "a=b;c", "a=~b", "a=b=c", "a=b\r", "a=b ", " a=b", "a", "a=", "",
                    "=b", "a=\"b", "kairos_opt.ttl=60 a=b", "kairos_opt.ttl=x", "a!=b", "ü=名 a=\u{85}", "a=b\tc=d",
                ]),
            ),
            0..8,
        ),
    ) {
        let text: Vec<String> =
            sent.iter().map(|(metric, time, value, tags)| format!("put {metric} {time} {value} {tags}\n")).collect();
        let unusual: Vec<String> = text.iter().map(|line| line.replacen("put ", "put  ", 1)).collect();
        prop_assert_eq!(lines(text.concat().as_bytes()), lines(unusual.concat().as_bytes()));
    }

    /// An escape in the first item makes a body unusual, one in the last item only what comes after the others.
    #[test]
    fn usual_items_mean_what_all_items_mean(items in prop::collection::vec(item(), 1..5), which in any::<prop::sample::Index>()) {
        let usual: Vec<String> = items.iter().map(Json::to_string).collect();
        let mut unusual = usual.clone();
        let item = which.get_mut(&mut unusual);
        *item = item.replacen('{', if item.len() > 2 { r#"{"\u0078":0,"# } else { r#"{"\u0078":0"# }, 1);
        for read in [datapoints::read as Read, put::read] {
            let [usual, unusual] = [&usual, &unusual].map(|items| seen(read, format!("[{}]", items.join(",")).as_bytes()));
            prop_assert_eq!(usual, unusual);
        }
    }

    #[test]
    fn anything_is_read_and_all_that_is_taken_keeps_the_rules(items in prop::collection::vec(item(), 0..4), cut in 0..40_usize) {
        let whole = json!(items).to_string();
        for read in [datapoints::read as Read, put::read] {
            for body in [whole.as_bytes(), whole.as_bytes().get(..whole.len().saturating_sub(cut)).unwrap()] {
                let (points, errors, end) = seen(read, body);
                prop_assert_eq!(end == End::Broken, errors.iter().any(|error| error.contains("Invalid")  && error.contains("json")));
                for (name, timestamp, ..) in points {
                    prop_assert!(plumbago_model::name::is_tagged(&name));
                    prop_assert_eq!(plumbago_model::name::canonical(&name, 200).unwrap(), &*name);
                    prop_assert!(timestamp <= LIMITS.now + LIMITS.max_future_secs);
                }
            }
        }
    }
}
