//! Links, fragments, changes, bearers: all packets sent are received, except those that the
//! scenario drops.

use crate::common::{assert_balanced, folder, real, run_text, scenario, scenario_in, whole};
use lasthop_sim::{Simulation, run};
use lasthop_units::Instant;

const EMPTY: &[String] = &[];

#[test]
fn fragments_arrive_together_or_not_at_all() {
    let text = |loss: &str| {
        format!(
            "[scenario]\nname = 'fragments'\nduration = '60 s'\n\
             [link.first]\nbetween = ['a', 'b']\nrate = '10 Mbit/s'\ndelay = '5 ms'\n\
             [link.second]\nbetween = ['b', 'c']\nrate = '10 Mbit/s'\ndelay = '5 ms'\nmtu = '576 B'\nloss = '{loss}'\n\
             [flow.big]\nfrom = 'a'\nto = 'c'\ntransport = 'udp'\nstop = '20 s'\n\
             app = {{ kind = 'cbr', rate = '240 kbit/s', size = '3000 B' }}\n"
        )
    };
    let clean = run_text(&text("0 %"));
    assert_balanced(&clean);
    // 240 kbit/s of 3000 B: 10 a second for 20 s. 3008 B of IP payload: 1480 + 1480 + 48 at 1500 B;
    // at 576 B a fragment takes 552 B: 3 + 3 + 1 = 7 in all.
    assert_eq!(whole(&clean, "flows", "rx_packets"), [200]);
    assert_eq!(whole(&clean, "flows", "app_bytes"), [200 * 3000]);
    assert_eq!(clean.summary()["packets"]["made"]["packets"].as_u64(), Some(200 * (3 + 6 + 1)));

    let lossy = run_text(&text("5 %"));
    assert_balanced(&lossy);
    let (got, bytes) = (whole(&lossy, "flows", "rx_packets")[0], whole(&lossy, "flows", "app_bytes")[0]);
    // 0.95^7 = 70 % arrive whole; 4 standard deviations of 200 draws are 13 %.
    assert!((113..=166).contains(&got), "{got}");
    assert_eq!(bytes, got * 3000, "never a part of a datagram");
    let inside = lossy.summary()["packets"]["inside"]["packets"].as_u64();
    assert_eq!(inside, Some(0), "reassembly gave up on the rest");
}

#[test]
fn a_tcp_stream_survives_everything_a_link_does() {
    let output = run_text(
        "[scenario]\nname = 'rough'\nduration = '120 s'\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '5 Mbit/s'\ndelay = '10 ms'\njitter = '15 ms'\nreordering = true\n\
         loss = '1 %'\ncorruption = '1 %'\nduplication = '5 %'\nmtu = '800 B'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\napp = { kind = 'file', size = '2 MB' }\n",
    );
    assert_balanced(&output);
    assert_eq!(whole(&output, "flows", "app_bytes"), [2_000_000]);
    assert!(real(&output, "flows", "completion_s")[0] > 0.0);
}

#[test]
fn duplicates_are_counted_once_made_and_delivered_twice() {
    let output = run_text(
        "[scenario]\nname = 'twice'\nduration = '12 s'\n\
         [link.x]\nbetween = ['a', 'b']\ndelay = '10 ms'\nduplication = '100 %'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\nstop = '10 s'\n\
         app = { kind = 'cbr', rate = '80 kbit/s', size = '1000 B' }\n",
    );
    assert_balanced(&output);
    let sent = whole(&output, "flows", "tx_packets")[0];
    assert_eq!(whole(&output, "flows", "rx_packets")[0], 2 * sent);
    assert_eq!(whole(&output, "flows", "app_bytes"), [1000 * sent], "to the application once");
    assert_eq!(whole(&output, "flows", "lost_undelivered"), [0]);
    assert_eq!(output.summary()["packets"]["made"]["packets"].as_u64(), Some(sent));
}

