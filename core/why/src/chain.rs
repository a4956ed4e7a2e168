//! From the trigger of a slow moment to its effect: what TCP did with it, and what that took.
//!
//! The trigger is the cause of a verdict. Timeouts, a smaller window and retransmissions are the
//! reaction to it, and never the answer while the trigger is known.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::grammar::human_duration;

use crate::causes::{counted, no_sack, verb};
use crate::measures::Measures;
use crate::verdict::Verdict;

/// Sentences that lead from the trigger to the effect; empty if the cause triggered no loss
/// recovery, or if that needed no timer: the finding says it all then.
pub(crate) fn of(m: &Measures<'_>, first: &Verdict) -> Vec<String> {
    if !first.cause.is_loss || first.time.is_zero() {
        return Vec::new();
    }
    let mut chain = alloc::vec![first.finding.clone()];
    chain.extend(masked(m));
    chain.extend(timer(m));
    if chain.len() == 1 {
        return Vec::new();
    }
    chain.push(effect(m, first));
    chain
}

/// The reason that no fast retransmit came: each ACK moved the window (RFC 5681 section 2).
fn masked(m: &Measures<'_>) -> Option<String> {
    no_sack::masked(m)?;
    let count = m.sender_view.best_updates.count;
    Some(format!(
        "{} for the missing byte {} the window, so none was a duplicate and fast retransmit was not \
         allowed.",
        counted(count, "ACK"),
        verb(count, "moved", "moved")
    ))
}

/// The sender's waits for its timer (RFC 6298 section 5.5).
fn timer(m: &Measures<'_>) -> Option<String> {
    let episodes = &m.sender_view.episodes;
    let waits = || episodes.expiries.iter().map(|expiry| expiry.waited);
    let (first, longest) = (waits().next()?, waits().max()?);
    let times = counted(episodes.expiry_count, "time");
    Some(if episodes.expiry_count > 1 {
        format!(
            "The sender's retransmission timer expired {times}, after waits from {} to {}.",
            human_duration(first),
            human_duration(longest)
        )
    } else {
        format!(
            "The sender waited {} for its retransmission timer.",
            human_duration(first)
        )
    })
}

fn effect(m: &Measures<'_>, first: &Verdict) -> String {
    let took = human_duration(first.time);
    let whole = human_duration(m.duration);
    let reset = m.sender_view.reset.filter(|reset| reset.at >= m.start);
    let end = match reset {
        Some(reset) if reset.place == reset.edge && reset.edge > reset.una => {
            ", until the sender reset the connection at the edge of the window"
        }
        Some(_) => ", until the sender reset the connection",
        None => "",
    };
    format!("That took {took} of {whole}{end}.")
}
