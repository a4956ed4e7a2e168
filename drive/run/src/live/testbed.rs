//! Environment of a run in real time: two network namespaces, the plan's path between them, and at
//! each end the kernel or the engine.
//!
//! An engine is at the end of a wire outside any kernel; a kernel has a device in its namespace.
//! Everything is removed with the value, or with the process, however that ends.

use std::io;
use std::net::{IpAddr, SocketAddr};

use gigatcp_emulate::Watch;
use gigatcp_emulate::{Addresses, Emulator, EmulatorConfig, EmulatorError, End, Side, Snapshot};
use gigatcp_linux::settings::write;
use gigatcp_linux::{SetupError, Step, initial_ssthresh};
use gigatcp_live::{Interface, Offloads, Scheduling, Stack as Engine, Wire};
use gigatcp_plan::{Host, Scenario, Stack};
use gigatcp_tcp::IpVersion;
use gigatcp_units::Duration;

use super::{LiveError, settings, unsupported};

/// Queue limit of a device, in packets of 1500 bytes.
const DEVICE_QUEUE: u32 = 10_000;

/// Real-time priority for the engines: a kernel's TCP precedes all threads too.
const AS_A_KERNEL: Scheduling = Scheduling {
    processor: None,
    is_first: true,
};

/// Namespaces, path, and stacks of a run. Senders are at the path's client, receivers at its
/// server.
pub(super) struct Testbed {
    pub(super) emulator: Emulator,
    pub(super) engines: [Option<Engine>; 2],
    ip: IpVersion,
}

/// Results of a testbed after its end.
pub(super) struct TestbedResult {
    pub(super) snapshot: Snapshot,
    pub(super) dropped_by_device: [Option<u64>; 2],
    /// Whether all engines ran with real-time priority, as requested.
    pub(super) engines_first: bool,
}

/// Host at that end.
pub(super) fn host(scenario: &Scenario, side: Side) -> &Host {
    match side {
        Side::Client => &scenario.sender,
        Side::Server => &scenario.receiver,
    }
}

impl Testbed {
    pub(super) fn build(
        scenario: &Scenario,
        seed: u64,
        watches: Vec<Box<dyn Watch>>,
        processor: Option<usize>,
    ) -> Result<Self, LiveError> {
        let [forward, reverse] = scenario.path();
        let hosts = Side::ALL.map(|side| host(scenario, side));
        let config = EmulatorConfig {
            forward,
            reverse,
            seed,
            mtu: hosts.map(mtu),
            queue: DEVICE_QUEUE,
            ends: hosts.map(|host| match host.stack {
                Stack::Engine => End::Wire,
                Stack::Kernel => End::Kernel,
            }),
            processor,
            ..EmulatorConfig::default()
        };
        let mut emulator = Emulator::start(&config, watches)?;
        let mut engines = [None, None];
        for side in Side::ALL {
            let host = host(scenario, side);
            match emulator.take_wire(side) {
                Some(wire) => {
                    let device = Wire::over(wire, interface(side, host));
                    let engine = Engine::start_with(device, AS_A_KERNEL);
                    let place = &mut engines[usize::from(side == Side::Server)];
                    *place = Some(engine.map_err(LiveError::Engine)?);
                }
                None => {
                    if side == Side::Client {
                        set_first_threshold(&emulator, scenario)?;
                    }
                    configure_kernel(&emulator, side, host)?;
                }
            }
        }
        Ok(Self {
            emulator,
            engines,
            ip: scenario.ip,
        })
    }

    /// Engine at that end, if it has one.
    pub(super) fn engine(&self, side: Side) -> Option<&Engine> {
        self.engines[usize::from(side == Side::Server)].as_ref()
    }

    /// An address of that end.
    pub(super) fn address(&self, side: Side, port: u16) -> SocketAddr {
        SocketAddr::new(address(self.ip, side), port)
    }

