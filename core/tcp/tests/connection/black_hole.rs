//! Paths that drop what is too big and say nothing: RFC 4821, RFC 8899.

use std::sync::Arc;

use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::events::EventMask;
use gigatcp_tcp::{ConnectionConfig, Profile, TransportConfig};
use gigatcp_units::{Bytes as Octets, Duration, Instant};
use gigatcp_wire::{IpVersion, Phantom, SeqNumber};

use crate::script::{Script, with};
use crate::world::{Habit, Path, World};

fn config(mtu: u16, control: &str, profile: Profile) -> ConnectionConfig {
    ConnectionConfig {
        transport: TransportConfig {
            profile,
            mtu: u32::from(mtu - 40) + 40,
            congestion: Arc::new(congestion::find(control).unwrap()),
            initial_ssthresh: None,
            slow_start: SlowStart::Standard,
            send_buffer: Some(Octets::new(1 << 20)),
            receive_buffer: Some(Octets::new(40_000)),
            events: EventMask::NONE,
        }
        .into(),
        local_port: 1,
        remote_port: 2,
        iss: SeqNumber::new(u32::MAX - 5000),
        ip: IpVersion::V4,
        timestamp_offset: 0,
    }
}

/// The first side writes 1.5 MB over a path that takes packets of `mtu`
/// octets; windows of 40 kB make that forty round trips.
fn transfer(config: &ConnectionConfig, mtu: usize, lost: u64, seed: u64) -> World<Phantom> {
    let habit = Habit {
        writes: 1_500_000,
        bite: 1 << 20,
        pause: Duration::ZERO,
    };
    let path = Path {
        ecn: crate::world::EcnPath::default(),
        delay: Duration::from_millis(10),
        jitter: Duration::ZERO,
        lost,
        doubled: 0,
        cuts: true,
        mtu,
    };
    let answer = Habit {
        writes: 1000,
        ..habit
    };
    let configs = [config.clone(), config.clone()];
    let mut world = World::new(configs, [habit, answer], path, seed, false);
    world.run(Instant::from_nanos(3_600_000_000_000));
    world
}

/// The search begins at the base MTU, not at that of the interface.
fn from_base() -> Profile {
    Profile::MODERN.with(|profile| {
        profile.closing.time_wait = Duration::from_secs(1);
        profile.path_mtu.plpmtud_from_base = true;
    })
}

/// The search begins when the interface's MTU has failed.
fn after_a_hole() -> Profile {
    from_base().with(|profile| profile.path_mtu.plpmtud_from_base = false)
}

#[test]
fn an_mtu_of_1492_behind_an_interface_of_9000_is_found_without_a_stall() {
    for sack in [true, false] {
        let profile = from_base().with(|profile| {
            profile.recovery.sack = sack;
        });
        let world = transfer(&config(9000, "reno", profile), 1492, 0, 1);
        assert!(world.is_done(), "{}", world.describe());
        let sender = &world.sides[0].tcp;
        assert_eq!(sender.info().path_mtu, 1492);
        let counters = sender.counters();
        assert_eq!(counters.timeouts, 0, "sack {sack}: no stall");
        assert_eq!(counters.path_mtu_probes_lost, 12, "four sizes, thrice each");
        assert_eq!(counters.path_mtu_probes, 13);
    }
}

#[test]
fn lost_probes_cost_no_window() {
    // Without a queue and without loss, the window only ever grows: as far as
    // on a path of the same MTU that was known from the start.
    let searching = transfer(&config(9000, "reno", from_base()), 1492, 0, 1);
    let knowing = transfer(&config(1492, "reno", from_base()), 1492, 0, 1);
    let cwnd = |world: &World<Phantom>| world.sides[0].tcp.info().cwnd.as_u64();
    assert_eq!(searching.sides[0].tcp.info().ssthresh, Octets::MAX);
    assert!(cwnd(&searching) * 10 > cwnd(&knowing) * 9);
}

#[test]
fn timeouts_at_full_size_are_taken_for_a_black_hole_and_the_search_begins() {
    for control in congestion::REGISTRY {
        let world = transfer(&config(9000, control.name, after_a_hole()), 1492, 0, 1);
        assert!(world.is_done(), "{}: {}", control.name, world.describe());
        let sender = &world.sides[0].tcp;
        assert_eq!(sender.info().path_mtu, 1492, "{}", control.name);
        assert_eq!(sender.counters().timeouts, 3, "{}", control.name);
    }
}

