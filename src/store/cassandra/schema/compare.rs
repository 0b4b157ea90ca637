//! What differs between the schema that is needed and the one that is there, in words.

use std::collections::BTreeMap;

use super::live::{self, Keyspace, Table};
use super::{Indexes, Item, Replication, Schema, TableOptions, create_keyspace, layout, points, template};
use crate::store::cassandra::{Cluster, ClusterError};
use plumbago_model::Stage;

/// How much a difference matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Works; somebody may have meant it.
    Note,
    /// Is missing, and `schema apply` makes it.
    Missing,
    /// Is there and is wrong: a person must look at it.
    Wrong,
}

/// What kind of thing differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A keyspace.
    Keyspace,
    /// A table.
    Table,
    /// An index.
    Index,
    /// A row that says how the tables are laid out.
    Setting,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// How much it matters.
    pub weight: Weight,
    /// What kind of thing differs.
    pub subject: Subject,
    /// Its name: `keyspace`, `keyspace.table`.
    pub name: String,
    /// What differs, as a sentence.
    pub text: String,
}

impl Difference {
    fn keyspace(name: &str, text: String) -> Self {
        Self { weight: Weight::Missing, subject: Subject::Keyspace, name: name.to_owned(), text }
    }

    pub(super) fn setting(name: String, weight: Weight, text: String) -> Self {
        Self { weight, subject: Subject::Setting, name, text }
    }

    fn of(item: &Item, weight: Weight, text: String) -> Self {
        let (subject, name) = match &item.index {
            Some((index, _)) => (Subject::Index, index.clone()),
            // Tables of an earlier program lack it, and work without it.
            None if item.table == layout::TABLE => {
                (Subject::Setting, format!("{}.{}", item.keyspace, item.table))
            }
            None => (Subject::Table, format!("{}.{}", item.keyspace, item.table)),
        };
        Self { weight, subject, name, text }
    }
}

/// Compares a cluster with what is needed.
pub fn check(cluster: &Cluster, schema: &Schema) -> Result<Vec<Difference>, ClusterError> {
    cluster.block_on(async {
        let mut live = BTreeMap::new();
        for name in schema.keyspaces() {
            live.insert(name.to_owned(), live::keyspace(cluster, name).await?);
        }
        let rows = match is_missing(&schema.settings_table(), &live) {
            true => None,
            false => Some(schema.layout_rows(cluster).await?),
        };
        let mut found = differences(schema, &live);
        found.extend(schema.layout_differences(&rows));
        Ok(found)
    })
}

/// Items that the cluster does not have; `None` for a keyspace that does not exist.
pub(super) fn is_missing(item: &Item, live: &BTreeMap<String, Option<Keyspace>>) -> bool {
    let table = live.get(&item.keyspace).and_then(Option::as_ref).and_then(|k| k.tables.get(&item.table));
    match (table, &item.index) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(table), Some((name, column))) => find_index(table, name, column).is_none(),
    }
}

/// By name, or the one on that column of the same kind under another name.
fn find_index<'a>(table: &'a Table, name: &str, column: &str) -> Option<&'a live::Index> {
    let same_kind = |index: &&live::Index| {
        let sasi = index.class.ends_with("SASIIndex");
        index.column == column && sasi == name.ends_with("_idx")
    };
    table.indexes.iter().find(|index| index.name == name).or_else(|| table.indexes.iter().find(same_kind))
}

fn differences(schema: &Schema, live: &BTreeMap<String, Option<Keyspace>>) -> Vec<Difference> {
    let mut found = Vec::new();
    for keyspace in schema.keyspaces() {
        if !live.get(keyspace).is_some_and(Option::is_some) {
            let create = create_keyspace(keyspace, &Replication::default());
            let text = format!(
                "keyspace {keyspace} does not exist; make it with the replication you want, for example: {}",
                one_line(&create)
            );
            found.push(Difference::keyspace(keyspace, text));
        }
    }
    for item in schema.items() {
        let Some(Some(keyspace)) = live.get(&item.keyspace) else { continue };
        match keyspace.tables.get(&item.table) {
            None if item.index.is_some() => {}
            None => {
                let effect =
                    item.stage.map_or_else(String::new, |s| format!(": points of stage {s} have no place"));
                let text = format!("{} is missing{effect}", item.title());
                found.push(Difference::of(&item, Weight::Missing, text));
            }
            Some(table) => compare_item(&item, table, schema, &mut found),
        }
    }
    found
}

