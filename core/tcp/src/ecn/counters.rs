//! Counters and reports of an AccECN receiver: RFC 9768 sections 3.2, 3.2.2.5.1 and 3.2.3.3.
//!
//! * r.cep, packets that arrived with CE, is sent modulo 8 in the ACE field of every segment.
//! * r.ceb, r.e0b and r.e1b, octets of payload by their ECN field, are sent in an AccECN option
//!   on every ACK after one of them has grown (the recommended simple scheme). The option has a
//!   field for each that ever grew.
//! * With [`EcnOption::Always`] an option is sent on every segment, as in Linux. It has all three
//!   counters if they fit, otherwise those that grew, with ECT(1) first. That costs 12 octets of
//!   each segment and is never out of date.
//! * An ACK is sent immediately when data with CE follows a packet without, and when n packets
//!   with CE have come: 2, or 3 if no data waits to be acknowledged.
//!
//! A super-segment is one receive event: one acknowledgment at its end (section 3.2.2.5.1 allows
//! it). A path splits super-segments where marks differ, so none hides a change of marking.

use gigatcp_wire::{AccEcn, AccEcnOrder, Ecn, Flags};

use super::EcnOption;

/// CE packets that make an ACK due if no data is unacknowledged. Such an ACK acknowledges
/// acknowledgments (section 3.2.2.5.1: no less than 3).
const CE_WITHOUT_DATA: u32 = 3;
/// CE packets that make an ACK due if data is unacknowledged.
const CE_WITH_DATA: u32 = 2;

/// Fields of an option that reports every counter.
pub(crate) const ALL_FIELDS: usize = 3;

/// Consecutive segments of new data that show that acknowledgments arrive. No initial window
/// sends this many without them.
const PASSING: u8 = 50;

/// Four counters of the receiver or the sender: r.* or s.*.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EcnCounters {
    /// Packets with CE.
    pub(crate) cep: u64,
    /// Octets with CE.
    pub(crate) ceb: u64,
    /// Octets with ECT(0).
    pub(crate) e0b: u64,
    /// Octets with ECT(1).
    pub(crate) e1b: u64,
}

impl EcnCounters {
    /// Initial values (section 3.2.1). Only ceb is zero, to detect a middlebox that writes zeros.
    pub(crate) const INITIAL: Self = Self {
        cep: 5,
        ceb: 0,
        e0b: 1,
        e1b: 1,
    };

    /// Octets counted with field `ecn`.
    pub(crate) fn octets(&self, ecn: Ecn) -> u64 {
        match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => self.e1b,
            Ecn::Ect0 => self.e0b,
            Ecn::Ce => self.ceb,
        }
    }

    pub(crate) fn octets_mut(&mut self, ecn: Ecn) -> Option<&mut u64> {
        match ecn {
            Ecn::NotEct => None,
            Ecn::Ect1 => Some(&mut self.e1b),
            Ecn::Ect0 => Some(&mut self.e0b),
            Ecn::Ce => Some(&mut self.ceb),
        }
    }
}

/// Arrival of an acceptable packet, or of the packets of a super-segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// ECN field of the packets.
    pub(crate) ecn: Ecn,
    /// Octets of payload.
    pub(crate) octets: u64,
    /// Number of packets.
    pub(crate) packets: u32,
    /// Whether earlier data waits to be acknowledged.
    pub(crate) unacked: bool,
}

/// Receiving side of a connection with accurate feedback.
#[derive(Clone, Debug)]
pub(crate) struct EcnReceiver {
    counters: EcnCounters,
    /// Fields that ever grew: ECT(0), CE, ECT(1).
    ever: [bool; 3],
    /// An option is due (section 3.2.3.2.1). A counter of octets grew since the last option, or
    /// the path is still untested.
    option_due: bool,
    /// Whether options are sent.
    sends_options: bool,
    /// Every segment carries an option.
    always: bool,
    /// With `always`: number of fields, in the order ECT(1), CE, ECT(0), that must be sent.
    needed: usize,
    /// Every field is sent, to test the path.
    tests_path: bool,
    /// Packets with CE since the last acknowledgment.
    ce_unreported: u32,
    /// ECN field of the previous packet.
    previous: Ecn,
    /// Whether the last acknowledgment carried an option.
    option_left: bool,
    /// Retransmissions that arrived after acknowledgments with an option.
    repetitions: u8,
    /// Segments of new data since the last such retransmission.
    without_repetition: u8,
}

impl EcnReceiver {
    /// Receiver with initial counters.
    pub(crate) const fn new(option: EcnOption) -> Self {
        Self {
            counters: EcnCounters::INITIAL,
            ever: [false; 3],
            option_due: true,
            sends_options: !matches!(option, EcnOption::Off),
            always: matches!(option, EcnOption::Always),
            needed: 0,
            tests_path: true,
            ce_unreported: 0,
            previous: Ecn::NotEct,
            option_left: false,
            repetitions: 0,
            without_repetition: 0,
        }
    }

