//! `cargo xtask ledger`: requirements of RFCs, with the code that meets them and its tests.
//!
//! A ledger is a file `conformance/rfcNNNN.toml`. It states the number of ids of the document.
//! For each id it has the requirement (in our words), the place in the code that meets it and
//! what shows that (a test, a packet script or both), or an exception with its reason. So that a
//! ledger cannot become stale silently, the task fails when
//! * an id has neither,
//! * a file does not define what an entry says it does,
//! * a cited test is not a test,
//! * an id occurs twice,
//! * the counts do not agree.
//!
//! Whether a test really shows what it states is not checked here. With `--mutate` cited
//! functions are removed, and a cited test must fail.

mod document;
mod mutate;
mod places;

use std::path::Path;

use crate::{Failed, files, top};
use document::{Document, Requirement};
use places::Places;

/// Directory of the ledgers.
const FOLDER: &str = "conformance";

/// Prints every ledger's counts and faults. With words, prints the requirements they name in full
/// (see [`names`]); with `--all`, every one.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let documents = read_all(&top().join(FOLDER))?;
    if words.first().is_some_and(|word| word == "--mutate") {
        return mutate::run(&documents, &words[1..]);
    }
    let mut places = Places::new(top());
    let mut wrong = Vec::new();
    for document in &documents {
        wrong.extend(document.complaints());
        for requirement in &document.requirement {
            wrong.extend(faults(document, requirement, &mut places));
        }
    }
    if words.is_empty() || words.iter().any(|word| word == "--all") {
        print_table(&documents);
    }
    print_chosen(&documents, words)?;
    for line in &wrong {
        println!("error: {line}");
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        println!("ledger: {} errors", wrong.len());
        Err(Failed::Found)
    }
}

/// Reads every `rfc*.toml` of the directory, in order of their numbers.
fn read_all(folder: &Path) -> Result<Vec<Document>, Failed> {
    let listing =
        std::fs::read_dir(folder).map_err(|error| files::failed("list", folder, &error))?;
    let mut documents = Vec::new();
    for entry in listing.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name
            .strip_prefix("rfc")
            .and_then(|rest| rest.strip_suffix(".toml"));
        let Some(number) = number.and_then(|digits| digits.parse().ok()) else {
            continue;
        };
        let text = files::read(&entry.path())?;
        let document = Document::parse(number, &text)
            .map_err(|error| Failed::Usage(format!("{FOLDER}/{name}: {error}")))?;
        documents.push(document);
    }
    documents.sort_by_key(|document| document.number);
    Ok(documents)
}

fn faults(document: &Document, requirement: &Requirement, places: &mut Places) -> Vec<String> {
    let at = format!("{} {}", document.name(), requirement.id);
    let mut faults = Vec::new();
    let is_tested = !requirement.test.is_empty() || !requirement.script.is_empty();
    let shown = !requirement.code.is_empty() && is_tested;
    match &requirement.exception {
        None if !shown => faults.push(format!(
            "{at} has neither `code` with a `test` or a `script` nor an `exception`: say where it \
             is met and what shows it, or why it is not met and what that costs"
        )),
        Some(reason) if reason.split_whitespace().count() < 4 => faults.push(format!(
            "{at}: the exception `{reason}` gives no reason: write a sentence"
        )),
        _ => {}
    }
    for departure in &requirement.departs {
        if departure.split_whitespace().count() < 5 {
            faults.push(format!(
                "{at}: `{departure}` gives no reason: write the profile and a sentence"
            ));
        }
    }
    for place in requirement.code.iter().chain(&requirement.test) {
        if let Err(why) = places.find(place) {
            faults.push(format!("{at} names `{place}`: {why}"));
        }
    }
    for test in &requirement.test {
        if !places.is_test(test) {
            faults.push(format!(
                "{at} names `{test}` as a test: it is no `file.rs#name` of a test function"
            ));
        }
    }
    for script in &requirement.script {
        if let Err(why) = places.find(&script_path(script)) {
            faults.push(format!("{at} names the script `{script}`: {why}"));
        }
    }
    faults
}

fn script_path(name: &str) -> String {
    format!("{FOLDER}/script/{name}.pkt")
}

/// Prints one line per document.
fn print_table(documents: &[Document]) {
    println!(
        "{:<10} {:>5} {:>7} {:>10} {:>10}  title",
        "document", "ids", "shown", "by scripts", "exceptions"
    );
    for document in documents {
        let exceptions = document
            .requirement
            .iter()
            .filter(|r| r.exception.is_some())
            .count();
        let by_scripts = document
            .requirement
            .iter()
            .filter(|r| r.exception.is_none() && !r.script.is_empty())
            .count();
        let ids = document.requirement.len();
        println!(
            "{:<10} {ids:>5} {:>7} {by_scripts:>10} {exceptions:>10}  {}",
            document.name(),
            ids - exceptions,
            document.title
        );
    }
}

