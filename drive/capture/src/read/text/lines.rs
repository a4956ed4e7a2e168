//! Removes quotation marks of mail from a text. A quoted line in mail begins with `> `, a comment
//! on it does not, and long lines are wrapped. Line breaks stay, as white space.
//!
//! A printed packet also contains a `>`, and a wrapped line may begin with it. It is kept if the
//! word before it is a host and port and the line has one mark more than the line before.

use super::cursor::is_space;
use super::endpoint::Endpoint;

/// A part of a text and the origin of its lines.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// The text.
    pub text: Vec<u8>,
    /// Start of each line: in the text, and in the original bytes.
    starts: Vec<(usize, usize)>,
}

impl Lines {
    /// Removes the marks. `is_start` is whether the bytes begin a line.
    pub fn new(octets: &[u8], is_start: bool) -> Self {
        let mut lines = Self::default();
        let mut last_depth = 0;
        let mut begins = is_start;
        let mut at = 0;
        for line in octets.split_inclusive(|octet| *octet == b'\n') {
            let (mut mark, depth) = if begins { marks(line) } else { (0, 0) };
            if depth == last_depth + 1 && lines.ends_with_endpoint() {
                // The innermost mark belongs to the packet.
                mark = line[..mark]
                    .iter()
                    .rposition(|octet| *octet == b'>')
                    .unwrap_or(mark);
            } else if line.iter().any(|octet| !is_space(*octet)) {
                last_depth = depth;
            }
            lines.starts.push((lines.text.len(), at + mark));
            lines.text.extend_from_slice(&line[mark..]);
            at += line.len();
            begins = true;
        }
        lines
    }

    /// Original position of a position in the text.
    pub fn origin(&self, place: usize) -> usize {
        let index = self.starts.partition_point(|(start, _)| *start <= place);
        let Some((start, origin)) = index.checked_sub(1).map(|index| self.starts[index]) else {
            return place;
        };
        origin + (place - start)
    }

    fn ends_with_endpoint(&self) -> bool {
        let mut words = self.text.rsplit(|octet| is_space(*octet));
        let last = words.find(|word| !word.is_empty());
        last.is_some_and(|word| Endpoint::read(word).is_some())
    }
}

/// Length of the marks at the start of a line, and their number.
fn marks(line: &[u8]) -> (usize, usize) {
    let mut depth = 0;
    let mut end = 0;
    for (at, octet) in line.iter().enumerate() {
        match octet {
            b'>' | b'|' => {
                depth += 1;
                end = at + 1;
            }
            b' ' | b'\t' => {}
            _ => break,
        }
    }
    (end, depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        String::from_utf8(Lines::new(text.as_bytes(), true).text).unwrap()
    }

    #[test]
    fn marks_of_quoting_go_and_the_packets_own_stay() {
        assert_eq!(plain("> > a\n> b\nc > d\n"), " a\n b\nc > d\n");
        assert_eq!(plain("|a\n"), "a\n");
        let wrapped = "1.2.3.4.5\n> 1.2.3.4.6: S\n";
        assert_eq!(plain(wrapped), wrapped);
        let quoted = "> 1.2.3.4.5\n> > 1.2.3.4.6: S\n";
        assert_eq!(plain(quoted), " 1.2.3.4.5\n> 1.2.3.4.6: S\n");
        let both = "> 1.2.3.4.5 >\n> 1.2.3.4.6: S\n";
        assert_eq!(plain(both), " 1.2.3.4.5 >\n 1.2.3.4.6: S\n");
    }

    #[test]
    fn each_place_knows_where_it_is_from() {
        let text = b"> ab\n\n>> cd\nef";
        let lines = Lines::new(text, true);
        for (place, octet) in lines.text.iter().enumerate() {
            assert_eq!(text[lines.origin(place)], *octet);
        }
        assert_eq!(lines.origin(lines.text.len()), text.len());
    }
}
