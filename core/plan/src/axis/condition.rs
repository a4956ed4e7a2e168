//! Conditions on the keys of a cell: `path.rtt > 20 ms`, `flow.congestion_control = bbr`.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::settings::TextError;

use super::amount::Amount;
use super::expression::{Expression, is_computed};
use super::{find_word, unquoted};
use crate::keys::lookup;

/// A comparison of a key with a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// The key.
    pub key: String,
    relation: Relation,
    right: Right,
}

#[derive(Clone, PartialEq, Debug)]
enum Right {
    Text(String),
    Computed(Expression),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    Equal,
    Unequal,
    Below,
    Above,
    AtMost,
    AtLeast,
}

/// Comparison signs, longer ones first, or `<=` would be read as `<`.
const SIGNS: [(&str, Relation); 6] = [
    ("!=", Relation::Unequal),
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("=", Relation::Equal),
    ("<", Relation::Below),
    (">", Relation::Above),
];

impl Condition {
    /// Reads conditions with ` and ` between them; the text begins at byte `begin`.
    ///
    /// # Errors
    /// The text read, why it is wrong, and a correction.
    pub fn read_all(text: &str, begin: usize) -> Result<Vec<Self>, TextError> {
        let mut all = Vec::new();
        let (mut rest, mut at) = (text, begin);
        while let Some(cut) = find_word(rest, " and ") {
            all.push(Self::read(&rest[..cut], at)?);
            at += cut + 5;
            rest = &rest[cut + 5..];
        }
        all.push(Self::read(rest, at)?);
        Ok(all)
    }

    fn read(text: &str, begin: usize) -> Result<Self, TextError> {
        let place = begin..begin + text.len();
        let at = text.find(['!', '<', '>', '=']);
        let sign = at.and_then(|at| {
            let sign = SIGNS.iter().find(|(sign, _)| text[at..].starts_with(sign));
            sign.map(|(sign, relation)| (at, at + sign.len(), *relation))
        });
        let Some((at, end, relation)) = sign else {
            let hint = "KEY=VALUE, or != < <= > >=, as in path.rtt > 20 ms";
            return Err(TextError::new(text, place, "nothing is compared", hint));
        };
        let key = text[..at].trim();
        lookup::find(key, place.start..place.start + at)?;
        let value = text[end..].trim();
        let right = match is_computed(value) {
            true => {
                let start = end + (text[end..].len() - text[end..].trim_start().len());
                Right::Computed(Expression::read(value, begin + start)?)
            }
            false => Right::Text(unquoted(value).to_owned()),
        };
        Ok(Self {
            key: key.to_owned(),
            relation,
            right,
        })
    }

    /// Whether it holds; `text_of` returns the values of keys and of `bdp`.
    ///
    /// # Errors
    /// The reason in words, if a value cannot be computed.
    pub fn holds(&self, text_of: &dyn Fn(&str) -> Option<String>) -> Result<bool, String> {
        let left = text_of(&self.key);
        let right = match &self.right {
            Right::Text(text) => text.clone(),
            Right::Computed(expression) => {
                let value_of = |name: &str| Amount::read(&text_of(name)?);
                expression.evaluate(&value_of)?.text().unwrap_or_default()
            }
        };
        let Some(left) = left else {
            return Ok(self.relation == Relation::Unequal);
        };
        let order = match (Amount::read(&left), Amount::read(&right)) {
            (Some(a), Some(b)) if a.dimension == b.dimension => a.value.partial_cmp(&b.value),
            _ => Some(left.cmp(&right)),
        };
        Ok(order.is_some_and(|order| match self.relation {
            Relation::Equal => order.is_eq(),
            Relation::Unequal => order.is_ne(),
            Relation::Below => order.is_lt(),
            Relation::Above => order.is_gt(),
            Relation::AtMost => order.is_le(),
            Relation::AtLeast => order.is_ge(),
        }))
    }
}
