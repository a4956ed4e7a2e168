//! The path is full: the bottleneck is busy, and its queue is not empty.

use alloc::{format, vec};

use super::text::{counted, speed, time};
use super::{AFTER_LOSS, Cause, Evidence, Explanation};
use crate::account::Attributed;
use crate::features::{ACKS, LOSS, ONE_WAY, PATH, PATTERN, SENDER, TIMES, WINDOW};
use crate::measures::Measures;
use crate::measures::ethernet::Ethernet;
use crate::view::View;

pub(crate) const CAUSE: Cause = Cause {
    id: "path-saturated",
    name: "the path",
    meaning: "The bottleneck is busy all the time: more in flight only makes its queue longer. \
              Nothing is wrong with the hosts, and no larger window or buffer would help.",
    detection: "An RTT above its minimum (a standing queue) while the delivery rate stays at its \
                highest; packets behind the bottleneck that follow each other at its rate; \
                segments at exactly the rate of an Ethernet.",
    confidence: "High with a standing queue. A shaper is a link with a rate, and is \
                 indistinguishable from one.",
    capture_points: "sender, receiver, mid-path",
    fix: "Only a faster bottleneck helps, or less traffic of others on it.",
    references: &[
        "RFC 8337 (model-based metrics)",
        "Cardwell and others, BBR, 2016",
        "IEEE 802.3 (rates; 38 bytes for each frame)",
    ],
    is_fault: false,
    states: AFTER_LOSS,
    is_hidden: false,
    needs: None,
    features: &[PATH, ONE_WAY, SENDER, WINDOW, LOSS, PATTERN, ACKS, TIMES],
    note: None,
    explain,
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let index = attributed.round;
    let carried = speed(attributed.rate());
    let queue = m.queue(index).unwrap_or_default();
    let ethernet = m.ethernet.as_ref().and_then(|one| one.full(index));
    let text = format!(
        "{} delivered, RTT {} above its minimum of {}",
        speed(m.near_rate(index)),
        time(queue),
        time(m.base),
    );
    let mut evidence = vec![Evidence::of_round(m, index, text)];
    if let Some(bits) = ethernet {
        let per = m.mss() + m.headers() + Ethernet::FRAME;
        evidence.insert(
            0,
            Evidence::figure(format!(
                "segments without a pause at {}, which is an Ethernet of {} with {per} bytes a frame",
                speed(m.near_rate(index)),
                speed(bits / 8.0),
            )),
        );
    }
    let marks: u64 = m.rounds.iter().map(|round| round.marks).sum();
    if marks > 0 {
        evidence.push(Evidence::figure(format!(
            "{} of congestion (ECN)",
            counted(marks, "mark")
        )));
    }
    let is_own = ethernet.is_some() && m.view == View::Sender;
    Explanation {
        subject: format!("the path ({carried})"),
        finding: format!(
            "The path was full for {}: {carried} were delivered, and more in flight only made the \
             queue longer, by up to {}.",
            time(attributed.time),
            time(m.queue_max),
        ),
        evidence,
        fix: if is_own {
            "none but a faster interface: the sender's own is the bottleneck".into()
        } else {
            "none at the hosts: a faster bottleneck, or less traffic of others on it".into()
        },
    }
}
