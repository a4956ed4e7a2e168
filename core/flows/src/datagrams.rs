//! The packets of a capture, those that came in fragments as one.
//!
//! A packet is there with its last fragment: then its receiver's TCP gets it,
//! and then it is reported, as one segment of all its octets, at that fragment's
//! time and number (tshark does the same). Fragments before it report no segment.
//! `gigatcp_wire::link::Reassembly` reassembles them.
//!
//! A first fragment whose rest never comes is a segment of what it holds, at its
//! own time. That it never comes is known later, so what follows a first
//! fragment is held until it is known, and leaves in order: for at most
//! [`MAX_HELD`] packets, or the time that a packet's fragments are waited for.
//! What comes later than that is a fragment without a TCP header.
//!
//! Memory: [`MAX_HELD`] packets of some 200 octets next to the megabyte of the
//! reassembly, whatever is in the capture. While nothing is held nothing here
//! has to be asked.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::Instant;
use gigatcp_wire::link::{DatagramId, DissectError, Fragment, LinkType, Outcome, Reassembly, look};

use crate::Observed;

/// Packets that wait behind a first fragment at most.
pub const MAX_HELD: usize = 4096;

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Which one, from 1.
    pub number: u64,
    /// Where it begins in the file, in octets.
    pub offset: u64,
    /// When it was captured.
    pub at: Instant,
    /// What it begins with.
    pub link: LinkType,
    /// What was captured of it.
    pub octets: &'a [u8],
    /// Octets that it had on the wire.
    pub wire_len: u32,
}

/// A packet that was looked at.
#[derive(Clone, Copy, Debug)]
pub struct Looked {
    /// Which one, from 1.
    pub number: u64,
    /// Where it begins in the file, in octets.
    pub offset: u64,
    /// When it was captured.
    pub at: Instant,
    /// Its segment, or that of the fragments that it completed; `None` for a
    /// fragment without a segment of its own.
    pub found: Result<Option<Observed>, DissectError>,
}

/// What there is to say of fragments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Odd {
    /// A first fragment whose rest did not come: a segment of what it holds.
    FirstAlone,
    /// A fragment without a TCP header of a packet that was not reassembled.
    WithoutHeader,
    /// Fragments that cannot be of one packet.
    Contradiction,
    /// A fragment that came again.
    Twice,
}

/// Something odd, and where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OddFragment {
    /// What.
    pub what: Odd,
    /// Of which packet.
    pub number: u64,
    /// Where that begins in the file, in octets.
    pub offset: u64,
    /// How many there were, from there on.
    pub count: u32,
}

/// A place in the order of packets.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Known(Looked),
    /// A first fragment, and its own segment.
    First(Looked, Observed),
}

/// A packet that is being reassembled.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: DatagramId,
    /// Its first fragment's place among all that were ever held.
    first: Option<u64>,
    /// The first of its fragments without a header, and how many there are.
    others: Option<OddFragment>,
}

