//! Ledger file: its form, and whether its ids are complete.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// Requirements of one RFC.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Number of the RFC, from the file's name.
    #[serde(skip)]
    pub number: u32,
    /// Title of the RFC.
    pub title: String,
    /// Number of ids with each prefix: `MUST = 69` requires `MUST-1` to `MUST-69`.
    pub count: BTreeMap<String, u32>,
    /// All requirements.
    #[serde(default)]
    pub requirement: Vec<Requirement>,
}

/// Requirement of an RFC.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Id: that of the RFC, or ours by section.
    pub id: String,
    /// Section of the RFC.
    pub section: String,
    /// Text of the requirement, in our words.
    pub says: String,
    /// Places in the code: `file#name`.
    #[serde(default)]
    pub code: Vec<String>,
    /// Tests: `file.rs#name`.
    #[serde(default)]
    pub test: Vec<String>,
    /// Packet scripts: `reset/exact-sequence-number`.
    #[serde(default)]
    pub script: Vec<String>,
    /// Reason why it is not met, and the cost of that.
    pub exception: Option<String>,
    /// Profiles that do not meet it: name, reason, and cost.
    #[serde(default)]
    pub departs: Vec<String>,
}

impl Document {
    /// Reads a ledger.
    pub fn parse(number: u32, text: &str) -> Result<Self, toml::de::Error> {
        let document: Self = toml::from_str(text)?;
        Ok(Self { number, ..document })
    }

    /// Name of the RFC, as `RFC 9293`.
    pub fn name(&self) -> String {
        format!("RFC {}", self.number)
    }

    /// Ids that are missing, occur twice, or are not among those counted.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut seen = BTreeSet::new();
        for requirement in &self.requirement {
            if !seen.insert(requirement.id.as_str()) {
                complaints.push(format!("{} {} comes twice", self.name(), requirement.id));
            }
        }
        let asked: BTreeSet<String> = self
            .count
            .iter()
            .flat_map(|(kind, &count)| (1..=count).map(move |n| format!("{kind}-{n}")))
            .collect();
        for id in &asked {
            if !seen.contains(id.as_str()) {
                complaints.push(format!("{} {id} has no entry", self.name()));
            }
        }
        for id in seen {
            if !asked.contains(id) {
                let name = self.name();
                complaints.push(format!("{name} {id} is not among the ids of `count`"));
            }
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_repeated_and_unknown_ids_are_told() {
        let entry =
            |id: &str| format!("[[requirement]]\nid = \"{id}\"\nsection = \"1\"\nsays = \"x\"\n");
        let text = format!(
            "title = \"t\"\ncount = {{ MUST = 2 }}\n{}{}{}",
            entry("MUST-1"),
            entry("MUST-1"),
            entry("MAY-1")
        );
        let complaints = Document::parse(9, &text).expect("a ledger").complaints();
        assert_eq!(
            complaints,
            [
                "RFC 9 MUST-1 comes twice",
                "RFC 9 MUST-2 has no entry",
                "RFC 9 MAY-1 is not among the ids of `count`"
            ]
        );
    }
}
