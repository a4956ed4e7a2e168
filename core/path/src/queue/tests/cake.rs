//! CAKE: fairness among flows and hosts, tins, and what follows from the rate of the link.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Rate};

use super::{Trial, octets, unlimited};
use crate::queue::Value;

/// An RTT so long that the AQM never acts.
const NO_AQM: (&str, Value) = ("rtt", Value::Time(Duration::from_secs(1000)));

fn trial(set: &[(&str, Value)]) -> Trial {
    Trial::new("cake", set, octets(u64::MAX))
}

/// Sends `count` packets back to back at `rate`; returns octets by `key` of the ticket.
fn served<const N: usize>(
    trial: &mut Trial,
    rate: f64,
    count: usize,
    key: impl Fn(u32) -> usize,
) -> [u64; N] {
    let (mut now, mut sent) = (1.0, [0; N]);
    for _ in 0..count {
        let ticket = trial.depart(now).unwrap();
        sent[key(ticket.flow)] += u64::from(ticket.octets);
        now += f64::from(ticket.octets) * 8.0 / rate;
    }
    sent
}

#[test]
fn backlogged_flows_share_octets_whatever_their_packet_sizes() {
    let mut trial = trial(&[NO_AQM]);
    for (flow, size) in [300, 700, 1500].into_iter().enumerate() {
        trial.next.octets = size;
        trial.next.hosts = [flow as u16; 2];
        for _ in 0..1_000_000 / size {
            trial.arrive(0.0, flow as u32);
        }
    }
    let sent: [u64; 3] = served(&mut trial, 1e9, 1500, |flow| flow as usize);
    let spread = sent.iter().max().unwrap() - sent.iter().min().unwrap();
    assert!(spread <= 1514 + 1500, "{sent:?}");
}

/// Share of a host with one flow beside a host with eight.
fn share_of_one_beside_eight(set: &[(&str, Value)], own_servers: bool) -> f64 {
    let mut trial = trial(&[&[NO_AQM], set].concat());
    trial.next.octets = 1500;
    for flow in 0..9_u16 {
        // Downloads: the homes' hosts are destinations.
        let server = if own_servers { 10 + flow } else { 10 };
        trial.next.hosts = [server, u16::from(flow == 8)];
        for _ in 0..2000 {
            trial.arrive(0.0, u32::from(flow));
        }
    }
    let sent: [u64; 2] = served(&mut trial, 1e8, 3000, |flow| usize::from(flow == 8));
    sent[1] as f64 / (sent[0] + sent[1]) as f64
}

/// Half by host, a ninth by flow. With `triple-isolate` half if the flows come from servers of
/// their own; from one server all its nine flows have its load, so it is a ninth.
#[test]
fn host_with_one_flow_has_half_beside_a_host_with_eight() {
    let flag = Value::Flag;
    let half = |share: f64| (share - 0.5).abs() < 0.01;
    let ninth = |share: f64| (share - 1.0 / 9.0).abs() < 0.005;
    let by_flow = [("srchost", flag(false)), ("dsthost", flag(false))];
    assert!(ninth(share_of_one_beside_eight(&by_flow, true)));
    let dual_dsthost = [("srchost", flag(false))];
    for own_servers in [false, true] {
        let share = share_of_one_beside_eight(&dual_dsthost, own_servers);
        assert!(half(share), "{share}");
    }
    assert!(half(share_of_one_beside_eight(&[], true)));
    assert!(ninth(share_of_one_beside_eight(&[], false)));
}

/// RFC 8290 section 5.3 has 91 % of 100 flows alone; sets of eight leave practically none together.
#[test]
fn hundred_flows_have_queues_of_their_own() {
    let mut shared = 0;
    for seed in 0..20 {
        let mut trial = Trial::with_seed("cake", &[NO_AQM], octets(u64::MAX), seed);
        for flow in 0..100 {
            trial.next.hosts = [flow as u16, flow as u16];
            trial.arrive(0.0, flow);
            trial.arrive(0.0, flow);
        }
        // One packet of 1000 octets exceeds no quantum of 1514, two do: each flow alone sends two
        // in a row.
        let flows: Vec<u32> = core::iter::from_fn(|| trial.depart(0.0))
            .map(|t| t.flow)
            .collect();
        shared += flows.chunks(2).filter(|pair| pair[0] != pair[1]).count();
    }
    assert_eq!(shared, 0);
}

