//! What a congestion control is told: each loss, each departure, each delivery.

use std::cell::RefCell;
use std::sync::Arc;

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::congestion::{
    self, Ack, Congestion, CongestionKind, Controller, Entry, Lost, Sent,
};
use gigatcp_units::{Bytes, Duration, Instant};

use crate::rack::{established, rack};
use crate::script::{Script, with};

/// One call of a control, as far as the tests ask.
#[derive(Clone, Copy, Debug)]
enum Told {
    Seed(u64),
    Established(Option<Duration>),
    Sent(Sent),
    Lost(Lost),
    Congestion(CongestionKind),
    Ack(Ack),
}

thread_local! {
    static TOLD: RefCell<Vec<Told>> = const { RefCell::new(Vec::new()) };
}

fn note(told: Told) {
    TOLD.with_borrow_mut(|all| all.push(told));
}

/// What was told since the last time.
fn told() -> Vec<Told> {
    TOLD.take()
}

/// Reno that notes what it is told.
#[derive(Debug)]
struct Listening(Box<dyn Controller>);

impl Controller for Listening {
    fn cwnd(&self) -> Bytes {
        self.0.cwnd()
    }
    fn ssthresh(&self) -> Bytes {
        self.0.ssthresh()
    }
    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.0.set_cwnd(cwnd);
    }
    fn on_ack(&mut self, ack: &Ack) {
        note(Told::Ack(*ack));
        self.0.on_ack(ack);
    }
    fn on_congestion(&mut self, event: &Congestion) {
        note(Told::Congestion(event.kind));
        self.0.on_congestion(event);
    }
    fn on_lost(&mut self, lost: &Lost) {
        note(Told::Lost(*lost));
    }
    fn on_sent(&mut self, sent: &Sent) {
        note(Told::Sent(*sent));
    }
    fn on_established(&mut self, _: Instant, srtt: Option<Duration>) {
        note(Told::Established(srtt));
    }
    fn on_idle_restart(&mut self, now: Instant, window: Bytes) {
        self.0.on_idle_restart(now, window);
    }
    fn on_smss_change(&mut self, smss: u32) {
        self.0.on_smss_change(smss);
    }
    fn undo(&mut self, now: Instant) {
        self.0.undo(now);
    }
}

static LISTENING: Entry = Entry {
    name: "listening",
    summary: "Reno that notes what it is told",
    family: congestion::Family::WindowBased,
    reacts_to: "",
    deployed: "",
    draws: false,
    build: |config| {
        let reno = congestion::find("reno").expect("it is registered");
        note(Told::Seed(config.seed));
        Box::new(Listening((reno.build)(config)))
    },
};

/// `config` with the control that listens; nothing told yet.
fn listening(mut config: ConnectionConfig) -> ConnectionConfig {
    told();
    config.transport_mut().congestion = Arc::new(&LISTENING);
    config
}

/// Losses as octets, octets lost since, in flight at departure, sent before.
fn losses(told: &[Told]) -> Vec<(u64, u64, u64, bool)> {
    let loss = |told: &Told| match told {
        Told::Lost(lost) => Some((
            lost.octets.as_u64(),
            lost.lost.as_u64(),
            lost.tx_in_flight.as_u64(),
            lost.is_retransmission,
        )),
        _ => None,
    };
    told.iter().filter_map(loss).collect()
}

fn acks(told: &[Told]) -> Vec<Ack> {
    let ack = |told: &Told| match told {
        Told::Ack(ack) => Some(*ack),
        _ => None,
    };
    told.iter().filter_map(ack).collect()
}

#[test]
fn losses_that_the_reordering_timer_finds_are_told_before_the_congestion() {
    let mut t = established(&listening(rack()));
    let handshake = Duration::from_millis(100);
    assert!(matches!(told().last(), Some(Told::Established(srtt)) if *srtt == Some(handshake)));
    t.write(10_000);
    t.leaving();
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1 <sack 2001:3001>");
    assert_eq!(losses(&told()), []);
    t.wait_ms(25);
    let told = told();
    // The first two segments; what was in flight when each left.
    assert_eq!(
        losses(&told),
        [(1000, 1000, 1000, false), (1000, 2000, 2000, false)]
    );
    assert!(matches!(
        told[..3],
        [
            Told::Lost(_),
            Told::Lost(_),
            Told::Congestion(CongestionKind::Loss)
        ]
    ));
    // Recovery sends them again with seven segments in flight besides.
    let Some(Told::Sent(sent)) = told.get(3) else {
        panic!("{told:?}");
    };
    assert_eq!(
        (sent.octets, sent.in_flight),
        (Bytes::new(1000), Bytes::new(8000))
    );
    t.leaving();
}

#[test]
fn losses_that_a_timeout_finds_are_told_and_those_of_a_retransmission_as_such() {
    let mut t = established(&listening(rack()));
    t.write(2000);
    t.leaving();
    told();
    t.wait_ms(300);
    let first = told();
    assert_eq!(
        losses(&first),
        [(1000, 1000, 1000, false), (1000, 2000, 2000, false)]
    );
    assert!(matches!(
        first[2],
        Told::Congestion(CongestionKind::Timeout)
    ));
    t.expect(". 1:1001(1000) ack 1");
    t.wait_ms(600);
    assert_eq!(losses(&told()), [(1000, 1000, 1000, true)]);
    t.leaving();
}

