//! Testbed for transfers between the engine and the machine's kernel: one namespace, one device,
//! the kernel on one side and the engine on the other. No packet leaves the namespace.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
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

/// Creates it, or prints loudly why it cannot, with a hint.
pub fn site(mtu: u16, offloads: Offloads) -> Option<Site> {
    on_device(&device_config(mtu, offloads))
}

/// Creates a testbed on a device with these settings.
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

/// Settings of a testbed's device.
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

/// Prints to the real stderr, since the test harness captures the output of passing tests.
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

/// Sets the congestion control of a kernel socket, since defaults differ between machines.
pub fn set_congestion(socket: &impl AsFd, name: &str) {
    let setting = gigatcp_linux::socket::set_congestion(socket, name);
    setting.unwrap_or_else(|error| panic!("the kernel has no {name}: {error}"));
}

pub fn options(congestion: &str) -> Options {
    Options::default().with_congestion(congestion).unwrap()
}

/// Random bytes from a seed.
pub fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut octets = vec![0; len];
    rand_pcg::Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut octets);
    octets
}

pub fn digest(octets: &[u8]) -> String {
    format!("{:x}", Sha256::digest(octets))
}

/// Reads to the end; returns digest and length.
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

/// Writes all bytes on a separate thread and closes; reads to the end here. Returns digest and
/// length of what was read.
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

/// Checks a transfer in one direction, byte by byte.
pub fn carry<C>(
    writer: impl Write + Send,
    reader: impl Read,
    octets: &[u8],
    close: impl FnOnce() -> std::io::Result<C> + Send,
) {
    let got = exchange(reader, writer, octets, close);
    assert_eq!(got, (digest(octets), octets.len()));
}

/// Checks simultaneous transfers in both directions. Each end writes its bytes, closes that
/// direction, and reads to the end.
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
