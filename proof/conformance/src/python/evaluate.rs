//! Evaluation of the statements.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::value::format_percent;
use super::{Expression, Kind, Node, Program, Value};
use crate::source::Span;

/// Variables of a program.
pub type Variables = BTreeMap<String, Value>;

/// Reason why a program did not run to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failed {
    /// An assertion does not hold.
    Assertion {
        /// Location of the assertion.
        span: Span,
        /// Its message, or the values on both sides.
        message: String,
    },
    /// A name without a value is used.
    UnknownName {
        /// Location of the name.
        span: Span,
        /// The name.
        name: String,
    },
    /// Incompatible operands, a division by zero, numbers out of range.
    Wrong {
        /// Location of the expression.
        span: Span,
        /// Description of the fault.
        message: String,
    },
}

impl Program {
    /// Runs the statements and returns the lines they print; assignments stay in `variables`.
    ///
    /// # Errors
    /// The first failure.
    pub fn run(&self, variables: &mut Variables) -> Result<Vec<String>, Failed> {
        let mut printed = Vec::new();
        for statement in &self.statements {
            match &statement.kind {
                Kind::Assert(test, message) => {
                    if !value_of(test, variables)?.is_true() {
                        let message = match message {
                            Some(message) => value_of(message, variables)?.shown(),
                            None => String::from("does not hold"),
                        };
                        let span = statement.span.clone();
                        return Err(Failed::Assertion { span, message });
                    }
                }
                Kind::Print(parts) => {
                    let shown: Result<Vec<String>, Failed> = parts
                        .iter()
                        .map(|part| value_of(part, variables).map(|value| value.shown()))
                        .collect();
                    printed.push(shown?.join(" "));
                }
                Kind::Assign(name, expression) => {
                    let value = value_of(expression, variables)?;
                    variables.insert(name.clone(), value);
                }
                Kind::Bare(expression) => {
                    value_of(expression, variables)?;
                }
            }
        }
        Ok(printed)
    }
}

fn value_of(expression: &Expression, variables: &Variables) -> Result<Value, Failed> {
    let wrong = |message: String| Failed::Wrong {
        span: expression.span.clone(),
        message,
    };
    let at = |part: &Expression| value_of(part, variables);
    Ok(match &*expression.node {
        Node::Constant(value) => value.clone(),
        Node::Name(name) => variables
            .get(name)
            .cloned()
            .ok_or_else(|| Failed::UnknownName {
                span: expression.span.clone(),
                name: name.clone(),
            })?,
        Node::List(parts) => Value::List(parts.iter().map(at).collect::<Result<_, _>>()?),
        Node::Unary(op, operand) => unary(op, &at(operand)?)
            .ok_or_else(|| wrong(format!("`{op}` does not fit this operand")))?,
        Node::Binary(op, left, right) => binary(op, &at(left)?, &at(right)?).map_err(wrong)?,
        Node::Compare(first, rest) => {
            let mut left = at(first)?;
            for (op, operand) in rest {
                let right = at(operand)?;
                let holds = compare(op, &left, &right)
                    .ok_or_else(|| wrong(format!("`{op}` cannot compare these")))?;
                if !holds {
                    return Ok(Value::Bool(false));
                }
                left = right;
            }
            Value::Bool(true)
        }
        Node::Logic(word, left, right) => {
            let left = at(left)?;
            let decided = left.is_true() == (*word == "or");
            if decided { left } else { at(right)? }
        }
        Node::Choice(test, yes, no) => at(if at(test)?.is_true() { yes } else { no })?,
        Node::Call(name, arguments) => {
            let arguments: Vec<Value> = arguments.iter().map(at).collect::<Result<_, _>>()?;
            call(name, &arguments)
                .ok_or_else(|| wrong(format!("no function `{name}` takes these arguments")))?
        }
        Node::Index(list, index) => {
            index_of(&at(list)?, &at(index)?).ok_or_else(|| wrong("no such element".into()))?
        }
    })
}

fn unary(op: &str, operand: &Value) -> Option<Value> {
    match (op, operand) {
        ("not", operand) => Some(Value::Bool(!operand.is_true())),
        ("-", Value::Float(x)) => Some(Value::Float(-x)),
        ("+", Value::Float(x)) => Some(Value::Float(*x)),
        ("-", operand) => operand.as_int()?.checked_neg().map(Value::Int),
        ("+", operand) => operand.as_int().map(Value::Int),
        ("~", operand) => operand.as_int().map(|n| Value::Int(!n)),
        _ => None,
    }
}

