//! CPUs of a host in a plan: costs, order, interrupt moderation.

use gigatcp_path::{Checksum, CpuCosts, Picoseconds, Scheduling};
use gigatcp_plan::{Host, Plan, Severity, parse};
use gigatcp_units::Duration;

fn text(lines: &str) -> String {
    format!("name = \"x\"\npath = {{ rate = \"1 Gbit/s\", rtt = \"20 ms\" }}\n{lines}\n")
}

fn plan(lines: &str) -> Plan {
    match parse("plan.toml", text(lines).as_bytes(), &[]) {
        Ok(plan) => plan,
        Err(findings) => panic!("{findings}"),
    }
}

fn receiver(lines: &str) -> Host {
    plan(lines).series[0].scenario.receiver.clone()
}

/// Messages of warnings, each with the text at its place.
fn warnings(lines: &str) -> Vec<(String, String)> {
    let warnings = plan(lines).warnings;
    let said = warnings.list.iter().map(|warning| {
        assert_eq!(warning.severity, Severity::Warning);
        let place = &warning.place;
        let there = &warnings.text_of(place.source)[place.span.clone()];
        (there.to_owned(), warning.message.clone())
    });
    said.collect()
}

#[track_caller]
fn refused(lines: &str, place: &str, words: &str) {
    let findings = parse("plan.toml", text(lines).as_bytes(), &[]).expect_err("accepted");
    let [finding] = &findings.list[..] else {
        panic!("{findings}")
    };
    let there = &findings.text_of(finding.place.source)[finding.place.span.clone()];
    assert_eq!(there, place, "{findings}");
    assert!(finding.message.contains(words), "{findings}");
}

#[test]
fn a_host_is_ideal_and_has_one_processor_unless_it_says_otherwise() {
    let host = receiver("");
    assert_eq!(host.costs, CpuCosts::default());
    assert_eq!(host.scheduling, Scheduling::default());
    assert_eq!(host.coalesce_packets, None);
}

#[test]
fn everything_about_processors_can_be_said() {
    let host = receiver(
        "[receiver]\ncoalesce = \"1 ms\"\ncoalesce_packets = 32\n[receiver.cpu]\nprocessors = 2\n\
         per_interrupt = \"10 us\"\nper_packet_interrupt = \"5 us\"\nper_packet_received = \"40 us\"\n\
         per_call = \"2 us\"\nper_byte_copied = \"60 ns\"\nper_byte_application = \"450 ps\"\n\
         input_queue = 50",
    );
    let expected = CpuCosts {
        per_interrupt: Duration::from_micros(10),
        per_packet_interrupt: Duration::from_micros(5),
        per_packet_received: Duration::from_micros(40),
        per_call: Duration::from_micros(2),
        per_byte_copied: Picoseconds::new(60_000),
        per_byte_application: Picoseconds::new(450),
        ..CpuCosts::default()
    };
    assert_eq!(host.costs, expected);
    assert_eq!(host.scheduling.application_processors(), 1);
    assert_eq!(host.scheduling.input_queue, Some(50));
    assert_eq!(host.coalesce_packets, Some(32));
    let host = receiver(
        "[receiver.cpu]\nper_call = \"1 us\"\nprocessors = 8\nreceive_queues = 8\npolls = true\nreceive_budget = 5",
    );
    assert_eq!(host.scheduling.receive_queues, 8);
    assert_eq!(host.scheduling.application_processors(), 0);
    assert!(host.scheduling.polls);
    assert_eq!(host.scheduling.receive_budget, Some(5));
}

#[test]
fn values_that_cannot_be_are_refused_at_their_place() {
    let costly = "[receiver.cpu]\nper_call = \"1 us\"\n";
    for (line, value, words) in [
        ("processors = 129", "129", "above 128"),
        ("receive_queues = 0", "0", "below 1"),
        (
            "receive_queues = 2",
            "2",
            "2 receive queues need as many processors",
        ),
        (
            "processors = 3\nreceive_queues = 4",
            "4",
            "need as many processors",
        ),
        ("receive_budget = 0", "0", "below 1"),
        ("input_queue = 0", "0", "below 1"),
        ("polls = 1", "1", "polls"),
    ] {
        refused(&format!("{costly}{line}"), value, words);
    }
    refused(
        "[receiver.cpu]\nper_interrupt = \"2 s\"",
        "\"2 s\"",
        "above 1 s",
    );
    refused(
        "[receiver]\ncoalesce = \"1 ms\"\ncoalesce_packets = 0",
        "0",
        "below 1",
    );
}

