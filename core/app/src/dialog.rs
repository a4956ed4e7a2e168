//! Requests and answers: sizes known to both ends, and the server.
//!
//! A request is a number of octets, and so is its answer. Both ends draw the sizes of
//! a socket's n-th request from the same streams, so no message needs a header.
//!
//! The server processes requests in the order in which their last octets arrive. With one worker
//! for all sockets it is a textbook queue: with Poisson arrivals M/D/1, or M/M/1 with exponential
//! work (Kleinrock, *Queueing Systems*, 1975). With a worker per socket only requests on the same
//! socket wait for one another.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use gigatcp_units::random::Stream;
use gigatcp_units::settings::Parameter;
use gigatcp_units::{Bytes, Duration, Instant};

use crate::application::Application;
use crate::draws::{Draws, Law};
use crate::registry::Build;
use crate::report::Report;

pub(crate) const REQUEST: Parameter = Parameter::octets("request", Some(200), "bytes of a request");
pub(crate) const ANSWER: Parameter =
    Parameter::octets("answer", Some(10_000), "bytes of an answer");
pub(crate) const WORK: Parameter = Parameter::time(
    "work",
    None,
    "time that the server works on a request; off: it answers at once",
);
pub(crate) const EXPONENTIAL_WORK: Parameter = Parameter::flag(
    "exponential_work",
    "the server's time is exponentially distributed, with this mean",
);
pub(crate) const EXPONENTIAL_SIZES: Parameter = Parameter::flag(
    "exponential_sizes",
    "sizes are exponentially distributed, with these means",
);
pub(crate) const COUNT: Parameter =
    Parameter::count("count", None, 1 << 40, "requests after which it closes");
pub(crate) const FOR: Parameter = Parameter::time(
    "for",
    None,
    "how long it sends requests; off: to the end of the run",
);

/// Purposes of random streams; each takes the socket's number in addition.
pub(crate) mod purpose {
    pub(crate) const REQUEST: u64 = 1 << 32;
    pub(crate) const ANSWER: u64 = 2 << 32;
    pub(crate) const WORK: u64 = 3 << 32;
    pub(crate) const THINK: u64 = 4 << 32;
    pub(crate) const ARRIVAL: u64 = 5 << 32;
    pub(crate) const BURST: u64 = 6 << 32;
    pub(crate) const PERIOD: u64 = 7 << 32;
    pub(crate) const SIZE: u64 = 8 << 32;
}

/// Sizes of the requests of one socket and of their answers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sizes {
    request: Draws,
    answer: Draws,
}

impl Sizes {
    pub(crate) fn new(build: &Build<'_>, socket: u32) -> Self {
        let is_exponential = build.settings.flag(&EXPONENTIAL_SIZES);
        let draws = |parameter: &Parameter, purpose: u64| {
            let mean = build.settings.whole(parameter) as f64;
            let stream = Stream::new(build.seed, build.name, purpose | u64::from(socket));
            Draws::new(Law::of_mean(mean, is_exponential), stream)
        };
        Self {
            request: draws(&REQUEST, purpose::REQUEST),
            answer: draws(&ANSWER, purpose::ANSWER),
        }
    }

    /// Octets of the next request and of its answer.
    pub(crate) fn next(&mut self) -> (u64, u64) {
        (self.request.octets(), self.answer.octets())
    }
}

/// Draws of a time: zero if the parameter is off.
pub(crate) fn times(
    build: &Build<'_>,
    mean: &Parameter,
    is_exponential: &Parameter,
    purpose: u64,
) -> Draws {
    let mean = build.settings.time(mean).as_secs_f64();
    let law = Law::of_mean(mean, build.settings.flag(is_exponential));
    Draws::new(law, Stream::new(build.seed, build.name, purpose))
}

/// Condition under which a client stops sending requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    count: Option<u64>,
    span: Option<Duration>,
}

impl End {
    pub(crate) fn new(build: &Build<'_>) -> Self {
        Self {
            count: build.settings.maybe_whole(&COUNT),
            span: build.settings.maybe_time(&FOR),
        }
    }

    /// Whether a request may be sent at `at`, after `sent` of them since `from`.
    pub(crate) fn allows(&self, sent: u64, from: Instant, at: Instant) -> bool {
        self.count.is_none_or(|count| sent < count) && self.span.is_none_or(|span| at < from + span)
    }
}

