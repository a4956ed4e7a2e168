//! Commands without a run: their output is complete and, with `--json`, valid JSON.

use std::process::{Command, Output};

use serde_json::Value;

fn gigatcp(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
    command.args(words).output().expect("gigatcp starts")
}

fn printed(words: &[&str]) -> String {
    let output = gigatcp(words);
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&printed(words)).expect("JSON and nothing else")
}

/// A capture of the repository.
const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../drive/analyze/tests/captures/policed-snd.pcap.zst"
);

/// Standard error of a command that fails with this status.
fn refused(words: &[&str], status: i32) -> String {
    let output = gigatcp(words);
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{words:?}: {printed}");
    printed
}

#[test]
fn diff_of_captures_names_the_commands_that_compare_them() {
    let printed = refused(&["diff", CAPTURE, CAPTURE], 2);
    for part in [
        "is a capture, and `diff` compares stored results",
        "effect: nothing was compared",
        "gigatcp why A.pcap B.pcap",
        "gigatcp why --summary A.pcap B.pcap",
    ] {
        assert!(printed.contains(part), "{printed}");
    }
}

#[test]
fn whatif_names_an_unknown_key_before_it_reads_the_capture() {
    for option in ["--set", "--known"] {
        let printed = refused(&["whatif", "no.pcap", option, "reciever.buffer=4 MB"], 2);
        assert!(printed.contains("reciever"), "{printed}");
        assert!(!printed.contains("no.pcap"), "{printed}");
    }
    let printed = refused(&["whatif", "no.pcap", "--set", "path.rate=fast"], 2);
    assert!(printed.contains("`fast` is not a rate"), "{printed}");
    let printed = refused(&["whatif", "no.pcap", "--set", "receiver.buffer=4 MB"], 2);
    assert!(printed.contains("no.pcap"), "{printed}");
}

#[test]
fn why_of_foreign_json_says_what_it_reads() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("other.json");
    std::fs::write(&file, r#"{"schema": "somebody/7", "rows": []}"#).expect("a file");
    let printed = refused(&["why", file.to_str().expect("UTF-8")], 2);
    for part in ["`somebody/7`", "iperf3 -J", "watch --json-lines"] {
        assert!(printed.contains(part), "{printed}");
    }
}

#[test]
fn numbers_of_controls_in_documents_and_list_are_those_of_the_registry() {
    let controls = gigatcp_tcp::congestion::REGISTRY.len();
    let top = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |file: &str| std::fs::read_to_string(format!("{top}/{file}")).expect("a page");
    for (text, before, after) in [
        (read("README.md"), "any of ", " congestion controls"),
        (
            read("docs/status.md"),
            "| congestion controls | ",
            " (`gigatcp",
        ),
        (read("CHANGELOG.md"), "and ", " congestion controls"),
        (
            printed(&["list", "controls"]),
            "",
            " congestion controls, and",
        ),
    ] {
        let expected = format!("{before}{controls}{after}");
        assert!(
            text.contains(&expected),
            "`{expected}` is missing in:\n{text}"
        );
    }
}

#[test]
fn the_experiments_of_this_repository_are_listed_and_can_be_read() {
    let list = json(&["list", "--json"]);
    let experiments = list["experiments"].as_array().expect("a list");
    let names: Vec<_> = experiments.iter().map(|known| &known["name"]).collect();
    assert!(
        names.contains(&&Value::from("fink-slow-start")),
        "{names:?}"
    );
    for experiment in experiments {
        assert_eq!(experiment["error"], Value::Null, "{experiment}");
        assert!(!experiment["series"].as_array().expect("a list").is_empty());
    }
}

