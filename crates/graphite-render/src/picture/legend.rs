//! Names with their colours, in columns below the picture.

use super::canvas::{Anchor, Area, Canvas, Label};
use super::colour::Colour;
use super::font;
use super::options::Options;
use super::plots;
use crate::series::Series;

/// More series than this have no legend unless it is asked for, as in Graphite.
const SHOWN_BY_DEFAULT: usize = 10;

/// Nor have pictures that are smaller than this: the lines need the room.
const SMALLEST: (u32, u32) = (160, 100);

/// What the legend says of a series.
#[derive(Clone, Debug)]
pub(super) struct LegendItem<'a> {
    pub(super) name: &'a str,
    pub(super) colour: Colour,
    pub(super) on_the_right: bool,
}

/// A legend and its layout.
#[derive(Debug)]
pub(super) struct Legend<'a> {
    entries: Vec<LegendItem<'a>>,
    columns: usize,
    line: f32,
    /// Below the entries: what is not shown.
    note: Option<String>,
}

impl<'a> Legend<'a> {
    /// The legend of lines.
    pub(super) fn of_lines(series: &'a [Series], options: &Options) -> Self {
        let colours = plots::colours(series, options);
        let is_empty = |s: &Series| s.values.iter().all(|v| v.is_nan());
        let entries = series.iter().zip(colours).filter_map(|(s, colour)| {
            let drawing = s.drawing.as_deref();
            let is_left_out =
                drawing.is_some_and(|d| d.invisible) || (!options.nulls_in_legend && is_empty(s));
            let on_the_right = drawing.is_some_and(|d| d.second_y_axis);
            (!is_left_out).then(|| LegendItem { name: &s.name, colour: solid(colour), on_the_right })
        });
        Self::new(entries.collect(), options)
    }

    /// Lays the entries out; at most half of the picture is for them.
    pub(super) fn new(mut entries: Vec<LegendItem<'a>>, options: &Options) -> Self {
        let small = options.width < SMALLEST.0 || options.height < SMALLEST.1;
        let too_many = entries.len() > SHOWN_BY_DEFAULT;
        // Nobody should take a picture without a legend for one of a single series.
        let note = (too_many && !small && options.hide_legend.is_none())
            .then(|| format!("{} series; hideLegend=false shows their names", entries.len()));
        if options.hide_legend.unwrap_or(small || too_many) {
            entries.clear();
        }
        if options.unique_legend {
            let mut seen = std::collections::HashSet::new();
            entries.retain(|entry| seen.insert(entry.name));
        }
        let size = options.font_size;
        let room = options.width as f32 - 2.0 * options.margin;
        let widest =
            entries.iter().map(|entry| font::width(entry.name, size)).fold(0.0, f32::max) + 3.0 * size;
        let columns = ((room / widest.max(1.0)) as usize).clamp(1, 8);
        let line = size * 1.5;
        let rows = (options.height as f32 / 2.0 / line).max(1.0) as usize;
        let all = entries.len();
        if all > rows * columns {
            entries.truncate((rows.max(2) - 1) * columns);
        }
        let left_out = all - entries.len();
        let note = note.or_else(|| (left_out > 0).then(|| format!("… and {left_out} more")));
        Self { entries, columns, line, note }
    }

    fn rows(&self) -> usize {
        self.entries.len().div_ceil(self.columns) + usize::from(self.note.is_some())
    }

    /// Height it needs.
    pub(super) fn height(&self) -> f32 {
        let rows = self.rows();
        if rows == 0 { 0.0 } else { rows as f32 * self.line + self.line * 0.7 }
    }

    /// Draws it, ending at the bottom of `area`.
    pub(super) fn draw(&self, canvas: &mut dyn Canvas, area: Area, options: &Options) {
        let (size, width) = (options.font_size, area.width() / self.columns as f32);
        let top = area.bottom - self.rows() as f32 * self.line;
        for (i, entry) in self.entries.iter().enumerate() {
            let (row, column) = (i / self.columns, i % self.columns);
            let (x, y) = (area.left + column as f32 * width, top + row as f32 * self.line);
            let swatch = Area { left: x, top: y + 0.2 * size, right: x + size, bottom: y + 1.2 * size };
            canvas.fill(&[swatch.outline()], entry.colour);
            let name = if entry.on_the_right { format!("{} →", entry.name) } else { entry.name.to_owned() };
            let text = font::shortened(&name, size, width - 2.0 * size);
            canvas.text(label(&text, (x + 1.5 * size, y + 1.05 * size), options));
        }
        if let Some(note) = &self.note {
            let text = font::shortened(note, size, area.width());
            canvas.text(label(&text, (area.left, area.bottom - 0.45 * size), options));
        }
    }
}

fn label<'t>(text: &'t str, at: (f32, f32), options: &Options) -> Label<'t> {
    Label { text, at, size: options.font_size, anchor: Anchor::Start, colour: options.foreground, turn: 0.0 }
}

/// A colour that can be seen in a small square.
fn solid(colour: Colour) -> Colour {
    Colour { alpha: colour.alpha.max(60), ..colour }
}
