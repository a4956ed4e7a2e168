//! `gigatcp sweep` and `gigatcp show`, as they are typed.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const PLAN: &str = r#"
name = "short"
path = { rate = "100 Mbit/s", rtt = "2 ms", loss = "1 %" }
flow = { bytes = "100 kB" }
"#;

fn gigatcp(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
    let output: Output = command
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let status = output.status.code().unwrap_or(-1);
    (status, text(output.stdout), text(output.stderr))
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("short.toml"), PLAN).unwrap();
    directory
}

#[test]
fn a_question_is_one_line_and_asked_again_runs_nothing() {
    let directory = directory();
    let line = [
        "sweep",
        "short.toml",
        "--over",
        "path.rtt=2ms,8ms",
        "--over",
        "flow.congestion_control=cubic,reno",
        "--repeat",
        "3",
        "--plot",
    ];
    let (status, out, said) = gigatcp(directory.path(), &line);
    assert_eq!(status, 0, "{said}");
    assert!(out.contains("4 cells, 12 runs\n"), "{out}");
    assert!(out.contains("share of the variance"), "{out}");
    assert!(said.contains("12 runs in "), "{said}");
    let (_, again, said) = gigatcp(directory.path(), &line);
    assert_eq!(again, out);
    assert!(
        said.contains("0 runs in ") && said.contains("12 known before"),
        "{said}"
    );
    let shown = [
        "show",
        "runs/short-sweep",
        "--by",
        "rtt",
        "--metric",
        "duration_ns",
    ];
    let (status, out, said) = gigatcp(directory.path(), &shown);
    assert_eq!(status, 0, "{said}");
    assert!(out.contains("duration_ns in ms"), "{out}");
    let (_, json, _) = gigatcp(directory.path(), &["show", "runs/short-sweep", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["cells"][3]["levels"][1], "reno");
    assert_eq!(json["cells"][3]["values"].as_array().unwrap().len(), 3);
}

#[test]
fn page_that_differs_from_the_one_there_needs_a_name_of_its_own() {
    let directory = directory();
    let line = [
        "sweep",
        "short.toml",
        "--over",
        "path.rtt=2ms,8ms",
        "--plot",
    ];
    let (status, _, said) = gigatcp(directory.path(), &line);
    assert_eq!(status, 0, "{said}");
    let questions = std::fs::read_dir(directory.path().join("runs/short-sweep")).unwrap();
    let mut pages = questions.map(|entry| entry.unwrap().path().join("sweep.html"));
    let page = pages.find(|page| page.exists()).unwrap();
    let before = std::fs::read(&page).unwrap();
    let show = |words: &[&str]| {
        gigatcp(
            directory.path(),
            &[
                &["show", "runs/short-sweep", "--metric", "duration_ns"],
                words,
            ]
            .concat(),
        )
    };
    let (status, out, said) = show(&["--plot"]);
    assert!(
        status != 0 && out.contains("duration_ns in ms"),
        "{out}{said}"
    );
    assert!(
        said.contains("sweep.html is another page") && said.contains("--report"),
        "{said}"
    );
    assert_eq!(std::fs::read(&page).unwrap(), before);
    let (status, out, said) = show(&["--report", "other.html"]);
    assert_eq!(status, 0, "{said}");
    assert!(out.contains("page in other.html"), "{out}");
    let (status, _, said) = gigatcp(
        directory.path(),
        &[&line[..4], &["--report", "other.html"]].concat(),
    );
    assert!(
        status != 0 && said.contains("other.html exists already"),
        "{said}"
    );
}

#[test]
fn a_command_of_the_page_runs_its_cell_alone() {
    let directory = directory();
    let line = [
        "sweep",
        "short.toml",
        "--over",
        "path.rtt=2ms,8ms",
        "--plot",
    ];
    gigatcp(directory.path(), &line);
    let (_, json, _) = gigatcp(directory.path(), &["show", "runs/short-sweep", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let questions = std::fs::read_dir(directory.path().join("runs/short-sweep")).unwrap();
    let mut pages = questions.map(|entry| entry.unwrap().path().join("sweep.html"));
    let page = std::fs::read_to_string(pages.find(|page| page.exists()).unwrap()).unwrap();
    let begin = page.find("<code>gigatcp show ").unwrap() + "<code>gigatcp ".len();
    let command = page[begin..begin + page[begin..].find("</code>").unwrap()]
        .strip_suffix(" N")
        .expect("a number to fill in");
    let mut words: Vec<&str> = command.split(' ').collect();
    words.extend(["0", "--json"]);
    let (status, run, said) = gigatcp(directory.path(), &words);
    assert_eq!(status, 0, "{command}: {said}");
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let goodput = &run["series"][0]["flows"][0]["goodput_bps"];
    assert_eq!(goodput, &json["cells"][0]["values"][0]);

    let show = |words: &[&str]| {
        gigatcp(
            directory.path(),
            &[&["show", "runs/short-sweep"], words].concat(),
        )
    };
    assert!(page.contains(" --cell \""), "a mark has a command");
    let (status, run, said) = show(&["--cell", "1", "--json"]);
    assert_eq!(status, 0, "{said}");
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let goodput = &run["series"][0]["flows"][0]["goodput_bps"];
    assert_eq!(goodput, &json["cells"][1]["values"][0]);
    let (status, _, said) = show(&["--cell", "2"]);
    assert_eq!(status, 2);
    assert!(
        said.contains("no cell 2") && said.contains("from 0 to 1"),
        "{said}"
    );
    assert_eq!(show(&["--svg", "figures"]).0, 0);
    assert!(directory.path().join("figures/lines.svg").exists());
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let directory = directory();
    let wrong = |arguments: &[&str], words: &[&str]| {
        let (status, _, said) = gigatcp(
            directory.path(),
            &[&["sweep", "short.toml"], arguments].concat(),
        );
        assert_eq!(status, 2, "{said}");
        for word in words {
            assert!(said.contains(word), "{word} is not in\n{said}");
        }
    };
    wrong(
        &["--over", "path.rt=1ms"],
        &["path.rtt", "no such key", "nothing was run"],
    );
    wrong(
        &["--over", "path.rtt=1ms,1ms"],
        &["two levels have this name"],
    );
    wrong(
        &["--design", "fractional"],
        &["the resolution is from 3 to 10"],
    );
    wrong(
        &["--until", "goodput=2%"],
        &["no metric is called `goodput`", "goodput_bps"],
    );
    wrong(
        &["--until", "goodput_bps=x"],
        &["--until", "goodput_bps=2%"],
    );
    assert!(!directory.path().join("runs").exists());
    let (status, _, said) = gigatcp(directory.path(), &["show", "runs"]);
    assert_eq!(status, 2);
    assert!(said.contains("has no sweep"), "{said}");
    let dry = [
        "sweep",
        "short.toml",
        "--over",
        "flow.window=bdp,4*bdp",
        "--dry-run",
    ];
    let (_, out, _) = gigatcp(directory.path(), &dry);
    assert_eq!(
        out,
        "flow.window=25000 B\nflow.window=100000 B\n2 cells, 2 runs\n"
    );
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    let directory = directory();
    let over = "path.rtt=1..80 ms linear 80";
    let line = [
        "sweep",
        "short.toml",
        "--over",
        over,
        "--set",
        "flow.bytes=20 MB",
        "--jobs",
        "1",
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .args(line)
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Once a row is stored, the signal handler is installed.
    let rows = directory.path().join("runs/short-sweep/cells/000000.rows");
    let is_begun = || std::fs::metadata(&rows).is_ok_and(|about| about.len() > 100);
    while !is_begun() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status();
    assert!(killed.unwrap().success());
    let status = child.wait().unwrap();
    // A fast machine may have completed the sweep.
    assert!([Some(130), Some(0)].contains(&status.code()), "{status}");
    let rest = [&line[..6], &["--all"]].concat();
    let (status, out, said) = gigatcp(directory.path(), &rest);
    assert_eq!(status, 0, "{said}");
    assert!(out.contains("80 cells, 80 runs\n"), "{out}");
    assert!(!said.contains("; 0 known before"), "{said}");
}

#[test]
fn invalid_level_is_an_error_before_anything_runs_and_in_a_dry_run() {
    let directory = directory();
    for more in [&[][..], &["--dry-run"]] {
        let line = ["sweep", "short.toml", "--over", "path.rtt=2ms,abc"];
        let (status, out, printed) = gigatcp(directory.path(), &[&line[..], more].concat());
        assert_eq!(status, 2, "{out}{printed}");
        assert!(printed.contains("path.rtt"), "{printed}");
        assert!(!directory.path().join("runs").exists());
    }
}
