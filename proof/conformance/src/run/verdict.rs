//! Verdict on a script, and its report.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use crate::source::{Span, line_column, line_of};
use crate::stack::Unsupported;

/// Report on the run of a script.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Passed, failed, or unsupported by this stack.
    pub verdict: Verdict,
    /// Output of its `print` statements.
    pub printed: Vec<String>,
}

/// Verdict on a script: passed, failed, or unsupported by this stack.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// All events matched the script.
    Passed,
    /// An event differed from the script.
    Failed(Failure),
    /// The stack lacks something that the script needs.
    Unsupported {
        /// Location in the script.
        span: Span,
        /// The missing feature.
        what: Unsupported,
    },
}

/// A difference from the script.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// Class of the difference.
    pub class: Class,
    /// Location of the event in the script.
    pub span: Span,
    /// Description of the actual event.
    pub found: String,
    /// The last events, oldest first.
    pub log: Vec<String>,
}

/// Class of a difference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// A packet or the end of a call came too early or too late.
    Timing,
    /// A packet is missing.
    Missing,
    /// A packet that is not in the script was sent.
    Unexpected,
    /// Control bits differ.
    Flags,
    /// Sequence number or length differ.
    Sequence,
    /// The acknowledgment number differs.
    Ack,
    /// The window differs.
    Window,
    /// The urgent pointer differs.
    Urgent,
    /// A timestamp differs.
    Timestamps,
    /// TCP options differ.
    Options,
    /// The IP header differs: ECN, TOS, TTL, flow label.
    Ip,
    /// The octets are not those of the stream.
    Payload,
    /// A call returned something else.
    Call,
    /// A command failed.
    Command,
    /// An assertion does not hold.
    Assertion,
    /// The script is inconsistent at this place.
    Script,
}

impl Class {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Timing => "timing",
            Class::Missing => "missing packet",
            Class::Unexpected => "unexpected packet",
            Class::Flags => "control bits",
            Class::Sequence => "sequence number or length",
            Class::Ack => "acknowledgment",
            Class::Window => "window",
            Class::Urgent => "urgent pointer",
            Class::Timestamps => "timestamps",
            Class::Options => "options",
            Class::Ip => "IP header",
            Class::Payload => "payload",
            Class::Call => "call",
            Class::Command => "command",
            Class::Assertion => "assertion",
            Class::Script => "script",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Report {
    /// Whether all events matched the script.
    pub fn is_passed(&self) -> bool {
        self.verdict == Verdict::Passed
    }

    /// Full report: location, expected line, actual event, the last events.
    pub fn in_text(&self, name: &str, text: &str) -> String {
        let mut said = String::new();
        match &self.verdict {
            Verdict::Passed => {
                let _ = write!(said, "{name}: passed");
            }
            Verdict::Unsupported { span, what } => {
                let (line, column) = line_column(text, span.start);
                let _ = write!(said, "{name}:{line}:{column}: unsupported: {what}");
            }
            Verdict::Failed(failure) => {
                let (line, column) = line_column(text, failure.span.start);
                let _ = write!(said, "{name}:{line}:{column}: failed: {}", failure.class);
                let expected = line_of(text, failure.span.start);
                let _ = write!(said, "\n  expected: {expected}");
                let _ = write!(said, "\n  came:     {}", failure.found);
                if !failure.log.is_empty() {
                    said.push_str("\n  last events:");
                }
                for event in &failure.log {
                    let _ = write!(said, "\n    {event}");
                }
            }
        }
        said
    }
}
