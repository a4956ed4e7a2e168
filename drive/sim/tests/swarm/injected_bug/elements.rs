//! Bugs in queues, routes and applications.

use gigatcp_app::report::Report;
use gigatcp_app::{AppConfig, Application, Make, Role, find};
use gigatcp_path::queue::{self, Build, Discipline, Drops, Link, Ticket};
use gigatcp_path::{HopConfig, Tally};
use gigatcp_sim::WorldConfig;
use gigatcp_units::{Duration, Instant};

use super::InjectedBug;

/// Routes of flows with the injected bug: one direction lacks its last link.
pub fn routes(bug: Option<InjectedBug>, mut config: WorldConfig) -> WorldConfig {
    let vias = config.flows.iter_mut().filter_map(|flow| flow.via.as_mut());
    for via in vias.filter(|_| bug == Some(InjectedBug::Detour)) {
        if via.forward.len() > 1 {
            via.forward.pop();
        }
    }
    config
}

/// Sets queues of links with the injected bug.
pub fn links(bug: Option<InjectedBug>, links: &mut [HopConfig]) {
    for link in links
        .iter_mut()
        .filter(|_| bug == Some(InjectedBug::Overlong))
    {
        link.queue = queue::QueueConfig {
            discipline: &OVERLONG,
            ..queue::QueueConfig::default()
        };
    }
}

static OVERLONG: queue::Entry = queue::Entry {
    name: "overlong",
    summary: "first in, first out, without regard to limits",
    parameters: &[],
    class_parameters: &[],
    check: |_| Ok(()),
    draws: false,
    build: |_: Build<'_>| Box::new(Overlong::default()),
};

#[derive(Default, Debug)]
struct Overlong(std::collections::VecDeque<Ticket>);

impl Discipline for Overlong {
    fn enqueue(&mut self, _: Instant, _: &Link, ticket: Ticket, _: &mut Drops) {
        self.0.push_back(ticket);
    }
    fn dequeue(&mut self, _: Instant, _: &Link, _: &mut Drops) -> Option<Ticket> {
        self.0.pop_front()
    }
    fn drain(&mut self, out: &mut Vec<Ticket>) {
        out.extend(self.0.drain(..));
    }
    fn backlog(&self) -> Tally {
        let mut backlog = Tally::default();
        self.0.iter().for_each(|ticket| backlog.add(ticket.tally()));
        backlog
    }
}

/// An application with the injected bug.
pub fn application(bug: Option<InjectedBug>, mut config: AppConfig) -> AppConfig {
    if bug == Some(InjectedBug::LostOctet) && config.entry.name == REQUESTS {
        config.entry = Box::leak(Box::new(gigatcp_app::Entry {
            make: Make::Stream(|build, role| {
                let Some(Make::Stream(make)) = find(REQUESTS).map(|entry| entry.make) else {
                    panic!("requests and answers have connections");
                };
                match role {
                    Role::Client => make(build, role),
                    Role::Server => Box::new(LostOctet(make(build, role), false)),
                }
            }),
            ..*config.entry
        }));
    }
    config
}

const REQUESTS: &str = "request-response";

/// Server that loses a byte, and whether it has.
#[derive(Debug)]
struct LostOctet(Box<dyn Application>, bool);

impl Application for LostOctet {
    fn handle_opened(&mut self, now: Instant, socket: u32) {
        self.0.handle_opened(now, socket);
    }
    fn handle_read(&mut self, now: Instant, socket: u32, octets: u64) {
        let lost = u64::from(!std::mem::replace(&mut self.1, true));
        self.0.handle_read(now, socket, octets - lost);
    }
    fn handle_written(&mut self, now: Instant, socket: u32, octets: u64) {
        self.0.handle_written(now, socket, octets);
    }
    fn handle_peer_closed(&mut self, now: Instant, socket: u32, unread: u64) {
        self.0.handle_peer_closed(now, socket, unread);
    }
    fn handle_failed(&mut self, now: Instant, socket: u32) {
        self.0.handle_failed(now, socket);
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.0.poll_timeout()
    }
    fn poll_write(&self, now: Instant, socket: u32) -> u64 {
        self.0.poll_write(now, socket)
    }
    fn poll_read(&self, now: Instant, socket: u32) -> u64 {
        self.0.poll_read(now, socket)
    }
    fn poll_close(&self, now: Instant, socket: u32) -> bool {
        self.0.poll_close(now, socket)
    }
    fn paused(&self, now: Instant) -> Duration {
        self.0.paused(now)
    }
    fn report(&self, now: Instant) -> Report {
        self.0.report(now)
    }
}
