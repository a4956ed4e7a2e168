//! The server's side of a control connection, after its cookie was read.
//!
//! The caller reads the cookie, which distinguishes a control connection from a data connection,
//! and decides which client waits, is refused or is served. A [`Session`] is one test that is
//! served. If the peer stops answering, it ends: no phase lasts longer than its deadline.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use gigatcp_units::{Duration, Instant};

use super::clock;
use super::message::{Inbox, State, Violation, json_block};
use super::results::{self, Extras, Results};
use super::{ErrorCode, Output, Parameters, parameters};

/// Maximum wait for parameters, streams, results and the end.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Time that a test may exceed its parameters: ten state changes of 4 s each.
const GRACE: Duration = Duration::from_secs(40);

/// Instruction or information for the caller.
#[derive(Clone, PartialEq, Debug)]
pub enum ServerEvent {
    /// The client's request: call [`Session::create_streams`] or [`Session::refuse`].
    Parameters(Parameters),
    /// Data may be sent.
    Run,
    /// The client has finished: close the streams, then call [`Session::exchange_results`].
    EndTest,
    /// The client's results.
    PeerResults(Results),
    /// The test is over; close the control connection.
    Ended(ServerEnd),
}

/// End of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerEnd {
    /// With results of both ends.
    Done,
    /// The client aborted the test (CLIENT_TERMINATE).
    ClientTerminated,
    /// The caller refused the test.
    Refused(ErrorCode),
    /// The server aborted the test.
    Terminated,
    /// The client violated the protocol, or stopped answering.
    Violation(Violation),
}

impl fmt::Display for ServerEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::ClientTerminated => f.write_str("the client has terminated"),
            Self::Refused(code) => write!(f, "refused: {code}"),
            Self::Terminated => f.write_str("the server has terminated"),
            Self::Violation(violation) => violation.fmt(f),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Phase {
    #[default]
    Parameters,
    /// The caller checks the parameters.
    Checking,
    /// The client requests the time; then its streams, or its results if data has flowed.
    Clock {
        has_run: bool,
    },
    /// The caller accepts the streams.
    Streams,
    Running,
    /// The caller closes the streams.
    Closing,
    PeerResults,
    /// The caller's results.
    OwnResults,
    Done,
    Ended,
}

impl Phase {
    const fn expected(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Checking => "nothing before CREATE_STREAMS",
            Self::Clock { .. } => "CLOCK or CLOCK_DONE",
            Self::Streams => "data connections",
            Self::Running => "TEST_END",
            Self::Closing => "nothing before EXCHANGE_RESULTS",
            Self::PeerResults => "the client's results",
            Self::OwnResults => "nothing before DISPLAY_RESULTS",
            Self::Done => "IPERF_DONE",
            Self::Ended => "nothing",
        }
    }
}

/// One test of a server.
#[derive(Default, Debug)]
pub struct Session {
    phase: Phase,
    inbox: Inbox,
    outbox: VecDeque<Output<ServerEvent>>,
    deadline: Option<Instant>,
    streams: usize,
    /// Maximum duration of the test.
    longest: Option<Duration>,
    /// Whether the client exchanges clocks.
    has_clock: bool,
    /// Remaining requests of the time that are answered in this exchange.
    probes_left: u32,
}

impl Session {
    /// Serves a client whose cookie was read: requests its parameters.
    pub fn new(now: Instant) -> Self {
        let mut session = Self {
            deadline: Some(now + ANSWER_TIMEOUT),
            ..Self::default()
        };
        session.send_state(State::ParamExchange);
        session
    }

    /// Next bytes to send or event.
    pub fn poll_output(&mut self) -> Option<Output<ServerEvent>> {
        self.outbox.pop_front()
    }

