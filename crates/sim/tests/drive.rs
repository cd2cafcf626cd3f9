//! The tables of a drive between cells: the car's position, its measurements, and the forwarded and
//! discarded packets.

use crate::common::{assert_balanced, real, run_text, whole};
use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use lasthop_engine::math;
use lasthop_sim::RunOutput;

/// Runs a car at 120 km/h from one cell to another 750 m away, log-distance path loss of exponent 3
/// at 2 GHz, with a download.
fn drive(more: &str) -> RunOutput {
    let output = run_text(&format!(
        "[scenario]\nname = 'drive'\nduration = '10 s'\n\
         [link.core]\nbetween = ['server', 'gateway']\ndelay = '10 ms'\n\
         [radio]\npath_loss = {{ kind = 'log-distance', exponent = 3.0 }}\n\
         [handover]\n\
         [cell.west]\n[cell.west.radio]\nposition = ['0 m', '0 m', '30 m']\n\
         [cell.east]\n[cell.east.radio]\nposition = ['750 m', '0 m', '30 m']\n\
         [ue.car]\ncell = 'west'\n[ue.car.pdcp]\n{more}\n\
         [ue.car.radio]\nposition = ['250 m', '0 m', '1.5 m']\nmobility = {{ kind = 'linear', speed = '120 km/h' }}\n\
         [flow.down]\nfrom = 'server'\nto = 'car'\n\
         [output]\nmeasurements = true\npositions = true\npackets = true\ninterval = '200 ms'\n"
    ));
    assert_balanced(&output);
    output
}

fn text(output: &RunOutput, table: &str, column: &str) -> Vec<String> {
    let (batches, _) = output.table(table).unwrap();
    let all = batches.iter().flat_map(|b| {
        let column = arrow::compute::cast(b.column_by_name(column).unwrap(), &DataType::Utf8).unwrap();
        let column = column.as_string::<i32>();
        (0..column.len()).map(|i| column.value(i).to_owned()).collect::<Vec<_>>()
    });
    all.collect()
}

/// 120 km/h are 6.667 m in 200 ms. The serving cell changes once, after the middle.
#[test]
fn the_table_of_positions_follows_the_car() {
    let output = drive("");
    let (x, cells) = (real(&output, "positions", "x_m"), text(&output, "positions", "cell"));
    assert_eq!(x.len(), 50);
    for (i, x) in x.iter().enumerate() {
        assert!((x - (250.0 + (i + 1) as f64 * 120.0 / 3.6 * 0.2)).abs() < 1e-6, "{i}: {x}");
    }
    let first = cells.iter().position(|c| c == "east").unwrap();
    assert!(cells[..first].iter().all(|c| c == "west") && cells[first..].iter().all(|c| c == "east"));
    assert!(x[first] > 375.0, "{}", x[first]);
}

/// RSRP is 46 dBm over 12 * 100 subcarriers, less the loss at the distance: the difference of both
/// cells is 30 log10(d_west / d_east), and the sum of RSRQ's shares of RSSI is one twelfth,
/// whatever the load. The filter lags by less than a second: 33 m.
#[test]
fn the_table_of_measurements_has_the_path_loss() {
    let output = drive("");
    let (t, cell) = (real(&output, "measurements", "time_s"), text(&output, "measurements", "cell"));
    let (rsrp, rsrq) = (real(&output, "measurements", "rsrp_dbm"), real(&output, "measurements", "rsrq_db"));
    assert_eq!(&cell[..2], ["east", "west"]);
    let mut looked = 0;
    for i in (0..t.len()).step_by(2).filter(|i| t[*i] > 2.0) {
        let lead = |x: f64| {
            let (w, e) = (x.hypot(28.5), (750.0 - x).hypot(28.5));
            30.0 * math::log10(w / e)
        };
        let x = 250.0 + t[i] * 120.0 / 3.6;
        let ours = rsrp[i] - rsrp[i + 1];
        assert!(ours <= lead(x) && ours >= lead(x - 33.0), "{}: {ours}", t[i]);
        let share = math::pow(10.0, rsrq[i] / 10.0) + math::pow(10.0, rsrq[i + 1] / 10.0);
        assert!((share * 12.0 - 1.0).abs() < 0.02, "{share}");
        looked += 1;
    }
    assert!(looked > 30);
}

/// Lossless: no packet is discarded, and each is forwarded at most once. Seamless over RLC AM with
/// all of RLC's buffer counted as retransmission queue: the discarded packets were not forwarded.
#[test]
fn packets_show_what_is_forwarded_and_what_is_discarded() {
    for (kind, discards) in [("lossless", false), ("seamless", true)] {
        let output = drive(&format!("handover = '{kind}'\nretransmission = {{ counts = 'handed-over' }}"));
        let (event, packet) = (text(&output, "packets", "event"), whole(&output, "packets", "packet"));
        let (kinds, when) = (text(&output, "events", "kind"), real(&output, "events", "time_s"));
        let begun = when[kinds.iter().position(|k| k == "handover-start").unwrap()];
        let t = real(&output, "packets", "time_s");
        let mut forwarded: Vec<u64> = (0..event.len())
            .filter(|i| event[*i] == "forwarded" && t[*i] < begun + 1.0)
            .map(|i| packet[i])
            .collect();
        let all = forwarded.len();
        forwarded.sort_unstable();
        forwarded.dedup();
        assert!(all > 0 && forwarded.len() == all, "{kind}: {} of {all} once", forwarded.len());
        let (cause, lost) = (text(&output, "drops", "cause"), whole(&output, "drops", "packet"));
        let gone: Vec<u64> =
            (0..cause.len()).filter(|i| cause[*i] == "handover-discard").map(|i| lost[i]).collect();
        assert_eq!(!gone.is_empty(), discards, "{kind}");
        assert!(gone.iter().all(|p| forwarded.binary_search(p).is_err()));
    }
}

/// The table `steps` has a NACK for each downlink block that was not decoded: their number is that
/// of the errors in the table `radio`, less those of the last 4 ms. A block has a row for each of
/// its packets.
#[test]
fn steps_have_the_nacks_of_the_downlink() {
    let output = run_text(
        "[scenario]\nname = 'nacks'\nduration = '4 s'\n[link.core]\nbetween = ['server', 'enb']\n\
         [radio]\nfading = 'epa'\n[cell.enb]\n[cell.enb.downlink]\ncontrol_errors = false\n\
         [ue.phone]\n[ue.phone.radio]\nposition = ['1300 m', '0 m', '1.5 m']\n\
         mobility = { kind = 'linear', speed = '60 km/h' }\n\
         [flow.down]\nfrom = 'server'\nto = 'phone'\n[output]\nsteps = true\n",
    );
    let (steps, links) = (text(&output, "steps", "step"), text(&output, "steps", "link"));
    let times = real(&output, "steps", "time_s");
    let count = |step: &str| {
        let rows = steps.iter().zip(&links).zip(&times).filter(|((s, l), _)| *s == step && *l == "downlink");
        rows.map(|(_, t)| t.to_bits()).collect::<std::collections::BTreeSet<u64>>().len() as u64
    };
    let of_downlink = text(&output, "radio", "direction").into_iter().zip(whole(&output, "radio", "errors"));
    let errors: u64 = of_downlink.filter(|(d, _)| d == "downlink").map(|(_, errors)| errors).sum();
    let nacks = count("nack");
    assert!(errors > 10, "{errors}");
    assert!(nacks <= errors && errors - nacks <= 4, "{nacks} of {errors}");
    let sent = count("data") + count("retransmission");
    assert!(sent - count("ack") - nacks <= 8, "each transmission has its answer: {sent}");
}
