//! `theory`: figures of a path by published equations.

use gigatcp_report::theory::{Expected, Questions};
use gigatcp_theory::{Growth, MathisConstant, Path};
use gigatcp_units::grammar::{
    ParseError, parse_bytes, parse_duration, parse_octets, parse_probability, parse_rate,
};
use pyo3::prelude::*;

use crate::error::failed;

/// Figures of a path, with units in their names. They are those of `gigatcp theory
/// --json`: the required window, the time until it is open, the loss it tolerates, and results for
/// the given losses, windows and transfers.
#[pyfunction]
#[pyo3(signature = (rate, rtt, mss, *, iw=10, delayed_ack=false, constant=0.7, loss=vec![], window=vec![], data=vec![]))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn theory<'py>(
    py: Python<'py>,
    rate: &str,
    rtt: &str,
    mss: &Bound<'_, PyAny>,
    iw: u32,
    delayed_ack: bool,
    constant: f64,
    loss: Vec<String>,
    window: Vec<String>,
    data: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    if !(constant > 0.0 && constant < 1e6) {
        let what = format!("`constant` is {constant}, and a constant is above 0");
        return Err(failed(what, "nothing was worked out", "as in constant=0.7"));
    }
    let known = MathisConstant::PUBLISHED
        .into_iter()
        .find(|known| known.value() == constant);
    let path = Path {
        iw,
        growth: match delayed_ack {
            true => Growth::DELAYED_ACK,
            false => Growth::EVERY_SEGMENT,
        },
        c: known.unwrap_or(MathisConstant::Other(constant)),
        ..Path::new(
            one("rate", rate, parse_rate)?,
            one("rtt", rtt, parse_duration)?,
            one("mss", &mss.str()?.to_string(), parse_octets)?,
        )
    };
    let questions = Questions {
        losses: &all("loss", &loss, parse_probability)?,
        windows: &all("window", &window, parse_bytes)?,
        transfers: &all("data", &data, parse_bytes)?,
    };
    let expected = Expected::of(&path, &questions)
        .map_err(|error| failed(error, "nothing was worked out", ""))?;
    let text = serde_json::Value::Object(expected.json()).to_string();
    py.import("json")?.call_method1("loads", (text,))
}

type Parse<T> = fn(&str) -> Result<T, ParseError>;

/// A quantity in the grammar of plans.
fn one<T>(name: &str, text: &str, parse: Parse<T>) -> PyResult<T> {
    parse(text).map_err(|error| {
        let what = format!("{name}={text:?}: {error}");
        failed(what, "nothing was worked out", &error.hint().to_string())
    })
}

fn all<T>(name: &str, texts: &[String], parse: Parse<T>) -> PyResult<Vec<T>> {
    texts.iter().map(|text| one(name, text, parse)).collect()
}
