//! Experiments built into the program.

use crate::commands::demo;

/// An experiment built into the program.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    /// Name for `gigatcp run`.
    pub(crate) name: &'static str,
    /// Its files, by name.
    pub(crate) files: &'static [(&'static str, &'static [u8])],
}

/// All of them, sorted by name. `build.rs` writes the table.
pub(crate) const BUILT_IN: &[BuiltIn] = &include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

impl BuiltIn {
    /// Experiment called `name`, or the plan of `gigatcp demo`.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        let mut known = BUILT_IN.iter().chain([&demo::PLAN]);
        known.find(|known| known.name == name)
    }

    /// Content of the file called `name`.
    pub(crate) fn file(&self, name: &str) -> Option<&'static [u8]> {
        let mut files = self.files.iter();
        files
            .find(|(known, _)| *known == name)
            .map(|(_, content)| *content)
    }
}
