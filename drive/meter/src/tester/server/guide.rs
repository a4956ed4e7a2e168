//! Every number of `docs/guide/server.md` is one of the code's, or is named here with its source.

use std::time::Duration;

use gigatcp_protocol::iperf3::{
    ANSWER_TIMEOUT, Direction, MAX_CLIENT_RESULTS, MAX_FLOWS, MAX_PARAMETERS, MAX_SIZE, Parameters,
};
use gigatcp_protocol::stamp;
use serde_json::json;

use super::client_table::{HELLO_TIMEOUT, Pings};
use super::{iperf3, logins, pending, reflector, refusals, trains};
use crate::tester::admission::{Admission, LINK, MAX_DURATION, SITE};
use crate::tester::capacity::{HEADER, MAX_SEGMENT};
use crate::tester::memory::{self, KernelBuffers};
use crate::tester::nuttcp::session as nuttcp;
use crate::tester::presence::{PAUSE, SILENCE, TRUST};
use crate::tester::samples::{MAX_KEPT, MAX_READINGS};
use crate::tester::session::{self, STREAMS_TIMEOUT};
use crate::tester::transactions::{self, flow, server as requests};
use crate::tester::{auth, rate_limit};
use crate::trace;

const GUIDE: &str = include_str!("../../../../../docs/guide/server.md");
const UNIT: &str = include_str!("../../../../../packaging/systemd/gigatcp-server.service");
const COMMAND: &str = include_str!("../../../../../face/cli/src/commands/server.rs");

/// What has digits and is no limit of this project: names, examples, and what others decide.
const NAMES: &[&str] = &[
    "net.ipv4.tcp_mem",
    "--use-pkcs1-padding",
    "iperf3",
    "IPv4",
    "IPv6",
    "RFC 8762",
    "--max-tests 4 --per-address 2 --total-rate '1 Gbit/s' --allow 192.0.2.0/24",
    "`-b 1M/1000`",
    "`-t 0`",
    "`-M 88`",
    "since 3.17",
    "up to 3.16",
    // Of Linux: `tcp_wmem`, `tcp_rmem`.
    "that is 4 MiB for a stream that the server sends on, 6 MiB for one that it receives on (32 MiB \
     on newer kernels)",
];

/// Bounds that `tests/hostile` measures, or that follow from others; the second text is why.
const MEASURED: &[(&str, &str)] = &[
    (
        "get some 5 % less",
        "headers of 1,448 bytes of data, and acknowledgments",
    ),
    (
        "128 streams of a stock client: 32 KiB",
        "results above 256 KiB are refused, by memory.rs",
    ),
    ("12 KiB and 10 s each", "a line and a block of parameters"),
    (
        "about 100 datagrams",
        "30 hops, 3 probes each, and those of the MTU",
    ),
    ("some 200 MB a day", "210 lines of 110 bytes in 10 s"),
    ("closed: 1 h of four streams", "one interval a second"),
];

fn grouped(number: usize) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{thousands},{:03}", number % 1000),
    }
}

/// Seconds, as the page has them.
fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes >> 10)
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

