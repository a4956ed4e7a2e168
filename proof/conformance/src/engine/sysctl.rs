//! Settings of the system (`sysctl`) and their effect on connections opened later.
//!
//! The table names settings without effect if nothing that a script can see depends on them.

use alloc::format;

use gigatcp_tcp::congestion::Entry;
use gigatcp_units::{Bytes, Duration};

use super::settings::{Setup, congestion_named};
use crate::stack::Unsupported;

/// Effect of a system setting on the engine.
#[derive(Clone, Copy)]
pub enum Meaning {
    /// None that a script can see.
    Nothing,
    /// None; only this value is supported.
    Only(&'static str),
    /// A switch or count of the profile.
    Setting(&'static str),
    /// A time of the profile, given in milliseconds, or in seconds.
    Millis(&'static str),
    /// See `Millis`.
    Seconds(&'static str),
    /// Three buffer sizes: least, default, most.
    ReceiveBuffers,
    /// See `ReceiveBuffers`.
    SendBuffers,
    /// Explicit congestion notification by number.
    Notification,
    /// When AccECN options leave, by Linux's number; of open connections too.
    EcnOption,
    /// How many segments without an AccECN option may pass in a round trip;
    /// with one on every segment nothing depends on it.
    Beacon,
    /// When the path's MTU is probed: never, after a black hole, always.
    PathMtuProbing,
    /// Roles of Fast Open, and where it does without cookies, by bits.
    FastOpen,
    /// Sixteen octets in four numbers.
    FastOpenKey,
    /// A congestion control.
    Congestion,
    /// Segments of the initial window.
    InitialWindow,
    /// A switch of the profile that means the opposite.
    Inverse(&'static str),
    /// Half of a time of the profile, in milliseconds.
    TwoMillis(&'static str),
    /// Window scaling and timestamps: neither, both, the first, the second.
    Rfc1323,
    /// Explicit congestion notification by FreeBSD's number.
    NewNotification,
    /// When cookies answer SYNs, if it is not 0.
    SynCookies(&'static str),
    /// Proportional rate reduction.
    Prr,
    /// Unsent octets below which an application may write.
    NotSentLowat,
}

use Meaning::{
    Beacon, Congestion, EcnOption, FastOpen, FastOpenKey, InitialWindow, Inverse, Millis,
    NewNotification, Nothing, Notification, Only, PathMtuProbing, Prr, ReceiveBuffers, Rfc1323,
    Seconds, SendBuffers, Setting, SynCookies, TwoMillis,
};

/// Linux's `net.ipv4`.
pub const SYSCTLS: &[(&str, Meaning)] = &[
    ("net.ipv4.tcp_rmem", ReceiveBuffers),
    ("net.ipv4.tcp_wmem", SendBuffers),
    ("net.ipv4.tcp_timestamps", Setting("timestamps")),
    ("net.ipv4.tcp_window_scaling", Setting("window_scaling")),
    ("net.ipv4.tcp_sack", Setting("sack")),
    ("net.ipv4.tcp_dsack", Setting("dsack")),
    ("net.ipv4.tcp_syn_retries", Setting("syn_retries")),
    ("net.ipv4.tcp_synack_retries", Setting("syn_retries")),
    ("net.ipv4.tcp_retries2", Setting("retries")),
    ("net.ipv4.tcp_reordering", Setting("dup_thresh")),
    ("net.ipv4.tcp_congestion_control", Congestion),
    (
        "net.ipv4.tcp_slow_start_after_idle",
        Setting("idle_restart"),
    ),
    ("net.ipv4.tcp_rto_max_ms", Millis("rto_max")),
    ("net.ipv4.tcp_rto_min_us", Nothing),
    (
        "net.ipv4.tcp_invalid_ratelimit",
        Millis("challenge_ack_interval"),
    ),
    ("net.ipv4.tcp_fack", Only("0")),
    ("net.ipv4.tcp_syncookies", Setting("syn_cookies")),
    ("net.ipv4.tcp_ecn", Notification),
    ("net.ipv4.tcp_ecn_fallback", Setting("ecn_fallback")),
    ("net.ipv4.tcp_ecn_option", EcnOption),
    ("net.ipv4.tcp_ecn_option_beacon", Beacon),
    (
        "net.ipv4.tcp_syn_linear_timeouts",
        Setting("syn_linear_timeouts"),
    ),
    ("net.ipv4.tcp_frto", Setting("frto")),
    ("net.ipv4.tcp_early_retrans", Setting("tlp")),
    ("net.ipv4.tcp_recovery", Setting("rack")),
    ("net.ipv4.tcp_shrink_window", Setting("may_shrink_window")),
    ("net.ipv4.tcp_mtu_probing", PathMtuProbing),
    ("net.ipv4.tcp_tso_win_divisor", Setting("tso_win_divisor")),
    ("net.ipv4.tcp_min_tso_segs", Setting("tso_min_segments")),
    ("net.ipv4.tcp_pacing_ss_ratio", Nothing),
    ("net.ipv4.tcp_pacing_ca_ratio", Nothing),
    ("net.ipv4.tcp_notsent_lowat", Meaning::NotSentLowat),
    ("net.ipv4.tcp_fastopen_blackhole_timeout_sec", Only("0")),
    ("net.ipv4.tcp_fastopen", FastOpen),
    ("net.ipv4.tcp_fastopen_key", FastOpenKey),
    ("net.ipv4.tcp_no_metrics_save", Nothing),
    ("net.ipv4.tcp_fin_timeout", Seconds("fin_wait_2_timeout")),
    ("net.ipv4.tcp_keepalive_time", Seconds("keepalive_time")),
    (
        "net.ipv4.tcp_keepalive_intvl",
        Seconds("keepalive_interval"),
    ),
    ("net.ipv4.tcp_keepalive_probes", Setting("keepalive_probes")),
];

impl Setup {
    /// The congestion control of this name; on Linux `cubic` is Linux's own.
    pub fn control(&self, name: &str) -> Result<&'static Entry, Unsupported> {
        match (name, self.as_linux) {
            ("cubic", true) => congestion_named("cubic-linux"),
            _ => congestion_named(name),
        }
    }

    /// Applies a system setting to connections opened later.
    pub fn apply(&mut self, meaning: Meaning, value: &str) -> Result<(), Unsupported> {
        let bad = || Unsupported::new("setting", value);
        let number = || value.parse::<u64>().map_err(|_| bad());
        match meaning {
            Nothing => Ok(()),
            Only(wanted) if wanted == value => Ok(()),
            Only(_) => Err(bad()),
            Setting(name) => {
                // Linux counts kinds where the engine has a switch.
                let switch = if value == "0" { "0" } else { "1" };
                self.set(name, value).or_else(|_| self.set(name, switch))
            }
            Millis(name) => self.set_time(name, Duration::from_millis(number()?)),
            Seconds(name) => self.set_time(name, Duration::from_secs(number()?)),
            ReceiveBuffers => {
                let most = last_amount(value).ok_or_else(bad)?;
                let start = value.split_whitespace().nth(1).and_then(last_amount);
                if let (true, Some(start)) = (self.profile.buffers.truesize, start) {
                    self.receive_buffer = None;
                    self.profile.buffers.receive_buffer_start = start;
                    self.profile.buffers.receive_buffer_max = most;
                } else {
                    self.receive_buffer = Some(most);
                }
                Ok(())
            }
            SendBuffers => {
                let most = last_amount(value).ok_or_else(bad)?;
                let start = value.split_whitespace().nth(1).and_then(last_amount);
                if let (true, Some(start)) = (self.profile.buffers.truesize, start) {
                    self.send_buffer = None;
                    self.profile.buffers.send_buffer_start = start;
                    self.profile.buffers.send_buffer_max = most;
                } else {
                    self.send_buffer = Some(most);
                }
                Ok(())
            }
            Notification => {
                let words = [
                    "off",
                    "classic",
                    "passive-classic",
                    "accurate",
                    "mixed",
                    "passive",
                ];
                let word = words.get(number()? as usize).ok_or_else(bad)?;
                self.set("ecn", word)
            }
            EcnOption => {
                // 1 is a scheme of its own that neither RFC nor engine has.
                let words = [(0, "off"), (2, "always")];
                let number = number()?;
                let word = words.iter().find(|(known, _)| *known == number);
                self.set("ecn_option", word.ok_or_else(bad)?.1)
            }
            Beacon if self.profile.ecn.ecn_option == gigatcp_tcp::profile::EcnOption::Due => {
                Err(bad())
            }
            Beacon => number().map(|_| ()),
            FastOpen => {
                self.set_fast_open(hexadecimal(value).ok_or_else(bad)?);
                Ok(())
            }
            FastOpenKey => {
                self.fast_open_key = fast_open_key(value).ok_or_else(bad)?;
                Ok(())
            }
            Congestion => {
                // FreeBSD's name for what RFC 5681 and 6582 describe.
                let name = if value == "newreno" { "reno" } else { value };
                self.congestion = self.control(name)?;
                Ok(())
            }
            InitialWindow => self.set("initial_window", value),
            other => self.apply_further(other, value),
        }
    }

    /// Applies settings that are not one setting of the profile: FreeBSD's, and probing.
    fn apply_further(&mut self, meaning: Meaning, value: &str) -> Result<(), Unsupported> {
        let bad = || Unsupported::new("setting", value);
        let number = || value.parse::<u64>().map_err(|_| bad());
        match meaning {
            PathMtuProbing => {
                let (probes, from_base) = match value {
                    "0" => ("false", "false"),
                    "1" => ("true", "false"),
                    "2" => ("true", "true"),
                    _ => return Err(bad()),
                };
                self.set("plpmtud", probes)?;
                self.set("plpmtud_from_base", from_base)
            }
            Inverse(name) => self.set(name, if value == "0" { "1" } else { "0" }),
            TwoMillis(name) => self.set_time(name, Duration::from_millis(number()?) * 2),
            Rfc1323 => {
                let (scaling, timestamps) = match value {
                    "0" => ("0", "0"),
                    "1" => ("1", "1"),
                    "2" => ("1", "0"),
                    "3" => ("0", "1"),
                    _ => return Err(bad()),
                };
                self.set("window_scaling", scaling)?;
                self.set("timestamps", timestamps)
            }
            NewNotification => {
                let words = ["off", "classic", "passive-classic", "accurate", "passive"];
                self.set("ecn", words.get(number()? as usize).ok_or_else(bad)?)
            }
            SynCookies(word) => {
                let is_on = value != "0";
                // `syncookies_only=0` leaves what `syncookies` says.
                match (word, is_on) {
                    (_, true) => self.set("syn_cookies", word),
                    ("always", false) => Ok(()),
                    (_, false) => self.set("syn_cookies", "false"),
                }
            }
            Meaning::NotSentLowat => {
                self.profile.buffers.not_sent_lowat = not_sent_lowat(number()?);
                Ok(())
            }
            Prr => self.set(
                "prr",
                if value == "0" {
                    "false"
                } else {
                    "rfc6937-ssrb"
                },
            ),
            _ => Err(bad()),
        }
    }

    /// Linux `tcp_fastopen`: clients, servers, clients without a cookie, servers
    /// without one, listeners that were not asked to. Linux takes any number: the other bits have
    /// no meaning.
    fn set_fast_open(&mut self, bits: u64) {
        let has = |bit: u64| bits & bit != 0;
        self.profile.opening.fast_open_client = has(1);
        self.profile.opening.fast_open_server = has(2);
        self.cookieless_client = has(4);
        self.cookieless_server = has(0x200);
        self.fast_open_unasked = has(0x400);
    }

    fn set_time(&mut self, name: &str, time: Duration) -> Result<(), Unsupported> {
        let nanos = format!("{}ns", time.as_nanos());
        // No time at all, where the engine has none: no limit of a rate.
        match (name, time.is_zero()) {
            ("challenge_ack_interval", true) => self.set("challenge_ack_limit", "0"),
            _ => self.set(name, &nanos),
        }
    }
}

/// Unsent octets below which an application may write; Linux's largest number is no bound.
pub fn not_sent_lowat(number: u64) -> Option<Bytes> {
    (number < u64::from(u32::MAX)).then(|| Bytes::new(number))
}

/// A number, hexadecimal after `0x`.
fn hexadecimal(value: &str) -> Option<u64> {
    match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

/// `a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4`: each number in little-endian order.
fn fast_open_key(value: &str) -> Option<[u8; 16]> {
    let mut key = [0; 16];
    let mut numbers = value.split('-');
    for part in key.chunks_exact_mut(4) {
        let number = u32::from_str_radix(numbers.next()?, 16).ok()?;
        part.copy_from_slice(&number.to_le_bytes());
    }
    numbers.next().is_none().then_some(key)
}

/// The last of three sizes; `$((15*1024*1024))` is a product.
fn last_amount(value: &str) -> Option<Bytes> {
    let last = value.split_whitespace().last()?;
    let inner = last.trim_start_matches("$((").trim_end_matches("))");
    let product = inner.split('*').try_fold(1_u64, |product, factor| {
        product.checked_mul(factor.trim().parse().ok()?)
    })?;
    Some(Bytes::new(product))
}
