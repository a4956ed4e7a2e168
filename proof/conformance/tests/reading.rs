//! Parsing of scripts: both dialects line by line, errors with their location, and hostile text.

use gigatcp_conformance::ast::*;
use gigatcp_conformance::parse;
use gigatcp_units::Duration;
use gigatcp_wire::{Ecn, Flags};
use proptest::prelude::*;

fn event(text: &str) -> Event {
    let mut script = parse(text).unwrap_or_else(|mistake| panic!("{}", mistake.in_text("", text)));
    assert_eq!(script.events.len(), 1, "{text}");
    script.events.remove(0)
}

fn tcp(text: &str) -> (Packet, TcpSpec) {
    let packet = match event(text).action {
        Action::Inbound(packet) | Action::Outbound(packet) => packet,
        other => panic!("{text}: {other:?}"),
    };
    let Body::Tcp(spec) = packet.body.clone() else {
        panic!("{text}: no TCP");
    };
    (packet, spec)
}

fn call(text: &str) -> Call {
    match event(text).action {
        Action::Call(call) => call,
        other => panic!("{text}: {other:?}"),
    }
}

fn said(text: &str) -> String {
    match parse(text) {
        Ok(script) => panic!("{text:?} is read: {script:?}"),
        Err(mistake) => mistake.in_text("x.pkt", text),
    }
}

const MS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn every_form_of_time_is_read() {
    let time = |text: &str| event(&format!("{text} close(3) = 0")).time;
    assert_eq!(time("0"), Time::Absolute(MS(0)));
    assert_eq!(time("0.25"), Time::Absolute(MS(250)));
    assert_eq!(time("+.1"), Time::Relative(MS(100)));
    assert_eq!(time("+1."), Time::Relative(MS(1000)));
    assert_eq!(
        time("+0.000000001"),
        Time::Relative(Duration::from_nanos(1))
    );
    assert_eq!(time("*"), Time::Any);
    assert_eq!(time("+.1~+.2"), Time::RelativeRange(MS(100), MS(200)));
    assert_eq!(time("+0 ~ +0.05"), Time::RelativeRange(MS(0), MS(50)));
    assert_eq!(time("0.1~0.2"), Time::AbsoluteRange(MS(100), MS(200)));
    let blocking = call("+.1...0.200 connect(3, ..., ...) = 0");
    assert_eq!(blocking.ends, Some(MS(200)));
    assert_eq!(
        call("+.002 ... 2.1 accept(3, ..., ...) = 4").ends,
        Some(MS(2100))
    );
}

#[test]
fn control_bits_are_letters_or_an_ace_digit() {
    let flags = |word: &str| tcp(&format!("0 > {word} 0:0(0)")).1.flags;
    assert_eq!(flags("S."), Flags::SYN | Flags::ACK);
    assert_eq!(
        flags("SEWA"),
        Flags::SYN | Flags::ECE | Flags::CWR | Flags::AE
    );
    assert_eq!(
        flags("FPU."),
        Flags::FIN | Flags::PSH | Flags::URG | Flags::ACK
    );
    assert_eq!(flags("-"), Flags::NONE);
    assert_eq!(flags("5."), Flags::AE | Flags::ECE | Flags::ACK);
    assert_eq!(
        flags("P6."),
        Flags::PSH | Flags::AE | Flags::CWR | Flags::ACK
    );
    assert_eq!(flags("0."), Flags::ACK);
    assert!(said("0 > SX 0:0(0)").contains("1:5: read `SX`, expected control bits"));
    assert!(said("0 > SS 0:0(0)").contains("each control bit once"));
}

