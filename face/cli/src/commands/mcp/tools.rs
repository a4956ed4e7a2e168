//! The tools: their arguments, and the command line of each.

use std::ffi::OsString;
use std::net::IpAddr;
use std::sync::Arc;

use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::bound;
use super::root::{Admitted, Root};

/// A tool of the server.
pub(super) struct Tool {
    pub(super) name: &'static str,
    description: &'static str,
    schema: fn() -> Result<Arc<JsonObject>, String>,
    pub(super) call: fn(JsonObject, &Root) -> Result<Call, String>,
}

/// A run of this program.
pub(super) struct Call {
    pub(super) words: Vec<OsString>,
    /// The files it reads.
    pub(super) files: Vec<Admitted>,
    /// From its output to the answer.
    pub(super) shape: fn(String) -> Result<String, String>,
}

/// All tools.
pub(super) const TOOLS: [Tool; 5] = [
    Tool {
        name: "why",
        description: "What limited the TCP connections of a capture (pcap, pcapng, snoop, printed \
            packets; gzip, zstd) or of a report (iperf3 -J, nuttcp, ss -tinm). The largest \
            connection comes in full, the next ones in brief.",
        schema: schema_for_input::<Why>,
        call: why,
    },
    Tool {
        name: "flows",
        description: "The largest connections of a capture: a line each with its number, bytes, \
            retransmissions, reordering, RTT and end.",
        schema: schema_for_input::<Flows>,
        call: flows,
    },
    Tool {
        name: "watch",
        description: "The TCP connections of this host that carry data now, and what limits them, \
            from the kernel's counters. Less certain than `why`.",
        schema: schema_for_input::<Watch>,
        call: watch,
    },
    Tool {
        name: "doctor",
        description: "Settings of this host that limit TCP over a path, with the command that \
            changes each. Nothing is changed or sent.",
        schema: schema_for_input::<Doctor>,
        call: doctor,
    },
    Tool {
        name: "whatif",
        description: "Predicts the goodput of a captured or reported transfer with other settings.",
        schema: schema_for_input::<Whatif>,
        call: whatif,
    },
];

pub(super) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

impl Tool {
    /// Its description for a client.
    pub(super) fn listed(&self) -> Result<Listed, String> {
        let hints = ToolAnnotations::new().read_only(true).open_world(false);
        let listed = Listed::new(self.name, self.description, (self.schema)()?);
        Ok(listed.with_annotations(hints))
    }
}

/// Arguments of `why`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Why {
    /// The capture or report, below the root
    file: String,
    /// A capture of the same connections at another place
    second_file: Option<String>,
    /// Number of the connection, as `flows` lists it; without it the largest
    connection: Option<u32>,
}

fn why(arguments: JsonObject, root: &Root) -> Result<Call, String> {
    let Why {
        file,
        second_file,
        connection,
    } = read(arguments)?;
    let mut call = Call::new(&["why", "--json"], whole_and_brief);
    call.option("connection", connection);
    call.open(root, std::iter::once(file).chain(second_file))?;
    Ok(call)
}

/// The first connection in full, and the next ones as one sentence each.
fn whole_and_brief(text: String) -> Result<String, String> {
    /// Connections that are listed.
    const LISTED: usize = 8;
    const BRIEF: [&str; 8] = [
        "connection",
        "connections",
        "sender",
        "sentence",
        "cause",
        "confidence",
        "unsure",
        "healthy",
    ];
    let mut document = parsed(&text)?;
    let joined = document.get_mut("joined");
    let has_joined = joined.is_some_and(|joined| {
        joined
            .as_array()
            .is_some_and(|connections| !connections.is_empty())
    });
    let lists = [
        ("/joined", usize::from(has_joined)),
        ("/captures/0/connections", usize::from(!has_joined)),
        ("/captures/1/connections", 0),
    ];
    for (place, whole) in lists {
        let Some(Value::Array(connections)) = document.pointer_mut(place) else {
            continue;
        };
        let more = connections.len().saturating_sub(LISTED);
        connections.truncate(LISTED);
        for connection in connections.iter_mut().skip(whole) {
            let Value::Object(fields) = connection else {
                continue;
            };
            fields.retain(|name, _| BRIEF.contains(&name.as_str()));
        }
        if more > 0 {
            connections.push(json!({ "more_connections": more }));
        }
    }
    Ok(bound::document(document))
}

/// Arguments of `flows`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Flows {
    /// The capture, below the root
    file: String,
}

fn flows(arguments: JsonObject, root: &Root) -> Result<Call, String> {
    let Flows { file } = read(arguments)?;
    let mut call = Call::new(&["flows"], Ok);
    call.open(root, [file])?;
    Ok(call)
}

