//! iperf3's state machines with arbitrary octets: either end, datagrams, credentials.

use gigatcp_protocol::iperf3::auth::Credentials;
use gigatcp_protocol::iperf3::datagram::{Header, StockCounts, reply_to};
use gigatcp_protocol::iperf3::{
    Client, ClientEvent, Cookie, Extras, Output, Parameters, Results, ServerEvent, Session,
    Transport, clock,
};
use gigatcp_units::{Duration, Instant};

/// Feeds octets: the first chooses the target, the second its options.
pub fn iperf3(octets: &[u8]) {
    let [what, how, octets @ ..] = octets else {
        return;
    };
    match what % 4 {
        0 => client(*how, octets),
        1 => server(*how, octets),
        2 => datagrams(*how, octets),
        _ => messages(octets),
    }
}

/// Runs a client whose server sends `octets` in pieces during its test.
fn client(how: u8, octets: &[u8]) {
    let parameters = Parameters {
        time: 1,
        parallel: u32::from(how & 3),
        private: (how & 4 != 0).then(|| {
            let (key, version) = clock::announcement();
            serde_json::json!({ key: version })
        }),
        ..Parameters::default()
    };
    let mut client = Client::new(Cookie::from_random([how; 36]), parameters);
    let mut now = Instant::ZERO;
    let mut ends = 0;
    for piece in octets.chunks(1 + usize::from(how >> 4)) {
        client.handle_bytes(now, piece);
        now += Duration::from_millis(u64::from(how) * 50);
        client.handle_timeout(now);
        while let Some(output) = client.poll_output() {
            match output {
                Output::Event(ClientEvent::Run) => client.end_test(now),
                Output::Event(ClientEvent::ExchangeResults) => {
                    client.send_results(now, &Results::default());
                }
                Output::Event(ClientEvent::Done | ClientEvent::Failed(_)) => ends += 1,
                _ => {}
            }
        }
    }
    client.handle_closed();
    while let Some(output) = client.poll_output() {
        ends += u32::from(matches!(output, Output::Event(ClientEvent::Failed(_))));
    }
    assert!(ends <= 1, "a test ends once");
    assert!(client.poll_timeout().is_none() || ends == 0);
}

/// Runs a session whose client sends `octets` in pieces.
fn server(how: u8, octets: &[u8]) {
    let mut now = Instant::ZERO;
    let mut session = Session::new(now);
    let mut ends = 0;
    for piece in octets.chunks(1 + usize::from(how >> 4)) {
        session.handle_bytes(now, piece);
        now += Duration::from_millis(u64::from(how) * 50);
        session.handle_timeout(now);
        while let Some(output) = session.poll_output() {
            match output {
                Output::Event(ServerEvent::Parameters(parameters)) => {
                    let again = Parameters::from_json(&parameters.to_json());
                    assert_eq!(again, Ok(parameters), "what is read can be written");
                    session.create_streams(now);
                    session.start(now);
                }
                Output::Event(ServerEvent::EndTest) => session.exchange_results(now),
                Output::Event(ServerEvent::PeerResults(results)) => {
                    session.send_results(now, &results);
                }
                Output::Event(ServerEvent::Ended(_)) => ends += 1,
                _ => {}
            }
        }
    }
    session.handle_closed();
    while let Some(output) = session.poll_output() {
        ends += u32::from(matches!(output, Output::Event(ServerEvent::Ended(_))));
    }
    assert_eq!(ends, 1, "a test ends once");
    assert_eq!(session.poll_timeout(), None);
}

/// Feeds datagrams, and the first messages of streams.
fn datagrams(how: u8, octets: &[u8]) {
    let is_64bit = how & 1 == 1;
    let mut counts = StockCounts::default();
    for datagram in octets.chunks(20) {
        let _ = reply_to(datagram);
        if let Some(header) = Header::read(datagram, is_64bit) {
            let mut written = [0; 20];
            header.write(&mut written, is_64bit);
            assert_eq!(
                Header::read(&written, is_64bit).map(|header| header.seq),
                Some(header.seq)
            );
            if header.seq > 0 {
                counts.handle_datagram(header.seq);
            }
        }
    }
}

/// Feeds JSON of parameters and results, and credentials.
fn messages(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    if let Some(credentials) = Credentials::from_text(&text) {
        assert!(
            Credentials::from_text(&credentials.to_text()).is_some_and(|read| read == credentials)
        );
    }
    if let Ok(value) = serde_json::from_slice(octets)
        && let Ok(parameters) = Parameters::from_json(&value)
    {
        assert!(parameters.transport != Transport::Tcp || parameters.streams() > 0);
    }
    for extras in [Extras::Kept, Extras::Skipped] {
        let _ = Results::read(octets, 4, extras);
    }
}
