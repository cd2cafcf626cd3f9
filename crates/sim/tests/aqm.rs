//! Active queue management in scenarios: what a queue does to a flow that fills it.

use crate::common::{assert_balanced, real, run_text, whole};
use lasthop_sim::RunOutput;

const RATE_BPS: f64 = 20e6;

/// Runs one long CUBIC flow with Linux' parameters over 20 Mbit/s and a base round trip of 10 ms,
/// with `queue` in front of the data.
///
/// CUBIC keeps 0.7 of its window. A queue of `target` persists through a cut if 0.7 times base and
/// target together are at least base, so for a base up to 7/3 of the target: 11.7 ms for CoDel's 5
/// ms. On longer paths the queue empties after each cut and the mean is lower.
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

/// Returns the time that the last byte in the data's queue would wait, over the second half of the
/// run, sorted [ms].
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

/// Without AQM the flow fills the whole buffer: 1000 packets of 1500 B are 600 ms.
#[test]
fn a_long_drop_tail_queue_stands_full() {
    let output = one_flow("{ kind = 'droptail', packets = 1000 }");
    assert!(mean(&waiting_ms(&output)) > 500.0, "{}", mean(&waiting_ms(&output)));
}

/// RFC 8289: the standing queue of a constant link with one CUBIC flow settles near the target of 5
/// ms, and the link stays busy.
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

/// Floyd and Jacobson 1993, section 1: RED holds the average queue between its thresholds, 5 and 15
/// packets. This refers to several flows: the average moves too slowly (w = 0.002, 500 packets) to
/// follow one flow's steps.
#[test]
fn red_holds_the_queue_between_its_thresholds() {
    let output = flows(5, "{ kind = 'red', max_p = '10 %' }");
    assert_balanced(&output);
    let packets = mean(&waiting_ms(&output)) * RATE_BPS / 8e3 / 1500.0;
    assert!((5.0..=15.0).contains(&packets), "{packets}");
}

/// Runs two flows of `a` and `b` (their `tcp` tables) over 40 Mbit/s and 40 ms through `queue` and
/// returns their goodputs [bit/s].
fn two_flows(a: &str, b: &str, queue: &str) -> (Vec<f64>, RunOutput) {
    two_flows_over(40, 40, a, b, &format!("'{queue}'"))
}

/// As `two_flows`, over `rate` Mbit/s and a round trip of `rtt` ms.
fn two_flows_over(rate: u32, rtt: u32, a: &str, b: &str, queue: &str) -> (Vec<f64>, RunOutput) {
    let delay = f64::from(rtt) / 2.0;
    let output = run_text(&format!(
        "[scenario]\nname = 'coexist'\nduration = '60 s'\nseed = 5\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '{rate} Mbit/s'\ndelay = '{delay} ms'\nqueue = {queue}\n\
         [flow.first]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\ntcp = {a}\n\
         [flow.second]\nfrom = 'a'\nto = 'b'\nstart = '1 s'\napp = 'bulk'\ntcp = {b}\n"
    ));
    assert_balanced(&output);
    (real(&output, "flows", "goodput_bps"), output)
}

const CUBIC: &str = "{ profile = 'linux-6', cc = 'cubic' }";
const CUBIC_ECN: &str = "{ profile = 'linux-6', cc = 'cubic', ecn = 'on' }";
const SCALABLE: &str = "{ profile = 'linux-6', cc = 'dctcp', ecn = 'accurate', l4s = true }";

/// A flow whose segments leave one by one, so that marks are evenly spaced. Packets of two segments
/// are 2 ms of queue at 12 Mbit/s, above the L4S threshold: such a flow gets 0.40 of the share that
/// the coupling predicts at 12 Mbit/s and 10 ms.
const EVEN: &str = "{ profile = 'linux-6', cc = 'dctcp', ecn = 'accurate', l4s = true, gso = false }";

