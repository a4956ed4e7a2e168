//! Answers of at most 2,000 tokens.

use serde_json::{Map, Value};

/// Maximum of [`tokens`] of an answer: at most 2,000 by the vocabulary `o200k_base`.
const MAX_TOKENS: usize = 1_800;

/// Tokens kept free for what says that something was left out.
const LEFT_OUT: usize = 80;

/// Tokens of a text, about: 0.90 to 1.27 times those of `o200k_base` in 230 answers and in tables of
/// random addresses.
fn tokens(text: &str) -> usize {
    let bytes_per_token = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b' ' => 5,
        b'0'..=b'9' => 3,
        _ if byte.is_ascii_whitespace() => usize::MAX,
        _ if byte.is_ascii() => 2,
        _ => 1,
    };
    text.as_bytes()
        .chunk_by(|byte, next| bytes_per_token(byte) == bytes_per_token(next))
        .map(|run| run.len().div_ceil(bytes_per_token(&run[0])))
        .sum()
}

/// A document in one line. Its longest lists lose their last elements until it is short enough;
/// `left_out` counts them by the name of their list.
pub(super) fn document(mut value: Value) -> String {
    let whole = value.to_string();
    if tokens(&whole) <= MAX_TOKENS {
        return whole;
    }
    let mut left_out = Map::new();
    loop {
        let excess = (tokens(&value.to_string()) + LEFT_OUT).saturating_sub(MAX_TOKENS);
        // A token has a byte or more.
        if excess == 0 || !shorten(&mut value, excess, &mut left_out) {
            break;
        }
    }
    if let Value::Object(fields) = &mut value {
        fields.insert("left_out".into(), left_out.into());
    }
    value.to_string()
}

/// Shortens the longest list that has more than one element, else the longest string. Returns
/// whether there was one.
fn shorten(value: &mut Value, excess: usize, left_out: &mut Map<String, Value>) -> bool {
    let (mut list, mut string) = (Longest::default(), Longest::default());
    measure(value, "", &mut list, &mut string);
    if let Some(Value::Array(elements)) = value.pointer_mut(&list.pointer).filter(|_| list.size > 0)
    {
        let mut removed = 0;
        let before = elements.len();
        while removed < excess && elements.len() > 1 {
            removed += elements
                .pop()
                .map_or(0, |element| element.to_string().len() + 1);
        }
        let name = list
            .pointer
            .rsplit('/')
            .find(|part| part.parse::<usize>().is_err());
        let count = left_out.entry(name.unwrap_or_default()).or_insert(0.into());
        *count = (count.as_u64().unwrap_or(0) + (before - elements.len()) as u64).into();
        return true;
    }
    if let Some(Value::String(text)) = value
        .pointer_mut(&string.pointer)
        .filter(|_| string.size > 16)
    {
        const CUT: &str = "…";
        let kept = text.len().saturating_sub(excess + CUT.len()).max(8);
        text.truncate(boundary(text, kept));
        text.push_str(CUT);
        return true;
    }
    false
}

/// The largest value of a kind, and where it is.
#[derive(Default)]
struct Longest {
    size: usize,
    pointer: String,
}

impl Longest {
    fn compare(&mut self, size: usize, pointer: &str) {
        if size > self.size {
            *self = Self {
                size,
                pointer: pointer.to_owned(),
            };
        }
    }
}

/// Size of `value` as JSON, about. Notes the longest list and the longest string within.
fn measure(value: &Value, pointer: &str, list: &mut Longest, string: &mut Longest) -> usize {
    match value {
        Value::Array(elements) => {
            let sizes = elements.iter().enumerate().map(|(index, element)| {
                measure(element, &format!("{pointer}/{index}"), list, string) + 1
            });
            let size = sizes.sum();
            if elements.len() > 1 {
                list.compare(size, pointer);
            }
            size
        }
        Value::Object(fields) => {
            let sizes = fields.iter().map(|(name, field)| {
                // RFC 6901.
                let escaped = name.replace('~', "~0").replace('/', "~1");
                name.len() + 4 + measure(field, &format!("{pointer}/{escaped}"), list, string)
            });
            sizes.sum()
        }
        Value::String(text) => {
            string.compare(text.len(), pointer);
            text.len() + 2
        }
        other => other.to_string().len(),
    }
}

/// The last boundary of characters at or before `most`.
fn boundary(text: &str, most: usize) -> usize {
    let mut places = (0..=most.min(text.len())).rev();
    places.find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Text that ends after the last line that fits.
pub(super) fn lines(mut text: String) -> String {
    if tokens(&text) <= MAX_TOKENS {
        return text;
    }
    let mut kept = text.len();
    while tokens(&text[..kept]) > MAX_TOKENS - LEFT_OUT {
        let shorter = boundary(&text, kept - kept.div_ceil(16));
        kept = text[..shorter].rfind('\n').map_or(shorter, |end| end + 1);
    }
    let lines = text[kept..].lines().count();
    text.truncate(kept);
    text.push_str(&format!("({lines} more lines left out)\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_are_counted_by_kind_of_character() {
        assert_eq!(tokens("Limited by the path"), 4);
        assert_eq!(tokens("10.77.1.1:45522"), 10);
        assert_eq!(tokens("\n\n\u{e9}"), 3);
    }

    #[test]
    fn a_short_document_is_unchanged() {
        let document = json!({ "list": [1, 2], "text": "a" });
        assert_eq!(super::document(document.clone()), document.to_string());
    }

    #[test]
    fn the_longest_list_loses_its_last_elements_and_they_are_counted() {
        let long: Vec<Value> = (0..1000)
            .map(|n| json!({ "n": n, "text": "some text" }))
            .collect();
        let text = document(json!({ "short": [1, 2, 3], "outer": [{ "long": long }] }));
        assert!(tokens(&text) <= MAX_TOKENS, "{}", tokens(&text));
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["short"], json!([1, 2, 3]));
        let kept = read["outer"][0]["long"].as_array().unwrap().len() as u64;
        assert!(kept > 100, "{kept}");
        assert_eq!(read["left_out"]["long"], json!(1000 - kept));
    }

    #[test]
    fn a_document_of_long_strings_only_is_shortened_too() {
        let long = "é".repeat(50_000);
        let text = document(json!({ "a": long, "b": [long], "c/~": { "d": long } }));
        assert!(tokens(&text) <= MAX_TOKENS, "{}", tokens(&text));
        serde_json::from_str::<Value>(&text).unwrap();
    }

    #[test]
    fn long_text_ends_with_a_whole_line() {
        let text = lines("0123456789 é\n".repeat(1000));
        assert!((1_500..=MAX_TOKENS).contains(&tokens(&text)));
        let last = text.lines().last().unwrap();
        assert!(last.ends_with("more lines left out)"), "{last}");
        assert!(tokens(&lines("é".repeat(10_000))) <= MAX_TOKENS);
    }
}