#[test]
fn lists_name_everything_there_is() {
    let keys = printed(&["list", "keys", "-v"]);
    for table in gigatcp_plan::keys::TABLES {
        assert!(keys.contains(table.heading), "{}", table.heading);
    }
    let tables = json(&["list", "keys", "--json"]);
    let tables = tables["tables"].as_array().expect("a list");
    assert_eq!(tables.len(), gigatcp_plan::keys::TABLES.len());

    let controls = printed(&["list", "controls", "-v"]);
    for entry in gigatcp_tcp::congestion::entries() {
        assert!(controls.contains(entry.name), "{}", entry.name);
        assert!(controls.contains(entry.summary), "{}", entry.summary);
        let reacts = format!("{}; reacts to {}", entry.family.name(), entry.reacts_to);
        assert!(controls.contains(&reacts), "{reacts}");
    }
    let profiles = printed(&["list", "profiles", "-v"]);
    for setting in gigatcp_tcp::profile::SETTINGS {
        assert!(profiles.contains(setting.name), "{}", setting.name);
    }
    let profiles = json(&["list", "profiles", "--json"]);
    let first = &profiles["profiles"][0]["settings"];
    let settings = first.as_array().expect("a list").len();
    assert_eq!(settings, gigatcp_tcp::profile::SETTINGS.len());
}

#[test]
fn every_list_fits_a_screen_and_shows_one_of_its_names_in_full() {
    for (what, name, said) in [
        ("experiments", "single-flow", "single-flow"),
        ("keys", "path.rtt", "round-trip time"),
        ("controls", "cubic", "reacts to"),
        ("queues", "codel", "target"),
        ("applications", "rpc", "depth"),
        ("links", "rate", "default"),
        ("profiles", "freebsd", "buffer_limit"),
    ] {
        let lines = printed(&["list", what]).lines().count();
        assert!((2..=40).contains(&lines), "{what}: {lines} lines");
        let one = printed(&["list", what, name]);
        assert!(one.contains(said), "{what} {name}: {one}");
    }
    let lines = printed(&["explain"]).lines().count();
    assert!(lines <= 40, "explain: {lines} lines");
}

#[test]
#[cfg(unix)]
fn bash_completes_values_behind_the_sign_at_which_its_words_end() {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_gigatcp"));
    let directory = binary.parent().expect("a directory").display();
    let script = format!(
        "PATH={directory}:$PATH; source <(gigatcp completions bash)
         COMP_LINE='gigatcp run fink-slow-start --set flow.congestion_control=cub'
         COMP_WORDS=(gigatcp run fink-slow-start --set flow.congestion_control = cub)
         COMP_CWORD=6 COMP_POINT=${{#COMP_LINE}} COMP_TYPE=9
         _gigatcp gigatcp cub =; echo ${{COMPREPLY[@]}}
         COMP_LINE='gigatcp run fink-slow-start --series reno'
         COMP_WORDS=(gigatcp run fink-slow-start --series reno) COMP_CWORD=4
         _gigatcp gigatcp reno --series; echo ${{COMPREPLY[@]}}"
    );
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .output();
    let Ok(output) = output else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        said.trim(),
        "cubic cubic-linux cubic-2.6.20\nreno-60MB",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn slides_2002_loss_budgets_are_those_of_the_slides() {
    let slides = json(&[
        "theory", "--rate", "1 Gbit/s", "--rtt", "70 ms", "--mss", "1460", "--mss", "4096",
        "--mss", "8192", "--json",
    ]);
    let published = [(1.36e-8, 856.0), (1.07e-7, 305.0), (4.3e-7, 153.0)];
    let paths = slides["paths"].as_array().expect("a list");
    assert_eq!(paths.len(), published.len());
    for (path, (loss, seconds)) in paths.iter().zip(published) {
        let figure = |section: &str, key: &str| path[section][key].as_f64().expect("a number");
        let p = figure("loss_budget", "standard_probability");
        assert!((p / loss - 1.0).abs() < 0.01, "{p} is not {loss}");
        let time = figure("between_losses", "standard_ns") / 1e9;
        assert!(
            (time / seconds - 1.0).abs() < 0.01,
            "{time} is not {seconds}"
        );
    }
}

#[test]
fn answers_without_bound_are_null_and_several_of_a_kind_are_lists() {
    let answers = json(&[
        "theory", "--rate", "1 Gbit/s", "--rtt", "10 ms", "--mss", "1448", "--loss", "0", "--loss",
        "1e-4", "--window", "64 KiB", "--json",
    ]);
    let path = &answers["paths"][0];
    assert_eq!(path["at_loss"][0]["standard_bps"], Value::Null);
    assert_eq!(path["at_loss"][1]["loss_probability"], 1e-4);
    assert!(path["at_loss"][1]["cubic_bps"].is_u64());
    assert_eq!(path["with_window"][0]["rate_bps"], 52_428_800);
}

#[test]
fn every_shell_gets_a_script() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(&["completions", shell]);
        assert!(script.contains("gigatcp"), "{shell}");
        assert!(script.contains("COMPLETE"), "{shell}");
    }
}

#[test]
fn a_shell_is_offered_commands_experiments_keys_and_values() {
    let offered = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
        command.env("COMPLETE", "bash").env("_CLAP_IFS", "\n");
        command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
        let output = command
            .args(["--", "gigatcp"])
            .args(words)
            .output()
            .expect("gigatcp starts")
            .stdout;
        String::from_utf8(output).expect("UTF-8").trim().to_owned()
    };
    assert_eq!(offered(&["theo"]), "theory");
    assert_eq!(offered(&["new", "fink-s"]), "fink-slow-start");
    assert_eq!(offered(&["run", "lte", "--set", "path.rt"]), "path.rtt=");
    let control = "flow.congestion_control=cubic-l";
    let words = ["sweep", "lte", "--set", control];
    assert_eq!(offered(&words), "flow.congestion_control=cubic-linux");
}

