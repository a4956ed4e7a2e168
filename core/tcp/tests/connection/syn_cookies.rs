//! SYN cookies: RFC 4987 section 3.6.

use std::sync::Arc;

use gigatcp_tcp::Profile;
use gigatcp_tcp::events::State;
use gigatcp_tcp::profile::SynCookies;
use gigatcp_units::Duration;
use gigatcp_wire::{Segment, SeqNumber, Timestamps};

use crate::listener::{Server, client, config};
use crate::notation;
use crate::script::PEER_ISS;

fn modern(when: SynCookies) -> Server {
    Server::new(config(|p| {
        *p = Profile::MODERN;
        p.opening.syn_cookies = when;
    }))
}

/// The acknowledgment of the last SYN-ACK, `syn_ack`, which it echoes.
fn ack_of(syn_ack: &Segment<gigatcp_wire::bytes::Bytes>) -> Segment<gigatcp_wire::bytes::Bytes> {
    let mut ack = notation::read(". 1:1(0) ack 1", PEER_ISS, syn_ack.seq, 500);
    (ack.src_port, ack.dst_port) = (4000, 80);
    ack.options.timestamps = syn_ack.options.timestamps.map(|stamps| Timestamps {
        val: 8,
        ecr: stamps.val,
    });
    ack
}

/// A SYN arrives; gives the SYN-ACK itself.
fn answer_to(
    server: &mut Server,
    number: u32,
    v6: bool,
    syn: &str,
) -> Segment<gigatcp_wire::bytes::Bytes> {
    let mut segment = notation::read(syn, PEER_ISS, SeqNumber::new(0), 65_535);
    (segment.src_port, segment.dst_port) = (4000, 80);
    let at = server.now;
    let received = gigatcp_tcp::Received { at, segment };
    server
        .listener
        .handle_segment(at, client(number, v6), received);
    server.listener.poll_transmit(at).expect("a SYN-ACK").1
}

#[test]
fn a_cookie_remembers_what_the_listener_forgot() {
    for v6 in [false, true] {
        for sack in [false, true] {
            for scale in [None, Some(0), Some(7), Some(14)] {
                let mut server = modern(SynCookies::Always);
                let mut syn = String::from("S 0:0(0) <mss 1440,TS val 7 ecr 0");
                syn += if sack { ",sackOK" } else { "" };
                syn += &scale.map_or(String::new(), |shift| format!(",wscale {shift}"));
                let syn_ack = answer_to(&mut server, 1, v6, &format!("{syn}>"));
                assert_eq!(server.listener.half_open(), 0);
                assert_eq!(syn_ack.options.sack_permitted, sack);
                assert_eq!(syn_ack.options.window_scale.is_some(), scale.is_some());
                server.now += Duration::from_millis(80);
                server.hear_segment(client(1, v6), ack_of(&syn_ack));
                let connection = server.accept().expect("a connection").connection;
                let info = connection.info();
                assert_eq!(info.state, State::Established);
                assert_eq!((info.sack, info.timestamps), (sack, true));
                let shift = scale.unwrap_or(0);
                assert_eq!(info.window_scale.0, shift);
                assert_eq!(info.snd_wnd.as_u64(), 500 << shift);
                // Our own MSS is 1000, and 20 less over IPv6; timestamps take 12 of them.
                let smss = if v6 { 968 } else { 988 };
                assert_eq!((info.smss, info.srtt), (smss, None));
            }
        }
    }
}

#[test]
fn without_timestamps_there_is_no_room_for_options_and_none_are_offered() {
    let mut server = modern(SynCookies::Always);
    let syn_ack = answer_to(&mut server, 1, false, "S 0:0(0) <mss 536,sackOK,wscale 7>");
    assert_eq!(syn_ack.options.window_scale, None);
    assert!(!syn_ack.options.sack_permitted);
    server.hear_segment(client(1, false), ack_of(&syn_ack));
    let info = server.accept().unwrap().connection.info();
    assert_eq!(
        (info.sack, info.window_scale, info.smss),
        (false, (0, 0), 536)
    );
}

