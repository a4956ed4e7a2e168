//! A connection of which only one host's packets were captured, followed packet by packet.
//!
//! What that host sends shows the progress of its own data, or by its ACKs that of the peer's. RFC 7323
//! timestamps show more: when data was sent (TSval, or TSecr of an ACK), so how long it waited on its
//! way here; and from when the latest ACK was that the sender had when it sent (TSecr), so whether ACKs
//! released its data.

mod progress;
mod verdict;

use gigatcp_flows::{Kind, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;

use crate::sender_view::AnalyzedPacket;
use progress::{Progress, Stamped, Turns};
pub(crate) use verdict::diagnosis;

/// What ended a gap in the progress of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// A retransmission, or an ACK that fills a hole.
    Recovery,
    /// The peer's data: its turn, with the RTT.
    Peer,
    /// Own data after the peer's: the turn of the host that was captured.
    Own,
    /// Data that an ACK released, or that nothing tells from it.
    Ack,
    /// Data that was sent later than an ACK allowed.
    Application,
    /// A window that opened.
    Reader,
}

/// Number of kinds of [`Wait`].
const WAITS: usize = 6;

/// Time by what ended it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Waits([Duration; WAITS]);

impl Waits {
    fn add(&mut self, wait: Wait, time: Duration) {
        self.0[wait as usize] += time;
    }

    pub(crate) const fn of(&self, wait: Wait) -> Duration {
        self.0[wait as usize]
    }
}

/// The packets of one host.
#[derive(Clone, Debug)]
pub(crate) struct OneDirection {
    side: Side,
    first: Instant,
    last: Instant,
    /// RTT, from a SYN to the next packet of the same host: at most, if a client waits to send.
    trip: Option<Duration>,
    /// Data of this host.
    sent: Progress,
    sent_waits: Waits,
    /// Position after the last byte of it.
    next: u64,
    last_data: Option<Instant>,
    /// When the peer's data arrived, since the last own.
    heard: Option<Instant>,
    /// Segments sent more than once.
    repeated: u64,
    /// From the peer's clock to its own, ms.
    turns: Turns,
    /// The peer's clock, as it is echoed.
    echoes: Progress,
    /// Longest time that new data was later than its ACK.
    longest_late: Duration,
    /// Segments with CWR.
    reduced: u64,
    /// Data of the peer, by the ACKs of this host.
    acked: Progress,
    acked_waits: Waits,
    acked_to: Option<u64>,
    acked_at: Option<Instant>,
    duplicates: u64,
    /// Holes, each counted when it is first reported.
    holes: u64,
    has_hole: bool,
    /// Segments that arrived late or twice.
    disproved: u64,
    /// ACKs that echo marks.
    marked: u64,
    zero_since: Option<Instant>,
    zero: Duration,
    /// Whether own data was sent since the last progress of the peer's.
    has_asked: bool,
    /// Largest window as on the wire.
    window: u16,
}

/// Minimum time for a silence to be classified by its end.
const SILENCE: Duration = Duration::from_millis(200);

impl OneDirection {
    pub(crate) fn new(side: Side, at: Instant) -> Self {
        Self {
            side,
            first: at,
            last: at,
            trip: None,
            sent: Progress::default(),
            sent_waits: Waits::default(),
            next: 0,
            last_data: None,
            heard: None,
            repeated: 0,
            turns: Turns::default(),
            echoes: Progress::default(),
            longest_late: Duration::ZERO,
            reduced: 0,
            acked: Progress::default(),
            acked_waits: Waits::default(),
            acked_to: None,
            acked_at: None,
            duplicates: 0,
            holes: 0,
            has_hole: false,
            disproved: 0,
            marked: 0,
            zero_since: None,
            zero: Duration::ZERO,
            has_asked: false,
            window: 0,
        }
    }

