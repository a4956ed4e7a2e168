//! The listener of a server: its queues, limits and timers.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gigatcp_tcp::events::State;
use gigatcp_tcp::listener::{Accepted, Listener, ListenerConfig};
use gigatcp_tcp::profile::SynCookies;
use gigatcp_tcp::{Connection, ConnectionConfig, FourTuple, Profile, Received, Secret};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Endpoints, Flags, IcmpError, IcmpKind, Segment, SeqNumber};

use crate::notation;
use crate::script::{PEER_ISS, bare, with};

/// Answers of a listener are compared with [`PEER_ISS`] as the client's.
pub struct Server {
    pub listener: Listener<Bytes>,
    pub now: Instant,
    /// Our initial sequence number towards the client spoken to last.
    pub iss: SeqNumber,
}

/// A client by its number, over IPv4 or IPv6: who sends to whom.
pub fn client(number: u32, v6: bool) -> Endpoints {
    if v6 {
        Endpoints::V6 {
            src: Ipv6Addr::from(0x2001_0db8_u128 << 96 | u128::from(number)),
            dst: Ipv6Addr::from(0x2001_0db8_u128 << 96 | 1 << 64),
        }
    } else {
        Endpoints::V4 {
            src: Ipv4Addr::from(0x0b00_0000 + number),
            dst: Ipv4Addr::new(10, 0, 0, 1),
        }
    }
}

pub fn config(change: impl FnOnce(&mut Profile)) -> ListenerConfig {
    ListenerConfig {
        transport: with(|p| {
            p.opening.syn_cookies = SynCookies::Off;
            change(p);
        })
        .transport,
        secret: Secret::new(*b"0123456789abcdef"),
        backlog: 8,
        accept_backlog: 4,
        fast_open_backlog: 2,
        abort_on_overflow: false,
    }
}

impl Server {
    pub fn new(config: ListenerConfig) -> Self {
        Self {
            listener: Listener::new(config),
            now: Instant::from_nanos(1_000_000_000_000),
            iss: SeqNumber::new(0),
        }
    }

    /// `text` arrives from a client; gives what leaves, in the same notation.
    pub fn hear(&mut self, from: Endpoints, text: &str) -> Vec<String> {
        let mut segment = notation::read(text, PEER_ISS, self.iss, 65_535);
        (segment.src_port, segment.dst_port) = (4000, 80);
        self.hear_segment(from, segment)
    }

    pub fn hear_segment(&mut self, from: Endpoints, segment: Segment<Bytes>) -> Vec<String> {
        let at = self.now;
        let received = Received { at, segment };
        self.listener.handle_segment(at, from, received);
        self.leaving()
    }

    pub fn leaving(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some((_, segment)) = self.listener.poll_transmit(self.now) {
            if segment.flags.contains(Flags::SYN) {
                self.iss = segment.seq;
            }
            assert_eq!((segment.src_port, segment.dst_port), (80, 4000));
            all.push(notation::write(&segment, self.iss, PEER_ISS, ""));
        }
        all
    }

    pub fn wait_ms(&mut self, ms: u64) -> Vec<String> {
        let until = self.now + Duration::from_millis(ms);
        let mut all = Vec::new();
        while let Some(due) = self.listener.poll_timeout().filter(|due| *due <= until) {
            self.now = due;
            self.listener.handle_timeout(self.now);
            all.extend(self.leaving());
            let next = self.listener.poll_timeout();
            assert!(next.is_none_or(|next| next > due));
        }
        self.now = until;
        all
    }

    /// The whole handshake of a client; gives what left in answer to its ACK.
    pub fn open(&mut self, from: Endpoints) -> Vec<String> {
        assert_eq!(self.hear(from, "S 0:0(0) <mss 1000>").len(), 1);
        self.hear(from, ". 1:1(0) ack 1")
    }

    pub fn accept(&mut self) -> Option<Accepted<Bytes>> {
        self.listener.poll_accept()
    }
}

