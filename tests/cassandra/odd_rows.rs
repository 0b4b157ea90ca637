//! What others leave in the tables: rows with holes, columns of a later version, points of nobody.

use plumbago::store::cassandra::{Cluster, Purpose, Settings};
use uuid::Uuid;

use crate::harness::{Server, now};
use crate::servers::{fresh, schema, settle, setup, until};

const NAMESPACE: Uuid = uuid::uuid!("00000000-1111-2222-3333-444444444444");

/// Writes straight into the tables.
struct Tables<'a> {
    cluster: Cluster,
    settings: &'a Settings,
}

impl Tables<'_> {
    fn run(&self, text: &str) {
        self.cluster.block_on(self.cluster.run_once(Purpose::Background, text, ())).unwrap();
    }

    /// A row of a stage; `columns` and `values` are those behind its key.
    fn point(&self, table: &str, step: u64, metric: Uuid, time: u64, columns: &str, values: &str) {
        let (row_ms, ms) = (2000 * step * 1000, time * 1000);
        let (start, offset) = (ms - ms % row_ms, ms % row_ms / (step * 1000));
        self.run(&format!(
            "INSERT INTO {}.{table} (metric, time_start_ms, \"offset\"{columns}) VALUES ({metric}, {start}, {offset}{values})",
            self.settings.keyspace
        ));
    }

    /// The row of `top.middle.cpu` in `metrics`, with its directory.
    fn metric(&self, top: &str, middle: &str) {
        let keyspace = &self.settings.keyspace_metadata;
        self.run(&format!(
            "INSERT INTO {keyspace}.directories (name, parent, component_0, component_1, component_2) \
             VALUES ('{top}.{middle}', '{top}.', '{top}', '{middle}', '__END__')"
        ));
        self.run(&format!(
            "INSERT INTO {keyspace}.metrics (name, parent, component_0, component_1, component_2, component_3) \
             VALUES ('{top}.{middle}.cpu', '{top}.{middle}.', '{top}', '{middle}', 'cpu', '__END__')"
        ));
    }
}

fn found(server: &Server, pattern: &str) -> Vec<String> {
    let nodes = server.json(&format!("/metrics/find?format=json&query={pattern}"));
    nodes.as_array().unwrap().iter().map(|node| node["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn odd_rows_break_no_query() {
    let Some(settings) = schema("odd_rows_break_no_query") else { return };
    let tables = Tables { cluster: Cluster::connect(settings.clone()).unwrap(), settings };
    let (top, base) = (fresh("odd"), (now() - 5400) / 60 * 60);
    let name = format!("{top}.web.cpu");
    let writer = setup(settings, "memory").start();
    let mut sent: Vec<(f64, u64)> = (0..120).map(|i| ((i % 10) as f64, base + i)).collect();
    writer.store(&sent.iter().map(|(value, time)| format!("{name} {value} {time}\n")).collect::<String>());
    settle(&writer);

    let (raw, coarse, metric) =
        ("datapoints_7200p_1s_0", "datapoints_2160p_10s_aggr", Uuid::new_v5(&NAMESPACE, name.as_bytes()));
    // A later version has a column more, and writes it.
    for table in [raw, coarse] {
        tables.run(&format!("ALTER TABLE {}.{table} ADD IF NOT EXISTS later text", settings.keyspace));
    }
    tables.point(raw, 1, metric, base + 130, ", value, later", ", 42.5, 'new'");
    sent.push((42.5, base + 130));
    tables.point(raw, 1, metric, base + 140, "", "");
    for (shard, columns, values) in [
        (77, ", count", ", 5"),
        (78, ", value, count", ", 7, 0"),
        (79, ", value", ", 3"),
        (80, ", later", ", 'x'"),
    ] {
        let (columns, values) = (format!(", shard{columns}"), format!(", {shard}{values}"));
        tables.point(coarse, 10, metric, base, &columns, &values);
    }
    tables.point(raw, 1, Uuid::new_v4(), base, ", value", ", 1");
    // A config that says nothing we know, a metric without one, and what a late touch leaves of a deleted metric.
    let metadata = format!("{}.metrics_metadata", settings.keyspace_metadata);
    tables.metric(&top, "novel");
    tables.run(&format!(
        "INSERT INTO {metadata} (name, config, id, created_on) VALUES \
         ('{top}.novel.cpu', {{'retention': 'for ever', 'aggregator': 'wisest', 'later': '1'}}, {}, now())",
        Uuid::new_v5(&NAMESPACE, format!("{top}.novel.cpu").as_bytes())
    ));
    tables.metric(&top, "half");
    tables.run(&format!("INSERT INTO {metadata} (name, updated_on) VALUES ('{top}.ghost.cpu', now())"));

    let names = ["half", "novel", "web"].map(|middle| format!("{top}.{middle}.cpu"));
    for index in ["memory", "sasi"] {
        let server = setup(settings, index).start();
        if index == "memory" {
            until("all names in memory", || server.counter("plumbago_names_loaded") == 1);
        }
        until("the names", || found(&server, &format!("{top}.*.cpu")) == names);
        assert_eq!(server.points(&name, base - 1, base + 150), sent, "{index}");
        let mut means = server.points(&name, now() - 3 * 3600, now());
        means.retain(|&(_, time)| (base..base + 120).contains(&time));
        assert_eq!(means, (0..12).map(|slot| (4.5, base + slot * 10)).collect::<Vec<_>>(), "{index}");
        let all = server.render(&format!("{top}.*.*"), base - 1, base + 150);
        assert!(all.iter().any(|(found, points)| *found == name && *points == sent), "{index}: {all:?}");
    }
}
