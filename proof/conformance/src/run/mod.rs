//! Runs a script against a stack.
//!
//! The runner keeps the script's clock, converts its relative numbers to those of the wire and
//! compares the stack's output. [`crate::stack`] is the other side.
//!
//! # Rules
//!
//! * Time is exact unless [`Settings::tolerance`] changes that. A relative time counts from the
//!   script time of the previous event, or, if that one has a range or `*`, from when it happened.
//!   With [`Tolerance::Script`] it counts from when a packet left, as in packetdrill.
//! * With a real clock ([`Pace::Real`]) times are counted as in packetdrill.
//! * One line may match several segments, and one segment several lines. Super-segments are split,
//!   and segments are joined if they are contiguous and simultaneous. Stacks are free in how much
//!   they pass to the network together.
//! * A script is *strict* if it has a `// profile:` line or if [`Settings::strict`] is set. Then
//!   every packet that leaves must be in the script, and timestamps must advance as written. Other
//!   scripts are run as in packetdrill: packets after the last line, or late for their line, are
//!   ignored.

mod compare;
mod flow;
mod inject;
mod notation;
mod pace;
mod resize;
mod settings;
mod verdict;

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;

use crate::ast::{self, Action, Call, Event, Script, TcpOption, Time, Value};
use crate::packet::Tcp;
use crate::python;
use crate::source::{Span, line_of};
use crate::stack::{Addresses, CallId, Progress, Request, Returned, Sent, Stack, Unsupported};
use compare::Stamps;
use flow::{Flow, Start};
use pace::Before;
use settings::{PACKETDRILL_TOLERANCE, addresses, defines};

pub use pace::Pace;
pub use settings::{Leniency, Settings, Tolerance};
pub use verdict::{Class, Failure, Report, Verdict};

/// Number of events shown with a failure.
const LOG: usize = 20;

/// Maximum wait for a `*`: longer than any timer except keep-alive's.
const ANY_TIME: Duration = Duration::from_secs(200);

/// First port the peer connects from.
const FIRST_PEER_PORT: u16 = 40_000;

/// Runs `script`, whose text is `text`.
pub fn run(script: &Script, text: &str, stack: &mut dyn Stack, settings: &Settings) -> Report {
    let mut runner = match Runner::new(script, text, settings) {
        Ok(runner) => runner,
        Err(verdict) => {
            return Report {
                verdict,
                printed: Vec::new(),
            };
        }
    };
    let verdict = match runner.run(script, stack) {
        Ok(()) => Verdict::Passed,
        Err(stop) => stop,
    };
    Report {
        verdict,
        printed: runner.printed,
    }
}

/// A script in progress.
struct Runner<'a> {
    text: &'a str,
    addresses: Addresses,
    leniency: Leniency,
    tolerance: Duration,
    pace: Pace,
    /// Whether a relative time counts from when the previous packet left. This is packetdrill's
    /// rule and holds with its tolerance.
    counts_as_packetdrill: bool,
    before: Before,
    strict: bool,
    stamps: Stamps,
    defines: BTreeMap<String, Vec<u8>>,
    /// Time from which the next relative time counts.
    base: Instant,
    flows: Vec<Flow>,
    /// Current connection of the script.
    current: Option<usize>,
    /// The descriptor that was connected last.
    connecting: Option<i64>,
    next_peer_port: u16,
    pending: VecDeque<Sent>,
    blocked: Vec<Blocked>,
    log: VecDeque<String>,
    printed: Vec<String>,
}

/// A blocked call.
struct Blocked {
    id: CallId,
    call: Call,
    span: Span,
    ends: Option<Instant>,
    /// Tolerance of its end.
    tolerance: Duration,
}

/// Reason why a script stops before its end.
type Stop = Verdict;

