//! Lines that are one pixel wide: most of what a picture shows, and with a general rasteriser most of its time.
//!
//! Each segment is followed along the axis in which it is longer, from the middle of a pixel to that of the next. There it lies between
//! two pixels across, which share its colour by how near they are. A middle belongs to one of two segments that meet, so that no
//! pixel gets the colour of a line twice.

use tiny_skia::{PixmapMut, PremultipliedColorU8};

use super::canvas::At;
use super::colour::Colour;

/// Columns and rows that may be drawn on: first, and one past the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) columns: (i32, i32),
    pub(super) rows: (i32, i32),
}

/// A colour, ready to be mixed with pixels.
#[derive(Clone, Copy)]
struct Ink {
    /// Red, green, blue and alpha, where the colours are multiplied by alpha.
    parts: [u32; 4],
}

/// Draws lines through points, whose places are in pixels.
pub(super) fn draw(pixels: &mut PixmapMut<'_>, lines: &[Vec<At>], colour: Colour, bounds: Bounds) {
    let times = |part: u8| u32::from(part) * u32::from(colour.alpha) / 255;
    let parts = [times(colour.red), times(colour.green), times(colour.blue), u32::from(colour.alpha)];
    let width = pixels.width() as usize;
    let mut paper = Paper { pixels: pixels.pixels_mut(), width, ink: Ink { parts }, bounds };
    for line in lines {
        paper.line(line);
    }
}

struct Paper<'p> {
    pixels: &'p mut [PremultipliedColorU8],
    width: usize,
    ink: Ink,
    bounds: Bounds,
}

impl Paper<'_> {
    fn line(&mut self, points: &[At]) {
        let Some((&first, rest)) = points.split_first() else { return };
        let mut from = first;
        for (at, &to) in rest.iter().enumerate() {
            let (across, down) = (to.0 - from.0, to.1 - from.1);
            // Steps within a pixel might miss every middle.
            if across.abs() < 1.0 && down.abs() < 1.0 && at + 1 < rest.len() {
                continue;
            }
            self.segment(from, to);
            from = to;
        }
    }

    fn segment(&mut self, (x0, y0): At, (x1, y1): At) {
        if !(x0.is_finite() && y0.is_finite() && x1.is_finite() && y1.is_finite()) {
            return;
        }
        let Bounds { columns, rows } = self.bounds;
        if (x1 - x0).abs() >= (y1 - y0).abs() {
            steps((x0, y0), (x1, y1), columns, |x, y| self.between(y, rows, |y| (x, y)));
        } else {
            steps((y0, x0), (y1, x1), rows, |y, x| self.between(x, columns, |x| (x, y)));
        }
    }

    /// Two pixels share the ink: the ones before and behind `across`.
    fn between(&mut self, across: f32, (first, end): (i32, i32), place: impl Fn(i32) -> (i32, i32)) {
        let near = (across - 0.5).floor();
        let far_part = across - 0.5 - near;
        let near = near as i32;
        for (at, part) in [(near, 1.0 - far_part), (near.saturating_add(1), far_part)] {
            if (first..end).contains(&at) {
                self.mix(place(at), part);
            }
        }
    }

    fn mix(&mut self, (x, y): (i32, i32), share: f32) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return };
        let Some(pixel) = self.pixels.get_mut(y * self.width + x).filter(|_| x < self.width) else { return };
        let share = (share * 256.0).round() as u32;
        let rest = 256 - self.ink.parts[3] * share / 255;
        let [red, green, blue, alpha] = self.ink.parts.map(|part| part * share);
        let mixed = |ink: u32, old: u8| ((ink + u32::from(old) * rest) >> 8).min(255) as u8;
        let alpha = mixed(alpha, pixel.alpha());
        // What is premultiplied is never above its alpha, whatever was rounded.
        let mixed = |ink: u32, old: u8| mixed(ink, old).min(alpha);
        let (red, green, blue) =
            (mixed(red, pixel.red()), mixed(green, pixel.green()), mixed(blue, pixel.blue()));
        if let Some(colour) = PremultipliedColorU8::from_rgba(red, green, blue, alpha) {
            *pixel = colour;
        }
    }
}

