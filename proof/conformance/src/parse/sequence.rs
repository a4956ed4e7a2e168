//! `1:1001(1000)`: sequence numbers and a length.

use alloc::format;

use super::cursor::Cursor;
use super::{Mistake, Parsed};

/// `1:1001(1000)`.
pub fn sequence(cursor: &mut Cursor<'_>) -> Parsed<(u32, u32)> {
    let start = *cursor;
    let expected = "sequence numbers, as in 1:1001(1000)";
    let first = cursor.u32(expected)?;
    cursor.expect(":", expected)?;
    let end = cursor.u32(expected)?;
    let len = length(cursor)?;
    if first.wrapping_add(len) != end {
        let right = first.wrapping_add(len);
        let span = start.at()..cursor.at();
        let expected = format!("{first}:{right}({len}): the end is the start plus the length");
        let meant = end.wrapping_sub(first);
        return Err(Mistake::new(span, expected)
            .hint(format!("or {first}:{end}({meant}), if the end is right")));
    }
    Ok((first, len))
}

/// `(1000)`.
pub fn length(cursor: &mut Cursor<'_>) -> Parsed<u32> {
    cursor.skip_blank()?;
    cursor.expect("(", "a length in parentheses")?;
    cursor.skip_spaces();
    let len = cursor.unsigned(65_535 * 16, "a length")? as u32;
    cursor.skip_spaces();
    cursor.expect(")", "`)` after the length")?;
    Ok(len)
}
