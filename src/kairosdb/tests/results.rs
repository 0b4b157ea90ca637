//! Groups and their JSON.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::kairosdb::*;
use plumbago_model::{Cancel, QueryError};

/// 1 January 2026.
const START: i64 = 1_767_225_600_000;
const HOUR: i64 = 3_600_000;

fn tags(pairs: &[(&str, &str)]) -> Tags {
    pairs.iter().map(|(tag, value)| ((*tag).to_owned(), (*value).to_owned())).collect()
}

/// Two series of the hours 0 to 5.
fn series() -> Vec<Read> {
    let read = |host: &str, dc: &str, factor: f64| Read {
        tags: tags(&[("host", host), ("dc", dc)]),
        samples: (0..6).map(|hour| Sample::point(START + hour * HOUR, hour as f64 * factor)).collect(),
    };
    vec![read("a", "x", 1.0), read("b", "x", 10.0)]
}

fn asked(metric: Value) -> Result<Value, QueryError> {
    answered(metric, series())
}

fn answered(metric: Value, series: Vec<Read>) -> Result<Value, QueryError> {
    let mut metric = metric;
    metric["name"] = json!("m");
    let query = json!({ "start_absolute": START, "end_absolute": START + 10 * HOUR, "metrics": [metric] });
    let query = Query::parse(query.to_string().as_bytes(), 0).unwrap();
    let cancel = Cancel::never();
    let range = (query.start, query.end.unwrap());
    let groups = group(&query.metrics[0], series, &Work::new(range, &TimeZone::UTC, &cancel, 1000))?;
    let mut out = Vec::new();
    write_answer(&[Queried { query: &query.metrics[0], sample_size: 12, groups }], &mut out);
    let answer: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(answer["queries"][0]["sample_size"], 12);
    Ok(answer["queries"][0]["results"].clone())
}

fn hours(values: &Value) -> Vec<(i64, f64)> {
    let hour = |point: &Value| ((point[0].as_i64().unwrap() - START) / HOUR, point[1].as_f64().unwrap());
    values.as_array().unwrap().iter().map(hour).collect()
}

#[test]
fn without_groups_all_series_are_one_stream() {
    let results = asked(json!({})).unwrap();
    let [result] = &results.as_array().unwrap()[..] else { panic!("{results}") };
    assert_eq!(result["group_by"], json!([{ "name": "type", "type": "number" }]));
    assert_eq!(result["tags"], json!({ "dc": ["x"], "host": ["a", "b"] }));
    assert_eq!(hours(&result["values"])[..4], [(0, 0.0), (0, 0.0), (1, 1.0), (1, 10.0)]);
    let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["name", "group_by", "tags", "values"]);
    assert!(result.to_string().contains("[1767229200000,1],"), "whole numbers have no fraction: {result}");
}

#[test]
fn order_and_limit_choose_the_newest_points_of_each_series() {
    let results =
        asked(json!({ "limit": 2, "order": "desc", "exclude_tags": true, "alias": "short" })).unwrap();
    assert_eq!(hours(&results[0]["values"]), [(5, 50.0), (5, 5.0), (4, 40.0), (4, 4.0)]);
    assert_eq!((results[0].get("tags"), &results[0]["alias"]), (None, &json!("short")));
    assert_eq!(hours(&asked(json!({ "limit": 1 })).unwrap()[0]["values"]), [(0, 0.0), (0, 0.0)]);
}

#[test]
fn series_are_grouped_by_their_tags() {
    let results = asked(json!({ "group_by": [{ "name": "tag", "tags": ["host", "none"] }] })).unwrap();
    let groups: Vec<&Value> =
        results.as_array().unwrap().iter().map(|result| &result["group_by"][1]).collect();
    let group = |host: &str| json!({ "name": "tag", "tags": ["host", "none"], "group": { "host": host, "none": "" } });
    assert_eq!(groups, [&group("a"), &group("b")]);
    assert_eq!(results[1]["tags"], json!({ "dc": ["x"], "host": ["b"] }));
}

#[test]
fn samples_are_grouped_by_time_value_and_bin() {
    let time = json!({ "name": "time", "range_size": { "value": 2, "unit": "hours" }, "group_count": 2 });
    let results = asked(json!({ "group_by": [time] })).unwrap();
    let expected = json!({ "name": "time", "range_size": { "value": 2, "unit": "HOURS" }, "group_count": 2, "group": { "group_number": 1 } });
    assert_eq!(results[1]["group_by"][1], expected);
    assert_eq!(hours(&results[1]["values"]).iter().map(|(hour, _)| *hour).collect::<Vec<_>>(), [2, 2, 3, 3]);

    let results = asked(json!({ "group_by": [{ "name": "value", "range_size": 20 }] })).unwrap();
    let expected = json!({ "name": "value", "range_size": 20, "group": { "group_number": 2 } });
    assert_eq!(results[2]["group_by"][1], expected);
    assert_eq!(hours(&results[2]["values"]), [(4, 40.0), (5, 50.0)]);
    assert_eq!(results[2]["tags"]["host"], json!(["b"]), "only the series that are in the group");

    let results = asked(
        json!({ "group_by": [{ "name": "bin", "bins": [4, 10.5] }, { "name": "tag", "tags": ["host"] }] }),
    )
    .unwrap();
    let expected = json!({ "name": "bin", "bins": [4, 10.5], "group": { "bin_number": 1 } });
    let of = |host: &str| {
        results
            .as_array()
            .unwrap()
            .iter()
            .find(|r| r["group_by"][1] == expected && r["group_by"][2]["group"]["host"] == host)
    };
    assert_eq!(hours(&of("a").unwrap()["values"]), [(4, 4.0), (5, 5.0)]);
    assert_eq!(hours(&of("b").unwrap()["values"]), [(1, 10.0)]);
}

