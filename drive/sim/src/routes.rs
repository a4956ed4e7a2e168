//! Builds a network and its routes from the links and flows of a configuration.

use std::collections::HashMap;

use gigatcp_path::{ConfigError, HopConfig, NetworkConfig, Route};
use gigatcp_units::Duration;

use crate::config::{Via, WorldConfig};

/// Maximum number of links of a route: packets count them in 8 bits.
const MAX_LINKS: usize = 255;

/// Names of wires.
const FORWARD: &str = "forward wire";
const REVERSE: &str = "reverse wire";

/// Network of a simulation, and the routes of its flows.
pub(crate) struct Routes {
    pub(crate) network: NetworkConfig,
    /// Forward route of each flow, process of arrivals and source of datagrams, in this order. The
    /// reverse route has the next number.
    pub(crate) of_flow: Vec<u16>,
}

impl Routes {
    /// Network and routes of a configuration.
    ///
    /// Links are numbered `forward`, `reverse`, `links`, wires. Routes 0 and 1 are those of flows
    /// that name no links.
    ///
    /// # Errors
    /// [`ConfigError::NoSuchLink`] if a flow names a link that does not exist,
    /// [`ConfigError::RouteTooLong`], [`ConfigError::TooManyRoutes`].
    pub(crate) fn new(config: &WorldConfig) -> Result<Self, ConfigError> {
        let is_taken = config.vias().any(|via| via.is_none());
        let [forward, reverse] =
            [(&config.forward, FORWARD), (&config.reverse, REVERSE)].map(|(links, wire)| {
                match is_taken && links.is_empty() {
                    true => vec![shortest_wire(wire)],
                    false => links.clone(),
                }
            });
        let mut network = NetworkConfig::path(forward, reverse);
        network.links.extend(config.links.iter().cloned());
        network.media.clone_from(&config.media);
        // Before anything is numbered: stations have the numbers after those of links.
        let vias = || config.vias().flatten();
        for (is_missing, wire) in [
            (vias().any(|via| !config.has_link(&via.forward)), FORWARD),
            (vias().any(|via| !config.has_link(&via.reverse)), REVERSE),
        ] {
            if is_missing && network.find(wire).is_none() {
                network.links.push(shortest_wire(wire));
            }
        }
        let mut pairs: HashMap<&Via, u16> = HashMap::new();
        let mut of_flow = Vec::new();
        for via in config.vias() {
            let Some(via) = via else {
                of_flow.push(0);
                continue;
            };
            let pair = match pairs.get(via) {
                Some(pair) => *pair,
                None => add(config, &mut network, via)?,
            };
            pairs.insert(via, pair);
            of_flow.push(pair);
        }
        if network
            .routes
            .iter()
            .any(|route| route.links.len() > MAX_LINKS)
        {
            return Err(ConfigError::RouteTooLong);
        }
        Ok(Self { network, of_flow })
    }
}

/// Adds the routes of a flow; returns the number of the first.
fn add(config: &WorldConfig, network: &mut NetworkConfig, via: &Via) -> Result<u16, ConfigError> {
    let links = |names: &[String], wire: &str| {
        let wire = (!config.has_link(names)).then_some(wire);
        names
            .iter()
            .map(String::as_str)
            .chain(wire)
            .map(|name| network.find(name))
            .collect::<Option<Vec<_>>>()
            .ok_or(ConfigError::NoSuchLink)
    };
    let forward = links(&via.forward, FORWARD)?;
    let reverse = links(&via.reverse, REVERSE)?;
    let first = u16::try_from(network.routes.len()).map_err(|_| ConfigError::TooManyRoutes)?;
    network
        .routes
        .extend(Route::pair(usize::from(first), forward, reverse));
    Ok(first)
}

/// A wire with a delay of 1 ns, for a direction without links. So no instant contains a whole round
/// trip.
fn shortest_wire(name: &str) -> HopConfig {
    HopConfig {
        name: name.into(),
        one_way_delay: Duration::from_nanos(1),
        ..HopConfig::default()
    }
}
