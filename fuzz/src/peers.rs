//! Hostile peers that lie, flood, starve and stall, each against one engine in virtual time.
//!
//! The cost to the engine is measured: segments sent per segment received, memory, CPU time, and
//! the effect on the congestion window.
//!
//! Sources: Savage et al., *TCP Congestion Control with a Misbehaving Receiver*, CCR 1999 (ACK
//! division, optimistic acknowledgments); CVE 2019-11477 to 11479 (SACK and tiny segments); RFC
//! 5961 (floods of resets); RFC 6429 (zero windows indefinitely); RFC 7323 section 7
//! (timestamps).

use std::sync::Arc;
use std::time::Instant as Clock;

use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::events::State;
use gigatcp_tcp::{Connection, ConnectionConfig, Received, TransportConfig};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{
    Flags, IpVersion, Options, Phantom, SackBlock, SackBlocks, Segment, SeqNumber, Timestamps,
    WireWindow,
};

use crate::memory::Mark;
use crate::octets::Random;

/// Initial sequence number of the engine.
const ISS: u32 = 1_000_000;

/// Initial sequence number of the peer.
const PEER_ISS: u32 = 2_000_000;

/// MSS that both sides announce, unless the attack is about it.
const MSS: u16 = 1460;

/// RTT between the two.
const RTT: Duration = Duration::from_millis(20);

/// Window scale of the peer.
const SCALE: u8 = 7;

/// Size of each of the engine's buffers, in octets.
pub const BUFFER: u64 = 4 << 20;

/// Attack of a hostile peer.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Name of the attack.
    pub name: &'static str,
    /// Description of the peer's behavior.
    pub what: &'static str,
    act: fn(&mut Scene),
}

/// Cost of an attack.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Segments that the engine received.
    pub arrived: u64,
    /// Wire segments that the engine sent.
    pub sent: u64,
    /// Maximum octets allocated at one time, if [`crate::memory::Counting`] counts.
    pub memory: u64,
    /// Number of allocations, if counted. A measure of the engine's work that is the same on
    /// every machine.
    pub allocations: u64,
    /// Total octets allocated, whether freed or not.
    pub allocated: u64,
    /// Time per received segment, in nanoseconds.
    pub per_segment_ns: u64,
    /// Congestion window at the end, in segments.
    pub cwnd: u64,
    /// State of the connection at the end.
    pub state: State,
    /// Retransmission timeout at the end.
    pub rto: Duration,
}

/// All attacks; the first is an honest peer, for comparison.
pub const ALL: [Attack; 14] = [
    Attack {
        name: "honest",
        what: "acknowledges every second segment, for comparison",
        act: |scene| scene.rounds(12, Scene::acknowledge_honestly),
    },
    Attack {
        name: "ack-division",
        what: "acknowledges each segment in a hundred pieces",
        act: |scene| scene.rounds(12, Scene::divide_acknowledgments),
    },
    Attack {
        name: "optimistic",
        what: "acknowledges everything the moment it is sent, and beyond",
        act: |scene| scene.rounds(12, Scene::acknowledge_early),
    },
    Attack {
        name: "dupack-spoofing",
        what: "sends a hundred duplicate acknowledgments for each segment",
        act: |scene| scene.rounds(40, Scene::duplicate),
    },
    Attack {
        name: "sack-lies",
        what: "reports random blocks, inside and outside what was sent",
        act: |scene| scene.rounds(400, Scene::lie_about_blocks),
    },
    Attack {
        name: "sack-holes",
        what: "reports every second octet, to make as many ranges as it can",
        act: |scene| scene.rounds(2, Scene::report_every_second_octet),
    },
    Attack {
        name: "reneging",
        what: "reports everything and takes it back by not acknowledging it",
        act: |scene| scene.rounds(200, Scene::renege),
    },
    Attack {
        name: "tiny-mss",
        what: "offers an MSS of one octet and a large window",
        act: |scene| scene.rounds(12, Scene::acknowledge_honestly),
    },
    Attack {
        name: "zero-window",
        what: "closes its window for a day and answers every probe",
        act: Scene::starve,
    },
    Attack {
        name: "silly-window",
        what: "offers one octet at a time",
        act: |scene| scene.rounds(2000, Scene::offer_one_octet),
    },
    Attack {
        name: "reset-flood",
        what: "sends 100,000 resets into the window within a second",
        act: |scene| scene.flood(Flags::RST),
    },
    Attack {
        name: "syn-flood",
        what: "sends 100,000 SYNs into the connection within a second",
        act: |scene| scene.flood(Flags::SYN),
    },
    Attack {
        name: "timestamp-games",
        what: "echoes stamps of the past, of the future and of nothing",
        act: |scene| scene.rounds(400, Scene::echo_nonsense),
    },
    Attack {
        name: "scattered-data",
        what: "sends every second octet of the window, for the engine to keep",
        act: |scene| scene.rounds(1, Scene::scatter),
    },
];

