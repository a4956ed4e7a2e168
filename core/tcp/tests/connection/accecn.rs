//! Accurate ECN feedback, packet by packet: RFC 9768 section 3.
//!
//! The ACE field is `A` (4), `W` (2) and `E` (1): its first value 5 is `EA`.

use std::sync::Arc;

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::events::{EcnFeedback, Phase, State};
use gigatcp_tcp::profile::{EcnMode, EcnOption, Profile};
use gigatcp_wire::{Ecn, Flags};

use crate::script::{Script, segments, with};

/// Accurate feedback, every segment acknowledged.
fn accurate() -> ConnectionConfig {
    with(|p| {
        p.ecn.mode = EcnMode::Accurate;
        p.acknowledgments.delayed_ack = false;
    })
}

fn changed(change: impl FnOnce(&mut Profile)) -> ConnectionConfig {
    let mut config = accurate();
    change(&mut config.transport_mut().profile);
    config
}

const OPTION: &str = "ECN e0b 1 ceb 0 e1b 1";

/// Letters of an ACE field.
fn ace(count: u64) -> String {
    let letters = [(1, 'E'), (2, 'W'), (4, 'A')];
    let set = letters.iter().filter(|(bit, _)| count & bit != 0);
    set.map(|(_, letter)| *letter).collect()
}

/// Client, established.
fn client(config: &ConnectionConfig) -> Script {
    let mut t = Script::connect(config);
    t.expect("SEWA 0:0(0) <mss 1000>");
    t.inject(&format!("SW. 0:0(0) ack 1 <mss 1000,{OPTION}>"));
    t.expect(&format!("W. 1:1(0) ack 1 <{OPTION}>"));
    t
}

/// Server that has answered an accurate request.
fn server(config: &ConnectionConfig) -> Script {
    let mut t = Script::accept(config, "SEWA 0:0(0) <mss 1000>");
    t.expect(&format!("SW. 0:0(0) ack 1 <mss 1000,{OPTION}>"));
    t
}

/// The same where the path strips options.
fn without_options() -> Script {
    let mut t = Script::connect(&accurate());
    t.expect("SEWA 0:0(0) <mss 1000>");
    t.inject("SW. 0:0(0) ack 1 <mss 1000>");
    let _ = t.leaving();
    t.inject("EA. 1:1(0) ack 1");
    t.write(100_000);
    assert_eq!(t.leaving().len(), 10);
    t
}

/// Ten full segments in flight; the peer has marked nothing.
fn in_flight(config: &ConnectionConfig) -> Script {
    let mut t = client(config);
    t.inject("EA. 1:1(0) ack 1");
    t.write(100_000);
    let all = segments(0..10, 1);
    t.expect_all(all.map(|text| format!("[ect0] EA{text}")));
    t
}

#[test]
fn table_2_the_syn_ack_decides_the_mode_of_the_client_and_whether_it_sends_ect() {
    // The SYN-ACK, the mode, the flags and the field of the first data.
    let table = [
        ("SW.", EcnFeedback::Accurate, "[ect0] PEA."),
        // The SYN left as Not-ECT and arrived as something else: mangled.
        ("SEW.", EcnFeedback::Accurate, "PEA."),
        ("SA.", EcnFeedback::Accurate, "PEA."),
        ("SWA.", EcnFeedback::Accurate, "PEA."),
        // Reserved: accurate, and as if nothing had changed.
        ("SEA.", EcnFeedback::Accurate, "[ect0] PEA."),
        ("SE.", EcnFeedback::Classic, "[ect0] P."),
        ("S.", EcnFeedback::None, "P."),
        ("SEWA.", EcnFeedback::None, "P."),
    ];
    for (answer, mode, data) in table {
        let mut t = Script::connect(&accurate());
        t.expect("SEWA 0:0(0) <mss 1000>");
        t.inject(&format!("{answer} 0:0(0) ack 1 <mss 1000>"));
        let _ = t.leaving();
        assert_eq!(t.tcp.info().ecn.feedback, mode, "{answer}");
        t.write(1000);
        t.expect(&format!("{data} 1:1001(1000) ack 1"));
        let is_marked = answer == "SWA.";
        assert_eq!(t.cwnd(), if is_marked { 1.0 } else { 10.0 }, "{answer}");
    }
}

