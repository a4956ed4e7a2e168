//! All connections of a capture, followed packet by packet.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_flows::{
    self as flows, Connection, Endpoint, FlowTable, Packet, Scaling, Side, Verdict, WindowScales,
};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;
use gigatcp_wire::link::CapturedIcmpError;

use crate::account::Scored;
use crate::capture_context::{CaptureContext, Halves, data_sender};
use crate::capture_pair::CapturePair;
use crate::capture_point::CapturePoint;
use crate::exchange::Exchange;
use crate::facts::Facts;
use crate::features::Features;
use crate::icmp_errors::{IcmpErrorList, IcmpErrors};
use crate::measures::path::inferred_view;
use crate::measures::{Measures, Observation, Pair};
use crate::monotone::Monotone;
use crate::no_data::NoData;
use crate::one_direction::{self, OneDirection};
use crate::round::State;
use crate::sender_view::{AnalyzedPacket, SenderView};
use crate::summary::DiagnosisSummary;
use crate::verdict::Diagnosis;

/// Both directions of one connection.
#[derive(Clone, Default, Debug)]
pub(crate) struct Followed {
    first: Option<Instant>,
    clock: Monotone,
    last_packet: u64,
    first_packet: u64,
    halves: Halves,
    /// Time of the last packet with SYN.
    last_syn: Option<Instant>,
    sender_views: [Option<Box<SenderView>>; 2],
    /// Kept while the packets of one host are all there is.
    pub(crate) one_direction: Option<Box<OneDirection>>,
    pub(crate) exchange: Exchange,
    /// ICMP errors about the segments of each side.
    icmp_errors: Option<Box<[IcmpErrorList; 2]>>,
    /// Whether it is in the list of ended connections.
    is_listed: bool,
}

/// What is known of a connection besides its counts.
#[derive(Clone, Debug)]
enum Slot {
    Followed(Box<Followed>),
    /// It has no diagnosis.
    Released {
        first_packet: u64,
    },
}

impl Slot {
    fn new() -> Self {
        Self::Followed(Box::default())
    }

    const fn followed(&self) -> Option<&Followed> {
        match self {
            Self::Followed(followed) => Some(followed),
            Self::Released { .. } => None,
        }
    }

    const fn followed_mut(&mut self) -> Option<&mut Followed> {
        match self {
            Self::Followed(followed) => Some(followed),
            Self::Released { .. } => None,
        }
    }
}

/// State of the sender in a part of a round, and the round's features.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// State of the sender.
    pub state: State,
    /// Duration.
    pub time: Duration,
    /// Cause that facts decide, by place in [`CAUSES`](crate::CAUSES).
    pub decided: Option<usize>,
    /// Causes that facts leave open, one bit each by place in [`CAUSES`](crate::CAUSES); zero
    /// if facts decide.
    pub open: u64,
    /// The features of the round.
    pub features: Features,
}

/// All slices of a connection.
#[derive(Clone, Debug)]
pub struct Slices {
    /// Capture point.
    pub view: CapturePoint,
    /// Whether the scale of its windows is known.
    pub knows_windows: bool,
    /// The slices, in the order of time.
    pub list: Vec<Slice>,
}

/// Follows the connections of a capture.
///
/// Hand in every packet, then request a [`Diagnosis`] of each connection.
#[derive(Debug)]
pub struct Watcher {
    table: FlowTable,
    predicts: bool,
    slots: Vec<Slot>,
    /// Ended connections, with the time of their latest known packet.
    ended: VecDeque<(Instant, usize)>,
    /// Sender views whose memory is reused.
    spare: VecDeque<Box<SenderView>>,
}

/// Maximum number of sender views kept for reuse.
const MAX_SPARE: usize = 64;

