//! What can be typed. The doc comments here are the help texts and the manual.

mod moving;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

pub use moving::{
    Export, ExportCsv, ExportSelection, ExportTo, ExportWhisper, Import, ImportFrom, ImportWhisper,
};

/// A Graphite-compatible metrics server.
///
/// Takes points from carbon senders, keeps them on this machine's disk, and answers Graphite's HTTP API. Without a
/// command it serves.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "plumbago",
    version,
    max_term_width = 110,
    after_help = "Examples:
  plumbago                                     serve on the default ports, data in ./plumbago-data
  plumbago --config /etc/plumbago.toml serve   serve with a configuration file
  plumbago --set listen.http=0.0.0.0:8080      serve, with one key set differently
  plumbago check-config servers.web1.cpu       which retention does this name get?
  plumbago find 'servers.*.cpu'                which metrics are there?"
)]
pub struct Arguments {
    /// Flags every command has.
    #[command(flatten)]
    pub global: Global,
    /// What to do; `serve` when nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The id of `--set` behind a command.
const SET_BEHIND: &str = "set_behind";

impl Arguments {
    /// Reads a command line, the program's name first.
    ///
    /// A global flag of clap that stands on both sides of the command keeps only one side's values. `--set` must keep
    /// them all, so it is declared on each side and put together here.
    pub fn from_line<T: Into<OsString> + Clone>(
        line: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let matches = Self::declaration().try_get_matches_from(line)?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        if let Some((_, behind)) = matches.subcommand() {
            arguments.global.set.extend(behind.get_many(SET_BEHIND).into_iter().flatten().cloned());
        }
        Ok(arguments)
    }

    /// All that can be typed, as clap has it.
    pub(super) fn declaration() -> clap::Command {
        let program = Self::command();
        let set = program.get_arguments().find(|argument| argument.get_id() == "set").cloned();
        let set: Option<Arg> = set.map(|argument| argument.id(SET_BEHIND));
        program.mut_subcommands(|command| command.args(set.clone()))
    }
}

/// Flags every command has.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Configuration file [default: $PLUMBAGO_CONFIG, else plumbago.toml if it is there]
    #[arg(long, short, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Set a configuration key, over file and environment; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// How to print: text for people, JSON for programs
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Output::Text, global = true)]
    pub output: Output,
    /// Say more on stderr; twice for even more. $PLUMBAGO_LOG takes a filter such as `plumbago::http=debug`
    #[arg(long, short, action = ArgAction::Count, global = true, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Say less on stderr; twice for errors only
    #[arg(long, short, action = ArgAction::Count, global = true)]
    pub quiet: u8,
    /// How to write the log on stderr
    #[arg(long, value_enum, value_name = "FORM", default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,
}

