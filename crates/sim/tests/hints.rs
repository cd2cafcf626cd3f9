//! Capacity hints from a cell to a sender, and the IP buffer that MAC reads from: their effect and
//! their safety.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::{assert_balanced, real, run_text, whole};
use lasthop_sim::tcp::cc::{AckSample, Congestion, CongestionControl, Definition, Established, Hint};
use lasthop_sim::{Extensions, RunOutput, Scenario, run};

/// One phone at a pinned SINR of 12 dB on 20 MHz, a wire of 5 ms, an RLC buffer of 150 kB (1.2
/// times 33 Mbit/s in 30 ms), and a radio-aware download.
fn cell(more: &str) -> String {
    format!(
        "[scenario]\nname = 'hint'\nduration = '5 s'\n\
         [link.core]\nbetween = ['server', 'enb']\ndelay = '5 ms'\n\
         [cell.enb]\n\
         [ue.phone]\nradio = {{ pinned_sinr = '12 dB' }}\nrlc = {{ buffer = {{ bytes = '150 kB' }} }}\n\
         [flow.down]\nfrom = 'server'\nto = 'phone'\n\
         {more}"
    )
}

const AWARE: &str = "tcp = { cc = 'radio-aware', hint_queue_threshold = '75 kB', receive_buffer = '4 MB' }\n";
const HINT: &str = "[hint.h]\nrecord = true\n";

fn goodput(more: &str) -> f64 {
    let output = run_text(&cell(more));
    assert_balanced(&output);
    real(&output, "flows", "goodput_bps")[0]
}

/// The reported rate is the transport block of the CQI per TTI, with no other UE in the cell: at 12
/// dB the efficiency table's CQI gives an I_TBS whose block on 100 resource blocks is in TS 36.213
/// table 7.1.7.2.1-1. Every report is the same here, in kbit/s.
#[test]
fn the_reported_rate_is_the_transport_block_of_the_cqi() {
    let output = run_text(&cell(&format!("{AWARE}{HINT}")));
    let rates = whole(&output, "hints", "rate_bps");
    let carrier = real(&output, "hints", "carrier_bps");
    // The I_TBS of the column of 100 blocks with 16QAM: 11 to 19 (17568 to 43816 bits).
    let blocks = [17_568, 19_848, 22_920, 25_456, 28_336, 30_576, 32_856, 36_696, 39_232, 43_816];
    assert!(blocks.iter().any(|b| f64::from(*b) * 1e3 == carrier[0]), "{}", carrier[0]);
    assert!(carrier.iter().all(|c| *c == carrier[0]));
    assert!(rates.iter().all(|r| *r as f64 == carrier[0]), "one user: the whole carrier");
    assert_eq!(rates.len(), 501, "every 10 ms from 0 to 5 s");
}

/// The formula keeps the layer-2 queue at half of its threshold, uses nine tenths of the link, and
/// loses nothing, while Reno fills the buffer until it overflows.
#[test]
fn a_guided_sender_fills_the_link_and_not_the_buffer() {
    let reno = run_text(&cell("tcp = { cc = 'reno', receive_buffer = '4 MB' }\n"));
    let aware = run_text(&cell(&format!("{AWARE}{HINT}")));
    assert!(whole(&reno, "flows", "lost_dropped")[0] > 0);
    assert_eq!(whole(&aware, "flows", "lost_dropped")[0], 0);
    let (a, r) = (real(&aware, "flows", "goodput_bps")[0], real(&reno, "flows", "goodput_bps")[0]);
    // Reno has a buffer of more than the bandwidth-delay product here, and fills it.
    assert!(a > 0.9 * r, "{a} against {r}");
    let queue = whole(&aware, "hints", "real_queue_bytes");
    let mean = queue.iter().sum::<u64>() as f64 / queue.len() as f64;
    assert!(mean < 45_000.0, "{mean}");
}