#[test]
fn a_change_is_in_force_from_its_moment_on() {
    let text = "[scenario]\nname = 'changes'\nduration = '20 s'\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '1 Mbit/s'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\napp = { kind = 'cbr', rate = '400 kbit/s', size = '472 B' }\n\
         [output]\npackets = true\n";
    let at = "[[at]]\nt = '10 s'\nset = { 'link.x.delay' = '50 ms' }\n[[at]]\nt = '15 s'\nstop = 'flow.f'\n";
    let planned = run_text(&format!("{text}{at}"));
    // 500 B at 1 Mbit/s take 4 ms.
    assert!((real(&planned, "flows", "delay_min_s")[0] - 0.004).abs() < 1e-9);
    assert!((real(&planned, "flows", "delay_max_s")[0] - 0.054).abs() < 1e-9);

    // The same by a call.
    let mut simulation = Simulation::new(&scenario(text), None).unwrap();
    simulation.step_until(Instant(9_999_999_999)).unwrap();
    simulation.step_until(Instant::from_secs(10)).unwrap();
    simulation.set("link.x.delay", lasthop_sim::Scalar::Text("50 ms".to_owned())).unwrap();
    simulation.step_until(Instant::from_secs(15)).unwrap();
    simulation.stop("flow.f").unwrap();
    let by_hand = simulation.finish().unwrap();
    let sent = |o: &lasthop_sim::RunOutput| whole(o, "flows", "tx_packets")[0];
    assert!(sent(&planned).abs_diff(sent(&by_hand)) <= 1);
}

#[test]
fn a_link_that_follows_a_trace_has_no_rate_to_change() {
    let base = folder("trace-rate");
    std::fs::write(base.join("t"), "10\n").unwrap();
    let text = "[scenario]\nname = 't'\nduration = '1 s'\n[link.x]\nbetween = ['a', 'b']\ntrace = 't'\n\
                [[at]]\nt = '0.5 s'\nset = { 'link.x.rate' = '1 Mbit/s' }\n";
    let refused = lasthop_sim::Scenario::parse(text, "t.toml", &base, EMPTY).unwrap_err().to_string();
    assert!(refused.contains("trace") && refused.contains("t.toml:9"), "{refused}");
}

#[test]
fn datagrams_cross_a_bearer_in_every_mode() {
    for (mode, bler, low, high) in [
        ("am", "20 %", 1.0, 1.0),
        ("um", "0 %", 1.0, 1.0),
        ("um", "20 %", 0.3, 0.9),
        ("tm", "20 %", 0.7, 0.9),
    ] {
        let output = run_text(&format!(
            "[scenario]\nname = 'b'\nduration = '30 s'\n\
             [bearer.dch]\nkind = 'umts'\nbetween = ['rnc', 'ue']\npdcp = {{ header = 'none' }}\n\
             downlink = {{ bler = '{bler}', block_payload = '80 B' }}\nrlc = {{ mode = '{mode}' }}\n\
             [flow.f]\nfrom = 'rnc'\nto = 'ue'\ntransport = 'udp'\nstop = '20 s'\n\
             app = {{ kind = 'cbr', rate = '16 kbit/s', size = '40 B' }}\n"
        ));
        assert_balanced(&output);
        let share =
            whole(&output, "flows", "rx_packets")[0] as f64 / whole(&output, "flows", "tx_packets")[0] as f64;
        assert!((low..=high).contains(&share), "{mode} at {bler}: {share}");
    }
}

#[test]
fn requests_are_answered_over_a_bearer() {
    let output = run_text(
        "[scenario]\nname = 'web'\nduration = '60 s'\n\
         [bearer.dch]\nkind = 'umts'\nbetween = ['rnc', 'ue']\ndownlink = { bler = '10 %' }\nuplink = { bler = '10 %' }\n\
         [flow.f]\nfrom = 'ue'\nto = 'rnc'\n\
         app = { kind = 'request-response', response = '30 kB', think = '200 ms', count = 10 }\n",
    );
    assert_balanced(&output);
    assert_eq!(whole(&output, "flows", "requests"), [10]);
    assert_eq!(whole(&output, "flows", "app_bytes"), [300_000]);
}

