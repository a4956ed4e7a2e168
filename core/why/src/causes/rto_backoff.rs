//! Waiting for the retransmission timer (RFC 6298 section 5).

use super::prelude::*;
use crate::episode::Expiry;

pub(crate) const CAUSE: Cause = Cause {
    id: "rto-backoff",
    name: "retransmission timeouts",
    meaning: "Nothing came back, and the sender waited for its retransmission timer, which doubles \
              each time. Most of the time nothing is in flight that could arrive. The loss of the \
              last segments of a transfer (tail loss) ends so too.",
    confidence: "Very high for the waiting. Why nothing arrives, other causes say.",
    capture_points: "sender; receiver and mid-path where the retransmission passes",
    fix: "Loss recovery without the timer: SACK, RACK and tail loss probes (RFC 8985) at both \
          hosts, a lower minimum RTO. Then look for what drops the retransmissions.",
    references: &[
        "RFC 6298 sections 5.4 to 5.6",
        "RFC 8985",
        "experiment shalunov-stall (E12)",
    ],
    is_loss: true,
    is_pause: true,
    shows_in_few_packets: true,
    states: &[State::Timeout, State::Recovery, State::Full, State::Slack],
    is_hidden: true,
    is_reaction: true,
    requires: &[RETRANSMITTED, TIMEOUT_SEEN, TIMER_NEEDED],
    features: &[LOSS, PATTERN, TIMES, PATH, SENDER],
    note: Some(note),
    ..Cause::explained_by(explain)
};

/// Minimum number of timeouts in a row for the same bytes for a note.
const MIN_REPEATS: usize = 3;

fn note(m: &Measures<'_>) -> Option<f64> {
    (repeated(m) + 1 >= MIN_REPEATS).then_some(0.95)
}

/// Number of timeouts for the same bytes as the previous one.
fn repeated(m: &Measures<'_>) -> usize {
    let expiries = &m.sender_view.episodes.expiries;
    let pairs = expiries.windows(2);
    pairs.filter(|pair| pair[0].start == pair[1].start).count()
}

/// Number of waits in the silence before each expiry. It exceeds one if the sender meanwhile made
/// packets that the capture lacks, as its IPv4 identifications show. A host that has little else to
/// send counts them one by one.
fn waits_before(expiries: &[Expiry]) -> Vec<u16> {
    /// Minimum number of steps of one that identify such a host. They must also be that many times
    /// more than the larger steps.
    const MIN_STEPS: usize = 3;
    /// A larger step is due to other packets.
    const MAX_STEP: u16 = 16;
    let step = |pair: &[Expiry]| {
        let is_next = pair[1].sent == pair[0].sent + 1 && pair[1].ident != 0;
        is_next.then(|| pair[1].ident.wrapping_sub(pair[0].ident))
    };
    let steps: Vec<Option<u16>> = expiries.windows(2).map(step).collect();
    let known = steps.iter().flatten();
    let ones = known.clone().filter(|step| **step == 1).count();
    let others = known.count() - ones;
    let counts = ones >= MIN_STEPS.max(MIN_STEPS * others);
    let waits = steps.into_iter().map(|step| match step {
        Some(step @ 2..=MAX_STEP) if counts => step,
        _ => 1,
    });
    core::iter::once(1)
        .chain(waits)
        .take(expiries.len())
        .collect()
}

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let episodes = &m.sender_view.episodes;
    let expiries = &episodes.expiries;
    let waits: Vec<String> = expiries
        .iter()
        .zip(waits_before(expiries))
        .take(14)
        .map(|(expiry, waits)| {
            let mut text = time(expiry.waited);
            if waits > 1 {
                text += &format!(
                    " ({waits} waits of {}: {} not captured)",
                    time(expiry.waited / u64::from(waits)),
                    counted(u64::from(waits) - 1, "packet"),
                );
            }
            text
        })
        .collect();
    let count = episodes.expiry_count;
    let mut evidence = Evidence::of_timeouts(m, 14);
    if !waits.is_empty() {
        let text = format!("waits of {}", waits.join(", "));
        evidence.insert(0, Evidence::figure(text));
    }
    let same = repeated(m) as u64;
    let again = if same > 0 {
        format!("; {} after one that had not helped", counted(same, "time"))
    } else {
        String::new()
    };
    let finding = if count > 0 {
        format!(
            "The sender waited {} for its retransmission timer, {}{again}.",
            time(attributed.time.max(m.spent(State::Timeout))),
            counted(count, "time"),
        )
    } else {
        format!(
            "For {} nothing passed, as while a retransmission timer runs; no timeout itself shows \
             at this capture point.",
            time(attributed.time),
        )
    };
    if evidence.is_empty() {
        evidence = Losses::of(m, attributed).or_round(m, attributed);
    }
    Explanation {
        subject: subject(CAUSE.name, (count > 0).then(|| format!("{count}"))),
        finding,
        evidence,
        fix: "SACK, RACK and tail loss probes at both hosts, a lower minimum RTO on short paths; \
              Linux: net.ipv4.tcp_sack=1, tcp_recovery=1, tcp_early_retrans=3, ip route change ... \
              rto_min 50ms; FreeBSD: net.inet.tcp.functions_default=rack, net.inet.tcp.rexmit_min; \
              Windows: Set-NetTCPSetting -MinRtoMs"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigatcp_units::{Duration, Instant};

    /// Returns the waits before expiries with these identifications and counts. A count is the
    /// number of packets of the sender seen before.
    fn ladder(idents: &[(u16, u64)]) -> Vec<u16> {
        let expiry = |&(ident, sent): &(u16, u64)| Expiry {
            at: Instant::ZERO,
            packet: sent,
            start: 1,
            waited: Duration::from_secs(1),
            ident,
            sent,
        };
        waits_before(&idents.iter().map(expiry).collect::<Vec<_>>())
    }

    #[test]
    fn packets_that_the_sender_counted_and_the_capture_lacks_were_waited_for_too() {
        let seen = [(9, 20), (10, 21), (11, 22), (12, 23), (17, 24), (18, 25)];
        assert_eq!(ladder(&seen), [1, 1, 1, 1, 5, 1]);
        // Other packets of the host passed here meanwhile.
        let others = [(9, 20), (10, 21), (11, 22), (12, 23), (17, 28), (18, 29)];
        assert_eq!(ladder(&others), [1; 6]);
    }
}
