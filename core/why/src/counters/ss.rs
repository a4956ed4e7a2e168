//! Reads the text of `ss -tin`, of one run or many, with or without `-m`, `-o`, `-e`, `-O`.
//!
//! `ss` omits counters that are zero: for a connection with any item of `tcp_info`, they are zero
//! here. It prints no time; a line before its output may (`date +%s.%N`, `date`). Without one, the
//! time between two runs follows from what `ss` prints: the time since a connection last received
//! data, or sent some, if it received or sent none in between, or else the growth of a busy time, which is a lower bound.
//! No other step is assumed.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Duration, Instant};

use super::reading::Reading;

/// A connection in the output of `ss`.
#[derive(Clone, PartialEq, Debug)]
pub struct Socket {
    /// `address:port` of this host.
    pub local: String,
    /// `address:port` of the peer.
    pub peer: String,
    /// Congestion control, if present.
    pub congestion: Option<String>,
    /// Its counters.
    pub reading: Reading,
    /// Timer that runs, if any.
    pub timer: Option<Timer>,
}

/// Timer of a connection (`-o`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timer {
    /// Retransmission timer.
    Retransmission,
    /// Persist timer: the peer's window is closed.
    Persist,
    /// Another one, as keepalive and TIME-WAIT.
    Other,
}

/// Origin of the times of runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// Lines with a time.
    Printed,
    /// The times since data was last received.
    Counted,
    /// The growth of busy times: lower bounds.
    LowerBound,
    /// Not at all, for some step.
    Unknown,
}

/// One run of `ss`.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct SsSnapshot {
    /// Its time, if a line before it has one.
    pub at: Option<Instant>,
    /// Its connections.
    pub sockets: Vec<Socket>,
}

/// Words that `ss` omits if they are zero.
const ZEROS: [&str; 17] = [
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_total_retrans",
    "tcpi_bytes_acked",
    "tcpi_bytes_received",
    "tcpi_bytes_sent",
    "tcpi_bytes_retrans",
    "tcpi_notsent_bytes",
    "tcpi_busy_time",
    "tcpi_rwnd_limited",
    "tcpi_sndbuf_limited",
    "tcpi_delivered_ce",
    "tcpi_dsack_dups",
    "tcpi_reord_seen",
    "tcpi_backoff",
];

/// Items `name:number`, with their words and the factors of their units.
const ITEMS: [(&str, &str, f64); 34] = [
    ("rto", "tcpi_rto", 1e3),
    ("backoff", "tcpi_backoff", 1.0),
    ("mss", "tcpi_snd_mss", 1.0),
    ("rcvmss", "tcpi_rcv_mss", 1.0),
    ("pmtu", "tcpi_pmtu", 1.0),
    ("advmss", "tcpi_advmss", 1.0),
    ("cwnd", "tcpi_snd_cwnd", 1.0),
    ("ssthresh", "tcpi_snd_ssthresh", 1.0),
    ("bytes_sent", "tcpi_bytes_sent", 1.0),
    ("bytes_retrans", "tcpi_bytes_retrans", 1.0),
    ("bytes_acked", "tcpi_bytes_acked", 1.0),
    ("bytes_received", "tcpi_bytes_received", 1.0),
    ("segs_out", "tcpi_segs_out", 1.0),
    ("segs_in", "tcpi_segs_in", 1.0),
    ("data_segs_out", "tcpi_data_segs_out", 1.0),
    ("data_segs_in", "tcpi_data_segs_in", 1.0),
    ("lastsnd", "tcpi_last_data_sent", 1.0),
    ("lastrcv", "tcpi_last_data_recv", 1.0),
    ("lastack", "tcpi_last_ack_recv", 1.0),
    ("delivered", "tcpi_delivered", 1.0),
    ("delivered_ce", "tcpi_delivered_ce", 1.0),
    ("unacked", "tcpi_unacked", 1.0),
    ("sacked", "tcpi_sacked", 1.0),
    ("lost", "tcpi_lost", 1.0),
    ("dsack_dups", "tcpi_dsack_dups", 1.0),
    ("reordering", "tcpi_reordering", 1.0),
    ("reord_seen", "tcpi_reord_seen", 1.0),
    ("rcv_rtt", "tcpi_rcv_rtt", 1e3),
    ("rcv_space", "tcpi_rcv_space", 1.0),
    ("rcv_ssthresh", "tcpi_rcv_ssthresh", 1.0),
    ("notsent", "tcpi_notsent_bytes", 1.0),
    ("minrtt", "tcpi_min_rtt", 1e3),
    ("rcv_ooopack", "tcpi_rcv_ooopack", 1.0),
    ("snd_wnd", "tcpi_snd_wnd", 1.0),
];

