//! One direction of one link, router port or emulator.
//!
//! [`HopConfig`] describes what happens to a packet and in which order. This module implements the
//! entrance. Queue, serializer and delay line have two forms, selected by the configuration:
//! [`crate::closed`] if every departure is known on arrival, and [`crate::link`] otherwise.
//!
//! **Super-packets** are accounted for wire packet by wire packet. With
//! [`Release::PerPacket`](crate::Release::PerPacket) verdicts, departures and counters are the same
//! as if each wire packet had arrived alone at the same instant. With
//! [`Release::Whole`](crate::Release::Whole) verdicts and counters are the same unless a hold limit
//! is set (a whole parcel is inside until its end has arrived). Its arrival is that of the last
//! wire packet. [`Release::Within`](crate::Release::Within) lies between the two.

use alloc::boxed::Box;

use gigatcp_units::random::{Stream, mix};
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::closed::Closed;
use crate::counters::Bookkeeping;
use crate::event_times::EventTimes;
use crate::impairments::{ImpairmentOutcome, Impairments};
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
    /// Number of reconfigurations so far.
    changes: u64,
    /// MTU in bytes.
    mtu: u64,
    /// IDs for fragmented packets, if packets are fragmented.
    fragment_ids: Option<Stream>,
    /// Whether headers are changed on arrival.
    rewrites: bool,
    impairments: Impairments,
    form: Form<T>,
    books: Bookkeeping<T>,
}

/// Method of computing departures.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "the large form is the usual one, and each packet would pay for the way to it"
)]
enum Form<T> {
    /// Departures are known on arrival.
    Closed(Closed<T>),
    /// Departures are computed one after another.
    Open(Box<Link<T>>),
}

