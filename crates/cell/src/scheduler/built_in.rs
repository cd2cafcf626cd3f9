//! The policies of this crate, one row each.

use std::str::FromStr;

use lasthop_net::{Entry, UnknownName};
use lasthop_units::{Duration, Tti};
use schemars::JsonSchema;
use serde::de::VariantAccess;
use serde::{Serialize, Serializer};

use super::{Absent, BuiltIn, Candidate, CustomScheduler, Domain, Fault, Policy};

/// Makes the configuration that a scenario names, the policy at work, and the conversion from one
/// to the other. Each method of [`Policy`] calls that of the policy at work.
macro_rules! built_in {
    ($($(#[$doc:meta])* $Variant:ident $module:ident::$Policy:ident;)*) => {
        $(use super::$module::$Policy;)*

        /// The order in which UEs are served.
        #[derive(Clone, Debug, PartialEq, JsonSchema)]
        #[schemars(rename_all = "kebab-case")]
        pub enum SchedulerConfig {
            $($(#[$doc])* $Variant(<$Policy as BuiltIn>::Config),)*
            /// One of the caller's own, by the name it was registered under.
            #[schemars(skip)]
            Custom(CustomScheduler),
        }

        /// A policy at work.
        #[derive(Debug)]
        pub enum Scheduler {
            $($(#[$doc])* $Variant($Policy),)*
            /// A policy from outside this crate.
            Custom(Box<dyn Policy>),
        }

        /// Every scheduler: name, summary, source, parameters.
        pub const SCHEDULERS: &[Entry] = &[$($Policy::ENTRY),*];

        /// The scheduler `name` of [`SCHEDULERS`] with its default parameters.
        impl FromStr for SchedulerConfig {
            type Err = UnknownName;
            fn from_str(name: &str) -> Result<Self, UnknownName> {
                $(if name == $Policy::ENTRY.name {
                    return Ok(SchedulerConfig::$Variant(Default::default()));
                })*
                let known = SCHEDULERS.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
                Err(UnknownName { what: "scheduler", name: name.to_owned(), known })
            }
        }

        impl SchedulerConfig {
            /// Its name in [`SCHEDULERS`].
            pub fn name(&self) -> &str {
                match self {
                    $(SchedulerConfig::$Variant(_) => $Policy::ENTRY.name,)*
                    SchedulerConfig::Custom(own) => &own.name,
                }
            }

            /// Builds the policy for a cell with this TTI, if it is built in. A policy of the
            /// caller's own is made by [`Schedulers::build`](super::Schedulers::build); until that
            /// replaces this one, no UE is served.
            pub fn build(&self, tti: Duration) -> Scheduler {
                match self {
                    $(SchedulerConfig::$Variant(c) => Scheduler::$Variant($Policy::new(c, tti)),)*
                    SchedulerConfig::Custom(_) => Scheduler::Custom(Box::new(Absent)),
                }
            }

            /// Serializes as derived code would.
            pub(super) fn serialize_built_in<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                const NAME: &str = "SchedulerConfig";
                let index = SCHEDULERS.iter().position(|e| e.name == self.name()).unwrap_or_default() as u32;
                match self {
                    $(SchedulerConfig::$Variant(c) => {
                        to.serialize_newtype_variant(NAME, index, $Policy::ENTRY.name, c)
                    })*
                    SchedulerConfig::Custom(own) => own.name.serialize(to),
                }
            }

            /// The same scheduler with the parameters of `from`.
            pub(super) fn deserialize_parameters<'de, A: VariantAccess<'de>>(
                self,
                from: A,
            ) -> Result<SchedulerConfig, A::Error> {
                Ok(match self {
                    $(SchedulerConfig::$Variant(_) => SchedulerConfig::$Variant(from.newtype_variant()?),)*
                    SchedulerConfig::Custom(own) => SchedulerConfig::Custom(own),
                })
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl Policy for Scheduler {
            #[inline]
            fn domain(&self) -> Domain {
                match self {
                    $(Scheduler::$Variant(p) => p.domain(),)*
                    Scheduler::Custom(p) => p.domain(),
                }
            }
            #[inline]
            fn reads_class(&self) -> bool {
                match self {
                    $(Scheduler::$Variant(p) => p.reads_class(),)*
                    Scheduler::Custom(p) => p.reads_class(),
                }
            }
            #[inline]
            fn weigh(&mut self, tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
                debug_assert_eq!(candidates.len(), weights.len());
                match self {
                    $(Scheduler::$Variant(p) => p.weigh(tti, candidates, weights),)*
                    Scheduler::Custom(p) => p.weigh(tti, candidates, weights),
                }
            }
            fn fault(&mut self) -> Option<Fault> {
                match self {
                    $(Scheduler::$Variant(p) => p.fault(),)*
                    Scheduler::Custom(p) => p.fault(),
                }
            }
        }
    };
}

built_in_schedulers!(built_in);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::testing::{candidate, weights};

    /// A policy that overrides every method of the trait.
    #[derive(Debug)]
    struct Whole;

    #[deny(clippy::missing_trait_methods)]
    impl Policy for Whole {
        fn domain(&self) -> Domain {
            Domain::Equal
        }
        fn reads_class(&self) -> bool {
            false
        }
        fn weigh(&mut self, tti: Tti, _: &[Candidate], weights: &mut [f64]) {
            weights.fill(tti.0 as f64);
        }
        fn fault(&mut self) -> Option<Fault> {
            Some(Fault::from("broken".to_owned()))
        }
    }

    #[test]
    fn every_method_of_a_policy_from_outside_is_called() {
        let mut at_work = Scheduler::Custom(Box::new(Whole));
        assert_eq!(at_work.domain(), Domain::Equal);
        assert!(!at_work.reads_class());
        assert_eq!(weights(&mut at_work, 7, &[candidate(0, 1.0, 1.0); 2]), [7.0, 7.0]);
        assert!(at_work.fault().is_some());
    }
}
