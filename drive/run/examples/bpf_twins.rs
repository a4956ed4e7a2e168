//! Congestion controls as BPF objects in the kernel, and their laws in the engine, over one path with
//! the same packets lost.
//!
//! `cargo xtask proof --bpf` compiles the objects of `proof/bpf` with clang and runs this, as root.
//! The argument is their directory. The kernel runs in real time, the engine in virtual time. The
//! windows after each loss are compared, the mean window and the goodput; all of them are expected
//! within [`TOLERANCE`] and [`THRESHOLDS`].

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use gigatcp_plan::record::{FlowRecord, SeriesRecord};
use gigatcp_run::{Backend, Job, Progress, files::PlanDirectory};

/// Relative difference up to which rates and mean windows are the same.
const TOLERANCE: f64 = 0.05;

/// The same for the threshold after a single loss or mark, which depends on the time of ACKs.
const THRESHOLDS: f64 = 0.1;

/// Sender's maximum segment size of both.
const MSS: f64 = 1448.0;

/// A law, and a path where it differs from Reno.
struct Twin {
    law: &'static str,
    path: &'static str,
}

/// Three losses: in slow start, and after some seconds.
const LOSSES: &str = "rate = \"100 Mbit/s\"\nrtt = \"40 ms\"\nlose_packets = [400, 6000, 20000]\n";

/// Marks above 30 waiting packets.
const MARKS: &str = "rate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nmark_above = \"30 packets\"\n";

const TWINS: [Twin; 5] = [
    Twin {
        law: "scalable",
        path: LOSSES,
    },
    Twin {
        law: "highspeed",
        path: LOSSES,
    },
    Twin {
        law: "htcp",
        path: LOSSES,
    },
    Twin {
        law: "westwood",
        path: LOSSES,
    },
    Twin {
        law: "dctcp",
        path: MARKS,
    },
];

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        eprintln!("bpf_twins: give the directory of the objects");
        return ExitCode::from(2);
    };
    println!(
        "Congestion controls as BPF objects in Linux, and in the engine: the same path and losses.\n"
    );
    println!(
        "{:<10} {:>8} {:>8} {:>6} {:>8} {:>8} {:>6}  ssthresh after losses, segments: kernel; engine",
        "", "Mbit/s", "", "ratio", "cwnd", "", "ratio"
    );
    let mut is_same = true;
    for twin in &TWINS {
        match twin.measured(Path::new(&directory)) {
            Ok(is_close) => is_same &= is_close,
            Err(error) => {
                eprintln!("bpf_twins: {}: {error}", twin.law);
                return ExitCode::from(2);
            }
        }
    }
    if is_same {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

impl Twin {
    fn plan(&self, control: &str, stack: &str) -> String {
        let Self { law, path, .. } = self;
        let ecn = if *law == "dctcp" { "classic" } else { "off" };
        format!(
            "name = \"{law}\"\ntitle = \"{law}\"\n[path]\nqueue = \"2 BDP\"\n{path}\
             [sender]\nstack = \"{stack}\"\nprofile = \"linux-6.18\"\nmtu = 1500\necn = \"{ecn}\"\n\
             [receiver]\nstack = \"{stack}\"\nprofile = \"linux-6.18\"\nmtu = 1500\necn = \"{ecn}\"\n\
             [flow]\ncongestion_control = \"{control}\"\nduration = \"10 s\"\n\
             [record]\nsample = \"10 ms\"\n"
        )
    }

    /// Prints the figures of both; whether they are the same.
    fn measured(&self, directory: &Path) -> Result<bool, String> {
        let object = format!("bpf:{}.bpf.o", self.law);
        let kernel = run(&self.plan(&object, "kernel"), Backend::Live, directory)?;
        let engine = run(
            &self.plan(self.law, "engine"),
            Backend::VirtualTime,
            directory,
        )?;
        let [kernel, engine] = [&kernel, &engine].map(|record| Figures::of(&record.flows[0]));
        let ratios = [kernel.mbps / engine.mbps, kernel.cwnd / engine.cwnd];
        let counts = [&kernel, &engine].map(|figures| figures.thresholds.len());
        let mut thresholds = kernel.thresholds.iter().zip(&engine.thresholds);
        let is_close = |ratio: f64, most: f64| (ratio - 1.0).abs() <= most;
        let is_same = counts[0] == counts[1]
            && counts[0] > 0
            && ratios.into_iter().all(|ratio| is_close(ratio, TOLERANCE))
            && thresholds.all(|(kernel, engine)| is_close(kernel / engine, THRESHOLDS));
        println!(
            "{:<10} {:8.2} {:8.2} {:6.3} {:8.1} {:8.1} {:6.3}  {}; {}{}",
            self.law,
            kernel.mbps,
            engine.mbps,
            ratios[0],
            kernel.cwnd,
            engine.cwnd,
            ratios[1],
            listed(&kernel.thresholds),
            listed(&engine.thresholds),
            if is_same { "" } else { "  DIFFERS" },
        );
        Ok(is_same)
    }
}

struct Figures {
    mbps: f64,
    cwnd: f64,
    /// Distinct thresholds in their order, segments.
    thresholds: Vec<f64>,
}

impl Figures {
    fn of(flow: &FlowRecord) -> Self {
        let cwnds: Vec<f64> = flow
            .samples
            .iter()
            .map(|sample| sample.cwnd_bytes as f64 / MSS)
            .collect();
        let mut thresholds: Vec<f64> = Vec::new();
        for threshold in flow
            .samples
            .iter()
            .filter_map(|sample| sample.ssthresh_bytes)
        {
            let segments = threshold as f64 / MSS;
            if thresholds
                .last()
                .is_none_or(|last| (last - segments).abs() > 1.0)
                && thresholds.len() < 4
            {
                thresholds.push(segments);
            }
        }
        let last = flow.samples.last();
        let bytes = last.map_or(0, |sample| sample.delivered_bytes);
        let ns = last.map_or(1, |sample| sample.at_ns);
        Self {
            mbps: bytes as f64 * 8e3 / ns as f64,
            cwnd: cwnds.iter().sum::<f64>() / cwnds.len().max(1) as f64,
            thresholds,
        }
    }
}

fn listed(thresholds: &[f64]) -> String {
    let texts: Vec<String> = thresholds
        .iter()
        .map(|segments| format!("{segments:.0}"))
        .collect();
    texts.join(" ")
}

fn run(text: &str, backend: Backend, directory: &Path) -> Result<SeriesRecord, String> {
    let plan = gigatcp_plan::parse_with("twin", text.as_bytes(), &[], &PlanDirectory(directory));
    let job = Job {
        backend,
        ..Job::of(plan.map_err(|found| found.to_string())?)
    };
    if let Some(refusal) = job.refusal() {
        return Err(format!("{}\n  {}", refusal.message, refusal.hint));
    }
    let records = gigatcp_run::run(&job, &AtomicBool::new(false), &Progress::of(&job), &|_| {});
    records
        .map_err(|error| error.to_string())?
        .pop()
        .ok_or_else(|| "no record".to_owned())
}
