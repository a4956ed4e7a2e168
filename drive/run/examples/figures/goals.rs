//! Goals for congestion control and loss recovery, next to measured results.
//!
//! * CUBIC over 1 and 10 Gbit/s, 100 ms, one packet in 100 000 lost: 90 % of the limit by RFC
//!   9438's response function and the link.
//! * Reno, every segment acknowledged, 0.01 to 5 % lost: 95 % of the square-root law with its
//!   constant for random loss, 1.31 (Mathis et al. 1997). Two more models are listed with it,
//!   because that law assumes windows that grow without pause: Padhye et al. 1998 includes
//!   timeouts; the ideal in rounds retransmits everything in one round without growth, the minimum
//!   that RFC 5681 and 6675 allow.
//! * One packet in ten reordered by up to half an RTT: 95 % of the same path without.
//! * 66 ms, 0.003 % lost, slight reordering: 90 % of the same path with the loss alone, and at most
//!   twice as many retransmissions as losses.
//!
//! Each ratio is of one seed; printed are the median, minimum and maximum of several. The median
//! decides.

use std::collections::BTreeMap;

use gigatcp_plan::record::SeriesRecord;
use gigatcp_plan::record::growth::median;
use gigatcp_theory::pftk::Pftk;
use gigatcp_units::Duration;

use crate::lab::{self, Bounds, Case, Ran};

/// Requirement of a goal.
enum Requirement {
    /// This share of the limit by link and response function.
    OfTheory(f64),
    /// This share of the goodput of that case, with the same seed.
    OfCase(String, f64),
    /// Maximum of retransmissions per lost packet.
    Retransmitted(f64),
}

/// A case with its requirement.
struct Goal {
    case: String,
    requirement: Requirement,
}

/// Cases and goals, in the order of printing.
#[derive(Default)]
struct Goals {
    cases: Vec<Case>,
    goals: Vec<Goal>,
}

impl Goals {
    fn case(&mut self, name: &str, overrides: &[&str], more: Vec<String>) {
        let texts = overrides.iter().map(|&text| text.to_owned());
        self.cases.push(Case {
            name: name.to_owned(),
            overrides: texts.chain(more).collect(),
        });
    }

    fn ask(&mut self, case: &str, requirement: Requirement) {
        self.goals.push(Goal {
            case: case.to_owned(),
            requirement,
        });
    }

    fn cubic(&mut self) {
        for (rate, mtu) in [(1, 1500), (1, 9000), (10, 1500), (10, 9000)] {
            let name = format!("CUBIC {rate} Gbit/s 100 ms MTU {mtu} loss 1e-5");
            let set = vec![
                format!("path.rate={rate} Gbit/s"),
                format!("sender.mtu={mtu}"),
                format!("receiver.mtu={mtu}"),
            ];
            let common = ["path.rtt=100 ms", "path.loss=1e-5", "duration=600 s"];
            self.case(&name, &common, set);
            self.ask(&name, Requirement::OfTheory(0.9));
        }
    }

    fn reno(&mut self) {
        for loss in ["1e-4", "3e-4", "1e-3", "3e-3", "1e-2", "2e-2", "5e-2"] {
            let name = format!("Reno 1 Gbit/s 100 ms MTU 1500 loss {loss}");
            let common = [
                "path.rate=1 Gbit/s",
                "path.rtt=100 ms",
                "flow.congestion_control=reno",
                "receiver.delayed_ack=false",
                "duration=4000 s",
            ];
            self.case(&name, &common, vec![format!("path.loss={loss}")]);
            self.ask(&name, Requirement::OfTheory(0.95));
        }
    }

    fn reordering(&mut self) {
        for (control, rate, rtt_ms) in [
            ("Reno", 100, 50),
            ("CUBIC", 100, 50),
            ("CUBIC", 1000, 100),
            ("CUBIC", 1000, 10),
        ] {
            let path = format!("{control} {rate} Mbit/s {rtt_ms} ms MTU 1500");
            let name = control.to_lowercase();
            for (what, displaced) in [("in order", false), ("10 % reordered", true)] {
                let set = vec![
                    format!("flow.congestion_control={name}"),
                    hops(rate, rtt_ms, displaced),
                    format!("path.reverse=[{{ delay = '{} ms' }}]", rtt_ms / 2),
                ];
                self.case(&format!("{path} {what}"), &["duration=40 s"], set);
            }
            let straight = Requirement::OfCase(format!("{path} in order"), 0.95);
            self.ask(&format!("{path} 10 % reordered"), straight);
        }
    }

    fn slight(&mut self) {
        let common = [
            "path.rate=1 Gbit/s",
            "path.rtt=66 ms",
            "path.loss=3e-5",
            "duration=600 s",
        ];
        let slight = ["path.reorder=1e-3", "path.reorder_delay=1.32 ms"].map(str::to_owned);
        for control in ["Reno", "CUBIC"] {
            let path = format!("{control} 1 Gbit/s 66 ms loss 3e-5");
            let set = vec![format!(
                "flow.congestion_control={}",
                control.to_lowercase()
            )];
            self.case(&path, &common, set.clone());
            let name = format!("{path} slightly reordered");
            self.case(&name, &common, [set, slight.to_vec()].concat());
            self.ask(&name, Requirement::OfCase(path, 0.9));
            self.ask(&name, Requirement::Retransmitted(2.0));
        }
    }
}

