//! Rare settings of a test, as `KEY=VALUE`: one table, from which they are read and listed.

use std::path::PathBuf;

use gigatcp_meter::tester::Offload;
use gigatcp_meter::tester::auth::Padding;
use gigatcp_units::{Bytes, Duration, Rate};

use super::request;
use crate::failure::Failure;
use crate::{nearest, values};

/// Values of the rare settings.
#[derive(Debug)]
pub(super) struct Settings {
    pub data_port: u16,
    pub is_instantaneous: bool,
    pub fq_rate: Option<Rate>,
    pub skips_rx_copy: bool,
    pub gsro: Offload,
    pub bind_dev: Option<String>,
    pub client_port: Option<u16>,
    pub connect_timeout: Duration,
    pub receive_timeout: Duration,
    pub username: Option<String>,
    pub rsa_public_key: Option<PathBuf>,
    pub padding: Padding,
    pub title: Option<String>,
    pub gets_server_output: bool,
    pub readings: Option<PathBuf>,
    pub response_size: Option<Bytes>,
    pub stamp_interval: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            data_port: 5101,
            is_instantaneous: false,
            fq_rate: None,
            skips_rx_copy: false,
            gsro: Offload::Automatic,
            bind_dev: None,
            client_port: None,
            connect_timeout: Duration::from_secs(30),
            receive_timeout: Duration::from_secs(120),
            username: None,
            rsa_public_key: None,
            padding: Padding::Oaep,
            title: None,
            gets_server_output: false,
            readings: None,
            response_size: None,
            stamp_interval: Duration::from_millis(20),
        }
    }
}

/// A setting.
struct Key {
    name: &'static str,
    value: &'static str,
    about: &'static str,
    set: fn(&mut Settings, &str) -> Result<(), String>,
}

/// All of them, in the order of the help.
const KEYS: [Key; 17] = [
    Key {
        name: "stamp_interval",
        value: "TIME",
        about: "time between two packets of --mode stamp [default: 20 ms]",
        set: |settings, text| {
            settings.stamp_interval = match request::interval(text)? {
                interval if interval.is_zero() => return Err("at least 1 ms".to_owned()),
                interval => interval,
            };
            Ok(())
        },
    },
    Key {
        name: "response_size",
        value: "SIZE",
        about: "bytes of a response of --mode tcp_rr, tcp_crr or udp_rr [default: 1; udp_rr: 16]",
        set: |settings, text| put(&mut settings.response_size, request::amount(text).map(Some)),
    },
    Key {
        name: "fq_rate",
        value: "RATE",
        about: "pacing rate of each stream, kept by the kernel",
        set: |settings, text| put(&mut settings.fq_rate, request::rate(text).map(Some)),
    },
    Key {
        name: "bind_dev",
        value: "NAME",
        about: "interface to send through",
        set: |settings, text| put(&mut settings.bind_dev, Ok(Some(text.to_owned()))),
    },
    Key {
        name: "cport",
        value: "PORT",
        about: "first local port of the streams",
        set: |settings, text| put(&mut settings.client_port, values::port(text).map(Some)),
    },
    Key {
        name: "connect_timeout",
        value: "TIME",
        about: "connection timeout [default: 30 s]",
        set: |settings, text| put(&mut settings.connect_timeout, request::timeout(text)),
    },
    Key {
        name: "rcv_timeout",
        value: "TIME",
        about: "timeout without data [default: 120 s]",
        set: |settings, text| put(&mut settings.receive_timeout, request::timeout(text)),
    },
    Key {
        name: "skip_rx_copy",
        value: "BOOL",
        about: "discard received data in the kernel (MSG_TRUNC) instead of copying it",
        set: |settings, text| put(&mut settings.skips_rx_copy, flag(text)),
    },
    Key {
        name: "gsro",
        value: "WHEN",
        about: "GSO and GRO of UDP: auto, on (report a refusal) or off [default: auto]",
        set: |settings, text| {
            settings.gsro = match text {
                "auto" => Offload::Automatic,
                "on" => Offload::Requested,
                "off" => Offload::Off,
                _ => return Err("auto, on or off".to_owned()),
            };
            Ok(())
        },
    },
    Key {
        name: "username",
        value: "NAME",
        about: "user for a server that requires one; the password is in $IPERF3_PASSWORD",
        set: |settings, text| put(&mut settings.username, Ok(Some(text.to_owned()))),
    },
    Key {
        name: "rsa_public_key",
        value: "FILE",
        about: "the server's RSA public key, which encrypts name and password",
        set: |settings, text| put(&mut settings.rsa_public_key, Ok(Some(text.into()))),
    },
    Key {
        name: "pkcs1_padding",
        value: "BOOL",
        about: "encrypt for an iperf3 before 3.17",
        set: |settings, text| {
            settings.padding = if flag(text)? {
                Padding::Pkcs1
            } else {
                Padding::Oaep
            };
            Ok(())
        },
    },
    Key {
        name: "title",
        value: "TEXT",
        about: "title stored with the result",
        set: |settings, text| put(&mut settings.title, Ok(Some(text.to_owned()))),
    },
    Key {
        name: "server_output",
        value: "BOOL",
        about: "also show the server's output",
        set: |settings, text| put(&mut settings.gets_server_output, flag(text)),
    },
    Key {
        name: "readings",
        value: "FILE",
        about: "store the readings of both ends' counters, from which the diagnosis is made",
        set: |settings, text| put(&mut settings.readings, Ok(Some(text.into()))),
    },
    Key {
        name: "data_port",
        value: "PORT",
        about: "port of the first data stream with --protocol nuttcp [default: 5101]",
        set: |settings, text| {
            settings.data_port = match values::port(text)? {
                port @ 1024.. => port,
                _ => return Err("a port from 1024".to_owned()),
            };
            Ok(())
        },
    },
    Key {
        name: "instantaneous",
        value: "BOOL",
        about: "never exceed the rate -b: do not catch up after a delay (nuttcp's -Ri)",
        set: |settings, text| put(&mut settings.is_instantaneous, flag(text)),
    },
];

