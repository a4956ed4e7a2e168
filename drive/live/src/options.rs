//! Settings of a connection: a profile, buffers, congestion control.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use gigatcp_tcp::TransportConfig;
use gigatcp_tcp::congestion::{self, ControllerFactory, SlowStart};
use gigatcp_tcp::events::EventMask;
use gigatcp_tcp::profile::{Profile, SettingValue};
use gigatcp_units::Bytes;
use gigatcp_wire::IpVersion;

/// Settings for opening or accepting a connection.
///
/// ```
/// use gigatcp_live::Options;
/// use gigatcp_tcp::Profile;
/// use gigatcp_units::Bytes;
///
/// # fn main() -> std::io::Result<()> {
/// let options = Options {
///     receive_buffer: Some(Bytes::new(1 << 20)),
///     ..Options::of_profile(Profile::LINUX_6_18).with_congestion("bbr")?
/// };
/// assert_eq!(options.congestion.name(), "bbr");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// Switches and constants.
    pub profile: Profile,
    /// Congestion control.
    pub congestion: Arc<dyn ControllerFactory>,
    /// Slow-start variant.
    pub slow_start: SlowStart,
    /// Initial ssthresh in segments; `None`: unlimited.
    pub initial_ssthresh: Option<u32>,
    /// Requested send buffer; `None`: autotuned.
    pub send_buffer: Option<Bytes>,
    /// Requested receive buffer; `None`: autotuned.
    pub receive_buffer: Option<Bytes>,
    /// Maximum segment size to receive and send, options included. `None`: what the device's
    /// packets hold. It can only reduce the size.
    pub mss: Option<u16>,
    /// Local address of an opened connection. `None`: the device's first address of the peer's
    /// family.
    pub local_address: Option<IpAddr>,
    /// Local port of an opened connection. `None`: any free port (RFC 6056).
    pub local_port: Option<u16>,
    /// Maximum half-open connections of a listener.
    pub backlog: usize,
    /// Maximum connections of a listener that wait to be accepted.
    pub accept_backlog: usize,
}

impl Default for Options {
    /// Profile `modern` with its buffers limited to 64 MiB, and CUBIC.
    fn default() -> Self {
        Self::of_profile(Profile::MODERN.with(|profile| {
            profile.buffers.send_buffer_max = Bytes::new(64 << 20);
            profile.buffers.receive_buffer_max = Bytes::new(64 << 20);
        }))
    }
}

impl Options {
    /// That profile with CUBIC, and autotuned buffers if the profile allows.
    pub fn of_profile(profile: Profile) -> Self {
        Self {
            profile,
            congestion: Arc::new(congestion::CUBIC),
            slow_start: SlowStart::Usual,
            initial_ssthresh: None,
            send_buffer: None,
            receive_buffer: None,
            mss: None,
            local_address: None,
            local_port: None,
            backlog: 256,
            accept_backlog: 128,
        }
    }

    /// Selects another congestion control, by its name.
    ///
    /// # Errors
    /// There is none with this name; the error lists the available ones.
    pub fn with_congestion(mut self, name: &str) -> io::Result<Self> {
        let found = congestion::find(name).ok_or_else(|| {
            let known: Vec<&str> = congestion::REGISTRY
                .iter()
                .map(|entry| entry.name)
                .collect();
            let what = format!(
                "no congestion control `{name}`; there are {}",
                known.join(", ")
            );
            io::Error::new(io::ErrorKind::InvalidInput, what)
        })?;
        self.congestion = Arc::new(found);
        Ok(self)
    }

    /// Changes one setting of the profile, by its name.
    ///
    /// # Errors
    /// There is no such setting, or it does not accept that value.
    pub fn with(mut self, setting: &str, value: SettingValue) -> io::Result<Self> {
        self.profile.try_set(setting, value).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{setting}: {error:?}"))
        })?;
        Ok(self)
    }

    /// Configuration for the engine, on a device whose packets have `mtu` octets.
    pub(crate) fn config(&self, ip: IpVersion, mtu: u16) -> TransportConfig {
        let headers = ip.header_len() + 20;
        let mtu = u32::from(mtu);
        TransportConfig {
            profile: self.profile,
            mtu: self
                .mss
                .map_or(mtu, |mss| mtu.min(u32::from(mss) + headers)),
            congestion: self.congestion.clone(),
            initial_ssthresh: self.initial_ssthresh,
            slow_start: self.slow_start,
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            events: EventMask::NONE,
        }
    }
}
