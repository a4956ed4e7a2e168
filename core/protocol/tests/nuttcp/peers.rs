//! Old peers, newer peers, and peers that misbehave.

use gigatcp_protocol::nuttcp::client::Event;
use gigatcp_protocol::nuttcp::lines::{MAX_LINE, MAX_WAITING};
use gigatcp_protocol::nuttcp::output::interval::Interval;
use gigatcp_protocol::nuttcp::output::verbose::Connected;
use gigatcp_protocol::nuttcp::output::{CongestionWindow, Retransmissions};
use gigatcp_protocol::nuttcp::parameters::{Format, Parameters};
use gigatcp_protocol::nuttcp::{Client, Error, Server, Side, Version, server};

use crate::{amount, brief, failure, of_client, of_server, totals};

fn client() -> Client {
    let mut client = Client::new(Parameters::default());
    of_client(&mut client);
    client
}

/// A client whose data flows.
fn running() -> Client {
    let mut client = client();
    client.handle_bytes(b"HELO nuttcp v8.2.2\nOK v8.2.2\n");
    client.streams_connected(None);
    of_client(&mut client);
    client
}

fn ended(client: &mut Client) -> Error {
    let said = of_client(client);
    assert!(said.closed, "a failed client closes");
    failure(&said.events).clone()
}

#[test]
fn peers_older_than_6_1_2_are_refused_with_the_version_needed() {
    for bytes in ["KO\nnuttcp-r: v3.1.0: error\nKO\n", "HELO nuttcp v5.5.5\n"] {
        let mut client = client();
        client.handle_bytes(bytes.as_bytes());
        let error = ended(&mut client).to_string();
        assert!(error.ends_with("a version from 6.1.2 on"), "{error}");
    }
    let (sent, error) = refused(b"HELO nuttcp v5.5.5\n");
    assert!(sent.contains("a version from 6.1.2 on"), "{sent}");
    assert!(matches!(error, Error::Unexpected { .. }));
}

