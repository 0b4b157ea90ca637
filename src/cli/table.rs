//! Tables for people. Every column is as wide as its widest cell.

use std::io::Write;

/// Prints a table. The last column is text and left-aligned; the others are numbers and right-aligned.
pub(super) fn print<const N: usize>(
    out: &mut dyn Write,
    head: [&str; N],
    rows: &[[String; N]],
) -> std::io::Result<()> {
    let width = |cell: &str| cell.chars().count();
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell));
        cells.chain(head.get(column).map(|cell| width(cell))).max().unwrap_or(0)
    });
    let mut line = |cells: [&str; N]| {
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            match column + 1 < N {
                true => write!(out, "{cell:>width$}  ")?,
                false => writeln!(out, "{cell}")?,
            }
        }
        Ok(())
    };
    line(head)?;
    rows.iter().try_for_each(|row| line(row.each_ref().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["7", "1234567890", "häst"], ["123456789", "1", "dc"]].map(|row| row.map(str::to_owned));
        let mut out = Vec::new();
        print(&mut out, ["values", "metrics", "tag"], &rows).unwrap();
        let expected = "   values     metrics  tag\n        7  1234567890  häst\n123456789           1  dc\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