    pub(crate) fn counters(&self) -> &EcnCounters {
        &self.counters
    }

    /// Handles a SYN: not counted (section 3.2), but the packet before the next.
    pub(crate) fn on_syn(&mut self, ecn: Ecn) {
        self.previous = ecn;
    }

    /// Handles a SYN-ACK. The first with CE is counted (section 3.2.2.2).
    pub(crate) fn on_syn_ack(&mut self, ecn: Ecn) {
        self.previous = ecn;
        if ecn == Ecn::Ce {
            self.counters.cep = EcnCounters::INITIAL.cep + 1;
        }
    }

    /// Counts arrived packets; returns whether an ACK is due immediately (section 3.2.2.5.1).
    #[inline]
    pub(crate) fn on_arrival(&mut self, arrived: &Arrived) -> bool {
        let before = core::mem::replace(&mut self.previous, arrived.ecn);
        if arrived.octets > 0
            && let Some(counter) = self.counters.octets_mut(arrived.ecn)
        {
            *counter += arrived.octets;
            self.ever[field_place(arrived.ecn)] = true;
            self.needed = self.needed.max(3 - field_place(arrived.ecn));
            self.option_due = true;
        }
        if arrived.ecn != Ecn::Ce {
            return false;
        }
        self.counters.cep += u64::from(arrived.packets);
        self.ce_unreported += arrived.packets;
        debug_assert!(
            u64::from(self.ce_unreported) <= self.counters.cep,
            "{} packets with CE are to be reported, {} have come",
            self.ce_unreported,
            self.counters.cep
        );
        let has_data = arrived.octets > 0;
        let changed = has_data && before != Ecn::Ce;
        let enough = if has_data || arrived.unacked {
            CE_WITH_DATA
        } else {
            CE_WITHOUT_DATA
        };
        changed || self.ce_unreported >= enough
    }

    /// ACE field of every segment except those of the handshake.
    #[inline]
    pub(crate) fn ace(&self) -> Flags {
        Flags::from_ace((self.counters.cep & 7) as u8)
    }

    /// Option of the next acknowledgment, if one is due.
    pub(crate) fn option(&self) -> Option<AccEcn> {
        if self.sends_options && self.always {
            return Some(self.option_of(ALL_FIELDS));
        }
        if !self.sends_options || !self.option_due {
            return None;
        }
        let counters = &self.counters;
        let [e0, ce, e1] = self.ever;
        let (order, fields) = if self.tests_path || (e0 && e1) {
            (AccEcnOrder::Ect0First, 3)
        } else if e1 {
            (AccEcnOrder::Ect1First, 1 + usize::from(ce))
        } else {
            (AccEcnOrder::Ect0First, 1 + usize::from(ce))
        };
        let values = order.counts().map(|ecn| counters.octets(ecn) as u32);
        Some(AccEcn::new(order, &values[..fields]))
    }

    /// Option with `fields` fields, ECT(1) first.
    pub(crate) fn option_of(&self, fields: usize) -> AccEcn {
        debug_assert!(
            (1..=ALL_FIELDS).contains(&fields),
            "an AccECN option of {fields} fields (RFC 9768 section 3.2.3)"
        );
        let order = AccEcnOrder::Ect1First;
        let values = order.counts().map(|ecn| self.counters.octets(ecn) as u32);
        AccEcn::new(order, &values[..fields])
    }

    /// With [`EcnOption::Always`], returns the fewest fields that report all counters that grew.
    pub(crate) fn needed_fields(&self) -> usize {
        self.needed.max(1)
    }

    /// Whether every segment carries an option.
    pub(crate) fn is_always(&self) -> bool {
        self.always && self.sends_options
    }

    /// Sets which segments carry options from now on.
    pub(crate) fn set_option(&mut self, option: EcnOption) {
        self.sends_options = !matches!(option, EcnOption::Off);
        self.always = matches!(option, EcnOption::Always);
    }

    /// Notes that a segment left, with an option or without. Each carries the ACE field.
    #[inline]
    pub(crate) fn on_sent(&mut self, with_option: bool) {
        self.ce_unreported = 0;
        self.option_left = with_option;
        if with_option {
            self.option_due = false;
            self.tests_path = false;
        }
    }

    /// Makes another option due although no counter grew: on the first data segment. Section
    /// 3.2.3.2.1.
    pub(crate) fn repeat_option(&mut self) {
        self.option_due = true;
    }

    /// Whether options are sent.
    pub(crate) fn sends_options(&self) -> bool {
        self.sends_options
    }

    /// Handles new or retransmitted data, to detect loss of ACKs with options. If the same data
    /// is always retransmitted after ACKs with options, these are probably dropped for their
    /// options (section 3.2.3.2.2). The second retransmission stops options, unless enough new
    /// data came since the first to show that ACKs arrive.
    #[inline]
    pub(crate) fn on_data(&mut self, repeated: bool) {
        if !repeated {
            self.without_repetition = self.without_repetition.saturating_add(1);
            if self.without_repetition >= PASSING {
                self.repetitions = 0;
            }
        } else if self.option_left {
            self.without_repetition = 0;
            self.repetitions = self.repetitions.saturating_add(1);
            self.sends_options &= self.repetitions < 2;
        }
    }
}

