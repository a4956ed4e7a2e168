//! A sender and a path reduced to rounds: in every round trip the whole window
//! is sent and acknowledged, evenly spread over the round, with a given number
//! of segments per ACK. Shows what a control does when nothing else acts.

use gigatcp_tcp::congestion::{
    Ack, Config, Congestion, CongestionKind, Controller, Counting, Lost, RateSample, Sent,
    SlowStart,
};
use gigatcp_tcp::events::Phase;
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{RequestScheme, RouterReply};
use std::collections::VecDeque;

/// Segment size of every run.
pub const SMSS: u64 = 1000;

/// The settings of Linux 2.6.20: two segments at first, counting by ACK.
pub fn linux_2_6_20(initial_ssthresh: Option<u32>) -> Config {
    Config {
        smss: SMSS as u32,
        initial_window: Bytes::new(2 * SMSS),
        initial_ssthresh,
        slow_start: SlowStart::Standard,
        counting: Counting::PerAck,
        ..Config::default()
    }
}

/// Today's settings: ten segments at first, counting octets.
pub fn modern(initial_ssthresh: Option<u32>) -> Config {
    Config {
        smss: SMSS as u32,
        initial_window: Bytes::new(10 * SMSS),
        initial_ssthresh,
        slow_start: SlowStart::Standard,
        counting: Counting::Bytes { limit: u32::MAX },
        ..Config::default()
    }
}

/// A control, and where its run has got to.
pub struct Rounds {
    pub control: Box<dyn Controller>,
    pub now: Instant,
    rtt: Duration,
    segments_per_ack: u64,
    segments_per_transmission: u64,
    /// Segments acknowledged so far.
    acked: u64,
    /// Segments sent in the round.
    flight: u64,
    /// The next ACK is the first of its round.
    pub round_begins: bool,
    /// Segments that the path holds; what is above them in a window waits in a queue.
    path: u64,
    /// Nanoseconds that the clock, which has whole ones, is behind.
    behind: f64,
}

impl Rounds {
    pub fn new(control: Box<dyn Controller>, rtt: Duration, segments_per_ack: u64) -> Self {
        Self {
            control,
            now: Instant::from_nanos(10_000_000_000),
            rtt,
            segments_per_ack,
            segments_per_transmission: 1,
            acked: 0,
            flight: 0,
            round_begins: false,
            path: u64::MAX,
            behind: 0.0,
        }
    }

    /// Over a path that holds `segments`: larger windows lengthen the RTT.
    pub fn with_path(mut self, segments: u64) -> Self {
        self.path = segments;
        self
    }

    /// RTT of the window at hand.
    fn rtt(&self) -> Duration {
        Duration::from_nanos((self.rtt.as_nanos() as f64 * self.stretch()) as u64)
    }

    fn stretch(&self) -> f64 {
        self.stretch_of(self.window())
    }

    fn stretch_of(&self, segments: u64) -> f64 {
        (segments as f64 / self.path as f64).max(1.0)
    }

    /// Sends super-segments of that many segments.
    pub fn with_offload(mut self, segments_per_transmission: u64) -> Self {
        self.segments_per_transmission = segments_per_transmission;
        self
    }

    /// The window in segments, with its fraction.
    pub fn cwnd(&self) -> f64 {
        self.control.cwnd().as_u64() as f64 / SMSS as f64
    }

    /// The window in whole segments.
    pub fn window(&self) -> u64 {
        (self.control.cwnd().as_u64() / SMSS).max(1)
    }

    fn ack(&mut self, segments: u64, phase: Phase) -> Ack {
        let transmissions = |segments| segments / self.segments_per_transmission;
        Ack {
            now: self.now,
            acked: Bytes::new(segments * SMSS),
            delivered: Bytes::new(segments * SMSS),
            total_delivered: Bytes::new((self.acked + segments) * SMSS),
            acked_transmissions: (transmissions(self.acked + segments) - transmissions(self.acked))
                as u32,
            phase,
            prior_in_flight: Bytes::new(self.window() * SMSS),
            cwnd_limited: true,
            rtt: Some(self.rtt()),
            srtt: Some(self.rtt()),
            min_rtt: Some(self.rtt),
            round_end: core::mem::take(&mut self.round_begins),
            in_flight: Bytes::new(self.flight.saturating_sub(segments) * SMSS),
            rate: (segments > 0).then(|| self.rate(segments)),
            ..Ack::default()
        }
    }

