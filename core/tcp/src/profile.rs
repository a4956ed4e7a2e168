//! Profiles: named sets of switches and constants.
//!
//! Every mechanism of the engine is a named switch, so that it can be left
//! out and its worth measured; every constant a kernel chose is a named
//! setting. A [`Profile`] is one complete choice. [`SETTINGS`] lists them all
//! by name for plans and the command line; [`Profile::try_set`] changes one.
//!
//! Sources: RFCs as cited at each field; `linux-2.6.20` after the behaviour of
//! that kernel's `tcp_input.c`, `tcp_output.c` and `tcp.h` (May 2007).

use gigatcp_units::{Bytes, Duration};

use crate::congestion::Counting;

/// How large the initial window is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// RFC 6928 section 2: min(10·SMSS, max(2·SMSS, 14600)).
    Rfc6928,
    /// RFC 3390 / RFC 5681 section 3.1: 4, 3 or 2 segments by size, which
    /// Linux 2.6.20 rendered as 4 up to 1095, 3 up to 1460, 2 above.
    Rfc3390,
    /// That many segments.
    Segments(u32),
}

impl InitialWindow {
    /// The initial window for segments of `smss` octets.
    #[must_use]
    pub fn bytes(self, smss: u32) -> Bytes {
        let smss = u64::from(smss);
        Bytes::new(match self {
            InitialWindow::Rfc6928 => (10 * smss).min((2 * smss).max(14_600)),
            InitialWindow::Rfc3390 if smss > 1460 => 2 * smss,
            InitialWindow::Rfc3390 if smss > 1095 => 3 * smss,
            InitialWindow::Rfc3390 => 4 * smss,
            InitialWindow::Segments(n) => u64::from(n) * smss,
        })
    }
}

/// How much of the receive buffer is offered to the peer, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowPolicy {
    /// All free space at once (RFC 9293 section 3.8.6.2).
    FreeSpace,
    /// Linux up to today: the offered window starts at the initial window and
    /// grows by two segments for every full-sized one that arrives
    /// (`rcv_ssthresh`), and while it grows every segment is acknowledged.
    Grows,
}