#[test]
fn a_hint_in_an_option_of_the_acks_does_the_same_and_costs_its_octets() {
    let (direct, option) = (
        run_text(&cell(&format!("{AWARE}{HINT}"))),
        run_text(&cell(&format!("{AWARE}{HINT}carrier = 'option'\n"))),
    );
    let (d, o) = (real(&direct, "flows", "goodput_bps")[0], real(&option, "flows", "goodput_bps")[0]);
    assert!((o / d - 1.0).abs() < 0.05, "{o} against {d}");
    let mean = |out: &RunOutput| {
        whole(out, "flows", "reverse_tx_bytes")[0] as f64
            / whole(out, "flows", "reverse_tx_packets")[0] as f64
    };
    // 52 B with timestamps, and 12 B more; a few ACKs leave before the first report or with SACK
    // blocks.
    assert!((mean(&direct) - 52.0).abs() < 1.0 && (mean(&option) - 64.0).abs() < 1.0, "{}", mean(&option));
}

/// Hints end at 2 s: the base algorithm takes over within a round trip and delivers as much as Reno
/// alone, within 10 %.
#[test]
fn when_hints_stop_the_flow_continues_with_its_base_algorithm() {
    let output = run_text(&cell(&format!("{AWARE}{HINT}stop = '2 s'\n[output]\ntcp = 'ack'\n")));
    let (times, windows) = (real(&output, "tcp", "time_s"), real(&output, "tcp", "snd_cwnd"));
    let thresholds = real(&output, "tcp", "snd_ssthresh");
    let rtt = real(&output, "tcp", "rtt_us");
    let at = times.iter().position(|t| *t > 1.99).unwrap();
    let limit = 2.0 + 0.005 + rtt[at] * 1e-6 + 0.025;
    // Guided, the threshold equals the window; the base algorithm has a threshold of its own.
    let base = (0..times.len()).find(|i| times[*i] > 1.99 && thresholds[*i] != windows[*i]).unwrap();
    assert!(times[base] <= limit, "{} after {limit}", times[base]);
    let reno = goodput("tcp = { cc = 'reno', receive_buffer = '4 MB' }\n");
    assert!(real(&output, "flows", "goodput_bps")[0] > 0.9 * reno);
}

/// A source that overstates the rate by a factor of twenty overflows the buffer once, by thousands
/// of segments, and is then rejected: over 20 s that costs less than a fifth of Reno's goodput.
/// Reports that come three round trips late are all rejected: then the sender uses its base, Reno
/// with pacing, to 1 %. Scattered or rare ones cost less than a tenth of what right ones give.
#[test]
fn false_or_late_hints_do_no_lasting_harm() {
    let long = |more: &str| {
        let output = run_text(&cell(more).replace("duration = '5 s'", "duration = '20 s'"));
        real(&output, "flows", "goodput_bps")[0]
    };
    let reno = long("tcp = { cc = 'reno', receive_buffer = '4 MB' }\n");
    // `radio-aware` paces, with hints and without.
    let paced = long("tcp = { cc = 'reno', pacing = true, receive_buffer = '4 MB' }\n");
    let right = long(&format!("{AWARE}{HINT}"));
    for (wrong, least) in [
        ("bias = 20.0\nqueue = false\n", 0.8 * reno),
        ("delay = '200 ms'\n", 0.99 * paced),
        ("error = 0.5\n", 0.9 * right),
        ("loss = '90 %'\n", 0.9 * right),
    ] {
        let achieved = long(&format!("{AWARE}{HINT}{wrong}"));
        assert!(achieved > least, "{wrong}: {achieved} against {least}");
    }
}

/// Returns times, windows and thresholds of the sender at each ACK.
fn trace(output: &RunOutput) -> [Vec<f64>; 3] {
    ["time_s", "snd_cwnd", "snd_ssthresh"].map(|column| real(output, "tcp", column))
}

/// Reports that come three round trips late are never followed: the sender equals its base, Reno
/// with pacing, from the first ACK to the last. (A window that equals its threshold for a while is
/// Reno's fast recovery and not a hint: it occurs in both.)
#[test]
fn a_sender_whose_reports_come_late_is_its_base_to_the_last_ack() {
    let run = |more: &str| trace(&run_text(&cell(&format!("{more}[output]\ntcp = 'ack'\n"))));
    let late = run(&format!("{AWARE}{HINT}start = '1 s'\ndelay = '200 ms'\n"));
    let base = run("tcp = { cc = 'reno', pacing = true, receive_buffer = '4 MB' }\n");
    let equal = (0..base[0].len()).filter(|i| base[1][*i] == base[2][*i]).count();
    assert!(equal > 1000, "a stretch of Reno's own where the window is the threshold: {equal}");
    assert!(late == base);
}

