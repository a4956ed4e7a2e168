//! Files other than sockets: pipes and plain files, `splice` and `sendfile`.
//!
//! A file is represented by its length: a socket carries the stream's octets for any written data.
//! Files are created by commands (`dd`) and removed by them (`rm`).

use alloc::string::String;
use alloc::vec::Vec;

use super::arguments::{Arguments, Called, failed, returned};
use super::descriptor::File;
use super::host::Host;
use super::waiting::{Reading, Writing};
use crate::ast::Value;
use crate::stack::Unsupported;

impl Host {
    /// Calls `pipe([5, 6])`: the read end and the write end.
    pub fn pipe(&mut self, args: &Arguments<'_>) -> Called {
        let Value::List(ends) = args.get(0) else {
            return Err(args.odd(0));
        };
        let ends: Option<Vec<i64>> = ends.iter().map(Value::integer).collect();
        let Some([to_read, to_write]) = ends.as_deref() else {
            return Err(args.odd(0));
        };
        let pipe = self.pipes.len();
        self.pipes.push(0);
        for end in [to_read, to_write] {
            self.open(File::Pipe(pipe), Some(*end));
        }
        returned(0)
    }

    /// Opens a file created by a command.
    pub fn open_file(&mut self, args: &Arguments<'_>, wanted: Option<i64>) -> Called {
        let Value::Text(name) = args.get(0) else {
            return Err(args.odd(0));
        };
        let name = String::from_utf8_lossy(name).into_owned();
        if !self.disk.contains_key(&name) {
            return failed("ENOENT");
        }
        let fd = self.open(File::Plain(name), wanted);
        returned(fd)
    }

    /// Calls `sendfile(socket, file, [offset], length)`.
    pub fn sendfile(&mut self, args: &Arguments<'_>) -> Called {
        let Some(File::Plain(name)) = self.files.get(&args.number(1)?) else {
            return failed("EBADF");
        };
        let size = self.disk.get(name).copied().unwrap_or(0);
        let offset = match args.get(2) {
            Value::List(list) => list.first().and_then(Value::integer),
            other => other.integer(),
        };
        let left = size.saturating_sub(u64::try_from(offset.unwrap_or(0)).unwrap_or(0));
        let len = left.min(u64::try_from(args.number(3)?).unwrap_or(0));
        let writing = Writing {
            fd: args.number(0)?,
            left: len as usize,
            ..Writing::default()
        };
        self.begin_write(writing, false)
    }

    /// Calls `splice(in, NULL, out, NULL, length, flags)` between a socket and a pipe. It stops at
    /// an urgent mark; a call that would block is unsupported.
    pub fn splice(&mut self, args: &Arguments<'_>) -> Called {
        let (from, to) = (args.number(0)?, args.number(2)?);
        let len = usize::try_from(args.number(4)?).unwrap_or(0);
        match (self.files.get(&from), self.files.get(&to)) {
            (Some(File::Socket(_)), Some(File::Pipe(pipe))) => {
                let pipe = *pipe;
                let is_at_mark =
                    |index: usize| self.transport.connections[index].tcp.is_at_urgent_mark();
                if self.open_index(from).is_some_and(is_at_mark) {
                    return returned(0);
                }
                let Some(done) = self.attempt_read(&mut Reading {
                    fd: from,
                    len,
                    ..Reading::default()
                }) else {
                    return Err(Unsupported::new("call", "splice that waits"));
                };
                self.pipes[pipe] += u64::try_from(done.result).unwrap_or(0);
                Ok(crate::stack::Progress::Returned(done))
            }
            (Some(File::Pipe(pipe)), Some(File::Socket(_))) => {
                let held = &mut self.pipes[*pipe];
                let moved = len.min(*held as usize);
                *held -= moved as u64;
                let writing = Writing {
                    fd: to,
                    left: moved,
                    ..Writing::default()
                };
                self.begin_write(writing, false)
            }
            _ => failed("EINVAL"),
        }
    }

    /// Creates or removes files; returns whether `words` are such a command.
    pub fn change_files(&mut self, words: &[&str]) -> Result<bool, Unsupported> {
        let [program, rest @ ..] = words else {
            return Ok(false);
        };
        let value = |key: &str| rest.iter().find_map(|word| word.strip_prefix(key));
        match super::commands::file_name(program) {
            "rm" => {
                for name in rest.iter().filter(|word| !word.starts_with('-')) {
                    self.disk.remove(*name);
                }
            }
            "dd" => {
                let number = |key: &str| value(key).and_then(|text| text.parse::<u64>().ok());
                let (Some(size), Some(count), Some(name)) =
                    (number("bs="), number("count="), value("of="))
                else {
                    return Err(Unsupported::new("command", words.join(" ")));
                };
                self.disk.insert(name.into(), size.saturating_mul(count));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
