//! What the runs over a path say, and the answer as text and JSON.

use std::cmp::Reverse;

use gigatcp_report::grid::named_grid;
use gigatcp_report::number;
use gigatcp_theory::paired::PairedDifferences;
use gigatcp_theory::sample::Summary;
use serde_json::{Value, json};

use super::runs::Run;
use super::{Arguments, Measure};

/// Schema of the JSON.
const SCHEMA: &str = "gigatcp.compare/1";

/// Difference of the bytes of OLD and NEW that is noted.
const OTHER_WORK: f64 = 0.05;

/// Number of runs without a byte after which a command is taken for one that transfers nothing. A lost
/// SYN silences one, and an answer takes more.
const SILENT_RUNS: usize = 3;

/// Pairs beyond the minimum of a decision, for which there must be time: noise costs some.
const MARGIN: f64 = 2.0;

/// What is known of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Verdict {
    /// NEW is worse by more than asked.
    Worse,
    /// Neither is known.
    Undecided,
    /// NEW is not worse by as much as asked.
    NotWorse,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Undecided => "undecided",
            Self::NotWorse => "not worse",
        }
    }
}

/// The question, in differences of logarithms of cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    measure: Measure,
    /// Cost of NEW over OLD from which NEW is worse, as its logarithm.
    threshold: f64,
    /// Error of each decision about a path.
    error: f64,
}

impl Rule {
    /// The errors of all `paths` add up to the one that was requested.
    pub(super) fn new(arguments: &Arguments, paths: usize) -> Self {
        Self {
            measure: arguments.measure,
            threshold: match arguments.measure {
                Measure::Goodput => -(-arguments.worse).ln_1p(),
                Measure::Time => arguments.worse.ln_1p(),
            },
            error: arguments.error / paths as f64,
        }
    }

    /// Least number of pairs of a decision: each multiplies the evidence by 2 at most.
    fn least_pairs(self) -> f64 {
        (-self.error.log2()).ceil()
    }

    /// Number of pairs for which there must be time.
    pub(super) fn budget(self) -> f64 {
        self.least_pairs() + MARGIN
    }

    /// Whether a run of these took longer than what was measured, by an unknown time.
    fn is_censored(self, runs: &[Run]) -> bool {
        self.measure == Measure::Time && runs.iter().any(|run| run.is_cut)
    }

    /// The measured value of a run: bit/s or seconds.
    fn value(self, run: &Run) -> f64 {
        match self.measure {
            // A run may be ended before anything arrives, which is worse than one byte.
            Measure::Goodput => 8.0 * run.bytes.max(1) as f64 / run.seconds,
            Measure::Time => run.seconds,
        }
    }

    /// How much more NEW costs than OLD.
    fn difference(self, old: &Run, new: &Run) -> f64 {
        let difference = (self.value(new) / self.value(old)).ln();
        match self.measure {
            Measure::Goodput => -difference,
            Measure::Time => difference,
        }
    }

    /// The change of the measured value, as a share, that a difference of cost is.
    fn change(self, difference: f64) -> f64 {
        match self.measure {
            Measure::Goodput => (-difference).exp_m1(),
            Measure::Time => difference.exp_m1(),
        }
    }
}

/// The pairs of runs over a path.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    rule: Rule,
    old: Vec<Run>,
    new: Vec<Run>,
    differences: PairedDifferences,
}

impl Pairs {
    pub(super) fn new(rule: Rule) -> Self {
        Self {
            rule,
            old: Vec::new(),
            new: Vec::new(),
            differences: PairedDifferences::default(),
        }
    }

    pub(super) fn push(&mut self, old: Run, new: Run) {
        self.differences.push(self.rule.difference(&old, &new));
        self.old.push(old);
        self.new.push(new);
    }

    pub(super) fn verdict(&self) -> Verdict {
        let Rule {
            threshold, error, ..
        } = self.rule;
        let enough = -error.ln();
        // A time that was cut is a lower bound, which says nothing in favour of its own side.
        let is_old_known = !self.rule.is_censored(&self.old);
        let is_new_known = !self.rule.is_censored(&self.new);
        if is_old_known && self.differences.evidence_above(threshold) >= enough {
            Verdict::Worse
        } else if is_new_known && self.differences.evidence_below(threshold) >= enough {
            Verdict::NotWorse
        } else {
            Verdict::Undecided
        }
    }

    /// OLD (0) or NEW (1) with a run, if nothing has arrived in any of several runs.
    pub(super) fn silent(&self) -> Option<(usize, Run)> {
        let runs = [&self.old, &self.new].into_iter().enumerate();
        runs.filter(|(_, runs)| runs.len() >= SILENT_RUNS && self.needs_bytes())
            .find(|(_, runs)| runs.iter().all(|run| run.bytes == 0))
            .map(|(index, runs)| (index, runs[0]))
    }

