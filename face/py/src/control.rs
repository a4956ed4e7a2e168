//! Congestion controls written in Python, as implementations of the engine's trait.
//!
//! The engine builds a control with a plain function of a registry entry. A Python control
//! therefore takes one of [`SLOTS`] slots, each with its own function, while its run or world
//! exists. `cwnd`, `ssthresh` and other results are attributes of the object, read after each call.
//! A method that the object does not have is not called.
//!
//! An exception ends the run and is raised there. Until then the window does not change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gigatcp_tcp::congestion::{self, CongestionKind, Controller, Entry, Family};
use gigatcp_tcp::events::Phase;
use gigatcp_units::{Bytes, Duration, Instant, Rate};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::failed;

/// Maximum number of Python controls in use at the same time.
const SLOTS: usize = 32;

/// The first exception of a control.
type Failure = Arc<Mutex<Option<PyErr>>>;

/// A slot in use: the constructor of the control, and where its exception is stored.
type Slot = Option<(Py<PyAny>, Failure)>;

static PLACES: Mutex<[Slot; SLOTS]> = Mutex::new([const { None }; SLOTS]);

/// Registry entries by slot and name; an entry exists as long as the process.
static ENTRIES: Mutex<Option<HashMap<(usize, String), &'static Entry>>> = Mutex::new(None);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A slot in use, released when this is dropped.
pub(crate) struct Registration {
    place: usize,
    entry: &'static Entry,
    failure: Failure,
}

/// Controls, each with the name of its flow; `None` is for all flows.
pub(crate) type Controls = Vec<(Option<String>, Registration)>;

impl Registration {
    /// Controls of `control=`: one for all flows, or a dictionary by flow.
    pub(crate) fn all(control: Option<&Bound<'_, PyAny>>) -> PyResult<Controls> {
        let Some(control) = control else {
            return Ok(Vec::new());
        };
        let Ok(by_flow) = control.cast::<PyDict>() else {
            return Ok(vec![(None, Self::new(control)?)]);
        };
        let pairs = by_flow.iter();
        pairs
            .map(|(flow, control)| Ok((Some(flow.extract()?), Self::new(&control)?)))
            .collect()
    }

    fn new(make: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !make.is_callable() {
            let what = format!("{make} is no control");
            return Err(failed(
                what,
                "nothing was run",
                "a class, or a function of its configuration",
            ));
        }
        let name = make.getattr("name").or_else(|_| make.getattr("__name__"));
        let name = name
            .and_then(|name| name.extract())
            .unwrap_or_else(|_| "python".to_owned());
        let failure = Failure::default();
        let mut places = locked(&PLACES);
        let Some(place) = places.iter().position(Option::is_none) else {
            let what = format!("{SLOTS} controls of Python are in use");
            return Err(failed(
                what,
                "nothing was run",
                "let go of worlds that are not needed",
            ));
        };
        places[place] = Some((make.clone().unbind(), Arc::clone(&failure)));
        drop(places);
        Ok(Self {
            place,
            entry: entry(place, name),
            failure,
        })
    }

    pub(crate) const fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Whether one of the controls has raised an exception.
    pub(crate) fn have_failed(controls: &Controls) -> bool {
        let mut all = controls.iter();
        all.any(|(_, one)| locked(&one.failure).is_some())
    }

    /// Raises the exception of a control, if there is one.
    pub(crate) fn check(controls: &Controls) -> PyResult<()> {
        let mut failures = controls
            .iter()
            .filter_map(|(_, one)| locked(&one.failure).take());
        failures.next().map_or(Ok(()), Err)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let slot = locked(&PLACES)[self.place].take();
        Python::attach(|_| drop(slot));
    }
}

fn entry(place: usize, name: String) -> &'static Entry {
    locked(&ENTRIES)
        .get_or_insert_with(HashMap::new)
        .entry((place, name))
        .or_insert_with_key(|(place, name)| {
            Box::leak(Box::new(Entry {
                name: Box::leak(name.clone().into_boxed_str()),
                summary: "written in Python",
                family: Family::RateBased,
                reacts_to: "what its methods read",
                deployed: "nowhere",
                draws: false,
                build: BUILDERS[*place],
            }))
        })
}

