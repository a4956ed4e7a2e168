//! Compares configured with measured behavior, using UDP datagrams without TCP.
//!
//! Each datagram contains the time before it was sent, and the receiving kernel timestamps its
//! arrival. The only thread wake-up measured is thus the path's. The cost of the sending system
//! call is included in the figures, and is listed separately as that of an empty path.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use gigatcp_emulate::{Addresses, Emulator, EmulatorConfig, Side, Snapshot};
use gigatcp_linux::{clock, process, socket};
use gigatcp_path::{DropCause, HopConfig, LossModel};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use crate::{Any, Effort, spread};

const PORT: u16 = 5002;
/// Bytes of a datagram that fills a packet of 1500.
const PAYLOAD: usize = 1472;
/// Bytes that Ethernet adds to it.
const OVERHEAD: u64 = 38;
/// Datagrams of a train, fewer than the queue limit of a device.
const TRAIN: usize = 8_000;

/// Times of sending and of arrival of a datagram, in seconds from a common zero.
type Passage = (f64, f64);

/// Measures rates, by a train that is sent faster than the path's rate.
pub fn measure_rates(effort: Effort) -> Result<(), Any> {
    println!("\nUDP datagrams of {PAYLOAD} octets: configured against measured");
    for mbit in [100, 1_000, 2_000] {
        rate(mbit, effort)?;
    }
    Ok(())
}

/// Measures delays, of idle and of busy paths.
pub fn measure_delays(effort: Effort) -> Result<(), Any> {
    for (name, hop, interval_us) in [
        ("nothing", HopConfig::default(), 1000.0),
        ("10 ms", delayed(None), 1000.0),
        (
            "1 Gbit/s, 10 ms, idle",
            delayed(Some(1_000_000_000)),
            1000.0,
        ),
        (
            "1 Gbit/s, 10 ms, 90 % load",
            delayed(Some(1_000_000_000)),
            13.67,
        ),
    ] {
        delay(name, &hop, interval_us, effort)?;
    }
    Ok(())
}

fn delayed(bps: Option<u64>) -> HopConfig {
    HopConfig {
        rate: bps.map(Rate::from_bps),
        link_overhead: Bytes::new(OVERHEAD),
        one_way_delay: Duration::from_millis(10),
        ..HopConfig::default()
    }
}

/// Checks that a train faster than the rate leaves at the rate.
fn rate(mbit: u64, effort: Effort) -> Result<(), Any> {
    let bps = mbit * 1_000_000;
    let train = if mbit < 1000 { TRAIN / 4 } else { TRAIN };
    let mut errors = Vec::new();
    for _ in 0..effort.rounds {
        let (passages, _) = pass(&delayed(Some(bps)), train, |_| 0.0)?;
        let seconds = passages[passages.len() - 1].1 - passages[0].1;
        let bits = (passages.len() - 1) as f64 * (PAYLOAD as u64 + 28 + OVERHEAD) as f64 * 8.0;
        errors.push((bits / seconds / bps as f64 - 1.0) * 100.0);
    }
    let [least, middle, most] = spread(&errors);
    let verdict = verdict(errors.iter().all(|error| error.abs() <= 0.5), "0.5 %");
    println!(
        "rate {mbit:5} Mbit/s                 error {least:+8.3} {middle:+8.3} {most:+8.3} %   {verdict}"
    );
    Ok(())
}

