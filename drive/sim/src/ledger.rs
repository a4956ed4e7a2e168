//! Keeps the [`Account`] of each sender of a simulation, from the exact state of path and hosts.

use gigatcp_path::{DropCause, Hop, Network};
use gigatcp_tcp::Connection;
use gigatcp_tcp::events::{Cause, State};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Phantom;

use crate::account::{Account, Attribution, ByLimit, Environment, Losses, Use, Window};
use crate::host::Host;
use crate::packet::Packet;

/// State of a simulation that the account of one flow reads.
pub(crate) struct FlowState<'a> {
    pub(crate) now: Instant,
    pub(crate) network: &'a Network<Packet>,
    /// Numbers of the links on the forward route.
    pub(crate) forward: &'a [usize],
    pub(crate) reverse: &'a [usize],
    pub(crate) sender: End<'a>,
    pub(crate) receiver: End<'a>,
    /// IP bytes delivered so far to the receiver of this flow, and to all receivers.
    pub(crate) carried: [u64; 2],
}

impl FlowState<'_> {
    /// Links that carry ACKs only. A medium that data crosses too counts as forward.
    fn reverse_alone(&self) -> impl Iterator<Item = &usize> {
        let medium = |link: &usize| self.network.medium_of(*link);
        let is_shared = move |link: &&usize| {
            let mut forward = self.forward.iter().filter_map(medium);
            medium(link).is_some_and(|shared| forward.any(|station| station == shared))
        };
        self.reverse.iter().filter(move |link| !is_shared(link))
    }
}

/// An end of a flow.
#[derive(Clone, Copy)]
pub(crate) struct End<'a> {
    pub(crate) host: &'a Host,
    /// Number of its socket on that host.
    pub(crate) socket: u32,
}

impl<'a> End<'a> {
    fn connection(self) -> Option<&'a Connection<Phantom>> {
        self.host.socket(self.socket).connection()
    }

    /// Time in which its application chose to leave data unread.
    fn unread_time(self, now: Instant) -> Duration {
        self.host.application(self.socket).paused(now)
    }
}

/// The account of a flow with its inputs.
#[derive(Default, Debug)]
pub(crate) struct Ledger {
    /// Minimum length of spans.
    step: Duration,
    account: Option<Account>,
    losses: Losses,
    began: Readings,
    is_scaled: bool,
    finished: Option<FinishedAccount>,
}

/// Finished account.
#[derive(Clone, Debug)]
pub(crate) struct FinishedAccount {
    pub(crate) attribution: Attribution,
    /// Time by mechanism at the same moment.
    pub(crate) limits: Option<ByLimit>,
}

/// Clocks of path and hosts at the start of a round.
#[derive(Clone, Default, Debug)]
struct Readings {
    forward: Vec<Duration>,
    reverse: Vec<Duration>,
    local: Duration,
    cpu: [Duration; 2],
    unread: Duration,
    carried: [u64; 2],
}

impl Ledger {
    /// Ledger of a flow that has not begun.
    pub(crate) fn new(step: Duration) -> Self {
        Self {
            step,
            ..Self::default()
        }
    }

    /// Records an event of the sender; returns whether [`Ledger::update`] is due.
    #[inline]
    pub(crate) fn observe(
        &mut self,
        now: Instant,
        has_arrived: bool,
        sender: &Connection<Phantom>,
    ) -> bool {
        match &mut self.account {
            Some(account) if account.is_established() => {
                account.observe(now, has_arrived, window(sender))
            }
            Some(_) => sender.established_at().is_some(),
            None => self.finished.is_none(),
        }
    }

    /// Brings the account up to date.
    pub(crate) fn update(&mut self, flow: &FlowState<'_>, has_arrived: bool) {
        let Some(sender) = flow.sender.connection() else {
            return;
        };
        let now = flow.now;
        let account = self
            .account
            .get_or_insert_with(|| Account::new(now, self.step));
        if !account.is_established() {
            if let Some(at) = sender.established_at() {
                account.on_established(at, window(sender));
                self.is_scaled = sender.info().scaling;
                self.began = Readings::of(flow);
            }
            return;
        }
        let losses = &mut self.losses;
        let (began, is_scaled) = (&self.began, self.is_scaled);
        let is_over = account.update(
            (now, has_arrived),
            window(sender),
            &sender.limits(now),
            sender.srtt(),
            || losses.blame(sender.snd_una()),
            || began.until(flow, is_scaled),
        );
        if is_over {
            self.began.take(flow);
        }
    }

    /// Records the drop of a segment that ends before the stream offset `end`.
    pub(crate) fn on_lost(&mut self, end: u64, cause: Cause) {
        self.losses.on_lost(end, cause);
    }

