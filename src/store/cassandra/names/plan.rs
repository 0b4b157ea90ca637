//! A glob as queries that return all matching names, and as few others as the indexes allow.
//!
//! As in BigGraphite: a name without wildcards is looked up by its key; wildcards in the last component alone become
//! `parent = …`; otherwise every component that is a text becomes `component_i = …`, one that starts with a text becomes
//! `component_i LIKE 'text%'` (SASI only), and the end marker follows the last one. Braces are expanded while that makes
//! no more than [`MAX_EXPANDED`] queries. A globstar becomes a query for each depth, if what follows it can be looked up; at the
//! end of a pattern it becomes one query without the marker. Whatever a query cannot express is left to the glob itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::identity::END;
use crate::store::cassandra::schema::Indexes;
use plumbago_model::glob::{Branch, Component, Glob, Start};
use plumbago_model::name::MAX_COMPONENTS;

/// Most queries that the braces of one branch are expanded to: BigGraphite's number.
const MAX_EXPANDED: usize = 42;

/// Most names that braces are expanded to when each name is simply looked up by key.
const MAX_NAMES: usize = 1000;

/// One query.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Query {
    /// The row of this name.
    Name(String),
    /// The rows for which all of these hold; all rows if there are none.
    Where(Vec<Clause>),
}

/// A condition on a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Clause {
    column: Column,
    operator: Operator,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Parent,
    Component(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Operator {
    Equals,
    Begins,
}

impl Query {
    /// Does it cover everything below some directories, at any depth? Such queries return many rows.
    pub(super) fn is_broad(&self) -> bool {
        let is_end = |clause: &Clause| clause.column == Column::Parent || clause.value == END;
        matches!(self, Query::Where(clauses) if !clauses.iter().any(is_end))
    }

    /// The condition as text, to be prepared, and what is bound to it. With `in_piece`, two tokens are bound first.
    pub(super) fn condition(&self, indexes: Indexes, in_piece: bool) -> (String, Vec<String>) {
        let clauses = match self {
            Query::Name(name) => return (" WHERE name = ?".to_owned(), vec![name.clone()]),
            Query::Where(clauses) => clauses,
        };
        let mut text = String::new();
        if in_piece {
            text.push_str(" WHERE token(name) > ? AND token(name) <= ?");
        }
        for clause in clauses {
            text.push_str(if text.is_empty() { " WHERE " } else { " AND " });
            let _ = match clause.column {
                Column::Parent => write!(text, "parent"),
                Column::Component(place) => write!(text, "component_{place}"),
            };
            text.push_str(match clause.operator {
                Operator::Equals => " = ?",
                Operator::Begins => " LIKE ?",
            });
        }
        if clauses.len() + usize::from(in_piece) > 1 && indexes == Indexes::Sasi {
            text.push_str(" ALLOW FILTERING");
        }
        let values = clauses.iter().map(|clause| match clause.operator {
            Operator::Equals => clause.value.clone(),
            Operator::Begins => format!("{}%", clause.value),
        });
        (text, values.collect())
    }
}

/// The queries for a glob, no two alike.
pub(super) fn plan(glob: &Glob, indexes: Indexes) -> Vec<Query> {
    let narrowed = |query| match query {
        // Without an index, only a key can be looked up.
        Query::Where(_) if indexes == Indexes::None => Query::Where(Vec::new()),
        other => other,
    };
    let queries = glob.branches().iter().flat_map(|branch| plan_branch(branch, indexes));
    let queries: BTreeSet<Query> = queries.map(narrowed).collect();
    // A query without conditions returns everything.
    let everything = Query::Where(Vec::new());
    if queries.contains(&everything) { vec![everything] } else { queries.into_iter().collect() }
}

/// What a query can express about one place of a name.
type Starts<'g> = Vec<Start<'g>>;

fn plan_branch(branch: &Branch, indexes: Indexes) -> Vec<Query> {
    let components = branch.components().iter();
    let places: Vec<Option<Starts<'_>>> = components.map(|component| place(component, indexes)).collect();
    let Some(star) = places.iter().position(Option::is_none) else {
        let places: Vec<Starts<'_>> = places.into_iter().flatten().collect();
        return expand(&places, MAX_EXPANDED).into_iter().map(|starts| ending(&starts)).collect();
    };
    let head: Vec<Starts<'_>> = places[..star].iter().flatten().cloned().collect();
    let tail: Vec<Starts<'_>> = places[star + 1..].iter().flatten().cloned().collect();
    let only_star = places.iter().filter(|place| place.is_none()).count() == 1;
    let narrow = |place: &Starts<'_>| matches!(place.as_slice(), [start] if *start != ANY);
    if !only_star || !tail.iter().any(narrow) {
        return expand(&head, MAX_EXPANDED)
            .into_iter()
            .map(|starts| Query::Where(clauses(&starts)))
            .collect();
    }
    let most = MAX_COMPONENTS.saturating_sub(head.len() + tail.len());
    let at_depth = |between: usize| {
        let places = [head.clone(), vec![vec![ANY]; between], tail.clone()].concat();
        // There are already many depths: alternatives are left to the glob.
        expand(&places, 1).into_iter().map(|starts| ending(&starts)).collect::<Vec<_>>()
    };
    (0..=most).flat_map(at_depth).collect()
}

const ANY: Start<'static> = Start::Prefix("");

/// `None` for a globstar.
fn place(component: &Component, indexes: Indexes) -> Option<Starts<'_>> {
    match component {
        Component::Globstar => None,
        Component::One(matcher) => Some(sayable(matcher.starts(), indexes)),
    }
}

