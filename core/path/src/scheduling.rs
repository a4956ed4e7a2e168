//! How the processors of a host share the work of receiving.
//!
//! By default one processor does everything and takes all that has arrived before it
//! turns to an application. Under overload it then never does: receive livelock.
//!
//! With several processors the network card has one or more receive queues, and each queue
//! interrupts a processor of its own. That processor does the protocol work for the flows of
//! its queue ([`rss_queue`](crate::rss_queue)), with what the timers of their connections
//! make them send. Processors beyond the queues belong to applications alone: the sockets of
//! a host take them in turn. Where there are none, an application runs on the processor that
//! its flow interrupts. Work never moves from one processor to another, and none waits for a
//! lock: what several processors gain in this model is the most that they can. Others
//! take ([`Steal`](crate::Steal)) processors of receive queues alone, each at times of its own.
//!
//! Source: Mogul and Ramakrishnan, *Eliminating Receive Livelock in an Interrupt-driven
//! Kernel*, ACM TOCS 15(3), 1997: section 4 (livelock), 6.4 (polling), 6.6 (quotas).

/// How the processors of a host share the work.
///
/// In order of priority on each processor: the interrupt handler of its receive queue, if
/// interrupts cost anything; protocol work on what has arrived; calls of applications.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheduling {
    /// Number of processors, at least one.
    pub processors: u16,
    /// Number of receive queues of the network card, from one to `processors`. The first
    /// processors are theirs, others are for applications alone.
    pub receive_queues: u16,
    /// Frames that a processor handles in a row while an application waits for it. None:
    /// unlimited. Only where applications have no processors of their own.
    pub receive_budget: Option<u32>,
    /// Frames that wait for protocol work of a processor, at most; others are dropped there,
    /// after their interrupt. None: unlimited.
    pub input_queue: Option<u32>,
    /// Whether the card interrupts once and is then polled until it has nothing more, as
    /// by Linux (NAPI): frames wait in the card, and handling them is protocol work that
    /// the budget bounds.
    pub polls: bool,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self {
            processors: 1,
            receive_queues: 1,
            receive_budget: None,
            input_queue: None,
            polls: false,
        }
    }
}

impl Scheduling {
    /// Returns how many processors applications have to themselves.
    #[must_use]
    pub const fn application_processors(&self) -> u16 {
        self.processors.saturating_sub(self.receive_queues)
    }

    /// Returns the processor that calls of an application take: `number` is that of its
    /// socket, `home` the processor of the socket's receive queue.
    #[must_use]
    pub const fn caller(&self, number: u32, home: u16) -> u16 {
        match self.application_processors() {
            0 => home,
            count => self.receive_queues + (number % count as u32) as u16,
        }
    }
}
