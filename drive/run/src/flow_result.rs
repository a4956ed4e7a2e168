//! Converts the results of a flow to its record: in virtual or real time, of the engine or the
//! kernel.

use gigatcp_plan::record::{
    CauseShare, CauseSpan, FlowRecord, IntervalRecord, LimitShare, SeriesRecord, growth,
};
use gigatcp_plan::{Flow, Series, Stop};
use gigatcp_sim::account::{Attribution, ByCause, ByLimit, Span};
use gigatcp_sim::meter::Meter;
use gigatcp_sim::observe::Sample;
use gigatcp_tcp::connection::{Counters, Info};
use gigatcp_tcp::events::{Cause, Limit};
use gigatcp_units::{Bytes, Duration, Instant};

/// Header of a series' record; results are added later.
pub(crate) fn head(series: &Series, repeat: u32, seed: u64) -> SeriesRecord {
    SeriesRecord {
        name: series.name.clone(),
        title: series.title.clone(),
        repeat,
        seed,
        fitted: series.fitted.clone(),
        fit_of: series.fit_of.clone(),
        ..SeriesRecord::default()
    }
}

/// Counters of a flow.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) segments_sent: u64,
    pub(crate) retransmitted: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
    pub(crate) loss_events: u64,
    pub(crate) marked: u64,
    pub(crate) mark_reductions: u64,
    pub(crate) acks_sent: u64,
}

impl Counts {
    pub(crate) fn of_engine(counters: &Counters, info: &Info) -> Self {
        Self {
            segments_sent: counters.data_segments_sent,
            retransmitted: counters.retransmitted_segments,
            fast_retransmits: counters.fast_retransmits,
            timeouts: counters.timeouts,
            loss_events: counters.loss_events,
            marked: info.ecn.delivered_ce,
            mark_reductions: counters.ecn_reductions,
            acks_sent: counters.acks_sent,
        }
    }
}

/// All results of a flow.
#[derive(Debug)]
pub(crate) struct FlowResult<'a> {
    pub(crate) flow: &'a Flow,
    /// What the record has of it as it is: names, failure, drops, links, application, theory.
    pub(crate) rest: FlowRecord,
    /// Time at which the sender's side was established, if it was.
    pub(crate) established: Option<Instant>,
    /// Time at which the receiver had read everything, else the end of the run.
    pub(crate) end: Instant,
    /// Whether the flow finished before the end of the run.
    pub(crate) is_finished: bool,
    pub(crate) meter: Option<&'a Meter>,
    /// Time at the start that the average omits.
    pub(crate) omit: Duration,
    pub(crate) counts: Counts,
    /// CPU time of sender and receiver.
    pub(crate) busy: [Duration; 2],
    /// Time under each limit until `end`.
    pub(crate) limits: Option<ByLimit>,
    /// Time by cause until `end`.
    pub(crate) account: Option<Attribution>,
    pub(crate) samples: Vec<Sample>,
    /// Shortest interval of the tester's lines in the record.
    pub(crate) shortest_interval: Duration,
}

