//! Exceptions: value, cause, effect and hint, as on the command line.

use gigatcp_plan::Diagnostics;
use gigatcp_report::diagnostics::{self, Finding};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    gigatcp,
    Error,
    PyValueError,
    "What cannot be done, why, and what to do instead."
);
create_exception!(
    gigatcp,
    PlanError,
    Error,
    "A plan that cannot run: `diagnostics` lists what is wrong with it."
);

/// An error or warning about a plan.
#[pyclass(frozen, get_all, module = "gigatcp")]
pub struct Diagnostic {
    severity: String,
    message: String,
    source: String,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    label: String,
    effect: Option<String>,
    nearest: Option<String>,
    hint: Option<String>,
}

#[pymethods]
impl Diagnostic {
    fn __repr__(&self) -> String {
        let Self {
            source,
            line,
            column,
            severity,
            message,
            ..
        } = self;
        format!("<{source}:{line}:{column}: {severity}: {message}>")
    }
}

impl From<Finding> for Diagnostic {
    fn from(finding: Finding) -> Self {
        Self {
            severity: finding.severity,
            message: finding.message,
            source: finding.source,
            line: finding.line,
            column: finding.column,
            end_line: finding.end_line,
            end_column: finding.end_column,
            label: finding.label,
            effect: finding.effect,
            nearest: finding.nearest,
            hint: finding.hint,
        }
    }
}

/// Findings as objects.
pub(crate) fn listed(findings: &Diagnostics) -> Vec<Diagnostic> {
    let all = diagnostics::list(findings).into_iter();
    all.map(Diagnostic::from).collect()
}

/// Exception for a plan that cannot run.
pub(crate) fn plan_error(py: Python<'_>, findings: &Diagnostics) -> PyErr {
    let error = PlanError::new_err(diagnostics::plain_text(findings));
    let set = error.value(py).setattr("diagnostics", listed(findings));
    set.err().unwrap_or(error)
}

/// Exception for other errors: the message, its effect, and a hint.
pub(crate) fn failed(what: impl std::fmt::Display, effect: &str, hint: &str) -> PyErr {
    let mut text = what.to_string();
    for (name, said) in [("effect", effect), ("hint", hint)] {
        if !said.is_empty() {
            text.push_str(&format!("\n  {name}: {said}"));
        }
    }
    Error::new_err(text)
}
