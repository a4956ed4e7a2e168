//! Time attribution of a sender from given events: causes, and that the times add up.

use gigatcp_sim::account::{
    Account, Attribution, ByLimit, Environment, Losses, MIN_ROUND, Use, Window,
};
use gigatcp_tcp::events::{Cause, Limit, Phase};
use gigatcp_units::{Bytes, Duration, Instant};
use proptest::prelude::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(milliseconds: u64) -> Instant {
    Instant::ZERO + ms(milliseconds)
}

/// Times by mechanism, in milliseconds.
fn limits(of: &[(Limit, u64)]) -> ByLimit {
    let mut all = ByLimit::default();
    for (limit, spent) in of {
        all[limit.index()] += ms(*spent);
    }
    all
}

fn open(cwnd: u64) -> Window {
    Window {
        cwnd: Bytes::new(cwnd),
        ..Window::default()
    }
}

/// Account of a connection whose handshake took 10 ms.
fn established() -> Account {
    let mut account = Account::new(at(0), Duration::ZERO);
    account.on_established(at(10), open(1000));
    account
}

/// Ends a round at `until` with these times by mechanism so far.
fn round(account: &mut Account, until: u64, limits: &ByLimit, look: Environment) {
    let window = open(1000);
    assert!(account.observe(at(until), true, window));
    let turned = account.update((at(until), true), window, limits, None, || None, || look);
    assert!(turned, "no round ended");
}

fn spent(attribution: &Attribution, cause: Cause) -> u64 {
    attribution.spent[cause.index()].as_millis()
}

fn busy(of: u64) -> Use {
    Use {
        busy: ms(of),
        wait: ms(1),
    }
}

#[test]
fn a_full_link_is_asked_before_the_mechanism() {
    let mut account = established();
    let full = Environment {
        path: busy(99),
        ..Environment::default()
    };
    let first = limits(&[(Limit::ReceiveWindow, 100)]);
    round(&mut account, 110, &first, full);
    let second = limits(&[(Limit::ReceiveWindow, 200)]);
    let half = Environment {
        path: busy(50),
        ..Environment::default()
    };
    let attribution = account.finish(at(210), &second, &half);
    assert_eq!(spent(&attribution, Cause::ConnectionSetup), 10);
    assert_eq!(spent(&attribution, Cause::PathSaturated), 100);
    assert_eq!(spent(&attribution, Cause::ReceiveWindow), 100);
    let causes: Vec<Cause> = attribution.spans.iter().map(|span| span.cause).collect();
    let expected = [
        Cause::ConnectionSetup,
        Cause::PathSaturated,
        Cause::ReceiveWindow,
    ];
    assert_eq!(causes, expected);
}

#[test]
fn time_without_data_to_send_is_the_applications_even_on_a_full_link() {
    let full = Environment {
        path: busy(40),
        ..Environment::default()
    };
    let times = limits(&[(Limit::Application, 60), (Limit::Avoidance, 40)]);
    let attribution = established().finish(at(110), &times, &full);
    assert_eq!(spent(&attribution, Cause::ApplicationLimited), 60);
    assert_eq!(spent(&attribution, Cause::PathSaturated), 40);
    let closing = Environment {
        path: busy(100),
        is_closing: true,
        ..Environment::default()
    };
    let attribution = established().finish(at(110), &times, &closing);
    assert_eq!(spent(&attribution, Cause::PathSaturated), 100);
}

#[test]
fn a_link_of_others_is_cross_traffic_and_the_longer_queue_decides() {
    let times = limits(&[(Limit::Avoidance, 100)]);
    let others = Environment {
        path: busy(100),
        own_share: 0.4,
        ..Environment::default()
    };
    let attribution = established().finish(at(110), &times, &others);
    assert_eq!(spent(&attribution, Cause::CrossTraffic), 100);
    let both = |local_wait| Environment {
        path: busy(100),
        local: Use {
            busy: ms(100),
            wait: ms(local_wait),
        },
        ..Environment::default()
    };
    let attribution = established().finish(at(110), &times, &both(2));
    assert_eq!(spent(&attribution, Cause::LocalQueue), 100);
    let attribution = established().finish(at(110), &times, &both(0));
    assert_eq!(spent(&attribution, Cause::PathSaturated), 100);
}

#[test]
fn pacing_is_a_cause_only_where_no_other_limit_is_reached_in_the_round() {
    let idle = Environment::default();
    let alone = limits(&[(Limit::Pacing, 100)]);
    let attribution = established().finish(at(110), &alone, &idle);
    assert_eq!(spent(&attribution, Cause::PacingLimited), 100);
    let spread = limits(&[(Limit::Pacing, 80), (Limit::ReceiveWindow, 20)]);
    let attribution = established().finish(at(110), &spread, &idle);
    assert_eq!(spent(&attribution, Cause::ReceiveWindow), 100);
}