type Build = fn(&congestion::Config) -> Box<dyn Controller>;

macro_rules! builders {
    ($($place:literal)*) => { [$(build::<$place>),*] };
}

/// Build function of each slot.
const BUILDERS: [Build; SLOTS] = builders!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
);

fn build<const PLACE: usize>(config: &congestion::Config) -> Box<dyn Controller> {
    let slot = Python::attach(|py| {
        let places = locked(&PLACES);
        let slot = places[PLACE].as_ref();
        slot.map(|(make, failure)| (make.clone_ref(py), Arc::clone(failure)))
    });
    Box::new(Control::new(slot, config))
}

/// Initial values of a control.
#[pyclass(frozen, get_all, module = "gigatcp")]
pub struct Config {
    smss_bytes: u32,
    initial_window_bytes: u64,
    /// In segments; None: the control's default.
    initial_ssthresh: Option<u32>,
    seed: u64,
}

/// Information of an arriving ACK.
#[pyclass(frozen, get_all, module = "gigatcp")]
pub struct Ack {
    now_ns: u64,
    acked_bytes: u64,
    sacked_bytes: u64,
    delivered_bytes: u64,
    total_delivered_bytes: u64,
    lost_bytes: u64,
    ce_marked_bytes: u64,
    phase: &'static str,
    prior_in_flight_bytes: u64,
    in_flight_bytes: u64,
    cwnd_limited: bool,
    rtt_ns: Option<u64>,
    srtt_ns: Option<u64>,
    min_rtt_ns: Option<u64>,
    round_end: bool,
    delivery_rate_bps: Option<u64>,
    app_limited: bool,
}

/// A congestion event: at most one per window of data.
#[pyclass(frozen, get_all, module = "gigatcp")]
pub struct Congestion {
    now_ns: u64,
    /// `loss`, `ecn` or `timeout`.
    kind: &'static str,
    flight_size_bytes: u64,
    pipe_bytes: u64,
}

/// Bytes of one transmission that were marked lost.
#[pyclass(frozen, get_all, module = "gigatcp")]
pub struct Lost {
    now_ns: u64,
    bytes: u64,
    tx_in_flight_bytes: u64,
    is_retransmission: bool,
}

/// Data that is being sent.
#[pyclass(frozen, get_all, module = "gigatcp")]
pub struct Sent {
    now_ns: u64,
    bytes: u64,
    in_flight_bytes: u64,
    app_limited: bool,
}

/// Bounds for a window that was not validated (RFC 7661).
#[pyclass(frozen, get_all, module = "gigatcp")]
pub struct WindowBounds {
    cwnd_at_most_bytes: u64,
    ssthresh_at_least_bytes: u64,
    ssthresh_at_most_bytes: u64,
}

/// A Python object, and its attributes after the last call.
#[derive(Debug)]
struct Control {
    object: Option<Py<PyAny>>,
    failure: Failure,
    smss: u64,
    cwnd: Bytes,
    ssthresh: Bytes,
    pacing_rate: Option<Rate>,
    send_quantum: Option<Bytes>,
    reduces_by_itself: bool,
    is_scalable: bool,
    has: OptionalMethods,
}

/// Optional methods that the object has.
#[derive(Clone, Copy, Default, Debug)]
struct OptionalMethods {
    lost: bool,
    established: bool,
    sent: bool,
    recovery_end: bool,
    transmit_start: bool,
    unvalidated: bool,
}

impl Control {
    fn new(slot: Slot, config: &congestion::Config) -> Self {
        let mut control = Self {
            object: None,
            failure: Failure::default(),
            smss: u64::from(config.smss),
            cwnd: config.initial_window,
            ssthresh: Bytes::MAX,
            pacing_rate: None,
            send_quantum: None,
            reduces_by_itself: false,
            is_scalable: false,
            has: OptionalMethods::default(),
        };
        let Some((make, failure)) = slot else {
            return control;
        };
        control.failure = failure;
        Python::attach(|py| {
            let made = control.begin(py, &make, config);
            made.unwrap_or_else(|error| control.fail(error));
            drop(make);
        });
        control
    }

