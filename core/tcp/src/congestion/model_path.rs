//! Simulated bottleneck, queue and sender of one flow, for unit tests of models.
//!
//! The sender paces segments of [`SIZE`] octets within cwnd. Each is acknowledged separately,
//! with an exact rate sample. Segments dropped by the queue, the policer or random loss are found
//! when their ACK would have come. They cost no time: new data replaces them.

use alloc::collections::VecDeque;

use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::rate_model::scaled;
use super::{Ack, Config, Congestion, CongestionKind, Controller, Lost, RateSample, Sent};
use crate::events::Phase;

/// Octets per segment.
pub(super) const SIZE: u64 = 1000;

/// Segment in flight, with the sender's state when it left.
#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    answered_at: Instant,
    is_lost: bool,
    sent_at: Instant,
    first_sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
}

/// A flow over a bottleneck.
pub(super) struct Path<C> {
    pub(super) control: C,
    pub(super) now: Instant,
    /// Octets per second.
    rate: u64,
    rtt: Duration,
    /// Queue limit in segments.
    pub(super) limit: u64,
    /// Loss probability; below, rate and burst of a policer.
    pub(super) loss: f64,
    pub(super) policer: Option<(u64, f64)>,
    /// Interval at multiples of which ACKs arrive.
    pub(super) clump: Option<Duration>,
    /// Rate at which the application writes, in octets per second.
    pub(super) application: Option<u64>,
    /// Time when the application writes the next segment.
    pub(super) app_next: Instant,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    packets: VecDeque<Packet>,
    sent: u64,
    tokens: f64,
    tokens_at: Instant,
    busy_until: Instant,
    departs_at: Instant,
    delivered_at: Instant,
    first_sent_at: Instant,
    app_limited_until: u64,
    newly_lost: u64,
    cwnd_limited: bool,
    phase: Phase,
    recover: u64,
    /// First segment after the last retransmission of this recovery.
    repaired_by: u64,
    min_rtt: Option<Duration>,
    random: Stream,
}

/// Settings of the sender.
pub(super) fn config() -> Config {
    Config {
        smss: SIZE as u32,
        initial_window: Bytes::new(10 * SIZE),
        ..Config::default()
    }
}

