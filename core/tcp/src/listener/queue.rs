//! Listener of a server: half-open connections, accept queue, and defense against floods.
//!
//! RFC 4987, RFC 7413 section 5.1.
//!
//! ```text
//! SYN --> half-open --ACK--> accept queue --poll_accept--> the driver
//!    \--> cookie ---ACK-------^        ^
//!     \-> Fast Open -------------------/
//! ```
//!
//! * At most `backlog` half-open connections, each stored as its SYN (`half_open`). The SYN-ACK
//!   is retransmitted as [`crate::profile::Profile`] specifies. Once the queue is more than half
//!   full, half-open connections are dropped after two retransmissions, to make space for others.
//! * If it is full, SYN cookies (`syn_cookies`). Without them the oldest whose SYN-ACK was
//!   already retransmitted is evicted, or the SYN is dropped.
//! * At most `accept_backlog` connections wait for the application. Beyond that SYNs are dropped,
//!   and so is the ACK that would complete a handshake: the retransmitted SYN-ACK brings another
//!   (Linux). With `abort_on_overflow` the handshake is reset instead.
//! * At most `fast_open_backlog` Fast Open connections whose handshake is not complete. One that
//!   is reset in that time counts for another 60 s. Otherwise resets would defeat the limit (RFC
//!   7413 section 5.1).
//!
//! The contract is that of connections: `handle_*`, then [`Listener::poll_transmit`] and
//! [`Listener::poll_accept`] until they return `None`, then [`Listener::poll_timeout`]. Memory is
//! bounded by the limits, and the cost of a segment by their logarithm. All look-ups are in
//! ordered maps, which no choice of addresses makes slow.
//!
//! A driver looks up its own connections first. A SYN for one in TIME-WAIT that gives way goes to
//! [`Listener::handle_syn_after`]. From then on segments of a connection that the listener
//! [`Listener::knows`] go to it. The old connection is removed when the new one is accepted. ICMP
//! errors about such connections go to [`Listener::handle_icmp`].

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::net::IpAddr;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Endpoints, FastOpenCookie, Flags, IcmpError, Payload, Segment, SeqNumber};

use super::config::{Accepted, ListenerConfig, ListenerCounters};
use super::cookie::{self, Cookies};
use super::half_open::{HalfOpen, Repeated};
use super::reset_answering;
use crate::authentication::Keys;
use crate::connection::{Connection, ConnectionConfig, Predecessor, Received};
use crate::events::State;
use crate::fast_open::{CookieValidity, FastOpenKey, FastOpenSlots};
use crate::four_tuple::FourTuple;
use crate::isn::IsnGenerator;
use crate::profile::SynCookies;
use crate::secret::Secret;

mod invariants;
mod timers;

/// Maximum retransmissions of a SYN-ACK while the queue is more than half full.
const RETRANSMISSIONS_UNDER_PRESSURE: u32 = 2;

/// Time for which a reset Fast Open connection still counts (as in Linux).
const RESET_COUNTS_FOR: Duration = Duration::from_secs(60);

/// Maximum number of queued segments; more are dropped, as by a full device queue. They wait if a
/// driver does not poll.
const MOST_WAITING: usize = 1024;

/// Connection in the accept queue.
#[derive(Debug)]
struct Waiting<P> {
    connection: Box<Connection<P>>,
    due: Instant,
}

/// LISTEN with its two queues: half-open connections, and those to be accepted.
///
/// An [`Endpoint`](crate::Endpoint) has listeners; a driver that stores connections itself has
/// one per port.
#[derive(Debug)]
pub struct Listener<P> {
    config: ListenerConfig,
    isn: IsnGenerator,
    cookies: Cookies,
    fast_open: FastOpenKey,
    /// Peers that must authenticate.
    peers: BTreeMap<IpAddr, Keys<P>>,
    half_open: BTreeMap<FourTuple, HalfOpen<P>>,
    waiting: BTreeMap<FourTuple, Waiting<P>>,
    /// Connections in the order in which they became ready to be accepted.
    accept_queue: VecDeque<FourTuple>,
    timers: BTreeSet<(Instant, FourTuple)>,
    outgoing: VecDeque<(Endpoints, Segment<P>)>,
    /// Connections that may have something to send.
    busy: VecDeque<FourTuple>,
    /// Time until which acknowledgments may be SYN cookies.
    cookies_until: Instant,
    fast_open_slots: FastOpenSlots,
    /// Times until which reset Fast Open connections count, oldest first.
    fast_open_resets: VecDeque<Instant>,
    counters: ListenerCounters,
}

