//! The limits that a point must respect, in whichever protocol it arrives.

use plumbago_model::{Point, Reject};

/// The limits in force while one buffer is parsed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time now, in seconds since the epoch; also the time stamp of points sent with `-1`.
    pub now: u32,
    /// Points further ahead of `now` than this are rejected.
    pub max_future_secs: u32,
    /// Keep `inf` and `-inf` instead of rejecting them.
    pub keep_infinite: bool,
    /// Longest plaintext line, without its line feed.
    pub max_line_bytes: usize,
    /// Longest name in a pickle. A frame can repeat one long name many times, so a longer one is not even read.
    pub max_name_bytes: usize,
}

impl Limits {
    /// A point from two numbers as they were sent.
    pub(super) fn point(&self, timestamp: f64, value: f64) -> Result<Point, Reject> {
        self.check_value(value)?;
        // Like carbon, use whole seconds: -1.5 means now, and -0.5 means the epoch.
        let timestamp = match timestamp.trunc() {
            -1.0 => self.now,
            t if t > f64::from(u32::MAX) && t.is_finite() => return Err(Reject::TooFarInFuture),
            t if (0.0..=f64::from(u32::MAX)).contains(&t) => t as u32,
            _ => return Err(Reject::BadTimestamp),
        };
        self.check_future(timestamp)?;
        Ok(Point { timestamp, value })
    }

    /// A point at a time in milliseconds, which loses what is less than a second.
    pub(super) fn point_at(&self, millis: i64, value: f64) -> Result<Point, Reject> {
        self.check_value(value)?;
        let seconds = millis.div_euclid(1000);
        if seconds < 0 {
            return Err(Reject::BadTimestamp);
        }
        let timestamp = u32::try_from(seconds).map_err(|_| Reject::TooFarInFuture)?;
        self.check_future(timestamp)?;
        Ok(Point { timestamp, value })
    }

    pub(super) fn check_value(&self, value: f64) -> Result<(), Reject> {
        if value.is_finite() {
            Ok(())
        } else if value.is_nan() {
            Err(Reject::NanValue)
        } else if self.keep_infinite {
            Ok(())
        } else {
            Err(Reject::InfiniteValue)
        }
    }

    pub(super) fn check_future(&self, timestamp: u32) -> Result<(), Reject> {
        if timestamp > self.now.saturating_add(self.max_future_secs) {
            Err(Reject::TooFarInFuture)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        now: 1_000,
        max_future_secs: 60,
        keep_infinite: true,
        max_line_bytes: 100,
        max_name_bytes: 50,
    };

    #[test]
    fn time_stamps_are_whole_seconds_and_minus_one_is_now() {
        for (sent, kept) in
            [(0.0, 0), (7.9, 7), (-0.5, 0), (-1.0, 1_000), (-1.9, 1_000), (1_060.0, 1_060), (1_060.9, 1_060)]
        {
            assert_eq!(LIMITS.point(sent, 1.0), Ok(Point { timestamp: kept, value: 1.0 }), "{sent}");
        }
    }

    #[test]
    fn other_time_stamps_are_refused() {
        for sent in [-2.0, -1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(LIMITS.point(sent, 1.0), Err(Reject::BadTimestamp), "{sent}");
        }
        for sent in [1_061.0, 4_294_967_295.0, 4_294_967_296.0, 1_700_000_000_000.0, 1e300] {
            assert_eq!(LIMITS.point(sent, 1.0), Err(Reject::TooFarInFuture), "{sent}");
        }
    }

    #[test]
    fn values_must_be_numbers() {
        assert_eq!(LIMITS.point(5.0, f64::NAN), Err(Reject::NanValue));
        assert!(LIMITS.point(5.0, f64::NEG_INFINITY).is_ok());
        let finite_only = Limits { keep_infinite: false, ..LIMITS };
        assert_eq!(finite_only.point(5.0, f64::INFINITY), Err(Reject::InfiniteValue));
    }
}
