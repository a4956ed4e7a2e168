//! The feature `authentication` is off: no segment is signed.

use gigatcp_units::Instant;
use gigatcp_wire::{Payload, Segment};

use super::{Connection, ConnectionConfig, Received};
use crate::authentication::Keys;
use crate::four_tuple::FourTuple;

/// Octets of the authentication option: 0, no segment has it.
pub(super) const OPTION_LEN: usize = 0;

/// Always `None`.
pub(super) type OptionalAuthenticator<P> = Option<Keys<P>>;

impl<P: Payload> Connection<P> {
    #[doc(hidden)]
    pub fn accept_authenticated(
        _now: Instant,
        _config: &ConnectionConfig,
        _syn: &Received<P>,
        _tuple: &FourTuple,
        keys: &Keys<P>,
    ) -> Option<Self> {
        keys.never()
    }

    pub(super) fn signed(&mut self, segment: Segment<P>) -> Option<Segment<P>> {
        Some(segment)
    }

    pub(super) fn is_authentic(&mut self, _segment: &Segment<P>) -> bool {
        true
    }
}
