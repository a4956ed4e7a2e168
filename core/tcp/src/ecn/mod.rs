//! Explicit congestion notification: negotiation, feedback, and the ECN state of a connection.
//!
//! * [`EcnMode`]: feedback that a host requests and accepts.
//! * `negotiation`: flags of SYN and SYN-ACK (RFC 3168 section 6.1.1, RFC 9768 section 3.1).
//! * `counters`: accurate feedback at the receiver (RFC 9768 section 3.2).
//! * `feedback`: accurate feedback at the sender.
//! * `sanity_check`: check of accurate feedback (RFC 9768 section 3.2.2.3).
//! * This file: classic feedback (RFC 3168 section 6.1), with the receiver of RFC 8257 section
//!   3.2, and what both kinds share.
//!
//! `connection/ecn.rs` applies it to segments.
//!
//! Only new data carries ECT(0). Acknowledgments, retransmissions and window probes stay Not-ECT
//! (RFC 3168 sections 5.2 and 6.1.4 to 6.1.6; RFC 9768 leaves it open) unless `ecn_everywhere` is
//! set. With `l4s` a scalable congestion control sends ECT(1) instead (RFC 9331).
//!
//! Out of scope:
//! * ECT on SYN and SYN-ACK (the rest of ECN++): congestion drops them instead of marking them.
//! * Detection of a queue that gives L4S packets classic marks (RFC 9331 section 4.3). A scalable
//!   control takes more than its share of such a queue.
//! * A new SYN without ECN after a reset (RFC 3168 section 6.1.1.1: MAY).

mod counters;
mod feedback;
pub(crate) mod negotiation;
mod sanity_check;

pub(crate) use counters::{ALL_FIELDS, Arrived, EcnCounters, EcnReceiver};
pub use feedback::OptionSeen;
pub(crate) use feedback::{ACE_MODULUS, EcnSender, Feedback, Marked};
pub(crate) use sanity_check::AckReport;

use alloc::boxed::Box;

use gigatcp_units::Instant;
use gigatcp_wire::{Ecn, Flags, Segment};

use crate::events::EcnFeedback;
use crate::lazy::{Lazy, Untouched};
use crate::profile::Profile;
use sanity_check::CeSanityCheck;

/// ECN feedback that a host requests from its peers and accepts from them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EcnMode {
    /// Neither requests nor accepts ECN.
    Off,
    /// Requests none and accepts what the peer requests: the default of Linux. There it is
    /// `tcp_ecn` 2, and 5 since Linux supports RFC 9768.
    #[default]
    Passive,
    /// Requests and accepts RFC 3168.
    Classic,
    /// Requests RFC 9768, and accepts it or RFC 3168.
    Accurate,
    /// Requests none and accepts only RFC 3168 (Linux `tcp_ecn` 2).
    PassiveClassic,
    /// Requests RFC 3168, which every server supports, and accepts RFC 9768 too (Linux `tcp_ecn`
    /// 4).
    Mixed,
}

impl EcnMode {
    /// All modes.
    pub(crate) const ALL: [Self; 6] = [
        Self::Off,
        Self::Passive,
        Self::Classic,
        Self::Accurate,
        Self::PassiveClassic,
        Self::Mixed,
    ];

    /// Name in plans.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Passive => "passive",
            Self::Classic => "classic",
            Self::Accurate => "accurate",
            Self::PassiveClassic => "passive-classic",
            Self::Mixed => "mixed",
        }
    }

    const fn requests(self) -> EcnFeedback {
        match self {
            Self::Off | Self::Passive | Self::PassiveClassic => EcnFeedback::None,
            Self::Classic | Self::Mixed => EcnFeedback::Classic,
            Self::Accurate => EcnFeedback::Accurate,
        }
    }

    const fn accepts(self) -> EcnFeedback {
        match self {
            Self::Off => EcnFeedback::None,
            Self::Classic | Self::PassiveClassic => EcnFeedback::Classic,
            Self::Passive | Self::Accurate | Self::Mixed => EcnFeedback::Accurate,
        }
    }
}

