//! Random engines: profiles, switches, buffers, sequence numbers.
//!
//! Everything a plan can set is set sometimes, within bounds under which a connection survives. A
//! retry limit of two under loss, or a timeout of a microsecond, legitimately ends a connection and
//! would hide bugs behind expected failures. The bounds are in [`value_for`].

use std::sync::Arc;

use gigatcp_sim::packet::headers;
use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::events::EventMask;
use gigatcp_tcp::profile::{EcnMode, SETTINGS, SettingValue};
use gigatcp_tcp::{ConnectionConfig, Profile, TransportConfig};
use gigatcp_units::{Bytes, Duration, Rate};
use gigatcp_wire::{IpVersion, SeqNumber};

use super::audit::LEAST_MSS;
use super::draw::Draw;

/// Typical packet sizes.
///
/// They are the minimum of IPv4, the size every host must accept, common links, the maximum.
const MTUS: [u16; 9] = [68, 150, 296, 576, 1280, 1500, 4352, 9000, 65_535];

/// Probability that a setting is changed, in percent.
const CHANGED: u64 = 12;

/// Retransmissions before a connection is aborted: enough that no path here appears dead.
const PATIENT: u64 = 15;

/// Version of IP for a seed.
pub fn ip(seed: u64) -> IpVersion {
    Draw::new(seed, "ip").pick(&[IpVersion::V4, IpVersion::V6])
}

/// Bytes for TCP's data and options in packets of `mtu` bytes.
///
/// No link with IPv6 has an MTU below 1280.
pub fn mss(ip: IpVersion, mtu: u16) -> u16 {
    let mtu = u32::from(mtu).max(ip.least_mtu());
    (mtu - headers(ip)) as u16
}

/// A random engine configuration.
pub fn config(draw: &mut Draw, ip: IpVersion) -> ConnectionConfig {
    let mss = mss(ip, draw.pick(&MTUS));
    ConnectionConfig {
        transport: TransportConfig {
            profile: profile(draw),
            mtu: u32::from(mss) + headers(ip),
            congestion: Arc::new(control(draw)),
            initial_ssthresh: draw.chance(20).then(|| draw.magnitude(0, 1000) as u32),
            slow_start: slow_start(draw),
            send_buffer: (!draw.chance(30)).then(|| buffer(draw, mss)),
            receive_buffer: (!draw.chance(30)).then(|| buffer(draw, mss)),
            events: EventMask::NONE,
        }
        .into(),
        local_port: 5001,
        remote_port: 5001,
        iss: SeqNumber::new(near_wrap(draw, 200_000)),
        ip,
        timestamp_offset: near_wrap(draw, 5_000),
    }
}

/// A random slow-start variant.
fn slow_start(draw: &mut Draw) -> SlowStart {
    let max_ssthresh = draw.magnitude(2, 200) as u32;
    draw.pick(&[
        SlowStart::Usual,
        SlowStart::Standard,
        SlowStart::Limited { max_ssthresh },
        SlowStart::HyStart,
        SlowStart::HyStartPlusPlus,
        SlowStart::Search,
    ])
}

/// A random profile with random settings.
fn profile(draw: &mut Draw) -> Profile {
    let mut profile = draw.pick(Profile::ALL);
    // The audit assumes this smallest MSS that an engine accepts.
    profile.path_mtu.mss_min = profile.path_mtu.mss_min.min(LEAST_MSS.into());
    for setting in SETTINGS {
        if draw.chance(CHANGED) {
            let tries = value_for(draw, setting.name);
            let taken = tries
                .into_iter()
                .any(|value| profile.try_set(setting.name, value).is_ok());
            assert!(taken, "no value for the setting {}", setting.name);
        }
    }
    // One write per RTT of some bytes would take longer than any simulation lasts.
    if profile.buffers.write_chunk > 0 {
        profile.buffers.write_chunk = profile.buffers.write_chunk.max(64);
    }
    // Buffers that count packets shrink the advertised window, if allowed; the audit does not allow
    // that.
    profile.buffers.may_shrink_window &= !profile.buffers.truesize;
    let mut patient = PATIENT as u32;
    if !profile.timer.backoff {
        // The retry limit is then a number of timeouts, and a queue of cross traffic or of
        // duplicates can outlast a few short ones.
        patient = 100;
        profile.timer.rto_min = profile.timer.rto_min.max(Duration::from_secs(3));
    }
    // Third parties forge resets and SYNs inside the window: without RFC 5961 they legitimately
    // succeed.
    profile.defense.challenge_ack = true;
    profile.defense.challenge_syn = true;
    // A peer that is gone when our FIN comes again resets what all data had passed through.
    profile.closing.late_reset_fails = false;
    profile.timer.retries = profile.timer.retries.max(patient);
    profile.opening.syn_retries = profile.opening.syn_retries.max(patient);
    profile
}

