//! Does the advice come true? Mis-tuned hosts, `gigatcp doctor --try`, and the tuning known to be good.
//!
//! ```text
//! cargo run --release -p gigatcp-twin --example mistuned -- target/release/gigatcp DIR 1..41
//! ```
//!
//! Each seed draws a path and one or two wrong settings of a host that sends or receives over it; every
//! eighth seed none. In a network namespace of its own the host is mis-tuned, `doctor --try --yes`
//! runs, `doctor --undo` undoes what it kept, and all settings are compared with those before. Then the
//! wrong settings are taken back, and `doctor --verify` gives the goodput of the good tuning; it should
//! have no advice.
//!
//! Needs root, `ip`, `tc`, `ethtool` and `sysctl`. The load of the machine is printed.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;

mod draw;

use draw::Draw;

/// Seconds of a test.
const SECONDS: &str = "5";

/// Share of the promised gain that must come true, and share of the best goodput.
const GAIN: Range<f64> = 0.7..1.4;
const BEST: f64 = 0.9;

/// Every seed that this divides is a healthy host.
const HEALTHY: u64 = 8;

/// A wrong setting.
struct Fault {
    name: &'static str,
    /// What it sets: two of one object exclude each other.
    object: &'static str,
    /// Whether the host must send (`s`), receive (`r`) or do either (`b`) for it.
    role: char,
    /// Whether it limits a transfer of some seconds.
    limits: bool,
    /// Further options of the path.
    path: &'static [&'static str],
    /// The commands, `METRIC` for a metric of the route, for a window in bytes and a rate in bit/s.
    wrong: fn(f64, f64) -> String,
    /// The commands that take it back; empty for a metric.
    right: &'static str,
}

const RMEM: &str =
    "sysctl -qw net.ipv4.tcp_moderate_rcvbuf=1 net.ipv4.tcp_rmem='4096 131072 6291456'";
const ROOT: &str = "tc qdisc del dev $CARD root";

macro_rules! faults {
    ($($role:literal $limits:literal $name:literal of $object:literal $path:expr, $wrong:expr, $right:expr;)+) => {
        &[$(Fault { name: $name, object: $object, role: $role, limits: $limits, path: $path, wrong: $wrong, right: $right }),+]
    };
}

