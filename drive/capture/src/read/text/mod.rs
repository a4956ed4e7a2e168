//! Reads packets printed by tcpdump, and the packet list of tshark and Wireshark, from logs, mail or
//! articles. Text around the packets is skipped.
//!
//! A packet is converted to the bytes of an IP packet with its TCP header, so that all later code
//! sees one form of capture. Fields missing in the text are zero and marked by [`KnownFields`]. Relative
//! sequence numbers are made absolute if the text shows their base.
//!
//! | file | what |
//! |---|---|
//! | `lines.rs` | quotation marks |
//! | `packet.rs`, `cursor.rs` | parsing of a packet |
//! | `list.rs` | lines of a packet list |
//! | `endpoint.rs` | hosts, ports and their names |
//! | `time.rs` | times |
//! | `numbers.rs` | sequence numbers |
//! | `octets.rs` | the packet as bytes |
//!
//! Text is read in pieces, so a log of any length uses a few hundred KiB.

mod cursor;
mod endpoint;
mod lines;
mod list;
mod numbers;
mod octets;
mod packet;
mod time;

use std::io;
use std::net::{IpAddr, SocketAddr};

use gigatcp_units::Instant;
use gigatcp_wire::link::{LinkType, Reason};

use super::foreign;
use super::interface::{ByteRange, CapturedInterface, RawRecord, ReadContext};
use super::notes::{NoteKind, Place};
use super::options::Order;
use super::record::{Direction, KnownFields};
use endpoint::Names;
use lines::Lines;
use list::{ListedPayload, Lists};
use numbers::{Connections, PrintedNumbers};
use packet::{ParsedPacket, PrintedFragment, PrintedPacket, next_packet};
use time::{Calendar, Printed};

/// Bytes of text examined together.
const PIECE: usize = 128 << 10;
/// Bytes at its end that may be the beginning of an incomplete item.
const TAIL: usize = 8 << 10;
/// Number of times examined to determine their kind.
const TIMES: usize = 1000;

/// A text being read.
#[derive(Debug)]
pub struct Text {
    /// The only interface.
    pub interface: [CapturedInterface; 1],
    lines: Lines,
    /// Position in the text behind the last packet.
    at: usize,
    /// Bytes of input that the text is from.
    len: usize,
    /// Whether the text is the end of the input.
    is_last: bool,
    /// Whether the next piece begins a line.
    begins_line: bool,
    is_first_piece: bool,
    /// Whether packets were left out since the last one.
    omission: bool,
    calendar: Calendar,
    names: Names,
    connections: Connections,
    lists: Lists,
    /// Name of the first piece, if it has no packet, and what to type instead.
    pub resembles: Option<(&'static str, &'static str)>,
    /// Bytes of the last packet returned.
    pub octets: Vec<u8>,
}

/// A record of a text, with the fields that only texts have.
#[derive(Debug)]
pub struct FoundText {
    pub found: RawRecord,
    pub offset: u64,
    pub known: KnownFields,
    pub follows_omission: bool,
}

/// Whether the first bytes of a file are text.
pub fn is_text(start: &[u8]) -> bool {
    let is_odd = |octet: &&u8| octet.is_ascii_control() && !octet.is_ascii_whitespace();
    let odd = start.iter().filter(is_odd).count();
    !start.contains(&0) && odd * 50 <= start.len()
}

impl Text {
    pub fn start() -> Self {
        Self {
            interface: [CapturedInterface::new(LinkType::RAW, 0)],
            lines: Lines::default(),
            at: 0,
            len: 0,
            is_last: false,
            begins_line: true,
            is_first_piece: true,
            omission: false,
            calendar: Calendar::default(),
            names: Names::default(),
            connections: Connections::default(),
            lists: Lists::default(),
            resembles: None,
            octets: Vec::new(),
        }
    }

    /// Host names and the addresses assigned to them.
    pub fn names(&self) -> impl Iterator<Item = (&str, [IpAddr; 2])> {
        self.names.hosts()
    }

