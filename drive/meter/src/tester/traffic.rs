//! All streams of a test: start, sampling, end; results of each interval.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use gigatcp_protocol::iperf3::{Cookie, Cpu, Parameters};
use gigatcp_protocol::nuttcp::output::interval::Interval as PeerInterval;
use gigatcp_why::counters::{CounterAccount, End};

use socket2::SockRef;

use super::budget::Budget;
use super::connection::Connection;
use super::counters::Role;
use super::delay::DelayLog;
use super::options::StackKind;
use super::outcome::{Interval, Outcome, StreamInterval, StreamOutcome};
use super::ramp::RampControl;
use super::rate_limit::StreamLimit;
use super::request::Offload;
use super::request::{self, Protocol};
use super::samples::{Recorder, Samples};
use super::shared::Shared;
use super::socket::Socket;
use super::stream::{self, Stream};
use super::switch::Switch;
use crate::View;
use crate::system::clock;
use crate::system::lock;

/// Progress of a test.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    /// The server has queued this client, or has not answered for some time.
    Queued {
        /// Whether it has answered, so that it does queue.
        has_answered: bool,
    },
    /// Data flows; the results so far.
    Started(&'a Outcome),
    /// An interval has ended.
    Interval(&'a Interval),
    /// The rest of the test, after the last interval; the outcome has it in that interval.
    Rest(&'a Interval),
    /// An interval measured by a nuttcp server as receiver.
    PeerInterval(&'a PeerInterval),
    /// A note for the user, such as an option that the server does not support.
    Note(String),
}

/// Statistics of a stream at the ends of intervals.
#[derive(Clone, Copy, Default, Debug)]
struct Extremes {
    max_cwnd: u64,
    max_snd_wnd: u64,
    rtt: Option<[Duration; 2]>,
    rtt_sum: Duration,
    rtt_count: u32,
}

/// The streams of a test.
#[derive(Debug)]
pub(super) struct Traffic {
    pub(super) shared: Shared,
    pub(super) streams: Vec<Stream>,
    interval: Option<Duration>,
    omit: Duration,
    pub(super) started_at: Option<(Instant, SystemTime)>,
    /// Start of the measured time, after the omitted time.
    measured_from: Option<Instant>,
    interval_from: Option<Instant>,
    /// Total counts at the start of the interval, and of the measured time.
    marks: Vec<[StreamInterval; 2]>,
    extremes: Vec<Extremes>,
    pub(super) intervals: Vec<Interval>,
    /// Maximum number of intervals of streams that are kept; `None`: all.
    pub(super) kept: Option<usize>,
    pub(super) measured: Duration,
    totals: Vec<StreamInterval>,
    pub(super) cpu: Cpu,
    /// Initial CPU time of this process, if the streams' TCP runs in its threads.
    process_before: Option<(Duration, Duration)>,
    sampling: Duration,
    recorder: Recorder,
    sample_at: Option<Instant>,
    /// Time at which the bytes of all streams last changed, and their number.
    moved: Option<(Instant, u64)>,
    /// Time attribution of the first streams, from this end only.
    accounts: Vec<CounterAccount>,
    /// Addition of streams; `None`: all begin at the start.
    ramp: Option<RampControl>,
}

/// Number of streams whose limit is named in each interval.
const MAX_ACCOUNTS: usize = 8;

/// Time slices of an account that only names the current limit.
const PRESENT_SLICES: usize = 16;

impl Traffic {
    pub(super) fn new(
        parameters: Parameters,
        block: usize,
        (interval, sampling): (Option<Duration>, Duration),
    ) -> Self {
        let budget = request::budget(&parameters, block);
        Self {
            omit: Duration::from_secs(parameters.omit.into()),
            shared: Shared {
                parameters: Arc::new(parameters),
                switch: Arc::new(Switch::default()),
                budget: Arc::new(Budget::new(budget)),
                limit: StreamLimit::default(),
                block,
                processor: None,
                turns: None,
                offload: Offload::default(),
            },
            streams: Vec::new(),
            interval,
            started_at: None,
            measured_from: None,
            interval_from: None,
            marks: Vec::new(),
            extremes: Vec::new(),
            intervals: Vec::new(),
            kept: None,
            measured: Duration::ZERO,
            totals: Vec::new(),
            cpu: Cpu::default(),
            process_before: None,
            sampling,
            recorder: Recorder::default(),
            sample_at: None,
            moved: None,
            accounts: Vec::new(),
            ramp: None,
        }
    }

    /// Lets streams begin one after another.
    pub(super) fn add_streams(&mut self) {
        let ramp = RampControl::new(Duration::from_secs(self.parameters().time.into()));
        self.shared.turns = Some(ramp.turns.clone());
        self.ramp = Some(ramp);
    }

    /// Whether no streams are added any more.
    pub(super) fn is_loaded(&self) -> bool {
        self.ramp
            .as_ref()
            .is_none_or(|ramp| ramp.result().is_some())
    }

    pub(super) fn parameters(&self) -> &Parameters {
        &self.shared.parameters
    }

    /// Amount of data with which the test ends, if it does.
    fn budget(&self) -> Option<u64> {
        request::budget(self.parameters(), self.shared.block)
    }

    /// Starts the data.
    pub(super) fn start(&mut self) {
        self.streams.sort_by_key(|stream| stream.id);
        self.recorder.start(&self.streams);
        let now = Instant::now();
        self.marks = vec![<[StreamInterval; 2]>::default(); self.streams.len()];
        self.extremes = vec![Extremes::default(); self.streams.len()];
        self.started_at = Some((now, SystemTime::now()));
        self.interval_from = Some(now);
        if self.omit.is_zero() {
            self.measured_from = Some(now);
        }
        let count = self.streams.len().min(MAX_ACCOUNTS);
        let account = || CounterAccount::with_slices(PRESENT_SLICES);
        self.accounts = std::iter::repeat_with(account).take(count).collect();
        for (account, stream) in self.accounts.iter_mut().zip(&self.streams) {
            if let Some(name) = &stream.options.congestion {
                account.set_congestion(name);
            }
        }
        let is_engine = |stream: &Stream| stream.options.stack == StackKind::Engine;
        if self.streams.iter().any(is_engine) {
            self.process_before = Some(clock::process_split());
        }
        self.sample(now);
        if let Some(ramp) = &mut self.ramp {
            ramp.start(now);
        }
        self.shared.switch.start();
    }

    /// Reads `tcp_info` of all streams, and the host's counters.
    fn sample(&mut self, now: Instant) {
        let Some((start, _)) = self.started_at else {
            return;
        };
        let since = now.saturating_duration_since(start);
        let at = gigatcp_units::Instant::from(since);
        let (accounts, streams) = (&mut self.accounts, &self.streams);
        self.recorder.sample(at, streams, |index, reading| {
            if let Some(account) = accounts.get_mut(index) {
                let end = match streams[index].role {
                    Role::Sender => End::Sender,
                    Role::Receiver => End::Receiver,
                };
                account.on_reading(end, reading);
            }
        });
        self.sample_at = Some(now + stream::spaced(self.sampling));
    }

    /// Readings of the sockets and the host.
    pub(super) fn samples(&self) -> Samples {
        self.recorder.samples(&self.streams)
    }

    /// When [`Self::handle_time`] is due; `None`: never.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let (start, _) = self.started_at?;
        let omit = self.measured_from.is_none().then(|| start + self.omit);
        let interval = self
            .interval
            .and_then(|length| Some(self.interval_from? + length));
        omit.into_iter().chain(interval).chain(self.sample_at).min()
    }

    /// Whether the threads of all streams have ended.
    pub(super) fn is_ended(&self) -> bool {
        self.streams.iter().all(Stream::is_ended)
    }

    /// Whether data flows.
    pub(super) fn is_flowing(&self) -> bool {
        self.started_at.is_some() && !self.shared.switch.is_stopped()
    }

    /// Closes the data connections in both directions; the counts remain.
    pub(super) fn close(&self) {
        for stream in &self.streams {
            // It fails if the peer has closed already.
            let _ = stream.socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Waits until the peer has acknowledged all that was sent, `longest` at most. Then closing drops
    /// the rest: the kernel would go on sending it, in memory that no test counts.
    pub(super) fn drain(&self, longest: Duration, stops: &dyn Fn() -> bool) {
        let deadline = Instant::now() + longest;
        for stream in &self.streams {
            let Socket::Tcp(socket) = &*stream.socket else {
                continue;
            };
            let is_unacknowledged = || socket.unacknowledged().is_ok_and(|left| left > 0);
            while is_unacknowledged() && Instant::now() < deadline && !stops() {
                std::thread::sleep(Duration::from_millis(1));
            }
            if is_unacknowledged() {
                // Otherwise the rest is sent as before.
                let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
            }
        }
    }

    /// Whether the time of the test is over.
    pub(super) fn is_time_over(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|deadline| now >= deadline)
    }

    /// When the time of the test is over, if it is limited.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let time = self.parameters().time;
        let (start, _) = self.started_at?;
        let is_unlimited = time == 0 || self.budget().is_some();
        (!is_unlimited).then(|| start + self.omit + Duration::from_secs(time.into()))
    }

    /// Whether the requested amount was transferred: senders have ended, or enough was received.
    pub(super) fn is_amount_done(&self) -> bool {
        let Some(amount) = self.budget() else {
            return false;
        };
        let of = |role: Role| {
            self.streams
                .iter()
                .filter(move |stream| stream.role == role)
        };
        let received: u64 = of(Role::Receiver).map(Stream::bytes).sum();
        let has_senders = of(Role::Sender).next().is_some();
        let are_senders_done = has_senders && of(Role::Sender).all(Stream::is_ended);
        are_senders_done || (received > 0 && received >= amount)
    }

    /// Bytes that all streams have moved.
    pub(super) fn bytes(&self) -> u64 {
        self.streams.iter().map(Stream::bytes).sum()
    }

    /// Time for which no byte has moved on any stream, as of `now`.
    pub(super) fn idle(&mut self, now: Instant) -> Duration {
        let bytes = self.bytes();
        let (since, before) = self.moved.unwrap_or((now, bytes));
        self.moved = Some(if bytes > before {
            (now, bytes)
        } else {
            (since, before)
        });
        self.moved.map_or(Duration::ZERO, |(since, _)| {
            now.saturating_duration_since(since)
        })
    }

    /// Closes the interval that is over by `now`, and ends the omitted time.
    pub(super) fn handle_time(&mut self, now: Instant, report: &mut dyn FnMut(Progress<'_>)) {
        let Some((start, _)) = self.started_at else {
            return;
        };
        if self.sample_at.is_some_and(|at| now >= at) {
            self.sample(now);
        }
        let bytes = self.bytes();
        if let Some(ramp) = &mut self.ramp {
            ramp.handle_time(now, bytes);
        }
        let is_omit_over = self.measured_from.is_none() && now >= start + self.omit;
        let is_interval_over = self
            .interval
            .is_some_and(|length| self.interval_from.is_some_and(|from| now >= from + length));
        if is_interval_over || is_omit_over {
            self.close_interval(now, report);
        }
        if is_omit_over {
            self.measured_from = Some(now);
            for [interval, measured] in &mut self.marks {
                *measured = *interval;
            }
            self.extremes.fill(Extremes::default());
            for stream in &self.streams {
                *stream.delays() = DelayLog::default();
            }
        }
    }

    fn close_interval(&mut self, now: Instant, report: &mut dyn FnMut(Progress<'_>)) {
        let (Some((start, _)), Some(from)) = (self.started_at, self.interval_from) else {
            return;
        };
        let base = self.measured_from.unwrap_or(start);
        let mut streams = Vec::with_capacity(self.streams.len());
        for (index, stream) in self.streams.iter().enumerate() {
            let counts = StreamInterval::so_far(stream);
            let mut part = counts.since(&self.marks[index][0]);
            let now = self.accounts.get(index).and_then(CounterAccount::now);
            part.limit = now.map(|(cause, _)| cause.id);
            streams.push(part);
            self.marks[index][0] = counts;
            if let Some(view) = counts.view {
                self.extremes[index].take(&view);
            }
        }
        let interval = Interval {
            start: from.saturating_duration_since(base),
            end: now.saturating_duration_since(base),
            omitted: self.measured_from.is_none(),
            streams,
        };
        self.interval_from = Some(now);
        if self.interval.is_some() {
            report(Progress::Interval(&interval));
            let kept = self.intervals.len() * self.streams.len().max(1);
            if self.kept.is_none_or(|most| kept < most) {
                self.intervals.push(interval);
            }
        }
    }

    /// Ends the test: stops threads and closes the last interval. A block being sent still counts.
    pub(super) fn stop(&mut self, report: &mut dyn FnMut(Progress<'_>)) {
        self.stop_at(Instant::now(), report);
    }

    /// Ends a test that was over at `now`.
    pub(super) fn stop_at(&mut self, now: Instant, report: &mut dyn FnMut(Progress<'_>)) {
        let Some((start, _)) = self.started_at else {
            return;
        };
        self.sample(Instant::now());
        self.shared.switch.stop();
        for stream in &self.streams {
            stream.interrupt();
        }
        for stream in &mut self.streams {
            stream.join();
        }
        let shortest = self.interval.map_or(Duration::ZERO, |length| length / 10);
        let from = self.interval_from.unwrap_or(start);
        let is_short = now.saturating_duration_since(from) < shortest;
        // Beyond the kept ones the last is not the one before this.
        let streams = self.streams.len().max(1);
        let is_kept = self
            .kept
            .is_none_or(|most| self.intervals.len() * streams < most);
        if is_short && is_kept && !self.intervals.is_empty() {
            self.merge_into_last(now, report);
        } else {
            self.close_interval(now, report);
        }
        self.measured = now.saturating_duration_since(self.measured_from.unwrap_or(start));
        self.totals = self
            .marks
            .iter()
            .map(|[last, first]| last.since(first))
            .collect();
        self.cpu = self.cpu_shares(now.saturating_duration_since(start));
    }

    /// Merges the rest of the test into the last interval.
    ///
    /// A test never ends exactly at an interval's end.
    fn merge_into_last(&mut self, now: Instant, report: &mut dyn FnMut(Progress<'_>)) {
        let mut ignored = |_: Progress<'_>| {};
        let last = self.intervals.pop();
        self.close_interval(now, &mut ignored);
        let (Some(mut last), Some(rest)) = (last, self.intervals.pop()) else {
            return;
        };
        report(Progress::Rest(&rest));
        if last.omitted != rest.omitted {
            self.intervals.extend([last, rest]);
            return;
        }
        last.end = rest.end;
        for (sum, more) in last.streams.iter_mut().zip(&rest.streams) {
            sum.extend(more);
        }
        self.intervals.push(last);
    }

    fn cpu_shares(&self, elapsed: Duration) -> Cpu {
        let (mut user, mut system) = clock::thread_split();
        for stream in &self.streams {
            let [of_user, of_system] = stream.cpu();
            user += of_user;
            system += of_system;
        }
        if let Some(before) = self.process_before {
            let now = clock::process_split();
            (user, system) = (now.0 - before.0, now.1 - before.1);
        }
        cpu_of([user, system], elapsed)
    }

    /// A stream that failed during the test, with its error.
    pub(super) fn failure(&self) -> Option<(u64, std::io::Error)> {
        self.streams
            .iter()
            .find_map(|stream| Some((stream.id, lock(&stream.counters.error).take()?)))
    }

    /// Results of the streams so far.
    pub(super) fn outcomes(&self) -> Vec<StreamOutcome> {
        let of = |(index, stream): (usize, &Stream)| {
            let extremes = self.extremes.get(index).copied().unwrap_or_default();
            StreamOutcome {
                id: stream.id,
                role: stream.role,
                local: stream.local,
                peer: stream.peer,
                options: stream.options(self.shared.offload),
                total: self.totals.get(index).copied().unwrap_or_default(),
                delays: stream.delays().strata().to_vec(),
                max_cwnd: extremes.max_cwnd,
                max_snd_wnd: extremes.max_snd_wnd,
                rtt: extremes
                    .rtt
                    .map(|[min, max]| [min, extremes.rtt_sum / extremes.rtt_count.max(1), max]),
            }
        };
        self.streams.iter().enumerate().map(of).collect()
    }
}

/// CPU times in percent of the time elapsed.
pub(super) fn cpu_of([user, system]: [Duration; 2], elapsed: Duration) -> Cpu {
    let percent = |time: Duration| 100.0 * time.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
    Cpu {
        total: percent(user + system),
        user: percent(user),
        system: percent(system),
    }
}

/// Threads that wait for the start, or for data, do not outlive their test.
impl Drop for Traffic {
    fn drop(&mut self) {
        self.shared.switch.stop();
        for stream in &mut self.streams {
            if !stream.is_ended() {
                stream.interrupt();
            }
            stream.join();
        }
    }
}

/// Ends of a test and the protocol between them.
#[derive(Debug)]
pub(super) struct Ends<'a> {
    pub(super) protocol: Protocol,
    /// The peer, by name or address, and the server's port.
    pub(super) peer: (&'a str, u16),
    pub(super) cookie: Cookie,
    pub(super) control_mss: u32,
}

impl Traffic {
    /// Results of this end, without the peer's.
    pub(super) fn outcome(&self, ends: &Ends<'_>) -> Outcome {
        let started_at = self.started_at.map(|(_, started_at)| started_at);
        let outcome = Outcome {
            protocol: ends.protocol,
            parameters: self.parameters().clone(),
            host: ends.peer.0.to_owned(),
            port: ends.peer.1,
            cookie: ends.cookie,
            started_at: started_at.unwrap_or(SystemTime::UNIX_EPOCH),
            block: self.shared.block,
            control_mss: ends.control_mss,
            measured: self.measured,
            streams: self.outcomes(),
            intervals: self.intervals.clone(),
            samples: self.samples(),
            cpu: self.cpu,
            base_rtt: None,
            capacity: None,
            first_train: None,
            clocks: None,
            latency: Vec::new(),
            ramp: self.ramp.as_ref().and_then(RampControl::result),
            peer: None,
            brief: None,
            cut_short: None,
        };
        match &self.ramp {
            // While it runs, others may begin.
            Some(ramp) if !self.totals.is_empty() => outcome.of_begun(ramp.streams()),
            _ => outcome,
        }
    }
}

impl StreamInterval {
    /// Counts of a stream since its start.
    fn so_far(stream: &Stream) -> Self {
        let counters = &stream.counters;
        let udp = *lock(&counters.udp);
        let view = stream.view();
        let sent = view.filter(|_| stream.role == Role::Sender);
        Self {
            bytes: stream.bytes(),
            retransmits: sent.map(|view| view.retransmitted_segments),
            view,
            datagrams: counters.datagrams.load(Ordering::Acquire),
            udp,
            lost: udp.stock.errors,
            expected: udp.stock.packets,
            limit: None,
        }
    }

    /// Counts since an earlier time.
    fn since(&self, before: &Self) -> Self {
        let earlier = before.retransmits.unwrap_or(0);
        Self {
            bytes: self.bytes - before.bytes,
            retransmits: self.retransmits.map(|count| count.saturating_sub(earlier)),
            datagrams: self.datagrams.saturating_sub(before.datagrams),
            lost: self.lost.saturating_sub(before.lost),
            expected: self.expected.saturating_sub(before.expected),
            ..*self
        }
    }

    /// Adds the counts of the following interval.
    fn extend(&mut self, more: &Self) {
        self.bytes += more.bytes;
        if let (Some(sum), Some(count)) = (&mut self.retransmits, more.retransmits) {
            *sum += count;
        }
        self.view = more.view;
        self.datagrams += more.datagrams;
        self.udp = more.udp;
        self.lost = self.lost.saturating_add(more.lost);
        self.expected += more.expected;
    }
}

impl Extremes {
    fn take(&mut self, view: &View) {
        self.max_cwnd = self.max_cwnd.max(view.cwnd.as_u64());
        self.max_snd_wnd = self.max_snd_wnd.max(view.snd_wnd.as_u64());
        if let Some(rtt) = view.srtt {
            let rtt = Duration::from(rtt);
            let [min, max] = self.rtt.unwrap_or([rtt, rtt]);
            self.rtt = Some([min.min(rtt), max.max(rtt)]);
            self.rtt_sum += rtt;
            self.rtt_count += 1;
        }
    }
}
