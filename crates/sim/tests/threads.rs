//! The number of threads has no effect on the results: tables, summary, manifest and captures with
//! one, two and five of them.

use std::path::{Path, PathBuf};

use crate::common::{folder, scenario};
use lasthop_sim::{Error, Files, RunOutput, Scenario, Simulation, THREADS_MAX, run_on};
use lasthop_units::Instant;

fn on(threads: usize, scenario: &Scenario) -> RunOutput {
    run_on(threads, scenario, Files::default(), &mut |_| true).unwrap()
}

fn assert_same(scenario: &Scenario, what: &str) {
    let one = on(1, scenario);
    for threads in [2, 5] {
        let more = on(threads, scenario);
        assert_eq!(more.digest(), one.digest(), "{what}: {threads} threads");
        assert_eq!(more.manifest(), one.manifest(), "{what}: {threads} threads");
    }
}

/// Seven sites of three sectors with 63 UEs, all with downloads and uploads.
const SECTORS: &str = r#"
[scenario]
name = "sectors9"
duration = "400 ms"
[link.core]
between = ["server", "macro"]
rate = "10 Gbit/s"
delay = "5 ms"
[radio]
fading = "eva"
faded_interferers = 2
shadowing = "8 dB"
shadowing_distance = "50 m"
[layout.macro]
sites = { kind = "hex", rings = 1, isd = "500 m" }
sectors = 3
wrap_around = true
[cell.macro]
resource_blocks = 25
[cell.macro.radio]
position = ["0 m", "0 m", "32 m"]
antenna = { kind = "sector", tilt = 15.0, gain = "14 dB" }
[ue.phone]
count = 63
drop = { kind = "sector", min_distance = "35 m" }
radio = { speed = "3 km/h" }
[flow.download]
from = "server"
to = "phone"
app = "bulk"
[flow.upload]
from = "phone"
to = "server"
app = { kind = "cbr", rate = "100 kbit/s", size = "500 B" }
transport = "udp"
[output]
interval = "50 ms"
"#;

fn sectors(more: &[&str]) -> Scenario {
    scenario(SECTORS).with_set(&more.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_network_is_the_same_on_any_number_of_threads() {
    for more in [
        &[][..],
        // Fast fading, moving terminals.
        &["ue.phone.radio.speed=\"60 km/h\""],
        &["ue.phone.radio.mobility={ kind = \"linear\", speed = \"30 m/s\" }", "radio.refresh=3"],
        // Reports of the interference by other cells' data, which use past transmissions.
        &["cell.macro.downlink.cqi.interference=\"data\""],
        // Channel matrices and two code words.
        &["cell.macro.downlink.mimo.mode=4"],
        &["cell.macro.downlink.mimo.mode=3", "cell.macro.downlink.control_errors=false"],
        // Results that are used earlier than those of FDD, and within a TTI.
        &["cell.macro.timing.decode=1"],
        &["cell.macro.timing.decode=2", "cell.macro.timing.feedback=2"],
        &["cell.macro.timing.decode=2", "cell.macro.timing.feedback=4"],
        &["cell.macro.timing.uplink_decode=2", "cell.macro.timing.uplink_lead=\"71.429 us\""],
        // Packets dropped by an AQM while blocks are filled.
        &["ue.phone.rlc.buffer.aqm={ kind = \"codel\" }"],
        // Records of each packet and each step, in their order within a TTI.
        &["output.explain=true"],
        &["output.steps=true"],
    ] {
        assert_same(&sectors(more), &format!("{more:?}"));
    }
}

/// Handovers, and cells that are switched off and on again: MAC is reset while receptions are in
/// progress.
#[test]
fn handovers_and_outages_are_the_same_on_any_number_of_threads() {
    let changes = r#"
[handover]
trigger = { kind = "a3", hysteresis = "1 dB", time_to_trigger = "40 ms" }
[[at]]
t = "260 ms"
set = { "cell.macro.down" = true }
[[at]]
t = "275 ms"
set = { "cell.macro.down" = false }
"#;
    let text = SECTORS.replace("\"server\", \"macro\"", "\"server\", \"gateway\"") + changes;
    let fast = "ue.phone.radio.mobility={ kind = \"linear\", speed = \"60 m/s\" }".to_owned();
    let scenario = scenario(&text).with_set(&[fast]).unwrap();
    let (events, _) = on(1, &scenario).table("events").unwrap();
    let rows: usize = events.iter().map(arrow::array::RecordBatch::num_rows).sum();
    assert!(rows > 63 + 20, "{rows} events: handovers beside the starts of flows");
    assert_same(&scenario, "handovers");
}

/// Every bundled scenario with LTE cells, for half a second.
#[test]
fn bundled_scenarios_are_the_same_on_any_number_of_threads() {
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/lasthop/scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&bundled).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let mut tried = 0;
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        if text.contains("[cell.") {
            let name = path.file_name().unwrap().to_string_lossy();
            let short = ["scenario.duration=\"500 ms\"".to_owned()];
            let Ok(scenario) = Scenario::parse(&text, &name, &bundled, &short) else { continue };
            assert_same(&scenario, &name);
            tried += 1;
        }
    }
    assert!(tried >= 12, "{tried} scenarios have cells");
}

#[test]
fn a_capture_is_the_same_on_any_number_of_threads() {
    let base = folder("threads");
    let captured = |threads: usize| {
        let file = base.join(format!("{threads}.pcapng"));
        let files = Files { capture: Some(&file), ..Files::default() };
        run_on(threads, &sectors(&[]), files, &mut |_| true).unwrap();
        std::fs::read(file).unwrap()
    };
    let one = captured(1);
    assert!(one.len() > 10_000);
    assert!([2, 5].into_iter().all(|threads| captured(threads) == one));
}

/// A change from one number to another between two steps.
#[test]
fn threads_may_change_during_a_run() {
    let scenario = sectors(&[]);
    let mut simulation = Simulation::new(&scenario, None).unwrap();
    for (at, threads) in [(0, 3), (100, 1), (200, 2)] {
        simulation.step_until(Instant::from_millis(at)).unwrap();
        simulation.set_threads(threads).unwrap();
    }
    simulation.step_until(simulation.end()).unwrap();
    assert_eq!(simulation.finish().unwrap().digest(), on(1, &scenario).digest());
}

#[test]
fn an_invalid_number_of_threads_is_refused() {
    for threads in [0, THREADS_MAX + 1] {
        let refused = run_on(threads, &sectors(&[]), Files::default(), &mut |_| true);
        let Err(Error::Input(diagnostics)) = refused else { panic!("{threads} threads") };
        assert!(diagnostics.to_string().contains("take 1 to 256"), "{diagnostics}");
    }
}
