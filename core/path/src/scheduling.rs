//! How the processors of a host share the work of receiving.
//!
//! By default one processor does everything and takes all that has arrived before it
//! turns to an application. Under overload it then never does: receive livelock.
//!
//! Source: Mogul and Ramakrishnan, *Eliminating Receive Livelock in an Interrupt-driven
//! Kernel*, ACM TOCS 15(3), 1997: section 4 (livelock), 6.4 (polling), 6.6 (quotas).

/// How the processors of a host share the work.
///
/// In order of priority: the interrupt handler of the network card, if interrupts cost
/// anything; protocol work on what has arrived; calls of applications.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Scheduling {
    /// Whether applications have a processor of their own: what arrives is handled on
    /// the other one, and so is what it makes the engine send.
    pub separate_applications: bool,
    /// Frames that are handled in a row while an application waits. None: unlimited.
    /// Only on a host with one processor for both.
    pub receive_budget: Option<u32>,
    /// Frames that wait for protocol work, at most; others are dropped there, after
    /// their interrupt. None: unlimited.
    pub input_queue: Option<u32>,
    /// Whether the card interrupts once and is then polled until it has nothing more, as
    /// by Linux (NAPI): frames wait in the card, and handling them is protocol work that
    /// the budget bounds.
    pub polls: bool,
}