impl<'a> Runner<'a> {
    fn new(script: &Script, text: &'a str, settings: &Settings) -> Result<Self, Stop> {
        let number = |name: &str| -> Result<Option<u64>, Stop> {
            let Some(option) = script.option(name) else {
                return Ok(None);
            };
            let parsed = option.value.parse().map(Some);
            parsed.map_err(|_| Verdict::Unsupported {
                span: option.span.clone(),
                what: Unsupported::new("option", format!("--{name}={}", option.value)),
            })
        };
        let micros = number("tolerance_usecs")?;
        let tolerance = match settings.tolerance {
            Tolerance::Exact => Duration::ZERO,
            Tolerance::Fixed(span) => span,
            Tolerance::Script => micros.map_or(PACKETDRILL_TOLERANCE, Duration::from_micros),
        };
        let strict = settings
            .strict
            .unwrap_or_else(|| script.header("profile").is_some());
        let tick = number("tcp_ts_tick_usecs")?;
        let stamps = match tick {
            Some(tick) => {
                Stamps::Progress((tolerance.as_micros() / u64::from(tick.max(1) as u32)) as u32)
            }
            None if strict && settings.pace == Pace::Virtual => Stamps::Progress(0),
            None => Stamps::Free,
        };
        let mtu = number("mtu")?.and_then(|mtu| u16::try_from(mtu).ok());
        Ok(Self {
            text,
            addresses: addresses(script, settings, mtu)?,
            leniency: settings.leniency,
            tolerance,
            pace: settings.pace,
            counts_as_packetdrill: settings.tolerance == Tolerance::Script,
            before: Before::default(),
            strict,
            stamps,
            defines: defines(script, settings),
            base: Instant::ZERO,
            flows: Vec::new(),
            current: None,
            connecting: None,
            next_peer_port: FIRST_PEER_PORT,
            pending: VecDeque::new(),
            blocked: Vec::new(),
            log: VecDeque::new(),
            printed: Vec::new(),
        })
    }

    fn run(&mut self, script: &Script, stack: &mut dyn Stack) -> Result<(), Stop> {
        stack
            .begin(script, &self.addresses)
            .map_err(|what| Verdict::Unsupported { span: 0..0, what })?;
        self.defines.extend(stack.definitions());
        for command in &script.setup {
            self.command(command, stack)?;
        }
        for event in &script.events {
            self.event(event, stack)?;
        }
        self.finish(script, stack)
    }

    fn event(&mut self, event: &Event, stack: &mut dyn Stack) -> Result<(), Stop> {
        self.base = self.pace.base(event, self.before, self.base, stack.now());
        let due = Due::new(event.time, self.base, Duration::ZERO);
        let since = self.before.nominal;
        let tolerance = self.pace.tolerance(self.tolerance, since, due.nominal);
        let due = Due::new(event.time, self.base, tolerance);
        self.before = Before {
            nominal: match event.time {
                Time::Any => self.base,
                _ => due.nominal,
            },
            is_arrival: matches!(event.action, Action::Inbound(_)),
        };
        if let Action::Outbound(spec) = &event.action {
            return self.outbound(spec, event, due, stack);
        }
        let at = due.nominal.max(stack.now());
        stack.wait_until(at);
        self.collect(stack);
        self.check_results(stack)?;
        self.forbid_earlier(&event.span, at)?;
        match &event.action {
            Action::Inbound(spec) => self.inbound(spec, event, stack)?,
            Action::Call(call) => self.call(call, event, at, stack)?,
            Action::Command(command) => self.command(command, stack)?,
            Action::Code(program) => self.code(program, &event.span, stack)?,
            Action::Outbound(_) => {}
        }
        self.base = if due.is_exact { due.nominal } else { at };
        Ok(())
    }

