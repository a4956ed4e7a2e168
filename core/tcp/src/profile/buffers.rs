//! What a buffer that is asked for becomes, and the window it can back.
//!
//! Kernels grant other amounts than they are asked for, and keep a share for
//! their own bookkeeping; how much is a matter of the profile. How a buffer
//! grows while a connection lasts is `receive_autotuning.rs`.

use gigatcp_units::Bytes;

use super::Profile;
use crate::truesize::{LEAST_RECEIVE_BUFFER, LEAST_SEND_BUFFER};

/// How much of the receive buffer is offered to the peer, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowPolicy {
    /// All free space at once (RFC 9293 section 3.8.6.2).
    FreeSpace,
    /// As in Linux 2.6.20: the offered window starts at four, three or two
    /// segments, enough for the initial window of any sender of its time, and
    /// grows by two for every full-sized one that arrives (`rcv_ssthresh`); while
    /// it grows every segment is acknowledged. Today's Linux grows alike, from 64
    /// KiB (since 4.20).
    Grows,
}

/// Buffers of both directions, the window they back, and calls of the application.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Buffers {
    /// Receive buffer of a connection that asks for none (Linux `tcp_rmem[1]`).
    pub receive_buffer_start: Bytes,
    /// The most it grows to (Linux `tcp_rmem[2]`); it decides the window scale.
    pub receive_buffer_max: Bytes,
    /// The receive buffer of a connection that asks for none grows to what the
    /// path and the application need (Linux `tcp_moderate_rcvbuf`).
    pub receive_autotuning: bool,
    /// How the receive buffer is offered to the peer.
    pub window_policy: WindowPolicy,
    /// Share of the receive buffer kept back from the window, as the power of
    /// two of its divisor: 2 keeps a quarter (Linux `tcp_adv_win_scale`);
    /// 0 keeps nothing.
    pub window_reserve_shift: u32,
    /// The right edge of the window may move left when the buffer has less
    /// room than was offered (Linux `tcp_shrink_window`). RFC 9293 SHLD-14
    /// says a receiver should not.
    pub may_shrink_window: bool,
    /// The peer is told unasked of a window that has opened by so many segments,
    /// or by half the largest window (BSD `tcp_output`: two); 0: of one that
    /// has doubled (Linux `tcp_cleanup_rbuf`).
    pub window_update_segments: u32,
    /// Send buffer of a connection that asks for none (Linux `tcp_wmem[1]`).
    pub send_buffer_start: Bytes,
    /// The most it grows to (Linux `tcp_wmem[2]`).
    pub send_buffer_max: Bytes,
    /// The send buffer of a connection that asks for none keeps room for two
    /// congestion windows.
    pub send_autotuning: bool,
    /// Bytes that a bulk sender hands to the socket in one call.
    pub write_size: Bytes,
    /// Room at which a writer that waits for some is woken and goes on (BSD
    /// `sb_lowat` of the send buffer); absent: a third of the send buffer (Linux
    /// `sk_stream_is_writeable`).
    pub write_low_water: Option<Bytes>,
    /// Bytes of one call that reach TCP at a time (BSD `sosend`: an mbuf cluster);
    /// 0: all that there is room for. After each, TCP sends what may leave.
    pub write_chunk: u32,
    /// An application may write only while less than this waits unsent (Linux
    /// `TCP_NOTSENT_LOWAT`); absent: as long as the send buffer has room.
    pub not_sent_lowat: Option<Bytes>,
    /// The most a buffer that is asked for is granted, before doubling (Linux
    /// `wmem_max`, `rmem_max`). Where the window grows as in Linux, it also
    /// decides the window scale, and with it the largest window: 65535 shifted
    /// by what this limit needs.
    pub buffer_limit: Bytes,
    /// A buffer that was asked for is granted twice over, to pay for the
    /// kernel's bookkeeping (Linux `SO_SNDBUF`, `SO_RCVBUF`).
    pub buffer_doubling: bool,
    /// Buffers that were asked for are rounded up to whole segments when SMSS is
    /// known (BSD `tcp_mss`).
    pub buffers_in_segments: bool,
    /// Send buffer that the route to the peer asks for (BSD `rmx_sendpipe`);
    /// absent: the route says nothing.
    pub route_send_buffer: Option<Bytes>,
    /// Receive buffer that the route to the peer asks for (BSD `rmx_recvpipe`).
    pub route_receive_buffer: Option<Bytes>,
    /// What the route asks for replaces a larger buffer that the application
    /// asked for (BSD `tcp_mss` until the patch of kern/6032); without, it can
    /// only raise it.
    pub route_buffers_override: bool,
    /// Buffers count what packets occupy and not their octets, and windows follow
    /// (Linux `skb->truesize`).
    pub truesize: bool,
}

impl Profile {
    /// What a request for a buffer of `requested` octets is granted.
    #[must_use]
    pub fn granted_buffer(&self, requested: Bytes) -> Bytes {
        let factor = if self.buffers.buffer_doubling { 2 } else { 1 };
        let limited = requested.min(self.buffers.buffer_limit);
        Bytes::new(limited.as_u64().saturating_mul(factor))
    }

    /// `mss` octets cut to whole buffers, see `smss_multiple`.
    #[must_use]
    pub fn whole_buffers(&self, mss: u32) -> u32 {
        match self.segments.smss_multiple {
            multiple @ 1.. if mss > multiple => mss - mss % multiple,
            _ => mss,
        }
    }

    /// The receive buffer a connection begins with that asked for `requested`.
    #[must_use]
    pub fn receive_buffer_for(&self, requested: Option<Bytes>) -> Bytes {
        let granted = requested.map_or(self.buffers.receive_buffer_start, |octets| {
            self.granted_buffer(octets)
        });
        self.at_least(granted, LEAST_RECEIVE_BUFFER)
    }

    /// The send buffer a connection begins with that asked for `requested`.
    #[must_use]
    pub fn send_buffer_for(&self, requested: Option<Bytes>) -> Bytes {
        let granted = requested.map_or(self.buffers.send_buffer_start, |octets| {
            self.granted_buffer(octets)
        });
        self.at_least(granted, LEAST_SEND_BUFFER)
    }

    /// `granted`, and where packets count at least `least` octets.
    fn at_least(&self, granted: Bytes, least: u64) -> Bytes {
        if self.buffers.truesize {
            granted.max(Bytes::new(least))
        } else {
            granted
        }
    }

    /// The largest window a receive buffer of `granted` octets can back.
    #[must_use]
    pub fn window_of(&self, granted: Bytes) -> Bytes {
        match self.buffers.window_reserve_shift {
            0 => granted,
            shift => Bytes::new(granted.as_u64() - (granted.as_u64() >> shift)),
        }
    }

    /// The buffer that backs a window of `window` octets.
    #[must_use]
    pub fn buffer_backing(&self, window: u64) -> u64 {
        match self.buffers.window_reserve_shift {
            0 => window,
            shift => {
                let whole = u128::from(window) << shift;
                let octets = whole.div_ceil((1 << shift) - 1);
                u64::try_from(octets).unwrap_or(u64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_2_6_20_doubles_a_buffer_and_keeps_a_quarter_back() {
        let profile = Profile::LINUX_2_6_20.with(|profile| {
            profile.buffers.buffer_limit = Bytes::new(100 << 20);
        });
        let granted = profile.granted_buffer(Bytes::new(60 << 20));
        assert_eq!(granted, Bytes::new(120 << 20));
        assert_eq!(profile.window_of(granted), Bytes::new(90 << 20));
    }
}
