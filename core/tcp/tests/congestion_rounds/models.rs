//! The least control of each family that [`REGISTRY`] has none of, for the properties
//! to have something to hold for.
//!
//! [`REGISTRY`]: gigatcp_tcp::congestion::REGISTRY

use gigatcp_tcp::congestion::{Ack, Config, Congestion, CongestionKind, Controller, Entry, Family};
use gigatcp_units::{Bytes, Duration, Instant, Rate};

pub static DELAY_MODEL: Entry = Entry {
    name: "delay-model",
    summary: "a segment a round up, or down when the round trip is half as long again",
    family: Family::DelayBased,
    reacts_to: "delay",
    deployed: "here",
    draws: false,
    build: |config| Box::new(DelayModel::new(config)),
};

pub static RATE_MODEL: Entry = Entry {
    name: "rate-model",
    summary: "twice what the path delivers in its least round trip",
    family: Family::RateBased,
    reacts_to: "the rate of delivery",
    deployed: "here",
    draws: false,
    build: |config| Box::new(RateModel::new(config)),
};

#[derive(Debug)]
struct DelayModel {
    smss: u64,
    cwnd: u64,
    least: Option<Duration>,
    /// The window before the last reduction.
    prior: Option<u64>,
    /// What was in flight when it was reduced is not all acknowledged.
    reducing: bool,
}

impl DelayModel {
    fn new(config: &Config) -> Self {
        let smss = u64::from(config.smss.max(1));
        Self {
            smss,
            cwnd: config.initial_window.as_u64().max(smss),
            least: None,
            prior: None,
            reducing: false,
        }
    }
}

impl Controller for DelayModel {
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }
    fn ssthresh(&self) -> Bytes {
        Bytes::ZERO
    }
    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.as_u64().max(self.smss);
    }
    fn on_ack(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.filter(|_| ack.round_end && ack.cwnd_limited) else {
            return;
        };
        let least = rtt.min(self.least.unwrap_or(rtt));
        self.least = Some(least);
        if self.reducing {
            return;
        }
        if 2 * rtt.as_nanos() > 3 * least.as_nanos() {
            self.cwnd = self.cwnd.saturating_sub(self.smss).max(self.smss);
        } else {
            self.cwnd = self.cwnd.saturating_add(self.smss);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.prior = Some(self.cwnd);
        self.reducing = true;
        self.cwnd = match event.kind {
            CongestionKind::Timeout => self.smss,
            _ => (self.cwnd / 2).max(self.smss).min(self.cwnd),
        };
    }
    fn on_recovery_end(&mut self, _: Instant) {
        self.reducing = false;
    }
    fn on_smss_change(&mut self, smss: u32) {
        self.smss = u64::from(smss.max(1));
        self.cwnd = self.cwnd.max(self.smss);
    }
    fn undo(&mut self, _: Instant) {
        if let Some(prior) = self.prior.take() {
            self.cwnd = self.cwnd.max(prior);
            self.reducing = false;
        }
    }
}

#[derive(Debug)]
struct RateModel {
    smss: u64,
    cwnd: u64,
    rate: Option<Rate>,
    least: Option<Duration>,
}

impl RateModel {
    fn new(config: &Config) -> Self {
        let smss = u64::from(config.smss.max(1));
        Self {
            smss,
            cwnd: config.initial_window.as_u64().max(4 * smss),
            rate: None,
            least: None,
        }
    }
}

impl Controller for RateModel {
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }
    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }
    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.as_u64().max(4 * self.smss);
    }
    fn on_ack(&mut self, ack: &Ack) {
        let sample = ack.rate.and_then(|sample| sample.rate(ack.min_rtt));
        if sample > self.rate {
            self.rate = sample;
        }
        if let Some(rtt) = ack.rtt {
            self.least = Some(rtt.min(self.least.unwrap_or(rtt)));
        }
        if let (Some(rate), Some(rtt)) = (self.rate, self.least) {
            let bdp = u128::from(rate.as_bps() / 8) * u128::from(rtt.as_nanos()) / 1_000_000_000;
            let window = u64::try_from(2 * bdp).unwrap_or(u64::MAX);
            self.cwnd = window.max(4 * self.smss);
        }
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_idle_restart(&mut self, _: Instant, _: Bytes) {}
    fn on_smss_change(&mut self, smss: u32) {
        self.smss = u64::from(smss.max(1));
        self.cwnd = self.cwnd.max(4 * self.smss);
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.rate.filter(|rate| rate.as_bps() > 0)
    }
}
