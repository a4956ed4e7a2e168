//! State that all threads of a test share.

use std::sync::Arc;

use gigatcp_protocol::iperf3::Parameters;

use super::budget::Budget;
use super::ramp::Turns;
use super::rate_limit::StreamLimit;
use super::request::Offload;
use super::switch::Switch;

/// State shared by the threads of a test.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) parameters: Arc<Parameters>,
    pub(super) switch: Arc<Switch>,
    pub(super) budget: Arc<Budget>,
    /// Rate that a server allows.
    pub(super) limit: StreamLimit,
    /// Bytes of a write, or of a datagram.
    pub(super) block: usize,
    /// CPU of the streams' threads (`-A`); `None`: any.
    pub(super) processor: Option<usize>,
    /// Turns in which streams begin; `None`: all begin at the start.
    pub(super) turns: Option<Arc<Turns>>,
    /// Whether GSO and GRO are used for datagrams.
    pub(super) offload: Offload,
}
