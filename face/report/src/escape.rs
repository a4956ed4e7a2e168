//! Escapes untrusted text for each output.
//!
//! Names and titles come from a plan of unknown origin. On the page they must not become markup. In
//! the embedded data they must not end the script element. On the terminal they must not be control
//! sequences.

/// Escapes `text` for HTML, in element content and in quoted attributes.
pub fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // NUL and other controls are not allowed in HTML at all.
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Escapes JSON for a `<script type="application/json">`. No `<`, `>` or `&` is left, so neither
/// `</script>` nor `<!--` can occur. In valid JSON all three occur in strings only, where the
/// escapes mean the same.
pub fn json_in_script(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    safe
}

/// Escapes `text` for a terminal, on one line. Escapes replace control characters, and the marks
/// that reverse the direction of writing.
pub fn terminal(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let reverses = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || reverses {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Quotes `text` for a shell.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=".contains(c);
    if text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_name_stays_text() {
        let name = r#"<img src=x onerror="alert('1')">&amp;"#;
        assert_eq!(
            html(name),
            "&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;"
        );
        assert_eq!(html("a\0b\nc"), "a\u{fffd}b\nc");
    }

    #[test]
    fn data_cannot_end_its_script_element_and_mean_the_same() {
        let name = "</script><!-- & \u{2028}";
        let json = serde_json::to_string(name).expect("a string serialises");
        let safe = json_in_script(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']));
        let back: String = serde_json::from_str(&safe).expect("still JSON");
        assert_eq!(back, name);
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        assert_eq!(terminal("a\x1b[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(terminal("CUBIC, 60 MB \u{202e}"), "CUBIC, 60 MB \\u{202e}");
    }
}
