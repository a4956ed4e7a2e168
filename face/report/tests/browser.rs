//! Tests the page of graphs in a real browser: zoom by wheel, drag and keys, from packet to packet,
//! hover, named intervals, both themes, wide and narrow. Skipped with a message if chromedriver is
//! not installed.

mod connection;
mod driver;
mod layout;
mod pages;
mod sample;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use connection::eventful;
use driver::Browser;
use gigatcp_plan::design::grid;
use gigatcp_report::graph::{
    DiagnosisText, Effect, Graph, GraphBuilder, PAGE_BUDGET, Page, Plotted, Point, Span,
};
use gigatcp_report::sweep::{SweepReport, View as SweepView};
use serde_json::Value;

fn browser() -> Option<Browser> {
    let browser = Browser::start(1_280, 1_400);
    if browser.is_none() {
        // Written to stderr directly: the test runner captures `eprintln!`.
        let line = "SKIPPED, NOTHING PROVEN: chromedriver is not installed, no page is tried in a browser\n";
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    browser
}

/// Writes a page of the graph, which can be opened by hand too.
fn saved(name: &str, graph: &Graph, spans: Vec<Span>) -> PathBuf {
    let page = Page {
        title: name.into(),
        about: "A connection told by a test.".into(),
        facts: vec![("Packets".into(), graph.points().to_string())],
        graphs: vec![Plotted {
            label: "1: 192.0.2.1:40000 to 192.0.2.2:5201".into(),
            facts: vec![("unique bytes".into(), "57.9 kB".into())],
            graph,
            knows_windows: true,
            spans,
            said: DiagnosisText {
                headline: "Limited by a test.".into(),
                lines: vec![("Cost".into(), "nothing".into())],
                findings: vec![("a-test: all of the time".into(), vec!["found <b>".into()])],
            },
            notes: Vec::new(),
        }],
    };
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&file, page.html(PAGE_BUDGET)).unwrap();
    file
}

/// Page of a small connection, written once. Rewriting it would truncate it while another test
/// reads it.
fn small() -> PathBuf {
    static FILE: LazyLock<PathBuf> = LazyLock::new(small_page);
    FILE.clone()
}

fn small_page() -> PathBuf {
    let graph = eventful().watched().swap_remove(0).graph;
    let span = |from_ns, to_ns, name: &str| Span {
        from_ns,
        to_ns,
        name: name.into(),
        text: format!("All about {name}."),
    };
    let spans = vec![
        span(21_000_000, 34_200_000, "random-loss"),
        span(34_200_000, 60_000_000, "receive-window-limited"),
    ];
    saved("graph.html", &graph, spans)
}

/// The visible range: times in milliseconds, and offsets.
#[derive(Debug)]
struct View {
    x0: f64,
    x1: f64,
    y0: f64,
    y1: f64,
}

fn view(browser: &Browser) -> View {
    let view = browser.data("view");
    let view: Value = serde_json::from_str(view.as_str().unwrap()).unwrap();
    let number = |name: &str| view[name].as_f64().unwrap();
    View {
        x0: number("x0") / 1e6,
        x1: number("x1") / 1e6,
        y0: number("y0"),
        y1: number("y1"),
    }
}

/// Position of a time (ms) and an offset in the window.
fn place(browser: &Browser, ms: f64, offset: f64) -> (f64, f64) {
    let found = browser.script(&format!(
        "const box = document.getElementById('sequence-plot').getBoundingClientRect(); \
         return [box.x + sequence.panel.px({}), box.y + sequence.panel.py({offset})]",
        ms * 1e6
    ));
    (found[0].as_f64().unwrap(), found[1].as_f64().unwrap())
}

