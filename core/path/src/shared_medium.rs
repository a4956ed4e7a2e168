//! Half-duplex Ethernet: CSMA/CD on one medium shared by all stations (IEEE 802.3 clause 4, media
//! access control).
//!
//! A station with a frame waits until the medium is idle, then for the interframe gap, then sends
//! (deference, clause 4.2.3.2.1). Transmissions of others are detected `delay` later. In the last
//! third of the gap a station no longer senses the carrier (clause 4.2.3.2.2), so stations that
//! waited for the end of the same frame start together. A station that detects another while it
//! sends finishes its preamble, jams, and tries again after
//!
//! ```text
//! r x slot,  r uniform in 0 .. 2^min(n, 10) - 1                         (1)
//! ```
//!
//! at the n-th collision of a frame (clause 4.2.3.2.5, truncated binary exponential backoff). At
//! the 16th the frame is dropped. The winner of a collision mostly wins the next one too, because
//! its n begins anew (capture effect). This is not modeled separately: it follows.
//!
//! A card may need additional time to recover from a collision before its backoff begins. The cards
//! of the time differed in nothing else.
//!
//! Out of scope: different distances (every two stations are `delay` apart), late collisions,
//! repeaters, bit errors, full duplex (which is two hops). A medium is rejected if a frame may be
//! over before its collision is detected. Cost: each start and end of a frame visits every station;
//! suitable for a segment of a few, slow for a thousand.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::random::{Purpose, stream};
use crate::{ConfigError, Counters, DropCause, Parcel, Tally};

/// Clause 4.4.2: slot time in bits. A collision is over within it; it is the unit of backoff.
const SLOT_BITS: u64 = 512;
/// Clause 4.4.2: interframe gap in bits, 9.6 µs at 10 Mbit/s.
const GAP_BITS: u64 = 96;
/// Clause 4.4.2: jam size in bits, which makes a collision visible to every station.
const JAM_BITS: u64 = 32;
/// Clause 4.2.5: bits of preamble and start delimiter before the frame.
const PREAMBLE_BITS: u64 = 64;
/// Clause 4.4.2: maximum number of attempts per frame.
const ATTEMPT_LIMIT: u32 = 16;
/// Clause 4.4.2: number of the collision from which the backoff no longer grows.
const BACKOFF_LIMIT: u32 = 10;
/// Clause 4.4.2: minimum frame size in bytes, including the check sequence.
const MIN_FRAME: u64 = 64;
/// Bytes of addresses, type and check sequence around an IP packet.
const FRAME_OVERHEAD: u64 = 18;
/// Clause 4.4.2: maximum frame size in bytes minus those around the packet.
const MAX_PACKET: u64 = 1500;

/// Configuration of a shared medium.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedMediumConfig {
    /// Name of the element: it selects the random streams.
    pub name: String,
    /// Bit rate; at most 1 Gbit/s, the fastest half-duplex Ethernet.
    pub rate: Rate,
    /// Propagation delay from any station to any other.
    pub delay: Duration,
    /// Maximum number of frames queued at each station's card, including the one being sent.
    /// Further frames are dropped. `None`: unlimited.
    pub limit_packets: Option<u64>,
    /// Recovery time of each station's card after a collision, before its backoff. There is one
    /// entry per station.
    pub recoveries: Vec<Duration>,
}

impl SharedMediumConfig {
    /// Maximum IP packet that fits into a frame (clause 4.4.2).
    pub const MTU: Bytes = Bytes::new(MAX_PACKET);

    /// Name of a station.
    pub fn station(&self, number: usize) -> String {
        format!("{}/{number}", self.name)
    }

