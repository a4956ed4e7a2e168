//! Contract of all elements that carry parcels. [The crate's page](crate#contract) describes the
//! order in which a driver calls.

use gigatcp_units::Instant;

use crate::network::Dropped;
use crate::{Counters, DropCause, Hop, Network, Parcel, Routed, SharedMedium};

/// An element that carries parcels.
///
/// * Every wire packet that enters comes out or is dropped, and [`Element::counters`] account for
///   it at any moment.
/// * Nothing comes out before [`Element::poll_timeout`]. After [`Element::poll_delivery`] has
///   returned `None`, that time is later than `now`, or never.
/// * Polling more often than requested changes nothing.
/// * Equal calls have equal results: the only randomness is the seed an element was built with.
///
/// `core/path/tests/elements.rs` tests this for every element.
pub trait Element {
    /// Type of parcel it carries.
    type Parcel: Parcel;

    /// Accepts a parcel at `now`.
    fn handle_arrival(&mut self, now: Instant, parcel: Self::Parcel);

    /// Returns the next parcel that has come out by `now`.
    fn poll_delivery(&mut self, now: Instant) -> Option<Self::Parcel>;

    /// Returns the next dropped parcel, and the cause.
    fn poll_dropped(&mut self) -> Option<(Self::Parcel, DropCause)>;

    /// Returns when to poll for a delivery again: not after the next one.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Returns the counters of wire packets so far.
    fn counters(&self) -> Counters;
}

impl<T: Parcel> Element for Hop<T> {
    type Parcel = T;

    #[inline]
    fn handle_arrival(&mut self, now: Instant, parcel: T) {
        self.handle_arrival(now, parcel);
    }

    #[inline]
    fn poll_delivery(&mut self, now: Instant) -> Option<T> {
        self.poll_delivery(now)
    }

    fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        self.poll_dropped()
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn counters(&self) -> Counters {
        *self.counters()
    }
}

/// Parcels enter at the station numbered by their flow, modulo the number of stations.
impl<T: Parcel> Element for SharedMedium<T> {
    type Parcel = T;

    fn handle_arrival(&mut self, now: Instant, parcel: T) {
        let stations = self.stations().count().max(1);
        self.handle_arrival(now, parcel.flow() as usize % stations, parcel);
    }

    fn poll_delivery(&mut self, now: Instant) -> Option<T> {
        self.poll_delivery(now).map(|(_, parcel)| parcel)
    }

    fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        self.poll_dropped()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn counters(&self) -> Counters {
        *self.counters()
    }
}

/// Parcels enter where their routes begin and come out where they end.
impl<T: Routed> Element for Network<T> {
    type Parcel = T;

    fn handle_arrival(&mut self, now: Instant, parcel: T) {
        self.handle_arrival(now, parcel);
    }

    fn poll_delivery(&mut self, now: Instant) -> Option<T> {
        self.poll_delivery(now).map(|delivery| delivery.parcel)
    }

    fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        let Dropped { parcel, cause, .. } = self.poll_dropped()?;
        Some((parcel, cause))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn counters(&self) -> Counters {
        self.counters()
    }
}
