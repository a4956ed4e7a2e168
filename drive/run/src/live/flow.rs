//! A flow in real time: a thread that opens it and writes, one that accepts and reads, and the
//! state of both for the observer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration as Span;

use gigatcp_linux::clock;
use gigatcp_live::RealtimePriority;
use gigatcp_meter::LimitTally;
use gigatcp_plan::{Flow, Scenario, Stack, Stop};
use gigatcp_sim::meter::Meter;
use gigatcp_units::{Bytes, Duration, Instant};

use super::end::{self, End, EndState, Listening};
use super::pattern::{self, PIECE};
use super::settings::kernel_name;
use super::testbed::Testbed;
use super::{LiveError, now};
use crate::lock;

/// First ports of senders and of receivers, as in virtual time.
const PORTS: [u16; 2] = [40_000, 5001];

/// Maximum time a thread blocks before it checks whether the run continues.
const MAX_WAIT: Span = Span::from_millis(50);

/// Maximum time of a write. A kernel's sender whose buffer is full wakes its application when a
/// third of the buffer is free; a write that returns before that fills it up to the last packet.
const MAX_WRITE: Span = Span::from_secs(1);

/// Maximum of bytes per read: more than any buffer returns in one call.
const MAX_READ: u64 = 4 << 20;

/// A connection, with its time of establishment.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) end: End,
    pub(super) at: Instant,
}

/// A running flow with its two ends. Times are those of the machine's monotonic clock.
pub(super) struct Running<'a> {
    pub(super) flow: &'a Flow,
    scenario: &'a Scenario,
    testbed: &'a Testbed,
    /// Whether the run continues.
    goes_on: &'a AtomicBool,
    began: Instant,
    ports: [u16; 2],
    listening: Listening,
    pub(super) sender: OnceLock<Opened>,
    pub(super) receiver: OnceLock<Opened>,
    /// Time at which the sender opened it.
    pub(super) opened: OnceLock<Instant>,
    /// Whether all data has been written.
    pub(super) is_written: AtomicBool,
    /// Pause of the reading application: its start while it lasts, and its length.
    pause: Mutex<(Option<Instant>, Duration)>,
    /// Bytes that the receiving application has read.
    pub(super) delivered: AtomicU64,
    /// Limits of a kernel's sender.
    tally: Mutex<Option<LimitTally>>,
    /// State of the sender when the receiver had read everything.
    at_end: Mutex<Option<EndState>>,
    /// Whether the flow is over.
    is_over: AtomicBool,
    failure: Mutex<Option<String>>,
}

/// Results of the two threads of a flow.
pub(super) struct ThreadResults {
    pub(super) meter: Meter,
    /// CPU time of writer and reader.
    pub(super) busy: [Duration; 2],
}

/// Requests real-time priority for the calling thread, an application at an end with that stack.
///
/// A kernel that receives defers ACKs until its application has read. If that waits for a CPU, the
/// ACKs come late and together, and so does the data that they release. An engine has a thread of
/// its own.
fn application_priority(stack: Stack) -> RealtimePriority {
    match stack {
        Stack::Kernel => RealtimePriority::ask(),
        Stack::Engine => RealtimePriority::default(),
    }
}

/// CPU time of the calling thread.
fn busy() -> Duration {
    Duration::from_nanos(clock::thread().unsigned_abs())
}

impl<'a> Running<'a> {
    /// Flow of that number; its receiver listens from now on.
    pub(super) fn new(
        scenario: &'a Scenario,
        number: usize,
        testbed: &'a Testbed,
        goes_on: &'a AtomicBool,
    ) -> Result<Self, LiveError> {
        let flow = &scenario.flows[number];
        let ports = PORTS.map(|first| first + number as u16);
        Ok(Self {
            flow,
            scenario,
            testbed,
            goes_on,
            began: testbed.emulator.began(),
            ports,
            listening: end::listen(testbed, &scenario.receiver, flow, ports[1])?,
            sender: OnceLock::new(),
            receiver: OnceLock::new(),
            opened: OnceLock::new(),
            is_written: AtomicBool::new(false),
            pause: Mutex::new((None, Duration::ZERO)),
            delivered: AtomicU64::new(0),
            tally: Mutex::new(None),
            at_end: Mutex::new(None),
            is_over: AtomicBool::new(false),
            failure: Mutex::new(None),
        })
    }

