//! A packet of a connection in its graph.

use gigatcp_flows::{Kind, Kinds};

/// A SACK block: offsets in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackRange {
    /// The first octet.
    pub left: u64,
    /// Position after the last octet.
    pub right: u64,
}

/// Effect of a packet on the drawn stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It carries `len` octets from `start`, SYN and FIN counted.
    Data {
        /// The first octet.
        start: u64,
        /// Number of octets.
        len: u32,
    },
    /// It comes from the receiver of the stream.
    Ack {
        /// Cumulative acknowledgment.
        ack: u64,
        /// Advertised window in octets.
        window: u32,
        /// SACK blocks.
        sack: [SackRange; 4],
        /// Number of SACK blocks.
        sack_len: u8,
        /// RTT sample that it completes, in nanoseconds.
        rtt_ns: Option<u64>,
    },
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Number in the capture, from 1.
    pub frame: u64,
    /// Time in nanoseconds since the connection's first packet.
    pub at_ns: u64,
    /// Bits of [`Kinds`], of [`Point::SYN`] and of the constants next to it.
    pub marks: u32,
    /// Effect on the stream.
    pub effect: Effect,
}

impl Point {
    /// The mark of a SYN; kinds have the bits below.
    pub const SYN: u32 = 1 << Kind::ALL.len();
    /// The mark of a FIN.
    pub const FIN: u32 = Self::SYN << 1;
    /// The mark of a reset.
    pub const RST: u32 = Self::SYN << 2;

    /// Names of all marks, by bit.
    pub fn mark_names() -> Vec<String> {
        let kinds = Kind::ALL.iter().map(|kind| kind.name().replace('_', " "));
        let flags = ["SYN", "FIN", "RST"].map(String::from);
        kinds.chain(flags).collect()
    }

    /// Whether it is a retransmission.
    pub const fn is_retransmission(&self) -> bool {
        self.marks & Self::of_kinds(&Kind::RETRANSMISSIONS) != 0
    }

    /// Whether it is of that kind.
    pub const fn is(&self, kind: Kind) -> bool {
        self.marks & 1 << kind as u8 != 0
    }

    /// Marks of these kinds.
    pub const fn of_kinds(kinds: &[Kind]) -> u32 {
        let mut set = Kinds::NONE;
        let mut index = 0;
        while index < kinds.len() {
            set.add(kinds[index]);
            index += 1;
        }
        set.bits()
    }

    /// End of its data.
    pub const fn end(&self) -> Option<u64> {
        match self.effect {
            Effect::Data { start, len } => Some(start + len as u64),
            Effect::Ack { .. } => None,
        }
    }
}

const _: () = assert!(Kind::ALL.len() + 3 < 32, "marks fit into 31 bits");
