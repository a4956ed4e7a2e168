//! The times that `curl -w` prints, read by the template of its command, or by usual labels.

use gigatcp_units::Duration;
use gigatcp_why::takes_slow_start;

use super::failed::FailedConnection;

/// curl's variables that are read, and usual labels of them. Times are from the start, in seconds.
const VARIABLES: [(&str, &str); 6] = [
    ("time_namelookup", "namelookup"),
    ("time_connect", "connect"),
    ("time_appconnect", "appconnect"),
    ("time_starttransfer", "starttransfer"),
    ("time_total", "total"),
    ("size_download", "size"),
];

/// Maximum lines of a template, variables of a line, and transfers that are read.
const MAX_LINES: usize = 32;
const MAX_VARIABLES: usize = 32;
const MAX_TRANSFERS: usize = 10_000;

/// Minimum time that is worth a fix.
const WORTH: f64 = 0.1;

/// Time from a SYN until the next one: Linux waits 1 s four times and then doubles, others double from
/// the first one on (RFC 6298 section 2).
const SYN_WAITS: [f64; 6] = [15.0, 7.0, 4.0, 3.0, 2.0, 1.0];

/// A part of a template's line.
enum Piece {
    Literal(String),
    /// Place in [`VARIABLES`]; `None` for another variable.
    Variable(Option<usize>),
}

/// What `curl -w` prints of a transfer: the values of [`VARIABLES`].
type Values = [Option<f64>; VARIABLES.len()];

/// Times of a transfer, in seconds.
struct Times {
    resolved: f64,
    connected: f64,
    /// Also with TLS.
    opened: f64,
    first_byte: f64,
    total: f64,
    bytes: Option<f64>,
}

/// What the times of a text's transfers decide by themselves, or a note if they decide nothing; `None` if
/// it has no such times.
pub(super) fn read(text: &str) -> Option<Result<FailedConnection, String>> {
    let command = text.lines().find(|line| line.contains("%{")).unwrap_or("");
    let longest = transfers(text, command)
        .iter()
        .filter_map(Times::of)
        .max_by(|a, b| a.total.total_cmp(&b.total))?;
    let sends = [" -T", " --upload", " -d", " --data", " -F", " --form"];
    let is_upload = sends.iter().any(|option| command.contains(option));
    // A time with TLS counts as the server's where it is not printed.
    let is_hidden = command.contains("https://") && !command.contains("%{time_appconnect}");
    Some(
        match longest.decided().filter(|_| !is_upload && !is_hidden) {
            Some(answer) => Ok(answer),
            None => Err(format!(
                "curl's times show no limit of its transfer of {:.3} s: a capture of it does",
                longest.total
            )),
        },
    )
}

/// All transfers whose times a text has. The command with the template is empty if it is not there.
fn transfers(text: &str, command: &str) -> Vec<Values> {
    let templates = templates(command);
    let mut all: Vec<Values> = Vec::new();
    let mut current = Values::default();
    let mut lines = text.lines();
    // What stands before the command is not its output.
    if !templates.is_empty() {
        lines.find(|line| line.contains("%{"));
    }
    for line in lines.filter(|line| line.len() < 4096 && !line.contains("%{")) {
        let mut matching = templates.iter();
        let found = match matching.find_map(|pieces| matched(pieces, line)) {
            Some(found) => found,
            None if templates.is_empty() => labeled(line),
            None => continue,
        };
        let ends = found[4].is_some();
        for (value, found) in current.iter_mut().zip(found) {
            *value = found.or(*value);
        }
        if ends && all.len() < MAX_TRANSFERS {
            // Sizes may follow the time of the end, on lines of their own.
            all.push(current);
        } else if let Some(last) = all.last_mut().filter(|last| last[5].is_none()) {
            last[5] = current[5];
        }
        if found[1].is_some() && !ends {
            current[5] = None;
        }
    }
    all
}

/// Lines of the template of a command.
fn templates(command: &str) -> Vec<Vec<Piece>> {
    let written = ["-w", "--write-out"]
        .into_iter()
        .find_map(|option| command.split_once(option));
    let rest = written.map_or(command, |(_, rest)| rest.trim_start_matches(['=', ' ']));
    let quote = rest
        .chars()
        .next()
        .filter(|letter| matches!(letter, '\'' | '"'));
    let template = match quote {
        Some(quote) => rest[1..].split(quote).next().unwrap_or(""),
        None => rest,
    };
    let unescaped = template.replace("\\t", "\t").replace("\\r", "");
    unescaped
        .split("\\n")
        .take(MAX_LINES)
        .map(pieces)
        .filter(|pieces| has_variable(pieces))
        .collect()
}

