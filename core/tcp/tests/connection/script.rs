//! One engine, a peer made by hand, and virtual time without tolerance.
//!
//! The test says what arrives ([`Script::inject`]) and what must leave at that
//! very instant ([`Script::expect`]). Nothing may leave that is not expected,
//! neither at this instant nor between two instants.

use std::collections::VecDeque;
use std::sync::Arc;

use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::events::{EventMask, Limit, State};
use gigatcp_tcp::{Connection, ConnectionConfig, Profile, Received, TransportConfig};
use gigatcp_units::{Bytes as Octets, Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, Segment, SeqNumber};

use crate::notation;

/// The engine's initial sequence number: soon to wrap, on purpose.
pub const ISS: SeqNumber = SeqNumber::new(u32::MAX - 2_500);
/// The peer's.
pub const PEER_ISS: SeqNumber = SeqNumber::new(u32::MAX - 3_700);
/// Payload octets per segment in most scripts.
pub const MSS: u16 = 1000;

/// The bare protocol: RFC 9293 with Reno, everything optional switched off,
/// and one segment at a time. A script switches on what it is about.
pub fn bare() -> ConnectionConfig {
    ConnectionConfig {
        transport: TransportConfig {
            profile: Profile::MODERN.with(|profile| {
                profile.recovery.sack = false;
                profile.recovery.dsack = false;
                profile.options.timestamps = false;
                profile.options.window_scaling = false;
                profile.recovery.limited_transmit = false;
                profile.acknowledgments.quick_ack = false;
                profile.segments.nagle = false;
                profile.defense.challenge_ack_limit = 0;
                profile.path_mtu.plpmtud = false;
                profile.segments.segmentation_offload = false;
                profile.recovery.rack = false;
                profile.recovery.tlp = false;
                profile.recovery.prr = None;
                profile.recovery.frto = false;
                profile.recovery.eifel = false;
                profile.pacing.enabled = false;
                profile.options.paws_tolerance = Duration::ZERO;
            }),
            mtu: u32::from(MSS) + 40,
            congestion: Arc::new(congestion::find("reno").unwrap()),
            initial_ssthresh: None,
            slow_start: SlowStart::Standard,
            send_buffer: Some(Octets::new(1 << 24)),
            receive_buffer: Some(Octets::new(60_000)),
            events: EventMask::ALL,
        }
        .into(),
        local_port: 4000,
        remote_port: 80,
        iss: ISS,
        ip: gigatcp_wire::IpVersion::V4,
        timestamp_offset: 0,
    }
}

/// [`bare`] with changes to the profile.
pub fn with(change: impl FnOnce(&mut Profile)) -> ConnectionConfig {
    let mut config = bare();
    change(&mut config.transport_mut().profile);
    config
}

/// A script under way.
pub struct Script {
    /// The engine.
    pub tcp: Connection<Bytes>,
    /// Virtual time.
    pub now: Instant,
    /// Window field of injected segments that name none.
    pub wnd: u16,
    started: Instant,
    left: VecDeque<Segment<Bytes>>,
    written: u64,
    read: u64,
}

impl Script {
    /// A connection made elsewhere.
    pub fn new(tcp: Connection<Bytes>, now: Instant) -> Self {
        let mut script = Self {
            tcp,
            now,
            wnd: 65_535,
            started: now,
            left: VecDeque::new(),
            written: 0,
            read: 0,
        };
        script.collect();
        script
    }

