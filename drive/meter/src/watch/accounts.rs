//! Accounts of one connection whose host is read: as sender, and as receiver.

use gigatcp_units::{Bytes, Duration, Rate};
use gigatcp_why::Diagnosis;
use gigatcp_why::counters::{CounterAccount, End, Limits, Reading};

/// What the accounts of a host's connections have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccountSettings {
    /// Maximum of time slices in an account; 0: connections have no accounts.
    pub slices: usize,
    /// Buffer limits of the host: `tcp_rmem`, `tcp_wmem`, `rmem_max`, `wmem_max`.
    pub buffers: [Option<Bytes>; 4],
}

impl AccountSettings {
    fn account(&self, end: End, congestion: &str) -> CounterAccount {
        let mut account = CounterAccount::with_slices(self.slices);
        account.set_congestion(congestion);
        account.set_limits(self.limits(end));
        account
    }

    /// The limits of the end that the host is.
    fn limits(&self, end: End) -> Limits {
        let [tcp_rmem_max, tcp_wmem_max, rmem_max, wmem_max] = self.buffers;
        match end {
            End::Sender => Limits {
                tcp_wmem_max,
                wmem_max,
                ..Limits::default()
            },
            End::Receiver => Limits {
                tcp_rmem_max,
                rmem_max,
                ..Limits::default()
            },
        }
    }
}

/// Accounts of a connection in both roles, and what moved in each direction.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    /// As sender, and as receiver; made when data moves.
    accounts: [Option<Box<CounterAccount>>; 2],
    /// Bytes acknowledged and received.
    pub totals: [Bytes; 2],
}

/// Bytes acknowledged and received between two readings.
pub(super) fn moved(before: &Reading, reading: &Reading) -> [Bytes; 2] {
    let grown = |of: fn(&Reading) -> Option<Bytes>| {
        let ends = of(before).zip(of(reading));
        ends.map_or(Bytes::ZERO, |(from, to)| to.saturating_sub(from))
    };
    [
        grown(|reading| reading.bytes_acked),
        grown(|reading| reading.bytes_received),
    ]
}

/// The role of a host where no data moves: a receiver if data waits there to be read.
fn waiting(reading: &Reading) -> End {
    let has = |bytes: Option<Bytes>| bytes.is_some_and(|bytes| bytes > Bytes::ZERO);
    if has(reading.unread) && !has(reading.unacknowledged) {
        End::Receiver
    } else {
        End::Sender
    }
}

impl Accounts {
    /// Adds the step between two readings; returns the rates of data acknowledged and received.
    pub fn on_step(
        &mut self,
        [before, reading]: [&Reading; 2],
        settings: &AccountSettings,
        congestion: &str,
    ) -> [Rate; 2] {
        let moved = moved(before, reading);
        for (total, more) in self.totals.iter_mut().zip(moved) {
            *total += more;
        }
        let end = match moved[0].cmp(&moved[1]) {
            std::cmp::Ordering::Less => End::Receiver,
            std::cmp::Ordering::Equal if self.totals == [Bytes::ZERO; 2] => waiting(reading),
            std::cmp::Ordering::Equal => self.role(),
            std::cmp::Ordering::Greater => End::Sender,
        };
        if settings.slices > 0 {
            let account = self.accounts[end as usize].get_or_insert_with(|| {
                let mut account = settings.account(end, congestion);
                account.on_reading(end, before);
                Box::new(account)
            });
            account.on_reading(end, reading);
        }
        let time: Duration = reading.at.saturating_since(before.at);
        moved.map(|bytes| Rate::from_amount(bytes, time))
    }

    /// Adds the only reading of a connection that began shortly before: its counters are those since
    /// its begin.
    pub fn on_only(&mut self, reading: &Reading, settings: &AccountSettings, congestion: &str) {
        self.totals = moved(&zeros(), reading);
        if self.role() == End::Sender {
            let mut account = settings.account(End::Sender, congestion);
            account.on_total(reading);
            self.accounts[End::Sender as usize] = Some(Box::new(account));
        }
    }

    /// The role of this host in the direction with more data; of those that wait if none moved.
    pub fn role(&self) -> End {
        let [sender, receiver] = &self.accounts;
        let only_waits = sender.is_none() && receiver.is_some();
        match self.totals[0].cmp(&self.totals[1]) {
            std::cmp::Ordering::Less => End::Receiver,
            std::cmp::Ordering::Equal if only_waits => End::Receiver,
            _ => End::Sender,
        }
    }

    /// The account of that direction; `None` before data moved.
    pub fn account(&self) -> Option<&CounterAccount> {
        self.accounts[self.role() as usize].as_deref()
    }

    pub fn diagnose(&self) -> Option<Diagnosis> {
        self.account()?.diagnose()
    }
}

/// The counters of a connection at its begin.
fn zeros() -> Reading {
    Reading {
        bytes_acked: Some(Bytes::ZERO),
        bytes_received: Some(Bytes::ZERO),
        ..Reading::default()
    }
}
