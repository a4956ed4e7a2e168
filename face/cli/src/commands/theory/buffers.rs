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
use serde_json::{Value, json};

/// The largest window: 65535 bytes scaled by 2^14 (RFC 7323 section 2.3).
const MAX_WINDOW: u64 = 65_535 << 14;
/// The largest window of Windows at the level `normal`: 65535 bytes scaled by 2^8.
const WINDOWS_NORMAL: u64 = 65_535 << 8;
/// Largest value of a buffer setting, in 31 bits.
const MAX_SETTING: u64 = (1 << 31) - 1;

/// Settings that give one connection its window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers {
    /// The window they give in bytes, at most what TCP can advertise.
    window: u64,
    /// Whether the path requires a larger window than TCP can advertise.
    pub(super) exceeds_tcp: bool,
    /// Bytes of a buffer that is all window.
    whole: u64,
    /// Bytes of a buffer of which half is window.
    double: u64,
    /// The autotuning level of Windows.
    level: &'static str,
}

impl Buffers {
    /// Settings for a window of `bdp`.
    pub(super) fn of(bdp: Bytes) -> Self {
        let window = bdp.as_u64().min(MAX_WINDOW);
        let whole = rounded(window);
        Self {
            window,
            exceeds_tcp: bdp.as_u64() > MAX_WINDOW,
            whole,
            double: rounded(whole.saturating_mul(2)),
            level: match window {
                0..=WINDOWS_NORMAL => "normal",
                _ => "experimental",
            },
        }
    }

    /// The settings by system.
    pub(super) fn json(&self) -> Value {
        let Self { whole, double, .. } = self;
        json!({
            "window_bytes": self.window,
            "exceeds_tcp": self.exceeds_tcp,
            // Kernels that do not measure it use half of a buffer as window. A program that is woken
            // at two thirds of its send buffer has 5/6 of it in flight on average. What programs
            // request the kernel doubles.
            "linux": {
                "tcp_rmem_max": double,
                "tcp_wmem_max": double,
                "rmem_max": whole,
                "wmem_max": whole,
            },
            // At least 9/8 in all; 1.6 if the application has not read segments of Ethernet size.
            "freebsd": { "recvbuf_max": whole, "sendbuf_max": whole, "maxsockbuf": double },
            "macos": { "autorcvbufmax": whole, "autosndbufmax": whole, "maxsockbuf": whole },
            "windows": { "autotuninglevel": self.level },
        })
    }

    /// Rate that the largest window of TCP allows over `rtt`.
    pub(super) fn max_rate(rtt: Duration) -> Rate {
        Rate::from_amount(Bytes::new(MAX_WINDOW), rtt)
    }

    /// A block of lines for each system: commands, and their effect.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self {
            whole,
            double,
            level,
            ..
        } = self;
        let note = match *level {
            "normal" => " (the default)",
            _ => " (normal: 16 MiB)",
        };
        let text = format!(
            "  Linux    net.ipv4.tcp_rmem='4096 131072 {double}'    (receiver)
           net.ipv4.tcp_wmem='4096 16384 {double}'     (sender)
           half of a receive buffer becomes window, 0.6 since Linux 6.6; a
           program that sets SO_RCVBUF or SO_SNDBUF also needs
           net.core.rmem_max={whole} and net.core.wmem_max={whole}
  FreeBSD  kern.ipc.maxsockbuf={double}
           net.inet.tcp.recvbuf_max={whole}
           net.inet.tcp.sendbuf_max={whole}
  macOS    kern.ipc.maxsockbuf={whole} (refused above 1/16 of the memory for mbufs)
           net.inet.tcp.autorcvbufmax={whole}
           net.inet.tcp.autosndbufmax={whole}
  Windows  netsh interface tcp set global autotuninglevel={level}{note}"
        );
        text.lines().map(str::to_owned).collect()
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
            let json = of.json();
            let of_system = |system: &str, key: &str| json[system][key].as_u64().unwrap();
            let half = of_system("linux", "tcp_rmem_max");
            assert!(half >= (2 * bdp).min(MAX_SETTING), "{bdp}");
            assert!(of_system("linux", "rmem_max") >= bdp, "{bdp}");
            assert!(of_system("freebsd", "maxsockbuf") * 8 / 9 >= bdp, "{bdp}");
            let macos = of_system("macos", "maxsockbuf");
            assert!(macos >= of_system("macos", "autorcvbufmax"), "{bdp}");
            let is_normal = json["windows"]["autotuninglevel"] == "normal";
            assert_eq!(is_normal, bdp <= 256 * 65_535, "{bdp}");
            assert!(!of.exceeds_tcp, "{bdp}");
        }
        assert!(Buffers::of(Bytes::new(1 << 30)).exceeds_tcp);
    }
}