impl FlowResult<'_> {
    pub(crate) fn into_record(self) -> FlowRecord {
        let intervals = self.intervals();
        let rates: Vec<(f64, f64)> = intervals
            .iter()
            .map(|line| {
                let seconds = (line.end_ns - line.start_ns) as f64 / 1e9;
                (line.end_ns as f64 / 1e9, line.bytes as f64 * 8.0 / seconds)
            })
            .collect();
        let average = self.average_time();
        let (bytes, elapsed) = self.without_omitted(average);
        let whole = self.meter.map_or(Duration::ZERO, Meter::elapsed);
        let [sender_busy, receiver_busy] = self.busy.map(|busy| share(busy, average));
        let completion = self.end.saturating_since(Instant::ZERO + self.flow.start);
        let has_amount = matches!(self.flow.stop, Stop::Bytes(_));
        let has_completed = has_amount && self.is_complete();
        let clock_start = self.meter.and_then(Meter::started_at);
        let Attribution {
            spent,
            spans,
            reductions,
            reductions_left_out,
        } = self.account.unwrap_or_default();
        FlowRecord {
            name: self.flow.name.clone(),
            established_ns: self.established.map_or(0, Instant::as_nanos),
            ended_ns: self.end.as_nanos(),
            clock_start_ns: clock_start.map_or(0, Instant::as_nanos),
            intervals: joined(intervals, self.shortest_interval),
            bytes: self.meter.map_or(0, |meter| meter.total().as_u64()),
            elapsed_ns: whole.as_nanos(),
            average_ns: average.as_nanos(),
            completion_ns: has_completed.then(|| completion.as_nanos()),
            goodput_bps: rate(bytes, elapsed),
            plateau_bps: growth::plateau(&rates),
            time_to_90_ns: growth::seconds_to_90(&rates).map(|s| (s * 1e9) as u64),
            segments_sent: self.counts.segments_sent,
            retransmitted_segments: self.counts.retransmitted,
            fast_retransmits: self.counts.fast_retransmits,
            timeouts: self.counts.timeouts,
            loss_events: self.counts.loss_events,
            marked_segments: self.counts.marked,
            mark_reductions: self.counts.mark_reductions,
            acks_sent: self.counts.acks_sent,
            sender_cpu_fraction: sender_busy,
            receiver_cpu_fraction: receiver_busy,
            limited_by: causes(&spent),
            reduction_times_ns: reductions.iter().map(|at| at.as_nanos()).collect(),
            reduction_times_left_out: reductions_left_out,
            limited_by_timeline: spans.iter().map(span).collect(),
            limits: self.limits.map(|spent| shares(&spent)).unwrap_or_default(),
            samples: self.samples.iter().map(record_of).collect(),
            ..self.rest
        }
    }

    /// Whether everything was delivered. A connection that failed is finished but not complete.
    fn is_complete(&self) -> bool {
        self.is_finished && self.rest.failure.is_none()
    }

    /// Time that the average covers, from the start of the tester's clock.
    ///
    /// It ends at the last byte read. If the receiver waits for more, it ends no earlier than the
    /// sender's stop.
    fn average_time(&self) -> Duration {
        let read = self.meter.map_or(Duration::ZERO, Meter::elapsed);
        if self.is_complete() {
            return read;
        }
        let stop = match self.flow.stop {
            Stop::Bytes(_) => self.end,
            Stop::After(span) => (Instant::ZERO + self.flow.start + span).min(self.end),
        };
        let started = self.meter.and_then(Meter::started_at);
        started.map_or(read, |started| stop.saturating_since(started).max(read))
    }

    /// Bytes and time for the average over `elapsed`, without omitted intervals.
    ///
    /// Those are whole intervals that begin before `omit`.
    fn without_omitted(&self, elapsed: Duration) -> (Bytes, Duration) {
        let Some(meter) = self.meter else {
            return (Bytes::ZERO, Duration::ZERO);
        };
        let step = meter.interval();
        let omitted = self.omit.as_nanos().div_ceil(step.as_nanos().max(1)) as usize;
        let skip = omitted.min(meter.finished().len());
        let skipped = meter.finished()[..skip]
            .iter()
            .fold(Bytes::ZERO, |sum, b| sum + *b);
        let counted = elapsed.saturating_sub(step * skip as u64);
        (meter.total() - skipped, counted)
    }

    /// Tester's lines: whole intervals only, as nuttcp prints them.
    fn intervals(&self) -> Vec<IntervalRecord> {
        let Some((meter, started_at)) = self
            .meter
            .and_then(|meter| Some((meter, meter.started_at()?)))
        else {
            return Vec::new();
        };
        let step = meter.interval();
        let mut retransmitted_before = 0;
        let lines = meter.finished().iter().enumerate();
        lines
            .map(|(number, bytes)| {
                let start = step * number as u64;
                let end = start + step;
                let so_far = retransmitted_by(&self.samples, started_at + end);
                let in_interval = so_far.saturating_sub(retransmitted_before);
                retransmitted_before = so_far;
                IntervalRecord {
                    start_ns: start.as_nanos(),
                    end_ns: end.as_nanos(),
                    bytes: bytes.as_u64(),
                    retransmitted_segments: in_interval,
                }
            })
            .collect()
    }
}

/// Joins intervals, of equal length, to intervals of at least `shortest`.
fn joined(intervals: Vec<IntervalRecord>, shortest: Duration) -> Vec<IntervalRecord> {
    let length = intervals
        .first()
        .map_or(1, |line| line.end_ns - line.start_ns);
    let count = shortest.as_nanos().div_ceil(length.max(1)) as usize;
    if count <= 1 {
        return intervals;
    }
    intervals
        .chunks(count)
        .map(IntervalRecord::joined)
        .collect()
}

/// Rate in bit/s.
pub(crate) fn rate(bytes: Bytes, span: Duration) -> f64 {
    if span.is_zero() {
        0.0
    } else {
        bytes.as_bits_f64() / span.as_secs_f64()
    }
}

fn share(busy: Duration, of: Duration) -> f64 {
    if of.is_zero() {
        0.0
    } else {
        (busy.as_secs_f64() / of.as_secs_f64()).min(1.0)
    }
}

/// Segments retransmitted by `at`, from the last sample before it.
fn retransmitted_by(samples: &[Sample], at: Instant) -> u64 {
    let after = samples.partition_point(|sample| sample.at <= at);
    after
        .checked_sub(1)
        .map_or(0, |last| samples[last].retransmitted)
}

fn causes(spent: &ByCause) -> Vec<CauseShare> {
    Cause::ALL
        .into_iter()
        .zip(spent)
        .filter(|(_, spent)| !spent.is_zero())
        .map(|(cause, spent)| CauseShare {
            cause: cause.id().into(),
            spent_ns: spent.as_nanos(),
        })
        .collect()
}

fn span(span: &Span) -> CauseSpan {
    CauseSpan {
        start_ns: span.start.as_nanos(),
        end_ns: span.end.as_nanos(),
        cause: span.cause.id().into(),
    }
}

fn shares(spent: &ByLimit) -> Vec<LimitShare> {
    let pairs = Limit::ALL.into_iter().zip(spent);
    pairs
        .map(|(limit, spent)| LimitShare {
            limit: limit.name().into(),
            spent_ns: spent.as_nanos(),
        })
        .collect()
}

fn record_of(sample: &Sample) -> gigatcp_plan::record::Sample {
    gigatcp_plan::record::Sample {
        at_ns: sample.at.as_nanos(),
        cwnd_bytes: sample.cwnd.as_u64(),
        ssthresh_bytes: sample.ssthresh.map(Bytes::as_u64),
        rwnd_bytes: sample.rwnd.as_u64(),
        flight_bytes: sample.flight.as_u64(),
        srtt_ns: sample.srtt.map(Duration::as_nanos),
        delivered_bytes: sample.delivered,
        retransmitted_segments: Some(sample.retransmitted),
    }
}
