//! The steps within the namespaces: wrong settings, tests, `doctor --try`, undo, right settings,
//! a test.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::faults::At;
use super::world::World;

/// Seconds of a test.
const SECONDS: &str = "4";

/// File of the result.
pub const RESULT: &str = "result.json";

/// Settings of the host, as text, without routes to own addresses, which IPv6 adds after its
/// duplicate address detection.
const SNAPSHOT: &str = "sysctl -a 2>/dev/null | grep ^net | grep -v -e conntrack_count -e neigh; ip route show table all | grep -v 'table local proto kernel'; \
    tc qdisc show; tc class show dev $CARD; ip -o link show | sed 's/ state .*qlen/ qlen/'; ethtool -k $CARD";

/// Variables of commands: the interface, the route before the wrong settings, and that without
/// control.
const VARIABLES: [(&str, &str); 3] = [
    (
        "CARD",
        "ip -o route get $GIGATCP_SERVER | sed 's/.* dev \\([^ ]*\\) .*/\\1/'",
    ),
    (
        "ROUTE",
        "ip -o route get fibmatch $GIGATCP_SERVER | head -1 | tr -d '\\\\'",
    ),
    (
        "BARE",
        "ip -o route get fibmatch $GIGATCP_SERVER | head -1 | tr -d '\\\\' | sed 's/congctl [a-z]*//'",
    ),
];

/// The host within its namespace.
struct Host<'a> {
    world: &'a World,
    program: &'a str,
    server: String,
    variables: Vec<(&'static str, String)>,
}

/// Runs the steps in the working directory and keeps their result there.
///
/// # Errors
/// The step that failed.
pub fn run(seed: u64, program: &str) -> Result<(), String> {
    let world = World::new(seed);
    let server = env::var("GIGATCP_SERVER").map_err(|error| error.to_string())?;
    let mut host = Host {
        world: &world,
        program,
        server,
        variables: Vec::new(),
    };
    for (name, command) in VARIABLES {
        let value = host.shell(command)?;
        host.variables.push((name, value.trim().to_owned()));
    }
    host.shell(&world.wrong(At::Here))?;
    // The first connection takes metrics of the route over into what the kernel remembers of the
    // peer.
    host.doctor(&["--verify", "-t", "2"])?;
    let result = if world.has(At::Program) {
        host.of_program()?
    } else {
        host.of_settings()?
    };
    let text = serde_json::to_string_pretty(&result).map_err(|error| error.to_string())?;
    fs::write(RESULT, text).map_err(|error| error.to_string())
}

