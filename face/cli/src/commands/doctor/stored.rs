//! Reads and writes facts in a file.

use std::fs;
use std::path::Path;

use gigatcp_meter::doctor::HostFacts;
use gigatcp_meter::doctor::facts::SCHEMA;

use crate::atomic_file::AtomicFile;
use crate::failure::Failure;

/// Reads facts from a file of `--save`.
pub(super) fn read(file: &Path) -> Result<HostFacts, Failure> {
    let name = file.display();
    let refused = |failure: Failure| failure.effect("nothing was examined");
    let text = fs::read(file)
        .map_err(|error| refused(Failure::io(&format!("read facts from {name}"), &error)))?;
    let facts: HostFacts = serde_json::from_slice(&text).map_err(|error| {
        refused(Failure::new(format!(
            "{name} is not a file of facts: {error}"
        )))
        .hint("`gigatcp doctor --save FILE` writes one")
    })?;
    if facts.schema != SCHEMA {
        let read = &facts.schema;
        return Err(refused(Failure::new(format!(
            "{name} has the schema `{read}`, not `{SCHEMA}`"
        )))
        .hint("write it anew with the same version of gigatcp"));
    }
    Ok(facts)
}

pub(super) fn write(file: &Path, facts: &HostFacts) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(facts)
        .map_err(|error| Failure::fault(format!("facts cannot be stored: {error}")))?;
    AtomicFile::write(file, (text + "\n").as_bytes())
}
