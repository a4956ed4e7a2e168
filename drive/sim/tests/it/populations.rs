//! Random hosts, applications, arrivals and datagrams over a lossy path. Every byte that was
//! written is read, once and in order, and everything ends.

use crate::common::{datagrams, flow, host, link, run, world};
use gigatcp_app::read;
use gigatcp_path::{ClustersConfig, CpuCosts, LossModel, Picoseconds};
use gigatcp_sim::{EndReason, FlowConfig, HostConfig, Outcome, Scheduling, Stop, WorldConfig};
use gigatcp_tcp::Profile;
use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Duration, Probability};

const APPLICATIONS: [&str; 9] = [
    "amount, size 300 kB",
    "amount, size 200 kB, two_way",
    "paced, piece 20 kB, every 30 ms, size 200 kB",
    "on-off, burst 60 kB, every 200 ms, count 5",
    "on-off, burst 40 kB, every 100 ms, exponential, count 6",
    "request-response, answer 20 kB, think 20 ms, exponential_think, count 15",
    "request-response, exponential_sizes, work 3 ms, exponential_work, count 20",
    "rpc, connections 3, poisson, every 10 ms, work 2 ms, count 60",
    "rpc, connections 2, timer, depth 4, every 5 ms, timeout 300 ms, count 40",
];

struct Draw(Stream);

impl Draw {
    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.0.bits() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

fn random_host(draw: &mut Draw) -> HostConfig {
    let mut host = host(Profile::MODERN, 1500, "cubic", 200_000);
    if draw.one_in(2) {
        host.costs = CpuCosts {
            per_packet_received: Duration::from_micros(draw.below(100)),
            per_packet_sent: Duration::from_micros(draw.below(50)),
            per_ack_received: Duration::from_micros(draw.below(20)),
            per_byte_copied: Picoseconds::new(draw.below(30_000)),
            ..CpuCosts::default()
        };
        host.coalesce = Duration::from_micros(draw.below(2) * 100);
        let processors = 1 + draw.below(4) as u16;
        host.scheduling = Scheduling {
            processors,
            receive_queues: 1 + draw.below(u64::from(processors)) as u16,
            polls: draw.one_in(3),
            receive_budget: draw.one_in(2).then(|| 1 + draw.below(20) as u32),
            input_queue: draw.one_in(3).then(|| 20 + draw.below(100) as u32),
        };
    }
    if draw.one_in(2) {
        host.link = Some(link("card", 20_000_000, Duration::from_micros(10), 2000));
        host.tx_queue = 1 + draw.below(100);
    }
    host.backlog = draw.one_in(3).then(|| 1 + draw.below(10) as u32);
    if draw.one_in(3) {
        // A full receive buffer and one for sending always fit.
        let count = 400 + draw.below(400) as u32;
        host.clusters = Some(ClustersConfig { count, size: 2048 });
    }
    host
}

fn random_flow(draw: &mut Draw, number: u64, hosts: u64) -> FlowConfig {
    let end = host(Profile::MODERN, 1500, "cubic", 200_000);
    let mut flow = flow(&format!("flow {number}"), &end, Stop::Bytes(Bytes::new(1)));
    flow.application = Some(read(APPLICATIONS[draw.below(9) as usize]).unwrap());
    flow.start = Duration::from_millis(draw.below(300));
    if !draw.one_in(3) {
        let from = draw.below(hosts);
        flow.from = Some(from as usize);
        flow.to = Some(((from + 1 + draw.below(hosts - 1)) % hosts) as usize);
    } else {
        flow.sender = random_host(draw);
        flow.receiver = random_host(draw);
    }
    if draw.one_in(4) {
        flow.receiver.reader.rate = Some(gigatcp_units::Rate::from_bps(5_000_000));
    }
    flow
}

fn random_world(seed: u64) -> WorldConfig {
    let mut draw = Draw(Stream::new(seed, "population", 0));
    let hosts = 2 + draw.below(3);
    let flows = (0..1 + draw.below(6)).map(|number| random_flow(&mut draw, number, hosts));
    let flows: Vec<FlowConfig> = flows.collect();
    let delay = Duration::from_millis(1 + draw.below(20));
    let [mut forward, mut reverse] =
        ["forward", "reverse"].map(|name| link(name, 50_000_000, delay, 200));
    let loss = Probability::try_new(draw.below(3) as f64 / 100.0).unwrap();
    for path in [&mut forward, &mut reverse] {
        path.loss = vec![LossModel::Bernoulli(loss)];
        path.duplicate = Some(loss);
    }
    let mut config = world(forward, reverse, flows);
    config.seed = seed;
    config.hosts = (0..hosts).map(|_| random_host(&mut draw)).collect();
    if draw.one_in(2) {
        let mut mice = flow("mice", &config.hosts[0], Stop::Bytes(Bytes::new(1)));
        (mice.from, mice.to) = (Some(0), Some(1));
        let arrivals = read("arrivals, every 15 ms, size 10 kB, exponential, count 60").unwrap();
        mice.application = Some(arrivals);
        config.arrivals = vec![mice];
    }
    if draw.one_in(2) {
        let text = "datagrams, rate 2 Mbit/s, burst 5, for 1 s";
        let end = host(Profile::MODERN, 1500, "cubic", 200_000);
        config.datagrams = vec![FlowConfig {
            from: Some(1),
            to: Some(0),
            ..datagrams(text, &end, 20_000)
        }];
    }
    config
}

/// Checks that both ends of each flow agree on the bytes, without failed connections.
fn audit(seed: u64, outcome: &Outcome) {
    for flow in &outcome.flows {
        let [sender, receiver] = [&flow.sender, &flow.receiver].map(|end| end.report(outcome.now));
        assert_eq!(sender.failures + receiver.failures, 0, "seed {seed}");
        assert_eq!(sender.written, receiver.read, "seed {seed}: there");
        assert_eq!(receiver.written, sender.read, "seed {seed}: back");
        assert_eq!(
            sender.requests, sender.answered,
            "seed {seed}: all are answered"
        );
        assert!(flow.finished_at.is_some(), "seed {seed}");
    }
    for flows in &outcome.arrivals {
        let completed = flows.completion_times.count() as u64;
        assert_eq!(completed, flows.flows, "seed {seed}");
    }
    for one in &outcome.datagrams {
        let received = one.received;
        let told = received.received + one.drops.total().packets;
        assert!(
            told <= one.sent + received.duplicates,
            "seed {seed}: {one:?}"
        );
        assert!(
            received.received + received.lost <= one.sent,
            "seed {seed}: {one:?}"
        );
    }
}

#[test]
fn every_byte_arrives_between_random_hosts_and_applications() {
    for seed in 0..300 {
        let (ended, outcome) = run(random_world(seed));
        assert_eq!(ended, EndReason::Finished, "seed {seed}");
        audit(seed, &outcome);
        let again = run(random_world(seed)).1;
        assert_eq!(again.event_hash, outcome.event_hash, "seed {seed}");
    }
}
