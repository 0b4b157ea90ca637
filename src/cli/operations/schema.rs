//! `schema`: the tables in Cassandra.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::cli::{self, Output, SchemaAction, UsageError, table, to_stdout, words};
use crate::config::Config;
use crate::server::{cluster_schema, cluster_settings};
use crate::store::cassandra::schema::{self, Item, Progress, Replication, Schema, Weight};
use crate::store::cassandra::{Cluster, LARGE_PARTITION, TableSize, partition_bytes, sizes};

/// Runs `schema`.
pub(in crate::cli) fn schema(config: &Config, args: &cli::Schema, output: Output) -> Result<()> {
    let replication = args.replication.as_deref().map(Replication::from_json).transpose();
    let replication = replication.map_err(|error| UsageError(format!("--replication: {error}")))?;
    let settings = cluster_settings(&config.cassandra)?;
    let schema = cluster_schema(config, &settings);
    match args.action {
        SchemaAction::Print => {
            let text = schema.print(&replication.unwrap_or_default());
            to_stdout(|out| Ok(out.write_all(text.as_bytes())?))
        }
        SchemaAction::Check => check(&Cluster::connect(settings)?, &schema, output),
        SchemaAction::Apply => {
            let cluster = Cluster::connect(settings)?;
            let replication = match (args.create_keyspaces, replication) {
                (true, Some(given)) => Some(given),
                (true, None) => Some(cluster.block_on(Replication::suitable(&cluster))?),
                (false, None) => None,
                (false, Some(_)) => {
                    bail!(UsageError("--replication works only with --create-keyspaces".to_owned()))
                }
            };
            apply(&cluster, &schema, replication.as_ref(), output)
        }
    }
}

fn check(cluster: &Cluster, schema: &Schema, output: Output) -> Result<()> {
    let found = schema::check(cluster, schema)?;
    let partitions = partition_sizes(cluster, schema)?;
    let failed = found.iter().filter(|difference| difference.weight > Weight::Note).count();
    to_stdout(|out| {
        match output {
            Output::Json | Output::Csv => {
                let list: Vec<_> = found
                    .iter()
                    .map(|difference| json!({ "weight": word(difference.weight), "text": difference.text }))
                    .collect();
                let report = json!({
                    "ok": failed == 0,
                    "differences": list,
                    "partitions": partitions.iter().map(Partitions::json).collect::<Vec<_>>(),
                });
                output.indented(out, &report)?;
            }
            Output::Table => {
                for difference in &found {
                    writeln!(out, "{:<8} {}", word(difference.weight), difference.text)?;
                }
                print_partitions(&partitions, out)?;
                if failed == 0 {
                    writeln!(out, "the schema has everything that the configuration needs")?;
                }
            }
        }
        Ok(())
    })?;
    match failed {
        0 => Ok(()),
        _ => bail!("{failed} things are missing or wrong; `plumbago schema apply` creates what is missing"),
    }
}

/// A table of points and its partitions.
struct Partitions {
    table: String,
    size: TableSize,
    /// Bytes of one that is full, with one writer.
    full: u64,
}

impl Partitions {
    fn json(&self) -> Value {
        json!({
            "table": self.table,
            "partitions": self.size.partitions,
            "mean_bytes": self.size.mean(),
            "full_bytes": self.full,
        })
    }

    fn row(&self) -> [String; 4] {
        let size = &self.size;
        [size.partitions.to_string(), words::size(size.mean()), words::size(self.full), self.table.clone()]
    }
}

/// The partitions of the tables of points that are there, by the nodes' own estimates.
fn partition_sizes(cluster: &Cluster, schema: &Schema) -> Result<Vec<Partitions>> {
    let sizes = sizes(cluster, &cluster.settings().keyspace)?;
    let of = |item: Item| {
        let size = *sizes.get(&item.table)?;
        Some(Partitions { size, full: partition_bytes(item.stage?), table: item.table })
    };
    Ok(schema.items().into_iter().filter_map(of).collect())
}

fn print_partitions(partitions: &[Partitions], out: &mut dyn io::Write) -> Result<()> {
    if !partitions.is_empty() {
        let rows: Vec<[String; 4]> = partitions.iter().map(Partitions::row).collect();
        table::print(out, ["partitions", "mean", "when full", "table"], &rows)?;
    }
    for large in partitions.iter().filter(|table| table.size.mean() > LARGE_PARTITION) {
        let mean = words::size(large.size.mean());
        writeln!(
            out,
            "note     partitions of {} have {mean} on average; keep them below 100 MiB",
            large.table
        )?;
    }
    Ok(())
}

fn word(weight: Weight) -> &'static str {
    match weight {
        Weight::Note => "note",
        Weight::Missing => "missing",
        Weight::Wrong => "wrong",
    }
}

fn apply(
    cluster: &Cluster,
    schema: &Schema,
    replication: Option<&Replication>,
    output: Output,
) -> Result<()> {
    let terminal = io::stderr().is_terminal();
    let mut last = String::new();
    let made = schema::apply(cluster, schema, replication, &mut |progress| {
        let line = describe(progress);
        if line == last {
            return;
        }
        // Nobody needs this line, so an error does not stop the work.
        let _ =
            if terminal { write!(io::stderr(), "\r\x1b[K{line}") } else { writeln!(io::stderr(), "{line}") };
        last = line;
    });
    if terminal && !last.is_empty() {
        let _ = writeln!(io::stderr());
    }
    let made = made?;
    to_stdout(|out| {
        match output {
            Output::Json | Output::Csv => output.line(out, &json!({ "made": made }))?,
            Output::Table if made == 0 => writeln!(out, "nothing was missing")?,
            Output::Table => writeln!(out, "tables and indexes created: {made}")?,
        }
        Ok(())
    })
}

fn describe(progress: &Progress) -> String {
    match &progress.now {
        Some(what) if progress.total == 0 => what.clone(),
        Some(what) => format!("{}/{} {what}", progress.done + 1, progress.total),
        None => format!("{} of {} made", progress.done, progress.total),
    }
}