    /// Follows a packet; `syn` is the time of the connection's SYN.
    pub(crate) fn handle_packet(&mut self, shown: &AnalyzedPacket<'_>, syn: Option<Instant>) {
        let packet = shown.packet;
        self.last = packet.at;
        let kinds = shown.verdict.kinds;
        let is_odd = [Kind::CapturedTwice, Kind::KeepAlive, Kind::ZeroWindowProbe];
        if packet.flags.contains(Flags::RST) || is_odd.iter().any(|kind| kinds.contains(*kind)) {
            return;
        }
        if self.trip.is_none() {
            self.trip = syn.map(|syn| packet.at.saturating_since(syn));
        }
        self.on_ack(shown);
        if packet.payload_len > 0 {
            self.on_data(shown);
        }
    }

    fn on_data(&mut self, shown: &AnalyzedPacket<'_>) {
        let packet = shown.packet;
        let next = shown.connection.direction(self.side).next_position();
        let kinds = shown.verdict.kinds;
        let at = packet.at;
        let gap = at.saturating_since(self.last_data.unwrap_or(at));
        let new = match self.last_data {
            None => u64::from(packet.payload_len),
            Some(_) => next.saturating_sub(self.next),
        };
        self.next = next;
        self.reduced += u64::from(kinds.contains(Kind::CongestionWindowReduced));
        self.has_asked = true;
        if new == 0 && packet.payload_len <= 1 {
            // A keep-alive, which repeats the last byte.
            self.last_data = Some(at);
            return;
        }
        if new == 0 {
            self.repeated += 1;
            self.disproved += u64::from(kinds.contains(Kind::OutOfOrder));
            if gap >= SILENCE {
                self.sent_waits.add(Wait::Recovery, gap);
            }
        } else {
            let stamp = packet.timestamps.map(|stamps| stamps.val);
            self.sent
                .advance(Stamped { at, stamp }, new, self.silence());
            self.wait_for_data(shown, gap);
        }
        self.last_data = Some(at);
        self.heard = None;
    }

    /// Divides the time before new data by what ended it.
    fn wait_for_data(&mut self, shown: &AnalyzedPacket<'_>, gap: Duration) {
        let at = shown.packet.at;
        if let Some(heard) = self.heard {
            let own = at.saturating_since(heard).min(gap);
            self.sent_waits.add(Wait::Own, own);
            self.sent_waits.add(Wait::Peer, gap - own);
            return;
        }
        let late = shown.packet.timestamps.map_or(Duration::ZERO, |stamps| {
            let stamp = Some(stamps.ecr);
            self.echoes.advance(Stamped { at, stamp }, 0, SILENCE);
            let turn = stamps.val.wrapping_sub(stamps.ecr) as i32;
            self.turns.late(at, turn).min(gap)
        });
        self.longest_late = self.longest_late.max(late);
        self.sent_waits.add(Wait::Application, late);
        self.sent_waits.add(Wait::Ack, gap - late);
    }

    fn on_ack(&mut self, shown: &AnalyzedPacket<'_>) {
        let packet = shown.packet;
        let peer = shown.connection.direction(self.side.other());
        let Some(acked_to) = peer.acked_position() else {
            return;
        };
        let before = *self.acked_to.get_or_insert(acked_to);
        let kinds = shown.verdict.kinds;
        let has_sack = packet.has_sack_or_ce && !kinds.contains(Kind::CongestionExperienced);
        let is_soon = self.acked_at.is_some_and(|at| packet.at <= at + SILENCE);
        self.acked_at = Some(packet.at);
        self.window = self.window.max(packet.wnd);
        self.marked += u64::from(kinds.contains(Kind::EcnEcho));
        self.disproved += u64::from(kinds.contains(Kind::DuplicateReport));
        if acked_to > before {
            self.acked_to = Some(acked_to);
            self.heard = Some(packet.at);
            self.advance(shown, acked_to - before);
            self.holes += u64::from(has_sack);
            self.has_hole = has_sack;
        } else {
            // Answers to keep-alives come seldom.
            let is_bare = packet.payload_len == 0 && is_soon;
            self.duplicates += u64::from(is_bare && packet.wnd == self.window);
            self.holes += u64::from(has_sack && !self.has_hole);
            self.has_hole |= has_sack;
        }
        match (packet.wnd, self.zero_since) {
            (0, None) => self.zero_since = Some(packet.at),
            (1.., Some(since)) => {
                self.zero += packet.at.saturating_since(since);
                self.zero_since = None;
            }
            _ => (),
        }
    }