/// Shares of a backlogged tin of each kind on a link of 10 Mbit/s.
#[test]
fn backlogged_tins_have_the_shares_of_their_scheme() {
    const CS1: u8 = 8;
    const AF41: u8 = 34;
    const EF: u8 = 46;
    // (tins, DSCPs, shares). The lowest tin within its share goes last; best effort has the rest.
    let cases: [(u64, [u8; 4], [f64; 4]); 2] = [
        (3, [0, CS1, EF, EF], [0.6875, 0.0625, 0.25, 0.0]),
        (4, [0, CS1, AF41, EF], [0.1875, 0.0625, 0.5, 0.25]),
    ];
    for (tins, dscps, shares) in cases {
        let mut trial = trial(&[NO_AQM, ("tins", Value::Count(tins))]);
        trial.rate(10_000_000);
        for (flow, dscp) in dscps.into_iter().enumerate() {
            if shares[flow] == 0.0 {
                continue;
            }
            trial.next.dscp = dscp;
            trial.next.hosts = [flow as u16; 2];
            for _ in 0..4000 {
                trial.arrive(1.0, flow as u32);
            }
        }
        let sent: [u64; 4] = served(&mut trial, 10e6, 4000, |flow| flow as usize);
        let total: u64 = sent.iter().sum();
        for (flow, share) in shares.into_iter().enumerate() {
            let got = sent[flow] as f64 / total as f64;
            assert!((got - share).abs() < 0.01, "{tins}: {sent:?}");
        }
    }
}

/// A tenth of the rate, less than the quarter: each packet waits for the one in service only.
#[test]
fn voice_within_its_share_passes_a_backlog_of_best_effort() {
    let mut trial = trial(&[NO_AQM]);
    trial.rate(10_000_000);
    for _ in 0..5000 {
        trial.arrive(1.0, 0);
    }
    trial.next.dscp = 46;
    let (mut now, mut next, mut longest) = (1.0, 1.0, 0.0_f64);
    for _ in 0..4000 {
        while next <= now {
            trial.arrive(next, 1);
            next += 0.008;
        }
        let ticket = trial.depart(now).unwrap();
        if ticket.flow == 1 {
            longest = longest.max(now - ticket.arrived.as_secs_f64());
        }
        now += 0.0008;
    }
    assert!(longest <= 0.0008 + 1e-9, "{longest}");
}

/// 4 · 100 ms of 1 Gbit/s are 50 MB, where 10,240 full frames are the most; of 10 Mbit/s 0.5 MB, where
/// 4 MiB are the least.
#[test]
fn default_limit_is_four_bdps_and_4_mib_at_least() {
    for (mbps, limit) in [(10, 4 << 20), (1000, 10_240 * 1514)] {
        let mut trial = Trial::new("cake", &[], unlimited());
        trial.link.rate = Some(Rate::from_bps(mbps * 1_000_000));
        trial.next.octets = 1000;
        let fitting = limit / 1000;
        trial.arrive_many(0.0, fitting);
        assert!(trial.dropped.is_empty());
        trial.arrive_many(0.0, 10);
        assert_eq!(trial.dropped.len(), 10);
    }
}

/// On overflow the longest queue loses its oldest packets.
#[test]
fn overflow_takes_from_the_longest_queue() {
    let mut trial = Trial::new("cake", &[], octets(100_000));
    for _ in 0..40 {
        trial.arrive(0.0, 1);
    }
    for _ in 0..60 {
        trial.arrive(0.0, 2);
    }
    for _ in 0..5 {
        trial.arrive(0.0, 1);
    }
    assert_eq!(trial.dropped_parcels(), [40, 41, 42, 43, 44]);
}
