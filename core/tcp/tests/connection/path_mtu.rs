//! The path's MTU as routers tell it (RFC 1191, RFC 8201), and the MSS (RFC
//! 9293 section 3.7.1, RFC 6691).

use gigatcp_tcp::events::Phase;
use gigatcp_wire::{IcmpKind, IpVersion};

use crate::icmp::icmp;
use crate::script::{Script, bare, segments, with};

fn smss(config: &gigatcp_tcp::ConnectionConfig, syn_ack: &str) -> u32 {
    let mut t = Script::connect(config);
    t.leaving();
    t.inject(syn_ack);
    t.leaving();
    t.tcp.info().smss
}

#[test]
fn without_an_mss_option_segments_have_536_octets_on_ipv4_and_1220_on_ipv6() {
    // RFC 9293 MUST-15.
    let mut config = bare();
    config.transport_mut().mtu = 9000;
    assert_eq!(smss(&config, "S. 0:0(0) ack 1"), 536);
    config.ip = IpVersion::V6;
    assert_eq!(smss(&config, "S. 0:0(0) ack 1"), 1220);
}

#[test]
fn the_smaller_of_both_sides_counts_less_the_options_of_every_segment() {
    // RFC 9293 MUST-16, RFC 6691.
    let mut config = with(|p| p.options.timestamps = true);
    config.transport_mut().mtu = 1500;
    let with_stamps = "S. 0:0(0) ack 1 <mss 1400,TS val 1 ecr 0>";
    assert_eq!(smss(&config, with_stamps), 1388);
    assert_eq!(smss(&config, "S. 0:0(0) ack 1 <mss 1400>"), 1400);
    assert_eq!(smss(&config, "S. 0:0(0) ack 1 <mss 9000>"), 1460);
}

#[test]
fn an_mss_too_small_to_be_true_is_not_taken_at_its_word() {
    for mss in [0, 1, 8, 47, 48] {
        let syn_ack = format!("S. 0:0(0) ack 1 <mss {mss}>");
        assert_eq!(smss(&bare(), &syn_ack), 48);
    }
    let careful = with(|p| p.path_mtu.mss_min = 536);
    assert_eq!(smss(&careful, "S. 0:0(0) ack 1 <mss 100>"), 536);
    // What we ourselves announced is no lie.
    let mut small = with(|p| p.path_mtu.mss_min = 536);
    small.transport_mut().mtu = 140;
    assert_eq!(smss(&small, "S. 0:0(0) ack 1 <mss 9>"), 100);
}

/// Five segments of 1000 octets in flight; cwnd is ten. No floor of our own
/// under what routers say.
fn five_in_flight() -> Script {
    let mut t = Script::established(&with(|p| p.path_mtu.pmtu_min = 68));
    t.write(5000);
    let mut sent: Vec<String> = segments(0..5, 1).collect();
    sent[4].insert(0, 'P');
    t.expect_all(sent);
    t
}

#[test]
fn what_was_too_big_leaves_again_at_once_in_segments_that_fit_and_cwnd_stays() {
    let mut t = five_in_flight();
    let cwnd = t.cwnd();
    t.wait_ms(50);
    // The router of the third link takes 640 octets; the first two segments
    // had passed it by another way.
    icmp(&mut t, IcmpKind::TooBig { mtu: 640 }, 2001);
    assert_eq!((t.tcp.info().path_mtu, t.tcp.info().smss), (640, 600));
    t.expect_all([
        ". 2001:2601(600) ack 1",
        ". 2601:3201(600) ack 1",
        ". 3201:3801(600) ack 1",
        ". 3801:4401(600) ack 1",
        "P. 4401:5001(600) ack 1",
    ]);
    assert!((t.cwnd() - cwnd).abs() < f64::EPSILON);
    assert_eq!(t.tcp.info().phase, Phase::Loss);
    t.inject(". 1:1(0) ack 2001");
    t.inject(". 1:1(0) ack 5001");
    assert_eq!(t.tcp.info().phase, Phase::Open);
    assert!(t.cwnd() >= cwnd);
    t.write(1200);
    t.expect_all([". 5001:5601(600) ack 1", "P. 5601:6201(600) ack 1"]);
}

#[test]
fn duplicate_acknowledgments_of_what_was_too_big_are_no_congestion() {
    for sack in [false, true] {
        let mut t = Script::established(&with(|p| p.recovery.sack = sack));
        t.write(5000);
        t.leaving();
        let cwnd = t.cwnd();
        icmp(&mut t, IcmpKind::TooBig { mtu: 640 }, 1);
        assert_eq!(t.leaving().len(), 9);
        // A short segment of before had passed.
        for end in [4501, 5001, 5001, 5001] {
            if sack {
                t.inject(&format!(". 1:1(0) ack 1 <sack 4001:{end}>"));
            } else {
                t.inject(". 1:1(0) ack 1");
            }
        }
        t.leaving();
        assert!(t.cwnd() >= cwnd, "sack {sack}");
        assert_eq!(t.tcp.counters().timeouts, 0);
        t.inject(". 1:1(0) ack 5001");
        assert_eq!(t.tcp.info().phase, Phase::Open);
    }
}