/// The part that the indexes can look up.
fn sayable<'g>(starts: Vec<Start<'g>>, indexes: Indexes) -> Starts<'g> {
    let say = |start: Start<'g>| match start {
        // A leading `%` would match texts that contain the rest.
        Start::Prefix(text) if indexes == Indexes::Sai || text.starts_with('%') => ANY,
        other => other,
    };
    // No name has an empty component.
    let starts: Starts<'_> = starts.into_iter().filter(|start| *start != Start::Whole("")).map(say).collect();
    if starts.contains(&ANY) { vec![ANY] } else { starts }
}

/// One list of starts for each combination of alternatives. Places with too many are left open.
fn expand<'g>(places: &[Starts<'g>], most: usize) -> Vec<Vec<Start<'g>>> {
    let literal = |place: &Starts<'_>| place.iter().all(|start| matches!(start, Start::Whole(_)));
    let most = if most > 1 && places.iter().all(literal) { MAX_NAMES } else { most };
    let mut lists: Vec<Vec<Start<'g>>> = vec![Vec::new()];
    for place in places {
        let open = [ANY];
        let choices = if lists.len() * place.len() > most { &open[..] } else { place };
        lists = lists
            .iter()
            .flat_map(|list| choices.iter().map(move |choice| [list.as_slice(), &[*choice]].concat()))
            .collect();
    }
    lists
}

/// The query for names with just these components.
fn ending(starts: &[Start<'_>]) -> Query {
    let texts: Vec<&str> = starts.iter().map_while(whole).collect();
    if texts.len() == starts.len() {
        return Query::Name(texts.join("."));
    }
    if texts.len() + 1 == starts.len() {
        let parent = Clause {
            column: Column::Parent,
            operator: Operator::Equals,
            value: format!("{}.", texts.join(".")),
        };
        let last = starts.last().and_then(|start| clause(texts.len(), start));
        return Query::Where([Some(parent), last].into_iter().flatten().collect());
    }
    let mut clauses = clauses(starts);
    clauses.extend(clause(starts.len(), &Start::Whole(END)));
    Query::Where(clauses)
}

fn whole<'g>(start: &Start<'g>) -> Option<&'g str> {
    match start {
        Start::Whole(text) => Some(text),
        Start::Prefix(_) => None,
    }
}