    /// Progress of the peer's data.
    fn advance(&mut self, shown: &AnalyzedPacket<'_>, bytes: u64) {
        let packet = shown.packet;
        let at = packet.at;
        let gap = at.saturating_since(self.acked.last().unwrap_or(at));
        let wait = if self.zero_since.is_some() {
            Wait::Reader
        } else if self.has_hole && gap >= SILENCE {
            Wait::Recovery
        } else if self.has_asked {
            Wait::Peer
        } else {
            Wait::Ack
        };
        self.acked_waits.add(wait, gap);
        let stamp = packet.timestamps.map(|stamps| stamps.ecr);
        self.acked
            .advance(Stamped { at, stamp }, bytes, self.silence());
        self.has_asked = false;
    }

    /// Minimum gap that a window of data in each RTT does not leave.
    fn silence(&self) -> Duration {
        SILENCE.max(self.trip.unwrap_or_default() * 3 / 2)
    }

    /// Time with a closed window, to the last packet.
    pub(crate) fn closed(&self) -> Duration {
        let open = self
            .zero_since
            .map(|since| self.last.saturating_since(since));
        self.zero + open.unwrap_or_default()
    }

    /// Whether both hosts sent a stream at a time, so that neither waits for its turn.
    fn is_in_both_directions(&self) -> bool {
        let [sent, acked] = [self.sent.bytes(), self.acked.bytes()];
        sent.min(acked) >= 100_000 && sent.min(acked) * 4 >= sent.max(acked)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use gigatcp_wire::Timestamps;

    use super::*;
    use crate::conversation::{Conversation, MSS, sack};
    use crate::outcome::Outcome;
    use crate::{Answer, Watcher};

    /// RTT of all conversations, us.
    const TRIP: u64 = 40_000;

    /// The packets of one side, and what they show.
    fn only(side: Side, mut all: Conversation) -> (Outcome, Answer) {
        let is_client = |port: u16| port == 4000;
        let is_of = |port: u16| is_client(port) == (side == Side::Client);
        all.packets.retain(|packet| is_of(packet.src_port));
        let diagnosis = all.watched().diagnose(0).expect("data, or ACKs of it");
        (diagnosis.outcome, diagnosis.answer())
    }

    fn causes(answer: &Answer) -> Vec<&'static str> {
        let all = [answer.cause, answer.alternative];
        all.iter().flatten().map(|cause| cause.id).collect()
    }

    fn stamps(val: u64, ecr: u64) -> Option<Timestamps> {
        let [val, ecr] = [val, ecr].map(|us| (us / 1_000) as u32);
        Some(Timestamps { val, ecr })
    }

    /// A window of `segments` in each RTT, `apart` us from each other, with what `change` makes of a
    /// packet; captured at the sender.
    fn windows(segments: u64, apart: u64, change: impl Fn(u64, &mut Conversation)) -> Conversation {
        let mut all = Conversation::opened(TRIP, 20);
        for number in 0..60 * segments {
            let at = 50_000 + number / segments * TRIP + number % segments * apart;
            let seq = 1 + MSS * number as u32;
            all.say(at, Side::Client, seq, 1, MSS).timestamps = stamps(at, at);
            all.say(at + TRIP, Side::Server, 1, seq + MSS, 0).timestamps = stamps(at, at);
            change(number, &mut all);
        }
        all.packets.sort_by_key(|packet| packet.at);
        all
    }

