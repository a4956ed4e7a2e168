//! Runs the emulator, from arguments to the exit status of the command.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_capture::SnapLength;
use gigatcp_emulate::{Emulator, EmulatorConfig, EmulatorError, Side, Snapshot, Watch};
use gigatcp_linux::{PidNamespace, SetupError, Step, settings, terminal};
use gigatcp_report::number::counted;
use gigatcp_run::capture_file::CaptureFile;
use gigatcp_run::live::capture::Capture;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::control::Control;
pub(super) use super::control::send_request;
use super::jobs::{self, Jobs, Serving};
use super::path::{EmulatedPath, Source};
use super::sysctl;
use super::view::{self, MachineDrops};
use super::{Arguments, End};
use super::{runtime, uplink};
use crate::atomic_file::{self, AtomicFile};
use crate::commands::{Outcome, congestion, privilege};
use crate::failure::Failure;
use crate::output;

/// Polling interval for the end of the command.
const STEP: Duration = Duration::from_millis(5);
/// Time between two lines of counters.
const DRAW: Duration = Duration::from_millis(500);
/// Time within which a server must listen; then the command starts anyway.
const PATIENCE: Duration = Duration::from_secs(5);
/// Packets of 1500 octets that wait in a device before it drops.
const DEVICE_QUEUE: u32 = 10_000;

/// Removes what killed paths have left, and reports it.
pub(super) fn clean() -> Result<Outcome, Failure> {
    let sockets = runtime::remove_orphans();
    let uplinks = uplink::undo_orphans();
    let text = match (sockets, uplinks) {
        (0, 0) => "nothing is left of killed paths of this user".to_owned(),
        _ => format!(
            "removed {} and {} of killed paths",
            counted(sockets, "socket"),
            counted(uplinks, "uplink")
        ),
    };
    output::print(&text)?;
    Ok(Outcome::Done)
}

/// Runs the command over the path.
pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    // First of all, or everything would be said by two processes.
    if let Some(status) = privilege::restart_in_user_namespace()? {
        return Ok(Outcome::Exited(status));
    }
    runtime::remove_orphans();
    uplink::undo_orphans();
    let source = Source::of(arguments)?;
    let found = source.find_aloud()?;
    let config = config(arguments, &found)?;
    let mut control = control(arguments, source, found)?;
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::io("listen for Ctrl-C", &error))?;
    atomic_file::signals_are_heard();
    if let Some(file) = &arguments.json {
        // Checked now: after an hour of running the error would come too late.
        AtomicFile::check(file).map_err(|failure| failure.effect("nothing was run"))?;
    }
    let file = arguments.capture.as_ref();
    let begun = file.map(|file| begin(arguments, file)).transpose()?;
    let (watch, capture) = begun.unzip();
    // Forked before the path allocates memory, which the keeper process would share.
    let mut jobs =
        Jobs::new(PidNamespace::new().map_err(|error| privilege::setup_failure(&error))?);
    let emulator = Emulator::start(&config, watch).map_err(|error| failure(&error))?;
    say_settings(&emulator, arguments.control.as_deref());
    let uplink = arguments.uplink.as_ref();
    let uplink = uplink
        .map(|interface| uplink::open(&emulator, interface))
        .transpose()?;
    if let Some(server) = &arguments.server {
        serve(&mut jobs, &emulator, server)?;
    }
    let mut command = Command::new(&arguments.command[0]);
    command.args(&arguments.command[1..]);
    let command = jobs.start(&emulator, command)?;
    let ended = attend(&emulator, control.as_mut(), command, &mut signals);
    jobs.end();
    drop(uplink);
    let machine = Side::ALL.map(|side| MachineDrops {
        unread: emulator.dropped_by_device(side),
        untaken: emulator.dropped_by_kernel(side.other()),
    });
    drop(control);
    let changed = emulator.changed();
    let stopped = emulator.stop().map_err(|error| failure(&error));
    // The capture is finished even if the path failed.
    let packets = capture.map(CaptureInProgress::finish).transpose();
    let snapshot = stopped?;
    let status = ended?;
    if !output::is_quiet() {
        output::say(view::summary(&snapshot, machine, &changed).trim_end());
    }
    if let Some(file) = &arguments.json {
        let record = view::record(&snapshot, machine, &changed, status);
        let text = serde_json::to_string_pretty(&record)
            .map_err(|error| Failure::fault(format!("cannot write JSON: {error}")))?;
        AtomicFile::write(file, format!("{text}\n").as_bytes())?;
    }
    if let (Some(packets), Some(file)) = (packets?, &arguments.capture)
        && !output::is_quiet()
    {
        let packets = counted(packets, "packet");
        output::say(&format!("  {packets} in {}", file.display()));
    }
    Ok(Outcome::Exited(status))
}

