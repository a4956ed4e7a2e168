//! Causes on the path: impairments of packets and ACKs.

use super::causes::Site;
use super::draft::{BOTTLENECK, Table, Value};

/// Total segments that the application of a world sends if nothing limits it.
fn segments(site: &Site<'_>) -> f64 {
    site.base.rate * site.base.length / 8.0 / site.base.mss
}

/// Makes the graded flow end after `bytes`.
fn ends_after(flow: &mut Table, bytes: f64) {
    flow.remove(&["duration"]);
    flow.set("bytes", Value::Bytes(bytes as u64));
}

/// Loss probability for windows near `share` of the BDP. The window is sqrt(1.5 / p) segments.
fn probability_for(site: &Site<'_>, share: f64) -> f64 {
    let window = share * site.base.bdp / site.base.mss;
    1.5 / (window * window)
}

/// Adds random losses behind the bottleneck, at least about 20.
pub(crate) fn random_loss(site: &mut Site<'_>) {
    let share = site.draw.between(0.15, 0.5);
    let p = probability_for(site, share).max(20.0 / segments(site));
    let p = Value::Probability(p.clamp(1e-5, 0.02));
    site.draft.forward[2].set("loss", p);
    // Slow start ends by a loss, not by the queue.
    let queue = site.base.queue(site.draw.between(1.0, 3.0));
    site.draft.bottleneck().set("queue", queue);
}

/// Sets a queue of a few percent of the BDP. Reno halves its window, and the link idles.
pub(crate) fn queue_overflow(site: &mut Site<'_>) {
    let queue = site.base.queue(site.draw.between(0.02, 0.1));
    site.draft.bottleneck().set("queue", queue);
    let flow = site.draft.flow();
    flow.set("congestion_control", Value::Word("reno".into()));
}

/// Sets a managed queue whose target or thresholds are a small part of the RTT. It has space for
/// the path; the link idles after each reduction of the window.
pub(crate) fn aqm_drops(site: &mut Site<'_>) {
    let (base, draw) = (site.base, &mut *site.draw);
    let queue = base.queue(draw.between(1.0, 4.0));
    let room = queue.number().unwrap_or_default().max(60.0) as u64;
    let target = (base.rtt * draw.magnitude(0.01, 0.2) * 1e6) as u64;
    let packets = room as f64 * draw.magnitude(0.01, 0.05);
    let discipline = match draw.pick(&["codel", "fq_codel", "pie", "dualpi2", "red"]) {
        "red" => format!(
            "red, min {:.0}, max {:.0}, weight {:.4}, maxp {:.2}",
            packets + 2.0,
            3.0 * packets + 6.0,
            draw.magnitude(0.002, 0.05),
            draw.between(0.02, 0.1)
        ),
        // The default target is 5 % of the interval (RFC 8289 section 4.3).
        name @ ("codel" | "fq_codel") => {
            format!("{name}, target {target} us, interval {} us", 20 * target)
        }
        name => format!("{name}, target {target} us"),
    };
    let queue = Value::Queue(discipline, room);
    site.draft.bottleneck().set("queue", queue);
}

pub(crate) fn policer(site: &mut Site<'_>) {
    let base = site.base;
    let rate = base.rate * site.draw.between(0.2, 0.75);
    let round_trips = site.draw.magnitude(0.1, 1.0);
    let burst = (rate / 8.0 * base.rtt * round_trips).max(5.0 * f64::from(base.mtu));
    site.draft
        .bottleneck()
        .set("policer", Value::bps(rate))
        .set("policer_burst", Value::Bytes(burst as u64));
}

