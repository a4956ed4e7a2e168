//! Hosts with several sockets, two-way applications, short flows, datagrams.

use crate::common::{self, flow, host, link, run, world};
use gigatcp_app::read;
use gigatcp_path::{CpuCosts, DropCause, Picoseconds};
use gigatcp_sim::{EndReason, FlowConfig, HostConfig, Stop, WorldConfig};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Instant};

fn modern() -> HostConfig {
    host(Profile::MODERN, 1500, "cubic", 4_000_000)
}

/// A path of 100 Mbit/s and 10 ms in each direction.
fn path(flows: Vec<FlowConfig>) -> WorldConfig {
    let delay = Duration::from_millis(10);
    let reverse = link("reverse", 100_000_000, delay, 1000);
    world(link("forward", 100_000_000, delay, 1000), reverse, flows)
}

fn with(application: &str) -> FlowConfig {
    let mut flow = flow("flow", &modern(), Stop::Bytes(Bytes::new(1)));
    flow.application = Some(read(application).unwrap());
    flow
}

/// The socket asserts the order of the bytes; the length is compared here.
#[test]
fn both_ends_of_a_connection_write_and_read_all_there_is() {
    let (ended, outcome) = run(path(vec![with("amount, size 20 MB, two_way")]));
    assert_eq!(ended, EndReason::Finished);
    let flow = &outcome.flows[0];
    for end in [&flow.sender, &flow.receiver] {
        let report = end.report(outcome.now);
        assert_eq!(report.read, Bytes::new(20_000_000));
        assert_eq!(report.written, Bytes::new(20_000_000));
        assert_eq!(end.socket().meter().total(), Bytes::new(20_000_000));
    }
    // Both directions simultaneously: 1.6 s at full rate, plus slow start.
    assert!(outcome.now.as_secs_f64() < 2.5, "{:?}", outcome.now);
}

#[test]
fn a_response_takes_a_round_trip_and_the_work_of_the_server() {
    let text = "request-response, answer 1000, think 50 ms, work 5 ms, count 20";
    let (ended, outcome) = run(path(vec![with(text)]));
    assert_eq!(ended, EndReason::Finished);
    let report = outcome.flows[0].sender.report(outcome.now);
    assert_eq!((report.requests, report.answered), (20, 20));
    let median = report.response_times.median().unwrap().as_secs_f64();
    // 20 ms, 5 ms, and two packets at 100 Mbit/s.
    assert!((median - 0.0251).abs() < 0.0002, "{median}");
    assert_eq!(report.response_times.max(), report.response_times.median());
}

#[test]
fn calls_over_several_connections_share_one_server() {
    let text = "rpc, connections 4, poisson, every 4 ms, work 2 ms, depth 100, \
                answer 1000, count 20000";
    let mut flow = with(text);
    flow.sender.tcp.transport_mut().profile.segments.nagle = false;
    // With Nagle's algorithm a response waits for the ACK of the previous one.
    flow.receiver.tcp.transport_mut().profile.segments.nagle = false;
    let (ended, outcome) = run(path(vec![flow]));
    assert_eq!(ended, EndReason::Finished);
    assert_eq!(outcome.flows.len(), 4);
    assert_eq!(outcome.hosts.len(), 2);
    let report = outcome.flows[0].sender.report(outcome.now);
    assert_eq!(report.answered, 20_000);
    // M/D/1 at half load: 2 ms and 1 ms of waiting, and 20.1 ms for the path.
    let mean = report.response_times.mean().unwrap().as_secs_f64();
    assert!((mean - 0.0231).abs() < 0.0002, "{mean}");
    let each: Vec<u64> = outcome
        .flows
        .iter()
        .map(|flow| flow.sender.socket().written())
        .collect();
    assert_eq!(each.iter().sum::<u64>(), 20_000 * 200);
    assert!(each.iter().all(|written| *written > 20_000), "{each:?}");
}

