//! Repeated tests: a mean with its confidence interval, or a comparison of settings.
//!
//! Runs of compared settings are interleaved, every second round in reverse order, so that a slow
//! change of the path favors none. No run is left out: one that failed or was cut short is counted
//! and named.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use gigatcp_meter::tester::{self, Outcome as Measured, Request, TestError};
use gigatcp_record::RunRecord;
use gigatcp_report::group::by_key;
use gigatcp_report::number;
use gigatcp_theory::sample::{Summary, Welch};
use serde_json::{Value, json};

use super::super::Outcome;
use super::{Arguments, Format, native, record, request, sums};
use crate::atomic_file::AtomicFile;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::{output, values};

/// Minimum number of runs before the interval is evaluated.
const MIN_RUNS: usize = 3;

/// Default number of runs: the maximum with `--until`, and for each setting with `--compare`.
const DEFAULT_RUNS: (u32, u32) = (30, 5);

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Schema of the JSON.
const SCHEMA: &str = "gigatcp-test-campaign/1";

/// Reads `2%` or `2`.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("a share of the mean above 0 and below 100 %, as in 2%".into()),
    }
}

/// A setting and the values to compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Compared {
    key: String,
    values: Vec<String>,
}

/// Keys that can be compared.
const KEYS: [&str; 5] = ["cc", "window", "length", "mss", "parallel"];

/// Reads `cc=cubic,bbr`.
pub(crate) fn compared(text: &str) -> Result<Compared, String> {
    let (key, list) = text.split_once('=').ok_or("KEY=A,B, as in cc=cubic,bbr")?;
    if !KEYS.contains(&key) {
        return Err(format!("`{key}` is none of {}", KEYS.join(", ")));
    }
    let values: Vec<String> = list
        .split(',')
        .map(|value| value.trim().to_owned())
        .collect();
    if values.len() < 2 || values.iter().any(String::is_empty) {
        return Err("two values or more between commas, as in cc=cubic,bbr".into());
    }
    let compared = Compared {
        key: key.to_owned(),
        values,
    };
    for value in &compared.values {
        compared.apply(value, &mut Request::new("host"))?;
    }
    Ok(compared)
}

impl Compared {
    /// Applies a value to a request.
    fn apply(&self, value: &str, request: &mut Request) -> Result<(), String> {
        let parameters = &mut request.parameters;
        let bytes = || values::octets(value).map(gigatcp_units::Bytes::as_u64);
        let small = || bytes().map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        match self.key.as_str() {
            "cc" => parameters.congestion = Some(value.to_owned()),
            "window" => parameters.window = Some(bytes()?),
            "length" => parameters.len = Some(small()?),
            "mss" => parameters.mss = Some(small()?),
            _ => {
                let parallel = value.parse().ok().filter(|count| (1..=128).contains(count));
                parameters.parallel = parallel.ok_or("a number of streams from 1 to 128")?;
            }
        }
        Ok(())
    }
}

/// Whether the options request more than one run.
pub(super) fn is_requested(arguments: &Arguments) -> bool {
    arguments.until.is_some() || arguments.compare.is_some() || arguments.repeat.is_some()
}

/// One setting and the results of its runs.
struct Variant {
    /// `cc=cubic`; empty if nothing is compared.
    label: String,
    request: Request,
    /// Rate of each complete run in bit/s, and its primary cause.
    runs: Vec<(f64, Option<&'static str>)>,
    /// Errors of the other runs.
    failures: Vec<String>,
    /// Record of one of the runs.
    record: Option<RunRecord>,
}

impl Variant {
    fn summary(&self) -> Option<Summary> {
        let rates: Vec<f64> = self.runs.iter().map(|(rate, _)| *rate).collect();
        Summary::of(&rates)
    }

    /// Whether the interval is within this share of the mean.
    fn is_known_within(&self, share: f64) -> bool {
        self.runs.len() >= MIN_RUNS
            && self.summary().is_some_and(|summary| {
                let half = summary.half_width(CONFIDENCE);
                half.is_some_and(|half| half <= share * summary.mean)
            })
    }
}

/// Runs the campaign.
pub(super) fn run(arguments: &Arguments, request: &Request) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut variants = variants(arguments, request)?;
    let mut store = RunStore::new(arguments)?;
    let (with_until, with_compare) = DEFAULT_RUNS;
    let default = if arguments.until.is_some() {
        with_until
    } else {
        with_compare
    };
    let most = arguments.repeat.unwrap_or(default);
    let mut round = 0;
    while round < most && interrupt.signal().is_none() {
        if is_done(&variants, arguments.until) {
            break;
        }
        let mut order: Vec<usize> = (0..variants.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            if interrupt.signal().is_none() {
                one(
                    arguments,
                    &mut variants[index],
                    round + 1,
                    (&interrupt, &mut store),
                )?;
            }
        }
        round += 1;
    }
    print(arguments, &variants)?;
    if let Some(signal) = interrupt.signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    let has_failed = variants.iter().any(|variant| !variant.failures.is_empty());
    let has_missed = arguments.until.is_some() && !is_done(&variants, arguments.until);
    Ok(match has_failed || has_missed {
        true => Outcome::Missed,
        false => Outcome::Done,
    })
}

