//! Arbitrary segments, calls and timers in every state: nothing panics, and
//! what must always hold, holds.

use std::sync::Arc;

use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::events::{EventMask, State};
use gigatcp_tcp::profile::{PrrRule, WindowPolicy};
use gigatcp_tcp::{Connection, ConnectionConfig, Profile, Received, TransportConfig};
use gigatcp_units::{Bytes as Octets, Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{
    AccEcn, AccEcnOrder, Ecn, Flags, IcmpError, IcmpKind, Options, SackBlock, SackBlocks, Segment,
    SeqNumber, Timestamps, WireWindow,
};
use proptest::prelude::*;

use crate::notation::octets;
use crate::script::{ISS, PEER_ISS};

/// A place in sequence space: relative to what the engine expects, or
/// anywhere.
#[derive(Clone, Copy, Debug)]
enum Place {
    Near(i32),
    Far(u32),
}

impl Place {
    fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            8 => (-3..4_i32).prop_map(Place::Near),
            6 => (-5..6_i32).prop_map(|n| Place::Near(n * 1000)),
            3 => (-70_000..70_000_i32).prop_map(Place::Near),
            1 => any::<u32>().prop_map(Place::Far),
        ]
    }

    fn resolve(self, base: SeqNumber) -> SeqNumber {
        match self {
            Place::Near(distance) => base + distance as u32,
            Place::Far(seq) => SeqNumber::new(seq),
        }
    }
}

#[derive(Clone, Debug)]
struct Arrival {
    flags: u16,
    seq: Place,
    ack: Place,
    from_nxt: bool,
    wnd: u16,
    len: usize,
    segment_size: u16,
    blocks: Vec<(Place, Place)>,
    stamps: Option<(Place, Place)>,
    mss: Option<u16>,
    scale: Option<u8>,
    /// ECN field of IP, ACE field of TCP.
    marks: (u8, u8),
    accecn: Option<Vec<u32>>,
}

fn flags() -> impl Strategy<Value = u16> {
    let ack = Flags::ACK.bits();
    prop_oneof![
        10 => Just(ack),
        4 => Just(ack | Flags::PSH.bits()),
        2 => Just(ack | Flags::FIN.bits()),
        2 => Just(ack | Flags::SYN.bits()),
        1 => Just(Flags::SYN.bits()),
        1 => Just(Flags::RST.bits()),
        1 => 0..0x200_u16,
    ]
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let numbers = (flags(), Place::any(), Place::any(), any::<bool>());
    let wnd = prop_oneof![Just(0), Just(65_535), 0..3000_u16, any::<u16>()];
    let len = prop_oneof![4 => Just(0), 1 => Just(1), 3 => Just(1000), 1 => 0..5000_usize];
    let sizes = (wnd, len, prop_oneof![Just(0), Just(1000), 0..2000_u16]);
    let options = (
        prop::collection::vec((Place::any(), Place::any()), 0..4),
        prop::option::of((Place::any(), Place::any())),
        prop::option::weighted(0.2, any::<u16>()),
        prop::option::weighted(0.2, any::<u8>()),
        (0..4_u8, prop_oneof![Just(0), Just(5), 0..8_u8]),
        prop::option::weighted(0.2, prop::collection::vec(any::<u32>(), 0..=3)),
    );
    (numbers, sizes, options).prop_map(|(numbers, sizes, options)| Arrival {
        flags: numbers.0,
        seq: numbers.1,
        ack: numbers.2,
        from_nxt: numbers.3,
        wnd: sizes.0,
        len: sizes.1,
        segment_size: sizes.2,
        blocks: options.0,
        stamps: options.1,
        mss: options.2,
        scale: options.3,
        marks: options.4,
        accecn: options.5,
    })
}

