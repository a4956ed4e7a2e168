//! Reads the text of `ss -tinm`, of one run or many.
//!
//! `ss` omits counters that are zero: for a connection with any item of `tcp_info`, they are zero
//! here. It prints no time; a line before its output may (`date +%s.%N`, `date`). Otherwise the
//! step is assumed to be the largest growth of a connection's busy time, and at least one second.

use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

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
const ITEMS: [(&str, &str, f64); 33] = [
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
    let mut lines = text.lines().take(64);
    lines.any(|line| line.contains(" cwnd:") && line.contains(" rto:"))
}

/// Reads all runs of `ss` in a text; ignores unknown text.
#[must_use]
pub fn looks(text: &str) -> Vec<SsSnapshot> {
    let mut looks: Vec<SsSnapshot> = Vec::new();
    let mut at = None;
    let mut is_new = true;
    let mut head: Option<Socket> = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        if let Some(time) = time(&words) {
            (at, is_new) = (Some(time), true);
            continue;
        }
        if matches!(words[0], "State" | "Netid") {
            is_new = true;
            continue;
        }
        let begins = socket(&words);
        let items = begins.as_ref().map_or(0, |(_, used)| *used);
        if let Some((socket, _)) = begins {
            head = Some(socket);
        }
        let Some(mut socket) = head.clone().filter(|_| words[items..].iter().any(is_info)) else {
            continue;
        };
        socket.read(&words[items..]);
        head = None;
        let known = looks.last().is_some_and(|look| {
            look.sockets
                .iter()
                .any(|one| one.local == socket.local && one.peer == socket.peer)
        });
        if core::mem::take(&mut is_new) || known || looks.is_empty() {
            looks.push(SsSnapshot {
                at: at.take(),
                sockets: Vec::new(),
            });
        }
        if let Some(look) = looks.last_mut() {
            look.sockets.push(socket);
        }
    }
    looks
}

/// Sets the times of all runs, from their lines or from busy times. Returns whether the times are
/// those of lines.
pub fn set_times(looks: &mut [SsSnapshot]) -> bool {
    let is_timed = looks.iter().all(|look| look.at.is_some());
    let mut now = Instant::ZERO + Duration::from_secs(1);
    for index in 0..looks.len() {
        let step = match index {
            0 => Duration::ZERO,
            _ => step(&looks[index - 1], &looks[index]),
        };
        now += step;
        let look = &mut looks[index];
        if !is_timed {
            look.at = Some(now);
        }
        let at = look.at.unwrap_or_default();
        look.sockets.iter_mut().for_each(|one| one.reading.at = at);
    }
    is_timed
}

/// Returns the largest growth of a busy time between two runs. It is at least a second.
fn step(from: &SsSnapshot, to: &SsSnapshot) -> Duration {
    let grown = to.sockets.iter().filter_map(|socket| {
        let mut before = from.sockets.iter();
        let before = before.find(|one| one.local == socket.local && one.peer == socket.peer)?;
        Some(socket.reading.busy?.saturating_sub(before.reading.busy?))
    });
    grown.max().unwrap_or_default().max(Duration::from_secs(1))
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
    if words.len() > 8 || words.iter().any(|word| word.contains("cwnd:")) {
        return None;
    }
    let clock = words.iter().find_map(|word| {
        let clock = word.rsplit_once('T').map_or(*word, |(_, clock)| clock);
        let mut parts = clock.trim_end_matches('Z').split(':');
        let (hours, minutes) = (seconds(parts.next()?)?, seconds(parts.next()?)?);
        let last = parts.next()?;
        let last = last.split(['+', '-']).next()?;
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

    fn item(&mut self, item: &str, value: &str) {
        let number = |text: &str| text.parse::<f64>().ok();
        if let Some((_, name, unit)) = ITEMS.iter().find(|(known, _, _)| *known == item) {
            if let Some(number) = number(value) {
                self.put(name, number * unit);
            }
        } else if let Some((_, name)) = TIMES.iter().find(|(known, _)| *known == item) {
            let value = value.split('(').next().unwrap_or_default();
            if let Some(ms) = value.strip_suffix("ms").and_then(number) {
                self.put(name, ms * 1e3);
            }
        } else {
            self.pair(item, value);
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

/// Returns the bytes per second of a rate as `ss` prints it.
fn rate(text: &str) -> Option<f64> {
    let bits: f64 = text.strip_suffix("bps")?.parse().ok()?;
    Some(bits / 8.0)
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
        let clock = |second: u8| alloc::format!("Thu Nov 26 01:02:5{second} UTC 2026\n{ONE}");
        for (text, is_timed) in [
            (alloc::format!("{HEAD}{ONE}{HEAD}{ONE}"), false),
            (alloc::format!("{ONE}{ONE}"), false),
            (
                alloc::format!("1764118000.5\n{HEAD}{one_line}1764118001.5\n{HEAD}{one_line}"),
                true,
            ),
            (clock(1) + &clock(2), true),
        ] {
            let mut looks = looks(&text);
            assert_eq!(looks.len(), 2, "{text}");
            assert_eq!(set_times(&mut looks), is_timed, "{text}");
            let [from, to] = [&looks[0], &looks[1]].map(|look| look.sockets[0].reading.at);
            assert_eq!(to.saturating_since(from), Duration::from_secs(1), "{text}");
        }
    }

    #[test]
    fn other_text_has_no_sockets() {
        assert!(!is_ss("hello"));
        assert!(looks("hello: a\nESTAB 1 2\n\n3 4 5 6:7 8:9 cwnd:1").is_empty());
    }
}
