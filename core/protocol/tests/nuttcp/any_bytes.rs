//! Any bytes: no machine panics, and none keeps more than its limits.

use gigatcp_protocol::nuttcp::datagram::{Datagram, Receiver, StreamStamp};
use gigatcp_protocol::nuttcp::greeting::Agreed;
use gigatcp_protocol::nuttcp::lines::{Lines, MAX_LINE, MAX_WAITING};
use gigatcp_protocol::nuttcp::output::interval::Interval;
use gigatcp_protocol::nuttcp::output::read::Line;
use gigatcp_protocol::nuttcp::output::verbose::Connected;
use gigatcp_protocol::nuttcp::parameters::{Parameters, Wanted};
use gigatcp_protocol::nuttcp::{Client, Output, Server, Side, Version};
use gigatcp_units::{Duration, Instant};
use proptest::prelude::*;

use crate::{amount, totals};

/// Parts of messages, to get past the first line.
const PHRASES: [&str; 18] = [
    "HELO nuttcp v8.2.2\n",
    "HELO nuttcp v6.1.2\n",
    "OK v8.2.2\n",
    "KO\n",
    "DONE\n",
    "\n",
    "buflen = 65536, nbuf = 9, win = 0, nstream = 1, rate = 0, port = 5101, trans = 1, \
     braindead = 0, timeout = 1, udp = 1, vers = 6.1.2, interval = 1, reverse = 0, format = 2048, \
     traceroute = 0, irate = 0, thirdparty = _NULL_ , multicast = 0 , datamss = 0 , tos = 0 , \
     nbuf_bytes = 0 , rate_pps = 0 , nodelay = 0\n",
    "nuttcp-r: 1.0 MB in 1.00 real seconds = 1.0 KB/sec = 1.0 Mbps\n",
    "nuttcp-t: retrans = 3 ( 1+2 ) cwnd = 4 KB\n",
    "nuttcp-r: stats=cpu user=1 cpu=4%\n",
    "1 MB / 2 sec = 3 Mbps 4 retrans Tot: 5 MB / 6 sec = 7 Mbps\n",
    "megabytes=1 real_sec=2 rate_Mbps=3 drop=-4 pkt=5 data_loss=6\n",
    "1 MB / ",
    " = ",
    "nuttcp-",
    "=",
    ",",
    "Anuttcp-r: ",
];

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let phrase = proptest::sample::select(&PHRASES[..]).prop_map(|text| text.as_bytes().to_vec());
    let noise = proptest::collection::vec(any::<u8>(), 0..40);
    let pieces = proptest::collection::vec(prop_oneof![3 => phrase, 1 => noise], 0..20);
    pieces.prop_map(|pieces| pieces.concat())
}

/// Counts and removes the waiting outputs.
fn drain<E>(mut poll: impl FnMut() -> Option<Output<E>>) -> usize {
    let mut count = 0;
    while let Some(output) = poll() {
        if let Output::Send(bytes) = output {
            assert!(bytes.len() < 8 * MAX_LINE, "{} bytes at once", bytes.len());
        }
        count += 1;
    }
    count
}

proptest! {
    #[test]
    fn a_client_survives_any_server(
        bytes in any_bytes(),
        size in 1..200usize,
        bits in any::<u8>(),
    ) {
        let parameters = Parameters {
            udp: bits & 1 == 1,
            client: if bits & 2 == 2 { Side::Receiver } else { Side::Transmitter },
            ..Parameters::default()
        };
        let mut client = Client::new(parameters);
        for (index, piece) in bytes.chunks(size).enumerate() {
            client.handle_bytes(piece);
            match index % 5 {
                1 => client.streams_connected(None),
                2 => client.interval(Interval::default()),
                3 if bits & 32 == 0 => client.finished(totals(amount(1.0, 1.0), 1.0)),
                _ => {}
            }
            prop_assert!(drain(|| client.poll_output()) <= MAX_WAITING + 2);
        }
        client.handle_closed();
        drain(|| client.poll_output());
    }

    #[test]
    fn a_server_survives_any_client(bytes in any_bytes(), size in 1..200usize, bits in any::<u8>()) {
        let mut server = Server::new(5000);
        for (index, piece) in bytes.chunks(size).enumerate() {
            server.handle_bytes(piece);
            match (index + usize::from(bits)) % 7 {
                1 | 2 => server.accept(),
                3 => server.streams_connected(&Connected::default()),
                4 => server.interval(Interval::default()),
                5 => server.abort(),
                _ => {}
            }
            prop_assert!(drain(|| server.poll_output()) <= MAX_WAITING + 3);
        }
        server.handle_closed();
        server.finished(&totals(amount(1.0, 1.0), 1.0));
        drain(|| server.poll_output());
    }

    #[test]
    fn no_more_than_one_line_is_held(bytes in proptest::collection::vec(any::<u8>(), 0..9000)) {
        let mut lines = Lines::default();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match lines.next(&mut rest) {
                Ok(Some(line)) => prop_assert!(line.len() <= 3 * MAX_LINE),
                Ok(None) => {}
                Err(_) => break,
            }
            prop_assert!(lines.held() <= MAX_LINE);
        }
    }

    #[test]
    fn any_line_is_read_as_something(bytes in any_bytes()) {
        for line in String::from_utf8_lossy(&bytes).lines() {
            let _ = Line::read(line);
        }
    }

    #[test]
    fn any_datagrams_are_counted(
        datagrams in proptest::collection::vec(
            (any::<u64>(), proptest::collection::vec(any::<u8>(), 0..60)), 0..40
        ),
        bits in any::<u32>(),
    ) {
        let parameters = Parameters {
            udp: true,
            buffer_bytes: bits % 100,
            rate_kbps: Some(u64::from(bits % 3)),
            instantaneous: true,
            interval: Duration::from_millis(u64::from(bits & 1)),
            jitter: Wanted(bits >> 8),
            ..Parameters::default()
        };
        let mut receiver = Receiver::new(&parameters, &Agreed::new(Version::OURS, &parameters));
        for (time, bytes) in datagrams {
            let _ = Datagram::read(&bytes);
            let _ = StreamStamp::read(&bytes);
            let now = Instant::from_nanos(time);
            receiver.on_datagram(now, &bytes);
            if time % 3 == 0 {
                receiver.take_interval();
            }
        }
        let total = receiver.total();
        prop_assert!(total.bytes.as_u64() <= 40 * 60);
    }
}