#[test]
fn a_person_finds_the_lost_segment() {
    let Some(browser) = browser() else { return };
    browser.open(&small(), "light");
    let whole = view(&browser);
    assert!(
        whole.x0 < 0.0 && whole.x1 > 71.0 && whole.y0 < 0.0 && whole.y1 > 57_920.0,
        "{whole:?}"
    );

    // The wheel does nothing before the graph has the focus.
    let middle = place(&browser, 24.1, 15_000.0);
    browser.wheel(middle.0, middle.1, -300);
    assert!((view(&browser).x1 - whole.x1).abs() < 1e-6);
    browser.script("window.scrollTo(0, 0); document.getElementById('sequence-plot').focus()");
    for _ in 0..6 {
        let (x, y) = place(&browser, 24.1, 15_000.0);
        browser.wheel(x, y, -300);
    }
    let near = view(&browser);
    assert!(
        near.x0 < 24.1 && near.x1 > 24.1 && near.x1 - near.x0 < 8.0,
        "{near:?}"
    );

    // What is under the pointer is said.
    let (x, y) = place(&browser, 24.1, 10.5 * 1448.0);
    browser.point(x, y);
    let shown = browser.script("return document.querySelector('.tip').textContent");
    let tip = shown.as_str().unwrap();
    assert!(
        tip.contains("Packet 61 at 0.024100000 s") && tip.contains("retransmission"),
        "{tip}"
    );
    assert!(tip.contains("14\u{202f}480 to 15\u{202f}928"), "{tip}");

    browser.keys("0");
    let again = view(&browser);
    assert!((again.x1 - whole.x1).abs() < 1e-6, "{again:?}");
}

#[test]
fn a_stroke_chooses_a_time_a_box_both_and_shift_moves() {
    let Some(browser) = browser() else { return };
    browser.open(&small(), "light");
    let from = place(&browser, 10.0, 30_000.0);
    let until = place(&browser, 20.0, 30_000.0);
    browser.drag(from, until);
    let stroke = view(&browser);
    assert!(
        (stroke.x0 - 10.0).abs() < 0.3 && (stroke.x1 - 20.0).abs() < 0.3,
        "{stroke:?}"
    );
    assert!(stroke.y1 > 50_000.0, "the height follows: {stroke:?}");
    browser.drag(
        place(&browser, 12.0, 40_000.0),
        place(&browser, 14.0, 10_000.0),
    );
    let both = view(&browser);
    assert!(
        (both.y0 - 10_000.0).abs() < 600.0 && (both.y1 - 40_000.0).abs() < 600.0,
        "{both:?}"
    );
}

#[test]
fn everything_can_be_done_by_keyboard() {
    let Some(browser) = browser() else { return };
    browser.open(&small(), "dark");
    browser.script("document.getElementById('sequence-plot').focus()");
    let whole = view(&browser);
    browser.keys("++");
    let near = view(&browser);
    let ratio = (near.x1 - near.x0) / (whole.x1 - whole.x0);
    assert!((ratio - 0.36).abs() < 1e-3, "{ratio}");
    browser.keys("\u{e014}");
    assert!(view(&browser).x0 > near.x0);
    browser.keys("0r");
    let said = browser.text("readout");
    assert!(
        said.starts_with("Packet 61 at 0.024100000 s") && said.contains("retransmission"),
        "{said}"
    );
    browser.keys(".");
    assert!(
        browser.text("readout").starts_with("Packet 62 "),
        "{}",
        browser.text("readout")
    );
    browser.keys(",,");
    assert!(
        browser.text("readout").starts_with("Packet 60 "),
        "{}",
        browser.text("readout")
    );
    // Down to one packet, which stays in view.
    browser.keys("r++++++++++++++++++++++++++++++++++++++++");
    let one = view(&browser);
    assert!(one.x1 - one.x0 < 1e-3, "{one:?}");
    assert!(one.x0 <= 24.1 && one.x1 >= 24.1, "{one:?}");
    browser.keys("r");
    assert_eq!(browser.text("readout"), "No later retransmission.");
}

#[test]
fn what_was_found_is_read_above_the_graph_and_unfolds() {
    let Some(browser) = browser() else { return };
    browser.open(&small(), "");
    assert_eq!(browser.text("headline"), "Limited by a test.");
    let said = browser.text("said");
    assert!(said.contains("Cost") && said.contains("nothing"), "{said}");
    assert!(said.contains("a-test: all of the time"), "{said}");
    browser.script("document.querySelector('#said summary').click()");
    let shown = browser.script("return document.querySelector('#said li').innerText");
    assert_eq!(shown.as_str(), Some("found <b>"));
    let name = browser.script("return document.querySelector('.picture button').innerText");
    assert_eq!(name.as_str(), Some("receive window 66 %"));
    let sides = browser.script("return document.querySelector('.picture .head b').innerText");
    assert_eq!(
        sides.as_str(),
        Some("Limited: at the receiver 66 %, on the path 34 %")
    );
}

