//! The server: reads a client's request, and reports its measurements.
//!
//! ```text
//! Hello ──HELO──> Parameters ──line──> Deciding ──accept──> Accepted
//!                                         │                    │ streams_connected
//!                                       refuse                 v
//!                                         └────────> Over <── Running
//! ```
//!
//! After [`Event::Requested`] the driver binds its ports and then calls [`Server::accept`], so that
//! no client connects to a port without a listener. To reject the client, a driver calls
//! [`Server::refuse`]. It must not do so before the greeting, as the client would then assume a
//! server without greetings.
//!
//! The server's lines have the form that the client requested in `format`, and no figures that a
//! client of its version cannot read.

use alloc::string::String;

use super::datagram::ABORT;
use super::error::Error;
use super::greeting::{self, Agreed, DONE};
use super::lines::{self, Lines, MAX_WAITING};
use super::output::interval::Interval;
use super::output::verbose::{Connected, Totals, Writer};
use super::parameters::Parameters;
use super::version::Version;
use super::{Output, Side, Waiting};

/// A result or an instruction for a server's driver.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A client requests a test: bind, then accept; or refuse.
    Requested(alloc::boxed::Box<Parameters>, Agreed),
    /// The client has closed its half of the control connection: end the transfer.
    ClientClosed,
    /// The test is over without results.
    Failed(Error),
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum State {
    #[default]
    Hello,
    Parameters,
    Deciding,
    Accepted,
    Running,
    Over,
}

/// A server of one client.
#[derive(Clone, Default, Debug)]
pub struct Server {
    control_port: u16,
    state: State,
    lines: Lines,
    waiting: Waiting<Event>,
    parameters: Parameters,
    client: Version,
    /// Lines for a client of this project.
    private: String,
}

impl Server {
    /// Creates a server for a client that has just connected.
    pub fn new(control_port: u16) -> Self {
        Self {
            control_port,
            ..Self::default()
        }
    }

    /// Next output.
    pub fn poll_output(&mut self) -> Option<Output<Event>> {
        self.waiting.pop()
    }

    /// Handles bytes from the client.
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

    /// Handles the end of the client's data.
    ///
    /// A UDP client closes its half if it has nothing more to send or was interrupted; any other
    /// client has gone. In both cases the transfer ends, and [`Server::finished`] reports the
    /// measurements until then.
    pub fn handle_closed(&mut self) {
        let expected = match self.state {
            State::Over => return,
            State::Accepted | State::Running => return self.waiting.event(Event::ClientClosed),
            State::Hello => "a greeting",
            State::Parameters => "parameters",
            State::Deciding => "a client that waits for `OK`",
        };
        self.fail(Error::Closed { expected });
    }

    /// Accepts the test: ports are bound.
    pub fn accept(&mut self) {
        if self.state == State::Deciding {
            self.waiting.send(greeting::consent(Version::OURS));
            self.state = State::Accepted;
        }
    }

    /// Refuses the test, with a reason for the client's user.
    pub fn refuse(&mut self, reason: &str) {
        if self.state == State::Deciding {
            self.send_refusal(reason);
            self.close();
        }
    }

    /// Records that the data streams are open, and reports them to the client.
    pub fn streams_connected(&mut self, connected: &Connected) {
        if self.state == State::Accepted {
            let mut writer = self.writer();
            writer.setup(&self.parameters, connected);
            self.waiting.send(writer.finish());
            self.state = State::Running;
        }
    }

    /// Reports an interval, if the client requested intervals and the server receives.
    pub fn interval(&mut self, mut interval: Interval) {
        if self.state != State::Running || !self.has_intervals() {
            return;
        }
        if self.client < Version::CONGESTION_WINDOW {
            interval.congestion_window = None;
        }
        let mut line = interval.line(self.parameters.format);
        line.push('\n');
        self.waiting.send(line);
    }

    /// Notifies a sending UDP client that nothing arrives.
    pub fn abort(&mut self) {
        let is_receiver = self.parameters.udp && self.parameters.server() == Side::Receiver;
        let is_running = matches!(self.state, State::Accepted | State::Running);
        if is_running && is_receiver {
            self.waiting.push(Output::SendUrgent(ABORT));
        }
    }

    /// Sets a text that is sent after the results. Only a client of this project gets it.
    pub fn private(&mut self, text: &str) {
        if self.parameters.private {
            self.private = lines::private(text);
        }
    }

    /// Reports the measurements, and closes.
    pub fn finished(&mut self, totals: &Totals) {
        if self.state != State::Running {
            return;
        }
        let mut text = String::new();
        if self.has_intervals() {
            text.push_str(DONE);
            text.push('\n');
        }
        let mut writer = self.writer();
        writer.totals(totals);
        text.push_str(&writer.finish());
        text.push_str(&core::mem::take(&mut self.private));
        self.waiting.send(text);
        self.close();
    }

    fn on_line(&mut self, line: &str) {
        match self.state {
            State::Hello => match greeting::read_hello(line) {
                Ok(version) => {
                    self.client = version;
                    self.waiting.send(greeting::hello(Version::OURS));
                    self.state = State::Parameters;
                }
                Err(error) => self.fail(error),
            },
            State::Parameters => self.on_parameters(line),
            State::Deciding | State::Accepted | State::Running => self.fail(Error::Unexpected {
                read: super::error::excerpt(line),
                expected: "nothing after the parameters",
            }),
            State::Over => {}
        }
    }

    fn on_parameters(&mut self, line: &str) {
        let read = Parameters::read(line).and_then(|(parameters, version)| {
            parameters.check(self.control_port)?;
            Ok((parameters, version))
        });
        match read {
            Ok((parameters, version)) => {
                let agreed = Agreed::new(version, &parameters);
                self.client = version;
                self.parameters = parameters.clone();
                self.state = State::Deciding;
                self.waiting
                    .event(Event::Requested(parameters.into(), agreed));
            }
            Err(error) => self.fail(error),
        }
    }

    /// Whether the server reports intervals to the client.
    fn has_intervals(&self) -> bool {
        !self.parameters.interval.is_zero() && self.parameters.server() == Side::Receiver
    }

    fn writer(&self) -> Writer {
        Writer::new(self.parameters.server(), self.parameters.format)
    }

    fn send_refusal(&mut self, reason: &str) {
        let mut writer = self.writer();
        writer.message(&one_line(reason));
        let text = writer.finish();
        self.waiting.send(greeting::refusal(text.trim_end()));
    }

    /// Ends the test; a client that still waits for `OK` gets the reason.
    fn fail(&mut self, error: Error) {
        let is_waiting = matches!(
            self.state,
            State::Hello | State::Parameters | State::Deciding
        );
        if is_waiting && !matches!(error, Error::Closed { .. }) {
            self.send_refusal(&alloc::format!("{error}"));
        }
        self.waiting.event(Event::Failed(error));
        self.close();
    }

    fn close(&mut self) {
        debug_assert!(self.state != State::Over, "a test ends once");
        self.state = State::Over;
        self.waiting.push(Output::Close);
    }
}

/// A text without line ends, which would begin new lines.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