/// Calls `at` for each pixel whose middle a segment passes, with the place across it.
fn steps(from: At, to: At, (first, end): (i32, i32), mut at: impl FnMut(i32, f32)) {
    let ((a0, b0), (a1, b1)) = if from.0 <= to.0 { (from, to) } else { (to, from) };
    if a0 == a1 {
        return;
    }
    let slope = (b1 - b0) / (a1 - a0);
    let begin = ((a0 - 0.5).ceil() as i32).max(first);
    let behind = ((a1 - 0.5).ceil() as i32).min(end);
    for pixel in begin..behind {
        at(pixel, b0 + (pixel as f32 + 0.5 - a0) * slope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiny_skia::{Color, Pixmap};

    const ALL: Bounds = Bounds { columns: (0, 20), rows: (0, 20) };

    /// How dark each pixel of a white picture became, from 0 to 255.
    fn drawn(points: &[At], alpha: u8, bounds: Bounds) -> Vec<Vec<u8>> {
        let mut pixels = Pixmap::new(20, 20).unwrap();
        pixels.fill(Color::WHITE);
        let colour = Colour { red: 0, green: 0, blue: 0, alpha };
        draw(&mut pixels.as_mut(), &[points.to_vec()], colour, bounds);
        assert!(pixels.pixels().iter().all(|pixel| pixel.alpha() >= 254));
        pixels.pixels().chunks(20).map(|row| row.iter().map(|pixel| 255 - pixel.red()).collect()).collect()
    }

    fn ink(picture: &[Vec<u8>]) -> f64 {
        picture.iter().flatten().map(|dark| f64::from(*dark) / 255.0).sum()
    }

    #[test]
    fn a_line_in_the_middle_of_a_row_fills_it_alone() {
        let picture = drawn(&[(2.0, 5.5), (12.0, 5.5)], 255, ALL);
        assert!((2..12).all(|x| picture[5][x] >= 254), "{:?}", picture[5]);
        assert!((ink(&picture) - 10.0).abs() < 0.1);
        let upright = drawn(&[(5.5, 12.0), (5.5, 2.0)], 255, ALL);
        assert!((2..12).all(|y| upright[y][5] >= 254));
    }

    #[test]
    fn rows_share_a_line_between_them() {
        let picture = drawn(&[(0.0, 6.0), (20.0, 6.0)], 255, ALL);
        assert!(
            (0..20).all(|x| (126..=130).contains(&picture[5][x]) && (126..=130).contains(&picture[6][x]))
        );
    }

    #[test]
    fn pieces_of_a_pixel_are_as_much_as_one_line() {
        let pieces: Vec<At> = (0..=64).map(|i| (1.0 + i as f32 / 4.0, 3.0 + i as f32 / 16.0)).collect();
        let (parts, whole) = (drawn(&pieces, 255, ALL), drawn(&[pieces[0], pieces[64]], 255, ALL));
        assert!((ink(&parts) - ink(&whole)).abs() < 1.5, "{} {}", ink(&parts), ink(&whole));
        // None of its columns is left out.
        assert!((1..17).all(|x| parts.iter().map(|row| u32::from(row[x])).sum::<u32>() > 200));
    }

    #[test]
    fn nothing_is_drawn_outside_of_the_bounds() {
        let bounds = Bounds { columns: (5, 10), rows: (4, 8) };
        for points in [[(-900.0, 5.0), (900.0, 7.0)], [(7.0, -1e6), (7.5, 1e6)], [(-3.0, -3.0), (30.0, 30.0)]]
        {
            let picture = drawn(&points, 255, bounds);
            for (y, row) in picture.iter().enumerate() {
                for (x, dark) in row.iter().enumerate() {
                    assert!(*dark == 0 || ((5..10).contains(&x) && (4..8).contains(&y)), "{x} {y}");
                }
            }
            assert!(ink(&picture) > 1.0);
        }
        assert!(ink(&drawn(&[(f32::NAN, 1.0), (5.0, 5.0)], 255, ALL)) < 0.01);
    }

    #[test]
    fn a_faint_colour_lets_the_ground_through() {
        let picture = drawn(&[(0.0, 5.5), (20.0, 5.5)], 128, ALL);
        assert!((0..20).all(|x| (126..=130).contains(&picture[5][x])), "{:?}", picture[5]);
    }
}
