//! The rate controls by name: what follows from the list.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::registry::{Entry, UnknownName, find};

macro_rules! names {
    ($($(#[$doc:meta])* $Name:ident $word:literal $module:ident::$ENTRY:ident => $of:ident::$Control:ident;)*) => {
        /// A rate control of media.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum RateControlName {
            $($(#[$doc])* $Name,)*
        }

        /// Every rate control: name, what it does, where it comes from.
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
            pub const fn name(self) -> &'static str {
                match self {
                    $(RateControlName::$Name => $word,)*
                }
            }
            /// One of this name.
            pub fn build(self, setup: &RateSetup) -> Box<dyn BoxedRateControl> {
                match self {
                    $(RateControlName::$Name => Box::new($of::$Control::new(setup)),)*
                }
            }
        }
    };
}
built_in_rate_controls!(names);

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
