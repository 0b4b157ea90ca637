//! Names with their colours, in columns below the picture.

use super::canvas::{Anchor, Area, Canvas, Label};
use super::colour::Colour;
use super::font;
use super::options::Options;

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
    /// Entries that have no room.
    left_out: usize,
}

impl<'a> Legend<'a> {
    /// Lays the entries out; at most half of the picture is for them.
    pub(super) fn new(entries: Vec<LegendItem<'a>>, options: &Options) -> Self {
        let small = options.width < SMALLEST.0 || options.height < SMALLEST.1;
        let hidden = options.hide_legend.unwrap_or(small || entries.len() > SHOWN_BY_DEFAULT);
        let mut entries = if hidden { Vec::new() } else { entries };
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
        let kept =
            if entries.len() > rows * columns { (rows * columns).saturating_sub(1) } else { entries.len() };
        let left_out = entries.len() - kept;
        entries.truncate(kept);
        Self { entries, columns, line, left_out }
    }

    /// Height it needs.
    pub(super) fn height(&self) -> f32 {
        let entries = self.entries.len() + usize::from(self.left_out > 0);
        if entries == 0 { 0.0 } else { entries.div_ceil(self.columns) as f32 * self.line + self.line * 0.4 }
    }

    /// Draws it, ending at the bottom of `area`.
    pub(super) fn draw(&self, canvas: &mut dyn Canvas, area: Area, options: &Options) {
        let (size, width) = (options.font_size, area.width() / self.columns as f32);
        let top = area.bottom - self.height() + self.line * 0.4;
        let place = |i: usize| {
            (area.left + (i % self.columns) as f32 * width, top + (i / self.columns) as f32 * self.line)
        };
        for (i, entry) in self.entries.iter().enumerate() {
            let (x, y) = place(i);
            let swatch = Area { left: x, top: y + 0.2 * size, right: x + size, bottom: y + 1.2 * size };
            canvas.fill(&[swatch.outline()], entry.colour);
            let name = if entry.on_the_right { format!("{} →", entry.name) } else { entry.name.to_owned() };
            let text = font::shortened(&name, size, width - 2.0 * size);
            canvas.text(label(&text, (x + 1.5 * size, y + 1.05 * size), options));
        }
        if self.left_out > 0 {
            let (x, y) = place(self.entries.len());
            let text = format!("… and {} more", self.left_out);
            canvas.text(label(&text, (x, y + 1.05 * size), options));
        }
    }
}

fn label<'t>(text: &'t str, at: (f32, f32), options: &Options) -> Label<'t> {
    Label {
        text,
        at,
        size: options.font_size,
        anchor: Anchor::Start,
        colour: options.foreground,
        upright: false,
    }
}
