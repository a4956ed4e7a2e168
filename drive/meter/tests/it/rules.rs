//! Each rule against a host that is well tuned for its path except in one thing.

mod host;
mod hostile;

use gigatcp_meter::doctor::facts::{
    Cgroup, Coalescing, Conntrack, HostFacts, Interface, Offloads, PeerMetrics, Qdisc, Route,
};
use gigatcp_meter::doctor::{Direction, Path, RULES, examine, find};
use gigatcp_units::{Duration, Probability, Rate};

use host::{RATE, frequency, good, path, queue};

/// A rule, a change of a well tuned host that triggers it, and the ceiling. The ceiling is
/// calculated by its formula, in Mbit/s.
struct Case {
    id: &'static str,
    mbps: Option<f64>,
    mistune: fn(&mut HostFacts, &mut Path),
}

fn set(facts: &mut HostFacts, name: &str, value: &str) {
    facts.sysctls.insert(name.into(), value.into());
}

fn card_of(facts: &mut HostFacts) -> &mut Interface {
    facts.interface.as_mut().expect("an interface")
}

fn offloads_of(facts: &mut HostFacts) -> &mut Offloads {
    card_of(facts).offloads.as_mut().expect("offloads")
}

fn route_of(facts: &mut HostFacts) -> &mut Route {
    facts.route.as_mut().expect("a route")
}

fn count(facts: &mut HostFacts, counter: &str, value: u64) {
    let counters = card_of(facts).statistics.as_mut().expect("counters");
    counters.insert(counter.into(), value);
}

const fn case(id: &'static str, mbps: Option<f64>, mistune: fn(&mut HostFacts, &mut Path)) -> Case {
    Case { id, mbps, mistune }
}

/// Windows over 80 ms: 8 bit x window / 0.08 s.
const WINDOWS: [Case; 12] = [
    // 6 MiB x 0.63.
    case("receive-buffer-max", Some(396.4), |facts, _| {
        set(facts, "net.ipv4.tcp_rmem", "4096 131072 6291456");
    }),
    case("receive-buffer-default", None, |facts, _| {
        set(facts, "net.ipv4.tcp_rmem", "4096 16384 268435456");
    }),
    // 128 KiB x 0.63.
    case("receive-autotuning-off", Some(8.258), |facts, _| {
        set(facts, "net.ipv4.tcp_moderate_rcvbuf", "0");
    }),
    // 5/6 of 4 MiB; the mean wait for its own bursts adds 0.56 ms to the RTT.
    case("send-buffer-max", Some(347.1), |facts, _| {
        set(facts, "net.ipv4.tcp_wmem", "4096 16384 4194304");
    }),
    // 2 x 208 KiB x 0.63, and x 5/6.
    case("rcvbuf-limit", Some(26.84), |facts, _| {
        set(facts, "net.core.rmem_max", "212992")
    }),
    case("sndbuf-limit", Some(35.50), |facts, _| {
        set(facts, "net.core.wmem_max", "212992")
    }),
    case("window-scaling-off", Some(6.554), |facts, _| {
        set(facts, "net.ipv4.tcp_window_scaling", "0");
    }),
    // A quarter of 256 MiB.
    case("window-share", Some(6_711.0), |facts, _| {
        facts.kernel = Some("5.15.0-91-generic".into());
        set(facts, "net.ipv4.tcp_adv_win_scale", "-2");
    }),
    // Four segments.
    case("tcp-memory", Some(0.5792), |facts, _| {
        facts.tcp_memory_pages = Some(8_000_000)
    }),
    // 32 MiB x 0.63.
    case("cgroup-memory", Some(2_114.0), |facts, _| {
        facts.cgroup = Some(Cgroup {
            memory_path: Some("/sys/fs/cgroup/lab".into()),
            memory_max_bytes: Some(64 << 20),
            memory_current_bytes: Some(32 << 20),
            ..Cgroup::default()
        });
    }),
    // 64 KiB per 100 us.
    case("output-limit", Some(5_243.0), |facts, _| {
        set(facts, "net.ipv4.tcp_limit_output_bytes", "65536");
        card_of(facts)
            .coalescing
            .as_mut()
            .expect("coalescing")
            .tx_us = 100;
    }),
    // 100 segments.
    case("cached-ssthresh", Some(14.48), |facts, _| {
        facts.peer = Some(PeerMetrics {
            ssthresh_segments: Some(100),
            ..PeerMetrics::default()
        });
    }),
];