#[test]
fn segments_have_numbers_window_urgent_pointer_and_options() {
    let (_, spec) = tcp("0 < PU. 1:1001(1000) ack 7 win 257 urg 100 <nop,nop,TS val 1 ecr 2>");
    assert_eq!((spec.seq, spec.len, spec.ack), (1, 1000, Some(7)));
    assert_eq!((spec.win, spec.urg), (Some(257), Some(100)));
    let stamps = TcpOption::Timestamps {
        val: Some(1),
        ecr: Some(2),
    };
    assert_eq!(
        spec.options,
        Some(vec![TcpOption::Nop, TcpOption::Nop, stamps])
    );
    assert_eq!(tcp("0 > . 1:1(0) ack 1 <...>").1.options, None);
    assert_eq!(tcp("0 > . 1:1(0) ack 1").1.options, Some(vec![]));
    assert_eq!(tcp("0 > . 4294967295:1(2) ack 1").1.len, 2);
    assert_eq!(tcp("0 < R 1:1(0)").1.win, None);
}

#[test]
fn notation_of_freebsd_is_read() {
    let (_, spec) = tcp("+ 0.25 > (class 0x20) R. 0:0(0)! ack 1 win 0");
    assert!(spec.is_absolute);
    assert_eq!((spec.ack, spec.win), (Some(1), Some(0)));
    assert!(!tcp("0 > R. 0:0(0) ack 1").1.is_absolute);
}

#[test]
fn every_option_is_read() {
    let options = |text: &str| tcp(&format!("0 > . 0:0(0) <{text}>")).1.options.unwrap();
    let one = |text: &str| options(text).remove(0);
    assert_eq!(one("mss 1460"), TcpOption::Mss(1460));
    assert_eq!(one("wscale 14"), TcpOption::WindowScale(14));
    assert_eq!(
        options("sackOK , eol"),
        [TcpOption::SackPermitted, TcpOption::Eol]
    );
    assert_eq!(
        one("sack 1:1001 2001:3001"),
        TcpOption::Sack(vec![(1, 1001), (2001, 3001)])
    );
    assert_eq!(
        one("TS val ... ecr 0"),
        TcpOption::Timestamps {
            val: None,
            ecr: Some(0)
        }
    );
    assert_eq!(one("FO"), TcpOption::FastOpen(Cookie::Octets(vec![])));
    assert_eq!(
        one("FO a1b2"),
        TcpOption::FastOpen(Cookie::Octets(vec![0xa1, 0xb2]))
    );
    assert_eq!(
        one("FOEXP TFO_COOKIE"),
        TcpOption::FastOpenExperimental(Cookie::Name("TFO_COOKIE".into()))
    );
    assert_eq!(
        one("ECN e1b 1 ceb 0"),
        TcpOption::AccEcn(vec![(EcnCounter::E1, 1), (EcnCounter::Ce, 0)])
    );
    assert_eq!(one("md5 0001ff"), TcpOption::Md5(vec![0, 1, 255]));
    assert_eq!(
        one("unknown 253 0x0a 0x0b"),
        TcpOption::Unknown {
            kind: 253,
            data: vec![10, 11]
        }
    );
    assert!(said("0 > . 0:0(0) <wscale 256>").contains("read `256`, expected a window scale"));
    assert!(said("0 > . 0:0(0) <sack>").contains("a SACK block"));
}

#[test]
fn ip_headers_are_said_in_brackets() {
    let (packet, _) = tcp("0 > [ect0] (flowlabel 0x1) . 0:0(0)");
    assert_eq!(packet.ip.ecn, Some(Ecn::Ect0));
    assert_eq!(packet.ip.flow_label, Some(1));
    let (packet, _) = tcp("0 <[ce, tos 0x10, ttl 3] (2000 > 8080) . 0:0(0) win 1");
    assert_eq!(
        (packet.ip.ecn, packet.ip.tos, packet.ip.ttl),
        (Some(Ecn::Ce), Some(16), Some(3))
    );
    assert_eq!(packet.ports, Some((2000, 8080)));
    let tunnel = "0 > ipv4 192.0.2.1 > 192.0.2.2: ipv6 ::1 > ::2: . 0:0(0)";
    assert_eq!(tcp(tunnel).0.encapsulation.len(), 2);
    let (packet, _) = tcp("0 > . 0:0(0) ack 1 <mss 1>/udp(9899>9899)");
    assert_eq!(packet.inside_udp, Some(Some((9899, 9899))));
}

