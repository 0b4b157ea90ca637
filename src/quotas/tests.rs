//! The accounts compared with a plain count of all metrics, and what is refused.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::stock::Stock;
use super::*;
use crate::config::{Addresses, QuotaLimits, Reach};
use plumbago_model::Scope;
use plumbago_model::glob::Glob;

const NOW: u32 = 1_800_000_000;

/// Sizes of metrics.
const SMALL: Size = Size { points: 10, logical: 200, physical: 20 };
const LARGE: Size = Size { points: 1000, logical: 13_000, physical: 2000 };

fn quota(name: &str, scope: &[&str], limits: QuotaLimits) -> Quota {
    Quota {
        name: name.to_owned(),
        origin: "p.toml:1".to_owned(),
        reach: Reach::Metrics(Scope::of(scope.iter().copied()).unwrap()),
        users: Vec::new(),
        from: Addresses::default(),
        limits,
        dry_run: false,
    }
}

fn at_most(metrics: u64) -> QuotaLimits {
    QuotaLimits { metrics: Some(metrics), ..QuotaLimits::default() }
}

fn user(name: &str) -> Sender {
    Sender { user: Some(name.into()), ..Sender::default() }
}

/// Creates metrics with these names, as far as that is allowed; their numbers begin with `first`. Gives the names that were refused.
fn create<'a>(quotas: &Quotas, first: u32, names: &[&'a str], sender: &Sender, now: u32) -> Vec<&'a str> {
    let mut refused = Vec::new();
    for (id, name) in (first..).zip(names) {
        match quotas.may_create(name, SMALL, sender, now) {
            Ok(leave) => quotas.create(MetricId(id), name, &leave, now),
            Err(_) => refused.push(*name),
        }
    }
    refused
}

fn usage(quotas: &Quotas, quota: &str, limit: &str) -> (f64, u64) {
    let all = quotas.usage(NOW);
    let found = all.iter().find(|usage| usage.quota == quota && usage.limit == limit).unwrap();
    (found.used, found.refused)
}

#[test]
fn a_full_quota_refuses_new_metrics_until_one_leaves() {
    let quotas = Quotas::new(&[quota("a", &["a"], at_most(2)), quota("rest", &[], at_most(9))]);
    let nobody = Sender::default();
    for (id, name) in (0..).zip(["a.x", "a.y"]) {
        let leave = quotas.may_create(name, SMALL, &nobody, NOW).unwrap();
        quotas.create(MetricId(id), name, &leave, NOW);
    }
    assert_eq!(quotas.may_create("a.z", SMALL, &nobody, NOW), Err(Reject::Quota));
    assert!(quotas.may_create("b.z", SMALL, &nobody, NOW).is_ok());
    assert_eq!((usage(&quotas, "a", "metrics"), usage(&quotas, "rest", "metrics")), ((2.0, 1), (0.0, 0)));
    quotas.forget(MetricId(0));
    quotas.forget(MetricId(0));
    assert!(quotas.may_create("a.z", SMALL, &nobody, NOW).is_ok());
    quotas.rename(MetricId(1), "c.y");
    assert_eq!((usage(&quotas, "a", "metrics").0, usage(&quotas, "rest", "metrics").0), (0.0, 1.0));
}

#[test]
fn a_dry_run_refuses_nothing_and_counts() {
    let quotas = Quotas::new(&[Quota { dry_run: true, ..quota("a", &[], at_most(1)) }]);
    assert_eq!(create(&quotas, 0, &["a", "b", "c"], &Sender::default(), NOW), [""; 0]);
    assert_eq!(usage(&quotas, "a", "metrics"), (3.0, 2));
}

#[test]
fn a_minute_has_so_many_new_metrics() {
    let limits = QuotaLimits { new_metrics_per_minute: Some(2), ..QuotaLimits::default() };
    let quotas = Quotas::new(&[quota("a", &[], limits)]);
    let nobody = Sender::default();
    assert_eq!(create(&quotas, 0, &["a", "b", "c", "d"], &nobody, NOW), ["c", "d"]);
    assert_eq!(create(&quotas, 4, &["e"], &nobody, NOW + 59), ["e"]);
    assert_eq!(create(&quotas, 5, &["f", "g", "h"], &nobody, NOW + 60), ["h"]);
}

