//! Devices that end, pause, or drop packets under a running engine, and ICMP errors about its
//! packets. Without the privilege to create a namespace, tests print that with a hint and prove
//! nothing; tests with their own device need no privilege.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{ALL, ENGINE_V4, ENGINE_V6, KERNEL_V4, KERNEL_V6, NO, Site};
use crate::common::{
    carry, device_config, digest, digest_of, on_device, options, random, say, site,
};
use gigatcp_linux::virtio::{HEADER_LEN, VirtioHeader};
use gigatcp_linux::{device, interface, packets};
use gigatcp_live::{Namespace, Offloads, Stack, Stream, TunConfig, Wire};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Checksum, Endpoints, Flags, IpHeader, Segment, SeqNumber};
use gigatcp_wire::{append_packet, decode_packet};

/// Checks that streams and pending calls report what `end` does to the device. The calls are accept
/// and connect. No call waits any more.
fn everybody_learns(stack: Stack, peer: IpAddr, end: impl FnOnce(), established: Vec<Stream>) {
    let listener = stack.listen((ENGINE_V4, 81), &options("reno")).unwrap();
    thread::scope(|scope| {
        let reading: Vec<_> = established
            .iter()
            .map(|stream| scope.spawn(move || (&*stream).read(&mut [0; 9]).unwrap_err()))
            .collect();
        let writing: Vec<_> = established
            .iter()
            .map(|stream| {
                scope.spawn(move || {
                    loop {
                        if let Err(error) = (&*stream).write(&[0; 100_000]) {
                            break error;
                        }
                    }
                })
            })
            .collect();
        let accepting = scope.spawn(|| listener.accept().unwrap_err());
        thread::sleep(Duration::from_millis(100));
        end();
        for waiting in reading.into_iter().chain(writing) {
            let error = waiting.join().unwrap();
            assert_eq!(error.kind(), ErrorKind::NotConnected, "{error}");
            assert_eq!(error.to_string(), "the device of the stack is gone");
        }
        assert_eq!(accepting.join().unwrap().kind(), ErrorKind::NotConnected);
    });
    // Later calls fail as well, with the reason.
    let late = stack.connect((peer, 80), &options("reno")).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::NotConnected);
    assert!(stack.counters().is_err());
    let said = stack.stop().unwrap_err().to_string();
    assert!(said.starts_with("the device giga0 is gone: "), "{said}");
}

#[test]
fn an_interface_that_is_deleted_ends_every_wait_with_words() {
    let Some(site) = site(1500, ALL) else { return };
    let listener = site.kernel_listens(KERNEL_V4, 80, "cubic");
    let streams: Vec<_> = (0..3)
        .map(|_| {
            let ours = site.stack.connect((KERNEL_V4, 80), &options("cubic"));
            (ours.unwrap(), listener.accept().unwrap())
        })
        .collect();
    let (ours, theirs): (Vec<_>, Vec<_>) = streams.into_iter().unzip();
    let Site { stack, namespace } = site;
    let delete = || {
        namespace
            .run(|| interface::remove("giga0"))
            .unwrap()
            .unwrap()
    };
    everybody_learns(stack, KERNEL_V4, delete, ours);
    drop(theirs);
}

#[test]
fn a_device_whose_other_end_is_closed_ends_every_wait_with_words() {
    let [ours, theirs] = packets::pair().unwrap();
    let stack = Stack::start(Wire::over(ours, device_config(1500, NO).interface())).unwrap();
    everybody_learns(stack, KERNEL_V4, move || drop(theirs), Vec::new());
}

#[test]
fn an_interface_that_is_down_for_a_while_loses_nothing() {
    down_for_a_while(ALL);
}

#[test]
fn packets_that_leave_together_are_counted_as_refused_like_others() {
    down_for_a_while(NO);
}

