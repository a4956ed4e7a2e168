//! Recognizes archives and other files that are not read, by their first bytes, and texts of other
//! programs, by their words.

use super::ReadError;

/// First bytes of files, name of the format, and how to make it readable.
const BEGINNINGS: [(&[u8], &str, &str); 9] = [
    (b"BZh", "bzip2", "unpack it with `bunzip2 -k FILE`"),
    (b"\xfd7zX", "xz", "unpack it with `unxz -k FILE`"),
    (b"\x04\x22\x4d\x18", "lz4", "unpack it with `unlz4 FILE`"),
    (
        b"\x1f\x9d",
        "compress (.Z)",
        "unpack it with `gzip -dk FILE`",
    ),
    (b"PK\x03\x04", "zip", "unpack it with `unzip FILE`"),
    (b"7z\xbc\xaf", "7-Zip", "unpack it with `7z x FILE`"),
    (
        b"btsnoop\0",
        "a Bluetooth capture (btsnoop)",
        "it holds no TCP",
    ),
    (b"\x89PNG", "a picture (PNG)", "name a capture"),
    (b"%PDF", "a PDF document", "name a capture"),
];

/// Words of texts without TCP headers, name of the text, and what to type instead.
const TEXTS: [(&[&str], &str, &str); 14] = [
    (&[" cwnd:", " rto:"], "the output of ss -ti", SAVE),
    (&["Interval", "Transfer"], "the text of iperf", SAVE),
    (
        &["Transmission Control Protocol", "Frame "],
        "the packet details of tshark -V",
        "save the capture itself with `tshark -r FILE -w NEW.pcapng`",
    ),
    (
        &["\"_source\"", "\"layers\""],
        "the JSON of tshark",
        "save the capture itself with `tshark -r FILE -w NEW.pcapng`",
    ),
    (
        &["\"intervals\""],
        "a report of `iperf3 -J`, or a part of one",
        "save it whole in a file, as in `iperf3 -J -c HOST > iperf3.json`, and name that",
    ),
    (
        &["ESTAB"],
        "the output of ss without -i",
        "type `ss -tino`, which adds the counters of TCP",
    ),
    (
        &["Active Internet connections"],
        "the output of netstat",
        "type `ss -tino`, which adds the counters of TCP",
    ),
    (
        &["segments retransmitted"],
        "the sums of netstat -s",
        PER_CONNECTION,
    ),
    (&["TcpExtTCP"], "the sums of nstat", PER_CONNECTION),
    (&["icmp_seq="], "the output of ping", NO_TRANSFER),
    (&["traceroute to"], "the output of traceroute", NO_TRANSFER),
    (&["Loss%", "Snt"], "the output of mtr", NO_TRANSFER),
    (&["% Total", "Xferd"], "the progress of curl", NO_TRANSFER),
    (&["0x0000:"], "a hexadecimal dump", "type `tcpdump -w FILE`"),
];

const SAVE: &str = "paste it whole, from its first line to its last";
const NO_TRANSFER: &str =
    "type `ss -tino` during the transfer, or capture it with `tcpdump -w FILE`";
const PER_CONNECTION: &str = "type `ss -tino`, which has them for each connection";

/// Name of a text without packets, by its beginning, and what to type instead.
pub fn resembled(text: &[u8]) -> Option<(&'static str, &'static str)> {
    let has = |word: &&str| text.windows(word.len()).any(|part| part == word.as_bytes());
    let found = TEXTS.iter().find(|(words, ..)| words.iter().all(has));
    found.map(|&(_, what, hint)| (what, hint))
}

/// Length of the longest entry in bytes.
pub const LOOKED_AT: usize = 8;

/// Error for a file of a known format, by its first bytes.
pub fn named(start: &[u8]) -> Option<ReadError> {
    let found = BEGINNINGS
        .iter()
        .find(|(magic, ..)| start.starts_with(magic));
    found.map(|&(_, what, hint)| ReadError::Unread { what, hint })
}
