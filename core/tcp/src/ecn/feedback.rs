//! Accurate ECN feedback at the sender.
//!
//! RFC 9768 sections 3.2.2.2, 3.2.2.5.2, 3.2.3.1, 3.2.3.2 and appendix A. The ACE field counts
//! packets with CE modulo 8. It may have wrapped unseen:
//! * With an option, the octets with CE decide: the smallest count that fits both (a packet holds
//!   one SMSS at most). That gives the results of the examples of appendix A.2.2, and is exact
//!   for acknowledgments of whole super-segments. Packets counted since the last option hold a
//!   part of the octets.
//! * If options never come, the safest likely case is assumed (appendix A.2.1): up to as many as
//!   the acknowledgment covers packets. This is skipped if acknowledgments cover four packets
//!   or more on average. A receiver acknowledges every second packet with CE at the latest, so the
//!   field wraps only if ACKs are lost. ACKs of the usual width show no such loss.
//!
//! If options come but this acknowledgment has none, nothing is assumed until the next one.
//!
//! An overestimate is not corrected when missing acknowledgments arrive late (section 3.2.2.5.2:
//! MAY).

use gigatcp_wire::{AccEcn, Ecn};

use super::counters::EcnCounters;

/// Modulus of the ACE field.
pub(crate) const ACE_MODULUS: u32 = 8;
/// Average packets per ACK from which ACKs count as wide. "Well below 8" of appendix A.2.1 no
/// longer holds.
const WIDE: u32 = 4;
/// Shift of the average, which is kept in 16ths.
const MEAN_SHIFT: u32 = 4;

/// Feedback of an acknowledgment that is not superseded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    /// ACE field.
    pub(crate) ace: u8,
    /// AccECN option.
    pub(crate) option: Option<AccEcn>,
    /// Octets newly reported as delivered.
    pub(crate) octets: u64,
    /// Packets newly delivered, as far as known.
    pub(crate) packets: u32,
    /// Upper bound of the packets newly delivered; `None` if unknown.
    pub(crate) packets_at_most: Option<u64>,
    /// SMSS.
    pub(crate) smss: u32,
}

/// Data newly reported as marked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Marked {
    /// Octets.
    pub(crate) octets: u64,
    /// Packets.
    pub(crate) packets: u32,
}

/// Whether the peer's options get through (sections 3.2.3.2.3, 3.2.3.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OptionSeen {
    /// No option came when one should: only the ACE field is used. This ends when an option
    /// comes.
    #[default]
    Absent,
    /// Options come.
    Seen,
    /// The first option held an impossible zero: all options are ignored.
    Zeroed,
}

/// Sending side of a connection with accurate feedback.
#[derive(Clone, Debug)]
pub(crate) struct EcnSender {
    counters: EcnCounters,
    option: OptionSeen,
    /// Packets per acknowledgment, a moving average in 16ths.
    mean_packets: u32,
    /// Marked packets counted since the last option, and the octets taken for theirs.
    since_option: u32,
    octets_since_option: u64,
}

impl EcnSender {
    /// Sender with initial counters.
    pub(crate) const fn new() -> Self {
        Self {
            counters: EcnCounters::INITIAL,
            option: OptionSeen::Absent,
            mean_packets: 0,
            since_option: 0,
            octets_since_option: 0,
        }
    }

    /// Counters s.cep, s.ceb, s.e0b, s.e1b.
    pub(crate) fn counters(&self) -> &EcnCounters {
        &self.counters
    }

    /// Whether the peer's options get through.
    pub(crate) fn option_seen(&self) -> OptionSeen {
        self.option
    }

    /// Handles a handshake that reports our SYN-ACK as arrived with CE (table 4).
    pub(crate) fn on_marked_syn_ack(&mut self) {
        self.counters.cep = EcnCounters::INITIAL.cep + 1;
    }

    /// Handles the segment that should carry the peer's first option.
    pub(crate) fn on_first_option(&mut self, option: Option<&AccEcn>) {
        let Some(option) = option else { return };
        let is_zero = |ecn| option.field(ecn) == Some(0);
        self.option = if is_zero(Ecn::Ect0) || is_zero(Ecn::Ect1) {
            OptionSeen::Zeroed
        } else {
            OptionSeen::Seen
        };
    }

