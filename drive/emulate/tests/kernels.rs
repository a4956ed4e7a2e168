//! The kernel at both ends of an emulated path. No packet leaves the namespaces.

mod site;

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use gigatcp_emulate::{Addresses, Emulator, EmulatorConfig, NAME, Side, Snapshot};
use gigatcp_linux::{interface, socket};
use gigatcp_path::{DropCause, HopConfig, LossModel, Reorder};
use gigatcp_units::{Bytes, Duration, Probability, Rate};
use sha2::{Digest, Sha256};

use site::{ping, random, start};

const PORT: u16 = 5001;

fn chance(p: f64) -> Probability {
    Probability::try_new(p).unwrap()
}

fn hop(name: &str) -> HopConfig {
    HopConfig {
        name: name.into(),
        ..HopConfig::default()
    }
}

fn address(side: Side, is_v6: bool) -> IpAddr {
    let addresses = Addresses::of(side);
    if is_v6 {
        addresses.v6.into()
    } else {
        addresses.v4.into()
    }
}

/// Sends `octets` from one end to the other; returns the digest of what arrived.
fn transfer(emulator: &Emulator, from: Side, is_v6: bool, octets: &[u8]) -> String {
    let to = match from {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    };
    let listen = || TcpListener::bind((address(to, is_v6), PORT)).unwrap();
    let listener = emulator.namespace(to).run(listen).unwrap();
    socket::set_congestion(&listener, "cubic").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let connect = || TcpStream::connect((address(to, is_v6), PORT)).unwrap();
            let mut stream = emulator.namespace(from).run(connect).unwrap();
            socket::set_congestion(&stream, "cubic").unwrap();
            stream.write_all(octets).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        });
        let (mut stream, _) = listener.accept().unwrap();
        let mut sum = Sha256::new();
        let mut buffer = vec![0; 100_000];
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => break format!("{:x}", sum.finalize()),
                read => sum.update(&buffer[..read]),
            }
        }
    })
}

fn digest(octets: &[u8]) -> String {
    format!("{:x}", Sha256::digest(octets))
}

/// Waits until the path is empty, stops it, and checks its counters.
fn settle(emulator: Emulator) -> Snapshot {
    let began = StdInstant::now();
    loop {
        let snapshot = emulator.snapshot();
        if snapshot.directions.iter().all(|way| way.inside() == 0) {
            break;
        }
        assert!(began.elapsed() < StdDuration::from_secs(20), "{snapshot:?}");
        thread::sleep(StdDuration::from_millis(20));
    }
    let dropped = Side::ALL.map(|side| emulator.dropped_by_device(side));
    assert_eq!(dropped, [Some(0), Some(0)]);
    let dropped = Side::ALL.map(|side| emulator.dropped_by_kernel(side));
    assert_eq!(dropped, [Some(0), Some(0)]);
    let snapshot = emulator.stop().unwrap();
    for way in &snapshot.directions {
        assert!(way.is_conserved(), "{way:?}");
        assert_eq!((way.device.malformed, way.device.refused), (0, 0));
        let by_hop = way
            .hops
            .windows(2)
            .all(|hops| hops[0].counters.delivered == hops[1].counters.arrived);
        assert!(by_hop, "{way:?}");
    }
    snapshot
}

#[test]
fn a_ping_sees_the_round_trip_time_of_the_path() {
    let delayed = |name: &str, ms| HopConfig {
        one_way_delay: Duration::from_millis(ms),
        ..hop(name)
    };
    let config = EmulatorConfig {
        forward: vec![delayed("there", 30), delayed("farther", 5)],
        reverse: vec![delayed("back", 12)],
        ..EmulatorConfig::default()
    };
    let Some(emulator) = start(&config) else {
        return;
    };
    for is_v6 in [false, true] {
        let to = address(Side::Server, is_v6);
        // The first may take longer, until caches are warm.
        let mut times: Vec<_> = (0..5)
            .map(|n| {
                emulator
                    .namespace(Side::Client)
                    .run(|| ping(to, n))
                    .unwrap()
            })
            .collect();
        times.sort_unstable();
        assert!(times[0] >= StdDuration::from_millis(47), "{times:?}");
        // Not twice that; the maximum lateness is measured by the benchmark.
        assert!(times[0] < StdDuration::from_millis(90), "{times:?}");
    }
    settle(emulator);
}

/// A path with all impairments of a hop.
fn bad_path() -> EmulatorConfig {
    let bottleneck = HopConfig {
        rate: Some(Rate::from_bps(400_000_000)),
        one_way_delay: Duration::from_millis(2),
        limit_bytes: Some(Bytes::new(150_000)),
        loss: vec![LossModel::Bernoulli(chance(0.003))],
        reorder: Some(Reorder {
            probability: chance(0.01),
            extra_delay: Duration::from_micros(700),
        }),
        duplicate: Some(chance(0.005)),
        ..hop("bottleneck")
    };
    let back = HopConfig {
        one_way_delay: Duration::from_millis(1),
        loss: vec![LossModel::Bernoulli(chance(0.003))],
        duplicate: Some(chance(0.005)),
        ..hop("back")
    };
    EmulatorConfig {
        forward: vec![hop("wire"), bottleneck],
        reverse: vec![back],
        ..EmulatorConfig::default()
    }
}

