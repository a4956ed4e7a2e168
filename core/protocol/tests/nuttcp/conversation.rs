//! Client and server talk to each other, byte by byte, to the end.

use gigatcp_protocol::nuttcp::client::Event;
use gigatcp_protocol::nuttcp::output::brief::Brief;
use gigatcp_protocol::nuttcp::output::interval::Interval;
use gigatcp_protocol::nuttcp::output::verbose::{Connected, Totals};
use gigatcp_protocol::nuttcp::output::{Amount, CongestionWindow, Retransmissions};
use gigatcp_protocol::nuttcp::parameters::Parameters;
use gigatcp_protocol::nuttcp::{Client, Output, Server, Side, server};
use gigatcp_units::{Bytes, Duration};

use crate::{amount, totals};

/// Both ends and their events.
struct Pair {
    client: Client,
    server: Server,
    of_client: Vec<Event>,
    of_server: Vec<server::Event>,
    server_closed: bool,
}

impl Pair {
    fn new(parameters: Parameters) -> Self {
        Self {
            client: Client::new(parameters),
            server: Server::new(5000),
            of_client: Vec::new(),
            of_server: Vec::new(),
            server_closed: false,
        }
    }

    /// Carries bytes between both, one at a time, until neither has any.
    fn settle(&mut self) {
        loop {
            let from_client = self.client.poll_output();
            let from_server = self.server.poll_output();
            if from_client.is_none() && from_server.is_none() {
                return;
            }
            match from_client {
                Some(Output::Send(bytes)) => {
                    bytes
                        .iter()
                        .for_each(|byte| self.server.handle_bytes(&[*byte]));
                }
                Some(Output::ShutdownWrite) => self.server.handle_closed(),
                Some(Output::Event(event)) => self.of_client.push(event),
                Some(Output::Close | Output::SendUrgent(_)) | None => {}
            }
            match from_server {
                Some(Output::Send(bytes)) => {
                    bytes
                        .iter()
                        .for_each(|byte| self.client.handle_bytes(&[*byte]));
                }
                Some(Output::SendUrgent(byte)) => self.client.handle_bytes(&[byte, b'\n']),
                Some(Output::Close) => {
                    self.server_closed = true;
                    self.client.handle_closed();
                }
                Some(Output::Event(event)) => self.of_server.push(event),
                Some(Output::ShutdownWrite) | None => {}
            }
        }
    }

    fn open(&mut self) {
        self.settle();
        assert!(matches!(self.of_server[..], [server::Event::Requested(..)]));
        self.server.accept();
        self.settle();
        assert!(matches!(self.of_client[..], [Event::Accepted(_)]));
        let connected = Connected {
            peer: "192.0.2.1".to_owned(),
            mss: Some(1448),
            rtt: Some(Duration::from_micros(1250)),
            ..Connected::default()
        };
        self.client.streams_connected(connected.rtt);
        self.server.streams_connected(&connected);
        self.settle();
    }

    fn intervals(&self) -> usize {
        let is_interval = |event: &&Event| matches!(event, Event::Interval(_));
        self.of_client.iter().filter(is_interval).count()
    }

    fn brief(&self) -> &Brief {
        match self.of_client.last() {
            Some(Event::Finished(brief, _)) => brief,
            other => panic!("the test ended with {other:?}"),
        }
    }
}

/// Measurements of both sides of a transfer.
fn measured(parameters: &Parameters) -> (Totals, Totals) {
    let mut sender = totals(amount(100.0, 83.886_08), 30.0);
    let mut receiver = totals(amount(99.0, 83.0), 20.0);
    if parameters.udp {
        let datagram = u64::from(parameters.buffer_bytes);
        sender.amount.bytes = Bytes::new(1000 * datagram);
        receiver.amount.bytes = Bytes::new(990 * datagram);
    } else {
        sender.retransmissions = Some(Retransmissions::new(7));
        sender.congestion_window = Some(CongestionWindow::new(447));
        // No round number of MB.
        sender.amount.bytes = Bytes::new(104_870_011);
        receiver.amount.bytes = sender.amount.bytes;
    }
    (sender, receiver)
}

fn run(parameters: Parameters) -> Pair {
    let measured = measured(&parameters);
    run_with(parameters, measured, &[amount(33.0, 83.0); 3])
}

/// Runs a transfer with these measurements of both sides, in intervals with these amounts.
fn run_with(
    parameters: Parameters,
    (sender, receiver): (Totals, Totals),
    intervals: &[Amount],
) -> Pair {
    let (of_client, of_server) = match parameters.client {
        Side::Transmitter => (sender, receiver.clone()),
        Side::Receiver => (receiver.clone(), sender),
    };
    let mut pair = Pair::new(parameters.clone());
    pair.open();
    for received in intervals {
        let interval = Interval {
            received: *received,
            ..Interval::default()
        };
        pair.server.interval(interval.clone());
        if parameters.client == Side::Receiver && !parameters.interval.is_zero() {
            pair.client.interval(interval);
        }
        pair.settle();
    }
    pair.client.finished(of_client);
    pair.settle();
    pair.server.finished(&of_server);
    pair.settle();
    pair
}

