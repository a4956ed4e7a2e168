//! The user timeout option, RFC 5482 section 3.

/// Bit that is set if the value is in minutes.
const MINUTES: u16 = 1 << 15;

/// Maximum time for which one side lets data go without acknowledgment. It then aborts the
/// connection. In seconds or minutes, 15 bits, never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UserTimeout(u16);

impl UserTimeout {
    /// Octets of the option.
    pub(crate) const OPTION_LEN: usize = 4;

    /// Shortest timeout of the option that is at least `seconds`. Exact up to 9 hours, to the
    /// minute up to 22 days, which is the maximum.
    pub const fn from_seconds(seconds: u64) -> Self {
        if seconds == 0 {
            return Self(1);
        }
        if seconds < MINUTES as u64 {
            return Self(seconds as u16);
        }
        let minutes = seconds.div_ceil(60);
        if minutes < MINUTES as u64 {
            Self(MINUTES | minutes as u16)
        } else {
            Self(u16::MAX)
        }
    }

    /// Reads the option's value; zero is reserved: `None`.
    pub(crate) const fn from_wire(bits: u16) -> Option<Self> {
        if bits & !MINUTES == 0 {
            None
        } else {
            Some(Self(bits))
        }
    }

    pub(crate) const fn to_wire(self) -> u16 {
        self.0
    }

    /// Timeout in seconds.
    pub const fn seconds(self) -> u64 {
        let value = (self.0 & !MINUTES) as u64;
        let unit = if self.0 & MINUTES == 0 { 1 } else { 60 };
        value * unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_said_in_seconds_while_they_fit_and_then_in_minutes() {
        let said = |seconds| {
            let option = UserTimeout::from_seconds(seconds);
            (option.to_wire(), option.seconds())
        };
        assert_eq!(said(0), (1, 1));
        assert_eq!(said(300), (300, 300));
        assert_eq!(said(32_767), (32_767, 32_767));
        assert_eq!(said(32_768), (MINUTES | 547, 547 * 60));
        assert_eq!(said(u64::MAX), (u16::MAX, 32_767 * 60));
    }

    #[test]
    fn zero_is_reserved() {
        assert_eq!(UserTimeout::from_wire(0), None);
        assert_eq!(UserTimeout::from_wire(MINUTES), None);
        assert_eq!(UserTimeout::from_wire(1).unwrap().to_wire(), 1);
    }
}