impl Host<'_> {
    fn shell(&self, commands: &str) -> Result<String, String> {
        let mut command = Command::new("sh");
        command
            .args(["-c", commands])
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        let done = command.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&done.stderr);
        if done.status.success() {
            Ok(String::from_utf8_lossy(&done.stdout).into_owned())
        } else {
            Err(format!("{commands}: {said}"))
        }
    }

    /// Runs commands at the other host.
    fn far_shell(commands: &str) -> Result<(), String> {
        fs::write("far.part", commands)
            .and_then(|()| fs::rename("far.part", "far.sh"))
            .map_err(|error| error.to_string())?;
        for _ in 0..100 {
            thread::sleep(Duration::from_millis(50));
            if !Path::new("far.sh").exists() {
                return Ok(());
            }
        }
        Err("the other host runs no commands".into())
    }

    /// `doctor` with these arguments, and what it prints as JSON.
    fn doctor(&self, arguments: &[&str]) -> Result<Value, String> {
        let mut command = Command::new(self.program);
        command.args([
            "doctor",
            &self.server,
            "--json",
            "--direction",
            self.world.direction(),
        ]);
        let done = command
            .args(arguments)
            .output()
            .map_err(|error| error.to_string())?;
        serde_json::from_slice(&done.stdout).map_err(|error| {
            format!(
                "doctor {arguments:?}: {error}: {}",
                String::from_utf8_lossy(&done.stderr)
            )
        })
    }

    fn verify(&self) -> Result<Value, String> {
        self.doctor(&["--verify", "-t", SECONDS])
    }

    /// Tests, follows what is advised for the other host, `--try`, undoes it, and takes the wrong
    /// settings back.
    fn of_settings(&self) -> Result<Value, String> {
        let before = self.shell(SNAPSHOT)?;
        let repeat = self.verify()?;
        let tried = self.doctor(&["--try", "--yes", "-t", SECONDS, "--undo-file", "undo.json"])?;
        let after = self.verify()?;
        let undone = if Path::new("undo.json").exists() {
            Some(self.doctor_undo()?)
        } else {
            None
        };
        let left = self.shell(SNAPSHOT)?;
        let is_tried =
            |fix: &Value| tried["tried"][0]["attempts"][0]["commands"] == fix["commands"];
        let followed = match advice(&tried) {
            Some(fix) if !is_tried(fix) && self.follow(fix)? => {
                Some(json!({ "fix": fix, "measured_bps": goodput(&self.verify()?) }))
            }
            _ => None,
        };
        self.shell(&self.world.right(At::Here))?;
        if self.world.has(At::Far) {
            Self::far_shell(&far_right(self.world))?;
        }
        let _ = self.shell("ip tcp_metrics flush");
        let good = self.verify()?;
        let differences: Vec<&str> = differences(&before, &left);
        Ok(json!({
            "repeat": repeat, "tried": tried, "after": after, "undone": undone, "different": differences,
            "followed": followed, "good": good,
        }))
    }

    fn doctor_undo(&self) -> Result<String, String> {
        let done = Command::new(self.program)
            .args(["doctor", "--undo", "undo.json"])
            .output()
            .map_err(|error| error.to_string())?;
        Ok(format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        ))
    }

    /// Runs the commands of an advice. Returns whether it has any.
    fn follow(&self, fix: &Value) -> Result<bool, String> {
        let commands = fix["commands"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join("\n");
        match fix["place"].as_str() {
            Some("other host") => Self::far_shell(&commands)?,
            Some("this host") if fix["is_command"] == true => drop(self.shell(&commands)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Runs the program with its wrong option, asks `doctor` about its report, and follows the
    /// advice.
    fn of_program(&self) -> Result<Value, String> {
        let [wrong, right] = self.world.options();
        let repeat = self.test(&wrong, "repeat.json")?;
        let before = self.test(&wrong, "report.json")?;
        let plan = self.doctor(&["--from", "report.json"])?;
        let followed = match advice(&plan) {
            Some(fix) => {
                // What the advice to a program says in words is the right option.
                let options = if fix["place"] == "program" {
                    &right
                } else {
                    &wrong
                };
                self.follow(fix)?;
                Some(json!({ "fix": fix, "measured_bps": self.test(options, "after.json")? }))
            }
            None => None,
        };
        let best = self.test(&right, "good.json")?;
        Ok(
            json!({ "repeat_bps": repeat, "before_bps": before, "plan": plan, "followed": followed, "good_bps": best }),
        )
    }

    /// Goodput of `gigatcp test` with these options; its report is kept.
    fn test(&self, options: &str, report: &str) -> Result<f64, String> {
        let mut command = Command::new(self.program);
        command
            .args(["test", &self.server, "-J", "-t", SECONDS])
            .args(options.split_whitespace());
        if self.world.direction() == "receive" {
            command.arg("-R");
        }
        let done = command.output().map_err(|error| error.to_string())?;
        fs::write(report, &done.stdout).map_err(|error| error.to_string())?;
        let parsed: Value = serde_json::from_slice(&done.stdout).map_err(|error| {
            format!(
                "test {options}: {error}: {}",
                String::from_utf8_lossy(&done.stderr)
            )
        })?;
        parsed["end"]["sum_received"]["bits_per_second"]
            .as_f64()
            .ok_or_else(|| format!("test {options}: no goodput"))
    }
}

/// Commands that take the wrong settings of the other host back.
fn far_right(world: &World) -> String {
    let far = world.faults.iter().filter(|(fault, _)| fault.at == At::Far);
    far.map(|(fault, _)| format!("{}\n", fault.right)).collect()
}

/// Lines that only one of two texts has.
fn differences<'a>(before: &'a str, after: &'a str) -> Vec<&'a str> {
    let only = |of: &'a str, other: &'a str| {
        let lines: Vec<&str> = other.lines().collect();
        of.lines()
            .filter(move |line| !lines.contains(line))
            .collect::<Vec<_>>()
    };
    [only(before, after), only(after, before)].concat()
}

/// The first change that a report advises.
pub fn advice(report: &Value) -> Option<&Value> {
    let fixes = report["transfers"][0]["plan"]["fixes"].as_array()?;
    fixes.iter().find(|fix| fix["is_worth"] == true)
}

/// Goodput of a report's transfer, in bit/s.
pub fn goodput(report: &Value) -> f64 {
    report["transfers"][0]["goodput_bps"]
        .as_f64()
        .unwrap_or(0.0)
}
