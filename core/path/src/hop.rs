//! One direction of one link, router port or emulator, as a pure element.
//!
//! See [`HopConfig`] for what happens to a packet and in which order. What happens
//! at the entrance is here; queue, serializer and delay line have two forms, between
//! which the configuration decides: [`crate::closed`], where every departure is known
//! on arrival, and [`crate::link`] for all else.
//!
//! **Super-packets** are accounted for wire packet by wire packet. With
//! [`Release::PerPacket`](crate::Release::PerPacket) the outcome is the same
//! as if each wire packet had been handed in alone at the same instant:
//! verdicts, departures and counters. With
//! [`Release::Whole`](crate::Release::Whole) verdicts and counters are the
//! same unless a hold limit is set (a whole parcel is inside until its end has
//! arrived) and arrival is that of the last wire packet.
//! [`Release::Within`](crate::Release::Within) lies between the two.

use alloc::boxed::Box;

use gigatcp_units::random::{Stream, mix};
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::closed::Closed;
use crate::counters::Books;
use crate::event_times::EventTimes;
use crate::fate::{Fate, Impairments};
use crate::link::{Entrance, Link};
use crate::parcel::{Frames, Pieces};
use crate::random::{Purpose, stream};
use crate::sojourn::Sojourns;
use crate::{ConfigError, Counters, DropCause, HopConfig, Parcel, Tally, counters};

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
#[derive(Debug)]
pub struct Hop<T> {
    config: HopConfig,
    seed: u64,
    /// How often it has become another one.
    changes: u64,
    /// Octets of the largest packet it takes.
    mtu: u64,
    /// Numbers for packets that are cut, where they are.
    fragment_ids: Option<Stream>,
    /// Whether headers are changed on arrival.
    rewrites: bool,
    fates: Impairments,
    form: Form<T>,
    books: Books<T>,
}

/// How departures come about.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "the large form is the usual one, and each packet would pay for the way to it"
)]
enum Form<T> {
    /// Known on arrival.
    Closed(Closed<T>),
    /// One after another.
    Open(Box<Link<T>>),
}

impl<T: Parcel> Hop<T> {
    /// A hop of the run with this `seed`.
    ///
    /// # Errors
    ///
    /// What [`HopConfig::check`] finds wrong.
    pub fn new(config: HopConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let form = if config.is_closed_form() {
            Form::Closed(Closed::new(&config))
        } else {
            Form::Open(Box::new(Link::new(&config, seed)))
        };
        Ok(Self {
            seed,
            changes: 0,
            mtu: config.mtu.map_or(u64::MAX, Bytes::as_u64),
            fragment_ids: config
                .fragments
                .then(|| stream(seed, &config.name, Purpose::Fragment)),
            rewrites: rewrites(&config),
            fates: Impairments::new(&config, seed),
            form,
            books: Books::default(),
            config,
        })
    }

    /// A hop whose rate and delay may change at any time: departures are not known on
    /// arrival, even where the configuration alone would allow that. Until something
    /// changes all is as with [`Hop::new`], packet by packet, only slower.
    ///
    /// # Errors
    ///
    /// What [`HopConfig::check`] finds wrong.
    pub fn changeable(config: HopConfig, seed: u64) -> Result<Self, ConfigError> {
        let mut hop = Self::new(config, seed)?;
        hop.open(Instant::ZERO);
        Ok(hop)
    }

    /// From `now` on the serializer has another rate, also for what it is at.
    pub fn set_rate(&mut self, now: Instant, rate: Option<Rate>) {
        self.open(now);
        self.config.rate = rate;
        if let Form::Open(link) = &mut self.form {
            link.set_rate(now, rate, &mut self.books);
        }
    }

    /// What leaves the serializer from `now` on needs another time to the far end.
    /// Nothing overtakes because of that.
    pub fn set_delay(&mut self, now: Instant, delay: Duration) {
        self.open(now);
        self.config.one_way_delay = delay;
        if let Form::Open(link) = &mut self.form {
            link.set_delay(now, delay, &mut self.books);
        }
    }

