//! A path that marks every packet is not believed indefinitely: RFC 9768 section
//! 3.2.2.3.

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::profile::EcnMode;
use gigatcp_wire::Ecn;

use crate::script::{Script, with};

/// The client sends, and a peer that acknowledges every segment counts marks.
struct Path {
    t: Script,
    /// Packets that arrived with CE, from 5 on, and octets.
    ce: u64,
    octets: u64,
    /// Whether an option tells octets.
    has_options: bool,
}

fn config(doubts: bool) -> ConnectionConfig {
    with(|p| {
        p.ecn.mode = EcnMode::Accurate;
        p.ecn.ecn_doubts = doubts;
        p.acknowledgments.delayed_ack = false;
    })
}

impl Path {
    fn new(doubts: bool, has_options: bool) -> Self {
        let mut t = Script::connect(&config(doubts));
        t.expect("SEWA 0:0(0) <mss 1000>");
        let option = if has_options {
            ",ECN e0b 1 ceb 0 e1b 1"
        } else {
            ""
        };
        t.inject(&format!("SW. 0:0(0) ack 1 <mss 1000{option}>"));
        let _ = t.leaving();
        t.write(1_000_000);
        Self {
            t,
            ce: 5,
            octets: 0,
            has_options,
        }
    }

    /// What is in flight arrives, and whatever was ECT arrives with CE except for
    /// the packet of that number. Answers how many packets were ECT, and how
    /// many there were.
    fn round(&mut self, unmarked: Option<usize>) -> (usize, usize) {
        let flight = self.t.leaving();
        let mut capable = 0;
        let mut acknowledgments = Vec::new();
        let mut ack = self.t.tcp.info().snd_una;
        for (number, segment) in flight.iter().enumerate() {
            let is_ect = segment.ecn != Ecn::NotEct;
            capable += usize::from(is_ect);
            if is_ect && unmarked != Some(number) {
                self.ce += 1;
                self.octets += segment.payload.len() as u64;
            }
            ack += segment.payload.len() as u64;
            acknowledgments.push(self.acknowledgment(ack));
        }
        self.t.pass_ms(10);
        self.t.inject_together(acknowledgments);
        // At a window of one segment new data waits for a timeout.
        if self.t.tcp.info().flight_size.as_u64() == 0 {
            self.t.pass_ms(3_000);
        }
        (capable, flight.len())
    }

    fn acknowledgment(&self, ack: u64) -> String {
        let letters = [(4, 'A'), (2, 'W'), (1, 'E')];
        let set = letters.iter().filter(|(bit, _)| self.ce & bit != 0);
        let ace: String = set.map(|(_, letter)| *letter).collect();
        let option = if self.has_options {
            format!(" <ECN e0b 1 ceb {}>", self.octets)
        } else {
            String::new()
        };
        format!("{ace}. 1:1(0) ack {ack}{option}")
    }

    fn reductions(&self) -> u64 {
        self.t.tcp.counters().ecn_reductions
    }
}

#[test]
fn after_four_rounds_of_marks_alone_ect_ends_and_the_window_grows_again() {
    for has_options in [true, false] {
        let mut path = Path::new(true, has_options);
        for number in 0..4 {
            let (capable, packets) = path.round(None);
            assert!(packets > 0 && capable == packets, "round {number}");
        }
        let ecn = path.t.tcp.info().ecn;
        assert!(!ecn.sends_ect && !ecn.heeds);
        let (reductions, cwnd) = (path.reductions(), path.t.cwnd());
        // What was in flight as ECT may still come back as marked.
        path.round(None);
        for _ in 0..6 {
            let (capable, packets) = path.round(None);
            assert!(packets > 0 && capable == 0);
        }
        assert_eq!(path.reductions(), reductions);
        assert!(path.t.cwnd() > cwnd);
        let _ = path.t.leaving();
    }
}

#[test]
fn one_packet_without_a_mark_keeps_ect_and_every_mark_counts() {
    let mut path = Path::new(true, true);
    path.round(Some(3));
    for _ in 0..12 {
        let (capable, packets) = path.round(None);
        assert!(packets > 0 && capable == packets);
    }
    let ecn = path.t.tcp.info().ecn;
    assert!(ecn.sends_ect && ecn.heeds);
    assert!(path.t.cwnd() <= 2.0);
    let _ = path.t.leaving();
}

#[test]
fn without_the_switch_the_window_stays_at_its_least() {
    let mut path = Path::new(false, true);
    for _ in 0..20 {
        path.round(None);
    }
    assert!(path.t.tcp.info().ecn.heeds);
    assert!(path.t.cwnd() <= 2.0);
    let _ = path.t.leaving();
}

#[test]
fn feedback_is_given_as_before() {
    let mut path = Path::new(true, true);
    for _ in 0..6 {
        path.round(None);
    }
    assert!(!path.t.tcp.info().ecn.heeds);
    let _ = path.t.leaving();
    path.t.inject("[ce] PEA. 1:1001(1000) ack 1");
    let segments = path.t.leaving();
    let told = segments.iter().find(|segment| segment.payload.is_empty());
    assert_eq!(told.expect("an acknowledgment").flags.ace(), 6);
}
