//! Parameters of one transfer: opener, congestion controls, path, ending.

use std::fmt;

use gigatcp_path::{HopConfig, LossModel, Reorder};
use gigatcp_tcp::congestion::REGISTRY;
use gigatcp_units::{Bytes, Duration, Probability, Rate};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::testbed::TestbedConfig;

/// Side that opens the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opener {
    /// The engine.
    Engine,
    /// The kernel.
    Kernel,
}

/// Sides with tiny windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Windows {
    /// None: buffers are autotuned.
    Usual,
    /// The engine.
    TinyEngine,
    /// The kernel.
    TinyKernel,
    /// Both.
    TinyBoth,
}

/// Way the connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Each side closes after writing everything.
    EachByItself,
    /// Both sides write, and close simultaneously.
    AtOnce,
    /// The engine closes first; only then does the kernel write.
    EngineHalf,
    /// The kernel closes first; only then does the engine write.
    KernelHalf,
    /// The engine aborts while the kernel is still writing.
    EngineAborts,
    /// The kernel aborts while the engine is still writing.
    KernelAborts,
}

impl Ending {
    const ALL: [Self; 6] = [
        Self::EachByItself,
        Self::AtOnce,
        Self::EngineHalf,
        Self::KernelHalf,
        Self::EngineAborts,
        Self::KernelAborts,
    ];
}

const WINDOWS: [Windows; 4] = [
    Windows::Usual,
    Windows::TinyEngine,
    Windows::TinyKernel,
    Windows::TinyBoth,
];
/// Controls of the covering set, which tests run; drawn cases use any of the registry.
const ENGINE_CONTROLS: [&str; 4] = ["reno", "cubic", "cubic-linux", "dctcp"];
const KERNEL_CONTROLS: [&str; 3] = ["reno", "cubic", "bbr"];
const MTUS: [u16; 2] = [1500, 9000];
/// Minimum MTU of every path (RFC 8200 section 5).
const LEAST_MTU: u16 = 1280;
/// Probabilities of the covering set.
const LOSSES: [f64; 4] = [0.0, 0.002, 0.02, 0.05];
const REORDERS: [f64; 3] = [0.0, 0.02, 0.2];
const DUPLICATES: [f64; 3] = [0.0, 0.01, 0.05];

/// Number of choices of each kind, in the order of [`Case::of_choices`].
pub(crate) const KINDS: [usize; 10] = [
    6,
    ENGINE_CONTROLS.len(),
    4,
    LOSSES.len(),
    KERNEL_CONTROLS.len(),
    REORDERS.len(),
    DUPLICATES.len(),
    MTUS.len(),
    2,
    4,
];

/// Parameters of one transfer.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// Seed of its octets and of its path.
    pub seed: u64,
    /// Side that opens the connection.
    pub opener: Opener,
    /// The engine's congestion control.
    pub engine_control: &'static str,
    /// The kernel's congestion control.
    pub kernel_control: &'static str,
    /// Whether it is IPv6.
    pub is_v6: bool,
    /// Largest packet.
    pub mtu: u16,
    /// Whether super-segments and incomplete checksums are allowed.
    pub offloads: bool,
    /// Loss probability by direction: from the engine, from the kernel.
    pub loss: [f64; 2],
    /// Probability that a packet is reordered, both directions.
    pub reorder: f64,
    /// Probability that a packet is duplicated, both directions.
    pub duplicate: f64,
    /// One-way delay.
    pub delay: Duration,
    /// Extra delay of a reordered packet.
    pub displaced_by: Duration,
    /// Rate and queue limit of both directions; `None` for unlimited.
    pub rate: Option<(Rate, Bytes)>,
    /// Sides with tiny windows.
    pub windows: Windows,
    /// Way the connection ends.
    pub ending: Ending,
    /// Octets from the engine, from the kernel.
    pub sizes: [usize; 2],
    /// Smaller path MTU, if any. The path reports larger packets to their sender.
    pub narrow: Option<u16>,
    /// Probability that an ECT packet is marked (RFC 3168), both directions. The kernel then
    /// requests ECN.
    pub mark: f64,
}

impl Case {
    /// Row `number` of the covering set.
    pub(crate) fn of_choices(number: u64, row: &[usize]) -> Self {
        let windows = WINDOWS[row[2]];
        let loss = LOSSES[row[3]];
        let size = match windows {
            Windows::Usual => 1_500_000,
            _ => 25_000,
        };
        let size = size + number as usize;
        Self {
            seed: number,
            ending: Ending::ALL[row[0]],
            engine_control: ENGINE_CONTROLS[row[1]],
            windows,
            loss: [loss; 2],
            kernel_control: KERNEL_CONTROLS[row[4]],
            reorder: REORDERS[row[5]],
            duplicate: DUPLICATES[row[6]],
            mtu: MTUS[row[7]],
            offloads: row[8] == 0,
            opener: if row[9] / 2 == 0 {
                Opener::Engine
            } else {
                Opener::Kernel
            },
            is_v6: row[9] % 2 == 1,
            delay: Duration::from_millis(1),
            displaced_by: Duration::from_millis(2),
            rate: None,
            sizes: [size; 2],
            narrow: None,
            mark: 0.0,
        }
    }

