//! Rate of what a server sends and receives for its clients (`--total-rate`).
//!
//! A token bucket for all tests, and one for each test at the rate that it announced. A byte is
//! paid in both, in either direction:
//!
//! ```text
//! paid_until <- max(paid_until, now - DEPTH) + 8 bytes / rate             (1)
//! ```
//!
//! A sender pays before it sends, and waits until `paid_until` is over. A receiver pays what it has
//! read: of TCP it reads on once the debt is small, so the receive window holds the client to its
//! rate; of UDP, which nothing holds back, a debt of [`MAX_DEBT`] ends the test. No test begins
//! while the server is in debt, so short tests cannot exceed the rate together.
//!
//! Bytes are those of whole IP packets: datagrams may be all headers, and a TCP client may make small
//! segments. The rate of a test of TCP is as much above the announced one as headers need at the
//! segment size that it announced; the server's is not, so tests that announce all of it get less.
//! What a TCP client sends into a receive buffer that is not read counts when it is read.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::{Parameters, Transactions, Transport};

use super::connection::Connection;
use super::counters::Counters;
use super::switch::Switch;
use super::tcp::{time_for, wait_until};
use crate::system::lock;

/// Time for which an unused rate can be saved.
pub(super) const DEPTH: Duration = Duration::from_millis(100);

/// Debt that a receiver may have before it waits: a client sends its first blocks at once.
pub(super) const SLACK: (Duration, u64) = (Duration::from_secs(1), 256 << 10);

/// Debt that ends a test of UDP: iperf3's server averages over 5 s.
pub(super) const MAX_DEBT: Duration = Duration::from_secs(5);

/// Maximum bytes paid at a time, in time at the test's rate.
const CHUNK: Duration = Duration::from_millis(50);

/// Maximum wait for the rest of a buffer.
const GRACE: Duration = Duration::from_secs(10);

/// Maximum debt that is remembered.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A rate that many streams share.
#[derive(Debug)]
pub(super) struct TokenBucket {
    /// bit/s.
    rate: u64,
    paid_until: Mutex<Instant>,
}

impl TokenBucket {
    pub(super) fn new(rate: u64) -> Self {
        let paid_until = Mutex::new(Instant::now());
        Self { rate, paid_until }
    }

    /// Pays for bytes, equation (1), and returns the debt.
    pub(super) fn pay(&self, bytes: u64, now: Instant) -> Duration {
        let mut paid_until = lock(&self.paid_until);
        let earliest = now.checked_sub(DEPTH).unwrap_or(now);
        let latest = now + LONGEST;
        let paid = (*paid_until).max(earliest) + time_for(bytes, self.rate).min(LONGEST);
        *paid_until = paid.min(latest);
        paid_until.saturating_duration_since(now)
    }

    /// Takes back a payment for bytes that were not sent.
    fn pay_back(&self, bytes: u64) {
        let mut paid_until = lock(&self.paid_until);
        let time = time_for(bytes, self.rate).min(LONGEST);
        *paid_until = paid_until.checked_sub(time).unwrap_or(*paid_until);
    }

    /// Pays for bytes if there is no debt; returns whether it did.
    pub(super) fn pays(&self, bytes: u64, now: Instant) -> bool {
        let has_room = self.debt(now).is_zero();
        if has_room {
            self.pay(bytes, now);
        }
        has_room
    }

    /// The time until everything is paid.
    pub(super) fn debt(&self, now: Instant) -> Duration {
        lock(&self.paid_until).saturating_duration_since(now)
    }
}

/// Rate of one test of a server with a total rate.
#[derive(Debug)]
pub(super) struct RateLimit {
    server: Arc<TokenBucket>,
    test: TokenBucket,
    /// Bytes of the headers of a packet.
    headers: u64,
    is_exceeded: AtomicBool,
}

impl RateLimit {
    /// Limit of a test that announced a rate.
    pub(super) fn new(server: Arc<TokenBucket>, wanted: &Parameters, peer: IpAddr) -> Self {
        let rate = announced(wanted, peer);
        let headers = match wanted.transport {
            Transport::Udp => udp_headers(peer),
            _ => tcp_headers(peer),
        };
        // What transactions pay has their headers, as their rate.
        let has_streams = !matches!(Transactions::read(wanted), Ok(Some(_)));
        let rate = match wanted.transport {
            Transport::Tcp if has_streams => with_segments(rate, wanted.mss, headers),
            _ => rate,
        };
        Self {
            server,
            test: TokenBucket::new(rate),
            headers,
            is_exceeded: AtomicBool::new(false),
        }
    }

    /// Bytes to pay at a time, of `size` to send.
    fn chunk(&self, size: usize) -> usize {
        let most = u128::from(self.test.rate) * CHUNK.as_millis() / 8000;
        size.min(usize::try_from(most).unwrap_or(usize::MAX).max(1460))
    }

