//! The figures of RFC 9293 sections 3.5 and 3.5.1, number by number, and a
//! connection of a socket with itself.

use gigatcp_tcp::events::State;
use gigatcp_tcp::listener::{self, ListenOutcome};
use gigatcp_tcp::{Connection, ConnectionConfig, Failure, Received};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, Segment, SeqNumber};

use crate::notation;
use crate::script::bare;

const NOW: Instant = Instant::from_nanos(1_000_000_000);

fn config(iss: u32) -> ConnectionConfig {
    ConnectionConfig {
        iss: SeqNumber::new(iss),
        ..bare()
    }
}

/// A segment as the figures write it.
fn drawn(segment: &Segment<Bytes>) -> String {
    let mut text = format!("<SEQ={}>", segment.seq.as_u32());
    if segment.flags.contains(Flags::ACK) {
        text += &format!("<ACK={}>", segment.ack.as_u32());
    }
    if !segment.payload.is_empty() {
        text += &format!("<DATA={}>", segment.payload.len());
    }
    let controls = [
        (Flags::SYN, "SYN"),
        (Flags::FIN, "FIN"),
        (Flags::RST, "RST"),
        (Flags::ACK, "ACK"),
    ];
    let names: Vec<&str> = controls
        .iter()
        .filter(|(flag, _)| segment.flags.contains(*flag))
        .map(|(_, name)| *name)
        .collect();
    text + &format!("<CTL={}>", names.join(","))
}

/// The one segment that leaves, which is this one.
#[track_caller]
fn sends(tcp: &mut Connection<Bytes>, text: &str) -> Segment<Bytes> {
    let segment = tcp.poll_transmit(NOW).expect(text);
    assert_eq!(drawn(&segment), text);
    assert!(tcp.poll_transmit(NOW).is_none());
    segment
}

#[track_caller]
fn hears(tcp: &mut Connection<Bytes>, segment: &Segment<Bytes>, state: State) {
    let received = Received {
        at: NOW,
        segment: segment.clone(),
    };
    tcp.handle_segment(NOW, received);
    assert_eq!(tcp.state(), state);
}

/// A host that listens hears `segment`.
fn listens(iss: u32, segment: &Segment<Bytes>) -> ListenOutcome<Bytes> {
    let received = Received {
        at: NOW,
        segment: segment.clone(),
    };
    listener::handle_segment(NOW, &config(iss), &received)
}

#[track_caller]
fn opens(iss: u32, syn: &Segment<Bytes>) -> Connection<Bytes> {
    let ListenOutcome::Opened(tcp) = listens(iss, syn) else {
        panic!("no connection");
    };
    assert_eq!(tcp.state(), State::SynReceived);
    *tcp
}

#[track_caller]
fn resets(segment: &Segment<Bytes>, text: &str) -> Segment<Bytes> {
    let ListenOutcome::Reset(reset) = listens(1, segment) else {
        panic!("no reset");
    };
    assert_eq!(drawn(&reset), text);
    reset
}

/// Both sides of an open connection: A sends from 100 on, B from 300 on.
fn established() -> (Connection<Bytes>, Connection<Bytes>) {
    let mut a = Connection::connect(NOW, &config(99));
    let mut b = opens(299, &sends(&mut a, "<SEQ=99><CTL=SYN>"));
    hears(
        &mut a,
        &sends(&mut b, "<SEQ=299><ACK=100><CTL=SYN,ACK>"),
        State::Established,
    );
    hears(
        &mut b,
        &sends(&mut a, "<SEQ=100><ACK=300><CTL=ACK>"),
        State::Established,
    );
    (a, b)
}

#[test]
fn figure_6_the_basic_handshake() {
    let mut a = Connection::connect(NOW, &config(100));
    assert_eq!(a.state(), State::SynSent);
    let mut b = opens(300, &sends(&mut a, "<SEQ=100><CTL=SYN>"));
    let answer = sends(&mut b, "<SEQ=300><ACK=101><CTL=SYN,ACK>");
    hears(&mut a, &answer, State::Established);
    let ack = sends(&mut a, "<SEQ=101><ACK=301><CTL=ACK>");
    hears(&mut b, &ack, State::Established);
    assert_eq!(a.write(notation::octets(1, 10)), Ok(10));
    // The acknowledgment took no sequence number.
    let data = sends(&mut a, "<SEQ=101><ACK=301><DATA=10><CTL=ACK>");
    hears(&mut b, &data, State::Established);
}

#[test]
fn figure_7_two_syns_that_cross() {
    let mut a = Connection::connect(NOW, &config(100));
    let mut b = Connection::connect(NOW, &config(300));
    let from_a = sends(&mut a, "<SEQ=100><CTL=SYN>");
    let from_b = sends(&mut b, "<SEQ=300><CTL=SYN>");
    hears(&mut a, &from_b, State::SynReceived);
    hears(&mut b, &from_a, State::SynReceived);
    let from_a = sends(&mut a, "<SEQ=100><ACK=301><CTL=SYN,ACK>");
    let from_b = sends(&mut b, "<SEQ=300><ACK=101><CTL=SYN,ACK>");
    hears(&mut b, &from_a, State::Established);
    hears(&mut a, &from_b, State::Established);
    assert!(a.poll_transmit(NOW).is_none() && b.poll_transmit(NOW).is_none());
}

