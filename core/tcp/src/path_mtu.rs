//! Path MTU estimate, and the next size to try.
//!
//! Two methods, each a switch:
//!
//! * `pmtud`, RFC 1191 and RFC 8201: a router that drops a packet as too big reports its link's
//!   MTU. If it reports none, the next lower plateau of RFC 1191 section 7.1 applies. An error can
//!   only lower the estimate, and never below what every link must accept.
//!
//!   Any host can forge such an error. So one that reports less than `pmtu_min` (Linux
//!   `min_pmtu`) lowers the estimate to that and no further. With `too_big_waits`, one that
//!   contradicts delivered packets changes nothing yet (RFC 5927 section 7.2). In both cases the
//!   reported MTU is accepted once the segment it quotes has timed out. A path that really changed
//!   costs one timeout.
//! * `plpmtud`, RFC 4821 and RFC 8899: without router messages, the sender searches. Consecutive
//!   timeouts at full size count as a black hole, and the estimate falls to the base. From there
//!   probes raise it: single segments of real data larger than the others. A probe that arrives
//!   raises the estimate; one that is lost three times bounds the search.
//!
//! The search first tries the largest possible size, which usually succeeds. A binary search over
//! the MTUs of real links follows, then one over the sizes in between. It ends within
//! [`GOOD_ENOUGH`] octets.
//!
//! Estimates expire: after `pmtu_raise` without an error or a failed probe, a larger size is
//! tried. This is a probe or, with `pmtud` alone, the next plateau above (RFC 1191 section 6.3).
//! This requires no timer: it is checked when there is data to send.
//!
//! Out of scope: one estimate for all connections to a host (RFC 1191 section 6.3). The driver
//! keeps it and passes in what it remembers of a route as `route_mtu`.

use alloc::boxed::Box;
use core::ops::Range;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{FIXED_HEADER_LEN, IpVersion};

use crate::profile::Profile;

/// Plateaus of RFC 1191 section 7.1, table 7-1.
const PLATEAUS: [u32; 11] = [
    65_535, 32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68,
];

/// MTUs of real links, and of tunnels over them: sizes a search tries first.
const COMMON: [u32; 14] = [
    1280, 1400, 1420, 1460, 1476, 1480, 1492, 1500, 2002, 4352, 4470, 8166, 9000, 17_914,
];

/// Uncertainty in octets that is not worth a probe (Linux `tcp_probe_threshold`).
const GOOD_ENOUGH: u32 = 8;

/// Lower bound of the estimate for IPv4 without a router's report. Every host must accept it (RFC
/// 791 section 3.1).
const LEAST_GUESS_V4: u32 = 576;

/// Time until the next raise after a raise to a plateau. It is shorter than after an error (RFC
/// 1191 section 6.3).
const NEXT_PLATEAU: Duration = Duration::from_secs(120);

/// A probe in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Probe {
    octets: Range<u64>,
    /// Packet size of the probe.
    mtu: u32,
}

/// Path MTU estimate of one connection and its probe.
#[derive(Clone, Debug)]
pub struct PathMtu {
    ip: IpVersion,
    /// Upper bound from interface and peer.
    ceiling: u32,
    /// Estimate: packets of this size pass.
    current: u32,
    /// Upper bound of the search: larger packets do not pass.
    high: u32,
    /// Lost probes of the current size.
    failures: u32,
    probe: Option<Box<Probe>>,
    /// End of the probe in progress; [`u64::MAX`] without one.
    probe_end: u64,
    /// Time of the next attempt; far future for never.
    act_at: Instant,
    /// End of the first segment sent at the size of the estimate; [`u64::MAX`] before.
    full_end: u64,
    /// Reported error not yet accepted.
    pending: Option<Box<Claim>>,
}

/// Reported error not yet accepted (`claimedmtu` and `pendingmessage` of RFC 5927 section 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Claim {
    /// First octet of the quoted segment.
    seq: u64,
    mtu: u32,
}

impl PathMtu {
    /// An estimate at the interface's limit.
    pub fn new(ip: IpVersion, ceiling: u32) -> Self {
        Self {
            ip,
            ceiling,
            current: ceiling,
            high: ceiling,
            failures: 0,
            probe: None,
            probe_end: u64::MAX,
            act_at: Instant::FAR_FUTURE,
            full_end: u64::MAX,
            pending: None,
        }
    }