impl<P: Payload> Listener<P> {
    /// A listener with empty queues.
    ///
    /// # Panics
    /// If the configuration has no secret: its sequence numbers and cookies could be guessed.
    pub fn new(config: ListenerConfig) -> Self {
        let secret = config.secret;
        assert!(secret != Secret::UNSET, "a listener requires a secret");
        Self::of_host(config, secret)
    }

    pub(crate) fn of_host(config: ListenerConfig, secret: Secret) -> Self {
        let config = ListenerConfig { secret, ..config };
        Self {
            isn: IsnGenerator::new(secret),
            cookies: Cookies::new(secret),
            fast_open: FastOpenKey::new(secret),
            config,
            peers: BTreeMap::new(),
            half_open: BTreeMap::new(),
            waiting: BTreeMap::new(),
            accept_queue: VecDeque::new(),
            timers: BTreeSet::new(),
            outgoing: VecDeque::new(),
            busy: VecDeque::new(),
            cookies_until: Instant::ZERO,
            fast_open_slots: FastOpenSlots::default(),
            fast_open_resets: VecDeque::new(),
            counters: ListenerCounters::default(),
        }
    }

    /// Counts since the listener was created.
    pub fn counters(&self) -> &ListenerCounters {
        &self.counters
    }

    /// Number of half-open connections.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// Number of connections waiting to be accepted.
    pub fn acceptable(&self) -> usize {
        self.accept_queue.len()
    }

    /// Whether segments of this connection belong to the listener. The connection is half-open or
    /// waits to be accepted.
    pub fn knows(&self, tuple: &FourTuple) -> bool {
        self.half_open.contains_key(tuple) || self.waiting.contains_key(tuple)
    }

    /// Changes the key for Fast Open cookies. Cookies granted until now stay valid until the next
    /// change.
    pub fn change_fast_open_key(&mut self, secret: Secret) {
        self.fast_open.change(secret);
    }

    /// Sets the only valid key for Fast Open cookies.
    pub fn set_fast_open_key(&mut self, secret: Secret) {
        self.fast_open = FastOpenKey::new(secret);
    }

    /// Sets the only valid key for Fast Open cookies, with Linux's cookies; `server` is the address
    /// of this host.
    pub fn set_linux_fast_open_key(&mut self, secret: Secret, server: IpAddr) {
        self.fast_open = FastOpenKey::of_linux(secret, server);
    }

    /// Connections waiting to be accepted, in no particular order.
    pub fn waiting(&self) -> impl Iterator<Item = &Connection<P>> {
        self.waiting.values().map(|waiting| &*waiting.connection)
    }

    /// Requires authentication of new connections of `peer` by these keys (RFC 5925). Open
    /// connections do not change. SYN cookies and Fast Open are off for such a peer: a SYN with a
    /// valid code comes from a verified source.
    pub fn require_authentication(&mut self, peer: IpAddr, keys: Keys<P>) {
        self.peers.insert(peer, keys);
    }

    /// Handles a segment for the listening port, sent between `endpoints`. Its sender is the
    /// source. It belongs to none of the driver's connections.
    pub fn handle_segment(&mut self, now: Instant, endpoints: Endpoints, received: Received<P>) {
        let tuple = FourTuple::of_arrival(endpoints, &received.segment);
        if let Some(waiting) = self.waiting.get_mut(&tuple) {
            waiting.connection.handle_segment(now, received);
            self.busy.push_back(tuple);
        } else if self.half_open.contains_key(&tuple) {
            self.handle_half_open(now, tuple, received);
        } else {
            self.handle_unknown(now, tuple, received);
        }
    }

