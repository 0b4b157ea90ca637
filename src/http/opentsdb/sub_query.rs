//! What a query asks of one metric: `sum:10m-avg:rate:cpu{host=*}`, or the same as JSON.

use serde_json::{Map, Value};

use super::aggregate::Aggregate;
use super::downsample::{Downsample, Rate};
use super::filter::Filter;
use crate::http::Wanted;

/// One part of a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SubQuery {
    pub(super) metric: String,
    pub(super) aggregate: Aggregate,
    pub(super) downsample: Option<Downsample>,
    pub(super) rate: Option<Rate>,
    pub(super) filters: Vec<Filter>,
    /// Only series that have no tags but those of the filters.
    pub(super) explicit_tags: bool,
}

impl SubQuery {
    /// Reads the value of `m`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (head, tags) = match text.find('{') {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        // A rate may have options in braces before those of the tags.
        let (head, tags) =
            if head.ends_with(":rate") || head == "rate" { behind_rate(text)? } else { (head, tags) };
        let mut parts = split_parts(head);
        let metric = parts.pop().filter(|metric| !metric.is_empty());
        let metric = metric.ok_or_else(|| format!("`{text}` names no metric: send aggregator:metric"))?;
        let Some((aggregate, rest)) = parts.split_first() else {
            return Err(format!("`{text}` names no aggregator: send aggregator:metric"));
        };
        let mut query = Self {
            metric: metric.to_owned(),
            aggregate: Aggregate::parse(aggregate)?,
            downsample: None,
            rate: None,
            filters: filters(tags)?,
            explicit_tags: false,
        };
        for part in rest {
            match *part {
                "explicit_tags" => query.explicit_tags = true,
                part if part == "rate" || part.starts_with("rate{") => query.rate = Some(rate(part)?),
                part => query.downsample = Some(Downsample::parse(part)?),
            }
        }
        Ok(query)
    }

    /// Reads one of the `queries` of a JSON body.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(map) = value else { return Err("each of `queries` must be an object".to_owned()) };
        let metric = text(map, "metric")?.filter(|metric| !metric.is_empty());
        let aggregator = text(map, "aggregator")?.ok_or("a query lacks `aggregator`")?;
        let downsample = text(map, "downsample")?.filter(|text| !text.is_empty());
        let options = map.get("rateOptions").and_then(Value::as_object);
        let option = |name: &str| options.and_then(|options| options.get(name));
        let rate = Rate {
            counter: option("counter").and_then(Value::as_bool).unwrap_or(false),
            most: option("counterMax").and_then(Value::as_f64),
            reset: option("resetValue").and_then(Value::as_f64),
            drop_resets: option("dropResets").and_then(Value::as_bool).unwrap_or(false),
        };
        let mut filters = Vec::new();
        for (key, value) in map.get("tags").and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().ok_or_else(|| format!("the tag `{key}` must be a string"))?;
            filters.push(Filter::of_tag(key, value, true));
        }
        for filter in map.get("filters").and_then(Value::as_array).into_iter().flatten() {
            let Value::Object(filter) = filter else {
                return Err("each of `filters` must be an object".to_owned());
            };
            let of = |name: &str| Ok::<_, String>(text(filter, name)?.unwrap_or_default().to_owned());
            filters.push(Filter {
                key: of("tagk")?,
                kind: of("type")?.to_ascii_lowercase(),
                text: of("filter")?,
                group_by: filter.get("groupBy").and_then(Value::as_bool).unwrap_or(false),
            });
        }
        Ok(Self {
            metric: metric.ok_or("a query lacks `metric`")?.to_owned(),
            aggregate: Aggregate::parse(aggregator)?,
            downsample: downsample.map(Downsample::parse).transpose()?,
            rate: map.get("rate").and_then(Value::as_bool).unwrap_or(false).then_some(rate),
            filters,
            explicit_tags: map.get("explicitTags").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    /// The series that it is about.
    pub(super) fn wanted(&self) -> Result<Wanted, String> {
        self.filters.iter().try_fold(Wanted::all(&self.metric), |wanted, filter| filter.narrow(wanted))
    }

    /// The tags whose values have results of their own.
    pub(super) fn grouped_by(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().filter(|filter| filter.group_by).map(|filter| filter.key.as_str())
    }
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` must be a string")),
    }
}

/// Splits behind the options of a rate.
fn behind_rate(text: &str) -> Result<(&str, &str), String> {
    let close = text.find('}').ok_or_else(|| format!("`{text}` has a brace that is not closed"))?;
    let tags = text.get(close..).and_then(|rest| rest.find('{')).map_or(text.len(), |at| close + at);
    Ok(text.split_at(tags))
}

/// The parts between colons.
fn split_parts(head: &str) -> Vec<&str> {
    head.split(':').collect()
}

/// Reads `rate` or `rate{counter,max,reset}`.
fn rate(part: &str) -> Result<Rate, String> {
    let Some(options) = part.strip_prefix("rate{").and_then(|rest| rest.strip_suffix('}')) else {
        return if part == "rate" {
            Ok(Rate::default())
        } else {
            Err(format!("`{part}` is no rate: send rate{{counter,max,reset}}"))
        };
    };
    let mut options = options.split(',');
    let kind = options.next().unwrap_or_default();
    let mut number = || match options.next().filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| format!("`{text}` in `{part}` is no number")),
    };
    let (most, reset) = (number()?, number()?);
    Ok(Rate {
        counter: kind == "counter" || kind == "dropcounter",
        most,
        reset,
        drop_resets: kind == "dropcounter",
    })
}

/// Reads `{host=a,dc=*}{rack=b}`: those of the first braces group.
fn filters(text: &str) -> Result<Vec<Filter>, String> {
    let mut filters = Vec::new();
    let (mut rest, mut group_by) = (text, true);
    while !rest.is_empty() {
        let inside = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let (list, after) = inside.ok_or_else(|| format!("`{text}` must be like {{host=a,dc=*}}"))?;
        for pair in list.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` must be like host=a"))?;
            filters.push(Filter::of_tag(key, value, group_by));
        }
        (rest, group_by) = (after, false);
    }
    Ok(filters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_of_m_are_read() {
        let query = SubQuery::parse(
            "sum:10m-avg-zero:rate{counter,100,5}:explicit_tags:sys.cpu{host=*,dc=a|b}{rack=regexp(r[0-9])}",
        );
        let filter = |key: &str, kind: &str, text: &str, group_by| Filter {
            key: key.to_owned(),
            kind: kind.to_owned(),
            text: text.to_owned(),
            group_by,
        };
        assert_eq!(
            query.unwrap(),
            SubQuery {
                metric: "sys.cpu".to_owned(),
                aggregate: Aggregate::parse("sum").unwrap(),
                downsample: Some(Downsample::parse("10m-avg-zero").unwrap()),
                rate: Some(Rate { counter: true, most: Some(100.0), reset: Some(5.0), drop_resets: false }),
                filters: vec![
                    filter("host", "wildcard", "*", true),
                    filter("dc", "literal_or", "a|b", true),
                    filter("rack", "regexp", "r[0-9]", false),
                ],
                explicit_tags: true,
            }
        );
        let plain = SubQuery::parse("avg:rate:m").unwrap();
        assert_eq!((plain.rate, plain.filters.len()), (Some(Rate::default()), 0));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_reason() {
        for bad in [
            "",
            "m",
            ":m",
            "sum:",
            "bogus:m",
            "sum:m{host}",
            "sum:m{host=a",
            "sum:10x-avg:m",
            "sum:10m:m",
            "sum:10m-avg-bogus:m",
            "sum:rate{counter,x}:m",
            "sum:rate{:m",
            "sum:10m-bogus:m",
            "sum:10m-avg-zero-x:m",
        ] {
            assert!(SubQuery::parse(bad).is_err(), "{bad}");
        }
        for filter in [
            Filter::of_tag("", "a", true),
            Filter::of_tag("k", "", true),
            Filter::of_tag("k", "bogus(a)", true),
            Filter::of_tag("k", "regexp([)", true),
        ] {
            assert!(filter.narrow(Wanted::all("m")).is_err(), "{filter:?}");
        }
    }
}
