//! The key tables match what the reader accepts, examples included.

use std::collections::BTreeSet;

use gigatcp_plan::keys::{Fallback, Kind, TABLES};
use gigatcp_plan::{Files, parse, parse_with};
use gigatcp_tcp::profile::SETTINGS;

/// A plan that sets only `key` in the table with that heading. It includes what the key requires.
fn plan_with(heading: &str, key: &str, example: &str) -> String {
    let line = format!("{key} = {example}\n");
    let head = "name = \"x\"\n";
    let path = "path = { rate = \"1 Gbit/s\", rtt = \"20 ms\" }\n";
    let partner = match key {
        "policer" => "policer_burst = \"256 KiB\"\n",
        "policer_burst" => "policer = \"80 Mbit/s\"\n",
        "receive_queues" => "processors = 2\n",
        "shaper" => "shaper_burst = \"256 KiB\"\n",
        "shaper_burst" => "shaper = \"80 Mbit/s\"\n",
        "aggregate" => "aggregate_overhead = \"200 us\"\n",
        "aggregate_overhead" => "aggregate = 64\n",
        "reorder" => "reorder_delay = \"1 ms\"\n",
        "loss_from" | "loss_until" => "loss = 0.1\n",
        "supply" => "supply_every = \"20 ms\"\n",
        "supply_every" => "supply = \"64 KiB\"\n",
        "supply_until" => "supply = \"64 KiB\"\nsupply_every = \"20 ms\"\n",
        "reorder_delay" => "reorder = 0.1\n",
        "max_ssthresh" => "slow_start = \"limited\"\n",
        "fit_of" => "fitted = [\"receiver.ack_every\"]\n",
        "claims" => "fitted = []\n",
        _ => "",
    };
    let line = line + partner;
    match heading {
        "the top of the plan" if ["node", "link"].contains(&key) => topology(&line, key),
        "the top of the plan" if key == "name" => line + path,
        "the top of the plan" if key == "path" => head.to_owned() + &line,
        "the top of the plan" => head.to_owned() + path + &line,
        "[path]" if key == "forward" => format!("{head}[path]\n{line}reverse = {{}}\n"),
        "[path]" if key == "reverse" => format!("{head}[path]\n{line}forward = {{}}\n"),
        "[path]" if key == "ethernet" => format!("{head}[path]\n{line}"),
        "[[node]]" => topology(
            &format!("[[node]]\n{}{line}", required(key, "name", "a")),
            "node",
        ),
        "[[link]]" if ["nodes", "ethernet"].contains(&key) => {
            let nodes = [("nodes", "[\"client\", \"router\"]"), ("ethernet", "{}")];
            let needs = nodes
                .into_iter()
                .filter(|(name, _)| *name != key)
                .map(|(name, value)| format!("{name} = {value}\n"));
            let ends = "flow = { from = \"client\", to = \"router\" }\n";
            format!("{head}{ends}[[link]]\n{}{line}", needs.collect::<String>())
        }
        "[[link]]" => {
            let needs = [("from", "client"), ("to", "router"), ("rate", "")].map(
                |(name, value)| match name {
                    "rate" if !["rate", "rate_trace"].contains(&key) => {
                        "rate = \"1 Gbit/s\"\n".to_owned()
                    }
                    "rate" => String::new(),
                    _ => required(key, name, value),
                },
            );
            let ends = "flow = { from = \"client\", to = \"router\" }\n";
            let back = match key {
                "one_way" => "[[link]]\nfrom = \"router\"\nto = \"client\"\none_way = true\n",
                _ => "",
            };
            format!("{head}{ends}[[link]]\n{}{line}{back}", needs.concat())
        }
        "[[flow]]" if ["from", "to", "via", "via_reverse"].contains(&key) => {
            let ends = [("from", "client"), ("to", "server")]
                .map(|(name, value)| required(key, name, value));
            let links = "link = [{ from = \"client\", to = \"router\" }, \
                         { from = \"router\", to = \"server\" }]\n";
            format!("{head}{links}[[flow]]\n{}{line}", ends.concat())
        }
        "[path.ethernet], ethernet of [[link]]" => format!("{head}[path.ethernet]\n{line}"),
        "[path]" => {
            let others = [("rate", "\"1 Gbit/s\""), ("rtt", "\"20 ms\"")];
            let others = others
                .iter()
                .filter(|(name, _)| *name != key && (*name, key) != ("rate", "rate_trace"));
            let others: String = others
                .map(|(name, value)| format!("{name} = {value}\n"))
                .collect();
            format!("{head}[path]\n{others}{line}")
        }
        "[[series]]" => {
            let name = match key {
                "name" => "",
                "over" => "name = \"b-{1}\"\n",
                _ => "name = \"b\"\n",
            };
            let other = "[[series]]\nname = \"other\"\n";
            let line = if key == "fit_of" {
                line.replace("reno-60MB", "other")
            } else {
                line
            };
            // A key must be set before it can be unset.
            let path = match key {
                "unset" => path.replace(" }", ", loss = 1e-5 }"),
                _ => path.to_owned(),
            };
            format!("{head}{path}{other}[[series]]\n{name}{line}")
        }
        _ => {
            let first = heading.split(", ").next().unwrap_or(heading);
            let first = if first == "[[path.forward]]" {
                "[sender.link]"
            } else {
                first
            };
            let rate = if first == "[sender.link]" && !["rate", "rate_trace"].contains(&key) {
                "rate = \"1 Gbit/s\"\n"
            } else {
                ""
            };
            // Rings require `descriptors`; some of their keys require a small ring.
            let rings = match (first, key) {
                ("[sender.rings]", "descriptors") => "",
                ("[sender.rings]", "small_descriptors" | "small_pool") => {
                    "descriptors = 100\nsmall_frames = 1500\n"
                }
                ("[sender.rings]", _) => "descriptors = 100\n",
                _ => "",
            };
            format!("{head}{path}{first}\n{rate}{rings}{line}")
        }
    }
}

