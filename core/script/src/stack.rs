//! A stack under test: what a script is run against.
//!
//! The runner reads the script, keeps its clock and compares;
//! a stack does what it is told and hands over what it sent. Two stacks fit
//! the same script: the engine in virtual time, and a
//! kernel behind a TUN device in real time.
//!
//! # How to write one
//!
//! For each event of the script, the runner
//!
//! 1. calls [`Stack::wait_until`] with the time of the event: the engine runs
//!    its timers up to it, a kernel's driver sleeps;
//! 2. does what the event says:
//!    * a call: [`Stack::call`]. A call that blocks gives
//!      [`Progress::Blocked`]; the runner asks [`Stack::poll_call`] after every
//!      later event. A kernel runs blocking calls in a thread of their own;
//!    * `<`: [`Stack::inject`] with sequence numbers, ports, addresses and
//!      options as they go on the wire. A kernel writes [`Packet::octets`]
//!      into its TUN device;
//!    * `>`: [`Stack::next_sent`], with the latest moment at which the packet
//!      may still come. A stack answers at once if it has one (packets queue
//!      in the order they left, each with the time at which it left), or lets
//!      time pass up to that moment. A kernel reads its TUN device with
//!      that as its timeout, and [`Packet::read`];
//!    * a command in backticks: [`Stack::command`];
//!    * `%{ }%`: [`Stack::info`].
//!
//! Times are script time: zero is when the script begins, which is when
//! [`Stack::begin`] returns. File descriptors are those of the script: the
//! stack keeps the table from them to its own. Everything about matching
//! (relative sequence numbers, tolerance, options that are not compared) is
//! the runner's.
//!
//! What a stack cannot do it says with [`Unsupported`], never with a wrong
//! answer: such a script counts neither as passed nor as failed.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use gigatcp_units::Instant;

use crate::ast::{Script, Value};
use crate::packet::Packet;

/// A stack under test.
pub trait Stack {
    /// What it is, for messages: `engine`, `Linux 6.12`.
    fn name(&self) -> String;

    /// Before the first event: takes the addresses, and whatever of the
    /// script's headers and options concerns it. Commands of the script's
    /// setup follow through [`Stack::command`].
    ///
    /// # Errors
    /// What of it this stack cannot do.
    fn begin(&mut self, script: &Script, addresses: &Addresses) -> Result<(), Unsupported>;

    /// Lets time pass until `at`, or not at all if that is over.
    fn wait_until(&mut self, at: Instant);

    /// Script time now.
    fn now(&self) -> Instant;

    /// The application calls.
    ///
    /// # Errors
    /// What of the call this stack cannot do.
    fn call(&mut self, call: &Request<'_>) -> Result<Progress, Unsupported>;

    /// Whether a call that blocked has come back, when and with what.
    fn poll_call(&mut self, call: CallId) -> Option<(Instant, Returned)>;

    /// A packet arrives now.
    ///
    /// # Errors
    /// What of the packet this stack cannot be shown.
    fn inject(&mut self, packet: &Packet) -> Result<(), Unsupported>;

    /// The next packet that left, in order; lets time pass up to `latest` if
    /// there is none yet.
    fn next_sent(&mut self, latest: Instant) -> Option<Sent>;

    /// A shell command: `sysctl`, `ip`, `tc`, a script of the corpus.
    ///
    /// # Errors
    /// What of it this stack cannot do.
    fn command(&mut self, text: &str) -> Result<(), Unsupported>;

    /// What the last command said, if it could be run and failed: `grep` that
    /// finds nothing. Taken once.
    fn command_failed(&mut self) -> Option<String> {
        None
    }

    /// Names of scripts whose octets only the stack knows: `TFO_COOKIE`, the
    /// Fast Open cookie it gives to the peer. They go before `-D`.
    fn definitions(&self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    /// The `tcp_info` of the connection behind `fd`, word by word: names as in
    /// `struct tcp_info` (`tcpi_snd_cwnd`), numbers in its units.
    ///
    /// # Errors
    /// When there is no such connection or no such view of it.
    fn info(&mut self, fd: i64) -> Result<Vec<(&'static str, i64)>, Unsupported>;
}

/// Addresses and ports of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// The stack's.
    pub local: IpAddr,
    /// The peer's that the script plays.
    pub remote: IpAddr,
    /// The port that `bind(3, ..., ...)` means.
    pub local_port: u16,
    /// The port that `connect(3, ..., ...)` means.
    pub remote_port: u16,
    /// The MTU of the interface.
    pub mtu: u16,
}

/// A call.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Name of the function.
    pub name: &'a str,
    /// Arguments as the script has them. `...` as an address is the one of
    /// [`Addresses`], as a buffer it is octets of the stream
    /// ([`crate::data`]).
    pub args: &'a [Value],
    /// The number the script says it returns: a call that makes a descriptor
    /// makes it under this one, so that scripts may count from where they like.
    pub wanted: Option<i64>,
}

/// What has become of a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Progress {
    /// It came back at once.
    Returned(Returned),
    /// It blocks; ask for it by this number.
    Blocked(CallId),
}

/// A call in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallId(pub u32);

/// What a call gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Returned {
    /// Its result: -1 for a failure.
    pub result: i64,
    /// Name of the error, `ECONNRESET`, if it failed.
    pub errno: Option<String>,
    /// What it wrote into its arguments: the index of the argument and the
    /// value as a script would state it: `[42000]` of `getsockopt`.
    pub outputs: Vec<(usize, Value)>,
}

impl Returned {
    /// A call that succeeded.
    #[must_use]
    pub fn success(result: i64) -> Self {
        Self {
            result,
            errno: None,
            outputs: Vec::new(),
        }
    }

    /// A call that failed.
    #[must_use]
    pub fn failure(errno: &str) -> Self {
        Self {
            result: -1,
            errno: Some(errno.into()),
            outputs: Vec::new(),
        }
    }

    /// Adds what it wrote into an argument.
    #[must_use]
    pub fn output(mut self, index: usize, value: Value) -> Self {
        self.outputs.push((index, value));
        self
    }
}

/// A packet that left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// When.
    pub at: Instant,
    /// What.
    pub packet: Packet,
}

/// Something that a stack cannot do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// The class, for counting: `call`, `socket option`, `setting`,
    /// `command`, `packet`, `tcp_info`, `mechanism`.
    pub class: &'static str,
    /// What exactly: `SO_ZEROCOPY`, `net.ipv4.tcp_mem`.
    pub what: String,
}

impl Unsupported {
    /// Something of that class.
    #[must_use]
    pub fn new(class: &'static str, what: impl Into<String>) -> Self {
        Self {
            class,
            what: what.into(),
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.class, self.what)
    }
}