#[test]
fn a_path_below_the_base_is_served_with_what_every_path_takes() {
    let world = transfer(&config(1500, "cubic", after_a_hole()), 600, 0, 1);
    assert!(world.is_done(), "{}", world.describe());
    let mtu = world.sides[0].tcp.info().path_mtu;
    assert!((576..=600).contains(&mtu), "{mtu}");
}

#[test]
fn every_control_delivers_everything_over_every_mtu_and_with_loss() {
    for control in congestion::REGISTRY {
        for (mtu, lost) in [(1200, 0), (1300, 5), (1500, 20), (2500, 5), (8999, 0)] {
            for profile in [from_base(), after_a_hole()] {
                let world = transfer(&config(9000, control.name, profile), mtu, lost, 7);
                assert!(world.is_done(), "{}: {}", control.name, world.describe());
                let found = world.sides[0].tcp.info().path_mtu as usize;
                assert!(found <= mtu, "{} {mtu}: {found}", control.name);
            }
        }
    }
}

#[test]
fn without_the_switches_the_connection_dies_in_the_black_hole() {
    let profile = from_base().with(|profile| {
        profile.path_mtu.plpmtud = false;
        profile.timer.retries = 5;
    });
    let world = transfer(&config(9000, "reno", profile), 1492, 0, 1);
    assert_eq!(
        world.sides[0].tcp.failure(),
        Some(gigatcp_tcp::Failure::TimedOut)
    );
}

/// At the base of 500 octets under an MSS of 1000, with cwnd for ten.
fn searching() -> Script {
    Script::established(&with(|p| {
        p.path_mtu.plpmtud = true;
        p.path_mtu.plpmtud_from_base = true;
        p.path_mtu.pmtu_base = 500;
        p.recovery.sack = true;
    }))
}

#[test]
fn a_probe_is_one_larger_segment_of_real_data_with_others_behind_it() {
    let mut t = searching();
    assert_eq!(t.tcp.info().smss, 460);
    t.write(1000);
    // Too little to probe with.
    t.expect_all([
        ". 1:461(460) ack 1",
        ". 461:921(460) ack 1",
        "P. 921:1001(80) ack 1",
    ]);
    t.inject(". 1:1(0) ack 1001");
    t.write(2840);
    t.expect_all([
        ". 1001:2001(1000) ack 1",
        ". 2001:2461(460) ack 1",
        ". 2461:2921(460) ack 1",
        ". 2921:3381(460) ack 1",
        "P. 3381:3841(460) ack 1",
    ]);
    t.inject(". 1:1(0) ack 2001");
    assert_eq!((t.tcp.info().path_mtu, t.tcp.info().smss), (1040, 1000));
    t.inject(". 1:1(0) ack 3841");
    t.write(2000);
    t.expect_all([". 3841:4841(1000) ack 1", "P. 4841:5841(1000) ack 1"]);
}

#[test]
fn a_probe_that_is_lost_alone_leaves_again_in_pieces_and_cwnd_stays() {
    let mut t = searching();
    t.write(2840);
    assert_eq!(t.leaving().len(), 5);
    let cwnd = t.cwnd();
    t.inject(". 1:1(0) ack 1 <sack 1001:1461>");
    t.inject(". 1:1(0) ack 1 <sack 1001:1921>");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1 <sack 1001:2381>");
    t.expect_all([
        ". 1:461(460) ack 1",
        ". 461:921(460) ack 1",
        ". 921:1001(80) ack 1",
    ]);
    t.inject(". 1:1(0) ack 1 <sack 1001:2841>");
    t.inject(". 1:1(0) ack 2841");
    assert!(t.cwnd() >= cwnd);
    assert_eq!(t.tcp.info().ssthresh, Octets::MAX);
    assert_eq!(t.tcp.info().smss, 460);
    assert_eq!(t.tcp.counters().path_mtu_probes_lost, 1);
}

#[test]
fn a_probe_lost_with_others_is_congestion_and_says_nothing_about_its_size() {
    let mut t = searching();
    t.write(4000);
    assert!(t.leaving().len() > 5);
    t.inject(". 1:1(0) ack 1 <sack 1461:1921>");
    t.inject(". 1:1(0) ack 1 <sack 1461:2381>");
    t.inject(". 1:1(0) ack 1 <sack 1461:2841>");
    t.leaving();
    assert!(t.tcp.info().ssthresh < Octets::MAX);
    assert_eq!(t.tcp.counters().path_mtu_probes_lost, 0);
}
