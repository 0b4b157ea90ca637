//! `check-config`: the configuration in force, or what it gives one name.

use std::io::Write;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{CheckConfig, Output, UsageError, check_quota, operations, words};
use crate::config::{Loaded, Matched, Rule, Setting};
use crate::rules::{Outcome, Rules};
use plumbago_model::{Aggregator, Retention};

/// Prints to `out`.
pub(super) fn run(
    loaded: &Loaded,
    arguments: &CheckConfig,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let rules = Rules::open(&loaded.config.rules, Arc::default())?;
    match (&arguments.name, output) {
        (None, Output::Table) => print_settings(loaded, out)?,
        (None, output) => output.indented(out, &settings_json(loaded))?,
        (Some(name), output) => {
            let limit = loaded.config.ingest.max_name_bytes;
            let outcome = rules.map(|rules| rules.outcome(name)).unwrap_or_default();
            let stored = outcome.renamed.as_deref().unwrap_or(name);
            let stored = operations::canonical_name(stored, limit).map_err(|e| UsageError(e.to_string()))?;
            let matched = loaded.config.retention.policy_for(&stored);
            match output {
                Output::Table => {
                    print_outcome(&outcome, out)?;
                    print_policy(&stored, &matched, out)?;
                    check_quota::print(&loaded.config.quotas, &stored, out)?;
                }
                Output::Json | Output::Csv => {
                    let quotas = check_quota::json(&loaded.config.quotas, &stored);
                    let rules = json!({ "refused": outcome.refused, "aggregates": outcome.aggregates, "quotas": quotas });
                    output.indented(out, &with(policy_json(&stored, &matched), rules))?;
                }
            }
        }
    }
    Ok(())
}

/// TOML that gives the same configuration if it is read again from the same working directory.
fn print_settings(loaded: &Loaded, out: &mut dyn Write) -> std::io::Result<()> {
    match &loaded.file {
        Some(file) => writeln!(out, "# read from {}", file.display())?,
        None => writeln!(out, "# no configuration file")?,
    }
    let mut section = "";
    for setting in loaded.settings.iter() {
        if setting.key.section != section {
            section = setting.key.section;
            writeln!(out, "\n[{section}]")?;
        }
        let line = if is_hidden(setting) {
            format!("# {} is set, and not shown", setting.key.name)
        } else {
            format!("{} = {}", setting.key.name, setting.value)
        };
        writeln!(out, "{line:<44} # {}", setting.origin)?;
    }
    let rules = &loaded.config.retention;
    writeln!(out, "\n# Retention rules; the first match wins:")?;
    for rule in &rules.schemas {
        writeln!(out, "#   {}: {}", describe(rule), words::retention(&rule.gives))?;
    }
    writeln!(out, "#   all others: {}", words::retention(&rules.default_retention))?;
    writeln!(out, "# Aggregation rules; the first match wins:")?;
    for rule in &rules.aggregation {
        writeln!(out, "#   {}: {}", describe(rule), aggregation_words(rule.gives))?;
    }
    writeln!(out, "#   all others: {}", aggregation_words(rules.default_aggregation))?;
    check_quota::print_all(&loaded.config.quotas, out)
}

/// Is it a password that is set?
fn is_hidden(setting: &Setting) -> bool {
    setting.key.is_secret && setting.value.as_str() != Some("")
}

/// What the rules for incoming names do with this one, if anything.
fn print_outcome(outcome: &Outcome, out: &mut dyn Write) -> std::io::Result<()> {
    if let Some(reason) = outcome.refused {
        writeln!(out, "refused      {reason}, by [rules]")?;
    }
    for aggregate in &outcome.aggregates {
        writeln!(out, "goes into    {aggregate}, by rules.aggregation")?;
    }
    Ok(())
}

fn print_policy(name: &str, matched: &Matched<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    let policy = &matched.policy;
    writeln!(out, "name         {name}")?;
    writeln!(out, "retention    {}", words::retention(&policy.retention))?;
    match matched.retention_rule {
        Some(rule) => writeln!(out, "             from {}", describe(rule))?,
        None => writeln!(out, "             no rule matches: from retention.default")?,
    }
    writeln!(out, "aggregation  {}", aggregation_words((policy.aggregator, policy.x_files_factor)))?;
    match matched.aggregation_rule {
        Some(rule) => writeln!(out, "             from {}", describe(rule)),
        None => writeln!(out, "             no rule matches: the built-in default"),
    }
}

/// `rule "name" at file:line, pattern `...``
fn describe<T>(rule: &Rule<T>) -> String {
    format!("rule \"{}\" at {}, pattern {}", rule.name, rule.origin, rule.pattern)
}

fn aggregation_words((method, x_files_factor): (Aggregator, f64)) -> String {
    format!("{method}, xFilesFactor {x_files_factor}")
}

fn settings_json(loaded: &Loaded) -> Value {
    let setting = |s: &Setting| {
        let value = if is_hidden(s) { Value::Null } else { json!(s.value) };
        (s.key.to_string(), json!({ "value": value, "origin": s.origin.to_string() }))
    };
    let rules = &loaded.config.retention;
    let retention = |r: &Rule<Retention>| with(rule_json(r), retention_json(&r.gives));
    let aggregation = |r: &Rule<(Aggregator, f64)>| with(rule_json(r), aggregation_json(r.gives));
    json!({
        "file": loaded.file,
        "settings": loaded.settings.iter().map(setting).collect::<serde_json::Map<_, _>>(),
        "retention_rules": rules.schemas.iter().map(retention).collect::<Vec<_>>(),
        "aggregation_rules": rules.aggregation.iter().map(aggregation).collect::<Vec<_>>(),
        "quotas": check_quota::all_json(&loaded.config.quotas),
        "warnings": loaded.warnings,
    })
}

fn policy_json(name: &str, matched: &Matched<'_>) -> Value {
    let policy = &matched.policy;
    let retention = json!({ "rule": matched.retention_rule.map(rule_json) });
    let aggregation = json!({ "rule": matched.aggregation_rule.map(rule_json) });
    json!({
        "name": name,
        "retention": with(retention, retention_json(&policy.retention)),
        "aggregation": with(aggregation, aggregation_json((policy.aggregator, policy.x_files_factor))),
    })
}

fn rule_json<T>(rule: &Rule<T>) -> Value {
    json!({ "name": rule.name, "origin": rule.origin, "pattern": rule.pattern.as_str() })
}

fn retention_json(retention: &Retention) -> Value {
    let stage = |s: &plumbago_model::Stage| json!({ "step_secs": s.step_secs, "points": s.points, "span_secs": s.span_secs() });
    json!({ "words": words::retention(retention), "stages": retention.stages().iter().map(stage).collect::<Vec<_>>() })
}

fn aggregation_json((method, x_files_factor): (Aggregator, f64)) -> Value {
    json!({ "method": method.name(), "x_files_factor": x_files_factor })
}

/// The members of both objects.
fn with(mut one: Value, other: Value) -> Value {
    if let (Some(one), Value::Object(other)) = (one.as_object_mut(), other) {
        one.extend(other);
    }
    one
}