#[derive(Clone, Debug)]
enum Step {
    Arrive(Box<Arrival>),
    /// An acknowledgment of everything, so that sending goes on.
    AcknowledgeAll,
    /// Duplicates, with a block of so many octets so far above SND.UNA.
    Duplicates(u8, u32, u32),
    /// The next data in order.
    NextData(usize),
    Write(usize),
    Read(usize),
    /// An error about octets so far above SND.UNA: type, code, MTU.
    Icmp(u32, u8, u8, u16),
    Close,
    Abort,
    Timer,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => arrival().prop_map(|a| Step::Arrive(Box::new(a))),
        4 => Just(Step::AcknowledgeAll),
        4 => (1..6_u8, 1..12_u32, 1..9_u32)
            .prop_map(|(n, at, len)| Step::Duplicates(n, at * 1000, len * 700)),
        3 => (1..3000_usize).prop_map(Step::NextData),
        4 => (1..20_000_usize).prop_map(Step::Write),
        4 => (1..20_000_usize).prop_map(Step::Read),
        3 => (0..3000_u32, prop_oneof![Just(3), Just(4), Just(11), Just(12)], 0..14_u8, 0..1500_u16)
            .prop_map(|(at, type_, code, mtu)| Step::Icmp(at, type_, code, mtu)),
        6 => Just(Step::Timer),
        2 => (1..500_u64).prop_map(Step::Wait),
        1 => prop_oneof![9 => Just(Step::Close), 1 => Just(Step::Abort)],
    ]
}

fn config() -> impl Strategy<Value = ConnectionConfig> {
    let switches = prop::array::uniform20(any::<bool>());
    let sizes = (
        prop_oneof![3 => Just(1000), 1 => 0..200_u16, 1 => any::<u16>()],
        prop_oneof![0..3000_u64, 0..100_000_u64, Just(5 << 20)],
        prop_oneof![1 => 1..3000_u64, 3 => Just(50_000_u64)],
    );
    let control = 0..congestion::REGISTRY.len();
    (switches, sizes, control).prop_map(|(on, (mss, receive, send), control)| ConnectionConfig {
        transport: TransportConfig {
            profile: Profile::MODERN.with(|profile| {
                profile.recovery.sack = on[0];
                profile.recovery.dsack = on[1];
                profile.options.timestamps = on[2];
                profile.options.window_scaling = on[3];
                profile.recovery.fast_retransmit = on[4];
                profile.recovery.newreno = on[5];
                profile.recovery.limited_transmit = on[6];
                profile.recovery.rescue_retransmission = on[7];
                profile.acknowledgments.delayed_ack = on[8];
                profile.acknowledgments.quick_ack = on[8];
                profile.segments.nagle = on[9];
                profile.segments.silly_window_avoidance = on[10];
                profile.segments.header_prediction = on[11];
                profile.segments.segmentation_offload = on[12];
                profile.buffers.window_policy = if on[13] {
                    WindowPolicy::Grows
                } else {
                    WindowPolicy::FreeSpace
                };
                profile.buffers.window_reserve_shift = u32::from(on[13]) * 2;
                profile.acknowledgments.ack_waits_for_reader = on[13];
                profile.path_mtu.plpmtud = on[4] || on[5];
                profile.path_mtu.plpmtud_from_base = on[5];
                profile.path_mtu.pmtu_base = 200;
                profile.segments.urgent_inline = on[2];
                profile.defense.challenge_ack = on[6];
                profile.defense.challenge_syn = on[6];
                profile.defense.challenge_ack_limit = u32::from(on[7]);
                profile.recovery.rack = on[14];
                profile.recovery.tlp = on[15];
                profile.recovery.prr = on[16].then_some(PrrRule::SafeAck);
                profile.recovery.frto = on[17];
                profile.recovery.eifel = on[18];
                profile.timer.partial_ack_restarts_timer = on[19];
            }),
            mtu: u32::from(mss) + 40,
            congestion: Arc::new(&congestion::REGISTRY[control]),
            initial_ssthresh: None,
            slow_start: SlowStart::Standard,
            send_buffer: Some(Octets::new(send)),
            receive_buffer: Some(Octets::new(receive)),
            events: EventMask::ALL,
        }
        .into(),
        local_port: 1,
        remote_port: 2,
        iss: ISS,
        ip: gigatcp_wire::IpVersion::V4,
        timestamp_offset: u32::MAX - 1000,
    })
}

