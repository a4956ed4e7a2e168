//! What the counters of a whole host (`nstat`, `netstat -s`) decide by themselves.

use super::failed::FailedConnection;

/// Minimum share of segments with a bad checksum that limits a transfer as loss does.
const MIN_CORRUPTED: f64 = 1.0 / 300.0;

/// The first fault that they prove.
pub(super) fn read(text: &str) -> Option<FailedConnection> {
    let counted = |name: &str| number(text, name).filter(|count| *count > 0.0);
    let answer = |outcome, sentence, fix, line| FailedConnection {
        program: "nstat",
        outcome,
        sentence,
        fix,
        line,
    };
    let corrupted = counted("TcpInCsumErrors").or_else(|| counted("InCsumErrors"));
    let arrived = counted("TcpInSegs").or_else(|| number_before(text, "segments received"));
    if let (Some(corrupted), Some(arrived)) = (corrupted, arrived)
        && corrupted >= MIN_CORRUPTED * arrived
    {
        return Some(answer(
            "random-loss",
            "Segments arrived corrupted: this host dropped them for their checksums, which is loss to their \
             sender.",
            "look for the device that corrupts packets: a card, a cable, memory of a router, an offload \
             (ethtool -K DEV rx off tells whether the card's own check is wrong)",
            format!("{corrupted} of {arrived} segments with a bad checksum"),
        ));
    }
    let found = counted("TcpExtTCPMTUPSuccess").or_else(|| counted("TCPMTUPSuccess"))?;
    let failed = counted("TcpExtTCPMTUPFail").or_else(|| counted("TCPMTUPFail"))?;
    Some(answer(
        "pmtu-black-hole",
        "Full-sized segments did not arrive until this host found a smaller size by probing: a path MTU \
         black hole.",
        "let ICMP \"fragmentation needed\" pass, or lower the MTU or clamp the MSS on the way; probing \
         (net.ipv4.tcp_mtu_probing) waits for several timeouts first",
        format!("{found} path MTU probes succeeded, {failed} failed"),
    ))
}

/// The number after a name, as nstat and the extended part of netstat print it.
fn number(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let is_named = words.next()?.trim_end_matches(':') == name;
        words.next()?.parse().ok().filter(|_| is_named)
    })
}

/// The number before words, as netstat prints it.
fn number_before(text: &str, words: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.trim_end().ends_with(words))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrupted_segments_and_probed_sizes_are_faults() {
        let of = |text: &str| read(text).map(|answer| answer.outcome);
        let nstat = "TcpInSegs  1193  0.0\nTcpOutSegs  1114  0.0\nTcpInCsumErrors  7  0.0\n";
        assert_eq!(of(nstat), Some("random-loss"));
        assert_eq!(of(&nstat.replace("1193", "119300")), None);
        assert_eq!(
            of("Tcp:\n    1193 segments received\n    InCsumErrors: 7\n"),
            Some("random-loss")
        );
        let probed = "TcpExtTCPMTUPFail  2  0.0\nTcpExtTCPMTUPSuccess  2  0.0\n";
        assert_eq!(of(probed), Some("pmtu-black-hole"));
        assert_eq!(of("TcpExtTCPMTUPSuccess  2  0.0\n"), None);
    }
}
