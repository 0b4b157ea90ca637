//! `cardinality` on a cluster: all names are read, and counted here.

use anyhow::Result;
use serde_json::Value;

use super::super::meter;
use super::{default_policy, names};
use crate::config::Config;
use crate::index::{Index, SharedIndex, Survey};
use plumbago_model::{Cancel, MetricId};

/// Reads all names and counts them.
pub(in crate::cli::operations) fn cardinality(config: &Config, survey: &Survey) -> Result<Value> {
    let names = names(config)?;
    let (mut index, mut next, mut refused) = (Index::new(), 0, None);
    names.load(&default_policy(config), &mut meter::ring, &mut |listed| {
        refused = index.insert(MetricId(next), &listed.name).err().or(refused.take());
        next += 1;
    })?;
    meter::clear();
    match refused {
        Some(error) => Err(error.into()),
        None => Ok(SharedIndex::new(index).all().cardinality(survey, &Cancel::never())?.to_json()),
    }
}
