//! nuttcp's state machines with arbitrary octets: either end, lines, datagrams.

use gigatcp_protocol::nuttcp::datagram::{Receiver, StreamStamp};
use gigatcp_protocol::nuttcp::greeting::Agreed;
use gigatcp_protocol::nuttcp::lines::{MAX_LINE, MAX_WAITING};
use gigatcp_protocol::nuttcp::output::interval::Interval;
use gigatcp_protocol::nuttcp::output::read::Line;
use gigatcp_protocol::nuttcp::output::verbose::{Connected, Totals};
use gigatcp_protocol::nuttcp::parameters::{Format, Parameters, Wanted};
use gigatcp_protocol::nuttcp::{CONTROL_PORT, Client, Output, Server, Side, Version};
use gigatcp_units::{Duration, Instant};

/// Maximum outputs after a full queue: a refusal, the failure, the close.
const AFTER_FULL: usize = 3;

/// Feeds octets: the first chooses the target, the second its options.
pub fn nuttcp(octets: &[u8]) {
    let [what, how, octets @ ..] = octets else {
        return;
    };
    match what % 4 {
        0 => client(*how, octets),
        1 => server(*how, octets),
        2 => lines(octets),
        _ => datagrams(*how, octets),
    }
}

/// Runs a client whose server sends `octets` in pieces during its transfer.
fn client(how: u8, octets: &[u8]) {
    let flag = |bit: u8| how >> bit & 1 == 1;
    let parameters = Parameters {
        udp: flag(0),
        client: if flag(1) {
            Side::Receiver
        } else {
            Side::Transmitter
        },
        interval: Duration::from_secs(u64::from(flag(2))),
        private: true,
        ..Parameters::default()
    };
    let mut client = Client::new(parameters);
    let mut closed = drain(|| client.poll_output());
    let size = 1 + usize::from(how >> 6) * 50;
    for (index, piece) in octets.chunks(size).enumerate() {
        client.handle_bytes(piece);
        match index % 7 {
            0 => client.streams_connected(None),
            3 => client.interval(Interval::default()),
            5 if flag(3) => client.finished(Totals::default()),
            _ => {}
        }
        closed = closes_once(closed, || client.poll_output());
    }
    client.finished(Totals::default());
    client.handle_closed();
    assert!(
        closes_once(closed, || client.poll_output()),
        "a client ends with its server"
    );
}

/// Runs a server whose client sends `octets` in pieces while its driver continues.
fn server(how: u8, octets: &[u8]) {
    let mut server = Server::new(CONTROL_PORT);
    let mut closed = false;
    let size = 1 + usize::from(how >> 1);
    for (index, piece) in octets.chunks(size).enumerate() {
        server.handle_bytes(piece);
        match (index + usize::from(how)) % 9 {
            0 | 1 => server.accept(),
            2 | 3 => server.streams_connected(&Connected::default()),
            4 => server.interval(Interval::default()),
            5 => server.abort(),
            6 => server.private(&String::from_utf8_lossy(piece)),
            _ => {}
        }
        closed = closes_once(closed, || server.poll_output());
    }
    server.handle_closed();
    server.streams_connected(&Connected::default());
    server.finished(&Totals::default());
    assert!(
        closes_once(closed, || server.poll_output()),
        "a server ends with its client"
    );
}

/// Polls all outputs; a closed machine has none.
fn closes_once<E>(closed: bool, mut poll: impl FnMut() -> Option<Output<E>>) -> bool {
    if closed {
        assert!(poll().is_none(), "a machine that has closed is silent");
    }
    closed || drain(poll)
}

/// Polls all outputs; returns whether the last one closes.
fn drain<E>(mut poll: impl FnMut() -> Option<Output<E>>) -> bool {
    let mut count = 0;
    let mut closed = false;
    while let Some(output) = poll() {
        assert!(!closed, "nothing follows the close");
        if let Output::Send(bytes) = &output {
            assert!(bytes.len() < 8 * MAX_LINE, "{} octets at once", bytes.len());
        }
        closed = matches!(output, Output::Close);
        count += 1;
    }
    assert!(count <= MAX_WAITING + AFTER_FULL, "{count} outputs waited");
    closed
}

/// Feeds lines: one with numbers is written again with numbers.
fn lines(octets: &[u8]) {
    for line in String::from_utf8_lossy(octets).lines() {
        if let Some(Line::Interval(interval)) = Line::read(line) {
            let _ = interval.line(Format::PARSE);
            let again = Line::read(&interval.line(Format::RTT));
            let is_interval = matches!(again, Some(Line::Interval(_)));
            assert!(is_interval, "{line:?}: {again:?}");
        }
        let _ = Parameters::read(line).map(|(parameters, _)| parameters.check(CONTROL_PORT));
    }
}

/// Feeds datagrams: one octet of length and one of time before each.
fn datagrams(how: u8, octets: &[u8]) {
    let parameters = Parameters {
        udp: true,
        buffer_bytes: u32::from(how) / 2,
        rate_kbps: Some(u64::from(how) * 100),
        instantaneous: true,
        interval: Duration::from_millis(u64::from(how & 1)),
        jitter: Wanted(u32::from(how) >> 2),
        ..Parameters::default()
    };
    let mut receiver = Receiver::new(&parameters, &Agreed::new(Version::OURS, &parameters));
    let mut now = Instant::ZERO;
    let mut rest = octets;
    let mut fed = 0;
    while let [length, time, after @ ..] = rest {
        let (datagram, after) = after.split_at(usize::from(*length).min(after.len()));
        now += Duration::from_micros(u64::from(*time) * 100);
        receiver.on_datagram(now, datagram);
        let _ = StreamStamp::read(datagram);
        if time % 16 == 0 {
            receiver.take_interval();
        }
        fed += datagram.len() as u64;
        rest = after;
    }
    assert!(
        receiver.total().bytes.as_u64() <= fed,
        "no octet is counted twice"
    );
}
