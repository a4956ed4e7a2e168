//! Buffer granted for a request, and the largest window that it backs.
//!
//! Kernels grant other amounts than requested and reserve a share for bookkeeping; a profile says
//! how much. `receive_autotuning.rs` grows a buffer during a connection.

use gigatcp_units::Bytes;

use super::Profile;
use crate::truesize::{LEAST_RECEIVE_BUFFER, LEAST_SEND_BUFFER};

/// Rule by which the receive buffer is advertised to the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowPolicy {
    /// All free space immediately (RFC 9293 section 3.8.6.2).
    FreeSpace,
    /// A window that starts small and grows with arriving segments (`rcv_ssthresh`).
    ///
    /// As in Linux 2.6.20, it starts at four, three or two segments: the initial window of any
    /// sender of 2007. It grows by two segments for each full-sized one that arrives. While it
    /// grows, every segment is acknowledged. Linux since 4.20 starts at 64 KiB instead.
    Grows,
}

/// Buffers of both directions, the window they back, and calls of the application.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Buffers {
    /// Receive buffer of a connection that requests none (Linux `tcp_rmem[1]`).
    pub receive_buffer_start: Bytes,
    /// Largest size it grows to (Linux `tcp_rmem[2]`); it determines the window scale.
    pub receive_buffer_max: Bytes,
    /// Receive buffer autotuning (Linux `tcp_moderate_rcvbuf`). A buffer that was not requested
    /// grows to what the path and the application need.
    pub receive_autotuning: bool,
    /// Autotuning counts what the application reads, so that a filled gap counts as a burst
    /// (Linux `tcp_rcv_space_adjust`). Without, it counts what arrived, whether in order or not.
    pub autotuning_counts_reads: bool,
    /// Rule by which the receive buffer is advertised to the peer.
    pub window_policy: WindowPolicy,
    /// Share of the receive buffer not advertised, as a shift: 2 reserves a quarter. Linux
    /// `tcp_adv_win_scale`; 0 reserves nothing.
    pub window_reserve_shift: u32,
    /// The right edge of the window may move left (Linux `tcp_shrink_window`). It does when the
    /// buffer has less free space than was advertised. RFC 9293 SHLD-14 says a receiver should
    /// not.
    pub may_shrink_window: bool,
    /// A segment without data is acceptable anywhere in the free space of the receive buffer, which
    /// may exceed what the window field could say. BSD `tcp_input` takes that space for RCV.WND; data
    /// beyond the advertised window is dropped here.
    pub accepts_free_space: bool,
    /// Segments by which the window must have opened for an unsolicited window update. Half the
    /// largest window also suffices (BSD `tcp_output`: two). With 0 the window must have doubled
    /// (Linux `tcp_cleanup_rbuf`).
    pub window_update_segments: u32,
    /// Send buffer of a connection that requests none (Linux `tcp_wmem[1]`).
    pub send_buffer_start: Bytes,
    /// Largest size it grows to (Linux `tcp_wmem[2]`).
    pub send_buffer_max: Bytes,
    /// Send buffer autotuning. A buffer that was not requested holds two congestion windows.
    pub send_autotuning: bool,
    /// Bytes that a bulk sender writes to the socket in one call.
    pub write_size: Bytes,
    /// Free space at which a blocked writer is woken (BSD `sb_lowat` of the send buffer). `None`:
    /// a third of the send buffer (Linux `sk_stream_is_writeable`).
    pub write_low_water: Option<Bytes>,
    /// Bytes of one call that reach TCP at a time (BSD `sosend`: an mbuf cluster). With 0: all
    /// that fit in the buffer. After each chunk, TCP sends what may leave.
    pub write_chunk: u32,
    /// Unsent bytes below which an application may write (Linux `TCP_NOTSENT_LOWAT`). `None`: it
    /// may write as long as the send buffer has space.
    pub not_sent_lowat: Option<Bytes>,
    /// Largest buffer granted on request, before doubling (Linux `wmem_max`, `rmem_max`). With
    /// [`WindowPolicy::Grows`] it also determines the window scale, and with it the largest
    /// window: 65535 shifted by what this limit needs.
    pub buffer_limit: Bytes,
    /// A requested buffer is granted at twice its size (Linux `SO_SNDBUF`, `SO_RCVBUF`). The
    /// second half pays for the kernel's bookkeeping.
    pub buffer_doubling: bool,
    /// Requested buffers are rounded up to whole segments when SMSS is known (BSD `tcp_mss`).
    pub buffers_in_segments: bool,
    /// Send buffer from the route to the peer (BSD `rmx_sendpipe`); `None`: the route has none.
    pub route_send_buffer: Option<Bytes>,
    /// Receive buffer from the route to the peer (BSD `rmx_recvpipe`).
    pub route_receive_buffer: Option<Bytes>,
    /// Buffers of the route replace larger ones that the application requested. BSD `tcp_mss` did
    /// so until the patch of kern/6032. Without, the route can only raise a buffer.
    pub route_buffers_override: bool,
    /// Buffers count the memory of packets instead of their octets (Linux `skb->truesize`).
    /// Windows follow.
    pub truesize: bool,
}

impl Profile {
    /// Buffer granted for a request of `requested` octets.
    pub(crate) fn granted_buffer(&self, requested: Bytes) -> Bytes {
        let factor = if self.buffers.buffer_doubling { 2 } else { 1 };
        let limited = requested.min(self.buffers.buffer_limit);
        Bytes::new(limited.as_u64().saturating_mul(factor))
    }

    /// `mss` rounded down to whole buffers, see `smss_multiple`.
    pub fn whole_buffers(&self, mss: u32) -> u32 {
        match self.segments.smss_multiple {
            multiple @ 1.. if mss > multiple => mss - mss % multiple,
            _ => mss,
        }
    }

    /// Initial receive buffer of a connection that requested `requested`.
    pub fn receive_buffer_for(&self, requested: Option<Bytes>) -> Bytes {
        let granted = requested.map_or(self.buffers.receive_buffer_start, |octets| {
            self.granted_buffer(octets)
        });
        self.at_least(granted, LEAST_RECEIVE_BUFFER)
    }

    /// Initial send buffer of a connection that requested `requested`.
    pub fn send_buffer_for(&self, requested: Option<Bytes>) -> Bytes {
        let granted = requested.map_or(self.buffers.send_buffer_start, |octets| {
            self.granted_buffer(octets)
        });
        self.at_least(granted, LEAST_SEND_BUFFER)
    }

    /// `granted`, with `truesize` at least `least` octets.
    fn at_least(&self, granted: Bytes, least: u64) -> Bytes {
        if self.buffers.truesize {
            granted.max(Bytes::new(least))
        } else {
            granted
        }
    }

    /// Largest window that a receive buffer of `granted` octets backs.
    pub fn window_of(&self, granted: Bytes) -> Bytes {
        match self.buffers.window_reserve_shift {
            0 => granted,
            shift => Bytes::new(granted.as_u64() - (granted.as_u64() >> shift)),
        }
    }

    /// Buffer that backs a window of `window` octets.
    pub(crate) fn buffer_backing(&self, window: u64) -> u64 {
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