/// RFC 9332 section 2.1: the square of the coupling counterbalances the square root of Classic
/// congestion control, so a scalable flow and a Classic one get about the same rate; and the L4S
/// packets hardly wait while the Classic ones do. In figures: DCTCP holds 2 / p_CL = 1 / p'
/// segments, CUBIC in its Reno-friendly region 1.22 / sqrt(p_C) = 1.22 / p'. CUBIC's queue
/// empties after each cut, because 40 ms are more than 7/3 of the target of 15 ms, and waits 9 ms
/// on average: over 41 and 49 ms the ratio of rates is (1 / 41) / (1.22 / 49) = 0.98.
#[test]
fn dualpi2_gives_scalable_and_classic_flows_like_rates() {
    for (classic, marks) in [(CUBIC, false), (CUBIC_ECN, true)] {
        let (goodput, output) = two_flows(SCALABLE, classic, "dualpi2");
        let ratio = goodput[0] / goodput[1];
        assert!((0.75..=1.3).contains(&ratio), "{classic}: {goodput:?}");
        assert!(goodput.iter().sum::<f64>() > 0.9 * 40e6, "{goodput:?}");
        let delay = real(&output, "flows", "delay_mean_s");
        // 20 ms of propagation, 0.3 ms of serialisation.
        assert!(delay[0] < 0.0215 && (0.026..=0.036).contains(&delay[1]), "{delay:?}");
        let (marked, dropped) =
            (whole(&output, "flows", "rx_marked"), whole(&output, "flows", "lost_dropped"));
        assert!(marked[0] > 1000 && dropped[0] == 0, "{marked:?} {dropped:?}");
        assert_eq!((marked[1] > 0, dropped[1] > 0), (marks, !marks), "{marked:?} {dropped:?}");
    }
}

/// Returns the ratio of rates, DCTCP's to CUBIC's, divided by the ratio that RFC 9332's coupling
/// predicts for the delays of the two flows.
///
/// DCTCP with evenly spaced marks holds 2 / p_L segments, CUBIC in its Reno-friendly region sqrt(3
/// / 2) / sqrt(p_C) (Linux' growth of 8/15 and cut of 0.7: sqrt(8 / 15 * 1.7 / 0.6) = 1.23). With
/// p_L = 2 sqrt(p_C) the windows are as 1 / 1.22, the rates as 0.82 R_C / R_L.
fn against_the_coupling(rate: u32, rtt: u32, scalable: &str, queue: &str) -> f64 {
    let (goodput, output) = two_flows_over(rate, rtt, scalable, CUBIC_ECN, queue);
    let one_way = real(&output, "flows", "delay_mean_s");
    let round_trip = |flow: usize| one_way[flow] + f64::from(rtt) / 2e3;
    goodput[0] / goodput[1] / (0.82 * round_trip(1) / round_trip(0))
}

/// RFC 9332 section 2.1 claims about the same rate on any path, without a figure. The limit of a
/// factor of two is not derived: it only distinguishes the coupling from none: without it a
/// scalable flow has W = 2 / p where CUBIC has 1.22 / sqrt(p), 16 times as much at p = 1 %. At 12
/// Mbit/s a packet takes as long as the L4S threshold of 1 ms, at 4 Mbit/s three times that. The
/// classic window stays below some 250 segments, where CUBIC is Reno-friendly.
#[test]
fn dualpi2s_coupling_holds_on_slow_and_on_short_paths() {
    for (rate, rtt) in [(4, 20), (4, 50), (12, 10), (12, 50), (12, 100), (40, 20), (40, 50)] {
        let ratio = against_the_coupling(rate, rtt, EVEN, "'dualpi2'");
        assert!((0.5..=2.0).contains(&ratio), "{rate} Mbit/s, {rtt} ms: {ratio}");
    }
}