fn compare_item(item: &Item, table: &Table, schema: &Schema, found: &mut Vec<Difference>) {
    match &item.index {
        Some((name, column)) => {
            let class = match schema.indexes {
                Indexes::Sai => "StorageAttachedIndex",
                Indexes::Sasi | Indexes::None => "SASIIndex",
            };
            match find_index(table, name, column) {
                None => found.push(Difference::of(
                    item,
                    Weight::Missing,
                    format!("{} is missing: finds by {column} do not work", item.title()),
                )),
                Some(index) if !index.class.ends_with(class) || index.column != *column => {
                    let text = format!(
                        "{} is a {} on {}, expected a {class} on {column}",
                        item.title(),
                        index.class,
                        index.column
                    );
                    found.push(Difference::of(item, Weight::Wrong, text));
                }
                Some(_) => {}
            }
        }
        None => {
            compare_columns(item, table, found);
            if let Some(stage) = item.stage {
                compare_options(item, stage, table, schema.options, found);
            }
        }
    }
}

fn compare_columns(item: &Item, table: &Table, found: &mut Vec<Difference>) {
    let title = item.title();
    let mut wrong = |text| found.push(Difference::of(item, Weight::Wrong, text));
    let expected = template::columns(&item.cql);
    for column in &expected {
        let name = &column.name;
        match table.columns.get(name) {
            None => wrong(format!("{title}: column {name} is missing")),
            Some(there) if there.kind != column.kind => {
                wrong(format!("{title}: column {name} is {}, expected {}", there.kind, column.kind));
            }
            Some(there) if (there.role, there.position) != (column.role, column.position) => wrong(format!(
                "{title}: column {name} is {} {}, expected {} {}",
                there.role, there.position, column.role, column.position
            )),
            Some(_) => {}
        }
    }
    // Others may add columns of their own; in the key they would make every statement fail.
    for there in table.columns.values().filter(|column| column.position >= 0) {
        if !expected.iter().any(|column| column.name == there.name) {
            wrong(format!("{title}: column {} is in the key, and is not known", there.name));
        }
    }
}

fn compare_options(
    item: &Item,
    stage: Stage,
    table: &Table,
    options: TableOptions,
    found: &mut Vec<Difference>,
) {
    let title = item.title();
    let comment: serde_json::Value = serde_json::from_str(&table.comment).unwrap_or_default();
    match comment.get("row_size_ms").and_then(serde_json::Value::as_i64) {
        Some(size) if size == points::row_size_ms(stage) => {}
        Some(size) => found.push(Difference::of(
            item,
            Weight::Wrong,
            format!("{title}: its partitions are {size} ms long, expected {}", points::row_size_ms(stage)),
        )),
        None => found.push(Difference::of(
            item,
            Weight::Note,
            format!("{title}: its comment is not BigGraphite's, so its tools cannot read the table's stage"),
        )),
    }
    let mut note = |what: &str, there: &str, expected: &str, change: &str| {
        if there != expected {
            let text = format!(
                "{title}: {what} is {there}, expected {expected}; if that is not meant: ALTER TABLE {}.{} WITH {change}",
                item.keyspace, item.table
            );
            found.push(Difference::of(item, Weight::Note, text));
        }
    };
    for (name, there, expected) in [
        ("default_time_to_live", table.ttl_secs.to_string(), points::ttl_secs(stage).to_string()),
        ("gc_grace_seconds", table.gc_grace_secs.to_string(), options.gc_grace_secs.to_string()),
        (
            "memtable_flush_period_in_ms",
            table.flush_period_ms.to_string(),
            options.flush_period_ms.to_string(),
        ),
    ] {
        note(name, &there, &expected, &format!("{name} = {expected}"));
    }
    let option = |key: &str| table.compaction.get(key).map_or("not set", String::as_str);
    let (unit, size) = options.window(stage);
    let windows = format!(
        "compaction = {{'class': 'TimeWindowCompactionStrategy', 'timestamp_resolution': 'MICROSECONDS', \
         'compaction_window_unit': '{unit}', 'compaction_window_size': '{size}', 'max_threshold': '32', 'min_threshold': '4'}}"
    );
    let class = option("class");
    note("compaction", class.rsplit('.').next().unwrap_or(class), "TimeWindowCompactionStrategy", &windows);
    if class.ends_with("TimeWindowCompactionStrategy") {
        let there = format!("{} {}", option("compaction_window_size"), option("compaction_window_unit"));
        note("the compaction window", &there, &format!("{size} {unit}"), &windows);
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
