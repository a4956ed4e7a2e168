//! Tests with a rate and cause known before they run.
//!
//! One function per cause: it draws a path and a setting that binds well below the path's rate.
//! The label assumes a range of the measured rate, which is checked after the run.

use crate::draw::Draw;

/// Payload of a segment with timestamps, in octets.
const MSS: f64 = 1448.0;

/// Octets of a full segment on the emulated link, which adds 38.
const WIRE: f64 = 1538.0;

/// Preparation of one end before its program starts.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Shell commands.
    pub setup: String,
    /// Share of a CPU and period in microseconds, if there is a quota.
    pub quota: Option<(f64, u32)>,
}

/// A test between two ends over an emulated path.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of its function.
    pub family: &'static str,
    /// Correct cause.
    pub cause: &'static str,
    /// Other correct causes.
    pub acceptable: Vec<&'static str>,
    /// Payload rate of the saturated path in bit/s, without headers.
    pub payload_bps: f64,
    /// RTT without queues, in seconds.
    pub rtt_s: f64,
    /// Range of the measured rate, as shares of `payload_bps`, in which the label holds.
    pub share: [f64; 2],
    /// Arguments of `gigatcp emulate`.
    pub path: Vec<String>,
    /// Arguments of `gigatcp test`, after the host.
    pub test: Vec<String>,
    /// The sending host.
    pub sender: Place,
    /// The receiving host.
    pub receiver: Place,
    /// Whether the server sends.
    pub is_reverse: bool,
}

/// Case under construction, with its random stream.
struct Draft {
    case: Case,
    draw: Draw,
    rate_bps: f64,
}

/// Name, cause, ranges of rate (Mbit/s) and RTT (ms), and constructor.
type Family = (&'static str, &'static str, [[f64; 2]; 2], fn(&mut Draft));

const USUAL: [[f64; 2]; 2] = [[30.0, 200.0], [5.0, 60.0]];
const LONG: [[f64; 2]; 2] = [[60.0, 200.0], [20.0, 80.0]];

const FAMILIES: &[Family] = &[
    ("full", "path-saturated", USUAL, full),
    ("full-bbr", "path-saturated", USUAL, full_bbr),
    (
        "receive-buffer",
        "receive-window-limited",
        LONG,
        receive_buffer,
    ),
    ("no-scaling", "no-window-scaling", LONG, no_scaling),
    ("send-buffer", "send-buffer-limited", LONG, send_buffer),
    ("paced-writes", "application-limited", USUAL, paced_writes),
    ("fq-rate", "pacing-limited", USUAL, fq_rate),
    ("loss", "random-loss", LONG, loss),
    ("loss-bursts", "random-loss", LONG, loss_bursts),
    ("policer", "policer", USUAL, policer),
    ("short-queue", "queue-overflow", LONG, short_queue),
    (
        "reordering",
        "reordering-mistaken-for-loss",
        LONG,
        reordering,
    ),
    ("marks", "ecn-marks", LONG, marks),
    ("outage", "outage", USUAL, outage),
    ("heavy-loss", "rto-backoff", USUAL, heavy_loss),
    (
        "growth",
        "cwnd-growth-limited",
        [[200.0, 300.0], [120.0, 200.0]],
        growth,
    ),
    (
        "sender-quota",
        "sender-cpu-limited",
        [[150.0, 250.0], [2.0, 20.0]],
        sender_quota,
    ),
    (
        "receiver-quota",
        "receiver-cpu-limited",
        [[150.0, 250.0], [2.0, 20.0]],
        receiver_quota,
    ),
    ("tbf", "local-queue", USUAL, tbf),
    (
        "slow-acks",
        "ack-path",
        [[60.0, 200.0], [5.0, 30.0]],
        slow_acks,
    ),
    ("wide-window", "path-saturated", USUAL, wide_window),
    ("wide-buffer", "path-saturated", USUAL, wide_buffer),
    ("rare-loss", "path-saturated", USUAL, rare_loss),
    ("rare-reordering", "path-saturated", USUAL, rare_reordering),
    (
        "paced-rare-loss",
        "application-limited",
        USUAL,
        paced_rare_loss,
    ),
];

/// All cases of a seed.
pub fn of_seed(seed: u64) -> Vec<Case> {
    let numbered = FAMILIES.iter().zip(0_u64..);
    numbered
        .map(|(family, n)| draft(*family, seed * 1000 + n))
        .collect()
}

