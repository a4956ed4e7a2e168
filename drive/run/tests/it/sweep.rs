//! Sweeps: every cell equals a separate run of it, and stored rows are never lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gigatcp_plan::design::Question;
use gigatcp_plan::design::statistics::{CONFIDENCE, Summary};
use gigatcp_plan::{NoFiles, Sweep as Section, Template, parse};
use gigatcp_run::sweep::execute::Round;
use gigatcp_run::sweep::rows::find_metric;
use gigatcp_run::sweep::stored_question::StoredQuestionError;
use gigatcp_run::sweep::{Progress, StoreError, StoredQuestion, Sweep, Worker};

/// A short transfer over a lossy path: under a millisecond of work.
const PLAN: &str = r#"
name = "short"
path = { rate = "100 Mbit/s", rtt = "2 ms", loss = "2 %" }
flow = { bytes = "100 kB" }
record = { sample = "1 s" }
"#;

const OVER: [&str; 2] = [
    "path.rtt=1 ms,5 ms,20 ms",
    "flow.congestion_control=cubic,reno",
];

fn asked(plan: &str, over: &[&str], change: impl FnOnce(&mut Section)) -> StoredQuestion {
    let template = Template::read("p", plan.as_bytes(), &[], &NoFiles).unwrap();
    let mut section = Section {
        over: over.iter().map(|&text| text.to_owned()).collect(),
        repeat: Some(4),
        ..Section::default()
    };
    change(&mut section);
    let question = Question::of(template.plan(), &section, None);
    StoredQuestion::new(&template, plan, &question, "test")
}

/// Runs a question; returns how many repetitions were known, ran, and failed.
fn run(base: &Path, asked: &StoredQuestion, threads: usize) -> (u64, u64, u64) {
    let sweep = Sweep::open(base, asked.clone()).unwrap();
    let progress = Progress::default();
    let is_complete = sweep.run(threads, &AtomicBool::new(false), &progress);
    assert!(is_complete.unwrap());
    assert_eq!(sweep.write_tables().unwrap(), 0);
    let counts = [&progress.known, &progress.done, &progress.failed];
    let [known, done, failed] = counts.map(|count| count.load(Ordering::Relaxed));
    (known, done, failed)
}

/// Every table of a question, by name.
fn tables(base: &Path, asked: &StoredQuestion) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(base.join(asked.hash())).unwrap();
    let files = entries.map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read(path).unwrap())
    });
    // A file being written when a process was killed has a name that begins with a dot.
    files.filter(|(name, _)| !name.starts_with('.')).collect()
}

