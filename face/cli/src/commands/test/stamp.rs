//! One-way delays against a reflector of STAMP, as text and JSON (`--mode stamp`).

use std::fmt::Write;
use std::io::ErrorKind;
use std::time::Duration;

use gigatcp_meter::tester::stamp::{self, StampOutcome};
use gigatcp_meter::tester::{MAX_STAMP_RATE, OneWayDelay, Request, Role, TestError};
use gigatcp_report::number;
use gigatcp_report::why::answer::labeled;
use serde_json::{Value, json};

use super::settings::Settings;
use super::{Arguments, Format, failed, native, request, sums};
use crate::commands::Outcome;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;

/// Schema of the JSON.
const SCHEMA: &str = "gigatcp-stamp/1";

/// Runs the test.
pub(super) fn run(
    arguments: &Arguments,
    settings: &Settings,
    request: &Request,
) -> Result<Outcome, Failure> {
    let length = arguments.length.map_or(0, gigatcp_units::Bytes::as_u64);
    if length > 9000 {
        return Err(Failure::not_measured(
            "a packet of STAMP has at most 9000 bytes (-l)",
        ));
    }
    let interval = Duration::from(settings.stamp_interval);
    let interrupt = Interrupt::listen()?;
    let stops = || interrupt.signal().is_some();
    let measured = match stamp::run(request, interval, length as usize, &stops) {
        Ok(measured) => measured,
        Err(error) => {
            let failure = failure(request, &error);
            return failed(arguments, request, &error, failure, &interrupt);
        }
    };
    match arguments.format() {
        Format::Json => output::print_json(&value(&measured))?,
        _ => output::print(&text(&measured, interval))?,
    }
    Ok(Outcome::of(&interrupt, false))
}

fn failure(request: &Request, error: &TestError) -> Failure {
    match error {
        TestError::NoAnswer { to, .. } => {
            no_reflector(request, format!("{to} reflected no packet"))
        }
        TestError::Connect { to, cause } if cause.kind() == ErrorKind::ConnectionRefused => {
            no_reflector(request, format!("the UDP port of {to} is closed"))
        }
        _ => request::failure(request, error),
    }
}

fn no_reflector(request: &Request, text: String) -> Failure {
    let host = &request.host;
    Failure::not_measured(text).hint(format!(
        "`gigatcp server --stamp` on {host} reflects; or name another reflector's port with --port"
    ))
}

/// Answer.
fn text(measured: &StampOutcome, interval: Duration) -> String {
    let lost = measured.sent - measured.received;
    let mut text = format!(
        "STAMP to {}:{}, {} of {} bytes: {:.1} % lost, RTT {}\n",
        measured.host,
        measured.port,
        number::counted(measured.sent, "packet"),
        measured.length,
        sums::percent(lost.cast_signed(), measured.sent),
        rtt_text(measured),
    );
    for (role, delay) in [
        (Role::Sender, &measured.there),
        (Role::Receiver, &measured.back),
    ] {
        if let Some(delay) = delay {
            text.push_str(&labeled("Delay", &native::delay_facts(role, delay)));
        }
    }
    text.push_str(&labeled("Packets", &packets_text(measured, interval)));
    text.push_str(&labeled("Clocks", &clocks_text(measured)));
    text
}

/// `p50 20.10, p99 20.40, max 25.00 ms`.
fn rtt_text(measured: &StampOutcome) -> String {
    let ms = |share| {
        measured
            .rtts
            .quantile(share)
            .map_or(0.0, |time| time.as_nanos() as f64 / 1e6)
    };
    let max = measured.rtts.max().as_nanos() as f64 / 1e6;
    format!("p50 {:.3}, p99 {:.3}, max {max:.3} ms", ms(0.5), ms(0.99))
}

fn packets_text(measured: &StampOutcome, interval: Duration) -> String {
    let is_lossy = measured.received < measured.sent;
    let mut text = format!("{} lost", measured.sent - measured.received);
    match measured.lost_there_and_back {
        Some([there, back]) => {
            let _ = write!(text, " ({there} towards the reflector, {back} from it)");
        }
        None if is_lossy => {
            text.push_str(" (the reflector is stateless, so the direction is unknown)");
        }
        None => {}
    }
    let _ = write!(
        text,
        ", {} reordered, {} duplicated",
        measured.reordered, measured.duplicates
    );
    if let Some(ttl) = measured.ttl {
        let _ = write!(text, "; TTL {ttl} at the reflector");
    }
    if is_lossy && interval < Duration::from_secs(1) / MAX_STAMP_RATE {
        let _ = write!(
            text,
            "; these were more than the {MAX_STAMP_RATE} a second that `gigatcp server` reflects"
        );
    }
    text
}

fn clocks_text(measured: &StampOutcome) -> String {
    let claim = match measured.is_synchronized {
        true => "the reflector says that its clock is synchronized",
        false => "the reflector does not say that its clock is synchronized",
    };
    let Some(delay) = &measured.there else {
        return claim.to_owned();
    };
    format!(
        "offset {:+.3} ms, estimated for equal minimum delays of both directions; {claim}",
        delay.offset * 1000.0
    )
}

fn value(measured: &StampOutcome) -> Value {
    let micros = |time: gigatcp_units::Duration| time.as_nanos() as f64 / 1e3;
    let quantile = |share| measured.rtts.quantile(share).map(micros);
    let delay = |delay: &Option<OneWayDelay>| delay.as_ref().map(native::delay_value);
    json!({
        "schema": SCHEMA,
        "host": measured.host,
        "port": measured.port,
        "packet_bytes": measured.length,
        "sent": measured.sent,
        "received": measured.received,
        "lost_there": measured.lost_there_and_back.map(|lost| lost[0]),
        "lost_back": measured.lost_there_and_back.map(|lost| lost[1]),
        "reordered": measured.reordered,
        "duplicates": measured.duplicates,
        "rtt_us": {
            "p50": quantile(0.5),
            "p90": quantile(0.9),
            "p99": quantile(0.99),
            "max": micros(measured.rtts.max()),
        },
        "delay_there": delay(&measured.there),
        "delay_back": delay(&measured.back),
        "reflector_is_synchronized": measured.is_synchronized,
        "ttl": measured.ttl,
    })
}
