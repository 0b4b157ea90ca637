//! Queries as they are read, and the words in which KairosDB refuses them.

use serde_json::{Value, json};

use crate::kairosdb::aggregator::{Comparison, Trim};
use crate::kairosdb::*;

const NOW: i64 = 1_795_000_000_000;

fn read(query: &Value) -> Result<Query, Wrong> {
    Query::parse(query.to_string().as_bytes(), NOW)
}

fn refusal(query: &Value) -> String {
    let wrong = read(query).expect_err(&query.to_string());
    assert_eq!(wrong.texts().len(), 1);
    wrong.to_string()
}

/// A query of one metric with these properties.
fn of(metric: Value) -> Value {
    let mut metric = metric;
    metric.as_object_mut().unwrap().entry("name").or_insert(json!("bob"));
    json!({ "start_absolute": 1000, "metrics": [metric] })
}

fn aggregator(aggregator: Value) -> Value {
    of(json!({ "aggregators": [aggregator] }))
}

fn group_by(group_by: Value) -> Value {
    of(json!({ "group_by": [group_by] }))
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of mistakes and their texts")]
fn mistakes_of_a_query_are_told_in_kairosdbs_words() {
    let metrics = json!([{ "name": "bob" }]);
    let units =
        "is not a valid time unit, must be one of MILLISECONDS,SECONDS,MINUTES,HOURS,DAYS,WEEKS,MONTHS,YEARS";
    let refused = [
        (
            json!({ "start_absolute": 1, "cache_time": -1, "metrics": metrics }),
            "cache_time must be greater than or equal to 0",
        ),
        (json!({ "metrics": metrics }), "query.metric[0].start_time relative or absolute time must be set"),
        (
            json!({ "start_absolute": 2, "end_absolute": 1, "metrics": metrics }),
            "query.metric[0].end_time must be greater than the start time",
        ),
        (
            json!({ "start_relative": { "value": 1, "unit": "days" }, "end_relative": { "value": 2, "unit": "days" }, "metrics": metrics }),
            "query.metric[0].end_time must be greater than the start time",
        ),
        (
            json!({ "start_relative": { "value": 0, "unit": "days" }, "metrics": metrics }),
            "start_relative.value must be greater than or equal to 1",
        ),
        (
            json!({ "start_absolute": 1, "end_relative": { "value": "0", "unit": "days" }, "metrics": metrics }),
            "end_relative.value must be greater than or equal to 1",
        ),
        (
            json!({ "start_relative": { "value": 1, "unit": "bogus" }, "metrics": metrics }),
            &*format!("query.bogus {units}"),
        ),
        (json!({ "start_absolute": 1 }), "query.metric[] must have a size of at least 1"),
        (json!({ "start_absolute": 1, "metrics": [] }), "query.metric[] must have a size of at least 1"),
        (json!({ "start_absolute": 1, "metrics": [{}] }), "query.metric[0].name may not be null"),
        (of(json!({ "name": "" })), "query.metric[0].name may not be empty"),
        (of(json!({ "tags": { "": "a" } })), "query.metric[0].tags[0] name must not be empty"),
        (
            of(json!({ "tags": { "host": "" } })),
            "query.metric[0].tags[0].host value must not be null or empty",
        ),
        (
            of(json!({ "tags": { "host": null } })),
            "query.metric[0].tags[0].host value must not be null or empty",
        ),
        (
            of(json!({ "tags": { "host": ["a", null] } })),
            "query.metric[0].tags[0].host value must not be null or empty",
        ),
        (
            of(json!({ "tags": { "a": "b", "host": ["a", ""] } })),
            "query.metric[0].tags[1].host value must not be null or empty",
        ),
        (aggregator(json!({})), "query.metric[0].aggregators[0] must have a name"),
        (aggregator(json!({ "name": "" })), "query.metric[0].aggregators[0] must have a name"),
        (
            aggregator(json!({ "name": "bogus" })),
            "query.metric[0].aggregators[0].bogus invalid aggregators name",
        ),
        (
            aggregator(json!({ "name": "sum", "sampling": { "value": 0, "unit": "days" } })),
            "query.metric[0].aggregators[0].sampling.value must be greater than or equal to 1",
        ),
        (
            aggregator(json!({ "name": "sum", "sampling": { "value": 1, "unit": "bogus" } })),
            &format!("query.metric[0].aggregators[0].bogus {units}"),
        ),
        (
            aggregator(json!({ "name": "sum", "bogus": 1 })),
            "Property 'bogus' was specified for object 'sum' but no matching setter was found on 'sum'",
        ),
        (aggregator(json!({ "name": "div" })), "query.metric[0].aggregators[0].m_divisor may not be zero"),
        (
            aggregator(json!({ "name": "div", "divisor": 0 })),
            "query.metric[0].aggregators[0].m_divisor may not be zero",
        ),
        (
            aggregator(json!({ "name": "percentile" })),
            "query.metric[0].aggregators[0].percentile may not be zero",
        ),
        (
            aggregator(json!({ "name": "percentile", "percentile": "0.0" })),
            "query.metric[0].aggregators[0].percentile may not be zero",
        ),
        (
            aggregator(json!({ "name": "percentile", "percentile": "0.2.3" })),
            "query.metric[0].aggregators[0].percentile multiple points",
        ),
        (
            aggregator(json!({ "name": "percentile", "percentile": 1.5 })),
            "query.metric[0].aggregators[0].percentile must be between 0 and 1, not 1.5",
        ),
        (
            aggregator(json!({ "name": "scale", "factor": "x" })),
            "query.metric[0].aggregators[0].factor For input string: \"x\"",
        ),
        (
            aggregator(json!({ "name": "sma", "size": 0 })),
            "query.metric[0].aggregators[0].size must be greater than or equal to 1",
        ),
        (
            aggregator(json!({ "name": "save_as" })),
            "query.metric[0].aggregators[0].metric_name may not be empty",
        ),
        (group_by(json!({})), "query.metric[0].group_by[0] must have a name"),
        (group_by(json!({ "name": "bogus" })), "query.metric[0].group_by[0].bogus invalid group_by name"),
        (group_by(json!({ "name": "tag" })), "query.metric[0].group_by[0].tags may not be null"),
        (group_by(json!({ "name": "tag", "tags": [] })), "query.metric[0].group_by[0].tags may not be empty"),
        (
            group_by(json!({ "name": "time", "group_count": 2 })),
            "query.metric[0].group_by[0].rangeSize may not be null",
        ),
        (
            group_by(
                json!({ "name": "time", "range_size": { "value": 0, "unit": "days" }, "group_count": 2 }),
            ),
            "query.metric[0].group_by[0].range_size.value must be greater than or equal to 1",
        ),
        (
            group_by(
                json!({ "name": "time", "range_size": { "value": 1, "unit": "bogus" }, "group_count": 2 }),
            ),
            &format!("query.metric[0].group_by[0].bogus {units}"),
        ),
        (
            group_by(json!({ "name": "time", "range_size": { "value": 1, "unit": "days" } })),
            "query.metric[0].group_by[0].groupCount must be greater than or equal to 1",
        ),
        (
            group_by(json!({ "name": "value", "range_size": 0 })),
            "query.metric[0].group_by[0].range_size.value must be greater than or equal to 1",
        ),
        (group_by(json!({ "name": "bin", "bins": [] })), "query.metric[0].group_by[0].bins may not be empty"),
        (
            group_by(json!({ "name": "bin", "bins": [3, 2] })),
            "query.metric[0].group_by[0].bins must be numbers in ascending order",
        ),
        (
            of(json!({ "plugins": [{ "name": "mine" }] })),
            "query.metric[0].plugins[0].mine invalid plugins name",
        ),
        (of(json!({ "order": "up" })), "query.metric[0].order must be asc or desc, not `up`"),
        (of(json!({ "limit": -1 })), "query.metric[0].limit must be greater than or equal to 0"),
        (of(json!({ "tags": [] })), "query.metric[0].tags must be an object, not a list"),
        (json!([]), "query must be an object, not a list"),
    ];
    for (query, text) in refused {
        assert_eq!(refusal(&query), text, "{query}");
    }
    let mut query = of(json!({}));
    query["time_zone"] = json!("bogus");
    assert!(refusal(&query).starts_with("query.bogus is not a valid time zone, must be "));
    query["time_zone"] = json!("");
    assert!(read(&query).is_ok());
}

#[test]
fn what_is_no_json_is_refused() {
    for empty in ["", " \n"] {
        let wrong = Query::parse(empty.as_bytes(), NOW).unwrap_err();
        assert_eq!(wrong.to_string(), "Invalid json. No content due to end of input.");
    }
    let deep = "[".repeat(100_000);
    for bad in ["{", "{} x", "\u{0}", &deep, "{\"start_absolute\": 1e999}"] {
        assert!(Query::parse(bad.as_bytes(), NOW).is_err());
    }
}

#[test]
fn everything_that_can_be_asked_is_read() {
    let query = read(&json!({
        "start_relative": { "value": "5", "unit": "MINUTES" },
        "end_relative": { "value": 1, "unit": "minutes" },
        "time_zone": "Asia/Kabul",
        "cache_time": 20,
        "plugins": [],
        "metrics": [{
            "name": "abc.123",
            "alias": "short",
            "tags": { "host": ["foo", "foo2"], "type": "bar", "port": 80 },
            "exclude_tags": "true",
            "limit": "10000",
            "order": "desc",
            "aggregators": [
                { "name": "sum", "sampling": { "value": 10, "unit": "Minutes" }, "align_sampling": false, "align_start_time": true, "trim": true },
                { "name": "percentile", "percentile": "0.75", "align_end_time": true },
                { "name": "rate", "unit": "seconds" },
                { "name": "rate", "sampling": { "value": 2, "unit": "hours" } },
                { "name": "trim", "trim": "FIRST" },
                { "name": "filter", "filter_op": "lte", "threshold": 3 },
                { "name": "save_as", "metric_name": "new", "ttl": 60, "tags": { "a": "b" }, "add_saved_from": false },
            ],
            "group_by": [
                { "name": "tag", "tags": ["host"] },
                { "name": "time", "range_size": { "value": 1, "unit": "weeks" }, "group_count": 4 },
                { "name": "value", "range_size": 1000 },
                { "name": "bin", "bins": ["2", 4.5] },
            ],
        }],
    }))
    .unwrap();
    assert_eq!((query.start, query.end), (NOW - 300_000, Some(NOW - 60_000)));
    let metric = &query.metrics[0];
    let wanted = metric
        .tags
        .iter()
        .map(|(tag, values)| format!("{tag} {}", values.iter().cloned().collect::<Vec<_>>().join(",")));
    assert_eq!(wanted.collect::<Vec<_>>(), ["host foo,foo2", "port 80", "type bar"]);
    assert_eq!(
        (metric.alias.as_deref(), metric.exclude_tags, metric.limit),
        (Some("short"), true, Some(10_000))
    );
    assert_eq!(metric.order, Order::Descending);
    let length = |value, unit| Length { value, unit };
    let usual = Sampling::default();
    let tags = [("a".to_owned(), "b".to_owned())].into_iter().collect();
    assert_eq!(
        metric.aggregators,
        [
            Aggregator::Range {
                method: Method::Sum,
                sampling: Sampling {
                    length: length(10, Unit::Minutes),
                    align: false,
                    align_start: true,
                    align_end: false
                },
                trim: true,
            },
            Aggregator::Range {
                method: Method::Percentile(0.75),
                sampling: Sampling { align_end: true, ..usual },
                trim: false
            },
            Aggregator::Rate(length(1, Unit::Seconds)),
            Aggregator::Rate(length(2, Unit::Hours)),
            Aggregator::Trim(Trim::First),
            Aggregator::Filter(Comparison::AtMost, 3.0),
            Aggregator::SaveAs(SaveAs { metric: "new".to_owned(), tags, ttl: 60, add_saved_from: false }),
        ]
    );
    assert_eq!(
        metric.group_by,
        [
            GroupBy::Tag(vec!["host".to_owned()]),
            GroupBy::Time { range: length(1, Unit::Weeks), count: 4 },
            GroupBy::Value(1000.0),
            GroupBy::Bin(vec![2.0, 4.5]),
        ]
    );
}

#[test]
fn the_absolute_start_wins_and_a_relative_one_follows_the_calendar() {
    let mut query = of(json!({}));
    query["start_relative"] = json!({ "value": 1, "unit": "years" });
    assert_eq!(read(&query).unwrap().start, 1000);
    query.as_object_mut().unwrap().remove("start_absolute");
    assert_eq!(read(&query).unwrap().start, NOW - 365 * 86_400_000);
    query["start_relative"] = json!({ "value": i64::MAX, "unit": "years" });
    assert!(read(&query).unwrap().start < 0, "the edge of time");
}