/// Makes half of the engines request ECN, which profiles mostly do not.
///
/// Otherwise middleboxes that change ECN would have no effect.
pub fn speak_ecn(seed: u64, config: &mut ConnectionConfig, always: bool) {
    let mut draw = Draw::new(seed, "ecn");
    let accurate = draw.chance(70) || always;
    if draw.chance(50) || always {
        config.transport_mut().profile.ecn.mode = if accurate {
            EcnMode::Accurate
        } else {
            EcnMode::Classic
        };
    }
    config.transport_mut().profile.ecn.ecn_doubts = draw.chance(80) || always;
}

/// Values to try for a setting, in order.
///
/// A setting that is not listed gets any kind of value it accepts.
fn value_for(draw: &mut Draw, name: &str) -> Vec<SettingValue> {
    let count = |draw: &mut Draw, low, high| SettingValue::Count(draw.magnitude(low, high) as u32);
    let ms = Duration::from_millis;
    let time = |draw: &mut Draw, low, high| SettingValue::Time(draw.span(low, high));
    let switch = SettingValue::Switch(draw.chance(50));
    let value = match name {
        "initial_window" => count(draw, 1, 200),
        "byte_counting" if draw.chance(50) => count(draw, 1, 100),
        "dup_thresh" => count(draw, 1, 20),
        "ack_every" | "ack_every_later" => count(draw, 1, 50),
        "ack_every_switch" => time(draw, ms(1), ms(2000)),
        "buffer_limit" => SettingValue::Amount(Bytes::new(draw.magnitude(4096, 1 << 24))),
        // The audit assumes this smallest MSS that an engine accepts.
        "mss_min" => count(draw, 28, u64::from(LEAST_MSS)),
        "receive_buffer_start" | "receive_buffer_max" | "send_buffer_start" | "send_buffer_max" => {
            SettingValue::Amount(Bytes::new(draw.magnitude(4096, 1 << 24)))
        }
        "route_mtu" => count(draw, 68, 9000),
        "route_send_buffer" | "route_receive_buffer" => {
            SettingValue::Amount(Bytes::new(draw.magnitude(4096, 1 << 22)))
        }
        "not_sent_lowat" => SettingValue::Amount(Bytes::new(draw.magnitude(1, 1 << 20))),
        "quick_acks" => count(draw, 0, 100),
        "quick_start" => count(draw, 1, 15),
        "retries" | "syn_retries" => count(draw, PATIENT, 30),
        "pmtu_base" | "pmtu_min" => count(draw, 68, 9000),
        "pmtu_raise" => time(draw, ms(1000), ms(600_000)),
        // Shorter than the swarm's pauses these would end good connections.
        "keepalive_time" => time(draw, ms(1_000_000), ms(86_400_000)),
        "keepalive_interval" => time(draw, ms(10_000), ms(100_000)),
        "keepalive_probes" => count(draw, 5, 20),
        "user_timeout" => time(draw, ms(20_000_000), ms(86_400_000)),
        "user_timeout_min" | "user_timeout_max" => time(draw, ms(20_000_000), ms(86_400_000)),
        "fin_wait_2_timeout" => SettingValue::Time(Duration::ZERO),
        "window_reserve_shift" => count(draw, 0, 14),
        "delayed_ack_timeout" => time(draw, Duration::from_micros(10), ms(499)),
        "compressed_acks" => count(draw, 0, 100),
        "compressed_ack_delay" => time(draw, Duration::ZERO, ms(5)),
        "paws_tolerance" => time(draw, Duration::ZERO, ms(200)),
        "rto_initial" => time(draw, ms(200), ms(4000)),
        "rto_min" => time(draw, ms(1), ms(1000)),
        "rto_rule" | "ecn" | "ecn_option" => {
            let setting = SETTINGS.iter().find(|setting| setting.name == name);
            let words: Vec<_> = setting.expect("a setting").words().collect();
            SettingValue::Word(draw.pick(&words))
        }
        "kernel_tick" => time(draw, ms(1), ms(10)),
        "rto_tick" => time(draw, ms(1), ms(500)),
        "min_rtt_window" => time(draw, Duration::ZERO, ms(300_000)),
        "rto_max" => time(draw, ms(4000), ms(120_000)),
        "time_wait" => time(draw, Duration::ZERO, ms(120_000)),
        "timestamp_tick" => time(draw, ms(1), ms(1000)),
        "tso_win_divisor" => count(draw, 0, 8),
        "pacing_ss_ratio" | "pacing_ca_ratio" => count(draw, 100, 1000),
        "syn_linear_timeouts" => count(draw, 0, 6),
        "prr" if draw.chance(50) => {
            SettingValue::Word(draw.pick(&["rfc9937", "rfc6937-crb", "rfc6937-ssrb"]))
        }
        "byte_counting" if draw.chance(30) => SettingValue::Word("always"),
        "option_layout" => SettingValue::Word(draw.pick(&["linux", "freebsd"])),
        "ignored_request" => SettingValue::Word(draw.pick(&["repeat", "experiment", "abstain"])),
        "reduce_again" => SettingValue::Word(draw.pick(&["never", "without-prr", "always"])),
        "max_pacing_rate" => {
            SettingValue::Rate(Rate::from_bps(draw.magnitude(10_000_000, 10_000_000_000)))
        }
        _ => switch,
    };
    let amount = SettingValue::Amount(Bytes::new(draw.magnitude(65_536, 1 << 24)));
    vec![
        value,
        switch,
        count(draw, 1, 10),
        time(draw, ms(10), ms(400)),
        amount,
    ]
}