#[test]
fn a_cause_of_less_than_half_a_percent_has_no_button() {
    let Some(browser) = browser() else { return };
    let graph = eventful().watched().swap_remove(0).graph;
    let span = |from_ns, to_ns, name: &str| Span {
        from_ns,
        to_ns,
        name: name.into(),
        text: String::new(),
    };
    let spans = vec![
        span(0, 59_800_000, "random-loss"),
        span(59_800_000, 60_000_000, "send-buffer-limited"),
    ];
    browser.open(&saved("small-share.html", &graph, spans), "light");
    let names = browser.script(
        "return [...document.querySelectorAll('.picture button')].map((button) => button.innerText)",
    );
    assert_eq!(names, serde_json::json!(["random loss 100 %"]));
}

#[test]
fn an_interval_is_shown_by_the_button_of_its_cause_and_by_its_place_in_the_strip() {
    let Some(browser) = browser() else { return };
    browser.open(&small(), "light");
    let causes = browser.text("picture");
    let [loss, window] = ["random loss", "receive window"]
        .map(|cause| causes.find(cause).unwrap_or_else(|| panic!("{causes}")));
    assert!(
        window < loss,
        "the cause of most of the time is first: {causes}"
    );
    browser.script("document.querySelectorAll('.picture button')[1].click()");
    browser.settle();
    let shown = view(&browser);
    assert!(
        (shown.x0 - 20.34).abs() < 0.1 && (shown.x1 - 34.86).abs() < 0.1,
        "{shown:?}"
    );
    let said = browser.text("picture-text");
    assert!(
        said.contains("random loss") && said.contains("All about random-loss."),
        "{said}"
    );
    browser.script("sequence.whole()");
    browser.settle();
    let place = browser.script(
        "const box = document.querySelector('.picture .strip').getBoundingClientRect(); \
         const [x, w] = picture.boxes[0][1].place; return [box.x + x + w / 2, box.y + box.height / 2]",
    );
    browser.click(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    browser.settle();
    assert!(browser.text("picture-text").contains("receive window"));
    assert!(view(&browser).x0 > 30.0);
}

#[test]
fn the_answer_heads_the_page_and_panels_without_anything_to_show_are_absent() {
    let Some(browser) = browser() else { return };
    browser.open(&small(), "light");
    assert_eq!(browser.text("headline"), "Limited by a test.");
    let is_hidden = |id: &str| {
        let script = format!("return document.getElementById('{id}').offsetParent === null");
        browser.script(&script).as_bool().unwrap()
    };
    assert!(!is_hidden("picture"));
    assert!(is_hidden("choose"), "there is one stream");
    let kinds = browser.script("return picture.parts.map(({ kind }) => kind)");
    let all = ["strip", "row", "row", "row", "ticks", "time"];
    assert_eq!(kinds, serde_json::json!(all));

    let graph = GraphBuilder::new(1_000, 1).finish();
    browser.open(&saved("nothing.html", &graph, Vec::new()), "light");
    assert!(is_hidden("picture"));
}

#[test]
fn data_whose_acks_are_not_in_the_file_has_no_graph_of_what_is_in_flight() {
    let Some(browser) = browser() else { return };
    let mut told = eventful();
    told.packets.retain(|packet| packet.src_port == 40_000);
    let graph = told.watched().swap_remove(0).graph;
    browser.open(&saved("no-acks.html", &graph, Vec::new()), "light");
    let rows = browser.script(
        "return picture.data.rows.map(({ title, lines }) => [title, ...lines.map(({ label }) => label)])",
    );
    assert_eq!(rows, serde_json::json!([["rate", "sent"]]));
}

#[test]
fn intervals_too_narrow_to_be_seen_are_drawn_as_one_until_the_view_is_near() {
    let Some(browser) = browser() else { return };
    let graph = eventful().watched().swap_remove(0).graph;
    let names = ["random-loss", "random-loss", "rto-backoff"];
    let spans = (0..300_u64).map(|index| Span {
        from_ns: index * 200_000,
        to_ns: (index + 1) * 200_000,
        name: names[index as usize % 3].into(),
        text: String::new(),
    });
    browser.open(&saved("narrow.html", &graph, spans.collect()), "light");
    let boxes = || {
        let found = browser.script("return picture.boxes[0].map(({ place }) => place[1])");
        let widths: Vec<f64> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w.as_f64().unwrap())
            .collect();
        widths
    };
    let whole = boxes();
    assert!(whole.len() < 150, "{whole:?}");
    assert!(whole.iter().all(|width| *width > 3.0), "{whole:?}");
    browser.script("sequence.show(10e6, 12e6)");
    browser.settle();
    let near = boxes();
    assert!(
        near.len() >= 6 && near.iter().all(|width| *width > 20.0),
        "{near:?}"
    );
}

