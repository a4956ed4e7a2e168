//! The repeats of one series: one name, several seeds.
//!
//! A result from several seeds is its median, with the minimum, the maximum and the number of
//! values. It is not a mean, which would hide that one run among five stalled. Graphs show the
//! middle repeat, so that they show a real run.

use gigatcp_plan::record::{FlowRecord, FurtherRun, RunRecord, SeriesRecord};

/// All repeats of one series, in the order they were recorded.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// Name of the series.
    pub name: &'a str,
    /// The repeats; never empty.
    pub repeats: Vec<&'a SeriesRecord>,
}

/// Groups values by their keys, in the order of the first of each key.
pub fn by_key<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Groups the series of `run` by name, in the order of their first repeat.
pub fn groups(run: &RunRecord) -> Vec<Group<'_>> {
    let named = run.series.iter().map(|series| (&*series.name, series));
    let groups = by_key(named).into_iter();
    groups
        .map(|(name, repeats)| Group { name, repeats })
        .collect()
}

impl<'a> Group<'a> {
    /// Repeat that graphs show. It has the median goodput of its first flow; of two in the middle
    /// the slower is taken.
    pub fn representative(&self) -> &'a SeriesRecord {
        let mut order = self.repeats.clone();
        let goodput = |series: &SeriesRecord| series.flows.first().map_or(0.0, |f| f.goodput_bps);
        order.sort_by(|a, b| goodput(a).total_cmp(&goodput(b)));
        order[(order.len() - 1) / 2]
    }

    /// Title of the series.
    pub fn title(&self) -> &'a str {
        &self.repeats[0].title
    }

    /// Whether any repeat was cut short.
    pub fn is_partial(&self) -> bool {
        self.repeats.iter().any(|series| series.partial)
    }

    /// The largest number of flows of any repeat.
    pub fn flow_count(&self) -> usize {
        let counts = self.repeats.iter().map(|series| series.flows.len());
        counts.max().unwrap_or(0)
    }

    /// Flow number `index` of every repeat that has it.
    pub fn flows(&self, index: usize) -> impl Iterator<Item = &'a FlowRecord> + use<'a, '_> {
        let flow = move |series: &&'a SeriesRecord| series.flows.get(index);
        self.repeats.iter().filter_map(flow)
    }

    /// Runs with further seeds, which have a summary only.
    pub fn further(&self) -> impl Iterator<Item = &'a FurtherRun> + use<'a> {
        let further = self.repeats[0].further.as_ref();
        further.into_iter().flat_map(|further| &further.runs)
    }

    /// Number of runs behind the figures of the series.
    pub fn runs(&self) -> usize {
        self.repeats.len() + self.further().count()
    }

    /// Name of flow number `index` among all flows of a run. It is that of the series if it has one
    /// flow only.
    pub fn flow_label(&self, index: usize) -> String {
        if self.flow_count() <= 1 {
            return self.name.to_owned();
        }
        let flow = self.flows(index).next().map_or("", |flow| &flow.name);
        format!("{} / {flow}", self.name)
    }
}
