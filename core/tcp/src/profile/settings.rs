//! Every switch and constant by name, with its values and how it is set.
//!
//! Plans and the command line change a profile through this table only. A field without an entry
//! here is a constant of its profile.

use alloc::string::{String, ToString};

use gigatcp_units::{Bytes, Duration, Rate};
use gigatcp_wire::OptionLayout;

use super::{
    EcnMode, EcnOption, IgnoredRequest, InitialWindow, Profile, PrrRule, ReduceAgain, RtoRule,
    SynCookies, WindowPolicy,
};
use crate::window_growth::Counting;

use SettingValue as Value;

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
    /// Name in plans: that of the field, unless the row of the table has another.
    pub name: &'static str,
    /// Description of valid values.
    pub expects: &'static str,
    /// Value in a profile, as a plan writes it.
    show: fn(&Profile) -> String,
    /// Sets the value; returns whether it was valid.
    pub(super) apply: fn(&mut Profile, SettingValue) -> bool,
}

impl Setting {
    /// Value in `profile`, as a plan writes it.
    pub fn value_in(&self, profile: &Profile) -> String {
        (self.show)(profile)
    }

    /// Words that the setting accepts, if it accepts words. They are the quoted ones where
    /// `expects` begins with "one of".
    pub fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        let listed = self.expects.strip_prefix("one of ").unwrap_or_default();
        listed.split('"').skip(1).step_by(2)
    }
}

/// Value as text, `false` for `None`.
fn or_false(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "false".to_string(), |value| value.to_string())
}

/// A setting that gives a field a value, or rejects what no arm matches.
macro_rules! setting {
    ($group:ident.$field:ident, $($rest:tt)+) => {
        setting!(stringify!($field) => $group.$field, $($rest)+)
    };
    ($name:expr => $group:ident.$field:ident, $expects:expr, $show:expr,
     { $($value:pat $(if $fits:expr)? => $new:expr,)+ }) => {
        Setting {
            name: $name,
            expects: $expects,
            show: |profile| $show(profile.$group.$field),
            apply: |profile, value| {
                profile.$group.$field = match value {
                    $($value $(if $fits)? => $new,)+
                    _ => return false,
                };
                true
            },
        }
    };
}

macro_rules! switch {
    ($($field:tt)+) => {
        setting!($($field)+, "true or false", |on: bool| on.to_string(), {
            Value::Switch(on) => on,
        })
    };
}

macro_rules! count {
    ($group:ident.$field:ident, $low:literal ..= $high:literal) => {
        setting!(
            $group.$field,
            concat!("a whole number from ", $low, " to ", $high),
            |n: u32| n.to_string(),
            { Value::Count(n) if ($low..=$high).contains(&n) => n, }
        )
    };
}

macro_rules! duration {
    ($n:literal us) => {
        Duration::from_micros($n)
    };
    ($n:literal ms) => {
        Duration::from_millis($n)
    };
    ($n:literal s) => {
        Duration::from_secs($n)
    };
}

macro_rules! time {
    ($group:ident.$field:ident, $low:literal $unit:ident ..= $high:literal $high_unit:ident) => {
        time!(
            $group.$field,
            $low $unit ..= $high $high_unit,
            concat!(
                "a time from \"", $low, " ", stringify!($unit),
                "\" to \"", $high, " ", stringify!($high_unit), "\""
            )
        )
    };
    ($group:ident.$field:ident, $low:literal $unit:ident ..= $high:literal $high_unit:ident,
     $expects:expr) => {
        setting!($group.$field, $expects, |t: Duration| t.to_string(), {
            Value::Time(t)
                if (duration!($low $unit)..=duration!($high $high_unit)).contains(&t) => t,
        })
    };
}

macro_rules! octets {
    ($n:literal B) => {
        $n
    };
    ($n:literal KiB) => {
        $n << 10
    };
}

/// An amount of 1 GiB at most. With a reason for it, false stands for `None`.
macro_rules! amount {
    ($group:ident.$field:ident, $low:literal $unit:ident) => {
        setting!(
            $group.$field,
            concat!("an amount from \"", $low, " ", stringify!($unit), "\" to \"1 GiB\""),
            |octets: Bytes| octets.to_string(),
            { Value::Amount(n) if (octets!($low $unit)..=1 << 30).contains(&n.as_u64()) => n, }
        )
    };
    ($group:ident.$field:ident, $low:literal $unit:ident, or false: $why:literal) => {
        setting!(
            $group.$field,
            concat!(
                "an amount from \"", $low, " ", stringify!($unit),
                "\" to \"1 GiB\", or false (", $why, ")"
            ),
            or_false,
            {
                Value::Switch(false) => None,
                Value::Amount(n)
                    if (octets!($low $unit)..=1 << 30).contains(&n.as_u64()) => Some(n),
            }
        )
    };
}

