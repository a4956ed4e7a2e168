//! Fast Open cookies outside connections: RFC 7413 sections 4.1.2 and 4.1.3.
//!
//! * [`FastOpenKey`]: the server's cookies, 8 octets of SipHash-2-4 over the client's address. The
//!   key may be changed: cookies of the previous key are still accepted, and answered with a new
//!   one.
//! * [`FastOpenCache`]: the client's bounded LRU cache of cookies and MSS by server address. It
//!   also records negative responses (section 4.1.3.1): no Fast Open for a while, twice as long
//!   each time.
//! * `FastOpenSlots`: number of connections opened this way whose handshake is incomplete
//!   (section 5.1). The connection holds a slot and releases it itself, on any thread.
//!
//! The cache identifies servers by address, not by port, as RFC 7413 section 4.1.3 allows and
//! Linux does.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::net::IpAddr;
use core::sync::atomic::{AtomicUsize, Ordering};

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::FastOpenCookie;

use crate::profile::{IgnoredRequest, Profile};
use crate::secret::{Purpose, Secret};

/// Time without Fast Open after the first negative response, doubled each time (Linux: 60 s).
const FIRST_ABSTENTION: Duration = Duration::from_secs(60);

/// Time without Fast Open after an ignored request (`IgnoredRequest::Abstain`).
const PATH_DISABLED: Duration = Duration::from_secs(900);

/// Maximum number of doublings: the time is then about 18 hours.
const MOST_DOUBLINGS: u32 = 10;

/// Server key that makes and verifies cookies.
#[derive(Clone, Copy, Debug)]
pub struct FastOpenKey {
    current: Secret,
    previous: Option<Secret>,
    /// Address of the server, if cookies are Linux's.
    linux_server: Option<IpAddr>,
}

/// Validity of a cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CookieValidity {
    /// Valid: the data may be accepted.
    Good,
    /// Valid under the previous key: the data may be accepted, a new cookie is due.
    Outdated,
    /// Invalid.
    Bad,
}

impl FastOpenKey {
    /// Key of this secret.
    pub const fn new(secret: Secret) -> Self {
        Self {
            current: secret,
            previous: None,
            linux_server: None,
        }
    }

    /// Key of this secret, which has no other use, with the cookies that Linux makes of it
    /// (`tcp_fastopen_key`): of the addresses of both hosts.
    pub const fn of_linux(secret: Secret, server: IpAddr) -> Self {
        Self {
            linux_server: Some(server),
            ..Self::new(secret)
        }
    }

    /// Changes to a new secret. Cookies of the current one stay valid until the next change.
    pub fn change(&mut self, secret: Secret) {
        self.previous = Some(self.current);
        self.current = secret;
    }

    /// Whether a listener with this profile accepts the option.
    pub(crate) const fn serves(&self, profile: &Profile) -> bool {
        profile.opening.fast_open_server
    }

    /// Cookie of a client.
    pub fn cookie(&self, client: IpAddr) -> FastOpenCookie {
        self.cookie_of(&self.current, client)
    }

    fn cookie_of(&self, secret: &Secret, client: IpAddr) -> FastOpenCookie {
        let octets = match self.linux_server {
            Some(server) => secret.sip_hash_of([client, server]).to_le_bytes(),
            None => {
                let value = secret.keyed(Purpose::FastOpenCookie).address(client);
                value.finish().to_be_bytes()
            }
        };
        FastOpenCookie::new(&octets).unwrap_or(FastOpenCookie::REQUEST)
    }

    /// Validity of the cookie `offered` by `client`.
    pub(crate) fn check_cookie(&self, client: IpAddr, offered: FastOpenCookie) -> CookieValidity {
        let is_of =
            |secret: &Secret| self.cookie_of(secret, client).as_slice() == offered.as_slice();
        if is_of(&self.current) {
            CookieValidity::Good
        } else if self.previous.as_ref().is_some_and(is_of) {
            CookieValidity::Outdated
        } else {
            CookieValidity::Bad
        }
    }
}

/// Number of pending Fast Open connections of a listener.
#[derive(Clone, Default, Debug)]
pub(crate) struct FastOpenSlots(Arc<SlotCounts>);

/// Atomic counters, because connections may be on other threads. The counts are independent, so
/// memory order does not matter.
#[derive(Default, Debug)]
struct SlotCounts {
    pending: AtomicUsize,
    resets: AtomicUsize,
}