#[test]
fn both_themes_are_drawn_at_every_width() {
    let Some(browser) = browser() else { return };
    let file = small();
    let mut pictures = Vec::new();
    for theme in ["light", "dark"] {
        browser.open(&file, theme);
        for width in [1_280, 800, 420] {
            browser.resize(width, 1_400);
            let overflow = browser.script("return document.body.scrollWidth - innerWidth");
            assert!(
                overflow.as_i64().unwrap() <= 0,
                "{theme} {width}: {overflow} too wide"
            );
            assert!(browser.data("error").is_null());
            pictures.push(browser.picture());
        }
    }
    for (index, picture) in pictures.iter().enumerate() {
        assert!(picture.len() > 20_000, "{}", picture.len());
        assert!(!pictures[..index].contains(picture));
    }
}

#[test]
fn a_million_segments_are_drawn_again_at_every_key() {
    let Some(browser) = browser() else { return };
    let mut builder = GraphBuilder::new(1_500_000, 1);
    let mut random = 1_u64;
    let (mut at_ns, mut frame) = (0, 0);
    for index in 0..1_000_000_u64 {
        let mut add = |effect, marks| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            at_ns += 300 + (random >> 55);
            frame += 1;
            builder.add(Point {
                frame,
                at_ns,
                marks,
                effect,
            });
        };
        let again = index > 1_000 && index % 50_000 == 0;
        let start = if again { index - 500 } else { index } * 1_448;
        let marks = if again {
            Point::of_kinds(&[gigatcp_flows::Kind::SackRetransmission])
        } else {
            0
        };
        add(Effect::Data { start, len: 1_448 }, marks);
        if index % 2 == 1 {
            let answer = Effect::Ack {
                ack: index.saturating_sub(200) * 1_448,
                window: 1 << 20,
                sack: Default::default(),
                sack_len: 0,
                rtt_ns: Some(110_000 + (index % 1_000) * 10),
            };
            add(answer, 0);
        }
    }
    let file = saved("graph-million.html", &builder.finish(), Vec::new());
    browser.open(&file, "light");
    browser.script("document.getElementById('sequence-plot').focus()");
    let mut slowest = 0.0_f64;
    let mut note = |browser: &Browser| {
        let ms = browser.data("drawMs");
        let ms: f64 = ms.as_str().unwrap().parse().unwrap();
        slowest = slowest.max(ms);
    };
    note(&browser);
    browser.keys("r");
    for _ in 0..30 {
        browser.keys("+");
        note(&browser);
    }
    for _ in 0..30 {
        browser.keys("-");
        note(&browser);
    }
    // Some 100 ms on an idle machine. Printed but not checked: the machine may be busy with other
    // tests.
    println!("the slowest of 61 pictures took {slowest} ms");
    assert!(slowest > 0.0, "every key drew a picture");
}

