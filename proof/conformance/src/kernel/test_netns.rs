//! A test network namespace: a network namespace with only one TUN device, on a separate thread.
//!
//! The kernel inside is the machine's own, with its clock and timers. Its packets are read from the
//! device, and packets written to the device arrive at the kernel. Nothing else is connected to the
//! namespace: no packet of a script can reach the machine's network, or vice versa.
//!
//! A namespace exists as long as a thread or descriptor is in it. When the thread ends, in whatever
//! way, or the process is killed, device, addresses, routes, settings and connections are gone.
//!
//! Out of scope: more than one device or remote network; segmentation offloads. The device carries
//! single packets as on a wire.

use std::io;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;

use gigatcp_linux::device::Reception;
use gigatcp_linux::poll::{self, Interest};
use gigatcp_linux::{SetupError, Step, clock, device, interface, process, settings, sniff};

/// Name of the device in scripts.
pub const DEVICE: &str = "tun0";

/// Packets that wait for a reader before the device drops. A script makes the kernel send fewer
/// between two lines.
const QUEUE: u32 = 100_000;

/// Addresses and sizes of a test network namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestNetnsConfig {
    /// The kernel's addresses and their prefix lengths.
    pub local: [(IpAddr, u8); 2],
    /// Networks behind the device, with the other end of each connection.
    pub remote: [(IpAddr, u8); 2],
    /// MTU of the device in bytes.
    pub mtu: u32,
}

/// The kernel's IPv4 address.
pub const LOCAL_V4: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 1);
/// The other end's IPv4 address, of TEST-NET-1 (RFC 5737). It is not private, so the kernel treats
/// it as a public address.
pub const REMOTE_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The kernel's IPv6 address, a unique local one (RFC 4193).
pub const LOCAL_V6: Ipv6Addr = Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1);
/// The other end's IPv6 address.
pub const REMOTE_V6: Ipv6Addr = Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1);

impl Default for TestNetnsConfig {
    fn default() -> Self {
        Self {
            local: [(LOCAL_V4.into(), 16), (LOCAL_V6.into(), 48)],
            remote: [(REMOTE_V4.into(), 24), (REMOTE_V6.into(), 48)],
            mtu: 1500,
        }
    }
}

/// A packet sent by the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Time at the device, since the start of the namespace's clock. Negative: before the start.
    pub at_ns: i64,
    /// The packet, from its IP header.
    pub octets: Vec<u8>,
}

/// A namespace with its device. It stays on the thread that entered it.
#[derive(Debug)]
pub struct TestNetns {
    tun: OwnedFd,
    sniffer: OwnedFd,
    /// Monotonic clock at zero.
    zero: i64,
    /// Namespaces belong to threads: neither `Send` nor `Sync`.
    stays: PhantomData<*const ()>,
}

