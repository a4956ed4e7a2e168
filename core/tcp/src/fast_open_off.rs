//! Fast Open without the feature `fast-open`: a listener ignores the option.

use core::convert::Infallible;
use core::net::IpAddr;

use gigatcp_wire::FastOpenCookie;

use crate::profile::Profile;
use crate::secret::Secret;

/// Server key without cookies.
#[derive(Clone, Copy, Debug)]
pub struct FastOpenKey;

/// Validity of a cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CookieValidity {
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

    pub(crate) const fn of_linux(_secret: Secret, _server: IpAddr) -> Self {
        Self
    }

    pub(crate) fn change(&mut self, _secret: Secret) {}

    pub(crate) const fn serves(&self, _profile: &Profile) -> bool {
        false
    }

    pub(crate) const fn cookie(&self, _client: IpAddr) -> FastOpenCookie {
        FastOpenCookie::REQUEST
    }

    pub(crate) const fn check_cookie(
        &self,
        _client: IpAddr,
        _offered: FastOpenCookie,
    ) -> CookieValidity {
        CookieValidity::Bad
    }
}

/// Number of pending Fast Open connections: none.
#[derive(Clone, Default, Debug)]
pub struct FastOpenSlots(());

/// Slot of a Fast Open connection.
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

/// Result of a fast open, which never exists.
#[derive(Clone, Copy, Debug)]
pub struct FastOpenOutcome {
    /// Unused without the feature `fast-open`.
    pub text_sent: u32,
    /// Unused without the feature `fast-open`.
    pub timed_out: bool,
    /// Unused without the feature `fast-open`.
    pub icmp_error: bool,
    /// Makes the type impossible to construct.
    pub never: Infallible,
}
