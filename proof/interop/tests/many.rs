//! Many connections at once. Without the privilege to make a namespace the tests
//! say so and what to type, and prove nothing.

use std::io::Write;
use std::thread;
use std::time::Duration;

use gigatcp_interop::{Sharing, Trouble, idle, share};
use gigatcp_units::{Bytes, Duration as Span, Rate};

/// What was measured, or loudly nothing.
fn unless_missing<T>(done: Result<T, Trouble>) -> Option<T> {
    match done {
        Ok(done) => Some(done),
        Err(Trouble::Setup(error)) if error.is_missing_privilege() => {
            let name = thread::current().name().unwrap_or("test").to_string();
            let hint = error.hint().unwrap_or_default();
            // Past the harness, which keeps what a passing test prints.
            let text = format!("\n{name}: SKIPPED, NOTHING PROVEN: {error}\n  {hint}\n");
            let _ = std::io::stderr().write_all(text.as_bytes());
            None
        }
        Err(Trouble::Setup(error)) => panic!("{error}"),
        Err(Trouble::Failed(what)) => panic!("{what}"),
    }
}

#[test]
fn an_idle_connection_costs_the_engine_less_than_32_kib() {
    let Some(idle) = unless_missing(idle(800)) else {
        return;
    };
    // Other tests of this process share its memory: what one connection takes is
    // for the benchmark to say.
    assert!(idle.used < 32 * 1024, "{idle:?}");
}

#[test]
fn a_hundred_connections_over_one_path_share_it_and_none_starves() {
    let sharing = Sharing {
        engine_sends: true,
        flows: 100,
        rate: Rate::from_bps(60_000_000),
        round_trip: Span::from_millis(20),
        // Ten packets of each.
        queue: Bytes::new(1_500_000),
        warm_up: Duration::from_secs(2),
        window: Duration::from_secs(4),
        control: "cubic",
    };
    let Some(shares) = unless_missing(share(&sharing)) else {
        return;
    };
    assert_eq!(shares.starved, 0, "{shares:?}");
    assert!(shares.jain > 0.7, "{shares:?}");
    assert!(shares.goodput > 30e6, "{shares:?}");
    // The kernel's senders are its own business; that we receive all is ours.
    let theirs = Sharing {
        engine_sends: false,
        window: Duration::from_secs(2),
        ..sharing
    };
    let Some(shares) = unless_missing(share(&theirs)) else {
        return;
    };
    assert!(shares.goodput > 30e6, "{shares:?}");
}
