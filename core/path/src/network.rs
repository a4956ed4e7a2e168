//! Links and shared media joined to a network: a route for each flow and direction, one
//! schedule.
//!
//! Each parcel says which route it takes and how many of its links it has entered
//! ([`Routed`]). The network hands it from link to link at the instant it comes out,
//! and hands it out at the end of its route. A link that refuses a packet as too large
//! may tell its sender ([`HopConfig::tells_too_big`]): the answer starts at that link
//! and takes the other route ([`Route::back`]).
//!
//! A medium is an element of several routes, each of which enters it at its own station
//! ([`NetworkConfig::media`]).
//!
//! **Time.** All that was due happens at the instant it was due, in the same order,
//! however late the caller comes. Only a link that ends all its routes, gathers wire
//! packets ([`Release::Within`](crate::Release::Within)) and has no hold limit then
//! gives larger pieces: nothing inside depends on how these leave.
//!
//! **Order at one instant.** The link with the lower number comes first and gives all
//! it has of that instant. Numbers are the caller's choice. Numbered along their
//! routes, as [`NetworkConfig::path`] does, what a link gives reaches the next before
//! that gives what is due. Numbered against them
//! ([`NetworkConfig::last_link_first`]), what leaves makes room for what comes, which
//! matters to a [`HopConfig::hold_limit`] alone.
//!
//! **Cost.** One appointment per link in an indexed heap, never one per packet.
//!
//! Out of scope: routes that change during a run.

mod media;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Instant};

use crate::heap::Appointments;
use crate::route::{NetworkConfig, Route, Routed, Ways};
use crate::{
    ConfigError, Counters, DropCause, Hop, HopConfig, Parcel, Release, SharedMedium,
    SharedMediumConfig, Sojourns, Tally,
};
use media::Media;

/// The last instant at which something can happen.
const LAST: Instant = Instant::from_nanos(Instant::FAR_FUTURE.as_nanos() - 1);

/// A parcel that has come out, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery<T> {
    /// When it came out; the clock may show more.
    pub due: Instant,
    /// The parcel.
    pub parcel: T,
}

/// A parcel that a link did not carry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dropped<T> {
    /// Number of the link; media have the numbers after those of the links.
    pub link: usize,
    /// The parcel.
    pub parcel: T,
    /// Why.
    pub cause: DropCause,
}

/// What has happened and was not collected yet.
#[derive(Debug)]
struct News<T> {
    /// All entries below: most of the time there are none.
    count: usize,
    /// At the end of their routes.
    arrived: VecDeque<Delivery<T>>,
    /// Dropped, when, and their senders not yet told.
    unanswered: VecDeque<(Instant, Dropped<T>)>,
    /// Dropped and dealt with.
    dropped: VecDeque<Dropped<T>>,
    /// On the way from link to link.
    passed: VecDeque<Delivery<T>>,
}

impl<T> Default for News<T> {
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

impl<T> News<T> {
    /// Changes it.
    #[cold]
    fn update<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let result = act(self);
        let drops = self.unanswered.len() + self.dropped.len();
        self.count = self.arrived.len() + drops + self.passed.len();
        result
    }

    /// Returns whether parcels wait to be collected or answered.
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
    appointments: Appointments,
    /// The element that acts next, and when.
    first: (Instant, usize),
    /// Whether that element has more to give at that instant, and so comes before others.
    is_serving: bool,
    /// When what was polled last was due.
    polled: Instant,
    news: News<T>,
    /// Whether what passes from link to link is kept.
    is_watched: bool,
    /// Of a link that may give later what it has: the elements upstream.
    upstream: Vec<Option<Box<[usize]>>>,
    /// Whether there is such a link.
    may_wait: bool,
    /// Of each link and medium, whether it is a link that is the last of all its routes.
    ends_routes: Vec<bool>,
    /// The largest backlog of each link so far, in wire packets.
    max_backlog: Vec<u64>,
    /// What has entered each link or station as an answer.
    answers: Vec<Tally>,
    /// Handed from link to link.
    handed_on: Tally,
    /// What entered behind the last link of its route.
    straight: Tally,
}

