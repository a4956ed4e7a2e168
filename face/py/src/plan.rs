//! `Plan`: TOML, a dictionary or keywords to a checked plan.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gigatcp_plan::{Control, Diagnostics, Files, Series};
use gigatcp_run::files::PlanDirectory;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::control::Controls;
use crate::error::{Diagnostic, failed, listed, plan_error};

/// A checked plan. It is immutable; `set` returns another one.
#[pyclass(frozen, module = "gigatcp")]
pub struct Plan {
    /// Name in diagnostics.
    source: String,
    text: String,
    overrides: Vec<String>,
    directory: PathBuf,
    /// Files that the plan refers to, with their texts.
    named: BTreeMap<String, String>,
    plan: gigatcp_plan::Plan,
}

/// Files next to a plan, and which of them were read.
struct Recorded<'a> {
    files: PlanDirectory<'a>,
    named: RefCell<BTreeMap<String, String>>,
}

impl Files for Recorded<'_> {
    fn read(&self, name: &str) -> Result<String, String> {
        let text = self.files.read(name)?;
        let mut named = self.named.borrow_mut();
        named.insert(name.to_owned(), text.clone());
        Ok(text)
    }

    fn locate(&self, name: &str) -> Result<String, String> {
        self.files.locate(name)
    }
}

impl Plan {
    fn read(
        source: &str,
        text: String,
        overrides: Vec<String>,
        directory: &Path,
    ) -> Result<Self, Box<Diagnostics>> {
        let files = Recorded {
            files: PlanDirectory(directory),
            named: RefCell::default(),
        };
        let plan = gigatcp_plan::parse_with(source, text.as_bytes(), &overrides, &files)?;
        Ok(Self {
            source: source.to_owned(),
            text,
            overrides,
            directory: directory.to_owned(),
            named: files.named.into_inner(),
            plan,
        })
    }

    /// Returns a plan, or makes one from text, a path or a dictionary.
    pub(crate) fn of<'py>(from: &Bound<'py, PyAny>) -> PyResult<PyRef<'py, Self>> {
        if let Ok(plan) = from.extract::<PyRef<'py, Self>>() {
            return Ok(plan);
        }
        let plan = Self::new(from.py(), Some(from), None, None)?;
        Ok(Bound::new(from.py(), plan)?.borrow())
    }

    pub(crate) const fn checked(&self) -> &gigatcp_plan::Plan {
        &self.plan
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn overrides(&self) -> &[String] {
        &self.overrides
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) const fn named(&self) -> &BTreeMap<String, String> {
        &self.named
    }

    /// Series of that name; without a name, the first one.
    pub(crate) fn one_series(&self, name: Option<&str>) -> PyResult<&Series> {
        let all = &self.plan.series;
        match name {
            None => Ok(&all[0]),
            Some(name) => {
                self.chosen(Some(vec![name.to_owned()]))?;
                let found = all.iter().find(|series| series.name == name);
                Ok(found.unwrap_or(&all[0]))
            }
        }
    }

    /// Names of the requested series, in the plan's order.
    pub(crate) fn chosen(&self, named: Option<Vec<String>>) -> PyResult<Vec<String>> {
        let known = self.series();
        let wanted = named.unwrap_or_default();
        if let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) {
            return Err(failed(
                format!("the plan {} has no series `{unknown}`", self.plan.name),
                "nothing was run",
                &format!("one of {}", known.join(", ")),
            ));
        }
        let is_wanted = |name: &String| wanted.contains(name);
        Ok(known.into_iter().filter(is_wanted).collect())
    }

    /// Changes as text: `KEY=VALUE`s, or a dictionary of them.
    fn changes(changes: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        if let Ok(one) = changes.extract::<String>() {
            return Ok(vec![one]);
        }
        let Ok(keys) = changes.cast::<PyDict>() else {
            return changes.extract();
        };
        let pairs = keys.iter().map(|(key, value)| {
            let value = match value.cast::<PyString>() {
                Ok(text) => text.to_string(),
                Err(_) => toml(&value)?,
            };
            Ok(format!("{}={value}", key.extract::<String>()?))
        });
        pairs.collect()
    }
}

#[pymethods]
impl Plan {
    /// Reads a plan: TOML as text, the path of a file, a dictionary, or keywords. Changes are
    /// `KEY=VALUE`.
    #[new]
    #[pyo3(signature = (source=None, *, set=None, **keys))]
    fn new(
        py: Python<'_>,
        source: Option<&Bound<'_, PyAny>>,
        set: Option<&Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let overrides = set.map_or(Ok(Vec::new()), Self::changes)?;
        let here = Path::new(".");
        let read = match (source, keys) {
            (None, Some(keys)) => Self::read("keywords", document(keys)?, overrides, here),
            (Some(source), None) => match source.cast::<PyDict>() {
                Ok(keys) => Self::read("dict", document(keys)?, overrides, here),
                Err(_) => match text_or_path(source)? {
                    Source::Text(text) => Self::read("text", text, overrides, here),
                    Source::File(path) => {
                        let text = file(&path)?;
                        let directory = path.parent().unwrap_or(here);
                        let name = path.display().to_string();
                        Self::read(&name, text, overrides, directory)
                    }
                },
            },
            _ => {
                return Err(PyTypeError::new_err(
                    "a plan is made of one source (text, path or dict) or of keywords",
                ));
            }
        };
        read.map_err(|findings| plan_error(py, &findings))
    }

