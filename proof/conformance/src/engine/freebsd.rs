//! FreeBSD's settings (`net.inet.tcp`) and names.
//!
//! A script is one for FreeBSD if it sets one of them or loads a module of its kernel, and names no
//! profile. It runs with the profile `freebsd`, and over IPv6 with an MTU of 1500.

use gigatcp_tcp::Profile;
use gigatcp_tcp::events::State;

use super::host::Host;
use super::settings::congestion_named;
use super::sysctl::Meaning::{
    self, Congestion, Inverse, Millis, NewNotification, Nothing, Only, Rfc1323, Setting,
    SynCookies, TwoMillis,
};
use crate::stack::Unsupported;

/// FreeBSD's settings, without `net.inet.tcp.`.
const TCP: &[(&str, Meaning)] = &[
    ("always_keepalive", Setting("keepalive")),
    ("blackhole", Only("0")),
    ("cc.abe", Setting("abe")),
    ("cc.algorithm", Congestion),
    ("delacktime", Millis("delayed_ack_timeout")),
    ("delayed_ack", Setting("delayed_ack")),
    ("do_prr", Meaning::Prr),
    ("drop_synfin", Setting("drop_syn_fin")),
    ("ecn.enable", NewNotification),
    ("ecn.maxretries", Nothing),
    ("fast_finwait2_recycle", Only("0")),
    ("fastopen.client_enable", Setting("fast_open_client")),
    ("fastopen.server_enable", Setting("fast_open_server")),
    ("finwait2_timeout", Millis("fin_wait_2_timeout")),
    // TCP stacks by name; `freebsd` is the base stack.
    ("functions_default", Only("freebsd")),
    ("hostcache.enable", Nothing),
    ("hostcache.purgenow", Nothing),
    ("icmp_may_rst", Setting("icmp_errors")),
    ("initcwnd_segments", Meaning::InitialWindow),
    ("insecure_rst", Inverse("challenge_ack")),
    ("insecure_syn", Inverse("challenge_syn")),
    ("keepcnt", Setting("keepalive_probes")),
    ("keepidle", Millis("keepalive_time")),
    ("keepinit", Nothing),
    ("keepintvl", Millis("keepalive_interval")),
    ("minmss", Setting("mss_min")),
    ("msl", TwoMillis("time_wait")),
    ("mssdflt", Only("536")),
    ("path_mtu_discovery", Setting("pmtud")),
    ("pmtud_blackhole_detection", Setting("plpmtud")),
    ("recvbuf_auto", Setting("receive_autotuning")),
    ("recvbuf_max", Setting("receive_buffer_max")),
    ("recvspace", Setting("receive_buffer_start")),
    ("rexmit_initial", Millis("rto_initial")),
    ("rexmit_drop_options", Only("0")),
    ("rexmit_slop", Millis("rto_slop")),
    ("rexmit_min", Millis("rto_min")),
    ("rfc1323", Rfc1323),
    ("rfc3042", Setting("limited_transmit")),
    ("rfc3390", Nothing),
    ("rfc6675_pipe", Nothing),
    ("sack.enable", Setting("sack")),
    ("sendbuf_auto", Setting("send_autotuning")),
    ("sendbuf_max", Setting("send_buffer_max")),
    ("sendspace", Setting("send_buffer_start")),
    ("syncache.rst_on_sock_fail", Nothing),
    ("syncookies", SynCookies("when-full")),
    ("syncookies_only", SynCookies("always")),
    ("tolerate_missing_ts", Only("1")),
    ("ts_offset_per_conn", Nothing),
    ("tso", Setting("segmentation_offload")),
    ("v6mssdflt", Only("1220")),
];

/// Effect of a setting of FreeBSD.
pub fn meaning(name: &str) -> Option<Meaning> {
    match name {
        "kern.ipc.maxsockbuf" => return Some(Setting("buffer_limit")),
        "kern.timecounter.alloweddeviation" => return Some(Nothing),
        _ => {}
    }
    let setting = name.strip_prefix("net.inet.tcp.")?;
    let (_, meaning) = TCP.iter().find(|(known, _)| *known == setting)?;
    Some(*meaning)
}

/// Whether `words` are a command of FreeBSD.
pub fn is_one(words: &[&str]) -> bool {
    match words {
        ["kldload", ..] => true,
        ["sysctl", rest @ ..] => rest
            .iter()
            .any(|word| word.starts_with("net.inet.") || word.starts_with("kern.")),
        _ => false,
    }
}

/// Name of a state (`tcp_fsm.h`).
pub const fn state(state: State) -> &'static str {
    match state {
        State::Closed => "CLOSED",
        State::Listen => "LISTEN",
        State::SynSent => "SYN_SENT",
        State::SynReceived => "SYN_RCVD",
        State::Established => "ESTABLISHED",
        State::CloseWait => "CLOSE_WAIT",
        State::FinWait1 => "FIN_WAIT_1",
        State::Closing => "CLOSING",
        State::LastAck => "LAST_ACK",
        State::FinWait2 => "FIN_WAIT_2",
        State::TimeWait => "TIME_WAIT",
    }
}

impl Host {
    /// Applies FreeBSD's behavior, once, unless the script names a profile.
    pub fn apply_freebsd_defaults(&mut self) -> Result<(), Unsupported> {
        if self.transport.setup.names_profile || self.transport.setup.as_freebsd {
            return Ok(());
        }
        self.transport.setup.as_freebsd = true;
        self.transport.setup.profile = Profile::FREEBSD;
        self.transport.setup.congestion = congestion_named("cubic")?;
        self.transport.setup.send_buffer = None;
        self.transport.setup.receive_buffer = None;
        if !self.transport.setup.names_mtu && self.transport.addresses.local.is_ipv6() {
            self.transport.addresses.mtu = 1500;
            self.transport.setup.set_mtu(1500, true);
        }
        Ok(())
    }
}