struct Subject {
    tcp: Connection<Bytes>,
    now: Instant,
    written: u64,
    /// The right edge of our window as the wire said it last.
    edge: u64,
    receive_buffer: u64,
}

impl Subject {
    fn run(&mut self, step: &Step) {
        match step {
            Step::Arrive(arrival) => self.arrive(self.segment(arrival)),
            Step::AcknowledgeAll => {
                let segment = self.ordinary(Bytes::new());
                self.arrive(segment);
            }
            Step::Duplicates(n, at, len) => {
                for n in 0..u32::from(*n) {
                    let una = ISS + self.tcp.info().snd_una as u32;
                    let mut segment = self.ordinary(Bytes::new());
                    segment.ack = una;
                    segment.options.sack.try_push(SackBlock {
                        left: una + *at,
                        right: una + *at + *len * (n + 1),
                    });
                    self.arrive(segment);
                    self.drain();
                }
            }
            Step::NextData(len) => {
                let at = self.tcp.info().rcv_nxt;
                let segment = self.ordinary(octets(at, *len));
                self.arrive(segment);
            }
            Step::Write(n) => {
                let room = self.tcp.send_space();
                let urgent = n % 3 == 0;
                let piece = octets(1 + self.written, *n);
                let accepted = if urgent {
                    self.tcp.write_urgent(piece)
                } else {
                    self.tcp.write(piece)
                };
                let accepted = accepted.unwrap_or(0) as u64;
                assert!(accepted <= room);
                self.written += accepted;
            }
            Step::Read(max) => drop(self.tcp.read(self.now, *max)),
            Step::Icmp(at, type_, code, mtu) => {
                let seq = ISS + (self.tcp.info().snd_una as u32 + at);
                if let Some(kind) = IcmpKind::from_v4(*type_, *code, *mtu) {
                    self.tcp.handle_icmp(self.now, IcmpError { kind, seq });
                }
            }
            Step::Close => self.tcp.shutdown(self.now),
            Step::Abort => self.tcp.abort(self.now),
            Step::Timer => self.fire(),
            Step::Wait(ms) => {
                let until = self.now + Duration::from_millis(*ms);
                while self.tcp.poll_timeout().is_some_and(|due| due <= until) {
                    self.fire();
                    self.drain();
                }
                self.now = until;
            }
        }
        self.drain();
        self.check();
    }

    fn fire(&mut self) {
        let Some(due) = self.tcp.poll_timeout() else {
            return;
        };
        self.now = self.now.max(due);
        self.tcp.handle_timeout(self.now);
        let next = self.tcp.poll_timeout();
        assert!(next.is_none_or(|due| due > self.now), "a timer of the past");
    }

    fn arrive(&mut self, segment: Segment<Bytes>) {
        let received = Received {
            at: self.now,
            segment,
        };
        self.tcp.handle_segment(self.now, received);
    }

    fn bases(&self) -> (SeqNumber, SeqNumber, SeqNumber) {
        let info = self.tcp.info();
        (
            PEER_ISS + info.rcv_nxt as u32,
            ISS + info.snd_una as u32,
            ISS + info.snd_nxt as u32,
        )
    }

    fn ordinary(&self, payload: Bytes) -> Segment<Bytes> {
        let (rcv_nxt, _, snd_nxt) = self.bases();
        let now = (self.now.as_nanos() / 1_000_000) as u32;
        Segment {
            seq: rcv_nxt,
            ack: snd_nxt,
            flags: Flags::ACK,
            wnd: WireWindow(30_000),
            options: Options {
                timestamps: Some(Timestamps { val: now, ecr: now }),
                ..Options::default()
            },
            payload,
            ..Segment::default()
        }
    }

