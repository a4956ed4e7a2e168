//! A transfer in a capture: its measures, its diagnosis, the options of its SYNs.

use gigatcp_analyze::{
    Capture, CapturePoint, Chosen, Diagnosis, Options, Source, Visitor, revisit,
};
use gigatcp_flows::{Connection, Observed, Side, Verdict};

use crate::measured::{Measured, Meter};

/// A transfer to be fitted.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Both ends, the sender first.
    pub ends: String,
    /// Measures.
    pub measured: Measured,
    /// Diagnosis of its limits.
    pub diagnosis: Diagnosis,
    /// True if both SYNs have timestamps; true if no SYN was seen.
    pub timestamps: bool,
    /// True if both SYNs permit SACK; true if no SYN was seen.
    pub sack: bool,
    /// True if windows are scaled; true if no SYN was seen.
    pub window_scaling: bool,
    /// True if windows are known.
    pub knows_windows: bool,
}

struct Visit(Meter);

impl Visitor for Visit {
    type Output = Option<Measured>;

    fn handle_packet(
        &mut self,
        _: u64,
        packet: &Observed,
        verdict: &Verdict,
        connection: &Connection,
    ) {
        self.0.handle_packet(packet, verdict, connection);
    }

    fn finish(self) -> Self::Output {
        self.0.finish()
    }
}

impl Transfer {
    /// Reads the connection with that index, or the largest one, from a capture.
    ///
    /// # Errors
    /// Why there is no transfer to fit, in a sentence.
    pub fn read(
        source: &Source,
        options: &Options<'_>,
        index: Option<usize>,
    ) -> Result<Self, String> {
        let source = source
            .clone()
            .rereadable()
            .map_err(|error| error.to_string())?;
        let capture = Capture::read(&source, options).map_err(|error| error.to_string())?;
        Self::within(&capture, options, index)
    }

    /// Diagnoses and measures the connection with that index, or the largest one.
    ///
    /// # Errors
    /// Why there is no transfer to fit, in a sentence.
    pub fn within(
        capture: &Capture,
        options: &Options<'_>,
        index: Option<usize>,
    ) -> Result<Self, String> {
        let connections = capture.connections();
        let largest = || connections.largest_first().first().copied();
        let index = index.or_else(largest).ok_or("no connection carried data")?;
        let diagnosis = connections.diagnose(index).ok_or("it carried no data")?;
        Self::of(capture, options, index, diagnosis)
    }

    /// Measures a connection of a capture that was read and diagnosed.
    ///
    /// # Errors
    /// Why there is no transfer to fit, in a sentence.
    pub fn of(
        capture: &Capture,
        options: &Options<'_>,
        index: usize,
        diagnosis: Diagnosis,
    ) -> Result<Self, String> {
        if matches!(
            diagnosis.capture_point,
            CapturePoint::Receiver | CapturePoint::Middle
        ) {
            return Err(format!(
                "captured at the {}: RTTs and flight show near the sender only",
                diagnosis.capture_point.name()
            ));
        }
        let (connection, first_packet) = capture
            .connections()
            .iter()
            .nth(index)
            .ok_or("no such connection")?;
        let side = diagnosis.sender;
        let chosen = [Chosen {
            connection,
            first_packet,
        }];
        let visited = revisit(capture.source(), options, &chosen, |_| {
            Visit(Meter::new(side))
        });
        let visited = visited.map_err(|error| error.to_string())?;
        let measured = visited.into_iter().flatten().next();
        let measured = measured.ok_or("no data was acknowledged")?;
        let both = Side::BOTH.map(|side| connection.direction(side).options());
        let agreed = |of: fn(&gigatcp_flows::Options) -> bool| both.iter().flatten().all(of);
        Ok(Self {
            ends: format!(
                "{} -> {}",
                connection.endpoint(side),
                connection.endpoint(side.other())
            ),
            timestamps: agreed(|options| options.timestamps),
            sack: agreed(|options| options.sack_permitted),
            window_scaling: connection.scaling() != gigatcp_flows::Scaling::Unused,
            knows_windows: connection.scaling() != gigatcp_flows::Scaling::Unknown,
            measured,
            diagnosis,
        })
    }
}
