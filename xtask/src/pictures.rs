//! `cargo xtask pictures`: the pictures of the README, from today's pages.
//!
//! `docs/why.png` is the page of the capture whose answer the README shows, as Chromium draws it.

use std::fs;
use std::process::Command;

use crate::files::copy;
use crate::process::{self, succeed};
use crate::{Failed, top};

/// The capture that the README calls `transfer.pcap`.
const CAPTURE: &str = "proof/grade/kept/rcvbuf-2000001/sender.pcap.zst";

/// Width and height of the window.
const WINDOW: &str = "1240,570";

/// Makes the pictures anew.
pub fn run() -> Result<(), Failed> {
    let program = process::build_command("test")?;
    let directory = process::target().join("pictures");
    drop(fs::remove_dir_all(&directory));
    copy(&top().join(CAPTURE), &directory.join("transfer.pcap"))?;
    let mut why = Command::new(program);
    why.args(["why", "transfer.pcap", "--report", "why.html"]);
    why.current_dir(&directory);
    succeed(why)?;
    let picture = top().join("docs/why.png");
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu"]);
    chromium.args(["--hide-scrollbars", "--virtual-time-budget=5000"]);
    chromium.arg(format!("--window-size={WINDOW}"));
    chromium.arg(format!("--screenshot={}", picture.display()));
    chromium.arg(format!("file://{}", directory.join("why.html").display()));
    succeed(chromium)
}
