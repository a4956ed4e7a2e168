//! Starts an emulator for a test, or prints why it cannot; and a ping.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::Write;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use gigatcp_emulate::{Emulator, EmulatorConfig, EmulatorError};
use gigatcp_linux::address;
use gigatcp_wire::Checksum;
use rand_core::{Rng, SeedableRng};

/// Starts it, or prints loudly why it cannot, with a hint.
pub fn start(config: &EmulatorConfig) -> Option<Emulator> {
    match Emulator::start(config, None) {
        Ok(emulator) => Some(emulator),
        Err(EmulatorError::Setup(error)) if error.is_missing_privilege() => {
            let hint = error.hint().unwrap_or_default();
            say(&format!("SKIPPED, NOTHING PROVEN: {error}\n  {hint}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Prints to the real stderr, since the test harness captures the output of passing tests.
pub fn say(text: &str) {
    let name = std::thread::current().name().unwrap_or("test").to_string();
    let _ = writeln!(std::io::stderr(), "\n{name}: {text}");
}

/// Random bytes from a seed.
pub fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut octets = vec![0; len];
    rand_pcg::Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut octets);
    octets
}

/// Sends `octets` to `address`, which is a `sockaddr_in` or a `sockaddr_in6`. Returns the result of
/// the call.
fn send<T>(socket: &OwnedFd, octets: &[u8], address: &T) -> isize {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: pointers and lengths are those of `octets` and `address`.
    unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            octets.as_ptr().cast(),
            octets.len(),
            0,
            std::ptr::from_ref(address).cast(),
            size,
        )
    }
}

/// Sends an ICMP echo request from the calling thread's namespace. Returns the time to the reply.
pub fn ping(to: IpAddr, number: u16) -> Duration {
    let (family, protocol, kinds) = match to {
        IpAddr::V4(_) => (libc::AF_INET, libc::IPPROTO_ICMP, [8, 0]),
        IpAddr::V6(_) => (libc::AF_INET6, libc::IPPROTO_ICMPV6, [128, 129]),
    };
    // SAFETY: plain integers.
    let made = unsafe { libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) };
    assert!(made >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is a new one.
    let socket = unsafe { OwnedFd::from_raw_fd(made) };
    let mut request = vec![kinds[0], 0, 0, 0, 0x47, 0x54];
    request.extend(number.to_be_bytes());
    if to.is_ipv4() {
        let mut sum = Checksum::new();
        sum.add_octets(&request);
        request[2..4].copy_from_slice(&sum.finish().to_be_bytes());
    }
    let began = Instant::now();
    let sent = match to {
        IpAddr::V4(to) => send(&socket, &request, &address::v4(to, 0)),
        IpAddr::V6(to) => send(&socket, &request, &address::v6(to, 0)),
    };
    assert!(sent > 0, "{}", std::io::Error::last_os_error());
    let mut answer = [0_u8; 200];
    loop {
        let (pointer, len) = (answer.as_mut_ptr().cast(), answer.len());
        // SAFETY: pointer and length are those of `answer`.
        let read = unsafe { libc::recv(socket.as_raw_fd(), pointer, len, 0) };
        assert!(read > 0, "{}", std::io::Error::last_os_error());
        // IPv4 includes its header, IPv6 does not.
        let icmp = &answer[if to.is_ipv4() { 20 } else { 0 }..];
        if icmp[0] == kinds[1] && icmp[4..8] == request[4..8] {
            return began.elapsed();
        }
        assert!(began.elapsed() < Duration::from_secs(5), "no answer");
    }
}
