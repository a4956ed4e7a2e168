//! Opening: RFC 9293 section 3.5, section 3.10.7.2 to 3.10.7.4.

use std::sync::Arc;

use gigatcp_tcp::events::State;
use gigatcp_tcp::listener::{self, ListenOutcome};
use gigatcp_tcp::profile::InitialWindow;
use gigatcp_tcp::{ConnectionConfig, Failure};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{Flags, IpVersion};

use crate::notation;
use crate::script::{ISS, PEER_ISS, Script, bare, with};

#[test]
fn an_active_open_takes_three_segments() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) win 60000 <mss 1000>");
    assert_eq!(t.state(), State::SynSent);
    t.wait_ms(70);
    t.inject("S. 0:0(0) ack 1 win 5000 <mss 1460>");
    t.expect(". 1:1(0) ack 1 win 60000");
    assert_eq!(t.state(), State::Established);
    assert_eq!(t.tcp.established_at(), Some(t.now));
    assert_eq!(t.tcp.info().srtt, Some(Duration::from_millis(70)));
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 5000);
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn data_written_before_the_open_rides_on_the_first_acknowledgment() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.write(100);
    t.expect_nothing();
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.expect("P. 1:101(100) ack 1");
}

#[test]
fn a_passive_open_takes_three_segments() {
    let mut t = Script::accept(&bare(), "S 0:0(0) win 8000 <mss 1460>");
    t.expect("S. 0:0(0) ack 1 win 60000 <mss 1000>");
    assert_eq!(t.state(), State::SynReceived);
    t.wait_ms(30);
    t.inject(". 1:1(0) ack 1 win 7000");
    t.expect_nothing();
    assert_eq!(t.state(), State::Established);
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 7000);
    assert_eq!(t.tcp.info().srtt, Some(Duration::from_millis(30)));
}

#[test]
fn the_handshake_does_not_open_the_window() {
    // RFC 5681 section 3.1: neither the SYN-ACK nor its acknowledgment counts.
    for rfc in [InitialWindow::Rfc3390, InitialWindow::Rfc6928] {
        let config = with(|p| p.congestion.initial_window = rfc);
        let initial = rfc.bytes(1000);
        let mut active = Script::connect(&config);
        active.expect("S 0:0(0) <mss 1000>");
        active.inject("S. 0:0(0) ack 1 <mss 1000>");
        active.expect(". 1:1(0) ack 1");
        assert_eq!(active.tcp.info().cwnd, initial);
        let mut passive = Script::accept(&config, "S 0:0(0) <mss 1000>");
        passive.expect("S. 0:0(0) ack 1 <mss 1000>");
        passive.inject(". 1:1(0) ack 1");
        assert_eq!(passive.tcp.info().cwnd, initial);
        active.write(20_000);
        assert_eq!(active.leaving().len() as u64, initial.as_u64() / 1000);
    }
}

#[test]
fn before_anything_is_lost_ssthresh_bounds_nothing() {
    // RFC 5681 section 3.1: arbitrarily high. The modules of 2.6.20 began at a
    // parameter of theirs. What is not window-based may have no slow start.
    for control in gigatcp_tcp::congestion::REGISTRY {
        if control.name.ends_with("2.6.20")
            || control.family != gigatcp_tcp::congestion::Family::WindowBased
        {
            continue;
        }
        let mut config = bare();
        config.transport_mut().congestion = Arc::new(control);
        let t = Script::established(&config);
        assert_eq!(t.tcp.info().ssthresh, Bytes::MAX, "{}", control.name);
    }
}

#[test]
fn the_mss_option_never_asks_for_more_than_one_packet_can_carry() {
    // RFC 9293 MUST-67: MMS_R - 20, and of IPv6 without jumbograms.
    for (ip, most) in [(IpVersion::V4, 65_495), (IpVersion::V6, 65_515)] {
        for (asked, told) in [(1000, 1000), (most, most), (u16::MAX, most)] {
            let mut config = bare();
            config.ip = ip;
            config.transport_mut().mtu = u32::from(asked) + ip.header_len() + 20;
            let mut t = Script::connect(&config);
            t.expect(&format!("S 0:0(0) <mss {told}>"));
            let mut t = Script::accept(&config, "S 0:0(0) <mss 1000>");
            t.expect(&format!("S. 0:0(0) ack 1 <mss {told}>"));
        }
    }
}

