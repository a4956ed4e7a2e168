//! The window: RFC 9293 section 3.8.6, RFC 7323 section 2.

use gigatcp_tcp::events::State;
use gigatcp_units::Bytes;
use gigatcp_wire::WireWindow;

use crate::script::{MSS, Script, bare, segments, with};

fn with_buffer(octets: u64) -> Script {
    let mut config = bare();
    config.transport_mut().receive_buffer = Some(Bytes::new(octets));
    Script::established(&config)
}

#[test]
fn segments_are_acceptable_as_the_table_of_section_3_4_says() {
    // (SEG.SEQ - RCV.NXT, SEG.LEN, octets of it that lie in the window)
    let table = [
        (0, 1000, 1000),
        (4000, 1000, 1000),
        (4500, 1000, 500),
        (4999, 1, 1),
        (5000, 1, 0),
        (-1, 1, 0),
        (-100, 100, 0),
        (-99, 100, 1),
        (-1000, 2000, 1000),
        (70_000, 10, 0),
    ];
    for (place, len, inside) in table {
        let mut t = with_buffer(7000);
        t.inject(". 1:1001(1000) ack 1");
        t.inject(". 1001:2001(1000) ack 1");
        t.expect(". 1:1(0) ack 2001 win 5000");
        let seq = 2001 + place;
        t.inject(&format!(". {seq}:{}({len}) ack 1", seq + len));
        t.leaving();
        // What waits beyond a hole shows when the hole is filled.
        let hole = place.clamp(0, 4999);
        t.inject(&format!(". 2001:{}({hole}) ack 1", 2001 + hole));
        t.leaving();
        let got = t.tcp.readable() - 2000;
        let hole = if place > 0 { hole as u64 } else { 0 };
        assert_eq!(got, hole + inside, "SEG.SEQ at {place}, SEG.LEN {len}");
    }
}

#[test]
fn a_pure_acknowledgment_outside_the_window_is_answered_and_not_believed() {
    let mut t = with_buffer(5000);
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 1");
    for seq in [-1, 5002, 9999] {
        t.inject(&format!(". {seq}:{seq}(0) ack 1001"));
        t.expect(". 1001:1001(0) ack 1");
        assert_eq!(t.tcp.info().snd_una, 1);
    }
    t.inject(". 5000:5000(0) ack 1001");
    assert_eq!(t.tcp.info().snd_una, 1001);
}

#[test]
fn an_acknowledgment_from_the_very_edge_of_the_window_is_believed() {
    // The peer has filled our window and all of it is lost. The table of
    // section 3.4 would refuse what it says from there: two sides in this
    // state would answer each other's refusals indefinitely.
    let mut t = with_buffer(5000);
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 1");
    t.inject(". 5001:5001(0) ack 1001");
    assert_eq!(t.tcp.info().snd_una, 1001);
    t.expect_nothing();
}

#[test]
fn the_right_edge_stays_while_the_application_does_not_read() {
    let mut t = with_buffer(5000);
    for (arrived, wnd) in [(2000, 3000), (4000, 1000)] {
        t.inject(&format!(
            ". {}:{}(1000) ack 1",
            arrived - 1999,
            arrived - 999
        ));
        t.inject(&format!(". {}:{}(1000) ack 1", arrived - 999, arrived + 1));
        t.expect(&format!(". 1:1(0) ack {} win {wnd}", arrived + 1));
    }
    t.inject(". 4001:5001(1000) ack 1");
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 5001 win 0");
    // Into the closed window.
    t.inject(". 5001:5002(1) ack 1");
    t.expect(". 1:1(0) ack 5001 win 0");
    assert_eq!(t.tcp.readable(), 5000);
}

#[test]
fn acknowledgments_count_while_our_window_is_closed() {
    let mut t = with_buffer(2000);
    t.write(2000);
    t.expect_all([". 1:1001(1000) ack 1", "P. 1001:2001(1000) ack 1"]);
    t.inject(". 1:1001(1000) ack 1");
    t.inject(". 1001:2001(1000) ack 1");
    t.expect(". 2001:2001(0) ack 2001 win 0");
    t.inject(". 2001:2001(0) ack 1001");
    assert_eq!(t.tcp.info().snd_una, 1001);
    // Also when text comes with it that has no room.
    t.inject(". 2001:2002(1) ack 2001 win 77");
    t.expect(". 2001:2001(0) ack 2001 win 0");
    assert_eq!(
        (t.tcp.info().snd_una, t.tcp.info().snd_wnd.as_u64()),
        (2001, 77)
    );
}

