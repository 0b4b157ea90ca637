//! Which policy a name gets: retention rules and aggregation rules, first match wins in each.

use std::time::Duration;

use plumbago_model::pattern::Pattern;
use plumbago_model::{Aggregator, Arrival, Dialect, Policy, Retention};

/// The default of carbon's database when no aggregation rule matches, or when one is incomplete.
pub(super) const DEFAULT_AGGREGATION: (Aggregator, f64) = (Aggregator::Average, 0.5);

/// Senders of KairosDB and its kind send when something happens, not at every step: an aggregate is shown if it has any point.
const LABELLED_AGGREGATION: (Aggregator, f64) = (Aggregator::Average, 0.0);

/// One rule: names that match get this.
#[derive(Clone, Debug)]
pub struct Rule<T> {
    /// Section name, for people.
    pub name: String,
    /// Its place: `storage-schemas.conf:12`, or `built in`.
    pub origin: String,
    /// May match anywhere in the full name, including tags.
    pub pattern: Pattern,
    /// What the name gets.
    pub gives: T,
}

/// The rules in force.
#[derive(Clone, Debug)]
pub struct RetentionRules {
    /// Retention rules in order.
    pub schemas: Vec<Rule<Retention>>,
    /// Aggregation rules in order: method and xFilesFactor.
    pub aggregation: Vec<Rule<(Aggregator, f64)>>,
    /// For names that no retention rule matches.
    pub default_retention: Retention,
    /// For names that no aggregation rule matches.
    pub default_aggregation: (Aggregator, f64),
    /// For names that no retention rule matches and that first came in [`Dialect::Labelled`].
    pub labelled_retention: Retention,
    /// When a metric leaves by itself.
    pub forgetting: Forgetting,
}

/// When metrics without new points are forgotten. For the embedded store only: elsewhere other servers may still need a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgetting {
    /// How old the last point must be.
    pub after: ForgetAfter,
    /// How often to look.
    pub interval: Duration,
}

impl Default for Forgetting {
    fn default() -> Self {
        Self { after: ForgetAfter::Retention, interval: Duration::from_secs(3600) }
    }
}

/// How old the last point of a metric must be for the metric to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgetAfter {
    /// Older than its longest retention: nothing of it can be read any more.
    Retention,
    /// Older than this.
    Time(Duration),
    /// Metrics stay until somebody deletes them.
    Never,
}

/// What decides about the policy of a metric: the rules that its name matches, the dialect of its first sender, and how many
/// stages of that dialect's default it gets. Metrics with the same place have the same policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    retention: Option<usize>,
    aggregation: Option<usize>,
    dialect: Dialect,
    stages: usize,
    /// The method that the end of a labelled metric's name asks for.
    method: Option<Aggregator>,
}

/// A name's policy and the rules that it comes from.
#[derive(Clone, Debug)]
pub struct Matched<'a> {
    /// The policy.
    pub policy: Policy,
    /// The retention rule, or `None` for the default.
    pub retention_rule: Option<&'a Rule<Retention>>,
    /// The aggregation rule, or `None` for the default.
    pub aggregation_rule: Option<&'a Rule<(Aggregator, f64)>>,
}

/// Names of labelled metrics that end like this are aggregates, and are aggregated alike.
const SUFFIXES: [(&str, Aggregator); 4] = [
    ("_min", Aggregator::Min),
    ("_max", Aggregator::Max),
    ("_sum", Aggregator::Sum),
    ("_count", Aggregator::Sum),
];

fn method_of(name: &str) -> Option<Aggregator> {
    let metric = name.split(';').next().unwrap_or(name);
    SUFFIXES.iter().find(|(suffix, _)| metric.ends_with(suffix)).map(|(_, method)| *method)
}

impl RetentionRules {
    /// Every retention that a metric may get.
    pub fn all(&self) -> impl Iterator<Item = &Retention> {
        self.of_carbon().chain([&self.labelled_retention])
    }

    /// Those that do not wait for a sender of [`Dialect::Labelled`]: of the rules, and the default.
    pub fn of_carbon(&self) -> impl Iterator<Item = &Retention> {
        self.schemas.iter().map(|rule| &rule.gives).chain([&self.default_retention])
    }

    /// The policy of names that no rule matches.
    pub fn default_policy(&self) -> Policy {
        let (aggregator, x_files_factor) = self.default_aggregation;
        Policy {
            retention: self.default_retention.clone(),
            aggregator,
            x_files_factor,
            dialect: Dialect::Carbon,
        }
    }

    /// The policy for a canonical name. For many names, make a [`super::PolicyMatcher`].
    pub fn policy_for(&self, name: &str) -> Matched<'_> {
        let retention = self.schemas.iter().position(|r| r.pattern.is_found(name));
        let aggregation = self.aggregation.iter().position(|r| r.pattern.is_found(name));
        self.policy_at(self.place(name, retention, aggregation, Arrival::default()))
    }

    /// Where the rules put a metric that matches these two, or none, and that came in like this.
    pub(super) fn place(
        &self,
        name: &str,
        retention: Option<usize>,
        aggregation: Option<usize>,
        Arrival { dialect, keep_secs }: Arrival,
    ) -> Place {
        let method = if dialect == Dialect::Labelled { method_of(name) } else { None };
        let all = self.labelled_retention.stages().len();
        let stages = match (retention, dialect, keep_secs) {
            (None, Dialect::Labelled, 1..) => self.labelled_retention.level_for_age(keep_secs.into()) + 1,
            _ => all,
        };
        Place { retention, aggregation, dialect, stages, method }
    }

    /// The policy of a place.
    pub(super) fn policy_at(&self, place: Place) -> Matched<'_> {
        let retention_rule = place.retention.and_then(|at| self.schemas.get(at));
        let aggregation_rule = place.aggregation.and_then(|at| self.aggregation.get(at));
        let retention = match (retention_rule, place.dialect) {
            (Some(rule), _) => rule.gives.clone(),
            (None, Dialect::Carbon) => self.default_retention.clone(),
            (None, Dialect::Labelled) => self.labelled_retention.first(place.stages),
        };
        let (aggregator, x_files_factor) = match (aggregation_rule, place.dialect) {
            (Some(rule), _) => rule.gives,
            (None, Dialect::Carbon) => self.default_aggregation,
            (None, Dialect::Labelled) => {
                (place.method.unwrap_or(LABELLED_AGGREGATION.0), LABELLED_AGGREGATION.1)
            }
        };
        let policy = Policy { retention, aggregator, x_files_factor, dialect: place.dialect };
        Matched { policy, retention_rule, aggregation_rule }
    }
}

impl Default for RetentionRules {
    fn default() -> Self {
        Self {
            schemas: Vec::new(),
            aggregation: Vec::new(),
            default_retention: Retention::new(vec![(10, 8640), (60, 43_200), (3600, 17_520)])
                .expect("the built-in retention is valid"),
            default_aggregation: DEFAULT_AGGREGATION,
            labelled_retention: Retention::new(vec![(1, 604_800), (60, 43_200), (3600, 17_520)])
                .expect("the built-in retention is valid"),
            forgetting: Forgetting::default(),
        }
    }
}