    /// Processes an acknowledgment that is not superseded. The second result is whether ACE field
    /// and option contradict each other (section 3.2.3.2.5).
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback) -> (Marked, bool) {
        self.note_width(feedback.packets);
        let least = u32::from(feedback.ace).wrapping_sub(self.counters.cep as u32) % ACE_MODULUS;
        let ceb = feedback
            .option
            .filter(|_| self.option != OptionSeen::Zeroed)
            .map(|option| self.take_option(&option));
        // Packets that were counted without an option hold this part of its octets.
        let held = u64::from(self.since_option) * u64::from(feedback.smss);
        let packets = match ceb {
            Some(octets) => fewest_holding(least, octets.saturating_sub(held), feedback.smss),
            // Options come, and this one was not due or did not fit: the next corrects an unseen
            // wrap.
            None if self.option == OptionSeen::Seen || self.are_acks_wide() => least,
            None => safest(least, feedback.packets),
        };
        self.counters.cep += u64::from(packets);
        debug_assert!(
            self.counters.cep % u64::from(ACE_MODULUS) == u64::from(feedback.ace),
            "s.cep {} does not agree with the ACE field {} (RFC 9768 section 3.2.2.2)",
            self.counters.cep,
            feedback.ace
        );
        let contradict = least == 0
            && ceb.is_some_and(|octets| octets > held)
            && feedback
                .packets_at_most
                .is_some_and(|most| most < u64::from(ACE_MODULUS));
        let estimate = (u64::from(packets) * u64::from(feedback.smss)).min(feedback.octets);
        let octets = if let Some(octets) = ceb {
            self.since_option = 0;
            octets.saturating_sub(core::mem::take(&mut self.octets_since_option))
        } else {
            self.since_option = self.since_option.saturating_add(packets);
            self.octets_since_option = self.octets_since_option.saturating_add(estimate);
            estimate
        };
        let marked = Marked { octets, packets };
        (marked, contradict)
    }

    /// Stores the fields of an option; returns the octets newly reported as marked. A field that
    /// is left out did not change.
    fn take_option(&mut self, option: &AccEcn) -> u64 {
        self.option = OptionSeen::Seen;
        let mut marked = 0;
        for (ecn, field) in option.order().counts().into_iter().zip(option.fields()) {
            let Some(counter) = self.counters.octets_mut(ecn) else {
                continue;
            };
            let newly = u64::from(field.wrapping_sub(*counter as u32) & AccEcn::FIELD_MASK);
            *counter += newly;
            debug_assert!(
                *counter as u32 & AccEcn::FIELD_MASK == field & AccEcn::FIELD_MASK,
                "the counter of {ecn:?} is {counter}, its field {field} (RFC 9768 section 3.2.3)"
            );
            if ecn == Ecn::Ce {
                marked = newly;
            }
        }
        marked
    }

    /// Updates the average of packets per acknowledgment; the first one sets it.
    fn note_width(&mut self, packets: u32) {
        if packets == 0 {
            return;
        }
        let now = packets.min(1 << 16) << MEAN_SHIFT;
        self.mean_packets = match self.mean_packets {
            0 => now,
            mean => mean - mean / 8 + now / 8,
        };
    }

    fn are_acks_wide(&self) -> bool {
        self.mean_packets >= WIDE << MEAN_SHIFT
    }
}

/// Largest plausible number of marked packets among `acked` (appendix A.2.1). The field has moved
/// by `least` modulo 8.
fn safest(least: u32, acked: u32) -> u32 {
    match acked.checked_sub(least) {
        Some(beyond) => acked - beyond % ACE_MODULUS,
        None => least,
    }
}