fn draft((family, cause, ranges, make): Family, seed: u64) -> Case {
    let mut draw = Draw::new(seed);
    let rate_bps = draw.magnitude(ranges[0][0], ranges[0][1]) * 1e6;
    let rtt_s = draw.magnitude(ranges[1][0], ranges[1][1]) * 1e-3;
    let is_reverse = draw.chance(0.3);
    let case = Case {
        family,
        cause,
        acceptable: Vec::new(),
        payload_bps: rate_bps * MSS / WIRE,
        rtt_s,
        share: [0.0, 0.85],
        path: vec![
            format!("--rate={rate_bps:.0} bit/s"),
            format!("--rtt={:.3} ms", rtt_s * 1e3),
            format!("--seed={seed}"),
        ],
        test: Vec::new(),
        sender: Place::default(),
        receiver: Place::default(),
        is_reverse,
    };
    let mut draft = Draft {
        case,
        draw,
        rate_bps,
    };
    make(&mut draft);
    let mut case = draft.case;
    let is_given =
        |words: &[String], option: &str| words.iter().any(|word| word.starts_with(option));
    if !is_given(&case.path, "--queue") {
        case.path.push("--queue=2 BDP".into());
    }
    if !is_given(&case.test, "-t") && !is_given(&case.test, "-n") {
        case.test.push("-t4".into());
    }
    if !is_given(&case.test, "-C") {
        case.test.push("-Ccubic".into());
    }
    if is_reverse {
        case.test.push("-R".into());
    }
    case
}

impl Draft {
    fn bdp(&self) -> f64 {
        self.rate_bps / 8.0 * self.case.rtt_s
    }

    fn path(&mut self, option: String) {
        self.case.path.push(option);
    }

    fn test(&mut self, option: String) {
        self.case.test.push(option);
    }

    fn sysctl(&mut self, setting: &str) {
        self.path(format!("--sysctl=net.ipv4.{setting}"));
    }

    /// Loss probability for a Reno window between `low` and `high` of the BDP.
    fn probability(&mut self, low: f64, high: f64) -> f64 {
        let window = self.draw.between(low, high) * self.bdp() / MSS;
        (1.5 / (window * window)).clamp(1e-4, 0.02)
    }
}

fn full(draft: &mut Draft) {
    let queue = draft.draw.between(1.0, 2.5);
    draft.path(format!("--queue={queue:.2} BDP"));
    draft.case.share = [0.85, 1.01];
}

fn full_bbr(draft: &mut Draft) {
    draft.test("-Cbbr".into());
    draft.case.share = [0.8, 1.01];
}

fn receive_buffer(draft: &mut Draft) {
    // Half of the buffer counts as window.
    let window = draft.bdp() * draft.draw.between(0.2, 0.6);
    let buffer = 2.0 * window;
    draft.sysctl(&format!("tcp_rmem=4096 {buffer:.0} {buffer:.0}"));
}

/// Sets a receive window that is full, but larger than the path requires.
fn wide_window(draft: &mut Draft) {
    let buffer = 2.0 * draft.bdp().max(30_000.0) * draft.draw.between(1.5, 2.5);
    draft.sysctl(&format!("tcp_rmem=4096 {buffer:.0} {buffer:.0}"));
    draft.path("--queue=4 BDP".into());
    draft.case.share = [0.85, 1.01];
}

fn wide_buffer(draft: &mut Draft) {
    let buffer = draft.bdp().max(60_000.0) * draft.draw.between(2.5, 4.0);
    draft.sysctl(&format!("tcp_wmem=4096 {buffer:.0} {buffer:.0}"));
    draft.path("--queue=5 BDP".into());
    draft.case.share = [0.85, 1.01];
}

/// A loss probability at which Reno would reach several times the rate.
fn rare(draft: &mut Draft) -> f64 {
    let window = draft.draw.between(3.0, 10.0) * draft.bdp() / MSS;
    (1.5 / (window * window)).clamp(1e-6, 1e-3)
}

fn rare_loss(draft: &mut Draft) {
    let chance = rare(draft);
    draft.path(format!("--loss={chance:.7}"));
    draft.case.share = [0.85, 1.01];
}

fn rare_reordering(draft: &mut Draft) {
    let chance = rare(draft) * 4.0;
    let late = draft.case.rtt_s * draft.draw.between(0.2, 0.9) * 1e3;
    draft.path(format!("reorder={chance:.7}"));
    draft.path(format!("reorder_delay={late:.3} ms"));
    draft.case.share = [0.85, 1.01];
}

fn paced_rare_loss(draft: &mut Draft) {
    paced_writes(draft);
    let chance = rare(draft) * 3.0;
    draft.path(format!("--loss={chance:.7}"));
}

fn no_scaling(draft: &mut Draft) {
    draft.sysctl("tcp_window_scaling=0");
    draft.case.acceptable = vec!["receive-window-limited"];
}

fn send_buffer(draft: &mut Draft) {
    let buffer = draft.bdp() * draft.draw.between(0.3, 0.8);
    draft.sysctl(&format!("tcp_wmem=4096 {buffer:.0} {buffer:.0}"));
}

fn paced_writes(draft: &mut Draft) {
    let rate = draft.rate_bps * draft.draw.between(0.1, 0.6);
    draft.test(format!("-b{rate:.0}"));
}

fn fq_rate(draft: &mut Draft) {
    let rate = draft.rate_bps * draft.draw.between(0.1, 0.6);
    draft.test(format!("fq_rate={rate:.0}"));
}

