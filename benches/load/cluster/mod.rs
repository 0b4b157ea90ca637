//! `scripts/bench --cassandra`: measures Plumbago and BigGraphite on the same Cassandra node of this machine.

mod biggraphite;
mod ingest;
mod names;
mod node;
mod plumbago;
mod queries;

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::report::Report;
use crate::targets::Running;
use biggraphite::BigGraphite;
use node::Node;
use plumbago::OnCassandra;

/// Metrics that points are sent to.
const METRICS: usize = 20_000;

/// A part of the suite.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
enum Part {
    Points,
    Names,
}

/// What `cluster` measures.
#[derive(Debug, clap::Args)]
pub(crate) struct Suite {
    /// The server to measure
    #[arg(long, env = "PLUMBAGO", default_value = "target/release/plumbago")]
    plumbago: PathBuf,
    /// A Python environment with BigGraphite, which is measured on the same node
    #[arg(long, env = "BIGGRAPHITE")]
    biggraphite: Option<PathBuf>,
    /// A tenth of the load: finds mistakes, not figures
    #[arg(long)]
    quick: bool,
    /// Only one part: points (with reads and finds) or names
    #[arg(long)]
    only: Option<Part>,
    /// Write the figures here as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Heap of the Cassandra node. Its own default is a quarter of the memory; 2g were not always enough for the indexes on a
    /// million names
    #[arg(long, default_value = "4g")]
    heap: String,
    /// Where data directories are created
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    scratch: PathBuf,
}

impl Suite {
    /// Measures everything and prints the table.
    pub(crate) fn run(&self) -> Result<()> {
        std::fs::create_dir_all(&self.scratch)?;
        let node = Node::start(&self.scratch, &self.heap)?;
        let mut report = Report::default();
        let measured = self.measure(&node, &mut report);
        // Print what was measured before a failure, too.
        crate::print(&report, self.quick, self.json.as_deref())?;
        measured
    }

    fn measure(&self, node: &Node, report: &mut Report) -> Result<()> {
        if self.only != Some(Part::Names) {
            self.points(node, report)?;
        }
        if self.only != Some(Part::Points) {
            self.million(node, report)?;
        }
        Ok(())
    }

    /// Points, and then reads and finds of them.
    fn points(&self, node: &Node, report: &mut Report) -> Result<()> {
        let ours = self.server("bench_plumbago", "memory");
        ours.apply_schema()?;
        let stamps = self.on(&ours, |server| {
            names::create(server, METRICS)?;
            ingest::sustained(server, self.tenth(1440), report)
        })?;
        self.on(&ours, |server| ingest::found(server, &stamps, "Plumbago", report))?;
        node.rest()?;
        let theirs = self.biggraphite.as_ref().map(|environment| BigGraphite {
            environment: environment.clone(),
            keyspace: "bench_biggraphite",
        });
        if let Some(theirs) = &theirs {
            // Both use the same tables, so each reads what the other wrote.
            let mut accessor = BigGraphite { keyspace: ours.keyspace, ..theirs.clone() }.accessor()?;
            queries::biggraphite(&mut accessor, &stamps, report)?;
        }
        self.on(&ours, |server| queries::read(server, &stamps, report))?;
        for index in ["sasi", "memory"] {
            let kind = OnCassandra { index, ..ours.clone() };
            self.on(&kind, |server| queries::find(server, index, METRICS, report))?;
        }
        if let Some(theirs) = &theirs {
            self.biggraphite_ingest(theirs, report)?;
        }
        self.on(&ours, |server| ingest::burst(server, self.tenth(300), report))
    }

    fn biggraphite_ingest(&self, theirs: &BigGraphite, report: &mut Report) -> Result<()> {
        let tables = self.server(theirs.keyspace, "memory");
        tables.apply_schema()?;
        let stamps = ingest::biggraphite(theirs, &tables, &self.scratch, self.tenth(20), report)?;
        self.on(&tables, |server| ingest::found(server, &stamps, "BigGraphite", report))
    }

    /// A million names: creating them, and loading them into a server that starts.
    fn million(&self, node: &Node, report: &mut Report) -> Result<()> {
        let kind = self.server("bench_names", "memory");
        kind.apply_schema()?;
        let metrics = self.tenth(1_000_000);
        self.on(&kind, |server| names::created(server, metrics, report))?;
        node.rest()?;
        self.on(&kind, |server| names::load(server, metrics, report))
    }

    fn tenth(&self, whole: usize) -> usize {
        if self.quick { whole / 10 } else { whole }
    }

    fn server(&self, keyspace: &'static str, index: &'static str) -> OnCassandra {
        OnCassandra { binary: self.plumbago.clone(), keyspace, index }
    }

    /// Measures a server on an empty directory.
    fn on<T>(&self, kind: &OnCassandra, measure: impl FnOnce(&mut Running) -> Result<T>) -> Result<T> {
        let mut server = Running::start(kind, &self.scratch)?;
        measure(&mut server).with_context(|| format!("Plumbago failed; it said:\n{}", server.last_words()))
    }
}
