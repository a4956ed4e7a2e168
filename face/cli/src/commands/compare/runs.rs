//! One run of a command over a path: fresh namespaces, a fresh server, and what arrived in which
//! time.

use std::io::{PipeReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gigatcp_emulate::{Emulator, EmulatorConfig, Goodput, Side};
use gigatcp_linux::PidNamespace;
use serde::Serialize;

use super::paths::{ComparedPath, quoted};
use crate::commands::emulate::jobs::{self, Jobs, Serving};
use crate::commands::emulate::linux::failure;
use crate::commands::emulate::sysctl;
use crate::commands::privilege;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Polling interval for the end of a command, and the resolution of its time.
const STEP: Duration = Duration::from_millis(1);

/// Time within which a server must listen. It is no part of the measured time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of a command's output that an error quotes.
const QUOTED: usize = 400;

/// OLD or NEW: a command, and the one at the other end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender<'a> {
    /// `OLD` or `NEW`.
    pub(super) name: &'static str,
    pub(super) command: &'a str,
    pub(super) server: Option<&'a str>,
}

/// Result of a run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Run {
    /// From the start of the command to its end, in seconds.
    pub(super) seconds: f64,
    /// New payload that arrived at either end.
    pub(super) bytes: u64,
    /// Whether the run was ended because it took too long.
    pub(super) is_cut: bool,
}

/// Runs a command over a path in this configuration. `None` after a signal.
pub(super) fn run(
    path: &ComparedPath,
    config: &EmulatorConfig,
    contender: Contender<'_>,
    limit: Duration,
    interrupt: &Interrupt,
) -> Result<Option<Run>, Failure> {
    let namespace = PidNamespace::new().map_err(|error| privilege::setup_failure(&error))?;
    // All commands end with it, also after an error.
    let mut jobs = Jobs::new(namespace);
    let goodput = Goodput::default();
    let emulator =
        Emulator::start(config, Some(goodput.watch())).map_err(|error| failure(&error))?;
    let reproduced = |failure: Failure| {
        let alone = alone(path, config, contender);
        failure.effect("nothing is compared").hint(alone)
    };
    if let Some(server) = contender.server {
        let (tail, command) = Tail::of(server)?;
        let is_interrupted = || interrupt.signal().is_some();
        let serving = jobs.serve(&emulator, command, PATIENCE, is_interrupted)?;
        if interrupt.signal().is_some() {
            jobs.end();
            return Ok(None);
        }
        let reason = match serving {
            Serving::Listening => None,
            Serving::Silent => Some(format!(
                "no socket of it listens after {} s",
                PATIENCE.as_secs()
            )),
            Serving::Ended(status) => Some(format!("it ended at once, {status}")),
        };
        if let Some(reason) = reason {
            jobs.end();
            let what = format!(
                "the server of {} over {}: {reason}",
                contender.name, path.name
            );
            return Err(reproduced(tail.failure(what)));
        }
    }
    let (tail, command) = Tail::of(contender.command)?;
    let began = Instant::now();
    let mut child = jobs.start(&emulator, command)?;
    let ended: Option<ExitStatus> = loop {
        let status = child
            .try_wait()
            .map_err(|error| Failure::io("wait for the command", &error))?;
        if status.is_some() || began.elapsed() >= limit {
            break status;
        }
        if interrupt.signal().is_some() {
            jobs.end();
            return Ok(None);
        }
        thread::sleep(STEP);
    };
    let run = Run {
        seconds: began.elapsed().as_secs_f64(),
        bytes: Side::ALL.map(|side| goodput.received(side)).iter().sum(),
        is_cut: ended.is_none(),
    };
    jobs.end();
    emulator.stop().map_err(|error| failure(&error))?;
    // Ctrl-C of a terminal reaches the command as well.
    if interrupt.signal().is_some() {
        return Ok(None);
    }
    match ended.filter(|status| !status.success()) {
        Some(status) => {
            let what = format!("{} failed over {}: {status}", contender.name, path.name);
            Err(reproduced(tail.failure(what)))
        }
        None => Ok(Some(run)),
    }
}

/// What to type for one run by itself.
fn alone(path: &ComparedPath, config: &EmulatorConfig, contender: Contender<'_>) -> String {
    let server = contender
        .server
        .map(|server| format!("--server {} ", quoted(server)));
    let settings: String = sysctl::typed(&config.settings)
        .map(|(name, value)| format!("--sysctl {} ", quoted(&format!("{name}={value}"))))
        .collect();
    format!(
        "alone: gigatcp emulate {} --seed {} {settings}{}-- sh -c {}",
        path.words,
        config.seed,
        server.unwrap_or_default(),
        quoted(contender.command)
    )
}

/// The error of a run in which nothing arrived.
pub(super) fn nothing_arrived(path: &ComparedPath, contender: Contender<'_>, run: &Run) -> Failure {
    let failure = Failure::new(format!(
        "{} transferred nothing over {} in {:.1} s: `{}`",
        contender.name, path.name, run.seconds, contender.command
    ))
    .effect("nothing is compared");
    if run.is_cut {
        return failure.hint("it had not ended: --timeout gives it more time");
    }
    failure
        .hint(
            "the address of the other end is $GIGATCP_SERVER; in single quotes, or this shell \
             replaces it",
        )
        .hint("--measure time compares the time alone")
}

/// The end of what a command prints.
struct Tail(JoinHandle<Vec<u8>>);

impl Tail {
    /// A shell with this text, whose output is read.
    fn of(text: &str) -> Result<(Self, Command), Failure> {
        let failed = |error| Failure::io("make a pipe", &error).effect("nothing is compared");
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        let mut command = jobs::shell(text);
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer);
        Ok((Self(thread::spawn(move || read_tail(reader))), command))
    }

    /// An error with the end of the output. The command and its children have ended.
    fn failure(self, what: String) -> Failure {
        let output = self.0.join().unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        match output.trim() {
            "" => Failure::new(what),
            output => Failure::new(format!("{what}: {}", output.replace('\n', " | "))),
        }
    }
}

/// Reads to the end, which comes with the last process that writes; keeps the last bytes.
fn read_tail(mut reader: PipeReader) -> Vec<u8> {
    let (mut kept, mut chunk) = (Vec::new(), [0; 1 << 16]);
    while let Ok(read @ 1..) = reader.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..read]);
        kept.drain(..kept.len().saturating_sub(QUOTED));
    }
    kept
}
