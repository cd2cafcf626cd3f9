//! A caller's own scheduler, through `Extensions`: its inputs, its effects, and the errors for
//! mistakes.

use std::path::Path;

use lasthop_sim::scheduler::{Candidate, Definition, Domain, Fault, Policy};
use lasthop_sim::units::Tti;
use lasthop_sim::{Error, Extensions, Files, RunOutput, Scenario, run, run_on};

const CELL: &str = "[scenario]\nname = 'own'\nduration = '2 s'\n\
    [link.core]\nbetween = ['server', 'enb']\ndelay = '5 ms'\n\
    [radio]\nfading = 'epa'\n\
    [cell.enb]\nresource_blocks = 25\nradio = { power = '5 dBm' }\n\
    [ue.phone]\ncount = 4\nring = { inner = '300 m', outer = '3 km' }\n\
    [flow.down]\nfrom = 'server'\nto = 'phone'\n\
    [flow.up]\nfrom = 'phone'\nto = 'server'\n";

/// 1 / average, group by group multiplied by the rate there: the same rule as proportional fair.
#[derive(Debug)]
struct Fair {
    power: f64,
}

impl Policy for Fair {
    fn domain(&self) -> Domain {
        Domain::Frequency { channel_aware: true, counts_given: false }
    }
    fn weigh(&mut self, _: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        for (c, w) in candidates.iter().zip(weights) {
            *w = (0..self.power as u32).map(|_| 1.0 / c.average).product();
        }
    }
}

/// Fails after some TTIs.
#[derive(Debug)]
struct Failing(u32);

impl Policy for Failing {
    fn domain(&self) -> Domain {
        Domain::Time
    }
    fn weigh(&mut self, _: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        self.0 = self.0.saturating_sub(1);
        weights[..candidates.len()].fill(1.0);
    }
    fn fault(&mut self) -> Option<Fault> {
        (self.0 == 0).then(|| "it has had enough".to_owned().into())
    }
}

fn extensions() -> Extensions {
    let fair = Definition::new("fair", |setup| {
        let power = setup.parameter("power");
        if power <= 0.0 {
            let place = format!(
                "{} of {}",
                if setup.place.blocks == 25 { "25 blocks" } else { "?" },
                setup.place.cell
            );
            return Err(format!("fair: power = {power} in {place}").into());
        }
        Ok(Box::new(Fair { power }))
    });
    let fair =
        fair.summary("proportional fair by hand").parameter("power", 1.0, "", "this test").version("7");
    let failing = Definition::new("failing", |_| Ok(Box::new(Failing(100))));
    Extensions::new().with_scheduler(fair).unwrap().with_scheduler(failing).unwrap()
}

fn scenario(sets: &[&str]) -> Result<Scenario, Error> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    Scenario::parse_with(CELL, "own.toml", Path::new(""), &sets, &extensions())
}

fn output(sets: &[&str]) -> Result<RunOutput, Error> {
    run(&scenario(sets)?, None, &mut |_| true)
}

fn refused(sets: &[&str]) -> String {
    match output(sets) {
        Ok(_) => panic!("accepted: {sets:?}"),
        Err(e) => e.to_string(),
    }
}

/// True if flows and transport blocks of both are the same.
fn equal(a: &RunOutput, b: &RunOutput) -> bool {
    ["flows", "radio"].iter().all(|table| a.table(table).unwrap().0 == b.table(table).unwrap().0)
}

#[test]
fn an_own_policy_that_equals_a_built_in_one_gives_the_same_bytes() {
    let built_in = output(&[]).unwrap();
    let own = output(&["cell.enb.downlink.scheduler=fair", "cell.enb.uplink.scheduler=fair"]).unwrap();
    assert!(equal(&own, &built_in));
    // With another parameter it gives another schedule.
    let steep = output(&["cell.enb.downlink.scheduler={ kind = 'fair', power = 3.0 }"]).unwrap();
    assert!(!equal(&steep, &built_in));
}

/// A policy is called by the thread that runs the scenario, also if further threads process its
/// TTIs.
#[test]
fn an_own_policy_works_with_several_threads() {
    let s = scenario(&["cell.enb.downlink.scheduler=fair", "cell.enb.uplink.scheduler=fair"]).unwrap();
    let on = |threads| run_on(threads, &s, Files::default(), &mut |_| true).unwrap().digest();
    assert_eq!(on(3), on(1));
    let s = scenario(&["cell.enb.downlink.scheduler=failing"]).unwrap();
    let failed = run_on(3, &s, Files::default(), &mut |_| true).unwrap_err();
    assert!(failed.to_string().contains("it has had enough"), "{failed}");
}

#[test]
fn the_scenario_has_the_policy_and_its_version() {
    let s = scenario(&["cell.enb.downlink.scheduler={ kind = 'fair', power = 3.0 }"]).unwrap();
    assert_eq!(s.own_policies(), [("scheduler.fair".to_owned(), "7".to_owned())]);
    // The written scenario reads back as the same scenario.
    let again = Scenario::parse_with(&s.to_toml(), "again.toml", Path::new(""), &[], &extensions()).unwrap();
    assert_eq!((again.spec(), again.hash()), (s.spec(), s.hash()));
    assert_ne!(s.hash(), scenario(&[]).unwrap().hash());
    assert!(scenario(&[]).unwrap().own_policies().is_empty());
    assert_eq!(extensions().describe()["scheduler"][1]["parameters"][0]["name"], "power");
}

#[test]
fn mistakes_are_reported_at_their_place() {
    for (set, expected) in [
        ("cell.enb.downlink.scheduler=fairr", "did you mean `fair`?"),
        ("cell.enb.uplink.scheduler=round-robbin", "did you mean `round-robin`?"),
        ("cell.enb.downlink.scheduler={ kind = 'fair', pwer = 2 }", "did you mean `power`?"),
        ("cell.enb.downlink.scheduler={ kind = 'fair', power = 'x' }", "number"),
        ("cell.enb.downlink.scheduler={ kind = 'round-robin', power = 1 }", "power"),
        ("cell.enb.downlink.scheduler={ kind = 'fair', power = 0 }", "fair: power = 0 in 25 blocks of enb"),
        ("cell.enb.downlink.scheduler=Fair", "unknown name"),
        ("cell.enb.downlink.scheduler=failing", "it has had enough"),
        ("cell.enb.uplink.scheduler=failing", "it has had enough"),
    ] {
        let message = refused(&[set]);
        assert!(message.contains(expected), "{set}: expected `{expected}` in:\n{message}");
    }
    let twice = Extensions::new().with_scheduler(Definition::new("tdmt", |_| Ok(Box::new(Failing(1)))));
    assert!(twice.unwrap_err().to_string().contains("`tdmt` is a built-in scheduler"));
}
