//! Shell commands of scripts: settings of the stack, and commands without effect on it.
//!
//! A command is interpreted or refused by name; nothing is executed. The tables include settings
//! without a counterpart because no result visible to a script depends on them: size of
//! super-segments, device queues, caches of earlier connections, statistics.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use gigatcp_tcp::Profile;
use gigatcp_tcp::congestion::{Entry, SlowStart};
use gigatcp_units::{Bytes, Duration};

use super::host::Host;
use super::settings::{Setup, congestion_named};
use crate::stack::Unsupported;

/// Effect of a system setting on the engine.
#[derive(Clone, Copy)]
pub enum Meaning {
    /// No effect visible to a script.
    Nothing,
    /// No effect, if it has this value; the engine supports no other.
    Only(&'static str),
    /// A switch or count of the profile.
    Setting(&'static str),
    /// A time of the profile in milliseconds.
    Millis(&'static str),
    /// A time of the profile in seconds.
    Seconds(&'static str),
    /// Three receive buffer sizes: minimum, default, maximum.
    ReceiveBuffers,
    /// Three send buffer sizes: minimum, default, maximum.
    SendBuffers,
    /// Mode of Explicit Congestion Notification, by Linux's number.
    Notification,
    /// Rule for sending AccECN options, by Linux's number; applies to open connections too.
    EcnOption,
    /// Maximum number of segments without an AccECN option per round trip. It has no effect if
    /// every segment carries the option.
    Beacon,
    /// Mode of path MTU probing: never, after a black hole, always.
    PathMtuProbing,
    /// Fast Open roles, and roles that need no cookie, as bits.
    FastOpen,
    /// Fast Open key: sixteen octets in four numbers.
    FastOpenKey,
    /// Name of a congestion control.
    Congestion,
    /// Initial window in segments.
    InitialWindow,
    /// A switch of the profile with the opposite meaning.
    Inverse(&'static str),
    /// Half of a time of the profile, in milliseconds.
    TwoMillis(&'static str),
    /// A time of the profile in milliseconds, excluding FreeBSD's slop of 200 ms.
    MillisAndSlop(&'static str),
    /// Window scaling and timestamps: neither, both, the first, the second.
    Rfc1323,
    /// Mode of Explicit Congestion Notification, by FreeBSD's number.
    NewNotification,
    /// Condition for answering SYNs with cookies, if not 0.
    SynCookies(&'static str),
    /// Proportional rate reduction.
    Prr,
}

use Meaning::{
    Beacon, Congestion, EcnOption, FastOpen, FastOpenKey, InitialWindow, Inverse, Millis,
    MillisAndSlop, NewNotification, Nothing, Notification, Only, PathMtuProbing, Prr,
    ReceiveBuffers, Rfc1323, Seconds, SendBuffers, Setting, SynCookies, TwoMillis,
};

/// Addition by FreeBSD to each retransmission timeout (`rexmit_slop`).
const REXMIT_SLOP: Duration = Duration::from_millis(200);

/// Settings under Linux's `net.ipv4`.
const SYSCTLS: &[(&str, Meaning)] = &[
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
    ("net.ipv4.tcp_min_tso_segs", Nothing),
    ("net.ipv4.tcp_pacing_ss_ratio", Nothing),
    ("net.ipv4.tcp_pacing_ca_ratio", Nothing),
    ("net.ipv4.tcp_notsent_lowat", Only("4294967295")),
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

/// Settings of the kernel's self-tests (`defaults.sh`) that differ from [`Setup`].
const DEFAULTS: &[(&str, &str)] = &[
    ("net.ipv4.tcp_rmem", "4096 540000 15728640"),
    ("net.ipv4.tcp_wmem", "4096 262144 4194304"),
    ("net.ipv4.tcp_syn_retries", "5"),
    // RFC 6298 section 5.5 doubles from the first timeout on.
    ("net.ipv4.tcp_syn_linear_timeouts", "4"),
    ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ("net.ipv4.tcp_ecn", "0"),
];

impl Host {
    /// Applies the command `text` to the settings of future connections.
    pub fn command(&mut self, text: &str) -> Result<(), Unsupported> {
        // Lines that end in a backslash are continued.
        let joined = text.replace("\\\n", " ");
        for line in joined.split(['\n', ';']) {
            let line = line.split(" #").next().unwrap_or_default().trim();
            let line = line.split(" > ").next().unwrap_or_default();
            let line = line.split(" 2>").next().unwrap_or_default();
            if !line.is_empty() && !line.starts_with('#') {
                self.line(line)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), Unsupported> {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = without_interpreter(&words);
        if super::freebsd::is_one(words) {
            self.be_freebsd()?;
        }
        if self.look(words, line)? || self.change_files(words)? {
            return Ok(());
        }
        match *words {
            [script, ..] if file_name(script) == "defaults.sh" => self.be_linux(),
            ["sysctl", ref rest @ ..] => {
                let settings = rest.iter().filter(|word| !word.starts_with('-'));
                for setting in settings {
                    // Without a value it is only a query.
                    if let Some((name, value)) = setting.split_once('=') {
                        self.sysctl(name, value)?;
                    }
                }
                Ok(())
            }
            [script, ref rest @ ..] if file_name(script) == "set_sysctls.py" => {
                for setting in rest {
                    let Some((path, value)) = setting.split_once('=') else {
                        return Err(Unsupported::new("command", line));
                    };
                    self.sysctl(path.trim_start_matches("/proc/sys/"), value)?;
                }
                Ok(())
            }
            ["kldload", ..]
            | ["ip", "tcp_metrics" | "tcpmetrics", ..]
            | ["tc", "qdisc" | "-s", "show" | "qdisc", ..]
            | ["sleep" | "sync" | "true", ..] => Ok(()),
            ["tc", "qdisc", "del" | "delete", "dev", _, "root", ..] => {
                self.setup.set("pacing", "false")
            }
            [
                "tc",
                "qdisc",
                "add" | "replace" | "change",
                "dev",
                _,
                "root",
                queue @ ("pfifo" | "fq" | "noqueue" | "pfifo_fast" | "mq"),
                ref rest @ ..,
            ] if !rest.contains(&"limit") => {
                let is_paced = if queue == "fq" { "true" } else { "false" };
                self.setup.set("pacing", is_paced)
            }
            ["ethtool", "-K", _, ref features @ ..] => self.setup.offload(features, line),
            ["ip", "link", "set", "dev", _, "mtu", mtu] => {
                let mtu = mtu.parse().map_err(|_| Unsupported::new("command", line))?;
                self.addresses.mtu = mtu;
                let v6 = self.addresses.local.is_ipv6();
                self.setup.set_mtu(mtu, v6);
                Ok(())
            }
            [name, ..] if name.starts_with("/tmp/sysctl_restore_") => Ok(()),
            _ => Err(Unsupported::new("command", line)),
        }
    }

    /// Applies the settings of the kernel's self-tests, and Linux's behavior.
    fn be_linux(&mut self) -> Result<(), Unsupported> {
        self.setup.profile = Profile::LINUX_6;
        for (name, value) in DEFAULTS {
            self.sysctl(name, value)?;
        }
        self.setup.as_linux = true;
        // Linux grants twice the size a socket requests, its own sizes once.
        self.setup.doubles_requests = true;
        // Its CUBIC starts with HyStart and uses integer arithmetic.
        self.setup.slow_start = SlowStart::HyStart;
        self.setup.congestion = congestion_named("cubic-linux")?;
        Ok(())
    }

    fn sysctl(&mut self, name: &str, value: &str) -> Result<(), Unsupported> {
        let name = name.replace('/', ".");
        let value = value.trim_matches('"').trim();
        let known = SYSCTLS.iter().find(|(known, _)| *known == name);
        let known = known.map(|(_, meaning)| *meaning);
        let known = known.or_else(|| super::freebsd::meaning(&name));
        let unsupported = || Unsupported::new("setting", format!("{name}={value}"));
        let Some(meaning) = known else {
            return Err(unsupported());
        };
        self.setup
            .apply(meaning, value)
            .map_err(|_| unsupported())?;
        if matches!(meaning, EcnOption) {
            self.follow_ecn_option();
        }
        Ok(())
    }

    /// Applies a changed `tcp_ecn_option` to open connections immediately.
    fn follow_ecn_option(&mut self) {
        let (now, option) = (self.clock(), self.setup.profile.ecn.ecn_option);
        for conn in &mut self.connections {
            conn.tcp.set_ecn_option(now, option);
        }
    }
}

impl Setup {
    /// Returns the congestion control with this name on the emulated system. For Linux this is
    /// Linux's variant, if there is one.
    pub fn control(&self, name: &str) -> Result<&'static Entry, Unsupported> {
        match (name, self.as_linux) {
            ("cubic", true) => congestion_named("cubic-linux"),
            _ => congestion_named(name),
        }
    }

    /// Applies `ethtool -K`: `tso` and `gso` both switch segmentation offload. Without TSO, GSO
    /// splits super-segments before the device. Arriving segments are never coalesced here.
    fn offload(&mut self, features: &[&str], line: &str) -> Result<(), Unsupported> {
        for feature in features.chunks(2) {
            match *feature {
                ["tso" | "gso", on @ ("on" | "off")] => {
                    let on = if on == "on" { "true" } else { "false" };
                    self.set("segmentation_offload", on)?;
                }
                ["gro" | "lro" | "rx" | "tx" | "sg", "on" | "off"] => {}
                _ => return Err(Unsupported::new("command", line)),
            }
        }
        Ok(())
    }

    fn apply(&mut self, meaning: Meaning, value: &str) -> Result<(), Unsupported> {
        let bad = || Unsupported::new("setting", value);
        let number = || value.parse::<u64>().map_err(|_| bad());
        match meaning {
            Nothing => Ok(()),
            Only(wanted) if wanted == value => Ok(()),
            Only(_) => Err(bad()),
            Setting(name) => {
                // Linux has a number of modes where the engine has a switch.
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
                self.send_buffer = Some(last_amount(value).ok_or_else(bad)?);
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
                // 1 is a separate scheme that neither the RFC nor the engine has.
                let words = [(0, "off"), (2, "always")];
                let number = number()?;
                let word = words.iter().find(|(known, _)| *known == number);
                self.set("ecn_option", word.ok_or_else(bad)?.1)
            }
            Beacon if self.profile.ecn.ecn_option == gigatcp_tcp::profile::EcnOption::Due => {
                Err(bad())
            }
            Beacon => number().map(|_| ()),
            FastOpen => self
                .set_fast_open(hexadecimal(value).ok_or_else(bad)?)
                .ok_or_else(bad),
            FastOpenKey => {
                self.fast_open_key = fast_open_key(value).ok_or_else(bad)?;
                Ok(())
            }
            Congestion => {
                // FreeBSD's name for the algorithm of RFC 5681 and 6582.
                let name = if value == "newreno" { "reno" } else { value };
                self.congestion = self.control(name)?;
                Ok(())
            }
            InitialWindow => self.set("initial_window", value),
            other => self.apply_further(other, value),
        }
    }

    /// Applies settings that do not map to one setting of the profile: FreeBSD's, and probing.
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
            MillisAndSlop(name) => {
                self.set_time(name, Duration::from_millis(number()?) + REXMIT_SLOP)
            }
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
                // `syncookies_only=0` leaves the setting `syncookies` unchanged.
                match (word, is_on) {
                    (_, true) => self.set("syn_cookies", word),
                    ("always", false) => Ok(()),
                    (_, false) => self.set("syn_cookies", "false"),
                }
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

    /// Applies Linux's `tcp_fastopen` bits. They are: clients, servers, clients without a cookie,
    /// servers without one, listeners that did not request it.
    fn set_fast_open(&mut self, bits: u64) -> Option<()> {
        let has = |bit: u64| bits & bit != 0;
        self.profile.opening.fast_open_client = has(1);
        self.profile.opening.fast_open_server = has(2);
        self.cookieless_client = has(4);
        self.cookieless_server = has(0x200);
        self.fast_open_unasked = has(0x400);
        (bits & !0x607 == 0).then_some(())
    }

    fn set_time(&mut self, name: &str, time: Duration) -> Result<(), Unsupported> {
        let nanos = format!("{}ns", time.as_nanos());
        // Zero turns off the rate limit: the engine has none then.
        match (name, time.is_zero()) {
            ("challenge_ack_interval", true) => self.set("challenge_ack_limit", "0"),
            _ => self.set(name, &nanos),
        }
    }
}

/// Parses a number, hexadecimal after `0x`.
fn hexadecimal(value: &str) -> Option<u64> {
    match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

/// `a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4`: each number with its least significant octet first.
fn fast_open_key(value: &str) -> Option<[u8; 16]> {
    let mut key = [0; 16];
    let mut numbers = value.split('-');
    for part in key.chunks_exact_mut(4) {
        let number = u32::from_str_radix(numbers.next()?, 16).ok()?;
        part.copy_from_slice(&number.to_le_bytes());
    }
    numbers.next().is_none().then_some(key)
}

/// Returns the last of three sizes; `$((15*1024*1024))` is a product.
fn last_amount(value: &str) -> Option<Bytes> {
    let last = value.split_whitespace().last()?;
    let inner = last.trim_start_matches("$((").trim_end_matches("))");
    let product = inner.split('*').try_fold(1_u64, |product, factor| {
        product.checked_mul(factor.trim().parse().ok()?)
    })?;
    Some(Bytes::new(product))
}

/// Returns the words after an interpreter: `sh`, `source` and the like.
fn without_interpreter<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    match words {
        [
            "." | "source" | "sh" | "bash" | "python" | "python3",
            rest @ ..,
        ] => rest,
        all => all,
    }
}

/// Returns the last component of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Splits a shell line into words. Quotation marks, also within a value, keep spaces.
fn words(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            '|' if !quoted => {
                if !word.is_empty() {
                    all.push(core::mem::take(&mut word));
                }
                all.push("|".into());
            }
            c if c.is_whitespace() && !quoted => {
                if !word.is_empty() {
                    all.push(core::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        all.push(word.to_string());
    }
    all
}
