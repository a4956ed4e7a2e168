//! A device with random packets, and a process that is killed. Without the privilege to create a
//! namespace, each test prints that with a hint and proves nothing.

mod common;

use std::io::{Read, Write};
use std::net::Shutdown;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{ALL, ENGINE_V4, ENGINE_V6, KERNEL_V4, KERNEL_V6};
use common::{digest, digest_of, options, random, site};
use gigatcp_linux::packets;
use gigatcp_live::{Namespace, make_pair};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Endpoints, Flags, IpHeader, Segment, SeqNumber, append_packet};
use rand_core::{Rng, SeedableRng};

/// A malformed packet from a peer of the engine. It is cut, overwritten, or has impossible lengths
/// and options, between any addresses. Half are to ports in use, some with a right checksum.
fn nonsense(random: &mut impl Rng) -> Vec<u8> {
    let pairs = [(KERNEL_V4, ENGINE_V4), (KERNEL_V6, ENGINE_V6)];
    let (from, to) = pairs[random.next_u32() as usize % 2];
    let segment = Segment {
        src_port: [5001, 80, random.next_u32() as u16][random.next_u32() as usize % 3],
        dst_port: [81, 49_152, random.next_u32() as u16][random.next_u32() as usize % 3],
        seq: SeqNumber::new(random.next_u32()),
        ack: SeqNumber::new(random.next_u32()),
        flags: Flags::from_bits(random.next_u32() as u16),
        payload: Bytes::from(vec![3; random.next_u32() as usize % 1_300]),
        ..Segment::default()
    };
    let mut octets = Vec::new();
    let header = IpHeader::new(Endpoints::new(from, to).unwrap());
    append_packet(&header, &segment, &mut octets).unwrap();
    if !random.next_u32().is_multiple_of(4) {
        for _ in 0..random.next_u32() % 8 {
            let at = random.next_u32() as usize % octets.len().min(100);
            octets[at] = random.next_u32() as u8;
        }
    }
    if random.next_u32().is_multiple_of(8) {
        octets.truncate(random.next_u32() as usize % octets.len());
    }
    octets
}

#[test]
fn nonsense_on_the_device_does_not_disturb_a_transfer() {
    let Some(site) = site(1500, ALL) else { return };
    let octets = random(11, 3_000_000);
    let listener = site.kernel_listens(KERNEL_V4, 5001, "cubic");
    let _ours = site
        .stack
        .listen((ENGINE_V4, 81), &options("reno"))
        .unwrap();
    let stream = site
        .stack
        .connect((KERNEL_V4, 5001), &options("cubic"))
        .unwrap();
    let (theirs, _) = listener.accept().unwrap();
    thread::scope(|scope| {
        let shouting = scope.spawn(|| {
            let shout = || {
                let socket = packets::open("giga0").unwrap();
                let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(12);
                for _ in 0..20_000 {
                    // The kernel rejects packets too malformed even for a device.
                    let _ = packets::send(&socket, &nonsense(&mut random));
                }
            };
            site.namespace.run(shout).unwrap();
        });
        scope.spawn(|| {
            (&theirs)
                .write_all(&octets)
                .map(|()| theirs.shutdown(Shutdown::Write))
        });
        assert_eq!(digest_of(&stream).unwrap(), (digest(&octets), octets.len()));
        shouting.join().unwrap();
    });
    let counters = site.stack.counters().unwrap();
    assert!(counters.device.malformed > 1_000, "{counters:?}");
    assert!(counters.resets > 100, "{counters:?}");
    // The engine still opens, sends and closes.
    (&stream).write_all(b"well").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    (&theirs).read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "well");
    site.stack.stop().unwrap();
}

/// Environment variable that marks the second process.
const SIGN: &str = "GIGATCP_TEST_IS_KILLED";

#[test]
fn nothing_is_left_of_a_process_that_is_killed() {
    if std::env::var_os(SIGN).is_some() {
        hold_until_killed();
    }
    if site(1500, ALL).is_none() {
        return;
    }
    let mut again = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "nothing_is_left_of_a_process_that_is_killed",
        ])
        .env(SIGN, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It prints the number of its namespace once everything is set up.
    let mut said = [0; 4_096];
    let mut number = String::new();
    while !number.contains(']') {
        let len = again.stdout.as_mut().unwrap().read(&mut said).unwrap();
        assert!(len > 0, "the second process ended: {number}");
        number.push_str(&String::from_utf8_lossy(&said[..len]));
    }
    let start = number.find("net:[").unwrap();
    let number = number[start..]
        .split_inclusive(']')
        .next()
        .unwrap()
        .to_string();
    assert!(is_held(&number), "{number} is there before");
    again.kill().unwrap();
    again.wait().unwrap();
    assert!(!is_held(&number), "{number} is still there");
}

/// Whether a process or an open file of one keeps a namespace.
fn is_held(number: &str) -> bool {
    let links = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .any(|link| link.as_os_str() == number)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut folders = processes.map(|entry| entry.path());
    folders.any(|process| links(&process.join("fd")) || links(&process.join("ns")))
}

/// Creates a namespace, a device and a pair, and waits.
fn hold_until_killed() -> ! {
    let site = site(1500, ALL).unwrap();
    let other = Namespace::new().unwrap();
    make_pair(&site.namespace, &other, "pair0").unwrap();
    let number = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    println!("{}", site.namespace.run(number).unwrap().display());
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}