/// Returns the time from the first hint at `start` [s] until the base algorithm has taken over, and
/// the largest round trip measured in it [s].
fn taken_over(start: f64, lie: &str, buffer: &str) -> (f64, f64) {
    let hint = format!("{AWARE}{HINT}start = '{start} s'\n{lie}[output]\ntcp = 'ack'\n");
    let output = run_text(&cell(&hint).replace("150 kB", buffer));
    let [times, windows, thresholds] = trace(&output);
    // Guided, the threshold is the window. The base's is infinite here (-1) until it is cut to the
    // amount delivered, which is less than a half of the overstated rate; what recovery adds to a
    // window for a time does not count.
    let guided = (0..times.len()).find(|i| times[*i] > start && thresholds[*i] == windows[*i]).unwrap();
    let own = |i: &usize| thresholds[*i] < 0.5 * thresholds[guided];
    let base = (guided..times.len()).find(own).unwrap_or_else(|| panic!("{lie}: followed to the end"));
    let trips = &real(&output, "tcp", "rtt_sample_us")[guided..=base];
    (times[base] - times[guided], trips.iter().copied().fold(0.0, f64::max) * 1e-6)
}

/// A rate that is always a hundredth: more was delivered in the round in which it was reported.
#[test]
fn an_understated_rate_is_detected_within_a_round_trip() {
    for lie in ["bias = 0.01\n", "bias = 0.01\nqueue = false\n"] {
        let (took, trip) = taken_over(1.0, lie, "150 kB");
        println!("{lie:?}: {took} s, round trip {trip} s");
        assert!(took <= trip, "{lie:?}: {took} s, round trip {trip} s");
    }
}

/// A rate that is always a hundred times that of the link. In a buffer that overflows, the first of
/// its lost segments are detected one round trip later, through the full buffer. A buffer that
/// never overflows makes the round trip four times the smallest. The segment that reveals it was
/// sent within 5 ms of the hint: nothing before can.
#[test]
fn an_overstated_rate_is_detected_within_the_round_trip_that_it_causes() {
    for (start, buffer) in [(1.0, "150 kB"), (0.06, "50 MB")] {
        for lie in ["bias = 100.0\n", "bias = 100.0\nqueue = false\n"] {
            let (took, trip) = taken_over(start, lie, buffer);
            println!("{lie:?} {buffer}: {took} s, round trip {trip} s");
            assert!(took <= trip + 0.005, "{lie:?} {buffer}: {took} s, round trip {trip} s");
        }
    }
}

/// From the eNB's IP buffer MAC takes the data that a block carries: the layer-2 queue holds less
/// than two packets, nothing is lost, and the link is full, with a server near the cell and no
/// congestion control.
#[test]
fn close_coupling_keeps_the_layer_2_queue_near_zero_and_the_link_full() {
    let text = cell("tcp = { cc = 'none', receive_buffer = '4 MB' }\n[hint.h]\nrecord = true\n")
        .replace("from = 'server'", "from = 'enb'")
        .replace("[ue.phone]\n", "[ue.phone]\nip_buffer = 'infinite'\n");
    let output = run_text(&text);
    assert_balanced(&output);
    assert!(whole(&output, "hints", "real_queue_bytes").iter().all(|q| *q < 3000));
    assert_eq!(whole(&output, "flows", "lost_dropped"), [0]);
    let goodput = real(&output, "flows", "goodput_bps")[0];
    // The rate of datagrams over the same radio with data always waiting: 1460 of 1500 B, less
    // headers of layer 2.
    let udp =
        run_text(&cell("transport = 'udp'\napp = { kind = 'cbr', rate = '100 Mbit/s', size = '1472 B' }\n"));
    let air = real(&udp, "flows", "throughput_bps")[0] * 1448.0 / 1500.0;
    assert!(goodput > 0.97 * air, "{goodput} of {air}");
}

