//! `write`: stores one point, and reports the result.

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

use super::door::Door;
use super::remote::Server;
use crate::cli::Write;
use crate::config::Config;
use crate::server::now;
use plumbago_model::{Reject, name};

/// Writes one point and makes it durable, or fails with the reason why it was rejected.
pub(in crate::cli) fn write(config: &Config, arguments: &Write) -> Result<()> {
    let Write { name, value, timestamp, create, server } = arguments;
    // A line break in the name would make two points out of one.
    if let Err(error) = name::canonical(name, config.ingest.max_name_bytes) {
        bail!("the point was refused: {}: {error}", Reject::from(&error).label());
    }
    let line = format!("{name} {value} {}\n", timestamp.unwrap_or_else(now));
    let door = if *create { Door::into(config, None)? } else { Door::out(config, server.url.as_deref())? };
    let reasons: Vec<String> = match &door {
        Door::Store(engine) => {
            let verdict = engine
                .write(line.as_bytes())
                .map_err(|why| anyhow!("the server does not take the point: {why}"))?;
            verdict.refused.into_keys().map(str::to_owned).collect()
        }
        Door::Server(server) => refused_by(server, &line)?,
    };
    match reasons.first() {
        None => Ok(()),
        Some(reason) => bail!("the point was refused: {reason}{}", explained(reason)),
    }
}

fn refused_by(server: &Server, line: &str) -> Result<Vec<String>> {
    let answer = server.post("/internal/write", &[], line.as_bytes())?;
    let answer: Value = serde_json::from_slice(&answer).context("the server's answer is not JSON")?;
    let refused =
        answer["refused"].as_object().context("the server's answer does not say what was refused")?;
    Ok(refused.keys().cloned().collect())
}

/// What to do about each reason.
fn explained(reason: &str) -> &'static str {
    match Reject::ALL.iter().find(|reject| reject.label() == reason) {
        Some(Reject::BadLine) => ": a name cannot contain blanks",
        Some(Reject::TooOld) => {
            ": the metric does not keep points of that age; `plumbago check-config NAME` says how long it keeps them"
        }
        Some(Reject::TooFarInFuture) => ": its time is too far ahead of the clock (ingest.max_future)",
        Some(Reject::InfiniteValue) => ": infinite values are not kept (ingest.keep_infinite)",
        Some(Reject::LineTooLong) => ": the line is too long (ingest.max_line_bytes)",
        Some(Reject::MetricLimit) => ": there are as many metrics as allowed (ingest.max_metrics)",
        Some(Reject::CreateRate) => ": too many metrics are being created (ingest.max_creates_per_second)",
        Some(Reject::DiskFull) => ": the disk is too full for new metrics (store.reserve_bytes)",
        Some(Reject::Blacklisted) => ": the blacklist has this name (rules.blacklist)",
        Some(Reject::NotWhitelisted) => ": the whitelist does not have this name (rules.whitelist)",
        _ => "",
    }
}
