//! Whole tests of both roles: against each other byte by byte, and against scripted peers.

use gigatcp_protocol::iperf3::{
    Client, ClientEvent, ClientFailure, Cookie, Cpu, Direction, ErrorCode, Output, Parameters,
    Results, ServerEnd, ServerEvent, Session, State, StreamResults, Violation, clock, stream_id,
};
use gigatcp_units::{Duration, Instant};
use proptest::prelude::*;

const COOKIE: [u8; 36] = [7; 36];

fn parameters() -> Parameters {
    Parameters {
        time: 10,
        parallel: 2,
        client_version: "3.12".into(),
        ..Parameters::default()
    }
}

fn results(streams: usize) -> Results {
    Results {
        cpu: Cpu::default(),
        sender_has_retransmits: Some(true),
        streams: (0..streams)
            .map(|place| StreamResults {
                id: stream_id(place),
                bytes: 1000,
                ..StreamResults::default()
            })
            .collect(),
        ..Results::default()
    }
}

fn block(value: &serde_json::Value) -> Vec<u8> {
    let text = value.to_string();
    let length = u32::try_from(text.len()).unwrap();
    [&length.to_be_bytes(), text.as_bytes()].concat()
}

/// A client and the server's answers of a script.
struct Scripted(Client);

impl Scripted {
    fn new() -> Self {
        let mut client = Client::new(Cookie::from_random(COOKIE), parameters());
        let first = client.poll_output();
        assert!(matches!(first, Some(Output::Send(cookie)) if cookie.len() == 37));
        Self(client)
    }

    /// Client's outputs after the server has sent `bytes`.
    fn after(&mut self, bytes: &[u8]) -> Vec<Output<ClientEvent>> {
        self.0.handle_bytes(Instant::ZERO, bytes);
        std::iter::from_fn(|| self.0.poll_output()).collect()
    }

    fn failure_after(&mut self, bytes: &[u8]) -> ClientFailure {
        match self.after(bytes).pop() {
            Some(Output::Event(ClientEvent::Failed(failure))) => failure,
            other => panic!("{other:?}"),
        }
    }

    /// Continues until data flows.
    fn running() -> Self {
        let mut client = Self::new();
        client.after(&[9]);
        client.after(&[10]);
        let run = client.after(&[1, 2]);
        assert_eq!(
            run,
            [
                Output::Event(ClientEvent::Start),
                Output::Event(ClientEvent::Run)
            ]
        );
        client
    }
}

/// Runs both roles from the cookie to the end, in single bytes. Returns the results that each
/// received from the other.
fn whole_test(of_client: &Results, of_server: &Results) -> Vec<Results> {
    let now = Instant::ZERO;
    let mut client = Client::new(Cookie::from_random(COOKIE), parameters());
    let mut session = Session::new(now);
    let mut cookie_bytes_left = 37;
    let (mut from_peers, mut is_done) = (Vec::new(), (false, false));
    for _ in 0..100 {
        while let Some(output) = client.poll_output() {
            match output {
                Output::Send(bytes) => {
                    for byte in bytes {
                        if cookie_bytes_left > 0 {
                            cookie_bytes_left -= 1;
                        } else {
                            session.handle_bytes(now, &[byte]);
                        }
                    }
                }
                Output::Event(ClientEvent::OpenStreams) => session.start(now),
                Output::Event(ClientEvent::Run) => client.end_test(now),
                Output::Event(ClientEvent::ExchangeResults) => {
                    client.send_results(now, of_client);
                }
                Output::Event(ClientEvent::PeerResults(results)) => from_peers.push(results),
                Output::Event(ClientEvent::Done) => is_done.0 = true,
                Output::Event(ClientEvent::Start | ClientEvent::Clock(_)) => {}
                Output::Event(ClientEvent::Failed(failure)) => panic!("{failure}"),
            }
        }
        while let Some(output) = session.poll_output() {
            match output {
                Output::Send(bytes) => {
                    for byte in bytes {
                        client.handle_bytes(now, &[byte]);
                    }
                }
                Output::Event(ServerEvent::Parameters(read)) => {
                    assert_eq!(read, parameters());
                    session.create_streams(now);
                }
                Output::Event(ServerEvent::Run) => {}
                Output::Event(ServerEvent::EndTest) => session.exchange_results(now),
                Output::Event(ServerEvent::PeerResults(theirs)) => {
                    from_peers.push(theirs);
                    session.send_results(now, of_server);
                }
                Output::Event(ServerEvent::Ended(end)) => is_done.1 = end == ServerEnd::Done,
            }
        }
    }
    assert_eq!(is_done, (true, true));
    from_peers
}

#[test]
fn a_test_goes_through_with_every_message_cut_into_single_bytes() {
    let from_peers = whole_test(&results(2), &results(2));
    assert_eq!(from_peers, [results(2), results(2)]);
}

