//! `run`: runs series and repeats of a plan on all cores.

use std::sync::{Arc, Mutex, PoisonError};

use gigatcp_plan::record::{RunRecord, SCHEMA, SeriesRecord};
use gigatcp_report::Report;
use gigatcp_report::escape::html;
use gigatcp_run::run::{Backend, Job, Progress};
use gigatcp_run::store;
use gigatcp_run::sweep::arrow::BatchBuilder;
use gigatcp_run::sweep::rows::{CellRow, Detail, Kind, Value};
use gigatcp_run::sweep::tables::{Field, Table as Kept};
use pyo3::prelude::*;

use crate::control::Registration;
use crate::error::failed;
use crate::plan::{Plan, use_controls};
use crate::table::Table;
use crate::wait::released;

/// Results of a run.
#[pyclass(frozen, module = "gigatcp")]
pub struct Run {
    record: RunRecord,
    /// Rows of its tables, created on first use.
    rows: Mutex<Option<Arc<Vec<CellRow>>>>,
}

/// First columns of every table of a run.
const KEYS: [(&str, &str, Kind); 3] = [
    ("series", "name of the series", Kind::Text),
    ("repeat", "number of the repeat", Kind::Whole),
    ("seed", "its seed", Kind::Whole),
];

impl Run {
    /// Result of a plan's series.
    pub(crate) fn of(
        plan: &Plan,
        series: Vec<SeriesRecord>,
        seed: u64,
        repeat: u32,
        only: &[String],
    ) -> Self {
        let checked = plan.checked();
        let mut text = plan.text().to_owned();
        for (name, content) in plan.named() {
            text.push_str(name);
            text.push_str(content);
        }
        let record = RunRecord {
            schema: SCHEMA.to_owned(),
            name: checked.name.clone(),
            title: checked.title.clone(),
            plan: plan.text().to_owned(),
            overrides: plan.overrides().to_vec(),
            plan_hash: store::plan_hash(&text, plan.overrides(), only, seed, repeat),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed,
            repeat,
            partial: series.iter().any(|series| series.partial),
            series,
        };
        Self {
            record,
            rows: Mutex::new(None),
        }
    }

    fn rows(&self) -> Arc<Vec<CellRow>> {
        let all = Detail {
            intervals: true,
            samples: true,
        };
        let make = || {
            let series = self.record.series.iter();
            Arc::new(series.map(|series| CellRow::of(series, all)).collect())
        };
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(rows.get_or_insert_with(make))
    }

    fn table(&self, table: Kept) -> Table {
        let keys = KEYS.into_iter().map(|(name, meaning, kind)| Field {
            name: name.into(),
            unit: "",
            meaning,
            kind,
        });
        let fields: Vec<Field> = keys.chain(table.columns()).collect();
        let mut batch = BatchBuilder::new(&fields);
        for (series, row) in self.record.series.iter().zip(self.rows().iter()) {
            for own in table.rows(row) {
                let mut values = vec![
                    Value::Text(series.name.clone()),
                    Value::Whole(u64::from(series.repeat)),
                    Value::Whole(series.seed),
                ];
                values.extend(own);
                batch.push(values);
            }
        }
        Table::new(batch.schema(), batch.finish())
    }
}

#[pymethods]
impl Run {
    /// All results, as in `run.json` (docs/run-json.md).
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(&self.record).map_err(|error| failed(error, "", ""))?;
        py.import("json")?.call_method1("loads", (text,))
    }

    /// One row for each series and repeat.
    #[getter]
    fn summary(&self) -> Table {
        self.table(Kept::Cells)
    }

    /// One row for each connection.
    #[getter]
    fn flows(&self) -> Table {
        self.table(Kept::Flows)
    }

    /// One row for each interval of the tester.
    #[getter]
    fn intervals(&self) -> Table {
        self.table(Kept::Intervals)
    }

    /// One row for each path element.
    #[getter]
    fn hops(&self) -> Table {
        self.table(Kept::Hops)
    }

    /// One row for each sample of a sender.
    #[getter]
    fn samples(&self) -> Table {
        self.table(Kept::Samples)
    }

    /// Whether it was cut short.
    #[getter]
    const fn partial(&self) -> bool {
        self.record.partial
    }

    /// Run page: one file that needs no network.
    fn html(&self) -> String {
        Report::new(&self.record, None).html()
    }

    /// The run page in a frame, which isolates its styles and scripts.
    fn _repr_html_(&self) -> String {
        format!(
            "<iframe sandbox=\"allow-scripts\" style=\"width:100%;height:600px;border:0\" \
             srcdoc=\"{}\"></iframe>",
            html(&self.html())
        )
    }

    fn __str__(&self) -> String {
        Report::new(&self.record, None).text_screen()
    }

    fn __repr__(&self) -> String {
        let screen = self.__str__();
        let answer = screen.lines().next().unwrap_or_default();
        format!("<gigatcp.Run {}: {answer}>", self.record.name)
    }
}

/// Runs a plan in virtual time: every series and repeat, on all cores.
///
/// `control` replaces the congestion control of all flows by one written in Python, or of the flows
/// that a dictionary names. Nothing is written to disk.
#[pyfunction]
#[pyo3(signature = (plan, *, series=None, seed=None, repeat=None, why=false, jobs=None, control=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn run(
    py: Python<'_>,
    plan: &Bound<'_, PyAny>,
    series: Option<Vec<String>>,
    seed: Option<u64>,
    repeat: Option<u32>,
    why: bool,
    jobs: Option<usize>,
    control: Option<&Bound<'_, PyAny>>,
) -> PyResult<Run> {
    let plan = Plan::of(plan)?;
    let mut checked = plan.checked().clone();
    let controls = Registration::all(control)?;
    use_controls(&mut checked.series, &controls)?;
    let job = Job {
        backend: Backend::VirtualTime,
        only: plan.chosen(series)?,
        seed: seed.unwrap_or(checked.seed),
        repeat: repeat.or(checked.repeat).unwrap_or(1).max(1),
        captures: None,
        diagnose: why,
        plan: checked,
    };
    if let Some(refusal) = job.refusal() {
        return Err(failed(refusal.message, "nothing was run", &refusal.hint));
    }
    let progress = Progress::of(&job);
    let records = released(py, &controls, |stop| {
        let ran = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs.unwrap_or(0))
            .build()
            .map_err(|error| error.to_string())?
            .install(|| gigatcp_run::run(&job, stop, &progress, &|_| {}));
        ran.map_err(|error| error.to_string())
    })?
    .map_err(|error| failed(error, "there is no result", ""))?;
    Ok(Run::of(&plan, records, job.seed, job.repeat, &job.only))
}
