//! Receive windows that are the default of a system.

use gigatcp_units::Bytes;

/// Windows that are a system's default, with their names.
const DEFAULT_WINDOWS: [(u64, &str); 4] = [
    (
        3 << 20,
        "3 MiB is half of Linux's default maximum of net.ipv4.tcp_rmem (6 MiB)",
    ),
    (
        65_535,
        "64 KiB is the largest window without window scaling",
    ),
    (
        1 << 20,
        "1 MiB is half of FreeBSD's default net.inet.tcp.recvbuf_max (2 MiB)",
    ),
    (
        16 << 20,
        "16 MiB is the largest window of Windows' autotuning at level normal",
    ),
];

/// The system whose default this window is, within 3 %; `None` if no system has it.
#[must_use]
pub fn known_default(window: Bytes) -> Option<&'static str> {
    let octets = window.as_u64() as f64;
    let mut known = DEFAULT_WINDOWS.iter();
    let is_near = |size: u64| (octets / size as f64 - 1.0).abs() < 0.03;
    known
        .find(|(size, _)| is_near(*size))
        .map(|(_, text)| *text)
}
