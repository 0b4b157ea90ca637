//! A document that is written in parts, for answers that are too long to be in memory as a whole.
//!
//! A [`Document`] says which parts come next, and each [`Part`] can be written by itself, so two threads can write two of them. The parts
//! together are what [`json::write`] and [`csv::write`] make of all series.

use std::borrow::Cow;
use std::vec;

use jiff::tz::TimeZone;

use super::thin::Thinning;
use super::{Line, csv, json};
use crate::error::RenderError;
use crate::series::Series;

/// The formats that can be written in parts.
#[derive(Clone, Debug)]
pub enum Form {
    /// `format=json`
    Json {
        /// Leave out points without a value, and lines without any point.
        skip_nulls: bool,
    },
    /// `format=csv` with times in this zone.
    Csv(TimeZone),
}

/// Series that are still to be written.
#[derive(Debug)]
pub struct Document {
    form: Form,
    thinning: Option<Thinning>,
    rest: vec::IntoIter<Series>,
    /// The line of which some points are written.
    current: Option<Begun>,
    /// Is any line written?
    has_lines: bool,
}

/// A line of which some points are written.
#[derive(Debug)]
struct Begun {
    series: Series,
    /// Values that are written, and all that will be.
    at: usize,
    len: usize,
    has_points: bool,
}

/// Some points of one line.
#[derive(Debug)]
pub struct Part {
    form: Form,
    series: Series,
    from: usize,
    until: usize,
    /// The line begins here; true if another one is before it.
    opens: Option<bool>,
    /// The points follow others of their line.
    follows: bool,
    closes: bool,
}

impl Document {
    /// Series as they are, or with at most about `max_points` points each. A series that cannot be made shorter is found here, before
    /// anything is written. As in [`json::lines`], series without points are shown only beside others that have some.
    pub fn new(series: Vec<Series>, form: Form, max_points: Option<usize>) -> Result<Self, RenderError> {
        let shown = series.iter().any(|s| !s.values.is_empty());
        let series = if shown { series } else { Vec::new() };
        let thinning = max_points.map(|max| Thinning::of(&series, max));
        let shortened = |series: &&Series| thinning.is_some_and(|thinning| thinning.shortens(series));
        for series in series.iter().filter(shortened) {
            series.consolidation.check()?;
        }
        Ok(Self { form, thinning, rest: series.into_iter(), current: None, has_lines: false })
    }

    /// About how many bytes all of it takes.
    pub fn estimated_bytes(&self) -> usize {
        let most = self.thinning.map_or(usize::MAX, |thinning| thinning.max());
        let bytes = |series: &Series| {
            let points = series.values.len().min(most);
            match self.form {
                Form::Json { .. } => points * json::POINT_BYTES + json::LINE_BYTES,
                Form::Csv(_) => points * (series.name.len() + csv::POINT_BYTES),
            }
        };
        self.rest.as_slice().iter().map(bytes).sum()
    }

    /// The next parts, of `points` points together; none at the end.
    pub fn next(&mut self, points: usize) -> Result<Vec<Part>, RenderError> {
        let (mut parts, mut left) = (Vec::new(), points);
        while left > 0 {
            if self.current.is_none() {
                let Some(series) = self.rest.next() else { break };
                self.current = self.begin(series)?;
            }
            let Some(mut begun) = self.current.take() else { continue };
            let part = self.part(&mut begun, left);
            // A line without points is work as well.
            left = left.saturating_sub((part.until - part.from).max(1));
            if !part.closes {
                self.current = Some(begun);
            }
            parts.push(part);
        }
        Ok(parts)
    }

    /// Nothing for a line that is left out.
    fn begin(&self, mut series: Series) -> Result<Option<Begun>, RenderError> {
        if let Some(thinning) = self.thinning {
            let Line { start, step, values, .. } = thinning.line(&series)?;
            if let Cow::Owned(values) = values {
                series = Series { start, step, values: values.into(), ..series };
            }
        }
        let mut len = series.values.len();
        if let Form::Json { skip_nulls } = self.form {
            if skip_nulls && series.known() == 0 {
                return Ok(None);
            }
            // Stamps never go beyond the stated end.
            let stamps = (series.end - series.start).div_euclid(series.step.max(1)) + 1;
            len = len.min(usize::try_from(stamps).unwrap_or(0));
        }
        Ok(Some(Begun { series, at: 0, len, has_points: false }))
    }

