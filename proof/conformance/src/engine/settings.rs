//! Stack settings of a script: the header `// profile:` and the options that concern a stack.
//!
//! ```text
//! // profile: modern sack=false ack_every=2 rto_min=50ms congestion=reno mss=1000
//! ```
//!
//! The first word is a profile. The rest are settings by their names in plans, and: `congestion`,
//! `slow_start` (`max_ssthresh` with `limited`), `mss`, `send_buffer`, `receive_buffer`,
//! `initial_ssthresh`. A setting without a value is switched on. Values with a unit are written
//! without a space before it. `send_buffer=auto` and `receive_buffer=auto` request no size: the
//! profile's default applies, which may grow.

use std::sync::Arc;

use alloc::format;
use alloc::string::{String, ToString};

use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::events::EventMask;
use gigatcp_tcp::profile::{SETTINGS, SettingError, SettingValue};
use gigatcp_tcp::{ConnectionConfig, Profile, TransportConfig};
use gigatcp_units::{Bytes, Duration, Rate, nearest};
use gigatcp_wire::{IPV4_HEADER_LEN, IPV6_HEADER_LEN, IpVersion, SeqNumber};

use crate::ast::Script;
use crate::stack::{Addresses, Unsupported};

/// Octets of a TCP header without options.
const TCP_HEADER: u16 = 20;

/// First initial sequence number of the engine. It is close to the wrap on purpose.
const FIRST_ISS: u32 = u32::MAX - 2_500;

/// Start of the timestamp clock: not zero, which is indistinguishable from an absent echo.
const TIMESTAMP_OFFSET: u32 = 1_000_000;

/// `max_ssthresh` of limited slow start, as RFC 3742 section 3 proposes.
const MAX_SSTHRESH: u32 = 100;

/// Key of Fast Open cookies unless a script sets another: that of the kernel's self-tests.
pub const FAST_OPEN_KEY: [u8; 16] = [
    0xa1, 0xa1, 0xa1, 0xa1, 0xb2, 0xb2, 0xb2, 0xb2, 0xc3, 0xc3, 0xc3, 0xc3, 0xd4, 0xd4, 0xd4, 0xd4,
];

/// Settings of every future connection.
#[derive(Clone, Debug)]
pub struct Setup {
    pub profile: Profile,
    pub congestion: &'static congestion::Entry,
    pub mss: u16,
    pub send_buffer: Option<Bytes>,
    pub receive_buffer: Option<Bytes>,
    pub ip: IpVersion,
    pub initial_ssthresh: Option<u32>,
    pub slow_start: SlowStart,
    /// `max_ssthresh` of limited slow start, in segments.
    max_ssthresh: Option<u32>,
    /// Whether the stack behaves as Linux does and uses its names.
    pub as_linux: bool,
    /// Whether the stack behaves as FreeBSD does and uses its names.
    pub as_freebsd: bool,
    /// Whether the script names its profile or its MTU: no system's defaults replace them.
    pub names_profile: bool,
    pub names_mtu: bool,
    /// Whether twice the buffer requested by a socket is granted.
    pub doubles_requests: bool,
    /// Key of the Fast Open cookies of listeners without a key of their own.
    pub fast_open_key: [u8; 16],
    /// Whether Fast Opens need no cookie: of clients, and of servers (next field).
    pub cookieless_client: bool,
    pub cookieless_server: bool,
    /// Whether listeners accept Fast Opens although their socket option is not set.
    pub fast_open_unasked: bool,
    /// Segment size in octets of arriving super-segments (`--mss`). 0: they are one segment.
    pub arriving_mss: u16,
    /// Path MTU reported by routers; 0: none.
    pub route_mtu: u16,
    /// Number of connections opened so far, for their initial sequence numbers.
    opened: u32,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            profile: Profile::MODERN,
            congestion: &congestion::REGISTRY[0],
            mss: 1460,
            send_buffer: Some(Bytes::new(4 << 20)),
            receive_buffer: Some(Bytes::new(6 << 20)),
            ip: IpVersion::V4,
            initial_ssthresh: None,
            slow_start: SlowStart::Usual,
            max_ssthresh: None,
            as_linux: false,
            as_freebsd: false,
            names_profile: false,
            names_mtu: false,
            doubles_requests: false,
            fast_open_key: FAST_OPEN_KEY,
            cookieless_client: false,
            cookieless_server: false,
            fast_open_unasked: false,
            arriving_mss: 0,
            route_mtu: 0,
            opened: 0,
        }
    }
}

