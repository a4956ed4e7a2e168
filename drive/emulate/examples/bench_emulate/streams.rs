//! Measures one TCP flow of the kernel at both ends: goodput in a time window after a warm-up. The
//! kernel places sender, receiver and path on CPUs: with fixed CPUs, the one shared with the path
//! limited the flow. All payload is the same memory and is not verified here, but in tests.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration as StdDuration, Instant};

use gigatcp_emulate::{Addresses, Emulator, EmulatorConfig, Side};
use gigatcp_linux::{Namespace, SetupError, Step, device, interface, make_pair, settings, socket};
use gigatcp_path::HopConfig;
use gigatcp_units::Duration;

use crate::{Any, Effort, spread};

/// Bytes per call of an application.
const CALL: usize = 256 * 1024;
const PORT: u16 = 5001;
/// Name of the pair's ends.
const PAIR: &str = "pair0";
const CONGESTION: &str = "cubic";
/// Maximum buffers of a flow: a gigabyte, so that buffers do not limit it.
const BUFFERS: [(&str, &str); 2] = [
    ("net.ipv4.tcp_rmem", "4096 131072 1073741824"),
    ("net.ipv4.tcp_wmem", "4096 16384 1073741824"),
];

/// A case of the measurement.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    mtu: u16,
    offloads: bool,
    rtt_ms: u64,
    /// Whether the kernels are connected by a pair of Ethernet devices, without the path.
    is_pair: bool,
    /// Goal in Gbit/s.
    goal: Option<f64>,
}

const fn case(name: &'static str, mtu: u16, offloads: bool, rtt_ms: u64, goal: f64) -> Case {
    Case {
        name,
        mtu,
        offloads,
        rtt_ms,
        is_pair: false,
        goal: Some(goal),
    }
}

const CASES: [Case; 7] = [
    Case {
        is_pair: true,
        goal: None,
        ..case("two kernels, no path", 1500, true, 0, 0.0)
    },
    case("path of no delay", 1500, true, 0, 20.0),
    case("path of no delay", 9000, true, 0, 20.0),
    case("path of 80 ms", 1500, true, 80, 10.0),
    case("path of 80 ms", 9000, true, 80, 10.0),
    Case {
        is_pair: true,
        goal: None,
        ..case("two kernels, no path", 1500, false, 0, 0.0)
    },
    case("path of no delay", 1500, false, 0, 2.0),
];

/// Measures all cases, round by round.
pub fn measure(effort: Effort) -> Result<(), Any> {
    let Effort { rounds, window } = effort;
    println!(
        "one TCP flow through the emulator, no rate limit, {CONGESTION}, {rounds} rounds of {window:?}"
    );
    println!(
        "                                             Gbit/s of payload        the same per second"
    );
    println!(
        "                              MTU  offloads   least  middle    most   of the path's processor   goal"
    );
    let mut figures = vec![Vec::new(); CASES.len()];
    for _ in 0..rounds {
        for (case, figures) in CASES.iter().zip(&mut figures) {
            figures.push(run(case, window)?);
        }
    }
    for (case, figures) in CASES.iter().zip(&figures) {
        let [least, middle, most] = spread(&figures.iter().map(|run| run.0).collect::<Vec<_>>());
        let [_, capacity, _] = spread(&figures.iter().map(|run| run.1).collect::<Vec<_>>());
        let capacity = if case.is_pair {
            "-".to_string()
        } else {
            format!("{capacity:.2}")
        };
        let offloads = if case.offloads { "on" } else { "off" };
        let verdict = case.goal.map_or(String::new(), |goal| match middle / goal {
            share if share >= 1.0 => format!("{goal:4.0}  met"),
            share => format!("{goal:4.0}  {:.0} % of it", share * 100.0),
        });
        let Case { name, mtu, .. } = case;
        println!(
            "{name:26} {mtu:6} {offloads:>9} {least:7.2} {middle:7.2} {most:7.2}   {capacity:>22}   {verdict}"
        );
    }
    Ok(())
}

