//! The line of an interval, which the receiver writes.

use alloc::format;
use alloc::string::String;

use gigatcp_units::Bytes;

use super::{Amount, CongestionWindow, Loss, MEBIBYTE, Retransmissions, Spread};
use crate::nuttcp::parameters::Format;

/// The figures of one interval.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Interval {
    /// Data received.
    pub received: Amount,
    /// Datagrams lost, approximately: some may still be in flight.
    pub loss: Option<Loss>,
    /// Jitter of datagrams.
    pub jitter: Spread,
    /// Retransmissions in the interval.
    pub retransmissions: Option<Retransmissions>,
    /// Congestion window at its end.
    pub congestion_window: Option<CongestionWindow>,
    /// One-way delay.
    pub one_way_delay: Spread,
    /// Everything since the beginning.
    pub total: Option<Total>,
    /// UDP data sent in the interval.
    pub transmitted: Option<Bytes>,
    /// UDP data sent since the beginning.
    pub total_transmitted: Option<Bytes>,
}

/// The figures since the beginning of the transfer.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Total {
    /// Data received.
    pub received: Amount,
    /// Datagrams lost.
    pub loss: Option<Loss>,
    /// Retransmissions.
    pub retransmissions: Option<Retransmissions>,
    /// Congestion window now.
    pub congestion_window: Option<CongestionWindow>,
}

impl Interval {
    /// Line without its end, with the fields that `format` selects.
    pub fn line(&self, format: Format) -> String {
        let is_parsed = format.has(Format::PARSE);
        let mut line = amount(
            &self.received,
            is_parsed,
            ["megabytes", "real_sec", "rate_Mbps"],
        );
        Loss::write(self.loss, &mut line, format, true);
        self.jitter.write(&mut line, format, "Jitter");
        write_retransmissions(&mut line, self.retransmissions.as_ref(), format);
        write_window(&mut line, self.congestion_window.as_ref(), format);
        self.one_way_delay.write(&mut line, format, "OWD");
        let is_running = format.has(Format::RUNNING_TOTAL);
        if let Some(total) = self.total.as_ref().filter(|_| is_running) {
            let names = ["total_megabytes", "total_real_sec", "total_rate_Mbps"];
            line.push_str(if is_parsed { " " } else { " Tot: " });
            line.push_str(&amount(&total.received, is_parsed, names));
            Loss::write(total.loss, &mut line, format, true);
            write_retransmissions(&mut line, total.retransmissions.as_ref(), format);
            write_window(&mut line, total.congestion_window.as_ref(), format);
        }
        if format.has(Format::TRANSMITTED) {
            write_transmitted(
                &mut line,
                self.transmitted,
                is_parsed,
                (" Trans: ", " tx_megabytes="),
            );
            let total = self.total_transmitted.filter(|_| is_running);
            write_transmitted(
                &mut line,
                total,
                is_parsed,
                (" Tot: ", " tx_total_megabytes="),
            );
        }
        line
    }
}

fn amount(amount: &Amount, is_parsed: bool, names: [&str; 3]) -> String {
    let (megabytes, mbps) = (amount.megabytes(), amount.mbps());
    let seconds = amount.duration.as_secs_f64();
    if is_parsed {
        let [name, time, rate] = names;
        format!("{name}={megabytes:.4} {time}={seconds:.2} {rate}={mbps:.4}")
    } else {
        format!("{megabytes:10.4} MB / {seconds:6.2} sec = {mbps:9.4} Mbps")
    }
}

fn write_retransmissions(line: &mut String, of: Option<&Retransmissions>, format: Format) {
    let Some(of) = of.filter(|_| !format.has(Format::NO_RETRANSMISSIONS)) else {
        return;
    };
    let (prefix, count) = (of.prefix(), of.count);
    line.push_str(&match format.has(Format::PARSE) {
        true => format!(" {prefix}retrans={count}"),
        false => format!(" {count:5} {prefix}retrans"),
    });
}

fn write_window(line: &mut String, of: Option<&CongestionWindow>, format: Format) {
    let Some(of) = of.filter(|_| !format.has(Format::NO_CONGESTION_WINDOW)) else {
        return;
    };
    let kib = of.kib;
    line.push_str(&match format.has(Format::PARSE) {
        true => format!(" cwnd={kib}"),
        false => format!(" {kib:6} KB-cwnd"),
    });
}

fn write_transmitted(line: &mut String, sent: Option<Bytes>, is_parsed: bool, names: (&str, &str)) {
    let Some(sent) = sent else { return };
    let megabytes = sent.as_u64() as f64 / MEBIBYTE;
    line.push_str(&match is_parsed {
        true => format!("{}{megabytes:.4}", names.1),
        false => format!("{}{megabytes:10.4} MB", names.0),
    });
}
