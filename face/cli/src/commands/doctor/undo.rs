//! Commands that change this host, and the file that undoes them.
//!
//! The file is written before each change, so that it is complete even after a crash or `kill -9`. It
//! has the facts that were read before the first change: after the undo they are read again, and what
//! differs is named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gigatcp_doctor::HostFacts;
use gigatcp_twin::fix::Step;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::host;
use crate::atomic_file::AtomicFile;
use crate::commands::Outcome;
use crate::failure::Failure;
use crate::output;

/// The schema of the file.
const SCHEMA: &str = "gigatcp.doctor-undo/1";

/// Largest file that is read.
const MAX_SIZE: u64 = 4 << 20;

/// A command that was run, or is about to be, and the one that restores what it changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    command: String,
    undo: String,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    schema: String,
    /// Network namespace of the changes.
    namespace: String,
    /// The host to whose path they apply.
    destination: Option<String>,
    /// The facts before the first change.
    before: HostFacts,
    /// The changes, the first one first.
    changes: Vec<Change>,
}

/// Changes of this host that can be undone.
pub(super) struct Changes {
    place: PathBuf,
    stored: Stored,
}

impl Changes {
    /// Begins without a change. `place` must not exist.
    pub(super) fn begin(
        place: &Path,
        host: Option<&str>,
        before: &HostFacts,
    ) -> Result<Self, Failure> {
        let said = |failure: Failure| failure.effect("nothing was changed");
        AtomicFile::check_new(place).map_err(said)?;
        let stored = Stored {
            schema: SCHEMA.into(),
            namespace: host::namespace(),
            destination: host.map(str::to_owned),
            before: before.clone(),
            changes: Vec::new(),
        };
        Ok(Self {
            place: place.to_owned(),
            stored,
        })
    }

    /// Number of changes that hold.
    pub(super) const fn count(&self) -> usize {
        self.stored.changes.len()
    }

    /// Makes a change, after the file that undoes it was written. The inner error is the command's.
    pub(super) fn make(&mut self, step: &Step) -> Result<Result<(), String>, Failure> {
        let Some(undo) = &step.undo else {
            return Ok(Err("no command undoes it".into()));
        };
        self.stored.changes.push(Change {
            command: step.command.clone(),
            undo: undo.clone(),
        });
        self.write()?;
        let before = host::read(self.stored.destination.as_deref())?;
        let ran = run(&step.command);
        if ran.is_err() {
            // A command of several parts may have done the first of them.
            let undone = run(undo);
            let now = host::read(self.stored.destination.as_deref())?;
            if let (Err(error), false) = (undone, differences(&before, &now).is_empty()) {
                return Err(failed(undo, &error, &self.place));
            }
            self.stored.changes.pop();
            self.write()?;
        }
        Ok(ran)
    }

    /// Undoes the changes after the first `count`, the last one first.
    pub(super) fn undo_to(&mut self, count: usize) -> Result<(), Failure> {
        while self.count() > count {
            let Some(change) = self.stored.changes.last() else {
                break;
            };
            run(&change.undo).map_err(|error| failed(&change.undo, &error, &self.place))?;
            self.stored.changes.pop();
            self.write()?;
        }
        Ok(())
    }

    /// Writes the file; removes it if nothing is left to undo.
    fn write(&self) -> Result<(), Failure> {
        if self.stored.changes.is_empty() {
            return fs::remove_file(&self.place)
                .map_err(|error| Failure::io(&format!("remove {}", self.place.display()), &error));
        }
        let text = serde_json::to_string_pretty(&self.stored)
            .map_err(|error| Failure::fault(format!("changes cannot be stored: {error}")))?;
        AtomicFile::write(&self.place, (text + "\n").as_bytes())
    }

    /// Settings that differ from those before the first change.
    pub(super) fn differences(&self) -> Result<Vec<String>, Failure> {
        Ok(differences(
            &self.stored.before,
            &host::read(self.stored.destination.as_deref())?,
        ))
    }
}

fn failed(command: &str, error: &str, place: &Path) -> Failure {
    Failure::new(format!("`{command}` failed: {error}"))
        .effect("this setting and those changed before it are not restored")
        .hint(format!(
            "`gigatcp doctor --undo {}` tries again",
            place.display()
        ))
}

/// Undoes the changes of a file.
pub(super) fn restore(place: &Path, is_json: bool) -> Result<Outcome, Failure> {
    let mut changes = read(place)?;
    let commands: Vec<String> = changes
        .stored
        .changes
        .iter()
        .rev()
        .map(|change| change.undo.clone())
        .collect();
    changes.undo_to(0)?;
    let differences = changes.differences()?;
    if is_json {
        output::print_json(
            &json!({ "schema": SCHEMA, "undone": commands, "different": differences }),
        )?;
    } else {
        output::print(&text(&commands, &differences))?;
    }
    Ok(if differences.is_empty() {
        Outcome::Done
    } else {
        Outcome::Missed
    })
}