#[test]
fn data_may_complete_a_passive_open() {
    let mut t = Script::accept(&bare(), "S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject("P. 1:101(100) ack 1");
    t.expect_nothing();
    assert_eq!(t.state(), State::Established);
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 101");
    assert_eq!(t.read(1000), 100);
}

#[test]
fn a_fin_may_complete_a_passive_open() {
    let mut t = Script::accept(&bare(), "S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject("FP. 1:101(100) ack 1");
    t.expect(". 1:1(0) ack 102");
    assert_eq!(t.state(), State::CloseWait);
}

#[test]
fn text_on_a_syn_is_left_for_the_peer_to_send_again() {
    let mut t = Script::accept(&with(|p| p.opening.syn_text = false), "S 0:10(10)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject(". 11:11(0) ack 1");
    t.expect_nothing();
    assert_eq!((t.state(), t.tcp.readable()), (State::Established, 0));
    t.inject("P. 1:11(10) ack 1");
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 11");
    assert_eq!(t.read(100), 10);
}

#[test]
fn two_syns_that_cross_open_as_figure_7_of_rfc_9293_draws() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.wait_ms(10);
    t.inject("S 0:0(0) <mss 1000>");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    assert_eq!(t.state(), State::SynReceived);
    t.wait_ms(10);
    t.inject("S. 0:0(0) ack 1 win 9000 <mss 1000>");
    t.expect_nothing();
    assert_eq!(t.state(), State::Established);
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 9000);
    t.write(10);
    t.expect("P. 1:11(10) ack 1");
}

#[test]
fn two_syns_that_cross_open_by_a_plain_acknowledgment_too() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("S 0:0(0) <mss 1000>");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject(". 1:1(0) ack 1");
    assert_eq!(t.state(), State::Established);
}

#[test]
fn in_a_simultaneous_open_a_lost_syn_ack_is_sent_again() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("S 0:0(0) <mss 1000>");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.wait_ms(1000);
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    // The peer did not get it either and repeats its SYN.
    t.inject("S 0:0(0) <mss 1000>");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
}

