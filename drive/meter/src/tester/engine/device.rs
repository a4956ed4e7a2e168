//! The engine on its own TUN device, and the addresses at which it reaches a server.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use gigatcp_linux::{SetupError, Step, settings};
use gigatcp_live::{Scheduling, Stack, TunConfig, Wire};

use crate::system::any_address;

/// The engine on its own TUN device, which is removed when this value is dropped.
#[derive(Debug)]
pub struct Engine {
    pub(super) stack: Stack,
    config: TunConfig,
}

impl Engine {
    /// IPv4 network of all engines' addresses.
    pub const NETWORK: &str = "10.85.0.0/16";
    /// IPv6 network of all engines' addresses.
    pub const NETWORK_V6: &str = "fd85::/16";

    /// Creates a device in the calling thread's network namespace.
    ///
    /// Engines of one namespace need different numbers, such as the process ID.
    ///
    /// # Errors
    /// [`SetupError`]: the step that failed, and the missing requirement.
    pub fn open(number: u32) -> Result<Self, SetupError> {
        let mut config = TunConfig {
            name: format!("giga{number}"),
            ..TunConfig::default()
        };
        // A network of four addresses for each of 16384 engines.
        let place = Ipv4Addr::new(10, 85, 0, 0).to_bits() + (number % 16_384) * 4;
        let v4 = |host: u32| IpAddr::from(Ipv4Addr::from_bits(place + host));
        config.kernel.push((v4(1), 30));
        config.engine.push(v4(2));
        let disabled = settings::read("net.ipv6.conf.default.disable_ipv6");
        if disabled.is_ok_and(|disabled| disabled.trim() == "0") {
            let [high, low] = [(number >> 16) as u16, number as u16];
            let v6 = |host| IpAddr::from(Ipv6Addr::new(0xfd85, 0, 0, 0, 0, high, low, host));
            config.kernel.push((v6(1), 126));
            config.engine.push(v6(2));
        }
        let device = Wire::open_tun_here(&config)?;
        // Pacing does not compensate for a pause of more than a millisecond.
        let scheduling = Scheduling {
            is_first: true,
            ..Scheduling::default()
        };
        let stack = Stack::start_with(device, scheduling)
            .map_err(|cause| SetupError::new(Step::Thread, cause))?;
        Ok(Self { stack, config })
    }

    /// Name of the device.
    pub fn device(&self) -> &str {
        &self.config.name
    }

    /// Addresses of the engine, and of the kernel's end of the device.
    pub fn addresses(&self) -> (Vec<IpAddr>, Vec<IpAddr>) {
        let kernel = self.config.kernel.iter().map(|(address, _)| *address);
        (self.config.engine.clone(), kernel.collect())
    }

    /// Address at which packets of the engine reach the server.
    pub(super) fn reachable(&self, to: SocketAddr) -> io::Result<SocketAddr> {
        let ip = to.ip().to_canonical();
        let mut of_family = self.config.kernel.iter();
        let own = of_family.find(|(address, _)| address.is_ipv4() == ip.is_ipv4());
        if let (true, Some((own, _))) = (ip.is_loopback(), own) {
            return Ok(SocketAddr::new(*own, to.port()));
        }
        let to = SocketAddr::new(ip, to.port());
        if is_of_this_host(to) {
            return Ok(to);
        }
        let family = if ip.is_ipv4() { "ipv4" } else { "ipv6" };
        let setting = format!("net.{family}.conf.{}.forwarding", self.device());
        match settings::read(&setting) {
            Ok(value) if value.trim() == "0" => Err(io::Error::new(
                io::ErrorKind::NetworkUnreachable,
                format!("this host does not forward the engine's packets ({setting} is 0)"),
            )),
            _ => Ok(to),
        }
    }
}

/// Whether an address is one of this host. The kernel then uses the same as source.
fn is_of_this_host(to: SocketAddr) -> bool {
    let from = UdpSocket::bind((any_address(to), 0)).and_then(|socket| {
        socket.connect(to)?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == to.ip())
}