#[test]
fn a_window_belongs_to_the_loss_that_reduced_it_until_it_has_recovered() {
    let mut account = established();
    let mut turn = |now: u64, window: Window, spent: u64, lost: Option<Cause>| {
        let times = limits(&[(Limit::Avoidance, spent)]);
        if account.observe(at(now), true, window) {
            account.update(
                (at(now), true),
                window,
                &times,
                None,
                || lost,
                Environment::default,
            );
        }
    };
    turn(20, open(2000), 10, None);
    let reduced = Window {
        phase: Phase::Recovery,
        ..open(1000)
    };
    turn(30, reduced, 20, Some(Cause::Policer));
    turn(40, open(1000), 30, None);
    // A second loss below the first: cwnd must still recover to its size before the first.
    turn(
        50,
        Window {
            phase: Phase::Recovery,
            ..open(600)
        },
        40,
        Some(Cause::RandomLoss),
    );
    turn(60, open(1500), 50, None);
    turn(70, open(2000), 60, None);
    turn(80, open(2100), 70, None);
    let times = limits(&[(Limit::Avoidance, 70)]);
    let attribution = account.finish(at(80), &times, &Environment::default());
    assert_eq!(spent(&attribution, Cause::CwndGrowth), 20 + 10);
    assert_eq!(spent(&attribution, Cause::Policer), 20);
    assert_eq!(spent(&attribution, Cause::RandomLoss), 20);
}

#[test]
fn the_time_before_a_timeout_is_the_timers_whatever_the_mechanism_was() {
    let mut account = established();
    assert!(account.observe(at(20), true, open(1000)));
    let times = limits(&[(Limit::Application, 10)]);
    account.update(
        (at(20), true),
        open(1000),
        &times,
        None,
        || None,
        Environment::default,
    );
    let fired = Window {
        phase: Phase::Loss,
        timeouts: 1,
        ..open(100)
    };
    assert!(account.observe(at(220), false, fired));
    let times = limits(&[(Limit::Application, 210)]);
    account.update(
        (at(220), false),
        fired,
        &times,
        None,
        || None,
        Environment::default,
    );
    let attribution = account.finish(at(220), &times, &Environment::default());
    assert_eq!(spent(&attribution, Cause::RtoBackoff), 200);
    assert_eq!(spent(&attribution, Cause::ApplicationLimited), 10);
}

#[test]
fn the_cause_of_most_losses_that_are_still_missing_is_to_blame() {
    let mut losses = Losses::default();
    for end in [100, 200, 300] {
        losses.on_lost(end, Cause::QueueOverflow);
    }
    losses.on_lost(400, Cause::RandomLoss);
    assert_eq!(losses.blame(0), Some(Cause::QueueOverflow));
    assert_eq!(losses.blame(300), Some(Cause::RandomLoss));
    assert_eq!(losses.blame(400), None);
}

proptest! {
    #[test]
    fn no_time_is_lost_or_counted_twice(
        steps in prop::collection::vec(
            (1_u64..50, 0_usize..9, 0_u64..4000, 0_u8..5, any::<bool>(), 0_u64..60), 1..80),
    ) {
        let mut account = established();
        let mut times = ByLimit::default();
        let mut now = 10;
        let mut timeouts = 0;
        let mut look = Environment::default();
        for (step, limit, cwnd, phase, has_arrived, load) in steps {
            now += step;
            times[limit] += ms(step);
            look = Environment {
                path: busy(load),
                receiver_cpu: ms(60 - load),
                unread: ms(load / 2),
                ..look
            };
            timeouts += u64::from(phase == 4);
            let phase = [Phase::Open, Phase::Disorder, Phase::Cwr, Phase::Recovery, Phase::Loss]
                [usize::from(phase)];
            let window = Window { phase, cwnd: Bytes::new(cwnd), timeouts };
            if account.observe(at(now), has_arrived, window) {
                let srtt = Some(MIN_ROUND * (1 + load));
                account.update((at(now), has_arrived), window, &times, srtt, || None, || look);
            }
        }
        let attribution = account.finish(at(now), &times, &look);
        let sum: u64 = attribution.spent.iter().map(|spent| spent.as_nanos()).sum();
        prop_assert_eq!(sum, ms(now).as_nanos());
        let spans = &attribution.spans;
        prop_assert_eq!(spans[0].start, at(0));
        prop_assert_eq!(spans[spans.len() - 1].end, at(now));
        prop_assert!(spans.windows(2).all(|pair| pair[0].end == pair[1].start));
    }
}