const PROTOCOL: [Case; 5] = [
    // 1.054 (0.08 / 1e-5)^(3/4) = 891.6 segments.
    case("congestion-control", Some(129.1), |_, path| {
        path.loss = Probability::try_new(1e-5);
    }),
    case("sack-off", None, |facts, _| {
        set(facts, "net.ipv4.tcp_sack", "0")
    }),
    case("timestamps-off", None, |facts, _| {
        set(facts, "net.ipv4.tcp_timestamps", "0")
    }),
    case("idle-restart", None, |facts, _| {
        set(facts, "net.ipv4.tcp_slow_start_after_idle", "1");
    }),
    case("mtu-probing-off", None, |facts, _| {
        card_of(facts).mtu_bytes = Some(9000)
    }),
];

const ROUTE: [Case; 9] = [
    // The scale that 1,000,000 bytes allow is 4: 65535 x 16.
    case("route-window", Some(104.9), |facts, _| {
        route_of(facts).metrics.window_bytes = Some(1_000_000);
    }),
    case("route-cwnd", Some(14.48), |facts, _| {
        route_of(facts).metrics.cwnd_segments = Some(100);
        route_of(facts).metrics.locks = 1 << 7;
    }),
    // Payload of a frame: 524 of 614 bytes instead of 1448 of 1538.
    case("route-advmss", Some(9_065.0), |facts, _| {
        route_of(facts).metrics.advmss_bytes = Some(536);
    }),
    // 948 of 1038.
    case("route-mtu", Some(9_701.0), |facts, _| {
        route_of(facts).metrics.mtu_bytes = Some(1000);
    }),
    case("route-initcwnd", None, |facts, _| {
        route_of(facts).metrics.initcwnd_segments = Some(1);
    }),
    case("route-initrwnd", None, |facts, _| {
        route_of(facts).metrics.initrwnd_segments = Some(2);
    }),
    case("route-rto-min", None, |facts, _| {
        route_of(facts).metrics.rto_min_ms = Some(1_000);
    }),
    // 1348 of 1438.
    case("small-mtu", Some(9_957.0), |facts, _| {
        card_of(facts).mtu_bytes = Some(1400)
    }),
    case("path-mtu", Some(9_957.0), |facts, _| {
        route_of(facts).path_mtu_bytes = Some(1400)
    }),
];

