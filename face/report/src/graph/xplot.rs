//! Graphs for xplot and compatible programs: text, one command per line.
//!
//! Colors and letters are those of tcptrace, so that its users can read these graphs. Data is
//! white, retransmissions red with `R`, reordered data pink with `O`, the acknowledgment line
//! green, the window line yellow, SACK purple with `S`. Blocks whose points were dropped are drawn
//! as one diagonal line. tcptrace writes each packet, gigabytes of them; here the CSV file has all
//! packets. [`DETAIL`] is a good limit for [`Graph::drop_points`].

use std::io::{self, Write};

use gigatcp_analyze::graph::{Effect, Graph, Point, State, Summary};
use gigatcp_flows::Kind;
use gigatcp_units::Instant;

use super::page::Span;

/// Bytes of packed points that give files of some 30 MB.
pub const DETAIL: usize = 1 << 20;

/// Times and offsets.
const TIME_SEQUENCE: &str = "timeval double";
/// Times and whole numbers.
const TIME_VALUE: &str = "timeval signed";

/// A graph for xplot.
#[derive(Clone, Copy, Debug)]
pub struct Xplot<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// Title in one line.
    pub title: &'a str,
    /// Time of the connection's first packet.
    pub first_at: Instant,
    /// Whether window sizes are known.
    pub knows_windows: bool,
    /// Intervals of one cause each.
    pub spans: &'a [Span],
}

/// Content of one of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Picture {
    /// Data, acknowledgments, window, SACK blocks over time.
    TimeSequence,
    /// Round-trip times.
    RoundTrip,
    /// Octets in flight, and the window.
    Outstanding,
    /// Octets acknowledged each second.
    Throughput,
}

impl Picture {
    /// Every picture.
    pub const ALL: [Self; 4] = [
        Self::TimeSequence,
        Self::RoundTrip,
        Self::Outstanding,
        Self::Throughput,
    ];

    /// Suffix of the file name before `.xpl`, as in tcptrace.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::TimeSequence => "tsg",
            Self::RoundTrip => "rtt",
            Self::Outstanding => "owin",
            Self::Throughput => "tput",
        }
    }
}

