//! Every kind of page at three widths, light and dark: nothing overlaps, is cut, or is empty, and
//! the picture is above the fold of an ordinary screen.

use std::fs;
use std::path::PathBuf;

use gigatcp_plan::record::{
    DatagramsInterval, DatagramsQuality, DatagramsRecord, DelayRecord, FlowRecord, LatencyRecord,
    RunRecord, TestRecord,
};
use serde_json::json;

use crate::{browser, sample, small, sweep_of};

const MS: u64 = 1_000_000;

/// Finds what is wrong with the page as it is drawn. Letters in a canvas are found by drawing it
/// again.
const FIND: &str = r"
const found = [];
const root = document.documentElement;
if (root.scrollWidth > innerWidth) found.push(`${root.scrollWidth - innerWidth} px too wide`);
const isSeen = (node) => node.checkVisibility() && node.getClientRects().length;
const boxOf = (node) => node.getBoundingClientRect();
const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
const apart = (boxes, where) => boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
  if (meet(a, b)) found.push(`${where}: '${a.text}' overlaps '${b.text}'`);
}));
const within = (boxes, frame, where) => boxes.forEach((box) => {
  if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2) found.push(`${where}: '${box.text}' is cut`);
});
const boxed = (nodes) => nodes.filter(isSeen).map((node) => {
  const { left, right, top, bottom } = boxOf(node);
  return { left, right, top, bottom, text: node.textContent.trim().slice(0, 40) };
});
const page = { left: 0, right: innerWidth, top: -Infinity, bottom: Infinity };
for (const group of document.querySelectorAll('header, .head, .tools, .legend, .facts')) {
  const boxes = boxed([...group.children]);
  apart(boxes, group.className || group.tagName);
  within(boxes, page, group.className || group.tagName);
}
for (const svg of document.querySelectorAll('figure svg')) {
  if (!isSeen(svg)) continue;
  const boxes = boxed([...svg.querySelectorAll('text')]);
  apart(boxes, svg.closest('section').id);
  within(boxes, boxOf(svg), svg.closest('section').id);
  if (boxOf(svg).height < 20 || svg.children.length < 4) found.push(`${svg.closest('section').id} is empty`);
}
for (const node of document.querySelectorAll('h1, h2, summary, section, .fold')) {
  if (isSeen(node) && (boxOf(node).height < 8 || !node.textContent.trim())) found.push(`${node.id || node.tagName} is empty`);
}
if (typeof picture !== 'undefined' && picture && !picture.frame.hidden) {
  const written = new Map();
  const real = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, most) {
    const m = this.measureText(text), wide = Math.min(m.width, most ?? Infinity);
    const left = x - { left: 0, center: wide / 2, right: wide }[this.textAlign];
    const list = written.get(this.canvas) ?? [];
    list.push({ text, left, right: left + wide, top: y - m.actualBoundingBoxAscent, bottom: y + m.actualBoundingBoxDescent });
    written.set(this.canvas, list);
    real.call(this, text, x, y, ...(most === undefined ? [] : [most]));
  };
  picture.paint();
  CanvasRenderingContext2D.prototype.fillText = real;
  for (const { canvas, kind } of picture.parts) {
    const unit = unitPixels(), list = written.get(canvas) ?? [];
    apart(list, kind);
    within(list, { left: 0, right: canvas.clientWidth / unit, top: 0, bottom: canvas.clientHeight / unit }, kind);
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    if (colors.size < 3) found.push(`${kind} is empty`);
  }
  if (innerWidth === 1200 && boxOf(picture.frame).bottom > innerHeight) found.push('the picture is below the fold');
}
return found;
";

/// A run as a test, which has no plan.
fn test() -> RunRecord {
    let mut run = sample::run(1);
    run.plan_hash.clear();
    run.series.truncate(1);
    run
}

/// The terminal's line of the pings.
const PINGS: &str = "ICMP pings: idle 80.00 ms, under load 99.90 ms, p99 109.70 ms; 1 lost";

/// A test with pings, whose flow lost segments.
fn latency() -> RunRecord {
    let mut run = test();
    for kind in ["icmp", "udp", "tcp"] {
        run.series[0].latency.push(LatencyRecord {
            kind: kind.to_owned(),
            idle_ns: (0..20).map(|step| 80 * MS + step).collect(),
            loaded_ns: (0..200).map(|step| 90 * MS + step * MS / 10).collect(),
            lost: 1,
        });
    }
    run.series[0].test = Some(TestRecord {
        facts: vec![("Latency".to_owned(), PINGS.to_owned())],
        ..TestRecord::default()
    });
    for (index, sample) in run.series[0].flows[0].samples.iter_mut().enumerate() {
        sample.retransmitted_segments = Some(index as u64 / 100);
    }
    run
}

