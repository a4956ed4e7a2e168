//! What a program says of a connection that it could not open, or that ended in mid-test.
//!
//! Programs print the text of the error that the kernel returned to `connect`, `send` or `recv`
//! (POSIX errno), curl and Ncat words of their own. The kernel has only what packets show: a
//! reset, an ICMP error, or nothing.

/// A connection that failed, or about which a program's words decide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedConnection {
    /// Program that says so.
    pub program: &'static str,
    /// `refused`, `never-answered`, `unreachable`, `unresolved`, `busy`, `silent`, `undelivered` or
    /// `closed`; of curl's times `connection-setup`, `name-lookup`, `tls-handshake`,
    /// `server-think-time` or `slow-start`; of a host's counters `connection-setup`, `random-loss` or
    /// `no-sack`.
    pub outcome: &'static str,
    /// What happened, in a sentence.
    pub sentence: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// The line of the program that says so.
    pub line: String,
}

/// A kind of failure, and the words that programs have for it, in lower case.
struct Kind {
    words: &'static [&'static str],
    outcome: &'static str,
    sentence: &'static str,
    fix: &'static str,
}

/// Maximum characters kept of a line.
const MAX_LINE: usize = 200;

/// The first that fits decides.
const KINDS: [Kind; 8] = [
    Kind {
        words: &["server is busy running a test"],
        outcome: "busy",
        sentence: "The server is busy with another test and takes one at a time.",
        fix: "wait until that test is over, or start a second server on another port (iperf3 -s -p 5202)",
    },
    Kind {
        words: &[
            "could not resolve",
            "name or service not known",
            "name resolution",
            "unknown host",
        ],
        outcome: "unresolved",
        sentence: "The name of the host has no address: no packet was sent.",
        fix: "check the name and the resolver (getent hosts NAME), or give the address",
    },
    Kind {
        words: &["connection refused"],
        outcome: "refused",
        sentence: "The connection was refused: the host answered with a reset.",
        fix: "start the server, and check its port and address (ss -ltn there): nothing listens, or a \
              firewall rejects the connection",
    },
    Kind {
        words: &["couldn't connect to server", "could not connect to server"],
        outcome: "refused",
        sentence: "The connection failed with an answer: refused by a reset, or unreachable.",
        fix: "curl -v prints which; check that the server listens on that port and address (ss -ltn \
              there), and the route (ip route get ADDRESS)",
    },
    Kind {
        words: &["unreachable", "no route to host"],
        outcome: "unreachable",
        sentence: "The host is unreachable: this host has no route, or a router or neighbor said so.",
        fix: "look at the route (ip route get ADDRESS) and whether the address answers (ip neigh, ping)",
    },
    Kind {
        words: &[
            "write failed: connection timed out",
            "read failed: connection timed out",
            "operation timed out",
        ],
        outcome: "silent",
        sentence: "An open connection went silent: nothing came back until the sender gave up.",
        fix: "look for what forgot the connection or went away: a firewall or NAT with a short timeout, \
              a route, the peer itself",
    },
    Kind {
        words: &["timed out", "timeout was reached", "ncat: timeout"],
        outcome: "never-answered",
        sentence: "The connection was never answered: each SYN, or its answer, was lost.",
        fix: "look for a firewall that drops the port, a wrong address, or a host that is down (tcpdump \
              at both ends shows where the SYN ends)",
    },
    Kind {
        words: &[
            "closed unexpectedly",
            "server has terminated",
            "connection reset by peer",
            "broken pipe",
        ],
        outcome: "closed",
        sentence: "The other end went away in mid-test: its program ended, or a reset came.",
        fix: "look why the program at the other end ended (its log; out of memory, a limit of a unit, a \
              restart)",
    },
];

impl FailedConnection {
    /// A connection that was opened, and over which data was sent for seconds and no byte was delivered,
    /// as this line says.
    pub(super) fn undelivered(program: &'static str, line: String) -> Self {
        Self {
            program,
            outcome: "undelivered",
            sentence: "The connection opened, and then nothing was delivered: the path drops packets of \
                       full size, or failed.",
            fix: "send small and large packets there (ping -M do -s 1400): if only large ones are lost, \
                  lower the MTU or let ICMP pass; if all are, look for what forgot the connection",
            line,
        }
    }

    /// Finds the failure in the output of a program: its last line that names one.
    pub(super) fn read(text: &str) -> Option<Self> {
        text.lines()
            .rev()
            .find_map(|line| Self::of_line(line, program(line)?))
    }

