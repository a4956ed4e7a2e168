//! Latency under load: ICMP, UDP and TCP echoes next to the bulk data, before and during it.
//!
//! As flent's rrul test: the RTT of pings under load is compared with that of the idle path. UDP
//! pings go to the server's port. A `gigatcp server` returns them, with as many bytes, if it serves
//! the client; other servers do not. A TCP ping is a handshake with that port. If UDP pings are
//! answered, its connection carries one request: a cookie of iperf3's protocol that belongs to no
//! test, which the server answers with its first message. Other servers would take it for a client
//! that wants to test. Both ends of an ICMP echo are in the kernel. Replies of the other kinds wait
//! for a thread here, and UDP requests for one at the server. RTTs of the bulk's own TCP are in the
//! readings of its sockets.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::Cookie;
use gigatcp_protocol::iperf3::datagram::PING;

use super::client::random;
use super::outcome::TestError;
use super::request::PingSet;
use super::wire::STEP;
use crate::system::any_address;
use crate::system::fd::{AsFd, BorrowedFd};
use crate::system::ping::Pinger;
use crate::system::poll;

/// Interval between requests of ICMP and UDP, and between handshakes.
const EVERY: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(100)];

/// Time after which a missing reply counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(4);

/// Maximum of outstanding requests.
const OUTSTANDING: usize = 128;

/// Bytes of a UDP ping: as many as of an ICMP one.
const UDP_LENGTH: usize = 40;

/// Packets of a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PingKind {
    /// Echo request and reply.
    Icmp,
    /// A datagram in each direction.
    Udp,
    /// SYN and SYN-ACK.
    Tcp,
    /// A request and its response, on the connection of such a handshake.
    Request,
}

impl PingKind {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Icmp => "icmp",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Request => "request",
        }
    }
}

/// RTTs of pings of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Latency {
    /// Kind of the pings.
    pub kind: PingKind,
    /// RTTs before data flowed.
    pub idle: Vec<Duration>,
    /// RTTs while data flowed.
    pub loaded: Vec<Duration>,
    /// Requests without a reply while data flowed.
    pub lost: u64,
}

impl Latency {
    const fn new(kind: PingKind) -> Self {
        Self {
            kind,
            idle: Vec::new(),
            loaded: Vec::new(),
            lost: 0,
        }
    }

    /// RTT at a percentile (nearest rank); `None` without replies.
    pub fn percentile(times: &[Duration], share: f64) -> Option<Duration> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied()
    }

    fn add(&mut self, rtt: Duration, phase: Phase) {
        match phase {
            _ if rtt > LOST_AFTER => self.lose(phase),
            Phase::Loaded => self.loaded.push(rtt),
            Phase::Idle => self.idle.push(rtt),
            Phase::Ramp => {}
        }
    }

    fn lose(&mut self, phase: Phase) {
        self.lost += u64::from(phase == Phase::Loaded);
    }
}

/// Waits while the idle path is pinged before a test.
pub(super) fn wait_idle(set: PingSet, stops: &dyn Fn() -> bool) -> Result<(), TestError> {
    let end = Instant::now() + idle_time(set);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        if stops() {
            return Err(TestError::Stopped);
        }
        std::thread::sleep(left.min(STEP));
    }
}

const fn idle_time(set: PingSet) -> Duration {
    match set {
        PingSet::None => Duration::ZERO,
        PingSet::Icmp => Duration::from_secs(1),
        // 50 replies, so that the 99th percentile rests on more than one of few packets.
        PingSet::All => Duration::from_millis(2500),
    }
}

/// Starts pings before a test.
pub(super) fn start(to: SocketAddr, set: PingSet) -> Result<Pings, TestError> {
    Pings::start(to, set).map_err(|cause| TestError::Socket {
        action: "ping: net.ipv4.ping_group_range excludes this user".into(),
        cause,
    })
}

/// State of the path when a request is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// No data flows.
    Idle,
    /// Streams are added.
    Ramp,
    /// The load is that which latency is measured under.
    Loaded,
}

