//! Expressions over keys of the plan: `2 * bdp`, `path.rtt / 2`, `min(bdp, 4 MB)`.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = factor { ("*" | "/") factor }
//! factor  = number [unit] | "bdp" | key | "(" sum ")" | ("min" | "max") "(" sum "," sum ")"
//! ```
//!
//! Quantities have dimensions: a rate times a time is an amount of data. Only quantities of one
//! dimension can be added. `bdp` is the bottleneck rate times the base RTT of the cell's path.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use gigatcp_units::settings::TextError;

use super::amount::{Amount, Dimension};
use crate::keys::lookup;

/// A computed value.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, PartialEq, Debug)]
enum Node {
    Constant(Amount),
    Name(String),
    Operation(Operator, Box<[Node; 2]>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Min,
    Max,
}

/// Maximum nesting: the parser is recursive, and each level uses stack.
const MAX_NESTED: usize = 64;

/// Whether a text contains `bdp` or a key.
pub(super) fn is_computed(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut words = text.split(|c| !is_part(c));
    words.any(|word| word == "bdp" || (word.contains('.') && lookup::find(word, 0..0).is_ok()))
}

impl Expression {
    /// Parses an expression that begins at byte `begin` of a larger text.
    pub(super) fn read(text: &str, begin: usize) -> Result<Self, TextError> {
        let mut parser = Parser {
            text,
            at: 0,
            begin,
            depth: 0,
        };
        let root = parser.sum()?;
        match parser.rest() {
            "" => Ok(Self {
                text: text.to_owned(),
                root,
            }),
            rest => {
                let place = parser.at..parser.at + rest.len();
                Err(parser.wrong(place, "an operator is missing"))
            }
        }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value; `value_of` returns the values of keys and of `bdp`.
    ///
    /// # Errors
    /// The reason in words: a key without a value, or quantities that cannot be added.
    pub fn evaluate(&self, value_of: &dyn Fn(&str) -> Option<Amount>) -> Result<Amount, String> {
        evaluate(&self.root, value_of)
    }
}

fn evaluate(node: &Node, value_of: &dyn Fn(&str) -> Option<Amount>) -> Result<Amount, String> {
    match node {
        Node::Constant(amount) => Ok(*amount),
        Node::Name(name) => {
            value_of(name).ok_or_else(|| format!("`{name}` is not a quantity in this cell"))
        }
        Node::Operation(operator, sides) => {
            let [left, right] = &**sides;
            let (left, right) = (evaluate(left, value_of)?, evaluate(right, value_of)?);
            apply(*operator, left, right)
        }
    }
}

fn apply(operator: Operator, left: Amount, right: Amount) -> Result<Amount, String> {
    let combined = |sign: i8| Dimension {
        data: left
            .dimension
            .data
            .saturating_add(sign * right.dimension.data),
        time: left
            .dimension
            .time
            .saturating_add(sign * right.dimension.time),
    };
    let (a, b) = (left.value, right.value);
    let (value, dimension) = match operator {
        Operator::Multiply => (a * b, combined(1)),
        Operator::Divide => (a / b, combined(-1)),
        _ if left.dimension != right.dimension => {
            return Err("two quantities of different dimensions are added or compared".to_owned());
        }
        Operator::Add => (a + b, left.dimension),
        Operator::Subtract => (a - b, left.dimension),
        Operator::Min => (if b < a { b } else { a }, left.dimension),
        Operator::Max => (if b > a { b } else { a }, left.dimension),
    };
    match value.is_finite() {
        true => Ok(Amount { value, dimension }),
        false => Err("the result is not a number".to_owned()),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    begin: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed.trim_end()
    }

    fn wrong(&self, place: Range<usize>, why: &str) -> TextError {
        let hint = "numbers with units, keys and `bdp` with + - * / between them, as in 2 * bdp";
        let part = self.text.get(place.clone()).unwrap_or(self.text);
        let place = self.begin + place.start..self.begin + place.end;
        TextError::new(part, place, why, hint)
    }

    fn take(&mut self, operators: &[(char, Operator)]) -> Option<Operator> {
        let first = self.rest().chars().next()?;
        let found = operators.iter().find(|(sign, _)| *sign == first)?;
        self.at += 1;
        Some(found.1)
    }

    fn expect(&mut self, sign: char) -> Result<(), TextError> {
        if self.rest().starts_with(sign) {
            self.at += 1;
            return Ok(());
        }
        let at = self.at;
        Err(self.wrong(at..self.text.len(), &format!("`{sign}` is missing")))
    }

    fn sum(&mut self) -> Result<Node, TextError> {
        self.depth += 1;
        if self.depth > MAX_NESTED {
            return Err(self.wrong(0..self.text.len(), "too many parentheses"));
        }
        let operators = [('+', Operator::Add), ('-', Operator::Subtract)];
        let mut left = self.product()?;
        while let Some(operator) = self.take(&operators) {
            left = Node::Operation(operator, Box::new([left, self.product()?]));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Node, TextError> {
        let operators = [('*', Operator::Multiply), ('/', Operator::Divide)];
        let mut left = self.factor()?;
        while let Some(operator) = self.take(&operators) {
            left = Node::Operation(operator, Box::new([left, self.factor()?]));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Node, TextError> {
        let rest = self.rest();
        match rest.chars().next() {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.constant(rest),
            Some(c) if c.is_ascii_alphabetic() => self.name(rest),
            _ => {
                let at = self.at;
                Err(self.wrong(at..self.text.len(), "a value is missing"))
            }
        }
    }

    fn constant(&mut self, rest: &str) -> Result<Node, TextError> {
        let digits = number_length(rest);
        let behind = rest[digits..].trim_start();
        let is_unit = |c: char| c.is_alphabetic() || c == '%';
        let mut unit = behind.find(|c| !is_unit(c)).unwrap_or(behind.len());
        if unit > 0 && behind[unit..].starts_with("/s") {
            unit += 2;
        }
        let length = match unit {
            0 => digits,
            unit => rest.len() - behind.len() + unit,
        };
        let place = self.at..self.at + length;
        let amount = Amount::read(&rest[..length])
            .ok_or_else(|| self.wrong(place, "it is not a number with a unit"))?;
        self.at += length;
        Ok(Node::Constant(amount))
    }

    fn name(&mut self, rest: &str) -> Result<Node, TextError> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        let place = self.at..self.at + length;
        self.at += length;
        let operator = match word {
            "min" => Operator::Min,
            "max" => Operator::Max,
            "bdp" => return Ok(Node::Name(word.to_owned())),
            word => {
                let place = self.begin + place.start..self.begin + place.end;
                lookup::find(word, place)?;
                return Ok(Node::Name(word.to_owned()));
            }
        };
        self.expect('(')?;
        let left = self.sum()?;
        self.expect(',')?;
        let right = self.sum()?;
        self.expect(')')?;
        Ok(Node::Operation(operator, Box::new([left, right])))
    }
}

/// Length of the number at the start of the text.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while is_digit(end) || bytes.get(end) == Some(&b'.') {
        end += 1;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        if is_digit(end + 1 + sign) {
            end += 1 + sign;
            while is_digit(end) {
                end += 1;
            }
        }
    }
    end
}
