//! The path is full of the traffic of others.

use alloc::{format, vec};

use super::text::{speed, time};
use super::{AFTER_LOSS, Cause, Evidence, Explanation};
use crate::account::Attributed;
use crate::features::{LOSS, ONE_WAY, PATH, PATTERN, SENDER, TIMES};
use crate::measures::Measures;

pub(crate) const CAUSE: Cause = Cause {
    id: "cross-traffic",
    name: "cross traffic",
    meaning: "The bottleneck is busy and its queue is not empty, but most of what it carries is \
              the traffic of other flows.",
    detection: "A queue in the RTT although this flow delivers clearly less than the bottleneck \
                rate; losses with such a queue before them although the flight alone would not \
                have filled it.",
    confidence: "Medium. A rate that falls on the bottleneck itself (radio) is indistinguishable.",
    capture_points: "sender; receiver and mid-path where timestamps show the queue",
    fix: "More rate at the bottleneck, fewer or shaped competing flows; per-flow queueing (fq_codel, \
          cake) gives each flow its share.",
    references: &["RFC 8290", "RFC 7567", "RFC 5166 section 2.3"],
    is_fault: false,
    states: AFTER_LOSS,
    is_hidden: false,
    needs: None,
    features: &[PATH, ONE_WAY, SENDER, LOSS, PATTERN, TIMES],
    note: None,
    explain,
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let index = attributed.round;
    let queue = m.queue(index).unwrap_or_default();
    let own = speed(attributed.rate());
    let text = format!(
        "RTT {} above its minimum while {own} were delivered",
        time(queue)
    );
    let mut evidence = vec![Evidence::of_round(m, index, text)];
    if let Some(line) = m.line {
        let text = format!(
            "packets behind the bottleneck follow each other at {}",
            speed(line)
        );
        evidence.push(Evidence::figure(text));
    }
    Explanation {
        subject: format!("cross traffic (share of this flow {own})"),
        finding: format!(
            "Other flows filled the bottleneck's queue for {}; this one was left {own}.",
            time(attributed.time),
        ),
        evidence,
        fix: "more rate at the bottleneck, or per-flow queueing there (fq_codel, cake)".into(),
    }
}