fn has_variable(pieces: &[Piece]) -> bool {
    pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Variable(_)))
}

fn pieces(line: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut parts = line.split("%{");
    pieces.push(Piece::Literal(parts.next().unwrap_or("").to_owned()));
    for part in parts.take(MAX_VARIABLES) {
        let (name, literal) = part.split_once('}').unwrap_or((part, ""));
        let place = VARIABLES.iter().position(|(variable, _)| *variable == name);
        pieces.push(Piece::Variable(place));
        pieces.push(Piece::Literal(literal.to_owned()));
    }
    pieces
}

/// The values of a line that a line of the template made.
fn matched(pieces: &[Piece], line: &str) -> Option<Values> {
    let mut values = Values::default();
    let mut rest = line.trim();
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Literal(literal) => rest = rest.strip_prefix(literal.trim())?.trim_start(),
            Piece::Variable(place) => {
                let next = match pieces.get(index + 1) {
                    Some(Piece::Literal(literal)) => literal.trim(),
                    _ => "",
                };
                let end = match next {
                    "" => rest.find(char::is_whitespace).unwrap_or(rest.len()),
                    next => rest.find(next)?,
                };
                let (value, after) = rest.split_at(end);
                if let Some(place) = place {
                    values[*place] = Some(number(value)?);
                }
                rest = after;
            }
        }
    }
    Some(values)
}

/// The value of a line such as `starttransfer: 0.03`.
fn labeled(line: &str) -> Values {
    let mut values = Values::default();
    if let Some((label, value)) = line.trim().split_once(':') {
        let is_of = |(name, usual): &(&str, &str)| label == *name || label == *usual;
        if let Some(place) = VARIABLES.iter().position(is_of) {
            values[place] = number(value.trim().trim_end_matches('s'));
        }
    }
    values
}

fn number(text: &str) -> Option<f64> {
    const MAX_DIGITS: usize = 20;
    let digits = text.trim().replace(',', ".");
    let is_number =
        digits.len() <= MAX_DIGITS && digits.starts_with(|letter: char| letter.is_ascii_digit());
    digits
        .parse()
        .ok()
        .filter(|number: &f64| is_number && *number < 1e12)
}

impl Times {
    /// Of values that are in order. A connection that was open before has no time of its own.
    fn of(values: &Values) -> Option<Self> {
        let [resolved, connected, opened, first_byte, total, bytes] = *values;
        let (connected, first_byte, total) = (connected?, first_byte?, total?);
        let resolved = resolved.unwrap_or(0.0);
        let opened = opened.unwrap_or(0.0).max(connected);
        let is_ordered = resolved < connected && opened <= first_byte && first_byte <= total;
        is_ordered.then_some(Self {
            resolved,
            connected,
            opened,
            first_byte,
            total,
            bytes,
        })
    }

    fn decided(&self) -> Option<FailedConnection> {
        /// A time to connect below that is one of this host.
        const LOCAL: f64 = 2e-5;
        let setup = self.connected - self.resolved;
        let answered = self.first_byte - self.opened;
        // Where the answer took as long, it is the RTT.
        let is_late = answered < setup / 2.0;
        let waited = SYN_WAITS.into_iter().find(|wait| *wait <= setup && is_late);
        let rtt = setup - waited.unwrap_or(0.0);
        if setup < LOCAL {
            return None;
        }
        let is_most = |time: f64| time >= WORTH && time * 2.0 >= self.total;
        if waited.is_some() && is_most(setup) {
            return Some(self.answer(
                "connection-setup",
                "A SYN, or the answer to it, was lost: the connection waited for the SYN's timer.",
                "look for what drops SYNs: a full backlog of the listener (nstat TcpExtListenDrops there), a \
                 firewall that limits new connections, loss",
            ));
        }
        if is_most(self.resolved) {
            return Some(self.answer(
                "name-lookup",
                "The lookup of the name took most of the time.",
                "look at the resolver (resolvectl query NAME, dig NAME): one that does not answer is waited \
                 for 5 s",
            ));
        }
        if is_most(self.opened - self.connected) {
            return Some(self.answer(
                "tls-handshake",
                "The handshake of TLS took most of the time.",
                "keep connections open and use them again, or TLS 1.3 and session tickets; look what the \
                 server does in its handshake (keys, OCSP)",
            ));
        }
        if is_most(answered - rtt) {
            return Some(self.answer(
                "server-think-time",
                "The server took most of the time before the first byte of its answer.",
                "look what the server does before it answers (its log, its database): the network waited",
            ));
        }
        let active = self.total - self.opened;
        let took = Duration::from_secs_f64((active + 2.0 * rtt).min(1e6));
        let bytes = self.bytes.filter(|bytes| *bytes < 1e9)? as u64;
        let rtt = Duration::from_secs_f64(rtt.min(1e6));
        let is_short = active * 2.0 >= self.total && takes_slow_start(bytes, 1448, rtt, took);
        is_short.then(|| {
            self.answer(
                "slow-start",
                "Nothing limited it: the transfer was as fast as a new connection can be.",
                "keep connections open and use them again",
            )
        })
    }

