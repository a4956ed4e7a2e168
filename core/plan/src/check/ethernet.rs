//! `[path.ethernet]`, one medium in place of hops, and the media of `[[link]]`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_path::SharedMediumConfig;
use gigatcp_units::{Duration, Rate};

use crate::diagnostic::Diagnostic;
use crate::keys;
use crate::model::Ethernet;
use crate::reader::Reader;

/// Rate of the original Ethernet.
const RATE: Rate = Rate::from_bps(10_000_000);

/// Bytes of the largest IP packet in a frame.
const MAX_PACKET: u32 = 1500;

/// Reads the medium of `path`, if it has one.
pub(super) fn ethernet(path: &Reader, mtu: u32) -> Option<Ethernet> {
    path.value("ethernet")?;
    check_alone(path);
    if mtu > MAX_PACKET {
        let message = format!("an MTU of {mtu} bytes does not fit an Ethernet");
        Diagnostic::error(path.place_of("ethernet"), message)
            .label(format!("a frame takes packets of {MAX_PACKET} bytes"))
            .hint(format!("mtu = {MAX_PACKET} for both hosts, or less"))
            .report(path.findings());
    }
    medium(path, "ethernet".to_owned())
}

/// Reads the medium that `ethernet` of a path or of a link describes.
pub(super) fn medium(parent: &Reader, name: String) -> Option<Ethernet> {
    let value = parent.value("ethernet")?;
    let reader = Reader::of_value(&keys::ETHERNET, value, parent.findings())?;
    let time = |key| reader.time(key).unwrap_or(Duration::ZERO);
    let medium = SharedMediumConfig {
        name,
        rate: reader.rate("rate").unwrap_or(RATE),
        delay: time("delay"),
        limit_packets: reader.whole("queue"),
        recoveries: Vec::new(),
    };
    if let Err(error) = medium.check() {
        Diagnostic::error(reader.place_of_value("delay"), format!("{error}"))
            .label(format!("two ways of {} at {}", medium.delay, medium.rate))
            .hint("a shorter delay, or a lower rate")
            .report(parent.findings());
    }
    Some(Ethernet {
        medium,
        recoveries: ["sender_recovery", "receiver_recovery"].map(time),
    })
}

/// Rejects other keys of a path that is an Ethernet.
fn check_alone(path: &Reader) {
    for entry in path.entries() {
        if entry.key != "ethernet" && keys::PATH.find(&entry.key).is_some() {
            let why = "an Ethernet is the whole path, both ways";
            path.report_conflict(&entry.key, "ethernet", why);
        }
    }
}
