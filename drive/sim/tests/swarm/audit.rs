//! Checks the segments between two hosts against RFC 9293, without access to their state.
//!
//! The audit sees every segment as it leaves a host and as it reaches one, keeps its own record,
//! and reports a host that violates a rule:
//!
//! * new data begins where the last new data ended, nothing follows a FIN, and a FIN does not move;
//! * nothing is sent beyond the window the peer is known to advertise, except a probe of one byte
//!   and a FIN (RFC 9293 section 3.8.6.1);
//! * acknowledged data had arrived; acknowledgments do not go back (section 3.4); neither does the
//!   right edge of the window (SHLD-14), except for the rounding of window scaling;
//! * SACK blocks report data that had arrived (RFC 2018 section 4);
//! * payload keeps within the smaller MSS, options included (RFC 6691);
//! * timestamps do not run backwards (RFC 7323 section 3.2).
//!
//! Sequence numbers are tracked in 64 bits from the SYN on, so wrapping is checked too.

use std::collections::BTreeMap;

use gigatcp_wire::{Flags, Payload, Segment, SeqNumber};

/// The smallest MSS that an engine accepts.
pub const LEAST_MSS: u16 = 48;

/// Record of one connection.
#[derive(Debug, Default)]
pub struct Audit {
    ends: [End; 2],
    /// Whether a middlebox removed the window scale from one SYN only. Then data beyond a window is
    /// not the sender's fault.
    windows_confused: bool,
    /// Whether end 1 is a listener that may answer a SYN more than once.
    ///
    /// Each answer has other numbers: it keeps no state (cookies), or kept it for a while.
    moving: bool,
}

/// Content of a SYN-ACK that may not be the last.
#[derive(Clone, Copy, Debug)]
struct Said {
    iss: SeqNumber,
    mss: Option<u16>,
    scale: Option<u8>,
}

/// State of one end, as far as its segments show it.
#[derive(Debug, Default)]
struct End {
    iss: Option<SeqNumber>,
    mss: Option<u16>,
    scale: Option<u8>,
    /// Offset after the last byte (or SYN, FIN) it has sent.
    sent: u64,
    /// Offset after the data in its SYN. Data sent there without a window may be retransmitted
    /// beyond one (RFC 9293 MAY-7).
    on_syn: u64,
    /// Offset of its FIN.
    fin: Option<u64>,
    /// Highest acknowledgment it has sent, an offset of the peer's stream.
    acked: u64,
    /// Right edge of its window as last advertised, an offset of the peer's stream.
    edge: u64,
    /// Right edge of the peer's window, as last received.
    allowed: u64,
    /// Ranges of the peer's stream that have reached it.
    arrived: Coverage,
    ts_val: Option<u32>,
    /// All answers to a SYN, if there may be several.
    said: Vec<Said>,
    /// Whether the peer has chosen one of these.
    settled: bool,
}

impl End {
    fn choose(&mut self, said: Said) {
        (self.iss, self.mss, self.scale) = (Some(said.iss), said.mss, said.scale);
    }
}

impl Audit {
    /// Audit of two ends that may disagree on the window scale.
    pub fn new(windows_confused: bool, moving: bool) -> Self {
        Self {
            windows_confused,
            moving,
            ..Self::default()
        }
    }

    /// Checks a segment that leaves end `from` (0 or 1).
    pub fn departs<P: Payload>(&mut self, from: usize, segment: &Segment<P>) -> Result<(), String> {
        let flags = segment.flags;
        if flags.contains(Flags::RST) {
            return Ok(());
        }
        if self.may_move(from, segment) {
            self.note_answer(from, segment);
            if self.ends[from].iss != Some(segment.seq) {
                return Ok(());
            }
        } else if flags.contains(Flags::SYN) {
            self.note_syn(from, segment)?;
        }
        self.settle(1 - from, segment);
        self.check_timestamps(from, segment)?;
        self.check_sequence(from, segment)?;
        self.check_size(from, segment)?;
        if flags.contains(Flags::ACK) {
            self.check_acknowledgment(from, segment)?;
            self.check_sack(from, segment)?;
        }
        Ok(())
    }

    /// Records a segment that reaches end `at` (0 or 1).
    pub fn arrives<P: Payload>(&mut self, at: usize, segment: &Segment<P>) {
        let is_answer = self.may_move(1 - at, segment);
        let [mine, peer] = self.pair(at);
        let Some(irs) = peer.iss else { return };
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if is_answer && segment.seq != irs {
            // One of the other answers: a SYN has arrived, no matter which.
            mine.arrived.insert(0, u64::from(!peer.settled));
            mine.allowed = mine.allowed.max(1 + u64::from(segment.wnd.0));
            return;
        }
        let from = near(irs, peer.sent, segment.seq);
        mine.arrived
            .insert(from, from + u64::from(segment.seq_len()));
        if let (true, Some(iss)) = (segment.flags.contains(Flags::ACK), mine.iss) {
            let ack = near(iss, mine.sent, segment.ack);
            let edge = ack + window(mine, peer, segment);
            mine.allowed = mine.allowed.max(edge);
        } else if segment.flags.contains(Flags::SYN) {
            mine.allowed = mine.allowed.max(1 + u64::from(segment.wnd.0));
        }
    }

