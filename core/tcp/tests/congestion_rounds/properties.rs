//! What holds for every control of a family, whatever happens to it.

use crate::harness::SMSS;
use crate::models::{DELAY_MODEL, RATE_MODEL};
use gigatcp_tcp::congestion::{
    Ack, Config, Congestion, CongestionKind, Controller, Counting, Entry, Family, Lost, REGISTRY,
    RateSample, Sent, SlowStart, WindowBounds,
};
use gigatcp_tcp::events::Phase;
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::RouterReply;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Ack {
        wait_us: u64,
        acked: u64,
        phase: Phase,
        cwnd_limited: bool,
        rtt_us: Option<u64>,
        round_end: bool,
        rate: Option<RateSample>,
    },
    /// Octets, octets lost since they left, in flight then.
    Lost([u64; 3]),
    /// Octets, in flight with them.
    Sent([u64; 2]),
    Established(u64),
    Congestion {
        kind: CongestionKind,
        flight_size: u64,
    },
    RecoveryEnd,
    Reply(RouterReply),
    IdleRestart(u64),
    /// RFC 7661: cwnd at most, ssthresh at least, ssthresh at most.
    Unvalidated(u64, u64, u64),
    SmssChange(u32),
    Undo,
}

fn phase() -> impl Strategy<Value = Phase> {
    prop_oneof![
        6 => Just(Phase::Open),
        1 => Just(Phase::Disorder),
        1 => Just(Phase::Cwr),
        1 => Just(Phase::Recovery),
        1 => Just(Phase::Loss),
    ]
}

/// Octets: what occurs, and now and then what does not.
fn octets() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..100 * SMSS, 2 => 0..1_u64 << 40, 1 => Just(u64::MAX)]
}

fn kind() -> impl Strategy<Value = CongestionKind> {
    prop_oneof![
        Just(CongestionKind::Loss),
        Just(CongestionKind::Ecn),
        Just(CongestionKind::Timeout),
    ]
}

