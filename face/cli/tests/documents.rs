//! The README, the guides and SKILL.md, against the command.
//!
//! * Every `gigatcp COMMAND --option` in them exists.
//! * Every block of kind `console` is run; its output begins with the lines that are shown, and ends
//!   there unless `…` follows.
//! * Other commands that read files or print what the program knows are run, and succeed; of `run`
//!   and `sweep` only the plan is checked. Those that need another host or privileges have tests of
//!   their own.
//!
//! `UPDATE_DOCUMENTS=1 cargo test -p gigatcp --test documents` writes today's lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A file of the repository, and its names in the pages.
const FILES: [(&str, &[&str]); 6] = [
    (
        "proof/grade/kept/rcvbuf-2000001/sender.pcap.zst",
        &[
            "transfer.pcap",
            "sender.pcap",
            "trace.pcap",
            "trace.pcapng",
            "test.pcap",
        ],
    ),
    (
        "proof/grade/kept/rcvbuf-2000001/receiver.pcap.zst",
        &["receiver.pcap"],
    ),
    (
        "proof/grade/kept/policer-emulate-2000002/sender.pcap.zst",
        &["policed.pcap"],
    ),
    (
        "drive/analyze/tests/reports/rwnd-iperf3.json",
        &["report.json"],
    ),
    ("face/cli/tests/cmd/doctor.in/good.json", &["facts.json"]),
    ("face/cli/tests/cmd/bad-input.in/tiny.toml", &["my.toml"]),
];

/// Ends output that is shown in part.
const MORE: &str = "…";

/// The pages, by path relative to the top of the checkout.
fn pages() -> Vec<(PathBuf, String)> {
    let guides = fs::read_dir(format!("{TOP}/docs/guide")).expect("the guides");
    let mut paths: Vec<PathBuf> = guides.map(|file| file.expect("a file").path()).collect();
    paths.extend(["README.md", "SKILL.md"].map(|name| Path::new(TOP).join(name)));
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a page");
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

fn gigatcp() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gigatcp"));
    command.stdin(Stdio::null());
    command
}

/// The text of `gigatcp COMMAND --help`; `None` if there is no such command.
fn help(command: &str) -> Option<String> {
    let output = gigatcp()
        .args([command, "--help"])
        .output()
        .expect("the command starts");
    let is_command = output.status.success();
    is_command.then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The calls of the command in code of a page: code spans, code blocks, and cells of tables.
fn calls(text: &str) -> Vec<String> {
    let mut calls = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_block ^= is_fence;
        let code: Vec<&str> = if is_block || line.starts_with("    ") {
            vec![line]
        } else {
            line.split('`').skip(1).step_by(2).collect()
        };
        for code in code {
            for (at, _) in code.match_indices("gigatcp ") {
                let is_word = code[..at].ends_with([' ', '\'', '(', '=']) || at == 0;
                if is_word {
                    calls.push(code[at..].to_owned());
                }
            }
        }
    }
    calls
}

#[test]
fn commands_and_options_in_the_documents_exist() {
    let mut known = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, text) in pages() {
        for call in calls(&text) {
            let call = call
                .split([';', '|', '#', '\'', '"'])
                .next()
                .unwrap_or_default();
            let mut words = call.split_whitespace().skip(1);
            let Some(command) = words
                .next()
                .filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
            else {
                continue;
            };
            if command == "mcp" && !cfg!(feature = "mcp") {
                continue;
            }
            count += 1;
            let help = known
                .entry(command.to_owned())
                .or_insert_with(|| help(command));
            let Some(help) = help else {
                wrong.push(format!("{}: gigatcp {command}", path.display()));
                continue;
            };
            // What follows `--` is another program.
            for word in words.take_while(|word| *word != "--") {
                let name = word
                    .trim_end_matches([',', '.', ')', ':'])
                    .split('=')
                    .next()
                    .unwrap_or_default();
                let is_option = name.len() > 2 && name.starts_with("--");
                if is_option && !help.contains(name) {
                    wrong.push(format!("{}: gigatcp {command} {name}", path.display()));
                }
            }
        }
    }
    assert!(count > 100, "only {count} calls were found");
    assert!(wrong.is_empty(), "do not exist:\n{}", wrong.join("\n"));
}

/// A directory with the files that the pages name, and their plans, which begin with their name.
fn sandbox(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    for (source, names) in FILES {
        for name in names {
            fs::copy(format!("{TOP}/{source}"), folder.path().join(name)).expect("a file");
        }
    }
    for block in text.split("```toml\n# ").skip(1) {
        let plan = block.split("```").next().unwrap_or_default();
        if let Some((name, plan)) = plan.split_once('\n')
            && name.ends_with(".toml")
        {
            fs::write(folder.path().join(name), plan).expect("a plan");
        }
    }
    folder
}