    /// Starts with the negotiated limit: the peer accepts packets of `ceiling` octets. The result
    /// of an error about the SYN is kept.
    pub fn start(&mut self, now: Instant, profile: &Profile, ceiling: u32) {
        let (told, told_until) = (self.current, self.act_at);
        *self = Self::new(self.ip, ceiling);
        if told < ceiling && told_until < Instant::FAR_FUTURE {
            self.current = told;
            self.act_at = told_until;
        }
        if profile.path_mtu.plpmtud && profile.path_mtu.plpmtud_from_base {
            self.current = self.base(profile).min(self.current);
            self.act_at = now;
        }
        let remembered = profile.path_mtu.route_mtu.max(self.ip.least_mtu());
        if profile.path_mtu.route_mtu > 0 && remembered < self.current {
            self.current = remembered;
            self.act_at = now + profile.path_mtu.pmtu_raise;
        }
        self.assert_invariants();
    }

    /// Asserts the invariants: estimate <= search <= ceiling.
    fn assert_invariants(&self) {
        debug_assert!(
            self.current <= self.ceiling,
            "an estimate of {} octets, interface and peer allow {}",
            self.current,
            self.ceiling
        );
        debug_assert!(
            self.current <= self.high && self.high <= self.ceiling,
            "the search is from {} to {}, interface and peer allow {}",
            self.current,
            self.high,
            self.ceiling
        );
        let probe = self.probe.as_ref();
        debug_assert!(
            probe.map_or(u64::MAX, |probe| probe.octets.end) == self.probe_end,
            "probe {probe:?} ends at {}",
            self.probe_end
        );
    }

    /// IP version below TCP.
    pub fn ip(&self) -> IpVersion {
        self.ip
    }

    /// Current estimate.
    #[inline]
    pub fn current(&self) -> u32 {
        self.current
    }

    /// Octets of IP and TCP headers without options.
    #[inline]
    pub fn headers(&self) -> u32 {
        self.ip.header_len() + FIXED_HEADER_LEN as u32
    }

    /// Whether an attempt may be due at `now`.
    #[inline]
    pub fn is_act_due(&self, now: Instant) -> bool {
        now >= self.act_at
    }

    /// End of the probe in progress, [`u64::MAX`] without one.
    #[inline]
    pub fn probe_end(&self) -> u64 {
        self.probe_end
    }

    /// First octet of the probe in progress.
    pub fn probe_start(&self) -> Option<u64> {
        self.probe.as_ref().map(|probe| probe.octets.start)
    }

    /// Octets of the probe in progress.
    pub fn probe(&self) -> Option<Range<u64>> {
        self.probe.as_ref().map(|probe| probe.octets.clone())
    }

    /// `BASE_PLPMTU` of RFC 8899 section 5.1.2.
    fn base(&self, profile: &Profile) -> u32 {
        profile.path_mtu.pmtu_base.max(self.ip.least_mtu())
    }

    /// Notes that a segment of the estimate's size left and ends at `end`.
    #[inline]
    pub fn note_full_segment(&mut self, end: u64) {
        self.full_end = self.full_end.min(end);
    }

    /// Processes a reported MTU of `told` octets, 0 if unspecified, for the segment at `seq`.
    /// `una` is acknowledged. Returns the new estimate, if the error changes it.
    pub fn on_too_big(
        &mut self,
        now: Instant,
        profile: &Profile,
        told: u32,
        (una, seq): (u64, u64),
    ) -> Option<u32> {
        let mtu = match (told, self.ip) {
            (0, IpVersion::V4) => plateau_below(self.current),
            _ => told,
        };
        // RFC 1191 section 3 and RFC 8201 section 4: never below the minimum of every link, and
        // never up.
        if mtu < self.ip.least_mtu() || mtu >= self.current {
            return None;
        }
        let floor = match self.ip {
            IpVersion::V4 => profile.path_mtu.pmtu_min,
            IpVersion::V6 => self.ip.least_mtu(),
        };
        let is_contradicted = una >= self.full_end;
        let waits = profile.path_mtu.too_big_waits && is_contradicted;
        if (waits || mtu < floor) && self.pending.as_ref().is_none_or(|claim| claim.seq < una) {
            self.pending = Some(Box::new(Claim { seq, mtu }));
        }
        let mtu = mtu.max(floor);
        if waits || mtu >= self.current {
            return None;
        }
        Some(self.fall_to(now, profile, mtu))
    }