#[test]
fn a_long_run_is_lines_and_not_a_smear_on_a_telephone() {
    let Some(browser) = browser() else { return };
    // Bursts of a second on eight series, for most of an hour.
    let mut run = sample::run(1);
    for series in &mut run.series {
        let flow = &mut series.flows[0];
        let interval = flow.intervals[0].clone();
        let seconds = (0..3_000_u64).map(|second| gigatcp_plan::record::IntervalRecord {
            start_ns: second * 1_000_000_000,
            end_ns: (second + 1) * 1_000_000_000,
            bytes: (second * second % 7) * 100_000,
            ..interval.clone()
        });
        flow.intervals = seconds.collect();
    }
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("report-long.html");
    fs::write(&file, gigatcp_report::Report::new(&run, None).html()).unwrap();
    browser.resize(390, 844);
    browser.open(&file, "");
    let overflow = browser.script("return document.documentElement.scrollWidth - innerWidth");
    assert!(overflow.as_i64().unwrap() <= 0, "{overflow} too wide");
    // Pixels of the graph that are not background.
    let inked = browser.script(
        "const c = document.querySelector('.picture .row'), g = c.getContext('2d');
         const d = g.getImageData(0, 0, c.width, c.height).data; let n = 0;
         for (let i = 0; i < d.length; i += 4) n += d[i] !== d[0] || d[i + 1] !== d[1];
         return n / (d.length / 4)",
    );
    assert!(inked.as_f64().unwrap() < 0.2, "{inked} of it is ink");
    let notes = browser.script("return document.getElementById('over-time').textContent");
    assert!(notes.as_str().unwrap().contains("of up to 20"), "{notes}");
}

#[test]
fn series_too_short_for_a_graph_are_named_and_very_different_ones_get_axes_that_show_both() {
    let Some(browser) = browser() else { return };
    let mut run = sample::run(1);
    // Rates of fewer than a quarter of the series are not drawn.
    run.series.truncate(8);
    for (index, series) in run.series.iter_mut().enumerate() {
        let flow = &mut series.flows[0];
        flow.samples.clear();
        // The first alone is long enough, and a thousand times slower than the second.
        flow.intervals.truncate(if index < 2 { 5 } else { 2 });
        for line in &mut flow.intervals {
            line.bytes = if index == 0 { 1_000 } else { 1_000_000 };
        }
    }
    let page = |name: &str, run: &gigatcp_plan::record::RunRecord| {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&file, gigatcp_report::Report::new(run, None).html()).unwrap();
        browser.open(&file, "");
    };
    page("report-short.html", &run);
    let script = |text: &str| browser.script(&format!("return {text}"));
    let lines = script("pictureData(null).rows[0].lines.map(({ label }) => label)");
    assert_eq!(
        lines,
        serde_json::json!([run.series[0].name, run.series[1].name])
    );
    let note = browser.text("picture-text");
    assert!(note.contains(&run.series[2].name), "{note}");
    assert_eq!(script("pictureData(null).rows[0].log"), true);
    let painted = script(
        "document.querySelector('[data-cause] canvas').getContext('2d').getImageData(1, 1, 1, 1).data[3]",
    );
    assert_eq!(painted, 255, "the strips of causes are painted");

    run.series
        .iter_mut()
        .for_each(|series| series.flows[0].intervals.truncate(2));
    page("report-shorter.html", &run);
    assert_eq!(
        script("pictureData(null).rows.filter(({ title }) => title === 'rate').length"),
        0
    );
}

#[test]
fn a_page_of_many_series_begins_with_some_and_shows_the_others_when_asked() {
    let Some(browser) = browser() else { return };
    let mut run = sample::run(1);
    let one = run.series[0].clone();
    run.series = (0..40)
        .map(|number| {
            let mut series = one.clone();
            series.name = format!("series-{number}");
            for line in &mut series.flows[0].intervals {
                line.bytes = 1_000_000 * (number + 1);
            }
            series
        })
        .collect();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("report-many.html");
    fs::write(&file, gigatcp_report::Report::new(&run, None).html()).unwrap();
    browser.open(&file, "");
    let script = |text: &str| browser.script(&format!("return {text}"));
    let shown =
        || script("LINES.map(({ index }) => index).filter((index) => !hiddenLines.has(index))");
    // The slowest, the fastest, and between them.
    assert_eq!(shown(), serde_json::json!([0, 6, 11, 17, 22, 28, 33, 39]));
    assert_eq!(script("picture.data.strips.length"), 8);
    let note = browser.text("legend-note");
    assert!(note.starts_with("8 of 40 are shown: the fastest"), "{note}");
    // The picture comes before the tables.
    let order = "document.getElementById('over-time').compareDocumentPosition(\
                 document.getElementById('summary')) & Node.DOCUMENT_POSITION_FOLLOWING";
    assert_eq!(script(order), 4);

    browser.script("[...document.querySelectorAll('#legend button')].find((b) => b.textContent === 'All').click()");
    assert_eq!(script("picture.data.rows[0].lines.length"), 40);
    let text = script("document.querySelector('.picture .head b').textContent");
    let head = text.as_str().unwrap();
    assert!(head.starts_with("Limited (the first 8 of 40): "), "{head}");
    assert_eq!(browser.text("legend-note"), "");
    browser.open(&file, "show=series-7&show=series-9");
    assert_eq!(shown(), serde_json::json!([7, 9]));
}

