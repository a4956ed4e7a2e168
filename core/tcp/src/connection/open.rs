//! Opening: RFC 9293 section 3.5, and options negotiated on the SYNs.
//!
//! Active open sends a SYN; passive open answers one; when two SYNs cross, both sides pass through
//! SYN-RECEIVED (MUST-10). Both SYNs together decide MSS, window scale, SACK-permitted and
//! timestamps.

use alloc::boxed::Box;

use gigatcp_units::{Bytes, Instant, random};
use gigatcp_wire::{Flags, Options, Payload, Segment, SeqNumber, WireWindow};

use super::{Connection, ConnectionConfig, Failure, Received, Reset, TransportConfig};
use crate::congestion::{self, SlowStart};
use crate::events::{CwndCause, Event, EventMask, State};
use crate::profile::{InitialWindow, Profile};
use crate::space::{Length, Offset, RightEdge};

/// Handshake state: SYNs due to leave, and options that both SYNs negotiated.
#[derive(Clone, Debug)]
pub(super) struct Handshake<P> {
    /// A SYN or SYN-ACK must leave.
    pub syn_due: bool,
    /// Whether our SYN answers one, as a SYN-ACK.
    pub syn_answers: bool,
    /// Whether we opened actively (RFC 9293 MUST-11).
    pub active_open: bool,
    /// Data and FIN of the peer's SYN, waiting for the handshake.
    pub syn_text: Option<Box<Segment<P>>>,
    /// Whether SACK is in use: both sides permit it (RFC 2018).
    pub sack: bool,
    /// Whether windows are scaled: both sides offered it (RFC 7323 section 2).
    pub scaling: bool,
}

impl<P> Handshake<P> {
    /// Initial state, with the options the profile offers.
    pub(super) const fn new(profile: &Profile) -> Self {
        Self {
            sack: profile.recovery.sack,
            scaling: profile.options.window_scaling,
            syn_due: false,
            syn_answers: false,
            active_open: false,
            syn_text: None,
        }
    }
}

impl<P: Payload> Connection<P> {
    /// Active open: RFC 9293 section 3.10.1. The SYN waits in
    /// [`Connection::poll_transmit`].
    #[must_use]
    pub fn connect(now: Instant, config: &ConnectionConfig) -> Self {
        let mut connection = Self::new(now, config);
        connection.set_state(now, State::SynSent);
        connection.handshake.active_open = true;
        connection.handshake.syn_due = true;
        connection
    }

    /// Passive open: answers `syn`, a SYN that reached a listener. The SYN-ACK waits in
    /// [`Connection::poll_transmit`]. `None` if `syn` has no SYN.
    #[must_use]
    pub fn accept(now: Instant, config: &ConnectionConfig, syn: &Received<P>) -> Option<Self> {
        let segment = &syn.segment;
        if !segment.flags.contains(Flags::SYN) {
            return None;
        }
        let mut connection = Self::new(now, config);
        connection.remote_port = segment.src_port;
        connection.take_open(now, segment);
        Some(connection)
    }

    /// Opens passively by `syn`.
    pub(super) fn take_open(&mut self, now: Instant, syn: &Segment<P>) {
        self.state = State::Listen;
        self.take_syn(now, syn);
        self.keep_syn_text(syn);
        self.handshake.syn_answers = true;
        self.handshake.syn_due = true;
        self.set_state(now, State::SynReceived);
    }

    /// Takes sequence numbers and options from the peer's SYN.
    pub(super) fn take_syn(&mut self, now: Instant, syn: &Segment<P>) {
        self.rcv.irs = syn.seq;
        self.rcv.nxt = 1;
        self.offer_first_window();
        self.rcv.last_ack_sent = 1;
        // Windows in SYN segments are never scaled (RFC 7323 section 2.2).
        self.snd.wnd = u64::from(syn.wnd.0);
        self.snd.max_wnd = self.snd.wnd;
        self.snd.wl1 = 0;
        self.snd.wl2 = self.snd.una;
        self.settle_options(now, &syn.options);
        self.settle_ecn(now, syn);
    }