/// Whether the intervals of all settings are within the requested share of their means.
fn is_done(variants: &[Variant], until: Option<f64>) -> bool {
    let is_known = |share| variants.iter().all(|one| one.is_known_within(share));
    until.is_some_and(is_known)
}

/// Store for the runs of a campaign, including runs without data.
struct RunStore {
    directory: Option<PathBuf>,
    batch: SystemTime,
    count: u32,
}

impl RunStore {
    fn new(arguments: &Arguments) -> Result<Self, Failure> {
        if let Some(directory) = &arguments.save {
            std::fs::create_dir_all(directory).map_err(|error| {
                Failure::io(&format!("make {}", directory.display()), &error)
                    .effect("nothing was measured")
                    .hint("of repeated tests --save names a directory: each run is a file of it")
            })?;
        }
        Ok(Self {
            directory: arguments.save.clone(),
            batch: SystemTime::now(),
            count: 0,
        })
    }

    fn store(
        &mut self,
        variant: &mut Variant,
        found: &Result<Measured, TestError>,
    ) -> Result<(), Failure> {
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        let record = match (found, &variant.record) {
            (Ok(measured), _) => record::of(measured, self.batch, None),
            (Err(error), Some(like)) => record::without_data(like, &error.to_string(), self.batch),
            (Err(_), None) => return Ok(()),
        };
        self.count += 1;
        let since = self.batch.duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}-{:04}.json", since.as_millis(), self.count);
        let text = serde_json::to_vec_pretty(&record)
            .map_err(|error| Failure::fault(format!("the result cannot be written: {error}")))?;
        AtomicFile::write(&directory.join(name), &text)?;
        variant.record.get_or_insert(record);
        Ok(())
    }
}

fn variants(arguments: &Arguments, request: &Request) -> Result<Vec<Variant>, Failure> {
    let variant = |label: String, request: Request| Variant {
        label,
        request,
        runs: Vec::new(),
        failures: Vec::new(),
        record: None,
    };
    let Some(compared) = &arguments.compare else {
        return Ok(vec![variant(String::new(), request.clone())]);
    };
    let variants = compared.values.iter().map(|value| {
        let mut request = request.clone();
        compared.apply(value, &mut request).map_err(Failure::new)?;
        Ok(variant(format!("{}={value}", compared.key), request))
    });
    variants.collect()
}

/// Runs one test of a setting. If the first run of a campaign cannot begin, the campaign ends.
fn one(
    arguments: &Arguments,
    variant: &mut Variant,
    round: u32,
    (interrupt, store): (&Interrupt, &mut RunStore),
) -> Result<(), Failure> {
    let stops = || interrupt.signal().is_some();
    let found = tester::run(&variant.request, &stops, &mut |_| {});
    store.store(variant, &found)?;
    let found = match found {
        Ok(measured) if measured.cut_short.is_none() => measured,
        Ok(measured) => {
            let reason = measured.cut_short.unwrap_or_default();
            variant.failures.push(reason);
            return Ok(());
        }
        Err(error) if variant.runs.is_empty() && variant.failures.is_empty() => {
            return match interrupt.signal() {
                Some(_) => Ok(()),
                None => Err(request::failure(&variant.request, &error)),
            };
        }
        Err(error) => {
            variant.failures.push(error.to_string());
            return Ok(());
        }
    };
    let (rate, cause) = result(&found, arguments.steady);
    variant.runs.push((rate, cause));
    let label = if variant.label.is_empty() { "" } else { " " };
    let cause = cause.map_or_else(String::new, |cause| format!(", {cause}"));
    output::say(&format!(
        "run {round}{label}{}: {}{cause}",
        variant.label,
        number::rate(rate)
    ));
    Ok(())
}

/// Returns rate and primary cause of a run. The rate is the sum of both directions, the cause that
/// of the first.
fn result(found: &Measured, is_steady: bool) -> (f64, Option<&'static str>) {
    let explanations = tester::explain(found);
    let mut rate = 0.0;
    let mut cause = None;
    for role in sums::roles(&found.streams) {
        let steady = tester::steady(found, role).filter(|_| is_steady);
        rate += match steady {
            Some(steady) => steady.rate,
            None => sums::rate_of(found, role),
        };
        let first = native::explained(found, &explanations, role).and_then(native::primary);
        cause = cause.or(first);
    }
    (rate, cause)
}

fn print(arguments: &Arguments, variants: &[Variant]) -> Result<(), Failure> {
    match arguments.format {
        Format::Json | Format::JsonLines => output::print_json(&value(variants)),
        Format::Csv => output::print(&csv(variants)),
        Format::Native | Format::Iperf3 | Format::Nuttcp => {
            output::print(&text(arguments, variants))
        }
    }
}

