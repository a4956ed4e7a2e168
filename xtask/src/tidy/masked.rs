//! Rust source split into code, comments and literals.
//!
//! It scans only the lexical structure (Rust reference, chapter 2): line and nested block
//! comments, strings with escapes, raw and byte strings, characters and lifetimes.

/// Views of a source with the same lines and columns.
#[derive(Clone, Debug)]
pub struct Masked {
    /// Only code: comments and the contents of literals are blanks.
    pub code: Vec<String>,
    /// Code and literals: comments are blanks.
    pub uncommented: Vec<String>,
    /// Only comments, slashes included.
    pub comments: Vec<String>,
    /// Literals with the lines where they begin, from 1.
    pub literals: Vec<(usize, String)>,
    /// Whether each line belongs to a module or function of tests.
    pub is_test: Vec<bool>,
}

/// Lexical kind of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Masked {
    /// Scans `text`.
    pub fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let kinds = kinds(&chars);
        let view = |keep: &dyn Fn(Kind) -> bool| -> Vec<String> {
            let masked: String = chars
                .iter()
                .zip(&kinds)
                .map(|(&c, &kind)| if c == '\n' || keep(kind) { c } else { ' ' })
                .collect();
            masked.lines().map(String::from).collect()
        };
        let code = view(&|kind| kind == Kind::Code);
        Self {
            is_test: test_lines(&code),
            uncommented: view(&|kind| kind != Kind::Comment),
            comments: view(&|kind| kind == Kind::Comment),
            literals: literals(&chars, &kinds),
            code,
        }
    }
}

/// Literals, each with the line where it begins.
fn literals(chars: &[char], kinds: &[Kind]) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut line, mut is_inside) = (1, false);
    for (&c, &kind) in chars.iter().zip(kinds) {
        let is_literal = kind == Kind::Literal;
        if is_literal && !is_inside {
            found.push((line, String::new()));
        }
        if is_literal && let Some((_, text)) = found.last_mut() {
            text.push(c);
        }
        is_inside = is_literal;
        line += usize::from(c == '\n');
    }
    found
}

/// Kind of each character.
fn kinds(chars: &[char]) -> Vec<Kind> {
    let mut kinds = vec![Kind::Code; chars.len()];
    let mut at = 0;
    while at < chars.len() {
        let (end, kind) = next_piece(chars, at);
        kinds[at..end].fill(kind);
        at = end;
    }
    kinds
}

/// End of the piece that begins at `at`, and its kind.
fn next_piece(chars: &[char], at: usize) -> (usize, Kind) {
    let ahead = |n: usize| chars.get(at + n).copied().unwrap_or(' ');
    match (chars[at], ahead(1)) {
        ('/', '/') => (line_end(chars, at), Kind::Comment),
        ('/', '*') => (block_comment_end(chars, at), Kind::Comment),
        ('"', _) => (string_end(chars, at + 1), Kind::Literal),
        ('\'', _) => match char_end(chars, at) {
            Some(end) => (end, Kind::Literal),
            None => (at + 1, Kind::Code),
        },
        (c, _) if c.is_alphabetic() || c == '_' => word(chars, at),
        _ => (at + 1, Kind::Code),
    }
}

/// End and kind of a word, or of a literal with a prefix. The prefixes are `r"`, `br#"`, `b"`,
/// `c"`, `b'`.
fn word(chars: &[char], at: usize) -> (usize, Kind) {
    let rest = &chars[at..];
    let letters = rest
        .iter()
        .take_while(|c| c.is_alphanumeric() || **c == '_')
        .count();
    let word: String = rest[..letters].iter().collect();
    let after = at + letters;
    let is_raw = matches!(word.as_str(), "r" | "br" | "cr");
    let hashes = chars[after..].iter().take_while(|c| **c == '#').count();
    if is_raw && chars.get(after + hashes) == Some(&'"') {
        return (
            raw_string_end(chars, after + hashes + 1, hashes),
            Kind::Literal,
        );
    }
    if matches!(word.as_str(), "b" | "c") && chars.get(after) == Some(&'"') {
        return (string_end(chars, after + 1), Kind::Literal);
    }
    if word == "b"
        && chars.get(after) == Some(&'\'')
        && let Some(end) = char_end(chars, after)
    {
        return (end, Kind::Literal);
    }
    (after, Kind::Code)
}

