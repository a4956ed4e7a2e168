//! Sessions of nuttcp 6.1.2: what its server sent must give our client the summary that
//! its client printed, and our server must write the lines its server wrote.

use gigatcp_protocol::nuttcp::client::Event;
use gigatcp_protocol::nuttcp::output::Retransmissions;
use gigatcp_protocol::nuttcp::output::interval::Interval;
use gigatcp_protocol::nuttcp::output::verbose::{Connected, Totals, Windows};
use gigatcp_protocol::nuttcp::parameters::{Format, Parameters};
use gigatcp_protocol::nuttcp::{Client, Server, Side, Version};
use gigatcp_units::{Bytes, Duration};

use crate::{amount, brief, of_client, of_server, totals, usage};

/// `nuttcp -T1 -i0.3 HOST`: the client's line.
const SEND: &str = "buflen = 65536, nbuf = 2147483647, win = 0, nstream = 1, \
    rate = 4294967295, port = 25287, trans = 1, braindead = 0, timeout = 1.000000, udp = 0, \
    vers = 6.1.2, interval = 0.300000, reverse = 0, format = 2048, traceroute = 0, irate = 0, \
    thirdparty = _NULL_ , multicast = 0 , datamss = 0 , tos = 0 , nbuf_bytes = 0 , \
    rate_pps = 0 , nodelay = 0\n";

/// The server's part after `OK`.
const SEND_SETUP: &str = "\
nuttcp-r: v6.1.2: socket
nuttcp-r: buflen=65536, nstream=1, port=25287 tcp
nuttcp-r: interval reporting every 0.30 seconds
nuttcp-r: accept from 127.0.0.1
nuttcp-r: send window size = 3939840, receive window size = 131072
nuttcp-r: available send window = 1969920, available receive window = 65536
";
const SEND_INTERVALS: &str = "  697.4375 MB /   0.30 sec = 19499.9460 Mbps     0 retrans
  991.9375 MB /   0.30 sec = 27736.1206 Mbps     0 retrans
 1159.0625 MB /   0.30 sec = 32407.1440 Mbps     0 retrans
";
const SEND_TOTALS: &str = "\
DONE
nuttcp-r: 3191.8750 MB in 1.00 real seconds = 3264914.71 KB/sec = 26746.1813 Mbps
nuttcp-r: 3191.8750 MB in 0.49 CPU seconds = 6670081.49 KB/cpu sec
nuttcp-r: 62112 I/O calls, msec/call = 0.02, calls/sec = 62044.25
nuttcp-r: 0.0user 0.4sys 0:01real 48% 0i+0d 976maxrss 0+0pf 16072+3931csw
";
const SEND_BRIEF: &str =
    " 3191.8750 MB /   1.00 sec = 26746.1813 Mbps 70 %TX 48 %RX 0 retrans 0.12 msRTT";

fn send_parameters() -> Parameters {
    Parameters {
        port: 25_287,
        time_limit: Duration::from_secs(1),
        interval: Duration::from_millis(300),
        ..Parameters::default()
    }
}

/// Runs our client against a server's recorded part, up to the end of its data.
fn start(parameters: Parameters, rtt_us: u64) -> Client {
    let mut client = Client::new(parameters);
    client.handle_bytes(b"HELO nuttcp v6.1.2\nOK v6.1.2\n");
    client.streams_connected((rtt_us > 0).then(|| Duration::from_micros(rtt_us)));
    client
}

#[test]
fn a_client_sends_the_line_of_6_1_2_to_a_server_of_6_1_2() {
    let mut client = Client::new(send_parameters());
    assert_eq!(of_client(&mut client).sent, "HELO nuttcp v8.2.2\n");
    client.handle_bytes(b"HELO nuttcp v6.1.2\n");
    let ours = SEND.replace("vers = 6.1.2", "vers = 8.2.2");
    assert_eq!(of_client(&mut client).sent, ours);
}

