//! A slice for each series.

use std::f32::consts::TAU;

use super::canvas::{Anchor, Area, At, Canvas, Label};
use super::colour::Colour;
use super::font;
use super::legend::{Legend, LegendItem};
use super::options::{Options, PieMode, SliceLabel};
use crate::series::Series;

/// A slice.
struct Slice<'a> {
    name: &'a str,
    size: f64,
    /// Its part of the pie.
    part: f64,
    colour: Colour,
}

/// Draws the pie.
pub(super) fn draw(canvas: &mut dyn Canvas, series: &[Series], options: &Options) {
    let sizes: Vec<f64> = series.iter().map(|s| size(s, options.slices.size)).collect();
    let total: f64 = sizes.iter().sum();
    let cover = options.area_alpha.unwrap_or(1.0);
    let colours = options.palette.iter().copied().cycle();
    let slices: Vec<Slice<'_>> = series
        .iter()
        .zip(sizes)
        .zip(colours)
        .map(|((s, size), colour)| Slice {
            name: &s.name,
            size,
            part: size / total,
            colour: colour.faded(cover),
        })
        .collect();
    let entries =
        slices.iter().map(|slice| LegendItem { name: slice.name, colour: slice.colour, on_the_right: false });
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
    for slice in &slices {
        canvas.fill(&[wedge(centre, radius, from, slice.part as f32)], slice.colour);
        from += slice.part as f32;
    }
    labels(canvas, &slices, centre, radius, options);
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

fn wedge(centre: At, radius: f32, from: f32, part: f32) -> Vec<At> {
    let points = (part * 180.0).ceil().max(1.0) as usize;
    let rim = (0..=points).map(|i| on_rim(centre, radius, from + part * i as f32 / points as f32));
    std::iter::once(centre).chain(rim).collect()
}

fn on_rim((x, y): At, radius: f32, turn: f32) -> At {
    let (sin, cos) = (turn * TAU).sin_cos();
    (x + radius * cos, y + radius * sin)
}

fn labels(canvas: &mut dyn Canvas, slices: &[Slice<'_>], centre: At, radius: f32, options: &Options) {
    let size = options.font_size;
    let wanted = options.slices;
    let mut from = -0.25;
    for slice in slices {
        let middle = from + slice.part as f32 / 2.0;
        from += slice.part as f32;
        let text = match wanted.label {
            SliceLabel::None => continue,
            SliceLabel::Percent if slice.part * 100.0 >= wanted.least => {
                format!("{:.1} %", slice.part * 100.0)
            }
            SliceLabel::Number if slice.size >= wanted.least => number(slice.size),
            SliceLabel::Percent | SliceLabel::Number => continue,
        };
        // Text on the left half would stand on its head.
        let angle = middle.rem_euclid(1.0) * 360.0;
        let along = if (90.0..270.0).contains(&angle) { angle - 180.0 } else { angle };
        let turn = if wanted.rotated { along } else { 0.0 };
        let (x, y) = on_rim(centre, radius * 0.55, middle);
        let (sin, cos) = turn.to_radians().sin_cos();
        let down = size * 0.35;
        let at = (x - sin * down, y + cos * down);
        canvas.text(Label { text: &text, at, size, anchor: Anchor::Middle, colour: wanted.colour, turn });
    }
}

/// Small numbers have decimals.
fn number(size: f64) -> String {
    if size < 10.0 && size.fract() != 0.0 { format!("{size:.2}") } else { format!("{size:.0}") }
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
        turn: 0.0,
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
        turn: 0.0,
    };
    canvas.text(label);
}
