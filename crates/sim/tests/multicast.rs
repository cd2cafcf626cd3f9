//! Multicast in a scenario: one row for each receiver, one transmission for all.

use crate::common::{assert_balanced, real, run_text, whole};
use lasthop_sim::RunOutput;

const TALK: &str = r#"
[scenario]
name = "talk"
duration = "10 s"
[cell.enb]
profile = "simulte"
resource_blocks = 50
[ue.speaker]
radio = { position = ["20 m", "0 m", "1.5 m"] }
rlc = { mode = "um" }
[ue.listener]
count = 3
drop = { kind = "disc", radius = "50 m" }
rlc = { mode = "um" }
[multicast.group]
from = "speaker"
to = ["listener"]
[flow.talk]
from = "speaker"
to = "group"
transport = "udp"
app = { kind = "cbr", rate = "80 kbit/s", size = "500 B" }
[output]
interval = "1 s"
"#;

fn texts(output: &RunOutput, table: &str, column: &str) -> Vec<String> {
    let (batches, _) = output.table(table).unwrap();
    let cells = batches.iter().flat_map(|b| {
        let c = b.column_by_name(column).unwrap().clone();
        (0..c.len()).map(|i| arrow::util::display::array_value_to_string(&c, i).unwrap()).collect::<Vec<_>>()
    });
    cells.collect()
}

/// Returns the sum of a column of `radio` over the rows of the sidelink.
fn on_sidelinks(output: &RunOutput, column: &str) -> f64 {
    let directions = texts(output, "radio", "direction");
    let values = texts(output, "radio", column);
    let of = directions.iter().zip(values).filter(|(d, _)| *d == "sidelink");
    of.filter_map(|(_, v)| v.parse::<f64>().ok()).sum()
}

/// 80 kbit/s in datagrams of 500 B are 20 a second: 201 from 0 to 10 s, of which the last is in
/// transmission at the end; each to 3 receivers, in the same resource blocks as to one.
#[test]
fn a_flow_to_a_group_has_a_row_for_each_receiver_and_is_sent_once() {
    let run = |count: u32| {
        let output = run_text(&TALK.replace("count = 3", &format!("count = {count}")));
        assert_balanced(&output);
        output
    };
    let output = run(3);
    assert_eq!(texts(&output, "flows", "flow"), ["talk-1", "talk-2", "talk-3"]);
    assert_eq!(texts(&output, "flows", "dst"), ["listener-1", "listener-2", "listener-3"]);
    assert_eq!(whole(&output, "flows", "tx_packets"), [201; 3]);
    assert_eq!(whole(&output, "flows", "rx_packets"), [200; 3]);
    assert_eq!(whole(&output, "flows", "app_bytes"), [200 * 500; 3]);
    for column in ["blocks", "ttis", "resource_blocks"] {
        let (alone, all) = (on_sidelinks(&run(1), column), on_sidelinks(&run(9), column));
        assert!(
            alone > 0.0 && alone == all && all == on_sidelinks(&output, column),
            "{column}: {alone} {all}"
        );
    }
}

/// Some UDP applications evaluate each packet separately, or send packets that links fragment: each
/// receiver reassembles them.
#[test]
fn each_receiver_has_its_own_packets_and_fragments() {
    let large = "app = { kind = \"cbr\", rate = \"80 kbit/s\", size = \"4000 B\" }";
    let small = "app = { kind = \"cbr\", rate = \"80 kbit/s\", size = \"500 B\" }";
    let output =
        run_text(&TALK.replace(small, large).replace("interval", "packets = true\nsteps = true\ninterval"));
    assert_balanced(&output);
    // 2.5 a second; the first one at once.
    assert!(whole(&output, "flows", "app_bytes").iter().all(|b| [24 * 4000, 25 * 4000].contains(b)));
    let (nodes, to) = (texts(&output, "steps", "node"), texts(&output, "steps", "to"));
    let (steps, links) = (texts(&output, "steps", "step"), texts(&output, "steps", "link"));
    let rows = (0..nodes.len()).filter(|i| links[*i] == "sidelink");
    for i in rows {
        let ends = (nodes[i].as_str(), to[i].as_str());
        match steps[i].as_str() {
            "grant" => assert_eq!(ends, ("enb", "speaker")),
            "data" | "retransmission" => assert_eq!(ends, ("speaker", "group")),
            "ack" => assert!(ends.0.starts_with("listener-") && ends.1 == "speaker", "{ends:?}"),
            other => panic!("{other}"),
        }
    }
    let voip = TALK.replace(small, "app = \"voip\"").replace("interval", "steps = true\ninterval");
    let voip = run_text(&voip);
    assert_eq!(whole(&voip, "flows", "tx_packets"), [501; 3]);
    // The first datagram is the packets 0 to 2, one for each receiver, and all are listed with the
    // block that carries it.
    let (steps, packets) = (texts(&voip, "steps", "step"), whole(&voip, "steps", "packet"));
    let carried: Vec<u64> = (0..steps.len()).filter(|i| steps[*i] == "data").map(|i| packets[i]).collect();
    assert!((0..3).all(|p| carried.contains(&p)), "{carried:?}");
}

