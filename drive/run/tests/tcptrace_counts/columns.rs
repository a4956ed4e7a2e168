//! Our value for each column of tcptrace.

use gigatcp_flows::{Connection, Detail, Direction, Kind, Options, Side, Spread};
use gigatcp_units::{Duration, Instant};

/// Function for our value; `None` if unknown.
pub type Ours = fn(&Connection, Side, &Detail) -> Option<f64>;

/// A column of one direction.
pub struct Column {
    /// tcptrace's name of it.
    pub name: &'static str,
    /// Our value.
    pub ours: Ours,
    /// Tolerance, from the number of printed digits.
    pub rounding: f64,
}

const fn column(name: &'static str, ours: Ours) -> Column {
    Column {
        name,
        ours,
        rounding: 0.0,
    }
}

/// A column in milliseconds with one decimal.
const fn time(name: &'static str, ours: Ours) -> Column {
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

/// A column in seconds with six decimals.
const fn moment(name: &'static str, ours: Ours) -> Column {
    Column {
        name,
        ours,
        rounding: 1.5e-6,
    }
}

fn seconds(at: Instant) -> Option<f64> {
    Some(at.as_nanos() as f64 / 1e9)
}

/// Whether the SYN of a side had an option.
fn offered(connection: &Connection, side: Side, what: fn(&Options) -> bool) -> Option<f64> {
    let options = connection.direction(side).options();
    Some(f64::from(options.is_some_and(|options| what(&options))))
}

fn detailed(detail: &Detail, fact: fn(&Detail) -> u64) -> Option<f64> {
    Some(fact(detail) as f64)
}

fn intervals(detail: &Detail, fact: fn(&Spread) -> Option<Duration>) -> Option<f64> {
    millis(fact(&detail.repeat_intervals()))
}

fn last(detail: &Detail, fact: fn(&Spread) -> Option<Duration>) -> Option<f64> {
    millis(fact(&detail.last_round_trips()))
}

/// All columns that both have.
pub const COLUMNS: &[Column] = &[
    column("total_packets", |c, s, _| of(c, s, Direction::packets)),
    column("resets_sent", |c, s, _| {
        let kinds = [
            Kind::ResetExact,
            Kind::ResetInWindow,
            Kind::ResetOutOfWindow,
        ];
        kinds.into_iter().map(|kind| count(c, s, kind)).sum()
    }),
    column("dsack_pkts_sent", |c, s, _| {
        count(c, s, Kind::DuplicateReport)
    }),
    column("unique_bytes_sent", |c, s, _| {
        of(c, s, Direction::unique_bytes)
    }),
    column("actual_data_pkts", |c, s, _| {
        of(c, s, Direction::data_packets)
    }),
    column("actual_data_bytes", |c, s, _| of(c, s, Direction::bytes)),
    column("rexmt_data_pkts", |c, s, _| {
        of(c, s, Direction::retransmitted_packets)
    }),
    column("rexmt_data_bytes", |c, s, _| {
        of(c, s, Direction::retransmitted_bytes)
    }),
    column("zwnd_probe_pkts", |c, s, _| {
        count(c, s, Kind::ZeroWindowProbe)
    }),
    column("outoforder_pkts", |c, s, _| count(c, s, Kind::OutOfOrder)),
    column("adv_wind_scale", |c, s, _| {
        let options = c.direction(s).options();
        Some(
            options
                .and_then(|options| options.window_scale)
                .unwrap_or(0)
                .into(),
        )
    }),
    column("mss_requested", |c, s, _| {
        let options = c.direction(s).options();
        Some(options.and_then(|options| options.mss).unwrap_or(0).into())
    }),
    column("max_segm_size", |c, s, _| {
        of(c, s, |direction| direction.largest_segment().into())
    }),
    column("max_win_adv", |c, s, _| {
        c.direction(s).windows().map(|w| w.most as f64)
    }),
    column("min_win_adv", |c, s, _| {
        c.direction(s).windows().map(|w| w.least as f64)
    }),
    Column {
        name: "avg_win_adv",
        ours: |c, s, _| c.direction(s).windows().map(|w| w.mean),
        rounding: 1.0,
    },
    column("zwnd_probe_bytes", |_, _, d| detailed(d, |d| d.probe_bytes)),
    column("truncated_packets", |_, _, d| {
        detailed(d, |d| d.truncated_packets)
    }),
    column("truncated_data", |_, _, d| {
        detailed(d, |d| d.truncated_bytes)
    }),
    column("SYN_pkts_sent", |_, _, d| detailed(d, |d| d.syn_packets)),
    column("FIN_pkts_sent", |_, _, d| detailed(d, |d| d.fin_packets)),
    column("req_1323_ws", |c, s, _| {
        offered(c, s, |offers| offers.window_scale.is_some())
    }),
    column("req_1323_ts", |c, s, _| {
        offered(c, s, |offers| offers.timestamps)
    }),
    column("req_sack", |c, s, _| {
        offered(c, s, |offers| offers.sack_permitted)
    }),
    column("sacks_sent", |_, _, d| detailed(d, |d| d.sack_packets)),
    moment("first_packet", |c, _, _| seconds(c.first_at())),
    moment("last_packet", |c, _, _| seconds(c.last_at())),
    column("zero_win_adv", |c, s, _| count(c, s, Kind::ZeroWindow)),
    column("max_owin", |c, s, _| Some(c.most_outstanding(s) as f64)),
    column("min_non-zero_owin", |_, _, d| {
        d.least_outstanding().map(|least| least as f64)
    }),
    column("avg_owin", |_, _, d| d.mean_outstanding()),
    column("wavg_owin", |c, s, _| c.mean_outstanding(s)),
    column("ttl_stream_length", |c, s, _| {
        let direction = c.direction(s);
        // SYN and FIN each take one sequence number.
        let is_whole = direction.has_syn() && direction.has_fin();
        is_whole.then(|| direction.stream_length() as f64 - 2.0)
    }),
    column("missed_data", |c, s, _| {
        let direction = c.direction(s);
        let is_whole = direction.has_syn() && direction.has_fin();
        let missed = direction.stream_length() as f64 - 2.0 - direction.unique_bytes() as f64;
        is_whole.then_some(missed)
    }),
    time("idletime_max", |c, s, _| {
        let direction = c.direction(s);
        (direction.packets() > 1).then(|| millis(Some(direction.longest_idle())))?
    }),
    column("hardware_dups", |c, s, _| count(c, s, Kind::CapturedTwice)),
    column("RTT_samples", |c, s, _| {
        Some(c.direction(s).round_trips().count() as f64)
    }),
    time("RTT_min", |c, s, _| {
        millis(c.direction(s).round_trips().min())
    }),
    time("RTT_max", |c, s, _| {
        millis(c.direction(s).round_trips().max())
    }),
    time("RTT_avg", |c, s, _| {
        millis(c.direction(s).round_trips().mean())
    }),
    time("RTT_stdev", |c, s, _| {
        millis(c.direction(s).round_trips().deviation())
    }),
    // tcptrace attributes it to the sender of the data, not of the ACK.
    column("duplicate_acks", |c, s, _| {
        count(c, s.other(), Kind::DuplicateAck)
    }),
    column("ack_pkts_sent", |_, _, d| detailed(d, |d| d.ack_packets)),
    column("pure_acks_sent", |_, _, d| detailed(d, |d| d.pure_acks)),
    column("sack_pkts_sent", |_, _, d| detailed(d, |d| d.sack_packets)),
    column("max_sack_blks/ack", |_, _, d| {
        Some(d.most_sack_blocks.into())
    }),
    column("pushed_data_pkts", |_, _, d| {
        detailed(d, |d| d.pushed_packets)
    }),
    column("urgent_data_pkts", |_, _, d| {
        detailed(d, |d| d.urgent_packets)
    }),
    column("urgent_data_bytes", |_, _, d| {
        detailed(d, |d| d.urgent_bytes)
    }),
    column("min_segm_size", |_, _, d| d.least_segment.map(f64::from)),
    Column {
        name: "avg_segm_size",
        ours: |c, s, _| {
            let direction = c.direction(s);
            let mean = direction.bytes().checked_div(direction.data_packets());
            mean.map(|mean| mean as f64)
        },
        rounding: 1.0,
    },
    column("initial_window_bytes", |c, s, d| {
        d.initial_window_bytes(c, s).map(|count| count as f64)
    }),
    column("initial_window_pkts", |c, s, d| {
        d.initial_window_packets(c, s).map(|count| count as f64)
    }),
    Column {
        name: "data_xmit_time",
        ours: |_, _, d| d.data_time().map(|time| time.as_nanos() as f64 / 1e9),
        rounding: 0.00051,
    },
    time("RTT_from_3WHS", |_, _, d| millis(d.handshake_round_trip())),
    Column {
        name: "throughput",
        ours: |c, s, _| {
            let time = c.elapsed().as_secs_f64();
            let octets = c.direction(s).unique_bytes() as f64;
            (time > 0.0).then(|| octets / time)
        },
        rounding: 0.501,
    },
    column("post-loss_acks", |_, _, d| {
        detailed(d, |d| d.post_loss_acks)
    }),
    column("ambiguous_acks", |_, _, d| {
        detailed(d, Detail::ambiguous_acks)
    }),
    time("RTT_min_(last)", |_, _, d| last(d, Spread::min)),
    time("RTT_max_(last)", |_, _, d| last(d, Spread::max)),
    time("RTT_avg_(last)", |_, _, d| last(d, Spread::mean)),
    time("RTT_sdv_(last)", |_, _, d| last(d, Spread::deviation)),
    column("segs_cum_acked", |_, _, d| {
        detailed(d, |d| d.cumulatively_acked)
    }),
    column("triple_dupacks", |_, _, d| {
        detailed(d, |d| d.triple_duplicates)
    }),
    column("max_#_retrans", |_, _, d| Some(d.most_repeats().into())),
    time("min_retr_time", |_, _, d| intervals(d, Spread::min)),
    time("max_retr_time", |_, _, d| intervals(d, Spread::max)),
    time("avg_retr_time", |_, _, d| intervals(d, Spread::mean)),
    time("sdv_retr_time", |_, _, d| intervals(d, Spread::deviation)),
    column("RTT_full_sz_smpls", |_, _, d| {
        Some(d.full_round_trips().count() as f64)
    }),
    time("RTT_full_sz_min", |_, _, d| {
        millis(d.full_round_trips().min())
    }),
    time("RTT_full_sz_max", |_, _, d| {
        millis(d.full_round_trips().max())
    }),
    time("RTT_full_sz_avg", |_, _, d| {
        millis(d.full_round_trips().mean())
    }),
    time("RTT_full_sz_stdev", |_, _, d| {
        millis(d.full_round_trips().deviation())
    }),
];
