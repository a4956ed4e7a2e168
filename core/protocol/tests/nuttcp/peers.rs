//! Old peers, newer peers, and peers that misbehave.

use gigatcp_protocol::nuttcp::client::Event;
use gigatcp_protocol::nuttcp::lines::{MAX_LINE, MAX_WAITING};
use gigatcp_protocol::nuttcp::output::interval::Interval;
use gigatcp_protocol::nuttcp::output::read::Verbose;
use gigatcp_protocol::nuttcp::output::verbose::Connected;
use gigatcp_protocol::nuttcp::output::{CongestionWindow, Retransmissions};
use gigatcp_protocol::nuttcp::parameters::{Format, Limits, Parameters};
use gigatcp_protocol::nuttcp::{Client, Error, Server, Side, Version, server};
use gigatcp_units::Duration;

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
    client.streams_connected(&Connected::default());
    of_client(&mut client);
    client
}

fn ended(client: &mut Client) -> Error {
    let said = of_client(client);
    assert!(said.closed, "a failed client closes");
    failure(&said.events).clone()
}

#[test]
fn a_server_older_than_the_greeting_is_tried_again_without_it() {
    let mut first = client();
    first.handle_bytes(b"KO\nnuttcp-r: v3.1.0: error scanning parameters\nKO\n");
    assert_eq!(of_client(&mut first).events, [Event::OldServer]);
    let mut second = Client::without_greeting(Parameters::default());
    let sent = of_client(&mut second).sent;
    assert!(
        sent.starts_with("buflen = 65536, ") && sent.ends_with("vers = 8.2.2\n"),
        "{sent}"
    );
    second.handle_bytes(b"OK\n");
    match &of_client(&mut second).events[..] {
        [Event::Accepted(agreed)] => {
            assert_eq!(agreed.peer, Version::UNKNOWN);
            assert!(!agreed.second_begin && !agreed.retransmission_stamps);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_agreed_depends_on_the_servers_version() {
    for (version, stamps, windows) in [
        ("5.5.5", false, false),
        ("6.0.1", true, false),
        ("8.0.1", true, true),
    ] {
        let mut client = client();
        client.handle_bytes(format!("HELO nuttcp v{version}\nOK v{version}\n").as_bytes());
        match of_client(&mut client).events.last() {
            Some(Event::Accepted(agreed)) => {
                assert!(agreed.second_begin);
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
    let initial = Event::Said(Side::Transmitter, Verbose::InitialWindow(10));
    assert!(said.events.contains(&initial));
    let brief = brief(&said.events);
    let sums = " 1779.3750 MB /   2.00 sec = 7463.0000 Mbps 16 %TX 24 %RX 5 retrans 894 KB-cwnd \
                20.09 msRTT";
    assert_eq!(brief.line(Format::RTT), sums);
    let streams = sums
        .replace("5 retrans", "5 = 1+4 retrans")
        .replace("894 KB", "894 = 447+447 KB");
    assert_eq!(brief.line_by_stream(Format::RTT), streams);
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
        "read `SSH-2.0-OpenSSH_9.2`, expected `HELO nuttcp v` and a version, like 8.2.2"
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
fn a_flood_of_lines_ends_the_test() {
    let mut client = running();
    client.handle_bytes(&b"flood\n".repeat(1_000_000));
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
fn a_warning_of_the_server_is_passed_on() {
    let mut client = running();
    client.handle_bytes(b"nuttcp-r: Warning: receive window size 1 < requested window size 2\n");
    let events = of_client(&mut client).events;
    assert!(matches!(
        &events[..],
        [Event::Said(Side::Receiver, Verbose::Warning(_))]
    ));
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
        of_client(&mut client).events.len(),
        2,
        "waits for this side's figures"
    );
    client.finished(totals(amount(5.0, 5.0), 1.0));
    let said = of_client(&mut client);
    assert_eq!(brief(&said.events).received.bytes.as_u64(), 2 << 20);
}

#[test]
fn the_abort_byte_stops_a_sender_however_it_is_delivered() {
    let udp = Parameters {
        udp: true,
        buffer_bytes: 1000,
        rate_kbps: Some(1000),
        ..Parameters::default()
    };
    let mut client = Client::new(udp);
    client.handle_bytes(b"HELO nuttcp v6.1.2\nOK v6.1.2\n");
    client.streams_connected(&Connected::default());
    of_client(&mut client);
    client.handle_urgent(b'A');
    assert_eq!(of_client(&mut client).events, [Event::Abort]);
    client.handle_bytes(b"Anuttcp-r: v6.1.2: socket\n");
    assert_eq!(of_client(&mut client).events[0], Event::Abort);
    client.handle_urgent(b'B');
    assert!(matches!(ended(&mut client), Error::Unexpected { .. }));
}

#[test]
fn a_finished_client_ignores_what_follows() {
    let mut client = running();
    client.handle_bytes(b"nuttcp-r: v6.1.2: Error: x\n");
    of_client(&mut client);
    client.handle_bytes(b"more\n");
    client.handle_urgent(b'A');
    client.handle_closed();
    client.finished(totals(amount(1.0, 1.0), 1.0));
    let said = of_client(&mut client);
    assert!(said.events.is_empty() && said.sent.is_empty());
}

/// The end of a server's test.
fn refused(bytes: &[u8]) -> (String, Error) {
    let mut server = Server::new(Limits::default());
    server.handle_bytes(bytes);
    let said = of_server(&mut server);
    assert!(said.closed);
    match said.events.last() {
        Some(server::Event::Failed(error)) => (said.sent, error.clone()),
        other => panic!("{other:?}"),
    }
}

fn line(version: &str) -> String {
    let (line, _) = Parameters::default().line(Version::OURS).expect("a line");
    line.replace("vers = 8.2.2", &format!("vers = {version}"))
}

#[test]
fn a_client_that_is_refused_is_told_why() {
    let (sent, error) = refused(b"HELO nuttcp v6.1.2\nhello\n");
    let missing = "read parameters without `vers`, expected it from every nuttcp";
    assert_eq!(error.to_string(), missing);
    assert_eq!(
        sent,
        format!("HELO nuttcp v8.2.2\nKO\nnuttcp-r: v8.2.2: {missing}\nKO\n")
    );
    let many = line("8.2.2").replace("nstream = 1", "nstream = 129");
    let (sent, _) = refused(format!("HELO nuttcp v8.2.2\n{many}").as_bytes());
    assert!(sent.ends_with(
        "nuttcp-r: v8.2.2: read `nstream = 129`, expected 1 to 128 streams, or fewer here\nKO\n"
    ));
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
fn a_client_older_than_the_greeting_is_served() {
    let mut server = Server::new(Limits::default());
    let old = "buflen = 8192, nbuf = 2048, win = 0, nstream = 1, rate = 4294967295, port = 5001, \
               trans = 1, braindead = 0, timeout = 10, udp = 0, vers = 3.1.2\n";
    server.handle_bytes(old.as_bytes());
    server.accept();
    let said = of_server(&mut server);
    assert_eq!(said.sent, "OK v8.2.2\n");
    match &said.events[..] {
        [server::Event::Requested(parameters, agreed)] => {
            assert_eq!((parameters.buffers, parameters.port), (Some(2048), 5001));
            assert_eq!(agreed.peer, Version::new(3, 1, 2));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_old_client_gets_no_figure_it_does_not_know() {
    for (version, expected) in [
        ("5.5.5", " Mbps\n"),
        ("6.1.2", " Mbps     5 retrans\n"),
        ("8.2.2", " Mbps     5 retrans    447 KB-cwnd\n"),
    ] {
        let mut server = Server::new(Limits::default());
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
    let mut server = Server::new(Limits::default());
    server.handle_bytes(format!("HELO nuttcp v8.2.2\n{}", line("8.2.2")).as_bytes());
    of_server(&mut server);
    server.refuse("busy\nKO\nuntil noon");
    let said = of_server(&mut server);
    assert_eq!(said.sent, "KO\nnuttcp-r: v8.2.2: busy KO until noon\nKO\n");
    assert!(said.closed);
}

#[test]
fn a_client_that_leaves_is_noticed_at_every_stage() {
    let mut server = Server::new(Limits::default());
    server.handle_closed();
    assert!(matches!(
        &of_server(&mut server).events[..],
        [server::Event::Failed(Error::Closed {
            expected: "a greeting"
        })]
    ));
    let mut server = Server::new(Limits::default());
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
    let mut server = Server::new(Limits::default());
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
        let mut server = Server::new(Limits::default());
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

#[test]
fn a_traceroute_is_passed_on_and_cannot_end_early() {
    let mut server = Server::new(Limits::default());
    let line = line("8.2.2").replace("traceroute = 0", "traceroute = 1");
    server.handle_bytes(format!("HELO nuttcp v8.2.2\n{line}").as_bytes());
    server.accept();
    server.text(" 1  gw.example\t(192.0.2.1)  0.3 ms");
    server.text("DONE");
    server.text_ended();
    let said = of_server(&mut server);
    let expected =
        "HELO nuttcp v8.2.2\nOK v8.2.2\n 1  gw.example (192.0.2.1)  0.3 ms\n DONE\nDONE\n";
    assert_eq!(said.sent, expected);
    let mut client = Client::new(Parameters {
        traceroute: true,
        time_limit: Duration::ZERO,
        ..Parameters::default()
    });
    client.handle_bytes(said.sent.as_bytes());
    let events = of_client(&mut client).events;
    let texts = events
        .iter()
        .filter(|event| matches!(event, Event::Text(_)));
    assert_eq!(texts.count(), 2);
    assert_eq!(events.last(), Some(&Event::Done));
}
