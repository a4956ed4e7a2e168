//! `gigatcp mcp`: the answers of this program as tools for agents, by the Model Context Protocol.
//!
//! `rmcp` speaks the protocol on standard input and output, in its stateless form of 2026-07 and in
//! the earlier ones. Each call of a tool runs this program once more, with a limit on its time and
//! memory: what a hostile capture does to that process ends with it.
//!
//! | file | content |
//! |---|---|
//! | `tools.rs` | the tools: their arguments, and the command line of each |
//! | `root.rs` | files below the root |
//! | `child.rs` | one run of this program, and its limits |
//! | `bound.rs` | answers of at most 2,000 tokens |

mod bound;
mod child;
mod root;
mod tools;

use std::io;
use std::path::PathBuf;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Semaphore;

use super::Outcome;
use crate::failure::Failure;
use root::Root;

/// Maximum bytes of a request.
const MAX_REQUEST: usize = 64 << 10;

/// Maximum number of calls in progress; further ones are refused.
const MAX_IN_FLIGHT: usize = 4;

/// What an agent is told about all tools.
const INSTRUCTIONS: &str = "\
These tools only read. Start with `why` for a capture or a report, `watch` for connections that run \
now, `doctor` for the settings of this host. In an answer of `why` read `outcome`, `unsure`, \
`healthy`, then `cause`, `confidence`, `share`. If `unsure` is true, `cause` and `alternative` are \
both possible: say both. If `healthy` is true, nothing that can be changed limited the connection; \
null is not false. Cite `evidence[].packet`: packet numbers as Wireshark shows them. Do not conclude \
a cause from retransmissions alone. `could_be` is an upper bound. Times are nanoseconds, rates bit/s.";

/// Command-line arguments of `mcp`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Serve why, flows, watch, doctor and whatif to an agent (Model Context Protocol)",
    long_about = "\
Serve why, flows, watch, doctor and whatif as tools of the Model Context Protocol, on standard \
input and output.

The tools only read: captures and reports below --root, the kernel's counters and settings. They \
write no file, change no setting, send nothing and look up no names. A path that leaves the root, by \
`..` or by a symbolic link, is refused, and so is what is not a regular file. A request has at most \
64 KiB, an answer about 2,000 tokens; 4 calls run at a time, each for at most --timeout \
and with 4 GiB of memory.",
    after_help = "\
Examples:
  gigatcp mcp --root captures
                                       serve an agent that starts this program
  gigatcp mcp --root /var/captures --timeout 20s
                                       give up sooner"
)]
pub(crate) struct Arguments {
    /// Directory of the captures and reports that the tools may read
    #[arg(long, value_name = "DIR")]
    root: PathBuf,

    /// Maximum time of a call
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = crate::values::time)]
    timeout: gigatcp_units::Duration,
}

/// Serves until standard input ends.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let server = Server {
        root: Root::new(&arguments.root)?,
        timeout: arguments.timeout.into(),
        calls: Semaphore::new(MAX_IN_FLIGHT),
    };
    let cannot = |error: &io::Error| Failure::io("serve on standard input", error);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| cannot(&error))?;
    let served = runtime.block_on(async {
        let (input, output) = rmcp::transport::io::stdio();
        let (lines, requests) = tokio::io::duplex(MAX_REQUEST);
        tokio::spawn(pass_requests(input, requests));
        let service = server
            .serve(AsyncRwTransport::new_server(lines, output))
            .await;
        // A client that leaves before it begins is no error.
        if let Ok(service) = service {
            service.waiting().await?;
        }
        Ok::<_, tokio::task::JoinError>(())
    });
    // Its thread may still wait for standard input.
    runtime.shutdown_background();
    served.map_err(|error| Failure::fault(error.to_string()))?;
    Ok(Outcome::Done)
}

/// Passes lines on, and answers those that are no JSON, or too long, which `rmcp` ignores (JSON-RPC
/// 2.0, section 5.1). Each answer is one write, so those of `rmcp` do not mix with it.
async fn pass_requests(
    input: impl AsyncRead + Unpin,
    mut requests: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    let mut is_cut = false;
    loop {
        line.clear();
        let mut part = (&mut input).take(MAX_REQUEST as u64);
        if part.read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        // The last line may have no end.
        let is_last = !line.ends_with(b"\n") && line.len() < MAX_REQUEST;
        let was_cut = std::mem::replace(&mut is_cut, !line.ends_with(b"\n") && !is_last);
        let error = if was_cut {
            // The rest of a line that was answered.
            continue;
        } else if is_cut {
            ErrorData::invalid_request(format!("a request has at most {MAX_REQUEST} bytes"), None)
        } else if let Err(error) = serde_json::from_slice::<IgnoredAny>(&line)
            && !line.trim_ascii().is_empty()
        {
            ErrorData::parse_error(format!("not JSON: {error}"), None)
        } else {
            requests.write_all(&line).await?;
            continue;
        };
        let answer = json!({"jsonrpc": "2.0", "id": null, "error": error});
        let mut output = tokio::io::stdout();
        output.write_all(format!("{answer}\n").as_bytes()).await?;
        output.flush().await?;
    }
}

/// The server's side of the protocol.
struct Server {
    root: Root,
    timeout: std::time::Duration,
    calls: Semaphore,
}

impl Server {
    /// Answer of a call. The error is for the agent: value, cause, effect, hint.
    async fn answer(&self, request: CallToolRequestParams) -> Result<String, String> {
        let tool = tools::find(&request.name).ok_or_else(|| {
            let names: Vec<&str> = tools::TOOLS.iter().map(|tool| tool.name).collect();
            format!("no tool has this name; the tools are {}", names.join(", "))
        })?;
        let _call = self.calls.try_acquire().map_err(|_| {
            format!("{MAX_IN_FLIGHT} calls are in progress; nothing was done; hint: wait for one")
        })?;
        let call = (tool.call)(request.arguments.unwrap_or_default(), &self.root)?;
        let output = child::run(&call.words, self.timeout).await;
        let renamed = |text: String| {
            call.files
                .iter()
                .fold(text, |text, file| file.rename(&text))
        };
        output
            .and_then(|output| (call.shape)(output))
            .map(renamed)
            .map_err(renamed)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("gigatcp", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = tools::TOOLS
            .iter()
            .map(tools::Tool::listed)
            .collect::<Result<Vec<_>, String>>()
            .map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Dropped when the client cancels: that ends the child.
        let answer = context.ct.run_until_cancelled(self.answer(request)).await;
        let result = match answer.unwrap_or_else(|| Err("the call was cancelled".into())) {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(bound::lines(text))]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(bound::lines(text))]),
        };
        Ok(result.into())
    }
}
