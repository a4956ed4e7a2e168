//! The socket buffers that a window takes, and the settings that grant them.
//!
//! | system | window of a buffer | bounds |
//! |---|---|---|
//! | Linux | 1/2 before 6.6 (`tcp_adv_win_scale` 1), later measured, 0.60 or more; a request by `SO_RCVBUF` is doubled | third values of `tcp_rmem`, `tcp_wmem`; of requests `rmem_max`, `wmem_max`, silently |
//! | FreeBSD | the whole buffer | `recvbuf_max`, `sendbuf_max`; 8/9 of `maxsockbuf`, beyond which autotuning ends and requests fail |
//! | macOS | the whole buffer | `autorcvbufmax`, `autosndbufmax`, `maxsockbuf`, which is at most 1/16 of the memory for mbuf clusters |
//! | Windows | the whole buffer | the autotuning level: 16 MiB at `normal`, 1 GiB at `experimental` |
//!
//! Sources: ip-sysctl of Linux and the measurements of `gigatcp doctor` (`drive/meter/src/doctor/law.rs`);
//! FreeBSD `uipc_sockbuf.c` and `tcp_syncache.c`; xnu `uipc_mbuf.c` and `tcp_subr.c`; Microsoft's
//! description of receive window autotuning. Checked by measurement on Linux only.

use gigatcp_units::{Bytes, Duration, Rate};
use serde::Serialize;

/// The largest window: 65535 bytes scaled by 2^14 (RFC 7323 section 2.3).
const MAX_WINDOW: u64 = 65_535 << 14;
/// The largest window of Windows at the level `normal`: 65535 bytes scaled by 2^8.
const WINDOWS_NORMAL: u64 = 65_535 << 8;
/// Largest value of a buffer setting, in 31 bits.
const MAX_SETTING: u64 = (1 << 31) - 1;

/// Settings that give one connection its window.
#[derive(Clone, Serialize, Debug)]
pub(super) struct Buffers {
    /// The window they give, at most what TCP can advertise.
    pub(super) window_bytes: u64,
    /// Whether the path requires a larger window than TCP can advertise.
    pub(super) exceeds_tcp: bool,
    linux: Linux,
    freebsd: FreeBsd,
    macos: MacOs,
    windows: Windows,
}

#[derive(Clone, Serialize, Debug)]
struct Linux {
    tcp_rmem_max: u64,
    tcp_wmem_max: u64,
    /// For programs that request a buffer; the kernel doubles what they request.
    rmem_max: u64,
    wmem_max: u64,
}

#[derive(Clone, Serialize, Debug)]
struct FreeBsd {
    recvbuf_max: u64,
    sendbuf_max: u64,
    maxsockbuf: u64,
}

#[derive(Clone, Serialize, Debug)]
struct MacOs {
    autorcvbufmax: u64,
    autosndbufmax: u64,
    maxsockbuf: u64,
}

#[derive(Clone, Serialize, Debug)]
struct Windows {
    autotuninglevel: &'static str,
}

impl Buffers {
    /// Settings for a window of `bdp`.
    pub(super) fn of(bdp: Bytes) -> Self {
        let window = bdp.as_u64().min(MAX_WINDOW);
        // Kernels that do not measure it use half of a buffer as window. A program that is woken at
        // two thirds of its send buffer has 5/6 of it in flight on average.
        let [whole, double] = [window, window.saturating_mul(2)].map(rounded);
        Self {
            window_bytes: window,
            exceeds_tcp: bdp.as_u64() > MAX_WINDOW,
            linux: Linux {
                tcp_rmem_max: double,
                tcp_wmem_max: double,
                rmem_max: whole,
                wmem_max: whole,
            },
            freebsd: FreeBsd {
                recvbuf_max: whole,
                sendbuf_max: whole,
                // At least 9/8; 1.6 if the application has not read segments of Ethernet size.
                maxsockbuf: rounded(whole.saturating_mul(2)),
            },
            macos: MacOs {
                autorcvbufmax: whole,
                autosndbufmax: whole,
                maxsockbuf: whole,
            },
            windows: Windows {
                autotuninglevel: match window {
                    0..=WINDOWS_NORMAL => "normal",
                    _ => "experimental",
                },
            },
        }
    }

    /// Rate that the largest window of TCP allows over `rtt`.
    pub(super) fn max_rate(rtt: Duration) -> Rate {
        Rate::from_amount(Bytes::new(MAX_WINDOW), rtt)
    }

    /// A block of lines for each system: commands, and their effect.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self {
            linux,
            freebsd,
            macos,
            windows,
            ..
        } = self;
        let setting = |name: &str, value: u64| format!("           {name}={value}");
        vec![
            format!(
                "  Linux    net.ipv4.tcp_rmem='4096 131072 {}'    (receiver)",
                linux.tcp_rmem_max
            ),
            format!(
                "           net.ipv4.tcp_wmem='4096 16384 {}'     (sender)",
                linux.tcp_wmem_max
            ),
            "           half of a receive buffer becomes window, 0.6 since Linux 6.6; a".into(),
            "           program that sets SO_RCVBUF or SO_SNDBUF also needs".into(),
            format!(
                "           net.core.rmem_max={} and net.core.wmem_max={}",
                linux.rmem_max, linux.wmem_max
            ),
            format!("  FreeBSD  kern.ipc.maxsockbuf={}", freebsd.maxsockbuf),
            setting("net.inet.tcp.recvbuf_max", freebsd.recvbuf_max),
            setting("net.inet.tcp.sendbuf_max", freebsd.sendbuf_max),
            format!(
                "  macOS    kern.ipc.maxsockbuf={} (refused above 1/16 of the memory for mbufs)",
                macos.maxsockbuf
            ),
            setting("net.inet.tcp.autorcvbufmax", macos.autorcvbufmax),
            setting("net.inet.tcp.autosndbufmax", macos.autosndbufmax),
            format!(
                "  Windows  netsh interface tcp set global autotuninglevel={}{}",
                windows.autotuninglevel,
                match windows.autotuninglevel {
                    "normal" => " (the default)",
                    _ => " (normal: 16 MiB)",
                }
            ),
        ]
    }
}

/// Next power of two, at most [`MAX_SETTING`].
fn rounded(bytes: u64) -> u64 {
    let next = bytes.max(1).checked_next_power_of_two();
    next.unwrap_or(MAX_SETTING).min(MAX_SETTING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_grants_the_window_by_its_own_rule() {
        for bdp in [
            1,
            20_000,
            16_776_960,
            16_776_961,
            100_000_000,
            1_073_725_440,
        ] {
            let of = Buffers::of(Bytes::new(bdp));
            // The settings of each system must allow the window.
            assert!(of.linux.tcp_rmem_max >= (2 * bdp).min(MAX_SETTING), "{bdp}");
            assert!((2 * of.linux.rmem_max) / 2 >= bdp, "{bdp}");
            assert!(of.freebsd.maxsockbuf * 8 / 9 >= bdp, "{bdp}");
            assert!(of.macos.maxsockbuf >= of.macos.autorcvbufmax, "{bdp}");
            let is_normal = of.windows.autotuninglevel == "normal";
            assert_eq!(is_normal, bdp <= 256 * 65_535, "{bdp}");
            assert!(!of.exceeds_tcp, "{bdp}");
        }
        assert!(Buffers::of(Bytes::new(1 << 30)).exceeds_tcp);
    }
}