#[test]
fn errors_about_the_other_segments_of_the_same_burst_change_nothing_more() {
    let mut t = five_in_flight();
    icmp(&mut t, IcmpKind::TooBig { mtu: 640 }, 1);
    assert_eq!(t.leaving().len(), 9);
    for seq in [1001, 2001, 3001, 4001] {
        icmp(&mut t, IcmpKind::TooBig { mtu: 640 }, seq);
    }
    t.expect_nothing();
    // The next link is smaller still.
    icmp(&mut t, IcmpKind::TooBig { mtu: 540 }, 601);
    assert_eq!(t.tcp.info().smss, 500);
    assert_eq!(t.leaving().len(), 9);
}

#[test]
fn a_router_that_names_no_mtu_is_answered_by_the_next_plateau() {
    // RFC 1191 section 5: 1040 octets were too many.
    let mut t = five_in_flight();
    icmp(&mut t, IcmpKind::TooBig { mtu: 0 }, 1);
    assert_eq!(t.tcp.info().path_mtu, 1006);
    t.leaving();
    icmp(&mut t, IcmpKind::TooBig { mtu: 0 }, 1);
    assert_eq!(t.tcp.info().path_mtu, 508);
    t.leaving();
}

#[test]
fn a_forged_error_neither_raises_the_segment_size_nor_lowers_it_below_the_floor() {
    let mut t = five_in_flight();
    for mtu in [1, 67, 1040, 1041, 9000, 65_535, u32::MAX] {
        icmp(&mut t, IcmpKind::TooBig { mtu }, 1);
        assert_eq!(t.tcp.info().smss, 1000, "{mtu}");
    }
    t.expect_nothing();
    icmp(&mut t, IcmpKind::TooBig { mtu: 68 }, 1);
    assert_eq!(t.tcp.info().smss, 48, "mss_min");
    t.leaving();

    let mut config = bare();
    config.ip = IpVersion::V6;
    config.transport_mut().mtu = 1500;
    let mut t = Script::connect(&config);
    t.leaving();
    t.inject("S. 0:0(0) ack 1 <mss 1440>");
    t.leaving();
    t.write(5000);
    t.leaving();
    icmp(&mut t, IcmpKind::TooBig { mtu: 1279 }, 1);
    assert_eq!(t.tcp.info().smss, 1440);
    icmp(&mut t, IcmpKind::TooBig { mtu: 1280 }, 1);
    assert_eq!(t.tcp.info().smss, 1220);
    t.leaving();
}

#[test]
fn an_error_that_calls_a_small_packet_too_big_is_ignored() {
    let mut t = Script::established(&bare());
    t.write(100);
    t.expect("P. 1:101(100) ack 1");
    icmp(&mut t, IcmpKind::TooBig { mtu: 500 }, 1);
    assert_eq!(t.tcp.info().smss, 1000);
    t.expect_nothing();
}

#[test]
fn ten_minutes_later_more_is_tried() {
    // RFC 1191 section 6.3.
    let mut t = five_in_flight();
    icmp(&mut t, IcmpKind::TooBig { mtu: 508 }, 1);
    t.leaving();
    t.inject(". 1:1(0) ack 5001");
    t.wait_ms(599_000);
    t.write(500);
    t.expect_all([". 5001:5469(468) ack 1", "P. 5469:5501(32) ack 1"]);
    t.inject(". 1:1(0) ack 5501");
    t.wait_ms(1_000);
    t.write(1200);
    t.expect_all([". 5501:6467(966) ack 1", "P. 6467:6701(234) ack 1"]);
    t.inject(". 1:1(0) ack 6701");
    t.wait_ms(120_000);
    t.write(1000);
    t.expect("P. 6701:7701(1000) ack 1");
    assert_eq!(t.tcp.info().path_mtu, 1040);
}

#[test]
fn routers_are_not_listened_to_without_the_switch() {
    let mut t = Script::established(&with(|p| p.path_mtu.pmtud = false));
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 1");
    icmp(&mut t, IcmpKind::TooBig { mtu: 640 }, 1);
    assert_eq!(t.tcp.info().smss, 1000);
    t.expect_nothing();
}

#[test]
fn a_route_that_remembers_a_size_bounds_segments_and_not_what_is_announced() {
    for (ip, remembered, expected) in [
        (IpVersion::V4, 1500, 1460),
        (IpVersion::V6, 1500, 1440),
        // No IPv6 link takes less than 1280.
        (IpVersion::V6, 600, 1220),
        // What is larger than the interface or the peer takes changes nothing.
        (IpVersion::V4, 9000, 4400),
        (IpVersion::V4, 0, 4400),
    ] {
        let mut config = with(|p| p.path_mtu.route_mtu = remembered);
        config.ip = ip;
        config.transport_mut().mtu = 4430 + ip.header_len() + 20;
        let mut t = Script::connect(&config);
        assert_eq!(t.leaving().remove(0).options.mss, Some(4430));
        t.inject("S. 0:0(0) ack 1 <mss 4400>");
        t.leaving();
        assert_eq!(t.tcp.info().smss, expected, "{ip:?} {remembered}");
    }
}
