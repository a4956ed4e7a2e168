//! Calls of one client over several connections to one server.
//!
//! Calls come into being by a law of their own, wait in the client's queue for a
//! connection that is free, and are answered by one server with one worker
//! (`dialog.rs`). The response time is from the moment a call comes into
//! being to the last octet of its answer, so it includes the wait at the client.
//!
//! Calls come into being
//!
//! * at fixed distances `every`, or exponential ones with `poisson`, whether or not
//!   others were answered (an open loop);
//! * with `timer`: for each connection, `every` after its last answer (a closed loop of
//!   as many callers as connections).
//!
//! With a `timeout` a call that was not answered in time is sent once more on the next
//! free connection, after each timeout, without backoff: the way of RPC and DNS over
//! networks that lose packets. The first answer counts; the server works for all.
//!
//! **`rate_based`** is the answer to that for protocols without a window: the client
//! releases calls at a rate `r`, which grows like a congestion window and is reduced
//! like one:
//!
//! ```text
//! r <- r + gain / r     at every answer: `gain` calls/s more each second    (1)
//! r <- r / 2            after a timeout, at most once in a timeout          (2)
//! ```
//!
//! It starts with one call per timeout, and never goes below one call in 64 timeouts.
//! Equations (1) and (2) are additive increase and multiplicative decrease (Chiu and
//! Jain 1989) of a rate; the constants are ours.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use gigatcp_units::settings::{Parameter, Settings};
use gigatcp_units::{Bytes, Duration, Instant};

use crate::application::{Application, Role};
use crate::dialog::{
    ANSWER, COUNT, EXPONENTIAL_SIZES, EXPONENTIAL_WORK, End, FOR, REQUEST, Server, Sizes, WORK,
    purpose, times,
};
use crate::draws::Draws;
use crate::registry::{Build, Entry, Make};
use crate::report::Report;

/// The registry's entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "rpc",
    summary: "calls over several connections to one server, at fixed times, random or by timer",
    parameters: &[
        CONNECTIONS,
        DEPTH,
        EVERY,
        POISSON,
        TIMER,
        TIMEOUT,
        RATE_BASED,
        GAIN,
        REQUEST,
        ANSWER,
        WORK,
        EXPONENTIAL_WORK,
        EXPONENTIAL_SIZES,
        COUNT,
        FOR,
    ],
    make: Make::Stream(|build, role| match role {
        Role::Client => Box::new(Client::new(build)),
        Role::Server => Box::new(Server::new(build, connections(build.settings), true)),
    }),
};

const CONNECTIONS: Parameter =
    Parameter::count("connections", Some(1), 10_000, "connections to the server");
const DEPTH: Parameter = Parameter::count(
    "depth",
    Some(1),
    1_000_000,
    "calls that a connection carries at a time",
);
const EVERY: Parameter = Parameter::time(
    "every",
    Some(Duration::from_millis(100)),
    "mean time between calls; with `timer`, from an answer to the next call",
);
const POISSON: Parameter = Parameter::flag("poisson", "times between calls are exponential");
const TIMER: Parameter = Parameter::flag(
    "timer",
    "each connection's next call comes after its last answer",
);
const TIMEOUT: Parameter = Parameter::time(
    "timeout",
    None,
    "a call without an answer is repeated after this time; off: never",
);
const RATE_BASED: Parameter = Parameter::flag(
    "rate_based",
    "calls leave at a rate that answers raise and timeouts halve",
);
const GAIN: Parameter = Parameter::number(
    "gain",
    Some(1.0),
    (1e-9, 1e9),
    "growth of that rate, in calls/s per second",
);

/// The timeout of a client that needs one and has none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);

/// Timeouts between two calls at the smallest rate.
const SLOWEST: f64 = 64.0;

/// The number of connections.
pub(crate) fn connections(settings: &Settings) -> u32 {
    u32::try_from(settings.whole(&CONNECTIONS)).unwrap_or(u32::MAX)
}

/// The end that calls.
#[derive(Clone, PartialEq, Debug)]
struct Client {
    sockets: Vec<Socket>,
    depth: u64,
    arrivals: Draws,
    /// Whether calls come into being by answers.
    is_closed_loop: bool,
    timeout: Option<Duration>,
    pace: Option<Pace>,
    end: End,
    began_at: Option<Instant>,
    /// When calls come into being: one moment, or one per caller in a closed loop.
    next_at: Vec<Instant>,
    /// Calls that wait for a free connection, and whether each was sent before.
    waiting: VecDeque<(u64, bool)>,
    /// Calls without an answer: when each came into being.
    open: BTreeMap<u64, Instant>,
    /// When to look for the answers of calls that were sent, oldest first.
    deadlines: VecDeque<(Instant, u64)>,
    report: Report,
}

