//! Machines that packages are built for, and how to build and run programs of other machines
//! here.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Failed;
use crate::process::{self, has};

/// Type of machine, by its names in Rust, Debian and Fedora.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    /// Rust's target triple.
    pub triple: &'static str,
    /// Debian's architecture.
    pub debian: &'static str,
    /// Architecture of Fedora and of Linux.
    pub linux: &'static str,
    /// `e_machine` of its programs (ELF).
    elf: u16,
}

/// All machines.
const MACHINES: [Machine; 2] = [
    Machine {
        triple: "x86_64-unknown-linux-gnu",
        debian: "amd64",
        linux: "x86_64",
        elf: 62,
    },
    Machine {
        triple: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        linux: "aarch64",
        elf: 183,
    },
];

impl Machine {
    /// Machine with this target, which requires a linker for it here.
    ///
    /// # Errors
    ///
    /// There are no packages for it, or a required tool is not installed.
    pub fn named(triple: &str) -> Result<&'static Self, Failed> {
        let found = MACHINES
            .iter()
            .find(|machine| machine.triple == triple)
            .ok_or_else(|| {
                let names = MACHINES.map(|machine| machine.triple).join(", ");
                Failed::Usage(format!("packages are made for {names}, not for {triple}"))
            })?;
        match found.is_here() || has(&found.linker()) {
            true => Ok(found),
            false => Err(Failed::Usage(format!(
                "{} is missing: install gcc-{}-linux-gnu and `rustup target add {triple}`",
                found.linker(),
                found.linux.replace('_', "-")
            ))),
        }
    }

    /// This machine.
    ///
    /// # Errors
    ///
    /// There are no packages for it.
    pub fn here() -> Result<&'static Self, Failed> {
        let found = MACHINES.iter().find(|machine| machine.is_here());
        found.ok_or_else(|| Failed::Usage("packages are made on Linux with glibc".into()))
    }

    /// Machine that a program was built for.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is a program of no such machine.
    pub fn of(program: &Path) -> Result<&'static Self, Failed> {
        let bytes = fs::read(program)
            .map_err(|error| Failed::Usage(format!("{}: {error}", program.display())))?;
        let elf = bytes
            .get(18..20)
            .map(|two| u16::from_le_bytes([two[0], two[1]]));
        let found = MACHINES.iter().find(|machine| Some(machine.elf) == elf);
        found.ok_or_else(|| {
            Failed::Usage(format!(
                "{}: no program of a machine with packages",
                program.display()
            ))
        })
    }

    /// Whether its programs run here without an emulator.
    pub fn is_here(&self) -> bool {
        cfg!(all(target_os = "linux", target_env = "gnu")) && self.linux == std::env::consts::ARCH
    }

    /// Makes cargo use the machine's linker.
    pub fn link(&self, cargo: &mut Command) {
        if !self.is_here() {
            let triple = self.triple.replace('-', "_").to_uppercase();
            cargo.env(format!("CARGO_TARGET_{triple}_LINKER"), self.linker());
        }
    }

    fn linker(&self) -> String {
        format!("{}-linux-gnu-gcc", self.linux)
    }

    /// Emulator of its programs; `None` for this machine.
    ///
    /// # Errors
    ///
    /// QEMU is not installed.
    pub fn emulator(&self) -> Result<Option<std::path::PathBuf>, Failed> {
        if self.is_here() {
            return Ok(None);
        }
        let name = format!("qemu-{}-static", self.linux);
        match process::found(&name) {
            Some(path) => Ok(Some(path)),
            None => Err(Failed::Usage(format!(
                "{name} is missing: install qemu-user-static"
            ))),
        }
    }

    /// A command that runs its program.
    ///
    /// # Errors
    ///
    /// As [`Machine::emulator`].
    pub fn command(&self, program: &Path) -> Result<Command, Failed> {
        Ok(match self.emulator()? {
            None => Command::new(program),
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.arg(program);
                command
            }
        })
    }
}
