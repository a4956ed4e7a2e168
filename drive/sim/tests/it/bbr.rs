//! BBR with the engine's own recovery, delayed ACKs and super-segments.

use crate::common::{flow, host, link, run, smss, wire, world};
use gigatcp_path::{HopConfig, LossModel, RateSource, Schedule};
use gigatcp_sim::observe::Sample;
use gigatcp_sim::{FlowConfig, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Probability, Rate};

const MTU: u64 = 1500;

fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

/// A bottleneck with this RTT below it and this queue.
fn bottleneck(rate: u64, rtt: f64, packets: u64) -> HopConfig {
    link("bottleneck", rate, seconds(rtt / 2.0), packets)
}

fn sender(control: &str, stop: Stop) -> FlowConfig {
    let host = host(Profile::MODERN, MTU as u16, control, 16_000_000);
    flow(control, &host, stop)
}

/// Runs one flow with samples every 10 ms, to its end or for `end` seconds.
fn alone(hop: HopConfig, flow: FlowConfig, end: f64) -> Outcome {
    let back = wire("reverse", hop.one_way_delay);
    let mut config = world(hop, back, vec![flow]);
    config.end = seconds(end);
    config.observe.sample_step = seconds(0.01);
    config.observe.account = false;
    run(config).1
}

fn samples(outcome: &Outcome) -> &[Sample] {
    outcome.flows[0].samples.as_slice()
}

/// Bits per second of payload between two times.
fn goodput(outcome: &Outcome, from: f64, to: f64) -> f64 {
    let samples = samples(outcome);
    let at = |s: f64| {
        let index = samples.partition_point(|sample| sample.at.as_secs_f64() < s);
        samples[index.min(samples.len() - 1)].delivered as f64
    };
    (at(to) - at(from)) * 8.0 / (to - from)
}

fn finished(outcome: &Outcome) -> f64 {
    let end = outcome.flows[0].finished_at.expect("all was delivered");
    end.as_secs_f64()
}

/// Requirements of `quiche`'s simulator for version 3: 12 MB in 30 s, no loss.
///
/// 4 Mbit/s, 72 ms, a queue of two BDPs; SRTT at most 2.5 RTT. Version 1 has 1.89 BDPs and three
/// super-segments queued after Startup: it may overflow that queue once.
#[test]
fn twelve_megabytes_over_4_mbit_take_30_seconds_without_a_loss() {
    for (control, most_lost) in [("bbr3", 0), ("bbr", 10)] {
        let flow = sender(control, Stop::Bytes(Bytes::new(12_000_000)));
        let outcome = alone(bottleneck(4_000_000, 0.072, 48), flow, 60.0);
        assert!(
            finished(&outcome) <= 30.0,
            "{control}: {}",
            finished(&outcome)
        );
        let last = outcome.flows[0].sender.connection().expect("open").info();
        let min_rtt = last.min_rtt.expect("measured").as_secs_f64();
        assert!((min_rtt / 0.075 - 1.0).abs() < 0.2, "{control}: {min_rtt}");
        let srtt = last.srtt.expect("measured").as_secs_f64();
        assert!(srtt <= 2.5 * 0.075, "{control}: {srtt}");
        let lost = outcome.hops[0].counters().drops.total().packets;
        assert!(lost <= most_lost, "{control}: {lost}");
    }
}

/// Expected of version 1: 0.965 of the rate as payload, less 2 % for ProbeRTT.
///
/// Of version 3: its short-term bounds follow the delivery of each lossy round, 1 % less per round
/// for up to 63 rounds: 0.74 of that on average at worst. The expectation before the run was 0.85,
/// which left out this effect; measured were 0.837. CUBIC has a window of 1.2/sqrt(p) segments:
/// 0.15.
#[test]
fn one_per_cent_of_loss_costs_its_own_share_alone() {
    let goodputs = ["bbr", "bbr3", "cubic"].map(|control| {
        let mut hop = bottleneck(20_000_000, 0.04, 200);
        hop.loss = vec![LossModel::Bernoulli(Probability::try_new(0.01).unwrap())];
        let outcome = alone(hop, sender(control, Stop::After(seconds(60.0))), 20.0);
        goodput(&outcome, 2.0, 20.0) / 20e6
    });
    assert!(goodputs[0] > 0.9 && goodputs[1] > 0.7, "{goodputs:?}");
    assert!(goodputs[2] < 0.2, "{goodputs:?}");
}