impl Setup {
    /// Settings of `script`.
    pub fn of_script(script: &Script, addresses: &Addresses) -> Result<Self, Unsupported> {
        let mut setup = Self::default();
        setup.set_mtu(addresses.mtu, addresses.local.is_ipv6());
        if addresses.local.is_ipv6() {
            setup.ip = IpVersion::V6;
        }
        setup.congestion = congestion_named("cubic")?;
        if let Some(header) = script.header("profile") {
            setup.read_profile(&header.value)?;
            setup.names_profile = true;
            setup.as_freebsd = setup.profile.name == "freebsd";
        }
        for option in &script.options {
            match option.name.as_str() {
                // The peer's settings, times and addresses belong to the runner.
                "mss" => setup.arriving_mss = option.value.parse().unwrap_or(0),
                "mtu" => setup.names_mtu = true,
                // Segmentation is free.
                "strict_segments" => {}
                "ip_version" | "tolerance_usecs" | "tcp_ts_tick_usecs" | "tcp_ts_ecr_scaled"
                | "D" | "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip"
                | "send_omit_free" | "init_scripts" | "verbose" | "dry_run" | "speed"
                | "non_fatal" => {}
                other => return Err(Unsupported::new("option", format!("--{other}"))),
            }
        }
        Ok(setup)
    }

    /// Sets the MSS from an MTU (RFC 6691).
    pub fn set_mtu(&mut self, mtu: u16, v6: bool) {
        let header = if v6 { IPV6_HEADER_LEN } else { IPV4_HEADER_LEN };
        self.mss = mtu.saturating_sub(header as u16 + TCP_HEADER).max(1);
    }

