//! Text and FIN on a SYN: RFC 9293 sections 3.10.7.2 and 3.10.7.3.

use gigatcp_tcp::events::State;

use crate::script::{Script, bare, with};

#[test]
fn text_on_a_syn_waits_for_the_handshake_and_is_acknowledged_then() {
    let mut t = Script::accept(&bare(), "S 0:10(10)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    // Nobody reads it before the peer has proved where it is.
    assert_eq!((t.state(), t.tcp.readable()), (State::SynReceived, 0));
    t.inject(". 11:11(0) ack 1");
    assert_eq!((t.state(), t.read(100)), (State::Established, 10));
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 11");
}

#[test]
fn text_on_a_syn_that_comes_again_is_taken_once() {
    let mut t = Script::accept(&bare(), "S 0:10(10)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject("P. 1:21(20) ack 1");
    t.expect(". 1:1(0) ack 21");
    assert_eq!(t.read(100), 20);
}

#[test]
fn a_syn_with_text_again_brings_the_syn_ack_again() {
    let mut t = Script::accept(&bare(), "S 0:10(10)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject("S 0:10(10)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject(". 11:11(0) ack 1");
    assert_eq!(t.read(100), 10);
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 11");
}

#[test]
fn a_syn_with_text_and_fin_opens_delivers_and_closes() {
    for syn in ["FS 0:10(10)", "FS 0:0(0)"] {
        let mut t = Script::accept(&bare(), syn);
        t.expect("S. 0:0(0) ack 1 <mss 1000>");
        assert_eq!(t.state(), State::SynReceived);
        let octets = if syn.contains("10)") { 10 } else { 0 };
        let end = octets + 2;
        t.inject(&format!(". {end}:{end}(0) ack 1"));
        t.expect(&format!(". 1:1(0) ack {end}"));
        assert_eq!(t.state(), State::CloseWait);
        assert_eq!(t.read(100), octets);
        t.close();
        t.expect(&format!("F. 1:1(0) ack {end}"));
    }
}

#[test]
fn without_the_switch_a_fin_on_a_syn_is_left_to_come_again() {
    let mut t = Script::accept(&with(|p| p.opening.syn_text = false), "FS 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject(". 1:1(0) ack 1");
    assert_eq!(t.state(), State::Established);
    t.inject("F. 1:1(0) ack 1");
    t.expect(". 1:1(0) ack 2");
    assert_eq!(t.state(), State::CloseWait);
}

#[test]
fn text_on_a_syn_ack_is_taken_at_once() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("S. 0:10(10) ack 1 <mss 1000>");
    t.expect(". 1:1(0) ack 11");
    assert_eq!((t.state(), t.read(100)), (State::Established, 10));

    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("FS. 0:10(10) ack 1 <mss 1000>");
    t.expect(". 1:1(0) ack 12");
    assert_eq!((t.state(), t.read(100)), (State::CloseWait, 10));

    let mut t = Script::connect(&with(|p| p.opening.syn_ack_text = false));
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("FS. 0:10(10) ack 1 <mss 1000>");
    t.expect(". 1:1(0) ack 1");
    assert_eq!((t.state(), t.read(100)), (State::Established, 0));
}

#[test]
fn text_on_syns_that_cross_waits_on_both_sides() {
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("S 0:10(10) <mss 1000>");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    assert_eq!(t.tcp.readable(), 0);
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    assert_eq!((t.state(), t.read(100)), (State::Established, 10));
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 11");
}

#[test]
fn text_on_a_syn_beyond_the_window_is_cut_off() {
    let mut config = bare();
    config.transport_mut().receive_buffer = Some(gigatcp_units::Bytes::new(2000));
    let mut t = Script::accept(&config, "FS 0:2500(2500)");
    t.expect("S. 0:0(0) ack 1 win 2000 <mss 1000>");
    t.inject(". 1:1(0) ack 1");
    t.expect(". 1:1(0) ack 2001 win 0");
    assert_eq!((t.state(), t.read(5000)), (State::Established, 2000));
    t.expect(". 1:1(0) ack 2001 win 2000");
}