    /// CPU time of the engine at that end.
    pub(super) fn engine_busy(&self, side: Side) -> Duration {
        let counters = self.engine(side).and_then(|engine| engine.counters().ok());
        counters.map_or(Duration::ZERO, |counters| counters.processor)
    }

    fn engines_are_first(&self) -> bool {
        let is_first = |engine: &Engine| engine.counters().is_ok_and(|counters| counters.is_first);
        self.engines.iter().flatten().all(is_first)
    }

    /// Stops everything, the path first: blocked threads get an error.
    pub(super) fn stop(self) -> Result<TestbedResult, EmulatorError> {
        let dropped_by_device = Side::ALL.map(|side| match self.engine(side) {
            Some(_) => Some(0),
            None => self.emulator.dropped_by_device(side),
        });
        let engines_first = self.engines_are_first();
        let snapshot = self.emulator.stop()?;
        // They end because their wires have ended, as expected here.
        drop(self.engines);
        Ok(TestbedResult {
            snapshot,
            dropped_by_device,
            engines_first,
        })
    }
}

fn mtu(host: &Host) -> u16 {
    u16::try_from(host.mtu).unwrap_or(u16::MAX)
}

fn interface(side: Side, host: &Host) -> Interface {
    let Addresses { v4, v6 } = Addresses::of(side);
    Interface {
        mtu: mtu(host),
        offloads: Offloads::ALL,
        ..Interface::new([IpAddr::V4(v4), IpAddr::V6(v6)])
    }
}

/// Sets the plan's initial ssthresh for the kernel's senders.
fn set_first_threshold(emulator: &Emulator, scenario: &Scenario) -> Result<(), LiveError> {
    let Some(segments) = unsupported::first_threshold(&scenario.flows) else {
        return Ok(());
    };
    let [from, to] = [Side::Client, Side::Server].map(|side| address(scenario.ip, side));
    let set = || {
        initial_ssthresh::set(from, to, segments).map_err(|cause| {
            let about = format!("a first slow-start threshold of {segments} segments");
            SetupError::about(Step::Setting, about, cause)
        })
    };
    emulator.namespace(Side::Client).run(set)??;
    Ok(())
}

fn address(ip: IpVersion, side: Side) -> IpAddr {
    let Addresses { v4, v6 } = Addresses::of(side);
    match ip {
        IpVersion::V4 => IpAddr::V4(v4),
        IpVersion::V6 => IpAddr::V6(v6),
    }
}

/// Configures the kernel of that end.
///
/// Buffers autotune between the plan's limits, no connection reuses metrics of earlier ones, and
/// the plan's settings that the kernel has are applied.
fn configure_kernel(emulator: &Emulator, side: Side, host: &Host) -> Result<(), LiveError> {
    let profile = &host.profile;
    let range = |start: gigatcp_units::Bytes, most: gigatcp_units::Bytes| {
        let max = most.as_u64().clamp(4096, i32::MAX as u64);
        format!("4096 {} {max}", start.as_u64().clamp(4096, max))
    };
    let wanted = [
        (
            "net.ipv4.tcp_rmem",
            range(
                profile.buffers.receive_buffer_start,
                profile.buffers.receive_buffer_max,
            ),
        ),
        (
            "net.ipv4.tcp_wmem",
            range(
                profile.buffers.send_buffer_start,
                profile.buffers.send_buffer_max,
            ),
        ),
        ("net.ipv4.tcp_no_metrics_save", "1".to_owned()),
    ];
    let wanted: Vec<_> = wanted
        .into_iter()
        .chain(settings::set_by_plan(host))
        .collect();
    let write_all = || {
        wanted.iter().try_for_each(|(name, value)| {
            let about = |cause: io::Error| {
                SetupError::about(Step::Setting, format!("{name} = {value}"), cause)
            };
            write(name, value).map_err(about)
        })
    };
    emulator.namespace(side).run(write_all)??;
    Ok(())
}
