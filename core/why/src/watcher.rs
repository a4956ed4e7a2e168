//! All connections of a capture, followed packet by packet.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_flows::{Endpoint, FlowTable, Packet, Side, Verdict};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;

use crate::capture_context::{CaptureContext, Halves, data_sender};
use crate::capture_pair::CapturePair;
use crate::exchange::Exchange;
use crate::features::{self, Features};
use crate::measures::{Measures, Pair};
use crate::monotone::Monotone;
use crate::round::State;
use crate::sender_view::{SenderView, Shown};
use crate::summary::DiagnosisSummary;
use crate::verdict::Diagnosis;
use crate::view::View;

/// Both directions of one connection.
#[derive(Clone, Default, Debug)]
pub(crate) struct Followed {
    first: Option<Instant>,
    clock: Monotone,
    last_packet: u64,
    first_packet: u64,
    halves: Halves,
    /// When the last packet with SYN passed.
    last_syn: Option<Instant>,
    trails: [Option<Box<SenderView>>; 2],
    pub(crate) exchange: Exchange,
    /// It is in the list of those that have ended.
    is_listed: bool,
}

/// What the sender waited for in a part of a round, and the round's features.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// What it waited for.
    pub state: State,
    /// How long.
    pub time: Duration,
    /// The features of the round.
    pub features: Features,
}

/// All slices of a connection.
#[derive(Clone, Debug)]
pub struct Slices {
    /// Where the capture was taken.
    pub view: View,
    /// Whether the scale of its windows is known.
    pub knows_windows: bool,
    /// The slices, in the order of time.
    pub list: Vec<Slice>,
}

/// Follows the connections of a capture.
///
/// Hand in every packet, then ask for a [`Diagnosis`] of each connection.
#[derive(Debug)]
pub struct Watcher {
    table: FlowTable,
    predicts: bool,
    followed: Vec<Followed>,
    /// Connections that have ended, by when something was heard of them.
    ended: VecDeque<(Instant, usize)>,
    /// Trails whose memory the next ones take.
    spare: VecDeque<Box<SenderView>>,
}

/// Trails kept for that at most.
const MAX_SPARE: usize = 64;