    fn answer(
        &self,
        outcome: &'static str,
        sentence: &'static str,
        fix: &'static str,
    ) -> FailedConnection {
        let line = format!(
            "curl: {:.3} s until connected, {:.3} s until the first byte, {:.3} s in all",
            self.connected, self.first_byte, self.total
        );
        FailedConnection {
            program: "curl",
            outcome,
            sentence,
            fix,
            line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "$ curl -s -o /dev/null -w 'dns=%{time_namelookup} tcp=%{time_connect} \
                           ttfb=%{time_starttransfer} total=%{time_total} code=%{http_code} \
                           bytes=%{size_download}\\n' http://h/f\n";

    fn outcome(text: &str) -> Option<&'static str> {
        read(text)?.ok().map(|answer| answer.outcome)
    }

    #[test]
    fn times_of_curl_tell_lost_syns_slow_servers_and_short_transfers() {
        let of = |times: &str| outcome(&format!("{COMMAND}{times}\n"));
        let lost = "dns=0.000018 tcp=1.067988 ttfb=1.133622 total=1.331027 code=200 bytes=200000";
        assert_eq!(of(lost), Some("connection-setup"));
        let twice = "dns=0.02 tcp=2.06 ttfb=2.12 total=2.20 code=200 bytes=20000";
        assert_eq!(of(twice), Some("connection-setup"));
        let satellite = "dns=0.02 tcp=1.24 ttfb=2.47 total=2.50 code=200 bytes=2000";
        assert_eq!(of(satellite), Some("slow-start"));
        let slow = "dns=0.000022 tcp=0.060441 ttfb=1.931467 total=2.178003 code=200 bytes=250000";
        assert_eq!(of(slow), Some("server-think-time"));
        let short = "dns=0.000022 tcp=0.060441 ttfb=0.131467 total=0.378003 code=200 bytes=250000";
        assert_eq!(of(short), Some("slow-start"));
        let named = "dns=5.01 tcp=5.06 ttfb=5.11 total=5.13 code=200 bytes=250";
        assert_eq!(of(named), Some("name-lookup"));
        let long = "dns=0.000022 tcp=0.060441 ttfb=0.131467 total=9.378003 code=200 bytes=2500000";
        assert_eq!(of(long), None);
        // The longest of several.
        assert_eq!(
            of(&format!("{short}\n{lost}\n{short}")),
            Some("connection-setup")
        );
        let upload = format!("{COMMAND}{slow}\n").replace("-s ", "-s -T file ");
        assert_eq!(outcome(&upload), None);
    }

    #[test]
    fn labels_are_those_of_the_template_or_usual_ones() {
        let lines = "   namelookup: 0.000020\n      connect: 1.048973\n  pretransfer: 1.049026\n\
                     starttransfer: 1.082408\n        total: 1.112999\n         size: 40000\n";
        assert_eq!(outcome(lines), Some("connection-setup"));
        let own = "$ curl -w 'A %{time_connect}\\nB %{time_starttransfer}\\nC %{time_total}\\n' h\n\
                   A 0.050\nB 2.250\nC 2.300\n";
        assert_eq!(outcome(own), Some("server-think-time"));
        let alike = "$ curl -w 'times: %{time_connect} / %{time_starttransfer} / %{time_total}\\n' h\n\
                     times: 0.001 / 0.201 / 63.870\n";
        assert!(read(alike).is_some_and(|answer| answer.is_err()));
        assert_eq!(read("the total: 3 and connect: 4"), None);
        assert_eq!(read("starttransfer: 1\nconnect: 2\ntotal: nan"), None);
    }

    #[test]
    fn hostile_templates_and_lines_are_read_in_linear_time() {
        let template = "$ curl -w '1%{time_connect}1%{time_total}' h\n";
        let text = format!("{template}{}\n", "1".repeat(1 << 20));
        assert_eq!(read(&text), None);
        assert_eq!(
            read(&format!("{template}{}", "1.1\n".repeat(1 << 18))),
            None
        );
    }
}