fn binary(op: &str, left: &Value, right: &Value) -> Result<Value, String> {
    let value = match (op, left, right) {
        ("%", Value::Text(template), arguments) => {
            format_percent(template, arguments).map(Value::Text)
        }
        ("+", Value::Text(a), Value::Text(b)) => Some(Value::Text([&a[..], &b[..]].concat())),
        ("+", Value::List(a), Value::List(b)) => Some(Value::List([&a[..], &b[..]].concat())),
        _ => match (left.as_int(), right.as_int()) {
            (Some(a), Some(b)) => return whole(op, a, b),
            _ => left
                .as_float()
                .zip(right.as_float())
                .and_then(|(a, b)| real(op, a, b)),
        },
    };
    value.ok_or_else(|| format!("`{op}` does not fit these operands"))
}

fn whole(op: &str, a: i128, b: i128) -> Result<Value, String> {
    if matches!(op, "/" | "//" | "%") && b == 0 {
        return Err("division by zero".into());
    }
    let small = |n: i128| u32::try_from(n).ok().filter(|n| *n < 127);
    let value = match op {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        // Python rounds quotients down, and remainders have the divisor's sign.
        "//" => a
            .checked_div(b)
            .map(|q| q - i128::from(a % b != 0 && (a < 0) != (b < 0))),
        "%" => a.checked_rem(b).map(|r| {
            if r != 0 && (r < 0) != (b < 0) {
                r + b
            } else {
                r
            }
        }),
        "|" => Some(a | b),
        "&" => Some(a & b),
        "^" => Some(a ^ b),
        "<<" => small(b).and_then(|n| a.checked_mul(1_i128.checked_shl(n)?)),
        ">>" => small(b).map(|n| a >> n),
        "**" => small(b).and_then(|n| a.checked_pow(n)),
        "/" => return Ok(Value::Float(a as f64 / b as f64)),
        _ => None,
    };
    value
        .map(Value::Int)
        .ok_or_else(|| format!("`{op}` leaves the range of 128 bits"))
}

fn real(op: &str, a: f64, b: f64) -> Option<Value> {
    Some(Value::Float(match op {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" if b != 0.0 => a / b,
        "//" if b != 0.0 => libm::floor(a / b),
        "%" if b != 0.0 => a - b * libm::floor(a / b),
        "**" => libm::pow(a, b),
        _ => return None,
    }))
}

fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::List(a), Value::List(b)) => {
            for (a, b) in a.iter().zip(b) {
                match order(a, b)? {
                    Ordering::Equal => {}
                    other => return Some(other),
                }
            }
            Some(a.len().cmp(&b.len()))
        }
        _ => match (left.as_int(), right.as_int()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => left.as_float()?.partial_cmp(&right.as_float()?),
        },
    }
}

fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::None, Value::None) => true,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        _ => order(left, right) == Some(Ordering::Equal),
    }
}

fn compare(op: &str, left: &Value, right: &Value) -> Option<bool> {
    Some(match op {
        "==" => equal(left, right),
        "!=" => !equal(left, right),
        "in" | "not in" => contains(right, left)? == (op == "in"),
        _ => {
            let order = order(left, right)?;
            match op {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            }
        }
    })
}

fn contains(container: &Value, element: &Value) -> Option<bool> {
    match (container, element) {
        (Value::List(list), element) => Some(list.iter().any(|other| equal(other, element))),
        (Value::Text(text), Value::Text(part)) => Some(text.contains(part.as_str())),
        _ => None,
    }
}

fn index_of(list: &Value, index: &Value) -> Option<Value> {
    let Value::List(list) = list else {
        return None;
    };
    let index = index.as_int()?;
    let place = if index < 0 {
        index.checked_add(list.len() as i128)?
    } else {
        index
    };
    list.get(usize::try_from(place).ok()?).cloned()
}