/// Sends datagrams at a steady pace. Each is compared with the delivery time of an exact queue.
fn delay(name: &str, hop: &HopConfig, interval_us: f64, effort: Effort) -> Result<(), Any> {
    let count = if interval_us > 100.0 { 1_000 } else { TRAIN };
    let mut tails = Vec::new();
    let mut middles = Vec::new();
    let mut own = Vec::new();
    for _ in 0..effort.rounds {
        let (passages, snapshot) = pass(hop, count, |n| n as f64 * interval_us / 1e6)?;
        let late = snapshot.directions[0].lateness.quantile(0.99);
        own.push(late.unwrap_or_default().as_nanos() as f64 / 1e3);
        let service = hop.rate.map_or(0.0, |rate| {
            (PAYLOAD as u64 + 28 + OVERHEAD) as f64 * 8.0 / rate.as_bps() as f64
        });
        let mut free = 0.0_f64;
        let mut errors: Vec<f64> = passages
            .iter()
            .map(|(sent, received)| {
                free = free.max(*sent) + service;
                (received - free - hop.one_way_delay.as_secs_f64()) * 1e6
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        middles.push(errors[errors.len() / 2]);
        tails.push(errors[errors.len() * 99 / 100]);
    }
    let [least, middle, most] = spread(&tails);
    let [_, half, _] = spread(&middles);
    let [_, own, _] = spread(&own);
    let verdict = verdict(middle < 50.0, "50 us");
    println!(
        "delay, {name:27} error of half {half:6.1} us, of 99 % {least:6.1} {middle:6.1} {most:6.1} us   {verdict}; \
         handed over late, of 99 % {own:.1} us"
    );
    Ok(())
}

/// Measures how often the kernel suspends a busy path. Each CPU also has a thread that uses all of
/// it.
pub fn measure_halts(effort: Effort) -> Result<(), Any> {
    const SECONDS: u64 = 10;
    let hop = delayed(Some(1_000_000_000));
    let config = EmulatorConfig {
        forward: vec![hop],
        ..EmulatorConfig::default()
    };
    let (mut halts, mut halted, mut late) = (0, Duration::ZERO, Vec::new());
    for _ in 0..effort.rounds.min(2) {
        let emulator = Emulator::start(&config, None)?;
        let server = Addresses::of(Side::Server).v4;
        let sender = emulator
            .namespace(Side::Client)
            .run(|| UdpSocket::bind((Addresses::of(Side::Client).v4, 0)))??;
        sender.connect((server, PORT))?;
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop()
                    }
                });
            }
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // The port is closed, so some sends fail with a refused connection.
                    let _ = sender.send(&[0; PAYLOAD]);
                }
            });
            thread::sleep(StdDuration::from_secs(SECONDS));
            is_over.store(true, Ordering::Relaxed);
        });
        let snapshot = emulator.stop()?;
        halts += snapshot.stalls;
        halted += snapshot.stalled;
        let lateness = snapshot.directions[0].lateness.quantile(0.99);
        late.push(lateness.unwrap_or_default().as_nanos() as f64 / 1e3);
    }
    let rounds = late.len();
    let [_, middle, _] = spread(&late);
    println!(
        "halts of the path above 10 ms: {halts} in {rounds} times {SECONDS} s, {:.0} ms; handed over late, of 99 % {middle:.1} us",
        halted.as_secs_f64() * 1e3
    );
    Ok(())
}

/// Compares losses with their binomial distribution.
pub fn measure_losses(effort: Effort) -> Result<(), Any> {
    const P: f64 = 0.01;
    let hop = HopConfig {
        loss: vec![LossModel::Bernoulli(
            Probability::try_new(P).ok_or("no probability")?,
        )],
        ..delayed(Some(1_000_000_000))
    };
    let rounds = effort.rounds * 5;
    let mut lost = 0;
    for seed in 0..rounds {
        let hop = HopConfig {
            // Another name selects another random stream.
            name: format!("hop-{seed}"),
            ..hop.clone()
        };
        let (passages, snapshot) = pass(&hop, TRAIN, |_| 0.0)?;
        let counted = snapshot.directions[0].hops[0].counters.drops[DropCause::Loss(0)].packets;
        assert_eq!(
            counted as usize,
            TRAIN - passages.len(),
            "what is not lost arrives"
        );
        lost += counted;
    }
    let sent = (rounds * TRAIN) as f64;
    // 99.9 % of all measurements lie within 3.29 standard deviations.
    let room = 3.29 * (sent * P * (1.0 - P)).sqrt();
    let verdict = verdict((lost as f64 - sent * P).abs() <= room, "99.9 % interval");
    println!(
        "loss {P}: {lost} of {sent}, expected {:.0} +- {room:.0}   {verdict}; in = out + dropped + inside, \
         every time",
        sent * P
    );
    Ok(())
}