/// One slot, held by the connection until its handshake is complete.
#[derive(Debug)]
pub(crate) struct FastOpenSlot(Arc<SlotCounts>);

impl FastOpenSlots {
    /// Takes a slot.
    pub fn take(&self) -> FastOpenSlot {
        self.0.pending.fetch_add(1, Ordering::Relaxed);
        FastOpenSlot(Arc::clone(&self.0))
    }

    /// Number of slots in use.
    pub fn pending(&self) -> usize {
        self.0.pending.load(Ordering::Relaxed)
    }

    /// Slots released because of a reset since the last call.
    pub(crate) fn take_resets(&self) -> usize {
        self.0.resets.swap(0, Ordering::Relaxed)
    }
}

impl FastOpenSlot {
    /// Releases the slot because the peer reset the connection.
    pub(crate) fn end_by_reset(self) {
        self.0.resets.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for FastOpenSlot {
    fn drop(&mut self) {
        self.0.pending.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Data a client may put on its SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FastOpenOffer {
    /// The server's cookie, or the request for one.
    pub cookie: FastOpenCookie,
    /// Last MSS of the server, or the default of its address family. See RFC 7413 section 4.1.3.
    pub mss: u16,
}

/// Result of a fast open.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FastOpenOutcome {
    /// Cookie from the server.
    pub cookie: Option<FastOpenCookie>,
    /// MSS that the server announced.
    pub mss: Option<u16>,
    /// Octets of data in our SYN.
    pub text_sent: u32,
    /// Octets of data in our SYN that the SYN-ACK acknowledged.
    pub text_acked: u32,
    /// Our first SYN was not answered in time.
    pub timed_out: bool,
    /// An ICMP error about our SYN was accepted.
    pub icmp_error: bool,
    /// A SYN-ACK arrived.
    pub answered: bool,
    /// Consequence of a SYN-ACK that ignored our request for a cookie.
    pub ignored_request: Option<IgnoredRequest>,
}

impl FastOpenOutcome {
    /// Whether this is a negative response (RFC 7413 section 4.1.3.1). These are: data in SYN that
    /// the SYN-ACK does not acknowledge, no SYN-ACK in time or ever, an ICMP error. A new cookie
    /// is not negative: it invites another attempt.
    pub fn is_negative(&self) -> bool {
        let refused = self.answered && self.text_sent > 0;
        let failed = refused || self.timed_out || self.icmp_error;
        failed && self.text_acked == 0 && self.cookie.is_none()
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    cookie: Option<FastOpenCookie>,
    mss: Option<u16>,
    failures: u32,
    abstain_until: Instant,
    /// Whether the next request is by the experimental option; `None` before anything speaks for
    /// it. It is tried once (Linux `tcp_fastopen_cache_get`).
    experiment: Option<bool>,
    /// Sequence number of the last use.
    used: u64,
}

impl Entry {
    fn request(&self) -> FastOpenCookie {
        if self.experiment == Some(true) {
            FastOpenCookie::REQUEST.as_experimental()
        } else {
            FastOpenCookie::REQUEST
        }
    }

    /// Notes an ignored request.
    fn on_ignored(&mut self, now: Instant, consequence: IgnoredRequest) {
        match consequence {
            IgnoredRequest::Repeat => {}
            IgnoredRequest::Experiment => self.experiment = Some(self.experiment.is_none()),
            IgnoredRequest::Abstain => self.abstain_until = now + PATH_DISABLED,
        }
    }
}

/// Client cache of servers.
#[derive(Clone, Debug)]
pub struct FastOpenCache {
    servers: BTreeMap<IpAddr, Entry>,
    capacity: usize,
    uses: u64,
}

impl FastOpenCache {
    /// An empty cache for `capacity` servers.
    pub const fn new(capacity: usize) -> Self {
        Self {
            servers: BTreeMap::new(),
            capacity,
            uses: 0,
        }
    }

    /// Number of cached servers.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Cookie for `server`, or a cookie request. `None` while Fast Open is off after a negative
    /// response.
    pub fn offer(&mut self, now: Instant, server: IpAddr) -> Option<FastOpenOffer> {
        let default_mss = match server {
            IpAddr::V4(_) => 536,
            IpAddr::V6(_) => 1220,
        };
        self.uses += 1;
        let known = self.servers.get_mut(&server);
        if let Some(entry) = &known
            && now < entry.abstain_until
        {
            return None;
        }
        let (cookie, mss) = match known {
            Some(entry) => {
                entry.used = self.uses;
                (entry.cookie.unwrap_or(entry.request()), entry.mss)
            }
            None => (FastOpenCookie::REQUEST, None),
        };
        Some(FastOpenOffer {
            cookie,
            mss: mss.unwrap_or(default_mss),
        })
    }

    /// Records the result of a connection to `server` that is established or was aborted. A server
    /// that never answered counts too: something on the path may drop every segment after a SYN
    /// with data (RFC 7413 section 4.1.3.1).
    pub fn learn(&mut self, now: Instant, server: IpAddr, outcome: &FastOpenOutcome) {
        if !outcome.answered && !outcome.is_negative() {
            return;
        }
        self.make_room_for(server);
        self.uses += 1;
        let used = self.uses;
        let entry = self.servers.entry(server).or_insert(Entry {
            cookie: None,
            mss: None,
            failures: 0,
            abstain_until: Instant::ZERO,
            experiment: None,
            used,
        });
        entry.used = used;
        entry.cookie = outcome.cookie.or(entry.cookie);
        entry.mss = outcome.mss.or(entry.mss);
        if let Some(consequence) = outcome.ignored_request {
            entry.on_ignored(now, consequence);
        }
        if outcome.is_negative() {
            let wait = FIRST_ABSTENTION * (1 << entry.failures.min(MOST_DOUBLINGS));
            entry.abstain_until = now + wait;
            entry.failures += 1;
        } else if outcome.text_acked > 0 {
            entry.failures = 0;
        }
    }

    /// Evicts the entry unused for longest if a new server finds the cache full. It scans the
    /// cache, but never per segment.
    fn make_room_for(&mut self, server: IpAddr) {
        if self.servers.contains_key(&server) || self.servers.len() < self.capacity.max(1) {
            return;
        }
        let oldest = self.servers.iter().min_by_key(|(_, entry)| entry.used);
        if let Some(oldest) = oldest.map(|(server, _)| *server) {
            self.servers.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::net::{Ipv4Addr, Ipv6Addr};

    fn v4(host: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, host))
    }

    fn answered() -> FastOpenOutcome {
        FastOpenOutcome {
            answered: true,
            ..FastOpenOutcome::default()
        }
    }

    #[test]
    fn cookie_of_linux_is_that_of_its_self_tests() {
        let octets: Vec<u8> = [0xa1_u8, 0xb2, 0xc3, 0xd4]
            .into_iter()
            .flat_map(|octet| [octet; 4])
            .collect();
        let secret = Secret::new(octets.try_into().unwrap());
        let address = |octets: [u8; 4]| IpAddr::from(octets);
        let key = FastOpenKey::of_linux(secret, address([192, 168, 0, 1]));
        let cookie = key.cookie(address([192, 0, 2, 1]));
        assert_eq!(cookie.as_slice(), 0x3021_b9d8_8901_7eeb_u64.to_be_bytes());
    }

    #[test]
    fn a_cookie_is_good_for_its_client_only_and_outlives_one_change_of_key() {
        let mut key = FastOpenKey::new(Secret::new([1; 16]));
        let first = key.cookie(v4(1));
        assert_eq!(first.as_slice().len(), 8);
        assert_eq!(key.check_cookie(v4(1), first), CookieValidity::Good);
        assert_eq!(key.check_cookie(v4(2), first), CookieValidity::Bad);
        assert_eq!(
            key.check_cookie(IpAddr::V6(Ipv6Addr::LOCALHOST), first),
            CookieValidity::Bad
        );
        assert_eq!(
            key.check_cookie(v4(1), FastOpenCookie::REQUEST),
            CookieValidity::Bad
        );
        key.change(Secret::new([2; 16]));
        assert_eq!(key.check_cookie(v4(1), first), CookieValidity::Outdated);
        assert_eq!(
            key.check_cookie(v4(1), key.cookie(v4(1))),
            CookieValidity::Good
        );
        key.change(Secret::new([3; 16]));
        assert_eq!(key.check_cookie(v4(1), first), CookieValidity::Bad);
    }

    #[test]
    fn a_server_is_asked_for_a_cookie_first_and_offered_it_then() {
        let mut cache = FastOpenCache::new(10);
        let offer = cache.offer(Instant::ZERO, v4(1)).unwrap();
        assert_eq!((offer.cookie, offer.mss), (FastOpenCookie::REQUEST, 536));
        let offer = cache.offer(Instant::ZERO, IpAddr::V6(Ipv6Addr::LOCALHOST));
        assert_eq!(offer.unwrap().mss, 1220);
        let cookie = FastOpenCookie::new(&[7; 8]);
        let outcome = FastOpenOutcome {
            cookie,
            mss: Some(1460),
            ..answered()
        };
        cache.learn(Instant::ZERO, v4(1), &outcome);
        let offer = cache.offer(Instant::ZERO, v4(1)).unwrap();
        assert_eq!((Some(offer.cookie), offer.mss), (cookie, 1460));
        // Without a new cookie the old one stays.
        cache.learn(Instant::ZERO, v4(1), &answered());
        assert_eq!(cache.offer(Instant::ZERO, v4(1)), Some(offer));
    }

    #[test]
    fn a_path_that_swallows_syns_with_text_is_spared_for_60_120_240_seconds() {
        let mut cache = FastOpenCache::new(10);
        let lost = FastOpenOutcome {
            timed_out: true,
            text_sent: 100,
            ..answered()
        };
        let mut now = Instant::ZERO;
        for seconds in [60, 120, 240] {
            cache.learn(now, v4(1), &lost);
            now += Duration::from_secs(seconds);
            let just_before = Instant::from_nanos(now.as_nanos() - 1);
            assert_eq!(cache.offer(just_before, v4(1)), None);
            assert!(cache.offer(now, v4(1)).is_some());
        }
        let good = FastOpenOutcome {
            text_sent: 100,
            text_acked: 100,
            ..answered()
        };
        cache.learn(now, v4(1), &good);
        cache.learn(now, v4(1), &lost);
        assert!(cache.offer(now + FIRST_ABSTENTION, v4(1)).is_some());
    }

    #[test]
    fn the_cache_forgets_whoever_was_not_used_for_longest() {
        let mut cache = FastOpenCache::new(2);
        let outcome = FastOpenOutcome {
            cookie: FastOpenCookie::new(&[1; 8]),
            ..answered()
        };
        cache.learn(Instant::ZERO, v4(1), &outcome);
        cache.learn(Instant::ZERO, v4(2), &outcome);
        assert!(
            !cache
                .offer(Instant::ZERO, v4(1))
                .unwrap()
                .cookie
                .is_request()
        );
        cache.learn(Instant::ZERO, v4(3), &outcome);
        assert_eq!(cache.len(), 2);
        assert!(
            cache
                .offer(Instant::ZERO, v4(2))
                .unwrap()
                .cookie
                .is_request()
        );
        assert!(
            !cache
                .offer(Instant::ZERO, v4(1))
                .unwrap()
                .cookie
                .is_request()
        );
    }

    #[test]
    fn every_kind_of_negative_response_turns_fast_open_off_for_a_while() {
        // RFC 7413 section 4.1.3.1.
        let sent = FastOpenOutcome {
            text_sent: 9,
            ..FastOpenOutcome::default()
        };
        let not_acknowledged = FastOpenOutcome {
            answered: true,
            ..sent
        };
        let never_answered = FastOpenOutcome {
            timed_out: true,
            ..sent
        };
        let request_never_answered = FastOpenOutcome {
            timed_out: true,
            ..FastOpenOutcome::default()
        };
        let icmp_error = FastOpenOutcome {
            icmp_error: true,
            ..sent
        };
        for negative in [
            not_acknowledged,
            never_answered,
            request_never_answered,
            icmp_error,
        ] {
            let mut cache = FastOpenCache::new(2);
            cache.learn(Instant::ZERO, v4(1), &negative);
            assert_eq!(cache.offer(Instant::ZERO, v4(1)), None, "{negative:?}");
            assert!(cache.offer(Instant::ZERO, v4(2)).is_some());
            assert!(
                cache
                    .offer(Instant::ZERO + FIRST_ABSTENTION, v4(1))
                    .is_some()
            );
        }
    }

    #[test]
    fn a_new_cookie_and_an_open_that_was_given_up_at_once_are_not_negative() {
        let granted = FastOpenOutcome {
            cookie: FastOpenCookie::new(&[7; 8]),
            text_sent: 9,
            timed_out: true,
            ..answered()
        };
        let given_up = FastOpenOutcome {
            text_sent: 9,
            ..FastOpenOutcome::default()
        };
        for outcome in [granted, given_up] {
            let mut cache = FastOpenCache::new(2);
            cache.learn(Instant::ZERO, v4(1), &outcome);
            assert!(cache.offer(Instant::ZERO, v4(1)).is_some(), "{outcome:?}");
        }
    }
}
