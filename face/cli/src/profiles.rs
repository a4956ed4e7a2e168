//! Profiles and what each sets.
//!
//! A profile has no list of its values, so they are named here, field by field;
//! a test holds the names against [`SETTINGS`], by which plans change them, so
//! that none can be forgotten.

use gigatcp_tcp::congestion::Counting;
use gigatcp_tcp::profile::{InitialWindow, Profile, PrrRule, SETTINGS, SynCookies, WindowPolicy};
use serde::Serialize;

use crate::grid::{Align, grid};

/// A profile with its settings, in the order of [`SETTINGS`].
#[derive(Serialize, Debug)]
pub(crate) struct ProfileView {
    name: &'static str,
    settings: Vec<SettingView>,
}

/// A setting of a profile.
#[derive(Serialize, Debug)]
struct SettingView {
    name: &'static str,
    value: String,
    takes: &'static str,
}

/// Every profile.
pub(crate) fn all() -> Vec<ProfileView> {
    Profile::ALL.iter().map(ProfileView::of).collect()
}

/// A line per setting, a column per profile; lines in which profiles differ
/// are marked.
pub(crate) fn text() -> String {
    let profiles = all();
    let mut heading = vec![String::new(), "setting".to_owned()];
    heading.extend(profiles.iter().map(|profile| profile.name.to_owned()));
    let mut cells = vec![heading];
    for (index, setting) in SETTINGS.iter().enumerate() {
        let values: Vec<String> = profiles
            .iter()
            .map(|profile| profile.settings[index].value.clone())
            .collect();
        let differ = values.iter().any(|value| *value != values[0]);
        let mark = if differ { "*" } else { "" };
        let mut line = vec![mark.to_owned(), setting.name.to_owned()];
        line.extend(values);
        cells.push(line);
    }
    let columns = vec![Align::Left; 2 + profiles.len()];
    let table = grid(&columns, &cells);
    format!(
        "{table}\n* profiles differ. Every setting is a key of [sender] and [receiver]:\n  \
         gigatcp run my.toml --set sender.sack=false\n"
    )
}

/// What `profile` sets otherwise than the profile it is called after, as a
/// plan writes it.
pub(crate) fn changes(profile: &Profile) -> Vec<String> {
    let named = Profile::find(profile.name).unwrap_or_default();
    let pairs = values(profile).into_iter().zip(values(&named));
    let changed = pairs.filter(|(value, named)| value != named);
    changed
        .map(|((name, value), _)| format!("{name} = {value}"))
        .collect()
}

impl ProfileView {
    fn of(profile: &Profile) -> Self {
        let values = values(profile);
        let settings = SETTINGS.iter().map(|setting| SettingView {
            name: setting.name,
            value: values
                .iter()
                .find(|(name, _)| *name == setting.name)
                .map_or_else(String::new, |(_, value)| value.clone()),
            takes: setting.expects,
        });
        Self {
            name: profile.name,
            settings: settings.collect(),
        }
    }
}

/// Names and values as a plan writes them: a field as it prints, or `name =
/// value`.
macro_rules! named {
    ($profile:ident; $($name:ident $(= $value:expr)?),* $(,)?) => {
        vec![$((stringify!($name), named!(@ $profile $name $($value)?))),*]
    };
    (@ $profile:ident $name:ident) => { $profile.$name.to_string() };
    (@ $profile:ident $name:ident $value:expr) => { $value.to_string() };
}

/// A value, or `false` where there is none.
fn or_false(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "false".to_owned(), |value| value.to_string())
}

/// Every setting of a profile; a test holds the names against the settings
/// that plans know.
fn values(profile: &Profile) -> Vec<(&'static str, String)> {
    let mut all = switches(profile);
    all.extend(constants(profile));
    all.extend(path_and_liveness(profile));
    all.extend(loss_recovery(profile));
    all.extend(notification(profile));
    all.extend(where_stacks_differ(profile));
    all
}

/// What RFCs leave open, and what Linux does otherwise than they say.
fn where_stacks_differ(profile: &Profile) -> Vec<(&'static str, String)> {
    named![
        profile;
        nagle_minshall,
        delayed_fin_ack,
        bare_window_probes,
        half_used_opens,
        growth_by_delivery,
        syn_linear_timeouts,
    ]
}

/// Explicit congestion notification.
fn notification(profile: &Profile) -> Vec<(&'static str, String)> {
    named![
        profile;
        ecn = profile.ecn.name(),
        dctcp_receiver,
        ecn_option = profile.ecn_option.name(),
        ecn_everywhere,
        l4s,
        time_wait_forgets_ecn,
        ecn_fallback,
        ecn_doubts,
    ]
}

