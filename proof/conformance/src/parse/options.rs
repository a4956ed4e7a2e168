//! TCP options between angle brackets.

use alloc::string::String;
use alloc::vec::Vec;

use super::Parsed;
use super::cursor::Cursor;
use crate::ast::{Cookie, EcnCounter, TcpOption};

const EXPECTED: &str = "an option: mss N, wscale N, sackOK, sack A:B, TS val N ecr N, nop, eol, \
                        FO, FOEXP, ECN, md5 or unknown N";

/// Parses options up to `>`, after the opening bracket; `None` for `<...>`.
pub fn options(cursor: &mut Cursor<'_>) -> Parsed<Option<Vec<TcpOption>>> {
    cursor.skip_blank()?;
    if cursor.take("...") {
        cursor.skip_blank()?;
        cursor.expect(">", "`>` after `...`")?;
        return Ok(None);
    }
    let all = cursor.list(">", "`,` or `>` after an option", option)?;
    Ok(Some(all))
}

fn option(cursor: &mut Cursor<'_>) -> Parsed<TcpOption> {
    let start = *cursor;
    let name = cursor.name();
    cursor.skip_spaces();
    Ok(match name {
        "nop" | "NOP" => TcpOption::Nop,
        "eol" | "EOL" => TcpOption::Eol,
        "sackOK" => TcpOption::SackPermitted,
        "mss" => TcpOption::Mss(cursor.u16("an MSS: a number up to 65535")?),
        "wscale" => TcpOption::WindowScale(cursor.u8("a window scale: a number up to 255")?),
        "sack" => TcpOption::Sack(blocks(cursor)?),
        "TS" => timestamps(cursor)?,
        "FO" => TcpOption::FastOpen(cookie(cursor)?),
        "FOEXP" => TcpOption::FastOpenExperimental(cookie(cursor)?),
        "ECN" | "exp_ecn" => TcpOption::AccEcn(counters(cursor)?),
        "md5" => TcpOption::Md5(octets(cursor)?),
        "unknown" | "exp" => {
            let kind = cursor.u8("an option kind")?;
            cursor.skip_spaces();
            let data = octets(cursor)?;
            TcpOption::Unknown { kind, data }
        }
        _ => return Err(start.mistake(EXPECTED)),
    })
}

/// Parses `1:1001 2001:3001`.
fn blocks(cursor: &mut Cursor<'_>) -> Parsed<Vec<(u32, u32)>> {
    let mut all = Vec::new();
    while cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
        let left = cursor.u32("a SACK block, as in 1001:2001")?;
        cursor.expect(":", "`:` inside a SACK block")?;
        all.push((left, cursor.u32("the end of a SACK block")?));
        cursor.skip_blank()?;
    }
    match all.is_empty() {
        true => Err(cursor.mistake("a SACK block, as in 1001:2001")),
        false => Ok(all),
    }
}

/// Parses `val 100 ecr 200`.
fn timestamps(cursor: &mut Cursor<'_>) -> Parsed<TcpOption> {
    cursor.expect("val", "`val` of a timestamp")?;
    let val = stamp(cursor)?;
    cursor.skip_blank()?;
    cursor.expect("ecr", "`ecr` of a timestamp")?;
    let ecr = stamp(cursor)?;
    Ok(TcpOption::Timestamps { val, ecr })
}

fn stamp(cursor: &mut Cursor<'_>) -> Parsed<Option<u32>> {
    cursor.skip_spaces();
    if cursor.take("...") {
        return Ok(None);
    }
    cursor.u32("a timestamp, or ... for any").map(Some)
}

/// Parses octets in hexadecimal, a name, or an empty cookie.
fn cookie(cursor: &mut Cursor<'_>) -> Parsed<Cookie> {
    let start = *cursor;
    let word = cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
    if word.chars().all(|c| c.is_ascii_hexdigit()) {
        *cursor = start;
        return octets(cursor).map(Cookie::Octets);
    }
    Ok(Cookie::Name(String::from(word)))
}

/// Parses pairs of hexadecimal digits; spaces and `0x` are permitted between them.
fn octets(cursor: &mut Cursor<'_>) -> Parsed<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let start = *cursor;
        let _ = cursor.take("0x");
        let digits = cursor.take_while(|c| c.is_ascii_hexdigit());
        if digits.len() % 2 == 1 {
            return Err(start.mistake("two hexadecimal digits for each octet"));
        }
        if digits.is_empty() {
            *cursor = start;
            return Ok(all);
        }
        let pairs = (0..digits.len()).step_by(2).map(|at| &digits[at..at + 2]);
        all.extend(pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()));
        cursor.skip_spaces();
    }
}

/// Parses `e1b 1 ceb 0 e0b 1`.
fn counters(cursor: &mut Cursor<'_>) -> Parsed<Vec<(EcnCounter, u32)>> {
    let mut all = Vec::new();
    loop {
        let mut ahead = *cursor;
        ahead.skip_blank()?;
        let which = match ahead.name() {
            "e0b" => EcnCounter::E0,
            "ceb" => EcnCounter::Ce,
            "e1b" => EcnCounter::E1,
            _ => return Ok(all),
        };
        ahead.skip_spaces();
        // Numbers beyond 24 bits wrap, as the counters do.
        let count = ahead.u32("a counter")? & 0x00ff_ffff;
        all.push((which, count));
        *cursor = ahead;
    }
}
