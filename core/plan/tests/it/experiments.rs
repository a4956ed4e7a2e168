//! The plans of the repository are valid and have the published inputs.

use gigatcp_plan::{Plan, Scenario, Stop, parse};
use gigatcp_tcp::congestion::SlowStart;
use gigatcp_units::{Bytes, Duration, Rate};

fn checked(name: &str, text: &str) -> Plan {
    let plan = parse(name, text.as_bytes(), &[]).unwrap_or_else(|findings| panic!("{findings}"));
    assert!(plan.warnings.list.is_empty(), "{}", plan.warnings);
    plan
}

fn fink() -> Plan {
    checked(
        "fink",
        include_str!("../../../../experiments/fink-slow-start/plan.toml"),
    )
}

/// A scenario without the keys that were changed in 2007.
fn common_part(scenario: &Scenario) -> String {
    let mut common = scenario.clone();
    common.duration = Duration::ZERO;
    let other = fink().series[0].scenario.flows[0].clone();
    for flow in &mut common.flows {
        flow.congestion = other.congestion.clone();
        flow.initial_ssthresh = other.initial_ssthresh;
        flow.send_buffer = other.send_buffer;
        flow.receive_buffer = other.receive_buffer;
        flow.stop = other.stop;
        flow.time_sequence = other.time_sequence;
    }
    format!("{common:?}")
}

/// Inputs that were fitted for all series of that plan: the delay, the costs of the processors.
const FITTED_FOR_ALL: [&str; 3] = ["path.forward", "sender.cpu", "receiver.cpu"];

#[test]
fn fink_slow_start_runs_eight_series_as_published() {
    let runs: Vec<_> = fink()
        .series
        .into_iter()
        .filter(|series| series.fit_of.is_none())
        .map(|series| {
            let flow = series.scenario.flows[0].clone();
            let Stop::After(time) = flow.stop else {
                panic!("{} ends by bytes", series.name)
            };
            let mib = flow.send_buffer.unwrap_or_default().as_u64() >> 20;
            assert_eq!(flow.send_buffer, flow.receive_buffer);
            assert_eq!(series.fitted, FITTED_FOR_ALL);
            let seconds = time.as_nanos() / 1_000_000_000;
            (
                series.name,
                flow.congestion.name().to_owned(),
                flow.initial_ssthresh,
                mib,
                seconds,
            )
        })
        .collect();
    let expected = [
        ("reno-60MB", "reno", None, 60, 10),
        ("cubic-100-60MB", "cubic-2.6.20", Some(100), 60, 30),
        ("bic-100-60MB", "bic-2.6.20", Some(100), 60, 20),
        ("cubic-0-60MB", "cubic-2.6.20", Some(0), 60, 10),
        ("cubic-0-100MB", "cubic-2.6.20", Some(0), 100, 10),
        ("cubic-100-100MB", "cubic-2.6.20", Some(100), 100, 10),
        ("bic-0-100MB", "bic-2.6.20", Some(0), 100, 10),
        ("bic-100-100MB", "bic-2.6.20", Some(100), 100, 10),
    ];
    let expected = expected
        .map(|(name, cc, ssthresh, mib, s)| (name.to_owned(), cc.to_owned(), ssthresh, mib, s));
    assert_eq!(runs, expected);
}

#[test]
fn fink_slow_start_changes_nothing_else_between_series() {
    let plan = fink();
    let first = common_part(&plan.series[0].scenario);
    for series in plan.series.iter().filter(|series| series.fit_of.is_none()) {
        assert_eq!(common_part(&series.scenario), first, "{}", series.name);
    }
}