#[test]
fn the_mss_is_rounded_down_to_one_of_the_table() {
    for (v6, offered, taken) in [
        (false, None, 536),
        // 28, and no segment is below `mss_min`.
        (false, Some(100), 48),
        (false, Some(535), 216),
        (false, Some(536), 536),
        (false, Some(1299), 536),
        (false, Some(1300), 1300),
        (false, Some(1452), 1440),
        (false, Some(1460), 1460),
        (false, Some(8000), 1460),
        (false, Some(65_535), 8960),
        (true, None, 1220),
        (true, Some(600), 536),
        (true, Some(1400), 1220),
        (true, Some(1440), 1440),
        (true, Some(8960), 8940),
    ] {
        let mut config = config(|p| {
            p.opening.syn_cookies = SynCookies::Always;
            p.closing.time_wait_reuse = true;
        });
        Arc::make_mut(&mut config.transport).mtu = 9060;
        let mut server = Server::new(config);
        let option = offered.map_or(String::new(), |mss| format!(" <mss {mss}>"));
        let syn_ack = answer_to(&mut server, 1, v6, &format!("S 0:0(0){option}"));
        server.hear_segment(client(1, v6), ack_of(&syn_ack));
        let connection = server.accept().unwrap().connection;
        assert_eq!(connection.info().smss, taken, "{v6} {offered:?}");
    }
}

#[test]
fn the_mark_in_the_timestamp_sets_it_back_by_less_than_64_and_never_forward() {
    for ms in 0..200 {
        let mut server = modern(SynCookies::Always);
        server.now += Duration::from_millis(ms);
        let syn = "S 0:0(0) <mss 1000,sackOK,TS val 7 ecr 0,wscale 9>";
        let marked = answer_to(&mut server, 1, false, syn)
            .options
            .timestamps
            .unwrap();
        let mut plain = modern(SynCookies::Off);
        plain.now += Duration::from_millis(ms);
        let clock = answer_to(&mut plain, 1, false, syn)
            .options
            .timestamps
            .unwrap();
        assert!(
            clock.val.wrapping_sub(marked.val) < 64,
            "{marked:?} {clock:?}"
        );
        assert_eq!(marked.val & 0x3f, 0x19);
    }
}

#[test]
fn a_cookie_lives_for_two_to_three_periods_of_64_seconds() {
    for (seconds, good) in [(0, true), (127, true), (192, false), (1000, false)] {
        for within in [0, 20, 40, 63] {
            let mut server = modern(SynCookies::Always);
            server.now += Duration::from_secs(within);
            let syn_ack = answer_to(&mut server, 1, false, "S 0:0(0) <mss 1000>");
            server.now += Duration::from_secs(seconds);
            let answer = server.hear_segment(client(1, false), ack_of(&syn_ack));
            assert_eq!(server.accept().is_some(), good, "after {seconds} s");
            assert_eq!(answer.is_empty(), good);
        }
    }
}

#[test]
fn a_cookie_opens_for_its_client_and_its_numbers_alone() {
    let mut server = modern(SynCookies::Always);
    let syn_ack = answer_to(&mut server, 1, false, "S 0:0(0) <mss 1000>");
    let good = ack_of(&syn_ack);
    let mut wrong = Vec::new();
    wrong.push((client(2, false), good.clone()));
    wrong.push((client(1, true), good.clone()));
    let mut other = good.clone();
    other.src_port += 1;
    wrong.push((client(1, false), other));
    for step in [1, u32::MAX, 1 << 24, 1 << 31] {
        let mut other = good.clone();
        other.seq += step;
        wrong.push((client(1, false), other));
        let mut other = good.clone();
        // Sixteen further on, or back, is beyond the table of MSS.
        other.ack += match step {
            1 => 16,
            u32::MAX => u32::MAX - 15,
            step => step,
        };
        wrong.push((client(1, false), other));
    }
    for (n, (from, ack)) in wrong.into_iter().enumerate() {
        let at = server.now;
        let received = gigatcp_tcp::Received { at, segment: ack };
        server.listener.handle_segment(at, from, received);
        // Not even a reset, which would end what the true one opens.
        assert!(server.listener.poll_transmit(at).is_none(), "{n}");
        assert!(server.accept().is_none(), "{n}");
    }
    server.hear_segment(client(1, false), good);
    assert!(server.accept().is_some());
}

#[test]
fn what_overtakes_the_first_is_not_reset_and_the_first_opens() {
    let mut server = modern(SynCookies::Always);
    let syn_ack = answer_to(&mut server, 1, false, "S 0:0(0) <mss 1000>");
    let mut late = ack_of(&syn_ack);
    late.seq += 1000;
    late.payload = notation::octets(1001, 1000);
    assert!(
        server
            .hear_segment(client(1, false), late.clone())
            .is_empty()
    );
    let mut first = ack_of(&syn_ack);
    first.payload = notation::octets(1, 1000);
    server.hear_segment(client(1, false), first);
    assert_eq!(server.accept().unwrap().connection.readable(), 1000);
    // Once no cookie can be good any more, it is.
    server.now += Duration::from_secs(193);
    assert_eq!(server.hear_segment(client(1, false), late).len(), 1);
}