fn down_for_a_while(offloads: Offloads) {
    let Some(site) = site(1500, offloads) else {
        return;
    };
    let octets = random(21, 4_000_000);
    let listener = site.kernel_listens(KERNEL_V4, 80, "cubic");
    let ours = site
        .stack
        .connect((KERNEL_V4, 80), &options("cubic"))
        .unwrap();
    let (theirs, _) = listener.accept().unwrap();
    let half = octets.len() / 2;
    let control = || device::control_socket(libc::AF_INET).unwrap();
    thread::scope(|scope| {
        let heard = scope.spawn(|| digest_of(&theirs).unwrap());
        let back = scope.spawn(|| digest_of(&ours).unwrap());
        (&ours).write_all(&octets[..half]).unwrap();
        (&theirs).write_all(&octets[..half]).unwrap();
        let down = || device::take_down(&control(), "giga0").unwrap();
        site.namespace.run(down).unwrap();
        scope.spawn(|| {
            (&theirs).write_all(&octets[half..]).unwrap();
            theirs.shutdown(Shutdown::Write).unwrap();
        });
        scope.spawn(|| {
            (&ours).write_all(&octets[half..]).unwrap();
            ours.shutdown(Shutdown::Write).unwrap();
        });
        thread::sleep(Duration::from_millis(300));
        // The engine is running all the time, and sleeps.
        assert!(site.stack.counters().is_ok());
        let up = || device::bring_up(&control(), "giga0").unwrap();
        site.namespace.run(up).unwrap();
        let wanted = (digest(&octets), octets.len());
        assert_eq!(heard.join().unwrap(), wanted);
        assert_eq!(back.join().unwrap(), wanted);
    });
    let counters = site.stack.counters().unwrap();
    assert!(counters.device.refused > 0, "{counters:?}");
    let is_batching = offloads == NO && counters.device.one_by_one.is_none();
    assert_eq!(counters.device.batched > 0, is_batching, "{counters:?}");
    site.stack.stop().unwrap();
}

#[test]
fn a_namespace_that_nobody_holds_stays_as_long_as_the_engine_has_a_device_in_it() {
    let Some(site) = site(1500, ALL) else { return };
    let listener = site.kernel_listens(KERNEL_V6, 80, "cubic");
    let Site { stack, namespace } = site;
    drop(namespace);
    let octets = random(22, 1_000_000);
    let ours = stack.connect((KERNEL_V6, 80), &options("reno")).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    carry(&ours, &theirs, &octets, || ours.shutdown(Shutdown::Write));
    stack.stop().unwrap();
}

#[test]
fn a_queue_of_two_packets_before_the_engine_loses_packets_and_no_octets() {
    let short = TunConfig {
        queue: 2,
        ..device_config(1500, NO)
    };
    let Some(site) = on_device(&short) else {
        return;
    };
    let octets = random(24, 2_000_000);
    let listener = site.kernel_listens(KERNEL_V4, 80, "cubic");
    let ours = site
        .stack
        .connect((KERNEL_V4, 80), &options("cubic"))
        .unwrap();
    let (theirs, _) = listener.accept().unwrap();
    carry(&theirs, &ours, &octets, || theirs.shutdown(Shutdown::Write));
    let set_again = || device::set_queue(&device::control_socket(libc::AF_INET)?, "giga0", 2);
    match site.namespace.run(set_again).unwrap() {
        Ok(()) => assert!(dropped_by(&site.namespace) > 0),
        // Root of a user namespace may not set it, and has 500.
        Err(error) => say(&format!("SKIPPED, NO SHORT QUEUE: cannot set it: {error}")),
    }
    site.stack.stop().unwrap();
}

/// Packets that the kernel could not put into the device's queue.
fn dropped_by(namespace: &Namespace) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let table = namespace.run(read).unwrap();
    let line = table.lines().find(|line| line.contains("giga0")).unwrap();
    let numbers = line.split(':').nth(1).unwrap();
    numbers.split_whitespace().nth(11).unwrap().parse().unwrap()
}

/// The other end of a device, controlled by the test.
struct Peer(File);

impl Peer {
    /// A stack and its wire.
    fn new() -> (Stack, Self) {
        let [ours, theirs] = packets::pair().unwrap();
        let stack = Stack::start(Wire::over(ours, device_config(1500, NO).interface())).unwrap();
        (stack, Self(theirs.into()))
    }

    fn send(&self, packet: &[u8]) {
        let whole = [&VirtioHeader::default().encode(), packet].concat();
        assert_eq!((&self.0).write(&whole).unwrap(), whole.len());
    }

