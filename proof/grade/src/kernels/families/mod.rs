//! Families of cases: each draws its parameters from a seed and names its cause.

pub mod agents;
mod applications;
mod full;
mod hosts;
mod loss;
mod odd;
mod two;
mod windows;

use super::apps::{App, Socket, Stage};
use super::forward::config::{DirectionConfig, PathConfig};
use super::proof::Proof;
use super::spec::{Cpu, Host, Net, Offloads, PORT, Program, Role, Spec, Task};
use super::topology::ROUTER;
use crate::draw::Draw;

/// Approximate maximum of data packets per case.
const PACKETS: f64 = 75_000.0;

/// A family of cases.
#[derive(Clone, Copy)]
pub struct Family {
    /// Name of the family.
    pub name: &'static str,
    /// Cause of its cases.
    pub cause: &'static str,
    /// Completes a plain bulk transfer over a path with a bottleneck.
    build: fn(&mut Draft),
    /// Bottleneck rates in Mbit/s, RTTs in ms.
    ranges: [[f64; 2]; 2],
    /// Minimum segments that fill the path.
    segments: f64,
}

/// Case under construction.
struct Draft {
    draw: Draw,
    spec: Spec,
}

const fn family(
    name: &'static str,
    cause: &'static str,
    ranges: [[f64; 2]; 2],
    segments: f64,
    build: fn(&mut Draft),
) -> Family {
    Family {
        name,
        cause,
        build,
        ranges,
        segments,
    }
}

/// All families.
pub fn all() -> Vec<Family> {
    [
        full::FAMILIES,
        loss::FAMILIES,
        windows::FAMILIES,
        hosts::FAMILIES,
        applications::FAMILIES,
        odd::FAMILIES,
        two::FAMILIES,
    ]
    .concat()
}

/// A distinct number for each name.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Family {
    /// Case of this seed.
    pub fn case(&self, seed: u64) -> Spec {
        let mut draw = Draw::new(hash(self.name) ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let [rates, rtts] = self.ranges;
        let mut rate = draw.magnitude(rates[0], rates[1]) * 1e6;
        let mut rtt = draw.magnitude(rtts[0], rtts[1]) / 1e3;
        let factor = (self.segments * 12_000.0 / (rate * rtt)).max(1.0).sqrt();
        rate *= factor;
        rtt *= factor;
        let mut draft = Draft {
            spec: plain(self, seed, rate, rtt, &mut draw),
            draw,
        };
        (self.build)(&mut draft);
        if draft.spec.tasks.is_empty() {
            draft.bulk();
        }
        draft.spec
    }
}

/// A path with a bottleneck, without programs yet.
fn plain(family: &Family, seed: u64, rate: f64, rtt: f64, draw: &mut Draw) -> Spec {
    let bdp = rate * rtt / 8.0;
    let queue = (bdp * draw.between(0.7, 2.0) / 1514.0).max(20.0);
    let near = draw.between(0.3, 0.7);
    let path = PathConfig {
        seed: seed ^ hash(family.name),
        interfaces: ROUTER.map(str::to_owned),
        forward: DirectionConfig {
            rate_bps: rate,
            delay_us: rtt * near * 1e6,
            queue_packets: queue as usize,
            ..DirectionConfig::default()
        },
        reverse: DirectionConfig {
            delay_us: rtt * (1.0 - near) * 1e6,
            ..DirectionConfig::default()
        },
        phases: Vec::new(),
    };
    let control = draw.pick(&["cubic", "cubic", "reno"]);
    let timestamps = if draw.chance(0.15) { "0" } else { "1" };
    let set = |name: &str, value: &str| (format!("net.ipv4.{name}"), value.to_owned());
    let tso = draw.chance(0.6);
    let gro = draw.chance(0.4);
    Spec {
        family: family.name,
        seed,
        cause: family.cause,
        acceptable: Vec::new(),
        second: None,
        notes: Vec::new(),
        net: Net::Forwarder(Box::new(path)),
        rate_bps: rate,
        spare_bps: 0.0,
        rtt_s: rtt,
        mtu: 1500,
        mss: 1448.0,
        control,
        tool: "own",
        offloads: Offloads {
            tso,
            gro,
            gro_flush_us: if gro { draw.pick(&[0, 50, 150]) } else { 0 },
        },
        sysctls: vec![
            set("tcp_rmem", "4096 131072 33554432"),
            set("tcp_wmem", "4096 65536 33554432"),
            set("tcp_timestamps", timestamps),
            set("tcp_no_metrics_save", "1"),
        ],
        route: String::new(),
        first_threshold: 0,
        tc: None,
        napi_quota: None,
        tasks: Vec::new(),
        seconds: (PACKETS * 12_000.0 / rate).clamp(2.0, 3.5),
        middle_behind: draw.chance(0.5),
        capture_loss: 0.0,
        offered_bps: 0.0,
        proof: Proof::Full,
    }
}

/// A stage that works as fast as possible.
fn eager(chunk: usize) -> Stage {
    Stage {
        chunk,
        ..Stage::default()
    }
}

fn task(host: Host, role: Role, program: Program) -> Task {
    Task {
        host,
        role,
        program,
        cpu: Cpu::Preferred,
    }
}

impl Draft {
    /// BDP in bytes.
    fn bdp(&self) -> f64 {
        self.spec.rate_bps * self.spec.rtt_s / 8.0
    }

    fn forward(&mut self) -> &mut DirectionConfig {
        &mut self.spec.path().forward
    }

    fn reverse(&mut self) -> &mut DirectionConfig {
        &mut self.spec.path().reverse
    }

