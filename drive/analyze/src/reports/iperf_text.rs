//! Reads the plain text of iperf3 and of iperf 2.
//!
//! A row has an id, an interval, an amount and a rate, and what its header names: retransmissions
//! and cwnd at an iperf3 sender, `Write/Err Rtry Cwnd/RTT` of `iperf -e`. Amounts count in steps of
//! 1024, rates in steps of 1000. iperf3 prints neither RTT nor window, so its text seldom decides a
//! cause; the notes name the command that does.
//!
//! Out of scope: datagrams, and rows of sums where the rows of the streams are there.

use std::collections::{HashMap, HashSet};

use gigatcp_units::Duration;

use super::ReportedConnection;
use super::command::Command;
use super::intervals::{Interval, Settings, readings, target};

/// Program that wrote a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Program {
    Iperf2,
    Iperf3,
}

/// End that a row is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Sender,
    Receiver,
}

/// A row of results.
#[derive(Clone, PartialEq, Debug)]
struct Row {
    /// Number of the test in the text.
    test: usize,
    /// Number of the stream with its role, as in `5` and `5 TX-C`. `SUM` of all.
    id: String,
    /// Seconds.
    from: f64,
    to: f64,
    /// Bytes.
    amount: f64,
    retransmits: Option<u64>,
    /// Bytes.
    cwnd: Option<f64>,
    rtt: Option<Duration>,
    /// The end that a row of iperf3's summary names.
    summary: Option<Side>,
    is_omitted: bool,
}

/// Columns that the last header names.
#[derive(Clone, Copy, Default, Debug)]
struct Columns {
    has_retransmits: bool,
    is_datagrams: bool,
}

/// Test and id of a stream.
type Id = (usize, String);

/// A text while it is read.
#[derive(Default, Debug)]
struct Text {
    rows: Vec<Row>,
    /// Number of the test that is read: a text may have several, or both ends of one.
    test: usize,
    columns: Columns,
    program: Option<Program>,
    /// Test and id of streams, with both ends, the local one first.
    ends: HashMap<Id, [String; 2]>,
    /// Tests in which the other end sends (`-R`), and those of a server's text.
    reverse: HashSet<usize>,
    of_server: HashSet<usize>,
    is_udp: bool,
    /// Whether an iperf3 sender's columns were printed.
    is_sender: bool,
    /// Segment size and RTT of each stream's setup, as iperf 2 prints them.
    setups: HashMap<Id, (u64, Duration)>,
    /// Streams that have rows.
    known: HashSet<Id>,
    command: Option<Command>,
}

/// Returns the program, the connections of a test and notes on them. `None` if the text has no row
/// and no beginning of a test.
pub(super) fn read(text: &str) -> Option<(&'static str, Vec<ReportedConnection>, Vec<String>)> {
    let mut read = Text::default();
    for line in text.lines() {
        read.line(line);
    }
    let program = read.program?;
    let source = match program {
        Program::Iperf2 => "iperf",
        Program::Iperf3 => "iperf3",
    };
    if read.is_udp {
        let notes = vec![super::NO_CONNECTION.to_owned()];
        return Some((source, Vec::new(), notes));
    }
    read.command = Command::read(text, &["iperf3", "iperf"]);
    let streams = read.streams();
    let connections = streams.iter().map(|(id, rows)| read.connection(id, rows));
    let connections: Vec<_> = connections.collect();
    let has_rtt = read.rows.iter().any(|row| row.rtt.is_some());
    let mut notes = vec![match (program, has_rtt) {
        (Program::Iperf3, _) => "the text of iperf3 has no RTT and no window: `iperf3 -J` prints \
                                 both, and they tell a window from a full path"
            .to_owned(),
        (Program::Iperf2, false) => {
            "the text has only rates: `iperf -e -i 1` at the sender prints \
                                     retransmissions, cwnd and RTT; `iperf3 -J` prints more"
                .to_owned()
        }
        (Program::Iperf2, true) => "iperf prints no window: `iperf3 -J` does".to_owned(),
    }];
    if read.rows.is_empty() {
        notes.push("the text has no row of results: the test failed or was cut off".to_owned());
    } else if program == Program::Iperf3 && !read.is_sender {
        notes.push(
            "this is the receiving end: retransmissions and cwnd are printed by the sender, so run \
             `iperf3 -J --get-server-output`, or -J at the server"
                .to_owned(),
        );
    }
    Some((source, connections, notes))
}