const CARD: [Case; 15] = [
    // 1448 of 1514 bytes of each packet with its link header.
    case("qdisc-rate", Some(956.4), |facts, _| {
        let tbf = Qdisc {
            rate_bps: Some(1_000_000_000),
            ..queue("tbf", None)
        };
        facts.qdiscs = Some(vec![tbf]);
    }),
    // (1 + 0.7) / 2: it holds 8 of the 20 super-packets that a millisecond fills.
    case("short-queue", Some(8_500.0), |facts, _| {
        card_of(facts).speed_mbit = Some(10_000);
        facts.qdiscs = Some(vec![queue("pfifo", Some(8))]);
    }),
    case("link-speed", Some(941.5), |facts, _| {
        card_of(facts).speed_mbit = Some(1000)
    }),
    case("half-duplex", Some(5_000.0), |facts, _| {
        card_of(facts).speed_mbit = Some(10_000);
        card_of(facts).duplex = Some("half".into());
    }),
    // 1448 bytes in 800 + 130 ns.
    case("segmentation-off", Some(12_452.0), |facts, path| {
        path.rate = Rate::from_bps(100_000_000_000);
        offloads_of(facts).tso = Some(false);
        offloads_of(facts).gso = Some(false);
    }),
    // In 50 + 275 ns.
    case("tx-checksum-off", Some(35_630.0), |facts, path| {
        path.rate = Rate::from_bps(100_000_000_000);
        offloads_of(facts).tx_checksum = Some(false);
    }),
    // In 800 + 87 ns.
    case("gro-off", Some(13_062.0), |facts, path| {
        path.rate = Rate::from_bps(100_000_000_000);
        offloads_of(facts).gro = Some(false);
    }),
    // In 250 + 232 ns.
    case("rx-checksum-off", Some(24_049.0), |facts, path| {
        path.rate = Rate::from_bps(100_000_000_000);
        offloads_of(facts).rx_checksum = Some(false);
    }),
    // 512 x 1448 bytes in 1 ms.
    case("rx-ring", Some(5_931.0), |facts, _| {
        card_of(facts).rings.as_mut().expect("rings").rx = 512;
    }),
    case("coalescing-delay", None, |facts, _| {
        let delay = Coalescing {
            rx_us: 20_000,
            rx_frames: 64,
            ..Coalescing::default()
        };
        card_of(facts).coalescing = Some(delay);
    }),
    // In 250 + 1000 + 87 ns.
    case("interrupt-per-packet", Some(8_665.0), |facts, _| {
        let each = Coalescing {
            rx_frames: 1,
            ..Coalescing::default()
        };
        card_of(facts).coalescing = Some(each);
    }),
    // 1.054 (0.08 / 1e-4)^(3/4) = 158.5 segments.
    case("interface-drops", Some(22.96), |facts, _| {
        count(facts, "rx_missed_errors", 100_000)
    }),
    case("interface-errors", Some(22.96), |facts, _| {
        count(facts, "rx_crc_errors", 100_000)
    }),
    // In 250 + 87 ns.
    case("one-interrupt-cpu", Some(34_386.0), |facts, path| {
        path.rate = Rate::from_bps(100_000_000_000);
        let lines = card_of(facts).interrupts.as_mut().expect("interrupts");
        lines.pop();
    }),
    // 70 % of that.
    case("numa-node", Some(24_070.0), |facts, path| {
        path.rate = Rate::from_bps(100_000_000_000);
        card_of(facts).numa_node = Some(1);
    }),
];

const HOST: [Case; 6] = [
    case("softnet-drops", Some(22.96), |facts, _| {
        facts.softnet.as_mut().expect("counters")[0].dropped = 100_000;
    }),
    case("softnet-squeezed", None, |facts, _| {
        facts.softnet.as_mut().expect("counters")[0].squeezed = 400_000;
    }),
    // 100 x 1448 bytes in 1 ms.
    case("short-backlog", Some(1_158.0), |facts, _| {
        set(facts, "net.core.netdev_max_backlog", "100");
        card_of(facts).is_virtual = Some(true);
    }),
    // 800 of 3000 MHz, and a fifth, of 34,386 Mbit/s.
    case("cpu-governor", Some(9_170.0), |facts, _| {
        facts.frequencies = Some(vec![frequency("powersave", "acpi-cpufreq")]);
    }),
    case("cgroup-cpu", Some(6_877.0), |facts, _| {
        facts.cgroup = Some(Cgroup {
            cpu_quota_us: Some(20_000),
            cpu_period_us: Some(100_000),
            ..Cgroup::default()
        });
    }),
    case("conntrack-full", Some(0.0), |facts, _| {
        facts.conntrack = Some(Conntrack {
            count: 262_144,
            max: 262_144,
        });
    }),
];

fn cases() -> impl Iterator<Item = &'static Case> {
    let groups: [&[Case]; 5] = [&WINDOWS, &PROTOCOL, &ROUTE, &CARD, &HOST];
    groups.into_iter().flatten()
}