impl Xplot<'_> {
    /// Writes one of its pictures.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, picture: Picture, out: &mut impl Write) -> io::Result<()> {
        match picture {
            Picture::TimeSequence => self.time_sequence(out),
            Picture::RoundTrip => self.round_trips(out),
            Picture::Outstanding => self.outstanding(out),
            Picture::Throughput => self.throughput(out),
        }?;
        writeln!(out, "go")
    }

    fn head(&self, out: &mut impl Write, types: &str, what: &str, y: &str) -> io::Result<()> {
        // A title is one line, and older versions read 79 characters of it.
        let title = one_line(&format!("{} ({what})", self.title), 79);
        writeln!(out, "{types}\ntitle\n{title}\nxlabel\ntime\nylabel\n{y}")
    }

    /// A time in xplot's format: seconds and microseconds.
    fn time(&self, at_ns: u64) -> Time {
        Time(self.first_at.as_nanos().saturating_add(at_ns) / 1_000)
    }

    fn time_sequence(&self, out: &mut impl Write) -> io::Result<()> {
        self.head(out, TIME_SEQUENCE, "time sequence graph", "sequence offset")?;
        for (index, block) in self.graph.blocks().iter().enumerate() {
            let mut points = self.graph.points_of(index).peekable();
            if points.peek().is_none() {
                self.whole_block(out, block)?;
                continue;
            }
            let mut state = block.before;
            for point in points {
                self.point(out, state, &point)?;
                state.add(&point);
            }
        }
        self.span_texts(out)
    }

    fn whole_block(&self, out: &mut impl Write, block: &Summary) -> io::Result<()> {
        let (from, to) = (self.time(block.before.at_ns), self.time(block.after.at_ns));
        let (before, after) = (block.before, block.after);
        let ranges = [
            ("white", from, block.new),
            ("red", to, block.repeated),
            ("purple", to, block.sack),
        ];
        for (color, start, range) in ranges.iter().filter(|(.., range)| !range.is_empty()) {
            let (low, high) = (range.low, range.high);
            writeln!(out, "{color}\nline {start} {low} {to} {high}")?;
        }
        writeln!(out, "green\nline {from} {} {to} {}", before.una, after.una)?;
        if self.knows_windows && before.edge > 0 {
            writeln!(
                out,
                "yellow\nline {from} {} {to} {}",
                before.edge, after.edge
            )?;
        }
        Ok(())
    }

    fn point(&self, out: &mut impl Write, before: State, point: &Point) -> io::Result<()> {
        let at = self.time(point.at_ns);
        match point.effect {
            Effect::Data { start, len } => {
                let end = start + u64::from(len);
                let (colour, letter) = colour_of(point);
                writeln!(
                    out,
                    "{colour}\ndarrow {at} {start}\nuarrow {at} {end}\nline {at} {start} {at} {end}"
                )?;
                if let Some(letter) = letter {
                    writeln!(out, "atext {at} {end}\n{letter}")?;
                }
                Ok(())
            }
            Effect::Ack { sack, sack_len, .. } => {
                let mut after = before;
                after.add(point);
                let last = self.time(before.at_ns);
                self.step(out, "green", "dtick", (last, before.una), (at, after.una))?;
                if self.knows_windows && after.edge > 0 {
                    let edge = match before.edge {
                        0 => after.edge,
                        edge => edge,
                    };
                    self.step(out, "yellow", "utick", (last, edge), (at, after.edge))?;
                }
                if point.is(Kind::ZeroWindow) {
                    writeln!(out, "magenta\natext {at} {}\nZ", after.edge)?;
                }
                for range in &sack[..usize::from(sack_len)] {
                    let (left, right) = (range.left, range.right);
                    writeln!(
                        out,
                        "purple\nline {at} {left} {at} {right}\nhtick {at} {left}\n\
                         htick {at} {right}\nrtext {at} {right}\nS"
                    )?;
                }
                Ok(())
            }
        }
    }

    /// Draws a step up or down to `to`. A tick if the value does not change.
    fn step(
        &self,
        out: &mut impl Write,
        colour: &str,
        tick: &str,
        (from, before): (Time, u64),
        (to, after): (Time, u64),
    ) -> io::Result<()> {
        writeln!(out, "{colour}\nline {from} {before} {to} {before}")?;
        if before == after {
            writeln!(out, "{tick} {to} {after}")
        } else {
            writeln!(out, "line {to} {before} {to} {after}")
        }
    }

    /// Writes the names of intervals, along the lowest offsets.
    fn span_texts(&self, out: &mut impl Write) -> io::Result<()> {
        for span in self.spans {
            let (from, to) = (self.time(span.from_ns), self.time(span.to_ns));
            let name = one_line(&span.name, 60);
            writeln!(
                out,
                "orange\nline {from} 0 {to} 0\nhtick {from} 0\nhtick {to} 0"
            )?;
            writeln!(out, "btext {from} 0\n{name}")?;
        }
        Ok(())
    }

    fn round_trips(&self, out: &mut impl Write) -> io::Result<()> {
        self.head(out, TIME_VALUE, "round-trip times", "microseconds")?;
        writeln!(out, "red")?;
        for (index, block) in self.graph.blocks().iter().enumerate() {
            let mut points = self.graph.points_of(index).peekable();
            if points.peek().is_none() && !block.rtt.is_empty() {
                let at = self.time(block.after.at_ns);
                let (low, high) = (block.rtt.low / 1_000, block.rtt.high / 1_000);
                writeln!(out, "line {at} {low} {at} {high}")?;
            }
            for point in points {
                if let Effect::Ack {
                    rtt_ns: Some(rtt), ..
                } = point.effect
                {
                    writeln!(out, "dot {} {}", self.time(point.at_ns), rtt / 1_000)?;
                }
            }
        }
        Ok(())
    }

    fn outstanding(&self, out: &mut impl Write) -> io::Result<()> {
        self.head(out, TIME_VALUE, "outstanding data", "octets")?;
        for (index, block) in self.graph.blocks().iter().enumerate() {
            let mut points = self.graph.points_of(index).peekable();
            if points.peek().is_none() {
                let at = self.time(block.after.at_ns);
                let (low, high) = (block.owin.low, block.owin.high);
                writeln!(out, "red\nline {at} {low} {at} {high}")?;
                continue;
            }
            let mut state = block.before;
            for point in points {
                let before = state;
                state.add(&point);
                let (last, at) = (self.time(before.at_ns), self.time(state.at_ns));
                let (was, is) = (before.owin(), state.owin());
                writeln!(
                    out,
                    "red\nline {last} {was} {at} {was}\nline {at} {was} {at} {is}"
                )?;
                let is_answer = matches!(point.effect, Effect::Ack { .. });
                if self.knows_windows && is_answer {
                    let window = state.edge.saturating_sub(state.una);
                    writeln!(out, "yellow\ndot {at} {window}")?;
                }
            }
        }
        Ok(())
    }

    /// Writes the rate of each of `INTERVALS` equal intervals, and the average until then.
    fn throughput(&self, out: &mut impl Write) -> io::Result<()> {
        const INTERVALS: u64 = 1_000;
        self.head(out, TIME_VALUE, "throughput", "octets per second")?;
        let end = self
            .graph
            .blocks()
            .last()
            .map_or(0, |block| block.after.at_ns);
        let step = (end / INTERVALS).max(1);
        let mut since = (0, 0);
        let mut last = (0, 0);
        let mut rate_before = 0;
        for (at_ns, una) in self.acknowledged() {
            // Whole intervals may pass without an ACK.
            while at_ns >= since.0 + step {
                let until = since.0 + step;
                let rate = per_second(last.1 - since.1, step);
                let (from, to) = (self.time(since.0), self.time(until));
                writeln!(
                    out,
                    "red\nline {from} {rate_before} {from} {rate}\nline {from} {rate} {to} {rate}"
                )?;
                writeln!(out, "blue\ndot {to} {}", per_second(last.1, until))?;
                rate_before = rate;
                since = (until, last.1);
            }
            last = (at_ns, una);
        }
        Ok(())
    }

    /// Acknowledged positions with their times. They are those of each point, or of the ends of
    /// blocks.
    fn acknowledged(&self) -> impl Iterator<Item = (u64, u64)> {
        let blocks = self.graph.blocks().iter().enumerate();
        blocks.flat_map(move |(index, block)| {
            let mut state = block.before;
            let points = self.graph.points_of(index).map(move |point| {
                state.add(&point);
                (state.at_ns, state.una)
            });
            points.chain([(block.after.at_ns, block.after.una)])
        })
    }
}

/// At most `length` characters of `text`, without control characters.
fn one_line(text: &str, length: usize) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(length).collect()
}

const fn per_second(octets: u64, ns: u64) -> u64 {
    (octets as u128 * 1_000_000_000 / ns as u128) as u64
}

/// Tcptrace's color and letter of a packet with data.
fn colour_of(point: &Point) -> (&'static str, Option<&'static str>) {
    let has = |mark| point.marks & mark != 0;
    if has(Point::SYN) {
        ("orange", Some("SYN"))
    } else if has(Point::RST) {
        ("red", Some("RST_OUT"))
    } else if point.is_retransmission() {
        ("red", Some("R"))
    } else if point.is(Kind::OutOfOrder) {
        ("pink", Some("O"))
    } else if point.is(Kind::CapturedTwice) {
        ("blue", Some("HD"))
    } else if point.is(Kind::ZeroWindowProbe) {
        ("orange", Some("P"))
    } else if has(Point::FIN) {
        ("orange", Some("FIN"))
    } else {
        ("white", None)
    }
}

/// Microseconds since 1970.
#[derive(Clone, Copy)]
struct Time(u64);

impl core::fmt::Display for Time {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}
