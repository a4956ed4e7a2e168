//! Records of each sender of a simulation: samples at regular intervals, and time-sequence data.

use std::collections::VecDeque;

use gigatcp_events::Phase;
use gigatcp_path::{Counters, Tally, Waited};
use gigatcp_tcp::Connection;
use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_wire::{Payload, Phantom, Segment};

/// The engine of a sender.
type Sender = Connection<Phantom>;

/// Number of marks kept in full detail, at the start and from an event on.
const DETAIL: usize = 3000;
/// Number of marks kept from before an event.
const DETAIL_BEFORE: usize = 1000;
/// Number of steps of the time-sequence overview.
const STEPS: u64 = 2000;

/// State of a sender at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold; `None` while unset.
    pub ssthresh: Option<Bytes>,
    /// Window the receiver advertises.
    pub rwnd: Bytes,
    /// Bytes in flight.
    pub flight: Bytes,
    /// Smoothed RTT; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// Pacing rate, if segments are paced.
    pub pacing_rate: Option<Rate>,
    /// Wire segments retransmitted so far.
    pub retransmitted: u64,
    /// Bytes the receiving application has read so far.
    pub delivered: u64,
}

impl Sample {
    /// Samples a sender, whose receiving application has read `delivered` bytes.
    pub(crate) fn of(sender: &Sender, at: Instant, delivered: u64) -> Self {
        let info = sender.info();
        Self {
            at,
            cwnd: info.cwnd,
            ssthresh: (info.ssthresh != Bytes::MAX).then_some(info.ssthresh),
            rwnd: info.snd_wnd,
            flight: info.flight_size,
            srtt: info.srtt,
            pacing_rate: info.pacing_rate,
            retransmitted: sender.counters().retransmitted_segments,
            delivered,
        }
    }
}

/// A queue at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSample {
    /// When.
    pub at: Instant,
    /// Packets waiting and in service.
    pub backlog: Tally,
    /// Mean sojourn of the packets that left in the sample interval that ends here. If none left
    /// although some wait: the value of the previous sample.
    pub queueing_delay: Duration,
    /// Wire packets dropped so far, whatever the cause.
    pub dropped: u64,
    /// Wire packets marked so far.
    pub marked: u64,
}

/// Samples of one link. A sample equal to the previous one is left out.
#[derive(Clone, Debug, Default)]
pub struct LinkSamples {
    taken: Vec<LinkSample>,
    /// Sojourns of packets that had left at the last sample.
    left: Waited,
}

impl LinkSamples {
    /// Takes a sample of a link. `left` are the sojourns of packets that have left so far.
    pub fn take(&mut self, now: Instant, backlog: Tally, left: Waited, counters: &Counters) {
        let mean = left.mean_since(self.left);
        self.left = left;
        let last = self.taken.last();
        let before = last.filter(|_| !backlog.is_zero());
        let before = before.map(|last| last.queueing_delay);
        let sample = LinkSample {
            at: now,
            backlog,
            queueing_delay: mean.or(before).unwrap_or_default(),
            dropped: counters.drops.total().packets,
            marked: counters.marked.packets,
        };
        if last.map(|last| LinkSample { at: now, ..*last }) != Some(sample) {
            self.taken.push(sample);
        }
    }

    /// Returns the number of samples.
    pub(crate) fn len(&self) -> usize {
        self.taken.len()
    }

    /// Keeps the last sample of every `step`, which holds at its end.
    pub(crate) fn thin(&mut self, step: Duration) {
        let number = |sample: &LinkSample| sample.at.as_nanos().div_ceil(step.as_nanos());
        self.taken.dedup_by(|later, kept| {
            let is_same = number(later) == number(kept);
            if is_same {
                *kept = *later;
            }
            is_same
        });
    }

    /// Returns all samples, oldest first; each holds until the next.
    #[must_use]
    pub fn as_slice(&self) -> &[LinkSample] {
        &self.taken
    }
}

/// One step of the overview of a time-sequence graph.
#[derive(Clone, Copy, Default, Debug)]
pub struct Step {
    /// Start of the step.
    pub at: Instant,
    /// Lowest stream offset sent in it, and offset after the highest.
    pub sent: Option<(u64, u64)>,
    /// SND.UNA at its end.
    pub ack: u64,
    /// Right edge of the send window at its end.
    pub window_edge: u64,
    /// Wire segments retransmitted in it.
    pub retransmitted: u32,
}

/// Mark of a time-sequence graph in full detail.
#[derive(Clone, Copy, Debug)]
pub enum Mark {
    /// A segment left the sender.
    Sent {
        /// When.
        at: Instant,
        /// Stream offset of its first byte.
        seq: u64,
        /// Payload bytes.
        len: u32,
        /// Whether it is a retransmission.
        again: bool,
    },
    /// An acknowledgment reached the sender.
    Ack {
        /// When.
        at: Instant,
        /// Stream offset acknowledged.
        ack: u64,
        /// Right edge of the send window.
        edge: u64,
    },
    /// A SACK block of that acknowledgment.
    Sack {
        /// When.
        at: Instant,
        /// First stream offset.
        left: u64,
        /// Stream offset after the last.
        right: u64,
    },
}

