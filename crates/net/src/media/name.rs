//! The rate controls by name, derived from the list.

use std::str::FromStr;

use lasthop_engine::custom::{CustomName, deserialize_name};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::control::{BoxedRateControl, RateSetup};
use super::{constant, gcc, nada, scream};
use crate::registry::{Entry, UnknownName, find};

macro_rules! names {
    ($($(#[$doc:meta])* $Name:ident $word:literal $module:ident::$ENTRY:ident => $of:ident::$Control:ident;)*) => {
        /// A rate control of media.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
        pub enum RateControlName {
            $($(#[$doc])* #[schemars(rename = $word)] $Name,)*
            /// One of the caller's own, by the name under which it was registered.
            #[schemars(skip)]
            Custom(CustomName),
        }

        /// The built-in names, for the messages of a deserializer.
        const NAMES: &[&str] = &[$($word),*];

        /// Every rate control: name, summary, source.
        pub const RATE_CONTROLS: &[Entry] = &[$($module::$ENTRY),*];

        impl FromStr for RateControlName {
            type Err = UnknownName;
            fn from_str(name: &str) -> Result<Self, UnknownName> {
                Ok(match find("rate control", RATE_CONTROLS, name)?.name {
                    $($word => RateControlName::$Name,)*
                    _ => RateControlName::default(),
                })
            }
        }

        impl RateControlName {
            /// The name in scenarios.
            pub fn name(&self) -> &str {
                match self {
                    $(RateControlName::$Name => $word,)*
                    RateControlName::Custom(name) => name.as_str(),
                }
            }
            /// The built-in control of this name; for a caller's own, the default control.
            pub(super) fn build(self, setup: &RateSetup) -> Box<dyn BoxedRateControl> {
                match self {
                    $(RateControlName::$Name => Box::new($of::$Control::new(setup)),)*
                    RateControlName::Custom(_) => Self::default().build(setup),
                }
            }
        }
    };
}
built_in_rate_controls!(names);

impl RateControlName {
    /// A built-in name, or else the name of a caller's own control; `None`: not a valid name.
    pub fn named(word: &str) -> Option<RateControlName> {
        word.parse().ok().or_else(|| CustomName::new(word).map(RateControlName::Custom))
    }
}

impl Serialize for RateControlName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A word that is no built-in name is kept, to be searched among the caller's own controls.
impl<'de> Deserialize<'de> for RateControlName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RateControlName, D::Error> {
        deserialize_name(deserializer, "rate control", NAMES, RateControlName::named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_table_and_of_the_scenario_are_the_same() {
        for entry in RATE_CONTROLS {
            let name: RateControlName = entry.name.parse().unwrap();
            assert_eq!(name.name(), entry.name);
            assert_eq!(serde_json::to_value(name).unwrap(), entry.name);
        }
        assert!(
            "tfrc"
                .parse::<RateControlName>()
                .unwrap_err()
                .to_string()
                .contains("known: none, nada, gcc, scream")
        );
    }
}
