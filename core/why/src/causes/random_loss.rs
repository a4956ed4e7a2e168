//! Segments lost on the path independently of the amount in flight.

use super::prelude::*;
use crate::measures::losses::were_dropped_by_receiver;

pub(crate) const CAUSE: Cause = Cause {
    id: "random-loss",
    name: "random loss",
    meaning: "Single segments are lost although no queue is full: dirty fiber, a failing optic, \
              radio, a faulty card, a duplex mismatch, or a receiving host that drops them. The sender takes each loss for congestion \
              and reduces its rate.",
    confidence: "High with several losses at the sender; medium behind the bottleneck, where cross \
                 traffic fills the gaps. Indistinguishable from a queue of a few packets, except \
                 that such a queue overflows at the same amount in flight each time.",
    capture_points: "sender, receiver, mid-path",
    fix: "Check interface error counters, optics, cables and duplex settings. A congestion control \
          that does not react to each loss (BBR) hides the problem.",
    references: &[
        "Mathis, Semke, Mahdavi, Ott 1997",
        "RFC 5681 section 3.1",
        "Shalunov 2002 (E30)",
    ],
    is_loss: true,
    states: AFTER_LOSS,
    requires: &[ENOUGH_DATA, LOSS_BEFORE, RETRANSMITTED],
    refuted_by: &[
        MOSTLY_SPURIOUS,
        LINK_FULL,
        BOTTLENECK_BUSY,
        DROPS_AT_ONE_FLIGHT,
    ],
    features: &[PATH, LOSS, PATTERN, SENDER, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let losses = Losses::without_queue(m, attributed);
    let one_in = losses.one_in.map(|segments| format!("1 in {segments}"));
    let lost = losses
        .summary("lost")
        .map(|lost| subject(&lost, one_in.clone()) + ", not preceded by queue growth");
    let took = time(attributed.time);
    let finding = losses.sentence("lost").map_or_else(
        || format!("Recovery from losses without a queue, and the smaller window after it, took {took}."),
        |lost| {
            format!(
                "{lost} without a queue before {}; recovery and the smaller window after it took \
                 {took}.",
                verb(losses.segments, "it", "them"),
            )
        },
    );
    if were_dropped_by_receiver(m) {
        let subject = subject("drops inside the receiving host", one_in);
        return Explanation {
            finding: format!(
                "{} What was lost had passed this capture: the receiving host dropped it.",
                finding
            ),
            evidence: losses.after(format!("{subject}, behind this capture"), m, attributed),
            subject,
            fix:
                "find what drops them there: bad checksums, a firewall, full socket memory (Linux: \
                  nstat -az | grep -E 'InCsumErrors|TCPRcvQDrop|PruneCalled|Backlog', rules of nft \
                  and iptables with counters)"
                    .into(),
        };
    }
    Explanation {
        subject: subject("random loss", one_in),
        finding,
        evidence: losses.after(lost.unwrap_or_default(), m, attributed),
        fix:
            "check interface error counters, optics and cables along the path (Linux: ip -s link, \
              ethtool -S; FreeBSD and macOS: netstat -i; Windows: Get-NetAdapterStatistics); BBR \
              tolerates the loss but does not remove it"
                .into(),
    }
}
