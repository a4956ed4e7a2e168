//! The kernel's pool of clusters: its contents, and its exhaustion.
//!
//! 1024 clusters of 2048 bytes are those of FreeBSD kern/6032 (1998), with FDDI's MTU of 4352 and
//! buffers of 896 KiB. A packet of 4352 bytes takes three.

use crate::common::{flow, host, link, run, world};
use gigatcp_path::{ClustersConfig, DropCause};
use gigatcp_sim::{FlowConfig, HostConfig, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration};

fn fddi(buffer: u64) -> HostConfig {
    let mut host = host(Profile::MODERN, 4352, "reno", buffer);
    host.tcp.transport_mut().profile.congestion.initial_window =
        gigatcp_tcp::profile::InitialWindow::Segments(2);
    host
}

fn pool(count: u32) -> Option<ClustersConfig> {
    Some(ClustersConfig { count, size: 2048 })
}

/// Runs connections between two hosts over 1 Gbit/s and an RTT of 20 ms.
fn connections(count: usize, ends: [HostConfig; 2], stop: Stop) -> Outcome {
    let flows = (0..count).map(|number| {
        let mut flow = FlowConfig {
            name: format!("flow {number}"),
            from: Some(0),
            to: Some(1),
            receiver: ends[1].clone(),
            ..flow("flow", &ends[0], stop)
        };
        flow.sender.tcp.local_port += number as u16;
        flow
    });
    let path = |name| link(name, 1_000_000_000, Duration::from_millis(10), 2000);
    let mut config = world(path("forward"), path("reverse"), flows.collect());
    config.hosts = ends.to_vec();
    run(config).1
}

/// 212 segments of 4312 bytes fill a buffer of 896 KiB: 638 clusters per connection.
///
/// Two connections would need more than exist. The pool holds 341 packets.
#[test]
fn two_full_receive_buffers_do_not_fit_in_1024_clusters() {
    let buffer = 896 * 1024;
    let mut receiver = fddi(buffer);
    receiver.clusters = pool(1024);
    receiver.reader.pause = Some((Bytes::new(1), Duration::from_secs(3)));
    for (count, most, drops) in [(1, 630..=642, false), (2, 1022..=1024, true)] {
        let ends = [fddi(buffer), receiver.clone()];
        let stop = Stop::Bytes(Bytes::new(2_000_000));
        let outcome = connections(count, ends, stop);
        let pool = outcome.hosts[1].clusters().unwrap();
        assert!(most.contains(&pool.max_used()), "{}", pool.max_used());
        let dropped = outcome.hosts[1].drops()[DropCause::Clusters].packets;
        assert_eq!(dropped > 0, drops, "{dropped} dropped");
        for flow in &outcome.flows {
            assert_eq!(flow.bytes(), Bytes::new(2_000_000), "it recovers");
        }
        assert_eq!(pool.used(), 0, "and everything comes back");
    }
}

/// 64 clusters hold 131,072 bytes that wait for their ACKs: 52.4 Mbit/s at 20 ms.
///
/// This holds for one connection and for two together, whatever buffers they have.
#[test]
fn writes_wait_for_clusters_of_the_pool() {
    for count in [1, 2] {
        let mut sender = fddi(4_000_000);
        sender.clusters = pool(64);
        let stop = Stop::After(Duration::from_secs(5));
        let outcome = connections(count, [sender, fddi(4_000_000)], stop);
        let bits: f64 = outcome
            .flows
            .iter()
            .map(|flow| flow.bytes().as_bits_f64())
            .sum();
        let rate = bits / 5.0 / 52.43e6;
        assert!((0.93..1.01).contains(&rate), "{count}: {rate}");
        let pool = outcome.hosts[0].clusters().unwrap();
        assert_eq!(pool.max_used(), 64);
        assert_eq!(
            outcome.hosts[0].drops().total().packets,
            0,
            "ACKs need none"
        );
    }
}
