//! A run that can be stepped: look, change, go on.

use std::path::Path;

use lasthop_units::Instant;

use crate::access::Adapter;
use crate::attention::Attention;
use crate::results::RunOutput;
use crate::sink::Sink;
use crate::spec::{At, InForce, Scalar};
use crate::world::World;
use crate::{Error, Scenario};

/// Work (events and packets) of the first part of a step after which the caller is called back, and
/// where calling back by wall time begins. An event takes a microsecond, or some milliseconds in a
/// network of hundreds of cells.
const SHORT_STEP: u64 = 64;
const LONG_STEP: u64 = 1024;

/// The most threads that share the work of a run.
pub const THREADS_MAX: usize = 256;

/// A world in progress with its result folder.
///
/// Stepping changes nothing: any sequence of `step_until` gives the bytes of one run to the end.
pub struct Simulation {
    scenario: Scenario,
    /// From the first change by the caller on.
    in_force: Option<InForce>,
    world: World,
    sink: Sink,
}

impl Simulation {
    /// Builds the world of `scenario`. With `out` its tables stream to `<out>.partial`.
    ///
    /// # Errors
    /// A folder that cannot be created, that already holds something, or that another run is
    /// writing.
    pub fn new(scenario: &Scenario, out: Option<&Path>) -> Result<Simulation, Error> {
        Simulation::capturing(scenario, out, None)
    }

    /// As [`Simulation::new`], with a packet capture at `capture`, which `[output.capture]` of the
    /// scenario describes.
    ///
    /// # Errors
    /// As [`Simulation::new`]; a capture that cannot be created.
    pub fn capturing(
        scenario: &Scenario,
        out: Option<&Path>,
        capture: Option<&Path>,
    ) -> Result<Simulation, Error> {
        Simulation::build(scenario, Sink::open(out)?, capture, &Attention::default(), &mut || true)
    }

    /// A run of a scenario with external nodes: the caller drives it.
    ///
    /// # Errors
    /// As [`Simulation::capturing`]; the scenario has no external node.
    pub(crate) fn with_external(
        scenario: &Scenario,
        sink: Sink,
        capture: Option<&Path>,
    ) -> Result<Simulation, Error> {
        let world = World::build(scenario, &sink, capture, &Attention::default(), &mut || true)?;
        Ok(Simulation { scenario: scenario.clone(), in_force: None, world, sink })
    }

    /// As [`Simulation::new`]; whenever `attention` is raised, `alive` says whether to go on.
    pub(crate) fn build(
        scenario: &Scenario,
        sink: Sink,
        capture: Option<&Path>,
        attention: &Attention,
        alive: &mut dyn FnMut() -> bool,
    ) -> Result<Simulation, Error> {
        refuse_external(scenario)?;
        let world = World::build(scenario, &sink, capture, attention, alive)?;
        Ok(Simulation { scenario: scenario.clone(), in_force: None, world, sink })
    }

    /// So many threads share the work of each TTI of LTE cells from now on: 1 (as a simulation
    /// begins) to [`THREADS_MAX`]. Results do not depend on their number, and nothing else uses
    /// them.
    ///
    /// # Errors
    /// Another number; the system gives no thread.
    pub fn set_threads(&mut self, threads: usize) -> Result<(), Error> {
        if !(1..=THREADS_MAX).contains(&threads) {
            return Err(Error::input(format!("{threads} threads: take 1 to {THREADS_MAX}")));
        }
        let mut accesses = self.world.accesses.iter_mut();
        let missing =
            |e| Error::input(format!("{threads} threads: the system gives no more: {e}; take fewer"));
        accesses.try_for_each(|access| access.set_threads(threads)).map_err(missing)
    }

