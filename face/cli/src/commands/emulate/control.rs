//! Control socket of a running path: answers `gigatcp emulate set`.
//!
//! A request and a reply are one line of JSON each, over a socket that only the user may open
//! ([`super::runtime`]). The request is merged with the options typed at the start, and the result
//! is read as if it had been typed then. The hops that differ are changed at the same instant.

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

/// Time within which a path must answer.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);
/// Time within which a client must send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum length of a request in bytes.
const MAX_REQUEST: u64 = 1 << 20;

/// Reply to a request: one line of JSON.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    /// Text for stdout if the status is 0, otherwise for stderr.
    pub(super) text: String,
    /// Exit status of the client.
    pub(super) status: u8,
}

/// Sends a request to a path and prints the reply.
pub(super) fn send_request(name: Option<&str>, request: &Request) -> Result<Outcome, Failure> {
    let (name, mut stream) = runtime::find(name)?;
    let failed = |error| {
        Failure::io(&format!("ask the path `{name}`"), &error)
            .effect("whether it has changed is unknown")
            .hint("`gigatcp emulate set` alone shows what it is")
    };
    stream
        .set_read_timeout(Some(REPLY_TIMEOUT))
        .map_err(failed)?;
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
    let text = serde_json::to_string(value).map_err(|error| Failure::fault(error.to_string()))?;
    Ok(format!("{text}\n"))
}

/// Control socket of a path, and the description of the path.
#[derive(Debug)]
pub(super) struct Control {
    socket: Listening,
    source: Source,
    now: EmulatedPath,
}

impl Control {
    /// Listens under `name`. `source` describes the path, and `now` is its present configuration.
    pub(super) fn begin(name: &str, source: Source, now: EmulatedPath) -> Result<Self, Failure> {
        let socket = runtime::listen(name)?;
        Ok(Self {
            socket,
            source,
            now,
        })
    }

    /// Answers the requests that are waiting.
    pub(super) fn answer(&mut self, emulator: &Emulator) {
        while let Ok((stream, _)) = self.socket.listener.accept() {
            // The client may be gone, or it only checked whether the path is running.
            let _ = self.answer_one(stream, emulator);
        }
    }

    fn answer_one(&mut self, mut stream: UnixStream, emulator: &Emulator) -> Option<()> {
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(REQUEST_TIMEOUT)).ok()?;
        stream.set_write_timeout(Some(REQUEST_TIMEOUT)).ok()?;
        let mut question = String::new();
        let mut reader = BufReader::new((&stream).take(MAX_REQUEST));
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

    /// Carries out a request and returns a description of the changes.
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
        let lines = changed.iter().map(|change| describe(change) + "\n");
        Ok(match changed.is_empty() {
            true => "the path was so already\n".to_owned(),
            false => lines.collect(),
        })
    }

    fn shown(&self) -> String {
        let forward = self.now.forward.iter().map(|hop| ("forward", hop));
        let reverse = self.now.reverse.iter().map(|hop| ("reverse", hop));
        let mut text = String::new();
        for (direction, hop) in forward.chain(reverse) {
            text.push_str(&format!("{}\n", place(direction, &hop.name)));
            for (what, value) in hop.describe() {
                text.push_str(&format!("  {what:18} {value}\n"));
            }
        }
        text
    }
}

/// Names a direction and a hop in it.
fn place(direction: &str, hop: &str) -> String {
    match direction == hop {
        true => direction.to_owned(),
        false => format!("{direction}, {hop}"),
    }
}

/// Describes a change in one line.
pub(super) fn describe(changed: &Changed) -> String {
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
    /// Differences between this path and `after`, for the emulator.
    fn changes_to(&self, after: &Self) -> Result<Vec<HopChange>, Failure> {
        let names = |hops: &[HopConfig]| -> Vec<String> {
            hops.iter().map(|hop| hop.name.clone()).collect()
        };
        let hops = |path: &Self| [names(&path.forward), names(&path.reverse)];
        let fixed = [
            ("the MTU", self.mtu != after.mtu),
            (
                "the number and the names of hops",
                hops(self) != hops(after),
            ),
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
