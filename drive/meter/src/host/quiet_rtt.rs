//! RTT of a path before a test loads it: echo requests, one at a time.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use gigatcp_linux::ping::Pinger;
use gigatcp_linux::poll;

/// Number of echo requests.
const REQUESTS: u16 = 5;

/// Maximum wait for a reply.
const WAIT: Duration = Duration::from_secs(1);

/// The minimum RTT of five echo requests to a host, which take 5 s at most. `None`: this user may send
/// none, or the first had no reply within 1 s.
#[must_use]
pub fn quiet_rtt(to: IpAddr) -> Option<gigatcp_units::Duration> {
    let pinger = Pinger::new(to).ok()?;
    let rtts = (0..REQUESTS).map_while(|number| echo(&pinger, number));
    rtts.min().map(Into::into)
}

/// RTT of a request. `None`: it has no reply.
fn echo(pinger: &Pinger, number: u16) -> Option<Duration> {
    let sent_at = Instant::now();
    pinger.send(number).ok()?;
    loop {
        let left = WAIT.checked_sub(sent_at.elapsed())?;
        poll::wait_to_read([pinger.as_fd()], left).ok()?;
        while let Some(answered) = pinger.receive().ok()? {
            if answered == number {
                return Some(sent_at.elapsed());
            }
        }
    }
}
