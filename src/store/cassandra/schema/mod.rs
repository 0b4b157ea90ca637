//! The tables: what is needed, what is there, what differs, and making what is missing.
//!
//! The statements are the templates in `/schema`; its README explains every table.

mod apply;
mod compare;
mod layout;
mod live;
mod points;
mod template;

use std::fmt::Write as _;

pub use apply::{Progress, Replication, apply, make_missing};
pub use compare::{Difference, Subject, Weight, check};
pub(in crate::store::cassandra) use live::has_index;
pub(super) use points::POINTS_PER_PARTITION;
pub use points::{row_size_ms, table_name, ttl_secs};
use uuid::Uuid;

use super::Settings;
use plumbago_model::{Retention, Stage, StageKind};

/// Components a name can have, the end marker among them.
pub const COMPONENTS: usize = 64;

/// Which indexes the names get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    /// BigGraphite's.
    Sasi,
    /// Those of Cassandra 5.
    Sai,
    /// None: globs are looked up in the servers' memory.
    None,
}

/// Options of the tables of points that an operator may choose. Those of tables that are there already are never altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// How long a deletion is remembered, so that a node that was down learns of it.
    pub gc_grace_secs: u32,
    /// How often what is in memory is written to disk.
    pub flush_period_ms: u64,
    /// The stretch of time that is compacted together; `None` leaves it to the stage.
    pub window_secs: Option<u64>,
}

/// BigGraphite's.
impl Default for TableOptions {
    fn default() -> Self {
        Self { gc_grace_secs: 86_400, flush_period_ms: 900_000, window_secs: None }
    }
}

impl TableOptions {
    /// Unit and size of the windows of a stage that are compacted together.
    fn window(self, stage: Stage) -> (&'static str, u64) {
        self.window_secs.map_or_else(|| points::compaction_window(stage), points::chosen_window)
    }
}

/// All that is needed for some retentions.
#[derive(Clone, Debug)]
pub struct Schema {
    keyspace: String,
    keyspace_metadata: String,
    stages: Vec<Stage>,
    indexes: Indexes,
    options: TableOptions,
}

/// A table or an index.
#[derive(Clone, Debug)]
pub struct Item {
    /// The keyspace it is in.
    pub keyspace: String,
    /// The table it is, or is on.
    pub table: String,
    /// For an index, its name and its column.
    pub index: Option<(String, String)>,
    /// The stage whose points are in it.
    pub stage: Option<Stage>,
    /// The statement that makes it.
    pub cql: String,
}

impl Item {
    /// `index a_b_idx on keyspace.a`
    pub fn title(&self) -> String {
        match &self.index {
            Some((name, _)) => format!("index {name} on {}.{}", self.keyspace, self.table),
            None => format!("table {}.{}", self.keyspace, self.table),
        }
    }
}