    /// What was delivered since the segments now acknowledged left, a round trip
    /// ago: as much as the round has.
    fn rate(&self, segments: u64) -> RateSample {
        let flight = self.flight.max(segments);
        let delivered = self.acked + segments;
        let rtt = Duration::from_secs_f64(self.rtt.as_secs_f64() * self.stretch_of(flight));
        RateSample {
            delivered: Bytes::new(flight.min(delivered) * SMSS),
            lost: Bytes::ZERO,
            prior_delivered: Bytes::new(delivered.saturating_sub(flight) * SMSS),
            tx_in_flight: Bytes::new(flight * SMSS),
            send_interval: self.rtt,
            ack_interval: rtt,
            app_limited: false,
            is_retransmission: false,
            ack_delayed: false,
        }
    }

    /// One ACK for `segments`, `wait` after what came before.
    pub fn acknowledge(&mut self, segments: u64, phase: Phase, wait: Duration) {
        self.now += wait;
        let ack = self.ack(segments, phase);
        self.control.on_ack(&ack);
        self.acked += segments;
    }

    /// One ACK for a segment that arrived marked.
    pub fn acknowledge_marked(&mut self, phase: Phase, wait: Duration, round_end: bool) {
        self.now += wait;
        let ack = Ack {
            ce_marked: Bytes::new(SMSS),
            ce_marked_segments: 1,
            round_end,
            ..self.ack(1, phase)
        };
        self.control.on_ack(&ack);
        self.acked += 1;
    }

    /// One round trip: a window sent and acknowledged. Says how large it was.
    pub fn round(&mut self) -> u64 {
        let window = self.window();
        self.round_of(window);
        window
    }

    /// One ACK per segment for `segments`, each after RTT/cwnd, for controls that need no
    /// rate sample: runs of 10^9 ACKs.
    pub fn pass(&mut self, segments: u64) {
        let rtt = self.rtt.as_nanos() as f64;
        let (mut left, mut window) = (0, 0);
        for _ in 0..segments {
            if left == 0 {
                window = self.window();
                left = window;
            }
            self.behind += rtt / self.cwnd();
            let wait = self.behind as u64;
            self.behind -= wait as f64;
            self.now += Duration::from_nanos(wait);
            self.acked += 1;
            self.control.on_ack(&Ack {
                now: self.now,
                acked: Bytes::new(SMSS),
                delivered: Bytes::new(SMSS),
                total_delivered: Bytes::new(self.acked * SMSS),
                acked_transmissions: 1,
                phase: Phase::Open,
                prior_in_flight: Bytes::new(window * SMSS),
                cwnd_limited: true,
                rtt: Some(self.rtt),
                srtt: Some(self.rtt),
                min_rtt: Some(self.rtt),
                round_end: left == window,
                ..Ack::default()
            });
            left -= 1;
        }
    }

    /// Mean window in segments over `counted` losses, each after the segments that `spacing`
    /// says, which follow `settle` others.
    pub fn mean_window(
        &mut self,
        mut spacing: impl FnMut() -> u64,
        settle: u32,
        counted: u32,
    ) -> f64 {
        let (mut began, mut sent) = (self.now, 0);
        for cycle in 0..settle + counted {
            if cycle == settle {
                (began, sent) = (self.now, 0);
            }
            let segments = spacing();
            sent += segments;
            self.pass(segments);
            self.lose_at_once();
        }
        let round_trips = (self.now - began).as_secs_f64() / self.rtt.as_secs_f64();
        sent as f64 / round_trips
    }

    /// A round in which only `segments` of the window are used.
    fn round_of(&mut self, segments: u64) {
        self.round_begins = true;
        self.flight = segments;
        let acks = segments.div_ceil(self.segments_per_ack);
        let (start, rtt) = (self.now, self.rtt());
        let mut left = segments;
        for i in 1..=acks {
            let covered = left.min(self.segments_per_ack);
            left -= covered;
            let due = start + Duration::from_nanos(rtt.as_nanos() * i / acks);
            self.acknowledge(covered, Phase::Open, due - self.now);
        }
        self.answer();
    }

