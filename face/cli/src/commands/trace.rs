//! `gigatcp trace`: traces the path to a host and back, hop by hop, with the MTU of each direction.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use gigatcp_meter::{Hop, ReverseError, Trace};
use serde_json::{Value, json};

use super::Outcome;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;

/// Command-line arguments of `trace`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Trace the path to a host, and back from a gigatcp server",
    long_about = "\
Trace the path to a host: the address that answers at each hop, the RTT, and the path MTU. No \
privilege is required: the kernel reports ICMP errors about UDP probes to their socket.

If the host runs `gigatcp server`, the reverse path is traced too; it often differs. A stock \
iperf3 server cannot trace it.",
    after_help = "\
Examples:
  gigatcp trace dtn2.example                     both directions
  gigatcp trace --forward dtn2.example           from here to there only
  gigatcp trace --json dtn2.example | jq .       as JSON"
)]
pub(crate) struct Arguments {
    /// Host: name or address
    #[arg(value_name = "HOST")]
    host: String,

    /// Port of its server, which traces the reverse path
    #[arg(short, long, value_name = "PORT", default_value_t = 5201)]
    port: u16,

    /// Trace the forward path only, without a server
    #[arg(long)]
    forward: bool,

    /// IPv4 only
    #[arg(short = '4', long, conflicts_with = "version6")]
    version4: bool,

    /// IPv6 only
    #[arg(short = '6', long)]
    version6: bool,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Traces the path.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let to = resolve(arguments)?;
    let interrupt = Interrupt::listen()?;
    let stops = || interrupt.signal().is_some();
    let there = gigatcp_meter::trace(to.ip(), &stops)
        .map_err(|error| Failure::io(&format!("trace {}", to.ip()), &error))?;
    let is_asked = !arguments.forward && !stops();
    let back = is_asked.then(|| gigatcp_meter::reverse(to));
    if arguments.json {
        output::print_json(&value(to, &there, back.as_ref()))?;
    } else {
        output::print_lines(&text(arguments, to, &there, back.as_ref()))?;
    }
    Ok(Outcome::of(&interrupt, false))
}

fn resolve(arguments: &Arguments) -> Result<SocketAddr, Failure> {
    let host = &arguments.host;
    let mut addresses = (host.as_str(), arguments.port)
        .to_socket_addrs()
        .map_err(|error| {
            Failure::new(format!("`{host}` cannot be resolved: {error}"))
                .effect("nothing was traced")
                .hint("check the name, or give an address")
        })?;
    let is_allowed = |address: &SocketAddr| match (arguments.version4, arguments.version6) {
        (true, _) => address.is_ipv4(),
        (_, true) => address.is_ipv6(),
        _ => true,
    };
    addresses.find(is_allowed).ok_or_else(|| {
        Failure::new(format!("`{host}` has no address of the family requested"))
            .effect("nothing was traced")
            .hint("leave out -4 and -6")
    })
}

type Back = Result<Trace, ReverseError>;

fn text(arguments: &Arguments, to: SocketAddr, there: &Trace, back: Option<&Back>) -> String {
    let mut text = format!("{}: {}\n", to.ip(), summary(there));
    hops(&mut text, there);
    match back {
        Some(Ok(back)) => {
            let _ = writeln!(text, "\nFrom there to here: {}", summary(back));
            hops(&mut text, back);
        }
        Some(Err(ReverseError::Stock)) => {
            text.push_str("\nFrom there to here: unknown; its server is not a gigatcp server.\n");
        }
        Some(Err(ReverseError::Refused)) => {
            text.push_str(
                "\nFrom there to here: unknown; its server refuses: it is busy, or requires a name \
                 and password.\n",
            );
        }
        Some(Err(ReverseError::Io(error))) => {
            let (host, port) = (&arguments.host, arguments.port);
            let _ = writeln!(
                text,
                "\nFrom there to here: unknown; no answer at port {port} ({error}). Start `gigatcp \
                 server` on {host}, or use --forward."
            );
        }
        None => {}
    }
    text
}

/// Number of hops, and the path MTU with the MSS that fits it.
fn summary(trace: &Trace) -> String {
    let hops = gigatcp_report::number::counted(trace.hops.len() as u64, "hop");
    let mut text = match trace.is_complete {
        true => hops,
        false => format!("no answer from the host; {hops} answered"),
    };
    if let Some(mtu) = trace.mtu {
        let mut answers = trace.hops.iter().flat_map(|hop| &hop.answers);
        let headers = if answers.all(|(from, _)| from.is_ipv4()) {
            40
        } else {
            60
        };
        let most = if trace.is_mtu_confirmed {
            ""
        } else {
            "at most "
        };
        let mss = mtu.saturating_sub(headers);
        let _ = write!(text, ", path MTU {most}{mtu} (MSS {mss})");
    }
    if let Some(from) = trace.mtu_from {
        let _ = write!(text, ", reported by {from}");
    }
    if let Some(bytes) = trace.vanishes {
        let _ = write!(
            text,
            "\n  Packets of {bytes} bytes vanish without an ICMP error (path MTU black hole). TCP \
             stalls there\n  without net.ipv4.tcp_mtu_probing=1 at the sender, or an MSS clamped at \
             the router"
        );
    } else if trace.mtu.is_some() && !trace.is_mtu_confirmed {
        text.push_str("\n  No packet of that size was answered: a smaller path MTU is possible");
    }
    text
}

fn hops(text: &mut String, trace: &Trace) {
    for (index, hop) in trace.hops.iter().enumerate() {
        let _ = writeln!(text, "  {:>2}  {}", index + 1, answers(hop));
    }
}

/// All addresses that answered for a hop, with RTTs.
fn answers(hop: &Hop) -> String {
    let mut names: Vec<IpAddr> = hop.answers.iter().map(|(from, _)| *from).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return "no answer".into();
    }
    let of = |name: &IpAddr| {
        let times = hop.answers.iter().filter(|(from, _)| from == name);
        let ms = |time: &Duration| format!("{:.2}", time.as_secs_f64() * 1000.0);
        let times: Vec<String> = times.map(|(_, after)| ms(after)).collect();
        format!("{name}  {} ms", times.join(" "))
    };
    names.iter().map(of).collect::<Vec<_>>().join("  ")
}

fn value(to: SocketAddr, there: &Trace, back: Option<&Back>) -> Value {
    let back = match back {
        Some(Ok(back)) => back.to_json(),
        _ => Value::Null,
    };
    json!({
        "schema": "gigatcp-trace/1",
        "to": to.ip().to_string(),
        "forward": there.to_json(),
        "reverse": back,
    })
}