pub const SYN_ACK: &str = "S. 0:0(0) ack 1 <mss 1000>";

/// [`SYN_ACK`] over IPv6, whose header leaves 20 octets less.
const SYN_ACK_V6: &str = "S. 0:0(0) ack 1 <mss 980>";

#[test]
fn three_segments_open_a_connection_over_both_families() {
    for v6 in [false, true] {
        let mut server = Server::new(config(|_| {}));
        let from = client(1, v6);
        let syn_ack = if v6 { SYN_ACK_V6 } else { SYN_ACK };
        assert_eq!(server.hear(from, "S 0:0(0) <mss 1460>"), [syn_ack]);
        assert_eq!(
            (server.listener.half_open(), server.listener.acceptable()),
            (1, 0)
        );
        assert!(server.accept().is_none());
        server.now += Duration::from_millis(30);
        assert!(server.hear(from, ". 1:1(0) ack 1 win 7000").is_empty());
        assert_eq!(
            (server.listener.half_open(), server.listener.acceptable()),
            (0, 1)
        );
        let accepted = server.accept().unwrap();
        let tuple = FourTuple {
            endpoints: from.reversed(),
            local_port: 80,
            remote_port: 4000,
        };
        assert_eq!(accepted.tuple, tuple);
        let info = accepted.connection.info();
        assert_eq!(info.state, State::Established);
        assert_eq!(info.srtt, Some(Duration::from_millis(30)));
        assert_eq!(info.snd_wnd.as_u64(), 7000);
        assert_eq!(server.listener.poll_timeout(), None);
        assert!(!server.listener.knows(&tuple));
    }
}

#[test]
fn a_connection_made_anew_is_the_one_that_was_never_put_away() {
    let profile = |p: &mut Profile| {
        let syn_cookies = SynCookies::Off;
        *p = Profile::MODERN.with(|profile| {
            profile.opening.syn_cookies = syn_cookies;
        });
    };
    let mut server = Server::new(config(profile));
    let syn = "S 0:0(0) win 9000 <mss 1460,sackOK,TS val 5 ecr 0,wscale 7>";
    let from = client(1, false);
    let tuple = FourTuple::of_arrival(from, &notation::read(syn, PEER_ISS, PEER_ISS, 1));
    let started = server.now;
    server.hear(from, syn);
    server.wait_ms(1000);
    let mut ack = notation::read(
        ". 1:1(0) ack 1 win 300 <TS val 6 ecr 1>",
        PEER_ISS,
        server.iss,
        1,
    );
    (ack.src_port, ack.dst_port) = (4000, 80);
    server.hear_segment(from, ack.clone());
    let mine = server.accept().unwrap().connection;

    let isn = gigatcp_tcp::IsnGenerator::new(Secret::new(*b"0123456789abcdef"));
    let tuple = FourTuple {
        local_port: 80,
        remote_port: 4000,
        ..tuple
    };
    let identified = isn.identify(started, &tuple, &with(profile).transport);
    let mut segment = notation::read(syn, PEER_ISS, PEER_ISS, 1);
    (segment.src_port, segment.dst_port) = (4000, 80);
    let received = Received {
        at: started,
        segment,
    };
    let mut kept: Connection<Bytes> =
        Connection::accept(started, &identified, &received).expect("a SYN");
    while kept.poll_transmit(started).is_some() {}
    let again = started + Duration::from_secs(1);
    kept.handle_timeout(again);
    while kept.poll_transmit(again).is_some() {}
    let received = Received {
        at: again,
        segment: ack,
    };
    kept.handle_segment(again, received);
    assert_eq!(format!("{:?}", mine.info()), format!("{:?}", kept.info()));
    assert_eq!(
        format!("{:?}", mine.counters()),
        format!("{:?}", kept.counters())
    );
    assert_eq!(mine.established_at(), kept.established_at());
}

