//! What the catalogue knows about metrics: names, policies, owners and spans.
//!
//! New metrics are written as pages of front-coded names, one row per batch of creations: ten bytes a metric instead of
//! eighty, and a million of them load in well under a second.

use std::collections::{HashMap, HashSet};

use redb::{ReadableTable, TableDefinition};

use super::catalogue::{Catalogue, DELETED, NAMES, OWNERS, POLICIES, POLICY_HISTORY, RENAMED, failed};
use super::names;
use super::spans::{self, SPANS, SpanPage};
use super::transcript::Kept;
use crate::planted::{Planted, is_planted};
use crate::store::{MetricStore, StoreError};
use plumbago_model::{MetricId, MetricRecord, Policy, PolicyId, Span};

/// Names in one row at most, so that a row stays a few hundred kilobytes.
const NAMES_PAGE: usize = 16_384;

impl MetricStore for Catalogue {
    fn store_id(&self) -> u64 {
        self.store_id
    }

    fn policies(&self) -> Result<Vec<(PolicyId, Policy)>, StoreError> {
        let txn = self.read()?;
        let table = txn.open_table(POLICIES).map_err(failed)?;
        let mut policies = Vec::new();
        for row in table.iter().map_err(failed)? {
            let (id, text) = row.map_err(failed)?;
            let policy = text.value().parse().map_err(StoreError::Catalogue)?;
            policies.push((PolicyId(id.value()), policy));
        }
        Ok(policies)
    }

    fn add_policies(&self, policies: &[(PolicyId, Policy)]) -> Result<(), StoreError> {
        if policies.is_empty() {
            return Ok(());
        }
        self.write(|txn| {
            let mut table = txn.open_table(POLICIES).map_err(failed)?;
            for (id, policy) in policies {
                table.insert(id.0, policy.to_string().as_str()).map_err(failed)?;
            }
            Ok(())
        })
    }

    fn id_bound(&self) -> Result<u32, StoreError> {
        let txn = self.read()?;
        let table = txn.open_table(NAMES).map_err(failed)?;
        let mut bound = 0;
        if let Some((first, page)) = table.last().map_err(failed)? {
            names::decode(first.value(), page.value(), |id, _, _| bound = id + 1)
                .map_err(StoreError::Catalogue)?;
        }
        // A metric that was deleted before it was ever recorded has no name here. A new metric with its id would look deleted.
        let deleted = txn.open_table(DELETED).map_err(failed)?;
        if let Some((last, _)) =
            deleted.last().map_err(failed)?.filter(|_| !is_planted(Planted::NumberReused))
        {
            bound = bound.max(last.value() + 1);
        }
        Ok(bound)
    }

    fn load(&self, visit: &mut dyn FnMut(MetricRecord)) -> Result<(), StoreError> {
        let txn = self.read()?;
        let deleted: HashSet<u32> = self.deleted()?.into_iter().collect();
        let renamed = texts_in(&txn, RENAMED)?;
        let names_table = txn.open_table(NAMES).map_err(failed)?;
        let history = txn.open_table(POLICY_HISTORY).map_err(failed)?;
        let any_history = history.first().map_err(failed)?.is_some();
        let spans_table = txn.open_table(SPANS).map_err(failed)?;
        let mut spans = SpanPage::default();
        for row in names_table.iter().map_err(failed)? {
            let (first, page) = row.map_err(failed)?;
            let damaged =
                |detail| StoreError::Catalogue(format!("names from id {}: {detail}", first.value()));
            let mut problem = Ok(());
            names::decode(first.value(), page.value(), |id, policy, name| {
                if deleted.contains(&id) || problem.is_err() {
                    return;
                }
                let read = || -> Result<(Vec<PolicyId>, Span), StoreError> {
                    let policies =
                        match any_history.then(|| history.get(id).map_err(failed)).transpose()?.flatten() {
                            Some(policies) => policies.value().into_iter().map(PolicyId).collect(),
                            None => vec![PolicyId(policy)],
                        };
                    Ok((policies, spans.get(&spans_table, id)?))
                };
                match read_once(read) {
                    Ok((policies, span)) => {
                        let name = renamed.get(&id).map_or(name, String::as_str).to_owned();
                        visit(MetricRecord { id: MetricId(id), name, policies, span })
                    }
                    Err(error) => problem = Err(error),
                }
            })
            .map_err(damaged)?;
            problem?;
        }
        Ok(())
    }

    fn announce(&self, metrics: &[(MetricId, &str)], now: u32) {
        if let Some((first, _)) = metrics.first() {
            self.calendar.note_created(*first, now);
        }
    }

