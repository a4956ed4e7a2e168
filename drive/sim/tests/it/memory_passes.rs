//! Memory passes as CPU costs: a Sun 3/60 of 1988, by Van Jacobson's figures.
//!
//! Source: tcp-ip list, October 1988. Copying takes 200 us per KB as delivered and 140 us unrolled,
//! a checksum 490 and then 130, the network card (LANCE) 300 us of memory for a packet of 1448
//! bytes. "Copy up to 1K" instead of 4 KB before each call of TCP raised 380 to 456 KB/s. Packets
//! of 1408 bytes took 1500 us each, 800 of them fixed, the sender at 100 %, the receiver at 65 to
//! 70 %; the wire allows one per 1200 us. Copy and checksum in one loop take 200 us per KB; that
//! kernel reached 1 MB/s. A card that takes one packet at a time was a "sound barrier" of 550 KB/s.

use crate::common::{flow, host, link, run, wire, world};
use gigatcp_path::{Checksum, CpuCosts, Picoseconds};
use gigatcp_sim::{HostConfig, Outcome, Stop};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration};

/// Time per byte for this many microseconds per KB.
fn per_kb(micros: u64) -> Picoseconds {
    Picoseconds::new(micros * 1_000_000 / 1024)
}

/// Costs: `copy` and `checksum` in us per KB, `fixed` in us per packet.
fn costs(copy: u64, checksum: u64, fixed: u64) -> CpuCosts {
    let fixed = Duration::from_micros(fixed);
    CpuCosts {
        per_packet_sent: fixed,
        per_packet_received: fixed,
        per_byte_copied: per_kb(copy),
        checksum: Checksum::Apart,
        per_byte_checksummed: per_kb(checksum),
        per_byte_dma: Picoseconds::new(300_000_000 / 1448),
        ..CpuCosts::default()
    }
}

/// Fixed cost of a packet of 1408 bytes in us, for sending and receiving.
///
/// The first is the published 800; the second leaves the receiver at 67.5 % of the sender.
const FIXED: [u64; 2] = [800, 323];

/// A host of 1988 on 10 Mbit/s, with segments of `mss` bytes.
fn sun(mss: u16, buffer: u64, costs: CpuCosts) -> HostConfig {
    let mut sun = host(Profile::BSD_4_3_RENO, mss + 40, "reno", buffer);
    let profile = &mut sun.tcp.transport_mut().profile;
    (profile.options.timestamps, profile.options.window_scaling) = (false, false);
    (
        profile.buffers.write_chunk,
        profile.segments.half_window_leaves,
    ) = (0, false);
    sun.link = Some(link("lance", 10_000_000, Duration::from_micros(5), 2000));
    HostConfig { costs, ..sun }
}

/// KB/s of ten seconds, and the outcome.
fn rate(sender: HostConfig, receiver: HostConfig, write_size: u64) -> (f64, Outcome) {
    let mut flow = flow("one", &sender, Stop::After(Duration::from_secs(10)));
    flow.receiver = receiver;
    flow.write_size = Bytes::new(write_size);
    let there = wire("there", Duration::from_nanos(1));
    let config = world(there, wire("back", Duration::from_nanos(1)), vec![flow]);
    let (_, outcome) = run(config);
    let seconds = outcome.flows[0].elapsed().as_secs_f64();
    let rate = outcome.flows[0].bytes().as_u64() as f64 / 1024.0 / seconds;
    (rate, outcome)
}