/// Two flows from one host share its card of 50 Mbit/s, the bottleneck.
#[test]
fn flows_that_share_a_host_share_its_card() {
    let mut sender = modern();
    sender.link = Some(link("card", 50_000_000, Duration::ZERO, 2000));
    let flows = (0..2).map(|number| FlowConfig {
        name: format!("flow {number}"),
        from: Some(0),
        to: Some(1),
        ..flow("flow", &modern(), Stop::After(Duration::from_secs(5)))
    });
    let mut config = path(flows.collect());
    config.hosts = vec![sender, modern()];
    let (ended, outcome) = run(config);
    assert_eq!(ended, EndReason::Finished);
    let rates: Vec<f64> = outcome
        .flows
        .iter()
        .map(|flow| flow.bytes().as_bits_f64() / flow.elapsed().as_secs_f64() / 1e6)
        .collect();
    assert!(rates.iter().sum::<f64>() > 46.0, "{rates:?}");
    assert!((0.5..2.0).contains(&(rates[0] / rates[1])), "{rates:?}");
}

/// Two flows share a receiver's CPU that is too slow for both, call by call.
#[test]
fn applications_of_a_host_take_turns_at_its_processor() {
    let mut receiver = modern();
    receiver.costs = CpuCosts {
        per_byte_copied: Picoseconds::new(400_000),
        ..CpuCosts::default()
    };
    let flows = (0..3).map(|number| FlowConfig {
        name: format!("flow {number}"),
        from: Some(0),
        to: Some(1),
        ..flow("flow", &modern(), Stop::Bytes(Bytes::new(2_000_000)))
    });
    let mut config = path(flows.collect());
    config.hosts = vec![modern(), receiver];
    let (ended, outcome) = run(config);
    assert_eq!(ended, EndReason::Finished);
    // 6 MB at 400 ns a byte.
    let busy = outcome.hosts[1].cpu_busy(outcome.now).as_secs_f64();
    assert!((busy - 2.4).abs() < 0.01, "{busy}");
    let ends = outcome
        .flows
        .iter()
        .map(|flow| flow.finished_at.unwrap().as_secs_f64());
    let (first, last) = ends.fold((f64::MAX, 0.0), |(a, b), x| {
        (f64::min(a, x), f64::max(b, x))
    });
    assert!(first > 0.9 * last, "{first} {last}");
}

fn arrivals(text: &str) -> FlowConfig {
    let mut flow = flow("mice", &modern(), Stop::Bytes(Bytes::new(1)));
    for end in [&mut flow.sender, &mut flow.receiver] {
        end.tcp.transport_mut().send_buffer = None;
        end.tcp.transport_mut().receive_buffer = None;
    }
    flow.application = Some(read(text).unwrap());
    flow
}

#[test]
fn flows_that_arrive_offer_their_load_and_end() {
    let mut config = path(vec![]);
    let text = "arrivals, load 50 %, rate 100 Mbit/s, size 50 kB, exponential, count 2000";
    config.arrivals = vec![arrivals(text)];
    let (ended, outcome) = run(config);
    assert_eq!(ended, EndReason::Finished);
    let flows = &outcome.arrivals[0];
    assert_eq!(flows.flows, 2000);
    // The last one begins at most one mean time of completion before the end.
    let rate = flows.bytes.as_bits_f64() / outcome.now.as_secs_f64();
    assert!((rate / 50e6 - 1.0).abs() < 0.1, "{rate}");
    let times = &flows.completion_times;
    assert_eq!(times.count(), 2000);
    let mean = times.mean().unwrap().as_secs_f64();
    // Two round trips of 20 ms for the smallest, four for the largest.
    assert!((0.04..0.10).contains(&mean), "{mean}");
    assert!(outcome.most_alive < 60, "{}", outcome.most_alive);
    assert!(outcome.hosts[0].slots() <= outcome.most_alive);
}

/// Memory is that of the flows that are alive: here a dozen.
#[test]
fn a_hundred_thousand_flows_need_the_room_of_those_that_are_alive() {
    let mut config = path(vec![]);
    let text = "arrivals, every 1 ms, size 3 kB, count 100000";
    config.arrivals = vec![arrivals(text)];
    config.observe.account = false;
    let (ended, outcome) = run(config);
    assert_eq!(ended, EndReason::Finished);
    assert_eq!(outcome.arrivals[0].flows, 100_000);
    assert_eq!(outcome.arrivals[0].completion_times.count(), 100_000);
    // Each lives for three round trips of 20 ms.
    assert!(outcome.most_alive < 130, "{}", outcome.most_alive);
    assert!(outcome.hosts[0].slots() <= outcome.most_alive);
}

