//! ECN negotiation: the flags of SYN and SYN-ACK.
//!
//! RFC 3168 section 6.1.1 and RFC 9768 sections 3.1 and 3.2.2.1, one stateless function per table
//! and direction.

use gigatcp_wire::{Ecn, Flags};

use crate::events::EcnFeedback;

/// Flags with which a SYN requests `wanted`. (AE, CWR, ECE) = (1, 1, 1) for accurate feedback, (0,
/// 1, 1) for classic (RFC 9768 table 2, third column).
pub(crate) fn syn_flags(wanted: EcnFeedback) -> Flags {
    match wanted {
        EcnFeedback::None => Flags::NONE,
        EcnFeedback::Classic => Flags::CWR | Flags::ECE,
        EcnFeedback::Accurate => Flags::ACE,
    }
}

/// Feedback that a SYN with these `flags` requests. The host accepts `most`.
///
/// A host that supports only RFC 3168 ignores AE. One that supports RFC 9768 treats every
/// combination without meaning as a request (section 3.1.3).
pub(crate) fn asked_by_syn(flags: Flags, most: EcnFeedback) -> EcnFeedback {
    let classic = flags.contains(Flags::CWR | Flags::ECE);
    match (most, flags.ace()) {
        (EcnFeedback::None, _) | (_, 0b000) => EcnFeedback::None,
        (EcnFeedback::Accurate, 0b011) => EcnFeedback::Classic,
        (EcnFeedback::Accurate, _) => EcnFeedback::Accurate,
        (EcnFeedback::Classic, _) if classic => EcnFeedback::Classic,
        (EcnFeedback::Classic, _) => EcnFeedback::None,
    }
}

/// Flags of a SYN-ACK that accepts `agreed`. With accurate feedback they encode the ECN field of
/// the SYN (RFC 9768 table 2, top block).
pub(crate) fn syn_ack_flags(agreed: EcnFeedback, syn_arrived: Ecn) -> Flags {
    match agreed {
        EcnFeedback::None => Flags::NONE,
        EcnFeedback::Classic => Flags::ECE,
        EcnFeedback::Accurate => Flags::from_ace(handshake_ace(syn_arrived)),
    }
}

/// Feedback that a SYN-ACK with these `flags` agrees to, if we requested `wanted`. The second
/// result is the ECN field with which our SYN arrived, if reported (RFC 9768 table 2).
pub(crate) fn agreed_by_syn_ack(flags: Flags, wanted: EcnFeedback) -> (EcnFeedback, Option<Ecn>) {
    match (wanted, flags.ace()) {
        (EcnFeedback::None, _) => (EcnFeedback::None, None),
        // RFC 3168 section 6.1.1: ECE without CWR; AE is ignored.
        (EcnFeedback::Classic, ace) if ace & 0b011 == 0b001 => (EcnFeedback::Classic, None),
        (EcnFeedback::Classic, _) => (EcnFeedback::None, None),
        (EcnFeedback::Accurate, 0b001) => (EcnFeedback::Classic, None),
        // Not capable, or a broken server that echoes the SYN.
        (EcnFeedback::Accurate, 0b000 | 0b111) => (EcnFeedback::None, None),
        // Reserved: treated as if nothing changed (section 3.1.3).
        (EcnFeedback::Accurate, ace) => (EcnFeedback::Accurate, handshake_ecn(ace)),
    }
}