/// Position of a field in order 0.
fn field_place(ecn: Ecn) -> usize {
    match ecn {
        Ecn::Ect0 => 0,
        Ecn::Ce => 1,
        Ecn::Ect1 | Ecn::NotEct => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn data(ecn: Ecn) -> Arrived {
        Arrived {
            ecn,
            octets: 1000,
            packets: 1,
            unacked: false,
        }
    }

    fn ack(ecn: Ecn, unacked: bool) -> Arrived {
        Arrived {
            octets: 0,
            unacked,
            ..data(ecn)
        }
    }

    /// A receiver after the test of the path.
    fn receiver() -> EcnReceiver {
        let mut receiver = EcnReceiver::new(EcnOption::Due);
        assert_eq!(receiver.option().unwrap().fields(), [1, 0, 1]);
        receiver.on_sent(true);
        assert_eq!(receiver.option(), None);
        receiver
    }

    #[test]
    fn counters_begin_as_section_3_2_1_says() {
        let receiver = EcnReceiver::new(EcnOption::Due);
        assert_eq!(receiver.ace().ace(), 5);
        let counters = receiver.counters();
        assert_eq!((counters.ceb, counters.e0b, counters.e1b), (0, 1, 1));
    }

    #[test]
    fn data_with_ce_after_a_packet_without_is_acknowledged_at_once() {
        let mut receiver = receiver();
        assert!(!receiver.on_arrival(&data(Ecn::Ect0)));
        assert!(receiver.on_arrival(&data(Ecn::Ce)));
        receiver.on_sent(false);
        assert!(!receiver.on_arrival(&data(Ecn::Ce)), "no change");
        assert!(receiver.on_arrival(&data(Ecn::Ce)), "the second");
        receiver.on_sent(false);
        assert!(!receiver.on_arrival(&ack(Ecn::Ect0, false)));
        assert!(
            receiver.on_arrival(&data(Ecn::Ce)),
            "any packet is one before"
        );
    }

    #[test]
    fn three_marked_acknowledgments_are_acknowledged_or_two_beside_data() {
        let mut receiver = receiver();
        let due = |receiver: &mut EcnReceiver, unacked| {
            let mut count = 1;
            while !receiver.on_arrival(&ack(Ecn::Ce, unacked)) {
                count += 1;
            }
            receiver.on_sent(false);
            count
        };
        assert_eq!(due(&mut receiver, false), 3);
        assert_eq!(due(&mut receiver, true), 2);
        assert_eq!(receiver.ace().ace(), (5 + 5) % 8);
    }

    #[test]
    fn the_option_has_a_field_for_each_counter_that_ever_grew() {
        // Section 3.2.3.3 with its two examples.
        let shapes = |marks: &[Ecn]| {
            let mut receiver = receiver();
            let mut shapes = Vec::new();
            for ecn in marks {
                receiver.on_arrival(&data(*ecn));
                let option = receiver.option();
                receiver.on_sent(option.is_some());
                shapes.push(option.map(|o| (o.kind(), o.wire_len())));
            }
            shapes
        };
        let ect0 = [Ecn::Ect0, Ecn::Ect0, Ecn::Ce, Ecn::Ect0];
        let expected = [(172, 5), (172, 5), (172, 8), (172, 8)].map(Some);
        assert_eq!(shapes(&ect0), expected);
        let ce_first = [Ecn::Ce, Ecn::Ect1, Ecn::Ect0];
        assert_eq!(shapes(&ce_first), [(172, 8), (174, 8), (172, 11)].map(Some));
        assert_eq!(shapes(&[Ecn::NotEct]), [None], "no counter of these");
        assert_eq!(shapes(&[Ecn::Ect1]), [Some((174, 5))]);
    }

    #[test]
    fn a_marked_syn_ack_counts_once() {
        let mut receiver = EcnReceiver::new(EcnOption::Due);
        receiver.on_syn_ack(Ecn::Ce);
        receiver.on_syn_ack(Ecn::Ce);
        assert_eq!(receiver.counters().cep, 6);
        let mut server = EcnReceiver::new(EcnOption::Due);
        server.on_syn(Ecn::Ce);
        assert_eq!(server.counters().cep, 5);
    }

    #[test]
    fn options_after_which_the_same_data_always_comes_again_are_given_up() {
        let mut receiver = receiver();
        receiver.on_arrival(&data(Ecn::Ect0));
        receiver.on_sent(true);
        receiver.on_data(true);
        assert!(receiver.sends_options());
        (0..50).for_each(|_| receiver.on_data(false));
        receiver.on_data(true);
        assert!(
            receiver.sends_options(),
            "a window of new data came in between"
        );
        receiver.on_data(false);
        receiver.on_data(true);
        assert!(!receiver.sends_options());
    }
}
