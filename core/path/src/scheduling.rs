//! Distribution of receive work over the CPUs of a host.
//!
//! By default one CPU does everything and processes all arrivals before it runs an application.
//! Under overload it never runs the application: receive livelock.
//!
//! With several CPUs the network card has one or more receive queues, and each queue interrupts its
//! own CPU. That CPU does the protocol work for the flows of its queue
//! ([`rss_queue`](crate::rss_queue)), including the sending caused by timers of their connections.
//! CPUs beyond the queues run applications only: the sockets of a host use them in turn. If there
//! are none, an application runs on the CPU that its flow interrupts. Work never moves between
//! CPUs, and none waits for a lock: the gain from several CPUs in this model is an upper bound.
//! Only CPUs of receive queues have steal time ([`Steal`](crate::Steal)), each at its own times.
//!
//! Source: Mogul and Ramakrishnan, *Eliminating Receive Livelock in an Interrupt-driven
//! Kernel*, ACM TOCS 15(3), 1997: section 4 (livelock), 6.4 (polling), 6.6 (quotas).

/// Assignment of work to the CPUs of a host.
///
/// Priority on each CPU: first the interrupt handler of its receive queue, if interrupts cost
/// anything; then protocol work on arrivals; then calls of applications.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheduling {
    /// Number of CPUs, at least one.
    pub processors: u16,
    /// Number of receive queues of the network card, from one to `processors`. Each of the first
    /// CPUs serves one; the others are for applications only.
    pub receive_queues: u16,
    /// Maximum number of frames handled in a row while an application waits. `None`: unlimited.
    /// Only used if applications have no CPUs of their own.
    pub receive_budget: Option<u32>,
    /// Maximum number of frames that wait for protocol work of a CPU. Others are dropped there,
    /// after their interrupt. `None`: unlimited.
    pub input_queue: Option<u32>,
    /// Whether the card interrupts once and is then polled until empty (NAPI). Frames wait in the
    /// card, and handling them is protocol work that the budget limits.
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
    /// Number of CPUs reserved for applications.
    pub const fn application_processors(&self) -> u16 {
        self.processors.saturating_sub(self.receive_queues)
    }

    /// CPU that runs system calls on a socket. `number` is that of the socket, `home` the CPU of
    /// its receive queue.
    pub const fn caller(&self, number: u32, home: u16) -> u16 {
        match self.application_processors() {
            0 => home,
            count => self.receive_queues + (number % count as u32) as u16,
        }
    }
}
