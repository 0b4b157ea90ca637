//! The one font of all pictures: DejaVu Sans with the letters of Latin, Greek and Cyrillic scripts.

use std::sync::LazyLock;

use ab_glyph::{Font as _, FontRef, GlyphId, OutlineCurve};
use tiny_skia::{Path, PathBuilder};

static FONT: LazyLock<FontRef<'static>> = LazyLock::new(|| {
    FontRef::try_from_slice(include_bytes!("font/DejaVuSans.ttf")).expect("the embedded font is whole")
});

/// Width of a text in pixels.
pub(super) fn width(text: &str, size: f32) -> f32 {
    let font = &*FONT;
    text.chars().map(|c| font.h_advance_unscaled(font.glyph_id(c))).sum::<f32>() * scale(size)
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
    let (font, scale) = (&*FONT, scale(size));
    let mut path = PathBuilder::new();
    let mut at = 0.0;
    for c in text.chars() {
        let glyph = font.glyph_id(c);
        add(&mut path, glyph, at, scale);
        at += font.h_advance_unscaled(glyph) * scale;
    }
    path.finish()
}

fn scale(size: f32) -> f32 {
    size / FONT.units_per_em().unwrap_or(2048.0)
}

/// Glyphs have their vertical axis upwards, pictures downwards.
fn add(path: &mut PathBuilder, glyph: GlyphId, left: f32, scale: f32) {
    let Some(outline) = FONT.outline(glyph) else { return };
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
    fn long_texts_are_cut() {
        assert_eq!(shortened("short", 10.0, 500.0), "short");
        let cut = shortened("a very long name of a series", 10.0, 60.0);
        assert!(cut.ends_with('…') && width(&cut, 10.0) <= 60.0, "{cut}");
        assert_eq!(shortened("nothing fits", 10.0, 0.0), "…");
    }
}
