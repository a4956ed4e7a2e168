//! Every switch and constant by name, with its values and how it is set.
//!
//! Plans and the command line change a profile through this table only. A field without an entry
//! here is a constant of its profile.

use alloc::string::{String, ToString};

use gigatcp_units::{Bytes, Duration, Rate};

use super::{
    EcnMode, EcnOption, InitialWindow, Profile, PrrRule, ReduceAgain, RtoRule, SynCookies,
    WindowPolicy,
};
use crate::window_growth::Counting;

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
    /// A word, one of [`Setting::words`].
    Word(&'static str),
    /// A rate.
    Rate(Rate),
}

/// Reason why a setting was rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingError {
    /// There is no setting of that name.
    UnknownName,
    /// The value does not fit.
    WrongValue {
        /// Description of valid values.
        expected: &'static str,
    },
}

/// A switch or constant that can be changed by name.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name in plans: the field's name.
    pub name: &'static str,
    /// Description of valid values.
    pub expects: &'static str,
    /// Returns the value in a profile, as a plan writes it.
    show: fn(&Profile) -> String,
    /// Sets the value; returns whether it was valid.
    pub(super) apply: fn(&mut Profile, SettingValue) -> bool,
}

impl Setting {
    /// Returns the value in `profile`, as a plan writes it.
    #[must_use]
    pub fn value_in(&self, profile: &Profile) -> String {
        (self.show)(profile)
    }

    /// Returns the words that the setting accepts, if it accepts words. They are the quoted ones
    /// where `expects` begins with "one of".
    pub fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        let listed = self.expects.strip_prefix("one of ").unwrap_or_default();
        listed.split('"').skip(1).step_by(2)
    }
}

/// Returns the value as text, `false` for `None`.
fn or_false(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "false".to_string(), |value| value.to_string())
}

macro_rules! switch {
    ($name:literal, $group:ident.$field:ident) => {
        Setting {
            name: $name,
            expects: "true or false",
            show: |profile| profile.$group.$field.to_string(),
            apply: |profile, value| {
                let SettingValue::Switch(on) = value else {
                    return false;
                };
                profile.$group.$field = on;
                true
            },
        }
    };
}

macro_rules! count {
    ($name:literal, $group:ident.$field:ident, $low:literal ..= $high:literal) => {
        Setting {
            name: $name,
            expects: concat!("a whole number from ", $low, " to ", $high),
            show: |profile| profile.$group.$field.to_string(),
            apply: |profile, value| match value {
                SettingValue::Count(n) if ($low..=$high).contains(&n) => {
                    profile.$group.$field = n;
                    true
                }
                _ => false,
            },
        }
    };
}

macro_rules! amount {
    ($name:literal, $group:ident.$field:ident, $expects:literal, $low:expr, $high:expr) => {
        Setting {
            name: $name,
            expects: $expects,
            show: |profile| profile.$group.$field.to_string(),
            apply: |profile, value| match value {
                SettingValue::Amount(octets) if ($low..=$high).contains(&octets.as_u64()) => {
                    profile.$group.$field = octets;
                    true
                }
                _ => false,
            },
        }
    };
}

macro_rules! time {
    ($name:literal, $group:ident.$field:ident, $expects:literal, $low:expr, $high:expr) => {
        Setting {
            name: $name,
            expects: $expects,
            show: |profile| profile.$group.$field.to_string(),
            apply: |profile, value| match value {
                SettingValue::Time(t) if ($low..=$high).contains(&t) => {
                    profile.$group.$field = t;
                    true
                }
                _ => false,
            },
        }
    };
}

macro_rules! of_route {
    ($name:literal, $group:ident.$field:ident) => {
        Setting {
            name: $name,
            expects: "an amount from \"4 KiB\" to \"1 GiB\", or false (the route says nothing)",
            show: |profile| or_false(profile.$group.$field),
            apply: |profile, value| {
                let fits = |octets: Bytes| (4 << 10..=1 << 30).contains(&octets.as_u64());
                profile.$group.$field = match value {
                    SettingValue::Amount(octets) if fits(octets) => Some(octets),
                    SettingValue::Switch(false) => None,
                    _ => return false,
                };
                true
            },
        }
    };
}

