//! Closed form of a hop: fixed rate, first in first out, fixed delay.
//!
//! Every departure is known on arrival, without scheduling or searching. Reordered packets
//! (constant extra delay) are a second FIFO merged by due time. [`crate::link`] implements all
//! other links.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Duration, Instant};

use crate::counters::Bookkeeping;
use crate::line::{Line, Run, Served};
use crate::link::Entrance;
use crate::parcel::{Frames, Pieces};
use crate::serializer::{Moment, Serializer};
use crate::sojourn::Sojourns;
use crate::{DropCause, HopConfig, MarkAbove, Parcel, Tally};

/// A hop whose parcels leave in closed form: one FIFO, one rate, one delay.
#[derive(Clone, Debug)]
pub(crate) struct Closed<T> {
    limits: Limits,
    mark_above: Option<MarkAbove>,
    reorder_delay: Duration,
    serializer: Serializer,
    line: Line<T>,
    /// Reordered packets in their extra delay, in order of due time.
    late: VecDeque<Late<T>>,
}

/// A reordered parcel and its due time.
#[derive(Clone, Debug)]
struct Late<T> {
    due: Instant,
    parcel: T,
    frames: Frames,
}

/// Queue limits as plain numbers; unlimited is the maximum value.
#[derive(Clone, Copy, Debug)]
struct Limits {
    packets: u64,
    bytes: u64,
    hold: u64,
}

/// Verdict of the queue on one wire packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Refused(DropCause),
    Accepted { is_marked: bool },
}

/// Neighboring wire packets with the same queue verdict.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    verdict: Verdict,
    count: usize,
    began: Instant,
    first_served: Moment,
    all_served: Instant,
}

impl<T: Parcel> Closed<T> {
    pub(crate) fn new(config: &HopConfig) -> Self {
        Self {
            limits: Limits {
                packets: config.limit_packets.unwrap_or(u64::MAX),
                bytes: config.limit_bytes.map_or(u64::MAX, Bytes::as_u64),
                hold: config.hold_limit.unwrap_or(u64::MAX),
            },
            mark_above: config.mark_above,
            reorder_delay: config
                .reorder
                .map_or(Duration::ZERO, |reorder| reorder.extra_delay),
            serializer: Serializer::new(config),
            line: Line::new(config),
            late: VecDeque::new(),
        }
    }

    /// Next parcel that has arrived at the far end by `now`. Parcels come in order of arrival. If
    /// two arrive at the same instant, the reordered one comes first: it left earlier.
    #[inline(always)]
    pub(crate) fn poll_delivery(&mut self, now: Instant, books: &mut Bookkeeping<T>) -> Option<T> {
        loop {
            let late_due = self.late_due();
            match self.line.front_due() {
                Some((due, true)) if due <= now => self.divert_front(now, due),
                Some((due, false)) if due <= now && due < late_due => {
                    let frames = self.line.front_frames(now, &mut self.serializer)?;
                    books.counters.on_delivery(frames.tally());
                    return self.line.take_front(now, frames, &mut self.serializer);
                }
                _ if late_due <= now => return self.take_late(books),
                _ => return None,
            }
        }
    }

    /// When to poll for a delivery again. It is not after the next delivery, and after the last
    /// call of [`Hop::poll_delivery`] that returned `None`. A reordered packet requires one call
    /// before the one at which it is delivered.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let late_due = self.late_due();
        let front = self.line.front_due();
        let next = front.map_or(late_due, |(due, _)| due.min(late_due));
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// Everything inside, for a [`crate::link`] that continues from here. These are the packets in
    /// the line and those in their extra delay.
    pub(crate) fn into_parts(
        mut self,
    ) -> (
        Vec<Served<T>>,
        impl Iterator<Item = (Instant, T, Tally)>,
        Sojourns,
    ) {
        let sojourns = self.line.sojourns().clone();
        let served = self.line.into_wire_packets(&mut self.serializer);
        let late = self.late.into_iter();
        (
            served,
            late.map(|late| (late.due, late.parcel, late.frames.tally())),
            sojourns,
        )
    }

    /// Everything inside.
    pub(crate) fn parcels(&self) -> impl Iterator<Item = &T> {
        self.line
            .parcels()
            .chain(self.late.iter().map(|late| &late.parcel))
    }

    /// What is waiting and in service at `now`: what the queue limits count.
    pub(crate) fn backlog(&mut self, now: Instant) -> Tally {
        self.line.settle(now, &mut self.serializer);
        self.line.queued()
    }