    fn create(&self, metrics: &[MetricRecord]) -> Result<(), StoreError> {
        let Some(last) = metrics.last() else { return Ok(()) };
        let bound = last.id.0 + 1;
        let minutes = self.write(|txn| {
            let mut table = txn.open_table(NAMES).map_err(failed)?;
            for batch in metrics.chunks(NAMES_PAGE) {
                let Some(first) = batch.first() else { continue };
                // A replay of the log may repeat the same metrics: never lose what a page already holds.
                let known = names_in_force(&table, batch)?;
                let fresh: Vec<&MetricRecord> = batch.iter().filter(|m| !known.contains(&m.id.0)).collect();
                if let Some(first_fresh) = fresh.first() {
                    let page = names::encode(first_fresh.id.0, &fresh);
                    table.insert(first_fresh.id.0, page.as_slice()).map_err(failed)?;
                }
                debug_assert!(first.id.0 <= batch[batch.len() - 1].id.0);
            }
            self.calendar.record_created(txn, bound)
        })?;
        self.calendar.recorded(minutes, bound);
        Ok(())
    }

    fn touch(&self, touched: &[(MetricId, Span)]) -> Result<(), StoreError> {
        if touched.is_empty() {
            return Ok(());
        }
        self.write(|txn| {
            let mut table = txn.open_table(SPANS).map_err(failed)?;
            spans::touch(&mut table, touched)
        })
    }

    fn set_policies(&self, changes: &[(MetricId, Vec<PolicyId>)]) -> Result<(), StoreError> {
        self.write(|txn| {
            let mut table = txn.open_table(POLICY_HISTORY).map_err(failed)?;
            for (id, policies) in changes {
                table.insert(id.0, policies.iter().map(|p| p.0).collect::<Vec<u32>>()).map_err(failed)?;
            }
            Ok(())
        })
    }

    fn rename(&self, names: &[(MetricId, String)]) -> Result<(), StoreError> {
        self.write(|txn| {
            let mut table = txn.open_table(RENAMED).map_err(failed)?;
            for (id, name) in names {
                table.insert(id.0, name.as_str()).map_err(failed)?;
            }
            Ok(())
        })
    }

    fn own(&self, quotas: &[(MetricId, String)]) -> Result<(), StoreError> {
        if quotas.is_empty() {
            return Ok(());
        }
        self.write(|txn| {
            let mut table = txn.open_table(OWNERS).map_err(failed)?;
            for (id, quota) in quotas {
                table.insert(id.0, quota.as_str()).map_err(failed)?;
            }
            Ok(())
        })
    }

    fn owners(&self) -> Result<Vec<(MetricId, String)>, StoreError> {
        Ok(texts_in(&self.read()?, OWNERS)?.into_iter().map(|(id, quota)| (MetricId(id), quota)).collect())
    }

    fn delete(&self, metrics: &[MetricId]) -> Result<(), StoreError> {
        self.write(|txn| {
            let mut owners = txn.open_table(OWNERS).map_err(failed)?;
            let mut table = txn.open_table(DELETED).map_err(failed)?;
            let mut renamed = txn.open_table(RENAMED).map_err(failed)?;
            for id in metrics {
                table.insert(id.0, ()).map_err(failed)?;
                renamed.remove(id.0).map_err(failed)?;
                owners.remove(id.0).map_err(failed)?;
            }
            Ok(())
        })?;
        self.calendar.forget(metrics);
        Ok(())
    }
}

/// Allows a closure that borrows mutably to be called from one that is called repeatedly.
fn read_once<T>(read: impl FnOnce() -> T) -> T {
    read()
}

/// A table of texts by metric.
fn texts_in(
    txn: &redb::ReadTransaction,
    table: TableDefinition<'_, u32, &'static str>,
) -> Result<HashMap<u32, String>, StoreError> {
    let table = txn.open_table(table).map_err(failed)?;
    let rows = table.iter().map_err(failed)?;
    rows.map(|row| row.map(|(id, name)| (id.value(), name.value().to_owned())).map_err(failed)).collect()
}

/// Which of `batch` the catalogue already has.
fn names_in_force(
    table: &Kept<'_, u32, &'static [u8]>,
    batch: &[MetricRecord],
) -> Result<HashSet<u32>, StoreError> {
    let mut known = HashSet::new();
    let (Some(first), Some(last)) = (batch.first(), batch.last()) else { return Ok(known) };
    let before = table.range(..first.id.0).map_err(failed)?.next_back();
    let inside = table.range(first.id.0..=last.id.0).map_err(failed)?;
    for row in before.into_iter().chain(inside) {
        let (start, page) = row.map_err(failed)?;
        names::decode(start.value(), page.value(), |id, _, _| {
            known.insert(id);
        })
        .map_err(StoreError::Catalogue)?;
    }
    Ok(known)
}