#[test]
fn counters_beyond_32_bits_arrive_to_the_byte() {
    let large = |more: u64| {
        let mut large = results(2);
        for (place, stream) in (0..).zip(&mut large.streams) {
            stream.bytes = 5_000_000_019 + more + place;
            stream.retransmits = Some((1 << 32) + more);
            stream.packets = (1 << 33) + more;
            stream.errors = (1 << 32) + 7;
        }
        large
    };
    let from_peers = whole_test(&large(1), &large(2));
    assert_eq!(from_peers, [large(1), large(2)]);
    let sum: u64 = from_peers[1]
        .streams
        .iter()
        .map(|stream| stream.bytes)
        .sum();
    assert_eq!(sum, 10_000_000_043);
}

#[test]
fn display_results_may_come_glued_to_the_results() {
    let mut client = Scripted::running();
    client.0.end_test(Instant::ZERO);
    client.after(&[13]);
    client.0.send_results(Instant::ZERO, &results(2));
    let glued = [block(&results(2).to_json()), vec![14]].concat();
    let last = client.after(&glued);
    assert!(last.contains(&Output::Event(ClientEvent::Done)), "{last:?}");
    let done = State::IperfDone.to_byte();
    assert!(last.contains(&Output::Send(vec![done])));
}

#[test]
fn a_busy_server_is_no_violation() {
    assert_eq!(Scripted::new().failure_after(&[0xff]), ClientFailure::Busy);
}

#[test]
fn a_queued_client_waits_without_a_deadline_and_an_accepted_one_does_not() {
    let mut client = Scripted::new();
    assert!(client.0.is_queued());
    assert_eq!(client.0.poll_timeout(), None);
    client.after(&[9]);
    assert!(client.0.is_queued());
    assert_eq!(client.0.poll_timeout(), None);
    client.after(&[10]);
    assert!(!client.0.is_queued());
    let deadline = client.0.poll_timeout().unwrap();
    client.0.handle_timeout(deadline);
    let failed = client.after(&[]).pop();
    let expected = "TEST_START";
    let violation = ClientFailure::Violation(Violation::TimedOut { expected });
    assert_eq!(failed, Some(Output::Event(ClientEvent::Failed(violation))));
}

#[test]
fn an_error_of_the_server_is_read_with_both_numbers_or_with_one() {
    let code = ErrorCode::AUTHORIZATION;
    let numbers = [
        &[0xfe_u8][..],
        &142_i32.to_be_bytes(),
        &13_i32.to_be_bytes(),
    ]
    .concat();
    let mut client = Scripted::new();
    client.after(&[9]);
    let errno = Some(13);
    let failure = client.failure_after(&numbers);
    assert_eq!(failure, ClientFailure::ServerError { code, errno });

    // iperf3 3.12 closes after the first number if the authorization fails.
    let mut client = Scripted::new();
    client.after(&[9]);
    client.after(&numbers[..5]);
    client.0.handle_closed();
    let failure = client.failure_after(&[]);
    let errno = None;
    assert_eq!(failure, ClientFailure::ServerError { code, errno });
    assert_eq!(
        failure.to_string(),
        "the server reported: test authorization failed (IEAUTHTEST 142)"
    );
}

#[test]
fn misbehaving_servers_are_told_apart() {
    let text = |failure: ClientFailure| failure.to_string();
    let mut client = Scripted::new();
    let wrong = text(client.failure_after(b"HTTP/1.1 400"));
    assert_eq!(wrong, "read byte 0x48, expected PARAM_EXCHANGE");
    let mut client = Scripted::new();
    let early = text(client.failure_after(&[2]));
    assert_eq!(early, "read TEST_RUNNING, expected PARAM_EXCHANGE");
    let mut client = Scripted::running();
    client.0.handle_closed();
    assert!(
        text(client.failure_after(&[])).starts_with("the other end closed the control connection")
    );
    assert_eq!(
        Scripted::running().failure_after(&[11]),
        ClientFailure::ServerTerminated
    );
    let mut client = Scripted::running();
    client.0.end_test(Instant::ZERO);
    client.after(&[13]);
    client.0.send_results(Instant::ZERO, &results(2));
    let huge = text(client.failure_after(&[0x06, 0x40, 0, 0]));
    assert_eq!(
        huge,
        "a JSON block of 104857600 bytes, at most 33554432 are accepted"
    );
}

/// Bytes that a session sends, and its events.
fn served(session: &mut Session) -> (Vec<u8>, Vec<ServerEvent>) {
    let (mut sent, mut events) = (Vec::new(), Vec::new());
    while let Some(output) = session.poll_output() {
        match output {
            Output::Send(bytes) => sent.extend(bytes),
            Output::Event(event) => events.push(event),
        }
    }
    (sent, events)
}

