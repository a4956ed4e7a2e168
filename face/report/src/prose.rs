//! Wraps running text to a width that every terminal has.

/// Columns of running text.
pub const WIDTH: usize = 80;

/// Stands for a space at which no line may end.
pub const TIE: char = '\u{a0}';

/// A count with its noun: `1 packet`, `2 packets`.
pub fn counted(count: u64, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// Wraps `text` to lines of at most [`WIDTH`] columns, all indented by `indent`. Longer words stay
/// whole, and a number and its unit share a line.
pub fn wrap(text: &str, indent: usize) -> String {
    wrap_hanging(text, indent, indent)
}

/// Wraps `text` like [`wrap`], with lines after the first indented by `hanging`.
pub fn wrap_hanging(text: &str, indent: usize, hanging: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in words(text) {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            column = if out.is_empty() { indent } else { hanging };
            out.push_str(&" ".repeat(column));
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(&word);
        column += length;
    }
    out.push('\n');
    out
}

/// Splits text into parts that may not be broken.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let parts = text.split([' ', '\n']).filter(|part| !part.is_empty());
    for word in parts.map(|part| part.replace(TIE, " ")) {
        match words.last_mut() {
            Some(number) if number.ends_with(|c: char| c.is_ascii_digit()) && is_unit(&word) => {
                number.push(' ');
                number.push_str(&word);
            }
            _ => words.push(word),
        }
    }
    words
}

/// Whether a word is one of the units used here.
fn is_unit(word: &str) -> bool {
    let unit = word.trim_end_matches([',', '.', ';', ':', ')', '?']);
    let is_scaled = |base: &str| {
        let prefix = unit.strip_suffix(base);
        prefix.is_some_and(|prefix| ["", "k", "M", "G", "T", "Ki", "Mi", "Gi"].contains(&prefix))
    };
    ["ns", "us", "ms", "s", "min", "h", "%"].contains(&unit) || is_scaled("B") || is_scaled("bit/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_text_stays_within_its_columns() {
        let text = wrap(&"word ".repeat(60), 4);
        assert!(text.lines().all(|line| line.len() <= WIDTH));
        assert!(text.lines().all(|line| line.starts_with("    word")));
        assert_eq!(text.split_whitespace().count(), 60);
    }

    #[test]
    fn a_number_is_not_parted_from_its_unit() {
        let parted = [
            "2.10 MB",
            "4.00 s,",
            "92.2 Gbit/s",
            "100 %",
            "28 us:",
            "(16 KiB)",
        ];
        for (filler, quantity) in (0..WIDTH).flat_map(|filler| parted.map(|part| (filler, part))) {
            let text = wrap(&format!("{} {quantity} more", "x".repeat(filler)), 0);
            assert!(text.contains(quantity), "{text}");
        }
        assert_eq!(
            words("RFC 9293 section 3 said"),
            ["RFC", "9293", "section", "3", "said"]
        );
    }

    #[test]
    fn what_is_tied_shares_a_line() {
        for filler in 0..WIDTH {
            let text = wrap(
                &format!("{} host{TIE}CPU{TIE}9.0{TIE}%, more", "x".repeat(filler)),
                0,
            );
            assert!(text.contains("host CPU 9.0 %,"), "{text}");
        }
    }

    #[test]
    fn lines_after_the_first_hang() {
        let text = wrap_hanging(&"word ".repeat(40), 2, 6);
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with("  word")));
        assert!(lines.all(|line| line.starts_with("      word")));
    }
}