    /// Accepts a pending error after a retransmission timeout with `una` acknowledged. The quoted
    /// segment must still be outstanding (RFC 5927 section 7.2, with `MAXSEGRTO` of one). Returns
    /// the new estimate and the segment.
    pub fn on_timeout(&mut self, now: Instant, profile: &Profile, una: u64) -> Option<(u32, u64)> {
        let claim = self.pending.take()?;
        let is_open = claim.seq >= una && claim.mtu < self.current;
        is_open.then(|| (self.fall_to(now, profile, claim.mtu), claim.seq))
    }

    /// Lowers the estimate to `mtu`, until it ages.
    fn fall_to(&mut self, now: Instant, profile: &Profile, mtu: u32) -> u32 {
        debug_assert!(
            mtu < self.current,
            "an error raises the estimate from {} to {mtu} (RFC 8201 section 4)",
            self.current
        );
        self.current = mtu;
        // An aged estimate is searched from the maximum down (RFC 1191 section 6.3, RFC 8899
        // section 5.1.1).
        self.high = self.ceiling;
        self.full_end = u64::MAX;
        self.forget_probe();
        self.act_at = now + profile.path_mtu.pmtu_raise;
        self.assert_invariants();
        mtu
    }

    /// Raises an aged estimate by one plateau, without probes (RFC 1191 section 6.3).
    pub fn age(&mut self, now: Instant) -> u32 {
        let next = PLATEAUS.iter().rev().find(|p| **p > self.current);
        self.current = next.map_or(self.ceiling, |next| (*next).min(self.ceiling));
        self.full_end = u64::MAX;
        self.act_at = if self.current < self.ceiling {
            now + NEXT_PLATEAU
        } else {
            Instant::FAR_FUTURE
        };
        self.assert_invariants();
        self.current
    }

    /// Result of [`PathMtu::age`] without applying it.
    pub fn aged(&self) -> u32 {
        let mut later = self.clone();
        later.age(Instant::ZERO)
    }

    /// Sizes to fall to when packets are silently dropped (RFC 8899 section 4.3). First the base;
    /// if that does not help, the minimum of every path.
    pub fn falls(&self, profile: &Profile) -> impl Iterator<Item = u32> + use<> {
        let base = self.base(profile);
        let least = match self.ip {
            IpVersion::V4 => LEAST_GUESS_V4.min(base),
            IpVersion::V6 => self.ip.least_mtu(),
        };
        let current = self.current;
        [base, least].into_iter().filter(move |mtu| *mtu < current)
    }

    /// Lowers the estimate to `mtu` after a black hole.
    pub fn on_black_hole(&mut self, now: Instant, mtu: u32) {
        self.current = mtu;
        // It may have been an outage: the search starts with the previous maximum.
        self.high = self.ceiling;
        self.full_end = u64::MAX;
        self.forget_probe();
        self.failures = 0;
        self.act_at = now;
        self.assert_invariants();
    }

    /// Next packet size to probe. `None` ends the search until the estimate has aged
    /// (`PMTU_RAISE_TIMER`, RFC 8899 section 5.1.1).
    pub fn next_probe(&mut self, now: Instant, profile: &Profile) -> Option<u32> {
        if self.probe.is_some() {
            return None;
        }
        if self.current >= self.ceiling {
            self.act_at = Instant::FAR_FUTURE;
            return None;
        }
        let next = self.candidate();
        if next.is_none() {
            self.act_at = now + profile.path_mtu.pmtu_raise;
            self.high = self.ceiling;
        }
        next
    }

    fn candidate(&self) -> Option<u32> {
        let (low, high) = (self.current, self.high);
        if high == self.ceiling && low < high {
            return Some(high);
        }
        let is_open = |mtu: &&u32| low < **mtu && **mtu <= high;
        let open = COMMON.iter().filter(is_open).count();
        if let Some(mtu) = COMMON.iter().filter(is_open).nth(open / 2) {
            return Some(*mtu);
        }
        (high.saturating_sub(low) >= GOOD_ENOUGH).then(|| low + (high - low).div_ceil(2))
    }

    /// Notes that a probe of `mtu` octets left with these octets of the stream.
    pub fn on_probe_sent(&mut self, octets: Range<u64>, mtu: u32) {
        debug_assert!(
            self.probe.is_none() && self.current < mtu && mtu <= self.ceiling,
            "a probe of {mtu} octets, the estimate is {}, the ceiling {}, in flight {:?}",
            self.current,
            self.ceiling,
            self.probe
        );
        self.probe_end = octets.end;
        self.probe = Some(Box::new(Probe { octets, mtu }));
    }

