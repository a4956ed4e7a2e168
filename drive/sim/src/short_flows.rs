//! Flows that begin during a simulation, and end.
//!
//! The number of such a flow, which its packets carry, is never used again. So a late packet finds
//! no flow instead of another one. Only flows that are alive need memory: the results of a finished
//! flow are added to those of its process.
//!
//! A flow is over when its receiver has read everything. It is removed when both connections are
//! closed. The sender's may then be in TIME-WAIT, waiting for old duplicates, of which none is left
//! that would be answered.

use std::collections::BTreeMap;

use gigatcp_app::reader::Sink;
use gigatcp_app::report::Times;
use gigatcp_app::{Arrivals, Stop, Writer};
use gigatcp_units::random::mix;
use gigatcp_units::{Bytes, Instant};
use gigatcp_wire::SeqNumber;

use crate::config::{FlowConfig, WorldConfig};
use crate::ends::{Ends, Place, socket_config};
use crate::host::Host;

/// Results of the flows of one process of arrivals.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ArrivalsOutcome {
    /// Flows that began.
    pub flows: u64,
    /// Bytes of the flows whose receiver had read everything.
    pub bytes: Bytes,
    /// Segments that the senders retransmitted.
    pub retransmitted: u64,
    /// Times from the start of each flow until its receiver had read everything.
    pub completion_times: Times,
}

/// A process of arrivals.
#[derive(Debug)]
struct Process {
    flow: FlowConfig,
    arrivals: Arrivals,
    /// Start time and size of the next flow.
    next: Option<(Instant, Bytes)>,
    hosts: [u32; 2],
    route: u16,
    /// Whether the simulation waits for its flows to end.
    is_awaited: bool,
    outcome: ArrivalsOutcome,
}

impl Process {
    fn advance(&mut self) {
        let start = self.flow.start;
        let next = self.arrivals.next();
        self.next = next.map(|flow| (flow.at + start, flow.size));
    }
}

/// A flow that has begun and is not removed.
#[derive(Clone, Copy, Debug)]
struct Live {
    ends: Ends,
    /// Number of its process.
    process: u32,
    began_at: Instant,
    size: Bytes,
    is_complete: bool,
}

/// The flows of all processes.
#[derive(Default, Debug)]
pub(crate) struct ShortFlows {
    /// Number of the next flow.
    next: u32,
    seed: u64,
    processes: Vec<Process>,
    /// The flows that are alive, by their numbers.
    alive: BTreeMap<u32, Live>,
    /// Number of flows and processes that the simulation waits for.
    awaited: usize,
    most_alive: usize,
}

impl ShortFlows {
    /// Processes with their hosts and routes; flows are numbered from `first`.
    pub(crate) fn new(
        config: &WorldConfig,
        first: u32,
        processes: Vec<(&FlowConfig, [u32; 2], u16)>,
    ) -> Self {
        let mut all = Self {
            next: first,
            seed: config.seed,
            ..Self::default()
        };
        for (flow, hosts, route) in processes {
            let made = flow
                .application
                .as_ref()
                .and_then(|made| made.arrivals(config.seed, &flow.name))
                .expect("an application of the kind arrivals");
            // Other flows determine the end of the simulation.
            let is_awaited = made.is_finite() || config.flows.is_empty();
            let mut process = Process {
                flow: flow.clone(),
                arrivals: made,
                next: None,
                hosts,
                route,
                is_awaited,
                outcome: ArrivalsOutcome::default(),
            };
            process.advance();
            all.awaited += usize::from(is_awaited && process.next.is_some());
            all.processes.push(process);
        }
        all
    }

    /// When the next flow begins.
    pub(crate) fn next_timer(&self) -> Instant {
        let next = self.processes.iter().filter_map(|process| process.next);
        next.map(|(at, _)| at).min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Whether the simulation waits for a flow to begin or to end.
    #[inline]
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited > 0
    }

