//! Changes that depend on the run: they are computed when they occur, each against the values in
//! force then.

use super::change::Moment;
use super::{Action, At, InForce, Scenario};
use crate::error::Error;

/// The changes of a scenario with `[[when]]` tables, and the values in force.
#[derive(Debug)]
pub struct LiveChanges {
    scenario: Scenario,
    in_force: InForce,
    at: Vec<Moment>,
}

impl LiveChanges {
    /// The changes of a scenario; `None` if all changes are known before the run.
    pub fn of(scenario: &Scenario) -> Option<LiveChanges> {
        if !scenario.spec.waits_for_senders() {
            return None;
        }
        let at = scenario.moments_of_at().0.into_values().collect();
        Some(LiveChanges { scenario: scenario.clone(), in_force: InForce::of(scenario), at })
    }

    /// The actions of the `[[at]]` tables of instant number `n`.
    ///
    /// # Errors
    /// A value is invalid in the scenario after other changes.
    pub fn at(&mut self, n: usize) -> Result<Vec<Action>, Error> {
        self.in_force.step(&self.scenario, &self.at[n])
    }

    /// The actions of the `[[when]]` table number `n`.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub fn when(&mut self, n: usize) -> Result<Vec<Action>, Error> {
        let moment = self.scenario.moment_of_when(n)?;
        self.in_force.step(&self.scenario, &moment)
    }

    /// The actions of a caller's change.
    ///
    /// # Errors
    /// As [`InForce::change`].
    pub fn change(&mut self, at: &At) -> Result<Vec<Action>, Error> {
        self.in_force.change(&self.scenario, at)
    }
}