    fn goes_on(&self) -> bool {
        self.goes_on.load(Ordering::SeqCst) && !self.is_over.load(Ordering::SeqCst)
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Current state of the sender, once it exists.
    pub(super) fn sample(&self) -> Option<EndState> {
        let opened = self.sender.get()?;
        opened.end.sample(lock(&self.tally).as_mut())
    }

    /// State of the sender when the receiver had read everything, if it has.
    pub(super) fn state_at_end(&self) -> Option<EndState> {
        lock(&self.at_end).clone()
    }

    /// Time for which the reading application has paused.
    pub(super) fn paused(&self) -> Duration {
        let (since, length) = *lock(&self.pause);
        length + since.map_or(Duration::ZERO, |at| now().saturating_since(at))
    }

    /// Failure of the flow as its applications saw it, if any.
    pub(super) fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Aborts the open ends of the flow.
    pub(super) fn abort(&self) {
        let opened = [&self.sender, &self.receiver].into_iter();
        for opened in opened.filter_map(OnceLock::get) {
            opened.end.abort();
        }
    }

    /// Runs the flow until it or the run is over.
    pub(super) fn run(&self) -> Result<ThreadResults, LiveError> {
        thread::scope(|scope| {
            let writer = thread::Builder::new()
                .name("writer".into())
                .spawn_scoped(scope, || self.send())
                .map_err(LiveError::Thread)?;
            let read = self.receive();
            let written = writer.join();
            let (written, sender_busy) =
                written.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let (meter, receiver_busy) = read?;
            let read = meter.total().as_u64();
            if lock(&self.at_end).is_some() && read != written {
                let name = self.flow.name.clone();
                return Err(LiveError::Lost {
                    name,
                    written,
                    read,
                });
            }
            Ok(ThreadResults {
                meter,
                busy: [sender_busy, receiver_busy],
            })
        })
    }

    fn fail(&self, why: impl Into<String>) {
        lock(&self.failure).get_or_insert(why.into());
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// Publishes an opened end for the observer. A run that ended just before could not have
    /// aborted it.
    fn publish(&self, place: &OnceLock<Opened>, end: End, at: Instant) {
        let _ = place.set(Opened { end, at });
        if !self.goes_on.load(Ordering::SeqCst) {
            self.abort();
        }
    }

    /// Runs the sending application; returns the bytes written, and its CPU time.
    fn send(&self) -> (u64, Duration) {
        self.wait_until(self.began + self.flow.start);
        let _ = self.opened.set(now());
        let going = || self.goes_on();
        let opened = end::connect(
            self.testbed,
            &self.scenario.sender,
            self.flow,
            self.ports,
            going,
        );
        let (end, at) = match opened {
            Ok(Some(opened)) => opened,
            Ok(None) => return (0, busy()),
            Err(error) => {
                self.fail(error.to_string());
                return (0, busy());
            }
        };
        if end.stack() == Stack::Kernel {
            let tally = LimitTally::new(at, kernel_name(self.flow));
            *lock(&self.tally) = Some(tally);
        }
        self.publish(&self.sender, end.clone(), at);
        let mut written = 0;
        let done = self.write(&end, at, &mut written);
        // An error after the run was aborted is not a failure of the connection.
        if let Err(error) = done
            && self.goes_on.load(Ordering::SeqCst)
        {
            self.fail(error.to_string());
        }
        self.is_written.store(true, Ordering::Relaxed);
        end.finish();
        (written, busy())
    }

    /// Writes the flow's data, from its establishment at `at` on.
    fn write(&self, end: &End, at: Instant, written: &mut u64) -> std::io::Result<()> {
        end.set_patience(MAX_WRITE)?;
        let mut priority = application_priority(end.stack());
        while self.goes_on() {
            priority.look();
            let left = match self.flow.stop {
                Stop::Bytes(bytes) => bytes.as_u64() - *written,
                Stop::After(span) => {
                    let time = Span::from((at + span).saturating_since(now()));
                    // Near the end, each write ends with the time.
                    if time < MAX_WRITE && !time.is_zero() {
                        end.set_patience(time)?;
                    }
                    if time.is_zero() { 0 } else { PIECE as u64 }
                }
            };
            if left == 0 {
                break;
            }
            *written += end.write(*written, left.min(PIECE as u64))?;
        }
        Ok(())
    }

    /// Runs the receiving application.
    fn receive(&self) -> Result<(Meter, Duration), LiveError> {
        let mut meter = Meter::new(self.scenario.tester.interval);
        let since_start = |at: Instant| Instant::ZERO + at.saturating_since(self.began);
        let Some((end, at)) = self.listening.accept(|| self.goes_on())? else {
            return Ok((meter, busy()));
        };
        meter.start(since_start(at));
        self.publish(&self.receiver, end.clone(), at);
        let reader = &self.scenario.receiver.reader;
        let mut pause = reader.pause;
        let mut next = at;
        let most = reader.read_size.as_u64().min(MAX_READ);
        let mut room = vec![0; usize::try_from(most).unwrap_or(PIECE)];
        let mut priority = application_priority(end.stack());
        loop {
            priority.look();
            let total = meter.total().as_u64();
            let mut wanted = room.len();
            if let Some((after, span)) = pause {
                if total == after.as_u64() {
                    self.pause_for(span);
                    pause = None;
                } else {
                    let left = after.as_u64() - total;
                    wanted = wanted.min(usize::try_from(left).unwrap_or(wanted));
                }
            }
            let mut is_right = true;
            let read = end.read(&mut room[..wanted], |octets| {
                is_right = pattern::is_at(total, octets);
            });
            match read {
                Ok(0) => break self.on_end(),
                Ok(octets) => {
                    meter.on_read(since_start(now()), octets as u64);
                    self.delivered
                        .store(meter.total().as_u64(), Ordering::Relaxed);
                    if let Some(rate) = reader.rate {
                        next = next.max(now()) + rate.time_for(Bytes::new(octets as u64));
                        self.wait_until(next);
                    }
                }
                Err(error) => break self.fail_reading(&error),
            }
            if !is_right {
                let name = self.flow.name.clone();
                return Err(LiveError::Harmed { name, at: total });
            }
        }
        end.finish();
        Ok((meter, busy()))
    }

    /// Pauses the reading application for `span`.
    fn pause_for(&self, span: Duration) {
        let at = now();
        lock(&self.pause).0 = Some(at);
        self.wait_until(at + span);
        *lock(&self.pause) = (None, now().saturating_since(at));
    }

    /// Marks the flow as over, unless the run ended before the stream.
    ///
    /// The abort of a run ends the stream of a kernel's receiver with data still in flight.
    fn on_end(&self) {
        if !self.goes_on.load(Ordering::SeqCst) {
            return;
        }
        *lock(&self.at_end) = self.sample();
        self.is_over.store(true, Ordering::SeqCst);
    }

    fn fail_reading(&self, error: &std::io::Error) {
        if self.goes_on.load(Ordering::SeqCst) {
            self.fail(format!("the receiver: {error}"));
        }
    }

    fn wait_until(&self, at: Instant) {
        while self.goes_on() {
            let left = Span::from(at.saturating_since(now()));
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(MAX_WAIT));
        }
    }
}
