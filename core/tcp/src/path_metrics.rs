//! What connections to one address share: RFC 9040, as Linux's `tcp_metrics` does.
//!
//! A connection that ends leaves its RTT, its ssthresh and the path MTU ([`PathMetrics::learn`]).
//! The next one to the same address begins with them ([`PathMetrics::prepare`]): temporal sharing,
//! RFC 9040 section 6.
//!
//! * SRTT and RTTVAR count from the end of the handshake, whose own sample is then a later one (RFC
//!   6298 (2.3)). The timeout of the SYN does not change. A longer RTT replaces the one known, a
//!   shorter one moves it by 1/8, as a smaller RTTVAR does by 1/4.
//! * ssthresh, in segments, is the first one, unless the configuration has another.
//! * The path MTU is the first estimate, for as long as an estimate by ICMP is valid (`pmtu_raise`)
//!   since it fell: a connection that begins with it does not prolong it.
//!
//! A connection that timed out, or ends while its timer is backed off, removes the entry: what was
//! known no longer holds. A connection
//! stores none of this. What it begins with is in its [`TransportConfig`], which it
//! shares with others as long as nothing is known of its peer.
//!
//! Out of scope: sharing among concurrent connections (section 7), the congestion window (see
//! Careful Resume). Connections that a listener accepted begin with nothing, but leave what they
//! measured.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use core::net::IpAddr;

use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::Payload;

use crate::connection::{Connection, Failure, Info, TransportConfig};
use crate::profile::EarlierRtt;

/// Maximum number of addresses. The one heard of least recently is dropped for a new one.
const MAX_ADDRESSES: usize = 1024;

/// Age at which an entry is no longer used (Linux `TCP_METRICS_TIMEOUT`).
const MAX_AGE: Duration = Duration::from_secs(3600);

/// What is known of the path to an address.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// Time of the last connection's end.
    at: Instant,
    rtt: EarlierRtt,
    /// In segments; `None` if none was lost.
    ssthresh: Option<u32>,
    /// Size of packets in octets, if the path takes smaller ones than both hosts, and when it fell.
    mtu: Option<(u32, Instant)>,
}

/// What connections of a host have learned of the paths to their peers.
///
/// `A` identifies a peer: its address, or a number where hosts have none. Memory is bounded by
/// 1,024 of them; each call takes the logarithm of their number.
#[derive(Debug)]
pub struct PathMetrics<A = IpAddr> {
    paths: BTreeMap<A, Path>,
    /// The addresses, that of the earliest end first.
    by_age: BTreeSet<(Instant, A)>,
}

impl<A> Default for PathMetrics<A> {
    fn default() -> Self {
        Self {
            paths: BTreeMap::new(),
            by_age: BTreeSet::new(),
        }
    }
}

impl<A: Ord + Copy> PathMetrics<A> {
    /// Notes what `connection` to `remote` has measured, at its end.
    ///
    /// A profile that does not share, or a handshake that failed, leaves no entry. A connection that
    /// timed out removes the entry of its address.
    pub fn learn<P: Payload>(&mut self, now: Instant, remote: A, connection: &Connection<P>) {
        let transport = connection.transport();
        if !transport.profile.opening.shares_path_metrics {
            return;
        }
        let info = connection.info();
        if connection.failure() == Some(Failure::TimedOut) || info.backoff > 0 {
            self.remove(remote);
            return;
        }
        self.add(now, remote, connection.packet_limit(), &info);
    }

    /// Both hosts take packets of `limit` octets.
    fn add(&mut self, now: Instant, remote: A, limit: u32, info: &Info) {
        let (Some(srtt), Some(rttvar)) = (info.srtt, info.rttvar) else {
            return;
        };
        let earlier = self.remove(remote).filter(|path| path.is_valid(now));
        if earlier.is_none() && self.paths.len() >= MAX_ADDRESSES {
            let oldest = self.by_age.pop_first();
            oldest.and_then(|(_, address)| self.paths.remove(&address));
        }
        let measured = EarlierRtt { srtt, rttvar };
        let segments = info.ssthresh.as_u64() / u64::from(info.smss.max(1));
        let fell = |mtu: u32| {
            let known = earlier.and_then(|path| path.mtu);
            known.filter(|known| known.0 == mtu).unwrap_or((mtu, now))
        };
        let path = Path {
            at: now,
            rtt: earlier.map_or(measured, |path| merged(path.rtt, measured)),
            // RFC 5681 (4): no less than two segments. LEDBAT's is lower, and no measurement.
            ssthresh: (info.ssthresh != Bytes::MAX && segments >= 2)
                .then(|| segments.try_into().unwrap_or(u32::MAX))
                .or(earlier.and_then(|path| path.ssthresh)),
            mtu: Some(info.path_mtu).filter(|mtu| *mtu < limit).map(fell),
        };
        self.paths.insert(remote, path);
        self.by_age.insert((now, remote));
    }

