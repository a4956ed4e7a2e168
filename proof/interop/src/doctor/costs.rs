//! Costs of single wrong settings, as predicted by `doctor` and as measured.

use std::fmt;

use gigatcp_emulate::Side;
use gigatcp_meter::doctor::Report;
use gigatcp_units::{Duration, Probability, Rate};

use super::bed::{Bed, Link, Transfer};

/// Relative tolerance of costs.
const TOLERANCE: f64 = 0.2;
/// Fraction of the rate that a setting without a cost may still cost.
const NOISE: f64 = 0.02;

/// Expected effect, by a formula in the comment next to the case.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Expected {
    /// Remaining rate, in Mbit/s.
    Rate(f64),
    /// Time that a connection loses at its start, in ms.
    Time(f64),
    /// Finding without a rate cost.
    Nothing,
    /// Finding whose cost no formula predicts.
    Unknown,
}

use Expected::{Nothing, Rate as Left, Time, Unknown};

/// Wrong setting on a path of 100 Mbit/s and 40 ms.
struct Case {
    /// Rule that finds it; `None` where it costs nothing on this path.
    rule: Option<&'static str>,
    side: Side,
    command: &'static str,
    expected: Expected,
}

/// A row per case: rule, host, command, and expected effect.
macro_rules! cases {
    ($($rule:expr, $side:expr, $command:expr => $expected:expr;)+) => {
        &[$(Case { rule: $rule, side: $side, command: $command, expected: $expected }),+]
    };
}

const SENDER: Side = Side::Client;
const RECEIVER: Side = Side::Server;

/// All cases. The expected values were written before the first run. The payload rate of the path
/// is 94.1 Mbit/s.
const CASES: &[Case] = cases! {
    // Windows in bits over 40 ms. The window is 0.63 of a receive buffer.
    Some("receive-buffer-max"), RECEIVER,
        "sysctl -w net.ipv4.tcp_rmem='4096 131072 262144'" => Left(33.0);
    Some("receive-buffer-max"), RECEIVER,
        "sysctl -w net.ipv4.tcp_rmem='4096 65536 65536'" => Left(8.26);
    Some("receive-autotuning-off"), RECEIVER,
        "sysctl -w net.ipv4.tcp_moderate_rcvbuf=0" => Left(16.5);
    Some("route-window"), RECEIVER, "ROUTE window 100000" => Left(26.2);
    Some("route-window"), RECEIVER, "ROUTE window 65535" => Left(13.1);
    Some("window-scaling-off"), RECEIVER,
        "sysctl -w net.ipv4.tcp_window_scaling=0" => Left(13.1);
    Some("window-scaling-off"), SENDER, "sysctl -w net.ipv4.tcp_window_scaling=0" => Left(13.1);
    Some("send-buffer-max"), SENDER,
        "sysctl -w net.ipv4.tcp_wmem='4096 16384 262144'" => Left(52.4);
    Some("send-buffer-max"), SENDER,
        "sysctl -w net.ipv4.tcp_wmem='4096 16384 131072'" => Left(26.2);
    Some("route-cwnd"), SENDER, "ROUTE cwnd lock 50" => Left(14.5);
    // Payload per frame: 524 of 614 octets, 548 of 638.
    Some("route-advmss"), RECEIVER, "ROUTE advmss 536" => Left(85.3);
    Some("route-mtu"), SENDER, "ROUTE mtu 600" => Left(85.9);
    Some("small-mtu"), RECEIVER, "ip link set CARD mtu 600" => Left(85.9);
    // 1448 of 1514 octets of a packet.
    Some("qdisc-rate"), SENDER,
        "tc qdisc replace dev CARD root tbf rate 30mbit burst 30k latency 100ms" => Left(28.7);
    // Three packets of two segments each.
    Some("short-queue"), SENDER,
        "tc qdisc replace dev CARD root handle 1: htb default 10 && \
         tc class add dev CARD parent 1: classid 1:10 htb rate 100mbit && \
         tc qdisc add dev CARD parent 1:10 pfifo limit 1" => Left(1.74);
    // log2(10 / n) RTTs.
    Some("route-initcwnd"), SENDER, "ROUTE initcwnd 1" => Time(133.0);
    Some("route-initcwnd"), SENDER, "ROUTE initcwnd 2" => Time(93.0);
    Some("route-initcwnd"), SENDER, "ROUTE initcwnd 3" => Time(69.0);
    // The receive window triples each RTT until it exceeds the sender's window.
    Some("route-initrwnd"), RECEIVER, "ROUTE initrwnd 1" => Time(83.0);
    Some("route-initrwnd"), RECEIVER, "ROUTE initrwnd 2" => Time(53.0);
    Some("receive-buffer-default"), RECEIVER,
        "sysctl -w net.ipv4.tcp_rmem='4096 8192 6291456'" => Unknown;
    Some("sack-off"), SENDER, "sysctl -w net.ipv4.tcp_sack=0" => Unknown;
    Some("timestamps-off"), SENDER, "sysctl -w net.ipv4.tcp_timestamps=0" => Nothing;
    Some("route-rto-min"), SENDER, "ROUTE rto_min 1s" => Nothing;
    Some("output-limit"), SENDER, "sysctl -w net.ipv4.tcp_limit_output_bytes=20000" => Nothing;
    None, SENDER, "ethtool -K CARD tso off gso off" => Nothing;
    None, RECEIVER, "ethtool -K CARD gro off" => Nothing;
    None, RECEIVER, "sysctl -w net.ipv4.tcp_adv_win_scale=-2" => Nothing;
};

