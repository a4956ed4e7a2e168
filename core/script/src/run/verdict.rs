//! What came of a script.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use crate::source::{Span, line_column, line_of};
use crate::stack::Unsupported;

/// What came of a script.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Passed, failed, or not for this stack.
    pub verdict: Verdict,
    /// What its assertions printed.
    pub printed: Vec<String>,
}

/// Passed, failed, or not for this stack.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// Everything came as the script says.
    Passed,
    /// Something came otherwise.
    Failed(Failure),
    /// The stack lacks something that the script needs.
    Unsupported {
        /// Where the script needs it.
        span: Span,
        /// What it is.
        what: Unsupported,
    },
}

/// What came otherwise.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// In what respect.
    pub class: Class,
    /// The event of the script.
    pub span: Span,
    /// What came instead.
    pub found: String,
    /// The last things that happened, oldest first.
    pub log: Vec<String>,
}

/// In what respect something came otherwise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// A packet or the end of a call came too early or too late.
    Timing,
    /// A packet did not come.
    Missing,
    /// A packet came that the script does not have.
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
    /// The script itself makes no sense at this place.
    Script,
}

impl Class {
    /// Its name.
    #[must_use]
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
    /// Whether everything came as the script says.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        self.verdict == Verdict::Passed
    }

    /// The whole story: place, expected line, what came, the last events.
    #[must_use]
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
