//! A line in the log for each slow query, at the target `plumbago::slow`.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::report::{Report, millis};
use plumbago_model::Phase;

/// Lines in a second. When everything is slow, more of them would make it slower and tell nothing new.
const MAX_LINES: u32 = 10;

const SECOND: Duration = Duration::from_secs(1);

/// Writes lines, so many in a second.
#[derive(Debug, Default)]
pub(super) struct SlowLog {
    window: Mutex<Window>,
}

/// The current second.
#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    lines: u32,
    /// Queries without a line since the last line.
    left_out: u64,
}

impl Window {
    /// May a line be written? If so, how many were left out before it.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.began.is_none_or(|began| now.duration_since(began) >= SECOND) {
            (self.began, self.lines) = (Some(now), 0);
        }
        if self.lines == MAX_LINES {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

impl SlowLog {
    /// Writes a line, unless there were many just now.
    pub(super) fn write(&self, report: &Report) {
        let Some(left_out) = self.window.lock().admit(Instant::now()) else { return };
        let (question, origin) = (&report.question, &report.question.origin);
        let ms = |phase| millis(report.spent(phase));
        tracing::warn!(
            target: "plumbago::slow",
            id = report.id,
            endpoint = &*question.endpoint,
            query = ?question.text,
            user = question.user.as_deref(),
            client = origin.client.map(tracing::field::display),
            org = origin.org.as_deref(),
            dashboard = origin.dashboard.as_deref(),
            panel = origin.panel.as_deref(),
            trace = origin.trace.as_deref(),
            outcome = report.outcome,
            series = report.series,
            points = report.points,
            bytes = report.bytes,
            memory = report.memory,
            ms = millis(report.took()),
            wait_ms = ms(Phase::Wait),
            plan_ms = ms(Phase::Plan),
            find_ms = ms(Phase::Find),
            fetch_ms = ms(Phase::Fetch),
            functions_ms = ms(Phase::Functions),
            write_ms = ms(Phase::Write),
            send_ms = ms(Phase::Send),
            left_out,
            "a query was slow"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_few_and_tell_of_those_that_are_missing() {
        let (mut window, now) = (Window::default(), Instant::now());
        for _ in 0..MAX_LINES {
            assert_eq!(window.admit(now), Some(0));
        }
        assert_eq!((window.admit(now), window.admit(now)), (None, None));
        assert_eq!(window.admit(now + SECOND), Some(2));
        assert_eq!(window.admit(now + SECOND), Some(0));
    }
}