    fn set(&mut self, name: &str, value: &str) {
        let name = format!("net.ipv4.{name}");
        self.spec.sysctls.retain(|(set, _)| *set != name);
        self.spec.sysctls.push((name, value.to_owned()));
    }

    fn control(&mut self, control: &'static str) {
        self.spec.control = control;
    }

    fn proof(&mut self, proof: Proof) {
        self.spec.proof = proof;
    }

    /// Sets the rate and everything derived from it.
    fn rate(&mut self, rate: f64) {
        self.spec.rate_bps = rate;
        self.spec.seconds = (PACKETS * 12_000.0 / rate).clamp(2.0, 3.5);
        let bdp = self.bdp();
        if let Net::Forwarder(path) = &mut self.spec.net {
            path.forward.rate_bps = rate;
            path.forward.queue_packets = (1.5 * bdp / 1514.0).max(20.0) as usize;
        }
    }

    /// Sets a queue limit of `share` BDP, at least 20 packets.
    fn queue(&mut self, share: f64) {
        let packets = (self.bdp() * share / 1514.0).max(20.0);
        self.forward().queue_packets = packets as usize;
    }

    /// Sets a queue limit that holds every burst.
    fn roomy(&mut self) {
        let packets = (self.bdp() * 4.0 / 1514.0).max(400.0);
        self.forward().queue_packets = packets as usize;
    }

    fn app(&mut self, host: Host, role: Role, app: App) -> &mut Task {
        self.spec.tasks.push(task(host, role, Program::App(app)));
        self.spec.tasks.last_mut().expect("just pushed")
    }

    /// Adds a transfer by our writer and reader.
    fn transfer(&mut self, stages: Vec<Stage>, readers: Vec<Stage>, sockets: [Socket; 2]) {
        let [near, far] = sockets;
        let read = App::Read {
            port: PORT,
            socket: far,
            stages: readers,
        };
        self.app(Host::Receiver, Role::Server(PORT), read);
        let write = App::Write {
            to: format!("@RECEIVER:{PORT}"),
            socket: near,
            stages,
        };
        self.app(Host::Sender, Role::Main, write);
    }

    /// Adds a transfer by our writer, as fast as possible for the case's duration.
    fn own_bulk(&mut self, sockets: [Socket; 2]) {
        let chunk = self.draw.pick(&[8192, 65_536, 131_072]);
        let stage = Stage {
            seconds: self.spec.seconds,
            ..eager(chunk)
        };
        self.transfer(vec![stage], vec![eager(262_144)], sockets);
    }

    /// Adds a bulk transfer by a randomly drawn program.
    fn bulk(&mut self) {
        let tool = self
            .draw
            .pick(&["iperf3", "iperf3", "nuttcp", "curl", "own"]);
        self.bulk_by(tool);
    }

    fn bulk_by(&mut self, tool: &'static str) {
        self.spec.tool = tool;
        let whole = self.spec.seconds.ceil();
        let words =
            |line: String| Program::System(line.split_whitespace().map(str::to_owned).collect());
        match tool {
            "iperf3" => {
                self.spec.seconds = whole;
                let chunk = self.draw.pick(&["128K", "32K", "8K"]);
                let serve = words(format!("iperf3 -s -1 -p {PORT}"));
                let send = words(format!(
                    "iperf3 -c @RECEIVER -p {PORT} -t {whole} -l {chunk} --connect-timeout 3000"
                ));
                self.push(Host::Receiver, Role::Server(PORT), serve);
                self.push(Host::Sender, Role::Main, send);
            }
            "nuttcp" => {
                self.spec.seconds = whole;
                let serve = words(format!("nuttcp -S --nofork -P {PORT}"));
                let send = words(format!("nuttcp -t -T {whole} -P {PORT} @RECEIVER"));
                self.push(Host::Receiver, Role::Server(PORT), serve);
                self.push(Host::Sender, Role::Main, send);
            }
            "curl" => {
                let bytes = self.spec.rate_bps / 8.0 * self.spec.seconds * 0.92;
                self.download(bytes as u64);
            }
            _ => self.own_bulk(Default::default()),
        }
    }

    /// Adds an option to the command of the iperf3 client.
    fn client_option(&mut self, option: String) {
        for task in &mut self.spec.tasks {
            if let Program::System(words) = &mut task.program
                && words.contains(&"-c".to_owned())
            {
                words.push(option.clone());
            }
        }
    }

    /// Adds a `curl` download from our HTTP server.
    fn download(&mut self, bytes: u64) {
        self.spec.tool = "curl";
        let serve = App::Http {
            port: PORT,
            socket: Socket::default(),
        };
        self.app(Host::Sender, Role::Server(PORT), serve);
        let line = format!("curl -s -o /dev/null http://@SENDER:{PORT}/{bytes}");
        let words = line.split_whitespace().map(str::to_owned).collect();
        self.push(Host::Receiver, Role::Main, Program::System(words));
    }

    fn push(&mut self, host: Host, role: Role, program: Program) {
        self.spec.tasks.push(task(host, role, program));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_different_names_and_every_case_has_a_main_program() {
        let all = all();
        let names: std::collections::BTreeSet<_> = all.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.len() >= 26);
        for family in all {
            for seed in [1, 2, 1_000_001] {
                let case = family.case(seed);
                let mut roles = case.tasks.iter().map(|task| task.role);
                assert!(roles.any(|role| role == Role::Main), "{}", family.name);
                assert_eq!(case, family.case(seed), "{}", family.name);
            }
        }
    }
}