fn text(commands: &[String], differences: &[String]) -> String {
    let mut text = String::from("Undone\n");
    for command in commands {
        text.push_str(&format!("  {command}\n"));
    }
    if differences.is_empty() {
        return text + "Every setting that doctor reads is as before.\n";
    }
    text.push_str("Not as before; something else changed them meanwhile\n");
    for difference in differences {
        text.push_str(&format!("  {difference}\n"));
    }
    text
}

/// Reads a file that [`Changes`] wrote. Its commands are run with the user's privileges, so that no
/// other user may be able to write it.
fn read(place: &Path) -> Result<Changes, Failure> {
    let name = place.display();
    let refused = |failure: Failure| failure.effect("nothing was undone");
    let about = fs::metadata(place)
        .map_err(|error| refused(Failure::io(&format!("read {name}"), &error)))?;
    if about.len() > MAX_SIZE {
        return Err(refused(Failure::new(format!(
            "{name} has {} bytes, more than any undo file",
            about.len()
        ))));
    }
    if let Some(reason) = foreign(&about) {
        return Err(refused(Failure::new(format!("{name} {reason}")))
            .hint("read its commands, and run them yourself"));
    }
    let text =
        fs::read(place).map_err(|error| refused(Failure::io(&format!("read {name}"), &error)))?;
    let stored: Stored = serde_json::from_slice(&text).map_err(|error| {
        refused(Failure::new(format!("{name} is not an undo file: {error}")))
            .hint("`gigatcp doctor HOST --try` writes one")
    })?;
    if stored.schema != SCHEMA {
        return Err(refused(Failure::new(format!(
            "{name} has the schema `{}`, not `{SCHEMA}`",
            stored.schema
        ))));
    }
    let here = host::namespace();
    if stored.namespace != here {
        let there = &stored.namespace;
        return Err(refused(Failure::new(format!("{name} is of the network namespace {there}, and this is {here}")))
            .hint("enter that namespace (`ip netns exec`, `nsenter --net`); after a reboot nothing is left to undo"));
    }
    Ok(Changes {
        place: place.to_owned(),
        stored,
    })
}

/// Why a file may be another user's.
#[cfg(unix)]
fn foreign(about: &fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    if about.mode() & 0o022 != 0 {
        return Some("may be written by other users".into());
    }
    let is_foreign = about.uid() != 0 && Some(about.uid()) != host::user();
    is_foreign.then(|| format!("belongs to user {}", about.uid()))
}

#[cfg(not(unix))]
fn foreign(_: &fs::Metadata) -> Option<String> {
    None
}

/// Runs a command line. Signals of the terminal do not reach it: it ends, or nothing was begun.
fn run(command: &str) -> Result<(), String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    let done = shell.output().map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(match said.trim() {
        "" => done.status.to_string(),
        said => said.lines().next().unwrap_or(said).to_owned(),
    })
}

/// Settings that differ, each with both values.
pub(super) fn differences(before: &HostFacts, now: &HostFacts) -> Vec<String> {
    let [before, now] = [before, now].map(settings);
    let mut found = Vec::new();
    differ("", &before, &now, &mut found);
    found
}

/// The settings among the facts: neither counters nor what the kernel learns.
fn settings(facts: &HostFacts) -> Value {
    let card = facts.interface.as_ref();
    let qdiscs = facts.qdiscs.as_ref().map(|qdiscs| {
        let settings = qdiscs.iter().map(|qdisc| {
            let mut qdisc = qdisc.clone();
            qdisc.dropped = None;
            qdisc.burst_bytes = None;
            qdisc
        });
        settings.collect::<Vec<_>>()
    });
    json!({
        "sysctl": facts.sysctls,
        "route": facts.route.as_ref().map(|route| route.restore()),
        "mtu": card.map(|card| card.mtu_bytes),
        "txqueuelen": card.map(|card| card.tx_queue_packets),
        "ring": card.map(|card| card.rings),
        "coalescing": card.map(|card| card.coalescing),
        "offload": card.map(|card| card.offloads),
        "qdisc": qdiscs,
        "governor": facts.frequencies.iter().flatten().map(|policy| &policy.governor).collect::<Vec<_>>(),
        "cpu quota": facts.cgroup.as_ref().map(|group| (group.cpu_quota_us, group.memory_max_bytes)),
    })
}

fn differ(name: &str, before: &Value, now: &Value, found: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (key, value) in before {
                let inner = if name.is_empty() {
                    key.clone()
                } else {
                    format!("{name} {key}")
                };
                differ(&inner, value, now.get(key).unwrap_or(&Value::Null), found);
            }
        }
        _ if before != now => found.push(format!("{name}: {before}, now {now}")),
        _ => {}
    }
}