fn segments(base: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(base.join("cells"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

/// Event hash of each repetition, with changes and seed.
fn hashes(base: &Path, asked: &StoredQuestion) -> Vec<(Vec<String>, u64, String)> {
    let sweep = Sweep::open(base, asked.clone()).unwrap();
    let mut all = Vec::new();
    let each = sweep
        .results()
        .each(|repetition, row| -> Result<(), StoreError> {
            all.push((
                repetition.cell.overrides(),
                repetition.seed,
                row.event_hash.clone(),
            ));
            Ok(())
        });
    each.unwrap();
    all
}

#[test]
fn every_cell_is_bit_for_bit_the_same_run_alone_in_any_order_and_on_any_number_of_cores() {
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let random = asked(PLAN, &OVER, |_| {});
    let written = asked(PLAN, &OVER, |section| {
        section.order = Some("written".to_owned())
    });
    assert_eq!(run(one.path(), &random, 1), (0, 24, 0));
    assert_eq!(run(two.path(), &written, 3), (0, 24, 0));
    let hashes = hashes(one.path(), &random);
    assert_eq!(hashes, self::hashes(two.path(), &written));
    for (overrides, seed, hash) in &hashes {
        let mut job = gigatcp_run::Job::of(parse("p", PLAN.as_bytes(), overrides).unwrap());
        job.seed = *seed;
        assert_eq!(
            &job.records().unwrap()[0].event_hash,
            hash,
            "{overrides:?} {seed}"
        );
    }
    // Losses differ between seeds, and seeds are the same in every cell.
    let seeds = |cell: usize| hashes[cell * 4..cell * 4 + 4].iter().map(|row| row.1);
    assert!(seeds(0).eq(1..=4) && seeds(5).eq(1..=4));
    assert_ne!(hashes[0].2, hashes[1].2);
}

#[test]
fn what_was_run_is_not_run_again_and_new_levels_are() {
    let base = tempfile::tempdir().unwrap();
    let first = asked(PLAN, &OVER[1..], |_| {});
    assert_eq!(run(base.path(), &first, 2), (0, 8, 0));
    let tables_of_first = tables(base.path(), &first);
    assert_eq!(run(base.path(), &first, 2), (8, 0, 0));
    assert_eq!(segments(base.path()).len(), 1);
    // The plan's own RTT was run, independent of the axis that sets it and its form.
    let more = asked(
        PLAN,
        &[
            "flow.congestion_control=reno,cubic,bbr3",
            "path.rtt=0.002 s,3 ms",
        ],
        |_| {},
    );
    assert_eq!(run(base.path(), &more, 2), (8, 16, 0));
    let longer = asked(PLAN, &OVER[1..], |section| section.repeat = Some(6));
    assert_eq!(run(base.path(), &longer, 2), (8, 4, 0));
    assert_eq!(run(base.path(), &first, 2), (8, 0, 0));
    assert_eq!(tables(base.path(), &first), tables_of_first);
}

#[test]
fn a_cell_that_cannot_run_is_a_row_that_says_why() {
    let base = tempfile::tempdir().unwrap();
    let asked = asked(
        PLAN,
        &[
            "sender.mtu=50,1500",
            "flow.window=1 MB,2*flow.bytes,path.rtt*path.rtt",
        ],
        |_| {},
    );
    assert_eq!(run(base.path(), &asked, 2), (0, 24, 16));
    let sweep = Sweep::open(base.path(), asked).unwrap();
    let (grid, missing) = sweep
        .results()
        .grid(find_metric("goodput_bps").unwrap())
        .unwrap();
    assert_eq!(missing, 0);
    let failures: Vec<u32> = grid.arms.iter().map(|arm| arm.failures).collect();
    assert_eq!(failures, [4, 4, 4, 0, 0, 4]);
    let mut why = Vec::new();
    let each = sweep.results().each(|_, row| -> Result<(), StoreError> {
        why.extend(row.failure.clone());
        Ok(())
    });
    each.unwrap();
    assert!(why[0].contains("`mtu` cannot be 50"), "{}", why[0]);
    assert!(why[15].contains("neither data, a time"), "{}", why[15]);
}

#[test]
fn repetitions_go_on_until_the_interval_is_narrow_and_no_longer() {
    let base = tempfile::tempdir().unwrap();
    let asked = asked(PLAN, &["path.loss=0,0.02"], |section| {
        section.until = Some(0.2);
        section.most = Some(60);
    });
    run(base.path(), &asked, 2);
    let sweep = Sweep::open(base.path(), asked.clone()).unwrap();
    let (grid, _) = sweep
        .results()
        .grid(find_metric("goodput_bps").unwrap())
        .unwrap();
    let [lossless, lossy] = [0, 1].map(|arm| grid.arms.at(arm).values);
    // Without loss all seeds give the same goodput; five repetitions are the fewest.
    assert_eq!(lossless.len(), 5);
    assert!(lossy.len() > 5 && lossy.len() < 60, "{}", lossy.len());
    let width = |values: &[f64]| {
        let summary = Summary::of(values).unwrap();
        summary.half_width(CONFIDENCE).unwrap() / summary.mean
    };
    assert!(width(lossy) <= 0.2 && width(&lossy[..lossy.len() * 4 / 5]) > 0.2);
    assert_eq!(
        run(base.path(), &asked, 1),
        (5 * 2 + lossy.len() as u64 - 5, 0, 0)
    );
    let other = tempfile::tempdir().unwrap();
    run(other.path(), &asked, 1);
    assert_eq!(tables(base.path(), &asked), tables(other.path(), &asked));
}

/// Runs the sweep of [`killed`] in a child process, which others kill. It is not a test itself.
#[test]
#[ignore = "run by others"]
fn a_sweep_that_others_kill() {
    let Some(base) = std::env::var_os("GIGATCP_SWEEP_TEST") else {
        return;
    };
    let sweep = Sweep::open(Path::new(&base), killed()).unwrap();
    let result = sweep.run(2, &AtomicBool::new(false), &Progress::default());
    println!(
        "{}",
        result.map_or_else(|error| error.to_string(), |whole| whole.to_string())
    );
}

fn killed() -> StoredQuestion {
    asked(PLAN, &["path.rtt=1..40 ms linear 10", OVER[1]], |section| {
        section.repeat = Some(10)
    })
}

fn child_command(base: &Path, shell: &str) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    let script = format!(
        "{shell} exec \"$0\" --exact sweep::a_sweep_that_others_kill --ignored --nocapture"
    );
    command.arg("-c").arg(script).arg(program);
    command
        .env("GIGATCP_SWEEP_TEST", base)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

#[test]
fn killed_at_random_a_sweep_ends_as_if_undisturbed() {
    let [base, calm] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (_, all, _) = run(calm.path(), &killed(), 2);
    let mut ran = 0;
    for kill in 0..10 {
        let mut child = child_command(base.path(), "").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(10 + 7 * kill % 40));
        child.kill().unwrap();
        child.wait().unwrap();
        let sweep = Sweep::open(base.path(), killed()).unwrap();
        assert!(sweep.store().flaws().corrupt.is_empty());
        assert!(sweep.store().len() >= ran, "rows were lost");
        ran = sweep.store().len();
    }
    let (known, done, _) = run(base.path(), &killed(), 2);
    assert_eq!((known, known + done), (ran as u64, all));
    assert_eq!(
        tables(base.path(), &killed()),
        tables(calm.path(), &killed())
    );
}

#[test]
fn two_sweeps_into_one_directory_at_once_do_no_harm() {
    let [base, calm] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    run(calm.path(), &killed(), 2);
    let children = [(); 2].map(|()| child_command(base.path(), "").spawn().unwrap());
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("true"));
    }
    let (known, done, _) = run(base.path(), &killed(), 1);
    assert_eq!((known, done), (200, 0));
    assert_eq!(
        tables(base.path(), &killed()),
        tables(calm.path(), &killed())
    );
}