/// Prints the table of docs/concepts/ecn.md, for renewing it.
#[test]
#[ignore = "measures for a page"]
fn print_the_table_of_the_page() {
    let unpaced = SCALABLE.replace("l4s = true", "l4s = true, pacing = false");
    let (usual, above, none) = (
        "'dualpi2'",
        "{ kind = 'dualpi2', l4s_threshold = '3 ms' }",
        "{ kind = 'dualpi2', l4s_threshold = '1 s' }",
    );
    let rows = [(4, 20), (4, 50), (12, 10), (12, 50), (12, 100), (20, 20), (20, 50)];
    for (rate, rtt) in rows.into_iter().chain([(25, 20), (25, 50), (30, 50), (35, 50), (40, 20), (40, 50)]) {
        let columns = [
            (SCALABLE, usual),
            (EVEN, usual),
            (SCALABLE, above),
            (SCALABLE, none),
            (unpaced.as_str(), usual),
            (unpaced.as_str(), none),
        ];
        let cells = columns.map(|(tcp, queue)| format!("{:.2}", against_the_coupling(rate, rtt, tcp, queue)));
        println!("| {rate} Mbit/s, {rtt} ms | {} |", cells.join(" | "));
    }
}

/// The reason why an L4S sender limits its bursts (RFC 9331 section 4.3): without pacing, DCTCP's
/// ACK-clocked bursts of some segments wait behind their own segments for longer than the threshold
/// of 1 ms, where a segment takes 1 ms. The threshold then marks more of them than the coupling
/// requires. Without the threshold the same bursts have no effect.
#[test]
fn bursts_cost_an_unpaced_scalable_flow_its_share_of_a_slow_link() {
    let unpaced = SCALABLE.replace("l4s = true", "l4s = true, pacing = false");
    let with_step = against_the_coupling(12, 50, &unpaced, "'dualpi2'");
    assert!(with_step < 0.35, "{with_step}");
    let without = against_the_coupling(12, 50, &unpaced, "{ kind = 'dualpi2', l4s_threshold = '1 s' }");
    assert!((0.7..=1.6).contains(&without), "{without}");
}

/// `linux-6`'s packets of two segments have the same effect although they are paced: at 12 Mbit/s
/// the second segment waits 1 ms behind the first, and for the rest of a Classic packet in service,
/// beyond the threshold of 1 ms. With a threshold of 3 ms, above this sum, the rates are those of
/// the coupling. The factor of 1.5 between both is our own limit.
#[test]
fn packets_of_two_segments_meet_the_threshold_on_a_slow_link() {
    for rtt in [10, 50] {
        let ratio = |queue: &str| against_the_coupling(12, rtt, SCALABLE, queue);
        let (with_step, above) = (ratio("'dualpi2'"), ratio("{ kind = 'dualpi2', l4s_threshold = '3 ms' }"));
        assert!((0.5..=2.0).contains(&above), "{rtt} ms: {above}");
        assert!(1.5 * with_step < above, "{rtt} ms: {with_step} of {above}");
    }
}

/// The claim of RFC 9332 section 2.1 for `linux-6` as it is, packets of two segments included. From
/// 24 Mbit/s on two segments take less than 1 ms, the threshold. The second one waits longer if a
/// Classic packet leaves between the two, so the ratio of rates depends on the scheduler: that of
/// Linux (sch_dualpi2.c, `dequeue_packet`) serves Classic after nine L4S packets. A scheduler that
/// does so within each pair gives 0.39 to 0.46 of the predicted ratio at 20 to 30 Mbit/s.
#[test]
fn dualpi2s_coupling_holds_for_packets_of_two_segments() {
    for (rate, rtt) in [(20, 20), (20, 50), (25, 20), (25, 50), (30, 50), (35, 50), (40, 20), (40, 50)] {
        let ratio = against_the_coupling(rate, rtt, SCALABLE, "'dualpi2'");
        assert!((0.5..=2.0).contains(&ratio), "{rate} Mbit/s, {rtt} ms: {ratio}");
    }
}