#[test]
fn a_trace_gives_its_mean_rate() {
    let base = folder("trace-mean");
    // 5 opportunities of 1500 B in 20 ms, unevenly: 3 Mbit/s.
    std::fs::write(base.join("t"), "1\n1\n9\n10\n20\n").unwrap();
    let s = scenario_in(
        "[scenario]\nname = 't'\nduration = '60 s'\n\
         [link.x]\nbetween = ['a', 'b']\ndelay = '10 ms'\nforward = { trace = 't' }\nreverse = { rate = '10 Mbit/s' }\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\n",
        &base,
    );
    let output = run(&s, None, &mut |_| true).unwrap();
    assert_balanced(&output);
    let throughput = real(&output, "flows", "throughput_bps")[0];
    assert!((throughput / 3e6 - 1.0).abs() < 0.01, "{throughput}");
}

/// Memory does not grow with simulated time: a long run holds as many packets at its end as a short
/// one.
#[test]
fn nothing_piles_up_over_time() {
    let text = |seconds: u32| {
        format!(
            "[scenario]\nname = 'flat'\nduration = '{seconds} s'\n\
             [bearer.dch]\nkind = 'umts'\nbetween = ['rnc', 'ue']\ndownlink = {{ bler = '10 %' }}\n\
             [flow.f]\nfrom = 'rnc'\nto = 'ue'\napp = 'bulk'\n[output]\ntcp = 'off'\nradio = false\n"
        )
    };
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find(|l| l.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1024.0)
    };
    let go = |seconds| {
        let mut simulation = Simulation::new(&scenario(&text(seconds)), None).unwrap();
        simulation.step_until(simulation.end()).unwrap();
        let inside = simulation.world().account().inside().packets;
        let memory = resident();
        let rows = whole(&simulation.finish().unwrap(), "drops", "packet").len();
        (inside, memory, rows)
    };
    let (short, long) = (go(100), go(1000));
    assert!(short.0 < 200 && long.0 < 200, "{} and {} packets inside", short.0, long.0);
    if let (Some(before), Some(after)) = (short.1, long.1) {
        // Other tests of this process start and end; a leak of 100 B a segment alone would be 8 MiB
        // more.
        assert!(after - before < 50.0, "{before} MiB after 100 s, {after} MiB after 1000 s");
    }
}

/// A send buffer smaller than an answer: no data written by the application may be lost before it
/// is in the stream (swarm seed 3508), and a query for free space after the close is harmless (seed
/// 1162).
#[test]
fn a_slow_source_never_waits_for_its_send_buffer() {
    // Between two packets everything is acknowledged, so the buffer of 128 KiB is empty at each
    // write: at any time, all that was written 40 ms ago has arrived (the path takes 10 ms). At 0.5
    // Mbit/s the buffer's size has been written once in 2.1 s, and 43 packets of 3000 B do not
    // quite fill it.
    for tenths in (5..100).step_by(5) {
        let output = run_text(&format!(
            "[scenario]\nname = 'slow'\nduration = '{}.{} s'\n\
             [link.x]\nbetween = ['a', 'b']\nrate = '100 Mbit/s'\ndelay = '10 ms'\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\napp = {{ kind = 'cbr', rate = '500 kbit/s', size = '3000 B' }}\n\
             [flow.f.tcp]\nprofile = 'ns3-3.28'\nmss = '3012 B'\nack_every = 1\n",
            tenths / 10,
            tenths % 10
        ));
        let began = 0.020_1; // two one-way delays of the handshake
        let due = ((f64::from(tenths) / 10.0 - 0.040 - began) / 0.048).floor() as u64 + 1;
        assert!(whole(&output, "flows", "app_bytes")[0] >= due * 3000, "after {tenths} tenths of a second");
    }
}

