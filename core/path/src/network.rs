//! Network of links and shared media, with one event schedule. Each flow and direction has a route.
//!
//! Each parcel carries its route and the number of its links already entered ([`Routed`]). The
//! network passes it from link to link at the instant it comes out, and returns it at the end of
//! its route. A link may notify the sender of a packet above its MTU
//! ([`HopConfig::notifies_too_big`]). The answer starts at that link and takes the other route
//! ([`Route::back`]).
//!
//! A medium is an element of several routes, each of which enters it at its own station
//! ([`NetworkConfig::media`]).
//!
//! **Time.** Everything due happens at the instant it was due, in the same order, independent of
//! when the caller polls. The one exception is a link that ends all its routes, gathers wire
//! packets ([`Release::Within`](crate::Release::Within)) and has neither reordering nor a hold
//! limit. A late poll gets larger pieces from it; nothing inside depends on that.
//!
//! **Order at one instant.** The link with the lower number acts first and delivers all it has of
//! that instant. Numbers are the caller's choice. With numbers ascending along the routes, as in
//! [`NetworkConfig::path`], the output of a link reaches the next before that delivers what is due.
//! With descending numbers ([`NetworkConfig::last_link_first`]), departures make room for arrivals,
//! which matters only to a [`HopConfig::hold_limit`].
//!
//! **Cost.** One appointment per link in an indexed heap, never one per packet.
//!
//! Out of scope: routes that change during a run.

mod media;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Instant};

use crate::event_schedule::EventSchedule;
use crate::route::{NetworkConfig, Route, Routed, Ways};
use crate::{
    ConfigError, Counters, DropCause, Hop, HopConfig, Parcel, Release, SharedMedium,
    SharedMediumConfig, Sojourns, Tally,
};
use media::Media;

/// The last instant at which something can happen.
const LAST: Instant = Instant::from_nanos(Instant::FAR_FUTURE.as_nanos() - 1);

/// A delivered parcel with its delivery time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery<T> {
    /// Time at which it came out; the clock may be later.
    pub due: Instant,
    /// The parcel.
    pub parcel: T,
}

/// A parcel that a link dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dropped<T> {
    /// Number of the link; numbers of media follow those of the links.
    pub link: usize,
    /// The parcel.
    pub parcel: T,
    /// Cause of the drop.
    pub cause: DropCause,
}

/// Events that have not been collected yet.
#[derive(Debug)]
struct Uncollected<T> {
    /// Number of all entries below: most of the time zero.
    count: usize,
    /// Parcels at the end of their routes.
    arrived: VecDeque<Delivery<T>>,
    /// Dropped parcels with the time; their senders are not yet notified.
    unanswered: VecDeque<(Instant, Dropped<T>)>,
    /// Dropped parcels that have been processed.
    dropped: VecDeque<Dropped<T>>,
    /// Parcels passed from link to link, if watched.
    passed: VecDeque<Delivery<T>>,
}

impl<T> Default for Uncollected<T> {
    fn default() -> Self {
        Self {
            count: 0,
            arrived: VecDeque::new(),
            unanswered: VecDeque::new(),
            dropped: VecDeque::new(),
            passed: VecDeque::new(),
        }
    }
}

impl<T> Uncollected<T> {
    /// Changes it by `act` and updates the count.
    #[cold]
    fn update<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let result = act(self);
        let drops = self.unanswered.len() + self.dropped.len();
        self.count = self.arrived.len() + drops + self.passed.len();
        result
    }

    /// Whether parcels wait to be collected or answered.
    #[inline]
    fn is_behind(&self) -> bool {
        self.count > 0 && self.arrived.len() + self.unanswered.len() > 0
    }
}

