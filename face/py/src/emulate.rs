//! An emulated path in real time: two network namespaces and the path between them.

use std::sync::Mutex;

use gigatcp_emulate::{Addresses, Emulator, EmulatorConfig, HopChange, Side};
use gigatcp_path::HopConfig;
use gigatcp_plan::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::failed;
use crate::plan::Plan;

/// A path that carries packets of real programs until it is stopped.
#[pyclass(frozen, module = "gigatcp")]
pub struct Emulation {
    emulator: Mutex<Option<Emulator>>,
}

fn over() -> PyErr {
    failed(
        "the path has been stopped",
        "nothing was done",
        "make another: `emulate(plan)`",
    )
}

/// The hops of a plan, in both directions, and the MTUs of its ends.
fn path(scenario: &Scenario) -> PyResult<([Vec<HopConfig>; 2], [u16; 2])> {
    let path = scenario.as_path().ok_or_else(|| {
        let hint = "a plan with `path`, or with links between two nodes";
        failed(
            "the plan's network is not one path",
            "nothing was started",
            hint,
        )
    })?;
    let mtus = [&path.sender, &path.receiver].map(|host| host.mtu);
    Ok((
        path.path(),
        mtus.map(|mtu| u16::try_from(mtu).unwrap_or(u16::MAX)),
    ))
}

fn side(at: &str) -> PyResult<Side> {
    let side = Side::ALL
        .into_iter()
        .zip(["client", "server"])
        .find(|(_, name)| *name == at);
    side.map(|(side, _)| side)
        .ok_or_else(|| failed(format!("there is no end `{at}`"), "", "client or server"))
}

#[pymethods]
impl Emulation {
    /// Creates the namespaces and starts the path. Requires root, or CAP_NET_ADMIN.
    #[new]
    #[pyo3(signature = (plan, *, series=None, seed=None))]
    fn new(
        py: Python<'_>,
        plan: &Bound<'_, PyAny>,
        series: Option<&str>,
        seed: Option<u64>,
    ) -> PyResult<Self> {
        let plan = Plan::of(plan)?;
        let ([forward, reverse], mtu) = path(&plan.one_series(series)?.scenario)?;
        let config = EmulatorConfig {
            forward,
            reverse,
            mtu,
            seed: seed.unwrap_or(plan.checked().seed),
            ..EmulatorConfig::default()
        };
        let started = py.detach(|| Emulator::start(&config, None));
        let emulator = started.map_err(|error| {
            let hint = "run as root, on Linux with network namespaces and /dev/net/tun";
            failed(error, "nothing was started", hint)
        })?;
        Ok(Self {
            emulator: Mutex::new(Some(emulator)),
        })
    }

    /// IPv4 and IPv6 address of an end: `client` or `server`.
    fn address(&self, at: &str) -> PyResult<(String, String)> {
        let Addresses { v4, v6 } = Addresses::of(side(at)?);
        Ok((v4.to_string(), v6.to_string()))
    }

    /// Calls a function on a thread inside an end, and returns its result. Sockets and processes
    /// that it creates stay there.
    fn call(&self, py: Python<'_>, at: &str, function: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let side = side(at)?;
        self.with(|emulator| {
            let namespace = emulator.namespace(side);
            let called = py.detach(|| namespace.run(|| Python::attach(|py| function.call0(py))));
            called.map_err(|error| failed(error, "nothing was called", ""))?
        })
    }

    /// Changes the path to that of another plan, while it carries packets.
    #[pyo3(signature = (plan, *, series=None))]
    fn change(&self, plan: &Bound<'_, PyAny>, series: Option<&str>) -> PyResult<()> {
        let plan = Plan::of(plan)?;
        let (hops, _) = path(&plan.one_series(series)?.scenario)?;
        let changes = Side::ALL.into_iter().zip(hops).flat_map(|(from, hops)| {
            hops.into_iter()
                .enumerate()
                .map(move |(hop, config)| HopChange { from, hop, config })
        });
        self.with(|emulator| {
            let changed = emulator.change(changes.collect());
            changed
                .map(|_| ())
                .map_err(|error| failed(error, "the path is as it was", ""))
        })
    }

    /// Counters of each hop, by direction and name.
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|emulator| {
            let all = PyDict::new(py);
            for (name, way) in ["forward", "reverse"]
                .into_iter()
                .zip(&emulator.snapshot().directions)
            {
                let hops = PyDict::new(py);
                for hop in &way.hops {
                    let one = PyDict::new(py);
                    one.set_item("arrived_packets", hop.counters.arrived.packets)?;
                    one.set_item("delivered_packets", hop.counters.delivered.packets)?;
                    one.set_item("dropped_packets", hop.counters.drops.total().packets)?;
                    hops.set_item(&hop.name, one)?;
                }
                all.set_item(name, hops)?;
            }
            Ok(all)
        })
    }

    /// Ends the path and its namespaces. A second time does nothing.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let emulator = self.emulator.lock().ok().and_then(|mut one| one.take());
        let Some(emulator) = emulator else {
            return Ok(());
        };
        let stopped = py.detach(|| emulator.stop());
        stopped
            .map(|_| ())
            .map_err(|error| failed(error, "its counters are lost", ""))
    }
}

impl Emulation {
    fn with<T>(&self, act: impl FnOnce(&Emulator) -> PyResult<T>) -> PyResult<T> {
        let emulator = self.emulator.try_lock().map_err(|_| {
            failed(
                "another thread uses the path",
                "nothing was done",
                "one thread at a time",
            )
        })?;
        act(emulator.as_ref().ok_or_else(over)?)
    }
}