#[test]
fn a_client_that_says_nothing_is_dropped_after_its_deadline() {
    let mut session = Session::new(Instant::ZERO);
    let deadline = session.poll_timeout().unwrap();
    session.handle_timeout(deadline);
    let (_, events) = served(&mut session);
    let expected = "parameters";
    let end = ServerEnd::Violation(Violation::TimedOut { expected });
    assert_eq!(events, [ServerEvent::Ended(end)]);
    assert_eq!(session.poll_timeout(), None);
}

#[test]
fn parameters_of_100_mb_are_refused_at_their_length() {
    let mut session = Session::new(Instant::ZERO);
    session.handle_bytes(Instant::ZERO, &(100_u32 << 20).to_be_bytes());
    let (sent, events) = served(&mut session);
    assert_eq!(sent, [9, 0xfe, 0, 0, 0, 114, 0, 0, 0, 0]);
    assert!(matches!(
        events[..],
        [ServerEvent::Ended(ServerEnd::Violation(
            Violation::TooLong { .. }
        ))]
    ));
}

#[test]
fn a_test_that_does_not_end_is_ended_40_seconds_after_its_time() {
    let now = Instant::ZERO;
    let mut session = Session::new(now);
    let mut wanted = parameters();
    wanted.direction = Direction::Reverse;
    session.handle_bytes(now, &block(&wanted.to_json()));
    session.create_streams(now);
    session.start(now);
    assert_eq!(session.poll_timeout(), Some(now + Duration::from_secs(50)));
    served(&mut session);
    session.handle_timeout(now + Duration::from_secs(50));
    let (sent, _) = served(&mut session);
    assert_eq!(sent, [0xfe, 0, 0, 0, 160, 0, 0, 0, 0]);
}

#[test]
fn a_client_that_interrupts_ends_the_test_in_every_phase() {
    let now = Instant::ZERO;
    for phases in 1..4 {
        let mut session = Session::new(now);
        session.handle_bytes(now, &block(&parameters().to_json()));
        if phases > 1 {
            session.create_streams(now);
        }
        if phases > 2 {
            session.start(now);
        }
        served(&mut session);
        session.handle_bytes(now, &[12]);
        let (_, events) = served(&mut session);
        assert_eq!(events, [ServerEvent::Ended(ServerEnd::ClientTerminated)]);
    }
}

#[test]
fn a_client_that_closes_after_the_results_is_done() {
    let now = Instant::ZERO;
    let mut session = Session::new(now);
    session.handle_bytes(now, &block(&parameters().to_json()));
    session.create_streams(now);
    session.start(now);
    session.handle_bytes(now, &[4]);
    session.exchange_results(now);
    session.handle_bytes(now, &block(&results(2).to_json()));
    session.send_results(now, &results(2));
    served(&mut session);
    session.handle_closed();
    assert_eq!(
        served(&mut session).1,
        [ServerEvent::Ended(ServerEnd::Done)]
    );
}

proptest! {
    #[test]
    fn no_bytes_make_a_client_panic_or_go_on_after_its_end(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20)
    ) {
        let mut client = Client::new(Cookie::from_random(COOKIE), parameters());
        let mut ends = 0;
        for chunk in chunks {
            client.handle_bytes(Instant::ZERO, &chunk);
            client.end_test(Instant::ZERO);
            client.send_results(Instant::ZERO, &results(2));
            while let Some(output) = client.poll_output() {
                let is_end = matches!(
                    output,
                    Output::Event(ClientEvent::Done | ClientEvent::Failed(_))
                );
                ends += usize::from(is_end);
            }
        }
        prop_assert!(ends <= 1);
    }

    #[test]
    fn no_bytes_make_a_session_panic_or_end_twice(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20),
        steps in prop::collection::vec(0_u8..5, 20),
    ) {
        let now = Instant::ZERO;
        let mut session = Session::new(now);
        let mut ends = 0;
        for (chunk, step) in chunks.iter().zip(steps) {
            session.handle_bytes(now, chunk);
            match step {
                0 => session.create_streams(now),
                1 => session.start(now),
                2 => session.exchange_results(now),
                3 => session.send_results(now, &results(2)),
                _ => session.handle_bytes(now, &block(&parameters().to_json())),
            }
            let (_, events) = served(&mut session);
            ends += events.iter().filter(|event| matches!(event, ServerEvent::Ended(_))).count();
        }
        prop_assert!(ends <= 1);
    }
}

/// Parameters of a client that exchanges clocks.
fn parameters_with_clock() -> Parameters {
    let (key, version) = clock::announcement();
    Parameters {
        private: Some(serde_json::json!({ key: version })),
        ..parameters()
    }
}