/// Goodput in Gbit/s, and bytes carried per second of path CPU time. The second value excludes
/// other work of the machine.
fn run(case: &Case, window: StdDuration) -> Result<(f64, f64), Any> {
    if case.is_pair {
        let ends = [Namespace::new()?, Namespace::new()?];
        make_pair(&ends[0], &ends[1], PAIR)?;
        for (end, side) in ends.iter().zip(Side::ALL) {
            end.run(|| furnish(side, case))??;
        }
        let goodput = flow([&ends[0], &ends[1]], window, window / 2)?;
        return Ok((goodput, f64::NAN));
    }
    let half = HopConfig {
        one_way_delay: Duration::from_millis(case.rtt_ms / 2),
        ..HopConfig::default()
    };
    let config = EmulatorConfig {
        forward: vec![half.clone()],
        reverse: vec![half],
        mtu: [case.mtu; 2],
        offloads: case.offloads,
        settings: BUFFERS
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec(),
        memory: 4 << 30,
        ..EmulatorConfig::default()
    };
    let emulator = Emulator::start(&config, None)?;
    // A long path takes seconds to be filled.
    let warm_up = window / 2 + StdDuration::from_millis(case.rtt_ms * 40);
    let goodput = flow(
        Side::ALL.map(|side| emulator.namespace(side)),
        window,
        warm_up,
    )?;
    for side in Side::ALL {
        if let Some(dropped @ 1..) = emulator.dropped_by_kernel(side) {
            println!(
                "  {}: the kernel at the other end dropped {dropped} that had come through",
                case.name
            );
        }
        if let Some(dropped @ 1..) = emulator.dropped_by_device(side) {
            println!(
                "  {}: the device dropped {dropped} before the path saw them",
                case.name
            );
        }
    }
    let snapshot = emulator.stop()?;
    assert!(
        snapshot.directions.iter().all(|way| way.is_conserved()),
        "conserved"
    );
    let carried = snapshot.directions[0].delivered().bytes.as_u64() as f64 * 8.0 / 1e9;
    Ok((goodput, carried / snapshot.processor.as_secs_f64()))
}

/// Sets up an end of the pair.
fn furnish(side: Side, case: &Case) -> Result<(), SetupError> {
    let failed = |cause| SetupError::about(Step::Addresses, PAIR, cause);
    for (name, value) in BUFFERS {
        settings::write(name, value).map_err(failed)?;
    }
    let control = device::control_socket(libc::AF_INET).map_err(failed)?;
    device::set_mtu(&control, PAIR, u32::from(case.mtu)).map_err(failed)?;
    if !case.offloads {
        device::switch_off_offloads(PAIR).map_err(failed)?;
    }
    device::bring_up(&control, PAIR).map_err(failed)?;
    let address = IpAddr::V4(Addresses::of(side).v4);
    interface::assign(&control, PAIR, address, 24).map_err(failed)
}

/// Runs a flow from the first end to the second; returns Gbit/s in the window.
fn flow(ends: [&Namespace; 2], window: StdDuration, warm_up: StdDuration) -> Result<f64, Any> {
    let server = Addresses::of(Side::Server).v4;
    let listener = ends[1].run(|| TcpListener::bind((server, PORT)))??;
    socket::set_congestion(&listener, CONGESTION)?;
    let sender = ends[0].run(|| TcpStream::connect((server, PORT)))??;
    socket::set_congestion(&sender, CONGESTION)?;
    let (receiver, _) = listener.accept()?;
    let (received, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let writing = scope.spawn(|| write_until(&sender, &is_over));
        let reading = scope.spawn(|| read_until(&receiver, &received, &is_over));
        thread::sleep(warm_up);
        received.store(0, Ordering::Relaxed);
        let began = Instant::now();
        thread::sleep(window);
        let octets = received.load(Ordering::Relaxed);
        let seconds = began.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        for end in [&sender, &receiver] {
            // The flow is over in either case.
            let _ = end.shutdown(Shutdown::Both);
        }
        for done in [writing.join(), reading.join()] {
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(octets as f64 * 8.0 / 1e9 / seconds)
    })
}

fn write_until(mut writer: &TcpStream, is_over: &AtomicBool) -> Result<(), Any> {
    let octets = vec![7; CALL];
    while !is_over.load(Ordering::Relaxed) {
        if let Err(error) = writer.write_all(&octets) {
            return tolerate(error, is_over);
        }
    }
    Ok(())
}

fn read_until(
    mut reader: &TcpStream,
    received: &AtomicU64,
    is_over: &AtomicBool,
) -> Result<(), Any> {
    let mut octets = vec![0; CALL];
    loop {
        match reader.read(&mut octets) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                received.fetch_add(read as u64, Ordering::Relaxed);
            }
            Err(error) => return tolerate(error, is_over),
        }
    }
}

/// An error unless the flow is over.
fn tolerate(error: std::io::Error, is_over: &AtomicBool) -> Result<(), Any> {
    if is_over.load(Ordering::Relaxed) {
        Ok(())
    } else {
        Err(error.into())
    }
}