/// Without fading all is decoded up to 70 m away, where -8 dBm leave about 19 dB above the noise;
/// fading of the links between the UEs makes each receiver lose other blocks.
#[test]
fn links_between_ues_fade() {
    let fading = |more: &str| {
        let errors = "resource_blocks = 50\nuplink = { data_errors = true }";
        let text = TALK.replace("resource_blocks = 50", errors).replace("[multicast.group]", more);
        let power = "to = [\"listener\"]\ncqi = 12\nlink = { transmissions = 1, power = \"-8 dBm\" }";
        let text = text.replace("drop =", "radio = { speed = \"3 km/h\" }\ndrop =");
        let output = run_text(&text.replace("to = [\"listener\"]", power));
        assert_balanced(&output);
        whole(&output, "flows", "rx_packets")
    };
    let still = fading("[multicast.group]");
    let moving = fading("[radio]\nsidelink_fading = \"epa\"\n[multicast.group]");
    assert_eq!(still, [200; 3]);
    assert!(moving.iter().any(|n| *n < 195) && moving.iter().any(|n| *n != moving[0]), "{moving:?}");
}

#[test]
fn delays_are_those_of_one_direct_leg() {
    let output = run_text(TALK);
    let delays = real(&output, "flows", "delay_mean_s");
    // Report, grant and block: 15 ms of the published timeline, plus up to one to the next TTI.
    assert!(delays.iter().all(|d| (0.015..0.0165).contains(d)), "{delays:?}");
}

#[test]
fn mistakes_about_groups_are_reported_with_their_remedy() {
    let show = |text: &str| match lasthop_sim::Scenario::parse(text, "t.toml", std::path::Path::new(""), &[])
    {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    };
    for (from, to, expected) in [
        (
            "transport = \"udp\"\napp = { kind = \"cbr\", rate = \"80 kbit/s\", size = \"500 B\" }",
            "",
            "TCP has one receiver",
        ),
        ("to = [\"listener\"]", "to = [\"listener\"]\nrlc = { mode = \"am\" }", "`mode = \"um\"`"),
        ("to = [\"listener\"]", "to = [\"listeners\"]", "did you mean `listener`?"),
        ("to = [\"listener\"]", "to = []", "there is no receiver"),
        ("to = [\"listener\"]", "to = [\"listener\", \"speaker\"]", "its sender does not receive"),
        ("to = [\"listener\"]", "to = [\"listener\"]\ncqi = 16", "a CQI is 1 to 15"),
        ("to = [\"listener\"]", "to = [\"listener\"]\nlink = { header = 65 }", "0 to 64 B"),
        ("[ue.speaker]\n", "[ue.speaker]\ncount = 2\n", "one UE sends to a group"),
        ("from = \"speaker\"\nto = \"group\"", "from = \"group\"\nto = \"speaker\"", "only receives"),
        (
            "from = \"speaker\"\nto = \"group\"",
            "from = \"listener-1\"\nto = \"group\"",
            "only `speaker` sends",
        ),
        ("transport = \"udp\"", "transport = \"udp\"\none_to_one = true", "one sender and all members"),
        ("[multicast.group]", "[multicast.listener]", "is a node already"),
        ("[output]", "[handover]\n[output]", "cannot be handed over"),
    ] {
        let all = show(&TALK.replace(from, to));
        assert!(all.contains(expected), "expected `{expected}` in:\n{all}");
    }
}
