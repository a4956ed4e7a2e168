//! `gigatcp why` in a browser: a capture in memory in, the command's answer out.
//!
//! The page (`page.html`) runs this as WebAssembly, in a worker, with one instance for each capture.
//! Nothing is sent anywhere: the page may not even open a connection. `cargo xtask page` makes one
//! file of both, which works offline.
//!
//! Readers, analysis and words are those of the command. Two captures of one connection, reports of
//! testers and stored runs are for the command only.
#![deny(unsafe_code)]
#![deny(missing_docs)]

#[cfg(target_arch = "wasm32")]
mod exports;

use gigatcp_analyze::{Capture, Error, Options, Source};
use gigatcp_report::json_list;
use gigatcp_report::why::json::Document;
use gigatcp_report::why::{AnsweredCapture, HELD, text};
use serde::Serialize;

/// The answer for a capture, or why there is none.
#[derive(Serialize, Debug)]
#[serde(untagged)]
pub enum Answer {
    /// The capture was read.
    Read {
        /// The words that `gigatcp why` prints.
        text: String,
        /// The document that `gigatcp why --json` prints.
        json: String,
        /// Oddities of the capture, in words.
        notes: Vec<String>,
    },
    /// It cannot be read.
    Failed {
        /// The reason.
        error: String,
    },
}

/// Answer for a capture.
pub fn answer(source: Source) -> Answer {
    read(source).unwrap_or_else(|error| Answer::Failed {
        error: in_words(&error),
    })
}

fn read(source: Source) -> Result<Answer, Error> {
    let options = Options {
        held: Some(HELD),
        ..Options::default()
    };
    let answered = AnsweredCapture::new(Capture::read(&source, &options)?);
    let detail = text::Detail {
        shows_all: false,
        is_verbose: false,
        predicts: false,
    };
    let mut words = String::new();
    text::put::<Error>(&[&answered], &[], detail, &mut |part| {
        words.push_str(part);
        Ok(())
    })?;
    let notes = answered
        .capture
        .info()
        .notes
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut json = Vec::new();
    let document = Document::new([&answered], Vec::new());
    // Memory takes all that is written.
    let _ = json_list::write(&document, &mut json);
    Ok(Answer::Read {
        text: words,
        json: String::from_utf8(json).unwrap_or_default(),
        notes,
    })
}

/// An error with its causes.
fn in_words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.ends_with(&more) {
            words.push_str(&format!(": {more}"));
        }
        cause = error.source();
    }
    words
}