fn call(name: &str, arguments: &[Value]) -> Option<Value> {
    let elements = match arguments {
        [Value::List(list)] => list,
        several => several,
    };
    match (name, arguments) {
        ("abs", [Value::Float(x)]) => Some(Value::Float(libm::fabs(*x))),
        ("abs", [n]) => n.as_int()?.checked_abs().map(Value::Int),
        ("len", [Value::List(list)]) => Some(Value::Int(list.len() as i128)),
        ("len", [Value::Text(text)]) => Some(Value::Int(text.chars().count() as i128)),
        ("int", [Value::Float(x)]) if x.is_finite() => Some(Value::Int(*x as i128)),
        ("int", [n]) => n.as_int().map(Value::Int),
        ("float", [n]) => n.as_float().map(Value::Float),
        ("round", [x]) => Some(Value::Int(libm::rint(x.as_float()?) as i128)),
        ("round", [x, digits]) => {
            let scale = libm::pow(10.0, digits.as_float()?);
            Some(Value::Float(libm::rint(x.as_float()? * scale) / scale))
        }
        ("str", [value]) => Some(Value::Text(value.shown())),
        ("repr", [value]) => Some(Value::Text(value.represented())),
        ("sum", [Value::List(list)]) => list
            .iter()
            .try_fold(Value::Int(0), |sum, part| binary("+", &sum, part).ok()),
        ("min" | "max", [_, ..]) => {
            let mut best = elements.first()?;
            for other in elements {
                let better = match name {
                    "min" => Ordering::Less,
                    _ => Ordering::Greater,
                };
                if order(other, best)? == better {
                    best = other;
                }
            }
            Some(best.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn run(text: &str) -> Result<Vec<String>, Failed> {
        let mut variables = Variables::new();
        variables.insert("tcpi_snd_cwnd".into(), Value::Int(10));
        variables.insert("tcpi_options".into(), Value::Int(0x23));
        parse(text, 0).unwrap().run(&mut variables)
    }

    #[test]
    fn assertions_of_the_usual_kinds_hold() {
        let all = [
            "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
            "assert (tcpi_options & 32) != 0, tcpi_options",
            "assert 9 <= tcpi_snd_cwnd < 11",
            "assert tcpi_snd_cwnd in (8, 10) and tcpi_snd_cwnd not in [1]",
            "x = 2 ** 3\nassert x + 2 == tcpi_snd_cwnd; assert not x < 8",
            "assert -7 // 2 == -4 and -7 % 3 == 2 and 7 / 2 == 3.5",
            "assert 1460 - 12 == 1448, \\\n  'x'",
            "assert (1\n  + 2) == 3 # a comment",
            "assert max(1, 2) == 2 and abs(-3) == 3 and len([1, 2]) == 2",
            "assert (1 if 0 else 2) == 2",
            "n = 1; n += 2; assert n == 3",
            "assert tcpi_options == (1 | 2 | 0x20)",
            "assert not not 3 == 3",
        ];
        for text in all {
            assert_eq!(run(text), Ok(Vec::new()), "{text}");
        }
    }

    #[test]
    fn an_assertion_that_fails_gives_its_message_and_place() {
        let text = "assert tcpi_snd_cwnd == 11, 'cwnd=%d' % tcpi_snd_cwnd";
        let Err(Failed::Assertion { span, message }) = run(text) else {
            panic!("it holds");
        };
        assert_eq!(message, "cwnd=10");
        assert_eq!(&text[span], text);
    }

    #[test]
    fn what_is_printed_comes_back() {
        let printed = run("print(tcpi_snd_cwnd, 'x'); print 1").unwrap();
        assert_eq!(printed, ["10 x", "1"]);
    }

    #[test]
    fn unknown_names_and_impossible_operations_are_errors() {
        assert!(matches!(
            run("assert tcpi_x"),
            Err(Failed::UnknownName { .. })
        ));
        for text in ["1 // 0", "'a' + 1", "2 ** 1000", "1 << 200", "[1][2]"] {
            assert!(matches!(run(text), Err(Failed::Wrong { .. })), "{text}");
        }
    }

    #[test]
    fn statements_that_hold_others_are_refused_with_their_place() {
        let mistake = parse("assert 1\nif x: y", 100).unwrap_err();
        assert_eq!(mistake.span, 109 + 3..109 + 4, "{}", mistake.expected);
        let deep = "(".repeat(10_000) + &")".repeat(10_000);
        assert!(parse(&deep, 0).is_err());
        assert!(parse(&("-".repeat(10_000) + "1"), 0).is_err());
        assert!(parse(&("not ".repeat(10_000) + "1"), 0).is_ok());
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(
            text in "[-+*/%()<>=!&|^~,;: \n\\\\a-c0-9.'\"\\[\\]]{0,40}"
        ) {
            if let Ok(program) = parse(&text, 0) {
                let mut variables = Variables::new();
                variables.insert("a".to_string(), Value::Int(i128::MAX));
                variables.insert("b".to_string(), Value::Float(-0.5));
                let _ = program.run(&mut variables);
            }
        }
    }
}