/// Every kind of transfer, with the options that change the output.
fn kinds() -> Vec<Parameters> {
    let mut kinds = Vec::new();
    for bits in 0..16u32 {
        let flag = |bit: u32| bits >> bit & 1 == 1;
        let udp = flag(1);
        kinds.push(Parameters {
            client: if flag(0) {
                Side::Receiver
            } else {
                Side::Transmitter
            },
            udp,
            buffer_bytes: if udp { 1200 } else { 65_536 },
            rate_kbps: udp.then_some(10_000),
            flipped: flag(2) && !udp,
            interval: Duration::from_secs(u64::from(flag(3))),
            ..Parameters::default()
        });
    }
    kinds
}

#[test]
fn both_machines_come_to_the_end_of_every_kind_of_transfer() {
    for parameters in kinds() {
        let pair = run(parameters.clone());
        assert!(pair.server_closed, "{parameters:?}");
        let expected = if parameters.interval.is_zero() { 0 } else { 3 };
        assert_eq!(pair.intervals(), expected, "{parameters:?}");
    }
}

#[test]
fn an_amount_beyond_32_bits_arrives_to_the_byte_and_its_intervals_add_up() {
    for client in [Side::Transmitter, Side::Receiver] {
        let parameters = Parameters {
            client,
            interval: Duration::from_secs(1),
            ..Parameters::default()
        };
        let part = Amount::new(Bytes::new(1_250_000_003), Duration::from_secs(1));
        let whole = Amount::new(Bytes::new(4 * 1_250_000_003), Duration::from_secs(4));
        let mut sender = totals(whole, 30.0);
        sender.retransmissions = Some(Retransmissions::new(7));
        let pair = run_with(parameters, (sender, totals(whole, 20.0)), &[part; 4]);
        assert_eq!(pair.brief().received.bytes, whole.bytes, "{client:?}");
        let received = pair.of_client.iter().filter_map(|event| match event {
            Event::Interval(interval) => Some(interval.received.bytes.as_u64()),
            _ => None,
        });
        let sum: u64 = received.sum();
        // Each line has four digits after the MB's point: within 53 bytes.
        assert!(
            sum.abs_diff(whole.bytes.as_u64()) <= 4 * 53,
            "{client:?}: {sum}"
        );
    }
}

#[test]
fn the_summary_has_the_receivers_data_and_the_senders_retransmissions() {
    for parameters in kinds() {
        let (sender, receiver) = measured(&parameters);
        let pair = run(parameters.clone());
        let brief = pair.brief();
        let error = brief
            .received
            .bytes
            .as_u64()
            .abs_diff(receiver.amount.bytes.as_u64());
        // With losses both amounts differ, and one is read from a rounded line.
        let limit = if parameters.udp { 53 } else { 0 };
        assert!(error <= limit, "{parameters:?}: {error} bytes");
        assert_eq!(brief.transmitter_cpu_percent, sender.usage.percent());
        assert_eq!(brief.receiver_cpu_percent, receiver.usage.percent());
        if parameters.udp {
            let loss = brief.loss.expect("losses");
            assert_eq!((loss.lost, loss.sent), (10, 1000), "{parameters:?}");
            assert_eq!((&brief.retransmissions, brief.rtt), (&None, None));
        } else {
            assert_eq!(
                brief.retransmissions, sender.retransmissions,
                "{parameters:?}"
            );
            assert_eq!(brief.congestion_window, sender.congestion_window);
            assert_eq!(brief.rtt, Some(Duration::from_micros(1250)));
        }
    }
}

#[test]
fn a_sender_of_datagrams_tells_the_server_of_its_end_on_the_control_connection() {
    for parameters in kinds() {
        let pair = run(parameters.clone());
        let is_told = pair.of_server.contains(&server::Event::ClientClosed);
        let is_sender = parameters.udp && parameters.client == Side::Transmitter;
        assert_eq!(is_told, is_sender, "{parameters:?}");
    }
}

#[test]
fn a_server_without_data_aborts_a_sender_of_datagrams() {
    let parameters = kinds()
        .into_iter()
        .find(|kind| kind.udp && kind.client == Side::Transmitter);
    let mut pair = Pair::new(parameters.expect("such a kind"));
    pair.open();
    pair.server.abort();
    pair.settle();
    assert_eq!(pair.of_client.last(), Some(&Event::Abort));
}

#[test]
fn a_text_for_a_client_of_this_project_arrives_whole_and_others_are_sent_none() {
    let text = "{\"é\":1}".repeat(2000);
    for private in [true, false] {
        let parameters = Parameters {
            private,
            ..Parameters::default()
        };
        let (of_client, of_server) = measured(&parameters);
        let mut pair = Pair::new(parameters);
        pair.open();
        pair.client.finished(of_client);
        pair.server.private(&text);
        pair.server.finished(&of_server);
        let Some(Output::Send(sent)) = pair.server.poll_output() else {
            panic!("the server says its results");
        };
        let sent = String::from_utf8(sent).unwrap();
        assert_eq!(sent.contains("gigatcp"), private);
        pair.client.handle_bytes(sent.as_bytes());
        pair.settle();
        assert_eq!(pair.client.private(), if private { &text } else { "" });
        assert!(pair.brief().retransmissions.is_some());
    }
}
