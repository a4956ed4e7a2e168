//! The commands at both ends: starts them, waits for them, and forwards signals to them.

use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_emulate::{Addresses, Emulator, Side};
use gigatcp_linux::PidNamespace;
use gigatcp_linux::pid_namespace::{interrupt, terminate};

use crate::failure::Failure;

/// The shell.
const SHELL: &str = "/bin/sh";
/// Exit status of shells for a command that cannot be started.
const NOT_STARTED: u8 = 127;
/// Time within which a server must end after SIGTERM.
const FAREWELL: Duration = Duration::from_millis(500);
/// Time within which a server must listen after its command has ended well: it has forked.
const DETACHED: Duration = Duration::from_secs(1);
/// Polling interval.
const STEP: Duration = Duration::from_millis(5);

/// The commands at both ends.
pub(crate) struct Jobs {
    /// PID namespace of all commands, which ends them.
    pid_namespace: PidNamespace,
    server: Option<Child>,
}

/// What became of the server's command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Serving {
    /// A socket listens.
    Listening,
    /// None does, after the time that it was given.
    Silent,
    /// It has ended already.
    Ended(ExitStatus),
}

impl Jobs {
    /// No command is started yet.
    pub(crate) fn new(pid_namespace: PidNamespace) -> Self {
        Self {
            pid_namespace,
            server: None,
        }
    }

    /// Starts the server's command and waits until something listens there, or an interrupt comes. A
    /// command that ends well may have left a process that will listen.
    pub(crate) fn serve(
        &mut self,
        emulator: &Emulator,
        mut command: Command,
        patience: Duration,
        is_interrupted: impl Fn() -> bool,
    ) -> Result<Serving, Failure> {
        environment(command.stdin(Stdio::null()));
        let started = self
            .pid_namespace
            .start(command, emulator.namespace(Side::Server));
        let server = started.map_err(|error| unstarted(SHELL, &error))?;
        self.server = Some(server);
        let began = Instant::now();
        let mut ended: Option<(ExitStatus, Instant)> = None;
        while began.elapsed() < patience && !is_interrupted() {
            if is_listening(emulator) {
                return Ok(Serving::Listening);
            }
            if let Some(server) = &mut self.server
                && let Ok(Some(status)) = server.try_wait()
            {
                self.server = None;
                ended = Some((status, Instant::now()));
            }
            if let Some((status, since)) = ended
                && (!status.success() || since.elapsed() >= DETACHED)
            {
                return Ok(Serving::Ended(status));
            }
            thread::sleep(STEP);
        }
        Ok(Serving::Silent)
    }

    pub(crate) fn start(
        &self,
        emulator: &Emulator,
        mut command: Command,
    ) -> Result<Child, Failure> {
        environment(&mut command);
        let name = command.get_program().to_string_lossy().into_owned();
        let started = self
            .pid_namespace
            .start(command, emulator.namespace(Side::Client));
        started.map_err(|error| unstarted(&name, &error))
    }

    /// Ends all commands: the server first, which may end by itself after SIGTERM.
    pub(crate) fn end(mut self) {
        if let Some(mut server) = self.server.take() {
            let began = Instant::now();
            let _ = terminate(&server);
            while began.elapsed() < FAREWELL && matches!(server.try_wait(), Ok(None)) {
                thread::sleep(STEP);
            }
        }
        drop(self.pid_namespace);
    }
}

pub(crate) fn shell(text: &str) -> Command {
    let mut command = Command::new(SHELL);
    command.args(["-c", text]);
    command
}

/// Forwards a termination signal to the command. A Ctrl-C of the terminal has already reached it;
/// the command decides what to do, and a second signal ends everything.
pub(super) fn pass_on(signal: i32, is_from_terminal: bool, command: &Child) {
    // An error means that the command has just ended.
    let _ = match signal {
        signal_hook::consts::SIGINT if is_from_terminal => Ok(()),
        signal_hook::consts::SIGINT => interrupt(command),
        _ => terminate(command),
    };
}

fn environment(command: &mut Command) {
    let (client, server) = (Addresses::of(Side::Client), Addresses::of(Side::Server));
    command
        .env("GIGATCP_CLIENT", client.v4.to_string())
        .env("GIGATCP_SERVER", server.v4.to_string())
        .env("GIGATCP_CLIENT_V6", client.v6.to_string())
        .env("GIGATCP_SERVER_V6", server.v6.to_string());
}

fn unstarted(name: &str, error: &io::Error) -> Failure {
    let failure = Failure::not_run(format!("cannot start `{name}`: {error}")).status(NOT_STARTED);
    match error.kind() {
        io::ErrorKind::NotFound => failure
            .hint("check the name, and that it is in PATH")
            .hint("a line for a shell needs one: `-- sh -c 'one; two'`"),
        _ => failure,
    }
}

/// Whether a socket at the server's end is ready for clients. This is a listening TCP socket (state
/// 10 of `proc_pid_net(5)`) or a UDP socket (state 7).
fn is_listening(emulator: &Emulator) -> bool {
    let tables = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
    let look = || {
        tables.iter().any(|(table, state)| {
            std::fs::read_to_string(format!("/proc/thread-self/net/{table}"))
                .unwrap_or_default()
                .lines()
                .skip(1)
                .any(|line| line.split_whitespace().nth(3) == Some(state))
        })
    };
    emulator.namespace(Side::Server).run(look).unwrap_or(false)
}
