//! ICMP messages: `icmp unreachable frag_needed mtu 1200 [1:1001(1000)]`.

use alloc::string::String;

use super::Parsed;
use super::cursor::Cursor;
use super::sequence::{length, sequence};
use crate::ast::{IcmpSpec, Quoted};

/// Parses an ICMP message whose first word has been parsed.
pub fn icmp(cursor: &mut Cursor<'_>) -> Parsed<IcmpSpec> {
    cursor.skip_blank()?;
    let kind = word(cursor);
    if kind.is_empty() {
        return Err(
            cursor.mistake("a type: unreachable, time_exceeded, packet_too_big or a number")
        );
    }
    let mut spec = IcmpSpec {
        kind,
        code: None,
        mtu: None,
        quoted: None,
    };
    loop {
        let mut ahead = *cursor;
        ahead.skip_spaces();
        if ahead.take_name("mtu") {
            ahead.skip_spaces();
            spec.mtu = Some(ahead.u32("an MTU")?);
        } else if ahead.take("[") {
            spec.quoted = Some(quoted(&mut ahead)?);
            *cursor = ahead;
            return Ok(spec);
        } else {
            let code = word(&mut ahead);
            if code.is_empty() || spec.code.is_some() {
                return Ok(spec);
            }
            spec.code = Some(code);
        }
        *cursor = ahead;
    }
}

/// Parses a name or a number.
fn word(cursor: &mut Cursor<'_>) -> String {
    cursor
        .take_while(|c| c.is_ascii_alphanumeric() || c == '_')
        .into()
}

fn quoted(cursor: &mut Cursor<'_>) -> Parsed<Quoted> {
    cursor.skip_blank()?;
    let quoted = if cursor.take_name("udp") {
        Quoted::Udp {
            len: length(cursor)?,
        }
    } else {
        let (seq, len) = sequence(cursor)?;
        Quoted::Tcp { seq, len }
    };
    cursor.skip_blank()?;
    cursor.expect("]", "`]` after what is quoted")?;
    Ok(quoted)
}
