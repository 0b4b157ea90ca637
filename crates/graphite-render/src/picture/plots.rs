//! Series ready to be drawn: with their colours and styles, at the resolution of the picture, on top of each other.

use super::colour::Colour;
use super::curve::Curve;
use super::options::{AreaMode, LineMode, Options, SideStyle};
use super::ticks::Scale;
use crate::error::RenderError;
use crate::request::TimeRange;
use crate::series::{Drawing, Series};

/// A series ready to be drawn.
pub(super) struct Plot {
    pub(super) curve: Curve,
    pub(super) colour: Colour,
    /// Of the line; that of an area may be another.
    pub(super) width: f32,
    pub(super) dash: Option<f32>,
    pub(super) filled: Filled,
    pub(super) right: bool,
    pub(super) infinite: bool,
    pub(super) invisible: bool,
    /// Lowest of its own values, before they are put on others.
    lowest: f64,
    has_gaps: bool,
}

/// Is there an area below the line?
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Filled {
    No,
    /// Down to the ground.
    Alone,
    /// Down to the plot before it in the stack.
    Stacked {
        below: Option<usize>,
    },
}

/// All plots of a picture, and the time they are of.
pub(super) struct Plots {
    pub(super) all: Vec<Plot>,
    pub(super) range: TimeRange,
    pub(super) line_mode: LineMode,
}

/// The time of the series, if they have any, and how their lines are drawn. A line of one point would not be seen.
pub(super) fn time_of(series: &[Series], options: &Options) -> Option<(TimeRange, LineMode)> {
    let is_point = |s: &Series| s.values.len() == 1;
    let line_mode = match options.line_mode {
        LineMode::Slope if series.iter().any(is_point) => LineMode::Staircase,
        mode => mode,
    };
    let end = |s: &Series| if line_mode == LineMode::Staircase { s.end } else { s.end - s.step };
    let from = series.iter().map(|s| s.start).min()?;
    let until = series.iter().map(end).max()?;
    (from < until).then_some((TimeRange { from, until }, line_mode))
}

/// The colours of series: those that they were given, or else one after the other from the palette.
pub(super) fn colours(series: &[Series], options: &Options) -> Vec<Colour> {
    let plain = Drawing::default();
    let styles = styles(series, options);
    let mut palette = options.palette.iter().copied().cycle();
    let mut colour = |s: &Series| {
        let drawing = s.drawing.as_deref().unwrap_or(&plain);
        let own = styles[usize::from(drawing.second_y_axis)].colour;
        let own = own.or_else(|| drawing.color.as_deref().and_then(Colour::parse));
        // A series with a colour of its own does not use one up.
        let colour = own.or_else(|| if drawing.invisible { None } else { palette.next() });
        let colour = colour.unwrap_or(options.foreground);
        drawing.alpha.map_or(colour, |alpha| colour.faded(alpha))
    };
    series.iter().map(&mut colour).collect()
}

/// What the request says of the lines of each side: nothing unless there are two.
fn styles(series: &[Series], options: &Options) -> [SideStyle; 2] {
    let is_second = |s: &Series| s.drawing.as_deref().is_some_and(|drawing| drawing.second_y_axis);
    let [left, right] = &options.sides;
    if series.iter().any(is_second) { [left.style, right.style] } else { Default::default() }
}

