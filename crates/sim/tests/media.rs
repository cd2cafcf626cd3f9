//! Media flows: source, packets, reports, tables.

use arrow::array::{Array, DictionaryArray, StringArray};
use arrow::datatypes::Int32Type;

use crate::common::{assert_balanced, real, run_text, whole};
use lasthop_sim::Scenario;

/// Returns one flow over a link of 10 Mbit/s and 50 ms; `app` are further parameters, `rest`
/// further text.
fn call(duration: &str, app: &str, rest: &str) -> String {
    format!(
        "[scenario]\nname = 'media'\nduration = '{duration}'\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '10 Mbit/s'\ndelay = '50 ms'\n\
         [flow.call]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\napp = {{ kind = 'media'{app} }}\n{rest}"
    )
}

/// 1.5 Mbit/s in 30 frames/s are frames of 6250 octets: five RTP packets of 1200 and one of 250,
/// each with 28 octets of UDP and IP: 6418. They leave at 1.5 times the rate, 2.25 Mbit/s, so the
/// last one 5 * 1200 * 8 / 2.25 Mbit/s = 21.333 ms after the first; it takes 278 * 8 / 10 Mbit/s =
/// 0.2224 ms of the line and 50 ms to arrive. In 9.99 s there are 300 frames, the last at 9.967 s:
/// it and the one before it are in transmission at the end, except two packets of the latter.
#[test]
fn frames_are_packets_of_rtp_udp_and_ip_and_leave_at_the_paced_rate() {
    let output = run_text(&call("9.99 s", ", noise = 0", ""));
    assert_balanced(&output);
    let frames = whole(&output, "applications", "completed")[0];
    assert!((298..=299).contains(&frames), "{frames}");
    let delay = real(&output, "applications", "time_mean_s")[0];
    assert!((delay - (0.021_333_3 + 0.000_222_4 + 0.05)).abs() < 1e-6, "{delay}");
    let [packets, octets] = ["tx_packets", "tx_bytes"].map(|c| whole(&output, "flows", c)[0]);
    // All of 299 frames, and of the last one the packets that leave within 23 ms: all six.
    assert_eq!((packets, octets), (300 * 6, 300 * 6418));
    let rate = real(&output, "applications", "bitrate_mean_bps")[0];
    assert!((rate - 300.0 * 6250.0 * 8.0 / 9.99).abs() < 1.0, "{rate}");
}

/// 160 kbit/s in 20 frames/s: a packet of 1000 octets every 50 ms. The first report is made 50 ms
/// after the first packet, just after the second one has arrived; the next packet comes 50 ms
/// later, so reports are 100 ms apart and each has two new packets and the two before them. RFC
/// 8888: 20 octets and 4 for two metrics, with 28 of UDP and IP: 52 the first one, 56 the others.
#[test]
fn reports_have_the_size_of_their_layout() {
    let app = ", min_rate = '160 kbit/s', start_rate = '160 kbit/s', max_rate = '160 kbit/s', noise = 0, \
               frame_rate = 20, min_frame_rate = 20";
    let output = run_text(&call("9.99 s", app, ""));
    // From 0.1008 s on, every 0.1 s until 9.99 s.
    assert_eq!(whole(&output, "flows", "reverse_tx_packets"), [99]);
    assert_eq!(whole(&output, "flows", "reverse_tx_bytes"), [52 + 98 * 56]);
    // Its packet waited for less than 1/1024 s at the receiver, the resolution of the report.
    let rtt = *real(&output, "media", "rtt_s").last().unwrap();
    let wire = 0.1 + 1028.0 * 8.0 / 10e6 + 56.0 * 8.0 / 10e6;
    assert!((rtt - wire).abs() < 1.0 / 1024.0, "{rtt} {wire}");
}

/// On 1 Mbit/s a constant 1.5 Mbit/s gets the rate of the line: 6250 of the 6418 octets of each
/// frame, less the difference between dropped packets of 1228 and of 278 octets.
#[test]
fn a_constant_rate_above_the_capacity_gets_the_capacity_and_loses_the_rest() {
    let text = call("20 s", "", "").replace("10 Mbit/s", "1 Mbit/s");
    let output = run_text(&text.replace("delay =", "queue = { kind = 'droptail', packets = 30 }\ndelay ="));
    let received = real(&output, "media", "received_bps");
    let late = &received[50..];
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    assert!((mean / 1e6 - 6250.0 / 6418.0).abs() < 0.01, "{mean}");
    let lost = whole(&output, "media", "lost").iter().sum::<u64>();
    let dropped = whole(&output, "flows", "lost_dropped")[0];
    // The losses of the last round trip have not been reported to the sender.
    assert!(lost <= dropped && lost + 40 > dropped, "{lost} of {dropped}");
}