/// Event shown by a detail of a time-sequence graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The first segment with data.
    Start,
    /// The first retransmission.
    FirstLoss,
    /// The first retransmission after a timeout.
    Timeout,
}

/// Marks around an event.
#[derive(Clone, Debug)]
pub struct Detail {
    /// The event.
    pub event: Event,
    /// Time of the event.
    pub at: Instant,
    /// Smoothed RTT at that time; for [`Event::Start`], after the first measurement.
    pub srtt: Option<Duration>,
    /// The marks, oldest first.
    pub marks: Vec<Mark>,
}

impl Detail {
    /// Returns the maximum number of marks.
    const fn limit(&self) -> usize {
        match self.event {
            Event::Start => DETAIL,
            Event::FirstLoss | Event::Timeout => DETAIL + DETAIL_BEFORE,
        }
    }
}

/// Time-sequence data of one flow, as its sender experienced it.
#[derive(Clone, Default, Debug)]
pub struct Sequence {
    step_length: Duration,
    open: Step,
    steps: Vec<Step>,
    recent: VecDeque<Mark>,
    details: Vec<Detail>,
    /// Highest offset sent.
    highest: u64,
    iss: Option<gigatcp_wire::SeqNumber>,
}

impl Sequence {
    /// Returns empty data for a run of the given length.
    #[must_use]
    pub fn new(run: Duration) -> Self {
        let step_length = Duration::from_nanos((run.as_nanos() / STEPS).max(100_000));
        Self {
            step_length,
            ..Self::default()
        }
    }

    /// Returns the finished steps, oldest first.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the events that occurred, each with the marks around it.
    #[must_use]
    pub fn details(&self) -> &[Detail] {
        &self.details
    }

    /// Records a segment that leaves the sender.
    pub fn on_sent(&mut self, now: Instant, segment: &Segment<Phantom>, sender: &Sender) {
        let iss = *self.iss.get_or_insert(segment.seq);
        self.turn(now, sender);
        let len = segment.payload.len() as u64;
        if len == 0 {
            return;
        }
        // The offset is the one nearest to the highest sent so far.
        let near = iss + self.highest as u32;
        let distance = i64::from(segment.seq.distance_from(near));
        let seq = self.highest.saturating_add_signed(distance);
        let again = seq < self.highest;
        self.highest = self.highest.max(seq + len);
        let sent = self.open.sent.get_or_insert((seq, seq));
        *sent = (sent.0.min(seq), sent.1.max(seq + len));
        if again {
            self.open.retransmitted += segment.wire_segments() as u32;
        }
        let mark = Mark::Sent {
            at: now,
            seq,
            len: len as u32,
            again,
        };
        self.begin(Event::Start, now, sender);
        if again {
            self.begin(Event::FirstLoss, now, sender);
        }
        if again && sender.phase() == Phase::Loss {
            self.begin(Event::Timeout, now, sender);
        }
        self.keep(mark);
    }

    /// Records an acknowledgment that the sender has processed.
    pub fn on_ack(&mut self, now: Instant, segment: &Segment<Phantom>, sender: &Sender) {
        self.turn(now, sender);
        if let Some(start) = self.details.first_mut() {
            start.srtt = start.srtt.or(sender.srtt());
        }
        let una = sender.snd_una();
        let edge = una + sender.snd_wnd().as_u64();
        let Some(iss) = self.iss else {
            return;
        };
        let una_on_wire = iss + una as u32;
        let mark = Mark::Ack {
            at: now,
            ack: una,
            edge,
        };
        self.keep(mark);
        for block in segment.options.sack.as_slice() {
            let offset = |seq: gigatcp_wire::SeqNumber| {
                una.saturating_add_signed(i64::from(seq.distance_from(una_on_wire)))
            };
            let mark = Mark::Sack {
                at: now,
                left: offset(block.left),
                right: offset(block.right),
            };
            self.keep(mark);
        }
    }

    /// Closes the steps that are over.
    fn turn(&mut self, now: Instant, sender: &Sender) {
        while now >= self.open.at + self.step_length {
            let next = self.open.at + self.step_length;
            self.steps.push(self.open);
            self.open = Step {
                at: next,
                sent: None,
                retransmitted: 0,
                ..self.open
            };
        }
        self.open.ack = sender.snd_una();
        self.open.window_edge = self.open.ack + sender.snd_wnd().as_u64();
    }

    /// Begins the detail of an event, unless such an event occurred before.
    fn begin(&mut self, event: Event, at: Instant, sender: &Sender) {
        if self.details.iter().all(|detail| detail.event != event) {
            self.details.push(Detail {
                event,
                at,
                srtt: sender.srtt(),
                marks: self.recent.iter().copied().collect(),
            });
        }
    }

    fn keep(&mut self, mark: Mark) {
        for detail in &mut self.details {
            if detail.marks.len() < detail.limit() {
                detail.marks.push(mark);
            }
        }
        if self.recent.len() == DETAIL_BEFORE {
            self.recent.pop_front();
        }
        self.recent.push_back(mark);
    }
}
