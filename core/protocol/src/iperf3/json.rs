//! Values of JSON objects as iperf3's parser reads them: a wrong type counts as absent.

use alloc::string::String;

use serde_json::{Map, Value};

/// A JSON object of a message.
pub(super) struct Object<'a> {
    map: Option<&'a Map<String, Value>>,
}

impl<'a> Object<'a> {
    pub(super) fn of(value: &'a Value) -> Self {
        Self {
            map: value.as_object(),
        }
    }

    pub(super) fn value(&self, key: &str) -> Option<&'a Value> {
        self.map?.get(key)
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        match self.value(key) {
            Some(Value::Bool(flag)) => *flag,
            // `get_server_output`, `udp_counters_64bit` and others are numbers.
            Some(Value::Number(number)) => number.as_f64().is_some_and(|number| number != 0.0),
            _ => false,
        }
    }

    /// A whole number. cJSON prints one of 10^15 and more with an exponent; iperf3 before
    /// 3.14 prints -1 as 2^64 - 1.
    pub(super) fn signed(&self, key: &str) -> Option<i64> {
        let number = self.value(key)?.as_number()?;
        let unsigned = |number: u64| number.cast_signed();
        let whole = number.as_i64().or_else(|| number.as_u64().map(unsigned));
        whole.or_else(|| {
            let float = number.as_f64()?;
            let is_minus_one = float >= u64::MAX as f64;
            Some(if is_minus_one { -1 } else { float as i64 })
        })
    }

    /// A whole number that is not negative.
    pub(super) fn unsigned(&self, key: &str) -> Option<u64> {
        u64::try_from(self.signed(key)?).ok()
    }

    /// A whole number in 32 bits; larger ones saturate.
    pub(super) fn small(&self, key: &str) -> Option<u32> {
        let number = self.unsigned(key)?;
        Some(u32::try_from(number).unwrap_or(u32::MAX))
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.value(key)?.as_str().map(String::from)
    }
}
