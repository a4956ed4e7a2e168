//! Congestion controls that the kernel loads for a run.

use gigatcp_plan::{Control, Scenario};

use super::LiveError;

/// Controls that the kernel has as long as this lives.
#[cfg(feature = "bpf")]
pub(super) type Loaded = std::collections::BTreeMap<String, gigatcp_linux::bpf_control::BpfControl>;

/// Loads each object that flows name, once, and names the kernel's control in its place.
#[cfg(feature = "bpf")]
pub(super) fn load(scenario: &mut Scenario) -> Result<Loaded, LiveError> {
    use gigatcp_linux::bpf_control::BpfControl;
    use std::collections::btree_map::Entry;
    use std::path::Path;

    let mut loaded = Loaded::new();
    for flow in &mut scenario.flows {
        let Control::Bpf { object, .. } = &flow.congestion else {
            continue;
        };
        let control = match loaded.entry(object.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let control = BpfControl::load(Path::new(object));
                free.insert(control.map_err(|why| LiveError::Bpf(why.to_string()))?)
            }
        };
        flow.congestion = Control::Kernel(control.name().to_owned());
    }
    Ok(loaded)
}

/// This build loads none.
#[cfg(not(feature = "bpf"))]
pub(super) struct Loaded;

/// Refuses what this build cannot load.
#[cfg(not(feature = "bpf"))]
pub(super) fn load(scenario: &mut Scenario) -> Result<Loaded, LiveError> {
    let mut controls = scenario.flows.iter().map(|flow| &flow.congestion);
    let object = controls.find(|control| matches!(control, Control::Bpf { .. }));
    match object {
        Some(control) => Err(LiveError::Bpf(control.name().to_owned())),
        None => Ok(Loaded),
    }
}
