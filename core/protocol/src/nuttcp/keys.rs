//! The keys of the parameter line: their names, versions and values.
//!
//! The line is `key = value, key = value`. From the key `thirdparty` on, a space also precedes the
//! comma: old servers read a name up to the next space. A key is written only for a server that
//! supports it and read only from a client that supports it. Keys of later versions are ignored.
//!
//! The last key is private to this project: servers look up known keys at any place in the line
//! (read in 8.2.2, tried with 6.1.2), and ignore others.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use gigatcp_units::Duration;

use super::Side;
use super::error::{Error, Unsupported, excerpt};
use super::parameters::{self, Format, MAX_SECONDS, Parameters, ThirdParty, Wanted};
use super::version::Version;

/// Value of `rate` without a limit.
const NO_RATE_LIMIT: u64 = 0xffff_ffff;

/// Value of `nbuf` without a limit.
const NO_BUFFER_LIMIT: u64 = 0x7fff_ffff;

/// Value of an unset name.
const NO_NAME: &str = "_NULL_";

/// Key of a client that reads private lines.
const PRIVATE: &str = "gigatcp";

/// First version of keys that always existed.
const ALWAYS: (u16, u16, u16) = (0, 0, 0);

/// Declares the keys in the order of the line. Each has a name and its first version.
macro_rules! keys {
    ($($key:ident $name:literal $since:expr;)+) => {
        /// A key of the line.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum Key {
            $($key,)+
        }

        const KEYS: &[(Key, &str, (u16, u16, u16))] = &[$((Key::$key, $name, $since)),+];
    };
}

keys! {
    Buflen "buflen" ALWAYS;
    Nbuf "nbuf" ALWAYS;
    Win "win" ALWAYS;
    Nstream "nstream" ALWAYS;
    Rate "rate" ALWAYS;
    Port "port" ALWAYS;
    Trans "trans" ALWAYS;
    Braindead "braindead" ALWAYS;
    Timeout "timeout" ALWAYS;
    Udp "udp" ALWAYS;
    Vers "vers" ALWAYS;
    Interval "interval" (3, 3, 2);
    Reverse "reverse" (3, 4, 1);
    Format "format" (3, 5, 1);
    Traceroute "traceroute" (3, 6, 1);
    Irate "irate" (3, 6, 1);
    Thirdparty "thirdparty" (5, 0, 1);
    Brief3 "brief3" (5, 0, 1);
    Ctlport3 "ctlport3" (6, 2, 5);
    Multicast "multicast" (5, 1, 1);
    Ssm "ssm" (6, 2, 1);
    Datamss "datamss" (5, 2, 1);
    Tos "tos" (5, 3, 1);
    NbufBytes "nbuf_bytes" (5, 5, 1);
    RatePps "rate_pps" (5, 5, 1);
    Nodelay "nodelay" (5, 5, 1);
    Affinity "affinity" (6, 2, 6);
    SrvrAffinity "srvr_affinity" (6, 2, 6);
    Maxburst "maxburst" (6, 2, 7);
    DoJitter "do_jitter" (7, 0, 1);
    DoOwd "do_owd" (7, 0, 1);
    Stride "stride" (7, 1, 1);
    Multilink "multilink" (7, 1, 1);
    Group "group" (7, 2, 1);
    Srcport "srcport" (7, 3, 1);
    Iratesss "iratesss" (8, 1, 1);
    Af3 "af3" (8, 2, 1);
}

fn version((major, minor, delta): (u16, u16, u16)) -> Version {
    Version::new(major, minor, delta)
}

/// Effect on a test of omitting an option.
enum Loss {
    /// The option was not used.
    None,
    /// The test keeps its meaning.
    Harmless,
    /// The test would be a different one.
    Fatal,
}

impl Parameters {
    /// Writes the line for a server of version `server`.
    ///
    /// Dispensable options that it does not support are switched off here and returned.
    ///
    /// # Errors
    /// If an unsupported option is indispensable.
    pub fn line(&mut self, server: Version) -> Result<(String, Vec<Unsupported>), Error> {
        let mut line = String::new();
        let mut without = Vec::new();
        let mut spaced = false;
        for &(key, name, since) in KEYS {
            let since = version(since);
            if server < since {
                let unsupported = Unsupported {
                    key: name,
                    server,
                    since,
                };
                match self.leave_out(key) {
                    Loss::None => {}
                    Loss::Harmless => without.push(unsupported),
                    Loss::Fatal => return Err(Error::Unsupported(unsupported)),
                }
                continue;
            }
            if let Some(value) = self.value(key, server) {
                let separator = match (line.is_empty(), spaced) {
                    (true, _) => "",
                    (false, false) => ", ",
                    (false, true) => " , ",
                };
                line.push_str(&format!("{separator}{name} = {value}"));
            }
            spaced |= key == Key::Thirdparty;
        }
        if self.private {
            let separator = if spaced { " , " } else { ", " };
            line.push_str(&format!("{separator}{PRIVATE} = 1"));
        }
        line.push('\n');
        Ok((line, without))
    }

