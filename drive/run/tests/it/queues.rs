//! Queues, drops and losses of a record agree with the events of the simulation.

use gigatcp_plan::record::{HopRecord, SeriesRecord};
use gigatcp_run::Job;

fn records(plan: &str) -> Vec<SeriesRecord> {
    let plan = gigatcp_plan::parse("plan.toml", plan.as_bytes(), &[]).expect("a valid plan");
    let job = Job::of(plan);
    job.records().expect("a run")
}

fn median(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    values[values.len() / 2] as f64
}

/// A window of 200 kB at 10 Mbit/s and 20 ms fills the queue.
///
/// The queue holds 140 ms of it. In each series it waits for another reason.
#[test]
fn the_queueing_delay_is_what_the_rtt_has_beyond_the_path_whatever_packets_wait_for() {
    let plan = r#"
name = "queues"
[[path.forward]]
name = "queue"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "1000 packets"
[[path.reverse]]
delay = "10 ms"
[sender]
mtu = 1500
[receiver]
mtu = 1500
delayed_ack = false
[flow]
window = "200 kB"
slow_start = "standard"
duration = "10 s"
[record]
sample = "20 ms"
[[series]]
name = "rate"
[[series]]
name = "shaper"
set = { path = { forward = [{ name = "queue", rate = "1 Gbit/s", shaper = "10 Mbit/s", shaper_burst = "3 kB", delay = "10 ms", queue = "1000 packets" }] } }
[[series]]
name = "fq-codel-of-one"
set = { "path.forward.queue" = "fq_codel, target 1 s, interval 10 s" }
"#;
    for record in records(plan) {
        let hop = &record.hops[0];
        let flow = &record.flows[0];
        let late = flow
            .samples
            .iter()
            .filter(|sample| sample.at_ns > 2_000_000_000);
        let rtt = median(late.filter_map(|sample| sample.srtt_ns).collect());
        let queueing = hop.queueing_delay_p50_ns.expect("a queue") as f64;
        // 20 ms of path, and 1.2 ms of the packet's own transmission.
        let expected = rtt - 21.2e6;
        assert!(expected > 80e6, "{}: {rtt}", record.name);
        let ratio = queueing / expected;
        assert!(
            (0.97..1.03).contains(&ratio),
            "{}: {queueing} for {expected}",
            record.name
        );
        let rows = hop
            .samples
            .iter()
            .filter(|row| row.0 > 2_000_000_000 && row.1 > 1);
        let shown = median(rows.map(|row| row.3).collect());
        let ratio = shown / expected;
        assert!(
            (0.97..1.03).contains(&ratio),
            "{}: {shown} for {expected}",
            record.name
        );
    }
}

#[test]
fn each_drop_and_reduction_has_its_time_and_those_left_out_are_counted() {
    let plan = r#"
name = "times"
path = { rate = "20 Mbit/s", rtt = "20 ms" }
flow = { duration = "8 s", congestion_control = "reno", window = "100 kB" }
[[series]]
name = "seldom"
set = { "path.lose_every" = 2000 }
[[series]]
name = "often"
set = { "path.lose_every" = 5 }
"#;
    let [seldom, often] = &records(plan)[..] else {
        panic!("two series");
    };
    let times = |hop: &HopRecord| hop.drop_times_ns.values().map(Vec::len).sum::<usize>() as u64;
    for hop in seldom.hops.iter().chain(&often.hops) {
        assert_eq!(times(hop) + hop.drop_times_left_out, hop.dropped_packets());
        assert!(times(hop) <= 1000);
    }
    let (hop, flow) = (&seldom.hops[0], &seldom.flows[0]);
    let dropped = &hop.drop_times_ns["loss"];
    assert!(dropped.len() >= 4, "{dropped:?}");
    assert_eq!(flow.reduction_times_ns.len() as u64, flow.loss_events);
    for (dropped, reduced) in dropped.iter().zip(&flow.reduction_times_ns) {
        let after = reduced - dropped;
        assert!((20_000_000..120_000_000).contains(&after), "{after}");
    }
}

#[test]
fn datagrams_of_which_none_arrive_are_lost_and_those_on_their_way_are_not() {
    let plan = r#"
name = "datagrams"
duration = "2 s"
[[path.forward]]
rate = "100 Mbit/s"
delay = "500 ms"
[[path.reverse]]
delay = "500 ms"
[[flow]]
name = "udp"
application = "datagrams, rate 800 kbit/s, size 1000"
[[series]]
name = "all-lost"
set = { path = { forward = [{ rate = "100 Mbit/s", delay = "500 ms", loss = "1" }] } }
[[series]]
name = "none-lost"
"#;
    let [all, none] = &records(plan)[..] else {
        panic!("two series");
    };
    let all = &all.datagrams[0];
    assert!(all.sent >= 199, "{all:?}");
    assert_eq!((all.received, all.lost), (0, all.sent));
    let none = &none.datagrams[0];
    assert!(none.received < none.sent, "{none:?}");
    assert_eq!(none.lost, 0);
}

/// A window of 100 kB, and a second in which everything is lost.
#[test]
fn time_sequence_graph_has_every_packet_at_the_sender() {
    let plan = r#"
name = "silence"
[path]
rate = "20 Mbit/s"
rtt = "40 ms"
queue = "1000 packets"
loss = "1"
loss_from = "3 s"
loss_until = "4 s"
[flow]
window = "100 kB"
duration = "6 s"
[record]
time_sequence = true
"#;
    let record = records(plan).swap_remove(0);
    let flow = &record.flows[0];
    let graph = flow.time_sequence.as_ref().expect("requested");
    assert!(graph.knows_windows);
    assert_eq!(graph.kept_points, graph.points);
    // Each segment and each ACK of it passes the sender's interface.
    let passed = flow.segments_sent + flow.acks_sent;
    assert!(
        graph.points.abs_diff(passed) < passed / 10,
        "{} {passed}",
        graph.points
    );
    let octets = graph.octets.len() as u64 / 4 * 3;
    let parts = graph.chunks.iter().chain([&graph.head]);
    let packed: u64 = parts.map(|part| part.packed).sum();
    assert!(octets.abs_diff(packed) < 3, "{octets} {packed}");
}
