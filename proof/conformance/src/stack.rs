//! Interface of a stack under test.
//!
//! The runner reads the script, keeps its clock and compares; a stack executes and returns what it
//! sent. Two stacks can run the same script: the engine in virtual time, and a kernel behind a TUN
//! device in real time.
//!
//! # How to implement one
//!
//! For each event of the script, the runner
//!
//! 1. calls [`Stack::wait_until`] with the time of the event: the engine runs its timers up to it,
//!    a kernel's driver sleeps;
//! 2. performs the event:
//!    * a call: [`Stack::call`]. A call that blocks returns [`Progress::Blocked`]; the runner
//!      calls [`Stack::poll_call`] after every later event. A kernel runs blocking calls in
//!      separate threads;
//!    * `<`: [`Stack::inject`] with sequence numbers, ports, addresses and options as on the wire.
//!      A kernel writes [`Packet::octets`] into its TUN device;
//!    * `>`: [`Stack::next_sent`], with the latest time at which the packet may come. A stack
//!      returns immediately if it has one (packets queue in the order they left, each with the
//!      time at which it left). Otherwise it lets time pass up to the latest time. A kernel reads
//!      its TUN device with that as its timeout, and [`Packet::read`];
//!    * a command in backticks: [`Stack::command`];
//!    * `%{ }%`: [`Stack::info`].
//!
//! Times are script time: zero is when [`Stack::begin`] returns. File descriptors are those of the
//! script: the stack maps them to its own. All matching (relative sequence numbers, tolerance,
//! options that are not compared) is the runner's task.
//!
//! A stack returns [`Unsupported`] for what it cannot do, never an incorrect result: such a script
//! counts neither as passed nor as failed.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use gigatcp_units::Instant;

use crate::ast::{Script, Value};
use crate::packet::Packet;

/// A stack under test.
pub trait Stack {
    /// Its name, for messages: `engine`, `Linux 6.12`.
    fn name(&self) -> String;

    /// Prepares the stack before the first event. It stores the addresses, and the script's headers
    /// and options that concern it. Setup commands of the script follow through [`Stack::command`].
    ///
    /// # Errors
    /// The first of these that this stack does not support.
    fn begin(&mut self, script: &Script, addresses: &Addresses) -> Result<(), Unsupported>;

    /// Lets time pass until `at`; returns immediately if that is over.
    fn wait_until(&mut self, at: Instant);

    /// Current script time.
    fn now(&self) -> Instant;

    /// Executes a system call of the application.
    ///
    /// # Errors
    /// The part of the call that this stack does not support.
    fn call(&mut self, call: &Request<'_>) -> Result<Progress, Unsupported>;

    /// Time and result of a blocked call, if it has returned.
    fn poll_call(&mut self, call: CallId) -> Option<(Instant, Returned)>;

    /// Delivers a packet to the stack now.
    ///
    /// # Errors
    /// The part of the packet that this stack cannot receive.
    fn inject(&mut self, packet: &Packet) -> Result<(), Unsupported>;

    /// Next packet that left, in order. Lets time pass up to `latest` if there is none yet.
    fn next_sent(&mut self, latest: Instant) -> Option<Sent>;

    /// Runs a shell command: `sysctl`, `ip`, `tc`, a script of the corpus.
    ///
    /// # Errors
    /// The part that this stack does not support.
    fn command(&mut self, text: &str) -> Result<(), Unsupported>;

    /// Output of the last command, if it ran and failed. Example: `grep` without a match. Returned
    /// once.
    fn command_failed(&mut self) -> Option<String> {
        None
    }

    /// Names of scripts whose octets only the stack knows. Example: `TFO_COOKIE`, the Fast Open
    /// cookie it sends to the peer. They take precedence over `-D`.
    fn definitions(&self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    /// `tcp_info` of the connection behind `fd`, by field. Names are as in `struct tcp_info`
    /// (`tcpi_snd_cwnd`), numbers in its units.
    ///
    /// # Errors
    /// If there is no such connection or its `tcp_info` is unavailable.
    fn info(&mut self, fd: i64) -> Result<Vec<(&'static str, i64)>, Unsupported>;
}

/// Addresses and ports of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// Address of the stack.
    pub local: IpAddr,
    /// Address of the peer, which the script plays.
    pub remote: IpAddr,
    /// Port for `bind(3, ..., ...)`.
    pub local_port: u16,
    /// Port for `connect(3, ..., ...)`.
    pub remote_port: u16,
    /// MTU of the interface.
    pub mtu: u16,
}

/// A system call.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Name of the function.
    pub name: &'a str,
    /// Arguments as in the script. `...` is the address of [`Addresses`], or a buffer with octets
    /// of the stream ([`crate::data`]).
    pub args: &'a [Value],
    /// Return value in the script. A new descriptor is given this number, so that scripts choose
    /// their numbers.
    pub wanted: Option<i64>,
}

/// Progress of a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Progress {
    /// It returned immediately.
    Returned(Returned),
    /// It blocks; poll for it by this number.
    Blocked(CallId),
}

/// Number of a call in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallId(pub u32);

/// Result of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Returned {
    /// Return value: -1 for a failure.
    pub result: i64,
    /// Name of the error, `ECONNRESET`, if it failed.
    pub errno: Option<String>,
    /// Output arguments: index and value in script notation. Example: `[42000]` of `getsockopt`.
    pub outputs: Vec<(usize, Value)>,
}

impl Returned {
    /// Result of a successful call.
    pub fn success(result: i64) -> Self {
        Self {
            result,
            errno: None,
            outputs: Vec::new(),
        }
    }

    /// Result of a failed call.
    pub fn failure(errno: &str) -> Self {
        Self {
            result: -1,
            errno: Some(errno.into()),
            outputs: Vec::new(),
        }
    }

    /// Adds an output argument.
    #[must_use]
    pub fn output(mut self, index: usize, value: Value) -> Self {
        self.outputs.push((index, value));
        self
    }
}

/// A packet that left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Time at which it left.
    pub at: Instant,
    /// The packet.
    pub packet: Packet,
}

/// A feature that a stack does not support.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// Class, for counting: `call`, `socket option`, `setting`, `command`, `packet`, `tcp_info`,
    /// `mechanism`.
    pub class: &'static str,
    /// Name of the feature: `SO_ZEROCOPY`, `net.ipv4.tcp_mem`.
    pub what: String,
}

impl Unsupported {
    /// A feature of that class.
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
