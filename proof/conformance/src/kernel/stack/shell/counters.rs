//! Implements `nstat` and `grep`: the kernel's counters and tables as scripts request them.
//!
//! `nstat` shows changes since its last call. The program keeps them in a file of the user's, which
//! test network namespaces would share. It is therefore implemented here, from `/proc/net/snmp`,
//! `netstat` and `snmp6` of the calling thread's namespace.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use crate::stack::Unsupported;

use super::ShellResult;

/// Path of the tables of the calling thread's namespace. `/proc/net` would be that of the process's
/// first thread.
const TABLES: &str = "/proc/thread-self/net/";

/// Counters at the previous query.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    history: BTreeMap<String, i64>,
}

impl Counters {
    /// Implements `nstat`: prints what has changed since the last call. `-n` prints nothing, `-s`
    /// does not update the previous counters, `-a` prints all since the beginning.
    pub(super) fn nstat(&mut self, flags: &[String]) -> Result<String, Unsupported> {
        let has = |flag: &str| flags.iter().any(|word| word == flag);
        if let Some(other) = flags
            .iter()
            .find(|f| !["-n", "-s", "-a", "-z"].contains(&f.as_str()))
        {
            return Err(Unsupported::new("command", format!("nstat {other}")));
        }
        let now = read();
        let mut lines = String::new();
        for (name, value) in &now {
            let before = if has("-a") {
                0
            } else {
                self.history.get(name).copied().unwrap_or(0)
            };
            let change = value - before;
            if !has("-n") && (change != 0 || has("-z")) {
                let _ = writeln!(lines, "{name:<32}{change:<16} 0.0");
            }
        }
        if !has("-s") {
            self.history = now;
        }
        Ok(lines)
    }
}

/// All counters of the namespace.
fn read() -> BTreeMap<String, i64> {
    let mut counters = BTreeMap::new();
    for table in ["snmp", "netstat"] {
        let text = fs::read_to_string(format!("{TABLES}{table}")).unwrap_or_default();
        counters.extend(paired(&text));
    }
    let text = fs::read_to_string(format!("{TABLES}snmp6")).unwrap_or_default();
    counters.extend(text.lines().filter_map(|line| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        Some((name.to_string(), value.trim().parse().ok()?))
    }));
    counters
}

/// Parses two lines for each group, `TcpExt: name name …` and `TcpExt: 1 2 …`.
fn paired(text: &str) -> Vec<(String, i64)> {
    let lines: Vec<&str> = text.lines().collect();
    let (pairs, _) = lines.as_chunks::<2>();
    let mut all = Vec::new();
    for [names, values] in pairs {
        let Some((group, names)) = names.split_once(": ") else {
            continue;
        };
        for (name, value) in names
            .split_whitespace()
            .zip(values.split_whitespace().skip(1))
        {
            all.extend(value.parse().ok().map(|n| (format!("{group}{name}"), n)));
        }
    }
    all
}

/// Implements `grep [-q] text [file …]`: prints the lines with the text. Only files of this
/// namespace below `/proc/net` may be read.
pub(super) fn grep(
    words: &[String],
    input: Option<String>,
) -> Result<(ShellResult, Option<String>), Unsupported> {
    let refused = || Unsupported::new("command", format!("grep {}", words.join(" ")));
    let (flags, words): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| word.starts_with('-'));
    let Some((pattern, files)) = words.split_first() else {
        return Err(refused());
    };
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | ':' | '_' | '.');
    if flags.iter().any(|flag| *flag != "-q") || !pattern.chars().all(is_plain) {
        return Err(refused());
    }
    let mut text = input.unwrap_or_default();
    for file in files {
        let name = file.strip_prefix("/proc/net/").ok_or_else(refused)?;
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(refused());
        }
        text += &fs::read_to_string(format!("{TABLES}{name}")).map_err(|_| refused())?;
    }
    let found: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(pattern.as_str()))
        .collect();
    let ran = if found.is_empty() {
        ShellResult::Failure(format!("grep finds no line with `{pattern}`"))
    } else {
        ShellResult::Success
    };
    let mut lines = found.join("\n");
    lines.push('\n');
    Ok((ran, Some(lines)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_in_pairs_of_lines() {
        let text = "TcpExt: SyncookiesSent BeyondWindow\nTcpExt: 0 3\nIpExt: InNoRoutes\nIpExt: 7";
        assert_eq!(
            paired(text),
            [
                ("TcpExtSyncookiesSent".to_string(), 0),
                ("TcpExtBeyondWindow".to_string(), 3),
                ("IpExtInNoRoutes".to_string(), 7),
            ]
        );
        assert_eq!(paired("one line"), []);
    }

    #[test]
    fn grep_finds_lines_and_fails_without_any() {
        let input = || Some("TcpExtBeyondWindow              3                0.0\n".to_string());
        let (ran, lines) = grep(&["BeyondWindow".into()], input()).unwrap();
        assert_eq!(ran, ShellResult::Success);
        let (ran, _) = grep(&["-q".into(), " 3 ".into()], lines).unwrap();
        assert_eq!(ran, ShellResult::Success);
        let (ran, _) = grep(&["-q".into(), " 4 ".into()], input()).unwrap();
        assert!(matches!(ran, ShellResult::Failure(_)));
    }

    #[test]
    fn grep_reads_no_file_outside_the_namespaces_tables() {
        for file in ["/etc/passwd", "/proc/net/../kcore", "/proc/self/environ"] {
            assert!(grep(&["x".into(), file.into()], None).is_err(), "{file}");
        }
    }
}
