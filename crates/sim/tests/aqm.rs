//! Active queue management in scenarios: what a queue does to a flow that fills it.

mod common;

use common::{assert_balanced, real, run_text, whole};
use lasthop_sim::RunOutput;

const RATE_BPS: f64 = 20e6;

/// A long CUBIC flow of Linux' over 20 Mbit/s and a base round trip of 10 ms, with `queue` in front of the data.
///
/// CUBIC keeps 0.7 of its window. A queue of `target` stands through a cut as long as 0.7 (base + target) >= base, so for a
/// base up to 7/3 of the target: 11.7 ms for CoDel's 5 ms. On longer paths the queue empties after each cut and the mean is
/// lower.
fn one_flow(queue: &str) -> RunOutput {
    flows(1, queue)
}

fn flows(count: u32, queue: &str) -> RunOutput {
    run_text(&format!(
        "[scenario]\nname = 'aqm'\nduration = '100 s'\nseed = 3\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '20 Mbit/s'\ndelay = '5 ms'\nqueue = {queue}\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\ncount = {count}\nstagger = '50 ms'\n\
         tcp = {{ profile = 'linux-6', cc = 'cubic' }}\n[output]\ninterval = '10 ms'\n"
    ))
}

/// Time that the last byte in the data's queue would wait, over the second half of the run, sorted [ms].
fn waiting_ms(output: &RunOutput) -> Vec<f64> {
    let (t, bytes) = (real(output, "queues", "time_s"), whole(output, "queues", "bytes"));
    // Two directions: the data's is the first of each pair of rows.
    let samples = t.iter().zip(&bytes).step_by(2).filter(|(t, _)| **t > 50.0);
    let mut waits: Vec<f64> = samples.map(|(_, b)| *b as f64 * 8e3 / RATE_BPS).collect();
    waits.sort_by(f64::total_cmp);
    waits
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Without AQM the flow holds the whole buffer: 1000 packets of 1500 B are 600 ms.
#[test]
fn a_long_drop_tail_queue_stands_full() {
    let output = one_flow("{ kind = 'droptail', packets = 1000 }");
    assert!(mean(&waiting_ms(&output)) > 500.0, "{}", mean(&waiting_ms(&output)));
}

/// RFC 8289: the standing queue of a constant link with one CUBIC flow settles near the target of 5 ms, and the link
/// stays busy.
#[test]
fn codel_holds_a_cubic_flow_near_its_target() {
    for kind in ["codel", "fq-codel"] {
        let output = one_flow(&format!("'{kind}'"));
        assert_balanced(&output);
        let waits = waiting_ms(&output);
        let median = waits[waits.len() / 2];
        assert!((4.0..=6.0).contains(&mean(&waits)), "{kind}: mean {}", mean(&waits));
        assert!((4.0..=6.0).contains(&median), "{kind}: median {median}");
        // 1448 of 1500 bytes are data.
        assert!(real(&output, "flows", "goodput_bps")[0] > 0.95 * RATE_BPS, "{kind}");
    }
}

/// RFC 8033: PIE's delay is near its target of 15 ms.
#[test]
fn pie_holds_a_cubic_flow_near_its_target() {
    let output = one_flow("'pie'");
    assert_balanced(&output);
    let waits = waiting_ms(&output);
    assert!((13.0..=17.0).contains(&mean(&waits)), "{}", mean(&waits));
    assert!(real(&output, "flows", "goodput_bps")[0] > 0.95 * RATE_BPS);
}

/// Floyd and Jacobson 1993, section 1: RED holds the average queue between its thresholds, 5 and 15 packets. It means several
/// flows: the average moves too slowly (w = 0.002, 500 packets) to catch one flow's steps.
#[test]
fn red_holds_the_queue_between_its_thresholds() {
    let output = flows(5, "{ kind = 'red', max_p = '10 %' }");
    assert_balanced(&output);
    let packets = mean(&waiting_ms(&output)) * RATE_BPS / 8e3 / 1500.0;
    assert!((5.0..=15.0).contains(&packets), "{packets}");
}