#[test]
fn table_2_a_server_tells_how_the_syn_arrived() {
    let table = [
        ("SEWA", "SW."),
        ("[ect1] SEWA", "SEW."),
        ("[ect0] SEWA", "SA."),
        ("[ce] SEWA", "SWA."),
        // Section 3.1.3: what has no meaning yet asks for accurate feedback.
        ("SE", "SW."),
        ("SW", "SW."),
        ("SA", "SW."),
        ("SEA", "SW."),
        ("SWA", "SW."),
    ];
    for mode in [EcnMode::Accurate, EcnMode::Passive] {
        for (syn, answer) in table {
            let config = changed(|p| p.ecn.mode = mode);
            let mut t = Script::accept(&config, &format!("{syn} 0:0(0) <mss 1000>"));
            t.expect(&format!("{answer} 0:0(0) ack 1 <mss 1000,{OPTION}>"));
        }
        let config = changed(|p| p.ecn.mode = mode);
        for (syn, answer) in [("SEW", "SE."), ("S", "S.")] {
            let mut t = Script::accept(&config, &format!("{syn} 0:0(0) <mss 1000>"));
            t.expect(&format!("{answer} 0:0(0) ack 1 <mss 1000>"));
        }
    }
}

#[test]
fn table_3_the_client_tells_how_the_syn_ack_arrived_and_counts_a_mark() {
    for (field, told, counter) in [
        ("", "W", 5),
        ("[ect1] ", "EW", 5),
        ("[ect0] ", "A", 5),
        ("[ce] ", "WA", 6),
    ] {
        let mut t = Script::connect(&accurate());
        t.expect("SEWA 0:0(0) <mss 1000>");
        t.inject(&format!("{field}SW. 0:0(0) ack 1 <mss 1000,{OPTION}>"));
        t.expect(&format!("{told}. 1:1(0) ack 1 <{OPTION}>"));
        t.write(1000);
        t.expect(&format!("[ect0] P{}. 1:1001(1000) ack 1", ace(counter)));
    }
}

#[test]
fn table_4_the_server_reads_how_its_syn_ack_arrived() {
    // The ACE field, whether data is capable then, s.cep.
    let table = [
        (0b000, false, None),
        (0b001, true, Some(5)),
        (0b010, true, Some(5)),
        (0b011, false, Some(5)),
        (0b100, false, Some(5)),
        (0b101, true, Some(5)),
        (0b110, false, Some(6)),
        (0b111, true, Some(5)),
    ];
    for (field, is_capable, cep) in table {
        let mut t = server(&accurate());
        t.inject(&format!("{}. 1:1(0) ack 1 <{OPTION}>", ace(field)));
        t.expect_nothing();
        assert_eq!(t.state(), State::Established);
        let marked = field == 0b110;
        assert_eq!(t.cwnd(), if marked { 1.0 } else { 10.0 }, "{field:03b}");
        t.write(1000);
        let ect = if is_capable { "[ect0] " } else { "" };
        t.expect(&format!("{ect}PEA. 1:1001(1000) ack 1"));
        assert_eq!(t.tcp.info().ecn.heeds, cep.is_some(), "{field:03b}");
        // One more mark than s.cep: believed by all but the first.
        let more = cep.unwrap_or(5) + 1;
        t.inject(&format!("{}. 1:1(0) ack 1001", ace(more)));
        assert_eq!(t.tcp.info().ecn.delivered_ce, 1, "{field:03b}");
        let reduced = t.tcp.counters().ecn_reductions + u64::from(marked);
        assert_eq!(reduced, u64::from(cep.is_some()), "{field:03b}");
    }
}

