//! The client's side of the control connection.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;

use gigatcp_units::{Duration, Instant};

use super::clock::{self, ClockOffset, Exchange};
use super::message::{Inbox, State, Violation, json_block};
use super::results::{self, Extras, Results};
use super::{Cookie, ErrorCode, Output, Parameters};

/// Maximum wait for each answer of the server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Instruction or information for the caller.
#[derive(Clone, PartialEq, Debug)]
pub enum ClientEvent {
    /// Connect the streams, those that the client sends on first. Each TCP connection begins with
    /// the cookie, each UDP stream with an exchange of four bytes.
    OpenStreams,
    /// Start the clocks.
    Start,
    /// Data may be sent.
    Run,
    /// Offset of the server's clock, from an exchange before or after the data.
    Clock(ClockOffset),
    /// Call [`Client::send_results`].
    ExchangeResults,
    /// The server's results.
    PeerResults(Results),
    /// The test is complete; close the control connection.
    Done,
    /// The test ended without success.
    Failed(ClientFailure),
}

/// Reason why a test failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClientFailure {
    /// The server runs another test (ACCESS_DENIED).
    #[error("the server is busy running a test")]
    Busy,
    /// The server aborted the test: it was interrupted (SERVER_TERMINATE).
    #[error("the server has terminated")]
    ServerTerminated,
    /// The server reported an error.
    #[error("the server reported: {code}{}", errno_text(*.errno))]
    ServerError {
        /// iperf3's number.
        code: ErrorCode,
        /// The server's `errno`; `None` if the server did not send it.
        errno: Option<i32>,
    },
    /// The server violated the protocol, or stopped answering.
    #[error("{0}")]
    Violation(Violation),
}

fn errno_text(errno: Option<i32>) -> String {
    match errno {
        Some(errno) if errno != 0 => format!(", errno {errno}"),
        _ => String::new(),
    }
}

/// Phase of a test, named by what is expected next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// PARAM_EXCHANGE. A server with a queue may send it late, or send CREATE_STREAMS late.
    ParamExchange,
    CreateStreams,
    TestStart,
    TestRunning,
    /// Data flows; the caller ends the test.
    Running,
    /// EXCHANGE_RESULTS, after TEST_END.
    ExchangeResults,
    /// The caller's results.
    OwnResults,
    /// The server's results.
    PeerResults,
    DisplayResults,
    /// Two numbers after SERVER_ERROR.
    ErrorNumbers,
    /// The server's time; then CREATE_STREAMS, or EXCHANGE_RESULTS if data has flowed.
    Clock {
        has_run: bool,
    },
    Ended,
}

impl Phase {
    const fn expected(self) -> &'static str {
        match self {
            Self::ParamExchange => "PARAM_EXCHANGE",
            Self::CreateStreams => "CREATE_STREAMS",
            Self::TestStart => "TEST_START",
            Self::TestRunning => "TEST_RUNNING",
            Self::Running => "the end of the test",
            Self::ExchangeResults => "EXCHANGE_RESULTS",
            Self::OwnResults => "nothing before the client's results",
            Self::PeerResults => "the server's results",
            Self::DisplayResults => "DISPLAY_RESULTS",
            Self::Clock { .. } => "the server's time",
            Self::ErrorNumbers => "the numbers of SERVER_ERROR",
            Self::Ended => "nothing",
        }
    }
}

/// A client of one test.
#[derive(Debug)]
pub struct Client {
    parameters: Parameters,
    phase: Phase,
    inbox: Inbox,
    outbox: VecDeque<Output<ClientEvent>>,
    /// The error number received before its `errno`.
    code: Option<ErrorCode>,
    deadline: Option<Instant>,
    /// The clock exchange in progress.
    exchange: Option<Exchange>,
    /// Clock exchanges that may follow: one before the data, one after it.
    exchanges_left: u8,
}

impl Client {
    /// Begins a test on an established connection. A server with a queue may delay it: there is no
    /// deadline until the server requests the data connections.
    pub fn new(cookie: Cookie, parameters: Parameters) -> Self {
        Self {
            exchange: None,
            exchanges_left: if clock::is_announced(&parameters) {
                2
            } else {
                0
            },
            parameters,
            phase: Phase::ParamExchange,
            inbox: Inbox::default(),
            outbox: VecDeque::from([Output::Send(cookie.as_bytes().to_vec())]),
            code: None,
            deadline: None,
        }
    }

    /// Whether the server has not sent anything yet.
    pub fn is_unanswered(&self) -> bool {
        self.phase == Phase::ParamExchange
    }

    /// Whether the server has not yet requested the data connections.
    pub fn is_queued(&self) -> bool {
        matches!(self.phase, Phase::ParamExchange | Phase::CreateStreams)
    }

    /// Next bytes to send or event.
    pub fn poll_output(&mut self) -> Option<Output<ClientEvent>> {
        self.outbox.pop_front()
    }

