//! Plans in real time, in network namespaces of this machine: no packet leaves them. If they cannot
//! be created the tests print a message, and prove nothing.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use gigatcp_plan::record::{FlowRecord, SeriesRecord};
use gigatcp_run::live::LiveError;
use gigatcp_run::run::RunError;
use gigatcp_run::{Backend, Job, Progress};

/// One test at a time: the machine has few CPUs.
static TURN: Mutex<()> = Mutex::new(());

const PLAN: &str = r#"
name = "live"
path = { rate = "200 Mbit/s", rtt = "10 ms" }
flow = { duration = "1 s" }
tester = { interval = "200 ms" }
"#;

/// Runs `plan` with those keys changed, or prints why it cannot.
fn run(plan: &str, changes: &[&str]) -> Option<Vec<SeriesRecord>> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let changes: Vec<String> = changes.iter().map(|text| (*text).to_owned()).collect();
    let plan = gigatcp_plan::parse("plan.toml", plan.as_bytes(), &changes)
        .unwrap_or_else(|findings| panic!("{findings:?}"));
    let job = Job {
        backend: Backend::Live,
        repeat: plan.repeat.unwrap_or(1),
        ..Job::of(plan)
    };
    assert_eq!(job.refusal(), None);
    let progress = Progress::of(&job);
    match gigatcp_run::run(&job, &AtomicBool::new(false), &progress, &|_| ()) {
        Ok(records) => Some(records),
        Err(RunError::Live {
            source: LiveError::Setup(error),
            ..
        }) if error.is_missing_privilege() => {
            let hint = error.hint().unwrap_or_default();
            let name = std::thread::current().name().unwrap_or("test").to_owned();
            let _ = writeln!(
                std::io::stderr(),
                "\n{name}: SKIPPED, NOTHING PROVEN: {error}\n  {hint}"
            );
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Checks invariants of an undisturbed transfer.
fn is_sound(record: &SeriesRecord) {
    let live = record.live.as_ref().expect("a run in real time");
    assert!(live.directions.iter().all(|way| way.conserved), "{live:?}");
    for flow in &record.flows {
        assert_eq!(flow.failure, None);
        let limits: u64 = flow.limits.iter().map(|share| share.spent_ns).sum();
        let connected = flow.ended_ns - flow.established_ns;
        // The last sample and the end are two readings of one clock.
        assert!(
            limits.abs_diff(connected) < 5_000_000,
            "{limits} {connected}"
        );
        assert!(flow.samples.len() > 20, "{} samples", flow.samples.len());
        assert!(flow.samples.is_sorted_by_key(|sample| sample.at_ns));
        let delivered = flow.samples.last().expect("samples").delivered_bytes;
        assert!(delivered <= flow.bytes);
        let of_intervals: u64 = flow.intervals.iter().map(|line| line.bytes).sum();
        assert!(of_intervals <= flow.bytes);
    }
}

fn pairing(sender: &str, receiver: &str) {
    for congestion in ["reno", "cubic"] {
        let changes = [
            format!("sender.stack={sender}"),
            format!("receiver.stack={receiver}"),
            format!("flow.congestion_control={congestion}"),
        ];
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        let Some(records) = run(PLAN, &changes) else {
            return;
        };
        let [record] = &records[..] else {
            panic!("one series, one record")
        };
        is_sound(record);
        let flow = &record.flows[0];
        // An idle machine gives 150 Mbit/s and more. A busy one increases RTTs, and a window that
        // grows slowly takes the whole second.
        assert!(
            (10e6..200e6).contains(&flow.goodput_bps),
            "{sender} to {receiver}, {congestion}: {} bit/s",
            flow.goodput_bps
        );
        assert_eq!(flow.congestion_control, congestion);
        let least = flow
            .samples
            .iter()
            .filter_map(|sample| sample.srtt_ns)
            .min();
        assert!(
            least.is_some_and(|rtt| (10_000_000..40_000_000).contains(&rtt)),
            "{least:?}"
        );
        assert!(
            flow.samples
                .iter()
                .any(|sample| sample.cwnd_bytes > 100_000)
        );
        let live = record.live.as_ref().expect("a run in real time");
        let names = [
            (&live.sender_stack, sender),
            (&live.receiver_stack, receiver),
        ];
        for (found, asked) in names {
            assert_eq!(found == "engine", asked == "engine", "{found}");
        }
    }
}

#[test]
fn the_engine_sends_to_itself_over_the_path_of_the_plan() {
    pairing("engine", "engine");
}

#[test]
fn the_kernel_sends_to_itself_over_the_path_of_the_plan() {
    pairing("kernel", "kernel");
}

#[test]
fn the_engine_sends_to_the_kernel() {
    pairing("engine", "kernel");
}

#[test]
fn the_kernel_sends_to_the_engine() {
    pairing("kernel", "engine");
}

/// A flow aborted by the end of the run has lost nothing.
///
/// The abort ends the stream of a kernel's receiver with data in flight, but the flow has not
/// ended.
#[test]
fn a_flow_that_the_end_of_the_run_aborts_has_lost_nothing() {
    let changes = [
        "sender.stack=kernel",
        "receiver.stack=kernel",
        "flow.duration=3 s",
        "duration=700 ms",
    ];
    let Some(records) = run(PLAN, &changes) else {
        return;
    };
    let flow = &records[0].flows[0];
    assert_eq!(flow.failure, None);
    assert!(flow.bytes > 0, "{flow:?}");
}

fn negotiated<'a>(flow: &'a FlowRecord, what: &str) -> &'a gigatcp_plan::record::Negotiated {
    let found = flow.negotiated.iter().find(|line| line.what == what);
    found.unwrap_or_else(|| panic!("nothing about {what}: {:?}", flow.negotiated))
}