#[test]
fn data_may_complete_the_handshake_and_carries_the_counter() {
    let mut t = server(&accurate());
    t.inject(&format!("[ect0] PEA. 1:101(100) ack 1 <{OPTION}>"));
    t.expect("EA. 1:1(0) ack 101 <ECN e0b 101>");
    t.write(1000);
    t.expect("[ect0] PEA. 1:1001(1000) ack 101");
}

#[test]
fn a_zeroed_counter_after_the_handshake_stops_ect_and_belief_but_not_feedback() {
    // Section 3.2.2.4.
    let mut t = client(&accurate());
    t.inject("[ce] . 1:1001(1000) ack 1");
    t.expect("WA. 1:1(0) ack 1001 <ECN e0b 1 ceb 1000>");
    t.write(1000);
    t.expect("PWA. 1:1001(1000) ack 1001");
    t.inject("WA. 1001:1001(0) ack 1001");
    assert_eq!(t.tcp.counters().ecn_reductions, 0);
    // Zero later is a counter that has come round.
    let mut t = client(&accurate());
    t.inject("EA. 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 1");
    t.write(1000);
    t.expect("[ect0] PEA. 1:1001(1000) ack 1");
}

#[test]
fn an_accurate_syn_is_repeated_once_and_the_next_asks_for_nothing() {
    // Section 3.1.4.1; a client may send ECT anyway (section 3.1.5).
    let mut t = Script::connect(&accurate());
    t.expect("SEWA 0:0(0) <mss 1000>");
    t.wait_ms(1000);
    t.expect("SEWA 0:0(0) <mss 1000>");
    t.wait_ms(2000);
    t.expect("S 0:0(0) <mss 1000>");
    t.inject(&format!("SW. 0:0(0) ack 1 <mss 1000,{OPTION}>"));
    t.expect(&format!("W. 1:1(0) ack 1 <{OPTION}>"));
    t.write(1000);
    t.expect("[ect0] PEA. 1:1001(1000) ack 1");
}

#[test]
fn a_syn_ack_loses_its_option_and_then_its_ecn() {
    // Section 3.2.3.2.2; a server sends no ECT then (section 3.1.5).
    let mut t = server(&accurate());
    t.wait_ms(1000);
    t.expect("SW. 0:0(0) ack 1 <mss 1000>");
    t.wait_ms(2000);
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.inject("W. 1:1(0) ack 1");
    t.write(1000);
    t.expect("PEA. 1:1001(1000) ack 1");
    // It goes on telling what arrives, and tries options again.
    t.inject("[ce] EA. 1:1001(1000) ack 1001");
    t.expect("WA. 1001:1001(0) ack 1001 <ECN e0b 1 ceb 1000>");
}

#[test]
fn the_syn_ack_tells_how_the_latest_syn_arrived() {
    let mut t = server(&accurate());
    t.inject("[ect0] SEWA 0:0(0) <mss 1000>");
    t.expect("SA. 0:0(0) ack 1 <mss 1000>");
    // Without ECN the SYN is answered alike, and the server sends no ECT.
    t.inject("S 0:0(0) <mss 1000>");
    t.expect("SW. 0:0(0) ack 1 <mss 1000>");
    t.inject("W. 1:1(0) ack 1");
    t.write(1000);
    t.expect("PEA. 1:1001(1000) ack 1");
}

#[test]
fn syns_for_two_kinds_of_feedback_are_reset() {
    // Section 3.1.5.
    for (first, answer, second) in [("SEWA", "SW.", "SEW"), ("SEW", "SE.", "SEWA")] {
        let mut t = Script::accept(&accurate(), &format!("{first} 0:0(0) <mss 1000>"));
        let syn_ack = t.leaving();
        assert_eq!(syn_ack.len(), 1, "{answer}");
        t.inject(&format!("{second} 0:0(0) <mss 1000>"));
        t.expect_all(["R. 1:1(0) ack 1"]);
        assert_eq!(t.state(), State::Closed);
    }
}