/// Prints the requested requirements in full.
fn print_chosen(documents: &[Document], words: &[String]) -> Result<(), Failed> {
    let all = words.iter().any(|word| word == "--all");
    let mut found = all || words.is_empty();
    for document in documents {
        for requirement in &document.requirement {
            let is_chosen = words.iter().any(|word| names(word, document, requirement));
            if all || is_chosen {
                found = true;
                print_requirement(document, requirement);
            }
        }
    }
    if found {
        Ok(())
    } else {
        Err(Failed::Usage(format!(
            "no ledger has `{}`: an id is like `MUST-36`, or `5681:3.1-1` where several documents \
             have it, and `5681` is all of a document; `cargo xtask ledger --all` prints every one",
            words.join(" ")
        )))
    }
}

/// Whether `word` names the requirement: its id, its document, or both as in `5681:3.1-1`.
fn names(word: &str, document: &Document, requirement: &Requirement) -> bool {
    let number = document.number.to_string();
    match word.split_once(':') {
        Some((rfc, id)) => rfc == number && id == requirement.id,
        None => word == number || word == requirement.id,
    }
}

fn print_requirement(document: &Document, requirement: &Requirement) {
    println!(
        "\n{} {} (section {}): {}",
        document.name(),
        requirement.id,
        requirement.section,
        requirement.says
    );
    for place in &requirement.code {
        println!("  code    {place}");
    }
    for test in &requirement.test {
        println!("  test    {test}");
    }
    for script in &requirement.script {
        println!("  script  {}", script_path(script));
    }
    for departure in &requirement.departs {
        println!("  profile {departure}");
    }
    if let Some(reason) = &requirement.exception {
        println!("  not met: {reason}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(text: &str) -> Vec<String> {
        let document = Document::parse(1, text).expect("a ledger");
        let mut places = Places::new(top());
        let each = document.requirement.iter();
        each.flat_map(|r| faults(&document, r, &mut places))
            .collect()
    }

    const HEAD: &str = "title = \"t\"\ncount = { A = 1 }\n[[requirement]]\nid = \"A-1\"\n\
                        section = \"1\"\nsays = \"something\"\n";

    #[test]
    fn an_id_with_neither_places_nor_exception_is_a_fault() {
        assert_eq!(faults_of(HEAD).len(), 1);
        let excused = format!("{HEAD}exception = \"a pure engine has no address\"");
        assert!(faults_of(&excused).is_empty());
        let lazy = format!("{HEAD}exception = \"n/a\"");
        assert_eq!(faults_of(&lazy).len(), 1);
        let lazy = format!("{excused}\ndeparts = [\"tahoe\"]");
        assert_eq!(faults_of(&lazy).len(), 1);
    }

    #[test]
    fn a_word_names_an_id_a_document_or_both() {
        let text = HEAD.replace("A-1", "2.1-1");
        let document = Document::parse(5681, &text).expect("a ledger");
        let requirement = &document.requirement[0];
        for word in ["2.1-1", "5681:2.1-1", "5681"] {
            assert!(names(word, &document, requirement), "{word}");
        }
        for word in ["6298:2.1-1", "5681:2.1-2", "6298", "2.1", "5681:"] {
            assert!(!names(word, &document, requirement), "{word}");
        }
    }

    #[test]
    fn a_script_shows_a_requirement_as_a_test_does() {
        let place = "code = [\"xtask/src/ledger.rs#faults_of\"]\n\
                     script = [\"reset/exact-sequence-number\"]";
        assert!(faults_of(&format!("{HEAD}{place}")).is_empty());
        let gone = place.replace("exact", "inexact");
        assert_eq!(faults_of(&format!("{HEAD}{gone}")).len(), 1);
        let alone = place.replace("script =", "test = [] #");
        assert_eq!(faults_of(&format!("{HEAD}{alone}")).len(), 1);
    }

    #[test]
    fn a_place_that_is_not_there_is_a_fault() {
        let good = "code = [\"xtask/src/ledger.rs#faults_of\"]\n\
                    test = [\"xtask/src/ledger.rs#a_place_that_is_not_there_is_a_fault\"]";
        assert!(faults_of(&format!("{HEAD}{good}")).is_empty());
        let gone = good.replace("faults_of", "no_faults_of");
        assert_eq!(faults_of(&format!("{HEAD}{gone}")).len(), 1);
        let untested = good.replace("a_place_that_is_not_there_is_a_fault", "print_table");
        assert_eq!(faults_of(&format!("{HEAD}{untested}")).len(), 1);
    }
}
