//! Bugs that the swarm found, each in the smallest simulation that shows it.

use crate::common::{flow, host, link, run, wire, world};
use gigatcp_path::CpuCosts;
use gigatcp_sim::{EndReason, Stop};
use gigatcp_tcp::profile::SettingValue;
use gigatcp_tcp::{Connection, Profile, Received};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{Flags, Options, Phantom, Segment, SeqNumber, WireWindow};

const MB: u64 = 1_000_000;

/// Runs a transfer of `octets` over a short path; it must end.
fn transfer(host: &gigatcp_sim::HostConfig, octets: u64) {
    let delay = Duration::from_millis(1);
    let (ended, outcome) = run(world(
        link("forward", 100 * MB, delay, 100),
        wire("reverse", delay),
        vec![flow("one", host, Stop::Bytes(Bytes::new(octets)))],
    ));
    assert_eq!(ended, EndReason::Finished);
    assert_eq!(outcome.flows[0].bytes(), Bytes::new(octets));
}

#[test]
fn a_write_larger_than_the_send_buffer_is_written_in_parts() {
    let mut host = host(Profile::MODERN, 1500, "cubic", 20_000);
    host.costs = CpuCosts {
        per_packet_sent: Duration::from_micros(1),
        ..CpuCosts::default()
    };
    // The application writes 64 KiB at once.
    transfer(&host, 200_000);
}

#[test]
fn a_window_smaller_than_one_unit_of_its_scale_does_not_stay_closed() {
    let mut profile = Profile::LINUX_2_6_20;
    // The limit determines the scale: units of 16 KiB for a buffer of 500 bytes.
    let limit = SettingValue::Amount(Bytes::new(1 << 30));
    assert_eq!(profile.try_set("buffer_limit", limit), Ok(()));
    transfer(&host(profile, 1500, "reno", 500), 20_000);
}

#[test]
fn a_retransmission_that_acknowledges_more_brings_its_window_along() {
    const PEER: u32 = 7000;
    let now = Instant::ZERO;
    let config = host(Profile::MODERN, 1500, "reno", MB).tcp;
    let iss = config.iss;
    let mut connection = Connection::<Phantom>::connect(now, &config);
    let syn = connection.poll_transmit(now);
    assert!(syn.is_some_and(|syn| syn.flags.contains(Flags::SYN)));
    let from_peer = |seq: u32, ack: u32, wnd: u16, len: u32| Segment {
        seq: SeqNumber::new(PEER) + seq,
        ack: iss + ack,
        flags: Flags::ACK,
        wnd: WireWindow(wnd),
        payload: Phantom { offset: 0, len },
        ..Segment::default()
    };
    let mut syn_ack = from_peer(0, 1, 10_000, 0);
    syn_ack.flags = Flags::SYN | Flags::ACK;
    syn_ack.options = Options {
        mss: Some(1000),
        ..Options::default()
    };
    let hear = |connection: &mut Connection<Phantom>, segment| {
        connection.handle_segment(now, Received { at: now, segment });
        while connection.poll_transmit(now).is_some() {}
    };
    hear(&mut connection, syn_ack);
    let written = connection.write(Phantom {
        offset: 0,
        len: 4000,
    });
    assert_eq!(written, Ok(4000));
    while connection.poll_transmit(now).is_some() {}
    // The peer's second segment arrives. Its first, lost and retransmitted later, acknowledges 3000
    // bytes and advertises the rest of the window.
    hear(&mut connection, from_peer(501, 1, 10_000, 500));
    hear(&mut connection, from_peer(1, 3001, 7_000, 500));
    let info = connection.info();
    assert_eq!((info.snd_una, info.snd_wnd), (3001, Bytes::new(7_000)));
}

#[test]
fn a_low_water_mark_of_an_octet_does_not_cost_a_window() {
    // A host without CPU costs wrote one segment per event. Each then waited for the delayed ACK of
    // the previous one.
    let mut profile = Profile::MODERN;
    let lowat = SettingValue::Amount(Bytes::new(1));
    assert_eq!(profile.try_set("not_sent_lowat", lowat), Ok(()));
    let host = host(profile, 1500, "cubic", MB);
    let delay = Duration::from_millis(1);
    let (ended, outcome) = run(world(
        link("forward", 100 * MB, delay, 100),
        wire("reverse", delay),
        vec![flow("one", &host, Stop::Bytes(Bytes::new(10 * MB)))],
    ));
    assert_eq!(ended, EndReason::Finished);
    // 0.8 s at the rate of the link; one segment per 40 ms would take 270 s.
    assert!(outcome.now < Instant::ZERO + Duration::from_secs(2));
}
