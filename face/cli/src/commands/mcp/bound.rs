//! Answers of at most 8,000 bytes, which is about 2,000 tokens.

use serde_json::{Map, Value};

/// Maximum bytes of an answer.
pub(super) const MAX_ANSWER: usize = 8_000;

/// Bytes kept free for what says that something was left out.
const LEFT_OUT: usize = 300;

/// A document in one line. Its longest lists lose their last elements until it is short enough;
/// `left_out` counts them by the name of their list.
pub(super) fn document(mut value: Value) -> String {
    let whole = value.to_string();
    if whole.len() <= MAX_ANSWER {
        return whole;
    }
    let mut left_out = Map::new();
    loop {
        let size = value.to_string().len();
        let excess = (size + LEFT_OUT).saturating_sub(MAX_ANSWER);
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
    if text.len() <= MAX_ANSWER {
        return text;
    }
    let kept = boundary(&text, MAX_ANSWER - LEFT_OUT);
    let kept = text[..kept].rfind('\n').map_or(kept, |end| end + 1);
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
        assert!(text.len() <= MAX_ANSWER, "{}", text.len());
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["short"], json!([1, 2, 3]));
        let kept = read["outer"][0]["long"].as_array().unwrap().len() as u64;
        assert!(kept > 200, "{kept}");
        assert_eq!(read["left_out"]["long"], json!(1000 - kept));
    }

    #[test]
    fn a_document_of_long_strings_only_is_shortened_too() {
        let long = "é".repeat(50_000);
        let text = document(json!({ "a": long, "b": [long], "c/~": { "d": long } }));
        assert!(text.len() <= MAX_ANSWER, "{}", text.len());
        serde_json::from_str::<Value>(&text).unwrap();
    }

    #[test]
    fn long_text_ends_with_a_whole_line() {
        let text = lines("0123456789 é\n".repeat(1000));
        assert!(text.len() <= MAX_ANSWER);
        let last = text.lines().last().unwrap();
        assert!(last.ends_with("more lines left out)"), "{last}");
        assert!(lines("é".repeat(10_000)).len() <= MAX_ANSWER);
    }
}
