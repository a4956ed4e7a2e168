//! Checked plans: defaults, expansion, units.

use gigatcp_path::{AckFilter, HopConfig, LossModel};
use gigatcp_plan::{Control, Files, Plan, Scenario, Stop, parse, parse_with};
use gigatcp_tcp::congestion::SlowStart;
use gigatcp_tcp::{IpVersion, Profile};
use gigatcp_units::{Bytes, Duration, Rate};

fn plan(lines: &str) -> Plan {
    let text = format!("name = \"x\"\n{lines}");
    parse("p", text.as_bytes(), &[]).unwrap_or_else(|findings| panic!("{findings}"))
}

fn run(lines: &str) -> Scenario {
    let path = "path = { rate = \"1 Gbit/s\", rtt = \"20 ms\" }\n";
    let lines = if lines.contains("path") {
        lines.to_owned()
    } else {
        format!("{path}{lines}")
    };
    plan(&lines).series.remove(0).scenario
}

#[test]
fn a_plan_that_says_little_is_complete() {
    let plan = plan("path = { rate = \"1 Gbit/s\", rtt = \"20 ms\" }");
    assert_eq!(
        (plan.title.as_str(), plan.seed, plan.repeat),
        ("x", 1, None)
    );
    assert_eq!((plan.description, plan.claims.len()), (None, 0));
    let [series] = &plan.series[..] else {
        panic!("one series")
    };
    assert_eq!((series.name.as_str(), series.title.as_str()), ("x", "x"));
    let run = &series.scenario;
    let [flow] = &run.flows[..] else {
        panic!("one flow")
    };
    assert_eq!(
        (flow.name.as_str(), flow.congestion.name()),
        ("flow", "cubic")
    );
    assert_eq!(flow.stop, Stop::After(Duration::from_secs(10)));
    assert_eq!(flow.send_buffer, None);
    assert_eq!(
        (flow.initial_ssthresh, flow.slow_start),
        (None, SlowStart::Usual)
    );
    assert_eq!(run.sender.profile, Profile::MODERN);
    assert_eq!(
        (run.sender.mtu, run.duration),
        (1500, Duration::from_secs(70))
    );
    assert_eq!(run.tester.interval, Duration::from_secs(1));
    assert_eq!(run.record.sample, Duration::from_millis(10));
    assert_eq!(flow.time_sequence, None);
    assert_eq!(run.ip, IpVersion::V4);
}

#[test]
fn a_plan_may_ask_for_ipv6() {
    assert_eq!(run("ip = \"ipv6\"").ip, IpVersion::V6);
    assert_eq!(run("ip = \"ipv4\"").ip, IpVersion::V4);
}

#[test]
fn the_shorthand_path_is_a_bottleneck_and_a_way_back() {
    let run = run("path = { rate = \"10 Gbit/s\", rtt = \"81 ms\", loss = \"1e-5\" }");
    let [there] = &run.forward[..] else {
        panic!("one hop")
    };
    let [back] = &run.reverse[..] else {
        panic!("one hop")
    };
    assert_eq!(there.one_way_delay, Duration::from_micros(40_500));
    assert_eq!(back.one_way_delay, Duration::from_micros(40_500));
    assert_eq!(there.limit_bytes, Some(Bytes::new(101_250_000)));
    assert_eq!((back.limit_bytes, back.limit_packets), (None, None));
    assert_eq!(
        (there.rate, back.rate),
        (Some(Rate::from_bps(10_000_000_000)), there.rate)
    );
    assert_eq!(
        (there.link_overhead, back.link_overhead),
        (Bytes::new(38), Bytes::new(38))
    );
    assert!(matches!(there.loss[..], [LossModel::Bernoulli(p)] if p.as_f64() == 1e-5));
    assert!(back.loss.is_empty());
}

