//! What the registry and its documentation service require of the manifests.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::Ended;
use crate::{Failed, files, top};

/// Maximum number of crates to publish: each is a name that users see.
const MAX_PUBLISHED: usize = 25;

/// Fields of every published crate.
const FIELDS: [&str; 8] = [
    "description",
    "license",
    "readme",
    "keywords",
    "categories",
    "rust-version",
    "edition",
    "version",
];

/// Maximum number of keywords and of categories.
const MAX_WORDS: usize = 5;

/// Checks all crates of the workspace.
pub fn check() -> Result<Ended, Failed> {
    let workspace = table("Cargo.toml")?;
    let inherited = &workspace["workspace"]["package"];
    let members = strings(&workspace["workspace"]["members"]);
    let mut crates = BTreeMap::new();
    for member in &members {
        let manifest = table(&format!("{member}/Cargo.toml"))?;
        crates.insert(name(&manifest), (member.clone(), manifest));
    }
    let is_published = |manifest: &Table| {
        let publish = field(manifest, "publish", inherited);
        publish.is_none_or(|publish| publish.as_bool() != Some(false))
    };
    let published: Vec<&String> = crates
        .iter()
        .filter(|(_, (_, manifest))| is_published(manifest))
        .map(|(name, _)| name)
        .collect();
    let mut findings = Vec::new();
    if published.len() > MAX_PUBLISHED {
        findings.push(format!(
            "{} crates are published, more than {MAX_PUBLISHED}",
            published.len()
        ));
    }
    for name in &published {
        let (member, manifest) = &crates[*name];
        let mut find = |what: &str| findings.push(format!("{member}: {what}"));
        let missing = FIELDS
            .iter()
            .filter(|key| field(manifest, key, inherited).is_none());
        let missing: Vec<&str> = missing.copied().collect();
        if !missing.is_empty() {
            find(&format!("no {}", missing.join(", no ")));
        }
        for key in ["keywords", "categories"] {
            let words = field(manifest, key, inherited)
                .map(strings)
                .unwrap_or_default();
            if words.len() > MAX_WORDS || words.iter().any(|word| word.len() > 64) {
                find(&format!("{key}: more than {MAX_WORDS}, or too long"));
            }
        }
        if manifest.contains_key("features")
            && manifest.contains_key("lib")
            && docs_rs(manifest).is_none()
        {
            find("has features, but no package.metadata.docs.rs");
        }
        for section in ["dependencies", "build-dependencies"] {
            let Some(Value::Table(dependencies)) = manifest.get(section) else {
                continue;
            };
            let ours = dependencies
                .keys()
                .filter(|name| crates.contains_key(*name));
            let private: Vec<&String> = ours.filter(|name| !published.contains(name)).collect();
            for dependency in private {
                find(&format!("depends on {dependency}, which is not published"));
            }
        }
    }
    Ok(match findings.is_empty() {
        true => Ended::Passed(format!(
            "{} of {} crates are published",
            published.len(),
            members.len()
        )),
        false => Ended::Found(findings),
    })
}

fn table(file: &str) -> Result<Table, Failed> {
    let text = files::read(&top().join(file))?;
    toml::from_str(&text).map_err(|error| Failed::Usage(format!("{file}: {error}")))
}

fn name(manifest: &Table) -> String {
    manifest["package"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn strings(list: &Value) -> Vec<String> {
    let elements = list.as_array().into_iter().flatten();
    elements
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// A field of `[package]`, its own or the workspace's.
fn field<'a>(manifest: &'a Table, key: &str, inherited: &'a Value) -> Option<&'a Value> {
    let own = manifest["package"].get(key)?;
    match own.get("workspace") {
        Some(_) => inherited.get(key),
        None => Some(own),
    }
}

fn docs_rs(manifest: &Table) -> Option<&Value> {
    manifest["package"].get("metadata")?.get("docs")?.get("rs")
}
