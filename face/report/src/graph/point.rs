//! A packet of a connection as its graph sees it.

use gigatcp_flows::{Kind, Kinds};

/// A SACK block: offsets in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackRange {
    /// The first octet.
    pub left: u64,
    /// Behind the last one.
    pub right: u64,
}

/// What a packet does to the stream that is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// It carries `len` octets from `start`, SYN and FIN counted.
    Data {
        /// The first octet.
        start: u64,
        /// How many.
        len: u32,
    },
    /// It comes from the receiver of the stream.
    Answer {
        /// What it acknowledges.
        ack: u64,
        /// The window it offers, in octets.
        window: u32,
        /// What it reports beyond that.
        sack: [SackRange; 4],
        /// How many of these there are.
        sack_len: u8,
        /// The round-trip time that it ends, in nanoseconds.
        rtt_ns: Option<u64>,
    },
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Which packet of the capture it is, from 1.
    pub frame: u64,
    /// When it passed, in nanoseconds since the connection's first packet.
    pub at_ns: u64,
    /// What it is: the bits of [`Kinds`], of [`Point::SYN`] and of the constants next to it.
    pub marks: u32,
    /// What it carries.
    pub what: What,
}

impl Point {
    /// The mark of a SYN; kinds have the bits below.
    pub const SYN: u32 = 1 << Kind::ALL.len();
    /// The mark of a FIN.
    pub const FIN: u32 = Self::SYN << 1;
    /// The mark of a reset.
    pub const RST: u32 = Self::SYN << 2;

    /// The names of all marks, by bit.
    #[must_use]
    pub fn mark_names() -> Vec<String> {
        let kinds = Kind::ALL.iter().map(|kind| kind.name().replace('_', " "));
        let flags = ["SYN", "FIN", "RST"].map(String::from);
        kinds.chain(flags).collect()
    }

    /// Whether it is a retransmission.
    #[must_use]
    pub const fn is_again(&self) -> bool {
        self.marks & Self::of_kinds(&Kind::RETRANSMISSIONS) != 0
    }

    /// Whether it is of that kind.
    #[must_use]
    pub const fn is(&self, kind: Kind) -> bool {
        self.marks & 1 << kind as u8 != 0
    }

    /// The marks of these kinds.
    #[must_use]
    pub const fn of_kinds(kinds: &[Kind]) -> u32 {
        let mut set = Kinds::NONE;
        let mut index = 0;
        while index < kinds.len() {
            set.add(kinds[index]);
            index += 1;
        }
        set.bits()
    }

    /// The end of its data.
    #[must_use]
    pub const fn end(&self) -> Option<u64> {
        match self.what {
            What::Data { start, len } => Some(start + len as u64),
            What::Answer { .. } => None,
        }
    }
}

const _: () = assert!(Kind::ALL.len() + 3 < 32, "marks fit into 31 bits");
