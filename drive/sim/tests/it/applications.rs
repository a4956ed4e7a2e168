//! Applications that supply or read data more slowly than the path carries it.

use crate::common::{flow, host, link, run, wire, world};
use gigatcp_path::{CpuCosts, Picoseconds};
use gigatcp_sim::{Outcome, Reader, Stop, Supply};
use gigatcp_tcp::Profile;
use gigatcp_tcp::events::Limit;
use gigatcp_units::{Bytes, Duration, Rate};

const MB: u64 = 1_000_000;

/// Transfers 10 MB over 100 Mbit/s, 20 ms.
fn transfer(reader: Reader, supply: Option<Supply>) -> Outcome {
    let mut hosts = host(Profile::MODERN, 1500, "cubic", MB);
    hosts.reader = reader;
    let mut flow = flow("flow", &hosts, Stop::Bytes(Bytes::new(10 * MB)));
    flow.supply = supply;
    let there = link("there", 100_000_000, Duration::from_millis(10), 500);
    let back = wire("back", Duration::from_millis(10));
    run(world(there, back, vec![flow])).1
}

/// Share of the time under `limit`.
fn share(outcome: &Outcome, limit: Limit) -> f64 {
    let sender = outcome.flows[0].sender.connection().unwrap();
    sender.limits(outcome.now)[limit.index()].as_secs_f64() / outcome.now.as_secs_f64()
}

#[test]
fn a_reader_with_a_rate_reads_at_it_evenly_and_the_window_closes() {
    let rate = Some(Rate::from_bps(20_000_000));
    let outcome = transfer(
        Reader {
            read_size: Bytes::new(10_000),
            rate,
            ..Reader::default()
        },
        None,
    );
    let meter = outcome.flows[0].receiver.meter().unwrap();
    let each: Vec<f64> = meter.finished()[1..4]
        .iter()
        .map(|bytes| bytes.as_u64() as f64 * 8.0)
        .collect();
    assert!(
        each.iter().all(|bits| (bits / 20e6 - 1.0).abs() < 0.01),
        "{each:?}"
    );
    let window = share(&outcome, Limit::ReceiveWindow);
    assert!(window > 0.6, "{window}");
    assert_eq!(outcome.flows[0].bytes(), Bytes::new(10 * MB));
}

#[test]
fn a_supply_that_ends_leaves_the_rest_to_the_path() {
    let supply = |until| {
        transfer(
            Reader::default(),
            Some(Supply {
                amount: Bytes::new(10_000),
                every: Duration::from_millis(10),
                until,
            }),
        )
    };
    // 10 MB at 1 MB/s; or 2 MB at 1 MB/s and 8 MB at up to 12 MB/s.
    let seconds = supply(None).now.as_secs_f64();
    assert!((9.9..10.2).contains(&seconds), "{seconds}");
    let outcome = supply(Some(Duration::from_secs(2)));
    let seconds = outcome.now.as_secs_f64();
    assert!((2.6..3.2).contains(&seconds), "{seconds}");
    let application = share(&outcome, Limit::Application);
    assert!(
        (0.5..0.8).contains(&(application * seconds / 3.0)),
        "{application}"
    );
}

/// Seconds for 1 MB from a host of 2001 with costly copies.
fn written_in_pieces(
    change: impl FnOnce(&mut Profile),
    buffer: u64,
    supply: Option<Supply>,
) -> f64 {
    let mut profile = Profile::BSD_4_3_RENO;
    change(&mut profile);
    let mut hosts = host(profile, 4470, "reno", buffer);
    hosts.costs = CpuCosts {
        per_byte_copied: Picoseconds::new(4000),
        ..CpuCosts::default()
    };
    let mut flow = flow("flow", &hosts, Stop::Bytes(Bytes::new(MB)));
    flow.write_size = profile.buffers.write_size;
    flow.supply = supply;
    let there = link("there", 100_000_000, Duration::from_millis(1), 500);
    let back = wire("back", Duration::from_millis(1));
    let outcome = run(world(there, back, vec![flow])).1;
    assert_eq!(outcome.flows[0].bytes(), Bytes::new(MB));
    outcome.now.as_secs_f64()
}

/// A partial segment waits for the rest of its call, which must come.
#[test]
fn a_call_that_is_written_in_pieces_never_waits_for_itself() {
    for buffer in [4096, 5000, 10_000, 65_536] {
        for lowat in [None, Some(1000), Some(3000), Some(10_000)] {
            let change = |p: &mut Profile| p.buffers.not_sent_lowat = lowat.map(Bytes::new);
            let seconds = written_in_pieces(change, buffer, None);
            // No segment waits long for a delayed ACK or a probe.
            assert!(seconds < 60.0, "{buffer} {lowat:?}: {seconds}");
        }
    }
    let supply = Supply {
        amount: Bytes::new(1000),
        every: Duration::from_millis(1),
        until: None,
    };
    let seconds = written_in_pieces(|_| (), 65_536, Some(supply));
    assert!((0.99..1.2).contains(&seconds), "{seconds}");
}

/// A writer that wakes for 2 KiB keeps a window of four segments full.
///
/// One that sleeps until a third of its buffer is free does not have data in time.
#[test]
fn a_low_water_mark_keeps_the_window_full_where_copying_costs() {
    let low = written_in_pieces(|_| (), 16_384, None);
    let third = written_in_pieces(|p| p.buffers.write_low_water = None, 16_384, None);
    assert!(low < 0.98 * third, "{low} {third}");
}
