//! What the counters of a whole host (`nstat`, `netstat -s`) show of its connections.

use super::failed::FailedConnection;

/// Minimum share of segments with a bad checksum that limits a transfer as loss does.
const MIN_CORRUPTED: f64 = 1.0 / 300.0;

/// Minimum overflows of listen queues for each connection that others opened.
const MIN_OVERFLOWS: f64 = 1e-3;

/// Whether a text is of `nstat` or `netstat -s`.
pub(super) fn is_of_host(text: &str) -> bool {
    let is_of_nstat = |line: &&str| line.starts_with("Tcp") && number(line).is_some();
    let words = [
        "segments retransmitted",
        "segments sent out",
        "active connection openings",
    ];
    let known = words.iter().filter(|word| text.contains(**word)).count();
    known >= 2 || text.lines().filter(is_of_nstat).take(2).count() == 2
}

/// A limit that the counters of a host prove.
struct Proof {
    /// Whether these counters prove it.
    holds: fn(&Counts) -> bool,
    outcome: &'static str,
    sentence: &'static str,
    fix: &'static str,
    /// The counters in words.
    line: fn(&Counts) -> String,
}

/// Counters of a host since it started, or since `nstat` ran last.
#[derive(Default)]
struct Counts {
    arrived: Option<f64>,
    corrupted: Option<f64>,
    overflows: Option<f64>,
    /// Connections that others opened to it.
    opened: Option<f64>,
    /// Recoveries of connections without SACK, and with it.
    reno_recoveries: Option<f64>,
    sack_recoveries: Option<f64>,
}

const PROOFS: [Proof; 3] = [
    Proof {
        holds: |counts| {
            let corrupted = counts.corrupted.unwrap_or_default();
            let arrived = counts.arrived.unwrap_or_default();
            corrupted > 0.0 && arrived > 0.0 && corrupted >= MIN_CORRUPTED * arrived
        },
        outcome: "random-loss",
        sentence: "Segments arrived corrupted: this host dropped them for their checksums, which is loss \
                   to their sender.",
        fix: "look for the device that corrupts packets: a card, a cable, memory of a router, an offload \
              (ethtool -K DEV rx off tells whether the card's own check is wrong)",
        line: |counts| {
            let corrupted = counts.corrupted.unwrap_or_default();
            let arrived = counts.arrived.unwrap_or_default();
            format!("{corrupted} of {arrived} segments with a bad checksum")
        },
    },
    Proof {
        holds: |counts| {
            let overflows = counts.overflows.unwrap_or_default();
            let opened = counts.opened.unwrap_or_default();
            overflows > 0.0 && overflows >= MIN_OVERFLOWS * opened
        },
        outcome: "connection-setup",
        sentence: "The accept queue of a listening socket was full: this host dropped SYNs, or the last \
                   ACKs of handshakes, which their clients repeat after a second and more.",
        fix: "let the server accept sooner; a larger backlog in its listen() and \
              sysctl net.core.somaxconn bridge bursts",
        line: |counts| {
            let overflows = counts.overflows.unwrap_or_default();
            format!("overflows of a listen queue: {overflows}")
        },
    },
    Proof {
        holds: |counts| {
            let with_sack = counts.sack_recoveries.unwrap_or_default();
            // nstat leaves zeros out; a part of its lines may lack more.
            let is_whole = counts.arrived.is_some();
            is_whole && counts.reno_recoveries.unwrap_or_default() >= 3.0 && with_sack == 0.0
        },
        outcome: "no-sack",
        sentence: "Losses were recovered without SACK: one segment each RTT, or by timeouts.",
        fix: "at both hosts Linux: net.ipv4.tcp_sack=1; else a middlebox on the path removes the option \
              from the SYNs",
        line: |counts| {
            let recoveries = counts.reno_recoveries.unwrap_or_default();
            format!("{recoveries} recoveries without SACK, none with it")
        },
    },
];