#[test]
fn what_does_nothing_is_said() {
    let none = "has no effect unless work of the processor costs something";
    let two = "has no effect unless both share one processor";
    for (lines, place, words) in [
        ("[receiver.cpu]\nprocessors = 2", "processors", none),
        ("[receiver.cpu]\npolls = true", "polls", none),
        ("[receiver.cpu]\nreceive_budget = 5", "receive_budget", none),
        ("[receiver.cpu]\ninput_queue = 50", "input_queue", none),
        (
            "[receiver.cpu]\nper_call = \"1 us\"\nprocessors = 2\nreceive_budget = 5",
            "receive_budget",
            two,
        ),
        (
            "[receiver.cpu]\nper_call = \"1 us\"\npolls = true\ninput_queue = 5",
            "input_queue",
            "unless the card interrupts",
        ),
        (
            "[receiver]\ncoalesce_packets = 5",
            "coalesce_packets",
            "unless coalesce is set",
        ),
    ] {
        let warnings = warnings(lines);
        let [(there, message)] = &warnings[..] else {
            panic!("{lines}: {warnings:?}")
        };
        assert_eq!(there, place);
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn copies_checksums_and_pages_can_be_switched() {
    let costs = receiver(
        "[receiver.cpu]\nchecksum = \"apart\"\nper_byte_checksummed = \"127 ns\"\nper_byte_copied = \"137 ns\"",
    )
    .costs;
    assert_eq!(costs.checksum, Checksum::Apart);
    assert_eq!(costs.per_byte_checksummed, Picoseconds::new(127_000));
    let costs = receiver("[receiver.cpu]\nzero_copy = true\nper_page_mapped = \"2 us\"").costs;
    assert!(costs.zero_copy);
    refused(
        "[receiver.cpu]\nper_call = \"1 us\"\nzero_copy = true\nchecksum = \"copy\"",
        "checksum",
        "cannot be combined with `zero_copy`",
    );
    refused("[receiver.cpu]\nchecksum = \"nic\"", "\"nic\"", "nic");
    for (lines, place) in [
        (
            "[receiver.cpu]\nper_byte_checksummed = \"1 ns\"",
            "per_byte_checksummed",
        ),
        (
            "[receiver.cpu]\nper_byte_copied_summed = \"1 ns\"",
            "per_byte_copied_summed",
        ),
        (
            "[receiver.cpu]\nzero_copy = true\nper_byte_copied = \"1 ns\"",
            "per_byte_copied",
        ),
        (
            "[receiver.cpu]\nper_page_mapped = \"1 us\"",
            "per_page_mapped",
        ),
    ] {
        let warnings = warnings(lines);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0].0, place);
    }
}

#[test]
fn a_host_has_no_backlog_and_no_pool_unless_it_says_so() {
    let host = receiver("");
    assert_eq!((host.backlog, host.clusters), (None, None));
    let arrivals = "flow.application = \"arrivals, every 1 ms, size 10 kB\"\nduration = \"1 s\"";
    let host = receiver(&format!(
        "{arrivals}\nreceiver = {{ backlog = 128, clusters = 1024 }}"
    ));
    let clusters = host.clusters.map(|pool| (pool.count, pool.size));
    assert_eq!((host.backlog, clusters), (Some(128), Some((1024, 2048))));
    let host = receiver("receiver = { clusters = 1024, cluster_size = 8192 }");
    assert_eq!(host.clusters.map(|pool| pool.size), Some(8192));
    for (lines, place) in [
        ("receiver.backlog = 16", "backlog"),
        ("receiver.cluster_size = 4096", "cluster_size"),
        ("receiver.cpu.per_accept = \"1 ms\"", "per_accept"),
    ] {
        let warnings = warnings(lines);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0].0, place);
    }
}

#[test]
fn a_delay_of_its_own_needs_a_sender_of_its_own() {
    let flow = "[[flow]]\nextra_delay = \"5 ms\"\napplication = \"datagrams\"";
    refused(flow, "extra_delay", "cannot be combined with `application`");
    let nodes = "name = \"x\"\nlink = [{ from = \"a\", to = \"b\", rate = \"1 Gbit/s\" }]\n\
                 [[flow]]\nfrom = \"a\"\nto = \"b\"\nextra_delay = \"5 ms\"\n";
    let findings = parse("plan.toml", nodes.as_bytes(), &[]).expect_err("accepted");
    assert!(
        findings
            .to_string()
            .contains("cannot be combined with `from`"),
        "{findings}"
    );
}
