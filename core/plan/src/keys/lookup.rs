//! Finds the key definition of a dotted key.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use gigatcp_tcp::profile::{SETTINGS, Setting};
use gigatcp_units::settings::TextError;

use super::{Key, KeyTable, Kind, PLAN, TABLES};
use crate::nearest::nearest;

/// Sections whose keys a series, an override or an axis can set.
pub const SECTIONS: [&str; 9] = [
    "path", "node", "link", "sender", "receiver", "flow", "tester", "record", "duration",
];

/// A key that exists.
#[derive(Clone, Copy, Debug)]
pub enum KnownKey {
    /// A key of a table.
    Key(&'static Key),
    /// A setting of a profile.
    Setting(&'static Setting),
}

impl KnownKey {
    /// Whether it takes whole numbers only.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Key(key) => matches!(key.kind, Kind::Whole(..) | Kind::Octets(..)),
            Self::Setting(setting) => setting.expects.starts_with("a whole number"),
        }
    }
}

/// Dotted key that a cell can set.
///
/// # Errors
/// There is no such key; the nearest existing one is suggested. `place` is where it was read.
pub fn find(dotted: &str, place: Range<usize>) -> Result<KnownKey, TextError> {
    let words: Vec<&str> = dotted.split('.').map(str::trim).collect();
    let (first, rest) = words.split_first().unwrap_or((&"", &[]));
    let unknown = |why: &str, hint: String| TextError::new(dotted, place.clone(), why, hint);
    if !SECTIONS.contains(first) {
        let near = nearest(first, SECTIONS).or_else(|| section_of(first));
        let hint = format!("keys begin with {}", SECTIONS.join(", "));
        let mut error = unknown("no key that can vary", hint);
        error.nearest = near.map(|near| match rest {
            [] if !SECTIONS.contains(&near) => near.to_string(),
            [] => format!("{near}.{first}"),
            rest => format!("{near}.{}", rest.join(".")),
        });
        return Err(error);
    }
    let mut table = &PLAN;
    let mut before = String::new();
    let mut left = words.as_slice();
    while let Some((word, rest)) = left.split_first() {
        let inner = table.find(word).and_then(|key| inner(key.kind));
        match (inner, rest) {
            (Some((next, many)), [choice, behind @ ..]) => {
                table = next;
                before = format!("{before}{word}.");
                let picks =
                    many && !behind.is_empty() && !table.names().any(|name| name == *choice);
                left = if picks { behind } else { rest };
            }
            (None, []) => {
                if let Some(found) = leaf(table, word) {
                    return Ok(found);
                }
                let names: Vec<&str> = table.names().collect();
                let hint = format!("keys of {}: {}", table.heading, names.join(", "));
                let mut error = unknown("no such key", hint);
                error.nearest = nearest(word, table.names()).map(|near| format!("{before}{near}"));
                return Err(error);
            }
            _ => {
                let hint = format!("`gigatcp list keys` shows the keys of {}", table.heading);
                return Err(unknown("a table, or a key inside a value", hint));
            }
        }
    }
    Err(unknown(
        "no key",
        "a dotted key, as in path.rtt".to_string(),
    ))
}

fn leaf(table: &KeyTable, word: &str) -> Option<KnownKey> {
    if let Some(key) = table.find(word) {
        return Some(KnownKey::Key(key));
    }
    let setting = SETTINGS.iter().find(|setting| setting.name == word);
    setting
        .filter(|_| table.has_settings)
        .map(KnownKey::Setting)
}

/// Table of keys below a key, and whether it may occur several times.
fn inner(kind: Kind) -> Option<(&'static KeyTable, bool)> {
    let (heading, many) = match kind {
        Kind::Table(heading) => (heading, false),
        Kind::Tables(heading) => (heading, true),
        _ => return None,
    };
    let first = heading.split(" and ").next().unwrap_or(heading);
    let is_it = |table: &&KeyTable| table.heading.split(", ").any(|name| name == first);
    TABLES.iter().find(is_it).map(|table| (table, many))
}

/// Section and key of a word that was typed without its section.
fn section_of(word: &str) -> Option<&'static str> {
    const BY_WORD: [(&str, &str); 8] = [
        ("rtt", "path.rtt"),
        ("rate", "path.rate"),
        ("loss", "path.loss"),
        ("queue", "path.queue"),
        ("window", "flow.window"),
        ("congestion_control", "flow.congestion_control"),
        ("mtu", "sender.mtu"),
        ("bytes", "flow.bytes"),
    ];
    let found = BY_WORD.iter().find(|(short, _)| *short == word);
    found.map(|(_, key)| *key)
}
