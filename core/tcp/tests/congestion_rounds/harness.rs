//! A sender and a path reduced to rounds: in every round trip the whole window
//! is sent and acknowledged, evenly spread over the round, with a given number
//! of segments per ACK. Shows what a control does when nothing else acts.

use gigatcp_events::Phase;
use gigatcp_tcp::congestion::{
    Ack, Config, Congestion, CongestionControl, CongestionKind, Counting, Lost, RateSample,
    SlowStart,
};
use gigatcp_units::{Bytes, Duration, Instant};

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
    pub control: Box<dyn CongestionControl>,
    pub now: Instant,
    rtt: Duration,
    segments_per_ack: u64,
    segments_per_transmission: u64,
    /// Segments acknowledged so far.
    acked: u64,
    /// Segments sent in the round.
    flight: u64,
    /// The next ACK is the first of its round.
    round_begins: bool,
}

impl Rounds {
    pub fn new(control: Box<dyn CongestionControl>, rtt: Duration, segments_per_ack: u64) -> Self {
        Self {
            control,
            now: Instant::from_nanos(10_000_000_000),
            rtt,
            segments_per_ack,
            segments_per_transmission: 1,
            acked: 0,
            flight: 0,
            round_begins: false,
        }
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
            rtt: Some(self.rtt),
            srtt: Some(self.rtt),
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
        RateSample {
            delivered: Bytes::new(flight.min(delivered) * SMSS),
            lost: Bytes::ZERO,
            prior_delivered: Bytes::new(delivered.saturating_sub(flight) * SMSS),
            tx_in_flight: Bytes::new(flight * SMSS),
            send_interval: self.rtt,
            ack_interval: self.rtt,
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

    /// One round trip: a window sent and acknowledged. Says how large it was.
    pub fn round(&mut self) -> u64 {
        let window = self.window();
        self.round_of(window);
        window
    }

    /// A round in which only `segments` of the window are used.
    fn round_of(&mut self, segments: u64) {
        self.round_begins = true;
        self.flight = segments;
        let acks = segments.div_ceil(self.segments_per_ack);
        let start = self.now;
        let mut left = segments;
        for i in 1..=acks {
            let covered = left.min(self.segments_per_ack);
            left -= covered;
            let due = start + Duration::from_nanos(self.rtt.as_nanos() * i / acks);
            self.acknowledge(covered, Phase::Open, due - self.now);
        }
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

    /// A timeout of `rto`.
    pub fn time_out(&mut self, rto: Duration) {
        self.now += rto;
        self.congestion(CongestionKind::Timeout);
    }
}