#[test]
fn a_well_tuned_host_has_no_finding() {
    let report = examine(&good(), &path());
    let found: Vec<_> = report.findings.iter().map(|found| found.rule.id).collect();
    assert_eq!(found, [""; 0]);
    assert_eq!(report.missing, []);
}

#[test]
fn each_setting_made_wrong_is_found_alone_with_the_ceiling_of_its_formula() {
    for case in cases() {
        let (mut facts, mut path) = (good(), path());
        (case.mistune)(&mut facts, &mut path);
        let report = examine(&facts, &path);
        let found: Vec<_> = report.findings.iter().map(|found| found.rule.id).collect();
        if path.rate == RATE {
            assert_eq!(found, [case.id]);
        }
        let found = report
            .findings
            .iter()
            .find(|found| found.rule.id == case.id);
        let finding = &found
            .unwrap_or_else(|| panic!("{} among {found:?}", case.id))
            .finding;
        let mbps = finding.ceiling.map(|rate| rate.as_bps() as f64 / 1e6);
        match (mbps, case.mbps) {
            (Some(found), Some(expected)) => {
                let off = (found - expected).abs();
                assert!(
                    off <= expected * 0.001,
                    "{}: {found}, not {expected}",
                    case.id
                );
            }
            (found, expected) => assert_eq!(found, expected, "{}", case.id),
        }
    }
}

#[test]
fn every_rule_is_made_to_find_something_and_has_an_id_of_its_own() {
    let mut cases: Vec<_> = cases().map(|case| case.id).collect();
    let mut rules: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
    cases.sort_unstable();
    rules.sort_unstable();
    assert_eq!(cases, rules);
    rules.dedup();
    assert_eq!(rules.len(), RULES.len());
    assert!(find("rx-ring").is_some() && find("rx-rings").is_none());
}

#[test]
fn every_finding_names_its_place_and_a_command_and_most_can_be_undone() {
    let mut without = Vec::new();
    for case in cases() {
        let (mut facts, mut path) = (good(), path());
        (case.mistune)(&mut facts, &mut path);
        for found in examine(&facts, &path).findings {
            let finding = found.finding;
            assert!(
                !finding.subject.is_empty() && !finding.place.is_empty(),
                "{finding:?}"
            );
            assert!(
                !finding.effect.is_empty() && !finding.change.fix.is_empty(),
                "{finding:?}"
            );
            if finding.change.undo.is_none() {
                without.push(found.rule.id);
            }
        }
    }
    without.sort_unstable();
    without.dedup();
    // Entries to delete or check by hand, and interrupts, whose old CPUs are not read.
    assert_eq!(
        without,
        [
            "cached-ssthresh",
            "half-duplex",
            "interface-drops",
            "interface-errors",
            "link-speed",
            "numa-node",
            "path-mtu",
            "qdisc-rate",
        ]
    );
}

#[test]
fn the_costliest_certain_finding_is_first_and_the_next_one_bounds_its_gain() {
    let mut facts = good();
    set(&mut facts, "net.ipv4.tcp_rmem", "4096 131072 6291456");
    set(&mut facts, "net.ipv4.tcp_sack", "0");
    set(&mut facts, "net.core.rmem_max", "212992");
    card_of(&mut facts).speed_mbit = Some(10_000);
    facts.qdiscs = Some(vec![queue("pfifo", Some(8))]);
    facts.frequencies = Some(vec![frequency("powersave", "acpi-cpufreq")]);
    let report = examine(&facts, &path());
    let order: Vec<_> = report.findings.iter().map(|found| found.rule.id).collect();
    assert_eq!(
        order,
        [
            "receive-buffer-max",
            "short-queue",
            "cpu-governor",
            "sack-off",
            "rcvbuf-limit"
        ]
    );
    let advice = report.advice(&path()).expect("a finding");
    let [first] = advice.findings[..] else {
        panic!("{advice:?}");
    };
    assert_eq!(first.rule.id, "receive-buffer-max");
    // 10 Gbit/s less 396.4 Mbit/s.
    assert_eq!(first.cost.map(|cost| cost.as_bps() / 100_000), Some(96_036));
    // The queue limits sending; the CPU is the next to limit receiving.
    assert_eq!(advice.after.as_bps() / 1_000_000, 9_169);
}

