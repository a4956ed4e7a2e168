//! Compares a series with its published numbers, quantity by quantity.
//!
//! The quantities are the five that a test tool prints. Published values are those of one
//! connection and are shown next to the first flow of a series. Further flows have no published
//! counterpart. Simulated values are the spread over all repeats; the ratio is that of their
//! median.

use gigatcp_plan::record::growth::median;
use gigatcp_plan::record::{FlowRecord, FurtherFlow, TheoryRecord, combined_rate};
use gigatcp_theory::sample::Summary;

use crate::Report;
use crate::group::{Group, by_key, groups};
use crate::many_flows;
use crate::number::{fixed, ratio, seconds};
use crate::published::{Extremes, PublishedSeries};

/// A compared quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Goodput over the whole transfer, Mbit/s.
    Average,
    /// Time to the first interval at 90 % of the plateau, s.
    TimeTo90,
    /// Retransmitted segments.
    Retransmitted,
    /// CPU use of the sending host, %.
    SenderCpu,
    /// CPU use of the receiving host, %.
    ReceiverCpu,
}

impl Quantity {
    /// Every quantity, in the order tables show them.
    pub const ALL: [Self; 5] = [
        Self::Average,
        Self::TimeTo90,
        Self::Retransmitted,
        Self::SenderCpu,
        Self::ReceiverCpu,
    ];

    /// Heading of its column, with the unit.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Average => "average, Mbit/s",
            Self::TimeTo90 => "to 90 %, s",
            Self::Retransmitted => "retransmitted",
            Self::SenderCpu => "sender CPU, %",
            Self::ReceiverCpu => "receiver CPU, %",
        }
    }

    /// Formats a value of this quantity, without the unit.
    pub fn text(self, value: f64) -> String {
        match self {
            // Satellite links carry some kbit/s.
            Self::Average if value < 1.0 => fixed(value, 4),
            Self::Average => fixed(value, 1),
            Self::TimeTo90 => fixed(value, 2),
            // A median of two counts may have a fraction of one half.
            Self::Retransmitted if value.fract() != 0.0 => fixed(value, 1),
            Self::Retransmitted => fixed(value, 0),
            Self::SenderCpu | Self::ReceiverCpu => fixed(value, 0),
        }
    }

    /// Formats the published value of this quantity, or both extremes.
    pub fn extremes_text(self, published: Extremes) -> String {
        let (low, high) = (self.text(published.low), self.text(published.high));
        if low == high {
            low
        } else {
            format!("{low}\u{2013}{high}")
        }
    }

    /// Value recorded for `flow`, with the first or a further seed.
    fn recorded(self, flow: &FurtherFlow) -> Option<f64> {
        match self {
            Self::Average => Some(flow.goodput_bps / 1e6),
            Self::TimeTo90 => flow.time_to_90_ns.map(seconds),
            Self::Retransmitted => Some(flow.retransmitted_segments as f64),
            Self::SenderCpu => Some(flow.sender_cpu_fraction * 100.0),
            Self::ReceiverCpu => Some(flow.receiver_cpu_fraction * 100.0),
        }
    }

    /// Value of a row for `count` flows. It is the sum of retransmissions, otherwise the median.
    /// `None` if a flow has no value.
    fn of_all(self, values: Vec<f64>, count: usize) -> Option<f64> {
        match self {
            _ if values.len() < count => None,
            Self::Retransmitted => Some(values.into_iter().sum()),
            Self::Average | Self::TimeTo90 | Self::SenderCpu | Self::ReceiverCpu => median(values),
        }
    }

    /// Value published in `series`.
    pub fn published(self, series: &PublishedSeries) -> Option<Extremes> {
        let total = series.total.as_ref();
        let one = match self {
            Self::Average => return series.average(),
            Self::TimeTo90 => series.seconds_to_90(),
            Self::Retransmitted => total.map(|total| total.retransmitted_segments as f64),
            Self::SenderCpu => total.map(|total| total.tx_percent),
            Self::ReceiverCpu => total.map(|total| total.rx_percent),
        };
        one.map(Extremes::one)
    }
}

/// A quantity of a flow, published and simulated.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The compared quantity.
    pub quantity: Quantity,
    /// The published value.
    pub published: Option<Extremes>,
    /// Spread over the runs that have a value, including further seeds.
    pub ours: Option<Summary>,
}

impl Comparison {
    /// Formats our median divided by the published value. With published extremes it is divided by
    /// their middle.
    pub fn ratio(&self) -> String {
        ratio(
            self.published.map(Extremes::middle),
            self.ours.map(|spread| spread.median),
        )
    }
}

/// A line of a summary: one flow of a series, over all its repeats.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The series.
    pub group: Group<'a>,
    /// Index of the flow in it; for several flows, of the first.
    pub flow: usize,
    /// Further flows that the row represents.
    pub alike: Vec<usize>,
    /// Name of the flow among all flows.
    pub label: String,
    /// Numbers published for it.
    pub published: Option<&'a PublishedSeries>,
}

/// Every flow of every series, in plan order.
pub fn rows<'a>(report: &Report<'a>) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for group in groups(report.run) {
        for flow in 0..group.flow_count() {
            let published = report
                .published_for(group.repeats[0])
                .filter(|published| flow == 0 && published.has_rates());
            rows.push(Row {
                label: group.flow_label(flow),
                flow,
                alike: Vec::new(),
                published,
                group: group.clone(),
            });
        }
    }
    rows
}

