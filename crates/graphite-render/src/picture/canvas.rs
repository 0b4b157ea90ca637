//! What pictures are put on.

use super::colour::Colour;
use crate::error::RenderError;

/// A point of the picture: pixels from the left and from the top.
pub(super) type At = (f32, f32);

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f32,
    pub(super) top: f32,
    pub(super) right: f32,
    pub(super) bottom: f32,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pen {
    pub(super) colour: Colour,
    pub(super) width: f32,
    /// Length of dashes and of the gaps between them.
    pub(super) dash: Option<f32>,
}

/// Which point of a text is put at the place given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A text to be drawn; the place is on its base line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label<'a> {
    pub(super) text: &'a str,
    pub(super) at: At,
    pub(super) size: f32,
    pub(super) anchor: Anchor,
    pub(super) colour: Colour,
    /// Degrees by which it is turned, clockwise.
    pub(super) turn: f32,
}

/// Pixels or shapes.
pub(super) trait Canvas {
    /// Fills everything.
    fn background(&mut self, colour: Colour);
    /// Restricts what follows to a part, or to nothing.
    fn clip(&mut self, area: Option<Area>);
    /// Draws lines through points, each slice one line.
    fn lines(&mut self, lines: &[Vec<At>], pen: Pen);
    /// Fills polygons.
    fn fill(&mut self, polygons: &[Vec<At>], colour: Colour);
    /// Writes a text.
    fn text(&mut self, label: Label<'_>);
    /// The picture as a file.
    fn finish(self: Box<Self>) -> Result<Vec<u8>, RenderError>;
}

impl Area {
    pub(super) fn width(&self) -> f32 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f32 {
        self.bottom - self.top
    }

    /// Its corners, as a polygon.
    pub(super) fn outline(&self) -> Vec<At> {
        vec![
            (self.left, self.top),
            (self.right, self.top),
            (self.right, self.bottom),
            (self.left, self.bottom),
        ]
    }
}