    #[test]
    fn acks_that_fill_the_advertised_window_show_it() {
        let all = windows(20, 10, |_, all| {
            let ack = all.packets.last_mut().expect("an ACK");
            ack.wnd = 20_000 >> 7;
        });
        let (outcome, answer) = only(Side::Server, all);
        assert_eq!(outcome, Outcome::OneDirection { is_of_acks: true });
        assert_eq!(causes(&answer), ["receive-window-limited"]);
        assert!(
            answer
                .sentence
                .starts_with("One direction was captured, ACKs and no data.")
        );
    }

    #[test]
    fn bursts_without_acks_leave_two_windows_open() {
        let (outcome, answer) = only(Side::Client, windows(20, 10, |_, _| ()));
        assert_eq!(outcome, Outcome::OneDirection { is_of_acks: false });
        assert!(answer.is_unsure);
        assert_eq!(
            causes(&answer),
            ["receive-window-limited", "send-buffer-limited"]
        );
    }

    #[test]
    fn data_that_waits_on_its_way_at_one_rate_shows_a_full_path() {
        // The capture is behind a queue that grows to 30 ms.
        let all = windows(20, 2_000, |number, all| {
            let sent = all.packets.len() - 2;
            let data = &mut all.packets[sent];
            let at = 50_000 + number * 2_000;
            data.timestamps = stamps(at - 30_000.min(at / 20), at - 30_000.min(at / 20));
        });
        let (_, answer) = only(Side::Client, all);
        assert_eq!(
            (causes(&answer), answer.is_healthy),
            (["path-saturated"].into(), Some(true))
        );
    }

    #[test]
    fn data_sent_later_than_its_acks_shows_the_application() {
        let mut all = Conversation::opened(TRIP, 20);
        for number in 0..100 {
            let at = 50_000 + 100_000 * u64::from(number);
            let echo = if number == 0 { at } else { at - 60_000 };
            all.say(at, Side::Client, 1 + MSS * number, 1, MSS)
                .timestamps = stamps(at, echo);
        }
        let (_, answer) = only(Side::Client, all);
        assert_eq!(causes(&answer)[0], "application-limited");
    }

    #[test]
    fn closed_windows_show_a_reader_that_stops() {
        let mut all = Conversation::opened(20, TRIP);
        for number in 0..40 {
            let (at, ack) = (50_000 + 500_000 * u64::from(number), 1 + 10 * MSS * number);
            all.say(at, Side::Server, 1, ack, 0).wnd = 0;
            all.say(at + 400_000, Side::Server, 1, ack, 0);
        }
        let (_, answer) = only(Side::Server, all);
        assert_eq!(
            (causes(&answer), answer.is_unsure),
            (["slow-reader"].into(), false)
        );
    }

    #[test]
    fn holes_at_a_varying_rate_are_losses_without_a_queue() {
        let mut all = Conversation::opened(20, TRIP);
        let (mut at, mut ack) = (50_000, 1);
        for number in 0..400_u32 {
            at += if number % 40 < 20 { 5_000 } else { 40_000 };
            if number % 20 == 10 {
                let hole = all.say(at, Side::Server, 1, ack, 0);
                hole.sack = sack(ack + MSS, ack + 2 * MSS);
                continue;
            }
            ack += MSS;
            all.say(at, Side::Server, 1, ack, 0);
        }
        let (_, answer) = only(Side::Server, all);
        assert_eq!(causes(&answer), ["random-loss", "queue-overflow"]);
    }

    #[test]
    fn a_packet_of_the_other_host_ends_it() {
        let mut all = windows(20, 10, |_, _| ());
        let late = *all.packets.last().expect("packets");
        all.packets.retain(|packet| packet.src_port == 4000);
        all.packets.push(late);
        let watcher: Watcher = all.watched();
        assert!(watcher.followed(0).one_direction.is_none());
    }
}
