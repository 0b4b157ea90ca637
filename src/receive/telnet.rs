//! Connections that speak KairosDB's and OpenTSDB's telnet protocol. As in KairosDB a line that is no point gets no answer: it is
//! counted, and a sample is in the log.

use super::buffers::Spare;
use super::connection::{Next, Protocol};
use super::intake::Intake;
use super::lines::Lines;
use super::stop::Stop;
use crate::config::Ingest;
use crate::parse::labelled::telnet;
use plumbago_model::Reject;

/// What is told to those who ask for the version.
const VERSION: &str = concat!("KairosDB 1.3.0-plumbago-", env!("CARGO_PKG_VERSION"), "\n");

/// The lines of one connection.
#[derive(Debug)]
pub(super) struct TelnetLines {
    lines: Lines,
    /// How often the version is to be told.
    versions: u64,
}

impl Protocol for TelnetLines {
    fn new(config: &Ingest) -> Self {
        Self { lines: Lines::new(config.max_line_bytes), versions: 0 }
    }

    async fn feed(&mut self, read: &[u8], spare: &mut Spare, intake: &Intake, stop: &mut Stop) -> Next {
        let too_long = |line: &[u8]| intake.refuse_whole(Reject::LineTooLong, line, &"no line end in sight");
        let whole = self.lines.feed(read, too_long);
        let limits = intake.limits();
        let mut told = spare.told();
        for part in [whole.joined, whole.rest] {
            telnet::parse_lines(part, &limits, &mut told, |reason, line| intake.refuse(reason, line));
        }
        for gathered in &told.gathered {
            let batch = gathered.batch_in(spare.batch());
            intake.deliver(&batch, stop).await;
            spare.keep(batch);
            intake.telemetry.values_rounded.add(gathered.rounded);
        }
        intake.telemetry.points_received.add(told.lines);
        self.versions = told.versions;
        spare.keep_told(told);
        self.lines.release();
        Next::Read
    }

    fn reply(&mut self) -> Vec<u8> {
        let times = usize::try_from(std::mem::take(&mut self.versions)).unwrap_or_default();
        VERSION.repeat(times).into_bytes()
    }

    fn carried(&self) -> usize {
        self.lines.unfinished().len()
    }

    fn end(&self, intake: &Intake) {
        let line = self.lines.unfinished();
        if !line.trim_ascii().is_empty() {
            intake.refuse_whole(Reject::BadLine, line, &"the connection ended in the middle of the line");
        }
    }
}