#[test]
fn a_syn_ack_is_sent_after_1_3_7_15_31_63_seconds_and_given_up_after_127() {
    let mut server = Server::new(config(|p| p.opening.syn_retries = 6));
    server.hear(client(1, false), "S 0:0(0) <mss 1000>");
    for seconds in [1, 2, 4, 8, 16, 32] {
        assert!(server.wait_ms(seconds * 1000 - 1).is_empty());
        assert_eq!(server.wait_ms(1), [SYN_ACK]);
    }
    assert!(server.wait_ms(63_999).is_empty());
    assert_eq!(server.listener.half_open(), 1);
    assert!(server.wait_ms(1).is_empty());
    assert_eq!(server.listener.half_open(), 0);
    assert_eq!(server.listener.poll_timeout(), None);
    let counters = server.listener.counters();
    assert_eq!(
        (
            counters.syn_acks,
            counters.retransmissions,
            counters.expired
        ),
        (7, 6, 1)
    );
}

#[test]
fn the_syn_again_brings_the_same_syn_ack_and_no_second_connection() {
    let mut server = Server::new(config(|_| {}));
    let from = client(1, false);
    server.hear(from, "S 0:0(0) <mss 1000>");
    let iss = server.iss;
    server.now += Duration::from_millis(500);
    assert_eq!(server.hear(from, "S 0:0(0) <mss 1000>"), [SYN_ACK]);
    assert_eq!((server.iss, server.listener.half_open()), (iss, 1));
    server.hear(from, ". 1:1(0) ack 1");
    // Which SYN-ACK is acknowledged is not known: no sample.
    assert_eq!(server.accept().unwrap().connection.info().srtt, None);
}

#[test]
fn the_syn_again_puts_the_next_syn_ack_off_and_counts_as_no_timeout() {
    let mut server = Server::new(config(|p| p.opening.syn_retries = 2));
    let from = client(1, false);
    server.hear(from, "S 0:0(0) <mss 1000>");
    assert!(server.wait_ms(900).is_empty());
    assert_eq!(server.hear(from, "S 0:0(0) <mss 1000>"), [SYN_ACK]);
    assert!(server.wait_ms(999).is_empty());
    assert_eq!(server.wait_ms(1), [SYN_ACK]);
    assert!(server.wait_ms(1999).is_empty());
    assert_eq!(server.wait_ms(1), [SYN_ACK]);
    let counters = server.listener.counters();
    assert_eq!((counters.syn_acks, counters.retransmissions), (4, 2));
}

#[test]
fn a_syn_that_is_older_than_the_first_does_not_put_the_next_syn_ack_off() {
    let mut server = Server::new(config(|p| p.options.timestamps = true));
    let from = client(1, false);
    server.hear(from, "S 0:0(0) <mss 1000,TS val 900 ecr 0>");
    assert!(server.wait_ms(100).is_empty());
    let answer = server.hear(from, "S 0:0(0) <mss 1000,TS val 5 ecr 0>");
    assert!(
        answer.iter().all(|text| text.starts_with(". ")),
        "{answer:?}"
    );
    assert!(server.wait_ms(899).is_empty());
    let again = server.wait_ms(1);
    assert!(again[0].starts_with("S. ") && again.len() == 1, "{again:?}");
    let counters = server.listener.counters();
    assert_eq!((counters.syn_acks, counters.retransmissions), (2, 1));
}

#[test]
fn resets_end_a_half_open_connection_only_with_the_right_number() {
    let mut server = Server::new(config(|_| {}));
    let from = client(1, false);
    server.hear(from, "S 0:0(0) <mss 1000>");
    assert!(server.hear(from, "R -5:-5(0)").is_empty());
    assert_eq!(server.hear(from, "R 77:77(0)"), [". 1:1(0) ack 1"]);
    assert_eq!(server.hear(from, ". 1:1(0) ack 9"), ["R 9:9(0)"]);
    assert_eq!(server.listener.half_open(), 1);
    assert!(server.hear(from, "R 1:1(0)").is_empty());
    assert_eq!(server.listener.half_open(), 0);
    assert_eq!(server.listener.poll_timeout(), None);
}