/// Times in ms, some followed by a fraction in parentheses.
const TIMES: [(&str, &str); 3] = [
    ("busy", "tcpi_busy_time"),
    ("rwnd_limited", "tcpi_rwnd_limited"),
    ("sndbuf_limited", "tcpi_sndbuf_limited"),
];

/// Rates: the word after the name, in bit/s.
const RATES: [(&str, &str); 2] = [
    ("pacing_rate", "tcpi_pacing_rate"),
    ("delivery_rate", "tcpi_delivery_rate"),
];

/// Words that stand for bits of `tcpi_options`.
const OPTIONS: [(&str, f64); 6] = [
    ("ts", 1.0),
    ("sack", 2.0),
    ("wscale", 4.0),
    ("ecn", 8.0),
    ("ecnseen", 16.0),
    ("fastopen", 32.0),
];

/// Parts of `skmem:(...)`.
const MEMORY: [(&str, &str); 7] = [
    ("rb", "SK_MEMINFO_RCVBUF"),
    ("tb", "SK_MEMINFO_SNDBUF"),
    ("bl", "SK_MEMINFO_BACKLOG"),
    ("r", "SK_MEMINFO_RMEM_ALLOC"),
    ("t", "SK_MEMINFO_WMEM_ALLOC"),
    ("w", "SK_MEMINFO_WMEM_QUEUED"),
    ("d", "SK_MEMINFO_DROPS"),
];

/// Whether a text may be output of `ss -ti`.
#[must_use]
pub fn is_ss(text: &str) -> bool {
    let mut lines = text.lines();
    let has = |line: &str, item: &str| line.split_whitespace().any(|word| word.starts_with(item));
    lines.any(|line| has(line, "cwnd:") && (has(line, "rto:") || has(line, "rtt:")))
}

/// Reads all runs of `ss` in a text; ignores unknown text. The items of a socket may be wrapped over
/// several lines.
#[must_use]
pub fn looks(text: &str) -> Vec<SsSnapshot> {
    let mut runs = Runs::default();
    for line in text.lines() {
        let words: Vec<&str> = line
            .trim_start_matches(['>', '|'])
            .split_whitespace()
            .collect();
        if words.is_empty() {
            continue;
        }
        if let Some(time) = time(&words) {
            runs.end_socket();
            (runs.at, runs.is_new) = (Some(time), true);
        } else if matches!(words[0], "State" | "Netid") {
            runs.end_socket();
            runs.is_new = true;
        } else if let Some((socket, items)) = socket(&words) {
            runs.end_socket();
            runs.socket = Some((socket, words[items..].to_vec()));
        } else if let Some((_, items)) = &mut runs.socket {
            items.extend(&words);
        }
    }
    runs.end_socket();
    let mut all = runs.all;
    let mut sockets = all.iter().flat_map(|run| &run.sockets);
    let prints_windows = sockets.any(|socket| socket.reading.snd_wnd.is_some());
    let sockets = all.iter_mut().flat_map(|run| &mut run.sockets);
    sockets.for_each(|socket| socket.close_window(prints_windows));
    all
}

