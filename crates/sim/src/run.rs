//! Whole runs: one to its end, or many on all cores.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use lasthop_units::Instant;

use crate::attention::Attention;
use crate::results::RunOutput;
use crate::simulation::Simulation;
use crate::sink::Sink;
use crate::{Error, Scenario};

/// Number of equal steps of simulated time after which a run reports its progress; between them it
/// reports by wall time.
const STEPS: u64 = 200;

/// Runs `scenario` to its end. `progress` gets the share done (0 to 1) and returns whether to
/// continue; it is called about every 50 ms of wall time or more often, also while the world is
/// built.
///
/// With `out` the result folder is written there: first beside it as `<out>.partial`, renamed when
/// complete.
///
/// # Errors
/// Whatever [`Simulation`] reports; [`Error::Stopped`] when `progress` returned false.
pub fn run(
    scenario: &Scenario,
    out: Option<&Path>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<RunOutput, Error> {
    run_into(scenario, Files { out, ..Files::default() }, progress)
}

/// As [`run`] with a folder; the results of an earlier run there are replaced when the new ones are
/// complete.
///
/// # Errors
/// As [`run`]; `out` contains something other than results.
pub fn run_replacing(
    scenario: &Scenario,
    out: &Path,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<RunOutput, Error> {
    run_into(scenario, Files { out: Some(out), replace: true, capture: None }, progress)
}

/// Output files of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    /// The result folder. None: tables stay in memory.
    pub out: Option<&'a Path>,
    /// True if results of an earlier run in that folder are replaced when the new ones are
    /// complete.
    pub replace: bool,
    /// A packet capture, which `[output.capture]` of the scenario describes. An earlier file there
    /// is replaced when the new one is complete; until then the new one has `.partial` after its
    /// name.
    pub capture: Option<&'a Path>,
}

/// As [`run`], with all kinds of output.
///
/// # Errors
/// As [`run`] and [`run_replacing`]; a capture that cannot be written.
pub fn run_into(
    scenario: &Scenario,
    files: Files<'_>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<RunOutput, Error> {
    run_on(1, scenario, files, progress)
}

/// As [`run_into`], on `threads` threads ([`Simulation::set_threads`]). The results are the same.
///
/// # Errors
/// As [`run_into`] and [`Simulation::set_threads`].
pub fn run_on(
    threads: usize,
    scenario: &Scenario,
    files: Files<'_>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<RunOutput, Error> {
    let sink = match files.out {
        Some(out) if files.replace => Sink::replacing(out)?,
        out => Sink::open(out)?,
    };
    let capture = files.capture;
    let attention = Attention::default();
    attention.raised_during(|| {
        let mut simulation = Simulation::build(scenario, sink, capture, &attention, &mut || progress(0.0))?;
        simulation.set_threads(threads)?;
        let end = simulation.end();
        let share = |t: Instant| t.0 as f64 / end.0 as f64;
        for step in 1..=STEPS {
            let t = Instant((u128::from(end.0) * u128::from(step) / u128::from(STEPS)) as u64);
            simulation.step_with(t, &mut |now| progress(share(now)))?;
            if !progress(step as f64 / STEPS as f64) {
                return Err(Error::Stopped);
            }
        }
        simulation.finish()
    })
}

/// Opens a run of a scenario with external nodes, with all kinds of output: the caller drives it.
///
/// # Errors
/// As [`run_into`]; the scenario has no external node.
pub fn open_external(scenario: &Scenario, files: Files<'_>) -> Result<Simulation, Error> {
    if !scenario.spec().has_real_packets() {
        let message = "the scenario has no external node, so no real packet can enter";
        let help = "name one with `--in`, `--shell` or `--device`, or give it a table `[node.NAME]` of the kind `external`";
        return Err(crate::config::Diagnostic::error("", message).help(help).into());
    }
    let sink = match files.out {
        Some(out) if files.replace => Sink::replacing(out)?,
        out => Sink::open(out)?,
    };
    Simulation::with_external(scenario, sink, files.capture)
}

/// Runs that several threads share.
struct Work<'a> {
    scenarios: &'a [Scenario],
    /// Their result folders.
    outs: Option<&'a [PathBuf]>,
    /// Index of the first run that no thread has taken.
    next: AtomicUsize,
    /// True if no further run must begin.
    stop: AtomicBool,
    /// By scenario; `None`: not run yet.
    results: Vec<Mutex<Option<Result<RunOutput, Error>>>>,
}

impl Work<'_> {
    /// The loop of one thread: takes run after run until none is left, and reports each.
    fn take_turns(&self, done: &mpsc::Sender<()>) {
        loop {
            let i = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = self.scenarios.get(i) else { return };
            let out = self.outs.map(|o| o[i].as_path());
            let result = run(scenario, out, &mut |_| !self.stop.load(Ordering::Relaxed));
            if let Ok(mut slot) = self.results[i].lock() {
                *slot = Some(result);
            }
            if done.send(()).is_err() {
                return;
            }
        }
    }
}

/// Runs all `scenarios`, `jobs` at a time (0: every core), each in its own thread. Results are in
/// the order of the scenarios and do not depend on `jobs`. `progress` gets the number of finished
/// runs and returns whether to continue; it is called at least every twentieth of a second.
///
/// # Errors
/// The first error in the order of the scenarios; [`Error::Stopped`] when `progress` returned
/// false.
pub fn run_many(
    scenarios: &[Scenario],
    jobs: usize,
    outs: Option<&[PathBuf]>,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Vec<RunOutput>, Error> {
    if let Some(outs) = outs
        && outs.len() != scenarios.len()
    {
        let (n, m) = (outs.len(), scenarios.len());
        return Err(Error::input(format!("{n} output folders for {m} scenarios: give one each, or none")));
    }
    if !progress(0, scenarios.len()) {
        return Err(Error::Stopped);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = if jobs == 0 { cores } else { jobs }.min(scenarios.len().max(1));
    let work = Work {
        scenarios,
        outs,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        results: scenarios.iter().map(|_| Mutex::new(None)).collect(),
    };
    let (done_tx, done_rx) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (done_tx, work) = (done_tx.clone(), &work);
            scope.spawn(move || work.take_turns(&done_tx));
        }
        drop(done_tx);
        let mut done = 0;
        loop {
            match done_rx.recv_timeout(std::time::Duration::from_millis(50)) {
                Ok(()) => done += 1,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if !work.stop.load(Ordering::Relaxed) && !progress(done, scenarios.len()) {
                // Runs in progress end at their next callback, waiting ones at their first step.
                work.stop.store(true, Ordering::Relaxed);
            }
        }
    });

    let results = work.results.into_iter();
    results.map(|slot| slot.into_inner().ok().flatten().unwrap_or(Err(Error::Stopped))).collect()
}