/// A complete choice of switches and constants for one host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Profile {
    /// Name it is asked for by.
    pub name: &'static str,

    // Switches: mechanisms that can be left out.
    /// Selective acknowledgment, RFC 2018, and recovery by it, RFC 6675.
    pub sack: bool,
    /// Reporting duplicates received, RFC 2883 (needs `sack`).
    pub dsack: bool,
    /// Timestamps and PAWS, RFC 7323 sections 3 to 5.
    pub timestamps: bool,
    /// Window scaling, RFC 7323 section 2.
    pub window_scaling: bool,
    /// Fast retransmit and fast recovery, RFC 5681 section 3.2; without it
    /// only the timer repairs losses.
    pub fast_retransmit: bool,
    /// NewReno's answer to partial acknowledgments, RFC 6582.
    pub newreno: bool,
    /// Limited transmit, RFC 3042.
    pub limited_transmit: bool,
    /// Rescue retransmission, RFC 6675 `NextSeg` rule 4.
    pub rescue_retransmission: bool,
    /// Delayed acknowledgments, RFC 9293 section 3.8.6.3.
    pub delayed_ack: bool,
    /// An acknowledgment of full segments that would have to announce a
    /// smaller window than the last one waits until the application has read
    /// (Linux `__tcp_ack_snd_check`). RFC 5681 section 4.2 asks for one at
    /// least every second full segment whatever the reader does.
    pub ack_waits_for_reader: bool,
    /// Acknowledge at once while the connection is young (quick-ACK).
    pub quick_ack: bool,
    /// Nagle's algorithm, RFC 9293 section 3.7.4.
    pub nagle: bool,
    /// Silly-window avoidance, RFC 9293 section 3.8.6.2, both sides.
    pub silly_window_avoidance: bool,
    /// Header prediction on the receive path (Van Jacobson 1990).
    pub header_prediction: bool,
    /// Karn's algorithm and exponential backoff, RFC 6298 (3) and (5.5).
    pub backoff: bool,
    /// Restart from the restart window after idle time, RFC 5681 section 4.1.
    pub idle_restart: bool,
    /// Super-segments: hand up to 64 KiB to the network device at once.
    pub segmentation_offload: bool,

    // Constants.
    /// How acknowledgments are counted when cwnd grows.
    pub counting: Counting,
    /// Initial window.
    pub initial_window: InitialWindow,
    /// Duplicate acknowledgments that mean loss, `DupThresh` of RFC 6675.
    pub dup_thresh: u32,
    /// Segments per acknowledgment once acknowledgments are delayed.
    pub ack_every: u32,
    /// A declared, fitted input, off by default: from this moment after
    /// establishment on, `ack_every_later` replaces `ack_every`. It exists to
    /// reproduce a change of the ACK ratio whose cause is not known.
    pub ack_every_switch: Option<Duration>,
    /// See `ack_every_switch`.
    pub ack_every_later: u32,
    /// Longest delay of an acknowledgment (RFC 9293 MUST-40: below 0.5 s).
    pub delayed_ack_timeout: Duration,
    /// Most acknowledgments sent at once at the start (quick-ACK).
    pub quick_acks: u32,
    /// Retransmission timeout before the first sample, RFC 6298 (2.1).
    pub rto_initial: Duration,
    /// Floor of the retransmission timeout, RFC 6298 (2.4).
    pub rto_min: Duration,
    /// Whether that floor is one of 4 RTTVAR instead of RTO (Linux
    /// `tcp_set_rto`): the timeout is never below SRTT + `rto_min`.
    pub rto_floor_on_variance: bool,
    /// Ceiling of the retransmission timeout, RFC 6298 (2.5).
    pub rto_max: Duration,
    /// Retransmissions of one segment before giving up (R2 of RFC 9293
    /// section 3.8.3).
    pub retries: u32,
    /// Retransmissions of a SYN before giving up.
    pub syn_retries: u32,
    /// 2 MSL: how long TIME-WAIT lasts.
    pub time_wait: Duration,
    /// Step of the timestamp clock (RFC 7323 section 5.4: 1 ms to 1 s).
    pub timestamp_tick: Duration,
    /// How the receive buffer is offered to the peer.
    pub window_policy: WindowPolicy,
    /// A buffer that was asked for is granted twice over, to pay for the
    /// kernel's bookkeeping (Linux `SO_SNDBUF`, `SO_RCVBUF`).
    pub buffer_doubling: bool,
    /// The most a buffer that is asked for is granted, before doubling (Linux
    /// `wmem_max`, `rmem_max`). Where the window grows as in Linux, it also
    /// decides the window scale, and with it the largest window: 65535 shifted
    /// by what this limit needs.
    pub buffer_limit: Bytes,
    /// Share of the receive buffer kept back from the window, as the power of
    /// two of its divisor: 2 keeps a quarter (Linux `tcp_adv_win_scale`);
    /// 0 keeps nothing.
    pub window_reserve_shift: u32,
}

impl Profile {
    /// Today's TCP: RFC 9293 and its friends, constants as in Linux 6.
    pub const MODERN: Self = Self {
        name: "modern",
        sack: true,
        dsack: true,
        timestamps: true,
        window_scaling: true,
        fast_retransmit: true,
        newreno: true,
        limited_transmit: true,
        rescue_retransmission: true,
        delayed_ack: true,
        ack_waits_for_reader: false,
        quick_ack: true,
        nagle: true,
        silly_window_avoidance: true,
        header_prediction: true,
        backoff: true,
        idle_restart: true,
        segmentation_offload: true,
        counting: Counting::Bytes { limit: u32::MAX },
        initial_window: InitialWindow::Rfc6928,
        dup_thresh: 3,
        ack_every: 2,
        ack_every_switch: None,
        ack_every_later: 2,
        delayed_ack_timeout: Duration::from_millis(40),
        quick_acks: 16,
        rto_initial: Duration::from_secs(1),
        rto_min: Duration::from_millis(200),
        rto_floor_on_variance: false,
        rto_max: Duration::from_secs(120),
        retries: 15,
        syn_retries: 6,
        time_wait: Duration::from_secs(60),
        timestamp_tick: Duration::from_millis(1),
        window_policy: WindowPolicy::FreeSpace,
        buffer_doubling: false,
        buffer_limit: Bytes::new(1 << 30),
        window_reserve_shift: 0,
    };

    /// Linux 2.6.20, the kernel of the netdev thread of May 2007.
    pub const LINUX_2_6_20: Self = Self {
        name: "linux-2.6.20",
        limited_transmit: true,
        rescue_retransmission: false,
        counting: Counting::PerAck,
        initial_window: InitialWindow::Rfc3390,
        rto_initial: Duration::from_secs(3),
        rto_floor_on_variance: true,
        syn_retries: 5,
        window_policy: WindowPolicy::Grows,
        buffer_doubling: true,
        buffer_limit: Bytes::new(131_071),
        window_reserve_shift: 2,
        ack_waits_for_reader: true,
        ..Self::MODERN
    };

