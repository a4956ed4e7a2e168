//! The RTT that `ping` shows, where it is copied with the report of a test.

use std::net::IpAddr;

use gigatcp_units::Duration;

/// Host and minimum RTT of each `ping` in a text.
pub(super) fn read(text: &str) -> Vec<(IpAddr, Duration)> {
    let mut host = None;
    let mut all = Vec::new();
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("PING ") {
            // `PING name (address) 56(84) bytes of data.`
            let inside = rest.split_once('(').map_or(rest, |(_, inside)| inside);
            let name = inside.split([')', ' ']).next().unwrap_or("");
            host = name.trim_end_matches(':').parse().ok();
        } else if let Some((_, values)) = line.split_once("min/avg/max")
            && let Some((_, values)) = values.split_once('=')
            && let Some(least) = values.trim().split('/').next()
            && let (Some(host), Ok(ms)) = (host.take(), least.parse::<f64>())
        {
            // Of each kind of ping the unit is ms.
            all.extend((ms > 0.0 && ms < 60e3).then(|| (host, Duration::from_secs_f64(ms / 1e3))));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimum_of_each_ping_is_read_with_its_host() {
        let text = "PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.\n\
                    64 bytes from 192.0.2.7: icmp_seq=1 ttl=64 time=205 ms\n\
                    rtt min/avg/max/mdev = 204.238/204.685/205.036/0.291 ms\n\
                    > PING example (2001:db8::1): 56 data bytes\n\
                    > round-trip min/avg/max/stddev = 12.5/13.0/14.0/0.2 ms\n\
                    rtt min/avg/max/mdev = 1.0/1.0/1.0/0.0 ms\n";
        let of = |host: &str, micros| (host.parse().unwrap(), Duration::from_micros(micros));
        assert_eq!(
            read(text),
            [of("192.0.2.7", 204_238), of("2001:db8::1", 12_500)]
        );
    }
}
