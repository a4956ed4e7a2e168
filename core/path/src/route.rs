//! Configuration of a network: links, media, and a route over them for each flow and direction.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::Bytes;

use crate::{ConfigError, HopConfig, Parcel, SharedMediumConfig};

/// A parcel with a route through a network.
pub trait Routed: Parcel {
    /// Number of its route.
    fn route(&self) -> usize;

    /// Number of links of its route it has entered.
    fn stage(&self) -> usize;

    /// Counts one more link as entered.
    fn advance(&mut self);

    /// Notification to its sender that it exceeds the MTU `mtu` of a link. RFC 1191 section 4, RFC
    /// 4443 section 3.2. The answer takes route `back`, of which it counts `stage` links as
    /// entered. `None` if the sender is not notified: errors cause no errors (RFC 1122 section
    /// 3.2.2).
    fn too_big(&self, mtu: Bytes, back: usize, stage: usize) -> Option<Self>;
}

/// Route of a flow in one direction.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Route {
    /// Numbers of its links and stations, in order.
    pub links: Vec<usize>,
    /// Route of answers, and for each of `links` the number of links skipped there. `None`: senders
    /// are not notified.
    pub back: Option<(usize, Vec<usize>)>,
}

impl Route {
    /// Routes `first` and `first + 1`: over the links `forward`, and back over `reverse`. An error
    /// returns over as many links as the packet had crossed, the last of the other route.
    pub fn pair(first: usize, forward: Vec<usize>, reverse: Vec<usize>) -> [Self; 2] {
        let (there, back) = (forward.len(), reverse.len());
        let left_out = |links: usize, others: usize| {
            let crossed = 0..links;
            crossed.map(|n| others - n.min(others)).collect()
        };
        [
            Self {
                links: forward,
                back: Some((first + 1, left_out(there, back))),
            },
            Self {
                links: reverse,
                back: Some((first, left_out(back, there))),
            },
        ]
    }
}

/// Configuration of links, media and routes of a network.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct NetworkConfig {
    /// All links, with unique names.
    pub links: Vec<HopConfig>,
    /// Media that routes share. Numbers of their stations follow those of the links, in order. A
    /// route enters a medium at its own station.
    pub media: Vec<SharedMediumConfig>,
    /// All routes.
    pub routes: Vec<Route>,
}

impl NetworkConfig {
    /// One path: route 0 over `forward`, route 1 back over `reverse`.
    ///
    /// Links are numbered along the routes; see [`Route::pair`].
    pub fn path(forward: Vec<HopConfig>, reverse: Vec<HopConfig>) -> Self {
        let there = forward.len();
        let routes = Route::pair(
            0,
            (0..there).collect(),
            (there..there + reverse.len()).collect(),
        );
        Self {
            links: forward.into_iter().chain(reverse).collect(),
            media: Vec::new(),
            routes: routes.into(),
        }
    }

