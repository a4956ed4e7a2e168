//! TIME-WAIT and the next incarnation: RFC 6191, RFC 9293 MAY-2, RFC 1337.

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::connection::Predecessor;
use gigatcp_tcp::events::State;
use gigatcp_wire::SeqNumber;

use crate::notation;
use crate::script::{ISS, PEER_ISS, Script, bare, with};

/// In TIME-WAIT; the peer's FIN stood at offset 1, so RCV.NXT is 2. With
/// timestamps the peer's last was 50.
fn waiting(timestamps: bool) -> Script {
    let mut t = Script::established(&with(|p| p.options.timestamps = timestamps));
    t.close();
    let (fin, stamps) = if timestamps {
        ("F. 1:1(0) ack 1", " <TS val 50 ecr 1000>")
    } else {
        ("F. 1:1(0) ack 1", "")
    };
    t.expect(fin);
    t.inject(&format!("F. 1:1(0) ack 2{stamps}"));
    t.expect(". 2:2(0) ack 2");
    assert_eq!(t.state(), State::TimeWait);
    t
}

fn gives_way(t: &Script, syn: &str) -> bool {
    let segment = notation::read(syn, PEER_ISS, ISS, 1000);
    t.tcp.gives_way_to(&segment).is_some()
}

#[test]
fn without_timestamps_a_syn_must_begin_beyond_what_was_received() {
    // RFC 6191 section 2, second list.
    let t = waiting(false);
    for (syn, honored) in [
        ("S 2:2(0)", true),
        ("S 1000000:1000000(0)", true),
        ("S 1:1(0)", false),
        ("S 0:0(0)", false),
        ("S -9:-9(0)", false),
    ] {
        assert_eq!(gives_way(&t, syn), honored, "{syn}");
    }
}

#[test]
fn a_peer_that_brings_timestamps_now_and_had_none_is_no_ghost() {
    // The old incarnation had none because the peer did not offer them.
    let mut t = Script::connect(&with(|p| p.options.timestamps = true));
    t.leaving();
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.leaving();
    t.close();
    t.leaving();
    t.inject("F. 1:1(0) ack 2");
    t.leaving();
    assert_eq!(t.state(), State::TimeWait);
    assert!(gives_way(&t, "S -9:-9(0) <TS val 1 ecr 0>"));
    assert!(!gives_way(&t, "S -9:-9(0)"));
}

#[test]
fn with_timestamps_the_newer_one_decides_and_the_number_only_between_equal_ones() {
    // RFC 6191 section 2, first list.
    let t = waiting(true);
    for (syn, honored) in [
        ("S -9:-9(0) <TS val 51 ecr 0>", true),
        ("S 2:2(0) <TS val 50 ecr 0>", true),
        ("S 1:1(0) <TS val 50 ecr 0>", false),
        ("S 1000:1000(0) <TS val 49 ecr 0>", false),
        ("S 1000:1000(0)", true),
        ("S 1:1(0)", false),
    ] {
        assert_eq!(gives_way(&t, syn), honored, "{syn}");
    }
}

#[test]
fn only_a_plain_syn_in_time_wait_opens_anew_and_only_with_the_switch() {
    let mut t = waiting(false);
    for other in [
        "S. 1000:1000(0) ack 2",
        "RS 1000:1000(0)",
        ". 1000:1000(0) ack 2",
    ] {
        assert!(!gives_way(&t, other), "{other}");
    }
    t.wait_ms(60_000);
    assert_eq!(t.state(), State::Closed);
    assert!(!gives_way(&t, "S 1000:1000(0)"));

    let t = Script::established(&bare());
    assert!(!gives_way(&t, "S 1000:1000(0)"));

    let mut t = Script::established(&with(|p| p.closing.time_wait_reuse = false));
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject("F. 1:1(0) ack 2");
    t.expect(". 2:2(0) ack 2");
    assert!(!gives_way(&t, "S 1000:1000(0)"));
    // And is challenged: RFC 5961 section 4.
    t.inject("S 1000:1000(0)");
    t.expect(". 2:2(0) ack 2");
    t.inject("S -9:-9(0)");
    t.expect(". 2:2(0) ack 2");
}

#[test]
fn an_old_syn_in_time_wait_is_dropped_without_a_word() {
    let mut t = waiting(false);
    t.inject("S -9:-9(0)");
    t.expect_nothing();
    t.inject("S 1:1(0)");
    t.expect_nothing();
    assert_eq!(t.state(), State::TimeWait);
    // One that is later, where nobody listens, is challenged.
    t.inject("S 1000:1000(0)");
    t.expect(". 2:2(0) ack 2");
}

#[test]
fn the_new_incarnation_starts_beyond_the_numbers_of_the_old() {
    let t = waiting(false);
    let syn = notation::read("S 1000:1000(0)", PEER_ISS, ISS, 1000);
    let predecessor = t.tcp.gives_way_to(&syn).unwrap();
    assert_eq!(predecessor.snd_nxt, ISS + 2);
    for (own, expected) in [
        // Beyond already: kept. Not beyond: more than a window on.
        (ISS + 3, ISS + 3),
        (ISS + 2, ISS + 2 + 65_537),
        (ISS, ISS + 2 + 65_537),
    ] {
        let config = ConnectionConfig { iss: own, ..bare() };
        assert_eq!(predecessor.followed_by(&config).iss, expected);
    }
    let wrapped = Predecessor {
        snd_nxt: SeqNumber::new(u32::MAX - 1),
    };
    let config = ConnectionConfig {
        iss: SeqNumber::new(5),
        ..bare()
    };
    assert_eq!(wrapped.followed_by(&config).iss, SeqNumber::new(5));
}

#[test]
fn an_active_open_may_follow_after_a_second_where_timestamps_tell_it_apart() {
    let mut t = waiting(true);
    assert!(t.tcp.gives_way_to_reconnect(t.now).is_none());
    t.wait_ms(999);
    assert!(t.tcp.gives_way_to_reconnect(t.now).is_none());
    t.wait_ms(1);
    assert!(t.tcp.gives_way_to_reconnect(t.now).is_some());

    let mut t = waiting(false);
    t.wait_ms(30_000);
    assert!(t.tcp.gives_way_to_reconnect(t.now).is_none());
}

#[test]
fn a_reset_does_not_assassinate_time_wait() {
    // RFC 1337 section 3, F1.
    let mut t = waiting(false);
    t.inject("R 2:2(0)");
    t.expect_nothing();
    assert_eq!(t.state(), State::TimeWait);

    let mut t = Script::established(&with(|p| p.closing.time_wait_ignores_reset = false));
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject("F. 1:1(0) ack 2");
    t.expect(". 2:2(0) ack 2");
    t.inject("R 2:2(0)");
    assert_eq!((t.state(), t.tcp.failure()), (State::Closed, None));
}