    fn segment(&self, arrival: &Arrival) -> Segment<Bytes> {
        let (rcv_nxt, una, nxt) = self.bases();
        let now = SeqNumber::new((self.now.as_nanos() / 1_000_000) as u32);
        let mut sack = SackBlocks::default();
        for (left, right) in &arrival.blocks {
            sack.try_push(SackBlock {
                left: left.resolve(una),
                right: right.resolve(nxt),
            });
        }
        let seq = arrival.seq.resolve(rcv_nxt);
        Segment {
            seq,
            ack: arrival
                .ack
                .resolve(if arrival.from_nxt { nxt } else { una }),
            flags: Flags::from_bits(arrival.flags).without(Flags::ACE)
                | Flags::from_ace(arrival.marks.1),
            ecn: Ecn::from_bits(arrival.marks.0),
            wnd: WireWindow(arrival.wnd),
            // As good a number as any.
            urgent: arrival.wnd,
            segment_size: arrival.segment_size,
            options: Options {
                mss: arrival.mss,
                window_scale: arrival.scale,
                sack_permitted: arrival.scale.is_some(),
                timestamps: arrival.stamps.map(|(val, ecr)| Timestamps {
                    val: val.resolve(now).as_u32(),
                    ecr: ecr.resolve(now).as_u32(),
                }),
                accecn: arrival
                    .accecn
                    .as_ref()
                    .map(|fields| AccEcn::new(AccEcnOrder::Ect0First, fields)),
                sack,
                ..Options::default()
            },
            payload: octets(seq.distance_from(PEER_ISS) as u64, arrival.len),
            ..Segment::default()
        }
    }

    fn drain(&mut self) {
        let mut sent = 0;
        while let Some(segment) = self.tcp.poll_transmit(self.now) {
            sent += 1;
            assert!(sent <= 200_000, "poll_transmit does not end");
            self.check_sent(&segment);
        }
        self.tcp.events().for_each(drop);
    }

    fn check_sent(&mut self, segment: &Segment<Bytes>) {
        let info = self.tcp.info();
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let at = segment.seq.distance_from(ISS);
        assert!(at >= 0 && at as u64 + u64::from(segment.seq_len()) <= 2 + self.written);
        if !segment.payload.is_empty() {
            // Text on a SYN starts behind it.
            let behind = u64::from(segment.flags.contains(Flags::SYN));
            assert_eq!(
                segment.payload,
                octets(at as u64 + behind, segment.payload.len())
            );
        }
        if segment.flags.contains(Flags::SYN) {
            // Its window is not scaled, so it may have to say less.
            return;
        }
        let edge = info.rcv_nxt + (u64::from(segment.wnd.0) << info.window_scale.1);
        let unit = 1 << info.window_scale.1;
        assert!(
            edge + unit > self.edge,
            "the window shrinks from {} to {edge}",
            self.edge
        );
        self.edge = self.edge.max(edge);
    }

    fn check(&self) {
        let info = self.tcp.info();
        assert!(info.snd_una <= info.snd_nxt);
        assert!(info.pipe <= info.flight_size);
        assert!(info.cwnd.as_u64() >= u64::from(info.smss), "{info:?}");
        assert!(info.smss >= 1);
        assert!(info.snd_nxt <= 2 + self.written);
        let unit = 1 << info.window_scale.1;
        let most = self.receive_buffer + unit;
        assert!(
            self.tcp.readable() + info.rcv_wnd.as_u64() <= most,
            "{info:?}"
        );
        if let Some(since) = self.tcp.established_at() {
            let all = self.tcp.limits(self.now);
            let sum = all.into_iter().fold(Duration::ZERO, |sum, part| sum + part);
            assert_eq!(sum, self.now.saturating_since(since));
        }
        self.check_timers();
    }