#[test]
fn a_listener_ignores_resets_resets_acknowledgments_and_drops_the_rest() {
    let mut server = Server::new(config(|_| {}));
    let from = client(1, true);
    for text in ["R 0:0(0)", "R. 0:0(0) ack 1", "F 0:0(0)", "P 0:10(10)"] {
        assert!(server.hear(from, text).is_empty(), "{text}");
    }
    for text in [". 0:0(0) ack 5", "S. 0:0(0) ack 5", "F. 0:0(0) ack 5"] {
        assert_eq!(server.hear(from, text), ["R 5:5(0)"], "{text}");
    }
    assert_eq!(server.listener.half_open(), 0);
}

#[test]
fn a_syn_to_or_from_many_hosts_at_once_is_dropped() {
    // RFC 9293 MUST-57, MUST-63.
    let v4 = |text: &str| IpAddr::V4(text.parse().unwrap());
    let v6 = |text: &str| IpAddr::V6(text.parse().unwrap());
    let mut server = Server::new(config(|_| {}));
    for (src, dst) in [
        (v4("10.0.0.2"), v4("255.255.255.255")),
        (v4("10.0.0.2"), v4("224.0.0.1")),
        (v4("224.0.0.1"), v4("10.0.0.1")),
        (v4("0.0.0.0"), v4("10.0.0.1")),
        (v6("fe80::1"), v6("ff02::1")),
        (v6("ff02::1"), v6("fe80::1")),
        (v6("::"), v6("fe80::1")),
    ] {
        let endpoints = Endpoints::new(src, dst).unwrap();
        assert!(server.hear(endpoints, "S 0:0(0)").is_empty());
        assert!(server.hear(endpoints, ". 0:0(0) ack 1").is_empty());
    }
    assert_eq!(server.listener.half_open(), 0);
}

#[test]
fn a_full_backlog_drops_syns_until_one_of_its_own_has_waited_in_vain() {
    let mut server = Server::new(config(|_| {}));
    for n in 0..8 {
        assert_eq!(
            server.hear(client(n, false), "S 0:0(0) <mss 1000>").len(),
            1
        );
    }
    assert!(
        server
            .hear(client(100, false), "S 0:0(0) <mss 1000>")
            .is_empty()
    );
    assert_eq!(server.listener.counters().backlog_overflows, 1);
    assert_eq!(server.wait_ms(1000).len(), 8);
    assert_eq!(
        server.hear(client(100, false), "S 0:0(0) <mss 1000>").len(),
        1
    );
    assert_eq!(server.listener.half_open(), 8);
    assert_eq!(server.listener.counters().evicted, 1);
}

#[test]
fn half_open_connections_are_given_up_sooner_while_the_queue_is_more_than_half_full() {
    let mut server = Server::new(config(|_| {}));
    for n in 0..8 {
        server.hear(client(n, false), "S 0:0(0) <mss 1000>");
    }
    // Two retransmissions, at 1 s and 3 s; at 7 s the fifth of the eight
    // brings the queue down to half, and the rest go on.
    assert_eq!(server.wait_ms(3000).len(), 16);
    assert_eq!(server.wait_ms(4000).len(), 4);
    assert_eq!(server.listener.half_open(), 4);
    assert_eq!(server.listener.counters().expired, 4);
}