    /// Number of the station of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        let number = name
            .strip_prefix(self.name.as_str())?
            .strip_prefix('/')?
            .parse()
            .ok()?;
        (number < self.recoveries.len()).then_some(number)
    }

    /// Checks whether a medium can be built from this.
    ///
    /// # Errors
    /// If there is no rate, or the medium is so long that a collision may be detected only after
    /// the slot time (clause 4.1.2.2).
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.rate == Rate::ZERO {
            return Err(ConfigError::MediumWithoutRate);
        }
        let times = Times::new(self.rate);
        if self.delay.saturating_mul(2) + times.jam > times.slot {
            return Err(ConfigError::MediumTooLong);
        }
        Ok(())
    }
}

/// Constants of clause 4.4.2 as durations.
#[derive(Clone, Copy, Debug)]
struct Times {
    rate: Rate,
    slot: Duration,
    gap: Duration,
    jam: Duration,
    preamble: Duration,
}

impl Times {
    fn new(rate: Rate) -> Self {
        Self {
            rate,
            slot: bits(rate, SLOT_BITS),
            gap: bits(rate, GAP_BITS),
            jam: bits(rate, JAM_BITS),
            preamble: bits(rate, PREAMBLE_BITS),
        }
    }

    /// Duration of preamble and frame of an IP packet.
    fn frame(&self, ip_bytes: u64) -> Duration {
        let octets = (ip_bytes + FRAME_OVERHEAD).max(MIN_FRAME);
        bits(self.rate, PREAMBLE_BITS + 8 * octets)
    }
}

fn bits(rate: Rate, count: u64) -> Duration {
    const SECOND: u64 = 1_000_000_000;
    Duration::from_nanos((count * SECOND).div_ceil(rate.as_bps().max(1)))
}

/// Counters of the frames of one station.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StationCounters {
    /// Frames sent.
    pub sent: u64,
    /// Collisions it took part in.
    pub collisions: u64,
    /// Frames dropped after [`DropCause::Collisions`].
    pub given_up: u64,
    /// Times that it had to wait because it detected another station.
    pub deferred: u64,
}

/// Transmission state of a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing to send.
    Quiet,
    /// Sends at `start` unless it detects a carrier before `listens_until`.
    Pending {
        start: Instant,
        listens_until: Instant,
    },
    /// Waits because it detected another station.
    Deferring,
    Sending {
        start: Instant,
        end: Instant,
        collided: bool,
    },
}

#[derive(Clone, Debug)]
struct Station<T> {
    queue: VecDeque<(T, Tally)>,
    phase: Phase,
    /// Collisions of the frame in front.
    attempts: u32,
    /// Earliest start by its own rules: backoff, interframe gap after its own frame.
    ready: Instant,
    /// End of the last transmission it detected.
    quiet_from: Option<Instant>,
    /// Recovery time of its card after a collision.
    recovery: Duration,
    backoff: Stream,
    counters: StationCounters,
}

/// A medium that several stations share.
///
/// The contract is that of a [`Hop`](crate::Hop). A parcel arrives at one station and comes out at
/// all others.
#[derive(Clone, Debug)]
pub struct SharedMedium<T> {
    config: SharedMediumConfig,
    times: Times,
    stations: Vec<Station<T>>,
    /// Sent frames in propagation, in order: all have the same delay.
    arriving: VecDeque<(Instant, usize, T, Tally)>,
    dropped: VecDeque<(T, DropCause)>,
    counters: Counters,
    busy: Duration,
    busy_until: Instant,
    max_backlog: u64,
}

impl<T: Parcel> SharedMedium<T> {
    /// A medium of the run with this `seed`.
    ///
    /// # Errors
    /// The first invalid setting, see [`SharedMediumConfig::check`].
    pub fn new(config: SharedMediumConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let stations = config
            .recoveries
            .iter()
            .enumerate()
            .map(|(number, &recovery)| {
                let name = config.station(number);
                Station {
                    queue: VecDeque::new(),
                    phase: Phase::Quiet,
                    attempts: 0,
                    ready: Instant::ZERO,
                    quiet_from: None,
                    recovery,
                    backoff: stream(seed, &name, Purpose::Backoff),
                    counters: StationCounters::default(),
                }
            });
        Ok(Self {
            times: Times::new(config.rate),
            stations: stations.collect(),
            arriving: VecDeque::new(),
            dropped: VecDeque::new(),
            counters: Counters::default(),
            busy: Duration::ZERO,
            busy_until: Instant::ZERO,
            max_backlog: 0,
            config,
        })
    }

