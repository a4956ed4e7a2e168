//! One TCP connection: RFC 9293 section 3, without a clock or a socket.
//!
//! # Contract
//!
//! The driver owns time and the network. It calls, in any order:
//!
//! * [`Connection::handle_segment`] when a segment arrived,
//! * [`Connection::handle_icmp`] when an ICMP error about one of ours did,
//! * [`Connection::handle_timeout`] when [`Connection::poll_timeout`] is due,
//! * [`Connection::write`], [`Connection::read_into`], [`Connection::shutdown`],
//!   [`Connection::abort`] on behalf of the application,
//!
//! and afterwards [`Connection::poll_transmit`] until it returns `None`, then checks
//! [`Connection::poll_timeout`]. Segments that arrived together may all be passed in first: one
//! acknowledgment then leaves for all of them (RFC 9293 MUST-59). Events wait in
//! [`Connection::events`]. `now` never decreases.
//!
//! # Where things are
//!
//! | file | RFC 9293 |
//! |---|---|
//! | `open` | 3.5: active, passive and simultaneous open |
//! | `input` | 3.10.7: SEGMENT ARRIVES, header prediction |
//! | `acknowledge` | 3.10.7.4 fifth: the ACK field |
//! | `receive` | 3.10.7.4 seventh and eighth: text and FIN |
//! | `output` | 3.7, 3.8: what may be sent now, and what limits it |
//! | `segment` | 3.1: building a segment, its window and options |
//! | `reduction` | 3.8.2: congestion: reductions, and their undoing |
//! | `syn_text` | 3.10.7.2, 3.10.7.3: text and FIN on a SYN |
//! | `authenticate` | RFC 5925: every segment signed and checked |
//! | `fast_open` | RFC 7413: data in SYN, delivered immediately |
//! | `time_wait` | 3.6.1, RFC 6191, RFC 1337: when TIME-WAIT ends early |
//! | `loss_recovery` | RFC 8985, 9937, 5682, 3522: which rule decides when |
//! | `quick_start` | RFC 4782: a first window that routers approve |
//! | `careful_resume` | RFC 9959: a window from an earlier connection |
//! | `routers` | XCP: requests to routers, and their answers |
//! | `validation` | RFC 7661 and RFC 5681 4.1: windows that were not in use |
//! | `pacing`, `deferral` | release times; waiting for larger super-segments |
//! | `timeout` | 3.8.1, 3.8.6.1: retransmission, window probes, TIME-WAIT |
//! | `buffers` | 3.8.6.2: buffer sizes |
//! | `application`, `socket_option` | 3.9: user calls, settings |
//! | `urgent` | 3.8.5, RFC 6093: urgent data |
//! | `liveness`, `user_timeout` | 3.8.4, 3.9.1: keep-alives; when a connection is aborted |
//! | `icmp`, `path_mtu` | 3.9.2.2, 3.7.2: ICMP errors; the path MTU |
//! | `info`, `tcp_info` | 3.9.1.6: STATUS, a snapshot; under the names of Linux's `tcp_info` |
//! | `config`, `error` | configuration; reasons of failure |
//! | `counters` | counters |
//! | `ecn` | RFC 3168, RFC 9768, RFC 8257: explicit congestion notification |
//! | `challenge` | 3.10.7.4, RFC 5961: challenge ACKs and their rate |
//!
//! Methods marked `#[doc(hidden)]` are for drivers that store connections themselves. An
//! [`Endpoint`](crate::Endpoint) calls them where they are needed, so that its programs do not.
//! Simulators, packet scripts and streams under locks of their own have no endpoint: they count the
//! memory of a host, know why an application does not write, and open connections with Fast Open
//! cookies or keys.

mod acknowledge;
mod application;
#[cfg_attr(not(feature = "authentication"), path = "authenticate_off.rs")]
mod authenticate;
mod buffers;
mod careful_resume;
mod challenge;
mod config;
mod counters;
mod deferral;
mod ecn;
mod error;
#[cfg_attr(not(feature = "fast-open"), path = "fast_open_off.rs")]
mod fast_open;
mod icmp;
mod info;
mod input;
mod invariants;
mod liveness;
mod loss_recovery;
mod open;
mod output;
mod pacing;
mod path_mtu;
mod persist;
mod quick_start;
mod receive;
mod reduction;
mod routers;
mod segment;
mod socket_option;
mod syn_text;
mod tcp_info;
mod time_wait;
mod timeout;
mod urgent;
mod user_timeout;
mod validation;

