//! A number with a dimension, the value type of expressions.

use alloc::format;
use alloc::string::String;

use gigatcp_units::{Bytes, Duration, Probability, Rate};

/// Powers of data and time in a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Dimension {
    /// Power of data.
    pub data: i8,
    /// Power of time.
    pub time: i8,
}

impl Dimension {
    /// Dimensionless.
    pub const NONE: Self = Self { data: 0, time: 0 };
    /// Bytes.
    pub const DATA: Self = Self { data: 1, time: 0 };
    /// Time.
    pub const TIME: Self = Self { data: 0, time: 1 };
    /// Data per time.
    pub const RATE: Self = Self { data: 1, time: -1 };
}

/// A number with a dimension, in bytes and seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Amount {
    /// The number.
    pub value: f64,
    /// Its dimension.
    pub dimension: Dimension,
}

impl Amount {
    /// A number without a dimension.
    pub const fn number(value: f64) -> Self {
        Self {
            value,
            dimension: Dimension::NONE,
        }
    }

    /// An amount of data.
    pub fn bytes(bytes: Bytes) -> Self {
        Self {
            value: bytes.as_u64() as f64,
            dimension: Dimension::DATA,
        }
    }

    /// Parses a quantity. `None` if `text` is another word.
    pub fn read(text: &str) -> Option<Self> {
        let trimmed = text.trim();
        let of = |value, dimension| Some(Self { value, dimension });
        if let Ok(number) = trimmed.parse::<f64>() {
            return number.is_finite().then_some(Self::number(number));
        }
        if let Ok(time) = trimmed.parse::<Duration>() {
            return of(time.as_nanos() as f64 / 1e9, Dimension::TIME);
        }
        if let Ok(bytes) = trimmed.parse::<Bytes>() {
            return Some(Self::bytes(bytes));
        }
        if let Ok(rate) = trimmed.parse::<Rate>() {
            return of(rate.as_bps() as f64 / 8.0, Dimension::RATE);
        }
        let share = trimmed.parse::<Probability>().ok()?;
        Some(Self::number(share.as_f64()))
    }

    /// Quantity as in a plan, in the smallest unit. `None` if its dimension has no unit.
    pub fn text(self) -> Option<String> {
        let whole = |value: f64, unit| Some(format!("{} {unit}", libm::round(value)));
        if !self.value.is_finite() {
            return None;
        }
        match self.dimension {
            Dimension::NONE => Some(plain(self.value)),
            Dimension::DATA => whole(self.value, "B"),
            Dimension::TIME => whole(self.value * 1e9, "ns"),
            Dimension::RATE => whole(self.value * 8.0, "bit/s"),
            _ => None,
        }
    }
}

/// A number in the shortest form that reads back as the same.
pub fn plain(value: f64) -> String {
    let size = libm::fabs(value);
    if size != 0.0 && !(1e-3..1e15).contains(&size) {
        return format!("{value:e}");
    }
    format!("{value}")
}