#[test]
fn a_full_disk_ends_a_sweep_with_what_is_stored() {
    let base = tempfile::tempdir().unwrap();
    // Files of this process end at 16 KiB, as on a full disk.
    let child = child_command(base.path(), "trap '' XFSZ; ulimit -f 32;")
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("cannot write"), "{said}");
    let sweep = Sweep::open(base.path(), killed()).unwrap();
    let stored = sweep.store().len() as u64;
    assert!(stored > 5 && stored < 200, "{stored}");
    let (known, done, _) = run(base.path(), &killed(), 2);
    assert_eq!((known, known + done), (stored, 200));
}

#[test]
fn a_directory_that_cannot_be_written_is_said_before_anything_runs() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("file");
    fs::write(&file, "").unwrap();
    let wrong = Sweep::open(&file, killed()).map(|_| ()).unwrap_err();
    assert!(
        wrong.to_string().contains("cannot read the directory"),
        "{wrong}"
    );
    let sweep = Sweep::open(&base.path().join("new"), killed()).unwrap();
    fs::write(base.path().join("new"), "").unwrap();
    let progress = Progress::default();
    let wrong = sweep
        .run(1, &AtomicBool::new(false), &progress)
        .unwrap_err();
    assert!(
        wrong.to_string().contains("cannot create the directory"),
        "{wrong}"
    );
    assert_eq!(progress.done.load(Ordering::Relaxed), 0);
}