    /// From `now` on the hop is what `config` says, except its name, which selects its
    /// random streams and stays. Nothing that is inside is lost:
    ///
    /// * what is on the line comes out when it was due, and nothing overtakes it unless
    ///   jitter may;
    /// * what is in service goes on at the new rate, or begins anew where it waits for
    ///   the tokens of a shaper or for a trace;
    /// * what waits moves to the new queue in the order of its arrival, where the queue
    ///   or its limits changed. It keeps the time it has waited, and meets the new queue
    ///   as if it arrived now: what finds no room is dropped and counted as it always is.
    ///
    /// Schedules and traces that are new count from `now`, buckets that are new are
    /// full, chances that are new draw from a stream of their own; all that is as before
    /// goes on as before. From then on departures are not known on arrival any more.
    ///
    /// # Errors
    ///
    /// What [`HopConfig::check`] finds wrong; then nothing has changed.
    pub fn reconfigure(&mut self, now: Instant, config: HopConfig) -> Result<(), ConfigError> {
        config.check()?;
        let config = HopConfig {
            name: self.config.name.clone(),
            ..config
        };
        if config == self.config {
            return Ok(());
        }
        self.open(now);
        self.changes += 1;
        let seed = mix(self.seed ^ mix(self.changes));
        let before = core::mem::replace(&mut self.config, config);
        self.fates.reconfigure(&before, &self.config, seed);
        self.mtu = self.config.mtu.map_or(u64::MAX, Bytes::as_u64);
        self.rewrites = rewrites(&self.config);
        if before.fragments != self.config.fragments {
            let numbers = || stream(seed, &self.config.name, Purpose::Fragment);
            self.fragment_ids = self.config.fragments.then(numbers);
        }
        if let Form::Open(link) = &mut self.form {
            link.reconfigure(now, &before, &self.config, seed, &mut self.books);
        }
        self.books.counters.assert_invariants();
        Ok(())
    }

    /// Goes over to the general form at `now`, with all that is inside.
    fn open(&mut self, now: Instant) {
        let Form::Closed(closed) = &mut self.form else {
            return;
        };
        let mut link = Box::new(Link::new(&self.config, self.seed));
        let closed = core::mem::replace(closed, Closed::new(&self.config));
        link.take_over(now, closed, self.config.one_way_delay);
        self.form = Form::Open(link);
    }

    /// Takes in a parcel that reaches the hop at `now`.
    pub fn handle_arrival(&mut self, now: Instant, mut parcel: T) {
        let frames = Frames::of(&parcel);
        if self.rewrites {
            self.rewrite(&mut parcel, frames.tally());
        }
        self.books.counters.arrived.add(frames.tally());
        if frames.largest() > self.mtu {
            self.handle_too_big(now, parcel, frames);
        } else {
            self.handle_fitting(now, parcel, frames);
        }
    }

    /// Changes headers of what arrives.
    #[inline(never)]
    fn rewrite(&mut self, parcel: &mut T, tally: Tally) {
        let middlebox = self.config.middlebox.as_ref();
        let counters = &mut self.books.counters;
        if middlebox.is_some_and(|middlebox| parcel.try_rewrite(middlebox)) {
            counters.rewritten.add(tally);
        }
        if self.config.ecn_bleach && parcel.try_bleach() {
            counters.bleached.add(tally);
        }
    }

