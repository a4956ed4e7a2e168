//! Fast Open at a listener: RFC 7413 sections 4.1.2, 4.2.2 and 5.1.

use gigatcp_tcp::events::State;
use gigatcp_tcp::{Received, Secret};

use crate::listener::{SYN_ACK, Server, client, config};
use crate::notation;
use crate::script::PEER_ISS;

/// A server that has given a cookie to `number`; the text of the option.
fn granted(server: &mut Server, number: u32, v6: bool) -> String {
    let from = client(number, v6);
    let answer = server.hear(from, "S 0:0(0) <mss 1000,FO>").remove(0);
    let (_, cookie) = answer.split_once(",FO ").expect("a cookie");
    server.hear(from, ". 1:1(0) ack 1");
    server.accept().expect("a regular handshake");
    format!("FO {}", cookie.trim_end_matches('>'))
}

#[test]
fn a_cookie_is_granted_and_lets_text_through_the_next_time() {
    for v6 in [false, true] {
        let mut server = Server::new(config(|_| {}));
        let cookie = granted(&mut server, 1, v6);
        assert_eq!(cookie.len(), "FO ".len() + 16, "8 octets");
        let from = client(1, v6);
        let syn = format!("S 0:100(100) <mss 1000,{cookie}>");
        let mss = if v6 { 980 } else { 1000 };
        let syn_ack = format!("S. 0:0(0) ack 101 <mss {mss}>");
        assert_eq!(server.hear(from, &syn), [syn_ack]);
        let mut connection = server.accept().unwrap().connection;
        assert_eq!(connection.state(), State::SynReceived);
        assert_eq!(connection.read(server.now, 500).unwrap().len(), 100);
        assert_eq!(server.listener.counters().fast_opens, 1);
    }
}

#[test]
fn the_experimental_option_is_answered_in_kind() {
    let mut server = Server::new(config(|_| {}));
    let answer = server.hear(client(1, false), "S 0:0(0) <mss 1000,FOEXP>");
    assert!(answer[0].contains(",FOEXP "), "{answer:?}");
    let cookie = answer[0].split_once(",").unwrap().1;
    let syn = format!("S 0:100(100) <mss 1000,{cookie}");
    server.hear(client(1, false), "R 1:1(0)");
    assert_eq!(
        server.hear(client(1, false), &syn),
        ["S. 0:0(0) ack 101 <mss 1000>"]
    );
}

#[test]
fn a_bad_cookie_leads_to_a_regular_handshake_and_a_new_cookie() {
    let mut server = Server::new(config(|_| {}));
    let good = granted(&mut server, 1, false);
    let of_another = granted(&mut server, 2, false);
    for bad in ["FO 0102030405060708", "FO 01020304", of_another.as_str()] {
        let from = client(1, false);
        let answer = server.hear(from, &format!("S 0:100(100) <mss 1000,{bad}>"));
        assert_eq!(answer, [format!("S. 0:0(0) ack 1 <mss 1000,{good}>")]);
        assert!(server.accept().is_none());
        // Its text waits for the handshake, as without Fast Open.
        server.hear(from, ". 101:101(0) ack 1");
        assert_eq!(server.accept().unwrap().connection.readable(), 100);
    }
    assert_eq!(server.listener.counters().fast_open_bad, 3);
}

#[test]
fn a_change_of_key_is_survived_by_the_cookies_of_the_last() {
    let mut server = Server::new(config(|_| {}));
    let old = granted(&mut server, 1, false);
    server.listener.change_fast_open_key(Secret::new([9; 16]));
    let syn = format!("S 0:100(100) <mss 1000,{old}>");
    let answer = server.hear(client(1, false), &syn);
    assert!(
        answer[0].starts_with("S. 0:0(0) ack 101 <mss 1000,FO "),
        "{answer:?}"
    );
    assert!(!answer[0].contains(&old));
    server.listener.change_fast_open_key(Secret::new([8; 16]));
    let answer = server.hear(client(3, false), &syn);
    assert!(answer[0].starts_with("S. 0:0(0) ack 1 "), "{answer:?}");
}

#[test]
fn so_many_may_be_under_way_and_one_that_is_reset_counts_for_another_minute() {
    let mut server = Server::new(config(|_| {}));
    let cookies: Vec<String> = (0..4).map(|n| granted(&mut server, n, false)).collect();
    let syn = |n: usize| format!("S 0:100(100) <mss 1000,{}>", cookies[n]);
    let fast = "S. 0:0(0) ack 101 <mss 1000>";
    assert_eq!(server.hear(client(0, false), &syn(0)), [fast]);
    let mut first = server.accept().unwrap().connection;
    assert_eq!(server.hear(client(1, false), &syn(1)), [fast]);
    // The limit of two, wherever the connections are by now.
    assert_eq!(server.hear(client(2, false), &syn(2)), [SYN_ACK]);
    assert_eq!(server.listener.counters().fast_open_overflows, 1);
    server.hear(client(2, false), "R 1:1(0)");
    // One completes: there is room.
    let at = server.now + gigatcp_units::Duration::from_secs(1);
    first.handle_timeout(at);
    let again = first.poll_transmit(at).expect("the SYN-ACK again");
    let segment = notation::read(". 101:101(0) ack 1", PEER_ISS, again.seq, 1000);
    first.handle_segment(at, Received { at, segment });
    assert_eq!(first.state(), State::Established);
    assert_eq!(server.hear(client(2, false), &syn(2)), [fast]);
    // One is reset: it counts on.
    server.hear(client(2, false), "R 101:101(0)");
    assert_eq!(server.hear(client(3, false), &syn(3)), [SYN_ACK]);
    server.hear(client(3, false), "R 1:1(0)");
    server.wait_ms(60_000);
    while server.accept().is_some() {}
    assert_eq!(server.hear(client(3, false), &syn(3)), [fast]);
}

#[test]
fn without_the_switch_the_option_is_as_if_it_were_not_there() {
    let mut server = Server::new(config(|p| p.opening.fast_open_server = false));
    assert_eq!(
        server.hear(client(1, false), "S 0:0(0) <mss 1000,FO>"),
        [SYN_ACK]
    );
    let syn = "S 0:100(100) <mss 1000,FO 0102030405060708>";
    assert_eq!(server.hear(client(2, false), syn), [SYN_ACK]);
    assert_eq!(server.listener.counters().fast_open_bad, 0);
}
