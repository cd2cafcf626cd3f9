//! Schedulers in a scenario file.

use std::fmt;

use lasthop_engine::custom::is_name;
use schemars::JsonSchema;
use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{CustomScheduler, SCHEDULERS, SchedulerConfig};

/// No parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoParameters {}

impl Default for SchedulerConfig {
    fn default() -> Self {
        SchedulerConfig::ProportionalFair(NoParameters {})
    }
}

impl SchedulerConfig {
    /// The scheduler `name` with its default parameters: built in, or else one of the caller's own.
    /// None: no name.
    pub fn named(name: &str) -> Option<SchedulerConfig> {
        let own = || {
            SchedulerConfig::Custom(CustomScheduler { name: name.to_owned(), ..CustomScheduler::default() })
        };
        name.parse().ok().or_else(|| is_name(name).then(own))
    }
}

/// The built-in names, for the messages of a deserializer.
const NAMES: &[&str] = &{
    let mut names = [""; SCHEDULERS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = SCHEDULERS[i].name;
        i += 1;
    }
    names
};

/// Serializes as derived code would; a policy of the caller's own as a table with its `kind`.
impl Serialize for SchedulerConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SchedulerConfig::Custom(own) = self else { return self.serialize_built_in(serializer) };
        if own.parameters.is_empty() {
            return serializer.serialize_str(&own.name);
        }
        let mut map = serializer.serialize_map(Some(own.parameters.len() + 1))?;
        map.serialize_entry("kind", &own.name)?;
        for (name, value) in &own.parameters {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Deserializes like any other enum, except that a word that is no built-in name is kept, for
/// [`Schedulers`](super::Schedulers) to look up.
impl<'de> Deserialize<'de> for SchedulerConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SchedulerConfig, D::Error> {
        deserializer.deserialize_enum("SchedulerConfig", NAMES, Word)
    }
}

struct Word;

impl<'de> DeserializeSeed<'de> for Word {
    type Value = SchedulerConfig;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<SchedulerConfig, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Word {
    type Value = SchedulerConfig;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a scheduler")
    }
    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<SchedulerConfig, E> {
        SchedulerConfig::named(name).ok_or_else(|| E::unknown_variant(name, NAMES))
    }
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<SchedulerConfig, A::Error> {
        let (config, rest) = access.variant_seed(Word)?;
        match config {
            SchedulerConfig::Custom(own) => {
                Ok(SchedulerConfig::Custom(CustomScheduler { parameters: rest.newtype_variant()?, ..own }))
            }
            built_in => built_in.deserialize_parameters(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_units::Duration;

    use super::*;

    #[test]
    fn every_name_of_the_table_is_read_back_as_itself() {
        for entry in SCHEDULERS {
            let config = entry.name.parse::<SchedulerConfig>().unwrap();
            assert_eq!(config.name(), entry.name);
            // serde writes an enum of tables as {"name": {...}}.
            let written = serde_json::to_value(&config).unwrap();
            assert_eq!(written.as_object().unwrap().keys().next().unwrap(), entry.name);
            assert_eq!(serde_json::from_value::<SchedulerConfig>(written).unwrap(), config);
            let _ = config.build(Duration::from_millis(1));
        }
        let wrong = "pf".parse::<SchedulerConfig>().unwrap_err().to_string();
        assert!(wrong.starts_with("there is no scheduler `pf` (known: round-robin, proportional-fair, tdmt"));
    }
}
