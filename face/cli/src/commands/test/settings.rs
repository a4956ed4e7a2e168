//! Rare settings of a test, as `KEY=VALUE`.

use std::error::Error;
use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use gigatcp_meter::tester::Offload;
use gigatcp_meter::tester::auth::Padding;
use gigatcp_units::{Bytes, Duration, Rate};

use super::request;
use crate::failure::Failure;
use crate::{nearest, values};

/// Values of the rare settings. Their documentation is the help.
#[derive(Args, Debug)]
#[command(rename_all = "snake_case")]
pub(super) struct Settings {
    /// Time between two packets of --mode stamp [default: 20 ms]
    #[arg(long, value_name = "TIME", default_value = "20 ms", value_parser = stamp_interval)]
    pub stamp_interval: Duration,
    /// Bytes of a response of --mode tcp_rr, tcp_crr or udp_rr [default: 1; udp_rr: 16]
    #[arg(long, value_name = "SIZE", value_parser = request::amount)]
    pub response_size: Option<Bytes>,
    /// Pacing rate of each stream, kept by the kernel
    #[arg(long, value_name = "RATE", value_parser = request::rate)]
    pub fq_rate: Option<Rate>,
    /// Interface to send through
    #[arg(long, value_name = "NAME")]
    pub bind_dev: Option<String>,
    /// First local port of the streams
    #[arg(long = "cport", value_name = "PORT", value_parser = values::port)]
    pub client_port: Option<u16>,
    /// Connection timeout [default: 30 s]
    #[arg(long, value_name = "TIME", default_value = "30 s", value_parser = request::timeout)]
    pub connect_timeout: Duration,
    /// Timeout without data [default: 120 s]
    #[arg(long = "rcv_timeout", value_name = "TIME", default_value = "120 s", value_parser = request::timeout)]
    pub receive_timeout: Duration,
    /// Discard received data in the kernel (MSG_TRUNC) instead of copying it
    #[arg(long = "skip_rx_copy", value_name = "BOOL", default_value = "false", value_parser = flag)]
    pub skips_rx_copy: Flag,
    /// GSO and GRO of UDP: auto, on (report a refusal) or off [default: auto]
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = offload)]
    pub gsro: Offload,
    /// User for a server that requires one; the password is in $IPERF3_PASSWORD
    #[arg(long, value_name = "NAME")]
    pub username: Option<String>,
    /// The server's RSA public key, which encrypts name and password
    #[arg(long, value_name = "FILE")]
    pub rsa_public_key: Option<PathBuf>,
    /// Encrypt for an iperf3 before 3.17
    #[arg(long = "pkcs1_padding", value_name = "BOOL", default_value = "false", value_parser = padding)]
    pub padding: Padding,
    /// Title stored with the result
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Also show the server's output
    #[arg(long = "server_output", value_name = "BOOL", default_value = "false", value_parser = flag)]
    pub gets_server_output: Flag,
    /// Store the readings of both ends' counters, from which the diagnosis is made
    #[arg(long, value_name = "FILE")]
    pub readings: Option<PathBuf>,
    /// Port of the first data stream with --protocol nuttcp [default: 5101]
    #[arg(long, value_name = "PORT", default_value = "5101", value_parser = clap::value_parser!(u16).range(1024..))]
    pub data_port: u16,
    /// Never exceed the rate -b: do not catch up after a delay (nuttcp's -Ri)
    #[arg(long = "instantaneous", value_name = "BOOL", default_value = "false", value_parser = flag)]
    pub is_instantaneous: Flag,
}

/// A switch with a value, which the derivation would read as one without.
type Flag = bool;

fn flag(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "true or false".to_owned())
}

fn padding(text: &str) -> Result<Padding, String> {
    flag(text).map(|is_old| {
        if is_old {
            Padding::Pkcs1
        } else {
            Padding::Oaep
        }
    })
}

fn offload(text: &str) -> Result<Offload, String> {
    match text {
        "auto" => Ok(Offload::Automatic),
        "on" => Ok(Offload::Requested),
        "off" => Ok(Offload::Off),
        _ => Err("auto, on or off".to_owned()),
    }
}

fn stamp_interval(text: &str) -> Result<Duration, String> {
    let interval = request::interval(text)?;
    if interval.is_zero() {
        Err("at least 1 ms".to_owned())
    } else {
        Ok(interval)
    }
}

/// Reads settings as if they were options.
fn command() -> clap::Command {
    let command = clap::Command::new("settings").no_binary_name(true);
    Settings::augment_args(command.disable_help_flag(true).args_override_self(true))
}

/// How a setting is written.
fn form(setting: &clap::Arg) -> Option<String> {
    let [value] = setting.get_value_names()? else {
        return None;
    };
    Some(format!("{}={value}", setting.get_long()?))
}

impl Settings {
    /// Reads `KEY=VALUE` words.
    pub(super) fn read(words: &[String]) -> Result<Self, Failure> {
        for word in words {
            check(word).map_err(|failure| failure.effect("nothing was measured"))?;
        }
        let options = words.iter().map(|word| format!("--{word}"));
        command()
            .try_get_matches_from(options)
            .and_then(|matches| Self::from_arg_matches(&matches))
            .map_err(|error| Failure::fault(error.to_string()))
    }
}

fn check(word: &str) -> Result<(), Failure> {
    let Some((name, _)) = word.split_once('=') else {
        return Err(Failure::new(format!("`{word}` is not KEY=VALUE"))
            .hint("one HOST is tested; settings are written as in cport=5300"));
    };
    let command = command();
    let names: Vec<&str> = command
        .get_arguments()
        .filter_map(clap::Arg::get_long)
        .collect();
    if !names.contains(&name) {
        return Err(Failure::new(format!("a test has no setting `{name}`"))
            .hint(nearest::hint(name, "settings", &names)));
    }
    let read = command.clone().try_get_matches_from([format!("--{word}")]);
    read.map(|_| ()).map_err(|error| {
        let cause = error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string);
        Failure::new(format!("{word}: {cause}"))
    })
}

/// How the setting of this name is written.
pub(crate) fn setting(name: &str) -> Option<String> {
    let command = command();
    let found = command
        .get_arguments()
        .find(|setting| setting.get_long() == Some(name));
    found.and_then(form)
}

/// The settings as lines of the help.
pub(super) fn help() -> String {
    let line = |setting: &clap::Arg| {
        let about = setting.get_help().map(ToString::to_string);
        Some(format!(
            "  {:22} {}\n",
            form(setting)?,
            about.unwrap_or_default()
        ))
    };
    let lines: String = command().get_arguments().filter_map(line).collect();
    format!("Settings, as KEY=VALUE:\n{lines}")
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
