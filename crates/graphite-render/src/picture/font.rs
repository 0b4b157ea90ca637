//! Letters: those of DejaVu Sans, which is part of the library, and for others those of the system's fonts.

use std::sync::LazyLock;

use ab_glyph::{Font as _, FontRef, GlyphId, OutlineCurve};
use tiny_skia::{Path, PathBuilder};

use super::system_fonts;

/// DejaVu Sans with European scripts and all of its symbols. A font with Chinese would be as large as the server.
static FONT: LazyLock<FontRef<'static>> = LazyLock::new(|| {
    FontRef::try_from_slice(include_bytes!("font/DejaVuSans.ttf")).expect("the embedded font is whole")
});

/// How far the letters of a line reach above and below its base line, as a part of their size.
const ABOVE: f32 = 0.928;
const BELOW: f32 = 0.236;

/// How letters are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) bold: bool,
    pub(super) italic: bool,
}

/// A letter: where it is from, and its number there.
struct Letter {
    font: &'static FontRef<'static>,
    glyph: GlyphId,
}

impl Letter {
    /// The letter of a character, or a box if nobody has one. What only says how its neighbours are drawn has none.
    fn of(c: char) -> Option<Self> {
        let joins =
            matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}') || c.is_control();
        if joins {
            return None;
        }
        let font = &*FONT;
        let glyph = font.glyph_id(c);
        if glyph != GlyphId(0) {
            return Some(Self { font, glyph });
        }
        let elsewhere = system_fonts::with(c).map(|font| Self { font, glyph: font.glyph_id(c) });
        Some(elsewhere.unwrap_or(Self { font, glyph }))
    }

    /// Pixels for a unit of the font.
    fn scale(&self, size: f32) -> f32 {
        size / self.font.units_per_em().unwrap_or(2048.0)
    }

    fn advance(&self, size: f32) -> f32 {
        self.font.h_advance_unscaled(self.glyph) * self.scale(size)
    }
}

/// Width of a text in pixels.
pub(super) fn width(text: &str, size: f32) -> f32 {
    text.chars().filter_map(Letter::of).map(|letter| letter.advance(size)).sum()
}

/// Pixels above the base line that a line of text takes.
pub(super) fn ascent(size: f32) -> f32 {
    (ABOVE * size).round()
}

/// Pixels from one line of text to the next.
pub(super) fn line_height(size: f32) -> f32 {
    ((ABOVE + BELOW) * size).round()
}

/// The text as far as it fits into `room` pixels, with an ellipsis where something was cut off.
pub(super) fn shortened(text: &str, size: f32, room: f32) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let room = room - width("…", size);
    let mut used = 0.0;
    let kept: String = text
        .chars()
        .take_while(|c| {
            used += width(c.encode_utf8(&mut [0; 4]), size);
            used <= room
        })
        .collect();
    format!("{kept}…")
}

/// The outlines of a text whose base line begins at the origin, if it has any ink.
pub(super) fn outline(text: &str, size: f32) -> Option<Path> {
    let mut path = PathBuilder::new();
    let mut at = 0.0;
    for letter in text.chars().filter_map(Letter::of) {
        add(&mut path, &letter, at, letter.scale(size));
        at += letter.advance(size);
    }
    path.finish()
}

/// Letters have their vertical axis upwards, pictures downwards.
fn add(path: &mut PathBuilder, letter: &Letter, left: f32, scale: f32) {
    let Some(outline) = letter.font.outline(letter.glyph) else { return };
    let place = |p: ab_glyph::Point| (left + p.x * scale, -p.y * scale);
    let mut pen = None;
    for curve in outline.curves {
        let from = match curve {
            OutlineCurve::Line(from, _)
            | OutlineCurve::Quad(from, _, _)
            | OutlineCurve::Cubic(from, _, _, _) => from,
        };
        if pen != Some(from) {
            let (x, y) = place(from);
            path.move_to(x, y);
        }
        pen = Some(match curve {
            OutlineCurve::Line(_, to) => {
                let (x, y) = place(to);
                path.line_to(x, y);
                to
            }
            OutlineCurve::Quad(_, by, to) => {
                let ((bx, by), (x, y)) = (place(by), place(to));
                path.quad_to(bx, by, x, y);
                to
            }
            OutlineCurve::Cubic(_, first, second, to) => {
                let ((ax, ay), (bx, by), (x, y)) = (place(first), place(second), place(to));
                path.cubic_to(ax, ay, bx, by, x, y);
                to
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_widths() {
        assert!(width("WWW", 10.0) > width("iii", 10.0));
        assert!((width("abc", 20.0) - 2.0 * width("abc", 10.0)).abs() < 0.01);
        assert!(outline("Ж", 12.0).is_some() && outline(" ", 12.0).is_none());
    }

    #[test]
    fn symbols_are_drawn_and_nothing_vanishes() {
        for symbol in ["→", "☃", "∑", "▲", "✓", "😀"] {
            let letter = Letter::of(symbol.chars().next().unwrap()).unwrap();
            assert!(letter.glyph != GlyphId(0) && outline(symbol, 12.0).is_some(), "{symbol}");
        }
        // Nobody has a letter for a character that is not assigned; a box says that there was something.
        assert!(outline("\u{e123}", 12.0).is_some());
        assert_eq!(width("a\u{fe0f}b", 10.0), width("ab", 10.0));
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(shortened("short", 10.0, 500.0), "short");
        let cut = shortened("a very long name of a series", 10.0, 60.0);
        assert!(cut.ends_with('…') && width(&cut, 10.0) <= 60.0, "{cut}");
        assert_eq!(shortened("nothing fits", 10.0, 0.0), "…");
    }
}
