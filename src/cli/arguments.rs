//! The command line. Its doc comments are the help texts and the manual.

mod between;
mod metrics;
mod moving;
mod upkeep;
mod users;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

pub use between::{Compare, Elsewhere, Fill};
pub use metrics::{
    Cardinality, Catalog, CatalogList, Copy, Delete, Find, Info, Read, Rename, Top, Usage, Watch, Write,
};
pub use moving::{
    Export, ExportCsv, ExportSelection, ExportTo, ExportWhisper, Import, ImportFrom, ImportKairosdb,
    ImportWhisper,
};
pub use upkeep::{
    Backup, Clean, Dump, DumpWhat, Fsck, Health, Reload, Repair, Restore, RetentionAction, RetentionCommand,
    RetentionPlan, Schema, SchemaAction, Serve, Stats,
};
pub use users::{User, UserAction, UserAdd, UserList, UserRevoke};

/// A Graphite-compatible metrics server.
///
/// Receives points from carbon senders, stores them on the local disk or in Cassandra, and answers Graphite's HTTP API. Without
/// a command it runs the server.
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
    /// Flags of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do; `serve` by default.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The id of `--set` after a command.
const SET_BEHIND: &str = "set_behind";

impl Command {
    /// Does it write to the store?
    pub fn changes_store(&self) -> bool {
        match self {
            Self::Fsck(fsck) => fsck.repair,
            Self::Write(_)
            | Self::Delete(_)
            | Self::Rename(_)
            | Self::Copy(_)
            | Self::Import(_)
            | Self::Fill(_) => true,
            Self::Clean(_) | Self::Repair(_) | Self::Backup(_) | Self::Restore(_) => true,
            _ => false,
        }
    }
}

impl Arguments {
    /// Is the server to run?
    pub fn is_serve(&self) -> bool {
        matches!(self.command, None | Some(Command::Serve(_)))
    }

    /// Reads a command line, the program's name first.
    ///
    /// If a global flag of clap is given both before and after the command, clap keeps the values of one side only. `--set`
    /// must keep them all, so it is declared on each side and combined here.
    pub fn from_line<T: Into<OsString> + Clone>(
        line: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let matches = Self::declaration().try_get_matches_from(line)?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        if let Some((_, behind)) = matches.subcommand() {
            let mut behind = Some(behind);
            while let Some(matches) = behind {
                arguments.global.set.extend(matches.get_many(SET_BEHIND).into_iter().flatten().cloned());
                behind = matches.subcommand().map(|(_, matches)| matches);
            }
        }
        Ok(arguments)
    }

    /// The whole command line, as clap has it.
    pub(super) fn declaration() -> clap::Command {
        let program = Self::command();
        let set = program.get_arguments().find(|argument| argument.get_id() == "set").cloned();
        let set: Option<Arg> = set.map(|argument| argument.id(SET_BEHIND));
        let add_set = |command: clap::Command| command.args(set.clone());
        program.mut_subcommands(|command| add_set(command).mut_subcommands(add_set))
    }
}

/// Flags of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Configuration file [default: $PLUMBAGO_CONFIG, plumbago.toml, /etc/plumbago/plumbago.toml: the first that there is]
    #[arg(long, short, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Set a configuration key; overrides file and environment, and may be repeated
    #[arg(long, value_name = "KEY=VALUE", hide_short_help = true)]
    pub set: Vec<String>,
    /// Output format: tables and text for people, JSON or CSV for programs
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Output::Table, global = true)]
    pub output: Output,
    /// File with the token for a server that asks for a login [default: $PLUMBAGO_TOKEN, the token itself]
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    pub token_file: Option<PathBuf>,
    /// Log more; twice for even more. $PLUMBAGO_LOG takes a filter such as `plumbago::http=debug`
    #[arg(long, short, action = ArgAction::Count, global = true, conflicts_with = "quiet", hide_short_help = true)]
    pub verbose: u8,
    /// Log less; twice for errors only
    #[arg(long, short, action = ArgAction::Count, global = true, hide_short_help = true)]
    pub quiet: u8,
    /// Format of the log on stderr
    #[arg(long, value_enum, value_name = "FORM", default_value_t = LogFormat::Text, global = true, hide_short_help = true)]
    pub log_format: LogFormat,
}

/// Format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    #[value(alias = "text")]
    Table,
    /// For programs.
    Json,
    /// For programs and spreadsheets: the same lists as in JSON.
    Csv,
}

/// Format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line of text per event.
    Text,
    /// One JSON object per event.
    Json,
}

