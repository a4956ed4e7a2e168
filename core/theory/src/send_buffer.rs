//! Bytes that Linux keeps in flight with a send buffer.
//!
//! A program is woken when two thirds of the buffer are in use. Linux then accepts data until the
//! buffer is full, at least a super-packet.

use gigatcp_units::Bytes;

/// Maximum size of a super-packet, bytes.
pub const SUPER_PACKET: u64 = 65_536;

/// Mean number of bytes that a send buffer of `buffer` bytes holds in flight: of both bounds.
pub fn send_window(buffer: u64) -> Bytes {
    Bytes::new((buffer - buffer / 3).saturating_add(send_burst(buffer) / 2))
}

/// Bytes that a write adds to a full send buffer once it goes on.
pub fn send_burst(buffer: u64) -> u64 {
    (buffer / 3).max(SUPER_PACKET)
}

/// Bytes of a send buffer that holds at least `window` in flight even before such a write.
pub fn buffer_for_window(window: u64) -> u64 {
    window.saturating_add(window.div_ceil(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_for_a_window_holds_it() {
        for window in [0, 1, 65_536, 200_000, 10_000_000] {
            let buffer = buffer_for_window(window);
            assert!(buffer - buffer / 3 >= window, "{window}");
            assert!(send_window(buffer).as_u64() >= window);
        }
    }
}
