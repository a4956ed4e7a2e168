//! What a buffer that is asked for becomes, and the window it can back.
//!
//! Kernels grant other amounts than they are asked for, and keep a share for
//! their own bookkeeping; how much is a matter of the profile. How a buffer
//! grows while a connection lasts is `receive_autotuning.rs`.

use gigatcp_units::Bytes;

use super::Profile;
use crate::truesize::LEAST_SEND_BUFFER;

impl Profile {
    /// What a request for a buffer of `requested` octets is granted.
    #[must_use]
    pub fn granted_buffer(&self, requested: Bytes) -> Bytes {
        let factor = if self.buffer_doubling { 2 } else { 1 };
        let limited = requested.min(self.buffer_limit);
        Bytes::new(limited.as_u64().saturating_mul(factor))
    }

    /// `mss` octets cut to whole buffers, see `smss_multiple`.
    #[must_use]
    pub fn whole_buffers(&self, mss: u32) -> u32 {
        match self.smss_multiple {
            multiple @ 1.. if mss > multiple => mss - mss % multiple,
            _ => mss,
        }
    }

    /// The receive buffer a connection begins with that asked for `requested`.
    #[must_use]
    pub fn receive_buffer_for(&self, requested: Option<Bytes>) -> Bytes {
        requested.map_or(self.receive_buffer_start, |octets| {
            self.granted_buffer(octets)
        })
    }

    /// The send buffer a connection begins with that asked for `requested`.
    #[must_use]
    pub fn send_buffer_for(&self, requested: Option<Bytes>) -> Bytes {
        let granted =
            requested.map_or(self.send_buffer_start, |octets| self.granted_buffer(octets));
        if self.truesize {
            granted.max(Bytes::new(LEAST_SEND_BUFFER))
        } else {
            granted
        }
    }

    /// The largest window a receive buffer of `granted` octets can back.
    #[must_use]
    pub fn window_of(&self, granted: Bytes) -> Bytes {
        match self.window_reserve_shift {
            0 => granted,
            shift => Bytes::new(granted.as_u64() - (granted.as_u64() >> shift)),
        }
    }

    /// The buffer that backs a window of `window` octets.
    #[must_use]
    pub fn buffer_backing(&self, window: u64) -> u64 {
        match self.window_reserve_shift {
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
        let profile = Profile {
            buffer_limit: Bytes::new(100 << 20),
            ..Profile::LINUX_2_6_20
        };
        let granted = profile.granted_buffer(Bytes::new(60 << 20));
        assert_eq!(granted, Bytes::new(120 << 20));
        assert_eq!(profile.window_of(granted), Bytes::new(90 << 20));
    }
}
