//! Tests of the engine on a wire that corrupts or delays packets.
//!
//! Without the privilege to create a namespace, the tests print the required command and check
//! nothing.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener};
use std::thread;
use std::time::Duration;

use gigatcp_interop::{Direction, PacketFilter, Relay, Source, Trouble, digest, survive};
use gigatcp_linux::{Namespace, SetupError};
use gigatcp_live::{Options, Stack, TunConfig};

/// Returns the value, or prints a message if the privilege is missing.
fn unless_missing<T>(made: Result<T, SetupError>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(error) if error.is_missing_privilege() => {
            let name = thread::current().name().unwrap_or("test").to_string();
            let hint = error.hint().unwrap_or_default();
            // Bypasses the test harness, which captures the output of passing tests.
            let text = format!("\n{name}: SKIPPED, NOTHING PROVEN: {error}\n  {hint}\n");
            let _ = std::io::stderr().write_all(text.as_bytes());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn spoilt_packets_of_both_directions_disturb_no_connection_whose_checksums_tell() {
    for (seed, offloads) in [(1, true), (2, false)] {
        match survive(seed, offloads, Duration::from_secs(2)) {
            Ok(survived) => {
                let counters = survived.counters;
                assert!(
                    survived.compared >= 4 && survived.victims > 0,
                    "{survived:?}"
                );
                // Corruption must have actually occurred.
                assert!(counters.device.malformed > 50, "{survived:?}");
                assert!(survived.failed_victims > 0, "{survived:?}");
            }
            Err(Trouble::Setup(error)) => {
                if unless_missing(Err::<(), _>(error)).is_none() {
                    return;
                }
            }
            Err(Trouble::Failed(what)) => panic!("{what}"),
        }
    }
}

/// Packet filter that delays the packets of the engine.
struct Slow;

impl PacketFilter for Slow {
    fn on_packet(&mut self, direction: Direction, packet: &[u8], out: &mut Vec<Vec<u8>>) {
        if direction == Direction::FromEngine {
            thread::sleep(Duration::from_micros(300));
        }
        out.push(packet.to_vec());
    }
}

#[test]
fn a_device_whose_queue_is_full_delays_and_loses_nothing() {
    let kernel = IpAddr::V4(Ipv4Addr::new(10, 86, 0, 1));
    let Some(namespace) = unless_missing(Namespace::new()) else {
        return;
    };
    let config = TunConfig {
        kernel: vec![(kernel, 24)],
        engine: vec![Ipv4Addr::new(10, 86, 0, 2).into()],
        ..TunConfig::default()
    };
    let Some((device, relay)) = unless_missing(Relay::start(&namespace, &config, Slow)) else {
        return;
    };
    let stack = Stack::start(device).unwrap();
    let listener = namespace
        .run(|| TcpListener::bind((kernel, 80)).unwrap())
        .unwrap();
    let octets = &Source::first(7, 12_000_000);
    thread::scope(|scope| {
        for _ in 0..4 {
            let ours = stack.connect((kernel, 80), &Options::default()).unwrap();
            let (mut theirs, _) = listener.accept().unwrap();
            scope.spawn(move || {
                (&ours).write_all(octets).unwrap();
                ours.shutdown(Shutdown::Write).unwrap();
            });
            scope.spawn(move || {
                let mut all = Vec::new();
                theirs.read_to_end(&mut all).unwrap();
                assert_eq!(digest(&all), digest(octets));
            });
        }
    });
    let counters = stack.counters().unwrap();
    assert!(counters.device_full > 0, "{counters:?}");
    assert_eq!(counters.device.refused, 0);
    stack.stop().unwrap();
    drop(relay);
}