impl Schema {
    /// The schema for retentions, in the keyspaces of `settings`.
    pub fn new<'a>(
        settings: &Settings,
        retentions: impl IntoIterator<Item = &'a Retention>,
        indexes: Indexes,
    ) -> Self {
        let mut stages: Vec<Stage> = retentions.into_iter().flat_map(Retention::stages).copied().collect();
        stages.sort_unstable();
        stages.dedup();
        Self {
            keyspace: settings.keyspace.clone(),
            keyspace_metadata: settings.keyspace_metadata.clone(),
            stages,
            indexes,
            options: settings.table_options,
        }
    }

    /// Both keyspaces; one, if they are the same.
    pub fn keyspaces(&self) -> Vec<&str> {
        let mut both = vec![self.keyspace.as_str(), self.keyspace_metadata.as_str()];
        both.dedup();
        both
    }

    /// Every table and index, in the order they are made. The table that serves as a lock comes first.
    pub fn items(&self) -> Vec<Item> {
        let mut items = vec![self.lock_table()];
        items.push(self.settings_table());
        items.extend(self.name_tables());
        items.push(self.created_table());
        items.push(self.events_table());
        items.push(self.memos_table());
        items.extend(self.stages.iter().map(|stage| self.points_table(*stage)));
        items.extend(self.index_list());
        items
    }

    /// All statements as one text, the keyspaces commented out.
    pub fn print(&self, replication: &Replication) -> String {
        let mut out = String::from("-- The schema for the configured retentions. Safe to run again.\n");
        for keyspace in self.keyspaces() {
            let statement = create_keyspace(keyspace, replication);
            let _ = writeln!(out, "\n-- {}", statement.trim_end().replace('\n', "\n-- "));
        }
        for item in self.items() {
            let _ = write!(out, "\n{}", item.cql);
        }
        out
    }

    fn table(&self, keyspace: &str, table: &str, template: &str, values: &[(&str, &str)]) -> Item {
        let mut all = vec![("keyspace", keyspace), ("table", table)];
        all.extend(values);
        Item {
            keyspace: keyspace.to_owned(),
            table: table.to_owned(),
            index: None,
            stage: None,
            cql: template::fill(template, &all),
        }
    }

    /// Two servers that make this table at once must make the same one, so its id is fixed: for all others the lock in
    /// it sees to that.
    fn lock_table(&self) -> Item {
        let keyspace = &self.keyspace_metadata;
        let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{keyspace}.plumbago_writers").as_bytes());
        self.table(keyspace, "plumbago_writers", template::WRITERS, &[("id", &id.to_string())])
    }

    fn settings_table(&self) -> Item {
        self.table(&self.keyspace_metadata, layout::TABLE, template::SETTINGS, &[])
    }

    fn created_table(&self) -> Item {
        self.table(&self.keyspace_metadata, "plumbago_created", template::CREATED, &[])
    }

    fn events_table(&self) -> Item {
        self.table(&self.keyspace_metadata, "plumbago_events", template::EVENTS, &[])
    }

    fn memos_table(&self) -> Item {
        self.table(&self.keyspace_metadata, "plumbago_memos", template::MEMOS, &[])
    }

    fn name_tables(&self) -> Vec<Item> {
        let components: Vec<String> = components().map(|column| format!("{column} text")).collect();
        let components = components.join(",\n  ");
        let names = |table| {
            self.table(&self.keyspace_metadata, table, template::NAMES, &[("components", &components)])
        };
        let metadata = self.table(&self.keyspace_metadata, "metrics_metadata", template::METADATA, &[]);
        vec![names("metrics"), names("directories"), metadata]
    }

    fn points_table(&self, stage: Stage) -> Item {
        let text = match stage.kind {
            StageKind::Raw => template::POINTS_RAW,
            StageKind::Aggregated => template::POINTS_AGGREGATED,
        };
        let (unit, size) = self.options.window(stage);
        let values = [
            ("gc_grace_secs", &*self.options.gc_grace_secs.to_string()),
            ("flush_period_ms", &*self.options.flush_period_ms.to_string()),
            ("ttl", &*ttl_secs(stage).to_string()),
            ("comment", &*points::comment(stage)),
            ("window_unit", unit),
            ("window_size", &*size.to_string()),
        ];
        Item { stage: Some(stage), ..self.table(&self.keyspace, &table_name(stage), text, &values) }
    }

    /// What finds need most comes first: a server can work while the rest is made.
    fn index_list(&self) -> Vec<Item> {
        let tables = ["metrics", "directories"];
        if self.indexes == Indexes::None {
            return Vec::new();
        }
        let mut items: Vec<Item> =
            tables.iter().map(|table| self.index(table, "parent", template::INDEX_SASI)).collect();
        for column in ["id", "created_on", "updated_on", "read_on"] {
            items.push(self.index("metrics_metadata", column, template::INDEX_SASI_SPARSE));
        }
        for column in components() {
            items.extend(tables.iter().map(|table| self.index(table, &column, template::INDEX_SASI)));
        }
        items
    }

    fn index(&self, table: &str, column: &str, sasi: &str) -> Item {
        // Both kinds may be there at once, so their names differ.
        let (name, text) = match self.indexes {
            Indexes::Sai => (format!("{table}_{column}_sai"), template::INDEX_SAI),
            Indexes::Sasi | Indexes::None => (format!("{table}_{column}_idx"), sasi),
        };
        let item = self.table(&self.keyspace_metadata, table, text, &[("index", &name), ("column", column)]);
        Item { index: Some((name, column.to_owned())), ..item }
    }
}

/// `component_0` … `component_63`
fn components() -> impl Iterator<Item = String> {
    (0..COMPONENTS).map(|at| format!("component_{at}"))
}

/// The statement that makes a keyspace.
pub fn create_keyspace(keyspace: &str, replication: &Replication) -> String {
    template::fill(template::KEYSPACE, &[("keyspace", keyspace), ("replication", &replication.to_string())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(indexes: Indexes) -> Schema {
        let retention: Retention = "11520*60s:720*3600s".parse().unwrap();
        Schema::new(&Settings::default(), [&retention, &retention], indexes)
    }

    #[test]
    fn every_table_and_index_is_there_once() {
        for indexes in [Indexes::Sasi, Indexes::Sai] {
            let items = schema(indexes).items();
            assert_eq!(items.iter().filter(|item| item.index.is_some()).count(), 134);
            assert_eq!(items.iter().filter(|item| item.stage.is_some()).count(), 2);
            assert_eq!(items.len(), 134 + 2 + 8);
            let mut titles: Vec<String> = items.iter().map(Item::title).collect();
            titles.sort();
            titles.dedup();
            assert_eq!(titles.len(), items.len());
        }
    }

    #[test]
    fn names_in_memory_need_no_index() {
        let items = schema(Indexes::None).items();
        assert_eq!((items.len(), items.iter().filter(|item| item.index.is_some()).count()), (2 + 8, 0));
    }

    #[test]
    fn tables_get_the_options_that_were_chosen() {
        let options = TableOptions { gc_grace_secs: 600, flush_period_ms: 0, window_secs: Some(7200) };
        let retention: Retention = "11520*60s".parse().unwrap();
        let settings = Settings { table_options: options, ..Settings::default() };
        let text = Schema::new(&settings, [&retention], Indexes::None).print(&Replication::default());
        for part in
            ["gc_grace_seconds = 600", "memtable_flush_period_in_ms = 0", "_size': '2'", "_unit': 'HOURS'"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        let text = schema(Indexes::Sasi).print(&Replication::default());
        let blanks = regex::Regex::new(r"\{[a-z_]+\}").unwrap();
        assert!(!blanks.is_match(&text), "{text}");
        assert!(text.contains("biggraphite.datapoints_720p_3600s_aggr"));
        assert!(text.contains("-- CREATE KEYSPACE IF NOT EXISTS biggraphite_metadata"));
    }
}