    /// Whether a run in which nothing arrived has no value.
    pub(super) fn needs_bytes(&self) -> bool {
        self.rule.measure == Measure::Goodput
    }

    /// Change of NEW.
    fn change(&self) -> Option<f64> {
        self.differences
            .center()
            .map(|center| self.rule.change(center))
    }

    /// Bounds of the change, in rising order. `None` if there are too few pairs, or a time was cut.
    fn bounds(&self) -> Option<(f64, f64)> {
        if self.rule.is_censored(&self.old) || self.rule.is_censored(&self.new) {
            return None;
        }
        let (low, high) = self.differences.interval(self.rule.error)?;
        let (low, high) = (self.rule.change(low), self.rule.change(high));
        Some((low.min(high), low.max(high)))
    }

    fn median(&self, runs: &[Run]) -> Option<f64> {
        let values = runs.iter().map(|run| self.rule.value(run));
        Summary::of(values).map(|summary| summary.median)
    }

    fn cut(&self) -> usize {
        let runs = self.old.iter().chain(&self.new);
        runs.filter(|run| run.is_cut).count()
    }
}

/// A path with its pairs.
pub(super) type Answered<'a> = (&'a str, &'a Pairs);

/// The answer: first what was requested, then a line for each path, the worst first.
pub(super) fn text(arguments: &Arguments, paths: &[Answered<'_>], limit: f64, seed: u64) -> String {
    let mut order: Vec<&Answered<'_>> = paths.iter().collect();
    order.sort_by_key(|(_, pairs)| pairs.verdict());
    let mut rows = vec![
        ["path", "OLD", "NEW", "change", "interval", "pairs", ""]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(order.iter().map(|(name, pairs)| row(name, pairs)));
    let error = percent(arguments.error, 2);
    let measured = match arguments.measure {
        Measure::Goodput => "Goodput: new payload that arrived, over the time of the command.",
        Measure::Time => "Time: from the start of the command to its end.",
    };
    let mut text = format!(
        "{}\n{}{measured} Medians of runs.\nChange: in pairs of random order. If NEW equals \
         OLD, \"worse\" comes with {error} % at most.\nThe same order and losses again: --seed {seed}\n",
        first_line(arguments, paths),
        named_grid(1, &rows),
    );
    for note in notes(arguments, paths, limit) {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// A share as a number of percent without trailing zeros.
fn percent(share: f64, decimals: usize) -> String {
    let text = number::fixed(100.0 * share, decimals);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn first_line(arguments: &Arguments, paths: &[Answered<'_>]) -> String {
    let named = |verdict: Verdict| -> Vec<&str> {
        paths
            .iter()
            .filter(|(_, pairs)| pairs.verdict() == verdict)
            .map(|(name, _)| *name)
            .collect()
    };
    let (worse, undecided) = (named(Verdict::Worse), named(Verdict::Undecided));
    let count = number::counted(paths.len() as u64, "path");
    let share = percent(arguments.worse, 2);
    let open = match undecided.len() {
        0 => String::new(),
        _ => format!(" Undecided: {}.", undecided.join(", ")),
    };
    if !worse.is_empty() {
        return format!(
            "NEW is worse than OLD by more than {share} % on {} of {count}: {}.{open}",
            worse.len(),
            worse.join(", ")
        );
    }
    match undecided.len() {
        0 => format!("NEW is nowhere worse than OLD by more than {share} % ({count})."),
        _ => format!("No regression of more than {share} % is certain on {count}.{open}"),
    }
}

fn row(name: &str, pairs: &Pairs) -> Vec<String> {
    let value = |runs: &[Run]| match (pairs.median(runs), pairs.rule.measure) {
        (None, _) => number::ABSENT.to_owned(),
        (Some(rate), Measure::Goodput) => number::rate(rate),
        (Some(seconds), Measure::Time) => format!("{seconds:.3} s"),
    };
    let share = |change: f64| format!("{:+.1}", 100.0 * change);
    let absent = || number::ABSENT.to_owned();
    vec![
        name.to_owned(),
        value(&pairs.old),
        value(&pairs.new),
        pairs
            .change()
            .map_or_else(absent, |change| share(change) + " %"),
        pairs.bounds().map_or_else(absent, |(low, high)| {
            format!("{} to {} %", share(low), share(high))
        }),
        pairs.differences.len().to_string(),
        pairs.verdict().name().to_owned(),
    ]
}

/// What the table does not say.
fn notes(arguments: &Arguments, paths: &[Answered<'_>], limit: f64) -> Vec<String> {
    let mut notes = Vec::new();
    let undecided: Vec<&Pairs> = paths
        .iter()
        .map(|(_, pairs)| *pairs)
        .filter(|pairs| pairs.verdict() == Verdict::Undecided)
        .collect();
    let too_few = undecided
        .iter()
        .find(|pairs| (pairs.differences.len() as f64) < pairs.rule.least_pairs());
    if let Some(pairs) = too_few {
        let within = arguments.within.as_nanos() as f64 / 1e9;
        let needed = 2.0 * limit * pairs.rule.budget() * paths.len() as f64;
        notes.push(format!(
            "what is undecided had fewer pairs than the {} that a decision needs; more time: --within {}min",
            pairs.rule.least_pairs(),
            (needed.max(2.0 * within) / 60.0).ceil()
        ));
    } else if !undecided.is_empty() {
        notes.push("what is undecided takes more time (--within), or a larger --worse".to_owned());
    }
    let mut cut: Vec<_> = paths.iter().filter(|(_, pairs)| pairs.cut() > 0).collect();
    cut.sort_by_key(|(_, pairs)| Reverse(pairs.cut()));
    let cut: Vec<String> = cut
        .iter()
        .map(|(name, pairs)| format!("{name} {} of {}", pairs.cut(), 2 * pairs.differences.len()))
        .collect();
    if !cut.is_empty() {
        let effect = match arguments.measure {
            Measure::Goodput => "their goodput is that until then",
            Measure::Time => {
                "they take longer, by an unknown time, so no answer favours their side: raise --timeout"
            }
        };
        notes.push(format!(
            "runs were ended after {limit:.1} s ({}); {effect}",
            cut.join(", ")
        ));
    }
    for (name, pairs) in paths.iter().filter(|(_, pairs)| pairs.cut() == 0) {
        let bytes = |runs: &[Run]| Summary::of(runs.iter().map(|run| run.bytes as f64));
        let (Some(old), Some(new)) = (bytes(&pairs.old), bytes(&pairs.new)) else {
            continue;
        };
        let more = new.median / old.median - 1.0;
        let slower =
            |runs: &[Run]| Summary::of(runs.iter().map(|run| run.seconds)).map(|time| time.median);
        let takes_longer =
            slower(&pairs.new) > slower(&pairs.old).map(|time| time * (1.0 + OTHER_WORK));
        if arguments.measure == Measure::Goodput && more > OTHER_WORK && takes_longer {
            notes.push(format!(
                "{name}: NEW transfers {:.0} % more bytes and takes longer; for equal work use --measure time",
                100.0 * more
            ));
        }
    }
    notes
}

/// The JSON document.
pub(super) fn value(arguments: &Arguments, paths: &[Answered<'_>], seed: u64) -> Value {
    let path = |(name, pairs): &Answered<'_>| {
        let bounds = pairs.bounds();
        json!({
            "path": name,
            "verdict": pairs.verdict().name(),
            "change": pairs.change(),
            "change_low": bounds.map(|(low, _)| low),
            "change_high": bounds.map(|(_, high)| high),
            "pairs": pairs.differences.len(),
            "old": pairs.old,
            "new": pairs.new,
        })
    };
    let is_worse = paths
        .iter()
        .any(|(_, pairs)| pairs.verdict() == Verdict::Worse);
    json!({
        "schema": SCHEMA,
        "is_worse": is_worse,
        "measure": match arguments.measure {
            Measure::Goodput => "goodput",
            Measure::Time => "time",
        },
        "worse": arguments.worse,
        "error": arguments.error,
        "seed": seed,
        "paths": paths.iter().map(path).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// The options alone.
    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn arguments(options: &[&str]) -> Arguments {
        let words = ["compare", "old", "new"].iter().chain(options);
        Options::parse_from(words).arguments
    }

    fn run(seconds: f64, bytes: u64) -> Run {
        Run {
            seconds,
            bytes,
            is_cut: false,
        }
    }

    fn pairs(arguments: &Arguments, new: impl Fn(u32) -> Run) -> Pairs {
        let mut pairs = Pairs::new(Rule::new(arguments, 1));
        for number in 0..30 {
            pairs.push(
                run(1.0 + f64::from(number % 5) / 100.0, 1_000_000),
                new(number),
            );
        }
        pairs
    }

    #[test]
    fn loss_of_goodput_above_the_share_is_worse_and_below_it_is_not() {
        let asked = arguments(&["--worse", "10%"]);
        let with = |bytes: u64| {
            pairs(&asked, move |number| {
                run(1.0 + f64::from(number % 3) / 100.0, bytes)
            })
        };
        assert_eq!(with(700_000).verdict(), Verdict::Worse);
        assert_eq!(with(1_000_000).verdict(), Verdict::NotWorse);
        assert_eq!(with(2_000_000).verdict(), Verdict::NotWorse);
        let (low, high) = with(700_000).bounds().unwrap();
        assert!(
            -0.35 < low && low < -0.29 && -0.31 < high && high < -0.25,
            "{low} {high}"
        );
    }

    #[test]
    fn time_counts_alone_if_asked_for() {
        let asked = arguments(&["--measure", "time"]);
        let slower = pairs(&asked, |_| run(1.3, 2_000_000));
        assert_eq!(slower.verdict(), Verdict::Worse);
        assert!(slower.change().unwrap() > 0.2);
        let faster = pairs(&arguments(&[]), |_| run(1.3, 2_000_000));
        assert_eq!(faster.verdict(), Verdict::NotWorse);
        let notes = notes(&arguments(&[]), &[("lan", &faster)], 4.0);
        assert!(
            notes.iter().any(|note| note.contains("--measure time")),
            "{notes:?}"
        );
    }

    #[test]
    fn time_that_was_cut_decides_nothing_in_favour_of_its_side() {
        let asked = arguments(&["--measure", "time"]);
        let cut = Run {
            is_cut: true,
            ..run(1.0, 0)
        };
        let of = |old: Run, new: Run| {
            let mut pairs = Pairs::new(Rule::new(&asked, 1));
            (0..30).for_each(|_| pairs.push(old, new));
            pairs
        };
        assert_eq!(
            of(run(0.5, 0), cut).verdict(),
            Verdict::Worse,
            "a lower bound of NEW is enough"
        );
        let both = of(cut, cut);
        assert_eq!(both.verdict(), Verdict::Undecided);
        assert_eq!(both.bounds(), None);
        assert_eq!(of(run(2.0, 0), cut).verdict(), Verdict::Undecided);
        assert_eq!(of(cut, run(2.0, 0)).verdict(), Verdict::Undecided);
        assert_eq!(of(cut, run(0.5, 0)).verdict(), Verdict::NotWorse);
        let notes = notes(&asked, &[("lan", &both)], 1.0);
        assert!(
            notes.iter().any(|note| note.contains("raise --timeout")),
            "{notes:?}"
        );
    }

    #[test]
    fn time_for_too_few_pairs_is_noted_with_the_time_that_it_takes() {
        let asked = arguments(&["--error", "0.1%", "--within", "10min"]);
        let rule = Rule::new(&asked, 6);
        assert_eq!((rule.least_pairs(), rule.budget()), (13.0, 15.0));
        let mut few = Pairs::new(rule);
        few.push(run(1.0, 1000), run(1.0, 1000));
        let notes = notes(&asked, &[("lan", &few)], 3.0);
        let note = "fewer pairs than the 13 that a decision needs; more time: --within 20min";
        assert!(notes[0].ends_with(note), "{notes:?}");
    }

    #[test]
    fn one_run_without_a_byte_is_a_bad_run_and_all_of_them_are_silence() {
        let asked = arguments(&[]);
        let cut = Run {
            is_cut: true,
            ..run(4.0, 0)
        };
        let mut pairs = Pairs::new(Rule::new(&asked, 1));
        pairs.push(run(1.0, 1000), cut);
        pairs.push(run(1.0, 1000), cut);
        assert_eq!(pairs.silent(), None);
        assert!(pairs.change().unwrap() < -0.99);
        pairs.push(run(1.0, 1000), cut);
        assert_eq!(pairs.silent(), Some((1, cut)));
        pairs.push(run(1.0, 1000), run(1.0, 1000));
        assert_eq!(pairs.silent(), None);
    }

    #[test]
    fn answer_leads_and_the_worst_path_is_first() {
        let asked = arguments(&[]);
        let bad = pairs(&asked, |_| run(2.0, 1_000_000));
        let good = pairs(&asked, |_| run(1.0, 1_000_000));
        let open = Pairs::new(Rule::new(&asked, 3));
        let text = text(
            &asked,
            &[("wan", &good), ("lte", &open), ("lossy", &bad)],
            4.0,
            7,
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "NEW is worse than OLD by more than 5 % on 1 of 3 paths: lossy. Undecided: lte."
        );
        assert!(lines[2].starts_with("lossy  7.8"), "{text}");
        assert!(
            lines[2].ends_with("worse") && lines[4].ends_with("not worse"),
            "{text}"
        );
        assert!(
            lines.iter().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        assert!(text.contains("--seed 7\n"), "{text}");
        let value = value(&asked, &[("lossy", &bad)], 7);
        assert_eq!(value["seed"], 7);
        assert_eq!(value["is_worse"], true);
        assert_eq!(value["paths"][0]["old"][0]["bytes"], 1_000_000);
    }
}
