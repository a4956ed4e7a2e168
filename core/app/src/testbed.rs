//! Test bed: both ends of an application, connected by wires of a fixed delay.
//!
//! A wire has unlimited rate and capacity: a write arrives in one piece, after the delay.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::application::{Application, Role};
use crate::reader::Reader;
use crate::registry;
use crate::report::Report;

/// Octets in flight, or the end of a stream.
struct Delivery {
    at: Instant,
    /// Index of the receiving end.
    to: usize,
    socket: u32,
    octets: Option<u64>,
}

pub(crate) struct Testbed {
    now: Instant,
    delay: Duration,
    ends: [Box<dyn Application>; 2],
    on_the_way: VecDeque<Delivery>,
    closed: [Vec<bool>; 2],
}

impl Testbed {
    pub(crate) fn new(text: &str, delay: Duration) -> Self {
        let config = registry::read(text).unwrap();
        let build = |role| config.stream(role, 1, "test", Reader::default()).unwrap();
        let ends = [build(Role::Client), build(Role::Server)];
        let sockets = ends[0].sockets() as usize;
        assert_eq!(ends[0].sockets(), ends[1].sockets());
        Self {
            now: Instant::ZERO,
            delay,
            ends,
            on_the_way: VecDeque::new(),
            closed: [vec![false; sockets], vec![false; sockets]],
        }
    }

    /// Runs until no event is left; returns the time of the last event.
    pub(crate) fn run(&mut self, most: Duration) -> Instant {
        for end in 0..2 {
            for socket in 0..self.closed[end].len() as u32 {
                self.ends[end].handle_opened(self.now, socket);
            }
        }
        self.act(0);
        self.act(1);
        loop {
            let arrival = self
                .on_the_way
                .front()
                .map_or(Instant::FAR_FUTURE, |d| d.at);
            let timers =
                [0, 1].map(|end| self.ends[end].poll_timeout().unwrap_or(Instant::FAR_FUTURE));
            let next = arrival.min(timers[0]).min(timers[1]);
            if next == Instant::FAR_FUTURE || next > Instant::ZERO + most {
                return self.now;
            }
            assert!(next >= self.now, "time runs backwards");
            self.now = next;
            if arrival == next {
                self.deliver();
                continue;
            }
            let end = usize::from(timers[0] != next);
            self.ends[end].handle_timeout(next);
            self.act(end);
        }
    }

    fn deliver(&mut self) {
        let delivery = self.on_the_way.pop_front().unwrap();
        let end = &mut self.ends[delivery.to];
        match delivery.octets {
            Some(octets) => {
                let mut left = octets;
                while left > 0 {
                    let taken = left.min(end.poll_read(self.now, delivery.socket));
                    assert!(taken > 0, "the testbed does not keep what is not read");
                    end.handle_read(self.now, delivery.socket, taken);
                    left -= taken;
                }
            }
            None => end.handle_peer_closed(self.now, delivery.socket, 0),
        }
        self.act(delivery.to);
    }

    /// Lets an end write and close, on each of its sockets.
    fn act(&mut self, end: usize) {
        for socket in 0..self.closed[end].len() as u32 {
            loop {
                let octets = self.ends[end].poll_write(self.now, socket);
                if octets == 0 {
                    break;
                }
                let closed = self.closed[end][socket as usize];
                assert!(!closed, "writes after closing");
                self.ends[end].handle_written(self.now, socket, octets);
                self.send(end, socket, Some(octets));
            }
            let closed = &mut self.closed[end][socket as usize];
            if !*closed && self.ends[end].poll_close(self.now, socket) {
                *closed = true;
                self.send(end, socket, None);
            }
        }
    }

    fn send(&mut self, from: usize, socket: u32, octets: Option<u64>) {
        self.on_the_way.push_back(Delivery {
            at: self.now + self.delay,
            to: 1 - from,
            socket,
            octets,
        });
    }

    pub(crate) fn client_report(&self) -> Report {
        self.ends[0].report(self.now)
    }

    pub(crate) fn server_report(&self) -> Report {
        self.ends[1].report(self.now)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.iter().flatten().all(|closed| *closed)
    }
}