/// Requirements of `quiche` for steps of the rate by a factor of 100.
///
/// 0.1 Mbit/s for 15 s, then 10: 20 MB are complete 50 s after the start. From 10 to 0.1 Mbit/s at
/// 10 s: complete at most 800 s later, of which the remaining data takes 660 s at the new rate.
/// Required of version 3; the first also of version 1. The queue is short in the second case: one
/// of two BDPs becomes an RTT of 12 s. With ProbeRTT due every 5 s no cycle ends then, which would
/// expire the old rate, and the transfer takes 822 s.
#[test]
fn a_hundred_times_the_rate_is_found_and_a_hundredth_survived() {
    let step = |from: u64, to: u64, at: f64| {
        let steps = vec![(seconds(at), Rate::from_bps(to))];
        HopConfig {
            rate_source: Some(RateSource::Schedule(Schedule { steps, every: None })),
            ..bottleneck(from, 0.06, 100)
        }
    };
    for control in ["bbr", "bbr3"] {
        let flow = sender(control, Stop::Bytes(Bytes::new(20_000_000)));
        let outcome = alone(step(100_000, 10_000_000, 15.0), flow, 120.0);
        assert!(
            finished(&outcome) <= 50.0,
            "{control}: {}",
            finished(&outcome)
        );
    }
    let flow = sender("bbr3", Stop::Bytes(Bytes::new(20_000_000)));
    let mut hop = step(10_000_000, 100_000, 10.0);
    hop.limit_packets = Some(30);
    let outcome = alone(hop, flow, 2000.0);
    assert!(finished(&outcome) <= 810.0, "{}", finished(&outcome));
}

/// Expected in flight in ProbeRTT of version 3: at least half a BDP.
///
/// That is every 5 s. Version 1 has four segments, every 10 s.
#[test]
fn probe_rtt_takes_what_each_version_says() {
    for (control, period) in [("bbr", 10.0), ("bbr3", 5.0)] {
        let flow = sender(control, Stop::After(seconds(60.0)));
        let outcome = alone(bottleneck(20_000_000, 0.04, 200), flow, 32.0);
        let bdp = 20e6 * 0.04 / 8.0;
        let small = |one: &&Sample| (one.cwnd.as_u64() as f64) < 0.6 * bdp;
        let late = samples(&outcome)
            .iter()
            .filter(|sample| sample.at.as_secs_f64() > 2.0);
        let times: Vec<&Sample> = late.filter(small).collect();
        let mut starts = vec![times[0].at.as_secs_f64()];
        for pair in times.windows(2) {
            if pair[1].at.as_secs_f64() - pair[0].at.as_secs_f64() > 1.0 {
                starts.push(pair[1].at.as_secs_f64());
            }
        }
        for pair in starts.windows(2) {
            let gap = pair[1] - pair[0];
            assert!(
                (period..period + 0.6).contains(&gap),
                "{control}: {starts:?}"
            );
        }
        let is_bare = times
            .iter()
            .any(|sample| sample.cwnd.as_u64() <= 4 * u64::from(smss(&outcome)));
        assert_eq!(is_bare, control == "bbr");
        let share = goodput(&outcome, 2.0, 32.0) / 20e6;
        assert!(share > 0.9, "{control}: {share}");
    }
}

/// Expected: about the 134 retransmissions of Linux 6.18 over this path.
///
/// Its send buffer holds less than Startup's window, so the writer always waits for space. If that
/// counts as the application's limit, Startup does not end: 2,349 before, 480 if only the parts of
/// a call count.
#[test]
fn startup_ends_behind_a_full_send_buffer() {
    let mut linux = host(Profile::LINUX_6_18, MTU as u16, "bbr", 192 * 1024);
    linux.coalesce = Profile::LINUX_6_18.segments.interrupt_interval;
    let mut flow = flow("bbr", &linux, Stop::After(seconds(60.0)));
    flow.receiver.tcp.transport_mut().receive_buffer = None;
    let outcome = alone(bottleneck(20_000_000, 0.06, 66), flow, 8.0);
    let sender = outcome.flows[0].sender.connection().expect("open");
    let resent = sender.counters().retransmitted_segments;
    assert!(resent < 250, "{resent}");
}
