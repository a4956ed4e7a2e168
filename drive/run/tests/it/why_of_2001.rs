//! Diagnosis of `why` for the stall of 2001, from packets in tcpdump's format of that time, most of
//! them left out as in the report.
//!
//! The packets are from our own simulation of the stall. No rule and no packet here comes from the
//! trace of 2001, except the configuration of the machines.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use gigatcp_analyze::{Capture, Options, Source};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Tap, World};
use gigatcp_units::Instant;
use gigatcp_why::{CapturePoint, Diagnosis, Verdict};
use gigatcp_wire::{Flags, Phantom, Segment};

/// One printed packet, and whether the report shows it.
struct Line {
    text: String,
    is_shown: bool,
}

#[derive(Default)]
struct Views {
    /// Lines at the sender and at the receiver.
    lines: [Vec<Line>; 2],
    bases: [Option<u32>; 2],
}

#[derive(Clone, Default)]
struct Printer(Arc<Mutex<Views>>);

impl Tap for Printer {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let Some(segment) = packet.segment() else {
            return;
        };
        let mut views = self.0.lock().expect("one thread");
        let views = &mut *views;
        let way = usize::from(packet.reverse());
        if segment.flags.contains(Flags::SYN) {
            views.bases[way].get_or_insert(segment.seq.as_u32());
        }
        let view = usize::from(!at_sender);
        let index = views.lines[view].len();
        let text = print(now, segment, way, views.bases);
        // The beginning, the ends of bursts, and all packets that come slowly.
        let is_shown = index < 12
            || segment.flags.intersects(Flags::RST | Flags::SYN)
            || is_telling(segment, views.bases);
        views.lines[view].push(Line { text, is_shown });
    }
}

/// Whether a packet is near an event, by its position only.
///
/// The report shows those around the first loss, around the window's edge, and every
/// retransmission.
fn is_telling(segment: &Segment<Phantom>, bases: [Option<u32>; 2]) -> bool {
    let place = |number: u32, base: Option<u32>| number.wrapping_sub(base.unwrap_or(0));
    let seq = place(segment.seq.as_u32(), bases[0]);
    let ack = place(segment.ack.as_u32(), bases[0]);
    let is_data = segment.payload.len > 0;
    let near = |at: u32, edge: u32| at.abs_diff(edge) <= 3 * 4096;
    if is_data {
        [524_289, 2_105_345, 2_629_633]
            .iter()
            .any(|edge| near(seq, *edge))
    } else {
        near(ack, 524_289)
    }
}

fn print(now: Instant, segment: &Segment<Phantom>, way: usize, bases: [Option<u32>; 2]) -> String {
    let names = ["10.0.0.2.1072", "10.0.0.1.5001"];
    let us = now.as_nanos() / 1000;
    let (s, us) = (us / 1_000_000, us % 1_000_000);
    let mut text = format!(
        "{:02}:{:02}:{:02}.{us:06} {} > {}: ",
        12 + s / 3600,
        s / 60 % 60,
        s % 60,
        names[way],
        names[1 - way]
    );
    let is_syn = segment.flags.contains(Flags::SYN);
    let relative = |number: u32, base: Option<u32>| match is_syn {
        true => number,
        false => number.wrapping_sub(base.unwrap_or(0)),
    };
    let seq = relative(segment.seq.as_u32(), bases[way]);
    let len = segment.payload.len;
    let flag = match segment.flags {
        flags if flags.contains(Flags::SYN) => "S",
        flags if flags.contains(Flags::RST) => "R",
        flags if flags.contains(Flags::FIN) => "F",
        _ => ".",
    };
    text.push_str(flag);
    if len > 0 || flag != "." {
        write!(text, " {seq}:{}({len})", seq + len).expect("a string");
    }
    if segment.flags.contains(Flags::ACK) {
        let ack = relative(segment.ack.as_u32(), bases[1 - way]);
        write!(text, " ack {ack}").expect("a string");
    }
    write!(text, " win {}", segment.wnd.0).expect("a string");
    let mut options = Vec::new();
    if let Some(mss) = segment.options.mss {
        options.push(format!("mss {mss}"));
    }
    if let Some(scale) = segment.options.window_scale {
        options.push(format!("nop,wscale {scale}"));
    }
    if let Some(stamps) = segment.options.timestamps {
        options.push(format!("nop,nop,timestamp {} {}", stamps.val, stamps.ecr));
    }
    if !options.is_empty() {
        write!(text, " <{}>", options.join(",")).expect("a string");
    }
    text.push_str(" (DF)");
    text
}

