//! The client: describes the test, and reads the server's measurements.
//!
//! ```text
//! Hello ──HELO──> Consent ──OK──> Accepted ──streams_connected──> Transfer
//!                   │                                               │
//!                   KO                                 closed and finished()
//!                   v                                               v
//!                Refused ─────────────────────────────────────────> Over
//! ```
//!
//! The receiver's figures are authoritative. If the client transmits they are the server's lines;
//! if it receives they are its own. The transmitter's figures are its CPU time, its retransmissions
//! and congestion window. A line has a rounded amount; if this side's exact amount would print the
//! same, the exact one is used.

use alloc::boxed::Box;
use alloc::string::String;

use gigatcp_units::Duration;

use super::datagram::{ABORT, losses};
use super::error::{Error, excerpt};
use super::greeting::{self, Agreed, KO};
use super::lines::{self, Lines, MAX_PRIVATE, MAX_WAITING};
use super::output::brief::Brief;
use super::output::interval::Interval;
use super::output::read::{Figure, Line};
use super::output::verbose::Totals;
use super::output::{Amount, CongestionWindow, Jitter, Retransmissions};
use super::parameters::Parameters;
use super::version::Version;
use super::{Output, Side, Waiting};

/// Maximum number of bytes kept of a server's reasons for a refusal.
const MAX_REASON: usize = 1024;

/// A result or an instruction for a client's driver.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The server consents: open the data streams.
    Accepted(Agreed),
    /// An interval, measured by the receiver.
    Interval(Box<Interval>),
    /// The server receives no data: stop sending.
    Abort,
    /// The server has seen the end of the data.
    Done,
    /// The test is over: both sides' figures, combined, and the amount that the server reported.
    Finished(Box<Brief>, Amount),
    /// The test is over without results.
    Failed(Error),
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum State {
    #[default]
    Hello,
    Consent,
    Refused,
    Accepted,
    Transfer,
    Over,
}

/// The server's measurements, from its lines.
#[derive(Clone, Default, Debug)]
struct Peer {
    amount: Option<Amount>,
    cpu_percent: u32,
    retransmissions: Option<Retransmissions>,
    congestion_window: Option<CongestionWindow>,
    jitter: Option<Jitter>,
    rtt: Option<Duration>,
}

/// A client of one test.
#[derive(Clone, Default, Debug)]
pub struct Client {
    parameters: Parameters,
    state: State,
    lines: Lines,
    waiting: Waiting<Event>,
    reason: String,
    peer: Peer,
    rtt: Option<Duration>,
    own: Option<Totals>,
    private: String,
    is_closed: bool,
}

impl Client {
    /// Creates a client that greets.
    pub fn new(parameters: Parameters) -> Self {
        let mut client = Self {
            parameters,
            ..Self::default()
        };
        client.waiting.send(greeting::hello(Version::OURS));
        client
    }

    /// Parameters of the test.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Private text of a server of this project; empty from others.
    pub fn private(&self) -> &str {
        &self.private
    }

    /// Next output.
    pub fn poll_output(&mut self) -> Option<Output<Event>> {
        self.waiting.pop()
    }

