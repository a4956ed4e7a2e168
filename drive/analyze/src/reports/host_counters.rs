//! What the counters of a whole host (`nstat`, `netstat -s`) show of its connections.

use super::failed::FailedConnection;

/// Minimum share of segments with a bad checksum that limits a transfer as loss does.
const MIN_CORRUPTED: f64 = 1.0 / 300.0;

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

/// Loss that they prove: segments that arrived corrupted.
pub(super) fn read(text: &str) -> Option<FailedConnection> {
    let mut section = "";
    let (mut corrupted, mut arrived) = (None, None);
    for line in text.lines() {
        let words = line.trim();
        if !line.starts_with(char::is_whitespace) && words.ends_with(':') {
            section = words;
        }
        let is_of_tcp = section == "Tcp:";
        if words.starts_with("TcpInCsumErrors") || is_of_tcp && words.starts_with("InCsumErrors") {
            corrupted = corrupted.or(number(words));
        } else if words.starts_with("TcpInSegs") {
            arrived = arrived.or(number(words));
        } else if is_of_tcp && words.ends_with("segments received") {
            arrived = arrived.or(words.split(' ').next().and_then(|count| count.parse().ok()));
        }
    }
    let (corrupted, arrived): (f64, f64) = (corrupted?, arrived?);
    let is_enough = corrupted > 0.0 && corrupted >= MIN_CORRUPTED * arrived && arrived > 0.0;
    is_enough.then(|| FailedConnection {
        program: "nstat",
        outcome: "random-loss",
        sentence: "Segments arrived corrupted: this host dropped them for their checksums, which is loss \
                   to their sender.",
        fix: "look for the device that corrupts packets: a card, a cable, memory of a router, an offload \
              (ethtool -K DEV rx off tells whether the card's own check is wrong)",
        line: format!("{corrupted} of {arrived} segments with a bad checksum"),
    })
}

/// The number after a name.
fn number(line: &str) -> Option<f64> {
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
