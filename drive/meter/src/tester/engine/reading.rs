//! State of an engine's connection in the terms of `tcp_info`.
//!
//! Values that the engine does not count are `None`.

use gigatcp_live::Measured;
use gigatcp_units::{Bytes, Instant, Rate};
use gigatcp_why::counters::Reading;

use crate::View;

/// Connection in the form of the tester's intervals.
pub(super) fn view(measured: &Measured) -> View {
    View::of_words(&words(measured).collect::<Vec<_>>())
}

/// Every counter of the connection, `at` a time of the caller's clock.
///
/// `max_pacing_rate` is the requested limit.
pub(super) fn of(measured: &Measured, max_pacing_rate: Option<Rate>, at: Instant) -> Reading {
    let (info, counters) = (&measured.info, &measured.counters);
    // A probe that repaired no loss caused no reduction: it does not indicate loss or reordering.
    let recovered = counters.fast_retransmits + counters.timeout_retransmits;
    let probes = counters.retransmitted_segments.saturating_sub(recovered);
    let idle_probes = probes.saturating_sub(counters.tail_probe_repairs);
    Reading {
        total_retrans: Some(counters.retransmitted_segments.saturating_sub(idle_probes)),
        max_pacing_rate: Some(max_pacing_rate.unwrap_or(Rate::MAX)),
        delivery_rate: info.delivery_rate,
        dsack_dups: Some(counters.spurious_retransmits.saturating_sub(idle_probes)),
        // The number of events is not counted.
        reord_seen: (!info.reordering_seen).then_some(0),
        rcvbuf: Some(info.receive_buffer),
        sndbuf: Some(info.send_buffer),
        wmem_queued: Some(Bytes::new(measured.send_queue)),
        unread: Some(Bytes::new(measured.unread)),
        unacknowledged: Some(Bytes::new(measured.send_queue)),
        ..Reading::of_words(at, words(measured))
    }
}

fn words(measured: &Measured) -> impl Iterator<Item = (&'static str, i64)> {
    measured.info.tcp_info(&measured.counters, &measured.limits)
}
