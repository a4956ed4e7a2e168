//! Limits of hosts and applications, each at a share of the path's rate.
//!
//! One function sets every such limit, so that worlds with two of them can have one below the
//! other.

use super::base::Base;
use super::causes::Site;
use super::draft::{Draft, Value};

/// Causes that [`cap`] can set. A saturated link is excluded: it requires no limit.
pub(crate) const CAPS: [&str; 8] = [
    "local-queue",
    "pacing-limited",
    "receive-window-limited",
    "slow-reader",
    "receiver-cpu-limited",
    "send-buffer-limited",
    "application-limited",
    "sender-cpu-limited",
];

/// Limits the graded flow by `cause` to `level` of the path's rate.
pub(crate) fn cap(site: &mut Site<'_>, cause: &str, level: f64) {
    let base = site.base;
    let rate = base.rate * level;
    let window = base.bdp * level;
    match cause {
        "local-queue" => local_queue(site, rate),
        "pacing-limited" => {
            site.draft
                .sender
                .flag("pacing", true)
                .set("max_pacing_rate", Value::bps(rate));
        }
        "receive-window-limited" => {
            let buffer = window.max(4.0 * base.mss);
            let flow = site.draft.flow();
            flow.set("receive_buffer", Value::Bytes(buffer as u64));
            relax_ack_every(site.draft, base, buffer);
        }
        "send-buffer-limited" => {
            let buffer = window.max(6.0 * base.mss);
            let flow = site.draft.flow();
            flow.set("send_buffer", Value::Bytes(buffer as u64));
            relax_ack_every(site.draft, base, buffer);
        }
        "slow-reader" => slow_reader(site, rate),
        "receiver-cpu-limited" => receiver_cpu(site, rate),
        "sender-cpu-limited" => sender_cpu(site, rate),
        "application-limited" => {
            let every = site.draw.magnitude(0.002, 0.3);
            supply(site, rate, every);
        }
        _ => {}
    }
}

/// Supplies application data at `rate`, one piece each `every` seconds.
pub(crate) fn supply(site: &mut Site<'_>, rate: f64, every: f64) {
    let amount = (rate / 8.0 * every).max(200.0);
    site.draft
        .flow()
        .set("supply", Value::Bytes(amount as u64))
        .set("supply_every", Value::seconds(every));
}

/// Makes the sender's own link slower than the path; its queue blocks the host.
fn local_queue(site: &mut Site<'_>, rate: f64) {
    site.draft
        .sender_link
        .set("name", Value::Word("interface".into()))
        .set("rate", Value::bps(rate));
    // From the amount that TSQ allows up to a full txqueuelen.
    let queue = site.draw.pick(&[2, 4, 10, 50, 200, 1000]);
    site.draft.sender.set("tx_queue", Value::Count(queue));
}

/// Makes the application read evenly at a rate.
fn slow_reader(site: &mut Site<'_>, rate: f64) {
    let buffer = site.base.bdp * site.draw.magnitude(0.7, 3.0) + 32e3;
    let piece = site
        .draw
        .magnitude(1024.0, 65_536.0)
        .min(buffer / 8.0)
        .min(rate / 8.0 * 0.05);
    site.draft
        .reader
        .set("rate", Value::bps(rate))
        .set("read_size", Value::Bytes(piece.max(512.0) as u64));
    let buffer = Value::Bytes(buffer as u64);
    site.draft.flow().set("receive_buffer", buffer);
}

/// Makes protocol work and copying slower than the path's packets.
fn receiver_cpu(site: &mut Site<'_>, rate: f64) {
    let each = f64::from(site.base.mtu) * 8.0 / rate;
    // The rest is for copying.
    let packets = each * site.draw.between(0.3, 0.6);
    let copying = (each - packets) / site.base.mss;
    site.draft
        .receiver_cpu
        .set("per_packet_received", Value::Nanos((packets * 1e9) as u64))
        .set("per_byte_copied", Value::cost(copying));
    let buffer = site.base.bdp * site.draw.between(1.0, 3.0) + 64e3;
    let buffer = Value::Bytes(buffer as u64);
    site.draft.flow().set("receive_buffer", buffer);
}

fn sender_cpu(site: &mut Site<'_>, rate: f64) {
    let each = f64::from(site.base.mtu) * 8.0 / rate;
    let copied = site.draw.chance(0.5);
    let share = if copied {
        site.draw.between(0.3, 0.8)
    } else {
        1.0
    };
    let packets = Value::Nanos((each * share * 1e9) as u64);
    let costs = &mut site.draft.sender_cpu;
    costs.set("per_packet_sent", packets);
    if copied {
        let rest = each * (1.0 - share) / site.base.mss;
        costs.set("per_byte_copied", Value::cost(rest));
    }
}

/// Reduces `ack_every` for small windows: the window must be several times its span.
pub(crate) fn relax_ack_every(draft: &mut Draft, base: &Base, window: f64) {
    let most = (window / base.mss / 4.0).max(1.0);
    let every = draft.receiver.number("ack_every").unwrap_or(2.0);
    let every = Value::Count(every.min(most) as u64);
    draft.receiver.set("ack_every", every);
}
