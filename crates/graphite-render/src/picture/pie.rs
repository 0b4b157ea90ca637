//! A slice for each series.

use std::f32::consts::TAU;

use super::canvas::{Anchor, Area, At, Canvas, Label};
use super::font;
use super::legend::{Legend, LegendItem};
use super::options::{Options, PieMode};
use crate::series::Series;

/// Slices smaller than this have no room for their label.
const LABELLED: f64 = 0.03;

/// Draws the pie.
pub(super) fn draw(canvas: &mut dyn Canvas, series: &[Series], options: &Options) {
    let sizes: Vec<f64> = series.iter().map(|s| size(s, options.pie_mode)).collect();
    let total: f64 = sizes.iter().sum();
    let colours = options.palette.iter().copied().cycle();
    let slices: Vec<(&Series, f64, _)> =
        series.iter().zip(&sizes).zip(colours).map(|((s, n), c)| (s, n / total, c)).collect();
    let entries = slices.iter().map(|(s, _, colour)| LegendItem {
        name: &s.name,
        colour: *colour,
        on_the_right: false,
    });
    let legend = Legend::new(entries.collect(), options);
    let mut area = Area {
        left: options.margin,
        top: options.margin,
        right: options.width as f32 - options.margin,
        bottom: options.height as f32 - options.margin,
    };
    legend.draw(canvas, area, options);
    area.bottom -= legend.height();
    if !options.title.is_empty() {
        title(canvas, area, options);
        area.top += 2.0 * options.font_size;
    }
    if total <= 0.0 || !total.is_finite() {
        note(canvas, area, options);
        return;
    }
    let centre = ((area.left + area.right) / 2.0, (area.top + area.bottom) / 2.0);
    let radius = (area.width().min(area.height()) / 2.0 * 0.95).max(1.0);
    let mut from = -0.25;
    for (_, part, colour) in &slices {
        canvas.fill(&[slice(centre, radius, from, *part as f32)], *colour);
        from += *part as f32;
    }
    if options.slice_labels {
        labels(canvas, &slices.iter().map(|(_, part, _)| *part).collect::<Vec<_>>(), centre, radius, options);
    }
}

/// What the slice is the size of; a series without values has none.
fn size(series: &Series, mode: PieMode) -> f64 {
    let known = || series.values.iter().copied().filter(|v| v.is_finite());
    let value = match mode {
        PieMode::Average => known().sum::<f64>() / known().count().max(1) as f64,
        PieMode::Maximum => known().fold(f64::NEG_INFINITY, f64::max),
        PieMode::Minimum => known().fold(f64::INFINITY, f64::min),
    };
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

fn slice(centre: At, radius: f32, from: f32, part: f32) -> Vec<At> {
    let points = (part * 180.0).ceil().max(1.0) as usize;
    let rim = (0..=points).map(|i| on_rim(centre, radius, from + part * i as f32 / points as f32));
    std::iter::once(centre).chain(rim).collect()
}

fn on_rim((x, y): At, radius: f32, turn: f32) -> At {
    let (sin, cos) = (turn * TAU).sin_cos();
    (x + radius * cos, y + radius * sin)
}

fn labels(canvas: &mut dyn Canvas, parts: &[f64], centre: At, radius: f32, options: &Options) {
    let mut from = -0.25;
    for part in parts {
        let (x, y) = on_rim(centre, radius * 0.7, from + *part as f32 / 2.0);
        from += *part as f32;
        if *part >= LABELLED {
            let text = format!("{:.0} %", part * 100.0);
            let at = (x, y + options.font_size * 0.35);
            let label = Label {
                text: &text,
                at,
                size: options.font_size,
                anchor: Anchor::Middle,
                colour: options.background,
                upright: false,
            };
            canvas.text(label);
        }
    }
}

fn title(canvas: &mut dyn Canvas, area: Area, options: &Options) {
    let size = options.font_size * 1.2;
    let text = font::shortened(&options.title, size, area.width());
    let at = ((area.left + area.right) / 2.0, area.top + size);
    canvas.text(Label {
        text: &text,
        at,
        size,
        anchor: Anchor::Middle,
        colour: options.foreground,
        upright: false,
    });
}

fn note(canvas: &mut dyn Canvas, area: Area, options: &Options) {
    let at = ((area.left + area.right) / 2.0, (area.top + area.bottom) / 2.0);
    let label = Label {
        text: "No data",
        at,
        size: options.font_size * 2.0,
        anchor: Anchor::Middle,
        colour: options.foreground,
        upright: false,
    };
    canvas.text(label);
}
