//! Plans drawn from a seed: kinds of paths and transfers, in turn.

use gigatcp_units::random::Stream;

/// Controls that the kernel has too, in turn.
const CONTROLS: [&str; 3] = ["reno", "cubic-linux", "bbr"];

/// Length of a transfer without a fixed amount, and the longest time for one.
const RUN: &str = "8 s";
const LONGEST: &str = "30 s";

/// Minimum queue in packets.
const QUEUE_MIN: f64 = 10.0;

/// Kinds of plans, in turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Clean,
    Loss,
    Reordering,
    /// The link serves during a part of each period only.
    Slots,
    /// All packets are lost for a time.
    Outage,
    Policer,
    /// Both socket buffers are requested.
    Buffers,
    Short,
    Flows,
    /// Flows of two controls.
    Rivals,
}

impl Kind {
    pub(super) const ALL: [Self; 10] = [
        Self::Clean,
        Self::Loss,
        Self::Reordering,
        Self::Slots,
        Self::Outage,
        Self::Policer,
        Self::Buffers,
        Self::Short,
        Self::Flows,
        Self::Rivals,
    ];

    /// Probability that a plan has random losses.
    const fn lossy(self) -> f64 {
        match self {
            Self::Clean | Self::Outage | Self::Policer => 0.0,
            Self::Loss => 1.0,
            _ => 0.25,
        }
    }
}

/// Half of the plans: figures of the held one are looked at once, after all changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Half {
    Shown,
    Held,
}

/// A drawn plan.
pub(super) struct Draw {
    pub(super) number: u32,
    pub(super) kind: Kind,
    /// Rate of the path, Mbit/s.
    pub(super) rate: f64,
    pub(super) title: String,
    pub(super) text: String,
}

impl Draw {
    /// Draws a plan. Two successive numbers have the same kind and control: one of each half.
    pub(super) fn new(seed: u64, number: u32) -> Self {
        let pair = number as usize / 2;
        let kind = Kind::ALL[pair % Kind::ALL.len()];
        let round = pair % Kind::ALL.len() + pair / Kind::ALL.len();
        let control = CONTROLS[round % CONTROLS.len()];
        let mut stream = Stream::new(seed, "twins", u64::from(number));
        let is_lossy = stream.uniform() < kind.lossy();
        // Logarithmically uniform.
        let mut between = |low: f64, high: f64| low * (high / low).powf(stream.uniform());
        let rate = between(5.0, 2000.0);
        let rtt = between(1.0, 300.0);
        let bdp = rate * rtt * 1e3 / 12_000.0;
        let queue = between(0.05, 8.0).max(QUEUE_MIN / bdp);
        let loss = between(1e-5, 0.1);

        let mut title = format!("{rate:.1} Mbit/s, {rtt:.1} ms, {queue:.2} BDP");
        let mut path = format!(
            "rate = \"{rate:.2} Mbit/s\"\nrtt = \"{rtt:.2} ms\"\nqueue = \"{queue:.3} BDP\"\n"
        );
        let mut host = "profile = \"linux-6.18\"\n".to_owned();
        let mut flows = vec![(control, 1)];
        let mut amount = String::new();
        let mut longest = RUN;
        if is_lossy {
            title += &format!(", loss {loss:.1e}");
            path += &format!("loss = {loss:.7}\n");
        }
        match kind {
            Kind::Clean | Kind::Loss => {}
            Kind::Reordering => {
                let (share, late) = (between(1e-4, 0.05), rtt * between(0.02, 0.5));
                title += &format!(", {share:.1e} late by {late:.2} ms");
                path += &format!("reorder = {share:.6}\nreorder_delay = \"{late:.3} ms\"\n");
            }
            Kind::Slots => {
                let (period, share) = (between(2.0, 40.0), between(0.1, 0.6));
                let (open, peak) = (period * share, rate / share);
                title += &format!(", slots of {open:.1} in {period:.1} ms");
                path += &format!(
                    "rate_schedule = \"0 s: {peak:.2} Mbit/s, {open:.3} ms: 1 kbit/s, \
                     every {period:.3} ms\"\n"
                );
            }
            Kind::Outage => {
                let long = between(0.1, 2.0);
                title += &format!(", outage of {long:.2} s");
                path += &format!(
                    "loss = 1\nloss_from = \"3 s\"\nloss_until = \"{:.3} s\"\n",
                    3.0 + long
                );
            }
            Kind::Policer => {
                let (policed, burst) = (rate * between(0.3, 0.9), between(5.0, 200.0));
                let burst = (policed * burst / 8.0).max(15.0);
                title += &format!(", policer {policed:.1} Mbit/s with {burst:.0} kB");
                path += &format!(
                    "policer = \"{policed:.2} Mbit/s\"\npolicer_burst = \"{burst:.1} kB\"\n"
                );
            }
            Kind::Buffers => {
                let size = between(64.0, 4096.0);
                title += &format!(", buffers {size:.0} KiB");
                host += &format!("buffer = \"{size:.0} KiB\"\n");
            }
            Kind::Short => {
                let size = between(20.0, 20_000.0);
                title += &format!(", {size:.0} kB");
                amount = format!("bytes = \"{size:.0} kB\"\n");
                longest = LONGEST;
            }
            Kind::Flows => flows[0].1 = between(2.0, 8.99) as u32,
            Kind::Rivals => {
                let other = CONTROLS[(round + 1) % CONTROLS.len()];
                flows = vec![
                    (control, between(1.0, 4.99) as u32),
                    (other, between(1.0, 4.99) as u32),
                ];
            }
        }
        let names = flows
            .iter()
            .map(|(control, count)| format!("{control} x{count}"));
        let title = format!("{}, {title}", names.collect::<Vec<_>>().join(" against "));
        let tables = flows.iter().enumerate().map(|(place, (control, count))| {
            format!(
                "[[flow]]\nname = \"f{place}\"\ncount = {count}\n\
                 congestion_control = \"{control}\"\n{amount}"
            )
        });
        let text = format!(
            "name = \"twins\"\ntitle = \"{title}\"\nseed = {seed}\nduration = \"{longest}\"\n\
             [path]\n{path}[sender]\n{host}[receiver]\n{host}{}",
            tables.collect::<String>()
        );
        Self {
            number,
            kind,
            rate,
            title,
            text,
        }
    }

    pub(super) const fn half(&self) -> Half {
        match self.number % 2 {
            0 => Half::Shown,
            _ => Half::Held,
        }
    }
}