    /// Advertises the first window, on our SYN or the following SYN-ACK.
    pub(super) fn offer_first_window(&mut self) {
        let edge = self.window.edge(Offset(1), RightEdge(0), Length(0));
        self.rcv.edge = edge.clamp(1, 1 + 65_535);
        self.rcv.advertised_edge = self.rcv.edge;
        self.rcv.last_wnd = self.rcv.wnd();
    }

    fn settle_options(&mut self, now: Instant, offered: &Options) {
        match offered.window_scale {
            // More than 14 is an error of the peer; RFC 7323 section 2.3 requires using 14.
            Some(shift) if self.handshake.scaling => self.snd.shift = shift.min(14),
            _ => {
                self.handshake.scaling = false;
                self.snd.shift = 0;
                self.rcv.shift = 0;
                self.window.forgo_scaling();
            }
        }
        self.take_user_timeout(offered);
        self.handshake.sack &= offered.sack_permitted;
        match (offered.timestamps, &mut self.timestamps) {
            (Some(stamps), Some(clock)) => clock.start(now, stamps.val),
            (_, clock) => *clock = None,
        }
        // A tiny MSS would make us send a flood of tiny segments.
        let default = self.path.ip().default_mss();
        let theirs = offered.mss.map_or(default, u32::from);
        self.mss_limit = theirs
            .max(self.transport.profile.path_mtu.mss_min)
            .min(self.rmss);
        let ceiling = self.mss_limit + self.path.headers();
        self.path.start(now, &self.transport.profile, ceiling);
        self.smss = self.smss_of(self.path.current());
        self.window.on_effective_mss(
            &self.transport.profile,
            self.mss_limit.min(self.mss_of_route()),
        );
        self.settle_buffers();
        self.start_congestion_control(now);
    }

    /// Largest segment by the remembered route MTU, options included. The start value of an MTU
    /// search does not count.
    fn mss_of_route(&self) -> u32 {
        match self.transport.profile.path_mtu.route_mtu {
            0 => u32::MAX,
            mtu => mtu.saturating_sub(self.path.headers()).max(1),
        }
    }

    /// Starts congestion control with the negotiated SMSS.
    pub(super) fn start_congestion_control(&mut self, now: Instant) {
        let config = congestion::Config {
            seed: seed_of(self.snd.on_wire(0), [self.local_port, self.remote_port]),
            ..control_of(&self.transport, self.smss)
        };
        let config = congestion::Config {
            initial_window: self.first_window().unwrap_or(config.initial_window),
            ..config
        };
        self.pacing.first_window_left = config.initial_window.as_u64();
        self.congestion = self.transport.congestion.build(&config);
        self.put_cwnd(now, CwndCause::Initial);
    }

    pub(super) fn put_cwnd(&mut self, now: Instant, cause: CwndCause) {
        self.expand_send_buffer(now);
        let kind = match cause {
            CwndCause::SlowStart | CwndCause::Avoidance | CwndCause::InRecovery => EventMask::CWND,
            _ => EventMask::CHANGES,
        };
        if self.outbox.wants(kind) {
            let event = Event::CwndMoved {
                cwnd: self.congestion.cwnd().as_u64(),
                ssthresh: self.congestion.ssthresh().as_u64(),
                cause,
            };
            self.outbox.put(kind, now, event);
        }
    }

    /// A due SYN or SYN-ACK, first or retransmitted.
    #[cold]
    pub(super) fn poll_handshake(&mut self, now: Instant) -> Option<Segment<P>> {
        if !self.handshake.syn_due && self.may_send_early() {
            return self.poll_data(now).or_else(|| self.poll_ack(now));
        }
        if !self.handshake.syn_due {
            return self.poll_ack(now);
        }
        self.handshake.syn_due = false;
        let mut syn = self.syn_segment(now);
        syn.options.shed_to_fit();
        if self.snd.nxt == 0 {
            let text = self.text_for_syn(&syn.options);
            if let Some(outcome) = self.open_fast_open_outcome() {
                outcome.text_sent = text as u32;
            }
            self.snd.nxt = 1 + text;
            self.board.on_transmit(now, 1 + text);
            self.round_end = 1 + text;
            syn.payload = self.send_buffer.slice(1..1 + text);
            self.counters.data_segments_sent += u64::from(text > 0);
        } else {
            self.board.on_retransmit(now, 0..1);
        }
        self.timers.retransmit_at = now + self.rtt.rto();
        self.last_sent_at = now;
        Some(syn)
    }

