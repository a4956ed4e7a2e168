//! Counters of a connection in an interval; intervals add up.

use gigatcp_units::{Duration, Instant};

/// State that a sender waits in, as far as its kernel counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Wait {
    /// Nothing is unsent or in flight.
    Idle,
    /// The receive window is full (`tcpi_rwnd_limited`).
    Window,
    /// The send buffer is full (`tcpi_sndbuf_limited`).
    Buffer,
    /// Data is in flight and nothing is acknowledged until a timer expires.
    Stalled,
    /// Anything else: cwnd, pacing, path, CPU.
    Rest,
    /// Data arrives, for a connection whose sender is not read.
    Receiving,
}

/// Number of [`Wait`]s.
pub const WAITS: usize = 6;

impl Wait {
    /// All of them, in order.
    pub const ALL: [Self; WAITS] = [
        Self::Idle,
        Self::Window,
        Self::Buffer,
        Self::Stalled,
        Self::Rest,
        Self::Receiving,
    ];
}

const _: () = {
    let mut place = 0;
    while place < WAITS {
        assert!(
            Wait::ALL[place] as usize == place,
            "times of waits are found by their place"
        );
        place += 1;
    }
};

/// Mean over time of a value that may be unknown for a part of it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Mean {
    sum: f64,
    time: f64,
}

impl Mean {
    /// Adds a value that held for this time, in seconds.
    pub fn add(&mut self, value: Option<f64>, time: f64) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.sum += value * time;
            self.time += time;
        }
    }

    pub fn value(&self) -> Option<f64> {
        (self.time > 0.0).then(|| self.sum / self.time)
    }

    fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.time += other.time;
    }
}

/// Declares the means and the counts of a slice.
macro_rules! slice {
    (means { $($(#[doc = $mean_doc:literal])* $mean:ident)* }
     counts { $($(#[doc = $count_doc:literal])* $count:ident)* }) => {
        /// An interval of a connection.
        #[derive(Clone, Debug, Default)]
        pub(super) struct Slice {
            pub start: Instant,
            pub length: Duration,
            /// Time in each [`Wait`]; adds up to the length.
            pub waits: [Duration; WAITS],
            /// cwnd in segments at the begin and at the end.
            pub cwnd_ends: Option<(u64, u64)>,
            /// Largest sample of the delivery rate, bytes per second.
            pub best_sample: Option<f64>,
            $($(#[doc = $mean_doc])* pub $mean: Mean,)*
            $($(#[doc = $count_doc])* pub $count: u64,)*
        }

        impl Slice {
            /// Adds the following interval.
            pub fn merge(&mut self, next: &Self) {
                self.length += next.length;
                for (wait, more) in self.waits.iter_mut().zip(next.waits) {
                    *wait += more;
                }
                self.cwnd_ends = match (self.cwnd_ends, next.cwnd_ends) {
                    (Some((first, _)), Some((_, last))) => Some((first, last)),
                    (one, other) => one.or(other),
                };
                self.best_sample = [self.best_sample, next.best_sample]
                    .into_iter()
                    .flatten()
                    .reduce(f64::max);
                $(self.$mean.merge(&next.$mean);)*
                $(self.$count = self.$count.saturating_add(next.$count);)*
            }
        }
    };
}

slice! {
    means {
        /// Smoothed RTT, seconds.
        rtt
        /// Bytes in flight.
        flight
        /// cwnd, bytes.
        cwnd
        /// Flight over cwnd.
        cwnd_fill
        /// Window advertised by the receiver, in bytes.
        window
        /// Whether that window is zero.
        zero_window
        /// Flight over that window.
        window_fill
        /// Pacing rate, bytes per second.
        pacing
        /// Pacing rate over its upper bound.
        pacing_of_cap
        /// Whether the pacing rate equals that of the previous reading.
        pacing_still
        /// Whether all written data was sent.
        nothing_unsent
        /// Whether less than a segment waited for an ACK (Nagle's algorithm).
        rest_held
        /// Whether the last delivery rate was limited by the application.
        app_limited
        /// Whether cwnd is below the slow-start threshold.
        slow_start
        /// Memory of the local queue and the device over that of all data unacknowledged.
        local
        /// Bytes written and not acknowledged.
        send_queue
        /// Memory of data unacknowledged over the send buffer.
        buffer_fill
        /// Fraction of the flight that has arrived without its ACKs.
        arrived
        /// Bytes that the receiver has not read.
        unread
        /// CPU of the sending process, and the busiest core of its host.
        sender_process
        sender_core
        sender_throttled
        /// CPU of the receiving process, and the busiest core of its host.
        receiver_process
        receiver_core
        receiver_throttled
        /// Fraction of the time in which the application reported nothing to send.
        app_idle
        /// Fraction of the time in which the receiving application reported that it did not read.
        app_not_reading
        /// Delivery rate times the receiver's RTT over the window that it advertises.
        receive_fill
    }
    counts {
        /// Bytes delivered.
        acked
        /// Bytes received from the peer.
        received
        /// Segments sent, retransmissions included.
        sent
        /// Segments retransmitted.
        retransmitted
        /// Loss events that began.
        events
        /// Retransmission timeouts.
        timeouts
        /// Retransmissions proven spurious by D-SACK.
        spurious
        /// Times that reordering was seen.
        reordered
        /// Segments delivered, and those of them with a congestion mark.
        delivered
        marked
        /// Packets dropped by the receiving host, and by its socket.
        host_drops
        socket_drops
    }
}

impl Slice {
    /// Time in which data was delivered.
    pub fn delivering(&self) -> Duration {
        let [idle, stalled] = [Wait::Idle, Wait::Stalled].map(|wait| self.waits[wait as usize]);
        self.length.saturating_sub(idle + stalled)
    }

    /// Delivery rate over the time with data to deliver, in bytes per second. That time is at least half
    /// of the slice, or a second: the kernel's ticks hide how short bursts were.
    pub fn rate(&self) -> f64 {
        const LONG: Duration = Duration::from_secs(1);
        let least = (self.length / 2).min(LONG);
        self.acked as f64 / self.delivering().max(least).as_secs_f64().max(1e-6)
    }

    /// That rate, limited to 1.25 times the kernel's best sample. The limit removes jumps of
    /// cumulative ACKs.
    pub fn sound_rate(&self) -> f64 {
        let rate = self.rate();
        self.best_sample.map_or(rate, |best| rate.min(best * 1.25))
    }

    /// A fraction of its length.
    pub fn share(&self, wait: Wait) -> f64 {
        self.waits[wait as usize].as_secs_f64() / self.length.as_secs_f64().max(1e-9)
    }
}
