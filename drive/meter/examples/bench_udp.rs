//! Datagrams over loopback with and without GSO and GRO, alternating: `bench_udp [RUNS] [SECONDS]`.
//!
//! Datagrams of 1400 bytes: at maximum rate, then 100,000 per second. Printed for each run:
//! datagrams received per second, the share lost, CPU time of both ends per million, and the median
//! and 99th percentile of the one-way delay.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gigatcp_meter::tester::{Notify, Offload, Request, Role, Server, ServerConfig, run};
use gigatcp_protocol::iperf3::Transport;

/// Bytes of a datagram.
const SIZE: u32 = 1400;

fn main() {
    let numbers: Vec<u32> = std::env::args()
        .skip(1)
        .flat_map(|word| word.parse())
        .collect();
    let runs = numbers.first().copied().unwrap_or(5);
    let seconds = numbers.get(1).copied().unwrap_or(2);
    let server = Server::bind(ServerConfig {
        bind: Some([127, 0, 0, 1].into()),
        port: 0,
        interval: None,
        ..ServerConfig::default()
    })
    .unwrap_or_else(|error| panic!("{error:?}"));
    let port = server.address().port();
    let stop = Arc::new(AtomicBool::new(false));
    let stops = stop.clone();
    let serving = std::thread::spawn(move || {
        let notify: Arc<Notify> = Arc::new(|_| {});
        server.run(&|| stops.load(Ordering::Relaxed), &notify)
    });
    for pps in [None, Some(100_000)] {
        println!(
            "{}",
            pps.map_or("as many as go".into(), |pps| format!("{pps} a second"))
        );
        for _ in 0..runs {
            for offload in [Offload::Off, Offload::Automatic] {
                measure(port, seconds, pps, offload);
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    let _ = serving.join();
}

/// Runs one test and prints its line.
fn measure(port: u16, seconds: u32, pps: Option<u64>, offload: Offload) {
    let mut request = Request::new("127.0.0.1");
    request.port = port;
    request.interval = None;
    request.offload = offload;
    request.sampling = Duration::from_millis(100);
    request.parameters.transport = Transport::Udp;
    request.parameters.time = seconds;
    request.parameters.len = Some(SIZE);
    request.parameters.bandwidth = pps.map(|pps| pps * u64::from(SIZE) * 8);
    let outcome = match run(&request, &|| false, &mut |_| {}) {
        Ok(outcome) => outcome,
        Err(error) => return println!("{error}"),
    };
    let elapsed = outcome.measured.as_secs_f64();
    let stream = &outcome.streams[0];
    let counts = outcome.peer_datagrams(stream).unwrap_or_default();
    let sent = stream.total.datagrams as f64;
    let received = counts.report.received as f64;
    let there = outcome.peer.as_ref().map_or(0.0, |peer| peer.cpu.total);
    let cpu = (outcome.cpu.total + there) / 100.0 * elapsed;
    let delay = outcome.one_way_delay(Role::Sender);
    let [median, p99] = delay.map_or([0.0; 2], |delay| [delay.median, delay.p99]);
    println!(
        "{:<5}{:>10.0} sent/s {:>10.0} received/s {:>6.2} % lost ({} at the socket of {}) \
         {:>6.3} CPU-s/M  p50 {:>7.1} p99 {:>8.1} us",
        offload.name(),
        sent / elapsed,
        received / elapsed,
        100.0 * counts.report.lost as f64 / sent.max(1.0),
        counts.socket_drops,
        counts.report.lost,
        cpu / received.max(1.0) * 1e6,
        median * 1e6,
        p99 * 1e6,
    );
}