    /// Bytes of data that have reached end `at` without a gap.
    pub fn arrived_in_order(&self, at: usize) -> u64 {
        let fin = self.ends[1 - at].fin.unwrap_or(u64::MAX);
        self.ends[at].arrived.prefix().min(fin).saturating_sub(1)
    }

    /// Initial sequence number of an end, once it has sent a SYN.
    pub fn iss(&self, end: usize) -> Option<SeqNumber> {
        self.ends[end].iss
    }

    /// Whether this is an answer of a listener that may give another one.
    fn may_move<P: Payload>(&self, from: usize, segment: &Segment<P>) -> bool {
        self.moving && from == 1 && segment.flags.contains(Flags::SYN)
    }

    /// Records another answer to the SYN. It is the valid one until the peer has chosen.
    fn note_answer<P: Payload>(&mut self, from: usize, syn: &Segment<P>) {
        let end = &mut self.ends[from];
        let said = Said {
            iss: syn.seq,
            mss: syn.options.mss,
            scale: syn.options.window_scale,
        };
        end.said.push(said);
        if !end.settled {
            end.choose(said);
        } else if end.iss == Some(syn.seq) {
            end.scale = said.scale;
        }
    }

    /// Determines which answer of end `of` was chosen, from an acknowledgment.
    fn settle<P: Payload>(&mut self, of: usize, segment: &Segment<P>) {
        let end = &mut self.ends[of];
        if end.settled || end.said.is_empty() || !segment.flags.contains(Flags::ACK) {
            return;
        }
        let chosen = end
            .said
            .iter()
            .rev()
            .find(|said| said.iss + 1 == segment.ack);
        if let Some(&chosen) = chosen {
            end.choose(chosen);
            end.settled = true;
        }
    }

    fn pair(&mut self, first: usize) -> [&mut End; 2] {
        let [zero, one] = &mut self.ends;
        if first == 0 { [zero, one] } else { [one, zero] }
    }

    fn note_syn<P: Payload>(&mut self, from: usize, syn: &Segment<P>) -> Result<(), String> {
        let end = &mut self.ends[from];
        if *end.iss.get_or_insert(syn.seq) != syn.seq {
            return Err(format!("the SYN moved to {:?}", syn.seq));
        }
        end.mss = syn.options.mss;
        end.scale = syn.options.window_scale;
        Ok(())
    }

    /// Checks that the timestamp clock of a host never runs backwards on the wire.
    fn check_timestamps<P: Payload>(
        &mut self,
        from: usize,
        segment: &Segment<P>,
    ) -> Result<(), String> {
        let Some(stamps) = segment.options.timestamps else {
            return Ok(());
        };
        // A cookie encodes data in the timestamp.
        if self.may_move(from, segment) {
            return Ok(());
        }
        let last = self.ends[from].ts_val.replace(stamps.val);
        match last {
            Some(last) if (stamps.val.wrapping_sub(last) as i32) < 0 => {
                Err(format!("TSval went back from {last} to {}", stamps.val))
            }
            _ => Ok(()),
        }
    }

    /// Checks SEG.SEQ and SEG.LEN against the data sent before and the peer's window.
    fn check_sequence<P: Payload>(
        &mut self,
        from: usize,
        segment: &Segment<P>,
    ) -> Result<(), String> {
        let windows_confused = self.windows_confused;
        let end = &mut self.ends[from];
        let Some(iss) = end.iss else {
            return Err("a segment left before any SYN".into());
        };
        let seq = near(iss, end.sent, segment.seq);
        let data_end =
            seq + segment.payload.len() as u64 + u64::from(segment.flags.contains(Flags::SYN));
        if seq > end.sent {
            return Err(format!("sequence space {}..{seq} was skipped", end.sent));
        }
        let has_data = !segment.payload.is_empty();
        if has_data && end.fin.is_some_and(|fin| data_end > fin) {
            return Err(format!(
                "data up to {data_end} after the FIN at {:?}",
                end.fin
            ));
        }
        if segment.flags.contains(Flags::FIN) && *end.fin.get_or_insert(data_end) != data_end {
            return Err(format!("the FIN moved from {:?} to {data_end}", end.fin));
        }
        let is_probe = segment.payload.len() <= 1;
        if segment.flags.contains(Flags::SYN) {
            // It leaves before there is a window (RFC 7413 section 4.2.1).
            end.on_syn = end.on_syn.max(data_end);
        }
        let is_checked = !windows_confused && data_end > end.on_syn;
        if has_data && data_end > end.allowed && !is_probe && is_checked {
            return Err(format!(
                "data {seq}..{data_end} beyond the window, whose edge is {}",
                end.allowed
            ));
        }
        end.sent = end.sent.max(seq + u64::from(segment.seq_len()));
        Ok(())
    }

