//! Profiles: named sets of switches and constants.
//!
//! Every mechanism of the engine is a named switch, so that its effect can be measured without
//! it. So are the constants in which kernels and their versions differ. A [`Profile`] is one
//! complete choice, in groups by mechanism. [`SETTINGS`] lists them all by name for plans and the
//! command line; [`Profile::try_set`] changes one.
//!
//! | file | what |
//! |---|---|
//! | `profile/options.rs`, `opening.rs`, `closing.rs` | opening and closing of a connection |
//! | `profile/segments.rs`, `acknowledgments.rs`, `buffers.rs` | sending, receiving, windows |
//! | `profile/timer.rs`, `recovery.rs` | RTT, loss detection and recovery |
//! | `profile/congestion.rs`, `pacing.rs`, `ecn.rs` | congestion window, pacing, ECN |
//! | `profile/path_mtu.rs`, `liveness.rs`, `defense.rs` | path MTU, keep-alives, blind attacks |
//! | `profile/modern.rs` | `modern`, the base of the other profiles |
//! | `profile/linux_2_6_20.rs`, `profile/bsd_4_3_reno.rs` | systems of 2007 and 2001 (feature `historic`) |
//! | `profile/linux_6_18.rs`, `profile/freebsd.rs` | today's Linux and FreeBSD |
//! | `profile/settings.rs` | the settings by name |
//!
//! Other constants are defined, with a name and their source, in the file of their mechanism.
//! They belong to one published algorithm (the thresholds of HyStart and SEARCH, the 16
//! recoveries of RACK, the abstentions of Fast Open) or to one place in a kernel (the size of a
//! pacing burst, the length of a listener's queue). To change one requires a rebuild.
//!
//! A setting has the name of its field, with four exceptions: `ecn` is `ecn.mode`, `pacing` is
//! `pacing.enabled`, `byte_counting` is `congestion.counting`, and `window_grows` is
//! `buffers.window_policy`.
//!
//! Sources: RFCs as cited at each field, and those named in each profile.

mod acknowledgments;
#[cfg(feature = "historic")]
mod bsd_4_3_reno;
mod buffers;
mod closing;
mod congestion;
mod defense;
mod ecn;
mod freebsd;
#[cfg(feature = "historic")]
mod linux_2_6_20;
mod linux_6_18;
mod liveness;
mod modern;
mod opening;
mod options;
mod pacing;
mod path_mtu;
mod recovery;
mod segments;
mod settings;
mod timer;

pub use crate::ecn::{EcnMode, EcnOption};
pub use crate::prr::PrrRule;
pub use crate::recovery::ReduceAgain;
pub use crate::rtt::RtoRule;

pub use acknowledgments::Acknowledgments;
pub use buffers::{Buffers, WindowPolicy};
pub use closing::Closing;
pub use congestion::{Congestion, InitialWindow};
pub use defense::Defense;
pub use ecn::Ecn;
pub use liveness::Liveness;
pub use opening::{IgnoredRequest, Opening, SynCookies};
pub use options::Options;
pub use pacing::Pacing;
pub use path_mtu::PathMtu;
pub use recovery::Recovery;
pub use segments::Segments;
pub use settings::{SETTINGS, Setting, SettingError, SettingValue};
pub use timer::{EarlierRtt, Timer};