use alloc::boxed::Box;
use alloc::sync::Arc;

use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{IcmpKind, Payload, Segment, SeqNumber};

use crate::congestion::Controller;
use crate::delayed_ack::DelayedAck;
use crate::ecn::EcnState;
use crate::eifel::Eifel;
use crate::events::{Event, EventMask, Limit, LimitClock, Outbox, Phase, Stamped, State};
use crate::frto::Frto;
use crate::lazy::Lazy;
use crate::min_rtt::MinRtt;
use crate::path_mtu::PathMtu;
use crate::profile::Profile;
use crate::prr::Prr;
use crate::rack::Rack;
use crate::receive_buffer::ReceiveBuffer;
use crate::receive_window::ReceiveWindow;
use crate::recovery::Recovery;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::send_buffer::SendBuffer;
use crate::space::{ReceiveSpace, SendSpace};
use crate::timestamps::TimestampClock;
use crate::tlp::TailLossProbe;

pub use crate::ecn::OptionSeen;
pub use careful_resume::SavedPath;
pub use config::{ConnectionConfig, TransportConfig};
pub use counters::Counters;
pub use ecn::EcnInfo;
pub use error::{Failure, ReadError, WriteError};
pub use info::Info;
pub use socket_option::SocketOption;
pub use time_wait::Predecessor;
use validation::UnusedWindow;

/// A segment with its arrival time.
#[derive(Clone, Debug)]
pub struct Received<P> {
    /// Arrival time at the interface, from which RTTs are measured.
    pub at: Instant,
    /// The segment.
    pub segment: Segment<P>,
}

/// One TCP connection as a state machine.
///
/// ```
/// use gigatcp_tcp::{Connection, ConnectionConfig, Received, TransportConfig};
/// use gigatcp_units::Instant;
/// use gigatcp_wire::bytes::Bytes;
///
/// let now = Instant::ZERO;
/// let (here, there) = ("10.0.0.1:40000".parse().unwrap(), "10.0.0.2:80".parse().unwrap());
/// let config = ConnectionConfig::new(here, there, TransportConfig::default());
/// let mut client: Connection<Bytes> = Connection::connect(now, &config);
/// client.write(Bytes::from_static(b"hello")).unwrap();
///
/// let syn = Received { at: now, segment: client.poll_transmit(now).unwrap() };
/// let config = ConnectionConfig::new(there, here, config.transport);
/// let mut server = Connection::accept(now, &config, &syn).unwrap();
/// for _ in 0..3 {
///     while let Some(segment) = server.poll_transmit(now) {
///         client.handle_segment(now, Received { at: now, segment });
///     }
///     while let Some(segment) = client.poll_transmit(now) {
///         server.handle_segment(now, Received { at: now, segment });
///     }
/// }
///
/// let mut buffer = [0; 100];
/// assert_eq!(server.read_into(now, &mut buffer), Ok(5));
/// assert_eq!(&buffer[..5], b"hello");
/// ```
#[derive(Debug)]
pub struct Connection<P> {
    transport: Arc<TransportConfig>,
    local_port: u16,
    remote_port: u16,
    /// Value of our MSS option.
    rmss: u32,
    /// SMSS: payload octets per segment we send.
    smss: u32,
    /// SMSS before options, as interface and peer allow.
    mss_limit: u32,
    path: PathMtu,
    soft_error: Option<IcmpKind>,
    liveness: liveness::Liveness,
    urgent: urgent::Urgent<P>,
    user_timeout: user_timeout::UserTimeoutState,

