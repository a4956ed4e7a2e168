//! System calls: `0...0.4 read(4, ..., 1000) = -1 ECONNRESET (Connection reset)`.

use alloc::string::String;
use alloc::vec::Vec;

use super::cursor::Cursor;
use super::{Parsed, time};
use crate::ast::{Call, Member, Value};

/// Maximum nesting of brackets; hostile text must not exhaust the stack.
const MAX_DEPTH: u32 = 40;

const EXPECTED: &str = "an event: `<` or `>` and a packet, a call, a command in backticks, or %{";

/// Parses a call whose time has been parsed.
pub fn call(cursor: &mut Cursor<'_>) -> Parsed<Call> {
    let mut ends = None;
    if cursor.take("...") {
        cursor.skip_spaces();
        // `0...+0.4` is equivalent.
        let _ = cursor.take("+");
        ends = Some(time::seconds(cursor, "when the call returns")?);
        cursor.skip_blank()?;
    }
    let start = *cursor;
    let name = String::from(cursor.name());
    if name.is_empty() {
        return Err(start.mistake(EXPECTED));
    }
    cursor.skip_blank()?;
    cursor.expect("(", "`(` and the arguments of the call")?;
    let args = values(cursor, ")", 0)?;
    cursor.skip_blank()?;
    cursor.expect("=", "`=` and what the call returns")?;
    cursor.skip_blank()?;
    let result = value(cursor, 0)?;
    let errno = errno(cursor);
    skip_note(cursor)?;
    Ok(Call {
        ends,
        name,
        args,
        result,
        errno,
    })
}

/// Parses `ECONNRESET`.
fn errno(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut ahead = *cursor;
    ahead.skip_spaces();
    let name = ahead.name();
    let is_errno = name.len() > 1 && name.starts_with('E');
    is_errno.then(|| {
        *cursor = ahead;
        String::from(name)
    })
}

/// Skips `(Connection reset by peer)`.
fn skip_note(cursor: &mut Cursor<'_>) -> Parsed<()> {
    let mut ahead = *cursor;
    ahead.skip_spaces();
    if ahead.take("(") {
        ahead.take_while(|c| c != ')' && c != '\n');
        ahead.expect(")", "`)` after the note")?;
        *cursor = ahead;
    }
    Ok(())
}

/// Parses values separated by commas, up to `close`.
fn values(cursor: &mut Cursor<'_>, close: &str, depth: u32) -> Parsed<Vec<Value>> {
    let expected = match close {
        ")" => "`,` or `)`",
        _ => "`,` or `]`",
    };
    cursor.list(close, expected, |cursor| value(cursor, depth))
}

/// Parses values separated by `|`.
fn value(cursor: &mut Cursor<'_>, depth: u32) -> Parsed<Value> {
    let first = single(cursor, depth)?;
    let mut parts = Vec::from([first]);
    loop {
        let mut ahead = *cursor;
        ahead.skip_blank()?;
        if !ahead.take("|") {
            break;
        }
        ahead.skip_blank()?;
        parts.push(single(&mut ahead, depth)?);
        *cursor = ahead;
    }
    Ok(match parts.len() {
        1 => parts.remove(0),
        _ => Value::Or(parts),
    })
}

fn single(cursor: &mut Cursor<'_>, depth: u32) -> Parsed<Value> {
    if depth > MAX_DEPTH {
        return Err(cursor.mistake("fewer brackets inside one another"));
    }
    if cursor.take("...") {
        return Ok(Value::Ellipsis);
    }
    Ok(match cursor.peek() {
        Some('-') => {
            cursor.advance(1);
            Value::Integer(-number(cursor)?)
        }
        Some(c) if c.is_ascii_digit() => Value::Integer(number(cursor)?),
        Some('"') => Value::Text(text(cursor)?),
        Some('[') => {
            cursor.advance(1);
            Value::List(values(cursor, "]", depth + 1)?)
        }
        Some('{') => {
            cursor.advance(1);
            Value::Struct(cursor.list("}", "`,` or `}`", |cursor| member(cursor, depth + 1))?)
        }
        _ => {
            let start = *cursor;
            let name = String::from(cursor.name());
            if name.is_empty() {
                return Err(start.mistake("a value: a number, a name, a string, [..], {..} or ..."));
            }
            match cursor.take("(") {
                true => Value::Function(name, values(cursor, ")", depth + 1)?),
                false => Value::Name(name),
            }
        }
    })
}

fn number(cursor: &mut Cursor<'_>) -> Parsed<i64> {
    Ok(cursor.unsigned(i64::MAX as u64, "a whole number")? as i64)
}

/// Parses a string with the escapes of C.
fn text(cursor: &mut Cursor<'_>) -> Parsed<Vec<u8>> {
    let start = *cursor;
    cursor.advance(1);
    let mut octets = Vec::new();
    loop {
        let Some(c) = cursor.peek() else {
            return Err(start.mistake("a string with a closing quotation mark"));
        };
        cursor.advance(c.len_utf8());
        match c {
            '"' => return Ok(octets),
            '\\' => octets.push(escape(cursor)?),
            c => octets.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

fn escape(cursor: &mut Cursor<'_>) -> Parsed<u8> {
    let start = *cursor;
    let Some(c) = cursor.peek() else {
        return Err(start.mistake("an escape"));
    };
    cursor.advance(c.len_utf8());
    Ok(match c {
        'n' => b'\n',
        't' => b'\t',
        'r' => b'\r',
        '0' => 0,
        'x' => {
            let digits = cursor.rest().get(..2).unwrap_or_default();
            let octet = u8::from_str_radix(digits, 16)
                .map_err(|_| start.mistake("\\x and two hexadecimal digits"))?;
            cursor.advance(2);
            octet
        }
        '"' | '\\' | '\'' => c as u8,
        _ => return Err(start.mistake("one of the escapes \\n \\t \\r \\0 \\xNN \\\" \\\\")),
    })
}

/// Parses `name=value`, `name(4)=value` or `value`.
fn member(cursor: &mut Cursor<'_>, depth: u32) -> Parsed<Member> {
    let left = value(cursor, depth)?;
    let mut ahead = *cursor;
    ahead.skip_blank()?;
    let bare = |value| Member {
        name: None,
        size: None,
        value,
    };
    if !ahead.take("=") {
        return Ok(bare(left));
    }
    let (name, size) = match left {
        Value::Name(name) => (name, None),
        Value::Function(name, size) => (name, Some(size)),
        _ => return Err(cursor.mistake("a name before `=`")),
    };
    ahead.skip_blank()?;
    *cursor = ahead;
    let value = value(cursor, depth)?;
    Ok(Member {
        name: Some(name),
        size,
        value,
    })
}