#[test]
fn every_command_has_a_man_page() {
    let folder = tempfile::tempdir().expect("a directory for the test");
    let (written, _, said) = outside(&folder, &["man", "pages"]);
    assert!(written, "{said}");
    let page = std::fs::read_to_string(folder.path().join("pages/gigatcp-why.1"));
    assert!(page.expect("a page for `why`").contains("Examples:"));
}

#[test]
fn a_plan_that_is_wrong_is_told_to_machines_on_stdout() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let plan = folder.path().join("wrong.toml");
    std::fs::write(&plan, "name = \"x\"\nsed = 1\n").expect("the plan is written");
    let output = gigatcp(&["check", &plan.display().to_string(), "--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.is_empty());
    let checked: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(checked["valid"], false);
    let findings = checked["diagnostics"].as_array().expect("a list");
    let unknown = findings
        .iter()
        .find(|finding| finding["nearest"] == "seed")
        .expect("the slip is found");
    assert_eq!(
        (&unknown["line"], &unknown["column"]),
        (&2.into(), &1.into())
    );
}

/// Runs `words` outside any checkout.
fn outside(folder: &tempfile::TempDir, words: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
    let output = command
        .args(words)
        .current_dir(folder.path())
        .output()
        .expect("gigatcp starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.success(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn experiments_work_outside_a_checkout_and_can_be_copied_and_changed() {
    let folder = tempfile::tempdir().expect("a directory for the test");
    let (_, listed, _) = outside(&folder, &["list"]);
    assert!(listed.contains("\nfink-slow-start "), "{listed}");
    // This one names a file of its own.
    let (is_valid, _, said) = outside(&folder, &["check", "lte"]);
    assert!(is_valid, "{said}");
    let brief = ["flow.duration=100 ms", "flow.congestion_control=reno"];
    let words = ["run", "single-flow", "--set", brief[0], "--set", brief[1]];
    let (ran, printed, said) = outside(&folder, &words);
    assert!(
        ran && printed.contains("stored in runs/single-flow-"),
        "{said}"
    );

    let (copied, printed, said) = outside(&folder, &["new", "lte", "mine/first"]);
    assert!(
        copied && printed.contains("gigatcp run mine/first/plan.toml"),
        "{said}"
    );
    let (is_valid, _, said) = outside(&folder, &["check", "mine/first/plan.toml"]);
    assert!(is_valid, "{said}");
    let (copied, _, said) = outside(&folder, &["new", "lte", "mine/first"]);
    assert!(!copied && said.contains("README.md exists"), "{said}");
    let (copied, printed, said) = outside(&folder, &["new", "lte", "own/lte.toml"]);
    assert!(
        copied && printed.ends_with("next: gigatcp run own/lte.toml\n"),
        "{said}"
    );
    let (is_valid, _, said) = outside(&folder, &["check", "own/lte.toml"]);
    assert!(is_valid, "{said}");
    assert!(!folder.path().join("own/README.md").exists());

    // In a checkout its files take precedence, and a difference is reported.
    let (_, _, said) = outside(&folder, &["new", "lte", "experiments/lte"]);
    assert_eq!(said, "");
    let (_, _, said) = outside(&folder, &["check", "lte"]);
    assert!(!said.contains("differs"), "{said}");
    let plan = folder.path().join("experiments/lte/plan.toml");
    let text = std::fs::read_to_string(&plan).expect("the copy can be read");
    std::fs::write(&plan, text + "\n# changed\n").expect("the copy can be changed");
    let (_, _, said) = outside(&folder, &["check", "lte"]);
    assert!(
        said.contains("using experiments/lte/plan.toml, which differs"),
        "{said}"
    );
    let (_, _, said) = outside(&folder, &["list"]);
    assert!(said.contains("not as built in: lte"), "{said}");
}

#[cfg(unix)]
#[test]
fn file_name_that_is_no_utf_8_is_read_or_named_in_the_error() {
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff.txt"));
    let why = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
        command.arg("why").arg(&path).output().unwrap()
    };
    let missing = why();
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(
        said.contains("cannot open") && said.contains(".txt"),
        "{said}"
    );
    std::fs::write(&path, "curl: (7) Couldn't connect to server\n").unwrap();
    assert!(why().status.success());
}

/// A pcap file of bare IPv4 with 40 segments of 1000 bytes, or with their ACKs.
fn half(is_of_data: bool) -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101];
    let mut file: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (ends, ports, wire) = if is_of_data {
        ([1, 2], [0xc000_u16, 80], 1040_u16)
    } else {
        ([2, 1], [80, 0xc000], 40)
    };
    for index in 0..40_u32 {
        let at = index * 10_000 + u32::from(!is_of_data) * 5_000;
        for word in [1_000, at, 40, wire.into()] {
            file.extend(word.to_le_bytes());
        }
        let sent = 1 + index * 1_000;
        let [seq, ack] = if is_of_data {
            [sent, 1]
        } else {
            [1, sent + 1_000]
        };
        file.extend([
            0x45,
            0,
            wire.to_be_bytes()[0],
            wire.to_be_bytes()[1],
            0,
            0,
            0,
            0,
            64,
            6,
            0,
            0,
        ]);
        file.extend([192, 0, 2, ends[0], 192, 0, 2, ends[1]]);
        file.extend(ports.map(u16::to_be_bytes).concat());
        file.extend([seq, ack].map(u32::to_be_bytes).concat());
        file.extend([0x50, 0x10, 200, 0, 0, 0, 0, 0]);
    }
    file
}

#[test]
fn two_captures_of_one_host_each_are_to_be_merged() {
    let directory = tempfile::tempdir().expect("a directory");
    let files = [true, false].map(|is_of_data| {
        let file = directory.path().join(format!("{is_of_data}.pcap"));
        std::fs::write(&file, half(is_of_data)).expect("it is written");
        file.to_str().expect("UTF-8").to_owned()
    });
    let told = |words: &[&str]| {
        printed(words)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let halves = told(&["why", &files[0], &files[1]]);
    assert!(halves.contains("mergecap -w both.pcapng"), "{halves}");
    // Without its ACKs, all data would be in flight.
    let flows = told(&["flows", "--long", &files[0]]);
    assert!(flows.contains("maximum in flight ? ?"), "{flows}");
    let other = told(&["why", &files[0], CAPTURE]);
    assert!(!other.contains("mergecap"), "{other}");
}
