//! Settings of both ends: this machine's, then those of `--sysctl`; suggests existing ones for one
//! that does not exist.
//!
//! A new namespace has buffer limits and default control of the *initial* namespace (Linux,
//! `tcp_sk_init`). The caller, in a container for example, may have others, which are copied.

use gigatcp_linux::settings;

use crate::commands::congestion;
use crate::failure::Failure;
use crate::nearest::nearest;

/// Limits of TCP's buffers, copied from the caller's namespace.
const BUFFERS: [&str; 2] = ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];

/// The setting whose values are congestion controls.
pub(super) const CONTROL: &str = "net.ipv4.tcp_congestion_control";

/// Settings of both ends, in the order to apply: the caller's, then those typed as `KEY=VALUE`.
pub(crate) fn read(typed: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let setting = |text: &String| match text.split_once('=') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(Failure::not_run(format!("`--sysctl {text}` has no value"))
            .hint("as in `--sysctl net.ipv4.tcp_ecn=1`")),
    };
    callers().map(Ok).chain(typed.iter().map(setting)).collect()
}

/// Those of `settings` that a new namespace does not get by itself.
pub(crate) fn typed(settings: &[(String, String)]) -> impl Iterator<Item = &(String, String)> {
    let callers: Vec<_> = callers().collect();
    let is_typed = move |setting: &&(String, String)| !callers.contains(setting);
    settings.iter().filter(is_typed)
}

/// Settings of the calling thread's namespace that a new one gets. A namespace may have an allowed
/// control only.
fn callers() -> impl Iterator<Item = (String, String)> {
    let value = |name: &'static str| Some((name.to_owned(), settings::read(name).ok()?));
    let allowed = congestion::allowed();
    let control = value(CONTROL).filter(|(_, control)| allowed.contains(control));
    BUFFERS.into_iter().filter_map(value).chain(control)
}

/// Hint for an unknown setting `name`. It suggests the known one with the same last part
/// (`tcp_ecn`), or the nearest.
pub(super) fn hint(name: &str, known: &[String]) -> String {
    let form = "settings are those that `sysctl -a` shows below `net`, as in `--sysctl \
                net.ipv4.tcp_ecn=1`";
    let last = |name: &str| {
        name.rsplit(['.', '/'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let word = last(name);
    let same = known.iter().find(|known| last(known) == word);
    let meant = same.cloned().or_else(|| {
        let all = nearest(name, known.iter().map(String::as_str));
        all.map(str::to_owned).or_else(|| {
            let words: Vec<String> = known.iter().map(|known| last(known)).collect();
            let near = nearest(&word, words.iter().map(String::as_str))?;
            known.iter().find(|known| last(known) == near).cloned()
        })
    });
    match meant {
        Some(meant) => format!("did you mean `{meant}`? {form}"),
        None => form.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_found_by_its_last_word_or_by_being_near() {
        let known =
            ["net.core.rmem_max", "net.ipv4.tcp_ecn", "net.ipv4.tcp_rmem"].map(str::to_owned);
        for (typed, meant) in [
            ("tcp_ecn", "`net.ipv4.tcp_ecn`?"),
            ("ipv4.tcp_rmem", "`net.ipv4.tcp_rmem`?"),
            ("net.ipv4.tcp_enc", "`net.ipv4.tcp_ecn`?"),
            ("tcp_rmen", "`net.ipv4.tcp_rmem`?"),
        ] {
            let said = hint(typed, &known);
            assert!(said.contains(meant), "{typed}: {said}");
        }
        let said = hint("foo", &known);
        assert!(
            !said.contains("did you mean") && said.contains("sysctl -a"),
            "{said}"
        );
    }
}