    /// Accepts a parcel to be sent by `station`. A super-packet is split: on this medium every
    /// frame contends separately.
    pub fn handle_arrival(&mut self, now: Instant, station: usize, mut parcel: T) {
        self.advance(now);
        while parcel.wire_packets() > 1 {
            let front = parcel.split_front(1);
            self.enqueue(station, front);
        }
        self.enqueue(station, parcel);
        if self.stations[station].phase == Phase::Quiet && self.has_frame(station) {
            self.plan(now, station);
        }
        self.assert_invariants();
    }

    /// Asserts the invariants that hold after each arrival.
    fn assert_invariants(&self) {
        self.counters.assert_invariants();
        for station in &self.stations {
            debug_assert!(
                (station.phase == Phase::Quiet) == station.queue.is_empty(),
                "{:?} with {} frames",
                station.phase,
                station.queue.len()
            );
            debug_assert!(
                station.attempts < ATTEMPT_LIMIT,
                "a frame after {} collisions (clause 4.4.2)",
                station.attempts
            );
        }
    }

    /// Next parcel that has arrived by `now`, with its sending station.
    pub fn poll_delivery(&mut self, now: Instant) -> Option<(usize, T)> {
        self.advance(now);
        if self.arriving.front()?.0 > now {
            return None;
        }
        let (_, station, parcel, tally) = self.arriving.pop_front()?;
        self.counters.on_delivery(tally);
        Some((station, parcel))
    }

