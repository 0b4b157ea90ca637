//! Shapes, written as SVG. Viewers bring their own letters, so a text states how wide it was meant to be.

use std::fmt::Write as _;

use super::canvas::{Anchor, Area, At, Canvas, Label, Pen};
use super::colour::Colour;
use super::font::{self, Style};
use crate::error::RenderError;

/// An SVG document.
pub(super) struct Svg {
    out: String,
    size: (u32, u32),
    clips: usize,
    clipped: bool,
}

impl Svg {
    pub(super) fn new((width, height): (u32, u32), letters: Style) -> Self {
        let bold = if letters.bold { " font-weight=\"bold\"" } else { "" };
        let italic = if letters.italic { " font-style=\"italic\"" } else { "" };
        let out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"DejaVu Sans, Verdana, sans-serif\"{bold}{italic}>\n"
        );
        Self { out, size: (width, height), clips: 0, clipped: false }
    }

    fn push(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.out.write_fmt(arguments);
    }

    fn points(&mut self, points: &[At]) {
        for (i, (x, y)) in points.iter().enumerate() {
            self.push(format_args!("{}{} {}", if i == 0 { "M" } else { "L" }, short(*x), short(*y)));
        }
    }
}

impl Canvas for Svg {
    fn background(&mut self, colour: Colour) {
        let (width, height) = self.size;
        self.push(format_args!("<rect width=\"{width}\" height=\"{height}\" {}/>\n", Ink("fill", colour)));
    }

    fn clip(&mut self, area: Option<Area>) {
        if std::mem::take(&mut self.clipped) {
            self.out.push_str("</g>\n");
        }
        if let Some(area) = area {
            self.clips += 1;
            self.clipped = true;
            let n = self.clips;
            self.push(format_args!(
                "<clipPath id=\"c{n}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n\
                 <g clip-path=\"url(#c{n})\">\n",
                short(area.left),
                short(area.top),
                short(area.width()),
                short(area.height()),
            ));
        }
    }

    fn lines(&mut self, lines: &[Vec<At>], pen: Pen) {
        self.out.push_str("<path d=\"");
        lines.iter().for_each(|line| self.points(line));
        self.push(format_args!(
            "\" fill=\"none\" stroke-linejoin=\"bevel\" {} stroke-width=\"{}\"",
            Ink("stroke", pen.colour),
            short(pen.width)
        ));
        if let Some(dash) = pen.dash {
            self.push(format_args!(" stroke-dasharray=\"{0} {0}\"", short(dash)));
        }
        self.out.push_str("/>\n");
    }

    fn fill(&mut self, polygons: &[Vec<At>], colour: Colour) {
        self.out.push_str("<path d=\"");
        for polygon in polygons {
            self.points(polygon);
            self.out.push('Z');
        }
        self.push(format_args!("\" {}/>\n", Ink("fill", colour)));
    }

    fn text(&mut self, label: Label<'_>) {
        let anchor = match label.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = (short(label.at.0), short(label.at.1));
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\" textLength=\"{}\" \
             lengthAdjust=\"spacingAndGlyphs\" {}",
            short(label.size),
            short(font::width(label.text, label.size)),
            Ink("fill", label.colour)
        ));
        if label.turn != 0.0 {
            self.push(format_args!(" transform=\"rotate({} {x} {y})\"", short(label.turn)));
        }
        self.out.push('>');
        escape(&mut self.out, label.text);
        self.out.push_str("</text>\n");
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, RenderError> {
        self.clip(None);
        self.out.push_str("</svg>\n");
        Ok(self.out.into_bytes())
    }
}

/// A colour as attributes.
struct Ink(&'static str, Colour);

impl std::fmt::Display for Ink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ink(what, Colour { red, green, blue, alpha }) = *self;
        write!(f, "{what}=\"#{red:02x}{green:02x}{blue:02x}\"")?;
        if alpha < 255 {
            write!(f, " {what}-opacity=\"{}\"", short(f32::from(alpha) / 255.0))?;
        }
        Ok(())
    }
}

/// Hundredths of a pixel are enough.
fn short(number: f32) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Series names are anybody's text. Characters that XML has no place for become question marks.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('?'),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_element() {
        let mut out = String::new();
        escape(&mut out, "<script>\u{1}&\"");
        assert_eq!(out, "&lt;script&gt;?&amp;&quot;");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            (short(1.0), short(2.504), short(0.0), short(100.0)),
            ("1".into(), "2.5".into(), "0".into(), "100".into())
        );
    }
}
