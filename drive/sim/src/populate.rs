//! Creates hosts with sockets from the hosts and flows of a configuration.

use gigatcp_app::reader::Sink;
use gigatcp_app::{Role, Writer};
use gigatcp_path::{ConfigError, HopConfig};
use gigatcp_units::{Bytes, Instant};

use crate::address::endpoints;
use crate::config::{FlowConfig, HostConfig, WorldConfig};
use crate::ends::{Ends, Place, socket_config};
use crate::host::Host;
use crate::packet::Ip;
use crate::short_flows::ShortFlows;

/// Default receive buffer for datagrams (Linux `net.core.rmem_default`).
const DATAGRAM_BUFFER: Bytes = Bytes::new(212_992);

/// The hosts of a world, and what runs between them.
pub(crate) struct Population {
    pub(crate) hosts: Vec<Host>,
    pub(crate) connections: Vec<Ends>,
    /// Sources and sinks of datagrams. Their packets carry the numbers after those of the
    /// connections.
    pub(crate) datagrams: Vec<Ends>,
    /// Flows that begin later. Their packets carry the numbers after those.
    pub(crate) short_flows: ShortFlows,
}

impl Population {
    /// Hosts of a simulation with the sockets of its flows.
    ///
    /// The flows take the pairs of `routes`. Hosts with numbers come first, then those of single
    /// flows.
    ///
    /// # Errors
    /// If the link of a host cannot be built.
    ///
    /// # Panics
    /// If a host number does not exist, or an application is of another kind: plans are checked
    /// before.
    pub(crate) fn new(config: &WorldConfig, routes: &[u16]) -> Result<Self, ConfigError> {
        let named = config.hosts.iter().enumerate();
        let hosts = named
            .map(|(number, host)| Host::new(host, true, &format!("host {number}"), config.seed));
        let mut population = Self {
            hosts: hosts.collect::<Result<_, _>>()?,
            connections: Vec::new(),
            datagrams: Vec::new(),
            short_flows: ShortFlows::default(),
        };
        let mut routes = routes.iter().copied();
        for (number, route) in (0..config.flows.len()).zip(&mut routes) {
            population.add(config, number, route)?;
        }
        let mut processes = Vec::new();
        for (flow, route) in config.arrivals.iter().zip(&mut routes) {
            let hosts = population.hosts_of(config, flow, 0, true)?;
            processes.push((flow, hosts, route));
        }
        for (number, (datagrams, route)) in config.datagrams.iter().zip(routes).enumerate() {
            population.add_datagrams(config, datagrams, number, route)?;
        }
        let first = population.connections.len() + population.datagrams.len();
        population.short_flows = ShortFlows::new(config, first as u32, processes);
        Ok(population)
    }

    /// Adds the connections of the flow with this number.
    fn add(&mut self, config: &WorldConfig, number: usize, route: u16) -> Result<(), ConfigError> {
        let flow = &config.flows[number];
        let first = self.connections.len() as u32;
        let is_shared = flow
            .application
            .as_ref()
            .is_some_and(|app| app.connections() > 1);
        let hosts = self.hosts_of(config, flow, first, is_shared)?;
        let [client, server] = [Role::Client, Role::Server].map(|role| {
            let reader = reader_of(flow, role);
            match (&flow.application, role) {
                (Some(application), _) => application
                    .stream(role, config.seed, &flow.name, reader)
                    .expect("an application with connections"),
                (None, Role::Client) => Box::new(Writer::new(flow.stop, flow.supply)),
                (None, Role::Server) => reader.gate(Box::new(Sink::new(reader.read_size))),
            }
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

    /// Numbers of a flow's hosts. Creates hosts of its own, for one socket or for several.
    fn hosts_of(
        &mut self,
        config: &WorldConfig,
        flow: &FlowConfig,
        number: u32,
        is_shared: bool,
    ) -> Result<[u32; 2], ConfigError> {
        let mut sender = flow.sender.clone();
        delay_access(&mut sender, flow);
        let names = ["sender", "receiver"].map(|end| match is_shared {
            false => format!("{end} {number}"),
            true => format!("{end} of {}", flow.name),
        });
        let mut host = |named, own, name| self.host(named, own, is_shared, name, config.seed);
        Ok([
            host(flow.from, &sender, &names[0])?,
            host(flow.to, &flow.receiver, &names[1])?,
        ])
    }

    /// Number of host `named`, or of a new one.
    fn host(
        &mut self,
        named: Option<usize>,
        own: &HostConfig,
        is_shared: bool,
        name: &str,
        seed: u64,
    ) -> Result<u32, ConfigError> {
        if let Some(named) = named {
            return Ok(named as u32);
        }
        self.hosts.push(Host::new(own, is_shared, name, seed)?);
        Ok(self.hosts.len() as u32 - 1)
    }

    /// Adds a source of datagrams and its sink.
    fn add_datagrams(
        &mut self,
        config: &WorldConfig,
        datagrams: &FlowConfig,
        number: usize,
        route: u16,
    ) -> Result<(), ConfigError> {
        let mut host = |named, own, end| {
            let name = format!("{end} of {}", datagrams.name);
            self.host(named, own, true, &name, config.seed)
        };
        let from = host(datagrams.from, &datagrams.sender, "source")?;
        let to = host(datagrams.to, &datagrams.receiver, "sink")?;
        let source = datagrams
            .application
            .as_ref()
            .and_then(|source| source.datagrams(config.seed, &datagrams.name))
            .expect("an application of the kind datagrams");
        let flow = (self.connections.len() + number) as u32;
        let tcp = &datagrams.sender.tcp;
        let ip = Ip::new(tcp.ip, tcp.transport.profile.path_mtu.pmtud);
        let starts_at = Instant::ZERO + datagrams.start;
        let source = self.hosts[from as usize].add_source(source, (flow, route), ip, starts_at);
        let arriving = endpoints(tcp.ip, flow, false);
        let buffer = datagrams
            .receiver
            .tcp
            .transport
            .receive_buffer
            .unwrap_or(DATAGRAM_BUFFER);
        let sink = self.hosts[to as usize].add_sink(arriving, buffer);
        let place = |host, socket| Place { host, socket };
        self.datagrams.push(Ends {
            flow: number,
            places: [place(from, source), place(to, sink)],
            route,
        });
        Ok(())
    }
}

/// Reading behavior of an end of a flow.
fn reader_of(flow: &FlowConfig, role: Role) -> gigatcp_app::Reader {
    match role {
        Role::Client => flow.sender.reader,
        Role::Server => flow.receiver.reader,
    }
}

/// Adds the access delay to a sender that a flow does not share.
fn delay_access(host: &mut HostConfig, flow: &FlowConfig) {
    if !flow.extra_delay.is_zero() {
        let link = host.link.get_or_insert_with(|| HopConfig {
            name: format!("access of {}", flow.name),
            ..HopConfig::default()
        });
        link.one_way_delay += flow.extra_delay;
    }
}