#[derive(Clone, PartialEq, Debug)]
struct Socket {
    sizes: Sizes,
    is_open: bool,
    to_write: u64,
    /// Calls that it carries: the number, and octets of the answer that are missing.
    calls: VecDeque<(u64, u64)>,
}

/// The rate at which calls leave.
#[derive(Clone, PartialEq, Debug)]
struct Pace {
    /// Calls per second.
    rate: f64,
    gain: f64,
    timeout: Duration,
    next_at: Instant,
    reduced_at: Instant,
}

impl Pace {
    fn new(gain: f64, timeout: Duration) -> Self {
        Self {
            rate: 1.0 / timeout.as_secs_f64(),
            gain,
            timeout,
            next_at: Instant::ZERO,
            reduced_at: Instant::ZERO,
        }
    }

    fn on_released(&mut self, now: Instant) {
        self.next_at = now + Duration::from_secs_f64(1.0 / self.rate);
    }

    /// Equation (1).
    fn on_answered(&mut self) {
        debug_assert!(
            self.rate > 0.0 && self.rate.is_finite(),
            "calls leave at a rate: {}",
            self.rate
        );
        self.rate += self.gain / self.rate;
    }

    /// Equation (2).
    fn on_timeout(&mut self, now: Instant) {
        if now < self.reduced_at + self.timeout {
            return;
        }
        self.reduced_at = now;
        let least = 1.0 / (SLOWEST * self.timeout.as_secs_f64());
        self.rate = (self.rate / 2.0).max(least);
    }
}

impl Client {
    fn new(build: &Build<'_>) -> Self {
        let settings = build.settings;
        let connections = connections(settings);
        let is_closed_loop = settings.flag(&TIMER);
        let timeout = settings.maybe_time(&TIMEOUT);
        let socket = |number: u32| Socket {
            sizes: Sizes::new(build, number),
            is_open: false,
            to_write: 0,
            calls: VecDeque::new(),
        };
        let is_paced = settings.flag(&RATE_BASED);
        let timeout = timeout.or(is_paced.then_some(DEFAULT_TIMEOUT));
        let pace = |timeout| Pace::new(settings.number(&GAIN), timeout);
        Self {
            sockets: (0..connections).map(socket).collect(),
            depth: settings.whole(&DEPTH),
            arrivals: times(build, &EVERY, &POISSON, purpose::ARRIVAL),
            is_closed_loop,
            pace: timeout.filter(|_| is_paced).map(pace),
            timeout,
            end: End::new(build),
            began_at: None,
            next_at: Vec::new(),
            waiting: VecDeque::new(),
            open: BTreeMap::new(),
            deadlines: VecDeque::new(),
            report: Report::default(),
        }
    }

    /// Calls come into being whose time has come.
    fn create(&mut self, now: Instant) {
        let Some(began_at) = self.began_at else {
            return;
        };
        for caller in 0..self.next_at.len() {
            while self.next_at[caller] <= now {
                let at = self.next_at[caller];
                if !self.end.allows(self.report.requests, began_at, at) {
                    self.next_at.clear();
                    return;
                }
                self.open.insert(self.report.requests, at);
                self.waiting.push_back((self.report.requests, false));
                self.report.requests += 1;
                self.next_at[caller] = match self.is_closed_loop {
                    true => Instant::FAR_FUTURE,
                    false => self.arrivals.next_after(at),
                };
            }
        }
    }

    /// Calls leave as far as connections and rate allow.
    fn release(&mut self, now: Instant) {
        while let Some(&(call, was_sent)) = self.waiting.front() {
            if !self.open.contains_key(&call) {
                self.waiting.pop_front();
                continue;
            }
            if self.pace.as_ref().is_some_and(|pace| pace.next_at > now) {
                break;
            }
            let sockets = self.sockets.iter_mut().filter(|socket| socket.is_open);
            let Some(socket) = sockets.min_by_key(|socket| socket.calls.len()) else {
                break;
            };
            if socket.calls.len() as u64 >= self.depth {
                break;
            }
            self.waiting.pop_front();
            self.report.repeated += u64::from(was_sent);
            let (request, answer) = socket.sizes.next();
            socket.to_write += request;
            socket.calls.push_back((call, answer));
            if let Some(pace) = &mut self.pace {
                pace.on_released(now);
            }
            if let Some(timeout) = self.timeout {
                debug_assert!(
                    self.deadlines
                        .back()
                        .is_none_or(|last| last.0 <= now + timeout),
                    "the oldest deadline is first: {:?}",
                    self.deadlines.back()
                );
                self.deadlines.push_back((now + timeout, call));
            }
        }
        debug_assert_eq!(
            self.report.answered + self.open.len() as u64,
            self.report.requests,
            "each call is open or answered"
        );
        self.report.max_waiting = self.report.max_waiting.max(self.waiting.len() as u64);
    }

