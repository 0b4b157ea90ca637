//! Accepts points from a client that waits for the result, which carbon's protocols cannot give.

use super::engine::Engine;
use crate::http::Backend as _;
use crate::parse::plaintext::parse_lines;
use crate::receive::{self, Busy};
use plumbago_model::{Batch, Scope, Verdict};

impl Engine {
    /// Takes carbon lines by the same rules as `listen.carbon`. Points that it reports as stored are durable. After an error the
    /// client may send the same lines again.
    pub fn write(&self, lines: &[u8]) -> Result<Verdict, String> {
        self.write_within(&Scope::default(), lines)
    }

    /// The same for somebody who is confined to a scope.
    pub(super) fn write_within(&self, scope: &Scope, lines: &[u8]) -> Result<Verdict, String> {
        let mut batch = Batch::default();
        let mut unreadable = Vec::new();
        let limits = receive::limits(&self.config.ingest);
        let received =
            parse_lines(lines, &limits, &mut batch, |reason, line| unreadable.push((reason, line)));
        let mut verdict = self.judge(&batch, scope).map_err(|Busy| self.why_busy())?;
        self.telemetry.points_received.add(received);
        for (reason, line) in unreadable {
            self.telemetry.reject(reason, 1);
            self.sampler.note(reason, line, None);
            verdict.refuse(reason, 1);
        }
        self.points.sync().map_err(|error| format!("what was taken is not durable: {error}"))?;
        Ok(verdict)
    }

    fn why_busy(&self) -> String {
        self.ready().err().unwrap_or_else(|| "points are not taken now; the server's log says why".to_owned())
    }
}
