//! Sequence space: the send and receive sequence variables of RFC 9293
//! section 3.3.1.
//!
//! Inside the engine positions are *stream offsets*: 64-bit extended sequence numbers (RFC 5925
//! section 6.2) counted from the initial one. SYN is at 0, the first octet of data at 1, and
//! nothing wraps, so offsets are ordered integers. Only this file converts them to the 32 bits of
//! the wire and back.

use gigatcp_wire::SeqNumber;

/// A stream offset, as a parameter next to lengths and windows.
#[derive(Clone, Copy, Debug)]
pub struct Offset(pub u64);

/// A number of octets, as a parameter next to offsets and windows.
#[derive(Clone, Copy, Debug)]
pub struct Length(pub u64);

/// A window in octets, as a parameter next to offsets and lengths.
#[derive(Clone, Copy, Debug)]
pub struct Window(pub u64);

/// Octets of new data that cwnd and the peer's window allow.
#[derive(Clone, Copy, Debug)]
pub struct Usable {
    /// Octets that cwnd allows, or PRR while the window is reduced.
    pub allowance: u64,
    /// Octets up to the right edge of SND.WND.
    pub window: u64,
}

/// Right edge of a receive window, as a parameter next to other offsets.
#[derive(Clone, Copy, Debug)]
pub struct RightEdge(pub u64);

/// Stream offset of `seq` that is nearest to `near`.
fn unwrap(base: SeqNumber, near: u64, seq: SeqNumber) -> Option<u64> {
    let near_on_wire = base + near as u32;
    near.checked_add_signed(i64::from(seq.distance_from(near_on_wire)))
}

/// Send sequence variables (RFC 9293 figure 3).
#[derive(Clone, Debug)]
pub struct SendSpace {
    /// Initial send sequence number.
    pub iss: SeqNumber,
    /// SND.UNA: oldest offset not acknowledged.
    pub una: u64,
    /// SND.NXT: next offset to send for the first time.
    pub nxt: u64,
    /// SND.WND: window the peer advertises, in octets from the last `wl2`.
    pub wnd: u64,
    /// SND.WL1: SEG.SEQ (in the peer's space) of the last window update.
    pub wl1: u64,
    /// SND.WL2: SEG.ACK of the last window update.
    pub wl2: u64,
    /// Largest window the peer ever advertised (for silly-window avoidance).
    pub max_wnd: u64,
    /// End of the last new segment that was not full. For Minshall's variant of Nagle's algorithm;
    /// Linux `snd_sml`.
    pub small_end: u64,
    /// Snd.Wind.Shift of RFC 7323 section 2.3.
    pub shift: u8,
}

impl SendSpace {
    /// Initial state: nothing sent, no window advertised.
    pub fn new(iss: SeqNumber) -> Self {
        Self {
            iss,
            una: 0,
            nxt: 0,
            wnd: 0,
            wl1: 0,
            wl2: 0,
            max_wnd: 0,
            small_end: 0,
            shift: 0,
        }
    }

    /// Sequence number of `offset` on the wire.
    #[inline]
    pub fn on_wire(&self, offset: u64) -> SeqNumber {
        self.iss + offset as u32
    }

    /// Offset of an acknowledgment number: the one nearest to SND.UNA. `None` if it lies before
    /// the SYN.
    #[inline]
    pub fn offset_of(&self, ack: SeqNumber) -> Option<u64> {
        unwrap(self.iss, self.una, ack)
    }

    /// Right edge of the send window.
    #[inline]
    pub fn edge(&self) -> u64 {
        self.una.max(1) + self.wnd
    }

    /// Offset to use for a segment without data. A probe moves SND.NXT beyond the peer's window,
    /// where the peer accepts nothing: two sides that both probe would answer each other's
    /// acknowledgments indefinitely. The window's edge is acceptable.
    #[inline]
    pub fn acceptable(&self) -> u64 {
        self.nxt.min(self.edge().max(1))
    }

