//! Runs the shell lines of scripts, without a shell.
//!
//! Scripts prepare their environment with a handful of commands. Those are parsed here and take
//! effect in the test network namespace only:
//!
//! | command | what is done |
//! |---|---|
//! | `sysctl -q -w net.x=1` | written under `/proc/sys/net` of the namespace |
//! | `./set_sysctls.py /proc/sys/net/x=1` | the same |
//! | `/tmp/sysctl_restore_${PPID}.sh` | nothing: settings end with the namespace |
//! | `./defaults.sh` | the lines of that file, if it is next to the script |
//! | `ip route`, `ip tcp_metrics`, `ip link`, … | run, in the namespace |
//! | `tc qdisc`, … | run, in the namespace |
//! | `ethtool -K tun0 tso off gso off` | set on the device |
//! | `nstat`, `grep … /proc/net/…`, pipes into `grep` | read in the namespace |
//!
//! Everything else is unsupported, including `ip netns` and the like, which leave the namespace. No
//! text of a script reaches a shell.

mod counters;
mod words;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stack::Unsupported;

pub(crate) use counters::Counters;

use crate::kernel::test_netns::DEVICE;
use gigatcp_linux::settings;
use gigatcp_linux::{device, ethtool};

/// Maximum depth of nested script files.
const MAX_DEPTH: u32 = 8;

/// Setting that a namespace may refuse, see [`Shell::congestion`].
const CONGESTION: &str = "net.ipv4.tcp_congestion_control";

/// Result of a command that could be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ShellResult {
    /// It succeeded, by its exit status.
    Success,
    /// It failed: the command and its output.
    Failure(String),
}

/// Runs the commands of one script.
#[derive(Debug)]
pub(crate) struct Shell {
    /// Directory of the script, which may name files there.
    folder: PathBuf,
    counters: Counters,
    /// The requested congestion control, if the namespace refuses it as its default. A namespace
    /// accepts only those that every user may use. It is then set on each socket.
    congestion: Option<String>,
}

impl Shell {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            counters: Counters::default(),
            congestion: None,
        }
    }

    /// Congestion control to set on each new socket.
    pub(crate) fn congestion(&self) -> Option<&str> {
        self.congestion.as_deref()
    }

    /// Runs a text of one or more lines. The last failure is the result, as the last command is in
    /// a shell; an unsupported line ends it.
    pub(crate) fn run(&mut self, text: &str) -> Result<ShellResult, Unsupported> {
        self.run_nested(text, 0)
    }

    fn run_nested(&mut self, text: &str, depth: u32) -> Result<ShellResult, Unsupported> {
        if depth > MAX_DEPTH {
            return Err(Unsupported::new("command", "files that run each other"));
        }
        let mut last = ShellResult::Success;
        for pipeline in words::pipelines(text)? {
            last = self.pipeline(&pipeline, depth)?;
        }
        Ok(last)
    }

    /// Runs commands separated by `|`: the output of each is the input of the next.
    fn pipeline(
        &mut self,
        commands: &[Vec<String>],
        depth: u32,
    ) -> Result<ShellResult, Unsupported> {
        let mut text = None;
        let mut ran = ShellResult::Success;
        for command in commands {
            let name = command.first().map_or("", String::as_str);
            (ran, text) = match (name, text) {
                ("grep", text) => counters::grep(&command[1..], text)?,
                ("nstat", None) => (
                    ShellResult::Success,
                    Some(self.counters.nstat(&command[1..])?),
                ),
                (_, None) => (self.command(command, depth)?, None),
                _ => return Err(unsupported(command)),
            };
        }
        Ok(ran)
    }

    fn command(&mut self, command: &[String], depth: u32) -> Result<ShellResult, Unsupported> {
        let Some((name, rest)) = command.split_first() else {
            return Ok(ShellResult::Success);
        };
        match name.as_str() {
            "sysctl" => {
                let values = rest.iter().filter(|word| !word.starts_with('-'));
                self.assign_all(values.map(String::as_str))
            }
            "ip" | "tc" => run_inside(command),
            "ethtool" => ethtool(command),
            "true" | ":" | "sync" => Ok(ShellResult::Success),
            _ if name.starts_with("/tmp/sysctl_restore_") => Ok(ShellResult::Success),
            _ if name.ends_with("set_sysctls.py") => {
                let values = rest
                    .iter()
                    .map(|word| word.trim_start_matches("/proc/sys/"));
                self.assign_all(values)
            }
            _ if name.starts_with("./") || name.starts_with("../") => {
                if !name.ends_with(".sh") || !rest.is_empty() {
                    return Err(unsupported(command));
                }
                let path = self.folder.join(name);
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    Unsupported::new("command", format!("{}: {error}", path.display()))
                })?;
                self.run_nested(&text, depth + 1)
            }
            _ => Err(unsupported(command)),
        }
    }

    fn assign_all<'a>(
        &mut self,
        all: impl Iterator<Item = &'a str>,
    ) -> Result<ShellResult, Unsupported> {
        for one in all {
            let Some((name, value)) = one.split_once('=') else {
                return Err(Unsupported::new("command", format!("sysctl {one}")));
            };
            self.assign(&name.replace('/', "."), value.trim_matches('"').trim())?;
        }
        Ok(ShellResult::Success)
    }

    fn assign(&mut self, name: &str, value: &str) -> Result<(), Unsupported> {
        match settings::write(name, value) {
            Ok(()) => {
                if name == CONGESTION {
                    self.congestion = None;
                }
                Ok(())
            }
            Err(error) if name == CONGESTION && error.kind() == io::ErrorKind::PermissionDenied => {
                self.congestion = Some(value.to_string());
                Ok(())
            }
            Err(error) => Err(Unsupported::new(
                "setting",
                format!("{name} = {value}: {error}"),
            )),
        }
    }
}

