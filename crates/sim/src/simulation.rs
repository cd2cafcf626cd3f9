//! A run that can be stepped: look, change, go on.

use std::path::Path;

use lasthop_units::Instant;

use crate::results::{RunOutput, Sink};
use crate::spec::{At, Scalar};
use crate::world::World;
use crate::{Error, Scenario};

/// A world in progress with its result folder.
///
/// Stepping changes nothing: any sequence of `step_until` gives the bytes of one run to the end.
pub struct Simulation {
    scenario: Scenario,
    world: World,
    sink: Sink,
}

impl Simulation {
    /// Builds the world of `scenario`. With `out` its tables stream to `<out>.partial`.
    ///
    /// # Errors
    /// A folder that cannot be created, or that already holds something.
    pub fn new(scenario: &Scenario, out: Option<&Path>) -> Result<Simulation, Error> {
        let sink = Sink::open(out)?;
        let world = World::build(scenario, &sink)?;
        Ok(Simulation { scenario: scenario.clone(), world, sink })
    }

    /// The time of the last thing that happened.
    pub fn now(&self) -> Instant {
        self.world.now()
    }
    /// When the scenario ends.
    pub fn end(&self) -> Instant {
        self.world.end()
    }
    /// The world, for tests and probes.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Lets everything happen that comes before `t`, and the clock arrives at `t`; at the scenario's end, what happens
    /// at that instant too. What is changed now is thus in force for everything that happens at `t`, exactly as an
    /// `[[at]]` of that time would be.
    ///
    /// # Errors
    /// `t` lies in the past; a table that cannot be written; time stands still (packets go round on a way that has
    /// neither rate nor delay).
    pub fn step_until(&mut self, t: Instant) -> Result<(), Error> {
        self.step(t, u64::MAX).map(|_| ())
    }

    /// As [`Simulation::step_until`], but with no more work (events and packets) than `budget`: false when that was used
    /// up before `t`.
    ///
    /// # Errors
    /// As [`Simulation::step_until`].
    pub fn step(&mut self, t: Instant, budget: u64) -> Result<bool, Error> {
        if t < self.now() {
            return Err(Error::input(format!("cannot step back to {t}: it is {} already", self.now())));
        }
        let arrived = self.world.step(t, budget)?;
        self.world.take_write_error().map_or(Ok(arrived), Err)
    }

    /// Changes a runtime key now, as `[[at]]` would.
    ///
    /// # Errors
    /// An unknown key, one that is fixed during a run, a value that does not fit.
    pub fn set(&mut self, key: &str, value: Scalar) -> Result<(), Error> {
        let mut at = At::default();
        at.set.insert(key.to_owned(), value);
        self.apply(at)
    }
    /// Starts something now: `"flow.ftp"`.
    ///
    /// # Errors
    /// No such thing.
    pub fn start(&mut self, name: &str) -> Result<(), Error> {
        self.apply(At { start: Some(name.to_owned()), ..At::default() })
    }
    /// Stops something now: `"flow.ftp"`.
    ///
    /// # Errors
    /// No such thing.
    pub fn stop(&mut self, name: &str) -> Result<(), Error> {
        self.apply(At { stop: Some(name.to_owned()), ..At::default() })
    }

    fn apply(&mut self, at: At) -> Result<(), Error> {
        // The scenario moves along, so that the next change is compared with what is in force.
        let (next, actions) = self.scenario.change(&at)?;
        self.scenario = next;
        self.world.apply(actions);
        Ok(())
    }

    /// `tcp_info` of the sender of `flow`, under Linux's names.
    ///
    /// # Errors
    /// No such flow, or not one over TCP.
    pub fn tcp_info(&self, flow: &str) -> Result<serde_json::Value, Error> {
        self.world.tcp_info(flow)
    }

    /// Runs to the scenario's end and gives the results; with a result folder, that is now whole.
    ///
    /// # Errors
    /// A table that cannot be written.
    pub fn finish(mut self) -> Result<RunOutput, Error> {
        let end = self.world.end();
        self.step_until(end)?;
        self.sink.close(&self.scenario, self.world)
    }
}
