//! TCP Fast Open in a connection: RFC 7413.

use gigatcp_tcp::events::State;
use gigatcp_tcp::fast_open::{FastOpenOffer, FastOpenOutcome};
use gigatcp_tcp::{Connection, ConnectionConfig, Received};
use gigatcp_units::Instant;
use gigatcp_wire::{FastOpenCookie, IcmpKind};

use crate::icmp::icmp;
use crate::notation;
use crate::script::{ISS, PEER_ISS, Script, bare, with};

const COOKIE: &str = "FO 0102030405060708";

fn cookie() -> FastOpenCookie {
    FastOpenCookie::new(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap()
}

/// An active open that has written `octets` and offers `cookie`.
fn opening(config: &ConnectionConfig, octets: usize, cookie: FastOpenCookie, mss: u16) -> Script {
    let now = Instant::from_nanos(1_000_000_000);
    let mut tcp = Connection::connect(now, config);
    assert_eq!(tcp.write(notation::octets(1, octets)), Ok(octets));
    assert!(tcp.offer_fast_open(&FastOpenOffer { cookie, mss }));
    Script::new(tcp, now)
}

fn outcome(t: &Script) -> FastOpenOutcome {
    t.tcp.fast_open_outcome().unwrap()
}

/// A passive open by `syn`, whose cookie was found good.
fn accepted(config: &ConnectionConfig, syn: &str) -> Script {
    let now = Instant::from_nanos(1_000_000_000);
    let received = Received {
        at: now,
        segment: notation::read(syn, PEER_ISS, ISS, 65_535),
    };
    let tcp = Connection::accept_fast_open(now, config, &received, None, true);
    Script::new(tcp.expect("a SYN"), now)
}

#[test]
fn the_first_connection_asks_for_a_cookie_and_keeps_its_text_back() {
    // RFC 7413 section 3, figure 1.
    let mut t = opening(&bare(), 100, FastOpenCookie::REQUEST, 536);
    t.expect("S 0:0(0) <mss 1000,FO>");
    t.inject(&format!("S. 0:0(0) ack 1 <mss 1000,{COOKIE}>"));
    t.expect("P. 1:101(100) ack 1");
    let expected = FastOpenOutcome {
        cookie: Some(cookie()),
        mss: Some(1000),
        answered: true,
        ..FastOpenOutcome::default()
    };
    assert_eq!(outcome(&t), expected);
    assert!(!outcome(&t).is_negative());
}

#[test]
fn later_connections_carry_their_text_on_the_syn() {
    let mut t = opening(&bare(), 100, cookie(), 1460);
    t.expect(&format!("S 0:100(100) <mss 1000,{COOKIE}>"));
    t.wait_ms(20);
    t.inject("S. 0:0(0) ack 101 <mss 1000>");
    t.expect(". 101:101(0) ack 1");
    let now = outcome(&t);
    assert_eq!(
        (now.text_sent, now.text_acked, now.cookie),
        (100, 100, None)
    );
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn a_good_cookie_without_text_opens_fast_and_counts_as_no_text_taken() {
    // RFC 7413 section 4.2.2: the server may answer early anyway.
    let mut t = accepted(&bare(), &format!("S 0:0(0) win 65535 <mss 1000,{COOKIE}>"));
    assert!(t.tcp.is_opened_fast() && !t.tcp.info().syn_text_taken);
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.write(100);
    t.expect("P. 1:101(100) ack 1");
    let mut t = accepted(&bare(), &format!("S 0:5(5) win 65535 <mss 1000,{COOKIE}>"));
    t.expect("S. 0:0(0) ack 6 <mss 1000>");
    assert!(t.tcp.info().syn_text_taken);
}

#[test]
fn a_syn_carries_what_fits_beside_its_options_and_the_rest_follows() {
    // MSS option 4 octets, Fast Open 10 and 2 of padding.
    let mut t = opening(&bare(), 2000, cookie(), 536);
    t.expect(&format!("S 0:520(520) <mss 1000,{COOKIE}>"));
    t.inject("S. 0:0(0) ack 521 <mss 1000>");
    t.expect(". 521:1521(1000) ack 1");
    t.expect("P. 1521:2001(480) ack 1");
    // Never more than our own MSS.
    let mut t = opening(&bare(), 2000, cookie(), 9000);
    t.expect(&format!("S 0:984(984) <mss 1000,{COOKIE}>"));
}

#[test]
fn text_that_the_syn_ack_does_not_acknowledge_leaves_again_at_once() {
    // RFC 7413 section 4.2.2: the server found the cookie bad, or had no room.
    let mut t = opening(&bare(), 100, cookie(), 1460);
    t.expect(&format!("S 0:100(100) <mss 1000,{COOKIE}>"));
    t.wait_ms(20);
    t.inject("S. 0:0(0) ack 1 <mss 1000,FO 0808080808080808>");
    t.expect("P. 1:101(100) ack 1");
    let now = outcome(&t);
    assert_eq!((now.text_sent, now.text_acked), (100, 0));
    assert_eq!(now.cookie, FastOpenCookie::new(&[8; 8]));
    assert_eq!(t.cwnd(), 10.0);
    t.inject(". 1:1(0) ack 101");
    assert_eq!(t.tcp.poll_timeout(), None);

    // Acknowledged in part.
    let mut t = opening(&bare(), 100, cookie(), 1460);
    t.leaving();
    t.inject("S. 0:0(0) ack 61 <mss 1000>");
    t.expect("P. 61:101(40) ack 1");
}

#[test]
fn a_syn_with_text_that_is_lost_is_followed_by_a_plain_one() {
    // RFC 7413 section 4.2.1: middleboxes that drop such SYNs cost one timeout.
    let mut t = opening(&bare(), 100, cookie(), 1460);
    t.expect(&format!("S 0:100(100) <mss 1000,{COOKIE}>"));
    t.wait_ms(1000);
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.expect("P. 1:101(100) ack 1");
    let now = outcome(&t);
    assert!(now.timed_out && now.answered && now.text_acked == 0);
}

#[test]
fn only_the_syn_ack_may_have_been_lost_and_then_no_text_is_sent_twice() {
    let mut t = opening(&bare(), 100, cookie(), 1460);
    t.leaving();
    t.wait_ms(1000);
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("S. 0:0(0) ack 101 <mss 1000>");
    t.expect(". 101:101(0) ack 1");
}

#[test]
fn an_acknowledgment_beyond_the_text_of_the_syn_is_reset() {
    let mut t = opening(&bare(), 100, cookie(), 1460);
    t.leaving();
    t.inject("S. 0:0(0) ack 102 <mss 1000>");
    t.expect("R 102:102(0)");
    t.inject("S. 0:0(0) ack 0 <mss 1000>");
    t.expect("R 0:0(0)");
    assert_eq!(t.state(), State::SynSent);
}

#[test]
fn without_the_switch_or_after_the_syn_nothing_is_offered() {
    let offer = FastOpenOffer {
        cookie: cookie(),
        mss: 1460,
    };
    let mut t = Script::connect(&with(|p| p.opening.fast_open_client = false));
    t.leaving();
    assert!(!t.tcp.offer_fast_open(&offer));
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    assert!(!t.tcp.offer_fast_open(&offer));
}

#[test]
fn a_server_with_a_good_cookie_reads_and_answers_before_the_handshake_is_complete() {
    let mut t = accepted(&bare(), &format!("S 0:100(100) <mss 1000,{COOKIE}>"));
    t.expect("S. 0:0(0) ack 101 <mss 1000>");
    assert_eq!((t.state(), t.read(1000)), (State::SynReceived, 100));
    t.write(1500);
    t.expect(". 1:1001(1000) ack 101");
    t.expect("P. 1001:1501(500) ack 101");
    t.wait_ms(20);
    t.inject(". 101:101(0) ack 1");
    assert_eq!(t.state(), State::Established);
    t.inject(". 101:101(0) ack 1501");
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn the_acknowledgment_of_early_data_completes_the_handshake_too() {
    let mut t = accepted(&bare(), "S 0:100(100) <mss 1000>");
    t.leaving();
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 101");
    t.inject(". 101:101(0) ack 1001");
    assert_eq!(t.state(), State::Established);
    assert_eq!(t.tcp.info().snd_una, 1001);
    assert_eq!(t.tcp.poll_timeout(), None);
    assert_eq!(t.read(1000), 100);
}

#[test]
fn early_data_that_is_lost_comes_again_after_the_handshake() {
    let mut t = accepted(&bare(), "S 0:100(100) <mss 1000>");
    t.leaving();
    t.write(1000);
    t.leaving();
    t.wait_ms(1000);
    t.expect("S. 0:0(0) ack 101 <mss 1000>");
    t.inject(". 101:101(0) ack 1");
    assert_eq!(t.state(), State::Established);
    t.wait_ms(3000);
    t.expect("P. 1:1001(1000) ack 101");
}

#[test]
fn a_syn_with_text_again_is_answered_and_not_read_again() {
    let syn = "S 0:100(100) <mss 1000>";
    let mut t = accepted(&bare(), syn);
    t.leaving();
    assert_eq!(t.read(1000), 100);
    t.inject(syn);
    t.expect("S. 0:0(0) ack 101 <mss 1000>");
    t.inject("S 0:0(0) <mss 1000>");
    t.expect("S. 0:0(0) ack 101 <mss 1000>");
    t.inject(". 101:101(0) ack 1");
    assert_eq!(t.read(1000), 0);
}

#[test]
fn a_fin_of_either_side_waits_for_the_handshake() {
    let mut t = accepted(&bare(), "FS 0:100(100) <mss 1000>");
    t.expect("S. 0:0(0) ack 101 <mss 1000>");
    assert_eq!((t.state(), t.read(1000)), (State::SynReceived, 100));
    t.write(10);
    t.close();
    t.expect("P. 1:11(10) ack 101");
    t.inject(". 102:102(0) ack 1");
    t.expect("F. 11:11(0) ack 102");
    t.inject(". 102:102(0) ack 12");
    t.wait_ms(0);
    assert_eq!(t.state(), State::TimeWait);
}

#[test]
fn a_peer_with_a_closed_window_gets_no_early_data_and_the_handshake_goes_on() {
    let mut t = accepted(&bare(), "S 0:100(100) win 0 <mss 1000>");
    t.expect("S. 0:0(0) ack 101 <mss 1000>");
    t.write(10);
    t.expect_nothing();
    t.wait_ms(1000);
    t.expect("S. 0:0(0) ack 101 <mss 1000>");
    t.inject(". 101:101(0) ack 1 win 5000");
    t.expect("P. 1:11(10) ack 101");
}

#[test]
fn a_grant_rides_on_every_syn_ack() {
    let now = Instant::from_nanos(1_000_000_000);
    let received = Received {
        at: now,
        segment: notation::read("S 0:0(0) <mss 1000,FO>", PEER_ISS, ISS, 65_535),
    };
    let tcp = Connection::accept_fast_open(now, &bare(), &received, Some(cookie()), false);
    let mut t = Script::new(tcp.expect("a SYN"), now);
    t.expect(&format!("S. 0:0(0) ack 1 <mss 1000,{COOKIE}>"));
    t.wait_ms(1000);
    t.expect(&format!("S. 0:0(0) ack 1 <mss 1000,{COOKIE}>"));
    t.write(100);
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1");
    t.expect("P. 1:101(100) ack 1");
}

#[test]
fn a_syn_that_is_never_answered_and_one_that_an_error_answers_are_negative_responses() {
    // RFC 7413 section 4.1.3.1.
    let mut t = opening(&bare(), 100, cookie(), 1460);
    t.leaving();
    assert!(!outcome(&t).is_negative());
    t.wait_ms(1000);
    t.leaving();
    let silent = FastOpenOutcome {
        text_sent: 100,
        timed_out: true,
        ..FastOpenOutcome::default()
    };
    assert_eq!(outcome(&t), silent);
    assert!(silent.is_negative());
    for kind in [IcmpKind::HostUnreachable, IcmpKind::PortUnreachable] {
        let mut t = opening(&bare(), 100, cookie(), 1460);
        t.leaving();
        icmp(&mut t, kind, 0);
        let expected = FastOpenOutcome {
            text_sent: 100,
            icmp_error: true,
            ..FastOpenOutcome::default()
        };
        assert_eq!(outcome(&t), expected, "{kind:?}");
        assert!(expected.is_negative());
    }
}

#[test]
fn when_syns_cross_an_acknowledgment_of_the_text_counts() {
    // RFC 9293 section 3.10.7.4, fifth: SYN-RECEIVED goes on with SEG.ACK.
    for answer in ["S. 0:0(0) ack 101 <mss 1000>", ". 1:1(0) ack 101"] {
        let mut t = opening(&bare(), 100, cookie(), 1460);
        t.leaving();
        t.inject("S 0:0(0) <mss 1000>");
        t.expect("S. 0:0(0) ack 1 <mss 1000>");
        t.inject(answer);
        t.expect_nothing();
        assert_eq!(t.state(), State::Established);
        assert_eq!(t.tcp.info().snd_una, 101);
        assert_eq!(outcome(&t).text_acked, 100);
        assert_eq!(t.tcp.poll_timeout(), None);
    }
    // What is not acknowledged leaves again at once.
    let mut t = opening(&bare(), 100, cookie(), 1460);
    t.leaving();
    t.inject("S 0:0(0) <mss 1000>");
    t.leaving();
    t.inject(". 1:1(0) ack 61");
    t.expect("P. 61:101(40) ack 1");
}

#[test]
fn a_syn_with_text_that_is_too_big_for_the_path_leaves_again_without_and_smss_follows() {
    // RFC 1191 section 3: the estimate falls in SYN-SENT too.
    let mut config = bare();
    config.transport_mut().profile.path_mtu.pmtud = true;
    let mut t = opening(&config, 2000, cookie(), 1460);
    t.expect(&format!("S 0:984(984) <mss 1000,{COOKIE}>"));
    icmp(&mut t, IcmpKind::TooBig { mtu: 640 }, 0);
    t.expect("S 0:0(0) <mss 1000>");
    // The SYN without text is no larger than any link takes.
    icmp(&mut t, IcmpKind::TooBig { mtu: 640 }, 0);
    t.expect_nothing();
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    assert_eq!((t.tcp.info().path_mtu, t.tcp.info().smss), (640, 600));
    t.expect_all([
        ". 1:601(600) ack 1",
        ". 601:985(384) ack 1",
        ". 985:1585(600) ack 1",
        "P. 1585:2001(416) ack 1",
    ]);
    assert!(outcome(&t).is_negative());
}

#[test]
fn early_data_that_is_too_big_leaves_again_in_segments_that_fit() {
    // RFC 8201 section 4, in SYN-RECEIVED.
    let mut config = bare();
    config.transport_mut().profile.path_mtu.pmtud = true;
    let mut t = accepted(&config, "S 0:100(100) <mss 1000>");
    t.leaving();
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 101");
    icmp(&mut t, IcmpKind::TooBig { mtu: 640 }, 1);
    assert_eq!(t.state(), State::SynReceived);
    t.expect_all([". 1:601(600) ack 101", "P. 601:1001(400) ack 101"]);
    t.inject(". 101:101(0) ack 1001");
    assert_eq!(t.state(), State::Established);
    assert_eq!(t.tcp.info().smss, 600);
}
