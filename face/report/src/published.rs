//! `published.toml`: the published numbers of an experiment.
//!
//! This is the only reader of published numbers in the project. Code that runs an experiment
//! must not see them, so only the report has the name of the file.
//!
//! The format, schema `gigatcp.published/1`:
//!
//! ```toml
//! schema = "gigatcp.published/1"
//!
//! [source]                      # the publication
//! author = "…"
//! title = "…"
//! place = "…"
//! date = "…"
//! message_id = "…"              # optional
//!
//! [[series]]
//! name = "reno-60MB"            # the series of the plan it is compared with
//! id = "E43"                    # id of the claim
//! date = "2007-05-06"
//! command = "nuttcp …"          # the command that measured it
//! remark = "…"                  # optional: the author's own words
//! intervals = [                 # nuttcp's lines, as published:
//!     [69.9829, 1.01, 583.5822] # MB (2^20 octets), seconds, Mbit/s (10^6)
//! ]
//!
//! [series.total]                # nuttcp's last line
//! mb = 7816.9375
//! seconds = 10.00
//! mbps = 6554.4883
//! tx_percent = 90
//! rx_percent = 53
//! retransmitted_segments = 0    # growth of the host's counter in this run
//! fast_retransmits = 0
//! ```
//!
//! If only the minimum and maximum average of several runs were published,
//! `mbps = [53.0, 53.5]` replaces `intervals` and `[series.total]`.
//! `lost_percent = [3.0, 4.0]` is the share of datagrams, or of packets of a connection, that
//! were lost. It stands alone, or with `mbps` as the rate at which they were sent.
//! `queueing_delay_ms = 5.0` is a median.
//!
//! Every line must be consistent within its printed digits, which detects copying errors. Lines
//! need not add up to the total, because published ones do not. Out of scope: tolerances and
//! targets.

use std::path::{Path, PathBuf};

use gigatcp_plan::record::SeriesRecord;
use serde::Deserialize;

use crate::nuttcp::BYTES_PER_MB;

/// The schema this code reads.
pub const SCHEMA: &str = "gigatcp.published/1";

/// Everything published for one experiment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// [`SCHEMA`].
    pub schema: String,
    /// The publication.
    pub source: Source,
    /// One entry per published measurement.
    pub series: Vec<PublishedSeries>,
}

/// Author and place of a publication.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Author of the measurement.
    pub author: String,
    /// Title of the publication.
    pub title: String,
    /// Publication or mailing list.
    pub place: String,
    /// Date of the publication.
    pub date: String,
    /// Message-Id, if it was a mail.
    pub message_id: Option<String>,
}

/// One published measurement.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedSeries {
    /// Name of the series of the plan it is compared with.
    pub name: String,
    /// Identifier of the claim.
    pub id: String,
    /// Date of the publication.
    pub date: String,
    /// The command that measured it.
    pub command: String,
    /// The author's remark, quoted.
    pub remark: Option<String>,
    /// The interval lines, in order; empty if only extremes were published.
    #[serde(default)]
    pub intervals: Vec<PublishedInterval>,
    /// The last line of the measurement.
    pub total: Option<PublishedTotal>,
    /// Minimum and maximum average of several runs, Mbit/s, if only these were published.
    pub mbps: Option<(f64, f64)>,
    /// Minimum and maximum share of datagrams or packets lost, %.
    pub lost_percent: Option<(f64, f64)>,
    /// Median queueing delay, ms.
    pub queueing_delay_ms: Option<f64>,
}

/// A published number, or the extremes of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremes {
    /// The minimum.
    pub low: f64,
    /// The maximum; the minimum if there is only one number.
    pub high: f64,
}

impl Extremes {
    /// One number.
    pub const fn one(value: f64) -> Self {
        Self {
            low: value,
            high: value,
        }
    }

