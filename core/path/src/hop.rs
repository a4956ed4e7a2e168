//! One direction of one link, router port or emulator, as a pure element.
//!
//! See [`HopConfig`] for what happens to a packet and in which order. The
//! model is a fixed-rate tail-drop FIFO followed by a constant delay, which
//! makes every departure known on arrival: nothing is scheduled, nothing is
//! searched, and displaced packets (constant extra delay) are a second FIFO
//! merged by due time.
//!
//! **Super-packets** are accounted for wire packet by wire packet. With
//! [`Release::PerPacket`](crate::Release::PerPacket) the outcome is the same
//! as if each wire packet had been handed in alone at the same instant:
//! verdicts, departures and counters. With
//! [`Release::Whole`](crate::Release::Whole) verdicts and counters are the
//! same unless a hold limit is set (a whole parcel is inside until its end has
//! arrived) and arrival is that of the last wire packet.

use alloc::collections::VecDeque;

use gigatcp_units::{Duration, Instant};

use crate::fate::Fates;
use crate::line::{Line, Run};
use crate::parcel::{Frames, Pieces};
use crate::serialiser::{Moment, Serialiser};
use crate::{ConfigError, Counters, DropCause, HopConfig, Parcel, Tally};

/// One direction of one link, router port or emulator.
///
/// ```
/// use gigatcp_path::{Hop, HopConfig, Parcel};
/// use gigatcp_units::{Duration, Instant, Rate};
///
/// #[derive(Clone)]
/// struct Packet;
///
/// impl Parcel for Packet {
///     fn wire_packets(&self) -> usize { 1 }
///     fn ip_bytes(&self) -> u64 { 1250 }
///     fn leading_ip_bytes(&self) -> u64 { 1250 }
///     fn split_front(&mut self, _: usize) -> Self { Packet }
/// }
///
/// let config = HopConfig {
///     rate: Some(Rate::from_bps(1_000_000_000)),
///     one_way_delay: Duration::from_millis(40),
///     ..HopConfig::default()
/// };
/// let mut hop = Hop::new(config, 1)?;
/// hop.handle_arrival(Instant::ZERO, Packet);
/// let due = hop.poll_timeout().expect("a packet is on the way");
/// assert_eq!(due, Instant::from_nanos(40_010_000));
/// assert!(hop.poll_delivery(due).is_some());
/// # Ok::<(), gigatcp_path::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hop<T> {
    config: HopConfig,
    limits: Limits,
    fates: Fates,
    serialiser: Serialiser,
    line: Line<T>,
    /// Displaced packets on their extra delay, in order of due time.
    late: VecDeque<Late<T>>,
    dropped: VecDeque<(T, DropCause)>,
    /// When the front of line or extra delay comes out: most polls need to
    /// look no further.
    next_due: Instant,
    counters: Counters,
}

/// A displaced parcel and when it comes out.
#[derive(Clone, Debug)]
struct Late<T> {
    due: Instant,
    parcel: T,
    frames: Frames,
}

/// The limits as plain numbers; without limit is the largest.
#[derive(Clone, Copy, Debug)]
struct Limits {
    packets: u64,
    bytes: u64,
    hold: u64,
}

/// What becomes of a wire packet; neighbours of equal verdict stay together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Pass,
    Displace,
    Drop(DropCause),
}

/// Neighbouring wire packets of one verdict, not yet cut off their parcel.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    verdict: Verdict,
    count: usize,
    first_served: Moment,
    all_served: Instant,
}

impl Stretch {
    fn new(verdict: Verdict, served: Moment) -> Self {
        Self {
            verdict,
            count: 1,
            first_served: served,
            all_served: served.instant(),
        }
    }
}

