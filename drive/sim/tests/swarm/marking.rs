//! Middleboxes between two engines that change ECN, as TCP must survive by RFC 3168 section 18 and
//! RFC 9768 section 3.2.
//!
//! * a queue marks packets of an ECN-capable transport;
//! * a router clears the ECN field (bleaching), or CE alone, which hides congestion;
//! * a router sets the whole field of ECT packets, so that every packet appears to have met
//!   congestion; or changes ECT(0) into ECT(1);
//! * a firewall clears AE, CWR and ECE in SYNs, or in all segments;
//! * a firewall removes AccECN options, from SYNs or from all segments.
//!
//! The ECN field belongs to IP and no checksum of TCP covers it. The rest belongs to TCP, and
//! authentication detects its change ([`Marking::alters`]).

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Ecn, Flags, Segment};

use super::draw::Draw;

/// TCP flags of ECN.
const SPOKEN: [Flags; 3] = [Flags::AE, Flags::CWR, Flags::ECE];

/// Change to the ECN field of IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Kept,
    Marked { percent: u64 },
    Bleached,
    Hidden,
    AllMarked,
    Swapped,
}

/// Change to the flags or the option of TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Header {
    Kept,
    Flags { syns_only: bool, which: [bool; 3] },
    Option { syns_only: bool },
}

/// Middleboxes of one simulation; the same in both directions, or in one.
#[derive(Debug)]
pub struct Marking {
    field: Field,
    header: Header,
    /// Whether segments of that end are changed.
    touches: [bool; 2],
    draw: Draw,
}

impl Marking {
    /// Middleboxes for a seed.
    pub fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed, "marking");
        let percent = draw.pick(&[1, 10, 50]);
        let field = match draw.between(0, 19) {
            0..=3 => Field::Marked { percent },
            4 => Field::Bleached,
            5 => Field::Hidden,
            6 => Field::AllMarked,
            7 => Field::Swapped,
            _ => Field::Kept,
        };
        let syns_only = draw.chance(50);
        let which = [(); 3].map(|()| draw.chance(60));
        let header = match draw.between(0, 19) {
            0 => Header::Flags { syns_only, which },
            1 => Header::Option { syns_only },
            _ => Header::Kept,
        };
        let touches = draw.pick(&[[true, true], [true, true], [true, false], [false, true]]);
        Self {
            field,
            header,
            touches,
            draw,
        }
    }

    /// Whether every ECT packet of end `from` arrives with CE.
    ///
    /// The answers of the other end arrive unchanged.
    pub fn marks_all(&self, from: usize) -> bool {
        self.field == Field::AllMarked && self.touches[from] && self.header == Header::Kept
    }

    /// Whether a sender that trusts marks stays at its minimum window indefinitely.
    ///
    /// It then sends a segment per timeout (RFC 3168 section 6.1.2).
    pub fn starves(&self) -> bool {
        self.field == Field::AllMarked
    }

    /// Marks every packet of both ends from now on.
    pub fn mark_all(&mut self) {
        self.field = Field::AllMarked;
        self.header = Header::Kept;
        self.touches = [true, true];
    }

    /// Whether nothing on the path sets CE on segments of end `from`.
    ///
    /// The answers of the other end arrive unchanged.
    pub fn is_quiet(&self, from: usize) -> bool {
        let marks = matches!(self.field, Field::Marked { .. } | Field::AllMarked);
        let is_marked = marks && self.touches[from];
        self.header == Header::Kept && !is_marked
    }

    /// Segment that results from a segment of end `from`.
    pub fn pass(&mut self, from: usize, mut segment: Segment<Bytes>) -> Segment<Bytes> {
        if !self.touches[from] {
            return segment;
        }
        self.pass_field(&mut segment.ecn);
        let is_syn = segment.flags.contains(Flags::SYN);
        match self.header {
            Header::Flags { syns_only, which } if is_syn || !syns_only => {
                for (flag, _) in SPOKEN.iter().zip(which).filter(|(_, cleared)| *cleared) {
                    segment.flags = segment.flags.without(*flag);
                }
            }
            Header::Option { syns_only } if is_syn || !syns_only => segment.options.accecn = None,
            _ => {}
        }
        segment
    }

    fn pass_field(&mut self, ecn: &mut Ecn) {
        match self.field {
            Field::Marked { percent } if self.draw.chance(percent) => {
                ecn.try_mark();
            }
            Field::Bleached => *ecn = Ecn::NotEct,
            Field::Hidden if *ecn == Ecn::Ce => *ecn = Ecn::NotEct,
            Field::AllMarked => {
                ecn.try_mark();
            }
            Field::Swapped if *ecn == Ecn::Ect0 => *ecn = Ecn::Ect1,
            _ => {}
        }
    }
}