/// Expected: a gain of chunks of 1 KB over 4 KB; published are 20 %.
///
/// While 4 KB are copied and sent nothing is received, and while the last of them is received
/// nothing is sent. With 1 KB all that overlaps, and one host is the limit: 200 + 490 + 220 us for
/// 1 KB, plus the fixed cost.
///
/// The 800 us are of a kernel that its author had cleaned up, and give 585 KB/s, 28 % more than
/// published. The list of E71 names the additional costs of the stock kernel, and its rates give
/// their size. Without pullup 750 instead of 600 KB/s: 333 us per KB. Without a task switch 70 KB/s
/// more. The base rate of that is not published; as the step after 750 it is 114 us. With both at
/// both ends 464 KB/s are expected for 456.
///
/// Measured: 457 and 397 KB/s; published are 456 and 380. So the rates agree within 5 %, and the
/// gain is 15 % instead of 20. Which end had which of the costs is unknown. At the receiver alone
/// they make 1 KB slower than 4 KB, which was not the case.
///
/// If a writer is woken for 1 KB, as by BSD, it copies the rest of 4 KB in pieces anyway.
#[test]
fn a_smaller_chunk_lets_the_others_work_while_it_is_copied() {
    let run_with = |fixed, chunk, buffer| {
        let mut end = sun(1024, buffer, costs(200, 490, fixed));
        end.tcp.transport_mut().profile.buffers.write_low_water = None;
        rate(end.clone(), end, chunk).0
    };
    let us_of = |rate: f64| 1e6 / rate;
    let pullup = us_of(600.0) - us_of(750.0);
    let switch = us_of(750.0) - us_of(820.0);
    let stock = FIXED[0] + (pullup + switch) as u64;
    for (fixed, expected, gain) in [(FIXED[0], 585.0, 1.20), (stock, 464.0, 1.15)] {
        let [large, small] = [4096, 1024].map(|chunk| run_with(fixed, chunk, 4096));
        assert!((small / expected - 1.0).abs() < 0.02, "{small:.1}");
        assert!((small / large - gain).abs() < 0.03, "{large:.1} {small:.1}");
        if fixed == stock {
            assert!((small / 456.0 - 1.0).abs() < 0.02, "published: {small:.1}");
            assert!((large / 380.0 - 1.0).abs() < 0.05, "published: {large:.1}");
        }
    }
    // With twice the buffer there is always other work.
    let [large, small] = [4096, 1024].map(|chunk| run_with(FIXED[0], chunk, 8192));
    assert!((small / large - 1.0).abs() < 0.01, "{large:.1} {small:.1}");
}

/// Expected: 1472 us, the sum of 800, 193, 179 and 300. With 500 of fixed cost the wire's 1200 us
/// are the limit.
#[test]
fn a_packet_of_1408_bytes_takes_what_its_passes_take() {
    let pair = |copy, checksum, send| {
        let receiver = sun(1408, 65_535, costs(copy, checksum, FIXED[1]));
        let sender = sun(1408, 65_535, costs(copy, checksum, send));
        let (rate, outcome) = rate(sender, receiver, 1408);
        let busy = |end: usize| {
            outcome.hosts[end].cpu_busy(outcome.now).as_secs_f64() / outcome.now.as_secs_f64()
        };
        (1408.0 / 1.024e-3 / rate, [busy(0), busy(1)])
    };
    let (today, busy) = pair(140, 130, FIXED[0]);
    assert!((today / 1472.0 - 1.0).abs() < 0.02, "{today:.0}");
    assert!((today / 1500.0 - 1.0).abs() < 0.02, "published: {today:.0}");
    assert!(busy[0] > 0.98, "{busy:?}");
    assert!((0.65..0.70).contains(&busy[1]), "{busy:?}");
    let (goal, _) = pair(140, 130, 500);
    assert!((goal / 1200.0 - 1.0).abs() < 0.02, "{goal:.0}");
    let (stock, _) = pair(200, 490, FIXED[0]);
    assert!(
        (stock / (800.0 + 275.0 + 674.0 + 300.0) - 1.0).abs() < 0.02,
        "{stock:.0}"
    );
}

/// Expected: 1000 KB/s, as 800 + 275 + 300 us for 1408 bytes. That kernel had 1 MB/s.
#[test]
fn a_checksum_in_the_copy_makes_one_megabyte_per_second() {
    let fused = |fixed| CpuCosts {
        checksum: Checksum::Copy,
        per_byte_copied_summed: per_kb(200),
        ..costs(0, 0, fixed)
    };
    let [sender, receiver] = FIXED.map(|fixed| sun(1408, 65_535, fused(fixed)));
    let (rate, _) = rate(sender, receiver, 1408);
    assert!((rate / 1000.0 - 1.0).abs() < 0.02, "{rate:.1}");
}

/// Expected: 557 KB/s with the measured fixed cost, 800 us; 634 with 500.
///
/// A packet takes the CPU's work for it, except the copy, and then 1189 us on the wire. The 500 us
/// were the author's goal. Published is a limit of 550. The source counts 150 us for an interrupt:
/// if they are not part of the 800, 525 KB/s are expected.
#[test]
fn a_card_that_takes_one_packet_at_a_time_is_a_barrier() {
    let with_queue = |queue, fixed| {
        let mut sender = sun(1408, 65_535, costs(140, 130, fixed));
        sender.tx_queue = queue;
        let receiver = sun(1408, 65_535, costs(140, 130, FIXED[1]));
        rate(sender, receiver, 1408).0
    };
    for fixed in [500, FIXED[0]] {
        let expected = 1408.0 / 1.024e-3 / (fixed as f64 + 179.0 + 300.0 + 1189.0);
        let barrier = with_queue(1, fixed);
        assert!(
            (barrier / expected - 1.0).abs() < 0.03,
            "{fixed}: {barrier:.1} {expected:.1}"
        );
        assert!(with_queue(100, fixed) > 1.5 * barrier, "{fixed}");
    }
}
