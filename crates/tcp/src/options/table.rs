//! The keys that a scenario may set under `[flow.<name>.tcp]`, from the table of
//! [`parameters`](crate::parameters): the fields of [`Options`] (in groups here, without groups in
//! a scenario), the schema, the code that reads, writes and applies them, and [`SETTINGS`].

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use lasthop_units::{Bitrate, Bytes, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use super::{OptionError, refuse};
use crate::cc::CcName;
use crate::config::*;
use crate::host::{AckRule, Offload};
use crate::jiffies::KernelClock;
use crate::mutant::Mutant;
use crate::profile::Profile;
use crate::word::bare_word;

/// The table's data of a key that has a value in each profile.
pub struct Setting {
    /// The key under `[flow.x.tcp]`.
    pub key: &'static str,
    /// Only those controls read it that list it as a parameter.
    pub of_controls: bool,
    /// Reads the value for display.
    pub value: fn(&Config) -> String,
    /// The source of the `rfc` value.
    pub rfc_source: &'static str,
}

impl Setting {
    /// The source of this value in `profile`: its own, or that of the profile it starts from.
    pub fn source(&self, profile: Profile) -> &'static str {
        let own = profile.sources().iter().find(|s| s.0 == self.key);
        match (own, profile.base()) {
            (Some(s), _) => s.1,
            (None, None) => self.rfc_source,
            (None, Some(Profile::Linux6)) => "as in `linux-6`",
            (None, Some(_)) => "as in `rfc`",
        }
    }
}

fn or<T: ToString>(value: Option<T>, none: &str) -> String {
    value.map_or(none.to_owned(), |v| v.to_string())
}

/// Stores a value, or returns what is wrong with it.
type Set<T> = fn(&mut Config, T) -> Result<(), String>;

fn within(value: u64, range: RangeInclusive<u64>, unit: &str) -> Result<u64, String> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(format!("{value}{unit} is outside {}{unit} to {}{unit}", range.start(), range.end()))
}

/// A field of [`Config`] that takes a number in its own width, or may hold none.
trait Holds {
    fn hold(&mut self, value: u64);
}
macro_rules! holds {
    ($($number:ty),*) => {
        $(impl Holds for $number {
            fn hold(&mut self, value: u64) {
                // In range: the table says from where to where.
                *self = value as $number;
            }
        })*
    };
}
holds!(u16, u32, u64);
impl<T: Holds + Default> Holds for Option<T> {
    fn hold(&mut self, value: u64) {
        self.get_or_insert_default().hold(value);
    }
}

/// Puts `$value` into `$place` of the configuration `$c` as the kind of the row has it.
macro_rules! put {
    ($c:ident, $value:ident: $type:ty; by($set:expr, $_shown:expr) $($_place:tt)?) => {{
        let set: Set<$type> = $set;
        set($c, $value)
    }};
    ($_c:ident, $value:ident: $_type:ty; count($range:expr) [$place:expr]) => {
        within($value.into(), $range, "").map(|n| $place.hold(n))
    };
    ($_c:ident, $value:ident: $_type:ty; octets($range:expr) [$place:expr]) => {
        within($value.0, $range, " B").map(|n| $place.hold(n))
    };
    ($_c:ident, $value:ident: $_type:ty; only(|$v:ident| $holds:expr, $problem:literal) [$place:expr]) => {{
        let $v = $value;
        if $holds {
            $place = $v.into();
            Ok(())
        } else {
            Err(format!($problem))
        }
    }};
    ($_c:ident, $value:ident: $_type:ty; $_any_or_word:ident [$place:expr]) => {{
        $place = $value.into();
        Ok(())
    }};
}

/// Prints what `$place` of the configuration `$c` holds, or `$none`.
macro_rules! show {
    ($c:ident; by($_set:expr, $shown:expr) $($_place:tt)?) => {{
        let shown: fn(&Config) -> String = $shown;
        shown($c)
    }};
    ($_c:ident; $_kind:ident $(($($_args:tt)*))? or $none:literal [$place:expr]) => {
        or($place, $none)
    };
    ($_c:ident; word [$place:expr]) => {
        bare_word(&$place)
    };
    ($_c:ident; octets($_range:expr) [$place:expr]) => {
        format!("{} B", $place)
    };
    ($_c:ident; $_kind:ident $(($($_args:tt)*))? [$place:expr]) => {
        $place.to_string()
    };
}

