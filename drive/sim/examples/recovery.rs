//! Loss recovery over lossy and reordering paths, compared with published predictions.
//!
//!     cargo run --release -p gigatcp-sim --example recovery [WORKLOAD [SETTING=VALUE ...]]
//!
//! Workloads (all of them without an argument): `cubic` (1 and 10 Gbit/s, 100 ms, one packet in 100
//! 000 lost), `reno` (0.01 to 5 % lost), `reorder` (one packet in ten reordered by up to half an
//! RTT), `slight` (66 ms, 0.003 % lost, slight reordering). Settings switch mechanisms of the
//! profile, e.g. `rack=false`, or select a word, e.g. `reduce_again=never`.
//!
//! Prints one line per path: goodput, its reference, their ratio, packets lost on the path and
//! retransmissions. The references:
//!
//! * CUBIC: RFC 9438 section 5.2, W = 1.054 (RTT/p)^(3/4), or the link.
//! * Reno, every segment acknowledged: C/(RTT sqrt(p)) with C = 1.31 for random loss (Mathis et al.
//!   1997, table 1). The constant holds for growth without pause. Standard Reno does not grow
//!   during recovery, which costs one RTT per loss. So two further references: the full model of
//!   Padhye et al. (1998), b = 1, with the timer's minimum as `T0`, which has neither SACK nor
//!   RACK; and an ideal Reno in rounds, which retransmits everything in one round of half the
//!   window without growth.
//! * Reordering: the same path without it.

use std::sync::atomic::{AtomicBool, AtomicU64};

#[path = "../tests/common/mod.rs"]
mod common;

use common::{flow, host, link, wire, world};
use gigatcp_path::{HopConfig, LossModel, Reorder};
use gigatcp_sim::{Observe, Stop, World, WorldConfig};
use gigatcp_tcp::Profile;
use gigatcp_tcp::profile::{SETTINGS, SettingValue};
use gigatcp_units::{Duration, Probability};

/// A path and the duration of its use.
struct Workload {
    control: &'static str,
    mtu: u16,
    rate: u64,
    rtt: Duration,
    loss: f64,
    /// Reordering distance as a fraction of the RTT, and the share of packets.
    displaced: &'static [(f64, f64)],
    seconds: u64,
}

struct Outcome {
    goodput_mbps: f64,
    lost: u64,
    sent: u64,
    resent: u64,
    text: String,
}

fn wire_with(name: &str, displaced: f64, by: Duration) -> HopConfig {
    HopConfig {
        reorder: Some(Reorder {
            probability: Probability::try_new(displaced).expect("a probability"),
            extra_delay: by,
        }),
        ..wire(name, Duration::ZERO)
    }
}

impl Workload {
    fn config(&self, profile: Profile) -> WorldConfig {
        let window = 8 * self.rate / 8 / 1000 * self.rtt.as_millis();
        let host = host(profile, self.mtu, self.control, window.max(4_000_000));
        let stop = Stop::After(Duration::from_secs(self.seconds));
        // A queue of one BDP.
        let queue = self.rate / 8 / 1000 * self.rtt.as_millis() / u64::from(self.mtu);
        let forward = link("forward", self.rate, self.rtt / 2, queue.max(100));
        let mut config = world(
            forward,
            wire("reverse", self.rtt / 2),
            vec![flow("one", &host, stop)],
        );
        let lossy = HopConfig {
            loss: vec![LossModel::Bernoulli(
                Probability::try_new(self.loss).expect("a probability"),
            )],
            ..wire("lossy", Duration::ZERO)
        };
        config.forward.push(lossy);
        for (number, (displaced, part)) in self.displaced.iter().enumerate() {
            let by = Duration::from_secs_f64(self.rtt.as_secs_f64() * part);
            let name = format!("displacing-{number}");
            config.forward.push(wire_with(&name, *displaced, by));
        }
        config.end = Duration::from_secs(self.seconds);
        config.observe = Observe::NOTHING;
        config
    }

