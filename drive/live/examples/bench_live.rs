//! `cargo xtask bench-live`: the engine's throughput on a real device, compared with that of two
//! kernels over a pair of Ethernet devices in the same run.
//!
//! Each figure is the goodput of the reading application in a time window after a warm-up. Rounds
//! go through all cases in succession, so that disturbances of the machine affect them equally. The
//! output has minimum, median and maximum, and the median of the ratios to the pair of kernels in
//! the same round. The engine and its application share CPU 0; the kernel's application has CPU 1.
//! A kernel does protocol work on the CPU that its packet comes from, so it receives the engine's
//! packets on the engine's CPU. All payload is the same memory and is not verified here, but in
//! tests.
//!
//! `cargo run --profile measure -p gigatcp-live --example bench_live -- --only 1500-off` measures
//! one setting only: MTU 1500 or 9000, offloads on or off.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_linux::{SetupError, device, interface, process, socket};
use gigatcp_live::{
    Namespace, Offloads, Options, Scheduling, Stack, Step, TunConfig, Wire, make_pair,
};

/// Bytes per call of an application.
const CALL: usize = 256 * 1024;
const KERNEL: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 1));
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 2));
const PORT: u16 = 5001;
/// Name of the pair's ends.
const PAIR: &str = "pair0";
/// The congestion control of both sides.
const CONGESTION: &str = "cubic";
const ON_THE_FIRST: Scheduling = Scheduling {
    processor: Some(0),
    is_first: false,
};

type Any = Box<dyn std::error::Error + Send + Sync>;

/// Sender and receiver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    KernelToKernel,
    EngineToKernel,
    KernelToEngine,
}

impl Way {
    const ALL: [Self; 3] = [
        Self::KernelToKernel,
        Self::EngineToKernel,
        Self::KernelToEngine,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::KernelToKernel => "kernel -> kernel (veth)",
            Self::EngineToKernel => "engine -> kernel",
            Self::KernelToEngine => "kernel -> engine",
        }
    }
}

#[derive(Clone, Copy)]
struct Setting {
    mtu: u16,
    offloads: bool,
}

impl Setting {
    fn name(self) -> String {
        let on = if self.offloads { "on" } else { "off" };
        format!("{}-{on}", self.mtu)
    }
}

const SETTINGS: [Setting; 4] = [
    Setting {
        mtu: 1500,
        offloads: true,
    },
    Setting {
        mtu: 9000,
        offloads: true,
    },
    Setting {
        mtu: 1500,
        offloads: false,
    },
    Setting {
        mtu: 9000,
        offloads: false,
    },
];

/// Goal for the engine, Gbit/s.
const fn goal(setting: Setting) -> f64 {
    if setting.offloads { 10.0 } else { 3.0 }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_short = words.contains(&"--short");
    let settings: &[Setting] = match *words {
        [] | ["--short"] => &SETTINGS,
        ["--only", name] | ["--short", "--only", name] | ["--only", name, "--short"]
            if let Some(at) = SETTINGS.iter().position(|setting| setting.name() == name) =>
        {
            &SETTINGS[at..=at]
        }
        _ => {
            let names = SETTINGS.map(Setting::name).join(", ");
            eprintln!(
                "bench-live: what is `{}`? There are `--short`, and `--only` with one of {names}",
                words.join(" ")
            );
            return ExitCode::from(2);
        }
    };
    if let Err(error) = Namespace::new() {
        eprintln!("bench-live: {error}");
        if let Some(hint) = error.hint() {
            eprintln!("  {hint}");
        }
        return ExitCode::from(2);
    }
    let (rounds, window) = if is_short {
        (1, Duration::from_millis(500))
    } else {
        (5, Duration::from_secs(2))
    };
    match measure_all(settings, rounds, window) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-live: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure_all(settings: &[Setting], rounds: usize, window: Duration) -> Result<(), Any> {
    let processors = thread::available_parallelism()?;
    println!(
        "one flow, IPv4, {CONGESTION}, {rounds} rounds of {window:?}, {processors} processors"
    );
    println!(
        "Gbit/s of payload            MTU offloads   least  middle    most  ratio   goal      ns a packet"
    );
    for &setting in settings {
        let mut figures = vec![Vec::new(); Way::ALL.len()];
        for _ in 0..rounds {
            for (way, figures) in Way::ALL.into_iter().zip(&mut figures) {
                figures.push(measure(way, setting, window)?);
            }
        }
        for (way, of_way) in Way::ALL.into_iter().zip(&figures) {
            print_line(way, setting, of_way, &figures[0]);
        }
    }
    Ok(())
}

fn print_line(way: Way, setting: Setting, figures: &[Figures], kernels: &[Figures]) {
    let spread = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        (
            values[0],
            values[values.len() / 2],
            values[values.len() - 1],
        )
    };
    let goodputs = |of: &[Figures]| of.iter().map(|figures| figures.goodput).collect();
    let (least, middle, most) = spread(goodputs(figures));
    let ratios = figures
        .iter()
        .zip(kernels)
        .map(|(ours, theirs)| ours.goodput / theirs.goodput);
    let (_, ratio, _) = spread(ratios.collect());
    let Setting { mtu, offloads } = setting;
    let on = if offloads { "on" } else { "off" };
    let verdict = match (way, middle / goal(setting)) {
        (Way::KernelToKernel, _) => String::new(),
        (_, share) if share >= 1.0 => format!("{:4.0}  met", goal(setting)),
        (_, share) => format!("{:4.0}  {:.0} % of it", goal(setting), share * 100.0),
    };
    let packet = match way {
        Way::KernelToKernel => String::new(),
        _ => format!(
            "{:.0}",
            spread(figures.iter().map(|run| run.packet_ns).collect()).1
        ),
    };
    let name = way.name();
    println!(
        "{name:25} {mtu:6} {on:>8} {least:7.2} {middle:7.2} {most:7.2} {ratio:6.2}   {verdict:14} {packet:>6}"
    );
}

