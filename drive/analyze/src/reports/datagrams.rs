//! UDP tests of iperf. Nothing but the sender limits datagrams; what was lost of them tells whether
//! the path carries that rate.

use gigatcp_units::Rate;
use gigatcp_units::grammar::human_rate;
use serde_json::Value;

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
        let document = text
            .trim_start()
            .starts_with('{')
            .then(|| serde_json::from_str(text).ok());
        match document.flatten() {
            Some(document) => Self::of_json(&document),
            None => Self::of_text(text),
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
        let (arrived, sent) = (
            rate(self.arrived),
            rate(self.arrived / (1.0 - share).max(1e-3)),
        );
        let lost = format!(
            "{:.1} % of {} datagrams were lost",
            share * 100.0,
            self.sent
        );
        let (outcome, sentence, fix) = if share < LOST[0] {
            (
                "application-limited",
                format!("Nothing limited it: {sent} were sent, as asked for, and {lost}."),
                "ask for more to see what the path carries (-b RATE; iperf sends 1 Mbit/s without it), \
                 or test with TCP",
            )
        } else if share >= LOST[1] {
            (
                "path-saturated",
                format!("The path carried {arrived} of the {sent} that were sent: {lost}."),
                "send no more than that (-b RATE): datagrams have no congestion control, and a link, a \
                 policer and a short queue look the same to them",
            )
        } else {
            (
                "unsure",
                format!(
                    "Unsure: the path is full at {arrived}, or drops datagrams at random: {lost}."
                ),
                "send at half the rate (-b RATE): losses that stay are not those of a full path",
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

/// Reads `... 33.5 Mbits/sec  0.541 ms  11328/40261 (28%)`.
fn sums(line: &str) -> Option<Sums> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.last() == Some(&"sender") {
        return None;
    }
    let is_unit = |word: &&str| word.ends_with("/sec");
    let unit = words.iter().position(|word| is_unit(&word))?;
    let ratio = words[unit..].iter().find(|word| {
        word.contains('/')
            && word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'/')
    })?;
    let (lost, sent) = ratio.split_once('/')?;
    let prefix = match words[unit].as_bytes().first()? {
        b'G' => 1e9,
        b'M' => 1e6,
        b'K' => 1e3,
        _ => 1.0,
    };
    let number: f64 = words.get(unit.checked_sub(1)?)?.parse().ok()?;
    Some(Sums {
        lost: lost.parse().ok()?,
        sent: sent.parse().ok().filter(|sent| *sent > 0)?,
        arrived: number * prefix,
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
            "The path carried 33.5 Mbit/s of the 46.6 Mbit/s that were sent: 28.1 % of 40261 datagrams \
             were lost."
        );
        let wished =
            of("[  1] 0.0000-10.0149 sec  1.25 MBytes  1.05 Mbits/sec   0.003 ms 0/895 (0%)");
        assert_eq!(wished.outcome, "application-limited");
        let some =
            r#"{"end": {"sum": {"bits_per_second": 1e7, "lost_packets": 40, "packets": 1000}}}"#;
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
