//! The pages of a run, of a test and of a sweep in use: zoom, views of moments, addresses that
//! restore a view, tables that sort and filter.

use std::fs;
use std::path::PathBuf;

use gigatcp_plan::record::RunRecord;
use serde_json::{Value, json};

use crate::driver::Browser;
use crate::{browser, sample, small, sweep_page, view};

/// Writes the page of a run and returns its file.
fn page(name: &str, run: &RunRecord) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&file, gigatcp_report::Report::new(run, None).html()).unwrap();
    file
}

/// A run with its first loss at 4 s and an RTT of 82 ms.
fn run_with_a_loss() -> RunRecord {
    let mut run = sample::run(1);
    let flows = run.series.iter_mut().flat_map(|series| &mut series.flows);
    for packets in flows.filter_map(|flow| flow.time_sequence.as_mut()) {
        *packets = sample::sequence(4_000);
    }
    run
}

/// Address when it has the view, which it gets a moment later.
fn address(browser: &Browser) -> String {
    browser.script("link.put()");
    let address = browser.script("return decodeURIComponent(location.hash)");
    address.as_str().unwrap().to_owned()
}

/// From and to of the graphs over time, or null.
fn span(browser: &Browser) -> Value {
    browser.script("return shown.span && shown.span.map((at) => Math.round(at * 10) / 10)")
}

fn press(browser: &Browser, text: &str) {
    browser.script(&format!(
        "[...document.querySelectorAll('button')].find((one) => one.textContent === '{text}').click()"
    ));
    browser.settle();
}

#[test]
fn a_drag_over_one_graph_zooms_all_and_the_address_shows_the_same_again() {
    let Some(browser) = browser() else { return };
    let file = page("report-zoom.html", &run_with_a_loss());
    browser.open(&file, "light");
    assert_eq!(span(&browser), Value::Null);
    let place = |seconds: f64| {
        let found = browser.script(&format!(
            "const canvas = document.querySelector('.picture .row'); \
             canvas.scrollIntoView({{ block: 'center' }}); const box = canvas.getBoundingClientRect(); \
             return [box.x + picture.x.position({seconds}), box.y + box.height / 2]"
        ));
        (found[0].as_f64().unwrap(), found[1].as_f64().unwrap())
    };
    browser.drag(place(2.0), place(5.0));
    assert_eq!(span(&browser), json!([2, 5]));
    let axis = browser.script("return [picture.x.low, picture.x.high].map(Math.round)");
    assert_eq!(axis, json!([2, 5]));
    browser.script("document.querySelector('#legend button').click()");
    let kept = address(&browser);
    assert!(
        kept.contains("t=") && kept.contains("show=") && kept.contains("light"),
        "{kept}"
    );

    browser.open(&file, kept.trim_start_matches('#'));
    assert_eq!(span(&browser), json!([2, 5]));
    assert_eq!(browser.script("return [...hiddenLines]"), json!([0]));
    let said = browser.text("span-text");
    assert!(
        said.starts_with("Shown: ") && said.contains(" to ") && said.ends_with(" s"),
        "{said}"
    );
    // By keys: zoom in, and the whole; the address then has no span.
    browser.script("document.getElementById('picture').focus()");
    browser.keys("+");
    let near = browser.script("return shown.span[1] - shown.span[0]");
    assert!((near.as_f64().unwrap() - 1.5).abs() < 0.05, "{near}");
    // By buttons, about the middle.
    for (id, seconds) in [("span-in", 0.75), ("span-out", 1.5)] {
        browser.script(&format!("document.getElementById('{id}').click()"));
        let near = browser.script("return shown.span[1] - shown.span[0]");
        assert!((near.as_f64().unwrap() - seconds).abs() < 0.05, "{near}");
    }
    assert!(browser.data("error").is_null());
    browser.keys("0");
    assert_eq!(span(&browser), Value::Null);
    assert!(!address(&browser).contains("t="));
}

#[test]
fn a_view_of_a_moment_has_it_in_the_middle_and_a_broken_address_is_ignored() {
    let Some(browser) = browser() else { return };
    let file = page("report-moments.html", &run_with_a_loss());
    browser.open(
        &file,
        "t=5..2&segments=NaN..1&connection=%ZZ&show=nobody&what",
    );
    assert!(browser.data("error").is_null());
    assert_eq!(span(&browser), Value::Null);
    assert_eq!(browser.script("return hiddenLines.size"), 0);
    let view = || {
        browser.script(
            "return [graphs.panel.view.x0, graphs.panel.view.x1].map((at) => Math.round(at / 1e6))",
        )
    };
    press(&browser, "First loss");
    assert_eq!(view(), json!([3_590, 4_410]));
    let kept = address(&browser);
    press(&browser, "Slow start");
    assert_eq!(view(), json!([82, 902]));
    browser.open(&file, kept.trim_start_matches('#'));
    assert_eq!(view(), json!([3_590, 4_410]));
    browser.script("document.getElementById('sequence-plot').focus()");
    browser.keys("0");
    assert!(!address(&browser).contains("segments="));
}