impl<T: Parcel> Hop<T> {
    /// A hop of the run with this `seed`.
    ///
    /// # Errors
    ///
    /// What [`HopConfig::check`] finds wrong.
    pub fn new(config: HopConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            limits: Limits {
                packets: config.limit_packets.unwrap_or(u64::MAX),
                bytes: config.limit_bytes.map_or(u64::MAX, |limit| limit.as_u64()),
                hold: config.hold_limit.unwrap_or(u64::MAX),
            },
            fates: Fates::new(&config, seed),
            serialiser: Serialiser::new(&config),
            line: Line::new(&config),
            late: VecDeque::new(),
            dropped: VecDeque::new(),
            next_due: Instant::FAR_FUTURE,
            counters: Counters::default(),
            config,
        })
    }

    /// Takes in a parcel that reaches the hop at `now`.
    pub fn handle_arrival(&mut self, now: Instant, parcel: T) {
        let frames = Frames::of(&parcel);
        self.counters.arrived.add(frames.tally());
        if self.fates.is_clean() && self.has_room_for(frames.tally()) {
            let stretch = self.admit_all(now, frames);
            self.dispatch(now, stretch, parcel, frames);
        } else {
            self.line.settle(now, &mut self.serialiser);
            self.handle_each(now, Pieces::new(parcel, frames), frames);
        }
        debug_assert!(self.counters.is_conserved());
    }

    /// Hands out the next parcel that has arrived at the far end by `now`, in
    /// order of arrival. Of two arriving at the same instant the displaced one
    /// comes first: it left earlier.
    pub fn poll_delivery(&mut self, now: Instant) -> Option<T> {
        if now < self.next_due {
            return None;
        }
        let delivery = self.take_due(now);
        self.next_due = self.earliest_due();
        let (parcel, frames) = delivery?;
        self.counters.on_delivery(frames.tally());
        debug_assert!(self.counters.is_conserved());
        Some(parcel)
    }

    /// Hands out the next parcel that did not get through, in order of the
    /// verdicts. Neighbouring wire packets of one super-packet and one cause
    /// come together. Uncollected parcels stay in memory: poll until nothing
    /// comes.
    pub fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front()
    }

    /// When to poll for a delivery again: not after the next one, and after
    /// the last call of [`Hop::poll_delivery`] that gave nothing. A displaced
    /// packet asks for one call before the one at which it comes out.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        (self.next_due != Instant::FAR_FUTURE).then_some(self.next_due)
    }

    /// Waiting and in service at `now`: what the queue limits count.
    pub fn backlog(&mut self, now: Instant) -> Tally {
        self.line.settle(now, &mut self.serialiser);
        self.line.queued()
    }

    /// How long a wire packet arriving at `now` would wait before its service
    /// begins.
    #[must_use]
    pub fn queueing_delay(&self, now: Instant) -> Duration {
        self.serialiser.free_at().saturating_since(now)
    }

    /// Everything that has happened to wire packets so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Time from zero to `now` in which the serialiser had work.
    #[must_use]
    pub fn busy_time(&self, now: Instant) -> Duration {
        self.serialiser.busy_time(now)
    }

    /// Share of the time from zero to `now` in which the serialiser had work,
    /// 0 to 1; for printing only.
    #[must_use]
    pub fn utilisation(&self, now: Instant) -> f64 {
        if now == Instant::ZERO {
            return 0.0;
        }
        self.busy_time(now).as_nanos() as f64 / now.as_nanos() as f64
    }

    /// What the hop was built from.
    #[must_use]
    pub const fn config(&self) -> &HopConfig {
        &self.config
    }

    /// Passes a verdict on each wire packet and cuts where verdicts change.
    fn handle_each(&mut self, now: Instant, mut pieces: Pieces<T>, frames: Frames) {
        let mut open: Option<Stretch> = None;
        for index in 0..frames.count() {
            let size = frames.size(index);
            let fate = self.fates.judge();
            let next = match fate.lost_to {
                Some(model) => self.refuse(DropCause::Loss(model), size),
                None => self.admit(now, size, fate.is_displaced),
            };
            if fate.is_duplicated && fate.lost_to.is_none() {
                self.close(now, &mut pieces, open.take());
                self.close_with_copy(now, &mut pieces, next);
                continue;
            }
            match &mut open {
                Some(stretch) if stretch.verdict == next.verdict => {
                    stretch.count += 1;
                    stretch.all_served = next.all_served;
                }
                _ => self.close(now, &mut pieces, open.replace(next)),
            }
        }
        self.close(now, &mut pieces, open);
    }

    /// Whether all limits leave room for `more`, going by a backlog that is at
    /// least the real one: it may have fallen since it was last settled.
    fn has_room_for(&self, more: Tally) -> bool {
        let mut after = self.line.queued();
        after.add(more);
        after.packets <= self.limits.packets
            && after.bytes.as_u64() <= self.limits.bytes
            && self.counters.inside.packets + more.packets <= self.limits.hold
    }

    /// Queues all wire packets of a parcel for service at once.
    fn admit_all(&mut self, now: Instant, frames: Frames) -> Stretch {
        let (first, last) = self.serialiser.serve_all(now, frames);
        self.line.count_in(now, first.instant(), frames.tally());
        self.counters.inside.add(frames.tally());
        Stretch {
            verdict: Verdict::Pass,
            count: frames.count(),
            first_served: first,
            all_served: last.instant(),
        }
    }

    /// The limits' verdict on a wire packet of `size` at `now`; with room, it
    /// is queued for service. The line must be settled.
    fn admit(&mut self, now: Instant, size: u64, is_displaced: bool) -> Stretch {
        let tally = Tally::new(1, size);
        let queued = self.line.queued();
        if self.counters.inside.packets >= self.limits.hold {
            return self.refuse(DropCause::HoldLimit, size);
        }
        let bytes = queued.bytes.as_u64().saturating_add(size);
        if queued.packets >= self.limits.packets || bytes > self.limits.bytes {
            return self.refuse(DropCause::QueueFull, size);
        }
        let served = self.serialiser.serve(now, size);
        self.line.count_in(now, served.instant(), tally);
        self.counters.inside.add(tally);
        if is_displaced {
            self.counters.displaced.add(tally);
            return Stretch::new(Verdict::Displace, served);
        }
        Stretch::new(Verdict::Pass, served)
    }

    fn refuse(&mut self, cause: DropCause, size: u64) -> Stretch {
        self.counters.on_drop(cause, Tally::new(1, size));
        Stretch::new(Verdict::Drop(cause), Moment::default())
    }

    /// Cuts a stretch off its parcel and sends it where its verdict says.
    fn close(&mut self, now: Instant, pieces: &mut Pieces<T>, stretch: Option<Stretch>) {
        let Some(stretch) = stretch else { return };
        if let Some((parcel, frames)) = pieces.take(stretch.count) {
            self.dispatch(now, stretch, parcel, frames);
        }
    }

    /// Closes a stretch of one wire packet and lets its copy follow it.
    fn close_with_copy(&mut self, now: Instant, pieces: &mut Pieces<T>, stretch: Stretch) {
        let Some((parcel, frames)) = pieces.take(1) else {
            return;
        };
        let copy = parcel.clone();
        self.dispatch(now, stretch, parcel, frames);
        self.counters.duplicated.add(frames.tally());
        let stretch = self.admit(now, frames.size(0), false);
        self.dispatch(now, stretch, copy, frames);
    }

    fn dispatch(&mut self, now: Instant, stretch: Stretch, parcel: T, frames: Frames) {
        if let Verdict::Drop(cause) = stretch.verdict {
            self.dropped.push_back((parcel, cause));
            return;
        }
        let run = Run {
            parcel,
            frames,
            first_served: stretch.first_served,
            all_served: stretch.all_served,
            is_displaced: stretch.verdict == Verdict::Displace,
        };
        // A run that joins a queue is not due before its front.
        self.next_due = self.next_due.min(self.line.due(&run));
        self.line.push(now, run);
    }

    fn take_due(&mut self, now: Instant) -> Option<(T, Frames)> {
        self.divert_displaced(now);
        let late_due = self.late.front().map(|late| late.due);
        match self.line.front_due() {
            Some((due, false)) if due <= now && late_due.is_none_or(|late| due < late) => {
                self.line.take_front(now, &mut self.serialiser)
            }
            _ => {
                late_due.filter(|&due| due <= now)?;
                let late = self.late.pop_front()?;
                Some((late.parcel, late.frames))
            }
        }
    }

    fn earliest_due(&self) -> Instant {
        let line = self.line.front_due().map(|(due, _)| due);
        let late = self.late.front().map(|late| late.due);
        let earliest = line.into_iter().chain(late).min();
        earliest.unwrap_or(Instant::FAR_FUTURE)
    }

    /// Moves displaced packets that would have arrived by `now` from the line
    /// to their extra delay.
    fn divert_displaced(&mut self, now: Instant) {
        while let Some((due, true)) = self.line.front_due() {
            if due > now {
                return;
            }
            let Some((parcel, frames)) = self.line.take_front(now, &mut self.serialiser) else {
                return;
            };
            let extra_delay = self
                .config
                .reorder
                .map_or(Duration::ZERO, |reorder| reorder.extra_delay);
            self.late.push_back(Late {
                due: due + extra_delay,
                parcel,
                frames,
            });
        }
    }
}
