//! Tests the kernel's stack for scripts, call by call and packet by packet. Without the privilege
//! to create a test network namespace, each test prints that with a hint and proves nothing.

use super::loud;
use std::net::IpAddr;
use std::path::Path;

use gigatcp_conformance::ast::{Action, Script, TcpOption, Value};
use gigatcp_conformance::kernel::{
    KernelStack, LOCAL_V4, LOCAL_V6, REMOTE_V4, REMOTE_V6, TestNetns, TestNetnsConfig,
};
use gigatcp_conformance::packet::{Body, Packet, Tcp};
use gigatcp_conformance::stack::{Addresses, Progress, Request, Returned, Stack};
use gigatcp_units::Instant;
use gigatcp_wire::{Endpoints, Flags, IpHeader};

const MS: u64 = 1_000_000;

/// Addresses of both ends.
#[derive(Clone, Copy)]
struct Ends {
    local: IpAddr,
    remote: IpAddr,
}

const V4: Ends = Ends {
    local: IpAddr::V4(LOCAL_V4),
    remote: IpAddr::V4(REMOTE_V4),
};
const V6: Ends = Ends {
    local: IpAddr::V6(LOCAL_V6),
    remote: IpAddr::V6(REMOTE_V6),
};

/// Runs `work` on a stack that has begun, or prints loudly why it cannot.
fn on_kernel(ends: Ends, work: impl FnOnce(&mut KernelStack<'_>) + Send) {
    let ran = TestNetns::run(&TestNetnsConfig::default(), |lab| {
        let mut stack = KernelStack::new(lab, Path::new(".")).unwrap();
        let addresses = Addresses {
            local: ends.local,
            remote: ends.remote,
            local_port: 8080,
            remote_port: 8080,
            mtu: 1500,
        };
        stack.begin(&Script::default(), &addresses).unwrap();
        work(&mut stack);
    });
    match ran {
        Ok(()) => {}
        Err(error) if error.is_missing_privilege() => {
            loud::skip(&error);
        }
        Err(error) => panic!("{error}"),
    }
}

/// Parses a call of a script, with its expectations.
fn parsed(text: &str) -> gigatcp_conformance::ast::Call {
    let script = gigatcp_conformance::parse(&format!("0 {text}\n")).unwrap();
    match script.events.into_iter().next().unwrap().action {
        Action::Call(call) => call,
        _ => panic!("no call: {text}"),
    }
}

fn begin(stack: &mut KernelStack<'_>, text: &str) -> Progress {
    let call = parsed(text);
    let request = Request {
        name: &call.name,
        args: &call.args,
        wanted: call.result.integer(),
    };
    stack.call(&request).unwrap()
}

/// Makes a call and compares everything that the script's text states.
#[track_caller]
fn call(stack: &mut KernelStack<'_>, text: &str) -> Returned {
    let Progress::Returned(returned) = begin(stack, text) else {
        panic!("blocks: {text}");
    };
    compare(text, &returned);
    returned
}

#[track_caller]
fn compare(text: &str, returned: &Returned) {
    let expected = parsed(text);
    assert!(
        expected.result.admits(&Value::Integer(returned.result)),
        "{text}: {returned:?}"
    );
    assert_eq!(expected.errno, returned.errno, "{text}");
    for (index, value) in &returned.outputs {
        assert!(expected.args[*index].admits(value), "{text}: {value:?}");
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * MS)
}

/// A segment from the other end.
fn segment(ends: Ends, change: impl FnOnce(&mut Tcp)) -> Packet {
    let mut tcp = Tcp {
        src_port: 4000,
        dst_port: 8080,
        seq: 0,
        ack: 0,
        flags: Flags::ACK,
        win: u16::MAX,
        urg: 0,
        options: vec![],
        payload: Vec::new().into(),
        segment_size: 0,
    };
    change(&mut tcp);
    let endpoints = Endpoints::new(ends.remote, ends.local).unwrap();
    Packet {
        ip: IpHeader::new(endpoints),
        ecn: gigatcp_wire::Ecn::NotEct,
        body: Body::Tcp(tcp),
    }
}

#[track_caller]
fn next(stack: &mut KernelStack<'_>, latest: Instant) -> (Instant, Tcp) {
    let sent = stack.next_sent(latest).expect("a packet");
    (sent.at, sent.packet.tcp().unwrap().clone())
}

/// Listens and completes a handshake; returns the kernel's initial sequence number and the accepted
/// descriptor.
fn accepted(stack: &mut KernelStack<'_>, ends: Ends) -> (u32, i64) {
    call(stack, "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3");
    call(stack, "setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0");
    call(stack, "bind(3, ..., ...) = 0");
    call(stack, "listen(3, 1) = 0");
    let Progress::Blocked(id) = begin(stack, "accept(3, ..., ...) = 4") else {
        panic!("nobody has connected yet");
    };
    stack.wait_until(at(10));
    assert_eq!(stack.poll_call(id), None);
    let syn = segment(ends, |syn| {
        syn.flags = Flags::SYN;
        syn.options = vec![TcpOption::Mss(1000), TcpOption::SackPermitted];
    });
    stack.inject(&syn).unwrap();
    let (left, answer) = next(stack, at(40));
    assert!(left >= at(10) && left < at(30), "{left:?}");
    assert_eq!(answer.flags, Flags::SYN | Flags::ACK);
    assert_eq!(answer.options[0], TcpOption::Mss(mss(ends)));
    let ack = segment(ends, |ack| {
        ack.seq = 1;
        ack.ack = answer.seq + 1;
    });
    stack.inject(&ack).unwrap();
    stack.wait_until(at(30));
    let (returned_at, returned) = stack.poll_call(id).expect("accept is over");
    assert!(returned_at >= at(10) && returned_at < at(30));
    compare("accept(3, ..., ...) = 4", &returned);
    (answer.seq, returned.result)
}

fn mss(ends: Ends) -> u16 {
    if ends.local.is_ipv4() { 1460 } else { 1440 }
}

fn serves(ends: Ends) {
    on_kernel(ends, |stack| {
        let (iss, _) = accepted(stack, ends);
        call(stack, "write(4, ..., 1000) = 1000");
        let (_, data) = next(stack, at(100));
        assert_eq!(data.seq, iss + 1);
        assert_eq!(data.payload, gigatcp_conformance::data::octets(1, 1000));
        let words = stack.info(4).unwrap();
        let word = |name: &str| words.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!(word("tcpi_state"), 1);
        assert_eq!(word("tcpi_unacked"), 1);
        assert_eq!(word("tcpi_snd_cwnd"), 10);
        assert_eq!(word("tcpi_bytes_sent"), 1000);
        call(stack, "close(4) = 0");
        let (_, fin) = next(stack, at(200));
        assert!(fin.flags.contains(Flags::FIN));
        call(stack, "write(4, ..., 1) = -1 EBADF (Bad file descriptor)");
    });
}

#[test]
fn a_server_over_ipv4_accepts_writes_and_closes() {
    serves(V4);
}

#[test]
fn a_server_over_ipv6_accepts_writes_and_closes() {
    serves(V6);
}

#[test]
fn a_blocking_read_ends_when_octets_arrive() {
    on_kernel(V4, |stack| {
        let (iss, _) = accepted(stack, V4);
        let Progress::Blocked(id) = begin(stack, "read(4, ..., 1000) = 7") else {
            panic!("nothing is there to read");
        };
        stack.wait_until(at(60));
        let data = segment(V4, |data| {
            data.seq = 1;
            data.ack = iss + 1;
            data.payload = b"seventh"[..].to_vec().into();
        });
        stack.inject(&data).unwrap();
        stack.wait_until(at(80));
        let (ended, returned) = stack.poll_call(id).expect("read is over");
        assert_eq!(returned.result, 7);
        assert!(ended >= at(60) && ended < at(75), "{ended:?}");
    });
}

#[test]
fn errors_and_options_come_back_in_the_scripts_words() {
    on_kernel(V4, |stack| {
        call(
            stack,
            "socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3",
        );
        call(stack, "fcntl(3, F_GETFL) = 0x802 (flags O_RDWR|O_NONBLOCK)");
        call(
            stack,
            "setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=7}, 8) = 0",
        );
        call(
            stack,
            "getsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=7}, [8]) = 0",
        );
        call(
            stack,
            "setsockopt(3, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0",
        );
        call(
            stack,
            "getsockopt(3, SOL_TCP, TCP_CONGESTION, \"reno\", [16]) = 0",
        );
        call(stack, "getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4]) = 0");
        call(stack, "accept(3, ..., ...) = -1 EINVAL (Invalid argument)");
        call(stack, "read(99, ..., 5) = -1 EBADF (Bad file descriptor)");
        call(
            stack,
            "connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)",
        );
        let (_, syn) = next(stack, at(50));
        assert_eq!(syn.flags.without(Flags::ECE | Flags::CWR), Flags::SYN);
        let reset = segment(V4, |reset| {
            reset.src_port = 8080;
            reset.dst_port = syn.src_port;
            reset.flags = Flags::RST | Flags::ACK;
            reset.ack = syn.seq + 1;
        });
        stack.inject(&reset).unwrap();
        call(
            stack,
            "getsockopt(3, SOL_SOCKET, SO_ERROR, [ECONNREFUSED], [4]) = 0",
        );
    });
}

#[test]
fn readiness_is_told_in_the_scripts_words() {
    on_kernel(V4, |stack| {
        let (iss, _) = accepted(stack, V4);
        call(stack, "epoll_create(1) = 5");
        call(
            stack,
            "epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLOUT, fd=4}) = 0",
        );
        call(stack, "epoll_wait(5, {events=EPOLLOUT, fd=4}, 1, 0) = 1");
        call(stack, "poll([{fd=4, events=POLLIN, revents=0}], 1, 0) = 0");
        let data = segment(V4, |data| {
            data.seq = 1;
            data.ack = iss + 1;
            data.payload = vec![0; 100].into();
        });
        stack.inject(&data).unwrap();
        call(
            stack,
            "epoll_wait(5, {events=EPOLLIN|EPOLLOUT, fd=4}, 1, 0) = 1",
        );
        call(
            stack,
            "poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 1000) = 1",
        );
        call(stack, "ioctl(4, SIOCINQ, [100]) = 0");
        call(stack, "recv(4, ..., 1000, MSG_PEEK) = 100");
        call(stack, "read(4, ..., 1000) = 100");
        call(stack, "epoll_wait(5, {events=EPOLLOUT, fd=4}, 1, 0) = 1");
    });
}

#[test]
fn messages_carry_their_control_data() {
    on_kernel(V4, |stack| {
        let (iss, _) = accepted(stack, V4);
        call(stack, "setsockopt(4, SOL_TCP, TCP_INQ, [1], 4) = 0");
        let data = segment(V4, |data| {
            data.seq = 1;
            data.ack = iss + 1;
            data.payload = vec![0; 900].into();
        });
        stack.inject(&data).unwrap();
        call(
            stack,
            "recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 300}], msg_flags=0, \
             msg_control=[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=600}]}, 0) = 300",
        );
        call(
            stack,
            "sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 100}, {..., 50}], msg_flags=0}, 0) \
             = 150",
        );
        let sent: u32 = (0..2)
            .map_while(|_| stack.next_sent(at(100)))
            .filter_map(|sent| Some(sent.packet.tcp()?.payload.len() as u32))
            .sum();
        assert_eq!(sent, 150);
    });
}

#[test]
fn a_call_that_still_blocks_ends_with_the_stack() {
    on_kernel(V4, |stack| {
        call(stack, "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3");
        call(stack, "bind(3, ..., ...) = 0");
        call(stack, "listen(3, 1) = 0");
        assert!(matches!(
            begin(stack, "accept(3, ..., ...) = 4"),
            Progress::Blocked(_)
        ));
    });
}

#[test]
fn commands_set_what_the_namespace_has() {
    on_kernel(V4, |stack| {
        stack
            .command("sysctl -q net.ipv4.tcp_sack=0\nip tcp_metrics flush all > /dev/null 2>&1")
            .unwrap();
        let read = gigatcp_conformance::kernel::settings::read("net.ipv4.tcp_sack").unwrap();
        assert_eq!(read, "0");
        // If a namespace refuses the control as its default, it is set on each socket.
        stack
            .command("sysctl -q net.ipv4.tcp_congestion_control=cubic")
            .unwrap();
        call(stack, "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3");
        call(
            stack,
            "getsockopt(3, SOL_TCP, TCP_CONGESTION, \"cubic\", [16]) = 0",
        );
        stack
            .command("ip route replace 192.0.2.0/24 dev tun0 mtu 1200")
            .unwrap();
        call(stack, "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0");
        let text = "connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)";
        call(stack, text);
        let (_, syn) = next(stack, at(100));
        assert_eq!(syn.options[0], TcpOption::Mss(1160), "the route's MTU");
        assert!(!syn.options.contains(&TcpOption::SackPermitted));
    });
}

#[test]
fn what_cannot_be_done_is_said_by_class_and_name() {
    on_kernel(V4, |stack| {
        let call = parsed("perf_event_open(1, 2) = 3");
        let request = Request {
            name: &call.name,
            args: &call.args,
            wanted: call.result.integer(),
        };
        let unsupported = stack.call(&request).unwrap_err();
        assert_eq!(unsupported.to_string(), "call perf_event_open");
        let unsupported = stack.command("nmap 10.0.0.0/8").unwrap_err();
        assert_eq!(unsupported.to_string(), "command nmap 10.0.0.0/8");
    });
}