    fn part(&mut self, begun: &mut Begun, points: usize) -> Part {
        let (from, until) = (begun.at, begun.len.min(begun.at + points));
        let is_written = match self.form {
            Form::Json { skip_nulls: true } => begun.series.values[from..until].iter().any(|v| !v.is_nan()),
            _ => until > from,
        };
        let part = Part {
            form: self.form.clone(),
            series: begun.series.clone(),
            from,
            until,
            opens: (from == 0).then_some(self.has_lines),
            follows: begun.has_points && is_written,
            closes: until == begun.len,
        };
        self.has_lines = true;
        begun.at = until;
        begun.has_points |= is_written;
        part
    }
}

impl Part {
    /// How many points it has.
    pub fn points(&self) -> usize {
        self.until - self.from
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let whole = Line::from(&self.series);
        let line = Line {
            start: whole.start + self.from as i64 * whole.step,
            values: Cow::Borrowed(&self.series.values[self.from..self.until]),
            ..whole
        };
        match &self.form {
            Form::Json { skip_nulls } => self.write_json(out, &line, *skip_nulls),
            Form::Csv(tz) => csv::write(out, &[line], tz),
        }
    }

    fn write_json(&self, out: &mut Vec<u8>, line: &Line<'_>, skip_nulls: bool) {
        if let Some(is_later) = self.opens {
            if is_later {
                out.push(b',');
            }
            json::open_line(out, line);
        }
        if self.follows {
            out.push(b',');
        }
        json::write_points(out, line, skip_nulls);
        if self.closes {
            json::close_line(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_parts(series: &[Series], form: &Form, max: Option<usize>, points: usize) -> Vec<u8> {
        let mut document = Document::new(series.to_vec(), form.clone(), max).unwrap();
        let mut out = Vec::new();
        loop {
            let parts = document.next(points).unwrap();
            if parts.is_empty() {
                return out;
            }
            assert!(parts.iter().map(Part::points).sum::<usize>() <= points);
            parts.iter().for_each(|part| part.write(&mut out));
        }
    }

    fn series() -> impl Strategy<Value = Vec<Series>> {
        let value = prop_oneof![Just(f64::NAN), (0..100).prop_map(f64::from)];
        let one =
            (prop::collection::vec(value, 0..20), 1_i64..4, -2_i64..3).prop_map(|(values, step, more)| {
                let end = 60 + values.len() as i64 * step + more;
                Series::new("a;b=c", (60, end, step), values, 0.0)
            });
        prop::collection::vec(one, 0..6)
    }

    proptest! {
        #[test]
        fn the_parts_together_are_the_whole(
            all in series(), points in 1_usize..30, max in prop::option::of(1_usize..10), skip_nulls: bool,
        ) {
            let mut whole = Vec::new();
            json::write_lines(&mut whole, &json::lines(&all, max).unwrap(), skip_nulls);
            let parts = in_parts(&all, &Form::Json { skip_nulls }, max, points);
            prop_assert_eq!(String::from_utf8(parts).unwrap(), String::from_utf8(whole).unwrap());
            let mut whole = Vec::new();
            csv::write(&mut whole, &Line::all(&all), &TimeZone::UTC);
            prop_assert_eq!(in_parts(&all, &Form::Csv(TimeZone::UTC), None, points), whole);
        }
    }

    #[test]
    fn what_cannot_be_made_shorter_is_refused_before_anything_is_written() {
        let mut one = Series::new("a", (0, 100, 10), vec![1.0; 10], 0.0);
        one.consolidation = crate::series::Consolidation::named("bogus");
        let form = Form::Json { skip_nulls: false };
        assert!(Document::new(vec![one.clone()], form.clone(), None).is_ok());
        assert!(Document::new(vec![one.clone()], form.clone(), Some(10)).is_ok());
        let error = Document::new(vec![one], form, Some(3)).unwrap_err();
        assert!(error.to_string().contains("'bogus'"), "{error}");
    }
}