impl Text {
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let has = |word: &str| words.contains(&word);
        if line.contains("Interval") && line.contains("Transfer") {
            self.columns = Columns {
                has_retransmits: has("Retr"),
                is_datagrams: has("Jitter") || has("Datagrams"),
            };
            self.is_sender |= has("Retr") && has("Cwnd");
            self.is_udp |= self.columns.is_datagrams;
            return;
        }
        self.settings(line);
        let Some((id, rest)) = id(line) else { return };
        if let Some(ends) = ends(rest) {
            let is_iperf3 = rest.contains("connected to");
            let program = if is_iperf3 {
                Program::Iperf3
            } else {
                Program::Iperf2
            };
            self.program.get_or_insert(program);
            // A server of iperf 2 has several clients at a time.
            let is_over = self.last().is_some_and(|last| last.summary.is_some());
            if is_over || self.known.contains(&(self.test, id.clone())) {
                self.begin();
            }
            let id = (self.test, id);
            if let Some(setup) = setup(rest) {
                self.setups.entry(id.clone()).or_insert(setup);
            }
            self.ends.entry(id).or_insert(ends);
        } else if let Some(mut row) = row(id, rest, self.columns) {
            let is_after_summary = self.last().is_some_and(|last| last.summary.is_some());
            if is_after_summary && row.summary.is_none() {
                self.test += 1;
            }
            row.test = self.test;
            self.known.insert((self.test, row.id.clone()));
            if row.summary.is_some() {
                self.program = Some(Program::Iperf3);
            }
            self.program.get_or_insert(if self.columns.has_retransmits {
                Program::Iperf3
            } else {
                Program::Iperf2
            });
            self.rows.push(row);
        }
    }

    /// Reads a line that says what is tested.
    fn settings(&mut self, line: &str) {
        let begins = [
            ("Connecting to host", Program::Iperf3, false),
            ("Accepted connection from", Program::Iperf3, true),
            ("Server listening on TCP", Program::Iperf2, true),
            ("Server listening on UDP", Program::Iperf2, true),
            ("Client connecting to", Program::Iperf2, false),
        ];
        for (begin, program, is_server) in begins {
            if line.contains(begin) {
                self.program = Some(program);
                self.begin();
                self.of_server.extend(is_server.then_some(self.test));
                self.is_udp |= line.contains("UDP");
            }
        }
        let is_reverse = line.contains("Reverse mode");
        self.reverse.extend(is_reverse.then_some(self.test));
    }

    /// Begins another test, if this one has rows.
    fn begin(&mut self) {
        self.test += usize::from(self.last().is_some());
    }

    /// The last row of the test that is read.
    fn last(&self) -> Option<&Row> {
        self.rows.last().filter(|row| row.test == self.test)
    }

    /// The streams with their rows, in order; the sum of a test, if its streams have none.
    fn streams(&self) -> Vec<(Id, Vec<&Row>)> {
        let mut places: HashMap<(usize, &str), usize> = HashMap::new();
        let mut streams: Vec<(Id, Vec<&Row>)> = Vec::new();
        for row in &self.rows {
            let place = *places.entry((row.test, &row.id)).or_insert(streams.len());
            if place == streams.len() {
                streams.push(((row.test, row.id.clone()), Vec::new()));
            }
            streams[place].1.push(row);
        }
        let is_sum = |(_, id): &Id| id.starts_with("SUM");
        let single = streams.iter().filter(|(id, _)| !is_sum(id));
        let single: HashSet<usize> = single.map(|((test, _), _)| *test).collect();
        streams.retain(|(id, _)| !is_sum(id) || !single.contains(&id.0));
        streams
    }

    fn connection(&self, stream: &Id, rows: &[&Row]) -> ReportedConnection {
        let (test, id) = stream;
        let mut counted: Vec<Interval> = intervals(rows).into_iter().map(Row::interval).collect();
        // The receiver's text has the sender's retransmissions in its summary alone.
        let total = rows.iter().filter(|row| row.summary.is_some());
        if let Some(total) = total.filter_map(|row| row.retransmits).next() {
            spread(total, &mut counted);
        }
        // iperf3 has this from the receiver, at the end.
        let is_answered = rows.iter().any(|row| row.summary == Some(Side::Receiver));
        let number = id.split(' ').next().unwrap_or(id);
        let setup = self.setups.get(&(*test, number.to_owned()));
        let command = self.command.unwrap_or_default();
        let defaults = Settings::default();
        let settings = Settings {
            target: target(self.command, &counted),
            pacing: command.pacing,
            smss: setup.map_or(defaults.smss, |(smss, _)| *smss),
            setup_rtt: setup.map(|(_, rtt)| *rtt),
        };
        ReportedConnection {
            steps: readings(&counted, &settings),
            sets_buffers: command.sets_buffers,
            reads_at_once: true,
            has_small_passed: is_answered && counted.last().is_some_and(|last| last.bytes <= 0.0),
            test: 2 * test + usize::from(id.contains("RX")),
            ..ReportedConnection::new(self.name(stream, rows))
        }
    }

    /// Both ends of a stream, the sender first.
    fn name(&self, (test, id): &Id, rows: &[&Row]) -> String {
        let number = id.split(' ').next().unwrap_or(id);
        let ends = self.ends.get(&(*test, number.to_owned()));
        let Some([local, remote]) = ends else {
            return format!("stream {id}");
        };
        // iperf3's summary has the sender's retransmissions at both ends.
        let mut intervals = rows.iter().filter(|row| row.summary.is_none());
        let is_sent = intervals.any(|row| row.retransmits.is_some() || row.cwnd.is_some());
        let is_remote = self.reverse.contains(test) != self.of_server.contains(test);
        let is_received = id.contains("RX") || !is_sent && is_remote;
        if is_received {
            format!("{remote} -> {local}")
        } else {
            format!("{local} -> {remote}")
        }
    }
}

