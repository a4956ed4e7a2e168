//! The error queue of a socket: completions of `MSG_ZEROCOPY` (Linux
//! `Documentation/networking/msg_zerocopy.rst`) and the times of `SO_TIMESTAMPING`
//! (`timestamping.rst`).
//!
//! The engine's send buffer copies, so every completion has `SO_EE_CODE_ZEROCOPY_COPIED`, as a
//! kernel reports over a device that cannot send from user pages. An octet's buffer is free when it
//! is acknowledged.
//!
//! Times are those of the last octet of each write call: when its segment is first passed to the
//! device (`SCHED` and `SND`, which coincide here), and when it is acknowledged (`ACK`).
//!
//! Out of scope: times of received data, and of hardware; the octets of the segment to which a time
//! refers.

use alloc::collections::VecDeque;

use gigatcp_units::Instant;

use crate::ast::Value;
use crate::stack::Unsupported;

/// Write calls and requested times, and reports not yet read.
#[derive(Clone, Debug, Default)]
pub struct ErrorQueue {
    /// Number of the next call with `MSG_ZEROCOPY`.
    next: u32,
    /// Numbers of such calls, and the end of their data, as SND.UNA counts.
    in_use: VecDeque<(u32, u64)>,
    /// Times to report.
    stamps: Stamps,
    /// Ends of calls whose last octet has not left.
    unsent: VecDeque<u64>,
    /// Ends of calls whose last octet is not acknowledged.
    unacked: VecDeque<u64>,
    /// Unread reports, in order.
    unread: VecDeque<ErrorReport>,
    /// Number of reports so far.
    reports: u64,
}

/// Options of `SO_TIMESTAMPING`.
#[derive(Clone, Copy, Debug, Default)]
struct Stamps {
    scheduled: bool,
    sent: bool,
    acknowledged: bool,
    /// Origin of octet numbers with `SOF_TIMESTAMPING_OPT_ID`, as SND.UNA counts.
    origin: u64,
}

/// One entry of the queue.
#[derive(Clone, Copy, Debug)]
pub enum ErrorReport {
    /// First and last number of calls whose buffers are free.
    Copied(u32, u32),
    /// Event of an octet, octet number, and time.
    Stamp(&'static str, u64, Instant),
}

impl ErrorQueue {
    /// Records that a call with `MSG_ZEROCOPY` has written up to `end`.
    pub fn on_copied(&mut self, end: u64) {
        self.in_use.push_back((self.next, end));
        self.next += 1;
    }

    /// Records that a call has written up to `end`.
    pub fn on_written(&mut self, end: u64) {
        if self.stamps.scheduled || self.stamps.sent {
            self.unsent.push_back(end);
        }
        if self.stamps.acknowledged {
            self.unacked.push_back(end);
        }
    }

    /// Next entry.
    pub fn pop(&mut self) -> Option<ErrorReport> {
        self.unread.pop_front()
    }

    /// Whether there is an entry to read.
    pub fn is_ready(&self) -> bool {
        !self.unread.is_empty()
    }

    /// A number that changes with each addition, for edge-triggered waits.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Applies `SO_TIMESTAMPING`; octets are counted from `una` on.
    ///
    /// # Errors
    /// Kinds of times that are not supported here.
    pub fn set_stamps(&mut self, flags: &Value, una: u64) -> Result<(), Unsupported> {
        const KNOWN: [&str; 5] = [
            "SOF_TIMESTAMPING_TX_SCHED",
            "SOF_TIMESTAMPING_TX_SOFTWARE",
            "SOF_TIMESTAMPING_TX_ACK",
            "SOF_TIMESTAMPING_SOFTWARE",
            "SOF_TIMESTAMPING_OPT_ID",
        ];
        let single = [flags.clone()];
        let words = match flags {
            Value::Or(words) => words.as_slice(),
            _ if flags.integer() == Some(0) => &[],
            _ => &single,
        };
        for word in words {
            if !word.name().is_some_and(|name| KNOWN.contains(&name)) {
                return Err(Unsupported::new(
                    "socket option",
                    "SO_TIMESTAMPING of this kind",
                ));
            }
        }
        let has = |word: &str| flags.has_word(word);
        let stamps = Stamps {
            scheduled: has(KNOWN[0]),
            sent: has(KNOWN[1]),
            acknowledged: has(KNOWN[2]),
            origin: una,
        };
        if (stamps.scheduled || stamps.sent || stamps.acknowledged)
            && !(has(KNOWN[3]) && has(KNOWN[4]))
        {
            let what = "SO_TIMESTAMPING without software times or numbers";
            return Err(Unsupported::new("socket option", what));
        }
        self.stamps = stamps;
        Ok(())
    }

    pub fn on_sent(&mut self, nxt: u64, at: Instant) {
        let (scheduled, sent) = (self.stamps.scheduled, self.stamps.sent);
        while let Some(&end) = self.unsent.front()
            && end <= nxt
        {
            self.unsent.pop_front();
            for (kind, wanted) in [("SCM_TSTAMP_SCHED", scheduled), ("SCM_TSTAMP_SND", sent)] {
                if wanted {
                    self.add(ErrorReport::Stamp(kind, self.number(end), at));
                }
            }
        }
    }

    pub fn on_acknowledged(&mut self, una: u64, is_closed: bool, at: Instant) {
        while let Some(&end) = self.unacked.front()
            && end <= una
        {
            self.unacked.pop_front();
            self.add(ErrorReport::Stamp("SCM_TSTAMP_ACK", self.number(end), at));
        }
        while let Some(&(number, end)) = self.in_use.front()
            && (end <= una || is_closed)
        {
            self.in_use.pop_front();
            self.add(ErrorReport::Copied(number, number));
        }
    }

    /// Number of the last octet before `end`.
    fn number(&self, end: u64) -> u64 {
        end.saturating_sub(1).saturating_sub(self.stamps.origin)
    }

    fn add(&mut self, report: ErrorReport) {
        self.reports += 1;
        match (self.unread.back_mut(), report) {
            // Neighboring unread completions are merged.
            (Some(ErrorReport::Copied(_, last)), ErrorReport::Copied(number, _))
                if *last + 1 == number =>
            {
                *last = number;
            }
            _ => self.unread.push_back(report),
        }
    }
}
