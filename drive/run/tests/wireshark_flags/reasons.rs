//! Reasons for differences between tshark's flags and the actual events. `docs/notes/tshark.md` explains each under its name.

use gigatcp_flows::{Kind, Kinds, Observed};

use crate::flag::WiresharkFlag;

/// A flag that does not apply to a packet, or a kind without a flag.
#[derive(Clone, Copy, Debug)]
pub struct Disagreement<'a> {
    pub capture: &'a str,
    pub wrong: Option<WiresharkFlag>,
    pub missing: Option<Kind>,
    /// All kinds of the packet.
    pub kinds: Kinds,
    pub packet: Observed,
}

/// A reason: its name, and whether it explains a disagreement.
pub type Reason = (&'static str, fn(&Disagreement<'_>) -> bool);

/// All reasons; the first match applies.
pub const REASONS: &[Reason] = &[
    ("random-order", |d| d.capture.contains("randomized")),
    ("captured-twice", |d| d.kinds.contains(Kind::CapturedTwice)),
    ("reports-a-duplicate", |d| {
        d.kinds.contains(Kind::DuplicateReport)
    }),
    ("duplicate-by-sack", |d| {
        d.kinds.contains(Kind::DuplicateAck) && !d.packet.sack.is_empty()
    }),
    ("nothing-outstanding", |d| {
        d.wrong == Some(WiresharkFlag::DuplicateAck) && d.kinds.is_empty()
    }),
    ("first-window", |d| {
        d.wrong == Some(WiresharkFlag::WindowUpdate) && d.kinds.is_empty()
    }),
    ("first-fragment", |d| {
        let lost = [WiresharkFlag::LostSegment, WiresharkFlag::AckLostSegment];
        d.wrong.is_some_and(|flag| lost.contains(&flag)) && d.capture == "jpegs.cap"
    }),
    ("told-once", |d| d.missing == Some(Kind::AckedUnseen)),
    ("room-for-no-segment", |d| {
        d.missing == Some(Kind::WindowFull)
    }),
    ("clock-steps-back", |d| {
        d.capture == "test1-out-of-order.pcap"
    }),
    ("fuzzed", |d| d.capture.contains("oobr")),
];