    /// Calls without an answer in time are repeated, before all others.
    fn expire(&mut self, now: Instant) {
        while let Some(&(at, call)) = self.deadlines.front()
            && at <= now
        {
            self.deadlines.pop_front();
            if self.open.contains_key(&call) {
                self.waiting.push_front((call, true));
                if let Some(pace) = &mut self.pace {
                    pace.on_timeout(now);
                }
            }
        }
    }

    /// The answer to a call is complete.
    fn on_answered(&mut self, now: Instant, call: u64) {
        if let Some(since) = self.open.remove(&call) {
            self.report.answered += 1;
            self.report.response_times.add(now.saturating_since(since));
            if let Some(pace) = &mut self.pace {
                pace.on_answered();
            }
            // Every open call is a caller whose next call has no time yet.
            let mut callers = self.next_at.iter_mut();
            if self.is_closed_loop
                && let Some(next) = callers.find(|at| **at == Instant::FAR_FUTURE)
            {
                *next = self.arrivals.next_after(now);
            }
        }
        // Nothing is left to look for where the answer has come.
        while self
            .deadlines
            .front()
            .is_some_and(|(_, call)| !self.open.contains_key(call))
        {
            self.deadlines.pop_front();
        }
    }

    /// Whether no more calls come into being and all were answered.
    fn is_done(&self) -> bool {
        self.began_at.is_some() && self.next_at.is_empty() && self.open.is_empty()
    }
}

impl Application for Client {
    fn sockets(&self) -> u32 {
        self.sockets.len() as u32
    }

    fn handle_opened(&mut self, now: Instant, socket: u32) {
        self.sockets[socket as usize].is_open = true;
        if self.began_at.is_none() {
            self.began_at = Some(now);
            let callers = if self.is_closed_loop {
                self.sockets.len()
            } else {
                1
            };
            self.next_at = (0..callers)
                .map(|_| self.arrivals.next_after(now))
                .collect();
        }
        self.release(now);
    }

    fn handle_read(&mut self, now: Instant, socket: u32, octets: u64) {
        self.report.read += Bytes::new(octets);
        let mut left = octets;
        while left > 0
            && let Some((call, missing)) = self.sockets[socket as usize].calls.front_mut()
        {
            let taken = left.min(*missing);
            *missing -= taken;
            left -= taken;
            if *missing == 0 {
                let call = *call;
                self.sockets[socket as usize].calls.pop_front();
                self.on_answered(now, call);
            }
        }
        self.release(now);
        self.create(now);
    }

    fn handle_written(&mut self, _now: Instant, socket: u32, octets: u64) {
        self.report.written += Bytes::new(octets);
        self.sockets[socket as usize].to_write -= octets;
    }

    fn handle_peer_closed(&mut self, now: Instant, socket: u32, _unread: u64) {
        self.sockets[socket as usize].is_open = false;
        self.release(now);
    }