    /// Middle between the two, used for ratios.
    pub fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

/// One published interval line.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "(f64, f64, f64)")]
pub struct PublishedInterval {
    /// Megabytes of 2^20 octets.
    pub mb: f64,
    /// Seconds, as printed.
    pub seconds: f64,
    /// Megabits of 10^6 bits per second.
    pub mbps: f64,
}

impl From<(f64, f64, f64)> for PublishedInterval {
    fn from((mb, seconds, mbps): (f64, f64, f64)) -> Self {
        Self { mb, seconds, mbps }
    }
}

/// The last line of a published measurement.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedTotal {
    /// Megabytes of 2^20 octets.
    pub mb: f64,
    /// Seconds.
    pub seconds: f64,
    /// Megabits of 10^6 bits per second.
    pub mbps: f64,
    /// CPU use of the sending host, %.
    pub tx_percent: f64,
    /// CPU use of the receiving host, %.
    pub rx_percent: f64,
    /// Increase of the host's count of retransmitted segments.
    pub retransmitted_segments: u64,
    /// Increase of the host's count of fast retransmits.
    pub fast_retransmits: u64,
}

/// Reason why published numbers could not be read. The message says how to fix it.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    /// The file exists but cannot be opened or is not text.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        cause: std::io::Error,
    },
    /// Not TOML, or not this format; the cause has line, column and excerpt.
    #[error("{file}: {cause}")]
    Malformed {
        /// Name of the file.
        file: String,
        /// Error and its position.
        cause: Box<toml::de::Error>,
    },
    /// Well-formed but impossible.
    #[error("{file}: {what}")]
    Impossible {
        /// Name of the file.
        file: String,
        /// The impossible value, and its series.
        what: String,
    },
}

impl Published {
    /// Name of the file in an experiment's directory.
    pub const FILE_NAME: &str = "published.toml";

    /// Reads the published numbers of the experiment in `directory`; `None` if the experiment has
    /// none.
    ///
    /// # Errors
    ///
    /// Any [`PublishedError`] if the file exists and is not usable.
    pub fn in_folder(directory: &Path) -> Result<Option<Self>, PublishedError> {
        let path = directory.join(Self::FILE_NAME);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, &path.display().to_string()).map(Some),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(PublishedError::Unreadable { path, cause }),
        }
    }

    /// Reads published numbers from `text`; `file` is named in errors.
    ///
    /// # Errors
    ///
    /// [`PublishedError::Malformed`] and [`PublishedError::Impossible`].
    pub fn parse(text: &str, file: &str) -> Result<Self, PublishedError> {
        let published: Self = toml::from_str(text).map_err(|cause| PublishedError::Malformed {
            file: file.to_owned(),
            cause: Box::new(cause),
        })?;
        published
            .check()
            .map_err(|what| PublishedError::Impossible {
                file: file.to_owned(),
                what,
            })?;
        Ok(published)
    }

    /// Measurement published under `name`.
    pub fn named(&self, name: &str) -> Option<&PublishedSeries> {
        self.series.iter().find(|series| series.name == name)
    }

    /// Numbers published for `series`, one of `all`. They are found under its own name, or under
    /// the name of the series it is the fit of. Otherwise, for the unfitted series of a fit, they
    /// are those of the fit.
    pub fn matching(
        &self,
        series: &SeriesRecord,
        all: &[SeriesRecord],
    ) -> Option<&PublishedSeries> {
        let twin = series.fit_of.as_deref();
        let fit = || {
            all.iter()
                .filter(|fitted| fitted.fit_of.as_deref() == Some(&series.name))
                .find_map(|fitted| self.named(&fitted.name))
        };
        self.named(&series.name)
            .or_else(|| twin.and_then(|name| self.named(name)))
            .or_else(fit)
    }

    /// Rejects values that no measurement can have.
    fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!(
                "schema is \"{}\", this version reads \"{SCHEMA}\"",
                self.schema
            ));
        }
        for (index, series) in self.series.iter().enumerate() {
            if self.series[..index].iter().any(|s| s.name == series.name) {
                return Err(format!("series \"{}\" appears twice", series.name));
            }
            series.check()?;
        }
        Ok(())
    }
}

impl PublishedSeries {
    /// Interval lines as (end of the interval in s, Mbit/s). The ends are sums of the printed
    /// lengths.
    pub fn rates(&self) -> Vec<(f64, f64)> {
        let mut end = 0.0;
        let rate = |line: &PublishedInterval| {
            end += line.seconds;
            (end, line.mbps)
        };
        self.intervals.iter().map(rate).collect()
    }

