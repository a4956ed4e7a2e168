//! Corrupted packets: the receiving host drops them, and TCP retransmits them.

use crate::common::{datagrams, flow, host, link, run, wire, world};
use gigatcp_path::{CpuCosts, DropCause, HopConfig, LossModel};
use gigatcp_sim::{EndReason, HostConfig, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Probability};

const DELAY: Duration = Duration::from_millis(10);

fn damaging(hop: HopConfig, p: f64) -> HopConfig {
    HopConfig {
        corrupt: vec![LossModel::Bernoulli(Probability::try_new(p).unwrap())],
        ..hop
    }
}

fn transfer(host: &HostConfig, forward: HopConfig, reverse: HopConfig) -> Outcome {
    let bytes = Bytes::new(20_000_000);
    let flows = vec![flow("one", host, Stop::Bytes(bytes))];
    let (ended, outcome) = run(world(forward, reverse, flows));
    assert_eq!(ended, EndReason::Finished);
    assert_eq!(outcome.flows[0].bytes(), bytes);
    outcome
}

fn errors(outcome: &Outcome) -> [u64; 2] {
    let flow = &outcome.flows[0];
    [&flow.sender, &flow.receiver].map(|end| end.socket().drops()[DropCause::Checksum].packets)
}

/// An ideal host, and one whose card and CPU take time.
fn hosts() -> [HostConfig; 2] {
    let ideal = host(Profile::MODERN, 1500, "cubic", 4_000_000);
    let busy = HostConfig {
        costs: CpuCosts {
            per_packet_received: Duration::from_micros(2),
            ..CpuCosts::default()
        },
        ..ideal.clone()
    };
    [ideal, busy]
}

#[test]
fn every_damaged_packet_is_counted_by_the_host_that_drops_it_and_the_data_arrive() {
    for host in hosts() {
        let forward = damaging(link("bottleneck", 100_000_000, DELAY, 1000), 0.002);
        let outcome = transfer(&host, forward, damaging(wire("reverse", DELAY), 0.002));
        let damaged = [1, 0].map(|hop| outcome.hops[hop].counters().corrupted.packets);
        assert!(damaged.iter().all(|packets| *packets > 5), "{damaged:?}");
        // Packets still on the path at the end are in neither count.
        let dropped = errors(&outcome);
        let missing = damaged[0] - dropped[0] + damaged[1] - dropped[1];
        assert!(missing <= 2, "{damaged:?} {dropped:?}");
        let hops = outcome.hops.iter();
        assert!(
            hops.map(|hop| hop.counters().drops.total().packets)
                .all(|drops| drops == 0)
        );
        let sender = outcome.flows[0].sender.connection().unwrap();
        assert!(sender.counters().retransmitted_segments >= dropped[1]);
    }
}

/// Loss at the same rate costs as much goodput, within the spread of runs.
#[test]
fn damage_on_a_clean_link_costs_what_loss_costs() {
    let [ideal, _] = hosts();
    let plain = || link("bottleneck", 100_000_000, DELAY, 1000);
    let models = vec![LossModel::Periodic { every: 700 }];
    let lossy = HopConfig {
        loss: models.clone(),
        ..plain()
    };
    let damaged = HopConfig {
        corrupt: models,
        ..plain()
    };
    let time = |forward| {
        transfer(&ideal, forward, wire("reverse", DELAY))
            .now
            .as_secs_f64()
    };
    let (lost, damaged) = (time(lossy), time(damaged));
    assert!((damaged / lost - 1.0).abs() < 0.05, "{damaged} {lost}");
}

#[test]
fn a_damaged_datagram_is_lost_and_counted_by_its_sink() {
    for host in hosts() {
        let forward = damaging(link("bottleneck", 100_000_000, DELAY, 1000), 0.01);
        let mut config = world(forward, wire("reverse", DELAY), Vec::new());
        let text = "datagrams, rate 10 Mbit/s, size 1000, count 5000";
        config.datagrams = vec![datagrams(text, &host, 200_000)];
        let (_, outcome) = run(config);
        let udp = outcome.datagrams[0];
        let damaged = outcome.hops[0].counters().corrupted.packets;
        assert!(
            damaged > 20 && udp.drops[DropCause::Checksum].packets == damaged,
            "{udp:?}"
        );
        assert_eq!(udp.received.received, 5000 - damaged);
    }
}