/// Rows, and below those of a series with several one of its sum. If a series has very many flows,
/// each kind has one row.
pub fn rows_by_kind<'a>(report: &Report<'a>) -> Vec<Row<'a>> {
    let mut rows = kinds(report);
    let mut with_sums = Vec::new();
    for group in groups(report.run) {
        let is_other = |row: &Row<'_>| row.group.name != group.name;
        let rest = rows.split_off(rows.iter().position(is_other).unwrap_or(rows.len()));
        let has_several = rows.len() > 1;
        with_sums.extend(std::mem::replace(&mut rows, rest));
        if has_several {
            let count = group.flow_count();
            with_sums.push(Row {
                label: format!("{} / sum of {count}", group.name),
                flow: 0,
                alike: (1..count).collect(),
                published: None,
                group,
            });
        }
    }
    with_sums
}

fn kinds<'a>(report: &Report<'a>) -> Vec<Row<'a>> {
    let mut rows = rows(report).into_iter().peekable();
    let mut kept = Vec::new();
    for group in groups(report.run) {
        let is_own = |row: &Row<'_>| row.group.name == group.name;
        let own: Vec<Row<'a>> = std::iter::from_fn(|| rows.next_if(is_own)).collect();
        if own.len() <= many_flows::MAX_SHOWN {
            kept.extend(own);
            continue;
        }
        for kind in many_flows::kinds(&group.repeats[0].flows) {
            let (first, alike) = kind.places.split_first().expect("a kind has a flow");
            let Some(mut row) = own.get(*first).cloned() else {
                continue;
            };
            if !alike.is_empty() {
                let many = kind.places.len();
                row.label = format!("{} / {}, {many} flows", group.name, kind.name);
                row.alike = alike.to_vec();
            }
            kept.push(row);
        }
    }
    kept
}

impl<'a> Row<'a> {
    /// Indices of its flows in the series.
    fn places(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::once(self.flow).chain(self.alike.iter().copied())
    }

    /// Whether it has all flows of its series.
    pub fn is_whole_series(&self) -> bool {
        self.alike.len() + 1 == self.group.flow_count()
    }

    /// All quantities, in the order of [`Quantity::ALL`].
    pub fn comparisons(&self) -> [Comparison; 5] {
        Quantity::ALL.map(|quantity| Comparison {
            quantity,
            published: self.published.and_then(|series| quantity.published(series)),
            ours: Summary::of(self.values(quantity)),
        })
    }

    /// Its flows in all repeats.
    fn all_flows(&self) -> impl Iterator<Item = &'a FlowRecord> + '_ {
        self.places().flat_map(|place| self.group.flows(place))
    }

    /// The values of all runs that have one, those with further seeds too.
    fn values(&self, quantity: Quantity) -> Vec<f64> {
        if quantity == Quantity::Average && !self.alike.is_empty() {
            let rate = |flows: Vec<FurtherFlow>| {
                let span =
                    |flow: &FurtherFlow| (flow.clock_start_ns, flow.average_ns, flow.goodput_bps);
                combined_rate(flows.iter().map(span)) / 1e6
            };
            return self.runs().map(rate).collect();
        }
        let value = |flows: Vec<FurtherFlow>| {
            let values = flows.iter().filter_map(|flow| quantity.recorded(flow));
            quantity.of_all(values.collect(), self.alike.len() + 1)
        };
        self.runs().filter_map(value).collect()
    }

    /// Its flows in each run, those with further seeds too.
    fn runs(&self) -> impl Iterator<Item = Vec<FurtherFlow>> + '_ {
        let recorded = self.group.repeats.iter().map(|series| {
            let flows = self.places().filter_map(|place| series.flows.get(place));
            flows.map(FurtherFlow::from).collect()
        });
        let further = self.group.further().map(|run| {
            let flows = self.places().filter_map(|place| run.flows.get(place));
            flows.cloned().collect()
        });
        recorded.chain(further)
    }

    /// Value of a published equation for the flow.
    pub fn theory(&self) -> Option<&'a TheoryRecord> {
        self.group
            .flows(self.flow)
            .find_map(|flow| flow.theory.as_ref())
    }

    /// Flow in the repeat that graphs show.
    pub fn representative(&self) -> Option<&'a FlowRecord> {
        self.group.representative().flows.get(self.flow)
    }

    /// Nanoseconds attributed to `cause`, all repeats together.
    pub fn spent_ns(&self, cause: &str) -> u64 {
        let flows = self.all_flows();
        let shares = flows.flat_map(|flow| &flow.limited_by);
        shares
            .filter(|share| share.cause == cause)
            .fold(0, |sum, share| sum.saturating_add(share.spent_ns))
    }

    /// Whether the connection failed in any repeat.
    pub fn has_failed(&self) -> bool {
        self.all_flows().any(|flow| flow.failure.is_some())
    }

    /// Whether a part of this series is a declared, fitted input.
    pub fn is_fitted(&self) -> bool {
        !self.group.repeats[0].fitted.is_empty()
    }
}

/// The causes of any of `rows`, the one with most time first.
pub fn causes_met<'a>(rows: &[Row<'a>]) -> Vec<&'a str> {
    let flows = rows.iter().flat_map(Row::all_flows);
    let shares = flows
        .flat_map(|flow| &flow.limited_by)
        .filter(|share| share.spent_ns > 0);
    let mut found = by_key(shares.map(|share| (&*share.cause, u128::from(share.spent_ns))));
    found.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.iter().sum::<u128>()));
    found.into_iter().map(|(name, _)| name).collect()
}