    /// `FlightSize` of RFC 5681: octets sent and not cumulatively acknowledged.
    #[inline]
    pub fn flight_size(&self) -> u64 {
        self.nxt - self.una
    }
}

/// Receive sequence variables (RFC 9293 figure 4).
#[derive(Clone, Debug)]
pub struct ReceiveSpace {
    /// Initial receive sequence number.
    pub irs: SeqNumber,
    /// RCV.NXT: next offset expected.
    pub nxt: u64,
    /// Right edge of the window, RCV.NXT + RCV.WND: the furthest ever advertised.
    pub edge: u64,
    /// Right edge as the window field expressed it: lower if it was rounded down.
    pub advertised_edge: u64,
    /// Last advertised RCV.WND.
    pub last_wnd: u64,
    /// Last.ACK.sent of RFC 7323 section 4.3.
    pub last_ack_sent: u64,
    /// Rcv.Wind.Shift of RFC 7323 section 2.3.
    pub shift: u8,
}

impl ReceiveSpace {
    /// Initial state: nothing received.
    pub fn new() -> Self {
        Self {
            irs: SeqNumber::new(0),
            nxt: 0,
            edge: 0,
            advertised_edge: 0,
            last_wnd: 0,
            last_ack_sent: 0,
            shift: 0,
        }
    }

    /// Sequence number of `offset` on the wire.
    #[inline]
    pub fn on_wire(&self, offset: u64) -> SeqNumber {
        self.irs + offset as u32
    }

    /// Offset of a sequence number: the one nearest to RCV.NXT. `None` if it lies before the SYN.
    #[inline]
    pub fn offset_of(&self, seq: SeqNumber) -> Option<u64> {
        unwrap(self.irs, self.nxt, seq)
    }

    /// RCV.WND: octets the peer may send beyond RCV.NXT.
    #[inline]
    pub fn wnd(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }

    /// Whether a segment is acceptable: RFC 9293 section 3.4 (the four-case table).
    #[inline]
    pub fn accepts(&self, seq: u64, len: u32) -> bool {
        let wnd = self.wnd();
        let inside = |offset: u64| self.nxt <= offset && offset < self.nxt + wnd;
        match (len, wnd) {
            (0, 0) => seq == self.nxt,
            (0, _) => inside(seq),
            (_, 0) => false,
            (_, _) => inside(seq) || inside(seq + u64::from(len) - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn receiver(nxt: u64, wnd: u64) -> ReceiveSpace {
        ReceiveSpace {
            nxt,
            edge: nxt + wnd,
            ..ReceiveSpace::new()
        }
    }

    #[test]
    fn a_segment_is_acceptable_as_the_table_of_rfc_9293_section_3_4_says() {
        // (window, offset from RCV.NXT, length, acceptable)
        let table = [
            (0, 0, 0, true),
            (0, 1, 0, false),
            (0, -1, 0, false),
            (10, 0, 0, true),
            (10, 9, 0, true),
            (10, 10, 0, false),
            (10, -1, 0, false),
            (0, 0, 1, false),
            (0, -1, 2, false),
            (10, 0, 1, true),
            (10, 9, 5, true),
            (10, 10, 5, false),
            (10, -3, 4, true),
            (10, -3, 3, false),
        ];
        for (wnd, from_nxt, len, acceptable) in table {
            let rcv = receiver(1000, wnd);
            let seq = 1000_u64.checked_add_signed(from_nxt).unwrap();
            assert_eq!(rcv.accepts(seq, len), acceptable, "{wnd} {from_nxt} {len}");
        }
    }

    proptest! {
        #[test]
        fn offsets_survive_the_wire_within_half_the_sequence_space(
            iss: u32,
            una in 0..(1_u64 << 40),
            ahead in -(1_i64 << 31) + 1..(1_i64 << 31),
        ) {
            let snd = SendSpace { una, ..SendSpace::new(SeqNumber::new(iss)) };
            let offset = una.checked_add_signed(ahead);
            prop_assume!(offset.is_some());
            prop_assert_eq!(snd.offset_of(snd.on_wire(offset.unwrap())), offset);
        }
    }
}