/// Packets in the order of their capture.
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
    /// Of a capture that begins.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no packet waits: a packet that is not a fragment may be reported without
    /// being handed in.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Takes in the next packet. [`Self::poll_packet`] is to be asked until it
    /// has none.
    pub fn handle_packet(&mut self, arrival: &Arrival<'_>) {
        let (found, fragment) = look(arrival.link, arrival.octets, arrival.wire_len);
        let looked = Looked {
            number: arrival.number,
            offset: arrival.offset,
            at: arrival.at,
            found: found.map(|segment| Some(Observed::new(arrival.at, &segment))),
        };
        while let Some(id) = self.reassembly.poll_given_up(arrival.at) {
            self.settle(id);
        }
        match &fragment {
            None => self.held.push_back(Slot::Known(looked)),
            Some(fragment) => self.handle_fragment(looked, fragment),
        }
        self.make_room();
    }

    /// There is no further packet.
    pub fn handle_end(&mut self) {
        self.reassembly = Reassembly::default();
        while let Some(waiting) = self.waiting.first() {
            self.settle(waiting.id);
        }
    }

    /// The next packet, if it is known what it is.
    pub fn poll_packet(&mut self) -> Option<Looked> {
        let Some(Slot::Known(looked)) = self.held.front() else {
            return None;
        };
        let looked = *looked;
        self.held.pop_front();
        self.gone += 1;
        Some(looked)
    }

    /// What there is to say of fragments, as it was found out: of a packet that is
    /// given up late after what stands behind it.
    pub fn poll_odd(&mut self) -> Option<OddFragment> {
        self.odd.pop_front()
    }

    fn handle_fragment(&mut self, looked: Looked, fragment: &Fragment<'_>) {
        let is_first = fragment.is_first();
        let silent = Looked {
            found: Ok(None),
            ..looked
        };
        match self.reassembly.handle_fragment(looked.at, fragment) {
            Outcome::Incomplete(id) => self.wait(id, looked, is_first),
            Outcome::Complete(id, whole) => {
                let found = whole.map(|segment| Some(Observed::new(looked.at, &segment)));
                self.held.push_back(Slot::Known(Looked { found, ..looked }));
                self.complete(id);
            }
            Outcome::Duplicate(_) => {
                self.say(Odd::Twice, &looked);
                self.held.push_back(Slot::Known(silent));
            }
            Outcome::Contradicts(id) => {
                if self.waiting.iter().any(|one| one.id == id) {
                    self.say(Odd::Contradiction, &looked);
                }
                self.wait(id, looked, is_first);
                self.settle(id);
            }
        }
    }

    /// A fragment waits for others of its packet.
    fn wait(&mut self, id: DatagramId, looked: Looked, is_first: bool) {
        let place = self.gone + self.held.len() as u64;
        let index = self.waiting.iter().rposition(|one| one.id == id);
        let index = index.unwrap_or_else(|| {
            self.waiting.push(Waiting {
                id,
                first: None,
                others: None,
            });
            self.waiting.len() - 1
        });
        let waiting = &mut self.waiting[index];
        let silent = Looked {
            found: Ok(None),
            ..looked
        };
        // One without all of a TCP header is no segment either.
        let own = looked.found.ok().flatten().filter(|_| is_first);
        self.held.push_back(match own {
            Some(own) if waiting.first.is_none() => {
                waiting.first = Some(place);
                Slot::First(silent, own)
            }
            _ => {
                let others = waiting.others.get_or_insert(OddFragment {
                    what: Odd::WithoutHeader,
                    number: looked.number,
                    offset: looked.offset,
                    count: 0,
                });
                others.count += 1;
                Slot::Known(silent)
            }
        });
    }

    fn say(&mut self, what: Odd, looked: &Looked) {
        let (number, offset) = (looked.number, looked.offset);
        self.odd.push_back(OddFragment {
            what,
            number,
            offset,
            count: 1,
        });
    }

    /// Takes a packet off the list of those that wait.
    fn take(&mut self, id: DatagramId) -> Option<Waiting> {
        let index = self.waiting.iter().position(|one| one.id == id)?;
        Some(self.waiting.remove(index))
    }

    /// Where a first fragment is held.
    fn slot(&mut self, waiting: &Waiting) -> Option<&mut Slot> {
        let place = waiting.first?.checked_sub(self.gone)?;
        self.held.get_mut(place as usize)
    }

    /// A packet was reassembled: its first fragment is no segment of its own.
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

    /// A packet will not be reassembled: its first fragment is what it is.
    fn settle(&mut self, id: DatagramId) {
        let Some(waiting) = self.take(id) else {
            return;
        };
        self.odd.extend(waiting.others);
        if let Some(slot) = self.slot(&waiting)
            && let Slot::First(silent, own) = *slot
        {
            let alone = Looked {
                found: Ok(Some(own)),
                ..silent
            };
            *slot = Slot::Known(alone);
            self.say(Odd::FirstAlone, &alone);
        }
    }

    /// Gives up the first fragment that others wait behind, where there are too
    /// many.
    fn make_room(&mut self) {
        if self.held.len() < MAX_HELD {
            return;
        }
        let oldest = self.waiting.iter().filter(|one| one.first.is_some());
        let oldest = oldest.min_by_key(|one| one.first).map(|one| one.id);
        if let Some(id) = oldest {
            self.reassembly.give_up(id);
            self.settle(id);
        }
    }
}