/// Results of a run.
#[derive(Clone, Copy)]
struct Figures {
    /// Gbit/s.
    goodput: f64,
    /// CPU time of the engine's thread per packet read or written, super-segments as one. It
    /// excludes other work of the machine.
    packet_ns: f64,
}

/// Measures one run.
fn measure(way: Way, setting: Setting, window: Duration) -> Result<Figures, Any> {
    match way {
        Way::KernelToKernel => measure_kernels(setting, window),
        _ => measure_engine(way, setting, window),
    }
}

fn measure_engine(way: Way, setting: Setting, window: Duration) -> Result<Figures, Any> {
    let namespace = Namespace::new()?;
    let offloads = Offloads {
        checksum: setting.offloads,
        segmentation: setting.offloads,
    };
    let config = TunConfig {
        mtu: setting.mtu,
        offloads,
        kernel: vec![(KERNEL, 24)],
        engine: vec![OTHER],
        ..TunConfig::default()
    };
    let stack = Stack::start_with(Wire::open_tun(&namespace, &config)?, ON_THE_FIRST)?;
    let listener = namespace.run(|| listen(KERNEL))??;
    let options = Options::default().with_congestion(CONGESTION)?;
    let ours = stack.connect((KERNEL, PORT), &options)?;
    let (theirs, _) = listener.accept()?;
    let goodput = match way {
        Way::EngineToKernel => flow(&ours, 0, &theirs, 1, window, || ours.abort()),
        _ => flow(&theirs, 1, &ours, 0, window, || ours.abort()),
    };
    let counters = stack.counters()?;
    stack.stop()?;
    let packets = counters.device.reads + counters.device.writes;
    Ok(Figures {
        goodput: goodput?,
        packet_ns: counters.processor.as_nanos() as f64 / packets as f64,
    })
}

fn measure_kernels(setting: Setting, window: Duration) -> Result<Figures, Any> {
    let (here, there) = (Namespace::new()?, Namespace::new()?);
    make_pair(&here, &there, PAIR)?;
    here.run(|| furnish(KERNEL, setting))??;
    there.run(|| furnish(OTHER, setting))??;
    let listener = here.run(|| listen(KERNEL))??;
    let sender = there.run(|| TcpStream::connect((KERNEL, PORT)))??;
    socket::set_congestion(&sender, CONGESTION)?;
    let (receiver, _) = listener.accept()?;
    let end = || {
        // The flow is over in either case.
        let _ = receiver.shutdown(Shutdown::Both);
        let _ = sender.shutdown(Shutdown::Both);
    };
    Ok(Figures {
        goodput: flow(&sender, 0, &receiver, 1, window, end)?,
        packet_ns: f64::NAN,
    })
}

/// Sets up an end of the pair.
fn furnish(address: IpAddr, setting: Setting) -> Result<(), SetupError> {
    let failed = |cause| SetupError::about(Step::Addresses, PAIR, cause);
    let control = device::control_socket(libc::AF_INET).map_err(failed)?;
    device::set_mtu(&control, PAIR, u32::from(setting.mtu)).map_err(failed)?;
    if !setting.offloads {
        device::switch_off_offloads(PAIR).map_err(failed)?;
    }
    device::bring_up(&control, PAIR).map_err(failed)?;
    interface::assign(&control, PAIR, address, 24).map_err(failed)
}

/// A listener; accepted connections also have the congestion control.
fn listen(address: IpAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind((address, PORT))?;
    socket::set_congestion(&listener, CONGESTION)?;
    Ok(listener)
}

/// Writes on one CPU, reads on another; returns the goodput. It is that of the window after a
/// warm-up of half as much.
fn flow(
    writer: impl Write + Send,
    writes_on: usize,
    reader: impl Read + Send,
    reads_on: usize,
    window: Duration,
    end: impl FnOnce(),
) -> Result<f64, Any> {
    let (received, is_over) = (&AtomicU64::new(0), &AtomicBool::new(false));
    thread::scope(|scope| {
        let writing = scope.spawn(move || write_until(writer, writes_on, is_over));
        let reading = scope.spawn(move || read_until(reader, reads_on, received, is_over));
        thread::sleep(window / 2);
        let (before, began) = (received.load(Ordering::Relaxed), Instant::now());
        thread::sleep(window);
        let octets = received.load(Ordering::Relaxed) - before;
        let elapsed = began.elapsed();
        is_over.store(true, Ordering::Relaxed);
        end();
        for done in [writing.join(), reading.join()] {
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(octets as f64 * 8.0 / elapsed.as_secs_f64() / 1e9)
    })
}

/// An error unless the flow is over.
fn tolerate(error: std::io::Error, is_over: &AtomicBool) -> Result<(), Any> {
    if is_over.load(Ordering::Relaxed) {
        Ok(())
    } else {
        Err(error.into())
    }
}

fn write_until(mut writer: impl Write, on: usize, is_over: &AtomicBool) -> Result<(), Any> {
    process::pin_to_processor(on)?;
    let octets = vec![7; CALL];
    while !is_over.load(Ordering::Relaxed) {
        if let Err(error) = writer.write_all(&octets) {
            return tolerate(error, is_over);
        }
    }
    Ok(())
}

fn read_until(
    mut reader: impl Read,
    on: usize,
    received: &AtomicU64,
    is_over: &AtomicBool,
) -> Result<(), Any> {
    process::pin_to_processor(on)?;
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