#[test]
fn a_sending_client_reads_intervals_and_summary_of_a_server_of_6_1_2() {
    let mut client = start(send_parameters(), 120);
    client.handle_bytes(SEND_SETUP.as_bytes());
    client.handle_bytes(SEND_INTERVALS.as_bytes());
    client.handle_bytes(SEND_TOTALS.as_bytes());
    client.handle_closed();
    let mut own = totals(amount(3191.875, 26_746.0), 70.0);
    own.retransmissions = Some(Retransmissions::new(0));
    client.finished(own);
    let said = of_client(&mut client);
    let intervals: Vec<String> = said.events.iter().filter_map(interval).collect();
    assert_eq!(intervals.join("\n") + "\n", SEND_INTERVALS);
    assert!(said.events.contains(&Event::Done));
    assert_eq!(brief(&said.events).line(Format::RTT), SEND_BRIEF);
    assert!(said.closed);
}

fn interval(event: &Event) -> Option<String> {
    match event {
        Event::Interval(interval) => Some(interval.line(Format::RTT)),
        _ => None,
    }
}

/// `nuttcp -r -T1 -i0.3 HOST`: the server's part after `OK`.
const RECEIVE: &str = "\
nuttcp-t: v6.1.2: socket
nuttcp-t: buflen=65536, nstream=1, port=37734 tcp -> 127.0.0.1
nuttcp-t: time limit = 1.00 second
nuttcp-t: connect to 127.0.0.1 with mss=32741, RTT=0.148 ms
nuttcp-t: send window size = 3939840, receive window size = 131072
nuttcp-t: available send window = 1969920, available receive window = 65536
nuttcp-t: 2430.7500 MB in 1.00 real seconds = 2488946.13 KB/sec = 20389.4467 Mbps
nuttcp-t: 2430.7500 MB in 0.93 CPU seconds = 2683233.35 KB/cpu sec
nuttcp-t: retrans = 0
nuttcp-t: 38892 I/O calls, msec/call = 0.03, calls/sec = 38889.78
nuttcp-t: 0.0user 0.9sys 0:01real 92% 0i+0d 942maxrss 0+0pf 73+72csw
";

#[test]
fn a_receiving_client_takes_the_senders_figures_from_a_server_of_6_1_2() {
    let parameters = Parameters {
        client: Side::Receiver,
        port: 37_734,
        ..send_parameters()
    };
    let mut client = start(parameters, 0);
    client.finished(totals(amount(2430.75, 20398.7072), 40.0));
    client.handle_bytes(RECEIVE.as_bytes());
    client.handle_closed();
    let said = of_client(&mut client);
    assert_eq!(
        brief(&said.events).line(Format::RTT),
        " 2430.7500 MB /   1.00 sec = 20398.7072 Mbps 92 %TX 40 %RX 0 retrans 0.15 msRTT"
    );
}

/// `nuttcp -u -r -R2m -T1 HOST`: the server's part after `OK`.
const DATAGRAMS: &str = "\
nuttcp-t: v6.1.2: socket
nuttcp-t: buflen=8192, nstream=1, port=22576 udp -> 127.0.0.1
nuttcp-t: time limit = 1.00 second
nuttcp-t: rate limit = 2.000 Mbps (aggregate), 30 pps
nuttcp-t: send window size = 212992, receive window size = 212992
nuttcp-t: available send window = 106496, available receive window = 106496
nuttcp-t: 0.2422 MB in 1.02 real seconds = 243.64 KB/sec = 1.9959 Mbps
nuttcp-t: 0.2422 MB in 0.71 CPU seconds = 348.87 KB/cpu sec
nuttcp-t: 38 I/O calls, msec/call = 27.43, calls/sec = 37.33
nuttcp-t: 0.7user 0.0sys 0:01real 69% 0i+0d 942maxrss 0+0pf 0+132csw
";

fn datagram_parameters() -> Parameters {
    Parameters {
        client: Side::Receiver,
        udp: true,
        buffer_bytes: 8192,
        rate_kbps: Some(2000),
        port: 22_576,
        time_limit: Duration::from_secs(1),
        ..Parameters::default()
    }
}