impl TestNetns {
    /// Runs `work` in a new test network namespace, on a new thread, then removes it.
    ///
    /// # Errors
    /// [`SetupError`], if a step of building it fails.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<T: Send>(
        config: &TestNetnsConfig,
        work: impl FnOnce(&mut Self) -> T + Send,
    ) -> Result<T, SetupError> {
        thread::scope(|scope| {
            let inside = || Ok(work(&mut Self::build(config)?));
            let name = thread::Builder::new().name("test-netns".into());
            let started = name.spawn_scoped(scope, inside);
            let thread = started.map_err(|cause| SetupError::new(Step::Thread, cause))?;
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Moves the calling thread into a new namespace and sets it up.
    fn build(config: &TestNetnsConfig) -> Result<Self, SetupError> {
        process::unshare_network()
            .map_err(|cause| SetupError::new(Step::NetworkNamespace, cause))?;
        let tun = device::open_tun().map_err(|cause| SetupError::new(Step::OpenTun, cause))?;
        device::make_tun(&tun, DEVICE, Reception::AtOnce)
            .map_err(|cause| SetupError::new(Step::Device, cause))?;
        settings::pin_baseline()?;
        interface::disable_discovery(DEVICE);
        let index = set_up(config).map_err(|cause| SetupError::new(Step::Addresses, cause))?;
        let sniffer =
            sniff::open(index).map_err(|cause| SetupError::new(Step::PacketSocket, cause))?;
        // Best effort: without the privilege, times are an ordinary thread's.
        let _ = clock::request_realtime(clock::Rank::Path);
        Ok(Self {
            tun,
            sniffer,
            zero: clock::monotonic(),
            stays: PhantomData,
        })
    }

    /// Starts the namespace's clock in the middle of a kernel tick. Actions of a script at whole
    /// milliseconds then never fall on the boundary of two ticks.
    pub fn begin(&mut self) {
        let tick = tick().as_nanos() as i64;
        // The coarse clock advances only at ticks, so it shows the last one.
        let since_tick = clock::monotonic() - clock::last_tick();
        let middle = clock::last_tick() + (since_tick / tick + 1) * tick + tick / 2;
        clock::sleep_until(middle);
        self.zero = clock::monotonic();
    }

    /// Nanoseconds since the clock's start.
    pub fn now_ns(&self) -> i64 {
        clock::monotonic() - self.zero
    }

    /// Converts the monotonic clock to a time of this namespace.
    pub(crate) const fn since_zero_ns(&self, monotonic: i64) -> i64 {
        monotonic - self.zero
    }

    /// Makes sure that the kernel has the address `local` and routes `remote` to the device. Sets
    /// the device's MTU to `mtu` bytes.
    pub(crate) fn furnish(&self, local: IpAddr, remote: IpAddr, mtu: u32) -> io::Result<()> {
        let control = device::control_socket(libc::AF_INET)?;
        device::set_mtu(&control, DEVICE, mtu)?;
        let usual = TestNetnsConfig::default();
        if !usual.local.iter().any(|(address, _)| *address == local) {
            interface::assign(
                &control,
                DEVICE,
                local,
                if local.is_ipv4() { 16 } else { 48 },
            )?;
        }
        if !usual.remote.iter().any(|(network, _)| *network == remote) {
            interface::route(
                &control,
                DEVICE,
                remote,
                if remote.is_ipv4() { 24 } else { 48 },
            )?;
        }
        Ok(())
    }

    /// Sleeps until the clock shows `at_ns`; returns immediately if that is past.
    pub fn sleep_until_ns(&self, at_ns: i64) {
        device::drain(&self.tun);
        clock::sleep_until(self.zero + at_ns);
        device::drain(&self.tun);
    }

    /// Delivers a packet to the kernel.
    ///
    /// # Errors
    /// The device's error: it rejects the packet.
    pub fn inject(&mut self, packet: &[u8]) -> io::Result<()> {
        self.inject_joined(packet, 0)
    }

    /// Delivers a TCP packet joined of segments with `segment_size` bytes of payload. A network
    /// card joins them likewise, and the kernel estimates the sender's segment size from that. Zero
    /// for a packet that was not joined.
    ///
    /// # Errors
    /// The device's error: it rejects the packet.
    pub fn inject_joined(&mut self, packet: &[u8], segment_size: u16) -> io::Result<()> {
        device::drain(&self.tun);
        device::inject(&self.tun, packet, segment_size)
    }

    /// Next packet sent by the kernel before the clock shows `until_ns`. A packet sent before this
    /// call counts.
    ///
    /// # Errors
    /// The packet socket's error.
    pub fn receive(&mut self, until_ns: i64) -> io::Result<Option<Sent>> {
        loop {
            device::drain(&self.tun);
            match sniff::receive(&self.sniffer, sniff::LARGEST)? {
                // Delivered packets pass this socket too.
                Some(sniffed) if !sniffed.is_outgoing => continue,
                Some(sniffed) => {
                    return Ok(Some(Sent {
                        at_ns: sniffed.at - self.zero,
                        octets: sniffed.octets,
                    }));
                }
                None => {}
            }
            let left = until_ns - self.now_ns();
            if left <= 0 {
                return Ok(None);
            }
            let readable = Interest {
                read: true,
                write: false,
            };
            let left = Duration::from_nanos(left.cast_unsigned());
            poll::wait([(self.sniffer.as_fd(), readable)], Some(left))?;
        }
    }
}

/// Kernel's tick, the unit of protocol timers.
pub fn tick() -> Duration {
    clock::tick()
}

/// Sets addresses and routes and brings both interfaces up. If IPv6 is disabled in the kernel, only
/// IPv4 is configured.
fn set_up(config: &TestNetnsConfig) -> io::Result<device::Index> {
    let control = device::control_socket(libc::AF_INET)?;
    device::bring_up(&control, "lo")?;
    device::set_mtu(&control, DEVICE, config.mtu)?;
    // Best effort: a user namespace may not set it. Then the limit is 500 packets, more than most
    // scripts make the kernel send in a burst.
    let _ = device::set_queue(&control, DEVICE, QUEUE);
    device::bring_up(&control, DEVICE)?;
    let index = device::index(&control, DEVICE)?;
    for (address, prefix) in config.local {
        interface::assign(&control, DEVICE, address, prefix)?;
    }
    for (network, prefix) in config.remote {
        interface::route(&control, DEVICE, network, prefix)?;
    }
    Ok(index)
}