    /// Every profile there is.
    pub const ALL: &'static [Self] = &[Self::MODERN, Self::LINUX_2_6_20];

    /// The profile of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|p| p.name == name)
    }

    /// What a request for a buffer of `requested` octets is granted.
    #[must_use]
    pub fn granted_buffer(&self, requested: Bytes) -> Bytes {
        let factor = if self.buffer_doubling { 2 } else { 1 };
        let limited = requested.min(self.buffer_limit);
        Bytes::new(limited.as_u64().saturating_mul(factor))
    }

    /// The largest window a receive buffer of `granted` octets can back.
    #[must_use]
    pub fn window_of(&self, granted: Bytes) -> Bytes {
        match self.window_reserve_shift {
            0 => granted,
            shift => Bytes::new(granted.as_u64() - (granted.as_u64() >> shift)),
        }
    }

    /// Changes one setting by name.
    ///
    /// # Errors
    /// Says whether the name is unknown or the value of the wrong kind or out
    /// of range.
    pub fn try_set(&mut self, name: &str, value: SettingValue) -> Result<(), SettingError> {
        let setting = SETTINGS
            .iter()
            .find(|setting| setting.name == name)
            .ok_or(SettingError::UnknownName)?;
        if (setting.apply)(self, value) {
            Ok(())
        } else {
            Err(SettingError::WrongValue {
                expected: setting.expects,
            })
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::MODERN
    }
}

/// A value for a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingValue {
    /// On or off.
    Switch(bool),
    /// A count.
    Count(u32),
    /// A time.
    Time(Duration),
    /// An amount of data.
    Amount(Bytes),
}

/// Why a setting was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingError {
    /// There is no setting of that name.
    UnknownName,
    /// The value does not fit.
    WrongValue {
        /// What would fit.
        expected: &'static str,
    },
}

/// A switch or constant that can be changed by name.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in plans: the field's name.
    pub name: &'static str,
    /// What it takes.
    pub expects: &'static str,
    /// Sets it; says whether the value fitted.
    apply: fn(&mut Profile, SettingValue) -> bool,
}

macro_rules! switch {
    ($field:ident) => {
        Setting {
            name: stringify!($field),
            expects: "true or false",
            apply: |profile, value| {
                let SettingValue::Switch(on) = value else {
                    return false;
                };
                profile.$field = on;
                true
            },
        }
    };
}

macro_rules! count {
    ($field:ident, $low:literal ..= $high:literal) => {
        Setting {
            name: stringify!($field),
            expects: concat!("a whole number from ", $low, " to ", $high),
            apply: |profile, value| match value {
                SettingValue::Count(n) if ($low..=$high).contains(&n) => {
                    profile.$field = n;
                    true
                }
                _ => false,
            },
        }
    };
}

macro_rules! time {
    ($field:ident, $expects:literal, $low:expr, $high:expr) => {
        Setting {
            name: stringify!($field),
            expects: $expects,
            apply: |profile, value| match value {
                SettingValue::Time(t) if ($low..=$high).contains(&t) => {
                    profile.$field = t;
                    true
                }
                _ => false,
            },
        }
    };
}

