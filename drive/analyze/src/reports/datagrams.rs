//! UDP tests of iperf. Nothing but the sender limits datagrams; what was lost of them tells whether
//! the path carries that rate.

use gigatcp_units::Rate;
use gigatcp_units::grammar::human_rate;
use serde_json::Value;

use super::iperf_text::quantity;
use super::iperf3::{self, Document};

/// Share lost below which the path carries what was sent, and above which it carries no more.
const LOST: [f64; 2] = [0.01, 0.1];

/// Maximum characters kept of a line.
const MAX_LINE: usize = 200;

/// What a UDP test shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagrams {
    /// `application-limited`, `path-saturated` or `unsure`.
    pub outcome: &'static str,
    /// The answer, in a sentence.
    pub sentence: String,
    /// What to do about it.
    pub fix: &'static str,
    /// The line that says so, or the numbers of a report in JSON.
    pub line: String,
}

/// Sums of a test at its receiver.
struct Sums {
    lost: u64,
    sent: u64,
    /// Rate that arrived, bit/s.
    arrived: f64,
}

impl Datagrams {
    /// `None` if the text has no sums of a UDP test at its receiver.
    pub(super) fn read(text: &str) -> Option<Self> {
        match iperf3::document(text) {
            Some(Document::Whole(report)) => Self::of_json(&report),
            _ => Self::of_text(text),
        }
    }

    fn of_json(document: &Value) -> Option<Self> {
        let sum = &document["end"]["sum"];
        let sums = Sums {
            lost: sum["lost_packets"].as_u64()?,
            sent: sum["packets"].as_u64()?,
            arrived: 0.0,
        };
        let bits = |sum: &Value| sum["bits_per_second"].as_f64();
        let received = bits(&document["end"]["sum_received"]).filter(|rate| *rate > 0.0);
        let arrived = received.or_else(|| Some(bits(sum)? * (1.0 - sums.share())))?;
        let line = format!("{} of {} datagrams lost", sums.lost, sums.sent);
        Some(Sums { arrived, ..sums }.answer(line))
    }

    /// The last line with lost and sent datagrams is the sum, at the receiver.
    fn of_text(text: &str) -> Option<Self> {
        let mut lines = text.lines().rev();
        let (sums, line) = lines.find_map(|line| Some((sums(line)?, line)))?;
        Some(sums.answer(line.trim().chars().take(MAX_LINE).collect()))
    }
}

impl Sums {
    fn share(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }

    fn answer(&self, line: String) -> Datagrams {
        let share = self.share();
        let rate = |bits: f64| human_rate(Rate::from_bps(bits as u64));
        let arrived = rate(self.arrived);
        let lost = format!(
            "{} of {} datagrams ({:.1} %) were lost",
            self.lost,
            self.sent,
            share * 100.0
        );
        let (outcome, sentence, fix) = if share < LOST[0] {
            (
                "application-limited",
                format!("The path carried what was sent, {arrived}: {lost}."),
                "ask for more to see what the path carries (-b RATE; iperf sends 1 Mbit/s without it), \
                 or test with TCP",
            )
        } else if share < LOST[1] {
            (
                "unsure",
                format!(
                    "Unsure: the path is full at {arrived}, or drops datagrams at random: {lost}."
                ),
                "send at half the rate (-b RATE): losses that stay are not those of a full path",
            )
        } else {
            (
                "path-saturated",
                format!("The path carried {arrived} and no more: {lost}."),
                "send no more than that (-b RATE): datagrams have no congestion control, and a link, a \
                 policer and a short queue look the same to them",
            )
        };
        Datagrams {
            outcome,
            sentence,
            fix,
            line,
        }
    }
}

/// Reads `... 33.5 Mbits/sec  0.541 ms  11328/40261 (28%)`. iperf 2 pads both numbers: `0/  893`.
fn sums(line: &str) -> Option<Sums> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.last() == Some(&"sender") {
        return None;
    }
    let unit = words.iter().position(|word| word.ends_with("/sec"))?;
    let number = words.get(unit.checked_sub(1)?)?;
    let arrived = 8.0 * quantity(number, words[unit].strip_suffix("/sec")?)?;
    let is_count = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let counts = words[unit..].iter().enumerate().find_map(|(place, word)| {
        let (lost, sent) = word.split_once('/')?;
        let sent = match sent {
            "" => words.get(unit + place + 1)?,
            sent => sent,
        };
        (is_count(lost) && is_count(sent)).then_some((lost, sent))
    });
    let (lost, sent) = counts?;
    let (lost, sent) = (lost.parse().ok()?, sent.parse().ok()?);
    (lost <= sent && sent > 0).then_some(Sums {
        lost,
        sent,
        arrived,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_tell_whether_the_path_carries_the_rate() {
        let of = |line: &str| Datagrams::read(line).unwrap();
        let full = of(
            "[  5]   0.00-10.00  sec  40.0 MBytes  33.5 Mbits/sec  0.541 ms  11328/40261 (28%)  receiver",
        );
        assert_eq!(full.outcome, "path-saturated");
        assert_eq!(
            full.sentence,
            "The path carried 33.5 Mbit/s and no more: 11328 of 40261 datagrams (28.1 %) were lost."
        );
        let padded =
            of("[  3]  0.0-10.0 sec  1.25 MBytes  1.05 MBytes/sec   0.011 ms    0/  893 (0%)");
        assert_eq!(
            padded.sentence,
            "The path carried what was sent, 8.81 Mbit/s: 0 of 893 datagrams (0.0 %) were lost."
        );
        // TCP of `iperf -e`, with writes and errors.
        let tcp = "[  1] 0.0000-1.0000 sec  1.21 MBytes  10.1 Mbits/sec  9337/1  0  14K/1200 us";
        assert_eq!(Datagrams::read(tcp), None);
        let wished =
            of("[  1] 0.0000-10.0149 sec  1.25 MBytes  1.05 Mbits/sec   0.003 ms 0/895 (0%)");
        assert_eq!(wished.outcome, "application-limited");
        let some = r#"warning: flag ignored
            {"start": {}, "intervals": [], "end": {"sum": {"bits_per_second": 1e7, "lost_packets": 40,
            "packets": 1000}}}"#;
        assert_eq!(of(some).outcome, "unsure");
        assert_eq!(
            Datagrams::read("[  5]   0.00-1.00   sec   485 KBytes  3.97 Mbits/sec"),
            None
        );
        let sent =
            "[  5]   0.00-10.04  sec  56.2 MBytes  47.0 Mbits/sec  0.000 ms  0/40716 (0%)  sender";
        assert_eq!(Datagrams::read(sent), None);
    }
}