#[test]
fn icmp_and_udp_are_read() {
    let body = |text: &str| match event(text).action {
        Action::Inbound(packet) => packet.body,
        other => panic!("{other:?}"),
    };
    let Body::Icmp(icmp) = body("0 < icmp unreachable frag_needed mtu 1200 [1:1001(1000)]") else {
        panic!("no ICMP");
    };
    assert_eq!(icmp.code.as_deref(), Some("frag_needed"));
    assert_eq!(icmp.mtu, Some(1200));
    assert_eq!(icmp.quoted, Some(Quoted::Tcp { seq: 1, len: 1000 }));
    let Body::Icmp(icmp) = body("0 < icmpv6 packet_too_big mtu 1280 [udp (9)]") else {
        panic!("no ICMP");
    };
    assert_eq!(
        (icmp.code, icmp.quoted),
        (None, Some(Quoted::Udp { len: 9 }))
    );
    assert_eq!(body("0 < udp (1000)"), Body::Udp { len: 1000 });
}

#[test]
fn calls_have_arguments_results_errors_and_notes() {
    let connect = call("+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)");
    assert_eq!(connect.errno.as_deref(), Some("EINPROGRESS"));
    assert_eq!(connect.result, Value::Integer(-1));
    let flags = call("+0 fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)");
    assert_eq!(flags.result, Value::Integer(2));
    let size = call("+0 setsockopt(3, SOL_SOCKET, SO_SNDBUF, [1000], 4) = 0 // why");
    assert_eq!(size.args[3], Value::List(vec![Value::Integer(1000)]));
    let key = call(r#"+0 setsockopt(3, SOL_TCP, TCP_FASTOPEN_KEY, "\xa1\n", 2) = 0"#);
    assert_eq!(key.args[3], Value::Text(vec![0xa1, b'\n']));
    assert_eq!(call("+0 accept(3, ..., ...) = ...").result, Value::Ellipsis);
}

#[test]
fn messages_are_nested_structures() {
    let recvmsg = call(
        "+0 recvmsg(4, {msg_name(...)=..., msg_iov(2)=[{...,0}, {..., 40}],\n\
         \t msg_flags=MSG_ERRQUEUE|MSG_TRUNC, msg_control=[{cmsg_level=SOL_TCP,\n\
         \t cmsg_data=9000}]}, 0) = 1000",
    );
    let message = &recvmsg.args[1];
    assert!(message.member("msg_flags").unwrap().has_word("MSG_TRUNC"));
    let Some(Value::List(control)) = message.member("msg_control") else {
        panic!("{message:?}");
    };
    assert_eq!(control[0].member("cmsg_data"), Some(&Value::Integer(9000)));
    let address = call(
        "+0 connect(3, {sa_family = AF_INET, sin_port = htons(8080), \
         sin_addr = inet_addr(\"192.0.2.1\")}, ...) = 0",
    );
    let port = address.args[1].member("sin_port").unwrap();
    assert_eq!(
        port,
        &Value::Function("htons".into(), vec![Value::Integer(8080)])
    );
}

#[test]
fn a_whole_script_has_headers_options_setup_events_and_cleanup() {
    let text = "// Slow start.\n// profile: modern rack=false\n// stack: linux\n\n\
                --mss=1000\n--ip_version=ipv6 // why\n-D NAME=12\n\
                `./defaults.sh\nsysctl -q net.ipv4.tcp_ecn=3 # here`\n\
                0 close(3) = 0;\n/* not\n > this */\n# nor that\n\
                `sleep 1`\n+0 `sysctl x`\n+0 %{ assert tcpi_unacked == 0, 'x'\nprint 1 }%\n`end`\n";
    let script = parse(text).unwrap();
    let profile = script.header("profile").unwrap();
    assert_eq!(profile.value, "modern rack=false");
    assert_eq!(&text[profile.span.clone()], profile.value);
    assert_eq!(script.header("stack").unwrap().value, "linux");
    assert_eq!(script.option("mss").unwrap().value, "1000");
    assert_eq!(script.option("ip_version").unwrap().value, "ipv6");
    assert_eq!(script.option("D").unwrap().value, "NAME=12");
    assert!(script.setup[0].text.ends_with("# here"));
    assert_eq!(
        script.events.len(),
        4,
        "a command between events is an event"
    );
    assert_eq!(script.cleanup[0].text, "end");
}

#[test]
fn mistakes_say_where_what_was_read_what_was_expected_and_what_to_write() {
    assert_eq!(
        said("0 close(3) = 0\n+0 < . 1:1(0) ack 1\n"),
        "x.pkt:2:20: read the end of the line, expected `win N`: a packet that arrives needs a \
         window\n  hint: add `win 257`, or whatever the peer offers"
    );
    assert_eq!(
        said("+0 < . 1:9(7) ack 1 win 2"),
        "x.pkt:1:8: read `1:9(7)`, expected 1:8(7): the end is the start plus the length\n  \
         hint: or 1:9(8), if the end is right"
    );
    assert!(said("soon close(3) = 0").starts_with("x.pkt:1:1: read `soon`, expected an event"));
    assert!(said("+0 close(3)").contains("expected `=` and what the call returns"));
    assert!(said("+.2~+.1 close(3) = 0").contains("the later end of the range"));
    assert!(said("+0 %{ assert 1").contains("`}%` after it"));
    assert!(said("+0 `sysctl").contains("a closing backtick"));
    assert!(said("+0 %{ assert 1 + }%").contains("x.pkt:1:18"));
    assert!(said("/* no end").contains("`*/` after it"));
}

/// Every byte of a valid script may be lost, duplicated or exchanged.
const GOOD: &str = "// profile: modern\n--mss=1000\n`a`\n0 socket(..., SOCK_STREAM, 6) = 3\n\
    +.1...0.2 read(3, {a(1)=[{...,\"\\x0a\"}]}, A|B) = -1 EX (no)\n\
    +0 < [ce] S 0:0(0) win 1 <mss 1,TS val 1 ecr ...,sack 1:2,FO 0a,ECN e1b 1,md5 00>\n\
    +0~+.1 > icmp unreachable frag_needed mtu 1 [1:2(1)]\n* %{ assert a == 'b' % (1,) }%\n";

proptest! {
    #[test]
    fn a_harmed_script_is_read_or_refused_and_never_panics(
        at in any::<prop::sample::Index>(),
        change in "[-+.:<>(){}\\[\\]`%~*0-9a-z\"\\\\ \néß]{0,3}",
        cut in 0_usize..4,
    ) {
        let good: Vec<char> = GOOD.chars().collect();
        let at = at.index(good.len());
        let after = (at + cut).min(good.len());
        let text: String = good[..at].iter().copied()
            .chain(change.chars())
            .chain(good[after..].iter().copied())
            .collect();
        if let Err(mistake) = parse(&text) {
            prop_assert!(mistake.span.start <= mistake.span.end);
            let _ = mistake.in_text("x.pkt", &text);
        }
    }

    #[test]
    fn any_text_at_all_is_read_or_refused(text in "\\PC{0,60}") {
        if let Err(mistake) = parse(&text) {
            let _ = mistake.in_text("x.pkt", &text);
        }
    }
}

#[test]
fn brackets_without_end_are_refused_before_the_stack_is() {
    for open in ["[", "{", "f(", "{a="] {
        let text = format!("0 f({}", open.repeat(100_000));
        assert!(parse(&text).is_err());
    }
}