/// Runs of `ss` while they are read.
#[derive(Default)]
struct Runs<'a> {
    all: Vec<SsSnapshot>,
    /// Time of the next run, and whether the next socket begins it.
    at: Option<Instant>,
    is_new: bool,
    /// A socket and its items so far.
    socket: Option<(Socket, Vec<&'a str>)>,
    /// Both ends of the sockets of the last run: one that comes again begins the next run.
    ends: BTreeSet<(String, String)>,
}

impl Runs<'_> {
    /// Adds the socket that was read, if it has items of `tcp_info`.
    fn end_socket(&mut self) {
        let Some((mut socket, items)) = self.socket.take() else {
            return;
        };
        if !items.iter().any(is_info) {
            return;
        }
        socket.read(&items);
        let ends = (socket.local.clone(), socket.peer.clone());
        let is_new = core::mem::take(&mut self.is_new) || self.ends.contains(&ends);
        if is_new || self.all.is_empty() {
            self.ends.clear();
            self.all.push(SsSnapshot {
                at: self.at.take(),
                sockets: Vec::new(),
            });
        }
        self.ends.insert(ends);
        if let Some(run) = self.all.last_mut() {
            run.sockets.push(socket);
            debug_assert_eq!(
                run.sockets.len(),
                self.ends.len(),
                "a run lists each connection once"
            );
        }
    }
}

/// Sets the times of all runs, and returns how they are known. A time of day that goes back is on
/// the next day.
pub fn set_times(looks: &mut [SsSnapshot]) -> Times {
    const DAY: Duration = Duration::from_secs(86_400);
    let mut times = Times::Printed;
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let is_printed = looks.iter().all(|look| look.at.is_some());
    for index in 0..looks.len() {
        let before = index.checked_sub(1).map(|index| &looks[index]);
        if let (true, Some(at)) = (is_printed, looks[index].at) {
            let is_past = |last: Instant| last.saturating_since(at) > DAY / 2;
            let last = before
                .and_then(|before| before.at)
                .filter(|last| is_past(*last));
            let days = last.map_or(0, |last| {
                last.saturating_since(at).as_nanos() / DAY.as_nanos() + 1
            });
            now = at + DAY.saturating_mul(days);
        } else if let Some(before) = before {
            let (step, known) = step(before, &looks[index]);
            now += step;
            times = match (times, known) {
                (Times::Unknown, _) => Times::Unknown,
                (Times::LowerBound, Times::Counted) => Times::LowerBound,
                _ => known,
            };
        }
        let look = &mut looks[index];
        look.at = Some(now);
        look.sockets
            .iter_mut()
            .for_each(|socket| socket.reading.at = now);
    }
    if is_printed || looks.len() > 1 {
        times
    } else {
        Times::Unknown
    }
}

/// Time between two runs. It is exact if a connection received nothing in between, or sent nothing, and
/// prints for how long it did not; else it is at least the growth of a busy time.
fn step<'a>(from: &'a SsSnapshot, to: &'a SsSnapshot) -> (Duration, Times) {
    let ends = |socket: &'a Socket| (&*socket.local, &*socket.peer);
    let known: BTreeMap<_, _> = from
        .sockets
        .iter()
        .map(|socket| (ends(socket), socket))
        .collect();
    debug_assert_eq!(
        known.len(),
        from.sockets.len(),
        "a run lists each connection once"
    );
    let both = || {
        let sockets = to.sockets.iter();
        sockets.filter_map(|after| Some((*known.get(&ends(after))?, after)))
    };
    // Of one direction, without traffic in it between the runs.
    let since = |before: Option<Duration>, after: Option<Duration>, is_silent: bool| {
        let grown = after?.saturating_sub(before?);
        (is_silent && !grown.is_zero()).then_some(grown)
    };
    let counted = both().find_map(|(before, after)| {
        let (a, b) = (&before.reading, &after.reading);
        let is_silent = a.bytes_received == b.bytes_received;
        // Before Linux 4.6 these are not counted; what is zero is not printed.
        let is_counted = b.data_segs_out.is_some()
            || b.data_segs_in.is_some()
            || b.bytes_sent > Some(Bytes::ZERO);
        let has_sent =
            !is_counted || a.data_segs_out != b.data_segs_out || a.bytes_sent != b.bytes_sent;
        since(a.last_data_recv, b.last_data_recv, is_silent)
            .or_else(|| since(a.last_data_sent, b.last_data_sent, !has_sent))
    });
    if let Some(step) = counted {
        return (step, Times::Counted);
    }
    let grown = both().filter_map(|(before, after)| {
        Some(after.reading.busy?.saturating_sub(before.reading.busy?))
    });
    match grown.max().filter(|grown| !grown.is_zero()) {
        Some(step) => (step, Times::LowerBound),
        None => (Duration::ZERO, Times::Unknown),
    }
}