/// The rest of the deficit comes from Classic's turns within pairs: with a turn after 99 packets
/// instead of nine the ratio is the predicted one within a tenth (our own limit).
#[test]
fn classics_turns_cost_packets_of_two_segments_their_rate() {
    for (rate, rtt) in [(20, 50), (25, 50), (30, 50)] {
        let ratio = |share: &str| {
            let queue = format!("{{ kind = 'dualpi2', classic_share = '{share}' }}");
            against_the_coupling(rate, rtt, SCALABLE, &queue)
        };
        let (seldom, often) = (ratio("1 %"), ratio("10 %"));
        assert!((0.9..=1.1).contains(&seldom), "{rate} Mbit/s: {seldom}");
        assert!(often < 0.9 * seldom, "{rate} Mbit/s: {often} of {seldom}");
    }
}

/// RFC 3168: CoDel marks the packets of a flow that uses ECN instead of dropping them, and the flow
/// retransmits nothing.
#[test]
fn ecn_spares_the_flow_its_losses() {
    let (goodput, output) = two_flows(CUBIC_ECN, CUBIC, "fq-codel");
    let (marked, dropped) = (whole(&output, "flows", "rx_marked"), whole(&output, "flows", "lost_dropped"));
    assert!(marked[0] > 10 && marked[1] == 0 && dropped[0] == 0 && dropped[1] > 10, "{marked:?} {dropped:?}");
    assert_eq!(whole(&output, "flows", "retransmits")[0], 0);
    assert!((0.9..=1.1).contains(&(goodput[0] / goodput[1])), "fair queueing: {goodput:?}");
    let marks = *whole(&output, "queues", "marked").iter().max().unwrap();
    assert!(marks >= marked[0] && marks <= marked[0] + 5, "those at the end are on their way: {marks}");
}

/// Runs a CUBIC flow that uses ECN over LTE's RLC AM at 10 Mbit/s, with `buffer` as the keys of the
/// transmission buffer.
fn over_rlc(buffer: &str, ecn: &str) -> RunOutput {
    let output = run_text(&format!(
        "[scenario]\nname = 'rlc'\nduration = '60 s'\nseed = 2\n\
         [bearer.x]\nkind = 'lte-rlc'\nbetween = ['a', 'b']\n\
         downlink = {{ grant = '1250 B', loss = '0 %' }}\nuplink = {{ loss = '0 %' }}\n[bearer.x.rlc.buffer]\n{buffer}\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\n\
         tcp = {{ profile = 'linux-6', cc = 'cubic', ecn = '{ecn}' }}\n"
    ));
    assert_balanced(&output);
    output
}

/// Returns the time that the last byte in the RLC buffer would wait, as mean of the second half
/// [ms].
fn rlc_wait_ms(output: &RunOutput) -> f64 {
    let (t, bytes) = (real(output, "rlc", "time_s"), whole(output, "rlc", "queue_bytes"));
    let samples = t.iter().zip(&bytes).step_by(2).filter(|(t, _)| **t > 30.0);
    mean(&samples.map(|(_, b)| *b as f64 * 8e3 / 10e6).collect::<Vec<_>>())
}

