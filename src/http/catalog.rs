//! `/api/v1/catalog/*`: what is known of the metrics with tags, their series, tags and windows.

use axum::response::Response;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};

use super::call::Call;
use super::care::required;
use super::error::Failure;
use super::find::{listed, to_json};
use super::gate::Seen;
use super::kairosdb::KairosFailure;
use super::{Api, Backend};
use plumbago_model::Cancel;

type Answer = Result<Response, KairosFailure>;

/// Entries of a list, unless the call says otherwise.
const USUAL: i64 = 100;

/// Most months in one answer.
const MAX_MONTHS: usize = 120;

/// What a call asks of the catalogue.
#[derive(Clone, Debug)]
pub struct CatalogQuery {
    /// What it is about.
    pub about: Catalog,
    /// Only names that begin so.
    pub prefix: String,
    /// Only names that come after this one.
    pub after: Option<String>,
    /// Most names.
    pub limit: usize,
}

/// What is listed.
#[derive(Clone, Debug)]
pub enum Catalog {
    /// The metrics that had series in each of these months, given by their first days.
    Metrics(Vec<Date>),
    /// The tags of a metric.
    Tags(String),
    /// The values of a tag of a metric.
    Values(String, String),
    /// How many values each tag of each metric has.
    Cardinality,
    /// The windows of three weeks in which a metric has series.
    Windows(String),
    /// How large the partitions of stages are.
    Partitions,
}

/// `GET /api/v1/catalog/metrics`: `from`, `until`, `prefix`, `after`, `limit`.
pub(super) async fn metrics(Seen(api): Seen, call: Result<Call, Failure>) -> Answer {
    let call = call?;
    let months = months(call.params.get("from"), call.params.get("until")).map_err(Failure::Refused)?;
    answered(&api, &call, Catalog::Metrics(months)).await
}

/// `GET /api/v1/catalog/tags`: `metric`, and `tag` for its values.
pub(super) async fn tags(Seen(api): Seen, call: Result<Call, Failure>) -> Answer {
    let call = call?;
    let metric = required(&call, "metric")?;
    let about = match call.params.get("tag").filter(|tag| !tag.is_empty()) {
        Some(tag) => Catalog::Values(metric, tag.to_owned()),
        None => Catalog::Tags(metric),
    };
    answered(&api, &call, about).await
}

/// `GET /api/v1/catalog/cardinality`: `prefix`, `after`, `limit`.
pub(super) async fn cardinality(Seen(api): Seen, call: Result<Call, Failure>) -> Answer {
    answered(&api, &call?, Catalog::Cardinality).await
}

/// `GET /api/v1/catalog/windows`: `metric`.
pub(super) async fn windows(Seen(api): Seen, call: Result<Call, Failure>) -> Answer {
    let call = call?;
    let metric = required(&call, "metric")?;
    answered(&api, &call, Catalog::Windows(metric)).await
}

/// `GET /api/v1/catalog/partitions`
pub(super) async fn partitions(Seen(api): Seen, call: Result<Call, Failure>) -> Answer {
    answered(&api, &call?, Catalog::Partitions).await
}

async fn answered(api: &Api, call: &Call, about: Catalog) -> Answer {
    let limit = usize::try_from(call.params.int("limit", USUAL)?).ok().filter(|&limit| limit > 0);
    let limit = limit.ok_or_else(|| Failure::Refused("`limit` must be at least 1".to_owned()))?;
    let query = CatalogQuery {
        about,
        prefix: call.params.get("prefix").unwrap_or_default().to_owned(),
        after: call.params.get("after").filter(|after| !after.is_empty()).map(str::to_owned),
        limit: limit.min(api.config.max_find_hits),
    };
    let work = move |backend: &dyn Backend, cancel: &Cancel| {
        let labelled = backend.labelled().ok_or_else(Failure::no_store)?;
        Ok(to_json(&labelled.catalog(&query, cancel)?))
    };
    Ok(listed(api, call, work).await?)
}

/// The first days of some months, written as 2026-11; of this month if none are given.
pub fn months(from: Option<&str>, until: Option<&str>) -> Result<Vec<Date>, String> {
    let this = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().first_of_month();
    let month = |text: &str| {
        let wrong = || format!("`{text}` is no month: send something like 2026-11");
        format!("{text}-01").parse::<Date>().ok().filter(|date| date.year() >= 1970).ok_or_else(wrong)
    };
    let until = until.filter(|until| !until.is_empty()).map_or(Ok(this), month)?;
    let from = from.filter(|from| !from.is_empty()).map_or(Ok(until), month)?;
    if from > until {
        return Err(format!("the first month, {from}, comes after the last one, {until}"));
    }
    let months = std::iter::successors(Some(from), |month| month.checked_add(1.month()).ok());
    let months: Vec<Date> = months.take_while(|month| *month <= until).take(MAX_MONTHS + 1).collect();
    if months.len() > MAX_MONTHS {
        return Err(format!(
            "there are more than {MAX_MONTHS} months from {from} to {until}: ask for fewer at once"
        ));
    }
    Ok(months)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_listed_from_the_first_to_the_last() {
        let listed = |from, until| {
            months(from, until).map(|months| months.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(
            listed(Some("2025-12"), Some("2026-02")).unwrap(),
            ["2025-12-01", "2026-01-01", "2026-02-01"]
        );
        assert_eq!(listed(None, Some("2026-02")).unwrap(), ["2026-02-01"]);
        assert_eq!(listed(None, None).unwrap().len(), 1);
        for (from, until) in [
            (Some("2026"), None),
            (Some("2026-13"), None),
            (Some("2026-02"), Some("2026-01")),
            (Some("1970-01"), Some("2026-01")),
        ] {
            assert!(listed(from, until).is_err(), "{from:?} {until:?}");
        }
    }
}
