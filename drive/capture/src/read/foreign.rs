//! Recognizes capture and archive formats that are not read, by their first bytes.

use super::ReadError;

/// First bytes of files, name of the format, and how to make it readable.
const BEGINNINGS: [(&[u8], &str, &str); 23] = [
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
    (b"GMBU", "a Network Monitor 2.x capture", CONVERT),
    (b"RTSS", "a Network Monitor 1.x capture", CONVERT),
    (b"TRSNIFF data", "a Sniffer capture (DOS)", CONVERT),
    (b"XCP\0", "a Sniffer capture (Windows, NetXRay)", CONVERT),
    (b"\x7fver", "an EtherPeek or OmniPeek capture", CONVERT),
    (b"\x05VNF", "a Visual Networks capture", CONVERT),
    (b"\xaa\xaa\xaa\xaa\x20\0\0\0", "a 5View capture", CONVERT),
    (b"\x01\x10\x4c\0", "a LANalyzer capture", CONVERT),
    (b"ObserverPktBuffer", "an Observer capture", CONVERT),
    (b"TR\0d", "a nettl trace (HP-UX)", CONVERT),
    (b"iptrace 1", "an iptrace capture (AIX)", CONVERT),
    (b"iptrace 2", "an iptrace capture (AIX)", CONVERT),
    (b"\xac\x01\0\x1c", "an Ixia capture", CONVERT),
    (b"\xab\x01\0\x1c", "an Ixia capture", CONVERT),
    (
        b"btsnoop\0",
        "a Bluetooth capture (btsnoop)",
        "it holds no TCP",
    ),
    (b"\x89PNG", "a picture (PNG)", "name a capture"),
    (b"%PDF", "a PDF document", "name a capture"),
];

const CONVERT: &str = "convert it with `editcap FILE NEW.pcapng`, which comes with Wireshark";

/// Length of the longest entry in bytes.
pub const LOOKED_AT: usize = 17;

/// Returns the error for a file of a known format, by its first bytes.
pub fn named(start: &[u8]) -> Option<ReadError> {
    let found = BEGINNINGS
        .iter()
        .find(|(magic, ..)| start.starts_with(magic));
    found.map(|&(_, what, hint)| ReadError::Unread { what, hint })
}

/// Returns the error for ERF (Endace), which has no magic number. It is recognized by three records
/// in a row, or two up to the end, with plausible types and lengths.
pub fn erf(octets: &[u8], is_all: bool) -> Option<ReadError> {
    const HEADER: usize = 16;
    const TYPES: std::ops::RangeInclusive<u8> = 1..=48;
    let (mut at, mut records) = (0, 0);
    while let Some(header) = octets.get(at..at + HEADER) {
        let len = usize::from(u16::from_be_bytes([header[10], header[11]]));
        if !TYPES.contains(&(header[8] & 0x7f)) || len < HEADER {
            return None;
        }
        at += len;
        records += 1;
    }
    let is_erf = records >= 3 || records == 2 && is_all && at == octets.len();
    is_erf.then_some(ReadError::Unread {
        what: "an ERF capture (Endace)",
        hint: CONVERT,
    })
}