#[test]
fn reading_opens_the_window_by_whole_segments_and_tells_when_it_has_doubled() {
    let mut t = with_buffer(4000);
    for n in 0..4 {
        t.inject(&format!(
            ". {}:{}(1000) ack 1",
            1 + n * 1000,
            1001 + n * 1000
        ));
        t.leaving();
    }
    // Crumbs are not offered (silly window).
    t.read(999);
    t.expect_nothing();
    t.read(1);
    t.expect(". 1:1(0) ack 4001 win 1000");
    t.read(999);
    t.expect_nothing();
    t.read(1);
    t.expect(". 1:1(0) ack 4001 win 2000");
    t.read(1000);
    t.expect_nothing();
    t.read(1000);
    t.expect(". 1:1(0) ack 4001 win 4000");
}

#[test]
fn a_driver_that_does_not_ask_after_each_read_learns_when_to_ask() {
    let mut t = with_buffer(4000);
    for n in 0..4 {
        let (from, to) = (1 + n * 1000, 1001 + n * 1000);
        t.inject(&format!(". {from}:{to}(1000) ack 1"));
        t.leaving();
    }
    assert!(t.tcp.read(t.now, 999).is_some());
    assert!(!t.tcp.is_window_update_due(), "a crumb");
    assert!(t.tcp.read(t.now, 1).is_some());
    assert!(t.tcp.is_window_update_due(), "a segment");
    t.poll();
    t.expect(". 1:1(0) ack 4001 win 1000");
    assert!(!t.tcp.is_window_update_due(), "it has left");
}

/// RFC 9293 section 3.8.6.2.2 counts in the effective send MSS: our SYN says 1000,
/// the route (216 of data in 256) or the peer's SYN leaves less.
#[test]
fn the_edge_moves_in_steps_of_the_effective_mss_and_not_of_the_announced_one() {
    let mut config = with(|p| p.path_mtu.route_mtu = 256);
    config.transport_mut().receive_buffer = Some(Bytes::new(2160));
    let of_route = Script::established(&config);
    config.transport_mut().profile.path_mtu.route_mtu = 0;
    config.transport_mut().profile.path_mtu.mss_min = 88;
    let mut of_peer = Script::connect(&config);
    of_peer.leaving();
    of_peer.inject("S. 0:0(0) ack 1 <mss 216>");
    of_peer.leaving();
    for mut t in [of_route, of_peer] {
        t.inject(". 1:217(216) ack 1");
        t.read(215);
        t.inject(". 217:433(216) ack 1");
        t.expect(". 1:1(0) ack 433 win 1728");
        t.read(217);
        t.inject(". 433:649(216) ack 1");
        t.read(216);
        t.inject(". 649:865(216) ack 1");
        t.expect(". 1:1(0) ack 865 win 1944");
    }
}

#[test]
fn a_buffer_smaller_than_a_segment_opens_by_halves() {
    let mut t = with_buffer(600);
    t.inject(". 1:601(600) ack 1");
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 601 win 0");
    t.read(299);
    t.expect_nothing();
    t.read(1);
    t.expect(". 1:1(0) ack 601 win 300");
}

#[test]
fn whatever_part_of_a_small_kept_back_buffer_is_free_one_side_moves() {
    // The sender waits for half the largest window it saw; the receiver must
    // not hold back what would make it move.
    for arrived in 1..=750 {
        let mut config = with(|p| p.buffers.window_reserve_shift = 2);
        config.transport_mut().receive_buffer = Some(Bytes::new(1000));
        let mut t = Script::established(&config);
        t.inject(&format!(". 1:{}({arrived}) ack 1", arrived + 1));
        t.wait_ms(40);
        t.leaving();
        t.read(5000);
        let told = t.leaving().pop().map_or(0, |ack| ack.wnd.0);
        let open = t.tcp.info().rcv_wnd.as_u64();
        assert!(open >= 375, "{arrived} read, {open} open, told {told}");
    }
}

