//! The loop around network and hosts.
//!
//! Elements are numbered: first the hosts (sender and receiver of each flow), then the sampler,
//! then the starts of flows. The schedule determines the next element to act. After that the
//! appointments of this element and of those it touched are updated. The network has its own
//! schedule; at one instant it acts before all others.

mod others;
mod steps;

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gigatcp_path::{ConfigError, Delivery, DropCause, EventSchedule, Network, Parcel};
use gigatcp_tcp::Connection;
use gigatcp_tcp::events::EventHash;
use gigatcp_units::Instant;
use gigatcp_wire::{Phantom, Segment};

use crate::config::WorldConfig;
use crate::ends::{Ends, Place};
use crate::host::{Host, Socket};
use crate::ledger::{self, End, FlowState, Ledger};
use crate::observe::Sample;
use crate::outcome::{Endpoint, FlowOutcome, Outcome};
use crate::packet::{Content, Packet, headers};
use crate::populate::Population;
use crate::routes::Routes;
use crate::samples::Samples;
use crate::short_flows::ShortFlows;

/// Maximum number of steps at one instant; more are a bug, not a busy instant.
const MAX_STEPS_PER_INSTANT: u32 = 10_000_000;

/// Observer of packets at the hosts' interfaces, e.g. to write a capture.
pub trait Tap {
    /// Handles a packet that passes the interface of a flow's sender or receiver.
    ///
    /// It has a segment, perhaps corrupted, and goes in or out. `at_sender` selects the interface.
    /// ICMP errors are not shown.
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool);

    /// Handles a packet passing from link `hop` (from zero) to the next of its route. By default it
    /// is ignored.
    fn on_hop(&mut self, now: Instant, packet: &Packet, hop: usize) {
        let _ = (now, packet, hop);
    }
}

impl Tap for Vec<Box<dyn Tap + Send>> {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        for tap in self {
            tap.on_packet(now, packet, at_sender);
        }
    }

    fn on_hop(&mut self, now: Instant, packet: &Packet, hop: usize) {
        for tap in self {
            tap.on_hop(now, packet, hop);
        }
    }
}

/// Reason for the end of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// Every flow is finished.
    Finished,
    /// The configured end came first.
    OutOfTime,
    /// A caller requested the stop.
    Interrupted,
}

/// A simulation.
pub struct World {
    config: WorldConfig,
    now: Instant,
    schedule: EventSchedule,
    network: Network<Packet>,
    hosts: Vec<Host>,
    /// The connections, by the numbers that their packets carry.
    connections: Vec<Ends>,
    /// Sources and sinks of datagrams, with the numbers after those.
    datagrams: Vec<Ends>,
    /// Flows that begin during the simulation, with the numbers after those.
    short_flows: ShortFlows,
    unfinished: usize,
    finished_at: Vec<Option<Instant>>,
    samples: Samples,
    /// Accounts of the senders; empty if not requested.
    ledgers: Vec<Ledger>,
    /// IP bytes delivered to each receiver, and to all.
    carried: Vec<u64>,
    carried_in_all: u64,
    hash: EventHash,
    packets: u64,
    out: Vec<Packet>,
    tap: Option<Box<dyn Tap + Send>>,
    /// Whether the path has other flows than a single connection.
    shares_path: bool,
}

impl World {
    /// A simulation at time zero.
    ///
    /// # Errors
    /// If a link, a route or a medium cannot be built.
    pub fn new(config: WorldConfig) -> Result<Self, ConfigError> {
        let Routes { network, of_flow } = Routes::new(&config)?;
        let Population {
            hosts,
            connections,
            datagrams,
            short_flows,
        } = Population::new(&config, &of_flow)?;
        let elements = hosts.len() + 2;
        let flows = connections.len();
        let links = network.links.len();
        let mut world = Self {
            now: Instant::ZERO,
            schedule: EventSchedule::new(elements),
            network: Network::new(network, config.seed)?,
            unfinished: flows,
            finished_at: vec![None; flows],
            samples: Samples::new(
                [flows, links],
                config.observe.sample_step,
                config.observe.record_limit,
            ),
            ledgers: (0..flows)
                .filter(|_| config.observe.account)
                .map(|_| Ledger::new(config.observe.sample_step))
                .collect(),
            carried: vec![0; flows],
            carried_in_all: 0,
            hash: EventHash::default(),
            packets: 0,
            out: Vec::new(),
            tap: None,
            shares_path: flows > 1 || !datagrams.is_empty() || !config.arrivals.is_empty(),
            hosts,
            connections,
            datagrams,
            short_flows,
            config,
        };
        world.begin();
        Ok(world)
    }