/// How to print data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How to write the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line of text per event.
    Text,
    /// One JSON object per event.
    Json,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Run the server: carbon ports, HTTP, rollups
    ///
    /// Runs until Ctrl-C or SIGTERM, then takes what senders are still sending, makes it durable and exits with 0.
    #[command(after_help = "Examples:
  plumbago serve
  plumbago serve --set store.path=/var/lib/plumbago --set listen.pickle=off
  PLUMBAGO_LISTEN__CARBON=0.0.0.0:2003 plumbago serve
  echo \"test.hello 1 $(date +%s)\" | nc -N 127.0.0.1 2003      send it a point")]
    Serve,
    /// Print the configuration in force, or what a name gets from it
    ///
    /// Without NAME: every key with its value and who set it (default, file and line, environment variable, flag), as
    /// TOML, and the rules in force. With NAME: the retention and the aggregation that metric gets, and from which rule.
    #[command(after_help = "Examples:
  plumbago check-config
  plumbago check-config servers.web1.cpu.load
  plumbago --config new.toml check-config > /dev/null && echo fine
  plumbago check-config --output json 'disk.used;host=web1'")]
    CheckConfig(CheckConfig),
    /// List the metrics and directories a glob matches
    ///
    /// Globs are Graphite's: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any number of components. Directories end in a dot.
    /// Exits with 1 when nothing matches.
    #[command(after_help = "Examples:
  plumbago find '*'
  plumbago find 'servers.web*.cpu.{user,system}'
  plumbago find --output json 'servers.**.load'")]
    Find(Find),
    /// Print the points of a target
    ///
    /// A target is a metric, a glob or an expression, as in /render. Times are Graphite's too: `-1h`, `now`, `noon
    /// yesterday`, `20260131`, seconds since 1970. Exits with 1 when no series matches.
    #[command(after_help = "Examples:
  plumbago read servers.web1.cpu.load
  plumbago read 'sumSeries(servers.*.requests)' --from -7d --until -1d
  plumbago read --output json 'servers.web1.*' --from noon")]
    Read(Read),
    /// Write one point
    ///
    /// Exits with 0 when the point is stored and durable. A point that is refused is an error that names the reason, as
    /// plumbago_points_rejected_total does: `too_old`, `bad_line` and so on. While a server runs it is asked, over
    /// listen.http.
    #[command(after_help = "Examples:
  plumbago write deploys.web 1
  plumbago write room.temperature -3.5 1767225600
  plumbago write --create --set store.path=/tmp/try first.point 1")]
    Write(Write),
    /// Delete metrics and their points
    ///
    /// Exits with 0 when nothing matches, so that it can be run again after an interruption, but with 1 when the glob
    /// matches directories alone: everything below DIRECTORY is `DIRECTORY.**`. While a server runs it is asked to delete; on
    /// Cassandra servers may run meanwhile, and hear of it.
    #[command(after_help = "Examples:
  plumbago delete --dry-run 'servers.old1.**'
  plumbago delete 'servers.old1.**'
  plumbago delete 'disk.*;host=old1'             metrics with a tag")]
    Delete(Delete),
    /// Copy metrics and their points to other names
    ///
    /// The destination is made with the retention and aggregation of the source; what it has stays, but for slots that the
    /// source has too. Safe to repeat: run it again to take over what came late. To rename, send under the new name, copy,
    /// look, and delete the old name. On Cassandra servers may run meanwhile; aggregates of slots in which both names
    /// were written add up.
    #[command(after_help = "Examples:
  plumbago copy servers.web1.cpu hosts.web1.cpu
  plumbago copy --dry-run --recursive servers.web1 hosts.web1
  plumbago copy --recursive servers.web1 hosts.web1 --from -30d")]
    Copy(Copy),
    /// Bring in metrics with their history from elsewhere
    #[command(after_help = "Examples:
  plumbago import whisper /var/lib/graphite/whisper
  plumbago import whisper --help")]
    Import(Import),
    /// Write metrics with their history to files
    #[command(after_help = "Examples:
  plumbago export whisper /var/lib/graphite/whisper
  plumbago export csv 'servers.*.cpu' --from -7d > cpu.csv")]
    Export(Export),
    /// Say how much there is at and below a glob: metrics and bytes
    ///
    /// Counts the metrics that match and, where a directory matches, all that are below it. Metrics with tags are counted by
    /// their names; `;tag=GLOB` behind the glob counts only those that have such a tag. Exits with 1 when nothing matches. On
    /// Cassandra rows are counted by the nodes, and bytes are an estimate.
    #[command(after_help = "Examples:
  plumbago du '*'                               everything
  plumbago du --output json 'servers.*'
  plumbago du '*;dc=ams*'                       all metrics with a tag dc that begins with ams
  plumbago du 'disk.used;dc=ams;host=web*'")]
    Du(Usage),
    /// Say where all the metrics come from: by tag and by the start of their names
    ///
    /// Lists the tags with most values, and the parts of the tree with most metrics. While a server runs it is asked; on
    /// Cassandra always.
    #[command(after_help = "Examples:
  plumbago cardinality                          the largest tags, and the largest parts of the tree
  plumbago cardinality servers --depth 2        below servers, by two more components
  plumbago cardinality --limit 5 --output json")]
    Cardinality(Cardinality),
    /// Print numbers about the whole store
    ///
    /// Text has sizes with units and retentions in words, JSON has exact bytes.
    #[command(after_help = "Examples:
  plumbago stats
  plumbago stats --output json")]
    Stats(Stats),
    /// Print all that is known about one metric
    #[command(after_help = "Examples:
  plumbago info servers.web1.cpu.load
  plumbago info --output json servers.web1.cpu.load")]
    Info(Info),
    /// Check every file of the data directory
    ///
    /// Reads all blocks, the log and the catalogue, and compares checksums. Changes nothing. Exits with 1 when something
    /// is damaged.
    #[command(after_help = "Examples:
  plumbago fsck
  plumbago fsck --set store.path=/backup/plumbago-data")]
    Fsck,
    /// Print what is in one file of the data directory
    ///
    /// The catalogue can be read only while no server is using it.
    #[command(after_help = "Examples:
  plumbago dump plumbago-data/log/00000001.log
  plumbago dump --output json FILE")]
    Dump(Dump),
    /// Print, make or check the tables in Cassandra
    ///
    /// `print` writes the statements for the configured retentions, and needs no cluster. `apply` makes the tables and
    /// indexes that are missing; it never drops or alters anything, and may run on several machines at once. `check`
    /// says what differs; it fails if something is missing or wrong. The keys of [store.cassandra] say where the
    /// cluster is, whatever store.kind is.
    #[command(after_help = "Examples:
  plumbago schema print > schema.cql
  plumbago schema apply
  plumbago schema apply --create-keyspaces --replication '{\"class\": \"NetworkTopologyStrategy\", \"dc1\": 3}'
  plumbago schema check --output json")]
    Schema(Schema),
    /// Delete metrics that nobody writes to any more from Cassandra
    ///
    /// Deletes the names of metrics that were not written to for as long as the longest retention keeps data, and then
    /// directories without metrics. Safe while servers write: a metric that is written to meanwhile stays. Points go by
    /// themselves when their time is over.
    #[command(after_help = "Examples:
  plumbago clean --dry-run
  plumbago clean --unwritten-for 90d")]
    Clean(Clean),
    /// Complete names in Cassandra that were left half made or half deleted
    ///
    /// Makes directories that are missing above metrics, gives rows to names that lack them, and removes what is left of
    /// deleted metrics. Safe while servers write.
    #[command(after_help = "Examples:
  plumbago repair --dry-run
  plumbago repair")]
    Repair(Repair),
    /// Say how much disk and memory some metrics will need
    ///
    /// Prints the formula with its figures. The real size depends on the values: constants take less, noise takes more.
    #[command(after_help = "Examples:
  plumbago estimate 1000000
  plumbago estimate 250000 --retention 10s:2d,1m:60d,1h:5y")]
    Estimate(Estimate),
    /// Print the completions for a shell
    #[command(after_help = "Examples:
  plumbago completions bash > /etc/bash_completion.d/plumbago
  plumbago completions zsh > ~/.zfunc/_plumbago
  plumbago completions fish > ~/.config/fish/completions/plumbago.fish")]
    Completions(Completions),
    /// Print the manual page, of the program or of one command
    #[command(after_help = "Examples:
  plumbago man | man -l -
  plumbago man check-config > plumbago-check-config.1")]
    Man(ManPage),
}

