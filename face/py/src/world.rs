//! `World`: runs a simulation step by step. It can be advanced, read and changed in between.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use gigatcp_path::HopConfig;
use gigatcp_plan::{Scenario, Series, Template};
use gigatcp_run::files::PlanDirectory;
use gigatcp_run::{harvest, run::requires_kernel, scenario};
use gigatcp_sim::{EndReason, World as Simulated};
use gigatcp_units::grammar::parse_duration;
use gigatcp_units::{Bytes, Duration, Instant, Rate};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::{Controls, Registration, phase};
use crate::error::{failed, plan_error};
use crate::plan::{Plan, use_controls};
use crate::run::Run;
use crate::wait::released;

/// A world of virtual time that advances step by step.
#[pyclass(frozen, module = "gigatcp")]
pub struct World {
    plan: Py<Plan>,
    series: Series,
    seed: u64,
    controls: Controls,
    state: Mutex<State>,
}

/// Mutable state of the world.
struct State {
    /// None after `result` or an error.
    world: Option<Simulated>,
    ended: Option<EndReason>,
    /// Changes of links so far.
    changes: Vec<String>,
    links: Vec<HopConfig>,
}

/// Links of a scenario, in the order of a world.
fn links(scenario: &Scenario) -> Vec<HopConfig> {
    let all = scenario.forward.iter().chain(&scenario.reverse);
    all.chain(&scenario.links).cloned().collect()
}

fn over() -> PyErr {
    failed(
        "the world is over",
        "nothing was done",
        "make another: `World(plan)`",
    )
}

#[pymethods]
impl World {
    /// A world at time zero, of a series of a plan (by default the first one).
    #[new]
    #[pyo3(signature = (plan, *, series=None, seed=None, control=None))]
    fn new(
        plan: &Bound<'_, PyAny>,
        series: Option<&str>,
        seed: Option<u64>,
        control: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let plan = Plan::of(plan)?;
        let first_seed = seed.unwrap_or(plan.checked().seed);
        let mut series = plan
            .one_series(series)?
            .with_starts(first_seed)
            .into_owned();
        let controls = Registration::all(control)?;
        use_controls(std::slice::from_mut(&mut series), &controls)?;
        if let Some(refusal) = requires_kernel(&series) {
            return Err(failed(refusal.message, "nothing was run", &refusal.hint));
        }
        let world = Simulated::new(scenario::world(&series.scenario, first_seed))
            .map_err(|error| failed(error, "there is no world", ""))?;
        Ok(Self {
            state: Mutex::new(State {
                world: Some(world),
                ended: None,
                changes: Vec::new(),
                links: links(&series.scenario),
            }),
            plan: plan.into(),
            series,
            seed: first_seed,
            controls,
        })
    }

    /// Advances to a time (`"2 s"`, or seconds), or to the end. Returns whether it continues.
    #[pyo3(signature = (until=None))]
    fn advance(&self, py: Python<'_>, until: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let end = until.map_or(Ok(Instant::FAR_FUTURE), instant)?;
        self.with(|state| {
            let world = state.world.as_mut().ok_or_else(over)?;
            if state.ended.is_none() {
                let progress = AtomicU64::new(0);
                let ended = released(py, &self.controls, |stop| {
                    world.advance(end, stop, &progress)
                });
                // The state of a world after an error in the middle of it is unknown.
                if ended.is_err() {
                    state.world = None;
                }
                state.ended = ended?;
            }
            Ok(state.ended.is_none())
        })
    }