#[test]
fn points_beyond_the_limit_are_left_out_the_last_first() {
    let limits = QuotaLimits { points_per_minute: Some(3), ..QuotaLimits::default() };
    let quotas = Quotas::new(&[quota("a", &["a"], limits)]);
    quotas.count([(0, "a.x"), (1, "a.y"), (2, "b")].map(|(id, name)| (MetricId(id), name, SMALL)));
    let take = |ids: &[u32], now| {
        let mut metrics: Vec<Option<MetricId>> = ids.iter().map(|id| Some(MetricId(*id))).collect();
        let charge = quotas.take_points(&mut metrics, &Sender::default(), now, |_| None);
        (metrics.into_iter().map(|id| id.map(|id| id.0)).collect::<Vec<_>>(), charge)
    };
    let (taken, charge) = take(&[0, 1, 2, 0, 1, 2], NOW);
    assert_eq!(taken, [Some(0), Some(1), Some(2), Some(0), None, Some(2)]);
    drop(charge);
    // They were not stored, so there is room for them again.
    let (taken, charge) = take(&[1, 1, 1, 1], NOW);
    assert_eq!(taken, [Some(1), Some(1), Some(1), None]);
    charge.keep();
    let (taken, _charge) = take(&[0, 2], NOW + 1);
    assert_eq!(taken, [None, Some(2)]);
    assert_eq!(quotas.may_create("a.z", SMALL, &Sender::default(), NOW), Err(Reject::Quota));
    let (taken, _charge) = take(&[0], NOW + 60);
    assert_eq!(taken, [Some(0)]);
}

#[test]
fn what_a_user_sends_goes_to_their_quota_and_what_they_created_stays_there() {
    let of_alice = Quota { users: vec!["alice".to_owned()], ..quota("alice", &[], at_most(2)) };
    let points = QuotaLimits { points_per_minute: Some(60), metrics: Some(5), ..QuotaLimits::default() };
    let all = [of_alice, quota("rest", &[], points)];
    let quotas = Quotas::new(&all);
    for (id, name) in (0..).zip(["a", "b"]) {
        let leave = quotas.may_create(name, SMALL, &user("alice"), NOW).unwrap();
        assert_eq!(leave.owner.as_deref(), Some("alice"));
        quotas.create(MetricId(id), name, &leave, NOW);
    }
    assert_eq!(quotas.may_create("c", SMALL, &user("alice"), NOW), Err(Reject::Quota));
    assert_eq!(quotas.may_create("c", SMALL, &user("bob"), NOW).unwrap().owner, None);
    assert_eq!((usage(&quotas, "alice", "metrics").0, usage(&quotas, "rest", "metrics").0), (2.0, 0.0));
    // Points of bob for a metric of alice are bob's.
    let mut metrics = [Some(MetricId(0)); 70];
    let name = |_| Some("a".to_owned());
    quotas.take_points(&mut metrics, &user("bob"), NOW, name).keep();
    assert_eq!(metrics.iter().flatten().count(), 60);
    let mut metrics = [Some(MetricId(0)); 70];
    quotas.take_points(&mut metrics, &user("alice"), NOW, name).keep();
    assert_eq!(metrics.iter().flatten().count(), 70);
    // A reload counts again, and a restart learns the owners from the store.
    quotas.replace(&all[1..]);
    quotas.count([(MetricId(0), "a", SMALL), (MetricId(1), "b", SMALL)]);
    assert_eq!(usage(&quotas, "rest", "metrics").0, 2.0);
    quotas.replace(&all);
    quotas.count([(MetricId(0), "a", SMALL), (MetricId(1), "b", SMALL)]);
    assert_eq!((usage(&quotas, "alice", "metrics").0, usage(&quotas, "rest", "metrics").0), (2.0, 0.0));
}

