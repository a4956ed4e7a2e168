//! Shared media as elements of a network.
//!
//! In a route, a station is like a link. A packet that enters at one of several stations of a
//! medium comes out for the next link of its route. The whole medium has one appointment.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use super::{Dropped, Network};
use crate::route::{NetworkConfig, Routed};
use crate::{ConfigError, Hop, Parcel, SharedMedium};

/// Media of a network.
#[derive(Debug)]
pub(super) struct Media<T> {
    media: Vec<SharedMedium<T>>,
    /// Medium of each station, and the station's number there.
    stations: Box<[(usize, usize)]>,
}

impl<T: Parcel> Media<T> {
    pub(super) fn new(config: &NetworkConfig, seed: u64) -> Result<Self, ConfigError> {
        let media = config
            .media
            .iter()
            .cloned()
            .map(|medium| SharedMedium::new(medium, seed));
        Ok(Self {
            media: media.collect::<Result<_, _>>()?,
            stations: config.stations().collect(),
        })
    }

    /// Time of the next event of a medium; the far future if none.
    pub(super) fn due(&self, medium: usize) -> Instant {
        let due = self.media[medium].poll_timeout();
        due.unwrap_or(Instant::FAR_FUTURE)
    }
}

impl<T> Media<T> {
    pub(super) fn as_slice(&self) -> &[SharedMedium<T>] {
        &self.media
    }

    pub(super) fn into_vec(self) -> Vec<SharedMedium<T>> {
        self.media
    }

    /// Number of stations of all media.
    pub(super) fn stations(&self) -> usize {
        self.stations.len()
    }
}

impl<T: Routed> Network<T> {
    /// Medium whose station has this number in routes. `None`: it is a link.
    pub fn medium_of(&self, link: usize) -> Option<usize> {
        let station = link.checked_sub(self.links.len())?;
        Some(self.media.stations.get(station)?.0)
    }

    /// Time from zero to `now` in which a link or medium was busy. A medium is given by one of its
    /// stations.
    pub fn busy_time(&self, link: usize, now: Instant) -> Duration {
        match self.medium_of(link) {
            Some(medium) => self.media.media[medium].busy_time(),
            None => self.links[link].busy_time(now),
        }
    }

    /// Waiting time at a link of a packet that arrives at `now`. Zero for a station: its wait
    /// depends on later transmissions of others.
    pub fn wait(&self, link: usize, now: Instant) -> Duration {
        let link = self.links.get(link);
        link.map_or(Duration::ZERO, |hop| hop.wait(now))
    }

    /// Whether any parcel is inside.
    pub fn is_occupied(&self) -> bool {
        let links = self.links.iter().map(Hop::counters);
        let media = self.media.media.iter().map(SharedMedium::counters);
        let mut all = links.chain(media);
        all.any(|counters| !counters.inside.is_zero())
    }

    /// Processes the events of a medium due at `at`; returns its next output.
    #[inline(never)]
    pub(super) fn serve_medium(&mut self, at: Instant, element: usize) -> Option<T> {
        let number = element - self.links.len();
        let polled = self.media.media[number]
            .poll_delivery(at)
            .map(|(_, parcel)| parcel);
        let next = self.media.due(number);
        self.appoint(at, element, next);
        self.collect_dropped_on_medium(at, element);
        polled
    }

    /// Accepts a parcel at the station with this number.
    #[inline(never)]
    pub(super) fn enter_medium(&mut self, at: Instant, link: usize, parcel: T) {
        let (number, station) = self.media.stations[link - self.links.len()];
        self.media.media[number].handle_arrival(at, station, parcel);
        let element = self.links.len() + number;
        self.reschedule(element);
        self.collect_dropped_on_medium(at, element);
    }

    /// Collects the drops of a medium; frames may be dropped at any time.
    fn collect_dropped_on_medium(&mut self, at: Instant, element: usize) {
        let medium = &mut self.media.media[element - self.links.len()];
        while let Some((parcel, cause)) = medium.poll_dropped() {
            let dropped = Dropped {
                link: element,
                parcel,
                cause,
            };
            self.uncollected
                .update(|uncollected| uncollected.unanswered.push_back((at, dropped)));
        }
    }
}