/// Reads a line that is a time: seconds since 1970, or one with `hh:mm:ss`.
fn time(words: &[&str]) -> Option<Instant> {
    let seconds = |text: &str| text.parse::<f64>().ok().filter(|time| *time >= 0.0);
    let at = |time: f64| Instant::ZERO + Duration::from_secs_f64(time);
    if let [one] = words
        && let Some(time) = seconds(one).filter(|_| one.len() >= 9)
    {
        return Some(at(time));
    }
    // `watch` prints its command as well.
    let is_watch = words[0] == "Every";
    if words.len() > 8 && !is_watch || words.iter().any(|word| word.contains("cwnd:")) {
        return None;
    }
    let clock = words.iter().rev().find_map(|word| {
        let clock = word.rsplit_once('T').map_or(*word, |(_, clock)| clock);
        let mut parts = clock.trim_end_matches('Z').split(':');
        let (hours, minutes) = (seconds(parts.next()?)?, seconds(parts.next()?)?);
        let last = parts.next()?.split(['+', '-']).next()?;
        parts.next().is_none().then_some(())?;
        Some(hours * 3600.0 + minutes * 60.0 + seconds(last)?)
    })?;
    Some(at(clock))
}

/// Reads the head of a socket; also returns its number of words. The head has state, queues and
/// addresses.
fn socket(words: &[&str]) -> Option<(Socket, usize)> {
    let from = usize::from(matches!(words[0], "tcp" | "mptcp"));
    let [state, unread, sent, local, peer] = words.get(from..from + 5)? else {
        return None;
    };
    let is_of_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-';
    let is_state =
        state.starts_with(|c: char| c.is_ascii_uppercase()) && state.bytes().all(is_of_name);
    if !is_state || !local.contains(':') || !peer.contains(':') {
        return None;
    }
    let queues = [
        ("recv_q", unread.parse().ok()?),
        ("send_q", sent.parse().ok()?),
    ];
    let socket = Socket {
        local: (*local).into(),
        peer: (*peer).into(),
        congestion: None,
        reading: Reading::of_words(Instant::ZERO, queues),
        timer: None,
    };
    Some((socket, from + 5))
}

/// Whether a word is an item of `tcp_info`.
fn is_info(word: &&str) -> bool {
    word.starts_with("cwnd:") || word.starts_with("rto:")
}

impl Socket {
    fn put(&mut self, name: &str, number: f64) {
        if let Some(place) = super::reading::place(name) {
            self.reading.set(place, number as i64);
        }
    }