/// `3.41 Gbit/s +- 0.05 Gbit/s (1.5 %), 12 runs`.
fn mean(summary: &Summary) -> String {
    let runs = number::counted(summary.n as u64, "run");
    match summary.half_width(CONFIDENCE) {
        Some(half) => format!(
            "{} +- {} ({:.1} %), {runs}",
            number::rate(summary.mean),
            number::rate(half),
            100.0 * half / summary.mean.max(1e-9)
        ),
        None => format!("{}, {runs}", number::rate(summary.mean)),
    }
}

fn text(arguments: &Arguments, variants: &[Variant]) -> String {
    let mut text = String::new();
    let summaries: Vec<Option<Summary>> = variants.iter().map(Variant::summary).collect();
    if let [Some(first), others @ ..] = &summaries[..] {
        for (variant, other) in variants[1..].iter().zip(others) {
            if let Some(welch) = other.as_ref().and_then(|other| Welch::of(first, other)) {
                let _ = writeln!(text, "{}", comparison(variants, variant, first, &welch));
            }
        }
    }
    for (variant, summary) in variants.iter().zip(&summaries) {
        let name = match variant.label.as_str() {
            "" => format!("{}:{}", arguments.host, request::port(arguments)),
            label => label.to_owned(),
        };
        let found = summary
            .as_ref()
            .map_or_else(|| "no complete run".into(), mean);
        let _ = writeln!(text, "{name}: {found}");
        if let Some(causes) = causes(variant) {
            let _ = writeln!(text, "  Limited by {causes}");
        }
        for failure in &variant.failures {
            let _ = writeln!(text, "  Failed: {failure}");
        }
    }
    let _ = writeln!(text, "Intervals of 95 % confidence (Student's t).");
    text
}

/// States which of two settings is faster, and whether the difference is significant.
fn comparison(variants: &[Variant], other: &Variant, first: &Summary, welch: &Welch) -> String {
    let share = |difference: f64| 100.0 * difference / first.mean.max(1e-9);
    let (low, high) = (
        welch.difference - welch.half_width,
        welch.difference + welch.half_width,
    );
    let base = &variants[0].label;
    let name = &other.label;
    if low <= 0.0 && high >= 0.0 {
        return format!(
            "{name} and {base} do not differ for certain: {:+.1} % (95 % interval {:+.1} to {:+.1} %, \
             p = {:.2}, Welch).",
            share(welch.difference),
            share(low),
            share(high),
            welch.p
        );
    }
    let word = if welch.difference > 0.0 {
        "faster"
    } else {
        "slower"
    };
    format!(
        "{name} is {:.1} % {word} than {base} (95 % interval {:+.1} to {:+.1} %, p = {}, Welch).",
        share(welch.difference).abs(),
        share(low),
        share(high),
        match welch.p {
            p if p < 0.001 => "below 0.001".to_owned(),
            p => format!("{p:.3}"),
        }
    )
}

/// Returns primary causes with their number of runs, most frequent first.
fn causes(variant: &Variant) -> Option<String> {
    let known = variant.runs.iter().filter_map(|(_, cause)| *cause);
    let mut causes = by_key(known.map(|cause| (cause, ())));
    causes.sort_by_key(|(_, runs)| std::cmp::Reverse(runs.len()));
    let all = variant.runs.len();
    let parts = causes
        .iter()
        .map(|(cause, runs)| format!("{cause} in {} of {all}", runs.len()));
    (!causes.is_empty()).then(|| parts.collect::<Vec<_>>().join(", "))
}

fn value(variants: &[Variant]) -> Value {
    let one = |variant: &Variant| {
        let summary = variant.summary();
        json!({
            "label": variant.label,
            "rates_bps": variant.runs.iter().map(|(rate, _)| rate).collect::<Vec<_>>(),
            "causes": variant.runs.iter().map(|(_, cause)| cause).collect::<Vec<_>>(),
            "mean_bps": summary.map(|summary| summary.mean),
            "deviation_bps": summary.map(|summary| summary.deviation),
            "half_width_bps": summary.and_then(|summary| summary.half_width(CONFIDENCE)),
            "failures": variant.failures,
        })
    };
    json!({"schema": SCHEMA, "confidence": CONFIDENCE, "variants": variants.iter().map(one).collect::<Vec<_>>()})
}

fn csv(variants: &[Variant]) -> String {
    let mut text = "variant,run,bits_per_second,cause".to_owned();
    for variant in variants {
        for (index, (rate, cause)) in variant.runs.iter().enumerate() {
            let (label, cause) = (&variant.label, cause.unwrap_or_default());
            let _ = write!(text, "\n{label},{},{rate:.0},{cause}", index + 1);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_to_compare_are_checked_before_any_run() {
        let read = compared("cc=cubic, bbr").unwrap();
        assert_eq!(read.values, ["cubic", "bbr"]);
        assert!(compared("cc=cubic").is_err());
        assert!(compared("colour=red,blue").unwrap_err().contains("none of"));
        assert!(compared("parallel=1,999").is_err());
    }

    #[test]
    fn a_share_is_read_with_and_without_its_sign() {
        assert_eq!(percent("2%"), Ok(0.02));
        assert_eq!(percent("2"), Ok(0.02));
        assert!(percent("0").is_err() && percent("100%").is_err());
    }
}
