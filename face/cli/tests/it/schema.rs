//! The documents of `why --json` and `whatif --json` match their JSON Schemas, and have no field that
//! these lack.
//!
//! The checker knows the keywords that the schemas use, and refuses others. It is stricter than
//! they are, as they permit fields that they do not name: these may be added within a version.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn printed(words: &[&str], folder: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    serde_json::from_slice(&output.stdout).expect("a JSON document")
}

/// The faults of a value, each with its place.
fn faults(root: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let rules = schema.as_object().expect("a schema is an object");
    let mut found = Vec::new();
    for (keyword, rule) in rules {
        let is_met = match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" => true,
            "$ref" => {
                let path = rule.as_str().expect("a reference").trim_start_matches('#');
                let target = root.pointer(path).expect("the referenced schema");
                found.extend(faults(root, target, value, place));
                true
            }
            "anyOf" => {
                let choices = rule.as_array().expect("schemas");
                choices
                    .iter()
                    .any(|choice| faults(root, choice, value, place).is_empty())
            }
            "type" => match rule {
                Value::Array(types) => types.iter().any(|name| is_type(name, value)),
                name => is_type(name, value),
            },
            "const" => rule == value,
            "enum" => rule.as_array().expect("values").contains(value),
            "minimum" => value.as_f64() >= rule.as_f64() || value.is_null(),
            "maximum" => value.as_f64() <= rule.as_f64(),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(faults(root, rule, item, &format!("{place}[{index}]")));
                }
                true
            }
            "required" => {
                let names = rule.as_array().expect("names");
                let has = |name: &&Value| value.get(name.as_str().expect("a name")).is_none();
                found.extend(
                    names
                        .iter()
                        .filter(has)
                        .map(|name| format!("{place} lacks {name}")),
                );
                true
            }
            "properties" => {
                let known = rule.as_object().expect("properties");
                found.extend(faults_of_fields(root, known, value, place));
                true
            }
            other => panic!("the checker does not know {other}"),
        };
        if !is_met {
            found.push(format!(
                "{place} is {value}, which is against {keyword} {rule}"
            ));
        }
    }
    found
}

fn faults_of_fields(
    root: &Value,
    known: &Map<String, Value>,
    value: &Value,
    place: &str,
) -> Vec<String> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .flat_map(|(name, field)| match known.get(name) {
            Some(schema) => faults(root, schema, field, &format!("{place}.{name}")),
            None => vec![format!("{place}.{name} is not in the schema")],
        })
        .collect()
}

fn is_type(name: &Value, value: &Value) -> bool {
    match name.as_str().expect("the name of a type") {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        other => panic!("{other} is no type"),
    }
}

fn schema(name: &str) -> Value {
    let text = fs::read_to_string(format!("{TOP}/docs/schema/{name}.json")).expect("the schema");
    serde_json::from_str(&text).expect("the schema is JSON")
}

#[test]
fn documents_of_why_match_their_schema() {
    let schema = schema("why-3");
    let folder = tempfile::tempdir().expect("a directory");
    let file = |name: &str| format!("{TOP}/{name}");
    let captures = file("drive/analyze/tests/captures");
    let kept = file("proof/grade/kept/rcvbuf-2000001/sender.pcap.zst");
    let policed = ["snd", "rcv"].map(|end| format!("{captures}/policed-{end}.pcap.zst"));
    let ss = folder.path().join("ss.txt");
    fs::write(&ss, SS).expect("a report");
    let ss = ss.to_str().expect("a path in UTF-8");
    let refused = folder.path().join("refused.txt");
    let error = "iperf3: error - unable to connect to server: Connection refused\n";
    fs::write(&refused, error).expect("the error of a program");
    let refused = refused.to_str().expect("a path in UTF-8");
    let calls: [&[&str]; 7] = [
        &[&kept],
        &["-v", "--whatif", &kept],
        &[&policed[0], &policed[1]],
        &[&format!("{captures}/icmp-mtu-ignored.pcap.zst")],
        &[ss],
        &[refused],
        &[ss, &kept],
    ];
    for call in calls {
        let document = printed(&[&["why", "--json"], call].concat(), folder.path());
        let found = faults(&schema, &schema, &document, "");
        assert!(found.is_empty(), "{call:?}: {found:#?}");
    }
}

#[test]
fn documents_of_whatif_match_their_schema() {
    let schema = schema("whatif-2");
    let folder = tempfile::tempdir().expect("a directory");
    let kept = format!("{TOP}/proof/grade/kept/rcvbuf-2000001/sender.pcap.zst");
    for options in [&["--set", "receiver.buffer=8 MB"][..], &["--limits"]] {
        let words = [&["whatif", "--json", &kept], options].concat();
        let document = printed(&words, folder.path());
        let found = faults(&schema, &schema, &document, "");
        assert!(found.is_empty(), "{options:?}: {found:#?}");
    }
}

#[test]
fn document_with_a_wrong_field_has_a_fault() {
    let schema = schema("why-3");
    let document = json!({ "captures": [], "joined": [], "schema": "gigatcp.why/3" });
    assert!(faults(&schema, &schema, &document, "").is_empty());
    for (name, value) in [
        ("captures", json!(7)),
        ("schema", json!("x")),
        ("more", json!(1)),
    ] {
        let mut wrong = document.clone();
        wrong[name] = value;
        assert_eq!(faults(&schema, &schema, &wrong, "").len(), 1, "{name}");
    }
}

/// The text of `ss -tinm` of a connection that its window limits.
const SS: &str = "\
State Recv-Q Send-Q Local Address:Port Peer Address:Port
ESTAB 0 2000000 192.0.2.1:5201 192.0.2.7:40000
\t skmem:(r0,rb131072,t0,tb2626560,f0,w2000000,o0,bl0,d0) cubic wscale:7,7 rto:280 rtt:80/2 \
mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:400 bytes_sent:9000000 bytes_acked:8900000 \
segs_out:6000 segs_in:3000 data_segs_out:6000 send 57.9Mbps lastsnd:4 lastrcv:9000 lastack:4 \
pacing_rate 69.5Mbps delivery_rate 6.5Mbps busy:10000ms rwnd_limited:9500ms(95.0%) unacked:45 \
rcv_space:14600 rcv_ssthresh:64088 minrtt:79.5
";
