//! The arguments of commands that look after a store and its server.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Server;

/// Arguments of `serve`.
#[derive(Clone, Debug, Default, Args)]
pub struct Serve {
    /// Answer queries only, and change nothing on the disk; the same as --set store.read_only=true
    #[arg(long)]
    pub read_only: bool,
}

/// Arguments of `stats`.
#[derive(Clone, Debug, Args)]
pub struct Stats {
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `retention`.
#[derive(Clone, Debug, Args)]
pub struct RetentionCommand {
    /// What to do
    #[command(subcommand)]
    pub action: RetentionAction,
}

/// What to do with retention rules.
#[derive(Clone, Debug, Subcommand)]
pub enum RetentionAction {
    /// Show which metrics the rules would move to another policy, and what that saves and loses
    ///
    /// Reads the rules as the files have them now and compares them with the policies of all metrics. Changes nothing: a reload or
    /// a restart puts the rules in force.
    #[command(after_help = "Examples:
  plumbago retention plan
  plumbago retention plan --output json")]
    Plan(RetentionPlan),
}

/// Arguments of `retention plan`.
#[derive(Clone, Debug, Args)]
pub struct RetentionPlan {
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `reload`.
#[derive(Clone, Debug, Args)]
pub struct Reload {
    /// The running server [default: the one of the configuration]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// Arguments of `health`.
#[derive(Clone, Debug, Args)]
pub struct Health {
    /// Only ask whether the process answers
    #[arg(long)]
    pub live: bool,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `backup`.
#[derive(Clone, Debug, Args)]
pub struct Backup {
    /// An empty directory, a new one, or one with an earlier backup
    pub dir: PathBuf,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `restore`.
#[derive(Clone, Debug, Args)]
pub struct Restore {
    /// The directory that was given to `backup`
    pub dir: PathBuf,
    /// Only compare the checksums
    #[arg(long)]
    pub check: bool,
}

/// Arguments of `fsck`.
#[derive(Clone, Debug, Args)]
pub struct Fsck {
    /// Mend what can be mended; no server may use the store meanwhile
    #[arg(long, conflicts_with = "url")]
    pub repair: bool,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `dump`.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Dump {
    /// A block, a log segment or the catalogue
    pub file: Option<PathBuf>,
    /// Bytes instead of a file
    #[command(subcommand)]
    pub what: Option<DumpWhat>,
}

/// What can be printed beside files.
#[derive(Clone, Debug, Subcommand)]
pub enum DumpWhat {
    /// Print what the key of a row in KairosDB's table data_points says
    #[command(after_help = "Example:
  plumbago dump kairosdb-key 54656d7065726174757265000000015d5d4b4400000b6b6169726f735f6c6f6e67636974793d416e74616c79613a")]
    KairosdbKey {
        /// The key in hexadecimal digits, as cqlsh shows it; 0x may stand before it
        hex: String,
    },
}

/// Arguments of `schema`.
#[derive(Clone, Debug, Args)]
pub struct Schema {
    /// What to do
    #[arg(value_enum)]
    pub action: SchemaAction,
    /// With apply: also create the keyspaces
    #[arg(long)]
    pub create_keyspaces: bool,
    /// With print and apply: replication of the keyspaces [default: three replicas, or as many as there are nodes]
    #[arg(long, value_name = "JSON")]
    pub replication: Option<String>,
}

/// What to do with the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaAction {
    /// Print the statements.
    Print,
    /// Create what is missing.
    Apply,
    /// Report differences.
    Check,
}

/// Arguments of `clean`.
#[derive(Clone, Debug, Args)]
pub struct Clean {
    /// Only print what would be deleted
    #[arg(long)]
    pub dry_run: bool,
    /// Delete metrics that received no points for this long [default: retention.forget_after; in Cassandra the longest configured
    /// retention]
    #[arg(long, value_name = "TIME")]
    pub unwritten_for: Option<String>,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `repair`.
#[derive(Clone, Debug, Args)]
pub struct Repair {
    /// Only print what would be repaired
    #[arg(long)]
    pub dry_run: bool,
    /// Which server to ask.
    #[command(flatten)]
    pub server: Server,
}