    /// Handles an ICMP error that quotes a segment of the connection `tuple`.
    ///
    /// As [`Connection::handle_icmp`]: a hard one about our SYN-ACK ends a half-open connection
    /// (RFC 9293 SHLD-26), without a report. Soft ones are ignored, since no application can
    /// query them yet.
    pub fn handle_icmp(&mut self, now: Instant, tuple: &FourTuple, error: IcmpError) {
        if let Some(waiting) = self.waiting.get_mut(tuple) {
            waiting.connection.handle_icmp(now, error);
            self.busy.push_back(*tuple);
            return;
        }
        let Some(half) = self.half_open.get(tuple) else {
            return;
        };
        let config = self.config.identified(&self.isn, tuple, half.iss);
        let keys = self.peers.get(&tuple.remote_address());
        let Some(mut connection) = half.rebuild(tuple, &config, keys) else {
            self.remove_half_open(tuple);
            return;
        };
        connection.handle_icmp(now, error);
        let unreachable = connection.state() == State::Closed;
        self.counters.unreachable += u64::from(unreachable);
        self.settle(now, *tuple, connection);
    }

    /// Handles a SYN for which a connection in TIME-WAIT gives way.
    ///
    /// See [`Connection::gives_way_to`](crate::Connection::gives_way_to). A cookie cannot
    /// start beyond the numbers of the old incarnation, so the SYN is dropped if the backlog is full.
    pub fn handle_syn_after(
        &mut self,
        now: Instant,
        endpoints: Endpoints,
        received: Received<P>,
        predecessor: &Predecessor,
    ) {
        let tuple = FourTuple::of_arrival(endpoints, &received.segment);
        self.counters.syns += 1;
        if self.is_accept_queue_full() || !self.make_room() {
            return;
        }
        let config = self.isn.identify(now, &tuple, &self.config.transport);
        let config = predecessor.followed_by(&config);
        self.add_half_open(now, tuple, &config, received, None);
    }