/// One flow that floods and one that requests 100 kB now and then, in one buffer: with flow queues
/// in the IP buffer the small one does not wait behind the large one.
#[test]
fn flow_queues_in_the_ip_buffer_keep_a_web_object_from_waiting_behind_a_download() {
    let both = |change: &str, from: &str| {
        let text = cell("tcp = { cc = 'none', receive_buffer = '1 MB' }\n")
            .replace("[ue.phone]\n", &format!("[ue.phone]\n{change}"))
            .replace("rlc = { buffer = { bytes = '150 kB' } }\n", "")
            .replace("from = 'server'", from);
        let web = "[flow.web]\nfrom = 'phone'\nto = 'enb'\nstart = '1 s'\n\
             app = { kind = 'request-response', response = '100 kB', think = '200 ms' }\ntcp = { cc = 'none' }\n";
        let output = run_text(&format!("{text}{web}"));
        assert_balanced(&output);
        real(&output, "flows", "request_time_mean_s")[1]
    };
    let (shared, apart) = (
        both("", "from = 'enb'"),
        both("ip_buffer = { kind = 'fq-codel', target = '10 s' }\n", "from = 'enb'"),
    );
    assert!(apart < 0.6 * shared, "{apart} s against {shared} s");
}

/// The eNB's hints are based on the UE's reports, the UE's on its measurements: with a pinned SINR
/// both give the same block. A second UE that is always served halves the rate in the hint if the
/// load is included, and does not otherwise.
#[test]
fn every_source_and_load_reports_its_share() {
    let mean = |more: &str| {
        let other = "[ue.other]\nradio = { pinned_sinr = '12 dB' }\nrlc = { mode = 'um', buffer = { bytes = '50 kB' } }\n\
             [flow.background]\nfrom = 'enb'\nto = 'other'\ntransport = 'udp'\n\
             app = { kind = 'cbr', rate = '80 Mbit/s', size = '1400 B' }\n";
        let output = run_text(&cell(&format!("{AWARE}{other}{HINT}flows = ['down']\n{more}")));
        let (time, rate) = (real(&output, "hints", "time_s"), whole(&output, "hints", "rate_bps"));
        let late: Vec<f64> = (0..time.len()).filter(|i| time[*i] > 2.0).map(|i| rate[i] as f64).collect();
        let carrier = real(&output, "hints", "carrier_bps");
        late.iter().sum::<f64>() / late.len() as f64 / carrier[carrier.len() - 1]
    };
    for (source, expected, within) in [
        // Its outer loop subtracts an offset learned from failed blocks.
        ("source = 'enb'\n", 0.5, 0.05),
        ("load = 'broadcast'\n", 0.5, 0.02),
        // Half of the blocks, less those used for HARQ retransmissions and reports.
        ("load = 'own'\n", 0.5, 0.1),
        ("load = 'none'\n", 1.0, 1e-9),
    ] {
        let share = mean(source);
        assert!((share - expected).abs() <= within, "{source}: {share}");
    }
}

/// Throughput guidance as a ceiling: Reno with it never overflows the buffer, and an overstated
/// rate has no effect on Reno.
#[test]
fn guidance_as_a_ceiling_only_ever_slows_down() {
    let tcp =
        |cc: &str| format!("tcp = {{ cc = '{cc}', receive_buffer = '4 MB', hint_rtt = 'predicted' }}\n");
    let reno = run_text(&cell(&tcp("reno")));
    let guided = run_text(&cell(&format!("{}{HINT}", tcp("guided"))));
    assert_eq!(whole(&guided, "flows", "lost_dropped"), [0]);
    let (g, r) = (real(&guided, "flows", "goodput_bps")[0], real(&reno, "flows", "goodput_bps")[0]);
    assert!(g > 0.8 * r, "{g} of {r}: R x RTT leaves no queue to draw on while HARQ repeats");
    let delay = |o| real(o, "flows", "delay_mean_s")[0];
    assert!(delay(&guided) < delay(&reno), "{} against {}", delay(&guided), delay(&reno));
    let overstated = goodput(&format!("{}{HINT}bias = 100.0\n", tcp("guided")));
    assert_eq!(overstated, r);
}