/// State shared by the threads and their owner: stop flag, and starts of the phases.
#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    /// Whether a UDP ping was answered, so that the server is of this project.
    is_ours: AtomicBool,
    epoch: Instant,
    /// Start of the data, and of the full load, in nanoseconds from the epoch; `u64::MAX`: not started.
    begun_since: AtomicU64,
    loaded_since: AtomicU64,
}

/// Ping threads: one per kind, and one for handshakes with their requests.
#[derive(Debug)]
pub(super) struct Pings {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Vec<Latency>>>,
}

impl Pings {
    /// Starts the pings. With several kinds, ICMP is left out if this user may not send it.
    fn start(to: SocketAddr, set: PingSet) -> io::Result<Self> {
        let mut pings = Self {
            shared: Arc::new(Shared {
                stop: AtomicBool::new(false),
                is_ours: AtomicBool::new(false),
                epoch: Instant::now(),
                begun_since: AtomicU64::new(u64::MAX),
                loaded_since: AtomicU64::new(u64::MAX),
            }),
            threads: Vec::new(),
        };
        match (Pinger::new(to.ip()), set) {
            (_, PingSet::None) => return Ok(pings),
            (Ok(pinger), _) => {
                pings.spawn(move |shared| vec![echo(PingKind::Icmp, &pinger, shared)])?;
            }
            (Err(error), PingSet::Icmp) => return Err(error),
            (Err(_), PingSet::All) => {}
        }
        if set == PingSet::All {
            let udp = UdpPinger::new(to)?;
            pings.spawn(move |shared| vec![echo(PingKind::Udp, &udp, shared)])?;
            pings.spawn(move |shared| handshakes(to, shared))?;
        }
        Ok(pings)
    }

    fn spawn(
        &mut self,
        job: impl FnOnce(&Shared) -> Vec<Latency> + Send + 'static,
    ) -> io::Result<()> {
        let shared = self.shared.clone();
        let builder = std::thread::Builder::new().name("ping".into());
        self.threads.push(builder.spawn(move || job(&shared))?);
        Ok(())
    }

    /// Marks the start of the data.
    pub(super) fn begun(&self) {
        self.mark(&self.shared.begun_since);
    }

    /// Marks the start of the full load, once.
    pub(super) fn loaded(&self) {
        self.mark(&self.shared.loaded_since);
    }

    fn mark(&self, since: &AtomicU64) {
        let now = self.shared.epoch.elapsed().as_nanos() as u64;
        let _ = since.compare_exchange(u64::MAX, now, Ordering::Release, Ordering::Relaxed);
    }

    /// Ends the pings; returns the results.
    pub(super) fn finish(self) -> Vec<Latency> {
        self.shared.stop.store(true, Ordering::Release);
        let found = self.threads.into_iter().map(JoinHandle::join);
        found.filter_map(Result::ok).flatten().collect()
    }
}

/// A socket with numbered requests.
trait Echo {
    fn request(&self, number: u16) -> io::Result<()>;
    /// Number of the next reply; `None`: none is available.
    fn reply(&self) -> io::Result<Option<u16>>;
    fn descriptor(&self) -> BorrowedFd<'_>;
}

impl Echo for Pinger {
    fn request(&self, number: u16) -> io::Result<()> {
        self.send(number)
    }

    fn reply(&self) -> io::Result<Option<u16>> {
        self.receive()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }
}

/// Sends datagrams that a `gigatcp server` returns.
struct UdpPinger(UdpSocket);

impl UdpPinger {
    fn new(to: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind((any_address(to), 0))?;
        socket.connect(to)?;
        socket.set_nonblocking(true)?;
        Ok(Self(socket))
    }
}

impl Echo for UdpPinger {
    fn request(&self, number: u16) -> io::Result<()> {
        let mut message = [0; UDP_LENGTH];
        message[..PING.len()].copy_from_slice(&PING);
        message[PING.len()..][..2].copy_from_slice(&number.to_be_bytes());
        self.0.send(&message).map(drop)
    }