const FAULTS: &[Fault] = faults! {
    'r' true "tcp_rmem maximum" of "tcp_rmem" &[], |window, _| {
        let max = (window / 0.63) as u64;
        format!("sysctl -qw net.ipv4.tcp_rmem='4096 {} {max}'", max.min(131_072))
    }, RMEM;
    'r' true "tcp_moderate_rcvbuf" of "tcp_rmem" &[], |window, _| {
        let default = (window / 0.63) as u64;
        format!("sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0 net.ipv4.tcp_rmem='4096 {default} 6291456'")
    }, RMEM;
    'r' true "route window" of "route" &[], |window, _| format!("METRIC window {window:.0}"), "";
    'r' true "route advmss" of "route" &[], |_, _| "METRIC advmss 536".into(), "";
    's' true "tcp_wmem maximum" of "tcp_wmem" &[], |window, _| format!("sysctl -qw net.ipv4.tcp_wmem='4096 16384 {window:.0}'"),
        "sysctl -qw net.ipv4.tcp_wmem='4096 16384 4194304'";
    's' true "tbf" of "qdisc" &[], |_, rate| format!("tc qdisc replace dev $CARD root tbf rate {rate:.0}bit burst 30k latency 100ms"), ROOT;
    's' true "htb and pfifo of one packet" of "qdisc" &[], |_, _| {
        "tc qdisc replace dev $CARD root handle 1: htb default 10 && tc class add dev $CARD parent 1: \
         classid 1:10 htb rate $RATE && tc qdisc add dev $CARD parent 1:10 pfifo limit 1".into()
    }, ROOT;
    's' true "route cwnd" of "route" &[], |window, _| format!("METRIC cwnd lock {:.0}", window / 1448.0), "";
    's' true "route mtu" of "route" &[], |_, _| "METRIC mtu 600".into(), "";
    's' true "reno with losses" of "route" &["--loss", "0.0005"], |_, _| "METRIC congctl reno".into(), "METRIC congctl bbr";
    's' true "cubic with losses" of "route" &["--loss", "0.002"], |_, _| "METRIC congctl cubic".into(), "METRIC congctl bbr";
    'b' true "tcp_window_scaling" of "scaling" &[], |_, _| "sysctl -qw net.ipv4.tcp_window_scaling=0".into(),
        "sysctl -qw net.ipv4.tcp_window_scaling=1";
    'b' true "MTU 576" of "mtu" &[], |_, _| "ip link set $CARD mtu 576".into(), "ip link set $CARD mtu 1500";
    'b' false "tcp_sack" of "sack" &["--loss", "0.0002"], |_, _| "sysctl -qw net.ipv4.tcp_sack=0".into(), "sysctl -qw net.ipv4.tcp_sack=1";
    'b' false "tcp_timestamps" of "timestamps" &[], |_, _| "sysctl -qw net.ipv4.tcp_timestamps=0".into(), "sysctl -qw net.ipv4.tcp_timestamps=1";
    's' false "route initcwnd" of "route" &[], |_, _| "METRIC initcwnd 2".into(), "";
    's' false "route rto_min" of "route" &[], |_, _| "METRIC rto_min 1s".into(), "";
    's' false "tcp_no_metrics_save" of "metrics" &[], |_, _| "sysctl -qw net.ipv4.tcp_no_metrics_save=1".into(), "sysctl -qw net.ipv4.tcp_no_metrics_save=0";
    's' false "tcp_slow_start_after_idle" of "idle" &[], |_, _| "sysctl -qw net.ipv4.tcp_slow_start_after_idle=1".into(), "";
    'r' false "tcp_adv_win_scale" of "share" &[], |_, _| "sysctl -qw net.ipv4.tcp_adv_win_scale=-2".into(), "sysctl -qw net.ipv4.tcp_adv_win_scale=1";
    'r' false "route initrwnd" of "route" &[], |_, _| "METRIC initrwnd 2".into(), "";
};

/// A host with wrong settings.
struct World {
    role: char,
    rate: f64,
    rtt: f64,
    faults: Vec<(&'static Fault, String)>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut draw = Draw(seed);
        let (rate, rtt) = (draw.between(20e6, 120e6), draw.between(0.012, 0.06));
        let role = if draw.share() < 0.5 { 's' } else { 'r' };
        let count = if seed.is_multiple_of(HEALTHY) {
            0
        } else {
            1 + usize::from(draw.share() < 0.5)
        };
        let mut faults: Vec<(&Fault, String)> = Vec::new();
        while faults.len() < count {
            let fits = |fault: &&Fault| {
                let is_of_role = fault.role == role || fault.role == 'b';
                let is_free = faults.iter().all(|(taken, _)| taken.object != fault.object);
                is_of_role && is_free && (fault.limits || !faults.is_empty())
            };
            let all: Vec<&Fault> = FAULTS.iter().filter(fits).collect();
            let fault = all[(draw.share() * all.len() as f64) as usize];
            let share = draw.between(0.12, 0.6);
            faults.push((
                fault,
                (fault.wrong)((rate * rtt / 8.0 * share).max(8e3), rate * share),
            ));
        }
        Self {
            role,
            rate,
            rtt,
            faults,
        }
    }

    fn names(&self) -> String {
        let names = self
            .faults
            .iter()
            .map(|(fault, _)| fault.name)
            .collect::<Vec<_>>()
            .join(" + ");
        if names.is_empty() {
            "healthy".into()
        } else {
            names
        }
    }