/// A pause of 2 s: nothing is sent, and the frames begin anew.
#[test]
fn a_pause_stops_the_encoder_and_a_resume_starts_it_again() {
    let at = "[[at]]\nt = '2 s'\npause = 'flow.call'\n[[at]]\nt = '4 s'\nresume = 'flow.call'\n";
    let output = run_text(&call("6 s", "", at));
    let rates = real(&output, "media", "encoder_bps");
    let times = real(&output, "media", "time_s");
    for (time, rate) in times.iter().zip(&rates) {
        let silent = *time > 2.05 && *time < 3.95;
        assert_eq!(*rate == 0.0, silent, "{time}: {rate}");
    }
}

/// Marks of the queue are in the reports and in the flow's counters.
#[test]
fn packets_are_ecn_capable_where_the_flow_says_so() {
    let marked = |ecn: &str| {
        let text = call("10 s", &format!(", ecn = '{ecn}'"), "").replace("10 Mbit/s", "1 Mbit/s");
        let queue = "queue = { kind = 'step', threshold_time = '10 ms' }\ndelay =";
        whole(&run_text(&text.replace("delay =", queue)), "flows", "rx_marked")[0]
    };
    assert_eq!(marked("not-ect"), 0);
    assert!(marked("ect1") > 100);
}

/// Reports are ordinary packets: they are lost, duplicated and overtaken without an error.
#[test]
fn reports_may_be_lost_and_reordered() {
    let link = "loss = '20 %'\nduplication = '10 %'\njitter = '40 ms'\nreordering = true\ndelay =";
    for control in controls() {
        let app = format!(", control = '{}', audio = '20 kbit/s'", control);
        let output = run_text(&call("20 s", &app, "").replace("delay =", link));
        assert_balanced(&output);
        assert!(whole(&output, "applications", "completed")[0] > 20, "{}", control);
    }
}

/// No report arrives: the flow continues as its control specifies for this case, in bounded memory.
#[test]
fn a_broken_reverse_path_does_not_stop_the_flow() {
    for control in controls() {
        let rest = "[fault.dead]\nlink = 'x.reverse'\naction = 'drop'\n";
        let output = run_text(&call("20 s", &format!(", control = '{}'", control), rest));
        assert!(whole(&output, "flows", "rx_packets")[0] > 50, "{}", control);
    }
}

