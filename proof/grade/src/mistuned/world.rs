//! What a seed draws: a path, a role of the host, wrong settings.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::faults::{At, FAULTS, Fault, Role, Sizes};
use crate::draw::Draw;

/// Every seed that this divides is a healthy host.
const HEALTHY: u64 = 4;

/// A host and its path.
#[derive(Debug)]
pub struct World {
    /// Its seed.
    pub seed: u64,
    /// What the host does: it sends or receives.
    pub role: Role,
    /// Rate of the path in bit/s.
    pub rate: f64,
    /// RTT in seconds.
    pub rtt: f64,
    /// Wrong settings, each with its commands.
    pub faults: Vec<(&'static Fault, String)>,
}

impl World {
    /// The host of a seed.
    pub fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let (rate, rtt) = (draw.magnitude(8e6, 30e6), draw.magnitude(0.01, 0.08));
        let role = draw.pick(&[Role::Send, Role::Receive]);
        let count = if seed.is_multiple_of(HEALTHY) {
            0
        } else {
            1 + usize::from(draw.chance(0.5))
        };
        let mut faults: Vec<(&Fault, String)> = Vec::new();
        while faults.len() < count {
            let fits = |fault: &&Fault| {
                let has_own_path =
                    fault.path.is_empty() || faults.iter().all(|(taken, _)| taken.path.is_empty());
                let is_of_role = fault.role == role || fault.role == Role::Both;
                let is_free = faults.iter().all(|(taken, _)| taken.object != fault.object);
                // `--try` does not change programs and other hosts: theirs come alone.
                let is_alone = faults.is_empty() && (count == 1 || fault.at == At::Here);
                is_of_role
                    && has_own_path
                    && is_free
                    && (fault.at == At::Here || is_alone)
                    && (fault.limits || !faults.is_empty())
            };
            let fitting: Vec<&Fault> = FAULTS.iter().filter(fits).collect();
            let fault = draw.pick(&fitting);
            let share = draw.magnitude(0.12, 0.6);
            let sizes = Sizes {
                window: (rate * rtt / 8.0 * share).max(8e3),
                rate: rate * share,
                packets: 1 + (share * 8.0) as u64,
            };
            faults.push((fault, (fault.wrong)(&sizes)));
        }
        Self {
            seed,
            role,
            rate,
            rtt,
            faults,
        }
    }

    /// Names of the wrong settings.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.faults.iter().map(|(fault, _)| fault.name).collect();
        if names.is_empty() {
            "healthy".into()
        } else {
            names.join(" + ")
        }
    }

    /// Whether a wrong setting is there.
    pub fn has(&self, at: At) -> bool {
        self.faults.iter().any(|(fault, _)| fault.at == at)
    }

    /// Whether packets are lost at random: tests differ by luck then, and no tuning is known to
    /// be best.
    pub fn is_lossy(&self) -> bool {
        self.faults.iter().any(|(fault, _)| !fault.path.is_empty())
    }

    /// `send` or `receive`.
    pub fn direction(&self) -> &'static str {
        match self.role {
            Role::Receive => "receive",
            _ => "send",
        }
    }

    /// Commands that make the wrong settings somewhere, one a line.
    pub fn wrong(&self, at: At) -> String {
        let lines = self.faults.iter().filter(|(fault, _)| fault.at == at);
        self.commands(lines.map(|(_, wrong)| wrong.as_str()))
    }

    /// Commands that take them back.
    pub fn right(&self, at: At) -> String {
        let lines = self.faults.iter().filter(|(fault, _)| fault.at == at);
        self.commands(lines.map(|(fault, _)| fault.right))
    }

    /// Options of the program: with the wrong setting, and with the right one.
    pub fn options(&self) -> [String; 2] {
        let of_program = self
            .faults
            .iter()
            .find(|(fault, _)| fault.at == At::Program);
        of_program.map_or_else(Default::default, |(fault, wrong)| {
            [wrong.clone(), fault.right.into()]
        })
    }

    /// Commands, all metrics of the route in one of them. A control replaces that of the route.
    fn commands<'a>(&self, lines: impl Iterator<Item = &'a str>) -> String {
        let (metrics, others): (Vec<&str>, Vec<&str>) = lines
            .filter(|line| !line.is_empty())
            .partition(|line| line.starts_with("METRIC "));
        let mut text: String = others.iter().map(|line| format!("{line}\n")).collect();
        let metrics: String = metrics
            .iter()
            .map(|line| line.replace("METRIC", ""))
            .collect();
        let route = if metrics.contains("congctl") {
            "$BARE"
        } else {
            "$ROUTE"
        };
        text.push_str(&format!("ip route replace {route}{metrics}\n"));
        text.replace("$RATE", &format!("{:.0}bit", self.rate))
    }

    /// Makes the path and both hosts, and runs the steps of [`super::host`] by `harness` in one
    /// of them.
    ///
    /// # Errors
    /// The reason why they did not end.
    pub fn run(&self, harness: &Path, program: &Path, directory: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        fs::create_dir_all(directory).map_err(failed)?;
        let far: Vec<&str> = self
            .faults
            .iter()
            .filter(|(fault, _)| fault.at == At::Far)
            .map(|(_, wrong)| wrong.as_str())
            .collect();
        // Commands for the other host are left in a file.
        let server = format!(
            "{}\n{} server -q > /dev/null & while sleep 0.1; do [ -e far.sh ] && {{ sh far.sh; rm far.sh; }}; done",
            far.join("\n"),
            program.display()
        );
        let mut command = Command::new(program);
        command.args([
            "emulate",
            "-q",
            "--rate",
            &format!("{:.2} Mbit/s", self.rate / 1e6),
        ]);
        command.args([
            "--rtt",
            &format!("{:.1} ms", self.rtt * 1e3),
            "--control",
            "cubic",
            "--server",
            &server,
        ]);
        command.args(["--seed", &self.seed.to_string()]);
        command.args(self.faults.iter().flat_map(|(fault, _)| fault.path));
        command
            .arg("--")
            .arg(harness)
            .arg("inside")
            .arg(program)
            .arg(self.seed.to_string());
        let log = fs::File::create(directory.join("log")).map_err(failed)?;
        let status = command
            .current_dir(directory)
            .stderr(log)
            .status()
            .map_err(failed)?;
        status
            .success()
            .then_some(())
            .ok_or_else(|| format!("{status}: see {}", directory.join("log").display()))
    }
}