#[test]
fn the_page_of_a_test_has_its_answer_first_and_every_control_has_a_name() {
    let Some(browser) = browser() else { return };
    let mut run = sample::run(1);
    // A test has no plan.
    run.plan_hash.clear();
    run.series.truncate(2);
    browser.resize(360, 780);
    browser.open(&page("report-test.html", &run), "dark");
    let headline = browser.script("return document.querySelector('h1').textContent");
    assert!(headline.as_str().unwrap().contains("bit/s"), "{headline}");
    let overflow = browser.script("return document.documentElement.scrollWidth - innerWidth");
    assert!(overflow.as_i64().unwrap() <= 0, "{overflow} too wide");
    let nameless = browser.script(
        "const name = (one) => one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent;
         const parts = [...document.querySelectorAll('button, select, input, canvas:not([aria-hidden]), svg, [tabindex]')];
         return parts.filter((one) => !name(one)?.trim()).map((one) => one.outerHTML.slice(0, 80))",
    );
    assert_eq!(nameless, json!([]));
    // Letters grow with the screen.
    browser.resize(3_840, 2_160);
    let letters = browser.script("return parseFloat(getComputedStyle(document.body).fontSize)");
    assert!(letters.as_f64().unwrap() > 24.0, "{letters}");
}

#[test]
fn cells_of_a_sweep_are_sorted_filtered_and_linked_by_their_number() {
    let Some(browser) = browser() else { return };
    let rtts = [
        "10 ms", "20 ms", "30 ms", "40 ms", "50 ms", "60 ms", "70 ms", "80 ms", "100 ms",
    ];
    browser.open(&sweep_page("sweep-long.html", &rtts), "cell=4");
    assert!(browser.text("cell").contains("runs/two --cell 4"));
    let column = |column: u32| {
        browser.script(&format!(
            "return [...document.querySelectorAll('#cells tbody tr')].filter((row) => !row.hidden).slice(0, 3).map((row) => row.cells[{column}].textContent)"
        ))
    };
    let sort = |head: u32| {
        browser.script(&format!(
            "const head = document.querySelectorAll('#cells th .sort')[{head}]; head.focus()"
        ));
        browser.keys("\u{e007}");
    };
    sort(3);
    assert_eq!(column(0), json!(["0", "1", "2"]), "the largest first");
    sort(3);
    assert_eq!(column(0), json!(["17", "16", "15"]));
    // Levels are in the order of the axis, not of their letters.
    sort(1);
    assert_eq!(column(1), json!(["100 ms", "100 ms", "80 ms"]));
    browser.script("document.querySelector('#cells input').focus()");
    browser.keys("reno 40");
    assert_eq!(column(2), json!(["reno"]));
    let rows = browser.script("return document.querySelector('#cells .tools .note').textContent");
    assert_eq!(rows, json!("1 of 18 rows"));
    browser.script("document.querySelector('#cells tr:not([hidden]) button[data-cell]').click()");
    let kept = address(&browser);
    let said = browser.text("cell");
    assert!(
        said.contains("path.rtt 40 ms") && kept.contains("cell="),
        "{said} {kept}"
    );
}

#[test]
fn the_first_loss_of_a_capture_is_in_the_middle_and_its_address_shows_it_again() {
    let Some(browser) = browser() else { return };
    browser.open(&small(), "t=0.01..0.02&offsets=7..x&stream=another");
    let asked = view(&browser);
    assert!(
        (asked.x0 - 10.0).abs() < 1e-3 && (asked.x1 - 20.0).abs() < 1e-3,
        "{asked:?}"
    );
    press(&browser, "First loss");
    let rtt = browser.script("return rttAt(sequence.tree, 24.1e6) / 1e6");
    let half = 5.0 * rtt.as_f64().unwrap();
    let shown = view(&browser);
    assert!(
        (shown.x0 - (24.1 - half).max(0.0)).abs() < 1e-3,
        "{shown:?} {half}"
    );
    assert!((shown.x1 - (24.1 + half)).abs() < 1e-3, "{shown:?} {half}");
    let kept = address(&browser);
    browser.open(&small(), kept.trim_start_matches('#'));
    let again = view(&browser);
    assert!(
        (again.x0 - shown.x0).abs() < 0.1 && (again.x1 - shown.x1).abs() < 0.1,
        "{again:?}"
    );
    press(&browser, "Whole");
    assert!(!address(&browser).contains("t="));
}