/// Segments that carry AccECN options (RFC 9768 section 3.2.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EcnOption {
    /// None: the ACE field is the only feedback.
    Off,
    /// Acknowledgments after a counter has grown, with the counters that ever did. The simple
    /// scheme that section 3.2.3.3 recommends.
    #[default]
    Due,
    /// Every segment, with every counter that fits; data segments are made smaller for it. Only
    /// while the peer's options arrive (Linux `tcp_ecn_option` 2).
    Always,
}

impl EcnOption {
    /// All choices.
    pub(crate) const ALL: [Self; 3] = [Self::Off, Self::Due, Self::Always];

    /// Name in plans.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Due => "due",
            Self::Always => "always",
        }
    }
}

/// Accurate feedback of both directions (RFC 9768), and its sanity check.
#[derive(Clone, Debug)]
pub(crate) struct AccurateFeedback {
    pub(crate) receiver: EcnReceiver,
    pub(crate) sender: EcnSender,
    sanity_check: CeSanityCheck,
    /// Newest TSval of a segment with feedback.
    newest_stamp: Option<u32>,
}

impl AccurateFeedback {
    const fn new(option: EcnOption, checks: bool) -> Self {
        Self {
            receiver: EcnReceiver::new(option),
            sender: EcnSender::new(),
            sanity_check: CeSanityCheck::new(checks),
            newest_stamp: None,
        }
    }

    /// State at the start of a connection with `profile`.
    fn of(profile: &Profile) -> Lazy<Self> {
        let (option, checks) = (profile.ecn.ecn_option, profile.ecn.ecn_doubts);
        let mut state = Lazy::default();
        if (option, checks) != (EcnOption::Due, true) {
            *state = Self::new(option, checks);
        }
        state
    }
}

impl Default for AccurateFeedback {
    fn default() -> Self {
        Self::UNTOUCHED.clone()
    }
}

impl Untouched for AccurateFeedback {
    const UNTOUCHED: &'static Self = &Self::new(EcnOption::Due, true);
}

/// ECN state of one connection.
#[derive(Clone, Debug)]
pub(crate) struct EcnState<P> {
    mode: EcnMode,
    /// Whether a SYN of ours has left.
    syn_sent: bool,
    /// Echoes each change of marking, as the receiver of RFC 8257.
    dctcp_receiver: bool,
    /// With accurate feedback every segment may carry ECT.
    everywhere: bool,
    /// A scalable congestion control sends ECT(1).
    l4s: bool,
    /// Disables ECN on a path that does not support it.
    fallback: bool,
    feedback: EcnFeedback,
    /// Whether our data may carry ECT.
    sends_ect: bool,
    /// Whether feedback is believed.
    heeds: bool,
    /// Whether the first segment after the handshake has not been checked yet.
    untested: bool,
    /// The current segment completes the handshake, so its ACE field is no counter.
    handshake: bool,
    /// Whether a SYN or SYN-ACK without ECN was sent or received.
    saw_non_ecn_syn: bool,
    /// ECN field of the peer's latest SYN.
    syn_arrived: Ecn,
    /// SYN-ACKs sent.
    syn_acks: u32,
    /// ECN field with which our SYN-ACK arrived, as far as known.
    syn_ack_arrived: Ecn,
    /// ECN field of the peer's SYN-ACK, which the next pure ACK reports.
    handshake_ack: Option<Ecn>,
    /// The next acknowledgment acknowledges acknowledgments: it goes without SACK.
    without_sack: bool,
    /// Classic: acknowledgments carry ECN-Echo. RFC 8257: `DCTCP.CE`.
    echo: bool,
    /// Classic: the next new data carries CWR.
    cwr_due: bool,
    /// Pending ACK of the data before a change of marking (RFC 8257 section 3.2).
    pub(crate) early_ack: Option<Box<Segment<P>>>,
    /// Time before which no new data leaves (RFC 3168 section 6.1.2). Set with a window of one
    /// segment.
    pub(crate) hold_until: Instant,
    /// With default settings not allocated until accurate feedback is negotiated.
    pub(crate) accurate: Lazy<AccurateFeedback>,
    /// Whether any packet arrived with ECT or CE.
    seen: bool,
    /// Packets that arrived with CE.
    received_ce: u64,
    /// Packets that the peer reported as arrived with CE.
    delivered_ce: u64,
}

