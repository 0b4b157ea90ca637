//! The tables: made as BigGraphite makes them, found to be missing, found to be wrong.

use std::collections::BTreeMap;
use std::process::Command;

use plumbago::store::cassandra::schema::{Indexes, Replication, Schema, Weight, apply, check};
use plumbago::store::cassandra::{Cluster, Fault, Purpose, Settings};
use plumbago_model::Retention;
use scylla::value::{CqlValue, Row};

use crate::node;

const RETENTION: &str = "11520*60s:720*3600s:730*86400s";

fn schema_of(settings: &Settings, retention: &str, indexes: Indexes) -> Schema {
    let retention: Retention = retention.parse().unwrap();
    Schema::new(settings, [&retention], indexes)
}

/// Gives the number of things made, without the table that serves as the lock.
fn make(cluster: &Cluster, schema: &Schema) -> usize {
    apply(cluster, schema, Some(&Replication::everywhere(1)), &mut |_| {}).unwrap()
}

fn run(cluster: &Cluster, text: &str) {
    cluster.block_on(cluster.run_once(Purpose::Background, text, ())).unwrap();
}

/// Every row of a table of `system_schema` about a keyspace, without what must differ: names of keyspaces and ids.
fn rows(cluster: &Cluster, table: &str, keyspace: &str) -> BTreeMap<String, String> {
    let text = format!("SELECT * FROM system_schema.{table} WHERE keyspace_name = ?");
    let result = cluster.block_on(cluster.run_once(Purpose::Background, &text, (keyspace,))).unwrap();
    let result = result.into_rows_result().unwrap();
    let names: Vec<String> = result.column_specs().iter().map(|spec| spec.name().to_owned()).collect();
    let mut found = BTreeMap::new();
    for row in result.rows::<Row>().unwrap() {
        let mut columns = BTreeMap::new();
        for (name, value) in names.iter().zip(row.unwrap().columns) {
            columns.insert(name.clone(), value.map_or_else(|| "null".to_owned(), |value| told(&value)));
        }
        columns.remove("keyspace_name");
        columns.remove("id");
        let key = |name: &str| columns.get(name).cloned().unwrap_or_default();
        let key = format!("{} {} {}", key("table_name"), key("column_name"), key("index_name"));
        // Ours, which BigGraphite does not know.
        if !key.contains("plumbago_") {
            found.insert(key, format!("{columns:#?}"));
        }
    }
    found
}