/// Handshake encoding of an ECN field, RFC 9768 tables 2 and 3.
pub(crate) fn handshake_ace(arrived: Ecn) -> u8 {
    match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// ECN field of a handshake encoding (RFC 9768 table 4).
pub(crate) fn handshake_ecn(ace: u8) -> Option<Ecn> {
    match ace {
        0b010 => Some(Ecn::NotEct),
        0b011 => Some(Ecn::Ect1),
        0b100 => Some(Ecn::Ect0),
        0b110 => Some(Ecn::Ce),
        _ => None,
    }
}

/// Whether a network may have turned `sent` into `arrived`. A capable packet may be marked, and may
/// change from one ECT to the other; everything else is mangling (RFC 3168 section 18, RFC 9768
/// section 3.2.2.3).
pub(crate) fn is_valid_transition(sent: Ecn, arrived: Ecn) -> bool {
    match sent {
        Ecn::NotEct | Ecn::Ce => arrived == sent,
        Ecn::Ect0 | Ecn::Ect1 => arrived != Ecn::NotEct,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EcnFeedback::{Accurate, Classic, None as Plain};

    const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

    #[test]
    fn table_2_of_rfc_9768_row_by_row_from_the_side_of_host_a() {
        // Feedback A requests, the SYN-ACK, A's mode, the field of its SYN.
        let rows = [
            (Accurate, 0b010, Accurate, Some(Ecn::NotEct)),
            (Accurate, 0b011, Accurate, Some(Ecn::Ect1)),
            (Accurate, 0b100, Accurate, Some(Ecn::Ect0)),
            (Accurate, 0b110, Accurate, Some(Ecn::Ce)),
            (Accurate, 0b101, Accurate, None),
            (Accurate, 0b001, Classic, None),
            (Accurate, 0b000, Plain, None),
            (Classic, 0b001, Classic, None),
            (Plain, 0b000, Plain, None),
            (Accurate, 0b111, Plain, None),
        ];
        for (wanted, answer, mode, arrived) in rows {
            let agreed = agreed_by_syn_ack(Flags::from_ace(answer), wanted);
            assert_eq!(agreed, (mode, arrived), "{wanted:?} {answer:03b}");
        }
    }

    #[test]
    fn table_2_of_rfc_9768_row_by_row_from_the_side_of_host_b() {
        // The SYN, the most that B accepts, the SYN-ACK by the field of the SYN.
        let accurate = [0b010, 0b011, 0b100, 0b110];
        let rows = [
            (0b111, Accurate, accurate),
            (0b111, Classic, [0b001; 4]),
            (0b111, Plain, [0b000; 4]),
            (0b011, Accurate, [0b001; 4]),
            (0b011, Classic, [0b001; 4]),
            (0b011, Plain, [0b000; 4]),
            (0b000, Accurate, [0b000; 4]),
            (0b000, Classic, [0b000; 4]),
            // Section 3.1.3: every other combination requests accurate feedback.
            (0b001, Accurate, accurate),
            (0b010, Accurate, accurate),
            (0b100, Accurate, accurate),
            (0b101, Accurate, accurate),
            (0b110, Accurate, accurate),
            // RFC 3168 section 6.1.1: both flags make an ECN-setup SYN.
            (0b001, Classic, [0b000; 4]),
            (0b010, Classic, [0b000; 4]),
            (0b100, Classic, [0b000; 4]),
        ];
        for (syn, most, answers) in rows {
            let agreed = asked_by_syn(Flags::from_ace(syn), most);
            let answered = ALL.map(|arrived| syn_ack_flags(agreed, arrived).ace());
            assert_eq!(answered, answers, "{syn:03b} {most:?}");
        }
    }

    #[test]
    fn an_rfc_3168_host_takes_only_ece_without_cwr_for_consent() {
        let table = [
            (0b000, Plain),
            (0b001, Classic),
            (0b010, Plain),
            (0b011, Plain),
            (0b101, Classic),
            (0b111, Plain),
        ];
        for (answer, mode) in table {
            let (agreed, _) = agreed_by_syn_ack(Flags::from_ace(answer), Classic);
            assert_eq!(agreed, mode, "{answer:03b}");
        }
    }

    #[test]
    fn the_handshake_encoding_reads_back() {
        for arrived in ALL {
            assert_eq!(handshake_ecn(handshake_ace(arrived)), Some(arrived));
        }
        for unused in [0b000, 0b001, 0b101, 0b111] {
            assert_eq!(handshake_ecn(unused), None);
        }
    }

    #[test]
    fn invalid_transitions_are_those_of_rfc_3168_section_18() {
        let valid = |sent| ALL.map(|arrived| is_valid_transition(sent, arrived));
        assert_eq!(valid(Ecn::NotEct), [true, false, false, false]);
        assert_eq!(valid(Ecn::Ect1), [false, true, true, true]);
        assert_eq!(valid(Ecn::Ect0), [false, true, true, true]);
        assert_eq!(valid(Ecn::Ce), [false, false, false, true]);
    }
}
