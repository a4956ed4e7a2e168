//! Results of a test of transactions.

use std::net::IpAddr;
use std::time::Duration;

use gigatcp_protocol::iperf3::{Cpu, Transactions};
use gigatcp_units::histogram::Histogram;

/// Times of transactions, within 0.4 %.
pub(super) type Latencies = Histogram<7>;

/// An interval of a test.
#[derive(Clone, Debug, Default)]
pub struct TransactionInterval {
    /// Start, from the start of the test.
    pub start: Duration,
    /// End.
    pub end: Duration,
    /// Whether it is left out of the totals.
    pub omitted: bool,
    /// Completed transactions.
    pub count: u64,
    /// Failed connections.
    pub failed: u64,
    /// Requests without a response in time (`udp_rr`).
    pub lost: u64,
    pub(super) latencies: Latencies,
}

impl TransactionInterval {
    /// Transactions per second.
    pub fn rate(&self) -> f64 {
        let length = self.end.saturating_sub(self.start);
        self.count as f64 / length.as_secs_f64().max(1e-9)
    }

    /// The latency that this share of the transactions did not exceed, within 0.4 %; `None` without
    /// transactions. From 0.0, which is within the same of the minimum, to 1.0, the exact maximum.
    pub fn latency(&self, share: f64) -> Option<Duration> {
        let time = match share {
            1.0.. => (!self.latencies.is_empty()).then(|| self.latencies.max()),
            _ => self.latencies.quantile(share),
        };
        time.map(Duration::from)
    }
}

/// Results of a client.
#[derive(Clone, Debug)]
pub struct TransactionOutcome {
    /// The server, as it was named.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The transactions as requested.
    pub transactions: Transactions,
    /// All transactions that count: without those of the omitted time.
    pub total: TransactionInterval,
    /// Time until all connections existed (`tcp_rr`).
    pub opened_in: Duration,
    /// CPU time of the test's thread at this end.
    pub cpu: Cpu,
    /// CPU time of the test's thread at the server; `None`: the test was cut short.
    pub server_cpu: Option<Cpu>,
    /// Responses that the server sent, those of the omitted time included.
    pub responses: Option<u64>,
    /// Why the test ended early.
    pub cut_short: Option<String>,
}

/// Results of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServedTransactions {
    /// The client.
    pub host: IpAddr,
    /// The transactions as requested.
    pub transactions: Transactions,
    /// Time from the start of the data to its end.
    pub measured: Duration,
    /// Responses sent.
    pub responses: u64,
}