#[test]
fn flows_that_arrive_without_end_stop_with_the_flow_beside_them() {
    let mut config = path(vec![flow(
        "elephant",
        &modern(),
        Stop::After(Duration::from_secs(3)),
    )]);
    config.arrivals = vec![arrivals("arrivals, every 20 ms, size 20 kB")];
    let (ended, outcome) = run(config);
    assert_eq!(ended, EndReason::Finished);
    assert!((100..220).contains(&outcome.arrivals[0].flows));
    assert!(outcome.now < Instant::ZERO + Duration::from_secs(5));
    let elephant = &outcome.flows[0];
    assert!(elephant.bytes() > Bytes::new(10_000_000));
}

fn datagrams(text: &str) -> FlowConfig {
    FlowConfig {
        start: Duration::from_millis(100),
        ..common::datagrams(text, &modern(), 200_000)
    }
}

/// 120 Mbit/s into 100 Mbit/s: the excess is lost. The queue of 1000 packets is full.
#[test]
fn datagrams_above_the_rate_of_the_path_are_lost() {
    let mut config = path(vec![]);
    config.end = Duration::from_secs(10);
    let text = "datagrams, rate 120 Mbit/s, size 1472, for 8 s";
    config.datagrams = vec![datagrams(text)];
    let (ended, outcome) = run(config);
    assert_eq!(ended, EndReason::Finished);
    let udp = outcome.datagrams[0];
    assert_eq!(udp.sent, 81_522);
    let received = udp.received;
    // 8 s at 100 Mbit/s of IP packets of 1500 bytes, and the queue.
    let expected = 8.0 * 100e6 / 8.0 / 1500.0 + 1000.0;
    assert!(
        (received.received as f64 / expected - 1.0).abs() < 0.001,
        "{received:?}"
    );
    assert_eq!(received.duplicates + received.reordered, 0);
    let missing = udp.sent - received.received;
    assert!(missing - received.lost < 100, "{missing} {received:?}");
}

#[test]
fn datagrams_below_the_rate_arrive_in_order_without_jitter() {
    let mut config = path(vec![]);
    let text = "datagrams, rate 10 Mbit/s, size 1000, count 1000";
    config.datagrams = vec![datagrams(text)];
    let (_, outcome) = run(config);
    let received = outcome.datagrams[0].received;
    assert_eq!((received.received, received.lost), (1000, 0));
    assert_eq!(received.jitter, Duration::ZERO);
    assert_eq!(received.elapsed, Duration::from_micros(800 * 999));
}

/// A reader that copies 1000 bytes in 1 ms reads 1000 datagrams per second.
///
/// The others find its receive buffer full.
#[test]
fn a_slow_reader_overflows_its_receive_buffer() {
    let mut config = path(vec![]);
    let text = "datagrams, rate 16 Mbit/s, size 1000, count 4000";
    let mut udp = datagrams(text);
    udp.receiver.costs = CpuCosts {
        per_byte_copied: Picoseconds::new(1_000_000),
        ..CpuCosts::default()
    };
    config.datagrams = vec![udp];
    config.end = Duration::from_secs(30);
    let (_, outcome) = run(config);
    let udp = outcome.datagrams[0];
    let read = udp.received.received;
    assert_eq!(read + udp.drops[DropCause::SocketBuffer].packets, 4000);
    // Two seconds of reading and a buffer of 200.
    assert!((2190..2210).contains(&read), "{udp:?}");
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let make = || {
        let mut config = path(vec![with(
            "rpc, connections 3, poisson, every 5 ms, for 2 s",
        )]);
        config.arrivals = vec![arrivals("arrivals, every 10 ms, web_search, for 1 s")];
        config.datagrams = vec![datagrams("datagrams, rate 20 Mbit/s, burst 10, for 2 s")];
        config.end = Duration::from_secs(20);
        config
    };
    let [a, b] = [run(make()).1, run(make()).1];
    assert_eq!(a.event_hash, b.event_hash);
    let mut other = make();
    other.seed = 2;
    assert_ne!(run(other).1.event_hash, a.event_hash);
}