#[test]
fn every_octet_arrives_through_loss_reordering_and_duplicates() {
    let octets = random(3, 12_000_000);
    let wanted = digest(&octets);
    for (offloads, mtu) in [(true, 1500), (true, 9000), (false, 1500)] {
        for is_v6 in [false, true] {
            let config = EmulatorConfig {
                offloads,
                mtu: [mtu; 2],
                ..bad_path()
            };
            let Some(emulator) = start(&config) else {
                return;
            };
            assert_eq!(transfer(&emulator, Side::Client, is_v6, &octets), wanted);
            assert_eq!(
                transfer(&emulator, Side::Server, is_v6, &octets[..3_000_000]),
                digest(&octets[..3_000_000])
            );
            let snapshot = settle(emulator);
            let way = &snapshot.directions[0];
            let counters = way.hops[1].counters;
            assert!(
                counters.drops[DropCause::Loss(0)].packets > 0 && counters.reordered.packets > 0
            );
            assert!(counters.duplicated.packets > 0);
            // Super-segments stayed whole, if offloads are on.
            let is_whole = way.device.reads * 2 < way.arrived().packets;
            assert_eq!(is_whole, offloads, "{:?}", way.device);
        }
    }
}

/// TCP segments that the kernel of an end dropped for a wrong checksum. RFC 4022 counts them in
/// `tcpInErrs`; Linux has a separate count.
fn checksum_errors(emulator: &Emulator, side: Side) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let text = emulator.namespace(side).run(read).unwrap();
    let mut tcp = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (tcp.next().unwrap(), tcp.next().unwrap());
    let mut columns = names.split_whitespace().zip(values.split_whitespace());
    let found = columns.find(|(name, _)| *name == "InCsumErrors");
    found.unwrap().1.parse().unwrap()
}

#[test]
fn the_kernel_finds_every_damaged_packet_and_the_data_arrive() {
    let octets = random(6, 12_000_000);
    for offloads in [true, false] {
        let damaging = |name: &str, p| HopConfig {
            rate: Some(Rate::from_bps(400_000_000)),
            one_way_delay: Duration::from_millis(1),
            corrupt: vec![LossModel::Bernoulli(chance(p))],
            ..hop(name)
        };
        let config = EmulatorConfig {
            forward: vec![damaging("there", 0.003)],
            reverse: vec![damaging("back", 0.003)],
            offloads,
            ..EmulatorConfig::default()
        };
        let Some(emulator) = start(&config) else {
            return;
        };
        for is_v6 in [false, true] {
            let arrived = transfer(&emulator, Side::Client, is_v6, &octets);
            assert_eq!(arrived, digest(&octets));
        }
        let found = [Side::Server, Side::Client].map(|side| checksum_errors(&emulator, side));
        let snapshot = settle(emulator);
        let damaged = snapshot
            .directions
            .map(|way| way.hops[0].counters.corrupted.packets);
        assert!(damaged[0] > 10, "{damaged:?}");
        // Neighbor discovery and errors are not TCP, and the last packets may come late.
        let missing = [0, 1].map(|way| damaged[way].saturating_sub(found[way]));
        assert!(
            found[0] > 0 && missing.iter().all(|missing| *missing <= 3),
            "{damaged:?} {found:?}"
        );
    }
}

#[test]
fn the_kernel_puts_fragments_together() {
    let narrow = HopConfig {
        mtu: Some(Bytes::new(700)),
        fragments: true,
        loss: vec![LossModel::Bernoulli(chance(0.001))],
        ..hop("narrow")
    };
    let octets = random(7, 3_000_000);
    for offloads in [true, false] {
        let config = EmulatorConfig {
            forward: vec![narrow.clone(), hop("wire")],
            // Path MTU discovery is off, so there is no DF.
            settings: vec![("net.ipv4.ip_no_pmtu_disc".into(), "1".into())],
            offloads,
            ..EmulatorConfig::default()
        };
        let Some(emulator) = start(&config) else {
            return;
        };
        let arrived = transfer(&emulator, Side::Client, false, &octets);
        assert_eq!(arrived, digest(&octets));
        let way = &settle(emulator).directions[0];
        assert!(way.fragmented() > 2 * 1900, "{way:?}");
    }
}