impl Plots {
    /// The plots on a picture whose lines are `width` pixels long.
    pub(super) fn new(
        series: &[Series],
        options: &Options,
        (range, line_mode): (TimeRange, LineMode),
        width: f32,
    ) -> Result<Self, RenderError> {
        let plain = Drawing::default();
        let styles = styles(series, options);
        let mut all: Vec<Plot> = Vec::with_capacity(series.len());
        for (s, colour) in series.iter().zip(colours(series, options)) {
            let drawing = s.drawing.as_deref().unwrap_or(&plain);
            let side = styles[usize::from(drawing.second_y_axis)];
            let filled = filled(drawing, options, &all);
            let mut curve = thinned(s, options, range, width)?;
            let known = || curve.values.iter().copied().filter(|v| v.is_finite());
            let lowest = known().fold(f64::INFINITY, f64::min);
            let has_gaps = s.values.iter().any(|v| v.is_nan());
            if let (AreaMode::Stacked, Filled::Stacked { below: Some(below) }) = (options.area_mode, filled) {
                add(&mut curve, &all[below].curve);
            }
            let width = side.width.or(drawing.line_width);
            all.push(Plot {
                curve,
                colour,
                width: width.map_or(options.line_width, |width| width.clamp(0.1, 100.0) as f32),
                dash: side.dash.or(drawing.dash).map(|dash| dash.clamp(1.0, 1000.0) as f32),
                filled,
                right: drawing.second_y_axis,
                infinite: drawing.draw_as_infinite,
                invisible: drawing.invisible,
                lowest,
                has_gaps,
            });
        }
        Ok(Self { all, range, line_mode })
    }

    /// Is there anything to draw?
    pub(super) fn has_values(&self) -> bool {
        self.all.iter().any(|plot| plot.curve.values.iter().any(|v| !v.is_nan()))
    }

    /// The axis of the plots on one side, if there are any. Without plots there is the left one.
    pub(super) fn scale(&self, options: &Options, right: bool) -> Option<Scale> {
        let on_this_side = || self.all.iter().filter(|plot| plot.right == right);
        if right && on_this_side().next().is_none() {
            return None;
        }
        let here = || on_this_side().filter(|plot| !plot.infinite);
        let wish = &options.sides[usize::from(right)].wish;
        let fits = |v: &f64| v.is_finite() && (wish.log_base.is_none() || *v > 0.0);
        let values = here().flat_map(|plot| plot.curve.values.iter().copied()).filter(fits);
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        // Stacked lines stand on each other, but the axis has to show the lowest of them by itself, too.
        let lowest = here().map(|plot| plot.lowest).filter(fits).fold(low, f64::min);
        let (low, high) = if lowest <= high { (lowest, high) } else { (0.0, 1.0) };
        let zeroed = options.nulls_are_zero && here().any(|plot| plot.has_gaps);
        let (low, high) = if zeroed { (low.min(0.0), high.max(0.0)) } else { (low, high) };
        if !right && on_this_side().next().is_none() {
            return None;
        }
        Some(Scale::new((low, high), wish, options.units))
    }
}

fn filled(drawing: &Drawing, options: &Options, before: &[Plot]) -> Filled {
    match options.area_mode {
        _ if drawing.draw_as_infinite => Filled::No,
        AreaMode::Stacked => Filled::Stacked { below: last_stacked(before) },
        _ if drawing.stacked => Filled::Stacked { below: last_stacked(before) },
        AreaMode::All => Filled::Alone,
        AreaMode::First if before.is_empty() => Filled::Alone,
        _ => Filled::No,
    }
}

fn last_stacked(plots: &[Plot]) -> Option<usize> {
    plots.iter().rposition(|plot| matches!(plot.filled, Filled::Stacked { .. }))
}

/// Values on top of those below, row by row; a null adds nothing.
fn add(curve: &mut Curve, below: &Curve) {
    for (i, value) in curve.values.iter_mut().enumerate() {
        let under = below.values.get(i).copied().filter(|v| !v.is_nan()).unwrap_or(0.0);
        *value = if value.is_nan() { under } else { *value + under };
    }
}

/// No more values than there are pixels for, drawn together as the series says.
fn thinned(series: &Series, options: &Options, range: TimeRange, width: f32) -> Result<Curve, RenderError> {
    let step = series.step.max(1);
    let points = (range.until - range.from) as f64 / step as f64;
    let width = f64::from(width.max(1.0));
    let per_point = if width / points < options.x_step {
        (points / (width / options.x_step).floor().max(1.0)).ceil().max(1.0) as usize
    } else {
        1
    };
    let mut values = match per_point {
        1 => series.values.to_vec(),
        _ => series.consolidation.consolidate(&series.values, per_point, series.x_files_factor)?,
    };
    if options.nulls_are_zero {
        values.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = 0.0);
    }
    Ok(Curve { start: series.start, step: step.saturating_mul(per_point as i64), values })
}