/// Marks packets long before the queue is full. Either an AQM marks with a probability, or a
/// threshold of a few packets does.
pub(crate) fn ecn_marks(site: &mut Site<'_>) {
    let mode = site.draw.pick(&["classic", "classic", "accurate"]);
    site.draft.both("ecn", Value::Word(mode.into()));
    if site.draw.chance(0.6) {
        let share = site.draw.between(0.15, 0.5);
        let p = probability_for(site, share).max(12.0 / segments(site));
        let p = Value::Probability(p.clamp(1e-5, 0.05));
        site.draft.forward[2].set("mark", p);
    } else {
        let above = site.base.queue(site.draw.between(0.01, 0.08));
        site.draft.bottleneck().set("mark_above", above);
        site.draft.sender.flag("abe", false);
        let flow = site.draft.flow();
        flow.set("congestion_control", Value::Word("reno".into()));
    }
}

/// Delays packets; the sender has no mechanism that distinguishes this from loss.
pub(crate) fn reordering(site: &mut Site<'_>) {
    let share = site.draw.between(0.15, 0.5);
    let p = probability_for(site, share).max(12.0 / segments(site));
    let late = site.base.rtt * site.draw.between(0.1, 0.4);
    site.draft.forward[2]
        .set("reorder", Value::Probability(p.clamp(1e-5, 0.02)))
        .set("reorder_delay", Value::seconds(late));
    site.draft
        .sender
        .flag("rack", false)
        .flag("dsack_undo", false)
        .flag("eifel", false)
        .flag("segmentation_offload", false);
}

/// Causes timeouts. Either no data passes for a moment, so that not even duplicate ACKs arrive. Or
/// the last segments of a transfer are lost, so that no ACK reports it.
pub(crate) fn rto_backoff(site: &mut Site<'_>) {
    let mss = site.base.mss;
    let sender = &mut site.draft.sender;
    sender
        .flag("segmentation_offload", false)
        .flag("tlp", site.draw.chance(0.5));
    let first = site.draw.between(30.0, 300.0) as u64;
    let is_tail = site.draw.chance(0.5);
    if is_tail {
        // SYN and ACK, then the segments; the last ones and their first retransmissions are lost.
        let count = site.draw.pick(&[1, 2, 3]);
        ends_after(site.draft.flow(), first as f64 * mss - 100.0);
        let again = site.draw.pick(&[0_u64, 1, 2]);
        let lost = first + 3 - count..first + 4 + again;
        site.draft.forward[0].set("lose_packets", Value::List(lost.collect()));
        site.draft.receiver.set("ack_every", Value::Count(2));
    } else {
        let clean = site.draw.between(0.1, 0.4);
        let share = site.draw.between(0.1, 0.6);
        let bytes = (site.base.rate / 8.0 * clean * share).max(40.0 * mss);
        // Even a transfer without slow start is then in progress.
        let fastest = bytes * 8.0 / site.base.rate;
        let from = fastest * site.draw.between(0.2, 0.8) + site.base.rtt;
        let span = site.base.rtt * 1.2 + site.draw.between(0.02, 0.4);
        ends_after(site.draft.flow(), bytes);
        site.draft
            .bottleneck()
            .set("loss", Value::Probability(1.0))
            .set("loss_from", Value::seconds(from))
            .set("loss_until", Value::seconds(from + span));
    }
}

/// Blocks both directions for some seconds; the path is healthy otherwise.
pub(crate) fn outage(site: &mut Site<'_>) {
    let span = site.draw.between(1.0, 3.0);
    let clean = span * site.draw.between(0.3, 0.8);
    let from = clean * site.draw.between(0.3, 0.8);
    let bytes = site.base.rate / 8.0 * clean;
    ends_after(site.draft.flow(), bytes.max(30.0 * site.base.mss));
    for hop in [&mut site.draft.forward[0], &mut site.draft.reverse[2]] {
        hop.set("loss", Value::Probability(1.0))
            .set("loss_from", Value::seconds(from))
            .set("loss_until", Value::seconds(from + span));
    }
}