    /// Sets the first appointments.
    fn begin(&mut self) {
        for host in 0..self.hosts.len() {
            self.reschedule_host(host);
        }
        let first = self.short_flows.next_timer();
        let element = self.sampler() + 1;
        self.schedule.set(element, first);
        if !self.config.observe.sample_step.is_zero() {
            let sampler = self.sampler();
            self.schedule.set(sampler, Instant::ZERO);
        }
    }

    /// Sets the observer of every packet.
    pub fn set_tap(&mut self, tap: Box<dyn Tap + Send>) {
        self.tap = Some(tap);
        self.network.watch();
    }

    /// Current time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Runs until all flows are finished, the configured end, or until `stop` is true. Writes the
    /// simulated time in nanoseconds to `progress` periodically.
    pub fn run(&mut self, stop: &AtomicBool, progress: &AtomicU64) -> EndReason {
        let ended = self.advance(Instant::FAR_FUTURE, stop, progress);
        ended.unwrap_or(EndReason::OutOfTime)
    }

    /// Runs as [`World::run`] does, but not beyond `until`. Returns `None` if the simulation
    /// continues from there. The events are the same as those of one run to the end.
    pub fn advance(
        &mut self,
        until: Instant,
        stop: &AtomicBool,
        progress: &AtomicU64,
    ) -> Option<EndReason> {
        let end = Instant::ZERO + self.config.end;
        let last = until.min(end);
        let mut steps = 0_u32;
        let mut still = 0_u32;
        while self.unfinished > 0 || self.awaits_others() || self.has_final_segments_in_transit() {
            let (other, element) = self.schedule.first();
            let network = self.network.due();
            let at = network.min(other);
            if at > last || at == Instant::FAR_FUTURE {
                self.now = last.max(self.now);
                return (last == end).then_some(EndReason::OutOfTime);
            }
            debug_assert!(at >= self.now, "time runs backwards");
            still = if at == self.now { still + 1 } else { 0 };
            assert!(still < MAX_STEPS_PER_INSTANT, "time stands still at {at:?}");
            self.now = at;
            if network <= other {
                self.serve_network();
            } else {
                self.act(element);
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(8192) {
                progress.store(self.now.as_nanos(), Ordering::Relaxed);
                if stop.load(Ordering::Relaxed) {
                    return Some(EndReason::Interrupted);
                }
            }
        }
        Some(EndReason::Finished)
    }

    /// Whether the last segments of a failed sender, perhaps a reset, are in transit.
    fn has_final_segments_in_transit(&self) -> bool {
        let mut all = self.connections.iter();
        all.any(|ends| self.socket(ends.places[0]).has_failed())
            && (self.hosts.iter().any(Host::is_sending) || self.network.is_occupied())
    }

    fn sampler(&self) -> usize {
        self.hosts.len()
    }

    #[inline]
    fn act(&mut self, element: usize) {
        if element < self.sampler() {
            self.serve_host(element);
        } else {
            self.act_rarely(element);
        }
    }

    /// Takes samples, or begins flows.
    #[inline(never)]
    fn act_rarely(&mut self, element: usize) {
        match element - self.sampler() {
            0 => self.sample(),
            _ => self.begin_flows(),
        }
    }

    /// Does all that is due in the network. Delivers packets at the end of their route.
    #[inline]
    fn serve_network(&mut self) {
        while self.network.due() <= self.now {
            let packet = self.network.act(self.now);
            self.follow_network();
            if let Some(packet) = packet {
                self.deliver(packet);
            }
        }
    }

    /// Passes a packet to the network.
    #[inline(always)]
    fn enter_network(&mut self, packet: Packet) {
        self.network.handle_arrival_in_time(self.now, packet);
        self.follow_network();
    }

    /// Handles drops and passages inside the network, if there are any.
    #[inline(always)]
    fn follow_network(&mut self) {
        if self.network.has_uncollected() {
            self.follow_dropped_and_passed();
        }
    }

    /// Handles packets that were dropped or that passed from link to link. ICMP errors about them
    /// may reach the sender's host at the same instant.
    #[inline(never)]
    fn follow_dropped_and_passed(&mut self) {
        while let Some(Delivery { parcel, .. }) = self.network.poll_passed() {
            if let Some(tap) = &mut self.tap
                && parcel.sent_segment().is_some()
            {
                tap.on_hop(
                    self.now,
                    &parcel,
                    usize::from(parcel.stage).saturating_sub(1),
                );
            }
        }
        while let Some(dropped) = self.network.poll_known_dropped() {
            self.on_dropped(dropped.link, &dropped.parcel, dropped.cause);
        }
    }

    /// Makes a host act if it is due. An appointment may be early: packets that postpone a timer do
    /// not move it.
    fn serve_host(&mut self, host: usize) {
        if self.hosts[host].next_timer() <= self.now {
            self.hosts[host].handle_timeout(self.now, &mut self.out);
            self.after_host(host, None);
        }
        let at = self.hosts[host].next_timer();
        self.schedule.set(host, at.max(self.now));
    }

    fn on_dropped(&mut self, link: usize, packet: &Packet, cause: DropCause) {
        let notifies_too_big = self.network.reported_mtu(link).is_some();
        if let Some(ledger) = self.ledgers.get_mut(packet.flow as usize)
            && !packet.reverse()
            && let Some(cause) = ledger::cause_of(cause, notifies_too_big)
            && let Some(end) = packet.end_of_data()
        {
            ledger.on_lost(end, cause);
        }
        if self.config.observe.fingerprint {
            self.hash.absorb(self.now.as_nanos());
            self.hash
                .absorb((link as u64) << 32 | (cause.index() as u64 + 1));
            let seq = packet.segment().map_or(0, |segment| segment.seq.as_u32());
            self.hash.absorb(u64::from(seq));
        }
    }

    /// Delivers a packet to its host.
    #[inline(always)]
    fn deliver(&mut self, mut packet: Packet) {
        if let Content::Segment(segment) = &packet.content
            && segment.options.has_rare()
        {
            packet.state_ttl();
        }
        self.packets += packet.wire_packets() as u64;
        let flow = packet.flow as usize;
        let Some(ends) = self.connections.get(flow) else {
            self.deliver_other(packet);
            return;
        };
        let place = ends.places[usize::from(!packet.reverse())];
        if self.shares_path && !packet.reverse() {
            let bytes = packet.ip_bytes();
            self.carried[flow] += bytes;
            self.carried_in_all += bytes;
        }
        let host = place.host as usize;
        self.fingerprint(&packet);
        if self.tap.is_some() {
            self.deliver_watched(place, packet);
        } else {
            self.hosts[host].handle_packet(self.now, place.socket, packet, &mut self.out);
        }
        self.after_host(host, Some(place.socket));
    }

    /// Delivers a packet to its host and shows it to the observer.
    #[inline(never)]
    fn deliver_watched(&mut self, place: Place, packet: Packet) {
        let host = place.host as usize;
        if let Some(tap) = &mut self.tap
            && packet.sent_segment().is_some()
            && !self.hosts[host].has_rings()
        {
            tap.on_packet(self.now, &packet, packet.reverse());
        }
        self.hosts[host].handle_packet(self.now, place.socket, packet, &mut self.out);
    }

    /// Passes packets that a host has sent to the network.
    #[inline]
    fn dispatch(&mut self) {
        if self.tap.is_some() {
            self.show_departures();
        }
        // Usually there is one.
        if self.out.len() == 1
            && let Some(packet) = self.out.pop()
        {
            debug_assert_eq!(packet.stage, 0);
            self.enter_network(packet);
        } else {
            self.dispatch_several();
        }
    }

    #[inline(never)]
    fn dispatch_several(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        for packet in out.drain(..) {
            debug_assert_eq!(packet.stage, 0);
            self.enter_network(packet);
        }
        self.out = out;
    }

    /// Shows packets that a host has sent to the observer.
    #[inline(never)]
    fn show_departures(&mut self) {
        let Some(tap) = &mut self.tap else { return };
        for packet in self.out.iter().filter(|packet| packet.segment().is_some()) {
            tap.on_packet(self.now, packet, !packet.reverse());
        }
    }

    /// Shows packets the driver has taken from its rings, not those the card dropped.
    fn show_taken(&mut self, host: usize) {
        while let Some(packet) = self.hosts[host].poll_taken() {
            if let Some(tap) = &mut self.tap {
                tap.on_packet(self.now, &packet, packet.reverse());
            }
        }
    }

    #[inline]
    fn fingerprint(&mut self, packet: &Packet) {
        if self.config.observe.fingerprint {
            // Flows of a plan need 14 bits (`gigatcp_plan::keys::MAX_FLOWS`).
            let flow = u64::from(packet.flow) << 48 ^ u64::from(packet.flow) >> 16;
            let (numbers, rest) = match &packet.content {
                Content::Segment(segment) => numbers_of(segment),
                Content::Icmp { len, .. } => {
                    (0, u64::from(len - headers(packet.ip.version())) << 16)
                }
                Content::Corrupted(_) | Content::Fragments(_) => {
                    (u64::MAX, packet.ip_bytes() << 16)
                }
                Content::Datagram { datagram, .. } => {
                    (datagram.seq, u64::from(datagram.size) << 16)
                }
            };
            let rest = flow | rest;
            self.hash.absorb(self.now.as_nanos());
            self.hash.absorb(numbers);
            self.hash.absorb(rest);
        }
    }

    /// Handles the effects of a host's action. Its packets leave, and its flows may have ended.
    ///
    /// `received` is the socket for which a packet arrived, if any.
    #[inline]
    fn after_host(&mut self, host: usize, received: Option<u32>) {
        self.show_taken(host);
        if !self.out.is_empty() {
            self.dispatch();
        }
        self.reschedule_host(host);
        while let Some(lost) = self.hosts[host].poll_lost() {
            if let Some(ledger) = self.ledgers.get_mut(lost.flow as usize)
                && !lost.reverse
            {
                ledger.on_lost(lost.end, lost.cause);
            }
        }
        if !self.hosts[host].is_shared() {
            self.after_socket(host, 0, received.is_some());
            return;
        }
        self.after_sockets(host, received);
    }

    /// Handles the effects for all sockets that acted, on a host that has several.
    #[inline(never)]
    fn after_sockets(&mut self, host: usize, received: Option<u32>) {
        while let Some(socket) = self.hosts[host].poll_acted() {
            let flow = self.hosts[host].socket(socket).flow();
            if (flow as usize) < self.connections.len() {
                self.after_socket(host, socket, received == Some(socket));
            } else {
                self.short_flows.after(self.now, flow, &mut self.hosts);
            }
        }
    }

    /// Handles the action of a socket: updates its flow's account. The flow may be over.
    #[inline(always)]
    fn after_socket(&mut self, host: usize, socket: u32, received: bool) {
        let socket = self.hosts[host].socket(socket);
        let flow = socket.flow() as usize;

        let is_over = socket.is_over();
        if !socket.is_reverse()
            && let Some(ledger) = self.ledgers.get_mut(flow)
            && let Some(sender) = socket.connection()
            && ledger.observe(self.now, received, sender)
        {
            self.with_account(flow, |ledger, state| ledger.update(state, received));
        }
        if is_over && self.finished_at[flow].is_none() && self.is_finished(flow) {
            self.take_last_sample(flow);
            self.finished_at[flow] = Some(self.now);
            self.unfinished -= 1;
            self.close_account(flow);
        }
    }

    /// Whether a flow is over.
    ///
    /// It has failed, or everything that either end wrote has been read and the ends that read have
    /// been closed by their peers.
    fn is_finished(&self, flow: usize) -> bool {
        let [sender, receiver] = self.connections[flow]
            .places
            .map(|place| self.socket(place));
        sender.has_failed()
            || receiver.has_failed()
            || (receiver.is_over() && (receiver.written() == 0 || sender.is_over()))
    }

    #[inline]
    fn socket(&self, place: Place) -> &Socket {
        self.hosts[place.host as usize].socket(place.socket)
    }

    fn close_account(&mut self, flow: usize) {
        if !self.ledgers.is_empty() {
            self.with_account(flow, Ledger::finish);
        }
    }

    #[inline(never)]
    fn with_account(&mut self, flow: usize, act: impl FnOnce(&mut Ledger, &FlowState<'_>)) {
        let Ends { places, route, .. } = self.connections[flow];
        let route = usize::from(route);
        let [forward, reverse] = [route, route + 1].map(|at| &self.network.routes()[at].links);
        let state = FlowState {
            now: self.now,
            network: &self.network,
            forward,
            reverse,
            sender: end(&self.hosts, places[0]),
            receiver: end(&self.hosts, places[1]),
            carried: [self.carried[flow], self.carried_in_all],
        };
        act(&mut self.ledgers[flow], &state);
    }

    #[inline]
    fn reschedule_host(&mut self, host: usize) {
        let at = self.hosts[host].next_timer();
        self.schedule.bring_forward(host, at.max(self.now));
    }

    fn sample(&mut self) {
        for flow in 0..self.connections.len() {
            self.sample_sender(flow);
        }
        self.sample_links();
        if self.samples.exceed_limit() {
            self.samples.thin();
            let step = self.samples.step();
            self.ledgers
                .iter_mut()
                .for_each(|ledger| ledger.coarsen(step));
        }
        let next = self.now + self.samples.step();
        let sampler = self.sampler();
        self.schedule.set(sampler, next);
    }

    /// Samples the sender of a flow that is established and not finished.
    fn sample_sender(&mut self, flow: usize) {
        if self.finished_at[flow].is_some() {
            return;
        }
        let [sender, receiver] = self.connections[flow].places;
        if let Some(connection) = connection_at(&self.hosts, sender)
            && connection.established_at().is_some()
        {
            let delivered = self.socket(receiver).meter().total().as_u64();
            let sample = Sample::of(connection, self.now, delivered);
            self.samples.senders[flow].push(sample);
        }
    }

    /// Samples the end of a flow if the last regular sample may be long ago.
    fn take_last_sample(&mut self, flow: usize) {
        if self.samples.longer_step().is_some() {
            self.sample_sender(flow);
        }
    }

    /// Samples all links that can queue; links without a rate never do.
    fn sample_links(&mut self) {
        let now = self.now;
        for link in 0..self.samples.links.len() {
            if self.network.links()[link].config().never_queues() {
                continue;
            }
            let (backlog, sojourns) = self.network.queue_at(now, link);
            let left = sojourns.sum();
            let counters = self.network.links()[link].counters();
            self.samples.links[link].take(now, backlog, left, counters);
        }
    }

    /// Checks that every link and medium conserves packets.
    ///
    /// # Panics
    /// If one does not.
    pub fn check(&self) {
        for link in self.network.links() {
            let counters = link.counters();
            assert!(counters.is_conserved(), "a link made or lost packets");
        }
        for medium in self.network.media() {
            let counters = medium.counters();
            assert!(counters.is_conserved(), "a medium made or lost packets");
        }
    }

    /// Results.
    pub fn outcome(mut self) -> Outcome {
        for flow in 0..self.connections.len() {
            self.take_last_sample(flow);
        }
        for flow in 0..self.ledgers.len() {
            self.close_account(flow);
        }
        let sample_step = self.samples.longer_step();
        let now = self.now;
        let inside = self.datagrams_inside();
        let mut ledgers = self.ledgers.into_iter();
        let mut flows = Vec::new();
        let hosts: Vec<Rc<Host>> = self.hosts.into_iter().map(Rc::new).collect();
        let observed = self.samples.senders.into_iter().zip(self.finished_at);
        for ((samples, finished_at), Ends { flow, places, .. }) in observed.zip(self.connections) {
            let [sender, receiver] = places.map(|place| {
                let host = Rc::clone(&hosts[place.host as usize]);
                Endpoint::new(host, place.socket)
            });
            let finished = ledgers.next().and_then(Ledger::into_finished);
            let (account, limits) = finished.map_or((None, None), |finished| {
                (Some(finished.attribution), finished.limits)
            });
            flows.push(FlowOutcome {
                flow,
                sender,
                receiver,
                samples,
                finished_at,
                limits,
                account,
            });
        }
        let links = 0..self.network.links().len();
        let sojourns = links
            .map(|link| self.network.queue_at(now, link).1.histogram().clone())
            .collect();
        let datagrams = self
            .datagrams
            .iter()
            .map(|ends| others::outcome(ends, &hosts, &inside));
        let max_backlog = self.network.max_backlog().to_vec();
        let (hops, media) = self.network.into_elements();
        Outcome {
            now,
            datagrams: datagrams.collect(),
            most_alive: self.short_flows.most_alive(),
            arrivals: self.short_flows.into_outcomes(),
            flows,
            hosts,
            max_backlog,
            link_samples: self.samples.links,
            sample_step,
            sojourns,
            hops,
            media,
            event_hash: self.hash.finish(),
            packets: self.packets,
        }
    }
}

/// Engine of an end of a flow.
#[inline]
fn connection_at(hosts: &[Host], place: Place) -> Option<&Connection<Phantom>> {
    hosts[place.host as usize].socket(place.socket).connection()
}

/// An end of a flow, for its account.
fn end(hosts: &[Host], place: Place) -> End<'_> {
    End {
        host: &hosts[place.host as usize],
        socket: place.socket,
    }
}

/// Fields of a segment that the fingerprint uses: its numbers, and the rest.
#[inline]
fn numbers_of(segment: &Segment<Phantom>) -> (u64, u64) {
    let numbers = u64::from(segment.seq.as_u32()) << 32 | u64::from(segment.ack.as_u32());
    let rest = u64::from(segment.ecn.bits()) << 62
        | u64::from(segment.flags.bits()) << 36
        | u64::from(segment.payload.len) << 16
        | u64::from(segment.wnd.0);
    (numbers, rest)
}