fn controls() -> Vec<String> {
    let all = lasthop_sim::describe();
    all["rate-control"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn wrong_values_are_refused_with_their_key() {
    for (app, key, remedy) in [
        (", min_rate = '0 bit/s'", "min_rate", "above zero"),
        (", max_rate = '2 Gbit/s'", "max_rate", "up to 1 Gbit/s"),
        (", max_rate = '100 kbit/s'", "max_rate", "below `min_rate`"),
        (", start_rate = '2 Mbit/s'", "max_rate", "is below `start_rate`"),
        (", frame_rate = 0", "frame_rate", "1 to 240"),
        (", frame_rate = nan", "frame_rate", "a finite number"),
        (", min_frame_rate = 31", "min_frame_rate", "1 to 30"),
        (", noise = 0.6", "noise", "0 to 0.5"),
        (", reaction = '11 s'", "reaction", "up to 10 s"),
        (", size = '63 B'", "size", "64 B to 65507 B"),
        (", size = '65508 B'", "size", "64 B to 65507 B"),
        (", audio = '11 Mbit/s'", "audio", "up to 10 Mbit/s"),
        (", feedback = '0 s'", "feedback", "at least 1 ms"),
        (", feedback = '1 h'", "feedback", "up to 10 s"),
        (", ecn = 'ce'", "ecn", "senders do not mark"),
        (", control = 'tfrc'", "control", "none"),
    ] {
        let text = call("1 s", app, "");
        let error = Scenario::parse(&text, "t.toml", std::path::Path::new(""), &[]).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains(remedy), "{app}: {error}");
    }
    let over_tcp = call("1 s", "", "").replace("transport = 'udp'", "transport = 'tcp'");
    let error = Scenario::parse(&over_tcp, "t.toml", std::path::Path::new(""), &[]).unwrap_err().to_string();
    assert!(error.contains("is made of datagrams"), "{error}");
    let when = "[[when]]\nflow = 'call'\nvar = 'media.rt'\nabove = 1\nset = {}\n";
    let error = Scenario::parse(&call("1 s", "", when), "t.toml", std::path::Path::new(""), &[])
        .unwrap_err()
        .to_string();
    assert!(error.contains("`none` has no variable `media.rt`") && error.contains("media.rtt"), "{error}");
}

/// The table `cc` has the variables of media, and `[[when]]` waits for them.
#[test]
fn variables_of_media_are_recorded_and_waited_for() {
    let rest = "[output]\ncc = 'change'\ncc_variables = ['media.rtt', 'media.in_flight']\n\
                [[when]]\nflow = 'call'\nvar = 'media.in_flight'\nabove = 1\npause = 'flow.call'\n";
    let output = run_text(&call("3 s", "", rest));
    let values = real(&output, "cc", "value");
    assert!(values.iter().any(|v| (v - 0.1).abs() < 0.01), "{values:?}");
    // In flight after the first report: from then on it is paused.
    assert!(whole(&output, "flows", "tx_packets")[0] < 60);
}

/// Runs `flows` calls with this control over `rate`, 50 ms and a queue of 300 ms (RFC 8867's wired
/// set-up).
fn shared(
    control: &str,
    flows: u32,
    rate: &str,
    duration: &str,
    more: &str,
    rest: &str,
) -> lasthop_sim::RunOutput {
    let app = format!(", control = '{control}'{more}");
    let text = call(duration, &app, rest)
        .replace("10 Mbit/s", rate)
        .replace("app =", &format!("count = {flows}\napp ="));
    let octets = if rate == "1 Mbit/s" { 37_500 } else { 75_000 };
    let queue = format!("queue = {{ kind = 'droptail', bytes = '{octets} B' }}\ndelay =");
    run_text(&text.replace("delay =", &queue))
}

/// Returns the mean of a column of the table `media` over the rows of flow number `n` of `of` from
/// a time on.
fn late(output: &lasthop_sim::RunOutput, column: &str, (n, of): (usize, usize), from_s: f64) -> f64 {
    let times = real(output, "media", "time_s");
    let values = real(output, "media", column);
    let rows = times.iter().zip(&values).skip(n).step_by(of);
    let rows: Vec<f64> = rows.filter(|(t, v)| **t > from_s && v.is_finite()).map(|(_, v)| *v).collect();
    rows.iter().sum::<f64>() / rows.len() as f64
}

/// Returns the mean of a variable of the table `cc` from a time on.
fn variable(output: &lasthop_sim::RunOutput, name: &str, from_s: f64) -> f64 {
    let (times, values) = (real(output, "cc", "time_s"), real(output, "cc", "value"));
    let names = names(output, "cc", "variable");
    let rows = times
        .iter()
        .zip(&values)
        .zip(&names)
        .filter(|((t, v), n)| **t > from_s && v.is_finite() && *n == name);
    let rows: Vec<f64> = rows.map(|((_, v), _)| *v).collect();
    rows.iter().sum::<f64>() / rows.len() as f64
}

/// RFC 8698 equation 5 is zero where the congestion signal, here queueing delay alone, is
/// XREF * RMAX / r_ref: 10 ms * 1.5 Mbit/s / r_ref. On 1 Mbit/s the goodput is 1200 of 1228 octets
/// at most, and 0.96 at least with the short packets at the ends of frames; r_ref is up to 5 %
/// higher, by the shaping buffer.
#[test]
fn nada_keeps_the_queue_of_its_fixed_point() {
    let more = "[output]\ncc = 'interval'\n";
    let output = shared("nada", 1, "1 Mbit/s", "120 s", ", noise = 0", more);
    let rate = late(&output, "received_bps", (0, 1), 60.0);
    assert!((0.96e6..0.978e6).contains(&rate), "{rate}");
    let (r_ref, x) = (variable(&output, "nada.r_ref", 60.0), variable(&output, "nada.x_curr", 60.0));
    assert!((1.0..1.055).contains(&(r_ref / rate)), "{r_ref} {rate}");
    let fixed = 10.0 * 1.5e6 / r_ref;
    assert!((x / fixed - 1.0).abs() < 0.1, "{x} ms, {fixed} ms");
    assert_eq!(whole(&output, "flows", "lost_dropped"), [0]);
}

/// RFC 8867 section 5.1's link (50 ms, 300 ms of queue): a flow is near the capacity of 1 Mbit/s
/// after 30 s, which GCC needs for a growth of 8 % a second from 150 kbit/s (25 s to 1 Mbit/s), and
/// two share 2 Mbit/s within a factor of three (RFC 8868's bound for equal flows).
#[test]
fn controls_come_near_the_capacity_and_share_it() {
    for control in controls().iter().filter(|c| *c != "none") {
        let one = shared(control, 1, "1 Mbit/s", "60 s", "", "");
        let (rate, delay) =
            (late(&one, "received_bps", (0, 1), 30.0), late(&one, "delay_mean_s", (0, 1), 30.0));
        let two = shared(control, 2, "2 Mbit/s", "120 s", "", "");
        let rates = [0, 1].map(|n| late(&two, "received_bps", (n, 2), 60.0));
        println!("{control}: {rate:.0} bit/s, {delay:.4} s, {rates:.0?}");
        assert!((0.6e6..0.98e6).contains(&rate), "{control}: {rate}");
        assert!(delay < 0.35, "{control}: {delay}");
        assert!((1.0 / 3.0..3.0).contains(&(rates[0] / rates[1])), "{control}: {rates:?}");
    }
}

/// The same link with a queue that marks ECT(1) from 5 ms on: SCReAM in its mode for L4S keeps the
/// queue near that, with few losses. NADA treats marks of 1 % as 2 ms of delay.
#[test]
fn controls_respond_to_marks() {
    for control in ["scream", "nada"] {
        let queue = "queue = { kind = 'step', threshold_time = '5 ms' }\ndelay =";
        let run = |ecn: &str| {
            let app = format!(", control = '{control}', ecn = '{ecn}'");
            run_text(&call("60 s", &app, "").replace("10 Mbit/s", "1 Mbit/s").replace("delay =", queue))
        };
        let [with, without] = ["ect1", "not-ect"].map(run);
        let delays = [&with, &without].map(|o| late(o, "delay_mean_s", (0, 1), 20.0));
        println!("{control}: {delays:?} s, {:.0} bit/s", late(&with, "received_bps", (0, 1), 20.0));
        assert!(delays[0] < delays[1], "{control}: {delays:?}");
        assert!(whole(&with, "flows", "rx_marked")[0] > 20);
    }
}

fn names(output: &lasthop_sim::RunOutput, table: &str, column: &str) -> Vec<String> {
    let (batches, _) = output.table(table).unwrap();
    let mut found = Vec::new();
    for batch in batches {
        let column = batch.column_by_name(column).unwrap().as_any();
        let column = column.downcast_ref::<DictionaryArray<Int32Type>>().unwrap();
        let values = column.values().as_any().downcast_ref::<StringArray>().unwrap();
        found.extend((0..column.len()).map(|i| values.value(column.key(i).unwrap()).to_owned()));
    }
    found
}

/// A call of 2 s that begins at 1 s: frames until 3 s, and a later resume does not restart it.
#[test]
fn a_call_ends_after_its_length() {
    let at = "[[at]]\nt = '4 s'\npause = 'flow.call'\n[[at]]\nt = '5 s'\nresume = 'flow.call'\n";
    let text = call("6 s", ", length = '2 s'", at).replace("transport =", "start = '1 s'\ntransport =");
    let output = run_text(&text);
    assert_balanced(&output);
    for (time, rate) in real(&output, "media", "time_s").iter().zip(real(&output, "media", "encoder_bps")) {
        // The frame of 1 s belongs to the interval that ends then.
        assert_eq!(rate > 0.0, *time > 0.95 && *time < 3.05, "{time} {rate}");
    }
    let wrong =
        Scenario::parse(&call("6 s", ", length = '0 s'", ""), "t.toml", std::path::Path::new(""), &[])
            .unwrap_err();
    assert!(wrong.to_string().contains("length"), "{wrong}");
}