fn switches(profile: &Profile) -> Vec<(&'static str, String)> {
    named![
        profile;
        sack,
        dsack,
        dsack_undo,
        timestamps,
        window_scaling,
        fast_retransmit,
        newreno,
        limited_transmit,
        rescue_retransmission,
        delayed_ack,
        ack_waits_for_reader,
        quick_ack,
        nagle,
        silly_window_avoidance,
        header_prediction,
        syn_text,
        fast_open_client,
        fast_open_server,
        fast_open_without_cookie,
        time_wait_reuse,
        time_wait_ignores_reset,
        backoff,
        idle_restart,
        segmentation_offload,
        rto_floor_on_variance,
        rtt_from_sack,
        buffer_doubling,
        pacing,
        pacing_by_window,
        receive_autotuning,
        send_autotuning,
        may_shrink_window,
        fast_convergence,
        abe,
        cwnd_validation,
    ]
}

fn constants(profile: &Profile) -> Vec<(&'static str, String)> {
    named![
        profile;
        syn_cookies = cookies_text(profile.syn_cookies),
        byte_counting = counting_text(profile.counting),
        initial_window = initial_window_text(profile.initial_window),
        window_grows = profile.window_policy == WindowPolicy::Grows,
        dup_thresh,
        ack_every,
        ack_every_switch = or_false(profile.ack_every_switch),
        ack_every_later,
        delayed_ack_timeout,
        quick_acks,
        rto_initial,
        rto_min,
        rto_max,
        min_rtt_window,
        retries,
        syn_retries,
        time_wait,
        timestamp_tick,
        buffer_limit,
        window_reserve_shift,
        tso_win_divisor,
        pacing_ss_ratio,
        pacing_ca_ratio,
        max_pacing_rate = or_false(profile.max_pacing_rate),
        receive_buffer_start,
        receive_buffer_max,
        send_buffer_start,
        send_buffer_max,
        write_size,
        write_low_water = or_false(profile.write_low_water),
        write_chunk,
        not_sent_lowat = or_false(profile.not_sent_lowat),
    ]
}

fn path_and_liveness(profile: &Profile) -> Vec<(&'static str, String)> {
    named![
        profile;
        pmtud,
        plpmtud,
        plpmtud_from_base,
        keepalive,
        user_timeout_option,
        user_timeout_adopt,
        urgent_inline,
        icmp_errors,
        soft_errors_end_opens,
        challenge_ack,
        pmtu_min,
        too_big_waits,
        pmtu_base,
        pmtu_probes,
        pmtu_raise,
        black_hole_timeouts,
        mss_min,
        route_mtu,
        keepalive_time,
        keepalive_interval,
        keepalive_probes,
        user_timeout,
        user_timeout_min,
        user_timeout_max,
        fin_wait_2_timeout,
        challenge_ack_limit,
        challenge_ack_interval,
    ]
}

fn loss_recovery(profile: &Profile) -> Vec<(&'static str, String)> {
    let prr = match profile.prr {
        None => "false",
        Some(PrrRule::SafeAck) => "true",
        Some(PrrRule::Conservative) => "6937",
        Some(PrrRule::SlowStart) => "rfc6937-ssrb",
    };
    named![
        profile;
        rack,
        tlp,
        prr = prr,
        reduce_again = profile.reduce_again.name(),
        frto,
        eifel,
        paws_tolerance,
        tlp_max_ack_delay,
        tlp_slack,
        partial_ack_restarts_timer,
        row_of_duplicates_ends,
        smss_multiple,
        route_send_buffer = or_false(profile.route_send_buffer),
        route_receive_buffer = or_false(profile.route_receive_buffer),
        route_buffers_override,
        buffers_in_segments,
        window_update_segments,
        half_window_leaves,
        handshake_ack_alone,
        update_after_open,
        repair_restarts_timer,
        reset_on_giving_up,
    ]
}

fn counting_text(counting: Counting) -> String {
    match counting {
        Counting::PerAck => "false".to_owned(),
        Counting::Bytes { limit: u32::MAX } => "true".to_owned(),
        Counting::Bytes { limit } => limit.to_string(),
    }
}

fn cookies_text(when: SynCookies) -> &'static str {
    match when {
        SynCookies::Off => "false",
        SynCookies::WhenFull => "true",
        SynCookies::Always => "2",
    }
}

fn initial_window_text(window: InitialWindow) -> String {
    match window {
        InitialWindow::Rfc6928 => "rfc6928".to_owned(),
        InitialWindow::Rfc3390 => "rfc3390".to_owned(),
        InitialWindow::Segments(segments) => segments.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_every_profile_has_a_value() {
        for profile in all() {
            for setting in &profile.settings {
                assert!(!setting.value.is_empty(), "{}", setting.name);
            }
        }
        assert_eq!(values(&Profile::MODERN).len(), SETTINGS.len());
    }
}