    state: State,
    failure: Option<Failure>,
    established_at: Option<Instant>,
    snd: SendSpace,
    rcv: ReceiveSpace,
    buffers: buffers::Buffers,
    send_buffer: SendBuffer<P>,
    receive_buffer: ReceiveBuffer<P>,
    board: Scoreboard,
    recovery: Recovery,
    rack: Lazy<Rack>,
    tlp: TailLossProbe,
    prr: Prr,
    frto: Lazy<Frto>,
    eifel: Eifel,
    congestion: Box<dyn Controller>,
    routers: routers::Routers,
    quick_start: quick_start::QuickStart,
    /// Careful Resume, if requested.
    resume: Option<Box<careful_resume::Resume>>,
    unused_window: Option<Box<UnusedWindow>>,
    rtt: RttEstimator,
    min_rtt: MinRtt,
    ack: DelayedAck,
    window: ReceiveWindow,
    /// Timestamps, if both sides offered them.
    timestamps: Option<TimestampClock>,
    ecn: EcnState<P>,
    /// Duplicate to report in the next acknowledgment (RFC 2883).
    dsack: Option<Box<core::ops::Range<u64>>>,

    handshake: open::Handshake<P>,
    closing: Closing,
    /// Fast Open state, if used.
    fast_open: fast_open::OptionalFastOpen,
    /// Keys, if segments are authenticated.
    authentication: authenticate::OptionalAuthenticator<P>,
    challenges: Lazy<challenge::ChallengeLimit>,
    pacing: pacing::Pacing,
    /// Delivered octets and interval of the last accepted delivery-rate sample.
    delivery: Option<(Bytes, Duration)>,
    /// SND.NXT at the start of the current round. An ACK, selective or not, of anything beyond it
    /// begins the next round.
    round_end: u64,
    last_sent_at: Instant,

    timers: timeout::Timers,
    limiting: output::Limiting,
    limits: LimitClock,
    outbox: Outbox,
    counters: counters::Tally,
}

/// Closing of both directions.
#[derive(Clone, Copy, Default, Debug)]
struct Closing {
    /// The application has closed: a FIN follows the last octet.
    fin_wanted: bool,
    fin_sent: bool,
    /// Offset of the peer's FIN, once seen.
    peer_fin: Option<u64>,
    /// The due ACK is a challenge.
    is_challenge_due: bool,
    /// A reset must leave with this sequence number.
    reset_due: Option<Reset>,
}

/// A reset waiting to leave (RFC 9293 section 3.10.7.1).
#[derive(Clone, Copy, Debug)]
struct Reset {
    seq: SeqNumber,
    /// Acknowledgment to carry, if any.
    ack: Option<SeqNumber>,
}

/// Timestamp clock, if the profile has timestamps.
fn timestamp_clock(profile: &Profile, offset: u32) -> Option<TimestampClock> {
    let clock = || {
        TimestampClock::new(profile.options.timestamp_tick, offset)
            .with_tolerance(profile.options.paws_tolerance)
    };
    profile.options.timestamps.then(clock)
}

/// Congestion control before the peer's MSS is known.
fn first_control(transport: &TransportConfig, rmss: u32) -> Box<dyn Controller> {
    transport
        .congestion
        .build(&open::control_of(transport, rmss))
}

/// Empty send buffer of the granted size.
fn first_send_buffer<P: Payload>(transport: &TransportConfig) -> SendBuffer<P> {
    let granted = transport.profile.send_buffer_for(transport.send_buffer);
    SendBuffer::new(granted.as_u64())
}

/// Empty receive space, with the window scale to use if the peer agrees.
fn first_receive_space(profile: &Profile, window: &ReceiveWindow) -> ReceiveSpace {
    let mut space = ReceiveSpace::new();
    if profile.options.window_scaling {
        space.shift = window.shift();
    }
    space
}

/// RTT estimator without a sample.
fn first_estimate(profile: &Profile) -> RttEstimator {
    RttEstimator::new(
        profile.timer.rto_initial,
        profile.timer.rto_min,
        profile.timer.rto_max,
    )
    .with_slop(profile.timer.rto_slop)
    .with_floor_on_variance(profile.timer.rto_floor_on_variance)
    .with_rule(profile.timer.rto_rule, profile.timer.rto_tick)
}