    /// Reads a client's line; returns the parameters and the client's version.
    ///
    /// # Errors
    /// If a key is missing that the client's version has, or a value is impossible.
    pub fn read(line: &str) -> Result<(Self, Version), Error> {
        let client = field(line, "vers").ok_or(missing("vers", Version::UNKNOWN))?;
        let client = Version::read(client).ok_or_else(|| Error::Parameter {
            key: "vers",
            read: excerpt(client),
            expected: "a version, like 8.2.2",
        })?;
        let mut parameters = Self {
            private: field(line, PRIVATE) == Some("1"),
            ..Self::default()
        };
        for &(key, name, since) in KEYS {
            let since = version(since);
            if key == Key::Vers || client < since {
                continue;
            }
            let is_third_party_only = matches!(
                key,
                Key::Brief3 | Key::Ctlport3 | Key::SrvrAffinity | Key::Af3
            );
            if is_third_party_only && parameters.third_party.is_none() {
                continue;
            }
            let read = field(line, name).ok_or(missing(name, since))?;
            let set = match key {
                Key::Thirdparty | Key::Group => parameters.set_name(key, read),
                _ if is_third_party_only => parameters.set_third_party(key, read),
                Key::Reverse
                | Key::Traceroute
                | Key::Irate
                | Key::Udp
                | Key::Braindead
                | Key::NbufBytes
                | Key::RatePps
                | Key::Nodelay
                | Key::Multilink
                | Key::Iratesss => parameters.set_flag(key, read),
                _ => parameters.set_number(key, read),
            };
            set.map_err(|expected| Error::Parameter {
                key: name,
                read: excerpt(read),
                expected,
            })?;
        }
        Ok((parameters, client))
    }

    /// Value of a key; `None` for a key of third parties without one.
    fn value(&self, key: Key, server: Version) -> Option<String> {
        let flag = |is_set: bool| Some(u8::from(is_set).to_string());
        let cpu = |cpu: Option<u32>| Some(cpu.map_or("-1".to_owned(), |cpu| cpu.to_string()));
        let third = self.third_party.as_ref();
        match key {
            Key::Buflen => Some(self.buffer_bytes.to_string()),
            Key::Nbuf => Some(self.buffers.unwrap_or(NO_BUFFER_LIMIT).to_string()),
            Key::Win => Some(self.window_bytes.to_string()),
            Key::Nstream => Some(self.streams.to_string()),
            Key::Rate => Some(self.rate_kbps.unwrap_or(NO_RATE_LIMIT).to_string()),
            Key::Port => Some(self.port.to_string()),
            Key::Trans => flag(self.client == Side::Transmitter),
            Key::Braindead => flag(self.both_windows),
            Key::Timeout if server >= Version::FRACTION_OF_SECOND => {
                Some(parameters::seconds(self.time_limit))
            }
            Key::Timeout => {
                let seconds = self.time_limit.as_nanos().div_ceil(1_000_000_000);
                Some(seconds.to_string())
            }
            Key::Udp => flag(self.udp),
            Key::Vers => Some(Version::OURS.to_string()),
            Key::Interval => Some(parameters::seconds(self.interval)),
            Key::Reverse => flag(self.flipped),
            Key::Format => Some(self.format.0.to_string()),
            Key::Traceroute => flag(self.traceroute),
            Key::Irate => flag(self.instantaneous),
            Key::Thirdparty => Some(third.map_or(NO_NAME, |third| &third.host).to_owned()),
            Key::Brief3 => third.map(|third| third.brief.to_string()),
            Key::Ctlport3 => third.map(|third| third.control_port.to_string()),
            Key::Multicast => Some(self.multicast_ttl.to_string()),
            Key::Ssm => Some(self.source_specific.map_or(-1, i32::from).to_string()),
            Key::Datamss => Some(self.mss.to_string()),
            Key::Tos => Some(format!("{:X}", self.tos)),
            Key::NbufBytes => flag(self.amount_in_bytes),
            Key::RatePps => flag(self.rate_in_packets),
            Key::Nodelay => flag(self.nodelay),
            Key::Affinity => cpu(self.cpu),
            Key::SrvrAffinity => third.and_then(|third| cpu(third.server_cpu)),
            Key::Maxburst => Some(self.burst.to_string()),
            Key::DoJitter => Some(self.jitter.0.to_string()),
            Key::DoOwd => Some(self.one_way_delay.0.to_string()),
            // The stride is an address in network order, printed as the number that a little-endian
            // host reads from its memory.
            Key::Stride => Some((self.stride.swap_bytes() as i32).to_string()),
            Key::Multilink => flag(self.multilink),
            Key::Group => Some(self.group.as_deref().unwrap_or(NO_NAME).to_owned()),
            Key::Srcport => Some(self.source_port.to_string()),
            Key::Iratesss => flag(self.smoothed_slow_start),
            Key::Af3 => third.map(|third| third.address_family.to_string()),
        }
    }