#[test]
fn a_handshake_that_finds_the_accept_queue_full_gets_another_chance() {
    let mut server = Server::new(config(|_| {}));
    server.hear(client(9, false), "S 0:0(0) <mss 1000>");
    let iss = server.iss;
    for n in 0..4 {
        server.open(client(n, false));
    }
    assert_eq!(server.listener.acceptable(), 4);
    server.iss = iss;
    assert!(server.hear(client(9, false), ". 1:1(0) ack 1").is_empty());
    assert_eq!(
        (server.listener.half_open(), server.listener.acceptable()),
        (1, 4)
    );
    // Nor is anything new begun.
    assert!(
        server
            .hear(client(10, false), "S 0:0(0) <mss 1000>")
            .is_empty()
    );
    assert_eq!(server.listener.counters().accept_overflows, 2);
    server.accept().unwrap();
    assert_eq!(server.wait_ms(1000), [SYN_ACK]);
    assert!(server.hear(client(9, false), ". 1:1(0) ack 1").is_empty());
    assert_eq!(
        (server.listener.half_open(), server.listener.acceptable()),
        (0, 4)
    );
}

#[test]
fn or_is_reset_where_that_is_wished() {
    let mut server = Server::new(ListenerConfig {
        abort_on_overflow: true,
        accept_backlog: 1,
        ..config(|_| {})
    });
    server.hear(client(9, false), "S 0:0(0) <mss 1000>");
    let iss = server.iss;
    server.open(client(1, false));
    server.iss = iss;
    assert_eq!(
        server.hear(client(9, false), ". 1:1(0) ack 1"),
        ["R 1:1(0)"]
    );
    assert_eq!(server.listener.half_open(), 0);
    assert_eq!(server.wait_ms(200_000), Vec::<String>::new());
}

#[test]
fn connections_that_wait_to_be_accepted_go_on_living() {
    let mut server = Server::new(config(|_| {}));
    let from = client(1, false);
    server.open(from);
    assert!(server.hear(from, "P. 1:101(100) ack 1").is_empty());
    assert_eq!(server.wait_ms(40), [". 1:1(0) ack 101"]);
    assert_eq!(
        server.hear(from, "F. 101:101(0) ack 1"),
        [". 1:1(0) ack 102"]
    );
    let mut accepted = server.accept().unwrap().connection;
    assert_eq!(accepted.state(), State::CloseWait);
    assert_eq!(accepted.read(server.now, 1000).unwrap().len(), 100);
    // One that dies there is accepted too, and tells why.
    server.open(from);
    assert!(server.hear(from, "R 1:1(0)").is_empty());
    let accepted = server.accept().unwrap().connection;
    assert_eq!(accepted.failure(), Some(gigatcp_tcp::Failure::Reset));
    assert!(server.accept().is_none());
}

#[test]
fn connections_are_told_apart_by_every_part_of_their_name() {
    let mut server = Server::new(ListenerConfig {
        backlog: 100,
        ..config(|_| {})
    });
    let mut numbers = std::collections::BTreeSet::new();
    for (n, v6, port) in [
        (1, false, 4000),
        (1, false, 4001),
        (2, false, 4000),
        (1, true, 4000),
    ] {
        let mut syn = notation::read("S 0:0(0)", PEER_ISS, PEER_ISS, 1);
        (syn.src_port, syn.dst_port) = (port, 80);
        let at = server.now;
        let received = Received { at, segment: syn };
        server.listener.handle_segment(at, client(n, v6), received);
        let (endpoints, syn_ack) = server.listener.poll_transmit(at).unwrap();
        assert_eq!(endpoints, client(n, v6).reversed());
        assert_eq!(syn_ack.dst_port, port);
        numbers.insert(syn_ack.seq.as_u32());
    }
    assert_eq!((server.listener.half_open(), numbers.len()), (4, 4));
}

