//! A run in steps, with reading and changes between them.

use std::path::Path;

use lasthop_units::Instant;

use crate::access::Adapter;
use crate::attention::Attention;
use crate::results::RunOutput;
use crate::sink::Sink;
use crate::spec::{At, InForce, Scalar};
use crate::world::World;
use crate::{Error, Scenario};

/// Work (events and packets) of the first part of a step, after which the caller is called back and
/// callbacks by wall time begin. An event takes a microsecond, or some milliseconds in a network of
/// hundreds of cells.
const SHORT_STEP: u64 = 64;
const LONG_STEP: u64 = 1024;

/// The largest number of threads that may share the work of a run.
pub const THREADS_MAX: usize = 256;

/// A world in progress with its result folder.
///
/// Steps do not change results: any sequence of `step_until` gives the bytes of one run to the end.
pub struct Simulation {
    scenario: Scenario,
    /// The values in force, from the first change by the caller on.
    in_force: Option<InForce>,
    world: World,
    sink: Sink,
}

impl Simulation {
    /// Builds the world of `scenario`. With `out` its tables are written to `<out>.partial`.
    ///
    /// # Errors
    /// A folder that cannot be created, that is not empty, or that another run is writing.
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

    /// As [`Simulation::new`]; whenever `attention` is set, `alive` returns whether to continue.
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

    /// Sets the number of threads that share the work of each TTI of LTE cells: 1 (the initial
    /// value) to [`THREADS_MAX`]. Results do not depend on this number, and no other work uses the
    /// threads.
    ///
    /// # Errors
    /// The number is out of range; the system cannot create a thread.
    pub fn set_threads(&mut self, threads: usize) -> Result<(), Error> {
        if !(1..=THREADS_MAX).contains(&threads) {
            return Err(Error::input(format!("{threads} threads: take 1 to {THREADS_MAX}")));
        }
        let mut accesses = self.world.accesses.iter_mut();
        let missing =
            |e| Error::input(format!("{threads} threads: the system gives no more: {e}; take fewer"));
        accesses.try_for_each(|access| access.set_threads(threads)).map_err(missing)
    }

    /// The time of the last event.
    pub fn now(&self) -> Instant {
        self.world.now()
    }
    /// The end of the scenario.
    pub fn end(&self) -> Instant {
        self.world.end()
    }
    /// True if this process may continue the simulation. A forked child must not when there is a
    /// result folder, because it would write the same files as its parent.
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

    /// Processes all events before `t` and sets the clock to `t`; at the scenario's end also the
    /// events of that instant. A change now is thus in force for all events at `t`, exactly like an
    /// `[[at]]` of that time.
    ///
    /// # Errors
    /// `t` is in the past; a table that cannot be written; time does not advance (packets circulate
    /// on a path that has neither rate nor delay).
    pub fn step_until(&mut self, t: Instant) -> Result<(), Error> {
        while !self.step(t, u64::MAX)? {}
        Ok(())
    }

    /// As [`Simulation::step_until`]; about every 50 ms of wall time `alive` returns whether to
    /// continue.
    ///
    /// # Errors
    /// As [`Simulation::step_until`]; [`Error::Stopped`] when `alive` returned false: the run has
    /// then stopped between two events and can continue.
    pub fn step_until_or_stopped(
        &mut self,
        t: Instant,
        alive: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        // Most steps are short: a thread that sets the flag would take more time than they do.
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

    /// Steps to `t`; whenever the flag is set, `alive` gets the time reached and returns whether to
    /// continue.
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

    /// As [`Simulation::step_until`], but with at most `budget` of work (events and packets):
    /// returns false if the budget was used up before `t`.
    ///
    /// # Errors
    /// As [`Simulation::step_until`].
    pub fn step(&mut self, t: Instant, budget: u64) -> Result<bool, Error> {
        if t < self.now() {
            return Err(Error::input(format!("cannot step back to {t}: it is {} already", self.now())));
        }
        let arrived = self.world.step(t, budget);
        self.world.accesses.iter_mut().for_each(Adapter::join_threads);
        let arrived = arrived?;
        let failed = || self.world.observer.as_ref().and_then(|observer| observer.error());
        self.world.probes.take_error().or_else(failed).map_or(Ok(arrived), Err)
    }

    /// Changes a runtime key now, as `[[at]]` would.
    ///
    /// # Errors
    /// The key is unknown or fixed during a run, or the value is invalid.
    pub fn set(&mut self, key: &str, value: Scalar) -> Result<(), Error> {
        let mut at = At::default();
        at.set.insert(key.to_owned(), value);
        self.apply(at)
    }
    /// Starts a flow or fault now: `"flow.ftp"`.
    ///
    /// # Errors
    /// The name does not exist.
    pub fn start(&mut self, name: &str) -> Result<(), Error> {
        self.apply(At { start: Some(name.to_owned()), ..At::default() })
    }
    /// Stops a flow or fault now: `"flow.ftp"`.
    ///
    /// # Errors
    /// The name does not exist.
    pub fn stop(&mut self, name: &str) -> Result<(), Error> {
        self.apply(At { stop: Some(name.to_owned()), ..At::default() })
    }

    fn apply(&mut self, at: At) -> Result<(), Error> {
        // The values in force are updated, so that the next change is compared with them.
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
    /// The flow does not exist, or is not one over TCP.
    pub fn tcp_info(&self, flow: &str) -> Result<serde_json::Value, Error> {
        self.world.tcp_info(flow)
    }

    /// Ends the run now and returns the results so far; a result folder is then complete.
    /// `measured`, from the driver of the run, is under `live` in the summary.
    ///
    /// # Errors
    /// A table that cannot be written.
    pub fn end_here(mut self, measured: serde_json::Value) -> Result<RunOutput, Error> {
        if let Some(in_force) = self.in_force {
            in_force.hand_over(&mut self.scenario);
        }
        RunOutput::close_with(self.sink, &self.scenario, self.world, Some(("live", measured)))
    }

    /// Runs to the scenario's end and returns the results; a result folder is then complete.
    ///
    /// # Errors
    /// A table that cannot be written.
    pub fn finish(self) -> Result<RunOutput, Error> {
        self.finish_or_stopped(&mut || true)
    }

    /// As [`Simulation::finish`]; about every 50 ms of wall time `alive` returns whether to
    /// continue.
    ///
    /// # Errors
    /// As [`Simulation::finish`]; [`Error::Stopped`] when `alive` returned false: the partial
    /// results are then removed.
    pub fn finish_or_stopped(mut self, alive: &mut dyn FnMut() -> bool) -> Result<RunOutput, Error> {
        let end = self.world.end();
        self.step_until_or_stopped(end, alive)?;
        if let Some(in_force) = self.in_force {
            in_force.hand_over(&mut self.scenario);
        }
        RunOutput::close(self.sink, &self.scenario, self.world)
    }
}

/// Refuses external nodes, which need packets from outside, and real time or a clock of the caller.
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
