//! Random valid scenarios with every debug check on (`make swarm`).
//!
//!     cargo run --profile checked -p lasthop-sim --example swarm -- 10000        # seeds 0 to 9999
//!     cargo run --profile checked -p lasthop-sim --example swarm -- 500 20000    # from 20000 on
//!     cargo run --profile checked -p lasthop-sim --example swarm -- seed 4711    # one, with its
//!                                                                                # scenario, panic
//!     cargo run -p lasthop-sim --example swarm -- draw FOLDER 4711 4712          # writes, runs none
//!
//! A failing seed is printed, and its scenario is left as `target/swarm/<seed>.toml` beside its
//! traces.
#![allow(clippy::disallowed_types)] // a wall clock: the tool tells its speed and sees a seed that hangs

#[path = "../tests/swarm/mod.rs"]
mod swarm;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A seed that takes longer than this counts as hanging. The slowest take half a minute alone, and
/// some minutes with other load.
const PATIENCE: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/swarm");
    if let Err(e) = fs::create_dir_all(&folder) {
        eprintln!("cannot create {}: {e}", folder.display());
        return ExitCode::FAILURE;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| arguments.get(i).map(|a| a.parse::<u64>());
    match (arguments.first().map(String::as_str), number(0), number(1)) {
        (Some("seed"), _, Some(Ok(seed))) => one(seed, &folder),
        (Some("draw"), _, Some(_)) => draw(Path::new(&arguments[1]), &arguments[2..]),
        (None, ..) => many(0, 10_000, &folder),
        (_, Some(Ok(n)), None) => many(0, n, &folder),
        (_, Some(Ok(n)), Some(Ok(first))) => many(first, n, &folder),
        _ => {
            eprintln!("usage: swarm [NUMBER [FIRST]] | swarm seed SEED | swarm draw FOLDER SEED...");
            ExitCode::FAILURE
        }
    }
}

/// Writes the scenarios of `seeds` with their traces to `into`: the drawing of scenarios may change
/// later, these files do not.
fn draw(into: &Path, seeds: &[String]) -> ExitCode {
    for seed in seeds {
        let Ok(number) = seed.parse() else {
            eprintln!("`{seed}` is no seed: a whole number from 0 on is required");
            return ExitCode::FAILURE;
        };
        let path = into.join(format!("{seed}.toml"));
        let written =
            fs::create_dir_all(into).and_then(|()| fs::write(&path, swarm::scenario::draw(number, into)));
        if let Err(e) = written {
            eprintln!("cannot write {}: {e}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Runs one seed and prints its scenario and its panic.
fn one(seed: u64, folder: &Path) -> ExitCode {
    let begin = Instant::now();
    println!("{}", swarm::scenario::draw(seed, folder));
    let outcome = swarm::check::seed(seed, folder);
    println!("# seed {seed}: {} events, {:.2} s", outcome.events, begin.elapsed().as_secs_f64());
    match outcome.failure {
        None => ExitCode::SUCCESS,
        Some(what) => {
            println!("# FAILED: {what}");
            ExitCode::FAILURE
        }
    }
}

/// State that the workers share.
struct Work<'a> {
    folder: &'a Path,
    next: AtomicU64,
    last: u64,
    done: AtomicU64,
    events: AtomicU64,
    failed: Mutex<Vec<(u64, String)>>,
    /// The seed on which each worker is, with the start time.
    at: Vec<Mutex<Option<(u64, Instant)>>>,
}

fn many(first: u64, count: u64, folder: &Path) -> ExitCode {
    let begin = Instant::now();
    // Panics are counted and reported with their seed; `seed SEED` prints one with its position.
    std::panic::set_hook(Box::new(|_| {}));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = Work {
        folder,
        next: AtomicU64::new(first),
        last: first + count,
        done: AtomicU64::new(0),
        events: AtomicU64::new(0),
        failed: Mutex::new(Vec::new()),
        at: (0..workers).map(|_| Mutex::new(None)).collect(),
    };
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let work = &work;
            scope.spawn(move || run_seeds(work, worker));
        }
        watch(&work, count, begin);
    });
    let mut failed = work.failed.into_inner().unwrap_or_default();
    failed.sort();
    let (events, seconds) = (work.events.into_inner(), begin.elapsed().as_secs_f64());
    println!(
        "{count} scenarios (seeds {first} to {}), {:.0} million events, {seconds:.0} s, {} failed",
        first + count.max(1) - 1,
        events as f64 / 1e6,
        failed.len()
    );
    for (seed, what) in &failed {
        println!("  seed {seed}: {what}");
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_seeds(work: &Work<'_>, worker: usize) {
    let mine = |value| {
        if let Ok(mut at) = work.at[worker].lock() {
            *at = value;
        }
    };
    loop {
        let seed = work.next.fetch_add(1, Ordering::Relaxed);
        if seed >= work.last {
            return mine(None);
        }
        mine(Some((seed, Instant::now())));
        let outcome = swarm::check::seed(seed, work.folder);
        work.done.fetch_add(1, Ordering::Relaxed);
        work.events.fetch_add(outcome.events, Ordering::Relaxed);
        if let Some(what) = outcome.failure {
            println!("seed {seed} FAILED: {what}");
            let path = work.folder.join(format!("{seed}.toml"));
            if let Err(e) = fs::write(&path, format!("# {what}\n{}", outcome.scenario)) {
                eprintln!("cannot write {}: {e}", path.display());
            }
            if let Ok(mut failed) = work.failed.lock() {
                failed.push((seed, what));
            }
        }
    }
}

/// Prints progress until all is done; ends the program when a seed hangs.
fn watch(work: &Work<'_>, count: u64, begin: Instant) {
    let mut reported = Instant::now();
    while work.done.load(Ordering::Relaxed) < count {
        std::thread::sleep(Duration::from_millis(100));
        for at in &work.at {
            if let Ok(at) = at.lock()
                && let Some((seed, since)) = *at
                && since.elapsed() > PATIENCE
            {
                println!("seed {seed} FAILED: it hangs ({} s)", PATIENCE.as_secs());
                std::process::exit(1);
            }
        }
        if reported.elapsed() > Duration::from_secs(10) {
            reported = Instant::now();
            let done = work.done.load(Ordering::Relaxed);
            println!("{done}/{count} after {:.0} s", begin.elapsed().as_secs_f64());
            let _unseen = std::io::stdout().flush();
        }
    }
}