/// A session whose client has sent `parameters`, and the first message after them.
fn session_after(parameters: &Parameters) -> (Session, Vec<Output<ServerEvent>>) {
    let now = Instant::ZERO;
    let mut session = Session::new(now);
    session.handle_bytes(now, &block(&parameters.to_json()));
    session.create_streams(now);
    let outputs = std::iter::from_fn(|| session.poll_output()).collect();
    (session, outputs)
}

#[test]
fn both_roles_exchange_times_before_and_after_the_data() {
    // The server's clock is 7 s ahead; the delay is 100 us each way.
    let (mut now, way, ahead) = (
        Instant::ZERO,
        Duration::from_micros(100),
        Duration::from_secs(7),
    );
    let mut client = Client::new(Cookie::from_random(COOKIE), parameters_with_clock());
    let mut session = Session::new(now);
    let _cookie = client.poll_output();
    let mut offsets = Vec::new();
    for _ in 0..200 {
        now += way;
        while let Some(output) = client.poll_output() {
            match output {
                Output::Send(bytes) => session.handle_bytes(now + ahead, &bytes),
                Output::Event(ClientEvent::Clock(offset)) => offsets.push(offset),
                Output::Event(ClientEvent::OpenStreams) => session.start(now + ahead),
                Output::Event(ClientEvent::Run) => client.end_test(now),
                Output::Event(ClientEvent::ExchangeResults) => {
                    client.send_results(now, &results(2));
                }
                Output::Event(ClientEvent::Failed(failure)) => panic!("{failure}"),
                Output::Event(_) => {}
            }
        }
        now += way;
        while let Some(output) = session.poll_output() {
            match output {
                Output::Send(bytes) => client.handle_bytes(now, &bytes),
                Output::Event(ServerEvent::Parameters(_)) => session.create_streams(now + ahead),
                Output::Event(ServerEvent::EndTest) => session.exchange_results(now + ahead),
                Output::Event(ServerEvent::PeerResults(_)) => {
                    session.send_results(now + ahead, &results(2));
                }
                Output::Event(ServerEvent::Ended(end)) => assert_eq!(end, ServerEnd::Done),
                Output::Event(ServerEvent::Run) => {}
            }
        }
    }
    let [start, end] = offsets[..] else {
        panic!("{offsets:?}");
    };
    for offset in [start, end] {
        assert_eq!(offset.rtt, way + way);
        assert_eq!(offset.offset_ns, 7_000_000_000);
    }
    assert!(end.at > start.at);
}

#[test]
fn nothing_of_clocks_is_sent_to_a_stock_client_or_accepted_by_one() {
    let (mut session, outputs) = session_after(&parameters());
    assert!(outputs.contains(&Output::Send(vec![10])), "{outputs:?}");
    session.handle_bytes(Instant::ZERO, &[State::Clock.to_byte()]);
    let ended = std::iter::from_fn(|| session.poll_output()).last();
    assert!(matches!(
        ended,
        Some(Output::Event(ServerEvent::Ended(ServerEnd::Violation(_))))
    ));
    let mut client = Scripted::new();
    client.after(&[9]);
    let failure = client.failure_after(&[State::Clock.to_byte()]);
    assert!(matches!(failure, ClientFailure::Violation(_)));
}

#[test]
fn requests_of_the_time_without_end_end_the_session() {
    let (mut session, outputs) = session_after(&parameters_with_clock());
    assert_eq!(outputs.last(), Some(&Output::Send(vec![100])));
    let most = clock::MAX_PROBES as usize;
    session.handle_bytes(Instant::ZERO, &vec![100; most]);
    let answers = std::iter::from_fn(|| session.poll_output()).count();
    assert_eq!(answers, most);
    session.handle_bytes(Instant::ZERO, &[100; 1000]);
    let after: Vec<_> = std::iter::from_fn(|| session.poll_output()).collect();
    assert!(matches!(
        &after[..],
        [Output::Event(ServerEvent::Ended(ServerEnd::Violation(_)))]
    ));
}

#[test]
fn a_server_that_offers_clocks_again_and_again_is_a_violation() {
    let mut client = Client::new(Cookie::from_random(COOKIE), parameters_with_clock());
    client.handle_bytes(Instant::ZERO, &[9]);
    for round in 0..3 {
        client.handle_bytes(Instant::ZERO, &[100]);
        for _ in 0..24 {
            client.handle_bytes(Instant::ZERO, &[0xff; 8]);
        }
        let outputs: Vec<_> = std::iter::from_fn(|| client.poll_output()).collect();
        let failed = matches!(
            outputs.last(),
            Some(Output::Event(ClientEvent::Failed(
                ClientFailure::Violation(_)
            )))
        );
        assert_eq!(failed, round == 2, "{outputs:?}");
    }
}