#[test]
fn a_peer_without_scaling_is_offered_65535_and_not_told_of_more() {
    let mut config = with(|p| p.options.window_scaling = true);
    config.transport_mut().receive_buffer = Some(Bytes::new(1 << 20));
    let mut t = Script::connect(&config);
    t.expect("S 0:0(0) win 65535 <mss 1000,wscale 5>");
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.expect(". 1:1(0) ack 1 win 65535");
    for n in 0..10 {
        let start = 1 + n * 2000;
        t.inject(&format!(". {start}:{}(1000) ack 1", start + 1000));
        t.read(1000);
        t.expect_nothing();
        t.inject(&format!(". {}:{}(1000) ack 1", start + 1000, start + 2000));
        t.expect(&format!(". 1:1(0) ack {} win 65535", start + 2000));
        t.read(1000);
    }
}

/// Bytes the peer may send by the newest acknowledgment.
fn edge_on_wire(ack: &gigatcp_wire::Segment<gigatcp_wire::bytes::Bytes>, shift: u8) -> u64 {
    let WireWindow(field) = ack.wnd;
    let ack = ack.ack.distance_from(crate::script::PEER_ISS) as u64;
    ack + (u64::from(field) << shift)
}

#[test]
fn rounding_to_the_scale_neither_shrinks_the_window_by_a_unit_nor_keeps_it_open_for_ever() {
    let zeros = gigatcp_wire::bytes::Bytes::from(vec![0; 10_000_000]);
    for (shift, piece) in [
        (0, 7),
        (1, 5),
        (5, 1000),
        (7, 5),
        (7, 1000),
        (11, 1000),
        (14, 1000),
    ] {
        let mut config = with(|p| {
            p.options.window_scaling = true;
            p.acknowledgments.delayed_ack = false;
        });
        let buffer = (65_535_u64 << shift) - (5 << shift) / 2;
        config.transport_mut().receive_buffer = Some(Bytes::new(buffer));
        config.transport_mut().events = gigatcp_tcp::events::EventMask::NONE;
        let mut t = Script::connect(&config);
        t.leaving();
        t.inject("S. 0:0(0) ack 1 <mss 1000,wscale 0>");
        let mut edge = edge_on_wire(&t.leaving()[0], shift);
        let unit = 1 << shift;
        // Begin near the end: the rest of the buffer in one go.
        let most = buffer - (5000 << shift).min(buffer / 2);
        let mut sent = 0_u64;
        let start = 1 + sent;
        while sent + piece <= edge.saturating_sub(start) {
            let len = if sent + 20_000_000 < most {
                10_000_000
            } else {
                piece
            };
            let mut segment = gigatcp_wire::Segment {
                seq: crate::script::PEER_ISS + (1 + sent) as u32,
                ack: crate::script::ISS + 1,
                flags: gigatcp_wire::Flags::ACK,
                payload: zeros.slice(..len as usize),
                ..Default::default()
            };
            segment.wnd = WireWindow(1000);
            t.inject_segment(segment);
            sent += len;
            assert!(
                sent < buffer + unit,
                "shift {shift}: the window does not close"
            );
            for ack in t.leaving() {
                let now = edge_on_wire(&ack, shift);
                assert!(now + unit > edge, "shift {shift}: the window shrank");
                edge = edge.max(now);
            }
            if t.tcp.info().rcv_wnd.as_u64() < piece {
                break;
            }
        }
        assert!(t.tcp.readable() > buffer - 3 * unit - piece.max(1000));
    }
}