#[test]
fn without_offloads_packets_are_handed_over_together_where_the_system_lets_them() {
    let octets = random(5, 12_000_000);
    for offloads in [true, false] {
        let config = EmulatorConfig {
            offloads,
            ..EmulatorConfig::default()
        };
        let Some(emulator) = start(&config) else {
            return;
        };
        assert_eq!(
            transfer(&emulator, Side::Client, false, &octets),
            digest(&octets)
        );
        let snapshot = settle(emulator);
        let [client, server] = snapshot.directions.map(|way| way.device);
        assert_eq!(server.writes + server.refused, client.reads);
        let is_batching = !offloads && server.one_by_one.is_none();
        assert_eq!(server.batched > 0, is_batching, "{server:?}");
        assert!(server.batched <= server.writes);
    }
}

#[test]
fn a_hop_that_takes_less_than_the_ends_send_tells_them() {
    for offloads in [true, false] {
        let narrow = HopConfig {
            mtu: Some(Bytes::new(1400)),
            notifies_too_big: true,
            ..hop("narrow")
        };
        let config = EmulatorConfig {
            forward: vec![narrow],
            offloads,
            ..EmulatorConfig::default()
        };
        let Some(emulator) = start(&config) else {
            return;
        };
        let octets = random(4, 1_000_000);
        for is_v6 in [false, true] {
            assert_eq!(
                transfer(&emulator, Side::Client, is_v6, &octets),
                digest(&octets)
            );
        }
        let snapshot = settle(emulator);
        assert!(snapshot.directions[0].hops[0].counters.drops[DropCause::TooBig].packets > 0);
    }
}

#[test]
fn congestion_marks_reach_the_receiver_in_place_of_drops() {
    let marking = HopConfig {
        rate: Some(Rate::from_bps(200_000_000)),
        one_way_delay: Duration::from_millis(5),
        limit_bytes: Some(Bytes::new(4_000_000)),
        mark: Some(chance(0.01)),
        ..hop("marking")
    };
    let config = EmulatorConfig {
        forward: vec![marking],
        settings: vec![("net.ipv4.tcp_ecn".into(), "1".into())],
        ..EmulatorConfig::default()
    };
    let Some(emulator) = start(&config) else {
        return;
    };
    let octets = random(5, 10_000_000);
    for is_v6 in [false, true] {
        assert_eq!(
            transfer(&emulator, Side::Client, is_v6, &octets),
            digest(&octets)
        );
    }
    let read = |table: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{table}"));
    let tables = || ["netstat", "snmp6"].map(|table| read(table).unwrap());
    let [v4, v6] = emulator.namespace(Side::Server).run(tables).unwrap();
    let marked = settle(emulator).directions[0].hops[0]
        .counters
        .marked
        .packets;
    assert!(marked > 0);
    assert_eq!(
        seen_marked(&v4).unwrap() + seen_marked_v6(&v6).unwrap(),
        marked
    );
}

/// `IpExt: InCEPkts` of the kernel's table.
fn seen_marked(table: &str) -> Option<u64> {
    let mut lines = table.lines().filter(|line| line.starts_with("IpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names
        .split_whitespace()
        .position(|name| name == "InCEPkts")?;
    values.split_whitespace().nth(at)?.parse().ok()
}

/// `Ip6InCEPkts` of the kernel's table.
fn seen_marked_v6(table: &str) -> Option<u64> {
    let mut lines = table.lines().map(str::split_whitespace);
    let mut line = lines.find(|line| line.clone().next() == Some("Ip6InCEPkts"))?;
    line.nth(1)?.parse().ok()
}

#[test]
fn a_device_that_is_deleted_ends_the_path_and_is_said() {
    let Some(emulator) = start(&EmulatorConfig::default()) else {
        return;
    };
    assert!(emulator.is_running());
    let delete = || interface::remove(NAME).unwrap();
    emulator.namespace(Side::Server).run(delete).unwrap();
    let began = StdInstant::now();
    while emulator.is_running() {
        assert!(began.elapsed() < StdDuration::from_secs(5), "it goes on");
        thread::sleep(StdDuration::from_millis(5));
    }
    let said = emulator.stop().unwrap_err().to_string();
    assert!(said.starts_with("the path stopped: "), "{said}");
}

#[test]
fn memory_that_is_full_stops_reading_and_breaks_nothing() {
    let slow = HopConfig {
        rate: Some(Rate::from_bps(300_000_000)),
        one_way_delay: Duration::from_millis(50),
        ..hop("slow")
    };
    let config = EmulatorConfig {
        forward: vec![slow],
        memory: 2 << 20,
        ..EmulatorConfig::default()
    };
    let Some(emulator) = start(&config) else {
        return;
    };
    let octets = random(6, 16_000_000);
    assert_eq!(
        transfer(&emulator, Side::Client, false, &octets),
        digest(&octets)
    );
    let snapshot = settle(emulator);
    assert!(snapshot.directions[0].device.full > 0);
}
