//! Changes that depend on what happens in the run: they are worked out when they come, each against
//! what is in force then.

use super::change::Moment;
use super::{Action, At, InForce, Scenario};
use crate::error::Error;

/// The changes of a scenario that waits for senders, and what is in force.
#[derive(Debug)]
pub struct LiveChanges {
    scenario: Scenario,
    in_force: InForce,
    at: Vec<Moment>,
}

impl LiveChanges {
    /// Those of a scenario; `None`: all that it changes is known before.
    pub fn of(scenario: &Scenario) -> Option<LiveChanges> {
        if !scenario.spec.waits_for_senders() {
            return None;
        }
        let at = scenario.moments_of_at().0.into_values().collect();
        Some(LiveChanges { scenario: scenario.clone(), in_force: InForce::of(scenario), at })
    }

    /// What the `[[at]]` tables of instant number `n` do now.
    ///
    /// # Errors
    /// A value that does not fit what other changes have made of the scenario.
    pub fn at(&mut self, n: usize) -> Result<Vec<Action>, Error> {
        self.in_force.step(&self.scenario, &self.at[n])
    }

    /// What the `[[when]]` table number `n` does now.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub fn when(&mut self, n: usize) -> Result<Vec<Action>, Error> {
        let moment = self.scenario.moment_of_when(n)?;
        self.in_force.step(&self.scenario, &moment)
    }

    /// What a caller's change does now.
    ///
    /// # Errors
    /// As [`InForce::change`].
    pub fn change(&mut self, at: &At) -> Result<Vec<Action>, Error> {
        self.in_force.change(&self.scenario, at)
    }
}