#[test]
fn each_directory_of_a_file_has_its_own_limit_and_the_top_has_one_for_all() {
    let directories = |text: &str, metrics| Quota {
        reach: Reach::Directories(Glob::parse(text).unwrap()),
        ..quota(text, &[], at_most(metrics))
    };
    let root = Quota { reach: Reach::Root, ..quota("/", &[], at_most(5)) };
    let quotas = Quotas::new(&[directories("*", 2), directories("a.*", 1), root]);
    let refused = create(
        &quotas,
        0,
        &["a.x.1", "a.x.2", "a.y.1", "a.z.1", "b.1", "b.2", "b.3", "c", "d"],
        &Sender::default(),
        NOW,
    );
    assert_eq!(refused, ["a.x.2", "a.z.1", "b.3", "d"]);
    assert_eq!((usage(&quotas, "*", "metrics"), usage(&quotas, "a.*", "metrics")), ((2.0, 2), (1.0, 1)));
    assert_eq!(usage(&quotas, "/", "metrics"), (5.0, 1));
    let fullest = quotas.usage(NOW).into_iter().find(|usage| usage.quota == "*").unwrap().fullest;
    assert!(["a", "b"].contains(&fullest.unwrap().as_str()));
}

#[test]
fn a_directory_has_only_so_many_namespaces_and_points() {
    let limits = QuotaLimits { namespaces: Some(2), data_points: Some(1020), ..QuotaLimits::default() };
    let root = Quota { reach: Reach::Root, ..quota("/", &[], limits) };
    let quotas = Quotas::new(&[root]);
    let nobody = Sender::default();
    let names = ["a.x", "b.x.y", "top", "c.x", "a.y", "d;dc=e.f"];
    assert_eq!(create(&quotas, 0, &names, &nobody, NOW), ["c.x"]);
    assert_eq!((usage(&quotas, "/", "namespaces"), usage(&quotas, "/", "data-points").0), ((2.0, 1), 50.0));
    // What is there already takes no other room.
    assert_eq!(quotas.may_create("a.z", LARGE, &nobody, NOW), Err(Reject::Quota));
    quotas.resize([(MetricId(0), LARGE)]);
    assert_eq!(usage(&quotas, "/", "data-points").0, 1040.0);
    assert_eq!(quotas.may_create("a.z", SMALL, &nobody, NOW), Err(Reject::Quota));
    quotas.forget(MetricId(0));
    // The place of a namespace is free when its last metric leaves.
    assert_eq!(quotas.may_create("c.x", SMALL, &nobody, NOW), Err(Reject::Quota));
    quotas.forget(MetricId(4));
    assert!(quotas.may_create("c.x", SMALL, &nobody, NOW).is_ok());
    let coming = [("c.x", SMALL), ("c.y", SMALL), ("d.x", SMALL), ("b.z", LARGE)];
    assert_eq!(quotas.full(&coming, &nobody), [None, None, Some("namespaces"), Some("data-points")]);
}

#[test]
fn names_that_are_refused_leave_nothing_behind() {
    let directories = Reach::Directories(Glob::parse("*").unwrap());
    let root = Quota { reach: Reach::Root, ..quota("/", &[], at_most(0)) };
    let quotas = Quotas::new(&[Quota { reach: directories, ..quota("*", &[], at_most(5)) }, root]);
    for n in 0..100 {
        assert!(quotas.may_create(&format!("d{n}.x"), SMALL, &Sender::default(), NOW).is_err());
    }
    assert_eq!(quotas.ledger.read().account_count(), 1, "only that of all together");
}