#[test]
fn a_queue_is_settled_in_packets_or_bytes() {
    let limits = |queue: &str| {
        let path =
            format!("path = {{ rate = \"1 Gbit/s\", rtt = \"20 ms\", queue = \"{queue}\" }}");
        let hop = run(&path).forward.remove(0);
        (hop.limit_packets, hop.limit_bytes.map(Bytes::as_u64))
    };
    assert_eq!(limits("1 BDP"), (None, Some(2_500_000)));
    assert_eq!(limits("0.1 BDP"), (None, Some(250_000)));
    assert_eq!(limits("100 packets"), (Some(100), None));
    assert_eq!(limits("2 MB"), (None, Some(2_000_000)));
    assert_eq!(limits("unlimited"), (None, None));
    let short = run("path = { rate = \"1 Mbit/s\", rtt = \"1 ms\" }");
    assert_eq!(short.forward[0].limit_bytes, Some(Bytes::new(150_000)));
}

#[test]
fn hops_keep_their_order_and_their_impairments() {
    let run = run(r#"
        [[path.forward]]
        name = "forwarder"
        packet_rate = "130615 packet/s"
        queue = "1000 packets"
        [[path.forward]]
        rate = "1 Gbit/s"
        delay = "10 ms"
        queue = "1 BDP"
        link_overhead = 0
        loss = 0.5
        lose_every = 100
        lose_packets = [1, 5]
        reorder = "1 %"
        reorder_delay = "1 ms"
        policer = "80 Mbit/s"
        policer_burst = "64 KiB"
        corrupt = "1e-3"
        corrupt_every = 700
        corrupt_packets = [2, 9]
        corrupt_burst = "0.01:4"
        ack_filter = "queue"
        middlebox = "mss 1360, no sack"
        duplicate = 1e-3
        hold_limit = 20000
        mtu = 1492
        icmp = false
        fragment = true
        [[path.reverse]]
        delay = "30 ms"
        [sender.link]
        delay = "1 ms"
    "#);
    let [forwarder, line] = &run.forward[..] else {
        panic!("two hops")
    };
    assert_eq!(
        (forwarder.name.as_str(), line.name.as_str()),
        ("forwarder", "forward-2")
    );
    assert_eq!(run.reverse[0].name, "reverse-1");
    assert_eq!(run.sender.link.as_ref().unwrap().name, "sender-link");
    assert_eq!(
        (forwarder.rate, forwarder.per_packet.as_nanos()),
        (None, 7656)
    );
    assert_eq!(line.loss.len(), 3);
    assert!(line.check().is_ok());
    assert_eq!(line.loss[2], LossModel::Listed(vec![1, 5]));
    assert_eq!(line.reorder.unwrap().extra_delay, Duration::from_millis(1));
    assert_eq!(line.corrupt.len(), 4);
    assert_eq!(line.corrupt[1], LossModel::Periodic { every: 700 });
    assert_eq!(line.ack_filter, Some(AckFilter::Queue));
    let middlebox = line.middlebox.unwrap();
    assert_eq!((middlebox.mss, middlebox.clears_sack), (Some(1360), true));
    let policer = line.policer.unwrap();
    assert_eq!(
        (policer.rate, policer.burst),
        (Rate::from_bps(80_000_000), Bytes::new(65_536))
    );
    assert_eq!(
        (line.hold_limit, line.link_overhead),
        (Some(20_000), Bytes::ZERO)
    );
    assert_eq!(
        (line.mtu, line.notifies_too_big, line.fragments),
        (Some(Bytes::new(1492)), false, true)
    );
    assert_eq!((forwarder.mtu, forwarder.notifies_too_big), (None, true));
    // 41 ms in total, links included.
    assert_eq!(line.limit_bytes, Some(Bytes::new(5_125_000)));
    assert_eq!(run.base_rtt(), Duration::from_millis(41));
}

#[test]
fn losses_supplies_and_readers_may_be_bounded_in_time_and_rate() {
    let run = run(r#"
        [receiver.reader]
        rate = "40 Mbit/s"
        [sender.link]
        loss = 1
        loss_from = "2 s"
        [receiver.link]
        lose_every = 2
        loss_until = "3 s"
        [flow]
        supply = "64 KiB"
        supply_every = "20 ms"
        supply_until = "3 s"
    "#);
    let period = |host: &gigatcp_plan::Host| host.link.as_ref().unwrap().loss_period.unwrap();
    let (from, until) = (Duration::from_secs(2), Duration::from_secs(3));
    assert_eq!(period(&run.sender).from, from);
    assert!(period(&run.sender).until > Duration::from_secs(1 << 33));
    assert_eq!(period(&run.receiver).from, Duration::ZERO);
    assert_eq!(period(&run.receiver).until, until);
    let reader = run.receiver.reader;
    assert_eq!(reader.rate, Some(Rate::from_bps(40_000_000)));
    let supply = run.flows[0].supply.unwrap();
    assert_eq!(
        (supply.amount, supply.until),
        (Bytes::new(65_536), Some(until))
    );
    assert_eq!(supply.every, Duration::from_millis(20));
}

#[test]
fn a_host_has_the_settings_of_its_profile_and_its_own() {
    let run = run(r#"
        [receiver]
        profile = "linux-2.6.20"
        mtu = "9 kB"
        initial_window = 3
        rto_min = "1 s"
        sack = false
        buffer_limit = "100 MiB"
        buffer = "60 MiB"
        [receiver.cpu]
        per_packet_received = "3.2 us"
        per_byte_copied = "450 ps"
    "#);
    let profile = run.receiver.profile;
    assert_eq!(
        (profile.name, profile.recovery.sack),
        ("linux-2.6.20", false)
    );
    assert_eq!(profile.timer.rto_min, Duration::from_secs(1));
    assert_eq!(
        profile.congestion.initial_window.bytes(1000),
        Bytes::new(3000)
    );
    assert_eq!(profile.buffers.buffer_limit, Bytes::new(100 << 20));
    assert_eq!(run.receiver.mtu, 9000);
    assert_eq!(run.receiver.costs.per_packet_received.as_nanos(), 3200);
    assert_eq!(run.receiver.costs.per_byte_copied.as_u64(), 450);
    assert_eq!(run.flows[0].receive_buffer, Some(Bytes::new(60 << 20)));
    assert_eq!(run.flows[0].send_buffer, None);
}

#[test]
fn a_flow_with_a_count_becomes_many() {
    let run = run(r#"
        [[flow]]
        count = 3
        start = "1 s"
        start_step = "10 ms"
        extra_delay_step = "5 ms"
        window = "1 MB"
        [[flow]]
        name = "late"
        count = 2
        bytes = "1 GB"
        slow_start = "limited"
        initial_ssthresh = 0
        [[flow]]
        name = "last"
    "#);
    let names: Vec<_> = run.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(
        names,
        ["flow-1", "flow-2", "flow-3", "late-1", "late-2", "last"]
    );
    let third = &run.flows[2];
    assert_eq!(third.start, Duration::from_millis(1020));
    assert_eq!(third.extra_delay, Duration::from_millis(10));
    assert_eq!(run.flows[3].stop, Stop::Bytes(Bytes::new(1_000_000_000)));
    assert_eq!(
        run.flows[3].slow_start,
        SlowStart::Limited { max_ssthresh: 100 }
    );
    assert_eq!(run.flows[3].initial_ssthresh, Some(0));
    let path = "path = { rate = \"1 Gbit/s\", rtt = \"20 ms\" }\n";
    for way in SlowStart::NAMES {
        let flow = format!("[flow]\nslow_start = \"{way}\"");
        let scenario = plan(&format!("{path}{flow}")).series.remove(0).scenario;
        assert_eq!(scenario.flows[0].slow_start.name(), way);
    }
    assert_eq!(run.duration, Duration::from_secs(3600));
}

#[test]
fn starts_are_drawn_uniformly_from_the_seed_and_for_each_flow_by_itself() {
    let with_flows = |flow: &str| {
        let path = "path = { rate = \"1 Gbit/s\", rtt = \"20 ms\" }\n";
        let text = format!("{path}[flow]\nname = \"x\"\n{flow}");
        plan(&text).series.remove(0)
    };
    let starts = |flow: &str, seed| {
        let series = with_flows(flow);
        let drawn = series.with_starts(seed);
        let flows = drawn.scenario.flows.iter();
        flows
            .map(|flow| flow.start.as_secs_f64())
            .collect::<Vec<_>>()
    };
    let many = "count = 1000\nstart = \"1 s\"\nstart_jitter = \"100 ms\"";
    let first = starts(many, 1);
    assert!(first.iter().all(|start| (1.0..1.1).contains(start)));
    // The mean of 1000 has a deviation of 0.9 ms.
    let mean = first.iter().sum::<f64>() / 1000.0;
    assert!((mean - 1.05).abs() < 0.003, "{mean}");
    let upper = first.iter().filter(|start| **start > 1.075).count();
    assert!((200..300).contains(&upper), "{upper}");
    assert_eq!(starts(many, 1), first, "the same with the same seed");
    assert_ne!(starts(many, 2)[0], first[0]);
    let two = "count = 2\nstart = \"1 s\"\nstart_jitter = \"100 ms\"";
    assert_eq!(starts(two, 1), first[..2], "whatever others there are");
    assert_eq!(starts("start = \"1 s\"", 1), [1.0]);
    let late = with_flows("bytes = \"1 MB\"\nstart_jitter = \"2 h\"");
    assert_eq!(late.scenario.duration, Duration::from_secs(3 * 3600));
}

#[test]
fn flows_run_as_long_as_the_plan_unless_they_say_otherwise() {
    let run = run(r#"
        duration = "30 s"
        [[flow]]
        start = "10 s"
        start_step = "1 s"
        count = 2
        [[flow]]
        duration = "5 s"
    "#);
    assert_eq!(run.flows[0].stop, Stop::After(Duration::from_secs(20)));
    assert_eq!(run.flows[1].stop, Stop::After(Duration::from_secs(19)));
    assert_eq!(run.flows[2].stop, Stop::After(Duration::from_secs(5)));
    assert_eq!(run.duration, Duration::from_secs(30));
}

#[test]
fn time_sequence_is_recorded_for_all_flows_or_for_one() {
    let run = run(r#"
        [record]
        time_sequence = true
        sample = "1 ms"
        [[flow]]
        [[flow]]
        time_sequence = false
    "#);
    let recorded: Vec<_> = run.flows.iter().map(|flow| flow.time_sequence).collect();
    assert_eq!(recorded, [Some(true), Some(false)]);
    assert_eq!(run.record.sample, Duration::from_millis(1));
}

#[test]
fn seeds_reach_to_the_end_of_64_bits() {
    let seed = |text: &str| {
        plan(&format!(
            "seed = {text}\npath = {{ rate = \"1 Gbit/s\", rtt = \"0 s\" }}"
        ))
        .seed
    };
    assert_eq!(seed("18446744073709551615"), u64::MAX);
    assert_eq!(seed("0xffff_ffff_ffff_ffff"), u64::MAX);
    assert_eq!(seed("0"), 0);
}

#[test]
fn an_ethernet_stands_in_place_of_hops() {
    let run = run("[path.ethernet]\ndelay = \"5 us\"\nqueue = 50\nsender_recovery = \"1 ms\"");
    assert!(run.forward.is_empty() && run.reverse.is_empty());
    let ethernet = run.ethernet.as_ref().expect("an Ethernet");
    assert_eq!(ethernet.medium.rate, Rate::from_bps(10_000_000));
    assert_eq!(ethernet.medium.limit_packets, Some(50));
    assert_eq!(
        ethernet.recoveries,
        [Duration::from_millis(1), Duration::ZERO]
    );
    assert_eq!(run.base_rtt(), Duration::from_micros(10));
}

#[test]
fn flows_take_the_fewest_links_or_those_past_the_nodes_of_via() {
    let text = r#"
        name = "x"
        link = [
            { from = "a", to = "r", rate = "1 Gbit/s", delay = "1 ms" },
            { from = "r", to = "b", rate = "100 Mbit/s", delay = "10 ms", name = "core" },
            { from = "r", to = "s", delay = "20 ms" },
            { from = "s", to = "b", delay = "20 ms" },
        ]
        [[node]]
        name = "b"
        mtu = 9000
        [[flow]]
        from = "a"
        to = "b"
        [[flow]]
        from = "b"
        to = "a"
        via = ["s"]
    "#;
    let plan = parse("plan.toml", text.as_bytes(), &[]).unwrap();
    let scenario = &plan.series[0].scenario;
    let names = |links: &[usize]| -> Vec<&str> {
        links
            .iter()
            .map(|link| scenario.links[*link].name.as_str())
            .collect()
    };
    let [straight, around] = [0, 1].map(|flow| scenario.flows[flow].ends.as_ref().unwrap());
    assert_eq!(names(&straight.forward), ["a-r", "core"]);
    assert_eq!(names(&straight.reverse), ["core-reverse", "r-a"]);
    assert_eq!(names(&around.forward), ["b-s", "s-r", "r-a"]);
    assert_eq!(names(&around.reverse), ["a-r", "r-s", "s-b"]);
    let [sends, receives] = scenario.hosts_of(&scenario.flows[0]);
    assert_eq!((sends.mtu, receives.mtu), (1500, 9000));
}

#[test]
fn acks_take_their_own_nodes_back_where_a_flow_says_so() {
    let text = r#"
        name = "x"
        link = [
            { from = "a", to = "r" },
            { from = "r", to = "b" },
            { from = "b", to = "s" },
            { from = "s", to = "a" },
        ]
        [[flow]]
        from = "a"
        to = "b"
        via = ["r"]
        via_reverse = ["s"]
    "#;
    let plan = parse("plan.toml", text.as_bytes(), &[]).unwrap();
    let scenario = &plan.series[0].scenario;
    let ends = scenario.flows[0].ends.as_ref().unwrap();
    let names = |links: &[usize]| -> Vec<String> {
        links.iter().map(|link| scenario.link(*link).0).collect()
    };
    assert_eq!(names(&ends.forward), ["a-r", "r-b"]);
    assert_eq!(names(&ends.reverse), ["b-s", "s-a"]);
}

#[test]
fn nodes_on_an_ethernet_reach_one_another_each_from_its_own_station() {
    let text = r#"
        name = "x"
        [[link]]
        name = "lan"
        nodes = ["a", "b", "gateway"]
        ethernet = { delay = "5 us", sender_recovery = "1 ms" }
        [[link]]
        from = "gateway"
        to = "c"
        delay = "1 ms"
        [[flow]]
        from = "a"
        to = "b"
        [[flow]]
        from = "c"
        to = "b"
    "#;
    let plan = parse("plan.toml", text.as_bytes(), &[]).unwrap();
    let scenario = &plan.series[0].scenario;
    let [lan] = &scenario.media[..] else {
        panic!("one medium")
    };
    // Of those on the medium only `a` sends data.
    let ms = Duration::from_millis(1);
    assert_eq!(lan.recoveries, [ms, Duration::ZERO, Duration::ZERO]);
    let routes = scenario.flows.iter().map(|flow| {
        let ends = flow.ends.as_ref().unwrap();
        [&ends.forward, &ends.reverse].map(|links| {
            links
                .iter()
                .map(|link| scenario.link(*link).0)
                .collect::<Vec<_>>()
        })
    });
    let routes: Vec<_> = routes.collect();
    assert_eq!(routes[0], [["lan/0"], ["lan/1"]]);
    assert_eq!(routes[1], [["c-gateway", "lan/2"], ["lan/1", "gateway-c"]]);
    let (_, delay) = scenario.link(scenario.flows[0].ends.as_ref().unwrap().forward[0]);
    assert_eq!(delay, Duration::from_micros(5));
}

#[test]
fn a_chain_of_links_between_two_hosts_is_a_path_and_a_fork_is_none() {
    let links = r#"
        name = "x"
        link = [
            { from = "r", to = "b", rate = "100 Mbit/s", delay = "10 ms", queue = "1 BDP" },
            { from = "a", to = "r", delay = "1 ms" },
        ]
        node = [{ name = "b", mtu = 1400 }]
    "#;
    let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    let scenario = |flows: &str| {
        let plan = parse("plan.toml", format!("{links}{flows}").as_bytes(), &[]).unwrap();
        plan.series[0].scenario.clone()
    };
    let chain = scenario(&flow.repeat(2));
    let path = chain.as_path().expect("a path");
    let names =
        |hops: &[HopConfig]| -> Vec<String> { hops.iter().map(|hop| hop.name.clone()).collect() };
    assert_eq!(names(&path.forward), ["a-r", "r-b"]);
    assert_eq!(names(&path.reverse), ["b-r", "r-a"]);
    assert_eq!(path.forward[1], chain.links[0]);
    assert_eq!((path.sender.mtu, path.receiver.mtu), (1500, 1400));
    assert!(path.nodes.is_empty() && path.links.is_empty());
    assert!(path.flows.iter().all(|flow| flow.ends.is_none()));
    assert_eq!(path.base_rtt(), Duration::from_millis(22));
    let fork = format!("{flow}[[flow]]\nfrom = \"r\"\nto = \"b\"\n");
    assert!(scenario(&fork).as_path().is_none());
}

#[test]
fn a_kernel_that_sends_is_asked_for_any_control_by_its_own_name() {
    let named = |sender: &str, name: &str| {
        let text = format!(
            "name = \"x\"\npath = {{ rate = \"1 Gbit/s\", rtt = \"20 ms\" }}\n{sender}\n\
             [flow]\ncongestion_control = \"{name}\"\n"
        );
        parse("p", text.as_bytes(), &[])
    };
    let kernel = "[sender]\nstack = \"kernel\"";
    let flow = |name| {
        let plan = named(kernel, name).unwrap_or_else(|findings| panic!("{findings}"));
        plan.series[0].scenario.flows[0].congestion.clone()
    };
    let foreign = flow("bbr2");
    assert_eq!(foreign.name(), "bbr2");
    // The engine at the other end only receives.
    assert_eq!(foreign.of_engine().name, "reno");
    assert_eq!(flow("cubic").of_engine().name, "cubic");
    // If both have the control, a sending kernel uses its own.
    assert!(matches!(flow("bbr"), Control::Kernel(name) if name == "bbr"));
    assert!(named("", "bbr2").is_err());
    for name in ["", "with space", "sixteen-letters-"] {
        assert!(named(kernel, name).is_err(), "{name}");
    }
}

#[test]
fn a_bpf_object_is_for_a_kernel_that_sends_and_must_be_there() {
    struct Objects;
    impl Files for Objects {
        fn read(&self, _name: &str) -> Result<String, String> {
            Err("no text".to_owned())
        }

        fn locate(&self, name: &str) -> Result<String, String> {
            match name {
                "mine.o" => Ok("/plans/mine.o".to_owned()),
                _ => Err("it is not there".to_owned()),
            }
        }
    }
    let named = |sender: &str, file: &str| {
        let text = format!(
            "name = \"x\"\npath = {{ rate = \"1 Gbit/s\", rtt = \"20 ms\" }}\n{sender}\n\
             [flow]\ncongestion_control = \"bpf:{file}\"\n"
        );
        parse_with("p", text.as_bytes(), &[], &Objects).map_err(|findings| findings.to_string())
    };
    let kernel = "[sender]\nstack = \"kernel\"";
    let plan = named(kernel, "mine.o").unwrap_or_else(|findings| panic!("{findings}"));
    let control = &plan.series[0].scenario.flows[0].congestion;
    assert_eq!(control.name(), "bpf:mine.o");
    assert!(matches!(control, Control::Bpf { object, .. } if object == "/plans/mine.o"));
    let absent = named(kernel, "other.o").expect_err("no such file");
    assert!(absent.contains("it is not there"), "{absent}");
    let engine = named("", "mine.o").expect_err("the engine runs no objects");
    assert!(engine.contains("in a kernel only"), "{engine}");
}
