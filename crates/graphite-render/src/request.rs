//! What a client asks for, apart from the targets: a window of time and how to look at it.

use std::collections::HashMap;

use jiff::tz::TimeZone;

/// What a client asks for, apart from the targets.
#[derive(Clone, Debug)]
pub struct Request {
    /// Start of the window in epoch seconds, exclusive.
    pub from: i64,
    /// End of the window in epoch seconds, inclusive.
    pub until: i64,
    /// The clock the request runs by.
    pub now: i64,
    /// Time zone for functions that know days.
    pub tz: TimeZone,
    /// `xFilesFactor`; 0 unless given.
    pub x_files_factor: f64,
    /// `template[name]=value` parameters, by name.
    pub template: HashMap<String, String>,
    /// Points that functions may make on top of what is fetched (`query.max_points`).
    pub max_points: usize,
}

impl Request {
    /// A window, with everything else as a plain request has it.
    pub fn new(from: i64, until: i64, now: i64) -> Self {
        Self {
            from,
            until,
            now,
            tz: TimeZone::UTC,
            x_files_factor: 0.0,
            template: HashMap::new(),
            max_points: 50_000_000,
        }
    }
}

/// A stretch of time in epoch seconds: after `from`, up to `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeRange {
    /// Exclusive start.
    pub from: i64,
    /// Inclusive end.
    pub until: i64,
}

impl TimeRange {
    /// Both edges moved.
    pub fn shifted(self, secs: i64) -> Self {
        Self { from: self.from.saturating_add(secs), until: self.until.saturating_add(secs) }
    }

    /// An earlier start.
    pub fn extended(self, secs: i64) -> Self {
        Self { from: self.from.saturating_sub(secs), ..self }
    }
}