    fn read(&mut self, words: &[&str]) {
        ZEROS.iter().for_each(|name| self.put(name, 0.0));
        let options = OPTIONS.iter().filter(|(name, _)| {
            words
                .iter()
                .any(|word| word.split(':').next() == Some(*name))
        });
        self.put("tcpi_options", options.map(|(_, bit)| bit).sum());
        self.put("tcpi_snd_ssthresh", f64::from(0x7fff_ffff));
        self.put("tcpi_delivery_rate_app_limited", 0.0);
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            if let Some((_, name)) = RATES.iter().find(|(item, _)| *item == word) {
                // A pacing rate may be followed by its upper bound.
                let mut rates = words.next().unwrap_or_default().split('/').map(rate);
                let bound = "tcpi_max_pacing_rate";
                for (name, rate) in [*name, bound].into_iter().zip(&mut rates) {
                    rate.into_iter().for_each(|rate| self.put(name, rate));
                }
                continue;
            }
            match word.split_once(':') {
                Some((item, value)) => self.item(item, value),
                None if word == "app_limited" => self.put("tcpi_delivery_rate_app_limited", 1.0),
                None if is_control(word) && self.congestion.is_none() => {
                    self.congestion = Some(word.into());
                }
                None => {}
            }
        }
    }

    /// Sets the window to zero if the persist timer runs, which it does only while the peer's window has
    /// no room and nothing is in flight. An `ss` that prints windows omits one of zero: data that is not
    /// sent although nothing is in flight waits for it.
    fn close_window(&mut self, prints_windows: bool) {
        let reading = &self.reading;
        let is_out = reading.unacked.is_some_and(|segments| segments > 0);
        let is_waiting = reading.notsent > Some(Bytes::ZERO)
            && reading.rwnd_limited > Some(Duration::ZERO)
            && reading.snd_wnd.is_none();
        if !is_out && (self.timer == Some(Timer::Persist) || prints_windows && is_waiting) {
            self.put("tcpi_snd_wnd", 0.0);
        }
    }

    fn item(&mut self, item: &str, value: &str) {
        let number = |text: &str| text.parse::<f64>().ok();
        if let Some((_, name, unit)) = ITEMS.iter().find(|(known, _, _)| *known == item) {
            if let Some(number) = number(value) {
                self.put(name, number * unit);
            }
        } else if let Some((_, name)) = TIMES.iter().find(|(known, _)| *known == item) {
            let time = value.split('(').next().unwrap_or_default();
            if let Some(ms) = time.strip_suffix("ms").and_then(number) {
                self.put(name, ms * 1e3);
            }
        } else {
            match item {
                "timer" => self.timer = timer(value),
                _ => self.pair(item, value),
            }
        }
    }

    /// Reads items of two numbers, and those of `skmem`.
    fn pair(&mut self, item: &str, value: &str) {
        let number = |text: &str| text.parse::<f64>().ok();
        let names = match item {
            "rtt" => [("tcpi_rtt", 1e3), ("tcpi_rttvar", 1e3)],
            "retrans" => [("tcpi_retrans", 1.0), ("tcpi_total_retrans", 1.0)],
            "wscale" => [("tcpi_snd_wscale", 1.0), ("tcpi_rcv_wscale", 1.0)],
            "skmem" => {
                for part in value.trim_matches(['(', ')']).split(',') {
                    let digits = part
                        .find(|c: char| c.is_ascii_digit())
                        .unwrap_or(part.len());
                    let (name, size) = part.split_at(digits);
                    let known = MEMORY.iter().find(|(known, _)| *known == name);
                    if let (Some((_, word)), Some(size)) = (known, number(size)) {
                        self.put(word, size);
                    }
                }
                return;
            }
            _ => return,
        };
        for ((name, unit), number) in names.iter().zip(value.split(['/', ',']).map(number)) {
            if let Some(number) = number {
                self.put(name, number * unit);
            }
        }
    }
}

/// Bytes per second of a rate as `ss` prints it: `6530715bps`, `6.5Mbps`.
fn rate(text: &str) -> Option<f64> {
    let number = text.strip_suffix("bps")?;
    let (number, factor) = match number.char_indices().last()? {
        (end, 'K') => (&number[..end], 1e3),
        (end, 'M') => (&number[..end], 1e6),
        (end, 'G') => (&number[..end], 1e9),
        _ => (number, 1.0),
    };
    Some(number.parse::<f64>().ok()? * factor / 8.0)
}

