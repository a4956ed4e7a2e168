//! Packets of a capture, with fragments reassembled.
//!
//! A fragmented packet is reported with its last fragment, when the receiver's TCP gets it. It is
//! one segment of all its bytes, with that fragment's time and number (as tshark does). The
//! fragments before it report no segment. `gigatcp_wire::link::Reassembly` reassembles them.
//!
//! A first fragment whose remainder never arrives is a segment of what it holds, at its own time.
//! That it never arrives is known only later. So packets behind a first fragment are held until
//! that is decided, and leave in order. They are held for at most [`MAX_HELD`] packets, or the
//! reassembly timeout. Fragments that arrive later than that have no TCP header.
//!
//! Memory: [`MAX_HELD`] packets of some 200 bytes, plus the megabyte of the reassembly, for any
//! capture. While nothing is held, this module need not be called.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::Instant;
use gigatcp_wire::link::{
    DatagramId, DissectError, Fragment, LinkType, Outcome, Reassembly, dissect_with_fragment,
};

use crate::Observed;

/// Maximum number of packets that wait behind a first fragment.
pub const MAX_HELD: usize = 4096;

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Number of the packet in the capture, from 1.
    pub number: u64,
    /// Position of its beginning in the file, in bytes.
    pub offset: u64,
    /// Time of capture.
    pub at: Instant,
    /// Link type: the header that it begins with.
    pub link: LinkType,
    /// Captured bytes.
    pub octets: &'a [u8],
    /// Length on the wire in bytes.
    pub wire_len: u32,
}

/// A packet that was dissected.
#[derive(Clone, Copy, Debug)]
pub struct DissectedPacket {
    /// Number of the packet in the capture, from 1.
    pub number: u64,
    /// Position of its beginning in the file, in bytes.
    pub offset: u64,
    /// Time of capture.
    pub at: Instant,
    /// Its segment, or that of the fragments that it completed. `None` for a fragment without a
    /// segment.
    pub found: Result<Option<Observed>, DissectError>,
}

/// Kinds of irregular fragments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FragmentIssue {
    /// A first fragment whose remainder did not arrive: a segment of what it holds.
    FirstAlone,
    /// A fragment without a TCP header of a packet that was not reassembled.
    WithoutHeader,
    /// Fragments that contradict each other.
    Contradiction,
    /// A duplicate fragment.
    Twice,
}

/// An irregular fragment and its place in the capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OddFragment {
    /// Kind of irregularity.
    pub what: FragmentIssue,
    /// Number of the packet, from 1.
    pub number: u64,
    /// Position of its beginning in the file, in bytes.
    pub offset: u64,
    /// Number of such fragments from there on.
    pub count: u32,
}

/// A place in the order of packets.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Known(DissectedPacket),
    /// A first fragment, and the segment it holds.
    First(DissectedPacket, Observed),
}

/// A packet that is being reassembled.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: DatagramId,
    /// Place of its first fragment among all packets ever held.
    first: Option<u64>,
    /// First of its fragments without a header, and their number.
    others: Option<OddFragment>,
}

/// Reassembles packets and reports them in the order of their capture.
#[derive(Clone, Default, Debug)]
pub struct Datagrams {
    reassembly: Reassembly,
    waiting: Vec<Waiting>,
    held: VecDeque<Slot>,
    /// Packets that have left.
    gone: u64,
    odd: VecDeque<OddFragment>,
}

impl Datagrams {
    /// Creates a reassembler for the beginning of a capture.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no packet waits. If so, a packet that is not a fragment may be reported without
    /// being handed in.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Accepts the next packet. The caller must then call [`Self::poll_packet`] until it returns
    /// `None`.
    pub fn handle_packet(&mut self, arrival: &Arrival<'_>) {
        let (found, fragment) =
            dissect_with_fragment(arrival.link, arrival.octets, arrival.wire_len);
        let dissected = DissectedPacket {
            number: arrival.number,
            offset: arrival.offset,
            at: arrival.at,
            found: found.map(|segment| Some(Observed::new(arrival.at, &segment))),
        };
        while let Some(id) = self.reassembly.poll_given_up(arrival.at) {
            self.give_up(id);
        }
        match &fragment {
            None => self.held.push_back(Slot::Known(dissected)),
            Some(fragment) => self.handle_fragment(dissected, fragment),
        }
        self.make_room();
    }

    /// Accepts the end of the capture.
    pub fn handle_end(&mut self) {
        self.reassembly = Reassembly::default();
        while let Some(waiting) = self.waiting.first() {
            self.give_up(waiting.id);
        }
    }

