//! What is around the lines: titles, grid, values and times.

use super::canvas::{Anchor, Canvas, Label, Pen};
use super::curve::Frame;
use super::font;
use super::layout::{Layout, inner, title_size};
use super::options::Options;
use super::ticks::Scale;
use super::time_axis::Mark;

/// Room between two labels of times.
const APART: f32 = 2.0;

/// The titles above and at the sides.
pub(super) fn titles(canvas: &mut dyn Canvas, options: &Options, layout: &Layout) {
    let (size, whole) = (title_size(options), inner(options));
    let line = font::line_height(size);
    let colour = options.foreground;
    for (i, text) in options.title.lines().enumerate() {
        let text = font::shortened(text, size, whole.width());
        let at = (options.width as f32 / 2.0, whole.top + font::ascent(size) + i as f32 * line);
        canvas.text(Label { text: &text, at, size, anchor: Anchor::Middle, colour, turn: 0.0 });
    }
    let middle = (layout.area.top + layout.area.bottom) / 2.0;
    for (side, turn, direction) in [(0, -90.0, 1.0), (1, 90.0, -1.0)] {
        for (i, text) in options.sides[side].title.lines().enumerate() {
            let text = font::shortened(text, size, layout.area.height());
            let at = (layout.titles[side] + direction * i as f32 * line, middle);
            canvas.text(Label { text: &text, at, size, anchor: Anchor::Middle, colour, turn });
        }
    }
}

/// Lines behind the data.
pub(super) fn grid(canvas: &mut dyn Canvas, options: &Options, frame: Frame<'_>, layout: &Layout) {
    if options.hide_grid {
        return;
    }
    let area = layout.area;
    let across = |value: f64| {
        let y = crisp(frame.y(value));
        vec![(area.left, y), (area.right, y)]
    };
    let up = |time: i64| {
        let x = crisp(frame.mark(time));
        vec![(x, area.top), (x, area.bottom)]
    };
    let mut minor: Vec<_> = between(frame.scale, options.minor_lines).into_iter().map(across).collect();
    minor.extend(layout.time.minor.iter().map(|time| up(*time)));
    canvas.lines(&minor, Pen { colour: options.minor, width: 1.0, dash: None });
    let mut major: Vec<_> = frame.scale.ticks.iter().map(|tick| across(*tick)).collect();
    major.extend(layout.time.major.iter().map(|time| up(*time)));
    for x in [area.left.floor() + 0.5, area.right.floor() - 0.5] {
        major.push(vec![(x, area.top), (x, area.bottom)]);
    }
    canvas.lines(&major, Pen { colour: options.major, width: 1.0, dash: None });
}

/// Labels of values and of times.
pub(super) fn labels(canvas: &mut dyn Canvas, options: &Options, frame: Frame<'_>, layout: &Layout) {
    let [left, right] = &layout.scales;
    if !options.hide_y_axis {
        let left_is_right = options.axis_on_the_right && right.is_none();
        for (scale, on_the_right) in [(left, left_is_right), (right, true)] {
            if let Some(scale) = scale {
                values(canvas, options, Frame { scale, ..frame }, on_the_right);
            }
        }
    }
    let size = options.font_size;
    let under = frame.area.bottom + 2.0 * font::ascent(size);
    times(canvas, options, frame, &layout.time.labels, under);
    times(canvas, options, frame, &layout.time.dates, under + font::line_height(size));
}

/// Values between the ticks: those that divide each step evenly.
fn between(scale: &Scale, count: u32) -> Vec<f64> {
    let inside = |pair: &[f64]| {
        let (from, to) = (pair[0], pair[1]);
        (1..=count).map(move |i| from + (to - from) * f64::from(i) / f64::from(count + 1)).collect::<Vec<_>>()
    };
    scale.ticks.windows(2).flat_map(inside).collect()
}

fn values(canvas: &mut dyn Canvas, options: &Options, frame: Frame<'_>, on_the_right: bool) {
    let size = options.font_size;
    let (x, anchor) = match on_the_right {
        true => (frame.area.right + 3.0, Anchor::Start),
        false => (frame.area.left - 2.0, Anchor::End),
    };
    let mut free = f32::INFINITY;
    for tick in &frame.scale.ticks {
        let y = frame.y(*tick) + 0.35 * size;
        // Small pictures have more lines than there is room for labels.
        if y > free || y < 0.5 * size {
            continue;
        }
        let text = frame.scale.label(*tick, options.units);
        canvas.text(Label { text: &text, at: (x, y), size, anchor, colour: options.foreground, turn: 0.0 });
        free = y - 1.1 * size;
    }
}

fn times(canvas: &mut dyn Canvas, options: &Options, frame: Frame<'_>, marks: &[Mark], y: f32) {
    let size = options.font_size;
    let mut free = f32::NEG_INFINITY;
    for mark in marks {
        let half = font::width(&mark.label, size) / 2.0;
        // Marks at the ends move inwards by what would not fit.
        let x = frame.mark(mark.time).clamp(half, (options.width as f32 - half).max(half));
        if x - half < free {
            continue;
        }
        let at = (x, y);
        let colour = options.foreground;
        canvas.text(Label { text: &mark.label, at, size, anchor: Anchor::Middle, colour, turn: 0.0 });
        free = x + half + APART;
    }
}

/// Lines of one pixel are sharp when they run through the middle of it.
fn crisp(at: f32) -> f32 {
    at.floor() + 0.5
}