/// Runs one attack over `ip`; returns its cost.
pub fn run(attack: &Attack, ip: IpVersion) -> Cost {
    measure(ip, attack.name == "tiny-mss", attack.act)
}

/// Cost of an honest peer over `rounds` round trips.
pub fn serve(rounds: u32, ip: IpVersion) -> Cost {
    measure(ip, false, |scene| {
        scene.rounds(rounds, Scene::acknowledge_honestly);
    })
}

fn measure(ip: IpVersion, tiny: bool, act: impl FnOnce(&mut Scene)) -> Cost {
    let mark = Mark::new();
    let mut scene = Scene::new(ip, tiny);
    let clock = Clock::now();
    act(&mut scene);
    let spent = clock.elapsed();
    let info = scene.connection.info();
    Cost {
        arrived: scene.arrived,
        sent: scene.sent,
        memory: mark.peak(),
        allocations: mark.allocations(),
        allocated: mark.allocated(),
        per_segment_ns: spent.as_nanos() as u64 / scene.arrived.max(1),
        cwnd: info.cwnd.as_u64() / u64::from(info.smss.max(1)),
        state: info.state,
        rto: info.rto,
    }
}

/// Engine with unlimited data to send, and its peer.
struct Scene {
    now: Instant,
    connection: Connection<Phantom>,
    written: u64,
    arrived: u64,
    sent: u64,
    /// Segments of the current round.
    flight: Vec<(u64, u64)>,
    last_stamp: u32,
    random: Random,
}

impl Scene {
    fn new(ip: IpVersion, tiny: bool) -> Self {
        let now = Instant::ZERO + Duration::from_secs(1);
        let transport = TransportConfig {
            mtu: u32::from(MSS) + ip.header_len() + 20,
            congestion: Arc::new(congestion::find("reno").expect("Reno is registered")),
            slow_start: SlowStart::Standard,
            send_buffer: Some(Bytes::new(BUFFER)),
            receive_buffer: Some(Bytes::new(BUFFER)),
            ..TransportConfig::default()
        };
        let config = ConnectionConfig {
            transport: transport.into(),
            ip,
            local_port: 5001,
            remote_port: 5001,
            iss: SeqNumber::new(ISS),
            timestamp_offset: 0,
        };
        let mut scene = Self {
            now,
            connection: Connection::connect(now, &config),
            written: 0,
            arrived: 0,
            sent: 0,
            flight: Vec::new(),
            last_stamp: 0,
            random: Random(7),
        };
        scene.drain();
        scene.now += RTT;
        scene.arrive(Segment {
            seq: SeqNumber::new(PEER_ISS),
            ack: SeqNumber::new(ISS) + 1,
            flags: Flags::SYN | Flags::ACK,
            wnd: WireWindow(65_535),
            options: Options {
                mss: Some(if tiny { 1 } else { MSS }),
                window_scale: Some(SCALE),
                sack_permitted: true,
                timestamps: scene.stamps(),
                ..Options::default()
            },
            ..Segment::default()
        });
        scene
    }

    fn stamps(&self) -> Option<Timestamps> {
        let val = (self.now.as_nanos() / 1_000_000) as u32;
        let ecr = self.last_stamp;
        Some(Timestamps { val, ecr })
    }

    /// Runs round trips in which the peer receives what was sent, then acts.
    fn rounds(&mut self, count: u32, act: fn(&mut Self)) {
        for _ in 0..count {
            self.write();
            self.now += RTT;
            self.connection.handle_timeout(self.now);
            self.drain();
            act(self);
            self.drain();
        }
    }

    fn write(&mut self) {
        let offset = self.written;
        let len = 1 << 30;
        let taken = self.connection.write(Phantom { offset, len });
        self.written += taken.unwrap_or(0) as u64;
    }

    fn arrive(&mut self, segment: Segment<Phantom>) {
        self.arrived += 1;
        let at = self.now;
        self.connection.handle_segment(at, Received { at, segment });
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(segment) = self.connection.poll_transmit(self.now) {
            self.sent += segment.wire_segments() as u64;
            if let Some(stamps) = segment.options.timestamps {
                self.last_stamp = stamps.val;
            }
            let start = u64::from(segment.seq.distance_from(SeqNumber::new(ISS)) as u32);
            let len = u64::from(segment.payload.len);
            let step = u64::from(segment.segment_size).max(1).min(len.max(1));
            let mut at = start;
            while at < start + len {
                let end = (at + step).min(start + len);
                self.flight.push((at, end));
                at = end;
            }
        }
    }

    /// An acknowledgment up to offset `ack` with these SACK blocks.
    fn ack(&self, ack: u64, blocks: &[(u64, u64)]) -> Segment<Phantom> {
        let seq = |offset: u64| SeqNumber::new(ISS) + offset as u32;
        let mut sack = SackBlocks::default();
        for &(left, right) in blocks {
            sack.try_push(SackBlock {
                left: seq(left),
                right: seq(right),
            });
        }
        Segment {
            seq: SeqNumber::new(PEER_ISS) + 1,
            ack: seq(ack),
            flags: Flags::ACK,
            wnd: WireWindow(65_535),
            options: Options {
                timestamps: self.stamps(),
                sack,
                ..Options::default()
            },
            ..Segment::default()
        }
    }

