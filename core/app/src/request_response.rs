//! Requests and answers on one connection, one at a time.
//!
//! The client sends a request, reads its answer, thinks, and sends the next one. The server works
//! on each request before it answers. Sizes, think time and work are constant or exponential. The
//! response time is from writing the first octet of the request to reading the last octet of the
//! answer.

use alloc::boxed::Box;

use gigatcp_units::settings::Parameter;
use gigatcp_units::{Bytes, Instant};

use crate::application::{Application, Role};
use crate::dialog::{
    ANSWER, COUNT, EXPONENTIAL_SIZES, EXPONENTIAL_WORK, End, FOR, REQUEST, Server, Sizes, WORK,
    purpose, times,
};
use crate::draws::Draws;
use crate::registry::{Build, Entry, Make};
use crate::report::Report;

/// Entry of the registry.
pub(crate) const ENTRY: Entry = Entry {
    name: "request-response",
    summary: "requests one after the other on one connection, with times to think on both sides",
    parameters: &[
        REQUEST,
        ANSWER,
        THINK,
        WORK,
        EXPONENTIAL_THINK,
        EXPONENTIAL_WORK,
        EXPONENTIAL_SIZES,
        COUNT,
        FOR,
    ],
    make: Make::Stream(|build, role| match role {
        Role::Client => Box::new(Client::new(build)),
        Role::Server => Box::new(Server::new(build, 1, false)),
    }),
};

const THINK: Parameter = Parameter::time(
    "think",
    None,
    "time from an answer to the next request; off: none",
);
const EXPONENTIAL_THINK: Parameter = Parameter::flag(
    "exponential_think",
    "the client's time is exponentially distributed, with this mean",
);

/// State of the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Waits for its connection.
    Closed,
    /// Thinks until the given time.
    Thinks(Instant),
    /// Writes and reads: remaining octets of the request and of the answer.
    Asks {
        since: Instant,
        to_write: u64,
        to_read: u64,
    },
    /// Has finished.
    Done,
}

/// Client end.
#[derive(Clone, PartialEq, Debug)]
struct Client {
    sizes: Sizes,
    think: Draws,
    end: End,
    opened_at: Instant,
    state: State,
    report: Report,
}

impl Client {
    fn new(build: &Build<'_>) -> Self {
        Self {
            sizes: Sizes::new(build, 0),
            think: times(build, &THINK, &EXPONENTIAL_THINK, purpose::THINK),
            end: End::new(build),
            opened_at: Instant::ZERO,
            state: State::Closed,
            report: Report::default(),
        }
    }

    /// Sends the next request, or ends.
    fn ask(&mut self, now: Instant) {
        if !self.end.allows(self.report.requests, self.opened_at, now) {
            self.state = State::Done;
            return;
        }
        self.report.requests += 1;
        let (to_write, to_read) = self.sizes.next();
        self.state = State::Asks {
            since: now,
            to_write,
            to_read,
        };
    }

    fn on_answered(&mut self, now: Instant, since: Instant) {
        self.report.answered += 1;
        self.report.response_times.add(now.saturating_since(since));
        if !self.end.allows(self.report.requests, self.opened_at, now) {
            self.state = State::Done;
            return;
        }
        let think = self.think.time();
        if think.is_zero() {
            self.ask(now);
        } else {
            self.state = State::Thinks(now + think);
        }
    }
}

impl Application for Client {
    fn handle_opened(&mut self, now: Instant, _socket: u32) {
        self.opened_at = now;
        self.ask(now);
    }

    fn handle_read(&mut self, now: Instant, _socket: u32, octets: u64) {
        self.report.read += Bytes::new(octets);
        if let State::Asks { since, to_read, .. } = &mut self.state {
            *to_read = to_read.saturating_sub(octets);
            if *to_read == 0 {
                let since = *since;
                self.on_answered(now, since);
            }
        }
    }

    fn handle_written(&mut self, _now: Instant, _socket: u32, octets: u64) {
        self.report.written += Bytes::new(octets);
        if let State::Asks { to_write, .. } = &mut self.state {
            *to_write -= octets;
        }
    }

    fn handle_peer_closed(&mut self, _now: Instant, _socket: u32, unread: u64) {
        if unread == 0 {
            self.state = State::Done;
        }
    }

    fn handle_failed(&mut self, _now: Instant, _socket: u32) {
        self.report.failures += 1;
        self.state = State::Done;
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let State::Thinks(until) = self.state
            && until <= now
        {
            self.ask(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Thinks(until) => Some(until),
            _ => None,
        }
    }

    fn poll_write(&self, _now: Instant, _socket: u32) -> u64 {
        match self.state {
            State::Asks { to_write, .. } => to_write,
            _ => 0,
        }
    }

    fn poll_close(&self, _now: Instant, _socket: u32) -> bool {
        self.state == State::Done
    }

    fn report(&self, _now: Instant) -> Report {
        self.report.clone()
    }
}

#[cfg(test)]
mod tests {
    use gigatcp_units::Duration;

    use crate::testbed::Testbed;

    #[test]
    fn a_response_takes_two_ways_and_the_work_of_the_server() {
        let text = "request-response, think 30 ms, work 5 ms, count 10";
        let mut testbed = Testbed::new(text, Duration::from_millis(10));
        let end = testbed.run(Duration::from_secs(60));
        let report = testbed.client_report();
        assert_eq!((report.requests, report.answered), (10, 10));
        assert_eq!(
            report.response_times.median(),
            Some(Duration::from_millis(25))
        );
        assert_eq!(report.response_times.max(), Some(Duration::from_millis(25)));
        assert_eq!(report.read.as_u64(), 100_000);
        assert_eq!(report.written.as_u64(), 2000);
        // Ten responses and nine think times, then the one-way delays of two closes.
        let expected = Duration::from_millis(10 * 25 + 9 * 30 + 20);
        assert_eq!(end.as_nanos(), expected.as_nanos());
        assert!(testbed.is_closed());
    }

    /// A closed loop: one response per think time, work and two one-way delays. Over a long time
    /// `rate = 1 / (think + work + 2 delay)`.
    #[test]
    fn exponential_times_have_their_means_in_a_closed_loop() {
        let text = "request-response, think 10 ms, work 4 ms, exponential_think, \
                    exponential_work, exponential_sizes, count 200000";
        let mut testbed = Testbed::new(text, Duration::from_millis(1));
        let end = testbed.run(Duration::from_secs(1_000_000));
        let per_request = end.as_secs_f64() / 200_000.0;
        assert!((per_request / 16e-3 - 1.0).abs() < 0.01, "{per_request}");
        let mean = testbed.client_report().response_times.mean().unwrap();
        assert!((mean.as_secs_f64() / 6e-3 - 1.0).abs() < 0.01, "{mean}");
        let read = testbed.client_report().read.as_u64() as f64;
        assert!((read / 2e9 - 1.0).abs() < 0.01, "{read}");
    }

    #[test]
    fn time_ends_the_requests_as_a_count_does() {
        let text = "request-response, think 1 s, for 10 s";
        let mut testbed = Testbed::new(text, Duration::ZERO);
        testbed.run(Duration::from_secs(60));
        assert_eq!(testbed.client_report().answered, 10);
        assert!(testbed.is_closed());
    }
}
