//! Namespaces and interfaces of a case: sender, router, receiver, connected by veth pairs.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use gigatcp_linux::Namespace;

use super::emulated::Emulated;
use super::process::{read, run};
use super::spec::{Host, Net, Offloads, RECEIVER, SENDER, Spec};

const SENDER_MAC: &str = "02:00:00:00:01:01";
const RECEIVER_MAC: &str = "02:00:00:00:02:01";

/// Interfaces of the router: towards the sender, towards the receiver.
pub const ROUTER: [&str; 2] = ["r0", "r1"];

/// A namespace: created here, or held open by another process.
#[derive(Debug)]
enum Room {
    Own(Namespace),
    Other(OwnedFd),
}

impl Room {
    fn raw(&self) -> RawFd {
        match self {
            Self::Own(namespace) => namespace.as_fd().as_raw_fd(),
            Self::Other(descriptor) => descriptor.as_raw_fd(),
        }
    }
}

/// The router's address in the network of `host`.
fn gateway(host: &str) -> String {
    let prefix = host.rsplit_once('.').map_or("", |(prefix, _)| prefix);
    format!("{prefix}.254")
}

/// Hosts of a case.
#[derive(Debug)]
pub struct Topology {
    rooms: Vec<(Host, Room)>,
    /// Addresses of sender and receiver.
    pub addresses: [String; 2],
    /// Interfaces of sender and receiver.
    pub interfaces: [String; 2],
    /// The emulator, if it is the path.
    pub emulated: Option<Emulated>,
}

impl Topology {
    /// Builds the topology of `spec`; files of the emulator go into `at`.
    ///
    /// # Errors
    /// If a part could not be created.
    pub fn new(spec: &Spec, gigatcp: &Path, at: &Path) -> Result<Self, String> {
        let topology = match &spec.net {
            Net::Emulate(arguments) => Self::emulated(gigatcp, arguments, at)?,
            Net::Forwarder(_) | Net::Plain => Self::veth(spec)?,
        };
        topology.settle(spec)?;
        Ok(topology)
    }

    /// Descriptor of a host's namespace; the sender's if there is no router.
    pub fn namespace(&self, host: Host) -> RawFd {
        let found = self.rooms.iter().find(|(of, _)| *of == host);
        found.map_or_else(|| self.rooms[0].1.raw(), |(_, room)| room.raw())
    }

    fn emulated(gigatcp: &Path, arguments: &[String], at: &Path) -> Result<Self, String> {
        let emulated = Emulated::start(gigatcp, arguments, at)?;
        let mut rooms = Vec::new();
        let mut addresses = [String::new(), String::new()];
        let mut interfaces = [String::new(), String::new()];
        for (index, host) in [Host::Sender, Host::Receiver].into_iter().enumerate() {
            let path = format!("/proc/{}/ns/net", emulated.idle[index]);
            let file = File::open(&path).map_err(|error| format!("{path}: {error}"))?;
            let room = Room::Other(file.into());
            let text = read(room.raw(), "ip -o -4 addr").map_err(|error| error.to_string())?;
            let line = text.lines().find(|line| !line.contains("127.0.0.1"));
            let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
            let [_, interface, _, address, ..] = words[..] else {
                return Err("the emulator's interface has no address".into());
            };
            address
                .split('/')
                .next()
                .unwrap_or_default()
                .clone_into(&mut addresses[index]);
            interface.clone_into(&mut interfaces[index]);
            rooms.push((host, room));
        }
        Ok(Self {
            rooms,
            addresses,
            interfaces,
            emulated: Some(emulated),
        })
    }

    fn veth(spec: &Spec) -> Result<Self, String> {
        let mut rooms = Vec::new();
        for host in [Host::Sender, Host::Receiver, Host::Router] {
            let made = Namespace::new().map_err(|error| error.to_string())?;
            rooms.push((host, Room::Own(made)));
        }
        let topology = Self {
            rooms,
            addresses: [SENDER.into(), RECEIVER.into()],
            interfaces: ["eth0".into(), "eth0".into()],
            emulated: None,
        };
        let router = topology.namespace(Host::Router);
        let ends = [(Host::Sender, SENDER_MAC), (Host::Receiver, RECEIVER_MAC)];
        for (index, (host, mac)) in ends.into_iter().enumerate() {
            let at = format!(
                "/proc/{}/fd/{}",
                std::process::id(),
                topology.namespace(host)
            );
            let name = ROUTER[index];
            run(
                router,
                &format!("ip link add {name} type veth peer name eth0 address {mac} netns {at}"),
            )?;
            for (namespace, name) in [(router, name), (topology.namespace(host), "eth0")] {
                let _ = run(
                    namespace,
                    &format!("sysctl -q -w net.ipv6.conf.{name}.disable_ipv6=1"),
                );
                run(
                    namespace,
                    &format!("ip link set {name} mtu {} up", spec.mtu),
                )?;
            }
        }
        topology.address(spec)?;
        topology.offload(spec.offloads)?;
        Ok(topology)
    }