#[test]
fn a_tiny_send_buffer_loses_nothing() {
    for buffer in ["1 B", "19 B", "700 B"] {
        let output = run_text(&format!(
            "[scenario]\nname = 'tiny'\nduration = '300 s'\n[link.x]\nbetween = ['a', 'b']\nrate = '1 Mbit/s'\ndelay = '1 ms'\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\n\
             app = {{ kind = 'request-response', request = '40 B', response = '100 B', think = '10 ms', count = 5 }}\n\
             tcp = {{ send_buffer = '{buffer}', ack_every = 1 }}\n"
        ));
        assert_balanced(&output);
        assert_eq!(whole(&output, "flows", "requests"), [5], "{buffer}");
    }
}

/// A stopped link restarts and gets a longer delay and loss at one instant; a flow starts and
/// another stops. The first packet that leaves then has the new delay, with either order of the
/// tables.
#[test]
fn the_order_of_changes_of_one_instant_does_not_matter() {
    let tables = [
        "[[at]]\nt = '2 s'\nset = { 'link.x.rate' = '5 Mbit/s' }\n",
        "[[at]]\nt = '2 s'\nset = { 'link.x.delay' = '40 ms', 'link.y.rate' = '3 Mbit/s' }\n",
        "[[at]]\nt = '2 s'\nset = { 'link.x.forward.loss' = '1 %' }\nstart = 'flow.late'\n",
        "[[at]]\nt = '2 s'\nset = { 'link.x.rate' = '5 Mbit/s' }\nstop = 'flow.early'\n",
        "[[at]]\nt = '1 s'\nset = { 'link.x.rate' = '0 bit/s' }\n",
    ];
    let run_in = |order: [usize; 5]| {
        let mut text = "[scenario]\nname = 'order'\nduration = '6 s'\n\
             [link.x]\nbetween = ['a', 'b']\nrate = '5 Mbit/s'\ndelay = '10 ms'\n\
             [link.y]\nbetween = ['b', 'c']\nrate = '4 Mbit/s'\n\
             [flow.early]\nfrom = 'a'\nto = 'c'\n[flow.late]\nfrom = 'c'\nto = 'a'\nautostart = false\n\
             [output]\npackets = true\n"
            .to_owned();
        order.iter().for_each(|i| text.push_str(tables[*i]));
        run_text(&text).digest()
    };
    let digest = run_in([0, 1, 2, 3, 4]);
    for order in [[1, 0, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1], [3, 1, 4, 2, 0]] {
        assert_eq!(run_in(order), digest, "{order:?}");
    }
}

/// Changes without an order must not contradict each other.
#[test]
fn changes_of_one_instant_that_contradict_each_other_are_refused() {
    let refused = |more: &str| {
        let text = format!(
            "[scenario]\nname = 'both'\nduration = '6 s'\n[link.x]\nbetween = ['a', 'b']\nrate = '5 Mbit/s'\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\n{more}"
        );
        let parsed = lasthop_sim::Scenario::parse(&text, "both.toml", std::path::Path::new(""), EMPTY);
        parsed.unwrap_err().to_string()
    };
    let rates = "[[at]]\nt = '2 s'\nset = { 'link.x.rate' = '1 Mbit/s' }\n\
                 [[at]]\nt = '2000 ms'\nset = { 'link.x.rate' = '2 Mbit/s' }\n";
    let message = refused(rates);
    assert!(message.contains("becomes both \"1 Mbit/s\" and \"2 Mbit/s\" at 2 s"), "{message}");
    assert!(message.contains("both.toml:15"), "{message}");
    let flow = "[[at]]\nt = '2 s'\nstop = 'flow.f'\n[[at]]\nt = '2 s'\nstart = 'flow.f'\n";
    assert!(refused(flow).contains("`flow.f` starts and stops at 2 s"), "{}", refused(flow));
}

/// Runs one flow beside `count` links in all, for 5 s with the default output. Returns the work
/// done (events and packets, in parcels of ten), the rows of the table `queues`, and the octets
/// delivered.
fn beside_idle_links(count: usize) -> [u64; 3] {
    let links: String = (0..count)
        .map(|i| format!("[link.l{i}]\nbetween = ['a{i}', 'b{i}']\nrate = '10 Mbit/s'\n"))
        .collect();
    let text =
        format!("[scenario]\nname = 'idle'\nduration = '5 s'\n{links}[flow.f]\nfrom = 'a0'\nto = 'b0'\n");
    let mut simulation = Simulation::new(&scenario(&text), None).unwrap();
    let mut parcels = 0;
    while !simulation.step(Instant::from_secs(5), 10).unwrap() {
        parcels += 1;
    }
    let output = simulation.finish().unwrap();
    [parcels, whole(&output, "queues", "bytes").len() as u64, whole(&output, "flows", "app_bytes")[0]]
}