/// Starts the server's command.
fn serve(jobs: &mut Jobs, emulator: &Emulator, text: &str) -> Result<(), Failure> {
    let mut server = jobs::shell(text);
    // stdout is reserved for the command's own output.
    server.stdout(Stdio::from(std::io::stderr()));
    match jobs.serve(emulator, server, PATIENCE, || false)? {
        Serving::Listening => {}
        Serving::Ended(status) => {
            output::say(&format!("the server's command has ended already: {status}"));
        }
        Serving::Silent => output::say(&format!(
            "the server's command has no listening socket after {} s; the command is started anyway",
            PATIENCE.as_secs()
        )),
    }
    Ok(())
}

/// A capture in progress; the file appears under its name when it is complete.
struct CaptureInProgress {
    file: AtomicFile,
    handle: CaptureFile,
}

/// Creates the capture before anything runs.
fn begin(
    arguments: &Arguments,
    place: &Path,
) -> Result<(Box<dyn Watch>, CaptureInProgress), Failure> {
    let said = |failure: Failure| failure.effect("nothing was run");
    let file = AtomicFile::begin(place).map_err(said)?;
    let opened = file.handle();
    let out = opened.map_err(|error| said(Failure::at("write", place, &error)))?;
    let begun = Capture::begin_in(out, arguments.side(), arguments.snap_length());
    let (capture, handle) = begun.map_err(|error| said(Failure::caused(&error)))?;
    Ok((
        Box::new(capture.in_real_time()),
        CaptureInProgress { file, handle },
    ))
}

impl CaptureInProgress {
    /// Completes the capture and returns the number of packets in it.
    fn finish(self) -> Result<u64, Failure> {
        let failed = |failure: Failure| {
            failure
                .effect("there is no capture; the command was not disturbed")
                .hint("captures are large: choose a roomy disk")
        };
        let packets = self
            .handle
            .finish()
            .map_err(|error| failed(Failure::caused(&error)))?;
        let finished = self.file.finish();
        finished.map_err(|error| failed(Failure::io("finish the capture", &error)))?;
        Ok(packets)
    }
}

impl Arguments {
    fn snap_length(&self) -> SnapLength {
        match self.snaplen {
            0 => SnapLength::Whole,
            octets => SnapLength::Octets(octets),
        }
    }

    fn side(&self) -> Side {
        match self.capture_at {
            End::Client => Side::Client,
            End::Server => Side::Server,
        }
    }
}

/// Opens the control socket for `emulate set`. If that fails, a path without a name runs without
/// it.
fn control(
    arguments: &Arguments,
    source: Source,
    found: EmulatedPath,
) -> Result<Option<Control>, Failure> {
    let number = std::process::id().to_string();
    let name = arguments.name.as_deref();
    match Control::begin(name.unwrap_or(&number), source, found) {
        Ok(control) => Ok(Some(control)),
        Err(failure) if name.is_some() => Err(failure.effect("nothing was run")),
        Err(failure) => {
            failure
                .effect("the path cannot be changed while it runs")
                .warn();
            Ok(None)
        }
    }
}

/// The emulator's configuration as requested by the arguments.
fn config(arguments: &Arguments, found: &EmulatedPath) -> Result<EmulatorConfig, Failure> {
    Ok(EmulatorConfig {
        offloads: !arguments.no_offloads,
        queue: DEVICE_QUEUE,
        memory: usize::try_from(arguments.memory.as_u64()).unwrap_or(usize::MAX),
        settings: sysctl::read(&arguments.sysctl)?,
        control: arguments.control.clone(),
        ..found.config()
    })
}

/// Waits for the command, shows its progress, and forwards termination signals.
fn attend(
    emulator: &Emulator,
    mut control: Option<&mut Control>,
    mut command: Child,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let mut screen = Screen::new();
    let is_from_terminal = std::io::stdin().is_terminal();
    let mut is_asked = false;
    loop {
        let status = command
            .try_wait()
            .map_err(|error| Failure::io("wait for the command", &error))?;
        if let Some(status) = status {
            screen.clear();
            return Ok(privilege::exit_status(status));
        }
        for signal in signals.pending() {
            if is_asked {
                // Second signal: commands that do not end are killed with the rest.
                screen.clear();
                return Ok(128 + signal as u8);
            }
            is_asked = true;
            jobs::pass_on(signal, is_from_terminal, &command);
        }
        if !emulator.is_running() {
            screen.clear();
            return Ok(crate::failure::USAGE);
        }
        if let Some(control) = &mut control {
            control.answer(emulator);
        }
        screen.draw(emulator);
        thread::sleep(STEP);
    }
}

