//! Tables for people. Every column is as wide as its widest cell; on a terminal the last one is cut where the line would not fit.

use std::io::{self, Write};

use super::look::{Look, Paint};

/// The last column gets at least so many characters, however narrow the terminal is.
const LEAST: usize = 16;

/// Prints a table on stdout. The last column is text and left-aligned; the others are numbers and right-aligned.
pub(super) fn print<const N: usize>(
    out: &mut dyn Write,
    head: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    print_as(out, Look::of_stdout(), head, rows)
}

fn print_as<const N: usize>(
    out: &mut dyn Write,
    look: Look,
    head: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let length = |cell: &str| cell.chars().count();
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| length(cell));
        cells.chain(head.get(column).map(|cell| length(cell))).max().unwrap_or(0)
    });
    let before: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum();
    let last = look.width.map(|width| width.saturating_sub(before).max(LEAST));
    let line = |cells: [&str; N]| {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            match (column + 1 < N, last) {
                (true, _) => line.push_str(&format!("{cell:>width$}  ")),
                (false, None) => line.push_str(cell),
                (false, Some(columns)) => line.push_str(&Look::fitted(cell, columns)),
            }
        }
        line
    };
    writeln!(out, "{}", look.paint(Paint::Head, &line(head)))?;
    rows.iter().try_for_each(|row| writeln!(out, "{}", line(row.each_ref().map(String::as_str))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(look: Look, rows: &[[&str; 3]]) -> String {
        let rows: Vec<[String; 3]> = rows.iter().map(|row| row.map(str::to_owned)).collect();
        let mut out = Vec::new();
        print_as(&mut out, look, ["values", "metrics", "tag"], &rows).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["7", "1234567890", "häst"], ["123456789", "1", "dc"]];
        let expected = "   values     metrics  tag\n        7  1234567890  häst\n123456789           1  dc\n";
        assert_eq!(printed(Look::PLAIN, &rows), expected);
    }

    #[test]
    fn on_a_terminal_the_last_column_gives_way() {
        let name = "servers.web-with-a-long-name.cpu.load";
        let at = |columns| printed(Look { width: Some(columns), ..Look::PLAIN }, &[["1", "2", name]]);
        assert!(at(60).ends_with(&format!("     1        2  {name}\n")), "{}", at(60));
        assert_eq!(at(40).lines().last(), Some("     1        2  servers.web…me.cpu.load"));
        assert_eq!(at(40).lines().last().map(|line| line.chars().count()), Some(40));
        // Nothing is left of a name in fewer characters, so the line is too long there.
        assert_eq!(at(10).lines().last(), Some("     1        2  servers.…pu.load"));
    }
}
