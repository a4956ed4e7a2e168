//! Reads the lines of `gigatcp watch --json-lines`.

use gigatcp_units::Instant;
use gigatcp_why::counters::Reading;
use serde_json::Value;

use super::ReportedConnection;
use super::connection_table::ConnectionTable;

/// Connections in the lines; `None` if the text has another form.
pub(super) fn read(text: &str) -> Option<Vec<ReportedConnection>> {
    if !text.contains("\"gigatcp.watch/1\"") {
        return None;
    }
    let mut connections = ConnectionTable::default();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let at = Instant::from_nanos(line["monotonic_ns"].as_u64()?);
        let words = line["tcp_info"].as_object()?;
        let words = words
            .iter()
            .filter_map(|(name, number)| Some((&**name, number.as_i64()?)));
        let end = |which: &str| {
            let address = line[format!("network.{which}.address")]
                .as_str()
                .unwrap_or("?");
            format!("{address}:{}", line[format!("network.{which}.port")])
        };
        let ends = format!("{} -> {}", end("local"), end("peer"));
        let congestion = line["congestion_control"].as_str().map(str::to_owned);
        connections.add(ends, congestion, Reading::of_words(at, words));
    }
    Some(connections.into_list())
}