#[test]
fn every_syn_ack_that_comes_again_is_told_of() {
    // Section 3.2.2.1; marks on it count once.
    let mut t = client(&accurate());
    for _ in 0..2 {
        t.inject(&format!("[ce] SW. 0:0(0) ack 1 <mss 1000,{OPTION}>"));
        t.expect("WA. 1:1(0) ack 1");
    }
    t.write(1000);
    t.expect("[ect0] PWA. 1:1001(1000) ack 1");
}

#[test]
fn the_handshake_is_acknowledged_without_data_even_if_there_is_some() {
    // Section 3.2.2.1, SHOULD; the first data has an option (3.2.3.2.1).
    let mut t = Script::connect(&accurate());
    t.expect("SEWA 0:0(0) <mss 1000>");
    t.write(500);
    t.inject(&format!("SW. 0:0(0) ack 1 <mss 1000,{OPTION}>"));
    t.expect(&format!("W. 1:1(0) ack 1 <{OPTION}>"));
    t.expect("[ect0] PEA. 1:501(500) ack 1 <ECN e0b 1>");
    // Sent again it goes without (section 3.2.3.2.2).
    let timer = t.tcp.poll_timeout().unwrap() - t.now;
    t.wait(timer);
    t.expect("PEA. 1:501(500) ack 1");
}

#[test]
fn two_syns_that_cross_agree_as_two_listeners_would() {
    let mut t = Script::connect(&accurate());
    t.expect("SEWA 0:0(0) <mss 1000>");
    t.inject("SEWA 0:0(0) <mss 1000>");
    t.expect(&format!("SW. 0:0(0) ack 1 <mss 1000,{OPTION}>"));
    t.inject(&format!("SW. 0:0(0) ack 1 <mss 1000,{OPTION}>"));
    t.expect_nothing();
    t.write(1000);
    t.expect("[ect0] PEA. 1:1001(1000) ack 1");
}

#[test]
fn the_counter_goes_out_modulo_eight_and_octets_by_their_field() {
    let mut t = client(&accurate());
    let mut octets = 0;
    for n in 0..20 {
        let start = 1 + n * 1000;
        t.inject(&format!("[ce] EA. {start}:{}(1000) ack 1", start + 1000));
        octets += 1000;
        let told = ace((6 + n) % 8);
        let option = format!("ECN e0b 1 ceb {octets}");
        t.expect(&format!("{told}. 1:1(0) ack {} <{option}>", start + 1000));
    }
    t.inject("[ect0] EA. 20001:21001(1000) ack 1");
    // r.cep is 25.
    t.expect("E. 1:1(0) ack 21001 <ECN e0b 1001 ceb 20000>");
    t.inject("[ect1] EA. 21001:22001(1000) ack 1");
    t.expect("E. 1:1(0) ack 22001 <ECN e0b 1001 ceb 20000 e1b 1001>");
    t.inject("EA. 22001:23001(1000) ack 1");
    t.expect("E. 1:1(0) ack 23001");
    let ecn = t.tcp.info().ecn;
    assert_eq!(ecn.received_ce, 20);
    assert_eq!(ecn.received_octets, [1000, 1000, 20_000]);
}

#[test]
fn a_change_to_marked_and_every_second_mark_are_acknowledged_at_once() {
    // Section 3.2.2.5.1, next to delayed acknowledgments.
    let mut t = client(&changed(|p| {
        p.acknowledgments.delayed_ack = true;
        p.acknowledgments.ack_every = 10;
    }));
    let data = |n: u64, field: &str| {
        let start = 1 + n * 1000;
        format!("{field} EA. {start}:{}(1000) ack 1", start + 1000)
    };
    for (n, field, told) in [
        (0, "[ect0]", None),
        (1, "[ce]", Some(("WA", "ECN e0b 1001 ceb 1000"))),
        (2, "[ce]", None),
        (3, "[ce]", Some(("", "ECN e0b 1001 ceb 3000"))),
        (4, "[ect0]", None),
        (5, "[ce]", Some(("E", "ECN e0b 2001 ceb 4000"))),
    ] {
        t.inject(&data(n, field));
        match told {
            None => t.expect_nothing(),
            Some((flags, option)) => {
                let ack = 1001 + n * 1000;
                t.expect(&format!("{flags}. 1:1(0) ack {ack} <{option}>"));
            }
        }
    }
}

