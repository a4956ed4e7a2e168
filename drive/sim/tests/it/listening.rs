//! Listening sockets with a backlog: half-open connections, cookies, a server too slow to
//! accept.

use crate::common::{flow, host, link, run, world};
use gigatcp_path::{CpuCosts, DropCause};
use gigatcp_sim::{FlowConfig, HostConfig, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_tcp::profile::SynCookies;
use gigatcp_units::{Bytes, Duration};

fn server(backlog: Option<u32>, cookies: SynCookies) -> HostConfig {
    let mut server = host(Profile::MODERN, 1500, "cubic", 100_000);
    server.tcp.transport_mut().profile.opening.syn_cookies = cookies;
    server.backlog = backlog;
    server
}

/// Runs clients that send 2000 bytes each to one server, `step` apart.
///
/// The RTT is 20 ms.
fn clients(count: u64, step: Duration, server: HostConfig) -> Outcome {
    let client = host(Profile::MODERN, 1500, "cubic", 100_000);
    let flows = (0..count).map(|number| {
        let mut flow = FlowConfig {
            name: format!("client {number}"),
            start: step * number,
            from: Some(0),
            to: Some(1),
            receiver: server.clone(),
            ..flow("client", &client, Stop::Bytes(Bytes::new(2000)))
        };
        flow.sender.tcp.local_port = 10_000 + number as u16;
        flow
    });
    let path = |name| link(name, 100_000_000, Duration::from_millis(10), 1000);
    let mut config = world(path("forward"), path("reverse"), flows.collect());
    config.hosts = vec![client, server];
    let (_, outcome) = run(config);
    for flow in &outcome.flows {
        assert_eq!(flow.bytes(), Bytes::new(2000));
    }
    outcome
}

fn dropped(outcome: &Outcome) -> u64 {
    outcome.hosts[1].drops()[DropCause::Backlog].packets
}

/// Of 40 simultaneous SYNs 16 fit. A second later 16 of 24 fit, 2 s after that the rest.
#[test]
fn syns_beyond_the_backlog_are_dropped_and_come_again() {
    let outcome = clients(40, Duration::ZERO, server(Some(16), SynCookies::Off));
    assert_eq!(dropped(&outcome), 24 + 8);
    let ends = outcome.flows.iter().map(|flow| flow.finished_at.unwrap());
    let after = |second: u64| {
        let is_after = move |at: &gigatcp_units::Instant| at.as_nanos() > second * 1_000_000_000;
        ends.clone().filter(is_after).count()
    };
    assert_eq!((after(0), after(1), after(3), after(4)), (40, 24, 8, 0));
}

#[test]
fn cookies_and_a_large_enough_backlog_lose_no_syn() {
    for server in [
        server(None, SynCookies::Off),
        server(Some(40), SynCookies::Off),
        server(Some(16), SynCookies::WhenFull),
    ] {
        let outcome = clients(40, Duration::ZERO, server);
        assert_eq!(dropped(&outcome), 0);
        assert!(outcome.now.as_secs_f64() < 0.1, "{:?}", outcome.now);
    }
}

/// 100 connections in 200 ms; the application accepts one per 10 ms.
///
/// Cookies do not help, as the accept queue is full.
#[test]
fn a_server_that_accepts_too_slowly_drops_syns_too() {
    let slow = |backlog| HostConfig {
        costs: CpuCosts {
            per_accept: Duration::from_millis(10),
            ..CpuCosts::default()
        },
        ..server(Some(backlog), SynCookies::WhenFull)
    };
    let step = Duration::from_millis(2);
    let long = clients(100, step, slow(100));
    assert_eq!(dropped(&long), 0);
    // The first handshake ends after 30 ms; then one per 10 ms.
    let last = long.now.as_secs_f64();
    assert!((1.03..1.07).contains(&last), "{last}");

    let short = clients(100, step, slow(20));
    assert!(dropped(&short) > 20, "{}", dropped(&short));
    assert!(
        short.now > long.now,
        "clients wait for their retransmissions"
    );
}
