//! What a command reports to programs: JSON, or the same as CSV.

use std::io::{self, Write};

use serde_json::Value;

use super::{Output, csv};

impl Output {
    /// Is it for a program?
    pub(super) fn is_data(self) -> bool {
        self != Self::Table
    }

    /// Prints a report in one line of JSON, or as CSV.
    pub(super) fn line(self, out: &mut dyn Write, report: &Value) -> io::Result<()> {
        if self == Self::Csv { csv::write(report, out) } else { writeln!(out, "{report}") }
    }

    /// Prints a report as indented JSON, or as CSV.
    pub(super) fn indented(self, out: &mut dyn Write, report: &Value) -> io::Result<()> {
        if self == Self::Csv { csv::write(report, out) } else { writeln!(out, "{report:#}") }
    }
}