    fn finish(&mut self, script: &Script, stack: &mut dyn Stack) -> Result<(), Stop> {
        let ends = |blocked: &Blocked| Some(blocked.ends? + blocked.tolerance);
        let last = self.blocked.iter().filter_map(ends).max();
        if let Some(last) = last {
            stack.wait_until(last);
        }
        self.collect(stack);
        self.check_results(stack)?;
        if let Some(blocked) = self.blocked.first() {
            let said = format!("`{}` has not come back", blocked.call.name);
            return Err(self.failed(Class::Call, &blocked.span.clone(), said));
        }
        let end = self.text.trim_end().len();
        if self.strict
            && let Some(sent) = self.pending.front()
        {
            let said = self.shown(sent);
            return Err(self.failed(Class::Unexpected, &(end..end), said));
        }
        for command in &script.cleanup {
            // A stack that ends does not need the restored settings; unsupported commands are
            // reported anyway.
            if let Err(what) = stack.command(&command.text) {
                self.printed.push(format!("clean-up: {what}"));
            }
        }
        Ok(())
    }

    /// Collects the packets that have left so far.
    fn collect(&mut self, stack: &mut dyn Stack) {
        let now = stack.now();
        while let Some(sent) = stack.next_sent(now) {
            self.enqueue(sent);
        }
    }

    fn enqueue(&mut self, sent: Sent) {
        self.note_new_flow(&sent);
        let line = format!("{} > {}", seconds(sent.at), self.shown(&sent));
        self.note(line);
        self.pending.push_back(sent);
    }

    /// Makes a connection that the stack opens by a SYN the current one. With the ports of an
    /// earlier connection it is a new one, unless the SYN is a retransmission.
    fn note_new_flow(&mut self, sent: &Sent) {
        let Some(tcp) = sent.packet.tcp() else {
            return;
        };
        let is_syn = tcp.flags.contains(Flags::SYN);
        let is_open = is_syn && !tcp.flags.contains(Flags::ACK);
        let known = self.flow_of(tcp).map(|index| &mut self.flows[index]);
        if let Some(flow) = &known
            && is_syn
            && !is_open
            && flow.local.is_some_and(Start::is_guess)
        {
            // A number acknowledged before the stack sent anything was a guess.
            if let Some(flow) = known {
                flow.local = None;
            }
            return;
        }
        let is_another = known.is_none_or(|flow| flow.is_begun_otherwise(tcp.seq));
        if is_open && is_another {
            let mut flow = Flow::new(tcp.src_port, tcp.dst_port);
            flow.fd = self.connecting;
            self.flows.push(flow);
            self.current = Some(self.flows.len() - 1);
        }
    }

    fn flow_of(&self, sent: &Tcp) -> Option<usize> {
        let is_it =
            |flow: &Flow| flow.local_port == sent.src_port && flow.remote_port == sent.dst_port;
        self.flows.iter().rposition(is_it)
    }

    /// Checks that a strict script has every packet that leaves.
    fn forbid_earlier(&self, span: &Span, at: Instant) -> Result<(), Stop> {
        match self.pending.front() {
            Some(sent) if self.strict && sent.at + self.tolerance < at => {
                Err(self.failed(Class::Unexpected, span, self.shown(sent)))
            }
            _ => Ok(()),
        }
    }

    fn outbound(
        &mut self,
        spec: &ast::Packet,
        event: &Event,
        due: Due,
        stack: &mut dyn Stack,
    ) -> Result<(), Stop> {
        loop {
            while self.is_of_another(spec) {
                self.pending.pop_front();
            }
            if !self.pending.is_empty() {
                break;
            }
            match stack.next_sent(due.latest) {
                Some(sent) => self.enqueue(sent),
                None => break,
            }
        }
        self.check_results(stack)?;
        let Some(mut sent) = self.pending.pop_front() else {
            let said = format!("nothing by {}", seconds(due.latest));
            return Err(self.failed(Class::Missing, &event.span, said));
        };
        if let ast::Body::Tcp(wanted) = &spec.body {
            self.collect(stack);
            let apart = self.pace.apart(self.tolerance);
            resize::resize(wanted.len as usize, &mut sent, &mut self.pending, apart);
        }
        let shown = self.shown(&sent);
        let spec = self.resolved(spec, &event.span)?;
        let index = sent.packet.tcp().and_then(|tcp| self.flow_of(tcp));
        let mut unknown = Flow::new(0, 0);
        let flow = match index {
            Some(index) => &mut self.flows[index],
            None => &mut unknown,
        };
        compare::compare(&spec, &sent.packet, flow, self.leniency, self.stamps).map_err(
            |(class, said)| self.failed(class, &event.span, format!("{shown}\n            {said}")),
        )?;
        if sent.at < due.earliest || sent.at > due.latest {
            let said = format!("{shown}\n            at {}", seconds(sent.at));
            return Err(self.failed(Class::Timing, &event.span, said));
        }
        self.base = if due.is_exact && !self.counts_as_packetdrill {
            due.nominal
        } else {
            sent.at
        };
        Ok(())
    }