/// A complete choice of switches and constants for one host.
///
/// ```
/// use gigatcp_tcp::Profile;
/// use gigatcp_tcp::profile::SettingValue;
///
/// let mut profile = Profile::MODERN.with(|profile| profile.segments.nagle = false);
/// assert!(profile.try_set("sack", SettingValue::Switch(false)).is_ok());
/// assert!(!profile.recovery.sack && !profile.segments.nagle);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// Options that a SYN offers, RFC 7323.
    pub options: Options,
    /// Opening of a connection: SYNs, Fast Open, SYN cookies.
    pub opening: Opening,
    /// Closing a connection: FIN, FIN-WAIT-2 and TIME-WAIT.
    pub closing: Closing,
    /// Timing of a receiver's acknowledgments.
    pub acknowledgments: Acknowledgments,
    /// Segmentation on sending, and delivery of octets on receiving.
    pub segments: Segments,
    /// RTT measurement and the retransmission timer, RFC 6298.
    pub timer: Timer,
    /// Loss detection, loss recovery, and the undo of spurious reductions.
    pub recovery: Recovery,
    /// Initial size, growth and validation of the congestion window.
    pub congestion: Congestion,
    /// Explicit congestion notification, RFC 3168 and RFC 9768.
    pub ecn: Ecn,
    /// Pacing: segments leave at a rate instead of in bursts.
    pub pacing: Pacing,
    /// Buffers of both directions, the window they back, and calls of the application.
    pub buffers: Buffers,
    /// Discovery of the path's MTU, RFC 1191, RFC 8201 and RFC 8899.
    pub path_mtu: PathMtu,
    /// Keep-alives and the user timeout.
    pub liveness: Liveness,
    /// Validation of ICMP errors and of suspicious segments.
    pub defense: Defense,
}

impl Profile {
    /// All profiles.
    pub const ALL: &'static [Self] = &[
        Self::MODERN,
        Self::LINUX_6_18,
        Self::FREEBSD,
        #[cfg(feature = "historic")]
        Self::LINUX_2_6_20,
        #[cfg(feature = "historic")]
        Self::BSD_4_3_RENO,
    ];

    /// Profile named `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|p| p.name == name)
    }

    /// This profile, changed by `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Changes one setting by name.
    ///
    /// # Errors
    /// If the name is unknown, or the value is of the wrong kind or out of range.
    pub fn try_set(&mut self, name: &str, value: SettingValue) -> Result<(), SettingError> {
        let setting = SETTINGS
            .iter()
            .find(|setting| setting.name == name)
            .ok_or(SettingError::UnknownName)?;
        if (setting.apply)(self, value) {
            Ok(())
        } else {
            Err(SettingError::WrongValue {
                expected: setting.expects,
            })
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::MODERN
    }
}

#[cfg(test)]
mod tests {
    use gigatcp_units::{Bytes, Duration, Rate};

    use super::*;

    #[test]
    fn a_setting_refuses_values_of_the_wrong_kind_or_size() {
        let mut profile = Profile::MODERN;
        assert_eq!(profile.try_set("sack", SettingValue::Switch(false)), Ok(()));
        assert!(!profile.recovery.sack);
        assert_eq!(
            profile.try_set("sacks", SettingValue::Switch(false)),
            Err(SettingError::UnknownName)
        );
        let half_a_second = SettingValue::Time(Duration::from_millis(500));
        assert!(
            profile
                .try_set("delayed_ack_timeout", half_a_second)
                .is_err()
        );
        assert!(
            profile
                .try_set("ack_every", SettingValue::Count(0))
                .is_err()
        );
    }

    #[test]
    fn every_rule_that_a_profile_may_have_can_be_asked_for_and_taken_back() {
        let mut profile = Profile::MODERN;
        let mut set = |name, value| assert_eq!(profile.try_set(name, value), Ok(()));
        let (word, off) = (SettingValue::Word, SettingValue::Switch(false));
        set("prr", word("rfc6937-ssrb"));
        set("initial_window", word("rfc3390"));
        set(
            "ack_every_switch",
            SettingValue::Time(Duration::from_secs(4)),
        );
        set("ack_every_switch", off);
        set(
            "max_pacing_rate",
            SettingValue::Rate(Rate::from_bps(1_000_000)),
        );
        set("max_pacing_rate", off);
        set("not_sent_lowat", SettingValue::Amount(Bytes::new(1000)));
        set("not_sent_lowat", off);
        let asked = Profile::MODERN.with(|profile| {
            profile.recovery.prr = Some(PrrRule::SlowStart);
            profile.congestion.initial_window = InitialWindow::Rfc3390;
        });
        assert_eq!(profile, asked);
        assert!(profile.try_set("initial_window", word("rfc2414")).is_err());
    }

    #[test]
    fn no_two_settings_share_a_name() {
        for (i, setting) in SETTINGS.iter().enumerate() {
            assert!(SETTINGS[..i].iter().all(|other| other.name != setting.name));
        }
    }
}