#[test]
fn what_was_offered_is_accepted_even_if_the_field_had_to_say_less() {
    let mut config = with(|p| {
        p.options.window_scaling = true;
        p.acknowledgments.delayed_ack = false;
    });
    config.transport_mut().receive_buffer = Some(Bytes::new(65_536 * 2));
    let mut t = Script::connect(&config);
    t.expect("S 0:0(0) win 65535 <mss 1000,wscale 2>");
    t.inject("S. 0:0(0) ack 1 <mss 1000,wscale 0>");
    t.expect(". 1:1(0) ack 1 win 32768");
    t.inject(". 1:131000(130999) ack 1");
    // Room for 73; the field can say 72 or 76.
    t.expect(". 1:1(0) ack 131000 win 19");
    t.inject(". 131000:131001(1) ack 1");
    // 75 are offered; 76 would go a whole unit beyond the buffer.
    t.expect(". 1:1(0) ack 131001 win 18");
    t.inject(". 131001:131076(75) ack 1");
    t.expect(". 1:1(0) ack 131076 win 0");
    assert_eq!(t.tcp.readable(), 131_072 + 3);
}

#[test]
fn a_buffer_smaller_than_one_unit_of_the_scale_opens_and_closes_by_that_unit() {
    // The scale comes from the largest buffer the host grants (Linux).
    let mut config = with(|p| {
        p.options.window_scaling = true;
        p.acknowledgments.delayed_ack = false;
        p.buffers.window_policy = gigatcp_tcp::profile::WindowPolicy::Grows;
    });
    config.transport_mut().receive_buffer = Some(Bytes::new(5000));
    let mut t = Script::connect(&config);
    t.expect("S 0:0(0) win 4000 <mss 1000,wscale 14>");
    t.inject("S. 0:0(0) ack 1 <mss 1000,wscale 0>");
    t.expect(". 1:1(0) ack 1 win 1");
    t.inject(". 1:5001(5000) ack 1");
    t.expect(". 1:1(0) ack 5001 win 0");
    // There is room again, and the peer must learn of it.
    t.read(5000);
    t.expect(". 1:1(0) ack 5001 win 1");
}

#[test]
fn the_window_of_linux_grows_by_two_segments_each_and_every_segment_is_acknowledged() {
    let mut config = with(|p| {
        p.buffers.window_policy = gigatcp_tcp::profile::WindowPolicy::Grows;
        p.options.window_scaling = true;
    });
    config.transport_mut().receive_buffer = Some(Bytes::new(65_535));
    let mut t = Script::connect(&config);
    t.leaving();
    t.inject("S. 0:0(0) ack 1 <mss 1000,wscale 0>");
    t.leaving();
    // 4 segments at first; 65 535 less one segment at last.
    let mut wnd = 4000;
    let mut start = 1;
    while wnd < 64_535 {
        t.inject(&format!(". {start}:{}(1000) ack 1", start + 1000));
        wnd = (wnd + 2000).min(64_535);
        start += 1000;
        // Edges move by whole units of the scale, 2^14 for this limit.
        let ack = t
            .leaving()
            .pop()
            .expect("an acknowledgment of every segment");
        assert_eq!(ack.ack, crate::script::PEER_ISS + start as u32);
        t.read(1000);
        t.leaving();
    }
    // Full: from now on every second one.
    for _ in 0..5 {
        t.inject(&format!(". {start}:{}(1000) ack 1", start + 1000));
        t.expect_nothing();
        t.read(1000);
        t.inject(&format!(". {}:{}(1000) ack 1", start + 1000, start + 2000));
        start += 2000;
        assert_eq!(t.leaving().len(), 1);
        t.read(1000);
    }
}

#[test]
fn a_window_that_grows_follows_what_arrives_in_super_segments_too() {
    let mut config = with(|p| p.buffers.window_policy = gigatcp_tcp::profile::WindowPolicy::Grows);
    config.transport_mut().receive_buffer = Some(Bytes::new(60_000));
    let mut t = Script::established(&config);
    let mut segment = crate::notation::read(
        ". 1:4001(4000) ack 1",
        crate::script::PEER_ISS,
        crate::script::ISS,
        1000,
    );
    segment.segment_size = MSS;
    t.inject_segment(segment);
    assert_eq!(t.leaving().len(), 1);
    t.read(4000);
    t.leaving();
    assert!(t.tcp.info().rcv_wnd.as_u64() >= 11_000);
}