#[test]
fn three_marked_acknowledgments_are_acknowledged() {
    // Section 3.2.2.5.1; there is nothing that SACK could tell.
    let mut t = client(&accurate());
    t.write(1000);
    t.expect("[ect0] PEA. 1:1001(1000) ack 1");
    for _ in 0..2 {
        t.inject("[ce] EA. 1:1(0) ack 1001");
        t.expect_nothing();
    }
    t.inject("[ce] EA. 1:1(0) ack 1001");
    t.expect(". 1001:1001(0) ack 1");
}

#[test]
fn marks_reported_reduce_the_window_once_and_set_no_cwr() {
    let mut t = in_flight(&accurate());
    t.inject("WA. 1:1(0) ack 1001 <ECN e0b 1 ceb 1000>");
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
    assert_eq!(t.tcp.info().phase, Phase::Cwr);
    for n in 2..=6_u64 {
        t.expect_nothing();
        let told = ace((5 + n) % 8);
        let option = format!("ECN e0b 1 ceb {}", n * 1000);
        t.inject(&format!("{told}. 1:1(0) ack {} <{option}>", 1 + n * 1000));
        assert_eq!(t.cwnd(), 5.0);
    }
    t.expect("[ect0] EA. 10001:11001(1000) ack 1");
    t.inject("EW. 1:1(0) ack 7001 <ECN e0b 1001 ceb 6000>");
    t.expect("[ect0] EA. 11001:12001(1000) ack 1");
    let ecn = t.tcp.info().ecn;
    assert_eq!(ecn.delivered_ce, 6);
    assert_eq!(ecn.delivered_octets, [0, 1000, 6000]);
    assert_eq!(t.tcp.counters().ecn_reductions, 1);
}

#[test]
fn the_counter_comes_round_once_every_eight_marks() {
    let mut t = in_flight(&accurate());
    for n in 1..=10_u64 {
        t.inject(&format!(
            "{}. 1:1(0) ack {}",
            ace((5 + n) % 8),
            1 + n * 1000
        ));
        let _ = t.leaving();
        assert_eq!(t.tcp.info().ecn.delivered_ce, n);
    }
}

#[test]
fn lost_acknowledgments_and_no_option_make_the_safest_case() {
    // Appendix A.2.1: nine packets and two marks are two; ten may be ten.
    for (acked, marks) in [(9, 2), (10, 10)] {
        let mut t = without_options();
        // Acknowledgments come for every second packet.
        for n in 1..=4 {
            t.inject(&format!("EA. 1:1(0) ack {}", 1 + n * 2000));
            let _ = t.leaving();
        }
        t.inject(&format!("EWA. 1:1(0) ack {}", 8001 + acked * 1000));
        let _ = t.leaving();
        assert_eq!(t.tcp.info().ecn.delivered_ce, marks);
    }
    // Where the first one covers as many, that is how they come here.
    let mut t = without_options();
    t.inject("EWA. 1:1(0) ack 10001");
    let _ = t.leaving();
    assert_eq!(t.tcp.info().ecn.delivered_ce, 2);
    // With an option the octets decide.
    let mut t = in_flight(&accurate());
    t.inject("EWA. 1:1(0) ack 10001 <ECN e0b 8001 ceb 2000>");
    let _ = t.leaving();
    assert_eq!(t.tcp.info().ecn.delivered_ce, 2);
}