impl<P: Payload> Connection<P> {
    /// A closed connection with all parts initialized.
    fn new(now: Instant, config: &ConnectionConfig) -> Self {
        let transport = &*config.transport;
        let profile = &transport.profile;
        let rmss = u32::from(config.mss());
        let window = ReceiveWindow::new(profile, transport.receive_buffer, rmss);
        let congestion = first_control(transport, rmss);
        Self {
            transport: config.transport.clone(),
            local_port: config.local_port,
            remote_port: config.remote_port,
            rmss,
            smss: rmss,
            mss_limit: rmss,
            path: PathMtu::new(config.ip, rmss + config.ip.header_len() + 20),
            soft_error: None,
            liveness: liveness::Liveness::new(profile.liveness.keepalive, now),
            urgent: urgent::Urgent::new(),
            user_timeout: user_timeout::UserTimeoutState::new(profile),
            state: State::Closed,
            failure: None,
            established_at: None,
            snd: SendSpace::new(config.iss),
            rcv: first_receive_space(profile, &window),
            buffers: buffers::Buffers::new(
                now,
                profile,
                transport.requested_buffers(),
                &window,
                rmss,
            ),
            send_buffer: first_send_buffer(transport),
            receive_buffer: ReceiveBuffer::new(),
            board: Scoreboard::new(),
            recovery: Recovery::default(),
            rack: Lazy::default(),
            tlp: TailLossProbe::default(),
            prr: Prr::default(),
            frto: Lazy::default(),
            eifel: Eifel::default(),
            routers: routers::Routers::new(&*congestion),
            quick_start: quick_start::QuickStart::new(profile),
            resume: None,
            congestion,
            unused_window: UnusedWindow::of(now, profile),
            rtt: first_estimate(profile),
            min_rtt: MinRtt::new(profile.timer.min_rtt_window),
            ack: DelayedAck::new(),
            window,
            timestamps: timestamp_clock(profile, config.timestamp_offset),
            ecn: EcnState::new(profile),
            dsack: None,
            handshake: open::Handshake::new(profile),
            closing: Closing::default(),
            fast_open: None,
            authentication: None,
            challenges: Lazy::default(),
            pacing: pacing::Pacing::new(),
            delivery: None,
            round_end: 0,
            last_sent_at: now,
            timers: timeout::Timers::new(),
            limiting: output::Limiting::new(),
            limits: LimitClock::new(now, Limit::Application),
            outbox: Outbox::new(transport.events),
            counters: counters::Tally::default(),
        }
    }

    /// Configuration that it shares with others.
    pub(crate) fn transport(&self) -> &TransportConfig {
        &self.transport
    }

    /// Profile, for a change that concerns this connection alone.
    fn profile_mut(&mut self) -> &mut Profile {
        &mut Arc::make_mut(&mut self.transport).profile
    }

    /// State of the connection.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Reason the connection ended, if it failed.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Time at which the connection was established, if it was.
    pub fn established_at(&self) -> Option<Instant> {
        self.established_at
    }

    /// Counts since the connection began.
    #[inline]
    pub fn counters(&self) -> Counters {
        self.counters.all()
    }

    /// What stops the sender at present.
    #[inline]
    pub fn limit(&self) -> Limit {
        self.limits.current()
    }

    /// Time under each limit up to `now`, in the order of [`Limit::ALL`]. It adds up to the time
    /// since establishment.
    pub fn limits(&self, now: Instant) -> [Duration; Limit::ALL.len()] {
        self.limits.all(now)
    }

    /// Recovery phase; cheap, unlike [`Connection::info`].
    #[inline]
    #[doc(hidden)]
    pub fn phase(&self) -> Phase {
        self.recovery.phase()
    }

    /// Congestion window.
    #[inline]
    #[doc(hidden)]
    pub fn cwnd(&self) -> Bytes {
        self.congestion.cwnd()
    }

    /// Smoothed round-trip time.
    #[doc(hidden)]
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// SND.UNA as a stream offset.
    #[doc(hidden)]
    pub fn snd_una(&self) -> u64 {
        self.snd.una
    }

    /// Window the peer advertises.
    #[doc(hidden)]
    pub fn snd_wnd(&self) -> Bytes {
        Bytes::new(self.snd.wnd)
    }