/// Every setting that can be changed by name.
pub const SETTINGS: &[Setting] = &[
    switch!(sack),
    switch!(dsack),
    switch!(timestamps),
    switch!(window_scaling),
    switch!(fast_retransmit),
    switch!(newreno),
    switch!(limited_transmit),
    switch!(rescue_retransmission),
    switch!(delayed_ack),
    switch!(ack_waits_for_reader),
    switch!(quick_ack),
    switch!(nagle),
    switch!(silly_window_avoidance),
    switch!(header_prediction),
    switch!(backoff),
    switch!(idle_restart),
    switch!(segmentation_offload),
    switch!(buffer_doubling),
    switch!(rto_floor_on_variance),
    Setting {
        name: "byte_counting",
        expects: "false, true (as many as acknowledged), or the limit L in segments from 1 to 100",
        apply: |profile, value| {
            profile.counting = match value {
                SettingValue::Switch(false) => Counting::PerAck,
                SettingValue::Switch(true) => Counting::Bytes { limit: u32::MAX },
                SettingValue::Count(limit @ 1..=100) => Counting::Bytes { limit },
                _ => return false,
            };
            true
        },
    },
    Setting {
        name: "initial_window",
        expects: "a whole number of segments from 1 to 10000",
        apply: |profile, value| match value {
            SettingValue::Count(n @ 1..=10_000) => {
                profile.initial_window = InitialWindow::Segments(n);
                true
            }
            _ => false,
        },
    },
    Setting {
        name: "window_grows",
        expects: "true or false",
        apply: |profile, value| {
            profile.window_policy = match value {
                SettingValue::Switch(true) => WindowPolicy::Grows,
                SettingValue::Switch(false) => WindowPolicy::FreeSpace,
                _ => return false,
            };
            true
        },
    },
    count!(dup_thresh, 1..=100),
    count!(ack_every, 1..=1000),
    count!(ack_every_later, 1..=1000),
    Setting {
        name: "ack_every_switch",
        expects: "a time after establishment, e.g. \"4 s\"",
        apply: |profile, value| match value {
            SettingValue::Time(after) => {
                profile.ack_every_switch = Some(after);
                true
            }
            _ => false,
        },
    },
    Setting {
        name: "buffer_limit",
        expects: "an amount from \"4 KiB\" to \"1 GiB\"",
        apply: |profile, value| match value {
            SettingValue::Amount(limit) if (4 << 10..=1 << 30).contains(&limit.as_u64()) => {
                profile.buffer_limit = limit;
                true
            }
            _ => false,
        },
    },
    count!(quick_acks, 0..=1000),
    count!(retries, 1..=100),
    count!(syn_retries, 1..=100),
    count!(window_reserve_shift, 0..=14),
    time!(
        delayed_ack_timeout,
        "a time from \"1 us\" to \"499 ms\" (RFC 9293 MUST-40)",
        Duration::from_micros(1),
        Duration::from_millis(499)
    ),
    time!(
        rto_initial,
        "a time from \"1 ms\" to \"60 s\"",
        Duration::from_millis(1),
        Duration::from_secs(60)
    ),
    time!(
        rto_min,
        "a time from \"1 us\" to \"60 s\"",
        Duration::from_micros(1),
        Duration::from_secs(60)
    ),
    time!(
        rto_max,
        "a time from \"1 s\" to \"1000 s\"",
        Duration::from_secs(1),
        Duration::from_secs(1000)
    ),
    time!(
        time_wait,
        "a time from \"0 s\" to \"240 s\"",
        Duration::ZERO,
        Duration::from_secs(240)
    ),
    time!(
        timestamp_tick,
        "a time from \"1 us\" to \"1 s\"",
        Duration::from_micros(1),
        Duration::from_secs(1)
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_windows_are_those_of_the_rfcs() {
        let window = |rule: InitialWindow, smss| rule.bytes(smss).as_u64();
        assert_eq!(window(InitialWindow::Rfc6928, 1460), 14_600);
        assert_eq!(window(InitialWindow::Rfc6928, 4096), 14_600);
        assert_eq!(window(InitialWindow::Rfc6928, 8948), 17_896);
        assert_eq!(window(InitialWindow::Rfc3390, 536), 4 * 536);
        assert_eq!(window(InitialWindow::Rfc3390, 1448), 3 * 1448);
        assert_eq!(window(InitialWindow::Rfc3390, 8948), 2 * 8948);
    }

    #[test]
    fn a_setting_refuses_values_of_the_wrong_kind_or_size() {
        let mut profile = Profile::MODERN;
        assert_eq!(profile.try_set("sack", SettingValue::Switch(false)), Ok(()));
        assert!(!profile.sack);
        assert_eq!(
            profile.try_set("sacks", SettingValue::Switch(false)),
            Err(SettingError::UnknownName)
        );
        let half_a_second = SettingValue::Time(Duration::from_millis(500));
        assert!(
            profile
                .try_set("delayed_ack_timeout", half_a_second)
                .is_err()
        );
        assert!(
            profile
                .try_set("ack_every", SettingValue::Count(0))
                .is_err()
        );
    }

    #[test]
    fn linux_2_6_20_doubles_a_buffer_and_keeps_a_quarter_back() {
        let profile = Profile {
            buffer_limit: Bytes::new(100 << 20),
            ..Profile::LINUX_2_6_20
        };
        let granted = profile.granted_buffer(Bytes::new(60 << 20));
        assert_eq!(granted, Bytes::new(120 << 20));
        assert_eq!(profile.window_of(granted), Bytes::new(90 << 20));
    }

    #[test]
    fn no_two_settings_share_a_name() {
        for (i, setting) in SETTINGS.iter().enumerate() {
            assert!(SETTINGS[..i].iter().all(|other| other.name != setting.name));
        }
    }
}