    /// Whether the next packet belongs to a connection other than the current one. packetdrill
    /// inspects one at a time. Strict scripts, and lines with ports, inspect all.
    fn is_of_another(&self, spec: &ast::Packet) -> bool {
        let front = self.pending.front().and_then(|sent| sent.packet.tcp());
        let index = front.and_then(|tcp| self.flow_of(tcp));
        !self.strict && spec.ports.is_none() && index.is_some() && index != self.current
    }

    /// Packet with cookie names replaced.
    fn resolved(&self, spec: &ast::Packet, span: &Span) -> Result<ast::Packet, Stop> {
        let mut spec = spec.clone();
        if let ast::Body::Tcp(tcp) = &mut spec.body
            && let Some(options) = &mut tcp.options
        {
            let resolved: Result<Vec<TcpOption>, Unsupported> = options
                .iter()
                .map(|option| inject::defined(option, &self.defines))
                .collect();
            *options = resolved.map_err(|what| unsupported(span, what))?;
        }
        Ok(spec)
    }

    fn inbound(
        &mut self,
        spec: &ast::Packet,
        event: &Event,
        stack: &mut dyn Stack,
    ) -> Result<(), Stop> {
        let index = self.flow_for(spec);
        let flow = &mut self.flows[index];
        let packet = inject::packet(spec, flow, &self.addresses, &self.defines)
            .map_err(|what| unsupported(&event.span, what))?;
        let shown = notation::packet(&packet, Some(flow), false);
        self.note(format!("{} < {shown}", seconds(stack.now())));
        stack
            .inject(&packet)
            .map_err(|what| unsupported(&event.span, what))?;
        self.collect(stack);
        self.check_results(stack)
    }

    /// Connection of an arriving packet; creates one if there is none.
    fn flow_for(&mut self, spec: &ast::Packet) -> usize {
        if let Some((remote, local)) = spec.ports {
            let is_it = |flow: &Flow| flow.local_port == local && flow.remote_port == remote;
            let known = self.flows.iter().rposition(is_it);
            let index = known.unwrap_or_else(|| {
                self.flows.push(Flow::new(local, remote));
                self.flows.len() - 1
            });
            self.current = Some(index);
            return index;
        }
        if let Some(index) = self.current {
            return index;
        }
        self.flows
            .push(Flow::new(self.addresses.local_port, self.next_peer_port));
        self.next_peer_port = self.next_peer_port.wrapping_add(1).max(FIRST_PEER_PORT);
        let index = self.flows.len() - 1;
        self.current = Some(index);
        index
    }

