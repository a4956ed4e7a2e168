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
//! [`Release::Within`](crate::Release::Within) lies between the two.

use alloc::collections::VecDeque;

use gigatcp_units::{Bytes, Duration, Instant};

use crate::fate::{Fate, Fates};
use crate::line::{Line, Run};
use crate::parcel::{Frames, Pieces};
use crate::serialiser::{Moment, Serialiser};
use crate::{ConfigError, Counters, DropCause, HopConfig, MarkAbove, Parcel, Tally, counters};

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
    mtu: u64,
}

/// What has been decided on wire packets before they come to the queue.
#[derive(Clone, Copy, Default, Debug)]
struct Entrance {
    is_displaced: bool,
    is_marked: bool,
}

/// What the queue decides on a wire packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Refused(DropCause),
    Accepted { is_marked: bool },
}

/// Neighbouring wire packets on which the queue has one verdict.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    verdict: Verdict,
    count: usize,
    first_served: Moment,
    all_served: Instant,
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
                mtu: config.mtu.map_or(u64::MAX, |mtu| mtu.as_u64()),
            },
            fates: Fates::new(&config, seed),
            serialiser: Serialiser::new(&config),
            line: Line::new(&config),
            late: VecDeque::new(),
            dropped: VecDeque::new(),
            counters: Counters::default(),
            config,
        })
    }

    /// Takes in a parcel that reaches the hop at `now`.
    pub fn handle_arrival(&mut self, now: Instant, mut parcel: T) {
        let frames = Frames::of(&parcel);
        self.counters.arrived.add(frames.tally());
        if self.config.ecn_bleach && parcel.try_bleach() {
            self.counters.bleached.add(frames.tally());
        }
        if frames.largest() > self.limits.mtu {
            self.handle_too_big(now, parcel, frames);
        } else {
            self.handle_fitting(now, parcel, frames);
        }
        debug_assert!(self.counters.is_conserved());
    }

    /// Deals with wire packets of a size the element takes.
    #[inline(always)]
    fn handle_fitting(&mut self, now: Instant, parcel: T, frames: Frames) {
        if self.fates.is_clean() {
            self.enter(now, Entrance::default(), parcel, frames);
        } else {
            self.handle_fates(now, parcel, frames);
        }
    }

    /// Drops what is larger than the element takes. Of a super-packet that is
    /// all but perhaps the last.
    #[cold]
    fn handle_too_big(&mut self, now: Instant, parcel: T, frames: Frames) {
        let mut pieces = Pieces::new(parcel, frames);
        let all_but_last = frames.count() - 1;
        for count in [all_but_last, 1] {
            let Some((piece, frames)) = pieces.take(count) else {
                continue;
            };
            if frames.largest() > self.limits.mtu {
                self.discard(DropCause::TooBig, piece, frames);
            } else {
                self.handle_fitting(now, piece, frames);
            }
        }
    }

    /// Hands out the next parcel that has arrived at the far end by `now`, in
    /// order of arrival. Of two arriving at the same instant the displaced one
    /// comes first: it left earlier.
    #[inline]
    pub fn poll_delivery(&mut self, now: Instant) -> Option<T> {
        loop {
            let late_due = self.late_due();
            match self.line.front_due() {
                Some((due, true)) if due <= now => self.divert_front(now, due),
                Some((due, false)) if due <= now && due < late_due => {
                    let frames = self.line.front_frames(now, &mut self.serialiser)?;
                    self.counters.on_delivery(frames.tally());
                    return self.line.take_front(now, frames, &mut self.serialiser);
                }
                _ if late_due <= now => return self.take_late(),
                _ => return None,
            }
        }
    }

    /// Hands out the next parcel that did not get through, in order of the
    /// verdicts. Neighbouring wire packets of one super-packet and one cause
    /// may come together. Uncollected parcels stay in memory: poll until nothing
    /// comes.
    pub fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front()
    }

    /// When to poll for a delivery again: not after the next one, and after
    /// the last call of [`Hop::poll_delivery`] that gave nothing. A displaced
    /// packet asks for one call before the one at which it comes out.
    #[inline]
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let late_due = self.late_due();
        let front = self.line.front_due();
        let next = front.map_or(late_due, |(due, _)| due.min(late_due));
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// Waiting and in service at `now`: what the queue limits count.
    pub fn backlog(&mut self, now: Instant) -> Tally {
        self.line.settle(now, &mut self.serialiser);
        self.line.queued()
    }

    /// Wire packets that [`Hop::backlog`] would find at most: it costs nothing,
    /// and what has departed since somebody looked is still in it.
    #[inline]
    #[must_use]
    pub const fn backlog_at_most(&self) -> u64 {
        self.line.queued().packets
    }

    /// Whether displaced packets are on their extra delay.
    #[inline]
    #[must_use]
    pub fn has_late(&self) -> bool {
        !self.late.is_empty()
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
        counters::utilisation(self.busy_time(now), now)
    }

    /// What the hop was built from.
    #[must_use]
    pub const fn config(&self) -> &HopConfig {
        &self.config
    }

    /// Asks for the fate of each wire packet and cuts where fates change.
    #[inline(never)]
    fn handle_fates(&mut self, now: Instant, parcel: T, frames: Frames) {
        let mut pieces = Pieces::new(parcel, frames);
        let mut left = frames.count();
        let mut judged = 0;
        let mut judge = |fates: &mut Fates| {
            judged += 1;
            fates.judge(now, frames.size(judged - 1))
        };
        let mut fate = judge(&mut self.fates);
        while left > 0 {
            let mut count = 1;
            let mut next = fate;
            while count < left {
                next = judge(&mut self.fates);
                if next != fate {
                    break;
                }
                count += 1;
            }
            if let Some((piece, frames)) = pieces.take(count) {
                self.handle_fate(now, fate, piece, frames);
            }
            left -= count;
            fate = next;
        }
    }

    /// Deals with wire packets of one fate.
    fn handle_fate(&mut self, now: Instant, fate: Fate, parcel: T, frames: Frames) {
        let entrance = Entrance {
            is_displaced: fate.is_displaced,
            is_marked: fate.is_marked,
        };
        if let Some(model) = fate.lost_to {
            self.discard(DropCause::Loss(model), parcel, frames);
        } else if fate.is_policed {
            self.discard(DropCause::Policed, parcel, frames);
        } else if fate.is_duplicated {
            let mut pieces = Pieces::new(parcel, frames);
            while let Some((parcel, frames)) = pieces.take(1) {
                let copy = parcel.clone();
                self.enter_judged(now, entrance, parcel, frames);
                self.counters.duplicated.add(frames.tally());
                self.enter_judged(now, Entrance::default(), copy, frames);
            }
        } else {
            self.enter_judged(now, entrance, parcel, frames);
        }
    }

    /// [`Hop::enter`] for hops with fates, so that those without have it in
    /// one piece with all that leads there: each step a parcel is handed on is
    /// a copy.
    #[inline(never)]
    fn enter_judged(&mut self, now: Instant, entrance: Entrance, parcel: T, frames: Frames) {
        self.enter(now, entrance, parcel, frames);
    }

    /// Lets wire packets into the queue, as far as the limits allow.
    #[inline(always)]
    fn enter(&mut self, now: Instant, entrance: Entrance, mut parcel: T, frames: Frames) {
        let tally = frames.tally();
        if !self.has_room_for(tally) || self.may_mark(now, &parcel, frames) {
            self.line.settle(now, &mut self.serialiser);
            if !self.has_room_for(tally) || self.may_mark(now, &parcel, frames) {
                self.enter_by_piece(now, entrance, Pieces::new(parcel, frames), frames);
                return;
            }
        }
        if entrance.is_marked {
            self.mark(&mut parcel, frames);
        }
        let (first_served, last_served) = self.serialiser.serve_all(now, frames);
        self.line.count_in(now, first_served.instant(), tally);
        self.counters.inside.add(tally);
        let run = Run {
            parcel,
            frames,
            first_served,
            all_served: last_served.instant(),
            is_displaced: entrance.is_displaced,
            gathers: 0,
        };
        self.push(now, run);
    }

    /// Whether the threshold marks any of `frames`, going by a backlog that is
    /// at least the real one. The last one sees the longest queue.
    #[inline]
    fn may_mark(&self, now: Instant, parcel: &T, frames: Frames) -> bool {
        let threshold = self.config.mark_above;
        threshold.is_some_and(|threshold| self.may_mark_above(now, threshold, parcel, frames))
    }

    #[inline(never)]
    fn may_mark_above(
        &self,
        now: Instant,
        threshold: MarkAbove,
        parcel: &T,
        frames: Frames,
    ) -> bool {
        if !parcel.takes_mark() {
            return false;
        }
        let mut after = self.line.queued();
        after.add(frames.tally());
        match threshold {
            MarkAbove::Bytes(most) => after.bytes > most,
            MarkAbove::Packets(most) => after.packets > most,
            MarkAbove::Sojourn(longest) => {
                let (_, served) = self.serialiser.clone().serve_all(now, frames);
                served.instant().saturating_since(now) > longest
            }
        }
    }

    /// Whether the threshold marks a wire packet of `size` that is about to
    /// enter. The line must be settled.
    fn is_above_threshold(&self, now: Instant, size: u64) -> bool {
        let queued = self.line.queued();
        match self.config.mark_above {
            None => false,
            Some(MarkAbove::Bytes(most)) => queued.bytes + Bytes::new(size) > most,
            Some(MarkAbove::Packets(most)) => queued.packets + 1 > most,
            Some(MarkAbove::Sojourn(longest)) => self.queueing_delay(now) > longest,
        }
    }

    fn mark(&mut self, parcel: &mut T, frames: Frames) {
        if parcel.try_mark() {
            self.counters.marked.add(frames.tally());
        }
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

    /// Lets in those wire packets of a parcel that find room, one at a time,
    /// and cuts where verdicts change.
    #[inline(never)]
    fn enter_by_piece(
        &mut self,
        now: Instant,
        entrance: Entrance,
        mut pieces: Pieces<T>,
        frames: Frames,
    ) {
        let mut open: Option<Stretch> = None;
        for index in 0..frames.count() {
            let next = self.admit(now, entrance, frames.size(index));
            match &mut open {
                Some(stretch) if stretch.verdict == next.verdict => {
                    stretch.count += 1;
                    stretch.all_served = next.all_served;
                }
                _ => {
                    let closed = open.replace(next);
                    self.close(now, entrance, &mut pieces, closed);
                }
            }
        }
        self.close(now, entrance, &mut pieces, open);
    }

    /// The queue's verdict on a wire packet of `size` at `now`; with room, it
    /// is served. The line must be settled.
    fn admit(&mut self, now: Instant, entrance: Entrance, size: u64) -> Stretch {
        let mut served = Moment::default();
        let verdict = if let Some(cause) = self.refusal(size) {
            Verdict::Refused(cause)
        } else {
            let is_marked = entrance.is_marked || self.is_above_threshold(now, size);
            let tally = Tally::new(1, size);
            served = self.serialiser.serve(now, size);
            self.line.count_in(now, served.instant(), tally);
            self.counters.inside.add(tally);
            Verdict::Accepted { is_marked }
        };
        Stretch {
            verdict,
            count: 1,
            first_served: served,
            all_served: served.instant(),
        }
    }

    fn refusal(&self, size: u64) -> Option<DropCause> {
        let queued = self.line.queued();
        let bytes = queued.bytes.as_u64().saturating_add(size);
        if self.counters.inside.packets >= self.limits.hold {
            Some(DropCause::HoldLimit)
        } else if queued.packets >= self.limits.packets || bytes > self.limits.bytes {
            Some(DropCause::QueueFull)
        } else {
            None
        }
    }

    /// Cuts a stretch off its parcel and sends it where its verdict says.
    fn close(
        &mut self,
        now: Instant,
        entrance: Entrance,
        pieces: &mut Pieces<T>,
        stretch: Option<Stretch>,
    ) {
        let Some(stretch) = stretch else { return };
        let Some((mut parcel, frames)) = pieces.take(stretch.count) else {
            return;
        };
        match stretch.verdict {
            Verdict::Refused(cause) => {
                self.discard(cause, parcel, frames);
                return;
            }
            Verdict::Accepted { is_marked: true } => self.mark(&mut parcel, frames),
            Verdict::Accepted { is_marked: false } => {}
        }
        let run = Run {
            parcel,
            frames,
            first_served: stretch.first_served,
            all_served: stretch.all_served,
            is_displaced: entrance.is_displaced,
            gathers: 0,
        };
        self.push(now, run);
    }

    fn discard(&mut self, cause: DropCause, parcel: T, frames: Frames) {
        self.counters.on_drop(cause, frames.tally());
        self.dropped.push_back((parcel, cause));
    }

    #[inline]
    fn push(&mut self, now: Instant, run: Run<T>) {
        if run.is_displaced {
            self.counters.displaced.add(run.frames.tally());
        }
        self.line.push(now, run, &mut self.serialiser);
    }

    #[cold]
    fn take_late(&mut self) -> Option<T> {
        let late = self.late.pop_front()?;
        self.counters.on_delivery(late.frames.tally());
        Some(late.parcel)
    }

    /// Moves the front, displaced and due, to its extra delay.
    #[cold]
    fn divert_front(&mut self, now: Instant, due: Instant) {
        let reorder = self.config.reorder;
        let extra_delay = reorder.map_or(Duration::ZERO, |reorder| reorder.extra_delay);
        let Some(frames) = self.line.front_frames(now, &mut self.serialiser) else {
            return;
        };
        let parcel = self.line.take_front(now, frames, &mut self.serialiser);
        if let Some(parcel) = parcel {
            self.late.push_back(Late {
                due: due + extra_delay,
                parcel,
                frames,
            });
        }
    }

    fn late_due(&self) -> Instant {
        let late = self.late.front();
        late.map_or(Instant::FAR_FUTURE, |late| late.due)
    }
}