    fn address(&self, spec: &Spec) -> Result<(), String> {
        let is_plain = spec.net == Net::Plain;
        let router = self.namespace(Host::Router);
        let ends = [
            (Host::Sender, SENDER, RECEIVER, RECEIVER_MAC),
            (Host::Receiver, RECEIVER, SENDER, SENDER_MAC),
        ];
        for (index, (host, own, peer, mac)) in ends.into_iter().enumerate() {
            let namespace = self.namespace(host);
            if is_plain {
                let gateway = gateway(own);
                run(namespace, &format!("ip addr add {own}/24 dev eth0"))?;
                run(
                    router,
                    &format!("ip addr add {gateway}/24 dev {}", ROUTER[index]),
                )?;
                run(namespace, &format!("ip route add {peer} via {gateway}"))?;
            } else {
                run(namespace, &format!("ip addr add {own}/16 dev eth0"))?;
                run(namespace, &format!("ip route add {peer} dev eth0"))?;
                let line = format!("ip neigh replace {peer} lladdr {mac} dev eth0 nud permanent");
                run(namespace, &line)?;
            }
        }
        if is_plain {
            run(router, "sysctl -q -w net.ipv4.ip_forward=1")?;
        }
        Ok(())
    }

    fn offload(&self, offloads: Offloads) -> Result<(), String> {
        if !offloads.tso {
            let namespace = self.namespace(Host::Sender);
            run(namespace, "ethtool -K eth0 tx off tso off gso off")?;
        }
        if offloads.gro {
            let namespace = self.namespace(Host::Receiver);
            run(namespace, "ethtool -K eth0 gro on")?;
            // A veth device merges segments only from a peer that cannot send super-segments.
            let router = self.namespace(Host::Router);
            run(router, &format!("ethtool -K {} tso off", ROUTER[1]))?;
            if offloads.gro_flush_us > 0 {
                let flush = offloads.gro_flush_us * 1000;
                self.sysfs(&[
                    ("gro_flush_timeout", flush.to_string()),
                    ("napi_defer_hard_irqs", "1".to_owned()),
                ])?;
            }
        }
        Ok(())
    }

    /// Writes attributes of the receiver's interface, by a `sysfs` mount of its namespace.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn sysfs(&self, values: &[(&str, String)]) -> Result<(), String> {
        let mut script = "mount -t sysfs none /sys".to_owned();
        for (name, value) in values {
            script.push_str(&format!(
                " && echo {value} > /sys/class/net/{}/{name}",
                self.interfaces[1]
            ));
        }
        let mut command = std::process::Command::new("unshare");
        command.args(["-m", "sh", "-c", &script]);
        command.stdout(std::process::Stdio::null());
        let start = super::process::Start::default();
        let child = super::process::spawn(&mut command, self.namespace(Host::Receiver), &start);
        let status = child.and_then(|mut child| child.wait());
        match status {
            Ok(status) if status.success() => Ok(()),
            _ => Err(format!("cannot set {values:?}")),
        }
    }

    /// Sets the initial ssthresh of connections to the receiver.
    fn threshold(&self, segments: u32) -> Result<(), String> {
        let [from, to] = [&self.addresses[0], &self.addresses[1]].map(|text| text.parse());
        let (Ok(from), Ok(to)) = (from, to) else {
            return Err("the hosts have no addresses".into());
        };
        let Some((_, Room::Own(sender))) = self.rooms.first() else {
            return Err("the sender's namespace is not ours".into());
        };
        let set = || gigatcp_linux::initial_ssthresh::set(from, to, segments);
        let done = sender.run(set).map_err(|error| error.to_string())?;
        done.map_err(|error| format!("first threshold: {error}"))
    }

    /// Sets the congestion control and the attributes `further` of a host's route to the other.
    fn route(&self, host: Host, spec: &Spec, further: &str) -> Result<(), String> {
        let own = usize::from(host == Host::Receiver);
        let via = if spec.net == Net::Plain {
            format!("via {}", gateway(&self.addresses[own]))
        } else {
            format!("dev {}", self.interfaces[own])
        };
        let (peer, control) = (&self.addresses[1 - own], spec.control);
        let line = format!("ip route replace {peer} {via} congctl {control} {further}");
        run(self.namespace(host), &line)
    }

    /// Applies sysctls, routes and shapers.
    fn settle(&self, spec: &Spec) -> Result<(), String> {
        for host in [Host::Sender, Host::Receiver] {
            let namespace = self.namespace(host);
            for (name, value) in &spec.sysctls {
                let mut command = std::process::Command::new("sysctl");
                let assignment = format!("{name}={}", value.replace(',', " "));
                command.args(["-q", "-w", &assignment]);
                let start = super::process::Start::default();
                let child = super::process::spawn(&mut command, namespace, &start);
                let status = child.and_then(|mut child| child.wait());
                if !status.is_ok_and(|status| status.success()) {
                    return Err(format!("cannot set {assignment}"));
                }
            }
        }
        self.route(Host::Sender, spec, &spec.route)?;
        self.route(Host::Receiver, spec, "")?;
        if spec.first_threshold > 0 {
            self.threshold(spec.first_threshold)?;
        }
        if let Some(tc) = &spec.tc {
            let (host, name) = if tc.on_sender {
                (Host::Sender, self.interfaces[0].as_str())
            } else {
                (Host::Router, ROUTER[1])
            };
            for line in &tc.commands {
                let line = format!("tc {}", line.replace("DEV", name));
                run(self.namespace(host), &line)?;
            }
        }
        Ok(())
    }
}