/// Which server to ask.
#[derive(Clone, Debug, Args)]
pub struct Server {
    /// The running server to ask [default: the store of the configuration, or the server that runs on it]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Run the server: carbon ports, HTTP, rollups
    ///
    /// Runs until Ctrl-C or SIGTERM. Then it reads what senders have already sent, makes it durable and exits with 0.
    #[command(after_help = "Examples:
  plumbago serve
  plumbago serve --set store.path=/var/lib/plumbago --set listen.pickle=off
  PLUMBAGO_LISTEN__CARBON=0.0.0.0:2003 plumbago serve
  plumbago serve --read-only                                   look at a damaged store: queries work, nothing is changed
  echo \"test.hello 1 $(date +%s)\" | nc -N 127.0.0.1 2003      send it a point")]
    Serve(Serve),
    /// Print the configuration in force, or what it gives a name
    ///
    /// Without NAME: every key with its value and its source (default, file and line, environment variable, flag), as
    /// TOML, and the rules in force. With NAME: the retention and aggregation of that metric, and the rules they come from.
    #[command(after_help = "Examples:
  plumbago check-config
  plumbago check-config servers.web1.cpu.load
  plumbago --config new.toml check-config > /dev/null && echo fine
  plumbago check-config --output json 'disk.used;host=web1'")]
    CheckConfig(CheckConfig),
    /// List the metrics and directories that match a glob
    ///
    /// Globs are Graphite's: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any number of components. Directories end in a dot.
    /// Exits with 1 if nothing matches.
    #[command(after_help = "Examples:
  plumbago find '*'
  plumbago find 'servers.web*.cpu.{user,system}'
  plumbago find --output json 'servers.**.load'")]
    Find(Find),
    /// Print the last values of a target, or all its points
    ///
    /// A target is a metric, a glob or an expression, as in /render. Times are Graphite's too: `-1h`, `now`, `noon
    /// yesterday`, `20260131`, seconds since 1970. Exits with 1 if no series matches.
    ///
    /// On a terminal there is a row for each series, with its last value, its extremes, the average of its points and a line
    /// of blocks, each as high as the largest of its points. Into a pipe or a file, and with --points or --output csv, all points
    /// are printed as CSV.
    #[command(after_help = "Examples:
  plumbago read servers.web1.cpu.load
  plumbago read servers.web1.cpu.load --points
  plumbago read 'sumSeries(servers.*.requests)' --from -7d --until -1d
  plumbago read --url http://127.0.0.1:8080 servers.web1.cpu.load
  plumbago read --output json 'servers.web1.*' --from noon")]
    Read(Read),
    /// Draw a target in the terminal, and go on drawing until Ctrl-C
    ///
    /// Asks the running server for it, again and again, and draws the first six series. While the server does not answer, the
    /// last graph stays. Into a pipe or a file goes a line for each new point: the last one of each series, and then those that
    /// follow. The newest slot may come again with another value. Exits with 1 if no series matches.
    #[command(after_help = "Examples:
  plumbago watch servers.web1.cpu.load
  plumbago watch 'servers.*.requests' --from -1h --every 1m
  plumbago watch --url http://127.0.0.1:8080 'sumSeries(servers.*.requests)'
  plumbago watch servers.web1.cpu.load | tee -a cpu.csv")]
    Watch(Watch),
    /// Write one point
    ///
    /// Exits with 0 if the point is stored and durable. If the point is rejected, the error names the reason, as
    /// plumbago_points_rejected_total does: `too_old`, `bad_line` and so on. While a server runs, the point goes through it,
    /// over listen.http.
    #[command(after_help = "Examples:
  plumbago write deploys.web 1
  plumbago write room.temperature -3.5 1767225600
  plumbago write --create --set store.path=/tmp/try first.point 1")]
    Write(Write),
    /// Delete metrics and their points
    ///
    /// Exits with 0 if nothing matches, so that you can run it again after an interruption, but with 1 if the glob
    /// matches only directories: write `DIRECTORY.**` for everything below DIRECTORY. While a server runs on the store, it
    /// deletes. With Cassandra, servers may keep running; they learn of the deletion.
    ///
    /// With --from and --until, only the points of that time go, from every stage, and the metrics stay: slots that start at --from or
    /// later, and before --until. An aggregated slot at the edge is made again from the finer points that are left. Where these
    /// have expired, it stays as it is. Points that are sent later are stored as usual. With Cassandra, every server does so with its
    /// part of the slot, within seconds.
    ///
    /// On a terminal it asks before it deletes; --yes is the answer.
    #[command(after_help = "Examples:
  plumbago delete --dry-run 'servers.old1.**'
  plumbago delete 'servers.old1.**'
  plumbago delete 'disk.*;host=old1'             metrics with a tag
  plumbago delete servers.web1.load --from 10:00_20260131 --until 10:30_20260131")]
    Delete(Delete),
    /// Rename a metric, and everything below it, with its history
    ///
    /// OLD is a metric, a directory, or both. Queries see the new names all at once. While a server runs on the store, it renames,
    /// and nothing is lost: points that senders still send under an old name make a new metric of that name. Rename once more when
    /// all senders use the new name. Where it exists already, the histories are merged: the points of the new name stay, and
    /// those of the old one fill the gaps. A renamed metric keeps its retention until rules are reloaded. With Cassandra, every metric is
    /// copied to its new name and then deleted, so switch the senders first.
    #[command(after_help = "Examples:
  plumbago rename servers.web1.cpu hosts.web1.cpu
  plumbago rename --dry-run servers.web1 hosts.web1
  plumbago rename 'disk.used;host=web1' 'disk.used;host=web01'")]
    Rename(Rename),
    /// Copy metrics and their points to other names, or to another server
    ///
    /// A new destination gets the retention and aggregation of the source. An existing one keeps its points, except in slots
    /// that the source has too. Repeating a copy is safe, and picks up points that came late. To rename a metric, send under
    /// the new name, copy, check, and delete the old name. With Cassandra, servers may keep running; aggregates of slots that
    /// both names received add up. While a server runs on an embedded store, it copies.
    ///
    /// With --to, the metrics of a glob go to another server on this machine, or into the store of another configuration file, with
    /// all their stages. What they have there stays. Metrics that are new there are read back and compared. A copy that was
    /// interrupted goes on where it was: the metrics that are done are listed in the journal.
    #[command(after_help = "Examples:
  plumbago copy servers.web1.cpu hosts.web1.cpu
  plumbago copy --dry-run --recursive servers.web1 hosts.web1
  plumbago copy --url http://127.0.0.1:8080 servers.web1.cpu hosts.web1.cpu
  plumbago copy --recursive servers.web1 hosts.web1 --from -30d
  plumbago copy --to http://127.0.0.1:8081 'servers.**'
  plumbago copy --to /etc/plumbago/cassandra.toml '**' --url http://127.0.0.1:8080")]
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
    /// Ask two servers for the same targets, and show where their answers differ
    ///
    /// Series are matched by their names, whatever their order; a null and a point that is not there are the same. Shows series
    /// that one side lacks, and of the others how many values differ, the first of them, and the largest relative difference. A
    /// target that one side refuses differs. Exits with 0 if all targets are equal, and with 1 if one differs.
    #[command(after_help = "Examples:
  plumbago compare --with http://graphite.example 'servers.*.cpu' 'sumSeries(servers.*.requests)'
  plumbago compare --with http://graphite.example --targets targets.txt --from -30d --until -1d
  plumbago compare --with http://graphite.example --dashboards grafana/*.json --variable host=web1
  plumbago compare --with http://graphite.example --tolerance 1e-9 --output json 'servers.**'")]
    Compare(Compare),
    /// Fill gaps with what another server has
    ///
    /// Points that are there stay; only slots without a value are filled, and metrics that are missing are made. Of an aggregated
    /// slot the fuller one stays. From another Plumbago that takes calls from this machine, metrics come with all their stages. From
    /// graphite-web, carbonapi and others they come as their /render shows them, each time at the finest resolution that is kept
    /// there. Repeating it is safe.
    #[command(after_help = "Examples:
  plumbago fill --from http://127.0.0.1:8081
  plumbago fill --from http://graphite.example 'servers.**' --since -7d --until -6d
  plumbago fill --from http://graphite.example 'servers.*.cpu' --url http://127.0.0.1:8080")]
    Fill(Fill),
    /// Count the metrics at and below a glob, and their bytes
    ///
    /// Counts the metrics that match and, if a directory matches, all metrics below it. Tagged metrics count by their names;
    /// `;tag=GLOB` after the glob counts only those with such a tag. Exits with 1 if nothing matches. With Cassandra, the nodes
    /// count rows, and bytes are an estimate.
    #[command(after_help = "Examples:
  plumbago du '*'                               everything
  plumbago du --output json 'servers.*'
  plumbago du '*;dc=ams*'                       all metrics with a tag dc that begins with ams
  plumbago du 'disk.used;dc=ams;host=web*'")]
    Du(Usage),
    /// Show where metrics come from: count them by tag and by the start of their names
    ///
    /// Lists the tags with the most values, and the parts of the tree with the most metrics. While a server runs, the command
    /// asks it; with Cassandra, a server must be running.
    #[command(after_help = "Examples:
  plumbago cardinality                          the largest tags, and the largest parts of the tree
  plumbago cardinality servers --depth 2        below servers, by two more components
  plumbago cardinality --limit 5 --output json")]
    Cardinality(Cardinality),
    /// Show what is known of metrics with tags: by month, by tag, by window
    ///
    /// Lists the metrics that had series in some months with their first and last point, the tags of a metric with their values and
    /// series, how many values each tag of each metric has, the windows of three weeks in which a metric has series, and how large the
    /// partitions of each stage become in a cluster. While a server runs, the command asks it.
    #[command(after_help = "Examples:
  plumbago catalog metrics --from 2026-01 --until 2026-03
  plumbago catalog tags cpu.load                its tags
  plumbago catalog tags cpu.load --tag host     the values of one of them
  plumbago catalog cardinality --prefix cpu
  plumbago catalog windows cpu.load
  plumbago catalog partitions --output json")]
    Catalog(Catalog),
    /// Show the busiest prefixes, the newest metrics, and those that nobody reads
    ///
    /// Lists where most points come in, as the rate of the last minutes, the last minutes in which metrics were created, and the
    /// newest metrics. With --never-read it lists where metrics are that no query has ever read, and the oldest of them. While a
    /// server runs, the command asks it. A stopped store knows everything but the rate. With Cassandra, the tables say what is new and
    /// what is read, and the server of the configuration says what it receives, if it runs. Dates of the embedded store are to the
    /// minute for creations and to the day for reads. Exits with 1 if there is no metric below PREFIX.
    #[command(after_help = "Examples:
  plumbago top
  plumbago top --below servers --depth 2        below servers, by two more components
  plumbago top --never-read --limit 50
  plumbago top --never-read --limit 1000000 --output json | jq -r '.never_read.names[].name'
  plumbago top --url http://127.0.0.1:8080")]
    Top(Top),
    /// Print numbers about the whole store
    ///
    /// Text shows sizes with units and retentions in words; JSON has exact bytes.
    #[command(after_help = "Examples:
  plumbago stats
  plumbago stats --output json")]
    Stats(Stats),
    /// Print everything about one metric
    #[command(after_help = "Examples:
  plumbago info servers.web1.cpu.load
  plumbago info --output json servers.web1.cpu.load")]
    Info(Info),
    /// Show what changed retention rules would do
    #[command(after_help = "Examples:
  plumbago retention plan
  plumbago retention plan --url http://127.0.0.1:8080 --output json")]
    Retention(RetentionCommand),
    /// Make a running server read its rules again
    ///
    /// Reads the configuration, carbon's storage-schemas.conf and storage-aggregation.conf and the files of `rules` again, as SIGHUP
    /// does. Metrics whose rule has changed move to their new policy; what is stored stays readable. If a file is bad, the
    /// old rules stay in force.
    #[command(after_help = "Examples:
  plumbago retention plan && plumbago reload
  plumbago reload --url http://127.0.0.1:8080")]
    Reload(Reload),
    /// Ask a running server whether it works
    ///
    /// Exits with 0 if queries and writes work, and otherwise with 1 and the reason, as GET /health/ready. It needs no login, so it
    /// serves as the health check of a container.
    #[command(after_help = "Examples:
  plumbago health
  plumbago health --live                         only whether the process answers
  plumbago health --url http://127.0.0.1:8080")]
    Health(Health),
    /// Back up the store into a directory, while the server runs or when it is stopped
    ///
    /// Everything that was accepted before the command is in the backup, and senders do not wait for it. Blocks are hard links if DIR is
    /// on the same file system, and copies otherwise. A backup on the same disk does not help when the disk is lost. With an
    /// earlier backup in DIR, only what is new is read and written; the earlier one is whole until the new one is. A backup that was
    /// interrupted goes on when the command is run again. A running server makes the backup itself, so DIR is a directory of its machine,
    /// and its user must be allowed to write there.
    #[command(after_help = "Examples:
  plumbago backup /backup/plumbago
  plumbago backup /backup/plumbago --output json
  plumbago backup --url http://127.0.0.1:8080 /backup/plumbago")]
    Backup(Backup),
    /// Bring a backup back into store.path, which must be empty
    ///
    /// Compares the checksums of all files first, and restores nothing if one is wrong. Then it copies everything; a restore that was
    /// interrupted goes on when the command is run again. The server must not be running there.
    #[command(after_help = "Examples:
  plumbago restore --check /backup/plumbago                              only compare the checksums
  plumbago restore /backup/plumbago
  plumbago restore /backup/plumbago --set store.path=/srv/plumbago-data")]
    Restore(Restore),
    /// Check every file of the data directory
    ///
    /// Reads all blocks, the log and the catalogue, and compares checksums. Changes nothing. Exits with 1 if something is
    /// damaged. While a server runs on the store, it does the work, and takes and answers everything else meanwhile.
    ///
    /// With --repair, for which the server must not be running, it mends what can be mended: it makes the catalogue of its transcript,
    /// writes damaged blocks and log segments again from what is good in them, and sets the damaged files aside in aside/.
    #[command(after_help = "Examples:
  plumbago fsck
  plumbago fsck --repair
  plumbago fsck --url http://127.0.0.1:8080
  plumbago fsck --set store.path=/backup/plumbago-data")]
    Fsck(Fsck),
    /// Print what is in one file of the data directory
    ///
    /// Blocks and log segments can be read at any time. The catalogue is a database that the server of the store has locked while it
    /// runs: then make a backup, and dump the catalogue in there.
    #[command(after_help = "Examples:
  plumbago dump plumbago-data/log/00000001.log
  plumbago backup /tmp/look && plumbago dump /tmp/look/catalogue-1.redb
  plumbago dump --output json FILE")]
    Dump(Dump),
    /// Print, create or check the tables in Cassandra
    ///
    /// `print` prints the statements for the configured retentions, and needs no cluster. `apply` creates missing tables and
    /// indexes; it never drops or alters anything, and may run on several machines at once. `check` reports differences, and
    /// fails if something is missing or wrong. The keys of [store.cassandra] name the cluster, whatever store.kind is.
    #[command(after_help = "Examples:
  plumbago schema print > schema.cql
  plumbago schema apply
  plumbago schema apply --create-keyspaces --replication '{\"class\": \"NetworkTopologyStrategy\", \"dc1\": 3}'
  plumbago schema check --output json")]
    Schema(Schema),
    /// Delete metrics that no longer receive points
    ///
    /// In the embedded store, does now what a server does by itself every retention.forget_interval: deletes metrics whose last
    /// point is older than retention.forget_after, with their points. It works through a running server, too. A metric that never
    /// had a point is deleted only by a server that has seen it without one for so long.
    ///
    /// In Cassandra, deletes the names of metrics that received no points for as long as the longest retention, and then empty
    /// directories. Points expire by themselves.
    ///
    /// Both are safe while servers write: a metric that receives a point meanwhile stays.
    #[command(after_help = "Examples:
  plumbago clean --dry-run
  plumbago clean --unwritten-for 90d
  plumbago clean --url http://127.0.0.1:8080")]
    Clean(Clean),
    /// Put names right that are incomplete
    ///
    /// In Cassandra, completes what was half created or half deleted: creates missing directories above metrics and missing rows of
    /// names, and removes what is left of deleted metrics.
    ///
    /// The embedded store keeps names and points in one transaction, so that nothing can be half done. There it compares the
    /// catalogue with the index, and makes metrics findable that are not. It does not look into blocks: `plumbago fsck` does, and
    /// `plumbago restore` brings back what is damaged.
    ///
    /// Both are safe while servers write.
    #[command(after_help = "Examples:
  plumbago repair --dry-run
  plumbago repair
  plumbago repair --url http://127.0.0.1:8080")]
    Repair(Repair),
    /// Make, list and revoke logins
    ///
    /// Writes the files of `[auth]` in the configuration: auth.users_file, auth.tokens_file and auth.htpasswd_file. A running server
    /// reads them again within a second or two.
    #[command(after_help = "Examples:
  plumbago user add ann --role admin --password
  plumbago user add grafana --role read --scope 'servers.**' --scope '*;dc=ams'
  plumbago user add backup --role admin --expires 90d
  plumbago user list
  plumbago user revoke grafana")]
    User(User),
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
    /// Print the manual page of the program or of one command
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

/// Arguments of `estimate`.
#[derive(Clone, Debug, Args)]
pub struct Estimate {
    /// How many metrics
    pub metrics: u64,
    /// Their retention, as in storage-schemas.conf [default: retention.default]
    #[arg(long, value_name = "LIST")]
    pub retention: Option<String>,
}
