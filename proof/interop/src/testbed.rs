//! Testbed with the engine at one end of an emulated path, and a kernel at the other.
//!
//! ```text
//! namespace of the client                              namespace of the server
//! engine <- giga0 <- kernel forwards <- path0 <- hops <- path0 <- kernel
//! ```
//!
//! The engine's device and the path's device share the client's namespace. The kernel there is
//! only a router between them. It keeps the size of forwarded packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use std::{io, thread};

use gigatcp_emulate::{Addresses, Emulator, EmulatorConfig, EmulatorError, NAME, Side, Snapshot};
use gigatcp_linux::{Namespace, SetupError, Step, device, interface, settings, socket};
use gigatcp_live::{Offloads, Scheduling, Stack, TunConfig, Wire};
use gigatcp_path::HopConfig;

/// IPv4 address of the engine.
pub const ENGINE_V4: Ipv4Addr = Ipv4Addr::new(10, 84, 0, 2);
/// IPv6 address of the engine.
pub const ENGINE_V6: Ipv6Addr = Ipv6Addr::new(0xfd84, 0, 0, 0, 0, 0, 0, 2);
/// Address of the router on the engine's network.
const ROUTER_V4: Ipv4Addr = Ipv4Addr::new(10, 84, 0, 1);
const ROUTER_V6: Ipv6Addr = Ipv6Addr::new(0xfd84, 0, 0, 0, 0, 0, 0, 1);
/// Prefix lengths of both networks.
const BITS_V4: u8 = 24;
const BITS_V6: u8 = 64;
/// Maximum time for the path to drain after both ends stop.
const DRAINS: Duration = Duration::from_secs(20);

/// Path between engine and kernel.
#[derive(Clone, Debug)]
pub struct TestbedConfig {
    /// Hops from the engine to the kernel.
    pub forward: Vec<HopConfig>,
    /// Hops from the kernel to the engine.
    pub reverse: Vec<HopConfig>,
    /// Seed of the path's random streams.
    pub seed: u64,
    /// MTU of all devices.
    pub mtu: u16,
    /// Whether all devices accept and produce super-segments and incomplete checksums.
    pub offloads: bool,
    /// Settings of the kernel at the far end.
    pub settings: Vec<(String, String)>,
    /// CPU reserved for the path, if any ([`gigatcp_linux::IsolatedCpu`]).
    pub processor: Option<usize>,
}

/// Engine, emulated path, and kernel at the other end.
#[derive(Debug)]
pub struct Testbed {
    /// Engine.
    pub stack: Stack,
    emulator: Emulator,
}

impl Testbed {
    /// Builds the testbed.
    ///
    /// # Errors
    /// Failed step, or missing requirement.
    pub fn new(config: &TestbedConfig) -> Result<Self, EmulatorError> {
        let forwards = [
            ("net.ipv4.ip_forward", "1"),
            ("net.ipv6.conf.all.forwarding", "1"),
        ]
        .map(|(name, value)| (name.into(), value.into()));
        let emulator = Emulator::start(
            &EmulatorConfig {
                forward: config.forward.clone(),
                reverse: config.reverse.clone(),
                seed: config.seed,
                mtu: [config.mtu; 2],
                offloads: config.offloads,
                settings: [&forwards[..], &config.settings].concat(),
                processor: config.processor,
                ..EmulatorConfig::default()
            },
            None,
        )?;
        emulator
            .namespace(Side::Server)
            .run(route)?
            .map_err(|cause| SetupError::about(Step::Addresses, NAME, cause))?;
        let offloads = Offloads {
            checksum: config.offloads,
            segmentation: config.offloads,
        };
        let device = TunConfig {
            mtu: config.mtu,
            offloads,
            kernel: vec![(ROUTER_V4.into(), BITS_V4), (ROUTER_V6.into(), BITS_V6)],
            engine: vec![ENGINE_V4.into(), ENGINE_V6.into()],
            ..TunConfig::default()
        };
        let device = Wire::open_tun(emulator.namespace(Side::Client), &device)?;
        // A path with its own CPU indicates a measurement.
        let scheduling = Scheduling {
            processor: None,
            is_first: config.processor.is_some(),
        };
        let stack = Stack::start_with(device, scheduling)
            .map_err(|cause| SetupError::new(Step::Thread, cause))?;
        Ok(Self { stack, emulator })
    }