    /// An upper bound, in wire packets, of [`Closed::backlog`].
    #[inline]
    pub(crate) const fn backlog_at_most(&self) -> u64 {
        self.line.queued().packets
    }

    /// Whether reordered packets are in their extra delay.
    #[inline]
    pub(crate) fn has_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// Sojourns of what has departed, as of the last check of the backlog.
    pub(crate) const fn sojourns(&self) -> &Sojourns {
        self.line.sojourns()
    }

    /// Waiting time before service of a wire packet arriving at `now`.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        self.serializer.free_at().saturating_since(now)
    }

    /// Time from zero to `now` in which the serializer had work.
    pub(crate) fn busy_time(&self, now: Instant) -> Duration {
        self.serializer.busy_time(now)
    }

    /// Accepts wire packets into the queue, as far as the limits allow.
    #[inline(always)]
    pub(crate) fn enter(
        &mut self,
        now: Instant,
        entrance: Entrance,
        (mut parcel, frames): (T, Frames),
        books: &mut Bookkeeping<T>,
    ) {
        let tally = frames.tally();
        if !self.has_room_for(tally, books) || self.may_mark(now, &parcel, frames) {
            self.line.settle(now, &mut self.serializer);
            if !self.has_room_for(tally, books) || self.may_mark(now, &parcel, frames) {
                self.enter_by_piece(now, entrance, (parcel, frames), books);
                return;
            }
        }
        if entrance.is_marked {
            mark(now, &mut parcel, frames, books);
        }
        let began = self.serializer.free_at().max(now);
        let (first_served, last_served) = self.serializer.serve_all(now, frames);
        self.line.count_in(now, first_served.instant(), tally);
        books.counters.inside.add(tally);
        let run = Run {
            parcel,
            frames,
            arrived: now,
            began,
            first_served,
            all_served: last_served.instant(),
            is_reordered: entrance.is_reordered,
            gathers: 0,
        };
        self.push(now, run, books);
    }

    /// Whether the threshold may mark any of `frames`. It uses an upper bound of the backlog. The
    /// last frame sees the longest queue.
    #[inline]
    fn may_mark(&self, now: Instant, parcel: &T, frames: Frames) -> bool {
        let threshold = self.mark_above;
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
        if !parcel.is_markable() {
            return false;
        }
        let mut after = self.line.queued();
        after.add(frames.tally());
        match threshold {
            MarkAbove::Bytes(most) => after.bytes > most,
            MarkAbove::Packets(most) => after.packets > most,
            MarkAbove::Sojourn(longest) => {
                let (_, served) = self.serializer.clone().serve_all(now, frames);
                served.instant().saturating_since(now) > longest
            }
        }
    }

    /// Whether the threshold marks a wire packet of `size` that is about to enter. The line must be
    /// settled.
    fn is_above_threshold(&self, now: Instant, size: u64) -> bool {
        let queued = self.line.queued();
        match self.mark_above {
            None => false,
            Some(MarkAbove::Bytes(most)) => queued.bytes + Bytes::new(size) > most,
            Some(MarkAbove::Packets(most)) => queued.packets + 1 > most,
            Some(MarkAbove::Sojourn(longest)) => self.wait(now) > longest,
        }
    }

    /// Whether all limits certainly allow `more`. It uses an upper bound of the backlog, which may
    /// have fallen since the line was last settled.
    fn has_room_for(&self, more: Tally, books: &Bookkeeping<T>) -> bool {
        let mut after = self.line.queued();
        after.add(more);
        after.packets <= self.limits.packets
            && after.bytes.as_u64() <= self.limits.bytes
            && books.counters.inside.packets + more.packets <= self.limits.hold
    }

    /// Accepts the wire packets of a parcel that the limits allow, one at a time. The parcel is
    /// split where verdicts change.
    #[inline(never)]
    fn enter_by_piece(
        &mut self,
        now: Instant,
        entrance: Entrance,
        (parcel, frames): (T, Frames),
        books: &mut Bookkeeping<T>,
    ) {
        let mut pieces = Pieces::new(parcel, frames);
        let mut open: Option<Stretch> = None;
        for index in 0..frames.count() {
            let next = self.admit(now, entrance, frames.size(index), books);
            match &mut open {
                Some(stretch) if stretch.verdict == next.verdict => {
                    stretch.count += 1;
                    stretch.all_served = next.all_served;
                }
                _ => {
                    let closed = open.replace(next);
                    self.close(now, entrance, pieces.cut(closed), books);
                }
            }
        }
        self.close(now, entrance, pieces.cut(open), books);
    }

    /// Queue's verdict on a wire packet of `size` at `now`. If accepted, it is served. The line
    /// must be settled.
    fn admit(
        &mut self,
        now: Instant,
        entrance: Entrance,
        size: u64,
        books: &mut Bookkeeping<T>,
    ) -> Stretch {
        let began = self.serializer.free_at().max(now);
        let mut served = Moment::default();
        let verdict = if let Some(cause) = self.refusal(size, books) {
            Verdict::Refused(cause)
        } else {
            let is_marked = entrance.is_marked || self.is_above_threshold(now, size);
            let tally = Tally::new(1, size);
            served = self.serializer.serve(now, size);
            self.line.count_in(now, served.instant(), tally);
            books.counters.inside.add(tally);
            Verdict::Accepted { is_marked }
        };
        Stretch {
            verdict,
            count: 1,
            began,
            first_served: served,
            all_served: served.instant(),
        }
    }

    fn refusal(&self, size: u64, books: &Bookkeeping<T>) -> Option<DropCause> {
        let queued = self.line.queued();
        let bytes = queued.bytes.as_u64().saturating_add(size);
        if books.counters.inside.packets >= self.limits.hold {
            Some(DropCause::HoldLimit)
        } else if queued.packets >= self.limits.packets || bytes > self.limits.bytes {
            Some(DropCause::QueueFull)
        } else {
            None
        }
    }

    /// Processes wire packets that were split off their parcel, according to their verdict.
    fn close(
        &mut self,
        now: Instant,
        entrance: Entrance,
        cut: Option<(Stretch, T, Frames)>,
        books: &mut Bookkeeping<T>,
    ) {
        let Some((stretch, mut parcel, frames)) = cut else {
            return;
        };
        match stretch.verdict {
            Verdict::Refused(cause) => {
                books.discard(now, cause, parcel, frames);
                return;
            }
            Verdict::Accepted { is_marked: true } => mark(now, &mut parcel, frames, books),
            Verdict::Accepted { is_marked: false } => {}
        }
        let run = Run {
            parcel,
            frames,
            arrived: now,
            began: stretch.began,
            first_served: stretch.first_served,
            all_served: stretch.all_served,
            is_reordered: entrance.is_reordered,
            gathers: 0,
        };
        self.push(now, run, books);
    }

    #[inline]
    fn push(&mut self, now: Instant, run: Run<T>, books: &mut Bookkeeping<T>) {
        if run.is_reordered {
            books.counters.reordered.add(run.frames.tally());
        }
        self.line.push(now, run, &mut self.serializer);
        let queued = self.line.queued();
        debug_assert!(
            queued.packets <= self.limits.packets && queued.bytes.as_u64() <= self.limits.bytes,
            "{queued:?} in a queue with {:?}",
            self.limits
        );
        debug_assert!(
            books.counters.inside.packets <= self.limits.hold,
            "{} wire packets inside, at most {}",
            books.counters.inside.packets,
            self.limits.hold
        );
    }

    #[cold]
    fn take_late(&mut self, books: &mut Bookkeeping<T>) -> Option<T> {
        let late = self.late.pop_front()?;
        books.counters.on_delivery(late.frames.tally());
        Some(late.parcel)
    }

    /// Moves the front packet, which is reordered and due, to its extra delay.
    #[cold]
    fn divert_front(&mut self, now: Instant, due: Instant) {
        let Some(frames) = self.line.front_frames(now, &mut self.serializer) else {
            return;
        };
        let parcel = self.line.take_front(now, frames, &mut self.serializer);
        if let Some(parcel) = parcel {
            let due = due + self.reorder_delay;
            debug_assert!(
                self.late.back().is_none_or(|last| last.due <= due),
                "a reordered parcel is due at {due:?}, before the one before it"
            );
            self.late.push_back(Late {
                due,
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

fn mark<T: Parcel>(now: Instant, parcel: &mut T, frames: Frames, books: &mut Bookkeeping<T>) {
    if parcel.try_mark() {
        books.mark(now, frames.tally());
    }
}

impl<T: Parcel> Pieces<T> {
    /// Splits the wire packets of one verdict off, if there are any.
    fn cut(&mut self, stretch: Option<Stretch>) -> Option<(Stretch, T, Frames)> {
        let stretch = stretch?;
        let (parcel, frames) = self.take(stretch.count)?;
        Some((stretch, parcel, frames))
    }
}