/// The RLC buffer of 2 MB holds hundreds of milliseconds of data; an AQM on it holds its target, by
/// marks if the flow supports ECN: the SDU is marked, the mark reaches the packet inside and the
/// sender, and nothing is lost.
#[test]
fn an_aqm_in_the_rlc_buffer_marks_the_packets_inside() {
    let full = over_rlc("", "on");
    assert!(rlc_wait_ms(&full) > 200.0, "{}", rlc_wait_ms(&full));
    assert_eq!(whole(&full, "flows", "rx_marked"), [0]);
    for (aqm, low, high) in [("codel", 2.0, 10.0), ("pie", 8.0, 22.0)] {
        let marked = over_rlc(&format!("aqm = '{aqm}'"), "on");
        let wait = rlc_wait_ms(&marked);
        assert!((low..=high).contains(&wait), "{aqm}: {wait}");
        let arrived = whole(&marked, "flows", "rx_marked")[0];
        let made = *whole(&marked, "rlc", "marked").iter().max().unwrap();
        assert!(
            arrived > 10 && (arrived..=arrived + 5).contains(&made),
            "{aqm}: {made} made, {arrived} arrived"
        );
        assert_eq!(whole(&marked, "flows", "lost_dropped"), [0], "{aqm}");
        let dropped = over_rlc(&format!("aqm = '{aqm}'"), "off");
        assert!(whole(&dropped, "flows", "lost_dropped")[0] > 10, "{aqm}");
        assert_eq!(whole(&dropped, "flows", "rx_marked"), [0], "{aqm}");
        assert!(real(&dropped, "flows", "goodput_bps")[0] > 5e6, "{aqm}");
    }
}

/// Runs DCTCP flows over 100 Mbit/s and 10 ms through `queue`, with the assumptions of their paper:
/// an ACK for each packet, and a cut that takes effect at once. Returns the queue [packets] every
/// 500 us and the share of marked packets, both over the last half, and the output.
fn dctcp(flows: u32, queue: &str) -> (Vec<f64>, f64, RunOutput) {
    dctcp_as("profile = 'rfc', cc = 'dctcp', ack_every = 1, receive_buffer = '4 MB'", flows, queue)
}

/// As `dctcp`, with other keys of the flows' `tcp`.
fn dctcp_as(tcp: &str, flows: u32, queue: &str) -> (Vec<f64>, f64, RunOutput) {
    let output = run_text(&format!(
        "[scenario]\nname = 'dctcp'\nduration = '20 s'\nseed = 3\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '100 Mbit/s'\ndelay = '5 ms'\nqueue = {queue}\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\ncount = {flows}\n\
         tcp = {{ {tcp} }}\n\
         [output]\ninterval = '500 us'\ntcp = 'off'\n"
    ));
    assert_balanced(&output);
    let t = real(&output, "queues", "time_s");
    let late = |column: &str| {
        let values = whole(&output, "queues", column);
        t.iter().zip(values).step_by(2).filter(|(t, _)| **t > 10.0).map(|(_, v)| v as f64).collect::<Vec<_>>()
    };
    let marked = late("marked");
    let share = (marked[marked.len() - 1] - marked[0]) / (100e6 * 10.0 / 12e3);
    (late("packets"), share, output)
}

/// Alizadeh and others, "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3, for N flows in step,
/// C RTT the packets that the path holds, K the threshold, W* = (C RTT + K) / N:
/// Q_max = K + N, Q_min = Q_max - 1/2 sqrt(2 N (C RTT + K)), share of marked packets alpha = sqrt(2
/// / W*).
///
/// C RTT = 100 Mbit/s * 10 ms / (1500 * 8 bit) = 83.3 packets and K = 40 give
/// N = 1: 33.1 to 41, 0.127; N = 2: 30.9 to 42, 0.180; N = 4: 28.3 to 44, 0.255; N = 10: 25.2 to
/// 50, 0.403. The queue is sampled in whole packets; ten flows are not quite in step.
#[test]
fn dctcp_over_a_step_queue_oscillates_as_its_closed_form_says() {
    for flows in [1u32, 2, 4, 10] {
        let n = f64::from(flows);
        let (high, low) = (40.0 + n, 40.0 + n - 0.5 * (2.0 * n * 123.33f64).sqrt());
        let (mut queue, share, output) = dctcp(flows, "{ kind = 'step', threshold_packets = 40 }");
        queue.sort_by(f64::total_cmp);
        let at = |share: f64| queue[(share * (queue.len() - 1) as f64) as usize];
        assert!((at(0.99) - high).abs() <= 1.0, "{flows}: Q_max {} of {high}", at(0.99));
        assert!((at(0.01) - low).abs() <= 1.0, "{flows}: Q_min {} of {low}", at(0.01));
        assert!((mean(&queue) - (high + low) / 2.0).abs() <= 1.0, "{flows}: {}", mean(&queue));
        let alpha = (2.0 * n / 123.33f64).sqrt();
        assert!((share / alpha - 1.0).abs() < 0.1, "{flows}: {share} of {alpha}");
        let goodput: f64 = real(&output, "flows", "goodput_bps").iter().sum();
        assert!(goodput > 0.94 * 100e6, "{goodput}");
        assert_eq!(whole(&output, "flows", "lost_dropped").iter().sum::<u64>(), 0);
    }
}