    fn begin(
        &mut self,
        py: Python<'_>,
        make: &Py<PyAny>,
        config: &congestion::Config,
    ) -> PyResult<()> {
        let object = make.bind(py).call1((Config {
            smss_bytes: config.smss,
            initial_window_bytes: config.initial_window.as_u64(),
            initial_ssthresh: config.initial_ssthresh,
            seed: config.seed,
        },))?;
        let has = |name| object.hasattr(name);
        self.has = OptionalMethods {
            lost: has("on_lost")?,
            established: has("on_established")?,
            sent: has("on_sent")?,
            recovery_end: has("on_recovery_end")?,
            transmit_start: has("on_transmit_start")?,
            unvalidated: has("on_unvalidated")?,
        };
        self.read(&object)?;
        self.object = Some(object.unbind());
        Ok(())
    }

    /// Reads the attributes of the object.
    fn read(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = object.py();
        let bytes = |name| -> PyResult<Option<Bytes>> {
            let value: Option<f64> = object.getattr(name)?.extract()?;
            Ok(value.map(|value| Bytes::new(value as u64)))
        };
        let cwnd = bytes(pyo3::intern!(py, "cwnd"))?;
        self.cwnd = cwnd.unwrap_or(self.cwnd).max(Bytes::new(self.smss));
        self.ssthresh = bytes(pyo3::intern!(py, "ssthresh"))?.unwrap_or(Bytes::MAX);
        let rate: Option<f64> = object
            .getattr(pyo3::intern!(py, "pacing_rate"))?
            .extract()?;
        self.pacing_rate = rate.map(|rate| Rate::from_bps((rate as u64).max(1)));
        self.send_quantum = bytes(pyo3::intern!(py, "send_quantum"))?;
        self.reduces_by_itself = object
            .getattr(pyo3::intern!(py, "reduces_by_itself"))?
            .extract()?;
        self.is_scalable = object
            .getattr(pyo3::intern!(py, "is_scalable"))?
            .extract()?;
        Ok(())
    }

    /// Calls a method with `arguments`, and reads the attributes afterwards.
    fn call<A>(&mut self, method: &str, arguments: impl FnOnce() -> A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        let Some(object) = self.object.take() else {
            return;
        };
        Python::attach(|py| {
            let bound = object.bind(py);
            let done = bound
                .call_method1(method, arguments())
                .and_then(|_| self.read(bound));
            match done {
                Ok(()) => self.object = Some(object),
                Err(error) => self.fail(error),
            }
        });
    }

    /// Keeps the first exception; the object is not called again.
    fn fail(&mut self, error: PyErr) {
        self.object = None;
        locked(&self.failure).get_or_insert(error);
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            Python::attach(|_| drop(object));
        }
    }
}

