//! All accounts, and the metrics that belong to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ahash::{AHashMap, AHashSet};

use super::Leave;
use super::account::{Account, Limit};
use super::charge::Charge;
use super::matching::{self, Asked, Matching};
use super::stock::{Size, Stock};
use crate::auth::Sender;
use crate::config::Quota;
use crate::telemetry::QuotaUse;
use plumbago_model::{MetricId, Reject};

/// The place of an account.
type AccountId = u32;

/// The place of a namespace.
type NamespaceId = u32;

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

/// What the metrics of one set have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Membership {
    accounts: Box<[AccountId]>,
    namespaces: Box<[NamespaceId]>,
    size: Size,
}

/// The metrics of one membership.
#[derive(Debug, Default)]
struct Set {
    membership: Arc<Membership>,
    /// Of the accounts, those that limit points.
    metered: Box<[AccountId]>,
}

/// A directory directly below that of an account which limits them.
#[derive(Debug)]
struct Namespace {
    of: AccountId,
    metrics: u64,
}

/// What a quota applies to a name by, where its directories have accounts of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Member<'a> {
    quota: usize,
    directory: &'a str,
    /// The directory directly below it, if the quota limits those.
    namespace: Option<&'a str>,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    quotas: Vec<Held>,
    matching: Matching,
    accounts: Vec<Account>,
    /// Accounts by quota and directory.
    places: AHashMap<(usize, Box<str>), AccountId>,
    namespaces: Vec<Namespace>,
    known_namespaces: AHashMap<(AccountId, Box<str>), NamespaceId>,
    sets: Vec<Set>,
    known_sets: AHashMap<Arc<Membership>, SetId>,
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
        new.set(Membership::default());
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
    pub(super) fn may_create(
        &self,
        name: &str,
        size: Size,
        sender: &Sender,
        now: u32,
    ) -> Result<Leave, Reject> {
        let asked = self.matching.asked(sender);
        for member in self.members(name, &asked) {
            let Some(held) = self.quotas.get(member.quota) else { continue };
            let known = self.find(member).and_then(|id| self.accounts.get(id as usize));
            let limits = &held.quota.limits;
            let coming = Stock { namespaces: u64::from(self.opens(member)), ..Stock::one(size) };
            let limit = match known {
                Some(account) => account.limit_of_new(limits, coming, now),
                None => {
                    Account::new(member.quota, member.directory, limits).limit_of_new(limits, coming, now)
                }
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
        Ok(Leave { owner, size })
    }

    /// For each of these metrics that come from elsewhere the limit that has no room for it, if there is one. Counts it then.
    pub(super) fn full<'a>(&'a self, metrics: &[(&'a str, Size)], sender: &Sender) -> Vec<Option<Limit>> {
        let asked = self.matching.asked(sender);
        let mut coming: AHashMap<(usize, &str), Stock> = AHashMap::new();
        let mut opened: AHashSet<Member<'_>> = AHashSet::new();
        let full = |&(name, size): &(&'a str, Size)| {
            let (members, mut refused) = (self.members(name, &asked), None);
            let mut granted = Vec::with_capacity(members.len());
            for member in members {
                let Some(held) = self.quotas.get(member.quota) else { continue };
                let key = (member.quota, member.directory);
                let opens = self.opens(member) && !opened.contains(&member);
                let one = Stock { namespaces: u64::from(opens), ..Stock::one(size) };
                let mut all = coming.get(&key).copied().unwrap_or_default();
                all.add(one);
                let known = self.find(member).and_then(|id| self.accounts.get(id as usize));
                let limit = match known {
                    Some(account) => account.limit_of_stock(&held.quota.limits, all),
                    None => Account::new(member.quota, "", &held.quota.limits)
                        .limit_of_stock(&held.quota.limits, all),
                };
                if let Some(limit) = limit {
                    held.refuse(limit, 1);
                    refused = refused.or(Some(limit).filter(|_| !held.quota.dry_run));
                }
                granted.push((key, one, member));
            }
            if refused.is_none() {
                for (key, one, member) in granted {
                    coming.entry(key).or_default().add(one);
                    opened.extend((one.namespaces > 0).then_some(member));
                }
            }
            refused
        };
        metrics.iter().map(full).collect()
    }

    /// Counts a metric that is created by leave.
    pub(super) fn create(&mut self, id: MetricId, name: &str, leave: &Leave, now: u32) {
        if let Some(owner) = &leave.owner {
            self.own(id, owner);
        }
        let membership = self.place(id, name, leave.size);
        for account in &membership.accounts {
            if let Some(account) = self.accounts.get_mut(*account as usize) {
                account.create(now);
            }
        }
    }

    /// Counts a metric, if it is not counted.
    pub(super) fn count(&mut self, id: MetricId, name: &str, size: Size) {
        if self.counted.get(id).is_none() {
            self.place(id, name, size);
        }
    }

    /// A metric that is counted is kept in another way.
    pub(super) fn resize(&mut self, id: MetricId, size: Size) {
        let Some(old) = self.leave(id) else { return };
        self.enter(id, Membership { size, ..Membership::clone(&old) });
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
        let size = self.leave(id).map(|old| old.size).unwrap_or_default();
        self.count(id, name, size);
    }

    /// Puts a metric into a set, and counts it.
    fn enter(&mut self, id: MetricId, membership: Membership) -> Arc<Membership> {
        let set = self.set(membership);
        self.counted.put(id, set);
        let membership = self.membership(set);
        for account in &membership.accounts {
            if let Some(account) = self.accounts.get_mut(*account as usize) {
                account.stock.add(Stock::one(membership.size));
            }
        }
        for namespace in &membership.namespaces {
            let Some(namespace) = self.namespaces.get_mut(*namespace as usize) else { continue };
            namespace.metrics += 1;
            if let Some(account) =
                self.accounts.get_mut(namespace.of as usize).filter(|_| namespace.metrics == 1)
            {
                account.stock.namespaces += 1;
            }
        }
        membership
    }

    /// Takes a metric out of its set.
    fn leave(&mut self, id: MetricId) -> Option<Arc<Membership>> {
        self.by_sender.values_mut().for_each(|belonging| _ = belonging.remove(id));
        let membership = self.counted.remove(id).map(|set| self.membership(set))?;
        for account in &membership.accounts {
            if let Some(account) = self.accounts.get_mut(*account as usize) {
                account.stock.remove(Stock::one(membership.size));
            }
        }
        for namespace in &membership.namespaces {
            let Some(namespace) = self.namespaces.get_mut(*namespace as usize) else { continue };
            namespace.metrics -= 1;
            if let Some(account) =
                self.accounts.get_mut(namespace.of as usize).filter(|_| namespace.metrics == 0)
            {
                account.stock.namespaces -= 1;
            }
        }
        Some(membership)
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
        let membership = self.membership_of(name, &asked, Size::default());
        let set = self.set(membership);
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
    fn members<'a>(&'a self, name: &'a str, asked: &Asked) -> Vec<Member<'a>> {
        let own = self.matching.own(name, asked).map(|quota| (quota, "", None));
        let root = self.matching.root().map(|quota| (quota, "", matching::top(name)));
        let above = self.matching.above(name);
        let above = above.map(|above| (above.quota, above.directory, above.namespace));
        let limits_namespaces =
            |quota: usize| self.quotas.get(quota).is_some_and(|held| held.quota.limits.namespaces.is_some());
        let all = own.into_iter().chain(root).chain(above);
        all.map(|(quota, directory, namespace)| Member {
            quota,
            directory,
            namespace: namespace.filter(|_| limits_namespaces(quota)),
        })
        .collect()
    }

    /// Would a metric be the first in its namespace?
    fn opens(&self, member: Member<'_>) -> bool {
        let Some(name) = member.namespace else { return false };
        let known = self.find(member).and_then(|account| self.known_namespaces.get(&(account, name.into())));
        known.and_then(|id| self.namespaces.get(*id as usize)).is_none_or(|namespace| namespace.metrics == 0)
    }

    fn find(&self, member: Member<'_>) -> Option<AccountId> {
        self.places.get(&(member.quota, Box::from(member.directory))).copied()
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

    fn namespace(&mut self, of: AccountId, name: &str) -> NamespaceId {
        let next = u32::try_from(self.namespaces.len()).unwrap_or(u32::MAX);
        let id = *self.known_namespaces.entry((of, name.into())).or_insert(next);
        if id == next {
            self.namespaces.push(Namespace { of, metrics: 0 });
        }
        id
    }

    /// Puts a metric where its name and its creator say.
    fn place(&mut self, id: MetricId, name: &str, size: Size) -> Arc<Membership> {
        let owner = self.owners.get(&id);
        let owner = owner.and_then(|owner| self.quotas.iter().position(|held| held.quota.name == **owner));
        let membership = self.membership_of(name, &Asked(owner.into_iter().collect()), size);
        self.enter(id, membership)
    }

    fn membership_of(&mut self, name: &str, asked: &Asked, size: Size) -> Membership {
        let owned = |member: Member<'_>| {
            (member.quota, member.directory.to_owned(), member.namespace.map(str::to_owned))
        };
        let members: Vec<_> = self.members(name, asked).into_iter().map(owned).collect();
        let (mut accounts, mut namespaces) = (Vec::with_capacity(members.len()), Vec::new());
        for (quota, directory, namespace) in members {
            let account = self.account(quota, &directory);
            accounts.push(account);
            namespaces.extend(namespace.map(|name| self.namespace(account, &name)));
        }
        Membership { accounts: accounts.into(), namespaces: namespaces.into(), size }
    }

    fn set(&mut self, membership: Membership) -> SetId {
        if let Some(known) = self.known_sets.get(&membership) {
            return *known;
        }
        let limits_points = |id: &AccountId| {
            let account = self.accounts.get(*id as usize);
            let held = account.and_then(|account| self.quotas.get(account.quota));
            held.is_some_and(|held| held.quota.limits.points_per_minute.is_some())
        };
        let metered = membership.accounts.iter().copied().filter(limits_points).collect();
        let id = SetId(u32::try_from(self.sets.len()).unwrap_or(u32::MAX));
        let membership = Arc::new(membership);
        self.known_sets.insert(Arc::clone(&membership), id);
        self.sets.push(Set { membership, metered });
        id
    }

    /// How many accounts there are.
    #[cfg(test)]
    pub(super) fn account_count(&self) -> usize {
        self.accounts.len()
    }

    /// Quota, directory and stock of each account.
    #[cfg(test)]
    pub(super) fn stocks(&self) -> Vec<((usize, String), Stock)> {
        self.accounts
            .iter()
            .map(|account| ((account.quota, account.directory.to_string()), account.stock))
            .collect()
    }

    fn membership(&self, set: SetId) -> Arc<Membership> {
        self.sets.get(set.0 as usize).map(|set| Arc::clone(&set.membership)).unwrap_or_default()
    }
}

impl Held {
    /// Nothing is said of a limit that there is not, but for the number of metrics.
    fn usage(&self, limit: Limit, (used, directory): (u64, &str)) -> Option<QuotaUse> {
        let Quota { name, origin, limits, dry_run, .. } = &self.quota;
        let most = limit.most(limits);
        let per = if limit == Limit::Points { 60.0 } else { 1.0 };
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
