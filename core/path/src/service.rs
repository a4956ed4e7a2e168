//! The server of a link whose rate may change: when what is in service has left.
//!
//! Work is counted in bits times nanoseconds per second, so that it is exact at any
//! rate:
//!
//! ```text
//! work = max((octets + overhead) * 8 * 10^9, per packet * rate)         (1)
//! end  = since + work left / rate, rounded up to a nanosecond           (2)
//! ```
//!
//! What rounding up served too much is taken off the next packet's work if that
//! begins at once, so that the long-run rate is exact. With a constant rate every end
//! is that of [`crate::serialiser`].

use gigatcp_units::{Duration, Instant, Rate};

use crate::policer::Bucket;
use crate::schedule::Follower;
use crate::trace::Opportunities;
use crate::{HopConfig, RateSource, Tally};

/// One bit, in the unit of work.
const BIT: u128 = 1_000_000_000;

/// How fast a link serves.
#[derive(Clone, Debug)]
enum Pace {
    /// At a rate, which a schedule may change.
    Rate(Option<Follower<Rate>>),
    /// When a trace says.
    Trace(Opportunities),
}

impl Pace {
    /// From `start` on.
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
    /// What a group needs next to its packets, e.g. a contention for the medium.
    per_group: Duration,
    /// Whether something is in service.
    is_busy: bool,
    /// When transmission of what is or was last in service began: after tokens and the
    /// medium were there; of a trace, at the opportunity that it left with.
    began: Instant,
    /// `left` was right at this moment.
    since: Instant,
    /// Work left of what is in service.
    left: u128,
    /// It ends no earlier.
    not_before: Instant,
    /// Work done beyond the end of the last service.
    spare: u128,
    /// Equation (2), which a division finds once and not at each question.
    end: Instant,
}

impl Service {
    pub(crate) fn new(config: &HopConfig) -> Self {
        Self {
            rate: config.rate,
            pace: Pace::new(config, Instant::ZERO),
            shaper: config.shaper.map(|it| Bucket::new(it.rate, it.burst)),
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

    /// Bytes on the line for `octets` of one packet.
    pub(crate) const fn on_line(&self, octets: u32) -> u64 {
        self.overhead + octets as u64
    }

    /// Whether something is in service.
    #[inline]
    pub(crate) const fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// When transmission of what is or was last in service began.
    pub(crate) const fn began(&self) -> Instant {
        self.began
    }

    /// Begins to serve `packets` with `octets` together at `now`; `at_once`
    /// after what was in service before.
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

    /// When what is in service has left; the far future where nothing is, or the link
    /// stands still.
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

    /// What was in service has left: [`Service::end`] is now.
    pub(crate) fn finish(&mut self) {
        self.spare = self.work_until(self.end).saturating_sub(self.left);
        self.is_busy = false;
        self.left = 0;
        self.end = Instant::FAR_FUTURE;
    }

    /// Work that is done between `since` and `until`.
    fn work_until(&self, until: Instant) -> u128 {
        let span = until.saturating_since(self.since).as_nanos();
        u128::from(span) * u128::from(self.rate.map_or(0, Rate::as_bps))
    }

    /// When the rate changes next.
    #[inline]
    pub(crate) fn poll_change(&self) -> Instant {
        match &self.pace {
            Pace::Rate(Some(changes)) => changes.poll_timeout().unwrap_or(Instant::FAR_FUTURE),
            Pace::Rate(None) | Pace::Trace(_) => Instant::FAR_FUTURE,
        }
    }

    /// The time of a change has come.
    pub(crate) fn change(&mut self, now: Instant) {
        if let Pace::Rate(Some(changes)) = &mut self.pace
            && let Some(rate) = changes.take()
        {
            self.set_rate(now, Some(rate));
        }
    }

    /// From `now` on the rate is another one, also for what is in service.
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

    /// From `now` on it serves as `after` says in place of `before`. A schedule or
    /// trace that is new counts from `now`. What is in service goes on at the new rate;
    /// where it waits for tokens or for a trace, or shall from now on, its service
    /// begins anew.
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

    /// Goes on with what another server `began`: its end is `nanos` ns and
    /// `parts` parts of 1/rate ns after `now`.
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