    /// Routers of the path answer once per round: four tenths of what is spare.
    fn answer(&mut self) {
        if self.path == u64::MAX {
            return;
        }
        let Some(request) = self.control.request(Some(self.rtt)) else {
            return;
        };
        let reply = match request.scheme {
            RequestScheme::Xcp { .. } => {
                let spare = (self.path as f64 - self.cwnd()) * SMSS as f64;
                RouterReply::Xcp((0.4 * spare) as i32)
            }
            RequestScheme::QuickStart { .. } => return,
        };
        self.control.on_reply(self.now, reply);
    }

    /// Congestion with the whole window in flight: one segment of it is lost, or all
    /// by a timeout, or none.
    pub fn congestion(&mut self, kind: CongestionKind) {
        let in_flight = Bytes::new(self.window() * SMSS);
        let lost = match kind {
            CongestionKind::Loss => Bytes::new(SMSS),
            CongestionKind::Timeout => in_flight,
            CongestionKind::Ecn => Bytes::ZERO,
        };
        if lost > Bytes::ZERO {
            self.control.on_lost(&Lost {
                now: self.now,
                from: self.acked * SMSS,
                octets: lost,
                lost,
                total_delivered: Bytes::new(self.acked * SMSS),
                prior_delivered: Bytes::new(self.acked.saturating_sub(self.flight) * SMSS),
                tx_in_flight: in_flight,
                sent_at: self.now - self.rtt,
                app_limited: false,
                is_retransmission: false,
            });
        }
        self.control.on_congestion(&Congestion {
            now: self.now,
            kind,
            flight_size: in_flight,
            pipe: in_flight,
        });
    }

    /// Loss and its repair, which takes a round trip.
    pub fn lose(&mut self) {
        let window = self.window();
        self.congestion(CongestionKind::Loss);
        self.acknowledge(0, Phase::Recovery, self.rtt);
        self.control.on_recovery_end(self.now);
        self.acknowledge(window, Phase::Open, Duration::ZERO);
    }

    /// Loss as the formulas have it: the window falls, no time passes.
    pub fn lose_at_once(&mut self) {
        self.congestion(CongestionKind::Loss);
        self.control.on_recovery_end(self.now);
        self.acknowledge(0, Phase::Open, Duration::ZERO);
    }

    /// Silence for `span` with nothing in flight, after which cwnd is ten segments at most.
    pub fn idle(&mut self, span: Duration) {
        let last_sent_at = self.now - self.rtt;
        self.now += span;
        self.control.on_transmit_start(self.now, last_sent_at);
        let restart_window = Bytes::new(10 * SMSS).min(self.control.cwnd());
        self.control.on_idle_restart(self.now, restart_window);
        self.control.on_sent(&Sent {
            now: self.now,
            octets: Bytes::new(SMSS),
            in_flight: Bytes::new(SMSS),
            app_limited: true,
        });
    }

    /// A timeout of `rto`.
    pub fn time_out(&mut self, rto: Duration) {
        self.now += rto;
        self.congestion(CongestionKind::Timeout);
    }
}

/// Flows over one bottleneck: what a control does to a queue that answers it.
///
/// One segment leaves the queue per unit of service time, an ACK per segment arrives a base
/// RTT later. A segment that finds the queue full is lost; the loss is found when its ACK
/// would have arrived, and costs no time.
pub struct Link {
    pub flows: Vec<Flow>,
    pub now: Instant,
    service: Duration,
    base_rtt: Duration,
    /// Queue limit, segments.
    limit: u64,
    /// When the last segment leaves the queue.
    busy_until: Instant,
    /// Segments delivered, of all flows.
    pub delivered: u64,
}

/// One sender on a [`Link`].
pub struct Flow {
    pub control: Box<dyn Controller>,
    /// Segments in flight: when the ACK arrives, when it was sent, whether it is lost.
    in_flight: VecDeque<(Instant, Instant, bool)>,
    starts_at: Instant,
    /// Segments sent, and the number that ends the round.
    sent: u64,
    round_end: u64,
    /// Loss of segments up to this number is part of the last event.
    recover: u64,
    pub acked: u64,
    pub losses: u64,
    srtt: Option<Duration>,
    min_rtt: Option<Duration>,
    pub last_rtt: Duration,
}

