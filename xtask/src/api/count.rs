//! The number of public items of the library, and its bound.
//!
//! An item is a module, type, trait, function, method, constant or macro that a program reaches from
//! `gigatcp`, through re-exports too. Fields, variants, implementations of traits and what
//! `#[doc(hidden)]` marks do not count. rustdoc's JSON lists them; that format is for nightly
//! compilers, so `RUSTC_BOOTSTRAP` requests it of the stable one, for the documentation only.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{Failed, process};

/// The library, then the crates whose items it re-exports.
const CRATES: [&str; 4] = [
    "gigatcp-stack",
    "gigatcp-tcp",
    "gigatcp-wire",
    "gigatcp-units",
];

/// Maximum number of items. It may only fall.
const BOUND: usize = 250;

/// Counts the items, prints how many there are in each type and module, and fails above [`BOUND`].
pub fn run() -> Result<(), Failed> {
    let mut interface = Interface::default();
    for name in CRATES {
        interface.crates.push(documented(name)?);
    }
    let root = interface.crates[0]["root"].clone();
    interface.visit(0, &root);
    let count: usize = interface.items.values().sum();
    for (path, items) in &interface.items {
        println!("{items:>5} {path}");
    }
    println!("{count:>5} public items of `gigatcp`, at most {BOUND}");
    if count > BOUND {
        eprintln!(
            "error: {count} public items, {} more than the bound of {BOUND}; effect: programs depend \
             on more than they need; hint: pub(crate), or no re-export in face/stack/src/lib.rs",
            count - BOUND
        );
        return Err(Failed::Found);
    }
    Ok(())
}

/// rustdoc's JSON of a crate.
fn documented(name: &str) -> Result<Value, Failed> {
    let mut command = process::cargo(&["rustdoc", "--quiet", "--lib", "--package", name]);
    command.args(["--", "-Z", "unstable-options", "--output-format", "json"]);
    command.env("RUSTC_BOOTSTRAP", "1");
    process::succeed(command)?;
    let file = format!("doc/{}.json", name.replace('-', "_"));
    let path = process::target().join(file);
    let unreadable = |error: &dyn std::fmt::Display| {
        Failed::Usage(format!("cannot read {}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&error))?;
    serde_json::from_str(&text).map_err(|error| unreadable(&error))
}

#[derive(Default)]
struct Interface {
    crates: Vec<Value>,
    visited: BTreeSet<(usize, String)>,
    /// Items by the path of their module or type.
    items: BTreeMap<String, usize>,
}

impl Interface {
    /// Counts an item of a crate, and everything in it.
    fn visit(&mut self, at: usize, id: &Value) {
        let key = id.to_string();
        let Some(item) = self.crates[at]["index"].get(&key).cloned() else {
            return self.visit_elsewhere(at, &key);
        };
        if is_hidden(&item) {
            return;
        }
        let Some((kind, inner)) = item["inner"]
            .as_object()
            .and_then(|inner| inner.iter().next())
        else {
            return;
        };
        if kind == "use" {
            return self.visit(at, &inner["id"]);
        }
        if !self.visited.insert((at, key.clone())) {
            return;
        }
        let path = self.path(at, &key);
        match kind.as_str() {
            "module" => {
                self.add(&path, 1);
                for child in list(&inner["items"]) {
                    self.visit(at, child);
                }
            }
            "type_alias" => {
                let (module, _) = path.rsplit_once("::").unwrap_or(("", ""));
                self.add(module, 1);
                // Its methods are those of the type.
                self.visit(at, &inner["type"]["resolved_path"]["id"]);
            }
            "trait" => self.add(&path, 1 + list(&inner["items"]).count()),
            "struct" | "enum" | "union" => {
                let methods = list(&inner["impls"])
                    .map(|block| &self.crates[at]["index"][block.to_string()]["inner"]["impl"])
                    .filter(|block| block["trait"].is_null())
                    .flat_map(|block| list(&block["items"]))
                    .map(|item| &self.crates[at]["index"][item.to_string()])
                    .filter(|item| item["visibility"] == "public" && !is_hidden(item))
                    .count();
                self.add(&path, 1 + methods);
            }
            _ => {
                let (module, _) = path.rsplit_once("::").unwrap_or(("", ""));
                self.add(module, 1);
            }
        }
    }

    /// Counts an item that another crate defines.
    fn visit_elsewhere(&mut self, at: usize, id: &str) {
        let path = self.crates[at]["paths"][id]["path"].clone();
        for other in 0..self.crates.len() {
            let found = self.crates[other]["paths"].as_object().and_then(|paths| {
                paths
                    .iter()
                    .find(|(_, there)| there["crate_id"] == 0 && there["path"] == path)
            });
            if let Some((id, _)) = found {
                let id: Value = id.parse::<u64>().map_or(Value::Null, Value::from);
                return self.visit(other, &id);
            }
        }
    }

    fn add(&mut self, path: &str, items: usize) {
        *self.items.entry(path.to_owned()).or_default() += items;
    }

    fn path(&self, at: usize, id: &str) -> String {
        let path = list(&self.crates[at]["paths"][id]["path"]);
        let parts: Vec<&str> = path.filter_map(Value::as_str).collect();
        parts.join("::")
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_hidden(item: &Value) -> bool {
    list(&item["attrs"]).any(|attribute| attribute.to_string().contains("hidden"))
}