/// A test with pings and two streams in each direction.
fn both_ways() -> RunRecord {
    let mut run = latency();
    let flow = run.series[0].flows.remove(0);
    let names =
        ["1 to", "3 to", "4 from", "5 from"].map(|name| format!("stream {name} the server"));
    run.series[0].flows = names
        .map(|name| FlowRecord {
            name,
            ..flow.clone()
        })
        .to_vec();
    run
}

#[test]
fn streams_of_both_directions_are_led_by_their_sums() {
    let Some(browser) = browser() else { return };
    browser.open(&report("sums.html", &both_ways()), "light");
    let said = browser.text("answer");
    assert!(said.contains(PINGS), "{said}");
    let rates = "pictureData(null).rows[0].lines";
    let labels = browser.script(&format!(
        "return {rates}.slice(0, 2).map(({{ label }}) => label)"
    ));
    assert_eq!(
        labels,
        json!(["sum of 2 to the server", "sum of 2 from the server"])
    );
    // All streams of the sample are the same.
    let shares = browser.script(&format!(
        "const [sum, , one] = {rates}; return sum.v.map((value, i) => value / one.v[i])"
    ));
    let shares = shares.as_array().expect("numbers");
    assert!(
        shares.len() > 3 && shares.iter().all(|share| *share == json!(2)),
        "{shares:?}"
    );
}

/// A test with datagrams that arrived here.
fn datagrams() -> RunRecord {
    let mut run = test();
    run.series[0].flows.clear();
    let interval = |second: u64| DatagramsInterval {
        start_ns: second * 1000 * MS,
        end_ns: (second + 1) * 1000 * MS,
        bytes: 1_000_000 + second * 10_000,
        datagrams: 700,
        received: Some(DatagramsQuality {
            lost: (second % 3) as i64,
            reordered: second % 2,
            jitter_ns: MS + second * 1000,
        }),
    };
    let delay = |step: u64| DelayRecord {
        at_ns: step * 10 * MS,
        min_ns: 40_000_000,
        max_ns: 41_000_000 + step as i64 * 10_000,
    };
    run.series[0].datagrams.push(DatagramsRecord {
        name: "stream 1 from the server".to_owned(),
        application: "datagrams".to_owned(),
        sent: 7000,
        received: 6990,
        bytes: 10_000_000,
        lost: 10,
        duplicates: 0,
        reordered: 5,
        max_reordering_extent: 2,
        host_drops: Default::default(),
        jitter_ns: MS,
        max_jitter_ns: 2 * MS,
        intervals: (0..10).map(interval).collect(),
        delays: (0..1000).map(delay).collect(),
    });
    run
}

fn report(name: &str, run: &RunRecord) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&file, gigatcp_report::Report::new(run, None).html()).unwrap();
    file
}

#[test]
fn every_page_at_every_width_has_no_overlap_no_cut_label_and_no_empty_panel() {
    let Some(browser) = browser() else { return };
    let mut watch = test();
    watch.name = "watch 5".to_owned();
    watch.series[0].flows[0].counted_by = Some("sender".to_owned());
    let rtts: &[&str] = &["10 ms", "20 ms", "40 ms", "80 ms"];
    let controls: &[&str] = &["cubic", "reno", "bbr3"];
    let (losses, rates): (&[&str], &[&str]) = (&["1e-4", "1e-2"], &["10 Mbit/s", "100 Mbit/s"]);
    let two = [("path.rtt", rtts), ("flow.congestion_control", controls)];
    let four = [two[0], two[1], ("path.loss", losses), ("path.rate", rates)];
    let pages = [
        report("layout-run.html", &sample::run(1)),
        report("layout-repeats.html", &sample::run(3)),
        report("layout-test.html", &test()),
        report("layout-latency.html", &latency()),
        report("layout-both-ways.html", &both_ways()),
        report("layout-udp.html", &datagrams()),
        report("layout-watch.html", &watch),
        small(),
        sweep_of("layout-two.html", &two),
        sweep_of("layout-four.html", &four),
    ];
    for page in &pages {
        for theme in ["light", "dark"] {
            for (width, height) in [(400, 800), (1200, 800), (3840, 2160)] {
                browser.resize(width, height);
                browser.open(page, theme);
                let found = browser.script(FIND);
                let name = page.file_name().unwrap().to_string_lossy();
                assert_eq!(found, json!([]), "{name}, {theme}, {width} pixels wide");
            }
        }
    }
}
