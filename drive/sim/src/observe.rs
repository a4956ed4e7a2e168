//! What is recorded of each sender while the world runs: evenly spaced
//! samples, the limited-by timeline, and time-sequence data.

use std::collections::VecDeque;

use gigatcp_events::Limit;
use gigatcp_path::{Counters, Tally, Waited};
use gigatcp_tcp::Connection;
use gigatcp_tcp::connection::Info;
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Payload, Phantom, Segment};

/// Segments kept in full detail at the start, and around the first loss.
const DETAIL: usize = 3000;
/// Of the stretch around the first loss, how many come before it.
const DETAIL_BEFORE: usize = 1000;
/// Steps of the time-sequence overview.
const STEPS: u64 = 2000;

/// State of a sender at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// The engine's view.
    pub info: Info,
    /// Wire segments retransmitted so far.
    pub retransmitted: u64,
    /// Octets the receiving application has read so far.
    pub delivered: u64,
    /// The limit that held longest since the sample before.
    pub limit: Limit,
}

/// Samples of one flow.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    taken: Vec<Sample>,
    spent: [Duration; Limit::ALL.len()],
}

impl Samples {
    /// Takes a sample.
    pub fn take(&mut self, now: Instant, sender: &Connection<Phantom>, delivered: u64) {
        let spent = sender.limits().all(now);
        let longest = Limit::longest_between(&self.spent, &spent);
        self.spent = spent;
        self.taken.push(Sample {
            at: now,
            info: sender.info(),
            retransmitted: sender.counters().retransmitted_segments,
            delivered,
            limit: longest,
        });
    }

    /// All samples, oldest first.
    #[must_use]
    pub fn as_slice(&self) -> &[Sample] {
        &self.taken
    }
}

/// A queue at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSample {
    /// When.
    pub at: Instant,
    /// Waiting and in service.
    pub backlog: Tally,
    /// Mean sojourn of the packets that left in the sample interval that ends here; of the
    /// interval before if none left although some wait.
    pub queueing_delay: Duration,
    /// Wire packets dropped so far, whatever the cause.
    pub dropped: u64,
    /// Wire packets marked so far.
    pub marked: u64,
}

/// Samples of one link. Those that say the same as the one before are left out.
#[derive(Clone, Debug, Default)]
pub struct LinkSamples {
    taken: Vec<LinkSample>,
    /// What had left when the last one was taken.
    left: Waited,
}

impl LinkSamples {
    /// Takes a sample of a link from which `left` has left so far.
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

    /// All samples, oldest first; each holds until the next.
    #[must_use]
    pub fn as_slice(&self) -> &[LinkSample] {
        &self.taken
    }
}

/// One step of the overview of a time-sequence graph.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Start of the step.
    pub at: Instant,
    /// Lowest stream offset sent in it and offset after the highest.
    pub sent: Option<(u64, u64)>,
    /// SND.UNA at its end.
    pub ack: u64,
    /// Right edge of the send window at its end.
    pub window_edge: u64,
    /// Wire segments retransmitted in it.
    pub retransmitted: u32,
}

/// A mark of a stretch in full detail.
#[derive(Clone, Copy, Debug)]
pub enum Mark {
    /// A segment left the sender.
    Sent {
        /// When.
        at: Instant,
        /// Stream offset of its first octet.
        seq: u64,
        /// Payload octets.
        len: u32,
        /// Whether it had been sent before.
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
    /// It carried this SACK block.
    Sack {
        /// When.
        at: Instant,
        /// First stream offset.
        left: u64,
        /// Stream offset after the last.
        right: u64,
    },
}

/// Time-sequence data of one flow, as seen by its sender.
#[derive(Clone, Debug)]
pub struct Sequence {
    step_length: Duration,
    open: Step,
    steps: Vec<Step>,
    start: Vec<Mark>,
    recent: VecDeque<Mark>,
    around_loss: Vec<Mark>,
    /// Highest offset sent.
    highest: u64,
    iss: Option<gigatcp_wire::SeqNumber>,
}

impl Sequence {
    /// Data for a run of the given length.
    #[must_use]
    pub fn new(run: Duration) -> Self {
        let step_length = Duration::from_nanos((run.as_nanos() / STEPS).max(100_000));
        Self {
            step_length,
            open: Step {
                at: Instant::ZERO,
                sent: None,
                ack: 0,
                window_edge: 0,
                retransmitted: 0,
            },
            steps: Vec::new(),
            start: Vec::new(),
            recent: VecDeque::new(),
            around_loss: Vec::new(),
            highest: 0,
            iss: None,
        }
    }

    /// Finished steps, oldest first.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The first marks of the connection.
    #[must_use]
    pub fn start(&self) -> &[Mark] {
        &self.start
    }

    /// The marks around the first retransmission; empty without one.
    #[must_use]
    pub fn around_loss(&self) -> &[Mark] {
        &self.around_loss
    }

    /// A segment leaves the sender.
    pub fn on_sent(&mut self, now: Instant, segment: &Segment<Phantom>, info: &Info) {
        let iss = *self.iss.get_or_insert(segment.seq);
        self.turn(now, info);
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
        self.keep(mark, again);
    }

    /// An acknowledgment has been handled by the sender.
    pub fn on_ack(&mut self, now: Instant, segment: &Segment<Phantom>, info: &Info) {
        self.turn(now, info);
        let edge = info.snd_una + info.snd_wnd.as_u64();
        let Some(iss) = self.iss else {
            return;
        };
        let una_on_wire = iss + info.snd_una as u32;
        let mark = Mark::Ack {
            at: now,
            ack: info.snd_una,
            edge,
        };
        self.keep(mark, false);
        for block in segment.options.sack.as_slice() {
            let offset = |seq: gigatcp_wire::SeqNumber| {
                info.snd_una
                    .saturating_add_signed(i64::from(seq.distance_from(una_on_wire)))
            };
            let mark = Mark::Sack {
                at: now,
                left: offset(block.left),
                right: offset(block.right),
            };
            self.keep(mark, false);
        }
    }

    /// Closes the steps that are over.
    fn turn(&mut self, now: Instant, info: &Info) {
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
        self.open.ack = info.snd_una;
        self.open.window_edge = info.snd_una + info.snd_wnd.as_u64();
    }

    fn keep(&mut self, mark: Mark, is_loss: bool) {
        if self.start.len() < DETAIL {
            self.start.push(mark);
        }
        let began = !self.around_loss.is_empty();
        if is_loss && !began {
            self.around_loss.extend(self.recent.drain(..));
        }
        if is_loss || began {
            if self.around_loss.len() < DETAIL + DETAIL_BEFORE {
                self.around_loss.push(mark);
            }
        } else {
            if self.recent.len() == DETAIL_BEFORE {
                self.recent.pop_front();
            }
            self.recent.push_back(mark);
        }
    }
}