/// Computes the share of marks of one DCTCP flow round by round. The window grows by a segment a
/// round; a round whose window exceeds W* = C RTT + K = 123.33 is marked as a whole. The first ACK
/// of those marks subtracts alpha / 2, in whole segments, of the window less `less`, before alpha
/// includes the share of the round (g = 1/16).
///
/// So alpha is the smallest of its cycle at the cut. The closed form uses the mean there, and gives
/// 0.127.
fn share_of_marks_by_rounds(less: f64) -> f64 {
    let (mut window, mut alpha, mut marked, mut all) = (100.0f64, 1.0f64, 0.0, 0.0);
    for round in 0..20_000 {
        let above = window > 123.33;
        if round >= 1000 {
            all += window;
            marked += if above { window } else { 0.0 };
        }
        window += if above { -less - ((window - less) * alpha / 2.0).floor() } else { 1.0 };
        alpha += (f64::from(above) - alpha) / 16.0;
    }
    marked / all
}

/// The reasons why `linux-6` has fewer marks than the model, whose share for one flow is 0.127, in
/// this order: packets of two segments (0.034 with them, 0.093 without), ACKs of two packets (0.109
/// with one each), PRR, which reduces the window over a round trip (0.147 if the cut takes effect
/// at once).
///
/// The rest of the difference to the 0.129 of `rfc` comes from the window that is cut: cwnd (Linux'
/// dctcp_ssthresh, RFC 8257) or FlightSize (RFC 5681), which lacks the segment that the ACK of the
/// mark has delivered. The computation by rounds gives 0.141 and 0.129.
#[test]
fn dctcp_of_linux_meets_fewer_marks_for_three_reasons() {
    let share = |keys: &str| {
        let tcp = format!("profile = 'linux-6', cc = 'dctcp'{keys}");
        dctcp_as(&tcp, 1, "{ kind = 'step', threshold_packets = 40 }").1
    };
    let single = ", gso = false";
    let each = ", gso = false, ack_rule = 'octets', ack_every = 1";
    let at_once = ", gso = false, ack_rule = 'octets', ack_every = 1, recovery = 'sack'";
    let of_flight = ", gso = false, ack_rule = 'octets', ack_every = 1, recovery = 'sack', \
                     ssthresh_basis = 'flight'";
    let shares = ["", single, each, at_once].map(share);
    assert!(shares.windows(2).all(|two| two[1] > 1.1 * two[0]), "{shares:?}");
    assert!(shares[0] < 0.4 * 0.127 && (0.9..1.2).contains(&(shares[3] / 0.127)), "{shares:?}");
    for (measured, by_rounds) in
        [(shares[3], share_of_marks_by_rounds(0.0)), (share(of_flight), share_of_marks_by_rounds(1.0))]
    {
        assert!((measured / by_rounds - 1.0).abs() < 0.05, "{measured} of {by_rounds}");
    }
}

/// RED with both thresholds at K and weight 1 is the step (Alizadeh and others 2010, section 3.1):
/// the same run to the byte.
#[test]
fn red_with_equal_thresholds_is_the_step_queue() {
    let red = "{ kind = 'red', min_packets = 40, max_packets = 40, queue_weight = 1 }";
    let (.., step) = dctcp(2, "{ kind = 'step', threshold_packets = 40 }");
    assert_eq!(dctcp(2, red).2.digest(), step.digest());
}