    /// Next packet, if its segment is decided.
    pub fn poll_packet(&mut self) -> Option<DissectedPacket> {
        let Some(Slot::Known(dissected)) = self.held.front() else {
            return None;
        };
        let dissected = *dissected;
        self.held.pop_front();
        self.gone += 1;
        Some(dissected)
    }

    /// Next irregular fragment, in order of detection. One of a packet that is given up may come
    /// after those of later packets.
    pub fn poll_odd(&mut self) -> Option<OddFragment> {
        self.odd.pop_front()
    }

    fn handle_fragment(&mut self, dissected: DissectedPacket, fragment: &Fragment<'_>) {
        let is_first = fragment.is_first();
        let silent = DissectedPacket {
            found: Ok(None),
            ..dissected
        };
        match self.reassembly.handle_fragment(dissected.at, fragment) {
            Outcome::Incomplete(id) => self.wait(id, dissected, is_first),
            Outcome::Complete(id, whole) => {
                let found = whole.map(|segment| Some(Observed::new(dissected.at, &segment)));
                self.held
                    .push_back(Slot::Known(DissectedPacket { found, ..dissected }));
                self.complete(id);
            }
            Outcome::Duplicate(_) => {
                self.say(FragmentIssue::Twice, &dissected);
                self.held.push_back(Slot::Known(silent));
            }
            Outcome::Contradicts(id) => {
                if self.waiting.iter().any(|waiting| waiting.id == id) {
                    self.say(FragmentIssue::Contradiction, &dissected);
                }
                self.wait(id, dissected, is_first);
                self.give_up(id);
            }
        }
    }

    /// Adds a fragment that waits for others of its packet.
    fn wait(&mut self, id: DatagramId, dissected: DissectedPacket, is_first: bool) {
        let place = self.gone + self.held.len() as u64;
        let index = self
            .waiting
            .iter()
            .rposition(|waiting| waiting.id == id)
            .unwrap_or_else(|| {
                self.waiting.push(Waiting {
                    id,
                    first: None,
                    others: None,
                });
                self.waiting.len() - 1
            });
        let waiting = &mut self.waiting[index];
        let silent = DissectedPacket {
            found: Ok(None),
            ..dissected
        };
        // A first fragment without a complete TCP header is no segment either.
        let own = dissected.found.ok().flatten().filter(|_| is_first);
        self.held.push_back(match own {
            Some(own) if waiting.first.is_none() => {
                waiting.first = Some(place);
                Slot::First(silent, own)
            }
            _ => {
                let others = waiting.others.get_or_insert(OddFragment {
                    what: FragmentIssue::WithoutHeader,
                    number: dissected.number,
                    offset: dissected.offset,
                    count: 0,
                });
                others.count += 1;
                Slot::Known(silent)
            }
        });
    }

    fn say(&mut self, what: FragmentIssue, dissected: &DissectedPacket) {
        let (number, offset) = (dissected.number, dissected.offset);
        self.odd.push_back(OddFragment {
            what,
            number,
            offset,
            count: 1,
        });
    }

    /// Removes a packet from the list of those that wait.
    fn take(&mut self, id: DatagramId) -> Option<Waiting> {
        let index = self.waiting.iter().position(|waiting| waiting.id == id)?;
        Some(self.waiting.remove(index))
    }

    /// Place where a first fragment is held.
    fn slot(&mut self, waiting: &Waiting) -> Option<&mut Slot> {
        let place = waiting.first?.checked_sub(self.gone)?;
        self.held.get_mut(place as usize)
    }

    /// Completes a reassembled packet: its first fragment is no longer a segment.
    fn complete(&mut self, id: DatagramId) {
        let Some(waiting) = self.take(id) else {
            return;
        };
        if let Some(slot) = self.slot(&waiting)
            && let Slot::First(silent, _) = *slot
        {
            *slot = Slot::Known(silent);
        }
    }

    /// Gives up a packet: its first fragment becomes a segment.
    fn give_up(&mut self, id: DatagramId) {
        let Some(waiting) = self.take(id) else {
            return;
        };
        self.odd.extend(waiting.others);
        if let Some(slot) = self.slot(&waiting)
            && let Slot::First(silent, own) = *slot
        {
            let alone = DissectedPacket {
                found: Ok(Some(own)),
                ..silent
            };
            *slot = Slot::Known(alone);
            self.say(FragmentIssue::FirstAlone, &alone);
        }
    }

    /// Gives up the first fragment that others wait behind, if too many do.
    fn make_room(&mut self) {
        if self.held.len() < MAX_HELD {
            return;
        }
        let oldest = self
            .waiting
            .iter()
            .filter(|waiting| waiting.first.is_some())
            .min_by_key(|waiting| waiting.first)
            .map(|waiting| waiting.id);
        if let Some(id) = oldest {
            self.reassembly.give_up(id);
            self.give_up(id);
        }
    }
}