    /// Makes all spans at least `step` long.
    pub(crate) fn coarsen(&mut self, step: Duration) {
        self.step = step;
        if let Some(account) = &mut self.account {
            account.coarsen(step);
        }
        if let Some(finished) = &mut self.finished {
            finished.attribution.coarsen(step);
        }
    }

    /// Ends the account with the flow.
    pub(crate) fn finish(&mut self, flow: &FlowState<'_>) {
        let Some(account) = self.account.take() else {
            return;
        };
        let limits = flow
            .sender
            .connection()
            .map(|sender| sender.limits(flow.now));
        let look = self.began.until(flow, self.is_scaled);
        self.finished = Some(FinishedAccount {
            attribution: account.finish(flow.now, &limits.unwrap_or_default(), &look),
            limits,
        });
    }

    pub(crate) fn into_finished(self) -> Option<FinishedAccount> {
        self.finished
    }
}

impl Readings {
    fn of(flow: &FlowState<'_>) -> Self {
        let mut readings = Self::default();
        readings.take(flow);
        readings
    }

    /// Reads all clocks.
    fn take(&mut self, flow: &FlowState<'_>) {
        let now = flow.now;
        let busy_at = |link: &usize| flow.network.busy_time(*link, now);
        self.forward.clear();
        self.forward.extend(flow.forward.iter().map(busy_at));
        self.reverse.clear();
        self.reverse.extend(flow.reverse_alone().map(busy_at));
        let local = flow.sender.host.link();
        self.local = local.map_or(Duration::ZERO, |link| link.busy_time(now));
        self.cpu = [flow.sender, flow.receiver].map(|end| end.host.cpu_occupied(end.socket, now));
        self.unread = flow.receiver.unread_time(now);
        self.carried = flow.carried;
    }

    /// Use of path and hosts since the clocks were read.
    fn until(&self, flow: &FlowState<'_>, is_scaled: bool) -> Environment {
        let now = flow.now;
        let [own, all] = [0, 1].map(|of| flow.carried[of] - self.carried[of]);
        let cpu = [flow.sender, flow.receiver].map(|end| end.host.cpu_occupied(end.socket, now));
        let use_at = |(link, before): (&usize, &Duration)| Use {
            busy: flow.network.busy_time(*link, now).saturating_sub(*before),
            wait: flow.network.wait(*link, now),
        };
        let busiest = |uses: &mut dyn Iterator<Item = Use>| {
            let busiest = uses.max_by_key(|used| (used.busy, used.wait));
            busiest.unwrap_or_default()
        };
        let forward = flow.forward.iter().zip(&self.forward);
        let reverse = flow.reverse_alone().zip(&self.reverse);
        let state = flow.sender.connection().map(Connection::state);
        let is_open = matches!(state, Some(State::Established | State::CloseWait));
        Environment {
            path: busiest(&mut forward.map(use_at)),
            local: flow
                .sender
                .host
                .link()
                .map(|link| use_of(link, now, self.local))
                .unwrap_or_default(),
            reverse: busiest(&mut reverse.map(use_at)),
            sender_cpu: cpu[0].saturating_sub(self.cpu[0]),
            receiver_cpu: cpu[1].saturating_sub(self.cpu[1]),
            unread: flow.receiver.unread_time(now).saturating_sub(self.unread),
            own_share: if all == 0 {
                1.0
            } else {
                own as f64 / all as f64
            },
            is_closing: !is_open,
            lacks_scaling: !is_scaled && lacks_scaling(flow.receiver),
        }
    }
}

fn use_of(hop: &Hop<Packet>, now: Instant, before: Duration) -> Use {
    Use {
        busy: hop.busy_time(now).saturating_sub(before),
        wait: hop.wait(now),
    }
}

/// Whether the receive buffer exceeds the largest window without scaling.
fn lacks_scaling(receiver: End<'_>) -> bool {
    let info = receiver.connection().map(Connection::info);
    info.is_some_and(|info| info.receive_buffer.as_u64() > u64::from(u16::MAX))
}

#[inline]
fn window(sender: &Connection<Phantom>) -> Window {
    Window {
        phase: sender.phase(),
        cwnd: sender.cwnd(),
        timeouts: sender.counters().timeouts,
    }
}

/// The cause behind a drop; `None` if the sender was told.
pub(crate) fn cause_of(cause: DropCause, notifies_too_big: bool) -> Option<Cause> {
    let is_told = cause == DropCause::TooBig && notifies_too_big;
    (!is_told).then(|| crate::account::cause_of(cause))
}