    fn reply(&self) -> io::Result<Option<u16>> {
        let mut message = [0; 64];
        let length = self.0.recv(&mut message)?;
        let number = &message[PING.len()..][..2];
        let is_ours = length == UDP_LENGTH && message[..PING.len()] == PING;
        Ok(is_ours.then(|| u16::from_be_bytes([number[0], number[1]])))
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn echo(kind: PingKind, socket: &impl Echo, shared: &Shared) -> Latency {
    let mut latency = Latency::new(kind);
    // Send time by request number, while the reply is outstanding.
    let mut sent: Vec<Option<Instant>> = vec![None; OUTSTANDING];
    let mut sequence: u16 = 0;
    let mut due = Instant::now();
    while !shared.stop.load(Ordering::Acquire) {
        let now = Instant::now();
        if now >= due {
            due += EVERY[0];
            let place = &mut sent[usize::from(sequence) % OUTSTANDING];
            if let Some(at) = place.take() {
                latency.lose(shared.phase(at));
            }
            if socket.request(sequence).is_ok() {
                *place = Some(now);
            }
            sequence = sequence.wrapping_add(1);
        }
        let wait = due.saturating_duration_since(Instant::now());
        let _ = poll::wait_to_read([socket.descriptor()], wait);
        while let Ok(Some(number)) = socket.reply() {
            if let Some(at) = sent[usize::from(number) % OUTSTANDING].take() {
                if kind == PingKind::Udp {
                    shared.is_ours.store(true, Ordering::Release);
                }
                latency.add(at.elapsed(), shared.phase(at));
            }
        }
    }
    latency
}

/// Connects repeatedly, with a request on each connection to a server of this project. To another
/// one, a connection is closed when the next one is due, so that the server can send on it.
fn handshakes(to: SocketAddr, shared: &Shared) -> Vec<Latency> {
    let mut latency = Latency::new(PingKind::Tcp);
    let mut requests = Latency::new(PingKind::Request);
    while !shared.stop.load(Ordering::Acquire) {
        let at = Instant::now();
        let connection = TcpStream::connect_timeout(&to, LOST_AFTER);
        let (rtt, phase) = (at.elapsed(), shared.phase(at));
        match &connection {
            Ok(_) => latency.add(rtt, phase),
            Err(_) => latency.lose(phase),
        }
        if let Ok(connection) = &connection
            && shared.is_ours.load(Ordering::Acquire)
        {
            let at = Instant::now();
            let response = request(connection);
            let phase = shared.phase(at);
            match response {
                Ok(()) => requests.add(at.elapsed(), phase),
                Err(_) => requests.lose(phase),
            }
        }
        std::thread::sleep(EVERY[1].saturating_sub(at.elapsed()));
    }
    vec![latency, requests]
}

/// Sends a request, and waits for the response.
fn request(mut connection: &TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(LOST_AFTER))?;
    connection.write_all(Cookie::from_random(random()).as_bytes())?;
    connection.read_exact(&mut [0])
}

impl Shared {
    /// Phase in which a request was sent.
    fn phase(&self, sent_at: Instant) -> Phase {
        let at = sent_at.saturating_duration_since(self.epoch);
        let has_passed = |since: &AtomicU64| at.as_nanos() as u64 >= since.load(Ordering::Acquire);
        match [&self.begun_since, &self.loaded_since].map(has_passed) {
            [_, true] => Phase::Loaded,
            [true, false] => Phase::Ramp,
            [false, false] => Phase::Idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let times: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        let of = |share| Latency::percentile(&times, share).map(|time| time.as_millis());
        assert_eq!(
            [of(0.0), of(0.5), of(0.99), of(1.0)],
            [Some(1), Some(50), Some(99), Some(100)]
        );
        assert_eq!(Latency::percentile(&[], 0.5), None);
    }

    #[test]
    fn pings_before_and_after_the_start_are_told_apart() {
        let Ok(pings) = Pings::start("127.0.0.1:9".parse().unwrap(), PingSet::Icmp) else {
            eprintln!("skipped: net.ipv4.ping_group_range excludes this user");
            return;
        };
        std::thread::sleep(Duration::from_millis(180));
        pings.loaded();
        std::thread::sleep(Duration::from_millis(180));
        let latency = pings.finish().remove(0);
        assert!(
            latency.idle.len() >= 2 && latency.loaded.len() >= 2,
            "{latency:?}"
        );
        assert_eq!(latency.lost, 0);
    }
}
