//! The attribute `#[gigatcp_net::test]`.
//!
//! It turns an async function into a test that `gigatcp_net::run_matrix` runs. It reads and writes
//! tokens by itself: what it needs of Rust's grammar is a list of `KEY = VALUE` and the head of a
//! function, and a parser of all of Rust would take longer to build than the crate.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

use proc_macro::{Delimiter, Span, TokenStream, TokenTree};

/// Runs an async test on a simulated network, in each cell of a matrix and with each seed.
///
/// ```ignore
/// #[gigatcp_net::test(rtt = [0, 50, 200], loss = [0, 0.01], seeds = 20)]
/// async fn transfer_arrives(net: gigatcp_net::Net) { .. }
/// ```
///
/// * `seeds = N`: seeds 1 to N; 1 without it.
/// * `link = "rate=100Mbit/s"`: words of links that the test does not describe, and of the loopback.
/// * `KEY = [VALUE, ..]`: a word of those links, in the cells. A bare number is in milliseconds for
///   `rtt` and `delay`, and in Mbit/s for `rate`. Texts are as in plans: `queue = ["1bdp", "codel"]`.
///
/// The function takes a `Net` or nothing, and returns nothing or a `Result`.
#[proc_macro_attribute]
pub fn test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    match expand(attribute, item) {
        Ok(expanded) => expanded,
        Err((span, message)) => error(span, &message),
    }
}

type Expanded<T> = Result<T, (Span, String)>;

/// Arguments of the attribute.
#[derive(Default)]
struct Arguments {
    link: String,
    axes: Vec<(String, Vec<String>)>,
    seeds: Option<String>,
}

fn expand(attribute: TokenStream, item: TokenStream) -> Expanded<TokenStream> {
    let arguments = arguments(attribute)?;
    let tokens: Vec<TokenTree> = item.clone().into_iter().collect();
    let is_word = |token: &TokenTree, word: &str| token.to_string() == word;
    let place = tokens
        .iter()
        .position(|token| is_word(token, "fn"))
        .ok_or((Span::call_site(), "the attribute is for functions".into()))?;
    let [TokenTree::Ident(name), TokenTree::Group(parameters)] = &tokens[place + 1..place + 3]
    else {
        let span = tokens[place].span();
        return Err((span, "a test has no generic parameters".into()));
    };
    let is_async = tokens[..place].iter().any(|token| is_word(token, "async"));
    if !is_async || parameters.delimiter() != Delimiter::Parenthesis {
        return Err((name.span(), "a test is an `async fn`".into()));
    }
    // Attributes and visibility stay on the outer function.
    let first = tokens[..place]
        .iter()
        .position(|token| is_word(token, "async"))
        .unwrap_or(place);
    let outer: TokenStream = tokens[..first].iter().cloned().collect();
    let inner: TokenStream = tokens[first..].iter().cloned().collect();
    let call = if parameters.stream().is_empty() {
        format!("|_| {name}()")
    } else {
        name.to_string()
    };
    let axes: String = arguments
        .axes
        .iter()
        .map(|(key, values)| format!("({key:?}, &{values:?}),"))
        .collect();
    let seeds = arguments.seeds.unwrap_or_else(|| "1".into());
    let body = format!(
        "::gigatcp_net::run_matrix(&::gigatcp_net::Matrix {{ \
             name: ::core::concat!(::core::module_path!(), \"::\", \"{name}\"), \
             link: {:?}, axes: &[{axes}], seeds: {seeds} }}, {call});",
        arguments.link
    );
    let head = format!("#[::core::prelude::v1::test] {outer} fn {name}() {{ {inner} {body} }}");
    head.parse()
        .map_err(|error| (name.span(), format!("{error}")))
}

/// Reads `KEY = VALUE, ..`.
fn arguments(attribute: TokenStream) -> Expanded<Arguments> {
    let mut arguments = Arguments::default();
    let mut tokens = attribute.into_iter();
    while let Some(token) = tokens.next() {
        let span = token.span();
        let key = token.to_string();
        let is_assignment = tokens.next().is_some_and(|token| token.to_string() == "=");
        let Some(value) = tokens.next().filter(|_| is_assignment) else {
            return Err((span, format!("`{key}` is not KEY = VALUE")));
        };
        match (key.as_str(), value) {
            ("seeds", TokenTree::Literal(count)) => arguments.seeds = Some(count.to_string()),
            ("link", TokenTree::Literal(words)) => arguments.link = unquoted(&words.to_string()),
            (_, TokenTree::Group(list)) if list.delimiter() == Delimiter::Bracket => {
                arguments
                    .axes
                    .push((key.clone(), values(&key, list.stream())?));
            }
            (_, other) => {
                let message =
                    format!("`{key} = {other}`: a key of links has a list, as in [0, 50]");
                return Err((span, message));
            }
        }
        match tokens.next() {
            Some(comma) if comma.to_string() != "," => {
                return Err((comma.span(), "a comma between arguments".into()));
            }
            _ => {}
        }
    }
    Ok(arguments)
}

/// Reads the values of a key, as words.
fn values(key: &str, list: TokenStream) -> Expanded<Vec<String>> {
    let mut values = Vec::new();
    for token in list {
        match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let value = unquoted(&text);
                let is_number = value == text;
                let unit = match key.rsplit('.').next() {
                    Some("rtt" | "delay") if is_number => "ms",
                    Some("rate") if is_number => "Mbit/s",
                    _ => "",
                };
                values.push(format!("{value}{unit}"));
            }
            TokenTree::Punct(comma) if comma.as_char() == ',' => {}
            other => return Err((other.span(), format!("`{other}` is no number or text"))),
        }
    }
    if values.is_empty() {
        return Err((Span::call_site(), format!("`{key}` has no values")));
    }
    Ok(values)
}

/// The content of a plain string literal, or the token itself.
fn unquoted(literal: &str) -> String {
    literal
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(literal)
        .to_owned()
}

fn error(span: Span, message: &str) -> TokenStream {
    let tokens: TokenStream = format!("::core::compile_error!({message:?});")
        .parse()
        .unwrap_or_default();
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}