/// Reads `(persist,1min20sec,7)`.
fn timer(text: &str) -> Option<Timer> {
    let name = text.trim_start_matches('(').split([',', ')']).next()?;
    Some(match name {
        "on" => Timer::Retransmission,
        "persist" => Timer::Persist,
        "" | "off" => return None,
        _ => Timer::Other,
    })
}

/// Whether a bare word is the name of a congestion control.
fn is_control(word: &str) -> bool {
    const OPTIONS: [&str; 9] = [
        "ts",
        "sack",
        "ecn",
        "ecnseen",
        "fastopen",
        "send",
        "app_limited",
        "cookie",
        "nodelay",
    ];
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    word.bytes().all(is_name)
        && word.bytes().any(|byte| byte.is_ascii_lowercase())
        && !OPTIONS.contains(&word)
        && !word.ends_with("bps")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use gigatcp_units::{Bytes, Rate};

    const HEAD: &str = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n";
    const ONE: &str = "ESTAB 0 1448 10.1.0.1:43966 10.2.0.1:5201\n\
        \t skmem:(r0,rb131072,t4,tb87040,f0,w9000,o0,bl0,d3) ts sack cubic wscale:7,10 rto:284 \
        rtt:80.3/0.4 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:45 ssthresh:38 \
        bytes_sent:3276943 bytes_retrans:1448 bytes_acked:3275495 segs_out:81 segs_in:34 \
        data_segs_out:79 send 6530715bps lastrcv:504 pacing_rate 7783664bps/8000000bps delivery_rate \
        6000000bps delivered:80 app_limited busy:4900ms rwnd_limited:4410ms(90.0%) unacked:45 \
        retrans:0/1 dsack_dups:1 rcv_space:14480 rcv_ssthresh:64088 minrtt:80.1 snd_wnd:65160\n";

    #[test]
    fn the_items_of_a_socket_become_a_reading() {
        let looks = looks(&alloc::format!("{HEAD}{ONE}"));
        assert_eq!(looks.len(), 1);
        let socket = &looks[0].sockets[0];
        assert_eq!(socket.peer, "10.2.0.1:5201");
        assert_eq!(socket.congestion.as_deref(), Some("cubic"));
        let reading = &socket.reading;
        assert_eq!(reading.rtt, Some(Duration::from_micros(80_300)));
        assert_eq!(reading.rwnd_limited, Some(Duration::from_millis(4410)));
        assert_eq!(reading.sndbuf_limited, Some(Duration::ZERO));
        assert_eq!(reading.pacing_rate, Some(Rate::from_bps(7_783_664)));
        assert_eq!(reading.max_pacing_rate, Some(Rate::from_bps(8_000_000)));
        assert_eq!((reading.total_retrans, reading.retrans), (Some(1), Some(0)));
        assert_eq!(reading.rcvbuf, Some(Bytes::new(131_072)));
        assert_eq!(reading.wmem_queued, Some(Bytes::new(9000)));
        assert_eq!(reading.sock_drops, Some(3));
        assert_eq!(
            (reading.snd_wscale, reading.rcv_wscale),
            (Some(7), Some(10))
        );
        assert_eq!(reading.app_limited, Some(true));
        assert_eq!(reading.unacknowledged, Some(Bytes::new(1448)));
        assert_eq!(reading.min_rtt, Some(Duration::from_micros(80_100)));
    }

    #[test]
    fn runs_are_told_apart_by_their_heads_by_times_and_by_what_repeats() {
        let one_line = ONE.replace("\n\t", "");
        let later = ONE.replace("busy:4900ms", "busy:5900ms");
        let rested = ONE.replace("lastrcv:504", "lastrcv:1504");
        let clock = |second: u8| alloc::format!("Thu Nov 26 01:02:5{second} UTC 2026\n{ONE}");
        for (text, is_timed) in [
            (alloc::format!("{HEAD}{ONE}{HEAD}{later}"), false),
            (alloc::format!("{ONE}{rested}"), false),
            (
                alloc::format!("1764118000.5\n{HEAD}{one_line}1764118001.5\n{HEAD}{one_line}"),
                true,
            ),
            (clock(1) + &clock(2), true),
        ] {
            let mut looks = looks(&text);
            assert_eq!(looks.len(), 2, "{text}");
            assert_eq!(set_times(&mut looks) == Times::Printed, is_timed, "{text}");
            let [from, to] = [&looks[0], &looks[1]].map(|look| look.sockets[0].reading.at);
            assert_eq!(to.saturating_since(from), Duration::from_secs(1), "{text}");
        }
    }

    #[test]
    fn steps_without_times_follow_from_counters_or_are_unknown() {
        let later = ONE.replace("busy:4900ms", "busy:5400ms");
        let rested = later.replace("lastrcv:504", "lastrcv:2504");
        for (second, times, ms) in [
            (ONE.to_owned(), Times::Unknown, 0),
            (later, Times::LowerBound, 500),
            (rested, Times::Counted, 2000),
        ] {
            let mut looks = looks(&alloc::format!("{HEAD}{ONE}{HEAD}{second}"));
            assert_eq!(set_times(&mut looks), times, "{second}");
            let [from, to] = [&looks[0], &looks[1]].map(|look| look.sockets[0].reading.at);
            assert_eq!(
                to.saturating_since(from),
                Duration::from_millis(ms),
                "{second}"
            );
        }
    }

    #[test]
    fn a_time_of_day_after_midnight_is_on_the_next_day() {
        let at = |clock: &str| alloc::format!("Thu Nov 26 {clock} UTC 2026\n{ONE}");
        let mut looks = looks(&(at("23:59:59") + &at("00:00:01") + &at("00:00:02")));
        assert_eq!(set_times(&mut looks), Times::Printed);
        let ends = [&looks[0], &looks[2]].map(|look| look.sockets[0].reading.at);
        assert_eq!(ends[1].saturating_since(ends[0]), Duration::from_secs(3));
    }

    #[test]
    fn variants_of_ss_are_read() {
        let wrapped = ONE
            .replace(" bytes_sent", "\n  bytes_sent")
            .replace(" busy", "\n  busy");
        let mut plain = looks(ONE);
        assert_eq!(looks(&wrapped), plain);
        assert_eq!(looks(&alloc::format!("tcp {ONE}")), plain);
        assert_eq!(plain[0].sockets[0].reading.options, Some(7));
        let bare = looks(&ONE.replace("wscale:7,10 ", ""));
        assert_eq!(bare[0].sockets[0].reading.options, Some(3));
        let head =
            "10.2.0.1:5201 users:((\"iperf3\",pid=7,fd=5)) timer:(persist,1min20sec,7) ino:1";
        let closed = ONE
            .replace("10.2.0.1:5201", head)
            .replace("unacked:45 ", "");
        let closed = &looks(&closed)[0].sockets[0];
        assert_eq!(closed.timer, Some(Timer::Persist));
        assert_eq!(closed.reading.snd_wnd, Some(Bytes::ZERO));
        let short = looks(&ONE.replace("7783664bps/8000000bps", "7.8Mbps"));
        let socket = &mut plain[0].sockets[0];
        socket.reading.pacing_rate = Some(Rate::from_bps(7_800_000));
        socket.reading.max_pacing_rate = None;
        assert_eq!(&short[0].sockets[0], socket);
    }

    #[test]
    fn other_text_has_no_sockets() {
        assert!(!is_ss("hello"));
        assert!(looks("hello: a\nESTAB 1 2\n\n3 4 5 6:7 8:9 cwnd:1").is_empty());
    }
}