impl Link {
    /// `rate` in segments per second, `limit` in segments.
    pub fn new(rate: u64, base_rtt: Duration, limit: u64) -> Self {
        Self {
            flows: Vec::new(),
            now: Instant::from_nanos(10_000_000_000),
            service: Duration::from_nanos(1_000_000_000 / rate),
            base_rtt,
            limit,
            busy_until: Instant::ZERO,
            delivered: 0,
        }
    }

    /// Adds a flow that begins to send after `wait`.
    pub fn add(&mut self, control: Box<dyn Controller>, wait: Duration) {
        self.flows.push(Flow {
            control,
            in_flight: VecDeque::new(),
            starts_at: self.now + wait,
            sent: 0,
            round_end: 0,
            recover: 0,
            acked: 0,
            losses: 0,
            srtt: None,
            min_rtt: None,
            last_rtt: Duration::ZERO,
        });
    }

    /// Segments that wait or are in service.
    pub fn queue(&self) -> f64 {
        let left = self.busy_until.saturating_since(self.now);
        left.as_secs_f64() / self.service.as_secs_f64()
    }

    /// Runs for `span`; returns the mean queue that ACKs found, in segments.
    pub fn run(&mut self, span: Duration) -> f64 {
        let end = self.now + span;
        let (mut sum, mut count) = (0.0, 0.0);
        while self.now < end {
            for flow in 0..self.flows.len() {
                self.send(flow);
            }
            let next = |flow: &Flow| match flow.in_flight.front() {
                Some((at, _, _)) => *at,
                None => flow.starts_at,
            };
            let flow = (0..self.flows.len())
                .min_by_key(|flow| next(&self.flows[*flow]))
                .expect("there are flows");
            self.now = self.now.max(next(&self.flows[flow]));
            self.acknowledge(flow);
            sum += self.queue();
            count += 1.0;
        }
        sum / count
    }

    fn send(&mut self, flow: usize) {
        let queued = |busy: Instant, now: Instant| busy.saturating_since(now);
        let flow = &mut self.flows[flow];
        if self.now < flow.starts_at {
            return;
        }
        while ((flow.in_flight.len() as u64 + 1) * SMSS) <= flow.control.cwnd().as_u64() {
            let limit = self.service.saturating_mul(self.limit);
            let lost = queued(self.busy_until, self.now) >= limit;
            if !lost {
                self.busy_until = self.busy_until.max(self.now) + self.service;
            }
            let at = self.busy_until.max(self.now) + self.base_rtt;
            flow.in_flight.push_back((at, self.now, lost));
            flow.sent += 1;
        }
    }

    fn acknowledge(&mut self, flow: usize) {
        let flow = &mut self.flows[flow];
        let prior = flow.in_flight.len() as u64;
        let Some((_, sent_at, lost)) = flow.in_flight.pop_front() else {
            return;
        };
        flow.acked += 1;
        if lost {
            if flow.acked > flow.recover {
                flow.recover = flow.sent;
                flow.losses += 1;
                flow.congestion(self.now, prior);
            }
            return;
        }
        self.delivered += 1;
        let rtt = self.now - sent_at;
        flow.last_rtt = rtt;
        let smooth = |srtt: Duration| (srtt.saturating_mul(7) + rtt) / 8;
        flow.srtt = Some(flow.srtt.map_or(rtt, smooth));
        flow.min_rtt = Some(flow.min_rtt.map_or(rtt, |least| least.min(rtt)));
        let round_end = flow.acked > flow.round_end;
        if round_end {
            flow.round_end = flow.sent;
        }
        flow.control.on_ack(&Ack {
            now: self.now,
            acked: Bytes::new(SMSS),
            delivered: Bytes::new(SMSS),
            acked_transmissions: 1,
            phase: Phase::Open,
            prior_in_flight: Bytes::new(prior * SMSS),
            cwnd_limited: true,
            rtt: Some(rtt),
            srtt: flow.srtt,
            min_rtt: flow.min_rtt,
            round_end,
            ..Ack::default()
        });
    }
}

impl Flow {
    fn congestion(&mut self, now: Instant, in_flight: u64) {
        let flight_size = Bytes::new(in_flight * SMSS);
        self.control.on_congestion(&Congestion {
            now,
            kind: CongestionKind::Loss,
            flight_size,
            pipe: flight_size,
        });
        self.control.on_recovery_end(now);
    }
}