/// The page of a sweep over RTTs and two controls. Goodput falls from 90 Mbit/s by 60 in all.
fn sweep_page(name: &str, rtts: &[&str]) -> PathBuf {
    let axes = [
        ("path.rtt", rtts),
        ("flow.congestion_control", &["cubic", "reno"]),
    ];
    sweep_of(name, &axes)
}

/// The page of a sweep over any axes.
fn sweep_of(name: &str, axes: &[(&str, &[&str])]) -> PathBuf {
    let scales = axes.iter().map(|(name, labels)| grid::Scale {
        name: (*name).into(),
        labels: labels.iter().map(|label| (*label).into()).collect(),
    });
    let count: usize = axes.iter().map(|(_, labels)| labels.len()).product();
    let arms = (0..count as u32).map(|cell| {
        let mut rest = cell;
        let levels = axes.iter().rev().map(|(_, labels)| {
            let level = rest % labels.len() as u32;
            rest /= labels.len() as u32;
            Some(level)
        });
        let mut levels: Vec<_> = levels.collect();
        levels.reverse();
        grid::Arm {
            cell: cell.into(),
            levels,
            values: vec![f64::from(90 - 60 / count as u32 * cell) * 1e6],
            failures: 0,
        }
    });
    let grid = grid::Grid {
        metric: "goodput_bps".into(),
        scales: scales.collect(),
        arms: arms.collect(),
    };
    let report = SweepReport {
        name: "two",
        title: "Two controls",
        grid: &grid,
        theory: Some(&grid),
        unit: "bit/s",
        meaning: "goodput",
        missing: 0,
        batches: (1, 1),
        draws: &[],
    };
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let one = "gigatcp show runs/two --cell";
    fs::write(&file, report.page(&SweepView::default(), "", one)).unwrap();
    file
}

#[test]
fn a_mark_of_a_sweep_gives_the_command_of_its_cell_by_mouse_and_by_keys() {
    let Some(browser) = browser() else { return };
    let page = sweep_page("sweep.html", &["10 ms", "20 ms", "40 ms"]);
    browser.open(&page, "");
    let place = browser.script(
        "const box = document.querySelector('circle[data-cell=\"3\"]').getBoundingClientRect(); \
         return [box.x + box.width / 2, box.y + box.height / 2]",
    );
    browser.click(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    let said = browser.text("cell");
    assert!(
        said.contains("60.00 Mbit/s") && said.contains("gigatcp show runs/two --cell 3"),
        "{said}"
    );
    // Each visible plot is one tab stop; End and Left walk its tiles, row by row.
    let stops = browser.script(
        "const shown = [...document.querySelectorAll('figure svg')].filter((plot) => plot.clientWidth);
         return shown.map((plot) => plot.tabIndex)",
    );
    assert_eq!(stops, serde_json::json!([0, 0]));
    browser.script("document.querySelector('#heat svg').focus()");
    for (key, cell) in [("\u{e010}", 5), ("\u{e012}", 3), ("\u{e011}", 0)] {
        browser.keys(key);
        let said = browser.text("cell");
        assert!(said.contains(&format!("runs/two --cell {cell}")), "{said}");
    }
    browser.script("document.querySelector('#cell button').click()");
    let selected = browser.script("return getSelection().toString()");
    assert_eq!(
        selected,
        serde_json::json!("gigatcp show runs/two --cell 0")
    );
}
