//! The feature `fast-open` is off: a listener ignores the option.

use core::convert::Infallible;
use core::net::IpAddr;

use gigatcp_wire::FastOpenCookie;

use crate::profile::Profile;
use crate::secret::Secret;

/// No cookies.
#[derive(Clone, Copy, Debug)]
pub struct FastOpenKey;

/// The worth of a cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Never.
    Good,
    /// Never.
    Outdated,
    /// Always.
    Bad,
}

impl FastOpenKey {
    pub(crate) const fn new(_secret: Secret) -> Self {
        Self
    }

    pub(crate) fn change(&mut self, _secret: Secret) {}

    pub(crate) const fn serves(&self, _profile: &Profile) -> bool {
        false
    }

    pub(crate) const fn cookie(&self, _client: IpAddr) -> FastOpenCookie {
        FastOpenCookie::REQUEST
    }

    pub(crate) const fn judge(&self, _client: IpAddr, _offered: FastOpenCookie) -> Verdict {
        Verdict::Bad
    }
}

/// Connections opened so: none.
#[derive(Clone, Default, Debug)]
pub struct FastOpenSlots(());

/// The place of one of them.
#[derive(Debug)]
pub struct FastOpenSlot;

impl FastOpenSlots {
    pub(crate) const fn take(&self) -> FastOpenSlot {
        FastOpenSlot
    }

    pub(crate) const fn pending(&self) -> usize {
        0
    }

    pub(crate) const fn take_resets(&self) -> usize {
        0
    }
}

/// The outcome of a fast open, of which there is none.
#[derive(Clone, Copy, Debug)]
pub struct FastOpenOutcome {
    /// See the feature.
    pub text_sent: u32,
    /// See the feature.
    pub timed_out: bool,
    /// See the feature.
    pub icmp_error: bool,
    /// See the feature.
    pub never: Infallible,
}