/// One of the registered controls.
fn control(draw: &mut Draw) -> &'static congestion::Entry {
    let number = draw.between(0, congestion::REGISTRY.len() as u64 - 1);
    &congestion::REGISTRY[number as usize]
}

/// An ISS; half of them wrap within the first `octets`.
fn near_wrap(draw: &mut Draw, octets: u64) -> u32 {
    let random = draw.next() as u32;
    if draw.chance(50) {
        u32::MAX - draw.between(0, octets) as u32
    } else {
        random
    }
}

/// A buffer from a single byte over a few segments to a large one.
fn buffer(draw: &mut Draw, mss: u16) -> Bytes {
    let mss = u64::from(mss);
    Bytes::new(match draw.between(0, 9) {
        0 => draw.magnitude(1, mss),
        1 | 2 => draw.between(mss, 4 * mss),
        3..=5 => draw.magnitude(4096, 65_536),
        _ => draw.magnitude(65_536, 1 << 24),
    })
}

/// Raises the MSS to `least`.
pub fn raise_mss(config: &mut ConnectionConfig, least: u16) {
    let least = u32::from(least) + headers(config.ip);
    if config.transport.mtu < least {
        config.transport_mut().mtu = least;
    }
}

/// Maximum bytes that the send buffer holds: a route may grant more than was requested.
pub fn granted_send_buffer(sender: &ConnectionConfig) -> u64 {
    let profile = &sender.transport.profile;
    let requested = profile.send_buffer_for(sender.transport.send_buffer);
    let granted = match profile.buffers.route_send_buffer {
        Some(of_route) if profile.buffers.route_buffers_override => of_route,
        Some(of_route) => requested.max(of_route),
        None => requested,
    };
    if profile.buffers.buffers_in_segments {
        granted.as_u64().next_multiple_of(sender.mss().into())
    } else {
        granted.as_u64()
    }
}

/// Maximum bytes of a transfer that ends within reasonable time.
///
/// They are bounded in segments and in windows.
pub fn most_octets(sender: &ConnectionConfig, receiver: &ConnectionConfig, segments: u64) -> u64 {
    /// Maximum number of windows of a transfer, each an RTT and a delayed ACK.
    const WINDOWS: u64 = 300;
    let send_buffer = sender
        .transport
        .profile
        .send_buffer_for(sender.transport.send_buffer);
    let receive_buffer = receiver
        .transport
        .profile
        .receive_buffer_for(receiver.transport.receive_buffer);
    let window = send_buffer
        .min(receiver.transport.profile.window_of(receive_buffer))
        .as_u64()
        .max(1);
    // The peer's MSS applies, and timestamps take 12 bytes of it.
    let segment = u64::from(sender.mss().min(receiver.mss())) - 12;
    let most = (segment * segments).min(window.saturating_mul(WINDOWS));
    let avoids =
        |config: &ConnectionConfig| config.transport.profile.segments.silly_window_avoidance;
    if avoids(sender) && avoids(receiver) {
        most
    } else {
        // Silly windows may cut it into single bytes.
        most.min(20_000)
    }
}