#[test]
fn a_client_that_receives_datagrams_counts_losses_from_the_servers_amount() {
    let mut client = start(datagram_parameters(), 0);
    client.handle_bytes(DATAGRAMS.as_bytes());
    client.handle_closed();
    client.finished(totals(amount(31.0 * 8192.0 / 1_048_576.0, 1.9995), 0.0));
    let said = of_client(&mut client);
    assert_eq!(
        brief(&said.events).line(Format::RTT),
        "    0.2422 MB /   1.02 sec =    1.9995 Mbps 69 %TX 0 %RX 0 / 31 drop/pkt 0.00 %loss"
    );
}

/// A server that waits 5 s for datagrams: `A` was urgent data, here in line.
const ABORTED: &str = "\
Anuttcp-r: v6.1.2: socket
nuttcp-r: buflen=1000, nstream=1, port=26601 udp
nuttcp-r: send window size = 212992, receive window size = 212992
nuttcp-r: available send window = 106496, available receive window = 106496
nuttcp-r: 0.0000 MB in 5.00 real seconds = 0.00 KB/sec = 0.0000 Mbps
nuttcp-r: 0.0000 MB in 0.00 CPU seconds = 0.00 KB/cpu sec
nuttcp-r: 1 I/O calls, msec/call = 5120.23, calls/sec = 0.20
nuttcp-r: 0.0user 0.0sys 0:05real 0% 0i+0d 1350maxrss 0+0pf 1+0csw
";

#[test]
fn a_server_that_receives_nothing_stops_the_sender_and_still_reports() {
    let parameters = Parameters {
        client: Side::Transmitter,
        buffer_bytes: 1000,
        ..datagram_parameters()
    };
    let mut client = start(parameters, 0);
    client.handle_bytes(ABORTED.as_bytes());
    let mut own = totals(amount(1.0, 2.0), 1.0);
    own.amount.bytes = Bytes::new(57_000);
    client.finished(own);
    client.handle_closed();
    let said = of_client(&mut client);
    assert!(said.events.contains(&Event::Abort) && said.shut);
    let line = brief(&said.events).line(Format::RTT);
    assert!(line.ends_with(" 57 / 57 drop/pkt 100.00 %loss"), "{line}");
}

/// Runs our server for a recorded client, up to its data.
fn serve(line: &str) -> Server {
    let mut server = Server::new(5000);
    server.handle_bytes(b"HELO nuttcp v6.1.2\n");
    server.handle_bytes(line.as_bytes());
    server.accept();
    let said = of_server(&mut server);
    assert_eq!(said.sent, "HELO nuttcp v8.2.2\nOK v8.2.2\n");
    server
}

fn connected() -> Connected {
    Connected {
        peer: "127.0.0.1".to_owned(),
        granted: Windows {
            send_bytes: 3_939_840,
            receive_bytes: 131_072,
        },
        available: Windows {
            send_bytes: 1_969_920,
            receive_bytes: 65_536,
        },
        ..Connected::default()
    }
}

/// The lines with our version, and without the resources that are not measured.
fn as_ours(recorded: &str) -> String {
    let (before, resources) = match recorded.split_once("% 0i+0d ") {
        Some((before, _)) => (before, "% 0i+0d 0maxrss 0+0pf 0+0csw\n"),
        None => (recorded, ""),
    };
    before.replace("v6.1.2: socket", "v8.2.2: socket") + resources
}

#[test]
fn a_receiving_server_writes_what_6_1_2_wrote() {
    let mut server = serve(SEND);
    server.streams_connected(&connected());
    assert_eq!(of_server(&mut server).sent, as_ours(SEND_SETUP));
    server.finished(&Totals {
        amount: amount(3191.875, 26746.1813),
        usage: usage(0.045, 0.445_020_999_7, 1.001_092),
        calls: 62_112,
        ..Totals::default()
    });
    let said = of_server(&mut server);
    assert_eq!(said.sent, as_ours(SEND_TOTALS));
    assert!(said.closed);
}

