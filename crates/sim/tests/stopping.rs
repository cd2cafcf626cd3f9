//! A run can be stopped at any wall time and leaves no file; files that a killed run leaves are
//! removed by the next.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{folder, scenario};
use lasthop_sim::{Error, Scenario, Simulation, clear_stale, run, run_many, write_files};
use lasthop_units::Instant;

/// Ten years in 200 steps: a step is 18 days, and the first step takes hours of wall time.
const ENDLESS: &str = "[scenario]\nname = 'x'\nduration = '87600 h'\n\
    [link.l]\nbetween = ['a', 'b']\nrate = '100 Gbit/s'\ndelay = '1 ms'\n\
    [flow.f]\nfrom = 'a'\nto = 'b'\n";

const SHORT: &str = "[scenario]\nname = 'x'\nduration = '1 s'\n\
    [link.l]\nbetween = ['a', 'b']\nrate = '1 Mbit/s'\n[flow.f]\nfrom = 'a'\nto = 'b'\n";

/// Fails unless `work` ends within ten seconds (of a machine under load; alone it takes 50 ms).
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(Duration::from_secs(10)).expect("the run stops")
}

#[test]
fn the_caller_is_called_by_wall_time_independent_of_the_length_of_the_run() {
    let base = folder("stopping");
    let out = base.join("result");
    in_time(move || {
        let mut asked = 0;
        let stopped = run(&scenario(ENDLESS), Some(&out), &mut |share| {
            assert!(share < 0.01);
            asked += 1;
            asked < 3
        });
        assert!(matches!(stopped, Err(Error::Stopped)));
    });
    assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
}

#[test]
fn many_runs_and_a_stepped_one_are_stopped_too() {
    in_time(|| {
        let mut asked = 0;
        let stopped = run_many(&vec![scenario(ENDLESS); 3], 2, None, &mut |_, _| {
            asked += 1;
            asked < 3
        });
        assert!(matches!(stopped, Err(Error::Stopped)));
        let mut simulation = Simulation::new(&scenario(ENDLESS), None).unwrap();
        let mut asked = 0;
        let mut alive = || {
            asked += 1;
            asked % 8 != 0
        };
        let day = Instant::from_secs(86_400);
        assert!(matches!(simulation.step_until_or_stopped(day, &mut alive), Err(Error::Stopped)));
        let reached = simulation.now();
        assert!(matches!(simulation.step_until_or_stopped(day, &mut alive), Err(Error::Stopped)));
        assert!(simulation.now() > reached, "it went on where it stood");
        assert!(matches!(simulation.finish_or_stopped(&mut alive), Err(Error::Stopped)));
    });
}

/// Opening a pipe blocks until another process opens it for writing.
#[test]
fn a_named_pipe_is_no_trace() {
    let base = folder("stopping-pipe");
    let made = Command::new("mkfifo").arg(base.join("pipe")).status();
    if !made.is_ok_and(|status| status.success()) {
        return; // a system without named pipes
    }
    let text = SHORT.replacen("rate = '1 Mbit/s'", "trace = 'pipe'", 1);
    let message = in_time(move || Scenario::parse(&text, "t.toml", &base, &[]).unwrap_err().to_string());
    assert!(message.contains("not a regular file") && message.contains("t.toml:6:"), "{message}");
}

#[test]
fn the_second_of_two_runs_with_one_folder_is_refused_before_it_works() {
    let base = folder("stopping-two");
    let out = base.join("result");
    let first = Simulation::new(&scenario(SHORT), Some(&out)).unwrap();
    let Err(Error::InUse(message)) = run(&scenario(ENDLESS), Some(&out), &mut |_| true) else {
        panic!("a second run began");
    };
    assert!(message.contains("another run (process"), "{message}");
    first.finish().unwrap();
    assert!(out.join("manifest.json").exists());
    assert_eq!(fs::read_dir(&base).unwrap().count(), 1);
}

#[test]
fn a_symbolic_link_stands_for_the_folder_that_it_points_to() {
    let base = folder("stopping-link");
    for (link, target) in [("to-empty", "empty"), ("to-nothing", "new")] {
        std::os::unix::fs::symlink(target, base.join(link)).unwrap();
    }
    fs::create_dir(base.join("empty")).unwrap();
    for (link, target) in [("to-empty", "empty"), ("to-nothing", "new")] {
        run(&scenario(SHORT), Some(&base.join(link)), &mut |_| true).unwrap();
        assert!(base.join(target).join("manifest.json").exists());
        assert!(base.join(link).is_symlink());
    }
    std::os::unix::fs::symlink("round", base.join("round")).unwrap();
    assert!(run(&scenario(SHORT), Some(&base.join("round")), &mut |_| true).is_err());
}