#[test]
fn figure_8_an_old_duplicate_syn() {
    let mut a = Connection::connect(NOW, &config(100));
    let late = sends(&mut a, "<SEQ=100><CTL=SYN>");
    let old = Segment {
        seq: SeqNumber::new(90),
        ..late.clone()
    };
    let mut b = opens(300, &old);
    hears(
        &mut a,
        &sends(&mut b, "<SEQ=300><ACK=91><CTL=SYN,ACK>"),
        State::SynSent,
    );
    // A finds the acknowledgment wrong; its reset sends B back to LISTEN.
    hears(&mut b, &sends(&mut a, "<SEQ=91><CTL=RST>"), State::Closed);
    let mut b = opens(400, &late);
    hears(
        &mut a,
        &sends(&mut b, "<SEQ=400><ACK=101><CTL=SYN,ACK>"),
        State::Established,
    );
    hears(
        &mut b,
        &sends(&mut a, "<SEQ=101><ACK=401><CTL=ACK>"),
        State::Established,
    );
}

#[test]
fn figure_9_a_crash_is_discovered_by_the_side_that_opens_anew() {
    let (_crashed, mut b) = established();
    let mut a = Connection::connect(NOW, &config(400));
    hears(
        &mut b,
        &sends(&mut a, "<SEQ=400><CTL=SYN>"),
        State::Established,
    );
    let answer = sends(&mut b, "<SEQ=300><ACK=100><CTL=ACK>");
    hears(&mut a, &answer, State::SynSent);
    hears(&mut b, &sends(&mut a, "<SEQ=100><CTL=RST>"), State::Closed);
    assert_eq!(b.failure(), Some(Failure::Reset));
    // And A tries again.
    let later = NOW + Duration::from_secs(1);
    a.handle_timeout(later);
    let again = a.poll_transmit(later).unwrap();
    assert_eq!(drawn(&again), "<SEQ=400><CTL=SYN>");
}

#[test]
fn figure_10_a_crash_is_discovered_by_the_side_that_sends() {
    let (_crashed, mut b) = established();
    assert_eq!(b.write(notation::octets(1, 10)), Ok(10));
    let data = sends(&mut b, "<SEQ=300><ACK=100><DATA=10><CTL=ACK>");
    hears(&mut b, &resets(&data, "<SEQ=100><CTL=RST>"), State::Closed);
    assert_eq!(b.failure(), Some(Failure::Reset));
}

#[test]
fn figure_11_an_old_duplicate_syn_between_two_that_listen() {
    let mut nobody = Connection::connect(NOW, &config(700));
    let old = sends(&mut nobody, "<SEQ=700><CTL=SYN>");
    let mut b = opens(900, &old);
    let answer = sends(&mut b, "<SEQ=900><ACK=701><CTL=SYN,ACK>");
    hears(
        &mut b,
        &resets(&answer, "<SEQ=701><CTL=RST>"),
        State::Closed,
    );
}

#[test]
fn a_socket_may_connect_to_itself_and_hears_what_it_says() {
    // RFC 9293 MUST-10: a simultaneous open whose two sides are one.
    let mut tcp = Connection::connect(NOW, &config(u32::MAX - 1));
    let mut now = NOW;
    let loop_back = |tcp: &mut Connection<Bytes>, now: Instant| {
        let mut drawn_all = Vec::new();
        while let Some(segment) = tcp.poll_transmit(now) {
            drawn_all.push(drawn(&segment));
            assert!(
                drawn_all.len() < 20,
                "it talks to itself for ever: {drawn_all:?}"
            );
            tcp.handle_segment(now, Received { at: now, segment });
        }
        drawn_all
    };
    let opening = [
        "<SEQ=4294967294><CTL=SYN>",
        "<SEQ=4294967294><ACK=4294967295><CTL=SYN,ACK>",
    ];
    assert_eq!(loop_back(&mut tcp, now), opening);
    assert_eq!(tcp.state(), State::Established);
    assert_eq!(tcp.write(notation::octets(1, 10)), Ok(10));
    loop_back(&mut tcp, now);
    now += Duration::from_millis(100);
    tcp.handle_timeout(now);
    loop_back(&mut tcp, now);
    assert_eq!(tcp.read(now, 100), Some(notation::octets(1, 10)));
    tcp.shutdown(now);
    loop_back(&mut tcp, now);
    assert_eq!(tcp.state(), State::TimeWait);
    now += Duration::from_secs(60);
    tcp.handle_timeout(now);
    assert_eq!((tcp.state(), tcp.failure()), (State::Closed, None));
}
