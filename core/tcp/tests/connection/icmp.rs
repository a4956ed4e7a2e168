//! ICMP errors: RFC 9293 section 3.9.2.2 and RFC 5927.

use gigatcp_tcp::Failure;
use gigatcp_tcp::events::State;
use gigatcp_wire::{IcmpError, IcmpKind};

use crate::script::{ISS, Script, bare, with};

const ALL: [IcmpKind; 10] = [
    IcmpKind::TooBig { mtu: 500 },
    IcmpKind::NetworkUnreachable,
    IcmpKind::HostUnreachable,
    IcmpKind::ProtocolUnreachable,
    IcmpKind::PortUnreachable,
    IcmpKind::SourceRouteFailed,
    IcmpKind::Prohibited,
    IcmpKind::TimeExceeded,
    IcmpKind::ParameterProblem,
    IcmpKind::SourceQuench,
];

/// An error about the segment at `seq`, an offset, arrives.
pub fn icmp(t: &mut Script, kind: IcmpKind, seq: u32) {
    let now = t.now;
    let error = IcmpError {
        kind,
        seq: ISS + seq,
    };
    t.tcp.handle_icmp(now, error);
    t.collect();
}

#[test]
fn hard_errors_end_a_connection_that_is_still_opening_and_soft_ones_do_not() {
    for kind in ALL {
        let mut t = Script::connect(&bare());
        t.expect("S 0:0(0) <mss 1000>");
        icmp(&mut t, kind, 0);
        let failed = kind.is_hard().then_some(Failure::Unreachable);
        assert_eq!(t.tcp.failure(), failed, "{kind:?}");

        let mut t = Script::accept(&bare(), "S 0:0(0)");
        t.expect("S. 0:0(0) ack 1 <mss 1000>");
        icmp(&mut t, kind, 0);
        assert_eq!(t.tcp.failure(), failed, "{kind:?}");
    }
}

#[test]
fn no_error_ends_a_connection_that_is_synchronized() {
    // RFC 9293 MUST-56, RFC 5927 section 5.2.
    for kind in ALL {
        let mut t = Script::established(&bare());
        t.write(1000);
        t.expect("P. 1:1001(1000) ack 1");
        icmp(&mut t, kind, 1);
        assert_eq!(t.state(), State::Established, "{kind:?}");
        t.leaving();
        t.inject(". 1:1(0) ack 1001");
    }
}

#[test]
fn the_last_soft_error_can_be_asked_for() {
    // RFC 9293 SHLD-25.
    let mut t = Script::established(&bare());
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 1");
    assert_eq!(t.tcp.info().soft_error, None);
    icmp(&mut t, IcmpKind::HostUnreachable, 1);
    assert_eq!(t.tcp.info().soft_error, Some(IcmpKind::HostUnreachable));
    icmp(&mut t, IcmpKind::PortUnreachable, 1000);
    assert_eq!(t.tcp.info().soft_error, Some(IcmpKind::PortUnreachable));
    assert_eq!(t.tcp.counters().icmp_errors, 2);
}

#[test]
fn source_quench_is_ignored() {
    // RFC 9293 MUST-55, RFC 6633.
    let mut t = Script::established(&bare());
    t.write(5000);
    t.leaving();
    let cwnd = t.cwnd();
    icmp(&mut t, IcmpKind::SourceQuench, 1);
    assert!((t.cwnd() - cwnd).abs() < f64::EPSILON);
    assert_eq!(t.tcp.info().soft_error, None);
    assert_eq!(t.tcp.counters().icmp_errors_ignored, 1);
}

#[test]
fn an_error_that_quotes_what_is_not_in_flight_is_ignored() {
    // RFC 5927 section 4.1.
    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    for seq in [1, 1000, u32::MAX, 1 << 31] {
        icmp(&mut t, IcmpKind::PortUnreachable, seq);
        assert_eq!(t.state(), State::SynSent);
    }

    let mut t = Script::established(&bare());
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1001");
    t.write(1000);
    t.expect("P. 1001:2001(1000) ack 1");
    for seq in [1, 1000, 2001, 70_000] {
        icmp(&mut t, IcmpKind::HostUnreachable, seq);
        icmp(&mut t, IcmpKind::TooBig { mtu: 500 }, seq);
    }
    assert_eq!(t.tcp.info().soft_error, None);
    assert_eq!(t.tcp.info().smss, 1000);
    assert_eq!(t.tcp.counters().icmp_errors_ignored, 8);
}

#[test]
fn errors_are_not_listened_to_without_the_switch() {
    let mut t = Script::connect(&with(|p| p.defense.icmp_errors = false));
    t.expect("S 0:0(0) <mss 1000>");
    icmp(&mut t, IcmpKind::PortUnreachable, 0);
    assert_eq!(t.state(), State::SynSent);
}
