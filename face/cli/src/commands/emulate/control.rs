//! A running path's ear: it answers `gigatcp emulate set`.
//!
//! One line of JSON is asked and one answered, over a socket of the user's own
//! ([`super::runtime`]). What is asked is read as if it had been typed at the start,
//! together with what was; the hops that differ then are changed, all at one instant.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use gigatcp_emulate::{Changed, Emulator, HopChange, Side};
use gigatcp_path::{Difference, HopConfig};
use serde::{Deserialize, Serialize};

use super::path::{EmulatedPath, Source};
use super::runtime::{self, Listening};
use super::set::Request;
use crate::commands::Outcome;
use crate::failure::Failure;
use crate::output;

/// How long a path may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long who asks may take to say what.
const QUESTION: Duration = Duration::from_millis(200);
/// Longer lines are no requests.
const LONGEST: u64 = 1 << 20;

/// What it answers: one line of JSON.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    /// For stdout where all went well, else for stderr.
    pub(super) text: String,
    /// Exit status of the one who asked.
    pub(super) status: u8,
}

/// Asks a path and prints what it answers.
pub(super) fn ask(name: Option<&str>, request: &Request) -> Result<Outcome, Failure> {
    let (name, mut stream) = runtime::find(name)?;
    let failed = |error| {
        Failure::io(&format!("ask the path `{name}`"), &error)
            .effect("whether it has changed is unknown")
            .hint("`gigatcp emulate set` alone shows what it is")
    };
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let text = line(request)?;
    stream.write_all(text.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    let read = BufReader::new(stream).read_line(&mut answer);
    read.map_err(failed)?;
    let reply: Reply = serde_json::from_str(&answer).map_err(|_| {
        Failure::new(format!("the path `{name}` gave no answer"))
            .effect("it has ended, or another version of this program runs it")
    })?;
    if reply.status == 0 {
        output::print(&reply.text)?;
    } else {
        output::say(reply.text.trim_end());
    }
    Ok(Outcome::Exited(reply.status))
}

fn line(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value);
    let text = text.map_err(|error| Failure::fault(error.to_string()))?;
    Ok(format!("{text}\n"))
}

/// What answers for a path.
#[derive(Debug)]
pub(super) struct Control {
    socket: Listening,
    source: Source,
    now: EmulatedPath,
}

impl Control {
    /// Listens under `name` for changes of what `source` says, which is `now`.
    pub(super) fn begin(name: &str, source: Source, now: EmulatedPath) -> Result<Self, Failure> {
        let socket = runtime::listen(name)?;
        Ok(Self {
            socket,
            source,
            now,
        })
    }

    /// Answers the requests that wait at this moment.
    pub(super) fn answer(&mut self, emulator: &Emulator) {
        while let Ok((stream, _)) = self.socket.listener.accept() {
            // Who asked may be gone, or only looked whether the path is there.
            let _ = self.answer_one(stream, emulator);
        }
    }

    fn answer_one(&mut self, mut stream: UnixStream, emulator: &Emulator) -> Option<()> {
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(QUESTION)).ok()?;
        stream.set_write_timeout(Some(QUESTION)).ok()?;
        let mut question = String::new();
        let mut reader = BufReader::new((&stream).take(LONGEST));
        reader.read_line(&mut question).ok()?;
        if question.is_empty() {
            return None;
        }
        let request = serde_json::from_str(&question).map_err(|error| {
            Failure::new(format!(
                "the path does not understand what it is asked: {error}"
            ))
            .effect("the path is as it was")
            .hint("use the `gigatcp` that runs it")
        });
        let done = request.and_then(|request| self.carry_out(&request, emulator));
        let reply = match done {
            Ok(text) => Reply { text, status: 0 },
            Err(failure) => Reply {
                text: failure.text(),
                status: failure.exit_status(),
            },
        };
        let text = line(&reply).ok()?;
        stream.write_all(text.as_bytes()).ok()
    }

    /// Does what is asked; says what has changed.
    fn carry_out(&mut self, request: &Request, emulator: &Emulator) -> Result<String, Failure> {
        let unchanged = |failure: Failure| failure.effect("the path is as it was");
        if *request == Request::default() {
            return Ok(self.shown());
        }
        let source = self.source.changed(request).map_err(unchanged)?;
        let found = source.find().map_err(unchanged)?;
        let hops = self.now.changes_to(&found).map_err(unchanged)?;
        let changed = emulator
            .change(hops)
            .map_err(|error| unchanged(Failure::caused(&error)))?;
        self.source = source;
        self.now = found;
        let mut text: String = changed
            .iter()
            .map(|changed| format!("{}\n", told(changed)))
            .collect();
        if text.is_empty() {
            text.push_str("the path was so already\n");
        }
        Ok(text)
    }

    /// What the path is.
    fn shown(&self) -> String {
        let hops = [
            ("forward", &self.now.forward),
            ("reverse", &self.now.reverse),
        ];
        let mut text = String::new();
        for (direction, hop) in hops
            .iter()
            .flat_map(|(name, hops)| hops.iter().map(move |hop| (name, hop)))
        {
            text.push_str(&place(direction, &hop.name));
            text.push('\n');
            for (what, value) in hop.describe() {
                text.push_str(&format!("  {what:18} {value}\n"));
            }
        }
        text
    }
}

/// A direction and a hop of it.
fn place(direction: &str, hop: &str) -> String {
    match direction == hop {
        true => direction.to_owned(),
        false => format!("{direction}, {hop}"),
    }
}

/// A change in a line.
pub(super) fn told(changed: &Changed) -> String {
    let direction = match changed.from {
        Side::Client => "forward",
        Side::Server => "reverse",
    };
    let Difference { what, from, to } = &changed.difference;
    let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".into());
    let place = place(direction, &changed.hop);
    format!("{place}: {what} {} -> {}", or_none(from), or_none(to))
}

impl EmulatedPath {
    /// What differs in `after`, for the emulator.
    fn changes_to(&self, after: &Self) -> Result<Vec<HopChange>, Failure> {
        let names = |hops: &[HopConfig]| -> Vec<String> {
            hops.iter().map(|hop| hop.name.clone()).collect()
        };
        let fixed = [
            ("the MTU", self.mtu != after.mtu),
            ("the number and the names of hops", {
                names(&self.forward) != names(&after.forward)
                    || names(&self.reverse) != names(&after.reverse)
            }),
            ("the seed", self.seed != after.seed),
        ];
        if let Some((what, _)) = fixed.iter().find(|(_, differs)| *differs) {
            return Err(
                Failure::new(format!("{what} cannot change while the path runs"))
                    .hint("end the command and start it anew"),
            );
        }
        let directions = [
            (Side::Client, &self.forward, &after.forward),
            (Side::Server, &self.reverse, &after.reverse),
        ];
        let mut changes = Vec::new();
        for (from, before, after) in directions {
            let hops = before.iter().zip(after).enumerate();
            let differing = hops.filter(|(_, (before, after))| before != after);
            changes.extend(differing.map(|(hop, (_, after))| HopChange {
                from,
                hop,
                config: after.clone(),
            }));
        }
        Ok(changes)
    }
}
