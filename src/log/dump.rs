//! Prints what is in a segment, for a person who looks for a fault.

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

use std::io::{self, Write};
use std::path::Path;

use super::segment::replay_file;
use super::{LogError, Record};
use plumbago_model::count;

/// Prints every record of one segment. Damaged places become comments.
pub fn dump(path: &Path, out: &mut dyn Write) -> Result<io::Result<()>, LogError> {
    let mut written = Ok(());
    let found = replay_file(path, |record| {
        if written.is_ok() {
            written = dump_record(record, out);
        }
    })?;
    Ok(written.and_then(|()| {
        found
            .damage
            .iter()
            .try_for_each(|damage| writeln!(out, "# byte {}: {}", damage.offset, damage.detail))
    }))
}

fn dump_record(record: Record, out: &mut dyn Write) -> io::Result<()> {
    match record {
        Record::Points { accepted, points } => {
            writeln!(
                out,
                "# {} accepted at {accepted}; columns: metric id, time, value",
                count(points.len(), "point")
            )?;
            points.iter().try_for_each(|(id, p)| writeln!(out, "{} {} {}", id.0, p.timestamp, p.value))
        }
        Record::Metrics(metrics) => metrics
            .iter()
            .try_for_each(|(id, policy, name)| writeln!(out, "metric {} policy {} {name}", id.0, policy.0)),
        Record::Policies(policies) => {
            policies.iter().try_for_each(|(id, policy)| writeln!(out, "policy {} {policy}", id.0))
        }
        Record::Deleted(ids) => ids.iter().try_for_each(|id| writeln!(out, "deleted {}", id.0)),
        Record::Opened(origin) => writeln!(out, "# segment {} of store {}", origin.segment, origin.store),
        Record::Owned(quotas) => {
            quotas.iter().try_for_each(|(id, quota)| writeln!(out, "owned {} {quota}", id.0))
        }
        Record::Renamed(names) => {
            names.iter().try_for_each(|(id, name)| writeln!(out, "renamed {} {name}", id.0))
        }
    }
}
