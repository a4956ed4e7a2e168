//! Parses words and numbers of a text, without reading beyond its end.

/// A position in a text.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    text: &'a [u8],
    /// The position: an index into the text.
    pub at: usize,
}

/// Whether a character separates words. Line breaks do, since mail wraps lines.
pub const fn is_space(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t' | b'\n' | b'\r')
}

/// Words of a text.
pub fn words(text: &[u8]) -> Vec<&[u8]> {
    let words = text.split(|octet| is_space(*octet));
    words.filter(|word| !word.is_empty()).collect()
}

impl<'a> Cursor<'a> {
    pub const fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// Skips white space.
    pub fn spaces(&mut self) {
        let spaces = self.rest().iter().take_while(|octet| is_space(**octet));
        self.at += spaces.count();
    }

    /// Skips `what` if it is next. A space in `what` matches any white space.
    pub fn take(&mut self, what: &str) -> bool {
        let mut probe = *self;
        for word in what.split_inclusive(' ') {
            let (letters, has_space) = match word.strip_suffix(' ') {
                Some(letters) => (letters, true),
                None => (word, false),
            };
            if !probe.rest().starts_with(letters.as_bytes()) {
                return false;
            }
            probe.at += letters.len();
            let before = probe.at;
            if has_space {
                probe.spaces();
                if probe.at == before {
                    return false;
                }
            }
        }
        *self = probe;
        true
    }

    /// Parses a decimal number of 32 bits.
    pub fn number(&mut self) -> Option<u32> {
        let digits = self
            .rest()
            .iter()
            .take_while(|octet| octet.is_ascii_digit());
        let len = digits.count();
        let number = parse(&self.rest()[..len])?;
        self.at += len;
        Some(number)
    }

    /// Parses a number behind `word`.
    pub fn number_behind(&mut self, word: &str) -> Option<u32> {
        let mut probe = *self;
        let number = probe.take(word).then(|| probe.number())??;
        *self = probe;
        Some(number)
    }

    /// Text between brackets that begin here; nested brackets are counted. `None` if they do not
    /// end within a few hundred bytes.
    pub fn bracketed(&mut self, open: u8, close: u8) -> Option<&'a [u8]> {
        const FAR: usize = 600;
        let rest = self.rest();
        if rest.first() != Some(&open) {
            return None;
        }
        let mut depth = 0;
        for (at, octet) in rest.iter().enumerate().take(FAR) {
            if *octet == open {
                depth += 1;
            } else if *octet == close {
                depth -= 1;
                if depth == 0 {
                    self.at += at + 1;
                    return Some(&rest[1..at]);
                }
            }
        }
        None
    }
}

/// Parses digits.
pub fn parse<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Parses hexadecimal digits behind `0x`.
pub fn parse_hex(digits: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(digits).ok()?.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok()
}
