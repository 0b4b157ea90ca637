//! What `check-config` says of quotas.

use std::io::Write;

use serde_json::{Value, json};

use crate::config::{Quota, Reach};
use crate::quotas::Matching;
use crate::server::{Applying, applying_quotas};

/// The quotas of one name; nothing if none are configured.
pub(super) fn print(quotas: &[Quota], name: &str, out: &mut dyn Write) -> std::io::Result<()> {
    if quotas.is_empty() {
        return Ok(());
    }
    let matching = Matching::new(quotas);
    let applying = applying_quotas(quotas, &matching, name);
    let mut title = "quota";
    if !applying.iter().any(|applying| !applying.quota.asks_for_sender()) {
        writeln!(
            out,
            "{title:<12} none{}",
            if applying.is_empty() { "" } else { ", but for some senders:" }
        )?;
        title = "";
    }
    for Applying { quota, directory } in applying {
        let below = directory.map(|path| format!(" below {path}")).unwrap_or_default();
        writeln!(out, "{title:<12} \"{}\"{}: {}{below}", quota.name, senders(quota), quota.in_words())?;
        writeln!(out, "             at {}", quota.origin)?;
        title = "";
    }
    Ok(())
}

/// The quotas of one name as JSON.
pub(super) fn json(quotas: &[Quota], name: &str) -> Value {
    let matching = Matching::new(quotas);
    let one = |Applying { quota, directory }: &Applying<'_>| {
        let mut json = quota_json(quota);
        json["directory"] = json!(directory);
        json
    };
    applying_quotas(quotas, &matching, name).iter().map(one).collect()
}

/// All quotas, as comments.
pub(super) fn print_all(quotas: &[Quota], out: &mut dyn Write) -> std::io::Result<()> {
    if quotas.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "# Quotas; of [[quota]] the first match applies, and of a file all directories above a metric:"
    )?;
    for quota in quotas {
        let reach = match &quota.reach {
            Reach::Metrics(scope) => format!("for {scope}"),
            Reach::Directories(glob) => format!("for each directory {}", glob.as_str()),
            Reach::Root => "for all together".to_owned(),
        };
        let (name, origin) = (&quota.name, &quota.origin);
        writeln!(out, "#   \"{name}\" at {origin}, {reach}{}: {}", senders(quota), quota.in_words())?;
    }
    Ok(())
}

/// All quotas as JSON.
pub(super) fn all_json(quotas: &[Quota]) -> Value {
    quotas.iter().map(quota_json).collect()
}

fn quota_json(quota: &Quota) -> Value {
    json!({
        "name": quota.name,
        "origin": quota.origin,
        "users": quota.users,
        "from": quota.from.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "metrics": quota.limits.metrics,
        "new_metrics_per_minute": quota.limits.new_metrics_per_minute,
        "points_per_minute": quota.limits.points_per_minute,
        "namespaces": quota.limits.namespaces,
        "data_points": quota.limits.data_points,
        "logical_bytes": quota.limits.logical_bytes,
        "physical_bytes": quota.limits.physical_bytes,
        "dry_run": quota.dry_run,
    })
}

/// ` if alice sends it from 10.0.0.0/8`
fn senders(quota: &Quota) -> String {
    if !quota.asks_for_sender() {
        return String::new();
    }
    let users = if quota.users.is_empty() {
        "it is sent".to_owned()
    } else {
        format!("{} sends it", quota.users.join(" or "))
    };
    let from: Vec<String> = quota.from.iter().map(ToString::to_string).collect();
    let from = if from.is_empty() { String::new() } else { format!(" from {}", from.join(" or ")) };
    format!(" if {users}{from}")
}
