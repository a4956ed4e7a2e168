//! Result of a test, and whether it is correct.

use std::path::Path;
use std::process::Command;

use super::cases::Case;
use super::run::{Peer, Run};

/// Octets that a stream sends before its data: iperf3's cookie.
const COOKIE: u64 = 37;

/// Minimum share of exhausted periods in which a CPU quota is the limit.
const MOSTLY: f64 = 0.7;

/// Causes that the sender alone cannot distinguish from the receive window.
pub(crate) const BEHIND_THE_WINDOW: [&str; 2] = ["slow-reader", "receiver-cpu-limited"];

/// Cumulative acknowledgments of the data stream, from tcpdump.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// Time since the first data, in seconds, and octets acknowledged by then.
    pub acked: Vec<(f64, u64)>,
}

impl Capture {
    /// Reads a capture with tshark, without any code of this project.
    ///
    /// # Errors
    /// If tshark does not run.
    pub fn read(pcap: &Path) -> Result<Self, String> {
        let mut command = Command::new("tshark");
        command.arg("-r").arg(pcap).args(["-T", "fields"]);
        for field in [
            "tcp.stream",
            "frame.time_epoch",
            "tcp.dstport",
            "tcp.len",
            "tcp.ack",
        ] {
            command.args(["-e", field]);
        }
        let output = command
            .output()
            .map_err(|error| format!("tshark: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rows: Vec<Vec<f64>> = text
            .lines()
            .map(|line| {
                line.split('\t')
                    .filter_map(|word| word.parse().ok())
                    .collect()
            })
            .filter(|row: &Vec<f64>| row.len() == 5)
            .collect();
        let mut sums: Vec<f64> = Vec::new();
        for row in &rows {
            let stream = row[0] as usize;
            sums.resize(sums.len().max(stream + 1), 0.0);
            sums[stream] += row[3];
        }
        let largest = (0..sums.len())
            .max_by(|a, b| sums[*a].total_cmp(&sums[*b]))
            .ok_or("the capture has no TCP")? as f64;
        let rows: Vec<&Vec<f64>> = rows.iter().filter(|row| row[0] == largest).collect();
        let to_server = |row: &&&Vec<f64>| row[2] == 5201.0;
        let count = |wanted: bool| -> f64 {
            let of = rows.iter().filter(|row| to_server(row) == wanted);
            of.map(|row| row[3]).sum()
        };
        let is_upload = count(true) > count(false);
        let first = rows
            .iter()
            .find(|row| to_server(row) == is_upload && row[3] > COOKIE as f64)
            .map_or(0.0, |row| row[1]);
        let acks = rows.iter().filter(|row| to_server(row) != is_upload);
        let base = if is_upload { COOKIE + 1 } else { 1 };
        let mut acked: Vec<(f64, u64)> = Vec::new();
        for row in acks {
            let octets = (row[4] as u64).saturating_sub(base);
            if acked.last().is_none_or(|last| octets > last.1) {
                acked.push((row[1] - first, octets));
            }
        }
        Ok(Self { acked })
    }

    /// Octets acknowledged within `seconds`.
    pub fn by(&self, seconds: f64) -> u64 {
        let place = self.acked.partition_point(|(at, _)| *at <= seconds);
        place.checked_sub(1).map_or(0, |last| self.acked[last].1)
    }
}

/// Result of grading one run.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Received rate in bit/s, as stated.
    pub stated_bps: f64,
    /// Received rate in bit/s, from the capture.
    pub captured_bps: f64,
    /// Stated primary cause; `None` if there is none.
    pub said: Option<String>,
    /// Confidence of the stated cause.
    pub confidence: f64,
    /// Whether the stated cause is correct.
    pub is_right: bool,
    /// Whether the measured rate is in the range that the label requires.
    pub is_binding: bool,
}

/// Grades a run.
pub fn grade(case: &Case, peer: Peer, run: &Run) -> Verdict {
    let result = &run.result;
    let received = &result["received"][0];
    let seconds = received["seconds"].as_f64().unwrap_or(0.0).max(1e-3);
    let stated_bps = received["bps"].as_f64().unwrap_or(0.0);
    // The server's capture sees the ACKs of a remote receiver a round trip later.
    let later = if case.is_reverse { case.rtt_s } else { 0.0 };
    let captured_bps = run.capture.by(seconds + later) as f64 * 8.0 / seconds;
    let explanation = &result["explanations"][0];
    let said = explanation["cause"].as_str().map(str::to_owned);
    let share = captured_bps / case.payload_bps;
    let right = said
        .as_deref()
        .is_some_and(|said| is_right(case, peer, said));
    Verdict {
        stated_bps,
        captured_bps,
        confidence: explanation["confidence"].as_f64().unwrap_or(0.0),
        is_right: right,
        is_binding: share > case.share[0] && share < case.share[1] && run.throttled > MOSTLY,
        said,
    }
}

fn is_right(case: &Case, peer: Peer, said: &str) -> bool {
    said == case.cause
        || case.acceptable.contains(&said)
        || (peer == Peer::Iperf3
            && said == "receive-window-limited"
            && BEHIND_THE_WINDOW.contains(&case.cause))
}

/// Formats one graded run as a line.
pub fn line(case: &Case, seed: u64, verdict: &Verdict) -> String {
    let mark = match (verdict.is_binding, verdict.is_right) {
        (false, _) => "not binding",
        (true, true) => "right",
        (true, false) => "WRONG",
    };
    let direction = if case.is_reverse { "-R" } else { "  " };
    format!(
        "{:16} {seed:3} {direction} {:30} said {:30} {:.2} {:7.2} of {:6.1} Mbit/s, capture {:+.2} % {mark}",
        case.family,
        case.cause,
        verdict.said.as_deref().unwrap_or("nothing"),
        verdict.confidence,
        verdict.stated_bps / 1e6,
        case.payload_bps / 1e6,
        deviation(verdict),
    )
}

/// Deviation of the stated rate from the captured one, in percent.
fn deviation(verdict: &Verdict) -> f64 {
    (verdict.stated_bps / verdict.captured_bps.max(1.0) - 1.0) * 100.0
}

/// Formats the shares of correct answers over all runs.
pub fn report(all: &[(Case, Verdict)]) -> String {
    let binding: Vec<&(Case, Verdict)> = all.iter().filter(|(_, one)| one.is_binding).collect();
    let mut text = format!(
        "{} runs, {} with a label that holds\n",
        all.len(),
        binding.len()
    );
    for (name, is_reverse) in [("from here", false), ("from there", true)] {
        let of = || {
            binding
                .iter()
                .filter(|(case, _)| case.is_reverse == is_reverse)
        };
        let right = of().filter(|(_, one)| one.is_right).count();
        text.push_str(&format!(
            "{name}: cause right in {right} of {}\n",
            of().count()
        ));
    }
    let right = binding.iter().filter(|(_, one)| one.is_right).count();
    let sure = || binding.iter().filter(|(_, one)| one.confidence >= 0.825);
    let sure_right = sure().filter(|(_, one)| one.is_right).count();
    text.push_str(&format!(
        "all: {right} of {}; with 0.85 and more {sure_right} of {}\n",
        binding.len(),
        sure().count()
    ));
    let within = all
        .iter()
        .filter(|(_, one)| deviation(one).abs() <= 0.5)
        .count();
    text.push_str(&format!(
        "rate within 0.5 % of the capture: {within} of {}\n",
        all.len()
    ));
    text
}
