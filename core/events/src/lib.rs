//! The one vocabulary of what happened in a run.
//!
//! The engine, the path and the hosts say what they do in [`Event`]s; the
//! report and (later) the diagnosis read nothing else. A capture file is
//! turned into the same events, so one set of rules serves the simulator, the
//! live engine, the kernel and captures of other hosts.
//!
//! * [`event`]: what can happen, one variant each.
//! * [`cause`]: what would have to change for a connection to be faster.
//! * [`limit`]: what kept a sender from sending more, and the clock that makes
//!   those times add up to the run.
//! * [`log`]: an outbox with a mask, so that unwanted events cost a branch,
//!   and the hash by which two runs are compared.
//!
//! Sequence space in events is the *stream offset* of RFC 5925 section 6.2's
//! 64-bit extended sequence number less the initial one: SYN is 0, the first
//! octet of data is 1, and nothing wraps.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod cause;
pub mod event;
pub mod limit;
pub mod log;

pub use cause::Cause;
pub use event::{
    CwndCause, DropCause, EcnFeedback, Event, LossVerdict, PathMtuCause, Phase, SendReason, State,
};
pub use limit::{Limit, LimitClock};
pub use log::{EventHash, EventMask, Outbox, Stamped};