/// The rows that are intervals, without those of the whole test. These if there are no others.
fn intervals<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    let mut intervals: Vec<&Row> = Vec::new();
    for row in rows.iter().filter(|row| row.summary.is_none()) {
        // The last row of iperf 2 covers the whole test again.
        let is_whole = intervals.len() > 1
            && intervals
                .last()
                .is_some_and(|last| !last.is_omitted && row.from < last.from)
            && intervals
                .first()
                .is_some_and(|first| row.from <= first.from);
        if !is_whole {
            intervals.push(row);
        }
    }
    if intervals.is_empty() {
        let of = |side| rows.iter().find(|row| row.summary == Some(side)).copied();
        intervals.extend(of(Side::Sender).or(of(Side::Receiver)));
    }
    intervals
}

impl Row {
    fn interval(&self) -> Interval {
        Interval {
            seconds: self.to - self.from,
            bytes: self.amount,
            retransmits: self.retransmits,
            cwnd: self.cwnd,
            window: None,
            rtt: self.rtt,
            is_omitted: self.is_omitted,
            is_stalled: false,
        }
    }
}

/// Reads the id of a line, `[  5]` or `[  5][TX-C]`. Also returns the text after it.
fn id(line: &str) -> Option<(String, &str)> {
    let mut rest = line;
    loop {
        let (inside, after) = rest.split_once('[')?.1.split_once(']')?;
        let number = inside.trim().trim_start_matches('*');
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || number.starts_with("SUM") {
            let role = after
                .trim_start()
                .strip_prefix('[')
                .and_then(|after| after.split_once(']'));
            return Some(match role {
                Some((role, after)) => (format!("{number} {}", role.trim()), after),
                None => (number.to_owned(), after),
            });
        }
        rest = after;
    }
}

/// Reads `local A port B connected to C port D`, the local end first.
fn ends(text: &str) -> Option<[String; 2]> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let place = words
        .windows(2)
        .position(|two| two[0] == "connected" && matches!(two[1], "to" | "with"))?;
    let end = |words: &[&str]| match words {
        [address, "port", port, ..] => Some(format!("{address}:{port}")),
        _ => None,
    };
    let before = words[..place].iter().position(|word| *word == "local")?;
    Some([end(&words[before + 1..place])?, end(&words[place + 2..])?])
}

/// Reads segment size and RTT in `(icwnd/mss/irtt=14/1448/171566)`.
fn setup(text: &str) -> Option<(u64, Duration)> {
    let (_, values) = text.split_once("mss/irtt=")?;
    let mut values = values.split(')').next()?.rsplit('/');
    let rtt = values.next().and_then(number).filter(|us| *us > 0.0)?;
    let smss = values.next()?.parse().ok().filter(|smss| *smss > 0)?;
    Some((smss, Duration::from_secs_f64(rtt / 1e6)))
}

/// Spreads a number of retransmissions evenly over intervals that have none of their own.
fn spread(total: u64, intervals: &mut [Interval]) {
    if intervals
        .iter()
        .any(|interval| interval.retransmits.is_some())
    {
        return;
    }
    let all: f64 = intervals.iter().map(|interval| interval.seconds).sum();
    let (mut time, mut before) = (0.0, 0);
    for interval in intervals {
        time += interval.seconds;
        let until = (total as f64 * time / all).round() as u64;
        interval.retransmits = Some(until.saturating_sub(before));
        before = until;
    }
}