#[test]
fn guessing_a_hundred_thousand_times_opens_nothing() {
    let mut server = modern(SynCookies::Always);
    answer_to(&mut server, 1, false, "S 0:0(0) <mss 1000>");
    for n in 0..100_000_u32 {
        let mut ack = notation::read(
            ". 1:1(0) ack 1",
            PEER_ISS,
            SeqNumber::new(n.wrapping_mul(0x9e37_79b9)),
            1,
        );
        (ack.src_port, ack.dst_port) = (4000, 80);
        server.hear_segment(client(n, false), ack);
    }
    assert_eq!(server.listener.counters().cookies_bad, 100_000);
    assert!(server.accept().is_none());
}

#[test]
fn cookies_come_into_play_when_the_backlog_is_full_and_nobody_looks_for_them_before() {
    let mut server = Server::new(config(|p| p.opening.syn_cookies = SynCookies::WhenFull));
    server.hear(client(50, false), ". 1:1(0) ack 1");
    assert_eq!(server.listener.counters().cookies_bad, 0);
    for n in 0..20 {
        assert_eq!(
            server.hear(client(n, false), "S 0:0(0) <mss 1000>").len(),
            1
        );
    }
    let counters = server.listener.counters();
    assert_eq!(
        (server.listener.half_open(), counters.cookies_sent),
        (8, 12)
    );
    // The last of them completes its handshake, with text.
    server.hear(client(19, false), "P. 1:101(100) ack 1");
    let accepted = server.accept().unwrap().connection;
    assert_eq!(accepted.readable(), 100);
    assert_eq!(server.listener.counters().cookies_good, 1);
}

#[test]
fn a_cookie_that_finds_the_accept_queue_full_is_good_later() {
    let mut server = Server::new(config(|p| p.opening.syn_cookies = SynCookies::Always));
    let mut waiting = Vec::new();
    for n in 0..5 {
        waiting.push(answer_to(&mut server, n, false, "S 0:0(0) <mss 1000>"));
    }
    for (n, syn_ack) in waiting.iter().enumerate() {
        server.hear_segment(client(n as u32, false), ack_of(syn_ack));
    }
    assert_eq!(server.listener.acceptable(), 4);
    server.accept().unwrap();
    server.hear_segment(client(4, false), ack_of(&waiting[4]));
    assert_eq!(server.listener.acceptable(), 4);
}

#[test]
fn of_a_cookie_and_a_remembered_answer_to_one_syn_either_opens() {
    let syn = "S 0:0(0) <mss 1000,sackOK,TS val 7 ecr 0,wscale 9>";
    for v6 in [false, true] {
        for takes_cookie in [true, false] {
            let mut config = config(|p| {
                *p = Profile::MODERN;
                p.opening.syn_cookies = SynCookies::WhenFull;
            });
            config.backlog = 1;
            let mut server = Server::new(config);
            let in_the_way = answer_to(&mut server, 1, v6, syn);
            let cookie = answer_to(&mut server, 2, v6, syn);
            assert_eq!(server.listener.counters().cookies_sent, 1);
            server.hear_segment(client(1, v6), ack_of(&in_the_way));
            server.accept().expect("the one that was in the way");
            // The SYN of the other comes again, and there is room now.
            server.now += Duration::from_secs(1);
            let remembered = answer_to(&mut server, 2, v6, syn);
            assert_eq!(server.listener.half_open(), 1);
            assert_ne!(cookie.seq, remembered.seq);
            let neither = Segment {
                ack: remembered.seq + 2,
                ..ack_of(&remembered)
            };
            let answer = server.hear_segment(client(2, v6), neither);
            assert!(
                answer[0].starts_with("R "),
                "as without cookies: {answer:?}"
            );
            let taken = if takes_cookie { cookie } else { remembered };
            if takes_cookie {
                let mut overtaking = ack_of(&taken);
                overtaking.seq += 1000;
                overtaking.payload = notation::octets(1001, 1000);
                assert_eq!(server.hear_segment(client(2, v6), overtaking), [""; 0]);
            }
            let answer = server.hear_segment(client(2, v6), ack_of(&taken));
            assert!(answer.is_empty(), "{answer:?}");
            assert_eq!(server.listener.half_open(), 0);
            let counters = server.listener.counters();
            assert_eq!(counters.cookies_good, u64::from(takes_cookie));
            let info = server.accept().expect("a connection").connection.info();
            assert_eq!(info.state, State::Established);
            assert_eq!((info.sack, info.window_scale.0), (true, 9));
            assert_eq!(server.wait_ms(5000), [""; 0], "nobody is left half-open");
        }
    }
}
