//! A test network namespace: a network namespace with one TUN device and nothing else, on a thread
//! of its own.
//!
//! The kernel inside is the machine's own, with its clock and timers; its
//! packets come out of the device here, and what is handed to the device has,
//! for the kernel, arrived. Nothing else is connected to the namespace: no
//! packet of a script can reach the machine's network, nor one of the network
//! a script.
//!
//! A namespace lives as long as a thread or descriptor is in it: when the
//! thread ends, in whatever way, or the process is killed, device, addresses,
//! routes, settings and connections are gone.
//!
//! Out of scope: more than one device or remote network; segmentation
//! offloads. The device hands over single packets as a wire carries them.

use std::io;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;

use gigatcp_linux::device::Reception;
use gigatcp_linux::poll::{self, Interest};
use gigatcp_linux::{SetupError, Step, clock, device, interface, process, settings, sniff};

/// The name of the device: scripts know it by this name.
pub const DEVICE: &str = "tun0";

/// Packets that wait for a reader before the device drops: more than a script
/// makes the kernel send between two of its lines.
const QUEUE: u32 = 100_000;

/// Addresses and sizes of a test network namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestNetnsConfig {
    /// The kernel's own addresses and the bits of their networks.
    pub local: [(IpAddr, u8); 2],
    /// Networks behind the device, where the other end of each connection is.
    pub remote: [(IpAddr, u8); 2],
    /// The device's largest packet in octets.
    pub mtu: u32,
}

/// The kernel's IPv4 address.
pub const LOCAL_V4: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 1);
/// The other end's IPv4 address, of TEST-NET-1 (RFC 5737): not private, so that the kernel treats
/// it as a public address.
pub const REMOTE_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The kernel's IPv6 address, a unique local one (RFC 4193).
pub const LOCAL_V6: Ipv6Addr = Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1);
/// The other end's.
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

/// A packet that the kernel has sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// When it was handed to the device, since the namespace's clock began.
    /// Negative: before that.
    pub at_ns: i64,
    /// The packet from its IP header on.
    pub octets: Vec<u8>,
}

/// A namespace with its device. Stays on the thread that entered it.
#[derive(Debug)]
pub struct TestNetns {
    tun: OwnedFd,
    sniffer: OwnedFd,
    /// Reading of the monotonic clock that counts as zero.
    zero: i64,
    /// Namespaces belong to threads: neither `Send` nor `Sync`.
    stays: PhantomData<*const ()>,
}

impl TestNetns {
    /// Builds a test network namespace on a new thread, runs `work` in it, and removes it again.
    ///
    /// # Errors
    /// [`SetupError`], when a step of building it fails.
    ///
    /// # Panics
    /// When `work` does.
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

    /// Moves the calling thread into a namespace of its own and furnishes it.
    fn build(config: &TestNetnsConfig) -> Result<Self, SetupError> {
        process::unshare_network()
            .map_err(|cause| SetupError::new(Step::NetworkNamespace, cause))?;
        let tun = device::open_tun().map_err(|cause| SetupError::new(Step::OpenTun, cause))?;
        device::make_tun(&tun, DEVICE, Reception::AtOnce)
            .map_err(|cause| SetupError::new(Step::Device, cause))?;
        settings::pin_baseline()?;
        interface::keep_quiet(DEVICE);
        let index = set_up(config).map_err(|cause| SetupError::new(Step::Addresses, cause))?;
        let sniffer =
            sniff::open(index).map_err(|cause| SetupError::new(Step::PacketSocket, cause))?;
        // Best effort: without the privilege, times are an ordinary thread's.
        let _ = clock::be_punctual(clock::Rank::Path);
        Ok(Self {
            tun,
            sniffer,
            zero: clock::monotonic(),
            stays: PhantomData,
        })
    }

    /// Starts the namespace's clock now, in the middle of a tick of the
    /// kernel: what a script does in whole milliseconds then never falls on
    /// the edge between two.
    pub fn begin(&mut self) {
        let tick = tick().as_nanos() as i64;
        // The coarse clock stands still between ticks: it shows when the last
        // one was.
        let since_tick = clock::monotonic() - clock::last_tick();
        let middle = clock::last_tick() + (since_tick / tick + 1) * tick + tick / 2;
        clock::sleep_until(middle);
        self.zero = clock::monotonic();
    }

    /// Nanoseconds since the clock began.
    #[must_use]
    pub fn now_ns(&self) -> i64 {
        clock::monotonic() - self.zero
    }

    /// A reading of the monotonic clock as a time of this namespace.
    pub(crate) const fn since_zero_ns(&self, monotonic: i64) -> i64 {
        monotonic - self.zero
    }

    /// Makes sure that the kernel has the address `local`, that `remote` is
    /// behind the device, and that its largest packet is `mtu` octets.
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

    /// Sleeps until the clock shows `at_ns`; returns at once when that is past.
    pub fn sleep_until_ns(&self, at_ns: i64) {
        device::drain(&self.tun);
        clock::sleep_until(self.zero + at_ns);
        device::drain(&self.tun);
    }

    /// Hands the kernel a packet.
    ///
    /// # Errors
    /// The device's error: a packet it cannot take.
    pub fn inject(&mut self, packet: &[u8]) -> io::Result<()> {
        self.inject_joined(packet, 0)
    }

    /// Hands the kernel a TCP packet that a network card has joined of
    /// segments with `segment_size` octets of payload: what the kernel learns
    /// about the sender's segments it learns from that. Zero for a packet that
    /// came as it is.
    ///
    /// # Errors
    /// The device's error: a packet it cannot take.
    pub fn inject_joined(&mut self, packet: &[u8], segment_size: u16) -> io::Result<()> {
        device::drain(&self.tun);
        device::inject(&self.tun, packet, segment_size)
    }

    /// The next packet the kernel sends, if it does so before the clock shows
    /// `until_ns`. A packet sent before this call counts.
    ///
    /// # Errors
    /// What the packet socket says.
    pub fn receive(&mut self, until_ns: i64) -> io::Result<Option<Sent>> {
        loop {
            device::drain(&self.tun);
            match sniff::receive(&self.sniffer, sniff::LARGEST)? {
                // What was injected passes this socket too.
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

/// The kernel's tick: protocol timers run in steps of it.
#[must_use]
pub fn tick() -> Duration {
    clock::tick()
}

/// Addresses, routes, and both interfaces up. IPv6 may be switched off in the
/// kernel; then IPv4 alone is furnished.
fn set_up(config: &TestNetnsConfig) -> io::Result<device::Index> {
    let control = device::control_socket(libc::AF_INET)?;
    device::bring_up(&control, "lo")?;
    device::set_mtu(&control, DEVICE, config.mtu)?;
    // Best effort: a user namespace may not. Then 500 packets wait, which is more
    // than most scripts make the kernel send at once.
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
