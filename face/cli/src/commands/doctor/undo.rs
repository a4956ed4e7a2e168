//! Commands that change this host, and the file that undoes them.
//!
//! The file is written before each change, so that it is complete even after a crash or `kill -9`. It
//! has the facts that were read before the first change: after the undo they are read again, and what
//! differs is named.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use gigatcp_meter::doctor::HostFacts;
use gigatcp_report::escape::terminal;
use gigatcp_run::whatif::fix::Step;
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
    /// Boot of the machine that the changes are of: none outlives it.
    boot: String,
    /// Network namespace of the changes.
    namespace: String,
    /// Whether one of them concerns the whole machine.
    #[serde(default)]
    is_of_machine: bool,
    /// The facts before the first change.
    before: HostFacts,
    /// The facts after the last one; `None` while one is made or undone.
    after: Option<HostFacts>,
    /// The changes, the first one first.
    changes: Vec<Change>,
}

/// Changes of this host that can be undone.
pub(super) struct Changes {
    place: PathBuf,
    stored: Stored,
    /// Number of changes, the first ones, that are kept.
    kept: usize,
    /// The lock of the machine's settings, once one of them is changed.
    machine: Option<File>,
}

impl Changes {
    /// Begins without a change. Nothing may be at `place`.
    pub(super) fn begin(place: &Path, before: &HostFacts) -> Result<Self, Failure> {
        let said = |failure: Failure| failure.effect("nothing was changed");
        AtomicFile::check_absent(place).map_err(said)?;
        let stored = Stored {
            schema: SCHEMA.into(),
            boot: host::boot(),
            namespace: host::namespace(),
            is_of_machine: false,
            before: before.clone(),
            after: None,
            changes: Vec::new(),
        };
        Ok(Self {
            place: place.to_owned(),
            stored,
            kept: 0,
            machine: None,
        })
    }

    /// Makes this the only process that changes settings of the whole machine, until it ends.
    pub(super) fn claim_machine(&mut self) -> Result<(), Failure> {
        if self.machine.is_none() {
            self.machine = Some(host::claim_machine()?);
        }
        self.stored.is_of_machine = true;
        Ok(())
    }

    /// Number of changes that hold.
    pub(super) const fn count(&self) -> usize {
        self.stored.changes.len()
    }

    /// Keeps the changes that hold now.
    pub(super) const fn keep(&mut self) {
        self.kept = self.count();
    }

    /// Makes a change, after the file that undoes it was written. The inner error is the command's,
    /// of which a part may hold.
    pub(super) fn make(&mut self, step: &Step) -> Result<Result<(), String>, Failure> {
        let Some(undo) = &step.undo else {
            return Ok(Err("no command undoes it".into()));
        };
        let before = self.facts()?;
        self.stored.changes.push(Change {
            command: step.command.clone(),
            undo: undo.clone(),
        });
        self.stored.after = None;
        if let Err(failure) = self.write() {
            self.stored.changes.pop();
            return Err(failure);
        }
        let ran = run(&step.command);
        let now = self.facts()?;
        if ran.is_err() && differences(&before, &now).is_empty() {
            // It was refused: there is nothing to undo.
            self.stored.changes.pop();
        }
        self.stored.after = Some(now);
        self.write()?;
        Ok(ran)
    }

    /// Undoes the changes that are not kept.
    pub(super) fn undo_unkept(&mut self) -> Result<(), Failure> {
        self.undo_after(self.kept)
    }

    /// Undoes every change.
    pub(super) fn undo_all(&mut self) -> Result<(), Failure> {
        self.undo_after(0)
    }

    /// Undoes the changes after the first `count`, the last one first. Those that cannot be undone
    /// stay in the file.
    fn undo_after(&mut self, count: usize) -> Result<(), Failure> {
        let mut errors = Vec::new();
        self.stored.after = None;
        for index in (count..self.count()).rev() {
            match run(&self.stored.changes[index].undo) {
                Ok(()) => {
                    self.stored.changes.remove(index);
                    self.kept = self.kept.min(self.count());
                    // The last one written counts.
                    let _ = self.write();
                }
                Err(error) => {
                    errors.push(format!("`{}`: {error}", self.stored.changes[index].undo))
                }
            }
        }
        let now = self.facts();
        let is_as_before = now
            .as_ref()
            .is_ok_and(|now| differences(&self.stored.before, now).is_empty());
        if is_as_before {
            // The undo of an earlier change restored what that of a later one could not.
            self.stored.changes.clear();
            errors.clear();
        }
        self.stored.after = now.ok();
        let written = self.write();
        if errors.is_empty() {
            return written;
        }
        let failure = Failure::new(format!("not undone: {}", errors.join("; ")));
        Err(self.holding(failure))
    }

