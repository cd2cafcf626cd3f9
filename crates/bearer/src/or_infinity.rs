//! Numbers that may be infinite.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::Error as ValueError;
use serde::de::{IntoDeserializer, Visitor};
use serde::{Deserialize, Serialize};

/// A number, or the word "infinity".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OrInfinity<T> {
    /// A number.
    Value(T),
    /// No limit.
    Infinity(InfinityWord),
}

/// The word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InfinityWord {
    /// No limit.
    Infinity,
}

impl<T: Copy> OrInfinity<T> {
    /// No limit.
    pub const INFINITY: Self = OrInfinity::Infinity(InfinityWord::Infinity);
    /// The number, if the value is finite.
    pub const fn value(self) -> Option<T> {
        match self {
            OrInfinity::Value(v) => Some(v),
            OrInfinity::Infinity(_) => None,
        }
    }
}

// Derived code would report every mistake with serde's message about untagged enums.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrInfinity<T> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(NumberOrInfinity(PhantomData))
    }
}

struct NumberOrInfinity<T>(PhantomData<T>);

impl<T> NumberOrInfinity<T> {
    fn number<'de, V, E>(written: impl std::fmt::Display, value: V) -> Result<OrInfinity<T>, E>
    where
        T: Deserialize<'de>,
        V: IntoDeserializer<'de, ValueError>,
        E: serde::de::Error,
    {
        T::deserialize(value.into_deserializer()).map(OrInfinity::Value).map_err(|e| {
            let text = e.to_string();
            // The message of a quantity names the expected value; serde's messages begin with this
            // word.
            if text.starts_with("invalid") {
                E::custom(format_args!("`{written}` is neither a whole number from 0 on nor \"infinity\""))
            } else {
                E::custom(format_args!("{text}, or \"infinity\""))
            }
        })
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for NumberOrInfinity<T> {
    type Value = OrInfinity<T>;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number or \"infinity\"")
    }
    fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<OrInfinity<T>, E> {
        if s == "infinity" { Ok(OrInfinity::Infinity(InfinityWord::Infinity)) } else { Self::number(s, s) }
    }
    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<OrInfinity<T>, E> {
        Self::number(n, n)
    }
    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<OrInfinity<T>, E> {
        Self::number(n, n)
    }
    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<OrInfinity<T>, E> {
        Self::number(n, n)
    }
}