    fn run(&self, profile: Profile) -> Outcome {
        let mut world = World::new(self.config(profile)).expect("a world that can be built");
        world.run(&AtomicBool::new(false), &AtomicU64::new(0));
        let outcome = world.outcome();
        let bits = outcome.flows[0].bytes().as_bits_f64();
        let sender = outcome.flows[0].sender.connection().expect("a connection");
        let counters = sender.counters();
        Outcome {
            goodput_mbps: bits / outcome.now.as_secs_f64() / 1e6,
            lost: outcome
                .hops
                .iter()
                .map(|hop| hop.counters().drops.total().packets)
                .sum(),
            sent: counters.data_segments_sent,
            resent: counters.retransmitted_segments,
            text: format!(
                "timeouts {} spurious {} undos {} lost_again {} probes {} in_vain {} reo_wnd {}",
                counters.timeouts,
                counters.spurious_timeouts,
                counters.undos,
                counters.lost_retransmissions,
                counters.tail_probes,
                counters.spurious_retransmits,
                sender.info().reo_wnd,
            ),
        }
    }

    fn smss(&self) -> f64 {
        f64::from(self.mtu - 52)
    }

    /// Returns the rate of a window of `window` segments, in Mbit/s, or the link's.
    fn rate_of(&self, window: f64) -> f64 {
        let rate = window * self.smss() * 8.0 / self.rtt.as_secs_f64() / 1e6;
        rate.min(self.rate as f64 / 1e6 * self.smss() / f64::from(self.mtu))
    }

    fn report(&self, name: &str, outcome: &Outcome, reference: f64) {
        let rate = self.rate as f64 / 1e9;
        let share = outcome.lost as f64 / outcome.sent as f64;
        println!(
            "{name} {} mtu {} rate {rate} Gbit/s rtt {} loss {}: goodput {:.2} Mbit/s reference {reference:.2} ratio {:.3} \
             lost {} ({share:.2e}) resent {} | {}",
            self.control,
            self.mtu,
            self.rtt,
            self.loss,
            outcome.goodput_mbps,
            outcome.goodput_mbps / reference,
            outcome.lost,
            outcome.resent,
            outcome.text,
        );
    }
}

fn cubic(profile: Profile) {
    for (rate, mtu, seconds) in [
        (1_000_000_000, 1500, 600),
        (10_000_000_000, 1500, 600),
        (1_000_000_000, 9000, 400),
        (10_000_000_000, 9000, 400),
    ] {
        let path = Workload {
            control: "cubic",
            mtu,
            rate,
            rtt: Duration::from_millis(100),
            loss: 1e-5,
            displaced: &[],
            seconds,
        };
        let window = 1.054 * (path.rtt.as_secs_f64() / path.loss).powf(0.75);
        let outcome = path.run(profile);
        path.report("cubic", &outcome, path.rate_of(window));
    }
}

/// Returns the full model of Padhye et al., in segments per second, b = 1.
fn pftk(p: f64, rtt: f64, t0: f64) -> f64 {
    let window = 1.0 + (8.0 * (1.0 - p) / (3.0 * p) + 1.0).sqrt();
    let q = 1.0 - p;
    let timeout = ((1.0 - q.powi(3)) * (1.0 + q.powi(3) * (1.0 - q.powf(window - 3.0)))
        / (1.0 - q.powf(window)))
    .min(1.0);
    let backoff = 1.0
        + p
        + 2.0 * p.powi(2)
        + 4.0 * p.powi(3)
        + 8.0 * p.powi(4)
        + 16.0 * p.powi(5)
        + 32.0 * p.powi(6);
    (q / p + window + timeout / q) / (rtt * (window / 2.0 + 1.0) + timeout * backoff * t0 / q)
}

/// Returns the segments per round of an ideal Reno.
///
/// `w` segments leave per round. A round with a loss halves `w`; the next one retransmits and does
/// not grow it.
fn ideal(p: f64) -> f64 {
    const ROUNDS: u32 = 400_000;
    let (mut window, mut repairing, mut delivered) = (10.0_f64, false, 0.0);
    // A linear congruential sequence (Knuth's MMIX); its high bits are drawn.
    let mut random = 1_u64;
    for _ in 0..ROUNDS {
        let mut lost = 0;
        for _ in 0..window as u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            lost += u32::from((random >> 11) as f64 / (1_u64 << 53) as f64 <= p);
        }
        delivered += window.floor() - f64::from(lost);
        if lost > 0 {
            window = (window / 2.0).max(2.0);
        } else if !repairing {
            window += 1.0;
        }
        repairing = lost > 0;
    }
    delivered / f64::from(ROUNDS)
}