    /// A failure with the changes that hold nevertheless.
    pub(super) fn holding(&self, failure: Failure) -> Failure {
        match self.count() {
            0 => failure.effect("every change is undone"),
            count => {
                let changes = output::counted(count as u64, "change");
                let place = self.place.display();
                failure
                    .effect(format!("{changes} still made, and in {place}"))
                    .hint(format!(
                        "`gigatcp doctor --undo {place}` undoes what is left"
                    ))
            }
        }
    }

    /// Writes the file; removes it if nothing is left to undo.
    fn write(&self) -> Result<(), Failure> {
        if self.stored.changes.is_empty() {
            return match fs::remove_file(&self.place) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(Failure::at("remove", &self.place, &error))
                }
                _ => Ok(()),
            };
        }
        let text = serde_json::to_string_pretty(&self.stored)
            .map_err(|error| Failure::fault(format!("changes cannot be stored: {error}")))?;
        AtomicFile::write_private(&self.place, (text + "\n").as_bytes())
    }

    /// The facts now. The address of the other host is known, and not looked up again.
    fn facts(&self) -> Result<HostFacts, Failure> {
        host::read(self.stored.before.destination.as_deref())
    }

    /// Settings that differ from those before the first change.
    pub(super) fn differences(&self) -> Result<Vec<Difference>, Failure> {
        Ok(differences(&self.stored.before, &self.facts()?))
    }

    /// Settings that were changed here and have another value now.
    fn overwritten(&self) -> Result<Vec<Difference>, Failure> {
        let Some(after) = &self.stored.after else {
            return Ok(Vec::new());
        };
        let changed = differences(&self.stored.before, after).into_iter();
        let changed: HashSet<String> = changed.map(|setting| setting.name).collect();
        let mut found = differences(after, &self.facts()?);
        found.retain(|setting| changed.contains(&setting.name));
        Ok(found)
    }
}

