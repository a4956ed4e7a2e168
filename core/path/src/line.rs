//! Line of a hop: everything from the tail of the queue to the far end.
//!
//! Departures are known on arrival, so queue, serializer and delay line are one FIFO of *runs*:
//! parcels whose wire packets are served back to back. A cursor separates departed packets (in the
//! delay line) from the others (in the queue). It only moves forward, over each run once. So the
//! backlog is exact at any time and no packet costs more than one push and one pop.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::parcel::{Frames, Pieces};
use crate::serializer::{Moment, Serializer};
use crate::sojourn::Sojourns;
use crate::{HopConfig, Parcel, Release, Tally};

/// Wire packets served back to back.
#[derive(Clone, Debug)]
pub(crate) struct Run<T> {
    pub(crate) parcel: T,
    pub(crate) frames: Frames,
    /// Time of arrival at the queue.
    pub(crate) arrived: Instant,
    /// Start of service of the first of `frames`.
    pub(crate) began: Instant,
    /// End of service of the first of `frames`.
    pub(crate) first_served: Moment,
    /// End of service of the last of `frames`.
    pub(crate) all_served: Instant,
    /// Whether it is given the extra delay after this line.
    pub(crate) is_reordered: bool,
    /// Nanoseconds between the departures of the first and the last frame that come out together.
    /// Only with [`Release::Within`]; set by the line.
    pub(crate) gathers: u32,
}

/// First wire packet that has not departed.
#[derive(Clone, Copy, Default, Debug)]
struct Cursor {
    /// Index of its run, from the front.
    run: usize,
    /// Index within the run.
    frame: usize,
    /// Start of its service; unused if `frame` is zero: the run has it.
    began: Instant,
    /// End of its service; unused if `frame` is zero: the run has it.
    served: Moment,
}

/// Queue and delay line of a hop.
#[derive(Clone, Debug)]
pub(crate) struct Line<T> {
    runs: VecDeque<Run<T>>,
    cursor: Cursor,
    /// Packets accepted and not yet departed.
    queued: Tally,
    /// Sojourns of departed packets.
    sojourns: Sojourns,
    delay: Duration,
    release: Release,
}

impl<T: Parcel> Line<T> {
    pub(crate) fn new(config: &HopConfig) -> Self {
        Self {
            runs: VecDeque::new(),
            cursor: Cursor::default(),
            queued: Tally::default(),
            sojourns: Sojourns::default(),
            delay: config.one_way_delay,
            release: config.release,
        }
    }

    /// What is waiting and in service, as of the last [`Line::settle`].
    pub(crate) const fn queued(&self) -> Tally {
        self.queued
    }

    /// Everything inside.
    pub(crate) fn parcels(&self) -> impl Iterator<Item = &T> {
        self.runs.iter().map(|run| &run.parcel)
    }

    /// Sojourns of departed packets, as of the last [`Line::settle`].
    pub(crate) const fn sojourns(&self) -> &Sojourns {
        &self.sojourns
    }

    /// Counts wire packets into the queue before the run with them is pushed. The first of them
    /// departs at `departure`.
    pub(crate) fn count_in(&mut self, now: Instant, departure: Instant, tally: Tally) {
        if departure > now {
            self.queued.add(tally);
        }
    }