/// Links joined to a network, with one schedule.
#[derive(Debug)]
pub struct Network<T> {
    links: Vec<Hop<T>>,
    media: Media<T>,
    routes: Vec<Route>,
    ways: Ways,
    schedule: EventSchedule,
    /// Time and number of the next element to act.
    first: (Instant, usize),
    /// Whether that element has more output at that instant, which precedes other elements.
    is_serving: bool,
    /// Due time of the last polled parcel.
    polled: Instant,
    uncollected: Uncollected<T>,
    /// Whether parcels passed from link to link are recorded.
    is_watched: bool,
    /// For each link that may deliver with delay: the elements upstream.
    upstream: Vec<Option<Box<[usize]>>>,
    /// Whether there is such a link.
    may_wait: bool,
    /// Per link and medium: whether it is a link that ends all its routes.
    ends_routes: Vec<bool>,
    /// Maximum backlog of each link so far, in wire packets.
    max_backlog: Vec<u64>,
    /// Answers that entered each link or station.
    answers: Vec<Tally>,
    /// Parcels passed from link to link.
    forwarded: Tally,
    /// Parcels that entered after the last link of their route.
    straight: Tally,
}

impl<T: Routed> Network<T> {
    /// A network of the run with this `seed`.
    ///
    /// # Errors
    /// The first invalid setting, see [`NetworkConfig::check`].
    pub fn new(config: NetworkConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let upstream = config.links.iter().enumerate().map(|(number, link)| {
            let may_wait = is_indifferent(link) && config.ends_routes(number);
            may_wait.then(|| config.upstream(number))
        });
        let upstream: Vec<_> = upstream.collect();
        let media = Media::new(&config, seed)?;
        let numbers = 0..config.links.len();
        let ends_routes = numbers.map(|link| config.ends_routes(link));
        let ends_routes = ends_routes
            .chain(config.media.iter().map(|_| false))
            .collect();
        let links = config
            .links
            .into_iter()
            .map(|link| Hop::new(link, seed))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            schedule: EventSchedule::new(links.len() + media.as_slice().len()),
            first: (Instant::FAR_FUTURE, 0),
            is_serving: false,
            polled: Instant::ZERO,
            ways: Ways::new(&config.routes),
            uncollected: Uncollected::default(),
            is_watched: false,
            may_wait: upstream.iter().any(Option::is_some),
            ends_routes,
            upstream,
            max_backlog: alloc::vec![0; links.len()],
            answers: alloc::vec![Tally::default(); links.len() + media.stations()],
            forwarded: Tally::default(),
            straight: Tally::default(),
            routes: config.routes,
            links,
            media,
        })
    }

    /// Accepts a parcel at `now`, at the place given by its route and stage. Everything due before
    /// `now` happens first.
    pub fn handle_arrival(&mut self, now: Instant, parcel: T) {
        if self.due() < now {
            self.advance_until(now);
        }
        self.handle_arrival_in_time(now, parcel);
    }

    /// Accepts a parcel as [`Network::handle_arrival`]. The caller must have polled everything due
    /// before `now`.
    #[inline(always)]
    pub fn handle_arrival_in_time(&mut self, now: Instant, mut parcel: T) {
        let Some(link) = self.next_link(&parcel) else {
            self.straight.add(tally(&parcel));
            self.arrive(now, parcel);
            return;
        };
        parcel.advance();
        self.enter(now, link, parcel);
    }

    /// Next parcel that has reached the end of its route by `now`. Parcels of one route come in the
    /// order in which they were due.
    pub fn poll_delivery(&mut self, now: Instant) -> Option<Delivery<T>> {
        while self.due() <= now.min(LAST) {
            if let Some(parcel) = self.act(now) {
                let due = self.polled;
                return Some(Delivery { due, parcel });
            }
        }
        None
    }

    /// Processes the next event, which must be due by `now`. Returns the parcel if one has reached
    /// the end of its route. For a caller that calls at each instant of [`Network::due`].
    #[inline(always)]
    pub fn act(&mut self, now: Instant) -> Option<T> {
        debug_assert!(
            self.due() <= now,
            "asked at {now:?} for what is due at {:?}",
            self.due()
        );
        debug_assert!(
            self.is_serving || self.first == self.schedule.first(),
            "{:?} is to act first, {:?} has the first appointment",
            self.first,
            self.schedule.first()
        );
        if self.uncollected.is_behind() {
            return self.catch_up();
        }
        let (at, link) = self.first;
        self.serve(at, link, now)
    }

    /// Next dropped parcel; poll until `None`.
    pub fn poll_dropped(&mut self) -> Option<Dropped<T>> {
        if let Some(dropped) = self.poll_known_dropped() {
            return Some(dropped);
        }
        let mut links = self.links.iter_mut().enumerate();
        let (link, (parcel, cause)) =
            links.find_map(|(link, hop)| Some((link, hop.poll_dropped()?)))?;
        Some(Dropped {
            link,
            parcel,
            cause,
        })
    }

    /// Next dropped parcel that is already known. Drops by a queue on its own become known at the
    /// next arrival there.
    #[inline]
    pub fn poll_known_dropped(&mut self) -> Option<Dropped<T>> {
        if self.uncollected.count == 0 {
            return None;
        }
        let dropped = self
            .uncollected
            .update(|uncollected| uncollected.dropped.pop_front());
        dropped.or_else(|| self.answer_next())
    }

    /// Whether a `poll` function has output that was not scheduled. These are
    /// [`Network::poll_known_dropped`], [`Network::poll_passed`] and, for parcels that arrived
    /// without having been due, [`Network::poll_delivery`].
    #[inline]
    pub fn has_uncollected(&self) -> bool {
        self.uncollected.count > 0
    }

    /// Next parcel passed from link to link, if these are watched.
    pub fn poll_passed(&mut self) -> Option<Delivery<T>> {
        self.uncollected
            .update(|uncollected| uncollected.passed.pop_front())
    }

    /// Records every parcel passed from link to link, for [`Network::poll_passed`].
    pub fn watch(&mut self) {
        self.is_watched = true;
    }

    /// Time of the next event; `None` if there is none.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.due();
        (due != Instant::FAR_FUTURE).then_some(due)
    }

    /// Time of the next event; the far future if there is none.
    #[inline]
    pub fn due(&self) -> Instant {
        if self.uncollected.is_behind() {
            return self.due_behind();
        }
        self.first.0
    }

    #[cold]
    fn due_behind(&self) -> Instant {
        let arrived = self.uncollected.arrived.front().map(|arrived| arrived.due);
        arrived.unwrap_or_else(|| self.due_inside())
    }

    /// Returns an arrived parcel, or processes a dropped one.
    #[cold]
    fn catch_up(&mut self) -> Option<T> {
        let arrived = self
            .uncollected
            .update(|uncollected| uncollected.arrived.pop_front());
        if let Some(Delivery { due, parcel }) = arrived {
            self.polled = due;
            return Some(parcel);
        }
        let dropped = self.answer_next()?;
        self.uncollected
            .update(|uncollected| uncollected.dropped.push_back(dropped));
        None
    }

    /// Records a parcel at the end of its route that was not polled there.
    #[cold]
    fn arrive(&mut self, due: Instant, parcel: T) {
        let delivery = Delivery { due, parcel };
        self.uncollected
            .update(|uncollected| uncollected.arrived.push_back(delivery));
    }

    /// Processes everything due by `now`, then runs `act` on a link. `act` may change the link or
    /// read its current state.
    pub fn with_link<R>(
        &mut self,
        now: Instant,
        link: usize,
        act: impl FnOnce(&mut Hop<T>) -> R,
    ) -> R {
        while self.due_inside() <= now.min(LAST) {
            self.advance_one(now);
        }
        let result = act(&mut self.links[link]);
        self.collect_dropped(now, link);
        self.reschedule(link);
        result
    }

    /// Backlog of a link at `now`, and the sojourns of departed packets. The query has no effect on
    /// the state that other functions report.
    pub fn queue_at(&mut self, now: Instant, link: usize) -> (Tally, &Sojourns) {
        let hop = &mut self.links[link];
        (hop.backlog(now), hop.sojourns(now))
    }

    /// Links, by their number.
    pub fn links(&self) -> &[Hop<T>] {
        &self.links
    }

    /// Shared media, in order.
    pub fn media(&self) -> &[SharedMedium<T>] {
        self.media.as_slice()
    }

    /// Links, by their number, and the media.
    pub fn into_elements(self) -> (Vec<Hop<T>>, Vec<SharedMedium<T>>) {
        (self.links, self.media.into_vec())
    }

    /// Routes, by their number.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Maximum backlog of each link so far, in wire packets.
    pub fn max_backlog(&self) -> &[u64] {
        &self.max_backlog
    }

    /// Answers to senders that entered each link or station.
    pub fn answers(&self) -> &[Tally] {
        &self.answers
    }

    /// Sum of the counters of all elements. Answers count as arrived; parcels passed from link to
    /// link count neither as delivered nor as arrived.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for link in &self.links {
            sum.add(link.counters());
        }
        for medium in self.media() {
            sum.add(medium.counters());
        }
        sum.arrived.subtract(self.forwarded);
        sum.delivered.subtract(self.forwarded);
        sum.arrived.add(self.straight);
        sum.delivered.add(self.straight);
        sum
    }

    /// MTU that a link or medium reports to senders of larger packets. `link` is numbered as in
    /// [`Dropped::link`]. `None`: it reports nothing.
    pub fn reported_mtu(&self, link: usize) -> Option<Bytes> {
        match self.links.get(link) {
            Some(hop) => hop.reported_mtu(),
            None => Some(SharedMediumConfig::MTU),
        }
    }

    #[inline]
    fn next_link(&self, parcel: &T) -> Option<usize> {
        self.ways.link(parcel.route(), parcel.stage())
    }

    /// Time of the next event other than the collection of a parcel.
    fn due_inside(&self) -> Instant {
        let unanswered = self.uncollected.unanswered.front();
        unanswered.map_or_else(|| self.first.0, |(at, _)| *at)
    }

    /// Processes everything due before `now`.
    #[inline(never)]
    fn advance_until(&mut self, now: Instant) {
        let last = just_before(now);
        while self.due_inside() < now {
            self.advance_one(last);
        }
    }

    /// Processes the next event, which must be due by `now`.
    fn advance_one(&mut self, now: Instant) {
        if let Some(dropped) = self.answer_next() {
            self.uncollected
                .update(|uncollected| uncollected.dropped.push_back(dropped));
            return;
        }
        let (at, link) = self.first;
        if let Some(parcel) = self.serve(at, link, now) {
            self.arrive(at, parcel);
        }
    }

    /// Takes the next output of a link that is due at `at`. It is passed on, or returned if it is
    /// at the end of its route.
    #[inline(always)]
    fn serve(&mut self, at: Instant, link: usize, now: Instant) -> Option<T> {
        if !self.ends_routes[link] {
            return self.serve_between(at, link, now);
        }
        self.polled = at;
        self.poll_link(at, link, now)
    }

    /// Serves elements that are not the last of all their routes, as [`Network::serve`]. It is a
    /// separate function: a parcel that is inspected would be copied once more.
    #[inline(never)]
    fn serve_between(&mut self, at: Instant, link: usize, now: Instant) -> Option<T> {
        let parcel = self.poll_link(at, link, now)?;
        let Some(next_link) = self.next_link(&parcel) else {
            self.polled = at;
            return Some(parcel);
        };
        self.forward(at, next_link, parcel);
        None
    }

    /// Takes the next output of a link or medium, and sets its next appointment.
    #[inline(always)]
    fn poll_link(&mut self, at: Instant, link: usize, now: Instant) -> Option<T> {
        let until = match self.may_wait {
            true => self.until(at, link, now),
            false => at,
        };
        let Some(hop) = self.links.get_mut(link) else {
            return self.serve_medium(at, link);
        };
        let polled = hop.poll_delivery(until);
        let next = due_of(hop);
        self.appoint(at, link, next);
        polled
    }

    /// Sets the next due time of an element that was due at `at`.
    #[inline(always)]
    fn appoint(&mut self, at: Instant, element: usize, next: Instant) {
        self.is_serving = next <= at;
        if !self.is_serving {
            self.schedule.set(element, next);
            self.first = self.schedule.first();
        }
    }

    /// Time up to which a link due at `at` may be polled together. This is `now`, but not after
    /// something may reach the link.
    #[inline(never)]
    fn until(&self, at: Instant, link: usize, now: Instant) -> Instant {
        let Some(Some(upstream)) = self.upstream.get(link) else {
            return at;
        };
        if !self.links[link].is_closed_form() {
            return at;
        }
        let limits = upstream.iter().map(|other| {
            let due = self.schedule.of(*other);
            match link < *other {
                true => due,
                false => just_before(due),
            }
        });
        limits.fold(now, Instant::min).max(at)
    }

    /// Passes a parcel to the next link of its route.
    #[inline(never)]
    fn forward(&mut self, at: Instant, link: usize, mut parcel: T) {
        if self.is_watched {
            let passed = Delivery {
                due: at,
                parcel: parcel.clone(),
            };
            self.uncollected
                .update(|uncollected| uncollected.passed.push_back(passed));
        }
        self.forwarded.add(tally(&parcel));
        parcel.advance();
        self.enter(at, link, parcel);
    }

    #[inline(always)]
    fn enter(&mut self, at: Instant, link: usize, parcel: T) {
        let Some(hop) = self.links.get_mut(link) else {
            self.enter_medium(at, link, parcel);
            return;
        };
        hop.handle_arrival(at, parcel);
        if hop.backlog_at_most() > self.max_backlog[link] {
            let backlog = hop.backlog(at).packets;
            self.max_backlog[link] = self.max_backlog[link].max(backlog);
        }
        let has_dropped = hop.has_dropped();
        // A new arrival comes out after the packets in the queue, but perhaps before reordered ones
        // in their extra delay.
        if self.schedule.is_free(link) || hop.has_late() {
            self.reschedule(link);
        }
        if has_dropped {
            self.collect_dropped(at, link);
        }
    }

    #[inline(never)]
    fn reschedule(&mut self, element: usize) {
        let due = match self.links.get(element) {
            Some(hop) => due_of(hop),
            None => self.media.due(element - self.links.len()),
        };
        self.schedule.set(element, due);
        if !self.is_serving {
            self.first = self.schedule.first();
        }
    }

    /// Collects the drops of a link. They precede earlier drops that are not answered yet: a drop
    /// may be an answer itself.
    #[inline(never)]
    fn collect_dropped(&mut self, at: Instant, link: usize) {
        let hop = &mut self.links[link];
        self.uncollected.update(|uncollected| {
            let before = uncollected.unanswered.len();
            while let Some((parcel, cause)) = hop.poll_dropped() {
                let dropped = Dropped {
                    link,
                    parcel,
                    cause,
                };
                uncollected.unanswered.push_back((at, dropped));
            }
            uncollected.unanswered.rotate_left(before);
        });
    }

    /// Processes the first drop. If the packet was above the MTU, its sender is notified where the
    /// link does that.
    #[inline]
    fn answer_next(&mut self) -> Option<Dropped<T>> {
        let (at, dropped) = self
            .uncollected
            .update(|uncollected| uncollected.unanswered.pop_front())?;
        debug_assert!(
            !dropped.cause.is_at_host(),
            "a link drops by {:?}, which happens at hosts",
            dropped.cause
        );
        if dropped.cause == DropCause::TooBig
            && let Some(answer) = self.answer(&dropped)
        {
            self.send_answer(at, answer);
        }
        Some(dropped)
    }

    #[cold]
    fn send_answer(&mut self, at: Instant, mut answer: T) {
        let Some(link) = self.next_link(&answer) else {
            self.straight.add(tally(&answer));
            self.arrive(at, answer);
            return;
        };
        answer.advance();
        self.answers[link].add(tally(&answer));
        self.enter(at, link, answer);
    }

    #[cold]
    fn answer(&self, dropped: &Dropped<T>) -> Option<T> {
        let mtu = self.reported_mtu(dropped.link)?;
        let parcel = &dropped.parcel;
        let (back, left_out) = self.routes.get(parcel.route())?.back.as_ref()?;
        // The stage includes this link.
        let stage = left_out.get(parcel.stage().checked_sub(1)?)?;
        parcel.too_big(mtu, *back, *stage)
    }
}

/// Whether the time at which output is collected has no effect inside the link.
fn is_indifferent(link: &HopConfig) -> bool {
    matches!(link.release, Release::Within(_))
        && link.reorder.is_none()
        && link.most_inside().is_none()
}

fn just_before(instant: Instant) -> Instant {
    Instant::from_nanos(instant.as_nanos().saturating_sub(1))
}

#[inline]
fn due_of<T: Parcel>(link: &Hop<T>) -> Instant {
    link.poll_timeout().unwrap_or(Instant::FAR_FUTURE)
}

fn tally<T: Parcel>(parcel: &T) -> Tally {
    let (packets, bytes, _) = parcel.sizes();
    Tally::new(packets as u64, bytes)
}