    fn call(
        &mut self,
        call: &Call,
        event: &Event,
        at: Instant,
        stack: &mut dyn Stack,
    ) -> Result<(), Stop> {
        let flags_at = if call.name == "sendmsg" { 2 } else { 3 };
        let flags = call.args.get(flags_at);
        let is_fast_open =
            call.name.starts_with("send") && flags.is_some_and(|f| f.has_word("MSG_FASTOPEN"));
        let is_connect = call.name == "connect" && !disconnects(call);
        let fd = call.args.first().and_then(Value::integer);
        let is_known = |flow: &Flow| flow.fd.is_some() && flow.fd == fd;
        let opens_fast = is_fast_open && !self.flows.iter().any(is_known);
        if call.name == "listen" || is_connect || opens_fast {
            // Subsequent lines refer to a new connection.
            self.current = None;
            self.connecting = fd;
        }
        self.note(format!(
            "{} {}",
            seconds(at),
            line_of(self.text, event.span.start)
        ));
        let request = Request {
            name: &call.name,
            args: &call.args,
            wanted: call.result.integer(),
        };
        let progress = stack
            .call(&request)
            .map_err(|what| unsupported(&event.span, what))?;
        let ends = call.ends.map(|ends| match event.time {
            Time::Absolute(_) | Time::AbsoluteRange(..) => Instant::ZERO + ends,
            _ => self.base + ends,
        });
        let blocked = |id| Blocked {
            id,
            call: call.clone(),
            span: event.span.clone(),
            ends,
            tolerance: self.pace.tolerance(self.tolerance, at, ends.unwrap_or(at)),
        };
        match progress {
            Progress::Blocked(id) => self.blocked.push(blocked(id)),
            Progress::Returned(returned) => {
                self.check_result(&blocked(CallId(0)), at, &returned)?;
            }
        }
        self.collect(stack);
        self.check_results(stack)
    }

    /// Checks which calls have returned.
    fn check_results(&mut self, stack: &mut dyn Stack) -> Result<(), Stop> {
        let mut waiting = Vec::new();
        for blocked in core::mem::take(&mut self.blocked) {
            match stack.poll_call(blocked.id) {
                None => waiting.push(blocked),
                Some((at, returned)) => {
                    self.note(format!(
                        "{} `{}` comes back with {}",
                        seconds(at),
                        blocked.call.name,
                        returned.result
                    ));
                    self.check_result(&blocked, at, &returned)?;
                }
            }
        }
        self.blocked.extend(waiting);
        Ok(())
    }

    /// Compares the result of a call with the script.
    fn check_result(
        &mut self,
        blocked: &Blocked,
        at: Instant,
        returned: &Returned,
    ) -> Result<(), Stop> {
        let (call, span) = (&blocked.call, &blocked.span);
        let errno = returned.errno.as_deref().unwrap_or_default();
        let came = format!("{} {errno}", returned.result);
        let fits = match &call.result {
            Value::Integer(wanted) => *wanted == returned.result,
            Value::Ellipsis => true,
            other => {
                let said = format!("a result that is not a number: {other:?}");
                return Err(self.failed(Class::Script, span, said));
            }
        };
        let same_errno = call.errno.as_deref().is_none_or(|wanted| {
            let alias = if wanted == "EWOULDBLOCK" {
                "EAGAIN"
            } else {
                wanted
            };
            wanted == errno || alias == errno
        });
        if !fits || !same_errno {
            return Err(self.failed(Class::Call, span, came.trim_end().into()));
        }
        for (index, value) in &returned.outputs {
            let wanted = call.args.get(*index).unwrap_or(&Value::Ellipsis);
            if !wanted.admits(value) {
                let said = format!("argument {} became {value:?}", index + 1);
                return Err(self.failed(Class::Call, span, said));
            }
        }
        if let Some(ends) = blocked.ends {
            let early = at + blocked.tolerance < ends;
            if early || at > ends + blocked.tolerance {
                let said = format!("it came back at {}", seconds(at));
                return Err(self.failed(Class::Timing, span, said));
            }
        }
        if call.name == "socket" {
            // The number was that of a closed one.
            let before = self
                .flows
                .iter_mut()
                .filter(|flow| flow.fd == Some(returned.result));
            before.for_each(|flow| flow.fd = None);
        }
        if call.name.starts_with("accept")
            && returned.result >= 0
            && let Some(index) = self.current
        {
            self.flows[index].fd = Some(returned.result);
        }
        Ok(())
    }