impl Key {
    fn form(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

fn put<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

fn flag(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "true or false".to_owned())
}

impl Settings {
    /// Reads `KEY=VALUE` words.
    pub(super) fn read(words: &[String]) -> Result<Self, Failure> {
        let mut settings = Self::default();
        for word in words {
            settings
                .set(word)
                .map_err(|failure| failure.effect("nothing was measured"))?;
        }
        Ok(settings)
    }

    fn set(&mut self, word: &str) -> Result<(), Failure> {
        let Some((name, value)) = word.split_once('=') else {
            return Err(Failure::new(format!("`{word}` is not KEY=VALUE"))
                .hint("one HOST is tested; settings are written as in cport=5300"));
        };
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let names = KEYS.map(|key| key.name);
            return Err(Failure::new(format!("a test has no setting `{name}`"))
                .hint(nearest::hint(name, "settings", &names)));
        };
        (key.set)(self, value).map_err(|error| Failure::new(format!("{word}: {error}")))
    }
}

/// How the setting of this name is written.
pub(crate) fn setting(name: &str) -> Option<String> {
    KEYS.iter().find(|key| key.name == name).map(Key::form)
}

/// The settings as lines of the help.
pub(super) fn help() -> String {
    let lines = KEYS.map(|key| format!("  {:22} {}\n", key.form(), key.about));
    format!("Settings, as KEY=VALUE:\n{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_set_their_value_and_leave_the_defaults() {
        let words = ["cport=5300", "gsro=off", "fq_rate=1G"].map(str::to_owned);
        let settings = Settings::read(&words).unwrap();
        assert_eq!(settings.client_port, Some(5300));
        assert_eq!(settings.gsro, Offload::Off);
        assert_eq!(settings.fq_rate, Some(Rate::from_bps(1_000_000_000)));
        assert_eq!(settings.data_port, 5101);
    }

    #[test]
    fn unknown_setting_names_the_nearest_one() {
        let failure = Settings::read(&["cprot=1".to_owned()]).unwrap_err();
        assert!(failure.text().contains("`cport`"), "{}", failure.text());
        assert!(Settings::read(&["other.example".to_owned()]).is_err());
    }
}
