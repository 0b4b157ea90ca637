//! All accounts, and the metrics that belong to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ahash::AHashMap;

use super::Leave;
use super::account::{Account, Limit};
use super::charge::Charge;
use super::matching::{Asked, Matching};
use crate::auth::Sender;
use crate::config::Quota;
use crate::telemetry::QuotaUse;
use plumbago_model::{MetricId, Reject};

/// The place of an account.
type AccountId = u32;

/// Accounts to which the same metrics belong. The first is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SetId(u32);

/// A set for each metric; by its number, since numbers are dense.
#[derive(Debug, Default)]
pub(super) struct Belonging(Vec<u32>);

impl Belonging {
    pub(super) fn get(&self, id: MetricId) -> Option<SetId> {
        self.0.get(id.index()).and_then(|set| set.checked_sub(1)).map(SetId)
    }

    fn put(&mut self, id: MetricId, set: SetId) {
        if self.0.len() <= id.index() {
            self.0.resize(id.index() + 1, 0);
        }
        if let Some(place) = self.0.get_mut(id.index()) {
            *place = set.0 + 1;
        }
    }

    fn remove(&mut self, id: MetricId) -> Option<SetId> {
        let set = self.get(id);
        if let Some(place) = self.0.get_mut(id.index()) {
            *place = 0;
        }
        set
    }
}

/// A quota and what was refused by it.
#[derive(Debug)]
struct Held {
    quota: Quota,
    refused: [AtomicU64; Limit::ALL.len()],
}

impl Held {
    fn refuse(&self, limit: Limit, points: u64) {
        self.refused[limit as usize].fetch_add(points, Ordering::Relaxed);
    }
}

/// The accounts of one set.
#[derive(Debug, Default)]
struct Set {
    accounts: Box<[AccountId]>,
    /// Of these, those that limit points.
    metered: Box<[AccountId]>,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    quotas: Vec<Held>,
    matching: Matching,
    accounts: Vec<Account>,
    /// Accounts by quota and directory.
    places: AHashMap<(usize, Box<str>), AccountId>,
    sets: Vec<Set>,
    known_sets: AHashMap<Box<[AccountId]>, SetId>,
    counted: Belonging,
    /// The quotas by which creators of metrics were bound, where names do not tell.
    owners: AHashMap<MetricId, Arc<str>>,
    /// Where the points of senders go who fulfil these conditions. Without such conditions they go where the metric is counted.
    by_sender: AHashMap<Asked, Belonging>,
    unknown: Belonging,
}

impl Ledger {
    /// Without metrics. What was refused, and who created what, is taken over.
    pub(super) fn after(old: &Ledger, quotas: &[Quota]) -> Self {
        let held = |quota: &Quota| {
            let before = old.quotas.iter().find(|held| held.quota.name == quota.name);
            let refused = |limit: usize| {
                let counter = before.and_then(|held| held.refused.get(limit));
                AtomicU64::new(counter.map_or(0, |counter| counter.load(Ordering::Relaxed)))
            };
            Held { quota: quota.clone(), refused: std::array::from_fn(refused) }
        };
        let mut new = Self {
            quotas: quotas.iter().map(held).collect(),
            matching: Matching::new(quotas),
            owners: old.owners.clone(),
            ..Self::default()
        };
        new.set(Vec::new());
        // Each shows its numbers from the beginning; directories come with their first metric.
        for (place, quota) in quotas.iter().enumerate() {
            if !matches!(quota.reach, crate::config::Reach::Directories(_)) {
                new.account(place, "");
            }
        }
        new
    }

    /// The quotas, in order.
    pub(super) fn quotas(&self) -> impl Iterator<Item = &Quota> {
        self.quotas.iter().map(|held| &held.quota)
    }

    /// May this sender create a metric? Counts it if not.
    pub(super) fn may_create(&self, name: &str, sender: &Sender, now: u32) -> Result<Leave, Reject> {
        let asked = self.matching.asked(sender);
        for (quota, directory) in self.members(name, &asked) {
            let Some(held) = self.quotas.get(quota) else { continue };
            let known = self.find(quota, directory);
            let limits = &held.quota.limits;
            let limit = match known {
                Some(account) => account.limit_of_new(limits, now),
                None => Account::new(quota, directory, limits).limit_of_new(limits, now),
            };
            if let Some(limit) = limit {
                held.refuse(limit, 1);
                if !held.quota.dry_run {
                    return Err(Reject::Quota);
                }
            }
        }
        let own = self.matching.own(name, &asked).and_then(|place| self.quotas.get(place));
        let owner = own.filter(|held| held.quota.asks_for_sender()).map(|held| held.quota.name.clone());
        Ok(Leave { owner })
    }

