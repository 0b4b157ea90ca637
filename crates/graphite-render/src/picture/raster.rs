//! Pixels, written as PNG.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

use super::canvas::{Anchor, Area, At, Canvas, Label, Pen};
use super::colour::Colour;
use super::font::{self, Style};
use super::hairline::{self, Bounds};
use crate::error::RenderError;

/// Lines up to so many pixels wide are drawn as wide as one, which takes a small part of the time and looks the same.
const THIN: f32 = 1.5;

/// How far italic letters lean, and how wide the rim of bold ones is, as parts of their size.
const LEAN: f32 = -0.2;
const RIM: f32 = 0.07;

/// Pixels of a picture.
pub(super) struct Raster {
    pixels: Pixmap,
    /// Pixels for each unit of length.
    ratio: f32,
    letters: Style,
    /// What may be drawn on, if that is not everything.
    clip: Option<Area>,
    /// The same for shapes, made when the first one needs it.
    mask: Option<Mask>,
}

impl Raster {
    pub(super) fn new((width, height): (u32, u32), ratio: f32, letters: Style) -> Result<Self, RenderError> {
        let size = |length: u32| (length as f32 * ratio).round() as u32;
        let pixels = Pixmap::new(size(width), size(height)).ok_or_else(|| {
            RenderError::invalid(format!("a picture of {width} by {height} pixels cannot be drawn"))
        })?;
        Ok(Self { pixels, ratio, letters, clip: None, mask: None })
    }

    fn transform(&self) -> Transform {
        Transform::from_scale(self.ratio, self.ratio)
    }

    /// Makes the mask of the part that may be drawn on.
    fn need_mask(&mut self) {
        let Some(area) = self.clip.filter(|_| self.mask.is_none()) else { return };
        let Some(path) = path(&[area.outline()], true) else { return };
        self.mask = Mask::new(self.pixels.width(), self.pixels.height());
        let transform = self.transform();
        if let Some(mask) = &mut self.mask {
            mask.fill_path(&path, FillRule::Winding, true, transform);
        }
    }

    fn bounds(&self) -> Bounds {
        let (width, height) = (self.pixels.width() as i32, self.pixels.height() as i32);
        let Some(area) = self.clip else { return Bounds { columns: (0, width), rows: (0, height) } };
        let first = |edge: f32| ((edge * self.ratio).floor() as i32).max(0);
        let end = |edge: f32, most: i32| ((edge * self.ratio).ceil() as i32).min(most);
        Bounds {
            columns: (first(area.left), end(area.right, width)),
            rows: (first(area.top), end(area.bottom, height)),
        }
    }

    /// Lines as wide as a pixel.
    fn hairlines(&mut self, lines: &[Vec<At>], colour: Colour) {
        let (bounds, ratio) = (self.bounds(), self.ratio);
        if ratio == 1.0 {
            return hairline::draw(&mut self.pixels.as_mut(), lines, colour, bounds);
        }
        let scaled = |line: &Vec<At>| line.iter().map(|(x, y)| (x * ratio, y * ratio)).collect();
        let lines: Vec<Vec<At>> = lines.iter().map(scaled).collect();
        hairline::draw(&mut self.pixels.as_mut(), &lines, colour, bounds);
    }
}

impl Canvas for Raster {
    fn background(&mut self, colour: Colour) {
        self.pixels.fill(Color::from_rgba8(colour.red, colour.green, colour.blue, colour.alpha));
    }

    fn clip(&mut self, area: Option<Area>) {
        self.clip = area;
        self.mask = None;
    }

    fn lines(&mut self, lines: &[Vec<At>], pen: Pen) {
        let is_thin = pen.width * self.ratio <= THIN;
        if is_thin && pen.dash.is_none() {
            return self.hairlines(lines, pen.colour);
        }
        let Some(path) = path(lines, false) else { return };
        self.need_mask();
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
        self.need_mask();
        let transform = self.transform();
        self.pixels.fill_path(&path, &paint(colour), FillRule::Winding, transform, self.mask.as_ref());
    }

    fn text(&mut self, label: Label<'_>) {
        let Some(outline) = font::outline(label.text, label.size) else { return };
        self.need_mask();
        let back = match label.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => font::width(label.text, label.size) / 2.0,
            Anchor::End => font::width(label.text, label.size),
        };
        let (x, y) = label.at;
        // Letters of another style are made from the plain ones: leaning, or with a rim.
        let lean = if self.letters.italic { Transform::from_skew(LEAN, 0.0) } else { Transform::identity() };
        // Whole pixels keep letters of one line alike.
        let place = Transform::from_translate(x.round(), y.round());
        let turned = self.transform().pre_concat(place).pre_concat(Transform::from_rotate(label.turn));
        let transform = turned.pre_translate(-back, 0.0).pre_concat(lean);
        let (paint, mask) = (paint(label.colour), self.mask.as_ref());
        self.pixels.fill_path(&outline, &paint, FillRule::Winding, transform, mask);
        if self.letters.bold {
            let rim = Stroke { width: label.size * RIM, ..Stroke::default() };
            self.pixels.stroke_path(&outline, &paint, &rim, transform, mask);
        }
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, RenderError> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.pixels.width(), self.pixels.height());
        // Nearly all pictures are opaque. Without a fourth byte for that, they are smaller and sooner written.
        let pixels = self.pixels.pixels();
        let is_opaque = pixels.iter().all(|pixel| pixel.is_opaque());
        encoder.set_color(if is_opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let bytes: Vec<u8> = if is_opaque {
            pixels.iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect()
        } else {
            let plain = pixels.iter().map(|pixel| pixel.demultiply());
            plain.flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]).collect()
        };
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