/// Smallest packet count, `least` modulo 8, that can hold `octets`.
fn fewest_holding(least: u32, octets: u64, smss: u32) -> u32 {
    debug_assert!(
        least < ACE_MODULUS,
        "the ACE field moved by {least}, modulo {ACE_MODULUS}"
    );
    let needed = octets.div_ceil(u64::from(smss.max(1)));
    let needed = u32::try_from(needed).unwrap_or(u32::MAX - ACE_MODULUS);
    let short = needed.saturating_sub(least);
    least + short.next_multiple_of(ACE_MODULUS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigatcp_wire::AccEcnOrder;

    #[test]
    fn the_safest_case_is_that_of_appendix_a_2_1() {
        assert_eq!(safest(2, 9), 2);
        assert_eq!(safest(2, 10), 10);
        assert_eq!(safest(0, 7), 0);
        assert_eq!(safest(3, 1), 3, "control packets are not counted here");
        assert_eq!(safest(4, 44), 44);
    }

    #[test]
    fn octets_decide_as_in_the_examples_of_appendix_a_2_2() {
        assert_eq!(fewest_holding(0, 1460, 1460), 8);
        assert_eq!(fewest_holding(2, 1460, 1460), 2);
        assert_eq!(fewest_holding(7, 10_200, 1460), 7);
        assert_eq!(fewest_holding(4, 44 * 1448, 1448), 44, "a super-segment");
        assert_eq!(fewest_holding(4, 20 * 1448, 1448), 20, "a part of one");
        assert_eq!(fewest_holding(5, 0, 1460), 5);
    }

    fn feedback(ace: u64, packets: u32) -> Feedback {
        Feedback {
            ace: (ace % 8) as u8,
            option: None,
            octets: u64::from(packets) * 1000,
            packets,
            packets_at_most: Some(u64::from(packets) + 1),
            smss: 1000,
        }
    }

    #[test]
    fn an_option_field_comes_round_as_in_appendix_a_1() {
        let mut sender = EcnSender::new();
        sender.counters.ceb = 33_554_433;
        sender.counters.cep = 8;
        let option = AccEcn::new(AccEcnOrder::Ect0First, &[1, 1461]);
        let (marked, contradict) = sender.on_feedback(&Feedback {
            option: Some(option),
            smss: 1460,
            ..feedback(9, 2)
        });
        assert_eq!((marked.octets, marked.packets), (1460, 1));
        assert_eq!(sender.counters.ceb, 33_555_893);
        assert!(!contradict);
    }

    #[test]
    fn the_field_may_come_round_any_number_of_times() {
        let mut sender = EcnSender::new();
        let mut cep = 5;
        for newly in [1, 0, 7, 3, 6, 2, 5] {
            cep += newly;
            let (marked, _) = sender.on_feedback(&feedback(cep, 7));
            assert_eq!(u64::from(marked.packets), newly);
            assert_eq!(sender.counters().cep, cep);
        }
    }

    #[test]
    fn lost_acknowledgments_make_it_safe_and_wide_ones_do_not() {
        let mut sender = EcnSender::new();
        for _ in 0..50 {
            sender.on_feedback(&feedback(5, 2));
        }
        assert_eq!(sender.on_feedback(&feedback(7, 10)).0.packets, 10);
        let mut wide = EcnSender::new();
        for _ in 0..50 {
            // Thirty marks at first, until wide ACKs are known to be usual.
            wide.on_feedback(&feedback(wide.counters.cep, 44));
        }
        let before = wide.counters.cep;
        assert_eq!(wide.on_feedback(&feedback(before, 44)).0.packets, 0);
        assert_eq!(wide.on_feedback(&feedback(before + 2, 44)).0.packets, 2);
    }

    #[test]
    fn octets_of_several_acks_are_those_of_all_their_packets() {
        let mut sender = EcnSender::new();
        let first = Feedback {
            option: Some(AccEcn::new(AccEcnOrder::Ect0First, &[1, 1000])),
            ..feedback(6, 1)
        };
        assert_eq!(sender.on_feedback(&first).0.packets, 1);
        // Without an option the field comes round unseen: 10 marks look like 2.
        assert_eq!(sender.on_feedback(&feedback(16, 10)).0.packets, 2);
        let next = Feedback {
            option: Some(AccEcn::new(AccEcnOrder::Ect0First, &[1, 12_000])),
            ..feedback(17, 1)
        };
        assert_eq!(sender.on_feedback(&next).0.packets, 9);
        assert_eq!(sender.counters().cep, 17);
        // Two marks without an option are not counted again with the next.
        assert_eq!(sender.on_feedback(&feedback(19, 2)).0.packets, 2);
        let last = Feedback {
            option: Some(AccEcn::new(AccEcnOrder::Ect0First, &[1, 15_000])),
            ..feedback(20, 1)
        };
        assert_eq!(sender.on_feedback(&last).0.packets, 1);
        // Octets of a packet that the counter has shown before contradict nothing.
        assert_eq!(sender.on_feedback(&feedback(21, 1)).0.octets, 1000);
        let late = Feedback {
            option: Some(AccEcn::new(AccEcnOrder::Ect0First, &[1, 16_000])),
            ..feedback(21, 1)
        };
        let (marked, contradict) = sender.on_feedback(&late);
        assert_eq!((marked.octets, marked.packets, contradict), (0, 0, false));
    }

    #[test]
    fn octets_that_grow_without_packets_contradict() {
        // Section 3.2.3.2.5.
        let with = |most| {
            let mut sender = EcnSender::new();
            sender.on_feedback(&Feedback {
                option: Some(AccEcn::new(AccEcnOrder::Ect0First, &[1, 1000])),
                packets_at_most: most,
                ..feedback(5, 2)
            })
        };
        assert!(with(Some(7)).1);
        assert!(!with(Some(8)).1, "it may have come round");
        assert!(!with(None).1);
    }

    #[test]
    fn options_that_begin_with_zeros_are_ignored() {
        let zeroed = [
            AccEcn::new(AccEcnOrder::Ect0First, &[0, 0, 0]),
            AccEcn::new(AccEcnOrder::Ect0First, &[1, 0, 0]),
            AccEcn::new(AccEcnOrder::Ect1First, &[0]),
        ];
        for option in zeroed {
            let mut sender = EcnSender::new();
            sender.on_first_option(Some(&option));
            assert_eq!(sender.option_seen(), OptionSeen::Zeroed);
            let (marked, _) = sender.on_feedback(&Feedback {
                option: Some(AccEcn::new(AccEcnOrder::Ect0First, &[1, 5000])),
                ..feedback(6, 1)
            });
            assert_eq!(marked.packets, 1, "by the ACE field alone");
            assert_eq!(sender.counters().ceb, 0);
        }
        let mut sender = EcnSender::new();
        let other = AccEcn::new(AccEcnOrder::Ect0First, &[9, 0, 3]);
        sender.on_first_option(Some(&other));
        assert_eq!(sender.option_seen(), OptionSeen::Seen, "any but zero");
    }
}
