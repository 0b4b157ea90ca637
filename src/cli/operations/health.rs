//! `health`: does the server work? For what looks after it and has no HTTP client of its own.

use anyhow::Result;
use serde_json::json;

use super::remote::Server;
use crate::cli::{Health, Output, to_stdout};
use crate::config::Config;

/// Asks the server, and fails with what it says if it does not work.
pub(in crate::cli) fn health(config: &Config, arguments: &Health, output: Output) -> Result<()> {
    let server = match &arguments.server.url {
        Some(url) => Server::at(url)?,
        None => Server::expected(config)?,
    };
    let path = if arguments.live { "/health/live" } else { "/health/ready" };
    let answer = server.get(path, &[])?;
    let said = String::from_utf8_lossy(&answer).trim().to_owned();
    to_stdout(|out| match output {
        Output::Table => Ok(writeln!(out, "{said}")?),
        Output::Json | Output::Csv => {
            Ok(output.line(out, &json!({ "server": server.name(), "said": said }))?)
        }
    })
}
