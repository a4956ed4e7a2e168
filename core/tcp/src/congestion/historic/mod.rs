//! Controls of historical interest: the feature `historic`.
//!
//! Historic are controls that no system in use offers and no trial tests any more:
//!
//! | control | why |
//! |---|---|
//! | `tahoe`, `tahoe-1988` | 4.3BSD-Tahoe; Reno replaced it in 1990 |
//! | `cute`, `decbit` | DECnet |
//! | `xcp` | needs routers that were never deployed |
//! | `bic-2.6.20`, `cubic-2.6.20` | Linux of 2007, jiffies and defects included |
//!
//! The feature also includes the profiles `linux-2.6.20` and `bsd-4.3-reno`. Settings of a
//! profile are not historic, however old: they are branches of mechanisms in use.

mod bic_2_6_20;
mod cubic_2_6_20;
mod cute;
mod decbit;
mod linux_2_6_20;
mod tahoe;
mod tahoe_1988;
mod xcp;

use alloc::boxed::Box;

use super::{Entry, Family};

/// Historic controls, in the order of lists.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "tahoe",
        summary: "slow start after every loss (Jacobson 1988; 4.3BSD-Tahoe)",
        family: Family::WindowBased,
        reacts_to: "losses, each with slow start",
        deployed: "4.3BSD-Tahoe, 1988 to 1990",
        draws: false,
        build: |config| Box::new(tahoe::control(config)),
    },
    Entry {
        name: "tahoe-1988",
        summary: "tahoe by the paper: per ACK, half of cwnd in whole segments (Jacobson 1988)",
        family: Family::WindowBased,
        reacts_to: "losses, each with slow start",
        deployed: "4.3BSD-Tahoe, 1988 to 1990",
        draws: false,
        build: |config| Box::new(tahoe_1988::control(config)),
    },
    Entry {
        name: "decbit",
        summary: "half of the packets marked: an eighth less, otherwise one more (Ramakrishnan, Jain 1990)",
        family: Family::WindowBased,
        reacts_to: "the share of marked octets; losses",
        deployed: "DECnet Phase V",
        draws: false,
        build: |config| Box::new(decbit::control(config)),
    },
    Entry {
        name: "cute",
        summary: "loss leaves one segment, a window without adds one (Jain 1986)",
        family: Family::WindowBased,
        reacts_to: "losses",
        deployed: "DECnet",
        draws: false,
        build: |config| Box::new(cute::control(config)),
    },
    Entry {
        name: "xcp",
        summary: "routers say by how much the window changes (Katabi, Handley, Rohrs 2002)",
        family: Family::Explicit,
        reacts_to: "feedback of routers (queue `xcp`); losses; without routers as `reno`",
        deployed: "nowhere: experiments",
        draws: false,
        build: |config| Box::new(xcp::control(config)),
    },
    Entry {
        name: "bic-2.6.20",
        summary: "binary increase as in Linux 2.6.20, May 2007 (Xu, Harfoush, Rhee 2004)",
        family: Family::WindowBased,
        reacts_to: "losses",
        deployed: "Linux, the default from 2.6.8 to 2.6.18",
        draws: false,
        build: |config| Box::new(bic_2_6_20::control(config)),
    },
    Entry {
        name: "cubic-2.6.20",
        summary: "CUBIC 2.0 as in Linux 2.6.20, May 2007 (Rhee, Xu 2005)",
        family: Family::WindowBased,
        reacts_to: "losses",
        deployed: "Linux 2.6.19 and 2.6.20, the default",
        draws: false,
        build: |config| Box::new(cubic_2_6_20::control(config)),
    },
];