/// Reads the interval, the amount and the other columns of a row.
fn row(id: String, text: &str, columns: Columns) -> Option<Row> {
    let (interval, rest) = text.split_once("sec")?;
    let interval: String = interval.split_whitespace().collect();
    let (from, to) = interval.split_once('-')?;
    let (from, to) = (number(from)?, number(to)?);
    let words: Vec<&str> = rest.split_whitespace().collect();
    let amount = quantity(words.first()?, words.get(1)?)?;
    let (rate, unit) = (words.get(2)?, words.get(3)?);
    let is_rate = number(rate).is_some() && unit.ends_with("/sec");
    (is_rate && to > from).then_some(())?;
    let more = &words[4..];
    let mut row = Row {
        test: 0,
        id,
        from,
        to,
        amount,
        retransmits: None,
        cwnd: None,
        rtt: None,
        summary: match more.last() {
            Some(&"sender") => Some(Side::Sender),
            Some(&"receiver") => Some(Side::Receiver),
            _ => None,
        },
        is_omitted: more.last() == Some(&"(omitted)"),
    };
    if columns.has_retransmits {
        row.retransmits = more.first().and_then(|count| count.parse().ok());
        row.cwnd = more
            .get(1)
            .zip(more.get(2))
            .and_then(|(size, unit)| quantity(size, unit));
    } else if let Some(place) = more.iter().position(|word| word.contains("K/")) {
        // iperf -e: Write/Err Rtry Cwnd/RTT(var).
        let (cwnd, rtt) = more[place].split_once("K/")?;
        let rtt = rtt
            .split('(')
            .next()
            .and_then(number)
            .filter(|us| *us > 0.0);
        row.cwnd = number(cwnd)
            .filter(|size| *size > 0.0)
            .map(|size| size * 1024.0);
        row.rtt = rtt.map(|us| Duration::from_secs_f64(us / 1e6));
        row.retransmits = place.checked_sub(1).and_then(|at| more[at].parse().ok());
    }
    Some(row)
}

/// A number, with a point or a comma.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.replacen(',', ".", 1).parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// An amount in bytes: `7.62 MBytes`, or in bits with `-f`.
pub(super) fn quantity(amount: &str, unit: &str) -> Option<f64> {
    let (prefix, of_bytes, step) = match unit.strip_suffix("Bytes").or(unit.strip_suffix("Byte")) {
        Some(prefix) => (prefix, 1.0, 1024_f64),
        None => (unit.strip_suffix("bits")?, 0.125, 1000_f64),
    };
    let power = ["", "K", "M", "G", "T"]
        .iter()
        .position(|known| prefix == *known)?;
    Some(number(amount)? * of_bytes * step.powi(power as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_form_are_read() {
        let of = |line: &str, columns| {
            let (id, rest) = id(line)?;
            row(id, rest, columns)
        };
        let sender = Columns {
            has_retransmits: true,
            is_datagrams: false,
        };
        let line = "[  5]   3.00-4.00   sec  6.25 MBytes  52.4 Mbits/sec    3    600 KBytes       ";
        let row = of(line, sender).unwrap();
        assert_eq!((row.id.as_str(), row.from, row.to), ("5", 3.0, 4.0));
        assert_eq!((row.amount, row.retransmits), (6.25 * 1_048_576.0, Some(3)));
        assert_eq!(row.cwnd, Some(600.0 * 1024.0));
        assert_eq!(of(&line.replace("6.25", "6,25"), sender), Some(row));
        let row = of(
            "[  3]  0.0- 5.0 sec  1.09 MBytes  1.83 Mbits/sec",
            Columns::default(),
        );
        assert_eq!(row.map(|row| row.to), Some(5.0));
        let row = of(
            "[  1] 0.0000-1.0000 sec  13.8 MBytes   115 Mbits/sec  110/0         2     1345K/40190(35) us  359",
            Columns::default(),
        )
        .unwrap();
        assert_eq!(
            (row.retransmits, row.cwnd),
            (Some(2), Some(1345.0 * 1024.0))
        );
        assert_eq!(row.rtt, Some(Duration::from_micros(40_190)));
        let row = of(
            "[  7][TX-C]   0.00-1.00   sec  1.5 Gbits  1.5 Gbits/sec  0  1 MBytes (omitted)",
            sender,
        )
        .unwrap();
        assert_eq!(
            (row.id.as_str(), row.amount, row.is_omitted),
            ("7 TX-C", 1.5e9 / 8.0, true)
        );
        for text in [
            "[SUM]",
            "[ ID] Interval",
            "[  5] 1-2 sec",
            "[5] 0-1 sec 1 MB 2 MB/s",
            "[ 5",
        ] {
            assert_eq!(of(text, sender), None, "{text}");
        }
    }
}