fn rate() -> impl Strategy<Value = RateSample> {
    let figures = (octets(), octets(), octets(), octets());
    let intervals = (0..2_000_000_u64, 0..2_000_000_u64);
    let switches = (any::<bool>(), any::<bool>());
    (figures, intervals, switches).prop_map(
        |((delivered, lost, prior, in_flight), (send_us, ack_us), switches)| RateSample {
            delivered: Bytes::new(delivered),
            lost: Bytes::new(lost),
            prior_delivered: Bytes::new(prior),
            tx_in_flight: Bytes::new(in_flight),
            send_interval: Duration::from_micros(send_us),
            ack_interval: Duration::from_micros(ack_us),
            app_limited: switches.0,
            is_retransmission: switches.1,
            ack_delayed: false,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let ack = (
        0..2_000_000_u64,
        octets(),
        phase(),
        any::<bool>(),
        prop::option::of(0..2_000_000_u64),
        any::<bool>(),
        prop::option::of(rate()),
    )
        .prop_map(
            |(wait_us, acked, phase, cwnd_limited, rtt_us, round_end, rate)| Step::Ack {
                wait_us,
                acked,
                phase,
                cwnd_limited,
                rtt_us,
                round_end,
                rate,
            },
        );
    let congestion =
        (kind(), octets()).prop_map(|(kind, flight_size)| Step::Congestion { kind, flight_size });
    prop_oneof![
        40 => ack,
        4 => congestion,
        2 => [octets(), octets(), octets()].prop_map(Step::Lost),
        4 => [octets(), octets()].prop_map(Step::Sent),
        1 => (0..2_000_000_u64).prop_map(Step::Established),
        2 => Just(Step::RecoveryEnd),
        2 => any::<i32>().prop_map(|bytes| Step::Reply(RouterReply::Xcp(bytes))),
        1 => octets().prop_map(Step::IdleRestart),
        1 => (octets(), octets(), octets())
            .prop_map(|(cwnd, least, most)| Step::Unvalidated(cwnd, least, most.max(least))),
        1 => (0..70_000_u32).prop_map(Step::SmssChange),
        2 => Just(Step::Undo),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let slow_start = prop_oneof![
        Just(SlowStart::Usual),
        Just(SlowStart::Standard),
        any::<u32>().prop_map(|max_ssthresh| SlowStart::Limited { max_ssthresh }),
        Just(SlowStart::HyStart),
        Just(SlowStart::HyStartPlusPlus),
        Just(SlowStart::Search),
    ];
    let counting = prop_oneof![
        Just(Counting::PerAck),
        Just(Counting::All),
        any::<u32>().prop_map(|limit| Counting::Bytes { limit }),
    ];
    let ssthresh = prop::option::of(prop_oneof![0..500_u32, Just(u32::MAX)]);
    let window = (0..9000_u32, octets(), ssthresh);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    (window, slow_start, counting, switches).prop_map(
        |((smss, initial_window, initial_ssthresh), slow_start, counting, switches)| Config {
            smss,
            seed: u64::from(smss),
            initial_window: Bytes::new(initial_window),
            initial_ssthresh,
            slow_start,
            usual_slow_start: SlowStart::Standard,
            counting,
            paced: switches.0,
            fast_convergence: switches.1,
            abe: switches.2,
            reduces_cwnd: false,
            kernel_tick: Duration::from_millis(1),
        },
    )
}

/// Controls of kernels that keep what the loss had set: their modules return to the
/// maximum remembered and start a new stage, and in old ones after a timeout only
/// ssthresh comes back (`linux_2_6_20.rs`).
const FORGETFUL: &[&str] = &["bic-2.6.20", "cubic-2.6.20", "cubic-linux"];

/// Window-based controls whose window falls on an ACK: by marks that they count.
const FALLS_ON_ACK: &[&str] = &["decbit"];

/// Controls whose window opens while it is reduced: from one segment while losses are
/// repaired, or by what arrives without a mark.
const OPENS_MEANWHILE: &[&str] = &["cute", "decbit", "prague", "tahoe", "tahoe-1988"];

/// An ACK of nothing in phase Open.
const OPEN: Step = Step::Ack {
    wait_us: 0,
    acked: 0,
    phase: Phase::Open,
    cwnd_limited: false,
    rtt_us: None,
    round_end: false,
    rate: None,
};

/// A duplicate acknowledgment in recovery: it acknowledges nothing.
fn duplicate() -> impl Strategy<Value = Step> {
    any::<bool>().prop_map(|cwnd_limited| Step::Ack {
        wait_us: 0,
        acked: 0,
        phase: Phase::Recovery,
        cwnd_limited,
        rtt_us: None,
        round_end: false,
        rate: None,
    })
}

fn entry() -> impl Strategy<Value = &'static Entry> {
    let models = [&DELAY_MODEL, &RATE_MODEL];
    prop::sample::select(REGISTRY.iter().chain(models).collect::<Vec<_>>())
}

fn apply(control: &mut dyn Controller, step: &Step, now: &mut Instant) {
    match *step {
        Step::Ack {
            wait_us,
            acked,
            phase,
            cwnd_limited,
            rtt_us,
            round_end,
            rate,
        } => {
            *now += Duration::from_micros(wait_us);
            let rtt = rtt_us.map(Duration::from_micros);
            control.on_ack(&Ack {
                now: *now,
                acked: Bytes::new(acked),
                delivered: Bytes::new(acked),
                acked_transmissions: (acked / SMSS).try_into().unwrap_or(u32::MAX),
                phase,
                prior_in_flight: Bytes::new(acked),
                cwnd_limited,
                rtt,
                srtt: rtt,
                min_rtt: rtt,
                round_end,
                rate,
                ..Ack::default()
            });
        }
        Step::Lost([octets, lost, in_flight]) => control.on_lost(&Lost {
            now: *now,
            from: in_flight,
            octets: Bytes::new(octets),
            lost: Bytes::new(lost.max(octets)),
            total_delivered: Bytes::ZERO,
            prior_delivered: Bytes::ZERO,
            tx_in_flight: Bytes::new(in_flight),
            sent_at: *now,
            app_limited: false,
            is_retransmission: false,
        }),
        Step::Sent([octets, in_flight]) => control.on_sent(&Sent {
            now: *now,
            octets: Bytes::new(octets),
            in_flight: Bytes::new(in_flight.max(octets)),
            app_limited: false,
        }),
        Step::Established(srtt_us) => {
            control.on_established(*now, Some(Duration::from_micros(srtt_us)));
        }
        Step::Congestion { kind, flight_size } => control.on_congestion(&Congestion {
            now: *now,
            kind,
            flight_size: Bytes::new(flight_size),
            pipe: Bytes::new(flight_size),
        }),
        Step::RecoveryEnd => control.on_recovery_end(*now),
        Step::Reply(reply) => control.on_reply(*now, reply),
        Step::IdleRestart(window) => control.on_idle_restart(*now, Bytes::new(window)),
        Step::Unvalidated(cwnd, least, most) => {
            let bounds = WindowBounds {
                cwnd_at_most: Bytes::new(cwnd),
                ssthresh_at_least: Bytes::new(least),
                ssthresh_at_most: Bytes::new(most),
            };
            control.on_unvalidated(*now, &bounds);
        }
        Step::SmssChange(smss) => control.on_smss_change(smss),
        Step::Undo => control.undo(*now),
    }
}

/// What holds for a control of `family` after a step to which it came with a window
/// of `before`.
fn check(
    family: Family,
    slow_start: SlowStart,
    step: &Step,
    before: Bytes,
    smss: u64,
    control: &dyn Controller,
) -> Result<(), TestCaseError> {
    let cwnd = control.cwnd();
    prop_assert!(cwnd.as_u64() >= smss, "{step:?}: cwnd {cwnd:?}");
    prop_assert!(control.pacing_rate().is_none_or(|rate| rate.as_bps() > 0));
    // SEARCH leads the window down when the path is full.
    let falls_on_ack = family != Family::WindowBased || slow_start == SlowStart::Search;
    let is_model = family == Family::RateBased;
    let floor = Bytes::new(smss * if is_model { 4 } else { 2 });
    match step {
        Step::Ack { .. } => {
            prop_assert!(
                falls_on_ack || cwnd >= before,
                "{step:?}: {before:?} to {cwnd:?}"
            );
        }
        Step::Reply(_) => {
            let is_heard = family == Family::Explicit;
            prop_assert!(is_heard || cwnd == before, "{step:?}");
        }
        Step::Undo | Step::RecoveryEnd => {
            prop_assert!(
                is_model || cwnd >= before,
                "{step:?}: {before:?} to {cwnd:?}"
            );
        }
        // They are news for models; a window waits for what they mean.
        Step::Lost(_) | Step::Sent(_) | Step::Established(_) => {
            prop_assert!(
                is_model || cwnd == before,
                "{step:?}: {before:?} to {cwnd:?}"
            );
        }
        Step::Congestion {
            kind: CongestionKind::Timeout,
            ..
        } if !is_model => prop_assert_eq!(cwnd, Bytes::new(smss)),
        Step::Congestion { .. } => {
            prop_assert!(
                cwnd <= before.max(floor),
                "{step:?}: {before:?} to {cwnd:?}"
            );
        }
        Step::IdleRestart(_) => prop_assert!(cwnd <= before),
        Step::Unvalidated(..) if is_model => prop_assert!(cwnd <= before),
        Step::Unvalidated(most, _, threshold) => {
            prop_assert!(cwnd <= before.min(Bytes::new((*most).max(smss))));
            // Fractions of octets are rounded, huge ones coarsely.
            let ssthresh = (*threshold).max(2 * smss);
            let ssthresh = ssthresh.saturating_add(1 + (ssthresh >> 50));
            // Where it is counted in 31 bits of segments, that is unset.
            let countable = ssthresh < smss * 0x7fff_ffff;
            prop_assert!(!countable || control.ssthresh() <= Bytes::new(ssthresh));
        }
        // The window keeps its octets, except for the part of a segment
        // that controls in whole segments cannot have; it never grows
        // but to its floor.
        Step::SmssChange(_) => {
            // Whole segments are counted in 32 bits.
            let countable = before.as_u64().min(smss * u64::from(u32::MAX));
            // 53 bits are a fraction's as well.
            let exactness = 1 + (before.as_u64() >> 50);
            let least = countable.saturating_sub(smss + exactness);
            let least_window = smss * if is_model { 4 } else { 1 };
            let most = before.as_u64().max(least_window).saturating_add(exactness);
            prop_assert!(
                (least..=most).contains(&cwnd.as_u64()),
                "{before:?} {cwnd:?}"
            );
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_sequence_of_events_breaks_a_control(
        entry in entry(),
        config in config(),
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut control = (entry.build)(&config);
        let mut now = Instant::from_nanos(0);
        let mut smss = config.smss.max(1);
        for step in &steps {
            let before = control.cwnd();
            apply(&mut *control, step, &mut now);
            if let Step::SmssChange(new) = step {
                smss = (*new).max(1);
            }
            let family = if FALLS_ON_ACK.contains(&entry.name) {
                Family::DelayBased
            } else {
                entry.family
            };
            check(family, config.slow_start, step, before, u64::from(smss), &*control)?;
        }
    }

    #[test]
    fn an_undone_reduction_leaves_a_control_as_if_it_had_never_been(
        entry in entry().prop_filter("forgets", |entry| !FORGETFUL.contains(&entry.name)),
        config in config(),
        before in prop::collection::vec(step(), 0..200),
        kind in kind(),
        flight_size in octets(),
        between in prop::collection::vec(duplicate(), 0..20),
        after in prop::collection::vec(step(), 0..100),
    ) {
        let mut struck = (entry.build)(&config);
        let mut spared = (entry.build)(&config);
        let mut now = Instant::from_nanos(0);
        for step in &before {
            apply(&mut *spared, step, &mut now.clone());
            apply(&mut *struck, step, &mut now);
        }
        // Both begin the episode in phase Open, with nothing left to undo.
        for control in [&mut struck, &mut spared] {
            control.undo(now);
            control.on_recovery_end(now);
            apply(&mut **control, &OPEN, &mut now.clone());
            apply(&mut **control, &OPEN, &mut now.clone());
        }
        let (cwnd, threshold) = (struck.cwnd(), struck.ssthresh());
        apply(&mut *struck, &Step::Congestion { kind, flight_size }, &mut now);
        // The floors of both can be more than a tiny window had, and a flight
        // can be larger than ssthresh: what is larger now stays. Some controls
        // count fractions of octets, so only what shows as less is surely so.
        let is_reduced = struck.cwnd() < cwnd && struck.ssthresh() < threshold;
        for step in &between {
            apply(&mut *struck, step, &mut now.clone());
        }
        struck.undo(now);
        prop_assert!(struck.cwnd() >= cwnd && struck.ssthresh() >= threshold);
        // A model goes on from what it has learned since.
        if !is_reduced || entry.family == Family::RateBased {
            return Ok(());
        }
        prop_assert_eq!((struck.cwnd(), struck.ssthresh()), (cwnd, threshold));
        for step in &after {
            apply(&mut *spared, step, &mut now.clone());
            apply(&mut *struck, step, &mut now);
            prop_assert_eq!(struck.cwnd(), spared.cwnd(), "{:?}", step);
            prop_assert_eq!(struck.ssthresh(), spared.ssthresh(), "{:?}", step);
        }
    }

    #[test]
    fn the_window_stands_still_while_it_is_reduced_and_while_it_is_not_used(
        entry in entry().prop_filter("opens", |entry| {
            entry.family != Family::RateBased && !OPENS_MEANWHILE.contains(&entry.name)
        }),
        acked in 1..50 * SMSS,
        phase in prop_oneof![Just(Phase::Recovery), Just(Phase::Cwr)],
    ) {
        let mut control = (entry.build)(&crate::harness::modern(None));
        let mut now = Instant::from_nanos(0);
        let unused = Step::Ack {
            wait_us: 1000,
            acked: 10,
            phase: Phase::Open,
            cwnd_limited: false,
            rtt_us: Some(80_000),
            round_end: false,
            rate: None,
        };
        let before = control.cwnd();
        apply(&mut *control, &unused, &mut now);
        prop_assert_eq!(control.cwnd(), before);

        let loss = Step::Congestion { kind: CongestionKind::Loss, flight_size: 10 * SMSS };
        apply(&mut *control, &loss, &mut now);
        let reduced = control.cwnd();
        for phase in [phase, phase, Phase::Open] {
            let ack = Step::Ack {
                wait_us: 1000,
                acked,
                phase,
                cwnd_limited: true,
                rtt_us: Some(80_000),
                round_end: false,
                rate: None,
            };
            apply(&mut *control, &ack, &mut now);
            prop_assert_eq!(control.cwnd(), reduced);
        }
    }
}

#[test]
fn names_are_distinct_and_every_control_says_what_it_is() {
    for (i, entry) in REGISTRY.iter().enumerate() {
        for line in [entry.summary, entry.reacts_to, entry.deployed] {
            assert!(!line.is_empty() && !line.contains('\n'), "{}", entry.name);
        }
        assert!(REGISTRY[..i].iter().all(|other| other.name != entry.name));
    }
}

#[test]
fn a_window_that_falls_on_an_ack_is_not_that_of_a_window_based_control() {
    let smss = u64::from(Config::default().smss);
    for (entry, rtt_us) in [(&DELAY_MODEL, 200_000), (&RATE_MODEL, 1000)] {
        let mut control = (entry.build)(&Config::default());
        let mut now = Instant::ZERO;
        let ack = |rtt_us| Step::Ack {
            wait_us: 1000,
            acked: SMSS,
            phase: Phase::Open,
            cwnd_limited: true,
            rtt_us: Some(rtt_us),
            round_end: true,
            rate: Some(RateSample {
                delivered: Bytes::new(100 * SMSS),
                lost: Bytes::ZERO,
                prior_delivered: Bytes::ZERO,
                tx_in_flight: Bytes::new(100 * SMSS),
                send_interval: Duration::from_millis(100),
                ack_interval: Duration::from_millis(100),
                app_limited: false,
                is_retransmission: false,
                ack_delayed: false,
            }),
        };
        apply(&mut *control, &ack(100_000), &mut now);
        let before = control.cwnd();
        let falls = ack(rtt_us);
        apply(&mut *control, &falls, &mut now);
        assert!(control.cwnd() < before, "{}", entry.name);
        let check = |family| check(family, SlowStart::Standard, &falls, before, smss, &*control);
        assert!(check(entry.family).is_ok());
        assert!(check(Family::WindowBased).is_err());
    }
}
