//! Every hostile peer is held to its bounds.

use gigatcp_events::State;
use gigatcp_fuzz::memory::Counting;
use gigatcp_fuzz::peers::{self, BUFFER, Cost, suffer};
use gigatcp_units::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn cost_of(name: &str) -> Cost {
    let attack = peers::ALL.iter().find(|attack| attack.name == name);
    suffer(attack.expect("an attack of that name"))
}

#[test]
fn no_peer_makes_an_engine_hold_more_than_its_two_buffers() {
    for attack in &peers::ALL {
        let cost = suffer(attack);
        assert!(cost.memory <= 2 * BUFFER, "{}: {cost:?}", attack.name);
        assert!(cost.memory > 0, "the allocator does not count");
    }
}

#[test]
fn dividing_acknowledgments_opens_the_window_no_faster() {
    let (honest, divided) = (cost_of("honest"), cost_of("ack-division"));
    assert!(
        divided.cwnd * 20 <= honest.cwnd * 21,
        "{} against {}",
        divided.cwnd,
        honest.cwnd
    );
}

#[test]
fn floods_are_answered_a_few_times_a_second_and_end_nothing() {
    for name in ["reset-flood", "syn-flood"] {
        let cost = cost_of(name);
        assert!(cost.sent <= 10, "{name}: {} answers", cost.sent);
        assert_eq!(cost.state, State::Established, "{name}");
    }
}

#[test]
fn a_window_closed_for_a_day_keeps_the_connection_and_costs_a_probe_in_two_minutes() {
    let cost = cost_of("zero-window");
    assert_eq!(cost.state, State::Established);
    assert!(cost.sent < 800, "{} segments", cost.sent);
}

#[test]
fn nonsense_echoes_do_not_move_the_timeout() {
    let (honest, lied_to) = (cost_of("honest"), cost_of("timestamp-games"));
    assert!(lied_to.rto <= honest.rto + Duration::from_millis(50));
}

#[test]
fn an_mss_of_one_octet_is_not_taken_at_its_word() {
    let (honest, tiny) = (cost_of("honest"), cost_of("tiny-mss"));
    // 48 octets less 12 of timestamps are the least a segment carries.
    assert!(tiny.sent <= honest.sent * 1460 / 36, "{}", tiny.sent);
}