    fn read_profile(&mut self, line: &str) -> Result<(), Unsupported> {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or("modern");
        let found = Profile::find(name).ok_or_else(|| {
            let known = Profile::ALL.iter().map(|profile| profile.name);
            Unsupported::new("profile", with_nearest(name, known))
        })?;
        self.profile = with_stated_sizes(found);
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, "true"));
            self.set(name, value)?;
        }
        match (&mut self.slow_start, self.max_ssthresh) {
            (SlowStart::Limited { max_ssthresh }, Some(asked)) => *max_ssthresh = asked,
            (_, Some(_)) => {
                let what = "max_ssthresh without slow_start=limited";
                return Err(Unsupported::new("setting", what));
            }
            (_, None) => {}
        }
        Ok(())
    }

    /// Applies one setting by its name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Unsupported> {
        let bad = || Unsupported::new("setting", format!("{name}={value}"));
        match name {
            "congestion" => self.congestion = congestion_named(value)?,
            "slow_start" => {
                self.slow_start = SlowStart::find(value, MAX_SSTHRESH).ok_or_else(bad)?;
            }
            "max_ssthresh" => self.max_ssthresh = Some(value.parse().map_err(|_| bad())?),
            "mss" => self.mss = value.parse().map_err(|_| bad())?,
            "initial_ssthresh" => self.initial_ssthresh = Some(value.parse().map_err(|_| bad())?),
            "send_buffer" => self.send_buffer = buffer(value).ok_or_else(bad)?,
            "receive_buffer" => self.receive_buffer = buffer(value).ok_or_else(bad)?,
            _ => return self.set_profile(name, value),
        }
        Ok(())
    }

    /// Applies a setting of the profile. The kind of its values decides how `value` is parsed.
    fn set_profile(&mut self, name: &str, value: &str) -> Result<(), Unsupported> {
        let number = value.parse().ok();
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        let word = setting.and_then(|setting| setting.words().find(|word| *word == value));
        let candidates = [
            word.map(SettingValue::Word),
            value.parse().ok().map(SettingValue::Switch),
            number.map(SettingValue::Count),
            value.parse::<Duration>().ok().map(SettingValue::Time),
            amount(value).map(SettingValue::Amount),
            value.parse::<Rate>().ok().map(SettingValue::Rate),
            // Zero and one are accepted as switches, as in sysctls.
            number
                .filter(|n| *n < 2)
                .map(|n| SettingValue::Switch(n == 1)),
        ];
        let mut expected = "";
        for candidate in candidates.into_iter().flatten() {
            match self.profile.try_set(name, candidate) {
                Ok(()) => return Ok(()),
                Err(SettingError::WrongValue { expected: takes }) => expected = takes,
                Err(SettingError::UnknownName) => {
                    let known = SETTINGS.iter().map(|setting| setting.name);
                    return Err(Unsupported::new("setting", with_nearest(name, known)));
                }
            }
        }
        let what = match expected {
            "" => format!("{name}={value}"),
            _ => format!("{name}={value}: it takes {expected}"),
        };
        Err(Unsupported::new("setting", what))
    }

    /// How often a SYN is retransmitted for a `TCP_SYNCNT` of `retries`. Linux counts time: as much
    /// as that number of doublings takes (`retransmits_timed_out`). Its first timeouts do not
    /// double.
    pub fn syn_retries_of(&self, retries: u32) -> u32 {
        if !self.as_linux {
            return retries;
        }
        let linear = self.profile.opening.syn_linear_timeouts;
        // In units of the first timeout.
        let limit = (2_u64 << retries.min(62)) - 1;
        let (mut elapsed, mut timeout, mut sent) = (1, 1, 0);
        while elapsed < limit && sent < retries.saturating_add(linear) {
            sent += 1;
            if sent > linear {
                timeout *= 2;
            }
            elapsed += timeout;
        }
        sent
    }

    /// Configuration of the next connection, between these ports.
    pub fn config(&mut self, local_port: u16, remote_port: u16) -> ConnectionConfig {
        let iss = FIRST_ISS.wrapping_add(self.opened.wrapping_mul(1 << 20));
        self.opened += 1;
        let route_mtu = u32::from(self.route_mtu).max(self.profile.path_mtu.route_mtu);
        ConnectionConfig {
            transport: TransportConfig {
                profile: self.profile.with(|profile| {
                    profile.path_mtu.route_mtu = route_mtu;
                }),
                mtu: u32::from(self.mss) + self.ip.header_len() + 20,
                congestion: Arc::new(self.congestion),
                initial_ssthresh: self.initial_ssthresh,
                slow_start: self.slow_start,
                send_buffer: self.send_buffer,
                receive_buffer: self.receive_buffer,
                events: EventMask::NONE,
            }
            .into(),
            local_port,
            remote_port,
            iss: SeqNumber::new(iss),
            ip: self.ip,
            timestamp_offset: TIMESTAMP_OFFSET,
        }
    }
}

/// Congestion control of that name.
pub fn congestion_named(name: &str) -> Result<&'static congestion::Entry, Unsupported> {
    congestion::find(name).ok_or_else(|| {
        let known = congestion::REGISTRY.iter().map(|entry| entry.name);
        Unsupported::new("congestion control", with_nearest(name, known))
    })
}

/// Profile with buffers as scripts state them. Where memory counts, they state what is granted: a
/// sysctl's size, or twice that of a socket option.
pub fn with_stated_sizes(profile: Profile) -> Profile {
    profile.with(|profile| {
        if profile.buffers.truesize {
            profile.buffers.buffer_doubling = false;
            profile.buffers.buffer_limit = Profile::MODERN.buffers.buffer_limit;
        }
    })
}

/// Requested size of a buffer; `auto` requests none.
fn buffer(value: &str) -> Option<Option<Bytes>> {
    match value {
        "auto" => Some(None),
        _ => amount(value).map(Some),
    }
}

/// Parses an amount with a unit, or a bare number of octets.
fn amount(value: &str) -> Option<Bytes> {
    let bare = value.parse().ok().map(Bytes::new);
    bare.or_else(|| value.parse().ok())
}

fn with_nearest(name: &str, known: impl Iterator<Item = &'static str>) -> String {
    match nearest::nearest(name, known) {
        Some(near) => format!("{name} (did you mean {near}?)"),
        None => name.to_string(),
    }
}