#[test]
fn what_is_agreed_depends_on_the_servers_version() {
    for (version, stamps, windows) in [("6.1.2", true, false), ("8.0.1", true, true)] {
        let mut client = client();
        client.handle_bytes(format!("HELO nuttcp v{version}\nOK v{version}\n").as_bytes());
        match of_client(&mut client).events.last() {
            Some(Event::Accepted(agreed)) => {
                assert_eq!(
                    (agreed.retransmission_stamps, agreed.window_stamps),
                    (stamps, windows)
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_server_newer_than_this_client_gets_all_keys() {
    let mut client = client();
    client.handle_bytes(b"HELO nuttcp v9.10.11\n");
    assert!(
        of_client(&mut client)
            .sent
            .ends_with(", iratesss = 0\n".replace(',', " ,").as_str())
    );
}

/// Lines that 8.2.2 sends and 6.1.2 does not: window, address family, initial window.
const LATEST: &str = "HELO nuttcp v8.2.2
OK v8.2.2
nuttcp-t: v8.2.2: socket
nuttcp-t: buflen=131072, nstream=2, port=5961 tcp -> 192.0.2.1
nuttcp-t: connect to 192.0.2.1 with mss=1448, RTT=20.090 ms af=inet
nuttcp-t: send window size = 2097152, receive window size = 131072
nuttcp-t: available send window = 1048576, available receive window = 65536
nuttcp-t: initial congestion window = 14 KB (10 packets)
nuttcp-t: 1779.3750 MB in 2.00 real seconds = 911040.00 KB/sec = 7463.2397 Mbps
nuttcp-t: min-OWD = 10.0100 ms, avg-OWD = 10.0200 ms, max-OWD = 10.0300 ms
nuttcp-t: 1779.3750 MB in 0.32 CPU seconds = 5708521.05 KB/cpu sec
nuttcp-t: retrans = 5 ( 1+4 ) cwnd = 894 KB ( 447+447 )
nuttcp-t: 14235 I/O calls, msec/call = 0.14, calls/sec = 7117.50
nuttcp-t: 0.0user 0.3sys 0:02real 16% 0i+0d 976maxrss 0+1pf 16072+3931csw
";

#[test]
fn a_server_of_8_2_2_reports_windows_and_streams() {
    let mut client = Client::new(Parameters {
        client: Side::Receiver,
        streams: 2,
        buffer_bytes: 131_072,
        ..Parameters::default()
    });
    client.handle_bytes(LATEST.as_bytes());
    client.finished(totals(amount(1779.375, 7463.0), 24.0));
    client.handle_closed();
    let said = of_client(&mut client);
    let brief = brief(&said.events);
    let sums = " 1779.3750 MB /   2.00 sec = 7463.0000 Mbps 16 %TX 24 %RX 5 retrans 894 KB-cwnd \
                20.09 msRTT";
    assert_eq!(brief.line(Format::RTT), sums);
    let by_stream = brief.retransmissions.as_ref().map(|of| &of.by_stream);
    assert_eq!(by_stream, Some(&vec![1, 4]));
}

#[test]
fn a_refusal_carries_the_servers_words() {
    let mut client = client();
    let refusal = b"HELO nuttcp v6.1.2\nKO\nnuttcp-r: v6.1.2: invalid nstream\nnstream = 129\nKO\n";
    client.handle_bytes(refusal);
    let said = "nuttcp-r: v6.1.2: invalid nstream; nstream = 129".to_owned();
    assert_eq!(ended(&mut client), Error::Refused { said });
}

#[test]
fn a_refusal_that_is_cut_off_is_one_all_the_same() {
    let mut client = client();
    client.handle_bytes(b"HELO nuttcp v6.1.2\nKO\nbusy\n");
    client.handle_closed();
    let said = "busy".to_owned();
    assert_eq!(ended(&mut client), Error::Refused { said });
}

#[test]
fn a_refusal_without_end_is_not_kept() {
    let mut client = client();
    client.handle_bytes(b"HELO nuttcp v6.1.2\nKO\n");
    for _ in 0..100_000 {
        client.handle_bytes(b"again and again and again\n");
    }
    client.handle_closed();
    match ended(&mut client) {
        Error::Refused { said } => assert!(said.len() <= 1024),
        other => panic!("{other}"),
    }
}

#[test]
fn something_else_that_listens_is_named() {
    let mut client = client();
    client.handle_bytes(b"SSH-2.0-OpenSSH_9.2\r\n");
    assert_eq!(
        ended(&mut client).to_string(),
        "read `SSH-2.0-OpenSSH_9.2`, expected `HELO nuttcp v` and a version from 6.1.2 on"
    );
}

#[test]
fn an_early_close_names_what_was_owed() {
    let closed = |bytes: &[u8]| {
        let mut client = client();
        client.handle_bytes(bytes);
        client.handle_closed();
        ended(&mut client).to_string()
    };
    let text = |owed: &str| format!("the peer closed the control connection, expected {owed}");
    assert_eq!(closed(b""), text("a greeting"));
    assert_eq!(closed(b"HELO nuttcp v8"), text("a greeting"));
    assert_eq!(closed(b"HELO nuttcp v8.2.2\n"), text("`OK` or `KO`"));
    assert_eq!(
        closed(b"HELO nuttcp v8.2.2\nOK v8.2.2\n"),
        text("the server's results")
    );
}

#[test]
fn an_endless_line_ends_the_test() {
    for stage in [
        "",
        "HELO nuttcp v8.2.2\n",
        "HELO nuttcp v8.2.2\nOK v8.2.2\n",
    ] {
        let mut client = client();
        client.handle_bytes(stage.as_bytes());
        of_client(&mut client);
        for _ in 0..MAX_LINE {
            client.handle_bytes(b"x");
        }
        assert_eq!(of_client(&mut client).events, []);
        client.handle_bytes(b"x");
        assert!(matches!(
            ended(&mut client),
            Error::LineTooLong {
                limit: MAX_LINE,
                ..
            }
        ));
    }
}

#[test]
fn a_flood_of_intervals_ends_the_test() {
    let mut client = running();
    client.handle_bytes(&b"1 MB / 1 sec = 8 Mbps\n".repeat(100_000));
    let said = of_client(&mut client);
    assert!(said.events.len() <= MAX_WAITING + 1);
    let limit = MAX_WAITING;
    assert_eq!(*failure(&said.events), Error::TooManyLines { limit });
}

#[test]
fn an_error_of_the_server_ends_the_test_with_its_words() {
    let mut client = running();
    client.handle_bytes(b"nuttcp-r: v6.1.2: Error: bind: Address already in use\n");
    let said = "v6.1.2: Error: bind: Address already in use".to_owned();
    assert_eq!(ended(&mut client), Error::Peer { said });
}

#[test]
fn results_that_contradict_are_the_last_of_their_kind() {
    let mut client = running();
    let line =
        |mb: u32| format!("nuttcp-r: {mb}.0 MB in 1.00 real seconds = 1.0 KB/sec = {mb}.0 Mbps\n");
    client.handle_bytes(line(1).as_bytes());
    client.handle_bytes(line(2).as_bytes());
    client.handle_closed();
    assert_eq!(
        of_client(&mut client).events,
        [],
        "waits for this side's figures"
    );
    client.finished(totals(amount(5.0, 5.0), 1.0));
    let said = of_client(&mut client);
    assert_eq!(brief(&said.events).received.bytes.as_u64(), 2 << 20);
}

#[test]
fn the_abort_byte_in_line_stops_a_sender() {
    let udp = Parameters {
        udp: true,
        buffer_bytes: 1000,
        rate_kbps: Some(1000),
        ..Parameters::default()
    };
    let mut client = Client::new(udp);
    client.handle_bytes(b"HELO nuttcp v6.1.2\nOK v6.1.2\n");
    client.streams_connected(None);
    of_client(&mut client);
    client.handle_bytes(b"Anuttcp-r: v6.1.2: socket\n");
    assert_eq!(of_client(&mut client).events[0], Event::Abort);
}

#[test]
fn a_finished_client_ignores_what_follows() {
    let mut client = running();
    client.handle_bytes(b"nuttcp-r: v6.1.2: Error: x\n");
    of_client(&mut client);
    client.handle_bytes(b"more\n");
    client.handle_closed();
    client.finished(totals(amount(1.0, 1.0), 1.0));
    let said = of_client(&mut client);
    assert!(said.events.is_empty() && said.sent.is_empty());
}

/// The end of a server's test.
fn refused(bytes: &[u8]) -> (String, Error) {
    let mut server = Server::new(5000);
    server.handle_bytes(bytes);
    let said = of_server(&mut server);
    assert!(said.closed);
    match said.events.last() {
        Some(server::Event::Failed(error)) => (said.sent, error.clone()),
        other => panic!("{other:?}"),
    }
}

fn line(version: &str) -> String {
    let line = Parameters::default().line(Version::OURS).expect("a line");
    line.replace("vers = 8.2.2", &format!("vers = {version}"))
}

#[test]
fn a_client_that_is_refused_is_told_why() {
    let (sent, error) = refused(b"HELO nuttcp v6.1.2\nhello\n");
    let missing = "read parameters without `vers`, expected it from nuttcp 6.1.2 or later";
    assert_eq!(error.to_string(), missing);
    assert_eq!(
        sent,
        format!("HELO nuttcp v8.2.2\nKO\nnuttcp-r: v8.2.2: {missing}\nKO\n")
    );
    let many = line("8.2.2").replace("nstream = 1", "nstream = 129");
    let (sent, _) = refused(format!("HELO nuttcp v8.2.2\n{many}").as_bytes());
    assert!(
        sent.ends_with("nuttcp-r: v8.2.2: read `nstream = 129`, expected 1 to 128 streams\nKO\n")
    );
}

#[test]
fn a_scanner_gets_a_refusal_and_nothing_else() {
    let (sent, error) = refused(b"GET / HTTP/1.0\r\n");
    assert!(sent.starts_with("KO\n") && sent.ends_with("\nKO\n"));
    assert!(matches!(error, Error::Unexpected { .. }));
    let (_, error) = refused(&[0xff; MAX_LINE + 1]);
    assert!(matches!(error, Error::LineTooLong { .. }));
}

#[test]
fn an_old_client_gets_no_figure_it_does_not_know() {
    for (version, expected) in [
        ("6.1.2", " Mbps     5 retrans\n"),
        ("8.2.2", " Mbps     5 retrans    447 KB-cwnd\n"),
    ] {
        let mut server = Server::new(5000);
        let line = line(version).replace("interval = 0.000000", "interval = 1.000000");
        server.handle_bytes(format!("HELO nuttcp v{version}\n{line}").as_bytes());
        server.accept();
        server.streams_connected(&Connected::default());
        of_server(&mut server);
        server.interval(Interval {
            received: amount(1.0, 8.388_608),
            retransmissions: Some(Retransmissions::new(5)),
            congestion_window: Some(CongestionWindow::new(447)),
            ..Interval::default()
        });
        let sent = of_server(&mut server).sent;
        assert!(sent.ends_with(expected), "{version}: {sent}");
    }
}

#[test]
fn a_server_refuses_for_reasons_of_its_own_without_breaking_the_protocol() {
    let mut server = Server::new(5000);
    server.handle_bytes(format!("HELO nuttcp v8.2.2\n{}", line("8.2.2")).as_bytes());
    of_server(&mut server);
    server.refuse("busy\nKO\nuntil noon");
    let said = of_server(&mut server);
    assert_eq!(said.sent, "KO\nnuttcp-r: v8.2.2: busy KO until noon\nKO\n");
    assert!(said.closed);
}

#[test]
fn a_client_that_leaves_is_noticed_at_every_stage() {
    let mut server = Server::new(5000);
    server.handle_closed();
    assert!(matches!(
        &of_server(&mut server).events[..],
        [server::Event::Failed(Error::Closed {
            expected: "a greeting"
        })]
    ));
    let mut server = Server::new(5000);
    server.handle_bytes(format!("HELO nuttcp v8.2.2\n{}", line("8.2.2")).as_bytes());
    server.accept();
    server.streams_connected(&Connected::default());
    of_server(&mut server);
    server.handle_closed();
    assert_eq!(of_server(&mut server).events, [server::Event::ClientClosed]);
    server.finished(&totals(amount(1.0, 1.0), 1.0));
    let said = of_server(&mut server);
    assert!(
        said.sent.contains("1.0000 MB in"),
        "partial results are reported"
    );
}

#[test]
fn a_client_that_talks_during_the_transfer_is_dropped() {
    let mut server = Server::new(5000);
    server.handle_bytes(format!("HELO nuttcp v8.2.2\n{}", line("8.2.2")).as_bytes());
    server.accept();
    of_server(&mut server);
    server.handle_bytes(b"hello?\n");
    let said = of_server(&mut server);
    assert!(matches!(
        said.events[..],
        [server::Event::Failed(Error::Unexpected {
            expected: "nothing after the parameters",
            ..
        })]
    ));
    assert!(said.closed && said.sent.is_empty());
}

#[test]
fn only_a_client_that_sends_datagrams_is_told_to_stop() {
    for (from, to, expected) in [
        ("udp = 0", "udp = 1", &b"A"[..]),
        ("udp = 0", "udp = 0", b""),
        ("trans = 1", "trans = 0", b""),
    ] {
        let mut server = Server::new(5000);
        let line = line("8.2.2")
            .replace(from, to)
            .replace("buflen = 65536", "buflen = 1000");
        server.handle_bytes(format!("HELO nuttcp v8.2.2\n{line}").as_bytes());
        server.accept();
        server.streams_connected(&Connected::default());
        of_server(&mut server);
        server.abort();
        assert_eq!(of_server(&mut server).urgent, expected);
    }
}