/// Every setting that can be changed by name.
pub const SETTINGS: &[Setting] = &[
    switch!("sack", recovery.sack),
    switch!("dsack", recovery.dsack),
    switch!("dsack_undo", recovery.dsack_undo),
    switch!("timestamps", options.timestamps),
    switch!("window_scaling", options.window_scaling),
    switch!("fast_retransmit", recovery.fast_retransmit),
    switch!("newreno", recovery.newreno),
    switch!("limited_transmit", recovery.limited_transmit),
    switch!("rescue_retransmission", recovery.rescue_retransmission),
    switch!("delayed_ack", acknowledgments.delayed_ack),
    switch!("ack_waits_for_reader", acknowledgments.ack_waits_for_reader),
    switch!("quick_ack", acknowledgments.quick_ack),
    switch!("nagle", segments.nagle),
    switch!("nagle_minshall", segments.nagle_minshall),
    switch!("delayed_fin_ack", closing.delayed_fin_ack),
    switch!("bare_window_probes", segments.bare_window_probes),
    switch!("silly_window_avoidance", segments.silly_window_avoidance),
    switch!("header_prediction", segments.header_prediction),
    switch!("backoff", timer.backoff),
    switch!("idle_restart", congestion.idle_restart),
    switch!("segmentation_offload", segments.segmentation_offload),
    count!("tso_win_divisor", segments.tso_win_divisor, 0..=100),
    switch!("buffer_doubling", buffers.buffer_doubling),
    switch!("rto_floor_on_variance", timer.rto_floor_on_variance),
    time!(
        "min_rtt_window",
        timer.min_rtt_window,
        "a time up to a day; 0 s is the whole connection",
        Duration::ZERO,
        Duration::from_secs(86_400)
    ),
    switch!("rtt_from_sack", timer.rtt_from_sack),
    Setting {
        name: "byte_counting",
        expects: "false, true (as many as acknowledged), or the limit L in segments from 1 to 100",
        show: |profile| match profile.congestion.counting {
            Counting::PerAck => "false".to_string(),
            Counting::Bytes { limit: u32::MAX } => "true".to_string(),
            Counting::Bytes { limit } => limit.to_string(),
        },
        apply: |profile, value| {
            profile.congestion.counting = match value {
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
        expects: "one of \"rfc6928\", \"rfc3390\", or a whole number of segments from 1 to 10000",
        show: |profile| match profile.congestion.initial_window {
            InitialWindow::Rfc6928 => "rfc6928".to_string(),
            InitialWindow::Rfc3390 => "rfc3390".to_string(),
            InitialWindow::Segments(segments) => segments.to_string(),
        },
        apply: |profile, value| {
            profile.congestion.initial_window = match value {
                SettingValue::Count(n @ 1..=10_000) => InitialWindow::Segments(n),
                SettingValue::Word("rfc6928") => InitialWindow::Rfc6928,
                SettingValue::Word("rfc3390") => InitialWindow::Rfc3390,
                _ => return false,
            };
            true
        },
    },
    Setting {
        name: "window_grows",
        expects: "true or false",
        show: |profile| (profile.buffers.window_policy == WindowPolicy::Grows).to_string(),
        apply: |profile, value| {
            profile.buffers.window_policy = match value {
                SettingValue::Switch(true) => WindowPolicy::Grows,
                SettingValue::Switch(false) => WindowPolicy::FreeSpace,
                _ => return false,
            };
            true
        },
    },
    count!("dup_thresh", recovery.dup_thresh, 1..=100),
    count!("ack_every", acknowledgments.ack_every, 1..=1000),
    count!("ack_every_later", acknowledgments.ack_every_later, 1..=1000),
    Setting {
        name: "ack_every_switch",
        expects: "a time after establishment, e.g. \"4 s\", or false (never)",
        show: |profile| or_false(profile.acknowledgments.ack_every_switch),
        apply: |profile, value| {
            profile.acknowledgments.ack_every_switch = match value {
                SettingValue::Time(after) => Some(after),
                SettingValue::Switch(false) => None,
                _ => return false,
            };
            true
        },
    },
    amount!(
        "buffer_limit",
        buffers.buffer_limit,
        "an amount from \"4 KiB\" to \"1 GiB\"",
        4 << 10,
        1 << 30
    ),
    count!("quick_acks", acknowledgments.quick_acks, 0..=1000),
    count!("retries", timer.retries, 1..=100),
    count!("syn_retries", opening.syn_retries, 1..=100),
    count!("syn_linear_timeouts", opening.syn_linear_timeouts, 0..=100),
    count!("window_reserve_shift", buffers.window_reserve_shift, 0..=14),
    switch!("truesize", buffers.truesize),
    time!(
        "delayed_ack_timeout",
        acknowledgments.delayed_ack_timeout,
        "a time from \"1 us\" to \"499 ms\" (RFC 9293 MUST-40)",
        Duration::from_micros(1),
        Duration::from_millis(499)
    ),
    time!(
        "rto_initial",
        timer.rto_initial,
        "a time from \"1 ms\" to \"60 s\"",
        Duration::from_millis(1),
        Duration::from_secs(60)
    ),
    time!(
        "rto_min",
        timer.rto_min,
        "a time from \"1 us\" to \"60 s\"",
        Duration::from_micros(1),
        Duration::from_secs(60)
    ),
    time!(
        "rto_max",
        timer.rto_max,
        "a time from \"1 s\" to \"1000 s\"",
        Duration::from_secs(1),
        Duration::from_secs(1000)
    ),
    Setting {
        name: "rto_rule",
        expects: "one of \"rfc6298\", \"rfc793\", \"jacobson-1987\", \"jacobson-1988\"",
        show: |profile| profile.timer.rto_rule.name().to_string(),
        apply: |profile, value| match value {
            SettingValue::Word(word) => {
                let named = RtoRule::ALL.into_iter().find(|rule| rule.name() == word);
                named.map(|rule| profile.timer.rto_rule = rule).is_some()
            }
            _ => false,
        },
    },
    time!(
        "rto_tick",
        timer.rto_tick,
        "a time from \"1 us\" to \"1 s\"",
        Duration::from_micros(1),
        Duration::from_secs(1)
    ),
    time!(
        "time_wait",
        closing.time_wait,
        "a time from \"0 s\" to \"240 s\"",
        Duration::ZERO,
        Duration::from_secs(240)
    ),
    time!(
        "timestamp_tick",
        options.timestamp_tick,
        "a time from \"1 us\" to \"1 s\"",
        Duration::from_micros(1),
        Duration::from_secs(1)
    ),
    // Loss recovery.
    switch!("rack", recovery.rack),
    switch!("tlp", recovery.tlp),
    Setting {
        name: "prr",
        expects: "one of \"rfc9937\", \"rfc6937-crb\", \"rfc6937-ssrb\", or true (RFC 9937), \
                  false, 6937 (the conservative bound)",
        show: |profile| match profile.recovery.prr {
            None => "false".to_string(),
            Some(PrrRule::SafeAck) => "true".to_string(),
            Some(PrrRule::Conservative) => "6937".to_string(),
            Some(PrrRule::SlowStart) => "rfc6937-ssrb".to_string(),
        },
        apply: |profile, value| {
            profile.recovery.prr = match value {
                SettingValue::Switch(false) => None,
                SettingValue::Switch(true) | SettingValue::Word("rfc9937") => {
                    Some(PrrRule::SafeAck)
                }
                SettingValue::Count(6937) | SettingValue::Word("rfc6937-crb") => {
                    Some(PrrRule::Conservative)
                }
                SettingValue::Word("rfc6937-ssrb") => Some(PrrRule::SlowStart),
                _ => return false,
            };
            true
        },
    },
    Setting {
        name: "reduce_again",
        expects: "one of \"never\", \"without-prr\", \"always\"",
        show: |profile| profile.recovery.reduce_again.name().to_string(),
        apply: |profile, value| match value {
            SettingValue::Word(word) => {
                let choice = ReduceAgain::find(word);
                profile.recovery.reduce_again = choice.unwrap_or(profile.recovery.reduce_again);
                choice.is_some()
            }
            _ => false,
        },
    },
    switch!("frto", recovery.frto),
    switch!("eifel", recovery.eifel),
    time!(
        "paws_tolerance",
        options.paws_tolerance,
        "a time from \"0 s\" to \"200 ms\"",
        Duration::ZERO,
        Duration::from_millis(200)
    ),
    time!(
        "tlp_slack",
        recovery.tlp_slack,
        "a time from \"0 s\" to \"1 s\"",
        Duration::ZERO,
        Duration::from_secs(1)
    ),
    time!(
        "tlp_max_ack_delay",
        recovery.tlp_max_ack_delay,
        "a time from \"0 s\" to \"1 s\"",
        Duration::ZERO,
        Duration::from_secs(1)
    ),
    switch!(
        "partial_ack_restarts_timer",
        timer.partial_ack_restarts_timer
    ),
    // Congestion control.
    switch!("fast_convergence", congestion.fast_convergence),
    switch!("abe", congestion.abe),
    count!("quick_start", congestion.quick_start, 0..=15),
    switch!("half_used_opens", congestion.half_used_opens),
    switch!("growth_by_delivery", congestion.growth_by_delivery),
    switch!("cwnd_validation", congestion.cwnd_validation),
    // Explicit congestion notification.
    Setting {
        name: "ecn",
        expects: "one of \"off\", \"passive\", \"classic\", \"accurate\", \"passive-classic\", \"mixed\"",
        show: |profile| profile.ecn.mode.name().to_string(),
        apply: |profile, value| match value {
            SettingValue::Word(word) => {
                let mode = EcnMode::find(word);
                profile.ecn.mode = mode.unwrap_or(profile.ecn.mode);
                mode.is_some()
            }
            _ => false,
        },
    },
    switch!("dctcp_receiver", ecn.dctcp_receiver),
    Setting {
        name: "ecn_option",
        expects: "one of \"off\", \"due\", \"always\"",
        show: |profile| profile.ecn.ecn_option.name().to_string(),
        apply: |profile, value| match value {
            SettingValue::Word(word) => {
                let choice = EcnOption::find(word);
                profile.ecn.ecn_option = choice.unwrap_or(profile.ecn.ecn_option);
                choice.is_some()
            }
            _ => false,
        },
    },
    switch!("ecn_everywhere", ecn.ecn_everywhere),
    switch!("l4s", ecn.l4s),
    switch!("time_wait_forgets_ecn", ecn.time_wait_forgets_ecn),
    switch!("ecn_fallback", ecn.ecn_fallback),
    switch!("ecn_doubts", ecn.ecn_doubts),
    // Pacing and buffers.
    switch!("pacing", pacing.enabled),
    switch!("pacing_by_window", pacing.pacing_by_window),
    count!("pacing_ss_ratio", pacing.pacing_ss_ratio, 100..=1000),
    count!("pacing_ca_ratio", pacing.pacing_ca_ratio, 100..=1000),
    Setting {
        name: "max_pacing_rate",
        expects: "a rate from \"1 kbit/s\" to \"100 Tbit/s\", or false (none)",
        show: |profile| or_false(profile.pacing.max_pacing_rate),
        apply: |profile, value| {
            let fits = |rate: Rate| (1_000..=100_000_000_000_000).contains(&rate.as_bps());
            profile.pacing.max_pacing_rate = match value {
                SettingValue::Rate(rate) if fits(rate) => Some(rate),
                SettingValue::Switch(false) => None,
                _ => return false,
            };
            true
        },
    },
    switch!("receive_autotuning", buffers.receive_autotuning),
    switch!("send_autotuning", buffers.send_autotuning),
    switch!("may_shrink_window", buffers.may_shrink_window),
    amount!(
        "receive_buffer_max",
        buffers.receive_buffer_max,
        "an amount from \"4 KiB\" to \"1 GiB\"",
        4 << 10,
        1 << 30
    ),
    amount!(
        "send_buffer_max",
        buffers.send_buffer_max,
        "an amount from \"4 KiB\" to \"1 GiB\"",
        4 << 10,
        1 << 30
    ),
    amount!(
        "write_size",
        buffers.write_size,
        "an amount from \"1 B\" to \"1 GiB\"",
        1,
        1 << 30
    ),
    count!("write_chunk", buffers.write_chunk, 0..=1_000_000),
    Setting {
        name: "write_low_water",
        expects: "an amount from \"1 B\" to \"1 GiB\", or false (a third of the send buffer)",
        show: |profile| or_false(profile.buffers.write_low_water),
        apply: |profile, value| {
            profile.buffers.write_low_water = match value {
                SettingValue::Amount(octets) if (1..=1 << 30).contains(&octets.as_u64()) => {
                    Some(octets)
                }
                SettingValue::Switch(false) => None,
                _ => return false,
            };
            true
        },
    },
    Setting {
        name: "not_sent_lowat",
        expects: "an amount from \"1 B\" to \"1 GiB\", or false (none)",
        show: |profile| or_false(profile.buffers.not_sent_lowat),
        apply: |profile, value| {
            let fits = |octets: Bytes| (1..=1 << 30).contains(&octets.as_u64());
            profile.buffers.not_sent_lowat = match value {
                SettingValue::Amount(octets) if fits(octets) => Some(octets),
                SettingValue::Switch(false) => None,
                _ => return false,
            };
            true
        },
    },
    amount!(
        "receive_buffer_start",
        buffers.receive_buffer_start,
        "an amount from \"4 KiB\" to \"1 GiB\"",
        4 << 10,
        1 << 30
    ),
    amount!(
        "send_buffer_start",
        buffers.send_buffer_start,
        "an amount from \"4 KiB\" to \"1 GiB\"",
        4 << 10,
        1 << 30
    ),
    // Path MTU, errors and liveness.
    switch!("pmtud", path_mtu.pmtud),
    switch!("plpmtud", path_mtu.plpmtud),
    switch!("plpmtud_from_base", path_mtu.plpmtud_from_base),
    count!("pmtu_min", path_mtu.pmtu_min, 68..=65_535),
    switch!("too_big_waits", path_mtu.too_big_waits),
    count!("pmtu_base", path_mtu.pmtu_base, 68..=65_535),
    count!("pmtu_probes", path_mtu.pmtu_probes, 1..=100),
    time!(
        "pmtu_raise",
        path_mtu.pmtu_raise,
        "a time from \"1 s\" to \"86400 s\"",
        Duration::from_secs(1),
        Duration::from_secs(86_400)
    ),
    count!("black_hole_timeouts", path_mtu.black_hole_timeouts, 1..=100),
    count!("mss_min", path_mtu.mss_min, 28..=65_535),
    count!("route_mtu", path_mtu.route_mtu, 0..=65_535),
    switch!("keepalive", liveness.keepalive),
    time!(
        "keepalive_time",
        liveness.keepalive_time,
        "a time from \"1 s\" to \"86400 s\"",
        Duration::from_secs(1),
        Duration::from_secs(86_400)
    ),
    time!(
        "keepalive_interval",
        liveness.keepalive_interval,
        "a time from \"1 s\" to \"86400 s\"",
        Duration::from_secs(1),
        Duration::from_secs(86_400)
    ),
    count!("keepalive_probes", liveness.keepalive_probes, 2..=100),
    time!(
        "user_timeout",
        liveness.user_timeout,
        "a time from \"0 s\" (none) to \"86400 s\"",
        Duration::ZERO,
        Duration::from_secs(86_400)
    ),
    switch!("user_timeout_option", liveness.user_timeout_option),
    switch!("user_timeout_adopt", liveness.user_timeout_adopt),
    time!(
        "user_timeout_min",
        liveness.user_timeout_min,
        "a time from \"1 s\" to \"86400 s\"",
        Duration::from_secs(1),
        Duration::from_secs(86_400)
    ),
    time!(
        "user_timeout_max",
        liveness.user_timeout_max,
        "a time from \"1 s\" to \"86400 s\"",
        Duration::from_secs(1),
        Duration::from_secs(86_400)
    ),
    time!(
        "fin_wait_2_timeout",
        closing.fin_wait_2_timeout,
        "a time from \"0 s\" (never) to \"86400 s\"",
        Duration::ZERO,
        Duration::from_secs(86_400)
    ),
    switch!("urgent_inline", segments.urgent_inline),
    switch!("icmp_errors", defense.icmp_errors),
    switch!("soft_errors_end_opens", defense.soft_errors_end_opens),
    switch!("challenge_ack", defense.challenge_ack),
    count!(
        "challenge_ack_limit",
        defense.challenge_ack_limit,
        0..=1_000_000
    ),
    time!(
        "challenge_ack_interval",
        defense.challenge_ack_interval,
        "a time from \"1 ms\" to \"60 s\"",
        Duration::from_millis(1),
        Duration::from_secs(60)
    ),
    // Opening and identity.
    switch!("syn_text", opening.syn_text),
    switch!("fast_open_client", opening.fast_open_client),
    switch!("fast_open_server", opening.fast_open_server),
    switch!("fast_open_without_cookie", opening.fast_open_without_cookie),
    count!("cookie_mss_max", opening.cookie_mss_max, 0..=65_535),
    Setting {
        name: "syn_cookies",
        expects: "false, true (while the backlog is full), or 2 (always)",
        show: |profile| match profile.opening.syn_cookies {
            SynCookies::Off => "false".to_string(),
            SynCookies::WhenFull => "true".to_string(),
            SynCookies::Always => "2".to_string(),
        },
        apply: |profile, value| {
            profile.opening.syn_cookies = match value {
                SettingValue::Switch(false) => SynCookies::Off,
                SettingValue::Switch(true) => SynCookies::WhenFull,
                SettingValue::Count(2) => SynCookies::Always,
                _ => return false,
            };
            true
        },
    },
    switch!("time_wait_reuse", closing.time_wait_reuse),
    switch!("time_wait_ignores_reset", closing.time_wait_ignores_reset),
    // BSD behavior.
    switch!("row_of_duplicates_ends", recovery.row_of_duplicates_ends),
    count!("smss_multiple", segments.smss_multiple, 0..=65_535),
    of_route!("route_send_buffer", buffers.route_send_buffer),
    of_route!("route_receive_buffer", buffers.route_receive_buffer),
    switch!("route_buffers_override", buffers.route_buffers_override),
    switch!("buffers_in_segments", buffers.buffers_in_segments),
    count!(
        "window_update_segments",
        buffers.window_update_segments,
        0..=1000
    ),
    switch!("half_window_leaves", segments.half_window_leaves),
    switch!("handshake_ack_alone", opening.handshake_ack_alone),
    switch!("update_after_open", opening.update_after_open),
    switch!("repair_restarts_timer", timer.repair_restarts_timer),
    switch!("reset_on_giving_up", timer.reset_on_giving_up),
];