impl Watcher {
    /// Nothing seen yet. The seed protects the table of connections, see
    /// [`FlowTable::new`]; results do not depend on it.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::over(FlowTable::new(seed))
    }

    /// The same over [`FlowTable::without_prediction`], and expecting nothing
    /// itself, which comes to the same more slowly: for tests.
    #[must_use]
    pub fn without_prediction(seed: u64) -> Self {
        Self {
            predicts: false,
            ..Self::over(FlowTable::without_prediction(seed))
        }
    }

    /// What is known of a connection in this test.
    #[cfg(test)]
    pub(crate) fn followed(&self, index: usize) -> &Followed {
        &self.followed[index]
    }

    const fn over(table: FlowTable) -> Self {
        Self {
            table,
            predicts: true,
            followed: Vec::new(),
            ended: VecDeque::new(),
            spare: VecDeque::new(),
        }
    }

    /// Takes a packet in, and says what it is. `number` is what evidence calls it
    /// by.
    #[inline(always)]
    pub fn handle_packet(&mut self, number: u64, packet: &impl Packet) -> Verdict {
        let (verdict, mut packet, connection) = self.table.follow(packet);
        let captured_at = packet.at;
        let index = verdict.connection;
        if self.followed.len() <= index {
            self.followed.resize_with(index + 1, Followed::default);
        }
        let followed = &mut self.followed[index];
        packet.at = followed.clock.time(captured_at);
        let shown = Shown {
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

    /// A connection that has ended and was not heard of since `by`, if there is
    /// one: it may be [concluded](Self::conclude) before the capture ends. After
    /// that it has to be [forgotten](Self::forget).
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

    /// Gives up a connection, so that memory does not grow with those that are
    /// over. Its index goes to another one; see [`FlowTable::retire`].
    pub fn forget(&mut self, index: usize) {
        self.table.retire(index);
        if let Some(followed) = self.followed.get_mut(index) {
            *followed = Followed::default();
        }
    }

    /// The connections and their counts.
    #[must_use]
    pub const fn table(&self) -> &FlowTable {
        &self.table
    }

    /// Why the direction of this connection that carried more was not faster.
    /// `None` if no data was seen.
    #[must_use]
    pub fn diagnose(&self, index: usize) -> Option<Diagnosis> {
        let connection = self.table.connection(index)?;
        let followed = self.followed.get(index)?;
        let (trail, start) = followed.lived(self.sender(index)?)?;
        Some(Diagnosis::of(
            connection,
            &trail,
            (start, &followed.exchange),
            None,
        ))
    }

    /// What that side's data shows of where it went, as [`crate::Outlines`] has it in
    /// less memory. `None` if it sent none.
    #[must_use]
    pub fn capture_context(&self, index: usize, side: Side) -> Option<CaptureContext> {
        let connection = self.table.connection(index)?;
        let followed = self.followed.get(index)?;
        let (trail, start) = followed.lived(side)?;
        let measures = Measures::of(connection, &trail, (start, &followed.exchange), None);
        Some(CaptureContext {
            view: measures.view,
            segments: measures.segment_size(),
        })
    }

    /// The diagnosis with a second capture of the connection, taken nearer to the receiver
    /// of the data: there it has the number `index`.
    #[must_use]
    pub fn diagnose_with(
        &self,
        index: usize,
        (far, far_index): (&Self, usize),
        between: &CapturePair,
    ) -> Option<Diagnosis> {
        let connection = self.table.connection(index)?;
        let followed = self.followed.get(index)?;
        let (trail, start) = followed.lived(self.sender(index)?)?;
        let other = far.same_direction(far_index, connection.endpoint(trail.side))?;
        let pair = Pair {
            trail: &other,
            between,
        };
        Some(Diagnosis::of(
            connection,
            &trail,
            (start, &followed.exchange),
            Some(pair),
        ))
    }

    /// What each slice of the connection's time shows, for graders and those who fit
    /// weights; with a second capture as for [`Self::diagnose_with`].
    #[must_use]
    pub fn slices(
        &self,
        index: usize,
        second: Option<((&Self, usize), &CapturePair)>,
    ) -> Option<Slices> {
        let connection = self.table.connection(index)?;
        let followed = self.followed.get(index)?;
        let (trail, start) = followed.lived(self.sender(index)?)?;
        let from = connection.endpoint(trail.side);
        let other = match second {
            Some(((far, far_index), _)) => Some(far.same_direction(far_index, from)?),
            None => None,
        };
        let pair = other
            .as_ref()
            .zip(second)
            .map(|(trail, (_, between))| Pair { trail, between });
        let m = Measures::of(connection, &trail, (start, &followed.exchange), pair);
        let features = features::of_rounds(&m);
        let slices = m.rounds.iter().zip(features).flat_map(|(round, features)| {
            let spent = move |state| (state, round.spent_in(state));
            let states = State::ALL.into_iter().map(spent);
            states
                .filter(|(_, time)| !time.is_zero())
                .map(move |(state, time)| Slice {
                    state,
                    time,
                    features,
                })
        });
        Some(Slices {
            view: m.view,
            knows_windows: m.knows_windows(),
            list: slices.collect(),
        })
    }

    /// The direction of a connection that comes from that endpoint.
    fn same_direction(&self, index: usize, from: Endpoint) -> Option<Box<SenderView>> {
        let connection = self.table.connection(index)?;
        let side = if connection.endpoint(Side::Client) == from {
            Side::Client
        } else {
            Side::Server
        };
        Some(self.followed.get(index)?.lived(side)?.0)
    }

    /// Which side of a connection sent more.
    #[must_use]
    pub fn sender(&self, index: usize) -> Option<Side> {
        let connection = self.table.connection(index)?;
        Some(data_sender(connection))
    }

    /// The same in figures alone. What was remembered of the connection for it
    /// is given up: ask once, and after the last packet.
    #[must_use]
    pub fn conclude(&mut self, index: usize) -> Option<DiagnosisSummary> {
        let sender = self.sender(index)?;
        let connection = self.table.connection(index)?;
        let followed = self.followed.get_mut(index)?;
        let [client, server] = core::mem::take(&mut followed.trails);
        let (trail, other) = match sender {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let mut trail = trail?;
        trail.finish(followed.clock.last, followed.last_packet);
        let summary =
            DiagnosisSummary::of(connection, &trail, (followed.first?, &followed.exchange));
        for mut over in [Some(trail), other].into_iter().flatten() {
            if self.spare.len() < MAX_SPARE {
                over.clear();
                self.spare.push_back(over);
            }
        }
        Some(summary)
    }

    /// The number of the first packet of that connection; `None` if there is
    /// none with this index, or no longer.
    #[must_use]
    pub fn first_packet(&self, index: usize) -> Option<u64> {
        let followed = self.followed.get(index)?;
        followed.first.map(|_| followed.first_packet)
    }
}

impl Followed {
    /// The direction from `side` up to the end of the capture, and when the
    /// connection begins in it.
    pub(crate) fn lived(&self, side: Side) -> Option<(Box<SenderView>, Instant)> {
        let mut trail = self.trails[side as usize].clone()?;
        trail.finish(self.clock.last, self.last_packet);
        Some((trail, self.first?))
    }

    #[inline(always)]
    fn handle(&mut self, shown: &Shown<'_>, spare: &mut VecDeque<Box<SenderView>>, predicts: bool) {
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
        }
        if packet.payload_len > 0 && self.trails[from as usize].is_none() {
            self.begin(from, packet.at, spare);
            if !predicts && let Some(trail) = &mut self.trails[from as usize] {
                trail.never_expect();
            }
        }
        if let Some(trail) = &mut self.trails[from as usize] {
            trail.on_sent(shown);
        }
        if let Some(trail) = &mut self.trails[to as usize] {
            trail.on_heard(shown);
        }
    }

    /// The first data of a side.
    #[cold]
    fn begin(&mut self, from: Side, now: Instant, spare: &mut VecDeque<Box<SenderView>>) {
        let first = self.first.unwrap_or(now);
        let mut trail = match spare.pop_back() {
            Some(mut trail) => {
                trail.renew(from, first, self.first_packet);
                trail
            }
            None => SenderView::new(from, first, self.first_packet),
        };
        trail.last_syn = self.last_syn;
        if let Some(turn) = self.halves.turn_of(from) {
            trail.set_turn(turn);
        }
        self.trails[from as usize] = Some(trail);
    }
}
