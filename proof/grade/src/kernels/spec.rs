//! Description of a case: path, hosts, applications, and the proof that its cause binds.

use super::apps::App;
use super::forward::config::PathConfig;
use super::proof::Proof;

/// Address of the data sender.
pub const SENDER: &str = "10.77.1.1";

/// Address of the data receiver.
pub const RECEIVER: &str = "10.77.2.1";

/// Port of the graded connection.
pub const PORT: u16 = 5201;

/// A host or the router between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Sends the data.
    Sender,
    /// Receives the data.
    Receiver,
    /// Router between them.
    Router,
}

/// Path between the hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum Net {
    /// The forwarder of this crate.
    Forwarder(Box<PathConfig>),
    /// The kernel's forwarding.
    Plain,
    /// `gigatcp emulate` with these arguments.
    Emulate(Vec<String>),
}

/// Offloads of the hosts' interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// Whether the sender uses segmentation offload.
    pub tso: bool,
    /// Whether the receiver merges segments.
    pub gro: bool,
    /// Time the receiver waits for more segments to merge.
    pub gro_flush_us: u32,
}

/// Program of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Program {
    /// Application of this crate.
    App(App),
    /// System program with arguments.
    System(Vec<String>),
}

/// Role of a program: start order, and whether the case ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Listens on this port, started first.
    Server(u16),
    /// Runs all the time, started before the connection.
    Background,
    /// Opens the graded connection; the case ends when it does.
    Main,
}

/// CPU allocation of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cpu {
    /// Runs with preference.
    Preferred,
    /// Share of one CPU per period, by the `cpu` controller.
    Quota {
        /// Share.
        share: f64,
        /// Period.
        period_us: u32,
    },
    /// Shares one CPU with a hog, at this nice value.
    Shared {
        /// The nice value.
        nice: i32,
    },
    /// The hog itself.
    Hog,
}

/// A program of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Host it runs on.
    pub host: Host,
    /// Its role.
    pub role: Role,
    /// Program.
    pub program: Program,
    /// CPU allocation.
    pub cpu: Cpu,
}

/// A queueing discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tc {
    /// Whether it is on the sender's interface; otherwise on the router's, towards the receiver.
    pub on_sender: bool,
    /// Commands after `tc`, with `DEV` for the interface.
    pub commands: Vec<String>,
}

/// A case.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Family.
    pub family: &'static str,
    /// Seed.
    pub seed: u64,
    /// Cause, one of the ids of `why`.
    pub cause: &'static str,
    /// Other correct answers.
    pub acceptable: Vec<&'static str>,
    /// Second cause, for cases with two.
    pub second: Option<&'static str>,
    /// Notes that the analysis should add.
    pub notes: Vec<&'static str>,
    /// Path.
    pub net: Net,
    /// Rate of the bottleneck without the cause, as Ethernet frames.
    pub rate_bps: f64,
    /// Path rate without the cause, if it exceeds the bottleneck's; else 0.
    pub spare_bps: f64,
    /// RTT without queues.
    pub rtt_s: f64,
    /// MTU of all interfaces.
    pub mtu: u32,
    /// Payload bytes of a full segment.
    pub mss: f64,
    /// Congestion control of both hosts, by their routes. The default of a namespace can only be one
    /// that the machine allows to all users.
    pub control: &'static str,
    /// Sending program.
    pub tool: &'static str,
    /// Offloads.
    pub offloads: Offloads,
    /// Sysctls of both hosts.
    pub sysctls: Vec<(String, String)>,
    /// Further attributes of the sender's route, such as `initcwnd 4`.
    pub route: String,
    /// Initial ssthresh of the connection, in segments; 0 for unlimited.
    pub first_threshold: u32,
    /// Shaper.
    pub tc: Option<Tc>,
    /// Quota of the receiver's packet processing: share, period in us.
    pub napi_quota: Option<(f64, u32)>,
    /// Programs.
    pub tasks: Vec<Task>,
    /// Expected duration.
    pub seconds: f64,
    /// Whether the mid-path capture is behind the path.
    pub middle_behind: bool,
    /// Probability that a capture lacks a packet.
    pub capture_loss: f64,
    /// Offered rate of the application; 0 if unlimited.
    pub offered_bps: f64,
    /// Condition that proves the cause.
    pub proof: Proof,
}

impl Spec {
    /// Payload rate that the path could carry without the cause.
    pub fn capacity_bps(&self) -> f64 {
        self.payload_bps(self.rate_bps.max(self.spare_bps))
    }

    /// Payload rate of a link of this rate.
    pub fn payload_bps(&self, rate_bps: f64) -> f64 {
        let header = match self.net {
            Net::Emulate(_) => 52.0 + 38.0,
            Net::Forwarder(_) | Net::Plain => 52.0 + 14.0,
        };
        let mss = f64::from(self.mtu) - 52.0;
        rate_bps * mss / (mss + header)
    }

    /// Forwarder's configuration.
    ///
    /// # Panics
    /// If the case has no forwarder.
    pub fn path(&mut self) -> &mut PathConfig {
        match &mut self.net {
            Net::Forwarder(path) => path,
            _ => panic!("{} has no forwarder", self.family),
        }
    }
}
