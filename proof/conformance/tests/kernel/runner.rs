//! Whole scripts against the running kernel. Without the privilege to create a test network
//! namespace, each test prints that with a hint and proves nothing.

use super::loud;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use gigatcp_conformance::kernel::runner::{ATTEMPTS, Case, IpVersion, ScriptResult, run_scripts};
use gigatcp_conformance::run::{Class, Settings, Verdict};

fn case(text: &str, version: IpVersion) -> Case {
    Case {
        script: gigatcp_conformance::parse(text)
            .unwrap_or_else(|m| panic!("{}", m.in_text("x", text))),
        text: text.to_string(),
        folder: PathBuf::from("."),
        version,
        settings: Settings::default(),
    }
}

/// Runs the scripts in parallel, or prints loudly why it cannot.
fn results(cases: &[Case]) -> Vec<ScriptResult> {
    let told = AtomicUsize::new(0);
    let tell = |_: usize, _: &ScriptResult| {
        told.fetch_add(1, Ordering::Relaxed);
    };
    match run_scripts(cases, 8, &tell) {
        Ok(all) => {
            assert_eq!(told.into_inner(), cases.len(), "each is told of once");
            all
        }
        Err(error) if error.is_missing_privilege() => {
            loud::skip(&error);
            vec![]
        }
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn passes(text: &str) {
    let cases = IpVersion::ALL.map(|version| case(text, version));
    for (case, result) in cases.iter().zip(results(&cases)) {
        let story = result.report.in_text(case.version.name(), text);
        assert!(result.report.is_passed(), "{story}");
    }
}

const SERVER: &str = "\
`sysctl -q net.ipv4.tcp_timestamps=0`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.05 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
";

#[test]
fn three_losses_by_sack_are_repaired_at_once() {
    passes(&format!(
        "{SERVER}\
+0 write(4, ..., 5000) = 5000
+0 > P. 1:5001(5000) ack 1
+.05 < . 1:1(0) ack 1 win 257 <sack 1001:2001,nop,nop>
+0 < . 1:1(0) ack 1 win 257 <sack 1001:3001,nop,nop>
+0 < . 1:1(0) ack 1 win 257 <sack 1001:4001,nop,nop>
+0 > . 1:1001(1000) ack 1
+.05 < . 1:1(0) ack 5001 win 257
+0 %{{
assert tcpi_total_retrans == 1, tcpi_total_retrans
assert tcpi_state == 1
}}%
"
    ));
}

#[test]
fn the_retransmission_timer_doubles_within_the_lateness_of_its_slots() {
    // Waits in the middle of a level of the kernel's timer wheel. At the lower end of one (64
    // ticks, which are 256 ms at 250 Hz) a slot alone is an eighth of the wait, the maximum
    // lateness; the tick and other work of this machine would add to that.
    let server = SERVER.replace("+.05 <", "+.2 <");
    passes(&format!(
        "{server}\
`sysctl -q net.ipv4.tcp_early_retrans=0`
+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+.6 > P. 1:1001(1000) ack 1
+1.2 > P. 1:1001(1000) ack 1
+2.4 > P. 1:1001(1000) ack 1
+0 < . 1:1(0) ack 1001 win 257
"
    ));
}

#[test]
fn calls_that_block_come_back_when_the_script_says() {
    passes(
        "\
`sysctl -q net.ipv4.tcp_timestamps=0`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0...0.1 accept(3, ..., ...) = 9
+.05 < S 0:0(0) win 32792 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
+.05 < . 1:1(0) ack 1 win 2570
+0...0.05 read(9, ..., 2000) = 700
+.05 < P. 1:701(700) ack 1 win 2570
+0 > . 1:1(0) ack 701
+0 close(9) = 0
+0 > F. 1:1(0) ack 701
",
    );
}

#[test]
fn a_connection_is_refused_and_its_error_told() {
    passes(
        "\
`sysctl -q net.ipv4.tcp_timestamps=0`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0 > S 0:0(0) <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.05 < R. 0:0(0) ack 1 win 0
+0 getsockopt(3, SOL_SOCKET, SO_ERROR, [ECONNREFUSED], [4]) = 0
",
    );
}

#[test]
fn a_script_that_is_wrong_fails_at_every_attempt_and_says_where() {
    let text = format!("{SERVER}+0 write(4, ..., 500) = 500\n+0 > P. 1:502(501) ack 1\n");
    for result in results(&[case(&text, IpVersion::V4)]) {
        assert_eq!(result.attempts, ATTEMPTS);
        let Verdict::Failed(failure) = &result.report.verdict else {
            panic!("{:?}", result.report.verdict);
        };
        assert_eq!(failure.class, Class::Sequence);
        let story = result.report.in_text("x.pkt", &text);
        assert!(story.starts_with("x.pkt:11:"), "{story}");
    }
}

#[test]
fn what_the_kernel_lacks_is_unsupported_and_tried_once() {
    let text = format!("`sysctl -q net.ipv4.tcp_no_such_thing=1`\n{SERVER}");
    for result in results(&[case(&text, IpVersion::V4)]) {
        assert_eq!(result.attempts, 1);
        let is_unsupported = matches!(result.report.verdict, Verdict::Unsupported { .. });
        assert!(is_unsupported, "{:?}", result.report.verdict);
    }
}

#[test]
fn counters_of_the_namespace_are_asked_as_nstat_does() {
    let text = format!(
        "{SERVER}\
+0 `nstat -n`
+0 < R 100:100(0) win 0
+0 > . 1:1(0) ack 1
+0 `nstat | grep TcpExtTCPChallengeACK | grep -q \" 1 \"`
"
    );
    passes(&text);
    let wrong = text.replace("\" 1 \"", "\" 2 \"");
    for result in results(&[case(&wrong, IpVersion::V4)]) {
        let Verdict::Failed(failure) = &result.report.verdict else {
            panic!("{:?}", result.report.verdict);
        };
        assert_eq!(failure.class, Class::Command);
    }
}

#[test]
fn joined_arrivals_tell_the_size_of_the_segments_inside() {
    passes(&format!(
        "--mss=1000\n{SERVER}\
+0 < P. 1:4001(4000) ack 1 win 257
+0 > . 1:1(0) ack 4001
+0 %{{ assert tcpi_rcv_mss == 1000, tcpi_rcv_mss }}%
"
    ));
}
