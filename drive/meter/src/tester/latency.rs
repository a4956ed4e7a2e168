//! Latency under load: ICMP echo next to the bulk data, before and while data flows.
//!
//! flent's words: the RTT of pings under load against that of the idle path. What TCP itself
//! measures stands in the readings of its sockets.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::system::ping::Pinger;
use crate::system::poll;

/// Time between two requests.
const EVERY: Duration = Duration::from_millis(50);

/// How long the idle path is pinged before a test.
pub(super) const IDLE: Duration = Duration::from_secs(1);

/// A reply that takes longer is lost.
const LOST_AFTER: Duration = Duration::from_secs(4);

/// Requests that are remembered: as many as are outstanding until they are lost.
const OUTSTANDING: usize = 128;

/// RTTs of pings.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Latency {
    /// Before data flowed.
    pub idle: Vec<Duration>,
    /// While data flowed.
    pub loaded: Vec<Duration>,
    /// Requests without a reply while data flowed.
    pub lost: u64,
}

impl Latency {
    /// The RTT that a share of the replies was below (nearest rank); `None` without replies.
    #[must_use]
    pub fn percentile(times: &[Duration], share: f64) -> Option<Duration> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied()
    }
}

/// What the thread and its owner share: whether it goes on, and since when data flows.
#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    epoch: Instant,
    /// Nanoseconds from the epoch; `u64::MAX`: data does not flow yet.
    loaded_since: AtomicU64,
}

/// A thread that pings.
#[derive(Debug)]
pub(super) struct Pings {
    shared: Arc<Shared>,
    thread: JoinHandle<Latency>,
}

impl Pings {
    /// Begins.
    pub(super) fn start(to: IpAddr) -> io::Result<Self> {
        let pinger = Pinger::new(to)?;
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            epoch: Instant::now(),
            loaded_since: AtomicU64::new(u64::MAX),
        });
        let job = shared.clone();
        let builder = std::thread::Builder::new().name("ping".into());
        let thread = builder.spawn(move || ping(&pinger, &job))?;
        Ok(Self { shared, thread })
    }

    /// Data flows from now on.
    pub(super) fn loaded(&self) {
        let since = self.shared.epoch.elapsed().as_nanos() as u64;
        self.shared.loaded_since.store(since, Ordering::Release);
    }

    /// Ends, with what was found.
    pub(super) fn finish(self) -> Latency {
        self.shared.stop.store(true, Ordering::Release);
        self.thread.join().unwrap_or_default()
    }
}

fn ping(pinger: &Pinger, shared: &Shared) -> Latency {
    let mut latency = Latency::default();
    // By the number of the request: when it was sent, as long as its reply is outstanding.
    let mut sent: Vec<Option<Instant>> = vec![None; OUTSTANDING];
    let mut sequence: u16 = 0;
    let mut due = Instant::now();
    while !shared.stop.load(Ordering::Acquire) {
        let now = Instant::now();
        if now >= due {
            due += EVERY;
            let place = &mut sent[usize::from(sequence) % OUTSTANDING];
            let is_late = place.take().is_some_and(|at| shared.is_loaded(at));
            latency.lost += u64::from(is_late);
            if pinger.send(sequence).is_ok() {
                *place = Some(now);
            }
            sequence = sequence.wrapping_add(1);
        }
        let wait = due.saturating_duration_since(Instant::now());
        let _ = poll::wait_to_read([pinger.as_fd()], wait);
        while let Ok(Some(number)) = pinger.receive() {
            let Some(at) = sent[usize::from(number) % OUTSTANDING].take() else {
                continue;
            };
            match (at.elapsed(), shared.is_loaded(at)) {
                (rtt, _) if rtt > LOST_AFTER => latency.lost += 1,
                (rtt, true) => latency.loaded.push(rtt),
                (rtt, false) => latency.idle.push(rtt),
            }
        }
    }
    latency
}

impl Shared {
    /// Whether data flowed when a request was sent.
    fn is_loaded(&self, sent_at: Instant) -> bool {
        let since = self.loaded_since.load(Ordering::Acquire);
        let at = sent_at.saturating_duration_since(self.epoch);
        at.as_nanos() as u64 >= since
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
        let Ok(pings) = Pings::start("127.0.0.1".parse().unwrap()) else {
            eprintln!("skipped: net.ipv4.ping_group_range excludes this user");
            return;
        };
        std::thread::sleep(Duration::from_millis(180));
        pings.loaded();
        std::thread::sleep(Duration::from_millis(180));
        let latency = pings.finish();
        assert!(
            latency.idle.len() >= 2 && latency.loaded.len() >= 2,
            "{latency:?}"
        );
        assert_eq!(latency.lost, 0);
    }
}