    /// Raises the estimate to the size of the acknowledged probe.
    pub fn on_probe_acknowledged(&mut self) -> Option<u32> {
        let probe = self.probe.take()?;
        self.forget_probe();
        self.failures = 0;
        self.current = self.current.max(probe.mtu);
        // The probe had that size.
        self.full_end = probe.octets.end;
        self.assert_invariants();
        Some(self.current)
    }

    /// Notes that the probe alone was lost. `MAX_PROBES` of one size bound the search.
    pub fn on_probe_lost(&mut self, profile: &Profile) {
        let Some(probe) = self.probe.take() else {
            return;
        };
        self.forget_probe();
        self.failures += 1;
        if self.failures >= profile.path_mtu.pmtu_probes {
            self.high = (probe.mtu - 1).max(self.current);
            self.failures = 0;
        }
        self.assert_invariants();
    }

    /// Discards the probe without a conclusion about its size.
    pub fn forget_probe(&mut self) {
        self.probe = None;
        self.probe_end = u64::MAX;
    }
}

/// Largest plateau below `mtu` (RFC 1191 section 7).
fn plateau_below(mtu: u32) -> u32 {
    PLATEAUS
        .iter()
        .copied()
        .find(|plateau| *plateau < mtu)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const NOW: Instant = Instant::ZERO;

    /// SND.UNA and the segment an error quotes.
    const HEAD: (u64, u64) = (1, 1);

    /// Profile without a lower bound of its own for the MTU.
    fn trusting() -> Profile {
        Profile::MODERN.with(|profile| {
            profile.path_mtu.pmtu_min = 68;
        })
    }

    fn searching() -> Profile {
        Profile::MODERN.with(|profile| {
            profile.path_mtu.plpmtud = true;
            profile.path_mtu.plpmtud_from_base = true;
        })
    }

    /// Searches below `ceiling` on a path with MTU `limit`. Returns the sizes probed and the
    /// result.
    fn search(ip: IpVersion, ceiling: u32, limit: u32) -> (Vec<u32>, u32) {
        let profile = searching();
        let mut path = PathMtu::new(ip, ceiling);
        path.start(NOW, &profile, ceiling);
        let mut probed = Vec::new();
        while let Some(mtu) = path.next_probe(NOW, &profile) {
            probed.push(mtu);
            path.on_probe_sent(1..u64::from(mtu), mtu);
            if mtu <= limit {
                path.on_probe_acknowledged();
            } else {
                path.on_probe_lost(&profile);
            }
        }
        (probed, path.current())
    }

    #[test]
    fn one_probe_is_enough_where_the_interface_is_right() {
        assert_eq!(search(IpVersion::V4, 1500, 1500), ([1500].into(), 1500));
        assert_eq!(search(IpVersion::V6, 9000, 9000), ([9000].into(), 9000));
    }

    #[test]
    fn an_mtu_of_1492_behind_an_interface_of_9000_is_found_in_few_sizes() {
        let (mut probed, found) = search(IpVersion::V4, 9000, 1492);
        assert_eq!(found, 1492);
        probed.dedup();
        assert_eq!(probed, [9000, 1492, 4352, 2002, 1500]);
    }

    #[test]
    fn every_path_is_found_to_within_eight_octets_and_never_overestimated() {
        for limit in (1200..9300).step_by(7) {
            let (probed, found) = search(IpVersion::V4, 9216, limit);
            assert!(found <= limit, "{limit}: {found}");
            assert!(limit.min(9216) - found < 8, "{limit}: {found}");
            assert!(probed.len() < 45, "{limit}: {probed:?}");
        }
    }

    #[test]
    fn a_router_that_names_no_mtu_gets_the_plateaus_of_rfc_1191_one_by_one() {
        let profile = trusting();
        let mut path = PathMtu::new(IpVersion::V4, 9000);
        let mut seen = Vec::new();
        while let Some(mtu) = path.on_too_big(NOW, &profile, 0, HEAD) {
            seen.push(mtu);
        }
        assert_eq!(seen, [8166, 4352, 2002, 1492, 1006, 508, 296, 68]);
    }

    #[test]
    fn an_error_neither_raises_the_estimate_nor_lowers_it_below_the_floor() {
        let profile = trusting();
        let mut v4 = PathMtu::new(IpVersion::V4, 1500);
        assert_eq!(v4.on_too_big(NOW, &profile, 1500, HEAD), None);
        assert_eq!(v4.on_too_big(NOW, &profile, 9000, HEAD), None);
        assert_eq!(v4.on_too_big(NOW, &profile, 67, HEAD), None);
        assert_eq!(v4.on_too_big(NOW, &profile, 68, HEAD), Some(68));
        assert_eq!(v4.on_too_big(NOW, &profile, 0, HEAD), None);
        let mut v6 = PathMtu::new(IpVersion::V6, 1500);
        assert_eq!(v6.on_too_big(NOW, &profile, 1279, HEAD), None);
        assert_eq!(
            v6.on_too_big(NOW, &profile, 0, HEAD),
            None,
            "RFC 8201 has no old routers"
        );
        assert_eq!(v6.on_too_big(NOW, &profile, 1280, HEAD), Some(1280));
    }

    #[test]
    fn an_old_estimate_climbs_by_plateaus_to_what_the_interface_takes() {
        let profile = Profile::MODERN;
        let mut path = PathMtu::new(IpVersion::V4, 9000);
        path.on_too_big(NOW, &profile, 1400, HEAD);
        assert!(!path.is_act_due(NOW + Duration::from_secs(599)));
        assert!(path.is_act_due(NOW + Duration::from_secs(600)));
        let climbed: Vec<u32> = (0..5).map(|_| path.age(NOW)).collect();
        assert_eq!(climbed, [1492, 2002, 4352, 8166, 9000]);
        assert!(!path.is_act_due(NOW + Duration::from_secs(1_000_000)));
    }

    #[test]
    fn a_black_hole_leads_to_the_base_and_then_to_what_every_path_takes() {
        let profile = searching();
        let fall = |ip, ceiling| {
            let mut path = PathMtu::new(ip, ceiling);
            let mut falls = Vec::new();
            while let Some(mtu) = path.falls(&profile).next() {
                path.on_black_hole(NOW, mtu);
                falls.push(mtu);
            }
            falls
        };
        assert_eq!(fall(IpVersion::V4, 9000), [1200, 576]);
        assert_eq!(fall(IpVersion::V6, 9000), [1280]);
        assert_eq!(fall(IpVersion::V4, 1000), [576]);
        assert_eq!(fall(IpVersion::V4, 400), []);
        assert_eq!(fall(IpVersion::V6, 1280), []);
    }

    #[test]
    fn an_error_below_the_least_estimate_is_believed_after_a_timeout_only() {
        let profile = Profile::MODERN.with(|profile| {
            profile.path_mtu.pmtu_min = 552;
        });
        let mut path = PathMtu::new(IpVersion::V4, 1500);
        assert_eq!(path.on_too_big(NOW, &profile, 296, (1, 1)), Some(552));
        assert_eq!(path.on_too_big(NOW, &profile, 296, (1, 1)), None);
        assert_eq!(path.on_timeout(NOW, &profile, 1), Some((296, 1)));
        assert_eq!(path.on_timeout(NOW, &profile, 1), None);
        // Data acknowledged since was not too big.
        let mut path = PathMtu::new(IpVersion::V4, 1500);
        path.on_too_big(NOW, &profile, 296, (1, 1));
        assert_eq!(path.on_timeout(NOW, &profile, 2), None);
        assert_eq!(path.current(), 552);
    }

    #[test]
    fn an_error_about_a_size_that_got_through_waits_for_a_timeout() {
        // RFC 5927 section 7.2.
        let profile = Profile::MODERN;
        let mut path = PathMtu::new(IpVersion::V6, 9000);
        path.note_full_segment(9001);
        path.note_full_segment(18_001);
        assert_eq!(path.on_too_big(NOW, &profile, 1500, (9001, 9001)), None);
        assert_eq!(path.on_timeout(NOW, &profile, 9001), Some((1500, 9001)));
        // No segment of the new size was delivered yet: the next link is smaller.
        assert_eq!(
            path.on_too_big(NOW, &profile, 1280, (9001, 9001)),
            Some(1280)
        );
    }

    #[test]
    fn an_estimate_that_an_error_lowered_is_probed_for_more_once_it_is_old() {
        // RFC 8899 section 5.1.1.
        let profile = Profile::MODERN;
        let mut path = PathMtu::new(IpVersion::V4, 1500);
        path.on_too_big(NOW, &profile, 1200, HEAD);
        let later = NOW + profile.path_mtu.pmtu_raise;
        assert!(path.is_act_due(later));
        assert_eq!(path.next_probe(later, &profile), Some(1500));
    }
}
