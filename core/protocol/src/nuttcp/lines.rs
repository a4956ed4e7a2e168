//! Splits a byte stream into lines of limited length.

use alloc::string::String;
use alloc::vec::Vec;

use super::error::{Error, excerpt};

/// Maximum number of bytes of a line without its end. The longest that nuttcp 8.2.2 writes,
/// parameters with a third party's name, has 900.
pub const MAX_LINE: usize = 2048;

/// Maximum number of outputs that wait. 64 KiB of the shortest interval lines are 1456.
pub const MAX_WAITING: usize = 4096;

/// Prefix of a private line: a piece of a text. Only clients of this project get it.
const PRIVATE: &str = "gigatcp ";

/// Maximum number of bytes of a piece.
const PIECE: usize = MAX_LINE - PRIVATE.len();

/// Maximum number of bytes of a text in private lines.
pub const MAX_PRIVATE: usize = 8 << 20;

/// A text as private lines.
pub(super) fn private(mut text: &str) -> String {
    let mut lines = String::new();
    while !text.is_empty() {
        let mut end = text.len().min(PIECE);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, rest) = text.split_at(end);
        lines.extend([PRIVATE, piece, "\n"]);
        text = rest;
    }
    lines
}

/// Piece in a private line; `None` if it is not private.
pub(super) fn piece(line: &str) -> Option<&str> {
    line.strip_prefix(PRIVATE)
}

/// Reassembles lines from pieces of any size.
#[derive(Clone, Default, Debug)]
pub struct Lines {
    /// The line without its end so far.
    begun: Vec<u8>,
}

impl Lines {
    /// Consumes bytes up to the end of a line; returns the line if it ended.
    ///
    /// `bytes` is advanced; call again until it is empty. Text that is not UTF-8 is
    /// replaced, a carriage return before the end is dropped.
    ///
    /// # Errors
    /// If the line exceeds [`MAX_LINE`].
    pub fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<String>, Error> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let piece = &bytes[..end.unwrap_or(bytes.len())];
        if self.begun.len() + piece.len() > MAX_LINE {
            let room = piece.len().min(MAX_LINE - self.begun.len());
            self.begun.extend_from_slice(&piece[..room]);
            let read = excerpt(&String::from_utf8_lossy(&self.begun));
            self.begun = Vec::new();
            return Err(Error::LineTooLong {
                read,
                limit: MAX_LINE,
            });
        }
        self.begun.extend_from_slice(piece);
        let Some(end) = end else {
            *bytes = &[];
            return Ok(None);
        };
        *bytes = &bytes[end + 1..];
        if self.begun.last() == Some(&b'\r') {
            self.begun.pop();
        }
        let line = String::from_utf8_lossy(&self.begun).into_owned();
        self.begun.clear();
        Ok(Some(line))
    }

    /// Number of bytes held.
    pub fn held(&self) -> usize {
        self.begun.len()
    }
}
