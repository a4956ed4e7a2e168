//! The command line above the output of a tester, where it was copied with its prompt.

use gigatcp_units::Rate;

/// What the user asked of a tester.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct Command {
    /// Payload rate that it keeps to, bit/s (`-b`; nuttcp's `-R`).
    pub target: Option<f64>,
    /// Pacing rate of the socket (`--fq-rate`).
    pub pacing: Option<Rate>,
    /// Whether it requests the sizes of the buffers (`-w`).
    pub sets_buffers: bool,
}

impl Command {
    /// Finds the command of one of these programs: in the first line with a prompt, or the first line,
    /// that runs it.
    pub(super) fn read(text: &str, programs: &[&str]) -> Option<Self> {
        let lines = text.lines().enumerate().take(100);
        let mut runs = lines.filter_map(|(index, line)| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let place = words.iter().position(|word| {
                let name = word.rsplit('/').next().unwrap_or(word);
                programs.contains(&name)
            })?;
            let has_prompt = place > 0 && words[place - 1].ends_with(['$', '#', '%', '>']);
            (has_prompt || index == 0 && place == 0).then(|| Self::of(&words[place..]))
        });
        runs.next()
    }

    fn of(words: &[&str]) -> Self {
        let is_nuttcp = words[0].ends_with("nuttcp");
        let mut command = Self::default();
        let value = |index: usize, short: &str, long: &[&str]| {
            let word = words[index];
            let (name, joined) = word.split_once('=').unwrap_or((word, ""));
            if long.contains(&name) || word == short {
                let next = words.get(index + 1).copied().unwrap_or("");
                return Some(if joined.is_empty() { next } else { joined });
            }
            let is_joined = word.starts_with(short) && !word.starts_with("--");
            is_joined.then(|| &word[short.len()..])
        };
        for (index, word) in words.iter().enumerate().skip(1) {
            let rate = if is_nuttcp {
                value(index, "-R", &[])
            } else {
                value(index, "-b", &["--bitrate", "--bandwidth"])
            };
            // nuttcp counts a rate without a suffix in kbit/s, iperf in bit/s.
            let unit = if is_nuttcp { 1e3 } else { 1.0 };
            if let Some(rate) = rate.and_then(|rate| bits(rate, unit)) {
                command.target = Some(rate).filter(|rate| *rate > 0.0);
            }
            if *word == "--fq-rate" || word.starts_with("--fq-rate=") {
                let rate =
                    value(index, "--fq-rate", &["--fq-rate"]).and_then(|rate| bits(rate, 1.0));
                command.pacing = rate.map(|rate| Rate::from_bps(rate as u64));
            }
            command.sets_buffers |= value(index, "-w", &["--window"]).is_some();
        }
        command
    }
}

/// Reads a rate as testers do: `10m`, `1.5G`, `500K` bit/s, without a suffix in that unit.
fn bits(text: &str, unit: f64) -> Option<f64> {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let factor = match text[end..].to_ascii_lowercase().as_str() {
        "" => unit,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_after_a_prompt_has_rate_pacing_and_buffers() {
        let of = |text| Command::read(text, &["iperf3", "iperf", "nuttcp"]);
        let target = |text| of(text).and_then(|command: Command| command.target);
        assert_eq!(target("$ iperf3 -c h -b 5M -t 10\n"), Some(5e6));
        assert_eq!(
            target("user@host:~$ nuttcp -i1 -T10 -R4.3m 192.0.2.1"),
            Some(4.3e6)
        );
        assert_eq!(target("# /usr/bin/iperf3 --bitrate=1.5G -c h"), Some(1.5e9));
        assert_eq!(target("iperf -c h -b500K"), Some(5e5));
        assert_eq!(target("$ nuttcp -R50000 192.0.2.1"), Some(50e6));
        assert_eq!(target("$ iperf3 -c h -R"), None);
        assert!(of("$ iperf3 -c h -w 64K").is_some_and(|command| command.sets_buffers));
        let pacing = of("$ iperf3 -c h --fq-rate 20M").and_then(|command| command.pacing);
        assert_eq!(pacing, Some(Rate::from_bps(20_000_000)));
        assert_eq!(of("we ran iperf3 -c h -b 5M yesterday"), None);
    }
}
