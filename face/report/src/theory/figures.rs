//! Figures of a path: their names, equations and sources.

use gigatcp_theory::budget::ResponseBudget;
use gigatcp_theory::cubic::Cubic;
use gigatcp_theory::pftk::Pftk;
use gigatcp_theory::{
    MathisConstant, Path, PathBudget, bdp, highspeed, mathis, scalable, slow_start,
};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

/// A figure with its unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Figure {
    /// A rate.
    Rate(Rate),
    /// A time.
    Time(Duration),
    /// An amount of data.
    Amount(Bytes),
    /// A probability.
    Probability(Probability),
    /// Segments.
    Segments(f64),
    /// Round trips.
    Rounds(f64),
    /// Segments per second.
    PerSecond(f64),
    /// A share of a whole.
    Share(f64),
}

/// Questions beyond the path itself.
#[derive(Clone, Copy, Debug)]
pub struct Questions<'a> {
    /// Loss probabilities for which rates are calculated.
    pub losses: &'a [Probability],
    /// Windows for which rates are calculated.
    pub windows: &'a [Bytes],
    /// Amounts of data whose transfer time is calculated.
    pub transfers: &'a [Bytes],
}

/// Figures that belong together.
#[derive(Clone, Debug)]
pub struct Section {
    /// Heading of the table.
    pub title: String,
    /// Key in JSON.
    pub key: &'static str,
    /// The question that the section answers, if there are several similar ones.
    pub question: Option<(&'static str, Figure)>,
    /// The figures.
    pub rows: Vec<Row>,
}

/// One figure for one path.
#[derive(Clone, Debug)]
pub struct Row {
    /// Key in JSON, without the unit.
    pub key: &'static str,
    /// Name of the figure.
    pub what: &'static str,
    /// The figure.
    pub figure: Figure,
    /// Equation and source.
    pub source: String,
}

impl Section {
    /// Whether its rows are congestion controls.
    pub fn is_of_controls(&self) -> bool {
        ["loss_budget", "after_loss", "between_losses", "at_loss"].contains(&self.key)
    }
}

impl Figure {
    fn row(self, key: &'static str, what: &'static str, source: impl Into<String>) -> Row {
        Row {
            key,
            what,
            figure: self,
            source: source.into(),
        }
    }
}

/// All sections for `path`. They are the same in the same order for every path.
pub fn sections(path: &Path, budget: &PathBudget, questions: &Questions<'_>) -> Vec<Section> {
    let Questions {
        losses,
        windows,
        transfers,
    } = questions;
    let mut sections = vec![window(budget)];
    sections.extend(losses.iter().map(|&loss| at_loss(path, loss)));
    sections.extend(windows.iter().map(|&size| with_window(path, size)));
    sections.extend(transfers.iter().map(|&data| transfer(path, data)));
    sections.extend([
        loss_budget(path, budget),
        after_loss(path, budget),
        between_losses(budget),
        opening(path, budget),
    ]);
    sections
}

fn window(budget: &PathBudget) -> Section {
    Section {
        title: "the window W that keeps the path busy".to_owned(),
        key: "window",
        question: None,
        rows: vec![
            Figure::Amount(budget.bdp).row("bdp", "bandwidth-delay product", "rate * RTT"),
            Figure::Segments(budget.window).row("window", "in segments", "rate * RTT / MSS"),
            Figure::PerSecond(budget.segment_rate).row(
                "segment_rate",
                "segments per second",
                "rate / MSS",
            ),
        ],
    }
}

fn opening(path: &Path, budget: &PathBudget) -> Section {
    let g = path.growth.factor();
    let iw = f64::from(path.iw);
    let sending = slow_start::sending_rounds(budget.window, iw, path.growth);
    let sending_time = Duration::from_secs_f64(sending * path.rtt.as_secs_f64());
    let b = path.growth.segments_per_ack();
    Section {
        title: match path.iw {
            1 => "opening the window from 1 segment".to_owned(),
            iw => format!("opening the window from {iw} segments"),
        },
        key: "opening",
        question: None,
        rows: vec![
            Figure::Rounds(budget.slow_start.rounds).row(
                "slow_start",
                "slow start, round trips n",
                format!("log{g}(W / IW), Jacobson 1988"),
            ),
            Figure::Time(budget.slow_start.time).row("slow_start", "slow start, time", "times RTT"),
            Figure::Rounds(sending).row(
                "sending",
                "rounds with the first full one",
                "n + 1, rounded up",
            ),
            Figure::Time(sending_time).row("sending", "their time", "times RTT"),
            Figure::Amount(budget.slow_start_data).row(
                "slow_start_data",
                "sent until then",
                if g == 2.0 {
                    "W - IW".to_owned()
                } else {
                    format!("(W - IW) / {}", g - 1.0)
                },
            ),
            Figure::Time(budget.limited_slow_start.time).row(
                "limited_slow_start",
                "limited slow start",
                "RFC 3742, max_ssthresh 100",
            ),
            Figure::Time(budget.avoidance.time).row(
                "avoidance",
                "congestion avoidance alone",
                format!("{}(W - IW) RTT, RFC 5681", factor(b)),
            ),
        ],
    }
}

fn factor(b: f64) -> String {
    if b == 1.0 {
        String::new()
    } else {
        format!("{b} * ")
    }
}

/// Controls, with the budget of each.
fn controls(budget: &PathBudget) -> [(&'static str, &'static str, ResponseBudget); 4] {
    [
        ("standard", "standard TCP", budget.standard),
        ("cubic", "CUBIC", budget.cubic),
        ("highspeed", "HighSpeed TCP", budget.highspeed),
        ("scalable", "Scalable TCP", budget.scalable),
    ]
}

fn loss_budget(path: &Path, budget: &PathBudget) -> Section {
    let sources = [
        format!(
            "(C * MSS / (RTT * rate))^2, C = {}, Mathis 1997",
            round(path.c.value())
        ),
        "RFC 9438 section 5".to_owned(),
        "(0.12 / W)^(1/0.835), RFC 3649".to_owned(),
        "0.0745 / W, Kelly 2003".to_owned(),
    ];
    let rows = controls(budget).into_iter().zip(sources);
    let mut rows: Vec<Row> = rows
        .map(|((key, what, budget), source)| {
            Figure::Probability(budget.loss).row(key, what, source)
        })
        .collect();
    let reno = reno(path);
    rows.insert(
        1,
        Figure::Probability(mathis::loss_budget(reno, path.mss, path.rtt, path.rate)).row(
            "reno",
            RENO,
            format!("the same, C = {}, the sawtooth's mean", round(reno.value())),
        ),
    );
    let own = round((1.5 / path.growth.segments_per_ack()).sqrt());
    rows.push(Figure::Rate(budget.pftk_rate).row(
        "pftk",
        "the full model's rate there",
        format!("Padhye 1998, timeouts too; its C is {own}"),
    ));
    Section {
        title: "loss probability p at which the rate is just reached".to_owned(),
        key: "loss_budget",
        question: None,
        rows,
    }
}

fn between_losses(budget: &PathBudget) -> Section {
    let rows = controls(budget).map(|(key, what, budget)| {
        Figure::Time(budget.time_between_losses).row(key, what, "MSS / (p * rate)")
    });
    Section {
        title: "time between losses at that p".to_owned(),
        key: "between_losses",
        question: None,
        rows: rows.to_vec(),
    }
}

fn after_loss(path: &Path, budget: &PathBudget) -> Section {
    let b = factor(path.growth.segments_per_ack());
    let sources = [
        format!("{b}W/2 * RTT, RFC 5681"),
        "cbrt(0.3 W / 0.4) s or earlier, RFC 9438 section 4".to_owned(),
        "a(w), b(w) of RFC 3649".to_owned(),
        "13.42 * RTT, Kelly 2003".to_owned(),
    ];
    let rows = controls(budget)
        .into_iter()
        .zip(sources)
        .map(|((key, what, budget), source)| {
            Figure::Time(budget.refill.time).row(key, what, source)
        });
    Section {
        title: "from one loss at W until the window is W again".to_owned(),
        key: "after_loss",
        question: None,
        rows: rows.collect(),
    }
}

/// Name of the row for Reno's own constant.
const RENO: &str = "Reno, evenly spaced losses";

/// Constant that Reno reaches. It is sqrt(3/2) by its sawtooth, less with delayed ACKs (Mathis
/// 1997). The slides' 0.7 is about half of it.
fn reno(path: &Path) -> MathisConstant {
    if path.growth.segments_per_ack() > 1.0 {
        MathisConstant::PeriodicDelayed
    } else {
        MathisConstant::PeriodicEverySegment
    }
}

/// Rate of each control at this loss probability.
fn at_loss(path: &Path, loss: Probability) -> Section {
    let rtt = path.rtt;
    let rate_of = |window: f64| {
        let bps = window * path.mss.as_bits_f64() / rtt.as_secs_f64();
        // `as` saturates at the largest rate, which stands for "no bound".
        Figure::Rate(Rate::from_bps((bps + 0.5) as u64))
    };
    let pftk = Pftk {
        rtt,
        t0: rtt.max(Duration::from_secs(1)),
        segments_per_ack: path.growth.segments_per_ack(),
        window_limit: None,
    };
    let standard = mathis::rate(path.c, path.mss, rtt, loss);
    let reno = reno(path);
    let cubic = Cubic::default().mean_window(rtt, loss);
    Section {
        title: format!("rate that a loss probability of {loss} allows"),
        key: "at_loss",
        question: Some(("loss", Figure::Probability(loss))),
        rows: vec![
            Figure::Rate(standard).row(
                "standard",
                "standard TCP",
                format!(
                    "C * MSS / (RTT * sqrt(p)), C = {}, Mathis 1997",
                    round(path.c.value())
                ),
            ),
            Figure::Rate(mathis::rate(reno, path.mss, rtt, loss)).row(
                "reno",
                RENO,
                format!("the same, C = {}, the sawtooth's mean", round(reno.value())),
            ),
            Figure::Rate(pftk.rate(path.mss, loss)).row(
                "pftk",
                "standard TCP, full model",
                "Padhye 1998, timeouts too",
            ),
            rate_of(cubic).row("cubic", "CUBIC", "RFC 9438 section 5"),
            rate_of(highspeed::mean_window(loss)).row(
                "highspeed",
                "HighSpeed TCP",
                "0.12 / p^0.835, RFC 3649",
            ),
            rate_of(scalable::mean_window(loss)).row(
                "scalable",
                "Scalable TCP",
                "0.0745 / p, Kelly 2003",
            ),
        ],
    }
}

/// Rate that a window allows.
fn with_window(path: &Path, window: Bytes) -> Section {
    let allowed = bdp::window_limited_rate(window, path.rtt);
    let share = allowed.as_bps() as f64 / path.rate.as_bps() as f64;
    Section {
        title: format!("rate that a window of {window} allows"),
        key: "with_window",
        question: Some(("window", Figure::Amount(window))),
        rows: vec![
            Figure::Rate(allowed).row("rate", "rate", "window / RTT"),
            Figure::Share(share.min(1.0)).row("share", "of the path's", "at most 100 %"),
        ],
    }
}

fn transfer(path: &Path, data: Bytes) -> Section {
    let time = path.completion_time(data);
    Section {
        title: format!("a transfer of {data} without loss"),
        key: "transfer",
        question: Some(("data", Figure::Amount(data))),
        rows: vec![
            Figure::Time(time).row("time", "time", "slow start until W, then the rate"),
            Figure::Rate(Rate::from_amount(data, time)).row("mean", "mean rate", "data / time"),
        ],
    }
}

/// Rounds a constant to three digits.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
