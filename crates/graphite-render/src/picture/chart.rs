//! Lines over time: axes, grid, areas, lines and a legend.

use jiff::tz::TimeZone;

use super::axes;
use super::canvas::{Anchor, Canvas, Label, Pen};
use super::colour::Colour;
use super::curve::{Frame, Joining};
use super::font;
use super::layout::{Layout, inner, lay_out, line_width};
use super::legend::Legend;
use super::options::Options;
use super::plots::{Filled, Plot, Plots};
use crate::error::RenderError;
use crate::series::Series;
use plumbago_model::Cancel;

/// Draws everything.
pub(super) fn draw(
    canvas: &mut dyn Canvas,
    series: &[Series],
    options: &Options,
    tz: &TimeZone,
    cancel: &Cancel,
) -> Result<(), RenderError> {
    let legend = Legend::of_lines(series, options);
    let Some((layout, plots)) = lay_out(series, options, &legend, tz)? else {
        nothing(canvas, options, series.is_empty());
        return Ok(());
    };
    let [left, right] = &layout.scales;
    let Some(scale) = left.as_ref().or(right.as_ref()) else { return Ok(()) };
    let frame =
        Frame { area: layout.area, range: plots.range, length: line_width(layout.area, options), scale };
    legend.draw(canvas, inner(options), options);
    axes::titles(canvas, options, &layout);
    axes::grid(canvas, options, frame, &layout);
    axes::labels(canvas, options, frame, &layout);
    canvas.clip(Some(layout.area));
    for plot in plots.all.iter().filter(|plot| plot.filled != Filled::No && !plot.invisible) {
        cancel.check()?;
        fill(canvas, plot, &plots, options, frame, &layout);
    }
    // The first series is drawn last: where lines cover each other, what was asked for first is seen.
    for plot in plots.all.iter().rev().filter(|plot| !plot.invisible) {
        cancel.check()?;
        line(canvas, plot, joining(&plots, options), frame, &layout);
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
    canvas.text(Label { text, at, size, anchor: Anchor::Middle, colour, turn: 0.0 });
}

fn fill(
    canvas: &mut dyn Canvas,
    plot: &Plot,
    plots: &Plots,
    options: &Options,
    frame: Frame<'_>,
    layout: &Layout,
) {
    let Some(scale) = &layout.scales[usize::from(plot.right)] else { return };
    let frame = Frame { scale, ..frame };
    let floor = match plot.filled {
        Filled::Stacked { below } => below.map(|below| &plots.all[below].curve),
        _ => None,
    };
    let cover = options.area_alpha.unwrap_or(if matches!(plot.filled, Filled::Alone) { 0.6 } else { 1.0 });
    canvas.fill(&plot.curve.areas(frame, joining(plots, options), floor), plot.colour.faded(cover));
}

fn line(canvas: &mut dyn Canvas, plot: &Plot, joining: Joining, frame: Frame<'_>, layout: &Layout) {
    let scale = layout.scales[usize::from(plot.right)].as_ref().unwrap_or(frame.scale);
    let frame = Frame { scale, ..frame };
    let pen = Pen { colour: plot.colour, width: plot.width, dash: plot.dash };
    if plot.infinite {
        canvas.lines(&plot.curve.posts(frame), pen);
    } else if !matches!(plot.filled, Filled::Stacked { .. }) {
        canvas.lines(&plot.curve.runs(frame, joining), pen);
    }
}

fn joining(plots: &Plots, options: &Options) -> Joining {
    Joining { mode: plots.line_mode, limit: options.connected_limit }
}