    /// As long as anything is on its way or waits, a timer runs.
    fn check_timers(&self) {
        let info = self.tcp.info();
        let timer = self.tcp.poll_timeout().is_some();
        match info.state {
            State::Closed => assert!(!timer, "a timer on a closed connection"),
            State::FinWait2 | State::Listen => {}
            State::TimeWait => assert!(timer),
            _ => {
                let waiting = info.snd_una < info.snd_nxt || self.tcp.unsent() > 0;
                assert!(timer || !waiting, "stuck: {info:?}");
            }
        }
    }
}

/// With `fast` an open by Fast Open, from either side.
fn subject(config: &ConnectionConfig, syn: Option<&Arrival>, fast: bool) -> Subject {
    let now = Instant::from_nanos(5_000_000_000);
    let mut subject = Subject {
        tcp: Connection::connect(now, config),
        now,
        written: 0,
        edge: 0,
        receive_buffer: config
            .transport
            .profile
            .receive_buffer_for(config.transport.receive_buffer)
            .as_u64(),
    };
    if let Some(syn) = syn {
        let mut segment = subject.segment(syn);
        segment.flags |= Flags::SYN;
        segment.seq = PEER_ISS;
        let received = Received { at: now, segment };
        subject.tcp = if fast {
            Connection::accept_fast_open(now, config, &received, None, true)
        } else {
            Connection::accept(now, config, &received)
        }
        .expect("a SYN");
    } else if fast {
        subject.written = subject.tcp.write(octets(1, 700)).unwrap_or(0) as u64;
        let cookie = gigatcp_wire::FastOpenCookie::new(&[1; 8]).expect("a cookie");
        let mss = 536;
        subject
            .tcp
            .offer_fast_open(&gigatcp_tcp::fast_open::FastOpenOffer { cookie, mss });
    }
    subject.drain();
    subject
}

#[test]
fn an_error_about_what_ended_while_opening_means_nothing() {
    let mut config = crate::script::bare();
    config.transport_mut().profile.defense.challenge_ack = false;
    config.transport_mut().profile.defense.challenge_syn = false;
    config.transport_mut().send_buffer = Some(Octets::new(477));
    config.transport_mut().profile.opening.syn_text = true;
    config.transport_mut().profile.opening.fast_open_client = true;
    config.transport_mut().profile.path_mtu.pmtud = true;
    config.transport_mut().profile.defense.icmp_errors = true;
    config.transport_mut().mtu = 553;
    let mut subject = subject(&config, None, true);
    let arrival = |flags, seq| Arrival {
        flags,
        seq: Place::Near(seq),
        ack: Place::Near(0),
        from_nxt: false,
        wnd: 0,
        len: 0,
        segment_size: 0,
        blocks: Vec::new(),
        stamps: None,
        mss: None,
        scale: None,
        marks: (0, 0),
        accecn: None,
    };
    for (flags, seq) in [(2, -5000), (18, 0)] {
        subject.run(&Step::Arrive(Box::new(arrival(flags, seq))));
    }
    assert_eq!(subject.tcp.info().state, State::Closed);
    subject.run(&Step::Icmp(1, 3, 4, 68));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_a_peer_sends_breaks_the_engine(
        config in config(),
        syn in prop::option::of(arrival()),
        fast: bool,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut subject = subject(&config, syn.as_ref(), fast);
        subject.check();
        for step in &steps {
            subject.run(step);
        }
    }

    #[test]
    fn nothing_breaks_an_established_connection(
        config in config(),
        peer_options in arrival(),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut subject = subject(&config, None, false);
        let mut answer = subject.segment(&peer_options);
        answer.seq = PEER_ISS;
        answer.ack = ISS + 1;
        answer.flags = Flags::SYN | Flags::ACK;
        answer.options.sack_permitted = true;
        answer.payload = Bytes::new();
        subject.arrive(answer);
        subject.drain();
        prop_assert_eq!(subject.tcp.state(), State::Established);
        subject.check();
        for step in &steps {
            subject.run(step);
        }
    }
}