/// ABC in the eNB and at the sender: after its first doublings nothing is lost, and the waiting
/// time of packets is far less than with Reno, which fills the buffer.
#[test]
fn accelerate_and_brake_hold_the_queue_near_their_threshold() {
    let reno = run_text(&cell("tcp = { cc = 'reno', receive_buffer = '4 MB' }\n"));
    let abc = run_text(&cell("tcp = { cc = 'abc', receive_buffer = '4 MB' }\n").replace(
        "bytes = '150 kB'",
        "bytes = '150 kB', aqm = { kind = 'abc', threshold = '5 ms', delta = '40 ms' }",
    ));
    assert_balanced(&abc);
    let lost = real(&abc, "drops", "time_s");
    assert!(lost.iter().all(|t| *t < 1.0), "{lost:?}");
    assert!(whole(&abc, "flows", "rx_marked")[0] > 100);
    let (a, r) = (real(&abc, "flows", "goodput_bps")[0], real(&reno, "flows", "goodput_bps")[0]);
    assert!(a > 0.9 * r, "{a} of {r}");
    let delay = |o| real(o, "flows", "delay_mean_s")[0];
    // The scheduler reports layer 2's rate, a tenth of which is HARQ retransmissions: the queue
    // settles where 0.98 - (x - 5) / 40 is 0.9.
    assert!(delay(&abc) < 0.9 * delay(&reno), "{} against {}", delay(&abc), delay(&reno));
}

/// A Classic and an L4S flow in one layer-2 queue: coupled marking gives them similar rates (RFC
/// 9332 section 2.1), while with one step for both, the flow that halves its window gets less than
/// the one that reduces by the share of marks.
#[test]
fn coupled_marking_lets_classic_and_l4s_share_one_queue() {
    let shares = |aqm: &str| {
        let text = cell("tcp = { profile = 'linux-6', cc = 'cubic', ecn = 'on', receive_buffer = '4 MB' }\n")
            .replace("bytes = '150 kB'", &format!("bytes = '600 kB', aqm = {{ {aqm} }}"))
            .replace("duration = '5 s'", "duration = '30 s'");
        let l4s = "[flow.l4s]\nfrom = 'server'\nto = 'phone'\n\
             tcp = { profile = 'linux-6', cc = 'prague', receive_buffer = '4 MB' }\n";
        let output = run_text(&format!("{text}{l4s}"));
        assert_balanced(&output);
        let rates = real(&output, "flows", "goodput_bps");
        rates[0] / rates[1]
    };
    let (coupled, step) =
        (shares("kind = 'pi2'"), shares("kind = 'codel', target = '1 s', ce_threshold = '10 ms'"));
    assert!((0.4..2.5).contains(&coupled), "coupled: classic over L4S {coupled}");
    assert!(step < 0.5 * coupled, "step: {step}, coupled: {coupled}");
}

/// Returns the kinds of the events of a source that begins with `source`, with their times.
fn events_of(output: &RunOutput, source: &str) -> Vec<(f64, String)> {
    use arrow::array::AsArray;
    let (batches, _) = output.table("events").unwrap();
    let rows = batches.iter().flat_map(|b| {
        let text = |name: &str, i: usize| {
            let column =
                arrow::compute::cast(b.column_by_name(name).unwrap(), &arrow::datatypes::DataType::Utf8);
            column.unwrap().as_string::<i32>().value(i).to_owned()
        };
        let times =
            b.column_by_name("time_s").unwrap().as_primitive::<arrow::datatypes::Float64Type>().clone();
        let mine = (0..b.num_rows()).filter(move |i| text("source", *i).starts_with(source));
        mine.map(|i| (times.value(i), text("kind", i))).collect::<Vec<_>>()
    });
    rows.collect()
}

/// A car that drives from one cell to the other.
fn drive(trigger: &str, more: &str) -> String {
    format!(
        "[scenario]\nname = 'drive'\nduration = '12 s'\n\
             [link.core]\nbetween = ['server', 'gateway']\ndelay = '5 ms'\n\
             [radio]\npath_loss = {{ kind = 'log-distance', exponent = 3.0 }}\n\
             [handover]\ntrigger = {{ kind = '{trigger}' }}\n\
             [cell.west]\n[cell.west.radio]\nposition = ['0 m', '0 m', '30 m']\n\
             [cell.east]\n[cell.east.radio]\nposition = ['750 m', '0 m', '30 m']\n\
             [ue.phone]\ncell = 'west'\n[ue.phone.radio]\nposition = ['300 m', '20 m', '1.5 m']\n\
             mobility = {{ kind = 'linear', speed = '120 km/h' }}\n\
             [flow.down]\nfrom = 'server'\nto = 'phone'\n{more}"
    )
}