#[test]
fn an_acknowledgment_that_another_superseded_says_nothing() {
    let mut t = in_flight(&accurate());
    t.inject("EWA. 1:1(0) ack 3001");
    t.inject("WA. 1:1(0) ack 2001");
    t.inject("WA. 1:1(0) ack 3001");
    assert_eq!(t.tcp.info().ecn.delivered_ce, 2);
    let _ = t.leaving();
    t.inject("EWA. 1:1(0) ack 4001");
    assert_eq!(t.tcp.info().ecn.delivered_ce, 2);
}

#[test]
fn an_option_that_never_comes_leaves_the_counter_and_one_that_comes_late_is_taken() {
    // Section 3.2.3.2.3.
    use gigatcp_tcp::connection::OptionSeen;
    let mut t = Script::connect(&accurate());
    t.expect("SEWA 0:0(0) <mss 1000>");
    t.inject("SW. 0:0(0) ack 1 <mss 1000>");
    t.expect(&format!("W. 1:1(0) ack 1 <{OPTION}>"));
    assert_eq!(t.tcp.info().ecn.option_seen, OptionSeen::Absent);
    t.write(2000);
    let _ = t.leaving();
    t.inject("WA. 1:1(0) ack 1001");
    assert_eq!(t.tcp.info().ecn.delivered_ce, 1);
    t.inject("WA. 1:1(0) ack 2001 <ECN e0b 1001 ceb 1000>");
    let ecn = t.tcp.info().ecn;
    assert_eq!(ecn.option_seen, OptionSeen::Seen);
    // The octets are those of the packet that the counter has already shown.
    assert_eq!(
        (ecn.delivered_ce, ecn.delivered_octets),
        (1, [0, 1000, 1000])
    );
    t.write(1000);
    let sent = t.leaving();
    assert!(!sent.is_empty() && sent.iter().all(|s| s.ecn == Ecn::Ect0));
}

#[test]
fn a_zeroed_option_is_ignored() {
    // Section 3.2.3.2.4.
    let mut t = Script::connect(&accurate());
    t.expect("SEWA 0:0(0) <mss 1000>");
    t.inject("SW. 0:0(0) ack 1 <mss 1000,ECN e0b 0 ceb 0 e1b 0>");
    let _ = t.leaving();
    t.write(1000);
    let _ = t.leaving();
    t.inject("EA. 1:1(0) ack 1001 <ECN e0b 0 ceb 4000>");
    assert_eq!(t.tcp.info().ecn.delivered_octets, [0, 0, 0]);
}

#[test]
fn octets_marked_without_packets_stop_ect() {
    // Section 3.2.3.2.5, MUST.
    let mut t = in_flight(&accurate());
    t.inject("EA. 1:1(0) ack 2001 <ECN e0b 1001 ceb 1000>");
    t.expect_nothing();
    t.inject("EA. 1:1(0) ack 9001 <ECN e0b 8001 ceb 1000>");
    let sent = t.leaving();
    assert!(!sent.is_empty() && sent.iter().all(|s| s.ecn == Ecn::NotEct));
}

#[test]
fn retransmissions_carry_the_newest_counter_and_no_ect() {
    // Section 3.2, MUST.
    let mut t = client(&accurate());
    t.write(1000);
    t.expect("[ect0] PEA. 1:1001(1000) ack 1");
    t.inject("[ce] EA. 1:1001(1000) ack 1");
    t.expect("WA. 1001:1001(0) ack 1001 <ECN e0b 1 ceb 1000>");
    let timer = t.tcp.poll_timeout().unwrap() - t.now;
    t.wait(timer);
    t.expect("PWA. 1:1001(1000) ack 1001");
}

