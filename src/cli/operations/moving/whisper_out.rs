//! `export whisper`: metrics as whisper files.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;

use super::super::door::Door;
use super::super::{meter, nothing_matches};
use super::selected;
use crate::bundle::{Archive, Bundle};
use crate::cli::{ExportWhisper, Output, to_stdout, words};
use crate::config::Config;
use crate::whisper::{self, name::TagFiles};
use plumbago_model::{Partial, Point, Policy};

/// Writes the metrics of a glob below a directory.
pub(super) fn run(config: &Config, arguments: &ExportWhisper, output: Output) -> Result<()> {
    let window = selected(config, &arguments.selection)?;
    let door = Door::out(config, arguments.selection.url.as_deref())?;
    let mut written = Written::default();
    let names = door.names(&arguments.glob)?;
    door.export(&names, window, |bundle| {
        written.add(&arguments.dir, &bundle);
        meter::show("written", written.files, names.len());
        Ok(())
    })?;
    meter::clear();
    if written.files + written.refused.len() == 0 {
        return Err(nothing_matches(&arguments.glob));
    }
    written.print(output)
}

/// What became of the metrics.
#[derive(Default)]
struct Written {
    files: usize,
    points: u64,
    /// Names without a file, and why.
    refused: Vec<(String, String)>,
}

impl Written {
    fn add(&mut self, dir: &Path, bundle: &Bundle) {
        match write(dir, bundle) {
            Ok(points) => {
                self.files += 1;
                self.points += points;
            }
            Err(error) => self.refused.push((bundle.name.clone(), format!("{error:#}"))),
        }
    }

    fn print(&self, output: Output) -> Result<()> {
        let refused = self.refused.iter().map(|(name, why)| json!({ "name": name, "why": why }));
        let refused: Vec<_> = refused.collect();
        to_stdout(|out| {
            match output {
                Output::Json | Output::Csv => {
                    let report = json!({ "files": self.files, "points": self.points, "refused": refused });
                    output.line(out, &report)?;
                }
                Output::Table => {
                    let files = words::count(self.files as u64, "file");
                    writeln!(out, "{files} with {} written", words::count(self.points, "point"))?;
                    self.refused.iter().try_for_each(|(name, why)| writeln!(out, "{name}: {why}"))?;
                }
            }
            Ok(())
        })?;
        match self.refused.len() {
            0 => Ok(()),
            refused => bail!("{} not written, see above", words::count(refused as u64, "metric")),
        }
    }
}

/// Writes one file, and gives the number of its points.
fn write(dir: &Path, bundle: &Bundle) -> Result<u64> {
    let readable = whisper::name::to_path(&bundle.name, TagFiles::Readable);
    let path = readable.or_else(|_| whisper::name::to_path(&bundle.name, TagFiles::Hashed))?;
    let stages = bundle.policy.retention.stages().iter();
    let points: Vec<Vec<Point>> = stages
        .map(|stage| bundle.archives.iter().find(|archive| archive.step_secs == stage.step_secs))
        .map(|archive| archive.map(|archive| finished(archive, &bundle.policy)).unwrap_or_default())
        .collect();
    let archives: Vec<&[Point]> = points.iter().map(Vec::as_slice).collect();
    whisper::write(&dir.join(path), &bundle.policy, &archives)?;
    Ok(points.iter().map(|points| points.len() as u64).sum())
}

/// The points of an archive as a reader sees them.
pub(super) fn finished(archive: &Archive, policy: &Policy) -> Vec<Point> {
    let column = &archive.column;
    let slots = archive.step_secs / policy.retention.raw().step_secs;
    let value = |at: usize, value: f64| match column.counts.get(at) {
        None => Some(value),
        Some(&count) => policy.aggregator.finish(Partial { value, count }, slots, policy.x_files_factor),
    };
    let slots = column.times.iter().zip(&column.values).enumerate();
    slots.filter_map(|(at, (&timestamp, &seen))| Some(Point { timestamp, value: value(at, seen)? })).collect()
}