    /// For each of these names, have its quotas room for a metric that comes from elsewhere? Counts it if not.
    pub(super) fn have_room<'a>(&'a self, names: &[&'a str], sender: &Sender) -> Vec<bool> {
        let asked = self.matching.asked(sender);
        let mut coming: AHashMap<(usize, &str), u64> = AHashMap::new();
        let mut has_room = |name: &'a str| {
            let members = self.members(name, &asked);
            let full = members.iter().filter_map(|&(quota, directory)| {
                let held = self.quotas.get(quota)?;
                let there = self.find(quota, directory).map_or(0, |account| account.metrics);
                let coming = coming.get(&(quota, directory)).copied().unwrap_or(0);
                let is_full = held.quota.limits.metrics.is_some_and(|most| there + coming >= most);
                is_full.then_some(held)
            });
            let full: Vec<&Held> = full.collect();
            full.iter().for_each(|held| held.refuse(Limit::Metrics, 1));
            let has_room = full.iter().all(|held| held.quota.dry_run);
            if has_room {
                members.iter().for_each(|member| *coming.entry(*member).or_default() += 1);
            }
            has_room
        };
        names.iter().map(|&name| has_room(name)).collect()
    }

    /// Counts a metric that is created by leave.
    pub(super) fn create(&mut self, id: MetricId, name: &str, leave: &Leave, now: u32) {
        if let Some(owner) = &leave.owner {
            self.own(id, owner);
        }
        let set = self.place(id, name);
        for account in self.accounts_of(set) {
            if let Some(account) = self.accounts.get_mut(account as usize) {
                account.create(now);
            }
        }
    }

    /// Counts a metric, if it is not counted.
    pub(super) fn count(&mut self, id: MetricId, name: &str) {
        if self.counted.get(id).is_some() {
            return;
        }
        let set = self.place(id, name);
        for account in self.accounts_of(set) {
            if let Some(account) = self.accounts.get_mut(account as usize) {
                account.metrics += 1;
            }
        }
    }

    /// Notes by whose quota a metric is counted.
    pub(super) fn own(&mut self, id: MetricId, quota: &str) {
        self.owners.insert(id, quota.into());
    }

    pub(super) fn forget(&mut self, id: MetricId) {
        self.owners.remove(&id);
        self.leave(id);
    }

    pub(super) fn rename(&mut self, id: MetricId, name: &str) {
        self.leave(id);
        self.count(id, name);
    }

    fn leave(&mut self, id: MetricId) {
        self.by_sender.values_mut().for_each(|belonging| _ = belonging.remove(id));
        let Some(set) = self.counted.remove(id) else { return };
        for account in self.accounts_of(set) {
            if let Some(account) = self.accounts.get_mut(account as usize) {
                account.metrics = account.metrics.saturating_sub(1);
            }
        }
    }

    /// Where the points of a sender go.
    pub(super) fn sets_for(&self, sender: &Sender) -> &Belonging {
        if !self.quotas.iter().any(|held| held.quota.asks_for_sender()) {
            return &self.counted;
        }
        self.by_sender.get(&self.matching.asked(sender)).unwrap_or(&self.unknown)
    }

    /// Finds out where a sender's points of a metric go.
    pub(super) fn learn(&mut self, id: MetricId, name: &str, sender: &Sender) {
        let asked = self.matching.asked(sender);
        let set = self.set_of(name, &asked);
        self.by_sender.entry(asked).or_default().put(id, set);
    }

    /// Does a set limit points?
    pub(super) fn meters(&self, set: SetId) -> bool {
        self.sets.get(set.0 as usize).is_some_and(|set| !set.metered.is_empty())
    }

    /// Takes up to so many points from all accounts of a set, and says how many.
    pub(super) fn take(&self, set: SetId, points: u64, now: u32, charge: &mut Charge) -> u64 {
        let Some(set) = self.sets.get(set.0 as usize) else { return points };
        let mut left = points;
        let mut taken = Vec::with_capacity(set.metered.len());
        for account in set.metered.iter().filter_map(|id| self.accounts.get(*id as usize)) {
            let Some(held) = self.quotas.get(account.quota) else { continue };
            let most = held.quota.limits.points_per_minute.unwrap_or(u64::MAX);
            let got = account.points.lock().take(left, most, now);
            if got < left {
                held.refuse(Limit::Points, left - got);
            }
            taken.push((account, got));
            if !held.quota.dry_run {
                left = got;
            }
        }
        for (account, got) in taken {
            // A point that one account refuses is no point for the others.
            let excess = got.saturating_sub(left);
            account.points.lock().give_back(excess, now);
            charge.add(&account.points, got - excess);
        }
        left
    }

    /// What each quota allows and how much of it is used: of several directories, by the fullest.
    pub(super) fn usage(&self, now: u32) -> Vec<QuotaUse> {
        let mut fullest: Vec<[(u64, &str); Limit::ALL.len()]> = vec![Default::default(); self.quotas.len()];
        for account in &self.accounts {
            let Some(of_quota) = fullest.get_mut(account.quota) else { continue };
            for limit in Limit::ALL {
                let used = account.used(limit, now);
                let most = &mut of_quota[limit as usize];
                if used >= most.0 {
                    *most = (used, &account.directory);
                }
            }
        }
        let each = self.quotas.iter().zip(fullest);
        each.flat_map(|(held, used)| Limit::ALL.map(|limit| held.usage(limit, used[limit as usize])))
            .flatten()
            .collect()
    }

    /// The quotas of a name and the directories for which they apply.
    fn members<'a>(&'a self, name: &'a str, asked: &Asked) -> Vec<(usize, &'a str)> {
        let own = self.matching.own(name, asked).map(|quota| (quota, ""));
        let root = self.matching.root().map(|quota| (quota, ""));
        let above = self.matching.above(name).map(|above| (above.quota, above.directory));
        own.into_iter().chain(root).chain(above).collect()
    }

    fn find(&self, quota: usize, directory: &str) -> Option<&Account> {
        let id = self.places.get(&(quota, Box::from(directory)))?;
        self.accounts.get(*id as usize)
    }

    fn account(&mut self, quota: usize, directory: &str) -> AccountId {
        let next = u32::try_from(self.accounts.len()).unwrap_or(u32::MAX);
        let id = *self.places.entry((quota, directory.into())).or_insert(next);
        if id == next {
            let limits = self.quotas.get(quota).map(|held| held.quota.limits).unwrap_or_default();
            self.accounts.push(Account::new(quota, directory, &limits));
        }
        id
    }

    /// Puts a metric where its name and its creator say.
    fn place(&mut self, id: MetricId, name: &str) -> SetId {
        let owner = self.owners.get(&id);
        let owner = owner.and_then(|owner| self.quotas.iter().position(|held| held.quota.name == **owner));
        let set = self.set_of(name, &Asked(owner.into_iter().collect()));
        self.counted.put(id, set);
        set
    }

    fn set_of(&mut self, name: &str, asked: &Asked) -> SetId {
        let members: Vec<(usize, String)> = self
            .members(name, asked)
            .into_iter()
            .map(|(quota, directory)| (quota, directory.to_owned()))
            .collect();
        let accounts = members.iter().map(|(quota, directory)| self.account(*quota, directory)).collect();
        self.set(accounts)
    }

    fn set(&mut self, accounts: Vec<AccountId>) -> SetId {
        if let Some(known) = self.known_sets.get(accounts.as_slice()) {
            return *known;
        }
        let limits_points = |id: &AccountId| {
            let account = self.accounts.get(*id as usize);
            let held = account.and_then(|account| self.quotas.get(account.quota));
            held.is_some_and(|held| held.quota.limits.points_per_minute.is_some())
        };
        let metered = accounts.iter().copied().filter(limits_points).collect();
        let id = SetId(u32::try_from(self.sets.len()).unwrap_or(u32::MAX));
        self.known_sets.insert(accounts.clone().into(), id);
        self.sets.push(Set { accounts: accounts.into(), metered });
        id
    }

    /// How many accounts there are.
    #[cfg(test)]
    pub(super) fn account_count(&self) -> usize {
        self.accounts.len()
    }

    /// Quota, directory and metrics of each account that has any, in order.
    #[cfg(test)]
    pub(super) fn metrics(&self) -> Vec<(usize, String, u64)> {
        let used = self.accounts.iter().filter(|account| account.metrics > 0);
        let mut metrics: Vec<_> =
            used.map(|account| (account.quota, account.directory.to_string(), account.metrics)).collect();
        metrics.sort();
        metrics
    }

    fn accounts_of(&self, set: SetId) -> Box<[AccountId]> {
        self.sets.get(set.0 as usize).map(|set| set.accounts.clone()).unwrap_or_default()
    }
}

impl Held {
    /// Nothing is said of a limit that there is not, but for the number of metrics.
    fn usage(&self, limit: Limit, (used, directory): (u64, &str)) -> Option<QuotaUse> {
        let Quota { name, origin, limits, dry_run, .. } = &self.quota;
        let (most, per) = match limit {
            Limit::Metrics => (limits.metrics, 1.0),
            Limit::NewMetrics => (limits.new_metrics_per_minute, 1.0),
            Limit::Points => (limits.points_per_minute, 60.0),
        };
        if most.is_none() && limit != Limit::Metrics {
            return None;
        }
        Some(QuotaUse {
            quota: name.clone(),
            origin: origin.clone(),
            limit: limit.label(),
            dry_run: *dry_run,
            used: used as f64 / per,
            most: most.map(|most| most as f64 / per),
            refused: self.refused[limit as usize].load(Ordering::Relaxed),
            fullest: Some(directory.to_owned()).filter(|directory| !directory.is_empty()),
        })
    }
}
