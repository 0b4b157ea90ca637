//! A graph of characters: each cell is a braille pattern of two by four dots.

use super::look::{Look, Paint};
use super::sparkline::number;

/// The dots of a cell, by line and column.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// The cell without a dot.
const EMPTY: u32 = 0x2800;

/// Where lines are drawn.
pub(super) struct Plot {
    columns: usize,
    rows: usize,
    cells: Vec<(u32, usize)>,
    low: f64,
    high: f64,
}

impl Plot {
    /// Room for these values: so many characters wide and high.
    pub(super) fn new(columns: usize, rows: usize, values: impl Iterator<Item = f64> + Clone) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let low = finite.clone().fold(f64::INFINITY, f64::min);
        let high = finite.fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = match (low, high) {
            (low, high) if low > high => (0.0, 1.0),
            // A line that is level lies in the middle.
            (low, high) if low == high => (low - low.abs().max(1.0) / 2.0, high + high.abs().max(1.0) / 2.0),
            other => other,
        };
        Self { columns, rows, cells: vec![(EMPTY, 0); columns * rows], low, high }
    }

    /// Draws a line through values that are evenly spaced over the whole width. A gap interrupts it.
    pub(super) fn draw(&mut self, line: usize, values: &[Option<f64>]) {
        let width = (self.columns * 2).saturating_sub(1) as f64;
        let step = width / values.len().saturating_sub(1).max(1) as f64;
        let mut before: Option<(f64, f64)> = None;
        for (at, value) in values.iter().enumerate() {
            let here =
                value.filter(|value| value.is_finite()).map(|value| (at as f64 * step, self.height(value)));
            if let Some(to) = here {
                self.segment(line, before.unwrap_or(to), to);
            }
            before = here;
        }
    }

    /// Dots from the top.
    fn height(&self, value: f64) -> f64 {
        let dots = (self.rows * 4).saturating_sub(1) as f64;
        (self.high - value) / (self.high - self.low) * dots
    }

    fn segment(&mut self, line: usize, from: (f64, f64), to: (f64, f64)) {
        let (across, down) = (to.0 - from.0, to.1 - from.1);
        let steps = across.abs().max(down.abs()).ceil().max(1.0);
        for step in 0..=steps as usize {
            let part = step as f64 / steps;
            let (x, y) = (from.0 + across * part, from.1 + down * part);
            self.dot(line, x.round() as usize, y.round() as usize);
        }
    }

    fn dot(&mut self, line: usize, x: usize, y: usize) {
        let dot = DOTS.get(y % 4).and_then(|dots| dots.get(x % 2)).copied().unwrap_or_default();
        if x / 2 < self.columns
            && let Some(cell) = self.cells.get_mut(y / 4 * self.columns + x / 2)
        {
            *cell = (cell.0 | dot, line);
        }
    }

    /// The lines of text, with the values of the top, the middle and the bottom before them.
    pub(super) fn lines(&self, look: Look) -> Vec<String> {
        let label = |row: usize| match row {
            0 => number(self.high),
            row if row + 1 == self.rows => number(self.low),
            row if row == self.rows / 2 => number(f64::midpoint(self.low, self.high)),
            _ => String::new(),
        };
        let labels: Vec<String> = (0..self.rows).map(label).collect();
        let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or_default();
        let rows = self.cells.chunks(self.columns.max(1)).zip(labels);
        rows.map(|(cells, label)| {
            let axis = look.paint(Paint::Faint, &format!("{label:>width$} │"));
            format!("{axis}{}", painted(cells, look))
        })
        .collect()
    }
}

/// The cells of a row; neighbours of one colour are painted together.
fn painted(cells: &[(u32, usize)], look: Look) -> String {
    let alike = |a: &(u32, usize), b: &(u32, usize)| a.1 == b.1;
    let piece = |cells: &[(u32, usize)]| {
        let text: String = cells
            .iter()
            .map(|cell| if cell.0 == EMPTY { ' ' } else { char::from_u32(cell.0).unwrap_or(' ') })
            .collect();
        cells.first().map_or_else(String::new, |cell| look.paint(Paint::Line(cell.1), &text))
    };
    cells.chunk_by(alike).map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(columns: usize, rows: usize, values: &[Option<f64>]) -> Vec<String> {
        let mut plot = Plot::new(columns, rows, values.iter().flatten().copied());
        plot.draw(0, values);
        plot.lines(Look::PLAIN)
    }

    #[test]
    fn a_rising_line_goes_from_the_bottom_left_to_the_top_right() {
        let lines = drawn(4, 2, &[Some(0.0), Some(7.0)]);
        assert_eq!(lines, ["7 │  ⡠⠊", "0 │⡠⠊  "]);
    }

    #[test]
    fn a_gap_interrupts_the_line_and_a_level_line_lies_in_the_middle() {
        let lines = drawn(4, 1, &[Some(2.0), None, None, Some(2.0)]);
        assert_eq!(lines.len(), 1);
        let dots: Vec<char> = lines[0].chars().rev().take(4).collect();
        assert!(dots[0] != ' ' && dots[1] == ' ' && dots[2] == ' ' && dots[3] != ' ', "{lines:?}");
        let empty = drawn(3, 2, &[None, None]);
        assert!(empty.iter().all(|line| line.ends_with("│   ")), "{empty:?}");
    }

    #[test]
    fn the_largest_and_the_smallest_value_stand_beside_the_line() {
        let lines = drawn(10, 5, &[Some(1.0), Some(100.0), Some(2.0)]);
        let labels = lines.iter().map(|line| line.split('│').next().unwrap());
        assert_eq!(labels.collect::<Vec<_>>(), [" 100 ", "     ", "50.5 ", "     ", "   1 "]);
    }
}