/// Maps have no order of their own.
fn told(value: &CqlValue) -> String {
    match value {
        CqlValue::Map(pairs) => {
            let sorted: BTreeMap<String, String> =
                pairs.iter().map(|(key, value)| (format!("{key:?}"), format!("{value:?}"))).collect();
            format!("{sorted:?}")
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn tables_are_those_of_biggraphite_column_by_column() {
    let test = "tables_are_those_of_biggraphite_column_by_column";
    let Some(ours) = node::shared(test) else { return };
    let Some(biggraphite) = node::biggraphite(test) else { return };
    let cluster = Cluster::connect(ours.clone()).unwrap();
    let theirs = node::with_own_keyspaces(ours.clone());
    for keyspace in [&theirs.keyspace, &theirs.keyspace_metadata] {
        run(
            &cluster,
            &format!("CREATE KEYSPACE {keyspace} WITH replication = {}", Replication::everywhere(1)),
        );
    }
    let (host, port) = ours.nodes[0].rsplit_once(':').unwrap();
    let done = Command::new(biggraphite.join("bin/bgutil"))
        .args(["--driver=cassandra", &format!("--cassandra_contact_points={host}")])
        .args([&format!("--cassandra_port={port}"), &format!("--cassandra_keyspace={}", theirs.keyspace)])
        .args(["syncdb", "--retention", RETENTION])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(make(&cluster, &schema_of(&ours, RETENTION, Indexes::Sasi)), 134 + 3 + 7);
    let mut seen = 0;
    for (our, their) in
        [(&ours.keyspace, &theirs.keyspace), (&ours.keyspace_metadata, &theirs.keyspace_metadata)]
    {
        for table in ["tables", "columns", "indexes"] {
            let (our, their) = (rows(&cluster, table, our), rows(&cluster, table, their));
            seen += their.len();
            assert_eq!(our.keys().collect::<Vec<_>>(), their.keys().collect::<Vec<_>>(), "{table}");
            for (key, row) in &their {
                assert_eq!(our.get(key), Some(row), "{table} {key}");
            }
        }
    }
    // Tables, their columns, indexes.
    assert_eq!(seen, 6 + (4 + 6 + 6 + 66 + 66 + 6) + 134);
    // What BigGraphite made lacks our own five tables only.
    let missing = check(&cluster, &schema_of(&theirs, RETENTION, Indexes::Sasi)).unwrap();
    assert_eq!(missing.len(), 5, "{missing:?}");
    make(&cluster, &schema_of(&theirs, RETENTION, Indexes::Sasi));
    assert_eq!(check(&cluster, &schema_of(&theirs, RETENTION, Indexes::Sasi)).unwrap(), []);
    assert_eq!(check(&cluster, &schema_of(&ours, RETENTION, Indexes::Sasi)).unwrap(), []);
    // A longer configuration needs one more table.
    let more = schema_of(&ours, &format!("{RETENTION}:20*31536000s"), Indexes::Sasi);
    let missing = check(&cluster, &more).unwrap();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].text.contains("points of stage 20*31536000s_aggr have no place"), "{missing:?}");
    node::drop_keyspaces(&cluster, &[&ours, &theirs]);
}

#[test]
fn keyspaces_are_not_made_unasked() {
    let Some(settings) = node::shared("keyspaces_are_not_made_unasked") else { return };
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let schema = schema_of(&settings, RETENTION, Indexes::Sasi);
    let error = apply(&cluster, &schema, None, &mut |_| {}).unwrap_err();
    assert_eq!(error.fault, Fault::Schema);
    let text = error.to_string();
    assert!(text.contains(&format!("CREATE KEYSPACE IF NOT EXISTS {}", settings.keyspace)), "{text}");
    let found = check(&cluster, &schema).unwrap();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|difference| difference.weight == Weight::Missing), "{found:?}");
}

#[test]
fn wrong_tables_are_not_taken_for_tuned_ones() {
    let Some(settings) = node::shared("wrong_tables_are_not_taken_for_tuned_ones") else { return };
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let replication = Replication::everywhere(1);
    for keyspace in [&settings.keyspace, &settings.keyspace_metadata] {
        run(&cluster, &format!("CREATE KEYSPACE {keyspace} WITH replication = {replication}"));
    }
    let (points, names) = (&settings.keyspace, &settings.keyspace_metadata);
    run(
        &cluster,
        &format!(
            "CREATE TABLE {points}.datapoints_60p_60s_0 (metric uuid, time_start_ms bigint, offset int, value double, PRIMARY KEY (metric, offset))"
        ),
    );
    run(
        &cluster,
        &format!("CREATE TABLE {names}.metrics_metadata (name text PRIMARY KEY, id uuid, extra int)"),
    );
    let found = check(&cluster, &schema_of(&settings, "60*60s", Indexes::Sasi)).unwrap();
    let of = |weight: Weight, text: &str| {
        let hit = found.iter().any(|d| d.weight == weight && d.text.contains(text));
        assert!(hit, "{weight:?} {text}: {found:#?}");
    };
    of(Weight::Wrong, "column offset is int, expected smallint");
    of(Weight::Wrong, "column time_start_ms is regular -1, expected partition_key 1");
    of(Weight::Wrong, "column read_on is missing");
    of(Weight::Note, "default_time_to_live is 0, expected 4500; if that is not meant: ALTER TABLE");
    of(Weight::Missing, &format!("table {names}.directories is missing"));
    assert!(!found.iter().any(|d| d.text.contains("extra")), "{found:#?}");
    node::drop_keyspaces(&cluster, &[&settings]);
}

