//! A congestion control as a BPF object: the kernel runs it while this value lives.
//!
//! The object has a `struct tcp_congestion_ops` in the section `.struct_ops.link` (Linux 6.4).
//! libbpf adapts it to the types of the running kernel.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Mutex;

use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder, PrintLevel};

/// Names of the controls that the kernel has.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Maximum length of what libbpf says of a failure.
const MAX_SAID: usize = 4000;

/// What libbpf has said of the object that is being loaded. Its callback has no argument, and so
/// one object is loaded at a time.
static SAID: Mutex<String> = Mutex::new(String::new());

/// A congestion control that the kernel has as long as this value, or this process, lives.
pub struct BpfControl {
    name: String,
    /// Removed before the object that it belongs to.
    _link: Link,
    _object: Object,
}

/// Why an object was not loaded, with what the verifier said of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BpfError(String);

impl fmt::Display for BpfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BpfError {}

impl BpfControl {
    /// Loads the object, and registers the only control in it. Requires CAP_BPF and CAP_NET_ADMIN
    /// of the initial user namespace.
    ///
    /// # Errors
    /// The step that failed, and what libbpf and the verifier said.
    pub fn load(object: &Path) -> Result<Self, BpfError> {
        static LOADING: Mutex<()> = Mutex::new(());
        let _alone = LOADING.lock();
        if let Ok(mut said) = SAID.lock() {
            said.clear();
        }
        let before = libbpf_rs::set_print(Some((PrintLevel::Warn, hear)));
        let loaded = Self::register(object);
        libbpf_rs::set_print(before);
        loaded.map_err(|why| {
            let said = SAID.lock().map(|said| said.clone()).unwrap_or_default();
            BpfError(format!("{}: {why}\n{}", object.display(), said.trim_end()))
        })
    }

    /// The kernel's name of the control.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn register(path: &Path) -> Result<Self, String> {
        let words = |what: &str, why: libbpf_rs::Error| format!("{what}: {why}");
        let mut object = ObjectBuilder::default()
            .open_file(path)
            .map_err(|why| words("it is no BPF object", why))?
            .load()
            .map_err(|why| words("the kernel refuses it", why))?;
        let maps = object.maps_mut();
        let mut controls: Vec<_> = maps
            .filter(|map| map.map_type() == MapType::StructOps)
            .collect();
        let [control] = controls.as_mut_slice() else {
            return Err(format!("it has {} controls, not one", controls.len()));
        };
        let before = available()?;
        let link = control
            .attach_struct_ops()
            .map_err(|why| words("the kernel does not register its control", why))?;
        let name = available()?.difference(&before).next().cloned();
        Ok(Self {
            name: name.ok_or("the kernel registered no congestion control")?,
            _link: link,
            _object: object,
        })
    }
}

impl fmt::Debug for BpfControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BpfControl")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn hear(_level: PrintLevel, text: String) {
    let Ok(mut said) = SAID.lock() else {
        return;
    };
    // The verifier says at the end why it refuses.
    said.push_str(&text);
    let excess = said.len().saturating_sub(MAX_SAID);
    let mut ends = excess..=said.len();
    if let Some(cut) = ends.find(|at| said.is_char_boundary(*at)) {
        said.drain(..cut);
    }
}

fn available() -> Result<BTreeSet<String>, String> {
    let text = std::fs::read_to_string(AVAILABLE).map_err(|why| format!("{AVAILABLE}: {why}"))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}
