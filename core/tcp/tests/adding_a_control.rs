//! The walkthrough of CONTRIBUTING.md, "Adding a congestion control", compiled
//! and run.
//!
//! The walkthrough's file is `core/tcp/src/congestion/scalable.rs`, letter for letter: the
//! first test compares it with CONTRIBUTING.md, so text and code cannot drift apart. The
//! module and the private ones that controls share are compiled here by path.

extern crate alloc;

use std::collections::VecDeque;
use std::sync::Arc;

use gigatcp_tcp::congestion::{
    Ack, Config, Congestion, CongestionKind, Controller, Counting, Entry, Family, SlowStart,
    WindowBounds,
};
use gigatcp_tcp::events::{self, CwndCause, Event, EventMask, Phase};
use gigatcp_tcp::listener::{self, ListenOutcome};
use gigatcp_tcp::{Connection, Profile, Received};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{Payload, Phantom, Segment, SeqNumber};

#[allow(dead_code, reason = "one control does not need all of it")]
#[path = "../src/congestion/gate.rs"]
mod gate;
#[allow(dead_code, reason = "one control does not need all of it")]
#[path = "../src/congestion/slow_start/mod.rs"]
mod slow_start;

#[path = "../src/congestion/scalable.rs"]
mod scalable;
#[allow(dead_code, reason = "one control does not need all of it")]
#[path = "../src/congestion/windowed.rs"]
mod windowed;

/// An entry as the walkthrough has it, handed to the engine without the registry.
static REGISTRY: [Entry; 1] = [Entry {
    name: "scalable",
    summary: "a hundredth of what is acknowledged, an eighth off by loss (Kelly 2003)",
    family: Family::WindowBased,
    reacts_to: "losses; marks as losses",
    deployed: "Linux, a choice since 2.6.13",
    draws: false,
    build: |config| Box::new(scalable::control(config)),
}];

const CONTRIBUTING: &str = include_str!("../../../CONTRIBUTING.md");
const THE_FILE: &str = include_str!("../src/congestion/scalable.rs");
const THE_REGISTRY: &str = include_str!("../src/congestion/mod.rs");

/// The lines strictly between the first line equal to `open` and the next one
/// equal to `close`.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let inside = text.lines().skip_while(|line| *line != open).skip(1);
    inside.take_while(|line| *line != close).collect()
}

/// The block of Rust code behind the mark of that name in CONTRIBUTING.md.
fn block(mark: &str) -> Vec<&'static str> {
    let mark = format!("<!-- tested: {mark} -->");
    let (_, text) = CONTRIBUTING.split_once(&mark).expect("the mark is there");
    between(text, "```rust", "```")
}

#[test]
fn the_walkthrough_says_exactly_what_is_tested_here() {
    assert_eq!(block("the file"), THE_FILE.lines().collect::<Vec<_>>());
    let shown: Vec<String> = block("the registry")
        .iter()
        .map(|line| format!("    {line}"))
        .collect();
    assert!(THE_REGISTRY.contains(&shown.join("\n")), "{shown:?}");
}

const SMSS: u64 = 1000;

/// A window of `segments`, beyond slow start from the first ACK on.
fn config(segments: u64) -> Config {
    Config {
        smss: SMSS as u32,
        initial_window: Bytes::new(segments * SMSS),
        initial_ssthresh: Some(2),
        slow_start: SlowStart::Standard,
        ..Config::default()
    }
}

/// A control and the round trips it has taken: in each one the window of its
/// beginning is sent and acknowledged, one ACK per segment, evenly spread.
struct Rounds {
    control: Box<dyn Controller>,
    elapsed: f64,
    /// Window of this round, and what of it is not acknowledged, in segments.
    window: f64,
    left: f64,
}

impl Rounds {
    fn new(config: &Config) -> Self {
        Self {
            control: (REGISTRY[0].build)(config),
            elapsed: 0.0,
            window: 0.0,
            left: 0.0,
        }
    }

    /// The window in segments.
    fn cwnd(&self) -> f64 {
        self.control.cwnd().as_u64() as f64 / SMSS as f64
    }

    fn acknowledge(&mut self, acked: u64, phase: Phase) {
        self.control.on_ack(&Ack {
            now: Instant::ZERO,
            acked: Bytes::new(acked),
            acked_transmissions: 1,
            phase,
            prior_in_flight: self.control.cwnd(),
            cwnd_limited: true,
            ..Ack::default()
        });
    }

    /// The next segment is acknowledged.
    fn segment(&mut self) {
        if self.left <= 0.0 {
            self.window = self.cwnd();
            self.left += self.window;
        }
        self.left -= 1.0;
        self.elapsed += 1.0 / self.window;
        self.acknowledge(SMSS, Phase::Open);
    }

    /// A loss with the whole window in flight, repaired in no time.
    fn lose(&mut self) {
        let flight_size = self.control.cwnd();
        self.control.on_congestion(&Congestion {
            now: Instant::ZERO,
            kind: CongestionKind::Loss,
            flight_size,
            pipe: flight_size,
        });
        self.control.on_recovery_end(Instant::ZERO);
        self.acknowledge(0, Phase::Open);
        self.left = 0.0;
    }
}

#[track_caller]
fn assert_near(got: f64, expected: f64, share: f64) {
    let off = (got / expected - 1.0).abs();
    assert!(off <= share, "{got} instead of {expected}");
}