#[test]
fn a_kernel_that_clamps_a_buffer_is_told_of_with_what_to_type() {
    let changes = [
        "sender.stack=kernel",
        "receiver.stack=kernel",
        // More than any machine's limit.
        "flow.window='1 GiB'",
    ];
    let Some(records) = run(PLAN, &changes) else {
        return;
    };
    let flow = &records[0].flows[0];
    for (what, limit) in [
        ("sender's send buffer", "net.core.wmem_max"),
        ("receiver's receive buffer", "net.core.rmem_max"),
    ] {
        let line = negotiated(flow, what);
        assert_eq!(line.requested, "1 GiB");
        assert_ne!(line.granted, "2 GiB");
        assert!(line.cause.contains(limit), "{}", line.cause);
    }
    for what in [
        "sender's congestion control",
        "sender's segment size",
        "receiver's window scale",
    ] {
        assert!(!negotiated(flow, what).effective.is_empty());
    }
}

#[test]
fn flows_share_the_path_in_real_time_and_each_delivers_what_it_has() {
    let plan = r#"
name = "several"
path = { rate = "100 Mbit/s", rtt = "10 ms" }
duration = "20 s"
[[flow]]
name = "bulk"
bytes = "5 MB"
[[flow]]
name = "late"
start = "100 ms"
bytes = "1 MB"
congestion_control = "reno"
"#;
    for stack in ["engine", "kernel"] {
        let change = format!("sender.stack={stack}");
        let Some(records) = run(plan, &[&change]) else {
            return;
        };
        let flows = &records[0].flows;
        assert_eq!([flows[0].bytes, flows[1].bytes], [5_000_000, 1_000_000]);
        assert!(flows[1].established_ns >= 100_000_000);
        assert!(
            records[0].duration_ns < 10_000_000_000,
            "it ends with its flows"
        );
    }
}

#[test]
fn losses_and_full_queues_are_counted_by_cause() {
    let changes = ["path.loss=1e-3", "path.queue='30 packets'"];
    let Some(records) = run(PLAN, &changes) else {
        return;
    };
    let record = &records[0];
    is_sound(record);
    let lost: u64 = record.hops.iter().map(|hop| hop.drops["loss"]).sum();
    let full: u64 = record.hops.iter().map(|hop| hop.drops["queue_full"]).sum();
    assert!(lost > 0, "no loss");
    assert!(record.flows[0].retransmitted_segments >= lost.min(full.max(1)));
}

#[test]
fn what_real_time_does_not_do_is_named() {
    let changes = [
        "receiver.stack=kernel",
        "receiver.profile=linux-2.6.20",
        "receiver.sack=false",
        "receiver.nagle=false",
        "sender.cpu.per_packet_sent='1 us'",
        "record.time_sequence=true",
        "flow.duration='200 ms'",
    ];
    let Some(records) = run(PLAN, &changes) else {
        return;
    };
    let live = records[0].live.as_ref().expect("a run in real time");
    for key in [
        "receiver.profile",
        "receiver.nagle",
        "sender.cpu.per_packet_sent",
    ] {
        let is_named = live.not_modelled.iter().any(|line| line.starts_with(key));
        assert!(is_named, "{key}: {:?}", live.not_modelled);
    }
    assert!(records[0].flows[0].time_sequence.is_some());
    // The kernel has a corresponding setting, which was applied.
    let mut named = live.not_modelled.iter();
    assert!(!named.any(|line| line.starts_with("receiver.sack")));
}

#[test]
fn ip_6_and_a_reader_that_pauses_hold_in_real_time() {
    for stack in ["engine", "kernel"] {
        let stack = format!("receiver.stack={stack}");
        let changes = [
            "ip=ipv6",
            "receiver.reader.pause_after='100 kB'",
            "receiver.reader.pause='500 ms'",
            "flow.window='1 MB'",
            &stack,
        ];
        let Some(records) = run(PLAN, &changes) else {
            return;
        };
        let flow = &records[0].flows[0];
        let is_empty = |line: &gigatcp_plan::record::IntervalRecord| line.bytes == 0;
        assert!(flow.intervals.iter().any(is_empty), "{:?}", flow.intervals);
    }
}

#[test]
fn virtual_time_has_no_kernel_and_live_flows_have_no_delay_of_their_own() {
    let refused = |backend, change: &str| {
        let plan = gigatcp_plan::parse("p", PLAN.as_bytes(), &[change.to_owned()]).unwrap();
        let job = Job {
            backend,
            ..Job::of(plan)
        };
        job.refusal().expect("it cannot be run")
    };
    let kernel = refused(Backend::VirtualTime, "receiver.stack=kernel");
    assert!(kernel.hint.contains("--on live"), "{}", kernel.hint);
    let medium = gigatcp_plan::parse(
        "p",
        b"name = \"x\"\npath = { ethernet = {} }\nflow = { duration = \"1 s\" }\n",
        &[],
    );
    let job = Job {
        backend: Backend::Live,
        ..Job::of(medium.unwrap())
    };
    assert!(
        job.refusal()
            .expect("it cannot be run")
            .message
            .contains("Ethernet")
    );
    let delay = refused(Backend::Live, "flow.extra_delay='1 ms'");
    assert!(delay.message.contains("extra_delay"), "{}", delay.message);
}