impl<T: Parcel> Hop<T> {
    /// A hop of the run with this `seed`.
    ///
    /// # Errors
    ///
    /// The first invalid setting, see [`HopConfig::check`].
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
            impairments: Impairments::new(&config, seed),
            form,
            books: Bookkeeping::default(),
            config,
        })
    }

    /// A hop whose rate and delay may change at any time. Departures are not computed on arrival,
    /// even if the configuration alone would allow that. Until the first change the results equal
    /// those of [`Hop::new`], packet by packet, but are computed more slowly.
    ///
    /// # Errors
    ///
    /// The first invalid setting, see [`HopConfig::check`].
    pub fn changeable(config: HopConfig, seed: u64) -> Result<Self, ConfigError> {
        let mut hop = Self::new(config, seed)?;
        hop.open(Instant::ZERO);
        Ok(hop)
    }

    /// Sets the rate of the serializer from `now` on, including for the packet in service.
    pub fn set_rate(&mut self, now: Instant, rate: Option<Rate>) {
        self.open(now);
        self.config.rate = rate;
        if let Form::Open(link) = &mut self.form {
            link.set_rate(now, rate, &mut self.books);
        }
    }

    /// Sets the one-way delay of packets that leave the serializer from `now` on. The change itself
    /// causes no overtaking.
    pub fn set_delay(&mut self, now: Instant, delay: Duration) {
        self.open(now);
        self.config.one_way_delay = delay;
        if let Form::Open(link) = &mut self.form {
            link.set_delay(now, delay, &mut self.books);
        }
    }

    /// Replaces the configuration from `now` on. The name, which selects the random streams, stays.
    /// Nothing inside is lost:
    ///
    /// * Packets on the line come out when they were due; they are not overtaken unless jitter may
    ///   do that.
    /// * Packets in service continue at the new rate, or begin anew if they wait for tokens of a
    ///   shaper or for a trace.
    /// * If the queue or its limits changed, waiting packets move to the new queue in the order of
    ///   arrival. They keep the time they have waited, and meet the new queue as if they arrived
    ///   now. What exceeds the limit is dropped and counted as usual.
    ///
    /// New schedules and traces count from `now`, new buckets are full, new probabilities draw from
    /// separate random streams. Everything unchanged continues. From then on departures are no
    /// longer computed on arrival.
    ///
    /// # Errors
    ///
    /// The first invalid setting, see [`HopConfig::check`]; then nothing has changed.
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
        self.impairments.reconfigure(&before, &self.config, seed);
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

    /// Switches to the general form at `now`, with everything inside.
    fn open(&mut self, now: Instant) {
        let Form::Closed(closed) = &mut self.form else {
            return;
        };
        let mut link = Box::new(Link::new(&self.config, self.seed));
        let closed = core::mem::replace(closed, Closed::new(&self.config));
        link.take_over(now, closed, self.config.one_way_delay);
        self.form = Form::Open(link);
    }

    /// Accepts a parcel that reaches the hop at `now`.
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

    /// Changes headers of arriving packets.
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

    /// Calls [`Hop::handle_fitting`] in rare cases, out of line, to keep the common path small.
    #[cold]
    #[inline(never)]
    fn handle_seldom(&mut self, now: Instant, parcel: T, frames: Frames) {
        self.handle_fitting(now, parcel, frames);
    }

    /// Processes wire packets within the MTU.
    #[inline(always)]
    fn handle_fitting(&mut self, now: Instant, parcel: T, frames: Frames) {
        if self.impairments.is_clean() {
            self.enter(now, Entrance::default(), parcel, frames);
        } else {
            self.handle_impairments(now, parcel, frames);
        }
    }

    /// Drops wire packets above the MTU. In a super-packet these are all except perhaps the last.
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

    /// Fragments wire packets above the MTU where this is permitted.
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

    /// Next parcel that has arrived at the far end by `now`. Parcels come in order of arrival. If
    /// two arrive at the same instant, the reordered one comes first: it left earlier.
    #[inline]
    pub fn poll_delivery(&mut self, now: Instant) -> Option<T> {
        match &mut self.form {
            Form::Closed(closed) => closed.poll_delivery(now, &mut self.books),
            Form::Open(link) => link.poll_delivery(now, &mut self.books),
        }
    }

    /// Next dropped parcel, in order of the verdicts. Neighboring wire packets of one super-packet
    /// and one cause may come together. Uncollected parcels stay in memory: poll until `None`.
    pub fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        self.books.dropped.pop_front()
    }

    /// Whether [`Hop::poll_dropped`] has a parcel to return.
    #[inline]
    pub(crate) fn has_dropped(&self) -> bool {
        !self.books.dropped.is_empty()
    }

    /// Whether departures are known on arrival.
    pub(crate) const fn is_closed_form(&self) -> bool {
        matches!(self.form, Form::Closed(_))
    }

    /// When to poll for a delivery again. It is not after the next delivery, and after the last
    /// call of [`Hop::poll_delivery`] that returned `None`. A reordered packet requires one call
    /// before the one at which it is delivered.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.form {
            Form::Closed(closed) => closed.poll_timeout(),
            Form::Open(link) => link.poll_timeout(),
        }
    }

    /// What is waiting and in service at `now`: what the queue limits count.
    pub fn backlog(&mut self, now: Instant) -> Tally {
        match &mut self.form {
            Form::Closed(closed) => closed.backlog(now),
            Form::Open(link) => {
                link.advance(now, &mut self.books);
                link.backlog()
            }
        }
    }

    /// An upper bound, in wire packets, of [`Hop::backlog`]. It costs nothing, and includes what
    /// has departed since the last check.
    #[inline]
    pub fn backlog_at_most(&self) -> u64 {
        match &self.form {
            Form::Closed(closed) => closed.backlog_at_most(),
            Form::Open(link) => link.backlog().packets,
        }
    }

    /// Whether a new arrival may come out before an earlier one.
    #[inline]
    pub fn has_late(&self) -> bool {
        match &self.form {
            Form::Closed(closed) => closed.has_late(),
            Form::Open(link) => link.is_unordered(),
        }
    }

    /// Waiting time before service of a wire packet arriving at `now`. If departures are not known
    /// on arrival, it is an estimate: the waiting time of the last departure.
    pub fn wait(&self, now: Instant) -> Duration {
        match &self.form {
            Form::Closed(closed) => closed.wait(now),
            Form::Open(link) => link.wait(),
        }
    }

    /// Queueing delays of wire packets that have left the queue by `now`. They are measured from
    /// arrival at the queue to the beginning of transmission.
    #[must_use]
    pub fn sojourns(&mut self, now: Instant) -> &Sojourns {
        self.backlog(now);
        match &self.form {
            Form::Closed(closed) => closed.sojourns(),
            Form::Open(link) => link.sojourns(),
        }
    }

    /// Returns the times of drops and marks.
    pub const fn event_times(&self) -> &EventTimes {
        &self.books.times
    }

    /// Everything inside, in no particular order; dropped packets are not included.
    pub fn parcels(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        match &self.form {
            Form::Closed(closed) => Box::new(closed.parcels()),
            Form::Open(link) => Box::new(link.parcels()),
        }
    }

    /// Counters of wire packets so far.
    pub fn counters(&self) -> &Counters {
        self.books.counters.assert_invariants();
        &self.books.counters
    }

    /// Time from zero to `now` in which the serializer had work.
    pub fn busy_time(&self, now: Instant) -> Duration {
        match &self.form {
            Form::Closed(closed) => closed.busy_time(now),
            Form::Open(link) => link.busy_time(now),
        }
    }

    /// Utilization of the serializer from zero to `now`, 0 to 1. For printing only.
    pub fn utilization(&self, now: Instant) -> f64 {
        counters::utilization(self.busy_time(now), now)
    }

    /// MTU reported to senders of larger packets. `None`: they are not notified.
    pub fn reported_mtu(&self) -> Option<Bytes> {
        self.config.mtu.filter(|_| self.config.notifies_too_big)
    }

    /// Configuration of the hop.
    pub const fn config(&self) -> &HopConfig {
        &self.config
    }

    /// Draws the impairment outcome of each wire packet and splits the parcel where outcomes
    /// change.
    #[inline(never)]
    fn handle_impairments(&mut self, now: Instant, parcel: T, frames: Frames) {
        let mut pieces = Pieces::new(parcel, frames);
        let mut left = frames.count();
        let mut drawn = 0;
        let mut draw = |impairments: &mut Impairments| {
            drawn += 1;
            impairments.draw(now, frames.size(drawn - 1))
        };
        let mut outcome = draw(&mut self.impairments);
        while left > 0 {
            let mut count = 1;
            let mut next = outcome;
            while count < left {
                next = draw(&mut self.impairments);
                if next != outcome {
                    break;
                }
                count += 1;
            }
            if let Some((piece, frames)) = pieces.take(count) {
                self.handle_outcome(now, outcome, piece, frames);
            }
            left -= count;
            outcome = next;
        }
    }

    /// Processes wire packets with the same impairment outcome.
    fn handle_outcome(
        &mut self,
        now: Instant,
        outcome: ImpairmentOutcome,
        parcel: T,
        frames: Frames,
    ) {
        if let Some(model) = outcome.lost_to {
            self.books
                .discard(now, DropCause::Loss(model), parcel, frames);
        } else if outcome.is_policed {
            self.books.discard(now, DropCause::Policed, parcel, frames);
        } else if frames.count() == 1 && self.impairments.takes_ack(&parcel) {
            self.books
                .discard(now, DropCause::AckFiltered, parcel, frames);
        } else if outcome.is_duplicated || outcome.is_corrupted {
            let mut pieces = Pieces::new(parcel, frames);
            while let Some((parcel, frames)) = pieces.take(1) {
                self.handle_one(now, outcome, parcel, frames);
            }
        } else {
            self.enter_impaired(now, outcome.entrance(), parcel, frames);
        }
    }

    /// Corrupts or duplicates one wire packet. The copy is made before the corruption.
    fn handle_one(
        &mut self,
        now: Instant,
        outcome: ImpairmentOutcome,
        mut parcel: T,
        frames: Frames,
    ) {
        let copy = outcome.is_duplicated.then(|| parcel.clone());
        if outcome.is_corrupted && parcel.try_corrupt() {
            self.books.counters.corrupted.add(frames.tally());
        }
        self.enter_impaired(now, outcome.entrance(), parcel, frames);
        if let Some(copy) = copy {
            self.books.counters.duplicated.add(frames.tally());
            self.enter_impaired(now, Entrance::default(), copy, frames);
        }
    }

    /// Calls [`Hop::enter`] for hops with impairments. Hops without impairments have `enter`
    /// inlined: each further call copies the parcel.
    #[inline(never)]
    fn enter_impaired(&mut self, now: Instant, entrance: Entrance, parcel: T, frames: Frames) {
        self.enter(now, entrance, parcel, frames);
    }

    /// Puts wire packets into the queue.
    #[inline(always)]
    fn enter(&mut self, now: Instant, entrance: Entrance, parcel: T, frames: Frames) {
        match &mut self.form {
            Form::Closed(closed) => {
                closed.enter(now, entrance, (parcel, frames), &mut self.books);
            }
            Form::Open(link) => {
                let hold = self.config.most_inside().unwrap_or(u64::MAX);
                link.handle_arrival(now, entrance, (parcel, frames), hold, &mut self.books);
            }
        }
    }
}

/// Whether headers are changed on arrival.
const fn rewrites(config: &HopConfig) -> bool {
    config.ecn_bleach || config.middlebox.is_some()
}
