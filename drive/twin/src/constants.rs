//! The constants of a twin: the fitted values, and the plan made of them.
//!
//! A plan has one bottleneck: `[path]` with rate, RTT, queue and losses, two hosts and one flow.
//! Everything that a user may change is a key of that plan, so `--set` works as in any run. Receive
//! and send buffers are keys of the hosts.

use std::fmt::Write;
use std::sync::Arc;

/// Profile of a host that grants what is requested.
pub const MODERN: &str = "modern";

/// Profile of a host with autotuned buffers.
pub const LINUX: &str = "linux-6.18";

/// A process of losses other than tail drops.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LossProcess {
    /// No losses.
    None,
    /// Random losses with this probability.
    Random(f64),
    /// This share of packets, in bursts of this mean length.
    Bursts(f64, f64),
    /// Every n-th packet is lost.
    Periodic(u64),
}

/// A buffer of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// Autotuned.
    Auto,
    /// This many bytes.
    Bytes(u64),
}

/// A limit of the sending application or its host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Supply {
    /// Everything is available at the start.
    Everything,
    /// Bytes per piece, and the time between pieces, in seconds.
    Pieces(f64, f64),
    /// The host paces at this rate at most, in bits per second.
    Paced(f64),
    /// The CPU needs this time per packet, in seconds.
    Cpu(f64),
    /// The host's access link has this rate, in bits per second.
    Link(f64),
}

/// All constants of a twin.
#[derive(Clone, PartialEq, Debug)]
pub struct Constants {
    /// Rate of the bottleneck in bits per second, headers and 38 bytes per frame included.
    pub rate_bps: f64,
    /// RTT of the empty path in seconds.
    pub rtt: f64,
    /// Queue limit in packets.
    pub queue: u64,
    /// Losses other than tail drops.
    pub loss: LossProcess,
    /// Packets of the original lost by this process, counted from 1.
    pub lost: Arc<[u64]>,
    /// True if exactly those packets are lost, in place of the process.
    pub replays: bool,
    /// MTU in bytes.
    pub mtu: u64,
    /// True if segments carry timestamps.
    pub timestamps: bool,
    /// True if windows are scaled.
    pub window_scaling: bool,
    /// True if SACK is in use.
    pub sack: bool,
    /// Segments per ACK.
    pub ack_every: u64,
    /// Initial window in segments.
    pub initial_window: u64,
    /// Initial ssthresh in segments; `None` if unlimited.
    pub initial_ssthresh: Option<u64>,
    /// Congestion control.
    pub control: &'static str,
    /// Profile of the sender.
    pub profile: &'static str,
    /// True if the sender paces.
    pub pacing: bool,
    /// Receive buffer.
    pub receive: Buffer,
    /// Send buffer.
    pub send: Buffer,
    /// Rate at which the receiving application reads, in bits per second.
    pub reader_bps: Option<f64>,
    /// A limit of the sending application or its host.
    pub supply: Supply,
    /// Bytes of the transfer.
    pub bytes: u64,
}

