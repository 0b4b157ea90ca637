//! Lines over time: axes, grid, areas, lines and a legend.

use jiff::tz::TimeZone;

use super::canvas::{Anchor, Area, Canvas, Label, Pen};
use super::colour::Colour;
use super::curve::{Curve, Frame, Joining};
use super::font;
use super::legend::{Legend, LegendItem};
use super::options::{AreaMode, Options};
use super::ticks::Scale;
use super::time_axis::{self, Mark};
use crate::error::RenderError;
use crate::request::TimeRange;
use crate::series::Drawing;
use crate::series::Series;
use plumbago_model::Cancel;

/// A series ready to be drawn.
struct Plot<'a> {
    name: &'a str,
    curve: Curve,
    colour: Colour,
    /// Of the line; that of an area may be another.
    width: f32,
    dash: Option<f32>,
    filled: Filled,
    right: bool,
    infinite: bool,
    invisible: bool,
}

/// Is there an area below the line?
#[derive(Clone, Copy, Debug, PartialEq)]
enum Filled {
    No,
    /// Down to the ground.
    Alone,
    /// Down to the plot before it in the stack.
    Stacked {
        below: Option<usize>,
    },
}

/// The picture without its data: what is measured before anything is drawn.
struct Layout {
    area: Area,
    scales: [Option<Scale>; 2],
    marks: Vec<Mark>,
}

/// Draws everything.
pub(super) fn draw(
    canvas: &mut dyn Canvas,
    series: &[Series],
    options: &Options,
    range: TimeRange,
    tz: &TimeZone,
    cancel: &Cancel,
) -> Result<(), RenderError> {
    let plots = plots(series, options, range)?;
    if !plots.iter().any(|plot| plot.curve.values.iter().any(|v| !v.is_nan())) {
        nothing(canvas, options, series.is_empty());
        return Ok(());
    }
    let entries = plots.iter().filter(|plot| !plot.invisible);
    let entries = entries.map(|plot| LegendItem {
        name: plot.name,
        colour: solid(plot.colour),
        on_the_right: plot.right,
    });
    let legend = Legend::new(entries.collect(), options);
    let layout = layout(&plots, options, &legend, range, tz);
    let whole = inner(options);
    legend.draw(canvas, whole, options);
    titles(canvas, options, &layout);
    grid(canvas, options, range, &layout);
    canvas.clip(Some(layout.area));
    for plot in plots.iter().filter(|plot| plot.filled != Filled::No && !plot.invisible) {
        cancel.check()?;
        fill(canvas, plot, &plots, options, range, &layout);
    }
    // The first series is drawn last: where lines cover each other, what was asked for first is seen.
    for plot in plots.iter().rev().filter(|plot| !plot.invisible) {
        cancel.check()?;
        line(canvas, plot, options, range, &layout);
    }
    canvas.clip(None);
    Ok(())
}

/// An empty picture says why it is empty.
fn nothing(canvas: &mut dyn Canvas, options: &Options, no_series: bool) {
    let text = if no_series { "No series" } else { "No data" };
    let largest = options.width as f32 / font::width(text, 1.0) * 0.8;
    let size = (options.font_size * 2.0).min(largest).max(4.0);
    let at = (options.width as f32 / 2.0, options.height as f32 / 2.0 + size / 3.0);
    let colour = Colour::parse("red").unwrap_or(options.foreground);
    canvas.text(Label { text, at, size, anchor: Anchor::Middle, colour, upright: false });
}

fn inner(options: &Options) -> Area {
    let margin = options.margin.min(options.width.min(options.height) as f32 / 8.0);
    Area {
        left: margin,
        top: margin,
        right: options.width as f32 - margin,
        bottom: options.height as f32 - margin,
    }
}

fn plots<'a>(
    series: &'a [Series],
    options: &Options,
    range: TimeRange,
) -> Result<Vec<Plot<'a>>, RenderError> {
    let plain = Drawing::default();
    let mut plots: Vec<Plot<'a>> = Vec::with_capacity(series.len());
    let mut palette = options.palette.iter().copied().cycle();
    for s in series {
        let drawing = s.drawing.as_deref().unwrap_or(&plain);
        let own = drawing.color.as_deref().and_then(Colour::parse);
        // A series with a colour of its own does not use one up.
        let colour = own.or_else(|| if drawing.invisible { None } else { palette.next() });
        let colour = colour.unwrap_or(options.foreground);
        let filled = match options.area_mode {
            _ if drawing.draw_as_infinite => Filled::No,
            AreaMode::Stacked => Filled::Stacked { below: last_stacked(&plots) },
            _ if drawing.stacked => Filled::Stacked { below: last_stacked(&plots) },
            AreaMode::All => Filled::Alone,
            AreaMode::First if plots.is_empty() => Filled::Alone,
            _ => Filled::No,
        };
        let mut curve = thinned(s, options, range)?;
        if let (AreaMode::Stacked, Filled::Stacked { below: Some(below) }) = (options.area_mode, filled) {
            add(&mut curve, &plots[below].curve);
        }
        plots.push(Plot {
            name: &s.name,
            curve,
            colour: drawing.alpha.map_or(colour, |alpha| colour.faded(alpha)),
            width: drawing.line_width.map_or(options.line_width, |width| width.clamp(0.1, 100.0) as f32),
            dash: drawing.dash.map(|dash| dash.clamp(1.0, 1000.0) as f32),
            filled,
            right: drawing.second_y_axis,
            infinite: drawing.draw_as_infinite,
            invisible: drawing.invisible,
        });
    }
    Ok(plots)
}

