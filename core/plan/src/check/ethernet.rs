//! `[path.ethernet]`: one medium in place of hops.

use alloc::borrow::ToOwned;
use alloc::format;

use gigatcp_path::SharedMediumConfig;
use gigatcp_units::{Duration, Rate};

use crate::diagnostic::Diagnostic;
use crate::keys;
use crate::model::Ethernet;
use crate::reader::Reader;

/// What Ethernet began as.
const RATE: Rate = Rate::from_bps(10_000_000);

/// Octets of the largest IP packet in a frame.
const MOST_PACKET: u32 = 1500;

/// Reads the medium that `path` names, if it names one.
pub(super) fn ethernet(path: &Reader, mtu: u32) -> Option<Ethernet> {
    let value = path.value("ethernet")?;
    check_alone(path);
    let reader = Reader::of_value(&keys::ETHERNET, value, path.findings())?;
    let time = |key| reader.time(key).unwrap_or(Duration::ZERO);
    let medium = SharedMediumConfig {
        name: "ethernet".to_owned(),
        rate: reader.rate("rate").unwrap_or(RATE),
        delay: time("delay"),
        limit_packets: reader.whole("queue"),
    };
    if let Err(error) = medium.check() {
        let finding = Diagnostic::error(reader.place_of_value("delay"), format!("{error}"));
        path.findings().add(
            finding
                .label(format!("two ways of {} at {}", medium.delay, medium.rate))
                .hint("a shorter delay, or a lower rate"),
        );
    }
    if mtu > MOST_PACKET {
        let message = format!("an MTU of {mtu} bytes does not fit an Ethernet");
        let finding = Diagnostic::error(path.place_of("ethernet"), message);
        path.findings().add(
            finding
                .label(format!("a frame takes packets of {MOST_PACKET} bytes"))
                .hint(format!("mtu = {MOST_PACKET} for both hosts, or less")),
        );
    }
    Some(Ethernet {
        medium,
        sender_recovery: time("sender_recovery"),
        receiver_recovery: time("receiver_recovery"),
    })
}

/// A path that is an Ethernet says nothing else.
fn check_alone(path: &Reader) {
    for entry in path.entries() {
        if entry.key != "ethernet" && keys::PATH.find(&entry.key).is_some() {
            let why = "an Ethernet is the whole path, both ways";
            path.report_conflict(&entry.key, "ethernet", why);
        }
    }
}
