//! A place for transfers between the engine and the machine's kernel: one
//! namespace, one device, the kernel on one side and the engine on the other.
//! Nothing leaves the namespace.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

use gigatcp_live::{Namespace, Offloads, Options, SetupError, Stack, Stream, TunConfig, Wire};
use rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

pub const KERNEL_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
pub const ENGINE_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
pub const KERNEL_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1));
pub const ENGINE_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2));

pub const ALL: Offloads = Offloads::ALL;
pub const NO: Offloads = Offloads::NONE;

/// A namespace and the stack on its device.
pub struct Site {
    pub namespace: Namespace,
    pub stack: Stack,
}

/// Makes it, or says loudly why it cannot and what to type.
pub fn site(mtu: u16, offloads: Offloads) -> Option<Site> {
    on_device(&device_config(mtu, offloads))
}

/// The same on a device of one's own.
pub fn on_device(config: &TunConfig) -> Option<Site> {
    match try_site(config) {
        Ok(site) => Some(site),
        Err(error) if error.is_missing_privilege() => {
            let hint = error.hint().unwrap_or_default();
            say(&format!("SKIPPED, NOTHING PROVEN: {error}\n  {hint}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The device of a site.
pub fn device_config(mtu: u16, offloads: Offloads) -> TunConfig {
    TunConfig {
        mtu,
        offloads,
        kernel: vec![(KERNEL_V4, 24), (KERNEL_V6, 64)],
        engine: vec![ENGINE_V4, ENGINE_V6],
        ..TunConfig::default()
    }
}

fn try_site(config: &TunConfig) -> Result<Site, SetupError> {
    let namespace = Namespace::new()?;
    let device = Wire::open_tun(&namespace, config)?;
    let stack = Stack::start(device).unwrap();
    Ok(Site { namespace, stack })
}

/// Says it past the harness, which keeps what a passing test prints.
pub fn say(text: &str) {
    let name = thread::current().name().unwrap_or("test").to_string();
    let _ = writeln!(std::io::stderr(), "\n{name}: {text}");
}

impl Site {
    /// A listening socket of the kernel.
    pub fn kernel_listens(&self, address: IpAddr, port: u16, congestion: &str) -> TcpListener {
        let listen = || {
            let listener = TcpListener::bind((address, port)).unwrap();
            set_congestion(&listener, congestion);
            listener
        };
        self.namespace.run(listen).unwrap()
    }

    /// A connection of the kernel to the engine.
    pub fn kernel_connects(&self, to: SocketAddr, congestion: &str) -> std::io::Result<TcpStream> {
        self.namespace
            .run(|| {
                let stream = TcpStream::connect(to)?;
                set_congestion(&stream, congestion);
                Ok(stream)
            })
            .unwrap()
    }
}

/// Names the congestion control of a kernel's socket: its default differs from
/// machine to machine.
pub fn set_congestion(socket: &impl AsRawFd, name: &str) {
    let setting = gigatcp_linux::socket::set_congestion(socket, name);
    setting.unwrap_or_else(|error| panic!("the kernel has no {name}: {error}"));
}

pub fn options(congestion: &str) -> Options {
    Options::default().with_congestion(congestion).unwrap()
}

/// Random octets that a seed names.
pub fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut octets = vec![0; len];
    rand_pcg::Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut octets);
    octets
}

pub fn digest(octets: &[u8]) -> String {
    format!("{:x}", Sha256::digest(octets))
}

/// Reads to the end; the digest of what came, and how much that was.
pub fn digest_of(mut from: impl Read) -> std::io::Result<(String, usize)> {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 100_000];
    let mut len = 0;
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok((format!("{:x}", sum.finalize()), len)),
            read => {
                sum.update(&buffer[..read]);
                len += read;
            }
        }
    }
}

/// Writes all octets on a thread of its own and closes; reads to the end here.
/// The digest of what came, and how much that was.
pub fn exchange<C>(
    reader: impl Read,
    mut writer: impl Write + Send,
    octets: &[u8],
    close: impl FnOnce() -> std::io::Result<C> + Send,
) -> (String, usize) {
    thread::scope(|scope| {
        scope.spawn(move || {
            writer.write_all(octets).unwrap();
            close().map(drop).unwrap();
        });
        digest_of(reader).unwrap()
    })
}

/// One way: what is written arrives, octet by octet.
pub fn carry<C>(
    writer: impl Write + Send,
    reader: impl Read,
    octets: &[u8],
    close: impl FnOnce() -> std::io::Result<C> + Send,
) {
    let got = exchange(reader, writer, octets, close);
    assert_eq!(got, (digest(octets), octets.len()));
}

/// Both ways at once: each end writes its octets, closes that direction, and
/// reads to the end.
pub fn carry_both_ways(engine: &Stream, kernel: &TcpStream, [ours, theirs]: [&[u8]; 2]) {
    thread::scope(|scope| {
        let peer =
            scope.spawn(|| exchange(kernel, kernel, theirs, || kernel.shutdown(Shutdown::Write)));
        let got = exchange(engine, engine, ours, || engine.shutdown(Shutdown::Write));
        assert_eq!(got, (digest(theirs), theirs.len()), "what the engine read");
        let got = peer.join().unwrap();
        assert_eq!(got, (digest(ours), ours.len()), "what the kernel read");
    });
}
