//! Tests whether many simultaneous paths, each filled by a TCP flow of the kernel, keep their
//! rates.
//!
//! Estimate, before measuring. At 100 Mbit/s wire packets of 1500 bytes are 120 us apart, more than
//! the 50 us for which they wait for one another. Each is therefore delivered alone: 8,333 packets
//! per second and path, and half as many ACKs. A packet costs 2.5 us (`bench_emulate`: offloads
//! off, 2.8 Gbit/s) and an ACK 1.3 us, so a path takes 2.6 % of a CPU. Two CPUs thus carry some 75
//! paths, if nothing else needs them.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use gigatcp_emulate::{Addresses, Emulator, EmulatorConfig, Side, Snapshot};
use gigatcp_linux::socket;
use gigatcp_path::HopConfig;
use gigatcp_units::Rate;

use crate::{Any, Effort};

const PORT: u16 = 5003;
const MBIT: u64 = 100;
/// Maximum deviation of a path from its rate, in percent.
const BOUND: f64 = 1.0;
/// Time until every flow fills its path, and every path has adapted to the others.
const WARM_UP: StdDuration = StdDuration::from_secs(4);

/// Measures increasing numbers of paths, up to a hundred.
pub fn measure(effort: Effort) -> Result<(), Any> {
    println!(
        "\npaths of {MBIT} Mbit/s at once, a TCP flow of the kernel on each, {:?}",
        effort.window
    );
    println!(
        "  paths   within {BOUND} %   slowest    middle   fastest   late of 99 %, worst path   of two processors"
    );
    for paths in [10, 25, 50, 75, 100] {
        crowd(paths, effort.window)?;
    }
    Ok(())
}

fn crowd(paths: usize, window: StdDuration) -> Result<(), Any> {
    let hop = HopConfig {
        rate: Some(Rate::from_bps(MBIT * 1_000_000)),
        limit_packets: Some(100),
        ..HopConfig::default()
    };
    let config = EmulatorConfig {
        forward: vec![hop],
        ..EmulatorConfig::default()
    };
    let emulators: Result<Vec<Emulator>, _> =
        (0..paths).map(|_| Emulator::start(&config, None)).collect();
    let emulators = emulators?;
    let flows: Result<Vec<_>, Any> = emulators.iter().map(|path| flow(path, 0)).collect();
    let flows = flows?;
    let received = AtomicU64::new(0);
    let shots = thread::scope(|scope| {
        for (sender, receiver) in &flows {
            scope.spawn(|| send(sender));
            scope.spawn(|| receive(receiver, &received));
        }
        let shoot = || emulators.iter().map(Emulator::snapshot).collect::<Vec<_>>();
        thread::sleep(WARM_UP);
        let before = shoot();
        thread::sleep(window);
        let after = shoot();
        for (sender, receiver) in &flows {
            let _ = sender.shutdown(Shutdown::Both);
            let _ = receiver.shutdown(Shutdown::Both);
        }
        (before, after)
    });
    let (before, after) = shots;
    let mut errors: Vec<f64> = before.iter().zip(&after).map(error).collect();
    errors.sort_by(f64::total_cmp);
    let within = errors.iter().filter(|error| error.abs() <= BOUND).count();
    let late = after
        .iter()
        .filter_map(|shot| shot.directions[0].lateness.quantile(0.99));
    let late_us = late.max().unwrap_or_default().as_nanos() as f64 / 1e3;
    let took =
        |shots: &[Snapshot]| -> f64 { shots.iter().map(|shot| shot.processor.as_secs_f64()).sum() };
    let share = (took(&after) - took(&before)) / window.as_secs_f64() / 2.0 * 100.0;
    println!(
        "  {paths:5}   {within:5} of {paths:<3}  {:+7.2} %  {:+7.2} %  {:+7.2} %   {late_us:15.0} us   {share:13.0} %",
        errors[0],
        errors[errors.len() / 2],
        errors[errors.len() - 1],
    );
    for emulator in emulators {
        let shot = emulator.stop()?;
        assert!(
            shot.directions
                .iter()
                .all(gigatcp_emulate::Direction::is_conserved)
        );
    }
    Ok(())
}

/// Deviation of a path from its rate, in percent.
fn error((before, after): (&Snapshot, &Snapshot)) -> f64 {
    let bytes = |shot: &Snapshot| shot.directions[0].delivered().bytes.as_u64();
    let bits = (bytes(after) - bytes(before)) as f64 * 8.0;
    let seconds = (after.at.as_secs_f64() - before.at.as_secs_f64()).max(1e-3);
    (bits / seconds / (MBIT as f64 * 1e6) - 1.0) * 100.0
}

/// Opens a CUBIC connection through a path, one of several.
pub fn flow(emulator: &Emulator, number: u16) -> Result<(TcpStream, TcpStream), Any> {
    let server = (Addresses::of(Side::Server).v4, PORT + number);
    let listener = emulator
        .namespace(Side::Server)
        .run(|| TcpListener::bind(server))??;
    let sender = emulator
        .namespace(Side::Client)
        .run(|| TcpStream::connect(server))??;
    // The machine's default is unknown, and a namespace may refuse another.
    socket::set_congestion(&sender, "cubic")?;
    let (receiver, _) = listener.accept()?;
    Ok((sender, receiver))
}

/// Sends until the connection ends.
pub fn send(mut stream: &TcpStream) {
    let memory = vec![0; 256 * 1024];
    while stream.write_all(&memory).is_ok() {}
}

/// Receives until the connection ends, and counts the bytes.
pub fn receive(mut stream: &TcpStream, count: &AtomicU64) {
    let mut memory = vec![0; 256 * 1024];
    loop {
        match stream.read(&mut memory) {
            Ok(0) => return,
            Err(error) if error.kind() != ErrorKind::Interrupted => return,
            Ok(bytes) => {
                count.fetch_add(bytes as u64, Ordering::Relaxed);
            }
            Err(_) => {}
        }
    }
}