#[test]
fn fink_slow_start_fits_one_switch_of_the_ack_ratio_per_twin_and_nothing_else() {
    let plan = fink();
    for twin in plan.series.iter().filter(|series| series.fit_of.is_some()) {
        let of = twin.fit_of.as_deref().unwrap();
        let original = plan.series.iter().find(|series| series.name == of).unwrap();
        let (common, own) = twin.fitted.split_at(FITTED_FOR_ALL.len());
        assert_eq!(common, FITTED_FOR_ALL);
        assert_eq!(own, ["receiver.ack_every_switch"]);
        let mut scenario = twin.scenario.clone();
        let profile = &mut scenario.receiver.profile;
        assert!(
            profile.acknowledgments.ack_every_switch.is_some()
                && profile.acknowledgments.ack_every_later == 3
        );
        *profile = original.scenario.receiver.profile;
        scenario.receiver.settings = original.scenario.receiver.settings.clone();
        assert_eq!(format!("{scenario:?}"), format!("{:?}", original.scenario));
    }
}

#[test]
fn fink_slow_start_has_the_published_path() {
    let plan = fink();
    let run = &plan.series[0].scenario;
    assert_eq!(run.base_rtt(), Duration::from_micros(83_400));
    assert_eq!(run.sender.mtu, 9000);
    assert_eq!(run.receiver.profile.name, "linux-2.6.20");
    let [forwarder, netem, wire] = &run.forward[..] else {
        panic!("three hops")
    };
    assert_eq!(forwarder.limit_packets, Some(1000));
    assert_eq!(forwarder.per_packet.as_nanos(), 7656);
    assert_eq!(netem.hold_limit, Some(20_000));
    assert_eq!((netem.rate, netem.limit_bytes), (None, None));
    assert_eq!(wire.rate, Some(Rate::from_bps(10_000_000_000)));
    assert_eq!(run.sender.costs.per_byte_copied.as_u64(), 450);
    assert_eq!(run.receiver.coalesce, Duration::from_micros(25));
}

#[test]
fn dumbbell_is_a_hundred_reno_flows() {
    let plan = checked(
        "dumbbell",
        include_str!("../../../../experiments/dumbbell/plan.toml"),
    );
    assert_eq!(plan.series.len(), 4);
    let run = &plan.series[3].scenario;
    assert_eq!(run.flows.len(), 100);
    assert_eq!(run.flows[99].name, "reno-100");
    assert!(
        run.flows
            .iter()
            .all(|flow| flow.congestion.name() == "reno")
    );
    assert!(
        run.flows
            .iter()
            .all(|flow| flow.stop == Stop::After(Duration::from_secs(10)))
    );
    assert_eq!(run.forward[0].limit_bytes, Some(Bytes::new(2_500_000)));
    assert_eq!(run.duration, Duration::from_secs(10));
    assert_eq!(run.base_rtt(), Duration::from_millis(20));
}

#[test]
fn single_flow_is_one_modern_cubic() {
    let plan = checked(
        "single",
        include_str!("../../../../experiments/single-flow/plan.toml"),
    );
    let run = &plan.series[0].scenario;
    let [flow] = &run.flows[..] else {
        panic!("one flow")
    };
    assert_eq!(flow.congestion.name(), "cubic");
    assert_eq!(flow.slow_start, SlowStart::Standard);
    assert_eq!(flow.send_buffer, Some(Bytes::new(60_000_000)));
    assert_eq!(flow.receive_buffer, Some(Bytes::new(60_000_000)));
    assert_eq!(run.sender.profile.name, "modern");
    assert_eq!(run.duration, Duration::from_secs(70));
}

#[test]
fn shalunov_lan_sweep_changes_buffers_and_rfc_1323_and_nothing_else() {
    let plan = checked(
        "sweep",
        include_str!("../../../../experiments/shalunov-lan-sweep/plan.toml"),
    );
    let first = plan.series[0].scenario.clone();
    assert_eq!(first.receiver.coalesce, Duration::from_micros(200));
    for series in plan.series.iter().filter(|series| series.fitted.is_empty()) {
        let mut run = series.scenario.clone();
        let is_scaled = series.name.starts_with("scaled-");
        assert_eq!(run.sender.profile.options.window_scaling, is_scaled);
        assert_eq!(run.sender.profile.options.timestamps, is_scaled);
        assert_eq!(run.flows[0].send_buffer, run.flows[0].receive_buffer);
        run.sender.profile = first.sender.profile;
        run.sender.settings = first.sender.settings.clone();
        run.flows[0].send_buffer = first.flows[0].send_buffer;
        run.flows[0].receive_buffer = first.flows[0].receive_buffer;
        assert_eq!(format!("{run:?}"), format!("{first:?}"), "{}", series.name);
    }
}