    fn syn_segment(&mut self, now: Instant) -> Segment<P> {
        let answers = self.handshake.syn_answers;
        let flags = if answers {
            Flags::SYN | Flags::ACK
        } else {
            Flags::SYN
        };
        let wnd = if answers {
            self.rcv.wnd()
        } else {
            self.window.edge(Offset(0), RightEdge(0), Length(0))
        };
        if answers {
            self.rcv.last_ack_sent = self.rcv.nxt;
            self.ack.on_ack_sent();
        }
        let mut options = Options {
            mss: Some(self.mss_to_announce() as u16),
            window_scale: self.handshake.scaling.then_some(self.rcv.shift),
            sack_permitted: self.handshake.sack,
            timestamps: self.timestamps.as_ref().map(|clock| clock.stamp(now)),
            ..Options::default()
        };
        // The receiver of a signed segment writes it again, in the usual layout, to check its code.
        // FreeBSD has no RFC 5925.
        if self.authentication.is_none() {
            options.set_layout(self.transport.profile.options.option_layout);
        }
        options.set_fast_open(self.fast_open_option());
        self.tell_user_timeout_on_syn(&mut options);
        let mut syn = Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq: self.snd.on_wire(0),
            ack: if answers {
                self.rcv.on_wire(self.rcv.nxt)
            } else {
                SeqNumber::new(0)
            },
            flags,
            wnd: WireWindow(wnd.min(65_535) as u16),
            options,
            ..Segment::default()
        };
        self.dress_syn(&mut syn);
        syn
    }

    /// MSS of our SYN.
    fn mss_to_announce(&self) -> u32 {
        if !self.transport.profile.path_mtu.mss_of_path || self.handshake.syn_answers {
            return self.rmss;
        }
        let of_path = self.path.current().saturating_sub(self.path.headers());
        self.rmss.min(of_path.max(1))
    }

    /// Handles a segment in SYN-SENT: RFC 9293 section 3.10.7.3.
    pub(super) fn handle_in_syn_sent(&mut self, now: Instant, received: &Received<P>) {
        let segment = &received.segment;
        let acks_syn = segment.flags.contains(Flags::ACK).then(|| {
            let ack = self.snd.offset_of(segment.ack);
            ack.filter(|ack| (1..=self.snd.nxt).contains(ack))
        });
        if acks_syn == Some(None) {
            if !segment.flags.contains(Flags::RST) {
                self.closing.reset_due = Some(Reset {
                    seq: segment.ack,
                    ack: None,
                });
            }
            return;
        }
        if acks_syn.is_some() && self.echoes_no_syn(received.at, segment) {
            self.closing.reset_due = Some(Reset {
                seq: segment.ack,
                ack: None,
            });
            return;
        }
        if segment.flags.contains(Flags::RST) {
            if acks_syn.is_some() {
                self.fail(now, Failure::Refused);
            }
            return;
        }
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.take_syn(now, segment);
        if let Some(ack) = acks_syn.flatten() {
            self.note_fast_open_answer(ack, segment);
            self.acknowledge_syn(now, received.at, ack);
            self.set_state(now, State::Established);
            // ACK immediately; it may be piggybacked on data.
            if self.transport.profile.opening.handshake_ack_alone {
                self.ack.demand_alone();
            } else {
                self.ack.demand();
            }
            self.take_syn_ack_text(now, segment);
        } else {
            self.keep_syn_text(segment);
            // Simultaneous open (MUST-10): answer with SYN-ACK.
            self.handshake.syn_answers = true;
            self.handshake.syn_due = true;
            self.set_state(now, State::SynReceived);
        }
    }

    /// Whether `answer` echoes a timestamp from before our first SYN, or one not sent yet. Nothing was
    /// heard before, so the last time is that of the open.
    fn echoes_no_syn(&self, received_at: Instant, answer: &Segment<P>) -> bool {
        let (Some(clock), Some(stamps)) = (&self.timestamps, answer.options.timestamps) else {
            return false;
        };
        self.transport.profile.options.syn_echo_checked
            && stamps.ecr != 0
            && clock
                .left_by(received_at, stamps.ecr)
                .is_none_or(|left_by| left_by < self.liveness.heard_at())
    }

    /// Reduces the initial window to one segment after a lost SYN or SYN-ACK. RFC 5681 section
    /// 3.1. With the initial window of RFC 6928, only after two: its section 2 regards one timeout
    /// as spurious. With `lost_syn_keeps_window` so it does with any.
    fn start_anew_after(&mut self, now: Instant, lost: u32) {
        let rules = &self.transport.profile.congestion;
        let tolerates_one =
            rules.lost_syn_keeps_window || rules.initial_window == InitialWindow::Rfc6928;
        if lost > u32::from(tolerates_one) {
            let one_segment = Bytes::new(u64::from(self.smss));
            self.congestion.on_idle_restart(now, one_segment);
            self.put_cwnd(now, CwndCause::Initial);
        }
    }

    /// Advances SND.UNA to `ack`, which covers our SYN and possibly data in it. Unacknowledged
    /// data in our SYN was not accepted and is retransmitted immediately (RFC 7413 section 4.2.2).
    pub(super) fn acknowledge_syn(&mut self, now: Instant, received_at: Instant, ack: u64) {
        let mut revealed = crate::scoreboard::Revealed::default();
        self.board.on_ack(ack, &mut revealed);
        self.board.finish_ack(now, &revealed);
        self.snd.una = ack;
        self.snd.wl2 = ack;
        self.send_buffer.release(ack);
        if self.handshake.active_open && ack < self.snd.nxt {
            self.board.mark_all_not_taken();
        }
        let lost = core::mem::take(&mut self.timers.timeouts_in_a_row);
        if lost > 0 {
            self.rtt.on_syn_lost();
            self.start_anew_after(now, lost);
        }
        self.rtt.end_backoff();
        if let Some(sent_at) = revealed.oldest_sent_at {
            self.take_rtt(now, received_at.saturating_since(sent_at));
        }
        if let Some(earlier) = self.transport.profile.timer.earlier_rtt {
            self.rtt.continue_from(earlier);
        }
        self.congestion.on_established(now, self.rtt.srtt());
        self.begin_autotuning(now);
        self.restart_retransmit_timer(now);
        self.round_end = self.snd.nxt;
    }
}

/// Seed of the congestion control's random numbers. It differs between connections of a run and is
/// the same in each run of a plan.
fn seed_of(iss: SeqNumber, [local_port, remote_port]: [u16; 2]) -> u64 {
    let ports = u64::from(local_port) << 16 | u64::from(remote_port);
    random::mix(u64::from(iss.as_u32()) << 32 | ports)
}

/// Configuration of the congestion control, for segments of `smss` octets.
pub(super) fn control_of(transport: &TransportConfig, smss: u32) -> congestion::Config {
    let profile = &transport.profile;
    congestion::Config {
        initial_ssthresh: transport.initial_ssthresh,
        slow_start: transport.slow_start,
        smss,
        initial_window: profile.congestion.initial_window.bytes(smss),
        usual_slow_start: match profile.congestion.slow_start {
            SlowStart::Usual => SlowStart::HyStart,
            chosen => chosen,
        },
        paced: profile.pacing.enabled && profile.pacing.pacing_by_window,
        counting: profile.congestion.counting,
        fast_convergence: profile.congestion.fast_convergence,
        abe: profile.congestion.abe,
        reduces_cwnd: profile.congestion.reduces_cwnd,
        kernel_tick: profile.congestion.kernel_tick,
        ..congestion::Config::default()
    }
}
