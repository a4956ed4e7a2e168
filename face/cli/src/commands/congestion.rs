//! Hints for a congestion control that the kernel refuses: the commands to type.

use gigatcp_linux::settings;

use crate::nearest::nearest;

/// Lists the congestion controls that every user may choose. The default of a network namespace can
/// only be one of them.
pub(crate) const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";

/// Congestion controls of Linux that are modules `tcp_NAME`.
const MODULES: [&str; 16] = [
    "bbr",
    "bic",
    "cdg",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
    "cubic",
];

/// The allowed congestion controls.
pub(crate) fn allowed() -> Vec<String> {
    list(ALLOWED)
}

fn list(setting: &str) -> Vec<String> {
    let names = settings::read(setting).unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

/// Hint how to allow `control` besides `allowed`.
pub(crate) fn allow(control: &str, allowed: &[String]) -> String {
    let names = allowed.join(" ");
    format!("`sudo sysctl -w {ALLOWED}='{names} {control}'` allows {control} to every user")
}

/// Hints about a congestion control that the kernel does not have.
pub(crate) fn unavailable(control: &str) -> Vec<String> {
    let available = list("net.ipv4.tcp_available_congestion_control");
    let mut hints = vec![format!("this kernel has: {}", available.join(" "))];
    let known = available.iter().map(String::as_str).chain(MODULES);
    if !MODULES.contains(&control)
        && let Some(meant) = nearest(control, known)
    {
        hints.push(format!("did you mean `{meant}`?"));
        return hints;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !control.is_empty() && control.chars().all(is_plain) {
        hints.push(format!(
            "`sudo modprobe tcp_{control}` loads it, if the kernel has a module of this name"
        ));
    }
    hints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_extends_the_list_and_keeps_what_is_in_it() {
        let allowed = ["reno", "bbr"].map(str::to_owned);
        assert_eq!(
            allow("cubic", &allowed),
            "`sudo sysctl -w net.ipv4.tcp_allowed_congestion_control='reno bbr cubic'` allows cubic \
             to every user"
        );
    }

    #[test]
    fn a_name_that_is_no_word_is_not_put_into_a_command() {
        assert_eq!(unavailable("quickest").len(), 2);
        let hints = unavailable("cubik");
        assert!(
            hints[1].contains("`cubic`") && hints.len() == 2,
            "{hints:?}"
        );
        assert!(unavailable("vegas")[1].contains("modprobe tcp_vegas"));
        assert_eq!(unavailable("x; reboot").len(), 1);
        assert_eq!(unavailable("").len(), 1);
    }
}