/// What happens to metrics.
#[derive(Clone, Debug)]
enum Step {
    Create(u32, String, Size, Option<&'static str>),
    Adopt(u32, String, Size),
    Forget(u32),
    Rename(u32, String),
    Resize(u32, Size),
    Reload(usize),
    Restart,
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[ab](\\.[ab]){0,2}", "[ab];dc=[xy]"]
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0..12_u32;
    let size = prop::sample::select(vec![SMALL, LARGE]);
    let who = prop::sample::select(vec![None, Some("alice"), Some("bob")]);
    prop_oneof![
        5 => (id.clone(), name(), size.clone(), who).prop_map(|(id, name, size, who)| Step::Create(id, name, size, who)),
        1 => (id.clone(), name(), size.clone()).prop_map(|(id, name, size)| Step::Adopt(id, name, size)),
        2 => id.clone().prop_map(Step::Forget),
        1 => (id.clone(), name()).prop_map(|(id, name)| Step::Rename(id, name)),
        1 => (id, size).prop_map(|(id, size)| Step::Resize(id, size)),
        1 => (0..3_usize).prop_map(Step::Reload),
        1 => Just(Step::Restart),
    ]
}

/// Three configurations between which reloads change.
fn configurations() -> [Vec<Quota>; 3] {
    let directories = |text: &str, limits: QuotaLimits| Quota {
        reach: Reach::Directories(Glob::parse(text).unwrap()),
        ..quota(text, &[], limits)
    };
    let of_alice = Quota { users: vec!["alice".to_owned()], ..quota("alice", &["a"], at_most(2)) };
    let root = QuotaLimits { namespaces: Some(1), logical_bytes: Some(40_000), ..at_most(8) };
    let root = Quota { reach: Reach::Root, ..quota("/", &[], root) };
    let above = QuotaLimits { namespaces: Some(1), data_points: Some(2000), ..at_most(3) };
    let below = QuotaLimits { physical_bytes: Some(2020), ..at_most(3) };
    [
        vec![of_alice.clone(), quota("a.b", &["a.b", "*;dc=x"], at_most(3)), quota("rest", &[], at_most(6))],
        vec![
            quota("b", &["b"], at_most(2)),
            of_alice,
            directories("*", above),
            directories("a.*", below),
            root,
        ],
        Vec::new(),
    ]
}

/// A metric: what it is called, how much it takes, and whose quota it was created under.
type Modelled = (String, Size, Option<String>);

proptest! {
    /// Whatever happens to metrics, each quota counts those that a plain list says are its own, and is never over its limit by creations.
    #[test]
    fn accounts_agree_with_a_plain_list(steps in prop::collection::vec(step(), 1..60)) {
        let all = configurations();
        let mut current = 0;
        let mut quotas = Quotas::new(&all[current]);
        let mut model: BTreeMap<u32, Modelled> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Create(id, name, size, who) if !model.contains_key(&id) => {
                    let sender = who.map(user).unwrap_or_default();
                    let before = expected(&all[current], &model);
                    let granted = quotas.may_create(&name, size, &sender, NOW);
                    // What a plain list says of the same.
                    let owner = who.filter(|who| *who == "alice" && name.split(['.', ';']).next() == Some("a"));
                    let owner = owner.filter(|_| all[current].iter().any(|quota| quota.name == "alice"));
                    let mut then = model.clone();
                    then.insert(id, (name.clone(), size, owner.map(str::to_owned)));
                    let after = expected(&all[current], &then);
                    let fits = after.iter().all(|(place, stock)| {
                        let old = before.get(place).copied().unwrap_or_default();
                        is_within(&all[current][place.0].limits, old, *stock)
                    });
                    prop_assert_eq!(granted.is_ok(), fits, "{:?}", after);
                    if let Ok(leave) = granted {
                        prop_assert_eq!(leave.owner.as_deref(), owner);
                        quotas.create(MetricId(id), &name, &leave, NOW);
                        model = then;
                    }
                }
                Step::Adopt(id, name, size) if !model.contains_key(&id) => {
                    quotas.count([(MetricId(id), &*name, size)]);
                    model.insert(id, (name, size, None));
                }
                Step::Forget(id) => {
                    quotas.forget(MetricId(id));
                    model.remove(&id);
                }
                Step::Rename(id, name) => {
                    if let Some(metric) = model.get_mut(&id) {
                        quotas.rename(MetricId(id), &name);
                        metric.0 = name;
                    }
                }
                Step::Resize(id, size) => {
                    if let Some(metric) = model.get_mut(&id) {
                        quotas.resize([(MetricId(id), size)]);
                        metric.1 = size;
                    }
                }
                Step::Reload(to) => {
                    current = to;
                    quotas.replace(&all[current]);
                    quotas.count(model.iter().map(|(id, (name, size, _))| (MetricId(*id), &**name, *size)));
                }
                Step::Restart => {
                    quotas = Quotas::new(&all[current]);
                    for (id, (.., owner)) in &model {
                        owner.iter().for_each(|owner| quotas.own(MetricId(*id), owner));
                    }
                    quotas.count(model.iter().map(|(id, (name, size, _))| (MetricId(*id), &**name, *size)));
                }
                Step::Create(..) | Step::Adopt(..) => {}
            }
            prop_assert_eq!(stocks(&quotas, &all[current]), expected(&all[current], &model));
        }
    }
}