#[test]
fn the_sender_fills_the_window_and_not_more() {
    let mut t = with_buffer(60_000);
    t.inject(". 1:1(0) ack 1 win 3500");
    t.write(20_000);
    // Three whole segments; the rest of the window is a silly one.
    t.expect_all(segments(0..3, 1));
    assert_eq!(t.limit(), gigatcp_tcp::events::Limit::ReceiveWindow);
    t.inject(". 1:1(0) ack 1001 win 3500");
    t.expect_all(segments(3..4, 1));
    t.inject(". 1:1(0) ack 4001 win 3500");
    t.expect_all(segments(4..7, 1));
}

#[test]
fn an_older_segment_does_not_move_the_window() {
    // SND.WL1 and SND.WL2.
    let mut t = with_buffer(60_000);
    t.write(2000);
    t.leaving();
    t.inject(". 1001:2001(1000) ack 1001 win 9000");
    t.leaving();
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 9000);
    t.inject(". 1:1001(1000) ack 1001 win 100");
    t.leaving();
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 9000);
    t.inject(". 2001:2001(0) ack 1 win 50");
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 9000);
    t.inject(". 2001:2001(0) ack 1001 win 8000");
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 8000);
    t.inject(". 2001:2001(0) ack 2001 win 0");
    assert_eq!(t.tcp.info().snd_wnd.as_u64(), 0);
}

#[test]
fn a_sender_without_nagle_uses_a_small_window_when_it_is_half_of_the_largest() {
    // RFC 9293 section 3.8.6.2.1 (3).
    let mut t = Script::connect(&bare());
    t.leaving();
    t.inject("S. 0:0(0) ack 1 win 800 <mss 1000>");
    t.leaving();
    t.write(3000);
    t.expect(". 1:801(800) ack 1");
    t.inject(". 1:1(0) ack 401 win 800");
    t.expect(". 801:1201(400) ack 1");
    t.inject(". 1:1(0) ack 600 win 800");
    t.expect_nothing();
}

#[test]
fn a_sender_that_avoids_silly_windows_waits_for_half_of_the_largest() {
    let mut t = Script::connect(&with(|p| p.segments.nagle = true));
    t.leaving();
    t.inject("S. 0:0(0) ack 1 win 800 <mss 1000>");
    t.leaving();
    t.write(3000);
    t.expect(". 1:801(800) ack 1");
    t.inject(". 1:1(0) ack 801 win 399");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 801 win 400");
    t.expect(". 801:1201(400) ack 1");
}

#[test]
fn a_sender_that_does_not_avoid_silly_windows_uses_every_crumb() {
    let mut t = Script::established(&with(|p| p.segments.silly_window_avoidance = false));
    t.inject(". 1:1(0) ack 1 win 1007");
    t.write(5000);
    t.expect(". 1:1001(1000) ack 1");
    t.expect(". 1001:1008(7) ack 1");
}

#[test]
fn a_window_taken_back_stops_new_data_but_not_the_repair_inside_it() {
    // RFC 9293 section 3.8.6: SHLD-15 to 18, MUST-34.
    let mut t = with_buffer(60_000);
    t.write(5000);
    t.leaving();
    t.inject(". 1:1(0) ack 1001 win 1500");
    t.write(5000);
    t.expect_nothing();
    t.wait_ms(200);
    t.expect(". 1001:2001(1000) ack 1");
    t.inject(". 1:1(0) ack 2001 win 60000");
    assert_eq!(t.state(), State::Established);
    assert!(!t.leaving().is_empty());
}

#[test]
fn a_fin_waits_for_room_in_the_window() {
    let mut t = with_buffer(60_000);
    t.inject(". 1:1(0) ack 1 win 1000");
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 1");
    t.close();
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1001 win 1");
    t.expect("F. 1001:1001(0) ack 1");
}

#[test]
fn a_fin_rides_only_where_it_has_room() {
    for (wnd, with_fin) in [(1000, false), (1001, true)] {
        let mut t = Script::accept(&bare(), &format!("S 0:0(0) win {wnd} <mss 1000>"));
        t.leaving();
        t.write(1000);
        t.close();
        t.inject(&format!(". 1:1(0) ack 1 win {wnd}"));
        t.expect(if with_fin {
            "FP. 1:1001(1000) ack 1"
        } else {
            "P. 1:1001(1000) ack 1"
        });
    }
}
