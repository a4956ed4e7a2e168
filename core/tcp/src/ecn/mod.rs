//! Explicit congestion notification: what a connection has agreed on, and what
//! it keeps in mind.
//!
//! * [`EcnMode`]: what a host asks for and grants.
//! * `negotiation`: flags of SYN and SYN-ACK (RFC 3168 section 6.1.1, RFC 9768
//!   section 3.1).
//! * `counters`: accurate feedback as a receiver gives it (RFC 9768 section
//!   3.2).
//! * `feedback`: accurate feedback as a sender takes it.
//! * `doubt`: when it is not believed (RFC 9768 section 3.2.2.3).
//! * Here: classic feedback (RFC 3168 section 6.1), with the receiver of RFC
//!   8257 section 3.2, and what the two kinds share.
//!
//! How it meets segments is in `connection/ecn.rs`.
//!
//! ECT(0) goes on new data alone: acknowledgments, retransmissions and window
//! probes stay Not-ECT, as RFC 3168 sections 5.2 and 6.1.4 to 6.1.6 ask and RFC
//! 9768 leaves it, unless `ecn_everywhere` has it otherwise. With `l4s` a scalable
//! congestion control sends ECT(1) in its place (RFC 9331). Not here: ECT on SYN
//! and SYN-ACK (the rest of ECN++), which costs a mark on them a loss; detection of
//! a queue that gives L4S packets classic marks (RFC 9331 section 4.3), at which
//! such a control takes more than its share; a new SYN without ECN after a reset
//! (RFC 3168 section 6.1.1.1: MAY).

mod counters;
mod doubt;
mod feedback;
pub(crate) mod negotiation;

pub(crate) use counters::{ALL_FIELDS, Arrived, EcnCounters, EcnReceiver};
pub(crate) use doubt::AckReport;
pub use feedback::OptionSeen;
pub(crate) use feedback::{EcnSender, Feedback, Marked};

use alloc::boxed::Box;

use gigatcp_events::EcnFeedback;
use gigatcp_units::Instant;
use gigatcp_wire::{Ecn, Flags, Segment};

use crate::lazy::{Lazy, Untouched};
use crate::profile::Profile;
use doubt::CeSanityCheck;

/// What a host asks its peers for, and what it grants them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EcnMode {
    /// Neither asks nor grants.
    Off,
    /// Asks for nothing and grants what is requested: what Linux does unless
    /// told otherwise (`tcp_ecn` 2, and 5 since it knows RFC 9768).
    #[default]
    Passive,
    /// RFC 3168: asks for it and grants it.
    Classic,
    /// RFC 9768: asks for it, and grants it or RFC 3168.
    Accurate,
    /// Asks for nothing and grants RFC 3168 alone (Linux `tcp_ecn` 2).
    PassiveClassic,
    /// Asks for RFC 3168, which every server knows, and grants RFC 9768 too
    /// (Linux `tcp_ecn` 4).
    Mixed,
}

impl EcnMode {
    /// Every mode.
    pub const ALL: [Self; 6] = [
        Self::Off,
        Self::Passive,
        Self::Classic,
        Self::Accurate,
        Self::PassiveClassic,
        Self::Mixed,
    ];

    /// Its name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Passive => "passive",
            Self::Classic => "classic",
            Self::Accurate => "accurate",
            Self::PassiveClassic => "passive-classic",
            Self::Mixed => "mixed",
        }
    }

    /// The mode of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    const fn asks(self) -> EcnFeedback {
        match self {
            Self::Off | Self::Passive | Self::PassiveClassic => EcnFeedback::None,
            Self::Classic | Self::Mixed => EcnFeedback::Classic,
            Self::Accurate => EcnFeedback::Accurate,
        }
    }

    const fn grants(self) -> EcnFeedback {
        match self {
            Self::Off => EcnFeedback::None,
            Self::Classic | Self::PassiveClassic => EcnFeedback::Classic,
            Self::Passive | Self::Accurate | Self::Mixed => EcnFeedback::Accurate,
        }
    }
}

