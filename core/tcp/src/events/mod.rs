//! Vocabulary of events, causes and limits of a run.
//!
//! The engine, the path and the hosts report [`Event`]s, which the record and the report of a run
//! read.
//!
//! * [`event`]: events, one variant each.
//! * [`cause`]: causes that limit a connection's throughput.
//! * [`limit`]: mechanisms that stop a sender's output, and a clock whose times add up to the run.
//! * [`log`]: an outbox with a mask, so that unwanted events cost a branch, and the hash for
//!   comparing two runs.
//!
//! Sequence space in events is the *stream offset*: the 64-bit extended sequence number of RFC 5925
//! section 6.2 minus the initial one. SYN is 0, the first octet of data is 1, and nothing wraps.

pub mod cause;
pub mod event;
pub mod limit;
pub mod log;
mod table;

pub use cause::Cause;
pub use event::{
    CwndCause, EcnFeedback, Event, LossVerdict, PathMtuCause, Phase, SendReason, State,
};
pub use limit::{Limit, LimitClock};
pub use log::{EventHash, EventMask, Outbox, Stamped};