impl Controller for Control {
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.max(Bytes::new(self.smss));
        let Some(object) = &self.object else { return };
        // The next call reads it back. An object that refuses it keeps its own.
        Python::attach(|py| drop(object.bind(py).setattr("cwnd", self.cwnd.as_u64())));
    }

    fn on_ack(&mut self, ack: &congestion::Ack) {
        self.call("on_ack", || (Ack::from(ack),));
    }

    fn on_congestion(&mut self, event: &congestion::Congestion) {
        let ssthresh = (self.ssthresh != Bytes::MAX).then_some(self.ssthresh.as_u64());
        let before = (self.cwnd.as_u64(), ssthresh);
        let arguments = Congestion {
            now_ns: event.now.as_nanos(),
            kind: match event.kind {
                CongestionKind::Loss => "loss",
                CongestionKind::Ecn => "ecn",
                CongestionKind::Timeout => "timeout",
            },
            flight_size_bytes: event.flight_size.as_u64(),
            pipe_bytes: event.pipe.as_u64(),
        };
        if let Some(object) = &self.object {
            let set = Python::attach(|py| object.setattr(py, "before", before));
            if let Err(error) = set {
                return self.fail(error);
            }
        }
        self.call("on_congestion", || (arguments,));
    }

    fn on_lost(&mut self, lost: &congestion::Lost) {
        if self.has.lost {
            let arguments = Lost {
                now_ns: lost.now.as_nanos(),
                bytes: lost.octets.as_u64(),
                tx_in_flight_bytes: lost.tx_in_flight.as_u64(),
                is_retransmission: lost.is_retransmission,
            };
            self.call("on_lost", || (arguments,));
        }
    }

    fn on_established(&mut self, now: Instant, srtt: Option<Duration>) {
        if self.has.established {
            let arguments = (now.as_nanos(), srtt.map(Duration::as_nanos));
            self.call("on_established", || arguments);
        }
    }

    fn on_sent(&mut self, sent: &congestion::Sent) {
        if self.has.sent {
            let arguments = Sent {
                now_ns: sent.now.as_nanos(),
                bytes: sent.octets.as_u64(),
                in_flight_bytes: sent.in_flight.as_u64(),
                app_limited: sent.app_limited,
            };
            self.call("on_sent", || (arguments,));
        }
    }

    fn on_recovery_end(&mut self, now: Instant) {
        if self.has.recovery_end {
            self.call("on_recovery_end", || (now.as_nanos(),));
        }
    }

    fn on_transmit_start(&mut self, now: Instant, last_sent_at: Instant) {
        if self.has.transmit_start {
            let arguments = (now.as_nanos(), last_sent_at.as_nanos());
            self.call("on_transmit_start", || arguments);
        }
    }

    fn on_idle_restart(&mut self, now: Instant, restart_window: Bytes) {
        let arguments = (now.as_nanos(), restart_window.as_u64());
        self.call("on_idle_restart", || arguments);
    }

    fn on_unvalidated(&mut self, now: Instant, bounds: &congestion::WindowBounds) {
        if !self.has.unvalidated {
            return self.on_idle_restart(now, bounds.cwnd_at_most);
        }
        let arguments = WindowBounds {
            cwnd_at_most_bytes: bounds.cwnd_at_most.as_u64(),
            ssthresh_at_least_bytes: bounds.ssthresh_at_least.as_u64(),
            ssthresh_at_most_bytes: bounds.ssthresh_at_most.as_u64(),
        };
        self.call("on_unvalidated", || (now.as_nanos(), arguments));
    }

    fn on_smss_change(&mut self, smss: u32) {
        self.smss = u64::from(smss);
        self.call("on_smss_change", || (smss,));
    }

    fn undo(&mut self, now: Instant) {
        self.call("undo", || (now.as_nanos(),));
    }

    fn reduces_by_itself(&self) -> bool {
        self.reduces_by_itself
    }

    fn is_scalable(&self) -> bool {
        self.is_scalable
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn send_quantum(&self) -> Option<Bytes> {
        self.send_quantum
    }
}

impl From<&congestion::Ack> for Ack {
    fn from(ack: &congestion::Ack) -> Self {
        let rate = ack.rate.as_ref().and_then(|rate| rate.rate(ack.min_rtt));
        Self {
            now_ns: ack.now.as_nanos(),
            acked_bytes: ack.acked.as_u64(),
            sacked_bytes: ack.sacked.as_u64(),
            delivered_bytes: ack.delivered.as_u64(),
            total_delivered_bytes: ack.total_delivered.as_u64(),
            lost_bytes: ack.lost.as_u64(),
            ce_marked_bytes: ack.ce_marked.as_u64(),
            phase: phase(ack.phase),
            prior_in_flight_bytes: ack.prior_in_flight.as_u64(),
            in_flight_bytes: ack.in_flight.as_u64(),
            cwnd_limited: ack.cwnd_limited,
            rtt_ns: ack.rtt.map(Duration::as_nanos),
            srtt_ns: ack.srtt.map(Duration::as_nanos),
            min_rtt_ns: ack.min_rtt.map(Duration::as_nanos),
            round_end: ack.round_end,
            delivery_rate_bps: rate.map(Rate::as_bps),
            app_limited: ack.rate.as_ref().is_some_and(|rate| rate.app_limited),
        }
    }
}

pub(crate) const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Open => "open",
        Phase::Disorder => "disorder",
        Phase::Cwr => "cwr",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    }
}
