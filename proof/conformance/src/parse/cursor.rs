//! Cursor in the text, and the basic rules used by all other rules.

use alloc::vec::Vec;

use super::Parsed;
use crate::source::Mistake;

/// Position in the text.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn starts_with(&self, word: &str) -> bool {
        self.rest().starts_with(word)
    }

    /// Advances by `len` bytes, which the caller has examined.
    pub fn advance(&mut self, len: usize) {
        self.at += len;
    }

    /// Consumes `word` if it is next.
    pub fn take(&mut self, word: &str) -> bool {
        let found = self.starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Consumes the name `word` if it is next and ends there.
    pub fn take_name(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let found = ahead.name() == word;
        if found {
            *self = ahead;
        }
        found
    }

    pub fn take_while(&mut self, mut wanted: impl FnMut(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    pub fn expect(&mut self, word: &str, expected: &str) -> Parsed<()> {
        match self.take(word) {
            true => Ok(()),
            false => Err(self.mistake(expected)),
        }
    }

    /// Error that the word here is not `expected`.
    pub fn mistake(&self, expected: &str) -> Mistake {
        let mut ahead = *self;
        let word = ahead.take_while(|c| !c.is_whitespace() && !",<>`".contains(c));
        let len = match (word.len(), self.peek()) {
            (0, Some(c)) => c.len_utf8(),
            (len, _) => len,
        };
        Mistake::new(self.at..self.at + len, expected)
    }

    /// Skips spaces in this line.
    pub fn skip_spaces(&mut self) {
        self.take_while(|c| c == ' ' || c == '\t');
    }

    /// Skips spaces, line ends and comments.
    pub fn skip_blank(&mut self) -> Parsed<()> {
        loop {
            self.take_while(char::is_whitespace);
            if self.starts_with("//") || self.starts_with("#") {
                self.take_while(|c| c != '\n');
            } else if self.starts_with("/*") {
                let Some(len) = self.rest().find("*/") else {
                    let span = self.at..self.at + 2;
                    return Err(Mistake::new(span, "`*/` after it"));
                };
                self.at += len + 2;
            } else {
                return Ok(());
            }
        }
    }

    /// Parses items separated by commas up to `close`; `expected` is what follows an item.
    pub fn list<T>(
        &mut self,
        close: &str,
        expected: &str,
        item: impl Fn(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut all = Vec::new();
        self.skip_blank()?;
        while !self.take(close) {
            all.push(item(self)?);
            self.skip_blank()?;
            if !self.take(",") && !self.starts_with(close) {
                return Err(self.mistake(expected));
            }
            self.skip_blank()?;
        }
        Ok(all)
    }

    /// Consumes letters, digits and underscores, not beginning with a digit. Returns an empty name
    /// if there are none.
    pub fn name(&mut self) -> &'a str {
        if self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return "";
        }
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Parses an integer, decimal or `0x...`, without a sign.
    pub fn unsigned(&mut self, most: u64, expected: &str) -> Parsed<u64> {
        let start = *self;
        let hexadecimal = self.take("0x") || self.take("0X");
        let (digits, radix) = match hexadecimal {
            true => (self.take_while(|c| c.is_ascii_hexdigit()), 16),
            false => (self.take_while(|c| c.is_ascii_digit()), 10),
        };
        match u64::from_str_radix(digits, radix) {
            Ok(n) if n <= most => Ok(n),
            _ => {
                let mistake = start.mistake(expected);
                *self = start;
                Err(mistake)
            }
        }
    }

    pub fn u32(&mut self, expected: &str) -> Parsed<u32> {
        Ok(self.unsigned(u64::from(u32::MAX), expected)? as u32)
    }

    pub fn u16(&mut self, expected: &str) -> Parsed<u16> {
        Ok(self.unsigned(u64::from(u16::MAX), expected)? as u16)
    }

    pub fn u8(&mut self, expected: &str) -> Parsed<u8> {
        Ok(self.unsigned(u64::from(u8::MAX), expected)? as u8)
    }
}