    /// Time to call [`Self::handle_timeout`]; `None` if there is no deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// Handles the passing of time.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            let expected = self.phase.expected();
            self.fail(ClientFailure::Violation(Violation::TimedOut { expected }));
        }
    }

    /// Handles bytes from the server.
    pub fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) {
        if self.phase == Phase::Ended {
            return;
        }
        self.inbox.extend(bytes);
        if let Err(violation) = self.handle_inbox(now) {
            self.fail(ClientFailure::Violation(violation));
        }
    }

    /// Handles the closing of the control connection by the server.
    pub fn handle_closed(&mut self) {
        match (self.phase, self.code) {
            (Phase::Ended, _) => {}
            (Phase::ErrorNumbers, Some(code)) => {
                self.fail(ClientFailure::ServerError { code, errno: None });
            }
            (phase, _) => {
                let expected = phase.expected();
                self.fail(ClientFailure::Violation(Violation::Closed { expected }));
            }
        }
    }

    /// Ends the test: the caller has sent its data, or its time is over.
    pub fn end_test(&mut self, now: Instant) {
        if self.phase == Phase::Running {
            self.send_state(State::TestEnd);
            self.expect(now, Phase::ExchangeResults);
        }
    }

    /// Sends the caller's results, after [`ClientEvent::ExchangeResults`].
    pub fn send_results(&mut self, now: Instant, results: &Results) {
        if self.phase == Phase::OwnResults {
            let block = json_block(&results.to_json());
            self.outbox.push_back(Output::Send(block));
            self.expect(now, Phase::PeerResults);
            if let Err(violation) = self.handle_inbox(now) {
                self.fail(ClientFailure::Violation(violation));
            }
        }
    }

    /// Aborts the test and notifies the server.
    pub fn terminate(&mut self) {
        if self.phase != Phase::Ended {
            self.send_state(State::ClientTerminate);
            self.phase = Phase::Ended;
            self.deadline = None;
        }
    }

    fn send_state(&mut self, state: State) {
        let bytes = [state.to_byte()].to_vec();
        self.outbox.push_back(Output::Send(bytes));
    }

    fn emit(&mut self, event: ClientEvent) {
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

    /// Enters a phase without a deadline: the caller acts next.
    fn rest(&mut self, phase: Phase) {
        debug_assert!(
            self.phase != Phase::Ended,
            "a test ends once, and nothing follows: {phase:?}"
        );
        self.phase = phase;
        self.deadline = None;
    }

    fn fail(&mut self, failure: ClientFailure) {
        self.rest(Phase::Ended);
        self.inbox = Inbox::default();
        self.emit(ClientEvent::Failed(failure));
    }

    /// Processes complete messages in the inbox.
    fn handle_inbox(&mut self, now: Instant) -> Result<(), Violation> {
        loop {
            match self.phase {
                Phase::Ended => return Ok(()),
                Phase::PeerResults => {
                    let streams = self.parameters.streams() as usize;
                    let block = self.inbox.block(results::MAX_OF_SERVER)?;
                    let Some(text) = block else { return Ok(()) };
                    let results = Results::read(&text, streams, Extras::Kept)?;
                    self.emit(ClientEvent::PeerResults(results));
                    self.expect(now, Phase::DisplayResults);
                }
                Phase::ErrorNumbers => {
                    let Some(number) = self.inbox.i32() else {
                        return Ok(());
                    };
                    match self.code {
                        None => self.code = Some(ErrorCode(number)),
                        Some(code) => {
                            let errno = Some(number);
                            self.fail(ClientFailure::ServerError { code, errno });
                        }
                    }
                }
                Phase::Clock { has_run } => {
                    let Some(time) = self.inbox.u64() else {
                        return Ok(());
                    };
                    self.handle_time(now, time, has_run);
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

    /// Handles the server's time: requests it again, or continues.
    fn handle_time(&mut self, now: Instant, time: u64, has_run: bool) {
        debug_assert!(
            self.exchange.is_some(),
            "the server's time comes in an exchange of times: {:?}",
            self.phase
        );
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        let Some(offset) = exchange.handle_answer(now, time) else {
            return self.send_state(State::Clock);
        };
        self.exchange = None;
        self.send_state(State::ClockDone);
        self.emit(ClientEvent::Clock(offset));
        let next = match has_run {
            true => Phase::ExchangeResults,
            false => Phase::CreateStreams,
        };
        self.expect(now, next);
    }

    fn handle_state(&mut self, now: Instant, byte: u8) -> Result<(), Violation> {
        let expected = self.phase.expected();
        let unexpected = Violation::UnexpectedState { byte, expected };
        let state = State::from_byte(byte).ok_or_else(|| unexpected.clone())?;
        match (state, self.phase) {
            (State::AccessDenied, _) => self.fail(ClientFailure::Busy),
            (State::ServerTerminate, _) => self.fail(ClientFailure::ServerTerminated),
            (State::ServerError, _) => self.expect(now, Phase::ErrorNumbers),
            (State::ParamExchange, Phase::ParamExchange) => {
                let block = json_block(&self.parameters.to_json());
                self.outbox.push_back(Output::Send(block));
                self.rest(Phase::CreateStreams);
            }
            (State::Clock, Phase::CreateStreams | Phase::ExchangeResults)
                if self.exchanges_left > 0 =>
            {
                self.exchanges_left -= 1;
                self.exchange = Some(Exchange::new(now));
                self.send_state(State::Clock);
                let has_run = self.phase == Phase::ExchangeResults;
                self.expect(now, Phase::Clock { has_run });
            }
            (State::CreateStreams, Phase::CreateStreams) => {
                self.emit(ClientEvent::OpenStreams);
                self.expect(now, Phase::TestStart);
            }
            (State::TestStart, Phase::TestStart) => {
                self.emit(ClientEvent::Start);
                self.expect(now, Phase::TestRunning);
            }
            (State::TestRunning, Phase::TestRunning) => {
                self.emit(ClientEvent::Run);
                self.rest(Phase::Running);
            }
            (State::ExchangeResults, Phase::ExchangeResults) => {
                self.emit(ClientEvent::ExchangeResults);
                self.rest(Phase::OwnResults);
            }
            (State::DisplayResults, Phase::DisplayResults) => {
                self.send_state(State::IperfDone);
                self.emit(ClientEvent::Done);
                self.rest(Phase::Ended);
            }
            _ => return Err(unexpected),
        }
        Ok(())
    }
}