#[test]
fn sack_keeps_two_blocks_beside_the_option() {
    // Section 3.2.3.3, MUST.
    let mut config = changed(|p| {
        p.recovery.sack = true;
        p.options.timestamps = true;
    });
    config.transport_mut().mtu = 1052;
    let mut t = Script::connect(&config);
    t.expect("SEWA 0:0(0) <mss 1012,sackOK,TS val 1000 ecr 0>");
    t.inject(&format!(
        "SW. 0:0(0) ack 1 <mss 1012,sackOK,TS val 1 ecr 1000,{OPTION}>"
    ));
    let _ = t.leaving();
    let mut last = None;
    for n in [1, 3, 5_u64] {
        let start = 1 + n * 1000;
        let stamps = "<TS val 1 ecr 1000>";
        t.inject(&format!(
            "[ect0] EA. {start}:{}(1000) ack 1 {stamps}",
            start + 1000
        ));
        last = t.leaving().pop();
    }
    let last = last.unwrap();
    assert_eq!(last.options.sack.len(), 2, "the third yields");
    assert_eq!(last.options.accecn.unwrap().field(Ecn::Ect0), Some(3001));
    assert!(last.options.wire_len() <= 40);
}

#[test]
fn a_super_segment_keeps_the_counter_on_every_piece() {
    let mut t = client(&changed(|p| p.segments.segmentation_offload = true));
    t.write(5000);
    let mut whole = t.leaving().remove(0);
    while whole.wire_segments() > 1 {
        let piece = whole.split_front(1);
        assert_eq!(piece.flags.ace(), 5);
        assert_eq!(piece.ecn, Ecn::Ect0);
    }
    assert_eq!(
        whole.flags.without(Flags::PSH),
        Flags::ACK | Flags::from_ace(5)
    );
}

#[test]
fn a_marked_super_segment_counts_its_packets() {
    let mut t = client(&accurate());
    t.inject("[ect0] EA. 1:1001(1000) ack 1");
    let _ = t.leaving();
    let mut whole = crate::notation::read(
        "[ce] EA. 1001:11001(10000) ack 1",
        crate::script::PEER_ISS,
        crate::script::ISS,
        65_535,
    );
    whole.segment_size = 1000;
    t.inject_segment(whole);
    t.expect_all([&format!(
        "{}. 1:1(0) ack 11001 <ECN e0b 1001 ceb 10000>",
        ace(15 % 8)
    )]);
    assert_eq!(t.tcp.info().ecn.received_ce, 10);
}

#[test]
fn header_prediction_takes_data_and_acknowledgments_without_news() {
    let mut t = client(&changed(|p| p.segments.header_prediction = true));
    t.inject("EA. 1:1(0) ack 1");
    let before = t.tcp.counters().predicted;
    t.inject("[ect0] EA. 1:1001(1000) ack 1");
    let _ = t.leaving();
    t.write(1000);
    let _ = t.leaving();
    t.inject("EA. 1001:1001(0) ack 1001 <ECN e0b 1001>");
    assert_eq!(t.tcp.counters().predicted, before + 2);
}

#[test]
fn options_on_every_segment_take_their_room_from_the_first_one_that_comes_on() {
    let config = changed(|p| p.ecn.ecn_option = EcnOption::Always);
    let mut t = Script::connect(&config);
    t.expect("SEWA 0:0(0) <mss 1000>");
    // A box takes the option out of SYNs alone.
    t.inject("SW. 0:0(0) ack 1 <mss 1000>");
    t.expect("W. 1:1(0) ack 1");
    t.write(3_000);
    let [first, second] = [0, 1].map(|n| {
        format!(
            "[ect0] EA. {}:{}(1000) ack 1",
            1 + n * 1000,
            1001 + n * 1000
        )
    });
    t.expect_all([&first, &second, "[ect0] PEA. 2001:3001(1000) ack 1"]);
    t.inject("EA. 1:1(0) ack 1001 <ECN e1b 1 ceb 0 e0b 1001>");
    t.write(2_000);
    let option = "ECN e1b 1 ceb 0 e0b 1";
    t.expect(&format!("[ect0] EA. 3001:3989(988) ack 1 <{option}>"));
    t.expect(&format!("[ect0] EA. 3989:4977(988) ack 1 <{option}>"));
    t.expect(&format!("[ect0] PEA. 4977:5001(24) ack 1 <{option}>"));
}