    fn pay(&self, bytes: u64, now: Instant) -> Duration {
        self.server.pay(bytes, now).max(self.test.pay(bytes, now))
    }

    /// Pays for bytes about to be sent and waits; returns whether they may be sent. `false`: the
    /// test is over.
    fn wait_to_send(&self, bytes: u64, counters: &Counters, switch: &Switch) -> bool {
        // First its own rate: a test of many streams does not queue at the server ahead of others.
        for bucket in [&self.test, &*self.server] {
            let now = Instant::now();
            let due = now + bucket.pay(bytes, now);
            if !wait_until(due, counters, switch) {
                bucket.pay_back(bytes);
                return false;
            }
        }
        true
    }
}

/// What is paid of a connection in addition to its payload.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Paid {
    /// Segments whose headers are paid.
    segments: u64,
    /// Bytes that were sent more than once.
    repeated: u64,
    /// Bytes that the kernel counted as sent, and those of subflows that have ended since: it
    /// forgets what they sent.
    sent: u64,
    ended: u64,
}

/// The limit of a stream: none at a client, or at a server without a total rate.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamLimit(pub(super) Option<Arc<RateLimit>>);

impl StreamLimit {
    /// Whether the client sent more than it announced.
    pub(super) fn is_exceeded(&self) -> bool {
        let limit = self.0.as_ref();
        limit.is_some_and(|limit| limit.is_exceeded.load(Ordering::Acquire))
    }

    /// Waits until some of `bytes` may be sent; returns how many. 0: the test is over.
    pub(super) fn send(&self, bytes: usize, counters: &Counters, switch: &Switch) -> usize {
        let Some(limit) = &self.0 else { return bytes };
        let chunk = limit.chunk(bytes);
        let may_send = limit.wait_to_send(chunk as u64, counters, switch);
        if may_send { chunk } else { 0 }
    }