/// A quota, and a directory of it.
type Place = (usize, String);

/// Is what grew within the limits?
fn is_within(limits: &QuotaLimits, old: Stock, new: Stock) -> bool {
    let fits = |old: u64, new: u64, most: Option<u64>| new <= old || most.is_none_or(|most| new <= most);
    fits(old.metrics, new.metrics, limits.metrics)
        && fits(old.namespaces, new.namespaces, limits.namespaces)
        && fits(old.size.points, new.size.points, limits.data_points)
        && fits(old.size.logical, new.size.logical, limits.logical_bytes)
        && fits(old.size.physical, new.size.physical, limits.physical_bytes)
}

/// What the ledger says; sizes and namespaces only where a quota asks for them.
fn stocks(quotas: &Quotas, config: &[Quota]) -> BTreeMap<Place, Stock> {
    let known = quotas.ledger.read().stocks().into_iter().filter(|(_, stock)| stock.metrics > 0);
    known.map(|(place, stock)| (place.clone(), asked_for(config, place.0, stock))).collect()
}

fn asked_for(quotas: &[Quota], place: usize, stock: Stock) -> Stock {
    let namespaces = quotas[place].limits.namespaces.map_or(0, |_| stock.namespaces);
    let asks = quotas.iter().any(|quota| quota.limits.ask_for_size());
    Stock { namespaces, size: if asks { stock.size } else { Size::default() }, ..stock }
}

/// What each quota and directory has, those without any metric left out.
fn expected(quotas: &[Quota], model: &BTreeMap<u32, Modelled>) -> BTreeMap<Place, Stock> {
    let mut found: BTreeMap<Place, (Stock, BTreeSet<String>)> = BTreeMap::new();
    for (name, size, owner) in model.values() {
        let own = quotas.iter().position(|quota| match &quota.reach {
            Reach::Metrics(scope) => {
                let by_name = !quota.asks_for_sender() || owner.as_deref() == Some(&*quota.name);
                by_name && scope.covers(name)
            }
            _ => false,
        });
        let path = name.split(';').next().unwrap();
        let mut places: Vec<Place> = own.into_iter().map(|place| (place, String::new())).collect();
        for (place, quota) in quotas.iter().enumerate() {
            let parents = path.match_indices('.').map(|(dot, _)| &path[..dot]);
            match &quota.reach {
                Reach::Root => places.push((place, String::new())),
                Reach::Directories(glob) => {
                    places.extend(
                        parents.filter(|path| glob.matches(path)).map(|path| (place, path.to_owned())),
                    );
                }
                Reach::Metrics(_) => {}
            }
        }
        for place in places {
            let is_file = !matches!(quotas[place.0].reach, Reach::Metrics(_));
            let below = path.strip_prefix(&place.1).unwrap().trim_start_matches('.');
            let child = below.split_once('.').filter(|_| is_file).map(|(child, _)| child.to_owned());
            let (stock, namespaces) = found.entry(place).or_default();
            stock.add(Stock::one(*size));
            namespaces.extend(child);
        }
    }
    let stock = |(place, (stock, namespaces)): (Place, (Stock, BTreeSet<String>))| {
        let stock = Stock { namespaces: namespaces.len() as u64, ..stock };
        let asked = asked_for(quotas, place.0, stock);
        (place, asked)
    };
    found.into_iter().map(stock).collect()
}