    /// Calls that the connection carried wait for another one.
    fn handle_failed(&mut self, now: Instant, socket: u32) {
        self.report.failures += 1;
        let socket = &mut self.sockets[socket as usize];
        socket.is_open = false;
        socket.to_write = 0;
        while let Some((call, _)) = socket.calls.pop_back() {
            self.waiting.push_front((call, true));
        }
        self.release(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.expire(now);
        self.create(now);
        self.release(now);
    }

    fn poll_timeout(&self) -> Instant {
        let arrival = self.next_at.iter().copied().min();
        let deadline = self.deadlines.front().map(|(at, _)| *at);
        // A rate holds calls back only while a connection could carry one.
        let has_room = || {
            let mut sockets = self.sockets.iter();
            sockets.any(|socket| socket.is_open && (socket.calls.len() as u64) < self.depth)
        };
        let pace = self.pace.as_ref().map(|pace| pace.next_at);
        let pace = pace.filter(|_| !self.waiting.is_empty() && has_room());
        let all = [arrival, deadline, pace].into_iter().flatten();
        all.min().unwrap_or(Instant::FAR_FUTURE)
    }

    fn poll_write(&self, _now: Instant, socket: u32) -> u64 {
        self.sockets[socket as usize].to_write
    }

    fn poll_read(&self, _now: Instant, _socket: u32) -> u64 {
        u64::MAX
    }

    fn poll_close(&self, _now: Instant, socket: u32) -> bool {
        let socket = &self.sockets[socket as usize];
        self.is_done() && socket.to_write == 0 && socket.calls.is_empty()
    }

    fn report(&self, _now: Instant) -> Report {
        self.report.clone()
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::testbed::Testbed;

    /// Mean time in the system, without the two ways.
    fn mean_in_system(text: &str) -> f64 {
        let mut testbed = Testbed::new(text, Duration::from_micros(10));
        testbed.run(Duration::from_secs(1_000_000));
        let report = testbed.client_report();
        assert_eq!(report.answered, report.requests);
        assert!(testbed.is_closed());
        report.response_times.mean().unwrap().as_secs_f64() - 20e-6
    }

    /// Pollaczek and Khinchine: wait `rho s / (2 (1 - rho))` with constant work.
    #[test]
    fn constant_work_is_the_queue_m_d_1() {
        for (every_us, count) in [(2000, 400_000), (1333, 2_000_000)] {
            let text = format!(
                "rpc, poisson, depth 1000000, every {every_us} us, work 1 ms, count {count}"
            );
            let rho = 1000.0 / f64::from(every_us);
            let expected = 1e-3 * (1.0 + rho / (2.0 * (1.0 - rho)));
            let mean = mean_in_system(&text);
            assert!(
                (mean / expected - 1.0).abs() < 0.01,
                "{rho}: {mean} {expected}"
            );
        }
    }

    /// Time in the system `s / (1 - rho)` with exponential work.
    #[test]
    fn exponential_work_is_the_queue_m_m_1() {
        let text = "rpc, poisson, depth 1000000, every 2 ms, work 1 ms, exponential_work, \
                    connections 3, count 2000000";
        let mean = mean_in_system(text);
        assert!((mean / 2e-3 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn calls_at_a_fixed_rate_below_the_servers_never_wait() {
        let text = "rpc, every 2 ms, work 1 ms, count 1000";
        assert!((mean_in_system(text) - 1e-3).abs() < 1e-9);
    }

    /// Three callers that think 2 ms and are served for 1 ms by one worker: the finite
    /// source queue M/M/1//3 has probabilities 1, 3a, 6a^2, 6a^3 (a = 1/2) over their
    /// sum 4.75, so the worker is busy 3.75/4.75 of the time; with Little's law the
    /// response time is 3 / throughput - 2 ms = 1.8 ms.
    #[test]
    fn callers_with_a_timer_are_a_finite_source() {
        let text = "rpc, connections 3, timer, poisson, every 2 ms, work 1 ms, \
                    exponential_work, count 1000000";
        let mut testbed = Testbed::new(text, Duration::ZERO);
        testbed.run(Duration::from_secs(1_000_000));
        let mean = testbed.client_report().response_times.mean().unwrap();
        assert!((mean.as_secs_f64() / 1.8e-3 - 1.0).abs() < 0.01, "{mean}");
    }

    /// Open calls wait for the one connection: the whole system is M/D/1 with the two
    /// ways as part of the service.
    #[test]
    fn a_single_connection_makes_calls_wait_at_the_client() {
        let text = "rpc, poisson, every 4 ms, work 1 ms, count 400000";
        let mut testbed = Testbed::new(text, Duration::from_micros(500));
        testbed.run(Duration::from_secs(1_000_000));
        let report = testbed.client_report();
        let mean = report.response_times.mean().unwrap().as_secs_f64();
        let expected = 2e-3 * (1.0 + 0.5 / (2.0 * 0.5));
        assert!((mean / expected - 1.0).abs() < 0.01, "{mean}");
        assert!(report.max_waiting > 3);
    }

    #[test]
    fn a_server_that_is_too_slow_gets_every_call_again_and_again() {
        let text = "rpc, depth 1000, every 10 ms, work 20 ms, timeout 100 ms, count 200";
        let mut testbed = Testbed::new(text, Duration::ZERO);
        testbed.run(Duration::from_secs(10_000));
        let (client, server) = (testbed.client_report(), testbed.server_report());
        assert_eq!(client.answered, 200);
        assert!(client.repeated > 1000, "{}", client.repeated);
        assert_eq!(server.requests, 200 + client.repeated);
    }

    /// The server takes 50 calls/s and 100 come: the rate-based client finds the
    /// server's rate, repeats few calls, and the server works for little else.
    #[test]
    fn a_rate_based_client_finds_the_rate_of_its_server() {
        let common = "depth 1000, every 10 ms, work 20 ms, timeout 200 ms, count 2000";
        let mut testbed = Testbed::new(
            &format!("rpc, rate_based, gain 5, {common}"),
            Duration::ZERO,
        );
        let end = testbed.run(Duration::from_secs(10_000));
        let report = testbed.client_report();
        let share = report.repeated as f64 / 2000.0;
        assert!(share < 0.1, "{share}");
        // Full use of the server would take 40 s.
        assert!(end.as_secs_f64() < 60.0, "{end:?}");
        let mut rival = Testbed::new(&format!("rpc, {common}"), Duration::ZERO);
        rival.run(Duration::from_secs(10_000));
        assert!(rival.client_report().repeated > 10 * report.repeated);
    }
}
