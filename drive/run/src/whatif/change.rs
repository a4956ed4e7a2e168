//! Changes `KEY=VALUE`: keys of a plan (`gigatcp list keys`), and the sysctls of Linux that `why`
//! advises.

use gigatcp_units::grammar::{typed_bytes, typed_duration, typed_rate};

/// A socket buffer, as a user sets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// Requested by the program (`SO_RCVBUF`, `SO_SNDBUF`): Linux grants twice that.
    Requested(u64),
    /// Third value of `tcp_rmem` or `tcp_wmem`: the kernel tunes the buffer up to it.
    Tuned(u64),
}

/// A queue limit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Queue {
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
    /// Bandwidth-delay products.
    Bdp(f64),
}

/// A change of a transfer. Rates are in bit/s, times in seconds.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// Buffer of the receiver.
    Receive(Buffer),
    /// Buffer of the sender.
    Send(Buffer),
    /// Congestion control.
    Control(String),
    /// Rate of the bottleneck, its headers included.
    Rate(f64),
    /// RTT of the empty path.
    Rtt(f64),
    /// Queue limit of the bottleneck.
    Queue(Queue),
    /// Probability of a random loss.
    Loss(f64),
    /// A policer is removed.
    NoPolicer,
    /// MTU of a host.
    Mtu(f64),
    /// Maximum segment size, the options included.
    Mss(f64),
    /// Parallel connections.
    Flows(u64),
    /// Maximum pacing rate; infinite without one.
    Pacing(f64),
    /// Rate of a shaper at the sender, its headers included; infinite without one.
    Shaper(f64),
    /// Initial window in segments.
    InitialWindow(u64),
    /// Whether slow start follows a pause.
    IdleRestart(bool),
    /// Whether windows are scaled.
    WindowScaling(bool),
    /// Whether loss recovery has selective acknowledgments.
    Sack(bool),
    /// Another key of a plan: only the engine knows it.
    Other(String),
}

impl Change {
    /// Reads `KEY=VALUE`.
    ///
    /// # Errors
    /// What is wrong with the value, in a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is not KEY=VALUE"))?;
        let (key, value) = (key.trim(), value.trim().trim_matches(['"', '\'']));
        let fault = |what: &str| format!("`{value}` is not {what}, for {key}");
        let bytes = || {
            typed_bytes(value)
                .map(|bytes| bytes.as_u64())
                .map_err(|_| fault("a size, as in 4 MB"))
        };
        let rate = || {
            typed_rate(value)
                .map(|rate| rate.as_bps() as f64)
                .map_err(|_| fault("a rate, as in 20 Mbit/s"))
        };
        let unlimited = || match value {
            "unlimited" | "none" | "false" => Ok(f64::INFINITY),
            _ => rate(),
        };
        let whole = || {
            value
                .parse::<u64>()
                .ok()
                .filter(|number| *number > 0)
                .ok_or_else(|| fault("a whole number"))
        };
        let third = || {
            let last = value
                .split_whitespace()
                .last()
                .and_then(|last| last.parse().ok());
            last.ok_or_else(|| fault("three sizes in bytes"))
        };
        Ok(match key {
            "receiver.buffer" | "flow.receive_buffer" => match value {
                "auto" => Self::Receive(Buffer::Tuned(AMPLE)),
                _ => Self::Receive(Buffer::Requested(bytes()?)),
            },
            "sender.buffer" | "flow.send_buffer" => match value {
                "auto" => Self::Send(Buffer::Tuned(AMPLE)),
                _ => Self::Send(Buffer::Requested(bytes()?)),
            },
            "net.ipv4.tcp_rmem" => Self::Receive(Buffer::Tuned(third()?)),
            "net.ipv4.tcp_wmem" => Self::Send(Buffer::Tuned(third()?)),
            "net.ipv4.tcp_congestion_control" | "flow.congestion_control" => {
                Self::Control(control(value).ok_or_else(|| fault("a congestion control"))?)
            }
            "net.ipv4.tcp_window_scaling" => Self::WindowScaling(value != "0"),
            "net.ipv4.tcp_sack" => Self::Sack(value != "0"),
            "net.ipv4.tcp_slow_start_after_idle" => Self::IdleRestart(value != "0"),
            "sender.idle_restart" => Self::IdleRestart(value == "true"),
            "path.rate" => Self::Rate(rate()?),
            "path.rtt" => Self::Rtt(
                typed_duration(value)
                    .map_err(|_| fault("a time, as in 20 ms"))?
                    .as_secs_f64()
                    .max(1e-6),
            ),
            "path.queue" => queue(value).map_or_else(|| Self::Other(text.to_owned()), Self::Queue),
            "path.loss" => {
                let loss = value.parse().ok().filter(|loss| (0.0..1.0).contains(loss));
                Self::Loss(loss.ok_or_else(|| fault("a probability"))?)
            }
            "path.policer" if value == "none" => Self::NoPolicer,
            "sender.mtu" | "receiver.mtu" => Self::Mtu(whole()?.max(576) as f64),
            "flow.mss" => Self::Mss(whole()?.max(88) as f64),
            "flow.count" => Self::Flows(whole()?.min(1000)),
            "sender.max_pacing_rate" => Self::Pacing(unlimited()?),
            "sender.link.rate" => Self::Shaper(unlimited()?),
            "sender.initial_window" => Self::InitialWindow(whole()?.min(10_000)),
            _ => Self::Other(text.to_owned()),
        })
    }

    /// Reads all of them, each key once.
    ///
    /// # Errors
    /// The first fault.
    pub fn parse_all(texts: &[String]) -> Result<Vec<Self>, String> {
        texts.iter().map(|text| Self::parse(text)).collect()
    }
}

/// Maximum of an autotuned buffer by default: more than most paths need.
const AMPLE: u64 = 32 << 20;

/// Name of a congestion control of Linux in the engine.
fn control(name: &str) -> Option<String> {
    let name = if name == "cubic" { "cubic-linux" } else { name };
    gigatcp_tcp::congestion::find(name).map(|entry| entry.name.to_owned())
}

fn queue(value: &str) -> Option<Queue> {
    if let Some(packets) = value.strip_suffix("packets") {
        return packets.trim().parse().ok().map(Queue::Packets);
    }
    if let Some(count) = value.strip_suffix("BDP") {
        return count.trim().parse().ok().map(Queue::Bdp);
    }
    typed_bytes(value)
        .ok()
        .map(|bytes| Queue::Bytes(bytes.as_u64()))
}