    /// Case of `seed`.
    pub fn random(seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut draw = Draw(&mut random);
        let windows = if draw.one_in(4) {
            draw.of(&WINDOWS[1..])
        } else {
            Windows::Usual
        };
        let loss = [draw.chance(0.05), draw.chance(0.05)];
        let most = match windows {
            Windows::Usual if loss[0].max(loss[1]) > 0.02 => 400_000,
            Windows::Usual => 4_000_000,
            _ => 30_000,
        };
        let rate = draw.one_in(2).then(|| {
            let mbits = 5 + draw.below(400) as u64;
            let queue = 20_000 + draw.below(400_000) as u64;
            (Rate::from_bps(mbits * 1_000_000), Bytes::new(queue))
        });
        let drawn = Self {
            seed,
            opener: draw.of(&[Opener::Engine, Opener::Kernel]),
            engine_control: REGISTRY[draw.below(REGISTRY.len() as u32) as usize].name,
            kernel_control: draw.of(&KERNEL_CONTROLS),
            is_v6: draw.one_in(2),
            mtu: draw.of(&[1280, 1400, 1500, 1500, 4000, 9000, 9000]),
            offloads: !draw.one_in(3),
            loss,
            reorder: draw.chance(0.3),
            duplicate: draw.chance(0.05),
            delay: Duration::from_micros(draw.below(8_000) as u64),
            displaced_by: Duration::from_micros(1 + draw.below(10_000) as u64),
            rate,
            windows,
            ending: draw.of(&Ending::ALL),
            sizes: [draw.size(most), draw.size(most)],
            narrow: None,
            mark: 0.0,
        };
        let less = u32::from(drawn.mtu - LEAST_MTU);
        let narrow = LEAST_MTU + draw.below(less + 1) as u16;
        Self {
            narrow: draw.one_in(4).then_some(narrow),
            mark: if draw.one_in(4) {
                draw.chance(0.2)
            } else {
                0.0
            },
            ..drawn
        }
    }

    /// Configuration of the path and the kernel.
    pub fn testbed(&self) -> TestbedConfig {
        let hop = |name: &str, loss: f64| HopConfig {
            name: name.into(),
            rate: self.rate.map(|(rate, _)| rate),
            limit_bytes: self.rate.map(|(_, queue)| queue),
            one_way_delay: self.delay,
            loss: chance(loss).map(LossModel::Bernoulli).into_iter().collect(),
            reorder: chance(self.reorder).map(|probability| Reorder {
                probability,
                extra_delay: self.displaced_by,
            }),
            duplicate: chance(self.duplicate),
            mtu: self.narrow.map(|mtu| Bytes::new(mtu.into())),
            notifies_too_big: self.narrow.is_some(),
            mark: chance(self.mark),
            ..HopConfig::default()
        };
        let is_tiny = matches!(self.windows, Windows::TinyKernel | Windows::TinyBoth);
        let tiny = [
            ("net.ipv4.tcp_rmem", "2304 2304 2304"),
            ("net.ipv4.tcp_wmem", "4608 4608 4608"),
        ];
        let marks = [("net.ipv4.tcp_ecn", "1")];
        let of_tiny = tiny.iter().filter(|_| is_tiny);
        let settings = of_tiny.chain(marks.iter().filter(|_| self.mark > 0.0));
        TestbedConfig {
            forward: vec![hop("forward", self.loss[0])],
            reverse: vec![hop("reverse", self.loss[1])],
            seed: self.seed,
            mtu: self.mtu,
            offloads: self.offloads,
            settings: settings
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            processor: None,
        }
    }

    /// Tiny buffers of the engine, if any: receive, send.
    pub const fn engine_buffers(&self) -> Option<(Bytes, Bytes)> {
        match self.windows {
            Windows::TinyEngine | Windows::TinyBoth => Some((Bytes::new(700), Bytes::new(3000))),
            Windows::Usual | Windows::TinyKernel => None,
        }
    }
}

fn chance(p: f64) -> Option<Probability> {
    Probability::try_new(p).filter(|_| p > 0.0)
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} opens over IPv{}, MTU {}{}, {} and the kernel's {}, loss {:.4} and {:.4}, \
             reordered {:.3} by {}, duplicated {:.3}; one way {}, {}, windows {:?}, ends {:?}, \
             {} and {} octets{}{}",
            self.opener,
            if self.is_v6 { 6 } else { 4 },
            self.mtu,
            if self.offloads {
                ""
            } else {
                " without offloads"
            },
            self.engine_control,
            self.kernel_control,
            self.loss[0],
            self.loss[1],
            self.reorder,
            self.displaced_by,
            self.duplicate,
            self.delay,
            self.rate.map_or_else(
                || "no rate".into(),
                |(rate, queue)| format!("{rate} with a queue of {queue}")
            ),
            self.windows,
            self.ending,
            self.sizes[0],
            self.sizes[1],
            self.narrow
                .map_or_else(String::new, |mtu| format!(", narrowed to {mtu}")),
            if self.mark > 0.0 {
                format!(", marked {:.3}", self.mark)
            } else {
                String::new()
            }
        )
    }
}

/// Random choices.
struct Draw<'a>(&'a mut Pcg64Mcg);

impl Draw<'_> {
    fn below(&mut self, end: u32) -> u32 {
        self.0.next_u32() % end
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }

    /// Draws 0 in a third of all cases, else up to `most`.
    fn chance(&mut self, most: f64) -> f64 {
        let share = f64::from(self.below(10_000)) / 10_000.0;
        if self.one_in(3) { 0.0 } else { share * most }
    }

    /// Draws a size of random magnitude, 0 included.
    fn size(&mut self, most: usize) -> usize {
        let bits = self.below(usize::BITS - most.leading_zeros() + 1);
        let all = self.below(1 << bits) as usize;
        all.min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_cases_take_every_control_of_the_registry() {
        let drawn = |name| (0..1000).any(|seed| Case::random(seed).engine_control == name);
        for entry in REGISTRY {
            assert!(drawn(entry.name), "{}", entry.name);
        }
    }
}
