//! All rules together.

use std::sync::Arc;

use super::aggregation::{Aggregate, Rule};
use super::lists::List;
use super::rewrite::Rewrites;
use plumbago_model::Reject;

/// What the files say.
#[derive(Debug, Default)]
pub(super) struct Ruleset {
    pub(super) blacklist: Option<List>,
    pub(super) whitelist: Option<List>,
    pub(super) rewrites: Rewrites,
    pub(super) aggregation: Vec<Rule>,
    pub(super) keep_originals: bool,
}

/// What happens to the points of a name.
#[derive(Debug, PartialEq)]
pub(super) enum Decision {
    Refused(Reject),
    Taken {
        /// Is the point stored itself?
        stored: bool,
        /// The new name, if it differs.
        renamed: Option<Arc<str>>,
        aggregates: Vec<Aggregate>,
    },
}

impl Ruleset {
    pub(super) fn decide(&self, name: &str) -> Decision {
        if self.blacklist.as_ref().is_some_and(|list| list.finds(name)) {
            return Decision::Refused(Reject::Blacklisted);
        }
        // As in carbon, an empty whitelist accepts everything.
        if self.whitelist.as_ref().is_some_and(|list| !list.is_empty() && !list.finds(name)) {
            return Decision::Refused(Reject::NotWhitelisted);
        }
        let before = self.rewrites.before.apply(name);
        let name = before.as_deref().unwrap_or(name);
        let aggregates: Vec<Aggregate> =
            self.aggregation.iter().filter_map(|rule| rule.aggregate(name)).collect();
        // An aggregate with the same name replaces the original.
        let is_replaced = aggregates.iter().any(|aggregate| &*aggregate.name == name);
        let stored = !is_replaced && (self.keep_originals || aggregates.is_empty());
        let renamed = self.after(name).or_else(|| before.as_deref().map(Arc::from));
        Decision::Taken { stored, renamed, aggregates }
    }

    /// The name after aggregation, if it differs.
    pub(super) fn after(&self, name: &str) -> Option<Arc<str>> {
        self.rewrites.after.apply(name).map(Arc::from)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::rules::aggregation;

    fn ruleset() -> Ruleset {
        let list = |text: &str| Some(List::read(Path::new("list"), text).unwrap());
        Ruleset {
            blacklist: list("secret"),
            whitelist: list("^web\n^db\n"),
            rewrites: Rewrites::read(Path::new("r"), "[pre]\n^db = data\n[post]\n^data = base\n").unwrap(),
            aggregation: aggregation::read(
                Path::new("a"),
                "all.<x> (60) = sum web.*.<x>\nweb.all (60) = max web.all\n",
            )
            .unwrap(),
            keep_originals: true,
        }
    }

    fn taken(decision: Decision) -> (bool, Option<String>, Vec<String>) {
        let Decision::Taken { stored, renamed, aggregates } = decision else { panic!("refused") };
        let names = aggregates.iter().map(|aggregate| aggregate.name.to_string()).collect();
        (stored, renamed.map(|name| name.to_string()), names)
    }

    #[test]
    fn lists_come_first() {
        assert_eq!(ruleset().decide("web.secret"), Decision::Refused(Reject::Blacklisted));
        assert_eq!(ruleset().decide("other.x"), Decision::Refused(Reject::NotWhitelisted));
        let open = Ruleset { whitelist: Some(List::read(Path::new("w"), "").unwrap()), ..ruleset() };
        assert_eq!(taken(open.decide("other.x")), (true, None, vec![]));
    }

    #[test]
    fn then_names_change_and_are_gathered() {
        assert_eq!(taken(ruleset().decide("db.x")), (true, Some("base.x".into()), vec![]));
        assert_eq!(taken(ruleset().decide("web.w1.load")), (true, None, vec!["all.load".into()]));
        assert_eq!(taken(ruleset().decide("web.all")), (false, None, vec!["web.all".into()]));
        let only = Ruleset { keep_originals: false, ..ruleset() };
        assert_eq!(taken(only.decide("web.w1.load")), (false, None, vec!["all.load".into()]));
        assert_eq!(taken(only.decide("web.w1")), (true, None, vec![]));
    }
}
