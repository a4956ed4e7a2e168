//! Parser from text to syntax tree.
//!
//! A scannerless recursive descent: the meaning of a word depends on its position (`5.` is the
//! control bits of a FreeBSD script, `1.5` a time, `...` a value). So every rule reads characters
//! itself. It stops at the first mistake.
//!
//! | file | what |
//! |---|---|
//! | `conditions` | `#ifdef` and the like |
//! | `cursor` | characters, blanks, comments, numbers |
//! | `time` | when |
//! | `packet` | `<` and `>` lines |
//! | `options` | TCP options |
//! | `icmp` | ICMP messages |
//! | `call` | calls and their values |

mod call;
mod conditions;
mod cursor;
mod icmp;
mod options;
mod packet;
mod sequence;
mod time;

use alloc::string::String;
use alloc::vec::Vec;

use crate::ast::{Action, Command, Event, Header, OptionLine, Script};
use crate::python;
use crate::source::Mistake;
use cursor::Cursor;
pub use packet::FLAG_LETTERS;

/// Result of a rule.
type Parsed<T> = Result<T, Mistake>;

/// Parses a script.
///
/// # Errors
/// The first mistake, with its location; a script without an event is one.
pub fn parse(text: &str) -> Result<Script, Mistake> {
    let chosen = conditions::chosen_lines(text)?;
    let mut cursor = Cursor::new(&chosen);
    let mut script = Script {
        headers: headers(text),
        ..Script::default()
    };
    loop {
        cursor.skip_blank()?;
        if cursor.is_at_end() {
            if script.events.is_empty() {
                // Without events every stack would pass.
                let end = text.len();
                return Err(Mistake::new(end..end, "an event: nothing would be asked"));
            }
            return Ok(script);
        }
        if cursor.starts_with("--") || cursor.starts_with("-D") {
            script.options.push(option_line(&mut cursor)?);
        } else if cursor.starts_with("`") {
            let command = command(&mut cursor)?;
            match script.events.is_empty() {
                true => script.setup.push(command),
                false => script.cleanup.push(command),
            }
        } else if cursor.starts_with(";") {
            // Some scripts terminate lines as C does.
            cursor.advance(1);
        } else {
            let event = event(&mut cursor)?;
            // A command followed by further events is not a clean-up: it is executed in its place,
            // after the previous event.
            for command in core::mem::take(&mut script.cleanup) {
                script.events.push(Event {
                    span: command.span.clone(),
                    time: crate::ast::Time::Relative(gigatcp_units::Duration::ZERO),
                    action: Action::Command(command),
                });
            }
            script.events.push(event);
        }
    }
}

/// Parses comment lines `// key: value` before anything else.
fn headers(text: &str) -> Vec<Header> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let here = start;
        start += line.len();
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        let Some(comment) = trimmed.strip_prefix("//") else {
            break;
        };
        let Some((key, value)) = comment.split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let is_word = |c: char| c.is_ascii_lowercase() || c == '-';
        if key.is_empty() || !key.chars().all(is_word) {
            continue;
        }
        let at = here + line.rfind(value).unwrap_or(0);
        found.push(Header {
            span: at..at + value.len(),
            key: key.into(),
            value: value.into(),
        });
    }
    found
}

/// Parses `--name=value`, `--name`, `-D name=value`.
fn option_line(cursor: &mut Cursor<'_>) -> Parsed<OptionLine> {
    let start = cursor.at();
    let is_define = cursor.starts_with("-D");
    cursor.advance(2);
    let name = if is_define {
        cursor.skip_spaces();
        "D"
    } else {
        cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    if name.is_empty() {
        return Err(cursor.mistake("the name of an option, as in --mss=1000"));
    }
    let name = String::from(name);
    let mut value = String::new();
    if is_define || cursor.take("=") {
        let not_blank = |c: char| !c.is_whitespace() && c != '"';
        value = match cursor.take("\"") {
            true => {
                let inside = String::from(cursor.take_while(|c| c != '"' && c != '\n'));
                cursor.expect("\"", "a closing quotation mark")?;
                inside
            }
            false => cursor.take_while(not_blank).into(),
        };
    }
    Ok(OptionLine {
        span: start..cursor.at(),
        name,
        value,
    })
}

/// Parses text between backticks.
fn command(cursor: &mut Cursor<'_>) -> Parsed<Command> {
    let start = cursor.at();
    cursor.advance(1);
    let text = String::from(cursor.take_while(|c| c != '`'));
    cursor.expect("`", "a closing backtick")?;
    Ok(Command {
        span: start..cursor.at(),
        text: text.trim().into(),
    })
}

/// Parses a time and its action.
fn event(cursor: &mut Cursor<'_>) -> Parsed<Event> {
    let start = cursor.at();
    let time = time::time(cursor)?;
    cursor.skip_blank()?;
    let action = if cursor.starts_with("<") {
        cursor.advance(1);
        Action::Inbound(packet::packet(cursor, true)?)
    } else if cursor.starts_with(">") {
        cursor.advance(1);
        Action::Outbound(packet::packet(cursor, false)?)
    } else if cursor.starts_with("`") {
        Action::Command(command(cursor)?)
    } else if cursor.starts_with("%{") {
        Action::Code(code(cursor)?)
    } else {
        Action::Call(call::call(cursor)?)
    };
    Ok(Event {
        span: start..cursor.at(),
        time,
        action,
    })
}

/// Parses `%{ ... }%`.
fn code(cursor: &mut Cursor<'_>) -> Parsed<python::Program> {
    cursor.advance(2);
    let start = cursor.at();
    let Some(len) = cursor.rest().find("}%") else {
        let span = start - 2..start;
        return Err(Mistake::new(span, "`}%` after it"));
    };
    let program = python::parse(&cursor.rest()[..len], start)?;
    cursor.advance(len + 2);
    Ok(program)
}
