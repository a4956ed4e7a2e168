//! Shell commands of scripts: settings of the stack, and commands without effect on it.
//!
//! A command is recognized by name or refused; nothing is executed. Commands without effect
//! concern what no script can see: queues of the device, caches, statistics.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use gigatcp_tcp::congestion::SlowStart;
use gigatcp_tcp::{Profile, SocketOption};

use super::host::Host;
use super::settings::{Setup, congestion_named, with_stated_sizes};
use super::sysctl::{Meaning, SYSCTLS};
use crate::stack::Unsupported;

/// The settings of the kernel's self-tests (`defaults.sh`), as far as they
/// differ from what stands in [`Setup`].
const DEFAULTS: &[(&str, &str)] = &[
    ("net.ipv4.tcp_rmem", "4096 540000 15728640"),
    ("net.ipv4.tcp_wmem", "4096 262144 4194304"),
    ("net.ipv4.tcp_syn_retries", "5"),
    // RFC 6298 section 5.5 doubles from the first timeout on.
    ("net.ipv4.tcp_syn_linear_timeouts", "4"),
    ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ("net.ipv4.tcp_ecn", "0"),
];

/// Chooses both methods of HyStart, which is the default.
const HYSTART_DETECT: &str = "echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect";

impl Host {
    /// Applies the command `text` to the settings of future connections.
    pub fn command(&mut self, text: &str) -> Result<(), Unsupported> {
        // Lines that end in a backslash are continued.
        let joined = text.trim_end().trim_end_matches('\\').replace("\\\n", " ");
        for line in joined.split(['\n', ';']) {
            let line = line.split(" #").next().unwrap_or_default().trim();
            if line == HYSTART_DETECT {
                continue;
            }
            if let Some((first, otherwise)) = line.split_once("||") {
                self.command(first).or_else(|_| self.command(otherwise))?;
                continue;
            }
            let line = [" > ", " 2>", " &>"]
                .iter()
                .fold(line, |line, redirection| {
                    line.split(redirection).next().unwrap_or_default()
                });
            if !line.is_empty() && !line.starts_with('#') {
                self.line(line)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), Unsupported> {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = without_interpreter(&words);
        if super::freebsd::is_one(words) {
            self.apply_freebsd_defaults()?;
        }
        if self.run_query(words, line)? || self.change_files(words)? {
            return Ok(());
        }
        match *words {
            [script, ..] if file_name(script) == "defaults.sh" => self.apply_linux_defaults(),
            ["sysctl", ref rest @ ..] => self.sysctls(rest),
            [script, ref rest @ ..] if file_name(script) == "set_sysctls.py" => {
                for setting in rest {
                    let Some((path, value)) = setting.split_once('=') else {
                        return Err(Unsupported::new("command", line));
                    };
                    self.sysctl(path.trim_start_matches("/proc/sys/"), value)?;
                }
                Ok(())
            }
            ["ip", "tcp_metrics" | "tcpmetrics", "flush", ..] => {
                self.transport.forget_servers();
                Ok(())
            }
            ["kldload", ..]
            | ["ip", "tcp_metrics" | "tcpmetrics", ..]
            | ["tc", "qdisc" | "-s", "show" | "qdisc", ..]
            | ["sleep" | "sync" | "true", ..] => Ok(()),
            ["tc", "qdisc", "del" | "delete", "dev", _, "root", ..] => {
                self.transport.setup.set("pacing_by_window", "false")
            }
            [
                "tc",
                "qdisc",
                "add" | "replace" | "change",
                "dev",
                _,
                "root",
                queue @ ("pfifo" | "fq" | "noqueue" | "pfifo_fast" | "mq"),
                ref rest @ ..,
            ] if !rest.contains(&"limit") => {
                let is_paced = if queue == "fq" { "true" } else { "false" };
                // A control with a rate is paced with any of them.
                self.transport.setup.set("pacing_by_window", is_paced)
            }
            ["ethtool", "-K", _, ref features @ ..] => self.transport.setup.offload(features, line),
            ["ip", "link", "set", "dev", _, "mtu", mtu] => {
                let octets = mtu.parse().map_err(|_| Unsupported::new("command", line))?;
                self.transport.addresses.mtu = octets;
                let v6 = self.transport.addresses.local.is_ipv6();
                self.transport.setup.set_mtu(octets, v6);
                Ok(())
            }
            [name, ..] if name.starts_with("/tmp/sysctl_restore_") => Ok(()),
            _ => Err(Unsupported::new("command", line)),
        }
    }

    /// Applies the settings of a `sysctl` line. Without a value it is only a query.
    fn sysctls(&mut self, words: &[&str]) -> Result<(), Unsupported> {
        let settings = words.iter().filter_map(|word| word.split_once('='));
        settings
            .filter(|(name, _)| !name.starts_with('-'))
            .try_for_each(|(name, value)| self.sysctl(name, value))
    }

    /// Applies the settings of the kernel's self-tests, Linux's behavior, and the `sysctl` lines of
    /// the script's own `defaults.sh`, if it has one.
    fn apply_linux_defaults(&mut self) -> Result<(), Unsupported> {
        self.transport.setup.profile = with_stated_sizes(Profile::LINUX_6_18);
        for (name, value) in DEFAULTS {
            self.sysctl(name, value)?;
        }
        self.transport.setup.as_linux = true;
        // Linux grants what a socket asks for twice, its own sizes once.
        self.transport.setup.doubles_requests = true;
        // Its CUBIC opens by HyStart and counts in whole numbers.
        self.transport.setup.slow_start = SlowStart::HyStart;
        self.transport.setup.congestion = congestion_named("cubic-linux")?;
        for line in self.defaults.clone().iter().flat_map(|text| text.lines()) {
            let words = words(line.split(" > ").next().unwrap_or_default());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if let ["sysctl", rest @ ..] = &words[..] {
                self.sysctls(rest)?;
            }
        }
        Ok(())
    }

    fn sysctl(&mut self, name: &str, value: &str) -> Result<(), Unsupported> {
        let (name, value) = (name.replace('/', "."), value.trim_matches('"').trim());
        let known = SYSCTLS.iter().find(|(known, _)| *known == name);
        let known = known
            .map(|(_, meaning)| *meaning)
            .or_else(|| super::freebsd::meaning(&name));
        let unsupported = || Unsupported::new("setting", format!("{name}={value}"));
        let Some(meaning) = known else {
            return Err(unsupported());
        };
        self.transport
            .setup
            .apply(meaning, value)
            .map_err(|_| unsupported())?;
        if matches!(meaning, Meaning::EcnOption) {
            self.follow_ecn_option();
        }
        Ok(())
    }

    /// Applies a changed `tcp_ecn_option` to open connections immediately.
    fn follow_ecn_option(&mut self) {
        let (now, option) = (
            self.transport.clock(),
            self.transport.setup.profile.ecn.ecn_option,
        );
        for conn in &mut self.transport.connections {
            conn.tcp.set(now, SocketOption::EcnOption(option));
        }
    }
}

impl Setup {
    /// Applies `ethtool -K`: segments leave one at a time without TSO or GSO; GRO has no effect.
    fn offload(&mut self, features: &[&str], line: &str) -> Result<(), Unsupported> {
        for feature in features.chunks(2) {
            match *feature {
                ["tso" | "gso", on @ ("on" | "off")] => {
                    let on = if on == "on" { "true" } else { "false" };
                    self.set("segmentation_offload", on)?;
                }
                ["gro" | "lro" | "rx" | "tx" | "sg", "on" | "off"] => {}
                _ => return Err(Unsupported::new("command", line)),
            }
        }
        Ok(())
    }
}

/// Words after an interpreter: `sh`, `source` and the like.
fn without_interpreter<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    match words {
        [
            "." | "source" | "sh" | "bash" | "python" | "python3",
            rest @ ..,
        ] => rest,
        all => all,
    }
}

/// Last component of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Splits a shell line into words. Quotation marks, also within a value, keep spaces.
fn words(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            '|' if !quoted => {
                if !word.is_empty() {
                    all.push(core::mem::take(&mut word));
                }
                all.push("|".into());
            }
            c if c.is_whitespace() && !quoted => {
                if !word.is_empty() {
                    all.push(core::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        all.push(word.to_string());
    }
    all
}
