//! The controls compared with ns-2, which runs Linux's own code of 2.6.22 (its agent TCP/Linux).
//!
//!     cargo xtask proof --ns2
//!
//! Both senders cross the same two paths without queue limit, acknowledge each segment, do not
//! pace, and lose the same data packets. Windows are sampled once per base RTT and compared in
//! whole segments, with the sample at the same time and its neighbors: a recovery shifts the
//! phase of rounds. The four samples from a retransmission on are left out: there ns-2 lowers the
//! window step by step (rate halving), the engine by PRR (RFC 9937), as Linux since 3.2.
//!
//! Which windows would be equal was written down before the first run ([`Pair::expected`]); causes
//! of differences were found afterwards, in the text of the module or of the agent. The exit code
//! is 1 for a difference without a cause, or a cause without a difference, 2 without `ns`. The name
//! of a control as argument prints its samples too.

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, ExitCode};

use common::{flow, host, link, run, smss, wire, world};
use gigatcp_path::LossModel;
use gigatcp_sim::Stop;
use gigatcp_tcp::profile::InitialWindow;
use gigatcp_tcp::{Profile, congestion::SlowStart};
use gigatcp_units::{Bytes, Duration};

/// A path, and the data packets that it loses, counted from 1.
struct Road {
    name: &'static str,
    mbps: u64,
    rtt_ms: u64,
    seconds: u64,
    lost: [u64; 3],
}

/// A path that no window here fills, and one with a queue.
const ROADS: [Road; 2] = [
    Road {
        name: "1 Gbit/s, 100 ms",
        mbps: 1000,
        rtt_ms: 100,
        seconds: 15,
        lost: [200, 6000, 12_000],
    },
    Road {
        name: "20 Mbit/s, 50 ms",
        mbps: 20,
        rtt_ms: 50,
        seconds: 15,
        lost: [200, 6000, 12_000],
    },
];

/// Samples after a retransmission that are not compared.
const RECOVERY: usize = 4;