/// Rows of the table of limits.
fn limits() -> Vec<String> {
    let rules = Admission::default();
    let (per_address, connections) = (rules.per_address, rules.connections as usize);
    let limits = rules.limits;
    assert!(rules.allow.is_empty() && limits.total_rate == 0);
    assert_eq!(limits.time, MAX_DURATION);
    vec![
        format!(
            "| tests at a time | {}; {} more clients wait |",
            rules.tests, rules.queue
        ),
        "Without `--total-rate` sixteen clients".into(),
        format!("or of a /{LINK} of IPv6 | {per_address} |"),
        format!(
            "| the same of a /{SITE} of IPv6 | {} |",
            per_address * 3 / 2
        ),
        format!("of the site (an IPv4 address, a /{SITE} of IPv6) that has most"),
        format!("| duration of a test | {MAX_DURATION} s |"),
        format!("| time without data | {} |", seconds(rules.idle)),
        format!("A test without any data for {} ends", seconds(rules.idle)),
        format!("| streams of a test | {} |", limits.streams),
        format!(
            "| block, datagram | {}, {} bytes |",
            mib(limits.block.into()),
            grouped(limits.datagram as usize)
        ),
        format!(
            "| connections of a test of requests | {} |",
            grouped(MAX_FLOWS as usize)
        ),
        format!(
            "| the same of all tests, of a source | {}, {} |",
            grouped(connections),
            grouped(connections / 2)
        ),
        format!("| request, response | {} each |", kib(MAX_SIZE.into())),
        format!("| STAMP packets of a source | {}/s |", reflector::MAX_RATE),
        format!(
            "| STAMP packets of all | {}/s |",
            grouped(reflector::MAX_TOTAL_RATE as usize)
        ),
    ]
}

/// Sentences on rates.
fn rates() -> Vec<String> {
    let (ahead, slack) = rate_limit::SLACK;
    let address = [127, 0, 0, 1].into();
    vec![
        format!(
            "a datagram of 16 bytes counts as {}",
            16 + rate_limit::udp_headers(address)
        ),
        format!("which save {} at most", seconds(rate_limit::DEPTH)),
        format!(
            "It takes {} of its rate and {} in advance",
            seconds(ahead),
            kib(slack)
        ),
        format!(
            "is ended once it is {} of its rate and {} ahead",
            seconds(rate_limit::MAX_DEBT),
            kib(slack)
        ),
        format!(
            "the arrival times of {} clients, {} packets each, and records {} packets a second",
            trains::MAX_CLIENTS,
            trains::MAX_PACKETS,
            grouped(trains::MAX_RATE as usize)
        ),
        format!(
            "at most {} packets of up to {} bytes for a test",
            trains::MAX_SENT,
            MAX_SEGMENT + HEADER
        ),
        format!(
            "are paid with {} bytes of headers each",
            transactions::MESSAGE
        ),
        format!("and each connection with {}:", transactions::CONNECTION),
    ]
}

/// Sentences on memory.
fn memory() -> Vec<String> {
    let kernel = KernelBuffers::of_linux();
    let of = |change: &dyn Fn(&mut Parameters)| {
        let mut wanted = Parameters::default();
        change(&mut wanted);
        mib(memory::of_test(&wanted, &kernel))
    };
    let streams = of(&|wanted| {
        wanted.direction = Direction::Reverse;
        wanted.parallel = 128;
    });
    let connections = of(&|wanted| {
        wanted.private =
            Some(json!({"mode": "tcp_rr", "flows": 5000, "request": 1, "response": 1}));
    });
    let readings = |count: usize| mib(count as u64 * memory::READING);
    vec![
        format!("admission as {}, and for each stream", mib(memory::TEST)),
        format!(
            "{}, readings of {} ({} of a test)",
            kib(memory::STREAM),
            readings(MAX_READINGS),
            readings(MAX_KEPT)
        ),
        format!("128 streams from the server cost {streams}"),
        format!(
            "A connection for requests counts as {}",
            kib(memory::CONNECTION)
        ),
        format!("twice {}, or twice", kib(memory::MIN_BUFFER.into())),
        format!("5,000 connections cost {connections}"),
        format!("| parameters | {} |", kib(MAX_PARAMETERS as u64)),
        format!("| results | {}, of which", kib(MAX_CLIENT_RESULTS as u64)),
        format!(
            "| connections before their request | {} together,",
            pending::MAX_PENDING
        ),
        format!(
            "after {} if the server ends the test",
            seconds(session::RESET_AFTER)
        ),
        format!(
            "and after {} with nuttcp's protocol",
            seconds(nuttcp::RESET_AFTER)
        ),
        format!("keeps {} stream intervals", grouped(session::MAX_INTERVALS)),
        "1 h of four streams".into(),
    ]
}

