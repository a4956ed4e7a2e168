//! `[sender]` and `[receiver]`.

use alloc::format;

use gigatcp_path::{CpuCosts, HopConfig};
use gigatcp_tcp::Profile;
use gigatcp_tcp::profile::{SETTINGS, SettingValue};
use gigatcp_units::{Bytes, Duration};

use super::path::{self, Hop};
use super::section;
use crate::diagnostic::Diagnostic;
use crate::document::{Entry, ValueKind};
use crate::keys;
use crate::model::Host;
use crate::quantity::{self, Misread};
use crate::reader::Reader;

/// A host, and what can only be settled together with others.
pub(crate) struct Draft {
    /// The host without its link.
    pub(crate) host: Host,
    /// Its link, whose queue may depend on the whole path.
    pub(crate) link: Option<Hop>,
    /// The buffer for flows that do not ask for one.
    pub(crate) buffer: Bytes,
}

/// Buffer asked for where nobody asks for one.
const BUFFER: Bytes = Bytes::new(16 << 20);

/// Reads the host of that section.
pub(crate) fn host(plan: &Reader, name: &'static str) -> Draft {
    let reader = section(plan, name, &keys::HOST);
    let names = Profile::ALL.iter().map(|profile| profile.name);
    let profile = reader.choice("profile", "profile", names, Profile::find);
    let mut profile = profile.unwrap_or(Profile::MODERN);
    for entry in reader.entries() {
        if SETTINGS.iter().any(|setting| setting.name == entry.key) {
            set(&mut profile, entry, &reader);
        }
    }
    check_settings(&profile, &reader);
    let link = reader.value("link").and_then(|value| {
        let link = Reader::of_value(&keys::HOP, value, reader.findings())?;
        Some(path::hop(&link, &format!("{name}-link")))
    });
    let host = Host {
        mtu: reader.octets("mtu").unwrap_or(1500),
        profile,
        costs: costs(&section(&reader, "cpu", &keys::CPU)),
        link: None,
    };
    let buffer = reader.amount("buffer").unwrap_or(BUFFER);
    Draft { host, link, buffer }
}

/// The host with its link.
pub(crate) fn with_link(host: Host, link: Option<HopConfig>) -> Host {
    Host { link, ..host }
}

fn costs(reader: &Reader) -> CpuCosts {
    let time = |key| reader.time(key).unwrap_or(Duration::ZERO);
    CpuCosts {
        per_segment_sent: time("per_segment_sent"),
        per_packet_sent: time("per_packet_sent"),
        per_segment_received: time("per_segment_received"),
        per_packet_received: time("per_packet_received"),
        per_ack_sent: time("per_ack_sent"),
        per_ack_received: time("per_ack_received"),
        per_byte_copied: reader.cost("per_byte_copied").unwrap_or_default(),
        per_entry_walked: time("per_entry_walked"),
    }
}

/// Changes one setting of the profile.
fn set(profile: &mut Profile, entry: &Entry, reader: &Reader) {
    let refusal = match setting_value(&entry.value.kind) {
        Ok(setting) => profile
            .try_set(&entry.key, setting)
            .err()
            .map(|_| Refusal::Setting),
        Err(refusal) => Some(refusal),
    };
    let setting = SETTINGS.iter().find(|setting| setting.name == entry.key);
    let (Some(refusal), Some(setting)) = (refusal, setting) else {
        return;
    };
    let (key, value) = (&entry.key, &entry.value);
    let finding = Diagnostic::error(&value.place, format!("`{key}` takes {}", setting.expects));
    let finding = finding.label(value.describe());
    reader.findings().add(match refusal {
        // A slip in a time is worth a word where a time is wanted.
        Refusal::Misread(misread) if setting.expects.contains("time") => Diagnostic {
            message: format!("`{key}`: {}", misread.why),
            ..finding.nearest(misread.nearest).hint(misread.hint)
        },
        _ => finding,
    });
}

/// Why a value changes nothing.
enum Refusal {
    /// No setting takes such values.
    Kind,
    /// A text that is not a time.
    Misread(Misread),
    /// The setting does not take it.
    Setting,
}

/// What a value says to a setting.
fn setting_value(value: &ValueKind) -> Result<SettingValue, Refusal> {
    match value {
        ValueKind::Flag(flag) => Ok(SettingValue::Switch(*flag)),
        ValueKind::Integer(Some(number)) => u32::try_from(*number)
            .map(SettingValue::Count)
            .map_err(|_| Refusal::Kind),
        ValueKind::Text(text) => quantity::common(text)
            .map(SettingValue::Time)
            .map_err(Refusal::Misread),
        _ => Err(Refusal::Kind),
    }
}

/// Settings that do nothing without another are hardly meant so.
fn check_settings(profile: &Profile, reader: &Reader) {
    let idle = [
        (
            "ack_every_later",
            profile.ack_every_switch.is_none(),
            "ack_every_switch is set",
        ),
        ("dsack", profile.dsack && !profile.sack, "sack is on"),
        ("quick_acks", !profile.quick_ack, "quick_ack is on"),
    ];
    for (key, is_idle, condition) in idle {
        if is_idle && reader.has(key) {
            let message = format!("`{key}` has no effect unless {condition}");
            let finding = Diagnostic::warning(reader.place_of(key), message);
            reader.findings().add(finding.label("does nothing here"));
        }
    }
}