fn verdict(is_met: bool, goal: &str) -> String {
    let word = if is_met { "met" } else { "MISSED" };
    format!("goal {goal}: {word}")
}

/// Sends `count` datagrams through `hop`, the n-th at `when(n)` seconds. Returns the arrivals, in
/// order, and the final counters.
fn pass(
    hop: &HopConfig,
    count: usize,
    when: impl Fn(usize) -> f64 + Sync,
) -> Result<(Vec<Passage>, Snapshot), Any> {
    let config = EmulatorConfig {
        forward: vec![hop.clone()],
        ..EmulatorConfig::default()
    };
    let emulator = Emulator::start(&config, None)?;
    let server = Addresses::of(Side::Server).v4;
    let receiver = emulator
        .namespace(Side::Server)
        .run(|| UdpSocket::bind((server, PORT)))??;
    socket::force_receive_buffer(&receiver, 64 << 20)?;
    let sender = emulator
        .namespace(Side::Client)
        .run(|| UdpSocket::bind((Addresses::of(Side::Client).v4, 0)))??;
    sender.connect((server, PORT))?;
    socket::stamp_arrivals(&receiver)?;
    receiver.set_read_timeout(Some(StdDuration::from_millis(100)))?;
    let is_sent = AtomicBool::new(false);
    let zero = clock::realtime();
    let passages = thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, zero, &is_sent));
        let sending = scope.spawn(|| send(&sender, zero, count, &when));
        let sent = sending
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        is_sent.store(true, Ordering::Relaxed);
        let received = receiving.join();
        sent?;
        received.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let by_device = emulator.dropped_by_device(Side::Client);
    assert_eq!(by_device, Some(0), "the path reads in time");
    let by_kernel = emulator.dropped_by_kernel(Side::Server);
    assert_eq!(by_kernel, Some(0), "the receiver takes in time");
    let snapshot = emulator.stop()?;
    assert!(
        snapshot.directions.iter().all(|way| way.is_conserved()),
        "conserved"
    );
    Ok((passages, snapshot))
}

/// Seconds since `zero`, by the clock of packet timestamps.
fn seconds_since(zero: i64) -> f64 {
    (clock::realtime() - zero) as f64 / 1e9
}

fn send(
    socket: &UdpSocket,
    zero: i64,
    count: usize,
    when: impl Fn(usize) -> f64,
) -> Result<(), Any> {
    process::pin_to_processor(0)?;
    // Best effort: a disturbance of the sender is not a fault of the path.
    let _ = clock::request_realtime(clock::Rank::Path);
    let began = seconds_since(zero) + 0.02;
    let mut payload = [0; PAYLOAD];
    for n in 0..count {
        let at = began + when(n);
        loop {
            let early = at - seconds_since(zero);
            if early <= 0.0 {
                break;
            }
            if early > 300e-6 {
                thread::sleep(StdDuration::from_secs_f64(early - 200e-6));
            }
        }
        payload[..8].copy_from_slice(&seconds_since(zero).to_ne_bytes());
        socket.send(&payload)?;
    }
    Ok(())
}

/// Receives until no more datagrams arrive.
fn receive(socket: &UdpSocket, zero: i64, is_sent: &AtomicBool) -> Result<Vec<Passage>, Any> {
    const SILENT: usize = 5;
    let mut passages = Vec::new();
    let mut payload = [0; PAYLOAD];
    let mut silent = 0;
    while silent < SILENT {
        match socket::receive_stamped(socket, &mut payload) {
            Ok(datagram) => {
                let received = (datagram.at.ok_or("no time stamp")? - zero) as f64 / 1e9;
                let sent = payload.first_chunk().copied().unwrap_or_default();
                passages.push((f64::from_ne_bytes(sent), received));
                silent = 0;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                silent += usize::from(is_sent.load(Ordering::Relaxed));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(passages)
}