/// A required key, unless it is the one under test.
fn required(tried: &str, name: &str, value: &str) -> String {
    if tried == name {
        return String::new();
    }
    format!("{name} = \"{value}\"\n")
}

/// A plan of two nodes with `lines` for nodes, or for links.
fn topology(lines: &str, what: &str) -> String {
    let link = match what {
        "link" => "",
        _ => "link = { from = \"a\", to = \"b\" }\n",
    };
    format!("name = \"x\"\nflow = {{ from = \"a\", to = \"b\" }}\n{link}{lines}\n")
}

/// Each file is a trace of 12 Mbit/s.
struct Traces;

impl Files for Traces {
    fn read(&self, _name: &str) -> Result<String, String> {
        Ok("1\n".to_owned())
    }
}

#[test]
fn every_example_is_accepted_where_it_is_listed() {
    for table in TABLES {
        for key in table.keys() {
            let text = plan_with(table.heading, key.name, key.example);
            if let Err(findings) = parse_with("example", text.as_bytes(), &[], &Traces) {
                panic!("{}.{}:\n{text}\n{findings}", table.heading, key.name);
            }
        }
    }
}

#[test]
fn every_key_refuses_a_value_of_another_kind() {
    for table in TABLES {
        for key in table.keys() {
            let wrong = match key.kind {
                Kind::Flag => "\"a text\"",
                _ => "true",
            };
            let text = plan_with(table.heading, key.name, wrong);
            assert!(
                parse("wrong", text.as_bytes(), &[]).is_err(),
                "{}.{}",
                table.heading,
                key.name
            );
        }
    }
}

#[test]
fn no_name_is_listed_twice_in_a_table() {
    for table in TABLES {
        let mut names = BTreeSet::new();
        for name in table.names() {
            assert!(names.insert(name), "{name} in {}", table.heading);
        }
    }
}

#[test]
fn help_names_every_key_with_its_default() {
    for table in TABLES {
        let help = table.to_string();
        assert!(help.starts_with(table.heading));
        for key in table.keys() {
            assert!(help.contains(&format!("{} = {}", key.name, key.example)));
            if let Fallback::Is(value) = key.default {
                assert!(help.contains(&format!("default: {value}")));
            }
        }
        assert_eq!(
            help.contains(SETTINGS[0].expects),
            table.has_settings || help.contains("true or false")
        );
    }
}