#[test]
fn losses_at_a_fixed_window_are_13_42_round_trips_apart_whatever_the_window() {
    for window in [1_000, 10_000, 100_000] {
        let mut rounds = Rounds::new(&config(window));
        for _ in 0..3 {
            rounds.lose();
            assert_near(rounds.cwnd(), window as f64 * 7.0 / 8.0, 0.001);
            let began = rounds.elapsed;
            while rounds.cwnd() < window as f64 {
                rounds.segment();
            }
            assert_near(rounds.elapsed - began, 13.42, 0.002);
        }
    }
}

#[test]
fn the_mean_window_is_0_0745_over_p() {
    for segments_per_loss in [10_000, 100_000, 1_000_000] {
        // Far from where it will be: the sawtooth finds its own height.
        let mut rounds = Rounds::new(&config(segments_per_loss / 200));
        let mut began = 0.0;
        let (settle, measure) = (60, 10);
        for cycle in 0..settle + measure {
            if cycle == settle {
                began = rounds.elapsed;
            }
            for _ in 0..segments_per_loss {
                rounds.segment();
            }
            rounds.lose();
        }
        let sent = (measure * segments_per_loss) as f64;
        let mean_window = sent / (rounds.elapsed - began);
        assert_near(mean_window / segments_per_loss as f64, 0.0745, 0.003);
    }
}

/// Two engines and the wire between them, each way with a delay.
struct Pair {
    now: Instant,
    hosts: [Box<Connection<Phantom>>; 2],
    /// What is on the way to each host.
    wires: [VecDeque<(Instant, Segment<Phantom>)>; 2],
    data_sent: u32,
    lost: u32,
}

const DELAY: Duration = Duration::from_millis(10);

fn host(profile: Profile) -> gigatcp_tcp::ConnectionConfig {
    gigatcp_tcp::ConnectionConfig {
        transport: gigatcp_tcp::TransportConfig {
            profile,
            mtu: 1500,
            congestion: Arc::new(&REGISTRY[0]),
            initial_ssthresh: Some(200),
            slow_start: SlowStart::Standard,
            send_buffer: Some(Bytes::new(4_000_000)),
            receive_buffer: Some(Bytes::new(4_000_000)),
            events: EventMask::ALL,
        }
        .into(),
        local_port: 5001,
        remote_port: 5001,
        iss: SeqNumber::new(7),
        ip: gigatcp_wire::IpVersion::V4,
        timestamp_offset: 0,
    }
}

impl Pair {
    /// A connection whose SYN has just arrived; the data segment of number
    /// `lost` will not.
    fn opening(lost: u32) -> Self {
        let profile = Profile::MODERN.with(|profile| {
            profile.segments.segmentation_offload = false;
        });
        let now = Instant::ZERO;
        let mut client = Box::new(Connection::connect(now, &host(profile)));
        let segment = client.poll_transmit(now).expect("a SYN");
        let received = Received { at: now, segment };
        let ListenOutcome::Opened(server) =
            listener::handle_segment(now, &host(profile), &received)
        else {
            panic!("a SYN opens a connection");
        };
        let mut pair = Self {
            now,
            hosts: [client, server],
            wires: [VecDeque::new(), VecDeque::new()],
            data_sent: 0,
            lost,
        };
        pair.transmit(1);
        pair
    }

    /// Everything that may leave the host leaves.
    fn transmit(&mut self, from: usize) {
        while let Some(segment) = self.hosts[from].poll_transmit(self.now) {
            self.data_sent += u32::from(!segment.payload.is_empty());
            let is_lost = !segment.payload.is_empty() && self.data_sent == self.lost;
            if !is_lost {
                self.wires[1 - from].push_back((self.now + DELAY, segment));
            }
        }
    }

    /// The next thing happens, at one of the hosts or at both.
    fn step(&mut self) {
        let arrivals = self.wires.iter().filter_map(|wire| Some(wire.front()?.0));
        let timers = self.hosts.iter().filter_map(|host| host.poll_timeout());
        self.now = arrivals.chain(timers).min().expect("there are timers");
        for host in 0..2 {
            while self.wires[host]
                .front()
                .is_some_and(|(at, _)| *at <= self.now)
            {
                let (at, segment) = self.wires[host].pop_front().expect("it was seen");
                self.hosts[host].handle_segment(self.now, Received { at, segment });
                self.transmit(host);
            }
            self.hosts[host].handle_timeout(self.now);
            self.transmit(host);
        }
    }
}

#[test]
fn the_engine_runs_it_and_a_lost_segment_costs_an_eighth_of_the_window() {
    const OCTETS: u32 = 3_000_000;
    let mut pair = Pair::opening(900);
    let stream = Phantom {
        offset: 0,
        len: OCTETS,
    };
    assert_eq!(pair.hosts[0].write(stream), Ok(OCTETS as usize));
    let mut read = 0;
    while read < OCTETS {
        pair.step();
        while let Some(piece) = pair.hosts[1].read(pair.now, usize::MAX) {
            assert_eq!(piece.offset, u64::from(read));
            read += piece.len;
        }
        assert!(pair.now < Instant::from_nanos(10_000_000_000), "too slow");
    }
    let counters = pair.hosts[0].counters();
    assert_eq!((counters.retransmitted_segments, counters.timeouts), (1, 0));

    let mut cwnd = 0;
    let mut cuts = Vec::new();
    for stamped in pair.hosts[0].events() {
        if let Event::CwndMoved {
            cwnd: new, cause, ..
        } = stamped.event
        {
            if cause == CwndCause::EnterRecovery {
                cuts.push(new as f64 / cwnd as f64);
            }
            cwnd = new;
        }
    }
    assert_eq!(cuts.len(), 1, "{cuts:?}");
    assert_near(cuts[0], 7.0 / 8.0, 0.01);
}
