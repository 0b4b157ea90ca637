//! `schema`: the tables in Cassandra.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Result, bail};
use serde_json::json;

use crate::cli::{self, Output, SchemaAction, UsageError, to_stdout};
use crate::config::Config;
use crate::server::{cluster_schema, cluster_settings};
use crate::store::cassandra::Cluster;
use crate::store::cassandra::schema::{self, Progress, Replication, Schema, Weight};

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
    let failed = found.iter().filter(|difference| difference.weight > Weight::Note).count();
    to_stdout(|out| {
        match output {
            Output::Json => {
                let list: Vec<_> = found
                    .iter()
                    .map(|difference| json!({ "weight": word(difference.weight), "text": difference.text }))
                    .collect();
                serde_json::to_writer_pretty(&mut *out, &json!({ "ok": failed == 0, "differences": list }))?;
                writeln!(out)?;
            }
            Output::Text => {
                for difference in &found {
                    writeln!(out, "{:<8} {}", word(difference.weight), difference.text)?;
                }
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
            Output::Json => writeln!(out, "{}", json!({ "made": made }))?,
            Output::Text if made == 0 => writeln!(out, "nothing was missing")?,
            Output::Text => writeln!(out, "tables and indexes created: {made}")?,
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
