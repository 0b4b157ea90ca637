//! How the tables are laid out, and the version of that: rows that the maker of the tables left in them.
//!
//! A server whose layout is another one would write where no other reads. So it compares these rows when it starts, and refuses if one
//! says something else. A row that is missing is only pointed out: tables that BigGraphite made have none until `schema apply`.

use std::collections::BTreeMap;

use scylla::response::query_result::QueryResult;

use super::compare::{Difference, Weight};
use super::{COMPONENTS, POINTS_PER_PARTITION, Schema};
use crate::store::cassandra::{Cluster, ClusterError, Fault, Purpose};

/// The table.
pub(super) const TABLE: &str = "plumbago_settings";
/// The row with the version.
const VERSION: &str = "schema_version";
/// The version of the tables that this program makes and uses.
const OURS: u32 = 1;

/// What the rows of this program say.
fn expected() -> [(&'static str, String); 3] {
    [
        (VERSION, OURS.to_string()),
        ("points_per_partition", POINTS_PER_PARTITION.to_string()),
        ("name_components", COMPONENTS.to_string()),
    ]
}

/// The rows that are there; `None` without the table.
pub(super) type Rows = Option<BTreeMap<String, String>>;

impl Schema {
    /// Reads the rows of a table that is there.
    pub(super) async fn layout_rows(
        &self,
        cluster: &Cluster,
    ) -> Result<BTreeMap<String, String>, ClusterError> {
        let text = format!("SELECT name, value FROM {}.{TABLE}", self.keyspace_metadata);
        let found = cluster.run_once(Purpose::Metadata, &text, ()).await?;
        rows(found).map_err(|why| ClusterError::new(Fault::Schema, format!("read {TABLE}"), why))
    }

    /// Writes the rows that are missing. A row that is there stays, whatever it says.
    pub(super) async fn write_layout(&self, cluster: &Cluster) -> Result<(), ClusterError> {
        let there = self.layout_rows(cluster).await?;
        for (name, value) in expected().into_iter().filter(|(name, _)| !there.contains_key(*name)) {
            let text = format!(
                "INSERT INTO {}.{TABLE} (name, value) VALUES (?, ?) IF NOT EXISTS",
                self.keyspace_metadata
            );
            cluster.run_once(Purpose::Background, &text, (name, value)).await?;
        }
        Ok(())
    }

    /// How the rows differ from those of this program.
    pub(super) fn layout_differences(&self, rows: &Rows) -> Vec<Difference> {
        let Some(rows) = rows else { return Vec::new() };
        let table = format!("{}.{TABLE}", self.keyspace_metadata);
        let differs = |(name, ours): (&str, String)| {
            let (weight, text) = match rows.get(name) {
                Some(there) if *there == ours => return None,
                None => (Weight::Missing, format!("{table} does not say {name}, which is {ours}")),
                Some(there) => (Weight::Wrong, wrong(name, there, &ours, &table)),
            };
            Some(Difference::setting(format!("{table} {name}"), weight, text))
        };
        expected().into_iter().filter_map(differs).collect()
    }
}

fn wrong(name: &str, there: &str, ours: &str, table: &str) -> String {
    match (name, there.parse::<u32>()) {
        (VERSION, Ok(newer)) if newer > OURS => format!(
            "the tables are of version {newer} ({table}), and this Plumbago knows version {OURS}: use the newer \
             Plumbago that made them"
        ),
        _ => format!("{table} says that {name} is {there}, and for this Plumbago it is {ours}"),
    }
}

fn rows(found: QueryResult) -> Result<BTreeMap<String, String>, String> {
    let found = found.into_rows_result().map_err(|error| error.to_string())?;
    let mut rows = BTreeMap::new();
    for row in found.rows::<(String, Option<String>)>().map_err(|error| error.to_string())? {
        let (name, value) = row.map_err(|error| error.to_string())?;
        rows.insert(name, value.unwrap_or_default());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::super::{Indexes, Settings, Subject};
    use super::*;

    fn found(changed: &[(&str, Option<&str>)]) -> Vec<Difference> {
        let retention = "60*60s".parse().unwrap();
        let schema = Schema::new(&Settings::default(), [&retention], Indexes::None);
        let mut rows: BTreeMap<String, String> =
            expected().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        for (name, value) in changed {
            rows.remove(*name);
            rows.extend(value.map(|value| ((*name).to_owned(), value.to_owned())));
        }
        schema.layout_differences(&Some(rows))
    }

    #[test]
    fn a_newer_version_or_another_layout_is_wrong_and_a_missing_row_is_missing() {
        assert_eq!(found(&[]), []);
        let newer = found(&[(VERSION, Some("2"))]);
        assert_eq!((newer[0].weight, newer[0].subject), (Weight::Wrong, Subject::Setting));
        assert!(newer[0].text.contains("version 2") && newer[0].text.contains("use the newer"), "{newer:?}");
        let other = found(&[("points_per_partition", Some("500"))]);
        assert!(other[0].weight == Weight::Wrong && other[0].text.contains("is 500"), "{other:?}");
        assert_eq!(found(&[(VERSION, None)])[0].weight, Weight::Missing);
    }
}