fn unsupported(command: &[String]) -> Unsupported {
    Unsupported::new("command", command.join(" "))
}

/// Runs `ip` or `tc` in the namespace of the calling thread. The new process inherits it.
fn run_inside(command: &[String]) -> Result<ShellResult, Unsupported> {
    const OUTWARD: [&str; 7] = ["netns", "-n", "-netns", "-b", "-batch", "-force", "vrf"];
    let leads_out = |word: &String| OUTWARD.contains(&word.as_str());
    if command[1..].iter().any(leads_out) {
        return Err(unsupported(command));
    }
    // A missing program is a fault of this machine, not of the kernel.
    let mut process = Command::new(&command[0]);
    process
        .args(&command[1..])
        .stdin(std::process::Stdio::null());
    let output = process
        .output()
        .map_err(|error| Unsupported::new("command", format!("{}: {error}", command.join(" "))))?;
    if output.status.success() {
        return Ok(ShellResult::Success);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
    // A part of the kernel that was not built.
    if [
        "Specified qdisc kind is unknown",
        "qdisc not supported",
        "No such file or directory",
    ]
    .iter()
    .any(|sign| said.contains(sign))
        && command[0] == "tc"
        && !command.iter().any(|word| word == "delete" || word == "del")
    {
        let what = format!("{}: {said}", command.join(" "));
        return Err(Unsupported::new("command", what));
    }
    Ok(ShellResult::Failure(format!(
        "{}: {said}",
        command.join(" ")
    )))
}

/// Implements `ethtool -K tun0 tso off gso off`.
fn ethtool(command: &[String]) -> Result<ShellResult, Unsupported> {
    let [_, flag, interface, features @ ..] = command else {
        return Err(unsupported(command));
    };
    if !(flag == "-K" || flag == "--features") || interface != DEVICE {
        return Err(unsupported(command));
    }
    for pair in features.chunks(2) {
        let [feature, state] = pair else {
            return Err(unsupported(command));
        };
        let request = match feature.as_str() {
            "tso" => device::FEATURE_TSO,
            "gso" => device::FEATURE_GSO,
            "gro" => device::FEATURE_GRO,
            "sg" => device::FEATURE_SG,
            _ => return Err(unsupported(command)),
        };
        if let Err(error) = ethtool::set_feature(interface, request, state == "on") {
            return Ok(ShellResult::Failure(format!(
                "{}: {error}",
                command.join(" ")
            )));
        }
    }
    Ok(ShellResult::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let mut shell = Shell::new(Path::new("/nowhere"));
        shell.run(text).unwrap_err().what
    }

    #[test]
    fn what_leads_out_of_the_namespace_is_refused() {
        for text in [
            "ip netns exec x ls",
            "ip -n x route",
            "ip -batch /etc/passwd",
            "tc -b file",
            "rm -rf /tmp/x",
            "sh -c true",
            "/bin/dd if=/dev/zero of=/tmp/x",
            "ethtool -K eth0 tso off",
            "./script.py",
            "echo 1 > /proc/sys/kernel/panic",
        ] {
            assert!(!refused(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn settings_outside_the_network_are_refused() {
        assert!(refused("sysctl -w kernel.panic=1").contains("kernel.panic"));
        let trick = refused("./set_sysctls.py /proc/sys/net/../kernel/panic=1");
        assert!(trick.contains("kernel"), "{trick}");
    }

    #[test]
    fn restoring_settings_needs_nothing() {
        let mut shell = Shell::new(Path::new("/nowhere"));
        let ran = shell.run("/tmp/sysctl_restore_${PPID}.sh");
        assert_eq!(ran, Ok(ShellResult::Success));
    }
}