    /// Time of the next call of [`Listener::handle_timeout`]; `None` if nothing is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Processes every timer that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(due, tuple)) = self.timers.first()
            && due <= now
        {
            self.timers.pop_first();
            if let Some(waiting) = self.waiting.get_mut(&tuple) {
                waiting.due = Instant::FAR_FUTURE;
                waiting.connection.handle_timeout(now);
                self.busy.push_back(tuple);
            } else {
                self.retransmit(now, tuple);
            }
        }
    }

    /// Next segment to send, and its addresses.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Endpoints, Segment<P>)> {
        self.assert_invariants();
        if let Some(out) = self.outgoing.pop_front() {
            return Some(out);
        }
        while let Some(tuple) = self.busy.front().copied() {
            if let Some(waiting) = self.waiting.get_mut(&tuple) {
                if let Some(segment) = waiting.connection.poll_transmit(now) {
                    return Some((tuple.endpoints, segment));
                }
                let due = waiting.connection.next_timer();
                let before = core::mem::replace(&mut waiting.due, due);
                self.set_timer(tuple, before, due);
            }
            self.busy.pop_front();
        }
        None
    }

    /// Next connection for the application.
    pub fn poll_accept(&mut self) -> Option<Accepted<P>> {
        let tuple = self.accept_queue.pop_front()?;
        let waiting = self.waiting.remove(&tuple)?;
        self.set_timer(tuple, waiting.due, Instant::FAR_FUTURE);
        self.counters.accepted += 1;
        Some(Accepted {
            tuple,
            connection: waiting.connection,
        })
    }

    fn send(&mut self, tuple: &FourTuple, segment: Segment<P>) {
        if self.outgoing.len() < MOST_WAITING {
            self.outgoing.push_back((tuple.endpoints, segment));
        }
    }

    fn is_accept_queue_full(&mut self) -> bool {
        let full = self.accept_queue.len() >= self.config.accept_backlog.max(1);
        self.counters.accept_overflows += u64::from(full);
        full
    }

    /// Handles a segment of an unknown connection: RST first, then ACK, then SYN. RFC 9293
    /// section 3.10.7.2.
    fn handle_unknown(&mut self, now: Instant, tuple: FourTuple, received: Received<P>) {
        let segment = &received.segment;
        let profile = &self.config.transport.profile;
        let is_ignored = (segment.flags.contains(Flags::SYN | Flags::FIN)
            && profile.defense.drop_syn_fin)
            || (segment.flags.contains(Flags::SYN | Flags::ACK)
                && profile.opening.listener_ignores_syn_ack);
        if segment.flags.contains(Flags::RST) || !tuple.is_between_hosts() || is_ignored {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            let opened =
                !segment.flags.contains(Flags::SYN) && self.open_by_cookie(now, tuple, &received);
            if !opened {
                self.counters.resets += 1;
                let reset = reset_answering(&received.segment);
                self.send(&tuple, reset);
            }
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            self.handle_syn(now, tuple, received);
        }
    }

    fn handle_syn(&mut self, now: Instant, tuple: FourTuple, received: Received<P>) {
        self.counters.syns += 1;
        if self.is_accept_queue_full() {
            return;
        }
        let config = self.isn.identify(now, &tuple, &self.config.transport);
        if self.peers.contains_key(&tuple.remote_address()) {
            if self.make_room() {
                self.add_half_open(now, tuple, &config, received, None);
            }
            return;
        }
        let (verdict, grant) = self.check_fast_open(now, &tuple, &received.segment);
        if verdict {
            self.open_fast(now, tuple, &config, &received, grant);
            return;
        }
        let policy = config.transport.profile.opening.syn_cookies;
        let full = self.half_open.len() >= self.config.backlog;
        if policy == SynCookies::Always || (full && policy == SynCookies::WhenFull) {
            self.send_cookie(now, tuple, &config, &received);
        } else if self.make_room() {
            self.add_half_open(now, tuple, &config, received, grant);
        }
    }

    /// Whether data on this SYN is accepted, and the cookie to grant. RFC 7413 sections
    /// 4.2.2 and 5.1.
    fn check_fast_open(
        &mut self,
        now: Instant,
        tuple: &FourTuple,
        syn: &Segment<P>,
    ) -> (bool, Option<FastOpenCookie>) {
        let profile = &self.config.transport.profile;
        let without_cookie = profile.opening.fast_open_without_cookie;
        if !self.fast_open.serves(profile) {
            return (false, None);
        }
        let Some(offered) = syn.options.fast_open() else {
            let takes = without_cookie && !syn.payload.is_empty();
            return (takes && self.has_fast_open_room(now), None);
        };
        let client = tuple.remote_address();
        let fresh = self.fast_open.cookie(client).in_form_of(offered);
        if offered.is_request() {
            let takes = without_cookie && !syn.payload.is_empty();
            return (takes && self.has_fast_open_room(now), Some(fresh));
        }
        let grant = match self.fast_open.check_cookie(client, offered) {
            CookieValidity::Good => None,
            CookieValidity::Outdated => Some(fresh),
            CookieValidity::Bad if without_cookie => Some(fresh),
            CookieValidity::Bad => {
                self.counters.fast_open_bad += 1;
                return (false, Some(fresh));
            }
        };
        let room = self.has_fast_open_room(now);
        self.counters.fast_open_overflows += u64::from(!room);
        (room, grant)
    }

    fn has_fast_open_room(&mut self, now: Instant) -> bool {
        for _ in 0..self.fast_open_slots.take_resets() {
            self.fast_open_resets.push_back(now + RESET_COUNTS_FOR);
        }
        while self
            .fast_open_resets
            .front()
            .is_some_and(|until| *until <= now)
        {
            self.fast_open_resets.pop_front();
        }
        let used = self.fast_open_slots.pending() + self.fast_open_resets.len();
        used < self.config.fast_open_backlog
    }

    fn open_fast(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        config: &ConnectionConfig,
        received: &Received<P>,
        grant: Option<FastOpenCookie>,
    ) {
        let opened = Connection::accept_fast_open(now, config, received, grant, true);
        let Some(mut connection) = opened else {
            return;
        };
        connection.hold_fast_open_slot(self.fast_open_slots.take());
        self.counters.fast_opens += 1;
        self.counters.syn_acks += 1;
        self.queue(tuple, connection);
    }

    /// Adds a connection to the accept queue.
    fn queue(&mut self, tuple: FourTuple, connection: Connection<P>) {
        let waiting = Waiting {
            connection: Box::new(connection),
            due: Instant::FAR_FUTURE,
        };
        debug_assert!(
            !self.knows(&tuple),
            "{tuple:?} is opened while it is half-open or waits"
        );
        self.waiting.insert(tuple, waiting);
        self.accept_queue.push_back(tuple);
        self.busy.push_back(tuple);
    }

    /// Makes space for one more half-open connection; returns whether there is any.
    fn make_room(&mut self) -> bool {
        if self.half_open.len() < self.config.backlog {
            return true;
        }
        // Those whose timer is next are among the oldest, or were retransmitted often.
        let oldest = self.timers.iter().take(8).find(|(_, tuple)| {
            self.half_open
                .get(tuple)
                .is_some_and(|half| half.retransmissions > 0)
        });
        let Some(&(_, tuple)) = oldest else {
            self.counters.backlog_overflows += 1;
            return false;
        };
        self.remove_half_open(&tuple);
        self.counters.evicted += 1;
        true
    }

    fn remove_half_open(&mut self, tuple: &FourTuple) {
        if let Some(half) = self.half_open.remove(tuple) {
            self.set_timer(*tuple, half.due, Instant::FAR_FUTURE);
        }
    }

    /// Adds a half-open connection and sends its SYN-ACK.
    fn add_half_open(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        config: &ConnectionConfig,
        received: Received<P>,
        grant: Option<FastOpenCookie>,
    ) {
        let mut syn = received.segment;
        let most = usize::from(config.mss());
        if syn.payload.len() > most {
            let _too_much = syn.payload.split_off(most);
            syn.flags = syn.flags.without(Flags::FIN);
        }
        let mut half = HalfOpen {
            syn,
            arrived_at: now,
            iss: config.iss,
            grant,
            retransmissions: 0,
            repeated: None,
            due: Instant::FAR_FUTURE,
        };
        let keys = self.peers.get(&tuple.remote_address());
        let Some(mut connection) = half.begin(&tuple, config, keys) else {
            self.counters.authentication_failed += 1;
            return;
        };
        self.send_all(now, &tuple, &mut connection);
        half.due = connection.next_timer();
        self.set_timer(tuple, Instant::FAR_FUTURE, half.due);
        self.half_open.insert(tuple, half);
    }

    /// Sends the output of a connection that is not stored.
    fn send_all(&mut self, now: Instant, tuple: &FourTuple, connection: &mut Connection<P>) {
        while let Some(segment) = connection.poll_transmit(now) {
            if segment.flags.contains(Flags::SYN | Flags::ACK) {
                self.counters.syn_acks += 1;
                self.put_off(*tuple, connection.next_timer());
            }
            self.send(tuple, segment);
        }
    }

    /// Retransmits a SYN-ACK that was not acknowledged in time.
    fn retransmit(&mut self, now: Instant, tuple: FourTuple) {
        let pressed = 2 * self.half_open.len() > self.config.backlog;
        let Some(half) = self.half_open.get_mut(&tuple) else {
            return;
        };
        half.due = Instant::FAR_FUTURE;
        let config = self.config.identified(&self.isn, &tuple, half.iss);
        let keys = self.peers.get(&tuple.remote_address());
        let Some(mut connection) = half.rebuild(&tuple, &config, keys) else {
            // Keys have been required since.
            self.half_open.remove(&tuple);
            return;
        };
        connection.handle_timeout(now);
        let given_up = connection.state() == State::Closed
            || (pressed && half.retransmissions >= RETRANSMISSIONS_UNDER_PRESSURE);
        if given_up {
            self.counters.expired += 1;
            self.half_open.remove(&tuple);
            return;
        }
        half.retransmissions += 1;
        self.put_off(tuple, connection.next_timer());
        self.counters.retransmissions += 1;
        self.send_all(now, &tuple, &mut connection);
    }

    /// Handles a segment of a half-open connection.
    fn handle_half_open(&mut self, now: Instant, tuple: FourTuple, received: Received<P>) {
        let segment = &received.segment;
        let completes = segment.flags.contains(Flags::ACK)
            && !segment.flags.intersects(Flags::SYN | Flags::RST);
        if completes && self.is_accept_queue_full() {
            if self.config.abort_on_overflow {
                self.counters.resets += 1;
                let reset = reset_answering(segment);
                self.remove_half_open(&tuple);
                self.send(&tuple, reset);
            }
            return;
        }
        if completes && let Some(next) = self.number_after_cookie(now, &tuple, segment) {
            // Later data that overtook the first octet will be retransmitted.
            if segment.seq == next {
                self.remove_half_open(&tuple);
                self.open_by_cookie(now, tuple, &received);
            }
            return;
        }
        let Some(half) = self.half_open.get_mut(&tuple) else {
            return;
        };
        let again = segment.flags.contains(Flags::SYN)
            && !segment.flags.intersects(Flags::ACK | Flags::RST)
            && segment.seq == half.syn.seq;
        let config = self.config.identified(&self.isn, &tuple, half.iss);
        let keys = self.peers.get(&tuple.remote_address());
        let Some(mut connection) = half.rebuild(&tuple, &config, keys) else {
            self.remove_half_open(&tuple);
            return;
        };
        let repeated = Repeated::after(half.repeated, now, segment);
        self.counters.syns += u64::from(again);
        let before = self.counters.syn_acks;
        connection.handle_segment(now, received);
        self.settle(now, tuple, connection);
        // A SYN that is older than the first by its timestamp is not answered.
        if let Some(half) = self.half_open.get_mut(&tuple)
            && again
            && self.counters.syn_acks > before
        {
            half.repeated = Some(repeated);
        }
    }

    /// Stores, queues or drops a half-open connection by its new state.
    fn settle(&mut self, now: Instant, tuple: FourTuple, mut connection: Connection<P>) {
        match connection.state() {
            State::SynReceived => self.send_all(now, &tuple, &mut connection),
            State::Closed => {
                self.remove_half_open(&tuple);
                self.send_all(now, &tuple, &mut connection);
            }
            _ => {
                self.remove_half_open(&tuple);
                self.queue(tuple, connection);
            }
        }
    }

    fn send_cookie(
        &mut self,
        now: Instant,
        tuple: FourTuple,
        config: &ConnectionConfig,
        received: &Received<P>,
    ) {
        let profile = &config.transport.profile;
        let (syn, iss) = self.cookies.encode(now, &tuple, &received.segment, profile);
        let config = ConnectionConfig {
            iss,
            ..config.clone()
        };
        let reduced = Received {
            at: received.at,
            segment: syn,
        };
        let connection = Connection::accept(now, &config, &reduced);
        if let Some(mut syn_ack) = connection.and_then(|mut one| one.poll_transmit(now)) {
            Cookies::mark(&reduced.segment, &mut syn_ack);
            self.counters.syn_acks += 1;
            self.counters.cookies_sent += 1;
            self.cookies_until = now + cookie::LIFE;
            self.send(&tuple, syn_ack);
        }
    }

    /// Number after the client's SYN if its ACK is a cookie. The connection is half-open.
    ///
    /// The SYN came twice: it was answered with a cookie first, and stored the second time. Both
    /// answers are valid, and the client uses the first to arrive (Linux checks in this order
    /// too). The reset of RFC 9293 section 3.10.7.4 for an ACK of data not sent would end a
    /// connection that is open for the client.
    fn number_after_cookie(
        &self,
        now: Instant,
        tuple: &FourTuple,
        segment: &Segment<P>,
    ) -> Option<SeqNumber> {
        let half = self.half_open.get(tuple)?;
        let is_strict = self.peers.contains_key(&tuple.remote_address());
        if now >= self.cookies_until || is_strict || segment.ack == half.iss + 1 {
            return None;
        }
        let seq = half.syn.seq + 1;
        let first = Segment {
            seq,
            ..segment.clone()
        };
        self.cookies.decode(now, tuple, &first).map(|_| seq)
    }

    /// Opens a connection if an ACK of an unknown connection is a SYN cookie. Returns whether no
    /// reset is due.
    fn open_by_cookie(&mut self, now: Instant, tuple: FourTuple, received: &Received<P>) -> bool {
        if now >= self.cookies_until || self.peers.contains_key(&tuple.remote_address()) {
            return false;
        }
        let Some((syn, iss)) = self.cookies.decode(now, &tuple, &received.segment) else {
            self.counters.cookies_bad += 1;
            // Later segments of a client whose first ACK was lost look the same. A reset would
            // end a connection that its retransmission opens. So there is no answer while cookies
            // are valid, against RFC 9293 section 3.10.7.2.
            return true;
        };
        if self.is_accept_queue_full() {
            return !self.config.abort_on_overflow;
        }
        let half = HalfOpen {
            // The departure time of the SYN-ACK is unknown: no RTT sample.
            repeated: Some(Repeated::after(None, now, &syn)),
            syn,
            arrived_at: now,
            iss,
            grant: None,
            retransmissions: 0,
            due: Instant::FAR_FUTURE,
        };
        let config = self.config.identified(&self.isn, &tuple, half.iss);
        let Some(mut connection) = half.rebuild(&tuple, &config, None) else {
            return false;
        };
        connection.handle_segment(now, received.clone());
        if connection.state() == State::SynReceived {
            return false;
        }
        self.counters.cookies_good += 1;
        self.queue(tuple, connection);
        true
    }
}