impl<C: Controller> Path<C> {
    pub(super) fn new(mut control: C, rate: u64, rtt: Duration, limit: u64) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        control.on_established(now, Some(rtt));
        Self {
            control,
            now,
            rate,
            rtt,
            limit,
            loss: 0.0,
            policer: None,
            clump: None,
            application: None,
            app_next: now,
            delivered: 0,
            lost: 0,
            packets: VecDeque::new(),
            sent: 0,
            tokens: 0.0,
            tokens_at: now,
            busy_until: now,
            departs_at: now,
            delivered_at: now,
            first_sent_at: now,
            app_limited_until: 0,
            newly_lost: 0,
            cwnd_limited: false,
            phase: Phase::Open,
            recover: 0,
            repaired_by: 0,
            min_rtt: Some(rtt),
            random: Stream::new(1, "path", 0),
        }
    }

    /// Changes the rate, also for queued segments.
    pub(super) fn set_rate(&mut self, rate: u64) {
        let (now, rtt, old) = (self.now, self.rtt, self.rate);
        let later = |leaves: Instant| {
            let left = leaves.saturating_since(now).as_nanos();
            now + Duration::from_nanos(scaled(left, old, rate))
        };
        for packet in &mut self.packets {
            let leaves = packet.answered_at - rtt;
            if leaves > now {
                packet.answered_at = later(leaves) + rtt;
            }
        }
        self.busy_until = later(self.busy_until);
        self.rate = rate;
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.packets.len() as u64 * SIZE
    }

    /// Octets queued at the bottleneck.
    pub(super) fn queue(&self) -> u64 {
        let left = self.busy_until.saturating_since(self.now);
        Rate::from_bps(8 * self.rate).amount_in(left).as_u64()
    }

    /// Runs until `is_over`, for `most` at most; returns the duration.
    #[track_caller]
    pub(super) fn until(&mut self, most: Duration, is_over: impl Fn(&Self) -> bool) -> Duration {
        let began = self.now;
        while !is_over(self) {
            assert!(
                self.now.saturating_since(began) < most,
                "never came: {:?}",
                self.control
            );
            self.step();
        }
        self.now.saturating_since(began)
    }

    /// Runs for `span`; returns the octets per second delivered.
    pub(super) fn run(&mut self, span: Duration) -> f64 {
        let (end, before) = (self.now + span, self.delivered);
        while self.now < end {
            self.step();
        }
        (self.delivered - before) as f64 / span.as_secs_f64()
    }

    /// Processes one departure or one ACK, whichever is next.
    fn step(&mut self) {
        let has_room = self.in_flight() + SIZE <= self.control.cwnd().as_u64();
        let departs_at = self.now.max(self.departs_at).max(self.app_next);
        self.cwnd_limited |= !has_room;
        match self.packets.front() {
            Some(next) if !has_room || next.answered_at <= departs_at => self.answer(),
            _ => self.send(departs_at),
        }
    }

    fn send(&mut self, at: Instant) {
        if self.app_next > self.now.max(self.departs_at) {
            self.app_limited_until = (self.delivered + self.in_flight()).max(1);
        }
        self.now = at;
        if let Some(rate) = self.application {
            self.app_next =
                self.app_next.max(at) + Rate::from_bps(8 * rate).time_for(Bytes::new(SIZE));
        }
        if self.packets.is_empty() {
            (self.first_sent_at, self.delivered_at) = (at, at);
        }
        let app_limited = self.app_limited_until > 0;
        let in_flight = self.in_flight() + SIZE;
        let is_lost = self.drops();
        let link = Rate::from_bps(8 * self.rate);
        if !is_lost {
            self.busy_until = self.busy_until.max(at) + link.time_for(Bytes::new(SIZE));
        }
        let mut answered_at = self.busy_until.max(at) + self.rtt;
        if let Some(clump) = self.clump {
            let clumps = answered_at.as_nanos().div_ceil(clump.as_nanos());
            answered_at = Instant::from_nanos(clumps * clump.as_nanos());
        }
        if let Some(last) = self.packets.back() {
            answered_at = answered_at.max(last.answered_at);
        }
        self.packets.push_back(Packet {
            number: self.sent,
            answered_at,
            is_lost,
            sent_at: at,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            in_flight,
            app_limited,
        });
        self.sent += 1;
        self.control.on_sent(&Sent {
            now: at,
            octets: Bytes::new(SIZE),
            in_flight: Bytes::new(in_flight),
            app_limited,
        });
        let pace = self.control.pacing_rate().expect("a model has a rate");
        self.departs_at = at + pace.time_for(Bytes::new(SIZE));
    }

    fn drops(&mut self) -> bool {
        if self.loss > 0.0 && self.random.uniform() < self.loss {
            return true;
        }
        if let Some((rate, burst)) = self.policer {
            let gained = self.now.saturating_since(self.tokens_at).as_secs_f64() * rate as f64;
            self.tokens_at = self.now;
            self.tokens = (self.tokens + gained).min(burst);
            if self.tokens < SIZE as f64 {
                return true;
            }
            self.tokens -= SIZE as f64;
        }
        self.queue() + SIZE > self.limit * SIZE
    }

    fn answer(&mut self) {
        let packet = self.packets.pop_front().expect("something is in flight");
        self.now = self.now.max(packet.answered_at);
        if packet.is_lost {
            self.lose(&packet);
            return;
        }
        self.delivered += SIZE;
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let sample = RateSample {
            delivered: Bytes::new(self.delivered - packet.delivered),
            lost: Bytes::new(self.lost - packet.lost),
            prior_delivered: Bytes::new(packet.delivered),
            tx_in_flight: Bytes::new(packet.in_flight),
            send_interval: packet.sent_at.saturating_since(packet.first_sent_at),
            ack_interval: self.now.saturating_since(packet.delivered_at),
            app_limited: packet.app_limited,
            is_retransmission: false,
            ack_delayed: false,
        };
        self.first_sent_at = packet.sent_at;
        self.delivered_at = self.now;
        if self.phase == Phase::Recovery && packet.number > self.repaired_by {
            self.phase = Phase::Open;
            self.control.on_recovery_end(self.now);
        }
        let rtt = self.now.saturating_since(packet.sent_at);
        self.min_rtt = self.min_rtt.min(Some(rtt));
        self.control.on_ack(&Ack {
            now: self.now,
            acked: Bytes::new(SIZE),
            delivered: Bytes::new(SIZE),
            total_delivered: Bytes::new(self.delivered),
            lost: Bytes::new(core::mem::take(&mut self.newly_lost)),
            phase: self.phase,
            prior_in_flight: Bytes::new(self.in_flight() + SIZE),
            in_flight: Bytes::new(self.in_flight()),
            cwnd_limited: core::mem::take(&mut self.cwnd_limited),
            rtt: Some(rtt),
            srtt: Some(rtt),
            min_rtt: self.min_rtt,
            rate: Some(sample),
            ..Ack::default()
        });
    }

    fn lose(&mut self, packet: &Packet) {
        self.lost += SIZE;
        self.newly_lost += SIZE;
        self.control.on_lost(&Lost {
            now: self.now,
            from: packet.number * SIZE,
            octets: Bytes::new(SIZE),
            lost: Bytes::new(self.lost - packet.lost),
            total_delivered: Bytes::new(self.delivered),
            prior_delivered: Bytes::new(packet.delivered),
            tx_in_flight: Bytes::new(packet.in_flight),
            sent_at: packet.sent_at,
            app_limited: packet.app_limited,
            is_retransmission: false,
        });
        if self.phase == Phase::Open || packet.number < self.recover {
            self.repaired_by = self.sent;
        }
        if self.phase == Phase::Open {
            self.phase = Phase::Recovery;
            self.recover = self.sent;
            let in_flight = Bytes::new(self.in_flight());
            self.control.on_congestion(&Congestion {
                now: self.now,
                kind: CongestionKind::Loss,
                flight_size: in_flight,
                pipe: in_flight,
            });
        }
    }
}
