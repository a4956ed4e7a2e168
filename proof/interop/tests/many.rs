//! Tests with many connections.
//!
//! Without the privilege to create a namespace, the tests print the required command and check
//! nothing.

use std::io::Write;
use std::thread;
use std::time::Duration;

use gigatcp_interop::{Sharing, Trouble, idle, share};
use gigatcp_units::{Bytes, Duration as Span, Rate};

/// Returns the result, or prints a message if the privilege is missing.
fn unless_missing<T>(done: Result<T, Trouble>) -> Option<T> {
    match done {
        Ok(done) => Some(done),
        Err(Trouble::Setup(error)) if error.is_missing_privilege() => {
            let name = thread::current().name().unwrap_or("test").to_string();
            let hint = error.hint().unwrap_or_default();
            // Bypasses the test harness, which captures the output of passing tests.
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
    // Other tests of this process share its memory. The benchmark measures the cost of one
    // connection.
    assert!(idle.used < 32 * 1024, "{idle:?}");
}

#[test]
fn a_hundred_connections_over_one_path_share_it_and_none_starves() {
    let sharing = Sharing {
        engine_sends: true,
        flows: 100,
        rate: Rate::from_bps(60_000_000),
        round_trip: Span::from_millis(20),
        // Ten packets per connection.
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
    // The fairness of the kernel's senders is not tested, only the engine's reception.
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