fn loss(draft: &mut Draft) {
    let chance = draft.probability(0.12, 0.4);
    draft.path(format!("--loss={chance:.6}"));
    let control = draft.draw.pick(&["-Creno", "-Ccubic"]);
    draft.test(control.into());
    draft.test("-t5".into());
}

fn loss_bursts(draft: &mut Draft) {
    let chance = draft.probability(0.12, 0.35);
    let length = draft.draw.between(2.0, 5.0);
    draft.path(format!("loss_burst={:.6}:{length:.1}", chance * length));
    draft.test("-Creno".into());
    draft.test("-t5".into());
}

fn policer(draft: &mut Draft) {
    let rate = draft.rate_bps * draft.draw.between(0.25, 0.7);
    let burst = (rate / 8.0 * draft.draw.magnitude(0.003, 0.08)).max(9000.0);
    draft.path(format!("policer={rate:.0} bit/s"));
    draft.path(format!("policer_burst={burst:.0} B"));
}

fn short_queue(draft: &mut Draft) {
    let packets = (draft.bdp() * draft.draw.between(0.02, 0.08) / WIRE).max(3.0);
    draft.path(format!("--queue={packets:.0} packets"));
    draft.test("-Creno".into());
    draft.test("-t5".into());
    draft.case.acceptable = vec!["path-saturated"];
    draft.case.share = [0.0, 0.88];
}

fn reordering(draft: &mut Draft) {
    let window = draft.draw.between(0.1, 0.3) * draft.bdp() / MSS;
    let chance = (10.0 / (window * window)).clamp(0.004, 0.06);
    let late = draft.case.rtt_s * draft.draw.between(0.3, 0.9) * 1e3;
    draft.path(format!("reorder={chance:.5}"));
    draft.path(format!("reorder_delay={late:.3} ms"));
    draft.path("--queue=8 BDP".into());
    for setting in [
        "tcp_recovery=0",
        "tcp_max_reordering=3",
        "tcp_early_retrans=0",
    ] {
        draft.sysctl(setting);
    }
}

fn marks(draft: &mut Draft) {
    draft.sysctl("tcp_ecn=1");
    let chance = draft.probability(0.12, 0.4);
    draft.path(format!("mark={chance:.6}"));
    draft.test("-Creno".into());
    draft.test("-t5".into());
}

fn outage(draft: &mut Draft) {
    let length = draft.draw.between(2.0, 3.0);
    draft.path("--loss=1".into());
    draft.path("loss_from=1 s".into());
    draft.path(format!("loss_until={:.2} s", 1.0 + length));
    draft.test("-t5".into());
    draft.case.acceptable = vec!["rto-backoff"];
}

fn heavy_loss(draft: &mut Draft) {
    let chance = draft.draw.between(0.12, 0.25);
    draft.path(format!("--loss={chance:.3}"));
    draft.test("-t5".into());
    draft.case.acceptable = vec!["random-loss"];
}

fn growth(draft: &mut Draft) {
    let amount = draft.bdp() * draft.draw.between(0.4, 0.9);
    draft.test(format!("-n{amount:.0}"));
    draft.sysctl("tcp_rmem=4096 16777216 33554432");
}

fn quota(draft: &mut Draft) -> Place {
    draft.test("-l256".into());
    let period = draft.draw.pick(&[20_000, 50_000, 100_000]);
    let share = draft.draw.between(0.02, 0.06);
    Place {
        quota: Some((share, period)),
        ..Place::default()
    }
}

fn sender_quota(draft: &mut Draft) {
    draft.case.sender = quota(draft);
    draft.case.acceptable = vec!["application-limited"];
}

fn receiver_quota(draft: &mut Draft) {
    draft.case.receiver = quota(draft);
    draft.case.acceptable = vec!["slow-reader"];
}

fn tbf(draft: &mut Draft) {
    let rate = draft.rate_bps * draft.draw.between(0.2, 0.6);
    let room = (rate / 8.0 * draft.draw.between(0.05, 0.3)).max(100_000.0);
    draft.case.sender.setup = format!(
        "tc qdisc replace dev path0 root tbf rate {rate:.0}bit burst 16000 limit {room:.0}"
    );
}

fn slow_acks(draft: &mut Draft) {
    // An ACK of two segments has 66 octets plus the link's 38.
    let needed = draft.rate_bps / (2.0 * MSS * 8.0) * (66.0 - 14.0 + 38.0) * 8.0;
    let rate = needed * draft.draw.between(0.05, 0.25);
    let option = if draft.case.is_reverse {
        "--rate"
    } else {
        "reverse.rate"
    };
    if draft.case.is_reverse {
        let forward = draft.case.path[0].replace("--rate=", "reverse.rate=");
        draft.case.path[0] = forward;
    }
    draft.path(format!("{option}={rate:.0} bit/s"));
    draft.path("--queue=1000 packets".into());
    draft.path("--no-offloads".into());
}