#[test]
fn a_lost_syn_is_sent_after_1_3_7_15_31_63_seconds_and_given_up_after_127() {
    let mut t = Script::connect(&with(|p| p.opening.syn_retries = 6));
    t.expect("S 0:0(0) <mss 1000>");
    for seconds in [1, 2, 4, 8, 16, 32] {
        t.wait_ms(seconds * 1000);
        t.expect("S 0:0(0) <mss 1000>");
    }
    t.wait_ms(63_999);
    assert_eq!(t.state(), State::SynSent);
    t.wait_ms(1);
    assert_eq!(t.state(), State::Closed);
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn a_lost_syn_ack_is_sent_after_1_3_7_15_31_63_seconds_and_given_up_after_127() {
    let mut t = Script::accept(&with(|p| p.opening.syn_retries = 6), "S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    for seconds in [1, 2, 4, 8, 16, 32] {
        t.wait_ms(seconds * 1000);
        t.expect("S. 0:0(0) ack 1 <mss 1000>");
    }
    t.wait_ms(64_000);
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
}

#[test]
fn a_syn_again_means_that_our_syn_ack_was_lost() {
    let mut t = Script::accept(&bare(), "S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.wait_ms(500);
    t.inject("S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    // RFC 6298 section 3: which of the two is acknowledged is not known.
    t.wait_ms(10);
    t.inject(". 1:1(0) ack 1");
    assert_eq!(t.tcp.info().srtt, None);
}

#[test]
fn a_different_syn_in_the_window_returns_a_passive_open_to_listen_without_a_word() {
    // RFC 9293 section 3.10.7.4, fourth.
    let mut t = Script::accept(&bare(), "S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject("S 77:77(0)");
    t.expect_nothing();
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn a_different_syn_in_the_window_of_an_open_from_both_sides_is_challenged() {
    // An active open has no LISTEN to return to.
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject("S 77:77(0)");
    t.expect(". 1:1(0) ack 1");
    assert_eq!(t.state(), State::SynReceived);
}

#[test]
fn the_acknowledgment_of_a_lost_syn_ack_comes_with_data() {
    // The peer is established; its ACK was lost, its data was not.
    let mut t = Script::accept(&bare(), "S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.wait_ms(1000);
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject(". 1:1001(1000) ack 1");
    assert_eq!(t.state(), State::Established);
    t.inject(". 1001:2001(1000) ack 1");
    t.expect(". 1:1(0) ack 2001");
}

#[test]
fn a_peer_that_did_not_get_our_acknowledgment_gets_another() {
    let mut t = Script::established(&bare());
    t.wait_ms(1000);
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.expect(". 1:1(0) ack 1");
    assert_eq!(t.state(), State::Established);
}

#[test]
fn a_refused_open_fails_at_once() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("R. 0:0(0) ack 1");
    assert_eq!(t.state(), State::Closed);
    assert_eq!(t.tcp.failure(), Some(Failure::Refused));
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn a_reset_that_acknowledges_nothing_of_ours_does_not_refuse_an_open() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    for forged in [
        "R 0:0(0)",
        "R. 0:0(0) ack 0",
        "R. 0:0(0) ack 2",
        "R. 5:5(0) ack -9",
    ] {
        t.inject(forged);
        t.expect_nothing();
        assert_eq!(t.state(), State::SynSent, "{forged}");
    }
}

#[test]
fn an_acknowledgment_of_something_else_is_reset_in_syn_sent() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    // An old duplicate of an earlier connection, RFC 9293 figure 8.
    t.inject("S. 0:0(0) ack 77");
    t.expect("R 77:77(0)");
    t.inject(". 0:0(0) ack -5");
    t.expect("R -5:-5(0)");
    assert_eq!(t.state(), State::SynSent);
    t.inject("S. 0:0(0) ack 1");
    t.expect(". 1:1(0) ack 1");
}

#[test]
fn a_plain_acknowledgment_does_not_open() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.inject(". 1:1(0) ack 1");
    t.expect_nothing();
    assert_eq!(t.state(), State::SynSent);
}

#[test]
fn an_acknowledgment_of_something_else_is_reset_in_syn_received() {
    let mut t = Script::accept(&bare(), "S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    for ack in [2, 0, -1, -70_000] {
        t.inject(&format!(". 1:1(0) ack {ack}"));
        t.expect(&format!("R {ack}:{ack}(0)"));
        assert_eq!(t.state(), State::SynReceived);
    }
}

#[test]
fn a_reset_in_syn_received_ends_a_passive_open_and_refuses_an_active_one() {
    let mut t = Script::accept(&bare(), "S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject("R 1:1(0)");
    assert_eq!(
        (t.state(), t.tcp.failure()),
        (State::Closed, Some(Failure::Reset))
    );

    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject("R 1:1(0)");
    assert_eq!(
        (t.state(), t.tcp.failure()),
        (State::Closed, Some(Failure::Refused))
    );
}

#[test]
fn windows_in_syn_segments_are_not_scaled() {
    let mut t = Script::connect(&with(|p| p.options.window_scaling = true));
    t.expect("S 0:0(0) <mss 1000,wscale 0>");
    t.inject("S. 0:0(0) ack 1 win 100 <mss 1000,wscale 7>");
    t.expect(". 1:1(0) ack 1");
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 100);
    t.inject(". 1:1(0) ack 1 win 100");
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 100 << 7);

    let mut t = Script::accept(
        &with(|p| p.options.window_scaling = true),
        "S 0:0(0) win 100 <wscale 7>",
    );
    t.expect("S. 0:0(0) ack 1 <mss 1000,wscale 0>");
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 100);
    t.inject(". 1:1(0) ack 1 win 100");
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 100 << 7);
}

#[test]
fn the_peers_shift_is_obeyed_up_to_14_and_taken_as_14_above() {
    for shift in (0..=16).chain([200, 255]) {
        let mut t = Script::connect(&with(|p| p.options.window_scaling = true));
        t.expect("S 0:0(0) <mss 1000,wscale 0>");
        t.inject(&format!("S. 0:0(0) ack 1 <mss 1000,wscale {shift}>"));
        t.expect(". 1:1(0) ack 1");
        t.inject(". 1:1(0) ack 1 win 65535");
        let used = shift.min(14);
        assert_eq!(t.tcp.info().window_scale.0, used);
        assert_eq!(t.tcp.info().snd_wnd.as_u64(), 65_535 << used);
    }
}

#[test]
fn our_shift_is_the_smallest_for_the_buffer_and_scales_what_we_offer() {
    for shift in 0..=14_u8 {
        let mut config = with(|p| p.options.window_scaling = true);
        let buffer = 65_535_u64 << shift;
        config.transport_mut().receive_buffer = Some(gigatcp_units::Bytes::new(buffer));
        let mut t = Script::connect(&config);
        t.expect(&format!("S 0:0(0) win 65535 <mss 1000,wscale {shift}>"));
        t.inject("S. 0:0(0) ack 1 <mss 1000,wscale 0>");
        t.expect(". 1:1(0) ack 1 win 65535");
        assert_eq!(t.tcp.info().window_scale, (0, shift));
        assert_eq!(t.tcp.info().rcv_wnd.as_u64(), buffer);
    }
}

/// What a peer's SYN may carry.
#[derive(Clone, Copy, Debug)]
struct Offer {
    mss: bool,
    wscale: bool,
    sack: bool,
    timestamps: bool,
}

