//! From the hosts and flows of a configuration to hosts with sockets.

use gigatcp_app::{Role, Writer};
use gigatcp_path::{ConfigError, HopConfig};
use gigatcp_units::Instant;

use crate::config::{FlowConfig, HostConfig, WorldConfig};
use crate::host::{Host, SocketConfig};

/// Where an end of a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Number of the host.
    pub(crate) host: u32,
    /// Number of the socket on it.
    pub(crate) socket: u32,
}

/// The ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ends {
    /// The configured flow that it belongs to.
    pub(crate) flow: usize,
    /// Its sender and its receiver.
    pub(crate) places: [Place; 2],
    /// Its forward route; the number after it is the reverse route.
    pub(crate) route: u16,
}

/// The hosts of a world, and the connections between them.
pub(crate) struct Population {
    pub(crate) hosts: Vec<Host>,
    pub(crate) connections: Vec<Ends>,
}

impl Population {
    /// Returns the hosts of a world with the sockets of its flows, which take the pairs
    /// of `routes`. Hosts that have numbers come first, then those that flows have to
    /// themselves.
    ///
    /// # Errors
    /// If the link of a host cannot be built.
    pub(crate) fn new(config: &WorldConfig, routes: &[u16]) -> Result<Self, ConfigError> {
        let named = config.hosts.iter().enumerate();
        let hosts = named
            .map(|(number, host)| Host::new(host, true, &format!("host {number}"), config.seed));
        let mut population = Self {
            hosts: hosts.collect::<Result<_, _>>()?,
            connections: Vec::new(),
        };
        for (number, route) in routes.iter().enumerate() {
            population.add(config, number, *route)?;
        }
        Ok(population)
    }

    /// Adds the connections of the flow with this number.
    fn add(&mut self, config: &WorldConfig, number: usize, route: u16) -> Result<(), ConfigError> {
        let flow = &config.flows[number];
        let first = self.connections.len() as u32;
        let hosts = [
            self.host_of(config, flow, first, false)?,
            self.host_of(config, flow, first, true)?,
        ];
        let [client, server] = [Role::Client, Role::Server].map(|role| {
            let reader = reader_of(flow, role);
            let application = flow.application.as_ref();
            let made =
                application.and_then(|app| app.stream(role, config.seed, &flow.name, reader));
            made.unwrap_or_else(|| match role {
                Role::Client => Box::new(Writer::new(flow.stop, flow.supply)),
                Role::Server => {
                    reader.gate(Box::new(gigatcp_app::reader::Sink::new(reader.read_size)))
                }
            })
        });
        let connections = client.sockets();
        let programs = [
            self.hosts[hosts[0] as usize].add_application(client),
            self.hosts[hosts[1] as usize].add_application(server),
        ];
        for port in 0..connections {
            let place = |this: &mut Self, end: usize| {
                let socket = socket_config(flow, first + port, route + end as u16);
                let host = hosts[end];
                let socket = this.hosts[host as usize].add_socket(&socket, programs[end], port);
                Place { host, socket }
            };
            let places = [place(self, 0), place(self, 1)];
            self.connections.push(Ends {
                flow: number,
                places,
                route,
            });
        }
        Ok(())
    }

    /// The number of the host of an end of a flow; one of its own is made.
    fn host_of(
        &mut self,
        config: &WorldConfig,
        flow: &FlowConfig,
        number: u32,
        is_receiver: bool,
    ) -> Result<u32, ConfigError> {
        let (named, own, end) = match is_receiver {
            false => (flow.from, &flow.sender, "sender"),
            true => (flow.to, &flow.receiver, "receiver"),
        };
        if let Some(host) = named {
            return Ok(host as u32);
        }
        let mut own = own.clone();
        if !is_receiver {
            delay_access(&mut own, flow);
        }
        let connections = flow.application.as_ref().map_or(1, |app| app.connections());
        let name = format!("{end} {number}");
        let host = Host::new(&own, connections > 1, &name, config.seed)?;
        self.hosts.push(host);
        Ok(self.hosts.len() as u32 - 1)
    }
}

/// The way in which an end of a flow reads.
fn reader_of(flow: &FlowConfig, role: Role) -> gigatcp_app::Reader {
    match role {
        Role::Client => flow.sender.reader,
        Role::Server => flow.receiver.reader,
    }
}

/// Gives a sender that a flow has to itself the delay of its access.
fn delay_access(host: &mut HostConfig, flow: &FlowConfig) {
    if !flow.extra_delay.is_zero() {
        let link = host.link.get_or_insert_with(|| HopConfig {
            name: format!("access of {}", flow.name),
            ..HopConfig::default()
        });
        link.one_way_delay += flow.extra_delay;
    }
}

/// The socket of an end of a flow's connection, which has this number.
pub(crate) fn socket_config(flow: &FlowConfig, number: u32, route: u16) -> SocketConfig<'_> {
    let is_receiver = route & 1 == 1;
    let end = if is_receiver {
        &flow.receiver
    } else {
        &flow.sender
    };
    SocketConfig {
        flow: number,
        route,
        tcp: &end.tcp,
        opens_at: (!is_receiver).then_some(Instant::ZERO + flow.start),
        write_size: flow.write_size,
        reader: end.reader,
        interval: flow.interval,
    }
}