    /// Begins a flow that is due at `now`; returns the numbers of its hosts.
    pub(crate) fn begin_next(&mut self, now: Instant, hosts: &mut [Host]) -> Option<[u32; 2]> {
        let due = |process: &Process| process.next.is_some_and(|(at, _)| at <= now);
        let index = self.processes.iter().position(due)?;
        let number = self.next;
        self.next += 1;
        let process = &mut self.processes[index];
        let (_, size) = process.next?;
        process.advance();
        // The process itself is awaited until its last flow has begun.
        if process.is_awaited {
            self.awaited += usize::from(process.next.is_some());
        }
        process.outcome.flows += 1;
        let live = Live {
            ends: open(process, (now, size), number, self.seed, hosts),
            process: index as u32,
            began_at: now,
            size,
            is_complete: false,
        };
        let hosts = process.hosts;
        self.alive.insert(number, live);
        self.most_alive = self.most_alive.max(self.alive.len());
        Some(hosts)
    }

    /// Ends of the flow with this number; `None` if it was removed.
    pub(crate) fn ends(&self, flow: u32) -> Option<Ends> {
        Some(self.alive.get(&flow)?.ends)
    }

    /// Completes or removes a flow, after one of its ends has acted at `now`.
    pub(crate) fn after(&mut self, now: Instant, flow: u32, hosts: &mut [Host]) {
        let Some(live) = self.alive.get_mut(&flow) else {
            return;
        };
        let process = &mut self.processes[live.process as usize];
        let outcome = &mut process.outcome;
        let places = live.ends.places;
        let [sender, receiver] =
            places.map(|place| hosts[place.host as usize].socket(place.socket));
        let has_failed = sender.has_failed() || receiver.has_failed();
        if !live.is_complete && receiver.is_over() && !has_failed {
            live.is_complete = true;
            outcome.bytes += live.size;
            let time = now.saturating_since(live.began_at);
            outcome.completion_times.add(time);
        }
        let is_closed = sender.is_closed() && receiver.is_closed();
        // A reader that pauses may have something to read from a closed connection.
        if !(has_failed || is_closed && live.is_complete) {
            return;
        }
        let is_busy = |place: &Place| hosts[place.host as usize].is_busy_with(place.socket);
        if places.iter().any(is_busy) {
            return;
        }
        let counters = sender.connection().map(|connection| connection.counters());
        let retransmitted = counters.map_or(0, |counters| counters.retransmitted_segments);
        outcome.retransmitted += retransmitted;
        self.awaited -= usize::from(process.is_awaited);
        for place in places {
            hosts[place.host as usize].remove_socket(place.socket);
        }
        self.alive.remove(&flow);
    }

    /// Largest number of flows that were alive simultaneously.
    pub(crate) fn most_alive(&self) -> usize {
        self.most_alive
    }

    /// Results of each process.
    pub(crate) fn into_outcomes(self) -> Vec<ArrivalsOutcome> {
        let processes = self.processes.into_iter();
        processes.map(|process| process.outcome).collect()
    }
}

/// Opens the connection of a flow with this number.
fn open(
    process: &mut Process,
    (now, size): (Instant, Bytes),
    number: u32,
    seed: u64,
    hosts: &mut [Host],
) -> Ends {
    let flow = &mut process.flow;
    let iss = mix(seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    flow.sender.tcp.iss = SeqNumber::new((iss >> 32) as u32);
    flow.receiver.tcp.iss = SeqNumber::new(iss as u32);
    // Ports of the dynamic range (RFC 6335).
    flow.sender.tcp.local_port = 49_152 + (number % 16_384) as u16;
    let read_size = flow.receiver.reader.read_size;
    let writer = Box::new(Writer::new(Stop::Bytes(size), None));
    let sink = flow.receiver.reader.gate(Box::new(Sink::new(read_size)));
    let route = process.route;
    let mut place = |end: usize, application| {
        let host = process.hosts[end];
        let mut socket = socket_config(flow, number, route + end as u16);
        socket.opens_at = socket.opens_at.map(|_| now);
        let one = &mut hosts[host as usize];
        let program = one.add_application(application);
        let socket = one.add_socket(&socket, program, 0);
        Place { host, socket }
    };
    let places = [place(0, writer), place(1, sink)];
    Ends {
        flow: number as usize,
        places,
        route,
    }
}
