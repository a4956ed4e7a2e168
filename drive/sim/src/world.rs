//! The loop, and the way of packets through the world.
//!
//! Elements are numbered: first the hops (forward, then reverse), then the
//! hosts (sender and receiver of each flow), then the sampler, last the medium
//! that hosts share, where there is one. The schedule
//! says who acts next; whoever acts hands packets on, and its own appointment
//! and those of the elements it touched are set anew.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gigatcp_events::EventHash;
use gigatcp_path::{ConfigError, DropCause, Hop, HopConfig, Parcel, SharedMedium};
use gigatcp_tcp::Connection;
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Phantom, Segment};

use crate::config::WorldConfig;
use crate::host::{Host, Socket};
use crate::ledger::{self, End, Ledger, Scene};
use crate::observe::{Samples, Sequence};
use crate::outcome::{Endpoint, FlowOutcome, Outcome};
use crate::packet::{Content, Packet, headers};
use crate::populate::{Place, Population};
use crate::schedule::Schedule;

/// More steps than this without time moving is a fault of ours, not a busy
/// instant.
const MOST_STEPS_AT_ONCE: u32 = 10_000_000;

/// Watches packets at the hosts' doors, e.g. to write a capture.
pub trait Tap {
    /// A packet with a segment passes the door of the flow's sender
    /// (`at_sender`) or receiver, in or out. ICMP errors are not shown.
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool);

    /// A packet passes from the hop with this number to the next of its route,
    /// counted from the sender on the way there and from the receiver on the
    /// way back. Whoever watches the hosts alone need not care.
    fn on_way(&mut self, now: Instant, packet: &Packet, hop: usize) {
        let _ = (now, packet, hop);
    }
}

/// Why a world came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Every flow is finished.
    Finished,
    /// The configured end came first.
    OutOfTime,
    /// Somebody asked to stop.
    Interrupted,
}

/// A simulated world.
pub struct World {
    config: WorldConfig,
    now: Instant,
    schedule: Schedule,
    hops: Vec<Hop<Packet>>,
    forward_hops: usize,
    hosts: Vec<Host>,
    /// Where the ends of each flow are: its sender, its receiver.
    ends: Vec<[Place; 2]>,
    /// The configured flow that each connection belongs to.
    flow_of: Vec<usize>,
    unfinished: usize,
    finished_at: Vec<Option<Instant>>,
    max_backlog: Vec<u64>,
    next_sample: Instant,
    samples: Vec<Samples>,
    sequences: Vec<Option<Sequence>>,
    /// Accounts of the senders; empty if not requested.
    ledgers: Vec<Ledger>,
    /// IP bytes delivered to each receiver, and to all.
    carried: Vec<u64>,
    carried_in_all: u64,
    hash: EventHash,
    packets: u64,
    out: Vec<Packet>,
    tap: Option<Box<dyn Tap + Send>>,
    /// What all hosts send on, before the hops.
    shared: Option<Box<SharedMedium<Packet>>>,
    /// Whether what hosts let go is looked at, or goes to the shared medium.
    looks_at_departures: bool,
}