fn clauses(starts: &[Start<'_>]) -> Vec<Clause> {
    starts.iter().enumerate().filter_map(|(place, start)| clause(place, start)).collect()
}

fn clause(place: usize, start: &Start<'_>) -> Option<Clause> {
    let (operator, value) = match start {
        Start::Whole(text) => (Operator::Equals, *text),
        Start::Prefix("") => return None,
        Start::Prefix(text) => (Operator::Begins, *text),
    };
    Some(Clause { column: Column::Component(place), operator, value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pattern: &str, indexes: Indexes) -> Vec<String> {
        let queries = plan(&Glob::parse(pattern).unwrap(), indexes);
        let tell = |query: &Query| {
            let (text, values) = query.condition(indexes, false);
            let mut values = values.into_iter();
            let parts: Vec<String> =
                text.split('?').map(|part| part.to_owned() + &values.next().unwrap_or_default()).collect();
            parts.concat().trim().to_owned()
        };
        queries.iter().map(tell).collect()
    }

    fn sasi(pattern: &str) -> Vec<String> {
        told(pattern, Indexes::Sasi)
    }

    #[test]
    fn shortcuts_are_taken() {
        assert_eq!(sasi("a.b"), ["WHERE name = a.b"]);
        assert_eq!(sasi("a.{b,c}.d"), ["WHERE name = a.b.d", "WHERE name = a.c.d"]);
        assert_eq!(sasi("a.b.*"), ["WHERE parent = a.b."]);
        assert_eq!(sasi("*"), ["WHERE parent = ."]);
        assert_eq!(sasi("a.x*y"), ["WHERE parent = a. AND component_1 LIKE x% ALLOW FILTERING"]);
        assert_eq!(told("a.x*y", Indexes::Sai), ["WHERE parent = a."]);
    }

    #[test]
    fn components_are_asked_for_one_by_one() {
        let expected = "WHERE component_0 = a AND component_2 LIKE c% AND component_3 = __END__";
        assert_eq!(sasi("a.*.c?"), [format!("{expected} ALLOW FILTERING")]);
        assert_eq!(told("a.*.c?", Indexes::Sai), ["WHERE component_0 = a AND component_3 = __END__"]);
        assert_eq!(sasi("*.*"), ["WHERE component_2 = __END__"]);
        assert_eq!(sasi("%a*.b"), ["WHERE component_1 = b AND component_2 = __END__ ALLOW FILTERING"]);
    }

    #[test]
    fn too_many_alternatives_are_left_to_the_glob() {
        let hosts: Vec<String> = (0..50).map(|n| format!("h{n}")).collect();
        let pattern = format!("a.{{{}}}.*.{{x,y}}", hosts.join(","));
        let asked = sasi(&pattern);
        assert_eq!(asked.len(), 2, "{asked:?}");
        assert!(asked[0].starts_with("WHERE component_0 = a AND component_3 = x AND component_4 = __END__"));
        // Names alone may be many.
        assert_eq!(sasi(&format!("a.{{{}}}", hosts.join(","))).len(), 50);
    }

    #[test]
    fn a_globstar_is_a_query_for_each_depth_or_none() {
        assert_eq!(sasi("a.**"), ["WHERE component_0 = a"]);
        assert_eq!(sasi("**"), [""]);
        assert_eq!(sasi("a.**.b.**"), ["WHERE component_0 = a"]);
        let asked = sasi("a.**.x");
        assert_eq!(asked.len(), 62);
        assert!(asked.contains(&"WHERE name = a.x".to_owned()));
        let one = "WHERE component_0 = a AND component_2 = x AND component_3 = __END__ ALLOW FILTERING";
        assert!(asked.contains(&one.to_owned()), "{asked:?}");
        assert!(asked.iter().any(|query| query.contains("component_62 = x AND component_63 = __END__")));
    }

    #[test]
    fn what_is_below_at_any_depth_is_asked_for_by_pieces() {
        for (pattern, is_broad) in
            [("a.**", true), ("**", true), ("a.*", false), ("a.*.b", false), ("a", false)]
        {
            let queries = plan(&Glob::parse(pattern).unwrap(), Indexes::Sasi);
            assert_eq!(queries[0].is_broad(), is_broad, "{pattern}");
        }
        let below = &plan(&Glob::parse("a.**").unwrap(), Indexes::Sasi)[0];
        let expected = " WHERE token(name) > ? AND token(name) <= ? AND component_0 = ? ALLOW FILTERING";
        assert_eq!(below.condition(Indexes::Sasi, true), (expected.to_owned(), vec!["a".to_owned()]));
    }

    #[test]
    fn an_empty_alternative_asks_for_nothing() {
        assert_eq!(sasi("a.{,b}"), ["WHERE name = a.b"]);
    }
}
