//! `setsockopt`, `getsockopt` and `ioctl`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_tcp::SocketOption;
use gigatcp_tcp::events::State;
use gigatcp_units::{Bytes, Duration, Rate};

use super::arguments::{Arguments, Called, failed, returned};
use super::connection::Conn;
use super::host::Host;
use super::socket_options::SocketOptions;
use super::sysctl::not_sent_lowat;
use crate::ast::Value;
use crate::stack::{Progress, Returned, Unsupported};
use crate::symbols::FAILURES;

/// Options that change nothing a script can see.
const WITHOUT_EFFECT: [&str; 10] = [
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_MARK",
    "SO_PRIORITY",
    "SO_DEBUG",
    "IP_FREEBIND",
    "IPV6_V6ONLY",
    "SO_BUSY_POLL",
    "SO_NOSIGPIPE",
    "SO_USELOOPBACK",
];

/// `TCP_FUNCTION_BLK` of FreeBSD: of its stacks the base one is here.
fn choose_stack(args: &Arguments<'_>) -> Called {
    let name = args.get(3).member("function_set_name").and_then(text);
    match name.as_deref() {
        Some("freebsd" | "default") => returned(0),
        Some(other) => Err(Unsupported::new("mechanism", format!("TCP stack {other}"))),
        None => Err(args.odd(3)),
    }
}

/// A number as a size; `None` counts as zero.
fn size_of(number: Option<i64>) -> u64 {
    u64::try_from(number.unwrap_or(0)).unwrap_or(0)
}

/// A number as a switch.
fn is_on(number: Option<i64>) -> bool {
    number.unwrap_or(0) != 0
}

impl Host {
    pub fn setsockopt(&mut self, args: &Arguments<'_>) -> Called {
        let fd = args.number(0)?;
        let name = option_name(args)?;
        let open = self.open_index(fd);
        let Some(socket) = self.socket_of(fd) else {
            return failed("EBADF");
        };
        let options = &mut socket.options.clone();
        if name == "TCP_FASTOPEN_KEY" && open.is_none() {
            return self.set_fast_open_key(fd, args);
        }
        let value = args.get(3);
        let number = match value {
            Value::List(list) => list.first().and_then(Value::integer),
            other => other.integer(),
        };
        let setup = &self.transport.setup;
        let is_off = setup.as_linux && !setup.profile.opening.fast_open_client;
        if name == "TCP_FASTOPEN_CONNECT" && is_off {
            return failed("EOPNOTSUPP");
        }
        if name == "TCP_FUNCTION_BLK" {
            return choose_stack(args);
        }
        let known = WITHOUT_EFFECT.contains(&name.as_str())
            || self.set_buffers(options, open, &name, number)
            || (open.is_none() && self.set_opening(options, &name, number, args)?)
            || self.set_sending(options, open, &name, number, args)?
            || self.set_ancillary(options, open, &name, number, value)?
            || self.set_waiting(options, open, &name, number)
            || self.set_addressing(options, open, &name, number, value);
        if !known {
            return Err(Unsupported::new("socket option", name));
        }
        self.keep_options(fd, options);
        returned(0)
    }

    /// Applies SO_SNDBUF and SO_RCVBUF. Returns whether `name` is one of these, as all functions
    /// below do.
    fn set_buffers(
        &mut self,
        options: &mut SocketOptions,
        open: Option<usize>,
        name: &str,
        number: Option<i64>,
    ) -> bool {
        let factor = 1 + u64::from(self.transport.setup.doubles_requests);
        let size = size_of(number).saturating_mul(factor);
        match name {
            "SO_SNDBUF" if open.is_some() => {
                options.late_send_buffer = Some(size);
                let truesize = self.transport.setup.profile.buffers.truesize;
                self.on_connection(open, |conn| conn.late_send_buffer = Some(size));
                if truesize {
                    self.set(open, SocketOption::SendBuffer(Bytes::new(size)));
                }
            }
            "SO_SNDBUF" => options.send_buffer = Some(size),
            "SO_RCVBUF" if open.is_some() => {
                self.set(open, SocketOption::ReceiveBuffer(Bytes::new(size)));
            }
            "SO_RCVBUF" => options.receive_buffer = Some(size),
            _ => return false,
        }
        true
    }