    /// The time of the last thing that happened.
    pub fn now(&self) -> Instant {
        self.world.now()
    }
    /// When the scenario ends.
    pub fn end(&self) -> Instant {
        self.world.end()
    }
    /// Whether this process may continue the simulation. A forked child may not when there is a
    /// result folder: it would write the same files as its parent.
    pub fn is_mine(&self) -> bool {
        self.sink.is_mine()
    }
    /// The world, for tests and probes.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world for a driver, which puts real packets into it.
    pub fn outside(&mut self) -> crate::world::Outside<'_> {
        self.world.outside()
    }

    /// Lets everything happen that comes before `t`, and the clock arrives at `t`; at the
    /// scenario's end, what happens at that instant too. What is changed now is thus in force
    /// for everything that happens at `t`, exactly as an `[[at]]` of that time would be.
    ///
    /// # Errors
    /// `t` is in the past; a table that cannot be written; time does not advance (packets circulate
    /// on a way that has neither rate nor delay).
    pub fn step_until(&mut self, t: Instant) -> Result<(), Error> {
        while !self.step(t, u64::MAX)? {}
        Ok(())
    }

    /// As [`Simulation::step_until`]; about every 50 ms of wall time `alive` says whether to go on.
    ///
    /// # Errors
    /// As [`Simulation::step_until`]; [`Error::Stopped`] when `alive` said no: the run stands
    /// between two events then and can go on.
    pub fn step_until_or_stopped(
        &mut self,
        t: Instant,
        alive: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        // Most steps are short: a thread that raises the flag would cost more than they do.
        let mut work = SHORT_STEP;
        while work < LONG_STEP {
            if self.step(t, work)? {
                return Ok(());
            }
            if !alive() {
                return Err(Error::Stopped);
            }
            work *= 2;
        }
        let attention = self.world.attention.clone();
        attention.raised_during(|| self.step_with(t, &mut |_| alive()))
    }

    /// Steps to `t`; whenever the flag is raised, `alive` gets the time reached and says whether to
    /// go on.
    pub(crate) fn step_with(
        &mut self,
        t: Instant,
        alive: &mut dyn FnMut(Instant) -> bool,
    ) -> Result<(), Error> {
        while !self.step(t, u64::MAX)? {
            if !alive(self.now()) {
                return Err(Error::Stopped);
            }
        }
        Ok(())
    }

    /// As [`Simulation::step_until`], but with no more work (events and packets) than `budget`:
    /// false when that was used up before `t`.
    ///
    /// # Errors
    /// As [`Simulation::step_until`].
    pub fn step(&mut self, t: Instant, budget: u64) -> Result<bool, Error> {
        if t < self.now() {
            return Err(Error::input(format!("cannot step back to {t}: it is {} already", self.now())));
        }
        let arrived = self.world.step(t, budget)?;
        let failed = || self.world.observer.as_ref().and_then(|observer| observer.error());
        self.world.probes.take_error().or_else(failed).map_or(Ok(arrived), Err)
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
        // What is in force moves along, so that the next change is compared with it.
        let actions = match self.world.changes.work_out(&at) {
            Some(actions) => actions?,
            None => {
                let in_force = self.in_force.get_or_insert_with(|| InForce::of(&self.scenario));
                in_force.change(&self.scenario, &at)?
            }
        };
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

    /// Ends the run now and gives the results up to now; with a result folder, that is now whole.
    /// `measured` of the run by its driver stands under `live` in the summary.
    ///
    /// # Errors
    /// A table that cannot be written.
    pub fn end_here(mut self, measured: serde_json::Value) -> Result<RunOutput, Error> {
        if let Some(in_force) = self.in_force {
            in_force.hand_over(&mut self.scenario);
        }
        RunOutput::close_with(self.sink, &self.scenario, self.world, Some(("live", measured)))
    }

    /// Runs to the scenario's end and gives the results; with a result folder, that is now whole.
    ///
    /// # Errors
    /// A table that cannot be written.
    pub fn finish(self) -> Result<RunOutput, Error> {
        self.finish_or_stopped(&mut || true)
    }

    /// As [`Simulation::finish`]; about every 50 ms of wall time `alive` says whether to go on.
    ///
    /// # Errors
    /// As [`Simulation::finish`]; [`Error::Stopped`] when `alive` said no: nothing is left of the
    /// run then.
    pub fn finish_or_stopped(mut self, alive: &mut dyn FnMut() -> bool) -> Result<RunOutput, Error> {
        let end = self.world.end();
        self.step_until_or_stopped(end, alive)?;
        if let Some(in_force) = self.in_force {
            in_force.hand_over(&mut self.scenario);
        }
        RunOutput::close(self.sink, &self.scenario, self.world)
    }
}

/// External nodes need packets from outside, and real time or a clock of the caller's.
fn refuse_external(scenario: &Scenario) -> Result<(), Error> {
    let spec = scenario.spec();
    let real = |node: &crate::spec::NodeSpec| node.is_external() || node.is_linux();
    let Some((name, node)) = spec.node.iter().find(|(_, node)| real(node)) else { return Ok(()) };
    let (what, how) = if node.is_linux() {
        ("of a real kernel", "lasthop linux run")
    } else {
        ("external", "lasthop live")
    };
    let path = format!("node.{}", crate::config::dotted([name.as_str()]));
    let message = format!("`{name}` is {what}: real packets enter there, and this run has none");
    let d = scenario.document().error_at_key(&path, message);
    Err(d.help(format!("run it with `{how}`, or remove the table")).into())
}