    /// Finds a connection in the output of `ss` whose SYN was retransmitted and has no answer.
    pub(super) fn in_ss(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().collect();
        let is_opening = |line: &&str| line.trim_start().starts_with("SYN-SENT");
        let last = lines.iter().rposition(is_opening)?;
        let peer = lines[last].split_whitespace().nth(4)?;
        let is_open_later = lines[last + 1..].iter().any(|line| {
            line.trim_start().starts_with("ESTAB")
                && line.split_whitespace().any(|word| word == peer)
        });
        let counters = lines[last..].iter().take(2);
        let mut words = counters.flat_map(|line| line.split_whitespace());
        let sent = words.find_map(|word| word.strip_prefix("segs_out:"))?;
        let is_again = sent.parse::<u64>().is_ok_and(|sent| sent > 1);
        let kind = KINDS.iter().find(|kind| kind.outcome == "never-answered")?;
        (is_again && !is_open_later).then(|| kind.of(lines[last], "ss"))
    }

    /// The failure that an error of a program names.
    pub(super) fn of_line(line: &str, program: &'static str) -> Option<Self> {
        let said = line.to_lowercase();
        let mut kinds = KINDS.iter();
        let kind = kinds.find(|kind| kind.words.iter().any(|word| said.contains(word)))?;
        Some(kind.of(line, program))
    }
}

impl Kind {
    fn of(&self, line: &str, program: &'static str) -> FailedConnection {
        FailedConnection {
            program,
            outcome: self.outcome,
            sentence: self.sentence,
            fix: self.fix,
            line: line.trim().chars().take(MAX_LINE).collect(),
        }
    }
}

/// The program that prints such a line if it fails; `None` for a line of something else.
fn program(line: &str) -> Option<&'static str> {
    const BEGINS: [(&str, &str); 9] = [
        ("iperf3: ", "iperf3"),
        ("iperf: ", "iperf"),
        ("nuttcp", "nuttcp"),
        ("ncat: ", "Ncat"),
        ("curl: ", "curl"),
        ("wget: ", "wget"),
        ("tcp connect failed", "iperf"),
        ("write failed", "iperf"),
        ("connect failed", "nuttcp"),
    ];
    let said = line.trim_start().to_lowercase();
    let mut begins = BEGINS.iter();
    let found = begins.find(|(begin, _)| said.starts_with(begin))?;
    Some(found.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_programs_are_told_by_what_the_peer_did() {
        let of = |text| FailedConnection::read(text).map(|failed| failed.outcome);
        for (text, outcome) in [
            (
                "iperf3: error - unable to connect to server: Connection refused",
                "refused",
            ),
            ("tcp connect failed: Connection timed out", "never-answered"),
            (
                "nuttcp-t: v6.1.2: Error: connect: Connection timed out",
                "never-answered",
            ),
            ("Ncat: TIMEOUT.", "never-answered"),
            (
                "curl: (7) Failed to connect to h port 80 after 78 ms: Couldn't connect to server",
                "refused",
            ),
            (
                "curl: (28) Operation timed out after 30001 ms with 12345 bytes received",
                "silent",
            ),
            ("write failed: Connection timed out", "silent"),
            (
                "iperf3: error - unable to connect to server: Network is unreachable",
                "unreachable",
            ),
            (
                "iperf3: error - the server is busy running a test. try again later",
                "busy",
            ),
            (
                "iperf3: error - control socket has closed unexpectedly",
                "closed",
            ),
            ("curl: (6) Could not resolve host: h", "unresolved"),
        ] {
            assert_eq!(of(text), Some(outcome), "{text}");
        }
        assert_eq!(
            of("May 1 12:00:00 sshd: Connection refused by policy"),
            None
        );
        assert_eq!(of("the request timed out"), None);
    }

    #[test]
    fn syn_without_an_answer_is_told_unless_it_opened_later() {
        let syn = "SYN-SENT 0 1 192.0.2.1:5000 192.0.2.2:80\n\t cubic rto:2000 segs_out:2\n";
        let first = "SYN-SENT 0 1 192.0.2.1:5000 192.0.2.2:80\n\t cubic rto:1000 segs_out:1\n";
        let open = "ESTAB 0 0 192.0.2.1:5000 192.0.2.2:80\n\t cubic segs_out:9\n";
        assert!(FailedConnection::in_ss(syn).is_some());
        assert_eq!(FailedConnection::in_ss(first), None);
        assert_eq!(FailedConnection::in_ss(&format!("{syn}{open}")), None);
    }
}