    /// Applies options that take effect before there is a connection.
    fn set_opening(
        &mut self,
        options: &mut SocketOptions,
        name: &str,
        number: Option<i64>,
        args: &Arguments<'_>,
    ) -> Result<bool, Unsupported> {
        match name {
            "TCP_CONGESTION" => {
                let name = text(args.get(3)).ok_or_else(|| args.odd(3))?;
                options.congestion = Some(self.transport.setup.control(&name)?);
            }
            "TCP_FASTOPEN" => {
                let fd = args.number(0)?;
                let listening = self.transport.listening.entry(fd).or_default();
                if listening.has_begun() {
                    let what = "TCP_FASTOPEN of a listener at work";
                    return Err(Unsupported::new("socket option", what));
                }
                listening.fast_open = usize::try_from(size_of(number)).unwrap_or(0).min(4096);
            }
            "TCP_FASTOPEN_CONNECT" => options.fast_open_connect = is_on(number),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Applies options that control sending: sizes, holding back, pacing, urgency.
    fn set_sending(
        &mut self,
        options: &mut SocketOptions,
        open: Option<usize>,
        name: &str,
        number: Option<i64>,
        args: &Arguments<'_>,
    ) -> Result<bool, Unsupported> {
        let is_on = is_on(number);
        match name {
            "TCP_MAXSEG" => {
                let mss = u16::try_from(size_of(number)).ok();
                options.mss = mss.filter(|mss| *mss > 0);
            }
            "TCP_NODELAY" => {
                options.nodelay = is_on;
                let nagle = self.transport.setup.profile.segments.nagle && !is_on;
                self.set(open, SocketOption::Nagle(nagle));
                self.push_out(open, is_on);
            }
            "TCP_CORK" | "TCP_NOPUSH" => {
                options.cork = is_on;
                self.on_connection(open, |conn| conn.cork = is_on);
                self.push_out(open, !is_on);
            }
            "SO_OOBINLINE" => {
                options.urgent_inline = Some(is_on);
                self.set(open, SocketOption::UrgentInline(is_on));
            }
            "TCP_NOTSENT_LOWAT" => {
                // 0 asks for the system's.
                let own = Some(size_of(number)).filter(|octets| *octets > 0);
                options.not_sent_lowat = own.map(not_sent_lowat);
                let of_system = self.transport.setup.profile.buffers.not_sent_lowat;
                let lowat = options.not_sent_lowat.unwrap_or(of_system);
                self.set(open, SocketOption::NotSentLowat(lowat));
            }
            "SO_MAX_PACING_RATE" => {
                let most = pacing_bound(number).ok_or_else(|| args.odd(3))?;
                options.max_pacing_rate = most;
                self.set(open, SocketOption::MaxPacingRate(most));
            }
            "SO_LINGER" => options.linger = linger(args.get(3)).ok_or_else(|| args.odd(3))?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets the key, which has 16 octets.
    fn set_fast_open_key(&mut self, fd: i64, args: &Arguments<'_>) -> Called {
        let octets = octets(args.get(3)).and_then(|octets| octets.try_into().ok());
        let (Some(key), 16) = (octets, args.number(4)?) else {
            return failed("EINVAL");
        };
        let host = self.transport.addresses.local;
        let listening = self.transport.listening.entry(fd).or_default();
        listening.set_key(key, host);
        returned(0)
    }

    /// Applies options for ancillary data.
    fn set_ancillary(
        &mut self,
        options: &mut SocketOptions,
        open: Option<usize>,
        name: &str,
        number: Option<i64>,
        value: &Value,
    ) -> Result<bool, Unsupported> {
        match (name, open) {
            ("SO_ZEROCOPY", _) => options.zero_copy = is_on(number),
            ("TCP_INQ", _) => options.tells_left = is_on(number),
            ("SO_TIMESTAMPING", Some(index)) => {
                let flags = match value {
                    Value::List(list) => list.first().unwrap_or(value),
                    other => other,
                };
                let conn = &mut self.transport.connections[index];
                conn.errors.set_stamps(flags, conn.tcp.info().snd_una)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Applies timeouts for an unresponsive peer.
    fn set_waiting(
        &mut self,
        options: &mut SocketOptions,
        open: Option<usize>,
        name: &str,
        number: Option<i64>,
    ) -> bool {
        let (is_on, size) = (is_on(number), size_of(number));
        match name {
            "SO_KEEPALIVE" => {
                options.keepalive = Some(is_on);
                self.set(open, SocketOption::KeepAlive(is_on));
            }
            "TCP_SYNCNT" => {
                let retries = u32::try_from(size).unwrap_or(u32::MAX);
                let retries = self.transport.setup.syn_retries_of(retries);
                options.syn_retries = Some(retries);
                self.on_connection(open, |conn| conn.tcp.set_syn_retries(retries));
            }
            "TCP_USER_TIMEOUT" => {
                let limit = Duration::from_millis(size);
                options.user_timeout = Some(limit);
                self.set(open, SocketOption::UserTimeout(limit));
            }
            word => {
                if !set_keepalive(options, word, size) {
                    return false;
                }
                let now = self.transport.clock();
                let profile = self.transport.setup.profile;
                self.on_connection(open, |conn| {
                    conn.set_keepalive_times(now, options, &profile)
                });
            }
        }
        true
    }

    /// Applies options for the IP header.
    fn set_addressing(
        &mut self,
        options: &mut SocketOptions,
        open: Option<usize>,
        name: &str,
        number: Option<i64>,
        value: &Value,
    ) -> bool {
        let is_known = set_ip(options, name, size_of(number), value);
        if is_known {
            self.on_connection(open, |conn| conn.set_ip(options));
        }
        is_known
    }

    /// Stores the options of a socket and of its listener.
    fn keep_options(&mut self, fd: i64, options: &SocketOptions) {
        if let Some(socket) = self.socket_of(fd) {
            socket.options = options.clone();
        }
        if let Some(listening) = self.transport.listening.get_mut(&fd) {
            listening.options = options.clone();
        }
    }

    /// Changes a setting of the engine's connection, if there is one.
    fn set(&mut self, open: Option<usize>, option: SocketOption) {
        let now = self.transport.clock();
        self.on_connection(open, |conn| conn.tcp.set(now, option));
    }

    fn on_connection(&mut self, open: Option<usize>, change: impl FnOnce(&mut Conn)) {
        if let Some(index) = open {
            change(&mut self.transport.connections[index]);
        }
    }

    /// Sends data that was held back, if it may.
    fn push_out(&mut self, open: Option<usize>, may: bool) {
        if let (Some(index), true) = (open, may) {
            self.transport.connections[index].release_held();
            self.transport.pump(index);
        }
    }

    pub fn getsockopt(&mut self, args: &Arguments<'_>) -> Called {
        let fd = args.number(0)?;
        let name = option_name(args)?;
        let open = self.open_index(fd);
        let profile = self.transport.setup.profile;
        let Some(socket) = self.socket_of(fd) else {
            return failed("EBADF");
        };
        let options = socket.options.clone();
        let setup = &self.transport.setup;
        let asked = |own: Option<u64>, default: Option<Bytes>| own.map(Bytes::new).or(default);
        let value = match name.as_str() {
            "SO_ERROR" => {
                let conn = open.map(|index| &mut self.transport.connections[index]);
                let errno = conn.and_then(|conn| conn.take_failure());
                let known = FAILURES.iter().find(|(name, ..)| Some(*name) == errno);
                match known {
                    Some((name, ..)) if has_name(args.get(3)) => Value::Name(String::from(*name)),
                    Some((.., freebsd)) if setup.as_freebsd => Value::Integer(*freebsd),
                    Some((_, linux, _)) => Value::Integer(*linux),
                    None => Value::Integer(0),
                }
            }
            "SO_SNDBUF" => {
                let own = options.late_send_buffer.or(options.send_buffer);
                Value::Integer(
                    profile
                        .send_buffer_for(asked(own, setup.send_buffer))
                        .as_u64() as i64,
                )
            }
            "SO_RCVBUF" => {
                let granted = match open.filter(|_| setup.as_freebsd) {
                    // Rounded up to whole segments.
                    Some(index) => self.transport.connections[index].tcp.info().receive_buffer,
                    None => profile
                        .receive_buffer_for(asked(options.receive_buffer, setup.receive_buffer)),
                };
                Value::Integer(granted.as_u64() as i64)
            }
            // The socket's own; 0 without one. The largest number is no bound.
            "TCP_NOTSENT_LOWAT" => Value::Integer(match options.not_sent_lowat {
                None => 0,
                Some(None) => i64::from(u32::MAX),
                Some(Some(octets)) => octets.as_u64() as i64,
            }),
            "TCP_KEEPIDLE" | "TCP_KEEPINTVL" | "TCP_KEEPCNT" => {
                let (time, interval, probes) = options.keepalive_times(&profile);
                Value::Integer(match name.as_str() {
                    "TCP_KEEPIDLE" => time.as_secs_f64() as i64,
                    "TCP_KEEPINTVL" => interval.as_secs_f64() as i64,
                    _ => i64::from(probes),
                })
            }
            "TCP_NODELAY" => Value::Integer(i64::from(options.nodelay)),
            "TCP_CORK" => Value::Integer(i64::from(options.cork)),
            "TCP_MAXSEG" => {
                let conn = open.map(|index| self.transport.connections[index].tcp.info().smss);
                let asked = options.mss.unwrap_or(setup.mss);
                Value::Integer(conn.map_or(i64::from(asked), i64::from))
            }
            "IP_TOS" | "IPV6_TCLASS" => Value::Integer(i64::from(options.tos)),
            "IP_TTL" | "IPV6_UNICAST_HOPS" => Value::Integer(i64::from(options.ttl())),
            "TCP_CONGESTION" => {
                let entry = options.congestion.unwrap_or(setup.congestion);
                // Linux's own control is called just "cubic" there.
                let plain = entry.name.strip_suffix("-linux");
                let name = plain.filter(|_| setup.as_linux).unwrap_or(entry.name);
                let name = Value::Text(name.as_bytes().to_vec());
                return Ok(Progress::Returned(Returned::success(0).output(3, name)));
            }
            _ => return Err(Unsupported::new("socket option", name)),
        };
        let value = Value::List(Vec::from([value]));
        Ok(Progress::Returned(Returned::success(0).output(3, value)))
    }

    pub fn ioctl(&mut self, args: &Arguments<'_>) -> Called {
        let Some(index) = self.open_index(args.number(0)?) else {
            return failed("EINVAL");
        };
        let conn = &self.transport.connections[index];
        let info = conn.tcp.info();
        let unsent = conn.tcp.unsent() + u64::from(conn.held);
        let amount = match args.get(1).name() {
            Some("SIOCINQ" | "FIONREAD") => {
                // Linux counts the peer's FIN as one octet only if nothing else is left. The
                // readable octets are what is meant.
                conn.tcp.readable()
            }
            Some("SIOCOUTQ" | "TIOCOUTQ") if info.state != State::Closed => {
                info.flight_size.as_u64() + unsent
            }
            Some("SIOCOUTQNSD") => unsent,
            Some("SIOCATMARK") => u64::from(conn.tcp.is_at_urgent_mark()),
            Some(other) => return Err(Unsupported::new("call", format!("ioctl {other}"))),
            None => return Err(args.odd(1)),
        };
        let value = Value::List(Vec::from([Value::Integer(amount as i64)]));
        Ok(Progress::Returned(Returned::success(0).output(2, value)))
    }
}

/// Sets how keep-alives are sent, in the seconds of the socket interface; says
/// whether the option is of that kind.
fn set_keepalive(options: &mut SocketOptions, name: &str, size: u64) -> bool {
    match name {
        "TCP_KEEPIDLE" => options.keepalive_time = Some(Duration::from_secs(size)),
        "TCP_KEEPINTVL" => options.keepalive_interval = Some(Duration::from_secs(size)),
        "TCP_KEEPCNT" => options.keepalive_probes = u32::try_from(size).ok(),
        _ => return false,
    }
    true
}

/// Bound that `SO_MAX_PACING_RATE` states in octets per second. All ones, in either width, remove
/// it.
fn pacing_bound(number: Option<i64>) -> Option<Option<Rate>> {
    match number? {
        -1 | 0xffff_ffff => Some(None),
        octets => {
            let octets = u64::try_from(octets).ok().filter(|octets| *octets > 0)?;
            Some(Some(Rate::from_bps(octets.saturating_mul(8))))
        }
    }
}

/// Sets fields of the IP header; returns whether the option is of that kind.
fn set_ip(options: &mut SocketOptions, name: &str, size: u64, value: &Value) -> bool {
    match name {
        "IP_TOS" | "IPV6_TCLASS" => options.tos = size as u8,
        "IP_TTL" | "IPV6_UNICAST_HOPS" => options.ttl = Some(size as u8),
        "IP_MTU_DISCOVER" | "IPV6_MTU_DISCOVER" => {
            let words = match value {
                Value::List(list) => list.as_slice(),
                one => core::slice::from_ref(one),
            };
            let dont = ["IP_PMTUDISC_DONT", "IPV6_PMTUDISC_DONT"];
            let is_off = |word: &Value| dont.iter().any(|name| word.has_word(name));
            options.may_fragment = words.iter().any(is_off);
        }
        _ => return false,
    }
    true
}

fn option_name(args: &Arguments<'_>) -> Result<String, Unsupported> {
    let name = args.get(2).name().map(String::from);
    name.ok_or_else(|| args.odd(2))
}

/// Parses `{onoff=1, linger=0}`.
fn linger(value: &Value) -> Option<Option<i64>> {
    let on = value.member("onoff").or_else(|| value.member("l_onoff"))?;
    let time = value
        .member("linger")
        .or_else(|| value.member("l_linger"))?;
    let is_on = on.integer()? != 0;
    Some(time.integer().filter(|_| is_on))
}

fn octets(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Text(octets) => Some(octets.clone()),
        Value::List(list) => list.first().and_then(octets),
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    String::from_utf8(octets(value)?).ok()
}

/// Whether an argument states a value by name.
fn has_name(value: &Value) -> bool {
    match value {
        Value::List(list) => list.iter().any(|value| value.name().is_some()),
        other => other.name().is_some(),
    }
}