    /// Appends a run whose wire packets have been counted in at `now`.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, run: Run<T>, serializer: &mut Serializer) {
        // Without service time a run departs on arrival, and so have all earlier ones.
        let has_departed = run.all_served <= now;
        self.runs.push_back(run);
        // Done in place: if its address were taken earlier, the run would be copied twice.
        if let (Release::Within(longest), Some(run)) = (self.release, self.runs.back_mut()) {
            gather(run, longest, serializer);
        }
        if has_departed {
            self.queued = Tally::default();
            self.cursor = Cursor {
                run: self.runs.len(),
                ..Cursor::default()
            };
        }
        self.assert_invariants();
    }

    /// Asserts the invariants that hold after each arrival. Runs are served in order, and what lies
    /// after the cursor is what is queued.
    fn assert_invariants(&self) {
        debug_assert!(
            self.cursor.run <= self.runs.len(),
            "the cursor is at run {} of {}",
            self.cursor.run,
            self.runs.len()
        );
        debug_assert!(
            (self.cursor.run == self.runs.len()) == self.queued.is_zero(),
            "{} wire packets are queued, the cursor is at run {} of {}",
            self.queued.packets,
            self.cursor.run,
            self.runs.len()
        );
        if let Some(last) = self.runs.back() {
            let first_served = last.first_served.instant();
            debug_assert!(
                last.arrived <= last.began
                    && last.began <= first_served
                    && first_served <= last.all_served,
                "arrived {:?}, served from {:?}, the first until {first_served:?}, all until {:?}",
                last.arrived,
                last.began,
                last.all_served
            );
            let before = self
                .runs
                .len()
                .checked_sub(2)
                .map(|at| self.runs[at].all_served);
            debug_assert!(
                before.is_none_or(|before| before <= last.began),
                "a run is served from {:?}, the one before it until {before:?}",
                last.began
            );
        }
    }

    /// Moves the cursor past everything that has departed by `now`.
    pub(crate) fn settle(&mut self, now: Instant, serializer: &mut Serializer) {
        while let Some(run) = self.runs.get(self.cursor.run) {
            if run.all_served > now {
                self.settle_within_run(now, serializer);
                return;
            }
            let rest = match self.cursor.frame {
                0 => run.frames,
                departed => run.frames.without_front(departed),
            };
            self.queued.subtract(rest.tally());
            if run.frames.count() == 1 {
                let waited = run.began.saturating_since(run.arrived);
                self.sojourns.count(waited.as_nanos());
            } else {
                self.count_rest(serializer);
            }
            self.cursor = Cursor {
                run: self.cursor.run + 1,
                ..Cursor::default()
            };
        }
    }

    /// Counts the sojourns of the rest of a run that has departed.
    #[inline(never)]
    fn count_rest(&mut self, serializer: &mut Serializer) {
        let run = &self.runs[self.cursor.run];
        let (mut began, mut served) = match self.cursor.frame {
            0 => (run.began, run.first_served),
            _ => (self.cursor.began, self.cursor.served),
        };
        for frame in self.cursor.frame..run.frames.count() {
            let waited = began.saturating_since(run.arrived);
            self.sojourns.count(waited.as_nanos());
            began = served.instant();
            served = serializer.after(served, run.frames.size(frame + 1));
        }
    }

    /// Moves the cursor within a run that has not entirely departed.
    fn settle_within_run(&mut self, now: Instant, serializer: &mut Serializer) {
        let Some(run) = self.runs.get(self.cursor.run) else {
            return;
        };
        let Cursor { mut frame, .. } = self.cursor;
        if frame == 0 {
            self.cursor.began = run.began;
            self.cursor.served = run.first_served;
        }
        while self.cursor.served.instant() <= now {
            self.queued.subtract(Tally::new(1, run.frames.size(frame)));
            let waited = self.cursor.began.saturating_since(run.arrived);
            self.sojourns.count(waited.as_nanos());
            self.cursor.began = self.cursor.served.instant();
            frame += 1;
            let size = run.frames.size(frame);
            self.cursor.served = serializer.after(self.cursor.served, size);
        }
        self.cursor.frame = frame;
    }

    /// Time at which the first piece of a run comes out.
    #[inline]
    fn due(&self, run: &Run<T>) -> Instant {
        let departure = match self.release {
            Release::PerPacket => run.first_served.instant(),
            Release::Within(_) => {
                run.first_served.instant() + Duration::from_nanos(run.gathers.into())
            }
            Release::Whole => run.all_served,
        };
        departure + self.delay
    }

    /// Due time of the front, and whether it is reordered.
    #[inline]
    pub(crate) fn front_due(&self) -> Option<(Instant, bool)> {
        let front = self.runs.front()?;
        Some((self.due(front), front.is_reordered))
    }

    /// Sizes of what comes out at `now`, when the front is due.
    #[inline]
    pub(crate) fn front_frames(&self, now: Instant, serializer: &mut Serializer) -> Option<Frames> {
        let front = self.runs.front()?;
        let frames = front.frames;
        if frames.count() == 1 {
            return Some(frames);
        }
        Some(match self.release {
            Release::PerPacket => frames.front(1),
            Release::Within(_) if front.all_served + self.delay > now => {
                frames.front(self.arrived(front, now, serializer))
            }
            Release::Within(_) | Release::Whole => frames,
        })
    }

    /// How many wire packets of `run` have come to the far end by `now`. The number is at least one
    /// and less than all. A separate function, so that the callers' common path is small enough to
    /// be inlined.
    #[inline(never)]
    fn arrived(&self, run: &Run<T>, now: Instant, serializer: &mut Serializer) -> usize {
        let mut served = run.first_served;
        let mut count = 0;
        while served.instant() + self.delay <= now {
            count += 1;
            served = serializer.after(served, run.frames.size(count));
        }
        count.max(1)
    }

    /// Removes the front, which must be due by `now`. `frames` is its size, from
    /// [`Line::front_frames`].
    #[inline]
    pub(crate) fn take_front(
        &mut self,
        now: Instant,
        frames: Frames,
        serializer: &mut Serializer,
    ) -> Option<T> {
        // Output has departed: the cursor must have passed it.
        if self.cursor.run == 0 {
            self.settle(now, serializer);
        }
        let front = self.runs.front_mut()?;
        let count = frames.count();
        if count == front.frames.count() {
            self.cursor.run -= 1;
            return self.runs.pop_front().map(|run| run.parcel);
        }
        for index in 1..=count {
            let size = front.frames.size(index);
            front.began = front.first_served.instant();
            front.first_served = serializer.after(front.first_served, size);
        }
        front.frames = front.frames.without_front(count);
        if self.cursor.run == 0 {
            self.cursor.frame -= count;
        }
        if let Release::Within(longest) = self.release {
            gather(front, longest, serializer);
        }
        Some(front.parcel.split_front(count))
    }
}

