//! Links joined to a network: a route for each flow and direction, one schedule.
//!
//! Each parcel says which route it takes and how many of its links it has entered
//! ([`Routed`]). The network hands it from link to link at the instant it comes out,
//! and hands it out at the end of its route. A link that refuses a packet as too large
//! may tell its sender ([`HopConfig::tells_too_big`]): the answer starts at that link
//! and takes the other route ([`Route::back`]).
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
//! Out of scope: fragmentation (a packet that is too large is dropped), routes that
//! change during a run.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Instant};

use crate::heap::Appointments;
use crate::{ConfigError, Counters, DropCause, Hop, HopConfig, Parcel, Release, Tally};

/// The last instant at which something can happen.
const LAST: Instant = Instant::from_nanos(Instant::FAR_FUTURE.as_nanos() - 1);

/// A parcel that finds its way through a network.
pub trait Routed: Parcel {
    /// Returns the number of its route.
    fn route(&self) -> usize;

    /// Returns how many links of its route it has entered.
    fn stage(&self) -> usize;

    /// Counts one more link as entered.
    fn advance(&mut self);

    /// Returns what tells its sender that it is too large for a link of `mtu` octets
    /// (RFC 1191 section 4, RFC 4443 section 3.2). The answer takes route `back`, of
    /// which it counts `stage` links as entered. `None` where nobody is told: errors
    /// cause no errors (RFC 1122 section 3.2.2).
    fn too_big(&self, mtu: Bytes, back: usize, stage: usize) -> Option<Self>;
}

/// The way of a flow in one direction.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Route {
    /// Numbers of its links, in order.
    pub links: Vec<usize>,
    /// The route that answers take, and for each of `links` how many links of that
    /// route an answer from there leaves out. `None`: senders are not told.
    pub back: Option<(usize, Vec<usize>)>,
}

/// Links and routes of a network.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct NetworkConfig {
    /// All links; each has a name of its own.
    pub links: Vec<HopConfig>,
    /// All routes.
    pub routes: Vec<Route>,
}

impl NetworkConfig {
    /// Returns one path: route 0 over `forward`, route 1 back over `reverse`.
    ///
    /// Links are numbered along the routes. An error goes back over as many links as
    /// the packet had crossed, the last of the reverse path.
    #[must_use]
    pub fn path(forward: Vec<HopConfig>, reverse: Vec<HopConfig>) -> Self {
        let (there, back) = (forward.len(), reverse.len());
        let left_out = |links: usize, others: usize| {
            let crossed = 0..links;
            crossed.map(|n| others - n.min(others)).collect()
        };
        let routes = [
            Route {
                links: (0..there).collect(),
                back: Some((1, left_out(there, back))),
            },
            Route {
                links: (there..there + back).collect(),
                back: Some((0, left_out(back, there))),
            },
        ];
        Self {
            links: forward.into_iter().chain(reverse).collect(),
            routes: routes.into(),
        }
    }

    /// Returns the same network with its links numbered from the last to the first.
    #[must_use]
    pub fn last_link_first(mut self) -> Self {
        self.links.reverse();
        let count = self.links.len();
        for link in self.routes.iter_mut().flat_map(|route| &mut route.links) {
            // A number that does not exist stays one.
            *link = (count - 1).checked_sub(*link).unwrap_or(count);
        }
        self
    }

    /// Checks that a network can be built from this.
    ///
    /// # Errors
    /// What is wrong with a link ([`HopConfig::check`]); [`ConfigError::NoSuchLink`];
    /// [`ConfigError::NoWayBack`].
    pub fn check(&self) -> Result<(), ConfigError> {
        self.links.iter().try_for_each(HopConfig::check)?;
        let mut links = self.routes.iter().flat_map(|route| &route.links);
        if links.any(|link| *link >= self.links.len()) {
            return Err(ConfigError::NoSuchLink);
        }
        if !self.routes.iter().all(|route| self.has_sound_back(route)) {
            return Err(ConfigError::NoWayBack);
        }
        Ok(())
    }

    fn has_sound_back(&self, route: &Route) -> bool {
        let Some((back, left_out)) = &route.back else {
            return true;
        };
        let most = self.routes.get(*back).map(|back| back.links.len());
        left_out.len() == route.links.len()
            && most.is_some_and(|most| left_out.iter().all(|links| *links <= most))
    }

    /// Returns whether `link` is the last of every route that it is on.
    fn ends_routes(&self, link: usize) -> bool {
        self.routes.iter().all(|route| {
            let place = route.links.iter().position(|other| *other == link);
            place.is_none_or(|place| place + 1 == route.links.len())
        })
    }