/// A threshold of time marks packets that have waited longer, when they leave: 40 packets of 0.12
/// ms are 4.8 ms. The mark is later by that time, in which the window grows by a third of a segment
/// more (4.8 of 15 ms), so the queue is that of K = 40, within a packet.
#[test]
fn a_step_of_time_holds_the_queue_at_that_time() {
    let (queue, share, _) = dctcp(1, "{ kind = 'step', threshold_time = '4.8 ms' }");
    assert!((mean(&queue) - 37.1).abs() <= 1.5, "{}", mean(&queue));
    assert!((share / 0.127 - 1.0).abs() < 0.15, "{share}");
}

/// Returns the ratio of the goodput of a flow over 20 ms to that of a flow over 40 ms, on 10 Mbit/s
/// with a drop-tail queue of 30 packets, and the ratio of their mean round trips.
fn two_round_trips(cc: &str, jitter: &str, seed: u32) -> [f64; 2] {
    let output = run_text(&format!(
        "[scenario]\nname = 'phase'\nduration = '120 s'\nseed = {seed}\n{jitter}\
         [link.bottle]\nbetween = ['r', 's']\nrate = '10 Mbit/s'\ndelay = '5 ms'\n\
         queue = {{ kind = 'droptail', packets = 30 }}\n\
         [link.a]\nbetween = ['a', 'r']\nrate = '1 Gbit/s'\ndelay = '5 ms'\n\
         [link.b]\nbetween = ['b', 'r']\nrate = '1 Gbit/s'\ndelay = '15 ms'\n\
         [flow.near]\nfrom = 'a'\nto = 's'\ntcp = {{ profile = 'linux-6', cc = '{cc}' }}\n\
         [flow.remote]\nfrom = 'b'\nto = 's'\nstart = '1 s'\ntcp = {{ profile = 'linux-6', cc = '{cc}' }}\n\
         [output]\ntcp = 'off'\nqueues = false\n"
    ));
    let (goodput, rtt) = (real(&output, "flows", "goodput_bps"), real(&output, "flows", "rtt_mean_s"));
    [goodput[0] / goodput[1], rtt[1] / rtt[0]]
}

/// Floyd and Jacobson, "On traffic phase effects in packet-switched gateways" (1992): without noise
/// a drop-tail queue may give the flow with the longer round trip more; with processing times up to
/// that of a packet on the bottleneck it does not. Theory: losses at equal rates give throughputs
/// as 1 / RTT (Mathis and others 1997), simultaneous losses of both as 1 / RTT^2 (Lakshman and
/// Madhow 1997).
#[test]
fn jitter_breaks_the_phase_of_drop_tail() {
    let [still, _] = two_round_trips("cubic", "", 1);
    assert!(still < 1.0, "the longer round trip gets more: {still}");
    for cc in ["cubic", "reno"] {
        let runs: Vec<[f64; 2]> =
            (1..=8).map(|seed| two_round_trips(cc, "jitter = '1.2 ms'\n", seed)).collect();
        assert!(runs.iter().all(|[ratio, _]| *ratio > 1.0), "{cc}: {runs:?}");
        let ratio = mean(&runs.iter().map(|r| r[0]).collect::<Vec<_>>());
        let rtts = mean(&runs.iter().map(|r| r[1]).collect::<Vec<_>>());
        // CUBIC is in its Reno-friendly region here; elsewhere the round trip has less effect.
        let least = if cc == "cubic" { 1.2 } else { rtts };
        assert!(ratio > least && ratio < rtts * rtts, "{cc}: {ratio}, round trips {rtts}");
    }
}

fn warnings(text: &str) -> String {
    let head = "[scenario]\nname = 'warned'\nduration = '10 s'\n";
    crate::common::scenario(&format!("{head}{text}"))
        .warnings()
        .iter()
        .map(|w| format!("{}\n", w.message))
        .collect()
}

