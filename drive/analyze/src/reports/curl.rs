//! The times that `curl -w` prints, as its user named them.

use gigatcp_units::Duration;
use gigatcp_why::takes_slow_start;

use super::failed::FailedConnection;

/// Names of curl's variables, and labels that are usual for them. Times are from the start, in seconds.
const VARIABLES: [(&str, &[&str]); 6] = [
    ("time_namelookup", &["namelookup", "dns", "lookup"]),
    ("time_connect", &["connect", "tcp"]),
    ("time_appconnect", &["appconnect", "tls"]),
    ("time_starttransfer", &["starttransfer", "ttfb"]),
    ("time_total", &["total"]),
    ("size_download", &["size", "bytes"]),
];

/// What `curl -w` prints of a transfer.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Times {
    resolved: f64,
    connected: f64,
    /// Also with TLS.
    opened: f64,
    first_byte: f64,
    total: f64,
    bytes: Option<f64>,
}

/// What the times of a transfer decide by themselves; `None` if the text has none.
pub(super) fn read(text: &str) -> Option<Result<FailedConnection, String>> {
    Times::read(text).map(|times| times.decide())
}

impl Times {
    fn read(text: &str) -> Option<Self> {
        let template = text.lines().find_map(|line| line.split_once("%{"));
        let labels = labels(text);
        let value = |variable: usize| {
            let mut labels = labels[variable].iter();
            labels.find_map(|label| number_after(text, label))
        };
        let [connected, first_byte, total] = [value(1)?, value(3)?, value(4)?];
        let resolved = value(0).unwrap_or(0.0);
        let opened = value(2).unwrap_or(0.0).max(connected);
        // Other programs print words such as `total` as well.
        let is_of_curl = template.is_some() || text.contains("starttransfer");
        let is_ordered = resolved <= connected && opened <= first_byte && first_byte <= total;
        (is_of_curl && is_ordered && total > 0.0).then_some(Self {
            resolved,
            connected,
            opened,
            first_byte,
            total,
            bytes: value(5),
        })
    }

    fn decide(&self) -> Result<FailedConnection, String> {
        let setup = self.connected - self.resolved;
        // A SYN is retransmitted after 1 s, then 2 s, 4 s (RFC 6298 section 2).
        let waits = [7.0, 3.0, 1.0];
        let waited = waits
            .into_iter()
            .find(|wait| (*wait..wait * 1.3 + 0.5).contains(&setup));
        let rtt = setup - waited.unwrap_or(0.0);
        let thought = self.first_byte - self.opened - rtt;
        let answer = |outcome, sentence, fix| {
            let line = format!(
                "curl: connected after {setup:.3} s, first byte {:.3} s after that, {:.3} s in all",
                self.first_byte - self.connected,
                self.total
            );
            Ok(FailedConnection {
                program: "curl",
                outcome,
                sentence,
                fix,
                line,
            })
        };
        if waited.is_some() && setup * 2.0 >= self.total {
            return answer(
                "connection-setup",
                "A SYN, or the answer to it, was lost: the connection waited for the SYN's timer.",
                "look for what drops SYNs: a full backlog of the listener (nstat TcpExtListenDrops there), a \
                 firewall that limits new connections, loss",
            );
        }
        if thought >= 0.1 && thought * 2.0 >= self.total {
            return answer(
                "server-think-time",
                "The server took most of the time before the first byte of its answer.",
                "look what the server does before it answers (its log, its database): the network waited",
            );
        }
        let bytes = self.bytes.unwrap_or(f64::INFINITY);
        let took = [
            self.total - self.opened.max(self.connected) + 2.0 * rtt,
            rtt,
        ];
        let [took, rtt] = took.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e6)));
        if bytes < 1e9 && takes_slow_start(bytes as u64, 1448, rtt, took) {
            return answer(
                "slow-start",
                "Nothing limited it: the transfer was as fast as a new connection can be.",
                "keep connections open and use them again",
            );
        }
        Err(format!(
            "curl's times show no limit of the {:.3} s after the first byte: a capture of the transfer does",
            self.total - self.first_byte
        ))
    }
}

/// Labels of each variable: those of the template in the text first.
fn labels(text: &str) -> [Vec<String>; VARIABLES.len()] {
    VARIABLES.map(|(name, usual)| {
        let reference = format!("%{{{name}}}");
        let before = text.split_once(&reference).map_or("", |(before, _)| before);
        // A label begins after the line end or the variable before it.
        let own = before.rsplit(['}', '\'', '"', '\n']).next().unwrap_or("");
        let own = own.rsplit("\\n").next().unwrap_or("").trim();
        let own = Some(own).filter(|label| !label.is_empty() && !before.is_empty());
        let usual = usual.iter().copied().chain([name]);
        let with_mark = usual.flat_map(|label| [format!("{label}="), format!("{label}:")]);
        own.map(str::to_owned)
            .into_iter()
            .chain(with_mark)
            .collect()
    })
}

/// The number behind a label that begins a word, outside of the template.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let mut lines = text.lines().filter(|line| !line.contains("%{"));
    lines.find_map(|line| {
        line.match_indices(label).find_map(|(at, _)| {
            let begins =
                !line[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
            let rest = line[at + label.len()..].trim_start();
            let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
            let end = rest
                .find(|letter| !is_of_number(letter))
                .unwrap_or(rest.len());
            rest[..end]
                .parse()
                .ok()
                .filter(|number: &f64| begins && *number < 1e12)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "$ curl -s -o /dev/null -w 'dns=%{time_namelookup} tcp=%{time_connect} \
                           ttfb=%{time_starttransfer} total=%{time_total} bytes=%{size_download}\\n' http://h/f\n";

    fn outcome(text: &str) -> Option<&'static str> {
        read(text)?.ok().map(|answer| answer.outcome)
    }

    #[test]
    fn times_of_curl_tell_lost_syns_slow_servers_and_short_transfers() {
        let of = |times: &str| outcome(&format!("{COMMAND}{times}\n"));
        let lost = "dns=0.000018 tcp=1.067988 ttfb=1.133622 total=1.331027 bytes=200000";
        assert_eq!(of(lost), Some("connection-setup"));
        let twice = "dns=0.02 tcp=3.05 ttfb=3.09 total=3.10 bytes=20000";
        assert_eq!(of(twice), Some("connection-setup"));
        let slow = "dns=0.000022 tcp=0.060441 ttfb=1.931467 total=2.178003 bytes=250000";
        assert_eq!(of(slow), Some("server-think-time"));
        let short = "dns=0.000022 tcp=0.060441 ttfb=0.131467 total=0.378003 bytes=250000";
        assert_eq!(of(short), Some("slow-start"));
        let long = "dns=0.000022 tcp=0.060441 ttfb=0.131467 total=9.378003 bytes=2500000";
        assert_eq!(of(long), None);
    }

    #[test]
    fn labels_are_those_of_the_template_or_usual_ones() {
        let lines = "   namelookup: 0.000020\n      connect: 1.048973\n  pretransfer: 1.049026\n\
                     starttransfer: 1.082408\n        total: 1.112999\n         size: 40000\n";
        assert_eq!(outcome(lines), Some("connection-setup"));
        let own = "$ curl -w 'A %{time_connect}\\nB %{time_starttransfer}\\nC %{time_total}\\n' h\n\
                   A 0.050\nB 2.250\nC 2.300\n";
        assert_eq!(outcome(own), Some("server-think-time"));
        assert_eq!(read("the total: 3 and connect: 4"), None);
        assert_eq!(read("starttransfer: 1 connect: 2 total: nan"), None);
    }
}
