//! A connection of a capture or of a report, with its diagnosis.

use gigatcp_analyze::reports::Reported;
use gigatcp_analyze::{Capture, Diagnosis, Options, Source};

/// A transfer whose goodput is predicted.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Both ends, the sender first.
    pub ends: String,
    /// Whether the programs have requested the sizes of their buffers, if that is known.
    pub sets_buffers: Option<bool>,
    /// What limited it.
    pub diagnosis: Diagnosis,
}

impl Transfer {
    /// Reads the connection with that index, or the largest one, from a capture.
    ///
    /// # Errors
    /// Why there is no transfer, in a sentence.
    pub fn read(
        source: &Source,
        options: &Options<'_>,
        index: Option<usize>,
    ) -> Result<Self, String> {
        let capture = Capture::read(source, options).map_err(|error| error.to_string())?;
        Self::within(&capture, index)
    }

    /// Diagnoses the connection with that index, or the largest one.
    ///
    /// # Errors
    /// Why there is no transfer, in a sentence.
    pub fn within(capture: &Capture, index: Option<usize>) -> Result<Self, String> {
        let connections = capture.connections();
        let largest = || connections.largest_first().first().copied();
        let chosen = index.or_else(largest).ok_or("no connection carried data")?;
        let diagnosis = connections.diagnose(chosen).ok_or("it carried no data")?;
        Self::of(capture, chosen, diagnosis)
    }

    /// A connection of a capture that was diagnosed.
    ///
    /// # Errors
    /// If the capture has no such connection.
    pub fn of(capture: &Capture, index: usize, diagnosis: Diagnosis) -> Result<Self, String> {
        let mut connections = capture.connections().iter();
        let (connection, _) = connections.nth(index).ok_or("no such connection")?;
        let side = diagnosis.sender;
        let [from, to] = [side, side.other()].map(|side| connection.endpoint(side));
        Ok(Self {
            ends: format!("{from} -> {to}"),
            sets_buffers: None,
            diagnosis,
        })
    }
}

impl From<&Reported> for Transfer {
    fn from(reported: &Reported) -> Self {
        Self {
            ends: reported.ends.clone(),
            sets_buffers: reported.sets_buffers.then_some(true),
            diagnosis: reported.diagnosis.clone(),
        }
    }
}