/// Both captures of the stall, printed, with the machines of the experiment's plan.
fn printed() -> [String; 2] {
    let text = include_bytes!("../../../../experiments/shalunov-stall/plan.toml");
    let plan = gigatcp_plan::parse("plan.toml", text, &[]).expect("a plan");
    let stall = plan.series.iter().find(|series| series.name == "stall");
    let scenario = &stall.expect("the stall").scenario;
    let config = gigatcp_run::scenario::world(scenario, plan.seed);
    let printer = Printer::default();
    let mut world = World::new(config).expect("a world");
    world.set_tap(Box::new(printer.clone()));
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    drop(world);
    let views = std::mem::take(&mut *printer.0.lock().expect("one thread"));
    views.lines.map(|lines| {
        let mut text = String::from("An annotated trace of the stalled connection follows.\n\n");
        let mut was_shown = true;
        for line in lines {
            if line.is_shown {
                text.push_str(&line.text);
                text.push('\n');
            } else if was_shown {
                text.push_str("...We proceed to send...\n");
            }
            was_shown = line.is_shown;
        }
        text
    })
}

fn diagnose(text: &str) -> Diagnosis {
    let source = Source::bytes("printed", text.as_bytes());
    let capture = Capture::read(&source, &Options::default()).expect("readable");
    assert_eq!(capture.info().packets, capture.segments());
    assert_eq!(capture.connections().len(), 1);
    capture.connections().diagnose(0).expect("data was sent")
}

fn verdict<'a>(diagnosis: &'a Diagnosis, id: &str) -> &'a Verdict {
    let found = diagnosis
        .verdicts
        .iter()
        .find(|verdict| verdict.cause.id == id);
    found.unwrap_or_else(|| {
        panic!(
            "no {id} in {}: {}",
            diagnosis.limited_by(),
            diagnosis.sentence()
        )
    })
}

#[test]
fn the_receivers_print_shows_a_burst_lost_at_the_host_after_its_reader_paused() {
    let [_, text] = printed();
    let diagnosis = diagnose(&text);
    assert_eq!(diagnosis.capture_point, CapturePoint::Receiver, "{text}");
    let burst = verdict(&diagnosis, "rx-ring-overrun");
    assert!(burst.finding.contains("384 segments"), "{}", burst.finding);
    assert!(
        burst.finding.contains("bytes 532481 to 2105345"),
        "{}",
        burst.finding
    );
    // Most of the time the sender waits for its timer. That the host also drops the retransmissions
    // is reported with it.
    let primary = diagnosis.primary().map(|first| first.cause.id);
    let is_known = matches!(primary, Some("rx-ring-overrun" | "rto-backoff"));
    assert!(is_known, "{}", diagnosis.limited_by());
    let updates = verdict(&diagnosis, "no-sack");
    assert!(
        updates.finding.contains("not yet allowed"),
        "{}",
        updates.finding
    );
    assert!(
        updates.finding.contains("byte 532481"),
        "{}",
        updates.finding
    );
    verdict(&diagnosis, "reset-on-edge");
}

#[test]
fn the_senders_print_shows_the_ladder_the_local_queue_and_the_reset_on_the_edge() {
    let [text, _] = printed();
    let diagnosis = diagnose(&text);
    assert_eq!(diagnosis.capture_point, CapturePoint::Sender, "{text}");
    let ladder = verdict(&diagnosis, "rto-backoff");
    assert_eq!(ladder.evidence.len(), 13, "{}", ladder.finding);
    for wait in ["2.00 s", "4.00 s", "8.00 s", "16.0 s", "32.0 s", "64.0 s"] {
        let waits = &ladder.evidence[0].text;
        assert!(waits.contains(wait), "{wait}: {waits}");
    }
    assert!(ladder.finding.contains("12 times"), "{}", ladder.finding);
    let reset = verdict(&diagnosis, "reset-on-edge");
    assert!(
        reset.finding.contains("2629633 = 532481 + 2097152"),
        "{}",
        reset.finding
    );
    assert!(reset.finding.contains("RFC 9293"));
    let queue = verdict(&diagnosis, "local-queue");
    assert!(
        queue.finding.contains("waited in the sender's own queue"),
        "{}",
        queue.finding
    );
}
