//! Serializer: one server of fixed rate, first come, first served.
//!
//! With a fixed rate the departure of a packet is known when it arrives:
//!
//! ```text
//! departure = max(now, last departure) + service                        (1)
//! service   = max((ip bytes + overhead) * 8 / rate, per packet)         (2)
//! ```
//!
//! Times are exact: nanoseconds and a remainder counted in units of 1/rate nanosecond, in which
//! every service time is an integer. Only the reported instant is rounded, up, so that a link never
//! carries more than its rate. The next packet starts from the unrounded time. While there is work
//! the long-run rate is therefore exactly the configured one.

use gigatcp_units::{Duration, Instant, Rate};

use crate::HopConfig;
use crate::parcel::Frames;

/// An exact time or duration at a serializer: `nanos + parts / rate` ns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Moment {
    nanos: u64,
    parts: u64,
}

impl Moment {
    /// First instant that is not before this time.
    pub(crate) const fn instant(self) -> Instant {
        Instant::from_nanos(self.nanos.saturating_add((self.parts > 0) as u64))
    }

    /// Time from `now` until this time: nanoseconds, and parts of 1/rate ns.
    pub(crate) const fn after(self, now: Instant) -> (u64, u64) {
        match self.nanos.checked_sub(now.as_nanos()) {
            Some(nanos) => (nanos, self.parts),
            None => (0, 0),
        }
    }

    /// Sum of this and `span`, both with `unit` parts in a nanosecond.
    fn plus(self, span: Self, unit: u64) -> Self {
        debug_assert!(
            self.parts < unit && span.parts < unit,
            "{self:?} and {span:?}: {unit} parts are a nanosecond"
        );
        let (parts, is_over) = self.parts.overflowing_add(span.parts);
        let carries = is_over || parts >= unit;
        let nanos = self.nanos.saturating_add(span.nanos);
        Self {
            nanos: nanos.saturating_add(u64::from(carries)),
            parts: if carries {
                parts.wrapping_sub(unit)
            } else {
                parts
            },
        }
    }

    /// `n` times this duration.
    fn times(self, n: u64, unit: u64) -> Self {
        let (carried, parts) = if let Some(parts) = self.parts.checked_mul(n) {
            (parts / unit, parts % unit)
        } else {
            let parts = u128::from(self.parts) * u128::from(n);
            let unit = u128::from(unit);
            // Parts are fewer than a unit: less than `n` nanoseconds of them.
            ((parts / unit) as u64, (parts % unit) as u64)
        };
        let nanos = self.nanos.saturating_mul(n);
        Self {
            nanos: nanos.saturating_add(carried),
            parts,
        }
    }
}

/// Running state of the serializer of a hop.
#[derive(Clone, Debug)]
pub(crate) struct Serializer {
    rate: Option<Rate>,
    overhead: u64,
    per_packet: u64,
    /// End of the service of everything accepted so far.
    free: Moment,
    /// Time spent without work before `free`.
    idle: Duration,
    /// The size served last and its service time. Neighbors are of one size, and a division costs
    /// more than everything else.
    known: (u64, Moment),
}

impl Serializer {
    pub(crate) fn new(config: &HopConfig) -> Self {
        let mut serializer = Self {
            rate: config.rate,
            overhead: config.link_overhead.as_u64(),
            per_packet: config.per_packet.as_nanos(),
            free: Moment::default(),
            idle: Duration::ZERO,
            known: (0, Moment::default()),
        };
        serializer.known.1 = serializer.service_time(0);
        serializer
    }

    /// Accepts a packet of `ip_bytes` at `now`; returns when its service ends.
    #[inline]
    pub(crate) fn serve(&mut self, now: Instant, ip_bytes: u64) -> Moment {
        let free_at = self.free.instant();
        if now >= free_at {
            self.idle += now.saturating_since(free_at);
            self.free = Moment {
                nanos: now.as_nanos(),
                parts: 0,
            };
        }
        self.free = self.after(self.free, ip_bytes);
        debug_assert!(
            self.free.instant() >= now.max(free_at),
            "accepted at {now:?} behind what is served at {free_at:?}, served at {:?}",
            self.free
        );
        self.free
    }