    /// Active open.
    pub fn connect(config: &ConnectionConfig) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        Self::new(Connection::connect(now, config), now)
    }

    /// Passive open, by the SYN in `syn`.
    pub fn accept(config: &ConnectionConfig, syn: &str) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        let received = Received {
            at: now,
            segment: notation::read(syn, PEER_ISS, ISS, 65_535),
        };
        Self::new(
            Connection::accept(now, config, &received).expect("a SYN"),
            now,
        )
    }

    /// Established by active open; the peer's MSS is [`MSS`], and it offers
    /// every option the engine asks for, with a window scale of 10. No time
    /// passes.
    pub fn established(config: &ConnectionConfig) -> Self {
        let mut script = Self::connect(config);
        let syn = script.left.pop_front().expect("a SYN");
        let mut answer = notation::read("S. 0:0(0) ack 1 <mss 1000>", PEER_ISS, ISS, 65_535);
        answer.options.sack_permitted = syn.options.sack_permitted;
        answer.options.window_scale = syn.options.window_scale.map(|_| 10);
        answer.options.timestamps = syn
            .options
            .timestamps
            .map(|stamps| gigatcp_wire::Timestamps {
                val: 1,
                ecr: stamps.val,
            });
        script.inject_segment(answer);
        script.expect(". 1:1(0) ack 1");
        assert_eq!(script.state(), State::Established);
        script
    }

    /// A segment arrives now.
    pub fn inject(&mut self, text: &str) {
        let segment = notation::read(text, PEER_ISS, ISS, self.wnd);
        self.inject_segment(segment);
    }

    /// These segments wait together: all are handed in before the engine is
    /// asked what leaves (RFC 9293 MUST-59).
    pub fn inject_together<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) {
        self.expect_nothing();
        for text in texts {
            let segment = notation::read(text.as_ref(), PEER_ISS, ISS, self.wnd);
            let at = self.now;
            self.tcp.handle_segment(at, Received { at, segment });
        }
        self.collect();
    }

    /// A segment arrives now.
    pub fn inject_segment(&mut self, segment: Segment<Bytes>) {
        self.expect_nothing();
        let received = Received {
            at: self.now,
            segment,
        };
        self.tcp.handle_segment(self.now, received);
        self.collect();
    }

    /// The next segment that leaves at this instant is this one.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        let Some(segment) = self.left.pop_front() else {
            panic!("{:?}: nothing leaves, expected: {text}", self.elapsed());
        };
        let written = notation::write(&segment, ISS, PEER_ISS, text);
        assert_eq!(written, text, "at {:?}", self.elapsed());
        if !segment.payload.is_empty() {
            let behind = u32::from(segment.flags.contains(Flags::SYN));
            let from = (segment.seq + behind).distance_from(ISS) as u64;
            assert_eq!(
                segment.payload,
                notation::octets(from, segment.payload.len())
            );
        }
    }

    /// These segments, in this order, and nothing more.
    #[track_caller]
    pub fn expect_all<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) {
        for text in texts {
            self.expect(text.as_ref());
        }
        self.expect_nothing();
    }

    /// Nothing (more) leaves at this instant.
    #[track_caller]
    pub fn expect_nothing(&self) {
        let left: Vec<String> = self
            .left
            .iter()
            .map(|segment| notation::write(segment, ISS, PEER_ISS, "win TS"))
            .collect();
        assert!(
            left.is_empty(),
            "{:?}: unexpected: {left:?}",
            self.elapsed()
        );
    }

    /// How many segments leave at this instant; forgets them.
    pub fn leaving(&mut self) -> Vec<Segment<Bytes>> {
        self.left.drain(..).collect()
    }

    /// Time passes; whatever leaves before it is over is an error.
    #[track_caller]
    pub fn wait_ms(&mut self, ms: u64) {
        self.wait(Duration::from_millis(ms));
    }

    /// Time passes; whatever leaves before it is over is an error.
    #[track_caller]
    pub fn wait(&mut self, span: Duration) {
        self.expect_nothing();
        let until = self.now + span;
        while let Some(due) = self.tcp.poll_timeout().filter(|due| *due <= until) {
            assert!(due >= self.now, "a timer of the past");
            self.now = due;
            self.tcp.handle_timeout(due);
            self.collect();
            let next = self.tcp.poll_timeout();
            assert!(
                next.is_none_or(|next| next > due),
                "the timer is due again at once"
            );
            if due < until {
                self.expect_nothing();
            }
        }
        self.now = until;
    }

    /// Time since the script began.
    pub fn elapsed(&self) -> Duration {
        self.now - self.started
    }

    /// The application writes the next `n` octets.
    #[track_caller]
    pub fn write(&mut self, n: usize) {
        let octets = notation::octets(1 + self.written, n);
        assert_eq!(self.tcp.write(octets), Ok(n));
        self.written += n as u64;
        self.collect();
    }

    /// What is written from now on leaves in segments of its own.
    pub fn end_record(&mut self) {
        self.tcp.end_record();
    }

    /// The application closes.
    pub fn close(&mut self) {
        self.tcp.shutdown(self.now);
        self.collect();
    }

    /// The application aborts.
    pub fn abort(&mut self) {
        self.tcp.abort(self.now);
        self.collect();
    }

    /// The application reads up to `max` octets; gives how many there were.
    #[track_caller]
    pub fn read(&mut self, max: usize) -> usize {
        let mut got = 0;
        while got < max
            && let Some(piece) = self.tcp.read(self.now, max - got)
        {
            assert_eq!(piece, notation::octets(1 + self.read, piece.len()));
            got += piece.len();
            self.read += piece.len() as u64;
        }
        self.collect();
        got
    }

    /// Collects what leaves after the engine was used directly.
    pub fn poll(&mut self) {
        self.collect();
    }

    /// Time passes; what leaves meanwhile is kept.
    pub fn pass_ms(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        while let Some(due) = self.tcp.poll_timeout().filter(|due| *due <= until) {
            self.now = due.max(self.now);
            self.tcp.handle_timeout(self.now);
            self.collect();
        }
        self.now = until;
    }

    /// State of the engine.
    pub fn state(&self) -> State {
        self.tcp.state()
    }

    /// cwnd in segments of [`MSS`].
    pub fn cwnd(&self) -> f64 {
        self.tcp.info().cwnd.as_u64() as f64 / f64::from(MSS)
    }

    /// ssthresh in segments of [`MSS`].
    pub fn ssthresh(&self) -> f64 {
        self.tcp.info().ssthresh.as_u64() as f64 / f64::from(MSS)
    }

    /// What limits the sender now.
    pub fn limit(&self) -> Limit {
        self.tcp.limit()
    }

    /// Takes what leaves at this instant.
    pub fn collect(&mut self) {
        for _ in 0..100_000 {
            let Some(segment) = self.tcp.poll_transmit(self.now) else {
                return;
            };
            self.left.push_back(segment);
        }
        panic!("poll_transmit does not end");
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.expect_nothing();
        }
    }
}

/// The notation of new data (or a retransmission) of the segments `which`,
/// counted from 0, each of [`MSS`] octets, acknowledging octet `ack`.
pub fn segments(which: std::ops::Range<u64>, ack: u64) -> impl Iterator<Item = String> {
    which.map(move |n| {
        let start = 1 + n * u64::from(MSS);
        format!(". {start}:{}({MSS}) ack {ack}", start + u64::from(MSS))
    })
}