#[test]
fn settings_that_one_command_ends_do_not_bound_its_gain() {
    let mut facts = good();
    route_of(&mut facts).metrics.window_bytes = Some(1_000_000);
    route_of(&mut facts).metrics.advmss_bytes = Some(536);
    let report = examine(&facts, &path());
    let ids: Vec<_> = report.findings.iter().map(|found| found.rule.id).collect();
    assert_eq!(ids, ["route-window", "route-advmss"]);
    let advice = report.advice(&path()).expect("a finding");
    assert_eq!((advice.findings.len(), advice.after), (1, path().rate));
}

#[test]
fn ceilings_that_the_laws_cannot_order_are_advised_on_together() {
    let mut facts = good();
    set(&mut facts, "net.ipv4.tcp_window_scaling", "0");
    // 0.63 of it is 10 % above the 65535 bytes without scaling; with more, scaling stands alone.
    set(&mut facts, "net.ipv4.tcp_rmem", "4096 65536 114427");
    let report = examine(&facts, &path());
    let advice = report.advice(&path()).expect("a finding");
    let ids: Vec<_> = advice.findings.iter().map(|found| found.rule.id).collect();
    assert_eq!(ids, ["window-scaling-off", "receive-buffer-max"]);
    assert_eq!((advice.fixes().len(), advice.after), (2, path().rate));
}

#[test]
fn a_command_for_what_always_limits_changes_nothing_else_of_the_route() {
    let mut facts = good();
    route_of(&mut facts).metrics.window_bytes = Some(1_000_000);
    route_of(&mut facts).metrics.congctl = Some("reno".into());
    let report = examine(&facts, &path());
    let fixes = (report.fixes(false), report.fixes(true));
    assert!(fixes.0[0].ends_with("congctl reno"), "{fixes:?}");
    assert!(fixes.1[0].ends_with("congctl cubic"), "{fixes:?}");
}

#[test]
fn a_queue_that_is_no_bottleneck_limits_in_some_cases_only() {
    let mut facts = good();
    facts.qdiscs = Some(vec![queue("pfifo", Some(1))]);
    let on_fast_card = examine(&facts, &path()).findings.remove(0).finding;
    card_of(&mut facts).speed_mbit = Some(10_000);
    let on_slow_card = examine(&facts, &path()).findings.remove(0).finding;
    assert!(on_fast_card.only_if.is_some() && on_slow_card.only_if.is_none());
    // Three packets of two segments in 80 ms.
    let ceiling = on_slow_card.ceiling.map(|rate| rate.as_bps());
    assert_eq!(ceiling, Some(3 * 2 * 1448 * 8 * 1000 / 80));
}

#[test]
fn a_small_first_window_costs_the_rtts_of_its_doublings() {
    let mut facts = good();
    route_of(&mut facts).metrics.initcwnd_segments = Some(2);
    route_of(&mut facts).metrics.initrwnd_segments = Some(2);
    let found = examine(&facts, &path()).findings;
    let delays: Vec<_> = found
        .iter()
        .filter_map(|costed| costed.finding.delay)
        .collect();
    // log2(10 / 2) RTTs; the receiver's window triples twice, the sender's is 16 then and not 40.
    let rounds: Vec<f64> = delays
        .iter()
        .map(|time| time.as_secs_f64() / 0.08)
        .collect();
    assert!(
        (rounds[0] - 2.3219).abs() < 1e-3 && (rounds[1] - 1.3219).abs() < 1e-3,
        "{rounds:?}"
    );
}