#[test]
fn one_may_listen_on_a_port_from_which_connections_are_being_opened() {
    // RFC 9293 MUST-42: in SYN-SENT as well as in SYN-RECEIVED.
    let config = config(|_| {});
    let own = ConnectionConfig {
        transport: config.transport.clone(),
        local_port: 80,
        ..bare()
    };
    let mut opening = crate::script::Script::connect(&own);
    opening.expect("S 0:0(0) <mss 1000>");
    let mut server = Server::new(config);
    assert_eq!(
        server.hear(client(1, false), "S 0:0(0) <mss 1000>"),
        [SYN_ACK]
    );
    assert_eq!(server.listener.half_open(), 1);
    server.open(client(2, false));
    let accepted = server.accept().expect("the second client").connection;
    assert_eq!(accepted.state(), State::Established);
    assert_eq!(opening.state(), State::SynSent);
    opening.inject("S. 0:0(0) ack 1 <mss 1000>");
    opening.expect(". 1:1(0) ack 1");
    assert_eq!(opening.state(), State::Established);
}

#[test]
fn text_on_a_syn_is_kept_up_to_one_segment() {
    let mut server = Server::new(config(|_| {}));
    let from = client(1, false);
    assert_eq!(server.hear(from, "S 0:1500(1500) <mss 1000>"), [SYN_ACK]);
    assert_eq!(server.wait_ms(1000), [SYN_ACK]);
    server.hear(from, ". 1:1(0) ack 1");
    assert_eq!(server.accept().unwrap().connection.readable(), 1000);
}

#[test]
fn another_syn_in_the_window_returns_a_half_open_connection_to_listen() {
    // RFC 9293 section 3.10.7.4, fourth; RFC 793 answered with a reset.
    for (challenge_ack, answers) in [(true, 0), (false, 1)] {
        let mut server = Server::new(config(|p| {
            p.defense.challenge_ack = challenge_ack;
            p.defense.challenge_syn = challenge_ack;
        }));
        let from = client(1, false);
        server.hear(from, "S 0:0(0) <mss 1000>");
        let answered = server.hear(from, "S 5000:5000(0) <mss 1000>");
        assert_eq!(answered.len(), answers, "{answered:?}");
        assert_eq!(server.listener.half_open(), 0);
        assert_eq!(server.listener.poll_timeout(), None);
        let again = server.hear(from, "S 5000:5000(0) <mss 1000>");
        assert_eq!(again, ["S. 0:0(0) ack 5001 <mss 1000>"]);
    }
}

#[test]
fn a_hard_icmp_error_about_the_syn_ack_ends_what_is_half_open_and_nothing_else_does() {
    for v6 in [false, true] {
        let mut server = Server::new(config(|_| {}));
        let from = client(1, v6);
        server.hear(from, "S 0:0(0) <mss 1000>");
        let tuple = FourTuple {
            endpoints: from.reversed(),
            local_port: 80,
            remote_port: 4000,
        };
        let (now, seq) = (server.now, server.iss);
        let mut hears = |tuple: FourTuple, kind, seq| {
            let listener = &mut server.listener;
            listener.handle_icmp(now, &tuple, IcmpError { kind, seq });
            listener.half_open()
        };
        let stranger = FourTuple {
            remote_port: 4001,
            ..tuple
        };
        assert_eq!(hears(stranger, IcmpKind::PortUnreachable, seq), 1);
        assert_eq!(hears(tuple, IcmpKind::HostUnreachable, seq), 1);
        assert_eq!(hears(tuple, IcmpKind::TooBig { mtu: 100 }, seq), 1);
        assert_eq!(hears(tuple, IcmpKind::PortUnreachable, seq + 1), 1);
        assert_eq!(hears(tuple, IcmpKind::PortUnreachable, seq), 0);
        assert_eq!(server.listener.counters().unreachable, 1);
        assert!(server.wait_ms(100_000).is_empty());
    }
}

