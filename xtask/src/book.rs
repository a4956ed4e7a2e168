//! `cargo xtask book`: `docs/` as a book, with a reference generated from the program.
//!
//! The pages are copied to `target/book/src` at their own paths, so that links between them hold;
//! files of the checkout that they link to are copied too. The program's output about itself
//! (keys of plans, controls, queues, causes, commands) becomes pages, which are never in the
//! tree. mdBook then builds the book in `target/book/html`, whose links must all lead to a file. It
//! is installed into `target/tools` once.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::files::{copy, read, write};
use crate::{Failed, links, process, tools, top};

/// Version of mdBook.
const MDBOOK: &str = "0.5.4";

/// Table of contents, relative to the top of the checkout.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Generated page: title, file, and the command that prints it.
type Page = (&'static str, &'static str, &'static [&'static str]);

/// Generated pages, except those of commands and causes.
const PAGES: [Page; 7] = [
    ("Keys of a plan", "keys", &["list", "keys"]),
    ("Keys of a link", "links", &["list", "links"]),
    ("Congestion controls", "controls", &["list", "controls"]),
    ("Queue disciplines", "queues", &["list", "queues"]),
    ("Applications", "applications", &["list", "applications"]),
    ("Profiles of hosts", "profiles", &["list", "profiles"]),
    ("Experiments", "experiments", &["list", "experiments"]),
];

/// Builds the book.
pub fn run() -> Result<(), Failed> {
    let book = process::target().join("book");
    let source = book.join("src");
    drop(fs::remove_dir_all(&book));
    let summary = read(&top().join(SUMMARY))?;
    let mut pages: Vec<String> = links::links(SUMMARY, &summary)
        .into_iter()
        .map(|link| link.path)
        .collect();
    let listed = pages.len();
    let mut next = 0;
    while let Some(page) = pages.get(next).cloned() {
        for linked in copy_with_linked(&page, &source)? {
            if linked.ends_with(".md") && !pages.contains(&linked) {
                pages.push(linked);
            }
        }
        next += 1;
    }
    let further: String = pages[listed..]
        .iter()
        .map(|page| format!("- [{page}]({page})\n"))
        .collect();
    let program = process::build_command("test")?;
    let mut contents = contents(&summary, &reference(&program, &source)?);
    // mdBook drops pages outside the contents, so links to them would be dead.
    contents.push_str(&format!("\n# Further pages\n\n{further}"));
    write(&source.join("SUMMARY.md"), &contents)?;
    copy(&top().join("docs/book.toml"), &book.join("book.toml"))?;
    let mdbook = tools::cargo_tool("mdbook", MDBOOK)?;
    let mut build = Command::new(mdbook);
    build.arg("build").arg(&book);
    if !process::run(build)?.success() {
        return Err(Failed::Found);
    }
    println!(
        "{} pages: {}",
        contents.matches("](").count(),
        book.join("html/index.html").display()
    );
    match dead_links(&book.join("html"))? {
        0 => Ok(()),
        _ => Err(Failed::Found),
    }
}

/// Prints the links of a site whose file is not there; counts them. `tidy` checks anchors.
fn dead_links(site: &Path) -> Result<usize, Failed> {
    /// mdBook makes these, with links from the top.
    const MADE: [&str; 3] = ["404.html", "print.html", "toc.html"];
    let mut find = Command::new("find");
    find.arg(site).args(["-name", "*.html"]);
    let mut dead = 0;
    for page in process::printed(find)?.lines().map(Path::new) {
        if MADE.iter().any(|name| page.ends_with(name)) {
            continue;
        }
        let directory = page.parent().unwrap_or(site);
        let text = read(page)?;
        for rest in text.split("href=\"").skip(1) {
            let link = rest.split('"').next().unwrap_or_default();
            let file = link.split('#').next().unwrap_or_default();
            if !file.contains(':') && !directory.join(file).exists() {
                println!("{}: dead link {link}", page.display());
                dead += 1;
            }
        }
    }
    Ok(dead)
}