/// Arguments of `watch`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Watch {
    /// Only connections with this address at either end
    address: Option<IpAddr>,
    /// Only connections with this port at either end
    port: Option<u16>,
    /// Only connections of this process
    pid: Option<u32>,
    /// How long to watch, 1 to 30 seconds [default: 3]
    seconds: Option<u32>,
}

fn watch(arguments: JsonObject, _: &Root) -> Result<Call, String> {
    let Watch {
        address,
        port,
        pid,
        seconds,
    } = read(arguments)?;
    let interval = seconds.unwrap_or(3);
    if !(1..=30).contains(&interval) {
        return Err(format!(
            "`seconds` is {interval}; nothing was watched; hint: 1 to 30"
        ));
    }
    let mut call = Call::new(&["watch", "--count=2"], without_first_sample);
    call.option("interval", Some(format!("{interval} s")));
    let filters = [
        address.map(|address| format!("host {address}")),
        port.map(|port| format!("port {port}")),
        pid.map(|pid| format!("pid:{pid}")),
    ];
    let filters: Vec<String> = filters.into_iter().flatten().collect();
    if !filters.is_empty() {
        call.words
            .extend(["--".into(), filters.join(" and ").into()]);
    }
    Ok(call)
}

/// The first sample has no interval before it, so no rates.
fn without_first_sample(text: String) -> Result<String, String> {
    Ok(text
        .split_once("\n\n")
        .map_or(text.clone(), |(_, rest)| rest.to_owned()))
}

/// Which end this host is.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(crate = "rmcp::schemars")]
enum Direction {
    Send,
    Receive,
    Both,
}

/// Arguments of `doctor`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Doctor {
    /// Address of the other host: its route decides the interface
    address: Option<IpAddr>,
    /// RTT of the path, as "80 ms"
    rtt: Option<String>,
    /// Rate that one connection should reach, as "10 Gbit/s"
    rate: Option<String>,
    /// Probability that the path loses a packet, as "1e-5"
    loss: Option<String>,
    /// Whether this host sends or receives [default: both]
    direction: Option<Direction>,
}

fn doctor(arguments: JsonObject, _: &Root) -> Result<Call, String> {
    let Doctor {
        address,
        rtt,
        rate,
        loss,
        direction,
    } = read(arguments)?;
    let mut call = Call::new(&["doctor", "--json"], bounded);
    call.option("rtt", rtt);
    call.option("rate", rate);
    call.option("loss", loss);
    call.option(
        "direction",
        direction.map(|direction| match direction {
            Direction::Send => "send",
            Direction::Receive => "receive",
            Direction::Both => "both",
        }),
    );
    call.words
        .extend(address.map(|address| address.to_string().into()));
    Ok(call)
}

/// Arguments of `whatif`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Whatif {
    /// The capture or report, below the root
    file: String,
    /// Number of the connection, as `flows` lists it; without it the largest
    connection: Option<u32>,
    /// At most 8 changes, together and each alone: KEY=VALUE, as "receiver.buffer=8 MB",
    /// "flow.congestion_control=bbr", or a sysctl of Linux
    #[serde(default)]
    #[schemars(length(max = 8))]
    changes: Vec<String>,
    /// Also try the usual settings and rank them: takes longer
    #[serde(default)]
    best: bool,
}

fn whatif(arguments: JsonObject, root: &Root) -> Result<Call, String> {
    /// Maximum number of changes.
    const MAX_CHANGES: usize = 8;
    let Whatif {
        file,
        connection,
        changes,
        best,
    } = read(arguments)?;
    if changes.len() > MAX_CHANGES {
        return Err(format!(
            "{} changes; nothing was predicted; hint: at most 8",
            changes.len()
        ));
    }
    let mut call = Call::new(&["whatif", "--json"], bounded);
    call.option("connection", connection);
    for change in changes {
        call.option("set", Some(change));
    }
    call.words.extend(best.then(|| "--best".into()));
    call.open(root, [file])?;
    Ok(call)
}

/// The document, shortened.
fn bounded(text: String) -> Result<String, String> {
    Ok(bound::document(parsed(&text)?))
}

fn parsed(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("the answer is not JSON: {error}"))
}

/// Reads the arguments of a call.
fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(arguments.into())
        .map_err(|error| format!("invalid arguments: {error}; nothing was done"))
}

impl Call {
    fn new(words: &[&str], shape: fn(String) -> Result<String, String>) -> Self {
        Self {
            words: words.iter().map(Into::into).collect(),
            files: Vec::new(),
            shape,
        }
    }

    /// Adds an option with its value in one word: no value is read as an option.
    fn option(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        self.words
            .extend(value.map(|value| format!("--{name}={value}").into()));
    }

    /// Adds files below the root.
    fn open(&mut self, root: &Root, names: impl IntoIterator<Item = String>) -> Result<(), String> {
        for name in names {
            let file = root.admit(&name)?;
            self.words.push(file.path.clone().into());
            self.files.push(file);
        }
        Ok(())
    }
}
