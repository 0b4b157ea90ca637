//! Names on a real node: created, found, loaded, followed, cleaned, and shared with BigGraphite.

mod feed;
mod find;
pub(crate) mod interop;
mod repair;
mod writer;

use std::sync::Arc;

use plumbago::store::cassandra::names::{Creation, Listed, Names, NewMetric, Outcome};
use plumbago::store::cassandra::schema::{Indexes, Replication, Schema, apply, create_keyspace};
use plumbago::store::cassandra::{Cluster, Purpose, Settings};
use plumbago_model::Policy;

use crate::node;

/// Tables of a test's own, which go with it.
pub(crate) struct Fixture {
    pub(crate) names: Names,
    pub(crate) settings: Settings,
}

impl Fixture {
    /// All tables and indexes of names; `None` after a loud skip.
    pub(crate) fn whole(test: &str, indexes: Indexes) -> Option<Self> {
        let fixture = Self::new(test, indexes)?;
        let schema = Schema::new(&fixture.settings, [], indexes);
        apply(fixture.cluster(), &schema, Some(&Replication::everywhere(1)), &mut |_| {}).unwrap();
        Some(fixture)
    }

    /// The tables without the indexes on components, which take long to make and are needed for finding only.
    pub(crate) fn plain(test: &str, indexes: Indexes) -> Option<Self> {
        let fixture = Self::new(test, indexes)?;
        let schema = Schema::new(&fixture.settings, [], indexes);
        for keyspace in schema.keyspaces() {
            fixture.run(&create_keyspace(keyspace, &Replication::everywhere(1)));
        }
        let on_component = |index: &Option<(String, String)>| {
            index.as_ref().is_some_and(|(_, column)| column.starts_with("component_"))
        };
        for item in schema.items().iter().filter(|item| !on_component(&item.index)) {
            fixture.run(&item.cql);
        }
        Some(fixture)
    }

    fn new(test: &str, indexes: Indexes) -> Option<Self> {
        let settings = node::shared(test)?;
        let cluster = Arc::new(Cluster::connect(settings.clone()).unwrap());
        Some(Self { names: Names::new(cluster, indexes), settings })
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        self.names.cluster()
    }

    /// Another server on the same tables.
    pub(crate) fn other(&self, indexes: Indexes) -> Names {
        Names::new(Arc::new(Cluster::connect(self.settings.clone()).unwrap()), indexes)
    }

    /// Runs a statement; `{}` in it stands for the keyspace.
    pub(crate) fn run(&self, text: &str) {
        let text = text.replace("{}", &self.settings.keyspace_metadata);
        self.cluster().block_on(self.cluster().run_once(Purpose::Background, &text, ())).unwrap();
    }

    /// The first column of all rows, sorted.
    pub(crate) fn column(&self, text: &str) -> Vec<String> {
        let text = text.replace("{}", &self.settings.keyspace_metadata);
        let result = self.cluster().block_on(self.cluster().run_once(Purpose::Background, &text, ()));
        let result = result.unwrap().into_rows_result().unwrap();
        let mut column: Vec<String> = result.rows::<(String,)>().unwrap().map(|row| row.unwrap().0).collect();
        column.sort();
        column
    }

    pub(crate) fn directories(&self) -> Vec<String> {
        self.column("SELECT name FROM {}.directories")
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        node::drop_keyspaces(self.names.cluster(), &[&self.settings]);
    }
}

pub(crate) fn policy(text: &str) -> Arc<Policy> {
    Arc::new(text.parse().unwrap())
}

pub(crate) fn new_metrics(names: &[impl AsRef<str>], policy: &Arc<Policy>) -> Vec<NewMetric> {
    let metric = |name: &str| NewMetric { name: name.to_owned(), policy: policy.clone() };
    names.iter().map(|name| metric(name.as_ref())).collect()
}

pub(crate) fn create(names: &Names, metrics: &[impl AsRef<str>], policy: &Arc<Policy>) -> Vec<Outcome> {
    names.create(&new_metrics(metrics, policy), Creation::default()).unwrap()
}

/// Everything the loader lists, by name.
pub(crate) fn loaded(names: &Names, default: &Arc<Policy>) -> Vec<Listed> {
    let mut found = Vec::new();
    let count = names.load(default, &mut |_| {}, &mut |listed| found.push(listed)).unwrap();
    assert_eq!(count as usize, found.len());
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}
