//! Arguments of `import` and `export`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `import`.
#[derive(Clone, Debug, Args)]
pub struct Import {
    /// Where the metrics come from
    #[command(subcommand)]
    pub from: ImportFrom,
}

/// Where imported metrics come from.
#[derive(Clone, Debug, Subcommand)]
pub enum ImportFrom {
    /// Bring in a directory of whisper files, as carbon and go-carbon keep them
    ///
    /// Every archive of every file goes to the stages of the metric; what a metric has here already stays. go-carbon's compressed
    /// files are read too. While a server runs on the store it is asked to take the metrics; with --url another server is.
    ///
    /// An import that was interrupted goes on where it was: the files that are done are listed in the journal.
    #[command(after_help = "Examples:
  plumbago import whisper /var/lib/graphite/whisper --dry-run
  plumbago import whisper /var/lib/graphite/whisper
  plumbago import whisper /opt/graphite/storage/whisper --match 'servers.**' --from -90d
  plumbago import whisper ./whisper --rewrite '^old\\.(.*)$ = new.\\1' --url http://127.0.0.1:8080")]
    Whisper(ImportWhisper),
    /// Bring in the metrics of a live keyspace of KairosDB 1.1, 1.2 or 1.3
    ///
    /// Longs and doubles become points: of each series those that the retention of its name keeps, aggregated as if they had been sent
    /// here. What a metric has here already stays. Texts, complex numbers and types of plug-ins are counted and left out. The keyspace is
    /// only read, and KairosDB may go on writing to it. Every metric is read back and compared by the number of its slots and a checksum.
    ///
    /// An import that was interrupted goes on where it was: the series that are done are listed in the journal.
    #[command(after_help = "Examples:
  plumbago import kairosdb --nodes cassandra1,cassandra2 --dry-run
  plumbago import kairosdb --nodes cassandra1,cassandra2
  plumbago import kairosdb --nodes cassandra1:9042 --metric 'servers.**' --from -90d --histograms
  plumbago import kairosdb --nodes cassandra1 --keyspace metrics --url http://127.0.0.1:8080")]
    Kairosdb(ImportKairosdb),
}

/// Arguments of `import kairosdb`.
#[derive(Clone, Debug, Args)]
pub struct ImportKairosdb {
    /// Nodes of the Cassandra that KairosDB writes to; the others are discovered through them
    #[arg(long, value_name = "HOST[:PORT],...", value_delimiter = ',', required = true)]
    pub nodes: Vec<String>,
    /// The keyspace that KairosDB writes to
    #[arg(long, value_name = "NAME", default_value = "kairosdb")]
    pub keyspace: String,
    /// Take only metrics that match; `**` matches any number of components
    #[arg(long, value_name = "GLOB")]
    pub metric: Option<String>,
    /// Take only points from this time on [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Take only points before this time [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// Make four metrics of each histogram: NAME.count, NAME.sum, NAME.min and NAME.max
    #[arg(long)]
    pub histograms: bool,
    /// Read everything and say what would be imported
    #[arg(long)]
    pub dry_run: bool,
    /// The server that takes the metrics [default: the store of the configuration, or the server that runs on it]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// User to log in to Cassandra as
    #[arg(long, value_name = "USER", requires = "password_file")]
    pub username: Option<String>,
    /// File with the password of that user
    #[arg(long, value_name = "FILE", requires = "username")]
    pub password_file: Option<PathBuf>,
    /// Query only nodes of this data centre
    #[arg(long, value_name = "NAME")]
    pub datacenter: Option<String>,
    /// Use TLS, and trust the certificates in this file
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Where finished series are listed, to go on after an interruption
    #[arg(long, value_name = "FILE", default_value = "plumbago-import.journal")]
    pub journal: PathBuf,
    /// Series that are read at the same time [default: 8]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Metrics that are handed on and read back at a time
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub batch: usize,
}

/// Arguments of `import whisper`.
#[derive(Clone, Debug, Args)]
pub struct ImportWhisper {
    /// The directory that holds the tree of files
    pub dir: PathBuf,
    /// Take only slots that start at this time or later [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Take only slots that start before this time [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// Take only metrics that match; `**` matches any number of components
    #[arg(long = "match", value_name = "GLOB")]
    pub pattern: Option<String>,
    /// Change names, as a line of carbon's rewrite-rules.conf does; may be given again
    #[arg(long, value_name = "PATTERN = REPLACEMENT")]
    pub rewrite: Vec<String>,
    /// New metrics keep the retention, aggregation and xFilesFactor of their files, instead of what the rules give them
    #[arg(long)]
    pub keep_policy: bool,
    /// Read everything and say what would be imported
    #[arg(long)]
    pub dry_run: bool,
    /// The server that takes the metrics [default: the store of the configuration, or the server that runs on it]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Where finished files are listed, to go on after an interruption
    #[arg(long, value_name = "FILE", default_value = "plumbago-import.journal")]
    pub journal: PathBuf,
    /// Files that are read at the same time [default: one for each core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// Arguments of `export`.
#[derive(Clone, Debug, Args)]
pub struct Export {
    /// What to make
    #[command(subcommand)]
    pub to: ExportTo,
}

/// What an export makes.
#[derive(Clone, Debug, Subcommand)]
pub enum ExportTo {
    /// Write metrics as a directory of whisper files, which carbon, go-carbon and graphite-web read
    ///
    /// A file holds all stages of its metric. A slot that the xFilesFactor hides is left out, as whisper would.
    #[command(after_help = "Examples:
  plumbago export whisper /var/lib/graphite/whisper
  plumbago export whisper ./whisper 'servers.**' --from -30d")]
    Whisper(ExportWhisper),
    /// Write the points of metrics as CSV: name, time, value
    ///
    /// Each metric comes from the finest stage that reaches back to --from.
    #[command(after_help = "Examples:
  plumbago export csv 'servers.*.cpu' --from -7d > cpu.csv
  plumbago export csv '**' --from 20260101 --until 20260201 | gzip > january.csv.gz")]
    Csv(ExportCsv),
}

/// Arguments of `export whisper`.
#[derive(Clone, Debug, Args)]
pub struct ExportWhisper {
    /// The directory to write to; made if it is not there
    pub dir: PathBuf,
    /// The metrics
    #[arg(default_value = "**")]
    pub glob: String,
    /// What the exports have in common.
    #[command(flatten)]
    pub selection: ExportSelection,
}

/// Arguments of `export csv`.
#[derive(Clone, Debug, Args)]
pub struct ExportCsv {
    /// The metrics
    pub glob: String,
    /// What the exports have in common.
    #[command(flatten)]
    pub selection: ExportSelection,
}

/// Which slots are exported, and from where.
#[derive(Clone, Debug, Args)]
pub struct ExportSelection {
    /// Slots that start at this time or later [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Slots that start before this time [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// The server that has the metrics [default: the store of the configuration, or the server that runs on it]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}