/// A car between two cells: its sender is notified of the handover when it begins and when the
/// target has taken over, at the times of the handover's own events. If no report is made, the link
/// fails, and is restored with the re-established connection.
#[test]
fn a_sender_is_notified_of_handovers_and_outages() {
    for (trigger, begins, ends, notices) in [
        ("a3", "handover-start", "handover-complete", ["handover-begins", "handover-done"]),
        ("none", "radio-link-failure", "rrc-reestablished", ["outage-begins", "outage-over"]),
    ] {
        let output = run_text(&drive(trigger, &format!("{AWARE}{HINT}")));
        assert_balanced(&output);
        let ue = events_of(&output, "ue/phone");
        let at =
            |kind: &str| ue.iter().find(|(_, k)| k == kind).unwrap_or_else(|| panic!("{kind}: {ue:?}")).0;
        let expected = [(at(begins), notices[0].to_owned()), (at(ends), notices[1].to_owned())];
        assert_eq!(events_of(&output, "hint/h"), expected);
    }
}

/// A window of 20 segments, and the notices received about the link.
#[derive(Clone, Debug)]
struct Listener(Arc<Mutex<Vec<(f64, &'static str)>>>);

impl CongestionControl for Listener {
    fn cwnd(&self) -> f64 {
        20.0
    }
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
    fn on_established(&mut self, _: &Established) {}
    fn on_ack(&mut self, _: &AckSample) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_timeout(&mut self, _: &Congestion) {}
    fn set_cwnd(&mut self, _: f64) {}
    fn on_hint(&mut self, hint: &Hint) {
        if let Some(notice) = hint.notice {
            self.0.lock().unwrap().push((hint.now.as_secs_f64(), notice.name()));
        }
    }
}

/// Notices as a sender received them, and the events of its link: time and kind.
type Received = (Vec<(f64, &'static str)>, Vec<(f64, String)>);

/// Returns the notices that a sender receives while its receiver drives by `trigger`, and the
/// events of its link.
fn receive_notices(trigger: &str, more: &str) -> Received {
    let record = Arc::new(Mutex::new(Vec::new()));
    let listener = Listener(Arc::clone(&record));
    let definition = Definition::new("listener", move |_| Ok(Box::new(listener.clone())));
    let extensions = Extensions::new().with_cc(definition).unwrap();
    let text = drive(trigger, &format!("tcp = {{ cc = 'listener' }}\n{HINT}{more}"));
    let scenario = Scenario::parse_with(&text, "test.toml", Path::new(""), &[], &extensions).unwrap();
    let output = run(&scenario, None, &mut |_| true).unwrap();
    let seen = record.lock().unwrap().clone();
    (seen, events_of(&output, "hint/h"))
}

/// Outside the connection each notice arrives once, 5 ms after its event. In the ACKs' option,
/// which repeats the newest notice in each of hundreds of ACKs, the sender also receives it once.
/// The notice of the start of an interruption cannot arrive through it: the last notice is that of
/// its end.
#[test]
fn a_notice_is_received_once_on_either_path() {
    for trigger in ["a3", "none"] {
        let (seen, events) = receive_notices(trigger, "delay = '5 ms'\n");
        assert_eq!(seen.len(), events.len());
        for ((at, notice), (event, kind)) in seen.iter().zip(&events) {
            assert_eq!((notice, ((at - event) * 1e6).round()), (&kind.as_str(), 5000.0));
        }
        let (seen, events) = receive_notices(trigger, "carrier = 'option'\n");
        let (over, last) = events.last().unwrap();
        let (at, notice) = seen.last().unwrap_or_else(|| panic!("{trigger}: no report of {events:?}"));
        assert_eq!(notice, last);
        // The timer of a segment that was lost in a failed link may have to expire before there is
        // an ACK: one second for the first expiry.
        assert!((*over..over + 2.0).contains(at), "{at}: {over}");
        let mut kinds: Vec<_> = seen.iter().map(|(_, notice)| *notice).collect();
        kinds.dedup();
        assert_eq!(kinds.len(), seen.len(), "each once: {seen:?}");
        assert!(seen.len() <= events.len());
    }
}

/// `stop` ends notices as it ends reports, and a path that loses all reports loses notices.
#[test]
fn notices_use_the_path_of_reports() {
    for (bound, is_sent) in [("", true), ("stop = '1 s'\n", false), ("start = '11.9 s'\n", false)] {
        let output = run_text(&drive("a3", &format!("{AWARE}{HINT}{bound}")));
        assert_eq!(!events_of(&output, "hint/h").is_empty(), is_sent, "{bound}");
    }
}

/// During a drive from one cell to the next, close coupling uses the buffer above the serving cell:
/// nothing is lost below it, and the layer-2 queue stays near zero in both cells. Only during the
/// interruption it holds the data that was in transmission and must be sent again. Status reports
/// come as fast as the uplink's full power carries them: the data that they confirm leaves the
/// queue.
#[test]
fn an_ip_buffer_moves_with_a_handover() {
    let output = run_text(
        "[scenario]\nname = 'drive'\nduration = '12 s'\n\
         [link.core]\nbetween = ['server', 'gateway']\ndelay = '0 ms'\n\
         [radio]\npath_loss = { kind = 'log-distance', exponent = 3.0 }\n\
         [handover]\ntrigger = { kind = 'a3' }\n\
         [cell.west]\nuplink = { power_control = { enabled = false } }\n\
         [cell.west.radio]\nposition = ['0 m', '0 m', '30 m']\n\
         [cell.east]\nuplink = { power_control = { enabled = false } }\n\
         [cell.east.radio]\nposition = ['750 m', '0 m', '30 m']\n\
         [ue.phone]\ncell = 'west'\nip_buffer = 'infinite'\npdcp = { handover = 'lossless' }\n\
         rlc = { buffer = { bytes = '60 kB' } }\n\
         [ue.phone.radio]\nposition = ['300 m', '20 m', '1.5 m']\n\
         mobility = { kind = 'linear', speed = '120 km/h' }\n\
         [flow.down]\nfrom = 'gateway'\nto = 'phone'\ntcp = { cc = 'none', receive_buffer = '1 MB' }\n\
         [hint.h]\nrecord = true\n",
    );
    assert_balanced(&output);
    let events = events_of(&output, "ue/phone");
    let at = |kind: &str| events.iter().find(|(_, k)| k == kind).unwrap_or_else(|| panic!("{kind}")).0;
    let interrupted = at("handover-start")..=at("handover-complete") + 0.005;
    assert_eq!(whole(&output, "flows", "lost_dropped"), [0]);
    let (queue, time) = (whole(&output, "hints", "real_queue_bytes"), real(&output, "hints", "time_s"));
    let long: Vec<f64> = (0..time.len()).filter(|i| queue[*i] >= 6000).map(|i| time[i]).collect();
    let long: Vec<f64> = long.into_iter().filter(|t| !interrupted.contains(t)).collect();
    assert!(long.is_empty(), "{long:?}");
}

#[test]
fn mistakes_in_hints_are_reported_with_their_remedy() {
    let refused = |text: String| match Scenario::parse(&text, "test.toml", Path::new(""), &[]) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    };
    for (wrong, expected) in [
        ("period = '0 s'\n", "1 ms to 10 s"),
        ("flows = ['donw']\n", "did you mean `down`?"),
        ("error = 9.0\n", "0 to 3"),
        ("carier = 'option'\n", "carrier"),
    ] {
        let printed = refused(cell(&format!("{AWARE}[hint.h]\n{wrong}")));
        assert!(printed.contains(expected), "expected `{expected}` in:\n{printed}");
    }
    let printed = refused(cell("tcp = { cc = 'radio-aware', hint_base = 'radio-aware' }\n"));
    assert!(printed.contains("needs no hints"), "{printed}");
}