#[test]
fn a_control_that_uses_marks_is_reported_where_there_are_none() {
    let link = |queue: &str| {
        format!("[link.x]\nbetween = ['a', 'b']\nrate = '100 Mbit/s'\ndelay = '5 ms'\nqueue = {queue}\n")
    };
    let flow = |tcp: &str| format!("[flow.f]\nfrom = 'a'\nto = 'b'\ntcp = {{ {tcp} }}\n");
    let with = |queue: &str, tcp: &str| warnings(&format!("{}{}", link(queue), flow(tcp)));
    for cc in ["dctcp", "prague"] {
        let tcp = format!("profile = 'linux-6', cc = '{cc}'");
        let said = with("'droptail'", &tcp);
        assert!(
            said.contains(&format!("`{cc}` responds to ECN marks, and no queue between `a` and `b` marks")),
            "{said}"
        );
        for queue in ["'step'", "'dualpi2'", "'codel'", "{ kind = 'red', harddrop = true }"] {
            assert_eq!(with(queue, &tcp), "", "{cc} over {queue}");
        }
        let said = with("{ kind = 'codel', ecn = false }", &tcp);
        assert!(said.contains("no queue between"), "{said}");
        if cc == "dctcp" {
            let said = with("'step'", &format!("{tcp}, ecn = 'off'"));
            assert!(said.contains("does not negotiate ECN"), "{said}");
        }
    }
    assert_eq!(with("'droptail'", "profile = 'linux-6'"), "");
    // On its path, not anywhere: the marking queue is on another link.
    let beside = "[link.y]\nbetween = ['b', 'c']\nrate = '1 Mbit/s'\nqueue = 'step'\n";
    let tcp = flow("profile = 'linux-6', cc = 'dctcp'");
    assert!(warnings(&format!("{}{beside}{tcp}", link("'droptail'"))).contains("no queue between"));
}

#[test]
fn a_number_of_segments_per_ack_that_the_rule_ignores_is_reported() {
    let text = |tcp: &str| {
        format!(
            "[link.x]\nbetween = ['a', 'b']\n[flow.f]\nfrom = 'a'\nto = 'b'\ntcp = {{ {tcp}, ack_every = 4 }}\n"
        )
    };
    let said = warnings(&text("profile = 'linux-6'"));
    assert_eq!(
        said,
        "this key has no effect here: the ACK rule `linux` decides by itself how many segments an ACK covers\n"
    );
    assert_eq!(warnings(&text("profile = 'linux-6', ack_rule = 'octets'")), "");
    assert_eq!(warnings(&text("profile = 'rfc'")), "");
}

/// Floyd and Jacobson 1992: several regular flows, a full FIFO, and nothing random.
#[test]
fn phase_effects_are_reported_where_nothing_is_random() {
    let text = |general: &str, link: &str, flows: &str| {
        warnings(&format!(
            "{general}[link.access]\nbetween = ['a', 'r']\nrate = '1 Gbit/s'\n\
             [link.x]\nbetween = ['r', 'b']\nrate = '10 Mbit/s'\ndelay = '5 ms'\n{link}\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\ncount = 2\n{flows}"
        ))
    };
    let said = text("", "", "");
    assert!(said.starts_with("2 TCP flows fill this queue and nothing on their ways is random"), "{said}");
    assert_eq!(said.lines().count(), 1, "the link that limits, not the access link: {said}");
    assert_eq!(text("jitter = '1 ms'\n", "", ""), "");
    assert!(text("", "queue = 'headdrop'", "").starts_with("2 TCP flows fill this queue"));
    for link in ["queue = 'codel'", "queue = 'infinite'", "jitter = '1 ms'", "loss = '0.1 %'"] {
        assert_eq!(text("", link, ""), "", "{link}");
    }
    let noise = "[flow.noise]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\napp = { kind = 'on-off' }\n";
    assert_eq!(text("", "", noise), "");
}
