//! Server of a link with variable rate: computes the end of each service.
//!
//! Work is counted in bits times nanoseconds per second, so that it is exact at any
//! rate:
//!
//! ```text
//! work = max((octets + overhead) * 8 * 10^9, per packet * rate)         (1)
//! end  = since + work left / rate, rounded up to a nanosecond           (2)
//! ```
//!
//! The excess work done because of rounding up is subtracted from the next packet's work if that
//! begins immediately. So the long-run rate is exact. With a constant rate every end is that of
//! [`crate::serializer`].

use gigatcp_units::{Duration, Instant, Rate};

use crate::policer::Bucket;
use crate::schedule::Follower;
use crate::trace::Opportunities;
use crate::{HopConfig, RateSource, Tally};

/// One bit, in the unit of work.
const BIT: u128 = 1_000_000_000;

/// Capacity of a link.
#[derive(Clone, Debug)]
enum Pace {
    /// At a rate, which a schedule may change.
    Rate(Option<Follower<Rate>>),
    /// At the opportunities of a trace.
    Trace(Opportunities),
}

impl Pace {
    /// Pace of a configuration, starting at `start`.
    fn new(config: &HopConfig, start: Instant) -> Self {
        match &config.rate_source {
            None => Self::Rate(None),
            Some(RateSource::Schedule(schedule)) => {
                Self::Rate(Some(Follower::new(schedule.clone(), start)))
            }
            Some(RateSource::Trace(trace)) => Self::Trace(Opportunities::new(trace.clone(), start)),
        }
    }
}

/// The server of a link: one group of packets at a time.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    rate: Option<Rate>,
    pace: Pace,
    shaper: Option<Bucket>,
    overhead: u64,
    per_packet: Duration,
    /// Time of a group in addition to its packets, e.g. contention for the medium.
    per_group: Duration,
    /// Whether packets are in service.
    is_busy: bool,
    /// Start of transmission of the current or last service, after waiting for tokens and medium.
    /// With a trace: the opportunity with which it left.
    began: Instant,
    /// Time at which `left` was current.
    since: Instant,
    /// Remaining work of the current service.
    left: u128,
    /// Earliest possible end of the service.
    not_before: Instant,
    /// Work done beyond the end of the last service.
    spare: u128,
    /// Result of equation (2), stored to save divisions.
    end: Instant,
}

impl Service {
    pub(crate) fn new(config: &HopConfig) -> Self {
        Self {
            rate: config.rate,
            pace: Pace::new(config, Instant::ZERO),
            shaper: config
                .shaper
                .map(|shaper| Bucket::new(shaper.rate, shaper.burst)),
            overhead: config.link_overhead.as_u64(),
            per_packet: config.per_packet,
            per_group: config
                .aggregate
                .map_or(Duration::ZERO, |group| group.overhead),
            is_busy: false,
            began: Instant::ZERO,
            since: Instant::ZERO,
            left: 0,
            not_before: Instant::ZERO,
            spare: 0,
            end: Instant::FAR_FUTURE,
        }
    }

    pub(crate) const fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Bytes on the line of one packet of `octets`.
    pub(crate) const fn on_line(&self, octets: u32) -> u64 {
        self.overhead + octets as u64
    }

    /// Whether packets are in service.
    #[inline]
    pub(crate) const fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Start of transmission of the current or last service.
    pub(crate) const fn began(&self) -> Instant {
        self.began
    }

    /// Begins to serve `packets` with `octets` together at `now`. `at_once`: immediately after the
    /// previous service.
    pub(crate) fn start(&mut self, now: Instant, packets: u64, octets: u64, at_once: bool) {
        self.begin(now, packets, octets, at_once);
        self.end = self.next_end();
        debug_assert!(
            now <= self.began && self.began <= self.end,
            "what is next at {now:?} is served from {:?} to {:?}",
            self.began,
            self.end
        );
    }

    fn begin(&mut self, now: Instant, packets: u64, octets: u64, at_once: bool) {
        self.is_busy = true;
        let spare = if at_once { self.spare } else { 0 };
        self.spare = 0;
        let begin = match &mut self.shaper {
            Some(bucket) => bucket.take_when_ready(now, octets),
            None => now,
        };
        self.since = begin;
        self.not_before = begin + self.per_group;
        let octets = octets
            .saturating_add(self.overhead.saturating_mul(packets))
            .max(packets);
        match &mut self.pace {
            Pace::Trace(trace) => {
                self.left = 0;
                self.not_before = trace.serve(self.not_before, octets);
                self.began = self.not_before;
            }
            Pace::Rate(_) => {
                self.began = self.not_before;
                let least = self.per_packet.saturating_mul(packets);
                let Some(rate) = self.rate else {
                    self.left = 0;
                    self.not_before += least;
                    return;
                };
                self.since = self.not_before;
                let work = u128::from(octets) * 8 * BIT;
                let floor = u128::from(least.as_nanos()) * u128::from(rate.as_bps());
                let spare = if begin == now { spare } else { 0 };
                self.left = work.max(floor).saturating_sub(spare);
            }
        }
    }

