//! A finding: the value read, the ceiling it imposes, and the command that changes it.

use gigatcp_units::{Duration, Rate};

use crate::doctor::facts::RouteMetrics;
use crate::doctor::path::Direction;

/// The commands that change a setting and restore it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The command that changes the setting; advice if [`Change::is_command`] is false.
    pub fix: String,
    /// The command that restores the value that was read.
    pub undo: Option<String>,
    /// Whether there is a command; all of them require root.
    pub is_command: bool,
    /// The change as `KEY=VALUE` of `gigatcp whatif`; empty if a prediction has no key for it.
    pub whatif: Vec<String>,
    /// Whether it concerns the whole machine, not only the network namespace.
    pub is_of_machine: bool,
    /// What the kernel lacks for the change.
    pub lacks: Option<String>,
    /// Metrics of the route after the change, if it is one of the route.
    pub(crate) metrics: Option<RouteMetrics>,
    /// A command that must follow a change of the route.
    pub(crate) further: Option<String>,
}

/// A setting or condition of a host that limits connections over a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The setting and the value read.
    pub subject: String,
    /// Place where the value was read.
    pub place: String,
    /// The setting that this one overrides, or that overrides it.
    pub overrides: Option<String>,
    /// Effect on connections over this path, with figures.
    pub effect: String,
    /// The end of a transfer that it limits.
    pub direction: Direction,
    /// The rate that it allows, if a law gives one.
    pub ceiling: Option<Rate>,
    /// The time that each connection loses at its start, if a law gives one.
    pub delay: Option<Duration>,
    /// Condition under which it limits; `None`: always.
    pub only_if: Option<&'static str>,
    /// The change that removes it.
    pub change: Change,
}

impl Finding {
    /// Creates a finding without ceiling, override or condition.
    pub(crate) fn new(
        direction: Direction,
        subject: impl Into<String>,
        place: impl Into<String>,
        effect: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            subject: subject.into(),
            place: place.into(),
            overrides: None,
            effect: effect.into(),
            direction,
            ceiling: None,
            delay: None,
            only_if: None,
            change: Change {
                fix: fix.into(),
                undo: None,
                is_command: true,
                whatif: Vec::new(),
                is_of_machine: false,
                lacks: None,
                metrics: None,
                further: None,
            },
        }
    }

    pub(crate) fn ceiling(mut self, ceiling: impl Into<Option<Rate>>) -> Self {
        self.ceiling = ceiling.into();
        self
    }

    pub(crate) fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    pub(crate) fn only_if(mut self, condition: &'static str) -> Self {
        self.only_if = Some(condition);
        self
    }

    pub(crate) fn overriding(mut self, words: impl Into<String>) -> Self {
        self.overrides = Some(words.into());
        self
    }

    pub(crate) fn undo(mut self, command: impl Into<String>) -> Self {
        self.change.undo = Some(command.into());
        self
    }

    /// States the change as `KEY=VALUE` of `gigatcp whatif`.
    pub(crate) fn whatif(mut self, changes: impl IntoIterator<Item = String>) -> Self {
        self.change.whatif = changes.into_iter().collect();
        self
    }

    /// Marks the change as one of the whole machine.
    pub(crate) fn of_machine(mut self) -> Self {
        self.change.is_of_machine = true;
        self
    }

    /// Marks the change as advice: there is no command for it.
    pub(crate) fn advice(mut self) -> Self {
        self.change.is_command = false;
        self
    }
}
