//! An outage: for some time nothing passed, and then everything did again.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "outage",
    name: "an outage",
    meaning: "For some time the path delivered nothing: a route that changed, a link that failed, \
              a radio out of range. All that was in flight was lost, and the sender waited for its \
              retransmission timer until the path was back; or the path held it and delivered it \
              later.",
    confidence: "High with the rate of before and after in the capture.",
    capture_points: "sender; receiver and mid-path by the silence and what is retransmitted",
    fix: "Find what failed at that time (interface and routing logs). A lower maximum RTO shortens \
          the wait after it.",
    references: &["RFC 6298 section 5", "RFC 6069"],
    leads_from: Some(0.2),
    is_loss: true,
    is_pause: true,
    shows_in_few_packets: true,
    states: &[State::Timeout, State::Recovery, State::Full, State::Slack],
    is_hidden: true,
    requires: &[SILENCE, OUTAGE_BEFORE, NOTHING_PASSED],
    features: &[LOSS, PATTERN, TIMES, PATH, SENDER],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let mut evidence = Evidence::of_timeouts(m, 4);
    if evidence.is_empty() {
        evidence = Losses::of(m, attributed).or_round(m, attributed);
    }
    let waited = attributed.time;
    if is_held(m, attributed) {
        return Explanation {
            subject: format!("a path that held all packets ({})", time(waited)),
            finding: format!(
                "The path delivered nothing for a while, and then what it had held, or the ACKs of \
                 it; that took {}.",
                time(waited),
            ),
            evidence,
            fix:
                "look at the link of that time (radio, handover, a device that was busy): its logs \
                  and counters"
                    .into(),
        };
    }
    let last = m.sender_view.episodes.list.last();
    if last.is_some_and(|last| last.timeouts > 0 && last.until >= m.sender_view.last) {
        return Explanation {
            subject: format!("a path that stays silent ({})", time(waited)),
            finding: format!(
                "Nothing came back for {}, to the end of the capture, although the sender retransmitted.",
                time(waited),
            ),
            evidence,
            fix:
                "look for what forgot the connection or went away: a firewall or NAT with a short \
                  timeout (keepalives prevent that), a route, the peer itself"
                    .into(),
        };
    }
    let timeouts = match m.sender_view.episodes.expiry_count {
        0 => String::new(),
        count => format!(" with {}", counted(count, "timeout")),
    };
    let (long, silent) = match lasted(m) {
        Some([min, max]) => (
            format!("{} to {} long", time(min), time(max)),
            format!("{} to {}", time(min), time(max)),
        ),
        None => (time(waited), String::from("a while")),
    };
    Explanation {
        subject: format!("an outage of the path ({long})"),
        finding: format!(
            "The path delivered nothing for {silent};{timeouts} that and the growth after it took {}.",
            time(waited),
        ),
        evidence,
        fix: "look at interface and routing logs of that time; Linux 6.15 and later: \
              net.ipv4.tcp_rto_max_ms shortens the wait after it"
            .into(),
    }
}

/// Bounds of the one outage that the timer shows: the last retransmission without an answer, and the one
/// that was answered, from the last packet before its first wait. `None` for several outages, and without
/// two waits for the same byte.
fn lasted(m: &Measures<'_>) -> Option<[Duration; 2]> {
    let expiries = &m.sender_view.episodes.expiries;
    let mut runs = expiries.chunk_by(|one, next| one.start == next.start);
    let run = runs
        .next()
        .filter(|run| run.len() >= 2 && runs.next().is_none())?;
    let (first, last) = (run.first()?, run.last()?);
    let max = last.at.saturating_since(first.at) + first.waited;
    Some([max.saturating_sub(last.waited), max])
}

/// Whether most of what was retransmitted had arrived, its ACKs came after all, or the data after the
/// silence had been sent in it.
fn is_held(m: &Measures<'_>, attributed: &Attributed) -> bool {
    let list = &m.sender_view.episodes.list;
    let episodes = attributed
        .episodes
        .iter()
        .filter_map(|index| list.get(*index));
    let [again, spurious] = episodes.fold([0, 0], |[again, spurious], episode| {
        [again + episode.again, spurious + episode.spurious]
    });
    let round = m.rounds.get(attributed.round);
    let silence = round.map_or(Duration::ZERO, |round| round.spent_in(State::Idle));
    let is_long = silence >= Duration::from_millis(200);
    let is_late = round.is_some_and(|round| !round.held.is_zero());
    spurious * 2 > again || is_late || is_long && m.has_held_data(attributed.round, silence)
}
