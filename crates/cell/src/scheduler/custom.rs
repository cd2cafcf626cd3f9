//! Scheduling policies of the caller's own, without a change in this crate.
//!
//! A [`Definition`] has the entry that a built-in policy has in the registry, and a constructor;
//! [`Schedulers`] is the set of a run's definitions. Nothing is global: the code that builds the
//! network passes the policies as an argument.
//!
//! ```
//! use lasthop_cell::scheduler::*;
//! use lasthop_bearer::Direction;
//! use lasthop_units::{Duration, Tti};
//!
//! /// Serves first the UE whose oldest packet has waited longest.
//! #[derive(Debug)]
//! struct OldestFirst;
//! impl Policy for OldestFirst {
//!     fn domain(&self) -> Domain { Domain::Time }
//!     fn weigh(&mut self, _: Tti, candidates: &[Candidate], weights: &mut [f64]) {
//!         for (c, w) in candidates.iter().zip(weights) {
//!             *w = 1.0 + c.head_delay.as_secs_f64();
//!         }
//!     }
//! }
//!
//! let mut schedulers = Schedulers::default();
//! schedulers.add(Definition::new("oldest-first", |_| Ok(Box::new(OldestFirst)))).unwrap();
//! let config = SchedulerConfig::named("oldest-first").unwrap();
//! let place = SchedulerContext {
//!     cell: "enb",
//!     direction: Direction::Downlink,
//!     blocks: 50,
//!     tti: Duration::from_millis(1),
//!     seed: 1,
//! };
//! let policy = schedulers.build(&config, place).unwrap();
//! assert_eq!(policy.domain(), Domain::Time);
//! ```

use std::collections::BTreeMap;

use lasthop_bearer::Direction;
use lasthop_engine::custom::{self, DefinitionError, Fault, Parameters, PolicyKind};
use lasthop_units::Duration;

use super::{Policy, Scheduler, SchedulerConfig};

/// The cell and direction that a policy schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerContext<'a> {
    /// The cell's name.
    pub cell: &'a str,
    /// The direction that it schedules.
    pub direction: Direction,
    /// Resource blocks of the carrier.
    pub blocks: u32,
    /// The cell's TTI (LTE: 1 ms).
    pub tti: Duration,
    /// The run's seed, for policies that draw.
    pub seed: u64,
}

/// Input of a constructor.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The cell and direction that it will schedule.
    pub place: SchedulerContext<'a>,
    parameters: Parameters<'a>,
}

impl Setup<'_> {
    /// The value of a parameter: the scenario's, else the default; 0 for one that the definition
    /// does not list.
    pub fn parameter(&self, name: &str) -> f64 {
        self.parameters.get(name)
    }
    /// The parameters that the scenario sets.
    pub fn given(&self) -> &BTreeMap<String, f64> {
        self.parameters.given()
    }
}

/// Schedulers as a kind of policy.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerKind;

impl PolicyKind for SchedulerKind {
    const WHAT: &'static str = "scheduler";
    type Setup<'a> = Setup<'a>;
    type Made = Box<dyn Policy>;
    fn is_built_in(name: &str) -> bool {
        name.parse::<SchedulerConfig>().is_ok()
    }
}

/// A policy of the caller's own: its entry in the registry and its constructor, which is called
/// once for each cell and direction.
pub type Definition = custom::Definition<SchedulerKind>;

/// The policies of the caller's own, by name.
#[derive(Clone, Debug, Default)]
pub struct Schedulers(custom::Definitions<SchedulerKind>);

impl Schedulers {
    /// Adds a definition.
    ///
    /// # Errors
    /// The name is invalid or already defined.
    pub fn add(&mut self, definition: Definition) -> Result<(), DefinitionError> {
        self.0.add(definition)
    }
    /// The definition of this name.
    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.0.get(name)
    }
    /// All definitions, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.0.iter()
    }
    /// Builds the policy that `config` names, built in or one of these.
    ///
    /// # Errors
    /// The error of the constructor; a name that is not defined.
    pub fn build(&self, config: &SchedulerConfig, place: SchedulerContext<'_>) -> Result<Scheduler, Fault> {
        let SchedulerConfig::Custom(own) = config else { return Ok(config.build(place.tti)) };
        let definition = self.get(&own.name).ok_or_else(|| format!("no scheduler `{}`", own.name))?;
        let setup = Setup { place, parameters: definition.values(&own.parameters) };
        definition.build(&setup).map(Scheduler::Custom)
    }
}