    /// Removes the waiting events, oldest first. `TransportConfig::events` says which are kept.
    ///
    /// ```
    /// use gigatcp_tcp::events::EventMask;
    /// use gigatcp_tcp::{Endpoint, TransportConfig};
    /// use gigatcp_units::Instant;
    /// use gigatcp_wire::bytes::Bytes;
    ///
    /// let now = Instant::ZERO;
    /// let mut host: Endpoint<Bytes> = Endpoint::new(now, [2; 16], ["10.0.0.1".parse().unwrap()]);
    /// let config = TransportConfig { events: EventMask::ALL, ..TransportConfig::default() };
    /// let stream = host.connect(now, "10.0.0.2:80".parse().unwrap(), config).unwrap();
    /// while host.poll_transmit(now).is_some() {}
    /// let events = host.connection_mut(stream).unwrap().events();
    /// assert!(events.count() > 0, "the SYN");
    /// ```
    #[inline]
    pub fn events(&mut self) -> impl Iterator<Item = Stamped> + '_ {
        self.outbox.drain()
    }

    /// Time at which to call [`Connection::handle_timeout`]; `None` if nothing is due.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.next_timer();
        (due != Instant::FAR_FUTURE).then_some(due)
    }

    /// As [`Connection::poll_timeout`]; [`Instant::FAR_FUTURE`] if nothing is due.
    #[inline]
    pub(crate) fn next_timer(&self) -> Instant {
        self.timers
            .retransmit_at
            .min(self.timers.early_at)
            .min(self.timers.persist_at)
            .min(self.pacing.pacer.deadline())
            .min(self.ack.deadline())
            .min(self.timers.time_wait_until)
            .min(self.ecn.hold_until)
            .min(self.liveness.deadline())
    }

    /// Segments sent and not cumulatively acknowledged.
    #[doc(hidden)]
    pub fn segments_in_flight(&self) -> u64 {
        self.snd.flight_size().div_ceil(u64::from(self.smss.max(1)))
    }

    /// Notes that the first link accepts no more: the driver has stopped polling for segments.
    /// Holds until [`Connection::poll_transmit`] finds another limit.
    #[doc(hidden)]
    pub fn note_path_limit(&mut self, now: Instant) {
        self.set_limit(now, Limit::Path);
    }

    /// Sets the limit to report when no written data is left to send. [`Limit::Application`] (the
    /// default): the application has no more; [`Limit::HostCpu`]: it waits for the host's CPU.
    #[inline]
    #[doc(hidden)]
    pub fn set_idle_limit(&mut self, limit: Limit) {
        self.limiting.idle_limit = limit;
    }

    #[inline]
    fn set_limit(&mut self, now: Instant, limit: Limit) {
        if self.limits.set(now, limit) {
            self.outbox
                .put(EventMask::CHANGES, now, Event::LimitChanged { limit });
        }
    }

    fn set_state(&mut self, now: Instant, to: State) {
        let from = self.state;
        if from == to {
            return;
        }
        debug_assert!(
            invariants::may_follow(from, to),
            "{from:?} to {to:?} is not in RFC 9293 figure 5"
        );
        self.state = to;
        if to == State::Established && self.established_at.is_none() {
            self.established_at = Some(now);
            // What limits the sender is counted from here.
            self.limits = LimitClock::new(now, Limit::Application);
        }
        if from == State::SynReceived && self.fast_open.is_some() {
            self.release_fast_open_slot();
        }
        if matches!(to, State::Closed | State::TimeWait) {
            self.stop_all_timers();
        }
        self.watch_silence(now);
        self.outbox
            .put(EventMask::CHANGES, now, Event::StateChanged { from, to });
    }

    fn stop_all_timers(&mut self) {
        self.timers.retransmit_at = Instant::FAR_FUTURE;
        self.timers.early_at = Instant::FAR_FUTURE;
        self.tlp.cancel();
        self.timers.persist_at = Instant::FAR_FUTURE;
        self.pacing.pacer.disarm();
        self.timers.probe_due = false;
        self.timers.time_wait_until = Instant::FAR_FUTURE;
        self.ecn.hold_until = Instant::FAR_FUTURE;
    }

    /// Ends the connection with a failure.
    fn fail(&mut self, now: Instant, failure: Failure) {
        self.failure = Some(failure);
        self.set_state(now, State::Closed);
        self.set_limit(now, Limit::Application);
        self.handshake.syn_due = false;
        self.ack.on_ack_sent();
    }

    /// Whether both sides have seen each other's SYN.
    fn is_synchronized(&self) -> bool {
        !matches!(
            self.state,
            State::Closed | State::Listen | State::SynSent | State::SynReceived
        )
    }
}