#[test]
fn a_corrupt_row_is_run_again_and_the_others_are_kept() {
    let base = tempfile::tempdir().unwrap();
    let asked = asked(PLAN, &OVER, |_| {});
    run(base.path(), &asked, 2);
    let before = tables(base.path(), &asked);
    let segment = segments(base.path()).remove(0);
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let sweep = Sweep::open(base.path(), asked.clone()).unwrap();
    assert_eq!(sweep.store().flaws().corrupt.len(), 1);
    assert_eq!(run(base.path(), &asked, 2), (23, 1, 0));
    assert_eq!(tables(base.path(), &asked), before);
}

#[test]
fn what_a_newer_version_wrote_is_refused_and_left_alone() {
    let base = tempfile::tempdir().unwrap();
    let asked = asked(PLAN, &OVER, |_| {});
    run(base.path(), &asked, 2);
    let segment = segments(base.path()).remove(0);
    let newer = fs::read_to_string(&segment)
        .unwrap()
        .replacen("sweep/1", "sweep/2", 1);
    fs::write(&segment, &newer).unwrap();
    let wrong = Sweep::open(base.path(), asked.clone())
        .map(|_| ())
        .unwrap_err();
    assert!(
        matches!(&wrong, StoredQuestionError::Store(StoreError::Newer { .. })),
        "{wrong}"
    );
    assert!(wrong.to_string().contains("gigatcp.sweep/2"), "{wrong}");
    assert_eq!(fs::read_to_string(&segment).unwrap(), newer);
    let question = base.path().join(asked.hash());
    let text = fs::read_to_string(question.join("sweep.json")).unwrap();
    fs::write(
        question.join("sweep.json"),
        text.replace("question/1", "question/9"),
    )
    .unwrap();
    let wrong = Sweep::stored(&question).map(|_| ()).unwrap_err();
    assert!(wrong.to_string().contains("gigatcp.question/9"), "{wrong}");
}

#[test]
fn details_that_were_not_kept_run_again_and_become_tables() {
    let base = tempfile::tempdir().unwrap();
    let plan = PLAN.replace("1 s", "5 ms") + "tester = { interval = \"5 ms\" }\n";
    let plain = asked(&plan, &OVER, |_| {});
    run(base.path(), &plain, 2);
    let mut detailed = plain.clone();
    (detailed.intervals, detailed.samples) = (true, true);
    assert_eq!(run(base.path(), &detailed, 2), (0, 24, 0));
    assert_eq!(run(base.path(), &plain, 2), (24, 0, 0));
    let names = |asked: &StoredQuestion| tables(base.path(), asked).into_keys().collect::<Vec<_>>();
    let detail = |name: &String| name.starts_with("intervals") || name.starts_with("samples");
    assert_eq!(
        names(&detailed).iter().filter(|name| detail(name)).count(),
        2
    );
    assert_eq!(names(&plain).iter().filter(|name| detail(name)).count(), 0);
    assert!(names(&plain).contains(&"columns.json".to_owned()));
}