/// A server.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Server {
    sockets: Vec<Socket>,
    work: Draws,
    /// Whether one worker serves all sockets.
    is_shared: bool,
    /// Time at which the worker of all sockets is free.
    free_at: Instant,
    /// Requests in progress, by completion time and number.
    jobs: BTreeMap<(Instant, u64), Job>,
    report: Report,
}

#[derive(Clone, PartialEq, Debug)]
struct Job {
    socket: u32,
    answer: u64,
}

#[derive(Clone, PartialEq, Debug)]
struct Socket {
    sizes: Sizes,
    /// Octets of the current request that are missing, and the size of its answer.
    missing: (u64, u64),
    /// Time at which the worker of this socket is free.
    free_at: Instant,
    jobs: u64,
    to_write: u64,
    /// Octets that the peer had left unread when it closed.
    left_by_peer: Option<u64>,
}

impl Server {
    pub(crate) fn new(build: &Build<'_>, sockets: u32, is_shared: bool) -> Self {
        let socket = |number: u32| {
            let mut sizes = Sizes::new(build, number);
            Socket {
                missing: sizes.next(),
                sizes,
                free_at: Instant::ZERO,
                jobs: 0,
                to_write: 0,
                left_by_peer: None,
            }
        };
        Self {
            sockets: (0..sockets).map(socket).collect(),
            work: times(build, &WORK, &EXPONENTIAL_WORK, purpose::WORK),
            is_shared,
            free_at: Instant::ZERO,
            jobs: BTreeMap::new(),
            report: Report::default(),
        }
    }

    /// Starts the work on a complete request of `socket`.
    fn begin(&mut self, now: Instant, socket: u32) {
        let work = self.work.time();
        let one = &mut self.sockets[socket as usize];
        let answer = one.missing.1;
        one.missing = one.sizes.next();
        one.jobs += 1;
        let free_at = match self.is_shared {
            true => &mut self.free_at,
            false => &mut one.free_at,
        };
        *free_at = now.max(*free_at) + work;
        let key = (*free_at, self.report.requests);
        self.report.requests += 1;
        self.jobs.insert(key, Job { socket, answer });
    }
}

impl Application for Server {
    fn sockets(&self) -> u32 {
        self.sockets.len() as u32
    }

    fn handle_read(&mut self, now: Instant, socket: u32, octets: u64) {
        self.report.read += Bytes::new(octets);
        let mut left = octets;
        if let Some(unread) = &mut self.sockets[socket as usize].left_by_peer {
            *unread = unread.saturating_sub(octets);
        }
        loop {
            let missing = &mut self.sockets[socket as usize].missing.0;
            let taken = left.min(*missing);
            *missing -= taken;
            left -= taken;
            if *missing > 0 {
                break;
            }
            self.begin(now, socket);
        }
        self.handle_timeout(now);
    }

    fn handle_written(&mut self, _now: Instant, socket: u32, octets: u64) {
        self.report.written += Bytes::new(octets);
        self.sockets[socket as usize].to_write -= octets;
    }

    fn handle_peer_closed(&mut self, _now: Instant, socket: u32, unread: u64) {
        self.sockets[socket as usize].left_by_peer = Some(unread);
    }

    fn handle_failed(&mut self, _now: Instant, _socket: u32) {
        self.report.failures += 1;
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(first) = self.jobs.first_entry()
            && first.key().0 <= now
        {
            let job = first.remove();
            let socket = &mut self.sockets[job.socket as usize];
            socket.jobs -= 1;
            socket.to_write += job.answer;
            self.report.answered += 1;
        }
        debug_assert_eq!(
            self.report.answered + self.jobs.len() as u64,
            self.report.requests,
            "each request is in work or answered"
        );
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let first = self.jobs.first_key_value();
        first.map(|((at, _), _)| *at)
    }

    fn poll_write(&self, _now: Instant, socket: u32) -> u64 {
        self.sockets[socket as usize].to_write
    }

    fn poll_close(&self, _now: Instant, socket: u32) -> bool {
        let socket = &self.sockets[socket as usize];
        socket.left_by_peer == Some(0) && socket.jobs == 0 && socket.to_write == 0
    }

    fn report(&self, _now: Instant) -> Report {
        self.report.clone()
    }
}