    /// Checks payload and options of one wire segment against the smaller MSS.
    fn check_size<P: Payload>(&self, from: usize, segment: &Segment<P>) -> Result<(), String> {
        let (Some(mine), Some(theirs)) = (self.ends[from].mss, self.ends[1 - from].mss) else {
            return Ok(());
        };
        let most = usize::from(mine.min(theirs.max(LEAST_MSS)));
        let one = match usize::from(segment.segment_size) {
            0 => segment.payload.len(),
            size => size.min(segment.payload.len()),
        };
        let used = one + segment.options.wire_len();
        if one > 0 && used > most {
            return Err(format!("{used} octets of payload and options, MSS {most}"));
        }
        Ok(())
    }

    fn check_acknowledgment<P: Payload>(
        &mut self,
        from: usize,
        segment: &Segment<P>,
    ) -> Result<(), String> {
        let windows_confused = self.windows_confused;
        let [mine, peer] = self.pair(from);
        let Some(irs) = peer.iss else {
            return Err("an acknowledgment without a SYN".into());
        };
        let ack = near(irs, peer.sent, segment.ack);
        if ack > mine.arrived.prefix() {
            let arrived = mine.arrived.prefix();
            return Err(format!(
                "acknowledged {ack}, of which {arrived} had arrived"
            ));
        }
        if ack < mine.acked {
            return Err(format!(
                "the acknowledgment went back from {} to {ack}",
                mine.acked
            ));
        }
        mine.acked = ack;
        let edge = ack + window(peer, mine, segment);
        // A window field in a SYN is not scaled and may be less than the window. A scaled one is
        // rounded down to its unit (RFC 7323 section 2.4).
        let unit = 1 << mine.scale.unwrap_or(0).min(14);
        let comparable = !windows_confused && !segment.flags.contains(Flags::SYN);
        if edge + unit <= mine.edge && comparable {
            return Err(format!("the window shrank from {} to {edge}", mine.edge));
        }
        mine.edge = mine.edge.max(edge);
        Ok(())
    }

    fn check_sack<P: Payload>(&self, from: usize, segment: &Segment<P>) -> Result<(), String> {
        let (mine, peer) = (&self.ends[from], &self.ends[1 - from]);
        let Some(irs) = peer.iss else { return Ok(()) };
        for (number, block) in segment.options.sack.as_slice().iter().enumerate() {
            let left = near(irs, peer.sent, block.left);
            let right = near(irs, peer.sent, block.right);
            if left >= right || !mine.arrived.covers(left, right) {
                return Err(format!("SACK of {left}..{right}, which had not arrived"));
            }
            // Only the first block may report a duplicate (RFC 2883 section 4).
            if number > 0 && left <= mine.acked {
                return Err(format!(
                    "SACK of {left}..{right} below the ACK {}",
                    mine.acked
                ));
            }
        }
        Ok(())
    }
}

/// Window of `segment`, which `offerer` sent to `learner`, in bytes.
fn window<P: Payload>(learner: &End, offerer: &End, segment: &Segment<P>) -> u64 {
    let field = u64::from(segment.wnd.0);
    if segment.flags.contains(Flags::SYN) {
        return field;
    }
    match (learner.scale, offerer.scale) {
        (Some(_), Some(scale)) => field << scale.min(14),
        _ => field,
    }
}

/// Offset of `seq` nearest to `reference`; zero for earlier numbers.
fn near(initial: SeqNumber, reference: u64, seq: SeqNumber) -> u64 {
    let distance = seq.distance_from(initial + reference as u32);
    reference.saturating_add_signed(i64::from(distance))
}

/// Set of offsets as ranges.
#[derive(Debug, Default)]
pub struct Coverage {
    /// End of each range by its start.
    ranges: BTreeMap<u64, u64>,
}

impl Coverage {
    /// Adds `from..to`.
    pub fn insert(&mut self, mut from: u64, mut to: u64) {
        if from >= to {
            return;
        }
        while let Some((&start, &end)) = self.ranges.range(..=to).next_back() {
            if end < from {
                break;
            }
            self.ranges.remove(&start);
            from = from.min(start);
            to = to.max(end);
        }
        self.ranges.insert(from, to);
    }

    /// End of the range that begins at zero.
    pub fn prefix(&self) -> u64 {
        self.ranges.get(&0).copied().unwrap_or(0)
    }

    /// Whether `from..to` is covered.
    pub fn covers(&self, from: u64, to: u64) -> bool {
        let around = self.ranges.range(..=from).next_back();
        around.is_some_and(|(_, end)| *end >= to)
    }
}
