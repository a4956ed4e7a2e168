//! The contract of all elements that carry parcels; [the crate's page](crate#contract)
//! says in which order a driver calls.

use gigatcp_units::Instant;

use crate::network::Dropped;
use crate::{Counters, DropCause, Hop, Network, Parcel, Routed, SharedMedium};

/// An element that carries parcels.
///
/// * What is given in comes out or is dropped, wire packet by wire packet, and
///   [`Element::counters`] account for it at any moment.
/// * Nothing comes out before [`Element::poll_timeout`]; after
///   [`Element::poll_delivery`] has given `None` that is later than `now`, or never.
/// * To poll more often than requested changes nothing.
/// * Equal calls have equal results: the seed an element was built with is all that is
///   random about it.
///
/// `core/path/tests/elements.rs` holds every element to that.
pub trait Element {
    /// What it carries.
    type Parcel: Parcel;

    /// Takes in a parcel at `now`.
    fn handle_arrival(&mut self, now: Instant, parcel: Self::Parcel);

    /// Returns the next parcel that has come out by `now`.
    fn poll_delivery(&mut self, now: Instant) -> Option<Self::Parcel>;

    /// Returns the next parcel that did not get through, and why.
    fn poll_dropped(&mut self) -> Option<(Self::Parcel, DropCause)>;

    /// Returns when to poll for a delivery again: not after the next one.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Returns what has happened to wire packets so far.
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

/// Parcels come in at the station that has the number of their flow, or what is left of
/// that number by the number of stations.
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

/// Parcels come in where their routes begin and out where they end.
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