    /// Like [`Self::send`] for the rest of a buffer, after the test is over.
    ///
    /// # Errors
    /// If the rest is not due within [`GRACE`].
    pub(super) fn finish(&self, bytes: usize) -> io::Result<usize> {
        let Some(limit) = &self.0 else {
            return Ok(bytes);
        };
        let (chunk, now) = (limit.chunk(bytes), Instant::now());
        let due = limit.pay(chunk as u64, now);
        if due > GRACE {
            limit.server.pay_back(chunk as u64);
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(due);
        Ok(chunk)
    }

    /// Pays for bytes that were sent or received, and returns the debt.
    pub(super) fn pay_for(&self, bytes: u64, now: Instant) -> Duration {
        let limit = self.0.as_ref();
        limit.map_or(Duration::ZERO, |limit| limit.pay(bytes, now))
    }

    /// Pays for the headers of a TCP connection's segments in both directions since the last call, and
    /// for what was sent more than once of the payload that a sender has written.
    pub(super) fn pay_headers(&self, connection: &dyn Connection, written: u64, paid: &mut Paid) {
        let Some(limit) = &self.0 else { return };
        // Without counters they are not known.
        let Ok(counts) = connection.wire_counts() else {
            return;
        };
        let ended = paid.ended + paid.sent.saturating_sub(counts.bytes_sent);
        let segments = counts.segments;
        let repeated = (counts.bytes_sent + ended).saturating_sub(written);
        let headers = segments.saturating_sub(paid.segments) * limit.headers;
        let again = repeated.saturating_sub(paid.repeated);
        *paid = Paid {
            segments,
            repeated,
            sent: counts.bytes_sent,
            ended,
        };
        limit.pay(headers + again, Instant::now());
    }

    /// Number of datagrams of `size` bytes that may leave together, of `count`.
    pub(super) fn batch(&self, count: usize, size: usize) -> usize {
        match &self.0 {
            Some(limit) => (limit.chunk(count * size) / size.max(1)).clamp(1, count),
            None => count,
        }
    }

    /// Waits until a batch of datagrams may be sent; returns whether it may. `false`: the test is
    /// over.
    pub(super) fn send_datagrams(
        &self,
        (count, size): (usize, usize),
        counters: &Counters,
        switch: &Switch,
    ) -> bool {
        let Some(limit) = &self.0 else { return true };
        let bytes = count as u64 * (size as u64 + limit.headers);
        limit.wait_to_send(bytes, counters, switch)
    }

    /// Pays for bytes that a TCP client has sent, and waits while it is ahead of its rate.
    pub(super) fn received(&self, bytes: usize, counters: &Counters, switch: &Switch) {
        let Some(limit) = &self.0 else { return };
        let now = Instant::now();
        let (time, burst) = SLACK;
        let slack = time + time_for(burst, limit.test.rate).min(LONGEST);
        let debt = limit.pay(bytes as u64, now);
        wait_until(now + debt.saturating_sub(slack), counters, switch);
    }

    /// Pays for datagrams that a client has sent.
    ///
    /// # Errors
    /// If it sends more than it announced.
    pub(super) fn received_datagrams(&self, count: u64, bytes: u64) -> io::Result<()> {
        let Some(limit) = &self.0 else { return Ok(()) };
        let now = Instant::now();
        let bytes = bytes + count * limit.headers;
        limit.server.pay(bytes, now);
        let burst = time_for(SLACK.1, limit.test.rate).min(LONGEST);
        if limit.test.pay(bytes, now) <= MAX_DEBT.saturating_add(burst) {
            return Ok(());
        }
        limit.is_exceeded.store(true, Ordering::Release);
        Err(io::Error::other("the client sends more than it announced"))
    }
}

/// Bytes of the headers of IP and UDP, which a rate of datagrams includes; 0: TCP.
fn headers(wanted: &Parameters, peer: IpAddr) -> u64 {
    match wanted.transport {
        Transport::Udp => udp_headers(peer),
        _ => 0,
    }
}

/// Bytes of the headers of IP and TCP, with timestamps.
fn tcp_headers(peer: IpAddr) -> u64 {
    match peer.to_canonical() {
        IpAddr::V4(_) => 52,
        IpAddr::V6(_) => 72,
    }
}

/// A rate of payload of TCP with the headers of its segments, and of an acknowledgment for each two.
fn with_segments(rate: u64, mss: Option<u32>, headers: u64) -> u64 {
    // The announced size includes 12 bytes of timestamps.
    let payload = u64::from(mss.unwrap_or(1460).clamp(88, 9000)) - 12;
    let with_headers =
        u128::from(rate) * u128::from(payload + headers * 3 / 2) / u128::from(payload);
    u64::try_from(with_headers).unwrap_or(u64::MAX)
}

/// Bytes of the headers of IP and UDP.
pub(super) fn udp_headers(peer: IpAddr) -> u64 {
    match peer.to_canonical() {
        IpAddr::V4(_) => 28,
        IpAddr::V6(_) => 48,
    }
}

/// The rate of all streams of a test, with the headers of datagrams, in bit/s; 0: not announced.
pub(super) fn announced(wanted: &Parameters, peer: IpAddr) -> u64 {
    let streams = u128::from(wanted.streams());
    let rate = streams * u128::from(wanted.bandwidth.unwrap_or(0));
    let size = u128::from(wanted.len.unwrap_or(1460).max(1));
    let with_headers = rate * (size + u128::from(headers(wanted, peer))) / size;
    u64::try_from(with_headers).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn bucket_unused_for_long_saves_only_its_depth() {
        let bucket = TokenBucket::new(8_000);
        let now = Instant::now() + Duration::from_secs(60);
        // 1000 byte/s: 100 bytes are free, then a byte costs a millisecond.
        assert_eq!(bucket.pay(100, now), Duration::ZERO);
        assert_eq!(bucket.pay(50, now), Duration::from_millis(50));
        assert_eq!(bucket.debt(now), Duration::from_millis(50));
        bucket.pay_back(50);
        assert_eq!(bucket.debt(now), Duration::ZERO);
    }

    #[test]
    fn bucket_of_one_bit_per_second_does_not_overflow() {
        let bucket = TokenBucket::new(1);
        let now = Instant::now();
        for _ in 0..2 {
            assert!(bucket.pay(u64::MAX, now) <= LONGEST);
        }
        assert!(bucket.debt(now) > LONGEST / 2);
    }

    #[test]
    fn rate_of_small_datagrams_includes_their_headers() {
        let wanted = Parameters {
            transport: Transport::Udp,
            bandwidth: Some(1_000_000),
            parallel: 2,
            len: Some(28),
            ..Parameters::default()
        };
        assert_eq!(announced(&wanted, V4), 4_000_000);
        let tcp = Parameters {
            transport: Transport::Tcp,
            ..wanted
        };
        assert_eq!(announced(&tcp, V4), 2_000_000);
    }

    #[test]
    fn datagrams_beyond_the_announced_rate_are_an_error() {
        let wanted = Parameters {
            transport: Transport::Udp,
            bandwidth: Some(8_000_000),
            len: Some(972),
            ..Parameters::default()
        };
        let server = Arc::new(TokenBucket::new(1_000_000_000));
        let limit = RateLimit::new(server, &wanted, V4);
        let stream = StreamLimit(Some(Arc::new(limit)));
        // 5 s at this rate, and the first blocks.
        assert!(stream.received_datagrams(5_000, 5_000 * 972).is_ok());
        assert!(stream.received_datagrams(1_000, 1_000 * 972).is_err());
    }
}
