//! Our model of tshark compared with the installed one, packet for packet, on captures of
//! simulations and of Debian packages. For the latter, tshark's flags are also compared with the
//! actual events (`reasons.rs`, `docs/notes/tshark.md`). If tshark or the captures are missing, a
//! message says so, and nothing is compared; `cargo xtask ci` gets both if possible.

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

/// Our analysis of a packet.
#[derive(Clone, Copy)]
struct Said {
    /// Expected flags of tshark.
    flags: WiresharkFlags,
    /// Kinds of the packet.
    kinds: Kinds,
    observed: Observed,
}

/// Returns every segment by its frame number, as far as the capture is readable.
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

/// Returns the names of flags.
fn names(flags: WiresharkFlags) -> String {
    let names: Vec<&str> = flags.iter().map(WiresharkFlag::name).collect();
    names.join(" ")
}