impl<T: Routed> Network<T> {
    /// A network of the run with this `seed`.
    ///
    /// # Errors
    /// What [`NetworkConfig::check`] finds wrong.
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
        let links = config.links.into_iter().map(|link| Hop::new(link, seed));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            appointments: Appointments::new(links.len() + media.as_slice().len()),
            first: (Instant::FAR_FUTURE, 0),
            is_serving: false,
            polled: Instant::ZERO,
            ways: Ways::new(&config.routes),
            news: News::default(),
            is_watched: false,
            may_wait: upstream.iter().any(Option::is_some),
            ends_routes,
            upstream,
            max_backlog: alloc::vec![0; links.len()],
            answers: alloc::vec![Tally::default(); links.len() + media.stations()],
            handed_on: Tally::default(),
            straight: Tally::default(),
            routes: config.routes,
            links,
            media,
        })
    }

    /// Takes in a parcel at `now`, where its route and stage say. What was due before
    /// happens before.
    pub fn handle_arrival(&mut self, now: Instant, parcel: T) {
        if self.due() < now {
            self.advance_until(now);
        }
        self.handle_arrival_in_time(now, parcel);
    }

    /// [`Network::handle_arrival`] for a caller that has polled all that was due before
    /// `now`.
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

    /// Returns the next parcel that has come to the end of its route by `now`. Those of
    /// one route come in the order in which they were due.
    pub fn poll_delivery(&mut self, now: Instant) -> Option<Delivery<T>> {
        while self.due() <= now.min(LAST) {
            if let Some(parcel) = self.act(now) {
                let due = self.polled;
                return Some(Delivery { due, parcel });
            }
        }
        None
    }

    /// Does what is due next, which must be due by `now`; returns the parcel if one has
    /// come to the end of its route. For a caller that comes at each instant of
    /// [`Network::due`].
    #[inline(always)]
    pub fn act(&mut self, now: Instant) -> Option<T> {
        debug_assert!(
            self.due() <= now,
            "asked at {now:?} for what is due at {:?}",
            self.due()
        );
        debug_assert!(
            self.is_serving || self.first == self.appointments.first(),
            "{:?} is to act first, {:?} has the first appointment",
            self.first,
            self.appointments.first()
        );
        if self.news.is_behind() {
            return self.catch_up();
        }
        let (at, link) = self.first;
        self.serve(at, link, now)
    }

    /// Returns the next parcel that did not get through; poll until `None`.
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

    /// Returns the next parcel that is known not to have got through. What a queue has
    /// dropped on its own becomes known when something arrives there.
    #[inline]
    pub fn poll_known_dropped(&mut self) -> Option<Dropped<T>> {
        if self.news.count == 0 {
            return None;
        }
        let dropped = self.news.update(|news| news.dropped.pop_front());
        dropped.or_else(|| self.answer_next())
    }

    /// Returns whether [`Network::poll_known_dropped`], [`Network::poll_passed`] or, of
    /// what has arrived without having been due, [`Network::poll_delivery`] have
    /// something to give.
    #[inline]
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.news.count > 0
    }

    /// Returns the next parcel that passed from link to link, if that is watched.
    pub fn poll_passed(&mut self) -> Option<Delivery<T>> {
        self.news.update(|news| news.passed.pop_front())
    }

    /// Keeps every parcel that passes from link to link for [`Network::poll_passed`].
    pub fn watch(&mut self) {
        self.is_watched = true;
    }

    /// Returns when something is due next.
    #[inline]
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.due();
        (due != Instant::FAR_FUTURE).then_some(due)
    }

    /// Returns when something is due next; the far future if nothing is.
    #[inline]
    #[must_use]
    pub fn due(&self) -> Instant {
        if self.news.is_behind() {
            return self.due_behind();
        }
        self.first.0
    }

    #[cold]
    fn due_behind(&self) -> Instant {
        let arrived = self.news.arrived.front().map(|arrived| arrived.due);
        arrived.unwrap_or_else(|| self.due_inside())
    }

    /// Returns what has arrived, or answers what was dropped.
    #[cold]
    fn catch_up(&mut self) -> Option<T> {
        let arrived = self.news.update(|news| news.arrived.pop_front());
        if let Some(Delivery { due, parcel }) = arrived {
            self.polled = due;
            return Some(parcel);
        }
        let dropped = self.answer_next()?;
        self.news.update(|news| news.dropped.push_back(dropped));
        None
    }

    /// A parcel is at the end of its route, and was not polled there.
    #[cold]
    fn arrive(&mut self, due: Instant, parcel: T) {
        let delivery = Delivery { due, parcel };
        self.news.update(|news| news.arrived.push_back(delivery));
    }

    /// Does all that is due by `now`, then lets `act` on a link: change it, or ask it
    /// for what is up to date.
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

    /// Returns the backlog of a link at `now`, and how long what has left it waited.
    /// Nothing becomes known by asking that would not become so otherwise.
    pub fn queue_at(&mut self, now: Instant, link: usize) -> (Tally, &Sojourns) {
        let hop = &mut self.links[link];
        (hop.backlog(now), hop.sojourns(now))
    }

    /// Returns the links, by their number.
    #[must_use]
    pub fn links(&self) -> &[Hop<T>] {
        &self.links
    }

    /// Returns the shared media, in order.
    #[must_use]
    pub fn media(&self) -> &[SharedMedium<T>] {
        self.media.as_slice()
    }

    /// Returns the links, by their number, and the media.
    #[must_use]
    pub fn into_elements(self) -> (Vec<Hop<T>>, Vec<SharedMedium<T>>) {
        (self.links, self.media.into_vec())
    }

    /// Returns the routes, by their number.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Returns the largest backlog of each link so far, in wire packets.
    #[must_use]
    pub fn max_backlog(&self) -> &[u64] {
        &self.max_backlog
    }

    /// Returns what has entered each link or station as an answer to a sender.
    #[must_use]
    pub fn answers(&self) -> &[Tally] {
        &self.answers
    }

    /// Returns what has happened in all elements together. Answers count as arrived; what
    /// passes from link to link is neither delivered nor arrived.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for link in &self.links {
            sum.add(link.counters());
        }
        for medium in self.media() {
            sum.add(medium.counters());
        }
        sum.arrived.subtract(self.handed_on);
        sum.delivered.subtract(self.handed_on);
        sum.arrived.add(self.straight);
        sum.delivered.add(self.straight);
        sum
    }

    /// Returns the MTU that a link or a medium reports to senders of larger packets,
    /// by the number of [`Dropped::link`]. `None`: it reports nothing.
    #[must_use]
    pub fn told_mtu(&self, link: usize) -> Option<Bytes> {
        match self.links.get(link) {
            Some(hop) => hop.told_mtu(),
            None => Some(SharedMediumConfig::MTU),
        }
    }

    #[inline]
    fn next_link(&self, parcel: &T) -> Option<usize> {
        self.ways.link(parcel.route(), parcel.stage())
    }

    /// When something happens next, other than that a parcel is collected.
    fn due_inside(&self) -> Instant {
        let unanswered = self.news.unanswered.front();
        unanswered.map_or_else(|| self.first.0, |(at, _)| *at)
    }

    /// Does all that is due before `now`.
    #[inline(never)]
    fn advance_until(&mut self, now: Instant) {
        let last = just_before(now);
        while self.due_inside() < now {
            self.advance_one(last);
        }
    }

    /// Does what is due next, which must be due by `now`.
    fn advance_one(&mut self, now: Instant) {
        if let Some(dropped) = self.answer_next() {
            self.news.update(|news| news.dropped.push_back(dropped));
            return;
        }
        let (at, link) = self.first;
        if let Some(parcel) = self.serve(at, link, now) {
            self.arrive(at, parcel);
        }
    }

    /// Takes what comes out next of a link that is due at `at`, and hands it on;
    /// returns it if it is at the end of its route.
    #[inline(always)]
    fn serve(&mut self, at: Instant, link: usize, now: Instant) -> Option<T> {
        if !self.ends_routes[link] {
            return self.serve_between(at, link, now);
        }
        self.polled = at;
        self.poll_link(at, link, now)
    }

    /// [`Network::serve`] of what is not the last of all its routes. A function of
    /// its own: a parcel that is looked at would be copied once more.
    #[inline(never)]
    fn serve_between(&mut self, at: Instant, link: usize, now: Instant) -> Option<T> {
        let parcel = self.poll_link(at, link, now)?;
        let Some(next_link) = self.next_link(&parcel) else {
            self.polled = at;
            return Some(parcel);
        };
        self.hand_on(at, next_link, parcel);
        None
    }

    /// Takes what comes out next of a link or medium, and sets its next appointment.
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

    /// Notes when an element that was due at `at` is due next.
    #[inline(always)]
    fn appoint(&mut self, at: Instant, element: usize, next: Instant) {
        self.is_serving = next <= at;
        if !self.is_serving {
            self.appointments.set(element, next);
            self.first = self.appointments.first();
        }
    }

    /// Up to when a link that is due at `at` may be asked at once: all that comes out
    /// by `now`, but not after something may reach it.
    #[inline(never)]
    fn until(&self, at: Instant, link: usize, now: Instant) -> Instant {
        let Some(Some(upstream)) = self.upstream.get(link) else {
            return at;
        };
        if !self.links[link].is_closed_form() {
            return at;
        }
        let limits = upstream.iter().map(|other| {
            let due = self.appointments.of(*other);
            match link < *other {
                true => due,
                false => just_before(due),
            }
        });
        limits.fold(now, Instant::min).max(at)
    }

    /// Takes a parcel to a further link of its route.
    #[inline(never)]
    fn hand_on(&mut self, at: Instant, link: usize, mut parcel: T) {
        if self.is_watched {
            let parcel = parcel.clone();
            let passed = Delivery { due: at, parcel };
            self.news.update(|news| news.passed.push_back(passed));
        }
        self.handed_on.add(tally(&parcel));
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
        // What joins a queue comes out behind it, but perhaps before what waits
        // next to it.
        if self.appointments.is_free(link) || hop.has_late() {
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
        self.appointments.set(element, due);
        if !self.is_serving {
            self.first = self.appointments.first();
        }
    }

    /// Takes what a link has dropped. It comes before what was dropped before it and
    /// is not answered yet: it may be an answer itself.
    #[inline(never)]
    fn collect_dropped(&mut self, at: Instant, link: usize) {
        let hop = &mut self.links[link];
        self.news.update(|news| {
            let before = news.unanswered.len();
            while let Some((parcel, cause)) = hop.poll_dropped() {
                let dropped = Dropped {
                    link,
                    parcel,
                    cause,
                };
                news.unanswered.push_back((at, dropped));
            }
            news.unanswered.rotate_left(before);
        });
    }

    /// Deals with what was dropped first: if it was too large, its sender is notified
    /// where the link does that.
    #[inline]
    fn answer_next(&mut self) -> Option<Dropped<T>> {
        let (at, dropped) = self.news.update(|news| news.unanswered.pop_front())?;
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
        let mtu = self.told_mtu(dropped.link)?;
        let parcel = &dropped.parcel;
        let (back, left_out) = self.routes.get(parcel.route())?.back.as_ref()?;
        // It counts this link as entered.
        let stage = left_out.get(parcel.stage().checked_sub(1)?)?;
        parcel.too_big(mtu, *back, *stage)
    }
}

/// Returns whether it is the same to all inside of a link when what has come out of it
/// is collected.
fn is_indifferent(link: &HopConfig) -> bool {
    matches!(link.release, Release::Within(_))
        && link.reorder.is_none()
        && link.hold_limit.is_none()
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