    /// Plan with further changes: `KEY=VALUE`, a list of such, or a dictionary.
    fn set(&self, py: Python<'_>, changes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut overrides = self.overrides.clone();
        overrides.extend(Self::changes(changes)?);
        let read = Self::read(&self.source, self.text.clone(), overrides, &self.directory);
        read.map_err(|findings| plan_error(py, &findings))
    }

    /// Name under which results are stored.
    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    /// Title in one line.
    #[getter]
    fn title(&self) -> &str {
        &self.plan.title
    }

    /// Root of every random stream.
    #[getter]
    const fn seed(&self) -> u64 {
        self.plan.seed
    }

    /// Names of the series.
    #[getter]
    fn series(&self) -> Vec<String> {
        let all = self.plan.series.iter();
        all.map(|series| series.name.clone()).collect()
    }

    /// Names of the flows of the first series.
    #[getter]
    fn flows(&self) -> Vec<String> {
        let flows = self.plan.series[0].scenario.flows.iter();
        flows.map(|flow| flow.name.clone()).collect()
    }

    /// The plan as TOML, without the changes.
    #[getter]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn changes_made(&self) -> Vec<String> {
        self.overrides.clone()
    }

    /// Warnings: settings that are valid but probably not intended.
    #[getter]
    fn warnings(&self) -> Vec<Diagnostic> {
        listed(&self.plan.warnings)
    }

    fn __repr__(&self) -> String {
        let series = self.plan.series.len();
        format!("<gigatcp.Plan {}: {series} series>", self.plan.name)
    }
}

/// Makes flows of a series use controls written in Python.
pub(crate) fn use_controls(series: &mut [Series], controls: &Controls) -> PyResult<()> {
    for (name, control) in controls {
        let mut found = false;
        for flow in series
            .iter_mut()
            .flat_map(|series| &mut series.scenario.flows)
        {
            if name.as_ref().is_none_or(|name| *name == flow.name) {
                flow.congestion = Control::Engine(control.entry());
                found = true;
            }
        }
        if !found {
            let what = format!(
                "no flow is called `{}`",
                name.as_deref().unwrap_or_default()
            );
            return Err(failed(
                what,
                "nothing was run",
                "`plan.flows` lists their names",
            ));
        }
    }
    Ok(())
}

enum Source {
    Text(String),
    File(PathBuf),
}

/// Text has an equals sign or a line break; anything else is a path.
fn text_or_path(source: &Bound<'_, PyAny>) -> PyResult<Source> {
    match source.extract::<String>() {
        Ok(text) if text.contains(['\n', '=']) => Ok(Source::Text(text)),
        _ => Ok(Source::File(source.extract()?)),
    }
}

/// Text of a plan. For the directory of an experiment that of its `plan.toml`.
fn file(path: &Path) -> PyResult<String> {
    fs::read_to_string(path).map_err(|error| {
        failed(
            format!("cannot read the plan {}: {error}", path.display()),
            "there is no plan",
            "the path of a TOML file, or TOML as text",
        )
    })
}

/// Converts a dictionary to TOML: a line per key. A plan without a name is called `plan`.
fn document(keys: &Bound<'_, PyDict>) -> PyResult<String> {
    let mut text = String::new();
    if !keys.contains("name")? {
        text.push_str("name = \"plan\"\n");
    }
    for (key, value) in keys {
        text.push_str(&format!("{} = {}\n", name(&key)?, toml(&value)?));
    }
    Ok(text)
}

/// A key; one with dots is a path, as in TOML.
fn name(key: &Bound<'_, PyAny>) -> PyResult<String> {
    let key: String = key.extract()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    Ok(match key.chars().all(is_plain) {
        true => key,
        false => quoted(&key),
    })
}

fn quoted(text: &str) -> String {
    // Escapes of JSON are escapes of TOML.
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

/// Converts a value to TOML.
fn toml(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(quoted(&text.to_string()));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        return Ok(value.repr()?.to_string());
    }
    if let Ok(keys) = value.cast::<PyDict>() {
        let pairs = keys
            .iter()
            .map(|(key, value)| Ok(format!("{} = {}", name(&key)?, toml(&value)?)))
            .collect::<PyResult<Vec<_>>>()?;
        return Ok(format!("{{ {} }}", pairs.join(", ")));
    }
    let elements = value
        .try_iter()
        .map_err(|_| PyTypeError::new_err(format!("a plan has no place for {value:?}")))?;
    let elements = elements
        .map(|element| toml(&element?))
        .collect::<PyResult<Vec<_>>>()?;
    Ok(format!("[{}]", elements.join(", ")))
}