#[test]
fn a_direction_hides_findings_about_the_other() {
    let mut facts = good();
    set(&mut facts, "net.ipv4.tcp_rmem", "4096 131072 6291456");
    set(&mut facts, "net.ipv4.tcp_wmem", "4096 16384 4194304");
    let ids = |direction| {
        let path = Path {
            direction,
            ..path()
        };
        let report = examine(&facts, &path);
        report
            .findings
            .iter()
            .map(|found| found.rule.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(Direction::Send), ["send-buffer-max"]);
    assert_eq!(ids(Direction::Receive), ["receive-buffer-max"]);
    assert_eq!(ids(Direction::Both).len(), 2);
}

#[test]
fn a_short_path_makes_no_finding_of_windows_that_suffice_for_it() {
    let mut facts = good();
    for (name, value) in [
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
        ("net.core.rmem_max", "212992"),
        ("net.core.wmem_max", "212992"),
        ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ] {
        set(&mut facts, name, value);
    }
    let near = Path {
        rtt: Duration::from_micros(200),
        rate: Rate::from_bps(1_000_000_000),
        ..path()
    };
    assert!(examine(&facts, &near).findings.is_empty());
}

#[test]
fn the_control_of_a_route_overrides_that_of_the_system() {
    let mut facts = good();
    route_of(&mut facts).metrics.congctl = Some("reno".into());
    let report = examine(&facts, &path());
    let found = &report.findings[0];
    assert_eq!(found.rule.id, "congestion-control");
    // Reno without loss given: 3/4, after 4316 RTTs.
    assert_eq!(found.finding.ceiling, Some(Rate::from_bps(7_500_000_000)));
    let overrides = found.finding.overrides.as_deref().unwrap_or_default();
    assert!(
        overrides.contains("tcp_congestion_control = cubic"),
        "{overrides}"
    );
    let change = &found.finding.change;
    assert_eq!(
        change.fix,
        "ip route replace default via 198.51.100.1 dev eth0 congctl cubic"
    );
    assert_eq!(
        change.undo.as_deref(),
        Some("ip route replace default via 198.51.100.1 dev eth0 congctl reno")
    );
}

#[test]
fn where_the_better_control_cannot_be_the_default_the_route_gets_it() {
    let mut facts = good();
    set(&mut facts, "net.ipv4.tcp_congestion_control", "reno");
    let allowed = "net.ipv4.tcp_allowed_congestion_control";
    set(&mut facts, allowed, "reno bbr");
    let fixes = |facts: &HostFacts| {
        let change = examine(facts, &path()).findings.remove(0).finding.change;
        (change.fix, change.undo.unwrap_or_default())
    };
    let by_default = (
        "sysctl -w net.ipv4.tcp_congestion_control=cubic".to_owned(),
        "sysctl -w net.ipv4.tcp_congestion_control=reno".to_owned(),
    );
    let by_route = (
        "ip route replace default via 198.51.100.1 dev eth0 congctl cubic".to_owned(),
        "ip route replace default via 198.51.100.1 dev eth0".to_owned(),
    );
    // Root of the machine may choose any.
    facts.is_contained = Some(false);
    assert_eq!(fixes(&facts), by_default);
    facts.is_contained = Some(true);
    assert_eq!(fixes(&facts), by_route);
    set(&mut facts, allowed, "reno cubic");
    assert_eq!(fixes(&facts), by_default);
}

#[test]
fn several_findings_about_one_setting_have_one_command_that_changes_them_all() {
    let mut facts = good();
    set(&mut facts, "net.ipv4.tcp_rmem", "4096 16384 65536");
    let metrics = &mut route_of(&mut facts).metrics;
    metrics.window_bytes = Some(65_535);
    metrics.advmss_bytes = Some(536);
    metrics.congctl = Some("bbr".into());
    let report = examine(&facts, &path());
    assert_eq!(report.findings.len(), 4);
    assert_eq!(report.fixes(true), [""; 0]);
    // 100 MB / 0.63 = 159 MB.
    assert_eq!(
        report.fixes(false),
        [
            "sysctl -w net.ipv4.tcp_rmem='4096 131072 268435456'",
            "ip route replace default via 198.51.100.1 dev eth0 congctl bbr",
        ]
    );
    assert_eq!(
        report.undos(),
        [
            "sysctl -w net.ipv4.tcp_rmem='4096 16384 65536'",
            "ip route replace default via 198.51.100.1 dev eth0 window 65535 advmss 536 congctl bbr",
        ]
    );
}

#[test]
fn facts_that_rules_need_and_that_are_missing_are_listed_with_their_rules() {
    let mut facts = good();
    card_of(&mut facts).rings = None;
    facts.sysctls.remove("net.ipv4.tcp_rmem");
    let report = examine(&facts, &path());
    assert!(report.findings.is_empty());
    let missing: Vec<_> = report
        .missing
        .iter()
        .map(|fact| fact.fact.as_str())
        .collect();
    assert_eq!(missing, ["net.ipv4.tcp_rmem", "ring sizes"]);
    assert_eq!(report.missing[1].rules, ["rx-ring"]);
}

#[test]
fn facts_are_the_same_after_they_were_stored_and_read() {
    let facts = good();
    let text = serde_json::to_string_pretty(&facts).expect("stored");
    let read: HostFacts = serde_json::from_str(&text).expect("read");
    assert_eq!(read, facts);
    let error = serde_json::from_str::<HostFacts>(r#"{"schema": "doctor-facts/1", "sysctl": {}}"#);
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("unknown field `sysctl`")
    );
}

#[test]
fn name_that_a_shell_would_run_is_quoted_in_every_command() {
    const NAME: &str = "a$(b)";
    for case in cases() {
        let (mut facts, mut path) = (good(), path());
        (case.mistune)(&mut facts, &mut path);
        card_of(&mut facts).name = NAME.into();
        if let Some(group) = &mut facts.cgroup {
            group.cpu_path = Some(NAME.into());
            group.memory_path = Some(NAME.into());
        }
        if let Some(control) = &mut route_of(&mut facts).metrics.congctl {
            control.push_str(NAME);
        }
        for found in examine(&facts, &path).findings {
            let change = found.finding.change;
            let commands = [Some(change.fix).filter(|_| change.is_command), change.undo];
            for command in commands.into_iter().flatten() {
                let mut parts = command.split('\'').step_by(2);
                assert!(parts.all(|bare| !bare.contains('$')), "{command}");
            }
        }
    }
}

#[test]
fn change_whose_undo_would_lose_something_has_none() {
    let undo = |facts: &HostFacts| {
        let mut findings = examine(facts, &path()).findings;
        findings.remove(0).finding.change.undo
    };
    let mut facts = good();
    let mut tbf = Qdisc {
        rate_bps: Some(1_000_000_000),
        limit_bytes: Some(1_000_000),
        burst_bytes: Some(100_000),
        ..queue("tbf", None)
    };
    facts.qdiscs = Some(vec![tbf.clone()]);
    assert!(undo(&facts).is_some());
    tbf.handle = "1:".into();
    let mut child = queue("fq_codel", Some(10_000));
    child.parent = "1:1".into();
    facts.qdiscs = Some(vec![tbf, child]);
    assert_eq!(undo(&facts), None);

    let mut facts = good();
    facts.frequencies = Some(vec![frequency("powersave", "acpi-cpufreq")]);
    assert!(undo(&facts).is_some());
    let fast = frequency("performance", "acpi-cpufreq");
    facts
        .frequencies
        .iter_mut()
        .for_each(|policies| policies.push(fast.clone()));
    assert_eq!(undo(&facts), None);
}