    /// Commands, metrics of the route in one of them.
    fn commands<'a>(lines: impl Iterator<Item = &'a str>) -> String {
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
        text
    }

    /// The script at the host.
    fn script(&self) -> String {
        let wrong = Self::commands(self.faults.iter().map(|(_, wrong)| wrong.as_str()));
        let right = Self::commands(self.faults.iter().map(|(fault, _)| fault.right));
        let direction = if self.role == 's' { "send" } else { "receive" };
        format!(
            "exec 2>>log\n\
             CARD=$(ip -o route get $GIGATCP_SERVER | sed 's/.* dev \\([^ ]*\\) .*/\\1/')\n\
             ROUTE=$(ip -o route get fibmatch $GIGATCP_SERVER | head -1 | tr -d '\\\\'); BARE=$(echo $ROUTE | sed 's/congctl [a-z]*//')\n\
             RATE={rate:.0}bit\n\
             snapshot() {{ sysctl -a 2>/dev/null | grep ^net | grep -v -e conntrack_count -e neigh; ip route show table all; \
             tc qdisc show; tc class show dev $CARD; ip -o link show | sed 's/ state .*qlen/ qlen/'; ethtool -k $CARD; }}\n\
             {wrong}\
             snapshot > wrong.txt\n\
             $GIGATCP doctor $GIGATCP_SERVER --try --yes --json -t {SECONDS} --direction {direction} --undo-file undo.json > try.json\n\
             [ -e undo.json ] && $GIGATCP doctor --undo undo.json > undone.txt\n\
             snapshot > undone-settings.txt\n\
             {right}\
             ip tcp_metrics flush\n\
             $GIGATCP doctor $GIGATCP_SERVER --verify --json -t {SECONDS} --direction {direction} > good.json\n\
             true\n",
            rate = self.rate,
        )
    }

    fn run(&self, program: &Path, at: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        fs::create_dir_all(at).map_err(failed)?;
        fs::write(at.join("script.sh"), self.script()).map_err(failed)?;
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
        ]);
        command.args(self.faults.iter().flat_map(|(fault, _)| fault.path));
        command.args([
            "--server",
            &format!("{} server -q > /dev/null", program.display()),
        ]);
        command
            .args(["--", "sh", "script.sh"])
            .env("GIGATCP", program)
            .current_dir(at);
        let status = command.status().map_err(failed)?;
        status
            .success()
            .then_some(())
            .ok_or_else(|| format!("{status}: see {}", at.join("log").display()))
    }
}

/// Counts over all seeds.
#[derive(Default)]
struct Score {
    worlds: u32,
    advised: u32,
    promised: u32,
    came_true: u32,
    best: u32,
    restored: u32,
    quiet: u32,
    good: u32,
    kept: u32,
    next: u32,
}