/// Line of counters on a terminal. If a shell runs behind the path and uses the terminal, the line
/// is the window title instead.
struct Screen {
    is_wanted: bool,
    before: Snapshot,
    drawn: Instant,
    has_line: bool,
}

impl Screen {
    fn new() -> Self {
        Self {
            is_wanted: output::draws_progress(),
            before: Snapshot::default(),
            drawn: Instant::now(),
            has_line: false,
        }
    }

    fn draw(&mut self, emulator: &Emulator) {
        if !self.is_wanted || self.drawn.elapsed() < DRAW {
            return;
        }
        self.drawn = Instant::now();
        let now = emulator.snapshot();
        let mut out = std::io::stderr().lock();
        // stderr may be closed.
        let _ = if terminal::is_ours(&std::io::stderr()) {
            self.has_line = true;
            // A wrapped line could not be erased.
            let columns = terminal::columns(&std::io::stderr()).unwrap_or(80);
            let line = view::line(&self.before, &now, columns.saturating_sub(1));
            write!(out, "\r\x1b[2K{line}").and_then(|()| out.flush())
        } else {
            let line = view::line(&self.before, &now, usize::MAX);
            write!(out, "\x1b]2;{line}\x07").and_then(|()| out.flush())
        };
        self.before = now;
    }

    fn clear(&mut self) {
        if self.has_line {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

/// Settings printed at the start, which determine most of TCP's behavior there.
const SHOWN_SETTINGS: [&str; 4] = [
    "tcp_rmem",
    "tcp_wmem",
    "tcp_ecn",
    "tcp_slow_start_after_idle",
];

/// Prints the initial settings of connections of the commands.
fn say_settings(emulator: &Emulator, control: Option<&str>) {
    let read = |name: &str| {
        let value = settings::read(&format!("net.ipv4.{name}")).ok()?;
        Some(value.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let known = emulator.namespace(Side::Client).run(|| {
        let default = read("tcp_congestion_control");
        let settings = SHOWN_SETTINGS
            .iter()
            .filter_map(|name| Some(format!("{name} {}", read(name)?)));
        (default, settings.collect::<Vec<_>>().join(", "))
    });
    if let Ok((default, settings)) = known {
        let control = match (control, default) {
            (Some(control), _) => format!("{control} (of the route)"),
            (None, default) => default.unwrap_or_default(),
        };
        output::say(&format!("both ends: {control}, {settings}"));
    }
}

pub(crate) fn failure(error: &EmulatorError) -> Failure {
    match error {
        EmulatorError::Setup(error) if error.step == Step::Setting => setting_failure(error),
        EmulatorError::Setup(error) if error.step == Step::Control => {
            let failure = privilege::setup_failure(error);
            unavailable(failure, &error.what)
        }
        EmulatorError::Setup(error) => privilege::setup_failure(error),
        EmulatorError::Hop(_) => Failure::not_run(error.to_string()),
        EmulatorError::Stopped(_) => Failure::new(error.to_string())
            .effect("what the command measured since then is invalid"),
    }
}

/// Adds hints about a congestion control that this machine's kernel does not have.
fn unavailable(failure: Failure, control: &str) -> Failure {
    let hints = congestion::unavailable(control);
    hints.into_iter().fold(failure, Failure::hint)
}

fn setting_failure(error: &SetupError) -> Failure {
    let failure = privilege::setup_failure(error);
    let (name, value) = error.what.split_once(" = ").unwrap_or((&error.what, ""));
    let is_known = settings::read(name);
    match error.cause.kind() {
        ErrorKind::NotFound if name == sysctl::CONTROL => unavailable(failure, value),
        ErrorKind::PermissionDenied if name == sysctl::CONTROL => {
            let allowed = congestion::allowed();
            failure
                .hint(format!(
                    "the default of a namespace can only be one of {}: {}",
                    congestion::ALLOWED,
                    allowed.join(" ")
                ))
                .hint(format!("`--control {value}` sets it for the route between both ends"))
                .hint(congestion::allow(value, &allowed))
        }
        ErrorKind::NotFound | ErrorKind::InvalidInput if is_known.is_err() => {
            failure.hint(sysctl::hint(name, &settings::names()))
        }
        ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => failure.hint(
            "that is a setting of the whole machine, which no namespace has of its own: as root type \
             `sysctl -w` before the run",
        ),
        _ => match is_known {
            Ok(value) => {
                let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
                failure.hint(format!("this machine has `{name}={value}`"))
            }
            Err(_) => failure,
        },
    }
}