/// When AccECN options leave (RFC 9768 section 3.2.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EcnOption {
    /// Never: the ACE field tells all there is to tell.
    Off,
    /// On acknowledgments after a counter has grown, with the counters that
    /// ever did: the simple scheme that section 3.2.3.3 recommends.
    #[default]
    Due,
    /// On every segment, with every counter for which there is room, and data
    /// segments are made smaller for it; only while the peer's options come
    /// (Linux `tcp_ecn_option` 2).
    Always,
}

impl EcnOption {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Off, Self::Due, Self::Always];

    /// Its name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Due => "due",
            Self::Always => "always",
        }
    }

    /// The choice of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }
}

/// Accurate feedback of both directions (RFC 9768), and whether it is believed.
#[derive(Clone, Debug)]
pub(crate) struct AccurateFeedback {
    pub(crate) receiver: EcnReceiver,
    pub(crate) sender: EcnSender,
    doubt: CeSanityCheck,
    /// Newest TSval that came with feedback.
    newest_stamp: Option<u32>,
}

impl AccurateFeedback {
    const fn new(option: EcnOption, doubts: bool) -> Self {
        Self {
            receiver: EcnReceiver::new(option),
            sender: EcnSender::new(),
            doubt: CeSanityCheck::new(doubts),
            newest_stamp: None,
        }
    }

