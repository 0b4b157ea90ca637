//! `estimate`: what a number of metrics will take up.

use std::io::Write;

use serde_json::json;

use super::{Estimate, Output, UsageError, table, words};
use crate::config::Config;
use crate::store::cassandra::schema::table_name;
use crate::store::cassandra::{partition_bytes, partitions};
use plumbago_model::{POINT_BYTES, Retention, Stage};

/// Memory of the index for a metric, with its name.
const INDEX_BYTES: u64 = 110;
/// Memory of a point that is not in blocks yet.
const HEAD_BYTES: u64 = 16;

/// Disk that metrics take when every stage is full.
pub(super) fn disk_bytes(retention: &Retention, metrics: u64) -> u64 {
    metrics.saturating_mul(retention.disk_bytes())
}

/// Prints how much disk and memory metrics need under a retention, and the formula.
pub(super) fn run(
    config: &Config,
    arguments: &Estimate,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let retention: Retention = match &arguments.retention {
        Some(text) => text.parse().map_err(|error| UsageError(format!("--retention: {error}")))?,
        None => config.retention.default_policy().retention,
    };
    let metrics = arguments.metrics;
    let stages: Vec<(String, u64, u64)> = retention
        .stages()
        .iter()
        .map(|stage| {
            let points = u64::from(stage.points);
            let bytes = metrics.saturating_mul(points * POINT_BYTES);
            (format!("{}s for {}s", stage.step_secs, stage.span_secs()), points, bytes)
        })
        .collect();
    let disk = disk_bytes(&retention, metrics);
    let in_cassandra = |stage: &Stage| (partition_bytes(*stage), partitions(*stage));
    let memory = metrics * INDEX_BYTES + config.store.head_points as u64 * HEAD_BYTES;
    if output.is_data() {
        let stages: Vec<_> = stages
            .iter()
            .zip(retention.stages())
            .map(|((stage, points, bytes), of)| {
                let (partition, number) = in_cassandra(of);
                let there = json!({ "partition_bytes": partition, "partitions_per_metric": number });
                json!({ "stage": stage, "points": points, "bytes": bytes, "cassandra": there })
            })
            .collect();
        let report =
            json!({ "metrics": metrics, "stages": stages, "disk_bytes": disk, "memory_bytes": memory });
        return Ok(output.indented(out, &report)?);
    }
    let rows: Vec<[String; 3]> = retention
        .stages()
        .iter()
        .zip(&stages)
        .map(|(stage, (_, points, bytes))| {
            let alone = Retention::new(vec![(stage.step_secs, stage.points)]);
            let stage = alone.map_or_else(|_| String::new(), |alone| words::retention(&alone));
            [points.to_string(), words::size(*bytes), stage]
        })
        .collect();
    table::print(out, ["points a metric", "disk", "stage"], &rows)?;
    writeln!(out)?;
    writeln!(out, "disk    {}, when every stage is full", words::size(disk))?;
    let counted = words::count(metrics, "metric");
    writeln!(out, "        = {counted} x the points of all stages x {POINT_BYTES} bytes")?;
    writeln!(out, "memory  {}, and what queries need", words::size(memory))?;
    writeln!(
        out,
        "        = {counted} x {INDEX_BYTES} bytes + store.head_points ({}) x {HEAD_BYTES} bytes",
        config.store.head_points
    )?;
    for stage in retention.stages() {
        let (bytes, number) = in_cassandra(stage);
        let (size, most) = (words::size(bytes), words::count(number, "partition"));
        let name = table_name(*stage);
        writeln!(out, "Cassandra  {name}: {size} a partition, at most {most} a metric")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(retention: Option<&str>, output: Output) -> anyhow::Result<String> {
        let arguments = Estimate { metrics: 1000, retention: retention.map(str::to_owned) };
        let mut out = Vec::new();
        run(&Config::default(), &arguments, output, &mut out)?;
        Ok(String::from_utf8(out)?)
    }

    #[test]
    fn the_formula_is_printed_with_its_figures() {
        let text = estimate(Some("10s:1d,1m:30d"), Output::Table).unwrap();
        assert!(
            text.contains("10s for 1 day") && text.contains("8640") && text.contains("16.5 MiB"),
            "{text}"
        );
        assert!(text.contains("1000 metrics x the points of all stages x 2 bytes"), "{text}");
        let partitions = "datapoints_8640p_10s_0: 48.8 KiB a partition, at most 6 partitions a metric";
        assert!(text.contains(partitions), "{text}");
        let json: serde_json::Value =
            serde_json::from_str(&estimate(Some("10s:1d,1m:30d"), Output::Json).unwrap()).unwrap();
        assert_eq!(json["disk_bytes"], (8640 + 43_200) * 2 * 1000);
        let second = &json["stages"][1]["cassandra"];
        assert_eq!(
            (&second["partition_bytes"], &second["partitions_per_metric"]),
            (&64_000.into(), &23.into())
        );
    }

    #[test]
    fn without_a_retention_it_is_the_configured_default_and_a_wrong_one_is_named() {
        assert!(estimate(None, Output::Table).unwrap().contains("1h for 2 years"));
        assert!(estimate(Some("10s"), Output::Table).unwrap_err().to_string().contains("`10s`"));
    }
}
