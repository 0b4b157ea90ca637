//! Looks up a glob step by step: lists the directories that match so far, and finally reads whole names by key.
//!
//! SASI has an index for each component. A query over several of them reads all names that have any of the texts, so it gets
//! slower with the number of names. Listing one directory is one text in one index, so a walk is faster if it lists few
//! directories. If it would list too many, the walk gives up, and the queries of [`plan`](super::plan) answer instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::statement::{Table, rows};
use super::{Names, flight};
use crate::store::Hit;
use crate::store::cassandra::ClusterError;
use crate::store::cassandra::schema::Indexes;
use plumbago_model::glob::{Component, Glob, Matcher, Start};

/// Most directories to list in one step.
const MAX_DIRECTORIES: usize = 32;

/// Most rows to read from one directory.
const MAX_ROWS: usize = 10_000;

/// Most names to look up by key.
const MAX_NAMES: usize = 1000;

/// Found names, and whether there is a metric and a directory.
type Found = BTreeMap<String, (bool, bool)>;

/// The components of a glob that can be walked: no globstar, one branch, and a wildcard that is followed by something. All
/// other globs have better ways.
fn components(glob: &Glob) -> Option<Vec<&Matcher>> {
    let [branch] = glob.branches() else { return None };
    let matchers: Option<Vec<&Matcher>> = branch
        .components()
        .iter()
        .map(|component| match component {
            Component::One(matcher) => Some(matcher),
            Component::Globstar => None,
        })
        .collect();
    let matchers = matchers?;
    let (_, before) = matchers.split_last()?;
    let is_wild = |matcher: &&Matcher| matcher.starts().iter().any(|start| matches!(start, Start::Prefix(_)));
    // Braces without wildcards can be expanded without reading anything.
    let is_worth_it = before.iter().any(|matcher| text(matcher).is_none()) && matchers.iter().any(is_wild);
    is_worth_it.then_some(matchers)
}

fn text(matcher: &Matcher) -> Option<&str> {
    match matcher.starts().as_slice() {
        [Start::Whole(text)] => Some(text),
        _ => None,
    }
}

fn joined(directory: &str, component: &str) -> String {
    if directory.is_empty() { component.to_owned() } else { format!("{directory}.{component}") }
}

impl Names {
    /// The names that match; `None` if a walk is not suitable.
    pub(super) async fn walk(&self, tables: &[Table], glob: &Glob) -> Result<Option<Vec<Hit>>, ClusterError> {
        if self.shared.indexes == Indexes::None {
            return Ok(None);
        }
        let Some(matchers) = components(glob) else { return Ok(None) };
        let Some((last, before)) = matchers.split_last() else { return Ok(None) };
        let mut directories = vec![String::new()];
        for matcher in before {
            directories = match text(matcher) {
                Some(text) => directories.iter().map(|directory| joined(directory, text)).collect(),
                None => match self.inside(Table::Directories, &directories, matcher).await? {
                    Some(found) => found,
                    None => return Ok(None),
                },
            };
            if directories.len() > MAX_NAMES {
                return Ok(None);
            }
        }
        let (names, directories, last) = (self.clone(), Arc::new(directories), (*last).clone());
        let lists = flight::map(tables.to_vec(), tables.len(), move |table| {
            let (names, directories, last) = (names.clone(), directories.clone(), last.clone());
            async move { names.last_step(table, &directories, &last).await }
        });
        let mut found = Found::new();
        for (&table, names) in tables.iter().zip(lists.await?) {
            let Some(names) = names else { return Ok(None) };
            for name in names {
                let kinds = found.entry(name).or_default();
                *(if table == Table::Metrics { &mut kinds.0 } else { &mut kinds.1 }) = true;
            }
        }
        let hit = |(path, (leaf, directory))| Hit { path, leaf, directory };
        Ok(Some(found.into_iter().map(hit).collect()))
    }

    /// The names of a table in some directories that match completely; `None` if there are too many.
    async fn last_step(
        &self,
        table: Table,
        directories: &[String],
        last: &Matcher,
    ) -> Result<Option<Vec<String>>, ClusterError> {
        let Some(text) = text(last) else { return self.inside(table, directories, last).await };
        let names: Vec<String> = directories.iter().map(|directory| joined(directory, text)).collect();
        Ok(Some(self.present(table, &names).await?.into_iter().collect()))
    }

    /// The names in some directories whose last component matches; `None` if there are too many.
    async fn inside(
        &self,
        table: Table,
        directories: &[String],
        matcher: &Matcher,
    ) -> Result<Option<Vec<String>>, ClusterError> {
        if directories.len() > MAX_DIRECTORIES {
            return Ok(None);
        }
        let statement = self.shape(self.statements().select_names(table, " WHERE parent = ?")).await?;
        let (names, matcher) = (self.clone(), matcher.clone());
        let lists = flight::map(directories.to_vec(), MAX_DIRECTORIES, move |directory: String| {
            let (names, statement, matcher) = (names.clone(), statement.clone(), matcher.clone());
            async move {
                let (mut found, mut seen) = (Vec::new(), 0);
                names
                    .pages(&statement, &(format!("{directory}."),), |page| {
                        for row in rows::<(&str,)>(&page)? {
                            let name = row?.0;
                            let component = name.rsplit('.').next().unwrap_or(name);
                            seen += 1;
                            if matcher.matches(component) {
                                found.push(name.to_owned());
                            }
                        }
                        Ok(seen <= MAX_ROWS)
                    })
                    .await?;
                Ok((seen <= MAX_ROWS).then_some(found))
            }
        });
        let lists: Option<Vec<Vec<String>>> = lists.await?.into_iter().collect();
        Ok(lists.map(Vec::into_iter).map(|lists| lists.flatten().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_walked() {
        for (pattern, is_walked) in [
            ("a.*.b", true),
            ("a.b*.c.d?", true),
            ("*.*.c", true),
            ("a.b", false),
            ("a.{b,c}.d", false),
            ("a.{b,c}.*", true),
            ("a.b.*", false),
            ("a.**.b", false),
            ("a.*.**", false),
        ] {
            assert_eq!(components(&Glob::parse(pattern).unwrap()).is_some(), is_walked, "{pattern}");
        }
    }
}