/// Commands that are run: they need no other host and no privileges.
const RUN: [&str; 12] = [
    "check", "doctor", "explain", "flows", "list", "new", "run", "show", "sweep", "theory",
    "whatif", "why",
];

/// The line of shell for a call in a page; `None` if it is not run.
fn runnable(call: &str) -> Option<String> {
    let end = |mark| call.find(mark).unwrap_or(call.len());
    let call = call[..end("  ").min(end(" #"))].trim();
    let words: Vec<&str> = call.split_whitespace().collect();
    let is_placeholder =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase());
    let has_placeholder = call.split([' ', '/', '=', '.']).any(is_placeholder);
    let needs_more = [
        "--interface",
        "--at",
        "--try",
        "--verify",
        "--undo",
        "--on",
        "--save",
    ];
    if !words.get(1).is_some_and(|command| RUN.contains(command))
        || words.iter().any(|word| needs_more.contains(word))
        || has_placeholder
        || call.contains([';', '|', '&', '$', '…'])
        || words.iter().skip(2).all(|word| word.starts_with('-'))
    {
        return None;
    }
    let options = |rest: &str| match rest.find(" --set") {
        Some(at) => rest[at..].to_owned(),
        None => String::new(),
    };
    Some(match call.strip_prefix("gigatcp run ") {
        // The options of `run` that `check` has.
        Some(rest) => format!(
            "gigatcp check {}{}",
            rest.split(' ').next().unwrap_or_default(),
            options(rest)
        ),
        None if words[1] == "sweep" => format!("{call} --dry-run"),
        None => call.to_owned(),
    })
}

/// Commands of the pages that can be run here succeed. `doctor` exits with 1 if it finds something.
#[test]
fn commands_in_the_documents_succeed() {
    let mut wrong = Vec::new();
    let mut done = BTreeSet::new();
    for (path, text) in pages() {
        let folder = sandbox(&text);
        for line in calls(&text).iter().filter_map(|call| runnable(call)) {
            if !done.insert(line.clone()) {
                continue;
            }
            let output = shell(&line, folder.path());
            let is_doctor = line.starts_with("gigatcp doctor");
            let is_success = match output.status.code() {
                Some(0) => true,
                Some(1) => is_doctor,
                _ => false,
            };
            if !is_success {
                let said = String::from_utf8_lossy(&output.stderr);
                wrong.push(format!("{}: {line}\n{said}", path.display()));
            }
        }
    }
    assert!(done.len() > 40, "only {} commands were run", done.len());
    assert!(wrong.is_empty(), "fail:\n{}", wrong.join("\n"));
}

/// Standard output of a line of shell.
fn run(line: &str, folder: &Path) -> String {
    String::from_utf8_lossy(&shell(line, folder).stdout).into_owned()
}

fn shell(line: &str, folder: &Path) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_gigatcp"))
        .parent()
        .expect("a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", bin.display()))
        .stdin(Stdio::null())
        .output()
        .expect("a shell starts")
}

/// A page with today's lines in its blocks of kind `console`.
fn renewed(text: &str, folder: &Path) -> String {
    let mut page = String::new();
    let mut lines = text.lines().peekable();
    let mut is_console = false;
    while let Some(line) = lines.next() {
        page.push_str(line);
        page.push('\n');
        is_console = line == "```console" || is_console && line != "```";
        let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) else {
            continue;
        };
        let mut shown = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && *line != "```") {
            shown.push(line);
        }
        let is_partial = shown.last() == Some(&MORE);
        let output = run(command, folder);
        let kept = if is_partial {
            shown.len() - 1
        } else {
            usize::MAX
        };
        for line in output.lines().take(kept) {
            page.push_str(line);
            page.push('\n');
        }
        if is_partial {
            page.push_str(MORE);
            page.push('\n');
        }
    }
    page
}

#[test]
fn commands_in_the_documents_print_what_is_shown() {
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        if !text.contains("```console") {
            continue;
        }
        let folder = sandbox(&text);
        let today = renewed(&text, folder.path());
        if today == text {
            continue;
        }
        if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
            fs::write(&path, today).expect("the page is written");
            continue;
        }
        for (shown, printed) in text.lines().zip(today.lines()) {
            if shown != printed {
                wrong.push(format!(
                    "{}:\n  shown   {shown}\n  printed {printed}",
                    path.display()
                ));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn readme_and_guides_stay_short() {
    for (path, text) in pages() {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let most = match name {
            "README.md" => 120,
            "SKILL.md" => 150,
            // References of libraries and of a service rather than guides by task.
            "embed.md" | "net.md" | "server.md" => 200,
            _ => 100,
        };
        let lines = text.lines().count();
        assert!(lines <= most, "{name} has {lines} lines");
    }
}