fn last_stacked(plots: &[Plot<'_>]) -> Option<usize> {
    plots.iter().rposition(|plot| matches!(plot.filled, Filled::Stacked { .. }))
}

/// Values on top of those below, row by row; a null adds nothing.
fn add(curve: &mut Curve, below: &Curve) {
    for (i, value) in curve.values.iter_mut().enumerate() {
        let under = below.values.get(i).copied().filter(|v| !v.is_nan()).unwrap_or(0.0);
        *value = if value.is_nan() { under } else { *value + under };
    }
}

/// No more values than there are pixels, drawn together as the series says.
fn thinned(series: &Series, options: &Options, range: TimeRange) -> Result<Curve, RenderError> {
    let pixels = options.width.max(10) as usize;
    let step = series.step.max(1);
    let whole = usize::try_from((range.until - range.from) / step).unwrap_or(0).max(series.values.len());
    let per_point = whole.div_ceil(pixels).max(1);
    let mut values = match per_point {
        1 => series.values.to_vec(),
        _ => series.consolidation.consolidate(&series.values, per_point, series.x_files_factor)?,
    };
    if options.nulls_are_zero {
        values.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = 0.0);
    }
    Ok(Curve { start: series.start, step: step.saturating_mul(per_point as i64), values })
}

fn layout(
    plots: &[Plot<'_>],
    options: &Options,
    legend: &Legend<'_>,
    range: TimeRange,
    tz: &TimeZone,
) -> Layout {
    let size = options.font_size;
    let scales = [scale(plots, options, false), scale(plots, options, true)];
    let mut area = inner(options);
    area.bottom -= legend.height();
    if !options.title.is_empty() {
        area.top += 2.0 * size;
    }
    if !options.vertical_title.is_empty() {
        area.left += 1.6 * size;
    }
    if !options.hide_x_axis {
        area.bottom -= 1.7 * size;
    }
    if !options.hide_y_axis {
        let labels = |scale: &Option<Scale>| {
            let widths = scale
                .iter()
                .flat_map(|s| s.ticks.iter().map(|t| font::width(&s.label(*t, options.units), size)));
            widths.fold(0.0, f32::max)
        };
        let (left, right) = (labels(&scales[0]), labels(&scales[1]));
        let room = |width: f32| if width > 0.0 { width + 0.8 * size } else { 0.0 };
        match options.axis_on_the_right && scales[1].is_none() {
            true => area.right -= room(left),
            false => (area.left, area.right) = (area.left + room(left), area.right - room(right)),
        }
        // Half a label stands above the highest line.
        area.top += 0.4 * size;
    }
    // On the smallest pictures what is left of the data counts more than the text.
    area.right = area.right.max(area.left + 1.0);
    area.bottom = area.bottom.max(area.top + 1.0);
    let marks = time_axis::marks(range, area.width(), size, tz, options.x_format.as_deref());
    Layout { area, scales, marks }
}

/// The axis of the plots on one side, if there are any.
fn scale(plots: &[Plot<'_>], options: &Options, right: bool) -> Option<Scale> {
    let here = || plots.iter().filter(|plot| plot.right == right && !plot.infinite);
    let log = options.axes[usize::from(right)].log_base.is_some();
    let values = here()
        .flat_map(|plot| plot.curve.values.iter().copied())
        .filter(|v| v.is_finite() && (!log || *v > 0.0));
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let standing = here().any(|plot| plot.filled != Filled::No) && !log;
    let (low, high) = if standing { (low.min(0.0), high.max(0.0)) } else { (low, high) };
    let only_posts = !right && plots.iter().all(|plot| plot.infinite);
    match low <= high {
        true => Some(Scale::new((low, high), options.axes[usize::from(right)], options.units)),
        false => only_posts.then(|| Scale::new((0.0, 1.0), options.axes[0], options.units)),
    }
}

fn titles(canvas: &mut dyn Canvas, options: &Options, layout: &Layout) {
    let (size, whole) = (options.font_size, inner(options));
    let colour = options.foreground;
    if !options.title.is_empty() {
        let text = font::shortened(&options.title, size * 1.2, whole.width());
        let at = (options.width as f32 / 2.0, whole.top + 1.1 * size);
        canvas.text(Label {
            text: &text,
            at,
            size: size * 1.2,
            anchor: Anchor::Middle,
            colour,
            upright: false,
        });
    }
    if !options.vertical_title.is_empty() {
        let at = (whole.left + size, (layout.area.top + layout.area.bottom) / 2.0);
        let text = font::shortened(&options.vertical_title, size, layout.area.height());
        canvas.text(Label { text: &text, at, size, anchor: Anchor::Middle, colour, upright: true });
    }
}

fn grid(canvas: &mut dyn Canvas, options: &Options, range: TimeRange, layout: &Layout) {
    let [left, right] = &layout.scales;
    let Some(first) = left.as_ref().or(right.as_ref()) else { return };
    let frame = Frame { area: layout.area, range, scale: first };
    if !options.hide_grid {
        let across = |y: f32| vec![(layout.area.left, crisp(y)), (layout.area.right, crisp(y))];
        let between = minor(first, options.minor_lines);
        let minor: Vec<_> = between.iter().map(|v| across(frame.y(*v))).collect();
        canvas.lines(&minor, Pen { colour: options.minor, width: 1.0, dash: None });
        let mut major: Vec<_> = first.ticks.iter().map(|v| across(frame.y(*v))).collect();
        major.extend(layout.marks.iter().map(|mark| {
            let x = crisp(frame.x(mark.time as f64));
            vec![(x, layout.area.top), (x, layout.area.bottom)]
        }));
        canvas.lines(&major, Pen { colour: options.major, width: 1.0, dash: None });
    }
    if !options.hide_y_axis {
        for (scale, on_the_right) in [(left, options.axis_on_the_right && right.is_none()), (right, true)] {
            if let Some(scale) = scale {
                values(canvas, options, Frame { scale, ..frame }, on_the_right);
            }
        }
    }
    if !options.hide_x_axis {
        times(canvas, options, frame, &layout.marks);
    }
}

/// Values between the ticks: those that divide each step evenly.
fn minor(scale: &Scale, count: u32) -> Vec<f64> {
    let between = |pair: &[f64]| {
        let (from, to) = (pair[0], pair[1]);
        (1..=count).map(move |i| from + (to - from) * f64::from(i) / f64::from(count + 1)).collect::<Vec<_>>()
    };
    scale.ticks.windows(2).flat_map(between).collect()
}

fn values(canvas: &mut dyn Canvas, options: &Options, frame: Frame<'_>, on_the_right: bool) {
    let size = options.font_size;
    let (x, anchor) = match on_the_right {
        true => (frame.area.right + 0.5 * size, Anchor::Start),
        false => (frame.area.left - 0.5 * size, Anchor::End),
    };
    let mut free = f32::INFINITY;
    for tick in &frame.scale.ticks {
        let y = frame.y(*tick) + 0.35 * size;
        // Small pictures have more lines than there is room for labels.
        if y > free || y < frame.area.top {
            continue;
        }
        let text = frame.scale.label(*tick, options.units);
        canvas.text(Label {
            text: &text,
            at: (x, y),
            size,
            anchor,
            colour: options.foreground,
            upright: false,
        });
        free = y - 1.1 * size;
    }
}

fn times(canvas: &mut dyn Canvas, options: &Options, frame: Frame<'_>, marks: &[Mark]) {
    let (size, y) = (options.font_size, frame.area.bottom + 1.4 * options.font_size);
    for mark in marks {
        let half = font::width(&mark.label, size) / 2.0;
        // Marks at the ends move inwards by what would not fit.
        let x = frame.x(mark.time as f64).clamp(half, (options.width as f32 - half).max(half));
        let label = Label {
            text: &mark.label,
            at: (x, y),
            size,
            anchor: Anchor::Middle,
            colour: options.foreground,
            upright: false,
        };
        canvas.text(label);
    }
}

fn fill(
    canvas: &mut dyn Canvas,
    plot: &Plot<'_>,
    plots: &[Plot<'_>],
    options: &Options,
    range: TimeRange,
    layout: &Layout,
) {
    let Some(scale) = &layout.scales[usize::from(plot.right)] else { return };
    let frame = Frame { area: layout.area, range, scale };
    let floor = match plot.filled {
        Filled::Stacked { below } => below.map(|below| &plots[below].curve),
        _ => None,
    };
    let cover = options.area_alpha.unwrap_or(if matches!(plot.filled, Filled::Alone) { 0.6 } else { 1.0 });
    canvas.fill(&plot.curve.areas(frame, joining(options), floor), plot.colour.faded(cover));
}

fn line(canvas: &mut dyn Canvas, plot: &Plot<'_>, options: &Options, range: TimeRange, layout: &Layout) {
    let either = layout.scales[0].as_ref().or(layout.scales[1].as_ref());
    let Some(scale) = layout.scales[usize::from(plot.right)].as_ref().or(either) else { return };
    let frame = Frame { area: layout.area, range, scale };
    let pen = Pen { colour: plot.colour, width: plot.width, dash: plot.dash };
    if plot.infinite {
        canvas.lines(&plot.curve.posts(frame), pen);
    } else if !matches!(plot.filled, Filled::Stacked { .. }) {
        canvas.lines(&plot.curve.runs(frame, joining(options)), pen);
    }
}

fn joining(options: &Options) -> Joining {
    Joining { mode: options.line_mode, limit: options.connected_limit }
}

/// Lines of one pixel are sharp when they run through the middle of it.
fn crisp(at: f32) -> f32 {
    at.floor() + 0.5
}

fn solid(colour: Colour) -> Colour {
    Colour { alpha: colour.alpha.max(60), ..colour }
}