    /// Accepts all `frames` at `now`. Returns when the service of the first and of the last ends.
    #[inline(always)]
    pub(crate) fn serve_all(&mut self, now: Instant, frames: Frames) -> (Moment, Moment) {
        let first = self.serve(now, frames.size(0));
        let rest = frames.count() - 1;
        if rest > 0 {
            let middle = self
                .service(frames.size(0))
                .times(rest as u64 - 1, self.unit());
            self.free = self.free.plus(middle, self.unit());
            self.free = self.after(self.free, frames.size(rest));
        }
        (first, self.free)
    }

    /// End of a service of `ip_bytes` that begins at `start`.
    #[inline]
    pub(crate) fn after(&mut self, start: Moment, ip_bytes: u64) -> Moment {
        let service = self.service(ip_bytes);
        start.plus(service, self.unit())
    }

    /// Number of services of packets of `ip_bytes` that fit into `nanos`. Services are rounded up
    /// as departures are.
    pub(crate) fn whole_services(&mut self, ip_bytes: u64, nanos: u64) -> u64 {
        let service = self.service(ip_bytes);
        if service == Moment::default() {
            return 0;
        }
        let parts = |moment: Moment| {
            u128::from(moment.nanos) * u128::from(self.unit()) + u128::from(moment.parts)
        };
        let services = parts(Moment { nanos, parts: 0 }) / parts(service);
        // Not more than `nanos` of one nanosecond each.
        let span = service.times(services as u64, self.unit());
        span.instant().as_nanos().min(nanos)
    }

    /// Number of parts in a nanosecond.
    fn unit(&self) -> u64 {
        self.rate.map_or(1, Rate::as_bps).max(1)
    }

    /// Service time of a packet of `ip_bytes`.
    #[inline]
    fn service(&mut self, ip_bytes: u64) -> Moment {
        if self.known.0 != ip_bytes {
            self.known = (ip_bytes, self.service_time(ip_bytes));
        }
        self.known.1
    }

    /// Computes equation (2).
    fn service_time(&self, ip_bytes: u64) -> Moment {
        let per_packet = Moment {
            nanos: self.per_packet,
            parts: 0,
        };
        match self.rate {
            None => per_packet,
            Some(rate) => {
                // At least one byte, so that service at a finite rate takes time whatever size a
                // parcel reports.
                let bytes = ip_bytes.saturating_add(self.overhead).max(1);
                let at_rate = time_at(rate.as_bps(), bytes);
                if at_rate.nanos >= self.per_packet {
                    at_rate
                } else {
                    per_packet
                }
            }
        }
    }

    /// End of service of everything accepted so far.
    pub(crate) const fn free_at(&self) -> Instant {
        self.free.instant()
    }

    /// Time from zero to `now` in which there was something to serve.
    pub(crate) fn busy_time(&self, now: Instant) -> Duration {
        let total = now.saturating_since(Instant::ZERO);
        let idle_now = now.saturating_since(self.free_at());
        debug_assert!(
            self.idle <= self.free_at().saturating_since(Instant::ZERO),
            "idle for {:?} before {:?}",
            self.idle,
            self.free_at()
        );
        total.saturating_sub(self.idle).saturating_sub(idle_now)
    }
}

