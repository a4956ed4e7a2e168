//! Values of the assertions, and their printed form in Python.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A real number.
    Float(f64),
    /// A string.
    Text(String),
    /// A list or a tuple.
    List(Vec<Value>),
}

impl Value {
    /// Whether Python treats it as true.
    pub fn is_true(&self) -> bool {
        match self {
            Value::None => false,
            Value::Bool(b) => *b,
            Value::Int(n) => *n != 0,
            Value::Float(x) => *x != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(list) => !list.is_empty(),
        }
    }

    /// The value as an integer; truth values count.
    pub(crate) fn as_int(&self) -> Option<i128> {
        match self {
            Value::Bool(b) => Some(i128::from(*b)),
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The value as a real number.
    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(x) => Some(*x),
            _ => self.as_int().map(|n| n as f64),
        }
    }

    /// Result of `str()`.
    pub fn shown(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            _ => self.represented(),
        }
    }

    /// Result of `repr()`.
    pub fn represented(&self) -> String {
        match self {
            Value::None => "None".into(),
            Value::Bool(true) => "True".into(),
            Value::Bool(false) => "False".into(),
            Value::Int(n) => n.to_string(),
            Value::Float(x) if *x == libm::trunc(*x) && x.abs() < 1e16 => format!("{x:.1}"),
            Value::Float(x) => x.to_string(),
            Value::Text(text) => format!("'{text}'"),
            Value::List(list) => {
                let all: Vec<String> = list.iter().map(Value::represented).collect();
                format!("[{}]", all.join(", "))
            }
        }
    }
}

/// `template % arguments`; `None` if they do not match.
pub(crate) fn format_percent(template: &str, arguments: &Value) -> Option<String> {
    let given: &[Value] = match arguments {
        Value::List(list) => list,
        one => core::slice::from_ref(one),
    };
    let mut given = given.iter();
    let mut out = String::new();
    let mut rest = template.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut precision = None;
        let mut after_point = false;
        let conversion = loop {
            match rest.next()? {
                '.' => {
                    after_point = true;
                    precision = Some(0_usize);
                }
                digit @ '0'..='9' if after_point => {
                    let n = precision.unwrap_or(0) * 10 + digit as usize - '0' as usize;
                    precision = Some(n.min(100));
                }
                '0'..='9' | '-' | '+' | ' ' | '#' | 'l' | 'h' => {}
                conversion => break conversion,
            }
        };
        if conversion == '%' {
            out.push('%');
        } else {
            convert(&mut out, conversion, precision, given.next()?)?;
        }
    }
    given.next().is_none().then_some(out)
}

/// Formats one conversion. Field widths are parsed and not applied: messages are not tables.
fn convert(
    out: &mut String,
    conversion: char,
    precision: Option<usize>,
    value: &Value,
) -> Option<()> {
    let whole = || match value {
        Value::Float(x) => Some(*x as i128),
        other => other.as_int(),
    };
    match conversion {
        'd' | 'i' | 'u' => write!(out, "{}", whole()?),
        'x' => write!(out, "{:x}", whole()?),
        'X' => write!(out, "{:X}", whole()?),
        'o' => write!(out, "{:o}", whole()?),
        'f' | 'F' => write!(out, "{:.*}", precision.unwrap_or(6), value.as_float()?),
        'g' | 'e' => write!(out, "{}", value.as_float()?),
        's' => write!(out, "{}", value.shown()),
        'r' => write!(out, "{}", value.represented()),
        _ => return None,
    }
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_formats_as_python_does() {
        let two = Value::List(Vec::from([Value::Int(3), Value::Float(0.5)]));
        assert_eq!(
            format_percent("%d of %.2f, 100%%", &two).unwrap(),
            "3 of 0.50, 100%"
        );
        assert_eq!(format_percent("%s", &Value::Int(7)).unwrap(), "7");
        assert_eq!(format_percent("%d", &two), None, "an argument is left over");
        assert_eq!(format_percent("%d %d", &Value::Int(1)), None);
        assert_eq!(format_percent("%", &Value::Int(1)), None);
        assert_eq!(format_percent("%x", &Value::Int(255)).unwrap(), "ff");
    }
}
