//! Which of our facts is which column of tcptrace.

use gigatcp_flows::{Connection, Direction, Kind, Side};
use gigatcp_units::Duration;

/// One fact of a direction.
pub struct Column {
    /// tcptrace's name for it.
    pub name: &'static str,
    /// What we say; nothing where we do not know.
    pub ours: fn(&Connection, Side) -> Option<f64>,
    /// How far it may be off, being printed with so many digits.
    pub rounding: f64,
}

const fn column(name: &'static str, ours: fn(&Connection, Side) -> Option<f64>) -> Column {
    Column {
        name,
        ours,
        rounding: 0.0,
    }
}

/// Printed in milliseconds with a digit behind the point.
const fn time(name: &'static str, ours: fn(&Connection, Side) -> Option<f64>) -> Column {
    Column {
        name,
        ours,
        rounding: 0.0501,
    }
}

fn count(connection: &Connection, side: Side, kind: Kind) -> Option<f64> {
    Some(connection.direction(side).count_of(kind) as f64)
}

fn of(connection: &Connection, side: Side, fact: fn(&Direction) -> u64) -> Option<f64> {
    Some(fact(connection.direction(side)) as f64)
}

fn millis(duration: Option<Duration>) -> Option<f64> {
    duration.map(|duration| duration.as_nanos() as f64 / 1e6)
}

/// All that both have.
pub const COLUMNS: &[Column] = &[
    column("total_packets", |c, s| of(c, s, Direction::packets)),
    column("resets_sent", |c, s| {
        let kinds = [
            Kind::ResetExact,
            Kind::ResetInWindow,
            Kind::ResetOutOfWindow,
        ];
        kinds.into_iter().map(|kind| count(c, s, kind)).sum()
    }),
    column("dsack_pkts_sent", |c, s| count(c, s, Kind::DuplicateReport)),
    column("unique_bytes_sent", |c, s| {
        of(c, s, Direction::unique_bytes)
    }),
    column("actual_data_pkts", |c, s| of(c, s, Direction::data_packets)),
    column("actual_data_bytes", |c, s| of(c, s, Direction::bytes)),
    column("rexmt_data_pkts", |c, s| {
        of(c, s, Direction::retransmitted_packets)
    }),
    column("rexmt_data_bytes", |c, s| {
        of(c, s, Direction::retransmitted_bytes)
    }),
    column("zwnd_probe_pkts", |c, s| count(c, s, Kind::ZeroWindowProbe)),
    column("outoforder_pkts", |c, s| count(c, s, Kind::OutOfOrder)),
    column("adv_wind_scale", |c, s| {
        let options = c.direction(s).options();
        Some(
            options
                .and_then(|options| options.window_scale)
                .unwrap_or(0)
                .into(),
        )
    }),
    column("mss_requested", |c, s| {
        let options = c.direction(s).options();
        Some(options.and_then(|options| options.mss).unwrap_or(0).into())
    }),
    column("max_segm_size", |c, s| {
        of(c, s, |direction| direction.largest_segment().into())
    }),
    column("max_win_adv", |c, s| {
        c.direction(s).windows().map(|w| w.most as f64)
    }),
    column("min_win_adv", |c, s| {
        c.direction(s).windows().map(|w| w.least as f64)
    }),
    Column {
        name: "avg_win_adv",
        ours: |c, s| c.direction(s).windows().map(|w| w.mean),
        rounding: 1.0,
    },
    column("zero_win_adv", |c, s| count(c, s, Kind::ZeroWindow)),
    column("max_owin", |c, s| Some(c.most_outstanding(s) as f64)),
    column("ttl_stream_length", |c, s| {
        let direction = c.direction(s);
        // Of the sequence space, SYN and FIN take one each.
        let is_whole = direction.has_syn() && direction.has_fin();
        is_whole.then(|| direction.stream_length() as f64 - 2.0)
    }),
    column("missed_data", |c, s| {
        let direction = c.direction(s);
        let is_whole = direction.has_syn() && direction.has_fin();
        let missed = direction.stream_length() as f64 - 2.0 - direction.unique_bytes() as f64;
        is_whole.then_some(missed)
    }),
    time("idletime_max", |c, s| {
        let direction = c.direction(s);
        (direction.packets() > 1).then(|| millis(Some(direction.longest_idle())))?
    }),
    column("hardware_dups", |c, s| count(c, s, Kind::CapturedTwice)),
    column("RTT_samples", |c, s| {
        Some(c.direction(s).round_trips().count() as f64)
    }),
    time("RTT_min", |c, s| millis(c.direction(s).round_trips().min())),
    time("RTT_max", |c, s| millis(c.direction(s).round_trips().max())),
    time("RTT_avg", |c, s| {
        millis(c.direction(s).round_trips().mean())
    }),
    time("RTT_stdev", |c, s| {
        millis(c.direction(s).round_trips().deviation())
    }),
    // tcptrace has it with the data, not with who acknowledges.
    column("duplicate_acks", |c, s| {
        count(c, s.other(), Kind::DuplicateAck)
    }),
];