/// Copies a page below `source`, and the files that it links to. Paths stay the same. Returns
/// those files.
fn copy_with_linked(page: &str, source: &Path) -> Result<Vec<String>, Failed> {
    copy(&top().join(page), &source.join(page))?;
    let mut copied = Vec::new();
    for link in links::links(page, &read(&top().join(page))?) {
        let linked = top().join(&link.path);
        if linked.is_file() {
            copy(&linked, &source.join(&link.path))?;
            copied.push(link.path);
        }
    }
    Ok(copied)
}

/// Contents: those of `docs/`, and the generated pages. Paths are relative to the top of the
/// checkout.
fn contents(summary: &str, generated: &str) -> String {
    let mut text = String::new();
    for mut line in summary.lines().map(str::to_owned) {
        for link in links::links(SUMMARY, &line) {
            line = line.replace(&format!("({})", link.written), &format!("({})", link.path));
        }
        text.push_str(&line);
        text.push('\n');
        if line == "# Reference" {
            text.push('\n');
            text.push_str(generated);
        }
    }
    // Joins two lists.
    text.replace("\n\n- [JSON of a run]", "\n- [JSON of a run]")
}

/// Writes the generated pages; returns their lines of the contents.
fn reference(program: &Path, source: &Path) -> Result<String, Failed> {
    let mut contents = String::new();
    for (title, name, words) in PAGES {
        let text = format!(
            "# {title}\n\nPrinted by `gigatcp {}`.\n\n```text\n{}```\n",
            words.join(" "),
            printed(program, words)?
        );
        write(&source.join(format!("reference/{name}.md")), &text)?;
        contents.push_str(&format!("- [{title}](reference/{name}.md)\n"));
    }
    let causes = printed(program, &["explain"])?;
    contents.push_str(&several(
        ("Causes and rules", "explain"),
        causes
            .lines()
            .filter_map(|line| line.split_whitespace().next()),
        |id| printed(program, &["explain", id]),
        source,
    )?);
    let help = printed(program, &["--help"])?;
    contents.push_str(&several(
        ("Commands and exit statuses", "commands"),
        commands(&help),
        |name| printed(program, &[name, "--help"]),
        source,
    )?);
    Ok(contents)
}

/// Writes one page with a section for each of `names`. Names that the program rejects are left
/// out.
fn several<'a>(
    (title, file): (&str, &str),
    names: impl Iterator<Item = &'a str>,
    printed: impl Fn(&str) -> Result<String, Failed>,
    source: &Path,
) -> Result<String, Failed> {
    let mut text = format!("# {title}\n");
    for name in names {
        if let Ok(said) = printed(name) {
            text.push_str(&format!("\n## {name}\n\n```text\n{said}```\n"));
        }
    }
    write(&source.join(format!("reference/{file}.md")), &text)?;
    Ok(format!("- [{title}](reference/{file}.md)\n"))
}

/// Names of the commands in the program's help.
fn commands(help: &str) -> impl Iterator<Item = &str> {
    let names = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next())
}

fn printed(program: &Path, words: &[&str]) -> Result<String, Failed> {
    let mut command = Command::new(program);
    command.args(words).current_dir(top());
    let output = command
        .output()
        .map_err(|error| process::cannot(&command, &error))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Failed::Usage(format!(
            "`{}` failed",
            process::spelled(&command)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_lead_from_the_top_and_have_the_generated_pages() {
        let summary =
            "# Summary\n\n[A](../README.md)\n\n# Reference\n\n- [JSON of a run](run-json.md)\n";
        let text = contents(summary, "- [Keys](reference/keys.md)\n");
        assert!(text.contains("[A](README.md)"), "{text}");
        assert!(
            text.ends_with("- [Keys](reference/keys.md)\n- [JSON of a run](docs/run-json.md)\n"),
            "{text}"
        );
    }

    #[test]
    fn commands_are_read_from_the_help() {
        let help = "Usage\n\nCommands:\n  run   Run\n  list  List this\n        or that\n\nOptions:\n  -h\n";
        assert_eq!(commands(help).collect::<Vec<_>>(), ["run", "list"]);
    }
}