/// What they prove, the first of [`PROOFS`].
pub(super) fn read(text: &str) -> Option<FailedConnection> {
    let counts = Counts::read(text);
    let proof = PROOFS.iter().find(|proof| (proof.holds)(&counts))?;
    Some(FailedConnection {
        program: "nstat",
        outcome: proof.outcome,
        sentence: proof.sentence,
        fix: proof.fix,
        line: (proof.line)(&counts),
    })
}

impl Counts {
    fn read(text: &str) -> Self {
        let mut section = "";
        let mut counts = Self::default();
        for line in text.lines() {
            let words = line.trim();
            if !line.starts_with(char::is_whitespace) && words.ends_with(':') {
                section = words;
            }
            let is_of_tcp = section == "Tcp:";
            let first = || words.split(' ').next()?.parse().ok();
            let (place, value) = match words.split_whitespace().next() {
                Some("TcpInCsumErrors") => (&mut counts.corrupted, number(words)),
                Some("InCsumErrors:") if is_of_tcp => (&mut counts.corrupted, number(words)),
                Some("TcpInSegs") => (&mut counts.arrived, number(words)),
                Some("TcpPassiveOpens") => (&mut counts.opened, number(words)),
                Some("TcpExtListenOverflows") => (&mut counts.overflows, number(words)),
                Some("TcpExtTCPRenoRecovery") => (&mut counts.reno_recoveries, number(words)),
                Some("TcpExtTCPSackRecovery") => (&mut counts.sack_recoveries, number(words)),
                _ if is_of_tcp && words.ends_with("segments received") => {
                    (&mut counts.arrived, first())
                }
                _ if words.ends_with("passive connection openings") => {
                    (&mut counts.opened, first())
                }
                _ if words.ends_with("listen queue of a socket overflowed") => {
                    (&mut counts.overflows, first())
                }
                _ if words.ends_with("recovered from packet loss due to fast retransmit") => {
                    (&mut counts.reno_recoveries, first())
                }
                _ if words
                    .ends_with("recovered from packet loss by selective acknowledgements") =>
                {
                    (&mut counts.sack_recoveries, first())
                }
                _ => continue,
            };
            *place = place.or(value);
        }
        counts
    }
}

/// The number after a name.
fn number(line: &str) -> Option<f64> {
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_accept_queues_and_recoveries_without_sack_are_proven() {
        let outcome = |text: &str| read(text).map(|found| found.outcome);
        let nstat = "TcpInSegs  38  0.0\nTcpExtListenOverflows  1  0.0\n";
        assert_eq!(outcome(nstat), Some("connection-setup"));
        assert_eq!(outcome(&nstat.replace("1  0.0", "0  0.0")), None);
        let netstat = "TcpExt:\n    3 times the listen queue of a socket overflowed\n";
        assert_eq!(outcome(netstat), Some("connection-setup"));
        let rare = format!("{nstat}TcpPassiveOpens  5000000  0.0\n");
        assert_eq!(outcome(&rare), None);
        let reno = "TcpInSegs  38  0.0\nTcpExtTCPRenoRecovery  7  0.0\n";
        assert_eq!(outcome(reno), Some("no-sack"));
        assert_eq!(
            outcome(&format!("{reno}TcpExtTCPSackRecovery  2  0.0\n")),
            None
        );
    }

    #[test]
    fn many_corrupted_segments_are_loss() {
        let is_loss = |text: &str| read(text).is_some();
        let nstat = "TcpInSegs  1193  0.0\nTcpOutSegs  1114  0.0\nTcpInCsumErrors  7  0.0\n";
        assert!(is_of_host(nstat) && is_loss(nstat));
        assert!(!is_loss(&nstat.replace("1193", "119300")));
        assert!(!is_loss(&nstat.replace("1193", "0")));
        let netstat = "Tcp:\n    1193 segments received\n    InCsumErrors: 7\n";
        assert!(is_loss(netstat));
        let of_icmp = "Icmp:\n    InCsumErrors: 7\nTcp:\n    1193 segments received\n";
        assert!(!is_loss(of_icmp));
        assert!(!is_of_host("Tcp is a protocol\nTcp again\n"));
    }
}
