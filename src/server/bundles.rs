//! Metrics with all they have, in and out of the store.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::engine::{Engine, now};
use crate::auth::Sender;
use crate::bundle::{Archive, Bundle, fit};
use crate::http::{ImportOptions, Imported, Moving};
use crate::quotas::Size;
use crate::rollup::Load;
use plumbago_model::{MetricId, Policy, QueryError, Reject, name};

impl Moving for Engine {
    fn max_import_bytes(&self) -> usize {
        self.config.http.max_import_bytes
    }

    fn import(&self, bundles: Vec<Bundle>, options: ImportOptions) -> Result<Imported, QueryError> {
        self.import_from(&Sender::default(), bundles, options)
    }

    fn export(
        &self,
        names: &[&str],
        window: (u32, u32),
        visit: &mut dyn FnMut(Bundle) -> ControlFlow<()>,
    ) -> Result<(), QueryError> {
        let now = now();
        let mut ids = Vec::with_capacity(names.len());
        self.index.read().lookup_many(names.iter().copied(), &mut ids);
        for (name, id) in names.iter().zip(ids) {
            let Some(id) = id else { continue };
            let Some(policy) = self.policy_of(id) else { continue };
            let Some(columns) = self.points.unload(id, window, now)? else { continue };
            let stages = policy.retention.stages().iter().zip(columns);
            let archive = |(stage, column): (&plumbago_model::Stage, _)| Archive {
                step_secs: stage.step_secs,
                points: stage.points,
                column,
            };
            let archives = stages.map(archive).collect();
            let bundle = Bundle { name: (*name).to_owned(), policy: (*policy).clone(), archives };
            if visit(bundle).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A name as it is stored, the policy it gets if it is new, and what it brings.
type Named = (String, Arc<Policy>, Bundle);

impl Engine {
    /// Imports for one caller.
    pub(super) fn import_from(
        &self,
        sender: &Sender,
        bundles: Vec<Bundle>,
        options: ImportOptions,
    ) -> Result<Imported, QueryError> {
        if self.paused.load(Ordering::Relaxed) {
            let text =
                "the disk is full: nothing is imported until there is space again (store.reserve_bytes)";
            return Err(QueryError::Away(text.into()));
        }
        let now = now();
        let _none_is_forgotten = self.importing.read();
        let mut imported = Imported::default();
        let named = self.named(bundles, options, &mut imported);
        let (ids, created) = self.find_or_adopt(&named, sender, &mut imported)?;
        // Without all names in memory, a name that is new here may be an old one of the cluster.
        let knows_all = self.store.upstream.knows_all_names();
        let mut loads: Vec<Load> = Vec::with_capacity(ids.len());
        for ((_, _, bundle), id) in named.iter().zip(ids) {
            if let Some(mut load) = id.and_then(|id| self.fitted(id, bundle, options.window, now)) {
                load.is_new = knows_all && created.contains(&load.id);
                loads.push(load);
            }
        }
        loads.sort_by_key(|load| load.id);
        loads.dedup_by_key(|load| load.id);
        let loaded = self.points.load(&loads, now)?;
        imported.metrics = loads.len() as u64;
        imported.points = loaded.points;
        imported.aggregates = loaded.aggregates;
        imported.there = loaded.there;
        self.telemetry.points_imported.add(loaded.points + loaded.aggregates);
        Ok(imported)
    }

    fn policy_of(&self, id: MetricId) -> Option<Arc<Policy>> {
        self.points.policies().get(self.points.state(id)?.0)
    }

    /// The bundles whose names can be names.
    fn named(&self, bundles: Vec<Bundle>, options: ImportOptions, imported: &mut Imported) -> Vec<Named> {
        let (mut named, rules) = (Vec::with_capacity(bundles.len()), self.retention());
        for bundle in bundles {
            match name::canonical(&bundle.name, self.config.ingest.max_name_bytes) {
                Ok(name) => {
                    let policy = if options.keep_policy {
                        bundle.policy.clone()
                    } else {
                        rules.policy_for(&name, bundle.policy.arrival()).policy
                    };
                    named.push((name.into_owned(), Arc::new(policy), bundle));
                }
                Err(error) => imported.refused.push((bundle.name, error.to_string())),
            }
        }
        named
    }

    /// For each of them its metric, made if it is new and neither `ingest.max_metrics` nor a quota is in the way; and the new ones.
    fn find_or_adopt(
        &self,
        named: &[Named],
        sender: &Sender,
        imported: &mut Imported,
    ) -> Result<(Vec<Option<MetricId>>, HashSet<MetricId>), QueryError> {
        let most = usize::try_from(self.config.ingest.max_metrics).unwrap_or(usize::MAX);
        let mut fresh: HashMap<String, Arc<Policy>> = HashMap::new();
        {
            let index = self.index.read();
            for (name, policy, _) in named {
                if index.lookup(name.as_bytes()).is_some() || fresh.contains_key(name) {
                    continue;
                }
                if most > 0 && index.len() + fresh.len() >= most {
                    let reason = Reject::MetricLimit;
                    self.telemetry.reject(reason, 1);
                    imported.refused.push((name.clone(), format!("{} (ingest.max_metrics)", reason.label())));
                } else {
                    fresh.insert(name.clone(), Arc::clone(policy));
                }
            }
        }
        let fresh = self.within_quotas(fresh, sender, imported);
        let created = self.adopt(&fresh)?;
        imported.created = created.len() as u64;
        self.telemetry.metrics_created.add(imported.created);
        let mut ids = Vec::with_capacity(named.len());
        self.index.read().lookup_many(named.iter().map(|(name, ..)| &**name), &mut ids);
        Ok((ids, created.into_iter().collect()))
    }

    /// Those of the new metrics for which the quotas have room.
    fn within_quotas(
        &self,
        fresh: HashMap<String, Arc<Policy>>,
        sender: &Sender,
        imported: &mut Imported,
    ) -> Vec<(String, Arc<Policy>)> {
        let mut fresh: Vec<(String, Arc<Policy>)> = fresh.into_iter().collect();
        let size = |policy: &Policy| self.quotas.size(|| Size::of(&policy.retention));
        let sized: Vec<(&str, Size)> = fresh.iter().map(|(name, policy)| (&**name, size(policy))).collect();
        let mut full = self.quotas.full(&sized, sender).into_iter();
        fresh.retain(|(name, _)| {
            let Some(limit) = full.next().flatten() else { return true };
            self.telemetry.reject(Reject::Quota, 1);
            imported.refused.push((name.clone(), format!("{} ({limit})", Reject::Quota.label())));
            false
        });
        fresh
    }

    fn fitted(&self, id: MetricId, bundle: &Bundle, (from, until): (u32, u32), now: u32) -> Option<Load> {
        let policy = self.policy_of(id)?;
        let mut columns = fit(bundle, &policy, now);
        columns.iter_mut().for_each(|column| column.keep(from, until));
        Some(Load { id, columns, is_new: false })
    }
}