/// "Each buffer size was independently varied from 1 to 17 packets", "in random
/// order".
#[test]
fn lance_has_each_pair_of_buffers_once_and_not_in_order() {
    let plan = checked(
        "lance",
        include_str!("../../../../experiments/lance/plan.toml"),
    );
    assert_eq!(plan.repeat, Some(4));
    let pairs: Vec<(u64, u64)> = plan
        .series
        .iter()
        .filter(|series| series.name.starts_with("lance-"))
        .map(|series| {
            let flow = &series.scenario.flows[0];
            assert_eq!(flow.stop, Stop::Bytes(Bytes::new(8_000_000)));
            let packets = |buffer: Option<Bytes>| buffer.map_or(0, |b| b.as_u64() / 1460);
            (packets(flow.send_buffer), packets(flow.receive_buffer))
        })
        .collect();
    let mut sorted = pairs.clone();
    sorted.sort_unstable();
    assert_ne!(pairs, sorted);
    let all: Vec<(u64, u64)> = (1..=17)
        .flat_map(|s| (1..=17).map(move |r| (s, r)))
        .collect();
    assert_eq!(sorted, all);
}

#[test]
fn high_speed_has_the_path_of_the_slides_and_changes_the_control_alone() {
    let text = include_str!("../../../../experiments/high-speed/plan.toml");
    let plan = checked("high-speed", text);
    assert_eq!(plan.series.len(), 31);
    let common = |scenario: &Scenario| {
        let mut common = scenario.clone();
        let first = &plan.series[0].scenario;
        common.flows[0].congestion = first.flows[0].congestion.clone();
        // Controls that need router support have it, with the same queue limit.
        common.forward[0].queue = first.forward[0].queue.clone();
        common.forward[0].quick_start = false;
        common.sender.profile.congestion.quick_start = 0;
        common.sender.settings.clear();
        format!("{common:?}")
    };
    for kind in ["loss-", "periodic-"] {
        let of_kind = plan
            .series
            .iter()
            .filter(|series| series.name.starts_with(kind));
        let scenarios: Vec<_> = of_kind.map(|series| &series.scenario).collect();
        assert_eq!(scenarios.len(), 14);
        for scenario in scenarios {
            assert_eq!(scenario.base_rtt(), Duration::from_millis(70));
            let rate = scenario.forward[0].rate;
            assert_eq!(rate, Some(Rate::from_bps(1_000_000_000)));
            let first = plan
                .series
                .iter()
                .find(|series| series.name.starts_with(kind));
            assert_eq!(common(scenario), common(&first.expect("one").scenario));
        }
    }
}

#[test]
fn boots_has_the_path_and_hosts_of_shalunov_wan_and_draws_one_cost_a_boot() {
    let boots = include_str!("../../../../experiments/boots/plan.toml");
    let wan = include_str!("../../../../experiments/shalunov-wan/plan.toml");
    let [boots, wan] =
        [("boots", boots), ("shalunov-wan", wan)].map(|(name, text)| checked(name, text));
    let [run, of_2001] = [&boots, &wan].map(|plan| &plan.series[0].scenario);
    assert_eq!(run.base_rtt(), of_2001.base_rtt());
    assert_eq!(run.forward, of_2001.forward);
    assert_eq!(run.sender.profile, of_2001.sender.profile);
    assert_eq!((run.sender.mtu, run.receiver.mtu), (4470, 4470));
    let sweep = boots.sweep.expect("a sweep");
    assert_eq!(sweep.draw, ["sender.cpu.per_packet_sent = 148 us..161 us"]);
}