/// A wire packet, its end of service, and whether it is reordered.
#[derive(Clone, Debug)]
pub(crate) struct Served<T> {
    pub(crate) parcel: T,
    pub(crate) frames: Frames,
    pub(crate) arrived: Instant,
    pub(crate) began: Instant,
    pub(crate) served: Moment,
    pub(crate) is_reordered: bool,
}

impl<T: Parcel> Line<T> {
    /// Everything inside as single wire packets.
    pub(crate) fn into_wire_packets(self, serializer: &mut Serializer) -> Vec<Served<T>> {
        let mut all = Vec::new();
        for run in self.runs {
            let (mut began, mut served) = (run.began, run.first_served);
            let mut pieces = Pieces::new(run.parcel, run.frames);
            for place in 0..run.frames.count() {
                if place > 0 {
                    began = served.instant();
                    served = serializer.after(served, run.frames.size(place));
                }
                let Some((parcel, frames)) = pieces.take(1) else {
                    break;
                };
                all.push(Served {
                    parcel,
                    frames,
                    arrived: run.arrived,
                    began,
                    served,
                    is_reordered: run.is_reordered,
                });
            }
        }
        all
    }
}

/// Finds the last wire packet that departs within `longest` of the first. All but the last are of
/// one size, and depart one service time apart. A separate function, so that paths that release
/// each packet alone do not carry it along.
#[inline(never)]
fn gather<T>(run: &mut Run<T>, longest: Duration, serializer: &mut Serializer) {
    let first = run.first_served.instant();
    let all = run.all_served.saturating_since(first);
    let gathers = if all <= longest {
        all.as_nanos()
    } else {
        serializer.whole_services(run.frames.size(0), longest.as_nanos())
    };
    // More than four seconds is not a reasonable setting.
    run.gathers = u32::try_from(gathers).unwrap_or(u32::MAX);
}

#[cfg(test)]
mod tests {
    use gigatcp_units::Rate;

    use super::*;
    use crate::parcel::tests::Numbered;

    const NOW: Instant = Instant::ZERO;