#[test]
fn a_sending_server_writes_what_6_1_2_wrote() {
    let line = SEND
        .replace("trans = 1", "trans = 0")
        .replace("25287", "37734");
    let mut server = serve(&line);
    server.streams_connected(&Connected {
        mss: Some(32_741),
        rtt: Some(Duration::from_micros(148)),
        ..connected()
    });
    server.finished(&Totals {
        amount: amount(2430.75, 20389.4467),
        usage: usage(0.02, 0.907_645, 1.000_057),
        calls: 38_892,
        retransmissions: Some(Retransmissions::new(0)),
        ..Totals::default()
    });
    assert_eq!(of_server(&mut server).sent, as_ours(RECEIVE));
}

#[test]
fn a_server_that_sends_datagrams_writes_what_6_1_2_wrote() {
    let line = datagram_parameters().line(Version::OLDEST).expect("a line");
    let mut server = serve(&line.replace("vers = 8.2.2", "vers = 6.1.2"));
    let buffers = |bytes| Windows {
        send_bytes: bytes,
        receive_bytes: bytes,
    };
    server.streams_connected(&Connected {
        granted: buffers(212_992),
        available: buffers(106_496),
        ..connected()
    });
    let setup = DATAGRAMS.lines().take(6).map(|line| line.to_owned() + "\n");
    assert_eq!(
        of_server(&mut server).sent,
        as_ours(&setup.collect::<String>())
    );
    let mut sent = amount(31.0 * 8192.0 / 1_048_576.0, 1.9959);
    sent.bytes = Bytes::new(31 * 8192);
    server.finished(&Totals {
        calls: 38,
        ..totals(sent, 69.0)
    });
    let results = of_server(&mut server).sent;
    for line in [6, 8] {
        let recorded = DATAGRAMS.lines().nth(line).expect("a line");
        assert!(results.contains(recorded), "{results}");
    }
}

/// `nuttcp -fparse -T1 -i0.5 HOST`: the server's part after `OK`.
const PARSED: &str = "\
nuttcp-r: v6.1.2: socket
nuttcp-r: buflen=65536 nstream=1 port=30357 mode=tcp
nuttcp-r: reporting_interval=0.50
nuttcp-r: accept=127.0.0.1
nuttcp-r: send_window_size=3939840 receive_window_size=131072
nuttcp-r: send_window_avail=1969920 receive_window_avail=65536
megabytes=1697.8125 real_sec=0.50 rate_Mbps=28481.8328 retrans=0
DONE
nuttcp-r: megabytes=3868.5000 real_seconds=1.00 rate_KBps=3962199.84 rate_Mbps=32458.3410
nuttcp-r: megabytes=3868.5000 cpu_seconds=0.40 KB_per_cpu_second=10017813.52
nuttcp-r: io_calls=85074 msec_per_call=0.01 calls_per_sec=85092.38
nuttcp-r: stats=cpu user=0.0 system=0.3 elapsed=0:01 cpu=39% memory=0i+0d-942maxrss io=0+0pf swaps=30415+44csw
";

#[test]
fn a_server_writes_the_keys_of_fparse_as_6_1_2_wrote_them() {
    let line = SEND
        .replace("interval = 0.300000", "interval = 0.500000")
        .replace("port = 25287", "port = 30357")
        .replace("format = 2048", "format = 2112");
    let mut server = serve(&line);
    server.streams_connected(&connected());
    server.interval(Interval {
        received: amount(1697.8125, 28_481.832_8),
        retransmissions: Some(Retransmissions::new(0)),
        ..Interval::default()
    });
    server.finished(&Totals {
        amount: amount(3868.5, 32_458.341),
        usage: usage(0.0, 0.39, 1.0),
        calls: 85_074,
        ..Totals::default()
    });
    let sent = of_server(&mut server).sent;
    let names = |text: &str| -> Vec<String> {
        let words = text.split_whitespace();
        words
            .map(|word| word.split('=').next().expect("a word").to_owned())
            .collect()
    };
    assert_eq!(names(&sent), names(&as_ours(PARSED)));
    assert!(sent.contains(" real_seconds=1.00 rate_KBps="), "{sent}");
    assert!(sent.contains(" rate_Mbps=32458.3410\n"), "{sent}");
    assert!(
        sent.contains("\nmegabytes=1697.8125 real_sec=0.50 rate_Mbps=28481.8328 retrans=0\n"),
        "{sent}"
    );
}