    /// Handles bytes from the server.
    pub fn handle_bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.state != State::Over {
            if self.waiting.is_full() {
                return self.fail(Error::TooManyLines { limit: MAX_WAITING });
            }
            match self.lines.next(&mut bytes) {
                Ok(Some(line)) => self.on_line(&line),
                Ok(None) => {}
                Err(error) => self.fail(error),
            }
        }
    }

    /// Handles the end of the server's data.
    pub fn handle_closed(&mut self) {
        let expected = match self.state {
            State::Over => return,
            State::Refused => {
                let said = core::mem::take(&mut self.reason);
                return self.fail(Error::Refused { said });
            }
            State::Hello => "a greeting",
            State::Consent => "`OK` or `KO`",
            State::Accepted | State::Transfer => {
                self.is_closed = true;
                if self.peer.amount.is_some() {
                    return self.finish();
                }
                "the server's results"
            }
        };
        self.fail(Error::Closed { expected });
    }

    /// Records that the data streams are open, and the time to open the first connection.
    pub fn streams_connected(&mut self, rtt: Option<Duration>) {
        if self.state == State::Accepted {
            self.state = State::Transfer;
            self.rtt = rtt;
        }
    }

    /// Reports an interval that this side measured as the receiver.
    pub fn interval(&mut self, interval: Interval) {
        if self.state == State::Transfer && self.parameters.client == Side::Receiver {
            self.waiting.event(Event::Interval(interval.into()));
        }
    }

    /// Records the measurements of this side: its transfer is over.
    pub fn finished(&mut self, totals: Totals) {
        if !matches!(self.state, State::Accepted | State::Transfer) || self.own.is_some() {
            return;
        }
        self.own = Some(totals);
        if self.parameters.udp && self.parameters.client == Side::Transmitter {
            // The server sees the end even if every end marker is lost.
            self.waiting.push(Output::ShutdownWrite);
        }
        self.finish();
    }

    fn on_line(&mut self, line: &str) {
        match self.state {
            State::Hello => match greeting::read_hello(line) {
                Ok(version) => self.send_parameters(version),
                Err(error) => self.fail(error),
            },
            State::Over => {}
            State::Consent if line.starts_with(KO) => self.state = State::Refused,
            State::Consent => match greeting::read_consent(line) {
                Ok(version) => {
                    self.state = State::Accepted;
                    let agreed = Agreed::new(version, &self.parameters);
                    self.waiting.event(Event::Accepted(agreed));
                }
                Err(error) => self.fail(error),
            },
            State::Refused if line.starts_with(KO) => {
                let said = core::mem::take(&mut self.reason);
                self.fail(Error::Refused { said });
            }
            State::Refused => self.add_reason(line),
            State::Accepted | State::Transfer => self.on_output(line),
        }
    }

    /// Handles a line about the transfer.
    fn on_output(&mut self, line: &str) {
        let is_sender = self.parameters.udp && self.parameters.client == Side::Transmitter;
        // If urgent data is delivered inline, the abort byte precedes a line.
        let line = match line.strip_prefix(char::from(ABORT)) {
            Some(rest) if is_sender && (rest.is_empty() || rest.starts_with("nuttcp-")) => {
                self.waiting.event(Event::Abort);
                rest
            }
            _ => line,
        };
        if let Some(piece) = lines::piece(line).filter(|_| self.parameters.private) {
            if self.private.len() + piece.len() <= MAX_PRIVATE {
                self.private.push_str(piece);
            }
            return;
        }
        match Line::read(line) {
            Some(Line::Done) => self.waiting.event(Event::Done),
            Some(Line::Interval(interval)) => self.waiting.event(Event::Interval(interval.into())),
            Some(Line::Error(said)) => {
                let said = excerpt(&said);
                self.fail(Error::Peer { said });
            }
            Some(Line::Figure(figure)) => self.peer.set(figure),
            None => {}
        }
    }

    fn send_parameters(&mut self, server: Version) {
        match self.parameters.line(server) {
            Ok(line) => {
                self.waiting.send(line);
                self.state = State::Consent;
            }
            Err(error) => self.fail(error),
        }
    }

    /// Appends to a server's reason; one that is too long ends the test.
    fn add_reason(&mut self, line: &str) {
        if self.reason.len() + line.len() >= MAX_REASON {
            let said = core::mem::take(&mut self.reason);
            return self.fail(Error::Refused { said });
        }
        if !self.reason.is_empty() {
            self.reason.push_str("; ");
        }
        self.reason.push_str(line.trim());
    }

    /// Ends the test if both sides' figures are present.
    fn finish(&mut self) {
        let (true, Some(own), Some(amount)) = (self.is_closed, &self.own, self.peer.amount) else {
            return;
        };
        let brief = self.combine(own, amount);
        self.end(Event::Finished(Box::new(brief), amount));
    }

    fn combine(&self, own: &Totals, reported: Amount) -> Brief {
        let peer = &self.peer;
        let reported = reported.refined(own.amount.bytes);
        let (own_cpu, peer_cpu) = (own.usage.percent(), peer.cpu_percent);
        let (mut brief, sent) = match self.parameters.client {
            Side::Transmitter => {
                let brief = Brief {
                    received: reported,
                    transmitter_cpu_percent: own_cpu,
                    receiver_cpu_percent: peer_cpu,
                    jitter: peer.jitter,
                    retransmissions: own.retransmissions.clone(),
                    congestion_window: own.congestion_window.clone(),
                    ..Brief::default()
                };
                (brief, own.amount.bytes)
            }
            Side::Receiver => {
                let brief = Brief {
                    received: own.amount,
                    transmitter_cpu_percent: peer_cpu,
                    receiver_cpu_percent: own_cpu,
                    jitter: own.jitter,
                    retransmissions: peer.retransmissions.clone(),
                    congestion_window: peer.congestion_window.clone(),
                    ..Brief::default()
                };
                (brief, reported.bytes)
            }
        };
        if self.parameters.udp {
            let (sent, received) = (sent.as_u64(), brief.received.bytes.as_u64());
            let datagram = self.parameters.buffer_bytes.into();
            brief.loss = Some(losses(sent, received, datagram));
        } else {
            brief.rtt = self.rtt.or(peer.rtt);
        }
        brief.jitter = brief.jitter.filter(|_| self.parameters.jitter.any());
        brief
    }

    fn fail(&mut self, error: Error) {
        self.end(Event::Failed(error));
    }

    fn end(&mut self, event: Event) {
        debug_assert!(self.state != State::Over, "a test ends once: {event:?}");
        self.state = State::Over;
        self.waiting.event(event);
        self.waiting.push(Output::Close);
    }
}

impl Peer {
    /// Stores a figure; the last of a kind counts.
    fn set(&mut self, figure: Figure) {
        match figure {
            Figure::Totals(amount) => self.amount = Some(amount),
            Figure::CpuPercent(percent) => self.cpu_percent = percent,
            Figure::Retransmissions(of, window) => {
                self.retransmissions = Some(of);
                self.congestion_window = window;
            }
            Figure::Rtt(rtt) => self.rtt = Some(rtt),
            Figure::Jitter(jitter) => self.jitter = Some(jitter),
        }
    }
}