    /// A line after a link of one byte per nanosecond. It holds three runs of three wire packets of
    /// 10 bytes.
    fn filled(release: Release) -> (Line<Numbered>, Serializer) {
        let config = HopConfig {
            rate: Some(Rate::from_bps(8_000_000_000)),
            one_way_delay: Duration::from_nanos(5),
            release,
            ..HopConfig::default()
        };
        let mut serializer = Serializer::new(&config);
        let mut line = Line::new(&config);
        for run in 0..3 {
            let parcel = Numbered::several(run * 3, 3, 10, 10);
            let served = [(); 3].map(|()| serializer.serve(NOW, 10));
            for moment in served {
                line.count_in(NOW, moment.instant(), Tally::new(1, 10));
            }
            let run = Run {
                frames: Frames::of(&parcel),
                parcel,
                arrived: NOW,
                began: Instant::from_nanos(run * 30),
                first_served: served[0],
                all_served: served[2].instant(),
                is_reordered: false,
                gathers: 0,
            };
            line.push(NOW, run, &mut serializer);
        }
        (line, serializer)
    }

    /// Removes the front, which must be `count` wire packets.
    fn taken(
        line: &mut Line<Numbered>,
        now: Instant,
        count: usize,
        serializer: &mut Serializer,
    ) -> Numbered {
        let frames = line.front_frames(now, serializer).unwrap();
        assert_eq!(frames.count(), count);
        line.take_front(now, frames, serializer).unwrap()
    }

    #[test]
    fn the_backlog_falls_by_one_wire_packet_at_each_departure() {
        for release in [Release::PerPacket, Release::Whole] {
            let (mut line, mut serializer) = filled(release);
            for ns in 0..=100 {
                line.settle(Instant::from_nanos(ns), &mut serializer);
                let departed = (ns / 10).min(9);
                assert_eq!(line.queued(), Tally::new(9 - departed, 90 - 10 * departed));
            }
        }
    }

    #[test]
    fn taking_frames_out_of_the_run_being_served_keeps_the_backlog_right() {
        let (mut line, mut serializer) = filled(Release::PerPacket);
        for frame in 0..9 {
            let due = Instant::from_nanos(10 * (frame + 1) + 5);
            assert_eq!(line.front_due(), Some((due, false)));
            let parcel = taken(&mut line, due, 1, &mut serializer);
            assert_eq!(parcel.first, frame);
            assert_eq!(line.queued().packets, 8 - frame);
        }
        assert_eq!(line.front_due(), None);
    }

    #[test]
    fn a_whole_run_comes_out_when_its_last_packet_has_been_served() {
        let (mut line, mut serializer) = filled(Release::Whole);
        let due = Instant::from_nanos(35);
        assert_eq!(line.front_due(), Some((due, false)));
        let parcel = taken(&mut line, due, 3, &mut serializer);
        assert_eq!(parcel.first, 0);
        assert_eq!(line.queued().packets, 6);
    }

    #[test]
    fn a_run_released_within_a_time_comes_out_in_pieces_of_what_has_arrived() {
        let (mut line, mut serializer) = filled(Release::Within(Duration::from_nanos(12)));
        // The first of three has been served after 10 ns, the second 10 later; each has a delay of
        // 5.
        let due = Instant::from_nanos(10 + 10 + 5);
        assert_eq!(line.front_due(), Some((due, false)));
        let piece = taken(&mut line, due, 2, &mut serializer);
        assert_eq!((piece.first, piece.count), (0, 2));
        assert_eq!(line.queued().packets, 7);
        // The rest is complete before the gathering time ends.
        let due = Instant::from_nanos(30 + 5);
        assert_eq!(line.front_due(), Some((due, false)));
        let piece = taken(&mut line, due, 1, &mut serializer);
        assert_eq!((piece.first, piece.count), (2, 1));
        // Packets do not wait for one that would come too late.
        let mut alone = filled(Release::Within(Duration::from_nanos(9))).0;
        assert_eq!(alone.front_due(), Some((Instant::from_nanos(15), false)));
        let piece = taken(&mut alone, Instant::from_nanos(15), 1, &mut serializer);
        assert_eq!(piece.count, 1);
        // A late poll gets everything that has arrived.
        let late = Instant::from_nanos(1000);
        let piece = taken(&mut line, late, 3, &mut serializer);
        assert_eq!((piece.first, piece.count), (3, 3));
    }
}