    /// Next dropped parcel.
    pub fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front()
    }

    /// When to poll for a delivery again.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let arrival = self.arriving.front().map(|(due, ..)| *due);
        let event = self.next_event().map(|(at, _)| at);
        arrival.into_iter().chain(event).min()
    }

    /// Counters of frames so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Everything inside, in no particular order; dropped frames are not included.
    pub fn parcels(&self) -> impl Iterator<Item = &T> {
        let queues = self.stations.iter().flat_map(|station| &station.queue);
        let arriving = self.arriving.iter().map(|(_, _, parcel, _)| parcel);
        queues.map(|(parcel, _)| parcel).chain(arriving)
    }

    /// Counters of each station.
    pub fn stations(&self) -> impl Iterator<Item = &StationCounters> {
        self.stations.iter().map(|station| &station.counters)
    }

    /// Maximum number of frames that waited at one station.
    pub const fn max_backlog(&self) -> u64 {
        self.max_backlog
    }

    /// Time in which a station sent, whole frames and collisions.
    pub const fn busy_time(&self) -> Duration {
        self.busy
    }

    /// Configuration of the medium.
    pub const fn config(&self) -> &SharedMediumConfig {
        &self.config
    }

    fn has_frame(&self, station: usize) -> bool {
        !self.stations[station].queue.is_empty()
    }

    fn enqueue(&mut self, station: usize, parcel: T) {
        let tally = Tally::new(1, parcel.ip_bytes());
        self.counters.arrived.add(tally);
        let queue = &mut self.stations[station].queue;
        let limit = self.config.limit_packets.unwrap_or(u64::MAX);
        let refusal = if tally.bytes.as_u64() > MAX_PACKET {
            Some(DropCause::TooBig)
        } else if queue.len() as u64 >= limit {
            Some(DropCause::QueueFull)
        } else {
            None
        };
        if let Some(cause) = refusal {
            self.counters.drops.add(cause, tally);
            self.dropped.push_back((parcel, cause));
            return;
        }
        queue.push_back((parcel, tally));
        self.max_backlog = self.max_backlog.max(queue.len() as u64);
        self.counters.inside.add(tally);
    }

    /// Processes everything due by `now`.
    fn advance(&mut self, now: Instant) {
        while let Some((at, station)) = self.next_event()
            && at <= now
        {
            debug_assert!(
                self.has_frame(station),
                "station {station} sends without a frame"
            );
            if matches!(self.stations[station].phase, Phase::Sending { .. }) {
                self.end(at, station);
            } else {
                self.start(at, station);
            }
        }
    }

    /// Time and station of the next start or end; ends come first.
    fn next_event(&self) -> Option<(Instant, usize)> {
        let events = self
            .stations
            .iter()
            .enumerate()
            .filter_map(|(number, station)| match station.phase {
                Phase::Sending { end, .. } => Some((end, false, number)),
                Phase::Pending { start, .. } => Some((start, true, number)),
                Phase::Quiet | Phase::Deferring => None,
            });
        events.min().map(|(at, _, number)| (at, number))
    }

    /// Determines when `number`, which has a frame and does not send, will begin.
    fn plan(&mut self, now: Instant, number: usize) {
        let station = &self.stations[number];
        let ready = station.ready.max(now);
        let (start, listens_until) = match station.quiet_from {
            Some(quiet) if quiet + self.times.gap >= ready => {
                (quiet + self.times.gap, quiet + self.times.gap * 2 / 3)
            }
            _ => (ready, ready),
        };
        let hears = self.stations.iter().any(|other| match other.phase {
            Phase::Sending { start, .. } => start + self.config.delay < listens_until,
            _ => false,
        });
        let station = &mut self.stations[number];
        if hears {
            station.counters.deferred += 1;
            station.phase = Phase::Deferring;
        } else {
            station.phase = Phase::Pending {
                start,
                listens_until,
            };
        }
    }

    /// Starts the transmission of a station. Stations already sending collide with it; stations
    /// that detect it in time defer.
    fn start(&mut self, now: Instant, number: usize) {
        let heard_at = now + self.config.delay;
        let mut heard_by_it = Instant::FAR_FUTURE;
        for other in &mut self.stations {
            match &mut other.phase {
                Phase::Sending {
                    start,
                    end,
                    collided,
                } => {
                    heard_by_it = heard_by_it.min((*start + self.config.delay).max(now));
                    *collided = true;
                    let told = heard_at.max(*start + self.times.preamble);
                    *end = (*end).min(told + self.times.jam);
                }
                Phase::Pending { listens_until, .. } if heard_at < *listens_until => {
                    other.counters.deferred += 1;
                    other.phase = Phase::Deferring;
                }
                Phase::Pending { .. } | Phase::Deferring | Phase::Quiet => {}
            }
        }
        let station = &mut self.stations[number];
        let octets = station
            .queue
            .front()
            .map_or(0, |(_, tally)| tally.bytes.as_u64());
        let whole = now + self.times.frame(octets);
        let collided = heard_by_it != Instant::FAR_FUTURE;
        let told = heard_by_it.max(now + self.times.preamble);
        station.phase = Phase::Sending {
            start: now,
            end: if collided {
                told + self.times.jam
            } else {
                whole
            },
            collided,
        };
    }

    /// Ends the transmission of a station: a frame, or its part in a collision.
    fn end(&mut self, now: Instant, number: usize) {
        let Phase::Sending {
            start, collided, ..
        } = self.stations[number].phase
        else {
            return;
        };
        self.busy += now.saturating_since(start.max(self.busy_until));
        self.busy_until = now;
        if collided {
            self.back_off(now, number);
        } else {
            self.send_off(now, number);
        }
        self.stations[number].phase = Phase::Quiet;
        let silent_at = now + self.config.delay;
        for other in 0..self.stations.len() {
            if other == number {
                continue;
            }
            let station = &mut self.stations[other];
            station.quiet_from = station.quiet_from.max(Some(silent_at));
            if matches!(station.phase, Phase::Pending { .. } | Phase::Deferring) {
                self.plan(now, other);
            }
        }
        if self.has_frame(number) {
            self.plan(now, number);
        }
    }

    /// Removes the front frame, which was sent successfully.
    fn send_off(&mut self, now: Instant, number: usize) {
        let station = &mut self.stations[number];
        station.counters.sent += 1;
        station.attempts = 0;
        station.ready = now + self.times.gap;
        if let Some((parcel, tally)) = station.queue.pop_front() {
            let due = now + self.config.delay;
            debug_assert!(
                self.arriving.back().is_none_or(|(last, ..)| *last <= due),
                "a frame arrives at {due:?}, before the one sent before it"
            );
            self.arriving.push_back((due, number, parcel, tally));
        }
    }

    /// Backs off after a collision of the front frame: equation (1).
    fn back_off(&mut self, now: Instant, number: usize) {
        let station = &mut self.stations[number];
        station.counters.collisions += 1;
        station.attempts += 1;
        if station.attempts >= ATTEMPT_LIMIT {
            station.counters.given_up += 1;
            station.attempts = 0;
            station.ready = now + self.times.gap.max(station.recovery);
            if let Some((parcel, tally)) = station.queue.pop_front() {
                self.counters.inside.subtract(tally);
                self.counters.drops.add(DropCause::Collisions, tally);
                self.dropped.push_back((parcel, DropCause::Collisions));
            }
            return;
        }
        let exponent = station.attempts.min(BACKOFF_LIMIT);
        let slots = station.backoff.bits() >> (64 - exponent);
        station.ready = now + station.recovery + self.times.slot.saturating_mul(slots);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::parcel::tests::Numbered;

    fn medium() -> SharedMedium<Numbered> {
        let config = SharedMediumConfig {
            name: "coax".into(),
            rate: Rate::from_bps(10_000_000),
            delay: Duration::ZERO,
            limit_packets: None,
            recoveries: vec![Duration::ZERO; 2],
        };
        SharedMedium::new(config, 1).expect("a medium")
    }

    #[test]
    fn a_frame_is_given_up_at_its_sixteenth_collision_and_the_next_one_begins_anew() {
        let mut medium = medium();
        for station in 0..2 {
            for number in 0..2 {
                let frame = Numbered::several(number, 1, 40, 40);
                medium.handle_arrival(Instant::ZERO, station, frame);
            }
            medium.stations[station].attempts = 15 - station as u32;
        }
        let jammed = Instant::ZERO + medium.times.preamble + medium.times.jam;
        assert!(medium.poll_delivery(jammed).is_none());
        let (lost, cause) = medium.poll_dropped().expect("given up");
        assert_eq!((lost.first, cause), (0, DropCause::Collisions));
        assert!(medium.poll_dropped().is_none());
        let attempts = [0, 1].map(|station: usize| medium.stations[station].attempts);
        assert_eq!(attempts, [0, 15]);
        assert!(medium.counters.is_conserved());
    }

    /// Clause 4.2.3.2.5: up to 2^10 slots and no more.
    #[test]
    fn backoff_doubles_to_1024_slots_and_uses_all_of_them() {
        let mut medium = medium();
        for collision in 1..ATTEMPT_LIMIT {
            let mut longest = 0;
            for _ in 0..20_000 {
                medium.stations[0].attempts = collision - 1;
                medium.back_off(Instant::ZERO, 0);
                let waits = medium.stations[0].ready.as_nanos();
                assert_eq!(waits % medium.times.slot.as_nanos(), 0);
                longest = longest.max(waits / medium.times.slot.as_nanos());
            }
            assert_eq!(longest, (1 << collision.min(BACKOFF_LIMIT)) - 1);
        }
    }
}