impl Offer {
    fn all() -> impl Iterator<Item = Self> {
        (0..16).map(|bits| Self {
            mss: bits & 1 > 0,
            wscale: bits & 2 > 0,
            sack: bits & 4 > 0,
            timestamps: bits & 8 > 0,
        })
    }

    fn text(self, ecr: u32) -> String {
        let mut options = Vec::new();
        options.extend(self.mss.then(|| "mss 900".to_string()));
        options.extend(self.sack.then(|| "sackOK".to_string()));
        options.extend(self.timestamps.then(|| format!("TS val 55 ecr {ecr}")));
        options.extend(self.wscale.then(|| "wscale 3".to_string()));
        if options.is_empty() {
            String::new()
        } else {
            format!(" <{}>", options.join(","))
        }
    }
}

fn check_agreement(t: &Script, ours: Offer, theirs: Offer) {
    let info = t.tcp.info();
    let case = format!("ours {ours:?}, theirs {theirs:?}");
    assert_eq!(info.sack, ours.sack && theirs.sack, "{case}");
    assert_eq!(
        info.timestamps,
        ours.timestamps && theirs.timestamps,
        "{case}"
    );
    let shifts = if ours.wscale && theirs.wscale {
        (3, 4)
    } else {
        (0, 0)
    };
    assert_eq!(info.window_scale, shifts, "{case}");
    let mss = if theirs.mss { 900 } else { 536 };
    let stamps = if info.timestamps { 12 } else { 0 };
    assert_eq!(info.smss, mss - stamps, "{case}");
}

fn config_of(ours: Offer) -> gigatcp_tcp::ConnectionConfig {
    let mut config = with(|p| {
        p.options.window_scaling = ours.wscale;
        p.recovery.sack = ours.sack;
        p.options.timestamps = ours.timestamps;
    });
    config.transport_mut().receive_buffer = Some(gigatcp_units::Bytes::new(65_535 << 4));
    config
}

#[test]
fn an_active_open_uses_exactly_the_options_both_sides_offer() {
    for ours in Offer::all().filter(|offer| offer.mss) {
        for theirs in Offer::all() {
            let mut t = Script::connect(&config_of(ours));
            let syn = t.leaving().remove(0);
            assert_eq!(syn.options.mss, Some(1000));
            assert_eq!(syn.options.window_scale, ours.wscale.then_some(4));
            assert_eq!(syn.options.sack_permitted, ours.sack);
            assert_eq!(syn.options.timestamps.is_some(), ours.timestamps);
            t.inject(&format!("S. 0:0(0) ack 1{}", theirs.text(1000)));
            let ack = t.leaving().remove(0);
            assert_eq!(ack.options.mss, None);
            assert_eq!(ack.options.window_scale, None);
            assert!(!ack.options.sack_permitted);
            let stamped = ours.timestamps && theirs.timestamps;
            assert_eq!(
                ack.options.timestamps.map(|ts| ts.ecr),
                stamped.then_some(55)
            );
            check_agreement(&t, ours, theirs);
        }
    }
}

#[test]
fn a_passive_open_answers_with_exactly_the_options_both_sides_offer() {
    for ours in Offer::all().filter(|offer| offer.mss) {
        for theirs in Offer::all() {
            let mut t = Script::accept(&config_of(ours), &format!("S 0:0(0){}", theirs.text(0)));
            let answer = t.leaving().remove(0);
            assert_eq!(answer.options.mss, Some(1000));
            let scaled = ours.wscale && theirs.wscale;
            assert_eq!(answer.options.window_scale, scaled.then_some(4));
            assert_eq!(answer.options.sack_permitted, ours.sack && theirs.sack);
            let stamped = ours.timestamps && theirs.timestamps;
            assert_eq!(
                answer.options.timestamps.map(|ts| ts.ecr),
                stamped.then_some(55)
            );
            check_agreement(&t, ours, theirs);
        }
    }
}

#[test]
fn a_tiny_mss_is_raised_to_48_and_ours_may_be_as_small_as_it_likes() {
    for theirs in [0, 1, 12, 47, 48] {
        let mut t = Script::connect(&bare());
        t.expect("S 0:0(0) <mss 1000>");
        t.inject(&format!("S. 0:0(0) ack 1 <mss {theirs}>"));
        t.expect(". 1:1(0) ack 1");
        assert_eq!(t.tcp.info().smss, 48);
    }
    for ours in 0..=60 {
        let mut config = with(|p| p.options.timestamps = true);
        config.transport_mut().mtu = ours + 40;
        let mut t = Script::connect(&config);
        t.leaving();
        t.inject("S. 0:0(0) ack 1 <mss 1000,TS val 1 ecr 1000>");
        t.leaving();
        t.write(3);
        let sent: usize = t
            .leaving()
            .iter()
            .map(|segment| segment.payload.len())
            .sum();
        assert!(sent >= 1, "an mss of {ours} sends nothing");
    }
}

