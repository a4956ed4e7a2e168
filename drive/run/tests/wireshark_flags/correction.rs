//! Corrections of tshark's flags of a packet.
//!
//! Each flag corresponds to kinds that confirm it; if the packet is none of them, the flag is
//! wrong. A kind that tshark flags, or should flag, corresponds to flags that report it. If no
//! correct flag does, the kind is missing.
//!
//! Out of scope: what tshark shows by other fields (resets, ECN marks, old acknowledgments), and a
//! flag that is less specific than possible. A timeout's retransmission that is flagged as a
//! retransmission is not wrong.

use gigatcp_flows::{Kind, Kinds};

use crate::flag::{WiresharkFlag, WiresharkFlags};

/// Differences between tshark's flags of a packet and its kinds.
#[derive(Debug)]
pub struct Correction {
    /// Flags that no kind of the packet confirms.
    pub wrong: WiresharkFlags,
    /// Kinds that no correct flag reports; may be empty.
    pub instead: Vec<Kind>,
}

impl Correction {
    /// Compares `flags` with the packet's `kinds`. `None` if tshark is right.
    pub fn of(flags: &WiresharkFlags, kinds: Kinds) -> Option<Self> {
        let (right, wrong): (WiresharkFlags, WiresharkFlags) =
            flags.iter().partition(|flag| is_borne_out(**flag, kinds));
        // tshark flags a retransmission twice, in general and by its sort. If the sort is wrong,
        // the general flag does not replace it.
        let has_wrong_sort = wrong.contains(&WiresharkFlag::FastRetransmission)
            || wrong.contains(&WiresharkFlag::SpuriousRetransmission);
        let is_missing = |kind: &Kind| {
            let is_vague = has_wrong_sort && Kind::RETRANSMISSIONS.contains(kind);
            !is_reported(*kind, &right) || is_vague
        };
        let instead: Vec<Kind> = kinds.iter().filter(is_missing).collect();
        let is_right = wrong.is_empty() && instead.is_empty();
        (!is_right).then_some(Self { wrong, instead })
    }
}

/// Whether the packet's kinds confirm the flag.
fn is_borne_out(flag: WiresharkFlag, kinds: Kinds) -> bool {
    let has = |kind| kinds.contains(kind);
    match flag {
        WiresharkFlag::Retransmission => kinds.is_retransmission(),
        WiresharkFlag::FastRetransmission => {
            has(Kind::FastRetransmission) || has(Kind::SackRetransmission)
        }
        WiresharkFlag::SpuriousRetransmission => has(Kind::SpuriousRetransmission),
        WiresharkFlag::OutOfOrder => has(Kind::OutOfOrder),
        WiresharkFlag::LostSegment => has(Kind::AfterGap),
        WiresharkFlag::AckLostSegment => has(Kind::AckedUnseen),
        WiresharkFlag::DuplicateAck => has(Kind::DuplicateAck),
        WiresharkFlag::WindowUpdate => has(Kind::WindowUpdate),
        WiresharkFlag::WindowFull => has(Kind::WindowFull),
        WiresharkFlag::ZeroWindow => has(Kind::ZeroWindow),
        WiresharkFlag::ZeroWindowProbe => has(Kind::ZeroWindowProbe),
        WiresharkFlag::ZeroWindowProbeAck => has(Kind::ZeroWindowProbeAck),
        WiresharkFlag::KeepAlive => has(Kind::KeepAlive),
        WiresharkFlag::KeepAliveAck => has(Kind::KeepAliveAck),
        // A fact about the ports, and not about the packet.
        WiresharkFlag::ReusedPorts => true,
    }
}

/// Whether one of these flags reports this kind, or none has to.
fn is_reported(kind: Kind, flags: &WiresharkFlags) -> bool {
    let flag = match kind {
        Kind::FastRetransmission
        | Kind::SackRetransmission
        | Kind::TimeoutRetransmission
        | Kind::TailProbe
        | Kind::SpuriousRetransmission
        | Kind::UnexplainedRetransmission => WiresharkFlag::Retransmission,
        Kind::OutOfOrder => WiresharkFlag::OutOfOrder,
        Kind::AfterGap => WiresharkFlag::LostSegment,
        Kind::DuplicateAck => WiresharkFlag::DuplicateAck,
        Kind::WindowUpdate => WiresharkFlag::WindowUpdate,
        Kind::ZeroWindow => WiresharkFlag::ZeroWindow,
        Kind::WindowFull => WiresharkFlag::WindowFull,
        Kind::KeepAlive => WiresharkFlag::KeepAlive,
        Kind::KeepAliveAck => WiresharkFlag::KeepAliveAck,
        Kind::ZeroWindowProbe => WiresharkFlag::ZeroWindowProbe,
        Kind::ZeroWindowProbeAck => WiresharkFlag::ZeroWindowProbeAck,
        Kind::AckedUnseen => WiresharkFlag::AckLostSegment,
        // tshark lacks flags for these and should have them.
        Kind::BeyondWindow | Kind::CapturedTwice | Kind::DuplicateReport | Kind::ShowsSpurious => {
            return false;
        }
        Kind::OldAck
        | Kind::ResetExact
        | Kind::ResetInWindow
        | Kind::ResetOutOfWindow
        | Kind::CongestionExperienced
        | Kind::EcnEcho
        | Kind::CongestionWindowReduced => return true,
    };
    flags.contains(&flag)
}