/// One of the choices of a type with `ALL` and `name`.
macro_rules! word {
    ($name:expr => $group:ident.$field:ident: $choice:ident, $expects:literal) => {
        setting!($name => $group.$field, $expects, |choice: $choice| choice.name().to_string(), {
            Value::Word(word) => {
                match $choice::ALL.into_iter().find(|choice| choice.name() == word) {
                    Some(choice) => choice,
                    None => return false,
                }
            },
        })
    };
}

/// Every setting that can be changed by name.
pub const SETTINGS: &[Setting] = &[
    switch!(recovery.sack),
    switch!(recovery.dsack),
    switch!(recovery.dsack_of_syn),
    switch!(recovery.dsack_undo),
    switch!(options.timestamps),
    switch!(options.window_scaling),
    switch!(options.syn_echo_checked),
    word!("option_layout" => options.option_layout: OptionLayout,
        "one of \"linux\", \"freebsd\""),
    switch!(recovery.fast_retransmit),
    switch!(recovery.newreno),
    switch!(recovery.limited_transmit),
    switch!(recovery.rescue_retransmission),
    switch!(acknowledgments.delayed_ack),
    switch!(acknowledgments.ack_waits_for_reader),
    switch!(acknowledgments.ack_of_push),
    switch!(acknowledgments.quick_ack_again),
    count!(acknowledgments.compressed_acks, 0..=1000),
    time!(acknowledgments.compressed_ack_delay, 0 s ..= 100 ms),
    switch!(acknowledgments.quick_ack),
    switch!(segments.nagle),
    switch!(segments.nagle_minshall),
    switch!(closing.delayed_fin_ack),
    switch!(closing.fin_on_acks),
    switch!(closing.late_reset_fails),
    switch!(closing.reset_without_window),
    switch!(segments.bare_window_probes),
    switch!(segments.silly_window_avoidance),
    switch!(segments.silly_below_quarter),
    switch!(segments.header_prediction),
    switch!(timer.backoff),
    switch!(congestion.idle_restart),
    switch!(segments.segmentation_offload),
    switch!(segments.push_super_segments),
    switch!(segments.receive_offload),
    count!(segments.tso_win_divisor, 0..=100),
    count!(segments.tso_min_segments, 1..=45),
    switch!(buffers.buffer_doubling),
    switch!(timer.rto_floor_on_variance),
    time!(timer.min_rtt_window, 0 s ..= 86_400 s,
        "a time up to a day; 0 s is the whole connection"),
    switch!(timer.rtt_from_sack),
    setting!(
        "byte_counting" => congestion.counting,
        "false, true (as many as acknowledged, but one segment after a timeout), \"always\" (as \
         many as acknowledged), or the limit L in segments from 1 to 100",
        |counting| match counting {
            Counting::PerAck => "false".to_string(),
            Counting::Bytes { limit: u32::MAX } => "true".to_string(),
            Counting::Bytes { limit } => limit.to_string(),
            Counting::All => "always".to_string(),
        },
        {
            Value::Switch(false) => Counting::PerAck,
            Value::Switch(true) => Counting::Bytes { limit: u32::MAX },
            Value::Word("always") => Counting::All,
            Value::Count(limit @ 1..=100) => Counting::Bytes { limit },
        }
    ),
    setting!(
        congestion.initial_window,
        "one of \"rfc6928\", \"rfc3390\", or a whole number of segments from 1 to 10000",
        |window| match window {
            InitialWindow::Rfc6928 => "rfc6928".to_string(),
            InitialWindow::Rfc3390 => "rfc3390".to_string(),
            InitialWindow::Segments(segments) => segments.to_string(),
        },
        {
            Value::Count(n @ 1..=10_000) => InitialWindow::Segments(n),
            Value::Word("rfc6928") => InitialWindow::Rfc6928,
            Value::Word("rfc3390") => InitialWindow::Rfc3390,
        }
    ),
    setting!(
        "window_grows" => buffers.window_policy,
        "true or false",
        |policy| (policy == WindowPolicy::Grows).to_string(),
        {
            Value::Switch(true) => WindowPolicy::Grows,
            Value::Switch(false) => WindowPolicy::FreeSpace,
        }
    ),
    count!(recovery.dup_thresh, 1..=100),
    count!(acknowledgments.ack_every, 1..=1000),
    count!(acknowledgments.ack_every_later, 1..=1000),
    setting!(
        acknowledgments.ack_every_switch,
        "a time after establishment, e.g. \"4 s\", or false (never)",
        or_false,
        {
            Value::Time(after) => Some(after),
            Value::Switch(false) => None,
        }
    ),
    amount!(buffers.buffer_limit, 4 KiB),
    count!(acknowledgments.quick_acks, 0..=1000),
    count!(timer.retries, 1..=100),
    count!(opening.syn_retries, 1..=100),
    count!(opening.syn_linear_timeouts, 0..=100),
    count!(buffers.window_reserve_shift, 0..=14),
    switch!(buffers.truesize),
    time!(acknowledgments.delayed_ack_timeout, 1 us ..= 499 ms,
        "a time from \"1 us\" to \"499 ms\" (RFC 9293 MUST-40)"),
    time!(timer.rto_initial, 1 ms ..= 60 s),
    time!(timer.rto_min, 1 us ..= 60 s),
    time!(timer.rto_slop, 0 s ..= 10 s),
    time!(timer.rto_max, 1 s ..= 1000 s),
    word!("rto_rule" => timer.rto_rule: RtoRule,
        "one of \"rfc6298\", \"rfc793\", \"jacobson-1987\", \"jacobson-1988\""),
    time!(timer.rto_tick, 1 us ..= 1 s),
    time!(closing.time_wait, 0 s ..= 240 s),
    time!(options.timestamp_tick, 1 us ..= 1 s),
    // Loss recovery.
    switch!(recovery.rack),
    switch!(recovery.tlp),
    setting!(
        recovery.prr,
        "one of \"rfc9937\", \"rfc6937-crb\", \"rfc6937-ssrb\", or true (RFC 9937), \
         false, 6937 (the conservative bound)",
        |rule| match rule {
            None => "false".to_string(),
            Some(PrrRule::SafeAck) => "true".to_string(),
            Some(PrrRule::Conservative) => "6937".to_string(),
            Some(PrrRule::SlowStart) => "rfc6937-ssrb".to_string(),
        },
        {
            Value::Switch(false) => None,
            Value::Switch(true) | Value::Word("rfc9937") => Some(PrrRule::SafeAck),
            Value::Count(6937) | Value::Word("rfc6937-crb") => Some(PrrRule::Conservative),
            Value::Word("rfc6937-ssrb") => Some(PrrRule::SlowStart),
        }
    ),
    word!("reduce_again" => recovery.reduce_again: ReduceAgain,
        "one of \"never\", \"without-prr\", \"always\""),
    switch!(recovery.frto),
    switch!(recovery.frto_again),
    switch!(recovery.eifel),
    time!(options.paws_tolerance, 0 s ..= 200 ms),
    time!(recovery.tlp_slack, 0 s ..= 1 s),
    time!(recovery.tlp_max_ack_delay, 0 s ..= 1 s),
    switch!(timer.partial_ack_restarts_timer),
    // Congestion control.
    switch!(congestion.fast_convergence),
    switch!(congestion.abe),
    time!(congestion.kernel_tick, 1 ms ..= 10 ms),
    count!(congestion.quick_start, 0..=15),
    switch!(congestion.half_used_opens),
    switch!(congestion.growth_by_delivery),
    switch!(congestion.reduces_cwnd),
    switch!(congestion.lost_syn_keeps_window),
    switch!(congestion.cwnd_validation),
    switch!(congestion.rate_limited_increase),
    // Explicit congestion notification.
    word!("ecn" => ecn.mode: EcnMode,
        "one of \"off\", \"passive\", \"classic\", \"accurate\", \"passive-classic\", \"mixed\""),
    switch!(ecn.dctcp_receiver),
    word!("ecn_option" => ecn.ecn_option: EcnOption,
        "one of \"off\", \"due\", \"always\""),
    switch!(ecn.ecn_everywhere),
    switch!(ecn.l4s),
    switch!(ecn.time_wait_forgets_ecn),
    switch!(ecn.ecn_fallback),
    switch!(ecn.ecn_doubts),
    // Pacing and buffers.
    switch!("pacing" => pacing.enabled),
    switch!(pacing.pacing_by_window),
    switch!(pacing.first_window_unpaced),
    count!(pacing.pacing_ss_ratio, 100..=1000),
    count!(pacing.pacing_ca_ratio, 100..=1000),
    setting!(
        pacing.max_pacing_rate,
        "a rate from \"1 kbit/s\" to \"100 Tbit/s\", or false (none)",
        or_false,
        {
            Value::Rate(rate)
                if (1_000..=100_000_000_000_000).contains(&rate.as_bps()) => Some(rate),
            Value::Switch(false) => None,
        }
    ),
    switch!(buffers.receive_autotuning),
    switch!(buffers.autotuning_counts_reads),
    switch!(buffers.send_autotuning),
    switch!(buffers.may_shrink_window),
    switch!(buffers.accepts_free_space),
    amount!(buffers.receive_buffer_max, 4 KiB),
    amount!(buffers.send_buffer_max, 4 KiB),
    amount!(buffers.write_size, 1 B),
    count!(buffers.write_chunk, 0..=1_000_000),
    amount!(buffers.write_low_water, 1 B, or false: "a third of the send buffer"),
    amount!(buffers.not_sent_lowat, 1 B, or false: "none"),
    amount!(buffers.receive_buffer_start, 4 KiB),
    amount!(buffers.send_buffer_start, 4 KiB),
    // Path MTU, errors and liveness.
    switch!(path_mtu.pmtud),
    switch!(path_mtu.plpmtud),
    switch!(path_mtu.plpmtud_from_base),
    count!(path_mtu.pmtu_min, 68..=65_535),
    switch!(path_mtu.too_big_waits),
    count!(path_mtu.pmtu_base, 68..=65_535),
    count!(path_mtu.pmtu_probes, 1..=100),
    time!(path_mtu.pmtu_raise, 1 s ..= 86_400 s),
    count!(path_mtu.black_hole_timeouts, 1..=100),
    count!(path_mtu.mss_min, 28..=65_535),
    switch!(path_mtu.mss_of_path),
    count!(path_mtu.route_mtu, 0..=65_535),
    switch!(liveness.keepalive),
    time!(liveness.keepalive_time, 1 s ..= 86_400 s),
    time!(liveness.keepalive_interval, 1 s ..= 86_400 s),
    count!(liveness.keepalive_probes, 2..=100),
    time!(liveness.user_timeout, 0 s ..= 86_400 s, "a time from \"0 s\" (none) to \"86400 s\""),
    switch!(liveness.user_timeout_option),
    switch!(liveness.user_timeout_adopt),
    time!(liveness.user_timeout_min, 1 s ..= 86_400 s),
    time!(liveness.user_timeout_max, 1 s ..= 86_400 s),
    time!(closing.fin_wait_2_timeout, 0 s ..= 86_400 s,
        "a time from \"0 s\" (never) to \"86400 s\""),
    switch!(segments.urgent_inline),
    switch!(defense.icmp_errors),
    switch!(defense.soft_errors_end_opens),
    switch!(defense.challenge_ack),
    switch!(defense.challenge_syn),
    switch!(defense.drop_syn_fin),
    count!(defense.challenge_ack_limit, 0..=1_000_000),
    time!(defense.challenge_ack_interval, 1 ms ..= 60 s),
    // Opening and identity.
    switch!(opening.syn_text),
    switch!(opening.syn_ack_text),
    switch!(opening.listener_ignores_syn_ack),
    switch!(opening.fast_open_client),
    switch!(opening.fast_open_server),
    switch!(opening.fast_open_without_cookie),
    word!("ignored_request" => opening.ignored_request: IgnoredRequest,
        "one of \"repeat\", \"experiment\", \"abstain\""),
    count!(opening.cookie_mss_max, 0..=65_535),
    setting!(
        opening.syn_cookies,
        "false, true (while the backlog is full), or 2 (always)",
        |cookies| match cookies {
            SynCookies::Off => "false".to_string(),
            SynCookies::WhenFull => "true".to_string(),
            SynCookies::Always => "2".to_string(),
        },
        {
            Value::Switch(false) => SynCookies::Off,
            Value::Switch(true) => SynCookies::WhenFull,
            Value::Count(2) => SynCookies::Always,
        }
    ),
    switch!(closing.time_wait_reuse),
    switch!(closing.time_wait_ignores_reset),
    // BSD behavior.
    switch!(recovery.row_of_duplicates_ends),
    count!(segments.smss_multiple, 0..=65_535),
    amount!(buffers.route_send_buffer, 4 KiB, or false: "the route says nothing"),
    amount!(buffers.route_receive_buffer, 4 KiB, or false: "the route says nothing"),
    switch!(buffers.route_buffers_override),
    switch!(buffers.buffers_in_segments),
    count!(buffers.window_update_segments, 0..=1000),
    switch!(segments.half_window_leaves),
    switch!(opening.handshake_ack_alone),
    switch!(opening.update_after_open),
    switch!(timer.repair_restarts_timer),
    switch!(timer.reset_on_giving_up),
];
