//! The engine as the TCP of a client's streams, in its own namespace: against a stock iperf3 server
//! and this project's, each direction, totals equal to the byte.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Running, StockServer, bytes_of};
use gigatcp_linux::Namespace;
use gigatcp_meter::tester::{
    self, Engine, Outcome, Protocol, Request, Role, ServerConfig, Stack, StackKind, TestError, run,
};
use gigatcp_protocol::iperf3::{Direction, Transport};

/// A namespace with an engine's device.
struct Site {
    namespace: Namespace,
    engine: Arc<Engine>,
    /// The kernel's end of the device.
    kernel: IpAddr,
}

/// A namespace with an engine; prints the reason if it cannot.
fn site() -> Option<Site> {
    let made = Namespace::new().and_then(|namespace| {
        let engine = namespace.run(|| Engine::open(7))??;
        Ok((namespace, engine))
    });
    match made {
        Ok((namespace, engine)) => Some(Site {
            namespace,
            kernel: engine.addresses().1[0],
            engine: Arc::new(engine),
        }),
        Err(error) if error.is_missing_privilege() => {
            eprintln!("SKIPPED, NOTHING PROVEN: {error}\n  {:?}", error.hint());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

impl Site {
    fn request(&self, to: SocketAddr) -> Request {
        let mut request = Request::new(to.ip().to_string());
        request.port = to.port();
        request.parameters.time = 1;
        request.parameters.congestion = Some("reno".into());
        // Enough for a result, without occupying a whole CPU.
        request.parameters.bandwidth = Some(2_000_000_000);
        request.interval = Some(Duration::from_millis(250));
        request.connect_timeout = Duration::from_secs(5);
        request.stack = Stack::Engine(self.engine.clone());
        request
    }

    fn run(&self, request: &Request) -> Result<Outcome, TestError> {
        let test = || run(request, &|| false, &mut |_| {});
        self.namespace.run(test).unwrap()
    }

    /// Starts this project's server in the namespace.
    fn server(&self) -> Running {
        let config = ServerConfig {
            port: 0,
            ..ServerConfig::default()
        };
        self.namespace.run(|| Running::start(config)).unwrap()
    }

    /// Runs a test with a stock server; returns both outcomes, `None` without iperf3.
    fn with_stock(
        &self,
        change: impl FnOnce(&mut Request),
    ) -> Option<(Outcome, serde_json::Value)> {
        let start = || StockServer::start(self.kernel);
        let server = self.namespace.run(start).unwrap()?;
        let mut request = self.request((self.kernel, server.port).into());
        change(&mut request);
        let outcome = self.run(&request).unwrap_or_else(|error| panic!("{error}"));
        let theirs = server.end();
        assert_eq!(outcome.cut_short, None, "{theirs}");
        assert!(theirs["error"].is_null(), "{theirs}");
        Some((outcome, theirs))
    }
}

/// Checks invariants of every test.
///
/// Intervals add up, readings are the engine's, and they give an explanation.
fn check(outcome: &Outcome) {
    for (index, stream) in outcome.streams.iter().enumerate() {
        let parts = outcome.intervals.iter();
        let sum: u64 = parts.map(|interval| interval.streams[index].bytes).sum();
        assert_eq!(sum, stream.total.bytes, "intervals of stream {}", stream.id);
        assert!(sum > 0, "stream {} moved nothing", stream.id);
        assert_eq!(stream.options.stack, StackKind::Engine);
        assert_eq!(stream.options.overrides, []);
    }
    let explanations = tester::explain(outcome);
    assert_eq!(explanations.len(), outcome.streams.len());
    for one in &explanations {
        assert_eq!(one.diagnosis.contradiction(), None);
    }
}

#[test]
fn a_stock_server_counts_the_bytes_that_the_engine_sends_and_receives() {
    let Some(site) = site() else { return };
    for (direction, parallel) in [
        (Direction::Forward, 2),
        (Direction::Reverse, 1),
        (Direction::Bidirectional, 1),
    ] {
        let Some((outcome, theirs)) = site.with_stock(|request| {
            request.parameters.direction = direction;
            request.parameters.parallel = parallel;
        }) else {
            return;
        };
        check(&outcome);
        for (index, stream) in outcome.streams.iter().enumerate() {
            let peer = outcome.peer_of(stream).unwrap().bytes;
            let (end, sent, received) = match stream.role {
                Role::Sender => ("receiver", stream.total.bytes, peer),
                Role::Receiver => ("sender", peer, stream.total.bytes),
            };
            assert_eq!(peer, bytes_of(&theirs, index, end), "{direction:?}");
            assert!(received <= sent, "{direction:?}: {received} of {sent}");
            if stream.role == Role::Sender {
                assert_eq!(stream.options.congestion.as_deref(), Some("reno"));
            }
        }
    }
}

#[test]
fn an_amount_arrives_to_the_byte_at_a_server_of_a_loopback_address() {
    let Some(site) = site() else { return };
    let server = site.server();
    let mut request = site.request((Ipv4Addr::LOCALHOST, server.at.port()).into());
    request.parameters.num = 50_000_000;
    request.parameters.mss = Some(1000);
    request.parameters.window = Some(1 << 20);
    let outcome = site.run(&request).unwrap();
    let options = &outcome.streams[0].options;
    assert_eq!((options.mss, outcome.cut_short.as_ref()), (Some(988), None));
    assert_eq!(options.usable_receive_window, 1 << 20, "{options:?}");
    assert_eq!(outcome.sent(Role::Sender), Some(50_000_000));
    assert_eq!(server.outcome().streams[0].total.bytes, 50_000_000);
}

#[test]
fn both_ends_readings_explain_what_the_engine_sent_and_received() {
    let Some(site) = site() else { return };
    let server = site.server();
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut request = site.request((site.kernel, server.at.port()).into());
        request.parameters.direction = direction;
        let outcome = site.run(&request).unwrap();
        check(&outcome);
        let all = tester::explain(&outcome);
        assert!(all[0].has_both_ends);
        let stream = &outcome.streams[0];
        let peer = server.outcome().streams[0].total.bytes;
        let bytes = [stream.total.bytes, peer];
        let (sent, received) = match stream.role {
            Role::Sender => (bytes[0], bytes[1]),
            Role::Receiver => (bytes[1], bytes[0]),
        };
        // Data still in buffers at the end is counted by the sender only.
        assert!(received <= sent && sent - received < 256 << 20, "{bytes:?}");
    }
}

#[test]
fn a_small_buffer_of_the_engine_is_the_cause_and_the_fix_is_the_engines() {
    let Some(site) = site() else { return };
    let server = site.server();
    let mut request = site.request((site.kernel, server.at.port()).into());
    request.parameters.bandwidth = None;
    request.parameters.window = Some(16 << 10);
    let outcome = site.run(&request).unwrap();
    let all = tester::explain(&outcome);
    let first = all[0].diagnosis.primary().expect("a cause");
    assert_eq!(first.cause.id, "send-buffer-limited");
    assert!(
        first.fix.starts_with("request no buffer (-w)"),
        "{}",
        first.fix
    );
}

#[test]
fn what_the_engine_lacks_is_refused_before_anything_is_connected() {
    let Some(site) = site() else { return };
    let request = || site.request((Ipv4Addr::LOCALHOST, 1).into());
    let mut all = [(); 6].map(|()| request());
    all[0].parameters.transport = Transport::Udp;
    all[1].protocol = Protocol::Nuttcp;
    all[2].parameters.tos = Some(8);
    all[3].bind = Some(Ipv4Addr::LOCALHOST.into());
    all[4].parameters.mss = Some(10);
    all[5].parameters.congestion = Some("homemade".into());
    let options = ["-u", "--protocol nuttcp", "-S", "-B", "-M", "-C"];
    for (option, request) in options.into_iter().zip(&all) {
        let error = site.run(request).unwrap_err();
        assert!(error.to_string().starts_with(option), "{error}");
    }
}