    /// [`Hop::handle_fitting`] for what comes seldom: the usual way stays small.
    #[cold]
    #[inline(never)]
    fn handle_seldom(&mut self, now: Instant, parcel: T, frames: Frames) {
        self.handle_fitting(now, parcel, frames);
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
            if frames.largest() > self.mtu && self.fragment_ids.is_some() {
                self.fragment(now, piece, frames);
            } else if frames.largest() > self.mtu {
                self.books.discard(now, DropCause::TooBig, piece, frames);
            } else {
                self.handle_seldom(now, piece, frames);
            }
        }
    }

    /// Cuts wire packets that are too large into fragments, if they may be cut.
    #[cold]
    fn fragment(&mut self, now: Instant, parcel: T, frames: Frames) {
        let mut pieces = Pieces::new(parcel, frames);
        while let Some((mut one, whole)) = pieces.take(1) {
            let ids = self.fragment_ids.as_mut();
            let id = ids.map_or(0, |ids| ids.bits());
            if !one.try_fragment(self.mtu, id) {
                self.books.discard(now, DropCause::TooBig, one, whole);
                continue;
            }
            let cut = Frames::of(&one);
            let mut more = cut.tally();
            more.subtract(whole.tally());
            self.books.counters.fragmented.add(more);
            self.handle_seldom(now, one, cut);
        }
    }

    /// Hands out the next parcel that has arrived at the far end by `now`, in
    /// order of arrival. Of two arriving at the same instant the reordered one
    /// comes first: it left earlier.
    #[inline]
    pub fn poll_delivery(&mut self, now: Instant) -> Option<T> {
        match &mut self.form {
            Form::Closed(closed) => closed.poll_delivery(now, &mut self.books),
            Form::Open(link) => link.poll_delivery(now, &mut self.books),
        }
    }

    /// Hands out the next parcel that did not get through, in order of the
    /// verdicts. Neighboring wire packets of one super-packet and one cause
    /// may come together. Uncollected parcels stay in memory: poll until nothing
    /// comes.
    pub fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        self.books.dropped.pop_front()
    }

    /// Whether [`Hop::poll_dropped`] has something to hand out.
    #[inline]
    pub(crate) fn has_dropped(&self) -> bool {
        !self.books.dropped.is_empty()
    }

    /// Whether departures are known on arrival.
    pub(crate) const fn is_closed_form(&self) -> bool {
        matches!(self.form, Form::Closed(_))
    }

    /// When to poll for a delivery again: not after the next one, and after
    /// the last call of [`Hop::poll_delivery`] that gave nothing. A reordered
    /// packet asks for one call before the one at which it comes out.
    #[inline]
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.form {
            Form::Closed(closed) => closed.poll_timeout(),
            Form::Open(link) => link.poll_timeout(),
        }
    }

    /// Waiting and in service at `now`: what the queue limits count.
    pub fn backlog(&mut self, now: Instant) -> Tally {
        match &mut self.form {
            Form::Closed(closed) => closed.backlog(now),
            Form::Open(link) => {
                link.advance(now, &mut self.books);
                link.backlog()
            }
        }
    }

    /// Wire packets that [`Hop::backlog`] would find at most: it costs nothing,
    /// and what has departed since the last look is still in it.
    #[inline]
    #[must_use]
    pub fn backlog_at_most(&self) -> u64 {
        match &self.form {
            Form::Closed(closed) => closed.backlog_at_most(),
            Form::Open(link) => link.backlog().packets,
        }
    }

    /// Whether what arrives now may come out before what has arrived already.
    #[inline]
    #[must_use]
    pub fn has_late(&self) -> bool {
        match &self.form {
            Form::Closed(closed) => closed.has_late(),
            Form::Open(link) => link.is_unordered(),
        }
    }

    /// How long a wire packet arriving at `now` waits before its service begins, where
    /// departures are known on arrival; elsewhere an estimate: as long as what left last.
    #[must_use]
    pub fn wait(&self, now: Instant) -> Duration {
        match &self.form {
            Form::Closed(closed) => closed.wait(now),
            Form::Open(link) => link.wait(),
        }
    }

    /// How long wire packets waited that have left the queue by `now`: from reaching it to
    /// the beginning of their transmission.
    #[must_use]
    pub fn sojourns(&mut self, now: Instant) -> &Sojourns {
        self.backlog(now);
        match &self.form {
            Form::Closed(closed) => closed.sojourns(),
            Form::Open(link) => link.sojourns(),
        }
    }

    /// When packets were dropped and marked.
    #[must_use]
    pub const fn event_times(&self) -> &EventTimes {
        &self.books.times
    }

    /// Everything inside, in no particular order; what was dropped is not.
    #[must_use]
    pub fn parcels(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        match &self.form {
            Form::Closed(closed) => Box::new(closed.parcels()),
            Form::Open(link) => Box::new(link.parcels()),
        }
    }

    /// Everything that has happened to wire packets so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        self.books.counters.assert_invariants();
        &self.books.counters
    }

    /// Time from zero to `now` in which the serializer had work.
    #[must_use]
    pub fn busy_time(&self, now: Instant) -> Duration {
        match &self.form {
            Form::Closed(closed) => closed.busy_time(now),
            Form::Open(link) => link.busy_time(now),
        }
    }

    /// Share of the time from zero to `now` in which the serializer had work,
    /// 0 to 1; for printing only.
    #[must_use]
    pub fn utilisation(&self, now: Instant) -> f64 {
        counters::utilisation(self.busy_time(now), now)
    }

    /// Returns the MTU that senders of larger packets are sent. `None`: they are not
    /// notified.
    #[must_use]
    pub fn told_mtu(&self) -> Option<Bytes> {
        self.config.mtu.filter(|_| self.config.tells_too_big)
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
        let mut judge = |fates: &mut Impairments| {
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
        let exceeding = self.fates.take_exceeding();
        self.books.counters.exceeding.add(exceeding);
    }

    /// Deals with wire packets of one fate.
    fn handle_fate(&mut self, now: Instant, fate: Fate, parcel: T, frames: Frames) {
        if let Some(model) = fate.lost_to {
            self.books
                .discard(now, DropCause::Loss(model), parcel, frames);
        } else if fate.is_policed {
            self.books.discard(now, DropCause::Policed, parcel, frames);
        } else if frames.count() == 1 && self.fates.takes_ack(&parcel) {
            self.books
                .discard(now, DropCause::AckFiltered, parcel, frames);
        } else if fate.is_duplicated || fate.is_corrupted {
            let mut pieces = Pieces::new(parcel, frames);
            while let Some((parcel, frames)) = pieces.take(1) {
                self.handle_one(now, fate, parcel, frames);
            }
        } else {
            self.enter_judged(now, fate.entrance(), parcel, frames);
        }
    }

    /// Corrupts or duplicates one wire packet. The copy is made before the corruption.
    fn handle_one(&mut self, now: Instant, fate: Fate, mut parcel: T, frames: Frames) {
        let copy = fate.is_duplicated.then(|| parcel.clone());
        if fate.is_corrupted && parcel.try_corrupt() {
            self.books.counters.corrupted.add(frames.tally());
        }
        self.enter_judged(now, fate.entrance(), parcel, frames);
        if let Some(copy) = copy {
            self.books.counters.duplicated.add(frames.tally());
            self.enter_judged(now, Entrance::default(), copy, frames);
        }
    }

    /// [`Hop::enter`] for hops with fates, so that those without have it in
    /// one piece with all that leads there: each step a parcel is handed on is
    /// a copy.
    #[inline(never)]
    fn enter_judged(&mut self, now: Instant, entrance: Entrance, parcel: T, frames: Frames) {
        self.enter(now, entrance, parcel, frames);
    }

    /// Lets wire packets into the queue.
    #[inline(always)]
    fn enter(&mut self, now: Instant, entrance: Entrance, parcel: T, frames: Frames) {
        match &mut self.form {
            Form::Closed(closed) => {
                closed.enter(now, entrance, (parcel, frames), &mut self.books);
            }
            Form::Open(link) => {
                let hold = self.config.hold_limit.unwrap_or(u64::MAX);
                link.handle_arrival(now, entrance, (parcel, frames), hold, &mut self.books);
            }
        }
    }
}

/// Whether headers are changed on arrival.
const fn rewrites(config: &HopConfig) -> bool {
    config.ecn_bleach || config.middlebox.is_some()
}