#[test]
fn what_is_delivered_is_told_in_full_and_apart_from_what_may_open_the_window() {
    let mut config = rack();
    config.transport_mut().profile.congestion.growth_by_delivery = true;
    let mut t = established(&listening(config));
    t.write(10_000);
    t.leaving();
    t.wait_ms(100);
    told();
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 5001");
    let acks = acks(&told());
    let octets = |ack: &Ack| [ack.acked, ack.delivered, ack.total_delivered].map(Bytes::as_u64);
    // The SYN is delivered, too.
    assert_eq!(octets(&acks[0]), [0, 3000, 3001]);
    assert_eq!(octets(&acks[1]), [2000, 2000, 5001]);
    // The first segment is lost.
    assert_eq!(acks[0].in_flight, Bytes::new(6000));
    assert_eq!(acks[1].in_flight, Bytes::new(5000));
    t.leaving();
    // What an advancing ACK reports above a gap counts too.
    t.inject(". 1:1(0) ack 6001 <sack 8001:9001>");
    assert_eq!(octets(&self::acks(&told())[0]), [2000, 2000, 7001]);
    t.leaving();
}

#[test]
fn after_long_reordering_data_above_a_gap_may_open_the_window() {
    let mut config = rack();
    config.transport_mut().profile.congestion.growth_by_delivery = true;
    let mut t = established(&listening(config));
    t.write(10_000);
    t.leaving();
    t.wait_ms(100);
    // Four segments overtake the first, which arrives before it is given up.
    t.inject(". 1:1(0) ack 1 <sack 4001:5001>");
    t.inject(". 1:1(0) ack 1001 <sack 4001:5001>");
    told();
    t.inject(". 1:1(0) ack 1001 <sack 4001:6001>");
    t.leaving();
    assert_eq!(acks(&told())[0].acked, Bytes::new(1000));
}

#[test]
fn a_retransmission_that_is_delivered_makes_a_rate_sample_and_no_round_trip() {
    let mut t = established(&listening(rack()));
    t.write(10_000);
    t.leaving();
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 1");
    t.wait_ms(100);
    told();
    t.inject(". 1:1(0) ack 4001");
    let ack = acks(&told())[0];
    let sample = ack.rate.expect("something was delivered");
    assert!(sample.is_retransmission);
    assert_eq!(
        (sample.delivered, sample.prior_delivered),
        (Bytes::new(1000), Bytes::new(3001))
    );
    assert_eq!(sample.interval(), Duration::from_millis(100));
    assert_eq!(ack.rtt, None);
    t.leaving();
}

#[test]
fn a_departure_after_silence_is_alone_in_flight_and_limited_by_the_application() {
    for counts_packets in [false, true] {
        assert_departure_after_silence(&listening(with(|p| {
            p.options.window_scaling = true;
            p.buffers.truesize = counts_packets;
        })));
    }
}

/// Departures: in flight with each, and whether the application was the limit.
fn limited(told: &[Told]) -> Vec<(u64, bool)> {
    let sent = told.iter().filter_map(|told| match told {
        Told::Sent(sent) => Some((sent.in_flight.as_u64(), sent.app_limited)),
        _ => None,
    });
    sent.collect()
}

fn assert_departure_after_silence(config: &ConnectionConfig) {
    let mut t = Script::established(config);
    t.write(20_000);
    assert_eq!(t.leaving().len(), 10);
    // The window is the limit: nothing was written before, but now there is more
    // than it lets out.
    let first = limited(&told());
    assert_eq!((first.len(), first[9]), (10, (10_000, true)));
    t.inject(". 1:1(0) ack 10001");
    t.leaving();
    let second = limited(&told());
    assert_eq!(second[9], (10_000, false));
    t.inject(". 1:1(0) ack 20001");
    t.wait_ms(5000);
    told();
    t.write(1000);
    t.leaving();
    assert_eq!(limited(&told()), [(1000, true)]);
}

#[test]
fn a_write_that_waited_for_space_is_not_limited_by_the_application() {
    for waits in [true, false] {
        let mut config = listening(with(|p| {
            p.options.window_scaling = true;
            p.buffers.truesize = true;
        }));
        config.transport_mut().send_buffer = Some(Bytes::new(5000));
        let mut t = Script::established(&config);
        t.write(30_000);
        assert_eq!(t.leaving().len(), 10);
        t.inject(". 1:1(0) ack 10001");
        assert_eq!(t.leaving().len(), 20);
        // Less than cwnd is in flight, nothing is unsent, and a third of the buffer is free.
        t.inject(". 1:1(0) ack 28001");
        t.leaving();
        t.tcp.set_write_blocked(waits);
        told();
        t.write(1000);
        t.leaving();
        assert_eq!(limited(&told()), [(3000, !waits)], "{waits}");
    }
}

#[test]
fn each_connection_draws_from_a_stream_of_its_own_and_the_same_in_each_run() {
    let seed = |change: fn(&mut ConnectionConfig)| {
        let mut config = listening(rack());
        change(&mut config);
        established(&config);
        let seed = told().iter().rev().find_map(|told| match told {
            Told::Seed(seed) => Some(*seed),
            _ => None,
        });
        seed.expect("the control was built")
    };
    let first = seed(|_| ());
    assert_eq!(first, seed(|_| ()));
    assert_ne!(first, seed(|config| config.local_port += 1));
}