fn json(file: &Path) -> Result<Value, String> {
    let text = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Whether a report has a change that is worth a try, here or elsewhere.
fn has_advice(report: &Value) -> bool {
    let fixes = report["transfers"][0]["plan"]["fixes"].as_array();
    fixes.is_some_and(|fixes| fixes.iter().any(|fix| fix["is_worth"] == true))
}

/// Changes that were kept, and those of them after which the limit was the one that was said: the
/// setting of the next change, or one that no change of the host lifts.
fn next_limits(attempts: &Value) -> (u32, u32) {
    let kept = attempts.as_array().into_iter().flatten();
    let kept: Vec<&Value> = kept.filter(|attempt| attempt["is_kept"] == true).collect();
    let is_size = |id: &Value| {
        ["small-mtu", "route-mtu", "route-advmss"]
            .iter()
            .any(|of| id == of)
    };
    let is_as_said = |place: &usize| {
        let said = &kept[*place]["next_limit"];
        match kept.get(place + 1).and_then(|next| next["ids"].as_array()) {
            // Larger packets carry more over a path that is full.
            Some(ids) if *said == "path-saturated" => ids.iter().any(is_size),
            Some(ids) => ids.contains(said),
            None => gigatcp_doctor::find(said.as_str().unwrap_or_default()).is_none(),
        }
    };
    let right = (0..kept.len()).filter(is_as_said).count();
    (kept.len() as u32, right as u32)
}

impl Score {
    /// Adds a world; returns its line.
    fn add(&mut self, world: &World, at: &Path) -> Result<String, String> {
        let (tried, good) = (json(&at.join("try.json"))?, json(&at.join("good.json"))?);
        let mbps = |value: &Value| value.as_f64().unwrap_or(0.0) / 1e6;
        let trial = &tried["tried"][0];
        let (before, after) = (mbps(&trial["before_bps"]), mbps(&trial["after_bps"]));
        let best = mbps(&good["transfers"][0]["goodput_bps"]);
        self.worlds += 1;
        let mut text = format!("{before:6.1} -> {after:6.1} of {best:6.1}");
        if let Some(first) = trial["attempts"].get(0) {
            let (start, point, measured) = (
                mbps(&first["before_bps"]),
                mbps(&first["predicted_bps"]),
                mbps(&first["measured_bps"]),
            );
            let share = (measured - start) / (point - start);
            self.advised += 1;
            text.push_str(&format!("; first {}: predicted {point:.1} ({}), measured {measured:.1}, {share:.2} of the gain", first["ids"], first["certainty"]));
            if first["certainty"] == "number" || first["certainty"] == "range" {
                self.promised += 1;
                self.came_true += u32::from(GAIN.contains(&share));
                if !GAIN.contains(&share) {
                    text.push_str(" NOT TRUE");
                }
            }
        }
        let (kept, next) = next_limits(&trial["attempts"]);
        self.kept += kept;
        self.next += next;
        if next < kept {
            text.push_str(" ANOTHER LIMIT NEXT");
        }
        let is_best = after >= BEST * best;
        self.best += u32::from(is_best);
        let settings = ["wrong.txt", "undone-settings.txt"]
            .map(|name| fs::read(at.join(name)).unwrap_or_default());
        let is_restored = !settings[0].is_empty() && settings[0] == settings[1];
        self.restored += u32::from(is_restored);
        // With random losses no tuning is known to be the best.
        let mut healthy = Vec::new();
        if world.faults.iter().all(|(fault, _)| fault.path.is_empty()) {
            healthy.push(&good);
        }
        if world.faults.is_empty() {
            healthy.push(&tried);
        }
        for report in healthy {
            self.good += 1;
            self.quiet += u32::from(!has_advice(report));
            if has_advice(report) {
                text.push_str(" ADVICE TO A HEALTHY HOST");
            }
        }
        for (is_met, what) in [(is_best, " NOT THE BEST"), (is_restored, " NOT RESTORED")] {
            if !is_met {
                text.push_str(what);
            }
        }
        Ok(text)
    }

    fn text(&self) -> String {
        let percent = |part: u32, of: u32| 100.0 * f64::from(part) / f64::from(of.max(1));
        format!(
            "{} hosts: {} with advice, {} of them with a point; 70 to 140 % of the promised gain in {} ({:.0} %); \
             next limit as predicted after {} of {} changes; within 10 % of the best in {} ({:.0} %); restored {}; no advice to {} of {} healthy hosts ({:.0} %)",
            self.worlds,
            self.advised,
            self.promised,
            self.came_true,
            percent(self.came_true, self.promised),
            self.next,
            self.kept,
            self.best,
            percent(self.best, self.worlds),
            self.restored,
            self.quiet,
            self.good,
            percent(self.quiet, self.good)
        )
    }
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match &words[..] {
        [program, directory, seeds] => {
            seeds_of(seeds).and_then(|seeds| all(program, Path::new(directory), seeds))
        }
        _ => Err("mistuned PROGRAM DIR FROM..TO".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn seeds_of(text: &str) -> Result<Range<u64>, String> {
    let fault = || format!("`{text}` is not a range of seeds, as 1..41");
    let (from, to) = text.split_once("..").ok_or_else(fault)?;
    Ok(from.parse().map_err(|_| fault())?..to.parse().map_err(|_| fault())?)
}

fn all(program: &str, directory: &Path, seeds: Range<u64>) -> Result<(), String> {
    let program = fs::canonicalize(program).map_err(|error| format!("{program}: {error}"))?;
    let mut score = Score::default();
    for seed in seeds {
        let world = World::new(seed);
        let at = directory.join(seed.to_string());
        // What was run already is graded again.
        if !at.join("good.json").exists() {
            world.run(&program, &at)?;
        }
        let line = score
            .add(&world, &at)
            .unwrap_or_else(|error| format!("failed: {error}"));
        println!(
            "{seed:4} {} {:5.1} Mbit/s {:4.1} ms {}: {line} [load {}]",
            if world.role == 's' { "send" } else { "recv" },
            world.rate / 1e6,
            world.rtt * 1e3,
            world.names(),
            load()
        );
    }
    println!("{}", score.text());
    Ok(())
}