#[test]
fn the_acknowledgment_of_a_syn_ack_that_came_again_is_no_counter() {
    // Sections 3.2.2.1 and 3.2.2.2: 2 in the ACE field, not five marks.
    let mut t = server(&accurate());
    t.inject("W. 1:1(0) ack 1");
    t.write(2_000);
    t.expect_all([
        "[ect0] EA. 1:1001(1000) ack 1",
        "[ect0] PEA. 1001:2001(1000) ack 1",
    ]);
    t.inject("W. 1:1(0) ack 1");
    assert_eq!(t.cwnd(), 10.0);
    assert_eq!(t.tcp.info().ecn.delivered_ce, 0);
    // With data acknowledged it is one.
    t.inject("WA. 1:1(0) ack 1001");
    assert_eq!(t.tcp.info().ecn.delivered_ce, 1);
}

#[test]
fn where_syns_cross_nobody_takes_more_than_its_own_asked_for() {
    // The peer goes by our SYN as we do by its: what both asked for is agreed.
    let modes = [
        (EcnMode::Passive, "S", EcnFeedback::None),
        (EcnMode::Mixed, "SEW", EcnFeedback::Classic),
        (EcnMode::Accurate, "SEWA", EcnFeedback::Accurate),
    ];
    for (mode, syn, agreed) in modes {
        let mut t = Script::connect(&changed(|p| p.ecn.mode = mode));
        t.expect(&format!("{syn} 0:0(0) <mss 1000>"));
        t.inject("SEWA 0:0(0) <mss 1000>");
        let _ = t.leaving();
        assert_eq!(t.tcp.info().ecn.feedback, agreed, "{mode:?}");
    }
}

#[test]
fn what_sack_had_told_of_is_not_newly_acknowledged_when_its_marks_are_guessed() {
    // Appendix A.2.1 with no option: one packet is new, so none was marked.
    let mut t = Script::connect(&changed(|p| p.recovery.sack = true));
    t.expect("SEWA 0:0(0) <mss 1000,sackOK>");
    t.inject("SW. 0:0(0) ack 1 <mss 1000,sackOK>");
    let _ = t.leaving();
    t.inject("EA. 1:1(0) ack 1");
    t.write(100_000);
    assert_eq!(t.leaving().len(), 10);
    for n in 1..10 {
        t.inject(&format!("EA. 1:1(0) ack 1 <sack 1001:{}>", 1001 + n * 1000));
        let _ = t.leaving();
    }
    t.inject("EA. 1:1(0) ack 10001");
    assert_eq!(t.tcp.info().ecn.delivered_ce, 0);
    let _ = t.leaving();
}

#[test]
fn ect1_leaves_with_a_scalable_control_accurate_feedback_and_the_switch_alone() {
    let cases = [
        ("dctcp", true, EcnMode::Accurate, Ecn::Ect1),
        ("dctcp", false, EcnMode::Accurate, Ecn::Ect0),
        ("dctcp", true, EcnMode::Classic, Ecn::Ect0),
        ("reno", true, EcnMode::Accurate, Ecn::Ect0),
    ];
    for (control, l4s, ecn, expected) in cases {
        let mut config = changed(|p| (p.ecn.l4s, p.ecn.mode) = (l4s, ecn));
        config.transport_mut().congestion =
            Arc::new(gigatcp_tcp::congestion::find(control).unwrap());
        let mut t = Script::connect(&config);
        let _ = t.leaving();
        t.inject(if ecn == EcnMode::Accurate {
            "SW. 0:0(0) ack 1 <mss 1000>"
        } else {
            "SE. 0:0(0) ack 1 <mss 1000>"
        });
        let acks = t.leaving();
        assert!(acks.iter().all(|ack| ack.ecn == Ecn::NotEct));
        t.write(3_000);
        let fields: Vec<Ecn> = t.leaving().iter().map(|segment| segment.ecn).collect();
        assert_eq!(fields, [expected; 3], "{control} {l4s} {ecn:?}");
    }
}