/// Overruns the receive ring as in 2001, at any size. The pool does not back the window, and the
/// reader pauses.
pub(crate) fn rx_ring(site: &mut Site<'_>) {
    let (base, draft) = (site.base, &mut *site.draft);
    let ring = site.draw.pick(&[64_u64, 128, 256]);
    let spare = site.draw.between(24.0, 128.0) as u64;
    let window = (ring + spare + spare * 3) as f64 * base.mss;
    for host in [&mut draft.sender, &mut draft.receiver] {
        *host = Table::default();
        host.set("mtu", Value::Count(u64::from(base.mtu)))
            .set("profile", Value::Word("bsd-4.3-reno".into()))
            .set("buffer_limit", Value::Bytes(1 << 30))
            .set("initial_window", Value::Count(10));
    }
    let flow = draft.flow();
    ends_after(flow, window * 2.5);
    flow.set("congestion_control", Value::Word("reno".into()))
        .set("slow_start", Value::Word("standard".into()))
        .set("receive_buffer", Value::Bytes(window as u64))
        .set("send_buffer", Value::Bytes(window as u64));
    draft
        .rings
        .set("descriptors", Value::Count(ring))
        .set("pool", Value::Count(ring + spare))
        .set("small_frames", Value::Count(200))
        .set("small_descriptors", Value::Count(256));
    let pause = base.rtt * site.draw.between(4.0, 6.0) + 0.1;
    let after = window * site.draw.between(0.02, 0.2);
    draft
        .reader
        .set("read_size", Value::Bytes(8192))
        .set("pause_after", Value::Bytes(after as u64))
        .set("pause", Value::seconds(pause));
    // The path drops nothing.
    draft.bottleneck().remove(&["queue"]);
    draft.top.set("duration", Value::Nanos(40_000_000_000));
}

pub(crate) fn pmtu_black_hole(site: &mut Site<'_>) {
    let below = site.draw.pick(&[8_u64, 40, 80, 220]);
    let mtu = u64::from(site.base.mtu) - below;
    site.draft
        .bottleneck()
        .set("mtu", Value::Count(mtu))
        .flag("icmp", false);
    site.draft.sender.flag("plpmtud", false);
    site.draft.top.set("duration", Value::Nanos(30_000_000_000));
}

/// Limits packets per second regardless of size, behind a link with small MTU. Larger packets
/// would carry more.
pub(crate) fn mss_clamped(site: &mut Site<'_>) {
    let mtu = site.draw.pick(&[1492_u64, 1500, 1500, 1006, 576]);
    let rate = site.base.rate * site.draw.between(0.1, 0.45);
    let packets = rate / 8.0 / mtu as f64;
    site.draft
        .bottleneck()
        .set("mtu", Value::Count(mtu))
        .set("packet_rate", Value::PacketRate(packets.max(10.0) as u64));
}

/// Slows the reverse path to a few percent of the required ACKs. The others are lost. The sender
/// counts ACKs, not bytes.
pub(crate) fn ack_path(site: &mut Site<'_>) {
    let base = site.base;
    let needed = base.rate / (2.0 * f64::from(base.mtu)) * 90.0;
    let rate = needed * site.draw.between(0.03, 0.08);
    let queue = site.draw.between(4.0, 16.0) as u64;
    site.draft.reverse[BOTTLENECK]
        .set("rate", Value::bps(rate))
        .set("queue", Value::Packets(queue));
    site.draft
        .sender
        .flag("byte_counting", false)
        .flag("pacing", false);
    let every = site.draw.pick(&[1, 2]);
    site.draft.receiver.set("ack_every", Value::Count(every));
    site.draft.receiver.remove(&["coalesce"]);
    site.patch.merge = None;
}

/// Loses the first answers to the SYN of a short transfer.
pub(crate) fn connection_setup(site: &mut Site<'_>) {
    let count = site.draw.pick(&[1_u64, 1, 2]);
    site.draft.reverse[0].set("lose_packets", Value::List((1..=count).collect()));
    let amount = site.draw.magnitude(10.0, 60.0) * site.base.mss;
    ends_after(site.draft.flow(), amount);
}