    /// Time to call [`Self::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// Handles the passing of time.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        if self.phase == Phase::Running {
            self.send_error(ErrorCode::DURATION_EXPIRED, 0);
        }
        let expected = self.phase.expected();
        self.end(ServerEnd::Violation(Violation::TimedOut { expected }));
    }

    /// Handles bytes from the client.
    pub fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) {
        if self.phase == Phase::Ended {
            return;
        }
        self.inbox.extend(bytes);
        if let Err(violation) = self.handle_inbox(now) {
            if matches!(self.phase, Phase::Parameters | Phase::Checking) {
                self.send_error(ErrorCode::RECEIVE_PARAMETERS, 0);
            }
            self.end(ServerEnd::Violation(violation));
        }
    }

    /// Handles the closing of the control connection by the client.
    pub fn handle_closed(&mut self) {
        match self.phase {
            Phase::Ended => {}
            // Both ends have the results: a client that closes before IPERF_DONE is done.
            Phase::Done => self.end(ServerEnd::Done),
            phase => {
                let expected = phase.expected();
                self.end(ServerEnd::Violation(Violation::Closed { expected }));
            }
        }
    }

    /// Accepts the parameters: the caller is ready for the streams.
    pub fn create_streams(&mut self, now: Instant) {
        if self.phase == Phase::Checking {
            self.go_on(now, false);
        }
    }

    /// Whether the server requested the client's streams, and the test has not begun.
    pub fn awaits_streams(&self) -> bool {
        self.phase == Phase::Streams
    }

    /// Refuses the test, or reports its failure with `errno`.
    pub fn refuse(&mut self, code: ErrorCode, errno: i32) {
        if self.phase != Phase::Ended {
            self.send_error(code, errno);
            self.end(ServerEnd::Refused(code));
        }
    }

    /// Starts the test: all streams are connected.
    pub fn start(&mut self, now: Instant) {
        if self.phase == Phase::Streams {
            self.send_state(State::TestStart);
            self.send_state(State::TestRunning);
            self.emit(ServerEvent::Run);
            self.phase = Phase::Running;
            self.deadline = self.longest.map(|longest| now + longest);
        }
    }

    /// Requests the results: the streams are closed, after [`ServerEvent::EndTest`].
    pub fn exchange_results(&mut self, now: Instant) {
        if self.phase == Phase::Closing {
            self.go_on(now, true);
        }
    }

    /// Sends the caller's results, after [`ServerEvent::PeerResults`].
    pub fn send_results(&mut self, now: Instant, results: &Results) {
        if self.phase == Phase::OwnResults {
            let block = json_block(&results.to_json());
            self.outbox.push_back(Output::Send(block));
            self.send_state(State::DisplayResults);
            self.expect(now, Phase::Done);
        }
    }

    /// Aborts the test and notifies the client.
    pub fn terminate(&mut self) {
        if self.phase != Phase::Ended {
            self.send_state(State::ServerTerminate);
            self.end(ServerEnd::Terminated);
        }
    }

    /// Offers a clock exchange if the client announced it, else continues.
    fn go_on(&mut self, now: Instant, has_run: bool) {
        if self.has_clock {
            self.probes_left = clock::MAX_PROBES;
            self.send_state(State::Clock);
            self.expect(now, Phase::Clock { has_run });
        } else {
            self.end_clock(now, has_run);
        }
    }

    /// Continues after a clock exchange, or without one.
    fn end_clock(&mut self, now: Instant, has_run: bool) {
        let (state, phase) = match has_run {
            true => (State::ExchangeResults, Phase::PeerResults),
            false => (State::CreateStreams, Phase::Streams),
        };
        self.send_state(state);
        self.expect(now, phase);
    }

    fn send_state(&mut self, state: State) {
        let bytes = [state.to_byte()].to_vec();
        self.outbox.push_back(Output::Send(bytes));
    }

    fn send_error(&mut self, code: ErrorCode, errno: i32) {
        let mut bytes: Vec<u8> = [State::ServerError.to_byte()].to_vec();
        bytes.extend(code.0.to_be_bytes());
        bytes.extend(errno.to_be_bytes());
        self.outbox.push_back(Output::Send(bytes));
    }

    fn emit(&mut self, event: ServerEvent) {
        self.outbox.push_back(Output::Event(event));
    }

    fn expect(&mut self, now: Instant, phase: Phase) {
        debug_assert!(
            self.phase != Phase::Ended,
            "nothing is expected after the end of a test: {phase:?}"
        );
        self.phase = phase;
        self.deadline = Some(now + ANSWER_TIMEOUT);
    }

    fn end(&mut self, end: ServerEnd) {
        debug_assert!(self.phase != Phase::Ended, "a test ends once: {end}");
        self.phase = Phase::Ended;
        self.deadline = None;
        self.inbox = Inbox::default();
        self.emit(ServerEvent::Ended(end));
    }

    fn handle_inbox(&mut self, now: Instant) -> Result<(), Violation> {
        loop {
            match self.phase {
                Phase::Ended => return Ok(()),
                Phase::Parameters => {
                    let block = self.inbox.json("parameters", parameters::MAX_LENGTH)?;
                    let Some(value) = block else { return Ok(()) };
                    let parameters = Parameters::from_json(&value)?;
                    self.streams = parameters.streams() as usize;
                    self.has_clock = clock::is_announced(&parameters);
                    let seconds = u64::from(parameters.time) + u64::from(parameters.omit);
                    let longest = Duration::from_secs(seconds) + GRACE;
                    self.longest = (parameters.time > 0).then_some(longest);
                    self.emit(ServerEvent::Parameters(parameters));
                    // The caller answers without waiting.
                    self.expect(now, Phase::Checking);
                }
                Phase::PeerResults => {
                    let block = self.inbox.block(results::MAX_OF_CLIENT)?;
                    let Some(text) = block else { return Ok(()) };
                    let results = Results::read(&text, self.streams, Extras::Skipped)?;
                    self.emit(ServerEvent::PeerResults(results));
                    self.expect(now, Phase::OwnResults);
                }
                _ => {
                    let Some(byte) = self.inbox.byte() else {
                        return Ok(());
                    };
                    self.handle_state(now, byte)?;
                }
            }
        }
    }

    fn handle_state(&mut self, now: Instant, byte: u8) -> Result<(), Violation> {
        let expected = self.phase.expected();
        match (State::from_byte(byte), self.phase) {
            (Some(State::ClientTerminate), _) => self.end(ServerEnd::ClientTerminated),
            (Some(State::TestEnd), Phase::Running) => {
                self.emit(ServerEvent::EndTest);
                self.expect(now, Phase::Closing);
            }
            (Some(State::Clock), Phase::Clock { .. }) if self.probes_left > 0 => {
                self.probes_left -= 1;
                let time = now.as_nanos().to_be_bytes().to_vec();
                self.outbox.push_back(Output::Send(time));
            }
            (Some(State::ClockDone), Phase::Clock { has_run }) => self.end_clock(now, has_run),
            (Some(State::IperfDone), Phase::Done) => self.end(ServerEnd::Done),
            _ => return Err(Violation::UnexpectedState { byte, expected }),
        }
        Ok(())
    }
}
