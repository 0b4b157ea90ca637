//! Pixels, written as PNG.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

use super::canvas::{Anchor, Area, At, Canvas, Label, Pen};
use super::colour::Colour;
use super::font;
use crate::error::RenderError;

/// Lines up to so many pixels wide are drawn as wide as one, which takes a tenth of the time and looks the same.
const THIN: f32 = 1.5;

/// Pixels of a picture.
pub(super) struct Raster {
    pixels: Pixmap,
    /// Pixels for each unit of length.
    ratio: f32,
    mask: Option<Mask>,
}

impl Raster {
    pub(super) fn new(width: u32, height: u32, ratio: f32) -> Result<Self, RenderError> {
        let size = |length: u32| (length as f32 * ratio).round() as u32;
        let pixels = Pixmap::new(size(width), size(height)).ok_or_else(|| {
            RenderError::invalid(format!("a picture of {width} by {height} pixels cannot be drawn"))
        })?;
        Ok(Self { pixels, ratio, mask: None })
    }

    fn transform(&self) -> Transform {
        Transform::from_scale(self.ratio, self.ratio)
    }
}

impl Canvas for Raster {
    fn background(&mut self, colour: Colour) {
        self.pixels.fill(Color::from_rgba8(colour.red, colour.green, colour.blue, colour.alpha));
    }

    fn clip(&mut self, area: Option<Area>) {
        let transform = self.transform();
        self.mask = area.and_then(|area| {
            let mut mask = Mask::new(self.pixels.width(), self.pixels.height())?;
            mask.fill_path(&path(&[area.outline()], true)?, FillRule::Winding, true, transform);
            Some(mask)
        });
    }

    fn lines(&mut self, lines: &[Vec<At>], pen: Pen) {
        let Some(path) = path(lines, false) else { return };
        let is_thin = pen.width * self.ratio <= THIN;
        let stroke = Stroke {
            width: if is_thin { 1.0 / self.ratio } else { pen.width },
            line_cap: LineCap::Butt,
            line_join: LineJoin::Bevel,
            dash: pen.dash.and_then(|dash| StrokeDash::new(vec![dash, dash], 0.0)),
            ..Stroke::default()
        };
        let transform = self.transform();
        self.pixels.stroke_path(&path, &paint(pen.colour), &stroke, transform, self.mask.as_ref());
    }

    fn fill(&mut self, polygons: &[Vec<At>], colour: Colour) {
        let Some(path) = path(polygons, true) else { return };
        let transform = self.transform();
        self.pixels.fill_path(&path, &paint(colour), FillRule::Winding, transform, self.mask.as_ref());
    }

    fn text(&mut self, label: Label<'_>) {
        let Some(outline) = font::outline(label.text, label.size) else { return };
        let back = match label.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => font::width(label.text, label.size) / 2.0,
            Anchor::End => font::width(label.text, label.size),
        };
        let (x, y) = label.at;
        let turn = if label.upright { Transform::from_rotate(-90.0) } else { Transform::identity() };
        // Whole pixels keep letters of one line alike.
        let place = Transform::from_translate(x.round(), y.round());
        let transform = self.transform().pre_concat(place).pre_concat(turn).pre_translate(-back, 0.0);
        self.pixels.fill_path(
            &outline,
            &paint(label.colour),
            FillRule::Winding,
            transform,
            self.mask.as_ref(),
        );
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, RenderError> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.pixels.width(), self.pixels.height());
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let bytes: Vec<u8> = self
            .pixels
            .pixels()
            .iter()
            .flat_map(|pixel| {
                let plain = pixel.demultiply();
                [plain.red(), plain.green(), plain.blue(), plain.alpha()]
            })
            .collect();
        let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&bytes));
        written
            .map_err(|error| RenderError::invalid(format!("the picture could not be written: {error}")))?;
        Ok(out)
    }
}

fn paint(colour: Colour) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(colour.red, colour.green, colour.blue, colour.alpha);
    paint
}

fn path(lines: &[Vec<At>], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for line in lines {
        let mut points = line.iter();
        let Some(&(x, y)) = points.next() else { continue };
        path.move_to(x, y);
        points.for_each(|&(x, y)| path.line_to(x, y));
        if closed {
            path.close();
        }
    }
    path.finish()
}