impl Constants {
    /// Returns the fitted constants, each with its value.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            ("path.rate", rate(self.rate_bps)),
            ("path.rtt", time(self.rtt)),
            ("path.queue", format!("{} packets", self.queue)),
        ];
        all.extend(self.loss_key());
        all.push(("flow.congestion_control", self.control.into()));
        if let Some(segments) = self.initial_ssthresh {
            all.push(("flow.initial_ssthresh", segments.to_string()));
        }
        all.push(("flow.bytes", format!("{} B", self.bytes)));
        all.push(("sender.profile", self.sender_profile().into()));
        all.push(("receiver.profile", self.receiver_profile().into()));
        all.push(("sender.initial_window", self.initial_window.to_string()));
        all.push(("sender.pacing", self.paces().to_string()));
        if let Buffer::Bytes(bytes) = self.send {
            all.push(("sender.buffer", format!("{bytes} B")));
        }
        match self.supply {
            Supply::Everything => {}
            Supply::Pieces(bytes, every) => {
                all.push(("flow.supply", format!("{:.0} B", bytes.max(1.0))));
                all.push(("flow.supply_every", time(every)));
            }
            Supply::Paced(bps) => all.push(("sender.max_pacing_rate", rate(bps))),
            Supply::Cpu(each) => all.push(("sender.cpu.per_packet_sent", time(each))),
            Supply::Link(bps) => all.push(("sender.link.rate", rate(bps))),
        }
        all.push(("receiver.ack_every", self.ack_every.to_string()));
        if let Buffer::Bytes(bytes) = self.receive {
            all.push(("receiver.buffer", format!("{bytes} B")));
        }
        if let Some(bps) = self.reader_bps {
            all.push(("receiver.reader.rate", rate(bps)));
        }
        all
    }

    fn loss_key(&self) -> Option<(&'static str, String)> {
        if self.replays {
            let is_some = !self.lost.is_empty();
            return is_some.then(|| ("path.lose_packets", format!("{:?}", self.lost)));
        }
        match self.loss {
            LossProcess::None => None,
            LossProcess::Random(p) => Some(("path.loss", format!("{p:.7}"))),
            LossProcess::Bursts(share, length) => {
                Some(("path.loss_burst", format!("{share:.7}:{length:.1}")))
            }
            LossProcess::Periodic(every) => Some(("path.lose_every", every.to_string())),
        }
    }

    /// Returns the plan as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::from("name = \"twin\"\n");
        let longest = 60.0 + 20.0 * self.bytes as f64 * 8.0 / self.slowest_bps();
        let _ = writeln!(text, "duration = \"{:.0} s\"", longest.min(1e6));
        let fixed = [
            ("sender.mtu", self.mtu.to_string()),
            ("receiver.mtu", self.mtu.to_string()),
            ("sender.timestamps", self.timestamps.to_string()),
            ("receiver.timestamps", self.timestamps.to_string()),
            ("sender.sack", self.sack.to_string()),
            ("receiver.sack", self.sack.to_string()),
            ("sender.window_scaling", self.window_scaling.to_string()),
            ("receiver.window_scaling", self.window_scaling.to_string()),
            // Any control is paced if the transfer was, and opens by HyStart.
            ("sender.pacing_by_window", self.paces().to_string()),
            ("flow.slow_start", "hystart".into()),
            // The segments per ACK are measured.
            ("receiver.receive_offload", false.to_string()),
            ("sender.coalesce", "0 s".into()),
            ("receiver.coalesce", "0 s".into()),
            ("sender.dsack", self.sack.to_string()),
            ("receiver.dsack", self.sack.to_string()),
        ];
        let all: Vec<(&str, String)> = fixed.into_iter().chain(self.named()).collect();
        for (section, heading) in [
            ("path.", "[path]"),
            ("sender.", "[sender]"),
            ("receiver.", "[receiver]"),
            ("flow.", "[[flow]]"),
        ] {
            let _ = writeln!(text, "\n{heading}");
            for (key, value) in &all {
                let Some(key) = key.strip_prefix(section) else {
                    continue;
                };
                let is_bare = value.parse::<f64>().is_ok()
                    || value.starts_with('[')
                    || matches!(value.as_str(), "true" | "false");
                let quote = if is_bare { "" } else { "\"" };
                let _ = writeln!(text, "{key} = {quote}{value}{quote}");
            }
        }
        text
    }

    /// Returns the lowest known bound on the transfer's rate, in bits per second.
    fn slowest_bps(&self) -> f64 {
        let supply = match self.supply {
            Supply::Pieces(bytes, every) => bytes * 8.0 / every.max(1e-6),
            Supply::Paced(bps) | Supply::Link(bps) => bps,
            Supply::Cpu(each) => self.mtu as f64 * 8.0 / each.max(1e-9),
            Supply::Everything => f64::INFINITY,
        };
        let reader = self.reader_bps.unwrap_or(f64::INFINITY);
        self.rate_bps.min(supply).min(reader).max(1e3)
    }
}

/// Returns a rate in the form of a plan.
fn rate(bps: f64) -> String {
    format!("{:.0} kbit/s", (bps / 1e3).max(1.0))
}

/// Returns a time in the form of a plan.
fn time(seconds: f64) -> String {
    let ns = (seconds * 1e9).round().max(0.0);
    match ns {
        1e6.. => format!("{} ms", ns / 1e6),
        1e3.. => format!("{} us", ns / 1e3),
        _ => format!("{ns} ns"),
    }
}

impl Constants {
    /// Returns true if the sender paces. It always does with a control that needs pacing.
    #[must_use]
    pub fn paces(&self) -> bool {
        self.pacing || needs_pacing(self.control)
    }

    /// Returns the profile of the receiver.
    ///
    /// A known buffer is the window; Linux would reserve a part of it.
    #[must_use]
    pub fn receiver_profile(&self) -> &'static str {
        match self.receive {
            Buffer::Auto => self.profile,
            Buffer::Bytes(_) => MODERN,
        }
    }

    /// Returns the profile of the sender. A known buffer is the limit of the flight.
    #[must_use]
    pub fn sender_profile(&self) -> &'static str {
        match self.send {
            Buffer::Auto => self.profile,
            Buffer::Bytes(_) => MODERN,
        }
    }
}

impl LossProcess {
    /// Returns the process with losses multiplied.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        match self {
            Self::None => Self::None,
            Self::Random(p) => Self::Random((p * factor).min(0.5)),
            Self::Bursts(share, length) => Self::Bursts((share * factor).min(0.5), length),
            Self::Periodic(every) => Self::Periodic(((every as f64 / factor) as u64).max(2)),
        }
    }
}

/// Returns true if a control paces in every kernel.
#[must_use]
pub fn needs_pacing(control: &str) -> bool {
    matches!(control, "bbr" | "bbr3")
}