    /// The configuration of a connection to `remote`: `transport`, with what is known of the path
    /// if its profile shares.
    pub fn prepare(
        &self,
        now: Instant,
        remote: A,
        transport: Arc<TransportConfig>,
    ) -> Arc<TransportConfig> {
        let known = self.paths.get(&remote).filter(|path| path.is_valid(now));
        let Some(path) = known.filter(|_| transport.profile.opening.shares_path_metrics) else {
            return transport;
        };
        let mut own = TransportConfig::clone(&transport);
        own.profile.timer.earlier_rtt = Some(path.rtt);
        if own.initial_ssthresh.is_none() {
            own.initial_ssthresh = path.ssthresh;
        }
        let raise = own.profile.path_mtu.pmtu_raise;
        let is_valid = |fell: Instant| now.saturating_since(fell) < raise;
        if let Some((mtu, _)) = path.mtu.filter(|(_, fell)| is_valid(*fell)) {
            own.profile.path_mtu.route_mtu = mtu;
        }
        own.into()
    }

    fn remove(&mut self, remote: A) -> Option<Path> {
        let path = self.paths.remove(&remote)?;
        self.by_age.remove(&(path.at, remote));
        Some(path)
    }
}

impl Path {
    fn is_valid(&self, now: Instant) -> bool {
        now.saturating_since(self.at) < MAX_AGE
    }
}

/// The estimate after another connection: too long an RTT costs less than too short a one.
fn merged(earlier: EarlierRtt, measured: EarlierRtt) -> EarlierRtt {
    let merge = |old: Duration, new: Duration, weight: u64| {
        if new >= old {
            new
        } else {
            (old * (weight - 1) + new) / weight
        }
    };
    EarlierRtt {
        srtt: merge(earlier.srtt, measured.srtt, 8),
        rttvar: merge(earlier.rttvar, measured.rttvar, 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::ConnectionConfig;
    use gigatcp_wire::Phantom;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn sharing() -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        config.profile.opening.shares_path_metrics = true;
        config.into()
    }

    /// The snapshot of a connection with this RTT.
    fn info(rtt: u64) -> Info {
        let [local, remote] = ["10.0.0.1:1", "10.0.0.2:2"].map(|at| at.parse().unwrap());
        let config = ConnectionConfig::new(local, remote, TransportConfig::default());
        Info {
            srtt: Some(ms(rtt)),
            rttvar: Some(ms(rtt) / 2),
            ..Connection::<Phantom>::connect(Instant::ZERO, &config).info()
        }
    }

    fn srtt(metrics: &PathMetrics<u32>, now: Instant, remote: u32) -> Option<Duration> {
        let config = metrics.prepare(now, remote, sharing());
        config.profile.timer.earlier_rtt.map(|earlier| earlier.srtt)
    }

    #[test]
    fn a_longer_rtt_replaces_the_known_one_and_a_shorter_one_moves_it() {
        let mut metrics = PathMetrics::default();
        metrics.add(at(0), 1, 1500, &info(80));
        assert_eq!(srtt(&metrics, at(1), 1), Some(ms(80)));
        metrics.add(at(1), 1, 1500, &info(160));
        assert_eq!(srtt(&metrics, at(2), 1), Some(ms(160)));
        metrics.add(at(2), 1, 1500, &info(80));
        assert_eq!(srtt(&metrics, at(3), 1), Some(ms(150)));
        assert_eq!(srtt(&metrics, at(3), 2), None);
    }

    #[test]
    fn an_entry_is_used_for_an_hour_and_its_path_mtu_until_it_would_be_raised() {
        let mut metrics = PathMetrics::default();
        let small = Info {
            path_mtu: 1280,
            ssthresh: Bytes::new(14_480),
            smss: 1448,
            ..info(80)
        };
        metrics.add(at(0), 1, 1500, &small);
        // A connection that began with both leaves them as they were.
        metrics.add(at(9), 1, 1500, &small);
        let raise = sharing().profile.path_mtu.pmtu_raise;
        let mtu = |now| {
            metrics
                .prepare(now, 1, sharing())
                .profile
                .path_mtu
                .route_mtu
        };
        assert_eq!((mtu(at(0) + raise - ms(1)), mtu(at(0) + raise)), (1280, 0));
        let ssthresh = metrics.prepare(at(3608), 1, sharing()).initial_ssthresh;
        assert_eq!(ssthresh, Some(10));
        assert_eq!(srtt(&metrics, at(3608), 1), Some(ms(80)));
        assert_eq!(srtt(&metrics, at(3609), 1), None);
    }

    #[test]
    fn a_profile_that_does_not_share_keeps_its_configuration() {
        let mut metrics = PathMetrics::default();
        metrics.add(at(0), 1, 1500, &info(80));
        let config = Arc::new(TransportConfig::default());
        assert!(Arc::ptr_eq(
            &metrics.prepare(at(1), 1, config.clone()),
            &config
        ));
    }

    #[test]
    fn memory_is_bounded_and_the_address_heard_of_least_recently_makes_room() {
        let mut metrics = PathMetrics::default();
        for remote in 0..5000 {
            metrics.add(at(u64::from(remote) / 10), remote, 1500, &info(80));
            // This one stays in use.
            metrics.add(at(u64::from(remote) / 10), 0, 1500, &info(80));
            assert_eq!(metrics.paths.len(), metrics.by_age.len());
            assert!(metrics.paths.len() <= MAX_ADDRESSES);
        }
        let is_known = |remote| srtt(&metrics, at(500), remote).is_some();
        assert!(is_known(0) && !is_known(1) && !is_known(3900) && is_known(4999));
    }
}