#[test]
fn rows_of_a_worker_are_those_of_the_sweep_and_a_changed_one_is_not_taken() {
    let [here, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let asked = asked(PLAN, &OVER, |_| {});
    run(here.path(), &asked, 2);
    let sweep = Sweep::open(elsewhere.path(), asked.clone()).unwrap();
    let job = sweep.results();
    let (mut first, progress) = (Round::first(&job), Progress::default());
    let mut units = first.pending(&job, 7, &progress);
    assert_eq!(units.len(), 7);
    units.extend(first.pending(&job, 100, &progress));
    assert_eq!(units.len(), 24);
    assert!(first.pending(&job, 1, &progress).is_empty());
    assert!(Worker::new(asked.clone(), "another").is_err());
    let worker = Worker::new(asked.clone(), "test").unwrap();
    sweep.begin().unwrap();
    let never = AtomicBool::new(false);
    for bundle in units.chunks(5) {
        let rows = worker.run(bundle, &never);
        // A digit of the first row was changed in transit, and the last one was cut off.
        let spoilt = rows.replacen("\"duration_ns\":", "\"duration_ns\":1", 1);
        let taken = sweep.store().absorb(&spoilt[..spoilt.len() - 1]).unwrap();
        assert_eq!(taken as usize, bundle.len().saturating_sub(2));
        assert_eq!(sweep.store().absorb(&rows).unwrap() as usize, bundle.len());
    }
    sweep.store().finish().unwrap();
    let mut again = Round::first(&job);
    assert!(again.pending(&job, 1, &progress).is_empty());
    assert_eq!(progress.known.load(Ordering::Relaxed), 24);
    assert!(first.next(&job).unwrap().is_none());
    assert_eq!(sweep.write_tables().unwrap(), 0);
    assert_eq!(
        tables(elsewhere.path(), &asked),
        tables(here.path(), &asked)
    );
}

#[test]
fn what_a_batch_draws_is_the_same_in_all_its_cells_and_wherever_they_run() {
    let [here, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let asked = asked(PLAN, &["flow.bytes=20 kB,40 kB"], |section| {
        section.draw = vec!["path.rtt=1 ms..9 ms".to_owned()];
        section.batches = Some(3);
        section.repeat = Some(2);
    });
    assert_eq!(run(here.path(), &asked, 2), (0, 12, 0));
    assert_eq!(run(here.path(), &asked, 1), (12, 0, 0));
    let hashes = hashes(here.path(), &asked);
    let rtts: Vec<&String> = hashes.iter().map(|(changes, ..)| &changes[1]).collect();
    assert_eq!(rtts[..6], rtts[6..], "one draw for both cells");
    assert!(rtts[0] == rtts[1] && rtts[1] != rtts[2] && rtts[3] != rtts[4]);
    for (overrides, seed, hash) in &hashes {
        let mut job = gigatcp_run::Job::of(parse("p", PLAN.as_bytes(), overrides).unwrap());
        job.seed = *seed;
        assert_eq!(&job.records().unwrap()[0].event_hash, hash);
    }
    let sweep = Sweep::open(elsewhere.path(), asked.clone()).unwrap();
    let units = Round::first(&sweep.results()).pending(&sweep.results(), 100, &Progress::default());
    sweep.begin().unwrap();
    let worker = Worker::new(asked.clone(), "test").unwrap();
    let rows = worker.run(&units, &AtomicBool::new(false));
    assert_eq!(sweep.store().absorb(&rows).unwrap(), 12);
    sweep.store().finish().unwrap();
    sweep.write_tables().unwrap();
    assert_eq!(
        tables(elsewhere.path(), &asked),
        tables(here.path(), &asked)
    );
}

#[test]
fn a_question_is_stored_in_the_order_of_fields_that_its_directory_is_named_after() {
    let asked = asked(PLAN, &OVER, |_| {});
    let text = serde_json::to_string(&asked).unwrap();
    let fields = "schema name title version plan files overrides series over exclude design \
                  is_random seed repeat batches metric until most intervals samples";
    let place = |field: &str| text.find(&format!("\"{field}\":")).expect("it is there");
    let places: Vec<usize> = fields.split_whitespace().map(place).collect();
    assert!(places.is_sorted(), "{text}");
    let stored: serde_json::Value = serde_json::from_str(&text).unwrap();
    let count = stored.as_object().unwrap().len();
    assert_eq!(count, places.len(), "a new field: {text}");
    assert_eq!(
        serde_json::from_str::<StoredQuestion>(&text).unwrap(),
        asked
    );
}