/// Sentences on times, names and passwords.
fn times() -> Vec<String> {
    let [udp, tcp] = nuttcp::IDLE.map(seconds);
    vec![
        format!("must come within {}, each answer", seconds(STREAMS_TIMEOUT)),
        format!("of the protocol within {}.", seconds(ANSWER_TIMEOUT.into())),
        format!("these are {tcp} of TCP and {udp} of UDP"),
        format!(
            "After {} without an answer the datagrams pause",
            seconds(SILENCE)
        ),
        format!("and after {} more the test ends", seconds(PAUSE)),
        format!("then {} pass before the next one", seconds(TRUST)),
        format!(
            "{} at a time, {} of one source.",
            logins::MAX_LOGINS,
            logins::MAX_OF_SOURCE
        ),
        format!(
            "Every answer comes {} ms after",
            logins::CHECK_TIME.as_millis()
        ),
        format!("(`--time-skew-threshold`, {} s)", auth::TIME_SKEW),
    ]
}

/// Sentences on what else can be requested, and on the service.
fn others() -> Vec<String> {
    assert!(
        COMMAND.contains("const MAX: u64 = 200;")
            && COMMAND.contains("WINDOW: Duration = Duration::from_secs(10)")
    );
    for setting in [
        "--max-tests 4 --per-address 2",
        "MemoryMax=4G",
        "LimitNOFILE=20480",
    ] {
        assert!(UNIT.contains(setting), "{setting}");
    }
    let served = flow::MAX_CALLS * transactions::SCRATCH;
    vec![
        format!(
            "the path to the client: {} at a time, 1 of a source",
            iperf3::MAX_TRACES
        ),
        format!("and {} each.", seconds(trace::REVERSE_WAIT)),
        format!(
            "at most {} a second and {} bytes each",
            Pings::MAX,
            iperf3::MAX_PING
        ),
        format!(
            "which serves {} of them, with {} each",
            grouped(requests::TURNS),
            kib(served as u64)
        ),
        format!(
            "One of less than {} or more than {} bytes has none",
            stamp::MIN_REFLECTED,
            reflector::MAX_LENGTH
        ),
        format!("from port {} or the own port", stamp::PORT),
        format!(
            "{} sources are known at a time",
            grouped(reflector::MAX_SOURCES)
        ),
        format!(
            "of {}, {} refusals and 200 lines about tests are printed",
            seconds(refusals::WINDOW),
            refusals::MAX_NOTICES
        ),
        format!(
            "waits for its streams, {} at most",
            seconds(STREAMS_TIMEOUT)
        ),
        format!("12 KiB and {} each", seconds(HELLO_TIMEOUT)),
        "serves four tests without privileges, two of an address. Its `MemoryMax=` of 4 GiB makes \
         `--max-memory` 2 GiB; `TasksMax=` suffices for four tests of 128 streams, and \
         `LimitNOFILE=` for 16,384 connections of requests"
            .into(),
    ]
}

#[test]
fn every_number_of_the_guide_is_that_of_the_code() {
    let words: Vec<&str> = GUIDE.split_whitespace().collect();
    let page = words.join(" ");
    let told = [limits(), rates(), memory(), times(), others()].concat();
    let wrong: Vec<&String> = told.iter().filter(|text| !page.contains(*text)).collect();
    assert!(wrong.is_empty(), "not in the guide: {wrong:#?}");
    let measured = MEASURED.iter().map(|(text, _)| *text);
    let known = told.iter().map(String::as_str).chain(measured);
    let unnamed = known.fold(page.clone(), |rest, text| rest.replace(text, "·"));
    let rest = NAMES
        .iter()
        .fold(unnamed, |rest, name| rest.replace(name, "·"));
    let untold: Vec<&str> = rest
        .split_inclusive(['.', '|'])
        .filter(|sentence| sentence.contains(|letter: char| letter.is_ascii_digit()))
        .collect();
    assert!(untold.is_empty(), "numbers without a source: {untold:#?}");
}