/// Undoes the changes of a file.
pub(super) fn restore(place: &Path, is_agreed: bool, is_json: bool) -> Result<Outcome, Failure> {
    let mut changes = read(place)?;
    if changes.stored.is_of_machine {
        changes
            .claim_machine()
            .map_err(|failure| failure.effect("nothing was undone"))?;
    }
    let overwritten = changes.overwritten()?;
    if !overwritten.is_empty() && !is_agreed {
        let settings = joined(&overwritten);
        return Err(
            Failure::new(format!("something else changed since --try: {settings}"))
                .effect("nothing was undone")
                .hint("--yes sets what was there before --try nevertheless"),
        );
    }
    let commands: Vec<String> = changes
        .stored
        .changes
        .iter()
        .rev()
        .map(|change| change.undo.clone())
        .collect();
    changes.undo_all()?;
    let differences = changes.differences()?;
    if is_json {
        output::print_json(
            &json!({ "schema": SCHEMA, "undone": commands, "different": differences.iter().map(Difference::to_string).collect::<Vec<_>>() }),
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

fn text(commands: &[String], differences: &[Difference]) -> String {
    let mut text = String::from("Undone\n");
    for command in commands {
        text.push_str(&format!("  {}\n", terminal(command)));
    }
    if differences.is_empty() {
        return text + "Every setting that doctor reads is as before.\n";
    }
    text.push_str("Not as before; something else changed them meanwhile\n");
    for difference in differences {
        text.push_str(&format!("  {}\n", terminal(&difference.to_string())));
    }
    text
}

/// Reads a file that [`Changes`] wrote. Its commands are run with the user's privileges, so that no
/// other user may be able to write it.
fn read(place: &Path) -> Result<Changes, Failure> {
    let name = place.display();
    let refused = |failure: Failure| failure.effect("nothing was undone");
    let unread = |error: io::Error| refused(Failure::io(&format!("read {name}"), &error));
    let file = host::open(place).map_err(unread)?;
    let about = file.metadata().map_err(unread)?;
    if !about.is_file() {
        return Err(refused(Failure::new(format!("{name} is not a file"))));
    }
    if let Some(reason) = foreign(&about) {
        return Err(refused(Failure::new(format!("{name} {reason}")))
            .hint("read its commands, and run them yourself"));
    }
    let mut text = Vec::new();
    let mut limited = file.take(MAX_SIZE + 1);
    limited.read_to_end(&mut text).map_err(unread)?;
    if text.len() as u64 > MAX_SIZE {
        return Err(refused(Failure::new(format!(
            "{name} has more than {MAX_SIZE} bytes, and no undo file has"
        ))));
    }
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
    if stored.boot != host::boot() {
        return Err(refused(Failure::new(format!("{name} is of another boot")))
            .hint("after a reboot nothing is left to undo: remove the file"));
    }
    let here = host::namespace();
    if stored.namespace != here {
        let there = &stored.namespace;
        return Err(refused(Failure::new(format!(
            "{name} is of the network namespace {there}, and this is {here}"
        )))
        .hint("enter that namespace (`ip netns exec`, `nsenter --net`)"));
    }
    let kept = stored.changes.len();
    Ok(Changes {
        place: place.to_owned(),
        stored,
        kept,
        machine: None,
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

/// A setting with another value than before.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Difference {
    name: String,
    before: Value,
    now: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}, now {}", self.name, self.before, self.now)
    }
}

/// Settings that differ, as text.
pub(super) fn joined(differences: &[Difference]) -> String {
    let settings: Vec<String> = differences.iter().map(Difference::to_string).collect();
    settings.join("; ")
}

/// Settings that differ.
fn differences(before: &HostFacts, now: &HostFacts) -> Vec<Difference> {
    let [before, now] = [before, now].map(settings);
    let mut found = Vec::new();
    differ("", &before, &now, &mut found);
    found
}

/// The settings among the facts: neither counters nor what the kernel learns.
fn settings(facts: &HostFacts) -> Value {
    let card = facts.interface.as_ref();
    let qdiscs = facts.qdiscs.as_ref().map(|qdiscs| {
        let settings = qdiscs.iter().cloned().map(|mut qdisc| {
            qdisc.dropped = None;
            // The kernel rounds bursts.
            (qdisc.burst_bytes, qdisc.parameters) = (None, None);
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
        "rps": card.map(|card| &card.rps_cpus),
        "offload": card.map(|card| card.offloads),
        "qdisc": qdiscs,
        "governor": facts.frequencies.iter().flatten().map(|policy| &policy.governor).collect::<Vec<_>>(),
        "cpu quota": facts.cgroup.as_ref().map(|group| (group.cpu_quota_us, group.memory_max_bytes)),
    })
}

fn differ(name: &str, before: &Value, now: &Value, found: &mut Vec<Difference>) {
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
        _ if before != now => found.push(Difference {
            name: name.to_owned(),
            before: before.clone(),
            now: now.clone(),
        }),
        _ => {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    const SACK: &str = "net.ipv4.tcp_sack";

    fn begin(directory: &tempfile::TempDir) -> Changes {
        let facts = host::read(None).unwrap();
        Changes::begin(&directory.path().join("undo.json"), &facts).unwrap()
    }

    fn step(command: &str, undo: &str) -> Step {
        Step {
            command: command.into(),
            undo: Some(undo.into()),
        }
    }

    #[test]
    fn refused_change_is_not_undone() {
        let directory = tempfile::tempdir().unwrap();
        let mut changes = begin(&directory);
        let undone = directory.path().join("undone");
        let refused = step("echo no >&2; false", &format!("touch {}", undone.display()));
        assert_eq!(changes.make(&refused).unwrap(), Err("no".into()));
        assert_eq!(changes.count(), 0);
        assert!(!undone.exists() && !changes.place.exists());
    }

    #[test]
    fn change_whose_undo_cannot_be_stored_is_not_made() {
        let directory = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let mut changes = begin(&directory);
        drop(directory);
        let made = elsewhere.path().join("made");
        let change = step(&format!("touch {}", made.display()), "true");
        assert!(changes.make(&change).is_err());
        assert!(changes.count() == 0 && !made.exists());
    }

    #[test]
    fn undo_goes_on_after_a_failure_and_keeps_what_failed_in_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut changes = begin(&directory);
        changes
            .stored
            .before
            .sysctls
            .insert(SACK.into(), "9".into());
        let undone = directory.path().join("undone");
        let first = step("true", &format!("touch {}", undone.display()));
        changes.make(&first).unwrap().unwrap();
        changes.make(&step("true", "false")).unwrap().unwrap();
        let said = changes.undo_all().unwrap_err().text();
        assert!(
            said.contains("not undone: `false`") && said.contains("1 change still made"),
            "{said}"
        );
        assert!(undone.exists());
        let left = read(&changes.place).unwrap().stored.changes;
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].undo, "false");
    }

    #[test]
    fn setting_that_something_else_changed_since_is_named_before_the_undo() {
        let directory = tempfile::tempdir().unwrap();
        let mut changes = begin(&directory);
        changes.make(&step("true", "true")).unwrap().unwrap();
        assert_eq!(changes.overwritten().unwrap(), []);
        changes
            .stored
            .before
            .sysctls
            .insert(SACK.into(), "8".into());
        let after = changes.stored.after.as_mut().unwrap();
        after.sysctls.insert(SACK.into(), "9".into());
        changes.write().unwrap();
        let said = restore(&changes.place, false, false).unwrap_err().text();
        assert!(
            said.contains("sysctl net.ipv4.tcp_sack: \"9\", now"),
            "{said}"
        );
        assert!(said.contains("nothing was undone"), "{said}");
    }

    #[test]
    fn file_of_another_boot_or_behind_a_link_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut changes = begin(&directory);
        changes.make(&step("true", "true")).unwrap().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&changes.place, &link).unwrap();
        assert!(read(&changes.place).is_ok() && read(&link).is_err());
        assert!(read(Path::new("/dev/null")).is_err());
        changes.stored.boot = "another".into();
        changes.write().unwrap();
        let said = read(&changes.place).err().unwrap().text();
        assert!(said.contains("is of another boot"), "{said}");
    }
}
