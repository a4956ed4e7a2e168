//! Our tshark against the installed one, packet for packet, on captures of
//! simulated worlds and on those that come with packages of Debian; and what
//! tshark says of the latter beside what is so (`reasons.rs`,
//! `docs/notes/tshark.md`). Where tshark is missing, or the captures are, that is
//! said, and nothing is compared; `cargo xtask ci` gets both where it can.

#[path = "../../../sim/tests/common/mod.rs"]
mod common;

#[path = "../../../../core/wire/tests/cut/mod.rs"]
mod cut;
mod debian;
#[path = "../debian_captures/mod.rs"]
mod debian_captures;
mod fragments;
#[path = "../../../capture/tests/independent_reader/mod.rs"]
mod independent_reader;
mod reasons;
#[path = "../segments/mod.rs"]
mod segments;
mod tshark;
mod worlds;

use std::collections::BTreeMap;
use std::path::Path;

use gigatcp_flows::{
    Connection, FlowTable, Kinds, Observed, Wireshark, WiresharkFlag, WiresharkFlags,
};

/// What we say of a packet.
#[derive(Clone, Copy)]
struct Said {
    /// What tshark would.
    flags: WiresharkFlags,
    /// What it is.
    kinds: Kinds,
    observed: Observed,
}

/// Every segment by the number of its frame; as far as the capture can be read.
fn ours(path: &Path) -> BTreeMap<u64, Said> {
    let mut all = BTreeMap::new();
    let mut table = FlowTable::new(1);
    let mut wireshark = Wireshark::new();
    segments::each(path, |frame, observed| {
        let verdict = table.handle_packet(observed);
        let connection = table.connection(verdict.connection);
        let is_successor = connection.is_some_and(Connection::is_successor);
        let (index, from) = (verdict.connection, verdict.from);
        let flags = wireshark.handle_packet(index, is_successor, from, observed);
        let said = Said {
            flags,
            kinds: verdict.kinds,
            observed: *observed,
        };
        all.insert(frame, said);
    });
    all
}

/// Flags by their names.
fn names(flags: WiresharkFlags) -> String {
    let names: Vec<&str> = flags.iter().map(WiresharkFlag::name).collect();
    names.join(" ")
}
