//! Lexer of the assertions.

use alloc::string::String;
use alloc::vec::Vec;

use crate::source::{Mistake, Span};

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub enum Token {
    /// A whole number.
    Int(i128),
    /// A real number.
    Float(f64),
    /// A string.
    Text(String),
    /// A name or keyword.
    Name(String),
    /// An operator or bracket.
    Operator(&'static str),
    /// End of a statement.
    End,
}

/// Operators, longest first, so that the longest match is taken.
const OPERATORS: [&str; 35] = [
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "|=", "&=", "+", "-", "*",
    "/", "%", "<", ">", "=", "|", "&", "^", "~", "(", ")", "[", "]", ",", ":", ".", "{", "}", "@",
];

/// Splits `text`, which begins at byte `base` of the script, into tokens. Line ends inside brackets
/// are ignored.
pub fn tokens(text: &str, base: usize) -> Result<Vec<(Token, Span)>, Mistake> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut depth = 0_i32;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let token = match c {
            '\\' if text[at + 1..].starts_with('\n') => {
                at += 2;
                continue;
            }
            '\\' if text[at + 1..].starts_with("\r\n") => {
                at += 3;
                continue;
            }
            '#' => {
                at = text[at..].find('\n').map_or(text.len(), |end| at + end);
                continue;
            }
            '\n' | ';' => {
                at += 1;
                if depth > 0 && c == '\n' {
                    continue;
                }
                Token::End
            }
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '0'..='9' => number(text, &mut at, base)?,
            '.' if text[at + 1..].starts_with(|c: char| c.is_ascii_digit()) => {
                number(text, &mut at, base)?
            }
            '"' | '\'' => string(text, &mut at, c, base)?,
            c if c.is_alphabetic() || c == '_' => {
                let end = |c: char| !c.is_alphanumeric() && c != '_';
                at = text[at..].find(end).map_or(text.len(), |end| at + end);
                Token::Name(text[start..at].into())
            }
            _ => {
                let known = OPERATORS.iter().find(|op| text[at..].starts_with(**op));
                let operator = known.ok_or_else(|| {
                    let span = base + at..base + at + c.len_utf8();
                    Mistake::new(span, "a word of a Python expression")
                })?;
                at += operator.len();
                depth += i32::from(matches!(*operator, "(" | "["));
                depth -= i32::from(matches!(*operator, ")" | "]"));
                Token::Operator(operator)
            }
        };
        found.push((token, base + start..base + at));
    }
    Ok(found)
}

fn number(text: &str, at: &mut usize, base: usize) -> Result<Token, Mistake> {
    let start = *at;
    let end = |c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_';
    *at = text[start..]
        .find(end)
        .map_or(text.len(), |end| start + end);
    // The sign of an exponent belongs to the number.
    if text[start..*at].ends_with(['e', 'E'])
        && !text[start..].starts_with("0x")
        && text[*at..].starts_with(['+', '-'])
    {
        let rest = &text[*at + 1..];
        *at += 1 + rest.find(end).unwrap_or(rest.len());
    }
    let word = text[start..*at].replace('_', "");
    let hexadecimal = word.strip_prefix("0x").or(word.strip_prefix("0X"));
    let whole = match hexadecimal {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => word.trim_end_matches(['L', 'l']).parse().ok(),
    };
    let real = || word.parse().ok().filter(|x: &f64| x.is_finite());
    whole
        .map(Token::Int)
        .or_else(|| real().map(Token::Float))
        .ok_or_else(|| Mistake::new(base + start..base + *at, "a number"))
}

fn string(text: &str, at: &mut usize, quote: char, base: usize) -> Result<Token, Mistake> {
    let start = *at;
    let mut out = String::new();
    let mut rest = text[start + 1..].char_indices();
    while let Some((offset, c)) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, 't')) => out.push('\t'),
                Some((_, other)) => out.push(other),
                None => break,
            },
            c if c == quote => {
                *at = start + 1 + offset + c.len_utf8();
                return Ok(Token::Text(out));
            }
            c => out.push(c),
        }
    }
    let span = base + start..base + text.len();
    Err(Mistake::new(span, "a closing quotation mark"))
}
