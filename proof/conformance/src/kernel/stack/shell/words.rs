//! Splits shell text into words: lines, `;`, `|`, quotes, comments, continuations, and products in
//! `$((…))`.
//!
//! Redirections to `/dev/null` are skipped, as output is never shown. Other redirections,
//! substitutions, variables, conditions and loops are rejected. A script's `${PPID}` is left as it
//! is.

use std::iter::Peekable;
use std::str::Chars;

use crate::stack::Unsupported;

/// Commands of words, with pipes between.
type Pipeline = Vec<Vec<String>>;

pub(super) fn pipelines(text: &str) -> Result<Vec<Pipeline>, Unsupported> {
    let joined = text.replace("\\\n", " ");
    let mut reader = Reader::new(&joined);
    reader.read()?;
    Ok(reader.done)
}

/// Parses text character by character.
struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    done: Vec<Pipeline>,
    pipeline: Pipeline,
    command: Vec<String>,
    /// The word being read; `None` between words.
    word: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text.chars().peekable(),
            done: Vec::new(),
            pipeline: Vec::new(),
            command: Vec::new(),
            word: None,
        }
    }

    fn read(&mut self) -> Result<(), Unsupported> {
        while let Some(character) = self.rest.next() {
            match character {
                '\n' | ';' => self.end_pipeline(),
                ' ' | '\t' | '\r' => self.end_word(),
                '|' if self.rest.peek() == Some(&'|') => return Err(refused("`||`")),
                '|' => self.end_command(),
                '&' if self.rest.peek() == Some(&'&') => {
                    // What follows runs only after success; a failure is reported anyway.
                    self.rest.next();
                    self.end_pipeline();
                }
                '&' => return Err(refused("`&`")),
                '#' if self.word.is_none() => self.skip_line(),
                '"' | '\'' => self.quoted(character)?,
                '>' => self.redirection()?,
                '<' | '`' | '(' | ')' => return Err(refused(&format!("`{character}`"))),
                '$' => self.substitution()?,
                '\\' => {
                    let escaped = self.rest.next();
                    self.word().extend(escaped);
                }
                _ => self.word().push(character),
            }
        }
        self.end_pipeline();
        Ok(())
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        self.command.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.command.is_empty() {
            self.pipeline.push(std::mem::take(&mut self.command));
        }
    }

    fn end_pipeline(&mut self) {
        self.end_command();
        if !self.pipeline.is_empty() {
            self.done.push(std::mem::take(&mut self.pipeline));
        }
    }

    fn skip_line(&mut self) {
        while self.rest.next_if(|character| *character != '\n').is_some() {}
    }

    fn quoted(&mut self, quote: char) -> Result<(), Unsupported> {
        self.word();
        loop {
            match self.rest.next() {
                None => return Err(refused("a quote that does not end")),
                Some(character) if character == quote => return Ok(()),
                Some('$') if quote == '"' => self.substitution()?,
                Some('`') if quote == '"' => return Err(refused("a command inside a command")),
                Some(character) => self.word().push(character),
            }
        }
    }

    /// Parses `> /dev/null`, `2>&1`; a digit before it is the descriptor.
    fn redirection(&mut self) -> Result<(), Unsupported> {
        if self.word.as_deref().is_some_and(|w| w == "1" || w == "2") {
            self.word = None;
        }
        self.end_word();
        while self.rest.next_if(|c| matches!(c, '>' | ' ')).is_some() {}
        let mut target = String::new();
        while let Some(character) = self.rest.next_if(|c| !matches!(c, ' ' | '\n' | ';' | '|')) {
            target.push(character);
        }
        match target.as_str() {
            "/dev/null" | "&1" | "&2" => Ok(()),
            _ => Err(refused(&format!("writing to {target}"))),
        }
    }

    /// Parses `$((15*1024*1024))` and `${PPID}`.
    fn substitution(&mut self) -> Result<(), Unsupported> {
        let rest: String = self.rest.clone().collect();
        if let Some(inner) = rest.strip_prefix("((") {
            let (sum, _) = inner
                .split_once("))")
                .ok_or_else(|| refused("`$((` that does not end"))?;
            let number = product(sum).ok_or_else(|| refused(&format!("$(({sum}))")))?;
            self.word().push_str(&number.to_string());
            self.skip(2 + sum.chars().count() + 2);
            return Ok(());
        }
        const PARENT: &str = "{PPID}";
        if rest.starts_with(PARENT) {
            self.word().push_str("${PPID}");
            self.skip(PARENT.len());
            return Ok(());
        }
        Err(refused("variables and substitutions"))
    }

    fn skip(&mut self, characters: usize) {
        for _ in 0..characters {
            self.rest.next();
        }
    }
}

/// A product of numbers, the only arithmetic in scripts.
fn product(text: &str) -> Option<i64> {
    let factors = text.split('*').map(|factor| factor.trim().parse::<i64>());
    factors
        .into_iter()
        .try_fold(1_i64, |product, factor| product.checked_mul(factor.ok()?))
}

fn refused(what: &str) -> Unsupported {
    Unsupported::new("command", format!("shell: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Vec<Vec<String>>> {
        pipelines(text).unwrap()
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn lines_semicolons_and_pipes_part_commands() {
        let read = read("a b; c\n\n# nothing\nnstat | grep X | grep -q \" 3 \"\n");
        assert_eq!(read.len(), 3);
        assert_eq!(read[0], [words("a b")]);
        assert_eq!(read[1], [words("c")]);
        assert_eq!(read[2][2], ["grep", "-q", " 3 "]);
    }

    #[test]
    fn quotes_products_and_continuations_make_one_word() {
        let read = read("sysctl -q \\\n net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\"");
        assert_eq!(
            read[0][0],
            ["sysctl", "-q", "net.ipv4.tcp_rmem=4096 540000 15728640"]
        );
    }

    #[test]
    fn output_into_nothing_is_dropped_and_any_other_refused() {
        let read = read("ip tcp_metrics flush all > /dev/null 2>&1\ntc x 2>/dev/null ; y");
        assert_eq!(read[0], [words("ip tcp_metrics flush all")]);
        assert_eq!(read[1], [words("tc x")]);
        assert!(pipelines("echo 1 > /proc/sys/x").is_err());
    }

    #[test]
    fn what_needs_a_real_shell_is_refused() {
        for text in [
            "a `b`", "a $(b)", "a $HOME", "(a)", "a & b", "a || b", "a \"b", "a < b", "$((1+))",
        ] {
            assert!(pipelines(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_parent_process_is_left_as_it_is_written() {
        assert_eq!(read("/tmp/r_${PPID}.sh")[0][0], ["/tmp/r_${PPID}.sh"]);
    }
}