impl<P> EcnState<P> {
    /// State before the handshake.
    pub(crate) fn new(profile: &Profile) -> Self {
        Self {
            mode: profile.ecn.mode,
            syn_sent: false,
            dctcp_receiver: profile.ecn.dctcp_receiver,
            everywhere: profile.ecn.ecn_everywhere,
            l4s: profile.ecn.l4s,
            fallback: profile.ecn.ecn_fallback,
            feedback: EcnFeedback::None,
            sends_ect: false,
            heeds: true,
            untested: true,
            handshake: false,
            saw_non_ecn_syn: false,
            syn_arrived: Ecn::NotEct,
            syn_acks: 0,
            syn_ack_arrived: Ecn::NotEct,
            handshake_ack: None,
            without_sack: false,
            echo: false,
            cwr_due: false,
            early_ack: None,
            hold_until: Instant::FAR_FUTURE,
            accurate: AccurateFeedback::of(profile),
            seen: false,
            received_ce: 0,
            delivered_ce: 0,
        }
    }

    /// Whether ECN was negotiated: the only test of connections without ECN.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.feedback != EcnFeedback::None
    }

    /// Negotiated feedback.
    #[inline]
    pub(crate) fn feedback(&self) -> EcnFeedback {
        self.feedback
    }

    /// Whether our data carries ECT.
    #[inline]
    pub(crate) fn sends_ect(&self) -> bool {
        self.sends_ect
    }

    /// Whether segments other than new data leave as ECT.
    #[inline]
    pub(crate) fn sends_ect_everywhere(&self) -> bool {
        self.everywhere && self.sends_ect && self.feedback == EcnFeedback::Accurate
    }

    /// Whether a scalable congestion control may send ECT(1). It requires feedback that counts
    /// marks (RFC 9331 section 4.2).
    #[inline]
    pub(crate) fn is_l4s(&self) -> bool {
        self.l4s && self.feedback == EcnFeedback::Accurate
    }

    /// Whether data segments are made smaller for AccECN options.
    pub(crate) fn makes_room(&self) -> bool {
        self.feedback == EcnFeedback::Accurate
            && self.accurate.receiver.is_always()
            && self.accurate.sender.option_seen() != OptionSeen::Absent
    }

    /// Whether feedback is believed.
    pub(crate) fn heeds(&self) -> bool {
        self.heeds
    }

    /// Whether any packet arrived with ECT or CE.
    pub(crate) fn has_seen(&self) -> bool {
        self.seen
    }

    /// Packets that arrived with CE, and those that the peer reported.
    pub(crate) fn ce_packets(&self) -> (u64, u64) {
        (self.received_ce, self.delivered_ce)
    }

    /// Flags next to ACK of a segment that reports no new congestion.
    #[inline]
    pub(crate) fn quiet_flags(&self) -> Flags {
        if self.feedback == EcnFeedback::Accurate {
            Flags::from_ace((self.accurate.sender.counters().cep & 7) as u8)
        } else {
            Flags::NONE
        }
    }

    // Handshake.

    /// Flags of a SYN after `timeouts` timeouts. An accurate request is repeated once (RFC 9768
    /// section 3.1.4.1), a classic one not at all (RFC 3168 section 6.1.1.1): a middlebox may drop
    /// SYNs for these flags.
    pub(crate) fn flags_of_syn(&mut self, timeouts: u32) -> Flags {
        self.syn_sent = true;
        let retries = match self.mode.requests() {
            EcnFeedback::None => 0,
            EcnFeedback::Classic => 1,
            EcnFeedback::Accurate => 2,
        };
        if timeouts < retries || !self.fallback {
            negotiation::syn_flags(self.mode.requests())
        } else {
            self.on_plain();
            Flags::NONE
        }
    }

    /// Flags of a SYN-ACK, and whether it may carry an option. After `timeouts` timeouts. The first
    /// retransmission goes without the option, the next without ECN (RFC 9768 section 3.2.3.2.2).
    /// The mode stays. Options are tried again on acknowledgments, which show whether they get
    /// through.
    pub(crate) fn flags_of_syn_ack(&mut self, timeouts: u32) -> (Flags, bool) {
        let is_first = self.syn_acks == 0;
        self.syn_acks += 1;
        if self.feedback == EcnFeedback::None {
            self.on_plain();
            return (Flags::NONE, false);
        }
        let is_accurate = self.feedback == EcnFeedback::Accurate;
        if is_accurate && timeouts >= 2 && self.fallback {
            self.on_plain();
            return (Flags::NONE, false);
        }
        let flags = negotiation::syn_ack_flags(self.feedback, self.syn_arrived);
        (flags, is_accurate && is_first)
    }

    /// Notes a SYN or SYN-ACK without ECN, sent or received. Then a classic host and an accurate
    /// server send no ECT (RFC 3168 section 6.1.1, RFC 9768 section 3.1.5). An accurate client
    /// knows its peer's mode.
    fn on_plain(&mut self) {
        self.saw_non_ecn_syn = true;
        self.sends_ect = false;
    }

    /// Feedback that the peer's SYN requests. If SYNs cross, the peer acts on ours: a side that did
    /// not request accurate feedback has none. Otherwise the two sides would count different
    /// things.
    fn requested_by(&self, flags: Flags) -> EcnFeedback {
        let asked = negotiation::asked_by_syn(flags, self.mode.accepts());
        if self.syn_sent && asked == EcnFeedback::Accurate {
            self.mode.requests()
        } else {
            asked
        }
    }

    /// Handles the peer's SYN that opens the connection.
    pub(crate) fn on_syn(&mut self, flags: Flags, ecn: Ecn) {
        let asked = self.requested_by(flags);
        // RFC 3168 section 6.1.1: no ECT on SYN. If it has some, a host or router treats the ECN
        // field as the old type of service; only accurate feedback lets the peer detect it (RFC
        // 9768 section 2.5).
        self.feedback = if asked == EcnFeedback::Classic && ecn != Ecn::NotEct {
            EcnFeedback::None
        } else {
            asked
        };
        self.syn_arrived = ecn;
        self.note_syn(ecn);
        if negotiation::asked_by_syn(flags, EcnFeedback::Accurate) == EcnFeedback::None {
            self.saw_non_ecn_syn = true;
        }
        self.sends_ect = self.is_on() && !self.saw_non_ecn_syn;
    }

    /// Handles a retransmitted SYN of the peer before the handshake is over. Returns whether it
    /// requests another kind of feedback than the first did. The connection must then be reset
    /// (RFC 9768 section 3.1.5).
    pub(crate) fn on_syn_again(&mut self, flags: Flags, ecn: Ecn) -> bool {
        let asked = self.requested_by(flags);
        self.syn_arrived = ecn;
        self.note_syn(ecn);
        if asked == EcnFeedback::None {
            self.on_plain();
        }
        self.is_on() && asked != EcnFeedback::None && asked != self.feedback
    }

    /// With accurate feedback, notes a SYN as the packet before the next.
    fn note_syn(&mut self, ecn: Ecn) {
        if self.feedback == EcnFeedback::Accurate {
            self.accurate.receiver.on_syn(ecn);
        }
    }

    /// Handles the SYN-ACK that opens the connection. Returns whether it reports our SYN as
    /// marked.
    pub(crate) fn on_syn_ack(&mut self, flags: Flags, ecn: Ecn) -> bool {
        let (feedback, syn_arrived) = negotiation::agreed_by_syn_ack(flags, self.mode.requests());
        self.feedback = feedback;
        match feedback {
            EcnFeedback::None => {}
            EcnFeedback::Classic => self.sends_ect = !self.saw_non_ecn_syn,
            EcnFeedback::Accurate => {
                self.sends_ect = true;
                self.check_transition(syn_arrived);
                self.on_accurate_syn_ack(ecn);
            }
        }
        syn_arrived == Some(Ecn::Ce)
    }

    /// Handles a SYN-ACK that confirms accurate feedback, first or retransmitted. The ECN field
    /// of the latest one is reported (RFC 9768 section 3.1.5).
    fn on_accurate_syn_ack(&mut self, ecn: Ecn) {
        self.accurate.receiver.on_syn_ack(ecn);
        self.handshake_ack = Some(ecn);
    }

    /// Handles a retransmitted SYN-ACK after the handshake, whatever its flags. A retransmission
    /// may go without ECN (RFC 9768 section 3.1.5).
    pub(crate) fn on_syn_ack_again(&mut self, ecn: Ecn) {
        if self.feedback == EcnFeedback::Accurate {
            self.on_accurate_syn_ack(ecn);
        }
    }

    /// Stops sending ECT if our SYN or SYN-ACK, sent as Not-ECT, arrived as something else. The
    /// path may mangle other packets too (RFC 9768 section 3.2.2.3).
    fn check_transition(&mut self, arrived: Option<Ecn>) {
        let valid = |arrived| negotiation::is_valid_transition(Ecn::NotEct, arrived);
        self.sends_ect &= !self.fallback || arrived.is_none_or(valid);
    }

    /// Handles the pure ACK without SACK that completes our passive open (RFC 9768 table 4).
    /// Returns whether our SYN-ACK was marked.
    pub(crate) fn on_handshake_ack(&mut self, flags: Flags) -> bool {
        self.untested = false;
        self.handshake = true;
        if flags.ace() == 0 {
            self.disbelieve();
            return false;
        }
        let arrived = negotiation::handshake_ecn(flags.ace());
        self.syn_ack_arrived = arrived.unwrap_or(Ecn::NotEct);
        self.check_transition(arrived);
        let marked = arrived == Some(Ecn::Ce);
        if marked {
            self.accurate.sender.on_marked_syn_ack();
            // A SYN-ACK that left as Not-ECT cannot be marked: it is an error on the path.
            self.delivered_ce += u64::from(!self.fallback);
        }
        marked
    }

    /// Whether these flags may report again how our SYN-ACK arrived.
    pub(crate) fn is_answer_again(&self, flags: Flags) -> bool {
        self.syn_acks > 0 && flags.ace() == negotiation::handshake_ace(self.syn_ack_arrived)
    }

    /// Whether the current segment completes the handshake.
    pub(crate) fn is_handshake(&self) -> bool {
        self.handshake
    }

    /// Ends the handling of the segment that completes the handshake.
    pub(crate) fn end_handshake(&mut self) {
        self.handshake = false;
    }

    /// Stops sending ECT and believing feedback. Feedback is given as before (RFC 9768 sections
    /// 3.2.2.1 note 1, 3.2.2.3, 3.2.2.4).
    fn disbelieve(&mut self) {
        self.sends_ect = false;
        self.heeds = false;
    }

    // Receiving.

    /// Counts `packets` packets with ECN field `ecn`.
    #[inline]
    pub(crate) fn count(&mut self, ecn: Ecn, packets: u32) {
        self.seen |= ecn.is_capable();
        if ecn == Ecn::Ce {
            self.received_ce += u64::from(packets);
        }
    }

    /// Checks the first segment after the handshake for a zeroed ACE field. RFC 9768 section
    /// 3.2.2.4.
    #[inline]
    pub(crate) fn test_first(&mut self, flags: Flags) {
        if core::mem::take(&mut self.untested) && flags.ace() == 0 {
            self.disbelieve();
        }
    }

    /// Whether data with field `ecn` changes the state of the receiver of RFC 8257. Earlier data is
    /// then acknowledged separately with the previous echo (section 3.2: MAY). Otherwise the sender
    /// would count it as marked.
    pub(crate) fn would_change_state(&self, ecn: Ecn) -> bool {
        self.dctcp_receiver && self.echo != (ecn == Ecn::Ce)
    }

    /// Handles data with classic feedback. Returns whether an ACK is due immediately.
    ///
    /// RFC 3168 section 6.1.3: CE is echoed until CWR comes, and a packet with both begins anew.
    /// CWR and the first CE are acknowledged immediately, since the peer's window may be down to
    /// one segment (as Linux). RFC 8257 section 3.2: the echo is whether the last packet had CE,
    /// and a change is acknowledged immediately.
    pub(crate) fn on_data(&mut self, flags: Flags, ecn: Ecn) -> bool {
        let is_marked = ecn == Ecn::Ce;
        if self.dctcp_receiver {
            return core::mem::replace(&mut self.echo, is_marked) != is_marked;
        }
        let reduced = flags.contains(Flags::CWR);
        let is_news = is_marked && (reduced || !self.echo);
        self.echo = is_marked || (self.echo && !reduced);
        reduced || is_news
    }

    /// Sets whether the next acknowledgment acknowledges only acknowledgments.
    pub(crate) fn set_without_sack(&mut self, without: bool) {
        self.without_sack = without;
    }

    /// Returns and clears whether the next acknowledgment goes without SACK.
    pub(crate) fn take_without_sack(&mut self) -> bool {
        core::mem::take(&mut self.without_sack)
    }

    // Sending.

    /// Flags to add to a segment with data; `fresh`: it is new data. CWR goes on new data once (RFC
    /// 3168 section 6.1.2).
    #[inline]
    pub(crate) fn flags_of_data(&mut self, fresh: bool) -> Flags {
        match self.feedback {
            EcnFeedback::None => Flags::NONE,
            EcnFeedback::Accurate => {
                self.handshake_ack = None;
                self.accurate.receiver.ace()
            }
            EcnFeedback::Classic => {
                let cwr = fresh && core::mem::take(&mut self.cwr_due);
                self.echo_flag() | if cwr { Flags::CWR } else { Flags::NONE }
            }
        }
    }

    /// Flags to add to an acknowledgment without data. The ACK of the SYN-ACK reports how that
    /// arrived, and goes without SACK (RFC 9768 section 3.2.2.1).
    #[inline]
    pub(crate) fn flags_of_ack(&mut self) -> Flags {
        match self.feedback {
            EcnFeedback::None => Flags::NONE,
            EcnFeedback::Classic => self.echo_flag(),
            EcnFeedback::Accurate => match self.handshake_ack.take() {
                Some(arrived) => {
                    self.without_sack = true;
                    Flags::from_ace(negotiation::handshake_ace(arrived))
                }
                None => self.accurate.receiver.ace(),
            },
        }
    }

    fn echo_flag(&self) -> Flags {
        if self.echo { Flags::ECE } else { Flags::NONE }
    }

    /// Notes that the window was reduced, for any reason, to notify the peer by CWR. RFC 3168
    /// section 6.1.2. Accurate feedback has no such notification (RFC 9768 section 3.1.5).
    #[inline]
    pub(crate) fn on_reduction(&mut self) {
        self.cwr_due = self.feedback == EcnFeedback::Classic;
    }

    /// Notes that the reduction was undone: no CWR is due.
    pub(crate) fn on_undo(&mut self) {
        self.cwr_due = false;
    }

    /// Whether feedback with this TSval is newer than all before.
    pub(crate) fn is_newer(&mut self, stamp: Option<u32>) -> bool {
        let Some(stamp) = stamp else { return false };
        let newer = self
            .accurate
            .newest_stamp
            .is_none_or(|newest| (stamp.wrapping_sub(newest) as i32) > 0);
        if newer {
            self.accurate.newest_stamp = Some(stamp);
        }
        newer
    }

    /// Processes accurate feedback of an acknowledgment that is not superseded.
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback) -> Marked {
        let (marked, contradict) = self.accurate.sender.on_feedback(feedback);
        // RFC 9768 section 3.2.3.2.5.
        self.sends_ect &= !contradict;
        self.note_delivered(marked)
    }

    /// Notes that data up to `end` leaves as Not-ECT though other data carries ECT.
    pub(crate) fn on_plain_data(&mut self, end: u64) {
        self.accurate.sanity_check.on_plain(end);
    }

    /// Runs the sanity check on an acknowledgment; returns whether it failed now. After that, no
    /// feedback is believed.
    #[inline]
    pub(crate) fn fails_sanity_check(&mut self, report: &AckReport) -> bool {
        let found = self.accurate.sanity_check.on_feedback(report);
        if found {
            self.disbelieve();
        }
        found
    }

    /// Counts packets reported as marked; returns them if feedback is believed.
    pub(crate) fn note_delivered(&mut self, marked: Marked) -> Marked {
        self.delivered_ce += u64::from(marked.packets);
        if self.heeds {
            marked
        } else {
            Marked::default()
        }
    }
}
