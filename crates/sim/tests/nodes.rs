//! Proxies and snoop agents: they lose, duplicate and reorder nothing, pass on closes and failures,
//! and have their intended effect.

use crate::common::{assert_balanced, real, run_text, scenario, whole};
use arrow::array::{Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use lasthop_sim::{RunOutput, Scenario, Simulation};
use lasthop_units::{Duration, Instant};

/// A fast link, a proxy, a slow link; a file of 1 MB.
fn split(proxy: &str, more: &str) -> String {
    format!(
        "[scenario]\nname = 'split'\nduration = '60 s'\n\
         [link.fast]\nbetween = ['server', 'pep']\nrate = '100 Mbit/s'\ndelay = '20 ms'\n\
         [link.slow]\nbetween = ['pep', 'phone']\nrate = '1 Mbit/s'\ndelay = '50 ms'\n\
         [node.pep]\n{proxy}\n\
         [flow.f]\nfrom = 'server'\nto = 'phone'\napp = {{ kind = 'file', size = '1 MB' }}\n{more}"
    )
}

/// Returns a column of texts.
fn words(output: &RunOutput, table: &str, column: &str) -> Vec<String> {
    let (batches, _) = output.table(table).unwrap();
    let text = |b: &arrow::array::RecordBatch| {
        let array = cast(b.column_by_name(column).unwrap(), &DataType::Utf8).unwrap();
        let array = array.as_any().downcast_ref::<StringArray>().unwrap().clone();
        (0..array.len())
            .map(move |i| if array.is_null(i) { String::new() } else { array.value(i).to_owned() })
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(text).collect()
}

/// Returns source and kind of each event with its detail.
fn events(output: &RunOutput) -> Vec<String> {
    let columns = ["source", "kind", "detail"].map(|c| words(output, "events", c));
    (0..columns[0].len())
        .map(|i| columns.iter().map(|c| c[i].as_str()).collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn a_file_goes_through_a_proxy_whole_and_both_ends_close() {
    let output = run_text(&split("kind = 'proxy'", "[output]\npackets = true\n"));
    assert_balanced(&output);
    assert_eq!(words(&output, "flows", "flow"), ["f", "f@pep"]);
    assert_eq!(words(&output, "flows", "dst"), ["pep", "phone"]);
    // The flow's own row has the octets that its application received, the row after the proxy the
    // octets that passed there: the same number.
    assert_eq!(whole(&output, "flows", "app_bytes"), [1_000_000, 1_000_000]);
    // 1 MB at 1 Mbit/s with 1500 octets for 1448 of data: 8.29 s, and two handshakes (40 + 100 ms),
    // the propagation of the data (70 ms) and the slow start over 100 ms from ten segments of 12 ms
    // each, which fill it at once.
    let t = real(&output, "flows", "completion_s")[0];
    assert!((8.28 + 0.2..8.28 + 0.4).contains(&t), "{t}");
    let events = events(&output);
    let at =
        |what: &str| events.iter().position(|e| e == what).unwrap_or_else(|| panic!("{what}: {events:?}"));
    // The second connection is opened when the first is established; closes are passed on in the
    // direction of the path, then back.
    let order = [
        "flow/f established receiver",
        "flow/f@pep flow-start proxy",
        "flow/f@pep established sender",
        "flow/f peer-closed receiver",
        "flow/f@pep peer-closed receiver",
        "flow/f@pep peer-closed sender",
        "flow/f peer-closed sender",
    ];
    let places = order.map(at);
    assert!(places.is_sorted(), "{places:?}");
    let nodes = words(&output, "packets", "node");
    assert!(nodes.iter().any(|n| n == "pep"), "packets are received and sent at the proxy");
}

#[test]
fn the_data_in_a_proxy_is_bounded_and_the_window_limits_the_sender() {
    let buffer = 40_000;
    let s = scenario(&split(&format!("kind = 'proxy'\nbuffer = '{buffer} B'"), "").replace("1 MB", "10 MB"));
    let mut simulation = Simulation::new(&s, None).unwrap();
    let mut held_max = 0;
    for ms in 1..3000 {
        simulation.step_until(Instant::ZERO + Duration::from_millis(10 * ms)).unwrap();
        assert_eq!(simulation.world().audit(), Vec::<String>::new());
        let number = |flow: &str, key: &str| simulation.tcp_info(flow).unwrap()[key].as_u64().unwrap_or(0);
        let (took, gave) = (number("f", "bytes_acked"), number("f@pep", "bytes_acked"));
        held_max = held_max.max(took.saturating_sub(gave));
    }
    // The send buffer and the receive buffer, 40 kB each; the window moves in steps of a segment.
    assert!((buffer..=2 * buffer + 1448).contains(&held_max), "{held_max}");
    // 30 s at 1 Mbit/s: the slow link is always busy although the proxy holds little.
    let got = simulation.tcp_info("f@pep").unwrap()["bytes_acked"].as_u64().unwrap();
    assert!(got as f64 > 0.94 * 30.0 * 1e6 / 8.0, "{got}");
}

#[test]
fn each_side_of_a_proxy_has_its_own_stack() {
    let proxy = "kind = 'proxy'\naccept = { profile = 'linux-6' }\n\
                 connect = { profile = 'ns2', cc = 'vegas', mss = '512 B' }";
    let output = run_text(&split(proxy, ""));
    assert_balanced(&output);
    assert_eq!(words(&output, "flows", "profile"), ["rfc", "ns2"]);
    assert_eq!(words(&output, "flows", "cc"), ["reno", "vegas"]);
    assert_eq!(whole(&output, "flows", "app_bytes")[0], 1_000_000);
}

#[test]
fn requests_and_responses_pass_a_proxy_in_both_directions_while_one_side_has_closed() {
    let text = split("kind = 'proxy'", "").replace(
        "app = { kind = 'file', size = '1 MB' }",
        "stop = '20 s'\napp = { kind = 'request-response', response = '20 kB', think = '500 ms' }",
    );
    let output = run_text(&text);
    assert_balanced(&output);
    let (issued, done) =
        (whole(&output, "flows", "requests")[0], output.summary()["flows"][0]["goodput_bps"].as_f64());
    assert!(issued > 15 && done > Some(0.0), "{issued} {done:?}");
    // The client closes first; its FIN passes to the server (here the sender of the data), and the
    // server's comes back.
    let events = events(&output);
    let at =
        |what: &str| events.iter().position(|e| e == what).unwrap_or_else(|| panic!("{what}: {events:?}"));
    let order = [
        "flow/f peer-closed sender",
        "flow/f@pep peer-closed sender",
        "flow/f@pep peer-closed receiver",
        "flow/f peer-closed receiver",
    ];
    assert!(order.map(at).is_sorted(), "{events:?}");
}

#[test]
fn a_side_that_gives_up_resets_the_other() {
    let more = "[flow.f.tcp]\nmax_retries = 3\n[[at]]\nt = '3 s'\nset = { 'link.slow.loss' = '100 %' }\n";
    let output = run_text(&split("kind = 'proxy'", more));
    assert_balanced(&output);
    let events = events(&output);
    let at =
        |what: &str| events.iter().position(|e| e == what).unwrap_or_else(|| panic!("{what}: {events:?}"));
    assert!(at("flow/f@pep timed-out sender") < at("flow/f aborted receiver"));
    assert!(at("flow/f aborted receiver") < at("flow/f reset sender"));
}

#[test]
fn two_proxies_make_three_connections() {
    let output = run_text(
        "[scenario]\nname = 'three'\nduration = '30 s'\n\
         [link.a]\nbetween = ['n0', 'n1']\nrate = '5 Mbit/s'\ndelay = '10 ms'\n\
         [link.b]\nbetween = ['n1', 'n2']\nrate = '2 Mbit/s'\ndelay = '10 ms'\nloss = '1 %'\n\
         [link.c]\nbetween = ['n2', 'n3']\nrate = '5 Mbit/s'\ndelay = '10 ms'\nduplication = '1 %'\n\
         [node.n1]\nkind = 'proxy'\nbuffer = '20 kB'\n[node.n2]\nkind = 'proxy'\nflows = ['f']\n\
         [flow.f]\nfrom = 'n0'\nto = 'n3'\napp = { kind = 'file', size = '500 kB' }\n\
         [flow.g]\nfrom = 'n3'\nto = 'n1'\napp = { kind = 'file', size = '100 kB' }\n",
    );
    assert_balanced(&output);
    // `g` passes n2, which is a proxy for `f` only, and ends at n1.
    assert_eq!(words(&output, "flows", "flow"), ["f", "f@n1", "f@n2", "g"]);
    assert_eq!(whole(&output, "flows", "app_bytes"), [500_000, 500_000, 500_000, 100_000]);
}

/// A wired link and a lossy last hop; 2 % of the packets to the phone are lost.
fn lossy(node: &str) -> String {
    format!(
        "[scenario]\nname = 'snoop'\nduration = '60 s'\n\
         [link.wired]\nbetween = ['server', 'bs']\nrate = '10 Mbit/s'\ndelay = '50 ms'\n\
         [link.air]\nbetween = ['bs', 'phone']\nrate = '2 Mbit/s'\ndelay = '5 ms'\nforward = {{ loss = '2 %' }}\n\
         {node}[flow.f]\nfrom = 'server'\nto = 'phone'\ntcp = {{ sack = false, recovery = 'newreno', receive_buffer = '65535 B' }}\n"
    )
}
const AGENT: &str = "[node.bs]\nkind = 'snoop'\ntowards = 'air'\n";

#[test]
fn an_agent_hides_the_losses_of_the_last_hop() {
    let (without, with) = (run_text(&lossy("")), run_text(&lossy(AGENT)));
    assert_balanced(&with);
    let goodput = |o: &RunOutput| real(o, "flows", "goodput_bps")[0];
    // Mathis: 1448 * 8 / 0.116 s * sqrt(1.5 / (2 * 0.02)) = 0.61 Mbit/s without; the link's 2
    // Mbit/s less headers and the share sent twice, 1448 / 1500 * 0.98 = 94.6 %, is the maximum
    // with it. The agent's buffer holds a whole window, as in the paper, so the sender detects no
    // loss; a copy that is lost too costs a pause of the local timer.
    assert!((0.3e6..0.8e6).contains(&goodput(&without)), "{}", goodput(&without));
    assert!((0.9 * 1.892e6..1.892e6).contains(&goodput(&with)), "{}", goodput(&with));
    let agent = &with.summary()["snoop"][0];
    assert!(agent["by_dup_ack"].as_u64() > Some(50), "{agent}");
    let causes = words(&with, "drops", "cause");
    let suppressed = causes.iter().filter(|c| *c == "snoop-suppressed").count() as u64;
    assert_eq!(agent["suppressed"].as_u64(), Some(suppressed), "every ACK that was kept is on record");
    assert_eq!(whole(&with, "flows", "fast_retransmits"), [0]);
    assert!(whole(&without, "flows", "fast_retransmits")[0] > 50);
}

#[test]
fn an_agent_that_loses_its_memory_changes_nothing_but_speed() {
    let stops = "[[at]]\nt = '20 s'\nstop = 'node.bs'\n";
    let output = run_text(&format!("{}{stops}", lossy(AGENT)));
    let whole_time = run_text(&lossy(AGENT));
    assert_balanced(&output);
    let goodput = |o: &RunOutput| real(o, "flows", "goodput_bps")[0];
    assert!(goodput(&output) < 0.8 * goodput(&whole_time));
    assert!(goodput(&output) > 0.55e6, "the sender does it alone from then on: {}", goodput(&output));
    let again = run_text(&format!("{}{stops}[[at]]\nt = '21 s'\nstart = 'node.bs'\n", lossy(AGENT)));
    assert!(goodput(&again) > 0.9 * goodput(&whole_time));
}

#[test]
fn a_file_passes_an_agent_whole_under_everything_a_link_does() {
    for buffer in ["3 kB", "64 kB"] {
        let text = lossy(&format!("{AGENT}buffer = '{buffer}'\n"))
            .replace(
                "delay = '5 ms'",
                "delay = '5 ms'\njitter = '8 ms'\nreordering = true\nduplication = '3 %'",
            )
            .replace("to = 'phone'", "to = 'phone'\napp = { kind = 'file', size = '1 MB' }");
        let output = run_text(&text);
        assert_balanced(&output);
        assert_eq!(whole(&output, "flows", "app_bytes"), [1_000_000], "{buffer}");
        assert!(output.summary()["snoop"][0]["held_max_bytes"].as_u64() <= Some(65_536));
    }
}

#[test]
fn mistakes_in_a_node_are_reported_with_their_place() {
    let refused = |text: &str| match Scenario::parse(text, "bad.toml", "".as_ref(), &[]) {
        Ok(_) => panic!("taken: {text}"),
        Err(e) => e.to_string(),
    };
    for (text, word) in [
        (split("kind = 'prxy'", ""), "did you mean `proxy`"),
        (split("kind = 'proxy'\nbuffer = '1 B'", ""), "4 kB"),
        (split("kind = 'proxy'\nflows = ['g']", ""), "`f`"),
        (split("kind = 'proxy'\naccept = { cc = 'rano' }", ""), "did you mean `reno`"),
        (split("kind = 'proxy'", "").replace("[node.pep]", "[node.pop]"), "did you mean `pep`"),
        (split("kind = 'snoop'", ""), "which path leads to the mobile"),
        (lossy("[node.bs]\nkind = 'snoop'\ntowards = 'aire'\n"), "did you mean `air`"),
        (lossy("[node.bs]\nkind = 'snoop'\ntowards = 'air'\nmin_timeout = '0 s'\n"), "100 ms"),
        (format!("{}[[at]]\nt = '1 s'\nstop = 'node.bz'\n", lossy(AGENT)), "did you mean `node.bs`"),
    ] {
        let message = refused(&text);
        assert!(message.contains(word) && message.contains("bad.toml:"), "expected {word} in\n{message}");
    }
}

/// A receiver that acknowledges ahead, whose packets 20, 21 and 300 are lost on the last link.
fn ahead(app: &str, between: &str) -> String {
    format!(
        "[scenario]\nname = 'ahead'\nduration = '30 s'\n{between}\
         [flow.f]\nfrom = 'server'\nto = 'phone'\napp = {app}\n\
         tcp = {{ profile = 'linux-6', cc = 'reno', ack_ahead = 8 }}\n\
         [fault.z]\nlink = 'slow.forward'\naction = 'drop'\nnumbers = [20, 21, 300]\n"
    )
}

const SLOW: &str = "[link.slow]\nbetween = ['server', 'phone']\nrate = '2 Mbit/s'\ndelay = '50 ms'\n\
    queue = { kind = 'droptail', packets = 10000 }\n";

/// What is lost is skipped and counted: the application has the rest, and a file is never complete.
#[test]
fn octets_that_a_misbehaving_receiver_skips_are_in_no_count_of_the_application() {
    let output = run_text(&ahead("{ kind = 'file', size = '1 MB' }", SLOW));
    assert_balanced(&output);
    let lost = 3 * 1448;
    assert_eq!(whole(&output, "flows", "app_bytes"), [1_000_000 - lost]);
    assert_eq!(whole(&output, "flows", "lost_dropped"), [3]);
    assert_eq!(whole(&output, "flows", "retransmits"), [0]);
    let flow = &output.summary()["flows"][0];
    assert_eq!((flow["skipped_bytes"].as_u64(), flow["completion_s"].as_f64()), (Some(lost), None));
    let of = |kind: &str| words(&output, "events", "kind").iter().filter(|k| *k == kind).count();
    // Two packets in a row are one gap.
    assert_eq!((of("skipped"), of("peer-closed"), of("rto")), (2, 2, 0));
    let honest = run_text(&ahead("'bulk'", SLOW).replace("ack_ahead = 8", "ack_ahead = 0"));
    assert!(honest.summary()["flows"][0].get("skipped_bytes").is_none());
}

/// Sockets of a proxy forward what arrives: those at the ends of the path alone acknowledge ahead.
#[test]
fn a_proxy_does_not_acknowledge_ahead() {
    let split = "[link.fast]\nbetween = ['server', 'pep']\nrate = '100 Mbit/s'\ndelay = '20 ms'\n\
        [link.slow]\nbetween = ['pep', 'phone']\nrate = '2 Mbit/s'\ndelay = '50 ms'\n\
        queue = { kind = 'droptail', packets = 10000 }\n[node.pep]\nkind = 'proxy'\n";
    let text = ahead("{ kind = 'file', size = '1 MB' }", split);
    let output = run_text(&text);
    assert_balanced(&output);
    // Both rows have what the application received.
    assert_eq!(whole(&output, "flows", "app_bytes"), [1_000_000 - 3 * 1448; 2]);
    let scenario = scenario(&text);
    let mut simulation = Simulation::new(&scenario, None).unwrap();
    for second in 1..=30 {
        simulation.step_until(Instant::from_secs(second)).unwrap();
        assert_eq!(simulation.world().audit(), Vec::<String>::new(), "{second} s");
    }
}