    /// Number of the link or station of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        let link = self.links.iter().position(|link| link.name == name);
        link.or_else(|| {
            let mut number = self.links.len();
            for medium in &self.media {
                if let Some(station) = medium.find(name) {
                    return Some(number + station);
                }
                number += medium.recoveries.len();
            }
            None
        })
    }

    /// Medium of every station, and the station's number there.
    pub(crate) fn stations(&self) -> impl Iterator<Item = (usize, usize)> {
        let media = self.media.iter().enumerate();
        media.flat_map(|(medium, config)| {
            let stations = 0..config.recoveries.len();
            stations.map(move |station| (medium, station))
        })
    }

    /// Same network with its links numbered in reverse order. Stations keep their numbers.
    #[must_use]
    pub fn last_link_first(mut self) -> Self {
        self.links.reverse();
        let count = self.links.len();
        for link in self.routes.iter_mut().flat_map(|route| &mut route.links) {
            // The number of a missing link stays that of a missing link.
            *link = count.checked_sub(*link + 1).unwrap_or(*link);
        }
        self
    }

    /// Checks that a network can be built from this.
    ///
    /// # Errors
    /// An invalid link ([`HopConfig::check`]) or medium ([`SharedMediumConfig::check`]);
    /// [`ConfigError::NoSuchLink`]; [`ConfigError::NoReverseRoute`].
    pub fn check(&self) -> Result<(), ConfigError> {
        self.links.iter().try_for_each(HopConfig::check)?;
        self.media.iter().try_for_each(SharedMediumConfig::check)?;
        let count = self.links.len() + self.stations().count();
        let mut links = self.routes.iter().flat_map(|route| &route.links);
        if links.any(|link| *link >= count) {
            return Err(ConfigError::NoSuchLink);
        }
        if !self.routes.iter().all(|route| self.has_sound_back(route)) {
            return Err(ConfigError::NoReverseRoute);
        }
        Ok(())
    }

    fn has_sound_back(&self, route: &Route) -> bool {
        let Some((back, left_out)) = &route.back else {
            return true;
        };
        let most = self.routes.get(*back).map(|back| back.links.len());
        left_out.len() == route.links.len()
            && most.is_some_and(|most| left_out.iter().all(|links| *links <= most))
    }

    /// Whether `link` is the last of every route that it is on.
    pub(crate) fn ends_routes(&self, link: usize) -> bool {
        self.routes.iter().all(|route| {
            let place = route.links.iter().position(|other| *other == link);
            place.is_none_or(|place| place + 1 == route.links.len())
        })
    }

    /// Element for a link number of a route: links come first, then media.
    fn element(&self, link: usize) -> usize {
        let count = self.links.len();
        let station = link
            .checked_sub(count)
            .and_then(|station| self.stations().nth(station));
        station.map_or(link, |(medium, _)| count + medium)
    }

    /// Elements from which parcels may reach `link`, directly or over others.
    pub(crate) fn upstream(&self, link: usize) -> Box<[usize]> {
        let mut found: Vec<usize> = Vec::new();
        let mut open = alloc::vec![link];
        while let Some(at) = open.pop() {
            for before in self.directly_before(at) {
                if before != link && !found.contains(&before) {
                    found.push(before);
                    open.push(before);
                }
            }
        }
        found.into()
    }

    /// Elements that pass parcels to `element`, or answer into it.
    fn directly_before(&self, element: usize) -> impl Iterator<Item = usize> {
        let is_it = move |link: &usize| self.element(*link) == element;
        self.routes.iter().flat_map(move |route| {
            let pairs = route.links.windows(2).filter(move |pair| is_it(&pair[1]));
            let back = route.back.iter().flat_map(move |(back, left_out)| {
                let enters = move |stage: &usize| self.routes[*back].links.get(*stage);
                let answers = route.links.iter().zip(left_out);
                answers.filter(move |(_, stage)| enters(stage).is_some_and(is_it))
            });
            let before = pairs.map(|pair| pair[0]).chain(back.map(|(from, _)| *from));
            before.map(|link| self.element(link))
        })
    }
}

/// The links of all routes, in one table.
#[derive(Clone, Debug)]
pub(crate) struct Ways {
    /// The links of each route, padded with [`Ways::END`].
    table: Box<[u32]>,
    /// Length of the longest route plus one.
    stride: usize,
}

impl Ways {
    const END: u32 = u32::MAX;

    pub(crate) fn new(routes: &[Route]) -> Self {
        let longest = routes.iter().map(|route| route.links.len()).max();
        let stride = longest.unwrap_or(0) + 1;
        let mut table = alloc::vec![Self::END; stride * routes.len()];
        for (row, route) in table.chunks_exact_mut(stride).zip(routes) {
            for (place, link) in row.iter_mut().zip(&route.links) {
                *place = *link as u32;
            }
        }
        Self {
            table: table.into(),
            stride,
        }
    }

    /// Link at index `stage` of a route.
    #[inline]
    pub(crate) fn link(&self, route: usize, stage: usize) -> Option<usize> {
        debug_assert!(
            stage < self.stride,
            "stage {stage}, the longest route has {}",
            self.stride
        );
        let link = *self.table.get(route * self.stride + stage)?;
        (link != Self::END).then_some(link as usize)
    }
}
