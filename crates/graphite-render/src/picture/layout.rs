//! Where everything of a line graph is: graphite-web's measures, so that the same query has the same lines and labels.

use jiff::tz::TimeZone;

use super::canvas::Area;
use super::font;
use super::legend::Legend;
use super::options::Options;
use super::plots::{Plots, time_of};
use super::ticks::Scale;
use super::time_axis::{self, TimeAxis};
use crate::error::RenderError;
use crate::series::Series;

/// Room between the edge and the first mark of time, whose label is wider than the mark.
const BESIDE_MARKS: f32 = 10.0;
/// Room beside labels, as a part of their width.
const BESIDE_LABELS: f32 = 1.02;
/// Pixels between an axis on the right and its labels, and beyond them.
const BESIDE_AXIS: f32 = 4.0;
/// Times that the lines are drawn together again because labels took some of their room.
const ROUNDS: usize = 4;

/// The picture without its data: what is measured before anything is drawn.
pub(super) struct Layout {
    pub(super) area: Area,
    pub(super) scales: [Option<Scale>; 2],
    pub(super) time: TimeAxis,
    /// Where the base lines of the upright titles are.
    pub(super) titles: [f32; 2],
}

/// Size of the letters of titles.
pub(super) fn title_size(options: &Options) -> f32 {
    options.font_size + options.font_size.ln().floor()
}

/// The picture without its margin. Small pictures have a small one.
pub(super) fn inner(options: &Options) -> Area {
    let margin = options.margin.min(options.width.min(options.height) as f32 / 8.0);
    let (right, bottom) = (options.width as f32 - margin, options.height as f32 - margin);
    Area { left: margin, top: margin, right, bottom }
}

/// Lays out the picture, and thins out the series for it. There is nothing to lay out without points.
pub(super) fn lay_out(
    series: &[Series],
    options: &Options,
    legend: &Legend<'_>,
    tz: &TimeZone,
) -> Result<Option<(Layout, Plots)>, RenderError> {
    let Some(time) = time_of(series, options) else { return Ok(None) };
    let (outer, titles) = frame(options, legend);
    let mut area = outer;
    for round in 0..=ROUNDS {
        let plots = Plots::new(series, options, time, line_width(area, options))?;
        if !plots.has_values() {
            return Ok(None);
        }
        let scales = [plots.scale(options, false), plots.scale(options, true)];
        let fitted = beside_labels(outer, &scales, titles, options);
        let axis = || {
            let format = options.x_format.as_deref();
            time_axis::axis(plots.range, line_width(fitted, options), options.font_size, tz, format)
        };
        if fitted == area || round == ROUNDS {
            let time = if options.hide_x_axis {
                TimeAxis { labels: Vec::new(), dates: Vec::new(), ..axis() }
            } else {
                axis()
            };
            let area = above_dates(fitted, &time, options);
            return Ok(Some((Layout { area, scales, time, titles }, plots)));
        }
        area = fitted;
    }
    Ok(None)
}

/// Pixels from the first point of a line to the last.
pub(super) fn line_width(area: Area, options: &Options) -> f32 {
    (area.width() - options.line_width - 1.0).max(1.0)
}

/// What titles, legend and the labels of time leave.
fn frame(options: &Options, legend: &Legend<'_>) -> (Area, [f32; 2]) {
    let whole = inner(options);
    let mut area = whole;
    if !options.bare {
        area.left += BESIDE_MARKS.min(options.width as f32 / 16.0);
    }
    let line = font::line_height(title_size(options));
    let lines = |text: &str| if text.is_empty() { 0.0 } else { text.lines().count() as f32 };
    if !options.title.is_empty() {
        area.top +=
            line * lines(&options.title) + if options.axis_on_the_right { 0.0 } else { options.margin };
    }
    let [left, right] = &options.sides;
    let titles = [area.left + line, area.right - line];
    if !left.title.is_empty() {
        area.left += line * (lines(&left.title) + 2.0) + options.margin;
    }
    if !right.title.is_empty() {
        area.right -= line * (lines(&right.title) + 2.0) + options.margin;
    }
    area.bottom -= legend.height();
    if !options.hide_x_axis {
        area.bottom -= 2.0 * font::ascent(options.font_size);
    }
    (at_least_a_pixel(area), titles)
}

/// The same without the room that labels of values need.
fn beside_labels(outer: Area, scales: &[Option<Scale>; 2], titles: [f32; 2], options: &Options) -> Area {
    if options.hide_y_axis {
        return outer;
    }
    let widest = |scale: &Option<Scale>| {
        let labels =
            scale.iter().flat_map(|scale| scale.ticks.iter().map(|tick| scale.label(*tick, options.units)));
        labels.map(|label| font::width(&label, options.font_size)).fold(0.0, f32::max) * BESIDE_LABELS
    };
    let (left, right) = (widest(&scales[0]), widest(&scales[1]));
    let whole = inner(options);
    // An upright title has its letters to the left of its base line.
    let edge = |side: usize, otherwise: f32| {
        if options.sides[side].title.is_empty() { otherwise } else { titles[side] }
    };
    let mut area = outer;
    match (&scales[1], options.axis_on_the_right) {
        (None, true) => area.right = area.right.min(options.width as f32 - left - BESIDE_AXIS),
        (None, false) => area.left = area.left.max(edge(0, whole.left) + left),
        (Some(_), _) => {
            area.left = area.left.max(edge(0, whole.left) + left);
            area.right = area.right.min(edge(1, options.width as f32) - right - BESIDE_AXIS);
        }
    }
    at_least_a_pixel(area)
}

/// The same without the room that dates need.
fn above_dates(area: Area, time: &TimeAxis, options: &Options) -> Area {
    let room = if time.dates.is_empty() { 0.0 } else { font::line_height(options.font_size) };
    at_least_a_pixel(Area { bottom: area.bottom - room, ..area })
}

/// On the smallest pictures what is left of the data counts more than the text.
fn at_least_a_pixel(area: Area) -> Area {
    Area { right: area.right.max(area.left + 2.0), bottom: area.bottom.max(area.top + 1.0), ..area }
}
