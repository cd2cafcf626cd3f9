//! The same scenario gives the same bytes in repeated runs, with any number of workers, in steps of
//! any size, and with any destination of the tables.

use crate::common::{BUSY, assert_balanced, folder, real, scenario};
use lasthop_sim::{Error, Simulation, run, run_many};
use lasthop_units::Instant;

#[test]
fn twice_and_with_one_and_two_workers_the_bytes_are_the_same() {
    let s = scenario(BUSY);
    let first = run(&s, None, &mut |_| true).unwrap();
    assert_balanced(&first);
    let four = vec![s; 4];
    for jobs in [1, 2] {
        for output in run_many(&four, jobs, None, &mut |_, _| true).unwrap() {
            assert_eq!(output.digest(), first.digest(), "{jobs} workers");
            assert_eq!(output.manifest(), first.manifest());
        }
    }
}

#[test]
fn stepping_in_any_pieces_is_one_run() {
    let s = scenario(BUSY);
    let whole = run(&s, None, &mut |_| true).unwrap().digest();
    for pieces in
        [vec![], vec![0, 0, 1, 7_000_000_001, 8_000_000_000], (0..2000).map(|i| i * 10_000_003).collect()]
    {
        let mut simulation = Simulation::new(&s, None).unwrap();
        for t in pieces {
            simulation.step_until(Instant(t)).unwrap();
            assert_eq!(simulation.world().audit(), Vec::<String>::new());
            assert_eq!(
                simulation.world().held_by_entities() as u64,
                simulation.world().account().inside().packets
            );
        }
        assert_eq!(simulation.finish().unwrap().digest(), whole);
    }
}

#[test]
fn stepping_back_is_refused() {
    let mut simulation = Simulation::new(&scenario(BUSY), None).unwrap();
    simulation.step_until(Instant::from_secs(2)).unwrap();
    assert!(matches!(simulation.step_until(Instant::from_secs(1)), Err(Error::Input(_))));
}

#[test]
fn memory_and_folder_hold_the_same_tables() {
    let s = scenario(BUSY);
    let base = folder("determinism");
    let out = base.join("result");
    let in_memory = run(&s, None, &mut |_| true).unwrap();
    let on_disk = run(&s, Some(&out), &mut |_| true).unwrap();
    assert_eq!(in_memory.manifest(), on_disk.manifest());
    assert_eq!(in_memory.digest(), on_disk.digest());
    assert_eq!(real(&in_memory, "tcp", "snd_cwnd"), real(&on_disk, "tcp", "snd_cwnd"));
    let mut files: Vec<String> =
        std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert!(files.contains(&"manifest.json".to_owned()) && files.contains(&"packets.parquet".to_owned()));
    // No other file is left in the folder.
    assert_eq!(std::fs::read_dir(&base).unwrap().count(), 1);
}

#[test]
fn the_effective_scenario_reads_back_as_itself_and_runs_the_same() {
    let s = scenario(BUSY);
    let again = scenario(&s.to_toml());
    assert_eq!(again.to_toml(), s.to_toml());
    assert_eq!(again.hash(), s.hash());
    let digest = |s| run(s, None, &mut |_| true).unwrap().digest();
    assert_eq!(digest(&s), digest(&again));
}

#[test]
fn a_stopped_run_leaves_no_folder() {
    let base = folder("stopped");
    let mut calls = 0;
    let stopped = run(&scenario(BUSY), Some(&base.join("result")), &mut |_| {
        calls += 1;
        calls < 5
    });
    assert!(matches!(stopped, Err(Error::Stopped)));
    assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);

    let outs = [base.join("a"), base.join("b")];
    // So long that it cannot end before it is stopped.
    let long = scenario(BUSY).with_set(&["scenario.duration=\"50000 s\"".to_owned()]).unwrap();
    let pair = [long.clone(), long];
    assert!(matches!(run_many(&pair, 2, Some(&outs), &mut |_, _| false), Err(Error::Stopped)));
    assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
}

/// Random streams are keyed by names: a third UE does not change the draws for the blocks of the
/// others.
#[test]
fn a_third_terminal_does_not_change_the_draws_of_the_others() {
    let cell = |ues: &[&str]| {
        let mut text =
            "[scenario]\nname = 'cell'\nduration = '20 s'\n[output]\ninterval = '100 ms'\n".to_owned();
        for ue in ues {
            text += &format!(
                "[link.wire-{ue}]\nbetween = ['server', 'rnc-{ue}']\ndelay = '20 ms'\nrate = '10 Mbit/s'\nloss = '1 %'\n\
                 [bearer.{ue}]\nkind = 'umts'\nbetween = ['rnc-{ue}', '{ue}']\ndownlink = {{ bler = '20 %' }}\n\
                 [flow.to-{ue}]\nfrom = 'server'\nto = '{ue}'\napp = 'bulk'\n"
            );
        }
        crate::common::run_text(&text)
    };
    let (two, three) = (cell(&["b", "c"]), cell(&["a", "b", "c"]));
    let flows = |o: &lasthop_sim::RunOutput| crate::common::whole(o, "flows", "rx_packets");
    assert_eq!(flows(&two)[..], flows(&three)[1..], "flow a comes first in the order of names");
    assert_ne!(flows(&two)[0], flows(&two)[1]);
    let lost = |o: &lasthop_sim::RunOutput, n: usize| {
        let all = crate::common::whole(o, "mac", "blocks_lost");
        all[all.len() - 2 * n..].to_vec()
    };
    assert_eq!(lost(&two, 2)[..], lost(&three, 3)[2..]);
}

#[test]
fn the_manifest_keeps_the_values_that_each_flow_ran_on_as_a_scenario_writes_them() {
    let s = scenario(BUSY);
    let output = run(&s, None, &mut |_| true).unwrap();
    let tcp = output.manifest()["resolved_tcp"].as_object().unwrap();
    assert!(!tcp.is_empty());
    for values in tcp.values() {
        assert_eq!(values["profile"], "rfc");
        assert_eq!((&values["min_rto"], &values["sack"]), (&"1 s".into(), &true.into()));
        assert!(values["mss"].is_string() && values["dup_threshold"] == 3);
    }
}