#[test]
fn after_a_lost_syn_the_window_is_one_segment_and_the_timeout_3_seconds() {
    // RFC 5681 section 3.1 (end), RFC 6298 (5.7).
    let config = with(|p| p.congestion.initial_window = InitialWindow::Rfc3390);
    let mut t = Script::connect(&config);
    t.expect("S 0:0(0) <mss 1000>");
    t.wait_ms(1000);
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.expect(". 1:1(0) ack 1");
    assert_eq!(t.cwnd(), 1.0);
    assert_eq!(t.tcp.info().rto, Duration::from_secs(3));
    t.write(2000);
    t.expect(". 1:1001(1000) ack 1");
    t.wait_ms(3000);
    t.expect(". 1:1001(1000) ack 1");
}

#[test]
fn after_a_lost_syn_ack_the_window_is_one_segment_too() {
    let config = with(|p| p.congestion.initial_window = InitialWindow::Rfc3390);
    let mut t = Script::accept(&config, "S 0:0(0) <mss 1000>");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.wait_ms(1000);
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject(". 1:1(0) ack 1");
    assert_eq!(t.cwnd(), 1.0);
    assert_eq!(t.tcp.info().rto, Duration::from_secs(3));
}

#[test]
fn the_window_of_rfc_6928_survives_one_lost_syn_but_not_two() {
    // RFC 6928 section 2: one may have been spurious.
    for (lost, cwnd) in [(0, 10.0), (1, 10.0), (2, 1.0)] {
        assert_eq!(cwnd_after_lost_syns(&bare(), lost), cwnd, "{lost} lost");
    }
}

#[test]
fn with_lost_syn_keeps_window_a_window_in_segments_survives_one_lost_syn_but_not_two() {
    for (keeps, lost, cwnd) in [(true, 1, 7.0), (true, 2, 1.0), (false, 1, 1.0)] {
        let config = with(|p| {
            p.congestion.initial_window = InitialWindow::Segments(7);
            p.congestion.lost_syn_keeps_window = keeps;
        });
        assert_eq!(
            cwnd_after_lost_syns(&config, lost),
            cwnd,
            "{keeps}, {lost} lost"
        );
    }
}

fn cwnd_after_lost_syns(config: &ConnectionConfig, lost: u32) -> f64 {
    let mut t = Script::connect(config);
    t.expect("S 0:0(0) <mss 1000>");
    for n in 0..lost {
        t.wait_ms(1000 << n);
        t.expect("S 0:0(0) <mss 1000>");
    }
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.expect(". 1:1(0) ack 1");
    t.cwnd()
}

#[test]
fn closing_in_syn_sent_leaves_silently() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.close();
    t.expect_nothing();
    assert_eq!((t.state(), t.tcp.failure()), (State::Closed, None));
    assert_eq!(t.tcp.poll_timeout(), None);
    t.inject("S. 0:0(0) ack 1");
    t.expect("R 1:1(0)");
}

fn heard(text: &str) -> ListenOutcome<gigatcp_wire::bytes::Bytes> {
    let received = gigatcp_tcp::Received {
        at: Instant::ZERO,
        segment: notation::read(text, PEER_ISS, ISS, 1000),
    };
    listener::handle_segment(Instant::ZERO, &bare(), &received)
}

#[test]
fn a_listener_ignores_resets_resets_acknowledgments_and_answers_syns() {
    for text in ["R 0:0(0)", "R. 0:0(0) ack 1", "F 0:0(0)", "P 0:10(10)"] {
        assert!(matches!(heard(text), ListenOutcome::Ignored), "{text}");
    }
    for text in [". 0:0(0) ack 5", "S. 0:0(0) ack 5", "F. 0:0(0) ack 5"] {
        let ListenOutcome::Reset(reset) = heard(text) else {
            panic!("{text} is not reset");
        };
        assert_eq!((reset.flags, reset.seq), (Flags::RST, ISS + 5));
    }
    let ListenOutcome::Opened(mut connection) = heard("S 0:0(0)") else {
        panic!("a SYN is not answered");
    };
    let answer = connection.poll_transmit(Instant::ZERO).unwrap();
    assert_eq!(
        notation::write(&answer, ISS, PEER_ISS, ""),
        "S. 0:0(0) ack 1 <mss 1000>"
    );
}