/// A table of all pairs of nodes would take 43 GB with 30 000 links. Work: an idle link has no
/// events, so 29 000 more add none. Rows: both directions of each link every 100 ms, 50 times.
#[test]
fn thirty_thousand_idle_links_cost_what_they_are() {
    let [few, many] = [1000, 30_000].map(beside_idle_links);
    assert!(few[0] > 500 && few[2] > 5_000_000, "{few:?}");
    assert_eq!((many[0], many[2]), (few[0], few[2]));
    assert_eq!([few[1], many[1]], [1000 * 2 * 50, 30_000 * 2 * 50]);
}

/// Returns a column of booleans; missing ones are false.
fn truths(output: &lasthop_sim::RunOutput, table: &str, column: &str) -> Vec<bool> {
    use arrow::array::{Array, AsArray};
    let (batches, _) = output.table(table).unwrap();
    let all = batches.iter().flat_map(|b| {
        let column = b.column_by_name(column).unwrap().as_boolean().clone();
        (0..column.len()).map(|i| column.is_valid(i) && column.value(i)).collect::<Vec<_>>()
    });
    all.collect()
}

/// `drops` has the same retransmission flag for each packet as `packets` at its sending, and the
/// senders count as many retransmissions.
#[test]
fn drops_say_whether_a_packet_was_a_retransmission() {
    for profile in ["linux-6", "rfc", "ns2"] {
        let output = run_text(&format!(
            "[scenario]\nname = 'again'\nduration = '30 s'\n\
             [link.x]\nbetween = ['a', 'b']\nrate = '5 Mbit/s'\ndelay = '20 ms'\nloss = '3 %'\n\
             queue = {{ kind = 'droptail', packets = 20 }}\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\ntcp = {{ profile = '{profile}' }}\n[output]\npackets = true\n"
        ));
        let (numbers, again) =
            (whole(&output, "packets", "packet"), truths(&output, "packets", "retransmission"));
        let retransmitted = again.iter().filter(|again| **again).count() as u64;
        assert_eq!(whole(&output, "flows", "retransmits"), [retransmitted], "{profile}");
        let dropped = whole(&output, "drops", "packet");
        let recorded = truths(&output, "drops", "retransmission");
        for (packet, recorded) in dropped.iter().zip(&recorded) {
            let sent = numbers.iter().zip(&again).any(|(n, again)| n == packet && *again);
            assert_eq!(*recorded, sent, "{profile}: packet {packet}");
        }
        let share = recorded.iter().filter(|t| **t).count() as f64 / recorded.len() as f64;
        assert!(share > 0.0 && share < 0.5, "{profile}: {share}");
    }
}

/// The octets that have arrived are at least those acknowledged, and grow no faster than the link
/// carries: 1460 of 1500 octets of 10 Mbit/s, and a packet in progress at either end of an
/// interval. The acknowledged octets jump beyond that.
#[test]
fn octets_that_arrived_are_those_that_the_link_carried() {
    let output = run_text(
        "[scenario]\nname = 'arrived'\nduration = '30 s'\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '10 Mbit/s'\ndelay = '40 ms'\nloss = '0.05 %'\n\
         queue = { kind = 'droptail', packets = 60 }\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\ntcp = { profile = 'linux-6' }\n",
    );
    let (acked, arrived) = (whole(&output, "tcp", "bytes_acked"), whole(&output, "tcp", "bytes_arrived"));
    assert!(acked.iter().zip(&arrived).all(|(acked, arrived)| acked <= arrived));
    let most = |of: &[u64]| of.windows(2).map(|w| w[1] - w[0]).max().unwrap() as f64;
    let carried = 10e6 / 8.0 * 0.1 * 1460.0 / 1500.0 + 1460.0;
    assert!(most(&arrived) <= carried, "{} of {carried}", most(&arrived));
    assert!(most(&acked) > 1.2 * carried, "{} of {carried}", most(&acked));
    assert!(arrived.last() >= whole(&output, "flows", "app_bytes").last());
}

