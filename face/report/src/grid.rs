//! Columns of text: names to the left, numbers to the right.
//!
//! Out of scope: frames, wrapping and color. What fits on a line of a
//! terminal also fits in a mail and goes through `awk`.

/// Alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Names and sentences.
    Left,
    /// Numbers.
    Right,
}

/// Formats `cells` as lines. Two spaces separate columns; lines have none at the end. Lines may be
/// shorter than `columns`.
pub fn grid(columns: &[Align], cells: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let lengths = cells.iter().filter_map(|line| line.get(column));
        lengths.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut text = String::new();
    for line in cells {
        let cells = line.iter().zip(&widths).zip(columns);
        let padded = cells.map(|((cell, &width), align)| match align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Formats `cells` as [`grid`] does: the first `names` columns hold names, the others numbers.
pub fn named_grid(names: usize, cells: &[Vec<String>]) -> String {
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut alignments = vec![Align::Right; columns];
    alignments
        .iter_mut()
        .take(names)
        .for_each(|column| *column = Align::Left);
    grid(&alignments, cells)
}

/// A line of cells.
pub fn line<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_lines_end_where_their_text_ends() {
        let cells = [line(["a", "1"]), line(["abc", "100"]), line(["µ"])];
        let text = grid(&[Align::Left, Align::Right], &cells);
        assert_eq!(text, "a      1\nabc  100\nµ\n");
    }
}
