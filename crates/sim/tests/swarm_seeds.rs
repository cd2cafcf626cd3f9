//! The swarm in CI: every seed that failed once, and some that are drawn in every run of the tests.
//!
//! The drawing of scenarios changes as options are added: a seed that is listed here keeps its
//! scenario only until the drawing changes. Where that is possible, a fault that a seed found also
//! has a test beside the code that was wrong.

use std::path::Path;

/// Seeds that failed, for any reason.
const FAILED_ONCE: &[u64] =
    &[1162, 1376, 3508, 3741, 3966, 4793, 4917, 40_316, 70_085, 200_077, 200_191, 200_232];

/// The number of seeds drawn in addition.
const FRESH: u64 = 200;

#[test]
fn seeds_pass() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("swarm");
    std::fs::create_dir_all(&folder).unwrap();
    let seeds: Vec<u64> = FAILED_ONCE.iter().copied().chain(1_000_000..1_000_000 + FRESH).collect();
    let folder = &folder;
    let half = seeds.len().div_ceil(2);
    std::thread::scope(|scope| {
        for part in seeds.chunks(half) {
            scope.spawn(move || {
                for seed in part {
                    let outcome = crate::swarm::check::seed(*seed, folder);
                    assert!(
                        outcome.failure.is_none(),
                        "seed {seed}: {:?}\n{}",
                        outcome.failure,
                        outcome.scenario
                    );
                }
            });
        }
    });
}
