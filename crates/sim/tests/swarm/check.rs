//! Runs a drawn scenario and reports which checks fail.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use lasthop_engine::{Draw, Purpose};
use lasthop_sim::{Files, RunOutput, Scenario, Simulation, run, run_many, run_on};
use lasthop_units::Instant;

use super::scenario;

/// A scenario that needs more events and packets is shortened in simulated time.
const BUDGET: u64 = 1_000_000;

/// The result of a seed.
pub struct Outcome {
    /// The scenario, empty if drawing failed.
    pub scenario: String,
    /// Events that were processed, repeated runs included.
    pub events: u64,
    /// The reason of the failure.
    pub failure: Option<String>,
}

/// Draws and checks the scenario of `seed`, with files in `folder`. Panics of the simulator are
/// failures.
pub fn seed(seed: u64, folder: &Path) -> Outcome {
    let mut outcome = Outcome { scenario: String::new(), events: 0, failure: None };
    let checked = catch_unwind(AssertUnwindSafe(|| {
        outcome.scenario = scenario::draw(seed, folder);
        check(seed, &outcome.scenario, folder, &mut outcome.events)
    }));
    outcome.failure = match checked {
        Ok(Ok(())) => None,
        Ok(Err(what)) => Some(what),
        Err(payload) => Some(format!("panic: {}", message(&payload))),
    };
    if outcome.failure.is_none() {
        remove_traces(seed, folder);
    }
    outcome
}

fn message(payload: &Box<dyn std::any::Any + Send>) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default()
}

fn remove_traces(seed: u64, folder: &Path) {
    let own = format!("{seed}-");
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&own) {
            let _gone_already = fs::remove_file(entry.path());
        }
    }
}

/// Checks one scenario; `seed` only selects which of the expensive checks it gets.
pub fn check(seed: u64, text: &str, folder: &Path, events: &mut u64) -> Result<(), String> {
    let show = |e: lasthop_sim::Error| e.to_string();
    let drawn = Scenario::parse(text, "swarm.toml", folder, &[]).map_err(show)?;
    let (scenario, first) = first_run(&drawn, seed)?;
    *events = first.summary()["events"].as_u64().unwrap_or(0);

    let written = scenario.to_toml();
    let again = Scenario::parse(&written, "written.toml", folder, &[])
        .map_err(|e| format!("its own to_toml is refused: {e}"))?;
    if again.spec() != scenario.spec() || again.hash() != scenario.hash() || again.to_toml() != written {
        return Err("to_toml does not read back as itself".to_owned());
    }
    let same = |what: &str, other: &RunOutput| {
        if first.digest() == other.digest() { Ok(()) } else { Err(format!("{what}: another digest")) }
    };
    if seed.is_multiple_of(10) {
        same("a second run", &run(&scenario, None, &mut |_| true).map_err(show)?)?;
        *events *= 2;
    }
    if seed % 40 == 5 {
        same("a run of to_toml", &run(&again, None, &mut |_| true).map_err(show)?)?;
    }
    if seed % 40 == 15 {
        let pair = [scenario.clone(), scenario.clone()];
        for output in run_many(&pair, 2, None, &mut |_, _| true).map_err(show)? {
            same("two at a time", &output)?;
        }
    }
    if seed % 10 == 5 {
        let output = run_on(2, &scenario, Files::default(), &mut |_| true).map_err(show)?;
        same("on two threads", &output)?;
    }
    if seed % 40 == 25 {
        let out = folder.join(format!("{seed}-out"));
        let _none_before = fs::remove_dir_all(&out);
        let output = run(&scenario, Some(&out), &mut |_| true).map_err(show)?;
        let whole = out.join("manifest.json").is_file();
        let _best_effort = fs::remove_dir_all(&out);
        if !whole {
            return Err("the result folder has no manifest".to_owned());
        }
        same("into a folder", &output)?;
    }
    Ok(())
}

/// Makes the first run, in pieces for every third seed, audited at every stop. Returns the scenario
/// that was run: shortened if it needs too many events.
fn first_run(drawn: &Scenario, seed: u64) -> Result<(Scenario, RunOutput), String> {
    let show = |e: lasthop_sim::Error| e.to_string();
    let mut scenario = drawn.clone();
    loop {
        let mut simulation = Simulation::new(&scenario, None).map_err(show)?;
        let pieces = if seed.is_multiple_of(3) { 7 } else { 1 };
        let end = simulation.end();
        let cuts = Draw::new(seed, Purpose::Test, 0xc0ffee);
        let mut times: Vec<u64> = (1..pieces).map(|i| cuts.stream(i).below(end.0 + 1)).collect();
        times.push(end.0);
        times.sort_unstable();
        let mut cut = None;
        for t in times {
            let left = BUDGET.saturating_sub(simulation.world().work()).max(1);
            let arrived = simulation.step(Instant(t), left).map_err(show)?;
            let wrong = simulation.world().audit();
            if !wrong.is_empty() {
                return Err(format!("at {}: {}", simulation.now(), wrong.join("; ")));
            }
            if !arrived {
                cut = Some(simulation.now());
                break;
            }
        }
        let Some(at) = cut else {
            let output = simulation.finish().map_err(show)?;
            return balanced(&output).map(|()| (scenario, output));
        };
        if at.0 < 1_000_000 {
            return Err(format!("{BUDGET} events and packets by {at}: does time move?"));
        }
        scenario = scenario.with_set(&[format!("scenario.duration=\"{} us\"", at.0 / 2000)]).map_err(show)?;
    }
}

/// Checks the summary's account: each packet that entered has left or is inside.
fn balanced(output: &RunOutput) -> Result<(), String> {
    let account = &output.summary()["packets"];
    for unit in ["packets", "bytes"] {
        let n = |name: &str| account[name][unit].as_u64().unwrap_or(0);
        let (credit, debit) =
            (n("sent") + n("made"), n("delivered") + n("dropped") + n("replaced") + n("inside"));
        if credit != debit {
            return Err(format!("{unit} in the summary: {credit} came, {debit} went or stayed"));
        }
    }
    Ok(())
}