    /// Namespace of the kernel at the far end.
    pub fn kernel(&self) -> &Namespace {
        self.emulator.namespace(Side::Server)
    }

    /// Namespace of the engine's device and the forwarding kernel.
    pub fn near(&self) -> &Namespace {
        self.emulator.namespace(Side::Client)
    }

    /// Address of the kernel.
    pub fn kernel_address(is_v6: bool) -> IpAddr {
        let Addresses { v4, v6 } = Addresses::of(Side::Server);
        if is_v6 { v6.into() } else { v4.into() }
    }

    /// Address of the engine.
    pub fn engine_address(is_v6: bool) -> IpAddr {
        if is_v6 {
            ENGINE_V6.into()
        } else {
            ENGINE_V4.into()
        }
    }

    /// Names of the kernel's congestion control algorithms.
    ///
    /// # Errors
    /// Reason why they could not be read.
    pub fn kernel_controls(&self) -> io::Result<Vec<String>> {
        let read = || settings::read("net.ipv4.tcp_available_congestion_control");
        let known = self.kernel().run(read).map_err(io::Error::other)??;
        Ok(known.split_whitespace().map(String::from).collect())
    }

    /// Opens a listening socket of the kernel with that algorithm.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn kernel_listens(&self, at: SocketAddr, control: &str) -> io::Result<TcpListener> {
        let listen = || {
            let listener = TcpListener::bind(at)?;
            socket::set_congestion(&listener, control)?;
            Ok(listener)
        };
        self.kernel().run(listen).map_err(io::Error::other)?
    }

    /// Opens a connection of the kernel with that algorithm.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn kernel_connects(
        &self,
        to: SocketAddr,
        control: &str,
        longest: Duration,
    ) -> io::Result<TcpStream> {
        let connect = || {
            let stream = TcpStream::connect_timeout(&to, longest)?;
            socket::set_congestion(&stream, control)?;
            Ok(stream)
        };
        self.kernel().run(connect).map_err(io::Error::other)?
    }

    /// Counters of the path.
    pub fn path(&self) -> Snapshot {
        self.emulator.snapshot()
    }

    /// Ends the testbed, and checks packet conservation on the path and the devices.
    ///
    /// # Errors
    /// Violation of conservation, or failed step.
    pub fn finish(self) -> Result<Snapshot, String> {
        let began = Instant::now();
        while self.path().directions.iter().any(|way| way.inside() > 0) {
            if began.elapsed() > DRAINS {
                return Err(format!(
                    "packets stay on the path: {:?}",
                    self.path().directions
                ));
            }
            thread::sleep(Duration::from_millis(5));
        }
        let device = self
            .stack
            .counters()
            .map_err(|error| error.to_string())?
            .device;
        if (device.malformed, device.refused) != (0, 0) {
            return Err(format!("the engine's device: {device:?}"));
        }
        self.stack
            .stop()
            .map_err(|error| format!("the engine ended: {error}"))?;
        let path = self.emulator.stop().map_err(|error| error.to_string())?;
        for way in &path.directions {
            let is_sound =
                way.is_conserved() && (way.device.malformed, way.device.refused) == (0, 0);
            if !is_sound {
                return Err(format!("the books of the path: {way:?}"));
            }
        }
        Ok(path)
    }
}

/// Routes the engine's networks through the path.
fn route() -> io::Result<()> {
    let control = device::control_socket(libc::AF_INET)?;
    let network = |address: IpAddr| match address {
        IpAddr::V4(_) => (Ipv4Addr::new(10, 84, 0, 0).into(), BITS_V4),
        IpAddr::V6(_) => (Ipv6Addr::new(0xfd84, 0, 0, 0, 0, 0, 0, 0).into(), BITS_V6),
    };
    for address in [ENGINE_V4.into(), ENGINE_V6.into()] {
        let (network, bits) = network(address);
        interface::route(&control, NAME, network, bits)?;
    }
    Ok(())
}
