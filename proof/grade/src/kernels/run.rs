//! Runs a case: builds it, captures it, reads its counters and writes its label.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::apps::Done;
use super::corpus::Place;
use super::emulated;
use super::facts::{Facts, ProcessFacts, TcFacts};
use super::forward::counters::PathCounters;
use super::group::Group;
use super::label::Label;
use super::labeling;
use super::process::{self, Running, Start, spawn};
use super::sample::{self, Moment, Sampler, now_ns};
use super::spec::{Cpu, Host, Net, Program, Role, Spec, Task};
use super::taps::{BLOCK, Tap};
use super::topology::{ROUTER, Topology};

/// Programs for running cases.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The `gigatcp` command.
    pub gigatcp: PathBuf,
    /// Path of this program.
    pub own: PathBuf,
}

/// The forwarder's process.
struct Forwarder {
    running: Running,
    out: BufReader<std::process::ChildStdout>,
    hold: fs::File,
}

impl Forwarder {
    fn start(tools: &Tools, namespace: RawFd, config: &Path) -> Result<Self, String> {
        let mut ends = [0; 2];
        // SAFETY: the array has room for both descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
            return Err("no pipe".into());
        }
        // SAFETY: both descriptors are new.
        let (read, hold) = unsafe {
            use std::os::fd::FromRawFd;
            (
                fs::File::from_raw_fd(ends[0]),
                fs::File::from_raw_fd(ends[1]),
            )
        };
        let mut command = Command::new(&tools.own);
        command.arg("forward").arg(config).stdout(Stdio::piped());
        let mut child =
            process::spawn_reading(&mut command, namespace, &Start::default(), read.into())
                .map_err(|error| format!("forwarder: {error}"))?;
        let out = child.stdout.take().ok_or("the forwarder has no stdout")?;
        let mut forwarder = Self {
            running: Running {
                child,
                name: "forwarder".into(),
            },
            out: BufReader::new(out),
            hold,
        };
        let mut line = String::new();
        let _ = forwarder.out.read_line(&mut line);
        if line.trim() != "ready" {
            return Err(format!("the forwarder did not start: {line}"));
        }
        Ok(forwarder)
    }

    fn finish(mut self) -> Option<PathCounters> {
        drop(self.hold);
        let mut line = String::new();
        self.out.read_line(&mut line).ok()?;
        self.running.wait(Duration::from_secs(2));
        serde_json::from_str(&line).ok()
    }
}

/// State of a shaper: monotonic time, bytes waiting, bytes sent.
type Backlog = (u64, i64, i64);

/// Thread that samples a shaper.
struct TcWatch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(TcFacts, Vec<Backlog>)>,
}

impl TcWatch {
    fn start(namespace: RawFd, interface: String) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut facts = TcFacts::default();
            let mut samples = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let line = format!("tc -s -j qdisc show dev {interface}");
                let text = process::read(namespace, &line).unwrap_or_default();
                let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
                let number = |name: &str| value[0][name].as_u64().unwrap_or(0);
                facts.bytes = number("bytes");
                facts.drops = number("drops");
                facts.overlimits = number("overlimits");
                facts.max_backlog = facts.max_backlog.max(number("backlog"));
                samples.push((now_ns(), number("backlog") as i64, facts.bytes as i64));
                thread::sleep(Duration::from_millis(150));
            }
            (facts, samples)
        });
        Self { stop, thread }
    }

    fn finish(self) -> (TcFacts, Vec<Backlog>) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Running program of a case.
struct Started {
    task: Task,
    running: Running,
    group: Option<Group>,
    began: Instant,
    cpu_s: f64,
    elapsed_s: f64,
}

/// Running case.
struct Run<'a> {
    spec: &'a Spec,
    tools: &'a Tools,
    topology: Topology,
    at: PathBuf,
    programs: Vec<Started>,
    napi: Option<(Group, u32, f64)>,
}

