//! Times of events: `0.1`, `+.1`, `*`, `0.1~0.2`, `+.1~+.2`.

use gigatcp_units::Duration;

use super::Parsed;
use super::cursor::Cursor;
use crate::ast::Time;

const EXPECTED: &str = "an event: it begins with a time, as in +.1 or 0.25";

/// Parses the time of an event.
pub fn time(cursor: &mut Cursor<'_>) -> Parsed<Time> {
    if cursor.take("*") {
        return Ok(Time::Any);
    }
    let is_relative = cursor.take("+");
    cursor.skip_spaces();
    let first = seconds(cursor, EXPECTED)?;
    let mut ahead = *cursor;
    ahead.skip_spaces();
    if !ahead.take("~") {
        return Ok(match is_relative {
            true => Time::Relative(first),
            false => Time::Absolute(first),
        });
    }
    *cursor = ahead;
    cursor.skip_spaces();
    // `+.1~.2` is read as `+.1~+.2`: scripts mean nothing else.
    let second_is_relative = cursor.take("+");
    let start = *cursor;
    let second = seconds(cursor, "the end of a range of times")?;
    if second_is_relative && !is_relative {
        return Err(start.mistake("an absolute time: the range began with one"));
    }
    if second < first {
        return Err(start.mistake("the later end of the range"));
    }
    Ok(match is_relative {
        true => Time::RelativeRange(first, second),
        false => Time::AbsoluteRange(first, second),
    })
}

/// Parses seconds with up to nine decimals. `.1` and `1.` are numbers; the dots of `1...2` are not
/// part of one.
pub fn seconds(cursor: &mut Cursor<'_>, expected: &str) -> Parsed<Duration> {
    let start = *cursor;
    let whole = cursor.take_while(|c| c.is_ascii_digit());
    let mut decimals = "";
    if cursor.starts_with(".") && !cursor.starts_with("..") {
        cursor.advance(1);
        decimals = cursor.take_while(|c| c.is_ascii_digit());
    }
    let is_number = !(whole.is_empty() && decimals.is_empty());
    // A million seconds is longer than any script.
    let seconds: u64 = match whole {
        "" if is_number => 0,
        _ => whole
            .parse()
            .ok()
            .filter(|n| *n <= 1_000_000)
            .unwrap_or(u64::MAX),
    };
    if !is_number || seconds == u64::MAX || decimals.len() > 9 {
        let mistake = start.mistake(expected);
        *cursor = start;
        return Err(mistake);
    }
    let mut nanos: u64 = 0;
    for place in 0..9 {
        let digit = decimals.as_bytes().get(place).map_or(0, |d| d - b'0');
        nanos = nanos * 10 + u64::from(digit);
    }
    Ok(Duration::from_nanos(seconds * 1_000_000_000 + nanos))
}