#[test]
fn an_icmp_error_reaches_a_connection_that_waits_to_be_accepted() {
    let mut server = Server::new(config(|_| {}));
    let from = client(1, false);
    server.open(from);
    let tuple = FourTuple {
        endpoints: from.reversed(),
        local_port: 80,
        remote_port: 4000,
    };
    let error = IcmpError {
        kind: IcmpKind::HostUnreachable,
        seq: server.iss + 1,
    };
    server.listener.handle_icmp(server.now, &tuple, error);
    // Nothing is in flight that it could be about.
    let accepted = server.accept().unwrap();
    assert_eq!(accepted.connection.counters().icmp_errors_ignored, 1);
}

#[test]
fn a_connection_in_time_wait_gives_way_and_stays_until_the_new_one_stands() {
    let mut server = Server::new(config(|_| {}));
    let from = client(1, false);
    server.open(from);
    let mut old = server.accept().unwrap();
    let iss = server.iss;
    old.connection.shutdown(server.now);
    while old.connection.poll_transmit(server.now).is_some() {}
    let now = server.now;
    let segment = notation::read("F. 1:1(0) ack 2", PEER_ISS, iss, 65_535);
    old.connection
        .handle_segment(now, Received { at: now, segment });
    while old.connection.poll_transmit(now).is_some() {}
    assert_eq!(old.connection.state(), State::TimeWait);

    let mut syn = notation::read("S 50000:50000(0) <mss 1000>", PEER_ISS, iss, 65_535);
    (syn.src_port, syn.dst_port) = (4000, 80);
    let predecessor = old.connection.gives_way_to(&syn).unwrap();
    let received = Received {
        at: now,
        segment: syn,
    };
    server
        .listener
        .handle_syn_after(now, from, received, &predecessor);
    assert!(server.listener.knows(&old.tuple));
    assert_eq!(server.leaving(), ["S. 0:0(0) ack 50001 <mss 1000>"]);
    assert!(server.iss.distance_from(iss) > 2, "beyond the old numbers");
    // An old duplicate after all: the client resets, and nothing has changed.
    server.hear(from, "R 50001:50001(0)");
    assert!(!server.listener.knows(&old.tuple));
    assert_eq!(old.connection.state(), State::TimeWait);
}

#[test]
fn a_million_syns_cost_no_more_room_than_the_backlog() {
    for cookies in [SynCookies::Off, SynCookies::WhenFull, SynCookies::Always] {
        let mut server = Server::new(ListenerConfig {
            backlog: 256,
            ..config(|p| {
                *p = Profile::MODERN;
                p.opening.syn_cookies = cookies;
            })
        });
        let mut syn = notation::read(
            "S 0:0(0) <mss 1460,sackOK,TS val 1 ecr 0,wscale 7>",
            PEER_ISS,
            PEER_ISS,
            1,
        );
        (syn.src_port, syn.dst_port) = (4000, 80);
        let mut answers = 0;
        for n in 0..1_000_000 {
            let received = Received {
                at: server.now,
                segment: syn.clone(),
            };
            server
                .listener
                .handle_segment(server.now, client(n, n % 2 == 0), received);
            if n % 1000 == 0 {
                server.now += Duration::from_millis(1);
                let due = server.listener.poll_timeout();
                if due.is_some_and(|due| due <= server.now) {
                    server.listener.handle_timeout(server.now);
                }
            }
            // A driver that asks, and one that does not: nothing piles up.
            while n % 3000 == 0 && server.listener.poll_transmit(server.now).is_some() {
                answers += 1;
            }
            assert!(server.listener.half_open() <= 256);
        }
        assert!(answers <= 1024 * 334, "{answers} waited");
        assert_eq!(server.listener.counters().syns, 1_000_000);
        // In the midst of it an honest client gets through where cookies are.
        while server.listener.poll_transmit(server.now).is_some() {}
        let from = client(5_000_000, false);
        let answered = server.hear(from, "S 0:0(0) <mss 1000>").len() == 1;
        assert_eq!(answered, cookies != SynCookies::Off);
        if answered {
            server.hear(from, ". 1:1(0) ack 1");
            assert_eq!(server.listener.acceptable(), 1);
        }
    }
}