fn words(task: &Task, tools: &Tools, addresses: &[String; 2]) -> Result<Vec<String>, String> {
    let place = |text: &str| {
        text.replace("@SENDER", &addresses[0])
            .replace("@RECEIVER", &addresses[1])
    };
    Ok(match &task.program {
        Program::App(app) => {
            let spec = serde_json::to_string(app).map_err(|error| error.to_string())?;
            let own = tools.own.to_string_lossy().into_owned();
            vec![own, "app".into(), place(&spec)]
        }
        Program::System(words) => words.iter().map(|word| place(word)).collect(),
    })
}

impl Run<'_> {
    fn start_task(&mut self, number: usize, task: &Task) -> Result<(), String> {
        let words = words(task, self.tools, &self.topology.addresses)?;
        let mut start = Start::default();
        let mut group = None;
        match task.cpu {
            Cpu::Preferred => start.nice = -15,
            Cpu::Quota { share, period_us } => {
                start.nice = -15;
                let name = format!("{}-{number}", self.spec.seed);
                let made = Group::new(&name, share, period_us)
                    .map_err(|error| format!("control group: {error}"))?;
                start.group = Some(made.door());
                group = Some(made);
            }
            Cpu::Shared { nice } => {
                start.nice = nice;
                start.processor = Some(1);
            }
            Cpu::Hog => start.processor = Some(1),
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let namespace = self.topology.namespace(task.host);
        let child = spawn(&mut command, namespace, &start)
            .map_err(|error| format!("{}: {error}", words[0]))?;
        let running = Running {
            child,
            name: format!("{:?}", task.host).to_lowercase(),
        };
        self.programs.push(Started {
            task: task.clone(),
            running,
            group,
            began: Instant::now(),
            cpu_s: 0.0,
            elapsed_s: 0.0,
        });
        if let Role::Server(port) = task.role {
            self.await_listener(namespace, port)?;
        }
        Ok(())
    }

    fn await_listener(&self, namespace: RawFd, port: u16) -> Result<(), String> {
        let until = Instant::now() + Duration::from_secs(5);
        let wanted = format!(":{port:04X} ");
        while Instant::now() < until {
            let is_there = process::read(namespace, "cat /proc/self/net/tcp /proc/self/net/tcp6")
                .map_err(|error| error.to_string())?
                .lines()
                .any(|line| {
                    let mut words = line.split_whitespace().skip(1);
                    let local = words.next().unwrap_or_default();
                    format!("{local} ").ends_with(&wanted) && words.nth(1) == Some("0A")
                });
            if is_there {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(format!("nothing listens on port {port}"))
    }

    /// Runs the receiver's packet processing in a thread with a quota.
    fn throttle_napi(&mut self) -> Result<(), String> {
        let Some((share, period_us)) = self.spec.napi_quota else {
            return Ok(());
        };
        let before = napi_threads();
        self.topology.sysfs(&[("threaded", "1".to_owned())])?;
        thread::sleep(Duration::from_millis(50));
        let fresh = napi_threads()
            .into_iter()
            .find(|thread| !before.contains(thread));
        let thread = fresh.ok_or("no thread of the receiver's interface")?;
        let group = Group::new(&format!("{}-napi", self.spec.seed), share, period_us)
            .map_err(|error| format!("control group: {error}"))?;
        group
            .admit(thread)
            .map_err(|error| format!("control group: {error}"))?;
        self.napi = Some((group, thread, share));
        Ok(())
    }

    /// Waits for the main program, sampling CPU times until then.
    fn watch(&mut self) {
        let until = Instant::now() + Duration::from_secs_f64(self.spec.seconds + 6.0);
        loop {
            for program in &mut self.programs {
                let cpu_s = program.running.cpu_s();
                if cpu_s > program.cpu_s {
                    program.cpu_s = cpu_s;
                    program.elapsed_s = program.began.elapsed().as_secs_f64();
                }
            }
            let is_over = self
                .programs
                .iter_mut()
                .filter(|program| program.task.role == Role::Main)
                .all(|program| program.running.wait(Duration::ZERO));
            if is_over || Instant::now() > until || process::is_interrupted() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the programs and reads their results.
    fn reap(&mut self, facts: &mut Facts) {
        for program in &mut self.programs {
            let name = program.running.name.clone();
            let is_app = matches!(program.task.program, Program::App(_));
            let counts = program.task.role != Role::Background;
            if is_app && counts && program.running.wait(Duration::from_millis(700)) {
                let text = program.running.printed();
                if let Ok(done) = serde_json::from_str::<Done>(&text) {
                    facts.done.insert(name.clone(), done);
                }
            }
            if !counts {
                continue;
            }
            let throttled = program.group.as_ref().map(Group::throttled);
            let allowed = match program.task.cpu {
                Cpu::Quota { share, .. } => share,
                _ => 1.0,
            };
            facts.processes.push(ProcessFacts {
                name,
                cpu_s: program.cpu_s,
                elapsed_s: program.elapsed_s,
                allowed,
                throttled: throttled.map_or(0.0, |throttling| {
                    throttling.throttled / throttling.periods.max(1.0)
                }),
            });
        }
        if let Some((group, _, share)) = &self.napi {
            let counted = group.throttled();
            facts.processes.push(ProcessFacts {
                name: "receiver napi".into(),
                allowed: *share,
                throttled: counted.throttled / counted.periods.max(1.0),
                ..ProcessFacts::default()
            });
        }
    }

    /// Packets dropped by the receiving interface's ring.
    fn ring_drops(&self) -> u64 {
        let line = format!("ip -s -j link show dev {}", ROUTER[1]);
        let router = self.topology.namespace(Host::Router);
        let text = process::read(router, &line).unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        value[0]["stats64"]["tx"]["dropped"].as_u64().unwrap_or(0)
    }

    fn taps(&self) -> Result<Vec<Tap>, String> {
        let is_nano = !self.spec.seed.is_multiple_of(3);
        let [near, far] = &self.topology.interfaces;
        let mut places = vec![
            (Place::Sender, Host::Sender, near.as_str()),
            (Place::Receiver, Host::Receiver, far.as_str()),
        ];
        if self.topology.emulated.is_none() {
            let middle = ROUTER[usize::from(self.spec.middle_behind)];
            places.push((Place::Middle, Host::Router, middle));
        }
        places
            .into_iter()
            .map(|(place, host, interface)| {
                let namespace = self.topology.namespace(host);
                Tap::start(place, namespace, interface, &self.at, is_nano)
            })
            .collect()
    }
}

fn napi_threads() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let process = entry.file_name().to_string_lossy().parse().ok()?;
            let name = fs::read_to_string(entry.path().join("comm")).ok()?;
            name.starts_with("napi/").then_some(process)
        })
        .collect()
}

/// Runs a case. Its files are written into `at`, which must not exist.
///
/// # Errors
/// If a part of the case could not be created or started.
pub fn run(spec: &Spec, tools: &Tools, at: &Path) -> Result<Label, String> {
    fs::create_dir_all(at).map_err(|error| format!("{}: {error}", at.display()))?;
    let topology = Topology::new(spec, &tools.gigatcp, at)?;
    let mut run = Run {
        spec,
        tools,
        topology,
        at: at.to_owned(),
        programs: Vec::new(),
        napi: None,
    };
    let mut facts = Facts::default();
    let before = processor_times();
    let moments = observe(&mut run, &mut facts)?;
    facts.steal = stolen(before, processor_times());
    drop(run.programs);
    if let Some(emulated) = run.topology.emulated.take() {
        facts.emulate = emulated.finish();
        let counters = facts.emulate.as_ref();
        facts.path = counters.map(|value| emulated::counters(value, spec.rate_bps));
    }
    read_samples(&mut facts, &moments);
    let label = labeling::label(spec, facts, at)?;
    Ok(label)
}

/// CPU time since boot: total and steal.
fn processor_times() -> [u64; 2] {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let words = line.split_whitespace().skip(1).take(8);
    let times: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    [times.iter().sum(), times.get(7).copied().unwrap_or(0)]
}

fn stolen(before: [u64; 2], after: [u64; 2]) -> f64 {
    let [all, stolen] = [after[0] - before[0], after[1] - before[1]];
    stolen as f64 / all.max(1) as f64
}

/// Starts everything, waits, and stops it; measurements go into `facts`.
fn observe(run: &mut Run<'_>, facts: &mut Facts) -> Result<[Vec<Moment>; 2], String> {
    let spec = run.spec;
    let router = run.topology.namespace(Host::Router);
    let forwarder = match &spec.net {
        Net::Forwarder(path) => {
            let config = run.at.join("path.json");
            let text = serde_json::to_string(path).map_err(|error| error.to_string())?;
            fs::write(&config, text).map_err(|error| error.to_string())?;
            let forwarder = Forwarder::start(run.tools, router, &config)?;
            let _ = fs::remove_file(config);
            Some(forwarder)
        }
        _ => None,
    };
    run.throttle_napi()?;
    let taps = run.taps()?;
    let every = Duration::from_millis(if spec.seconds < 1.5 { 10 } else { 30 });
    let samplers = [Host::Sender, Host::Receiver]
        .map(|host| Sampler::start(run.topology.namespace(host), every));
    let watch = spec.tc.as_ref().map(|tc| {
        let (host, name) = if tc.on_sender {
            (Host::Sender, run.topology.interfaces[0].clone())
        } else {
            (Host::Router, ROUTER[1].to_owned())
        };
        TcWatch::start(run.topology.namespace(host), name)
    });
    let mut tasks: Vec<Task> = spec.tasks.clone();
    tasks.sort_by_key(|task| match task.role {
        Role::Server(_) => 0,
        Role::Background => 1,
        Role::Main => 2,
    });
    for (number, task) in tasks.iter().enumerate() {
        run.start_task(number, task)?;
    }
    run.watch();
    thread::sleep(Duration::from_secs_f64(0.1 + 1.5 * spec.rtt_s));
    let moments = samplers.map(Sampler::finish);
    if let Some(watch) = watch {
        let (tc, samples) = watch.finish();
        facts.tc = Some(tc);
        let origin = forwarder.is_none().then(|| origin(&moments[0])).flatten();
        keep_shaper(facts, &samples, origin);
    }
    thread::sleep(BLOCK);
    for tap in taps {
        let (place, counted) = tap.finish();
        facts
            .captures
            .insert(format!("{place:?}").to_lowercase(), counted);
    }
    facts.path = forwarder.and_then(Forwarder::finish);
    if let (Some(tc), Some(path)) = (&mut facts.tc, &facts.path) {
        let shift = path.forward.first_data_ns as i64 / 1000;
        tc.samples.iter_mut().for_each(|sample| sample[0] -= shift);
    }
    run.reap(facts);
    if run.topology.emulated.is_none() {
        facts.ring_drops = run.ring_drops();
    }
    Ok(moments)
}

fn keep_shaper(facts: &mut Facts, samples: &[Backlog], origin: Option<u64>) {
    if let Some(tc) = &mut facts.tc {
        let shift = origin.unwrap_or(0) as i64 / 1000;
        let rows = samples.iter();
        tc.samples = rows
            .map(|(at, backlog, bytes)| [*at as i64 / 1000 - shift, *backlog, *bytes])
            .collect();
    }
}

/// Time at which the sender's largest connection was first seen.
fn origin(moments: &[Moment]) -> Option<u64> {
    let ports = sample::largest(moments, "tcpi_bytes_sent")?;
    let first = moments.iter().find(|(_, sockets)| {
        sockets
            .iter()
            .any(|socket| socket.ports == ports && socket.word("tcpi_bytes_sent") > 0)
    });
    first.map(|(at, _)| *at)
}

fn read_samples(facts: &mut Facts, moments: &[Vec<Moment>; 2]) {
    let [sent, received] = moments;
    let Some(ports) = sample::largest(sent, "tcpi_bytes_sent") else {
        return;
    };
    let counted = facts
        .path
        .as_ref()
        .map_or(0, |path| path.forward.first_data_ns);
    let origin = if counted > 0 {
        counted
    } else {
        origin(sent).unwrap_or(0)
    };
    facts.sender = sample::series(sent, ports, origin);
    facts.receiver = sample::series(received, [ports[1], ports[0]], origin);
    facts.sender.clean();
    facts.receiver.clean();
}