    /// Returns the links from which something may come to `link`, over others too.
    fn upstream(&self, link: usize) -> Box<[usize]> {
        let mut found: Vec<usize> = Vec::new();
        let mut open = alloc::vec![link];
        while let Some(at) = open.pop() {
            for before in self.directly_before(at) {
                if before != link && !found.contains(&before) {
                    found.push(before);
                    open.push(before);
                }
            }
        }
        found.into()
    }

    /// Returns the links that hand on to `link`, or answer into it.
    fn directly_before(&self, link: usize) -> impl Iterator<Item = usize> {
        self.routes.iter().flat_map(move |route| {
            let pairs = route.links.windows(2).filter(move |pair| pair[1] == link);
            let back = route.back.iter().flat_map(move |(back, left_out)| {
                let enters = move |stage: &usize| self.routes[*back].links.get(*stage);
                let answers = route.links.iter().zip(left_out);
                answers.filter(move |(_, stage)| enters(stage) == Some(&link))
            });
            pairs.map(|pair| pair[0]).chain(back.map(|(from, _)| *from))
        })
    }
}

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
    /// Number of the link.
    pub link: usize,
    /// The parcel.
    pub parcel: T,
    /// Why.
    pub cause: DropCause,
}

/// Links joined to a network, with one schedule.
#[derive(Debug)]
pub struct Network<T> {
    links: Vec<Hop<T>>,
    routes: Vec<Route>,
    appointments: Appointments,
    /// The link that has more to give at this instant.
    serving: Option<(Instant, usize)>,
    /// At the end of their routes.
    arrived: VecDeque<Delivery<T>>,
    /// Dropped, when, and their senders not yet told.
    unanswered: VecDeque<(Instant, Dropped<T>)>,
    /// Dropped and dealt with.
    dropped: VecDeque<Dropped<T>>,
    /// What has passed from link to link, if that is watched.
    passed: Option<VecDeque<Delivery<T>>>,
    /// Of a link that may give later what it has: the links upstream.
    upstream: Vec<Option<Box<[usize]>>>,
    /// The largest backlog of each link so far, in wire packets.
    max_backlog: Vec<u64>,
    /// What has entered each link as an answer.
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
        let links = config.links.into_iter().map(|link| Hop::new(link, seed));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            appointments: Appointments::new(links.len()),
            serving: None,
            arrived: VecDeque::new(),
            unanswered: VecDeque::new(),
            dropped: VecDeque::new(),
            passed: None,
            upstream,
            max_backlog: alloc::vec![0; links.len()],
            answers: alloc::vec![Tally::default(); links.len()],
            handed_on: Tally::default(),
            straight: Tally::default(),
            routes: config.routes,
            links,
        })
    }

    /// Takes in a parcel at `now`, where its route and stage say. What was due before
    /// happens before.
    #[inline]
    pub fn handle_arrival(&mut self, now: Instant, mut parcel: T) {
        if self.due() < now {
            self.advance_until(now);
        }
        let Some(link) = self.next_link(&parcel) else {
            self.straight.add(tally(&parcel));
            self.arrived.push_back(Delivery { due: now, parcel });
            return;
        };
        parcel.advance();
        self.enter(now, link, parcel);
    }

    /// Returns the next parcel that has come to the end of its route by `now`. Those of
    /// one route come in the order in which they were due.
    #[inline]
    pub fn poll_delivery(&mut self, now: Instant) -> Option<Delivery<T>> {
        if !self.arrived.is_empty() {
            return self.arrived.pop_front();
        }
        loop {
            while let Some(dropped) = self.answer_next() {
                self.dropped.push_back(dropped);
                if !self.arrived.is_empty() {
                    return self.arrived.pop_front();
                }
            }
            let (at, link) = self.first();
            if at > now.min(LAST) {
                return None;
            }
            if let Some(parcel) = self.serve(at, link, now) {
                return Some(Delivery { due: at, parcel });
            }
        }
    }

    /// Returns the next parcel that did not get through; poll until `None`.
    pub fn poll_dropped(&mut self) -> Option<Dropped<T>> {
        if let Some(dropped) = self.dropped.pop_front() {
            return Some(dropped);
        }
        if let Some(dropped) = self.answer_next() {
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

    /// Returns how many dropped parcels are known; what a queue has dropped on its own
    /// is known when something arrives there.
    #[inline]
    #[must_use]
    pub fn drops_known(&self) -> usize {
        self.unanswered.len() + self.dropped.len()
    }

    /// Returns the next parcel that passed from link to link, if that is watched.
    pub fn poll_passed(&mut self) -> Option<Delivery<T>> {
        self.passed.as_mut()?.pop_front()
    }

    /// Keeps every parcel that passes from link to link for [`Network::poll_passed`].
    pub fn watch(&mut self) {
        self.passed.get_or_insert_default();
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
        if let Some(arrived) = self.arrived.front() {
            return arrived.due;
        }
        if let Some((at, _)) = self.unanswered.front() {
            return *at;
        }
        self.first().0
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

    /// Returns the links, by their number.
    #[must_use]
    pub fn links(&self) -> &[Hop<T>] {
        &self.links
    }

    /// Returns the links, by their number.
    #[must_use]
    pub fn into_links(self) -> Vec<Hop<T>> {
        self.links
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

    /// Returns what has entered each link as an answer to a sender.
    #[must_use]
    pub fn answers(&self) -> &[Tally] {
        &self.answers
    }

    /// Returns what has happened in all links together. Answers count as arrived; what
    /// passes from link to link is neither delivered nor arrived.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for link in &self.links {
            sum.add(link.counters());
        }
        sum.arrived.subtract(self.handed_on);
        sum.delivered.subtract(self.handed_on);
        sum.arrived.add(self.straight);
        sum.delivered.add(self.straight);
        sum
    }

    /// The link that acts next, and when.
    #[inline]
    fn first(&self) -> (Instant, usize) {
        match self.serving {
            Some(serving) => serving,
            None => self.appointments.first(),
        }
    }

    #[inline]
    fn next_link(&self, parcel: &T) -> Option<usize> {
        let route = self.routes.get(parcel.route())?;
        route.links.get(parcel.stage()).copied()
    }

    /// When something happens next, other than that a parcel is collected.
    fn due_inside(&self) -> Instant {
        let unanswered = self.unanswered.front();
        unanswered.map_or_else(|| self.first().0, |(at, _)| *at)
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
            self.dropped.push_back(dropped);
            return;
        }
        let (at, link) = self.first();
        if let Some(parcel) = self.serve(at, link, now) {
            self.arrived.push_back(Delivery { due: at, parcel });
        }
    }

    /// Takes what comes out next of a link that is due at `at`, and hands it on;
    /// returns it if it is at the end of its route.
    #[inline]
    fn serve(&mut self, at: Instant, link: usize, now: Instant) -> Option<T> {
        let until = match &self.upstream[link] {
            None => at,
            Some(upstream) => self.until(at, link, upstream, now),
        };
        let hop = &mut self.links[link];
        let polled = hop.poll_delivery(until);
        let next = due_of(hop);
        self.appointments.set(link, next);
        self.serving = (next <= at).then_some((at, link));
        let parcel = polled?;
        let Some(next_link) = self.next_link(&parcel) else {
            return Some(parcel);
        };
        self.hand_on(at, next_link, parcel);
        None
    }

    /// Up to when a link that is due at `at` may be asked at once: all that comes out
    /// by `now`, but not after something may reach it.
    #[inline(never)]
    fn until(&self, at: Instant, link: usize, upstream: &[usize], now: Instant) -> Instant {
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
    fn hand_on(&mut self, at: Instant, link: usize, mut parcel: T) {
        if let Some(passed) = &mut self.passed {
            let parcel = parcel.clone();
            passed.push_back(Delivery { due: at, parcel });
        }
        self.handed_on.add(tally(&parcel));
        parcel.advance();
        self.enter(at, link, parcel);
    }

    #[inline]
    fn enter(&mut self, at: Instant, link: usize, parcel: T) {
        let hop = &mut self.links[link];
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

    #[inline]
    fn reschedule(&mut self, link: usize) {
        self.appointments.set(link, due_of(&self.links[link]));
    }

    /// Takes what a link has dropped. It comes before what was dropped before it and
    /// is not answered yet: it may be an answer itself.
    #[inline(never)]
    fn collect_dropped(&mut self, at: Instant, link: usize) {
        let before = self.unanswered.len();
        while let Some((parcel, cause)) = self.links[link].poll_dropped() {
            let dropped = Dropped {
                link,
                parcel,
                cause,
            };
            self.unanswered.push_back((at, dropped));
        }
        self.unanswered.rotate_left(before);
    }

    /// Deals with what was dropped first: if it was too large, its sender is told
    /// where the link does that.
    #[inline]
    fn answer_next(&mut self) -> Option<Dropped<T>> {
        let (at, dropped) = self.unanswered.pop_front()?;
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
            let parcel = answer;
            self.arrived.push_back(Delivery { due: at, parcel });
            return;
        };
        answer.advance();
        self.answers[link].add(tally(&answer));
        self.enter(at, link, answer);
    }

    #[cold]
    fn answer(&self, dropped: &Dropped<T>) -> Option<T> {
        let config = self.links[dropped.link].config();
        let mtu = config.mtu.filter(|_| config.tells_too_big)?;
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