    /// Seconds to the first interval at 90 % of the plateau, defined in
    /// [`gigatcp_plan::record::growth`].
    pub fn seconds_to_90(&self) -> Option<f64> {
        gigatcp_plan::record::growth::seconds_to_90(&self.rates())
    }

    /// Average over the whole measurement, Mbit/s.
    pub fn average(&self) -> Option<Extremes> {
        let extremes = self.mbps.map(|(low, high)| Extremes { low, high });
        let total = || self.total.map(|total| Extremes::one(total.mbps));
        extremes.or_else(total)
    }

    /// Whether rates of a connection were published, and not only loss or delay.
    pub fn has_rates(&self) -> bool {
        self.average().is_some() || !self.intervals.is_empty()
    }

    fn check(&self) -> Result<(), String> {
        let lines = self.intervals.iter().enumerate();
        for (index, line) in lines {
            let place = format!("series \"{}\", interval line {}", self.name, index + 1);
            check_line(&place, line.mb, line.seconds, line.mbps)?;
        }
        let delay = self.queueing_delay_ms.map(|delay| (delay, delay));
        let others = [
            ("lost_percent", self.lost_percent),
            ("queueing_delay_ms", delay),
        ];
        for (key, extremes) in others {
            check_extremes(&self.name, key, extremes.unwrap_or_default())?;
        }
        let has_others = self.lost_percent.is_some() || delay.is_some();
        if has_others && self.total.is_none() && self.mbps.is_none() {
            return Ok(());
        }
        let total = match (&self.total, self.mbps) {
            (Some(total), None) => total,
            (None, Some(extremes)) if self.intervals.is_empty() => {
                return check_extremes(&self.name, "mbps", extremes);
            }
            _ => {
                return Err(format!(
                    "series \"{}\": expected either a [series.total] with the intervals there \
                     are, or mbps = [lowest, highest] and nothing else",
                    self.name
                ));
            }
        };
        let place = format!("series \"{}\", total line", self.name);
        check_line(&place, total.mb, total.seconds, total.mbps)?;
        for (what, percent) in [("%TX", total.tx_percent), ("%RX", total.rx_percent)] {
            if !(0.0..=100.0).contains(&percent) {
                return Err(format!(
                    "{place}: {what} is {percent}, expected 0 to 100 (one processor)"
                ));
            }
        }
        Ok(())
    }
}

/// Checks that two values can be a minimum and a maximum.
fn check_extremes(name: &str, key: &str, (low, high): (f64, f64)) -> Result<(), String> {
    if low >= 0.0 && low <= high && high.is_finite() {
        return Ok(());
    }
    Err(format!(
        "series \"{name}\": {key} = [{low}, {high}] is no range: expected the lowest first"
    ))
}

/// Checks that a line is consistent. The printed rate must lie between the rates from the printed
/// volume and time, each half a last digit up or down.
fn check_line(place: &str, mb: f64, seconds: f64, mbps: f64) -> Result<(), String> {
    const HALF_CENTISECOND: f64 = 0.005;
    const HALF_LAST_DIGIT_MB: f64 = 0.000_05;
    if !(mb >= 0.0 && seconds > HALF_CENTISECOND && mbps >= 0.0) {
        return Err(format!(
            "{place}: {mb} MB / {seconds} sec = {mbps} Mbps is no measurement: \
             expected a positive time and no negative number"
        ));
    }
    let rate = |mb: f64, seconds: f64| mb * BYTES_PER_MB * 8.0 / 1e6 / seconds;
    let low = rate(
        (mb - HALF_LAST_DIGIT_MB).max(0.0),
        seconds + HALF_CENTISECOND,
    );
    let high = rate(mb + HALF_LAST_DIGIT_MB, seconds - HALF_CENTISECOND);
    if (low..=high).contains(&mbps) {
        return Ok(());
    }
    Err(format!(
        "{place}: {mb} MB in {seconds} sec is {low:.4} to {high:.4} Mbps, \
         but {mbps} is written: one of the three is mistyped"
    ))
}