#[test]
fn groups_of_months_are_those_of_the_calendar() {
    let at = |day: i64| Sample::point(START + day * 24 * HOUR, day as f64);
    let samples = vec![at(0), at(30), at(31), at(58), at(59)];
    let time = json!({ "name": "time", "range_size": { "value": 1, "unit": "months" }, "group_count": 2 });
    let results = answered(json!({ "group_by": [time] }), vec![Read { tags: Tags::new(), samples }]).unwrap();
    let days = |nth: usize| {
        results[nth]["values"].as_array().unwrap().iter().map(|v| v[1].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((days(0), days(1)), (vec![0, 30, 59], vec![31, 58]));
}

#[test]
fn aggregators_run_in_order_in_each_group() {
    let minutes = |value| json!({ "value": value, "unit": "minutes" });
    let results = asked(json!({
        "group_by": [{ "name": "tag", "tags": ["host"] }],
        "aggregators": [{ "name": "sum", "sampling": minutes(120) }, { "name": "scale", "factor": 0.5 }, { "name": "diff" }],
    }));
    let results = results.unwrap();
    assert_eq!(hours(&results[0]["values"]), [(2, 2.0), (4, 2.0)]);
    assert_eq!(hours(&results[1]["values"]), [(2, 20.0), (4, 20.0)]);
    // Buckets that the query covers only in part: the last one is from 8 to 11.
    let trimmed =
        json!([{ "name": "count", "sampling": minutes(180), "trim": true, "align_end_time": true }]);
    assert_eq!(hours(&asked(json!({ "aggregators": trimmed })).unwrap()[0]["values"]), [(3, 6.0), (6, 6.0)]);
}

#[test]
fn samples_of_one_moment_are_merged_into_their_mean() {
    let results = asked(json!({ "aggregators": [{ "name": "merge" }] })).unwrap();
    assert_eq!(hours(&results[0]["values"])[..3], [(0, 0.0), (1, 5.5), (2, 11.0)]);
    let sums = asked(
        json!({ "aggregators": [{ "name": "merge" }, { "name": "sum", "sampling": { "value": 1, "unit": "hours" } }] }),
    );
    assert_eq!(hours(&sums.unwrap()[0]["values"])[1], (1, 11.0));
}

#[test]
fn gaps_are_null() {
    let samples = vec![Sample::point(START, 1.0), Sample::point(START + 3 * HOUR, 2.0)];
    let gaps = |name: &str| json!([{ "name": name, "sampling": { "value": 1, "unit": "hours" } }]);
    for name in ["gaps", "data_gaps"] {
        let results = answered(
            json!({ "aggregators": gaps(name) }),
            vec![Read { tags: Tags::new(), samples: samples.clone() }],
        );
        let expected =
            json!([[START, 1], [START + HOUR, null], [START + 2 * HOUR, null], [START + 3 * HOUR, 2]]);
        assert_eq!(results.unwrap()[0]["values"], expected);
    }
    let endless = json!([{ "name": "gaps", "sampling": { "value": 1, "unit": "milliseconds" } }]);
    assert!(matches!(asked(json!({ "aggregators": endless })), Err(QueryError::Limit(_))));
}

#[test]
fn a_rate_needs_different_times() {
    let rate = json!([{ "name": "rate", "unit": "hours" }]);
    let error = asked(json!({ "aggregators": rate })).unwrap_err().to_string();
    assert!(error.contains("rate needs samples of different times"), "{error}");
    let grouped =
        asked(json!({ "aggregators": rate, "group_by": [{ "name": "tag", "tags": ["host"] }] })).unwrap();
    assert_eq!(hours(&grouped[1]["values"])[0], (1, 10.0));
}

#[test]
fn a_metric_that_is_not_there_has_one_empty_result() {
    assert_eq!(answered(json!({}), Vec::new()).unwrap(), json!([{ "name": "m", "tags": {}, "values": [] }]));
    assert_eq!(
        answered(json!({ "exclude_tags": true }), Vec::new()).unwrap(),
        json!([{ "name": "m", "values": [] }])
    );
}

#[test]
fn what_is_saved_has_the_tags_of_its_group() {
    let query = json!({ "start_absolute": START, "metrics": [{
        "name": "m",
        "aggregators": [{ "name": "scale", "factor": 2 }, { "name": "save_as", "metric_name": "n", "tags": { "k": "v" } }, { "name": "scale", "factor": 2 }],
        "group_by": [{ "name": "tag", "tags": ["host"] }],
    }] });
    let query = Query::parse(query.to_string().as_bytes(), 0).unwrap();
    let cancel = Cancel::never();
    let groups =
        group(&query.metrics[0], series(), &Work::new((START, i64::MAX), &TimeZone::UTC, &cancel, 1000))
            .unwrap();
    let (save, saved, samples) = &groups[0].saved[0];
    assert_eq!((&*save.metric, saved), ("n", &tags(&[("host", "a"), ("k", "v"), ("saved_from", "m")])));
    assert_eq!((samples[3].value, groups[0].samples[3].value), (6.0, 12.0));
}

#[test]
fn what_has_no_form_in_json_is_null() {
    let samples = vec![
        Sample::point(START, f64::INFINITY),
        Sample::point(START + 1, 1e300),
        Sample::point(START + 2, -0.25),
    ];
    let results = answered(json!({}), vec![Read { tags: Tags::new(), samples }]).unwrap();
    assert_eq!(results[0]["values"], json!([[START, null], [START + 1, 1e300], [START + 2, -0.25]]));
}
