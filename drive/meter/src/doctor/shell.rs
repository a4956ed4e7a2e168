//! Words of command lines.

/// Quotes `text` as one word of a shell (`sh -c`), if it has characters that the shell would read.
///
/// Names of interfaces and control groups may have any, and commands run as root.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._@:,+%=/-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into();
    }
    let mut quoted = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => quoted.push_str("'\\''"),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_quotes_what_a_shell_reads() {
        assert_eq!(word("eth0.7@if2"), "eth0.7@if2");
        assert_eq!(
            word("/sys/fs/cgroup/a b.slice"),
            "'/sys/fs/cgroup/a b.slice'"
        );
        assert_eq!(word("$(reboot)"), "'$(reboot)'");
        assert_eq!(word("a';b"), "'a'\\'';b'");
        assert_eq!(word(""), "''");
    }
}
