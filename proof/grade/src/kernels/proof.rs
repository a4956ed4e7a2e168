//! Conditions on counters under which the label of a case counts.

use super::facts::{Facts, Span};
use super::forward::counters::PathCounters;

/// Utilization above which a link is saturated.
const FULL: f64 = 0.9;

/// Utilization below which a link is not the limit.
const SPARE: f64 = 0.87;

/// Condition on counters that proves a cause.
#[derive(Clone, Debug, PartialEq)]
pub enum Proof {
    /// The link is saturated, by this connection.
    Full,
    /// A shaper sends at its rate (bits per second) and has a backlog.
    Shaped(f64),
    /// A `tcp_info` counter covers at least this share of the time.
    Word(&'static str, f64),
    /// The receive window is full in this share of samples, with any pacing within it.
    WindowFull(f64),
    /// The writer is blocked, and neither cwnd nor the receive window is full.
    Blocked,
    /// A policer drops, and goodput is near its rate (bits per second).
    Policed(f64),
    /// Packets are lost for one of these reasons, and the link has spare capacity.
    Lost(&'static [&'static str]),
    /// The sending rate is near this one (payload bits per second).
    Paced(f64),
    /// The application offers this rate (payload bits per second), and all of it is carried.
    Offered(f64),
    /// A process exhausts its allowed CPU time.
    Busy(&'static str),
    /// The receiver's packet processing exhausts its quota; the flag requires ring drops.
    Softirq(bool),
    /// Unread data waits at the receiver and the window is the limit.
    Unread,
    /// Only cwnd limits, and nothing is lost.
    Growing,
    /// Packets are marked and none dropped.
    Marked,
    /// Packets are reordered and none dropped.
    Reordered,
    /// Nothing is delivered for this share of the time.
    Stopped(f64),
    /// Retransmission timeouts cover most of the time.
    Timers,
    /// ACKs are lost and data is not.
    AcksLost,
    /// ACKs wait longer than the path's delay.
    AcksWait(f64),
    /// The application pauses deliberately most of the time.
    Waits(&'static str),
    /// Round trips (seconds) cover most of the time.
    RoundTrips(f64),
    /// Each exchange lasts a delayed ACK longer than its round trip (seconds).
    Stalls(f64),
    /// Full-sized packets are silently dropped and nothing else is.
    Hole,
    /// Segments stay below this size, and the link or the packet rate is saturated.
    Small(f64),
    /// Cross traffic has most of a saturated link.
    Crossed,
    /// Both conditions.
    Both(Box<Proof>, Box<Proof>),
    /// One condition until this second, another one afterward.
    Split(f64, Box<Proof>, Box<Proof>),
}

/// A condition, and its evidence.
type Check = (bool, String);

/// Evidence of all conditions. If one does not hold, the evidence up to it is the error.
fn all(checks: impl IntoIterator<Item = Check>) -> Result<String, String> {
    let mut evidence = Vec::new();
    for (holds, what) in checks {
        evidence.push(what);
        if !holds {
            return Err(evidence.join(", but "));
        }
    }
    Ok(evidence.join(", "))
}

fn both(
    first: Result<String, String>,
    second: impl FnOnce() -> Result<String, String>,
) -> Result<String, String> {
    let first = first?;
    let second = second().map_err(|why| format!("{first}, but {why}"))?;
    Ok(format!("{first}, {second}"))
}

fn spare(facts: &Facts, span: Span) -> Check {
    let used = facts.utilization(span).unwrap_or(0.0);
    (used < SPARE, format!("link used {:.0} %", used * 100.0))
}

fn saturated(facts: &Facts, span: Span) -> Check {
    let used = facts.utilization(span).unwrap_or(0.0);
    (used >= FULL, format!("link used {:.0} %", used * 100.0))
}

/// `dropped`, or without the overflow that ends slow start if only a queue dropped.
fn dropped_after_slow_start(facts: &Facts, span: Span, dropped: u64) -> u64 {
    if facts.drops("queue") != dropped {
        return dropped;
    }
    let from = span.from + (span.to - span.from) / 4;
    facts.overflows_in(Span { from, ..span })
}

fn full(facts: &Facts, span: Span) -> Result<String, String> {
    let own = facts.own_share();
    let by_own = format!("{:.0} % of it by this connection", own * 100.0);
    all([saturated(facts, span), (own > 0.8, by_own)])
}

fn crossed(facts: &Facts, span: Span) -> Result<String, String> {
    let own = facts.own_share();
    let by_own = format!("{:.0} % of it by this connection", own * 100.0);
    all([saturated(facts, span), (own < 0.5, by_own)])
}

fn shaped(facts: &Facts, span: Span, rate: f64) -> Result<String, String> {
    let Some(tc) = &facts.tc else {
        return Err("no shaper".into());
    };
    let inside: Vec<_> = tc
        .samples
        .iter()
        .filter(|sample| sample[0] >= span.from && sample[0] <= span.to)
        .collect();
    let (Some(first), Some(last)) = (inside.first(), inside.last()) else {
        return Err("no samples of the shaper".into());
    };
    let sent = (last[2] - first[2]) as f64 * 8e6 / (last[0] - first[0]).max(1) as f64;
    let waiting = inside.iter().filter(|sample| sample[1] > 0).count();
    let waiting = waiting as f64 / inside.len() as f64;
    let of_rate = format!("shaper sent {:.1} Mbit/s of {:.1}", sent / 1e6, rate / 1e6);
    let backlog = format!("backlog in {:.0} % of samples", waiting * 100.0);
    all([(sent >= 0.9 * rate, of_rate), (waiting >= 0.7, backlog)])
}

fn policed(facts: &Facts, span: Span, rate: f64) -> Result<String, String> {
    let goodput = facts.goodput_bps(span);
    let dropped = facts.drops("policer");
    let of_rate = format!("{:.1} Mbit/s of {:.1} policed", goodput / 1e6, rate / 1e6);
    all([
        (dropped >= 3, format!("{dropped} policed")),
        spare(facts, span),
        (goodput >= 0.5 * rate, of_rate),
    ])
}

fn lost(facts: &Facts, span: Span, reasons: &[&str]) -> Result<String, String> {
    let wanted: u64 = reasons.iter().map(|reason| facts.drops(reason)).sum();
    let all_drops: u64 = facts
        .path
        .as_ref()
        .map_or(0, |path| path.forward.dropped.values().sum());
    let mut others = all_drops - wanted;
    if !reasons.contains(&"queue") {
        others = dropped_after_slow_start(facts, span, others);
    }
    let few = format!("{others} of {all_drops} dropped for other reasons");
    all([
        (wanted > 0, format!("{wanted} lost")),
        (others * 10 <= wanted, few),
        spare(facts, span),
        windows_and_buffers(facts, span),
    ])
}

fn windows_and_buffers(facts: &Facts, span: Span) -> Check {
    let limited = facts.share("tcpi_rwnd_limited", span) + facts.share("tcpi_sndbuf_limited", span);
    let share = format!("windows and buffers {:.0} %", limited * 100.0);
    (limited < 0.25, share)
}

fn blocked(facts: &Facts, span: Span) -> Result<String, String> {
    let done = facts.done.get("sender").cloned().unwrap_or_default();
    let waits = done.blocked_s / span.seconds();
    let window = facts.share("tcpi_rwnd_limited", span);
    let full = facts.full_cwnd(span);
    let not_full = format!(
        "cwnd full in {:.0} % of samples, receive window {:.0} %",
        full * 100.0,
        window * 100.0
    );
    all([
        spare(facts, span),
        (
            waits >= 0.7,
            format!("writer blocked {:.0} %", waits * 100.0),
        ),
        (full < 0.3 && window < 0.2, not_full),
    ])
}

fn unread(facts: &Facts, span: Span) -> Result<String, String> {
    let unread = facts.samples(false, "unread", span, |bytes| bytes > 3000);
    let window = facts.share("tcpi_rwnd_limited", span);
    let waiting = format!("unread data in {:.0} % of samples", unread * 100.0);
    all([
        spare(facts, span),
        (unread >= 0.6, waiting),
        (
            window >= 0.4,
            format!("receive window {:.0} %", window * 100.0),
        ),
    ])
}

fn offered(facts: &Facts, span: Span, rate: f64) -> Result<String, String> {
    let goodput = facts.goodput_bps(span);
    let empty = facts.samples(true, "tcpi_notsent_bytes", span, |bytes| bytes < 3000);
    let of_rate = format!("{:.2} of {:.2} Mbit/s offered", goodput / 1e6, rate / 1e6);
    let sent = format!("nothing unsent in {:.0} % of samples", empty * 100.0);
    all([
        spare(facts, span),
        (goodput >= 0.85 * rate, of_rate),
        (empty >= 0.6, sent),
    ])
}

fn paced(facts: &Facts, span: Span, rate: f64) -> Result<String, String> {
    let goodput = facts.goodput_bps(span);
    let limited = facts.share("tcpi_rwnd_limited", span);
    let of_rate = format!("{:.1} Mbit/s, paced {:.1}", goodput / 1e6, rate / 1e6);
    let window = format!("receive window {:.0} %", limited * 100.0);
    all([
        spare(facts, span),
        ((goodput / rate - 0.95).abs() < 0.12, of_rate),
        (limited < 0.2, window),
    ])
}

fn busy(facts: &Facts, span: Span, name: &str) -> Result<String, String> {
    let process = facts.process(name);
    let used = process.cpu_s / process.elapsed_s.max(1e-3) / process.allowed.max(1e-3);
    let time = format!(
        "{name} used {:.0} % of its CPU time, throttled in {:.0} % of periods",
        used * 100.0,
        process.throttled * 100.0
    );
    all([
        spare(facts, span),
        (used >= 0.75 || process.throttled >= 0.6, time),
    ])
}

fn softirq(facts: &Facts, span: Span, wants_drops: bool) -> Result<String, String> {
    let throttled = facts.process("receiver napi").throttled;
    let drops = facts.ring_drops;
    let periods = format!("throttled in {:.0} % of periods", throttled * 100.0);
    let by_ring = format!("{drops} dropped by the ring");
    all([
        spare(facts, span),
        (throttled >= 0.4, periods),
        ((drops > 0) == wants_drops, by_ring),
    ])
}

fn growing(facts: &Facts, span: Span) -> Result<String, String> {
    let retransmitted = facts.grown("tcpi_total_retrans", span);
    let busy = facts.share("tcpi_busy_time", span);
    let (is_free, limited) = windows_and_buffers(facts, span);
    let cwnd = format!("busy {:.0} %, {limited}", busy * 100.0);
    all([
        spare(facts, span),
        (
            retransmitted < 1.0,
            format!("{retransmitted} retransmissions"),
        ),
        (busy >= 0.7 && is_free, cwnd),
    ])
}

fn timers(facts: &Facts, span: Span) -> Result<String, String> {
    let timeouts = facts.grown("tcpi_total_rto", span);
    let share = facts.still(span, 150_000);
    let stalls = format!("{timeouts} timeouts, stalls {:.0} %", share * 100.0);
    all([
        spare(facts, span),
        (share >= 0.45 && timeouts >= 2.0, stalls),
    ])
}

/// Counters of the path, and the number of data packets that it dropped.
fn path(facts: &Facts) -> Result<(&PathCounters, u64), String> {
    let path = facts.path.as_ref().ok_or("no counters of the path")?;
    Ok((path, path.forward.dropped.values().sum()))
}

fn acks_lost(facts: &Facts, span: Span) -> Result<String, String> {
    let (path, data) = path(facts)?;
    let share = path.reverse.acks_lost as f64 / path.reverse.acks.max(1) as f64;
    let lost = format!("{:.0} % of ACKs lost, {data} data packets", share * 100.0);
    all([(share >= 0.3 && data == 0, lost), spare(facts, span)])
}

fn acks_wait(facts: &Facts, span: Span, rtt: f64) -> Result<String, String> {
    let (path, data) = path(facts)?;
    let wait = path.reverse.ack_wait_mean_us / 1e6;
    let waited = format!(
        "ACKs waited {:.1} ms, RTT {:.1} ms, {data} data packets lost, data waited {:.1} ms",
        wait * 1e3,
        rtt * 1e3,
        path.forward.max_wait_us / 1e3
    );
    all([(wait >= 0.5 * rtt && data == 0, waited), spare(facts, span)])
}

fn marked(facts: &Facts, span: Span) -> Result<String, String> {
    let (path, dropped) = path(facts)?;
    let marks = path.forward.marked;
    let counts = format!("{marks} marked, {dropped} dropped");
    all([(marks > 0 && dropped == 0, counts), spare(facts, span)])
}

fn reordered(facts: &Facts, span: Span) -> Result<String, String> {
    let (path, all_drops) = path(facts)?;
    let dropped = dropped_after_slow_start(facts, span, all_drops);
    let late = path.forward.reordered;
    let retransmitted = facts.grown("tcpi_total_retrans", span);
    let counts = format!("{late} reordered, {dropped} dropped, {retransmitted} retransmissions");
    all([
        (late > 0 && dropped == 0 && retransmitted >= 1.0, counts),
        spare(facts, span),
    ])
}

fn exchanges(facts: &Facts, least: f64, what: &str) -> Result<String, String> {
    let done = facts.done.get("receiver").cloned().unwrap_or_default();
    let share = done.exchanges as f64 * least / done.elapsed_s.max(1e-3);
    all([
        (done.exchanges >= 3, format!("{} exchanges", done.exchanges)),
        (share >= 0.65, format!("{what} {:.0} %", share * 100.0)),
    ])
}

fn stopped(facts: &Facts, span: Span, share: f64) -> Result<String, String> {
    let dropped = facts.drops("outage");
    let still = facts.still(span, 150_000);
    let silent = format!(
        "nothing acknowledged for {:.0} %, {dropped} dropped",
        still * 100.0
    );
    all([(still >= share && dropped > 0, silent)])
}

fn hole(facts: &Facts) -> Result<String, String> {
    let vanished = facts.drops("mtu");
    let backed_off = facts.sender.last("tcpi_backoff");
    let counts = format!("{vanished} dropped by size, backoff {backed_off}");
    all([(vanished > 0 && backed_off > 0, counts)])
}

fn small(facts: &Facts, span: Span, most: f64) -> Result<String, String> {
    let mss = facts.sender.last("tcpi_snd_mss") as f64;
    let used = facts.utilization(span).unwrap_or(0.0);
    all([
        (mss > 0.0 && mss <= most, format!("MSS {mss}")),
        (used >= 0.8, format!("link used {:.0} %", used * 100.0)),
    ])
}

impl Proof {
    /// Lateness of path deliveries that the label tolerates.
    ///
    /// A saturated link, a paced application or a slow host are unaffected by lateness. If round
    /// trips or windows decide, lateness is part of the RTT.
    pub fn tolerates_us(&self, rtt_s: f64) -> f64 {
        match self {
            Self::Full
            | Self::Shaped(_)
            | Self::Crossed
            | Self::Offered(_)
            | Self::Waits(_)
            | Self::Unread
            | Self::Busy(_)
            | Self::Softirq(_)
            | Self::Hole
            | Self::Timers
            | Self::Stopped(_) => 15_000.0,
            Self::Both(first, second) | Self::Split(_, first, second) => {
                first.tolerates_us(rtt_s).min(second.tolerates_us(rtt_s))
            }
            _ => (rtt_s * 1e6 * 0.15).max(3000.0),
        }
    }

    /// Reason the label counts, or why it does not.
    ///
    /// # Errors
    /// The reason it does not count.
    pub fn check(&self, facts: &Facts, span: Span) -> Result<String, String> {
        match self {
            Self::Full => full(facts, span),
            Self::Shaped(rate) => shaped(facts, span, *rate),
            Self::Word(name, least) => {
                let share = facts.share(name, span);
                let counted = format!("{name} {:.0} %", share * 100.0);
                all([spare(facts, span), (share >= *least, counted)])
            }
            Self::WindowFull(least) => {
                let share = facts.full_window(span);
                let window = format!("window full in {:.0} % of samples", share * 100.0);
                all([spare(facts, span), (share >= *least, window)])
            }
            Self::Blocked => blocked(facts, span),
            Self::Policed(rate) => policed(facts, span, *rate),
            Self::Lost(reasons) => lost(facts, span, reasons),
            Self::Paced(rate) => paced(facts, span, *rate),
            Self::Offered(rate) => offered(facts, span, *rate),
            Self::Busy(name) => busy(facts, span, name),
            Self::Softirq(wants_drops) => softirq(facts, span, *wants_drops),
            Self::Unread => unread(facts, span),
            Self::Growing => growing(facts, span),
            Self::Marked => marked(facts, span),
            Self::Reordered => reordered(facts, span),
            Self::Stopped(share) => stopped(facts, span, *share),
            Self::Timers => timers(facts, span),
            Self::AcksLost => acks_lost(facts, span),
            Self::AcksWait(rtt) => acks_wait(facts, span, *rtt),
            Self::Waits(name) => {
                let done = facts.done.get(*name).cloned().unwrap_or_default();
                let share = done.waited_s / done.elapsed_s.max(1e-3);
                all([(
                    share >= 0.55,
                    format!("{name} waits {:.0} %", share * 100.0),
                )])
            }
            Self::RoundTrips(rtt) => both(all([spare(facts, span)]), || {
                exchanges(facts, *rtt, "round trips take")
            }),
            Self::Stalls(rtt) => exchanges(facts, rtt + 0.038, "delayed ACKs and round trips take"),
            Self::Hole => hole(facts),
            Self::Small(most) => small(facts, span, *most),
            Self::Crossed => crossed(facts, span),
            Self::Both(first, second) => {
                both(first.check(facts, span), || second.check(facts, span))
            }
            Self::Split(at, first, second) => {
                let at = ((at * 1e6) as i64).min(span.to);
                let early = Span { to: at, ..span };
                let late = Span { from: at, ..span };
                both(first.check(facts, early), || second.check(facts, late))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::forward::counters::{FlowCounters, Slot};
    use super::super::sample::{COLUMNS, Series};
    use super::*;

    /// A transfer of 1 s over a link, busy for `busy` per slot.
    fn facts(busy: f64, rwnd_limited_us: i64) -> Facts {
        let mut columns = vec!["us".to_owned()];
        columns.extend(COLUMNS.iter().map(|name| (*name).to_owned()));
        let rows = (0..=10)
            .map(|step: i64| {
                let mut row = vec![0; columns.len()];
                row[0] = step * 100_000;
                for (name, value) in [
                    ("tcpi_bytes_acked", step * 100_000),
                    ("tcpi_rwnd_limited", step * rwnd_limited_us / 10),
                ] {
                    let at = columns.iter().position(|column| column == name);
                    row[at.unwrap()] = value;
                }
                row
            })
            .collect();
        let mut path = PathCounters::default();
        let slot = Slot {
            busy_us: (busy * 1e5) as u64,
            ..Slot::default()
        };
        path.forward.timeline = vec![slot; 10];
        path.forward.busy_us = busy * 1e6;
        path.forward.flows = vec![FlowCounters {
            ports: [5, 6],
            delivered_bytes: 1_000_000,
            ..FlowCounters::default()
        }];
        Facts {
            path: Some(path),
            sender: Series {
                ports: [5, 6],
                columns,
                rows,
            },
            ..Facts::default()
        }
    }

    fn binds(proof: &Proof, facts: &Facts) -> bool {
        proof.check(facts, facts.whole()).is_ok()
    }

    #[test]
    fn a_full_link_is_proven_by_its_use_and_no_window_counts_beside_it() {
        let window = Proof::Word("tcpi_rwnd_limited", 0.6);
        assert!(binds(&Proof::Full, &facts(0.97, 900_000)));
        assert!(!binds(&window, &facts(0.97, 900_000)));
        assert!(!binds(&Proof::Full, &facts(0.5, 900_000)));
        assert!(binds(&window, &facts(0.5, 900_000)));
        assert!(!binds(&window, &facts(0.5, 300_000)));
    }

    #[test]
    fn a_link_full_of_others_is_not_this_connections() {
        let mut facts = facts(0.97, 0);
        let others = FlowCounters {
            delivered_bytes: 3_000_000,
            ..FlowCounters::default()
        };
        facts.path.as_mut().unwrap().forward.flows.push(others);
        assert!(!binds(&Proof::Full, &facts));
        assert!(binds(&Proof::Crossed, &facts));
    }

    #[test]
    fn two_causes_are_each_proven_in_their_own_time() {
        let mut facts = facts(0.3, 0);
        let slots = &mut facts.path.as_mut().unwrap().forward.timeline;
        slots[5..].iter_mut().for_each(|slot| slot.busy_us = 98_000);
        let paced = Proof::Paced(8e6);
        let split = |at| Proof::Split(at, Box::new(paced.clone()), Box::new(Proof::Full));
        assert!(binds(&split(0.5), &facts));
        assert!(!binds(&split(0.2), &facts));
    }

    #[test]
    fn losses_for_another_reason_void_the_label() {
        let mut facts = facts(0.3, 0);
        let dropped = &mut facts.path.as_mut().unwrap().forward.dropped;
        dropped.insert("random".into(), 20);
        assert!(binds(&Proof::Lost(&["random"]), &facts));
        let dropped = &mut facts.path.as_mut().unwrap().forward.dropped;
        dropped.insert("policer".into(), 20);
        assert!(!binds(&Proof::Lost(&["random"]), &facts));
    }
}