/// 10 packets a second from 1 s on, the last at 2.9 s; 8 ms on the wire and 1.028 * 8 ms of
/// serialisation at 1 Mbit/s.
#[test]
fn flows_have_the_times_of_their_first_and_last_packets() {
    let output = run_text(
        "[scenario]\nname = 'times'\nduration = '5 s'\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '1 Mbit/s'\ndelay = '8 ms'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\nstart = '1 s'\nstop = '2.95 s'\n\
         app = { kind = 'cbr', rate = '80 kbit/s', size = '1000 B' }\n\
         [flow.late]\nfrom = 'a'\nto = 'b'\nautostart = false\n",
    );
    let (first, last) = (real(&output, "flows", "first_tx_s"), real(&output, "flows", "last_rx_s"));
    assert_eq!(first[0], 1.0);
    assert!((last[0] - (2.9 + 0.008 + 1028.0 * 8e-6)).abs() < 1e-9, "{last:?}");
    assert!(first[1].is_nan() && last[1].is_nan());
}

/// Processing times are uniform up to `scenario.jitter` if packets are far apart, never reorder
/// packets, and are drawn per flow.
#[test]
fn jitter_delays_each_packet_by_itself_and_in_order() {
    let text = |jitter: &str, more: &str| {
        run_text(&format!(
            "[scenario]\nname = 'jitter'\nduration = '202 s'\n{jitter}\
             [link.x]\nbetween = ['a', 'b']\ndelay = '10 ms'\n\
             [flow.f]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\nstop = '200 s'\n\
             app = {{ kind = 'cbr', rate = '80 kbit/s', size = '1000 B' }}\n{more}[output]\npackets = true\n"
        ))
    };
    let output = text("jitter = '4 ms'\n", "");
    assert_balanced(&output);
    let start = real(&output, "flows", "start_s")[0];
    assert!(start > 0.0 && start < 0.004, "{start}");
    // 2000 packets: mean 10 + 2 ms, standard error 4 ms / sqrt(12 * 2000) = 0.026 ms.
    let mean = real(&output, "flows", "delay_mean_s")[0];
    assert!((mean - 0.012).abs() < 5.0 * 26e-6, "{mean}");
    let (least, most) = (real(&output, "flows", "delay_min_s")[0], real(&output, "flows", "delay_max_s")[0]);
    assert!((0.010..0.01002).contains(&least) && (0.01398..0.014).contains(&most), "{least} {most}");
    // Another flow does not change the draws of this one.
    let other = "[flow.g]\nfrom = 'a'\nto = 'b'\nstop = '1 s'\n";
    let beside = text("jitter = '4 ms'\n", other);
    assert_eq!(real(&beside, "flows", "delay_mean_s")[0].to_bits(), mean.to_bits());
    // Off: no delay, and the queues table has only the link in both cases.
    let off = text("", "");
    assert_eq!(real(&off, "flows", "delay_mean_s")[0], 0.010);
    assert_eq!(whole(&off, "queues", "packets").len(), whole(&output, "queues", "packets").len());
    // A burst of ten packets at once leaves in order.
    let burst = run_text(
        "[scenario]\nname = 'burst'\nduration = '5 s'\njitter = '20 ms'\n\
         [link.x]\nbetween = ['a', 'b']\ndelay = '10 ms'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\napp = { kind = 'file', size = '2 MB' }\ntcp = { profile = 'linux-6' }\n",
    );
    assert_eq!(whole(&burst, "flows", "retransmits"), [0]);
    assert_eq!(whole(&burst, "flows", "app_bytes"), [2_000_000]);
}