    /// Switches off the option of a key that the server does not support.
    fn leave_out(&mut self, key: Key) -> Loss {
        // A server that does not transmit needs no option of the transmitter.
        let is_servers = self.client == Side::Receiver || self.third_party.is_some();
        let fatal = |is_used: bool| if is_used { Loss::Fatal } else { Loss::None };
        let harmless = |is_used: bool| if is_used { Loss::Harmless } else { Loss::None };
        let third = self.third_party.as_ref();
        match key {
            Key::Interval => fatal(!self.interval.is_zero()),
            Key::Reverse => fatal(self.flipped),
            Key::Traceroute => fatal(self.traceroute),
            Key::Thirdparty => fatal(third.is_some()),
            Key::Ctlport3 => fatal(third.is_some_and(|third| third.control_port != 0)),
            Key::Multicast => fatal(self.multicast_ttl != 0),
            Key::Ssm => fatal(self.multicast_ttl != 0 && self.source_specific == Some(true)),
            Key::Datamss => fatal(self.mss != 0 && is_servers),
            Key::Tos => fatal(self.tos != 0 && is_servers),
            Key::Nodelay => fatal(self.nodelay && is_servers),
            Key::Affinity => fatal(self.cpu.is_some() && third.is_none()),
            Key::SrvrAffinity => fatal(third.is_some_and(|third| third.server_cpu.is_some())),
            Key::Maxburst => fatal(self.burst > 1 && is_servers),
            Key::DoJitter => fatal(self.jitter.any() && self.client == Side::Transmitter),
            Key::DoOwd => fatal(self.one_way_delay.any()),
            Key::Stride => fatal(self.stride != 0),
            Key::Multilink => fatal(self.multilink),
            Key::Group => fatal(self.group.is_some()),
            Key::Srcport => fatal(self.source_port != 0 && !self.client_connects()),
            Key::RatePps => fatal(self.rate_in_packets && third.is_some()),
            Key::Format => {
                let is_used = self.format != Format::RTT;
                let is_parsed = self.format.has(Format::PARSE);
                if is_parsed {
                    Loss::Fatal
                } else {
                    harmless(is_used)
                }
            }
            Key::Irate => harmless(self.instantaneous && is_servers),
            Key::NbufBytes => harmless(self.amount_in_bytes && third.is_some()),
            Key::Iratesss => harmless(self.smoothed_slow_start && is_servers),
            Key::Af3 => harmless(third.is_some_and(|third| third.address_family != 0)),
            _ => Loss::None,
        }
    }

