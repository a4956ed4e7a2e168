//! The installed tshark compared with our reading of the same captures: the segments that it finds
//! (`fragments.rs`), and its flags with the kinds of packets (`reasons.rs`, `docs/notes/tshark.md`). If tshark or the captures are missing, a
//! message says so, and nothing is compared; `cargo xtask ci` gets both if possible.

#[path = "../../../sim/tests/common/mod.rs"]
mod common;

mod correction;
#[path = "../../../../core/wire/tests/cut/mod.rs"]
mod cut;
mod debian;
#[path = "../debian_captures/mod.rs"]
mod debian_captures;
mod flag;
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

use gigatcp_flows::{FlowTable, Kinds, Observed};

/// Our analysis of a packet.
#[derive(Clone, Copy)]
struct Said {
    /// Kinds of the packet.
    kinds: Kinds,
    observed: Observed,
}

/// Every segment by its frame number, as far as the capture is readable.
fn ours(path: &Path) -> BTreeMap<u64, Said> {
    let mut all = BTreeMap::new();
    let mut table = FlowTable::new(1);
    segments::each(path, |frame, observed| {
        let verdict = table.handle_packet(observed);
        let said = Said {
            kinds: verdict.kinds,
            observed: *observed,
        };
        all.insert(frame, said);
    });
    all
}
