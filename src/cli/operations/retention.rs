//! `retention plan` and `reload`: what changed rules would do, and putting them in force on a running server.

use anyhow::{Context as _, Result};

use super::super::{Output, Reload, RetentionPlan, estimate, table, to_stdout, words};
use super::door::Door;
use super::remote::Server;
use crate::config::Config;
use crate::http;
use plumbago_model::Policy;

/// Prints which metrics the rules of the configuration would move to another policy.
pub(in crate::cli) fn plan(config: &Config, arguments: &RetentionPlan, output: Output) -> Result<()> {
    let door = Door::out(config, arguments.server.url.as_deref())?;
    let plan: http::RetentionPlan = match &door {
        Door::Store(engine) => engine.plan(&config.retention)?,
        Door::Server(server) => {
            let answer = server.get("/internal/retention", &[])?;
            serde_json::from_slice(&answer).context("the server's answer is no plan")?
        }
    };
    to_stdout(|out| {
        if output.is_data() {
            return Ok(output.indented(out, &serde_json::to_value(&plan)?)?);
        }
        for moved in &plan.moves {
            print_move(moved, out)?;
        }
        if plan.metrics_keep_their_policy {
            writeln!(
                out,
                "in a cluster, a reload moves the metrics that have the policy of the rules in force; others keep theirs"
            )?;
        }
        Ok(writeln!(out, "{} unchanged", words::count(plan.unchanged, "metric"))?)
    })
}

fn print_move(moved: &http::PolicyMove, out: &mut dyn std::io::Write) -> Result<()> {
    let [from, to]: [Option<Policy>; 2] = [&moved.from, &moved.to].map(|text| text.parse().ok());
    let in_words =
        |policy: &Option<Policy>, text: &str| policy.as_ref().map_or_else(|| text.to_owned(), words::policy);
    let full = |policy: &Option<Policy>| {
        let bytes = policy.as_ref().map(|policy| estimate::disk_bytes(&policy.retention, moved.metrics));
        bytes.map_or_else(String::new, words::size)
    };
    writeln!(out, "{} of {} now", words::count(moved.metrics, "metric"), words::size(moved.bytes))?;
    let rows = [
        ["from".to_owned(), full(&from), in_words(&from, &moved.from)],
        ["to".to_owned(), full(&to), in_words(&to, &moved.to)],
    ];
    table::print(out, ["", "when full", "policy"], &rows)?;
    if let (Some(from), Some(to)) = (&from, &to) {
        for loss in losses(from, to) {
            writeln!(out, "loses   {loss}")?;
        }
    }
    writeln!(out, "such as {}\n", moved.examples.join(", "))?;
    Ok(())
}

/// What metrics no longer keep of new points. Old ones stay until their old retention has passed.
fn losses(from: &Policy, to: &Policy) -> Vec<String> {
    let mut losses = Vec::new();
    let (old, new) = (&from.retention, &to.retention);
    if new.span_secs() < old.span_secs() {
        losses.push(format!("points are kept for {} s instead of {} s", new.span_secs(), old.span_secs()));
    }
    let finest = |policy: &Policy| policy.retention.raw();
    if finest(to).step_secs > finest(from).step_secs {
        let (new, old) = (finest(to).step_secs, finest(from).step_secs);
        losses.push(format!("the finest step becomes {new} s instead of {old} s"));
    } else if finest(to).span_secs() < finest(from).span_secs() {
        let (new, old) = (finest(to).span_secs(), finest(from).span_secs());
        losses.push(format!("the finest step is kept for {new} s instead of {old} s"));
    }
    losses
}

/// Makes a running server read its rules again.
pub(in crate::cli) fn reload(config: &Config, arguments: &Reload, output: Output) -> Result<()> {
    let server = match &arguments.url {
        Some(url) => Server::at(url)?,
        None => Server::of(config)?,
    };
    let answer = server.post("/internal/reload", &[], b"")?;
    let reloaded: http::Reloaded = serde_json::from_slice(&answer).context("the server's answer")?;
    to_stdout(|out| {
        if output.is_data() {
            return Ok(output.indented(out, &serde_json::to_value(&reloaded)?)?);
        }
        reloaded.warnings.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))?;
        for key in &reloaded.needs_restart {
            writeln!(out, "{key} was changed; a restart puts it in force")?;
        }
        Ok(writeln!(
            out,
            "rules reloaded; {} moved to other policies",
            words::count(reloaded.moved, "metric")
        )?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(from: &str, to: &str) -> Vec<String> {
        losses(&from.parse().unwrap(), &to.parse().unwrap())
    }

    #[test]
    fn what_new_points_lose_is_said() {
        let (fine, coarse) = ("60*10s:100*60s|average|0.5", "10*60s|average|0.5");
        assert_eq!(
            lost(fine, coarse),
            ["points are kept for 600 s instead of 6000 s", "the finest step becomes 60 s instead of 10 s"]
        );
        assert_eq!(lost(coarse, fine), [""; 0]);
        let shorter = "30*10s:100*60s|average|0.5";
        assert_eq!(lost(fine, shorter), ["the finest step is kept for 300 s instead of 600 s"]);
    }
}