impl Watcher {
    /// Creates a watcher without connections. The seed protects the table of connections, see
    /// [`FlowTable::new`]; results do not depend on it.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::over(FlowTable::new(seed))
    }

    /// Creates a watcher without fast paths, for tests. It uses [`FlowTable::without_prediction`],
    /// and produces the same results more slowly.
    #[must_use]
    pub fn without_prediction(seed: u64) -> Self {
        Self {
            predicts: false,
            ..Self::over(FlowTable::without_prediction(seed))
        }
    }

    /// Watcher with the window scales of connections that begin without a SYN.
    #[must_use]
    pub fn with_window_scales(self, window_scales: WindowScales) -> Self {
        Self {
            table: self.table.with_window_scales(window_scales),
            ..self
        }
    }

    /// State of a connection, for tests.
    #[cfg(test)]
    pub(crate) fn followed(&self, index: usize) -> &Followed {
        self.slots[index].followed().expect("it was not released")
    }

    const fn over(table: FlowTable) -> Self {
        Self {
            table,
            predicts: true,
            slots: Vec::new(),
            ended: VecDeque::new(),
            spare: VecDeque::new(),
        }
    }

    /// Processes a packet and returns its verdict. `number` identifies it in evidence.
    #[inline(always)]
    pub fn handle_packet(&mut self, number: u64, packet: &impl Packet) -> Verdict {
        let (verdict, mut packet, connection) = self.table.follow(packet);
        let captured_at = packet.at;
        let index = verdict.connection;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, Slot::new);
        }
        let Slot::Followed(followed) = &mut self.slots[index] else {
            return verdict;
        };
        packet.at = followed.clock.time(captured_at);
        let shown = AnalyzedPacket {
            packet: &packet,
            verdict: &verdict,
            connection,
            number,
        };
        followed.handle(&shown, &mut self.spare, self.predicts);
        if packet.flags.intersects(Flags::FIN | Flags::RST)
            && connection.has_ended()
            && !followed.is_listed
        {
            followed.is_listed = true;
            self.ended.push_back((captured_at, index));
        }
        verdict
    }

    /// Processes an ICMP error about a segment. It belongs to the connection that it quotes, if that
    /// is known and has sent the sequence number.
    #[cold]
    pub fn handle_icmp_error(&mut self, number: u64, at: Instant, error: &CapturedIcmpError) {
        let pair = flows::Pair::of(error.endpoints, error.src_port, error.dst_port);
        let Some((index, side)) = self.table.latest(&pair) else {
            return;
        };
        let Some((connection, followed)) = self
            .table
            .connection(index)
            .zip(self.slots.get_mut(index).and_then(Slot::followed_mut))
        else {
            return;
        };
        let sent = connection.direction(side);
        let position = connection.position(side, error.seq);
        let is_sent = (sent.first_position()..=sent.next_position()).contains(&position);
        if is_sent || sent.packets() == 0 {
            let lists = followed.icmp_errors.get_or_insert_default();
            lists[side as usize].add(number, at, error);
        }
    }

    /// ICMP errors about segments of that side, one entry for each kind.
    #[must_use]
    pub fn icmp_errors(&self, index: usize, side: Side) -> &[IcmpErrors] {
        let followed = self.slot(index);
        followed.map_or(&[], |followed| followed.icmp_errors(side))
    }

    /// What became of a connection that carried no data; `None` if it carried some.
    #[must_use]
    pub fn no_data(&self, index: usize) -> Option<NoData<'_>> {
        let connection = self.table.connection(index)?;
        NoData::of(connection, self.icmp_errors(index, Side::Client))
    }

    /// A connection that has ended without a packet since `by`, if any. It may be
    /// [concluded](Self::conclude) before the capture ends. After that it must be
    /// [forgotten](Self::forget).
    pub fn next_ended(&mut self, by: Instant) -> Option<usize> {
        while let Some(&(at, index)) = self.ended.front()
            && at < by
        {
            self.ended.pop_front();
            let last = self.table.connection(index)?.last_at();
            if last < by {
                return Some(index);
            }
            self.ended.push_back((last, index));
        }
        None
    }

    /// Releases a connection, so that memory does not grow with finished ones. Its index goes to
    /// another one; see [`FlowTable::retire`].
    pub fn forget(&mut self, index: usize) {
        self.table.retire(index);
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Slot::new();
        }
    }

    /// Releases what a diagnosis of a connection needs, some kilobytes; its counts remain. A second
    /// watcher that is given all its packets can still diagnose it. One without data needs little,
    /// and ICMP errors about it may still come: nothing is released.
    ///
    /// Returns whether nothing is left to release later.
    pub fn release(&mut self, index: usize) -> bool {
        let Some(slot) = self.slots.get_mut(index) else {
            return true;
        };
        let Slot::Followed(followed) = slot else {
            return true;
        };
        let is_held = followed.one_direction.is_some();
        let holds = is_held || followed.sender_views.iter().any(Option::is_some);
        if holds {
            let first_packet = followed.first_packet;
            let sender_views = core::mem::take(&mut followed.sender_views);
            *slot = Slot::Released { first_packet };
            self.reuse(sender_views);
        }
        holds
    }

    /// Whether a connection was [released](Self::release), and so has no diagnosis here.
    #[must_use]
    pub fn is_released(&self, index: usize) -> bool {
        matches!(self.slots.get(index), Some(Slot::Released { .. }))
    }

    /// Keeps the memory of sender views for other connections.
    fn reuse(&mut self, sender_views: [Option<Box<SenderView>>; 2]) {
        for mut over in sender_views.into_iter().flatten() {
            if self.spare.len() < MAX_SPARE {
                over.clear();
                self.spare.push_back(over);
            }
        }
    }

    /// Connections and their counts.
    #[must_use]
    pub const fn table(&self) -> &FlowTable {
        &self.table
    }

    /// Diagnoses what limited the direction of this connection that carried more data. `None` if no
    /// data was seen.
    #[must_use]
    pub fn diagnose(&self, index: usize) -> Option<Diagnosis> {
        let (connection, followed) = (self.table.connection(index)?, self.slot(index)?);
        if connection.is_one_sided() {
            return followed.of_one_direction(connection);
        }
        self.measured(index, self.sender(index)?, None, Diagnosis::of)
    }

    /// Capture point and segment size of that side's data. [`crate::Outlines`] provides them in
    /// less memory. `None` if it sent none.
    #[must_use]
    pub fn capture_context(&self, index: usize, side: Side) -> Option<CaptureContext> {
        self.measured(index, side, None, |m| CaptureContext {
            view: inferred_view(m.connection, m.sender_view),
            segments: m.segment_size(),
        })
    }

    /// Diagnoses a connection with a second capture of it, nearer to the data's receiver. Its index
    /// there is `far_index`.
    #[must_use]
    pub fn diagnose_with(
        &self,
        index: usize,
        far: (&Self, usize),
        between: &CapturePair,
    ) -> Option<Diagnosis> {
        self.measured(
            index,
            self.sender(index)?,
            Some((far, between)),
            Diagnosis::of,
        )
    }

    /// Each slice of the connection's time with its features, for grading and fitting. With a
    /// second capture as for [`Self::diagnose_with`].
    #[must_use]
    pub fn slices(
        &self,
        index: usize,
        second: Option<((&Self, usize), &CapturePair)>,
    ) -> Option<Slices> {
        self.measured(index, self.sender(index)?, second, |m| Slices {
            view: m.view,
            knows_windows: m.knows_windows(),
            list: Scored::of(&Facts::of(&m)).slices(),
        })
    }

    /// The window scales of a connection without a SYN, or whose SYNs were cut off, if the side that sent more filled the
    /// windows of the other so often that their scale shows: its ends, and the scale of the windows
    /// that each advertises. The windows of that side limit nothing here, and get the same scale.
    #[must_use]
    pub fn shown_window_scales(&self, index: usize) -> Option<([Endpoint; 2], [u8; 2])> {
        let connection = self.table.connection(index)?;
        let sender = data_sender(connection);
        let view = &self.slot(index)?.sender_views[sender as usize];
        let after_syn = |side| connection.direction(side).scale_after_syn();
        let shown = || view.as_ref()?.shown_scale();
        let scale = after_syn(sender.other()).or_else(shown)?;
        let scales = Side::BOTH.map(|side| after_syn(side).unwrap_or(scale));
        let is_unknown = connection.scaling() == Scaling::Unknown;
        is_unknown.then(|| (Side::BOTH.map(|side| connection.endpoint(side)), scales))
    }

    fn slot(&self, index: usize) -> Option<&Followed> {
        self.slots.get(index)?.followed()
    }

    /// Measures the direction from `side`, and passes the measures to `then`.
    fn measured<R>(
        &self,
        index: usize,
        side: Side,
        second: Option<((&Self, usize), &CapturePair)>,
        then: impl FnOnce(Measures<'_>) -> R,
    ) -> Option<R> {
        let connection = self.table.connection(index)?;
        let followed = self.slot(index)?;
        let (sender_view, start) = followed.finished_view(side)?;
        let of = Observation {
            start,
            exchange: &followed.exchange,
            icmp_errors: Side::BOTH.map(|side| followed.icmp_errors(side)),
            resolution: followed.clock.resolution(),
        };
        let Some(((far, far_index), between)) = second else {
            return Some(then(Measures::of(connection, &sender_view, of, None)));
        };
        let other = far.same_direction(far_index, connection.endpoint(side), side)?;
        let pair = Pair {
            sender_view: &other,
            between,
        };
        Some(then(Measures::of(connection, &sender_view, of, Some(pair))))
    }

    /// Direction of a connection that comes from that endpoint; from that side, if an address
    /// translation gave it another name.
    fn same_direction(
        &self,
        index: usize,
        from: Endpoint,
        translated: Side,
    ) -> Option<Box<SenderView>> {
        let connection = self.table.connection(index)?;
        let side = Side::BOTH
            .into_iter()
            .find(|side| connection.endpoint(*side) == from)
            .unwrap_or(translated);
        Some(self.slot(index)?.finished_view(side)?.0)
    }

    /// Side of a connection that sent more data.
    #[must_use]
    pub fn sender(&self, index: usize) -> Option<Side> {
        let connection = self.table.connection(index)?;
        Some(data_sender(connection))
    }

    /// Diagnosis in figures only. The state kept of the connection for it is released: call it
    /// once, after the last packet.
    #[must_use]
    pub fn conclude(&mut self, index: usize) -> Option<DiagnosisSummary> {
        let sender = self.sender(index)?;
        let connection = self.table.connection(index)?;
        let followed = self.slots.get_mut(index)?.followed_mut()?;
        if connection.is_one_sided() {
            let diagnosis = followed.of_one_direction(connection)?;
            followed.one_direction = None;
            return Some(DiagnosisSummary::of_diagnosis(&diagnosis));
        }
        let [client, server] = core::mem::take(&mut followed.sender_views);
        let (sender_view, other) = match sender {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let mut sender_view = sender_view?;
        sender_view.finish(followed.clock.last, followed.last_packet);
        let of = Observation {
            start: followed.first?,
            exchange: &followed.exchange,
            icmp_errors: Side::BOTH.map(|side| followed.icmp_errors(side)),
            resolution: followed.clock.resolution(),
        };
        let summary = DiagnosisSummary::of(&Measures::of(connection, &sender_view, of, None));
        self.reuse([Some(sender_view), other]);
        Some(summary)
    }

    /// Number of that connection's first packet. `None` if there is no connection with this index
    /// any more.
    #[must_use]
    pub fn first_packet(&self, index: usize) -> Option<u64> {
        match self.slots.get(index)? {
            Slot::Followed(followed) => followed.first.map(|_| followed.first_packet),
            Slot::Released { first_packet } => Some(*first_packet),
        }
    }
}

impl Followed {
    /// Diagnosis of a connection of which one host's packets were captured. Data of a SYN or a reset is
    /// data as well.
    fn of_one_direction(&self, connection: &Connection) -> Option<Diagnosis> {
        let sides = Side::BOTH.into_iter();
        let side = sides.max_by_key(|side| connection.direction(*side).packets())?;
        let none = OneDirection::new(side, self.first?);
        let one = self.one_direction.as_deref().unwrap_or(&none);
        let errors = [side, side.other()].map(|side| self.icmp_errors(side));
        one_direction::diagnosis(one, connection, errors.concat())
    }

    fn icmp_errors(&self, side: Side) -> &[IcmpErrors] {
        let lists = self.icmp_errors.as_ref();
        lists.map_or(&[], |lists| lists[side as usize].as_slice())
    }

    /// Finished direction from `side`, and the connection's beginning.
    pub(crate) fn finished_view(&self, side: Side) -> Option<(Box<SenderView>, Instant)> {
        let mut sender_view = self.sender_views[side as usize].clone()?;
        sender_view.finish(self.clock.last, self.last_packet);
        Some((sender_view, self.first?))
    }

    #[inline(always)]
    fn handle(
        &mut self,
        shown: &AnalyzedPacket<'_>,
        spare: &mut VecDeque<Box<SenderView>>,
        predicts: bool,
    ) {
        let packet = shown.packet;
        if self.first.is_none() {
            (self.first, self.first_packet) = (Some(packet.at), shown.number);
        }
        self.last_packet = shown.number;
        let from = shown.verdict.from;
        let to = from.other();
        self.exchange.on_packet(shown);
        self.halves
            .note(shown.connection, shown.verdict, packet.flags);
        if packet.flags.contains(Flags::SYN) {
            self.last_syn = Some(packet.at);
        } else if shown.connection.is_one_sided() {
            self.follow_one_direction(shown);
        }
        if self.one_direction.is_some() && !shown.connection.is_one_sided() {
            self.one_direction = None;
        }
        if packet.payload_len > 0 && self.sender_views[from as usize].is_none() {
            self.begin(from, packet.at, spare);
            if !predicts && let Some(sender_view) = &mut self.sender_views[from as usize] {
                sender_view.never_expect();
            }
        }
        if let Some(sender_view) = &mut self.sender_views[from as usize] {
            sender_view.on_sent(shown);
        }
        if let Some(sender_view) = &mut self.sender_views[to as usize] {
            sender_view.on_heard(shown);
        }
    }

    #[cold]
    fn follow_one_direction(&mut self, shown: &AnalyzedPacket<'_>) {
        let (from, at) = (shown.verdict.from, self.first.unwrap_or(shown.packet.at));
        let one = self
            .one_direction
            .get_or_insert_with(|| Box::new(OneDirection::new(from, at)));
        one.handle_packet(shown, self.last_syn);
    }

    /// Begins the sender view of a side at its first data.
    #[cold]
    fn begin(&mut self, from: Side, now: Instant, spare: &mut VecDeque<Box<SenderView>>) {
        let first = self.first.unwrap_or(now);
        let mut sender_view = match spare.pop_back() {
            Some(mut sender_view) => {
                sender_view.renew(from, first, self.first_packet);
                sender_view
            }
            None => SenderView::new(from, first, self.first_packet),
        };
        sender_view.last_syn = self.last_syn;
        if let Some(turn) = self.halves.turn_of(from) {
            sender_view.set_turn(turn);
        }
        self.sender_views[from as usize] = Some(sender_view);
    }
}
