//! The time zone and the clock a request runs by: `tz`, `now`, `from`, `until`.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::error::Failure;
use super::params::Params;
use graphite_render::time::parse_time;

/// What relative times are relative to.
#[derive(Debug)]
pub(super) struct Clock {
    /// The zone named by `tz`, or the configured one.
    pub(super) tz: TimeZone,
    /// The time given by `now`, or the time it is.
    pub(super) now: i64,
}

impl Clock {
    /// The clock of a request.
    pub(super) fn of(params: &Params, default: &TimeZone) -> Result<Self, Failure> {
        let tz = match params.get("tz").filter(|name| !name.is_empty()) {
            Some(name) => zone(name)?,
            None => default.clone(),
        };
        let real = Timestamp::now().as_second();
        let now = params.get("now").map_or(Ok(real), |text| read(text, real, &tz))?;
        Ok(Self { tz, now })
    }

    /// The time named by a parameter, if it is given.
    pub(super) fn time(&self, params: &Params, name: &str) -> Result<Option<i64>, Failure> {
        params.get(name).map(|text| read(text, self.now, &self.tz)).transpose()
    }

    /// The edges of a render, in order. They must differ.
    pub(super) fn range(&self, params: &Params) -> Result<(i64, i64), Failure> {
        let until = self.time(params, "until")?.unwrap_or(self.now);
        let from = self.time(params, "from")?.unwrap_or(self.now - 86_400);
        if from == until {
            return Err(Failure::Invalid(format!("empty time range: from and until are both {from}")));
        }
        Ok((from.min(until), from.max(until)))
    }

    /// The edges of a find. `-1` means "not given" there, and none of them means no window at all.
    pub(super) fn window(&self, params: &Params) -> Result<Option<(i64, i64)>, Failure> {
        let edge = |name| match params.get(name) {
            Some("-1") => Ok(None),
            _ => self.time(params, name),
        };
        Ok(match (edge("from")?, edge("until")?) {
            (None, None) => None,
            (from, until) => {
                let (from, until) = (from.unwrap_or(0), until.unwrap_or(i64::from(u32::MAX)));
                if until < from {
                    return Err(Failure::Refused(format!(
                        "Invalid interval: from ({from}) is after until ({until})"
                    )));
                }
                Some((from, until))
            }
        })
    }
}

/// Axes and words such as `midnight` would be those of another place if a misspelt zone were ignored.
fn zone(name: &str) -> Result<TimeZone, Failure> {
    let unknown = || format!("the time zone `{name}` is not known; use a name such as UTC or Europe/Berlin");
    TimeZone::get(name).map_err(|_| Failure::Refused(unknown()))
}

fn read(text: &str, now: i64, tz: &TimeZone) -> Result<i64, Failure> {
    parse_time(text, now, tz).map_err(|error| Failure::Invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &str) -> Params {
        let mut params = Params::default();
        params.extend(query.as_bytes());
        params
    }

    fn clock(query: &str) -> Clock {
        Clock::of(&params(query), &TimeZone::UTC).unwrap()
    }

    #[test]
    fn edges_have_defaults_and_are_put_in_order() {
        let range = |query| clock("now=1000000").range(&params(query)).unwrap();
        assert_eq!(range(""), (913_600, 1_000_000));
        assert_eq!(range("from=-10s"), (999_990, 1_000_000));
        assert_eq!(range("from=500&until=400"), (400, 500));
        assert!(clock("now=7").range(&params("from=7")).unwrap_err().to_string().contains("empty"));
    }

    #[test]
    fn a_zone_shifts_days_and_an_unknown_one_is_refused() {
        let midnight = |query| {
            let params = params(query);
            clock(query).time(&params, "from").unwrap()
        };
        assert_eq!(midnight("now=1706790896&from=midnight"), Some(1_706_745_600));
        assert_eq!(midnight("now=1706790896&from=midnight&tz=Asia/Kolkata"), Some(1_706_725_800));
        assert_eq!(midnight("now=1706790896&from=midnight&tz="), Some(1_706_745_600));
        let refused = Clock::of(&params("from=midnight&tz=Mars/Base"), &TimeZone::UTC).unwrap_err();
        assert!(refused.to_string().contains("`Mars/Base`"), "{refused}");
    }

    #[test]
    fn a_find_window_needs_an_edge() {
        let window = |query| clock("now=1000").window(&params(query)).unwrap();
        assert_eq!(window(""), None);
        assert_eq!(window("from=-1&until=-1"), None);
        assert_eq!(window("from=-60s"), Some((940, i64::from(u32::MAX))));
        assert_eq!(window("until=500&from=-1"), Some((0, 500)));
        let error = clock("now=1000").window(&params("from=900&until=800")).unwrap_err().to_string();
        assert!(error.starts_with("Invalid interval"), "{error}");
        assert!(clock("").window(&params("from=junk")).unwrap_err().to_string().contains("`junk`"));
    }
}