/// A bottleneck, followed by five hops that reorder two packets in a hundred each.
///
/// The displacement is a tenth to a half of the RTT.
fn hops(rate_mbps: u64, rtt_ms: u64, displaced: bool) -> String {
    let link = format!(
        "{{ rate = '{rate_mbps} Mbit/s', delay = '{} ms', queue = '1 BDP' }}",
        rtt_ms / 2
    );
    let displacing = |tenths: u64| {
        let by = Duration::from_millis(rtt_ms) / 10 * tenths;
        format!("{{ reorder = '0.02', reorder_delay = '{by}' }}")
    };
    let behind = (1..=5).map(displacing).filter(|_| displaced);
    let hops: Vec<String> = std::iter::once(link).chain(behind).collect();
    format!("path.forward=[{}]", hops.join(", "))
}

/// Runs the cases that have `only` in their names, and prints the results.
pub fn print(seeds: u32, set: &[String], only: &str) -> Result<(), String> {
    let mut all = Goals::default();
    all.cubic();
    all.reno();
    all.reordering();
    all.slight();
    all.goals.retain(|goal| goal.case.contains(only));
    let wanted = |case: &Case| {
        all.goals.iter().any(|goal| {
            let beside =
                matches!(&goal.requirement, Requirement::OfCase(name, _) if *name == case.name);
            beside || goal.case == case.name
        })
    };
    all.cases.retain(wanted);
    if all.cases.is_empty() {
        return Err(format!("no goal has {only:?} in its name"));
    }
    let ran = lab::run(&all.cases, set, seeds)?;
    let names = all.cases.iter().map(|case| case.name.as_str());
    let ran: BTreeMap<&str, Ran> = names.zip(ran).collect();
    println!(
        "{:<49} {:>9}  {:<27} {:<16} models",
        "goal (median, min to max of the seeds)", "Mbit/s", "measured", "asked"
    );
    for goal in &all.goals {
        println!("{}", goal.line(&ran));
    }
    Ok(())
}

impl Goal {
    fn line(&self, ran: &BTreeMap<&str, Ran>) -> String {
        let this = &ran[self.case.as_str()];
        let records = this.records.iter();
        let (ratios, what): (Vec<f64>, &str) = match &self.requirement {
            Requirement::OfTheory(_) => {
                let bound = Bounds::of(&this.scenario).least().0;
                let share = |record| lab::goodput(record) / bound;
                (records.map(share).collect(), "of theory")
            }
            Requirement::OfCase(name, _) => {
                let pairs = records.zip(&ran[name.as_str()].records);
                let share = |(a, b)| lab::goodput(a) / lab::goodput(b);
                (pairs.map(share).collect(), "of goodput")
            }
            Requirement::Retransmitted(_) => (
                records.map(retransmissions_per_loss).collect(),
                "resent/lost",
            ),
        };
        let (least, middle, most) = spread(&ratios);
        let goodput: Vec<f64> = this.records.iter().map(lab::goodput).collect();
        let measured = format!("{middle:.3} ({least:.3} to {most:.3})");
        format!(
            "{:<49} {:>9.2}  {measured:<23} {what:<12} {:<24} {}",
            self.case,
            spread(&goodput).1,
            self.verdict(middle),
            self.beside(this),
        )
        .trim_end()
        .to_owned()
    }

    /// Requirement, and whether it is met.
    fn verdict(&self, measured: f64) -> String {
        let (sign, goal, met) = match self.requirement {
            Requirement::OfTheory(goal) | Requirement::OfCase(_, goal) => {
                (">=", goal, measured >= goal)
            }
            Requirement::Retransmitted(goal) => ("<=", goal, measured <= goal),
        };
        let off = (measured - goal).abs();
        let verdict = if met { "met" } else { "MISSED" };
        format!("{sign} {goal}: {verdict} by {off:.3}")
    }

    /// Values of other models for Reno.
    fn beside(&self, this: &Ran) -> String {
        let reno = this.scenario.flows[0].congestion.name() == "reno";
        if !reno || !matches!(self.requirement, Requirement::OfTheory(_)) {
            return String::new();
        }
        let p = lab::loss(&this.scenario);
        let (rtt, mss) = (this.scenario.base_rtt(), lab::mss(&this.scenario));
        let padhye = Pftk {
            rtt,
            t0: this.scenario.sender.profile.timer.rto_min.max(rtt),
            segments_per_ack: 1.0,
            window_limit: None,
        };
        let segment = mss.as_bits_f64() / 1e6;
        let goodput: Vec<f64> = this.records.iter().map(lab::goodput).collect();
        let goodput = spread(&goodput).1;
        format!(
            "{:.3} of Padhye et al., {:.3} of the ideal in rounds",
            goodput / (padhye.full(p) * segment),
            goodput / (ideal(p.as_f64()) * segment / rtt.as_secs_f64()),
        )
    }
}

/// Retransmissions per lost packet, whatever the cause of the loss.
fn retransmissions_per_loss(record: &SeriesRecord) -> f64 {
    let drops = record.hops.iter().map(|hop| hop.dropped_packets());
    record.flows[0].retransmitted_segments as f64 / drops.sum::<u64>() as f64
}

/// Minimum, median and maximum.
fn spread(numbers: &[f64]) -> (f64, f64, f64) {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let middle = median(numbers.iter().copied());
    (least, middle.unwrap_or(f64::NAN), most)
}

/// Segments per round of an ideal Reno at this loss.
///
/// `window` segments leave per round. A round with a loss halves it, to at least two; the next one
/// retransmits and does not grow it.
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