    fn command(&mut self, command: &ast::Command, stack: &mut dyn Stack) -> Result<(), Stop> {
        let done = stack.command(&command.text);
        done.map_err(|what| unsupported(&command.span, what))?;
        if let Some(said) = stack.command_failed() {
            return Err(self.failed(Class::Command, &command.span, said));
        }
        self.collect(stack);
        Ok(())
    }

    fn code(
        &mut self,
        program: &python::Program,
        span: &Span,
        stack: &mut dyn Stack,
    ) -> Result<(), Stop> {
        let flow = self.current.map(|index| &self.flows[index]);
        let fd = flow.and_then(|flow| flow.fd).or(self.connecting);
        let info = match fd {
            Some(fd) => stack.info(fd).map_err(|what| unsupported(span, what))?,
            None => Vec::new(),
        };
        let mut variables: python::Variables = crate::symbols::TCP_INFO
            .iter()
            .map(|(name, value)| (*name, *value))
            .chain(info)
            .map(|(name, value)| (name.to_owned(), python::Value::Int(value.into())))
            .collect();
        match program.run(&mut variables) {
            Ok(printed) => {
                self.printed.extend(printed);
                Ok(())
            }
            Err(python::Failed::Assertion { span, message }) => {
                Err(self.failed(Class::Assertion, &span, message))
            }
            Err(python::Failed::UnknownName { span, name }) => {
                Err(unsupported(&span, Unsupported::new("tcp_info", name)))
            }
            Err(python::Failed::Wrong { span, message }) => {
                Err(self.failed(Class::Script, &span, message))
            }
        }
    }

    fn shown(&self, sent: &Sent) -> String {
        let index = sent.packet.tcp().and_then(|tcp| self.flow_of(tcp));
        notation::packet(&sent.packet, index.map(|index| &self.flows[index]), true)
    }

    fn note(&mut self, line: String) {
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        self.log.push_back(line);
    }

    fn failed(&self, class: Class, span: &Span, found: String) -> Stop {
        Verdict::Failed(Failure {
            class,
            span: span.clone(),
            found,
            log: self.log.iter().cloned().collect(),
        })
    }
}

fn unsupported(span: &Span, what: Unsupported) -> Stop {
    Verdict::Unsupported {
        span: span.clone(),
        what,
    }
}

/// Whether this `connect` disconnects: its address has AF_UNSPEC.
fn disconnects(call: &Call) -> bool {
    let address = call.args.get(1).unwrap_or(&Value::Ellipsis);
    let family = address.member("sa_family").unwrap_or(address);
    family.has_word("AF_UNSPEC")
}

/// Time limits of an event.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// Time of an action.
    nominal: Instant,
    /// Earliest time of an expected event.
    earliest: Instant,
    /// Latest time of an expected event.
    latest: Instant,
    /// Whether the script states a single time.
    is_exact: bool,
}

impl Due {
    fn new(time: Time, base: Instant, tolerance: Duration) -> Self {
        let (from, to, is_exact) = match time {
            Time::Absolute(at) => (Instant::ZERO + at, Instant::ZERO + at, true),
            Time::Relative(after) => (base + after, base + after, true),
            Time::Any => (Instant::ZERO, base + ANY_TIME, false),
            Time::AbsoluteRange(a, b) => (Instant::ZERO + a, Instant::ZERO + b, false),
            Time::RelativeRange(a, b) => (base + a, base + b, false),
        };
        let earliest = from
            .saturating_since(Instant::ZERO)
            .saturating_sub(tolerance);
        Self {
            nominal: from,
            earliest: Instant::ZERO + earliest,
            latest: to + tolerance,
            is_exact,
        }
    }
}

/// A time in seconds of the script, in script notation.
fn seconds(at: Instant) -> String {
    format!("{:.6}", at.as_secs_f64())
}