    /// End of the current service. It is the far future if nothing is in service, or the rate is
    /// zero.
    #[inline]
    pub(crate) const fn end(&self) -> Instant {
        self.end
    }

    fn next_end(&self) -> Instant {
        if !self.is_busy {
            return Instant::FAR_FUTURE;
        }
        if self.left == 0 {
            return self.not_before.max(self.since);
        }
        let rate = self.rate.map_or(0, Rate::as_bps);
        if rate == 0 {
            return Instant::FAR_FUTURE;
        }
        let nanos = match u64::try_from(self.left) {
            Ok(left) => left.div_ceil(rate),
            Err(_) => u64::try_from(self.left.div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
        };
        (self.since + Duration::from_nanos(nanos)).max(self.not_before)
    }

    /// Ends the current service: [`Service::end`] is now.
    pub(crate) fn finish(&mut self) {
        self.spare = self.work_until(self.end).saturating_sub(self.left);
        self.is_busy = false;
        self.left = 0;
        self.end = Instant::FAR_FUTURE;
    }

    /// Work done between `since` and `until`.
    fn work_until(&self, until: Instant) -> u128 {
        let span = until.saturating_since(self.since).as_nanos();
        u128::from(span) * u128::from(self.rate.map_or(0, Rate::as_bps))
    }

    /// Time of the next change of the rate.
    #[inline]
    pub(crate) fn poll_change(&self) -> Instant {
        match &self.pace {
            Pace::Rate(Some(changes)) => changes.poll_timeout().unwrap_or(Instant::FAR_FUTURE),
            Pace::Rate(None) | Pace::Trace(_) => Instant::FAR_FUTURE,
        }
    }

    /// Applies a change that is due.
    pub(crate) fn change(&mut self, now: Instant) {
        if let Pace::Rate(Some(changes)) = &mut self.pace
            && let Some(rate) = changes.take()
        {
            self.set_rate(now, Some(rate));
        }
    }

    /// Sets the rate from `now` on, including for the packets in service.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Option<Rate>) {
        if self.is_busy && self.left > 0 {
            self.left = self.left.saturating_sub(self.work_until(now));
            self.since = self.since.max(now);
            if rate.is_none() {
                self.left = 0;
            }
        }
        self.spare = 0;
        self.rate = rate;
        self.end = self.next_end();
    }

    /// Replaces the configuration `before` by `after` from `now` on. A new schedule or trace counts
    /// from `now`. The current service continues at the new rate. If it waits for tokens or for a
    /// trace, or must do so from now on, it begins anew.
    pub(crate) fn reconfigure(
        &mut self,
        now: Instant,
        before: &HopConfig,
        after: &HopConfig,
        in_service: Tally,
    ) {
        let new = Self::new(after);
        let follows_another = before.rate_source != after.rate_source;
        let is_shaped_otherwise = before.shaper != after.shaper;
        let had_trace = matches!(self.pace, Pace::Trace(_));
        if follows_another || before.rate != after.rate {
            self.set_rate(now, after.rate);
        }
        if follows_another {
            self.pace = Pace::new(after, now);
        }
        if is_shaped_otherwise {
            self.shaper = new.shaper;
        }
        self.overhead = new.overhead;
        self.per_packet = new.per_packet;
        self.per_group = new.per_group;
        let has_trace = matches!(self.pace, Pace::Trace(_));
        let begins_anew = follows_another && (had_trace || has_trace)
            || is_shaped_otherwise && (self.since > now || had_trace);
        if self.is_busy && begins_anew {
            let Tally { packets, bytes } = in_service;
            self.start(now, packets, bytes.as_u64(), false);
        }
    }

    /// Continues a service that another server `began`. Its end is `nanos` ns and `parts` parts of
    /// 1/rate ns after `now`.
    pub(crate) fn take_over(&mut self, now: Instant, nanos: u64, parts: u64, began: Instant) {
        self.is_busy = true;
        self.began = began;
        self.since = now;
        self.not_before = now;
        match self.rate {
            Some(rate) => {
                self.left = u128::from(nanos) * u128::from(rate.as_bps()) + u128::from(parts);
            }
            None => self.not_before = now + Duration::from_nanos(nanos),
        }
        self.end = self.next_end();
    }
}
