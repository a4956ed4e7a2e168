//! Lines that are wider than the terminal.
//!
//! They continue below the column that they were cut in, so that a table stays readable in 80
//! columns. Files and pipes get each line as it is.

/// Columns that a continued line keeps for its text.
const FEWEST_COLUMNS: usize = 24;

/// `text` with every line in at most `columns` columns, as far as words allow.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        push(&mut out, line, columns);
        out.push_str(end);
    }
    out
}

fn push(out: &mut String, line: &str, columns: usize) {
    if line.chars().count() <= columns {
        return out.push_str(line);
    }
    let hanging = hanging(line, columns);
    let mut column = 0;
    for (gap, word) in words(line) {
        let width = word.chars().count();
        if column > hanging && column + gap.len() + width > columns {
            out.push('\n');
            out.push_str(&" ".repeat(hanging));
            column = hanging;
        } else {
            out.push_str(gap);
            column += gap.len();
        }
        out.push_str(word);
        column += width;
    }
}

/// Column in which a line goes on: its last cell with room.
///
/// A line without such a cell goes on a little to the right of its start.
fn hanging(line: &str, columns: usize) -> usize {
    let mut column = 0;
    let mut last = line.len() - line.trim_start().len() + 2;
    for (gap, word) in words(line) {
        column += gap.len();
        if gap.len() > 1 && column > 0 && column + FEWEST_COLUMNS <= columns {
            last = column;
        }
        column += word.chars().count();
    }
    last
}

/// The words of a line, each with the spaces before it.
fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.len() - rest.trim_start_matches(' ').len();
        let length = rest[start..].find(' ').unwrap_or(rest.len() - start);
        let (word, left) = rest.split_at(start + length);
        rest = left;
        (!word.is_empty()).then(|| word.split_at(start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_cell_goes_on_below_itself() {
        let line = "reno-60MB   6554.5  sender-cpu-limited 86.0, cwnd-growth-limited 12.1";
        assert_eq!(
            fit(line, 50),
            "reno-60MB   6554.5  sender-cpu-limited 86.0,\n                    cwnd-growth-limited 12.1"
        );
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let text = "a  b\n\n  c\n";
        assert_eq!(fit(text, 40), text);
    }

    #[test]
    fn every_word_is_kept_and_no_line_is_wider() {
        let line = "word ".repeat(40);
        let text = fit(line.trim_end(), 40);
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
        assert_eq!(text.split_whitespace().count(), 40);
    }

    #[test]
    fn a_word_wider_than_the_terminal_is_not_cut() {
        let word = "x".repeat(100);
        assert_eq!(fit(&word, 40), word);
    }
}