/// If a file takes the name during the run, the results are not lost.
#[test]
fn results_whose_name_was_taken_stay_under_the_other_name() {
    let base = folder("stopping-taken");
    let out = base.join("result");
    let simulation = Simulation::new(&scenario(SHORT), Some(&out)).unwrap();
    fs::create_dir(&out).unwrap();
    fs::write(out.join("mine"), "precious").unwrap();
    let message = simulation.finish().unwrap_err().to_string();
    let partial = base.join(format!("result.{}.partial", std::process::id()));
    assert!(message.contains("complete in") && partial.join("manifest.json").exists(), "{message}");
    assert_eq!(clear_stale(&out).len(), 1);
    assert!(partial.exists(), "complete results are named, not removed");
}

/// Returns the id of a process that has ended, for a folder's name.
fn dead_process() -> u32 {
    let mut child = Command::new("true").stdout(Stdio::null()).spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

fn left_behind(base: &Path, name: &str, process: u32, host: Option<&str>) -> std::path::PathBuf {
    let partial = base.join(format!("{name}.{process}.partial"));
    fs::create_dir(&partial).unwrap();
    fs::write(partial.join("tcp.parquet"), "half").unwrap();
    if let Some(host) = host {
        fs::write(partial.join(".owner"), host).unwrap();
    }
    partial
}

#[test]
fn what_a_killed_run_left_is_named_and_removed_and_what_lives_is_left_alone() {
    let base = folder("stopping-stale");
    let out = base.join("result");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let (dead, me) = (dead_process(), std::process::id());
    let killed = left_behind(&base, "result", dead, Some(host.trim()));
    let other_name = left_behind(&base, "other", dead, Some(host.trim()));
    // The id of a killed run may belong to another process by now: the lock decides.
    let reused = left_behind(&base, "reused", me, Some(host.trim()));
    let elsewhere = left_behind(&base, "result", dead + 1_000_000, Some("another-host"));
    let foreign = left_behind(&base, "thesis", dead, None);
    let unmarked = left_behind(&base, "result", dead + 2_000_000, None);
    let living = Simulation::new(&scenario(SHORT), Some(&base.join("living"))).unwrap();
    let notes = clear_stale(&out).join("\n");
    for gone in [&killed, &other_name, &reused, &unmarked] {
        assert!(!gone.exists() && notes.contains(&format!("removed {}", gone.display())), "{notes}");
    }
    assert!(elsewhere.exists() && notes.contains("another-host: remove it"), "{notes}");
    assert!(foreign.exists() && !notes.contains("thesis") && !notes.contains("living"), "{notes}");
    living.finish().unwrap();
    run(&scenario(SHORT), Some(&out), &mut |_| true).unwrap();
}

#[test]
fn a_file_that_a_killed_process_left_is_named_and_removed_and_others_are_left_alone() {
    let base = folder("stopping-stale-files");
    let (dead, me) = (dead_process(), std::process::id());
    // Process 1 exists throughout.
    let [killed, second, reused, living, other_name, locked] = [
        format!("report.html.{dead}.partial"),
        format!("report.html.{dead}-2.partial"),
        format!("report.html.{me}.partial"),
        "report.html.1.partial".to_owned(),
        format!("thesis.{dead}.partial"),
        format!("report.html.{dead}-3.partial"),
    ]
    .map(|name| {
        fs::write(base.join(&name), "half").unwrap();
        base.join(name)
    });
    // A process in another container has a number that is not in use here.
    let writer = fs::File::open(&locked).unwrap();
    writer.lock().unwrap();
    let folder = left_behind(&base, "report.html", dead + 1_000_000, None);
    let notes = write_files(&[(base.join("report.html"), "whole")]).unwrap();
    for gone in [&killed, &second, &reused] {
        assert!(!gone.exists(), "{}", gone.display());
        assert!(notes.iter().any(|n| n.starts_with(&format!("removed {},", gone.display()))), "{notes:?}");
    }
    assert_eq!(notes.len(), 3, "{notes:?}");
    for left in [&living, &other_name, &locked, &folder] {
        assert!(left.exists(), "{}", left.display());
    }
    assert_eq!(fs::read_to_string(base.join("report.html")).unwrap(), "whole");
    drop(writer);
    assert_eq!(write_files(&[(base.join("report.html"), "again")]).unwrap().len(), 1);
}