    fn send_segment(&self, from: IpAddr, to: IpAddr, segment: &Segment<Bytes>) {
        let header = IpHeader::new(Endpoints::new(from, to).unwrap());
        let mut octets = Vec::new();
        append_packet(&header, segment, &mut octets).unwrap();
        self.send(&octets);
    }

    /// Next packet of the engine within `longest`, from its IP header.
    fn receive(&self, longest: Duration) -> Option<(Vec<u8>, Segment<Bytes>)> {
        let began = Instant::now();
        let mut octets = [0; 2_000];
        while began.elapsed() < longest {
            match (&self.0).read(&mut octets) {
                Ok(len) => {
                    let packet = &octets[HEADER_LEN..len];
                    let (_, segment) = decode_packet(packet).unwrap();
                    let owned = segment.map_payload(Bytes::copy_from_slice);
                    return Some((packet.into(), owned));
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

/// A port unreachable error of `to` about `quoted`.
fn port_unreachable(from: IpAddr, to: IpAddr, quoted: &[u8]) -> Vec<u8> {
    let (mut ip, kind, code, mut sum) = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let len = (20 + 8 + quoted.len()) as u16;
            let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0];
            ip[2..4].copy_from_slice(&len.to_be_bytes());
            ip.extend(from.octets());
            ip.extend(to.octets());
            let mut header = Checksum::new();
            header.add_octets(&ip);
            ip[10..12].copy_from_slice(&header.finish().to_be_bytes());
            (ip, 3, 3, Checksum::new())
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let len = (8 + quoted.len()) as u16;
            let mut ip = vec![0x60, 0, 0, 0, 0, 0, 58, 64];
            ip[4..6].copy_from_slice(&len.to_be_bytes());
            ip.extend(from.octets());
            ip.extend(to.octets());
            let mut sum = Checksum::new();
            sum.add_octets(&ip[8..40]);
            sum.add_octets(&u32::from(len).to_be_bytes());
            sum.add_octets(&[0, 58]);
            (ip, 1, 4, sum)
        }
        _ => panic!("two families"),
    };
    let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
    message.extend(quoted);
    sum.add_octets(&message);
    message[2..4].copy_from_slice(&sum.finish().to_be_bytes());
    ip.extend(message);
    ip
}

#[test]
fn an_error_about_a_syn_ack_reaches_the_listener_and_one_about_another_does_not() {
    for (from, to) in [(KERNEL_V4, ENGINE_V4), (KERNEL_V6, ENGINE_V6)] {
        for (is_about_it, port) in [(true, 1_000), (false, 1_001)] {
            let (stack, wire) = Peer::new();
            let _listener = stack.listen((to, 81), &options("reno")).unwrap();
            let syn = Segment {
                src_port: port,
                dst_port: 81,
                seq: SeqNumber::new(100),
                flags: Flags::SYN,
                ..Segment::default()
            };
            wire.send_segment(from, to, &syn);
            let patience = Duration::from_secs(5);
            let (mut packet, syn_ack) = wire.receive(patience).expect("a SYN-ACK");
            assert!(syn_ack.flags.contains(Flags::SYN | Flags::ACK));
            if !is_about_it {
                // A forged error: another sequence number.
                let at = if to.is_ipv4() { 24 } else { 44 };
                packet[at] ^= 0x55;
            }
            wire.send(&port_unreachable(from, to, &packet));
            // It is repeated after a second, unless the connection has ended.
            let repeated = wire.receive(Duration::from_millis(1_500));
            assert_eq!(repeated.is_none(), is_about_it, "{repeated:?}");
            let ack = Segment {
                flags: Flags::ACK,
                seq: SeqNumber::new(101),
                ack: syn_ack.seq + 1,
                ..syn
            };
            wire.send_segment(from, to, &ack);
            let answer = wire.receive(Duration::from_millis(200));
            let is_reset = answer.is_some_and(|(_, segment)| segment.flags.contains(Flags::RST));
            assert_eq!(is_reset, is_about_it);
            stack.stop().unwrap();
        }
    }
}