    /// Next packet; `None` at the end of the text.
    pub fn next(&mut self, context: &mut ReadContext) -> io::Result<Option<FoundText>> {
        loop {
            // Moved out, so that packets may borrow from it.
            let lines = std::mem::take(&mut self.lines);
            let parsed = next_packet(&lines.text, self.at);
            let end = parsed.as_ref().map(|parsed| parsed.span().1);
            if end.is_none_or(|end| end + TAIL > lines.text.len()) && !self.is_last {
                // An item near the end may continue behind it.
                drop(parsed);
                self.lines = lines;
                self.go_on(context)?;
                continue;
            }
            let Some(parsed) = parsed else {
                self.lines = lines;
                context.pass_rest();
                return Ok(None);
            };
            let found = self.take(&lines, parsed, context);
            self.lines = lines;
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Releases the text that was searched and reads on.
    fn go_on(&mut self, context: &mut ReadContext) -> io::Result<()> {
        let text_len = self.lines.text.len();
        // Keeps the text near the end and as much before it, but no packets that were returned.
        let done = self.at.max(text_len.saturating_sub(2 * TAIL)).min(text_len);
        self.omission |= says_omission(&self.lines.text[self.at.min(done)..done]);
        let mut passed = self.lines.origin(done).min(self.len);
        if passed < self.len / 2 {
            // Mostly quotation marks, so it contains no packet.
            passed = self.len;
        }
        if passed > 0 {
            self.begins_line = context.input.octets()[passed - 1] == b'\n';
            context.input.pass(passed);
        }
        self.is_last = !context.input.has(PIECE)?;
        let octets = context.input.octets();
        self.len = octets.len().min(PIECE);
        self.is_last &= self.len == octets.len();
        self.lines = Lines::new(&octets[..self.len], self.begins_line);
        self.at = 0;
        if std::mem::take(&mut self.is_first_piece) {
            let times = first_times(&self.lines.text);
            self.calendar.are_deltas = Calendar::look_like_deltas(&times);
            if next_packet(&self.lines.text, 0).is_none() {
                self.resembles = foreign::resembled(&self.lines.text);
            }
        }
        Ok(())
    }

    /// Converts a parsed packet to a record or a note.
    fn take(
        &mut self,
        lines: &Lines,
        parsed: ParsedPacket<'_>,
        context: &mut ReadContext,
    ) -> Option<FoundText> {
        let (start, end) = parsed.span();
        let place = context.place(lines.origin(start));
        self.omission |= says_omission(&lines.text[self.at..start]);
        self.at = end;
        match parsed {
            ParsedPacket::NotTcp(..) => {
                let (kind, reason) = (NoteKind::TextNotTcp, Reason::Named("printed without TCP"));
                context.notes.add_unread(kind, reason, place, 0);
            }
            ParsedPacket::Unread(..) => context.notes.add(NoteKind::UnreadText, place),
            ParsedPacket::Packet(packet) => return self.found(*packet, place, context),
            ParsedPacket::Payload(payload) => return self.found_payload(&payload, place, context),
            ParsedPacket::Fragment(fragment) => {
                return Some(self.found_fragment(&fragment, place, context));
            }
        }
        None
    }

    fn found_fragment(
        &mut self,
        fragment: &PrintedFragment,
        place: Place,
        context: &mut ReadContext,
    ) -> FoundText {
        let wire_len = octets::write_fragment(&mut self.octets, fragment);
        let known = octets::known_of_ip(&fragment.ip);
        let said = (fragment.time, fragment.direction);
        self.record(said, wire_len, known, place, context)
    }

    /// Segment of a line without its TCP header. Without its connection it is left out.
    fn found_payload(
        &mut self,
        payload: &ListedPayload,
        place: Place,
        context: &mut ReadContext,
    ) -> Option<FoundText> {
        let Some(packet) = self.lists.segment(payload) else {
            self.omission = true;
            context.notes.add(NoteKind::UnreadText, place);
            return None;
        };
        self.found(packet, place, context)
    }

    fn found(
        &mut self,
        mut packet: PrintedPacket<'_>,
        place: Place,
        context: &mut ReadContext,
    ) -> Option<FoundText> {
        let Some(ends) = self.ends(&packet, place, context) else {
            context.notes.add(NoteKind::UnreadText, place);
            return None;
        };
        self.lists.set_window(&mut packet, ends);
        let packet = &packet;
        let printed = PrintedNumbers {
            flags: packet.flags,
            seq: packet.seq,
            ack: packet.ack,
            len: packet.len,
        };
        let (numbers, sack_base) = self.connections.restore(ends, printed);
        let wire_len = octets::write(&mut self.octets, packet, ends, numbers, sack_base);
        if packet.unknown_options > 0 {
            context.note(NoteKind::UnknownOption, place, packet.unknown_options);
        }
        let known = octets::known(packet, numbers);
        let said = (packet.time, packet.direction);
        Some(self.record(said, wire_len, known, place, context))
    }

    /// Record of the packet written last.
    fn record(
        &mut self,
        (time, direction): (Option<Printed>, Option<Direction>),
        wire_len: u32,
        known: KnownFields,
        place: Place,
        context: &mut ReadContext,
    ) -> FoundText {
        // No packet can be left out before the first one.
        let follows_omission = std::mem::take(&mut self.omission) && place.record > 1;
        if follows_omission {
            context.notes.add(NoteKind::Omission, place);
        }
        let time = self.time(time, place, context);
        let found = RawRecord {
            time,
            wire_len,
            interface: 0,
            link: LinkType::RAW,
            direction,
            dropped: 0,
            octets: ByteRange {
                start: 0,
                len: self.octets.len(),
            },
            options: ByteRange::default(),
            order: Order::Little,
        };
        FoundText {
            found,
            offset: place.offset,
            known,
            follows_omission,
        }
    }

    /// Addresses and ports. `None` if the two ends have different IP versions.
    fn ends(
        &mut self,
        packet: &PrintedPacket<'_>,
        place: Place,
        context: &mut ReadContext,
    ) -> Option<(SocketAddr, SocketAddr)> {
        let ends = [&packet.src, &packet.dst];
        let is_v6 = ends
            .iter()
            .any(|end| matches!(end.host, endpoint::Host::Address(IpAddr::V6(_))));
        let [src, dst] = ends.map(|end| {
            let (address, is_made_up) = self.names.address(&end.host, is_v6);
            let (port, is_known) = self.names.port(end.port);
            if is_made_up {
                context.notes.add(NoteKind::NameForAddress, place);
            }
            if !is_known {
                context.notes.add(NoteKind::UnknownService, place);
            }
            SocketAddr::new(address, port)
        });
        (src.is_ipv4() == dst.is_ipv4()).then_some((src, dst))
    }

    fn time(
        &mut self,
        printed: Option<Printed>,
        place: Place,
        context: &mut ReadContext,
    ) -> Option<Instant> {
        let Some(printed) = printed else {
            context.notes.add(NoteKind::NoTime, place);
            return None;
        };
        if matches!(printed, Printed::OfDay(_)) {
            context.notes.add(NoteKind::NoDate, place);
        }
        let time = Instant::from_nanos(self.calendar.next(printed));
        Some(self.interface[0].on_time(time, &mut context.notes, place))
    }
}

/// Whether prose says that packets were left out, by an ellipsis.
fn says_omission(prose: &[u8]) -> bool {
    prose
        .windows(3)
        .any(|three| three == b"..." || three == "…".as_bytes())
}

/// Times of the first packets of a text.
fn first_times(text: &[u8]) -> Vec<Printed> {
    let mut times = Vec::new();
    let mut at = 0;
    while let Some(parsed) = next_packet(text, at) {
        at = parsed.span().1;
        if let ParsedPacket::Packet(packet) = parsed {
            times.extend(packet.time);
        }
        if times.len() >= TIMES {
            break;
        }
    }
    times
}