    fn set_flag(&mut self, key: Key, read: &str) -> Result<(), &'static str> {
        let number: i64 = read.parse().map_err(|_| "0 or 1")?;
        // A client of 8.2.2 without a kind of rate limit may send -1.
        let is_set = number != 0 && (key != Key::Irate || number > 0);
        let flag = match key {
            Key::Reverse => &mut self.flipped,
            Key::Traceroute => &mut self.traceroute,
            Key::Irate => &mut self.instantaneous,
            Key::Udp => &mut self.udp,
            Key::Braindead => &mut self.both_windows,
            Key::NbufBytes => &mut self.amount_in_bytes,
            Key::RatePps => &mut self.rate_in_packets,
            Key::Nodelay => &mut self.nodelay,
            Key::Multilink => &mut self.multilink,
            _ => &mut self.smoothed_slow_start,
        };
        *flag = is_set;
        Ok(())
    }

    fn set_number(&mut self, key: Key, read: &str) -> Result<(), &'static str> {
        match key {
            Key::Buflen => self.buffer_bytes = number(read, "bytes of a buffer, from 0 on")?,
            Key::Nbuf => {
                let buffers: u64 = number(read, "a number of buffers, from 1 on")?;
                if buffers == 0 {
                    return Err("a number of buffers, from 1 on");
                }
                self.buffers = (buffers != NO_BUFFER_LIMIT).then_some(buffers);
            }
            Key::Win => {
                let window: i32 = number(read, "bytes of a socket buffer, from 0 on")?;
                self.window_bytes =
                    u32::try_from(window).map_err(|_| "bytes of a socket buffer, from 0 on")?;
            }
            Key::Nstream => self.streams = number(read, "1 to 128 streams")?,
            Key::Rate => {
                let rate: u64 = number(read, "a rate in kbit/s, 0 for no limit")?;
                self.rate_kbps = (rate != 0 && rate != NO_RATE_LIMIT).then_some(rate);
            }
            Key::Port => self.port = number(read, "a port")?,
            Key::Trans => {
                let trans: i32 = number(read, "0 or 1")?;
                self.client = if trans == 0 {
                    Side::Receiver
                } else {
                    Side::Transmitter
                };
            }
            Key::Timeout => self.time_limit = span(read)?,
            Key::Interval => self.interval = span(read)?,
            Key::Format => self.format = Format(number(read, "a sum of format bits")?),
            Key::Multicast => self.multicast_ttl = number(read, "a time to live, 0 to 255")?,
            Key::Ssm => {
                self.source_specific = match read {
                    "-1" => None,
                    "0" => Some(false),
                    "1" => Some(true),
                    _ => return Err("-1, 0 or 1"),
                }
            }
            Key::Datamss => self.mss = number(read, "bytes of a segment, from 0 on")?,
            Key::Tos => {
                self.tos = u8::from_str_radix(read, 16).map_err(|_| "hexadecimal, 0 to FF")?;
            }
            Key::Affinity => self.cpu = cpu(read)?,
            Key::Maxburst => {
                self.burst = number(read, "a number of packets, from 1 on")?;
                if self.burst == 0 {
                    return Err("a number of packets, from 1 on");
                }
            }
            Key::DoJitter => self.jitter = Wanted(number(read, "a sum of 1, 2, 4 and 8")?),
            Key::DoOwd => self.one_way_delay = Wanted(number(read, "a sum of 1, 2 and 4")?),
            Key::Stride => {
                let stride: i32 = number(read, "an address as a signed number")?;
                self.stride = (stride as u32).swap_bytes();
            }
            _ => self.source_port = number(read, "a port")?,
        }
        Ok(())
    }

    fn set_name(&mut self, key: Key, read: &str) -> Result<(), &'static str> {
        if read == NO_NAME {
            return Ok(());
        }
        if key == Key::Group {
            if !parameters::is_group(read) {
                return Err("an address of at most 45 characters");
            }
            self.group = Some(read.to_owned());
            return Ok(());
        }
        if !parameters::is_host(read) {
            return Err("a host of at most 174 letters, digits and `-.:/+=`");
        }
        self.third_party = Some(ThirdParty {
            host: read.to_owned(),
            brief: 1,
            control_port: 0,
            server_cpu: None,
            address_family: 0,
        });
        Ok(())
    }

    fn set_third_party(&mut self, key: Key, read: &str) -> Result<(), &'static str> {
        let Some(third) = &mut self.third_party else {
            return Ok(());
        };
        match key {
            Key::Brief3 => third.brief = number(read, "a kind of brief output")?,
            Key::Ctlport3 => {
                third.control_port = number(read, "0 or a port from 1024 on")?;
                if (1..parameters::MIN_PORT).contains(&third.control_port) {
                    return Err("0 or a port from 1024 on");
                }
            }
            Key::SrvrAffinity => third.server_cpu = cpu(read)?,
            _ => {
                third.address_family = number(read, "0, 4 or 6")?;
                if !matches!(third.address_family, 0 | 4 | 6) {
                    return Err("0, 4 or 6");
                }
            }
        }
        Ok(())
    }
}

/// Value of a key in the line.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(',').find_map(|field| {
        let (key, value) = field.split_once('=')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn missing(key: &'static str, since: Version) -> Error {
    Error::MissingParameter { key, since }
}

fn number<N: core::str::FromStr>(read: &str, expected: &'static str) -> Result<N, &'static str> {
    read.parse().map_err(|_| expected)
}

/// Reads a CPU's number; negative for any.
fn cpu(read: &str) -> Result<Option<u32>, &'static str> {
    let cpu: i32 = number(read, "a CPU's number, or -1")?;
    Ok(u32::try_from(cpu).ok())
}

/// Reads seconds with a fraction.
fn span(read: &str) -> Result<Duration, &'static str> {
    let expected = "seconds, 0 to 1000000000";
    let seconds: f64 = number(read, expected)?;
    if !(0.0..=MAX_SECONDS as f64).contains(&seconds) {
        return Err(expected);
    }
    Ok(Duration::from_secs_f64(seconds))
}
