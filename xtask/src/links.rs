//! Links between the project's pages: their targets, and whether these exist.
//!
//! Relative links of Markdown pages and their anchors are checked, as GitHub and mdBook name
//! them. Out of scope: links to other sites, which may fail for external reasons.

use std::path::Path;

/// Link of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Line, counted from 1.
    pub line: usize,
    /// Text between the parentheses.
    pub written: String,
    /// Target file, relative to the top of the checkout.
    pub path: String,
    /// The anchor within it; may be empty.
    pub anchor: String,
}

/// Relative links of the page at `path`.
pub fn links(path: &str, text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (index, line) in prose(text) {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("](") {
            let Some((written, after)) = after.split_once(')') else {
                break;
            };
            rest = after;
            let is_foreign = written.contains("://") || written.starts_with("mailto:");
            if is_foreign || written.contains(' ') {
                continue;
            }
            let (target, anchor) = written.split_once('#').unwrap_or((written, ""));
            found.push(Link {
                line: index + 1,
                written: written.to_owned(),
                path: match target {
                    "" => path.to_owned(),
                    target => joined(path, target),
                },
                anchor: anchor.to_owned(),
            });
        }
    }
    found
}

/// Reason why `link` is dead, if it is.
pub fn fault(top: &Path, link: &Link) -> Option<&'static str> {
    let file = top.join(&link.path);
    if !file.exists() {
        return Some("there is no such file");
    }
    if link.anchor.is_empty() || !link.path.ends_with(".md") {
        return None;
    }
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let is_there = anchors(&text).contains(&link.anchor);
    (!is_there).then_some("the page has no such heading")
}

/// Lines outside code blocks, with their index.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Anchors of a page's headings.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| slug(line.trim_start_matches('#').trim()))
        .collect()
}

/// Anchor of a heading: lower case, words joined by `-`, without punctuation.
fn slug(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Path of `target`, a link on the page at `path`.
fn joined(path: &str, target: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved_from_their_page_and_code_is_left_out() {
        let text = "[a](../b.md#c-d) [x](https://x.org) [s](#e)\n```\n[n](o)\n```\n![p](p.png)\n";
        let found = links("docs/guide/page.md", text);
        let paths: Vec<_> = found
            .iter()
            .map(|link| (&*link.path, &*link.anchor))
            .collect();
        assert_eq!(
            paths,
            [
                ("docs/b.md", "c-d"),
                ("docs/guide/page.md", "e"),
                ("docs/guide/p.png", "")
            ]
        );
    }

    #[test]
    fn headings_become_the_anchors_that_links_name() {
        let text = "# What `why` does\n## Adding a cause, to `why`\n";
        assert_eq!(anchors(text), ["what-why-does", "adding-a-cause-to-why"]);
    }
}
