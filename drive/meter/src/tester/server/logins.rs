//! Names and passwords, checked one at a time on a thread of their own.
//!
//! A check is a private operation of RSA: milliseconds of a CPU for a message that costs its sender
//! nothing. So a client is checked only if its test could run, a source has few checks at a time,
//! and the queue is short: a flood of wrong tokens is refused, and delays others by the queue at
//! most. Every answer comes a fixed time after its check began, so its time says nothing about the
//! decryption.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::Parameters;

use super::Authorize;
use super::client_table::{Shared, Waiting};
use crate::tester::admission::{Demand, Network};

/// Maximum number of clients whose check is not done.
pub(super) const MAX_LOGINS: usize = 16;

/// Maximum number of these from one source.
pub(super) const MAX_OF_SOURCE: usize = 2;

/// Time of a check, above that of a decryption with 4096 bits.
pub(super) const CHECK_TIME: Duration = Duration::from_millis(20);

type Checked = (u64, Result<(), String>);

/// The clients that are checked, and the thread that does it.
pub(super) struct Logins {
    clients: BTreeMap<u64, Waiting>,
    last: u64,
    jobs: Sender<(u64, Parameters)>,
    results: Receiver<Checked>,
    worker: JoinHandle<()>,
}

impl Logins {
    /// Starts the thread. It wakes `shared` after each check.
    pub(super) fn start(authorize: Arc<Authorize>, shared: Arc<Shared>) -> io::Result<Self> {
        let (jobs, requested) = channel::<(u64, Parameters)>();
        let (answers, results) = channel();
        let work = move || {
            for (number, parameters) in requested {
                let start = Instant::now();
                let result = authorize(&parameters);
                std::thread::sleep(CHECK_TIME.saturating_sub(start.elapsed()));
                if answers.send((number, result)).is_err() {
                    return;
                }
                shared.event_fd.wake();
            }
        };
        let worker = std::thread::Builder::new()
            .name("logins".into())
            .spawn(work)?;
        Ok(Self {
            clients: BTreeMap::new(),
            last: 0,
            jobs,
            results,
            worker,
        })
    }

    /// Queues a client for its check.
    ///
    /// # Errors
    /// The client with the reason if it cannot be checked now.
    pub(super) fn check(&mut self, client: Waiting) -> Result<(), (Box<Waiting>, String)> {
        let source = Network::source(client.peer.ip());
        let queued = self.clients.values();
        let of_source = queued.filter(|queued| Network::source(queued.peer.ip()) == source);
        let counts = [
            (of_source.count(), MAX_OF_SOURCE, " of this address"),
            (self.clients.len(), MAX_LOGINS, ""),
        ];
        for (count, limit, of) in counts {
            if count >= limit {
                let reason = format!("{count} logins{of} are being checked, limit {limit}");
                return Err((Box::new(client), reason));
            }
        }
        self.last += 1;
        if self
            .jobs
            .send((self.last, client.parameters.clone()))
            .is_err()
        {
            return Err((Box::new(client), "logins cannot be checked".into()));
        }
        self.clients.insert(self.last, client);
        Ok(())
    }

    /// A client whose check is done, with its result.
    pub(super) fn poll_checked(&mut self) -> Option<(Waiting, Result<(), String>)> {
        let (number, result) = self.results.try_recv().ok()?;
        let client = self.clients.remove(&number)?;
        Some((client, result))
    }

    /// The clients whose check is not done.
    pub(super) fn clients(&self) -> impl Iterator<Item = &Waiting> {
        self.clients.values()
    }

    /// Resources that their tests would occupy.
    pub(super) fn demands(&self) -> Vec<Demand> {
        self.clients().map(|client| client.demand).collect()
    }

    /// Ends the thread.
    pub(super) fn end(self) {
        drop(self.jobs);
        drop(self.results);
        let _ = self.worker.join();
    }
}