/// Cost of a wrong setting.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Command that made the setting wrong.
    pub command: String,
    /// Rule that should find it.
    pub rule: Option<&'static str>,
    /// Whether `doctor` reported it and no other certain finding.
    pub is_found_alone: bool,
    /// Effect written down before the run.
    pub expected: Expected,
    /// Cost predicted by `doctor`, in Mbit/s or ms.
    pub stated: Option<f64>,
    /// Measured cost in the same unit.
    pub shown: f64,
    /// Transfer with the wrong setting.
    pub transfer: Transfer,
}

impl Cost {
    /// Whether it was the only finding, with a cost within 20 % of the measurement.
    pub fn is_right(&self) -> bool {
        self.is_found_alone
            && match (self.expected, self.stated) {
                (Unknown, stated) => stated.is_none(),
                (Nothing, stated) => stated.is_none() && self.shown <= NOISE * self.transfer.mbps,
                (_, Some(stated)) => (stated / self.shown - 1.0).abs() <= TOLERANCE,
                (_, None) => false,
            }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, unit) = match self.expected {
            Left(mbps) => (format!("{mbps:.1}"), "Mbit/s"),
            Time(ms) => (format!("{ms:.0}"), "ms"),
            Nothing => ("nothing".into(), "Mbit/s"),
            Unknown => ("unknown".into(), "Mbit/s"),
        };
        let stated = self
            .stated
            .map_or_else(|| "-".into(), |cost| format!("{cost:.1}"));
        let off = self
            .stated
            .map(|stated| 100.0 * (stated / self.shown - 1.0))
            .map_or_else(|| "-".into(), |percent| format!("{percent:+.0} %"));
        write!(
            f,
            "{:3} {:22} {expected:>8} {:>8.1} {stated:>8} {:>8.1} {unit:6} {off:>6}  {}",
            if self.is_right() { "ok" } else { "off" },
            self.rule.unwrap_or("(none)"),
            self.transfer.mbps,
            self.shown,
            self.command,
        )
    }
}

/// Table heading for [`Cost`]s.
pub fn heading() -> String {
    format!(
        "    {:22} {:>8} {:>8} {:>8} {:>8} {:6} {:>6}  wrong setting",
        "rule", "expected", "rate", "stated", "shown", "", "off"
    )
}

/// Measures all cases in sequence, and calls `each` per row.
///
/// # Errors
/// Reason why no test was possible.
pub fn costs(each: &mut dyn FnMut(&Cost)) -> Result<(), String> {
    let link = Link {
        rate: Rate::from_bps(100_000_000),
        rtt: Duration::from_millis(40),
        loss: None,
    };
    let good = Bed::new(link)?.transfer()?;
    for case in CASES {
        let bed = Bed::new(link)?;
        bed.shell(case.side, case.command)?;
        let report = bed.examine(case.side)?;
        if case.rule == Some("route-cwnd") {
            // The kernel caps later connections to a remembered peer once one has closed.
            bed.transfer()?;
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        let transfer = bed.transfer()?;
        let shown = match case.expected {
            Time(_) => (transfer.late - good.late) * 1000.0,
            _ => good.mbps - transfer.mbps,
        };
        each(&row(case, &report, transfer, shown));
    }
    lossy(each)
}

fn row(case: &Case, report: &Report, transfer: Transfer, shown: f64) -> Cost {
    let certain = report
        .findings
        .iter()
        .filter(|found| found.finding.only_if.is_none());
    let certain: Vec<&str> = certain.map(|found| found.rule.id).collect();
    let found = report
        .findings
        .iter()
        .find(|found| Some(found.rule.id) == case.rule);
    let others = certain.iter().any(|id| Some(*id) != case.rule);
    let stated = found.and_then(|found| {
        let delay = found
            .finding
            .delay
            .map(|delay| delay.as_secs_f64() * 1000.0);
        found.cost.map(|cost| cost.as_bps() as f64 * 1e-6).or(delay)
    });
    Cost {
        command: case.command.into(),
        rule: case.rule,
        is_found_alone: found.is_some() == case.rule.is_some() && !others,
        expected: case.expected,
        stated,
        shown,
        transfer,
    }
}

/// Measures congestion control algorithms as the mean of five transfers. The path has 100 Mbit/s,
/// 10 ms and a loss of 1 in 1000 packets.
fn lossy(each: &mut dyn FnMut(&Cost)) -> Result<(), String> {
    const TRANSFERS: u32 = 5;
    // 0.93 segments over 10 ms and sqrt(p). For CUBIC, which is in its Reno mode there, 1.2
    // segments.
    for (command, expected) in [("ROUTE congctl reno", 34.1), ("ROUTE congctl cubic", 44.0)] {
        let link = Link {
            rate: Rate::from_bps(100_000_000),
            rtt: Duration::from_millis(10),
            loss: Probability::try_new(1e-3),
        };
        let bed = Bed::new(link)?;
        let case = Case {
            rule: Some("congestion-control"),
            side: SENDER,
            command,
            expected: Left(expected),
        };
        bed.shell(SENDER, command)?;
        let report = bed.examine(SENDER)?;
        let mut sum = 0.0;
        let mut last = bed.transfer()?;
        sum += last.mbps;
        for _ in 1..TRANSFERS {
            last = bed.transfer()?;
            sum += last.mbps;
        }
        last.mbps = sum / f64::from(TRANSFERS);
        let path = link.payload().as_bps() as f64 * 1e-6;
        each(&row(&case, &report, last, path - last.mbps));
    }
    Ok(())
}