/// Exact time of `bytes` at `bps`; infinite at zero.
fn time_at(bps: u64, bytes: u64) -> Moment {
    if bps == 0 {
        return Moment {
            nanos: u64::MAX,
            parts: 0,
        };
    }
    // Up to 2.3 GB fits into 64 bits here; every packet does.
    if let Some(bit_ns) = bytes.checked_mul(8_000_000_000) {
        return Moment {
            nanos: bit_ns / bps,
            parts: bit_ns % bps,
        };
    }
    let bit_ns = u128::from(bytes) * 8_000_000_000;
    let bps = u128::from(bps);
    Moment {
        nanos: u64::try_from(bit_ns / bps).unwrap_or(u64::MAX),
        parts: (bit_ns % bps) as u64,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use gigatcp_units::Bytes;

    use super::*;
    use crate::parcel::tests::Numbered;

    fn serializer(bps: u64, overhead: u64, per_packet: u64) -> Serializer {
        Serializer::new(&HopConfig {
            rate: Some(Rate::from_bps(bps)),
            link_overhead: Bytes::new(overhead),
            per_packet: Duration::from_nanos(per_packet),
            ..HopConfig::default()
        })
    }

    #[test]
    fn ten_gigabit_ethernet_serves_a_full_frame_in_1230_point_4_ns() {
        let mut link = serializer(10_000_000_000, 38, 0);
        let departures = [(); 5].map(|()| link.serve(Instant::ZERO, 1500).instant().as_nanos());
        assert_eq!(departures, [1231, 2461, 3692, 4922, 6152]);
    }

    /// Ten million packets later the end of service is exact to the nanosecond. The rates do not
    /// divide evenly.
    #[test]
    fn the_long_run_rate_is_exact() {
        for bps in [3, 333_333_333, 9_999_999_967, 100_000_000_003, u64::MAX] {
            let mut link = serializer(bps, 38, 0);
            let packets = 10_000_000_u64;
            for _ in 0..packets {
                link.serve(Instant::ZERO, 1500);
            }
            let bit_ns = u128::from(packets) * 1538 * 8_000_000_000;
            let expected = bit_ns.div_ceil(u128::from(bps));
            let expected = u64::try_from(expected).unwrap_or(u64::MAX);
            assert_eq!(link.free_at().as_nanos(), expected, "{bps} bit/s");
        }
    }

    /// 200 super-packets of 64 against 12 800 packets. Includes cases in which the parts of 64
    /// packets overflow 64 bits.
    #[test]
    fn serving_many_at_once_ends_when_serving_each_does() {
        for bps in [333_333_333, 99_999_999_977, u64::MAX] {
            let mut at_once = serializer(bps, 38, 0);
            let mut one_by_one = serializer(bps, 38, 0);
            for _ in 0..200 {
                let frames = Frames::of(&Numbered::several(0, 64, 1500, 77));
                let ends = (0..64).map(|i| one_by_one.serve(Instant::ZERO, frames.size(i)));
                let ends: Vec<Moment> = ends.collect();
                let (first, last) = at_once.serve_all(Instant::ZERO, frames);
                assert_eq!((first, last), (ends[0], ends[63]), "{bps} bit/s");
            }
        }
    }

    #[test]
    fn the_longer_of_rate_and_packet_ceiling_decides() {
        let mut link = serializer(1_000_000_000, 0, 1000);
        assert_eq!(link.serve(Instant::ZERO, 40).instant().as_nanos(), 1000);
        assert_eq!(link.serve(Instant::ZERO, 1250).instant().as_nanos(), 11_000);
    }

    #[test]
    fn busy_time_leaves_the_gaps_out() {
        let mut link = serializer(8_000_000_000, 0, 0);
        link.serve(Instant::from_nanos(100), 50);
        link.serve(Instant::from_nanos(1000), 50);
        let busy = |ns| link.busy_time(Instant::from_nanos(ns)).as_nanos();
        assert_eq!(busy(2000), 100);
        assert_eq!(busy(1020), 70);
    }

    #[test]
    fn a_link_that_stands_still_serves_in_the_far_future() {
        let mut link = serializer(0, 0, 0);
        let departure = link.serve(Instant::from_nanos(5), 1500).instant();
        assert_eq!(departure, Instant::FAR_FUTURE);
        assert_eq!(
            link.serve(Instant::from_nanos(6), 1500).instant(),
            departure
        );
        assert_eq!(link.busy_time(Instant::from_nanos(15)).as_nanos(), 10);
    }
}