    fn acknowledge_honestly(&mut self) {
        let flight = std::mem::take(&mut self.flight);
        for pair in flight.chunks(2) {
            let end = pair.last().map_or(0, |(_, end)| *end);
            self.arrive(self.ack(end, &[]));
        }
    }

    fn divide_acknowledgments(&mut self) {
        for (start, end) in std::mem::take(&mut self.flight) {
            for piece in 1..=100 {
                let part = (end - start) * piece / 100;
                self.arrive(self.ack(start + part, &[]));
            }
        }
    }

    /// Acknowledges what was sent, then what that released, within one round trip.
    fn acknowledge_early(&mut self) {
        for _ in 0..4 {
            let flight = std::mem::take(&mut self.flight);
            for (_, end) in flight.into_iter().take(2000) {
                self.arrive(self.ack(end, &[]));
                self.arrive(self.ack(end + 1_000_000, &[]));
            }
        }
    }

    fn duplicate(&mut self) {
        let una = self.connection.info().snd_una;
        let flight = std::mem::take(&mut self.flight);
        for _ in 0..flight.len().min(50) * 100 {
            self.arrive(self.ack(una, &[]));
        }
        if let Some((_, end)) = flight.last().copied() {
            self.arrive(self.ack(end, &[]));
        }
    }

    fn lie_about_blocks(&mut self) {
        let info = self.connection.info();
        for _ in 0..20 {
            let mut blocks = [(0, 0); 3];
            for block in &mut blocks {
                let left = info.snd_una + self.random.draw() % 200_000;
                *block = (left, left + self.random.draw() % 5000);
            }
            self.arrive(self.ack(info.snd_una, &blocks));
        }
        self.flight.clear();
        self.arrive(self.ack(info.snd_nxt, &[]));
    }

    fn report_every_second_octet(&mut self) {
        let info = self.connection.info();
        let mut at = info.snd_una + 1;
        while at + 6 < info.snd_nxt {
            let blocks = [(at, at + 1), (at + 2, at + 3), (at + 4, at + 5)];
            self.arrive(self.ack(info.snd_una, &blocks));
            at += 6;
        }
    }

    fn renege(&mut self) {
        let info = self.connection.info();
        if info.flight_size.as_u64() > 1 {
            let all = (info.snd_una + 1, info.snd_nxt);
            self.arrive(self.ack(info.snd_una, &[all]));
        }
        self.flight.clear();
        self.now += Duration::from_secs(1);
    }

    /// Answers the window probes of a day with a closed window.
    fn starve(&mut self) {
        let end = self.now + Duration::from_secs(86_400);
        self.write();
        self.drain();
        while self.now < end {
            let una = self.connection.info().snd_una;
            let closed = Segment {
                wnd: WireWindow(0),
                ..self.ack(una, &[])
            };
            self.arrive(closed);
            self.flight.clear();
            let due = self.connection.poll_timeout();
            self.now = self.now.max(due.unwrap_or(end)).min(end);
            self.connection.handle_timeout(self.now);
            self.drain();
        }
    }

    fn offer_one_octet(&mut self) {
        let info = self.connection.info();
        let crumb = Segment {
            wnd: WireWindow(1),
            ..self.ack(info.snd_nxt, &[])
        };
        self.flight.clear();
        self.arrive(crumb);
    }

    fn flood(&mut self, flags: Flags) {
        for number in 1..=100_000 {
            self.now += Duration::from_micros(10);
            self.arrive(Segment {
                seq: SeqNumber::new(PEER_ISS) + 1 + number,
                flags,
                ..Segment::default()
            });
        }
    }

    fn echo_nonsense(&mut self) {
        let now = (self.now.as_nanos() / 1_000_000) as u32;
        for (_, end) in std::mem::take(&mut self.flight).into_iter().step_by(2) {
            let draw = self.random.draw();
            let ecr = match draw % 4 {
                0 => 0,
                1 => now.wrapping_add(draw as u32 >> 8),
                2 => now.wrapping_sub(draw as u32 >> 8),
                _ => draw as u32,
            };
            let mut segment = self.ack(end, &[]);
            segment.options.timestamps = Some(Timestamps { val: now, ecr });
            self.arrive(segment);
        }
    }

    fn scatter(&mut self) {
        let info = self.connection.info();
        let most = info.rcv_wnd.as_u64().min(200_000);
        for at in (2..most).step_by(2) {
            let seq = SeqNumber::new(PEER_ISS) + (info.rcv_nxt + at) as u32;
            self.arrive(Segment {
                seq,
                payload: Phantom {
                    offset: info.rcv_nxt + at,
                    len: 1,
                },
                ..self.ack(info.snd_una, &[])
            });
        }
    }
}
