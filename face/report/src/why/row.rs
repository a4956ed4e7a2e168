//! A connection as a line of a table.
//!
//! There may be hundreds of thousands of lines. They are written into one text without `format!`,
//! which would cost more than the diagnosis.

use std::fmt::Write;
use std::net::IpAddr;

use gigatcp_analyze::SummaryRow;
use gigatcp_flows::Endpoint;
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};

/// Heading of the table; endpoints come last because their width varies.
pub const HEADING: &str = "     #   packets  delivered  duration          rate     min RTT  \
                                  retrans  limited by                    share  confidence  \
                                  sender > receiver\n";

/// Approximate bytes of a line.
pub const USUAL: usize = 160;

/// Appends the line of a connection, which has this `index`.
pub fn put(row: &SummaryRow, index: usize, out: &mut String) {
    const NOTHING: &str = "-";
    let mut line = Line { out };
    line.right(&(index + 1).to_string(), 6);
    line.right(&row.packets.to_string(), 8);
    let shown = row.diagnosis.as_ref().map(|found| {
        [
            human_bytes(found.delivered),
            human_duration(found.duration),
            human_rate(found.throughput),
            human_duration(found.min_rtt),
        ]
    });
    for (column, width) in [9, 8, 12, 10].into_iter().enumerate() {
        let text = shown.as_ref().map_or(NOTHING, |cells| &cells[column]);
        line.right(text, width);
    }
    line.right(&row.retransmitted.to_string(), 7);
    let cause = row.diagnosis.as_ref().map(|found| found.primary.as_ref());
    let name = match cause {
        None => NOTHING,
        Some(None) => "unknown",
        Some(Some(first)) => first.cause.id,
    };
    line.left(name, 28);
    match &row.diagnosis {
        None => line.right(NOTHING, 5),
        Some(one) => {
            let _ = write!(line.out, "{:>3.0} %  ", one.share() * 100.0);
        }
    }
    match cause.flatten() {
        None => line.right(NOTHING, 10),
        Some(cause) => line.right(&format!("{:.2}", cause.confidence), 10),
    }
    line.end(&row.from);
    line.out.push_str(" > ");
    line.end(&row.to);
    line.out.push('\n');
}

/// A line in progress: columns of ASCII, each followed by two spaces.
struct Line<'a> {
    out: &'a mut String,
}

impl Line<'_> {
    fn spaces(&mut self, mut count: usize) {
        const SPACES: &str = "                                ";
        while count > 0 {
            let some = count.min(SPACES.len());
            self.out.push_str(&SPACES[..some]);
            count -= some;
        }
    }

    fn right(&mut self, text: &str, width: usize) {
        self.spaces(width.saturating_sub(text.len()));
        self.out.push_str(text);
        self.spaces(2);
    }

    fn left(&mut self, text: &str, width: usize) {
        self.out.push_str(text);
        self.spaces(width.saturating_sub(text.len()) + 2);
    }

    /// Appends an endpoint, formatted as by [`core::fmt::Display`].
    fn end(&mut self, end: &Endpoint) {
        let IpAddr::V4(address) = end.address else {
            let _ = write!(self.out, "{end}");
            return;
        };
        for (place, octet) in address.octets().into_iter().enumerate() {
            if place > 0 {
                self.out.push('.');
            }
            self.octet(octet);
        }
        self.out.push(':');
        self.out.push_str(&end.port.to_string());
    }

    fn octet(&mut self, octet: u8) {
        let digit = |value: u8| char::from(b'0' + value % 10);
        if octet >= 100 {
            self.out.push(digit(octet / 100));
        }
        if octet >= 10 {
            self.out.push(digit(octet / 10));
        }
        self.out.push(digit(octet));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_written_as_they_are_displayed() {
        let addresses = [
            "0.0.0.0",
            "9.10.99.100",
            "255.254.199.200",
            "::1",
            "2001:db8::7:8",
        ];
        for (address, port) in addresses.into_iter().zip([0, 9, 80, 40_000, 65_535]) {
            let end = Endpoint {
                address: address.parse().unwrap(),
                port,
            };
            let mut out = String::new();
            Line { out: &mut out }.end(&end);
            assert_eq!(out, end.to_string());
        }
    }

    #[test]
    fn a_line_stands_beneath_its_heading() {
        let end = Endpoint {
            address: "10.0.0.1".parse().unwrap(),
            port: 80,
        };
        let row = SummaryRow {
            first_packet: 1,
            packets: 12,
            retransmitted: 3,
            from: end,
            to: end,
            diagnosis: None,
        };
        let mut out = String::new();
        put(&row, 41, &mut out);
        let nothing = "-";
        let line = format!(
            "{:>6}  {:>8}  {nothing:>9}  {nothing:>8}  {nothing:>12}  {nothing:>10}  {:>7}  \
             {nothing:<28}  {nothing:>5}  {nothing:>10}  10.0.0.1:80 > 10.0.0.1:80\n",
            42, 12, 3
        );
        assert_eq!(out, line);
        assert_eq!(out.find("10.0.0.1"), HEADING.find("sender"));
    }
}