/// Arguments of `check-config`.
#[derive(Clone, Debug, Args)]
pub struct CheckConfig {
    /// A metric name
    pub name: Option<String>,
}

/// Arguments of `find`.
#[derive(Clone, Debug, Args)]
pub struct Find {
    /// What to look for
    pub glob: String,
}

/// Arguments of `read`.
#[derive(Clone, Debug, Args)]
pub struct Read {
    /// A metric, a glob or an expression
    pub target: String,
    /// Start of the time window
    #[arg(long, value_name = "TIME", default_value = "-24h", allow_hyphen_values = true)]
    pub from: String,
    /// End of the time window
    #[arg(long, value_name = "TIME", default_value = "now", allow_hyphen_values = true)]
    pub until: String,
}

/// Arguments of `write`.
#[derive(Clone, Debug, Args)]
pub struct Write {
    /// The metric; made if it is new
    pub name: String,
    /// The value: a number
    #[arg(allow_negative_numbers = true, value_parser = parse_value)]
    pub value: f64,
    /// Seconds since 1970 [default: now]
    #[arg(value_name = "TS")]
    pub timestamp: Option<u32>,
    /// Make a new store if there is none
    #[arg(long)]
    pub create: bool,
}

/// Arguments of `delete`.
#[derive(Clone, Debug, Args)]
pub struct Delete {
    /// What to delete: a glob, and tags that the metrics must have
    #[arg(value_name = "GLOB[;TAG=GLOB]...")]
    pub glob: String,
    /// Only print what would be deleted
    #[arg(long)]
    pub dry_run: bool,
    /// The running server to ask [default: the store of the configuration, or the server that runs on it]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// Arguments of `copy`.
#[derive(Clone, Debug, Args)]
pub struct Copy {
    /// A metric; with --recursive a directory, and the metric of that name if there is one
    pub source: String,
    /// Its new name
    pub destination: String,
    /// Copy everything below SOURCE
    #[arg(long, short)]
    pub recursive: bool,
    /// Copy slots that start at this time or later [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Copy slots that start before this time [default: all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,
    /// Only print what would be copied
    #[arg(long)]
    pub dry_run: bool,
}

/// What to count.
#[derive(Clone, Debug, Args)]
pub struct Cardinality {
    /// Only names below this directory
    #[arg(value_name = "DIRECTORY")]
    pub below: Option<String>,
    /// Count by so many components of the name
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub depth: usize,
    /// Lines of each list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
}

/// Arguments of `du`.
#[derive(Clone, Debug, Args)]
pub struct Usage {
    /// What to count: a glob, and tags that the metrics must have
    #[arg(value_name = "GLOB[;TAG=GLOB]...")]
    pub glob: String,
    /// The running server to ask [default: the store of the configuration, or the server that runs on it]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// Arguments of `stats`.
#[derive(Clone, Debug, Args)]
pub struct Stats {
    /// The running server to ask [default: the store of the configuration, or the server that runs on it]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// Arguments of `info`.
#[derive(Clone, Debug, Args)]
pub struct Info {
    /// A metric name
    pub name: String,
    /// The running server to ask [default: the store of the configuration, or the server that runs on it]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// Arguments of `dump`.
#[derive(Clone, Debug, Args)]
pub struct Dump {
    /// A block, a log segment or the catalogue
    pub file: PathBuf,
}

/// Arguments of `schema`.
#[derive(Clone, Debug, Args)]
pub struct Schema {
    /// What to do
    #[arg(value_enum)]
    pub action: SchemaAction,
    /// With apply: also make the keyspaces
    #[arg(long)]
    pub create_keyspaces: bool,
    /// With print and apply: replication of the keyspaces [default: three replicas, or as many as there are nodes]
    #[arg(long, value_name = "JSON")]
    pub replication: Option<String>,
}

/// What to do with the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaAction {
    /// Write the statements.
    Print,
    /// Make what is missing.
    Apply,
    /// Say what differs.
    Check,
}

/// Arguments of `clean`.
#[derive(Clone, Debug, Args)]
pub struct Clean {
    /// Only print what would be deleted
    #[arg(long)]
    pub dry_run: bool,
    /// Delete what was not written to for this long [default: the longest configured retention]
    #[arg(long, value_name = "TIME")]
    pub unwritten_for: Option<String>,
}

/// Arguments of `repair`.
#[derive(Clone, Debug, Args)]
pub struct Repair {
    /// Only print what would be put right
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `estimate`.
#[derive(Clone, Debug, Args)]
pub struct Estimate {
    /// How many metrics
    pub metrics: u64,
    /// Their retention, as in storage-schemas.conf [default: retention.default]
    #[arg(long, value_name = "LIST")]
    pub retention: Option<String>,
}

/// Arguments of `completions`.
#[derive(Clone, Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Clone, Debug, Args)]
pub struct ManPage {
    /// A command; without one, the program's page
    pub command: Option<String>,
}

/// NaN means "no value" and is dropped by the server: better said at once.
fn parse_value(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if !value.is_nan() => Ok(value),
        Ok(_) => Err("NaN is not stored; leave the point out instead".to_owned()),
        Err(_) => Err("not a number".to_owned()),
    }
}
