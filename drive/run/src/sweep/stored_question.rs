//! A question and its plan as they are stored, complete for finding its rows again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gigatcp_plan::design::address::{Addresses, digest};
use gigatcp_plan::design::{Question, QuestionError, Space};
use gigatcp_plan::{Diagnostics, Files, Template};
use serde::{Deserialize, Serialize};

use crate::sweep::rows::Detail;
use crate::sweep::store::{StoreError, io_error};

/// A question about a plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoredQuestion {
    /// `gigatcp.question/1`.
    pub schema: String,
    /// Name of the plan.
    pub name: String,
    /// Title of the plan.
    pub title: String,
    /// Version of the program that ran it, part of the address of each cell.
    pub version: String,
    /// Text of the plan.
    pub plan: String,
    /// Contents of files that the plan names, by name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Overrides `KEY=VALUE`.
    pub overrides: Vec<String>,
    /// Series that take part. Empty: all.
    pub series: Vec<String>,
    /// The question itself.
    #[serde(flatten)]
    pub question: Question,
    /// Whether intervals are kept.
    pub intervals: bool,
    /// Whether samples are kept.
    pub samples: bool,
}

/// Schema that this version writes.
const SCHEMA: &str = "gigatcp.question/1";

/// Name of the file in the directory of a question.
pub const FILE: &str = "sweep.json";

/// Name of its plan there.
pub const PLAN: &str = "plan.toml";

/// Why a stored question cannot be used again.
#[derive(Debug, thiserror::Error)]
pub enum StoredQuestionError {
    /// It cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is not a question.
    #[error("{0}")]
    Strange(String),
    /// Its plan is rejected by this version.
    #[error("{0}")]
    Plan(Box<Diagnostics>),
    /// Its axes are rejected by this version.
    #[error("{0}")]
    QuestionError(#[from] QuestionError),
}

impl Files for StoredQuestion {
    fn read(&self, name: &str) -> Result<String, String> {
        let text = self.files.get(name).cloned();
        text.ok_or_else(|| format!("{name} was not stored with the sweep"))
    }

    fn locate(&self, _name: &str) -> Result<String, String> {
        Err("a sweep keeps no objects; run the plan for each with `run --on live`".into())
    }
}

impl StoredQuestion {
    /// Question about a plan whose text is `plan`.
    pub fn new(template: &Template, plan: &str, question: &Question, version: &str) -> Self {
        let checked = template.plan();
        Self {
            schema: SCHEMA.to_owned(),
            name: checked.name.clone(),
            title: checked.title.clone(),
            version: version.to_owned(),
            plan: plan.to_owned(),
            files: BTreeMap::new(),
            overrides: checked.warnings.overrides.clone(),
            series: vec![],
            question: question.clone(),
            intervals: false,
            samples: false,
        }
    }

    /// Details kept of each flow beyond its sums.
    pub const fn detail(&self) -> Detail {
        Detail {
            intervals: self.intervals,
            samples: self.samples,
        }
    }

    /// Its cells.
    ///
    /// # Errors
    /// If plan or axes are rejected.
    pub fn space(&self) -> Result<Space, StoredQuestionError> {
        let template = Template::read(&self.name, self.plan.as_bytes(), &self.overrides, self)
            .map_err(|wrong| StoredQuestionError::Plan(Box::new(wrong)))?;
        Ok(Space::new(template, &self.question, &self.series)?)
    }

    /// Addresses of its cells.
    pub(crate) fn addresses(&self, space: &Space) -> Addresses {
        let named: Vec<String> = self.files.values().cloned().collect();
        Addresses::new(space, &self.version, &named)
    }

    /// A fingerprint: 16 hex digits.
    pub fn hash(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("{:016x}", digest(text.as_bytes(), 0x0061_736b_6564) as u64)
    }

    /// Writes it into a directory atomically, and its plan as a separate file.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), StoreError> {
        fs::create_dir_all(directory).map_err(io_error("create the directory", directory))?;
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        let path = directory.join(FILE);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            // The file's time marks the most recent question.
            let touched = fs::File::options().append(true).open(&path);
            let now = std::time::SystemTime::now();
            return touched
                .and_then(|file| file.set_modified(now))
                .map_err(io_error("write", &path));
        }
        let write = |path: &Path, text: &str| {
            crate::sweep::tables::replace(path, |file| {
                std::io::Write::write_all(file, text.as_bytes())
            })
        };
        for (name, text) in &self.files {
            // A name with directories in it is stored by its last word, as with stored runs.
            let name = Path::new(name).file_name().unwrap_or_default();
            write(&directory.join(name), text)?;
        }
        write(&directory.join(PLAN), &self.plan)?;
        write(&path, &text)
    }

    /// Reads the question in a directory.
    ///
    /// # Errors
    /// If there is none, or one of a newer version.
    pub fn read(directory: &Path) -> Result<Self, StoredQuestionError> {
        let path = directory.join(FILE);
        let text = fs::read_to_string(&path).map_err(io_error("read", &path))?;
        let strange =
            |why: String| StoredQuestionError::Strange(format!("{}: {why}", path.display()));
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| strange(error.to_string()))?;
        let schema = value.get("schema").and_then(|schema| schema.as_str());
        if schema != Some(SCHEMA) {
            let found = schema.unwrap_or("none");
            return Err(strange(format!(
                "it has the schema `{found}`, and this version reads `{SCHEMA}`"
            )));
        }
        serde_json::from_value(value).map_err(|error| strange(error.to_string()))
    }
}