#[test]
fn two_servers_may_make_the_tables_at_once() {
    let Some(settings) = node::shared("two_servers_may_make_the_tables_at_once") else { return };
    let schema = schema_of(&settings, "60*60s:100*3600s", Indexes::Sai);
    let made: Vec<usize> = std::thread::scope(|scope| {
        let start = || make(&Cluster::connect(settings.clone()).unwrap(), &schema);
        let servers: Vec<_> = (0..2).map(|_| scope.spawn(start)).collect();
        servers.into_iter().map(|server| server.join().unwrap()).collect()
    });
    assert_eq!(made.iter().sum::<usize>(), 134 + 2 + 7, "{made:?}");
    let cluster = Cluster::connect(settings.clone()).unwrap();
    assert_eq!(check(&cluster, &schema).unwrap(), []);
    node::drop_keyspaces(&cluster, &[&settings]);
}

#[test]
fn a_server_refuses_tables_of_a_newer_version() {
    let Some(settings) = node::shared("a_server_refuses_tables_of_a_newer_version") else { return };
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let retention = "7200*1s:2160*10s:2880*60s";
    assert_eq!(make(&cluster, &schema_of(&settings, retention, Indexes::None)), 3 + 7);
    assert_eq!(check(&cluster, &schema_of(&settings, retention, Indexes::None)).unwrap(), []);
    // Rows that somebody lost are written again; a row that says something else stays.
    let rows = format!("{}.plumbago_settings", settings.keyspace_metadata);
    run(&cluster, &format!("DELETE FROM {rows} WHERE name = 'name_components'"));
    let lost = check(&cluster, &schema_of(&settings, retention, Indexes::None)).unwrap();
    assert!(lost.len() == 1 && lost[0].weight == Weight::Missing, "{lost:?}");
    run(&cluster, &format!("UPDATE {rows} SET value = '2' WHERE name = 'schema_version'"));
    make(&cluster, &schema_of(&settings, retention, Indexes::None));
    let newer = check(&cluster, &schema_of(&settings, retention, Indexes::None)).unwrap();
    assert!(newer.len() == 1 && newer[0].text.contains("version 2"), "{newer:?}");
    let ended = crate::servers::setup(&settings, "memory").run_to_end();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("use the newer Plumbago that made them"), "{said}");
    node::drop_keyspaces(&cluster, &[&settings]);
}

#[test]
fn tables_get_the_configured_options_and_check_shows_their_partitions() {
    let test = "tables_get_the_configured_options_and_check_shows_their_partitions";
    let Some(settings) = node::shared(test) else { return };
    let cluster = Cluster::connect(settings.clone()).unwrap();
    let setup = crate::servers::setup(&settings, "memory")
        .set("store.cassandra.gc_grace", "2h")
        .set("store.cassandra.memtable_flush_period", "5m")
        .set("store.cassandra.compaction_window", "6h");
    let made = setup.run(&["schema", "apply", "--create-keyspaces"]);
    assert!(made.status.success(), "{made:?}");
    let tables = rows(&cluster, "tables", &settings.keyspace);
    let raw = tables.iter().find(|(key, _)| key.contains("datapoints_7200p_1s_0")).unwrap().1;
    for part in ["Int(7200)", "Int(300000)", "6", "HOURS"] {
        assert!(raw.contains(part), "{part}: {raw}");
    }
    let plain = crate::servers::setup(&settings, "memory").run(&["schema", "check", "--output", "json"]);
    let told: serde_json::Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert!(told["ok"] == true && told["partitions"].is_array(), "{told}");
    let text = told["differences"].to_string();
    assert!(text.contains("gc_grace_seconds is 7200, expected 86400"), "{text}");
    assert!(text.contains("WITH memtable_flush_period_in_ms = 900000"), "{text}");
    assert!(text.contains("the compaction window is 6 HOURS"), "{text}");
    node::drop_keyspaces(&cluster, &[&settings]);
}
