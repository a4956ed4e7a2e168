//! Measures a managed queue under TCP flows of the kernel: goodput and queueing delay.
//!
//! The same flows in virtual time are `gigatcp run` of the plan in docs/notes/live.md
//! ("The same queue in real and in virtual time"), where both are compared.

use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration as StdDuration, Instant};

use gigatcp_emulate::{Emulator, EmulatorConfig};
use gigatcp_linux::{socket, tcp_info};
use gigatcp_path::HopConfig;
use gigatcp_path::queue::{self, QueueConfig};
use gigatcp_units::{Bytes, Duration, Rate};

use crate::crowd::{flow, receive, send};
use crate::{Any, Effort, spread};

const FLOWS: usize = 4;
const MBIT: u64 = 100;
const RTT_MS: u64 = 40;
const WARM_UP: StdDuration = StdDuration::from_secs(5);
const WINDOW: StdDuration = StdDuration::from_secs(15);
/// Time between two readings of the queue, equal to the path's.
const LOOK: StdDuration = StdDuration::from_millis(50);

/// Measures FQ-CoDel, in all rounds.
pub fn measure(effort: Effort) -> Result<(), Any> {
    println!(
        "\nfq_codel at {MBIT} Mbit/s and {RTT_MS} ms, {FLOWS} CUBIC flows of the kernel, {WINDOW:?} after {WARM_UP:?}"
    );
    println!(
        "  goodput, Mbit/s   queueing delay, median   smoothed RTT, median   handed over late, of 99 %"
    );
    let mut all = [const { Vec::new() }; 3];
    for _ in 0..effort.rounds {
        let figures = run()?;
        for (all, figure) in all.iter_mut().zip(figures) {
            all.push(figure);
        }
    }
    let [goodput, delay, rtt] = all.map(|figures| spread(&figures)[1]);
    println!("  middle: {goodput:.2} Mbit/s, {delay:.2} ms, {rtt:.2} ms");
    Ok(())
}

fn run() -> Result<[f64; 3], Any> {
    let half = HopConfig {
        rate: Some(Rate::from_bps(MBIT * 1_000_000)),
        link_overhead: Bytes::new(38),
        one_way_delay: Duration::from_millis(RTT_MS / 2),
        ..HopConfig::default()
    };
    let managed = HopConfig {
        queue: QueueConfig {
            discipline: queue::find("fq_codel").ok_or("there is no fq_codel")?,
            ..QueueConfig::default()
        },
        limit_packets: Some(1000),
        ..half.clone()
    };
    let config = EmulatorConfig {
        forward: vec![managed],
        reverse: vec![half],
        ..EmulatorConfig::default()
    };
    let emulator = Emulator::start(&config, None)?;
    let flows = (0..FLOWS)
        .map(|number| flow(&emulator, number as u16))
        .collect::<Result<Vec<_>, Any>>()?;
    let received = AtomicU64::new(0);
    let (bits, delays, rtts) = thread::scope(|scope| {
        for (sender, receiver) in &flows {
            scope.spawn(|| send(sender));
            scope.spawn(|| receive(receiver, &received));
        }
        thread::sleep(WARM_UP);
        let (mut delays, mut rtts) = (Vec::new(), Vec::new());
        let (began, before) = (Instant::now(), received.load(Ordering::Relaxed));
        while began.elapsed() < WINDOW {
            thread::sleep(LOOK);
            let delay = emulator.snapshot().directions[0].hops[0].queueing_delay;
            delays.push(delay.as_nanos() as f64 / 1e6);
            for (sender, _) in &flows {
                let Ok(told) = socket::tcp_info(&sender.as_raw_fd()) else {
                    continue;
                };
                let words = tcp_info::words(&told);
                let rtt = words.iter().find(|(name, _)| *name == "tcpi_rtt");
                rtts.extend(rtt.map(|(_, us)| *us as f64 / 1e3));
            }
        }
        let bytes = received.load(Ordering::Relaxed) - before;
        let bits = bytes as f64 * 8.0 / began.elapsed().as_secs_f64();
        for (sender, receiver) in &flows {
            let _ = sender.shutdown(Shutdown::Both);
            let _ = receiver.shutdown(Shutdown::Both);
        }
        (bits, delays, rtts)
    });
    let late = emulator.stop()?.directions[0].lateness.quantile(0.99);
    let late_us = late.unwrap_or_default().as_nanos() as f64 / 1e3;
    let figures = [bits / 1e6, spread(&delays)[1], spread(&rtts)[1]];
    let [goodput, delay, rtt] = figures;
    println!("  {goodput:15.2}   {delay:19.2} ms   {rtt:17.2} ms   {late_us:22.0} us");
    Ok(figures)
}
