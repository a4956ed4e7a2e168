//! The page in a real browser: an answer there is the answer here, from a file on this machine.
//!
//! `cargo xtask page --test` makes the page and names it in `GIGATCP_PAGE`; without that, or without
//! chromedriver, nothing is tested.

#[allow(dead_code, reason = "another page needs the rest")]
#[path = "../../report/tests/driver/mod.rs"]
mod driver;

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use driver::Browser;
use gigatcp_analyze::Source;
use gigatcp_web::{Answer, answer};

const CAPTURES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../drive/analyze/tests/captures"
);

fn page() -> Option<(Browser, PathBuf)> {
    let page = PathBuf::from(std::env::var_os("GIGATCP_PAGE")?);
    Some((Browser::start(1_100, 1_000)?, page))
}

/// Drops a file on the page and waits for its answer: the text, and whether there is one.
fn dropped(browser: &Browser, name: &str, bytes: &[u8]) -> (String, bool) {
    let bytes = STANDARD.encode(bytes);
    browser.script(&format!(
        "const bytes = Uint8Array.from(atob('{bytes}'), (letter) => letter.charCodeAt(0));
         const data = new DataTransfer();
         data.items.add(new File([bytes], '{name}'));
         dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, cancelable: true }}));"
    ));
    let started = Instant::now();
    loop {
        let done = browser.data("done");
        if let Some(done) = done.as_str() {
            return (browser.text("text"), done == "answered");
        }
        assert!(started.elapsed() < Duration::from_secs(60), "no answer");
        sleep(Duration::from_millis(50));
    }
}

fn save(browser: &Browser, name: &str) {
    let picture = STANDARD.decode(browser.picture()).expect("base64");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(file, picture).expect("the picture is written");
}

#[test]
fn dropped_capture_has_the_answer_of_the_library_at_any_width() {
    let Some((browser, page)) = page() else {
        return;
    };
    browser.open(&page, "");
    let strangers = format!("{CAPTURES}/../strangers");
    let other = std::fs::read_dir(strangers)
        .expect("captures")
        .flatten()
        .map(|file| file.path())
        .min()
        .expect("a capture");
    let files = [
        PathBuf::from(CAPTURES).join("policed-snd.pcap.zst"),
        PathBuf::from(CAPTURES).join("transfer.txt"),
        other,
    ];
    for file in files {
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        let bytes = std::fs::read(&file).expect("a capture");
        let (text, is_answered) = dropped(&browser, name, &bytes);
        let Answer::Read { text: expected, .. } = answer(Source::bytes(name, bytes)) else {
            panic!("{name} cannot be read");
        };
        assert!(is_answered, "{name}: {text}");
        assert_eq!(text, expected, "{name}");
    }
    save(&browser, "why-page.png");
    for width in [320, 700, 1_100] {
        browser.resize(width, 1_000);
        let overflow = browser.script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        assert_eq!(overflow, 0, "at {width} pixels");
    }
    browser.resize(320, 1_000);
    save(&browser, "why-page-narrow.png");
}

#[test]
fn file_that_is_no_capture_is_an_error_on_the_page() {
    let Some((browser, page)) = page() else {
        return;
    };
    browser.open(&page, "");
    let (text, is_answered) = dropped(&browser, "x.bin", &[0xff; 4096]);
    assert!(!is_answered, "{text}");
    assert!(text.contains("x.bin"), "{text}");
}

#[test]
fn page_may_open_no_connection() {
    let Some((browser, page)) = page() else {
        return;
    };
    browser.open(&page, "");
    let refused = browser.script(
        "let refused = 0;
         addEventListener('securitypolicyviolation', () => refused += 1);
         try { new WebSocket('ws://127.0.0.1:9'); } catch { refused += 1; }
         const request = new XMLHttpRequest();
         request.open('GET', 'http://127.0.0.1:9/', false);
         try { request.send(); } catch { refused += 1; }
         return refused;",
    );
    assert!(refused.as_u64() >= Some(1), "{refused}");
    let content = browser.script(
        "return document.querySelector('meta[http-equiv=Content-Security-Policy]').content",
    );
    let policy = content.as_str().expect("a policy");
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(!policy.contains("connect-src"), "{policy}");
}
