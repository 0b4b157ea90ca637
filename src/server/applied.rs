//! What the rules in force do to a name, whether there is such a metric or not.

use super::engine::Engine;
use crate::config::Quota;
use crate::http::browser::{AppliedQuota, Browse as _, RuledName};
use crate::quotas::{Asked, Matching};
use plumbago_model::{Arrival, Cancel, QueryError, name};

/// A quota that applies to a name.
pub struct Applying<'a> {
    /// The quota.
    pub quota: &'a Quota,
    /// The directory for which it does, if each has its own limits.
    pub directory: Option<&'a str>,
}

/// The quotas that apply to a canonical name: first those that ask who sends, then that of all others, then those of directories.
pub fn applying_quotas<'a>(quotas: &'a [Quota], matching: &'a Matching, name: &'a str) -> Vec<Applying<'a>> {
    let own = matching.asking(name).chain(matching.own(name, &Asked::default())).chain(matching.root());
    let own = own.map(|place| (place, None));
    let above = matching.above(name).map(|above| (above.quota, Some(above.directory)));
    let found = own.chain(above).filter_map(|(place, directory)| Some((quotas.get(place)?, directory)));
    found.map(|(quota, directory)| Applying { quota, directory }).collect()
}

impl Engine {
    /// What happens to points that are sent under a name.
    pub(super) fn try_name(&self, sent: &str, cancel: &Cancel) -> Result<RuledName, QueryError> {
        let outcome = self.rules.as_ref().map(|rules| rules.outcome(sent)).unwrap_or_default();
        let stored = outcome.renamed.as_deref().unwrap_or(sent);
        let stored = name::canonical(stored, self.config.ingest.max_name_bytes);
        let stored = stored.map_err(|error| QueryError::Invalid(error.to_string()))?;
        let there = self.describe(&stored, cancel)?;
        let exists = there.is_some();
        let new = || self.ruled(&stored, &self.retention().policy_for(&stored, Arrival::default()).policy);
        Ok(RuledName {
            refused: outcome.refused,
            aggregates: outcome.aggregates,
            exists,
            metric: there.unwrap_or_else(new),
            quotas: self.quotas_for(&stored),
        })
    }

    fn quotas_for(&self, name: &str) -> Vec<AppliedQuota> {
        let quotas = self.quota_rules.read();
        let matching = Matching::new(&quotas);
        let applied = |Applying { quota, directory }: Applying<'_>| AppliedQuota {
            name: quota.name.clone(),
            origin: quota.origin.clone(),
            limits: quota.in_words(),
            asks_for_sender: quota.asks_for_sender(),
            directory: directory.map(str::to_owned),
        };
        applying_quotas(&quotas, &matching, name).into_iter().map(applied).collect()
    }
}