fn line_end(chars: &[char], at: usize) -> usize {
    let length = chars[at..].iter().take_while(|c| **c != '\n').count();
    at + length
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut at = at;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                at += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    chars.len()
}

/// End of a string whose content begins at `at`.
fn string_end(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

fn raw_string_end(chars: &[char], at: usize, hashes: usize) -> usize {
    let closes = |start: usize| {
        let tail = chars.get(start + 1..start + 1 + hashes);
        chars[start] == '"' && tail.is_some_and(|tail| tail.iter().all(|c| *c == '#'))
    };
    let end = (at..chars.len()).find(|start| closes(*start));
    end.map_or(chars.len(), |start| start + 1 + hashes)
}

/// End of a character literal; `None` for a lifetime or a label.
fn char_end(chars: &[char], quote: usize) -> Option<usize> {
    let first = *chars.get(quote + 1)?;
    if first == '\\' {
        // The escaped character itself may be a quote.
        let close = (quote + 3..chars.len()).find(|at| chars[*at] == '\'')?;
        return Some(close + 1);
    }
    (chars.get(quote + 2) == Some(&'\'')).then_some(quote + 3)
}

/// Marks the lines of items under `#[cfg(test)]` or `#[test]`.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut marks = vec![false; code.len()];
    for (line, text) in code.iter().enumerate() {
        if (text.contains("#[cfg(test)]") || text.contains("#[test]"))
            && let Some(end) = item_end(code, line)
        {
            marks[line..=end].fill(true);
        }
    }
    marks
}

/// Last line of the item whose attributes or signature begin at `line`. It has the closing brace,
/// or the semicolon if the item has no body.
pub fn item_end(code: &[String], line: usize) -> Option<usize> {
    let (mut braces, mut groups) = (0_i32, 0_i32);
    for (number, text) in code.iter().enumerate().skip(line) {
        for c in text.chars() {
            match c {
                '(' | '[' => groups += 1,
                ')' | ']' => groups -= 1,
                '{' => braces += 1,
                '}' => {
                    braces -= 1;
                    if braces == 0 {
                        return Some(number);
                    }
                }
                ';' if braces == 0 && groups == 0 => return Some(number),
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank_in_the_code() {
        let masked = Masked::new("let a = \"x // y\"; // b \"c\"\n/* d /* e */ f */ g();\n");
        assert_eq!(masked.code[0].trim_end(), "let a =         ;");
        assert_eq!(masked.code[1].trim(), "g();");
        assert_eq!(masked.uncommented[0].trim_end(), "let a = \"x // y\";");
        assert_eq!(masked.comments[0].trim(), "// b \"c\"");
    }

    #[test]
    fn a_literal_of_several_lines_is_one_from_its_first_line() {
        let masked = Masked::new("f();\ng(\"a \\\n  b\", 'c'); // \"d\"\n");
        let expected = [(2, "\"a \\\n  b\"".into()), (3, "'c'".into())];
        assert_eq!(masked.literals, expected);
    }

    #[test]
    fn raw_strings_end_where_their_hashes_say() {
        let masked = Masked::new("f(r#\"a \"b\" // c\"#); br\"\\\"; d(b\"x\\\"y\");");
        assert_eq!(masked.code[0].replace(' ', ""), "f();;d();");
    }

    #[test]
    fn a_lifetime_is_no_character() {
        let masked = Masked::new("fn f<'a>(x: &'a str) -> char { '\\'' } // '");
        assert!(masked.code[0].contains("<'a>(x: &'a str)"));
        assert!(masked.code[0].trim_end().ends_with('}'));
        assert_eq!(
            Masked::new("g('{', b'}', x)").code[0].replace(' ', ""),
            "g(,,x)"
        );
    }

    #[test]
    fn a_test_module_and_a_test_function_are_marked_to_their_ends() {
        let text =
            "fn a() {\n}\n#[cfg(test)]\nmod tests {\n  #[test]\n  fn b() {\n  }\n}\nfn c() {}\n";
        let marks = Masked::new(text).is_test;
        let expected = [false, false, true, true, true, true, true, true, false];
        assert_eq!(marks, expected);
    }

    #[test]
    fn an_item_without_a_body_ends_at_its_semicolon() {
        let code = Masked::new("#[cfg(test)]\nmod x;\nfn f(a: [u8; 3]) {\n}\n").code;
        assert_eq!(item_end(&code, 0), Some(1));
        assert_eq!(item_end(&code, 2), Some(3));
    }
}