/// A control of ns-2 and the one here.
struct Pair {
    ns2: &'static str,
    /// Module parameter that ns-2 gets.
    parameter: Option<(&'static str, u32)>,
    here: &'static str,
    /// Whether windows were expected to be equal, before the first run.
    expected: [bool; ROADS.len()],
    /// Cause of a difference on each path; `None`: windows are equal.
    cause: [Option<&'static str>; ROADS.len()],
}

const fn pair(name: &'static str) -> Pair {
    Pair {
        ns2: name,
        parameter: None,
        here: name,
        expected: [true; ROADS.len()],
        cause: [None; ROADS.len()],
    }
}

const fn differs(name: &'static str, cause: &'static str) -> Pair {
    Pair {
        cause: [Some(cause); ROADS.len()],
        ..pair(name)
    }
}

const fn as_expected(pair: Pair) -> Pair {
    Pair {
        expected: [false; ROADS.len()],
        ..pair
    }
}

const PAIRS: [Pair; 14] = [
    Pair {
        cause: [Some(ONE_MORE), None],
        ..pair("reno")
    },
    differs("bic", BIC),
    Pair {
        here: "cubic-2.6.20",
        ..pair("cubic")
    },
    Pair {
        parameter: Some(("beta", 717)),
        here: "cubic-linux",
        cause: [None, Some(ONE_MORE)],
        ..pair("cubic")
    },
    differs("htcp", HTCP),
    as_expected(differs("highspeed", HIGHSPEED)),
    Pair {
        expected: [false, true],
        ..differs("hybla", HYBLA)
    },
    as_expected(differs("illinois", ILLINOIS)),
    as_expected(differs("lp", LP)),
    differs("scalable", SCALABLE),
    Pair {
        expected: [false, true],
        ..differs("vegas", VEGAS)
    },
    as_expected(pair("veno")),
    differs("westwood", WESTWOOD),
    Pair {
        cause: [Some(ONE_MORE), Some(LATER)],
        ..pair("yeah")
    },
];

const BIC: &str = "Linux divides the step by its estimate of segments per ACK, 31/16 at least";
const HTCP: &str = "Linux grows by whole segments and forgets the rest, with the old alpha";
const HIGHSPEED: &str =
    "Linux's table rounds a(w) up to whole segments; here the formula of RFC 3649";
const HYBLA: &str = "Linux cuts rho^2/cwnd to 1/128 segment per ACK";
const ILLINOIS: &str = "ns-2 leaves beta of the window; Linux takes beta away since 2.6.24";
const LP: &str = "Linux takes a delay equal to its threshold for a queue; the paper one above it";
const SCALABLE: &str =
    "ns-2 adds a segment per 51 ACKs; today's Linux per 100 segments, as the paper";
const VEGAS: &str =
    "ns-2 adds to the window of an RTT ago, so in every second RTT; Linux in each since 2.6.29";
const WESTWOOD: &str =
    "ns-2's agent reports no end of recovery, so the module never sets its estimate";
const LATER: &str = "ns-2 leaves recovery at half of ssthresh, and measures the queue an RTT later";
const ONE_MORE: &str = "ns-2 needs an ACK more for each segment, as Linux before 4.0";

fn main() -> ExitCode {
    let ns = Command::new("ns").arg("/dev/null").output();
    if ns.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        eprintln!("ns2: not run: `ns` is not installed (Debian: apt install ns2)");
        return ExitCode::from(2);
    }
    print!("{HEAD}");
    let mut is_explained = true;
    for (number, road) in ROADS.iter().enumerate() {
        println!("\n{}, data packets lost: {:?}", road.name, road.lost);
        println!("{COLUMNS}");
        for pair in &PAIRS {
            is_explained &= pair.compare(road, number);
        }
    }
    if is_explained {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

const HEAD: &str = "\
Windows of the controls, in segments, and those of Linux 2.6.22 in ns-2 2.35 (agent TCP/Linux).

The same path, the same packets lost, an ACK for each segment. Samples once per base RTT outside
recovery; \"within 1\" is their number where the windows differ by a segment at most, \"largest\"
the largest difference. \"Expected\" was written down before the first run, causes were found after
it. Written by `cargo xtask proof --ns2`; how it is compared: drive/sim/examples/ns2.rs.
";

const COLUMNS: &str = "\
ns-2             here         samples within 1 largest expected ssthresh after losses: ns-2; here";

/// Window at one moment.
#[derive(Clone, Copy, Debug)]
struct Sample {
    cwnd: u64,
    ssthresh: u64,
    retransmitted: u64,
}

impl Pair {
    /// Prints a line of the table; returns whether a difference has a cause.
    fn compare(&self, road: &Road, number: usize) -> bool {
        let theirs = self.in_ns2(road);
        let ours = self.simulated(road);
        if std::env::args().any(|word| word == self.ns2) {
            for (k, (a, b)) in theirs.iter().zip(&ours).enumerate() {
                eprintln!("{k:4} {a:?} {b:?}");
            }
        }
        let is_open = |samples: &[Sample], k: usize| {
            samples[k].retransmitted == samples[k.saturating_sub(RECOVERY)].retransmitted
        };
        let differences: Vec<u64> = (0..theirs.len().min(ours.len()))
            .filter(|k| is_open(&theirs, *k) && is_open(&ours, *k))
            .map(|k| {
                let around = &ours[k.saturating_sub(1)..ours.len().min(k + 2)];
                let differences = around
                    .iter()
                    .map(|sample| sample.cwnd.abs_diff(theirs[k].cwnd));
                differences.min().unwrap_or(u64::MAX)
            })
            .collect();
        let within = differences.iter().filter(|off| **off <= 1).count();
        let is_equal = within == differences.len();
        let name = match self.parameter {
            Some((name, value)) => format!("{}, {name} {value}", self.ns2),
            None => self.ns2.to_owned(),
        };
        println!(
            "{name:<16} {:<12} {:>7} {within:>8} {:>7} {:<8} {}; {}",
            self.here,
            differences.len(),
            differences.iter().max().unwrap_or(&0),
            if self.expected[number] {
                "equal"
            } else {
                "differs"
            },
            thresholds(&theirs),
            thresholds(&ours),
        );
        let cause = self.cause[number];
        match (is_equal, cause) {
            (true, None) => {}
            (false, Some(cause)) => println!("{:17}{cause}", ""),
            (true, Some(_)) => println!("{:17}EQUAL, BUT A CAUSE OF DIFFERENCE IS NAMED", ""),
            (false, None) => println!("{:17}NOT EXPLAINED", ""),
        }
        is_equal == cause.is_none()
    }

    fn in_ns2(&self, road: &Road) -> Vec<Sample> {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/notes/ns-2/controls.tcl");
        let mut command = Command::new("ns");
        let step = road.rtt_ms as f64 / 1e3;
        command
            .arg(script)
            .arg(self.ns2)
            .arg(
                self.parameter
                    .map_or(String::new(), |(name, value)| format!("{name} {value}")),
            )
            .arg(format!("{}Mb", road.mbps))
            .arg(format!("{}ms", road.rtt_ms as f64 / 2.0))
            .arg(road.seconds.to_string())
            .arg(step.to_string())
            .args(road.lost.map(|packet| packet.to_string()));
        let output = command.output().expect("ns2 runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let samples = text.lines().filter_map(|line| {
            let mut fields = line.strip_prefix("sample ")?.split(' ').skip(1);
            let mut field = || fields.next()?.parse::<f64>().ok();
            Some(Sample {
                cwnd: field()? as u64,
                ssthresh: field()? as u64,
                retransmitted: field()? as u64,
            })
        });
        samples.collect()
    }

    fn simulated(&self, road: &Road) -> Vec<Sample> {
        let mut profile = Profile::MODERN;
        profile.congestion.initial_window = InitialWindow::Segments(10);
        profile.congestion.slow_start = SlowStart::Standard;
        profile.pacing.enabled = false;
        profile.segments.segmentation_offload = false;
        profile.acknowledgments.delayed_ack = false;
        let mut sender = host(profile, 1500, self.here, 400_000_000);
        sender.tcp.transport_mut().initial_ssthresh = Some(0);
        let mut sending = flow(
            "flow",
            &sender,
            Stop::After(Duration::from_secs(road.seconds)),
        );
        // As in ns-2 its data leaves half an RTT before a sample.
        let rtt = Duration::from_millis(road.rtt_ms);
        sending.start = rtt / 2;
        let mut forward = link("forward", road.mbps * 1_000_000, rtt / 2, 1_000_000);
        // A SYN and the ACK of its answer come first.
        forward.loss = vec![LossModel::Listed(
            road.lost.map(|packet| packet + 2).to_vec(),
        )];
        forward.link_overhead = Bytes::ZERO;
        let mut config = world(forward, wire("reverse", rtt / 2), vec![sending]);
        config.end = Duration::from_secs(road.seconds);
        config.observe.sample_step = rtt;
        config.observe.account = false;
        let outcome = run(config).1;
        let smss = u64::from(smss(&outcome));
        let samples = outcome.flows[0]
            .samples
            .iter()
            .filter(|sample| sample.at.as_nanos() >= 2 * rtt.as_nanos());
        samples
            .map(|sample| Sample {
                cwnd: sample.cwnd.as_u64() / smss,
                ssthresh: sample.ssthresh.map_or(0, |octets| octets.as_u64() / smss),
                retransmitted: sample.retransmitted,
            })
            .collect()
    }
}

/// Returns ssthresh two samples after each retransmission.
fn thresholds(samples: &[Sample]) -> String {
    let losses =
        (1..samples.len()).filter(|k| samples[*k].retransmitted > samples[k - 1].retransmitted);
    let after = losses.map(|k| samples[(k + 2).min(samples.len() - 1)].ssthresh.to_string());
    after.collect::<Vec<_>>().join(" ")
}