macro_rules! options {
    (
        {$(
            $(#[doc = $head_doc:tt])*
            $(#[serde($($serde:tt)*)])?
            $(#[schemars($($schemars:tt)*)])?
            $head:ident: $head_type:ty
                $(=> $head_field:ident: $_HeadField:ty = $_head_rfc:expr, $head_source:expr)?;
        )*}
        $($(#[$group_doc:meta])* $group:ident: $Group:ident, $_Config:ident $(of $controls:ident)? {
            $(
                $(#[$doc:meta])*
                $key:ident: $type:ty, $kind:ident $(($($args:tt)*))? $(or $none:literal)? $(at $($place:ident).+)?
                    $(=> $field:ident: $_Field:ty = $_rfc:expr)?, $source:expr;
            )*
        })*
    ) => {
        /// TCP options of a flow. A profile gives every value; a value that is set here replaces
        /// the profile's.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Options {
            $($(#[doc = $head_doc])* pub $head: $head_type,)*
            $($(#[$group_doc])* pub $group: $Group,)*
        }

        /// What is in no group, for the schema.
        #[derive(Default, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        #[schemars(
            rename = "Options",
            description = "TCP options of a flow. A profile gives every value; a value that is set here replaces the profile's.",
            extend("x-default-of-keys" = "the profile's")
        )]
        struct Head {
            $($(#[doc = $head_doc])* $(#[serde($($serde)*)])? $(#[schemars($($schemars)*)])? $head: $head_type,)*
        }

        $(
            $(#[$group_doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
            #[serde(default)]
            pub struct $Group {
                $($(#[$doc])* pub $key: Option<$type>,)*
            }
            impl $Group {
                const OF_CONTROLS: bool = !concat!("" $(, stringify!($controls))?).is_empty();
            }
        )*

        /// Every key that has a value in each profile, in the order of the documentation.
        pub const SETTINGS: &[Setting] = &[
            $($(Setting {
                key: stringify!($head), of_controls: false, value: |c| bare_word(&c.$head_field), rfc_source: $head_source,
            },)?)*
            $($(Setting {
                key: stringify!($key),
                of_controls: $Group::OF_CONTROLS,
                value: |c| show!(
                    c; $kind $(($($args)*))? $(or $none)? $([c.$group.$field])? $([c.$($place).+])?
                ),
                rfc_source: $source,
            },)*)*
        ];

        /// Every key.
        const KEYS: &[&str] = &[$(stringify!($head),)* $($(stringify!($key),)*)*];

        impl Options {
            /// The options write this key of a group.
            pub fn writes(&self, key: &str) -> bool {
                match key {
                    $($(stringify!($key) => self.$group.$key.is_some(),)*)*
                    _ => false,
                }
            }
            /// Puts what is written in groups into `c`, key by key in the order of the table.
            pub(super) fn apply_groups(&self, c: &mut Config) -> Result<(), OptionError> {
                $($(if let Some(value) = self.$group.$key {
                    let put: Result<(), String> = put!(
                        c, value: $type; $kind $(($($args)*))? $([c.$group.$field])? $([c.$($place).+])?
                    );
                    put.or_else(|problem| refuse(stringify!($key), problem))?;
                })*)*
                Ok(())
            }
            fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
                match key {
                    $(stringify!($head) => self.$head = map.next_value()?,)*
                    $($(stringify!($key) => self.$group.$key = map.next_value()?,)*)*
                    _ => return Err(A::Error::unknown_field(key, KEYS)),
                }
                Ok(())
            }
            fn write_groups<S: SerializeStruct>(&self, out: &mut S) -> Result<(), S::Error> {
                $($(out.serialize_field(stringify!($key), &self.$group.$key)?;)*)*
                Ok(())
            }
            fn group_schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
                vec![$($Group::json_schema(generator)),*]
            }
        }
    };
}

parameters!(options);

impl Serialize for Options {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Options", KEYS.len())?;
        out.serialize_field("profile", &self.profile)?;
        out.serialize_field("cc", &self.cc)?;
        if self.cc_parameters.is_empty() {
            out.skip_field("cc_parameters")?;
        } else {
            out.serialize_field("cc_parameters", &self.cc_parameters)?;
        }
        out.serialize_field("recovery", &self.recovery)?;
        self.write_groups(&mut out)?;
        out.end()
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Options, D::Error> {
        deserializer.deserialize_struct("Options", KEYS, Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Options;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct Options")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Options, A::Error> {
        let mut options = Options::default();
        while let Some(Key(key)) = map.next_key()? {
            options.read(key, &mut map)?;
        }
        Ok(options)
    }
}

/// One of [`KEYS`].
struct Key(&'static str);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        struct Word;
        impl Visitor<'_> for Word {
            type Value = Key;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("field identifier")
            }
            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Key, E> {
                let known = KEYS.iter().copied().find(|key| *key == word);
                known.map(Key).ok_or_else(|| E::unknown_field(word, KEYS))
            }
        }
        deserializer.deserialize_identifier(Word)
    }
}

impl JsonSchema for Options {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Head::schema_name()
    }
    fn schema_id() -> std::borrow::Cow<'static, str> {
        concat!(module_path!(), "::Options").into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Head::json_schema(generator);
        let groups = Options::group_schemas(generator);
        if let Some(properties) = schema.get_mut("properties").and_then(|p| p.as_object_mut()) {
            for mut group in groups {
                if let Some(more) = group.get_mut("properties").and_then(|p| p.as_object_mut()) {
                    properties.append(more);
                }
            }
        }
        schema
    }
}