fn reno(profile: Profile) {
    let profile = profile.with(|profile| {
        profile.acknowledgments.delayed_ack = false;
    });
    for (loss, seconds) in [
        (1e-4, 4000),
        (3e-4, 4000),
        (1e-3, 4000),
        (3e-3, 4000),
        (1e-2, 4000),
        (2e-2, 4000),
        (5e-2, 4000),
    ] {
        let path = Workload {
            control: "reno",
            mtu: 1500,
            rate: 1_000_000_000,
            rtt: Duration::from_millis(100),
            loss,
            displaced: &[],
            seconds,
        };
        let rtt = path.rtt.as_secs_f64();
        let outcome = path.run(profile);
        let mathis = path.rate_of(1.31 / loss.sqrt());
        path.report("reno/mathis", &outcome, mathis);
        let t0 = profile.timer.rto_min.as_secs_f64();
        let padhye = pftk(loss, rtt, t0) * path.smss() * 8.0 / 1e6;
        let ideal = path.rate_of(ideal(loss));
        println!(
            "  Padhye et al. {padhye:.2} Mbit/s, ratio {:.3}; ideal in rounds {ideal:.2} Mbit/s, ratio {:.3}",
            outcome.goodput_mbps / padhye,
            outcome.goodput_mbps / ideal,
        );
    }
}

fn reorder(profile: Profile) {
    const UP_TO_HALF: &[(f64, f64)] = &[
        (0.02, 0.1),
        (0.02, 0.2),
        (0.02, 0.3),
        (0.02, 0.4),
        (0.02, 0.5),
    ];
    for (control, rate, rtt, seconds) in [
        ("reno", 100_000_000, 50, 60),
        ("cubic", 100_000_000, 50, 60),
        ("cubic", 1_000_000_000, 100, 60),
        ("cubic", 1_000_000_000, 10, 30),
    ] {
        let path = |displaced| Workload {
            control,
            mtu: 1500,
            rate,
            rtt: Duration::from_millis(rtt),
            loss: 0.0,
            displaced,
            seconds,
        };
        let straight = path(&[]).run(profile);
        let path = path(UP_TO_HALF);
        let outcome = path.run(profile);
        path.report("reorder", &outcome, straight.goodput_mbps);
    }
}

fn slight(profile: Profile) {
    const SLIGHT: &[(f64, f64)] = &[(0.001, 0.02)];
    for control in ["reno", "cubic"] {
        let path = |displaced| Workload {
            control,
            mtu: 1500,
            rate: 1_000_000_000,
            rtt: Duration::from_millis(66),
            loss: 3e-5,
            displaced,
            seconds: 1200,
        };
        // The same path without reordering.
        let straight = path(&[]).run(profile);
        path(&[]).report("slight: loss alone", &straight, straight.goodput_mbps);
        let path = path(SLIGHT);
        path.report("slight", &path.run(profile), straight.goodput_mbps);
    }
}

/// Parses `true`, `false`, or a word of the setting.
fn value(name: &str, text: &str) -> Option<SettingValue> {
    let setting = SETTINGS.iter().find(|setting| setting.name == name)?;
    let word = setting.words().find(|word| *word == text);
    let switch = text.parse().ok().map(SettingValue::Switch);
    word.map(SettingValue::Word).or(switch)
}

/// Function that runs a workload with a profile and prints the results.
type Runs = fn(Profile);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "all".to_owned());
    let mut profile = Profile::MODERN;
    for setting in arguments {
        let parts = setting.split_once('=');
        let value = parts.and_then(|(key, text)| Some((key, value(key, text)?)));
        let set = value.map(|(key, value)| profile.try_set(key, value));
        if !matches!(set, Some(Ok(()))) {
            eprintln!("{setting:?} is no setting=true, setting=false or setting=word");
            std::process::exit(2);
        }
    }
    let workloads: [(&str, Runs); 4] = [
        ("cubic", cubic),
        ("reno", reno),
        ("reorder", reorder),
        ("slight", slight),
    ];
    let mut known = false;
    for (workload, run) in workloads {
        if name == workload || name == "all" {
            known = true;
            run(profile);
        }
    }
    if !known {
        eprintln!("workloads: cubic, reno, reorder, slight, all");
        std::process::exit(2);
    }
}