    /// At the start of a connection with that profile.
    fn of(profile: &Profile) -> Lazy<Self> {
        let (option, doubts) = (profile.ecn.ecn_option, profile.ecn.ecn_doubts);
        let mut state = Lazy::default();
        if (option, doubts) != (EcnOption::Due, true) {
            *state = Self::new(option, doubts);
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

/// The ECN state of one connection.
#[derive(Clone, Debug)]
pub(crate) struct EcnState<P> {
    mode: EcnMode,
    /// A SYN of ours has left.
    has_asked: bool,
    /// The receiver of RFC 8257.
    dctcp_receiver: bool,
    /// With accurate feedback every segment may carry ECT.
    everywhere: bool,
    /// A scalable congestion control sends ECT(1).
    l4s: bool,
    /// What a network does that does not bear ECN is answered by doing without.
    fallback: bool,
    feedback: EcnFeedback,
    /// Our data may carry ECT.
    sends_ect: bool,
    /// Feedback is believed.
    heeds: bool,
    /// The first segment after the handshake has still to be looked at.
    untested: bool,
    /// The segment at hand completes the handshake, and its ACE field is no
    /// counter.
    handshake: bool,
    /// A SYN or SYN-ACK without ECN was sent or came.
    plain: bool,
    /// ECN field of the peer's latest SYN.
    syn_arrived: Ecn,
    /// SYN-ACKs that left.
    syn_acks: u32,
    /// On which field ours arrived, as far as is known.
    syn_ack_arrived: Ecn,
    /// The next pure acknowledgment tells how the SYN-ACK arrived.
    handshake_ack: Option<Ecn>,
    /// The next acknowledgment acknowledges acknowledgments: without SACK.
    without_sack: bool,
    /// Classic: acknowledgments carry ECN-Echo. RFC 8257: `DCTCP.CE`.
    echo: bool,
    /// Classic: the next new data carries CWR.
    cwr_due: bool,
    /// An acknowledgment of what came before a change of marking, waiting to
    /// leave (RFC 8257 section 3.2).
    pub(crate) early_ack: Option<Box<Segment<P>>>,
    /// No new data leaves before this (RFC 3168 section 6.1.2, a window of one
    /// segment).
    pub(crate) hold_until: Instant,
    /// Untouched unless accurate feedback was agreed on.
    pub(crate) accurate: Lazy<AccurateFeedback>,
    /// Whether any packet came with ECT or CE.
    seen: bool,
    /// Packets that came with CE.
    received_ce: u64,
    /// Packets reported as having arrived with CE.
    delivered_ce: u64,
}

impl<P> EcnState<P> {
    /// Before the handshake.
    pub(crate) fn new(profile: &Profile) -> Self {
        Self {
            mode: profile.ecn.mode,
            has_asked: false,
            dctcp_receiver: profile.ecn.dctcp_receiver,
            everywhere: profile.ecn.ecn_everywhere,
            l4s: profile.ecn.l4s,
            fallback: profile.ecn.ecn_fallback,
            feedback: EcnFeedback::None,
            sends_ect: false,
            heeds: true,
            untested: true,
            handshake: false,
            plain: false,
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

    /// Whether any ECN was agreed on: the one test of the quiet path.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.feedback != EcnFeedback::None
    }

    /// What was agreed on.
    #[inline]
    pub(crate) fn feedback(&self) -> EcnFeedback {
        self.feedback
    }

    /// Whether our data carries ECT.
    #[inline]
    pub(crate) fn sends_ect(&self) -> bool {
        self.sends_ect
    }

    /// Whether a segment leaves as ECT that is not new data.
    #[inline]
    pub(crate) fn sends_ect_everywhere(&self) -> bool {
        self.everywhere && self.sends_ect && self.feedback == EcnFeedback::Accurate
    }

    /// Whether a scalable congestion control may send ECT(1): it takes feedback that
    /// counts marks (RFC 9331 section 4.2).
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

    /// Whether any packet came with ECT or CE.
    pub(crate) fn has_seen(&self) -> bool {
        self.seen
    }

    /// Packets that came with CE, and packets reported to have.
    pub(crate) fn ce_packets(&self) -> (u64, u64) {
        (self.received_ce, self.delivered_ce)
    }

    /// The flags next to ACK of a segment that brings no news of congestion.
    #[inline]
    pub(crate) fn quiet_flags(&self) -> Flags {
        if self.feedback == EcnFeedback::Accurate {
            Flags::from_ace((self.accurate.sender.counters().cep & 7) as u8)
        } else {
            Flags::NONE
        }
    }

    // The handshake.

    /// Flags of a SYN after `timeouts` timeouts. An accurate request is repeated
    /// once (RFC 9768 section 3.1.4.1), a classic one not at all (RFC 3168
    /// section 6.1.1.1): a middlebox may drop SYNs for these flags.
    pub(crate) fn flags_of_syn(&mut self, timeouts: u32) -> Flags {
        self.has_asked = true;
        let patience = match self.mode.asks() {
            EcnFeedback::None => 0,
            EcnFeedback::Classic => 1,
            EcnFeedback::Accurate => 2,
        };
        if timeouts < patience || !self.fallback {
            negotiation::syn_flags(self.mode.asks())
        } else {
            self.on_plain();
            Flags::NONE
        }
    }

    /// Flags of a SYN-ACK after `timeouts` timeouts, and whether it may carry an
    /// option. The first one repeated goes without, the next without ECN (RFC
    /// 9768 section 3.2.3.2.2); the mode stays, and options are tried again on
    /// acknowledgments, where it shows whether they get through.
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

    /// A SYN without ECN was sent or came, or such a SYN-ACK: then a classic
    /// host and an accurate server send no ECT (RFC 3168 section 6.1.1, RFC
    /// 9768 section 3.1.5). An accurate client knows its peer's mode.
    fn on_plain(&mut self) {
        self.plain = true;
        self.sends_ect = false;
    }

    /// What the peer's SYN requests. Where SYNs cross the peer goes by ours, so
    /// a side that did not request accurate feedback has none: one would count
    /// what the other does not.
    fn asked_by(&self, flags: Flags) -> EcnFeedback {
        let asked = negotiation::asked_by_syn(flags, self.mode.grants());
        if self.has_asked && asked == EcnFeedback::Accurate {
            self.mode.asks()
        } else {
            asked
        }
    }

    /// The peer's SYN opens the connection.
    pub(crate) fn on_syn(&mut self, flags: Flags, ecn: Ecn) {
        let asked = self.asked_by(flags);
        // RFC 3168 section 6.1.1: no ECT on SYN. Where it has some, something
        // takes the ECN field for the old type of service; only accurate
        // feedback lets the peer find that out (RFC 9768 section 2.5).
        self.feedback = if asked == EcnFeedback::Classic && ecn != Ecn::NotEct {
            EcnFeedback::None
        } else {
            asked
        };
        self.syn_arrived = ecn;
        self.note_syn(ecn);
        if negotiation::asked_by_syn(flags, EcnFeedback::Accurate) == EcnFeedback::None {
            self.plain = true;
        }
        self.sends_ect = self.is_on() && !self.plain;
    }

    /// The peer's SYN once more, before the handshake is over. Answers whether
    /// it asks for another kind of feedback than the first did, for which the
    /// connection must be reset (RFC 9768 section 3.1.5).
    pub(crate) fn on_syn_again(&mut self, flags: Flags, ecn: Ecn) -> bool {
        let asked = self.asked_by(flags);
        self.syn_arrived = ecn;
        self.note_syn(ecn);
        if asked == EcnFeedback::None {
            self.on_plain();
        }
        self.is_on() && asked != EcnFeedback::None && asked != self.feedback
    }

    /// A SYN is the packet before the next, where packets are counted.
    fn note_syn(&mut self, ecn: Ecn) {
        if self.feedback == EcnFeedback::Accurate {
            self.accurate.receiver.on_syn(ecn);
        }
    }

    /// The SYN-ACK that opens the connection. Answers whether it says that our
    /// SYN was marked.
    pub(crate) fn on_syn_ack(&mut self, flags: Flags, ecn: Ecn) -> bool {
        let (feedback, syn_arrived) = negotiation::agreed_by_syn_ack(flags, self.mode.asks());
        self.feedback = feedback;
        match feedback {
            EcnFeedback::None => {}
            EcnFeedback::Classic => self.sends_ect = !self.plain,
            EcnFeedback::Accurate => {
                self.sends_ect = true;
                self.check_transition(syn_arrived);
                self.on_accurate_syn_ack(ecn);
            }
        }
        syn_arrived == Some(Ecn::Ce)
    }

    /// A SYN-ACK that confirms accurate feedback came on that field, again
    /// perhaps: the latest is what is told (RFC 9768 section 3.1.5).
    fn on_accurate_syn_ack(&mut self, ecn: Ecn) {
        self.accurate.receiver.on_syn_ack(ecn);
        self.handshake_ack = Some(ecn);
    }

    /// The SYN-ACK once more, after the handshake, whatever its flags say now:
    /// a repetition may go without ECN (RFC 9768 section 3.1.5).
    pub(crate) fn on_syn_ack_again(&mut self, ecn: Ecn) {
        if self.feedback == EcnFeedback::Accurate {
            self.on_accurate_syn_ack(ecn);
        }
    }

    /// RFC 9768 section 3.2.2.3: our SYN or SYN-ACK left as Not-ECT. Where it
    /// did not arrive so, what else we send may be mangled too.
    fn check_transition(&mut self, arrived: Option<Ecn>) {
        let valid = |arrived| negotiation::is_valid_transition(Ecn::NotEct, arrived);
        self.sends_ect &= !self.fallback || arrived.is_none_or(valid);
    }

    /// A pure acknowledgment without SACK completes our passive open: table 4
    /// of RFC 9768. Answers whether our SYN-ACK was marked.
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
            // On a SYN-ACK that left as Not-ECT it is an error on the path,
            // and not a mark.
            self.delivered_ce += u64::from(!self.fallback);
        }
        marked
    }

    /// Whether these flags may tell once more how our SYN-ACK arrived.
    pub(crate) fn is_answer_again(&self, flags: Flags) -> bool {
        self.syn_acks > 0 && flags.ace() == negotiation::handshake_ace(self.syn_ack_arrived)
    }

    /// Whether the segment at hand completes the handshake.
    pub(crate) fn is_handshake(&self) -> bool {
        self.handshake
    }

    /// The segment at hand is done with.
    pub(crate) fn end_handshake(&mut self) {
        self.handshake = false;
    }

    /// Neither ECT is sent nor feedback believed any more (RFC 9768 sections
    /// 3.2.2.1 note 1, 3.2.2.3, 3.2.2.4); feedback is given as before.
    fn disbelieve(&mut self) {
        self.sends_ect = false;
        self.heeds = false;
    }

    // Receiving.

    /// Counts packets of which `ecn` is the field.
    #[inline]
    pub(crate) fn count(&mut self, ecn: Ecn, packets: u32) {
        self.seen |= ecn.is_capable();
        if ecn == Ecn::Ce {
            self.received_ce += u64::from(packets);
        }
    }

    /// The first segment after the handshake: a zeroed ACE field, and whether
    /// there is an option (RFC 9768 sections 3.2.2.4, 3.2.3.2.3).
    #[inline]
    pub(crate) fn test_first(&mut self, flags: Flags) {
        if core::mem::take(&mut self.untested) && flags.ace() == 0 {
            self.disbelieve();
        }
    }

    /// Whether data on that field makes the receiver of RFC 8257 change its
    /// state. What came before it is acknowledged apart, with the echo as it
    /// was (section 3.2: MAY), or the sender would count it as marked.
    pub(crate) fn would_change_state(&self, ecn: Ecn) -> bool {
        self.dctcp_receiver && self.echo != (ecn == Ecn::Ce)
    }

    /// Data with these flags on that field, with classic feedback. Answers
    /// whether an acknowledgment is due at once.
    ///
    /// RFC 3168 section 6.1.3: CE is echoed until CWR comes, and a packet with
    /// both begins anew. CWR and the first CE are acknowledged at once, since
    /// the peer's window may be down to one segment (as Linux). RFC 8257
    /// section 3.2: the echo is whether the last packet had CE, and a change is
    /// acknowledged at once.
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

    /// What is acknowledged next are acknowledgments alone, or is not.
    pub(crate) fn set_without_sack(&mut self, without: bool) {
        self.without_sack = without;
    }

    /// Takes the order that the acknowledgment about to leave goes without SACK.
    pub(crate) fn take_without_sack(&mut self) -> bool {
        core::mem::take(&mut self.without_sack)
    }

    // Sending.

    /// The flags to add to a segment with data; `fresh` says that it is new
    /// data. CWR goes on new data once (RFC 3168 section 6.1.2).
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

    /// The flags to add to an acknowledgment without data. The one of the
    /// SYN-ACK tells how that arrived, and goes without SACK (RFC 9768 section
    /// 3.2.2.1).
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

    /// The window was reduced, for whatever reason: the peer is told (RFC 3168
    /// section 6.1.2). With accurate feedback there is nothing to tell (RFC
    /// 9768 section 3.1.5).
    #[inline]
    pub(crate) fn on_reduction(&mut self) {
        self.cwr_due = self.feedback == EcnFeedback::Classic;
    }

    /// The reduction was taken back: there is nothing to tell.
    pub(crate) fn on_undo(&mut self) {
        self.cwr_due = false;
    }

    /// Whether feedback with that TSval is newer than what came before.
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

    /// Accurate feedback of an acknowledgment that is not superseded.
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback) -> Marked {
        let (marked, contradict) = self.accurate.sender.on_feedback(feedback);
        // RFC 9768 section 3.2.3.2.5.
        self.sends_ect &= !contradict;
        self.note_delivered(marked)
    }

    /// Data up to `end` leaves as Not-ECT though other data does not.
    pub(crate) fn on_plain_data(&mut self, end: u64) {
        self.accurate.doubt.on_plain(end);
    }

    /// What an acknowledgment says of the path: where that marks every packet,
    /// nothing is believed from now on.
    #[inline]
    pub(crate) fn doubts(&mut self, told: &AckReport) -> bool {
        let found = self.accurate.doubt.on_feedback(told);
        if found {
            self.disbelieve();
        }
        found
    }

    /// Counts what was reported as marked.
    pub(crate) fn note_delivered(&mut self, marked: Marked) -> Marked {
        self.delivered_ce += u64::from(marked.packets);
        if self.heeds {
            marked
        } else {
            Marked::default()
        }
    }
}