    /// Time, in nanoseconds.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        self.look(|world| Ok(world.now().as_nanos()))
    }

    /// Time, in seconds.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        self.look(|world| Ok(world.now().as_nanos() as f64 / 1e9))
    }

    /// Names of its flows.
    #[getter]
    fn flows(&self) -> Vec<String> {
        let flows = self.series.scenario.flows.iter();
        flows.map(|flow| flow.name.clone()).collect()
    }

    /// State of a connection, by number or by the name of its flow.
    #[pyo3(signature = (flow=None))]
    fn flow<'py>(
        &self,
        py: Python<'py>,
        flow: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.look(|world| {
            let number = self.number(world, flow)?;
            let all = PyDict::new(py);
            let sender = world.end(number, 0);
            let delivered = world.end(number, 1).meter().total().as_u64();
            all.set_item("delivered_bytes", delivered)?;
            all.set_item("written_bytes", sender.written())?;
            let Some(connection) = sender.connection() else {
                all.set_item("state", "Closed")?;
                return Ok(all);
            };
            let (info, counters) = (connection.info(), connection.counters());
            let nanos = |time: Option<Duration>| time.map(Duration::as_nanos);
            all.set_item("state", format!("{:?}", info.state))?;
            all.set_item("phase", phase(info.phase))?;
            all.set_item("cwnd_bytes", info.cwnd.as_u64())?;
            let ssthresh = (info.ssthresh != Bytes::MAX).then_some(info.ssthresh.as_u64());
            all.set_item("ssthresh_bytes", ssthresh)?;
            all.set_item("rwnd_bytes", info.snd_wnd.as_u64())?;
            all.set_item("flight_bytes", info.flight_size.as_u64())?;
            all.set_item("pipe_bytes", info.pipe.as_u64())?;
            all.set_item("delivery_rate_bps", info.delivery_rate.map(Rate::as_bps))?;
            all.set_item("smss_bytes", info.smss)?;
            all.set_item("srtt_ns", nanos(info.srtt))?;
            all.set_item("rttvar_ns", nanos(info.rttvar))?;
            all.set_item("min_rtt_ns", nanos(info.min_rtt))?;
            all.set_item("rto_ns", info.rto.as_nanos())?;
            all.set_item("snd_una", info.snd_una)?;
            all.set_item("snd_nxt", info.snd_nxt)?;
            all.set_item("segments_sent", counters.data_segments_sent)?;
            all.set_item("retransmitted_segments", counters.retransmitted_segments)?;
            all.set_item("timeouts", counters.timeouts)?;
            Ok(all)
        })
    }

    /// Counters of each link by its name: packets inside, dropped, and so on.
    #[getter]
    fn hops<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.look(|world| {
            let all = PyDict::new(py);
            for link in world.links() {
                let (counters, one) = (link.counters(), PyDict::new(py));
                one.set_item("arrived_packets", counters.arrived.packets)?;
                one.set_item("delivered_packets", counters.delivered.packets)?;
                one.set_item("dropped_packets", counters.drops.total().packets)?;
                one.set_item("marked_packets", counters.marked.packets)?;
                one.set_item("inside_packets", counters.inside.packets)?;
                one.set_item("rate_bps", link.config().rate.map(Rate::as_bps))?;
                one.set_item("one_way_delay_ns", link.config().one_way_delay.as_nanos())?;
                all.set_item(&link.config().name, one)?;
            }
            Ok(all)
        })
    }

    /// Changes links from now on, by keys of the plan: `change("path.rate=5 Mbit/s")`. Packets
    /// inside stay. A key that changes no link is refused.
    #[pyo3(signature = (*changes))]
    fn change(&self, py: Python<'_>, changes: Vec<String>) -> PyResult<()> {
        self.with(|state| {
            let world = state.world.as_mut().ok_or_else(over)?;
            let plan = self.plan.get();
            let mut all = state.changes.clone();
            all.extend(changes);
            let wanted = self.links_with(py, plan, &all)?;
            let known = state.links.len() == wanted.len();
            let differ = |(old, new): (&HopConfig, &HopConfig)| old != new;
            if !known || !state.links.iter().zip(&wanted).any(differ) {
                return Err(failed(
                    format!("{} changes no link", all.join(", ")),
                    "the world is as it was",
                    "keys of `path` and of links change while a world runs, as path.rate does",
                ));
            }
            for (number, config) in wanted.iter().enumerate() {
                let changed = world.reconfigure(number, config.clone());
                changed.map_err(|error| failed(error, "the world is as it was", ""))?;
            }
            (state.links, state.changes) = (wanted, all);
            Ok(())
        })
    }

    /// Ends the world and returns its result, like `run`.
    fn result(&self, py: Python<'_>) -> PyResult<Run> {
        self.with(|state| {
            let world = state.world.take().ok_or_else(over)?;
            world.check();
            let ended = state.ended.unwrap_or(EndReason::Interrupted);
            let record = harvest::series(&self.series, 0, self.seed, ended, &world.outcome());
            let only = [self.series.name.clone()];
            let plan = self.plan.bind(py).get();
            Ok(Run::of(plan, vec![record], self.seed, 1, &only))
        })
    }
}

impl World {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        // A second thread gets an error: waiting would hold the GIL.
        let mut state = self.state.try_lock().map_err(|_| {
            failed(
                "the world is running",
                "nothing was done",
                "one thread at a time",
            )
        })?;
        act(&mut state)
    }

    fn look<T>(&self, at: impl FnOnce(&Simulated) -> PyResult<T>) -> PyResult<T> {
        self.with(|state| at(state.world.as_ref().ok_or_else(over)?))
    }

    /// The number of a connection.
    fn number(&self, world: &Simulated, flow: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let number = match flow {
            None => 0,
            Some(flow) => match flow.extract::<String>() {
                Ok(name) => {
                    let found = self.flows().iter().position(|known| *known == name);
                    found.unwrap_or(usize::MAX)
                }
                Err(_) => flow.extract()?,
            },
        };
        if number >= world.flows() {
            let what = format!(
                "there is no flow {}",
                flow.map_or_else(String::new, ToString::to_string)
            );
            return Err(failed(what, "", "`world.flows` lists their names"));
        }
        Ok(number)
    }

    fn links_with(
        &self,
        py: Python<'_>,
        plan: &Plan,
        changes: &[String],
    ) -> PyResult<Vec<HopConfig>> {
        let files = PlanDirectory(plan.directory());
        let text = plan.text().as_bytes();
        let template = Template::read(plan.source(), text, plan.overrides(), &files)
            .map_err(|findings| plan_error(py, &findings))?;
        let all = template.plan().series.iter();
        let number = all
            .take_while(|series| series.name != self.series.name)
            .count();
        let cell = template
            .cell(number, changes, &files)
            .map_err(|findings| plan_error(py, &findings))?;
        Ok(links(&cell.scenario))
    }
}

/// A time: text in the grammar of plans, or seconds.
fn instant(time: &Bound<'_, PyAny>) -> PyResult<Instant> {
    if let Ok(seconds) = time.extract::<f64>() {
        if seconds.is_nan() || seconds < 0.0 {
            return Err(failed(
                format!("{seconds} s is no time"),
                "nothing was run",
                "0 or more",
            ));
        }
        return Ok(Instant::ZERO + Duration::from_nanos((seconds * 1e9).round() as u64));
    }
    let text: String = time.extract()?;
    let span = parse_duration(&text);
    let span =
        span.map_err(|error| failed(error, "nothing was run", "as in \"2 s\", or seconds"))?;
    Ok(Instant::ZERO + span)
}
