//! `save_as`: results that become points of a metric.

use crate::http::Backend;
use crate::http::error::Failure;
use crate::kairosdb::{Sample, SaveAs, Tags};
use plumbago_model::labelled::series_name;
use plumbago_model::{Arrival, Batch, Overload, Point, QueryError};

/// Points that are written in one go.
const TOGETHER: usize = 10_000;

/// Writes what a group saves.
pub(super) fn points(backend: &dyn Backend, saved: Vec<(SaveAs, Tags, Vec<Sample>)>) -> Result<(), Failure> {
    for (save, tags, samples) in saved {
        let pairs: Vec<(&str, &str)> = tags.iter().map(|(key, value)| (&**key, &**value)).collect();
        let name = series_name(&save.metric, &pairs).map_err(|reason| {
            QueryError::Invalid(format!("save_as cannot write to `{}`: {}", save.metric, reason.label()))
        })?;
        let arrival = Arrival::labelled(u32::try_from(save.ttl).unwrap_or(u32::MAX));
        for part in samples.chunks(TOGETHER) {
            let points = part.iter().filter_map(point).map(|point| (&*name, point));
            take(backend, &Batch { entries: points.collect(), arrival })?;
        }
    }
    Ok(())
}

fn take(backend: &dyn Backend, batch: &Batch<'_>) -> Result<(), Failure> {
    let judged = backend.take(batch).map_err(|overload| match overload {
        Overload::TooFast(text) | Overload::Unwell(text) => Failure::NotReady(text),
    })?;
    match judged.refused.first() {
        None => Ok(()),
        Some((_, reason)) => Err(Failure::Refused(format!(
            "save_as: {} points were not taken: {}",
            judged.refused.len(),
            reason.label()
        ))),
    }
}

/// Points have whole seconds.
fn point(sample: &Sample) -> Option<Point> {
    let timestamp = u32::try_from(sample.at.div_euclid(1000)).ok()?;
    sample.value.is_finite().then_some(Point { timestamp, value: sample.value })
}