impl World {
    /// A world at time zero.
    ///
    /// # Errors
    /// When a hop cannot be built.
    pub fn new(mut config: WorldConfig) -> Result<Self, ConfigError> {
        for (direction, name) in [
            (&mut config.forward, "forward wire"),
            (&mut config.reverse, "reverse wire"),
        ] {
            if direction.is_empty() {
                direction.push(shortest_wire(name));
            }
        }
        let all_hops = config.forward.iter().chain(&config.reverse);
        let hops: Vec<_> = all_hops
            .map(|hop| Hop::new(hop.clone(), config.seed))
            .collect::<Result<_, _>>()?;
        let Population {
            hosts,
            ends,
            flow_of,
        } = Population::new(&config)?;
        let shared = shared_medium(&config, hosts.len())?;
        let elements = hops.len() + hosts.len() + 1 + usize::from(shared.is_some());
        let flows = ends.len();
        let mut world = Self {
            now: Instant::ZERO,
            schedule: Schedule::new(elements),
            forward_hops: config.forward.len(),
            unfinished: flows,
            finished_at: vec![None; flows],
            max_backlog: vec![0; hops.len()],
            next_sample: Instant::FAR_FUTURE,
            samples: vec![Samples::default(); flows],
            sequences: flow_of
                .iter()
                .map(|flow| config.flows[*flow].time_sequence)
                .map(|is_kept| is_kept.then(|| Sequence::new(config.end)))
                .collect(),
            ledgers: match config.observe.account {
                true => (0..flows)
                    .map(|_| Ledger::new(config.observe.sample_step))
                    .collect(),
                false => Vec::new(),
            },
            carried: vec![0; flows],
            carried_in_all: 0,
            hash: EventHash::default(),
            packets: 0,
            out: Vec::new(),
            tap: None,
            looks_at_departures: shared.is_some()
                || config.flows.iter().any(|flow| flow.time_sequence),
            shared,
            hops,
            hosts,
            ends,
            flow_of,
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
        if !self.config.observe.sample_step.is_zero() {
            self.next_sample = Instant::ZERO;
            let sampler = self.sampler();
            self.schedule.set(sampler, Instant::ZERO);
        }
    }

    /// Lets `tap` see every packet.
    pub fn set_tap(&mut self, tap: Box<dyn Tap + Send>) {
        self.tap = Some(tap);
        self.looks_at_departures = true;
    }

    /// The current moment.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Runs until every flow is finished, the configured end, or until
    /// `stop` becomes true. Writes the simulated time in nanoseconds to
    /// `progress` now and then.
    pub fn run(&mut self, stop: &AtomicBool, progress: &AtomicU64) -> Ended {
        let end = Instant::ZERO + self.config.end;
        let mut steps = 0_u32;
        let mut still = 0_u32;
        while self.unfinished > 0 || self.has_last_words() {
            let (at, element) = self.schedule.next();
            if at > end || at == Instant::FAR_FUTURE {
                self.now = end;
                return Ended::OutOfTime;
            }
            debug_assert!(at >= self.now, "time runs backwards");
            still = if at == self.now { still + 1 } else { 0 };
            assert!(still < MOST_STEPS_AT_ONCE, "time stands still at {at:?}");
            self.now = at;
            self.act(element);
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(8192) {
                progress.store(self.now.as_nanos(), Ordering::Relaxed);
                if stop.load(Ordering::Relaxed) {
                    return Ended::Interrupted;
                }
            }
        }
        Ended::Finished
    }

    /// Whether a sender has failed and what it said last, a reset perhaps, has
    /// not reached the other side.
    fn has_last_words(&self) -> bool {
        let mut senders = self.ends.iter().map(|[sender, _]| self.socket(*sender));
        senders.any(Socket::has_failed)
            && (self.hosts.iter().any(Host::is_sending)
                || self.hops.iter().any(|hop| !hop.counters().inside.is_zero())
                || self
                    .shared
                    .as_ref()
                    .is_some_and(|s| !s.counters().inside.is_zero()))
    }

    fn sampler(&self) -> usize {
        self.hops.len() + self.hosts.len()
    }

    #[inline]
    fn act(&mut self, element: usize) {
        if element < self.hops.len() {
            self.serve_hop(element);
        } else if element < self.sampler() {
            self.serve_host(element - self.hops.len());
        } else {
            self.act_seldom(element);
        }
    }

    /// The sampler or the shared medium acts.
    #[inline(never)]
    fn act_seldom(&mut self, element: usize) {
        if element == self.sampler() {
            self.sample();
        } else {
            self.serve_shared();
        }
    }

    /// Takes what has come over the shared medium to the hops of its direction.
    fn serve_shared(&mut self) {
        while let Some((_, packet)) = self.shared.as_mut().and_then(|s| s.poll_delivery(self.now)) {
            let first = if packet.reverse { self.forward_hops } else { 0 };
            self.enter_hop(first, packet);
        }
        while let Some((packet, cause)) = self.shared.as_mut().and_then(|s| s.poll_dropped()) {
            self.on_dropped(self.hops.len(), &packet, cause);
        }
        let at = self.shared.as_ref().and_then(|s| s.poll_timeout());
        let element = self.sampler() + 1;
        self.schedule
            .set(element, at.unwrap_or(Instant::FAR_FUTURE));
    }

    /// Hands on everything that has reached the far end of a hop.
    #[inline]
    fn serve_hop(&mut self, hop: usize) {
        loop {
            if let Some(packet) = self.hops[hop].poll_delivery(self.now) {
                self.hand_on(packet);
            }
            let at = self.hops[hop].poll_timeout();
            if at.is_none_or(|at| at > self.now) {
                self.schedule.set(hop, at.unwrap_or(Instant::FAR_FUTURE));
                return;
            }
        }
    }

    /// Lets a host act if it is due. An appointment may be earlier than that:
    /// packets that put it off do not move it.
    fn serve_host(&mut self, host: usize) {
        if self.hosts[host].poll_timeout() <= self.now {
            self.hosts[host].handle_timeout(self.now, &mut self.out);
            self.after_host(host, None);
        }
        let at = self.hosts[host].poll_timeout();
        self.schedule.set(self.hops.len() + host, at.max(self.now));
    }

    /// Takes a packet to the next hop of its route, or to its host.
    #[inline(always)]
    fn hand_on(&mut self, mut packet: Packet) {
        let (first, count) = if packet.reverse {
            (self.forward_hops, self.hops.len() - self.forward_hops)
        } else {
            (0, self.forward_hops)
        };
        let stage = usize::from(packet.stage);
        if stage < count {
            if self.tap.is_some() {
                self.show_way(&packet, stage);
            }
            packet.stage += 1;
            self.enter_hop(first + stage, packet);
        } else {
            self.deliver(packet);
        }
    }

    /// Shows a packet on its way to the hop with the number `stage`.
    #[inline(never)]
    fn show_way(&mut self, packet: &Packet, stage: usize) {
        if let Some(tap) = &mut self.tap
            && packet.segment().is_some()
        {
            tap.on_way(self.now, packet, stage.saturating_sub(1));
        }
    }

    #[inline(always)]
    fn enter_hop(&mut self, hop: usize, packet: Packet) {
        self.hops[hop].handle_arrival(self.now, packet);
        if self.hops[hop].backlog_at_most() > self.max_backlog[hop] {
            let backlog = self.hops[hop].backlog(self.now).packets;
            self.max_backlog[hop] = self.max_backlog[hop].max(backlog);
        }
        while let Some((packet, cause)) = self.hops[hop].poll_dropped() {
            self.on_dropped(hop, &packet, cause);
            if cause == DropCause::TooBig {
                self.tell_too_big(hop, &packet);
            }
        }
        // What joins a queue comes out behind it, but perhaps before what waits
        // beside it.
        if self.schedule.is_free(hop) || self.hops[hop].has_late() {
            self.reschedule_hop(hop);
        }
    }

    /// The router before `hop` tells the sender of `packet` what its link
    /// takes. The error goes back the way the router's place in line suggests:
    /// as many hops as the packet had crossed, the last of the other direction.
    /// Errors cause no errors (RFC 1122 section 3.2.2).
    #[cold]
    fn tell_too_big(&mut self, hop: usize, packet: &Packet) {
        let config = self.hops[hop].config();
        let (Some(mtu), true, Some(segment)) = (config.mtu, config.tells_too_big, packet.segment())
        else {
            return;
        };
        let (crossed, way_back) = if packet.reverse {
            (hop - self.forward_hops, self.forward_hops)
        } else {
            (hop, self.hops.len() - self.forward_hops)
        };
        let stage = way_back - crossed.min(way_back);
        let mtu = u32::try_from(mtu.as_u64()).unwrap_or(u32::MAX);
        self.hand_on(Packet::too_big(packet, segment, mtu, stage as u8));
    }

    fn on_dropped(&mut self, hop: usize, packet: &Packet, cause: DropCause) {
        let config = self.hops.get(hop).map(Hop::config);
        let tells_too_big = config.is_some_and(|config| config.tells_too_big);
        if let Some(ledger) = self.ledgers.get_mut(packet.flow as usize)
            && !packet.reverse
            && let Some(cause) = ledger::cause_of(cause, tells_too_big)
        {
            ledger.on_lost(packet, cause);
        }
        if self.config.observe.fingerprint {
            let cause = match cause {
                DropCause::QueueFull => 1,
                DropCause::HoldLimit => 2,
                DropCause::Loss(_) => 3,
                DropCause::TooBig => 4,
                DropCause::Policed => 5,
                DropCause::Collisions => 6,
                DropCause::Aqm => 7,
            };
            self.hash.absorb(self.now.as_nanos());
            self.hash.absorb((hop as u64) << 32 | cause);
            let seq = packet.segment().map_or(0, |segment| segment.seq.as_u32());
            self.hash.absorb(u64::from(seq));
        }
    }

    /// A packet reaches its host.
    #[inline(always)]
    fn deliver(&mut self, packet: Packet) {
        self.packets += packet.wire_packets() as u64;
        if !packet.reverse && self.carried.len() > 1 {
            let bytes = packet.ip_bytes();
            self.carried[packet.flow as usize] += bytes;
            self.carried_in_all += bytes;
        }
        let place = self.ends[packet.flow as usize][usize::from(!packet.reverse)];
        let host = place.host as usize;
        self.fingerprint(&packet);
        if self.tap.is_some() || self.sequences[packet.flow as usize].is_some() {
            self.deliver_watched(place, packet);
        } else {
            self.hosts[host].handle_packet(self.now, place.socket, packet, &mut self.out);
        }
        self.after_host(host, Some(place.socket));
    }

    /// A packet reaches its host, and somebody watches.
    #[inline(never)]
    fn deliver_watched(&mut self, place: Place, packet: Packet) {
        let host = place.host as usize;
        let flow = packet.flow as usize;
        if let Some(tap) = &mut self.tap
            && packet.segment().is_some()
            && self.hosts[host].rings().is_none()
        {
            tap.on_packet(self.now, &packet, packet.reverse);
        }
        let watched = packet.reverse && self.sequences[packet.flow as usize].is_some();
        let seen = watched.then(|| packet.segment().cloned()).flatten();
        self.hosts[host].handle_packet(self.now, place.socket, packet, &mut self.out);
        if let Some(segment) = seen {
            self.note_ack(flow, &segment);
        }
    }

    /// Sends what a host has let go on its way.
    #[inline]
    fn dispatch(&mut self, host: usize) {
        if self.looks_at_departures {
            self.show_departures(host);
        }
        let mut out = std::mem::take(&mut self.out);
        for packet in out.drain(..) {
            let first = if packet.reverse { self.forward_hops } else { 0 };
            self.enter_hop(first, packet);
        }
        self.out = out;
    }

    /// The tap and time-sequence data see what a host has let go; a shared medium takes
    /// it.
    #[inline(never)]
    fn show_departures(&mut self, host: usize) {
        let out = std::mem::take(&mut self.out);
        for packet in &out {
            if !packet.reverse {
                self.note_sent(packet.flow as usize, packet);
            }
            if let Some(tap) = &mut self.tap {
                tap.on_packet(self.now, packet, !packet.reverse);
            }
        }
        self.out = out;
        if let Some(shared) = &mut self.shared {
            for packet in self.out.drain(..) {
                shared.handle_arrival(self.now, host, packet);
            }
            self.serve_shared();
        }
    }

    /// A host with rings sees what its driver has taken up, not what the card
    /// dropped.
    fn show_taken(&mut self, host: usize) {
        while let Some(packet) = self.hosts[host].poll_taken() {
            if let Some(tap) = &mut self.tap {
                tap.on_packet(self.now, &packet, packet.reverse);
            }
        }
    }

    #[inline]
    fn fingerprint(&mut self, packet: &Packet) {
        if self.config.observe.fingerprint {
            // Flows need 14 bits (`gigatcp_plan::keys::MOST_FLOWS`).
            let flow = u64::from(packet.flow) << 48;
            let (numbers, rest) = match &packet.content {
                Content::Segment(segment) => numbers_of(segment),
                Content::Icmp { len, .. } => (0, u64::from(len - headers(packet.ip)) << 16),
            };
            let rest = flow | rest;
            self.hash.absorb(self.now.as_nanos());
            self.hash.absorb(numbers);
            self.hash.absorb(rest);
        }
    }

    fn note_sent(&mut self, flow: usize, packet: &Packet) {
        if let Some(sequence) = &mut self.sequences[flow]
            && let Some(connection) = connection_at(&self.hosts, self.ends[flow][0])
            && let Some(segment) = packet.segment()
        {
            sequence.on_sent(self.now, segment, &connection.info());
        }
    }

    fn note_ack(&mut self, flow: usize, segment: &Segment<Phantom>) {
        if let Some(sequence) = &mut self.sequences[flow]
            && let Some(connection) = connection_at(&self.hosts, self.ends[flow][0])
        {
            sequence.on_ack(self.now, segment, &connection.info());
        }
    }

    /// A host has acted, perhaps because something arrived for a socket (`heard`): what
    /// it let go leaves, and its flows may have ended.
    #[inline]
    fn after_host(&mut self, host: usize, heard: Option<u32>) {
        self.show_taken(host);
        if !self.out.is_empty() {
            self.dispatch(host);
        }
        self.reschedule_host(host);
        while let Some(lost) = self.hosts[host].poll_lost() {
            if let Some(ledger) = self.ledgers.get_mut(lost.flow as usize)
                && !lost.reverse
            {
                ledger.on_lost_before(lost.end, lost.cause);
            }
        }
        if !self.hosts[host].is_shared() {
            self.after_socket(host, 0, heard.is_some());
            return;
        }
        while let Some(socket) = self.hosts[host].poll_acted() {
            self.after_socket(host, socket, heard == Some(socket));
        }
    }

    /// A socket has acted: the account of its flow learns it, and the flow may be over.
    #[inline(always)]
    fn after_socket(&mut self, host: usize, socket: u32, heard: bool) {
        let socket = self.hosts[host].socket(socket);
        let flow = socket.flow() as usize;
        let is_over = socket.is_over();
        if !socket.is_reverse()
            && let Some(ledger) = self.ledgers.get_mut(flow)
            && let Some(sender) = socket.connection()
            && ledger.observe(self.now, heard, sender)
        {
            self.with_account(flow, |ledger, scene| ledger.turn(scene, heard));
        }
        if is_over && self.finished_at[flow].is_none() && self.is_finished(flow) {
            self.finished_at[flow] = Some(self.now);
            self.unfinished -= 1;
            self.close_account(flow);
        }
    }

    /// Whether a flow is over: it has failed, or everything that either end wrote has
    /// been read and the ends that read have been closed by their peers.
    fn is_finished(&self, flow: usize) -> bool {
        let [sender, receiver] = self.ends[flow].map(|place| self.socket(place));
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
    fn with_account(&mut self, flow: usize, act: impl FnOnce(&mut Ledger, &Scene<'_>)) {
        let (forward, reverse) = self.hops.split_at(self.forward_hops);
        let scene = Scene {
            now: self.now,
            forward,
            reverse,
            shared: self.shared.as_deref(),
            sender: end(&self.hosts, self.ends[flow][0]),
            receiver: end(&self.hosts, self.ends[flow][1]),
            carried: [self.carried[flow], self.carried_in_all],
        };
        act(&mut self.ledgers[flow], &scene);
    }

    #[inline]
    fn reschedule_hop(&mut self, hop: usize) {
        let at = self.hops[hop].poll_timeout().unwrap_or(Instant::FAR_FUTURE);
        self.schedule.set(hop, at);
    }

    #[inline]
    fn reschedule_host(&mut self, host: usize) {
        let at = self.hosts[host].poll_timeout();
        let host = self.hops.len() + host;
        self.schedule.bring_forward(host, at.max(self.now));
    }

    fn sample(&mut self) {
        for flow in 0..self.samples.len() {
            let [sender, receiver] = self.ends[flow];
            let delivered = self.socket(receiver).meter().total().as_u64();
            if let Some(connection) = connection_at(&self.hosts, sender)
                && connection.established_at().is_some()
                && self.finished_at[flow].is_none()
            {
                self.samples[flow].take(self.now, connection, delivered);
            }
        }
        self.next_sample += self.config.observe.sample_step;
        let sampler = self.sampler();
        self.schedule.set(sampler, self.next_sample);
    }

    /// Checks what must hold at any moment: every hop conserves packets, no
    /// receiver has read what was not written.
    ///
    /// # Panics
    /// When it does not hold.
    pub fn check(&self) {
        for hop in &self.hops {
            assert!(hop.counters().is_conserved(), "a hop made or lost packets");
        }
        if let Some(shared) = &self.shared {
            let counters = shared.counters();
            assert!(counters.is_conserved(), "a medium made or lost packets");
        }
    }

    /// What came out.
    #[must_use]
    pub fn outcome(mut self) -> Outcome {
        for flow in 0..self.ledgers.len() {
            self.close_account(flow);
        }
        let now = self.now;
        let mut ledgers = self.ledgers.into_iter();
        let mut flows = Vec::new();
        let hosts: Vec<Rc<Host>> = self.hosts.into_iter().map(Rc::new).collect();
        let observed = self.samples.into_iter().zip(self.sequences);
        let observed = observed
            .zip(self.finished_at)
            .zip(self.ends)
            .zip(self.flow_of);
        for ((((samples, sequence), finished_at), places), flow) in observed {
            let [sender, receiver] = places.map(|place| {
                let host = Rc::clone(&hosts[place.host as usize]);
                Endpoint::new(host, place.socket)
            });
            let closed = ledgers.next().and_then(Ledger::into_closed);
            let (account, limits) =
                closed.map_or((None, None), |closed| (Some(closed.settled), closed.limits));
            flows.push(FlowOutcome {
                flow,
                sender,
                receiver,
                samples,
                sequence,
                finished_at,
                limits,
                account,
            });
        }
        Outcome {
            now,
            flows,
            hosts,
            hops: self.hops,
            shared: self.shared,
            max_backlog: self.max_backlog,
            event_hash: self.hash.finish(),
            packets: self.packets,
        }
    }
}

/// The engine of an end of a flow.
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

/// What the fingerprint takes of a segment: its numbers, and the rest.
#[inline]
fn numbers_of(segment: &Segment<Phantom>) -> (u64, u64) {
    let numbers = u64::from(segment.seq.as_u32()) << 32 | u64::from(segment.ack.as_u32());
    let rest = u64::from(segment.ecn.bits()) << 62
        | u64::from(segment.flags.bits()) << 36
        | u64::from(segment.payload.len) << 16
        | u64::from(segment.wnd.0);
    (numbers, rest)
}

/// The medium that `hosts`, senders and receivers in turn, share.
fn shared_medium(
    config: &WorldConfig,
    hosts: usize,
) -> Result<Option<Box<SharedMedium<Packet>>>, ConfigError> {
    let Some(shared) = &config.shared else {
        return Ok(None);
    };
    let pair = [shared.sender_recovery, shared.receiver_recovery];
    let recoveries: Vec<Duration> = pair.into_iter().cycle().take(hosts).collect();
    let medium = SharedMedium::new(shared.medium.clone(), &recoveries, config.seed)?;
    Ok(Some(Box::new(medium)))
}

/// Stands where a direction has no hop: a wire still takes a nanosecond, so
/// that no instant holds a whole round trip.
fn shortest_wire(name: &str) -> HopConfig {
    HopConfig {
        name: name.into(),
        one_way_delay: Duration::from_nanos(1),
        ..HopConfig::default()
    }
}
